/* Normalization. batch_norm and layer_norm are fused rows that also give mean and 1/std for their
 * gradient; the other norms are composed of them. While a gradient itself is recorded it is made of
 * operators instead of the fused kernel, so that any order of differentiation works. */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/rows.h"

#include <float.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/norm.h"

/* ---- the gradient in operators, shared by both rows ---- */

/* y = (x - mean) * rstd * weight + bias, with statistics over `dims` of x unless they are given
 * (`fixed`: batch_norm in eval mode). weight has been shaped to broadcast. */
typedef struct norm_gradient {
  luc_tensor *x, *g, *weight, *mean, *rstd;
  bool fixed, rms; /* rms: around 0 */
  double eps;
  int ndims;
  int64_t dims[LUC_MAX_DIMS]; /* the statistics' */
} norm_gradient;

/* Gives dx; *dw_full is g * xhat, which summed is the weight's gradient. */
static luc_tensor *norm_backward(luc_formula *f, const norm_gradient *n, luc_tensor **dw_full) {
  luc_tensor *rstd = n->rstd, *centered, *xhat;
  if (n->fixed) {
    centered = luc__f2(f, LUC_OP_sub, n->x, n->mean);
  } else {
    centered = n->x;
    if (!n->rms)
      centered = luc__f2(f, LUC_OP_sub, n->x, luc__f_mean(f, n->x, n->ndims, n->dims, true));
    luc_tensor *square = luc__f2(f, LUC_OP_mul, centered, centered);
    luc_tensor *var = luc__f_mean(f, square, n->ndims, n->dims, true);
    rstd = luc__f1(f, LUC_OP_rsqrt, luc__fs(f, LUC_OP_add, var, n->eps));
  }
  xhat = luc__f2(f, LUC_OP_mul, centered, rstd);
  *dw_full = luc__f2(f, LUC_OP_mul, n->g, xhat);
  luc_tensor *gw = n->weight ? luc__f2(f, LUC_OP_mul, n->g, n->weight) : n->g;
  if (n->fixed) return luc__f2(f, LUC_OP_mul, gw, rstd);
  luc_tensor *along = luc__f_mean(f, luc__f2(f, LUC_OP_mul, gw, xhat), n->ndims, n->dims, true);
  luc_tensor *inner = gw;
  if (!n->rms) inner = luc__f2(f, LUC_OP_sub, gw, luc__f_mean(f, gw, n->ndims, n->dims, true));
  inner = luc__f2(f, LUC_OP_sub, inner, luc__f2(f, LUC_OP_mul, xhat, along));
  return luc__f2(f, LUC_OP_mul, inner, rstd);
}

/* ---- the fused gradient, shared by both ---- */

/* Arrays of grad, input, weight, mean and rstd, which are the arguments `from`, and of made[3]: the
 * gradients of input, weight and bias, these of the sizes `affine`. */
static luc_status backward_arrays(luc_context *ctx, const luc_value *args, const int *from,
                                  int ndim, const int64_t *affine, luc_norm_arrays *a,
                                  luc_tensor **made) {
  enum { DY, X, WEIGHT, MEAN, RSTD, COUNT };
  luc_tensor *t[COUNT];
  luc_dtype dtype = args[0].as.tensor->dtype, compute = luc__compute_dtype(dtype);
  for (int i = 0; i < COUNT; i++)
    LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[from[i]]), i <= X ? dtype : compute, &t[i]));
  LUC_TRY(luc__scratch_like(ctx, t[X], dtype, &made[0]));
  for (int i = 1; i < 3; i++) LUC_TRY(luc__scratch(ctx, compute, ndim, affine, &made[i]));
  *a = (luc_norm_arrays){.dy = t[DY]->data,
                         .x = t[X]->data,
                         .weight = luc__data(t[WEIGHT]),
                         .given_mean = t[MEAN]->data,
                         .given_rstd = t[RSTD]->data,
                         .dx = made[0]->data,
                         .dweight = made[1]->data,
                         .dbias = made[2]->data};
  return LUC_OK;
}

