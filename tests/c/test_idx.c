/* IDX files: every type and rank, plain and gzipped, cut off, damaged and lying ones. */
#include <zlib.h>

#include "io_files.h"

static const unsigned char small[] = {0, 0, 0x08, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255};

static void gzip(const char *path, const void *bytes, unsigned n) {
  gzFile f = gzopen(path, "wb9");
  CHECK(f && gzwrite(f, bytes, n) == (int)n);
  if (f) gzclose(f);
}

TEST("a file of bytes reads as the tensor it declares, plain and gzipped") {
  char path[512];
  for (int zipped = 0; zipped < 2; zipped++) {
    luc_tensor *t = NULL;
    io_path(path, "small");
    if (zipped) {
      gzip(path, small, sizeof small);
    } else {
      io_write(path, small, sizeof small);
    }
    CHECK_OK(luc_idx_load(ctx, path, &t));
    CHECK(t && t->dtype == LUC_UINT8 && t->ndim == 2 && t->sizes[0] == 2 && t->sizes[1] == 3);
    CHECK(t && !memcmp(t->data, small + 12, 6));
    luc_tensor_release(ctx, t);
  }
}

TEST("every type is turned to the machine's byte order") {
  static const struct {
    unsigned char code, bytes[8];
    luc_dtype dtype;
    double value;
  } types[] = {{0x09, {0xfe}, LUC_INT8, -2},
               {0x0b, {0xff, 0xfe}, LUC_INT16, -2},
               {0x0c, {0x00, 0x01, 0x00, 0x02}, LUC_INT32, 65538},
               {0x0d, {0xc0, 0x20, 0x00, 0x00}, LUC_FLOAT32, -2.5},
               {0x0e, {0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, LUC_FLOAT64, 1.5}};
  char path[512];
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    unsigned char file[16] = {0, 0, types[i].code, 1, 0, 0, 0, 1};
    size_t size = luc__dtype_size(types[i].dtype);
    luc_tensor *t = NULL;
    double value = 0;
    memcpy(file + 8, types[i].bytes, size);
    io_write(io_path(path, "type"), file, 8 + size);
    CHECK_OK(luc_idx_load(ctx, path, &t));
    CHECK(t && t->dtype == types[i].dtype && t->ndim == 1);
    CHECK(t && luc_tensor_item(ctx, t, &value) == LUC_OK);
    CHECK_NEAR(value, types[i].value, 0);
    luc_tensor_release(ctx, t);
  }
}

TEST("0-d and empty files are fine") {
  static const unsigned char scalar[] = {0, 0, 8, 0, 7},
                             empty[] = {0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 255, 0};
  char path[512];
  luc_tensor *t = NULL;
  io_write(io_path(path, "scalar"), scalar, sizeof scalar);
  CHECK_OK(luc_idx_load(ctx, path, &t));
  CHECK(t && t->ndim == 0 && *(unsigned char *)t->data == 7);
  luc_tensor_release(ctx, t);
  gzip(path, empty, sizeof empty);
  CHECK_OK(luc_idx_load(ctx, path, &t));
  CHECK(t && t->numel == 0 && t->sizes[1] == 65280);
  luc_tensor_release(ctx, t);
}

TEST("files that are not what they say are refused with one line") {
  static const struct {
    unsigned char bytes[24];
    size_t n;
    const char *message;
  } cases[] = {
      {{0}, 0, "ends too early"},
      {{1, 0, 8, 1, 0, 0, 0, 0}, 8, "not an IDX file (it begins with 01 00 08 01)"},
      {{0, 0, 7, 1, 0, 0, 0, 0}, 8, "not an IDX file"},
      {{0, 0, 8, 9}, 4, "9 dimensions, at most 8 are possible"},
      {{0, 0, 8, 1, 0, 0, 0, 2, 1}, 9, "declares more data than it can hold"},
      {{0, 0, 8, 1, 255, 255, 255, 255, 1}, 9, "declares more data than it can hold"},
      {{0, 0, 14, 2, 255, 255, 255, 255, 255, 255, 255, 255}, 12, "declares more data"},
      {{0, 0, 8, 3, 0, 1, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0}, 16, "declares more data"},
      {{0, 0, 8, 1, 0, 0, 0, 1, 1, 2}, 10, "has more data than it declares"},
  };
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    luc_tensor *t;
    io_write(io_path(path, "bad"), cases[i].bytes, cases[i].n);
    luc_status status = luc_idx_load(ctx, path, &t);
    CHECK(t == NULL);
    io_check_failed(ctx, "bad", status, LUC_ERR_IO, cases[i].message, live);
  }
  luc_tensor *t;
  luc_status status = luc_idx_load(ctx, "/no/such/file", &t);
  io_check_failed(ctx, "missing", status, LUC_ERR_IO, "cannot open '/no/such/file'", live);
}

TEST("a file cut off or damaged anywhere is refused, gzipped or not") {
  unsigned char bytes[256];
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  luc_tensor *t;
  for (int zipped = 0; zipped < 2; zipped++) {
    long n = sizeof small;
    memcpy(bytes, small, sizeof small);
    if (zipped) {
      gzip(io_path(path, "whole"), small, sizeof small);
      n = io_read(path, bytes, sizeof bytes);
    }
    for (long cut = 0; cut < n; cut++) {
      io_write(io_path(path, "cut"), bytes, (size_t)cut);
      io_check_failed(ctx, "cut", luc_idx_load(ctx, path, &t), LUC_ERR_IO, "idx: ", live);
    }
    for (long i = 10; zipped && i < n; i++) { /* the checksum finds what inflating does not */
      bytes[i] ^= 0x10;
      io_write(path, bytes, (size_t)n);
      bytes[i] ^= 0x10;
      io_check_failed(ctx, "damaged", luc_idx_load(ctx, path, &t), LUC_ERR_IO, "idx: ", live);
    }
  }
}

TEST("more than was declared is refused in gzipped files too") {
  unsigned char bytes[sizeof small + 1] = {0};
  char path[512];
  size_t live = luc_memory_stats(ctx).live;
  luc_tensor *t;
  memcpy(bytes, small, sizeof small);
  gzip(io_path(path, "longer"), bytes, sizeof bytes);
  io_check_failed(ctx, "longer", luc_idx_load(ctx, path, &t), LUC_ERR_IO, "more data", live);
  gzip(path, small, sizeof small);
  FILE *f = fopen(path, "ab");
  fputc('x', f);
  fclose(f);
  io_check_failed(ctx, "tail", luc_idx_load(ctx, path, &t), LUC_ERR_IO, "more data", live);
}

static luc_status load(luc_context *ctx, void *arg) {
  luc_tensor *t;
  luc_status status = luc_idx_load(ctx, arg, &t);
  luc_tensor_release(ctx, t);
  return status;
}

TEST("reading survives every refused allocation, zlib's too") {
  char path[512];
  gzip(io_path(path, "swept"), small, sizeof small);
  CHECK(test_sweep(load, path, 1) > 3);
}
