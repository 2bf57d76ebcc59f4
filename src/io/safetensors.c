/* safetensors, read and written: 8 bytes of header length, a JSON header, the data. The reader
 * checks every rule of the specification before a tensor is made; the writer orders and pads as the
 * reference implementation does, so equal content gives equal bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/copy.h"
#include "io/file.h"
#include "io/json.h"
#include "lucerna/io.h"
#include "tensor/tensor.h"
#include "tensor/text.h"

enum { MAX_HEADER = 100000000 };
static const char who[] = "safetensors";

/* ORDER DTYPE */
static const char *const codes[] = {"F32", "F64", "F16", "BF16", "I8",
                                    "U8",  "I16", "I32", "I64",  "BOOL"};
_Static_assert(sizeof codes / sizeof *codes == LUC_NUM_DTYPES, "ORDER DTYPE");
/* The format's others: a good file that cannot be read here. */
static const char *const elsewhere[] = {"U16",     "U32",         "U64",         "C64",
                                        "F4",      "F6_E2M3",     "F6_E3M2",     "F8_E5M2",
                                        "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0"};

typedef struct entry {
  const char *name;
  luc_dtype dtype;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  int64_t begin, end;
} entry;

/* The reader's state, and at the end the block that luc_tensor_file hands out: header (which the
 * names point into), entries, tensors, metadata. */
typedef struct loader {
  luc_tensor_file file; /* first: luc_tensor_file_free gets this address */
  luc_context *ctx;
  char *header;
  size_t header_size;
  entry *entries;
  size_t capacity, metadata_capacity;
  size_t used;
  int64_t data_size;
} loader;

/* ---- header ---- */

static luc_status parse_dtype(luc_json *json, entry *e) {
  const char *code;
  LUC_TRY(luc__json_string(json, &code));
  for (int d = 0; d < LUC_NUM_DTYPES; d++)
    if (!strcmp(codes[d], code)) {
      e->dtype = (luc_dtype)d;
      return LUC_OK;
    }
  bool known = false;
  for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
    known |= !strcmp(elsewhere[k], code);
  return luc__fail(json->ctx, known ? LUC_ERR_SUPPORT : LUC_ERR_IO,
                   "%s: tensor '%.200s' has %s dtype '%.40s'", who, e->name,
                   known ? "an unsupported" : "an unknown", code);
}

static luc_status parse_shape(luc_json *json, entry *e) {
  LUC_TRY(luc__json_expect(json, '['));
  e->ndim = 0;
  if (luc__json_accept(json, ']')) return LUC_OK;
  do {
    LUC_CHECK(json->ctx, e->ndim < LUC_MAX_DIMS, LUC_ERR_SUPPORT,
              "%s: tensor '%.200s' has more than %d dimensions", who, e->name, LUC_MAX_DIMS);
    LUC_TRY(luc__json_integer(json, &e->sizes[e->ndim++]));
  } while (luc__json_accept(json, ','));
  return luc__json_expect(json, ']');
}

static luc_status parse_offsets(luc_json *json, entry *e) {
  LUC_TRY(luc__json_expect(json, '['));
  LUC_TRY(luc__json_integer(json, &e->begin));
  LUC_TRY(luc__json_expect(json, ','));
  LUC_TRY(luc__json_integer(json, &e->end));
  return luc__json_expect(json, ']');
}

/* {"dtype": …, "shape": …, "data_offsets": …}, each once, in any order, nothing else. */
static luc_status parse_entry(luc_json *json, entry *e) {
  unsigned seen = 0;
  LUC_TRY(luc__json_expect(json, '{'));
  do {
    const char *key;
    LUC_TRY(luc__json_string(json, &key));
    LUC_TRY(luc__json_expect(json, ':'));
    unsigned bit = !strcmp(key, "dtype")          ? 1
                   : !strcmp(key, "shape")        ? 2
                   : !strcmp(key, "data_offsets") ? 4
                                                  : 0;
    LUC_CHECK(json->ctx, bit && !(seen & bit), LUC_ERR_IO,
              "%s: tensor '%.200s' has a wrong or repeated field '%.40s'", who, e->name, key);
    seen |= bit;
    LUC_TRY(bit == 1   ? parse_dtype(json, e)
            : bit == 2 ? parse_shape(json, e)
                       : parse_offsets(json, e));
  } while (luc__json_accept(json, ','));
  LUC_CHECK(json->ctx, seen == 7, LUC_ERR_IO,
            "%s: tensor '%.200s' lacks dtype, shape or data_offsets", who, e->name);
  return luc__json_expect(json, '}');
}

