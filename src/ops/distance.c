/* Norms, distances and log-sum-exp. */
#include <math.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/distance.h"
#include "ops/compute.h"
#include "ops/pointwise.h"
#include "ops/reduction.h"

/* ---- norm ---- */

static luc_dtype norm_dtype(const luc_tensor *t, const luc_value *dtype) {
  return dtype->kind == LUC_DTYPE ? (luc_dtype)dtype->as.i : t->dtype;
}

/* Of one element each: its size. */
static luc_status norm_of_one(luc_context *ctx, const luc_value *args, const luc_dims *dims,
                              luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  const luc_dtype dtype = norm_dtype(x, &args[4]);
  if (x->dtype != dtype) x = luc__f_to(&f, x, dtype);
  x = luc__f_reshape(&f, luc__f1(&f, LUC_OP_abs, x), dims->ndim, dims->sizes);
  return luc__f_result(&f, x, out);
}

/* (sum |x|^p)^(1/p), made of operators; of halves, whose powers soon overflow, in floats. */
static luc_status norm_general(luc_context *ctx, const luc_value *args, double p, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_dtype dtype = norm_dtype(x, &args[4]);
  luc_dtype wide = luc__compute_dtype(dtype);
  if (x->dtype != wide) x = luc__f_to(&f, x, wide);
  luc_tensor *powers = luc__fs(&f, LUC_OP_pow, luc__f1(&f, LUC_OP_abs, x), p);
  luc_tensor *sum = luc__f_call(&f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(powers), args[2], args[3]));
  luc_tensor *root = luc__fs(&f, LUC_OP_pow, sum, 1 / p);
  return luc__f_result(&f, wide == dtype ? root : luc__f_to(&f, root, dtype), out);
}

static luc_status norm_infinite(luc_context *ctx, const luc_value *args, double p, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_dtype dtype = norm_dtype(x, &args[4]);
  if (x->dtype != dtype) x = luc__f_to(&f, x, dtype);
  luc_opid op = p > 0 ? LUC_OP_amax : LUC_OP_amin;
  luc_tensor *size = luc__f1(&f, LUC_OP_abs, x);
  return luc__f_result(&f, luc__f_call(&f, op, LUC_ARGS(luc_v_tensor(size), args[2], args[3])),
                       out);
}

/* Of the absolute values. */
static luc_status norm_complex(luc_context *ctx, const luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_value real[5] = {args[0], args[1], args[2], args[3], args[4]};
  if (real[4].kind == LUC_DTYPE) {
    const luc_dtype dtype = luc__dtype_to_real((luc_dtype)args[4].as.i);
    real[4] = luc_v_dtype(dtype);
    if (dtype == LUC_FLOAT64) x = luc__f_to(&f, x, LUC_COMPLEX128);
  }
  real[0] = luc_v_tensor(luc__f1(&f, LUC_OP_abs, x));
  if (f.status == LUC_OK) f.status = luc__run_norm(ctx, real, out);
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__run_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  if (luc__dtype_is_complex(t->dtype)) return norm_complex(ctx, args, out);
  luc_dtype dtype = norm_dtype(t, &args[4]);
  double p = luc_as_double(&args[1]);
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "needs a floating point input or dtype (got %s)", luc__dtype_name(dtype));
  bool simple = p == 0 || p == 1 || p == 2;
  luc_dims dims;
  luc_rd op = p == 0 ? LUC_RD_count : p == 1 ? LUC_RD_sumabs : LUC_RD_sumsq;
  if (!simple && isinf(p)) return norm_infinite(ctx, args, p, out);
  LUC_TRY(luc__dims(ctx, t, &args[2], args[3].as.i, &dims));
  LUC_CHECK(ctx, p >= 0 || dims.count > 0, LUC_ERR_VALUE,
            "cannot compute the %g norm of nothing: it has no identity", p);
  if (dims.count == 1 && p > 0) return norm_of_one(ctx, args, &dims, out);
  if (!simple) return norm_general(ctx, args, p, out);
  return luc__reduce_to(ctx, op, t, &dims, dtype, dtype, 1, p == 2, out);
}

