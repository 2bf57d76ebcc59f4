/* Discrete Fourier transforms by FFTW, which is loaded when first needed; where it is missing the
 * function says so. Arrays are row-major and contiguous; a complex number is two real ones. FFTW
 * is under the GPL: nothing of it is linked or copied, the functions used are declared anew. */
#ifndef LUC_FFT_H
#define LUC_FFT_H

#include "base/context.h"
#include "tensor/dtype.h"

/* REAL takes real numbers to the frequencies not negative, BACK takes these to real numbers; WHOLE
 * is REAL with the other frequencies, which mirror those. */
typedef enum luc_fft_kind {
  LUC_FFT_FORWARD,
  LUC_FFT_INVERSE,
  LUC_FFT_REAL,
  LUC_FFT_BACK,
  LUC_FFT_WHOLE
} luc_fft_kind;

typedef struct luc_fft {
  luc_fft_kind kind;
  luc_dtype dtype; /* float32 or float64: of real numbers, and of the parts of complex ones */
  int ndim;
  const int64_t *sizes; /* of both arrays; but of REAL and BACK, the complex one has n / 2 + 1
                           elements along the last of the dims transformed */
  int count;
  const int *dims; /* those transformed, each once; LUC_FFT_BACK takes one */
  double scale;    /* the result is multiplied by it */
} luc_fft;

luc_status luc__fft(luc_context *ctx, const luc_fft *t, const void *in, void *out);

#endif