static luc_status grow(luc_context *ctx, void **array, size_t *capacity, size_t used, size_t item) {
  if (used < *capacity) return LUC_OK;
  size_t more = *capacity ? 2 * *capacity : 16;
  void *grown = luc__realloc(ctx, *array, *capacity * item, more * item);
  if (!grown) return LUC_ERR_MEMORY;
  *array = grown;
  *capacity = more;
  return LUC_OK;
}

static luc_status parse_metadata(loader *l, luc_json *json) {
  luc_tensor_file *f = &l->file;
  LUC_TRY(luc__json_expect(json, '{'));
  if (luc__json_accept(json, '}')) return LUC_OK;
  do {
    void *array = f->metadata;
    LUC_TRY(grow(l->ctx, &array, &l->metadata_capacity, (size_t)f->nmetadata, sizeof *f->metadata));
    f->metadata = array;
    luc_named_text *pair = &f->metadata[f->nmetadata];
    LUC_TRY(luc__json_string(json, &pair->name));
    LUC_TRY(luc__json_expect(json, ':'));
    LUC_TRY(luc__json_string(json, &pair->text));
    f->nmetadata++;
  } while (luc__json_accept(json, ','));
  return luc__json_expect(json, '}');
}

static luc_status parse_header(loader *l) {
  luc_json json = {l->ctx, who, l->header, l->header, l->header + l->header_size};
  bool metadata_seen = false;
  if (l->header[0] != '{') return luc__json_fail(&json, "'{' as the first byte");
  LUC_TRY(luc__json_expect(&json, '{'));
  bool more = !luc__json_accept(&json, '}');
  while (more) {
    const char *name;
    LUC_TRY(luc__json_string(&json, &name));
    LUC_TRY(luc__json_expect(&json, ':'));
    if (!strcmp(name, "__metadata__")) {
      if (metadata_seen) return luc__json_fail(&json, "__metadata__ only once");
      metadata_seen = true;
      LUC_TRY(parse_metadata(l, &json));
    } else {
      void *array = l->entries;
      LUC_TRY(grow(l->ctx, &array, &l->capacity, l->used, sizeof *l->entries));
      l->entries = array;
      l->entries[l->used].name = name;
      LUC_TRY(parse_entry(&json, &l->entries[l->used]));
      l->used++;
    }
    more = luc__json_accept(&json, ',');
    if (!more) LUC_TRY(luc__json_expect(&json, '}'));
  }
  while (json.at < json.end && *json.at == ' ') json.at++;
  return json.at == json.end ? LUC_OK : luc__json_fail(&json, "spaces to the header's end");
}

/* ---- validation ---- */

