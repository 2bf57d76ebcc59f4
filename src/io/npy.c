/* NumPy's .npy: a magic word, a header that is the text of a Python dictionary, the elements. The
 * header is read by a grammar of its own, strictly, never evaluated; what it declares must be what
 * the file holds. Source: numpy/lib/format.py. */
#include <stdio.h>
#include <string.h>

#include "cpu/copy.h"
#include "io/readers.h"
#include "tensor/tensor.h"

enum { MAX_HEADER = 1 << 16, PREFIX = 8, ALIGNMENT = 64, GROWTH_DIGITS = 21 };

/* ORDER DTYPE */
static const char *const codes[] = {"f4", "f8",  "f2", NULL, "i1", "u1", "i2", "i4", "i8", "b1",
                                    "c8", "c16", NULL, NULL, NULL, NULL, NULL, "u2", "u4", "u8"};
_Static_assert(sizeof codes / sizeof *codes == LUC_NUM_DTYPES, "ORDER DTYPE");

typedef struct header {
  luc_context *ctx;
  const char *who, *at;
  unsigned seen; /* a bit for each key */
  luc_dtype dtype;
  bool swapped, fortran;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  uint64_t data; /* where the elements begin */
} header;

/* ---- the header's text ---- */

static luc_status bad(const header *h, const char *expected) {
  return luc__fail(h->ctx, LUC_ERR_IO, "%s: bad header: expected %s at '%.20s'", h->who, expected,
                   h->at);
}

static void skip_spaces(header *h) {
  while (*h->at && strchr(" \t\r\n", *h->at)) h->at++;
}

static bool accept(header *h, char c) {
  skip_spaces(h);
  if (*h->at != c) return false;
  h->at++;
  return true;
}

static bool accept_word(header *h, const char *word) {
  size_t n = strlen(word);
  skip_spaces(h);
  if (strncmp(h->at, word, n) != 0) return false;
  h->at += n;
  return true;
}

/* A text without escapes, in either kind of quotes. */
static luc_status take_text(header *h, char *out, size_t room) {
  skip_spaces(h);
  char quote = *h->at;
  if (quote != '\'' && quote != '"') return bad(h, "a string");
  const char *end = strpbrk(h->at + 1, quote == '"' ? "\"\\" : "'\\");
  if (!end || *end != quote || (size_t)(end - h->at) > room) return bad(h, "a short string");
  size_t n = (size_t)(end - h->at) - 1;
  memcpy(out, h->at + 1, n);
  out[n] = '\0';
  h->at = end + 1;
  return LUC_OK;
}

/* Names of what NumPy has and Lucerna has not. */
static const char *foreign(const char *code) {
  static const struct {
    char kind;
    const char *name;
  } kinds[] = {{'u', "unsigned integers of that size"},
               {'c', "complex numbers of that size"},
               {'O', "Python objects (a pickle, which is never executed)"},
               {'S', "byte strings"},
               {'a', "byte strings"},
               {'U', "strings"},
               {'M', "dates"},
               {'m', "time differences"},
               {'V', "raw or structured elements"},
               {'f', "floats of that size"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].kind == *code) return kinds[i].name;
  return NULL;
}

/* "<f4": byte order, kind and size. */
static luc_status take_descr(header *h) {
  char text[32];
  skip_spaces(h);
  LUC_CHECK(h->ctx, *h->at != '[' && *h->at != '(', LUC_ERR_SUPPORT,
            "%s: structured arrays are not supported", h->who);
  LUC_TRY(take_text(h, text, sizeof text));
  const char *code = *text && strchr("<>|=", *text) ? text + 1 : text;
  for (int d = 0; d < LUC_NUM_DTYPES; d++) {
    if (!codes[d] || strcmp(codes[d], code) != 0) continue;
    bool big = *text == '>' || (*text != '<' && !luc__is_little_endian());
    h->dtype = (luc_dtype)d;
    h->swapped = big == luc__is_little_endian();
    return LUC_OK;
  }
  const char *name = foreign(code);
  return luc__fail(h->ctx, name ? LUC_ERR_SUPPORT : LUC_ERR_IO,
                   name ? "%s: dtype '%s' is not supported: %s" : "%s: dtype '%s' is not known",
                   h->who, text, name);
}

static luc_status take_order(header *h) {
  h->fortran = accept_word(h, "True");
  return h->fortran || accept_word(h, "False") ? LUC_OK : bad(h, "True or False");
}

static luc_status take_size(header *h, int64_t *out) {
  const char *first = (skip_spaces(h), h->at);
  int64_t n = 0;
  for (; *h->at >= '0' && *h->at <= '9'; h->at++) {
    if (n > (INT64_MAX - 9) / 10) return bad(h, "a smaller size");
    n = n * 10 + (*h->at - '0');
  }
  if (h->at == first) return bad(h, "a size");
  if (*h->at == 'L') h->at++; /* Python 2's */
  *out = n;
  return LUC_OK;
}

