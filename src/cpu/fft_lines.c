/* Lines transformed by FFTW. Its planner keeps state for the whole process, so the part of it that
 * takes locks is loaded, and is told to. Planning takes microseconds, which only short transforms
 * notice: their last few plans are kept in the context, with tables of factors. */
#include "cpu/fft_lines.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cpu/library.h"
#include "cpu/number.h"

/* ---- FFTW ---- */

/* What the functions used look like: FFTW's manual, "Guru Interface". */
typedef struct dimension {
  ptrdiff_t n, in, out; /* strides in elements */
} dimension;
enum { ESTIMATE = 1 << 6, PRESERVE_INPUT = 1 << 4 };
typedef void *(*plan_complex_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                                 void *in, void *out, int sign, unsigned flags);
typedef void *(*plan_real_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                              void *in, void *out, unsigned flags);

typedef struct fftw {
  void (*thread_safe)(void);
  void (*destroy)(void *plan);
  plan_complex_fn plan_complex;
  plan_real_fn plan_real, plan_back;
  luc_fftw_execute execute, execute_real, execute_back;
} fftw;

/* Kept are lines of up to so many points: FFTW's memory for them is little, and not counted. */
enum { KEPT = 16, SHORT = 4096 };

/* What hangs off a context. */
typedef struct state {
  fftw libraries[2];        /* of doubles, of floats; without functions until needed */
  luc_fft_lines kept[KEPT]; /* without a plan: empty */
  int next;                 /* to be replaced */
} state;

static void destroy(luc_context *ctx, luc_fft_lines *l) {
  const fftw *f = &((state *)ctx->fft)->libraries[l->single];
  if (l->plan) f->destroy(l->plan);
  luc__free(ctx, l->filter, l->table_bytes);
  memset(l, 0, sizeof *l);
}

static void close_state(luc_context *ctx) {
  state *st = ctx->fft;
  if (!st) return;
  for (int i = 0; i < KEPT; i++) destroy(ctx, &st->kept[i]);
  ctx->fft = NULL;
  luc__free(ctx, st, sizeof *st);
}

static luc_status load(luc_context *ctx, bool single, fftw *f) {
  static const char *const stems[] = {
      "make_planner_thread_safe", "destroy_plan", "plan_guru64_dft", "plan_guru64_dft_r2c",
      "plan_guru64_dft_c2r",      "execute_dft",  "execute_dft_r2c", "execute_dft_c2r"};
  fftw found = {0};
  void *library,
      *to[] = {&found.thread_safe, &found.destroy, &found.plan_complex, &found.plan_real,
               &found.plan_back,   &found.execute, &found.execute_real, &found.execute_back};
  LUC_TRY(luc__library_open(ctx, "FFTW",
                            single ? "libfftw3f_threads.so.3" : "libfftw3_threads.so.3",
                            single ? "libfftw3-single3" : "libfftw3-double3", &library));
  for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
    char name[48];
    snprintf(name, sizeof name, "fftw%s_%s", single ? "f" : "", stems[i]);
    LUC_CHECK(ctx, luc__library_find(library, name, to[i]), LUC_ERR_SUPPORT,
              "this FFTW is older than 3.3.5");
  }
  found.thread_safe();
  *f = found;
  return LUC_OK;
}

/* The context's state with the library of a precision. */
static luc_status need(luc_context *ctx, bool single, state **out) {
  state *st = ctx->fft;
  if (!st) {
    st = luc__alloc_zero(ctx, sizeof *st);
    if (!st) return LUC_ERR_MEMORY;
    luc_status status = luc__context_on_close(ctx, close_state);
    if (status != LUC_OK) {
      luc__free(ctx, st, sizeof *st);
      return status;
    }
    ctx->fft = st;
  }
  *out = st;
  return st->libraries[single].destroy ? LUC_OK : load(ctx, single, &st->libraries[single]);
}

/* ---- how a line is transformed ---- */

static size_t complex_size(const luc_fft_lines *l) {
  return 2 * (l->single ? sizeof(float) : sizeof(double));
}

static bool takes_real(int kind) {
  return kind == LUC_FFT_REAL || kind == LUC_FFT_BACK;
}

/* Real numbers are transformed as half as many complex ones, unless they are odd or many. */
static bool is_halved(const luc_fft_lines *l) {
  return takes_real(l->kind) && l->n % 2 == 0 && l->n <= 2 * SHORT;
}

