/* Indexing on raw memory: positions, as an index tensor holds them, become element offsets strip
 * by strip, and elements or rows move between the indexed memory and a dense one. All indexing
 * operators are made of this. Nothing is read or written at a position that is out of range. */
#ifndef LUC_CPU_INDEX_H
#define LUC_CPU_INDEX_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef enum luc_index_op {
  LUC_INDEX_GET, /* dense = indexed */
  LUC_INDEX_PUT, /* indexed = dense; of equal positions the last wins */
  LUC_INDEX_ADD, /* indexed += dense, in order */
  LUC_INDEX_MUL,
  LUC_INDEX_MAX, /* the larger; like LUC_INDEX_MIN only for dtypes that have an order */
  LUC_INDEX_MIN
} luc_index_op;

/* What an index tensor holds: positions in [0, size), counted from `first`. A size below 0: offsets
 * that are known to be right. */
typedef struct luc_positions {
  const int64_t *at; /* contiguous */
  int64_t n, size, first;
  bool negative; /* below 0 they count from the end */
} luc_positions;

/* Moves between indexed[position i] and dense[i * step]; stops with false at a position that is out
 * of range, below 0 too. */
typedef bool (*luc_index_table_fn)(char *dense, int64_t step, char *indexed,
                                   const luc_positions *p);
luc_index_table_fn luc__index_extreme(luc_index_op op, luc_dtype dtype); /* may be NULL */

/* The loop of such a function over places i and positions `at`; all that follows is `return true`.
 * The check takes less time beside what is moved than in a pass of its own. */
#define LUC_POSITIONS(p)                                                                           \
  const int64_t *positions = (p)->at, n = (p)->n;                                                  \
  const uint64_t first = (uint64_t)(p)->first, size = (uint64_t)(p)->size;                         \
  uint64_t at
#define LUC_EACH_POSITION                                                                          \
  for (int64_t i = 0; i < n; i++)                                                                  \
    if ((at = (uint64_t)positions[i] - first) >= size)                                             \
      return false;                                                                                \
    else

/* The place of the first that is out of range, or -1. */
int64_t luc__positions_bad(luc_context *ctx, const luc_positions *p);
/* offsets[i] = position i * stride, or that is added; false if one is out of range. */
bool luc__positions_offsets(luc_context *ctx, const luc_positions *p, int64_t stride, bool add,
                            int64_t *offsets);

typedef struct luc_index_dims {
  int ndim;
  int64_t sizes[LUC_MAX_DIMS], indexed[LUC_MAX_DIMS], dense[LUC_MAX_DIMS]; /* strides, elements */
} luc_index_dims;

/* dense[o, i, r] <-> indexed[o, position, r] for all o of outer, i of n, r of inner. There is one
 * position for each i, or if `own` (gather, scatter) for each [o, i, r]. */
typedef struct luc_index_job {
  luc_index_op op;
  luc_dtype dtype;
  bool own;
  char *indexed, *dense;
  const char *before; /* NULL, or `bytes` that indexed, as yet unwritten, is to hold first; */
  size_t bytes;       /* then positions lead to all of its lines */
  double alpha;       /* 0, or what LUC_INDEX_ADD multiplies rows of floats without gaps by */
  luc_positions positions;
  int64_t n, stride, dense_step; /* stride: of the indexed dimension */
  luc_index_dims outer, inner;
} luc_index_job;
/* False: a position was out of range, and what was to be written may be so in part. */
bool luc__index_run(luc_context *ctx, const luc_index_job *job);

/* offsets[e] = position of the e-th element (row-major) of a tensor with these strides. */
void luc__offsets_grid(int64_t *offsets, int ndim, const int64_t *sizes, const int64_t *strides);

/* ---- index_mask.c: the set elements of a mask, numbered ---- */

typedef struct luc_mask {
  const bool *bits; /* contiguous */
  int64_t n, count; /* elements, and how many are set */
  int64_t *starts;  /* number of the first set element of each block; freed by luc__mask_end */
  size_t bytes;
} luc_mask;
luc_status luc__mask_begin(luc_context *ctx, const bool *bits, int64_t n, luc_mask *mask);
void luc__mask_end(luc_context *ctx, luc_mask *mask);
/* The offsets of the set elements in a tensor of the mask's sizes with these strides. */
void luc__mask_offsets(luc_context *ctx, const luc_mask *mask, int ndim, const int64_t *sizes,
                       const int64_t *strides, int64_t *offsets);
/* Their coordinates, from `first` on: out[number * item_step + d * dim_step]. */
void luc__mask_positions(luc_context *ctx, const luc_mask *mask, int ndim, const int64_t *sizes,
                         int64_t dim_step, int64_t item_step, int64_t first, int64_t *out);
/* The set elements of data, which lies without gaps, of 1 to 8 bytes each. */
void luc__mask_take(luc_context *ctx, const luc_mask *mask, const void *data, size_t width,
                    void *out);
/* data[i] = *value (of `width` bytes) where bits[i]. */
void luc__mask_fill(luc_context *ctx, char *data, const bool *bits, int64_t n, const void *value,
                    size_t width);

#endif
