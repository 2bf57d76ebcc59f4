/* Factorizations by LAPACK that end after a known number of steps, and what is solved by them. */
#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/lapack_loop.h"

/* A matrix or several, what is asked about them and what comes out; a routine reads its part. */
typedef struct job {
  luc_lapack l;
  luc_matrices s;
  int64_t k; /* right hand sides */
  bool upper, unit, turned;
  const void *from;
  void *to, *lu, *logarithms;
  int32_t *pivots, *info;
  int lwork;
  union {
    void (*getrf)(luc_in m, luc_in n, void *a, luc_in lda, int *pivots, int *info);
    void (*potrf)(const char *uplo, luc_in n, void *a, luc_in lda, int *info, luc_length);
    void (*sytrf)(const char *uplo, luc_in n, void *a, luc_in lda, int *pivots, void *work,
                  luc_in lwork, int *info, luc_length);
  } first;
  union {
    void (*getri)(luc_in n, void *a, luc_in lda, const int *pivots, void *work, luc_in lwork,
                  int *info);
    void (*sytrs)(const char *uplo, luc_in n, luc_in k, const void *a, luc_in lda,
                  const int *pivots, void *b, luc_in ldb, int *info, luc_length);
    void (*trsv)(const char *uplo, const char *trans, const char *diag, luc_in n, const void *a,
                 luc_in lda, void *x, luc_in step, luc_length, luc_length, luc_length);
    void (*trsm)(const char *side, const char *uplo, const char *trans, const char *diag, luc_in m,
                 luc_in n, const void *alpha, const void *a, luc_in lda, void *b, luc_in ldb,
                 luc_length, luc_length, luc_length, luc_length);
  } second;
} job;

/* A job for these matrices, and its routines. */
static luc_status prepare(luc_context *ctx, luc_matrices s, int64_t k, const char *first,
                          const char *second, job *j) {
  *j = (job){.s = s, .k = k};
  LUC_TRY(luc__lapack_open(ctx, &s, k, &j->l));
  j->l.locks = true;
  if (first) LUC_TRY(luc__lapack_routine(ctx, &j->l, first, &j->first));
  return second ? luc__lapack_routine(ctx, &j->l, second, &j->second) : LUC_OK;
}

/* Multiplications that a matrix takes, for the loop. */
static int64_t work_of(const luc_matrices *s, int64_t k) {
  return s->m * s->n * (luc__min64(s->m, s->n) + k);
}

/* ---- LU ---- */

/* Are these factored without LAPACK? */
static bool is_small(const luc_matrices *s) {
  return luc__lapack_small(luc__max64(s->m, s->n));
}

static int lu(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  const int rows = (int)m, columns = (int)n;
  char *matrix = luc__lapack_at(&j->l, j->to, i * m * n);
  int32_t *pivots = j->pivots + i * luc__min64(m, n);
  if (is_small(&j->s)) {
    j->info[i] = luc__lapack_factor(&j->l, &(luc_rectangle){matrix, m, n, n, 1}, pivots);
    return j->info[i];
  }
  luc__lapack_turn(&j->l, block, matrix, m, n);
  j->first.getrf(&rows, &columns, block, &rows, pivots, &j->info[i]);
  luc__lapack_turn(&j->l, matrix, block, n, m);
  return j->info[i];
}

/* The LU of A^T [n, n], rows read as columns: nothing is transposed. */
static int factor_turned(const job *j, char *a, int *pivots) {
  const int n = (int)j->s.n;
  int info = 0;
  if (is_small(&j->s))
    info = luc__lapack_factor(&j->l, &(luc_rectangle){a, n, n, 1, n}, pivots);
  else
    j->first.getrf(&n, &n, a, &n, pivots, &info);
  return info;
}

luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, luc__min64(s.m, s.n), info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "getrf", NULL, &j));
  j.to = a, j.pivots = pivots, j.info = info, j.l.locks = !is_small(&s);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0), (size_t)(s.m * s.n) * j.l.item, lu,
                          &j);
}