/* An odd number of them as complex ones: FFTW is quick at few of these only. */
static bool is_widened(const luc_fft_lines *l) {
  return takes_real(l->kind) && l->n % 2 && l->n > 13 && l->n <= SHORT;
}

/* Are complex numbers transformed? */
static bool is_complex(const luc_fft_lines *l) {
  return !takes_real(l->kind) || is_halved(l) || is_widened(l);
}

/* Factors of n from 17 on (in short lines, 29) take FFTW longer than two transforms of a power of 2
 * twice as large. */
static bool has_large_factor(int64_t n) {
  const int64_t most = n < 48 ? 23 : 13;
  for (int64_t f = 2; f <= most; f++)
    while (n % f == 0) n /= f;
  return n > 1;
}

luc_fft_line luc__fft_line(luc_fft_kind kind, luc_dtype dtype, int64_t n) {
  const size_t real = luc__dtype_size(dtype);
  luc_fft_line line = {n, n, 2 * real, 2 * real};
  if (kind == LUC_FFT_REAL) line.from_item = real, line.to = n / 2 + 1;
  if (kind == LUC_FFT_BACK) line.to_item = real, line.from = n / 2 + 1;
  return line;
}

/* FFTW ends the process when malloc fails in it, so what it may take is asked for beforehand,
 * within the context's limit and from the system. Measured over lengths of all kinds (primes take
 * most) it is up to 11 complex numbers per point, of which each thread takes 2 anew, and to plan
 * 1 MB of tables. */
static luc_status reserve(luc_context *ctx, const luc_fft_lines *l, size_t tables) {
  const size_t threads = (size_t)luc_get_num_threads(ctx);
  const int64_t points = l->padded ? l->padded : l->length;
  size_t wanted = luc__mul_size((size_t)points, (16 + 2 * threads) * complex_size(l));
  if (wanted < SIZE_MAX - tables) wanted += tables;
  void *block = luc__alloc(ctx, wanted);
  if (!block) return LUC_ERR_MEMORY;
  luc__heap_free(ctx->heap, block, wanted); /* past the cache, which would keep it */
  return LUC_OK;
}

/* No flag has FFTW write to the arrays now, or to `from` ever. */
static void *make_plan(const fftw *f, const luc_fft_lines *l, void *from, void *to) {
  const unsigned flags = ESTIMATE | PRESERVE_INPUT;
  const luc_fft_line line = luc__fft_line((luc_fft_kind)l->kind, LUC_FLOAT32, l->n);
  const int64_t n = l->padded ? l->padded : l->length;
  const dimension along = {(ptrdiff_t)n, 1, 1};
  dimension loop = {(ptrdiff_t)l->count, (ptrdiff_t)n, (ptrdiff_t)n};
  if (l->padded) return f->plan_complex(1, &along, 0, NULL, from, to, -1, flags);
  if (is_complex(l)) {
    const bool forward = l->kind == LUC_FFT_FORWARD || l->kind == LUC_FFT_REAL;
    return f->plan_complex(1, &along, 1, &loop, from, to, forward ? -1 : 1, flags);
  }
  loop.in = (ptrdiff_t)line.from, loop.out = (ptrdiff_t)line.to;
  return (l->kind == LUC_FFT_REAL ? f->plan_real : f->plan_back)(1, &along, 1, &loop, from, to,
                                                                 flags);
}

/* The arrays are only looked at: where they begin, and that there are two. */
static luc_status plan(luc_context *ctx, const fftw *f, luc_fft_lines *l) {
  const int64_t points = (l->padded ? l->padded : l->length * l->count) + l->count;
  const size_t half = luc__mul_size((size_t)points, complex_size(l)) / 64 * 64 + 64;
  const size_t bytes = luc__mul_size(half, 2);
  LUC_TRY(reserve(ctx, l, 2 << 20));
  char *arrays = luc__alloc(ctx, bytes);
  if (!arrays) return LUC_ERR_MEMORY;
  l->plan = make_plan(f, l, arrays, arrays + half);
  luc__free(ctx, arrays, bytes);
  LUC_CHECK(ctx, l->plan, LUC_ERR_SUPPORT, "FFTW has no plan for this transform");
  l->execute = is_complex(l)             ? f->execute
               : l->kind == LUC_FFT_REAL ? f->execute_real
                                         : f->execute_back;
  return LUC_OK;
}

