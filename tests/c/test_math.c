/* The kernels of exp, log, sin and their kin against exact values (math_exact.h), on every
 * instruction set: at most 2 ulp over the whole range, and exact special values. */
#include "cpu/activation.h"
#include "cpu/elementwise.h"
#include "cpu/kernels.h"
#include "math_exact.h"
#include "test.h"

enum { N = 1 << 13 };

/* ---- distances ---- */

/* In units of the last place of the exact result, or of `least` where that is larger. Just below a
 * power of two these are half of those that it rounds to. */
static double ulps(double got, long double want, double least, bool is_double) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  double near = is_double ? (double)want : (double)(float)want, size = fabs(near), unit;
  if (isinf(near)) return got == near ? 0 : INFINITY;
  if (isnan(got) || isinf(got)) return INFINITY;
  if (size > fabsl(want)) size = is_double ? nextafter(size, 0) : nextafterf((float)size, 0);
  size = fmax(size, least);
  if (is_double)
    unit = size < 0x1p-1022 ? 0x1p-1074 : nextafter(size, INFINITY) - size;
  else
    unit = size < 0x1p-126 ? 0x1p-149 : (double)(nextafterf((float)size, INFINITY) - (float)size);
  return (double)(fabsl((long double)got - want) / (long double)unit);
}

typedef struct function {
  const char *name;
  int op;
  long double (*exact)(long double);
  long double (*exact2)(long double, long double);
  double low, high; /* both signs are walked bit by bit between these sizes */
  double allowed;
  bool is_activation;
  double params[LUC_EW_MAX_PARAMS];
} function;

#define ONE(id, exact, low, high, allowed)                                                         \
  {                                                                                                \
#id, LUC_EW_##id, exact, NULL, low, high, allowed, false, {                                    \
      0                                                                                            \
    }                                                                                              \
  }
#define TWO(id, exact, low, high, allowed)                                                         \
  {                                                                                                \
#id, LUC_EW_##id, NULL, exact, low, high, allowed, false, {                                    \
      0                                                                                            \
    }                                                                                              \
  }
