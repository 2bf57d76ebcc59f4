/* Tables of windows, and pooling by them, planes in parallel. Plain loops, which the compiler turns
 * into vectors: few networks spend their time here. Of planes side by side, which tiny ones are
 * turned into, each is a lane. */
#include "cpu/windows.h"

#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/pool2d_kernels.h"
#include "cpu/scratch.h"
#include "tensor/tensor.h"

enum { PIECE_WORK = 1 << 12 }; /* elements met per piece */

/* ---- tables ---- */

static luc_status new_tables(luc_context *ctx, luc_windows *w) {
  int64_t n = w->out[0] + w->out[1] + w->out[2], copies = w->own ? w->planes : 1;
  w->bytes = luc__mul_size(luc__mul_size((size_t)(3 * n), (size_t)copies), sizeof *w->table);
  w->table = luc__alloc(ctx, w->bytes + !w->bytes);
  if (!w->table) return LUC_ERR_MEMORY;
  int64_t *at = w->table;
  for (int d = 0; d < 3; d++) {
    int64_t **parts[] = {&w->begin[d], &w->end[d], &w->counted[d]};
    for (int i = 0; i < 3; i++, at += w->out[d] * copies) *parts[i] = at;
  }
  return LUC_OK;
}

void luc__windows_free(luc_context *ctx, luc_windows *w) {
  luc__free(ctx, w->table, w->bytes + !w->bytes);
  w->table = NULL;
}

luc_status luc__windows_sliding(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                const int64_t *stride, const int64_t *padding,
                                const int64_t *dilation, bool include_pad) {
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = dilation[d];
    for (int64_t o = 0; o < w->out[d]; o++) {
      int64_t begin = o * stride[d] - padding[d], end = begin + (kernel[d] - 1) * dilation[d] + 1;
      int64_t padded = w->in[d] + padding[d], whole = (end < padded ? end : padded) - begin;
      while (begin < 0) begin += dilation[d];
      if (end > w->in[d]) end = w->in[d];
      w->begin[d][o] = begin < w->in[d] ? begin : w->in[d] - 1; /* all in padding: empty */
      w->end[d][o] = begin < end ? end : w->begin[d][o];
      w->counted[d][o] = include_pad ? whole : w->end[d][o] - w->begin[d][o];
    }
  }
  return LUC_OK;
}

luc_status luc__windows_adaptive(luc_context *ctx, luc_windows *w) {
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = 1;
    for (int64_t o = 0; o < w->out[d]; o++) {
      w->begin[d][o] = o * w->in[d] / w->out[d];
      w->end[d][o] = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
      w->counted[d][o] = w->end[d][o] - w->begin[d][o];
    }
  }
  return LUC_OK;
}

/* Where window o begins, in the arithmetic of the dtype as in PyTorch. A sample can be anything:
 * windows stay inside. */
static int64_t fractional_begin(luc_dtype dtype, double sample, int64_t o, int64_t room,
                                int64_t out) {
  if (o == out - 1) return room;
  if (!(sample >= 0)) sample = 0;
  if (sample > 1) sample = 1;
  if (dtype == LUC_FLOAT64) {
    double by = (double)room / (double)(out - 1);
    return (int64_t)(((double)o + sample) * by) - (int64_t)(sample * by);
  }
  float by = (float)room / (float)(out - 1), u = (float)sample;
  return (int64_t)(((float)o + u) * by) - (int64_t)(u * by);
}

luc_status luc__windows_fractional(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                   const double *samples) {
  w->own = true;
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = 1;
    for (int64_t plane = 0, to = 0; plane < w->planes; plane++)
      for (int64_t o = 0; o < w->out[d]; o++, to++) {
        w->begin[d][to] =
            fractional_begin(w->dtype, samples[plane * 3 + d], o, w->in[d] - kernel[d], w->out[d]);
        w->end[d][to] = w->begin[d][to] + kernel[d];
      }
  }
  return LUC_OK;
}

/* ---- pooling: the rows of a line of windows are joined column by column, in vectors, then the
 * columns of each window ---- */

