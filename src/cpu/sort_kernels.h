/* Elements as keys, and looking through keys, one table per instruction set. */
#ifndef LUC_SORT_KERNELS_H
#define LUC_SORT_KERNELS_H

#include "tensor/dtype.h"

enum { LUC_SORT_BLOCK = 16, LUC_SORT_SHORT = 128, LUC_SORT_BESIDE = 32, LUC_SEARCH_AHEAD = 16 };
enum { LUC_SORT_RANKED = 64 };

/* Lines of up to LUC_SORT_SHORT elements beside each other, and where in its line each was. */
typedef struct luc_sort_short {
  _Alignas(64) uint64_t keys[LUC_SORT_SHORT][LUC_SORT_BESIDE];
  _Alignas(64) uint64_t at[LUC_SORT_SHORT][LUC_SORT_BESIDE];
} luc_sort_short;

typedef struct luc_sort_kernels {
  /* keys[i] = the key of x[at + i * step], with flip's bits turned */
  void (*keys)(const void *x, luc_dtype dtype, int64_t at, int64_t step, int64_t n, uint64_t flip,
               uint64_t *keys);
  /* Each of n at (LUC_SEARCH_AHEAD at most) passes over those of m sorted elements from x[at] on
   * that go before its value; right: or are equal. */
  void (*pass_bounds)(const void *x, luc_dtype dtype, int64_t m, const void *values, int64_t n,
                      bool right, int64_t *at);
  /* Passes over whole blocks from j on with no key below limit. */
  int64_t (*pass)(const uint64_t *keys, int64_t j, int64_t n, uint64_t limit);
  /* How many of n keys are below one, and equal to it. */
  int64_t (*count)(const uint64_t *keys, int64_t n, uint64_t key, int64_t *equal);
  /* Those of n keys that are below one, or above it, in their order; returns how many. */
  int64_t (*part)(const uint64_t *keys, int64_t n, uint64_t key, bool above, uint64_t *out);
  /* The `first` of n keys in order, in m lines, and where they were; equal ones stay in theirs. Up
   * to a multiple of 32, what is beside the lines is moved as well. */
  void (*sort_short)(luc_sort_short *lines, int64_t n, int64_t first, int64_t m);
  /* ranks[i] = how many of n words, LUC_SORT_RANKED at most and below 2^63, are below the i-th.
   * What is behind them is overwritten up to there. NULL: there are no vectors for it. */
  void (*rank)(uint64_t *words, int64_t n, int64_t *ranks);
  int64_t longest; /* lines for which that is worth it where most are wanted */
} luc_sort_kernels;

/* NaN's key. Where it is a bound it goes before every number, where it is looked for after every
 * bound, as in PyTorch, which goes on behind a bound unless that is above. */
typedef struct luc_nan_key {
  uint64_t key, numbers; /* numbers: all bits where nothing is NaN */
} luc_nan_key;

static inline luc_nan_key luc__nan_key(luc_dtype dtype) {
  return (luc_nan_key){dtype == LUC_FLOAT64 ? UINT64_MAX : UINT32_MAX,
                       -(uint64_t)!luc__dtype_is_float(dtype)};
}

static inline uint64_t luc__bound_key(uint64_t key, luc_nan_key nan) {
  return key & (nan.numbers | -(uint64_t)(key != nan.key));
}

/* Is a bound before the place of a key? */
static inline bool luc__is_before(uint64_t bound, uint64_t key, const bool right) {
  return right ? bound <= key : bound < key;
}

/* Goes on in half of the `left` bounds from `at` on, behind the middle one or before it: by
 * arithmetic, as a branch is taken as often as not. In no order, bounds give what PyTorch finds by
 * the same halves. */
static inline void luc__halve(int64_t behind, int64_t *at, int64_t *left) {
  const int64_t half = *left / 2;
  *at += (half + 1) & -behind;
  *left = half - (behind & ~*left & 1);
}

extern const luc_sort_kernels luc__sort_base, luc__sort_avx2, luc__sort_avx512;

#endif
