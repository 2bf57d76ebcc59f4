/* Matrix products: which kernel, and how the work is cut into pieces. That follows from the sizes,
 * and from zeros in the factors, alone, so results do not depend on the number of threads. */
#include "cpu/gemm.h"

#include <math.h>

#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_sparse.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Below this many multiplications a product is one piece: some microseconds of work. */
static const int64_t PIECE_WORK = 1 << 20;
/* What writing an element takes, in multiplications. */
enum { WRITE_WORK = 16 };

typedef enum path {
  PATH_DOTS,   /* rows of A with rows of B */
  PATH_BLOCK,  /* B as it lies */
  PATH_SERIAL, /* B, and A if need be, packed */
  PATH_OUTER,  /* k is 1 */
  PATH_SPARSE  /* A's zeros are passed over */
} path;

typedef struct job {
  luc_gemm g;
  const luc_gemm_kernels *kernels;
  path path;
  int64_t rows, columns;         /* of one piece */
  int64_t row_cuts, column_cuts; /* pieces of one product */
  int64_t piece;                 /* multiplications that are worth one */
  size_t size;                   /* of an element; sums and bias of halves are floats */
} job;

/* As many as tiles want. */
enum { PAIRS_OF_TILES = 16 };

int64_t luc__gemm_least_pairs(luc_context *ctx) {
  return luc__is_twofold(ctx) ? PAIRS_OF_TILES : LUC_LEAST_PAIRS;
}

#if LUC_ISA_TILES
/* Measured: what is packed and the tiles' configuration should pay. Where k is adjacent in both, a
 * few rows are all that is packed. */
static bool suits_tiles(const luc_gemm *g) {
  enum { LEAST = 1 << 13, LEAST_IN_ALL = 1 << 15 };
  const int64_t side = g->a_col == 1 && g->b_row == 1 ? 4 : 8;
  const int64_t pairs = g->pairs ? g->k : g->k / 2;
  const double work = (double)g->m * (double)g->n * (double)pairs; /* of expanded tensors, too */
  if (g->m < side || g->n < side || pairs < PAIRS_OF_TILES || work < LEAST) return false;
  return work >= LEAST_IN_ALL || (double)g->batch * work >= LEAST_IN_ALL;
}
#endif

const luc_gemm_kernels *luc__gemm_kernels(luc_context *ctx, const luc_gemm *g) {
#if LUC_ISA_TILES
  if (g->dtype == LUC_BFLOAT16) return &luc__gemm_tiles;
#endif
  if (!g->pairs) return &luc__kernels(ctx)->gemm[g->dtype];
#if LUC_ISA_TILES
  if (suits_tiles(g) && luc__kernels_have_tiles(ctx)) return &luc__gemm_tiles;
#endif
  return luc__kernels(ctx)->gemm_pairs;
}

bool luc__gemm_takes_halves(luc_context *ctx, const luc_gemm *g) {
#if LUC_ISA_TILES
  const bool lie = (g->a_col == 1 || g->a_row == 1) && (g->b_col == 1 || g->b_row == 1);
  return lie && g->k <= 4 * LUC_GEMM_KC && suits_tiles(g) && luc__kernels_have_tiles(ctx);
#else
  (void)ctx, (void)g;
  return false;
#endif
}

bool luc__gemm_has_pairs(luc_context *ctx) {
#if LUC_ISA_X86
  return luc__kernels(ctx)->gemm_pairs->serial && __builtin_cpu_supports("avx512bf16");
#else
  (void)ctx;
  return false;
#endif
}

bool luc__gemm_has_fast_pairs(luc_context *ctx) {
  return luc__gemm_has_pairs(ctx) && (luc__kernels_have_tiles(ctx) || !luc__is_twofold(ctx));
}

static bool is_outer(const luc_gemm *g) {
  return g->k == 1 && !g->pairs && g->b_col == 1 && g->alpha == 1 && g->beta == 0 && !g->bias &&
         !g->relu;
}

/* Few rows or columns, of long sums: others take B turned, which costs as much as some columns. */
static bool is_dots(const luc_gemm *g) {
  if (g->a_col != 1 || g->b_row != 1 || (g->m > 16 && g->n > 16)) return false;
  if (g->m * g->n < 256) return true;
  return g->m <= 16 ? g->k > 4 * (g->m - 1) : g->n <= 8 && g->k > 32;
}

/* Not dots: may the factors be read where they lie? */
static path path_of_rows(const luc_gemm *g) {
  const int64_t size = (int64_t)luc__dtype_size(g->dtype);
  const bool a_lies =
      g->a_col == 1 ||
      (g->a_row == 1 && !luc__gemm_columns_share(g->a_col * size, g->m, g->n, g->k));
  const bool lies_well =
      a_lies && g->b_col == 1 && (g->m <= 16 || luc__gemm_rows_stay(g, size, 16));
  return lies_well ? PATH_BLOCK : PATH_SERIAL;
}

