/* Losses of margins: what is on the right side by enough costs nothing. Formulas of operators; only
 * multilabel_margin_loss, whose lists end anywhere, stands on a kernel. */
#include "ops/compute.h"
#include "ops/loss.h"
#include "ops/rows.h"

#include "cpu/embed.h"
#include "cpu/margin.h"

/* max(margin - t, 0) */
static luc_tensor *hinge(luc_formula *f, luc_tensor *t, double margin) {
  return luc__fs(f, LUC_OP_clamp_min, luc__fs(f, LUC_OP_rsub, t, margin), 0);
}

static luc_tensor *where_is(luc_formula *f, luc_opid compare, luc_tensor *target, double value,
                            luc_tensor *t) {
  return luc__f_where(f, luc__fs(f, compare, target, value), t, NULL);
}

/* ---- margin_ranking_loss, hinge_embedding_loss, soft_margin_loss ---- */

/* margin_ranking_loss(input1, input2, target, margin, size_average, reduce, reduction) */
luc_status luc__run_margin_ranking_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *target = args[2].as.tensor;
  char sa[LUC_SHAPE_TEXT], sb[LUC_SHAPE_TEXT], st[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, a->ndim == b->ndim && a->ndim == target->ndim, LUC_ERR_SHAPE,
            "All input tensors should have same dimension but got sizes: "
            "input1: %s, input2: %s, target: %s",
            luc__tensor_shape_text(sa, a), luc__tensor_shape_text(sb, b),
            luc__tensor_shape_text(st, target));
  luc_formula f = luc__formula(ctx);
  luc_tensor *d = luc__f2(&f, LUC_OP_sub, a, b), *turned = luc__f1(&f, LUC_OP_neg, target);
  luc_tensor *loss =
      luc__fs(&f, LUC_OP_add, luc__f2(&f, LUC_OP_mul, turned, d), luc_as_double(&args[3]));
  loss = luc__fs(&f, LUC_OP_clamp_min, loss, 0);
  return luc__loss_result(&f, loss, &args[4], out);
}

/* hinge_embedding_loss(input, target, margin, size_average, reduce, reduction) */
luc_status luc__run_hinge_embedding_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor;
  luc_formula f = luc__formula(ctx);
  luc_tensor *apart = hinge(&f, x, luc_as_double(&args[2]));
  apart = where_is(&f, LUC_OP_ne, target, 1, apart);
  luc_tensor *loss = luc__f2(&f, LUC_OP_add, apart, where_is(&f, LUC_OP_ne, target, -1, x));
  return luc__loss_result(&f, loss, &args[3], out);
}

/* soft_margin_loss(input, target, size_average, reduce, reduction): log(1 + exp(-target input)) */
luc_status luc__run_soft_margin_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  LUC_TRY(luc__need_float(ctx, "input", x));
  luc_formula f = luc__formula(ctx);
  luc_tensor *z = luc__f1(&f, LUC_OP_neg, luc__f2(&f, LUC_OP_mul, x, args[1].as.tensor));
  luc_tensor *loss = luc__f1(&f, LUC_OP_log1p, luc__f1(&f, LUC_OP_exp, z));
  loss = luc__f_to(&f, loss, x->dtype);
  return luc__loss_result(&f, loss, &args[2], out);
}

/* ---- multilabel_soft_margin_loss ---- */

/* multilabel_soft_margin_loss(input, target, weight, size_average, reduce, reduction): the mean
 * over the last dimension, then the reduction of the rest. */
luc_status luc__run_multilabel_soft_margin_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor;
  int64_t last = x->ndim - 1;
  LUC_TRY(luc__need_float(ctx, "input", x));
  if (x->ndim == 0) return luc__fail_shapes(ctx, "input", x, NULL, NULL, "input must be [..., C]");
  luc_formula f = luc__formula(ctx);
  if (!luc__dtype_has_gradient(target->dtype)) target = luc__f_to(&f, target, x->dtype);
  luc_tensor *yes = luc__f1(&f, LUC_OP_logsigmoid, x);
  luc_tensor *no = luc__f1(&f, LUC_OP_logsigmoid, luc__f1(&f, LUC_OP_neg, x));
  luc_tensor *rest = luc__fs(&f, LUC_OP_rsub, target, 1);
  luc_tensor *loss = luc__f2(&f, LUC_OP_add, luc__f2(&f, LUC_OP_mul, target, yes),
                             luc__f2(&f, LUC_OP_mul, rest, no));
  if (!luc_is_none(&args[2])) loss = luc__f2(&f, LUC_OP_mul, loss, args[2].as.tensor);
  loss = luc__f_sum_dim(&f, luc__f1(&f, LUC_OP_neg, loss), last);
  loss = luc__fs(&f, LUC_OP_div, loss, (double)x->sizes[last]);
  return luc__loss_result(&f, loss, &args[3], out);
}

