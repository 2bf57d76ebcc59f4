/* Embedding tables and what stands beside losses: one_hot, similarities, distances. The lookup and
 * its gradient, a scatter by position, are rows; the rest are formulas of operators. */
#include "ops/compute.h"
#include "ops/embedding.h"
#include "ops/formula.h"
#include "ops/pointwise.h"
#include "ops/rows.h"

#include <math.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/embed.h"
#include "cpu/index_kernels.h"
#include "cpu/kernels.h"

/* ---- lookup: embedding_lookup(weight, indices, padding_idx, scale_grad_by_freq) ---- */

luc_status luc__embedding_check(luc_context *ctx, const luc_tensor *indices, int64_t rows) {
  const int64_t *at = (const int64_t *)indices->data;
  if (luc__kernels(ctx)->index->in_range(at, indices->numel, 0, rows)) return LUC_OK;
  int64_t bad = rows > 0 ? luc__index_check(at, indices->numel, rows, 0) : 0;
  long long shown = at[bad] + (at[bad] >= 0); /* users count from 1 */
  return luc__fail(ctx, LUC_ERR_INDEX,
                   "embedding: index %lld is out of range [1, %lld] (indices count from 1)", shown,
                   (long long)rows);
}

luc_status luc__run_embedding_lookup(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *weight = args[0].as.tensor, *indices = args[1].as.tensor;
  luc_tensor *w, *at, *y;
  luc_dtype dtype = weight->dtype;
  int64_t sizes[LUC_MAX_DIMS];
  memcpy(sizes, indices->sizes, (size_t)indices->ndim * sizeof *sizes);
  sizes[indices->ndim] = weight->sizes[1];
  w = weight;
  if (weight->strides[1] != 1) LUC_TRY(luc__as_dense(ctx, weight, dtype, &w));
  LUC_TRY(luc__as_dense(ctx, indices, LUC_INT64, &at));
  LUC_TRY(luc__embedding_check(ctx, at, weight->sizes[0]));
  LUC_TRY(luc__scratch(ctx, dtype, indices->ndim + 1, sizes, &y));
  if (y->numel > 0)
    LUC_TRY(luc__embedding(ctx, dtype, at->numel, w->sizes[1], w->data, w->strides[0],
                           (const int64_t *)at->data, y->data));
  out[0] = luc_v_tensor(luc__retain(y));
  return LUC_OK;
}

luc_status luc__grad_embedding_lookup(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  luc__input_sizes(b, 0, sizes);
  return luc__op1(
      ctx, LUC_OP_embedding_backward, &b->gin[0],
      LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], luc_v_int(sizes[0]), b->args[2], b->args[3]));
}

/* The gradient of a table of which few rows were looked up. */
static luc_status backward_of_few(luc_context *ctx, const luc_lookups *l, int64_t rows,
                                  luc_tensor **out) {
  luc_tensor *list, *sums;
  int64_t count;
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &l->n, &list));
  LUC_TRY(luc__scratch(ctx, luc__compute_dtype(l->dtype), 2, (int64_t[]){l->n, l->dim}, &sums));
  int64_t *at = (int64_t *)list->data;
  LUC_TRY(luc__embedding_rows(ctx, l, at, &count, sums->data));
  LUC_TRY(luc__as_dense(ctx, sums, l->dtype, &sums));
  return luc__tensor_of_rows(ctx, l->dtype, rows, l->dim, at, count, sums->data, out);
}

luc_status luc__known_rows(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  const luc_rows *rows = luc__rows_of(t);
  *out = NULL;
  if (!rows || rows->n == 0) return LUC_OK;
  const luc_dtype dtype = (luc_dtype)t->dtype;
  LUC_TRY(luc__tensor_empty(ctx, dtype, 2, (int64_t[]){rows->n, t->sizes[1]}, out));
  return luc__embedding(ctx, dtype, rows->n, t->sizes[1], t->data, t->strides[0], rows->at,
                        (*out)->data);
}

luc_status luc__scale(luc_context *ctx, luc_tensor *t, luc_tensor *factor) {
  const luc_rows *rows = luc__rows_of(t);
  double value = NAN;
  if (rows) LUC_TRY(luc_tensor_item(ctx, factor, &value));
  if (!isfinite(value)) /* of zeros it would make NaN */
    return luc_call_inplace(ctx, LUC_OP_mul, LUC_ARGS(luc_v_tensor(t), luc_v_tensor(factor)));
  luc__scale_rows(ctx, (luc_dtype)t->dtype, t->sizes[1], t->data, value, rows->at, rows->n);
  luc__keep_rows(t);
  return LUC_OK;
}