static path choose_path(const luc_gemm *g) {
  if (is_outer(g)) return PATH_OUTER;
  return is_dots(g) && (g->b_col != 1 || g->k > g->n) ? PATH_DOTS : path_of_rows(g);
}

/* Few rows read B, short sums write C: that, not arithmetic, takes the time. */
static int64_t weight_of(const luc_gemm *g) {
  const int64_t least = g->m < g->k ? g->m : g->k;
  return least < 16 ? 16 / (least < 1 ? 1 : least) : 1;
}

/* The most columns of a piece. */
static int64_t widest(const job *j) {
  const luc_gemm *g = &j->g;
  if (j->path == PATH_OUTER) return g->n;
  if (g->dtype == LUC_BFLOAT16) return luc__halves_columns(g);
  return g->m == 1 ? 16 * LUC_GEMM_NC : LUC_GEMM_NC;
}

/* Pieces as large as packing likes, halved while there are few of them and they are long; few are
 * evenly large. Those of the same columns follow each other: they share what is packed, and halves
 * have few rows rather than columns, so that A is read from memory but a few times. */
static void choose_cuts(job *j) {
  const luc_gemm *g = &j->g;
  j->rows = g->m;
  j->columns = g->n;
  const int64_t weight = weight_of(g);
  if (g->m * g->n * g->k * weight < 2 * j->piece) {
    j->row_cuts = j->column_cuts = 1;
    return;
  }
  if (j->rows > 16 * LUC_GEMM_MC) j->rows = 16 * LUC_GEMM_MC;
  const bool outer = j->path == PATH_OUTER, halves = g->dtype == LUC_BFLOAT16;
  j->columns = luc__min64(j->columns, widest(j));
  while (j->rows * j->columns * g->k * weight >= 2 * j->piece &&
         luc__cuts(g->m, j->rows) * luc__cuts(g->n, j->columns) < 8) {
    const int64_t few = halves ? 2 * LUC_GEMM_MC : j->columns;
    if ((outer || j->rows > luc__min64(few, j->columns)) && j->rows > 16)
      j->rows = (j->rows / 2 + 7) / 8 * 8;
    else if (j->columns > 48)
      j->columns = (j->columns / 2 + 47) / 48 * 48;
    else
      break;
  }
  j->row_cuts = luc__cuts(g->m, j->rows);
  j->column_cuts = luc__cuts(g->n, j->columns);
  if (j->column_cuts > 3 && j->row_cuts * j->column_cuts >= 8) return;
  j->rows = luc__whole(luc__cuts(g->m, j->row_cuts), 8);
  j->columns = luc__whole(luc__cuts(g->n, j->column_cuts), j->kernels->tiles ? 32 : 16);
}

/* Where the factors of an item of the batch begin. */
static void go_to_item(luc_gemm *g, int64_t item, int64_t size) {
  const int64_t outer = g->inner ? item / g->inner : 0, inner = item - outer * g->inner;
  g->a = (const char *)g->a + (outer * g->a_outer + inner * g->a_batch) * size;
  g->b = (const char *)g->b + (outer * g->b_outer + inner * g->b_batch) * size;
}

/* One piece of one product. */
static void run_piece(const job *j, int64_t piece, void *scratch) {
  luc_gemm g = j->g;
  int64_t per_item = j->row_cuts * j->column_cuts, item = piece / per_item;
  int64_t row = piece % j->row_cuts * j->rows;
  int64_t column = piece % per_item / j->row_cuts * j->columns;
  const int64_t size = (int64_t)j->size;
  go_to_item(&g, item, size);
  g.a = (const char *)g.a + row * g.a_row * size;
  g.b = (const char *)g.b + column * g.b_col * size;
  g.c = (char *)g.c + (item * g.c_batch + row * g.c_row + column) * (g.rounds ? 2 : size);
  const int64_t bias = luc__max64(size, sizeof(float));
  if (g.bias && g.bias_kind == LUC_BIAS_ROW) g.bias = (const char *)g.bias + row * bias;
  if (g.bias && g.bias_kind == LUC_BIAS_COLUMN) g.bias = (const char *)g.bias + column * bias;
  g.m = g.m - row < j->rows ? g.m - row : j->rows;
  g.n = g.n - column < j->columns ? g.n - column : j->columns;
  if (j->path == PATH_DOTS)
    j->kernels->dots(&g);
  else if (j->path == PATH_BLOCK)
    j->kernels->block(&g);
  else if (j->path == PATH_OUTER)
    j->kernels->outer(&g);
  else
    j->kernels->serial(&g, scratch);
}

static void run_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) run_piece(j, i, scratch);
}

static size_t scratch_of(const job *j) {
  if (j->path != PATH_SERIAL) return 0;
  luc_gemm g = j->g;
  g.n = j->columns;
  return g.dtype == LUC_BFLOAT16 ? luc__halves_scratch_size(&g) : luc__gemm_scratch_size(j->size);
}

