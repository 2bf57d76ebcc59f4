/* Factorizations by halves: the columns of a matrix are split until they are a panel, and what is
 * between panels are products. Matrices lie by rows, as rows are exchanged and combined; one alone
 * gives its products to all threads, of several each thread takes some. */
#include "cpu/factor.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/factor_kernels.h"
#include "cpu/gemm.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Multiplications that are worth a thread's while. */
static const int64_t PIECE_WORK = 1 << 15;

typedef struct job job;
struct job {
  luc_context *ctx;
  const luc_factor_kernels *steps;
  const luc_gemm_kernels *gemm;
  luc_matrices s;
  int64_t size; /* of an element */
  int64_t k;    /* right hand sides */
  bool upper, unit;
  const char *a;
  char *to;
  int32_t *pivots, *info;
  luc_status (*one)(const job *j, int64_t i, char *scratch); /* the i-th matrix */
  luc_slots slots;
};

static job new_job(luc_context *ctx, luc_matrices s) {
  return (job){.ctx = ctx,
               .steps = &luc__kernels(ctx)->factor[s.dtype],
               .gemm = &luc__kernels(ctx)->gemm[s.dtype],
               .s = s,
               .size = (int64_t)luc__dtype_size(s.dtype)};
}

/* The first half of n columns or rows, n > LUC_PANEL. */
static int64_t half(int64_t n) {
  return luc__cuts(n / 2, LUC_PANEL) * LUC_PANEL;
}

/* c [m, n] -= a [m, k] b [k, n] */
static luc_status subtract(const job *j, int64_t m, int64_t n, int64_t k, const char *a,
                           int64_t a_row, const char *b, int64_t b_row, char *c, int64_t c_row) {
  luc_gemm g = {.dtype = j->s.dtype,
                .m = m,
                .n = n,
                .k = k,
                .a = a,
                .b = b,
                .c = c,
                .a_row = a_row,
                .a_col = 1,
                .b_row = b_row,
                .b_col = 1,
                .c_row = c_row,
                .batch = 1,
                .alpha = -1,
                .beta = 1};
  if (m == 0 || n == 0) return LUC_OK;
  if (j->s.count == 1) return luc__gemm(j->ctx, &g);
  j->gemm->block(&g);
  return LUC_OK;
}

static void pieces(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  char *scratch = luc__slots_take(&j->slots);
  for (int64_t i = begin; i < end; i++) (void)j->one(j, i, scratch); /* no product that can fail */
  luc__slots_put(&j->slots, scratch);
}

/* Runs job.one on every matrix, each with scratch of so many elements. */
static luc_status run(job *j, int64_t scratch) {
  const luc_matrices *s = &j->s;
  int64_t work = s->m * s->n * (j->k + 8), grain = PIECE_WORK / (work + 1) + 1;
  LUC_TRY(
      luc__slots_init(j->ctx, &j->slots, (size_t)(scratch * j->size), luc__cuts(s->count, grain)));
  luc_status status = LUC_OK;
  if (s->count == 1)
    status = j->one(j, 0, j->slots.memory);
  else
    luc__parallel_for(j->ctx, s->count, grain, pieces, j);
  luc__slots_free(j->ctx, &j->slots);
  return status;
}

/* ---- triangles ---- */

/* b [n, k] becomes X of A X = B. */
static luc_status solve_rows(const job *j, bool upper, bool unit, int64_t n, const char *a,
                             int64_t a_row, int64_t k, char *b, int64_t b_row) {
  if (n <= LUC_PANEL) {
    j->steps->triangle(upper, unit, n, a, a_row, k, b, b_row);
    return LUC_OK;
  }
  const int64_t first = half(n), rest = n - first;
  const char *corner = a + (first * a_row + first) * j->size;
  char *below = b + first * b_row * j->size;
  if (upper) {
    LUC_TRY(solve_rows(j, upper, unit, rest, corner, a_row, k, below, b_row));
    LUC_TRY(subtract(j, first, k, rest, a + first * j->size, a_row, below, b_row, b, b_row));
    return solve_rows(j, upper, unit, first, a, a_row, k, b, b_row);
  }
  LUC_TRY(solve_rows(j, upper, unit, first, a, a_row, k, b, b_row));
  LUC_TRY(subtract(j, rest, k, first, a + first * a_row * j->size, a_row, b, b_row, below, b_row));
  return solve_rows(j, upper, unit, rest, corner, a_row, k, below, b_row);
}

static luc_status solve_triangle(const job *j, int64_t i, char *scratch) {
  (void)scratch;
  const int64_t n = j->s.n;
  return solve_rows(j, j->upper, j->unit, n, j->a + i * n * n * j->size, n, j->k,
                    j->to + i * n * j->k * j->size, j->k);
}

luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               const void *a, void *b) {
  if (s.count == 0 || s.n == 0 || k == 0) return LUC_OK;
  job j = new_job(ctx, s);
  j.k = k, j.upper = upper, j.unit = unit, j.a = a, j.to = b, j.one = solve_triangle;
  return run(&j, 0);
}

/* ---- LU ---- */

