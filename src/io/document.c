/* Documents: their memory, their nodes, and tensors made of storages when they are asked for.
 * Every geometry is checked against its storage, and every storage against the file, before
 * memory is asked for. */
#include "io/document.h"

#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "lucerna/autograd.h"
#include "lucerna/module.h"
#include "ops/op.h"

enum { CHUNK = 1 << 14 };

/* A piece of the document's memory. */
typedef struct luc_chunk {
  struct luc_chunk *next;
  size_t size, used;
  _Alignas(16) char bytes[];
} luc_chunk;

void luc__document_init(luc_document *doc, luc_context *ctx, const char *who) {
  *doc = (luc_document){.ctx = ctx, .who = who, .limit = UINT64_MAX, .input = {.fd = -1}};
  luc__map_init(&doc->by_key);
}

void luc__document_free(luc_document *doc) {
  luc_context *ctx = doc->ctx;
  for (luc_object *node = doc->tensors; node; node = node->geometry->next)
    luc_tensor_release(ctx, node->geometry->made);
  for (luc_stored *s = doc->first_stored; s; s = s->next) {
    luc_tensor_release(ctx, s->base);
    if (s->live) luc__storage_release(ctx, s->live);
  }
  for (luc_chunk *chunk = doc->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    luc__free(ctx, chunk, sizeof *chunk + chunk->size);
  }
  luc__map_free(ctx, &doc->by_key);
  luc__zip_close(&doc->zip);
  luc__input_close(&doc->input);
  luc__document_init(doc, ctx, doc->who);
}

luc_status luc__document_charge(luc_document *doc, uint64_t bytes) {
  if (bytes <= doc->limit - doc->used) {
    doc->used += bytes;
    return LUC_OK;
  }
  if (doc->limit_given)
    return luc__fail(doc->ctx, LUC_ERR_MEMORY,
                     "%s: the file needs more memory than max_bytes = %llu", doc->who,
                     (unsigned long long)doc->limit);
  return luc__fail(doc->ctx, LUC_ERR_IO, "%s: the file holds more objects than its size allows",
                   doc->who);
}

luc_status luc__document_alloc(luc_document *doc, size_t size, void **out) {
  luc_chunk *chunk = doc->chunks;
  LUC_TRY(luc__document_charge(doc, size));
  size = (size + 15) & ~(size_t)15;
  if (!chunk || size > chunk->size - chunk->used) {
    size_t room = size > CHUNK / 4 ? size : CHUNK;
    luc_chunk *fresh = luc__alloc(doc->ctx, sizeof *fresh + room);
    if (!fresh) return LUC_ERR_MEMORY;
    *fresh = (luc_chunk){.size = room};
    if (chunk && room == size) { /* a large block of its own: the chunk stays in use */
      fresh->next = chunk->next;
      chunk->next = fresh;
    } else {
      fresh->next = chunk;
      doc->chunks = fresh;
    }
    chunk = fresh;
  }
  *out = chunk->bytes + chunk->used;
  chunk->used += size;
  return LUC_OK;
}

luc_status luc__blob_new(luc_document *doc, const void *bytes, size_t n, luc_blob **out) {
  void *block;
  LUC_TRY(luc__document_alloc(doc, sizeof **out + n + 1, &block));
  *out = block;
  (*out)->n = n;
  if (bytes && n > 0) memcpy((*out)->bytes, bytes, n);
  (*out)->bytes[n] = '\0';
  return LUC_OK;
}

/* Pieces between NULs, each of which has one at its end. */
static bool is_utf8(const luc_blob *blob) {
  for (size_t at = 0; at <= blob->n; at += strlen(blob->bytes + at) + 1)
    if (!luc__utf8_valid(blob->bytes + at)) return false;
  return true;
}

luc_status luc__item_text(luc_document *doc, const char *bytes, size_t n, luc_item *out) {
  luc_blob *blob;
  LUC_TRY(luc__blob_new(doc, bytes, n, &blob));
  *out = (luc_item){.kind = is_utf8(blob) ? LUC_ITEM_TEXT : LUC_ITEM_BYTES, .as = {.blob = blob}};
  return LUC_OK;
}

luc_status luc__object_new(luc_document *doc, luc_object_kind kind, luc_object **out) {
  void *block;
  LUC_TRY(luc__document_alloc(doc, sizeof **out, &block));
  *out = block;
  **out = (luc_object){.kind = (uint8_t)kind};
  return LUC_OK;
}

luc_status luc__object_push(luc_document *doc, luc_object *node, luc_item item) {
  if (node->n == node->capacity) {
    void *block;
    size_t capacity = node->capacity ? 2 * node->capacity : 4;
    LUC_TRY(luc__document_alloc(doc, luc__mul_size(capacity, sizeof item), &block));
    if (node->n) memcpy(block, node->items, node->n * sizeof item);
    node->items = block;
    node->capacity = capacity;
  }
  node->items[node->n++] = item;
  return LUC_OK;
}

