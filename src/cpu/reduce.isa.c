/* Folding runs and rows of values into reduction states, compiled once per instruction set.
 * Rows of the table: reduce.def. */
#include "cpu/reduce.h"

#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/halves.h"
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

typedef luc_vf64 (*join_doubles)(luc_vf64, luc_vf64);

LUC_INLINE luc_vf64 add_doubles(luc_vf64 a, luc_vf64 b) {
  return a + b;
}
LUC_INLINE luc_vf64 multiply_doubles(luc_vf64 a, luc_vf64 b) {
  return a * b;
}
/* The larger and the smaller as in reduce_any.inc: b where it is NaN, a where both are equal. */
LUC_INLINE luc_vf64 larger_doubles(luc_vf64 a, luc_vf64 b) {
  return luc__select_f64((b > a) | (b != b), b, a);
}
LUC_INLINE luc_vf64 smaller_doubles(luc_vf64 a, luc_vf64 b) {
  return luc__select_f64((b < a) | (b != b), b, a);
}

LUC_INLINE luc_vf64 add_pairs(luc_vf64 a, luc_vf64 b) {
  return luc__even_f64(a, b) + luc__odd_f64(a, b);
}
LUC_INLINE luc_vf64 multiply_pairs(luc_vf64 a, luc_vf64 b) {
  return luc__even_f64(a, b) * luc__odd_f64(a, b);
}
LUC_INLINE double join_all(luc_vf64 x, luc_vf64 (*pairs)(luc_vf64, luc_vf64)) {
  for (int n = WIDE; n > 1; n /= 2) x = pairs(x, x);
  return x[0];
}
/* The lanes of each x[i] joined, in the same order, in lane i; x is used up. */
LUC_INLINE luc_vf64 join_lanes(luc_vf64 x[WIDE], luc_vf64 (*pairs)(luc_vf64, luc_vf64)) {
  for (int n = WIDE; n > 1; n /= 2)
    for (int i = 0; i < n / 2; i++) x[i] = pairs(x[2 * i], x[2 * i + 1]);
  return x[0];
}

/* The first or the second half of x. */
LUC_INLINE luc_vf64 widened_f32(luc_vf32 x, int half) {
  return luc__widened(luc__half(x, half));
}

/* Ones to multiply by what was widened and is added, where the machine does both at once: those of
 * its pipes that only add convert. */
LUC_INLINE luc_vf64 ones_f32(void) {
  luc_vf64 ones = (luc_vf64){0} + 1;
  LUC_KEEP(ones);
  return ones;
}
LUC_INLINE luc_vf64 added_f32(luc_vf64 sum, luc_vf64 x, luc_vf64 ones) {
#if defined(__FMA__)
  return x * ones + sum;
#else
  (void)ones;
  return sum + x;
#endif
}

/* The same of doubles that memory widens to on its way: with AVX-512 half a vector of them, as the
 * machine takes longer for a whole one than for both halves. */
#if LUC_VECTOR_BYTES == 16
typedef luc_vf64 lying_f32;
LUC_INLINE luc_vf64 add_lying_f32(luc_vf64 sum, const float *p, luc_vf64 ones) {
  luc_half_f32 x;
  memcpy(&x, p, sizeof x);
  return added_f32(sum, luc__widened(x), ones);
}
#else
typedef double lying_f32 __attribute__((vector_size(32)));
LUC_INLINE lying_f32 add_lying_f32(lying_f32 sum, const float *p, luc_vf64 ones) {
  lying_f32 near;
  memcpy(&near, &ones, sizeof near);
  return (lying_f32)_mm256_cvtps_pd(_mm_loadu_ps(p)) * near + sum;
}
#endif

#include "cpu/reduce_real.inc"

/* Sums of what is taken of two neighbours in bfloat16, which is the upper half of a float. */
LUC_INLINE luc_vf32 pairs_bf16(LOAD, luc_vf32 (*part)(luc_vf32)) {
  luc_vu32 x = {0};
  const char *at = (const char *)p + i * (int64_t)sizeof(uint32_t); /* maybe none of a uint32_t's */
  if (left >= LANES)
    memcpy(&x, at, sizeof x);
  else
#if defined(__AVX512F__)
    x = (luc_vu32)_mm512_maskz_loadu_epi32((__mmask16)((1u << left) - 1), at);
#else
    memcpy(&x, at, (size_t)left * sizeof(uint32_t));
#endif
  return part((luc_vf32)(x << 16)) + part((luc_vf32)(x & 0xffff0000));
}

typedef luc_vf32 (*join_floats)(luc_vf32, luc_vf32);

