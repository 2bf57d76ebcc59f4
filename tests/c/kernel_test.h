/* What the tests of CPU kernels share: contexts per instruction set, random arrays of either dtype
 * held as doubles beside, and comparison with naive loops. */
#ifndef LUC_KERNEL_TEST_H
#define LUC_KERNEL_TEST_H

#include "cpu/kernels.h"
#include "tensor/dtype.h"
#include "test.h"

static uint64_t kt_seed = 88172645463325252u;

__attribute__((unused)) static uint64_t kt_next(void) {
  kt_seed ^= kt_seed << 13;
  kt_seed ^= kt_seed >> 7;
  kt_seed ^= kt_seed << 17;
  return kt_seed >> 11;
}

/* A random integer in [lo, hi]. */
__attribute__((unused)) static int64_t kt_int(int64_t lo, int64_t hi) {
  return lo + (int64_t)(kt_next() % (uint64_t)(hi - lo + 1));
}

/* An array as the kernel sees it (p) and as exact doubles (v), with a guard behind. */
typedef struct kt_array {
  void *p;
  double *v;
  int64_t n;
  luc_dtype dtype;
} kt_array;

enum { KT_GUARD = 16 };

__attribute__((unused)) static void kt_put(kt_array *a, int64_t i, double x) {
  if (a->dtype == LUC_FLOAT64)
    ((double *)a->p)[i] = x;
  else
    ((float *)a->p)[i] = (float)x;
}

__attribute__((unused)) static double kt_get(const kt_array *a, int64_t i) {
  return a->dtype == LUC_FLOAT64 ? ((double *)a->p)[i] : ((float *)a->p)[i];
}

/* n elements in [-1, 1) in steps that both dtypes hold exactly. Blocks end where the array ends, so
 * that tools see reads behind it. */
__attribute__((unused)) static kt_array kt_random(luc_dtype dtype, int64_t n) {
  kt_array a = {.n = n, .dtype = dtype};
  size_t size = dtype == LUC_FLOAT64 ? sizeof(double) : sizeof(float);
  a.p = malloc(size * (size_t)n + 1);
  a.v = malloc(sizeof(double) * (size_t)n + 1);
  for (int64_t i = 0; i < n; i++) {
    a.v[i] = (double)kt_int(-512, 511) / 512;
    kt_put(&a, i, a.v[i]);
  }
  return a;
}

/* What is wanted, before it is added up. */
__attribute__((unused)) static void kt_fill(kt_array *a, double value) {
  for (int64_t i = 0; i < a->n; i++) a->v[i] = value;
}

__attribute__((unused)) static void kt_free(kt_array *a) {
  free(a->p);
  free(a->v);
}

/* Fewer repetitions in short runs, which are slow builds. */
__attribute__((unused)) static int kt_rounds(int n) {
  return test_is_short() ? n / 8 + 1 : n;
}

/* Largest |got - want| over all, where v holds what is wanted. NaN and infinities must agree. */
__attribute__((unused)) static double kt_error(const kt_array *a) {
  double worst = 0;
  for (int64_t i = 0; i < a->n; i++) {
    double got = kt_get(a, i), want = a->v[i];
    if (isnan(got) && isnan(want)) continue;
    if (got == want) continue;
    double error = fabs(got - want);
    if (isnan(error)) return INFINITY;
    if (error > worst) worst = error;
  }
  return worst;
}

__attribute__((unused)) static void kt_check(const char *what, const kt_array *a,
                                             double tolerance) {
  double scale = a->dtype == LUC_FLOAT64 ? 1e-8 : 1;
  double error = kt_error(a);
  if (error > tolerance * scale) {
    fprintf(stderr, "  %s: error %g\n", what, error);
    CHECK(!"kernel differs from the naive loop");
  }
}

/* Calls fn for every instruction set of this machine and both dtypes, with 1 and 3 threads in turn.
 */
__attribute__((unused)) static void kt_everywhere(void (*fn)(luc_context *ctx, luc_dtype dtype)) {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    luc_config cfg = {.num_threads = isa == LUC_ISA_AVX2 ? 1 : 3};
    luc_context *ctx = NULL;
    CHECK_OK(luc_context_new(&cfg, &ctx));
    size_t before = luc_memory_stats(ctx).live;
    if (luc__kernels_use(ctx, (luc_isa)isa)) {
      fn(ctx, LUC_FLOAT32);
      fn(ctx, LUC_FLOAT64);
    }
    CHECK_EQ(luc_memory_stats(ctx).live, before);
    luc_context_free(ctx);
  }
}

#endif
