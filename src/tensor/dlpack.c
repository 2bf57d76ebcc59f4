/* DLPack, both ways. What is handed out holds the storage and the heap, which are counted
 * atomically, and never the tensor or the context: its deleter may run anywhere and at any time. */
#include "lucerna/dlpack.h"

#include <string.h>

#include "tensor/tensor.h"

static const DLDataType types[] = {
    /* ORDER DTYPE */
    {kDLFloat, 32, 1},          /* float32 */
    {kDLFloat, 64, 1},          /* float64 */
    {kDLFloat, 16, 1},          /* float16 */
    {kDLBfloat, 16, 1},         /* bfloat16 */
    {kDLInt, 8, 1},             /* int8 */
    {kDLUInt, 8, 1},            /* uint8 */
    {kDLInt, 16, 1},            /* int16 */
    {kDLInt, 32, 1},            /* int32 */
    {kDLInt, 64, 1},            /* int64 */
    {kDLBool, 8, 1},            /* bool */
    {kDLComplex, 64, 1},        /* complex64 */
    {kDLComplex, 128, 1},       /* complex128 */
    {kDLFloat8_e4m3fn, 8, 1},   /* float8_e4m3fn */
    {kDLFloat8_e5m2, 8, 1},     /* float8_e5m2 */
    {kDLFloat8_e4m3fnuz, 8, 1}, /* float8_e4m3fnuz */
    {kDLFloat8_e5m2fnuz, 8, 1}, /* float8_e5m2fnuz */
    {kDLFloat8_e8m0fnu, 8, 1},  /* float8_e8m0fnu */
    {kDLUInt, 16, 1},           /* uint16 */
    {kDLUInt, 32, 1},           /* uint32 */
    {kDLUInt, 64, 1},           /* uint64 */
};
_Static_assert(sizeof types / sizeof *types == LUC_NUM_DTYPES, "ORDER DTYPE");

/* ---- export ---- */

/* What one managed tensor, of either kind, holds. */
typedef struct exported {
  union {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
  } as;
  luc_storage *storage;
  luc_heap *heap; /* of this block */
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
} exported;

static void let_go(exported *e) {
  luc_heap *heap = e->heap;
  luc__storage_release(NULL, e->storage);
  luc__heap_free(heap, e, sizeof *e);
  luc__heap_release(heap);
}

static void delete_plain(DLManagedTensor *self) {
  let_go(self->manager_ctx);
}

static void delete_versioned(DLManagedTensorVersioned *self) {
  let_go(self->manager_ctx);
}

static luc_status export(luc_context *ctx, luc_tensor *t, exported **out) {
  *out = NULL;
  if (luc_tensor_is_uninitialized(t)) return luc__fail_uninitialized(ctx, "to_dlpack", t);
  LUC_CHECK(ctx, !t->requires_grad, LUC_ERR_STATE,
            "to_dlpack: can't export tensors that require gradient, use tensor:detach()");
  exported *e = luc__heap_alloc(ctx->heap, sizeof *e);
  if (e == NULL)
    return luc__fail(ctx, LUC_ERR_MEMORY, "to_dlpack: out of memory: %zu bytes asked for",
                     sizeof *e);
  memset(e, 0, sizeof *e);
  e->storage = luc__storage_retain(t->storage);
  luc__expose(t);
  e->heap = luc__heap_retain(ctx);
  memcpy(e->sizes, t->sizes, (size_t)t->ndim * sizeof *t->sizes);
  memcpy(e->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
  *out = e;
  return LUC_OK;
}

/* The pointer is that of the first element: consumers expect no byte_offset of use to them. */
static void describe(const luc_tensor *t, exported *e, DLTensor *dl) {
  dl->data = t->numel != 0 ? t->data : NULL;
  dl->device = (DLDevice){kDLCPU, 0};
  dl->ndim = t->ndim;
  dl->dtype = types[t->dtype];
  dl->shape = e->sizes;
  dl->strides = e->strides;
}

luc_status luc_tensor_to_dlpack(luc_context *ctx, luc_tensor *t, DLManagedTensor **out) {
  exported *e;
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, t);
  LUC_TRY(export(ctx, t, &e));
  describe(t, e, &e->as.plain.dl_tensor);
  e->as.plain.manager_ctx = e;
  e->as.plain.deleter = delete_plain;
  *out = &e->as.plain;
  return LUC_OK;
}

luc_status luc_tensor_to_dlpack_versioned(luc_context *ctx, luc_tensor *t,
                                          DLManagedTensorVersioned **out) {
  exported *e;
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, t);
  LUC_TRY(export(ctx, t, &e));
  describe(t, e, &e->as.versioned.dl_tensor);
  e->as.versioned.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  e->as.versioned.manager_ctx = e;
  e->as.versioned.deleter = delete_versioned;
  *out = &e->as.versioned;
  return LUC_OK;
}

/* ---- import ---- */

static bool find_dtype(DLDataType type, luc_dtype *out) {
  for (int d = 0; d < LUC_NUM_DTYPES; d++) {
    if (memcmp(&types[d], &type, sizeof type) != 0) continue;
    *out = (luc_dtype)d;
    return true;
  }
  return false;
}

