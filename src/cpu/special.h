/* Special functions that the C library lacks, in double, for kernels that are called rarely. */
#ifndef LUC_SPECIAL_H
#define LUC_SPECIAL_H

double luc__erfinv(double y);
double luc__lgamma(double x); /* without the library's global sign */
double luc__digamma(double x);
/* The n-th derivative of digamma, n >= 1. */
double luc__polygamma(int n, double x);

#endif
