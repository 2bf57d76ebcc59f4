/* What lapack.isa.c offers to LAPACK's callers: small real matrices, as many at a time as there are
 * lanes. Numbers are doubles on the way, so floats come out rounded once. Each function says, a bit
 * for a matrix, which ones it left alone, memory of theirs included: those with NaN or infinities,
 * and what does not converge. */
#ifndef LUC_LAPACK_KERNELS_H
#define LUC_LAPACK_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* The most rows and columns, and the most matrices of a call. */
enum { LUC_LANES_SIDE = 16, LUC_LANES_COUNT = 8 };

/* `count` matrices behind each other, of floats or of doubles. */
typedef struct luc_lanes {
  bool f32;
  int64_t count;
} luc_lanes;

typedef struct luc_lapack_kernels {
  int64_t side; /* the most rows and columns of which LAPACK takes longer */
  /* of a [m, n], descending */
  unsigned (*svdvals)(luc_lanes l, int64_t m, int64_t n, const void *a, void *values);
  /* of a [n, n], of which one triangle is read, ascending */
  unsigned (*eigvalsh)(luc_lanes l, int64_t n, bool upper, const void *a, void *values);
  /* a [m, n] = q [m, wide] r [wide, n], with LAPACK's signs; q and r may be NULL */
  unsigned (*qr)(luc_lanes l, int64_t m, int64_t n, int64_t wide, const void *a, void *q, void *r);
} luc_lapack_kernels;

extern const luc_lapack_kernels luc__lapack_base, luc__lapack_avx2, luc__lapack_avx512;

#endif