static int by_offset(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static luc_status check_size(luc_context *ctx, const entry *e) {
  int64_t bytes = (int64_t)luc__dtype_size(e->dtype);
  bool overflow = false;
  for (int d = 0; d < e->ndim; d++) overflow |= __builtin_mul_overflow(bytes, e->sizes[d], &bytes);
  LUC_CHECK(ctx, !overflow && e->begin <= e->end && e->end - e->begin == bytes, LUC_ERR_IO,
            "%s: tensor '%.200s' has an invalid shape, data type, or offset", who, e->name);
  return LUC_OK;
}

static int text_by_name(const void *a, const void *b) {
  return strcmp(((const luc_named_text *)a)->name, ((const luc_named_text *)b)->name);
}

/* Sorts metadata by name; no name may stand twice. */
static luc_status sort_texts(luc_context *ctx, luc_named_text *texts, int n, luc_status failure) {
  if (n > 0) qsort(texts, (size_t)n, sizeof *texts, text_by_name);
  for (int i = 1; i < n; i++)
    LUC_CHECK(ctx, strcmp(texts[i - 1].name, texts[i].name) != 0, failure,
              "%s: metadata '%.200s' appears twice", who, texts[i].name);
  return LUC_OK;
}

/* The tensors tile the data without a hole, an overlap or a rest; no name stands twice. */
static luc_status validate(loader *l) {
  LUC_TRY(sort_texts(l->ctx, l->file.metadata, l->file.nmetadata, LUC_ERR_IO));
  if (l->used > 0) qsort(l->entries, l->used, sizeof *l->entries, by_name);
  for (size_t i = 1; i < l->used; i++)
    LUC_CHECK(l->ctx, strcmp(l->entries[i - 1].name, l->entries[i].name) != 0, LUC_ERR_IO,
              "%s: tensor '%.200s' appears twice", who, l->entries[i].name);
  if (l->used > 0) qsort(l->entries, l->used, sizeof *l->entries, by_offset);
  int64_t at = 0;
  for (size_t i = 0; i < l->used; i++) {
    LUC_CHECK(l->ctx, l->entries[i].begin == at, LUC_ERR_IO,
              "%s: invalid offset for tensor '%.200s'", who, l->entries[i].name);
    LUC_TRY(check_size(l->ctx, &l->entries[i]));
    at = l->entries[i].end;
  }
  LUC_CHECK(l->ctx, at == l->data_size, LUC_ERR_IO,
            "%s: incomplete metadata, file not fully covered (%lld of %lld bytes)", who,
            (long long)at, (long long)l->data_size);
  return LUC_OK;
}

/* ---- reading ---- */

static luc_status read_header(loader *l, luc_reader *reader) {
  unsigned char raw[8];
  uint64_t n = 0, left = luc__reader_bound(reader);
  LUC_CHECK(l->ctx, left >= 8, LUC_ERR_IO, "%s: header too small", who);
  LUC_TRY(luc__reader_read(reader, raw, 8));
  for (int i = 7; i >= 0; i--) n = n << 8 | raw[i];
  LUC_CHECK(l->ctx, n <= MAX_HEADER, LUC_ERR_IO, "%s: header too large", who);
  LUC_CHECK(l->ctx, n >= 2 && n <= left - 8, LUC_ERR_IO, "%s: invalid header length", who);
  l->header = luc__alloc(l->ctx, (size_t)n);
  if (!l->header) return LUC_ERR_MEMORY;
  l->header_size = (size_t)n;
  l->data_size = (int64_t)(left - 8 - n);
  return luc__reader_read(reader, l->header, (size_t)n);
}

static luc_status read_tensors(loader *l, luc_reader *reader) {
  luc_tensor_file *f = &l->file;
  if (!l->used) return LUC_OK;
  f->tensors = luc__alloc_zero(l->ctx, luc__mul_size(l->used, sizeof *f->tensors));
  if (!f->tensors) return LUC_ERR_MEMORY;
  f->ntensors = (int)l->used;
  for (int i = 0; i < f->ntensors; i++) {
    const entry *e = &l->entries[i];
    luc_tensor *t;
    LUC_TRY(luc__tensor_empty(l->ctx, e->dtype, e->ndim, e->sizes, &t));
    f->tensors[i] = (luc_named_tensor){e->name, t};
    LUC_TRY(luc__reader_read(reader, t->data, (size_t)(e->end - e->begin)));
    for (int64_t k = 0; e->dtype == LUC_BOOL && k < t->numel; k++)
      LUC_CHECK(l->ctx, (unsigned char)t->data[k] <= 1, LUC_ERR_IO,
                "%s: tensor '%.200s' has a boolean that is neither 0 nor 1", who, e->name);
  }
  return LUC_OK;
}

/* Says which file it was in messages about its contents. */
static void name_path(luc_context *ctx, luc_status status, const char *path) {
  char text[512];
  size_t skip = strlen(who) + 2; /* "safetensors: " */
  snprintf(text, sizeof text, "%s", luc_message(ctx));
  bool ours = status == LUC_ERR_IO && strlen(text) > skip && !strncmp(text, who, skip - 2);
  if (ours && !strstr(text, path))
    luc__fail(ctx, status, "%s: '%.200s': %s", who, path, text + skip);
}

luc_status luc_safetensors_load(luc_context *ctx, const char *path, luc_tensor_file **out) {
  luc_reader *reader = NULL;
  luc_status status;
  *out = NULL;
  loader *l = luc__alloc_zero(ctx, sizeof *l);
  if (!l) return LUC_ERR_MEMORY;
  l->ctx = ctx;
  LUC_GO(luc__reader_open(ctx, who, path, false, &reader));
  LUC_GO(read_header(l, reader));
  LUC_GO(parse_header(l));
  LUC_GO(validate(l));
  LUC_GO(read_tensors(l, reader));
  LUC_GO(luc__reader_finish(reader));
  *out = &l->file;
done:
  luc__reader_close(ctx, reader);
  if (status == LUC_OK) return LUC_OK;
  if (reader) name_path(ctx, status, path); /* opened: it is the contents */
  luc__io_one_line(ctx);
  luc_tensor_file_free(ctx, &l->file);
  return status;
}

void luc_tensor_file_free(luc_context *ctx, luc_tensor_file *file) {
  if (!file) return;
  loader *l = (loader *)file;
  for (int i = 0; i < file->ntensors; i++) luc_tensor_release(ctx, file->tensors[i].tensor);
  luc__free(ctx, file->tensors, (size_t)file->ntensors * sizeof *file->tensors);
  luc__free(ctx, file->metadata, l->metadata_capacity * sizeof *file->metadata);
  luc__free(ctx, l->entries, l->capacity * sizeof *l->entries);
  luc__free(ctx, l->header, l->header_size);
  luc__free(ctx, l, sizeof *l);
}

/* ---- writing ---- */

/* The reference order of dtypes by alignment: what it writes first has the largest. ORDER DTYPE */
static const uint8_t rank_of[] = {7, 8, 4, 5, 2, 1, 3, 6, 9, 0};
_Static_assert(sizeof rank_of == LUC_NUM_DTYPES, "ORDER DTYPE");

static int by_alignment(const void *a, const void *b) {
  const luc_named_tensor *x = a, *y = b;
  int difference = rank_of[y->tensor->dtype] - rank_of[x->tensor->dtype];
  return difference ? difference : strcmp(x->name, y->name);
}

static void put_string(luc_text *text, const char *s) {
  static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
  luc__text_puts(text, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    const char *known = strchr(from, c);
    if (known) {
      luc__text_printf(text, "\\%c", into[known - from]);
    } else if (c < 0x20) {
      luc__text_printf(text, "\\u%04x", c);
    } else {
      luc__text_append(text, s, 1);
    }
  }
  luc__text_puts(text, "\"");
}

static void put_entry(luc_text *text, const luc_named_tensor *item, int64_t *at) {
  const luc_tensor *t = item->tensor;
  int64_t end = *at + t->numel * (int64_t)luc__dtype_size((luc_dtype)t->dtype);
  put_string(text, item->name);
  luc__text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", codes[t->dtype]);
  for (int d = 0; d < t->ndim; d++)
    luc__text_printf(text, d ? ",%lld" : "%lld", (long long)t->sizes[d]);
  luc__text_printf(text, "],\"data_offsets\":[%lld,%lld]}", (long long)*at, (long long)end);
  *at = end;
}

static void put_header(luc_text *text, const luc_named_tensor *items, int n,
                       const luc_named_text *metadata, int nmetadata) {
  int64_t at = 0;
  luc__text_puts(text, "{");
  if (nmetadata) {
    luc__text_puts(text, "\"__metadata__\":{");
    for (int i = 0; i < nmetadata; i++) {
      if (i) luc__text_puts(text, ",");
      put_string(text, metadata[i].name);
      luc__text_puts(text, ":");
      put_string(text, metadata[i].text);
    }
    luc__text_puts(text, n ? "}," : "}");
  }
  for (int i = 0; i < n; i++) {
    if (i) luc__text_puts(text, ",");
    put_entry(text, &items[i], &at);
  }
  luc__text_puts(text, "}");
  luc__text_fill(text, ' ', (int64_t)(-(int64_t)text->length & 7));
}

static int tensor_by_name(const void *a, const void *b) {
  return strcmp(((const luc_named_tensor *)a)->name, ((const luc_named_tensor *)b)->name);
}

static int by_storage(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const luc_named_tensor *)a)->tensor->storage;
  uintptr_t y = (uintptr_t)((const luc_named_tensor *)b)->tensor->storage;
  return x != y ? (x < y ? -1 : 1) : tensor_by_name(a, b);
}

