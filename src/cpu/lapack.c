/* Factorizations by LAPACK that end after a known number of steps, and what is solved by them. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/lapack_loop.h"

typedef luc_lapack lapack;
typedef luc_lapack_length len;
typedef luc_lapack_in in;

/* A matrix or several, what is asked about them and what comes out; a routine reads its part. */
typedef struct job {
  lapack l;
  luc_matrices s;
  int64_t k; /* right hand sides */
  bool upper, unit;
  const void *from;
  void *to;
  int32_t *pivots, *info;
  int lwork;
  union {
    void (*getrf)(in m, in n, void *a, in lda, int *pivots, int *info);
    void (*potrf)(const char *uplo, in n, void *a, in lda, int *info, len);
    void (*sytrf)(const char *uplo, in n, void *a, in lda, int *pivots, void *work, in lwork,
                  int *info, len);
    void (*trsm)(const char *side, const char *uplo, const char *trans, const char *diag, in m,
                 in n, const void *alpha, const void *a, in lda, void *b, in ldb, len, len, len,
                 len);
  } first;
  union {
    void (*getrs)(const char *trans, in n, in k, const void *a, in lda, const int *pivots, void *b,
                  in ldb, int *info, len);
    void (*getri)(in n, void *a, in lda, const int *pivots, void *work, in lwork, int *info);
    void (*sytrs)(const char *uplo, in n, in k, const void *a, in lda, const int *pivots, void *b,
                  in ldb, int *info, len);
  } second;
} job;

/* A job for these matrices, and its one or two routines. */
static luc_status prepare(luc_context *ctx, luc_matrices s, int64_t k, const char *first,
                          const char *second, job *j) {
  *j = (job){.s = s, .k = k};
  LUC_TRY(luc__lapack_open(ctx, &s, k, &j->l));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, first, &j->first));
  return second ? luc__lapack_routine(ctx, &j->l, second, &j->second) : LUC_OK;
}

/* Multiplications that a matrix takes, for the loop. */
static int64_t work_of(const luc_matrices *s, int64_t k) {
  return s->m * s->n * (luc__min64(s->m, s->n) + k);
}

/* ---- LU ---- */

static int lu(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  const int rows = (int)m, columns = (int)n;
  char *matrix = luc__lapack_at(&j->l, j->to, i * m * n);
  int32_t *pivots = j->pivots + i * luc__min64(m, n);
  luc__lapack_turn(&j->l, block, matrix, m, n);
  j->first.getrf(&rows, &columns, block, &rows, pivots, &j->info[i]);
  luc__lapack_turn(&j->l, matrix, block, n, m);
  return j->info[i];
}

luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, luc__min64(s.m, s.n), info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "getrf", NULL, &j));
  j.to = a, j.pivots = pivots, j.info = info;
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0), (size_t)(s.m * s.n) * j.l.item, lu,
                          &j);
}

static int lu_of_columns(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  (void)block;
  j->first.getrf(&n, &n, luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n), &n,
                 j->pivots + i * j->s.n, &j->info[i]);
  return j->info[i];
}

luc_status luc__lu_of_columns(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots,
                              int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "getrf", NULL, &j));
  j.to = a, j.pivots = pivots, j.info = info;
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0), 0, lu_of_columns, &j);
}

/* The LU of A^T, rows read as columns, of a copy in the block: nothing is transposed. */
static int factor_copy(const job *j, int64_t i, const void *from, char *block, int **pivots) {
  const int n = (int)j->s.n;
  const size_t matrix = (size_t)(j->s.n * j->s.n) * j->l.item;
  *pivots = (int *)(block + matrix);
  memcpy(block, from, matrix);
  j->first.getrf(&n, &n, block, &n, *pivots, &j->info[i]);
  return j->info[i];
}

/* Up to this many rows, solving for an identity matrix is faster than getri. */
enum { SOLVED_ROWS = 384 };

static int invert(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n);
  int *pivots, info = factor_copy(j, i, one, block, &pivots), refused = 0;
  if (info) return info;
  memset(one, 0, (size_t)(j->s.n * j->s.n) * j->l.item);
  for (int64_t row = 0; row < n; row++) {
    if (j->l.f32)
      ((float *)one)[row * n + row] = 1;
    else
      ((double *)one)[row * n + row] = 1;
  }
  j->second.getrs("N", &n, &n, block, &n, pivots, one, &n, &refused, 1);
  return refused;
}

static int invert_large(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n);
  int *pivots = (int *)(block + (size_t)j->lwork * j->l.item);
  j->first.getrf(&n, &n, one, &n, pivots, &j->info[i]);
  if (j->info[i] == 0) j->second.getri(&n, one, &n, pivots, block, &j->lwork, &j->info[i]);
  return j->info[i];
}