luc_status luc__object_tensor(luc_document *doc, luc_object **out) {
  void *block;
  LUC_TRY(luc__object_new(doc, LUC_OBJECT_TENSOR, out));
  LUC_TRY(luc__document_alloc(doc, sizeof(luc_geometry), &block));
  (*out)->geometry = block;
  *(*out)->geometry = (luc_geometry){0};
  return LUC_OK;
}

luc_status luc__document_stored(luc_document *doc, const char *key, size_t n, luc_stored **out) {
  luc_map_entry *e = luc__map_find(&doc->by_key, key, n);
  void *block;
  if (e) {
    *out = e->value;
    return LUC_OK;
  }
  LUC_TRY(luc__document_charge(doc, sizeof *e + n));
  LUC_TRY(luc__document_alloc(doc, sizeof **out, &block));
  LUC_TRY(luc__map_set(doc->ctx, &doc->by_key, key, n, block, NULL));
  *out = block;
  **out = (luc_stored){.key = luc__map_find(&doc->by_key, key, n)->key};
  if (doc->last_stored)
    doc->last_stored->next = *out;
  else
    doc->first_stored = *out;
  doc->last_stored = *out;
  doc->num_stored++;
  return LUC_OK;
}

const luc_item *luc__object_get(const luc_object *dict, const char *key) {
  size_t n = strlen(key);
  for (size_t i = 0; i + 1 < dict->n; i += 2) {
    const luc_item *k = &dict->items[i];
    if (k->kind == LUC_ITEM_TEXT && k->as.blob->n == n && !memcmp(k->as.blob->bytes, key, n))
      return &dict->items[i + 1];
  }
  return NULL;
}

const char *luc__item_name(const luc_item *item) {
  /* ORDER ITEM */
  static const char *const names[] = {
      "None",  "a boolean", "an integer", "a float",   "a large integer", "a string",
      "bytes", "a dtype",   "",           "a storage", "a class",         "a mark"};
  static const char *const nodes[] = {"a list", "a tuple", "a set", "a dictionary", "a tensor"};
  return item->kind == LUC_ITEM_OBJECT ? nodes[item->as.object->kind] : names[item->kind];
}

/* ---- live tensors ---- */

/* The storage of a live tensor, found by its address. */
static luc_status live_storage(luc_document *doc, luc_tensor *t, luc_stored **out) {
  LUC_TRY(luc__document_stored(doc, (const char *)&t->storage, sizeof t->storage, out));
  luc_stored *s = *out;
  if (!s->live) {
    s->live = luc__storage_retain(t->storage);
    s->dtype = t->dtype;
    s->nbytes = t->storage->nbytes;
    s->count = s->nbytes / luc__dtype_size(t->dtype);
  }
  LUC_CHECK(doc->ctx, s->dtype == t->dtype, LUC_ERR_SUPPORT,
            "%s: Cannot save multiple tensors or storages that view the same data as different "
            "types",
            doc->who);
  return LUC_OK;
}

luc_status luc__document_live(luc_document *doc, luc_tensor *t, luc_object **out) {
  luc_map_entry *e = luc__map_find(&doc->by_key, (const char *)&t, sizeof t);
  luc_stored *stored;
  if (e) {
    *out = e->value;
    return LUC_OK;
  }
  LUC_CHECK(doc->ctx, !luc_tensor_is_uninitialized(t), LUC_ERR_VALUE,
            "%s: a tensor is uninitialized: it has no shape yet", doc->who);
  LUC_TRY(live_storage(doc, t, &stored));
  LUC_TRY(luc__object_tensor(doc, out));
  luc_geometry *g = (*out)->geometry;
  *g = (luc_geometry){.stored = stored,
                      .dtype = t->dtype,
                      .ndim = t->ndim,
                      .requires_grad = t->requires_grad,
                      .parameter = (t->flags & LUC_TF_PARAMETER) != 0,
                      .offset = t->offset};
  memcpy(g->sizes, t->sizes, sizeof g->sizes);
  memcpy(g->strides, t->strides, sizeof g->strides);
  LUC_TRY(luc__map_set(doc->ctx, &doc->by_key, (const char *)&t, sizeof t, *out, NULL));
  g->made = luc_tensor_retain(t);
  g->next = doc->tensors;
  doc->tensors = *out;
  return LUC_OK;
}

/* ---- tensors of files ---- */

static luc_status missing_data(luc_document *doc, const luc_stored *s) {
  return luc__fail(doc->ctx, LUC_ERR_IO, "%s: the data of storage '%.100s' is missing or too short",
                   doc->who, s->key);
}

/* Finds a storage's bytes, whose number must be right. entry is NULL in the legacy format. */
static luc_status locate(luc_document *doc, const luc_stored *s, const luc_zip_entry **entry) {
  char name[512];
  *entry = NULL;
  if (!doc->zipped) return s->placed ? LUC_OK : missing_data(doc, s);
  int n = snprintf(name, sizeof name, "%s/data/%s", doc->root_name, s->key);
  if (n > 0 && n < (int)sizeof name) *entry = luc__zip_find(&doc->zip, name);
  return *entry && (*entry)->size == s->nbytes ? LUC_OK : missing_data(doc, s);
}