/* ---- cosine_embedding_loss ---- */

static luc_status check_cosine(luc_context *ctx, const luc_tensor *a, const luc_tensor *b,
                               const luc_tensor *target) {
  LUC_CHECK(ctx, target->ndim <= 1, LUC_ERR_SHAPE,
            "0D or 1D target tensor expected, multi-target not supported (got %dD)", target->ndim);
  int want = target->ndim + 1;
  if (a->ndim == want && b->ndim == want) return LUC_OK;
  return luc__fail_shapes(ctx, "input1", a, "input2", b,
                          "%dD target tensor expects %dD input tensors", target->ndim, want);
}

static luc_tensor *dots(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  return luc__f_sum_dim(f, luc__f2(f, LUC_OP_mul, a, b), -1);
}

/* cosine_embedding_loss(input1, input2, target, margin, size_average, reduce, reduction) */
luc_status luc__run_cosine_embedding_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *target = args[2].as.tensor;
  LUC_TRY(check_cosine(ctx, a, b, target));
  luc_formula f = luc__formula(ctx);
  luc_tensor *size_a = luc__fs(&f, LUC_OP_add, dots(&f, a, a), 1e-12);
  luc_tensor *size_b = luc__fs(&f, LUC_OP_add, dots(&f, b, b), 1e-12);
  luc_tensor *size = luc__f1(&f, LUC_OP_sqrt, luc__f2(&f, LUC_OP_mul, size_a, size_b));
  luc_tensor *cosine = luc__f2(&f, LUC_OP_div, dots(&f, a, b), size);
  luc_tensor *alike = luc__fs(&f, LUC_OP_rsub, cosine, 1);
  luc_tensor *apart = luc__fs(&f, LUC_OP_sub, cosine, luc_as_double(&args[3]));
  apart = where_is(&f, LUC_OP_eq, target, -1, luc__fs(&f, LUC_OP_clamp_min, apart, 0));
  luc_tensor *loss = luc__f2(&f, LUC_OP_add, where_is(&f, LUC_OP_eq, target, 1, alike), apart);
  return luc__loss_result(&f, loss, &args[4], out);
}

/* ---- triplet_margin_loss ---- */

static luc_status check_triplet(luc_context *ctx, luc_value *args) {
  double margin = luc_as_double(&args[3]);
  luc_tensor *a = args[0].as.tensor, *p = args[1].as.tensor, *n = args[2].as.tensor;
  LUC_CHECK(ctx, margin > 0, LUC_ERR_VALUE,
            "triplet_margin_loss: margin must be greater than 0, got %g", margin);
  LUC_CHECK(ctx, a->ndim == p->ndim && a->ndim == n->ndim, LUC_ERR_SHAPE,
            "triplet_margin_loss: The anchor, positive, and negative tensors are expected to have "
            "the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD "
            "inputs",
            a->ndim, p->ndim, n->ndim);
  return LUC_OK;
}

/* triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, size_average, reduce,
 * reduction) */
luc_status luc__run_triplet_margin_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_triplet(ctx, args));
  luc_formula f = luc__formula(ctx);
  luc_tensor *near =
      luc__f_call(&f, LUC_OP_pairwise_distance, LUC_ARGS(args[0], args[1], args[4], args[5]));
  luc_tensor *far =
      luc__f_call(&f, LUC_OP_pairwise_distance, LUC_ARGS(args[0], args[2], args[4], args[5]));
  if (args[6].as.i) {
    luc_tensor *other =
        luc__f_call(&f, LUC_OP_pairwise_distance, LUC_ARGS(args[1], args[2], args[4], args[5]));
    far = luc__f2(&f, LUC_OP_minimum, far, other);
  }
  luc_tensor *loss = hinge(&f, luc__f2(&f, LUC_OP_sub, far, near), luc_as_double(&args[3]));
  return luc__loss_result(&f, loss, &args[7], out);
}

