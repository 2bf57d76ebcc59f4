/* QR by LAPACK's steps, and least squares by it. geqrf and orgqr work on columns one by one unless
 * there are more than 128: from 16 on, larger blocks of reflections are products. */
#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/lapack_loop.h"

typedef struct job {
  luc_lapack l;
  luc_matrices s;
  int64_t k, wide; /* reflections; columns of Q, or right hand sides */
  int block;       /* reflections at a time */
  bool applied;    /* are those of the last block, too, as one product? */
  bool adjoint;    /* s is A^H's, whose columns are the conjugates of A's rows */
  const void *from, *tau;
  void *q, *r; /* or, for least squares, r is the right hand sides */
  double limit;
  int32_t *info;
  void (*geqr2)(luc_in m, luc_in n, void *a, luc_in lda, void *tau, void *work, int *info);
  void (*org2r)(luc_in m, luc_in n, luc_in k, void *a, luc_in lda, const void *tau, void *work,
                int *info);
  void (*larft)(const char *direct, const char *storev, luc_in n, luc_in k, const void *v,
                luc_in ldv, const void *tau, void *t, luc_in ldt, luc_length, luc_length);
  void (*larfb)(const char *side, const char *trans, const char *direct, const char *storev,
                luc_in m, luc_in n, luc_in k, const void *v, luc_in ldv, const void *t, luc_in ldt,
                void *c, luc_in ldc, void *work, luc_in ldwork, luc_length, luc_length, luc_length,
                luc_length);
  void (*trtri)(const char *uplo, const char *diag, luc_in n, void *a, luc_in lda, int *info,
                luc_length, luc_length);
  void (*trsm)(const char *side, const char *uplo, const char *trans, const char *diag, luc_in m,
               luc_in n, const void *alpha, const void *a, luc_in lda, void *b, luc_in ldb,
               luc_length, luc_length, luc_length, luc_length);
} job;

/* A matrix by columns on its way, and what belongs to its reflections. */
typedef struct parts {
  char *a, *tau, *t, *work;
} parts;

static int64_t parts_size(const job *j) {
  const int64_t held = luc__max64(luc__max64(j->wide, j->s.n), j->k);
  return j->s.m * held + j->k + (j->k + held) * j->block;
}

static parts take(const job *j, char *block) {
  const int64_t held = luc__max64(luc__max64(j->wide, j->s.n), j->k);
  parts p = {.a = block};
  p.tau = luc__lapack_at(&j->l, p.a, j->s.m * held);
  p.t = luc__lapack_at(&j->l, p.tau, j->k);
  p.work = luc__lapack_at(&j->l, p.t, j->k * j->block);
  return p;
}

static luc_status prepare(luc_context *ctx, luc_matrices s, int64_t wide, job *j) {
  *j = (job){.s = s, .k = luc__min64(s.m, s.n), .wide = wide};
  j->block = j->k <= 256 ? 16 : 32;
  j->applied = s.n > j->k || wide > j->k;
  LUC_TRY(luc__lapack_open(ctx, &s, wide, &j->l));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, "geqr2", &j->geqr2));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, "larft", &j->larft));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, "larfb", &j->larfb));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, j->l.complex ? "ung2r" : "org2r", &j->org2r));
  LUC_TRY(luc__lapack_routine(ctx, &j->l, "trtri", &j->trtri));
  return luc__lapack_routine(ctx, &j->l, "trsm", &j->trsm);
}

/* Applies the block of reflections from column i on to columns [i, m) from `to` on, or from the
 * right to its rows. */
static void apply(const job *j, const parts *p, int64_t i, const char *side, const char *trans,
                  int64_t others, char *c, int64_t ldc) {
  const int64_t m = j->s.m;
  const int lda = (int)m, width = (int)luc__min64(j->block, j->k - i), n = (int)others;
  const int length = (int)(m - i), ld = (int)ldc;
  const bool left = side[0] == 'L';
  if (others == 0) return;
  j->larfb(side, trans, "F", "C", left ? &length : &n, left ? &n : &length, &width,
           luc__lapack_at(&j->l, p->a, i * (m + 1)), &lda,
           luc__lapack_at(&j->l, p->t, i * j->block), &j->block, c, &ld, p->work, &n, 1, 1, 1, 1);
}

/* What makes one product of the reflections of the block from column c on. */
static void combine(const job *j, const parts *p, int64_t c) {
  const int64_t m = j->s.m;
  const int lda = (int)m, length = (int)(m - c), width = (int)luc__min64(j->block, j->k - c);
  j->larft("F", "C", &length, &width, luc__lapack_at(&j->l, p->a, c * (m + 1)), &lda,
           luc__lapack_at(&j->l, p->tau, c), luc__lapack_at(&j->l, p->t, c * j->block), &j->block,
           1, 1);
}