/* embedding_backward(grad, indices, rows, padding_idx, scale_grad_by_freq) */
luc_status luc__run_embedding_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *dy, *at, *dw = NULL;
  luc_dtype dtype = grad->dtype, compute = luc__compute_dtype(dtype);
  int64_t rows = args[2].as.i;
  if (luc__dtype_is_complex(dtype))
    return luc__by_parts(ctx, LUC_OP_embedding_backward, args, 5, out);
  const bool as_is = luc__dtype_is_float(dtype);
  LUC_TRY(luc__as_dense(ctx, grad, as_is ? dtype : compute, &dy));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, LUC_INT64, &at));
  const luc_lookups l = {.dtype = dy->dtype,
                         .scale_by_freq = args[4].as.i != 0,
                         .n = at->numel,
                         .dim = grad->sizes[grad->ndim - 1],
                         .padding = args[3].as.i,
                         .indices = (const int64_t *)at->data,
                         .dy = dy->data};
  if (as_is && l.n <= rows / 4) {
    LUC_TRY(luc__held(ctx, backward_of_few(ctx, &l, rows, &dw), &dw));
  } else {
    LUC_TRY(luc__scratch(ctx, compute, 2, (int64_t[]){rows, l.dim}, &dw));
    LUC_TRY(luc__embedding_backward(ctx, &l, rows, dw->data));
  }
  return luc__result(ctx, out, dtype, dw);
}

/* The lookup of what comes to the table: scale_grad_by_freq scales first gradients alone. */
luc_status luc__grad_embedding_backward(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  int64_t padding = b->args[3].as.i;
  luc_tensor *rows =
      luc__f_call(&f, LUC_OP_embedding_lookup,
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[3], luc_v_bool(false)));
  if (padding >= 0) {
    luc_tensor *unused = luc__f_call(&f, LUC_OP_eq, LUC_ARGS(b->args[1], luc_v_int(padding)));
    unused = luc__f_unsqueeze(&f, unused, -1);
    rows = luc__f_fill(&f, rows, unused, 0);
  }
  return luc__f_end(&f, rows, &b->gin[0]);
}

/* ---- embedding ---- */

luc_status luc__embedding_renorm(luc_context *ctx, luc_tensor *weight, luc_tensor *indices,
                                 double max_norm, luc_value norm_type) {
  luc_formula f = luc__formula(ctx);
  bool recording = ctx->grad_mode;
  ctx->grad_mode = false;
  luc_tensor *at = luc__f_reshape(&f, indices, 1, (int64_t[]){-1}), *scale;
  luc_tensor *rows =
      luc__f_call(&f, LUC_OP_embedding_lookup,
                  LUC_ARGS(luc_v_tensor(weight), luc_v_tensor(at), luc_v_int(-1), luc_v_bool(0)));
  luc_tensor *norm = luc__f_call(
      &f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(rows), norm_type, luc_v_int(1), luc_v_bool(true)));
  luc_tensor *fits = luc__f1(&f, LUC_OP_logical_not, luc__fs(&f, LUC_OP_gt, norm, max_norm));
  scale = luc__f1(&f, LUC_OP_reciprocal, luc__fs(&f, LUC_OP_add, norm, 1e-7));
  scale = luc__fs(&f, LUC_OP_mul, scale, max_norm);
  scale = luc__f_fill(&f, scale, fits, 1);
  rows = luc__f2(&f, LUC_OP_mul, rows, scale);
  if (f.status == LUC_OK)
    f.status = luc_call_inplace(
        ctx, LUC_OP_index_copy,
        LUC_ARGS(luc_v_tensor(weight), luc_v_int(0), luc_v_tensor(at), luc_v_tensor(rows)));
  ctx->grad_mode = recording;
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__embedding_padding(luc_context *ctx, const luc_value *given, int64_t rows,
                                  int64_t *out) {
  if (luc_is_none(given)) return LUC_OK;
  luc_status status = luc__index_wrap(ctx, given->as.i, rows, out);
  return status == LUC_OK ? status : luc__failed_as(ctx, status, "embedding: padding_idx");
}

/* embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse). Gradients
 * are tables, with sparse too. */
