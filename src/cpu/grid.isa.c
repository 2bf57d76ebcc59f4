/* Grid sampling, for float and double. */
#include "cpu/grid_kernels.h"
#include "cpu/simd.h"

enum { BLOCK = LUC_GRID_BLOCK, MAX_TAPS = 16, PIXEL = LUC_GRID_PIXEL };

/* p[at] in the lanes that are in, else 0. */
LUC_INLINE luc_vf32 gather_f32(const float *p, luc_vi32 at, luc_vi32 in) {
#if defined(__AVX512F__)
  const __mmask16 mask = _mm512_movepi32_mask((__m512i)in);
  return (luc_vf32)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, (__m512i)at, p, 4);
#elif defined(__AVX2__)
  return (luc_vf32)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, (__m256i)at, (__m256)in, 4);
#else
  luc_vf32 x = {0};
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 4); i++)
    if (in[i]) x[i] = p[at[i]];
  return x;
#endif
}
LUC_INLINE luc_vf64 gather_f64(const double *p, luc_vi64 at, luc_vi64 in) {
#if defined(__AVX512F__)
  const __mmask8 mask = _mm512_movepi64_mask((__m512i)in);
  return (luc_vf64)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), mask, (__m512i)at, p, 8);
#elif defined(__AVX2__)
  return (luc_vf64)_mm256_mask_i64gather_pd(_mm256_setzero_pd(), p, (__m256i)at, (__m256d)in, 8);
#else
  luc_vf64 x = {0};
  for (int i = 0; i < (int)(LUC_VECTOR_BYTES / 8); i++)
    if (in[i]) x[i] = p[at[i]];
  return x;
#endif
}

#include "cpu/real_f32.inc"
#include "cpu/grid.inc"
#include "cpu/real_f64.inc"
#include "cpu/grid.inc"

/* ORDER DTYPE */
const luc_grid_kernels LUC_ISA_NAME(luc__grid)[2] = {
    {forward_f32, backward_f32, to_pixels_f32, from_pixels_f32},
    {forward_f64, backward_f64, to_pixels_f64, from_pixels_f64},
};
