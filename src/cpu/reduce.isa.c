/* Folding runs and rows of values into reduction states, compiled once per instruction set.
 * Rows of the table: reduce.def. */
#include "cpu/reduce.h"

#include <math.h>
#include <string.h>

#include "cpu/isa.h"

#define S     double
#define S_MIN (-INFINITY)
#define S_MAX INFINITY

/* ---- float ---- */

#include "cpu/real_f32.inc"

/* Asks for memory that lies a little after these bytes. */
LUC_INLINE void ask_ahead(const void *p, size_t bytes) {
  enum { AHEAD = 1024, LINE = 64 };
  for (size_t i = 0; i < bytes; i += LINE) __builtin_prefetch((const char *)p + AHEAD + i);
}

LUC_INLINE double sum_lanes(luc_vf64 x) {
  for (size_t n = sizeof x / sizeof(double); n > 1; n /= 2)
    x = luc__even_f64(x, x) + luc__odd_f64(x, x);
  return x[0];
}

/* The first or the second half of x. */
LUC_INLINE luc_vf64 widened_f32(luc_vf32 x, int half) {
  return luc__widened(luc__half(x, half));
}

#include "cpu/reduce_real.inc"

#include "cpu/real_end.inc"

/* ---- double ---- */

#include "cpu/real_f64.inc"

LUC_INLINE luc_vf64 widened_f64(luc_vf64 x, int half) {
  (void)half;
  return x;
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

#define ROW(id, type)                                                                              \
  { id##_init_##type, id##_run_##type, id##_rows_##type, id##_merge_##type }
#define LUC_RD_ALL(id)  {ROW(id, f32), ROW(id, f64), ROW(id, i64)},
#define LUC_RD_REAL(id) {ROW(id, f32), ROW(id, f64), {NULL, NULL, NULL, NULL}},

const luc_rd_kernel LUC_ISA_NAME(luc__reduce)[LUC_NUM_RDS][LUC_NUM_COMPUTES] = {
#include "cpu/reduce.def"
};
