/* Discrete Fourier transforms of arrays: dimension after dimension, each in blocks of lines that
 * stay in the cache. Where the numbers of a line do not lie side by side they are turned into
 * scratch and back, so that all memory is read and written in runs. */
#include "cpu/fft.h"

#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/fft_lines.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "tensor/tensor.h"

/* Numbers of a block and of a piece of a parallel loop, and lines beside each other that make it
 * worth to turn them. */
enum { BLOCK = 1 << 12, PIECE = 1 << 11, BESIDE = 16 };

/* Where the numbers of lines are: number j of line c of the `columns` of group o is at element
 * o * group + c * column + j * step; step or column is 1. */
typedef struct side {
  char *data;
  size_t item; /* bytes of a number */
  int64_t n, step, column, group;
} side;

/* Lines [groups, columns] through one transform. */
typedef struct pass {
  const luc_kernels *kernels;
  luc_fft_lines lines;
  side from, to;
  int64_t columns, total; /* lines */
  double factor;
  bool straight_from, straight_to; /* a block is read, or written, as it lies */
  size_t from_bytes, to_bytes;     /* of scratch */
  const struct twist *twist;
} pass;

/* ---- between arrays and scratch ---- */

/* to [n, m] = from [m, n] turned, rows at these distances: numbers of two doubles. */
static void turn_large(int64_t m, int64_t n, const char *from, int64_t from_row, char *to,
                       int64_t to_row) {
  enum { ITEM = 2 * sizeof(double), SQUARE = 4 }; /* the side of what a cache line holds */
  for (int64_t j = 0; j < n; j += SQUARE) {
    const int64_t end = n - j < SQUARE ? n : j + SQUARE;
    for (int64_t i = 0; i < m; i++)
      for (int64_t k = j; k < end; k++)
        memcpy(to + (k * to_row + i) * ITEM, from + (i * from_row + k) * ITEM, ITEM);
  }
}

/* The same of numbers of `item` bytes. */
static void turn(const pass *p, size_t item, int64_t m, int64_t n, const char *from,
                 int64_t from_row, char *to, int64_t to_row) {
  const luc_gemm_kernels *g = p->kernels->gemm;
  if (item > sizeof(double))
    turn_large(m, n, from, from_row, to, to_row);
  else
    g[item == sizeof(double) ? LUC_FLOAT64 : LUC_FLOAT32].transpose(m, n, from, from_row, to,
                                                                    to_row);
}

/* Lines [first, first + count) between an array and their own place, one after another. */
static void move(const pass *p, const side *s, int64_t first, int64_t count, char *lines,
                 bool into) {
  for (int64_t i = 0, run; i < count; i += run, lines += (size_t)(run * s->n) * s->item) {
    const int64_t at = (first + i) % p->columns, left = p->columns - at;
    const int64_t offset = (first + i) / p->columns * s->group + at * s->column;
    char *array = s->data + (size_t)offset * s->item;
    run = left < count - i ? left : count - i;
    if (s->step != 1) {
      if (into)
        turn(p, s->item, s->n, run, array, s->step, lines, s->n);
      else
        turn(p, s->item, run, s->n, lines, s->n, array, s->step);
      continue;
    }
    if (s->column != s->n) run = 1;
    const size_t bytes = (size_t)(run * s->n) * s->item;
    memcpy(into ? lines : array, into ? array : lines, bytes);
  }
}

/* ---- one very long line as many: Bailey 1990 ---- */

/* A line of `rows` * `columns` numbers: after the transforms of its columns number k of column j is
 * turned by exp(-+ 2 pi i j k / n). Its factors are products of two of `coarse` [COARSE] and `fine`
 * [n / COARSE]. */
enum { FACTORS = 32 };

typedef struct twist {
  int64_t n, columns, part; /* numbers; columns; fine factors */
  const double *coarse, *fine;
} twist;

static void factor_at(const twist *t, int64_t i, double *re, double *im) {
  const double *a = t->coarse + 2 * (i / t->part), *b = t->fine + 2 * (i % t->part);
  *re = a[0] * b[0] - a[1] * b[1];
  *im = a[0] * b[1] + a[1] * b[0];
}

static void put_factor(const pass *p, const twist *t, int64_t i, char *to, int64_t at) {
  double re, im;
  factor_at(t, i % t->n, &re, &im);
  if (p->lines.single) {
    ((float *)to)[2 * at] = (float)re;
    ((float *)to)[2 * at + 1] = (float)im;
  } else {
    ((double *)to)[2 * at] = re;
    ((double *)to)[2 * at + 1] = im;
  }
}