static luc_status give_gradients(luc_context *ctx, luc_dtype dtype, luc_tensor **made,
                                 luc_value *out) {
  for (int i = 0; i < 3; i++) LUC_TRY(luc__result(ctx, &out[i], dtype, made[i]));
  return LUC_OK;
}

/* ---- batch_norm over [N, C, ...] ---- */

static luc_batch_norm batch_geometry(const luc_tensor *x, bool training, double momentum,
                                     double eps) {
  luc_batch_norm b = {.dtype = x->dtype,
                      .training = training,
                      .batch = x->sizes[0],
                      .channels = x->sizes[1],
                      .inner = luc__product(x->ndim - 2, x->sizes + 2),
                      .eps = eps,
                      .momentum = momentum};
  return b;
}

/* A running statistic that was computed in `dense` goes back to the caller's tensor. */
static luc_status store_running(luc_context *ctx, luc_tensor *running, luc_tensor *dense) {
  if (!running) return LUC_OK;
  if (dense != running) LUC_TRY(luc__copy(ctx, running, dense));
  if (!(running->flags & LUC_TF_UNTRACKED)) running->storage->version++;
  return LUC_OK;
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) */
luc_status luc__run_native_batch_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { X, WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR, Y, MEAN, RSTD, COUNT };
  luc_tensor *t[COUNT];
  luc_dtype dtype = args[0].as.tensor->dtype, compute = luc__compute_dtype(dtype);
  bool training = args[5].as.i != 0;
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, dtype, &t[X]));
  for (int i = WEIGHT; i <= RUNNING_VAR; i++)
    LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[i]), compute, &t[i]));
  luc_batch_norm b =
      batch_geometry(t[X], training, luc_as_double(&args[6]), luc_as_double(&args[7]));
  LUC_TRY(luc__scratch_like(ctx, t[X], dtype, &t[Y]));
  LUC_TRY(luc__scratch(ctx, compute, 1, &b.channels, &t[MEAN]));
  LUC_TRY(luc__scratch(ctx, compute, 1, &b.channels, &t[RSTD]));
  luc__batch_norm(ctx, &b,
                  &(luc_norm_arrays){.x = t[X]->data,
                                     .weight = luc__data(t[WEIGHT]),
                                     .bias = luc__data(t[BIAS]),
                                     .running_mean = luc__data(t[RUNNING_MEAN]),
                                     .running_var = luc__data(t[RUNNING_VAR]),
                                     .y = t[Y]->data,
                                     .mean = t[MEAN]->data,
                                     .rstd = t[RSTD]->data});
  if (training) {
    LUC_TRY(store_running(ctx, luc_as_tensor(&args[3]), t[RUNNING_MEAN]));
    LUC_TRY(store_running(ctx, luc_as_tensor(&args[4]), t[RUNNING_VAR]));
  }
  LUC_TRY(luc__results(out + 1, 2, &t[MEAN]));
  return luc__result(ctx, &out[0], dtype, t[Y]);
}

/* (grad, input, weight, mean, invstd, training, eps) */
luc_status luc__run_native_batch_norm_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_batch_norm b =
      batch_geometry(args[1].as.tensor, args[5].as.i != 0, 0, luc_as_double(&args[6]));
  luc_norm_arrays a;
  luc_tensor *made[3];
  b.dtype = args[0].as.tensor->dtype;
  LUC_TRY(backward_arrays(ctx, args, (const int[]){0, 1, 2, 3, 4}, 1, &b.channels, &a, made));
  luc__batch_norm_backward(ctx, &b, &a);
  return give_gradients(ctx, b.dtype, made, out);
}

/* A [C] tensor shaped [1, C, 1, ...]. */
static luc_tensor *per_channel(luc_formula *f, luc_tensor *t, int ndim) {
  if (!t || f->status != LUC_OK) return NULL;
  int64_t sizes[LUC_MAX_DIMS] = {1, t->numel, 1, 1, 1, 1, 1, 1};
  return luc__f_reshape(f, t, ndim, sizes);
}

