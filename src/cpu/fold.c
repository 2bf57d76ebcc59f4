/* Sliding blocks. A plane is one worker's, so that overlapping sums are always in one order. */
#include "cpu/fold.h"

#include <string.h>

enum { PIECE = 1 << 14 }; /* elements worth a thread */

typedef struct job {
  const luc_fold *f;
  const char *from;
  char *to;
  int64_t plane, columns; /* elements of one */
} job;

/* The places [*first, *last) along dimension d where kernel element k lies inside the plane. */
static void inside(const luc_fold *f, int d, int64_t k, int64_t *first, int64_t *last) {
  int64_t shift = k * f->dilation[d] - f->padding[d], s = f->stride[d];
  *first = shift >= 0 ? 0 : (-shift + s - 1) / s;
  *last = f->in[d] > shift ? (f->in[d] - shift + s - 1) / s : 0;
  if (*last > f->out[d]) *last = f->out[d];
  if (*first > *last) *first = *last;
}

static void copy_row_f32(const luc_fold *f, const void *from, void *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)from)[i * f->stride[1]];
}

static void copy_row_f64(const luc_fold *f, const void *from, void *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const double *)from)[i * f->stride[1]];
}

static void add_row_f32(const luc_fold *f, const void *from, void *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((float *)to)[i * f->stride[1]] += ((const float *)from)[i];
}

static void add_row_f64(const luc_fold *f, const void *from, void *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) ((double *)to)[i * f->stride[1]] += ((const double *)from)[i];
}

typedef void (*row_fn)(const luc_fold *f, const void *from, void *to, int64_t n);

/* Calls row for every kernel element and row of places; `folding` goes from columns to image. */
static void walk(const luc_fold *f, bool folding, const char *from, char *to, row_fn row) {
  const int64_t size = (int64_t)luc__dtype_size(f->dtype);
  for (int64_t tap = 0; tap < f->kernel[0] * f->kernel[1]; tap++) {
    int64_t i = tap / f->kernel[1], j = tap % f->kernel[1], top, bottom, left, right;
    inside(f, 0, i, &top, &bottom);
    inside(f, 1, j, &left, &right);
    int64_t x = left * f->stride[1] + j * f->dilation[1] - f->padding[1];
    for (int64_t r = top; r < bottom && left < right; r++) {
      int64_t y = r * f->stride[0] + i * f->dilation[0] - f->padding[0];
      int64_t pixel = (y * f->in[1] + x) * size;
      int64_t column = ((tap * f->out[0] + r) * f->out[1] + left) * size;
      row(f, from + (folding ? column : pixel), to + (folding ? pixel : column), right - left);
    }
  }
}

static void unfold_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t size = (int64_t)luc__dtype_size(j->f->dtype);
  row_fn row = j->f->dtype == LUC_FLOAT64 ? copy_row_f64 : copy_row_f32;
  for (int64_t p = begin; p < end; p++) {
    char *to = j->to + p * j->columns * size;
    memset(to, 0, (size_t)(j->columns * size));
    walk(j->f, false, j->from + p * j->plane * size, to, row);
  }
}

static void fold_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t size = (int64_t)luc__dtype_size(j->f->dtype);
  row_fn row = j->f->dtype == LUC_FLOAT64 ? add_row_f64 : add_row_f32;
  for (int64_t p = begin; p < end; p++) {
    char *to = j->to + p * j->plane * size;
    memset(to, 0, (size_t)(j->plane * size));
    walk(j->f, true, j->from + p * j->columns * size, to, row);
  }
}

static job make_job(const luc_fold *f, const void *from, void *to) {
  return (job){.f = f,
               .from = from,
               .to = to,
               .plane = f->in[0] * f->in[1],
               .columns = f->kernel[0] * f->kernel[1] * f->out[0] * f->out[1]};
}

void luc__unfold(luc_context *ctx, const luc_fold *f, const void *image, void *columns) {
  job j = make_job(f, image, columns);
  luc__parallel_for(ctx, f->planes, PIECE / (j.columns + 1) + 1, unfold_planes, &j);
}

void luc__fold(luc_context *ctx, const luc_fold *f, const void *columns, void *image) {
  job j = make_job(f, columns, image);
  luc__parallel_for(ctx, f->planes, PIECE / (j.columns + 1) + 1, fold_planes, &j);
}
