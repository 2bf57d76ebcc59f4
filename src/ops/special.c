/* Special functions of one and two numbers (lucerna.special), and their gradients. The kernels are
 * those of cpu/special.def: scaled and normal error functions, entropy, zeta, incomplete gamma,
 * Bessel. */
#include <math.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/pointwise.h"

static const double SQRT_2_PI = 2.50662827463100050242;

LUC_RUN(erfcx, FLOAT)
LUC_RUN(ndtr, FLOAT)
LUC_RUN(ndtri, FLOAT)
LUC_RUN(log_ndtr, FLOAT)
LUC_RUN(entr, FLOAT)
LUC_RUN(xlogy, FLOAT)
LUC_RUN(xlog1py, FLOAT)
LUC_RUN(zeta, FLOAT)
LUC_RUN(i0, FLOAT)
LUC_RUN(i0e, FLOAT)
LUC_RUN(i1, FLOAT)
LUC_RUN(i1e, FLOAT)
LUC_RUN(airy_ai, FLOAT)
LUC_RUN(bessel_j0, FLOAT)
LUC_RUN(bessel_j1, FLOAT)
LUC_RUN(bessel_y0, FLOAT)
LUC_RUN(bessel_y1, FLOAT)
LUC_RUN(modified_bessel_k0, FLOAT)
LUC_RUN(modified_bessel_k1, FLOAT)
LUC_RUN(scaled_modified_bessel_k0, FLOAT)
LUC_RUN(scaled_modified_bessel_k1, FLOAT)
LUC_RUN(spherical_bessel_j0, FLOAT)
LUC_RUN(chebyshev_polynomial_t, FLOAT)
LUC_RUN(chebyshev_polynomial_u, FLOAT)
LUC_RUN(chebyshev_polynomial_v, FLOAT)
LUC_RUN(chebyshev_polynomial_w, FLOAT)
LUC_RUN(shifted_chebyshev_polynomial_t, FLOAT)
LUC_RUN(shifted_chebyshev_polynomial_u, FLOAT)
LUC_RUN(shifted_chebyshev_polynomial_v, FLOAT)
LUC_RUN(shifted_chebyshev_polynomial_w, FLOAT)
LUC_RUN(hermite_polynomial_h, FLOAT)
LUC_RUN(hermite_polynomial_he, FLOAT)
LUC_RUN(laguerre_polynomial_l, FLOAT)
LUC_RUN(legendre_polynomial_p, FLOAT)

static luc_status incomplete(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  return luc__pointwise(ctx, op, LUC_RULE_SAME, args, NULL, out);
}

LUC_RUN_BY(igamma, incomplete, LUC_EW_igamma)
LUC_RUN_BY(igammac, incomplete, LUC_EW_igammac)

/* ---- gradients of functions of one number ---- */

static luc_tensor *input(const luc_backward *b) {
  return b->args[0].as.tensor;
}

/* exp(s * x^2) */
static luc_tensor *bell(luc_formula *f, luc_tensor *x, double s) {
  luc_tensor *power = luc__fs(f, LUC_OP_mul, luc__f1(f, LUC_OP_square, x), s);
  return luc__f1(f, LUC_OP_exp, power);
}

/* sin(pi x) / (pi x), 1 at 0: of complex numbers by operators. */
luc_status luc__run_sinc(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  if (!luc__dtype_is_complex(x->dtype))
    return luc__pointwise(ctx, LUC_EW_sinc, LUC_RULE_FLOAT, args, NULL, out);
  luc_formula f = luc__formula(ctx);
  luc_tensor *angle = luc__fs(&f, LUC_OP_mul, x, 3.14159265358979323846);
  luc_tensor *ratio = luc__f2(&f, LUC_OP_div, luc__f1(&f, LUC_OP_sin, angle), angle);
  luc_tensor *y = luc__f_fill(&f, ratio, luc__fs(&f, LUC_OP_eq, x, 0), 1);
  LUC_TRY(luc__f_end(&f, y, &y));
  return luc__deliver(ctx, out, x->dtype, &y);
}

/* (cos(pi x) - sinc(x)) / x, 0 at 0. */
luc_status luc__grad_sinc(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *angle = luc__fs(&f, LUC_OP_mul, input(b), 3.14159265358979323846);
  luc_tensor *wave = luc__f2(&f, LUC_OP_mul, angle, luc__f1(&f, LUC_OP_cos, angle));
  luc_tensor *above = luc__f2(&f, LUC_OP_sub, wave, luc__f1(&f, LUC_OP_sin, angle));
  luc_tensor *below = luc__f2(&f, LUC_OP_mul, angle, input(b));
  luc_tensor *zero = luc__fs(&f, LUC_OP_eq, below, 0);
  luc_tensor *slope = luc__f2(&f, LUC_OP_div, above, luc__f_fill(&f, below, zero, 1));
  return luc__f_slope(&f, b, luc__f_where(&f, zero, NULL, slope));
}

