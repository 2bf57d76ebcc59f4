/* Filling memory with sequences: arange, linspace and logspace, as numbers of full width that the
 * caller converts. */
#ifndef LUC_SEQUENCE_H
#define LUC_SEQUENCE_H

#include "lucerna/base.h"

/* out[i] = start + i * step */
void luc__sequence_int(int64_t *out, int64_t n, int64_t start, int64_t step);
void luc__sequence_double(double *out, int64_t n, double start, double step);
/* n values from start to end, both exact; from the end in the second half, as PyTorch does. */
void luc__sequence_between(double *out, int64_t n, double start, double end);
/* out[i] = base to the power out[i] */
void luc__sequence_power(double *out, int64_t n, double base);
/* The positions (row, column) below (lower) or above a diagonal of an r x c matrix, row by row:
 * rows go to out[0..], columns to out[n..]. With out NULL only counts. Returns the count. */
int64_t luc__sequence_triangle(int64_t *out, int64_t n, int64_t r, int64_t c, int64_t diagonal,
                               bool lower);

#endif
