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
  int lwork, liwork, lrwork; /* lrwork: real numbers that complex routines want, too */
  size_t work; /* where the work begins in a block, then that of real numbers and of integers */
  size_t rwork, iwork;
  union {
    void (*syevd)(const char *job, const char *uplo, luc_in n, void *a, luc_in lda, void *w,
                  void *work, luc_in lwork, int *iwork, luc_in liwork, int *info, luc_length,
                  luc_length);
    void (*heevd)(const char *job, const char *uplo, luc_in n, void *a, luc_in lda, void *w,
                  void *work, luc_in lwork, void *rwork, luc_in lrwork, int *iwork, luc_in liwork,
                  int *info, luc_length, luc_length);
    void (*gesdd)(const char *job, luc_in m, luc_in n, void *a, luc_in lda, void *s, void *u,
                  luc_in ldu, void *vt, luc_in ldvt, void *work, luc_in lwork, int *iwork,
                  int *info, luc_length);
    void (*gesdd_complex)(const char *job, luc_in m, luc_in n, void *a, luc_in lda, void *s,
                          void *u, luc_in ldu, void *vt, luc_in ldvt, void *work, luc_in lwork,
                          void *rwork, int *iwork, int *info, luc_length);
    void (*gelsd)(luc_in m, luc_in n, luc_in k, void *a, luc_in lda, void *b, luc_in ldb, void *s,
                  const void *rcond, int *rank, void *work, luc_in lwork, int *iwork, int *info);
    void (*gelsd_complex)(luc_in m, luc_in n, luc_in k, void *a, luc_in lda, void *b, luc_in ldb,
                          void *s, const void *rcond, int *rank, void *work, luc_in lwork,
                          void *rwork, int *iwork, int *info);
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

static size_t real_size(const job *j) {
  return j->l.f32 ? sizeof(float) : sizeof(double);
}

/* Values are real: those from the i-th on. */
static char *value_at(const job *j, int64_t i) {
  return (char *)j->values + (size_t)i * real_size(j);
}

/* Lays out a block: elements, lwork of them more, lrwork real numbers and liwork integers. */
static size_t lay_out(job *j, int64_t elements) {
  j->work = ((size_t)elements * j->l.item + 7) / 8 * 8;
  j->rwork = (j->work + (size_t)j->lwork * j->l.item + 7) / 8 * 8;
  j->iwork = (j->rwork + (size_t)j->lrwork * real_size(j) + 7) / 8 * 8;
  return j->iwork + (size_t)j->liwork * sizeof(int);
}

/* Multiplications that a matrix takes, for the loop: some ten passes. */
static int64_t work_of(const luc_matrices *s) {
  return 10 * s->m * s->n * luc__min64(s->m, s->n);
}

/* ---- eigenvalues of Hermitian matrices ---- */

static void call_eigh(const job *j, const char *part, char *a, void *values, void *work,
                      luc_in lwork, void *rwork, luc_in lrwork, int *iwork, luc_in liwork,
                      int *info) {
  const int n = (int)j->s.n;
  const char *what = j->vectors ? "V" : "N";
  if (j->l.complex)
    j->call.heevd(what, part, &n, a, &n, values, work, lwork, rwork, lrwork, iwork, liwork, info, 1,
                  1);
  else
    j->call.syevd(what, part, &n, a, &n, values, work, lwork, iwork, liwork, info, 1, 1);
}

/* Rows read as columns are the conjugate. */
static int eigh(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int n = (int)j->s.n;
  char *one = luc__lapack_at(&j->l, j->a, i * j->s.n * j->s.n);
  const char *part = j->upper ? "L" : "U"; /* of rows read as columns */
  memcpy(block, one, (size_t)(j->s.n * j->s.n) * j->l.item);
  call_eigh(j, part, block, value_at(j, i * n), block + j->work, &j->lwork, block + j->rwork,
            &j->lrwork, (int *)(block + j->iwork), &j->liwork, &j->info[i]);
  if (j->vectors) luc__lapack_turn(&j->l, one, block, n, n);
  if (j->vectors) luc__lapack_conj(&j->l, one, j->s.n * j->s.n);
  return j->info[i];
}

static unsigned eigenvalues_lanes(const void *job_, luc_lanes l, int64_t i) {
  const job *j = job_;
  const int64_t n = j->s.n;
  return j->l.lanes->eigvalsh(l, n, j->upper, luc__lapack_at(&j->l, j->a, i * n * n),
                              value_at(j, i * n));
}

/* Room for ormtr's blocks of reflections, which syevd's own answer leaves out. */
enum { BLOCK = 64 };

luc_status luc__eigh(luc_context *ctx, luc_matrices s, bool upper, bool vectors, void *a,
                     void *values, int32_t *info) {
  job j;
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, luc__dtype_is_complex(s.dtype) ? "heevd" : "syevd", &j));
  const int n = (int)s.n, query = -1;
  int wrong = 0;
  double wanted[2] = {0}, wanted_real = 0;
  j.vectors = true;
  call_eigh(&j, "U", a, values, wanted, &query, &wanted_real, &query, &j.liwork, &query, &wrong);
  j.upper = upper, j.vectors = vectors, j.a = a, j.values = values, j.info = info;
  j.lwork = luc__lapack_work(&j.l, wanted) + BLOCK * (n + BLOCK + 1), j.liwork = 3 + 5 * n;
  j.lrwork = j.l.complex ? luc__lapack_work(&j.l, &wanted_real) : 0;
  const size_t block = lay_out(&j, s.n * s.n);
  const bool in_lanes = !vectors && luc__lapack_in_lanes(&j.l, &s);
  return luc__lapack_loop_lanes(ctx, &j.l, s.count, work_of(&s), block,
                                in_lanes ? eigenvalues_lanes : NULL, eigh, &j);
}