#define WITH(id, exact, low, high, ...)                                                            \
  {                                                                                                \
#id, LUC_EW_##id, exact, NULL, low, high, 2, false, {                                          \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }
#define ACT(id, exact, low, high, ...)                                                             \
  {                                                                                                \
#id, LUC_ACT_##id, exact, NULL, low, high, 2, true, {                                          \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }

/* The wide ranges are cut to those of the type. */
static const function functions[] = {
    ONE(exp, expl, 1e-8, 720, 2),
    ONE(exp2, exp2l, 1e-8, 1080, 2),
    ONE(expm1, expm1l, 1e-320, 720, 2),
    ONE(log, logl, 1e-320, 1e308, 2),
    ONE(log, logl, 0.5, 2, 2),
    ONE(log2, log2l, 1e-320, 1e308, 2),
    ONE(log2, log2l, 0.5, 2, 2),
    ONE(log10, log10l, 1e-320, 1e308, 2),
    ONE(log10, log10l, 0.5, 2, 2),
    ONE(log1p, log1pl, 1e-320, 1e308, 2),
    ONE(log1p, log1pl, 1e-3, 4, 2),
    ONE(sin, sinl, 1e-320, 1e300, 2),
    ONE(sin, sinl, 1e-3, 3e4, 2),
    ONE(cos, cosl, 1e-320, 1e300, 2),
    ONE(cos, cosl, 1e-3, 3e4, 2),
    ONE(tan, tanl, 1e-320, 1e300, 2),
    ONE(tan, tanl, 1e-3, 3e4, 2),
    ONE(asin, asinl, 1e-320, 1.1, 2),
    ONE(asin, asinl, 0.1, 1, 2),
    ONE(acos, acosl, 1e-320, 1.1, 2),
    ONE(acos, acosl, 0.1, 1, 2),
    ONE(atan, atanl, 1e-320, 1e308, 2),
    ONE(atan, atanl, 0.1, 10, 2),
    ONE(sinh, sinhl, 1e-320, 720, 2),
    ONE(sinh, sinhl, 0.1, 20, 2),
    ONE(cosh, coshl, 1e-320, 720, 2),
    ONE(tanh, tanhl, 1e-320, 100, 2),
    ONE(tanh, tanhl, 0.01, 20, 2),
    ONE(asinh, asinhl, 1e-320, 1e308, 2),
    ONE(asinh, asinhl, 0.01, 100, 2),
    ONE(asinh, asinhl, 3.6268, 3.6269, 2), /* next to 2 */
    ONE(acosh, acoshl, 0.9, 1e308, 2),
    ONE(acosh, acoshl, 1.0309, 1.0310, 2),
    ONE(acosh, acoshl, 1, 10, 2),
    ONE(atanh, atanhl, 1e-320, 1.1, 2),
    ONE(atanh, atanhl, 0.01, 1, 2),
    ONE(atanh, atanhl, 0.76, 0.762, 2),
    ONE(atanh, atanhl, 0.761365691026, 0.761365691027, 2),
    ONE(erf, erfl, 1e-300, 30, 2),
    ONE(erf, erfl, 0.01, 5, 2),
    ONE(erfc, erfcl, 1e-300, 30, 2),
    ONE(erfc, erfcl, 0.01, 10, 2),
    ONE(erfinv, erfinv, 1e-300, 1, 2),
    ONE(erfinv, erfinv, 0.01, 0.9999, 2),
    ONE(sigmoid, sigmoid, 1e-8, 700, 2),
    ONE(sigmoid, sigmoid, 0.1, 6, 2),
    ONE(sinc, sinc, 1e-8, 1e4, 2),
    ONE(entr, entr, 1e-300, 1e300, 2),
    ONE(lgamma, lgammal, 1e-300, 1e300, 2),
    ONE(lgamma, lgammal, 0.1, 12, 2),
    ONE(lgamma, lgammal, 2.4, 3.3, 2),
    ONE(lgamma, lgammal, 2.41, 2.83, 1.5),
    ONE(lgamma, lgammal, 7.5, 10.5, 2),
    ONE(lgamma, lgammal, 8.99999, 9.00001, 2),
    ONE(digamma, digamma, 1e-300, 1e300, 2),
    ONE(digamma, digamma, 0.1, 1.45, 2),
    ONE(digamma, digamma, 1.47, 12, 2),
    ONE(digamma, digamma, 8.74, 8.76, 2),
    ONE(trigamma, trigamma, 1e-300, 1e300, 2),
    ONE(trigamma, trigamma, 0.1, 10, 2),
    ONE(ndtr, normal, 1e-300, 40, 2),
    ONE(ndtr, normal, 0.01, 9, 2),
    ONE(ndtri, normal_inverse, 0.002, 0.998, 2),
    ONE(ndtri, normal_inverse, 0.0033368, 0.0033370, 2),
    ONE(modified_bessel_k0, k0, 1e-3, 650, 2),
    ONE(modified_bessel_k1, k1, 1e-3, 650, 2),
    ONE(scaled_modified_bessel_k0, k0e, 0.1, 20, 2),
    ONE(scaled_modified_bessel_k1, k1e, 0.1, 20, 2),
    ONE(bessel_j0, j0_of, 1e-300, 1e9, 2),
    ONE(bessel_j0, j0_of, 0.1, 30, 2),
    ONE(bessel_j1, j1_of, 1e-300, 1e9, 2),
    ONE(bessel_j1, j1_of, 0.1, 30, 2),
    ONE(bessel_y0, y0_of, 1e-300, 1e9, 2),
    ONE(bessel_y0, y0_of, 0.1, 30, 2),
    ONE(bessel_y1, y1_of, 1e-320, 1e9, 2),
    ONE(bessel_y1, y1_of, 0.1, 30, 2),
    ONE(spherical_bessel_j0, spherical_j0, 1e-300, 1e300, 2),
    ONE(spherical_bessel_j0, spherical_j0, 0.1, 30, 2),
    ONE(i0, i0, 1e-3, 80, 2),
    ONE(i0e, i0e, 1e-3, 500, 2),
    ONE(i1, i1, 1e-3, 80, 2),
    ONE(i1e, i1e, 1e-3, 500, 2),
    TWO(atan2, atan2l, 1e-320, 1e308, 2),
    TWO(atan2, atan2l, 0.1, 10, 2),
    TWO(atan2, atan2l, 1e-45, 1e-43, 2), /* denormals */
    TWO(atan2, atan2l, 5e-324, 1e-322, 2),
    TWO(hypot, hypotl, 1e-320, 1e308, 2),
    TWO(hypot, hypotl, 0.1, 10, 2),
    TWO(pow, powl, 1e-2, 20, 2),
    TWO(pow, powl, 0.9, 1.1, 2),
    TWO(xlogy, xlogy, 1e-2, 20, 2),
    TWO(xlog1py, xlog1py, 1e-2, 20, 2),
    TWO(xlogy, xlogy, 1e-300, 1e300, 2),
    TWO(xlogy, xlogy, 0.5, 2, 2),
    TWO(xlog1py, xlog1py, 1e-300, 1e300, 2),
    TWO(logaddexp, logaddexp, 1e-300, 1e300, 2),
    TWO(logaddexp, logaddexp, 0.01, 40, 2),
    TWO(logaddexp2, logaddexp2, 1e-300, 1e300, 2),
    TWO(logaddexp2, logaddexp2, 0.01, 60, 2),
    TWO(logaddexp2, logaddexp2, 0.2, 2, 2),
    ONE(rsqrt, rsqrt, 1e-300, 1e300, 2),
    WITH(logit, logit, 1e-300, 1, -1),
    WITH(logit, logit, 0.01, 0.9999, -1),
    ONE(ndtri, normal_inverse, 1e-300, 1, 2),
    ONE(erfcx, erfcx, 1e-300, 1e300, 2),
    ONE(erfcx, erfcx, 0.01, 30, 2),
    ONE(erfcx, erfcx, 1e15, 1e16, 2),
    ONE(log_ndtr, log_ndtr, 1e-300, 1e150, 2),
    ONE(log_ndtr, log_ndtr, 37.5, 38.5, 2),
    ONE(log_ndtr, log_ndtr, 0.01, 40, 2),
    ONE(airy_ai, airy, 1e-300, 1e6, 2),
    ONE(airy_ai, airy, 0.1, 110, 2),
    ACT(gelu, gelu, 1e-300, 50, 0),
    ACT(gelu, gelu, 0.01, 40, 0),
    ACT(gelu_tanh, gelu_tanh, 1e-300, 1e300, 0),
    ACT(gelu_tanh, gelu_tanh, 0.01, 25, 0),
    ACT(silu, silu, 1e-300, 1e300, 0),
    ACT(silu, silu, 0.01, 800, 0),
    ACT(silu, silu, 1, 4, 0),
    ACT(mish, mish, 1e-300, 1e300, 0),
    ACT(mish, mish, 0.01, 800, 0),
    ACT(elu, elu, 1e-320, 800, 1, 1, 1),
    ACT(elu, elu, 0.1, 1, 1, 1, 1),
    ACT(elu, selu, 1e-300, 800, 1.7580993408473766, 1.0507009873554805, 1),
    ACT(elu, selu, 0.1, 1, 1.7580993408473766, 1.0507009873554805, 1),
    ACT(elu, celu, 1e-300, 300, 1 / 3.0, 1, 3),
    ACT(elu, celu, 0.01, 1, 1 / 3.0, 1, 3),
    ACT(elu, celu_hundred, 1e-320, 80000, 100, 1, 0.01, -2.0816681711721685e-19),
    ACT(elu, celu_hundred, 10, 80, 100, 1, 0.01, -2.0816681711721685e-19),
    ACT(elu, celu_hundred, 34.953340160562554, 34.953340160562555, 100, 1, 0.01,
        -2.0816681711721685e-19),
    ACT(elu, celu_minus_two, 1e-320, 1e300, -2, 1, -0.5),
    ACT(elu, celu_minus_two, 1, 1600, -2, 1, -0.5),
    ACT(softsign, softsign, 1e-300, 1e300, 0),
    ACT(tanhshrink, tanhshrink, 1e-300, 1e300, 0),
    ACT(tanhshrink, tanhshrink, 1e-14, 1e-12, 0),
    ACT(tanhshrink, tanhshrink, 0.01, 25, 0),
    ACT(tanhshrink, tanhshrink, 1, 1.1, 0),
    ACT(softplus, softplus, 1e-300, 1e300, 1, 20),
    ACT(softplus, softplus, 0.01, 800, 1, 20),
    ACT(softplus, softplus_half, 1e-300, 1e300, 0.5, 20),
    ACT(softplus, softplus_half, 0.01, 1600, 0.5, 20),
    ACT(softplus, softplus_three, 0.01, 300, 3, 20),
    ACT(softplus, softplus_ten, 3.658814357095348, 3.6588143570953485, 10, 20),
    ACT(softplus, softplus_tenth, 0.01, 8000, 0.1, 20),
    ACT(softplus, softplus_tenth, 7000, 7600, 0.1, 20),
    ACT(softplus, softplus_thousand, 0.0799, 0.0801, 1000, 20),
    ACT(softplus, softplus_thousandth, 1e-300, 1e300, 0.001, 20),
    ACT(softplus, softplus_thousandth, 87000, 120000, 0.001, 20),
    ACT(softplus, softplus_thousandth, 700000, 760000, 0.001, 20),
    ACT(logsigmoid, logsigmoid, 1e-300, 1e300, 0),
    ACT(logsigmoid, logsigmoid, 0.01, 800, 0)};

/* Numbers of a function's range, i of N and a sign, evenly spaced in their bits. */
static double place(const function *f, int i, bool negative, bool is_double) {
  double x;
  if (is_double) {
    uint64_t from, to, bits;
    memcpy(&from, &f->low, 8);
    memcpy(&to, &f->high, 8);
    bits = from + (to - from) / (N - 1) * (uint64_t)i;
    memcpy(&x, &bits, 8);
  } else {
    float low = (float)f->low, high = f->high > 3e38 ? 3e38f : (float)f->high, y;
    uint32_t from, to, bits;
    memcpy(&from, &low, 4);
    memcpy(&to, &high, 4);
    bits = from + (uint32_t)((double)(to - from) * i / (N - 1));
    memcpy(&y, &bits, 4);
    x = (double)y;
  }
  return negative ? -x : x;
}

static void run(const luc_kernels *kernels, const function *f, bool is_double, const double *a,
                const double *b, double *out, int n) {
  static float x[N], y[N], z[N];
  const luc_ew_kernel *kernel =
      f->is_activation ? &kernels->activation->forward[f->op] : &kernels->elementwise[f->op];
  luc_ew_params params = {{0}, {0}};
  memcpy(params.f, f->params, sizeof params.f);
  if (is_double) {
    const void *in[3] = {a, b, NULL};
    kernel->fn[LUC_COMPUTE_F64](out, in, n, &params, 0);
    return;
  }
  for (int i = 0; i < n; i++) {
    x[i] = (float)a[i];
    y[i] = (float)b[i];
  }
  const void *in[3] = {x, y, NULL};
  kernel->fn[LUC_COMPUTE_F32](z, in, n, &params, 0);
  for (int i = 0; i < n; i++) out[i] = (double)z[i];
}

/* What is not defined there, or not told by these sums: digamma's roots have a test of their
 * own. */
static bool is_open(const function *f, double x) {
  bool bessel = f->exact == i0 || f->exact == i0e || f->exact == i1 || f->exact == i1e;
  return ((bessel || f->exact == sinc) && fabs(x) > 1e30) || (f->exact == airy && x < -1e6) ||
         (f->exact == digamma && x < 0 && fabsl(digamma(x)) < 0.01L);
}

/* Near the zeros of a wave only its size counts: neighbours of x are that far apart in angle. */
static double wave(const function *f, double x) {
  const double pi = 3.14159265358979323846, a = fabs(x);
  bool is_wave = f->exact == j0_of || f->exact == j1_of || f->exact == y0_of || f->exact == y1_of;
  if (f->exact == airy && x < -1) return 1 / sqrt(pi * sqrt(a));
  return is_wave && a > 0.5 ? sqrt(2 / (pi * a)) : 0;
}
/* GELU of floats is, below zero, what multiples of x leave; PyTorch's is, too. A
 * logarithm of a sum near 1 is what is left of two others. */
static double least_of(const function *f, double x, double y, bool is_double) {
  if (f->exact2 == logaddexp || f->exact2 == logaddexp2) {
    double most = fmax(x, y), more = (double)(f->exact2(x, y) - most);
    return isfinite(more) ? fmax(fabs(most), more) : 0;
  }
  return f->exact == gelu && !is_double && x < 0 ? fabs(x) : wave(f, x);
}

/* Numbers, and what the function is of them: long doubles take far longer than the kernels. */
typedef struct points {
  double x[N], y[N];
  long double exact[N];
} points;

static void find_points(const function *f, int sign, bool is_double, points *p) {
  for (int i = 0; i < N; i++) {
    p->x[i] = place(f, i, sign & 1, is_double);
    p->y[i] = place(f, (int)((unsigned)i * 2654435761u >> 9) % N, sign & 2, is_double);
    p->exact[i] = f->exact ? f->exact(p->x[i]) : f->exact2(p->x[i], p->y[i]);
  }
}

/* Where one is off by most; -1 if none is by more than allowed. */
static int worst_of(const luc_kernels *kernels, const function *f, bool is_double,
                    const points *p) {
  static double z[N];
  double worst = f->allowed;
  int where = -1;
  run(kernels, f, is_double, p->x, p->y, z, N);
  for (int i = 0; i < N; i++) {
    double off = ulps(z[i], p->exact[i], least_of(f, p->x[i], p->y[i], is_double), is_double);
    if (off <= worst || is_open(f, p->x[i])) continue;
    worst = off;
    where = i;
  }
  if (where >= 0)
    fprintf(stderr, "  %s: %g ulp at %.17g, %.17g\n", f->name, worst, p->x[where], p->y[where]);
  return where;
}

static void check_function(luc_context *ctx, const function *f, bool is_double) {
  static points p;
  for (int sign = 0; sign < (f->exact ? 2 : 4); sign++) {
    find_points(f, sign, is_double, &p);
    for (int isa = 0; isa < LUC_NUM_ISAS; isa++)
      if (luc__kernels_use(ctx, (luc_isa)isa))
        CHECK_EQ(worst_of(luc__kernels(ctx), f, is_double, &p), -1);
  }
}

static void check_functions(bool is_double) {
  luc_context *ctx = test_open(0);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    check_function(ctx, &functions[i], is_double);
  luc_context_free(ctx);
}

TEST("functions of float are within 2 ulp of the exact values") {
  check_functions(false);
}
TEST("functions of double are within 2 ulp of the exact values") {
  check_functions(true);
}

/* ---- special values ---- */

static const double edges[] = {0.0,  -0.0, INFINITY, -INFINITY, NAN, 1e-45, -1e-45, 3e38, -3e38,
                               -1.0, 1.0,  0.5,      -0.5,      2.0, -2.0,  3.0,    -3.0};
enum { EDGES = sizeof edges / sizeof *edges };

static void check_edge(const function *f, int isa, double x, double y, double got, bool is_double) {
  long double want = f->exact ? f->exact(x) : f->exact2(x, y);
  if (is_open(f, x)) return;
  bool same = ulps(got, want, least_of(f, x, y, is_double), is_double) <= f->allowed;
  if (same && want == 0 && f->exact != gelu) same = signbit(got) == (signbit(want) != 0);
  CHECK(same);
  if (!same)
    fprintf(stderr, "  isa %d, %s of %g, %g: %g, not %Lg\n", isa, f->name, x, y, got, want);
}

TEST("functions keep infinities, NaN and zeros") {
  static double x[EDGES * EDGES], y[EDGES * EDGES], z[EDGES * EDGES];
  for (int i = 0; i < EDGES * EDGES; i++) {
    x[i] = (double)(float)edges[i / EDGES];
    y[i] = (double)(float)edges[i % EDGES];
  }
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
      for (int is_double = 0; is_double < 2; is_double++) {
        run(luc__kernels(ctx), &functions[f], is_double, x, y, z, EDGES * EDGES);
        for (int i = 0; i < EDGES * EDGES; i++)
          check_edge(&functions[f], isa, x[i], y[i], z[i], is_double);
      }
  }
}

/* ---- roots, and functions of two arguments ---- */

/* The doubles about roots left of zero, exact by mpmath. */
static const struct {
  luc_ew op;
  double x, y;
} roots[] = {
    {LUC_EW_digamma, -0.50408300826445551, -9.1961938051841301e-16},
    {LUC_EW_digamma, -0.5040830082644554, 7.2897639029768946e-17},
    {LUC_EW_digamma, -0.50408300826445529, 1.0654146585779509e-15},
    {LUC_EW_digamma, -1.5734984731623907, -2.050961578386319e-15},
    {LUC_EW_digamma, -1.5734984731623904, 1.5649788481838454e-16},
    {LUC_EW_digamma, -1.5734984731623902, 2.3639573480230873e-15},
    {LUC_EW_digamma, -2.6107208684441452, -5.8896533582754908e-15},
    {LUC_EW_digamma, -2.6107208684441447, -1.0720275936410002e-15},
    {LUC_EW_digamma, -2.6107208684441443, 3.7455981709934854e-15},
    {LUC_EW_digamma, -3.6352933664369016, -5.8095448436452624e-15},
    {LUC_EW_digamma, -3.6352933664369012, -6.3548838940646864e-16},
    {LUC_EW_digamma, -3.6352933664369007, 4.5385680648323184e-15},
    {LUC_EW_digamma, -4.6532377617431431, -7.8330925281296912e-15},
    {LUC_EW_digamma, -4.6532377617431422, 3.1533529982387494e-15},
    {LUC_EW_digamma, -4.6532377617431413, 1.4139798524607156e-14},
    {LUC_EW_digamma, -7.6877883250316268, -1.0671333678793448e-14},
    {LUC_EW_digamma, -7.6877883250316259, 1.9153452498708634e-15},
    {LUC_EW_digamma, -7.687788325031625, 1.4502024178535126e-14},
    {LUC_EW_digamma, -12.718971025749209, -2.1416727367552618e-14},
    {LUC_EW_digamma, -12.718971025749207, 7.8223793323205267e-15},
    {LUC_EW_digamma, -12.718971025749205, 3.70614860321934e-14},
    {LUC_EW_digamma, -30.764538586718174, -5.4164306335690955e-14},
    {LUC_EW_digamma, -30.764538586718171, 2.2889132828458229e-14},
    {LUC_EW_digamma, -30.764538586718167, 9.9942571992605526e-14},
    {LUC_EW_digamma, -100.80985503764678, -3.5977101940086843e-13},
    {LUC_EW_digamma, -100.80985503764677, 8.3428475601383171e-14},
    {LUC_EW_digamma, -100.80985503764676, 5.2662797060357654e-13},
    {LUC_EW_lgamma, -2.7476826467274131, 1.0234931857070284e-15},
    {LUC_EW_lgamma, -2.7476826467274127, 1.7335092440245009e-16},
    {LUC_EW_lgamma, -2.7476826467274122, -6.7679133690212444e-16},
    {LUC_EW_lgamma, -2.457024738220801, -6.1687121408846647e-16},
    {LUC_EW_lgamma, -2.4570247382208006, 5.6191923589500967e-17},
    {LUC_EW_lgamma, -2.4570247382208001, 7.2925506126747035e-16},
    {LUC_EW_lgamma, -3.9552942848585984, 8.7893931443497775e-15},
    {LUC_EW_lgamma, -3.9552942848585979, -4.1438275075770498e-16},
    {LUC_EW_lgamma, -3.9552942848585975, -9.6181586458650889e-15},
    {LUC_EW_lgamma, -3.1435808883499803, -1.7579854183617677e-15},
    {LUC_EW_lgamma, -3.1435808883499798, 1.6978655906121085e-15},
    {LUC_EW_lgamma, -3.1435808883499794, 5.153716599585995e-15},
    {LUC_EW_lgamma, -4.9915446405600488, 1.2118818570529118e-13},
    {LUC_EW_lgamma, -4.9915446405600479, 1.7683619350849613e-14},
    {LUC_EW_lgamma, -4.991544640560047, -8.582094700358093e-14},
    {LUC_EW_lgamma, -4.039361839740538, -2.9459305050518722e-14},
    {LUC_EW_lgamma, -4.0393618397405371, -5.6645780740603347e-15},
    {LUC_EW_lgamma, -4.0393618397405362, 1.8130148902398562e-14},
    {LUC_EW_lgamma, -5.9986074800808762, 3.9894309784344193e-13},
    {LUC_EW_lgamma, -5.9986074800808753, -2.3721063667118474e-13},
    {LUC_EW_lgamma, -5.9986074800808744, -8.7336437118540453e-13},
    {LUC_EW_lgamma, -5.0082181683225944, -1.0414877920967533e-13},
    {LUC_EW_lgamma, -5.0082181683225935, 5.4188509265538106e-15},
    {LUC_EW_lgamma, -5.0082181683225926, 1.1498648106279463e-13},
    {LUC_EW_lgamma, -9.9999997244266314, 8.2179897717887385e-09},
    {LUC_EW_lgamma, -9.9999997244266297, 1.7719543958825935e-09},
    {LUC_EW_lgamma, -9.9999997244266279, -4.674080938472126e-09},
    {LUC_EW_lgamma, -9.0000027557148243, -6.101697362085198e-10},
    {LUC_EW_lgamma, -9.0000027557148226, 3.4442633283915089e-11},
    {LUC_EW_lgamma, -9.0000027557148208, 6.7905500319186994e-10},
};

TEST("lgamma and digamma keep all digits near their roots") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
      const function f = {"root", roots[i].op, NULL, NULL, 0, 0, 2, false, {0}};
      double y;
      run(luc__kernels(ctx), &f, true, &roots[i].x, &roots[i].x, &y, 1);
      CHECK(ulps(y, roots[i].y, 0, true) <= 1);
    }
  }
}