/* ---- multi_margin_loss, multilabel_margin_loss: [N, C] or [C] ---- */

/* Input [N, C] with `classes` of the target [N, ...], or [C]; sets rows. */
static luc_status check_rows(luc_context *ctx, const luc_tensor *input, const luc_tensor *target,
                             int64_t *rows) {
  LUC_TRY(luc__need_float(ctx, "input", input));
  if (!luc__dtype_is_int(target->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "target must hold class positions (got %s)",
                     luc__dtype_name(target->dtype));
  if (input->ndim > 2 || (input->ndim > 0 && input->sizes[input->ndim - 1] == 0))
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "expected non-empty vector or matrix with optional 0-dim batch size");
  *rows = input->ndim == 2 ? input->sizes[0] : 1;
  return LUC_OK;
}

/* multi_margin_loss(input, target, p, margin, weight, ...) of input [N, C] and targets [N, 1]. */
static luc_tensor *multi_margin(luc_formula *f, luc_value *args, luc_tensor *x, luc_value at) {
  luc_value one = luc_v_int(1);
  int64_t classes = f->status == LUC_OK ? x->sizes[1] : 1;
  luc_tensor *own = luc__f_call(f, LUC_OP_gather, LUC_ARGS(luc_v_tensor(x), one, at));
  luc_tensor *z = luc__fs(f, LUC_OP_add, luc__f2(f, LUC_OP_sub, x, own), luc_as_double(&args[3]));
  z = luc__f1(f, LUC_OP_relu, z);
  if (luc_as_double(&args[2]) == 2) z = luc__f2(f, LUC_OP_mul, z, z);
  if (!luc_is_none(&args[4])) {
    luc_tensor *line = luc__f_reshape(f, at.as.tensor, 1, (int64_t[]){-1});
    luc_tensor *w =
        luc__f_call(f, LUC_OP_index_select, LUC_ARGS(args[4], luc_v_int(0), luc_v_tensor(line)));
    z = luc__f2(f, LUC_OP_mul, z, luc__f_unsqueeze(f, w, -1));
  }
  z = luc__f_call(f, LUC_OP_scatter_value, LUC_ARGS(luc_v_tensor(z), one, at, luc_v_int(0)));
  return luc__fs(f, LUC_OP_div, luc__f_sum_dim(f, z, -1), (double)classes);
}

static luc_status check_multi_margin(luc_context *ctx, luc_value *args) {
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor, *w = luc_as_tensor(&args[4]);
  luc_tensor *dense;
  int64_t rows, p = (int64_t)luc_as_double(&args[2]);
  LUC_TRY(check_rows(ctx, x, target, &rows));
  LUC_CHECK(ctx, (double)p == luc_as_double(&args[2]) && (p == 1 || p == 2), LUC_ERR_VALUE,
            "only p == 1 and p == 2 supported (got %g)", luc_as_double(&args[2]));
  int64_t classes = x->ndim ? x->sizes[x->ndim - 1] : 1;
  if (target->ndim > 1 || target->numel != rows)
    return luc__fail_shapes(ctx, "input", x, "target", target, "inconsistent target size");
  if (w && (w->ndim != 1 || w->numel != classes))
    return luc__fail_shapes(ctx, "input", x, "weight", w, "inconsistent weight size");
  LUC_TRY(luc__as_dense(ctx, target, LUC_INT64, &dense));
  int64_t bad = luc__index_check((const int64_t *)dense->data, rows, classes, 0);
  LUC_CHECK(ctx, bad < 0, LUC_ERR_INDEX, "target out of range (classes [1, %lld])",
            (long long)classes);
  return LUC_OK;
}

