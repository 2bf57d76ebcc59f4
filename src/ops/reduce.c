/* Sums and what is made of them: what the reductions mean, and their gradients. */
#include "ops/reduction.h"

#include "cpu/complex.h"

/* ---- sum, mean ---- */

static luc_status accumulate(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype dtype = luc__sum_dtype(t, &args[3]);
  luc_dims dims;
  if (op == LUC_RD_nansum && !luc__dtype_is_float(dtype)) op = LUC_RD_sum; /* there is no NaN */
  LUC_TRY(luc__dims(ctx, t, &args[1], args[2].as.i, &dims));
  return luc__reduce_to(ctx, op, t, &dims, dtype, dtype, 1, false, out);
}

LUC_RUN_BY(sum, accumulate, LUC_RD_sum)
LUC_RUN_BY(prod, accumulate, LUC_RD_prod)
LUC_RUN_BY(nansum, accumulate, LUC_RD_nansum)

luc_status luc__grad_sum(luc_context *ctx, luc_backward *b) {
  return luc__unreduce_full(ctx, b, b->gout[0], &b->args[1], b->args[2].as.i, &b->gin[0]);
}

/* The sum over the dimensions that t has more, or along which `size` is 1. */
luc_status luc__run_sum_to_size(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor, *sum = t;
  const int64_t *sizes = args[1].as.ints;
  int64_t dims[LUC_MAX_DIMS];
  int ndim = args[1].n, lead = t->ndim - ndim, n = 0;
  bool fits = lead >= 0;
  for (int d = 0; fits && d < t->ndim; d++) {
    bool gone = d < lead || (sizes[d - lead] == 1 && t->sizes[d] != 1);
    fits = gone || sizes[d - lead] == t->sizes[d];
    if (gone) dims[n++] = d;
  }
  char want[LUC_SHAPE_TEXT], have[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE, "size %s is not expandable to size %s",
            luc__shape_text(want, ndim, sizes), luc__tensor_shape_text(have, t));
  if (n > 0) sum = luc__f_sum(&f, t, n, dims, true);
  return luc__f_result(&f, luc__f_apart(&f, luc__f_reshape(&f, sum, ndim, sizes), t), out);
}

luc_status luc__run_mean(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype dtype = args[3].kind == LUC_DTYPE ? (luc_dtype)args[3].as.i : t->dtype;
  LUC_CHECK(ctx, luc__dtype_has_gradient(dtype), LUC_ERR_TYPE,
            "needs a floating point input or dtype (got %s)", luc__dtype_name(dtype));
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, t, &args[1], args[2].as.i, &dims));
  return luc__reduce_to(ctx, LUC_RD_sum, t, &dims, dtype, dtype, (double)dims.count, false, out);
}

luc_status luc__grad_mean(luc_context *ctx, luc_backward *b) {
  luc_tensor *share;
  double count = (double)luc__reduced_count(b, &b->args[1]);
  LUC_TRY(luc__binary_scalar(ctx, LUC_OP_div, b->gout[0], count, &share));
  luc_status status = luc__unreduce_full(ctx, b, share, &b->args[1], b->args[2].as.i, &b->gin[0]);
  luc_tensor_release(ctx, share);
  return status;
}

/* ---- prod ---- */

/* The products of what precedes each element along a dimension. */
static luc_tensor *before(luc_formula *f, luc_tensor *x, int64_t dim, int64_t n) {
  luc_tensor *one = luc__f1(f, LUC_OP_ones_like, luc__f_narrow(f, x, dim, 0, 1));
  luc_tensor *moved = luc__f_cat(f, one, luc__f_narrow(f, x, dim, 0, n - 1), dim);
  return luc__f_call(f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(moved), luc_v_int(dim)));
}

static luc_tensor *flipped(luc_formula *f, luc_tensor *x, int64_t dim) {
  return luc__f_call(f, LUC_OP_flip, LUC_ARGS(luc_v_tensor(x), luc_v_ints(&dim, 1)));
}

/* The product of the others at each place, where there are zeros: what precedes times what
 * follows. */
static luc_tensor *others_with_zeros(luc_formula *f, luc_tensor *x, const luc_value *dim) {
  bool whole = luc_is_none(dim) || x->ndim == 0;
  int64_t line = -1, d = whole ? 0 : dim->as.i;
  luc_tensor *t = whole ? luc__f_reshape(f, x, 1, &line) : x;
  if (f->status != LUC_OK) return NULL;
  int64_t n = t->sizes[d < 0 ? d + t->ndim : d];
  luc_tensor *after = flipped(f, before(f, flipped(f, t, d), d, n), d);
  luc_tensor *others = luc__f2(f, LUC_OP_mul, before(f, t, d, n), after);
  return luc__f_reshape(f, others, x->ndim, x->sizes);
}