static luc_status run_job(luc_context *ctx, job *j) {
  int64_t pieces = j->row_cuts * j->column_cuts * j->g.batch;
  int64_t elements = j->g.m * j->g.n / (j->row_cuts * j->column_cuts);
  int64_t work = elements * (j->g.k * weight_of(&j->g) + WRITE_WORK);
  return luc__parallel_scratch(ctx, pieces, j->piece / (work + 1024) + 1, scratch_of(j), run_pieces,
                               j);
}

static luc_status run_path(luc_context *ctx, const luc_gemm *g, path chosen) {
  job j = {.g = *g, .kernels = luc__gemm_kernels(ctx, g), .path = chosen};
  j.piece = !j.kernels->tiles ? PIECE_WORK : g->pairs ? 8 * PIECE_WORK : 16 * PIECE_WORK;
  j.size = luc__dtype_size(g->dtype);
  j.g.far = true;
  choose_cuts(&j);
  return run_job(ctx, &j);
}

/* A small product is one call. */
static luc_status run_by(luc_context *ctx, const luc_gemm *g, path chosen) {
  if (chosen == PATH_SPARSE) {
    if (luc__gemm_sparse(ctx, g)) return LUC_OK;
    chosen = choose_path(g);
  }
  if (g->batch != 1 || chosen == PATH_SERIAL || g->m * g->n * g->k >= PIECE_WORK / 8)
    return run_path(ctx, g, chosen);
  const luc_gemm_kernels *kernels = luc__gemm_kernels(ctx, g);
  (chosen == PATH_DOTS ? kernels->dots : chosen == PATH_OUTER ? kernels->outer : kernels->block)(g);
  return LUC_OK;
}

/* -- Turned products --------------------------------------------------------------------------- */

/* Cᵀ = Bᵀ Aᵀ, all but C. */
static luc_gemm turn(const luc_gemm *g) {
  luc_gemm t = *g;
  t.m = g->n, t.n = t.c_row = g->m;
  t.a = g->b, t.a_row = g->b_col, t.a_col = g->b_row, t.a_batch = g->b_batch;
  t.b = g->a, t.b_row = g->a_col, t.b_col = g->a_row, t.b_batch = g->a_batch;
  t.a_outer = g->b_outer, t.b_outer = g->a_outer;
  t.bias_kind = g->bias_kind == LUC_BIAS_COLUMN ? LUC_BIAS_ROW
                : g->bias_kind == LUC_BIAS_ROW  ? LUC_BIAS_COLUMN
                                                : LUC_BIAS_NONE;
  return t;
}

/* Some rows meet more columns of a turned B, a linear layer's weight: turning it takes as long as
 * some 15 rows of the product. Cᵀ = Bᵀ Aᵀ turns A and then Cᵀ instead. Likewise many rows of a
 * turned A, a convolution's weight on the way back, meet columns that leave lanes idle. */
static bool is_better_turned(const luc_gemm *g) {
  const int64_t idle = luc__whole(g->m, 16) - g->m, idle_back = luc__whole(g->n, 16) - g->n;
  const bool columns = g->a_row == 1 && g->a_col != 1 && g->b_col == 1;
  const int64_t least = columns ? PIECE_WORK / 64 : PIECE_WORK;
  if (g->beta != 0 || g->m * g->n * g->k < least) return false;
  if (columns)
    return g->a_batch == 0 && !g->inner && g->k >= 64 && idle_back > g->n / 20 && g->m >= 2 * g->n;
  if (g->batch != 1 || g->a_col != 1 || g->b_row != 1 || g->b_col == 1) return false;
  return g->m > 12 && g->m <= 128 && idle <= g->m / 4 && g->n >= 2 * g->m;
}

enum { TURNED_ROWS = 64 };

typedef struct turned_job {
  const luc_gemm *g;
  const luc_gemm_kernels *kernels;
  int64_t size;
  const char *from; /* [n, m] */
} turned_job;

static void turn_rows(void *arg, int64_t begin, int64_t end) {
  const turned_job *j = arg;
  const luc_gemm *g = j->g;
  const int64_t first = begin * TURNED_ROWS;
  const int64_t last = end * TURNED_ROWS < g->n ? end * TURNED_ROWS : g->n;
  j->kernels->transpose(last - first, g->m, j->from + first * g->m * j->size, g->m,
                        (char *)g->c + first * j->size, g->c_row);
}

