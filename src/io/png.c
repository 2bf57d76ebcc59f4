/* PNG images through libpng, which knows every kind of them: gray, RGB, palettes, alpha, 1 to 16
 * bits, interlaced. Its memory is the context's; its errors jump back into one function each, and
 * what is owned hangs in a structure that outlives the jump. Without libpng at build time, all
 * calls say so. */
#include "io/readers.h"
#include "tensor/tensor.h"

static luc_status check_image(luc_context *ctx, const char *who, const luc_tensor *t) {
  char text[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, t->dtype == LUC_UINT8, LUC_ERR_TYPE, "%s: input must be uint8 (got %s)", who,
            luc__dtype_name(t->dtype));
  bool good = t->ndim == 3 && t->sizes[0] >= 1 && t->sizes[0] <= 4;
  for (int d = 1; good && d < 3; d++) good = t->sizes[d] >= 1 && t->sizes[d] <= 1 << 28;
  LUC_CHECK(ctx, good, LUC_ERR_SHAPE, "%s: input must be an image [1 to 4, height, width] (got %s)",
            who, luc__tensor_shape_text(text, t));
  return LUC_OK;
}

#ifndef LUCERNA_PNG

static luc_status no_png(luc_context *ctx, const char *who) {
  return luc__fail(ctx, LUC_ERR_SUPPORT,
                   "%s: this build has no PNG files: libpng was not there (Debian: libpng-dev)",
                   who);
}

luc_status luc__png_read(luc_input input, luc_image_mode mode, uint64_t max_bytes,
                         luc_tensor **out) {
  (void)mode, (void)max_bytes;
  *out = NULL;
  luc__input_close(&input);
  return no_png(input.ctx, input.who);
}

luc_status luc__png_write(luc_context *ctx, const char *who, const luc_target *to,
                          luc_tensor *image, int level) {
  (void)to, (void)level;
  LUC_TRY(check_image(ctx, who, image));
  return no_png(ctx, who);
}

#else

#include <png.h>
#include <string.h>

/* One image being read or written. */
typedef struct work {
  luc_context *ctx;
  const char *who;
  luc_status status; /* why libpng's call ended */
  png_structp png;
  png_infop info;
  unsigned char *rows; /* one of them, or all of an interlaced image */
  size_t rows_size;
  /* reading */
  const luc_input *input;
  uint64_t at, max_bytes;
  luc_tensor *image;
  /* writing */
  luc_writer writer;
} work;

/* ---- what libpng calls ---- */

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
  work *w = png_get_mem_ptr(png);
  void *block = size < UINT32_MAX ? luc__zlib_alloc(w->ctx, 1, (unsigned)size) : NULL;
  if (!block) w->status = LUC_ERR_MEMORY;
  return block;
}

static void release(png_structp png, png_voidp block) {
  work *w = png_get_mem_ptr(png);
  if (block) luc__zlib_free(w->ctx, block);
}

