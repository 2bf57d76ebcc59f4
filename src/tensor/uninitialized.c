/* Tensors whose shape is not known yet: what lazy layers hold until their first input. They look
 * like an empty vector to code that copies or counts; operators and readers of shapes refuse them.
 */
#include "tensor/tensor.h"
#include "tensor/text.h"

luc_status luc_tensor_uninitialized(luc_context *ctx, luc_dtype dtype, luc_tensor **out) {
  int64_t none = 0;
  LUC_TRY(luc_tensor_new(ctx, dtype, 1, &none, out));
  (*out)->flags |= LUC_TF_UNINITIALIZED;
  ctx->uninitialized = true;
  return LUC_OK;
}

bool luc_tensor_is_uninitialized(const luc_tensor *t) {
  return t != NULL && (t->flags & LUC_TF_UNINITIALIZED) != 0;
}

void luc__tensor_initialize(luc_context *ctx, luc_tensor *dst, luc_tensor *src) {
  luc__tensor_set_data(ctx, dst, src);
  dst->flags &= (uint8_t)~LUC_TF_UNINITIALIZED;
}

luc_status luc_tensor_materialize(luc_context *ctx, luc_tensor *t, luc_dtype dtype, int ndim,
                                  const int64_t *sizes) {
  luc_tensor *data;
  LUC_NEED(ctx, t);
  LUC_TRY(luc__dtype_check(ctx, dtype));
  LUC_CHECK(ctx, luc_tensor_is_uninitialized(t), LUC_ERR_STATE,
            "materialize: the tensor is initialized already");
  LUC_CHECK(ctx, luc__dtype_has_gradient(dtype) || !t->requires_grad, LUC_ERR_TYPE,
            "materialize: only floating point tensors can require gradients (got %s)",
            luc__dtype_name(dtype));
  LUC_TRY(luc_tensor_new(ctx, dtype, ndim, sizes, &data));
  luc__tensor_initialize(ctx, t, data);
  luc_tensor_release(ctx, data);
  return LUC_OK;
}

luc_status luc__fail_uninitialized(luc_context *ctx, const char *who, const luc_tensor *t) {
  const char *kind = t->flags & LUC_TF_PARAMETER ? "Parameter" : "Buffer";
  return luc__fail(
      ctx, LUC_ERR_VALUE,
      "%s: Attempted to use an uninitialized parameter in %s. This error happens when "
      "you are using a `LazyModule` or explicitly manipulating "
      "`nn.parameter.Uninitialized%s` objects. When using LazyModules call `forward` "
      "with a dummy batch to initialize the parameters before calling functions on them",
      who, who, kind);
}

luc_status luc__fail_shapeless(luc_context *ctx, const char *who) {
  return luc__fail(ctx, LUC_ERR_STATE,
                   "%s: Can't access the shape of an uninitialized parameter or buffer. This error "
                   "usually happens in `load_state_dict` when trying to load an uninitialized "
                   "parameter into an initialized one. Call `forward` to initialize the "
                   "parameters before accessing their attributes.",
                   who);
}

luc_status luc__uninitialized_text(luc_context *ctx, const luc_tensor *t, char **out,
                                   size_t *size) {
  luc_text text;
  luc__text_init(&text, ctx);
  luc__text_printf(&text, "<Uninitialized%s>",
                   t->flags & LUC_TF_PARAMETER ? "Parameter" : "Buffer");
  return luc__text_finish(&text, out, size);
}
