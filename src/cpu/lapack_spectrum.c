/* Eigenvalues and singular values by LAPACK. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/lapack_loop.h"

/* Matrices, what is asked about them and what comes out; a routine reads its part. */
typedef struct job {
  luc_lapack l;
  luc_matrices s;
  bool upper, full, vectors;
  int64_t k; /* right hand sides */
  const void *from, *limit;
  void *a, *b, *u, *values, *vh;
  int64_t *rank;
  int32_t *info;
  int lwork, liwork;
  size_t work; /* where the work of floats begins in a block, and then that of integers */
  size_t iwork;
  union {
    void (*syevd)(const char *job, const char *uplo, luc_in n, void *a, luc_in lda, void *w,
                  void *work, luc_in lwork, int *iwork, luc_in liwork, int *info, luc_length,
                  luc_length);
    void (*gesdd)(const char *job, luc_in m, luc_in n, void *a, luc_in lda, void *s, void *u,
                  luc_in ldu, void *vt, luc_in ldvt, void *work, luc_in lwork, int *iwork,
                  int *info, luc_length);
    void (*gelsd)(luc_in m, luc_in n, luc_in k, void *a, luc_in lda, void *b, luc_in ldb, void *s,
                  const void *rcond, int *rank, void *work, luc_in lwork, int *iwork, int *info);
    void (*geev)(const char *left, const char *right, luc_in n, void *a, luc_in lda, void *re,
                 void *im, void *vl, luc_in ldvl, void *vr, luc_in ldvr, void *work, luc_in lwork,
                 int *info, luc_length, luc_length);
    void (*geev_complex)(const char *left, const char *right, luc_in n, void *a, luc_in lda,
                         void *w, void *vl, luc_in ldvl, void *vr, luc_in ldvr, void *work,
                         luc_in lwork, void *rwork, int *info, luc_length, luc_length);
  } call;
} job;

/* A job for these matrices, and its routine. */
static luc_status prepare(luc_context *ctx, luc_matrices s, int64_t k, const char *stem, job *j) {
  *j = (job){.s = s, .k = k};
  LUC_TRY(luc__lapack_open(ctx, &s, k, &j->l));
  return luc__lapack_routine(ctx, &j->l, stem, &j->call);
}

/* Lays out a block: elements, lwork of them more, and liwork integers. */
static size_t lay_out(job *j, int64_t elements) {
  j->work = ((size_t)elements * j->l.item + 7) / 8 * 8;
  j->iwork = (j->work + (size_t)j->lwork * j->l.item + 7) / 8 * 8;
  return j->iwork + (size_t)j->liwork * sizeof(int);
}

/* Multiplications that a matrix takes, for the loop: some ten passes. */
static int64_t work_of(const luc_matrices *s) {
  return 10 * s->m * s->n * luc__min64(s->m, s->n);
}

/* ---- eigenvalues of symmetric matrices ---- */

static int eigh(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->a, i * j->s.n * j->s.n);
  const char *part = j->upper ? "L" : "U"; /* of rows read as columns */
  memcpy(block, one, (size_t)(j->s.n * j->s.n) * j->l.item);
  j->call.syevd(j->vectors ? "V" : "N", part, &n, block, &n,
                luc__lapack_at(&j->l, j->values, i * n), block + j->work, &j->lwork,
                (int *)(block + j->iwork), &j->liwork, &j->info[i], 1, 1);
  if (j->vectors) luc__lapack_turn(&j->l, one, block, n, n);
  return j->info[i];
}

/* Room for ormtr's blocks of reflections, which syevd's own answer leaves out. */
enum { BLOCK = 64 };

luc_status luc__eigh(luc_context *ctx, luc_matrices s, bool upper, bool vectors, void *a,
                     void *values, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "syevd", &j));
  int n = (int)s.n, query = -1, wrong = 0;
  double wanted = 0;
  j.call.syevd("V", "U", &n, a, &n, values, &wanted, &query, &j.liwork, &query, &wrong, 1, 1);
  j.upper = upper, j.vectors = vectors, j.a = a, j.values = values, j.info = info;
  j.lwork = luc__lapack_work(&j.l, &wanted) + BLOCK * (n + BLOCK + 1), j.liwork = 3 + 5 * n;
  const size_t block = lay_out(&j, s.n * s.n);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s), block, eigh, &j);
}

