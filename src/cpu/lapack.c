/* LAPACK through OpenBLAS. LAPACK keeps matrices by columns: where a symmetry does not allow to
 * read rows as columns, matrices are transposed on the way in and out. OpenBLAS's threads are
 * stopped for the time of a call: the pool and the host own them. */
#include "cpu/lapack.h"

#include <stdio.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/library.h"

/* The lengths of strings follow a Fortran routine's arguments. */
typedef size_t len;
typedef const int *in;

typedef struct lapack {
  void *library;
  char letter; /* of the routines' names */
  bool f32;    /* of numbers, or of the parts of complex ones */
  size_t item;
  luc_transpose_fn turn; /* of such items */
  int threads;
  int (*get_threads)(void);
  void (*set_threads)(int n);
  char *block; /* memory for a kernel */
  size_t size;
} lapack;

static luc_status load(luc_context *ctx, luc_dtype dtype, lapack *l) {
  l->f32 = luc__dtype_to_real(dtype) == LUC_FLOAT32;
  l->letter = luc__dtype_is_complex(dtype) ? (l->f32 ? 'c' : 'z') : (l->f32 ? 's' : 'd');
  l->item = luc__dtype_size(dtype);
  l->turn = luc__kernels(ctx)->copy->transpose[l->item == 4 ? 2 : l->item == 8 ? 3 : 4];
  LUC_TRY(luc__library_open(ctx, "OpenBLAS", "libopenblas.so.0", "libopenblas0", &l->library));
  bool whole = luc__library_find(l->library, "openblas_get_num_threads", &l->get_threads) &&
               luc__library_find(l->library, "openblas_set_num_threads", &l->set_threads);
  LUC_CHECK(ctx, whole, LUC_ERR_SUPPORT, "this is no OpenBLAS that can be told its threads");
  return LUC_OK;
}

/* The routine of this name for the dtype: "getrf" is sgetrf_ or dgetrf_. */
static luc_status routine(luc_context *ctx, const lapack *l, const char *stem, void *to) {
  char name[16];
  snprintf(name, sizeof name, "%c%s_", l->letter, stem);
  LUC_CHECK(ctx, luc__library_find(l->library, name, to), LUC_ERR_SUPPORT,
            "this OpenBLAS was built without LAPACK");
  return LUC_OK;
}

/* The LAPACK for these matrices with k right hand sides, and its routine. */
static luc_status prepare(luc_context *ctx, const luc_matrices *s, int64_t k, lapack *l,
                          const char *stem, void *to) {
  LUC_CHECK(ctx, s->m < INT32_MAX / 64 && s->n < INT32_MAX / 64 && k < INT32_MAX, LUC_ERR_SUPPORT,
            "a matrix of %lld rows and %lld columns is too large", (long long)s->m,
            (long long)s->n);
  LUC_TRY(load(ctx, s->dtype, l));
  return routine(ctx, l, stem, to);
}

/* Takes a block of this size and OpenBLAS's threads, until end. */
static luc_status begin(luc_context *ctx, lapack *l, size_t size) {
  l->size = size;
  l->block = size ? luc__alloc(ctx, size) : NULL;
  if (size && !l->block) return LUC_ERR_MEMORY;
  l->threads = l->get_threads();
  l->set_threads(1);
  return LUC_OK;
}

static void end(luc_context *ctx, lapack *l) {
  l->set_threads(l->threads);
  if (l->block) luc__free(ctx, l->block, l->size);
}

/* Is there nothing to do for matrices whose shorter side is `side`? None has failed so far. */
static bool empty(const luc_matrices *s, int64_t side, int32_t *info) {
  memset(info, 0, (size_t)s->count * sizeof *info);
  return s->count == 0 || side == 0;
}

/* to [columns, rows] = from [rows, columns]. */
static void transpose(const lapack *l, void *to, const void *from, int64_t rows, int64_t columns) {
  const int64_t size = (int64_t)l->item;
  l->turn(to, rows * size, from, columns * size, columns, rows, false);
}