enum { COLUMNS = 512, STARTS = 64 }; /* joined at once; rows whose starts are listed */

/* What a line of windows has in common: rows, and where the columns are listed. */
typedef struct line {
  int64_t first, rows, layers, high, deep_step, high_step, counted;
  const int64_t *begin, *end, *counts;
  int64_t starts[STARTS];
} line;

typedef struct job {
  const luc_windows *w;
  const void *x;
  void *to;
  int64_t *indices;
  const luc_pool2d_kernels *kernels;
  void (*sum)(void *, void *, const void *, int64_t, int64_t); /* of a run, see luc_rd_kernel */
  /* For each line of windows: its plane begins at element `plane` of the input, its results (or,
   * on the way back, their gradient) at element `first`. */
  void (*line)(const struct job *j, const line *l, int64_t plane, int64_t first);
  size_t cleared; /* the bytes of a plane that lines add to; 0: they write */
  /* Of planes side by side: */
  const luc_copy_kernels *copy;
  int64_t size; /* bytes of an element */
  bool average;
} job;

/* How many elements of dimension d window o has. */
static int64_t elements_of(const luc_windows *w, int d, int64_t o) {
  const int64_t span = w->end[d][o] - w->begin[d][o];
  return w->step[d] == 1 ? span : luc__cuts(span, w->step[d]);
}

static void find_line(const luc_windows *w, int64_t plane, int64_t deep, int64_t high, line *l) {
  const int64_t wide = w->own ? plane * w->out[2] : 0;
  if (w->own) deep += plane * w->out[0], high += plane * w->out[1];
  l->first = (w->begin[0][deep] * w->in[1] + w->begin[1][high]) * w->in[2];
  l->layers = elements_of(w, 0, deep);
  l->high = elements_of(w, 1, high);
  l->rows = l->layers * l->high;
  l->deep_step = w->step[0] * w->in[1] * w->in[2];
  l->high_step = w->step[1] * w->in[2];
  l->counted = w->own ? 0 : w->counted[0][deep] * w->counted[1][high];
  l->begin = w->begin[2] + wide, l->end = w->end[2] + wide, l->counts = w->counted[2] + wide;
  int64_t n = 0;
  for (int64_t d = 0; d < l->layers && n < STARTS; d++)
    for (int64_t h = 0; h < l->high && n < STARTS; h++)
      l->starts[n++] = l->first + d * l->deep_step + h * l->high_step;
}

/* The first element of row r. */
static int64_t row_at(const line *l, int64_t r) {
  if (r < STARTS) return l->starts[r];
  return l->first + r / l->high * l->deep_step + r % l->high * l->high_step;
}

/* How many windows from o on fit into COLUMNS (or the first alone, if it does not), and the columns
 * they have. Where windows begin need not ascend. */
static int64_t fitting(const luc_windows *w, const line *l, int64_t o, int64_t *low,
                       int64_t *high) {
  int64_t n = 1;
  *low = l->begin[o], *high = l->end[o];
  for (; o + n < w->out[2]; n++) {
    const int64_t begin = luc__min64(l->begin[o + n], *low), end = luc__max64(l->end[o + n], *high);
    if (end - begin > COLUMNS) break;
    *low = begin, *high = end;
  }
  return n;
}

static int64_t divisor_of(const luc_windows *w, const line *l, int64_t o) {
  const int64_t n = w->divisor ? w->divisor : l->counted * l->counts[o];
  return n ? n : 1; /* an empty window's sum is 0 */
}

#define T      float
#define TI     int32_t
#define FN(id) id##_f32
#include "cpu/windows.inc"
#undef T
#undef TI
#undef FN

#define T      double
#define TI     int64_t
#define FN(id) id##_f64
#include "cpu/windows.inc"
#undef T
#undef TI
#undef FN

