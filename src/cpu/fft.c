/* Discrete Fourier transforms by FFTW. Its planner keeps state for the whole process, so the part
 * of it that takes locks is loaded, and is told to. Planning takes microseconds, which only short
 * transforms notice: their last few plans are kept in the context. */
#include "cpu/fft.h"

#include <stdio.h>
#include <string.h>

#include "cpu/library.h"
#include "tensor/tensor.h"

/* What the functions used look like: FFTW's manual, "Guru Interface". */
typedef struct dimension {
  ptrdiff_t n, in, out; /* strides in elements */
} dimension;
enum { ESTIMATE = 1 << 6, PRESERVE_INPUT = 1 << 4 };
typedef void *(*plan_complex_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                                 void *in, void *out, int sign, unsigned flags);
typedef void *(*plan_real_fn)(int rank, const dimension *dims, int loops, const dimension *loop,
                              void *in, void *out, unsigned flags);
typedef void (*execute_fn)(void *plan, void *in, void *out);

typedef struct fftw {
  void (*thread_safe)(void);
  void (*destroy)(void *plan);
  plan_complex_fn plan_complex;
  plan_real_fn plan_real, plan_back;
  execute_fn execute[5]; /* by luc_fft_kind */
} fftw;

/* What a plan is for: a problem, and how the arrays are aligned. Compared as bytes. */
typedef struct problem {
  int kind, single, count, looped, in, out;
  dimension dims[LUC_MAX_DIMS], loops[LUC_MAX_DIMS]; /* those transformed, those looped over */
} problem;

/* Kept are plans of up to so many points: FFTW's memory for them is little, and not counted. */
enum { PLANS = 16, SHORT = 4096 };

/* What hangs off a context. */
typedef struct state {
  fftw libraries[2]; /* of doubles, of floats; without functions until needed */
  struct {
    problem key;
    void *plan; /* NULL: empty */
  } plans[PLANS];
  int next; /* to be replaced */
} state;

static void close_state(luc_context *ctx) {
  state *st = ctx->fft;
  if (!st) return;
  for (int i = 0; i < PLANS; i++)
    if (st->plans[i].plan) st->libraries[st->plans[i].key.single].destroy(st->plans[i].plan);
  ctx->fft = NULL;
  luc__free(ctx, st, sizeof *st);
}

static luc_status load(luc_context *ctx, bool single, fftw *f) {
  static const char *const stems[] = {
      "make_planner_thread_safe", "destroy_plan", "plan_guru64_dft", "plan_guru64_dft_r2c",
      "plan_guru64_dft_c2r",      "execute_dft",  "execute_dft_r2c", "execute_dft_c2r"};
  fftw found = {0};
  void *library, *to[] = {&found.thread_safe,
                          &found.destroy,
                          &found.plan_complex,
                          &found.plan_real,
                          &found.plan_back,
                          &found.execute[LUC_FFT_FORWARD],
                          &found.execute[LUC_FFT_REAL],
                          &found.execute[LUC_FFT_BACK]};
  LUC_TRY(luc__library_open(ctx, "FFTW",
                            single ? "libfftw3f_threads.so.3" : "libfftw3_threads.so.3",
                            single ? "libfftw3-single3" : "libfftw3-double3", &library));
  for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
    char name[48];
    snprintf(name, sizeof name, "fftw%s_%s", single ? "f" : "", stems[i]);
    LUC_CHECK(ctx, luc__library_find(library, name, to[i]), LUC_ERR_SUPPORT,
              "this FFTW is older than 3.3.5");
  }
  found.execute[LUC_FFT_INVERSE] = found.execute[LUC_FFT_FORWARD];
  found.execute[LUC_FFT_WHOLE] = found.execute[LUC_FFT_REAL];
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

/* FFTW ends the process when malloc fails in it, so what it may take is asked for beforehand,
 * within the context's limit and from the system. Measured over lengths of all kinds (primes take
 * most) it is up to 11 complex numbers per point of each length, of which each thread takes 2 anew,
 * and to plan 1 MB of tables. */
static luc_status reserve(luc_context *ctx, const luc_fft *t, int64_t pieces, size_t tables) {
  size_t points = 0;
  for (int i = 0; i < t->count; i++) points += (size_t)t->sizes[t->dims[i]];
  size_t number = 2 * luc__dtype_size(t->dtype);
  size_t wanted = luc__mul_size(points, (size_t)(16 + 2 * pieces) * number);
  if (wanted < SIZE_MAX - tables) wanted += tables;
  void *block = luc__alloc(ctx, wanted);
  if (!block) return LUC_ERR_MEMORY;
  luc__heap_free(ctx->heap, block, wanted); /* past the cache, which would keep it */
  return LUC_OK;
}

static int aligned(const void *p) {
  return (int)((uintptr_t)p % 64);
}

