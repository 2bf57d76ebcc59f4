/* Tensors and storages: made, viewed, rebound, counted and freed.
 * A tensor's block also holds a storage header and up to 64 bytes of data. The block lives while
 * its tensor or its embedded storage is in use (`holds`); a tensor that is the only user of its
 * own storage, which is nearly every one, dies without an atomic operation. */
#include "tensor/tensor.h"

#include <stddef.h>
#include <string.h>

enum { VIEW_FLAGS = LUC_TF_UNTRACKED | LUC_TF_INFERENCE }; /* what a view takes from its base */

/* ---- storages ---- */

luc_storage *luc__storage_retain(luc_storage *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

static inline void free_bytes(luc_context *ctx, luc_heap *heap, void *ptr, size_t size) {
  if (ctx != NULL && heap == ctx->heap)
    luc__free(ctx, ptr, size);
  else
    luc__heap_free(heap, ptr, size);
}

/* ---- tables of rows ---- */

static size_t rows_size(int64_t n) {
  const size_t list = luc__mul_size((size_t)n, sizeof(int64_t));
  return list > SIZE_MAX - sizeof(luc_rows) ? SIZE_MAX : list + sizeof(luc_rows);
}

static bool are_known(const luc_storage *s) {
  const luc_rows *rows = s->release_ud;
  return s->kind == LUC_DATA_ROWS && rows->version == s->version && !rows->exposed;
}

/* Its rows cleared the table is as it was taken. */
static void free_rows(luc_context *ctx, luc_storage *s) {
  luc_rows *rows = s->release_ud;
  if (ctx != NULL && s->heap == ctx->heap && are_known(s)) {
    for (int64_t i = 0; i < rows->n; i++)
      memset(s->data + rows->at[i] * rows->width, 0, (size_t)rows->width);
    luc__free_clean(ctx, s->data, s->nbytes);
  } else {
    free_bytes(ctx, s->heap, s->data, s->nbytes);
  }
  free_bytes(ctx, s->heap, rows, rows_size(rows->n));
}

const luc_rows *luc__rows_of(const luc_tensor *t) {
  const luc_storage *s = t->storage;
  if (s->kind != LUC_DATA_ROWS || !are_known(s)) return NULL;
  const luc_rows *rows = s->release_ud;
  const int64_t width = rows->width / (int64_t)luc__dtype_size((luc_dtype)t->dtype);
  const bool whole = t->ndim == 2 && t->sizes[1] == width && luc__is_contiguous(t) &&
                     t->numel * (int64_t)luc__dtype_size((luc_dtype)t->dtype) == (int64_t)s->nbytes;
  return whole ? rows : NULL;
}

void luc__keep_rows(luc_tensor *t) {
  ((luc_rows *)t->storage->release_ud)->version = ++t->storage->version;
}

/* Merges ascending lists; `out` may be NULL. Returns how many there are. */
static int64_t merge(const luc_rows *a, const luc_rows *b, int64_t *out) {
  int64_t count = 0;
  for (int64_t i = 0, k = 0; i < a->n || k < b->n; count++) {
    const bool first = k == b->n || (i < a->n && a->at[i] <= b->at[k]);
    const int64_t row = first ? a->at[i] : b->at[k];
    if (out) out[count] = row;
    i += i < a->n && a->at[i] == row;
    k += k < b->n && b->at[k] == row;
  }
  return count;
}

luc_status luc__tensor_join_rows(luc_context *ctx, luc_tensor *t, const luc_rows *others) {
  luc_storage *s = t->storage;
  luc_rows *old = s->release_ud;
  const int64_t n = merge(old, others, NULL);
  luc_rows *joined = luc__alloc(ctx, rows_size(n));
  if (joined == NULL) return LUC_ERR_MEMORY;
  *joined = (luc_rows){.version = ++s->version, .width = old->width, .n = n};
  merge(old, others, joined->at);
  s->release_ud = joined;
  free_bytes(ctx, s->heap, old, rows_size(old->n));
  return LUC_OK;
}

void luc__expose(luc_tensor *t) {
  if (t->storage && t->storage->kind == LUC_DATA_ROWS)
    ((luc_rows *)t->storage->release_ud)->exposed = true;
}

static inline void free_data(luc_context *ctx, luc_storage *s) {
  if (s->kind == LUC_DATA_ROWS)
    free_rows(ctx, s);
  else if (s->kind == LUC_DATA_HEAP)
    free_bytes(ctx, s->heap, s->data, s->nbytes);
  else if (s->kind == LUC_DATA_HOST && s->release != NULL)
    s->release(s->release_ud, s->data);
}

static void drop_block(luc_context *ctx, luc_heap *heap, luc_tensor *t) {
  if (atomic_load_explicit(&t->own.holds, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&t->own.holds, 1, memory_order_acq_rel) == 1)
    free_bytes(ctx, heap, t, sizeof *t);
}

void luc__storage_release(luc_context *ctx, luc_storage *s) {
  if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  free_data(ctx, s);
  drop_block(ctx, s->heap, (luc_tensor *)((char *)s - offsetof(luc_tensor, own)));
}

/* ---- making tensors ---- */

/* The common fields of a fresh tensor; storage, geometry and `holds` are the caller's. */
static luc_tensor *new_block(luc_context *ctx, luc_dtype dtype, int ndim) {
  luc_tensor *t = luc__alloc(ctx, sizeof *t);
  if (t == NULL) return NULL;
  t->refs = 1;
  t->dtype = (uint8_t)dtype;
  t->ndim = (uint8_t)ndim;
  t->requires_grad = 0;
  t->flags = ctx->inference_mode ? LUC_TF_INFERENCE : 0;
  if (dtype >= LUC_COMPLEX64) ctx->complex = true;
  t->offset = 0;
  t->meta = NULL;
  t->inner = NULL;
  t->from_one = false;
  return t;
}

/* Puts the embedded storage to use. */
static void use_own(luc_context *ctx, luc_tensor *t, uint8_t kind, void *data, size_t nbytes) {
  luc_storage *s = &t->own;
  atomic_init(&s->refs, 1);
  s->version = 0;
  s->data = data;
  s->nbytes = nbytes;
  s->heap = ctx->heap;
  s->release = NULL;
  s->release_ud = NULL;
  s->kind = kind;
  atomic_init(&t->own.holds, 2);
  t->storage = s;
  t->data = data;
}

static void bad_sizes(luc_context *ctx, int ndim, const int64_t *sizes) {
  char text[LUC_SHAPE_TEXT];
  luc__shape_text(text, ndim, sizes);
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] >= 0) continue;
    luc__fail(ctx, LUC_ERR_VALUE, "Trying to create tensor with negative dimension %lld: %s",
              (long long)sizes[d], text);
    return;
  }
  luc__fail(ctx, LUC_ERR_MEMORY, "a tensor of shape %s is larger than any memory", text);
}