/* Reorders items: names are good and stand once, tensors share no memory. */
static luc_status check_items(luc_context *ctx, luc_named_tensor *items, int n) {
  if (n > 0) qsort(items, (size_t)n, sizeof *items, tensor_by_name);
  for (int i = 0; i < n; i++) {
    const char *name = items[i].name;
    LUC_CHECK(ctx, strcmp(name, "__metadata__") != 0, LUC_ERR_VALUE,
              "%s: a tensor cannot be named '__metadata__'", who);
    LUC_CHECK(ctx, luc__utf8_valid(name), LUC_ERR_VALUE, "%s: a tensor's name is not UTF-8", who);
    LUC_CHECK(ctx, !luc_tensor_is_uninitialized(items[i].tensor), LUC_ERR_VALUE,
              "%s: tensor '%.200s' is uninitialized: it has no shape yet", who, name);
    LUC_CHECK(ctx, i == 0 || strcmp(items[i - 1].name, name) != 0, LUC_ERR_VALUE,
              "%s: tensor '%.200s' appears twice", who, name);
  }
  if (n > 0) qsort(items, (size_t)n, sizeof *items, by_storage);
  for (int i = 1; i < n; i++)
    for (int k = i - 1; k >= 0 && items[k].tensor->storage == items[i].tensor->storage; k--)
      LUC_CHECK(ctx, !luc__may_overlap(items[i].tensor, items[k].tensor), LUC_ERR_VALUE,
                "%s: tensors '%.200s' and '%.200s' share memory; clone() one of them first", who,
                items[k].name, items[i].name);
  return LUC_OK;
}