/* In units of the last place of the terms' sizes: they cancel left of zero when s is odd. */
static void check_zeta(const luc_kernels *kernels, double s, double q, bool is_double) {
  const function zetas = {"zeta", LUC_EW_zeta, NULL, NULL, 0, 0, 2, false, {0}};
  long double size, want;
  double y;
  if (!is_double) s = (double)(float)s, q = (double)(float)q;
  want = zeta(s, q, &size);
  run(kernels, &zetas, is_double, &s, &q, &y, 1);
  CHECK(ulps(y, want, (double)size, is_double) <= 2);
  if (s != rint(s) || s == 2) return;
  long double factorial = tgammal(s) * (fmod(s, 2) == 1 ? -1 : 1);
  const function derivative = {"polygamma", LUC_EW_polygamma,          NULL, NULL, 0, 0, 2,
                               false,       {s - 1, (double)factorial}};
  run(kernels, &derivative, is_double, &q, &q, &y, 1);
  CHECK(ulps(y, want * factorial, (double)(size * fabsl(factorial)), is_double) <= 2);
}

TEST("zeta and polygamma are within 2 ulp of the exact values") {
  static const double powers[] = {1.0001, 1.25, 1.75, 2, 2.5, 3, 4, 5, 6.5, 8, 11, 15, 21};
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++)
      for (int i = 1; i < 80; i++)
        for (int is_double = 0; is_double < 2; is_double++) {
          check_zeta(luc__kernels(ctx), powers[k], i * i * 0.0173, is_double);
          if (powers[k] != rint(powers[k])) continue;
          check_zeta(luc__kernels(ctx), powers[k], -i * 0.173, is_double);
          check_zeta(luc__kernels(ctx), powers[k], -0.25 - i * 0.003173, is_double);
        }
  }
}