/* A block with its geometry filled in, for *nbytes of contiguous data still to be provided; NULL
 * after a failure, whose status is the context's. */
static luc_tensor *new_contiguous(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                                  size_t *nbytes) {
  if (ndim < 0 || ndim > LUC_MAX_DIMS) {
    luc__fail(ctx, LUC_ERR_SUPPORT, "tensors have at most %d dimensions, got %d", LUC_MAX_DIMS,
              ndim);
    return NULL;
  }
  int64_t strides[LUC_MAX_DIMS], numel = luc__contiguous_strides(ndim, sizes, strides);
  if (numel < 0 || numel > INT64_MAX / LUC_MAX_ITEM) {
    bad_sizes(ctx, ndim, sizes);
    return NULL;
  }
  luc_tensor *t = new_block(ctx, dtype, ndim);
  if (t == NULL) return NULL;
  for (int d = 0; d < ndim; d++) {
    t->sizes[d] = sizes[d];
    t->strides[d] = strides[d];
  }
  t->numel = numel;
  *nbytes = (size_t)numel * luc__dtype_size(dtype);
  return t;
}

luc_status luc__tensor_empty(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                             luc_tensor **out) {
  size_t nbytes;
  *out = NULL;
  luc_tensor *t = new_contiguous(ctx, dtype, ndim, sizes, &nbytes);
  if (t == NULL) return ctx->status;
  if (nbytes <= LUC_INLINE_BYTES) {
    use_own(ctx, t, LUC_DATA_INLINE, t->inl, nbytes);
  } else {
    void *data = luc__alloc(ctx, nbytes);
    if (data == NULL) {
      luc__free(ctx, t, sizeof *t);
      return LUC_ERR_MEMORY;
    }
    use_own(ctx, t, LUC_DATA_HEAP, data, nbytes);
  }
  *out = t;
  return LUC_OK;
}