/* Lines of the first pass, the columns, in scratch. `room` for 2 * FACTORS numbers and more. */
static void twist_lines(const pass *p, int64_t first, int64_t count, char *lines, char *room) {
  const twist *t = p->twist;
  const int64_t n = p->lines.n, highs = luc__cuts(n, FACTORS);
  char *high = room + FACTORS * p->to.item;
  for (int64_t i = 0; i < count; i++, lines += (size_t)n * p->to.item) {
    const int64_t j = (first + i) % t->columns;
    for (int64_t k = 0; k < FACTORS; k++) put_factor(p, t, j * k, room, k);
    for (int64_t k = 0; k < highs; k++) put_factor(p, t, j * k * FACTORS, high, k);
    p->kernels->fft[p->lines.single ? LUC_FLOAT32 : LUC_FLOAT64].turn(n, FACTORS, high, room,
                                                                      lines);
  }
}

/* ---- a pass ---- */

/* All of a block's lines are transformed, also those that a last, smaller one does not have. */
static void run_block(const pass *p, int64_t block, char *scratch) {
  const int64_t first = block * p->lines.count, left = p->total - first;
  const int64_t count = left < p->lines.count ? left : p->lines.count;
  const bool whole = count == p->lines.count;
  char *from = scratch, *to = from + p->from_bytes, *room = to + p->to_bytes;
  if (p->straight_from && whole)
    from = p->from.data + (size_t)(first * p->from.n) * p->from.item;
  else
    move(p, &p->from, first, count, from, true);
  char *array = p->to.data + (size_t)(first * p->to.n) * p->to.item;
  const bool straight = p->straight_to && whole;
  luc__fft_lines_run(p->kernels->fft, &p->lines, from, straight ? array : to, room, p->factor);
  if (p->twist) twist_lines(p, first, count, to, room);
  if (!straight) move(p, &p->to, first, count, to, false);
}

static void run_blocks(void *arg, void *scratch, int64_t begin, int64_t end) {
  const pass *p = arg;
  for (int64_t i = begin; i < end; i++) run_block(p, i, scratch);
}

static bool lies_straight(const side *s, int64_t count) {
  return s->step == 1 && s->column == s->n && (uintptr_t)s->data % 64 == 0 &&
         (size_t)(count * s->n) * s->item % 64 == 0;
}

/* Lines of a block: there should be 8 blocks. */
static int64_t choose_count(const pass *p, int64_t n) {
  const int64_t least = p->from.step == 1 && p->to.step == 1 ? 1 : n <= BLOCK ? BESIDE : 8;
  int64_t count = BLOCK / n < p->total / 8 ? BLOCK / n : p->total / 8;
  count = count / 8 * 8;
  if (count < least) count = least;
  return count < p->total ? count : p->total;
}

/* Bytes of a block's lines in scratch, whole cache lines; none where all are straight. */
static size_t block_bytes(const pass *p, const side *s, bool straight) {
  const int64_t count = p->lines.count;
  if (straight && p->total % count == 0) return 0;
  return ((size_t)(count * s->n) * s->item + 63) / 64 * 64;
}

static luc_status run_pass(luc_context *ctx, pass *p, luc_fft_kind kind, luc_dtype dtype,
                           int64_t n) {
  const int64_t count = choose_count(p, n), blocks = luc__cuts(p->total, count);
  p->kernels = luc__kernels(ctx);
  LUC_TRY(luc__fft_lines_take(ctx, kind, dtype, n, count, &p->lines));
  const bool apart = p->from.data != p->to.data;
  p->straight_from = apart && lies_straight(&p->from, count);
  p->straight_to = apart && !p->twist && lies_straight(&p->to, count);
  p->from_bytes = block_bytes(p, &p->from, p->straight_from);
  p->to_bytes = block_bytes(p, &p->to, p->straight_to);
  const size_t factors = p->twist ? (size_t)(n / FACTORS + 1 + FACTORS) * p->to.item : 0;
  const size_t bytes = p->from_bytes + p->to_bytes + luc__fft_lines_scratch(&p->lines) + factors;
  const int64_t grain = luc__cuts(PIECE, count * n);
  const luc_status status = luc__parallel_scratch(ctx, blocks, grain, bytes, run_blocks, p);
  luc__fft_lines_put(ctx, &p->lines);
  return status;
}