/* x |x|^(p-2) g / y^(p-1), flat where y is zero. */
static luc_tensor *norm_slope(luc_formula *f, luc_tensor *x, luc_tensor *y, luc_tensor *g,
                              double p) {
  if (p == 1) return luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sgn, x), g);
  luc_tensor *flat = luc__fs(f, LUC_OP_eq, y, 0);
  if (p == 2 && luc__recording(f->ctx)) { /* 0 / 0 stays in it: at zero its slope is NaN */
    luc_tensor *share = luc__f_where(f, flat, NULL, luc__f2(f, LUC_OP_div, x, y));
    return luc__f2(f, LUC_OP_mul, share, g);
  }
  if (p == 2) {
    luc_value v = luc_v_tensor(y), mask = luc_v_tensor(flat), no = luc_v_float(INFINITY);
    y = luc__f_call(f, LUC_OP_masked_fill, LUC_ARGS(v, mask, no));
    return luc__f2(f, LUC_OP_mul, luc__f2(f, LUC_OP_div, x, y), g);
  }
  y = luc__f2(f, LUC_OP_add, y, flat);
  /* Zeros become ones before their powers: the slope of a power may be infinite there. */
  luc_tensor *sign = luc__f1(f, LUC_OP_sgn, x), *size = luc__f1(f, LUC_OP_abs, x);
  luc_tensor *zero = luc__fs(f, LUC_OP_eq, x, 0);
  luc_tensor *power = luc__fs(f, LUC_OP_pow, luc__f2(f, LUC_OP_add, size, zero), p - 1);
  power = luc__f_where(f, zero, NULL, power);
  luc_tensor *share = luc__f2(f, LUC_OP_div, g, luc__fs(f, LUC_OP_pow, y, p - 1));
  share = luc__f_where(f, flat, NULL, share);
  return luc__f2(f, LUC_OP_mul, luc__f2(f, LUC_OP_mul, sign, power), share);
}

/* All that reach the extreme share its gradient. */
static luc_tensor *infinite_slope(luc_formula *f, luc_tensor *x, luc_tensor *y, luc_tensor *g,
                                  const luc_value *dim) {
  luc_tensor *equal = luc__f2(f, LUC_OP_eq, luc__f1(f, LUC_OP_abs, x), y);
  luc_tensor *count =
      luc__f_call(f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(equal), *dim, luc_v_bool(true)));
  luc_tensor *share = luc__f2(f, LUC_OP_div, g, count);
  luc_tensor *whole = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sgn, x), share);
  return luc__f_where(f, equal, whole, NULL);
}

luc_status luc__grad_norm(luc_context *ctx, luc_backward *b) {
  double p = luc_as_double(&b->args[1]);
  if (p == 0) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = b->args[0].as.tensor;
  luc_value list = b->args[2].kind == LUC_INT ? luc_v_ints(&b->args[2].as.i, 1) : b->args[2];
  bool keepdim = b->args[3].as.i != 0;
  luc_tensor *g = luc__f_unreduce(&f, b, b->gout[0], &list, keepdim);
  luc_tensor *y = luc__f_unreduce(&f, b, b->results[0], &list, keepdim);
  luc_tensor *slope = isinf(p) ? infinite_slope(&f, x, y, g, &list) : norm_slope(&f, x, y, g, p);
  return luc__f_end(&f, slope, &b->gin[0]);
}

/* norm(input, "fro" or "nuc", …) */
luc_status luc__run_norm_named(luc_context *ctx, luc_value *args, luc_value *out) {
  int nuclear;
  LUC_TRY(luc__choice(ctx, "p", "fro|nuc", args[1].as.string, &nuclear));
  if (nuclear) {
    int ndim = args[0].as.tensor->ndim;
    LUC_CHECK(ctx, ndim == 2 || !luc_is_none(&args[2]), LUC_ERR_SHAPE,
              "expected a tensor with 2 dimensions, but got a tensor with %d dimensions", ndim);
    LUC_CHECK(ctx, luc_is_none(&args[4]), LUC_ERR_VALUE,
              "dtype argument is not supported in nuclear norm");
    luc_formula f = luc__formula(ctx);
    luc_value rows_columns = luc_v_ints((int64_t[]){0, 1}, 2);
    luc_value dim = luc_is_none(&args[2]) ? rows_columns : args[2];
    luc_tensor *r =
        luc__f_call(&f, LUC_OP_linalg_matrix_norm, LUC_ARGS(args[0], args[1], dim, args[3]));
    return luc__f_result(&f, r, out);
  }
  luc_value all[LUC_MAX_PARAMS] = {args[0], luc_v_int(2), args[2], args[3], args[4]};
  return luc_call(ctx, LUC_OP_norm, all, 5, out);
}