luc_status luc__tensor_of_rows(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t width,
                               const int64_t *at, int64_t n, const void *values, luc_tensor **out) {
  size_t nbytes;
  *out = NULL;
  luc_tensor *t = new_contiguous(ctx, dtype, 2, (int64_t[]){rows, width}, &nbytes);
  if (t == NULL) return ctx->status;
  luc_rows *known = luc__alloc(ctx, rows_size(n));
  char *data = known == NULL ? NULL : luc__alloc_clean(ctx, nbytes);
  if (data == NULL) {
    luc__free(ctx, known, rows_size(n));
    luc__free(ctx, t, sizeof *t);
    return LUC_ERR_MEMORY;
  }
  *known = (luc_rows){.width = width * (int64_t)luc__dtype_size(dtype), .n = n};
  memcpy(known->at, at, (size_t)n * sizeof *at);
  for (int64_t i = 0; i < n; i++)
    memcpy(data + at[i] * known->width, (const char *)values + i * known->width,
           (size_t)known->width);
  use_own(ctx, t, LUC_DATA_ROWS, data, nbytes);
  t->own.release_ud = known;
  *out = t;
  return LUC_OK;
}

luc_status luc__tensor_empty_like(luc_context *ctx, const luc_tensor *t, luc_dtype dtype,
                                  luc_tensor **out) {
  return luc__tensor_empty(ctx, dtype, t->ndim, t->sizes, out);
}

luc_status luc__dtype_check(luc_context *ctx, luc_dtype dtype) {
  LUC_CHECK(ctx, (unsigned)dtype < LUC_NUM_DTYPES, LUC_ERR_TYPE,
            "dtype must be a luc_dtype (got %d)", dtype);
  return LUC_OK;
}

luc_status luc__tensors_check(luc_context *ctx, const char *who, const char *what,
                              luc_tensor *const *list, int n) {
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "%s: n must be at least 0 (got %d)", who, n);
  for (int i = 0; i < n; i++)
    LUC_CHECK(ctx, list != NULL && list[i] != NULL, LUC_ERR_TYPE,
              "%s: %s %d must be a tensor (got NULL)", who, what, i + 1);
  return LUC_OK;
}

/* What a host may get wrong and we do not. */
static luc_status check_new(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                            luc_tensor **out) {
  LUC_CHECK(ctx, out != NULL, LUC_ERR_VALUE, "a tensor needs a place (got NULL)");
  *out = NULL;
  LUC_TRY(luc__dtype_check(ctx, dtype));
  LUC_CHECK(ctx, sizes != NULL || ndim <= 0 || ndim > LUC_MAX_DIMS, LUC_ERR_VALUE,
            "a tensor of %d dimensions needs sizes", ndim);
  return LUC_OK;
}

luc_status luc_tensor_new(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                          luc_tensor **out) {
  LUC_TRY(check_new(ctx, dtype, ndim, sizes, out));
  return luc__tensor_empty(ctx, dtype, ndim, sizes, out);
}

luc_status luc_tensor_from(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                           const void *data, luc_tensor **out) {
  LUC_TRY(luc_tensor_new(ctx, dtype, ndim, sizes, out));
  size_t nbytes = (*out)->own.nbytes;
  if (data != NULL && nbytes != 0) memcpy((*out)->data, data, nbytes);
  if (data != NULL || nbytes == 0) return LUC_OK;
  luc_tensor_release(ctx, *out);
  *out = NULL;
  return luc__fail(ctx, LUC_ERR_VALUE, "data must not be NULL");
}

