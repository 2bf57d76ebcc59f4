/* Losses. nll_loss stands on a kernel; its gradient and itself are each other's gradients. The
 * pointwise losses and all that PyTorch composes are formulas of operators. */
#include "ops/compute.h"
#include "ops/loss.h"
#include "ops/pointwise.h"
#include "ops/rows.h"

#include <string.h>

#include "cpu/embed.h"
#include "cpu/index_kernels.h"
#include "cpu/kernels.h"
#include "cpu/softmax.h"

/* ---- reduction ---- */

int luc__loss_legacy(const luc_value *size_average, const luc_value *reduce) {
  if (luc_is_none(size_average) && luc_is_none(reduce)) return -1;
  if (!luc_is_none(reduce) && !reduce->as.i) return LUC_REDUCE_NONE;
  return luc_is_none(size_average) || size_average->as.i ? LUC_REDUCE_MEAN : LUC_REDUCE_SUM;
}

/* args: size_average and reduce, which decide if they are given, and reduction. */
static luc_status loss_reduction(luc_context *ctx, const luc_value *args, int *reduction) {
  *reduction = luc__loss_legacy(&args[0], &args[1]);
  if (*reduction >= 0) return LUC_OK;
  return luc__choice(ctx, "reduction", LUC_REDUCTIONS, args[2].as.string, reduction);
}

luc_tensor *luc__loss_reduced(luc_formula *f, luc_tensor *t, int reduction) {
  if (reduction == LUC_REDUCE_NONE) return t;
  return reduction == LUC_REDUCE_MEAN ? luc__f_mean_all(f, t) : luc__f_sum_all(f, t);
}

luc_status luc__loss_result(luc_formula *f, luc_tensor *loss, const luc_value *args,
                            luc_value *out) {
  int reduction = LUC_REDUCE_NONE;
  if (f->status == LUC_OK) f->status = loss_reduction(f->ctx, args, &reduction);
  return luc__f_result(f, luc__loss_reduced(f, loss, reduction), out);
}

/* ---- negative log likelihood: the row and its gradient ---- */

/* (…, target, weight, …) and the input's sizes: [C] or [N, C, d...]. */
static luc_nll nll_geometry(int ndim, const int64_t *sizes, luc_dtype dtype,
                            const luc_value *ignore_index, const luc_value *reduction) {
  luc_nll l = {.dtype = dtype,
               .reduction = (luc_reduction)reduction->as.i,
               .batch = ndim > 1 ? sizes[0] : 1,
               .classes = sizes[ndim > 1],
               .inner = luc__product(ndim - 2, sizes + 2),
               .ignore_index = ignore_index->as.i};
  return l;
}

/* nll_loss_forward(input, target, weight, ignore_index, reduction) -> (output, total_weight) */
luc_status luc__run_nll_loss_forward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *target, *w, *loss, *total;
  luc_dtype dtype = input->dtype, compute = luc__compute_dtype(dtype);
  luc_nll l = nll_geometry(input->ndim, input->sizes, dtype, &args[3], &args[4]);
  LUC_TRY(luc__as_dense(ctx, input, dtype, &x));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, LUC_INT64, &target));
  LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[2]), compute, &w));
  l.target = (const int64_t *)target->data;
  l.weight = luc__data(w);
  bool none = l.reduction == LUC_REDUCE_NONE;
  LUC_TRY(luc__scratch(ctx, compute, none ? target->ndim : 0, target->sizes, &loss));
  LUC_TRY(luc__scratch(ctx, compute, 0, NULL, &total));
  LUC_TRY(luc__nll_loss(ctx, &l, x->data, loss->data, total->data));
  out[1] = luc_v_tensor(luc__retain(total));
  return luc__result(ctx, &out[0], dtype, loss);
}

/* nll_loss_backward(grad, target, weight, total_weight, input_size, ignore_index, reduction) */
luc_status luc__run_nll_loss_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *dy, *target, *w, *dx;
  luc_dtype dtype = grad->dtype, compute = luc__compute_dtype(dtype);
  const luc_value *size = &args[4];
  luc_nll l = nll_geometry(size->n, size->as.ints, dtype, &args[5], &args[6]);
  LUC_TRY(luc__as_dense(ctx, grad, compute, &dy));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, LUC_INT64, &target));
  LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[2]), compute, &w));
  l.target = (const int64_t *)target->data;
  l.weight = luc__data(w);
  LUC_TRY(luc__scratch(ctx, dtype, size->n, size->as.ints, &dx));
  LUC_TRY(luc__nll_loss_backward(ctx, &l, dy->data, args[3].as.tensor->data, dx->data));
  return luc__result(ctx, out, dtype, dx);
}