/* ---- long lines ---- */

/* Numbers of a line that is worth to be cut, where there are few of them. */
enum { LONG = 1 << 15 };

/* The largest factor of n up to its root, of those that make whole vectors; 0: none. */
static int64_t near_root(int64_t n) {
  for (int64_t rows = (int64_t)sqrt((double)n) / 16 * 16; rows >= 128; rows -= 16)
    if (n % rows == 0 && n / rows % 16 == 0) return rows;
  return 0;
}

static void fill_factors(double *to, int64_t count, int64_t step, int64_t n, double sign) {
  for (int64_t i = 0; i < count; i++) {
    const double angle = sign * 2 * 3.14159265358979323846 * (double)(i * step) / (double)n;
    to[2 * i] = cos(angle);
    to[2 * i + 1] = sin(angle);
  }
}

/* n = rows * columns: columns are transformed and turned, then rows, which become columns. */
static luc_status run_long(luc_context *ctx, luc_fft_kind kind, luc_dtype dtype, int64_t n,
                           int64_t rows, int64_t lines, double factor, const void *in, void *out) {
  const int64_t columns = n / rows;
  const size_t item = 2 * luc__dtype_size(dtype);
  const size_t bytes = luc__mul_size((size_t)(n * lines), item);
  const size_t factors = (size_t)(rows + columns) * 2 * sizeof(double);
  twist t = {.n = n, .columns = columns, .part = columns};
  char *between = luc__alloc(ctx, bytes);
  double *fine = between ? luc__alloc(ctx, factors) : NULL;
  luc_status status = fine ? LUC_OK : LUC_ERR_MEMORY;
  if (fine) {
    const double sign = kind == LUC_FFT_FORWARD ? -1 : 1;
    fill_factors(fine, columns, 1, n, sign);
    fill_factors(fine + 2 * columns, rows, columns, n, sign);
    t.fine = fine, t.coarse = fine + 2 * columns;
    pass p = {.from = {(char *)(uintptr_t)in, item, rows, columns, 1, n},
              .to = {between, item, rows, columns, 1, n},
              .columns = columns,
              .total = lines * columns,
              .factor = 1,
              .twist = &t};
    status = run_pass(ctx, &p, kind, dtype, rows);
  }
  if (status == LUC_OK) {
    pass p = {.from = {between, item, columns, 1, columns, n},
              .to = {out, item, columns, rows, 1, n},
              .columns = rows,
              .total = lines * rows,
              .factor = factor};
    status = run_pass(ctx, &p, kind, dtype, columns);
  }
  luc__free(ctx, fine, factors);
  luc__free(ctx, between, bytes);
  return status;
}

/* ---- dimensions ---- */

/* Along dimension d of t, whose numbers beside it are those of `sizes`. */
static luc_status along(luc_context *ctx, const luc_fft *t, luc_fft_kind kind, int d,
                        const int64_t *sizes, double factor, const void *in, void *out) {
  const int64_t n = t->sizes[d];
  const luc_fft_line line = luc__fft_line(kind, t->dtype, n);
  const int64_t outer = luc__product(d, sizes),
                inner = luc__product(t->ndim - d - 1, sizes + d + 1);
  const int64_t rows =
      kind <= LUC_FFT_INVERSE && inner == 1 && outer < BESIDE && n >= LONG ? near_root(n) : 0;
  if (rows) return run_long(ctx, kind, t->dtype, n, rows, outer, factor, in, out);
  const bool single = inner == 1; /* lines follow each other */
  pass p = {
      .from = {(char *)(uintptr_t)in, line.from_item, line.from, inner, single ? line.from : 1,
               inner * line.from},
      .to = {out, line.to_item, line.to, inner, single ? line.to : 1, inner * line.to},
      .columns = single ? outer : inner,
      .total = inner * outer,
      .factor = factor,
  };
  return run_pass(ctx, &p, kind, t->dtype, n);
}

/* The last of the dims first, into `out`, then the others there. `sizes` are those of out. */
static luc_status all_dims(luc_context *ctx, const luc_fft *t, luc_fft_kind kind,
                           const int64_t *sizes, const void *in, void *out) {
  for (int i = t->count - 1; i >= 0; i--) {
    const bool first = i == t->count - 1;
    LUC_TRY(along(ctx, t, first ? kind : LUC_FFT_FORWARD + (kind == LUC_FFT_INVERSE), t->dims[i],
                  sizes, i == 0 ? t->scale : 1, first ? in : out, out));
  }
  return LUC_OK;
}