static void planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_windows *w = j->w;
  const int64_t in = luc__product(3, w->in);
  int64_t first = begin * luc__product(3, w->out);
  line l;
  for (int64_t i = begin; i < end; i++) {
    memset((char *)j->to + (size_t)i * j->cleared, 0, j->cleared);
    for (int64_t deep = 0; deep < w->out[0]; deep++)
      for (int64_t high = 0; high < w->out[1]; high++, first += w->out[2]) {
        find_line(w, i, deep, high, &l);
        j->line(j, &l, i * in, first);
      }
  }
}

/* ---- planes side by side ---- */

/* Planes turned together, twice as many where they have FEW elements. Lines of wider rows than
 * NARROW, and of larger windows than WINDOW, or three of them in planes of NEAR bytes, are joined
 * sooner, unless planes are SMALL. */
enum { BLOCK = 16, FEW = 64, SMALL = 196, LARGE = 4096, NARROW = 32, WINDOW = 32, NEAR = 8192 };

/* All windows of some planes x with results y, or on the way back x's gradient of y's; places may
 * be NULL. */
static void pool_beside(const job *j, char *x, int64_t side, char *y, int64_t *places) {
  const luc_windows *w = j->w;
  line l;
  for (int64_t k = 0; k < w->out[0] * w->out[1]; k++) {
    find_line(w, 0, k / w->out[1], k % w->out[1], &l);
    luc_pool_box b = {.rows = l.high, .layers = l.layers};
    b.layer_step = l.deep_step, b.row_step = l.high_step, b.column_step = w->step[2];
    for (int64_t o = 0; o < w->out[2]; o++) {
      b.first = l.first + l.begin[o];
      b.columns = luc__cuts(l.end[o] - l.begin[o], w->step[2]);
      if (j->cleared)
        j->kernels->share_beside(&b, y, side, (double)divisor_of(w, &l, o), x);
      else if (j->average)
        j->kernels->avg_beside(&b, x, side, (double)divisor_of(w, &l, o), y);
      else
        j->kernels->max_beside(&b, x, side, y, places);
      y += side * j->size;
      if (places) places += side;
    }
  }
}

static void images(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t side = j->w->side;
  const int64_t in = luc__product(3, j->w->in) * side, out = luc__product(3, j->w->out) * side;
  char *read = (char *)(uintptr_t)j->x, *whole = j->cleared ? j->to : read;
  char *pooled = j->cleared ? read : j->to;
  for (int64_t i = begin; i < end; i++) {
    char *x = whole + i * in * j->size;
    memset(x, 0, (size_t)side * j->cleared);
    pool_beside(j, x, side, pooled + i * out * j->size, j->indices ? j->indices + i * out : NULL);
  }
}

static int64_t block_of(int64_t in, int64_t out) {
  return luc__max64(in, out) <= FEW ? 2 * BLOCK : BLOCK;
}

/* Blocks of planes, turned there and back; the last one has zeros beside, up to whole vectors. */
static void turned_planes(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const bool back = j->cleared > 0;
  const int64_t in = luc__product(3, j->w->in), out = luc__product(3, j->w->out), size = j->size;
  const int64_t read = back ? out : in, written = back ? in : out, block = block_of(in, out);
  const luc_transpose_fn turn = j->copy->transpose[luc__log2(size)];
  char *x = scratch, *y = x + in * block * size;
  int64_t *places = (int64_t *)(void *)(y + out * block * size);
  for (int64_t i = begin * block; i < end * block && i < j->w->planes; i += block) {
    const int64_t n = luc__min64(j->w->planes - i, block), side = luc__whole(n, j->kernels->lanes);
    char *from = back ? y : x, *to = back ? x : y;
    if (side > n) memset(from, 0, (size_t)(read * side * size));
    turn(from, side * size, (const char *)j->x + i * read * size, read * size, read, n, false);
    memset(x, 0, (size_t)side * j->cleared);
    pool_beside(j, x, side, y, j->indices ? places : NULL);
    turn((char *)j->to + i * written * size, written * size, to, side * size, n, written, false);
    if (j->indices)
      j->copy->transpose[3]((char *)(j->indices + i * out), out * 8, (const char *)places, side * 8,
                            n, out, false);
  }
}