/* How many elements lie from the first to the last, both included; -1 if they cannot be counted. */
static int64_t span_of(const luc_tensor *t) {
  int64_t span = t->numel != 0;
  for (int d = 0; d < t->ndim && t->numel != 0; d++) {
    int64_t reach;
    if (__builtin_mul_overflow(t->sizes[d] - 1, t->strides[d], &reach) ||
        __builtin_add_overflow(span, reach, &span) || span > INT64_MAX / 16)
      return -1;
  }
  return span;
}

/* What luc__tensor_over demands of the host's memory; on LUC_OK *nbytes is what t sees of it. */
static luc_status check_over(luc_context *ctx, const luc_tensor *t, const void *data,
                             size_t *nbytes) {
  luc_dtype dtype = t->dtype;
  int64_t span = span_of(t);
  for (int d = 0; d < t->ndim; d++)
    LUC_CHECK(ctx, t->strides[d] >= 0, LUC_ERR_VALUE, "wrap: negative strides are not supported");
  LUC_CHECK(ctx, span >= 0, LUC_ERR_VALUE, "wrap: the strides reach beyond any memory");
  LUC_CHECK(ctx, data != NULL || span == 0, LUC_ERR_VALUE, "wrap: no memory for %lld elements",
            (long long)t->numel);
  LUC_CHECK(ctx, span == 0 || (uintptr_t)data % luc__dtype_align(dtype) == 0, LUC_ERR_VALUE,
            "wrap: %s needs an address that is a multiple of %zu", luc__dtype_name(dtype),
            luc__dtype_align(dtype));
  *nbytes = (size_t)span * luc__dtype_size(dtype);
  return LUC_OK;
}

luc_status luc__tensor_over(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                            const int64_t *strides, void *data, luc_release_fn release, void *ud,
                            luc_tensor **out) {
  size_t nbytes;
  *out = NULL;
  luc_tensor *t = new_contiguous(ctx, dtype, ndim, sizes, &nbytes);
  if (t == NULL) return ctx->status;
  for (int d = 0; d < ndim && strides != NULL; d++) t->strides[d] = strides[d];
  luc_status status = check_over(ctx, t, data, &nbytes);
  if (status != LUC_OK) {
    luc__free(ctx, t, sizeof *t);
    return status;
  }
  use_own(ctx, t, LUC_DATA_HOST, data, nbytes);
  t->own.release = release;
  t->own.release_ud = ud;
  *out = t;
  return LUC_OK;
}

luc_status luc_tensor_wrap(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                           const int64_t *strides, void *data, luc_release_fn release, void *ud,
                           luc_tensor **out) {
  luc_status status = check_new(ctx, dtype, ndim, sizes, out);
  if (status == LUC_OK)
    status = luc__tensor_over(ctx, dtype, ndim, sizes, strides, data, release, ud, out);
  if (status != LUC_OK && release != NULL) release(ud, data);
  return status;
}

luc_status luc__tensor_scalar(luc_context *ctx, luc_scalar s, luc_dtype dtype, luc_tensor **out) {
  LUC_TRY(luc__tensor_empty(ctx, dtype, 0, NULL, out));
  luc__store_scalar((*out)->data, dtype, s);
  return LUC_OK;
}

/* ---- views ---- */

/* Views can be larger than memory, but elements and bytes must be countable, also those of some
 * dimensions of an empty view. */
static bool countable(int ndim, const int64_t *sizes, const int64_t *strides, int64_t *numel) {
  const int64_t most = INT64_MAX / LUC_MAX_ITEM / 2;
  int64_t n = 1;
  bool empty = false;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 0)
      empty = true;
    else if (__builtin_mul_overflow(n, sizes[d], &n) || n > most)
      return false;
    if (strides[d] > most || strides[d] < -most) return false;
  }
  *numel = empty ? 0 : n;
  return true;
}