static luc_status batch_backward_formula(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *dw_full;
  norm_gradient n = {.x = b->args[0].as.tensor,
                     .g = b->gout[0],
                     .fixed = !b->args[5].as.i,
                     .eps = luc_as_double(&b->args[7])};
  for (int d = 0; d < n.x->ndim; d++)
    if (d != 1) n.dims[n.ndims++] = d;
  n.weight = per_channel(&f, luc_as_tensor(&b->args[1]), n.x->ndim);
  if (n.fixed) {
    n.mean = per_channel(&f, b->results[1], n.x->ndim);
    n.rstd = per_channel(&f, b->results[2], n.x->ndim);
  }
  luc_tensor *dx = norm_backward(&f, &n, &dw_full);
  if (luc__needs(b, 0)) luc__f_keep(&f, dx, &b->gin[0]);
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f_sum(&f, dw_full, n.ndims, n.dims, false), &b->gin[1]);
  if (luc__needs(b, 2)) luc__f_keep(&f, luc__f_sum(&f, n.g, n.ndims, n.dims, false), &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

/* Hands the results of a backward row that are wanted to parameters 0, weight and the bias after
 * it, and drops the others. */
static luc_status call_backward(luc_context *ctx, luc_backward *b, int weight, luc_opid op,
                                luc_value *args, int nargs) {
  const int params[] = {0, weight, weight + 1};
  luc_value grads[LUC_MAX_RESULTS];
  LUC_TRY(luc_call(ctx, op, args, nargs, grads));
  for (int i = 0; i < 3; i++) {
    if (luc__needs(b, params[i]))
      b->gin[params[i]] = grads[i].as.tensor;
    else
      luc__value_release(ctx, &grads[i]);
  }
  return LUC_OK;
}

luc_status luc__grad_native_batch_norm(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK; /* mean and invstd are results of their own in name only */
  if (luc__recording(ctx)) return batch_backward_formula(ctx, b);
  return call_backward(ctx, b, 1, LUC_OP_native_batch_norm_backward,
                       LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1],
                                luc_v_tensor(b->results[1]), luc_v_tensor(b->results[2]),
                                b->args[5], b->args[7]));
}

static luc_status check_channel(luc_context *ctx, const luc_tensor *input, const char *name,
                                const luc_tensor *t) {
  if (!t || (t->ndim == 1 && t->sizes[0] == input->sizes[1])) return LUC_OK;
  return luc__fail_shapes(ctx, "input", input, name, t,
                          "input has %lld channels, %s has %lld values", (long long)input->sizes[1],
                          name, (long long)t->numel);
}

/* The four tensors that may go with an input: names and rows are in one order. */
static luc_status check_channels(luc_context *ctx, const luc_tensor *input,
                                 const luc_value *rm_rv_w_b) {
  static const char *const names[] = {"running_mean", "running_var", "weight", "bias"};
  for (int i = 0; i < 4; i++)
    LUC_TRY(check_channel(ctx, input, names[i], luc_as_tensor(&rm_rv_w_b[i])));
  return LUC_OK;
}

/* As in PyTorch, what goes with an input is of its dtype, or of float32 beside half precision. */
static luc_status check_dtypes(luc_context *ctx, const luc_tensor *input, const luc_value *with,
                               int n) {
  bool small = input->dtype == LUC_FLOAT16 || input->dtype == LUC_BFLOAT16;
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = luc_as_tensor(&with[i]);
    if (!t || t->dtype == input->dtype) continue;
    LUC_CHECK(ctx, t->dtype == LUC_FLOAT32, LUC_ERR_TYPE,
              "mixed dtype (CPU): expect parameter to have scalar type of Float (got %s beside %s)",
              luc__dtype_name(t->dtype), luc__dtype_name(input->dtype));
    LUC_CHECK(ctx, small, LUC_ERR_TYPE,
              "mixed dtype (CPU): all inputs must share same datatype. (input %s, parameter %s)",
              luc__dtype_name(input->dtype), luc__dtype_name(t->dtype));
  }
  return LUC_OK;
}

