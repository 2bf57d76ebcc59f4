/* GCC vector types of this instruction set's width, with the few operations C lacks: unaligned and
 * partial loads, broadcasts and sums over lanes. For *.isa.c files, which see it through
 * real_f32.inc and real_f64.inc. Partial accesses never touch memory outside their n lanes. */
#ifndef LUC_SIMD_H
#define LUC_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cpu/isa.h"
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#define LUC_INLINE static inline __attribute__((always_inline, unused))

/* Keeps what was loaded in a register: GCC would load it again for each of its uses. */
#if defined(__x86_64__)
#define LUC_KEEP(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define LUC_KEEP(x) __asm__("" : "+w"(x))
#else
#define LUC_KEEP(x) (void)(x)
#endif

typedef float luc_vf32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef double luc_vf64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef int32_t luc_vi32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef uint32_t luc_vu32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef int64_t luc_vi64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef uint64_t luc_vu64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef luc_vf32 luc_vf32_any __attribute__((aligned(4), may_alias));
typedef luc_vf64 luc_vf64_any __attribute__((aligned(8), may_alias));

/* The larger and the smaller lanes of two: b's where either is NaN. */
#if defined(__AVX512F__)
#define LUC_MM(name) _mm512_##name
#elif defined(__AVX2__)
#define LUC_MM(name) _mm256_##name
#elif defined(__SSE2__)
#define LUC_MM(name) _mm_##name
#endif
#ifdef LUC_MM
#define LUC_PICK(name, V, VI, op, mm)                                                              \
  LUC_INLINE V name(V a, V b) {                                                                    \
    return (V)LUC_MM(mm)(a, b);                                                                    \
  }
#else
#define LUC_PICK(name, V, VI, op, mm)                                                              \
  LUC_INLINE V name(V a, V b) {                                                                    \
    VI first = (VI)(a op b);                                                                       \
    return (V)((first & (VI)a) | (~first & (VI)b));                                                \
  }
#endif
LUC_PICK(luc__larger_f32, luc_vf32, luc_vi32, >, max_ps)
LUC_PICK(luc__smaller_f32, luc_vf32, luc_vi32, <, min_ps)
LUC_PICK(luc__larger_f64, luc_vf64, luc_vi64, >, max_pd)
LUC_PICK(luc__smaller_f64, luc_vf64, luc_vi64, <, min_pd)
#undef LUC_PICK

/* yes where a < b, else no: one instruction less than by a mask of lanes where comparisons have
 * registers of their own. */
#if defined(__AVX512F__)
#define LUC_PICK(name, V, VI, type)                                                                \
  LUC_INLINE V name(V a, V b, V yes, V no) {                                                       \
    return (V)_mm512_mask_blend_##type(_mm512_cmp_##type##_mask(a, b, _CMP_LT_OQ), no, yes);       \
  }
#else
#define LUC_PICK(name, V, VI, type)                                                                \
  LUC_INLINE V name(V a, V b, V yes, V no) {                                                       \
    VI first = (VI)(a < b);                                                                        \
    return (V)((first & (VI)yes) | (~first & (VI)no));                                             \
  }
#endif
LUC_PICK(luc__below_f32, luc_vf32, luc_vi32, ps)
LUC_PICK(luc__below_f64, luc_vf64, luc_vi64, pd)
#undef LUC_PICK

/* The larger and the smaller, but NaN where either is. */
#if defined(__AVX512F__)
#define LUC_PICK(name, V, VI, plain, type, mm)                                                     \
  LUC_INLINE V name(V a, V b) {                                                                    \
    return (V)_mm512_mask_##mm(a, _mm512_cmp_##type##_mask(a, a, _CMP_ORD_Q), a, b);               \
  }
#else
#define LUC_PICK(name, V, VI, plain, type, mm)                                                     \
  LUC_INLINE V name(V a, V b) {                                                                    \
    VI nan = (VI)(b != b);                                                                         \
    return (V)((nan & (VI)b) | (~nan & (VI)plain(b, a)));                                          \
  }
#endif
LUC_PICK(luc__maximum_f32, luc_vf32, luc_vi32, luc__larger_f32, ps, max_ps)
LUC_PICK(luc__minimum_f32, luc_vf32, luc_vi32, luc__smaller_f32, ps, min_ps)
LUC_PICK(luc__maximum_f64, luc_vf64, luc_vi64, luc__larger_f64, pd, max_pd)
LUC_PICK(luc__minimum_f64, luc_vf64, luc_vi64, luc__smaller_f64, pd, min_pd)
#undef LUC_PICK

#if defined(__AVX512F__)

