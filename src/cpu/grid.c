/* Grid sampling, blocks of places in parallel; backwards, images of the batch. A place has a few
 * taps along each dimension, with their weights and how these change; a value is the sum over all
 * their combinations. */
#include "cpu/grid.h"

#include <math.h>
#include <string.h>

enum { PIECE_WORK = 1 << 14 }; /* products per piece */

typedef struct job {
  const luc_grid *g;
  const double *dy;
  double *y, *dx, *dgrid;
} job;

/* Along one dimension. slope: by the grid's coordinate. at -1: outside, counts as 0. */
typedef struct axis {
  int taps;
  int64_t at[4];
  double weight[4], slope[4];
} axis;

/* ---- coordinates ---- */

/* x mirrored into [low, high] (both doubled); *turn becomes the derivative. */
static double mirror(double x, int64_t low2, int64_t high2, double *turn) {
  double low = (double)low2 / 2, span = (double)(high2 - low2) / 2;
  *turn = 0;
  if (low2 == high2) return 0;
  double sign = x < low ? -1 : 1, away = fabs(x - low), rest = fmod(away, span);
  bool back = fmod(floor(away / span), 2) != 0;
  *turn = back ? -sign : sign;
  return back ? span - rest + low : rest + low;
}

static double clip(double x, int64_t size, double *turn) {
  *turn = x > 0 && x < (double)(size - 1) ? 1 : 0;
  double low = x > 0 ? x : 0; /* NaN becomes 0 */
  return low < (double)(size - 1) ? low : (double)(size - 1);
}

/* A coordinate in elements, padding applied; *turn is its derivative before that. */
static double pad(const luc_grid *g, double x, int64_t size, double *turn) {
  double mirrored = 1, clipped = 1;
  if (g->padding == LUC_GRID_REFLECTION)
    x = g->align_corners ? mirror(x, 0, 2 * (size - 1), &mirrored)
                         : mirror(x, -1, 2 * size - 1, &mirrored);
  if (g->padding != LUC_GRID_ZEROS) x = clip(x, size, &clipped);
  *turn = mirrored * clipped;
  return x;
}

/* What no position reaches stays outside. */
static int64_t whole(double x, int64_t size) {
  return x > -2 && x < (double)size + 1 ? (int64_t)floor(x) : -100;
}

static int64_t inside(int64_t i, int64_t size) {
  return i >= 0 && i < size ? i : -1;
}

/* ---- taps ---- */