static luc_status run_turned(luc_context *ctx, const luc_gemm *g, path by) {
  turned_job j = {.kernels = luc__gemm_kernels(ctx, g)};
  j.size = (int64_t)luc__dtype_size(g->dtype);
  const size_t bytes = luc__mul_size((size_t)(g->m * g->n), (size_t)j.size);
  void *turned = luc__alloc(ctx, bytes);
  if (!turned) return LUC_ERR_MEMORY;
  luc_gemm t = turn(g), to = *g;
  luc_status status = LUC_OK;
  const int64_t grain = PIECE_WORK / 8 / (g->m * TURNED_ROWS) + 1;
  t.c = turned, t.batch = 1;
  j.from = turned, j.g = &to;
  for (int64_t i = 0; i < g->batch && status == LUC_OK; i++) {
    if (g->beta != 0) j.kernels->transpose(g->m, g->n, to.c, to.c_row, turned, g->m);
    status = run_by(ctx, &t, by);
    if (status == LUC_OK)
      luc__parallel_for(ctx, luc__cuts(g->n, TURNED_ROWS), grain, turn_rows, &j);
    t.a = (const char *)t.a + t.a_batch * j.size;
    to.c = (char *)to.c + to.c_batch * j.size;
  }
  luc__free(ctx, turned, bytes);
  return status;
}

/* -- Small results of much memory -------------------------------------------------------------- */

/* Elements of B that one part reads, at least; the largest results, of dots and of a row, that are
 * cut along k; the most parts of a row, which are read and added up. */
enum { PART = 1 << 16, FEW_DOTS = 64, NARROW = 4096, ROW_PARTS = 8 };

typedef struct parts_job {
  const luc_gemm *g;
  void (*kernel)(const luc_gemm *g);
  int64_t part; /* of k */
  int64_t size;
  char *sums; /* [parts - 1, m, n]: those of the first are C */
} parts_job;

/* How much of k to take at a time; 0: all. A row's parts go straight through B, which bands of
 * columns would read in shreds. */
static int64_t part_of(const luc_gemm *g) {
  if (g->batch != 1 || g->k * g->n < 2 * PART) return 0;
  if (g->a_col == 1 && g->b_row == 1) return g->m * g->n <= FEW_DOTS && g->k >= 2 * PART ? PART : 0;
  if (g->m != 1 || g->b_col != 1 || g->n > NARROW) return 0;
  const int64_t least = luc__cuts(PART, g->n), even = luc__cuts(g->k, ROW_PARTS);
  return ((even > least ? even : least) + 7) / 8 * 8;
}

static void run_part(void *arg, int64_t begin, int64_t end) {
  const parts_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    luc_gemm g = *j->g;
    const int64_t first = i * j->part;
    g.a = (const char *)g.a + first * g.a_col * j->size;
    g.b = (const char *)g.b + first * g.b_row * j->size;
    g.k = g.k - first < j->part ? g.k - first : j->part;
    if (i > 0) {
      g.c = j->sums + (i - 1) * g.m * g.n * j->size;
      g.c_row = g.n, g.beta = 0, g.bias = NULL;
    }
    j->kernel(&g);
  }
}

static luc_status run_parts(luc_context *ctx, const luc_gemm *g, int64_t part) {
  const luc_gemm_kernels *kernels = luc__gemm_kernels(ctx, g);
  const bool dots = g->a_col == 1 && g->b_row == 1;
  parts_job j = {.g = g, .kernel = dots ? kernels->dots : kernels->block, .part = part};
  j.size = (int64_t)luc__dtype_size(g->dtype);
  const int64_t parts = luc__cuts(g->k, part), row = g->n * j.size;
  const size_t bytes = (size_t)((parts - 1) * g->m * row);
  j.sums = luc__alloc(ctx, bytes);
  if (!j.sums) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, parts, 1, run_part, &j);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t p = 1; p < parts; p++)
      luc__add_elements(g->dtype, (char *)g->c + i * g->c_row * j.size,
                        j.sums + ((p - 1) * g->m + i) * row, g->n);
  luc__free(ctx, j.sums, bytes);
  return LUC_OK;
}

/* -- A few rows or columns --------------------------------------------------------------------- */

typedef enum way { WAY_ROWS, WAY_DOTS, WAY_ROWS_TURNED, WAY_DOTS_TURNED, WAY_USUAL } way;
enum { FEW_COLUMNS = 6 };

/* Is it narrow, and do the estimates below hold? */
static bool is_narrow(const luc_gemm *g) {
  enum { SOME = 32, IN_CACHE = 1 << 20, LEAST_WORK = 2048 };
  const int64_t side = luc__min64(g->m, g->n);
  return side > 1 && g->k >= 8 &&
         (side <= FEW_COLUMNS || (side <= SOME && (g->m + g->n) * g->k <= IN_CACHE)) &&
         g->m * g->n * g->k >= LEAST_WORK;
}

/* Where vectors are short, rows leave fewer lanes idle, and to sum up a dot's takes longer. */
static way way_of_short_vectors(const luc_gemm *g, int64_t lanes) {
  const bool lie = g->a_col == 1 && (g->b_row == 1 || g->b_col == 1);
  const int64_t least = g->b_row == 1 ? 4 : 16; /* B is turned, too */
  const int64_t most = g->batch == 1 ? FEW_COLUMNS : 4;
  if (g->n <= most && lie && g->k > 32 && g->m >= least * g->n) return WAY_DOTS_TURNED;
  const bool turned = g->a_row == 1 && g->a_col != 1 && g->b_col != 1;
  if (!turned || g->k < 16 || g->m < 2 * g->n || g->n % lanes == 0) return WAY_USUAL;
  return WAY_ROWS_TURNED;
}