LUC_INLINE luc_vf32 luc__load_part_f32(const float *p, int n) {
  return (luc_vf32)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
LUC_INLINE void luc__store_part_f32(float *p, luc_vf32 x, int n) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
}
LUC_INLINE luc_vf64 luc__load_part_f64(const double *p, int n) {
  return (luc_vf64)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
}
LUC_INLINE void luc__store_part_f64(double *p, luc_vf64 x, int n) {
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)x);
}

#elif defined(__AVX2__)

/* A window into these at lane 8 - n (4 - n) has its first n lanes set. */
static const int32_t luc__lanes_i32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t luc__lanes_i64[8] = {-1, -1, -1, -1};

LUC_INLINE luc_vf32 luc__load_part_f32(const float *p, int n) {
  __m256i mask = _mm256_loadu_si256((const __m256i *)(luc__lanes_i32 + 8 - n));
  return (luc_vf32)_mm256_maskload_ps(p, mask);
}
LUC_INLINE void luc__store_part_f32(float *p, luc_vf32 x, int n) {
  __m256i mask = _mm256_loadu_si256((const __m256i *)(luc__lanes_i32 + 8 - n));
  _mm256_maskstore_ps(p, mask, (__m256)x);
}
LUC_INLINE luc_vf64 luc__load_part_f64(const double *p, int n) {
  __m256i mask = _mm256_loadu_si256((const __m256i *)(luc__lanes_i64 + 4 - n));
  return (luc_vf64)_mm256_maskload_pd(p, mask);
}
LUC_INLINE void luc__store_part_f64(double *p, luc_vf64 x, int n) {
  __m256i mask = _mm256_loadu_si256((const __m256i *)(luc__lanes_i64 + 4 - n));
  _mm256_maskstore_pd(p, mask, (__m256d)x);
}

#else

LUC_INLINE luc_vf32 luc__load_part_f32(const float *p, int n) {
  luc_vf32 x = {0};
  for (int i = 0; i < n; i++) x[i] = p[i];
  return x;
}
LUC_INLINE void luc__store_part_f32(float *p, luc_vf32 x, int n) {
  for (int i = 0; i < n; i++) p[i] = x[i];
}
LUC_INLINE luc_vf64 luc__load_part_f64(const double *p, int n) {
  luc_vf64 x = {0};
  for (int i = 0; i < n; i++) x[i] = p[i];
  return x;
}
LUC_INLINE void luc__store_part_f64(double *p, luc_vf64 x, int n) {
  for (int i = 0; i < n; i++) p[i] = x[i];
}

#endif

/* a * b + c, rounded once where the machine can. */
LUC_INLINE luc_vf32 luc__fused_f32(luc_vf32 a, luc_vf32 b, luc_vf32 c) {
#if defined(__FMA__)
  return (luc_vf32)LUC_MM(fmadd_ps)(a, b, c);
#else
  return a * b + c;
#endif
}

LUC_INLINE luc_vf64 luc__fused_f64(luc_vf64 a, luc_vf64 b, luc_vf64 c) {
#if defined(__FMA__)
  return (luc_vf64)LUC_MM(fmadd_pd)(a, b, c);
#else
  return a * b + c;
#endif
}

LUC_INLINE luc_vf32 luc__floor_f32(luc_vf32 x) {
#if defined(__AVX2__)
  return (luc_vf32)LUC_MM(floor_ps)(x);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 4); i++) x[i] = __builtin_floorf(x[i]);
  return x;
#endif
}
LUC_INLINE luc_vf64 luc__floor_f64(luc_vf64 x) {
#if defined(__AVX2__)
  return (luc_vf64)LUC_MM(floor_pd)(x);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 8); i++) x[i] = __builtin_floor(x[i]);
  return x;
#endif
}

/* To the nearest whole number, even ones where two are. */
LUC_INLINE luc_vf32 luc__round_f32(luc_vf32 x) {
#if defined(__AVX512F__)
  return (luc_vf32)_mm512_roundscale_ps(x, 0);
#elif defined(__AVX2__)
  return (luc_vf32)_mm256_round_ps(x, 0);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 4); i++) x[i] = __builtin_rintf(x[i]);
  return x;
#endif
}
LUC_INLINE luc_vf64 luc__round_f64(luc_vf64 x) {
#if defined(__AVX512F__)
  return (luc_vf64)_mm512_roundscale_pd(x, 0);
#elif defined(__AVX2__)
  return (luc_vf64)_mm256_round_pd(x, 0);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 8); i++) x[i] = __builtin_rint(x[i]);
  return x;
#endif
}

