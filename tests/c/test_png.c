/* PNG files: written and read back; refused images, files and memory. What others wrote is
 * tests/lua/images_spec.lua's. */
#include "io_files.h"

/* An image whose bytes follow no pattern that deflate could use. */
static luc_tensor *noise(luc_context *ctx, int64_t channels, int64_t height, int64_t width) {
  int64_t sizes[] = {channels, height, width};
  luc_tensor *t = NULL;
  uint32_t state = 1;
  CHECK_OK(luc__tensor_empty(ctx, LUC_UINT8, 3, sizes, &t));
  for (int64_t i = 0; t && i < t->numel; i++) {
    state = state * 1664525u + 1013904223u;
    t->data[i] = (char)(state >> 24);
  }
  return t;
}

static void check_round_trip(luc_context *ctx, int64_t channels, int64_t height, int64_t width) {
  char path[512];
  luc_tensor *t = noise(ctx, channels, height, width), *back = NULL;
  CHECK_OK(luc_png_save(ctx, io_path(path, "image.png"), t));
  CHECK_OK(luc_png_load(ctx, path, LUC_IMAGE_UNCHANGED, &back));
  CHECK(back && luc__same_sizes(t, back) && back->dtype == LUC_UINT8);
  CHECK(back && memcmp(t->data, back->data, (size_t)t->numel) == 0);
  LUC_RELEASE(ctx, t, back);
}

TEST("an image reads back as it was, of each number of channels, small and large") {
  for (int64_t channels = 1; channels <= 4; channels++) check_round_trip(ctx, channels, 5, 7);
  check_round_trip(ctx, 1, 1, 1);
  check_round_trip(ctx, 3, 150, 200);
  check_round_trip(ctx, 1, 1, 70000);
  CHECK_EQ(io_count_files(), 1);
}

TEST("what is no image, and where no file can be, is refused") {
  char path[512];
  int64_t sizes[] = {2, 2, 2};
  luc_tensor *many = noise(ctx, 5, 1, 1), *none = noise(ctx, 1, 0, 4), *good = noise(ctx, 1, 2, 2);
  luc_tensor *floats = NULL;
  CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT32, 3, sizes, &floats));
  size_t live = luc_memory_stats(ctx).live;
  int files = (io_path(path, "refused.png"), io_count_files());
  io_check_failed(ctx, "channels", luc_png_save(ctx, path, many), LUC_ERR_SHAPE,
                  "an image [1 to 4, height, width] (got [5, 1, 1])", live);
  io_check_failed(ctx, "empty", luc_png_save(ctx, path, none), LUC_ERR_SHAPE, "[1, 0, 4]", live);
  io_check_failed(ctx, "dtype", luc_png_save(ctx, path, floats), LUC_ERR_TYPE,
                  "must be uint8 (got float32)", live);
  io_check_failed(ctx, "folder", luc_png_save(ctx, "/no/such/file.png", good), LUC_ERR_IO,
                  "write_png: cannot create a file beside '/no/such/file.png'", live);
  CHECK_EQ(io_count_files(), files);
  LUC_RELEASE(ctx, many, none, floats, good);
}

static luc_status save_and_load(luc_context *ctx, void *path) {
  luc_tensor *t = NULL;
  int64_t sizes[] = {1, 3, 3};
  LUC_TRY(luc__tensor_empty(ctx, LUC_UINT8, 3, sizes, &t));
  memset(t->data, 7, (size_t)t->numel);
  luc_status status = luc_png_save(ctx, path, t);
  luc_tensor_release(ctx, t);
  if (status == LUC_OK) status = luc_png_load(ctx, path, LUC_IMAGE_RGB_ALPHA, &t);
  if (status == LUC_OK) luc_tensor_release(ctx, t);
  return status;
}

TEST("saving and loading survive every refused allocation, libpng's too") {
  char path[512];
  int files;
  io_path(path, "swept.png");
  CHECK(test_sweep(save_and_load, path, 1) > 3);
  files = io_count_files();
  CHECK(files >= 0);
  remove(path);
  CHECK_EQ(io_count_files(), files - 1);
}