static luc_status check(luc_context *ctx, const DLTensor *dl, luc_dtype *dtype) {
  LUC_CHECK(ctx, (int)dl->device.device_type == kDLCPU, LUC_ERR_SUPPORT,
            "from_dlpack: only tensors of the CPU (device type 1) can be taken (got device type "
            "%d)",
            (int)dl->device.device_type);
  LUC_CHECK(ctx, find_dtype(dl->dtype, dtype), LUC_ERR_SUPPORT,
            "from_dlpack: unsupported dtype (code %d, %d bits, %d lanes)", dl->dtype.code,
            dl->dtype.bits, dl->dtype.lanes);
  LUC_CHECK(ctx, dl->ndim >= 0 && dl->ndim <= LUC_MAX_DIMS, LUC_ERR_SUPPORT,
            "from_dlpack: tensors have at most %d dimensions (got %d)", LUC_MAX_DIMS,
            (int)dl->ndim);
  LUC_CHECK(ctx, dl->ndim == 0 || dl->shape != NULL, LUC_ERR_VALUE, "from_dlpack: no shape");
  return LUC_OK;
}

/* Can it be used where it is? If not, says why. */
static const char *obstacle(const DLTensor *dl, luc_dtype dtype, const char *data, uint64_t flags) {
  if (flags & DLPACK_FLAG_BITMASK_READ_ONLY) return "it is read only";
  if (data != NULL && (uintptr_t)data % luc__dtype_align(dtype) != 0) return "it is not aligned";
  for (int d = 0; d < dl->ndim && dl->strides != NULL; d++)
    if (dl->strides[d] < 0) return "it has negative strides";
  return NULL;
}

/* Elements one by one, from wherever and however aligned they are. */
static luc_status copy_in(luc_context *ctx, const DLTensor *dl, luc_dtype dtype, const char *data,
                          luc_tensor **out) {
  luc_tensor *t;
  LUC_TRY(luc__tensor_empty(ctx, dtype, dl->ndim, dl->shape, &t));
  if (data == NULL && t->numel != 0) {
    luc_tensor_release(ctx, t);
    return luc__fail(ctx, LUC_ERR_VALUE, "from_dlpack: no memory for the elements");
  }
  size_t size = luc__dtype_size(dtype);
  const int64_t *strides = dl->strides != NULL ? dl->strides : t->strides;
  int64_t at[LUC_MAX_DIMS] = {0};
  for (int64_t i = 0; i < t->numel; i++) {
    int64_t from = 0;
    for (int d = 0; d < t->ndim; d++) from += at[d] * strides[d];
    memcpy(t->data + (size_t)i * size, data + from * (int64_t)size, size);
    for (int d = t->ndim - 1; d >= 0 && ++at[d] == t->sizes[d]; d--) at[d] = 0;
  }
  *out = t;
  return LUC_OK;
}

static luc_status import(luc_context *ctx, const DLTensor *dl, uint64_t flags, luc_copy copy,
                         luc_release_fn release, void *ud, luc_tensor **out) {
  luc_dtype dtype = LUC_FLOAT32;
  *out = NULL;
  LUC_CHECK(ctx, (unsigned)copy <= LUC_COPY_ALWAYS, LUC_ERR_VALUE,
            "from_dlpack: copy must be a luc_copy (got %d)", (int)copy);
  LUC_TRY(check(ctx, dl, &dtype));
  char *data = dl->data != NULL ? (char *)dl->data + dl->byte_offset : NULL;
  const char *why = obstacle(dl, dtype, data, flags);
  LUC_CHECK(ctx, why == NULL || copy != LUC_COPY_NEVER, LUC_ERR_VALUE,
            "from_dlpack: the tensor cannot be taken without a copy: %s", why);
  if (why == NULL && copy != LUC_COPY_ALWAYS)
    return luc__tensor_over(ctx, dtype, dl->ndim, dl->shape, dl->strides, data, release, ud, out);
  LUC_TRY(copy_in(ctx, dl, dtype, data, out));
  release(ud, data);
  return LUC_OK;
}

static void release_plain(void *ud, void *data) {
  DLManagedTensor *from = ud;
  (void)data;
  if (from->deleter != NULL) from->deleter(from);
}

static void release_versioned(void *ud, void *data) {
  DLManagedTensorVersioned *from = ud;
  (void)data;
  if (from->deleter != NULL) from->deleter(from);
}

luc_status luc_tensor_from_dlpack(luc_context *ctx, DLManagedTensor *from, luc_copy copy,
                                  luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, from);
  return import(ctx, &from->dl_tensor, 0, copy, release_plain, from, out);
}

luc_status luc_tensor_from_dlpack_versioned(luc_context *ctx, DLManagedTensorVersioned *from,
                                            luc_copy copy, luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, from);
  LUC_CHECK(ctx, from->version.major == DLPACK_MAJOR_VERSION, LUC_ERR_SUPPORT,
            "from_dlpack: only version %d of DLPack is known (got version %u.%u)",
            DLPACK_MAJOR_VERSION, from->version.major, from->version.minor);
  return import(ctx, &from->dl_tensor, from->flags, copy, release_versioned, from, out);
}