luc_status luc__tensor_view(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                            const int64_t *strides, int64_t offset, luc_tensor **out) {
  return luc__tensor_view_as(ctx, t, t->dtype, ndim, sizes, strides, offset, out);
}

luc_status luc__tensor_view_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype, int ndim,
                               const int64_t *sizes, const int64_t *strides, int64_t offset,
                               luc_tensor **out) {
  *out = NULL;
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "view", t));
  LUC_CHECK(ctx, ndim >= 0 && ndim <= LUC_MAX_DIMS, LUC_ERR_SUPPORT,
            "tensors have at most %d dimensions, got %d", LUC_MAX_DIMS, ndim);
  int64_t numel;
  if (!countable(ndim, sizes, strides, &numel)) {
    bad_sizes(ctx, ndim, sizes);
    return ctx->status;
  }
  luc_tensor *view = new_block(ctx, dtype, ndim);
  if (view == NULL) return LUC_ERR_MEMORY;
  for (int d = 0; d < ndim; d++) {
    view->sizes[d] = sizes[d];
    view->strides[d] = strides[d];
  }
  atomic_init(&view->own.holds, 1);
  view->flags = t->flags & VIEW_FLAGS;
  view->from_one = t->from_one;
  view->numel = numel;
  view->offset = offset;
  view->storage = luc__storage_retain(t->storage);
  view->data = t->storage->data + offset * (int64_t)luc__dtype_size(dtype);
  *out = view;
  return LUC_OK;
}

luc_status luc__tensor_batched(luc_context *ctx, luc_tensor *inner, uint64_t level,
                               luc_tensor **out) {
  *out = NULL;
  LUC_CHECK(ctx, inner->ndim > 0, LUC_ERR_SHAPE, "vmap: a 0-d tensor has no dimension to map over");
  luc_tensor *t = new_block(ctx, inner->dtype, inner->ndim - 1);
  if (t == NULL) return LUC_ERR_MEMORY;
  t->numel = 1;
  for (int d = 0; d < t->ndim; d++) {
    t->sizes[d] = inner->sizes[d + 1];
    t->strides[d] = inner->strides[d + 1];
    t->numel *= t->sizes[d];
  }
  atomic_init(&t->own.holds, 1);
  t->flags = inner->flags & VIEW_FLAGS;
  t->requires_grad = inner->requires_grad;
  t->offset = inner->offset;
  t->storage = luc__storage_retain(inner->storage);
  t->data = inner->data;
  t->inner = luc__retain(inner);
  memcpy(t->inl, &level, sizeof level);
  ctx->batched++;
  *out = t;
  return LUC_OK;
}

void luc__tensor_become_batched(luc_context *ctx, luc_tensor *dst, const luc_tensor *src) {
  luc_tensor *inner = luc__retain(src->inner);
  luc_tensor_release(ctx, dst->inner);
  dst->inner = inner;
  luc__tensor_set_geometry(dst, src);
}

luc_status luc__refuse_batched(luc_context *ctx, const char *who, const luc_tensor *t) {
  LUC_CHECK(ctx, t->inner == NULL, LUC_ERR_SUPPORT,
            "vmap: %s cannot take a Tensor that is being mapped over", who);
  return LUC_OK;
}

luc_status luc__tensor_alias(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  if (ctx->batched && t->inner) {
    luc_tensor *alias;
    LUC_TRY(luc__tensor_alias(ctx, t->inner, &alias));
    luc_status status = luc__tensor_batched(ctx, alias, luc__batch_level(t), out);
    luc_tensor_release(ctx, alias);
    return status;
  }
  return luc__tensor_view(ctx, t, t->ndim, t->sizes, t->strides, t->offset, out);
}

void luc__tensor_set_geometry(luc_tensor *dst, const luc_tensor *src) {
  dst->ndim = src->ndim;
  dst->data = src->data;
  dst->offset = src->offset;
  dst->numel = src->numel;
  memmove(dst->sizes, src->sizes, sizeof dst->sizes);
  memmove(dst->strides, src->strides, sizeof dst->strides);
}