luc_status luc__grad_erfcx(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *twice = luc__fs(&f, LUC_OP_mul, luc__f2(&f, LUC_OP_mul, input(b), b->results[0]), 2);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_sub, twice, 1.12837916709551257390));
}

luc_status luc__grad_ndtr(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_div, bell(&f, input(b), -0.5), SQRT_2_PI));
}

luc_status luc__grad_ndtri(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, bell(&f, b->results[0], 0.5), SQRT_2_PI));
}

/* From where erfcx overflows on, the slope is 0 and stays so: its own slope would be 0 * inf. */
luc_status luc__grad_log_ndtr(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *turned = luc__fs(&f, LUC_OP_mul, input(b), -0.70710678118654752440);
  const double last = input(b)->dtype == LUC_FLOAT64 ? -26.6 : -9.3;
  luc_tensor *beyond = luc__fs(&f, LUC_OP_lt, turned, last);
  turned = luc__f_fill(&f, turned, beyond, -INFINITY);
  luc_tensor *slope = luc__f1(&f, LUC_OP_reciprocal, luc__f1(&f, LUC_OP_erfcx, turned));
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, slope, 0.79788456080286535588));
}

luc_status luc__grad_entr(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *more = luc__fs(&f, LUC_OP_add, luc__f1(&f, LUC_OP_log, input(b)), 1);
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_neg, more));
}

LUC_GRAD_BY(i0, luc__grad_slope, LUC_OP_i1)

luc_status luc__grad_i0e(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *signs = luc__f1(&f, LUC_OP_sign, input(b));
  luc_tensor *same = luc__f2(&f, LUC_OP_mul, signs, b->results[0]);
  return luc__f_slope(&f, b, luc__f2(&f, LUC_OP_sub, luc__f1(&f, LUC_OP_i1e, input(b)), same));
}

/* i0 - result (1 / x + sign, if scaled); 0.5 at 0. */
static luc_status grad_order_1(luc_context *ctx, luc_backward *b, luc_opid order_0, bool scaled) {
  luc_formula f = luc__formula(ctx);
  double eps = input(b)->dtype == LUC_FLOAT64 ? 0x1p-52 : 0x1p-23;
  luc_tensor *zero = luc__fs(&f, LUC_OP_le, luc__f1(&f, LUC_OP_abs, input(b)), eps);
  luc_tensor *safe = luc__f_fill(&f, input(b), zero, eps);
  luc_tensor *factor = luc__f1(&f, LUC_OP_reciprocal, safe);
  if (scaled) factor = luc__f2(&f, LUC_OP_add, factor, luc__f1(&f, LUC_OP_sign, safe));
  luc_tensor *rest = luc__f2(&f, LUC_OP_mul, b->results[0], factor);
  luc_tensor *slope = luc__f2(&f, LUC_OP_sub, luc__f1(&f, order_0, safe), rest);
  return luc__f_slope(&f, b, luc__f_fill(&f, slope, zero, 0.5));
}

LUC_GRAD_BY(i1, grad_order_1, LUC_OP_i0, false)
LUC_GRAD_BY(i1e, grad_order_1, LUC_OP_i0e, true)

/* ---- of two numbers ---- */

static luc_tensor *of(luc_formula *f, luc_opid op, luc_value a, luc_value b) {
  return luc__f_call(f, op, LUC_ARGS(a, b));
}

static luc_status refuse(luc_context *ctx, luc_backward *b, const char *what) {
  LUC_CHECK(ctx, !luc__needs(b, 0), LUC_ERR_SUPPORT,
            "backward: the derivative for '%s' is not implemented", what);
  return LUC_OK;
}

