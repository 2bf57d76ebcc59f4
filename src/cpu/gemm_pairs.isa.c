/* Matrix products of bfloat16 that are summed in float, two of them in one instruction: A and B
 * hold pairs along k, which travel as if they were floats. Denormals are zeros to it, and machines
 * with AVX-512 may lack it. */
#include "cpu/isa.h"
#if defined(__AVX512F__) && LUC_ISA_TILES
#pragma GCC target("avx512bf16,amx-tile,amx-bf16")
#elif defined(__AVX512F__) && !defined(__clang__) && __GNUC__ >= 10
#pragma GCC target("avx512bf16")
#endif

#include <stddef.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/halves.h"

#ifdef __AVX512BF16__
#include "cpu/real_f32.inc"

/* The bits of a float, whatever they mean. */
typedef int32_t luc_bits __attribute__((may_alias));
#define BROADCAST(p)            ((V)_mm512_set1_epi32(*(const luc_bits *)(p)))
#define MULTIPLY_ADD(sum, a, b) ((V)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b)))
#define ROUND_TILE              round_tile
#define HALF_BROADCAST(p)       ((half_f32)_mm256_set1_epi32(*(const luc_bits *)(p)))
#define HALF_MULTIPLY_ADD(sum, a, b)                                                               \
  ((half_f32)_mm256_dpbf16_ps((__m256)(sum), (__m256bh)(a), (__m256bh)(b)))
enum { ROUNDS = 1 };

/* Any sums, of which the last vector has `last`, as bfloat16. One instruction has other bits for
 * denormals and NaN than luc__narrow_bf16. */
static __attribute__((noinline)) void round_any(const V *sums, int64_t rows, int64_t vectors,
                                                int last, uint16_t *c, int64_t c_row) {
  enum { QUIET = 0x01, DENORMAL = 0x20, SIGNALING = 0x80 };
  for (int64_t i = 0; i < rows; i++, c += c_row)
    for (int64_t v = 0; v < vectors; v++, sums++) {
      const bool odd = _mm512_fpclass_ps_mask((__m512)*sums, QUIET | DENORMAL | SIGNALING);
      luc__put_halves(c + v * LANES,
                      odd ? luc__narrow_bf16(*sums) : (luc_halves)_mm512_cvtneps_pbh((__m512)*sums),
                      v == vectors - 1 ? last : LANES);
    }
}

/* A tile of them. plain: of pairs' products alone, which are no denormals. */
LUC_INLINE void round_tile(V sum[8][3], bool plain, const int rows, const int vectors, int last,
                           uint16_t *c, int64_t c_row) {
#define SUM(i) (__m512) sum[(i) / vectors][(i) % vectors]
  const int count = rows * vectors;
  __mmask16 nan = 0;
#pragma GCC unroll 12
  for (int i = 0; i < count; i += 2)
    nan |= _mm512_cmp_ps_mask(SUM(i), SUM(i + 1 < count ? i + 1 : i), _CMP_UNORD_Q);
  if (nan || !plain) {
    V sums[8 * 3];
#pragma GCC unroll 24
    for (int i = 0; i < count; i++) sums[i] = (V)SUM(i);
    round_any(sums, rows, vectors, last, c, c_row);
    return;
  }
#pragma GCC unroll 24
  for (int i = 0; i < count; i++)
    luc__put_halves(c + i / vectors * c_row + i % vectors * LANES,
                    (luc_halves)_mm512_cvtneps_pbh(SUM(i)),
                    i % vectors == vectors - 1 ? last : LANES);
#undef SUM
}

#include "cpu/gemm.inc"

static void block_f32(const luc_gemm *g) {
  scattered_f32(g, NULL);
}

/* Pairs of two rows of halves, so many bytes apart, or of one and zeros. */
LUC_INLINE __m512i woven(__mmask16 there, const void *from, int64_t row, bool both) {
  const __m256i low = _mm256_maskz_loadu_epi16(there, from);
  const __m256i high =
      _mm256_maskz_loadu_epi16(both ? there : 0, (const char *)from + (both ? row : 0));
  const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16);
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low), wide);
}

static void weave(int64_t k, int64_t n, const uint16_t *from, int64_t row, void *to) {
  luc_bits *pairs = to;
  for (int64_t p = 0; p < k; p += 2, from += 2 * row, pairs += n)
    for (int64_t i = 0; i < n; i += 16) {
      const __mmask16 there = (__mmask16)(n - i < 16 ? (1 << (n - i)) - 1 : -1);
      const __m512i both = woven(there, from + i, 2 * row, p + 1 < k);
      _mm512_mask_storeu_epi32(pairs + i, there, both);
    }
}

static void round_f32(int64_t n, const void *from, void *to) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m512 x = _mm512_loadu_ps((const float *)from + i);
    const __m512 y = _mm512_loadu_ps((const float *)from + i + 16);
    _mm512_storeu_si512((uint16_t *)to + i, (__m512i)_mm512_cvtne2ps_pbh(y, x));
  }
  for (; i < n; i += 16) {
    const __mmask16 there = (__mmask16)(n - i < 16 ? (1 << (n - i)) - 1 : -1);
    const __m512 x = _mm512_maskz_loadu_ps(there, (const float *)from + i);
    _mm256_mask_storeu_epi16((uint16_t *)to + i, there, (__m256i)_mm512_cvtneps_pbh(x));
  }
}
#if LUC_ISA_TILES
#include "cpu/gemm_tiles.inc"
#endif
#include "cpu/real_end.inc"

const luc_gemm_kernels LUC_ISA_NAME(luc__gemm_pairs) = {.block = block_f32,
                                                        .scattered = scattered_f32,
                                                        .dots = long_dots_f32,
                                                        .serial = serial_f32,
                                                        .transpose = transpose_f32,
                                                        .weave = weave,
                                                        .round = round_f32,
                                                        .lanes = 16};
#if LUC_ISA_TILES
const luc_gemm_kernels luc__gemm_tiles = {.block = block_tiles,
                                          .scattered = scattered_tiles,
                                          .dots = long_dots_f32,
                                          .serial = serial_tiles,
                                          .transpose = transpose_f32,
                                          .weave = weave,
                                          .round = round_f32,
                                          .lanes = 16,
                                          .tiles = true,
                                          .strips = strips_tiles};
#endif
#else
const luc_gemm_kernels LUC_ISA_NAME(luc__gemm_pairs) = {0};
#endif