luc_status luc__grad_prod(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = luc__f_to(&f, b->args[0].as.tensor, b->results[0]->dtype), *others;
  luc_value dim = b->args[1];
  if (!x) return luc__f_end(&f, NULL, NULL);
  luc_tensor *g = luc__f_unreduce(&f, b, b->gout[0], &dim, b->args[2].as.i != 0);
  if (luc__any_zero(ctx, x)) {
    others = others_with_zeros(&f, x, &dim);
  } else {
    luc_tensor *y = luc__f_unreduce(&f, b, b->results[0], &dim, b->args[2].as.i != 0);
    others = luc__f2(&f, LUC_OP_div, y, x);
  }
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, luc__f_conj(&f, others)), &b->gin[0]);
}

/* ---- all, any, count_nonzero, nansum ---- */

static luc_status run_truth(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype result = t->dtype == LUC_UINT8 ? LUC_UINT8 : LUC_BOOL;
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, t, &args[1], args[2].as.i, &dims));
  if (args[1].kind == LUC_INTS && args[1].n == 0)
    luc__dims_shape(t, 0, false, &dims); /* an empty list: no dimension */
  return luc__reduce_to(ctx, op, t, &dims, t->dtype, result, 1, false, out);
}

LUC_RUN_BY(all, run_truth, LUC_RD_all)
LUC_RUN_BY(any, run_truth, LUC_RD_any)

luc_status luc__run_count_nonzero(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, t, &args[1], false, &dims));
  return luc__reduce_to(ctx, LUC_RD_count, t, &dims, t->dtype, LUC_INT64, 1, false, out);
}

luc_status luc__grad_nansum(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = luc__f_unreduce(&f, b, b->gout[0], &b->args[1], b->args[2].as.i);
  luc_tensor *nan = luc__f1(&f, LUC_OP_isnan, b->args[0].as.tensor);
  return luc__f_end(&f, luc__f_where(&f, nan, NULL, g), &b->gin[0]);
}

/* ---- std, var ---- */

/* correction=, or what unbiased= says. */
static double correction(const luc_value *unbiased, const luc_value *given) {
  return luc_is_none(given) ? (double)(unbiased->as.i != 0) : luc_as_double(given);
}

/* The variance of complex numbers is that of their real parts plus that of their imaginary
 * parts. */
static luc_status spread_parts(luc_context *ctx, luc_reduction_job *job, luc_tensor *mean) {
  const luc_tensor *in = job->in;
  luc_tensor part, mean_part, *other;
  luc_tensor *result = job->b;
  luc_dtype real = luc__dtype_to_real(in->dtype);
  bool root = job->root;
  LUC_TRY(luc__scratch_like(ctx, result, real, &other));
  *job = (luc_reduction_job){.op = job->op,
                             .dtype = real,
                             .in = &part,
                             .dims = job->dims,
                             .a = mean ? &mean_part : NULL,
                             .divide = job->divide};
  for (int p = 0; p < 2; p++) {
    luc__part(in, p, &part);
    if (mean) luc__part(mean, p, &mean_part);
    job->b = p == 0 ? result : other;
    LUC_TRY(luc__reduce(ctx, job));
  }
  luc_ew_input parts[2] = {{.t = result}, {.t = other}};
  luc__elementwise(ctx, LUC_EW_add, real, result, parts);
  if (root) luc__elementwise(ctx, LUC_EW_sqrt, real, result, parts);
  return LUC_OK;
}

static luc_status spread(luc_context *ctx, const luc_value *args, bool root, luc_value *out,
                         luc_tensor *mean) {
  luc_tensor *t = args[0].as.tensor, *result;
  luc_dims dims;
  LUC_CHECK(ctx, luc__dtype_has_gradient(t->dtype), LUC_ERR_TYPE,
            "only supports floating point dtypes, got %s", luc__dtype_name(t->dtype));
  LUC_TRY(luc__dims(ctx, t, &args[1], args[3].as.i, &dims));
  luc_dtype dtype = luc__dtype_to_real(t->dtype);
  LUC_TRY(luc__out(ctx, out, dtype, dims.ndim, dims.sizes, &result));
  double divide = (double)dims.count - correction(&args[2], &args[4]);
  luc_reduction_job job = {.op = LUC_RD_var,
                           .dtype = t->dtype,
                           .in = t,
                           .dims = dims.mask,
                           .a = mean,
                           .b = result,
                           .divide = divide > 0 ? divide : 0,
                           .root = root};
  if (dtype != t->dtype) return spread_parts(ctx, &job, mean);
  return luc__reduce(ctx, &job);
}

