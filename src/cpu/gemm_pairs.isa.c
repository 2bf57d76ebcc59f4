/* Matrix products of bfloat16 that are summed in float, two of them in one instruction: A and B
 * hold pairs along k, which travel as if they were floats. Denormals are zeros to it, and machines
 * with AVX-512 may lack it. */
#include "cpu/isa.h"
#if defined(__AVX512F__) && !defined(__clang__) && __GNUC__ >= 10
#pragma GCC target("avx512bf16")
#endif

#include <stddef.h>

#include "cpu/gemm_kernels.h"

#ifdef __AVX512BF16__
#include "cpu/real_f32.inc"

/* The bits of a float, whatever they mean. */
typedef int32_t luc_bits __attribute__((may_alias));
#define BROADCAST(p)            ((V)_mm512_set1_epi32(*(const luc_bits *)(p)))
#define MULTIPLY_ADD(sum, a, b) ((V)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b)))
#include "cpu/gemm.inc"

static void block_f32(const luc_gemm *g) {
  scattered_f32(g, NULL);
}

static void weave(int64_t n, const uint16_t *even, const uint16_t *odd, void *to) {
  luc_bits *pairs = to;
  for (int64_t i = 0; i < n; i++)
    pairs[i] = (int32_t)(even[i] | (odd ? (uint32_t)odd[i] << 16 : 0));
}
#include "cpu/real_end.inc"

const luc_gemm_kernels LUC_ISA_NAME(luc__gemm_pairs) = {.block = block_f32,
                                                        .dots = long_dots_f32,
                                                        .serial = serial_f32,
                                                        .transpose = transpose_f32,
                                                        .weave = weave};
#else
const luc_gemm_kernels LUC_ISA_NAME(luc__gemm_pairs) = {0};
#endif
