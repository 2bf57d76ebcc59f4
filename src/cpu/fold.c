/* Sliding blocks. A plane is one worker's, so that overlapping sums are always in one order. */
#include "cpu/fold.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"

enum { PIECE = 1 << 14, FEW = 16 };     /* elements worth a thread, a call */
enum { FAR = 1 << 23, NEAR = 1 << 15 }; /* bytes of columns: out of most caches, in any */

typedef struct job {
  const luc_fold *f;
  bool folding; /* from columns to the image, whose sums are made; else the other way, a copy */
  const char *from;
  char *to;
  int64_t plane, columns, size; /* elements of one; bytes of an element */
  luc_move_fn move;
} job;

/* The places [*first, *last) along dimension d where kernel element k lies inside the plane. */
static void inside(const luc_fold *f, int d, int64_t k, int64_t *first, int64_t *last) {
  int64_t shift = k * f->dilation[d] - f->padding[d], s = f->stride[d];
  *first = shift >= 0 ? 0 : (-shift + s - 1) / s;
  *last = f->in[d] > shift ? (f->in[d] - shift + s - 1) / s : 0;
  if (*last > f->out[d]) *last = f->out[d];
  if (*first > *last) *first = *last;
}

/* The columns' elements lie side by side, the image's a stride apart. Few are not worth a call. */
static inline void take_row(const job *j, const char *from, char *to, int64_t n) {
  const int64_t step = j->f->stride[1];
  if (!j->folding && j->size == 4 && n < FEW)
    for (int64_t i = 0; i < n; i++) memcpy(to + i * 4, from + i * step * 4, 4);
  else if (!j->folding)
    j->move(to, j->size, from, step * j->size, n);
  else if (j->f->dtype == LUC_FLOAT64)
    for (int64_t i = 0; i < n; i++) ((double *)to)[i * step] += ((const double *)from)[i];
  else
    for (int64_t i = 0; i < n; i++) ((float *)to)[i * step] += ((const float *)from)[i];
}

/* Every kernel element, plane and row of places. Inlined it would take longer. */
static __attribute__((noinline)) void planes(const void *arg, int64_t begin, int64_t end) {
  const job own = *(const job *)arg, *j = &own; /* which what is written cannot change */
  const luc_fold f = *j->f;
  const int64_t plane = j->plane * j->size, columns = j->columns * j->size;
  const int64_t read = j->folding ? columns : plane, written = j->folding ? plane : columns;
  memset(j->to + begin * written, 0, (size_t)((end - begin) * written));
  for (int64_t tap = 0; tap < f.kernel[0] * f.kernel[1]; tap++) {
    int64_t i = tap / f.kernel[1], k = tap % f.kernel[1], top, bottom, left, right;
    inside(&f, 0, i, &top, &bottom);
    inside(&f, 1, k, &left, &right);
    if (left >= right) continue;
    const int64_t x = left * f.stride[1] + k * f.dilation[1] - f.padding[1];
    const int64_t y = top * f.stride[0] + i * f.dilation[0] - f.padding[0];
    const int64_t pixel = (y * f.in[1] + x) * j->size, down = f.stride[0] * f.in[1] * j->size;
    const int64_t column = ((tap * f.out[0] + top) * f.out[1] + left) * j->size;
    const int64_t below = f.out[1] * j->size;
    for (int64_t p = begin; p < end; p++) {
      const char *from = j->from + p * read + (j->folding ? column : pixel);
      char *to = j->to + p * written + (j->folding ? pixel : column);
      for (int64_t r = top; r < bottom; r++) {
        take_row(j, from, to, right - left);
        from += j->folding ? below : down;
        to += j->folding ? down : below;
      }
    }
  }
}

/* Columns read from memory go by as few planes as are fetched together. */
static void piece(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t bytes = j->columns * j->size;
  const bool far = j->folding && j->f->planes * bytes >= FAR;
  const int64_t most = far ? NEAR / bytes + 1 : end - begin;
  for (int64_t i = begin; i < end; i += most) planes(j, i, luc__min64(i + most, end));
}

static void run(luc_context *ctx, const luc_fold *f, bool folding, const void *from, void *to) {
  job j = {.f = f, .folding = folding, .from = from, .to = to};
  j.plane = f->in[0] * f->in[1];
  j.columns = f->kernel[0] * f->kernel[1] * f->out[0] * f->out[1];
  j.size = (int64_t)luc__dtype_size(f->dtype);
  j.move = luc__kernels(ctx)->copy->move[luc__log2(j.size)];
  luc__parallel_for(ctx, f->planes, PIECE / (j.columns + 1) + 1, piece, &j);
}

void luc__unfold(luc_context *ctx, const luc_fold *f, const void *image, void *columns) {
  run(ctx, f, false, image, columns);
}

void luc__fold(luc_context *ctx, const luc_fold *f, const void *columns, void *image) {
  run(ctx, f, true, columns, image);
}