/* Sorts the dimensions into those transformed, in their order, and those looped over. */
static problem describe(const luc_fft *t, const void *from, const void *to) {
  problem p;
  int64_t in[LUC_MAX_DIMS], out[LUC_MAX_DIMS], half[LUC_MAX_DIMS];
  bool used[LUC_MAX_DIMS] = {false};
  memset(&p, 0, sizeof p); /* padding too */
  p.kind = (int)t->kind;
  p.single = t->dtype == LUC_FLOAT32;
  p.in = aligned(from);
  p.out = aligned(to);
  for (int d = 0; d < t->ndim; d++) half[d] = t->sizes[d];
  if (t->kind == LUC_FFT_REAL || t->kind == LUC_FFT_BACK)
    half[t->dims[t->count - 1]] = half[t->dims[t->count - 1]] / 2 + 1;
  luc__contiguous_strides(t->ndim, t->kind == LUC_FFT_BACK ? half : t->sizes, in);
  luc__contiguous_strides(t->ndim, t->kind == LUC_FFT_REAL ? half : t->sizes, out);
  for (; p.count < t->count; p.count++) {
    int d = t->dims[p.count];
    used[d] = true;
    p.dims[p.count] = (dimension){(ptrdiff_t)t->sizes[d], (ptrdiff_t)in[d], (ptrdiff_t)out[d]};
  }
  for (int d = 0; d < t->ndim; d++)
    if (!used[d])
      p.loops[p.looped++] =
          (dimension){(ptrdiff_t)t->sizes[d], (ptrdiff_t)in[d], (ptrdiff_t)out[d]};
  return p;
}

/* Neither flag has FFTW write to the arrays now, or to `from` ever. */
static void *make_plan(const fftw *f, const problem *p, void *from, void *to) {
  const unsigned flags = ESTIMATE | PRESERVE_INPUT;
  if (p->kind >= LUC_FFT_REAL) {
    plan_real_fn plan = p->kind == LUC_FFT_BACK ? f->plan_back : f->plan_real;
    return plan(p->count, p->dims, p->looped, p->loops, from, to, flags);
  }
  int sign = p->kind == LUC_FFT_FORWARD ? -1 : 1;
  return f->plan_complex(p->count, p->dims, p->looped, p->loops, from, to, sign, flags);
}

/* A plan, and whether the context keeps it. */
static luc_status plan(luc_context *ctx, state *st, const luc_fft *t, const problem *p, void *from,
                       void *to, int64_t pieces, void **out, bool *kept) {
  const fftw *f = &st->libraries[p->single];
  int64_t points = 1;
  for (int i = 0; i < t->count; i++) points *= t->sizes[t->dims[i]];
  *kept = points <= SHORT;
  for (int i = 0; *kept && i < PLANS; i++)
    if (st->plans[i].plan && !memcmp(&st->plans[i].key, p, sizeof *p)) {
      *out = st->plans[i].plan;
      return reserve(ctx, t, pieces, 0);
    }
  LUC_TRY(reserve(ctx, t, pieces, 2 << 20));
  *out = make_plan(f, p, from, to);
  LUC_CHECK(ctx, *out, LUC_ERR_SUPPORT, "FFTW has no plan for this transform");
  if (!*kept) return LUC_OK;
  void *old = st->plans[st->next].plan;
  if (old) st->libraries[st->plans[st->next].key.single].destroy(old);
  st->plans[st->next].key = *p;
  st->plans[st->next].plan = *out;
  st->next = (st->next + 1) % PLANS;
  return LUC_OK;
}

/* ---- in pieces ---- */

/* Equal pieces of a problem that follow each other along the outermost loop. */
typedef struct pieces {
  int64_t count;
  size_t from_step, to_step; /* bytes */
  char *from, *to;
  execute_fn execute;
  void *plan;
} pieces;

enum { PIECES = 16, WORK = 1 << 15 /* points that are worth it */ };

/* Cuts p into pieces of one alignment, by its size alone; returns how much of the loop is left
 * over. */
static ptrdiff_t cut(const luc_fft *t, problem *p, pieces *c) {
  dimension *loop = &p->loops[0];
  size_t real = luc__dtype_size(t->dtype), from = 2 * real, to = 2 * real;
  int64_t points = 1;
  for (int d = 0; d < t->ndim; d++) points *= t->sizes[d];
  if (t->kind == LUC_FFT_REAL || t->kind == LUC_FFT_WHOLE) from = real;
  if (t->kind == LUC_FFT_BACK) to = real;
  c->count = 1;
  if (p->looped == 0 || points < WORK) return 0;
  ptrdiff_t n = (loop->n + PIECES - 1) / PIECES;
  for (; n < loop->n; n++) {
    c->from_step = (size_t)(n * loop->in) * from;
    c->to_step = (size_t)(n * loop->out) * to;
    if (c->from_step % 64 == 0 && c->to_step % 64 == 0) break;
  }
  if (n >= loop->n) return 0;
  ptrdiff_t left = loop->n % n;
  c->count = loop->n / n;
  loop->n = n;
  return left;
}