/* Statistics of one value say nothing. */
static luc_status fail_single(luc_context *ctx, const char *what, const luc_tensor *input) {
  char shape[LUC_SHAPE_TEXT];
  return luc__fail(ctx, LUC_ERR_SHAPE, "Expected more than 1 %s when training, got input size %s",
                   what, luc__tensor_shape_text(shape, input));
}

/* No values, so no statistics: running ones stay, the parameters' gradients are zero. */
static luc_status norm_of_nothing(luc_context *ctx, luc_tensor *input, const luc_value *affine,
                                  luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *weight = per_channel(&f, luc_as_tensor(&affine[0]), input->ndim);
  luc_tensor *bias = per_channel(&f, luc_as_tensor(&affine[1]), input->ndim);
  luc_tensor *y = luc__f1(&f, LUC_OP_clone, input);
  if (weight) y = luc__f2(&f, LUC_OP_mul, y, weight);
  if (bias) y = luc__f2(&f, LUC_OP_add, y, bias);
  return luc__f_result(&f, y, out);
}

/* The first of the results alone. */
static luc_status normalized(luc_context *ctx, luc_opid op, luc_value *args, int n,
                             luc_value *out) {
  luc_value all[LUC_MAX_RESULTS];
  LUC_TRY(luc_call(ctx, op, args, n, all));
  out[0] = all[0];
  luc__value_release(ctx, &all[1]);
  luc__value_release(ctx, &all[2]);
  return LUC_OK;
}

/* batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps) */
luc_status luc__run_batch_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  bool training = args[5].as.i != 0;
  if (input->ndim < 2)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL, "input must be [N, C, ...]");
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(check_channels(ctx, input, &args[1]));
  LUC_TRY(check_dtypes(ctx, input, &args[1], 4));
  if (!training && (luc_is_none(&args[1]) || luc_is_none(&args[2])))
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "running_mean and running_var are needed when training is false");
  int64_t channels = input->sizes[1];
  if (training && input->numel == 0) return norm_of_nothing(ctx, input, &args[3], out);
  if (training && input->numel == channels) return fail_single(ctx, "value per channel", input);
  return normalized(
      ctx, LUC_OP_native_batch_norm,
      LUC_ARGS(args[0], args[3], args[4], args[1], args[2], args[5], args[6], args[7]), out);
}

/* ---- instance_norm: batch_norm on [1, N * C, ...] ---- */

static luc_tensor *repeated(luc_formula *f, const luc_value *v, int64_t times) {
  luc_tensor *t = luc_as_tensor(v);
  if (!t) return NULL;
  luc_tensor *rows = luc__f_expand(f, t, 2, (int64_t[]){times, t->numel});
  return luc__f_reshape(f, rows, 1, (int64_t[]){times * t->numel});
}

/* A running statistic in memory of its own: it is written, and of one channel all rows were one.
 * It need not be of the input's dtype. */
static luc_tensor *repeated_copy(luc_formula *f, const luc_value *v, int64_t times,
                                 luc_dtype dtype) {
  luc_tensor *t = repeated(f, v, times);
  if (!t) return NULL;
  t = luc__f_call(f, LUC_OP_clone, LUC_ARGS(luc_v_tensor(t)));
  bool fits = !t || t->dtype == dtype || t->dtype == luc__compute_dtype(dtype);
  return fits ? t : luc__f_to(f, t, dtype);
}

/* The running statistic becomes the mean over the batch's. */
static void average_running(luc_formula *f, const luc_value *running, luc_tensor *of_batch,
                            int64_t batch) {
  luc_tensor *t = luc_as_tensor(running);
  if (!t || f->status != LUC_OK) return;
  luc_tensor *rows = luc__f_reshape(f, of_batch, 2, (int64_t[]){batch, t->numel});
  luc_tensor *mean = luc__f_mean(f, rows, 1, (int64_t[]){0}, false);
  if (f->status == LUC_OK) f->status = luc__copy(f->ctx, t, mean);
  if (f->status == LUC_OK && !(t->flags & LUC_TF_UNTRACKED)) t->storage->version++;
}