/* So many vectors hold n columns; a few that are left over are dots or half a vector. */
static double vectors_of(int64_t n, int64_t lanes, double half) {
  const int64_t rest = n % lanes;
  return (double)(n / lanes) + (rest == 0           ? 0
                                : rest <= lanes / 4 ? fmin(0.5 * (double)rest - 0.25, half)
                                : rest <= lanes / 2 ? half
                                                    : 1);
}

/* The quickest way by estimates, in vectors of multiplications, that were fitted to products in the
 * cache: so much for an element that is packed or turned, and for a dot whose lanes are summed. */
static way choose_way(luc_context *ctx, const luc_gemm *g) {
  const int64_t lanes = luc__gemm_kernels(ctx, g)->lanes;
  const double beside = luc__is_twofold(ctx) ? 2 : 1; /* what is not a product weighs more */
  const double pack = 0.625 * beside, sum = 3 * beside, begin = 300 * beside;
  if (lanes * (int64_t)luc__dtype_size(g->dtype) < 64) return way_of_short_vectors(g, lanes);
  const double m = (double)g->m, n = (double)g->n, k = (double)g->k, turn_c = pack * m * n + begin;
  const double turn_a = pack * m * k, turn_b = pack * n * k, steps = (double)luc__cuts(g->k, lanes);
  const double half = luc__is_twofold(ctx) ? 1 : 0.75;
  const double columns = vectors_of(g->n, lanes, half), rows = vectors_of(g->m, lanes, half);
  double times[] = {m * columns * k + (g->b_col == 1 ? 0 : turn_b), INFINITY,
                    n * rows * k + (g->a_row == 1 ? 0 : turn_a) + turn_c, INFINITY};
  if (g->a_col == 1 && (g->b_row == 1 || g->b_col == 1)) {
    const double sums = sum * m * n + (g->b_row == 1 ? 0 : turn_b);
    const int64_t dots = g->m * luc__whole(g->n, 8);
    const int64_t turned = g->n * luc__whole(g->m, 8);
    times[WAY_DOTS] = (double)dots * steps + sums;
    times[WAY_DOTS_TURNED] = (double)turned * steps + sums + turn_c;
  }
  way best = WAY_ROWS;
  for (way w = WAY_DOTS; w <= WAY_DOTS_TURNED; w++)
    if (times[w] < times[best]) best = w;
  return best;
}

static bool makes_dots(way w) {
  return w == WAY_DOTS || w == WAY_DOTS_TURNED;
}
static bool turns_c(way w) {
  return w == WAY_ROWS_TURNED || w == WAY_DOTS_TURNED;
}

/* Are items of a batch pieces, for which nothing is packed? */
static bool suits_items(const luc_gemm *g, way best) {
  const luc_gemm back = turn(g);
  return best != WAY_ROWS && g->m * g->n * g->k < 2 * PIECE_WORK &&
         (best != WAY_ROWS_TURNED || path_of_rows(&back) == PATH_BLOCK);
}

typedef struct items_job {
  luc_gemm g;
  const luc_gemm_kernels *kernels;
  bool dots, turned;
  int64_t size;
} items_job;

static void items(void *arg, void *scratch, int64_t begin, int64_t end) {
  const items_job *j = arg;
  const luc_gemm_kernels *kernels = j->kernels;
  for (int64_t item = begin; item < end; item++) {
    luc_gemm g = j->g;
    char *turned = scratch;
    go_to_item(&g, item, j->size);
    g.c = (char *)g.c + item * g.c_batch * j->size;
    if (j->dots && g.b_row != 1) {
      kernels->transpose(g.k, g.n, g.b, g.b_row, scratch, g.k);
      g.b = scratch, g.b_row = 1, g.b_col = g.k;
      turned += g.k * g.n * j->size;
    }
    luc_gemm t = j->turned ? turn(&g) : g;
    if (j->turned) t.c = turned;
    if (j->turned && g.beta != 0) kernels->transpose(g.m, g.n, g.c, g.c_row, turned, g.m);
    (j->dots ? kernels->dots : kernels->block)(&t);
    if (j->turned) kernels->transpose(g.n, g.m, turned, g.m, g.c, g.c_row);
  }
}

/* Of a batch, an item is a piece. */
static luc_status run_items(luc_context *ctx, const luc_gemm *g, way best) {
  items_job j = {.g = *g, .kernels = luc__gemm_kernels(ctx, g)};
  j.dots = makes_dots(best), j.turned = turns_c(best);
  j.size = (int64_t)luc__dtype_size(g->dtype);
  const int64_t copied = j.dots && g->b_row != 1 ? g->k * g->n : 0;
  const size_t scratch = (size_t)((copied + (j.turned ? g->m * g->n : 0)) * j.size);
  const int64_t work = g->m * g->n * (g->k * weight_of(g) + WRITE_WORK);
  return luc__parallel_scratch(ctx, g->batch, PIECE_WORK / work + 1, scratch, items, &j);
}