/* ---- the frequencies that mirror others ---- */

typedef struct mirror_job {
  const luc_fft *t;
  const char *half;
  char *whole;
  int64_t outer, inner, n; /* of the last of the dims transformed, in the middle */
} mirror_job;

/* The number at the negative frequencies of number i of [..., 1, ...]: all but the last of the dims
 * transformed. */
static int64_t mirrored(const mirror_job *j, int64_t i) {
  const luc_fft *t = j->t;
  const int last = t->dims[t->count - 1];
  int64_t other = i, step = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (d == last) continue;
    const int64_t size = t->sizes[d], at = i / step % size;
    for (int k = 0; k < t->count - 1; k++)
      if (t->dims[k] == d && at > 0) other += (size - 2 * at) * step;
    step *= size;
  }
  return other;
}

/* One line of [outer, n, inner] from two of [outer, n / 2 + 1, inner]. */
static void mirror_line(const mirror_job *j, int64_t i) {
  const int64_t inner = j->inner, h = j->n / 2 + 1, other = mirrored(j, i);
  const size_t real = luc__dtype_size(j->t->dtype), item = 2 * real;
  const char *from = j->half + (size_t)(i / inner * h * inner + i % inner) * item;
  const char *back = j->half + (size_t)(other / inner * h * inner + other % inner) * item;
  char *to = j->whole + (size_t)(i / inner * j->n * inner + i % inner) * item;
  if (inner == 1) memcpy(to, from, (size_t)h * item);
  for (int64_t k = 0; inner != 1 && k < h; k++)
    memcpy(to + (size_t)(k * inner) * item, from + (size_t)(k * inner) * item, item);
  for (int64_t k = h; k < j->n; k++) {
    const char *there = back + (size_t)((j->n - k) * inner) * item;
    char *here = to + (size_t)(k * inner) * item;
    if (j->t->dtype == LUC_FLOAT32) {
      ((float *)here)[0] = ((const float *)there)[0];
      ((float *)here)[1] = -((const float *)there)[1];
    } else {
      ((double *)here)[0] = ((const double *)there)[0];
      ((double *)here)[1] = -((const double *)there)[1];
    }
  }
}

static void mirror_lines(void *arg, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) mirror_line(arg, i);
}

static luc_status run_whole(luc_context *ctx, const luc_fft *t, const int64_t *sizes,
                            const void *in, void *out) {
  const int last = t->dims[t->count - 1];
  size_t bytes = 2 * luc__dtype_size(t->dtype);
  mirror_job j = {.t = t, .whole = out, .n = t->sizes[last]};
  for (int d = 0; d < t->ndim; d++) bytes = luc__mul_size(bytes, (size_t)sizes[d]);
  j.outer = luc__product(last, sizes);
  j.inner = luc__product(t->ndim - last - 1, sizes + last + 1);
  char *half = luc__alloc(ctx, bytes);
  if (!half) return LUC_ERR_MEMORY;
  j.half = half;
  luc_status status = all_dims(ctx, t, LUC_FFT_REAL, sizes, in, half);
  if (status == LUC_OK)
    luc__parallel_for(ctx, j.outer * j.inner, PIECE / j.n + 1, mirror_lines, &j);
  luc__free(ctx, half, bytes);
  return status;
}

luc_status luc__fft(luc_context *ctx, const luc_fft *t, const void *in, void *out) {
  int64_t sizes[LUC_MAX_DIMS] = {0}, n = 1;
  for (int d = 0; d < t->ndim; d++) n *= sizes[d] = t->sizes[d];
  if (n == 0) return LUC_OK;
  if (t->count == 0) {
    memcpy(out, in, (size_t)n * 2 * luc__dtype_size(t->dtype));
    luc__kernels(ctx)->fft[t->dtype].scale(2 * n, t->scale, out);
    return LUC_OK;
  }
  const int last = t->dims[t->count - 1];
  if (t->kind == LUC_FFT_REAL || t->kind == LUC_FFT_WHOLE) sizes[last] = sizes[last] / 2 + 1;
  if (t->kind == LUC_FFT_WHOLE) return run_whole(ctx, t, sizes, in, out);
  return all_dims(ctx, t, t->kind, sizes, in, out);
}