LUC_INLINE luc_vf32 luc__root_f32(luc_vf32 x) {
#ifdef LUC_MM
  return (luc_vf32)LUC_MM(sqrt_ps)(x);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 4); i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
LUC_INLINE luc_vf64 luc__root_f64(luc_vf64 x) {
#ifdef LUC_MM
  return (luc_vf64)LUC_MM(sqrt_pd)(x);
#else
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 8); i++) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/* Half a vector of floats as doubles, and back. GCC makes a conversion of each quarter and joins
 * them, where it knows of one instruction. */
typedef float luc_half_f32 __attribute__((vector_size(LUC_VECTOR_BYTES / 2)));

LUC_INLINE luc_vf64 luc__widened(luc_half_f32 x) {
#if defined(__AVX512F__)
  return (luc_vf64)_mm512_cvtps_pd((__m256)x);
#elif defined(__AVX2__)
  return (luc_vf64)_mm256_cvtps_pd((__m128)x);
#else
  return __builtin_convertvector(x, luc_vf64);
#endif
}
LUC_INLINE luc_half_f32 luc__narrowed(luc_vf64 x) {
#if defined(__AVX512F__)
  return (luc_half_f32)_mm512_cvtpd_ps((__m512d)x);
#elif defined(__AVX2__)
  return (luc_half_f32)_mm256_cvtpd_ps((__m256d)x);
#else
  return __builtin_convertvector(x, luc_half_f32);
#endif
}
LUC_INLINE luc_half_f32 luc__half(luc_vf32 x, int second) {
#if defined(__AVX512F__)
  const __m512 y = (__m512)x;
  return (luc_half_f32)(second ? _mm512_extractf32x8_ps(y, 1) : _mm512_castps512_ps256(y));
#else
  luc_half_f32 halves[2];
  memcpy(halves, &x, sizeof x);
  return halves[second];
#endif
}

/* Is any lane of a comparison set? */
LUC_INLINE bool luc__any_i32(luc_vi32 mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8((__m256i)mask) != 0;
#else
  int32_t any = 0;
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 4); i++) any |= mask[i];
  return any != 0;
#endif
}
LUC_INLINE bool luc__any_f32(luc_vi32 mask) {
  return luc__any_i32(mask);
}
LUC_INLINE bool luc__any_f64(luc_vi64 mask) {
  return luc__any_i32((luc_vi32)mask);
}

/* A whole register to aligned memory, past the cache where the machine can: memory that is larger
 * than the cache need not be read before it is written. Others see it after luc__stream_end. */
LUC_INLINE void luc__stream(void *p, const void *x) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, *(const __m512 *)x);
#else
  memcpy(p, x, LUC_VECTOR_BYTES);
