/* What fft.isa.c offers to fft_lines.c and fft.c: what is done to complex numbers, pairs of
 * elements, before and after FFTW. */
#ifndef LUC_FFT_KERNELS_H
#define LUC_FFT_KERNELS_H

#include "cpu/fft.h"

typedef struct luc_fft_kernels {
  /* Between z [h], the transform of n = 2 h real numbers as if each two were a complex one, and
   * their own x [h + 1]: x[k] and conj(x[h - k]) are the sum and the difference of
   * s = (z[k] + conj(z[h - k])) / 2 and u[k] (z[k] - conj(z[h - k])) / 2, where u[k] is
   * -i exp(-2 pi i k / n). The inverse is the same with conj(u) and without the halves.
   * u [h / 2 + 1]; all is multiplied by `factor`. */
  void (*unfold)(int64_t h, const void *u, double factor, const void *z, void *x);
  void (*fold)(int64_t h, const void *u, double factor, const void *x, void *z);
  /* x [n] as complex numbers z [n]; the real parts of z; z [n], n odd, whose first half is
   * x [n / 2 + 1] and whose second one mirrors it, conjugated */
  void (*widen)(int64_t n, const void *x, void *z);
  void (*narrow)(int64_t n, const void *z, void *x);
  void (*mirror)(int64_t n, const void *x, void *z);
  /* z[k] *= high[k / count] low[k % count], for k < n */
  void (*turn)(int64_t n, int64_t count, const void *high, const void *low, void *z);
  /* to[k] = factor a[k] b[k], or factor conj(a[k]) b[k]; to may be a */
  void (*multiply)(int64_t n, const void *a, const void *b, bool conjugate, double factor,
                   void *to);
  /* x[i] *= factor, n real numbers */
  void (*scale)(int64_t n, double factor, void *x);
} luc_fft_kernels;

/* ORDER DTYPE: float32, float64. */
extern const luc_fft_kernels luc__fft_base[2], luc__fft_avx2[2], luc__fft_avx512[2];

#endif