static luc_status check_texts(luc_context *ctx, luc_named_text *texts, int n) {
  for (int i = 0; i < n; i++)
    LUC_CHECK(ctx, luc__utf8_valid(texts[i].name) && luc__utf8_valid(texts[i].text), LUC_ERR_VALUE,
              "%s: a metadata text is not UTF-8", who);
  return sort_texts(ctx, texts, n, LUC_ERR_VALUE);
}

static luc_status write_tensor(luc_context *ctx, luc_writer *writer, luc_tensor *t) {
  luc_tensor *plain;
  LUC_TRY(luc__contiguous_as(ctx, t, (luc_dtype)t->dtype, &plain));
  luc_status status = luc__writer_write(
      writer, plain->data, (size_t)plain->numel * luc__dtype_size((luc_dtype)plain->dtype));
  luc_tensor_release(ctx, plain);
  return status;
}

static luc_status write_all(luc_context *ctx, luc_writer *writer, const luc_text *header,
                            const luc_named_tensor *items, int n) {
  unsigned char length[8];
  LUC_CHECK(ctx, header->length <= MAX_HEADER, LUC_ERR_VALUE, "%s: header too large", who);
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->length >> (8 * i));
  LUC_TRY(luc__writer_write(writer, length, 8));
  LUC_TRY(luc__writer_write(writer, header->data, header->length));
  for (int i = 0; i < n; i++) LUC_TRY(write_tensor(ctx, writer, items[i].tensor));
  return luc__writer_commit(writer);
}

luc_status luc_safetensors_save(luc_context *ctx, const char *path, const luc_named_tensor *tensors,
                                int n, const luc_named_text *metadata, int nmetadata) {
  luc_text header;
  luc_writer writer = {.ctx = ctx};
  luc_status status = LUC_ERR_MEMORY;
  size_t size = luc__mul_size((size_t)n, sizeof *tensors);
  size_t texts_size = luc__mul_size((size_t)nmetadata, sizeof *metadata);
  luc_named_tensor *items = luc__alloc(ctx, size);
  luc_named_text *texts = luc__alloc(ctx, texts_size);
  luc__text_init(&header, ctx);
  if (!items || !texts) goto done;
  if (n) memcpy(items, tensors, size);
  if (nmetadata) memcpy(texts, metadata, texts_size);
  LUC_GO(check_items(ctx, items, n));
  LUC_GO(check_texts(ctx, texts, nmetadata));
  if (n) qsort(items, (size_t)n, sizeof *items, by_alignment);
  put_header(&header, items, n, texts, nmetadata);
  LUC_GO(header.status);
  LUC_GO(luc__writer_open(ctx, who, path, &writer));
  LUC_GO(write_all(ctx, &writer, &header, items, n));
done:
  luc__writer_close(&writer);
  luc__text_drop(&header);
  luc__free(ctx, texts, texts_size);
  luc__free(ctx, items, size);
  if (status != LUC_OK) luc__io_one_line(ctx);
  return status;
}