luc_status luc__tensor_resize(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes) {
  int64_t strides[LUC_MAX_DIMS], numel = luc__contiguous_strides(ndim, sizes, strides), extent;
  luc_tensor *room = t, *view;
  size_t width = luc__dtype_size(t->dtype);
  LUC_CHECK(ctx, numel >= 0 && !__builtin_add_overflow(numel, t->offset, &extent), LUC_ERR_MEMORY,
            "resize_: too many elements");
  bool grows = (uint64_t)extent > t->storage->nbytes / width;
  if (grows) {
    LUC_TRY(luc__tensor_empty(ctx, t->dtype, 1, &extent, &room));
    memcpy(room->data, t->storage->data, t->storage->nbytes);
  }
  luc_status status = luc__tensor_view(ctx, room, ndim, sizes, strides, t->offset, &view);
  if (grows) luc_tensor_release(ctx, room);
  LUC_TRY(status);
  status = luc__tensor_set_data(ctx, t, view);
  luc_tensor_release(ctx, view);
  return status;
}

luc_status luc__tensor_set_data(luc_context *ctx, luc_tensor *dst, luc_tensor *src) {
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "data", dst));
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "data", src));
  luc_storage *old = dst->storage;
  dst->storage = luc__storage_retain(src->storage);
  dst->dtype = src->dtype;
  if (!(src->flags & LUC_TF_INFERENCE)) dst->flags &= (uint8_t)~LUC_TF_INFERENCE;
  luc__tensor_set_geometry(dst, src);
  if (dst->storage != old) luc__tensor_leave_base(ctx, dst);
  luc__storage_release(ctx, old);
  return LUC_OK;
}

/* ---- the end of tensors ---- */

luc_tensor *luc_tensor_retain(luc_tensor *t) {
  return t != NULL ? luc__retain(t) : NULL;
}

void luc_tensor_release(luc_context *ctx, luc_tensor *t) {
  if (t == NULL || --t->refs > 0) return;
  if (t->meta != NULL) {
    luc_meta *meta = t->meta;
    t->meta = NULL;
    luc__meta_free(ctx, meta);
  }
  if (ctx->batched && t->inner != NULL) {
    ctx->batched--;
    luc_tensor_release(ctx, t->inner);
  }
  luc_storage *s = t->storage;
  if (s == &t->own && atomic_load_explicit(&s->refs, memory_order_acquire) == 1) {
    free_data(ctx, s); /* nobody else: both holds go at once */
    luc__free(ctx, t, sizeof *t);
    return;
  }
  luc__storage_release(ctx, s);
  drop_block(ctx, ctx->heap, t);
}

/* ---- reading ---- */

luc_dtype luc_tensor_dtype(const luc_tensor *t) {
  return t != NULL ? t->dtype : 0;
}
int luc_tensor_ndim(const luc_tensor *t) {
  return t != NULL ? t->ndim : 0;
}
const int64_t *luc_tensor_sizes(const luc_tensor *t) {
  return t != NULL ? t->sizes : NULL;
}
const int64_t *luc_tensor_strides(const luc_tensor *t) {
  return t != NULL ? t->strides : NULL;
}
int64_t luc_tensor_numel(const luc_tensor *t) {
  return t != NULL ? t->numel : 0;
}
void *luc_tensor_data(luc_tensor *t) {
  if (t == NULL) return NULL;
  luc__expose(t);
  return t->data;
}
bool luc_tensor_is_contiguous(const luc_tensor *t) {
  return t != NULL && luc__is_contiguous(t);
}

luc_status luc_tensor_item(luc_context *ctx, const luc_tensor *t, double *out) {
  LUC_NEED(ctx, t && out);
  LUC_TRY(luc__refuse_batched(ctx, "item", t));
  LUC_CHECK(ctx, t->numel == 1, LUC_ERR_VALUE,
            "item: a Tensor with %lld elements cannot be converted to Scalar", (long long)t->numel);
  LUC_CHECK(ctx, !luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
            "item: a complex number is no real one; take real or imag first");
  *out = luc__scalar_double(luc__load_scalar(t->data, t->dtype));
  return LUC_OK;
}