static char *at(void *block, int64_t elements, size_t size) {
  return (char *)block + (size_t)elements * size;
}

static const char *at_const(const void *block, int64_t elements, size_t size) {
  return (const char *)block + (size_t)elements * size;
}

/* The size of work that a query with lwork = -1 left in work[0]. */
static int work_size(const lapack *l, const void *work) {
  double wanted = l->f32 ? (double)*(const float *)work : *(const double *)work;
  return wanted < 1 ? 1 : (int)wanted + 8; /* a float rounds large sizes */
}

/* An argument that LAPACK refuses is a fault of this file. */
static luc_status sound(luc_context *ctx, int info) {
  LUC_CHECK(ctx, info >= 0, LUC_ERR_VALUE, "LAPACK refused argument %d", -info);
  return LUC_OK;
}

/* ---- QR ---- */

typedef void (*geqrf_fn)(in m, in n, void *a, in lda, void *tau, void *work, in lwork, int *info);
typedef void (*orgqr_fn)(in m, in n, in k, void *a, in lda, const void *tau, void *work, in lwork,
                         int *info);

/* R [rows, n] is the upper triangle of the factored columns [n, m]. */
static void take_r(const lapack *l, char *r, const char *columns, int64_t m, int64_t n,
                   int64_t rows) {
  const int64_t size = (int64_t)l->item;
  l->turn(r, n * size, columns, m * size, rows, n, false);
  for (int64_t i = 1; i < rows; i++) memset(r + i * n * size, 0, (size_t)((i < n ? i : n) * size));
}

luc_status luc__qr(luc_context *ctx, luc_matrices s, bool complete, const void *a, void *q,
                   void *r) {
  lapack l = {0};
  geqrf_fn geqrf = NULL;
  orgqr_fn orgqr = NULL;
  int64_t m = s.m, n = s.n, k = m < n ? m : n, wide = complete ? m : k;
  if (s.count == 0 || m == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "geqrf", &geqrf));
  LUC_TRY(routine(ctx, &l, "orgqr", &orgqr));
  int64_t held = wide > n ? wide : n; /* columns */
  int rows = (int)m, columns = (int)n, rank = (int)k, made = (int)wide, info = 0;
  int lwork = 64 * ((int)held + 1);
  LUC_TRY(begin(ctx, &l, (size_t)(m * held + k + lwork) * l.item));
  char *tau = at(l.block, m * held, l.item), *work = at(tau, k, l.item);
  for (int64_t i = 0; i < s.count && info == 0; i++) {
    transpose(&l, l.block, at_const(a, i * m * n, l.item), m, n);
    geqrf(&rows, &columns, l.block, &rows, tau, work, &lwork, &info);
    if (r) take_r(&l, at(r, i * wide * n, l.item), l.block, m, n, wide);
    if (!q || info) continue;
    orgqr(&rows, &made, &rank, l.block, &rows, tau, work, &lwork, &info);
    transpose(&l, at(q, i * m * wide, l.item), l.block, wide, m);
  }
  end(ctx, &l);
  return sound(ctx, info);
}

/* ---- LU ---- */

typedef void (*getrf_fn)(in m, in n, void *a, in lda, int *pivots, int *info);
typedef void (*getri_fn)(in n, void *a, in lda, const int *pivots, void *work, in lwork, int *info);
typedef void (*getrs_fn)(const char *trans, in n, in k, const void *a, in lda, const int *pivots,
                         void *b, in ldb, int *info, len);

luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  lapack l = {0};
  getrf_fn getrf = NULL;
  int64_t m = s.m, n = s.n, k = m < n ? m : n;
  if (empty(&s, k, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "getrf", &getrf));
  LUC_TRY(begin(ctx, &l, (size_t)(m * n) * l.item));
  int rows = (int)m, columns = (int)n;
  for (int64_t i = 0; i < s.count; i++) {
    char *matrix = at(a, i * m * n, l.item);
    transpose(&l, l.block, matrix, m, n);
    getrf(&rows, &columns, l.block, &rows, pivots + i * k, &info[i]);
    transpose(&l, matrix, l.block, n, m);
  }
  end(ctx, &l);
  return LUC_OK;
}

