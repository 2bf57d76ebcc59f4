/* Grid sampling, images of the batch in parallel. A place has a few taps along each dimension, with
 * their weights and how these change; a value is the sum over all their combinations. */
#include "cpu/grid.h"

#include <math.h>
#include <string.h>

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

/* Of one point; axes in the order of the image's dimensions. */
static void make_axes(const luc_grid *g, int64_t b, int64_t point, axis *axes) {
  const double *c = g->grid + (b * g->points + point) * g->dims;
  axes[0] = (axis){1, {0}, {1}, {0}};
  for (int d = 0; d < g->dims; d++) make_axis(g, c[d], g->size[2 - d], &axes[2 - d]);
}

/* ---- sums over taps ---- */

static double sample(const luc_grid *g, const double *x, const axis *a) {
  double sum = 0;
  for (int i = 0; i < a[0].taps; i++)
    for (int j = 0; j < a[1].taps; j++)
      for (int k = 0; k < a[2].taps; k++) {
        if (a[0].at[i] < 0 || a[1].at[j] < 0 || a[2].at[k] < 0) continue;
        double v = x[(a[0].at[i] * g->size[1] + a[1].at[j]) * g->size[2] + a[2].at[k]];
        sum += v * a[0].weight[i] * a[1].weight[j] * a[2].weight[k];
      }
  return sum;
}

/* Adds to dx, and to slope[d] what the value changes along dimension d. */
static void spread(const luc_grid *g, const double *x, double dy, const axis *a, double *dx,
                   double *slope) {
  for (int i = 0; i < a[0].taps; i++)
    for (int j = 0; j < a[1].taps; j++)
      for (int k = 0; k < a[2].taps; k++) {
        if (a[0].at[i] < 0 || a[1].at[j] < 0 || a[2].at[k] < 0) continue;
        int64_t at = (a[0].at[i] * g->size[1] + a[1].at[j]) * g->size[2] + a[2].at[k];
        double u = a[0].weight[i], v = a[1].weight[j], w = a[2].weight[k];
        dx[at] += dy * u * v * w;
        slope[0] += dy * x[at] * a[0].slope[i] * v * w;
        slope[1] += dy * x[at] * u * a[1].slope[j] * w;
        slope[2] += dy * x[at] * u * v * a[2].slope[k];
      }
}

static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_grid *g = j->g;
  int64_t cells = g->size[0] * g->size[1] * g->size[2];
  for (int64_t b = begin; b < end; b++)
    for (int64_t p = 0; p < g->points; p++) {
      axis axes[3];
      make_axes(g, b, p, axes);
      for (int64_t c = b * g->channels; c < (b + 1) * g->channels; c++)
        j->y[c * g->points + p] = sample(g, g->x + c * cells, axes);
    }
}

static void backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_grid *g = j->g;
  int64_t cells = g->size[0] * g->size[1] * g->size[2];
  for (int64_t b = begin; b < end; b++) {
    memset(j->dx + b * g->channels * cells, 0, (size_t)(g->channels * cells) * sizeof(double));
    for (int64_t p = 0; p < g->points; p++) {
      axis axes[3];
      double slope[3] = {0, 0, 0};
      make_axes(g, b, p, axes);
      for (int64_t c = b * g->channels; c < (b + 1) * g->channels; c++)
        spread(g, g->x + c * cells, j->dy[c * g->points + p], axes, j->dx + c * cells, slope);
      for (int d = 0; d < g->dims; d++) j->dgrid[(b * g->points + p) * g->dims + d] = slope[2 - d];
    }
  }
}

void luc__grid_sample(luc_context *ctx, const luc_grid *g, double *y) {
  job j = {.g = g, .y = y};
  luc__parallel_for(ctx, g->batch, 1, forward, &j);
}

void luc__grid_sample_backward(luc_context *ctx, const luc_grid *g, const double *dy, double *dx,
                               double *dgrid) {
  job j = {.g = g, .dy = dy, .dx = dx, .dgrid = dgrid};
  luc__parallel_for(ctx, g->batch, 1, backward, &j);
}
