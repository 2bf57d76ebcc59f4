/* What attention.isa.c offers to attention.c: the steps between the matrix products, a row of a
 * block of scores at a time. */
#ifndef LUC_ATTENTION_KERNELS_H
#define LUC_ATTENTION_KERNELS_H

#include "cpu/attention.h"

typedef struct luc_attention_kernels {
  /* Scores j >= seen (causal) become -inf. */
  void (*hide)(int64_t n, int64_t seen, void *scores);
  /* Adds a row of the mask; flags: what is false becomes -inf. */
  void (*mask)(int64_t n, bool flags, const void *mask, int64_t step, void *scores);
  /* Scores become exp(score - max), where max takes in this block; sum and acc [width], what was
   * added up before, follow it. max begins at -inf, sum and acc at 0. */
  void (*online)(int64_t n, void *scores, void *max, void *sum, int64_t width, void *acc);
  /* acc / sum, and max + log(sum); zeros and +inf where the sum is 0. */
  void (*finish)(int64_t width, void *acc, const void *max, const void *sum, void *lse);
  /* Scores become probabilities. */
  void (*restore)(int64_t n, void *scores, const void *lse);
  /* The sum of a row of dout * out. */
  void (*dot)(int64_t n, const void *dout, const void *out, void *delta);
  /* dp becomes the gradient of the scores, p * (dp - delta). */
  void (*backward)(int64_t n, const void *p, const void *delta, void *dp);
} luc_attention_kernels;

extern const luc_attention_kernels luc__attention_base[2], luc__attention_avx2[2],
    luc__attention_avx512[2];

#endif
