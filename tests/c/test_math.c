/* The kernels of exp, log, sin and their kin against the C library in long double, on every
 * instruction set: at most 2 ulp over the whole range, and exact special values. */
#include "cpu/elementwise.h"
#include "cpu/kernels.h"
#include "test.h"

enum { N = 1 << 13 };

static luc_context *open_context(void) {
  luc_context *ctx = NULL;
  CHECK_EQ(luc_context_new(NULL, &ctx), LUC_OK);
  return ctx;
}

/* ---- what the C library lacks ---- */

static const long double PI = 3.14159265358979323846264338327950288L;

static long double sigmoid(long double x) {
  return 1 / (1 + expl(-x));
}
/* Even, in the signs of its zeros too. */
static long double sinc(long double x) {
  x = fabsl(x);
  long double whole = rintl(x), sign = fmodl(whole, 2) == 0 ? 1 : -1;
  return x == 0 ? 1 : sign * sinl(PI * (x - whole)) / (PI * x);
}
static long double entr(long double x) {
  return x < 0 ? -INFINITY : x == 0 ? 0 : -x * logl(x);
}
/* The angle whose sine and tangent are, but for a sign, those of pi x. */
static long double off_whole(long double x) {
  return PI * (x - rintl(x));
}
static long double digamma(long double x) {
  static const long double terms[] = {1 / 12.0L,   691 / 32760.0L, -1 / 132.0L, 1 / 240.0L,
                                      -1 / 252.0L, 1 / 120.0L,     -1 / 12.0L};
  long double y = 0, z, sum = -terms[0];
  if (x == 0) return copysignl(INFINITY, -x);
  if (x == INFINITY || isnan(x)) return x;
  if (x < 0) return x == rintl(x) ? NAN : digamma(1 - x) - PI / tanl(off_whole(x));
  for (; x < 30; x += 1) y -= 1 / x;
  z = 1 / (x * x);
  for (int i = 1; i < 7; i++) sum = sum * z + terms[i];
  return y + logl(x) - 0.5L / x + z * sum;
}
/* By Newton's method. */
static long double erfinv(long double y) {
  long double a = fabsl(y), x = a < 0.99L ? a : 1.8L;
  if (!(a < 1)) return a == 1 ? copysignl(INFINITY, y) : NAN;
  for (int i = 0; i < 60; i++) {
    long double over = a > 0.5L ? (1 - a) - erfcl(x) : erfl(x) - a;
    x -= over * sqrtl(PI) / 2 * expl(x * x);
  }
  return copysignl(x, y);
}

static long double trigamma(long double x) {
  static const long double terms[] = {-691 / 2730.0L, 5 / 66.0L,  -1 / 30.0L,
                                      1 / 42.0L,      -1 / 30.0L, 1 / 6.0L};
  long double y = 0, z, sum = 7 / 6.0L;
  if (x == 0) return INFINITY;
  if (isinf(x) || isnan(x)) return x == INFINITY ? 0 : NAN;
  if (x < 0) return powl(PI / sinl(off_whole(x)), 2) - trigamma(1 - x);
  for (; x < 40; x += 1) y += 1 / (x * x);
  z = 1 / (x * x);
  for (int i = 0; i < 6; i++) sum = sum * z + terms[i];
  return y + 1 / x + z / 2 + z / x * sum;
}
static long double normal(long double x) {
  return 0.5L * erfcl(-x * sqrtl(0.5L));
}
static long double normal_inverse(long double p) {
  return p >= 0 && p <= 1 ? sqrtl(2) * erfinv(2 * p - 1) : NAN;
}
/* I of order 0 and 1, times e^-|x|. */
static long double scaled_bessel(int order, long double x) {
  long double term = expl(-fabsl(x)) * (order ? x / 2 : 1), sum = term;
  for (int k = 1; k < 2000 && sum != 0; k++) {
    term *= x * x / 4 / ((long double)k * (k + order));
    sum += term;
  }
  return isinf(x) ? (order ? copysignl(0, x) : 0) : sum;
}
static long double i0e(long double x) {
  return scaled_bessel(0, x);
}
static long double i1e(long double x) {
  return scaled_bessel(1, x);
}
static long double i0(long double x) {
  return isinf(x) ? INFINITY : i0e(x) * expl(fabsl(x));
}
static long double i1(long double x) {
  return isinf(x) ? x : i1e(x) * expl(fabsl(x));
}
/* K of order 0 and 1, times e^x: the trapezoidal rule on an integral. */
static long double scaled_bessel_k(int order, long double x) {
  if (!(x > 0)) return x == 0 ? INFINITY : NAN;
  long double h = x < 4 ? 0.2L : 0.4L / sqrtl(x), sum = 0.5L, term = 1;
  for (int k = 1; term > 1e-21L * sum; k++) {
    long double s = sinhl(k * h / 2);
    term = expl(-2 * x * s * s) * (order ? coshl(k * h) : 1);
    sum += term;
  }
  return isinf(x) ? 0 : h * sum;
}
static long double k0e(long double x) {
  return scaled_bessel_k(0, x);
}
static long double k1e(long double x) {
  return scaled_bessel_k(1, x);
}
static long double k0(long double x) {
  return isinf(x) && x > 0 ? 0 : k0e(x) * expl(-x);
}
static long double k1(long double x) {
  return isinf(x) && x > 0 ? 0 : k1e(x) * expl(-x);
}