static double share_off(const luc_kernels *kernels, double a, double x, bool upper,
                        bool is_double) {
  const int op = upper ? LUC_EW_igammac : LUC_EW_igamma;
  const function f = {"igamma", op, NULL, NULL, 0, 0, 2, false, {0}};
  double y;
  if (!is_double) a = (double)(float)a, x = (double)(float)x;
  long double want = gamma_share(a, x, upper);
  if (want < (is_double ? 1e-300L : 1e-30L) || want == 1) return 0;
  run(kernels, &f, is_double, &a, &x, &y, 1);
  return ulps(y, want, 0, is_double);
}

static double worst_share(const luc_kernels *kernels, bool upper, bool is_double) {
  static const double shares[] = {0.01, 0.3, 0.6, 0.9, 1, 1.02, 1.2, 1.7, 4};
  static const double hard[][2] = {
      {0.16647533095781675, 0.96953344588040258}, {0.43871331908822153, 0.3989946725708265},
      {7.5749650496655381, 7.5277629087982474},   {9.5920061772388188, 13.349331285222625},
      {162.66288168410347, 94.212625511404667},   {5416.7815094168027, 7985.1633506598846},
      {5909.0460455367447, 3587.5844448824664}};
  double worst = 0;
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
    worst = fmax(worst, share_off(kernels, hard[i][0], hard[i][1], upper, is_double));
  for (int i = 0; i < 250; i++)
    for (int j = 0; j < 9; j++) {
      double a = 0.01 * pow(1.06, i);
      worst = fmax(worst, share_off(kernels, a, a * shares[j], upper, is_double));
    }
  return worst;
}

