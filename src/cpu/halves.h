/* Vectors of floats out of memory that holds halves: from the i-th element of p on, of which `left`
 * are there; the others come out as 0. */
#ifndef LUC_HALVES_H
#define LUC_HALVES_H

#include "cpu/simd.h"
#include "tensor/half.h"

enum { LUC_FLOAT_LANES = LUC_VECTOR_BYTES / sizeof(float) };

LUC_INLINE luc_vf32 luc__widened_f16(const void *p, int64_t i, int64_t left) {
#if defined(__AVX512F__)
  const __mmask16 lanes = (__mmask16)(left < LUC_FLOAT_LANES ? (1u << left) - 1 : 0xffff);
  return (luc_vf32)_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, (const uint16_t *)p + i));
#else
  uint16_t halves[LUC_FLOAT_LANES] = {0};
  memcpy(halves, (const uint16_t *)p + i,
         (size_t)(left < LUC_FLOAT_LANES ? left : LUC_FLOAT_LANES) * sizeof *halves);
#if defined(__F16C__)
  return (luc_vf32)_mm256_cvtph_ps(*(const __m128i_u *)halves);
#else
  luc_vf32 x;
  for (int k = 0; k < LUC_FLOAT_LANES; k++) x[k] = luc__half_to_float(halves[k]);
  return x;
#endif
#endif
}

LUC_INLINE luc_vf32 luc__widened_bf16(const void *p, int64_t i, int64_t left) {
#if defined(__AVX512F__)
  const __mmask16 lanes = (__mmask16)(left < LUC_FLOAT_LANES ? (1u << left) - 1 : 0xffff);
  const __m256i halves = _mm256_maskz_loadu_epi16(lanes, (const uint16_t *)p + i);
  return (luc_vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
#else
  uint16_t halves[LUC_FLOAT_LANES] = {0};
  memcpy(halves, (const uint16_t *)p + i,
         (size_t)(left < LUC_FLOAT_LANES ? left : LUC_FLOAT_LANES) * sizeof *halves);
  luc_vu32 x;
  for (int k = 0; k < LUC_FLOAT_LANES; k++) x[k] = (uint32_t)halves[k] << 16;
  return (luc_vf32)x;
#endif
}

#endif