static long double j0_of(long double x) {
  return isinf(x) ? NAN : j0l(x);
}
static long double j1_of(long double x) {
  return isinf(x) ? NAN : j1l(x);
}
static long double y0_of(long double x) {
  return isinf(x) || x < 0 ? NAN : y0l(x);
}
static long double y1_of(long double x) {
  return isinf(x) || x < 0 ? NAN : y1l(x);
}
static long double spherical_j0(long double x) {
  return isinf(x) ? 0 : x == 0 ? 1 : sinl(x) / x;
}

/* ---- distances ---- */

/* In units of the last place of the exact result, or of `least` where that is larger. */
static double ulps(double got, long double want, double least, bool is_double) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  double near = is_double ? (double)want : (double)(float)want, size = fmax(fabs(near), least),
         unit;
  if (isinf(near)) return got == near ? 0 : INFINITY;
  if (isnan(got) || isinf(got)) return INFINITY;
  if (is_double)
    unit = size < 0x1p-1022 ? 0x1p-1074 : nextafter(size, INFINITY) - size;
  else
    unit = size < 0x1p-126 ? 0x1p-149 : (double)(nextafterf((float)size, INFINITY) - (float)size);
  return (double)(fabsl((long double)got - want) / (long double)unit);
}

typedef struct function {
  const char *name;
  luc_ew op;
  long double (*exact)(long double);
  long double (*exact2)(long double, long double);
  double low, high; /* both signs are walked bit by bit between these sizes */
  double allowed;
} function;