/* Dots of a B whose rows lie one after another are those of a turned copy. */
static luc_status run_way(luc_context *ctx, const luc_gemm *whole, way best) {
  if (whole->batch > 1) return run_items(ctx, whole, best);
  const bool dots = makes_dots(best), turned = turns_c(best);
  luc_gemm g = *whole;
  void *copy = NULL;
  size_t bytes = 0;
  if (dots && g.b_row != 1) {
    bytes = luc__mul_size((size_t)(g.k * g.n), luc__dtype_size(g.dtype));
    copy = luc__alloc(ctx, bytes);
    if (!copy) return LUC_ERR_MEMORY;
    luc__gemm_kernels(ctx, &g)->transpose(g.k, g.n, g.b, g.b_row, copy, g.k);
    g.b = copy, g.b_row = 1, g.b_col = g.k;
  }
  const luc_gemm back = turn(&g);
  const path by = dots ? PATH_DOTS : path_of_rows(turned ? &back : &g);
  const luc_status status = turned ? run_turned(ctx, &g, by) : run_by(ctx, &g, by);
  if (copy) luc__free(ctx, copy, bytes);
  return status;
}

/* relu of C, which is of double or float. */
static void cut_at_zero(const luc_gemm *g) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = i * g->c_row; j < i * g->c_row + g->n; j++) {
      if (g->dtype == LUC_FLOAT64)
        ((double *)g->c)[j] = ((double *)g->c)[j] < 0 ? 0 : ((double *)g->c)[j];
      else
        ((float *)g->c)[j] = ((float *)g->c)[j] < 0 ? 0 : ((float *)g->c)[j];
    }
}

/* One row's products, and sums of parts, are made as without relu. */
static luc_status relu_after(luc_context *ctx, const luc_gemm *g) {
  luc_gemm plain = *g;
  plain.relu = false;
  LUC_TRY(luc__gemm(ctx, &plain));
  cut_at_zero(g);
  return LUC_OK;
}

static void run_tiny(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->kernels->tiny(&j->g, begin, end);
}

/* Not where C is turned, made of dots or added up from parts of k, nor where it is too large. */
bool luc__gemm_rounds(luc_context *ctx, const luc_gemm *g) {
  enum { MOST = 1 << 26 };
  return g->pairs && g->beta == 0 && g->k <= LUC_GEMM_KC && g->m > 1 && g->n > 1 && g->m <= MOST &&
         g->n <= MOST && g->n % LUC_GEMM_STRIP != 1 && !luc__gemm_kernels(ctx, g)->tiles &&
         part_of(g) == 0 && choose_path(g) != PATH_DOTS && !is_better_turned(g) &&
         !(is_narrow(g) && choose_way(ctx, g) != WAY_ROWS);
}

luc_status luc__gemm(luc_context *ctx, const luc_gemm *whole) {
  enum { TINY = 64, TINY_WORK = 1 << 14 };
  const luc_gemm *g = whole;
  luc_gemm row;
  if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return LUC_OK;
  const int64_t work = g->m * g->n * g->k;
  if (g->batch > 1 && work <= TINY && !g->bias && !g->relu && !g->pairs) {
    job j = {.g = *g, .kernels = luc__gemm_kernels(ctx, g)};
    luc__parallel_for(ctx, g->batch, TINY_WORK / (work + 1), run_tiny, &j);
    return LUC_OK;
  }
  if (g->rounds) return run_by(ctx, g, path_of_rows(g));
  if (g->n == 1 && g->c_row == 1) { /* a column lies as a row does, which tiles are made for */
    row = turn(g);
    g = &row;
  }
  if (luc__gemm_kernels(ctx, g)->tiles) return run_path(ctx, g, PATH_SERIAL);
  const int64_t part = part_of(g);
  if (g->relu && g->batch == 1 && (g->m == 1 || part > 0)) return relu_after(ctx, g);
  if (part > 0 && part < g->k) return run_parts(ctx, g, part);
  const way best = is_narrow(g) ? choose_way(ctx, g) : WAY_USUAL;
  if (best != WAY_USUAL && (g->batch == 1 || suits_items(g, best))) return run_way(ctx, g, best);
  if (work >= LUC_SPARSE_WORK) {
    const luc_gemm back = turn(g);
    if (luc__gemm_is_sparse(g)) return run_by(ctx, g, PATH_SPARSE);
    if (g->beta == 0 && luc__gemm_is_sparse(&back)) return run_turned(ctx, g, PATH_SPARSE);
  }
  if (is_better_turned(g)) return run_turned(ctx, g, PATH_SERIAL);
  return run_by(ctx, g, choose_path(g));
}

/* -- Sums of products -------------------------------------------------------------------------- */