/* multi_margin_loss(input, target, p, margin, weight, size_average, reduce, reduction) */
luc_status luc__run_multi_margin_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_multi_margin(ctx, args));
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor;
  bool batched = x->ndim == 2;
  int64_t line[2] = {1, x->numel};
  if (!batched) x = luc__f_reshape(&f, x, 2, line);
  int64_t column[2] = {target->numel, 1};
  luc_tensor *at = luc__f_reshape(&f, target, 2, column);
  luc_tensor *loss = multi_margin(&f, args, x, luc_v_tensor(at));
  if (target->ndim == 0) loss = luc__f_squeeze(&f, loss, 0);
  return luc__loss_result(&f, loss, &args[5], out);
}

/* multilabel_margin_loss(input, target, size_average, reduce, reduction): each line of target lists
 * the line's classes, up to the first -1. */
luc_status luc__run_multilabel_margin_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t rows;
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor;
  LUC_TRY(check_rows(ctx, x, target, &rows));
  bool same =
      x->ndim < 2 && target->ndim < 2 ? x->numel == target->numel : luc__same_sizes(x, target);
  if (!same) return luc__fail_shapes(ctx, "input", x, "target", target, "inconsistent target size");
  luc_formula f = luc__formula(ctx);
  if (x->ndim == 0) x = luc__f_unsqueeze(&f, x, 0);
  if (target->ndim == 0) target = luc__f_unsqueeze(&f, target, 0);
  luc_tensor *loss = luc__f2(&f, LUC_OP_multilabel_margin, x, target);
  return luc__loss_result(&f, loss, &args[2], out);
}

/* The row multilabel_margin(input, target): a value for each line. */
luc_status luc__run_multilabel_margin(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *at, *y;
  int64_t classes = input->sizes[input->ndim - 1], lines = input->numel / classes;
  LUC_TRY(luc__as_dense(ctx, input, LUC_FLOAT64, &x));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, LUC_INT64, &at));
  luc_margin m = {lines, classes, (const double *)x->data, (const int64_t *)at->data};
  if (!luc__margin_targets_fit(&m))
    return luc__fail(ctx, LUC_ERR_INDEX,
                     "multilabel_margin_loss: target out of range (classes [1, %lld])",
                     (long long)classes);
  LUC_TRY(luc__scratch(ctx, LUC_FLOAT64, input->ndim - 1, input->sizes, &y));
  luc__multilabel_margin(ctx, &m, (double *)y->data);
  return luc__result(ctx, out, input->dtype, y);
}

/* multilabel_margin_backward(grad, input, target) */
luc_status luc__run_multilabel_margin_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[1].as.tensor, *g, *x, *at, *dx;
  int64_t classes = input->sizes[input->ndim - 1], lines = input->numel / classes;
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, LUC_FLOAT64, &g));
  LUC_TRY(luc__as_dense(ctx, input, LUC_FLOAT64, &x));
  LUC_TRY(luc__as_dense(ctx, args[2].as.tensor, LUC_INT64, &at));
  LUC_TRY(luc__scratch_like(ctx, x, LUC_FLOAT64, &dx));
  luc_margin m = {lines, classes, (const double *)x->data, (const int64_t *)at->data};
  luc__multilabel_margin_backward(ctx, &m, (const double *)g->data, (double *)dx->data);
  return luc__result(ctx, out, input->dtype, dx);
}

luc_status luc__grad_multilabel_margin(luc_context *ctx, luc_backward *b) {
  return luc__op1(ctx, LUC_OP_multilabel_margin_backward, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1]));
}

/* Linear in grad, with the slopes of a gradient of ones; flat in input. */
luc_status luc__grad_multilabel_margin_backward(luc_context *ctx, luc_backward *b) {
  if (!luc__needs(b, 0)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  int64_t lines[LUC_MAX_DIMS];
  int ndim = luc__input_sizes(b, 0, lines);
  luc_value size = luc_v_ints(lines, ndim), x = b->args[1];
  luc_tensor *ones = luc__f_call(&f, LUC_OP_new_ones, LUC_ARGS(x, size));
  luc_tensor *slope = luc__f_call(&f, LUC_OP_multilabel_margin_backward,
                                  LUC_ARGS(luc_v_tensor(ones), x, b->args[2]));
  luc_tensor *each = luc__f2(&f, LUC_OP_mul, b->gout[0], slope);
  return luc__f_end(&f, luc__f_sum_dim(&f, each, -1), &b->gin[0]);
}
