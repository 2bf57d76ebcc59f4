/* Filling memory with sequences: arange, linspace, windows, as numbers of full width that are
 * converted chunk by chunk. */
#ifndef LUC_SEQUENCE_H
#define LUC_SEQUENCE_H

#include "cpu/elementwise.h"

/* Writes n (at most 1024) of a sequence, from `first` on, as int64 or double; arg describes it. */
typedef void (*luc_sequence_fn)(void *out, int64_t first, int64_t n, const void *arg);
/* Fills a contiguous tensor of a real dtype with the sequence, of int64 (whole) or double. */
void luc__sequence(luc_context *ctx, luc_tensor *out, bool whole, luc_sequence_fn numbers,
                   const void *arg);

/* start + i * step; arg: the two int64, or double. */
void luc__sequence_int(void *out, int64_t first, int64_t n, const void *arg);
void luc__sequence_double(void *out, int64_t first, int64_t n, const void *arg);
/* `count` values from start to end, both exact; in the second half from the end, as PyTorch. */
typedef struct luc_between {
  int64_t count;
  double start, end;
  double base;     /* 0: the values; else base to their power, */
  luc_ew_fn power; /* by the kernel of pow for double */
} luc_between;
void luc__sequence_between(void *out, int64_t first, int64_t n, const void *arg);
/* The positions (row, column), from ctx->first on, below (lower) or above a diagonal of an r x c
 * matrix, row by row: rows go to out[0..], columns to out[n..]. With n = 0 only counts. Returns the
 * count. */
int64_t luc__sequence_triangle(luc_context *ctx, int64_t *out, int64_t n, int64_t r, int64_t c,
                               int64_t diagonal, bool lower);

#endif