/* Of op, x log(y + more). */
static luc_status grad_xlog(luc_context *ctx, luc_backward *b, luc_opid op, int more) {
  luc_formula f = luc__formula(ctx);
  luc_value x = b->args[0], y = b->args[1], g = luc_v_tensor(b->gout[0]);
  if (luc__needs(b, 0)) {
    luc_tensor *flat = luc__f2(&f, LUC_OP_logical_and, of(&f, LUC_OP_eq, x, luc_v_int(0)),
                               of(&f, LUC_OP_le, y, luc_v_int(-more)));
    luc__f_keep(&f, luc__f_where(&f, flat, NULL, of(&f, op, g, y)), &b->gin[0]);
  }
  if (luc__needs(b, 1)) {
    luc_tensor *below = more ? of(&f, LUC_OP_add, y, luc_v_int(more)) : y.as.tensor;
    luc__f_keep(&f, luc__f2(&f, LUC_OP_div, of(&f, LUC_OP_mul, g, x), below), &b->gin[1]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(xlogy, grad_xlog, LUC_OP_xlogy, 0)
LUC_GRAD_BY(xlog1py, grad_xlog, LUC_OP_xlog1py, 1)

/* By q: -s zeta(s + 1, q). */
luc_status luc__grad_zeta(luc_context *ctx, luc_backward *b) {
  LUC_TRY(refuse(ctx, b, "zeta"));
  if (!luc__needs(b, 1)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_value s = b->args[0], one = luc_v_int(1);
  luc_value more = s.kind == LUC_TENSOR ? luc_v_tensor(of(&f, LUC_OP_add, s, one))
                                        : luc_v_float(luc_as_double(&s) + 1);
  luc_tensor *next = of(&f, LUC_OP_zeta, more, b->args[1]);
  luc_tensor *slope = of(&f, LUC_OP_mul, luc_v_tensor(next), s);
  luc_tensor *g = luc__f1(&f, LUC_OP_neg, b->gout[0]);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, slope), &b->gin[1]);
}

/* By x: +- x^(a - 1) e^-x / Gamma(a). */
static luc_status grad_incomplete(luc_context *ctx, luc_backward *b, const char *what, bool upper) {
  LUC_TRY(refuse(ctx, b, what));
  if (!luc__needs(b, 1)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = input(b), *x = b->args[1].as.tensor;
  luc_tensor *power =
      luc__f2(&f, LUC_OP_mul, luc__fs(&f, LUC_OP_add, a, -1), luc__f1(&f, LUC_OP_log, x));
  luc_tensor *rest = luc__f2(&f, LUC_OP_add, x, luc__f1(&f, LUC_OP_lgamma, a));
  luc_tensor *slope = luc__f1(&f, LUC_OP_exp, luc__f2(&f, LUC_OP_sub, power, rest));
  luc_tensor *g = upper ? luc__f1(&f, LUC_OP_neg, b->gout[0]) : b->gout[0];
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, slope), &b->gin[1]);
}

LUC_GRAD_BY(igamma, grad_incomplete, "igamma: input", false)
LUC_GRAD_BY(igammac, grad_incomplete, "igammac: input", true)

/* ---- the multivariate log gamma ---- */

/* x - k / 2 for k below p, along a new last dimension. */
static luc_tensor *half_steps(luc_formula *f, luc_tensor *x, int64_t p) {
  luc_tensor *steps = luc__f_call(f, LUC_OP_arange_start,
                                  LUC_ARGS(luc_v_float(0.5 - 0.5 * (double)p), luc_v_float(0.5),
                                           luc_v_float(0.5), luc_v_dtype(x->dtype)));
  return luc__f2(f, LUC_OP_add, luc__f_unsqueeze(f, x, -1), steps);
}

luc_status luc__run_mvlgamma(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor, *sum = NULL;
  int64_t p = args[1].as.i;
  LUC_CHECK(ctx, p >= 1, LUC_ERR_VALUE, "p has to be greater than or equal to 1 (got %lld)",
            (long long)p);
  if (!luc__dtype_is_float(x->dtype)) x = luc__f_to(&f, x, ctx->default_dtype);
  if (f.status == LUC_OK) {
    luc_tensor *logs = luc__f1(&f, LUC_OP_lgamma, half_steps(&f, x, p));
    luc_tensor *total = luc__f_sum_dim(&f, logs, -1);
    double pairs = 0.25 * (double)p * ((double)p - 1);
    luc__f_keep(&f, luc__fs(&f, LUC_OP_add, total, pairs * log(3.14159265358979323846)), &sum);
  }
  LUC_TRY(luc__held(ctx, luc__f_end(&f, NULL, NULL), &sum));
  return luc__result(ctx, out, sum->dtype, sum);
}

luc_status luc__grad_mvlgamma(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *slopes = luc__f1(&f, LUC_OP_digamma, half_steps(&f, input(b), b->args[1].as.i));
  return luc__f_slope(&f, b, luc__f_sum_dim(&f, slopes, -1));
}
