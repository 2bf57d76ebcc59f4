/* Indexing on raw memory: first positions become a table of element offsets (checked, so that a bad
 * index leaves everything untouched), then elements or rows move between the indexed memory and a
 * dense one. All indexing operators are made of these two steps. */
#ifndef LUC_CPU_INDEX_H
#define LUC_CPU_INDEX_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef enum luc_index_op {
  LUC_INDEX_GET, /* dense = indexed */
  LUC_INDEX_PUT, /* indexed = dense; of equal positions the last wins */
  LUC_INDEX_ADD, /* indexed += dense, in order */
  LUC_INDEX_MUL,
  LUC_INDEX_MAX, /* of luc__gather_run only, as the next; for dtypes that have an order */
  LUC_INDEX_MIN
} luc_index_op;

/* Moves between indexed[offsets[i]] and dense[i * step]. */
typedef void (*luc_index_table_fn)(char *dense, int64_t step, char *indexed, const int64_t *offsets,
                                   int64_t n);
luc_index_table_fn luc__index_extreme(luc_index_op op, luc_dtype dtype); /* may be NULL */

typedef struct luc_index_dims {
  int ndim;
  int64_t sizes[LUC_MAX_DIMS], indexed[LUC_MAX_DIMS], dense[LUC_MAX_DIMS]; /* strides, elements */
} luc_index_dims;

/* dense[o, i, r] <-> indexed[o, offsets[i], r] for all o of outer, r of inner. */
typedef struct luc_index_job {
  luc_index_op op;
  luc_dtype dtype;
  char *indexed, *dense;
  const int64_t *offsets; /* n, in elements */
  int64_t n, dense_step;
  luc_index_dims outer, inner;
} luc_index_job;
void luc__index_run(luc_context *ctx, const luc_index_job *job);

/* The place of the first index outside [0, size), or -1. */
int64_t luc__index_first_bad(const int64_t *index, int64_t n, int64_t size);

/* An index (contiguous, checked) that names for each of its places the position along one dimension
 * of `indexed`, whose strides are given with that dimension's set to 0. dense is contiguous, or one
 * element (dense_step 0). */
typedef struct luc_gather_job {
  luc_index_op op;
  luc_dtype dtype;
  char *indexed, *dense;
  const int64_t *index;
  int64_t dense_step, stride; /* stride: of the indexed dimension */
  int ndim;
  const int64_t *sizes; /* the index's */
  const int64_t *strides;
} luc_gather_job;
void luc__gather_run(luc_context *ctx, const luc_gather_job *job);

/* offsets[e] = position of the e-th element (row-major) of a tensor with these strides. */
void luc__offsets_grid(int64_t *offsets, int ndim, const int64_t *sizes, const int64_t *strides);
/* offsets[i] += index[i] * stride; indices below 0 count from the end if `negative`. Returns the
 * place of the first index outside [0, size), or -1. */
int64_t luc__offsets_add(int64_t *offsets, const int64_t *index, int64_t n, int64_t size,
                         int64_t stride, bool negative);
/* How many of n bytes are set. */
int64_t luc__mask_count(const bool *mask, int64_t n);
/* The offsets of the grid's elements where mask (contiguous) is set; mask_count of them. */
void luc__offsets_masked(int64_t *offsets, const bool *mask, int ndim, const int64_t *sizes,
                         const int64_t *strides);
/* The coordinates of the set elements: out[count * d_step + i * i_step]. */
void luc__mask_positions(int64_t *out, const bool *mask, int ndim, const int64_t *sizes,
                         int64_t dim_step, int64_t item_step);
/* data[i] = *value (of `width` bytes) where mask[i]. */
void luc__mask_fill(char *data, const bool *mask, int64_t n, const void *value, size_t width);

#endif
