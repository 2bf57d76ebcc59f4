/* What attention.isa.c offers to attention.c: the steps between the matrix products. */
#ifndef LUC_ATTENTION_KERNELS_H
#define LUC_ATTENTION_KERNELS_H

#include "cpu/attention.h"

/* A block of scores: `n` of a row's `pitch` are used. Rows begin on a vector, and the rest of a
 * last vector may be read and written. */
typedef struct luc_attention_rows {
  int64_t rows, n, pitch;
  void *scores;
} luc_attention_rows;

typedef struct luc_attention_kernels {
  /* Scores j >= seen of a row (causal) become -inf. */
  void (*hide)(int64_t n, int64_t seen, void *scores);
  /* Adds a row of the mask; flags: what is false becomes -inf. */
  void (*mask)(int64_t n, bool flags, const void *mask, int64_t step, void *scores);
  /* Scores become exp(score - max), where max takes in this block; sum and acc [rows, width], what
   * was added up before, follow it. max begins at -inf, sum at 0. */
  void (*online)(const luc_attention_rows *r, void *max, void *sum, int64_t width, int64_t acc_row,
                 void *acc);
  /* acc / sum, and max + log(sum); zeros and +inf where the sum is 0. */
  void (*finish)(int64_t rows, int64_t width, int64_t acc_row, void *acc, const void *max,
                 const void *sum, void *lse);
  /* Weights of rows so far apart: what online has left over the sum, zeros where that is 0. */
  void (*keep)(const luc_attention_rows *r, const void *sum, void *weights, int64_t weights_row);
  /* The sums of the rows of dout * out. */
  void (*dots)(int64_t rows, int64_t n, int64_t dout_row, const void *dout, int64_t out_row,
               const void *out, void *delta);
  /* Scores become weights p, which they are where lse is NULL, and dp, with rows at distance
   * dp_row, the gradient of the scores, p * (dp - delta). */
  void (*backward)(const luc_attention_rows *r, const void *lse, const void *delta, int64_t dp_row,
                   void *dp);
} luc_attention_kernels;

extern const luc_attention_kernels luc__attention_base[2], luc__attention_avx2[2],
    luc__attention_avx512[2];

#endif
