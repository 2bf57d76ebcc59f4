/* What complex.isa.c offers to complex.c: pointwise kernels in vectors, and the type of number they
 * share. */
#ifndef LUC_COMPLEX_KERNELS_H
#define LUC_COMPLEX_KERNELS_H

#include <string.h>

#include "cpu/elementwise.h"

/* n results without gaps; their operands have none either, or are one for all (step 0). */
typedef void (*luc_complex_fn)(char *const *at, const int64_t *step, int64_t n,
                               const luc_ew_params *params);

/* What the C library computes in. */
typedef double _Complex luc_wide;

static inline luc_wide luc__wide(double re, double im) {
  double parts[2] = {re, im};
  luc_wide z;
  memcpy(&z, parts, sizeof z);
  return z;
}

/* log(exp(a) + exp(b)); of two that are log(0), b. */
luc_wide luc__log_add(luc_wide a, luc_wide b);

/* The product of n numbers, LUC_COMPLEX_LEAST or more, without gaps. */
enum { LUC_COMPLEX_LEAST = 16 };
typedef void (*luc_complex_fold_fn)(char *product, const char *in, int64_t n);
extern const luc_complex_fold_fn luc__complex_fold_base[2], luc__complex_fold_avx2[2],
    luc__complex_fold_avx512[2];

/* z = x + i y of n numbers without gaps. */
typedef void (*luc_complex_turned_fn)(char *z, const char *x, const char *y, int64_t n);
extern const luc_complex_turned_fn luc__complex_turned_base[2], luc__complex_turned_avx2[2],
    luc__complex_turned_avx512[2];

/* Of complex64 and complex128; NULL where complex.c has the kernel. */
extern const luc_complex_fn luc__complex_base[LUC_NUM_EWS][2], luc__complex_avx2[LUC_NUM_EWS][2],
    luc__complex_avx512[LUC_NUM_EWS][2];
/* Those of operands at any steps; NULL where there is none. */
extern const luc_complex_fn luc__complex_apart_base[LUC_NUM_EWS][2],
    luc__complex_apart_avx2[LUC_NUM_EWS][2], luc__complex_apart_avx512[LUC_NUM_EWS][2];

#endif
