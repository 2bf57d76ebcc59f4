/* The serial pieces of matrix products, for float, double, halves, complex numbers and
 * integers. */
#include <stddef.h>
#include <string.h>

#include "cpu/gemm_kernels.h"
#include "tensor/half.h"

#include "cpu/real_f32.inc"
#include "cpu/gemm.inc"
#include "cpu/gemm_few.inc"

/* LANES halves, and their floats. GCC's own conversion of vectors goes by quarters. */
typedef uint16_t luc_halves __attribute__((vector_size(LUC_VECTOR_BYTES / 2)));
typedef luc_halves luc_halves_any __attribute__((aligned(2), may_alias));

LUC_INLINE luc_halves first_halves(const uint16_t *p, int n) {
#if defined(__AVX512F__)
  return (luc_halves)_mm256_maskz_loadu_epi16((__mmask16)((1 << n) - 1), p);
#else
  luc_halves x = {0};
  for (int i = 0; i < n; i++) x[i] = p[i];
  return x;
#endif
}
LUC_INLINE V wide_bf16(luc_halves x) {
#if defined(__AVX512F__)
  return (V)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)x), 16);
#elif defined(__AVX2__)
  return (V)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)x), 16);
#elif defined(__SSE2__)
  return (V)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_set_epi64((__m64){0}, (__m64)x));
#else
  return (V)(__builtin_convertvector(x, VU) << 16);
#endif
}
/* As luc__half_to_float, where the machine has no such conversion. */
LUC_INLINE V wide_f16(luc_halves x) {
#if defined(__AVX512F__)
  return (V)_mm512_cvtph_ps((__m256i)x);
#elif defined(__F16C__)
  return (V)_mm256_cvtph_ps((__m128i)x);
#else
  const VI y = (VI)wide_bf16(x), bits = (y & 0x7fff0000) >> 3;
  const VI special = (VI)(bits >= 0x0f800000) & 0x7f800000;
  return (V)((VI)((V)bits * 0x1p112f) | special | (y & INT32_MIN));
#endif
}

#define HALF(name) name##_f16
#define NUMBER(h)  luc__half_to_float(h)
#include "cpu/gemm_half.inc"
#define HALF(name) name##_bf16
#define NUMBER(h)  luc__bfloat16_to_float(h)
#include "cpu/gemm_half.inc"
#include "cpu/gemm_complex.inc"
#include "cpu/real_end.inc"
#include "cpu/real_f64.inc"
#include "cpu/gemm.inc"
#include "cpu/gemm_few.inc"
#include "cpu/gemm_complex.inc"
#include "cpu/real_end.inc"

#define T          uint32_t
#define V          luc_vu32
#define REAL(name) luc__##name##_f32
#define REAL_V     luc_vf32
#define FN(name)   name##_i32
#include "cpu/gemm_int.inc"

#define T          uint64_t
#define V          luc_vu64
#define REAL(name) luc__##name##_f64
#define REAL_V     luc_vf64
#define FN(name)   name##_i64
#include "cpu/gemm_int.inc"

#define E        int16_t
#define FN(name) name##_i16
#include "cpu/gemm_narrow.inc"
#define E        int8_t
#define FN(name) name##_i8
#include "cpu/gemm_narrow.inc"
#define E        uint8_t
#define FN(name) name##_u8
#include "cpu/gemm_narrow.inc"

/* ORDER DTYPE */
const luc_gemm_kernels LUC_ISA_NAME(luc__gemm)[2] = {
    {block_f32, scattered_f32, dots_f32, outer_f32, tiny_f32, serial_f32, transpose_f32, NULL,
     NULL},
    {block_f64, scattered_f64, dots_f64, outer_f64, tiny_f64, serial_f64, transpose_f64, NULL,
     NULL},
};

const luc_gemm_unpacked_fn LUC_ISA_NAME(luc__gemm_unpacked)[LUC_GEMM_UNPACKED] = {
    product_i32, product_i64,  narrow_i16,          narrow_i8,          narrow_u8,
    product_f16, product_bf16, complex_product_f32, complex_product_f64};
