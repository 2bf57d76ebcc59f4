/* Products of a factor with many zeros: what a relu leaves, and what its gradient lets pass. The
 * zeros are passed over, unless they would meet an infinity or NaN. */
#include "cpu/gemm_sparse.h"

#include <stdatomic.h>

#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* What is looked at: so many runs of so many elements that lie side by side. */
enum { RUNS = 32, RUN = 16 };

static bool is_zero(const luc_gemm *g, int64_t i) {
  return g->dtype == LUC_FLOAT64 ? ((const double *)g->a)[i] == 0 : ((const float *)g->a)[i] == 0;
}

/* Term i, in [0, n), of a sequence that is soon close to everything and repeats nothing: multiples
 * of an irrational number, whose fraction is counted in 2^-32. */
static int64_t spread(int64_t i, uint32_t fraction, int64_t n) {
  return (int64_t)((uint32_t)i * fraction >> 8) * n >> 24;
}

/* All over A (Roberts' sequence in two dimensions). */
static int64_t count_zeros(const luc_gemm *g) {
  const bool turned = g->a_row == 1;
  const int64_t rows = turned ? g->k : g->m, row = turned ? g->a_col : g->a_row;
  const int64_t room = (turned ? g->m : g->k) - RUN + 1;
  int64_t zeros = 0;
  for (int64_t i = 1; i <= RUNS; i++) {
    const int64_t first = spread(i, 3242174889u, rows) * row + spread(i, 2447445414u, room);
    for (int64_t j = 0; j < RUN; j++) zeros += is_zero(g, first + j);
  }
  return zeros;
}

bool luc__gemm_is_sparse(const luc_gemm *g) {
#ifdef LUCERNA_TEST_BUILD
  enum { LEAST = RUN, LEAST_COLUMNS = 16 };
#else
  enum { LEAST = 64, LEAST_COLUMNS = 128 };
#endif
  enum { MOST_OF_B = 1 << 20, MANY = RUNS * RUN * 13 / 32 };
  if ((g->dtype != LUC_FLOAT32 && g->dtype != LUC_FLOAT64) || g->pairs || g->batch != 1 ||
      (g->a_row != 1 && g->a_col != 1))
    return false;
  return g->m >= LEAST && g->n >= LEAST_COLUMNS && g->k >= LEAST && g->k * g->n <= MOST_OF_B &&
         count_zeros(g) >= MANY;
}

enum { PACKED = 256 }; /* rows of B at a time */

typedef struct sparse_job {
  luc_gemm g;
  const luc_gemm_sparse_kernels *kernels;
  int64_t size, blocks;         /* of k */
  int64_t column_cuts, columns; /* of a piece: whole spans */
  char *spans;
  atomic_bool infinite;
} sparse_job;

/* Some columns of B and C. */
static luc_gemm columns_of(const sparse_job *j, int64_t first, int64_t most) {
  luc_gemm g = j->g;
  g.b = (const char *)g.b + first * g.b_col * j->size;
  g.c = (char *)g.c + first * j->size;
  if (g.bias && g.bias_kind == LUC_BIAS_COLUMN) g.bias = (const char *)g.bias + first * j->size;
  g.n = luc__min64(most, g.n - first);
  return g;
}

static void pack_blocks(void *arg, int64_t begin, int64_t end) {
  sparse_job *j = arg;
  const int64_t width = j->kernels->columns;
  for (int64_t i = begin; i < end; i++) {
    const int64_t span = i / j->blocks, first = i % j->blocks * PACKED;
    const luc_gemm g = columns_of(j, span * width, width);
    char *to = j->spans + (span * g.k + first) * width * j->size;
    if (!j->kernels->pack(&g, first, luc__min64(PACKED, g.k - first), to))
      atomic_store_explicit(&j->infinite, true, memory_order_relaxed);
  }
}

static void run_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const sparse_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = i / j->column_cuts * LUC_SPARSE_ROWS;
    const int64_t column = i % j->column_cuts * j->columns;
    luc_gemm g = columns_of(j, column, j->columns);
    g.a = (const char *)g.a + row * g.a_row * j->size;
    g.c = (char *)g.c + row * g.c_row * j->size;
    if (g.bias && g.bias_kind == LUC_BIAS_ROW) g.bias = (const char *)g.bias + row * j->size;
    g.m = luc__min64(LUC_SPARSE_ROWS, g.m - row);
    j->kernels->rows(&g, j->spans + column * g.k * j->size, scratch);
  }
}

bool luc__gemm_sparse(luc_context *ctx, const luc_gemm *g) {
  enum { PIECES = 8, MOST_COLUMNS = 512 };
  sparse_job j = {.g = *g, .kernels = &luc__kernels(ctx)->gemm_sparse[g->dtype]};
  const int64_t width = j.kernels->columns, spans = luc__cuts(g->n, width);
  j.size = (int64_t)luc__dtype_size(g->dtype);
  j.blocks = luc__cuts(g->k, PACKED);
  const int64_t row_cuts = luc__cuts(g->m, LUC_SPARSE_ROWS);
  const int64_t wanted = luc__max64(luc__cuts(PIECES, row_cuts), luc__cuts(g->n, MOST_COLUMNS));
  j.columns = luc__cuts(spans, luc__min64(wanted, spans)) * width;
  j.column_cuts = luc__cuts(g->n, j.columns);
  const size_t bytes = (size_t)(spans * width * g->k * j.size);
  j.spans = luc__alloc(ctx, bytes);
  if (!j.spans) return false;
  luc__parallel_for(ctx, spans * j.blocks, 1, pack_blocks, &j);
  const size_t sums = (size_t)(LUC_SPARSE_ROWS * j.columns * j.size);
  const bool done = !atomic_load(&j.infinite) &&
                    luc__parallel_scratch(ctx, row_cuts * j.column_cuts, 1,
                                          j.kernels->scratch + sums, run_pieces, &j) == LUC_OK;
  luc__free(ctx, j.spans, bytes);
  return done;
}