/* ---- factors ---- */

static const double PI = 3.14159265358979323846;

/* u of luc_fft_kernels. */
static void fill_halves(const luc_fft_lines *l) {
  for (int64_t k = 0; k < l->n / 4 + 1; k++) {
    const double angle = 2 * PI * (double)k / (double)l->n;
    luc__complex_put(l->single, l->halves, k, -sin(angle), -cos(angle));
  }
}

/* j k = (j^2 + k^2 - (k - j)^2) / 2, so a transform multiplies by exp(-+ i pi k^2 / n), convolves
 * with the conjugates of these, of which `filter` has the transform's, and multiplies again. */
static void fill_chirps(const luc_fft_lines *l, char *room) {
  const bool forward = l->kind == LUC_FFT_FORWARD || l->kind == LUC_FFT_REAL;
  const int64_t n = l->length, m = l->padded;
  memset(room, 0, (size_t)m * complex_size(l));
  for (int64_t k = 0; k < n; k++) {
    const double angle = PI * (double)(k * k % (2 * n)) / (double)n;
    const double re = cos(angle), im = forward ? -sin(angle) : sin(angle);
    luc__complex_put(l->single, l->chirp, k, re, im);
    luc__complex_put(l->single, room, k, re / (double)m, -im / (double)m);
    if (k > 0) luc__complex_put(l->single, room, m - k, re / (double)m, -im / (double)m);
  }
  l->execute(l->plan, room, l->filter);
  for (int64_t k = 0; k < m; k++) {
    luc__number_put(l->single, l->filter, 2 * k + 1, -luc__number(l->single, l->filter, 2 * k + 1));
  }
}

static luc_status make_table(luc_context *ctx, luc_fft_lines *l) {
  const size_t complex = complex_size(l), filter = (size_t)l->padded * complex;
  const size_t chirp = l->padded ? ((size_t)l->length * complex + 63) / 64 * 64 : 0;
  const size_t halves = is_halved(l) ? (size_t)(l->n / 4 + 1) * complex : 0;
  if (halves + filter == 0) return LUC_OK;
  l->table_bytes = filter + chirp + halves;
  l->filter = luc__alloc(ctx, l->table_bytes);
  if (!l->filter) return LUC_ERR_MEMORY;
  l->chirp = l->filter + filter, l->halves = l->chirp + chirp;
  if (halves) fill_halves(l);
  if (!filter) return LUC_OK;
  char *room = luc__alloc(ctx, filter);
  if (!room) return LUC_ERR_MEMORY;
  fill_chirps(l, room);
  luc__free(ctx, room, filter);
  return LUC_OK;
}

/* ---- having them ---- */

luc_status luc__fft_lines_take(luc_context *ctx, luc_fft_kind kind, luc_dtype dtype, int64_t n,
                               int64_t count, luc_fft_lines *out) {
  state *st;
  luc_fft_lines l;
  memset(&l, 0, sizeof l); /* padding too */
  l.n = n, l.count = count, l.kind = (int)kind, l.single = dtype == LUC_FLOAT32;
  LUC_TRY(need(ctx, l.single, &st));
  for (int i = 0; n <= SHORT && i < KEPT; i++)
    if (st->kept[i].plan && !memcmp(&st->kept[i], &l, offsetof(luc_fft_lines, length))) {
      *out = st->kept[i];
      return reserve(ctx, out, 0);
    }
  l.length = is_halved(&l) ? n / 2 : n;
  if (is_complex(&l) && n <= SHORT && has_large_factor(l.length))
    for (l.padded = 1; l.padded < 2 * l.length - 1;) l.padded *= 2;
  luc_status status = plan(ctx, &st->libraries[l.single], &l);
  if (status == LUC_OK) status = make_table(ctx, &l);
  if (status != LUC_OK) {
    destroy(ctx, &l);
    return status;
  }
  *out = l;
  if (n > SHORT) return LUC_OK;
  if (st->kept[st->next].plan) destroy(ctx, &st->kept[st->next]);
  st->kept[st->next] = l;
  st->next = (st->next + 1) % KEPT;
  return LUC_OK;
}