luc_status luc__inverse(luc_context *ctx, luc_matrices s, void *a, int32_t *info) {
  lapack l = {0};
  getrf_fn getrf = NULL;
  getri_fn getri = NULL;
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "getrf", &getrf));
  LUC_TRY(routine(ctx, &l, "getri", &getri));
  int n = (int)s.n, lwork = 64 * n;
  size_t matrix = (size_t)(s.n * s.n) * l.item, work = (size_t)lwork * l.item;
  LUC_TRY(begin(ctx, &l, matrix + work + (size_t)n * sizeof(int)));
  int *pivots = (int *)(l.block + matrix + work);
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(a, i * s.n * s.n, l.item);
    transpose(&l, l.block, one, n, n);
    getrf(&n, &n, l.block, &n, pivots, &info[i]);
    if (info[i] == 0) getri(&n, l.block, &n, pivots, l.block + matrix, &lwork, &info[i]);
    transpose(&l, one, l.block, n, n);
  }
  end(ctx, &l);
  return LUC_OK;
}

luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b,
                      int32_t *info) {
  lapack l = {0};
  getrf_fn getrf = NULL;
  getrs_fn getrs = NULL;
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, k, &l, "getrf", &getrf));
  LUC_TRY(routine(ctx, &l, "getrs", &getrs));
  int n = (int)s.n, columns = (int)k, wrong = 0;
  size_t matrix = (size_t)(s.n * s.n) * l.item, right = (size_t)(s.n * k) * l.item;
  LUC_TRY(begin(ctx, &l, matrix + right + (size_t)n * sizeof(int)));
  int *pivots = (int *)(l.block + matrix + right);
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(b, i * s.n * k, l.item), *turned = l.block + matrix;
    transpose(&l, l.block, at_const(a, i * s.n * s.n, l.item), n, n);
    getrf(&n, &n, l.block, &n, pivots, &info[i]);
    if (info[i] || k == 0) continue;
    transpose(&l, turned, one, n, k);
    getrs("N", &n, &columns, l.block, &n, pivots, turned, &n, &wrong, 1);
    transpose(&l, one, turned, k, n);
  }
  end(ctx, &l);
  return sound(ctx, wrong);
}

/* ---- triangles ---- */

typedef void (*trsm_fn)(const char *side, const char *uplo, const char *trans, const char *diag,
                        in m, in n, const void *alpha, const void *a, in lda, void *b, in ldb, len,
                        len, len, len);

/* Rows read as columns: X^T A^T = B^T, with the other triangle. */
luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               const void *a, void *b) {
  lapack l = {0};
  trsm_fn trsm = NULL;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, k, &l, "trsm", &trsm));
  int n = (int)s.n, columns = (int)k;
  const float one32 = 1;
  const double one64 = 1;
  const void *one = l.f32 ? (const void *)&one32 : (const void *)&one64;
  LUC_TRY(begin(ctx, &l, 0));
  for (int64_t i = 0; i < s.count; i++)
    trsm("R", upper ? "L" : "U", "N", unit ? "U" : "N", &columns, &n, one,
         at_const(a, i * s.n * s.n, l.item), &n, at(b, i * s.n * k, l.item), &columns, 1, 1, 1, 1);
  end(ctx, &l);
  return LUC_OK;
}

typedef void (*potrf_fn)(const char *uplo, in n, void *a, in lda, int *info, len);

/* U of A = U^T U by columns is L by rows. */
luc_status luc__cholesky(luc_context *ctx, luc_matrices s, void *a, int32_t *info) {
  lapack l = {0};
  potrf_fn potrf = NULL;
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "potrf", &potrf));
  int n = (int)s.n;
  LUC_TRY(begin(ctx, &l, 0));
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(a, i * s.n * s.n, l.item);
    potrf("U", &n, one, &n, &info[i], 1);
    for (int row = 0; row < n; row++)
      memset(at(one, (int64_t)row * n + row + 1, l.item), 0, (size_t)(n - row - 1) * l.item);
  }
  end(ctx, &l);
  return LUC_OK;
}