/* ---- singular values ---- */

/* An infinity may send LAPACK round for ever. */
static int refuse(int32_t *info) {
  *info = LUC_LAPACK_INFINITE;
  return 0;
}

/* Rows read as columns are A^T = V S U^T, so the two factors only change places. */
static int svd(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, k = luc__min64(m, n);
  const int64_t wide = j->full ? m : k, high = j->full ? n : k;
  const int rows = (int)n, columns = (int)m, ldvt = (int)wide;
  char *one = luc__lapack_at(&j->l, j->a, i * m * n);
  if (!luc__lapack_finite(&j->l, one, m * n)) return refuse(&j->info[i]);
  j->call.gesdd(!j->u     ? "N"
                : j->full ? "A"
                          : "S",
                &rows, &columns, one, &rows, luc__lapack_at(&j->l, j->values, i * k),
                j->u ? luc__lapack_at(&j->l, j->vh, i * high * n) : NULL, &rows,
                j->u ? luc__lapack_at(&j->l, j->u, i * m * wide) : NULL, &ldvt, block, &j->lwork,
                (int *)(block + j->iwork), &j->info[i], 1);
  return j->info[i];
}

luc_status luc__svd(luc_context *ctx, luc_matrices s, bool full, void *a, void *u, void *values,
                    void *vh, int32_t *info) {
  job j;
  int64_t k = luc__min64(s.m, s.n);
  if (luc__lapack_empty(&s, k, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "gesdd", &j));
  int rows = (int)s.n, columns = (int)s.m, ldvt = (int)(full ? s.m : k);
  int query = -1, unused = 0, wrong = 0;
  double wanted = 0;
  j.call.gesdd(!u     ? "N"
               : full ? "A"
                      : "S",
               &rows, &columns, a, &rows, values, vh, &rows, u, &ldvt, &wanted, &query, &unused,
               &wrong, 1);
  j.full = full, j.a = a, j.u = u, j.values = values, j.vh = vh, j.info = info;
  j.lwork = luc__lapack_work(&j.l, &wanted), j.liwork = 8 * (int)k;
  const size_t block = lay_out(&j, 0);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s), block, svd, &j);
}

/* ---- least squares ---- */

static int lstsq(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, least = luc__min64(m, n), most = luc__max64(m, n);
  const int rows = (int)m, columns = (int)n, right = (int)j->k, ldb = (int)most;
  char *a = luc__lapack_at(&j->l, j->a, i * m * n),
       *b = luc__lapack_at(&j->l, j->b, i * most * j->k);
  char *turned = luc__lapack_at(&j->l, block, m * n);
  int found = 0;
  if (!luc__lapack_finite(&j->l, a, m * n) || !luc__lapack_finite(&j->l, b, most * j->k))
    return refuse(&j->info[i]);
  luc__lapack_turn(&j->l, block, a, m, n);
  luc__lapack_turn(&j->l, turned, b, most, j->k);
  j->call.gelsd(&rows, &columns, &right, block, &rows, turned, &ldb,
                luc__lapack_at(&j->l, j->values, i * least), j->limit, &found, block + j->work,
                &j->lwork, (int *)(block + j->iwork), &j->info[i]);
  j->rank[i] = found;
  luc__lapack_turn(&j->l, b, turned, j->k, most);
  return j->info[i];
}