luc_status luc__run_dist(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *apart = luc__f2(&f, LUC_OP_sub, args[0].as.tensor, args[1].as.tensor);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(apart), args[2])),
                       out);
}

/* ---- cdist ---- */

static luc_status check_cdist(luc_context *ctx, const luc_tensor *x1, const luc_tensor *x2,
                              double p) {
  LUC_TRY(luc__need_float(ctx, "x1", x1));
  LUC_TRY(luc__match_dtype(ctx, "x1", x1, "x2", x2));
  LUC_CHECK(ctx, p >= 0, LUC_ERR_VALUE, "cdist: only supports non-negative p values (got %g)", p);
  if (x1->ndim < 2 || x2->ndim < 2)
    return luc__fail_shapes(ctx, "x1", x1, "x2", x2, "only supports at least 2D tensors");
  if (x1->sizes[x1->ndim - 1] == x2->sizes[x2->ndim - 1]) return LUC_OK;
  return luc__fail_shapes(ctx, "x1", x1, "x2", x2,
                          "X1 and X2 must have the same number of columns");
}

/* x expanded to the batch's sizes, dense. */
static luc_status batch_of(luc_context *ctx, luc_tensor *x, int batch, int64_t *sizes,
                           luc_tensor **out) {
  memcpy(sizes + batch, x->sizes + x->ndim - 2, 2 * sizeof *sizes);
  luc_tensor *wide = NULL;
  luc_value shape = luc_v_ints(sizes, batch + 2);
  LUC_TRY(luc__op1(ctx, LUC_OP_expand, &wide, LUC_ARGS(luc_v_tensor(x), shape)));
  luc_status status = luc__dense(ctx, wide, luc__compute_dtype(x->dtype), out);
  luc_tensor_release(ctx, wide);
  return status;
}

/* x [..., others, m] turned, its rows an odd number of cache lines apart: as many rows are read one
 * after another, they should not meet in few places of the cache. */
static luc_status turn_rows(luc_context *ctx, const luc_tensor *x, int64_t batch,
                            luc_tensor **out) {
  enum { LINE = 16 };
  int64_t others = x->sizes[x->ndim - 2], m = x->sizes[x->ndim - 1];
  int64_t pitch = ((others + LINE - 1) / LINE | 1) * LINE;
  LUC_TRY(luc__tensor_empty(ctx, x->dtype, 3, (int64_t[]){batch, m, pitch}, out));
  luc_tensor to = **out, from = *x; /* only their shapes and data are used */
  to.sizes[2] = others;
  to.numel = x->numel;
  from.ndim = 3;
  memcpy(from.sizes, to.sizes, 3 * sizeof *to.sizes);
  from.strides[0] = m * others, from.strides[1] = 1, from.strides[2] = m;
  return luc__copy(ctx, &to, &from);
}

/* Distances by the kernel. */
static luc_status by_differences(luc_context *ctx, luc_cdist *job, luc_tensor *x1, luc_tensor *x2,
                                 luc_tensor *y) {
  luc_tensor *turned = NULL;
  luc_status status = turn_rows(ctx, x2, job->batch, &turned);
  job->dtype = x1->dtype;
  job->rows = x1->sizes[x1->ndim - 2], job->others = x2->sizes[x2->ndim - 2];
  job->m = x1->sizes[x1->ndim - 1];
  if (status == LUC_OK) {
    job->pitch = turned->sizes[2];
    job->x1 = x1->data, job->x2 = turned->data, job->out = y->data;
    luc__cdist(ctx, job);
  }
  luc_tensor_release(ctx, turned);
  return status;
}

/* Up to so many, differences take less time than what surrounds a product, and lose no digits. */
enum { FEW_FEATURES = 24 };

