/* Matrix products on raw memory: one function for every size, layout and batch. Work is cut by the
 * problem's size only, so results do not depend on the number of threads. */
#ifndef LUC_GEMM_H
#define LUC_GEMM_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef enum luc_bias {
  LUC_BIAS_NONE,
  LUC_BIAS_COLUMN, /* bias[n], added to every row of C: a linear layer's */
  LUC_BIAS_ROW     /* bias[m], added to every column of C: a convolution's */
} luc_bias;

/* C = relu?(alpha * A B + beta * C + bias), A [m, k], B [k, n], C [m, n], `batch` times.
 * Element (i, j) of A is a[i * a_row + j * a_col] and so for B: a transposed matrix is one with its
 * strides swapped, and any view will do. C's columns are adjacent. All strides are in elements;
 * a batch stride of 0 shares the matrix. With beta == 0, C is not read. k == 0 gives beta * C +
 * bias. C must not overlap A, B or bias. */
typedef struct luc_gemm {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64; LUC_BFLOAT16 where luc__gemm_takes_halves, whose
                      bias is float32 */
  int64_t m, n, k;
  const void *a, *b;
  void *c;
  int64_t a_row, a_col, b_row, b_col, c_row;
  int64_t batch; /* 0: nothing is done */
  int64_t a_batch, b_batch, c_batch;
  int64_t inner, a_outer, b_outer; /* unless 0: only so many items of A and B lie evenly, and groups
                                      of them; not for sums */
  double alpha, beta;
  const void *bias; /* the same for the whole batch */
  luc_bias bias_kind;
  bool relu;
  bool pairs;  /* A and B hold pairs of bfloat16 along k, which counts them, as do their strides;
                 dtype is LUC_FLOAT32, k at least LUC_LEAST_PAIRS */
  bool rounds; /* C is bfloat16, bias float32; where luc__gemm_rounds */
  bool conj;   /* of A; for dots of complex numbers: m and n are 1 */
  bool far;    /* for kernels, set by the functions below: the matrices may not be in the cache */
} luc_gemm;

enum { LUC_LEAST_PAIRS = 1 };
/* So many at least are worth it: Intel's cores take floats for fewer than tiles want. */
int64_t luc__gemm_least_pairs(luc_context *ctx);
/* Is a product of bfloat16 by these sizes and strides made of what lies there, by tiles, rather
 * than of pairs or floats? Sums are rounded once. */
bool luc__gemm_takes_halves(luc_context *ctx, const luc_gemm *g);
/* May sums of pairs, with a bias, become bfloat16 tile by tile (g->rounds), not from a matrix of
 * floats? Sizes, strides and the batch tell. */
bool luc__gemm_rounds(luc_context *ctx, const luc_gemm *g);
/* Has this machine products of pairs? */
bool luc__gemm_has_pairs(luc_context *ctx);
/* And are large ones faster than of floats? Intel's cores make two pairs' products, without tiles,
 * in the time of four of floats. */
bool luc__gemm_has_fast_pairs(luc_context *ctx);

luc_status luc__gemm(luc_context *ctx, const luc_gemm *g);
/* C = the sum of A B over the batch, which is at least 1, + beta * C (c_batch, alpha, bias and relu
 * are ignored): for a few elements that are long sums. */
luc_status luc__gemm_sum(luc_context *ctx, const luc_gemm *g);
/* to[i] += from[i], n elements of float32 or float64. */
void luc__add_elements(luc_dtype dtype, void *to, const void *from, int64_t n);
/* The same as luc__gemm for int32, int64 and complex numbers: C = A B (alpha, bias and relu are
 * ignored, beta is 0). Many rows want B's columns adjacent; complex ones need them so, or in both
 * factors what is adjacent along k. And of int16, int8 or uint8, whose C is int16; and of float16
 * or bfloat16, where A or B is a vector whose elements along k are adjacent, whose C and bias are
 * float32, with relu. */
luc_status luc__gemm_unpacked(luc_context *ctx, const luc_gemm *g);

#endif
