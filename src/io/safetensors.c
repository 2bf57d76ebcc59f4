/* Reading safetensors: 8 bytes of header length, a JSON header, the data. Every rule of the
 * specification is checked before a tensor is made; tensors and parts of them are then read, or
 * mapped, one by one. */
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "io/json.h"

static const char who[] = "safetensors";

/* Dtypes of the format that Lucerna lacks: a file with them is valid but cannot be read here. */
static const char *const elsewhere[] = {"F4", "F6_E2M3", "F6_E3M2"};

typedef luc_safetensors_entry entry;

/* ---- header ---- */

static luc_status parse_dtype(luc_json *json, entry *e) {
  const char *code;
  LUC_TRY(luc__json_string(json, &code));
  for (int d = 0; d < LUC_NUM_DTYPES; d++)
    if (luc__safetensors_codes[d] && !strcmp(luc__safetensors_codes[d], code)) {
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

static luc_status parse_metadata(luc_safetensors *f, luc_json *json) {
  LUC_TRY(luc__json_expect(json, '{'));
  if (luc__json_accept(json, '}')) return LUC_OK;
  do {
    void *array = f->metadata;
    LUC_TRY(grow(f->ctx, &array, &f->metadata_capacity, (size_t)f->nmetadata, sizeof *f->metadata));
    f->metadata = array;
    luc_named_text *pair = &f->metadata[f->nmetadata];
    LUC_TRY(luc__json_string(json, &pair->name));
    LUC_TRY(luc__json_expect(json, ':'));
    LUC_TRY(luc__json_string(json, &pair->text));
    f->nmetadata++;
  } while (luc__json_accept(json, ','));
  return luc__json_expect(json, '}');
}

static luc_status parse_header(luc_safetensors *f) {
  luc_json json = {f->ctx, who, f->header, f->header, f->header + f->header_size};
  bool metadata_seen = false;
  if (f->header[0] != '{') return luc__json_fail(&json, "'{' as the first byte");
  LUC_TRY(luc__json_expect(&json, '{'));
  bool more = !luc__json_accept(&json, '}');
  while (more) {
    const char *name;
    LUC_TRY(luc__json_string(&json, &name));
    LUC_TRY(luc__json_expect(&json, ':'));
    if (!strcmp(name, "__metadata__")) {
      if (metadata_seen) return luc__json_fail(&json, "__metadata__ only once");
      metadata_seen = true;
      LUC_TRY(parse_metadata(f, &json));
    } else {
      void *array = f->entries;
      LUC_TRY(grow(f->ctx, &array, &f->capacity, f->n, sizeof *f->entries));
      f->entries = array;
      f->entries[f->n].name = name;
      LUC_TRY(parse_entry(&json, &f->entries[f->n]));
      f->n++;
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

/* The tensors tile the data without a hole, an overlap or a rest; no name stands twice. */
static luc_status validate(luc_safetensors *f) {
  LUC_TRY(luc__sort_texts(f->ctx, f->metadata, (size_t)f->nmetadata, LUC_ERR_IO,
                          "safetensors: metadata"));
  if (f->n > 0) qsort(f->entries, f->n, sizeof *f->entries, by_name);
  for (size_t i = 1; i < f->n; i++)
    LUC_CHECK(f->ctx, strcmp(f->entries[i - 1].name, f->entries[i].name) != 0, LUC_ERR_IO,
              "%s: tensor '%.200s' appears twice", who, f->entries[i].name);
  if (f->n > 0) qsort(f->entries, f->n, sizeof *f->entries, by_offset);
  int64_t at = 0;
  for (size_t i = 0; i < f->n; i++) {
    LUC_CHECK(f->ctx, f->entries[i].begin == at, LUC_ERR_IO,
              "%s: invalid offset for tensor '%.200s'", who, f->entries[i].name);
    LUC_TRY(check_size(f->ctx, &f->entries[i]));
    at = f->entries[i].end;
  }
  LUC_CHECK(f->ctx, at == f->data_size, LUC_ERR_IO,
            "%s: incomplete metadata, file not fully covered (%lld of %lld bytes)", who,
            (long long)at, (long long)f->data_size);
  return LUC_OK;
}

/* ---- opening ---- */

static luc_status read_header(luc_safetensors *f) {
  unsigned char raw[8];
  uint64_t n = 0, size = f->input.size;
  LUC_CHECK(f->ctx, size >= 8, LUC_ERR_IO, "%s: header too small", who);
  LUC_TRY(luc__input_read(&f->input, 0, raw, 8));
  for (int i = 7; i >= 0; i--) n = n << 8 | raw[i];
  LUC_CHECK(f->ctx, n <= LUC_SAFETENSORS_HEADER, LUC_ERR_IO, "%s: header too large", who);
  LUC_CHECK(f->ctx, n >= 2 && n <= size - 8, LUC_ERR_IO, "%s: invalid header length", who);
  f->header = luc__alloc(f->ctx, (size_t)n);
  if (!f->header) return LUC_ERR_MEMORY;
  f->header_size = (size_t)n;
  f->data = 8 + n;
  f->data_size = (int64_t)(size - 8 - n);
  return luc__input_read(&f->input, 8, f->header, (size_t)n);
}

luc_status luc__safetensors_open(luc_input input, luc_safetensors **out) {
  luc_status status;
  luc_safetensors *f = luc__alloc_zero(input.ctx, sizeof *f);
  *out = NULL;
  if (!f) {
    luc__input_close(&input);
    return LUC_ERR_MEMORY;
  }
  f->ctx = input.ctx;
  f->input = input;
  LUC_GO(read_header(f));
  LUC_GO(parse_header(f));
  LUC_GO(validate(f));
  *out = f;
  return LUC_OK;
done:
  luc__io_one_line(f->ctx);
  luc__safetensors_close(f);
  return status;
}

void luc__safetensors_close(luc_safetensors *f) {
  if (!f) return;
  luc_context *ctx = f->ctx;
  luc__input_close(&f->input);
  luc__free(ctx, f->metadata, f->metadata_capacity * sizeof *f->metadata);
  luc__free(ctx, f->entries, f->capacity * sizeof *f->entries);
  luc__free(ctx, f->header, f->header_size);
  luc__free(ctx, f, sizeof *f);
}

/* ---- tensors ---- */

static luc_status check_booleans(const luc_safetensors *f, const entry *e, const luc_tensor *t) {
  if (e->dtype != LUC_BOOL) return LUC_OK;
  for (int64_t k = 0; k < t->numel; k++)
    LUC_CHECK(f->ctx, (unsigned char)t->data[k] <= 1, LUC_ERR_IO,
              "%s: tensor '%.200s' has a boolean that is neither 0 nor 1", who, e->name);
  return LUC_OK;
}

/* A tensor over the file's pages; *out stays NULL where it must be read: small ones are not worth a
 * mapping, elements must be aligned. */
static luc_status map_tensor(const luc_safetensors *f, const entry *e, luc_tensor **out) {
  enum { SMALL = 1 << 16 };
  uint64_t at = f->data + (uint64_t)e->begin;
  size_t n = (size_t)(e->end - e->begin);
  *out = NULL;
  if (n < SMALL || at % luc__dtype_size(e->dtype) != 0) return LUC_OK;
  void *data = luc__input_map(&f->input, at, n);
  if (!data) return LUC_OK;
  return luc_tensor_wrap(f->ctx, e->dtype, e->ndim, e->sizes, NULL, data, luc__input_unmap,
                         (void *)(uintptr_t)n, out);
}

luc_status luc__safetensors_read(const luc_safetensors *f, const entry *e, bool map,
                                 luc_tensor **out) {
  luc_status status;
  luc_tensor *t = NULL;
  *out = NULL;
  if (map) LUC_TRY(map_tensor(f, e, &t));
  if (!t) {
    LUC_TRY(luc__tensor_empty(f->ctx, e->dtype, e->ndim, e->sizes, &t));
    LUC_GO(luc__input_read(&f->input, f->data + (uint64_t)e->begin, t->data,
                           (size_t)(e->end - e->begin)));
  }
  LUC_GO(check_booleans(f, e, t));
  *out = t;
  return LUC_OK;
done:
  luc__io_one_line(f->ctx);
  luc_tensor_release(f->ctx, t);
  return status;
}

/* Bytes of a tensor read ahead, so that short runs of elements do not each ask the system. */
typedef struct window {
  const luc_safetensors *f;
  uint64_t begin, end; /* the range of the file that is in `bytes` */
  uint64_t last;       /* the tensor's end */
  char bytes[1 << 14];
} window;

static luc_status read_run(window *w, uint64_t at, char *to, size_t n) {
  if (n > sizeof w->bytes / 4) return luc__input_read(&w->f->input, at, to, n);
  if (at < w->begin || at + n > w->end) {
    uint64_t left = w->last - at;
    w->begin = w->end = 0;
    LUC_TRY(luc__input_read(&w->f->input, at, w->bytes,
                            left < sizeof w->bytes ? (size_t)left : sizeof w->bytes));
    w->begin = at;
    w->end = at + (left < sizeof w->bytes ? left : sizeof w->bytes);
  }
  memcpy(to, w->bytes + (at - w->begin), n);
  return LUC_OK;
}

/* The elements a geometry selects, run by run: a run is what lies side by side in the file. */
static luc_status read_runs(window *w, const entry *e, const luc_tensor *view, char *to) {
  size_t size = luc__dtype_size(e->dtype);
  int64_t run = 1, index[LUC_MAX_DIMS] = {0};
  int outer = view->ndim;
  while (outer > 0 && view->strides[outer - 1] == run) run *= view->sizes[--outer];
  for (int64_t done = 0; done < view->numel; done += run) {
    int64_t at = view->offset;
    for (int d = 0; d < outer; d++) at += index[d] * view->strides[d];
    LUC_TRY(read_run(w, w->f->data + (uint64_t)e->begin + (uint64_t)at * size,
                     to + (size_t)done * size, (size_t)run * size));
    for (int d = outer - 1; d >= 0 && ++index[d] == view->sizes[d]; d--) index[d] = 0;
  }
  return LUC_OK;
}

luc_status luc__safetensors_slice(const luc_safetensors *f, const entry *e, const luc_tensor *view,
                                  luc_tensor **out) {
  luc_tensor *t = NULL;
  luc_status status = LUC_ERR_MEMORY;
  window *w = luc__alloc(f->ctx, sizeof *w);
  *out = NULL;
  if (!w) return status;
  w->f = f;
  w->begin = w->end = 0;
  w->last = f->data + (uint64_t)e->end;
  LUC_GO(luc__tensor_empty(f->ctx, e->dtype, view->ndim, view->sizes, &t));
  LUC_GO(read_runs(w, e, view, t->data));
  LUC_GO(check_booleans(f, e, t));
  *out = t;
  t = NULL;
done:
  luc__free(f->ctx, w, sizeof *w);
  luc_tensor_release(f->ctx, t);
  return status;
}

/* ---- whole files ---- */

/* What luc_tensor_file hands out: the names point into the open file. */
typedef struct loaded {
  luc_tensor_file file; /* first: luc_tensor_file_free gets this address */
  luc_safetensors *open;
} loaded;

static luc_status read_all(loaded *l) {
  luc_tensor_file *file = &l->file;
  luc_safetensors *f = l->open;
  file->metadata = f->metadata;
  file->nmetadata = f->nmetadata;
  if (!f->n) return LUC_OK;
  file->tensors = luc__alloc_zero(f->ctx, luc__mul_size(f->n, sizeof *file->tensors));
  if (!file->tensors) return LUC_ERR_MEMORY;
  file->ntensors = (int)f->n;
  for (int i = 0; i < file->ntensors; i++) {
    file->tensors[i].name = f->entries[i].name;
    LUC_TRY(luc__safetensors_read(f, &f->entries[i], false, &file->tensors[i].tensor));
  }
  return LUC_OK;
}

static luc_status load(luc_input input, luc_tensor_file **out) {
  luc_context *ctx = input.ctx;
  luc_status status;
  loaded *l = luc__alloc_zero(ctx, sizeof *l);
  *out = NULL;
  if (!l) {
    luc__input_close(&input);
    return LUC_ERR_MEMORY;
  }
  LUC_GO(luc__safetensors_open(input, &l->open));
  LUC_GO(read_all(l));
  luc__input_close(&l->open->input);
  *out = &l->file;
  return LUC_OK;
done:
  luc_tensor_file_free(ctx, &l->file);
  return status;
}

luc_status luc_safetensors_load(luc_context *ctx, const char *path, luc_tensor_file **out) {
  luc_input input;
  LUC_PLACE(ctx, out);
  LUC_TRY(luc__input_open(ctx, who, path, &input));
  luc_status status = load(input, out);
  return luc__name_path(ctx, status, who, path);
}

luc_status luc_safetensors_load_bytes(luc_context *ctx, const void *bytes, size_t n,
                                      luc_tensor_file **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, bytes || n == 0);
  return load(luc__input_memory(ctx, who, bytes, n), out);
}

void luc_tensor_file_free(luc_context *ctx, luc_tensor_file *file) {
  if (!file) return;
  loaded *l = (loaded *)file;
  for (int i = 0; i < file->ntensors; i++) luc_tensor_release(ctx, file->tensors[i].tensor);
  luc__free(ctx, file->tensors, (size_t)file->ntensors * sizeof *file->tensors);
  luc__safetensors_close(l->open);
  luc__free(ctx, l, sizeof *l);
}