static void write_over(luc_formula *f, luc_opid op, luc_tensor *y, luc_value by) {
  if (f->status == LUC_OK) f->status = luc_call_inplace(f->ctx, op, LUC_ARGS(luc_v_tensor(y), by));
}

/* sqrt(|a|^2 + |b|^2 - 2 ab), which a matrix product gives; what follows it is done in place. */
static luc_status by_product(luc_context *ctx, luc_tensor *x1, luc_tensor *x2, luc_tensor **out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = luc__f_sum_keepdim(&f, luc__f1(&f, LUC_OP_square, x1), -1);
  luc_tensor *b = luc__f_sum_keepdim(&f, luc__f1(&f, LUC_OP_square, x2), -1);
  b = luc__f_transpose(&f, b, -1, -2);
  luc_tensor *twice = luc__fs(&f, LUC_OP_mul, x1, -2);
  luc_tensor *y = luc__f2(&f, LUC_OP_matmul, twice, luc__f_transpose(&f, x2, -1, -2));
  write_over(&f, LUC_OP_add, y, luc_v_tensor(a));
  write_over(&f, LUC_OP_add, y, luc_v_tensor(b));
  write_over(&f, LUC_OP_clamp_min, y, luc_v_int(0));
  if (f.status == LUC_OK) f.status = luc_call_inplace(ctx, LUC_OP_sqrt, LUC_ARGS(luc_v_tensor(y)));
  return luc__f_end(&f, y, out);
}

static const char *const cdist_modes[] = {"use_mm_for_euclid_dist_if_necessary",
                                          "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"};

static luc_status cdist_mode(luc_context *ctx, const luc_value *mode, int *which) {
  for (*which = 0; *which < 3; ++*which)
    if (luc_is_none(mode) ? *which == 0 : !strcmp(mode->as.string, cdist_modes[*which]))
      return LUC_OK;
  return luc__fail(ctx, LUC_ERR_VALUE, "cdist: %s is not a valid value for compute_mode",
                   mode->as.string);
}

luc_status luc__run_cdist(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x1 = args[0].as.tensor, *x2 = args[1].as.tensor, *a, *b, *y = NULL;
  double p = luc_as_double(&args[2]);
  int mode, batch;
  int64_t sizes[LUC_MAX_DIMS + 2];
  LUC_TRY(check_cdist(ctx, x1, x2, p));
  LUC_TRY(cdist_mode(ctx, &args[3], &mode));
  int64_t rows = x1->sizes[x1->ndim - 2], others = x2->sizes[x2->ndim - 2];
  luc_tensor lead1 = *x1, lead2 = *x2; /* only their shapes are used */
  lead1.ndim -= 2, lead2.ndim -= 2;
  luc_value leads[2] = {luc_v_tensor(&lead1), luc_v_tensor(&lead2)};
  LUC_TRY(luc__broadcast_operands(ctx, leads, 2, &batch, sizes));
  LUC_TRY(luc__held(ctx, batch_of(ctx, x1, batch, sizes, &a), &a));
  LUC_TRY(luc__held(ctx, batch_of(ctx, x2, batch, sizes, &b), &b));
  const bool many = (rows > 25 || others > 25) && x1->sizes[x1->ndim - 1] > FEW_FEATURES;
  const bool large = mode == 1 || (mode == 0 && many);
  if (p == 2 && large && a->numel && b->numel) {
    LUC_TRY(luc__held(ctx, by_product(ctx, a, b, &y), &y));
  } else {
    sizes[batch] = rows, sizes[batch + 1] = others;
    LUC_TRY(luc__scratch(ctx, a->dtype, batch + 2, sizes, &y));
    luc_cdist job = {.p = p, .batch = luc__product(batch, sizes)};
    LUC_TRY(by_differences(ctx, &job, a, b, y));
  }
  return luc__result(ctx, out, x1->dtype, y);
}

/* For p = 2: x1 times the sums of g / distance over the others, less the others weighted so. */
static luc_tensor *euclidean_slope(luc_formula *f, luc_tensor *x, luc_tensor *other,
                                   luc_tensor *share) {
  luc_tensor *own = luc__f2(f, LUC_OP_mul, x, luc__f_sum_keepdim(f, share, -1));
  return luc__f2(f, LUC_OP_sub, own, luc__f2(f, LUC_OP_matmul, share, other));
}