luc_status luc__grad_nll_loss_forward(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0] || !luc__needs(b, 0)) return LUC_OK;
  int64_t sizes[LUC_MAX_DIMS];
  int ndim = luc__input_sizes(b, 0, sizes);
  return luc__op1(ctx, LUC_OP_nll_loss_backward, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2],
                           luc_v_tensor(b->results[1]), luc_v_ints(sizes, ndim), b->args[3],
                           b->args[4]));
}

luc_status luc__grad_nll_loss_backward(luc_context *ctx, luc_backward *b) {
  if (!luc__needs(b, 0)) return LUC_OK;
  return luc__op1(
      ctx, LUC_OP_nll_loss_forward, &b->gin[0],
      LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2], b->args[5], b->args[6]));
}

/* ---- nll_loss ---- */

static luc_status check_class_weight(luc_context *ctx, const luc_tensor *input,
                                     const luc_tensor *weight) {
  int64_t classes = input->sizes[input->ndim > 1];
  LUC_TRY(luc__match_dtype(ctx, "input", input, "weight", weight));
  if (!weight || (weight->ndim == 1 && weight->sizes[0] == classes)) return LUC_OK;
  return luc__fail_shapes(ctx, "input", input, "weight", weight,
                          "weight must have one value for each of %lld classes",
                          (long long)classes);
}

/* Every target is a class, or ignored. */
static luc_status check_targets(luc_context *ctx, const luc_tensor *input, luc_tensor *target,
                                int64_t ignore_index) {
  luc_tensor *dense;
  int64_t classes = input->sizes[input->ndim > 1];
  LUC_TRY(luc__as_dense(ctx, luc__all_samples(target), LUC_INT64, &dense));
  const int64_t *at = (const int64_t *)dense->data;
  const bool good = luc__kernels(ctx)->index->in_range(at, dense->numel, 0, classes);
  int64_t bad = good ? -1 : luc__index_check(at, dense->numel, classes, ignore_index);
  if (bad < 0) return LUC_OK;
  const int64_t given = at[bad] + (at[bad] >= 0); /* users count from 1 */
  return luc__fail(ctx, LUC_ERR_INDEX, "Target %lld is out of bounds. (classes [1, %lld])",
                   (long long)given, (long long)classes);
}

/* Input [C] with target [], or [N, C, d...] with [N, d...]. */
static luc_status check_classes(luc_context *ctx, const luc_tensor *input, const luc_tensor *target,
                                const luc_tensor *weight) {
  LUC_TRY(luc__need_float(ctx, "input", input));
  if (!luc__dtype_is_int(target->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "target must hold class positions (got %s)",
                     luc__dtype_name(target->dtype));
  if (input->ndim == 0)
    return luc__fail_shapes(ctx, "input", input, "target", target,
                            "input must be [C] or [N, C, ...]");
  bool batched = input->ndim > 1;
  if (batched && target->ndim > 0 && input->sizes[0] != target->sizes[0])
    return luc__fail_shapes(ctx, "input", input, "target", target,
                            "expected input batch_size (%lld) to match target batch_size (%lld)",
                            (long long)input->sizes[0], (long long)target->sizes[0]);
  bool fits = target->ndim == input->ndim - 1;
  for (int i = 1; fits && i < target->ndim; i++) fits = target->sizes[i] == input->sizes[i + 1];
  if (!batched) fits = target->ndim == 0 || (target->numel == 1 && input->numel == 1);
  if (!fits)
    return luc__fail_shapes(ctx, "input", input, "target", target,
                            "target must be input without its class dimension");
  return check_class_weight(ctx, input, weight);
}

static luc_tensor *nll(luc_formula *f, luc_tensor *log_probs, luc_value target, luc_value weight,
                       luc_value ignore_index, int reduction, luc_tensor **total_weight) {
  return luc__f_call2(
      f, LUC_OP_nll_loss_forward, total_weight,
      LUC_ARGS(luc_v_tensor(log_probs), target, weight, ignore_index, luc_v_int(reduction)));
}

/* nll_loss(input, target, weight, size_average, ignore_index, reduce, reduction) */
luc_status luc__run_nll_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  luc_value legacy[] = {args[3], args[5], args[6]};
  LUC_TRY(loss_reduction(ctx, legacy, &reduction));
  LUC_TRY(check_classes(ctx, args[0].as.tensor, args[1].as.tensor, luc_as_tensor(&args[2])));
  LUC_TRY(check_targets(ctx, args[0].as.tensor, args[1].as.tensor, args[4].as.i));
  luc_formula f = luc__formula(ctx);
  luc_tensor *loss = nll(&f, args[0].as.tensor, args[1], args[2], args[4], reduction, NULL);
  return luc__f_result(&f, loss, out);
}