static double cubic_near(double x) { /* |x| < 1 */
  const double a = -0.75;
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
static double cubic_far(double x) { /* 1 to 2 */
  const double a = -0.75;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
static double cubic_near_slope(double x) {
  const double a = -0.75;
  return (3 * (a + 2) * x - 2 * (a + 3)) * x;
}
static double cubic_far_slope(double x) {
  const double a = -0.75;
  return (3 * a * x - 10 * a) * x + 8 * a;
}

/* Each tap is padded by itself. */
static void cubic_axis(const luc_grid *g, double x, int64_t size, double unit, axis *a) {
  double base = floor(x), t = x - base, turn;
  a->taps = 4;
  for (int k = 0; k < 4; k++) {
    double at = pad(g, base - 1 + k, size, &turn);
    a->at[k] = inside(whole(at, size), size);
  }
  a->weight[0] = cubic_far(t + 1), a->slope[0] = cubic_far_slope(t + 1) * unit;
  a->weight[1] = cubic_near(t), a->slope[1] = cubic_near_slope(t) * unit;
  a->weight[2] = cubic_near(1 - t), a->slope[2] = -cubic_near_slope(1 - t) * unit;
  a->weight[3] = cubic_far(2 - t), a->slope[3] = -cubic_far_slope(2 - t) * unit;
}

static void make_axis(const luc_grid *g, double c, int64_t size, axis *a) {
  double unit = (double)(g->align_corners ? size - 1 : size) / 2, turn;
  double x = g->align_corners ? (c + 1) * unit : ((c + 1) * (double)size - 1) / 2;
  if (g->mode == LUC_GRID_CUBIC) {
    cubic_axis(g, x, size, unit, a);
    return;
  }
  x = pad(g, x, size, &turn);
  if (g->mode == LUC_GRID_NEAREST) {
    *a = (axis){1, {inside(whole(nearbyint(x), size), size)}, {1}, {0}};
    return;
  }
  int64_t first = whole(x, size);
  double t = x - floor(x);
  *a = (axis){
      2, {inside(first, size), inside(first + 1, size)}, {1 - t, t}, {-unit * turn, unit * turn}};
}

/* The taps of one point: all combinations inside the image. */
enum { MAX_TAPS = 16, BLOCK = 64 };
typedef struct point {
  int n;
  int64_t at[MAX_TAPS]; /* flat positions in an image */
  double weight[MAX_TAPS];
} point;

/* slope (may be NULL): of each tap along each dimension of the image. */
static void make_point(const luc_grid *g, int64_t b, int64_t index, point *p, double (*slope)[3]) {
  const double *c = g->grid + (b * g->points + index) * g->dims;
  axis a[3] = {{1, {0}, {1}, {0}}};
  for (int d = 0; d < g->dims; d++) make_axis(g, c[d], g->size[2 - d], &a[2 - d]);
  p->n = 0;
  for (int i = 0; i < a[0].taps; i++)
    for (int j = 0; j < a[1].taps; j++)
      for (int k = 0; k < a[2].taps; k++) {
        if (a[0].at[i] < 0 || a[1].at[j] < 0 || a[2].at[k] < 0) continue;
        double u = a[0].weight[i], v = a[1].weight[j], w = a[2].weight[k];
        p->at[p->n] = (a[0].at[i] * g->size[1] + a[1].at[j]) * g->size[2] + a[2].at[k];
        p->weight[p->n] = u * v * w;
        if (slope) {
          slope[p->n][0] = a[0].slope[i] * v * w;
          slope[p->n][1] = u * a[1].slope[j] * w;
          slope[p->n][2] = u * v * a[2].slope[k];
        }
        p->n++;
      }
}

/* Points go in blocks, each through all channels. */
static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_grid *g = j->g;
  int64_t cells = g->size[0] * g->size[1] * g->size[2];
  int64_t blocks = (g->points + BLOCK - 1) / BLOCK;
  point points[BLOCK];
  for (int64_t i = begin; i < end; i++) {
    int64_t b = i / blocks, first = i % blocks * BLOCK;
    int64_t n = g->points - first < BLOCK ? g->points - first : BLOCK;
    for (int64_t q = 0; q < n; q++) make_point(g, b, first + q, &points[q], NULL);
    for (int64_t c = b * g->channels; c < (b + 1) * g->channels; c++) {
      const double *x = g->x + c * cells;
      double *y = j->y + c * g->points + first;
      for (int64_t q = 0; q < n; q++) {
        double sum = 0;
        for (int k = 0; k < points[q].n; k++) sum += x[points[q].at[k]] * points[q].weight[k];
        y[q] = sum;
      }
    }
  }
}

/* Adds to dx, and to sum[d] what the value changes along dimension d. */
static void spread(const point *p, const double (*slope)[3], const double *x, double dy, double *dx,
                   double *sum) {
  for (int k = 0; k < p->n; k++) {
    double change = dy * x[p->at[k]];
    dx[p->at[k]] += dy * p->weight[k];
    for (int d = 0; d < 3; d++) sum[d] += change * slope[k][d];
  }
}

static void backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_grid *g = j->g;
  int64_t cells = g->size[0] * g->size[1] * g->size[2];
  for (int64_t b = begin; b < end; b++) {
    memset(j->dx + b * g->channels * cells, 0, (size_t)(g->channels * cells) * sizeof(double));
    for (int64_t q = 0; q < g->points; q++) {
      point p;
      double slope[MAX_TAPS][3], sum[3] = {0, 0, 0};
      make_point(g, b, q, &p, slope);
      for (int64_t c = b * g->channels; c < (b + 1) * g->channels; c++)
        spread(&p, slope, g->x + c * cells, j->dy[c * g->points + q], j->dx + c * cells, sum);
      for (int d = 0; d < g->dims; d++) j->dgrid[(b * g->points + q) * g->dims + d] = sum[2 - d];
    }
  }
}

void luc__grid_sample(luc_context *ctx, const luc_grid *g, double *y) {
  job j = {.g = g, .y = y};
  int64_t blocks = (g->points + BLOCK - 1) / BLOCK;
  luc__parallel_for(ctx, g->batch * blocks, PIECE_WORK / (BLOCK * (g->channels + 8)) + 1, forward,
                    &j);
}

void luc__grid_sample_backward(luc_context *ctx, const luc_grid *g, const double *dy, double *dx,
                               double *dgrid) {
  job j = {.g = g, .dy = dy, .dx = dx, .dgrid = dgrid};
  luc__parallel_for(ctx, g->batch, 1, backward, &j);
}
