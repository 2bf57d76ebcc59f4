/* Sorting. Elements become unsigned keys whose order is PyTorch's (a NaN is the
 * largest, zeros are equal), so that one stable sort serves every dtype. */
#ifndef LUC_SORT_H
#define LUC_SORT_H

#include "tensor/tensor.h"

/* What is kept of a sorted line. */
typedef enum luc_pick {
  LUC_PICK_FIRST,     /* the first `keep` */
  LUC_PICK_KTH,       /* the one at place `keep` (from 0) */
  LUC_PICK_MEDIAN,    /* the lower middle one; the first NaN if there is one */
  LUC_PICK_NANMEDIAN, /* the lower middle one of those that are not NaN, if there are any */
  LUC_PICK_MODE       /* the smallest of the most frequent, at its last position */
} luc_pick;

/* Lines of a contiguous tensor seen as [outer, n, inner]; results are contiguous
 * [outer, kept, inner], either may be NULL. */
typedef struct luc_sort_job {
  luc_dtype dtype;
  bool descending;
  luc_pick pick;
  int64_t outer, n, inner, keep;
  const void *x;
  void *values;
  int64_t *indices;
} luc_sort_job;

luc_status luc__sort(luc_context *ctx, const luc_sort_job *job);

/* What is told of distinct elements: */
typedef struct luc_distinct {
  int64_t *firsts;  /* where the first of each stands; room for one more than there can be */
  int64_t *inverse; /* for every element which one it is, counted from `first`; may be NULL */
  int64_t *counts;  /* how often each stands; may be NULL; room as in firsts */
  int64_t first;
} luc_distinct;

/* The distinct ones of n sorted elements, which stood in `order`. Returns how many there are. */
int64_t luc__distinct(luc_context *ctx, luc_dtype dtype, const void *sorted, int64_t n,
                      const int64_t *order, const luc_distinct *to);
/* The same of elements as they stand, if few of many differ and none is NaN; else *found is 0. */
luc_status luc__distinct_few(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                             const luc_distinct *to, int64_t *found);
/* The same of n rows of `width` elements, in order, or `sorted` false: as they stand, of runs of
 * equal neighbours; *found: how many there are. */
luc_status luc__distinct_rows(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                              int64_t width, bool sorted, const luc_distinct *to, int64_t *found);
/* The same of integers near each other, by a table of the `range` numbers from low on, which are
 * told instead of places, in order. */
int64_t luc__distinct_near(const int64_t *x, int64_t n, int64_t low, int64_t range, int64_t *table,
                           const luc_distinct *to);

#endif
