/* The serial pieces of matrix products, for float, double, halves, complex numbers and
 * integers. */
#include <stddef.h>
#include <string.h>

#include "cpu/gemm_kernels.h"
#include "cpu/halves.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
/* By a mask: the positions of its bits that are set, a byte each, from the lowest on. */
#define BIT(m, i)                                                                                  \
  ((uint64_t)((m) >> (i)&1) * (i) << 8 * __builtin_popcount((m) & ((1u << (i)) - 1)))
#define BITS3(m)  (BIT(m, 1) | BIT(m, 2) | BIT(m, 3))
#define BITS(m)   (BITS3(m) | BIT(m, 4) | BIT(m, 5) | BIT(m, 6) | BIT(m, 7))
#define BITS4(m)  BITS(m), BITS((m) + 1), BITS((m) + 2), BITS((m) + 3)
#define BITS16(m) BITS4(m), BITS4((m) + 4), BITS4((m) + 8), BITS4((m) + 12)
#define BITS64(m) BITS16(m), BITS16((m) + 16), BITS16((m) + 32), BITS16((m) + 48)
static const uint64_t luc__set_bits[256] = {BITS64(0u), BITS64(64u), BITS64(128u), BITS64(192u)};
#endif

#include "cpu/real_f32.inc"
#include "cpu/gemm.inc"
#include "cpu/gemm_few.inc"
#include "cpu/gemm_sparse.inc"

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
#include "cpu/gemm_sparse.inc"
#include "cpu/gemm_complex.inc"
#include "cpu/real_end.inc"

typedef uint16_t luc_vu16 __attribute__((vector_size(LUC_VECTOR_BYTES)));
LUC_SHUFFLES(luc_vu16, luc_vu16)
LUC_SHUFFLES(luc_vu32, luc_vu32)
LUC_SHUFFLES(luc_vu64, luc_vu64)

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
#if defined(__AVX2__) && !defined(__AVX512DQ__)
#define HALVED
#endif
#include "cpu/gemm_int.inc"

#define E        int16_t
#define FN(name) name##_i16
#include "cpu/gemm_narrow.inc"
#if defined(__AVX512F__) /* GCC widens each half of them by itself */
typedef __m256i bytes;
#elif defined(__AVX2__)
typedef __m128i bytes;
#endif
#define E        int8_t
#define FN(name) name##_i8
#ifdef __AVX2__
#define WIDEN LUC_MM(cvtepi8_epi16)
#endif
#include "cpu/gemm_narrow.inc"
#define E        uint8_t
#define FN(name) name##_u8
#ifdef __AVX2__
#define WIDEN LUC_MM(cvtepu8_epi16)
#endif
#include "cpu/gemm_narrow.inc"

/* ORDER DTYPE */
const luc_gemm_kernels LUC_ISA_NAME(luc__gemm)[2] = {
    {block_f32, scattered_f32, dots_f32, outer_f32, tiny_f32, serial_f32, transpose_f32, NULL, NULL,
     LUC_VECTOR_BYTES / 4, false, NULL},
    {block_f64, scattered_f64, dots_f64, outer_f64, tiny_f64, serial_f64, transpose_f64, NULL, NULL,
     LUC_VECTOR_BYTES / 8, false, NULL},
};

const luc_gemm_sparse_kernels LUC_ISA_NAME(luc__gemm_sparse)[2] = {
    {sparse_pack_f32, sparse_rows_f32, SPARSE_PITCH_f32, SPARSE_SCRATCH_f32},
    {sparse_pack_f64, sparse_rows_f64, SPARSE_PITCH_f64, SPARSE_SCRATCH_f64},
};

const luc_gemm_unpacked_fn LUC_ISA_NAME(luc__gemm_unpacked)[LUC_GEMM_UNPACKED] = {
    product_i32, product_i64,  narrow_i16,          narrow_i8,          narrow_u8,
    product_f16, product_bf16, complex_product_f32, complex_product_f64};