luc_status luc__inverse(luc_context *ctx, luc_matrices s, void *a, int32_t *info) {
  job j;
  const bool large = s.n > SOLVED_ROWS;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "getrf", large ? "getri" : "getrs", &j));
  j.to = a, j.info = info, j.lwork = 64 * (int)s.n;
  size_t block = (size_t)(large ? j.lwork : s.n * s.n) * j.l.item + (size_t)s.n * sizeof(int);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 2 * s.n), block,
                          large ? invert_large : invert, &j);
}

static int solve(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n, columns = (int)j->k;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->k);
  int *pivots, refused = 0;
  int info =
      factor_copy(j, i, luc__lapack_from(&j->l, j->from, i * j->s.n * j->s.n), block, &pivots);
  if (info || j->k == 0) return info;
  char *turned = (char *)(pivots + (n + 1) / 2 * 2);
  luc__lapack_turn(&j->l, turned, one, n, j->k);
  j->second.getrs("T", &n, &columns, block, &n, pivots, turned, &n, &refused, 1);
  luc__lapack_turn(&j->l, one, turned, j->k, n);
  return refused;
}

luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b,
                      int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "getrf", "getrs", &j));
  j.from = a, j.to = b, j.info = info;
  size_t block = (size_t)(s.n * (s.n + k)) * j.l.item + (size_t)(s.n + 1) * sizeof(int);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 2 * k), block, solve, &j);
}

/* ---- triangles ---- */

static const void *one_of(const lapack *l) {
  static const float one32 = 1;
  static const double one64 = 1;
  return l->f32 ? (const void *)&one32 : (const void *)&one64;
}

/* Columns that are solved for at a time: LAPACK lays out a triangle anew for each such part. */
static int64_t part_of(int64_t k) {
  return luc__max64(32, luc__cuts(k, 8));
}

/* Rows read as columns: X^T A^T = B^T, with the other triangle. The i-th part of all right hand
 * sides. */
static int solve_triangle(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t part = part_of(j->k), parts = luc__cuts(j->k, part);
  const int64_t matrix = i / parts, first = i % parts * part;
  const int n = (int)j->s.n, columns = (int)luc__min64(part, j->k - first), ldb = (int)j->k;
  (void)block;
  j->first.trsm("R", j->upper ? "L" : "U", "N", j->unit ? "U" : "N", &columns, &n, one_of(&j->l),
                luc__lapack_from(&j->l, j->from, matrix * j->s.n * j->s.n), &n,
                luc__lapack_at(&j->l, j->to, matrix * j->s.n * j->k + first), &ldb, 1, 1, 1, 1);
  return 0;
}

luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               const void *a, void *b) {
  job j;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "trsm", NULL, &j));
  j.upper = upper, j.unit = unit, j.from = a, j.to = b;
  const int64_t part = part_of(k);
  return luc__lapack_loop(ctx, &j.l, s.count * luc__cuts(k, part), s.n * s.n * part, 0,
                          solve_triangle, &j);
}

/* U of A = U^T U by columns is L by rows. */
static int cholesky(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n);
  (void)block;
  j->first.potrf("U", &n, one, &n, &j->info[i], 1);
  for (int64_t row = 0; row < n; row++)
    memset(luc__lapack_at(&j->l, one, row * n + row + 1), 0, (size_t)(n - row - 1) * j->l.item);
  return j->info[i];
}

luc_status luc__cholesky(luc_context *ctx, luc_matrices s, void *a, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "potrf", NULL, &j));
  j.to = a, j.info = info;
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0), 0, cholesky, &j);
}

/* ---- LDL ---- */

static int ldl(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n);
  luc__lapack_turn(&j->l, block, one, n, n);
  j->first.sytrf("L", &n, block, &n, j->pivots + i * n,
                 luc__lapack_at(&j->l, block, j->s.n * j->s.n), &j->lwork, &j->info[i], 1);
  luc__lapack_turn(&j->l, one, block, n, n);
  return j->info[i];
}

luc_status luc__ldl(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "sytrf", NULL, &j));
  j.to = a, j.pivots = pivots, j.info = info, j.lwork = 64 * (int)s.n;
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0),
                          (size_t)(s.n * s.n + j.lwork) * j.l.item, ldl, &j);
}

static int ldl_solve(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n, right = (int)j->k;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->k),
       *turned = luc__lapack_at(&j->l, block, j->s.n * j->s.n);
  int refused = 0;
  luc__lapack_turn(&j->l, block, luc__lapack_from(&j->l, j->from, i * j->s.n * j->s.n), n, n);
  luc__lapack_turn(&j->l, turned, one, n, j->k);
  j->second.sytrs("L", &n, &right, block, &n, j->pivots + i * n, turned, &n, &refused, 1);
  luc__lapack_turn(&j->l, one, turned, j->k, n);
  return refused;
}

luc_status luc__ldl_solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a,
                          const int32_t *pivots, void *b) {
  job j;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "sytrf", "sytrs", &j));
  j.from = a, j.to = b, j.pivots = (int32_t *)(uintptr_t)pivots;
  return luc__lapack_loop(ctx, &j.l, s.count, s.n * s.n * k, (size_t)(s.n * (s.n + k)) * j.l.item,
                          ldl_solve, &j);
}