/* The mean over no instances is NaN, as in PyTorch. */
static luc_status instances_of_nothing(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *input = args[0].as.tensor;
  for (int i = 1; i < 3 && args[5].as.i && input->sizes[0] == 0; i++)
    average_running(&f, &args[i], repeated(&f, &args[i], 0), 0);
  LUC_TRY(luc__f_end(&f, NULL, NULL));
  return norm_of_nothing(ctx, input, &args[3], out);
}

/* instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps) */
luc_status luc__run_instance_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  if (input->ndim < 3)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL, "input must be [N, C, L, ...]");
  LUC_TRY(check_channels(ctx, input, &args[1]));
  LUC_TRY(check_dtypes(ctx, input, &args[3], 2));
  if (args[5].as.i && luc__product(input->ndim - 2, input->sizes + 2) == 1)
    return fail_single(ctx, "spatial element", input);
  if (input->numel == 0) return instances_of_nothing(ctx, args, out);
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS], n = input->sizes[0];
  memcpy(sizes, input->sizes, sizeof sizes);
  sizes[0] = 1;
  sizes[1] = n * input->sizes[1];
  luc_tensor *x = luc__f_reshape(&f, input, input->ndim, sizes), *of[4];
  for (int i = 0; i < 2; i++) of[i] = repeated_copy(&f, &args[i + 1], n, (luc_dtype)input->dtype);
  for (int i = 2; i < 4; i++) of[i] = repeated(&f, &args[i + 1], n);
  luc_tensor *y =
      luc__f_call(&f, LUC_OP_batch_norm,
                  LUC_ARGS(luc_v_tensor(x), luc_v_tensor(of[0]), luc_v_tensor(of[1]),
                           luc_v_tensor(of[2]), luc_v_tensor(of[3]), args[5], args[6], args[7]));
  if (args[5].as.i) {
    average_running(&f, &args[1], of[0], n);
    average_running(&f, &args[2], of[1], n);
  }
  return luc__f_result(&f, luc__f_reshape(&f, y, input->ndim, input->sizes), out);
}

/* ---- layer_norm over the last dimensions; rms_norm is one around 0 ---- */

static luc_layer_norm layer_geometry(const luc_tensor *x, const luc_value *shape, bool rms) {
  const int lead = x->ndim - shape->n;
  return (luc_layer_norm){.rows = luc__product(lead, x->sizes),
                          .n = luc__product(shape->n, x->sizes + lead),
                          .rms = rms};
}

/* Both rows' forward: (input, shape, weight, bias, eps) to (output, mean, rstd). */
static luc_status run_rows(luc_context *ctx, luc_layer_norm *l, luc_value *args, luc_value *out) {
  enum { X, WEIGHT, BIAS, Y, MEAN, RSTD, COUNT };
  luc_tensor *t[COUNT];
  luc_dtype dtype = args[0].as.tensor->dtype, compute = luc__compute_dtype(dtype);
  l->dtype = dtype;
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, dtype, &t[X]));
  LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[2]), compute, &t[WEIGHT]));
  LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[3]), compute, &t[BIAS]));
  LUC_TRY(luc__scratch_like(ctx, t[X], dtype, &t[Y]));
  LUC_TRY(luc__scratch(ctx, compute, 1, &l->rows, &t[MEAN]));
  LUC_TRY(luc__scratch(ctx, compute, 1, &l->rows, &t[RSTD]));
  if (t[X]->numel > 0)
    luc__layer_norm(ctx, l,
                    &(luc_norm_arrays){.x = t[X]->data,
                                       .weight = luc__data(t[WEIGHT]),
                                       .bias = luc__data(t[BIAS]),
                                       .y = t[Y]->data,
                                       .mean = t[MEAN]->data,
                                       .rstd = t[RSTD]->data});
  LUC_TRY(luc__results(out + 1, 2, &t[MEAN]));
  return luc__result(ctx, &out[0], dtype, t[Y]);
}

/* Both rows' backward: (grad, input, shape, weight, mean, rstd) to the gradients of input, weight
 * and bias. */