static luc_status read_storage(luc_document *doc, luc_stored *s, luc_dtype dtype) {
  const luc_zip_entry *entry;
  size_t size = luc__dtype_size(dtype);
  int64_t count = (int64_t)(s->nbytes / size);
  luc_tensor *base;
  LUC_TRY(locate(doc, s, &entry));
  if (doc->limit_given) LUC_TRY(luc__document_charge(doc, s->nbytes));
  LUC_CHECK(doc->ctx, s->nbytes % size == 0, LUC_ERR_SUPPORT,
            "%s: a storage's size is no multiple of its elements'", doc->who);
  LUC_TRY(luc__tensor_empty(doc->ctx, dtype, 1, &count, &base));
  luc_status status = entry ? luc__zip_read(&doc->zip, entry, base->data)
                            : luc__input_read(&doc->input, s->offset, base->data, s->nbytes);
  if (status != LUC_OK) {
    luc_tensor_release(doc->ctx, base);
    return status;
  }
  if (doc->swapped) luc__swap_elements(base->data, (size_t)count, dtype);
  for (int64_t i = 0; dtype == LUC_BOOL && i < count; i++) base->data[i] = base->data[i] != 0;
  s->base = base;
  return LUC_OK;
}

/* Does every element lie inside the storage? Nothing may overflow on the way. */
static bool is_inside(luc_geometry *g, int64_t count) {
  int64_t last = g->offset;
  bool empty = false, overflow = g->offset < 0;
  for (int d = 0; d < g->ndim; d++) {
    int64_t reach;
    if (g->sizes[d] < 0 || g->strides[d] < 0) return false;
    if (g->sizes[d] == 0) {
      empty = true;
      continue;
    }
    overflow |= __builtin_mul_overflow(g->sizes[d] - 1, g->strides[d], &reach);
    overflow |= overflow || __builtin_add_overflow(last, reach, &last);
  }
  if (empty && g->offset > count) g->offset = 0; /* of a slice of nothing */
  if (empty) return g->offset >= 0;
  return !overflow && last < count;
}

/* *t becomes op(*t). */
static luc_status apply(luc_context *ctx, luc_opid op, luc_tensor **t) {
  luc_tensor *result;
  luc_status status = luc__ops_init(ctx); /* a host in C may have called no operator before */
  if (status == LUC_OK) status = luc__unary(ctx, op, *t, &result);
  luc_tensor_release(ctx, *t);
  *t = status == LUC_OK ? result : NULL;
  return status;
}

static luc_status view_of(luc_document *doc, const luc_geometry *g, luc_tensor **out) {
  luc_tensor *view = NULL;
  luc_context *ctx = doc->ctx;
  luc_status status;
  LUC_CHECK(ctx, !g->requires_grad || luc__dtype_has_gradient(g->dtype), LUC_ERR_IO,
            "%s: a tensor of dtype %s requires gradients", doc->who, luc__dtype_name(g->dtype));
  LUC_TRY(luc__tensor_view(ctx, g->stored->base, g->ndim, g->sizes, g->strides, g->offset, &view));
  if (g->conjugate) LUC_TRY(apply(ctx, LUC_OP_conj, &view));
  if (g->negative) LUC_TRY(apply(ctx, LUC_OP_neg, &view));
  if (g->parameter) {
    status = luc_parameter_new(ctx, view, g->requires_grad, out);
    luc_tensor_release(ctx, view);
    return status;
  }
  status = g->requires_grad ? luc_tensor_set_requires_grad(ctx, view, true) : LUC_OK;
  if (status == LUC_OK)
    *out = view;
  else
    luc_tensor_release(ctx, view);
  return status;
}

luc_status luc__document_tensor(luc_document *doc, luc_object *node, luc_tensor **out) {
  luc_geometry *g = node->geometry;
  luc_stored *s = g->stored;
  *out = g->made;
  if (g->made) return LUC_OK;
  LUC_CHECK(doc->ctx, is_inside(g, (int64_t)(s->nbytes / luc__dtype_size(g->dtype))), LUC_ERR_IO,
            "%s: a tensor reaches beyond its storage '%.100s'", doc->who, s->key);
  if (!s->base) LUC_TRY(read_storage(doc, s, g->dtype));
  LUC_CHECK(doc->ctx, s->base->dtype == g->dtype, LUC_ERR_SUPPORT,
            "%s: storage '%.100s' is used as %s and as %s", doc->who, s->key,
            luc__dtype_name(s->base->dtype), luc__dtype_name(g->dtype));
  LUC_TRY(view_of(doc, g, &g->made));
  g->next = doc->tensors;
  doc->tensors = node;
  *out = g->made;
  return LUC_OK;
}
