/* Memory of others: the host's, wrapped, and tensors that go to and come from other libraries. What
 * is lent is given back exactly once, whatever fails. */
#include "lucerna/dlpack.h"
#include "lucerna/autograd.h"
#include "ops/op.h"
#include "tensor/tensor.h"
#include "test.h"

static int released;
static void count_release(void *ud, void *data) {
  released += data == ud;
}

/* ---- wrapped memory ---- */

static float host[6] = {1, 2, 3, 4, 5, 6};

static luc_status wrap(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                       const int64_t *strides, void *data, luc_tensor **out) {
  released = 0;
  return luc_tensor_wrap(ctx, dtype, ndim, sizes, strides, data, count_release, data, out);
}

TEST("wrapped memory is used in place and released once, after its last view") {
  luc_tensor *t, *view;
  CHECK_OK(wrap(ctx, LUC_FLOAT32, 2, (int64_t[]){2, 3}, NULL, host, &t));
  CHECK(luc_tensor_data(t) == host);
  CHECK_OK(luc__tensor_alias(ctx, t, &view));
  luc_tensor_release(ctx, t);
  CHECK_EQ(released, 0);
  luc_tensor_release(ctx, view);
  CHECK_EQ(released, 1);
}

TEST("wrapped memory may have strides, and counts only what they reach") {
  luc_tensor *t, *sum;
  double value;
  CHECK_OK(luc__ops_init(ctx));
  CHECK_OK(wrap(ctx, LUC_FLOAT32, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, host, &t));
  CHECK_EQ(t->storage->nbytes, sizeof host);
  CHECK(!luc_tensor_is_contiguous(t));
  CHECK_OK(luc__unary(ctx, LUC_OP_sum, t, &sum));
  CHECK_OK(luc_tensor_item(ctx, sum, &value));
  CHECK_EQ(value, 21);
  LUC_RELEASE(ctx, sum, t);
  CHECK_OK(wrap(ctx, LUC_FLOAT32, 2, (int64_t[]){4, 2}, (int64_t[]){0, 2}, host, &t));
  CHECK_EQ(t->storage->nbytes, 3 * sizeof *host);
  luc_tensor_release(ctx, t);
  CHECK_OK(wrap(ctx, LUC_FLOAT32, 2, (int64_t[]){0, 2}, NULL, NULL, &t));
  CHECK_EQ(t->storage->nbytes, 0);
  luc_tensor_release(ctx, t);
  CHECK_EQ(released, 1);
}

TEST("what cannot be wrapped is released and refused") {
  luc_tensor *t;
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 1, (int64_t[]){-6}, NULL, host, &t), LUC_ERR_VALUE);
  CHECK_EQ(released, 1);
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 1, (int64_t[]){6}, (int64_t[]){-1}, host, &t), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "wrap: negative strides are not supported");
  CHECK_EQ(released, 1);
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 1, (int64_t[]){1}, NULL, (char *)host + 2, &t), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "wrap: float32 needs an address that is a multiple of 4");
  CHECK_EQ(released, 1);
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 1, (int64_t[]){1}, NULL, NULL, &t), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "wrap: no memory for 1 elements");
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 2, (int64_t[]){1 << 20, 1 << 20},
                (int64_t[]){INT64_C(1) << 50, 1}, host, &t),
           LUC_ERR_VALUE);
  CHECK_EQ(released, 1);
  CHECK_EQ(wrap(ctx, LUC_FLOAT32, 9, (int64_t[9]){0}, NULL, host, &t), LUC_ERR_SUPPORT);
  CHECK_EQ(released, 1);
  CHECK(t == NULL);
}

TEST("wrapped memory is not counted in the limit") {
  static char big[1 << 20];
  luc_tensor *t;
  size_t before = luc_memory_stats(ctx).live;
  CHECK_OK(wrap(ctx, LUC_UINT8, 1, (int64_t[]){sizeof big}, NULL, big, &t));
  CHECK(luc_memory_stats(ctx).live - before < 2048);
  luc_tensor_release(ctx, t);
}

static luc_status wrap_and_view(luc_context *ctx, void *arg) {
  int *wrapped = arg;
  luc_tensor *t, *view = NULL;
  ++*wrapped;
  LUC_TRY(
      luc_tensor_wrap(ctx, LUC_FLOAT32, 1, (int64_t[]){6}, NULL, host, count_release, host, &t));
  luc_status status = luc__tensor_alias(ctx, t, &view);
  LUC_RELEASE(ctx, t, view);
  return status;
}

