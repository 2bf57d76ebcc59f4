/* The inner loops of copying and converting, one table per instruction set. Every driver that
 * meets a dtype it does not compute in goes through load and store. */
#ifndef LUC_COPY_KERNELS_H
#define LUC_COPY_KERNELS_H

#include "tensor/dtype.h"

/* The types kernels compute in: halves in float, small integers and bool in int64. ORDER COMPUTE */
typedef enum luc_compute {
  LUC_COMPUTE_F32,
  LUC_COMPUTE_F64,
  LUC_COMPUTE_I64,
  LUC_NUM_COMPUTES
} luc_compute;

/* Reads n elements `stride` bytes apart into a contiguous run of a compute type. */
typedef void (*luc_load_fn)(void *restrict out, const char *restrict in, int64_t stride, int64_t n);
/* Writes such a run. Integers wrap around. */
typedef void (*luc_store_fn)(char *restrict out, int64_t stride, const void *restrict in,
                             int64_t n);
/* A run of one dtype as another, in registers. */
typedef void (*luc_resize_fn)(char *restrict out, const char *restrict in, int64_t n);
/* Strided elements of one size, as they are. */
typedef void (*luc_move_fn)(char *restrict out, int64_t out_stride, const char *restrict in,
                            int64_t in_stride, int64_t n);
/* n short runs: they begin every out_step and in_step bytes, in each `run` elements are a stride
 * apart. */
typedef void (*luc_runs_fn)(char *restrict out, int64_t out_step, int64_t out_stride,
                            const char *restrict in, int64_t in_step, int64_t in_stride,
                            int64_t run, int64_t n);
/* From so many bytes on a run without gaps goes as bytes. */
enum { LUC_LONG_RUN = 384 };
/* a and b element by element in turn: 2 n elements. */
typedef void (*luc_pairs_fn)(char *restrict out, const char *a, const char *b, int64_t n);
/* rows x cols elements: out has its rows contiguous and `out_step` bytes apart, in its columns.
 * `stream`: out is too large for the cache. */
typedef void (*luc_transpose_fn)(char *restrict out, int64_t out_step, const char *restrict in,
                                 int64_t in_step, int64_t rows, int64_t cols, bool stream);

typedef struct luc_copy_kernels {
  /* Of real dtypes; complex ones go by their parts (cpu/complex.c). */
  luc_load_fn load[LUC_NUM_COMPUTES][LUC_NUM_DTYPES];
  luc_store_fn store[LUC_NUM_COMPUTES][LUC_NUM_DTYPES];
  /* To integers, of halves to those that they reach by int32_t, by log2 of the result's size; NULL
   * where one or two of the above do it, or the size is the same. */
  luc_resize_fn resize[LUC_NUM_DTYPES][3];
  luc_resize_fn as_bf16[LUC_NUM_DTYPES]; /* likewise */
  luc_resize_fn truth[4];                /* of integers as bool, by log2 of their size */
  luc_move_fn move[5];                   /* by log2 of the size: 1, 2, 4, 8, 16 bytes */
  luc_runs_fn runs[5];                   /* likewise */
  luc_pairs_fn pairs[5];                 /* likewise */
  luc_transpose_fn transpose[5];         /* likewise */
} luc_copy_kernels;

/* The type a dtype is computed in. */
static inline luc_compute luc__compute(luc_dtype dtype) {
  if (dtype == LUC_FLOAT64) return LUC_COMPUTE_F64;
  return luc__dtype_is_float(dtype) ? LUC_COMPUTE_F32 : LUC_COMPUTE_I64;
}
/* Is a run of this dtype already a run of its compute type? */
static inline bool luc__is_native(luc_dtype dtype) {
  return dtype == LUC_FLOAT32 || dtype == LUC_FLOAT64 || dtype == LUC_INT64;
}

extern const luc_copy_kernels luc__copy_base, luc__copy_avx2, luc__copy_avx512;

#endif