/* ---- eigenvalues and singular values ---- */

typedef void (*syevd_fn)(const char *job, const char *uplo, in n, void *a, in lda, void *w,
                         void *work, in lwork, int *iwork, in liwork, int *info, len, len);

luc_status luc__eigh(luc_context *ctx, luc_matrices s, bool upper, void *a, void *values,
                     int32_t *info) {
  lapack l = {0};
  syevd_fn syevd = NULL;
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "syevd", &syevd));
  const char *part = upper ? "L" : "U"; /* of rows read as columns */
  int n = (int)s.n, query = -1, liwork = 0, wrong = 0;
  double wanted = 0;
  syevd("V", part, &n, a, &n, values, &wanted, &query, &liwork, &query, &wrong, 1, 1);
  int lwork = work_size(&l, &wanted);
  liwork = 3 + 5 * n;
  size_t matrix = (size_t)(s.n * s.n) * l.item, work = (size_t)lwork * l.item;
  LUC_TRY(begin(ctx, &l, matrix + work + (size_t)liwork * sizeof(int)));
  int *iwork = (int *)(l.block + matrix + work);
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(a, i * s.n * s.n, l.item);
    memcpy(l.block, one, matrix);
    syevd("V", part, &n, l.block, &n, at(values, i * n, l.item), l.block + matrix, &lwork, iwork,
          &liwork, &info[i], 1, 1);
    transpose(&l, one, l.block, n, n);
  }
  end(ctx, &l);
  return sound(ctx, wrong);
}

typedef void (*gesdd_fn)(const char *job, in m, in n, void *a, in lda, void *s, void *u, in ldu,
                         void *vt, in ldvt, void *work, in lwork, int *iwork, int *info, len);

/* Rows read as columns are A^T = V S U^T, so the two factors only change places. */
luc_status luc__svd(luc_context *ctx, luc_matrices s, bool full, void *a, void *u, void *values,
                    void *vh, int32_t *info) {
  lapack l = {0};
  gesdd_fn gesdd = NULL;
  int64_t m = s.m, n = s.n, k = m < n ? m : n, wide = full ? m : k, high = full ? n : k;
  if (empty(&s, k, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "gesdd", &gesdd));
  const char *job = !u ? "N" : full ? "A" : "S";
  int rows = (int)n, columns = (int)m, ldvt = (int)wide, query = -1, unused = 0, wrong = 0;
  double wanted = 0;
  gesdd(job, &rows, &columns, a, &rows, values, vh, &rows, u, &ldvt, &wanted, &query, &unused,
        &wrong, 1);
  int lwork = work_size(&l, &wanted);
  size_t work = ((size_t)lwork * l.item + 7) / 8 * 8;
  LUC_TRY(begin(ctx, &l, work + (size_t)(8 * k) * sizeof(int)));
  for (int64_t i = 0; i < s.count; i++)
    gesdd(job, &rows, &columns, at(a, i * m * n, l.item), &rows, at(values, i * k, l.item),
          u ? at(vh, i * high * n, l.item) : NULL, &rows, u ? at(u, i * m * wide, l.item) : NULL,
          &ldvt, l.block, &lwork, (int *)(l.block + work), &info[i], 1);
  end(ctx, &l);
  return sound(ctx, wrong);
}

/* ---- least squares ---- */

typedef void (*gelsd_fn)(in m, in n, in k, void *a, in lda, void *b, in ldb, void *s,
                         const void *rcond, int *rank, void *work, in lwork, int *iwork, int *info);

/* LAPACK prints a complaint about infinities and NaN. */
static bool finite(const lapack *l, const void *block, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += 0 * (l->f32 ? (double)((const float *)block)[i] : ((const double *)block)[i]);
  return sum == 0;
}