#endif
}
LUC_INLINE void luc__stream_end(void) {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

/* Every other lane of a and b side by side: {a0, a2 to b0, b2} and {a1, a3 to b1, b3}. */
#if LUC_VECTOR_BYTES == 64
#define LUC_EVEN_I32                                                                               \
  { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 }
#define LUC_EVEN_I64                                                                               \
  { 0, 2, 4, 6, 8, 10, 12, 14 }
#elif LUC_VECTOR_BYTES == 32
#define LUC_EVEN_I32                                                                               \
  { 0, 2, 4, 6, 8, 10, 12, 14 }
#define LUC_EVEN_I64                                                                               \
  { 0, 2, 4, 6 }
#else
#define LUC_EVEN_I32                                                                               \
  { 0, 2, 4, 6 }
#define LUC_EVEN_I64                                                                               \
  { 0, 2 }
#endif

LUC_INLINE luc_vf32 luc__even_f32(luc_vf32 a, luc_vf32 b) {
  return __builtin_shuffle(a, b, (luc_vi32)LUC_EVEN_I32);
}
LUC_INLINE luc_vf32 luc__odd_f32(luc_vf32 a, luc_vf32 b) {
  return __builtin_shuffle(a, b, (luc_vi32)LUC_EVEN_I32 + 1);
}
LUC_INLINE luc_vf64 luc__even_f64(luc_vf64 a, luc_vf64 b) {
  return __builtin_shuffle(a, b, (luc_vi64)LUC_EVEN_I64);
}
LUC_INLINE luc_vf64 luc__odd_f64(luc_vf64 a, luc_vf64 b) {
  return __builtin_shuffle(a, b, (luc_vi64)LUC_EVEN_I64 + 1);
}

/* Pairs of lanes are complex numbers. The parts of each change places; the numbers themselves come
 * in backward order. */
#if LUC_VECTOR_BYTES == 64
#define LUC_SWAP_I32                                                                               \
  { 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14 }
#define LUC_SWAP_I64                                                                               \
  { 1, 0, 3, 2, 5, 4, 7, 6 }
#define LUC_BACKWARD_I32                                                                           \
  { 14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1 }
#define LUC_BACKWARD_I64                                                                           \
  { 6, 7, 4, 5, 2, 3, 0, 1 }
#elif LUC_VECTOR_BYTES == 32
#define LUC_SWAP_I32                                                                               \
  { 1, 0, 3, 2, 5, 4, 7, 6 }
#define LUC_SWAP_I64                                                                               \
  { 1, 0, 3, 2 }
#define LUC_BACKWARD_I32                                                                           \
  { 6, 7, 4, 5, 2, 3, 0, 1 }
#define LUC_BACKWARD_I64                                                                           \
  { 2, 3, 0, 1 }
#else
#define LUC_SWAP_I32                                                                               \
  { 1, 0, 3, 2 }
#define LUC_SWAP_I64                                                                               \
  { 1, 0 }
#define LUC_BACKWARD_I32                                                                           \
  { 2, 3, 0, 1 }
#define LUC_BACKWARD_I64                                                                           \
  { 0, 1 }
#endif

LUC_INLINE luc_vf32 luc__swap_f32(luc_vf32 x) {
  return __builtin_shuffle(x, (luc_vi32)LUC_SWAP_I32);
}
LUC_INLINE luc_vf64 luc__swap_f64(luc_vf64 x) {
  return __builtin_shuffle(x, (luc_vi64)LUC_SWAP_I64);
}
LUC_INLINE luc_vf32 luc__backward_f32(luc_vf32 x) {
  return __builtin_shuffle(x, (luc_vi32)LUC_BACKWARD_I32);
}
LUC_INLINE luc_vf64 luc__backward_f64(luc_vf64 x) {
  return __builtin_shuffle(x, (luc_vi64)LUC_BACKWARD_I64);
}
/* The real, or the imaginary, parts in both their places. */
LUC_INLINE luc_vf32 luc__real_f32(luc_vf32 x) {
  return __builtin_shuffle(x, (luc_vi32)LUC_SWAP_I32 & ~1);
}
LUC_INLINE luc_vf64 luc__real_f64(luc_vf64 x) {
  return __builtin_shuffle(x, (luc_vi64)LUC_SWAP_I64 & ~(int64_t)1);
}
LUC_INLINE luc_vf32 luc__imaginary_f32(luc_vf32 x) {
  return __builtin_shuffle(x, (luc_vi32)LUC_SWAP_I32 | 1);
}
LUC_INLINE luc_vf64 luc__imaginary_f64(luc_vf64 x) {
  return __builtin_shuffle(x, (luc_vi64)LUC_SWAP_I64 | (int64_t)1);
}
/* -1 in the lanes of real parts, 1 in the others. */
LUC_INLINE luc_vf32 luc__minus_real_f32(void) {
  return __builtin_convertvector(1 - 2 * ((luc_vi32)LUC_SWAP_I32 & 1), luc_vf32);
}
LUC_INLINE luc_vf64 luc__minus_real_f64(void) {
  return __builtin_convertvector(1 - 2 * ((luc_vi64)LUC_SWAP_I64 & 1), luc_vf64);
}

/* The zip of two halves, low and high: the step of which transposes are made. */
LUC_INLINE void luc__zip_f32(luc_vf32 *a, luc_vf32 *b) {
#if LUC_VECTOR_BYTES == 64
  const luc_vi32 low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
#elif LUC_VECTOR_BYTES == 32
  const luc_vi32 low = {0, 8, 1, 9, 2, 10, 3, 11};
#else
  const luc_vi32 low = {0, 4, 1, 5};
#endif
  luc_vf32 x = __builtin_shuffle(*a, *b, low);
  *b = __builtin_shuffle(*a, *b, low + (int)(LUC_VECTOR_BYTES / 8));
  *a = x;
}
LUC_INLINE void luc__zip_f64(luc_vf64 *a, luc_vf64 *b) {
#if LUC_VECTOR_BYTES == 64
  const luc_vi64 low = {0, 8, 1, 9, 2, 10, 3, 11};
#elif LUC_VECTOR_BYTES == 32
  const luc_vi64 low = {0, 4, 1, 5};
#else
  const luc_vi64 low = {0, 2};
#endif
  luc_vf64 x = __builtin_shuffle(*a, *b, low);
  *b = __builtin_shuffle(*a, *b, low + (int64_t)(LUC_VECTOR_BYTES / 16));
  *a = x;
}

#endif