/* A tuple, whose single item has a comma behind it. */
static luc_status take_shape(header *h) {
  bool comma = true;
  if (!accept(h, '(')) return bad(h, "'('");
  while (!accept(h, ')')) {
    if (!comma) return bad(h, "','");
    LUC_CHECK(h->ctx, h->ndim < LUC_MAX_DIMS, LUC_ERR_SUPPORT,
              "%s: the array has more than %d dimensions", h->who, LUC_MAX_DIMS);
    LUC_TRY(take_size(h, &h->sizes[h->ndim++]));
    comma = accept(h, ',');
  }
  return h->ndim == 1 && !comma ? bad(h, "','") : LUC_OK;
}

static luc_status take_pair(header *h) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  char key[16];
  unsigned k = 0;
  LUC_TRY(take_text(h, key, sizeof key));
  while (k < 3 && strcmp(keys[k], key) != 0) k++;
  if (k == 3 || h->seen >> k & 1) return bad(h, "each of descr, fortran_order and shape once");
  h->seen |= 1u << k;
  if (!accept(h, ':')) return bad(h, "':'");
  return k == 0 ? take_descr(h) : k == 1 ? take_order(h) : take_shape(h);
}

static luc_status parse(header *h) {
  bool comma = true;
  if (!accept(h, '{')) return bad(h, "'{'");
  while (!accept(h, '}')) {
    if (!comma) return bad(h, "','");
    LUC_TRY(take_pair(h));
    comma = accept(h, ',');
  }
  skip_spaces(h);
  if (*h->at) return bad(h, "nothing more");
  return h->seen == 7 ? LUC_OK : bad(h, "descr, fortran_order and shape");
}

/* ---- reading ---- */

static luc_status read_text(header *h, const luc_input *input, char *text, size_t n) {
  LUC_TRY(luc__input_read(input, h->data - n, text, n));
  text[n] = '\0';
  LUC_CHECK(h->ctx, strlen(text) == n, LUC_ERR_IO, "%s: bad header: it contains a NUL", h->who);
  h->at = text;
  return parse(h);
}

static luc_status read_header(header *h, const luc_input *input) {
  unsigned char first[12] = {0};
  size_t n = input->size < sizeof first ? (size_t)input->size : sizeof first;
  LUC_TRY(luc__input_read(input, 0, first, n));
  LUC_CHECK(h->ctx, n >= PREFIX && !memcmp(first, "\x93NUMPY", 6), LUC_ERR_IO,
            *first == 0x80 ? "%s: the file is a pickle, which is never executed"
                           : "%s: not a NumPy file",
            h->who);
  int version = first[6];
  LUC_CHECK(h->ctx, version >= 1 && version <= 3, LUC_ERR_SUPPORT,
            "%s: version %d of the format is not known", h->who, version);
  size_t width = version == 1 ? 2 : 4, length = 0;
  for (size_t i = width; i-- > 0;) length = length << 8 | first[PREFIX + i];
  bool fits = n >= PREFIX + width && length <= input->size - PREFIX - width;
  LUC_CHECK(h->ctx, fits && length <= MAX_HEADER, LUC_ERR_IO,
            fits ? "%s: its header is too long" : "%s: the file ends too early", h->who);
  char *text = luc__alloc(h->ctx, length + 1);
  if (!text) return LUC_ERR_MEMORY;
  h->data = PREFIX + width + length;
  luc_status status = read_text(h, input, text, length);
  luc__free(h->ctx, text, length + 1);
  return status;
}

/* The shape and the file's size must be the same. */
static luc_status check_size(const header *h, const luc_input *input) {
  int64_t bytes = (int64_t)luc__dtype_size(h->dtype);
  bool overflow = false;
  for (int d = 0; d < h->ndim; d++)
    if (h->sizes[d] == 0) bytes = 0;
  for (int d = 0; d < h->ndim && bytes; d++)
    overflow |= __builtin_mul_overflow(bytes, h->sizes[d], &bytes);
  uint64_t there = input->size - h->data;
  LUC_CHECK(h->ctx, !overflow && (uint64_t)bytes <= there, LUC_ERR_IO,
            "%s: the file declares more data than it holds", h->who);
  LUC_CHECK(h->ctx, (uint64_t)bytes == there, LUC_ERR_IO,
            "%s: the file has more data than it declares", h->who);
  return LUC_OK;
}