TEST("whichever allocation is refused, wrapped memory is released once") {
  int wrapped = 0;
  released = 0;
  CHECK(test_sweep(wrap_and_view, &wrapped, 1) > 0);
  CHECK_EQ(released, wrapped);
}

/* ---- DLPack ---- */

TEST_ALONE("an exported tensor outlives the tensor and its context") {
  luc_context *ctx = test_open(0);
  luc_tensor *t, *view;
  DLManagedTensor *dl;
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT32, 2, (int64_t[]){2, 3}, host, &t));
  CHECK_OK(luc__tensor_view(ctx, t, 2, (int64_t[]){3, 1}, (int64_t[]){1, 3}, 3, &view));
  luc_tensor_release(ctx, t);
  CHECK_OK(luc_tensor_to_dlpack(ctx, view, &dl));
  luc_tensor_release(ctx, view);
  luc_context_free(ctx);
  DLTensor *d = &dl->dl_tensor;
  CHECK_EQ(d->device.device_type, kDLCPU);
  CHECK_EQ(d->ndim, 2);
  CHECK_EQ(d->shape[0], 3);
  CHECK_EQ(d->strides[0], 1);
  CHECK_EQ(d->strides[1], 3);
  CHECK_EQ(d->byte_offset, 0);
  CHECK(d->dtype.code == kDLFloat && d->dtype.bits == 32 && d->dtype.lanes == 1);
  for (int i = 0; i < 3; i++) CHECK_EQ(((float *)d->data)[i], host[3 + i]);
  dl->deleter(dl);
}

TEST("every dtype goes out and comes back, to the same memory") {
  for (int d = 0; d < LUC_NUM_DTYPES; d++) {
    luc_tensor *t, *back;
    DLManagedTensorVersioned *dl;
    CHECK_OK(luc_tensor_new(ctx, (luc_dtype)d, 3, (int64_t[]){2, 1, 40}, &t));
    CHECK_OK(luc_tensor_to_dlpack_versioned(ctx, t, &dl));
    CHECK_EQ(dl->version.major, 1);
    CHECK_EQ(dl->flags, 0);
    CHECK_OK(luc_tensor_from_dlpack_versioned(ctx, dl, LUC_COPY_NEVER, &back));
    CHECK_EQ(back->dtype, d);
    CHECK(back->data == t->data && luc__same_sizes(back, t));
    luc_tensor_release(ctx, t);
    memset(back->data, 0, back->storage->nbytes);
    luc_tensor_release(ctx, back);
  }
}

static int deleted;
static void count_delete(DLManagedTensor *self) {
  deleted += self->manager_ctx == host;
}
static void count_delete_versioned(DLManagedTensorVersioned *self) {
  deleted += self->manager_ctx == host;
}

static int64_t two_three[] = {2, 3}, one_two[] = {1, 2}, backwards[] = {-3, 1};

static DLManagedTensor lent(void) {
  deleted = 0;
  return (DLManagedTensor){
      {host, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, two_three, NULL, 0}, host, count_delete};
}

TEST("an imported tensor sees the other library's memory and gives it back once") {
  DLManagedTensor dl = lent();
  luc_tensor *t, *view;
  dl.dl_tensor.strides = one_two;
  CHECK_OK(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t));
  CHECK(t->data == (char *)host);
  CHECK_EQ(t->strides[0], 1);
  CHECK_OK(luc__tensor_alias(ctx, t, &view));
  luc_tensor_release(ctx, t);
  CHECK_EQ(deleted, 0);
  luc_tensor_release(ctx, view);
  CHECK_EQ(deleted, 1);
  dl = lent();
  dl.dl_tensor.byte_offset = 4;
  dl.dl_tensor.ndim = 1;
  dl.deleter = NULL;
  CHECK_OK(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_NEVER, &t));
  CHECK_EQ(*(float *)t->data, 2);
  luc_tensor_release(ctx, t);
}

