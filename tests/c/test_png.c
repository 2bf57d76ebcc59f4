/* PNG files: read back chunk by chunk, with zlib; refused images, files and memory. */
#include <zlib.h>

#include "io_files.h"

static luc_context *open_context(void) {
  luc_config cfg = {.num_threads = 1};
  luc_context *ctx = NULL;
  CHECK_EQ(luc_context_new(&cfg, &ctx), LUC_OK);
  return ctx;
}

/* An image whose bytes follow no pattern that deflate could use. */
static luc_tensor *noise(luc_context *ctx, int64_t channels, int64_t height, int64_t width) {
  int64_t sizes[] = {channels, height, width};
  luc_tensor *t = NULL;
  uint32_t state = 1;
  CHECK_EQ(luc__tensor_empty(ctx, LUC_UINT8, 3, sizes, &t), LUC_OK);
  for (int64_t i = 0; t && i < t->numel; i++) {
    state = state * 1664525u + 1013904223u;
    t->data[i] = (char)(state >> 24);
  }
  return t;
}

static uint32_t big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Checks every chunk of a PNG and gathers the IDAT data; returns its size and the header. */
static size_t read_chunks(const unsigned char *file, long n, unsigned char *idat,
                          const unsigned char **header) {
  size_t gathered = 0;
  long at = 8;
  CHECK(n > 8 && !memcmp(file, "\x89PNG\r\n\x1a\n", 8));
  while (at + 12 <= n) {
    uint32_t length = big_endian(file + at);
    const unsigned char *type = file + at + 4;
    CHECK_EQ((long long)big_endian(type + 4 + length), (long long)crc32(0, type, 4 + length));
    if (at == 8) CHECK(!memcmp(type, "IHDR", 4) && length == 13);
    if (at == 8) *header = type + 4;
    if (!memcmp(type, "IDAT", 4)) memcpy(idat + gathered, type + 4, length);
    if (!memcmp(type, "IDAT", 4)) gathered += length;
    at += 12 + length;
    if (!memcmp(type, "IEND", 4)) CHECK_EQ(at, n);
  }
  CHECK_EQ(at, n);
  return gathered;
}

static void check_round_trip(luc_context *ctx, int64_t channels, int64_t height, int64_t width) {
  static unsigned char file[1 << 18], idat[1 << 18], rows[1 << 18];
  static const int colors[] = {-1, 0, 4, 2, 6};
  const unsigned char *header = NULL;
  char path[512];
  luc_tensor *t = noise(ctx, channels, height, width);
  CHECK_EQ(luc_png_save(ctx, io_path(path, "image.png"), t), LUC_OK);
  size_t size = read_chunks(file, io_read(path, file, sizeof file), idat, &header);
  uLongf got = sizeof rows;
  CHECK_EQ(uncompress(rows, &got, idat, size), Z_OK);
  CHECK_EQ((long long)got, (long long)(height * (1 + width * channels)));
  CHECK(big_endian(header) == width && big_endian(header + 4) == height);
  CHECK(header[8] == 8 && header[9] == colors[channels] && !header[10] && !header[12]);
  int wrong = 0;
  for (int64_t y = 0; y < height; y++) {
    const unsigned char *row = rows + y * (1 + width * channels);
    wrong += row[0] != 0;
    for (int64_t i = 0; i < width * channels; i++) {
      int64_t c = i % channels, x = i / channels;
      wrong += row[1 + i] != (unsigned char)t->data[(c * height + y) * width + x];
    }
  }
  CHECK_EQ(wrong, 0);
  luc_tensor_release(ctx, t);
}

TEST("an image reads back as it was, of each number of channels, in one chunk and several") {
  luc_context *ctx = open_context();
  size_t live = luc_memory_stats(ctx).live;
  for (int64_t channels = 1; channels <= 4; channels++) check_round_trip(ctx, channels, 5, 7);
  check_round_trip(ctx, 1, 1, 1);
  check_round_trip(ctx, 3, 150, 200);
  check_round_trip(ctx, 1, 1, 70000);
  CHECK_EQ(io_count_files(), 1);
  CHECK_EQ((long long)luc_memory_stats(ctx).live, (long long)live);
  luc_context_free(ctx);
}

TEST("what is no image, and where no file can be, is refused") {
  char path[512];
  luc_context *ctx = open_context();
  int64_t sizes[] = {2, 2, 2};
  luc_tensor *many = noise(ctx, 5, 1, 1), *none = noise(ctx, 1, 0, 4), *good = noise(ctx, 1, 2, 2);
  luc_tensor *floats = NULL;
  CHECK_EQ(luc__tensor_empty(ctx, LUC_FLOAT32, 3, sizes, &floats), LUC_OK);
  size_t live = luc_memory_stats(ctx).live;
  int files = (io_path(path, "refused.png"), io_count_files());
  io_check_failed(ctx, "channels", luc_png_save(ctx, path, many), LUC_ERR_SHAPE,
                  "an image [1 to 4, height, width] (got [5, 1, 1])", live);
  io_check_failed(ctx, "empty", luc_png_save(ctx, path, none), LUC_ERR_SHAPE, "[1, 0, 4]", live);
  io_check_failed(ctx, "dtype", luc_png_save(ctx, path, floats), LUC_ERR_TYPE,
                  "expected uint8 (got float32)", live);
  io_check_failed(ctx, "folder", luc_png_save(ctx, "/no/such/file.png", good), LUC_ERR_IO,
                  "write_png: cannot create a file beside '/no/such/file.png'", live);
  CHECK_EQ(io_count_files(), files);
  luc_tensor_release(ctx, many);
  luc_tensor_release(ctx, none);
  luc_tensor_release(ctx, floats);
  luc_tensor_release(ctx, good);
  luc_context_free(ctx);
}

static luc_status save(luc_context *ctx, void *path) {
  luc_tensor *t = NULL;
  int64_t sizes[] = {1, 3, 3};
  LUC_TRY(luc__tensor_empty(ctx, LUC_UINT8, 3, sizes, &t));
  memset(t->data, 7, (size_t)t->numel);
  luc_status status = luc_png_save(ctx, path, t);
  luc_tensor_release(ctx, t);
  return status;
}

TEST("saving survives every refused allocation, zlib's too") {
  char path[512];
  int files;
  io_path(path, "swept.png");
  CHECK(test_sweep(save, path, 1) > 3);
  files = io_count_files();
  CHECK(files >= 0);
  remove(path);
  CHECK_EQ(io_count_files(), files - 1);
}