luc_status luc__run_std(luc_context *ctx, luc_value *args, luc_value *out) {
  return spread(ctx, args, true, out, NULL);
}

luc_status luc__run_var(luc_context *ctx, luc_value *args, luc_value *out) {
  return spread(ctx, args, false, out, NULL);
}

static luc_status run_with_mean(luc_context *ctx, bool root, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *mean;
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, t, &args[1], args[3].as.i, &dims));
  LUC_TRY(luc__out(ctx, &out[1], t->dtype, dims.ndim, dims.sizes, &mean));
  return spread(ctx, args, root, out, mean);
}

LUC_RUN_BY(std_mean, run_with_mean, true)
LUC_RUN_BY(var_mean, run_with_mean, false)

/* std(input, unbiased): the other order of arguments. */
static luc_status with_unbiased(luc_context *ctx, luc_opid op, luc_value *args, luc_value *out) {
  luc_value all[LUC_MAX_PARAMS] = {args[0], luc_v_none(), args[1]};
  return luc_call(ctx, op, all, 3, out);
}

LUC_RUN_BY(std_unbiased, with_unbiased, LUC_OP_std)
LUC_RUN_BY(var_unbiased, with_unbiased, LUC_OP_var)
LUC_RUN_BY(std_mean_unbiased, with_unbiased, LUC_OP_std_mean)
LUC_RUN_BY(var_mean_unbiased, with_unbiased, LUC_OP_var_mean)

/* g * 2 (x - mean) / (n - correction), g being the gradient of the variance. */
static luc_tensor *spread_slope(luc_formula *f, luc_backward *b, luc_tensor *g) {
  luc_value x = b->args[0], dim = b->args[1];
  double divide = (double)luc__reduced_count(b, &dim) - correction(&b->args[2], &b->args[4]);
  luc_tensor *kept = luc__f_unreduce(f, b, g, &dim, b->args[3].as.i);
  luc_tensor *mean = luc__f_call(f, LUC_OP_mean, LUC_ARGS(x, dim, luc_v_bool(true)));
  luc_tensor *apart = luc__f2(f, LUC_OP_sub, x.as.tensor, mean);
  luc_tensor *scaled = luc__fs(f, LUC_OP_mul, kept, 2 / divide);
  return luc__f2(f, LUC_OP_mul, scaled, apart);
}

/* The gradient of the variance from that of its root; flat where the root is zero. */
static luc_tensor *before_root(luc_formula *f, luc_tensor *g, luc_tensor *root) {
  luc_tensor *flat = luc__fs(f, LUC_OP_eq, root, 0);
  root = luc__f_fill(f, root, flat, 1); /* whose own slope is then 0, too, not 0 / 0 */
  luc_tensor *slope = luc__f2(f, LUC_OP_div, g, luc__fs(f, LUC_OP_mul, root, 2));
  return luc__f_where(f, flat, NULL, slope);
}

luc_status luc__grad_var(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_end(&f, spread_slope(&f, b, b->gout[0]), &b->gin[0]);
}

luc_status luc__grad_std(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = before_root(&f, b->gout[0], b->results[0]);
  return luc__f_end(&f, spread_slope(&f, b, g), &b->gin[0]);
}

static luc_status grad_with_mean(luc_context *ctx, luc_backward *b, bool root) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *of_mean = b->gout[1], *total = NULL;
  if (g && root) g = before_root(&f, g, b->results[0]);
  if (g) total = spread_slope(&f, b, g);
  if (of_mean) {
    double count = (double)luc__reduced_count(b, &b->args[1]);
    luc_tensor *share = luc__fs(&f, LUC_OP_div, of_mean, count), *full = NULL;
    luc_tensor *kept = luc__f_unreduce(&f, b, share, &b->args[1], b->args[3].as.i);
    full = luc__f_call(&f, LUC_OP_expand_as, LUC_ARGS(luc_v_tensor(kept), b->args[0]));
    total = total ? luc__f2(&f, LUC_OP_add, total, full) : full;
  }
  return luc__f_end(&f, total, &b->gin[0]);
}

LUC_GRAD_BY(std_mean, grad_with_mean, true)
LUC_GRAD_BY(var_mean, grad_with_mean, false)
