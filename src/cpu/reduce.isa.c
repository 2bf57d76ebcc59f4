/* Folding runs and rows of values into reduction states, compiled once per instruction set.
 * Rows of the table: reduce.def. */
#include "cpu/reduce.h"

#include <math.h>
#include <string.h>

#include "cpu/isa.h"
#include "tensor/half.h"

/* Doubles in a vector. */
enum { WIDE = LUC_VECTOR_BYTES / sizeof(double) };

#define S     double
#define S_MIN (-INFINITY)
#define S_MAX INFINITY

/* A vector from the i-th element on, of which `left` are there. */
#define LOAD const void *p, int64_t i, int64_t left

/* ---- float ---- */

#include "cpu/real_f32.inc"

LUC_INLINE luc_vf64 add_pairs(luc_vf64 a, luc_vf64 b) {
  return luc__even_f64(a, b) + luc__odd_f64(a, b);
}
LUC_INLINE double sum_lanes(luc_vf64 x) {
  for (int n = WIDE; n > 1; n /= 2) x = add_pairs(x, x);
  return x[0];
}
/* s[i] += the sum of the lanes of x[i], in the same order; x is used up. */
LUC_INLINE void add_lanes(double *s, luc_vf64 x[WIDE]) {
  for (int n = WIDE; n > 1; n /= 2)
    for (int i = 0; i < n / 2; i++) x[i] = add_pairs(x[2 * i], x[2 * i + 1]);
  *(luc_vf64 *)s += x[0];
}

/* The first or the second half of x, or of a vector's worth of memory. */
LUC_INLINE luc_vf64 widened_f32(luc_vf32 x, int half) {
  return luc__widened(luc__half(x, half));
}
LUC_INLINE luc_vf64 widened_at_f32(const float *p, int half) {
  luc_half_f32 x;
  memcpy(&x, p + half * (int)(sizeof x / sizeof *p), sizeof x);
  return luc__widened(x);
}

#include "cpu/reduce_real.inc"

/* Sums of two neighbours in bfloat16, which is the upper half of a float. */
LUC_INLINE luc_vf32 pairs_bf16(LOAD) {
  luc_vu32 x = {0};
  memcpy(&x, (const uint32_t *)p + i, left >= LANES ? sizeof x : (size_t)left * sizeof(uint32_t));
  return (luc_vf32)(x << 16) + (luc_vf32)(x & 0xffff0000);
}
static void sum_bf16_run_f32(void *a, void *b, const void *in, int64_t n, int64_t first) {
  (void)b, (void)first;
  const double last = n % 2 ? (double)luc__bfloat16_to_float(((const uint16_t *)in)[n - 1]) : 0;
  *(double *)a += total_of_f32(in, n / 2, sizeof(uint32_t), pairs_bf16, itself_f32) + last;
}

LUC_INLINE luc_vf32 widened_f16(LOAD) {
  uint16_t halves[LANES] = {0};
  memcpy(halves, (const uint16_t *)p + i, (size_t)(left < LANES ? left : LANES) * sizeof *halves);
#if defined(__AVX512F__)
  return (luc_vf32)_mm512_cvtph_ps(*(const __m256i_u *)halves);
#elif defined(__F16C__)
  return (luc_vf32)_mm256_cvtph_ps(*(const __m128i_u *)halves);
#else
  luc_vf32 x;
  for (int k = 0; k < LANES; k++) x[k] = luc__half_to_float(halves[k]);
  return x;
#endif
}
static void sum_f16_run_f32(void *a, void *b, const void *in, int64_t n, int64_t first) {
  (void)b, (void)first;
  *(double *)a += total_of_f32(in, n, sizeof(uint16_t), widened_f16, itself_f32);
}

#include "cpu/real_end.inc"

/* ---- double ---- */

#include "cpu/real_f64.inc"

LUC_INLINE luc_vf64 widened_f64(luc_vf64 x, int half) {
  (void)half;
  return x;
}
LUC_INLINE luc_vf64 widened_at_f64(const double *p, int half) {
  (void)half;
  return vload(p);
}

#include "cpu/reduce_real.inc"

#include "cpu/real_end.inc"

#undef S
#undef S_MIN
#undef S_MAX

/* ---- int64_t: sums and products wrap around ---- */

#define T     int64_t
#define S     int64_t
#define FN(f) f##_i64
#define S_MIN INT64_MIN
#define S_MAX INT64_MAX

static inline bool unordered_i64(int64_t x) {
  (void)x;
  return false;
}
static inline int64_t plus_i64(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}
static inline int64_t times_i64(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x * (uint64_t)y);
}
static int64_t sum_of_i64(const int64_t *p, int64_t n) {
  uint64_t y = 0;
  for (int64_t i = 0; i < n; i++) y += (uint64_t)p[i];
  return (int64_t)y;
}
static int64_t product_of_i64(const int64_t *p, int64_t n) {
  uint64_t y = 1;
  for (int64_t i = 0; i < n; i++) y *= (uint64_t)p[i];
  return (int64_t)y;
}
static int64_t max_of_i64(const int64_t *p, int64_t n) {
  int64_t best = INT64_MIN;
  for (int64_t i = 0; i < n; i++) best = p[i] > best ? p[i] : best;
  return best;
}
static int64_t min_of_i64(const int64_t *p, int64_t n) {
  int64_t best = INT64_MAX;
  for (int64_t i = 0; i < n; i++) best = p[i] < best ? p[i] : best;
  return best;
}

#include "cpu/reduce_any.inc"

static void sum_rows_i64(void *restrict a, void *restrict b, const void *restrict in, int64_t n,
                         int64_t step, int64_t count, int64_t first) {
  (void)b, (void)first;
  each_row_i64(a, in, n, step, count, plus_i64);
}
static void max_rows_i64(void *restrict a, void *restrict b, const void *restrict in, int64_t n,
                         int64_t step, int64_t count, int64_t first) {
  (void)b, (void)first;
  each_row_i64(a, in, n, step, count, larger_i64);
}
static void min_rows_i64(void *restrict a, void *restrict b, const void *restrict in, int64_t n,
                         int64_t step, int64_t count, int64_t first) {
  (void)b, (void)first;
  each_row_i64(a, in, n, step, count, smaller_i64);
}

/* ---- the table ---- */

#define ROW(id, type, short_runs)                                                                  \
  { id##_init_##type, id##_run_##type, id##_rows_##type, id##_merge_##type, short_runs }
#define FLOATS(id)            ROW(id, f32, NULL), ROW(id, f64, NULL)
#define SHORT(id)             ROW(id, f32, id##_short_f32), ROW(id, f64, id##_short_f64)
#define LUC_RD_ALL(id)        {FLOATS(id), ROW(id, i64, NULL)},
#define LUC_RD_ALL_SHORT(id)  {SHORT(id), ROW(id, i64, NULL)},
#define LUC_RD_REAL(id)       {FLOATS(id)},
#define LUC_RD_REAL_SHORT(id) {SHORT(id)},
#define LUC_RD_RUNS(id)       {{sum_init_f32, id##_run_f32, NULL, sum_merge_f32, NULL}},

const luc_rd_kernel LUC_ISA_NAME(luc__reduce)[LUC_NUM_RDS][LUC_NUM_COMPUTES] = {
#include "cpu/reduce.def"
};