/* The i-th matrix into R and reflections below it. */
static int reduce(const job *j, int64_t i, const parts *p) {
  const int64_t m = j->s.m, n = j->s.n;
  const int lda = (int)m;
  int info = 0;
  const char *from = luc__lapack_from(&j->l, j->from, i * m * n);
  if (j->adjoint) {
    memcpy(p->a, from, (size_t)(m * n) * j->l.item);
    luc__lapack_conj(&j->l, p->a, m * n);
  } else
    luc__lapack_turn(&j->l, p->a, from, m, n);
  for (int64_t c = 0; c < j->k && info == 0; c += j->block) {
    const int length = (int)(m - c), width = (int)luc__min64(j->block, j->k - c);
    char *corner = luc__lapack_at(&j->l, p->a, c * (m + 1)),
         *tau = luc__lapack_at(&j->l, p->tau, c);
    const int64_t next = c + width;
    j->geqr2(&length, &width, corner, &lda, tau, p->work, &info);
    if (j->applied || next < j->k) combine(j, p, c);
    apply(j, p, c, "L", "C", n - next, luc__lapack_at(&j->l, p->a, next * m + c), m);
  }
  return info;
}

/* Columns become those of Q. */
static int form_q(const job *j, const parts *p) {
  const int64_t m = j->s.m;
  const int lda = (int)m;
  int info = 0;
  for (int64_t c = j->k; c < j->wide; c++) {
    char *column = luc__lapack_at(&j->l, p->a, c * m);
    memset(column, 0, (size_t)m * j->l.item);
    luc__lapack_put(&j->l, column, c, 1, 0);
  }
  for (int64_t c = (j->k - 1) / j->block * j->block; c >= 0 && info == 0; c -= j->block) {
    const int length = (int)(m - c), width = (int)luc__min64(j->block, j->k - c);
    const int64_t next = c + width;
    apply(j, p, c, "L", "N", j->wide - next, luc__lapack_at(&j->l, p->a, next * m + c), m);
    j->org2r(&length, &width, &width, luc__lapack_at(&j->l, p->a, c * (m + 1)), &lda,
             luc__lapack_at(&j->l, p->tau, c), p->work, &info);
    /* Q's part above is that of the blocks before, of which nothing is there yet */
    for (int64_t column = c; column < next; column++)
      memset(luc__lapack_at(&j->l, p->a, column * m), 0, (size_t)c * j->l.item);
  }
  return info;
}

/* R [rows, n] is the upper triangle of the factored columns [n, m]. */
static void take_r(const luc_lapack *l, char *r, const char *columns, int64_t m, int64_t n,
                   int64_t rows) {
  const int64_t size = (int64_t)l->item;
  l->turn(r, n * size, columns, m * size, rows, n, false);
  for (int64_t i = 1; i < rows; i++) memset(r + i * n * size, 0, (size_t)((i < n ? i : n) * size));
}

static int qr(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  const parts p = take(j, block);
  int info = reduce(j, i, &p);
  if (j->r) take_r(&j->l, luc__lapack_at(&j->l, j->r, i * j->wide * n), p.a, m, n, j->wide);
  if (!j->q || info) return info;
  info = form_q(j, &p);
  luc__lapack_turn(&j->l, luc__lapack_at(&j->l, j->q, i * m * j->wide), p.a, j->wide, m);
  return info;
}

static unsigned qr_lanes(const void *job_, luc_lanes l, int64_t i) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, wide = j->wide;
  return j->l.lanes->qr(l, m, n, wide, luc__lapack_from(&j->l, j->from, i * m * n),
                        j->q ? luc__lapack_at(&j->l, j->q, i * m * wide) : NULL,
                        j->r ? luc__lapack_at(&j->l, j->r, i * wide * n) : NULL);
}

luc_status luc__qr(luc_context *ctx, luc_matrices s, bool complete, const void *a, void *q,
                   void *r) {
  job j;
  if (s.count == 0 || s.m == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, complete ? s.m : luc__min64(s.m, s.n), &j));
  j.from = a, j.q = q, j.r = r;
  return luc__lapack_loop_lanes(ctx, &j.l, s.count, 4 * s.m * j.wide * j.k,
                                (size_t)parts_size(&j) * j.l.item,
                                luc__lapack_in_lanes(&j.l, &s) ? qr_lanes : NULL, qr, &j);
}

/* ---- the reflections themselves ---- */

static int factor(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  const parts p = take(j, block);
  const int info = reduce(j, i, &p);
  luc__lapack_turn(&j->l, luc__lapack_at(&j->l, j->q, i * m * n), p.a, n, m);
  memcpy(luc__lapack_at(&j->l, j->r, i * j->k), p.tau, (size_t)j->k * j->l.item);
  return info;
}

luc_status luc__geqrf(luc_context *ctx, luc_matrices s, const void *a, void *reflectors,
                      void *tau) {
  job j;
  if (s.count == 0 || s.m == 0 || s.n == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, s.n, &j));
  j.from = a, j.q = reflectors, j.r = tau;
  return luc__lapack_loop(ctx, &j.l, s.count, 2 * s.m * s.n * j.k,
                          (size_t)parts_size(&j) * j.l.item, factor, &j);
}