/* ---- cross_entropy ---- */

/* A [C] tensor shaped to broadcast against [N, C, d...]. */
static luc_tensor *per_class(luc_formula *f, luc_tensor *weight, int ndim) {
  if (ndim < 2) return weight;
  int64_t sizes[LUC_MAX_DIMS] = {1, weight->numel, 1, 1, 1, 1, 1, 1};
  return luc__f_reshape(f, weight, ndim, sizes);
}

/* Targets are probabilities of input's shape. */
static luc_status cross_entropy_probs(luc_context *ctx, luc_value *args, int reduction,
                                      double smoothing, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *target = args[1].as.tensor;
  luc_tensor *weight = luc_as_tensor(&args[2]);
  if (!luc__same_sizes(input, target) || input->ndim == 0)
    return luc__fail_shapes(ctx, "input", input, "target", target,
                            "probabilities as target must have input's shape");
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_CHECK(ctx, args[4].as.i < 0, LUC_ERR_VALUE,
            "cross_entropy: ignore_index is not supported for floating point target");
  LUC_TRY(check_class_weight(ctx, input, weight));
  int64_t dim = input->ndim > 1, classes = input->sizes[dim];
  luc_formula f = luc__formula(ctx);
  luc_tensor *lp = luc__f_call(&f, LUC_OP_log_softmax, LUC_ARGS(args[0], luc_v_int(dim)));
  if (smoothing > 0) {
    target = luc__fs(&f, LUC_OP_mul, target, 1 - smoothing);
    target = luc__fs(&f, LUC_OP_add, target, smoothing / (double)classes);
  }
  luc_tensor *terms = luc__f2(&f, LUC_OP_mul, lp, target);
  if (weight) terms = luc__f2(&f, LUC_OP_mul, terms, per_class(&f, weight, input->ndim));
  luc_tensor *loss =
      reduction == LUC_REDUCE_NONE ? luc__f_sum_dim(&f, terms, dim) : luc__f_sum_all(&f, terms);
  double n = classes > 0 ? (double)(input->numel / classes) : 0;
  loss = reduction == LUC_REDUCE_MEAN ? luc__fs(&f, LUC_OP_div, loss, -n)
                                      : luc__f1(&f, LUC_OP_neg, loss);
  return luc__f_result(&f, loss, out);
}

/* (1 - s) * nll + s / C * the same loss with every class as target. */
static luc_tensor *smooth(luc_formula *f, luc_value *args, luc_tensor *lp, int reduction,
                          double smoothing) {
  luc_tensor *weight = luc_as_tensor(&args[2]), *target = args[1].as.tensor, *total;
  luc_tensor *hard = nll(f, lp, args[1], args[2], args[4], reduction, &total), *terms = lp;
  if (f->status != LUC_OK) return NULL;
  int64_t dim = lp->ndim > 1, classes = lp->sizes[dim];
  if (weight) terms = luc__f2(f, LUC_OP_mul, lp, per_class(f, weight, lp->ndim));
  terms = luc__f1(f, LUC_OP_neg, luc__f_sum_dim(f, terms, dim));
  luc_tensor *ignored = luc__f_call(f, LUC_OP_eq, LUC_ARGS(luc_v_tensor(target), args[4]));
  if (f->status == LUC_OK && ignored->ndim != terms->ndim)
    ignored = luc__f_reshape(f, ignored, terms->ndim, terms->sizes);
  terms = luc__f_fill(f, terms, ignored, 0);
  if (reduction != LUC_REDUCE_NONE) terms = luc__f_sum_all(f, terms);
  if (reduction == LUC_REDUCE_MEAN) terms = luc__f2(f, LUC_OP_div, terms, total);
  terms = luc__f_to(f, terms, lp->dtype); /* total may be wider */
  return luc__f2(f, LUC_OP_add, luc__fs(f, LUC_OP_mul, hard, 1 - smoothing),
                 luc__fs(f, LUC_OP_mul, terms, smoothing / (double)classes));
}

/* cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction,
 * label_smoothing) */
luc_status luc__run_cross_entropy(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  double smoothing = luc_as_double(&args[7]);
  luc_tensor *input = args[0].as.tensor, *target = args[1].as.tensor;
  luc_value legacy[] = {args[3], args[5], args[6]};
  LUC_TRY(loss_reduction(ctx, legacy, &reduction));
  LUC_CHECK(ctx, smoothing >= 0 && smoothing <= 1, LUC_ERR_VALUE,
            "label_smoothing must be between 0 and 1 (got %g)", smoothing);
  if (luc__dtype_is_float(target->dtype))
    return cross_entropy_probs(ctx, args, reduction, smoothing, out);
  LUC_TRY(check_classes(ctx, input, target, luc_as_tensor(&args[2])));
  LUC_TRY(check_targets(ctx, input, target, args[4].as.i));
  luc_formula f = luc__formula(ctx);
  luc_tensor *lp =
      luc__f_call(&f, LUC_OP_log_softmax, LUC_ARGS(args[0], luc_v_int(input->ndim > 1)));
  luc_tensor *loss = smoothing > 0 ? smooth(&f, args, lp, reduction, smoothing)
                                   : nll(&f, lp, args[1], args[2], args[4], reduction, NULL);
  return luc__f_result(&f, loss, out);
}

/* ---- losses of a difference ---- */

/* (input, target, reduction, a parameter): mse, l1, smooth_l1 and huber as rows of their own. The
 * last two have a knee: 0.5 d² / at * slope below it, straight above. */
typedef enum difference_kind { MSE, L1, SMOOTH_L1, HUBER } difference_kind;

static luc_ew_params knee_params(difference_kind kind, const luc_value *args) {
  double at = luc_as_double(&args[3]);
  return (luc_ew_params){.f = {at, kind == HUBER ? at : 1}};
}

static luc_status difference_loss(luc_context *ctx, difference_kind kind, luc_value *args,
                                  luc_value *out) {
  static const luc_ew kernels[] = {LUC_EW_mse, LUC_EW_l1, LUC_EW_knee, LUC_EW_knee};
  luc_formula f = luc__formula(ctx);
  luc_ew_params params = knee_params(kind, args);
  luc_tensor *loss;
  if (luc__dtype_is_float(luc__result_dtype(ctx, args, 2))) {
    luc_value each = luc_v_none();
    LUC_TRY(luc__pointwise(ctx, kernels[kind], LUC_RULE_SAME, args, &params, &each));
    loss = luc__f_own(&f, each.as.tensor);
  } else { /* only l1 */
    loss = luc__f1(&f, LUC_OP_abs, luc__f2(&f, LUC_OP_sub, args[0].as.tensor, args[1].as.tensor));
  }
  return luc__f_result(&f, luc__loss_reduced(&f, loss, (int)args[2].as.i), out);
}

/* d * slope below the knee, NaN too; straight from there on, where the second derivative is 0. */
static luc_tensor *knee_slope(luc_formula *f, luc_tensor *d, const luc_ew_params *knee) {
  double at = knee->f[0], slope = knee->f[1];
  luc_tensor *above = luc__fs(f, LUC_OP_ge, luc__f1(f, LUC_OP_abs, d), at);
  luc_tensor *low = luc__fs(f, LUC_OP_mul, d, slope / at);
  luc_tensor *high = luc__fs(f, LUC_OP_mul, luc__f1(f, LUC_OP_sign, d), slope);
  return luc__f_where(f, above, high, low);
}

