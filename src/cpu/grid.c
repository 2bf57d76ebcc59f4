/* Grid sampling, blocks of points in parallel; where dx is wanted, images. Images with several
 * channels are turned into rows first, unless there are few points. */
#include "cpu/grid.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/grid_kernels.h"
#include "cpu/kernels.h"

/* Products per piece, cells turned at once, the bytes of the longest vector. */
enum { PIECE_WORK = 1 << 14, TILE = 1024, VECTOR = 64 };

/* Begins with all but the arrays that are written. */
static luc_grid_job job_of(luc_context *ctx, const luc_grid *g) {
  static const int taps[] = {2, 1, 4}; /* ORDER GRID MODE */
  const luc_kernels *kernels = luc__kernels(ctx);
  luc_grid_job j = {.g = g, .kernels = &kernels->grid[g->dtype], .taps = taps[g->mode]};
  j.size = (int64_t)luc__dtype_size(g->dtype);
  j.turn = kernels->copy->transpose[luc__log2(j.size)];
  j.cells = g->size[0] * g->size[1] * g->size[2];
  const int64_t whole = g->channels <= LUC_GRID_PIXEL ? LUC_GRID_PIXEL : VECTOR / j.size;
  j.pitch = luc__whole(g->channels, whole);
  return j;
}

/* Does it pay to turn images? Per channel, turning and gathering by vectors of points; per pixel or
 * vector of channels, adding one tap. The weights are what these cost. */
static bool wants_rows(const luc_grid_job *j) {
  const luc_grid *g = j->g;
  const double channels = (double)g->channels, points = (double)g->points;
  double gathered = points * j->taps * j->taps;
  if (g->dims == 3) gathered *= j->taps;
  const double turned = (double)j->cells + points;
  if (j->pitch == LUC_GRID_PIXEL) return 5 * gathered * channels > 6 * (turned + gathered);
  const double vectors = (double)(j->pitch * j->size / VECTOR);
  return 5 * gathered * channels > 2 * turned * channels + 10 * gathered * vectors;
}

static size_t rows_bytes(const luc_grid_job *j, int64_t images) {
  return (size_t)(images * (j->cells + 1) * j->pitch * j->size) + LUC_GRID_PIXEL * VECTOR;
}

/* ---- planes as rows, and back ---- */

typedef struct turning {
  const luc_grid_job *job;
  bool back;
  const char *from;
  char *to;
} turning;

static int64_t tiles_of(const luc_grid_job *j) {
  return luc__cuts(j->cells, TILE);
}

/* Some cells of an image, the last of which the cell of zeros follows. */
typedef struct tile {
  int64_t n, plane, row; /* how many, and where the first is in planes and rows, in bytes */
  bool last;
} tile;

static tile find_tile(const luc_grid_job *j, int64_t i) {
  const int64_t tiles = tiles_of(j), b = i / tiles, first = i % tiles * TILE;
  const bool last = first + TILE >= j->cells;
  return (tile){.n = last ? j->cells - first : TILE,
                .plane = (b * j->g->channels * j->cells + first) * j->size,
                .row = (b * (j->cells + 1) + first) * j->pitch * j->size,
                .last = last};
}

static void turn_tiles(void *arg, int64_t begin, int64_t end) {
  const turning *t = arg;
  const luc_grid_job *j = t->job;
  const int64_t step = j->pitch * j->size, line = j->cells * j->size, channels = j->g->channels;
  for (int64_t i = begin; i < end; i++) {
    const tile at = find_tile(j, i);
    const char *from = t->from + (t->back ? at.row : at.plane);
    char *to = t->to + (t->back ? at.plane : at.row);
    if (j->pitch == LUC_GRID_PIXEL)
      (t->back ? j->kernels->from_pixels : j->kernels->to_pixels)(to, from, j->cells, channels,
                                                                  at.n);
    else if (t->back)
      j->turn(to, line, from, step, channels, at.n, false);
    else
      j->turn(to, step, from, line, at.n, channels, false);
    if (at.last && !t->back) memset(to + at.n * step, 0, (size_t)step);
  }
}

static void turn_all(luc_context *ctx, const luc_grid_job *j, bool back, const void *from,
                     void *to) {
  turning t = {j, back, from, to};
  luc__parallel_for(ctx, j->g->batch * tiles_of(j), PIECE_WORK / (TILE * j->g->channels) + 1,
                    turn_tiles, &t);
}