void luc__fft_lines_put(luc_context *ctx, luc_fft_lines *l) {
  if (l->n > SHORT) destroy(ctx, l);
}

/* ---- running ---- */

/* Of the complex numbers that real ones become. */
static size_t complex_bytes(const luc_fft_lines *l) {
  if (!is_halved(l) && !is_widened(l)) return 0;
  return ((size_t)(l->length * l->count) * complex_size(l) + 63) / 64 * 64;
}

size_t luc__fft_lines_scratch(const luc_fft_lines *l) {
  return (is_widened(l) ? 2 : 1) * complex_bytes(l) + 2 * (size_t)l->padded * complex_size(l);
}

/* The inverse transform is that of conjugates, conjugated. */
static void convolve(const luc_fft_kernels *k, const luc_fft_lines *l, const char *from, char *to,
                     char *room, double factor) {
  const size_t bytes = (size_t)l->length * complex_size(l);
  const size_t padded = (size_t)l->padded * complex_size(l);
  char *other = room + padded;
  for (int64_t i = 0; i < l->count; i++, from += bytes, to += bytes) {
    k->multiply(l->length, from, l->chirp, false, 1, room);
    memset(room + bytes, 0, padded - bytes);
    l->execute(l->plan, room, other);
    k->multiply(l->padded, other, l->filter, true, 1, other);
    l->execute(l->plan, other, room);
    k->multiply(l->length, room, l->chirp, true, factor, to);
  }
}

/* All lines through FFTW. */
static void transform(const luc_fft_kernels *k, const luc_fft_lines *l, const void *from, void *to,
                      char *room, double factor) {
  if (l->padded) {
    convolve(k, l, from, to, room, factor);
    return;
  }
  l->execute(l->plan, (void *)(uintptr_t)from, to);
  if (factor == 1) return;
  const int64_t reals = is_complex(l)             ? 2 * l->length
                        : l->kind == LUC_FFT_REAL ? 2 * (l->n / 2 + 1)
                                                  : l->n;
  k->scale(l->count * reals, factor, to);
}

/* Real lines as complex ones; `room` for these, twice, and for a transform. */
static void transform_widened(const luc_fft_kernels *k, const luc_fft_lines *l, const char *from,
                              char *to, char *room, double factor) {
  const size_t complex = complex_size(l), line = (size_t)l->n * complex;
  const size_t half = (size_t)(l->n / 2 + 1) * complex;
  char *before = room, *after = before + complex_bytes(l);
  if (l->kind == LUC_FFT_REAL)
    k->widen(l->count * l->n, from, before);
  else
    for (int64_t i = 0; i < l->count; i++)
      k->mirror(l->n, from + (size_t)i * half, before + (size_t)i * line);
  transform(k, l, before, after, after + complex_bytes(l), factor);
  if (l->kind == LUC_FFT_BACK) {
    k->narrow(l->count * l->n, after, to);
    return;
  }
  for (int64_t i = 0; i < l->count; i++) {
    char *first = to + (size_t)i * half;
    memcpy(first, after + (size_t)i * line, half);
    memset(first + complex / 2, 0, complex / 2); /* a sum of real numbers */
  }
}

void luc__fft_lines_run(const luc_fft_kernels *kernels, const luc_fft_lines *l, const void *from,
                        void *to, void *scratch, double factor) {
  const luc_fft_kernels *k = &kernels[l->single ? LUC_FLOAT32 : LUC_FLOAT64];
  const size_t complex = complex_size(l), half = (size_t)l->length * complex;
  char *halves = scratch, *room = halves + complex_bytes(l);
  if (is_widened(l)) {
    transform_widened(k, l, from, to, scratch, factor);
  } else if (!is_halved(l)) {
    transform(k, l, from, to, room, factor);
  } else if (l->kind == LUC_FFT_REAL) {
    transform(k, l, from, halves, room, 1);
    for (int64_t i = 0; i < l->count; i++)
      k->unfold(l->length, l->halves, factor, halves + (size_t)i * half,
                (char *)to + (size_t)i * (half + complex));
  } else {
    for (int64_t i = 0; i < l->count; i++)
      k->fold(l->length, l->halves, factor, (const char *)from + (size_t)i * (half + complex),
              halves + (size_t)i * half);
    transform(k, l, halves, to, room, 1);
  }
}