/* ---- determinants ---- */

/* Of a matrix and its pivots. */
static size_t copy_size(const job *j) {
  return (size_t)(j->s.n * j->s.n) * j->l.item + (size_t)((j->s.n + 1) / 2 * 2) * sizeof(int);
}

/* z becomes z d; without imaginary parts these stay out of it, be others infinite. */
static void multiply(double z[2], const double d[2], bool complex) {
  const double re = z[0];
  z[0] = re * d[0] - (complex ? z[1] * d[1] : 0);
  z[1] = complex ? re * d[1] + z[1] * d[0] : 0;
}

/* d becomes 0, or of length 1; returns its size. */
static double make_unit(double d[2], bool complex) {
  const double size = hypot(d[0], d[1]);
  if (!complex)
    d[0] = (d[0] > 0) - (d[0] < 0);
  else if (size != 0)
    d[0] /= size, d[1] /= size;
  return size;
}

/* The product of U's diagonal, or its sign and the logarithm of its size. */
static int determinant(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const size_t square = (size_t)(j->s.n * j->s.n);
  int *pivots = (int *)luc__lapack_at(&j->l, block, (int64_t)square);
  double sign = 1, product[2] = {1, 0}, logarithm = 0;
  if (square > 0)
    memcpy(block, luc__lapack_from(&j->l, j->from, i * (int64_t)square), square * j->l.item);
  const int info = factor_turned(j, block, pivots);
  for (int64_t k = 0; k < j->s.n; k++) {
    double d[2];
    luc__lapack_get(&j->l, block, k * (j->s.n + 1), d);
    if (pivots[k] != k + 1) sign = -sign;
    if (j->logarithms) logarithm += log(make_unit(d, j->l.complex));
    multiply(product, d, j->l.complex);
  }
  luc__lapack_put(&j->l, j->to, i, sign * product[0], sign * product[1]);
  if (j->logarithms) luc__number_put(j->l.f32, j->logarithms, i, logarithm);
  return info < 0 ? info : 0;
}

luc_status luc__determinant(luc_context *ctx, luc_matrices s, const void *a, void *values,
                            void *logarithms) {
  job j;
  if (s.count == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "getrf", NULL, &j));
  j.from = a, j.to = values, j.logarithms = logarithms, j.l.locks = !is_small(&s);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0), copy_size(&j), determinant, &j);
}

/* What by_factors calls for a job of k right hand sides. */
static const char *rows_by(int64_t k) {
  return k == 1 ? "trsv" : "trsm";
}

/* Rows b [n, k] become X of A^T X = B, or of A X = B, by the factors of A. */
static void by_factors(const job *j, int64_t k, const char *lu, const int *pivots, bool transposed,
                       char *b) {
  const int n = (int)j->s.n, columns = (int)k;
  const char *trans = transposed ? "N" : "T";
  if (!transposed) luc__lapack_exchange(&j->l, n, k, pivots, false, b);
  for (int step = 0; step < 2 && k > 0; step++) {
    const bool upper = transposed == (step == 0);
    if (luc__lapack_small(n)) {
      const luc_triangle t = {lu, n, transposed ? n : 1, transposed ? 1 : n, step == 1, !upper};
      luc__lapack_substitute(&j->l, &t, k, b, k);
    } else if (j->k == 1) {
      j->second.trsv(upper ? "U" : "L", transposed ? "T" : "N", upper ? "N" : "U", &n, lu, &n, b,
                     &columns, 1, 1, 1);
    } else {
      j->second.trsm("R", upper ? "U" : "L", trans, upper ? "N" : "U", &columns, &n,
                     luc__lapack_one(&j->l), lu, &n, b, &columns, 1, 1, 1, 1);
    }
  }
  if (transposed) luc__lapack_exchange(&j->l, n, k, pivots, true, b);
}