/* The gradient by the input, in operators that have gradients themselves. */
static luc_tensor *difference_slope(luc_formula *f, difference_kind kind, luc_backward *b,
                                    double scale) {
  luc_ew_params knee = knee_params(kind, b->args);
  luc_tensor *d = luc__f2(f, LUC_OP_sub, b->args[0].as.tensor, b->args[1].as.tensor), *slope;
  switch (kind) {
  case MSE: slope = d; break;
  case L1: slope = luc__f1(f, LUC_OP_sign, d); break;
  default: slope = knee_slope(f, d, &knee); break;
  }
  return luc__f2(f, LUC_OP_mul, slope, luc__fs(f, LUC_OP_mul, b->gout[0], scale));
}

/* The same in one pass. */
static luc_tensor *difference_kernel(luc_formula *f, difference_kind kind, luc_backward *b,
                                     double scale) {
  static const luc_ew kernels[] = {LUC_EW_mse_slope, LUC_EW_l1_slope, LUC_EW_knee_slope,
                                   LUC_EW_knee_slope};
  luc_ew_params knee = knee_params(kind, b->args);
  luc_ew_params params = {.f = {scale, knee.f[0], knee.f[1]}};
  luc_value in[] = {luc_v_tensor(b->gout[0]), b->args[0], b->args[1]}, dx = luc_v_none();
  f->status = luc__pointwise(f->ctx, kernels[kind], LUC_RULE_SAME, in, &params, &dx);
  return f->status == LUC_OK ? luc__f_own(f, dx.as.tensor) : NULL;
}

static luc_status difference_grad(luc_context *ctx, luc_backward *b, difference_kind kind) {
  luc_formula f = luc__formula(ctx);
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  double scale = kind == MSE ? 2 : 1, numel = 1;
  LUC_TRY(luc__broadcast_operands(ctx, b->args, 2, &ndim, sizes));
  for (int d = 0; d < ndim; d++) numel *= (double)sizes[d];
  if (b->args[2].as.i == LUC_REDUCE_MEAN) scale /= numel;
  bool fused = !luc__recording(ctx) && !ctx->batched && luc__dtype_is_float(b->gout[0]->dtype);
  luc_tensor *dx =
      fused ? difference_kernel(&f, kind, b, scale) : difference_slope(&f, kind, b, scale);
  if (luc__needs(b, 0)) luc__f_keep(&f, dx, &b->gin[0]);
  if (luc__needs(b, 1)) luc__f_keep(&f, luc__f1(&f, LUC_OP_neg, dx), &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

LUC_RUN_BY(mse, difference_loss, MSE)
LUC_GRAD_BY(mse, difference_grad, MSE)
LUC_RUN_BY(l1, difference_loss, L1)
LUC_GRAD_BY(l1, difference_grad, L1)
LUC_RUN_BY(smooth_l1, difference_loss, SMOOTH_L1)
LUC_GRAD_BY(smooth_l1, difference_grad, SMOOTH_L1)
LUC_RUN_BY(huber, difference_loss, HUBER)
LUC_GRAD_BY(huber, difference_grad, HUBER)

/* A weighted loss is reduced here; `by_weight`: its mean divides by the sum of weights. */
static luc_status difference(luc_context *ctx, luc_opid op, luc_value *args, int reduction,
                             double p, luc_tensor *weight, bool by_weight, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  if (op != LUC_OP_l1) LUC_TRY(luc__need_float(ctx, "input", args[0].as.tensor));
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *loss;
  if (weight && !luc__same_sizes(weight, a))
    return luc__fail_shapes(ctx, "input", a, "weight", weight,
                            "weight and input must have the same size");
  const bool complex = luc__dtype_is_complex(a->dtype) || luc__dtype_is_complex(b->dtype);
  if (complex) /* of L1 */
    loss = luc__f1(&f, LUC_OP_abs, luc__f2(&f, LUC_OP_sub, a, b));
  else
    loss = luc__f_call(&f, op,
                       LUC_ARGS(args[0], args[1], luc_v_int(weight ? LUC_REDUCE_NONE : reduction),
                                luc_v_float(p)));
  if (op == LUC_OP_huber) loss = luc__f_to(&f, loss, a->dtype); /* as PyTorch does */
  if (complex && !weight) loss = luc__loss_reduced(&f, loss, reduction);
  if (weight) {
    loss = luc__f2(&f, LUC_OP_mul, loss, weight);
    if (reduction == LUC_REDUCE_MEAN && by_weight) {
      luc_tensor *sum = luc__f_sum_all(&f, loss);
      loss = luc__f2(&f, LUC_OP_div, sum, luc__f_sum_all(&f, weight));
    } else {
      loss = luc__loss_reduced(&f, loss, reduction);
    }
  }
  return luc__f_result(&f, loss, out);
}

/* (input, target, size_average, reduce, reduction, weight) */
static luc_status plain_difference(luc_context *ctx, luc_opid op, luc_value *args, luc_value *out) {
  int reduction;
  LUC_TRY(loss_reduction(ctx, &args[2], &reduction));
  return difference(ctx, op, args, reduction, 0, luc_as_tensor(&args[5]), true, out);
}

LUC_RUN_BY(mse_loss, plain_difference, LUC_OP_mse)
LUC_RUN_BY(l1_loss, plain_difference, LUC_OP_l1)

/* smooth_l1_loss(input, target, size_average, reduce, reduction, beta) */
luc_status luc__run_smooth_l1_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  double beta = luc_as_double(&args[5]);
  LUC_TRY(loss_reduction(ctx, &args[2], &reduction));
  LUC_CHECK(ctx, beta >= 0, LUC_ERR_VALUE, "beta must not be negative (got %g)", beta);
  return difference(ctx, beta == 0 ? LUC_OP_l1 : LUC_OP_smooth_l1, args, reduction, beta, NULL,
                    false, out);
}

/* huber_loss(input, target, reduction, delta, weight) */
luc_status luc__run_huber_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  double delta = luc_as_double(&args[3]);
  LUC_TRY(luc__choice(ctx, "reduction", LUC_REDUCTIONS, args[2].as.string, &reduction));
  LUC_CHECK(ctx, delta > 0, LUC_ERR_VALUE, "delta must be positive (got %g)", delta);
  return difference(ctx, LUC_OP_huber, args, reduction, delta, luc_as_tensor(&args[4]), false, out);
}

