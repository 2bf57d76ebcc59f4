/* Grid sampling, blocks of points in parallel; where dx is wanted, images. Images with several
 * channels are turned into rows first, unless there are few points. */
#include "cpu/grid.h"

#include <string.h>

#include "cpu/grid_kernels.h"
#include "cpu/kernels.h"

/* Products per piece, cells turned at once, the bytes of the longest vector. */
enum { PIECE_WORK = 1 << 14, TILE = 1024, VECTOR = 64 };

typedef struct turning {
  const luc_grid_job *job;
  const char *from;
  char *to;
} turning;

/* Begins with all but the arrays that are written. */
static luc_grid_job job_of(luc_context *ctx, const luc_grid *g) {
  static const int taps[] = {2, 1, 4}; /* ORDER GRID MODE */
  const luc_kernels *kernels = luc__kernels(ctx);
  luc_grid_job j = {.g = g, .kernels = &kernels->grid[g->dtype], .taps = taps[g->mode]};
  j.size = (int64_t)luc__dtype_size(g->dtype);
  j.turn = kernels->copy->transpose[g->dtype == LUC_FLOAT64 ? 3 : 2];
  j.cells = g->size[0] * g->size[1] * g->size[2];
  return j;
}

/* Does it pay to turn images? Per channel, turning and gathering by vectors of points; per vector
 * of channels, adding one tap. The weights are what these cost. */
static bool wants_rows(const luc_grid_job *j) {
  const luc_grid *g = j->g;
  const double channels = (double)g->channels, points = (double)g->points;
  double gathered = points * j->taps * j->taps;
  if (g->dims == 3) gathered *= j->taps;
  const double vectors = (double)((g->channels * j->size + VECTOR - 1) / VECTOR);
  const double turned = (double)j->cells + points;
  return 5 * gathered * channels > 2 * turned * channels + 10 * gathered * vectors;
}

static size_t rows_bytes(const luc_grid_job *j) {
  return (size_t)(j->g->batch * (j->cells + 1) * j->g->channels * j->size) + VECTOR;
}

/* Tiles of an image. */
static int64_t tiles_of(const luc_grid_job *j) {
  return (j->cells + TILE - 1) / TILE;
}

static void planes_to_rows(void *arg, int64_t begin, int64_t end) {
  const turning *t = arg;
  const luc_grid_job *j = t->job;
  const int64_t step = j->g->channels * j->size, line = j->cells * j->size, tiles = tiles_of(j);
  for (int64_t i = begin; i < end; i++) {
    const int64_t b = i / tiles, first = i % tiles * TILE;
    const int64_t n = j->cells - first < TILE ? j->cells - first : TILE;
    char *to = t->to + (b * (j->cells + 1) + first) * step;
    j->turn(to, step, t->from + b * j->g->channels * line + first * j->size, line, n,
            j->g->channels, false);
    if (first + n == j->cells) memset(to + n * step, 0, (size_t)step);
  }
}

static void rows_to_planes(void *arg, int64_t begin, int64_t end) {
  const turning *t = arg;
  const luc_grid_job *j = t->job;
  const int64_t step = j->g->channels * j->size, line = j->cells * j->size, tiles = tiles_of(j);
  for (int64_t i = begin; i < end; i++) {
    const int64_t b = i / tiles, first = i % tiles * TILE;
    const int64_t n = j->cells - first < TILE ? j->cells - first : TILE;
    j->turn(t->to + b * j->g->channels * line + first * j->size, line,
            t->from + (b * (j->cells + 1) + first) * step, step, j->g->channels, n, false);
  }
}

static void turn_all(luc_context *ctx, turning *t, luc_range_fn fn) {
  const luc_grid *g = t->job->g;
  luc__parallel_for(ctx, g->batch * tiles_of(t->job), PIECE_WORK / (TILE * g->channels) + 1, fn, t);
}

/* The images as rows, in memory of the caller's; NULL if there is none. */
static void *make_rows(luc_context *ctx, const luc_grid_job *j, size_t bytes) {
  void *rows = luc__alloc(ctx, bytes);
  turning t = {j, j->g->x, rows};
  if (rows) turn_all(ctx, &t, planes_to_rows);
  return rows;
}

luc_status luc__grid_sample(luc_context *ctx, const luc_grid *g, void *y) {
  luc_grid_job j = job_of(ctx, g);
  size_t bytes = rows_bytes(&j);
  void *rows = NULL;
  if (wants_rows(&j) && !(rows = make_rows(ctx, &j, bytes))) return LUC_ERR_MEMORY;
  j.rows = rows, j.y = y;
  luc__parallel_for(ctx, g->batch * luc__grid_blocks(g),
                    PIECE_WORK / (LUC_GRID_BLOCK * (g->channels + 8)) + 1, j.kernels->forward, &j);
  if (rows) luc__free(ctx, rows, bytes);
  return LUC_OK;
}

/* Points of an image go to the same cells, so it is one piece. */
static void images_backward(void *arg, int64_t begin, int64_t end) {
  luc_grid_job *j = arg;
  const int64_t blocks = luc__grid_blocks(j->g), plane = j->g->channels * j->size;
  for (int64_t b = begin; b < end; b++) {
    if (j->dx_rows)
      memset((char *)j->dx_rows + b * (j->cells + 1) * plane, 0, (size_t)((j->cells + 1) * plane));
    else
      memset((char *)j->dx + b * j->cells * plane, 0, (size_t)(j->cells * plane));
    j->kernels->backward(j, b * blocks, (b + 1) * blocks);
  }
}

luc_status luc__grid_sample_backward(luc_context *ctx, const luc_grid *g, const void *dy, void *dx,
                                     void *dgrid) {
  luc_status status = LUC_OK;
  luc_grid_job j = job_of(ctx, g);
  size_t bytes = rows_bytes(&j);
  void *rows = NULL, *dx_rows = NULL;
  if (wants_rows(&j)) {
    if (!(rows = make_rows(ctx, &j, bytes))) LUC_GO(LUC_ERR_MEMORY);
    if (dx && !(dx_rows = luc__alloc(ctx, bytes))) LUC_GO(LUC_ERR_MEMORY);
  }
  j.rows = rows, j.dx_rows = dx_rows, j.dy = dy, j.dx = dx, j.dgrid = dgrid;
  if (dx)
    luc__parallel_for(ctx, g->batch, 1, images_backward, &j);
  else
    luc__parallel_for(ctx, g->batch * luc__grid_blocks(g), 1, j.kernels->backward, &j);
  turning t = {&j, dx_rows, dx};
  if (dx_rows) turn_all(ctx, &t, rows_to_planes);
done:
  if (rows) luc__free(ctx, rows, bytes);
  if (dx_rows) luc__free(ctx, dx_rows, bytes);
  return status;
}