static luc_status grad_euclidean(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x1 = b->args[0].as.tensor, *x2 = b->args[1].as.tensor, *y = b->results[0];
  y = luc__f_fill(&f, y, luc__fs(&f, LUC_OP_eq, y, 0), INFINITY);
  luc_tensor *share = luc__f2(&f, LUC_OP_div, b->gout[0], y);
  if (luc__needs(b, 0)) luc__f_keep(&f, euclidean_slope(&f, x1, x2, share), &b->gin[0]);
  luc_tensor *turned = luc__f_transpose(&f, share, -1, -2);
  if (luc__needs(b, 1)) luc__f_keep(&f, euclidean_slope(&f, x2, x1, turned), &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* For p = 1 or infinity: the gradient of input i by the kernel. */
static luc_status slope_by_kernel(luc_context *ctx, luc_backward *b, int i, double p) {
  luc_status status;
  const luc_tensor *y = b->results[0];
  luc_tensor *x[2] = {NULL, NULL}, *distances = NULL, *g = NULL;
  int64_t sizes[LUC_MAX_DIMS], rows = y->sizes[y->ndim - 2], others = y->sizes[y->ndim - 1];
  luc_cdist_slope job = {.dtype = y->dtype, .largest = isinf(p), .batch = 1};
  for (int d = 0; d < y->ndim - 2; d++) job.batch *= sizes[d] = y->sizes[d];
  for (int k = 0; k < 2; k++)
    LUC_GO(batch_of(ctx, b->args[k].as.tensor, y->ndim - 2, sizes, &x[k]));
  LUC_GO(luc__dense(ctx, b->gout[0], job.dtype, &g));
  LUC_GO(luc__dense(ctx, b->results[0], job.dtype, &distances));
  LUC_GO(luc__tensor_empty_like(ctx, x[i], job.dtype, &b->gin[i]));
  job.rows = i ? others : rows, job.others = i ? rows : others;
  job.by_row = i ? 1 : others, job.by_other = i ? others : 1;
  job.m = x[0]->sizes[y->ndim - 1];
  job.x1 = x[i]->data, job.x2 = x[1 - i]->data;
  job.g = g->data, job.y = distances->data, job.out = b->gin[i]->data;
  luc__cdist_slope(ctx, &job);
done:
  LUC_RELEASE(ctx, x[0], x[1], g, distances);
  return status;
}

/* The slopes of all differences [..., rows, others, m]. */
static luc_tensor *all_slopes(luc_formula *f, luc_backward *b, double p) {
  luc_tensor *x1 = luc__f_unsqueeze(f, b->args[0].as.tensor, -2);
  luc_tensor *x2 = luc__f_unsqueeze(f, b->args[1].as.tensor, -3);
  luc_tensor *apart = luc__f2(f, LUC_OP_sub, x1, x2);
  luc_tensor *y = luc__f_unsqueeze(f, b->results[0], -1);
  luc_tensor *g = luc__f_unsqueeze(f, b->gout[0], -1);
  if (!isinf(p)) return norm_slope(f, apart, y, g, p);
  /* each that reaches the distance has the whole gradient, as in PyTorch */
  luc_tensor *reach = luc__f2(f, LUC_OP_eq, luc__f1(f, LUC_OP_abs, apart), y);
  luc_tensor *whole = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sign, apart), g);
  return luc__f_where(f, reach, whole, NULL);
}

