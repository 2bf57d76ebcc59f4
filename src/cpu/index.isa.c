/* Loops over positions, masks and bags of rows that become vector code. */
#include "cpu/cuts.h"
#include "cpu/halves.h"
#include "cpu/index_kernels.h"
#include "cpu/simd.h"

#include <string.h>

/* v = at - first and size - 1 - v are both at least 0 just when v is in range: one sign bit tells
 * for many. */
static bool in_range(const int64_t *at, int64_t n, int64_t first, int64_t size) {
  uint64_t last = (uint64_t)size - 1, low = (uint64_t)first, signs = size == 0 ? UINT64_MAX : 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = (uint64_t)at[i] - low;
    signs |= v | (last - v);
  }
  return n == 0 || !(signs >> 63);
}

static void offsets(int64_t *restrict out, const int64_t *restrict at, int64_t n, int64_t base,
                    int64_t stride, const int64_t *restrict places) {
  for (int64_t i = 0; !places && i < n; i++) out[i] = base + at[i] * stride;
  for (int64_t i = 0; places && i < n; i++) out[i] = base + at[i] * stride + places[i];
}

static void within(int64_t *at, int64_t n, int64_t from, int64_t to, int64_t spare) {
  for (int64_t i = 0; i < n; i++) at[i] = ((at[i] >= from) & (at[i] < to)) ? at[i] : spare;
}

/* KEEP is all ones where the mask is not set. */
#define FILL(name, T)                                                                              \
  static void name(char *restrict data, const bool *restrict mask, int64_t n, const void *value) { \
    T *out = (T *)data;                                                                            \
    const uint8_t *bits = (const uint8_t *)mask;                                                   \
    T v = *(const T *)value;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                              \
      T keep = (T)((T)(bits[i] & 1) - 1);                                                          \
      out[i] = (T)((out[i] & keep) | (v & (T)~keep));                                              \
    }                                                                                              \
  }
FILL(fill_8, uint8_t)
FILL(fill_16, uint16_t)
FILL(fill_32, uint32_t)
FILL(fill_64, uint64_t)

static void fill_128(char *restrict data, const bool *restrict mask, int64_t n, const void *value) {
  const uint8_t *bits = (const uint8_t *)mask;
  uint64_t *out = (uint64_t *)data;
  const uint64_t *v = (const uint64_t *)value;
  for (int64_t i = 0; i < n; i++) {
    uint64_t keep = (uint64_t)(bits[i] & 1) - 1;
    out[2 * i] = (out[2 * i] & keep) | (v[0] & ~keep);
    out[2 * i + 1] = (out[2 * i + 1] & keep) | (v[1] & ~keep);
  }
}

#define T       uint8_t
#define NAME(f) f##_8
#include "cpu/index_choose.inc"
#define T       uint16_t
#define NAME(f) f##_16
#include "cpu/index_choose.inc"

#if defined(__AVX512F__)
LUC_INLINE int64_t compress_32(uint32_t *out, __m512i x, const uint8_t *bits, int64_t room) {
  const __m128i bytes = _mm_loadu_si128((const __m128i *)bits);
  const __mmask16 set = _mm_test_epi8_mask(bytes, _mm_set1_epi8(1));
  const int64_t hits = luc__min64(__builtin_popcount(set), room);
  x = _mm512_maskz_compress_epi32(set, x);
  if (room >= 16)
    _mm512_storeu_si512(out, x);
  else
    _mm512_mask_storeu_epi32(out, (__mmask16)((1u << hits) - 1), x);
  return hits;
}
LUC_INLINE int64_t compress_64(uint64_t *out, __m512i x, const uint8_t *bits, int64_t room) {
  const __m128i bytes = _mm_loadl_epi64((const __m128i *)bits);
  const __mmask8 set = (__mmask8)_mm_test_epi8_mask(bytes, _mm_set1_epi8(1));
  const int64_t hits = luc__min64(__builtin_popcount(set), room);
  x = _mm512_maskz_compress_epi64(set, x);
  if (room >= 8)
    _mm512_storeu_si512(out, x);
  else
    _mm512_mask_storeu_epi64(out, (__mmask8)((1u << hits) - 1), x);
  return hits;
}
#define COMPRESS compress_32
#endif
#define T       uint32_t
#define NAME(f) f##_32
#include "cpu/index_choose.inc"
#if defined(__AVX512F__)
#define COMPRESS compress_64
#endif
#define T       uint64_t
#define NAME(f) f##_64
#include "cpu/index_choose.inc"