static luc_status run_rows_backward(luc_context *ctx, luc_layer_norm *l, luc_value *args, int ndim,
                                    const int64_t *affine, luc_value *out) {
  luc_norm_arrays a;
  luc_tensor *made[3];
  l->dtype = args[0].as.tensor->dtype;
  LUC_TRY(backward_arrays(ctx, args, (const int[]){0, 1, 3, 4, 5}, ndim, affine, &a, made));
  LUC_TRY(luc__layer_norm_backward(ctx, l, &a));
  return give_gradients(ctx, l->dtype, made, out);
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps, rms) */
luc_status luc__run_native_layer_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_layer_norm l = layer_geometry(args[0].as.tensor, &args[1], args[5].as.i != 0);
  l.eps = luc_as_double(&args[4]);
  return run_rows(ctx, &l, args, out);
}

/* native_layer_norm_backward(grad, input, normalized_shape, weight, mean, rstd, rms) */
luc_status luc__run_native_layer_norm_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_value *shape = &args[2];
  luc_layer_norm l = layer_geometry(args[1].as.tensor, shape, args[6].as.i != 0);
  return run_rows_backward(ctx, &l, args, shape->n, shape->as.ints, out);
}

static luc_status layer_backward_formula(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *dw_full;
  norm_gradient n = {.x = b->args[0].as.tensor,
                     .g = b->gout[0],
                     .weight = luc_as_tensor(&b->args[2]),
                     .rms = b->args[5].as.i != 0,
                     .eps = luc_as_double(&b->args[4])};
  int64_t lead = n.x->ndim - b->args[1].n;
  for (int64_t d = lead; d < n.x->ndim; d++) n.dims[n.ndims++] = d;
  luc_tensor *dx = norm_backward(&f, &n, &dw_full);
  if (luc__needs(b, 0)) luc__f_keep(&f, dx, &b->gin[0]);
  /* The engine sums these two over the leading dimensions. */
  if (luc__needs(b, 2)) luc__f_keep(&f, dw_full, &b->gin[2]);
  if (luc__needs(b, 3)) luc__f_keep(&f, n.g, &b->gin[3]);
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__grad_native_layer_norm(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK;
  if (luc__recording(ctx)) return layer_backward_formula(ctx, b);
  return call_backward(ctx, b, 2, LUC_OP_native_layer_norm_backward,
                       LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1], b->args[2],
                                luc_v_tensor(b->results[1]), luc_v_tensor(b->results[2]),
                                b->args[5]));
}

/* Do input's last dimensions, and the affine tensors, have this shape? */
static luc_status check_normalized(luc_context *ctx, const luc_tensor *input,
                                   const luc_value *shape, const luc_tensor *weight,
                                   const luc_tensor *bias) {
  int n = shape->n;
  char text[LUC_SHAPE_TEXT];
  size_t bytes = (size_t)n * sizeof(int64_t);
  LUC_CHECK(ctx, n > 0, LUC_ERR_VALUE, "normalized_shape needs at least 1 dimension");
  if (n > input->ndim || memcmp(input->sizes + input->ndim - n, shape->as.ints, bytes) != 0)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "input must end in normalized_shape %s",
                            luc__shape_text(text, n, shape->as.ints));
  const luc_tensor *affine[] = {weight, bias};
  for (int i = 0; i < 2; i++)
    if (affine[i] && (affine[i]->ndim != n || memcmp(affine[i]->sizes, shape->as.ints, bytes) != 0))
      return luc__fail_shapes(ctx, i ? "bias" : "weight", affine[i], NULL, NULL,
                              "%s must have normalized_shape %s", i ? "bias" : "weight",
                              luc__shape_text(text, n, shape->as.ints));
  return luc__need_float(ctx, "input", input);
}

/* layer_norm(input, normalized_shape, weight, bias, eps) */
luc_status luc__run_layer_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_normalized(ctx, args[0].as.tensor, &args[1], luc_as_tensor(&args[2]),
                           luc_as_tensor(&args[3])));
  LUC_TRY(check_dtypes(ctx, args[0].as.tensor, &args[2], 2));
  return normalized(ctx, LUC_OP_native_layer_norm,
                    LUC_ARGS(args[0], args[1], args[2], args[3], args[4], luc_v_bool(false)), out);
}