TEST("incomplete gamma functions are within 1 ulp, of doubles within 4") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (int upper = 0; upper < 2; upper++) {
      CHECK(worst_share(luc__kernels(ctx), upper, false) <= 1);
      CHECK(worst_share(luc__kernels(ctx), upper, true) <= 4);
    }
  }
}

/* ---- rests ---- */

/* A number of 64 random bits, of any size. */
static uint64_t next_bits(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Random numbers of type T through kernel `op`, beside `want`: bit for bit but for NaN. */
#define SAME_AS(T, compute, op, want)                                                              \
  for (int64_t i = 0; i < N; i++) {                                                                \
    uint64_t bits = next_bits(&state), more = next_bits(&state);                                   \
    memcpy(&a##T[i], &bits, sizeof(T));                                                            \
    memcpy(&b##T[i], i % 3 ? &more : &bits, sizeof(T));                                            \
    if (i % 3 == 0) b##T[i] = b##T[i] / 3; /* near quotients too */                                \
    if (b##T[i] == 0) b##T[i] = 1;                                                                 \
  }                                                                                                \
  luc__kernels(ctx)->elementwise[op].fn[compute](y##T, (const void *[]){a##T, b##T, NULL}, N,      \
                                                 &(luc_ew_params){{0}, {0}}, 0);                   \
  for (int64_t i = 0; i < N; i++) {                                                                \
    T exact = want(a##T[i], b##T[i]);                                                              \
    bad += exact == exact ? memcmp(&exact, &y##T[i], sizeof(T)) != 0 : y##T[i] == y##T[i];         \
  }

static int64_t rest_of(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}

TEST("fmod is exact for numbers of any size") {
  static float afloat[N], bfloat[N], yfloat[N];
  static double adouble[N], bdouble[N], ydouble[N];
  static int64_t aint64_t[N], bint64_t[N], yint64_t[N];
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    uint64_t state = 88172645463325252u;
    int bad = 0;
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    SAME_AS(float, LUC_COMPUTE_F32, LUC_EW_fmod, fmodf)
    SAME_AS(double, LUC_COMPUTE_F64, LUC_EW_fmod, fmod)
    SAME_AS(int64_t, LUC_COMPUTE_I64, LUC_EW_fmod, rest_of)
    CHECK_EQ(bad, 0);
  }
}