/* The same exchanges of `columns` elements of rows from a on. */
static void exchange_rows(const job *j, const int32_t *pivots, int64_t n, int64_t columns, char *a,
                          int64_t a_row) {
  const size_t bytes = (size_t)(columns * j->size);
  char kept[512];
  for (int64_t i = 0; i < n; i++) {
    char *x = a + i * a_row * j->size, *y = a + (pivots[i] - 1) * a_row * j->size;
    for (size_t at = 0; x != y && at < bytes; at += sizeof kept) {
      size_t part = bytes - at < sizeof kept ? bytes - at : sizeof kept;
      memcpy(kept, x + at, part);
      memcpy(x + at, y + at, part);
      memcpy(y + at, kept, part);
    }
  }
}

static luc_status lu_rows(const job *j, int64_t m, int64_t n, char *a, int64_t a_row, char *scratch,
                          int32_t *pivots, int32_t *info) {
  const int64_t rank = m < n ? m : n;
  if (n <= LUC_PANEL) {
    j->steps->lu_panel(m, n, a, a_row, scratch, pivots, info);
    return LUC_OK;
  }
  const int64_t first = rank <= LUC_PANEL ? rank : half(rank);
  char *right = a + first * j->size, *below = a + first * a_row * j->size;
  char *corner = below + first * j->size;
  LUC_TRY(lu_rows(j, m, first, a, a_row, scratch, pivots, info));
  exchange_rows(j, pivots, first, n - first, right, a_row);
  LUC_TRY(solve_rows(j, false, true, first, a, a_row, n - first, right, a_row));
  if (rank == first) return LUC_OK;
  LUC_TRY(subtract(j, m - first, n - first, first, below, a_row, right, a_row, corner, a_row));
  int32_t code = 0;
  LUC_TRY(lu_rows(j, m - first, n - first, corner, a_row, scratch, pivots + first, &code));
  exchange_rows(j, pivots + first, rank - first, first, below, a_row);
  for (int64_t i = first; i < rank; i++) pivots[i] += (int32_t)first;
  if (*info == 0 && code > 0) *info = code + (int32_t)first;
  return LUC_OK;
}

static luc_status lu(const job *j, int64_t i, char *scratch) {
  const int64_t m = j->s.m, n = j->s.n, rank = m < n ? m : n;
  return lu_rows(j, m, n, j->to + i * m * n * j->size, n, scratch, j->pivots + i * rank,
                 j->info + i);
}

/* Is there nothing to do for matrices whose shorter side is `side`? None has failed so far. */
static bool empty(const luc_matrices *s, int64_t side, int32_t *info) {
  memset(info, 0, (size_t)s->count * sizeof *info);
  return s->count == 0 || side == 0;
}

luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info) {
  if (empty(&s, luc__min64(s.m, s.n), info)) return LUC_OK;
  job j = new_job(ctx, s);
  j.k = luc__min64(s.m, s.n), j.to = a, j.pivots = pivots, j.info = info, j.one = lu;
  return run(&j, s.m * LUC_PANEL);
}

/* b [n, k] by a copy of a; scratch: that copy, the panel and the pivots. */
static luc_status solve_by_lu(const job *j, int64_t i, char *b, char *scratch) {
  const int64_t n = j->s.n, square = n * n * j->size;
  char *panel = scratch + square;
  int32_t *pivots = (int32_t *)(panel + n * LUC_PANEL * j->size);
  memcpy(scratch, j->a + i * square, (size_t)square);
  LUC_TRY(lu_rows(j, n, n, scratch, n, panel, pivots, j->info + i));
  if (j->info[i] || j->k == 0) return LUC_OK;
  exchange_rows(j, pivots, n, j->k, b, j->k);
  LUC_TRY(solve_rows(j, false, true, n, scratch, n, j->k, b, j->k));
  return solve_rows(j, true, false, n, scratch, n, j->k, b, j->k);
}

static luc_status solve(const job *j, int64_t i, char *scratch) {
  return solve_by_lu(j, i, j->to + i * j->s.n * j->k * j->size, scratch);
}

luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b,
                      int32_t *info) {
  if (empty(&s, s.n, info)) return LUC_OK;
  job j = new_job(ctx, s);
  j.k = k, j.a = a, j.to = b, j.info = info, j.one = solve;
  return run(&j, s.n * (s.n + LUC_PANEL + 1));
}

static luc_status inverse(const job *j, int64_t i, char *scratch) {
  const int64_t n = j->s.n;
  char *to = j->to + i * n * n * j->size;
  memset(to, 0, (size_t)(n * n * j->size));
  for (int64_t row = 0; row < n; row++) {
    if (j->size == 4)
      ((float *)to)[row * n + row] = 1;
    else
      ((double *)to)[row * n + row] = 1;
  }
  return solve_by_lu(j, i, to, scratch);
}

luc_status luc__inverse(luc_context *ctx, luc_matrices s, const void *a, void *to, int32_t *info) {
  if (empty(&s, s.n, info)) return LUC_OK;
  job j = new_job(ctx, s);
  j.k = s.n, j.a = a, j.to = to, j.info = info, j.one = inverse;
  return run(&j, s.n * (s.n + LUC_PANEL + 1));
}