/* The batch's k in units, a few of an item each; every cut adds up some of them, alone. */
typedef struct sum_job {
  luc_gemm g;
  const luc_gemm_kernels *kernels;
  int64_t parts, units, cuts; /* units of an item, of all */
  int64_t size;
  char *sums; /* of the cuts but the first, whose place is C */
} sum_job;

static void run_cut(const sum_job *j, int64_t cut, void *scratch) {
  luc_gemm g = j->g;
  const int64_t first = cut * j->units / j->cuts, last = (cut + 1) * j->units / j->cuts;
  if (cut > 0) {
    g.c = j->sums + (cut - 1) * g.m * g.n * j->size;
    g.c_row = g.n;
  }
  for (int64_t i = first; i < last; i++) {
    const int64_t item = i / j->parts, part = i % j->parts;
    const int64_t begin = part * j->g.k / j->parts;
    g.k = (part + 1) * j->g.k / j->parts - begin;
    g.a = (const char *)j->g.a + (item * g.a_batch + begin * g.a_col) * j->size;
    g.b = (const char *)j->g.b + (item * g.b_batch + begin * g.b_row) * j->size;
    g.beta = i > first ? 1 : cut > 0 ? 0 : j->g.beta;
    j->kernels->serial(&g, scratch);
  }
}

static void run_cuts(void *arg, void *scratch, int64_t begin, int64_t end) {
  const sum_job *j = arg;
  for (int64_t i = begin; i < end; i++) run_cut(j, i, scratch);
}

void luc__add_elements(luc_dtype dtype, void *to, const void *from, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (dtype == LUC_FLOAT64)
      ((double *)to)[i] += ((const double *)from)[i];
    else
      ((float *)to)[i] += ((const float *)from)[i];
  }
}

/* Rows of C: the cuts in their order. */
static void add_cuts(void *arg, int64_t begin, int64_t end) {
  const sum_job *j = arg;
  const luc_gemm *g = &j->g;
  for (int64_t i = begin; i < end; i++)
    for (int64_t cut = 1; cut < j->cuts; cut++)
      luc__add_elements(g->dtype, (char *)g->c + i * g->c_row * j->size,
                        j->sums + ((cut - 1) * g->m + i) * g->n * j->size, g->n);
}

/* One item after another into C. */
static luc_status sum_items(luc_context *ctx, luc_gemm g, int64_t size) {
  const int64_t batch = g.batch;
  g.batch = 1;
  for (int64_t i = 0; i < batch; i++) {
    LUC_TRY(luc__gemm(ctx, &g));
    g.a = (const char *)g.a + g.a_batch * size;
    g.b = (const char *)g.b + g.b_batch * size;
    g.beta = 1;
  }
  return LUC_OK;
}

/* A few columns of C: all items, one after another. */
static void run_columns(void *arg, void *scratch, int64_t begin, int64_t end) {
  const sum_job *j = arg;
  for (int64_t cut = begin; cut < end; cut++) {
    luc_gemm g = j->g;
    const int64_t first = cut * j->units;
    g.n = luc__min64(j->units, g.n - first);
    g.c = (char *)g.c + first * j->size;
    g.b = (const char *)g.b + first * g.b_col * j->size;
    for (int64_t i = 0; i < g.batch; i++, g.beta = 1) {
      j->kernels->serial(&g, scratch);
      g.a = (const char *)g.a + g.a_batch * j->size;
      g.b = (const char *)g.b + g.b_batch * j->size;
    }
  }
}

/* Short sums of many columns: cuts of k would have to be added up again. */
static luc_status sum_columns(luc_context *ctx, sum_job *j) {
  j->units = luc__max64(luc__cuts(j->g.n, 8 * 48) * 48, 48);
  const int64_t cuts = luc__cuts(j->g.n, j->units);
  const size_t scratch = luc__gemm_scratch_size((size_t)j->size);
  return luc__parallel_scratch(ctx, cuts, 1, scratch, run_columns, j);
}

/* How many elements the sums of all cuts may have. */
static const int64_t SUMS_SIZE = 1 << 20;