/* ---- singular values ---- */

/* An infinity may send LAPACK round for ever. */
static int refuse(int32_t *info) {
  *info = LUC_LAPACK_INFINITE;
  return 0;
}

/* Of A^T, which rows are when they are read as columns: its U is Vh^T, its Vh U^T. */
static void call_svd(const job *j, char *a, void *values, void *u, void *vh, void *work,
                     luc_in lwork, void *rwork, int *iwork, int *info) {
  const int64_t k = luc__min64(j->s.m, j->s.n);
  const int rows = (int)j->s.n, columns = (int)j->s.m, ldvt = (int)(j->full ? j->s.m : k);
  const char *what = !j->vectors ? "N" : j->full ? "A" : "S";
  if (j->l.complex)
    j->call.gesdd_complex(what, &rows, &columns, a, &rows, values, vh, &rows, u, &ldvt, work, lwork,
                          rwork, iwork, info, 1);
  else
    j->call.gesdd(what, &rows, &columns, a, &rows, values, vh, &rows, u, &ldvt, work, lwork, iwork,
                  info, 1);
}

static int svd(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, k = luc__min64(m, n);
  const int64_t wide = j->full ? m : k, high = j->full ? n : k;
  char *one = luc__lapack_at(&j->l, j->a, i * m * n);
  if (!luc__lapack_finite(&j->l, one, m * n)) return refuse(&j->info[i]);
  call_svd(j, one, value_at(j, i * k),
           j->vectors ? luc__lapack_at(&j->l, j->u, i * m * wide) : NULL,
           j->vectors ? luc__lapack_at(&j->l, j->vh, i * high * n) : NULL, block, &j->lwork,
           block + j->rwork, (int *)(block + j->iwork), &j->info[i]);
  return j->info[i];
}

static unsigned values_lanes(const void *job_, luc_lanes l, int64_t i) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  return j->l.lanes->svdvals(l, m, n, luc__lapack_at(&j->l, j->a, i * m * n),
                             value_at(j, i * luc__min64(m, n)));
}

/* What complex routines ask for in their description. */
static luc_status svd_room(luc_context *ctx, job *j) {
  const int64_t k = luc__min64(j->s.m, j->s.n), most = luc__max64(j->s.m, j->s.n);
  const int64_t room = j->vectors ? k * (5 * k + 2 * most + 2 * k + 5) : 7 * k;
  LUC_CHECK(ctx, !j->l.complex || room < INT32_MAX, LUC_ERR_SUPPORT,
            "a complex matrix of %lld rows and %lld columns is too large", (long long)j->s.m,
            (long long)j->s.n);
  j->lrwork = j->l.complex ? (int)room : 0;
  return LUC_OK;
}

luc_status luc__svd(luc_context *ctx, luc_matrices s, bool full, void *a, void *u, void *values,
                    void *vh, int32_t *info) {
  job j;
  int64_t k = luc__min64(s.m, s.n);
  if (luc__lapack_empty(&s, k, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "gesdd", &j));
  const int query = -1;
  int unused = 0, wrong = 0;
  double wanted[2] = {0}, unused_real = 0;
  j.full = full, j.vectors = u != NULL;
  call_svd(&j, a, values, u, vh, wanted, &query, &unused_real, &unused, &wrong);
  j.a = a, j.u = u, j.values = values, j.vh = vh, j.info = info;
  j.lwork = luc__lapack_work(&j.l, wanted), j.liwork = 8 * (int)k;
  LUC_TRY(svd_room(ctx, &j));
  const size_t block = lay_out(&j, 0);
  const bool in_lanes = !j.vectors && luc__lapack_in_lanes(&j.l, &s);
  return luc__lapack_loop_lanes(ctx, &j.l, s.count, work_of(&s), block,
                                in_lanes ? values_lanes : NULL, svd, &j);
}