luc_status luc__run_embedding(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *weight = args[1].as.tensor;
  int64_t padding = -1;
  if (weight->ndim != 2 || input->ndim >= LUC_MAX_DIMS)
    return luc__fail_shapes(ctx, "input", input, "weight", weight,
                            "weight must be [num_embeddings, embedding_dim]");
  if (!luc__dtype_is_int(input->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "input must hold positions (got %s)",
                     luc__dtype_name(input->dtype));
  LUC_TRY(luc__embedding_padding(ctx, &args[2], weight->sizes[0], &padding));
  if (!luc_is_none(&args[3]))
    LUC_TRY(luc__embedding_renorm(ctx, weight, input, luc_as_double(&args[3]), args[4]));
  return luc_call(ctx, LUC_OP_embedding_lookup,
                  LUC_ARGS(args[1], args[0], luc_v_int(padding), args[5]), out);
}

/* ---- one_hot ---- */

static luc_status count_classes(luc_context *ctx, const int64_t *at, int64_t n, int64_t *classes) {
  int64_t most = -1;
  for (int64_t i = 0; i < n; i++) {
    LUC_CHECK(ctx, at[i] >= 0, LUC_ERR_INDEX, "one_hot: classes must be positive (got %lld)",
              (long long)at[i]);
    if (at[i] > most) most = at[i];
  }
  LUC_CHECK(ctx, *classes != -1 || n > 0, LUC_ERR_VALUE,
            "one_hot: num_classes is needed for an empty tensor");
  LUC_CHECK(ctx, *classes == -1 || most < *classes, LUC_ERR_INDEX,
            "one_hot: class %lld is out of range [1, %lld]", (long long)most + 1,
            (long long)*classes);
  if (*classes == -1) *classes = most + 1;
  return LUC_OK;
}

/* one_hot(tensor, num_classes) */
luc_status luc__run_one_hot(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *dense, *y;
  int64_t sizes[LUC_MAX_DIMS], classes = args[1].as.i;
  if (!luc__dtype_is_int(input->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "tensor must hold class positions (got %s)",
                     luc__dtype_name(input->dtype));
  LUC_CHECK(ctx, classes == -1 || classes > 0, LUC_ERR_VALUE,
            "num_classes must be positive, or -1 (got %lld)", (long long)classes);
  LUC_CHECK(ctx, input->ndim < LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensor has too many dimensions");
  LUC_TRY(luc__as_dense(ctx, input, LUC_INT64, &dense));
  const int64_t *at = (const int64_t *)dense->data;
  LUC_TRY(count_classes(ctx, at, dense->numel, &classes));
  memcpy(sizes, input->sizes, (size_t)input->ndim * sizeof *sizes);
  sizes[input->ndim] = classes;
  LUC_TRY(luc__scratch(ctx, LUC_INT64, input->ndim + 1, sizes, &y));
  LUC_TRY(luc__fill(ctx, y, (luc_scalar){LUC_SCALAR_INT, {.i = 0}}));
  for (int64_t i = 0; i < dense->numel; i++) ((int64_t *)y->data)[i * classes + at[i]] = 1;
  out[0] = luc_v_tensor(luc__retain(y));
  return LUC_OK;
}

/* ---- similarities and distances ---- */

/* max(norm, eps), whose gradient along x is x over it also below eps, as PyTorch's: there it is the
 * hypotenuse of norm and of what norm lacks, sqrt(eps^2 - norm^2), as a number. */
static luc_tensor *norm_above(luc_formula *f, luc_tensor *norm, double eps) {
  if (norm && !luc__wants_gradient(f->ctx, norm)) return luc__fs(f, LUC_OP_clamp_min, norm, eps);
  luc_tensor *low = luc__fs(f, LUC_OP_clamp_max, norm, eps),
             *plain = luc__f1(f, LUC_OP_detach, low);
  luc_tensor *difference = luc__f1(f, LUC_OP_sqrt, luc__fs(f, LUC_OP_rsub, plain, eps));
  luc_tensor *sum = luc__f1(f, LUC_OP_sqrt, luc__fs(f, LUC_OP_add, plain, eps));
  low = luc__f2(f, LUC_OP_hypot, low, luc__f2(f, LUC_OP_mul, difference, sum));
  return luc__f_where(f, luc__fs(f, LUC_OP_gt, norm, eps), norm, low);
}

/* cosine_similarity(x1, x2, dim, eps): both norms are kept from being below eps. */
luc_status luc__run_cosine_similarity(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x[2] = {args[0].as.tensor, args[1].as.tensor}, *unit[2];
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "the common dtype must be a floating point one (got %s)", luc__dtype_name(dtype));
  luc_formula f = luc__formula(ctx);
  int ndim;
  int64_t sizes[LUC_MAX_DIMS], dim = args[2].as.i;
  LUC_TRY(luc__broadcast(ctx, x[0], x[1], &ndim, sizes));
  for (int i = 0; i < 2; i++) {
    luc_tensor *full = luc__f_expand(&f, luc__f_to(&f, x[i], dtype), ndim, sizes);
    luc_tensor *norm = luc__f_call(
        &f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(full), luc_v_float(2), args[2], luc_v_bool(true)));
    norm = norm_above(&f, norm, fabs(luc_as_double(&args[3]))); /* its square counts */
    unit[i] = luc__f2(&f, LUC_OP_div, full, norm);
  }
  luc_tensor *dot = luc__f_sum_dim(&f, luc__f2(&f, LUC_OP_mul, unit[0], unit[1]), dim);
  return luc__f_result(&f, dot, out);
}

/* pairwise_distance(x1, x2, p, eps, keepdim): over the last dimension, eps added to differences. */
luc_status luc__run_pairwise_distance(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *d = luc__f2(&f, LUC_OP_sub, args[0].as.tensor, args[1].as.tensor);
  d = luc__fs(&f, LUC_OP_add, d, luc_as_double(&args[3]));
  d = luc__f_call(&f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(d), args[2], luc_v_int(-1), args[4]));
  return luc__f_result(&f, d, out);
}