/* ---- binary cross entropy ---- */

static luc_status check_same_shape(luc_context *ctx, const luc_tensor *input,
                                   const luc_tensor *target) {
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(luc__need_float(ctx, "target", target));
  if (luc__same_sizes(input, target)) return LUC_OK;
  return luc__fail_shapes(ctx, "input", input, "target", target, "target must have input's shape");
}

/* The first element outside [0, 1] (or NaN), or -1. */
static int64_t find_improbable(const luc_tensor *x, double *value) {
  for (int64_t i = 0; i < x->numel; i++) {
    *value = x->dtype == LUC_FLOAT64 ? ((double *)(void *)x->data)[i]
                                     : (double)((float *)(void *)x->data)[i];
    if (!(*value >= 0 && *value <= 1)) return i;
  }
  return -1;
}

static luc_status check_probabilities(luc_context *ctx, luc_tensor *x) {
  luc_tensor *dense;
  double value;
  LUC_TRY(luc__dense(ctx, x, luc__compute_dtype(x->dtype), &dense));
  int64_t bad = find_improbable(dense, &value);
  luc_tensor_release(ctx, dense);
  if (bad < 0) return LUC_OK;
  return luc__fail(ctx, LUC_ERR_VALUE, "all elements of input should be between 0 and 1 (got %g)",
                   value);
}

/* The row bce(input, target): one value per element, logs cut at -100. */
luc_status luc__run_bce(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor, *t = args[1].as.tensor;
  luc_tensor *yes = luc__fs(&f, LUC_OP_clamp_min, luc__f1(&f, LUC_OP_log, x), -100);
  luc_tensor *no = luc__f1(&f, LUC_OP_log1p, luc__f1(&f, LUC_OP_neg, x));
  no = luc__fs(&f, LUC_OP_clamp_min, no, -100);
  /* (t - 1) * no - t * yes */
  luc_tensor *loss = luc__f2(&f, LUC_OP_mul, luc__fs(&f, LUC_OP_sub, t, 1), no);
  loss = luc__f2(&f, LUC_OP_sub, loss, luc__f2(&f, LUC_OP_mul, t, yes));
  return luc__f_result(&f, loss, out);
}