TEST("an import copies what is read only, backwards or not aligned, unless told not to") {
  DLManagedTensor dl = lent();
  luc_tensor *t;
  dl.dl_tensor.data = host + 3;
  dl.dl_tensor.strides = backwards;
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_NEVER, &t), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx),
            "from_dlpack: the tensor cannot be taken without a copy: it has negative strides");
  CHECK_EQ(deleted, 0);
  CHECK_OK(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t));
  CHECK_EQ(deleted, 1);
  for (int i = 0; i < 6; i++) CHECK_EQ(((float *)t->data)[i], host[(i + 3) % 6]);
  luc_tensor_release(ctx, t);
  char bytes[1 + sizeof host];
  memcpy(bytes + 1, host, sizeof host);
  dl = lent();
  dl.dl_tensor.data = bytes;
  dl.dl_tensor.byte_offset = 1;
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_NEVER, &t), LUC_ERR_VALUE);
  CHECK_OK(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t));
  CHECK_EQ(((float *)t->data)[5], 6);
  luc_tensor_release(ctx, t);
  dl = lent();
  DLManagedTensorVersioned v = {
      {1, 9}, host, count_delete_versioned, DLPACK_FLAG_BITMASK_READ_ONLY, dl.dl_tensor};
  CHECK_EQ(luc_tensor_from_dlpack_versioned(ctx, &v, LUC_COPY_NEVER, &t), LUC_ERR_VALUE);
  CHECK_OK(luc_tensor_from_dlpack_versioned(ctx, &v, LUC_COPY_IF_NEEDED, &t));
  CHECK(t->data != (char *)host);
  CHECK_EQ(deleted, 1);
  luc_tensor_release(ctx, t);
}

TEST("what does not exist here stays the caller's") {
  DLManagedTensor dl = lent();
  luc_tensor *t;
  dl.dl_tensor.device.device_type = kDLCUDA;
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t), LUC_ERR_SUPPORT);
  CHECK_STR(luc_message(ctx), "from_dlpack: only tensors of the CPU (device type 1) can be taken "
                              "(got device type 2)");
  dl = lent();
  dl.dl_tensor.dtype = (DLDataType){kDLOpaqueHandle, 64, 1};
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t), LUC_ERR_SUPPORT);
  CHECK_STR(luc_message(ctx), "from_dlpack: unsupported dtype (code 3, 64 bits, 1 lanes)");
  dl.dl_tensor.dtype = (DLDataType){kDLFloat, 32, 4};
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t), LUC_ERR_SUPPORT);
  dl = lent();
  dl.dl_tensor.ndim = 9;
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_IF_NEEDED, &t), LUC_ERR_SUPPORT);
  dl = lent();
  dl.dl_tensor.data = NULL;
  CHECK_EQ(luc_tensor_from_dlpack(ctx, &dl, LUC_COPY_ALWAYS, &t), LUC_ERR_VALUE);
  DLManagedTensorVersioned v = {{2, 0}, host, count_delete_versioned, 0, dl.dl_tensor};
  CHECK_EQ(luc_tensor_from_dlpack_versioned(ctx, &v, LUC_COPY_IF_NEEDED, &t), LUC_ERR_SUPPORT);
  CHECK_STR(luc_message(ctx), "from_dlpack: only version 1 of DLPack is known (got version 2.0)");
  CHECK_EQ(deleted, 0);
  CHECK(t == NULL);
}

TEST("a tensor that requires a gradient is not exported") {
  luc_tensor *t;
  DLManagedTensor *dl;
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT32, 1, (int64_t[]){6}, host, &t));
  CHECK_OK(luc_tensor_set_requires_grad(ctx, t, true));
  CHECK_EQ(luc_tensor_to_dlpack(ctx, t, &dl), LUC_ERR_STATE);
  CHECK_STR(luc_message(ctx),
            "to_dlpack: can't export tensors that require gradient, use tensor:detach()");
  CHECK(dl == NULL);
  luc_tensor_release(ctx, t);
}

static luc_status there_and_back(luc_context *ctx, void *arg) {
  luc_copy copy = *(luc_copy *)arg;
  luc_tensor *t, *back = NULL;
  DLManagedTensor *dl = NULL;
  LUC_TRY(luc_tensor_from(ctx, LUC_FLOAT32, 1, (int64_t[]){6}, host, &t));
  luc_status status = luc_tensor_to_dlpack(ctx, t, &dl);
  luc_tensor_release(ctx, t);
  if (status != LUC_OK) return status;
  status = luc_tensor_from_dlpack(ctx, dl, copy, &back);
  if (status != LUC_OK) dl->deleter(dl);
  luc_tensor_release(ctx, back);
  return status;
}

TEST("whichever allocation is refused, an exchange leaves nothing behind") {
  for (luc_copy copy = LUC_COPY_IF_NEEDED; copy <= LUC_COPY_ALWAYS; copy++)
    CHECK(test_sweep(there_and_back, &copy, 1) > 0);
}