/* The first failure is the one that is told. */
static void on_error(png_structp png, png_const_charp message) {
  work *w = png_get_error_ptr(png);
  if (w->status == LUC_OK)
    w->status = luc__fail(w->ctx, LUC_ERR_IO, "%s: the PNG file is damaged (%s)", w->who, message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png, (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t n) {
  work *w = png_get_io_ptr(png);
  w->status = luc__input_read(w->input, w->at, to, n);
  if (w->status != LUC_OK) png_error(png, "");
  w->at += n;
}

static void write_bytes(png_structp png, png_bytep from, size_t n) {
  work *w = png_get_io_ptr(png);
  w->status = luc__writer_write(&w->writer, from, n);
  if (w->status != LUC_OK) png_error(png, "");
}

static void flush_bytes(png_structp png) {
  (void)png;
}

/* Leaves libpng by its error jump, because something of ours has failed. */
static void stop(work *w, luc_status status) {
  w->status = status;
  if (status != LUC_OK) png_error(w->png, "");
}

static void drop(work *w, bool reading) {
  if (w->png && reading) png_destroy_read_struct(&w->png, &w->info, NULL);
  if (w->png && !reading) png_destroy_write_struct(&w->png, &w->info);
  luc__free(w->ctx, w->rows, w->rows_size);
  luc_tensor_release(w->ctx, w->image);
}

static void make_rows(work *w, size_t n) {
  w->rows = luc__alloc(w->ctx, n);
  if (!w->rows) stop(w, LUC_ERR_MEMORY);
  w->rows_size = n;
}

/* ---- reading ---- */

/* Only what the picture needs is looked at: other chunks, which may unpack to much, are not. */
static void choose_chunks(png_structp png) {
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  png_set_crc_action(png, PNG_CRC_QUIET_USE,
                     PNG_CRC_QUIET_USE); /* a fuzzer cannot guess checksums */
#endif
}

/* Pixels as whole bytes, palettes and transparent colours resolved; then the channels asked for. */
static void choose_channels(png_structp png, png_infop info, luc_image_mode mode) {
  int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
  bool clear = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  bool colored = color & PNG_COLOR_MASK_COLOR, alpha = clear || color & PNG_COLOR_MASK_ALPHA;
  bool want_color = mode == LUC_IMAGE_RGB || mode == LUC_IMAGE_RGB_ALPHA;
  bool want_alpha = mode == LUC_IMAGE_GRAY_ALPHA || mode == LUC_IMAGE_RGB_ALPHA;
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (color == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (clear) png_set_tRNS_to_alpha(png);
  if (depth == 16 && luc__is_little_endian()) png_set_swap(png);
  if (mode == LUC_IMAGE_UNCHANGED) return;
  if (colored && !want_color) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.2989, 0.587);
  if (!colored && want_color) png_set_gray_to_rgb(png);
  if (alpha && !want_alpha) png_set_strip_alpha(png);
  if (!alpha && want_alpha) png_set_add_alpha(png, depth == 16 ? 0xffff : 0xff, PNG_FILLER_AFTER);
}

/* No file holds more pixels than its bytes can be inflated to, and none is read beyond max_bytes.
 * */
static void check_size(work *w, uint64_t raw_row, uint64_t height, uint64_t bytes) {
  bool fits = raw_row <= w->input->size * LUC_DEFLATE_RATIO / height;
  if (!fits)
    stop(w, luc__fail(w->ctx, LUC_ERR_IO, "%s: the file declares more pixels than it can hold",
                      w->who));
  if (w->max_bytes && bytes > w->max_bytes)
    stop(w, luc__fail(w->ctx, LUC_ERR_MEMORY, "%s: the image needs more memory than max_bytes",
                      w->who));
}

/* A row of pixels becomes a row of each channel. */
static void place_row(const work *w, const unsigned char *row, int64_t y) {
  const luc_tensor *t = w->image;
  int64_t channels = t->sizes[0], height = t->sizes[1], width = t->sizes[2];
  for (int64_t c = 0; c < channels; c++) {
    int64_t at = (c * height + y) * width;
    if (t->dtype == LUC_UINT8) {
      unsigned char *to = (unsigned char *)t->data + at;
      for (int64_t x = 0; x < width; x++) to[x] = row[x * channels + c];
      continue;
    }
    int32_t *to = (int32_t *)(void *)t->data + at;
    for (int64_t x = 0; x < width; x++) {
      uint16_t value;
      memcpy(&value, row + 2 * (x * channels + c), 2);
      to[x] = value;
    }
  }
}

static void read_rows(work *w, int passes) {
  int64_t height = w->image->sizes[1];
  size_t row = png_get_rowbytes(w->png, w->info);
  make_rows(w, passes > 1 ? row * (size_t)height : row);
  for (int pass = 0; pass < passes; pass++)
    for (int64_t y = 0; y < height; y++) {
      unsigned char *to = w->rows + (passes > 1 ? (size_t)y * row : 0);
      png_read_row(w->png, to, NULL);
      if (pass == passes - 1) place_row(w, to, y);
    }
  png_read_end(w->png, NULL);
}

/* libpng's errors jump back into this function. */
static luc_status read_image(work *w, luc_image_mode mode) {
  if (setjmp(png_jmpbuf(w->png))) return w->status;
  png_set_read_fn(w->png, w, read_bytes);
  choose_chunks(w->png);
  png_read_info(w->png, w->info);
  uint64_t raw = png_get_rowbytes(w->png, w->info);
  choose_channels(w->png, w->info, mode);
  int passes = png_set_interlace_handling(w->png);
  png_read_update_info(w->png, w->info);
  int64_t height = png_get_image_height(w->png, w->info);
  int64_t sizes[] = {png_get_channels(w->png, w->info), height,
                     png_get_image_width(w->png, w->info)};
  bool wide = png_get_bit_depth(w->png, w->info) == 16;
  uint64_t bytes = (uint64_t)sizes[0] * (uint64_t)sizes[2] * (wide ? 4 : 1);
  check_size(w, raw, (uint64_t)height, bytes * (uint64_t)height);
  stop(w, luc__tensor_empty(w->ctx, wide ? LUC_INT32 : LUC_UINT8, 3, sizes, &w->image));
  read_rows(w, passes);
  return LUC_OK;
}

luc_status luc__png_read(luc_input input, luc_image_mode mode, uint64_t max_bytes,
                         luc_tensor **out) {
  unsigned char first[8] = {0};
  work w = {.ctx = input.ctx, .who = input.who, .input = &input, .max_bytes = max_bytes};
  luc_status status;
  *out = NULL;
  if (input.size >= 8) LUC_GO(luc__input_read(&input, 0, first, 8));
  if (png_sig_cmp(first, 0, 8) != 0)
    LUC_GO(luc__fail(w.ctx, LUC_ERR_IO, "%s: not a PNG file", w.who));
  status = LUC_ERR_MEMORY;
  w.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, allocate,
                                   release);
  if (w.png) w.info = png_create_info_struct(w.png);
  if (!w.info) goto done;
  w.status = LUC_OK;
  LUC_GO(read_image(&w, mode));
  *out = w.image;
  w.image = NULL;
done:
  drop(&w, true);
  luc__input_close(&input);
  return status;
}

/* ---- writing ---- */

static luc_status write_image(work *w, const luc_tensor *image, int level) {
  static const int colors[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                               PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  int64_t channels = image->sizes[0], height = image->sizes[1], width = image->sizes[2];
  if (setjmp(png_jmpbuf(w->png))) return w->status;
  png_set_write_fn(w->png, w, write_bytes, flush_bytes);
  png_set_user_limits(w->png, 0x7fffffff, 0x7fffffff);
  png_set_compression_level(w->png, level);
  png_set_IHDR(w->png, w->info, (png_uint_32)width, (png_uint_32)height, 8, colors[channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(w->png, w->info);
  make_rows(w, (size_t)(width * channels));
  for (int64_t y = 0; y < height; y++) {
    for (int64_t c = 0; c < channels; c++) {
      const char *from = image->data + (c * height + y) * width;
      for (int64_t x = 0; x < width; x++) w->rows[x * channels + c] = (unsigned char)from[x];
    }
    png_write_row(w->png, w->rows);
  }
  png_write_end(w->png, NULL);
  return LUC_OK;
}

luc_status luc__png_write(luc_context *ctx, const char *who, const luc_target *to,
                          luc_tensor *image, int level) {
  work w = {.ctx = ctx, .who = who};
  luc_status status;
  LUC_TRY(check_image(ctx, who, image));
  LUC_GO(luc__plain_copy(ctx, who, image, &w.image));
  status = LUC_ERR_MEMORY;
  w.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w, allocate,
                                    release);
  if (w.png) w.info = png_create_info_struct(w.png);
  if (!w.info) goto done;
  w.status = LUC_OK;
  LUC_GO(luc__writer_open(ctx, who, to, &w.writer));
  LUC_GO(write_image(&w, w.image, level));
  LUC_GO(luc__writer_commit(&w.writer));
done:
  drop(&w, false);
  luc__writer_close(&w.writer);
  return status;
}

#endif

luc_status luc_png_load(luc_context *ctx, const char *path, luc_image_mode mode, luc_tensor **out) {
  luc_input input;
  LUC_PLACE(ctx, out);
  LUC_CHECK(ctx, (unsigned)mode <= LUC_IMAGE_RGB_ALPHA, LUC_ERR_VALUE,
            "read_image: mode must be a luc_image_mode (got %d)", (int)mode);
  LUC_TRY(luc__input_open(ctx, "read_image", path, &input));
  luc_status status = luc__png_read(input, mode, 0, out);
  return luc__name_path(ctx, status, "read_image", path);
}

luc_status luc_png_save(luc_context *ctx, const char *path, luc_tensor *image) {
  LUC_NEED(ctx, image);
  return luc__png_write(ctx, "write_png", &(luc_target){.path = path}, image, 6);
}