/* rms_norm(input, normalized_shape, weight, eps) */
luc_status luc__run_rms_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *weight = luc_as_tensor(&args[2]);
  LUC_TRY(check_normalized(ctx, x, &args[1], weight, NULL));
  const double epsilon = x->dtype == LUC_FLOAT64 ? DBL_EPSILON : FLT_EPSILON;
  double eps = luc_is_none(&args[3]) ? epsilon : luc_as_double(&args[3]);
  bool same = !weight || weight->dtype == x->dtype;
  LUC_TRY(normalized(ctx, LUC_OP_native_layer_norm,
                     LUC_ARGS(args[0], args[1], same ? args[2] : luc_v_none(), luc_v_none(),
                              luc_v_float(eps), luc_v_bool(true)),
                     out));
  if (same) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = luc__f_own(&f, out[0].as.tensor);
  out[0] = luc_v_none();
  return luc__f_result(&f, luc__f_to(&f, luc__f2(&f, LUC_OP_mul, y, weight), x->dtype), out);
}

/* ---- group_norm: rows are groups of channels ---- */

static luc_layer_norm group_geometry(const luc_tensor *x, int64_t groups) {
  luc_layer_norm l = {.channels = x->sizes[1], .rows = x->sizes[0] * groups};
  l.n = l.rows > 0 ? x->numel / l.rows : 0;
  l.inner = l.n > 0 ? x->numel / (x->sizes[0] * l.channels) : 1;
  return l;
}

/* native_group_norm(input, num_groups, weight, bias, eps) */
luc_status luc__run_native_group_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_layer_norm l = group_geometry(args[0].as.tensor, args[1].as.i);
  l.eps = luc_as_double(&args[4]);
  return run_rows(ctx, &l, args, out);
}

/* native_group_norm_backward(grad, input, num_groups, weight, mean, rstd) */
luc_status luc__run_native_group_norm_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_layer_norm l = group_geometry(args[1].as.tensor, args[2].as.i);
  return run_rows_backward(ctx, &l, args, 1, &l.channels, out);
}

/* t as [batch, groups, channels of a group, inner]. */
static luc_tensor *grouped(luc_formula *f, luc_tensor *t, int64_t batch, int64_t groups,
                           int64_t channels) {
  if (t == NULL) return NULL;
  int64_t per_group = channels / groups, n = batch * channels;
  return luc__f_reshape(f, t, 4, (int64_t[]){batch, groups, per_group, n > 0 ? t->numel / n : 0});
}

static luc_status group_backward_formula(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = b->args[0].as.tensor, *dw;
  const int64_t batch = x->sizes[0], channels = x->sizes[1], groups = b->args[1].as.i;
  norm_gradient n = {.x = grouped(&f, x, batch, groups, channels),
                     .g = grouped(&f, b->gout[0], batch, groups, channels),
                     .weight = grouped(&f, luc_as_tensor(&b->args[2]), 1, groups, channels),
                     .eps = luc_as_double(&b->args[4]),
                     .ndims = 2,
                     .dims = {2, 3}};
  static const int64_t around[] = {0, 3};
  luc_tensor *dx = norm_backward(&f, &n, &dw);
  if (luc__needs(b, 0)) luc__f_keep(&f, luc__f_reshape(&f, dx, x->ndim, x->sizes), &b->gin[0]);
  luc_tensor *full[] = {dw, n.g};
  for (int i = 0; i < 2; i++) {
    if (!luc__needs(b, 2 + i)) continue;
    luc_tensor *sum = luc__f_sum(&f, full[i], 2, around, false);
    luc__f_keep(&f, luc__f_reshape(&f, sum, 1, &channels), &b->gin[2 + i]);
  }
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__grad_native_group_norm(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK;
  if (luc__recording(ctx)) return group_backward_formula(ctx, b);
  return call_backward(ctx, b, 2, LUC_OP_native_group_norm_backward,
                       LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1], b->args[2],
                                luc_v_tensor(b->results[1]), luc_v_tensor(b->results[2])));
}