static void run_pieces(void *arg, int64_t begin, int64_t end) {
  const pieces *c = arg;
  for (int64_t i = begin; i < end; i++)
    c->execute(c->plan, c->from + (size_t)i * c->from_step, c->to + (size_t)i * c->to_step);
}

static luc_status perform(luc_context *ctx, state *st, const luc_fft *t, const problem *p,
                          pieces *c) {
  bool kept;
  const fftw *f = &st->libraries[p->single];
  LUC_TRY(plan(ctx, st, t, p, c->from, c->to, c->count, &c->plan, &kept));
  c->execute = f->execute[t->kind];
  luc__parallel_for(ctx, c->count, 1, run_pieces, c);
  if (!kept) f->destroy(c->plan);
  return LUC_OK;
}

/* ---- what FFTW leaves to do ---- */

/* Multiplies the n real numbers of the result. */
static void scale(luc_dtype dtype, void *out, int64_t n, double factor) {
  if (dtype == LUC_FLOAT32) {
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] *= (float)factor;
  } else {
    for (int64_t i = 0; i < n; i++) ((double *)out)[i] *= factor;
  }
}

/* How many real numbers the result consists of. */
static int64_t parts(const luc_fft *t) {
  int64_t n = t->kind == LUC_FFT_BACK ? 1 : 2;
  int last = t->kind == LUC_FFT_REAL ? t->dims[t->count - 1] : -1;
  for (int d = 0; d < t->ndim; d++) n *= d == last ? t->sizes[d] / 2 + 1 : t->sizes[d];
  return n;
}

/* out[k] = conj(out[n - k]) for the second half of n complex numbers at this stride, the others
 * being at `from`. */
static void mirror_line(luc_dtype dtype, void *to, const void *from, int64_t n, int64_t stride) {
  for (int64_t k = n / 2 + 1; k < n; k++) {
    int64_t at = 2 * k * stride, other = 2 * (n - k) * stride;
    if (dtype == LUC_FLOAT32) {
      ((float *)to)[at] = ((const float *)from)[other];
      ((float *)to)[at + 1] = -((const float *)from)[other + 1];
    } else {
      ((double *)to)[at] = ((const double *)from)[other];
      ((double *)to)[at + 1] = -((const double *)from)[other + 1];
    }
  }
}

/* The negative frequencies along the last of the dims transformed. A mirror image has the other
 * sign along all of them. */
static void mirror(const luc_fft *t, void *out) {
  int64_t strides[LUC_MAX_DIMS], index[LUC_MAX_DIMS] = {0};
  int last = t->dims[t->count - 1], d;
  size_t item = 2 * luc__dtype_size(t->dtype);
  luc__contiguous_strides(t->ndim, t->sizes, strides);
  do {
    int64_t to = 0, from = 0;
    for (d = 0; d < t->ndim; d++) to += index[d] * strides[d];
    from = to;
    for (int i = 0; i < t->count - 1; i++) {
      int64_t at = index[t->dims[i]];
      if (at > 0) from += (t->sizes[t->dims[i]] - 2 * at) * strides[t->dims[i]];
    }
    mirror_line(t->dtype, (char *)out + (size_t)to * item, (char *)out + (size_t)from * item,
                t->sizes[last], strides[last]);
    for (d = t->ndim - 1; d >= 0; d--) {
      if (d == last) continue;
      if (++index[d] < t->sizes[d]) break;
      index[d] = 0;
    }
  } while (d >= 0);
}

luc_status luc__fft(luc_context *ctx, const luc_fft *t, const void *in, void *out) {
  state *st;
  int64_t n = parts(t);
  if (n == 0) return LUC_OK;
  LUC_TRY(need(ctx, t->dtype == LUC_FLOAT32, &st));
  problem p = describe(t, in, out);
  pieces c = {.from = (char *)(uintptr_t)in, .to = out};
  ptrdiff_t left = cut(t, &p, &c);
  LUC_TRY(perform(ctx, st, t, &p, &c));
  if (left > 0) {
    c.from += (size_t)c.count * c.from_step;
    c.to += (size_t)c.count * c.to_step;
    c.count = 1;
    p.loops[0].n = left;
    LUC_TRY(perform(ctx, st, t, &p, &c));
  }
  if (t->kind == LUC_FFT_WHOLE) mirror(t, out);
  if (t->scale != 1) scale(t->dtype, out, n, t->scale);
  return LUC_OK;
}