luc_status luc__lstsq(luc_context *ctx, luc_matrices s, int64_t k, double rcond, void *a, void *b,
                      void *values, int64_t *rank, int32_t *info) {
  lapack l = {0};
  gelsd_fn gelsd = NULL;
  int64_t m = s.m, n = s.n, least = m < n ? m : n, most = m < n ? n : m;
  memset(rank, 0, (size_t)s.count * sizeof *rank);
  memset(values, 0, (size_t)(s.count * least) * luc__dtype_size(s.dtype));
  if (empty(&s, least, info) || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, k, &l, "gelsd", &gelsd));
  int rows = (int)m, columns = (int)n, right = (int)k, ldb = (int)most;
  int query = -1, liwork = 0, found = 0, wrong = 0;
  float rcond32 = (float)rcond;
  const void *limit = l.f32 ? (const void *)&rcond32 : (const void *)&rcond;
  double wanted = 0;
  gelsd(&rows, &columns, &right, a, &rows, b, &ldb, values, limit, &found, &wanted, &query, &liwork,
        &wrong);
  int lwork = work_size(&l, &wanted);
  size_t matrix = (size_t)(m * n) * l.item, both = (size_t)(most * k) * l.item;
  size_t work = ((size_t)lwork * l.item + 7) / 8 * 8, start = (matrix + both + 7) / 8 * 8;
  LUC_TRY(begin(ctx, &l, start + work + (size_t)(liwork + 1) * sizeof(int)));
  char *turned = l.block + matrix;
  for (int64_t i = 0; i < s.count; i++) {
    if (!finite(&l, at(a, i * m * n, l.item), m * n) ||
        !finite(&l, at(b, i * most * k, l.item), most * k)) {
      info[i] = 1;
      continue;
    }
    transpose(&l, l.block, at(a, i * m * n, l.item), m, n);
    transpose(&l, turned, at(b, i * most * k, l.item), most, k);
    gelsd(&rows, &columns, &right, l.block, &rows, turned, &ldb, at(values, i * least, l.item),
          limit, &found, l.block + start, &lwork, (int *)(l.block + start + work), &info[i]);
    rank[i] = found;
    transpose(&l, at(b, i * most * k, l.item), turned, k, most);
  }
  end(ctx, &l);
  return sound(ctx, wrong);
}

/* ---- eigenvalues of matrices without symmetry ---- */

typedef void (*geev_fn)(const char *left, const char *right, in n, void *a, in lda, void *re,
                        void *im, void *vl, in ldvl, void *vr, in ldvr, void *work, in lwork,
                        int *info, len, len);
typedef void (*geev_complex_fn)(const char *left, const char *right, in n, void *a, in lda, void *w,
                                void *vl, in ldvl, void *vr, in ldvr, void *work, in lwork,
                                void *rwork, int *info, len, len);

static double number(const lapack *l, const void *block, int64_t i) {
  return l->f32 ? (double)((const float *)block)[i] : ((const double *)block)[i];
}

static void put_complex(const lapack *l, void *block, int64_t i, double re, double im) {
  if (l->f32) {
    ((float *)block)[2 * i] = (float)re;
    ((float *)block)[2 * i + 1] = (float)im;
  } else {
    ((double *)block)[2 * i] = re;
    ((double *)block)[2 * i + 1] = im;
  }
}

/* Real matrices: conjugate pairs of eigenvalues follow each other, and the two columns that stand
 * for their vectors are the real and the imaginary part of the first. */
static void unpack_eig(const lapack *l, int64_t n, const void *re, const void *im, const void *vr,
                       void *values, void *vectors) {
  double sign = 0; /* of the imaginary part: 0 for a real eigenvalue, then 1, -1 in a pair */
  for (int64_t j = 0; j < n; j++) {
    double imaginary = number(l, im, j);
    sign = imaginary == 0 ? 0 : sign == 1 ? -1 : 1;
    put_complex(l, values, j, number(l, re, j), imaginary);
    int64_t first = (sign == -1 ? j - 1 : j) * n;
    for (int64_t i = 0; i < n; i++) {
      double part = sign == 0 ? 0 : sign * number(l, vr, first + n + i);
      put_complex(l, vectors, i * n + j, number(l, vr, first + i), part);
    }
  }
}

