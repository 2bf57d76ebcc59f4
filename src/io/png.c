/* PNG, written: signature, header, rows deflated into IDAT chunks as they come, end; every chunk is
 * followed by the checksum of its type and data. Source: the PNG specification (RFC 2083). */
#include <string.h>
#include <zlib.h>

#include "io/readers.h"
#include "ops/geometry.h"
#include "tensor/tensor.h"

enum { CHUNK = 1 << 15 };

typedef struct png_writer {
  luc_writer file;
  z_stream stream;
  unsigned char chunk[CHUNK];
} png_writer;

static void put_big_endian(unsigned char *to, uint32_t n) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(n >> (24 - 8 * i));
}

static luc_status write_chunk(png_writer *w, const char *type, const unsigned char *data,
                              uint32_t n) {
  unsigned char head[8], tail[4];
  put_big_endian(head, n);
  memcpy(head + 4, type, 4);
  uLong sum = crc32(0, head + 4, 4);
  if (n) sum = crc32(sum, data, n);
  put_big_endian(tail, (uint32_t)sum);
  LUC_TRY(luc__writer_write(&w->file, head, 8));
  if (n) LUC_TRY(luc__writer_write(&w->file, data, n));
  return luc__writer_write(&w->file, tail, 4);
}

/* Deflates n bytes; full chunks go to the file, with Z_FINISH the last one too. */
static luc_status deflate_bytes(png_writer *w, unsigned char *data, size_t n, int flush) {
  int code;
  w->stream.next_in = data;
  w->stream.avail_in = (uInt)n;
  do {
    code = deflate(&w->stream, flush);
    uint32_t made = CHUNK - w->stream.avail_out;
    if (made == CHUNK || (code == Z_STREAM_END && made)) {
      LUC_TRY(write_chunk(w, "IDAT", w->chunk, made));
      w->stream.next_out = w->chunk;
      w->stream.avail_out = CHUNK;
    }
  } while (w->stream.avail_in || (flush == Z_FINISH && code != Z_STREAM_END));
  return LUC_OK;
}

/* A row is a zero, which says that it is stored as it is, and its pixels, channel by channel. */
static luc_status write_rows(png_writer *w, const luc_tensor *image, unsigned char *row) {
  int64_t channels = image->sizes[0], height = image->sizes[1], width = image->sizes[2];
  const unsigned char *data = (const unsigned char *)image->data;
  row[0] = 0;
  for (int64_t y = 0; y < height; y++) {
    for (int64_t c = 0; c < channels; c++) {
      const unsigned char *from = data + (c * height + y) * width;
      for (int64_t x = 0; x < width; x++) row[1 + x * channels + c] = from[x];
    }
    LUC_TRY(deflate_bytes(w, row, (size_t)(1 + width * channels), Z_NO_FLUSH));
  }
  return deflate_bytes(w, row, 0, Z_FINISH);
}

static luc_status write_image(png_writer *w, const luc_tensor *image) {
  static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  static const unsigned char colors[] = {0, 0, 4, 2, 6}; /* by channels: gray, +alpha, RGB, RGBA */
  unsigned char head[13] = {0};
  luc_context *ctx = w->file.ctx;
  size_t row_size = (size_t)(1 + image->sizes[0] * image->sizes[2]);
  put_big_endian(head, (uint32_t)image->sizes[2]);
  put_big_endian(head + 4, (uint32_t)image->sizes[1]);
  head[8] = 8; /* bits */
  head[9] = colors[image->sizes[0]];
  LUC_TRY(luc__writer_write(&w->file, signature, 8));
  LUC_TRY(write_chunk(w, "IHDR", head, 13));
  unsigned char *row = luc__alloc(ctx, row_size);
  if (!row) return LUC_ERR_MEMORY;
  luc_status status = write_rows(w, image, row);
  luc__free(ctx, row, row_size);
  if (status == LUC_OK) status = write_chunk(w, "IEND", NULL, 0);
  return status == LUC_OK ? luc__writer_commit(&w->file) : status;
}

static luc_status check_image(luc_context *ctx, const luc_tensor *t) {
  char text[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, t->dtype == LUC_UINT8, LUC_ERR_TYPE, "write_png: input: expected uint8 (got %s)",
            luc__dtype_name((luc_dtype)t->dtype));
  bool good = t->ndim == 3 && t->sizes[0] >= 1 && t->sizes[0] <= 4;
  for (int d = 1; good && d < 3; d++) good = t->sizes[d] >= 1 && t->sizes[d] <= 1 << 28;
  LUC_CHECK(ctx, good, LUC_ERR_SHAPE,
            "write_png: input: expected an image [1 to 4, height, width] (got %s)",
            luc__tensor_shape_text(text, t));
  return LUC_OK;
}

luc_status luc__png_write(luc_context *ctx, const luc_target *to, luc_tensor *image) {
  luc_tensor *plain = NULL;
  png_writer *w = NULL;
  luc_status status = LUC_ERR_MEMORY;
  bool deflating = false;
  LUC_TRY(check_image(ctx, image));
  if (!(w = luc__alloc_zero(ctx, sizeof *w))) goto done;
  w->file.ctx = ctx;
  LUC_GO(luc__to_contiguous(ctx, image, &plain));
  w->stream.zalloc = luc__zlib_alloc;
  w->stream.zfree = luc__zlib_free;
  w->stream.opaque = ctx;
  w->stream.next_out = w->chunk;
  w->stream.avail_out = CHUNK;
  deflating = deflateInit(&w->stream, Z_DEFAULT_COMPRESSION) == Z_OK;
  status = deflating ? LUC_OK : LUC_ERR_MEMORY;
  LUC_GO(status);
  LUC_GO(luc__writer_open(ctx, "write_png", to, &w->file));
  LUC_GO(write_image(w, plain));
done:
  if (deflating) deflateEnd(&w->stream);
  if (w) luc__writer_close(&w->file);
  luc__free(ctx, w, sizeof *w);
  luc_tensor_release(ctx, plain);
  return status;
}

luc_status luc_png_save(luc_context *ctx, const char *path, luc_tensor *image) {
  return luc__png_write(ctx, &(luc_target){.path = path}, image);
}