LUC_INLINE luc_vf32 multiply_f32(luc_vf32 a, luc_vf32 b) {
  return a * b;
}
enum { JOINED = 16, MULTIPLIED = 4 }; /* rows of halves, as floats, at once */

/* Some rows of halves are joined as floats, then with the states: `sides` vectors, or what is
 * left. */
LUC_INLINE void join_halves(double *restrict s, const uint16_t *in, int64_t left, int64_t step,
                            int64_t rows, luc_vf32 (*load)(LOAD), join_floats join,
                            join_doubles into, const int sides) {
  luc_vf32 acc[4];
  for (int k = 0; k < sides; k++) acc[k] = load(in, k * LANES, left - k * LANES);
  for (int64_t r = 1; r < rows; r++)
    for (int k = 0; k < sides; k++)
      acc[k] = join(acc[k], load(in, r * step + k * LANES, left - k * LANES));
  for (int k = 0; k < sides * LANES / WIDE; k++) {
    luc_vf64 *states = (luc_vf64 *)(s + k * WIDE);
    *states = into(*states, widened_f32(acc[k * WIDE / LANES], k % (LANES / WIDE)));
  }
}

/* A last vector begins among columns that were joined before, of which nothing is kept. */
LUC_INLINE void half_rows(double *restrict s, const uint16_t *in, int64_t n, int64_t step,
                          int64_t count, luc_vf32 (*load)(LOAD), join_floats join,
                          join_doubles into) {
  const int64_t most = join == multiply_f32 ? MULTIPLIED : JOINED;
  for (int64_t r = 0; r < count; r += most, in += most * step) {
    const int64_t rows = count - r < most ? count - r : most, from = n > LANES ? n - LANES : 0;
    int64_t i = 0;
    for (; i + STEP_f32 <= n; i += STEP_f32)
      join_halves(s + i, in + i, STEP_f32, step, rows, load, join, into, 4);
    for (; i + LANES <= n; i += LANES)
      join_halves(s + i, in + i, LANES, step, rows, load, join, into, 1);
    if (i == n) continue;
    _Alignas(LUC_VECTOR_BYTES) double last[LANES] = {0};
    memcpy(last, s + from, (size_t)(n - from) * sizeof *s);
    join_halves(last, in + from, n - from, step, rows, load, join, into, 1);
    memcpy(s + i, last + (i - from), (size_t)(n - i) * sizeof *s);
  }
}
#define HALF_ROWS(id, type, load, join, into)                                                      \
  static void id##_rows_##type(void *restrict a, void *restrict b, const void *restrict in,        \
                               int64_t n, int64_t step, int64_t count, int64_t first) {            \
    (void)b, (void)first;                                                                          \
    half_rows(a, in, n, step, count, load, join, into);                                            \
  }
HALF_ROWS(max, f16, luc__widened_f16, vmaximum, luc__maximum_f64)
HALF_ROWS(max, bf16, luc__widened_bf16, vmaximum, luc__maximum_f64)
HALF_ROWS(min, f16, luc__widened_f16, vminimum, luc__minimum_f64)
HALF_ROWS(min, bf16, luc__widened_bf16, vminimum, luc__minimum_f64)
HALF_ROWS(prod, f16, luc__widened_f16, multiply_f32, multiply_doubles)
HALF_ROWS(prod, bf16, luc__widened_bf16, multiply_f32, multiply_doubles)