/* Rows b [n, k] become X of A X = B; lu, A's rows read as columns, the factors of A^T. */
static int solve_rows(const job *j, int64_t k, char *lu, int *pivots, char *b, int *info) {
  *info = factor_turned(j, lu, pivots);
  if (*info == 0) by_factors(j, k, lu, pivots, true, b);
  return *info;
}

/* ---- inverses ---- */

/* Up to this many rows, solving for an identity matrix is faster than getri. */
enum { SOLVED_ROWS = 384 };

static void put_identity(const job *j, char *one) {
  const int64_t n = j->s.n;
  memset(one, 0, (size_t)(n * n) * j->l.item);
  for (int64_t i = 0; i < n; i++) luc__lapack_put(&j->l, one, i * (n + 1), 1, 0);
}

/* A^T, rows read as columns, is what is solved by, and so is the inverse that comes out. */
static int invert(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  const int64_t square = j->s.n * j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * square);
  int *pivots = (int *)luc__lapack_at(&j->l, block, square);
  memcpy(block, one, (size_t)square * j->l.item);
  put_identity(j, one);
  return solve_rows(j, n, block, pivots, one, &j->info[i]);
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
  LUC_TRY(prepare(ctx, s, 0, "getrf", large ? "getri" : "trsm", &j));
  j.to = a, j.info = info, j.lwork = 64 * (int)s.n, j.l.locks = !is_small(&s);
  size_t block = (size_t)j.lwork * j.l.item + (size_t)s.n * sizeof(int);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 2 * s.n), large ? block : copy_size(&j),
                          large ? invert_large : invert, &j);
}

/* ---- systems ---- */

/* Rows are read as columns, as PyTorch does: the factors are those of A^T. */
static int solve(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t n = j->s.n, square = n * n;
  char *lu = luc__lapack_at(&j->l, j->lu, i * square);
  (void)block;
  memcpy(lu, luc__lapack_from(&j->l, j->from, i * square), (size_t)square * j->l.item);
  return solve_rows(j, j->k, lu, j->pivots + i * n, luc__lapack_at(&j->l, j->to, i * n * j->k),
                    &j->info[i]);
}

luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b, void *lu,
                      int32_t *pivots, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "getrf", rows_by(k), &j));
  j.from = a, j.to = b, j.lu = lu, j.pivots = pivots, j.info = info, j.l.locks = !is_small(&s);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 2 * k), 0, solve, &j);
}

/* A^T conj(X) = conj(B) */
static int solve_adjoint(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t n = j->s.n;
  char *one = luc__lapack_at(&j->l, j->to, i * n * j->k);
  (void)block;
  luc__lapack_conj(&j->l, one, n * j->k);
  by_factors(j, j->k, luc__lapack_from(&j->l, j->from, i * n * n), j->pivots + i * n, false, one);
  luc__lapack_conj(&j->l, one, n * j->k);
  return 0;
}

luc_status luc__solve_adjoint(luc_context *ctx, luc_matrices s, int64_t k, const void *lu,
                              const int32_t *pivots, void *b) {
  job j;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, NULL, rows_by(k), &j));
  j.from = lu, j.to = b, j.pivots = (int32_t *)(uintptr_t)pivots;
  j.l.locks = !luc__lapack_small(s.n);
  return luc__lapack_loop(ctx, &j.l, s.count, s.n * s.n * k, 0, solve_adjoint, &j);
}

/* ---- triangles ---- */

/* Columns that are solved for at a time: LAPACK lays out a triangle anew for each such part. */
static int64_t part_of(int64_t k) {
  return luc__max64(32, luc__cuts(k, 8));
}

/* Are k right hand sides so few that one by one, for which nothing is laid out, they take less? */
static bool one_by_one(const luc_matrices *s, int64_t k) {
  const int64_t least = s->dtype == LUC_FLOAT64 ? 8 : 20;
  return k == 1 || (k <= 4 && s->n >= least * k * k);
}

/* Rows read as columns: X^T A^T = B^T, with the other triangle unless A lies turned. The i-th part
 * of all right hand sides. */