luc_status luc__gemm_sum(luc_context *ctx, const luc_gemm *whole) {
  sum_job j = {.g = *whole, .kernels = luc__gemm_kernels(ctx, whole)};
  luc_gemm *g = &j.g;
  if (g->m <= 0 || g->n <= 0) return LUC_OK;
  const int64_t elements = g->m * g->n, work = elements * g->k * g->batch;
  j.size = (int64_t)luc__dtype_size(g->dtype);
  g->alpha = 1, g->bias = NULL, g->relu = false;
  if (g->k * g->batch <= 8 * LUC_GEMM_KC && g->n >= LUC_GEMM_NC && work >= PIECE_WORK)
    return sum_columns(ctx, &j);
  j.cuts = 8;
  while (j.cuts > 1 && (work / j.cuts < 2 * PIECE_WORK || elements * j.cuts > SUMS_SIZE))
    j.cuts /= 2;
  if (j.cuts == 1) return sum_items(ctx, *g, j.size);
  j.parts = luc__cuts(j.cuts, g->batch);
  j.units = g->batch * j.parts;
  size_t bytes = luc__mul_size((size_t)((j.cuts - 1) * elements), (size_t)j.size);
  j.sums = luc__alloc(ctx, bytes);
  if (!j.sums) return LUC_ERR_MEMORY;
  const size_t scratch = luc__gemm_scratch_size((size_t)j.size);
  const luc_status status = luc__parallel_scratch(ctx, j.cuts, 1, scratch, run_cuts, &j);
  if (status == LUC_OK)
    luc__parallel_for(ctx, g->m, PIECE_WORK / 8 / (j.cuts * g->n) + 1, add_cuts, &j);
  luc__free(ctx, j.sums, bytes);
  return status;
}

/* -- As they lie: integers, complex numbers, halves by a vector -------------------------------- */

enum { UNPACKED_ROWS = 16, UNPACKED_COLUMNS = 512, UNPACKED_FEW = 1024 };

typedef struct unpacked_job {
  luc_gemm g;
  luc_gemm_unpacked_fn product;
  int64_t row_cuts, column_cuts, rows, columns; /* of one product, of a piece */
  int64_t size, size_c;                         /* of an element of A and B, of C */
} unpacked_job;

static void unpacked_pieces(void *arg, int64_t begin, int64_t end) {
  const unpacked_job *j = arg;
  luc_gemm g = j->g;
  for (int64_t i = begin; i < end; i++) {
    int64_t item = i, row = 0, column = 0;
    if (j->row_cuts * j->column_cuts > 1) { /* small products are soon done */
      item = i / (j->row_cuts * j->column_cuts);
      row = i / j->column_cuts % j->row_cuts * j->rows;
      column = i % j->column_cuts * j->columns;
    }
    g.a = j->g.a, g.b = j->g.b;
    go_to_item(&g, item, j->size);
    g.a = (const char *)g.a + row * g.a_row * j->size;
    g.b = (const char *)g.b + column * g.b_col * j->size;
    g.c = (char *)j->g.c + (item * g.c_batch + row * g.c_row + column) * j->size_c;
    g.m = luc__min64(j->g.m - row, j->rows);
    g.n = luc__min64(j->g.n - column, j->columns);
    j->product(&g);
  }
}

/* ORDER of luc__gemm_unpacked_*: the kernel for a dtype. */
static int unpacked_kernel(luc_dtype dtype) {
  switch (dtype) {
  case LUC_INT64: return 1;
  case LUC_INT16: return 2;
  case LUC_INT8: return 3;
  case LUC_UINT8: return 4;
  case LUC_FLOAT16: return 5;
  case LUC_BFLOAT16: return 6;
  case LUC_COMPLEX64: return 7;
  case LUC_COMPLEX128: return 8;
  default: return 0;
  }
}

/* Of one row: C becomes its bias, to which the product is added. */
static void begin_with_bias(luc_gemm *g) {
  const float *bias = g->bias;
  const bool each = g->bias_kind == LUC_BIAS_COLUMN;
  for (int64_t j = 0; j < g->n; j++) ((float *)g->c)[j] = bias[each ? j : 0];
  g->beta = 1;
}

luc_status luc__gemm_unpacked(luc_context *ctx, const luc_gemm *g) {
  if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return LUC_OK;
  LUC_ASSERT(!g->conj || (g->m == 1 && g->n == 1));
  unpacked_job j = {.g = g->n == 1 && g->c_row == 1 && !g->conj ? turn(g) : *g,
                    .product = luc__kernels(ctx)->gemm_unpacked[unpacked_kernel(g->dtype)],
                    .size = (int64_t)luc__dtype_size(g->dtype)};
  const bool half = luc__dtype_is_float(g->dtype);
  if (half && g->bias) begin_with_bias(&j.g);
  j.size_c = half ? (int64_t)sizeof(float) : j.size == 1 ? 2 : j.size;
  j.rows = luc__max64(UNPACKED_ROWS, UNPACKED_FEW / j.g.n);
  j.row_cuts = luc__cuts(j.g.m, j.rows);
  j.column_cuts = luc__cuts(j.g.n, UNPACKED_COLUMNS);
  j.columns = luc__whole(luc__cuts(j.g.n, j.column_cuts), 64);
  const int64_t rows = luc__min64(j.g.m, j.rows);
  const int64_t weight = luc__dtype_is_complex(g->dtype) ? 4 : 1;
  const int64_t work = rows * luc__min64(j.g.n, j.columns) * (g->k + 1) * weight;
  luc__parallel_for(ctx, j.row_cuts * j.column_cuts * g->batch, PIECE_WORK / 4 / work + 1,
                    unpacked_pieces, &j);
  if (half && g->relu) cut_at_zero(g);
  return LUC_OK;
}