luc_status luc__grad_cdist(luc_context *ctx, luc_backward *b) {
  double p = luc_as_double(&b->args[2]);
  for (int i = 0; i < 2 && p == 0; i++)
    if (luc__needs(b, i))
      LUC_TRY(luc__unary(ctx, LUC_OP_zeros_like, b->args[i].as.tensor, &b->gin[i]));
  if (p == 0) return LUC_OK;
  if (p == 2) return grad_euclidean(ctx, b);
  luc_dtype dtype = b->results[0]->dtype;
  bool kernel = (p == 1 || isinf(p)) && luc__compute_dtype(dtype) == dtype;
  if (kernel && !luc__recording(ctx) && !ctx->batched) {
    for (int i = 0; i < 2; i++)
      if (luc__needs(b, i)) LUC_TRY(slope_by_kernel(ctx, b, i, p));
    return LUC_OK;
  }
  luc_formula f = luc__formula(ctx);
  luc_tensor *slope = all_slopes(&f, b, p);
  for (int i = 0; i < 2; i++) {
    if (!luc__needs(b, i)) continue;
    luc_tensor *sum = luc__f_sum_dim(&f, slope, i ? -3 : -2);
    luc__f_keep(&f, i ? luc__f1(&f, LUC_OP_neg, sum) : sum, &b->gin[i]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* ---- pdist: the distances of all pairs of rows, in the order of the upper triangle ---- */

luc_status luc__run_pdist(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *rows, *y;
  double p = luc_as_double(&args[1]);
  LUC_TRY(luc__need_float(ctx, "input", x));
  if (x->ndim != 2)
    return luc__fail_shapes(ctx, "input", x, NULL, NULL, "only supports 2D tensors, got: %dD",
                            x->ndim);
  LUC_CHECK(ctx, p >= 0, LUC_ERR_VALUE, "only supports non-negative p values (got %g)", p);
  int64_t n = x->sizes[0], pairs = n > 0 ? n * (n - 1) / 2 : 0;
  luc_cdist job = {.p = p, .batch = 1, .after = true};
  LUC_TRY(luc__as_dense(ctx, x, luc__compute_dtype(x->dtype), &rows));
  LUC_TRY(luc__scratch(ctx, rows->dtype, 1, &pairs, &y));
  if (pairs > 0) LUC_TRY(by_differences(ctx, &job, rows, rows, y));
  return luc__result(ctx, out, x->dtype, y);
}

/* A symmetric matrix, zero on its diagonal, of the elements of pairs; at: triu_indices. */
static luc_tensor *of_pairs(luc_formula *f, luc_tensor *pairs, luc_tensor *at, int64_t n) {
  luc_tensor *flat =
      luc__f_call(f, LUC_OP_new_zeros,
                  LUC_ARGS(luc_v_tensor(pairs), luc_v_ints((int64_t[]){n * n}, 1), luc_v_none()));
  flat = luc__f_call(
      f, LUC_OP_index_copy,
      LUC_ARGS(luc_v_tensor(flat), luc_v_int(0), luc_v_tensor(at), luc_v_tensor(pairs)));
  luc_tensor *half = luc__f_reshape(f, flat, 2, (int64_t[]){n, n});
  return luc__f2(f, LUC_OP_add, half, luc__f_transpose(f, half, 0, 1));
}

/* That of cdist(x, x) with every pair on both sides of the diagonal, by the rows alone. */
luc_status luc__grad_pdist(luc_context *ctx, luc_backward *b) {
  luc_status status;
  luc_tensor *x = b->args[0].as.tensor, *y = NULL, *g = NULL;
  int64_t n = x->sizes[0];
  luc_formula f = luc__formula(ctx);
  luc_tensor *places =
      luc__f_call(&f, LUC_OP_triu_indices, LUC_ARGS(luc_v_int(n), luc_v_int(n), luc_v_int(1)));
  luc_tensor *row =
      luc__f_call(&f, LUC_OP_select, LUC_ARGS(luc_v_tensor(places), luc_v_int(0), luc_v_int(0)));
  luc_tensor *column =
      luc__f_call(&f, LUC_OP_select, LUC_ARGS(luc_v_tensor(places), luc_v_int(0), luc_v_int(1)));
  luc_tensor *start = luc__f_call(&f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(row), luc_v_int(n)));
  luc_tensor *at = luc__f2(&f, LUC_OP_add, start, column);
  luc__f_keep(&f, of_pairs(&f, b->results[0], at, n), &y);
  luc__f_keep(&f, of_pairs(&f, b->gout[0], at, n), &g);
  LUC_GO(luc__f_end(&f, NULL, NULL));
  luc_value args[4] = {b->args[0], b->args[0], b->args[1], luc_v_none()};
  luc_tensor *gin[4] = {NULL};
  luc_backward pairs = {.node = b->node, .args = args, .results = &y, .gout = &g, .gin = gin};
  status = luc__grad_cdist(ctx, &pairs);
  b->gin[0] = gin[0];
done:
  LUC_RELEASE(ctx, y, g);
  return status;
}

/* ---- renorm ---- */

/* Parts along dim whose norm is above maxnorm are scaled down to it. */
luc_status luc__run_renorm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  double p = luc_as_double(&args[1]), most = luc_as_double(&args[3]);
  int d, n = 0;
  int64_t others[LUC_MAX_DIMS];
  const bool complex = luc__dtype_is_complex(x->dtype);
  if (!complex) LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_CHECK(ctx, p > 0, LUC_ERR_VALUE, "non-positive-norm not supported (got p %g)", p);
  LUC_CHECK(ctx, x->ndim > 1, LUC_ERR_SHAPE, "input needs at least 2 dimensions, got %d dimensions",
            x->ndim);
  LUC_CHECK(ctx, most >= 0, LUC_ERR_VALUE, "expected maxnorm to be >= 0 but got %g", most);
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, x->ndim, &d));
  for (int i = 0; i < x->ndim; i++)
    if (i != d) others[n++] = i;
  luc_formula f = luc__formula(ctx);
  luc_value dims = luc_v_ints(others, n), one = luc_v_int(1);
  luc_tensor *wide = complex ? x : luc__f_to(&f, x, luc__compute_dtype(x->dtype));
  luc_tensor *norm =
      luc__f_call(&f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(wide), args[1], dims, luc_v_bool(true)));
  luc_tensor *inverse = luc__f1(&f, LUC_OP_reciprocal, luc__fs(&f, LUC_OP_add, norm, 1e-7));
  luc_value above = luc_v_tensor(luc__fs(&f, LUC_OP_gt, norm, most));
  luc_value scale = luc_v_tensor(luc__fs(&f, LUC_OP_mul, inverse, most));
  luc_tensor *factor = luc__f_call(&f, LUC_OP_where, LUC_ARGS(above, scale, one));
  factor = luc__f_to(&f, factor, x->dtype);
  return luc__f_result(&f, luc__f2(&f, LUC_OP_mul, x, factor), out);
}