/* group_norm(input, num_groups, weight, bias, eps) */
luc_status luc__run_group_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *weight = luc_as_tensor(&args[2]);
  luc_tensor *bias = luc_as_tensor(&args[3]);
  int64_t groups = args[1].as.i;
  if (input->ndim < 2)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL, "input must be [N, C, ...]");
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(luc__check_least(ctx, "num_groups", 1, &groups, 1));
  int64_t most = input->sizes[1] > 0 ? input->sizes[1] : 1;
  if (input->sizes[1] % groups != 0 || groups > most)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "%lld channels are not divisible by num_groups=%lld",
                            (long long)input->sizes[1], (long long)groups);
  LUC_TRY(check_channel(ctx, input, "weight", weight));
  LUC_TRY(check_channel(ctx, input, "bias", bias));
  LUC_TRY(check_dtypes(ctx, input, &args[2], 2));
  if (input->numel == groups && input->sizes[0] == 1 && groups > 0)
    return fail_single(ctx, "value per channel", input);
  return normalized(ctx, LUC_OP_native_group_norm,
                    LUC_ARGS(args[0], args[1], args[2], args[3], args[4]), out);
}

/* local_response_norm(input, size, alpha, beta, k): each value over (k + alpha * mean of the
 * squares of `size` channels around it) ^ beta. */
luc_status luc__run_local_response_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  int64_t size = args[1].as.i;
  LUC_CHECK(ctx, x->ndim >= 3, LUC_ERR_VALUE,
            "Expected 3D or higher dimensionality input (got %d dimensions)", x->ndim);
  LUC_TRY(luc__need_numbers(ctx, x));
  LUC_TRY(luc__check_least(ctx, "size", 1, &size, 1));
  luc_formula f = luc__formula(ctx);
  if (x->numel == 0) return luc__f_result(&f, luc__f1(&f, LUC_OP_clone, x), out);
  int64_t channels = x->sizes[1], inner = x->numel / (x->sizes[0] * channels);
  int64_t planes[] = {x->sizes[0], 1, channels, inner}, pad[] = {0, 0, size / 2, (size - 1) / 2};
  int64_t kernel[] = {size, 1}, one[] = {1, 1};
  luc_tensor *square = luc__f_reshape(&f, luc__f2(&f, LUC_OP_mul, x, x), 4, planes);
  square = luc__f_call(&f, LUC_OP_constant_pad_nd,
                       LUC_ARGS(luc_v_tensor(square), luc_v_ints(pad, 4), luc_v_int(0)));
  luc_tensor *mean =
      luc__f_call(&f, LUC_OP_avg_pool2d,
                  LUC_ARGS(luc_v_tensor(square), luc_v_ints(kernel, 2), luc_v_ints(one, 2)));
  mean = luc__f_reshape(&f, mean, x->ndim, x->sizes);
  luc_tensor *base = luc__fs(&f, LUC_OP_mul, mean, luc_as_double(&args[2]));
  base = luc__fs(&f, LUC_OP_add, base, luc_as_double(&args[4]));
  luc_tensor *divisor = luc__fs(&f, LUC_OP_pow, base, luc_as_double(&args[3]));
  return luc__f_result(&f, luc__f2(&f, LUC_OP_div, x, divisor), out);
}

/* normalize(input, p, dim, eps): x / max(norm, eps) */
luc_status luc__run_normalize(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  if (!luc__dtype_is_complex(x->dtype)) LUC_TRY(luc__need_float(ctx, "input", x));
  luc_formula f = luc__formula(ctx);
  luc_tensor *norm =
      luc__f_call(&f, LUC_OP_norm, LUC_ARGS(args[0], args[1], args[2], luc_v_bool(true)));
  norm = luc__fs(&f, LUC_OP_clamp_min, norm, luc_as_double(&args[3]));
  luc_tensor *y = NULL;
  LUC_TRY(luc__f_end(&f, luc__f2(&f, LUC_OP_div, x, norm), &y));
  return luc__give(ctx, LUC_OK, out, y);
}