/* The elements in the file's order; one of Fortran's is the other turned round. */
static luc_status read_data(const header *h, const luc_input *input, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  luc_tensor *t, *view;
  bool turned = h->fortran && h->ndim > 1;
  size_t size = luc__dtype_size(h->dtype);
  for (int d = 0; d < h->ndim; d++) sizes[d] = h->sizes[turned ? h->ndim - 1 - d : d];
  LUC_TRY(luc__tensor_empty(h->ctx, h->dtype, h->ndim, sizes, &t));
  luc_status status = luc__input_read(input, h->data, t->data, (size_t)t->numel * size);
  if (h->swapped && status == LUC_OK) luc__swap_elements(t->data, (size_t)t->numel, h->dtype);
  for (int64_t i = 0; h->dtype == LUC_BOOL && i < t->numel; i++) t->data[i] = t->data[i] != 0;
  if (status != LUC_OK || !turned) {
    *out = status == LUC_OK ? t : NULL;
    if (status != LUC_OK) luc_tensor_release(h->ctx, t);
    return status;
  }
  for (int d = 0; d < h->ndim; d++) strides[d] = t->strides[h->ndim - 1 - d];
  status = luc__tensor_view(h->ctx, t, h->ndim, h->sizes, strides, 0, &view);
  luc_tensor_release(h->ctx, t);
  *out = status == LUC_OK ? view : NULL;
  return status;
}

luc_status luc__npy_read(luc_input input, luc_tensor **out) {
  header h = {.ctx = input.ctx, .who = input.who};
  luc_status status;
  *out = NULL;
  LUC_GO(read_header(&h, &input));
  LUC_GO(check_size(&h, &input));
  LUC_GO(read_data(&h, &input, out));
done:
  luc__input_close(&input);
  return status;
}

luc_status luc_npy_load(luc_context *ctx, const char *path, luc_tensor **out) {
  luc_input input;
  LUC_PLACE(ctx, out);
  LUC_TRY(luc__input_open(ctx, "npy", path, &input));
  luc_status status = luc__npy_read(input, out);
  return luc__name_path(ctx, status, "npy", path);
}

/* ---- writing ---- */

luc_status luc__npy_header(const char *who, const luc_tensor *t, luc_text *text) {
  char shape[LUC_SHAPE_TEXT];
  int n = 0, digits = 0;
  LUC_CHECK(text->ctx, codes[t->dtype], LUC_ERR_SUPPORT,
            "%s: NumPy has no %s; convert the tensor to float32", who, luc__dtype_name(t->dtype));
  shape[0] = '\0';
  for (int d = 0; d < t->ndim; d++) {
    n += snprintf(shape + n, sizeof shape - (size_t)n, d ? ", %lld" : "%lld",
                  (long long)t->sizes[d]);
    if (d == 0) digits = n;
  }
  size_t size = luc__dtype_size(t->dtype);
  char order = size == 1 ? '|' : luc__is_little_endian() ? '<' : '>';
  luc__text_append(text, "\x93NUMPY\1\0??", PREFIX + 2);
  luc__text_printf(text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }", order,
                   codes[t->dtype], shape, t->ndim == 1 ? "," : "");
  if (t->ndim > 0) luc__text_fill(text, ' ', GROWTH_DIGITS - digits); /* as NumPy leaves room */
  luc__text_fill(text, ' ', ALIGNMENT - (int64_t)((text->length + 1) % ALIGNMENT));
  luc__text_puts(text, "\n");
  LUC_TRY(text->status);
  text->data[PREFIX] = (char)((text->length - PREFIX - 2) & 0xff);
  text->data[PREFIX + 1] = (char)((text->length - PREFIX - 2) >> 8);
  return LUC_OK;
}

luc_status luc__npy_write(luc_context *ctx, const luc_target *to, luc_tensor *t) {
  luc_text text;
  luc_tensor *plain = NULL;
  luc_writer writer = {.ctx = ctx};
  luc_status status;
  luc__text_init(&text, ctx);
  LUC_GO(luc__plain_copy(ctx, "npy", t, &plain));
  LUC_GO(luc__npy_header("npy", plain, &text));
  LUC_GO(luc__writer_open(ctx, "npy", to, &writer));
  LUC_GO(luc__writer_write(&writer, text.data, text.length));
  LUC_GO(luc__writer_write(&writer, plain->data,
                           (size_t)plain->numel * luc__dtype_size(plain->dtype)));
  LUC_GO(luc__writer_commit(&writer));
done:
  luc__writer_close(&writer);
  luc_tensor_release(ctx, plain);
  luc__text_drop(&text);
  return status;
}

luc_status luc_npy_save(luc_context *ctx, const char *path, luc_tensor *t) {
  LUC_NEED(ctx, t);
  return luc__npy_write(ctx, &(luc_target){.path = path}, t);
}

luc_status luc__plain_copy(luc_context *ctx, const char *who, luc_tensor *t, luc_tensor **out) {
  luc_tensor *alias;
  *out = NULL;
  LUC_CHECK(ctx, !luc_tensor_is_uninitialized(t), LUC_ERR_VALUE,
            "%s: the tensor is uninitialized: it has no shape yet", who);
  LUC_TRY(luc__tensor_alias(ctx, t, &alias));
  luc_status status = luc__contiguous_as(ctx, alias, t->dtype, out);
  luc_tensor_release(ctx, alias);
  return status;
}