luc_status luc__eig(luc_context *ctx, luc_matrices s, const void *a, void *values, void *vectors,
                    int32_t *info) {
  lapack l = {0};
  geev_fn geev = NULL;
  geev_complex_fn geev_complex = NULL;
  bool complex = luc__dtype_is_complex(s.dtype);
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "geev", complex ? (void *)&geev_complex : (void *)&geev));
  int64_t square = s.n * s.n;
  LUC_CHECK(ctx, finite(&l, a, s.count * square * (complex ? 2 : 1)), LUC_ERR_VALUE,
            "input tensor should not contain infs or NaNs.");
  int n = (int)s.n, one = 1, lwork = 64 * n;
  size_t pair = complex ? l.item : 2 * l.item; /* of a complex number */
  LUC_TRY(begin(ctx, &l, (size_t)(2 * square + lwork) * l.item + (size_t)n * pair));
  char *vr = at(l.block, square, l.item), *work = at(vr, square, l.item);
  char *re = at(work, lwork, l.item), *im = at(re, n, l.item); /* or what a complex one wants */
  for (int64_t i = 0; i < s.count; i++) {
    char *w = at(values, i * n, pair), *v = at(vectors, i * square, pair);
    transpose(&l, l.block, at_const(a, i * square, l.item), n, n);
    if (complex) {
      geev_complex("N", "V", &n, l.block, &n, w, NULL, &one, vr, &n, work, &lwork, re, &info[i], 1,
                   1);
      transpose(&l, v, vr, n, n);
    } else {
      geev("N", "V", &n, l.block, &n, re, im, NULL, &one, vr, &n, work, &lwork, &info[i], 1, 1);
      unpack_eig(&l, n, re, im, vr, w, v);
    }
  }
  end(ctx, &l);
  return LUC_OK;
}

/* ---- LDL ---- */

typedef void (*sytrf_fn)(const char *uplo, in n, void *a, in lda, int *pivots, void *work, in lwork,
                         int *info, len);
typedef void (*sytrs_fn)(const char *uplo, in n, in k, const void *a, in lda, const int *pivots,
                         void *b, in ldb, int *info, len);

luc_status luc__ldl(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  lapack l = {0};
  sytrf_fn sytrf = NULL;
  if (empty(&s, s.n, info)) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, 0, &l, "sytrf", &sytrf));
  int n = (int)s.n, lwork = 64 * n;
  size_t matrix = (size_t)(s.n * s.n) * l.item;
  LUC_TRY(begin(ctx, &l, matrix + (size_t)lwork * l.item));
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(a, i * s.n * s.n, l.item);
    transpose(&l, l.block, one, n, n);
    sytrf("L", &n, l.block, &n, pivots + i * n, l.block + matrix, &lwork, &info[i], 1);
    transpose(&l, one, l.block, n, n);
  }
  end(ctx, &l);
  return LUC_OK;
}

luc_status luc__ldl_solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a,
                          const int32_t *pivots, void *b) {
  lapack l = {0};
  sytrs_fn sytrs = NULL;
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, &s, k, &l, "sytrs", &sytrs));
  int n = (int)s.n, right = (int)k, wrong = 0;
  size_t matrix = (size_t)(s.n * s.n) * l.item;
  LUC_TRY(begin(ctx, &l, matrix + (size_t)(s.n * k) * l.item));
  for (int64_t i = 0; i < s.count; i++) {
    char *one = at(b, i * s.n * k, l.item), *turned = l.block + matrix;
    transpose(&l, l.block, at_const(a, i * s.n * s.n, l.item), n, n);
    transpose(&l, turned, one, n, k);
    sytrs("L", &n, &right, l.block, &n, pivots + i * n, turned, &n, &wrong, 1);
    transpose(&l, one, turned, k, n);
  }
  end(ctx, &l);
  return sound(ctx, wrong);
}
