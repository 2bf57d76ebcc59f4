/* Softmax and its logarithm. The fused gradients serve backward passes that are not themselves
 * recorded; else a formula of operators does. */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/softmax.h"

/* ---- softmax, log_softmax: (input, dim, dtype) ---- */

/* The dimension F.softmax takes when none is given: the first for inputs of 0, 1 or 3 dimensions,
 * else the second, as in PyTorch. */
static luc_status find_dim(luc_context *ctx, const luc_value *v, int ndim, int *dim) {
  if (!luc_is_none(v)) return luc__dim_wrap(ctx, v->as.i, ndim, dim);
  *dim = ndim == 0 || ndim == 1 || ndim == 3 ? 0 : 1;
  return LUC_OK;
}

static luc_softmax geometry(const luc_tensor *t, int dim, bool log) {
  return (luc_softmax){.dtype = t->dtype,
                       .log = log,
                       .outer = luc__product(dim, t->sizes),
                       .n = t->ndim > 0 ? t->sizes[dim] : 1,
                       .inner = luc__product(t->ndim - dim - 1, t->sizes + dim + 1)};
}

static luc_status run_softmax(luc_context *ctx, bool log, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y;
  luc_dtype dtype = (luc_dtype)(luc_is_none(&args[2]) ? input->dtype : args[2].as.i);
  int dim;
  LUC_TRY(find_dim(ctx, &args[1], input->ndim, &dim));
  if (!luc__dtype_is_float(dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "needs a floating point input or dtype (got %s)",
                     luc__dtype_name(dtype));
  LUC_TRY(luc__as_dense(ctx, input, dtype, &x));
  LUC_TRY(luc__scratch_like(ctx, x, dtype, &y));
  luc_softmax s = geometry(x, dim, log);
  if (x->numel > 0) LUC_TRY(luc__softmax(ctx, &s, x->data, y->data));
  return luc__result(ctx, out, dtype, y);
}

LUC_RUN_BY(softmax, run_softmax, false)
LUC_RUN_BY(log_softmax, run_softmax, true)

/* softmax_backward(grad, output, dim, log) */
luc_status luc__run_softmax_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *dy, *y, *dx;
  luc_dtype dtype = grad->dtype;
  LUC_TRY(luc__as_dense(ctx, grad, dtype, &dy));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, dtype, &y));
  LUC_TRY(luc__scratch_like(ctx, y, dtype, &dx));
  luc_softmax s = geometry(y, (int)args[2].as.i, args[3].as.i != 0);
  if (y->numel > 0) LUC_TRY(luc__softmax_backward(ctx, &s, dy->data, y->data, dx->data));
  return luc__result(ctx, out, dtype, dx);
}

static luc_status grad_softmax(luc_context *ctx, luc_backward *b, bool log) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *y = b->results[0], *dx;
  int dim;
  LUC_TRY(find_dim(ctx, &b->args[1], y->ndim, &dim));
  if (!luc__recording(ctx)) {
    dx = luc__f_call(&f, LUC_OP_softmax_backward,
                     LUC_ARGS(luc_v_tensor(g), luc_v_tensor(y), luc_v_int(dim), luc_v_bool(log)));
  } else if (log) {
    luc_tensor *sum = luc__f_sum_keepdim(&f, g, dim);
    luc_tensor *part = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_exp, y), sum);
    dx = luc__f2(&f, LUC_OP_sub, g, part);
  } else {
    luc_tensor *sum = luc__f_sum_keepdim(&f, luc__f2(&f, LUC_OP_mul, g, y), dim);
    dx = luc__f2(&f, LUC_OP_mul, y, luc__f2(&f, LUC_OP_sub, g, sum));
  }
  return luc__f_end(&f, dx, &b->gin[0]);
}

LUC_GRAD_BY(softmax, grad_softmax, false)
LUC_GRAD_BY(log_softmax, grad_softmax, true)

luc_status luc__run_softmin(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *minus = luc__f1(&f, LUC_OP_neg, args[0].as.tensor);
  luc_tensor *y = luc__f_call(&f, LUC_OP_softmax, LUC_ARGS(luc_v_tensor(minus), args[1], args[2]));
  return luc__f_result(&f, y, out);
}