/* ---- least squares ---- */

static void call_gelsd(const job *j, void *a, void *b, void *values, int *rank, void *work,
                       luc_in lwork, void *rwork, int *iwork, int *info) {
  const int rows = (int)j->s.m, columns = (int)j->s.n, right = (int)j->k;
  const int ldb = (int)luc__max64(j->s.m, j->s.n);
  if (j->l.complex)
    j->call.gelsd_complex(&rows, &columns, &right, a, &rows, b, &ldb, values, j->limit, rank, work,
                          lwork, rwork, iwork, info);
  else
    j->call.gelsd(&rows, &columns, &right, a, &rows, b, &ldb, values, j->limit, rank, work, lwork,
                  iwork, info);
}

static int lstsq(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, least = luc__min64(m, n), most = luc__max64(m, n);
  char *a = luc__lapack_at(&j->l, j->a, i * m * n),
       *b = luc__lapack_at(&j->l, j->b, i * most * j->k);
  char *turned = luc__lapack_at(&j->l, block, m * n);
  int found = 0;
  if (!luc__lapack_finite(&j->l, a, m * n) || !luc__lapack_finite(&j->l, b, most * j->k))
    return refuse(&j->info[i]);
  luc__lapack_turn(&j->l, block, a, m, n);
  luc__lapack_turn(&j->l, turned, b, most, j->k);
  call_gelsd(j, block, turned, value_at(j, i * least), &found, block + j->work, &j->lwork,
             block + j->rwork, (int *)(block + j->iwork), &j->info[i]);
  j->rank[i] = found;
  luc__lapack_turn(&j->l, b, turned, j->k, most);
  return j->info[i];
}

luc_status luc__lstsq(luc_context *ctx, luc_matrices s, int64_t k, double rcond, void *a, void *b,
                      void *values, int64_t *rank, int32_t *info) {
  job j;
  int64_t least = luc__min64(s.m, s.n), most = luc__max64(s.m, s.n);
  memset(rank, 0, (size_t)s.count * sizeof *rank);
  memset(values, 0, (size_t)(s.count * least) * luc__dtype_size(luc__dtype_to_real(s.dtype)));
  if (luc__lapack_empty(&s, least, info) || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, k, "gelsd", &j));
  const int query = -1;
  int found = 0, wrong = 0;
  if (!(rcond > 0)) rcond = -1; /* LAPACK's word for the dtype's precision; it prints of NaN */
  float rcond32 = (float)rcond;
  j.limit = j.l.f32 ? (const void *)&rcond32 : (const void *)&rcond;
  double wanted[2] = {0}, wanted_real = 0;
  call_gelsd(&j, a, b, values, &found, wanted, &query, &wanted_real, &j.liwork, &wrong);
  j.lrwork = j.l.complex ? luc__lapack_work(&j.l, &wanted_real) : 0;
  j.a = a, j.b = b, j.values = values, j.rank = rank, j.info = info;
  j.lwork = luc__lapack_work(&j.l, wanted), j.liwork++;
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
  const char *right = j->vh ? "V" : "N";
  const size_t pair = 2 * real_size(j); /* of a complex number */
  char *vr = luc__lapack_at(&j->l, block, square), *work = block + j->work;
  char *re = luc__lapack_at(&j->l, vr, square),
       *im = luc__lapack_at(&j->l, re, n); /* or what a complex one wants */
  char *w = (char *)j->values + (size_t)(i * n) * pair,
       *v = j->vh ? (char *)j->vh + (size_t)(i * square) * pair : NULL;
  luc__lapack_turn(&j->l, block, luc__lapack_from(&j->l, j->from, i * square), n, n);
  if (j->l.complex) {
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
  if (luc__lapack_empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, s, 0, "geev", &j));
  LUC_CHECK(ctx, luc__lapack_finite(&j.l, a, s.count * s.n * s.n), LUC_ERR_VALUE,
            "input tensor should not contain infs or NaNs.");
  j.from = a, j.values = values, j.vh = vectors, j.info = info, j.lwork = 64 * (int)s.n;
  const size_t block = lay_out(&j, 2 * s.n * (s.n + 1));
  return luc__lapack_loop(ctx, &j.l, s.count, work_of(&s), block, eig, &j);
}