luc_status luc__lstsq(luc_context *ctx, luc_matrices s, int64_t k, double rcond, void *a, void *b,
                      void *values, int64_t *rank, int32_t *info) {
  job j;
  int64_t least = luc__min64(s.m, s.n), most = luc__max64(s.m, s.n);
  memset(rank, 0, (size_t)s.count * sizeof *rank);
  memset(values, 0, (size_t)(s.count * least) * luc__dtype_size(s.dtype));
  if (luc__lapack_empty(&s, least, info) || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "gelsd", &j));
  int rows = (int)s.m, columns = (int)s.n, right = (int)k, ldb = (int)most;
  int query = -1, found = 0, wrong = 0;
  if (!(rcond > 0)) rcond = -1; /* LAPACK's word for the dtype's precision; it prints of NaN */
  float rcond32 = (float)rcond;
  j.limit = j.l.f32 ? (const void *)&rcond32 : (const void *)&rcond;
  double wanted = 0;
  j.call.gelsd(&rows, &columns, &right, a, &rows, b, &ldb, values, j.limit, &found, &wanted, &query,
               &j.liwork, &wrong);
  j.a = a, j.b = b, j.values = values, j.rank = rank, j.info = info;
  j.lwork = luc__lapack_work(&j.l, &wanted), j.liwork++;
  const size_t block = lay_out(&j, s.m * s.n + most * k);
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s), block, lstsq, &j);
}

/* ---- eigenvalues of matrices without symmetry ---- */

/* Real matrices: conjugate pairs of eigenvalues follow each other, and the two columns that stand
 * for their vectors are the real and the imaginary part of the first. */
static void unpack_eig(const luc_lapack *l, int64_t n, const void *re, const void *im,
                       const void *vr, void *values, void *vectors) {
  double sign = 0; /* of the imaginary part: 0 for a real eigenvalue, then 1, -1 in a pair */
  for (int64_t j = 0; j < n; j++) {
    double imaginary = luc__number(l->f32, im, j);
    sign = imaginary == 0 ? 0 : sign == 1 ? -1 : 1;
    luc__complex_put(l->f32, values, j, luc__number(l->f32, re, j), imaginary);
    int64_t first = (sign == -1 ? j - 1 : j) * n;
    for (int64_t i = 0; vectors && i < n; i++) {
      double part = sign == 0 ? 0 : sign * luc__number(l->f32, vr, first + n + i);
      luc__complex_put(l->f32, vectors, i * n + j, luc__number(l->f32, vr, first + i), part);
    }
  }
}

/* The i-th matrix. */
static int eig(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t square = j->s.n * j->s.n;
  const int n = (int)j->s.n, one = 1;
  const bool complex = luc__dtype_is_complex(j->s.dtype);
  const char *right = j->vh ? "V" : "N";
  const size_t pair = complex ? j->l.item : 2 * j->l.item; /* of a complex number */
  char *vr = luc__lapack_at(&j->l, block, square), *work = block + j->work;
  char *re = luc__lapack_at(&j->l, vr, square),
       *im = luc__lapack_at(&j->l, re, n); /* or what a complex one wants */
  char *w = (char *)j->values + (size_t)(i * n) * pair,
       *v = j->vh ? (char *)j->vh + (size_t)(i * square) * pair : NULL;
  luc__lapack_turn(&j->l, block, luc__lapack_from(&j->l, j->from, i * square), n, n);
  if (complex) {
    j->call.geev_complex("N", right, &n, block, &n, w, NULL, &one, vr, &n, work, &j->lwork, re,
                         &j->info[i], 1, 1);
    if (v) luc__lapack_turn(&j->l, v, vr, n, n);
  } else {
    j->call.geev("N", right, &n, block, &n, re, im, NULL, &one, vr, &n, work, &j->lwork,
                 &j->info[i], 1, 1);
    unpack_eig(&j->l, n, re, im, vr, w, v);
  }
  return j->info[i];
}

luc_status luc__eig(luc_context *ctx, luc_matrices s, const void *a, void *values, void *vectors,
                    int32_t *info) {
  job j;
  const bool complex = luc__dtype_is_complex(s.dtype);
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "geev", &j));
  LUC_CHECK(ctx, luc__lapack_finite(&j.l, a, s.count * s.n * s.n * (complex ? 2 : 1)),
            LUC_ERR_VALUE, "input tensor should not contain infs or NaNs.");
  j.from = a, j.values = values, j.vh = vectors, j.info = info, j.lwork = 64 * (int)s.n;
  const size_t block = lay_out(&j, 2 * s.n * (s.n + 1));
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s), block, eig, &j);
}
