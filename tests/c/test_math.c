/* The float kernels of exp, log and their kin against the C library in double, on every instruction
 * set: at most 2 ulp over the whole range, and exact special values. */
#include "cpu/elementwise.h"
#include "cpu/kernels.h"
#include "test.h"

enum { N = 1 << 15 };

static luc_context *open_context(void) {
  luc_context *ctx = NULL;
  CHECK_EQ(luc_context_new(NULL, &ctx), LUC_OK);
  return ctx;
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static float float_at(double bits) {
  uint32_t b = (uint32_t)bits;
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}

/* Distance in units of the last place of the exact result. */
static double ulps(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  float near = (float)want;
  if (isinf(near)) return got == near ? 0 : INFINITY;
  if (isnan(got) || isinf(got)) return INFINITY;
  float size = fabsf(near);
  float unit = size < 0x1p-126f ? 0x1p-149f : nextafterf(size, INFINITY) - size;
  return fabs((double)got - want) / (double)unit;
}

typedef struct function {
  luc_ew op;
  double (*exact)(double);
  float low, high; /* both signs are walked bit by bit between these sizes */
  double allowed;
} function;

static double worst_of(const luc_ew_kernel *kernels, const function *f, float *where) {
  static float x[N], y[N];
  double worst = 0;
  uint32_t from, to;
  memcpy(&from, &f->low, 4);
  memcpy(&to, &f->high, 4);
  for (int sign = 0; sign < 2; sign++) {
    for (int i = 0; i < N; i++) {
      double place = (double)from + ((double)to - (double)from) * i / (N - 1);
      x[i] = sign ? -float_at(place) : float_at(place);
    }
    const void *in[3] = {x, NULL, NULL};
    kernels[f->op].fn[LUC_COMPUTE_F32](y, in, N, &(luc_ew_params){{0}, {0}}, 0);
    for (int i = 0; i < N; i++) {
      double off = ulps(y[i], f->exact((double)x[i]));
      if (off > worst) {
        worst = off;
        *where = x[i];
      }
    }
  }
  return worst;
}

TEST("float functions are within 2 ulp of the exact values") {
  static const function functions[] = {
      {LUC_EW_exp, exp, 1e-8f, 110, 2},        {LUC_EW_expm1, expm1, 1e-30f, 90, 2},
      {LUC_EW_log, log, 1e-44f, 3e38f, 2},     {LUC_EW_log1p, log1p, 1e-40f, 3e38f, 2},
      {LUC_EW_tanh, tanh, 1e-40f, 100, 2},     {LUC_EW_erf, erf, 1e-30f, 20, 2},
      {LUC_EW_exp2, exp2, 1e-8f, 152, 2},      {LUC_EW_log2, log2, 1e-44f, 3e38f, 2},
      {LUC_EW_log10, log10, 1e-44f, 3e38f, 2}, {LUC_EW_sigmoid, sigmoid, 1e-8f, 103, 2.5},
      {LUC_EW_sin, sin, 1e-40f, 3e38f, 2},     {LUC_EW_cos, cos, 1e-40f, 3e38f, 2},
      {LUC_EW_sin, sin, 1e-3f, 3e4f, 2},       {LUC_EW_cos, cos, 1e-3f, 3e4f, 2}};
  luc_context *ctx = open_context();
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
      float where = 0;
      double worst = worst_of(luc__kernels(ctx)->elementwise, &functions[i], &where);
      CHECK(worst <= functions[i].allowed);
      if (worst > functions[i].allowed)
        fprintf(stderr, "  isa %d, function %d: %g ulp at %g\n", isa, (int)i, worst, (double)where);
    }
  }
  luc_context_free(ctx);
}

TEST("float functions keep infinities, NaN and zeros") {
  static const luc_ew ops[] = {LUC_EW_exp,   LUC_EW_expm1,   LUC_EW_log,  LUC_EW_log1p,
                               LUC_EW_tanh,  LUC_EW_erf,     LUC_EW_exp2, LUC_EW_log2,
                               LUC_EW_log10, LUC_EW_sigmoid, LUC_EW_sin,  LUC_EW_cos};
  static double (*const exact[])(double) = {exp,  expm1, log,   log1p,   tanh, erf,
                                            exp2, log2,  log10, sigmoid, sin,  cos};
  float x[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3e38f, -3e38f, -1.0f, 1.0f};
  enum { COUNT = sizeof x / sizeof *x };
  luc_context *ctx = open_context();
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (int f = 0; f < 12; f++) {
      float y[COUNT];
      const void *in[3] = {x, NULL, NULL};
      luc__kernels(ctx)->elementwise[ops[f]].fn[LUC_COMPUTE_F32](y, in, COUNT,
                                                                 &(luc_ew_params){{0}, {0}}, 0);
      for (int i = 0; i < COUNT; i++) {
        float want = (float)exact[f]((double)x[i]);
        bool same = isnan(want) ? isnan(y[i]) : ulps(y[i], want) <= 1;
        if (want == 0 && x[i] == 0) same = signbit(y[i]) == signbit(want);
        CHECK(same);
        if (!same)
          fprintf(stderr, "  isa %d, function %d at %g: %g\n", isa, f, (double)x[i], (double)y[i]);
      }
    }
  }
  luc_context_free(ctx);
}

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
