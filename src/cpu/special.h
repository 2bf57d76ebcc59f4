/* Special functions that the C library lacks, in double, for kernels that are called rarely: those
 * of special.def by the names luc__<id> (what each is, ops/special.c says), and those whose vector
 * functions (vmath.inc) leave some arguments to these. */
#ifndef LUC_SPECIAL_H
#define LUC_SPECIAL_H

#define LUC_SPECIAL_1                  (double x)
#define LUC_SPECIAL_2                  (double x, double y)
#define LUC_EW_SLOW(id, inputs, truth) double luc__##id LUC_SPECIAL_##inputs;
#include "cpu/special.def"
#undef LUC_EW_SLOW
#undef LUC_SPECIAL_1
#undef LUC_SPECIAL_2

double luc__erfinv(double y);
double luc__ndtri(double p);
double luc__i0(double x);
double luc__bessel_j0(double x);
double luc__bessel_j1(double x);
double luc__bessel_y0(double x);
double luc__bessel_y1(double x);
double luc__airy_ai(double x);
/* log(|Gamma(x)|), and its derivative: left of zero with all digits also near their roots. */
double luc__lgamma(double x);
double luc__digamma(double x);

#endif
