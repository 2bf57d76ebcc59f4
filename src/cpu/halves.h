/* Vectors of floats out of memory that holds halves: from the i-th element of p on, of which `left`
 * are there; the others come out as 0. And back to it. GCC's own conversion of vectors goes by
 * quarters. */
#ifndef LUC_HALVES_H
#define LUC_HALVES_H

#include "cpu/simd.h"
#include "tensor/half.h"

enum { LUC_FLOAT_LANES = LUC_VECTOR_BYTES / sizeof(float) };

/* As many halves as a vector has floats. */
typedef uint16_t luc_halves __attribute__((vector_size(LUC_VECTOR_BYTES / 2)));
typedef luc_halves luc_halves_any __attribute__((aligned(2), may_alias));

/* So many halves at p, fewer than four, as a word; and back. */
LUC_INLINE uint64_t luc__few_halves(const uint16_t *p, int64_t left) {
  uint32_t first, last;
  if (left < 2) return left > 0 ? *p : 0;
  memcpy(&first, p, sizeof first);
  memcpy(&last, p + left - 2, sizeof last);
  return first | (uint64_t)last << (16 * (left - 2));
}
LUC_INLINE void luc__put_few_halves(uint16_t *p, uint64_t x, int64_t left) {
  if (left == 1) *p = (uint16_t)x;
  if (left < 2) return;
  const uint32_t first = (uint32_t)x, last = (uint32_t)(x >> (16 * (left - 2)));
  memcpy(p, &first, sizeof first);
  memcpy(p + left - 2, &last, sizeof last);
}

LUC_INLINE luc_halves luc__halves(const void *from, int64_t i, int64_t left) {
  const uint16_t *p = (const uint16_t *)from + i;
  if (left >= LUC_FLOAT_LANES) return *(const luc_halves_any *)p;
#if defined(__AVX512F__)
  return (luc_halves)_mm256_maskz_loadu_epi16((__mmask16)((1u << left) - 1), p);
#elif defined(__AVX2__)
  if (left < 4) return (luc_halves)_mm_cvtsi64_si128((long long)luc__few_halves(p, left));
  uint64_t low, high = 0; /* the last four, of which the word has some */
  memcpy(&low, p, sizeof low);
  if (left > 4) memcpy(&high, p + left - 4, sizeof high), high >>= 16 * (8 - left);
  return (luc_halves)_mm_set_epi64x((long long)high, (long long)low);
#else
  return (luc_halves)luc__few_halves(p, left);
#endif
}

LUC_INLINE luc_vf32 luc__wide_bf16(luc_halves x) {
#if defined(__AVX512F__)
  return (luc_vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)x), 16);
#elif defined(__AVX2__)
  return (luc_vf32)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)x), 16);
#elif defined(__SSE2__)
  return (luc_vf32)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_set_epi64((__m64){0}, (__m64)x));
#else
  return (luc_vf32)(__builtin_convertvector(x, luc_vu32) << 16);
#endif
}

/* As luc__half_to_float, where the machine has no such conversion. */
LUC_INLINE luc_vf32 luc__wide_f16(luc_halves x) {
#if defined(__AVX512F__)
  return (luc_vf32)_mm512_cvtph_ps((__m256i)x);
#elif defined(__F16C__)
  return (luc_vf32)_mm256_cvtph_ps((__m128i)x);
#else
  const luc_vi32 y = (luc_vi32)luc__wide_bf16(x), bits = (y & 0x7fff0000) >> 3;
  const luc_vi32 special = (luc_vi32)(bits >= 0x0f800000) & 0x7f800000;
  return (luc_vf32)((luc_vi32)((luc_vf32)bits * 0x1p112f) | special | (y & INT32_MIN));
#endif
}

LUC_INLINE luc_vf32 luc__widened_f16(const void *p, int64_t i, int64_t left) {
  return luc__wide_f16(luc__halves(p, i, left));
}
LUC_INLINE luc_vf32 luc__widened_bf16(const void *p, int64_t i, int64_t left) {
  return luc__wide_bf16(luc__halves(p, i, left));
}