/* Sums of what is taken of halves. */
#define HALF_SUMS(id, part)                                                                        \
  LUC_INLINE luc_vf32 id##_of_f16(LOAD) {                                                          \
    return part(luc__widened_f16(p, i, left));                                                     \
  }                                                                                                \
  LUC_INLINE luc_vf32 id##_of_bf16(LOAD) {                                                         \
    return part(luc__widened_bf16(p, i, left));                                                    \
  }                                                                                                \
  LUC_INLINE luc_vf32 id##_of_pairs(LOAD) {                                                        \
    return pairs_bf16(p, i, left, part);                                                           \
  }                                                                                                \
  static void id##_run_f16(void *a, void *b, const void *in, int64_t n, int64_t first) {           \
    (void)b, (void)first;                                                                          \
    *(double *)a += total_of_f32(in, n, sizeof(uint16_t), id##_of_f16, itself_f32);                \
  }                                                                                                \
  static void id##_run_bf16(void *a, void *b, const void *in, int64_t n, int64_t first) {          \
    (void)b, (void)first;                                                                          \
    const double last = n % 2 ? (double)id##_of_bf16(in, n - 1, 1)[0] : 0;                         \
    *(double *)a += total_of_f32(in, n / 2, sizeof(uint32_t), id##_of_pairs, itself_f32) + last;   \
  }                                                                                                \
  HALF_ROWS(id, f16, id##_of_f16, add_f32, add_doubles)                                            \
  HALF_ROWS(id, bf16, id##_of_bf16, add_f32, add_doubles)
HALF_SUMS(sum, itself_f32)
HALF_SUMS(nansum, or_nothing_f32)

#define EXTREME(id, type, largest, joined)                                                         \
  static void id##_run_##type(void *a, void *b, const void *in, int64_t n, int64_t first) {        \
    (void)b, (void)first;                                                                          \
    *(double *)a = joined(*(double *)a, extreme_of_f32(in, n, largest, luc__widened_##type));      \
  }
EXTREME(max, f16, true, larger_f32)
EXTREME(max, bf16, true, larger_f32)
EXTREME(min, f16, false, smaller_f32)
EXTREME(min, bf16, false, smaller_f32)

#include "cpu/real_end.inc"

/* ---- double ---- */

#include "cpu/real_f64.inc"

LUC_INLINE luc_vf64 widened_f64(luc_vf64 x, int half) {
  (void)half;
  return x;
}

typedef luc_vf64 lying_f64;
LUC_INLINE luc_vf64 ones_f64(void) {
  return (luc_vf64){0};
}
LUC_INLINE luc_vf64 added_f64(luc_vf64 sum, luc_vf64 x, luc_vf64 ones) {
  (void)ones;
  return sum + x;
}
LUC_INLINE lying_f64 add_lying_f64(lying_f64 sum, const double *p, luc_vf64 ones) {
  return added_f64(sum, vload(p), ones);
}

#include "cpu/reduce_real.inc"

#include "cpu/real_end.inc"

#undef S
#undef S_MIN
#undef S_MAX

/* ---- integers, into int64_t: sums and products wrap around ---- */

#define S     int64_t
#define S_MIN INT64_MIN
#define S_MAX INT64_MAX

#define T     int64_t
#define T_MIN INT64_MIN
#define T_MAX INT64_MAX
#define FN(f) f##_i64
#include "cpu/reduce_int.inc"

#define T     int32_t
#define T_MIN INT32_MIN
#define T_MAX INT32_MAX
#define FN(f) f##_i32
#include "cpu/reduce_int.inc"

#define T     int16_t
#define T_MIN INT16_MIN
#define T_MAX INT16_MAX
#define FN(f) f##_i16
#include "cpu/reduce_int.inc"

#define T     int8_t
#define T_MIN INT8_MIN
#define T_MAX INT8_MAX
#define FN(f) f##_i8
#include "cpu/reduce_int.inc"

#define T     uint8_t
#define T_MIN 0
#define T_MAX UINT8_MAX
#define FN(f) f##_u8
#include "cpu/reduce_int.inc"

/* ---- the table ---- */

#define ROW(id, type, short_runs)                                                                  \
  { id##_init_##type, id##_run_##type, id##_rows_##type, id##_merge_##type, short_runs }
#define TURNED(id, type)  ROW(id, type, NULL)
#define SHORT(id, type)   ROW(id, type, id##_short_##type)
#define FLOATS(row, id)   row(id, f32), row(id, f64)
#define INTEGERS(row, id) row(id, i64), row(id, i32), row(id, i16), row(id, i8), row(id, u8)
#define LUC_RD_ALL(id)    {FLOATS(TURNED, id), INTEGERS(TURNED, id)},
#define ONE(id, type)                                                                              \
  { id##_init_##type, id##_run_##type, NULL, id##_merge_##type, NULL }
#define LUC_RD_ONE(id)        {FLOATS(ONE, id), INTEGERS(ONE, id)},
#define LUC_RD_REAL(id)       {FLOATS(TURNED, id)},
#define LUC_RD_REAL_SHORT(id) {FLOATS(SHORT, id)},
#define HALF(id, type, run)                                                                        \
  { id##_init_f32, run, id##_rows_##type, id##_merge_f32, NULL }
#define HALVES_OF(id)        HALF(id, f16, id##_run_f16), HALF(id, bf16, id##_run_bf16)
#define ROWS_OF(id)          HALF(id, f16, NULL), HALF(id, bf16, NULL)
#define LUC_RD_HALF(id)      {FLOATS(SHORT, id), INTEGERS(SHORT, id), HALVES_OF(id)},
#define LUC_RD_HALF_ROWS(id) {FLOATS(SHORT, id), INTEGERS(SHORT, id), ROWS_OF(id)},
#define LUC_RD_REAL_HALF(id) {FLOATS(SHORT, id), [LUC_RD_F16] = HALVES_OF(id)},

const luc_rd_kernel LUC_ISA_NAME(luc__reduce)[LUC_NUM_RDS][LUC_NUM_RD_TYPES] = {
#include "cpu/reduce.def"
};