static int64_t choose_places(int64_t *out, int64_t first, int64_t step, const bool *mask, int64_t n,
                             int64_t room) {
  const uint8_t *bits = (const uint8_t *)mask;
  uint64_t *places = (uint64_t *)out;
  int64_t i = 0, k = 0;
#if defined(__AVX512F__)
  luc_vi64 lanes = LUC_LANES_F64;
  for (; i + 8 <= n && k < room; i += 8)
    k += compress_64(places + k, (__m512i)(first + (i + lanes) * step), bits + i, room - k);
#endif
  return k + some_64(places + k, NULL, (uint64_t)(first + i * step), (uint64_t)step, bits + i,
                     n - i, room - k);
}

/* Sums of float16 by the machine's conversions. */
#if defined(__F16C__)
static bool add_f16(char *dense, int64_t step, char *indexed, const luc_positions *p) {
  const uint16_t *in = (const uint16_t *)dense;
  uint16_t *out = (uint16_t *)indexed;
  LUC_POSITIONS(p);
  LUC_EACH_POSITION {
    const float sum = _cvtsh_ss(out[at]) + _cvtsh_ss(in[i * step]);
    out[at] = _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);
  }
  return true;
}
#endif
/* Sums of bfloat16 in the upper halves of registers, which memory fills and takes as they are. A
 * NaN's lower half is empty, as its terms' are, so rounding leaves it one. */
#if defined(__AVX2__)
static bool add_bf16(char *dense, int64_t step, char *indexed, const luc_positions *p) {
  const uint16_t *in = (const uint16_t *)dense;
  uint16_t *out = (uint16_t *)indexed;
  const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi32(1);
  const __m128i half = _mm_set1_epi32(0x7fff);
  LUC_POSITIONS(p);
#pragma GCC unroll 4
  LUC_EACH_POSITION {
    const __m128 a = _mm_castsi128_ps(_mm_insert_epi16(zero, (short)out[at], 1));
    const __m128 b = _mm_castsi128_ps(_mm_insert_epi16(zero, (short)in[i * step], 1));
    const __m128i bits = _mm_castps_si128(_mm_add_ss(a, b));
    const __m128i even = _mm_and_si128(_mm_srli_epi32(bits, 16), one);
    const __m128i rounded = _mm_add_epi32(_mm_add_epi32(bits, half), even);
    out[at] = (uint16_t)_mm_extract_epi16(rounded, 1);
  }
  return true;
}
#endif

#include "cpu/real_f32.inc"
#include "cpu/index_bag.inc"
#include "cpu/real_f64.inc"
#include "cpu/index_bag.inc"

static void bag_sum_f16(void *out, const void *table, const int64_t *rows, const void *scales,
                        int64_t n, int64_t dim) {
  bag_sum_of_f32(out, table, rows, scales, n, dim, luc__widened_f16);
}
static void bag_sum_bf16(void *out, const void *table, const int64_t *rows, const void *scales,
                         int64_t n, int64_t dim) {
  bag_sum_of_f32(out, table, rows, scales, n, dim, luc__widened_bf16);
}

const luc_index_kernels LUC_ISA_NAME(luc__index) = {
    .in_range = in_range,
    .offsets = offsets,
    .within = within,
    .choose = {choose_8, choose_16, choose_32, choose_64},
    .choose_places = choose_places,
    .fill = {fill_8, fill_16, fill_32, fill_64, fill_128},
    .add_rows = LUC_ISA_NAME(luc__add_rows),
#if defined(__F16C__)
    .add_f16 = add_f16,
#endif
#if defined(__AVX2__)
    .add_bf16 = add_bf16,
#endif
    .bag_sum = {bag_sum_f32, bag_sum_f64, bag_sum_f16, bag_sum_bf16}, /* ORDER DTYPE */
    .bag_argmax = {bag_argmax_f32, bag_argmax_f64},
};
