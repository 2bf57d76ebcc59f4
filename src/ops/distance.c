/* Norms, distances and log-sum-exp. */
#include <math.h>

#include "ops/compute.h"
#include "ops/reduction.h"

/* ---- norm ---- */

static luc_dtype norm_dtype(const luc_tensor *t, const luc_value *dtype) {
  return dtype->kind == LUC_DTYPE ? (luc_dtype)dtype->as.i : (luc_dtype)t->dtype;
}

/* (sum |x|^p)^(1/p), made of operators. */
static luc_status norm_general(luc_context *ctx, const luc_value *args, double p, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_dtype dtype = norm_dtype(x, &args[4]);
  if (x->dtype != dtype) x = luc__f_to(&f, x, dtype);
  luc_tensor *powers = luc__fs(&f, LUC_OP_pow, luc__f1(&f, LUC_OP_abs, x), p);
  luc_tensor *sum = luc__f_call(&f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(powers), args[2], args[3]));
  return luc__f_result(&f, luc__fs(&f, LUC_OP_pow, sum, 1 / p), out);
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

luc_status luc__run_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype dtype = norm_dtype(t, &args[4]);
  double p = luc_as_double(&args[1]);
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "norm: input dtype should be floating point, got %s", luc__dtype_name(dtype));
  bool simple = p == 0 || p == 1 || p == 2;
  if (!simple && isinf(p)) return norm_infinite(ctx, args, p, out);
  if (!simple) return norm_general(ctx, args, p, out);
  luc_dims dims;
  luc_rd op = p == 0 ? LUC_RD_count : p == 1 ? LUC_RD_sumabs : LUC_RD_sumsq;
  LUC_TRY(luc__dims(ctx, "norm", t, &args[2], args[3].as.i, &dims));
  return luc__reduce_to(ctx, "norm", op, t, &dims, dtype, dtype, 1, p == 2, out);
}

/* x |x|^(p-2) g / y^(p-1), flat where y is zero. */
static luc_tensor *norm_slope(luc_formula *f, luc_tensor *x, luc_tensor *y, luc_tensor *g,
                              double p) {
  luc_tensor *sign = luc__f1(f, LUC_OP_sign, x), *size = luc__f1(f, LUC_OP_abs, x);
  if (p == 1) return luc__f2(f, LUC_OP_mul, sign, g);
  if (p == 2) {
    luc_tensor *unit = luc__f2(f, LUC_OP_div, x, y);
    unit = luc__f_where(f, luc__fs(f, LUC_OP_eq, y, 0), NULL, unit);
    return luc__f2(f, LUC_OP_mul, unit, g);
  }
  luc_tensor *power = luc__fs(f, LUC_OP_pow, size, p - 1);
  if (p < 1) power = luc__f_where(f, luc__fs(f, LUC_OP_eq, x, 0), NULL, power);
  luc_tensor *share = luc__f2(f, LUC_OP_div, g, luc__fs(f, LUC_OP_pow, y, p - 1));
  share = luc__f_where(f, luc__fs(f, LUC_OP_eq, y, 0), NULL, share);
  return luc__f2(f, LUC_OP_mul, luc__f2(f, LUC_OP_mul, sign, power), share);
}

/* All that reach the extreme share its gradient. */
static luc_tensor *infinite_slope(luc_formula *f, luc_tensor *x, luc_tensor *y, luc_tensor *g,
                                  const luc_value *dim) {
  luc_tensor *equal = luc__f2(f, LUC_OP_eq, luc__f1(f, LUC_OP_abs, x), y);
  luc_tensor *count =
      luc__f_call(f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(equal), *dim, luc_v_bool(true)));
  luc_tensor *share = luc__f2(f, LUC_OP_div, g, count);
  luc_tensor *whole = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sign, x), share);
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

/* norm(input, "fro", …) */
luc_status luc__run_norm_named(luc_context *ctx, luc_value *args, luc_value *out) {
  int which;
  LUC_TRY(luc__choice(ctx, "norm", "p", "fro", args[1].as.string, &which));
  luc_value all[LUC_MAX_PARAMS] = {args[0], luc_v_int(2), args[2], args[3], args[4]};
  return luc_call(ctx, LUC_OP_norm, all, 5, out);
}

luc_status luc__run_dist(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *apart = luc__f2(&f, LUC_OP_sub, args[0].as.tensor, args[1].as.tensor);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_norm, LUC_ARGS(luc_v_tensor(apart), args[2])),
                       out);
}

/* pdist(input, p): the distances of all pairs of rows, in the order of the upper triangle. */
luc_status luc__run_pdist(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  double p = luc_as_double(&args[1]);
  LUC_TRY(luc__need_float(ctx, "pdist", "input", x));
  if (x->ndim != 2)
    return luc__fail_shapes(ctx, "pdist", "input", x, NULL, NULL,
                            "only supports 2D tensors, got: %dD", x->ndim);
  LUC_CHECK(ctx, p >= 0, LUC_ERR_VALUE, "pdist: only supports non-negative p values (got %g)", p);
  luc_formula f = luc__formula(ctx);
  luc_value n = luc_v_int(x->sizes[0]), zero = luc_v_int(0), one = luc_v_int(1);
  luc_value pairs = luc_v_tensor(luc__f_call(&f, LUC_OP_triu_indices, LUC_ARGS(n, n, one)));
  luc_tensor *side[2];
  for (int i = 0; i < 2; i++) {
    luc_tensor *at = luc__f_call(&f, LUC_OP_select, LUC_ARGS(pairs, zero, luc_v_int(i)));
    side[i] = luc__f_call(&f, LUC_OP_index_select, LUC_ARGS(args[0], zero, luc_v_tensor(at)));
  }
  luc_value apart = luc_v_tensor(luc__f2(&f, LUC_OP_sub, side[0], side[1]));
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_norm, LUC_ARGS(apart, luc_v_float(p), one)), out);
}

/* ---- logsumexp ---- */

luc_status luc__run_logsumexp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, "logsumexp", x, &args[1], args[2].as.i, &dims));
  if (!luc__dtype_is_float((luc_dtype)x->dtype))
    x = luc__f_to(&f, x, (luc_dtype)ctx->default_dtype);
  luc_value keep = luc_v_bool(true), t = luc_v_tensor(x);
  luc_tensor *top = NULL, *apart = x;
  if (f.status == LUC_OK && x->numel > 0) {
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
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, share), &b->gin[0]);
}