#define ONE(id, exact, low, high, allowed)                                                         \
  { #id, LUC_EW_##id, exact, NULL, low, high, allowed }
#define TWO(id, exact, low, high, allowed)                                                         \
  { #id, LUC_EW_##id, NULL, exact, low, high, allowed }

/* The wide ranges are cut to those of the type. */
static const function functions[] = {ONE(exp, expl, 1e-8, 720, 2),
                                     ONE(exp2, exp2l, 1e-8, 1080, 2),
                                     ONE(expm1, expm1l, 1e-300, 720, 2),
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
                                     ONE(acosh, acoshl, 0.9, 1e308, 2),
                                     ONE(acosh, acoshl, 1, 10, 2),
                                     ONE(atanh, atanhl, 1e-320, 1.1, 2),
                                     ONE(atanh, atanhl, 0.01, 1, 2),
                                     ONE(erf, erfl, 1e-300, 30, 2),
                                     ONE(erf, erfl, 0.01, 5, 2),
                                     ONE(erfc, erfcl, 1e-300, 30, 2),
                                     ONE(erfc, erfcl, 0.01, 10, 2),
                                     ONE(erfinv, erfinv, 1e-300, 1, 2),
                                     ONE(erfinv, erfinv, 0.01, 0.9999, 2),
                                     ONE(sigmoid, sigmoid, 1e-8, 700, 2),
                                     ONE(sinc, sinc, 1e-8, 1e4, 2),
                                     ONE(entr, entr, 1e-300, 1e300, 2),
                                     ONE(lgamma, lgammal, 1e-300, 1e300, 2),
                                     ONE(lgamma, lgammal, 0.1, 12, 2),
                                     ONE(digamma, digamma, 1e-300, 1e300, 2),
                                     ONE(digamma, digamma, 0.1, 1.45, 2),
                                     ONE(digamma, digamma, 1.47, 12, 2),
                                     ONE(trigamma, trigamma, 1e-300, 1e300, 2),
                                     ONE(trigamma, trigamma, 0.1, 10, 2),
                                     ONE(ndtr, normal, 1e-300, 40, 2),
                                     ONE(ndtr, normal, 0.01, 9, 2),
                                     ONE(ndtri, normal_inverse, 0.002, 0.998, 2),
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
                                     TWO(hypot, hypotl, 1e-320, 1e308, 2),
                                     TWO(hypot, hypotl, 0.1, 10, 2),
                                     TWO(pow, powl, 1e-2, 20, 2),
                                     TWO(pow, powl, 0.9, 1.1, 2)};

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

static void run(const luc_ew_kernel *kernel, bool is_double, const double *a, const double *b,
                double *out, int n) {
  static float x[N], y[N], z[N];
  const luc_ew_params none = {{0}, {0}};
  if (is_double) {
    const void *in[3] = {a, b, NULL};
    kernel->fn[LUC_COMPUTE_F64](out, in, n, &none, 0);
    return;
  }
  for (int i = 0; i < n; i++) {
    x[i] = (float)a[i];
    y[i] = (float)b[i];
  }
  const void *in[3] = {x, y, NULL};
  kernel->fn[LUC_COMPUTE_F32](z, in, n, &none, 0);
  for (int i = 0; i < n; i++) out[i] = (double)z[i];
}

/* What is not defined there, or not told by these sums. */
static bool is_open(const function *f, double x) {
  bool bessel = f->exact == i0 || f->exact == i0e || f->exact == i1 || f->exact == i1e;
  return ((bessel || f->exact == sinc) && fabs(x) > 1e30) ||
         (f->exact == normal_inverse && fabs(x) < 1e-15);
}

/* How many times as far as elsewhere a result may be: near roots left of zero. */
static double slack(const function *f, double x) {
  return x < 0 && (f->exact == digamma || f->exact == lgammal) ? 2.1 : 1;
}

/* The size of a wave, near whose zeros only that counts. */
static double wave(const function *f, double x) {
  bool is_wave = f->exact == j0_of || f->exact == j1_of || f->exact == y0_of || f->exact == y1_of;
  return is_wave && fabs(x) > 0.5 ? sqrt(2 / (3.14159265358979323846 * fabs(x))) : 0;
}

static double worst_of(const luc_ew_kernel *kernels, const function *f, bool is_double,
                       double *where) {
  static double x[N], y[N], z[N];
  double worst = 0;
  for (int sign = 0; sign < 4; sign++) {
    for (int i = 0; i < N; i++) {
      x[i] = place(f, i, sign & 1, is_double);
      y[i] = place(f, (int)((unsigned)i * 2654435761u >> 9) % N, sign & 2, is_double);
    }
    run(&kernels[f->op], is_double, x, y, z, N);
    for (int i = 0; i < N; i++) {
      long double want = f->exact ? f->exact(x[i]) : f->exact2(x[i], y[i]);
      double off = ulps(z[i], want, wave(f, x[i]), is_double) / slack(f, x[i]);
      if (off > worst && !is_open(f, x[i])) {
        worst = off;
        *where = x[i];
      }
    }
    if (f->exact && sign == 1) break;
  }
  return worst;
}

static void check_functions(bool is_double) {
  luc_context *ctx = open_context();
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      const function *f = &functions[i];
      double where = 0, worst = worst_of(luc__kernels(ctx)->elementwise, f, is_double, &where);
      CHECK(worst <= f->allowed);
      if (worst > f->allowed)
        fprintf(stderr, "  isa %d, %s: %g ulp at %.17g\n", isa, f->name, worst, where);
    }
  }
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
  bool same = ulps(got, want, wave(f, x), is_double) <= f->allowed;
  if (same && want == 0) same = signbit(got) == (signbit(want) != 0);
  CHECK(same);
  if (!same)
    fprintf(stderr, "  isa %d, %s of %g, %g: %g, not %Lg\n", isa, f->name, x, y, got, want);
}

TEST("functions keep infinities, NaN and zeros") {
  static double x[EDGES * EDGES], y[EDGES * EDGES], z[EDGES * EDGES];
  luc_context *ctx = open_context();
  for (int i = 0; i < EDGES * EDGES; i++) {
    x[i] = (double)(float)edges[i / EDGES];
    y[i] = (double)(float)edges[i % EDGES];
  }
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
      for (int is_double = 0; is_double < 2; is_double++) {
        run(&luc__kernels(ctx)->elementwise[functions[f].op], is_double, x, y, z, EDGES * EDGES);
        for (int i = 0; i < EDGES * EDGES; i++)
          check_edge(&functions[f], isa, x[i], y[i], z[i], is_double);
      }
  }
  luc_context_free(ctx);
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
  luc_context *ctx = open_context();
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    uint64_t state = 88172645463325252u;
    int bad = 0;
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    SAME_AS(float, LUC_COMPUTE_F32, LUC_EW_fmod, fmodf)
    SAME_AS(double, LUC_COMPUTE_F64, LUC_EW_fmod, fmod)
    SAME_AS(int64_t, LUC_COMPUTE_I64, LUC_EW_fmod, rest_of)
    CHECK_EQ(bad, 0);
  }
  luc_context_free(ctx);
}