LUC_INLINE luc_halves luc__narrow(luc_vu32 x) {
#if defined(__AVX512F__)
  return (luc_halves)_mm512_cvtepi32_epi16((__m512i)x);
#elif defined(__AVX2__)
  const __m256i y = (__m256i)x;
  return (luc_halves)_mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
#elif defined(__SSE2__)
  const __m128i y = _mm_srai_epi32(_mm_slli_epi32((__m128i)x, 16), 16), z = _mm_packs_epi32(y, y);
  luc_halves low;
  memcpy(&low, &z, sizeof low);
  return low;
#else
  return __builtin_convertvector(x, luc_halves);
#endif
}
/* As luc__float_to_bfloat16. */
LUC_INLINE luc_halves luc__narrow_bf16(luc_vf32 x) {
  const luc_vu32 bits = (luc_vu32)x, rounded = bits + 0x7fff + (bits >> 16 & 1);
#if defined(__AVX512F__) /* every second 16 bits in one step */
  static const uint16_t odd[] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const __m512i places = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)odd));
  const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
  const __m512i y = _mm512_mask_mov_epi32((__m512i)rounded, nan, _mm512_set1_epi32(0x7fc00000));
  return (luc_halves)_mm512_castsi512_si256(_mm512_permutexvar_epi16(places, y));
#else
  const luc_vf32 nan = (luc_vf32)((luc_vu32){0} + 0x7fc00000);
  return luc__narrow((luc_vu32)luc__select_f32((luc_vi32)(x != x), nan, (luc_vf32)rounded) >> 16);
#endif
}
/* As luc__float_to_half, where the machine has no such conversion. */
LUC_INLINE luc_halves luc__narrow_f16(luc_vf32 x) {
#if defined(__AVX512F__)
  return (luc_halves)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  return (luc_halves)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
  const luc_vu32 bits = (luc_vu32)x, doubled = bits << 1, nan = (luc_vu32)(x != x);
  const luc_vf32 scaled = (luc_vf32)(bits & INT32_MAX) * 0x1p112f * 0x1p-110f;
  luc_vu32 exponent = doubled & 0xff000000u;
  const luc_vu32 is_small = (luc_vu32)(exponent < 0x71000000u);
  exponent = (exponent & ~is_small) | (0x71000000u & is_small);
  const luc_vu32 sum = (luc_vu32)(scaled + (luc_vf32)((exponent >> 1) + 0x07800000u));
  const luc_vu32 half = (sum >> 13 & 0x7c00) + (sum & 0x0fff);
  return luc__narrow((half & ~nan) | (0x7e00 & nan) | (bits >> 16 & 0x8000));
#endif
}

LUC_INLINE void luc__put_halves(void *p, luc_halves x, int64_t left) {
  uint16_t *to = p;
  if (left >= LUC_FLOAT_LANES) {
    *(luc_halves_any *)to = x;
    return;
  }
#if defined(__AVX512F__)
  _mm256_mask_storeu_epi16(to, (__mmask16)((1u << left) - 1), (__m256i)x);
#elif defined(__AVX2__)
  const uint64_t low = (uint64_t)_mm_cvtsi128_si64((__m128i)x);
  if (left < 4) {
    luc__put_few_halves(to, low, left);
    return;
  }
  memcpy(to, &low, sizeof low);
  if (left == 4) return;
  const uint64_t high = (uint64_t)_mm_extract_epi64((__m128i)x, 1);
  const uint64_t last = low >> (16 * (left - 4)) | high << (16 * (8 - left));
  memcpy(to + left - 4, &last, sizeof last);
#else
  luc__put_few_halves(to, (uint64_t)x, left);
#endif
}
/* As luc__stream. */
LUC_INLINE void luc__stream_halves(void *p, luc_halves x) {
#if defined(__AVX512F__)
  _mm256_stream_si256(p, (__m256i)x);
#elif defined(__AVX2__)
  _mm_stream_si128(p, (__m128i)x);
#else
  memcpy(p, &x, sizeof x);
#endif
}

#endif