luc_status luc__grad_bce(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = b->args[0].as.tensor, *t = b->args[1].as.tensor, *g = b->gout[0];
  luc_tensor *minus = luc__f1(&f, LUC_OP_neg, x);
  if (luc__needs(b, 0)) {
    luc_tensor *below = luc__f2(&f, LUC_OP_mul, x, luc__fs(&f, LUC_OP_add, minus, 1));
    below = luc__fs(&f, LUC_OP_clamp_min, below, 1e-12);
    luc_tensor *dx = luc__f2(&f, LUC_OP_div, luc__f2(&f, LUC_OP_sub, x, t), below);
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, dx, g), &b->gin[0]);
  }
  if (luc__needs(b, 1)) {
    luc_tensor *dt = luc__f1(&f, LUC_OP_log1p, minus);
    dt = luc__f2(&f, LUC_OP_sub, dt, luc__f1(&f, LUC_OP_log, x));
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, dt, g), &b->gin[1]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* binary_cross_entropy(input, target, weight, size_average, reduce, reduction) */
luc_status luc__run_binary_cross_entropy(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_same_shape(ctx, args[0].as.tensor, args[1].as.tensor));
  LUC_TRY(check_probabilities(ctx, args[0].as.tensor));
  luc_formula f = luc__formula(ctx);
  luc_tensor *loss = luc__f2(&f, LUC_OP_bce, args[0].as.tensor, args[1].as.tensor);
  if (!luc_is_none(&args[2])) loss = luc__f2(&f, LUC_OP_mul, loss, args[2].as.tensor);
  return luc__loss_result(&f, loss, &args[3], out);
}

/* binary_cross_entropy_with_logits(input, target, weight, size_average, reduce, reduction,
 * pos_weight): (1 - t) x - (1 + (pos_weight - 1) t) logsigmoid(x), finite for every finite x. The
 * target's dtype is the sum's, as in PyTorch, which works in place of 1 - t. */
luc_status luc__run_binary_cross_entropy_with_logits(luc_context *ctx, luc_value *args,
                                                     luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *t = args[1].as.tensor;
  LUC_TRY(check_same_shape(ctx, x, t));
  luc_formula f = luc__formula(ctx);
  luc_tensor *rest = luc__fs(&f, LUC_OP_rsub, t, 1);
  luc_tensor *log_yes = luc__f1(&f, LUC_OP_logsigmoid, x);
  luc_tensor *loss = luc__f_to(&f, luc__f2(&f, LUC_OP_mul, rest, x), t->dtype);
  if (!luc_is_none(&args[6])) {
    luc_tensor *more = luc__fs(&f, LUC_OP_sub, args[6].as.tensor, 1);
    more = luc__fs(&f, LUC_OP_add, luc__f2(&f, LUC_OP_mul, t, more), 1);
    log_yes = luc__f2(&f, LUC_OP_mul, log_yes, more);
  }
  loss = luc__f_to(&f, luc__f2(&f, LUC_OP_sub, loss, log_yes), t->dtype);
  if (!luc_is_none(&args[2]))
    loss = luc__f_to(&f, luc__f2(&f, LUC_OP_mul, loss, args[2].as.tensor), t->dtype);
  return luc__loss_result(&f, loss, &args[3], out);
}

/* ---- kl_div ---- */

/* kl_div(input, target, size_average, reduce, reduction, log_target) */
luc_status luc__run_kl_div(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction = LUC_REDUCE_SUM;
  luc_tensor *x = args[0].as.tensor, *t = args[1].as.tensor;
  bool batchmean =
      luc_is_none(&args[2]) && luc_is_none(&args[3]) && !strcmp(args[4].as.string, "batchmean");
  if (!batchmean) LUC_TRY(loss_reduction(ctx, &args[2], &reduction));
  LUC_TRY(luc__need_float(ctx, "input", x));
  luc_formula f = luc__formula(ctx);
  luc_tensor *loss;
  if (args[5].as.i) {
    loss = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_exp, t), luc__f2(&f, LUC_OP_sub, t, x));
  } else {
    luc_tensor *entropy = luc__f2(&f, LUC_OP_xlogy, t, t);
    loss = luc__f2(&f, LUC_OP_sub, entropy, luc__f2(&f, LUC_OP_mul, t, x));
  }
  loss = luc__loss_reduced(&f, loss, reduction);
  if (batchmean && x->ndim > 0) loss = luc__fs(&f, LUC_OP_div, loss, (double)x->sizes[0]);
  return luc__f_result(&f, loss, out);
}