static int multiply(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n;
  const parts p = take(j, block);
  luc__lapack_turn(&j->l, p.a, luc__lapack_from(&j->l, j->from, i * m * n), m, n);
  memcpy(p.tau, luc__lapack_from(&j->l, j->tau, i * j->k), (size_t)j->k * j->l.item);
  for (int64_t c = 0; c < j->k; c += j->block)
    if (j->applied || c + j->block < j->k) combine(j, &p, c);
  const int info = form_q(j, &p);
  luc__lapack_turn(&j->l, luc__lapack_at(&j->l, j->q, i * m * n), p.a, n, m);
  return info;
}

luc_status luc__reflections(luc_context *ctx, luc_matrices s, int64_t k, const void *reflectors,
                            const void *tau, void *q) {
  job j;
  if (s.count == 0) return LUC_OK;
  LUC_TRY(prepare(ctx, s, s.n, &j));
  j.k = k, j.from = reflectors, j.tau = tau, j.q = q, j.applied = k < s.n;
  return luc__lapack_loop(ctx, &j.l, s.count, 2 * s.m * s.n * k, (size_t)parts_size(&j) * j.l.item,
                          multiply, &j);
}

/* ---- least squares ---- */

/* The sum of the squares of n numbers. */
static double squares(const luc_lapack *l, const char *of, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < (l->complex ? 2 * n : n); i++) {
    const double v = luc__number(l->f32, of, i);
    sum += v * v;
  }
  return sum;
}

/* |R| |R^-1|, at least as much as R's largest by its least singular value. */
static double condition(const job *j, const char *r, char *inverse) {
  const int64_t m = j->s.m, n = j->s.n;
  const int order = (int)n;
  double sums[2] = {0, 0};
  int info = 0;
  for (int64_t c = 0; c < n; c++)
    memcpy(luc__lapack_at(&j->l, inverse, c * n), luc__lapack_from(&j->l, r, c * m),
           (size_t)(c + 1) * j->l.item);
  j->trtri("U", "N", &order, inverse, &order, &info, 1, 1);
  if (info) return INFINITY;
  for (int64_t c = 0; c < n; c++)
    for (int side = 0; side < 2; side++)
      sums[side] +=
          squares(&j->l, luc__lapack_from(&j->l, side ? inverse : r, c * (side ? n : m)), c + 1);
  return sqrt(sums[0]) * sqrt(sums[1]);
}

/* Right hand sides lie by rows, the conjugates of which become B^H Q R^-H, or, where Q R is A^H,
 * B^H R^-1 Q^H; there zeros are behind them. */
static int least_squares(const void *job_, int64_t i, char *block) {
  const job *j = job_;
  const int64_t m = j->s.m, n = j->s.n, k = j->wide;
  const int lda = (int)m, order = (int)n, right = (int)k;
  const parts p = take(j, block);
  char *b = luc__lapack_at(&j->l, j->r, i * m * k);
  const int info = reduce(j, i, &p);
  if (info) return info;
  if (!(condition(j, p.a, luc__lapack_at(&j->l, block, parts_size(j))) < j->limit)) { /* NaN too */
    j->info[i] = 1;
    return 0;
  }
  luc__lapack_conj(&j->l, b, m * k);
  for (int64_t c = 0; c < n && !j->adjoint; c += j->block)
    apply(j, &p, c, "R", "N", k, luc__lapack_at(&j->l, b, c * k), k);
  j->trsm("R", "U", j->adjoint ? "N" : "C", "N", &right, &order, luc__lapack_one(&j->l), p.a, &lda,
          b, &right, 1, 1, 1, 1);
  for (int64_t c = (n - 1) / j->block * j->block; c >= 0 && j->adjoint; c -= j->block)
    apply(j, &p, c, "R", "C", k, luc__lapack_at(&j->l, b, c * k), k);
  luc__lapack_conj(&j->l, b, m * k);
  return 0;
}

luc_status luc__least_squares(luc_context *ctx, luc_matrices s, int64_t k, double limit,
                              const void *a, void *b, int32_t *info) {
  job j;
  const luc_matrices given = s;
  const bool adjoint = s.m < s.n;
  if (luc__lapack_empty(&s, luc__min64(s.m, s.n), info) || k == 0) return LUC_OK;
  if (adjoint) s.m = given.n, s.n = given.m;
  LUC_TRY(prepare(ctx, s, k, &j));
  j.from = a, j.r = b, j.limit = limit, j.info = info, j.applied = true, j.adjoint = adjoint;
  return luc__lapack_loop(ctx, &j.l, s.count, 2 * s.m * s.n * (s.n + k),
                          (size_t)(parts_size(&j) + s.n * s.n) * j.l.item, least_squares, &j);
}
