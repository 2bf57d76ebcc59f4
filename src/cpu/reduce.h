/* Reductions over any dimensions of a tensor of any dtype and strides. Sums are taken in vector
 * lanes over blocks of 1024 elements and added up in double, and work is cut by size only: errors
 * stay small and results do not depend on the number of threads. */
#ifndef LUC_REDUCE_H
#define LUC_REDUCE_H

#include "cpu/copy_kernels.h"
#include "tensor/tensor.h"

typedef enum luc_rd {
#define LUC_RD(id)        LUC_RD_##id,
#define LUC_RD_ALL        LUC_RD
#define LUC_RD_ONE        LUC_RD
#define LUC_RD_REAL       LUC_RD
#define LUC_RD_REAL_SHORT LUC_RD
#define LUC_RD_HALF       LUC_RD
#define LUC_RD_HALF_ROWS  LUC_RD
#define LUC_RD_REAL_HALF  LUC_RD
#include "cpu/reduce.def"
#undef LUC_RD
#undef LUC_RD_ALL
#undef LUC_RD_ONE
#undef LUC_RD_REAL
#undef LUC_RD_REAL_SHORT
#undef LUC_RD_HALF
#undef LUC_RD_HALF_ROWS
#undef LUC_RD_REAL_HALF
  LUC_NUM_RDS
} luc_rd;

enum { LUC_RD_SHORT = 64 }; /* shorter runs are a few values */

/* What kernels fold: the compute types, smaller integers (and bool, as uint8) into int64_t, or
 * halves as floats. */
enum {
  LUC_RD_I32 = LUC_NUM_COMPUTES,
  LUC_RD_I16,
  LUC_RD_I8,
  LUC_RD_U8,
  LUC_RD_F16,
  LUC_RD_BF16,
  LUC_NUM_RD_TYPES
};

/* One state (a, b) per output element, each 8 bytes: double for float and double, int64_t for
 * integers; a position is always an int64_t. `first` elements were folded before. */
typedef struct luc_rd_kernel {
  /* The states of nothing. */
  void (*init)(void *a, void *b, int64_t n);
  /* Folds n contiguous values into one state. */
  void (*run)(void *a, void *b, const void *in, int64_t n, int64_t first);
  /* Folds `count` rows of n contiguous values, `step` values apart, into n states,
   * which begin at a vector's alignment and end, with memory of theirs, in a whole vector.
   * NULL: there is one state only. */
  void (*rows)(void *restrict a, void *restrict b, const void *restrict in, int64_t n, int64_t step,
               int64_t count, int64_t first);
  /* Folds n other states (of `more` elements, that come later) into n states (of `first`). */
  void (*merge)(void *a, void *b, const void *from_a, const void *from_b, int64_t n, int64_t first,
                int64_t more);
  /* Folds n runs of `count` contiguous values, `step` values apart, into n states, which lie as
   * those of rows do; NULL: turn them into rows. */
  void (*short_runs)(void *a, const void *in, int64_t n, int64_t step, int64_t count);
} luc_rd_kernel;

typedef struct luc_reduction_job {
  luc_rd op;
  luc_dtype dtype;      /* decides the compute type */
  const luc_tensor *in; /* not empty along the reduced dimensions, but for sums and their like */
  uint32_t dims;        /* bit d: dimension d is reduced */
  luc_tensor *a, *b;    /* where states go; either may be NULL. With or without the reduced dims */
  int64_t first;        /* positions count from it */
  double divide;        /* divides a (of var: b) at the end; 1: does not */
  bool root;            /* then takes its square root */
} luc_reduction_job;

luc_status luc__reduce(luc_context *ctx, const luc_reduction_job *job);
/* Is any element zero? */
bool luc__any_zero(luc_context *ctx, const luc_tensor *t);

extern const luc_rd_kernel luc__reduce_base[LUC_NUM_RDS][LUC_NUM_RD_TYPES],
    luc__reduce_avx2[LUC_NUM_RDS][LUC_NUM_RD_TYPES],
    luc__reduce_avx512[LUC_NUM_RDS][LUC_NUM_RD_TYPES];

#endif
