/* What the files of LAPACK share: OpenBLAS and its routines for a dtype, the loop over matrices.
 * LAPACK keeps matrices by columns: where a symmetry does not allow to read rows as columns,
 * matrices are transposed on the way in and out. */
#ifndef LUC_LAPACK_LOOP_H
#define LUC_LAPACK_LOOP_H

#include "cpu/copy_kernels.h"
#include "cpu/lapack.h"
#include "cpu/lapack_kernels.h"
#include "cpu/number.h"

/* The lengths of strings follow a Fortran routine's arguments. */
typedef size_t luc_length;
typedef const int *luc_in;

typedef struct luc_lapack {
  void *library;
  char letter; /* of the routines' names */
  bool f32;    /* of numbers, or of the parts of complex ones */
  bool complex;
  size_t item;
  const luc_lapack_kernels *lanes;
  luc_transpose_fn turn; /* of such items */
  bool locks;            /* a routine takes OpenBLAS's lock */
  int (*get_threads)(void);
  void (*set_threads)(int n);
} luc_lapack;

/* The LAPACK for these matrices with k right hand sides. */
luc_status luc__lapack_open(luc_context *ctx, const luc_matrices *s, int64_t k, luc_lapack *l);
/* The routine of this name for the dtype: "getrf" is sgetrf_ or dgetrf_. */
luc_status luc__lapack_routine(luc_context *ctx, const luc_lapack *l, const char *stem, void *to);

/* What is done to the i-th matrix, with a block of memory to itself; returns LAPACK's info. */
typedef int (*luc_lapack_fn)(const void *job, int64_t i, char *block);
/* Does it to `count` matrices, some on each thread; work: the multiplications a matrix takes. An
 * argument that LAPACK refuses is a fault of the caller. OpenBLAS's own threads are stopped
 * meanwhile: the pool and the host own them. */
luc_status luc__lapack_loop(luc_context *ctx, const luc_lapack *l, int64_t count, int64_t work,
                            size_t block, luc_lapack_fn one, const void *job);
/* Are these given to kernels of lanes? A few take as long as many. */
static inline bool luc__lapack_in_lanes(const luc_lapack *l, const luc_matrices *s) {
  const int64_t most = l->lanes->side;
  return !l->complex && s->count >= LUC_LANES_COUNT && s->m <= most && s->n <= most;
}
/* What is done to matrices from the i-th on in lanes; returns bits of those it left. */
typedef unsigned (*luc_lapack_lanes_fn)(const void *job, luc_lanes l, int64_t i);
/* The same, in lanes but for what those leave; `lanes` may be NULL. */
luc_status luc__lapack_loop_lanes(luc_context *ctx, const luc_lapack *l, int64_t count,
                                  int64_t work, size_t block, luc_lapack_lanes_fn lanes,
                                  luc_lapack_fn one, const void *job);

/* Is there nothing to do for matrices whose shorter side is `side`? None has failed so far. */
bool luc__lapack_empty(const luc_matrices *s, int64_t side, int32_t *info);
/* to [columns, rows] = from [rows, columns]. */
void luc__lapack_turn(const luc_lapack *l, void *to, const void *from, int64_t rows,
                      int64_t columns);
/* 1, as a routine reads an alpha. */
const void *luc__lapack_one(const luc_lapack *l);
/* n numbers become their conjugates; real ones stay. */
void luc__lapack_conj(const luc_lapack *l, void *block, int64_t n);
/* The size of work that a query with lwork = -1 left in work[0]. */
int luc__lapack_work(const luc_lapack *l, const void *work);
/* Is there neither NaN nor infinity among n numbers? */
bool luc__lapack_finite(const luc_lapack *l, const void *block, int64_t n);

/* A triangle of A [n, n], whose elements are `down` and `right` apart; `unit`: with a diagonal of
 * ones, which is not read. */
typedef struct luc_triangle {
  const void *a;
  int64_t n, down, right;
  bool upper, unit;
} luc_triangle;
/* A [m, n], whose elements are `down` and `right` apart. */
typedef struct luc_rectangle {
  void *a;
  int64_t m, n, down, right;
} luc_rectangle;
/* Are matrices of n rows factored, and triangles of them solved, by these rather than by LAPACK? */
static inline bool luc__lapack_small(int64_t n) {
  return n <= 16;
}
/* Getrf: A becomes its factors L and U; returns info, the first column without a pivot, from 1. */
int luc__lapack_factor(const luc_lapack *l, const luc_rectangle *r, int *pivots);
/* The lower triangle of A [n, n] becomes that of L, A = L L^H; returns info, the order of a minor
 * that is not positive. */
int luc__lapack_cholesky(const luc_lapack *l, int64_t n, void *a);
/* Rows b [n, k], ldb apart, become X of A X = B. */
void luc__lapack_substitute(const luc_lapack *l, const luc_triangle *t, int64_t k, void *b,
                            int64_t ldb);
/* Rows b [n, k] change places as getrf's pivots tell; back: in the order that undoes it. */
void luc__lapack_exchange(const luc_lapack *l, int64_t n, int64_t k, const int *pivots, bool back,
                          void *b);

static inline char *luc__lapack_at(const luc_lapack *l, void *block, int64_t elements) {
  return (char *)block + (size_t)elements * l->item;
}
static inline const char *luc__lapack_from(const luc_lapack *l, const void *block,
                                           int64_t elements) {
  return (const char *)block + (size_t)elements * l->item;
}
/* Number i of a block: of a real one the imaginary part is neither kept nor more than 0. */
static inline void luc__lapack_put(const luc_lapack *l, void *block, int64_t i, double re,
                                   double im) {
  if (l->complex)
    luc__complex_put(l->f32, block, i, re, im);
  else
    luc__number_put(l->f32, block, i, re);
}
static inline void luc__lapack_get(const luc_lapack *l, const void *block, int64_t i,
                                   double parts[2]) {
  parts[0] = luc__number(l->f32, block, l->complex ? 2 * i : i);
  parts[1] = l->complex ? luc__number(l->f32, block, 2 * i + 1) : 0;
}

#endif