/* ---- logsumexp ---- */

luc_status luc__run_logsumexp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, x, &args[1], args[2].as.i, &dims));
  if (!luc__dtype_has_gradient(x->dtype)) x = luc__f_to(&f, x, ctx->default_dtype);
  luc_value keep = luc_v_bool(true), t = luc_v_tensor(x);
  luc_tensor *top = NULL, *apart = x;
  if (f.status == LUC_OK && x->numel > 0) {
    if (luc__dtype_is_complex(x->dtype)) t = luc_v_tensor(luc__f1(&f, LUC_OP_real, x));
    top = luc__f_call(&f, LUC_OP_amax, LUC_ARGS(t, args[1], keep));
    top = luc__f_where(&f, luc__f1(&f, LUC_OP_isinf, top), NULL, top);
    apart = luc__f2(&f, LUC_OP_sub, x, top);
  }
  luc_tensor *powers = luc__f1(&f, LUC_OP_exp, apart);
  luc_tensor *sum = luc__f_call(&f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(powers), args[1], keep));
  luc_tensor *y = luc__f1(&f, LUC_OP_log, sum);
  if (top) y = luc__f2(&f, LUC_OP_add, y, top);
  return luc__f_result(&f, luc__f_reshape(&f, y, dims.ndim, dims.sizes), out);
}

luc_status luc__grad_logsumexp(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  bool keepdim = b->args[2].as.i != 0;
  luc_tensor *g = luc__f_unreduce(&f, b, b->gout[0], &b->args[1], keepdim);
  luc_tensor *y = luc__f_unreduce(&f, b, b->results[0], &b->args[1], keepdim);
  luc_tensor *share = luc__f1(&f, LUC_OP_exp, luc__f2(&f, LUC_OP_sub, b->args[0].as.tensor, y));
  share = luc__f_conj(&f, share);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, share), &b->gin[0]);
}