/* One block of large planes is for one thread, so it should be little. Short vectors gain less. */
bool luc__windows_turn(luc_context *ctx, const luc_planes *p, int64_t narrow) {
  const int64_t most = luc__max64(p->in, p->out), lanes = luc__kernels(ctx)->pool2d[p->dtype].lanes;
  if (most <= FEW || (most <= SMALL && p->columns <= BLOCK)) return p->planes >= BLOCK;
  const int64_t size = (int64_t)luc__dtype_size(p->dtype);
  const bool brief = lanes * size < 32;
  const int64_t window = brief ? WINDOW / 3 : most * size <= NEAR ? WINDOW * 3 : WINDOW;
  return p->planes >= (brief ? 2 * BLOCK : luc__max64(lanes, BLOCK / 2)) && most <= LARGE &&
         p->window <= window && (p->planes > BLOCK || p->planes * most <= 8 * PIECE_WORK) &&
         p->columns <= luc__min64((brief ? 2 : 8) * lanes, narrow);
}

static luc_status run_turned(luc_context *ctx, job *j, int64_t in, int64_t out) {
  const int64_t block = block_of(in, out), work = luc__max64(in, out) * block;
  const int64_t each = (in + out) * j->size + (j->indices ? out * (int64_t)sizeof(int64_t) : 0);
  return luc__parallel_scratch(ctx, luc__cuts(j->w->planes, block), PIECE_WORK / (work + 1) + 1,
                               (size_t)(each * block), turned_planes, j);
}

/* Planes side by side, if they do or may lie so; else one by one. */
static luc_status run(luc_context *ctx, job *j) {
  const luc_windows *w = j->w;
  const int64_t together = luc__max64(w->side, 1);
  luc_planes p = {.dtype = w->dtype, .planes = w->planes, .columns = w->in[2], .window = 1};
  p.in = luc__product(3, w->in), p.out = luc__product(3, w->out);
  for (int d = 0; d < 3; d++) p.window *= w->out[d] > 0 ? elements_of(w, d, w->out[d] / 2) : 0;
  if (j->cleared) p.columns = 1; /* shares of any are sooner added so */
  j->kernels = &luc__kernels(ctx)->pool2d[w->dtype];
  j->copy = luc__kernels(ctx)->copy;
  j->size = (int64_t)luc__dtype_size(w->dtype);
  if (!w->own && !w->side && luc__windows_turn(ctx, &p, NARROW))
    return run_turned(ctx, j, p.in, p.out);
  luc__parallel_for(ctx, w->planes / together,
                    PIECE_WORK / (luc__max64(p.in, p.out) * together + 1) + 1,
                    w->side ? images : planes, j);
  return LUC_OK;
}

luc_status luc__windows_max(luc_context *ctx, const luc_windows *w, const void *x, void *y,
                            int64_t *indices) {
  const bool wide = w->dtype == LUC_FLOAT64;
  job j = {.w = w, .x = x, .to = y, .indices = indices, .line = wide ? max_f64 : max_f32};
  LUC_CHECK(ctx, w->in[0] <= INT32_MAX / w->in[1], LUC_ERR_SUPPORT,
            "max_pool: planes have more than 2^31 rows");
  return run(ctx, &j);
}

luc_status luc__windows_avg(luc_context *ctx, const luc_windows *w, const void *x, void *y) {
  job j = {.w = w, .x = x, .to = y, .line = w->dtype == LUC_FLOAT64 ? avg_f64 : avg_f32};
  j.sum = luc__kernels(ctx)->reduce[LUC_RD_sum][luc__compute(w->dtype)].run;
  j.average = true;
  return run(ctx, &j);
}

luc_status luc__windows_avg_backward(luc_context *ctx, const luc_windows *w, const void *dy,
                                     void *dx) {
  job j = {.w = w, .x = dy, .to = dx, .line = w->dtype == LUC_FLOAT64 ? share_f64 : share_f32};
  j.cleared = (size_t)luc__product(3, w->in) * luc__dtype_size(w->dtype);
  return run(ctx, &j);
}
