/* GCC vector types of this instruction set's width, with the operations C lacks (simd_real.inc has
 * those of float and double). For *.isa.c files, most of which see it through real_f32.inc and
 * real_f64.inc. Partial accesses never touch memory outside their n lanes. */
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

/* At each step of a loop that goes straight through memory, from + i: once a page it asks for the
 * next one's first line, from where the machine goes on by itself. Asking for all lines is slower,
 * as each then is asked for twice. */
LUC_INLINE void luc__ask_ahead(const void *from, int64_t i) {
  const uintptr_t page = 4096, next = ((uintptr_t)from + (uintptr_t)i) / page * page + page;
  if (i % (int64_t)page == 0) __builtin_prefetch((const void *)next);
}

typedef float luc_vf32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef double luc_vf64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef int32_t luc_vi32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef uint32_t luc_vu32 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef int64_t luc_vi64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef uint64_t luc_vu64 __attribute__((vector_size(LUC_VECTOR_BYTES)));
typedef luc_vf32 luc_vf32_any __attribute__((aligned(4), may_alias));
typedef luc_vf64 luc_vf64_any __attribute__((aligned(8), may_alias));

/* __builtin_shuffle of vectors V by lanes VI, where it is not the compiler's: known lanes become
 * the machine's instructions all the same. */
#ifdef __clang__
#define LUC_SHUFFLES(V, VI)                                                                        \
  LUC_INLINE __attribute__((overloadable)) V __builtin_shuffle(V a, V b, VI at) {                  \
    enum { N = sizeof a / sizeof a[0] };                                                           \
    V x = a;                                                                                       \
    for (int i = 0; i < N; i++) x[i] = at[i] & N ? b[at[i] & (N - 1)] : a[at[i] & (N - 1)];        \
    return x;                                                                                      \
  }                                                                                                \
  LUC_INLINE __attribute__((overloadable)) V __builtin_shuffle(V a, VI at) {                       \
    return __builtin_shuffle(a, a, at);                                                            \
  }
#else
#define LUC_SHUFFLES(V, VI)
#endif
LUC_SHUFFLES(luc_vf32, luc_vi32)
LUC_SHUFFLES(luc_vf64, luc_vi64)

/* The numbers of lanes, of floats and of doubles. */
#if LUC_VECTOR_BYTES == 64
#define LUC_LANES_F32                                                                              \
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#define LUC_LANES_F64                                                                              \
  { 0, 1, 2, 3, 4, 5, 6, 7 }
#elif LUC_VECTOR_BYTES == 32
#define LUC_LANES_F32                                                                              \
  { 0, 1, 2, 3, 4, 5, 6, 7 }
#define LUC_LANES_F64                                                                              \
  { 0, 1, 2, 3 }
#else
#define LUC_LANES_F32                                                                              \
  { 0, 1, 2, 3 }
#define LUC_LANES_F64                                                                              \
  { 0, 1 }
#endif

/* The machine's instructions: LUC_MM(add_ps). */
#if defined(__AVX512F__)
#define LUC_MM(name) _mm512_##name
#elif defined(__AVX2__)
#define LUC_MM(name) _mm256_##name
#elif defined(__SSE2__)
#define LUC_MM(name) _mm_##name
#endif

#define T                float
#define TI               int32_t
#define V                luc_vf32
#define VI               luc_vi32
#define LANES            ((int)(LUC_VECTOR_BYTES / sizeof(float)))
#define NUMBERS          LUC_LANES_F32
#define FN(name)         luc__##name##_f32
#define CFN(name)        __builtin_##name##f
#define MM(name)         LUC_MM(name##_ps)
#define MASK             __mmask16
#define SIGNS(x)         _mm512_movepi32_mask((__m512i)(x))
#define COMPARE(a, b, p) _mm512_cmp_ps_mask(a, b, p)
#define GATHER           LUC_MM(mask_i32gather_ps)
#include "cpu/simd_real.inc"

#define T                double
#define TI               int64_t
#define V                luc_vf64
#define VI               luc_vi64
#define LANES            ((int)(LUC_VECTOR_BYTES / sizeof(double)))
#define NUMBERS          LUC_LANES_F64
#define FN(name)         luc__##name##_f64
#define CFN(name)        __builtin_##name
#define MM(name)         LUC_MM(name##_pd)
#define MASK             __mmask8
#define SIGNS(x)         _mm512_movepi64_mask((__m512i)(x))
#define COMPARE(a, b, p) _mm512_cmp_pd_mask(a, b, p)
#define GATHER           LUC_MM(mask_i64gather_pd)
#include "cpu/simd_real.inc"

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
#elif defined(__AVX2__)
  _mm256_stream_ps(p, *(const __m256 *)x);
#else
  memcpy(p, x, LUC_VECTOR_BYTES);
#endif
}
LUC_INLINE void luc__stream_end(void) {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}

#endif