static int solve_triangle(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t part = part_of(j->k), parts = luc__cuts(j->k, part);
  const int64_t matrix = i / parts, first = i % parts * part;
  const int n = (int)j->s.n, columns = (int)luc__min64(part, j->k - first), ldb = (int)j->k;
  const char *a = luc__lapack_from(&j->l, j->from, matrix * j->s.n * j->s.n);
  char *b = luc__lapack_at(&j->l, j->to, matrix * j->s.n * j->k + first);
  (void)block;
  const luc_triangle t = {a, n, j->turned ? 1 : n, j->turned ? n : 1, j->upper, j->unit};
  const char *triangle = j->upper != j->turned ? "L" : "U", *unit = j->unit ? "U" : "N";
  if (luc__lapack_small(n))
    luc__lapack_substitute(&j->l, &t, columns, b, ldb);
  else if (one_by_one(&j->s, j->k))
    for (int c = 0; c < columns; c++)
      j->second.trsv(triangle, j->turned ? "N" : "T", unit, &n, a, &n, luc__lapack_at(&j->l, b, c),
                     &ldb, 1, 1, 1);
  else
    j->second.trsm("R", triangle, j->turned ? "T" : "N", unit, &columns, &n, luc__lapack_one(&j->l),
                   a, &n, b, &ldb, 1, 1, 1, 1);
  return 0;
}

luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               bool turned, const void *a, void *b) {
  job j;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, NULL, one_by_one(&s, k) ? "trsv" : "trsm", &j));
  j.upper = upper, j.unit = unit, j.turned = turned, j.from = a, j.to = b;
  j.l.locks = !luc__lapack_small(s.n);
  const int64_t part = part_of(k);
  return luc__lapack_loop(ctx, &j.l, s.count * luc__cuts(k, part), s.n * s.n * luc__min64(part, k),
                          0, solve_triangle, &j);
}

/* U of A = U^T U by columns is L by rows; of larger matrices potrf finds an L sooner, of a few rows
 * we do. */
enum { CHOLESKY_FEW = 4 };
static int cholesky(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n, larger = j->l.complex ? 64 : j->l.f32 ? 32 : 48;
  char *one = luc__lapack_at(&j->l, j->to, i * j->s.n * j->s.n);
  if (n <= CHOLESKY_FEW) {
    j->info[i] = luc__lapack_cholesky(&j->l, n, one);
  } else if (n < larger) {
    j->first.potrf("U", &n, one, &n, &j->info[i], 1);
  } else {
    luc__lapack_turn(&j->l, block, one, n, n);
    j->first.potrf("L", &n, block, &n, &j->info[i], 1);
    luc__lapack_turn(&j->l, one, block, n, n);
  }
  for (int64_t row = 0; row < n; row++)
    memset(luc__lapack_at(&j->l, one, row * n + row + 1), 0, (size_t)(n - row - 1) * j->l.item);
  return j->info[i];
}

luc_status luc__cholesky(luc_context *ctx, luc_matrices s, void *a, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "potrf", NULL, &j));
  j.to = a, j.info = info, j.l.locks = s.n > CHOLESKY_FEW;
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s, 0) / 2, (size_t)(s.n * s.n) * j.l.item,
                          cholesky, &j);
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

luc_status luc__ldl(luc_context *ctx, luc_matrices s, bool hermitian, void *a, int32_t *pivots,
                    int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, hermitian ? "hetrf" : "sytrf", NULL, &j));
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

luc_status luc__ldl_solve(luc_context *ctx, luc_matrices s, bool hermitian, int64_t k,
                          const void *a, const int32_t *pivots, void *b) {
  job j;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, NULL, hermitian ? "hetrs" : "sytrs", &j));
  j.from = a, j.to = b, j.pivots = (int32_t *)(uintptr_t)pivots;
  return luc__lapack_loop(ctx, &j.l, s.count, s.n * s.n * k, (size_t)(s.n * (s.n + k)) * j.l.item,
                          ldl_solve, &j);
}