/* ---- sampling ---- */

/* How many images are turned at a time: their rows stay in the second-level caches for their
 * points, which meet them in any order. */
static int64_t images_together(luc_context *ctx, const luc_grid_job *j) {
  const int64_t bytes = (j->cells + 1) * j->pitch * j->size, few = luc__second_cache() / 2 / bytes;
  return luc__min64(j->g->batch, (few < 1 ? 1 : few) * luc_get_num_threads(ctx));
}

/* Images from `first` on, up to n of them. */
static luc_grid some_images(const luc_grid *g, int64_t first, int64_t n) {
  const int64_t size = (int64_t)luc__dtype_size(g->dtype);
  luc_grid part = *g;
  part.batch = luc__min64(n, g->batch - first);
  part.x = (const char *)g->x + first * g->channels * g->size[0] * g->size[1] * g->size[2] * size;
  part.grid = (const char *)g->grid + first * g->points * g->dims * size;
  return part;
}

/* The kernel for blocks of all images' points, where these add to none of its cells. */
static luc_status by_blocks(luc_context *ctx, luc_grid_job j, luc_range_fn kernel, int64_t grain) {
  const luc_grid *g = j.g;
  const bool turned = wants_rows(&j);
  const int64_t together = turned ? images_together(ctx, &j) : g->batch, line = g->points * j.size;
  const size_t bytes = turned ? rows_bytes(&j, together) : 0;
  void *rows = NULL;
  if (turned && !(rows = luc__alloc(ctx, bytes))) return LUC_ERR_MEMORY;
  for (int64_t b = 0; b < g->batch; b += together) {
    const luc_grid part = some_images(g, b, together);
    luc_grid_job k = j;
    k.g = &part, k.rows = rows;
    if (j.y) k.y = (char *)j.y + b * g->channels * line;
    if (j.dy) k.dy = (const char *)j.dy + b * g->channels * line;
    if (j.dgrid) k.dgrid = (char *)j.dgrid + b * g->dims * line;
    if (turned) turn_all(ctx, &k, false, part.x, rows);
    luc__parallel_for(ctx, part.batch * luc__grid_blocks(g), grain, kernel, &k);
  }
  luc__free(ctx, rows, bytes);
  return LUC_OK;
}

luc_status luc__grid_sample(luc_context *ctx, const luc_grid *g, void *y) {
  luc_grid_job j = job_of(ctx, g);
  j.y = y;
  return by_blocks(ctx, j, j.kernels->forward,
                   PIECE_WORK / (LUC_GRID_BLOCK * (g->channels + 8)) + 1);
}

/* Points of an image go to the same cells, so it is one piece. */
static void images_backward(void *arg, int64_t begin, int64_t end) {
  luc_grid_job *j = arg;
  const int64_t blocks = luc__grid_blocks(j->g);
  const int64_t bytes =
      (j->dx_rows ? (j->cells + 1) * j->pitch : j->cells * j->g->channels) * j->size;
  char *dx = j->dx_rows ? j->dx_rows : j->dx;
  for (int64_t b = begin; b < end; b++) {
    memset(dx + b * bytes, 0, (size_t)bytes);
    j->kernels->backward(j, b * blocks, (b + 1) * blocks);
  }
}

luc_status luc__grid_sample_backward(luc_context *ctx, const luc_grid *g, const void *dy, void *dx,
                                     void *dgrid) {
  luc_status status = LUC_OK;
  luc_grid_job j = job_of(ctx, g);
  j.dy = dy, j.dx = dx, j.dgrid = dgrid;
  if (!dx) return by_blocks(ctx, j, j.kernels->backward, 1);
  const size_t bytes = rows_bytes(&j, g->batch);
  void *rows = NULL, *dx_rows = NULL;
  if (wants_rows(&j)) {
    rows = luc__alloc(ctx, bytes), dx_rows = luc__alloc(ctx, bytes);
    if (!rows || !dx_rows) LUC_GO(LUC_ERR_MEMORY);
    turn_all(ctx, &j, false, g->x, rows);
  }
  j.rows = rows, j.dx_rows = dx_rows;
  luc__parallel_for(ctx, g->batch, 1, images_backward, &j);
  if (dx_rows) turn_all(ctx, &j, true, dx_rows, dx);
done:
  luc__free(ctx, rows, bytes);
  luc__free(ctx, dx_rows, bytes);
  return status;
}
