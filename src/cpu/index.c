/* Positions become offsets in strips that stay in the first-level cache; then loops per width or
 * dtype move what is there. Reading is cut into pieces for the pool wherever; writing only between
 * lines that no position leads out of, so that equal positions give the same result on any number
 * of threads. */
#include "cpu/index.h"

#include <stdatomic.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/index_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "tensor/half.h"

/* ---- loops per element width and per dtype ---- */

/* Elements, and short rows that move as one: aligned as what they are made of. */
typedef uint16_t word16 __attribute__((may_alias, aligned(1)));
typedef uint32_t word32 __attribute__((may_alias, aligned(1)));
typedef uint64_t word64 __attribute__((may_alias, aligned(1)));
typedef uint64_t word128 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef uint64_t word256 __attribute__((vector_size(32), may_alias, aligned(1)));
typedef uint64_t word512 __attribute__((vector_size(64), may_alias, aligned(1)));
/* Registers of numbers read faster than those of integers, which write faster. */
typedef float real32 __attribute__((may_alias, aligned(1)));
typedef double real64 __attribute__((may_alias, aligned(1)));

#define T       uint8_t
#define NAME(x) x##_8
#include "cpu/index_move.inc"
#define T       word16
#define NAME(x) x##_16
#include "cpu/index_move.inc"
#define T       word32
#define READ    real32
#define NAME(x) x##_32
#include "cpu/index_move.inc"
#define T       word64
#define READ    real64
#define NAME(x) x##_64
#include "cpu/index_move.inc"
#define T       word128
#define NAME(x) x##_128
#include "cpu/index_move.inc"
#define T       word256
#define NAME(x) x##_256
#include "cpu/index_move.inc"
#define T       word512
#define NAME(x) x##_512
#include "cpu/index_move.inc"

#define KERNEL "cpu/index_add.inc"
#include "cpu/index_dtypes.inc"

#define LOAD(x)  (x)
#define STORE(x) (x)
#define SUM      T
#define T        float _Complex
#define NAME(x)  x##_complex64
#include "cpu/index_add.inc"
#define T       double _Complex
#define NAME(x) x##_complex128
#include "cpu/index_add.inc"

typedef luc_index_table_fn table_fn;

enum {
  GRAIN_BYTES = 1 << 18,
  STRIP = 512,
  LONG_STRIP = 4096,
  BLOCK = 256,
  MANY = 8,
  FEW = 8,
  LONG_ROW = 32
};

/* Of own positions across lines FAR apart, what a block of columns may take. */
enum { LINE = 64, FAR = 1 << 10, BLOCK_BYTES = 1 << 18 };

/* ORDER DTYPE */
static const struct {
  table_fn add, mul;
} by_dtype[LUC_NUM_DTYPES] = {
    {put_add_float32, put_mul_float32},     {put_add_float64, put_mul_float64},
    {put_add_float16, put_mul_float16},     {put_add_bfloat16, put_mul_bfloat16},
    {put_add_int8, put_mul_int8},           {put_add_uint8, put_mul_uint8},
    {put_add_int16, put_mul_int16},         {put_add_int32, put_mul_int32},
    {put_add_int64, put_mul_int64},         {put_add_bool, put_mul_bool},
    {put_add_complex64, put_mul_complex64}, {put_add_complex128, put_mul_complex128},
};

typedef struct movement {
  table_fn get, put;
} movement;

/* By log2 of the width. */
static const movement movements[] = {
    {get_8, put_8},     {get_16, put_16},   {get_32, put_32},   {get_64, put_64},
    {get_128, put_128}, {get_256, put_256}, {get_512, put_512},
};

/* NULL: nothing of this width. */
static const movement *movement_of(int64_t width) {
  for (int log = 0; log < (int)(sizeof movements / sizeof *movements); log++)
    if (width == (int64_t)1 << log) return &movements[log];
  return NULL;
}

static table_fn table_of(const luc_index_kernels *k, luc_index_op op, luc_dtype dtype,
                         int64_t width) {
  if (dtype == LUC_FLOAT16 && op == LUC_INDEX_ADD && k->add_f16 != NULL) return k->add_f16;
  if (dtype == LUC_BFLOAT16 && op == LUC_INDEX_ADD && k->add_bf16 != NULL) return k->add_bf16;
  switch (op) {
  case LUC_INDEX_GET: return movement_of(width)->get;
  case LUC_INDEX_PUT: return movement_of(width)->put;
  case LUC_INDEX_ADD: return by_dtype[dtype].add;
  case LUC_INDEX_MAX:
  case LUC_INDEX_MIN: return luc__index_extreme(op, dtype);
  default: return by_dtype[dtype].mul;
  }
}

/* The pointwise kernel for rows whose elements are adjacent, or NULL; a complex number is two. */
static luc_ew_fn kernel_of(luc_context *ctx, luc_index_op op, luc_dtype dtype) {
  static const luc_ew ops[] = {[LUC_INDEX_ADD] = LUC_EW_add,
                               [LUC_INDEX_MUL] = LUC_EW_mul,
                               [LUC_INDEX_MAX] = LUC_EW_maximum,
                               [LUC_INDEX_MIN] = LUC_EW_minimum};
  if (op == LUC_INDEX_GET || op == LUC_INDEX_PUT) return NULL;
  if (op == LUC_INDEX_ADD && luc__dtype_is_complex(dtype))
    dtype = dtype == LUC_COMPLEX64 ? LUC_FLOAT32 : LUC_FLOAT64;
  int type = luc__elementwise_type(dtype);
  return type < 0 ? NULL : luc__kernels(ctx)->elementwise[ops[op]].fn[type];
}

/* ---- positions ---- */

/* Offsets that are known to be right. */
static luc_positions known(const int64_t *offsets, int64_t n) {
  return (luc_positions){offsets, n, -1, 0, false};
}

static bool all_in_range(const luc_index_kernels *k, const luc_positions *p, int64_t i, int64_t n) {
  return p->size < 0 || k->in_range(p->at + i, n, p->first, p->size);
}

/* out[j] = the position at i + j, times stride, and places[j], if any; false if one is out of
 * range. */
static bool strip_offsets(const luc_index_kernels *k, const luc_positions *p, int64_t i, int64_t n,
                          int64_t stride, const int64_t *places, int64_t *out) {
  if (all_in_range(k, p, i, n)) {
    k->offsets(out, p->at + i, n, -p->first * stride, stride, places);
    return true;
  }
  for (int64_t j = 0; p->negative && j < n; j++) {
    int64_t v = p->at[i + j];
    v = v < 0 ? (int64_t)((uint64_t)v + (uint64_t)p->size) : v - p->first;
    if (v < 0 || v >= p->size) return false;
    out[j] = v * stride + (places ? places[j] : 0);
  }
  return p->negative;
}

typedef struct positions_job {
  const luc_positions *p;
  const luc_index_kernels *kernels;
  int64_t stride;
  int64_t *offsets; /* NULL: nothing is wanted but the check */
  bool add;
  atomic_bool bad;
} positions_job;

static void positions_range(void *arg, int64_t begin, int64_t end) {
  positions_job *j = arg;
  int64_t strip[STRIP];
  for (int64_t i = begin; i < end; i += STRIP) {
    int64_t n = end - i < STRIP ? end - i : STRIP;
    int64_t *to = j->add || !j->offsets ? strip : j->offsets + i;
    if (!j->offsets && all_in_range(j->kernels, j->p, i, n)) continue;
    if (!strip_offsets(j->kernels, j->p, i, n, j->stride, NULL, to)) {
      atomic_store_explicit(&j->bad, true, memory_order_relaxed);
      return;
    }
    for (int64_t k = 0; j->add && k < n; k++) j->offsets[i + k] += strip[k];
  }
}

bool luc__positions_offsets(luc_context *ctx, const luc_positions *p, int64_t stride, bool add,
                            int64_t *offsets) {
  positions_job j = {.p = p, .kernels = luc__kernels(ctx)->index, .stride = stride, .add = add};
  j.offsets = offsets;
  luc__parallel_for(ctx, p->n, GRAIN_BYTES / (int64_t)sizeof *p->at, positions_range, &j);
  return !atomic_load_explicit(&j.bad, memory_order_relaxed);
}

int64_t luc__positions_bad(luc_context *ctx, const luc_positions *p) {
  if (luc__positions_offsets(ctx, p, 1, false, NULL)) return -1;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t v = p->at[i];
    if (v < p->first ? v >= 0 || !p->negative || v < -p->size : v - p->first >= p->size) return i;
  }
  return -1;
}

/* ---- the walk over outer, positions, inner ---- */

typedef struct walk {
  const luc_index_job *job;
  const luc_index_kernels *kernels;
  luc_index_dims outer, rows; /* inner without its last dimension, which is the row, */
  int64_t row, row_indexed, row_dense;
  int64_t many, many_indexed, many_dense; /* and the one before, where rows are read together */
  int64_t line;                           /* elements of a place of outer */
  int64_t outer_count, width, bytes;      /* bytes: of what a position leads to in all lines */
  int64_t grain;                          /* lines of a piece */
  luc_move_fn move;
  luc_runs_fn runs;
  luc_ew_fn on_run;         /* what is done to rows that are even, or NULL */
  luc_add_rows_fn add_rows; /* to many of them, or NULL */
  table_fn one;             /* to elements */
  int64_t blocks;           /* parts that a row is written in, each in one piece */
  luc_index_dims flat;      /* see plan_flat */
  bool as_is;
  int64_t group, groups, step, *places;
  atomic_bool *bad; /* one for all copies of a walk */
} walk;

static int64_t product(const luc_index_dims *d) {
  int64_t n = 1;
  for (int k = 0; k < d->ndim; k++) n *= d->sizes[k];
  return n;
}

/* Steps an odometer; false when it has come round. Moves both positions. */
static bool next(const luc_index_dims *d, int64_t *at, int64_t *indexed, int64_t *dense) {
  for (int k = d->ndim - 1; k >= 0; k--) {
    *indexed += d->indexed[k];
    *dense += d->dense[k];
    if (++at[k] < d->sizes[k]) return true;
    *indexed -= at[k] * d->indexed[k];
    *dense -= at[k] * d->dense[k];
    at[k] = 0;
  }
  return false;
}

/* Sets an odometer to its i-th place. */
static void seek(const luc_index_dims *d, int64_t i, int64_t *at, int64_t *indexed,
                 int64_t *dense) {
  *indexed = *dense = 0;
  for (int k = d->ndim - 1; k >= 0; k--) {
    at[k] = i % d->sizes[k];
    i /= d->sizes[k];
    *indexed += at[k] * d->indexed[k];
    *dense += at[k] * d->dense[k];
  }
}

static void fail(walk *w) {
  atomic_store_explicit(w->bad, true, memory_order_relaxed);
}

/* A row, element by element. */
static void each_element(const walk *w, char *x, char *y, int64_t n) {
  int64_t offsets[BLOCK];
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t m = n - i < BLOCK ? n - i : BLOCK;
    for (int64_t j = 0; j < m; j++) offsets[j] = (i + j) * w->row_indexed;
    const luc_positions p = known(offsets, m);
    w->one(y + i * w->row_dense * w->width, w->row_dense, x, &p);
  }
}

/* Many rows where they are read together. */
static void move_row(const walk *w, char *x, char *y, int64_t n) {
  static const luc_ew_params none;
  const luc_index_op op = w->job->op;
  bool even = w->row_indexed == 1 && w->row_dense == 1;
  const void *both[LUC_EW_MAX_INPUTS] = {x, y};
  const int64_t x_step = w->row_indexed * w->width, y_step = w->row_dense * w->width;
  if (op == LUC_INDEX_GET && w->many > 1)
    w->runs(y, w->many_dense * w->width, y_step, x, w->many_indexed * w->width, x_step, n, w->many);
  else if (op == LUC_INDEX_GET)
    w->move(y, y_step, x, x_step, n);
  else if (op == LUC_INDEX_PUT)
    w->move(x, x_step, y, y_step, n);
  else if (even && w->on_run)
    w->on_run(x, both, luc__dtype_is_complex(w->job->dtype) ? 2 * n : n, &none, 0);
  else
    each_element(w, x, y, n);
}

static void begin_piece(void *arg, int64_t begin, int64_t end) {
  const luc_index_job *job = arg;
  memcpy(job->indexed + begin, job->before + begin, (size_t)(end - begin));
}

static void begin_all(luc_context *ctx, const luc_index_job *job) {
  luc_index_job copy = *job;
  if (job->before) luc__parallel_for(ctx, (int64_t)job->bytes, GRAIN_BYTES, begin_piece, &copy);
}

/* ---- elements in the order of dense ---- */

static void append(luc_index_dims *to, const luc_index_dims *from) {
  for (int d = 0; d < from->ndim; d++, to->ndim++) {
    to->sizes[to->ndim] = from->sizes[d];
    to->indexed[to->ndim] = from->indexed[d];
    to->dense[to->ndim] = from->dense[d];
  }
}

/* Drops dimensions of size 1 and merges those that lie evenly in both memories. */
static luc_index_dims merged(const luc_index_dims *d) {
  luc_index_dims r = {0};
  for (int k = 0; k < d->ndim; k++) {
    if (d->sizes[k] == 1) continue;
    int last = r.ndim - 1;
    bool even = last >= 0 && r.indexed[last] == d->indexed[k] * d->sizes[k] &&
                r.dense[last] == d->dense[k] * d->sizes[k];
    if (!even) last = r.ndim++;
    r.sizes[last] = (even ? r.sizes[last] : 1) * d->sizes[k];
    r.indexed[last] = d->indexed[k];
    r.dense[last] = d->dense[k];
  }
  return r;
}

/* Outer, positions, inner. */
static luc_index_dims all_dims(const luc_index_job *job) {
  const luc_index_dims positions = {1, {job->n}, {0}, {job->dense_step}};
  luc_index_dims all = job->outer;
  append(&all, &positions);
  append(&all, &job->inner);
  return merged(&all);
}

/* Are places of dense a step apart, in row-major order? */
static bool in_order(const luc_index_dims *d) {
  bool even = true;
  for (int k = d->ndim - 1; k > 0; k--) even = even && d->dense[k - 1] == d->dense[k] * d->sizes[k];
  return even;
}

/* What dimensions add to positions, the places, is alike in all strips but for a distance: a strip
 * is a group, of the innermost dimensions that fit, or several, side by side across the next
 * dimension, the last of those that are walked. With offsets, of positions that lines share, those
 * are in the places too. A long row's own positions are a strip as they are. */
static void plan_flat(walk *w, const luc_index_dims *d, const int64_t *offsets, int64_t inner) {
  const luc_index_job *job = w->job;
  int k = d->ndim - 1;
  const bool row = k >= 0 && d->sizes[k] >= LONG_ROW && d->indexed[k] == 0;
  w->flat = *d;
  w->step = k < 0 ? 0 : d->dense[k];
  w->group = w->groups = 1;
  w->as_is = row && job->own && job->stride == 1 && !job->positions.negative;
  if (w->as_is) w->group = d->sizes[k--];
  for (; !w->as_is && k >= 0 && w->group * d->sizes[k] <= STRIP; k--) w->group *= d->sizes[k];
  w->flat.ndim = k + 1;
  if (w->as_is) return;
  if (k >= 0) w->groups = luc__min64(STRIP / w->group, d->sizes[k]);
  luc__offsets_grid(w->places, d->ndim - 1 - k, d->sizes + k + 1, d->indexed + k + 1);
  for (int64_t e = 0; offsets && e < w->group;)
    for (int64_t i = 0; i < job->n; i++)
      for (int64_t j = 0; j < inner; j++) w->places[e++] += offsets[i];
  for (int64_t e = w->group; e < w->groups * w->group; e++)
    w->places[e] = w->places[e - w->group] + d->indexed[k];
}

static void move_flat(walk *w, int64_t e, int64_t e_end) {
  const luc_index_job *job = w->job;
  const luc_positions *p = &job->positions;
  const luc_index_dims *d = &w->flat;
  const int last = d->ndim - 1;
  int64_t offsets[STRIP], at[LUC_MAX_DIMS], x, y, skip = e % w->group;
  seek(d, e / w->group, at, &x, &y);
  for (int64_t n; e < e_end; e += n, skip = 0) {
    const int64_t groups = last < 0 ? 1 : luc__min64(w->groups, d->sizes[last] - at[last]);
    n = luc__min64(groups * w->group - skip, e_end - e);
    luc_positions strip = {p->at + e, n, p->size, p->first, false};
    bool good = true;
    if (!w->as_is) strip = known(job->own ? offsets : w->places + skip, n);
    if (!w->as_is && job->own)
      good = strip_offsets(w->kernels, p, e, n, job->stride, w->places + skip, offsets);
    char *dense = job->dense + e * w->step * w->width;
    if (!good || !w->one(dense, w->step, job->indexed + x * w->width, &strip)) {
      fail(w);
      return;
    }
    if (last < 0) continue;
    at[last] += groups - 1;
    x += (groups - 1) * d->indexed[last];
    next(d, at, &x, &y);
  }
}

/* ---- positions that all lines share ---- */

/* Does a position lead to one element of a line, not to a row? */
static bool is_one(const walk *w) {
  return w->row == 1 && w->many == 1 && !w->rows.ndim;
}

/* Rows without gaps. */
static void read_rows(const walk *w, char *dense, const char *indexed, int64_t n,
                      const int64_t *offsets, int64_t count) {
  const int64_t width = w->width, step = w->job->dense_step * width;
  const size_t bytes = (size_t)(count * width);
  for (int64_t k = 0; k < n; k++) memcpy(dense + k * step, indexed + offsets[k] * width, bytes);
}

/* Columns [c, c_end) of what a strip of positions, from i on, leads to in one line. Rows go by
 * offsets that are known. */
static bool move_strip(const walk *w, int64_t x, int64_t y, int64_t i, const luc_positions *strip,
                       int64_t c, int64_t c_end) {
  const luc_index_job *job = w->job;
  const int64_t *offsets = strip->at, n = strip->n;
  if (is_one(w))
    return w->one(job->dense + (y + i * job->dense_step) * w->width, job->dense_step,
                  job->indexed + x * w->width, strip);
  const bool even = w->row_indexed == 1 && w->row_dense == 1 && w->many == 1;
  if (w->add_rows && even && !w->rows.ndim) {
    w->add_rows(job->indexed + (x + c) * w->width, offsets, n,
                job->dense + (y + i * job->dense_step + c) * w->width, job->dense_step, c_end - c,
                job->alpha == 0 ? 1 : job->alpha);
    return true;
  }
  if (job->op == LUC_INDEX_GET && even && !w->rows.ndim) {
    read_rows(w, job->dense + (y + i * job->dense_step + c) * w->width,
              job->indexed + (x + c) * w->width, n, offsets, c_end - c);
    return true;
  }
  int64_t at[LUC_MAX_DIMS] = {0}; /* as after each round */
  for (int64_t k = 0; k < n; k++) {
    int64_t x1 = x + offsets[k] + c * w->row_indexed;
    int64_t y1 = y + (i + k) * job->dense_step + c * w->row_dense;
    do move_row(w, job->indexed + x1 * w->width, job->dense + y1 * w->width, c_end - c);
    while (next(&w->rows, at, &x1, &y1));
  }
  return true;
}

/* Positions [i, i_end) in lines [o, o_end). */
static void move_lines(walk *w, int64_t o, int64_t o_end, int64_t i, int64_t i_end, int64_t c,
                       int64_t c_end) {
  const luc_index_job *job = w->job;
  const luc_positions *p = &job->positions;
  const bool few = o_end - o < FEW; /* else positions are checked once for all, */
  const bool direct = few && is_one(w) && job->stride == 1 && !p->negative; /* or are the table */
  const int64_t most = is_one(w) ? LONG_STRIP : STRIP;
  int64_t offsets[LONG_STRIP], first[LUC_MAX_DIMS] = {0}, x0, y0;
  seek(&w->outer, o, first, &x0, &y0);
  for (; i < i_end; i += most) {
    int64_t n = i_end - i < most ? i_end - i : most, at[LUC_MAX_DIMS], x = x0, y = y0;
    const luc_positions own = {p->at + i, n, p->size, p->first, false};
    const luc_positions strip = direct ? own : known(offsets, n);
    bool good = direct || strip_offsets(w->kernels, p, i, n, job->stride, NULL, offsets);
    memcpy(at, first, sizeof at);
    for (int64_t line = o; good && line < o_end; line++, next(&w->outer, at, &x, &y))
      good = move_strip(w, x, y, i, &strip, c, c_end);
    if (!good) {
      fail(w);
      return;
    }
  }
}

static void positions_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  move_lines(w, 0, w->outer_count, begin, end, 0, w->row);
}

static void lines_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  move_lines(w, begin, end, 0, w->job->n, 0, w->row);
}

static void columns_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  for (int64_t b = begin; b < end; b++) {
    int64_t o = b / w->blocks, c = b % w->blocks;
    move_lines(w, o, o + 1, 0, w->job->n, w->row * c / w->blocks, w->row * (c + 1) / w->blocks);
  }
}

static void flat_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  move_flat(w, begin * w->line, end * w->line);
}

/* Few positions in many lines. False: the loop cannot be run so, or is not worth it. */
static bool run_short(luc_context *ctx, walk *w) {
  const luc_index_job *job = w->job;
  const luc_positions *p = &job->positions;
  int64_t offsets[LONG_ROW], inner = w->line / job->n;
  if (w->line >= LONG_ROW || w->outer_count < MANY || w->row >= FEW) return false;
  if (job->alpha != 0) return false;                          /* rows alone are multiplied */
  if (w->outer.indexed[w->outer.ndim - 1] == 0) return false; /* would be one with the positions */
  const luc_index_dims d = all_dims(job);
  if (!in_order(&d)) return false;
  if (!strip_offsets(w->kernels, p, 0, p->n, job->stride, NULL, offsets)) {
    fail(w);
    return true;
  }
  plan_flat(w, &d, offsets, inner);
  luc__parallel_for(ctx, w->outer_count, w->grain, flat_piece, w);
  return true;
}

static void run_shared(luc_context *ctx, walk *w) {
  const luc_index_job *job = w->job;
  begin_all(ctx, job);
  if (run_short(ctx, w)) return;
  if (job->op == LUC_INDEX_GET && w->outer_count == 1)
    luc__parallel_for(ctx, job->n, GRAIN_BYTES / 2 / (w->bytes + LINE) + 1, positions_piece, w);
  else if (job->op == LUC_INDEX_GET || w->blocks == 1)
    luc__parallel_for(ctx, w->outer_count, w->grain, lines_piece, w);
  else
    luc__parallel_for(ctx, w->outer_count * w->blocks, w->grain, columns_piece, w);
}

/* ---- positions of each element's own ---- */

static void elements_piece(void *arg, int64_t begin, int64_t end) {
  move_flat(arg, begin, end);
}

/* Columns [c, c_end) of a place of outer. */
static void move_columns(walk *w, int64_t o, int64_t c, int64_t c_end) {
  for (int64_t e = o * w->line; e < (o + 1) * w->line; e += w->row) move_flat(w, e + c, e + c_end);
}

static void own_columns_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  for (int64_t b = begin; b < end; b++) {
    int64_t c = b % w->blocks;
    move_columns(w, b / w->blocks, w->row * c / w->blocks, w->row * (c + 1) / w->blocks);
  }
}

/* Positions across a dimension whose lines are far apart meet few sets of the cache: a block of
 * columns is copied together, written there and copied back. */
static void copy_block(const walk *w, char *to, int64_t to_pitch, const char *from,
                       int64_t from_pitch, int64_t columns) {
  for (int64_t v = 0; v < w->job->positions.size; v++)
    memcpy(to + v * to_pitch * w->width, from + v * from_pitch * w->width,
           (size_t)(columns * w->width));
}

static void own_blocks_piece(void *arg, void *block, int64_t begin, int64_t end) {
  walk *w = arg;
  for (int64_t b = begin; b < end; b++) {
    int64_t o = b / w->blocks, c = w->row * (b % w->blocks) / w->blocks, at[LUC_MAX_DIMS], x, y;
    int64_t columns = w->row * (b % w->blocks + 1) / w->blocks - c;
    walk own = *w;
    luc_index_job job = *w->job;
    seek(&w->outer, o, at, &x, &y);
    const int64_t place = (x + c) * w->width;
    copy_block(w, block, columns, (job.before ? job.before : job.indexed) + place, job.stride,
               columns);
    own.job = &job;
    job.indexed = (char *)((intptr_t)block - place);
    job.stride = columns;
    move_columns(&own, o, c, c + columns);
    copy_block(w, w->job->indexed + place, w->job->stride, block, columns, columns);
  }
}

/* False: the loop cannot be run so, or is not worth it. */
static bool run_own_blocks(luc_context *ctx, walk *w) {
  const luc_index_job *job = w->job;
  const int64_t line = job->positions.size * w->width; /* of one column */
  int64_t blocks = w->row * line / BLOCK_BYTES + 1, columns = w->row / blocks;
  if (w->rows.ndim || w->row_indexed != 1 || job->n < job->positions.size) return false;
  if (columns * w->width < LINE || job->stride * w->width < FAR || w->row * line < FAR * LINE)
    return false;
  size_t room = (size_t)((columns + 1) * line);
  int64_t pieces = w->outer_count * blocks;
  w->blocks = blocks;
  return luc__parallel_scratch(ctx, pieces, 1, room, own_blocks_piece, w) == LUC_OK;
}

static void run_own(luc_context *ctx, walk *w) {
  const luc_index_job *job = w->job;
  const luc_index_dims d = all_dims(job);
  plan_flat(w, &d, NULL, 1);
  if (job->op != LUC_INDEX_GET && run_own_blocks(ctx, w)) return;
  begin_all(ctx, job);
  if (job->op == LUC_INDEX_GET)
    luc__parallel_for(ctx, w->outer_count * w->line, GRAIN_BYTES / w->width, elements_piece, w);
  else if (w->blocks == 1)
    luc__parallel_for(ctx, w->outer_count, w->grain, flat_piece, w);
  else
    luc__parallel_for(ctx, w->outer_count * w->blocks, w->grain, own_columns_piece, w);
}

/* ---- one line of many elements ---- */

/* Parts of a line larger than the cache go through all positions each, in order; what those lead to
 * elsewhere comes to a place of no use. */
enum { MOST_PARTS = 8, PART_POSITIONS = 1 << 16, PARTED_BYTES = 1 << 20 };

static void parts_piece(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  const luc_index_job *job = w->job;
  const luc_positions *p = &job->positions;
  int64_t offsets[STRIP];
  char room[3 * sizeof(word512)];
  const int64_t spare = ((intptr_t)room - (intptr_t)job->indexed) / w->width + 1;
  for (int64_t b = begin; b < end; b++) {
    int64_t from = p->size * b / w->blocks, to = p->size * (b + 1) / w->blocks;
    for (int64_t i = 0; i < p->n; i += STRIP) {
      int64_t n = p->n - i < STRIP ? p->n - i : STRIP;
      const luc_positions strip = known(offsets, n);
      if (!strip_offsets(w->kernels, p, i, n, job->stride, NULL, offsets)) {
        fail(w);
        return;
      }
      w->kernels->within(offsets, n, from * job->stride, to * job->stride, spare);
      w->one(job->dense + i * job->dense_step * w->width, job->dense_step, job->indexed, &strip);
    }
  }
}

/* False: not worth it (sums wait for what they read), or not known where positions lead. The number
 * of parts changes no result. */
static bool run_parts(luc_context *ctx, walk *w) {
  const luc_index_job *job = w->job;
  int threads = luc_get_num_threads(ctx);
  if (job->op != LUC_INDEX_PUT || job->n < PART_POSITIONS || threads == 1) return false;
  if (job->positions.size * w->width < PARTED_BYTES || job->stride <= 0) return false;
  w->blocks = threads < MOST_PARTS ? threads : MOST_PARTS;
  begin_all(ctx, job);
  luc__parallel_for(ctx, w->blocks, 1, parts_piece, w);
  return true;
}

/* ---- running ---- */

/* Short rows without gaps move as elements of their width. */
static void widen(luc_index_job *job, int64_t *width) {
  const luc_index_dims *row = &job->inner;
  bool moves = job->op == LUC_INDEX_GET || job->op == LUC_INDEX_PUT;
  if (job->own || !moves || row->ndim != 1 || row->indexed[0] != 1 || row->dense[0] != 1) return;
  const int64_t n = row->sizes[0];
  if (!movement_of(n * *width) || job->stride % n || job->dense_step % n) return;
  for (int d = 0; d < job->outer.ndim; d++)
    if (job->outer.indexed[d] % n || job->outer.dense[d] % n) return;
  for (int d = 0; d < job->outer.ndim; d++) {
    job->outer.indexed[d] /= n;
    job->outer.dense[d] /= n;
  }
  job->stride /= n;
  job->dense_step /= n;
  job->inner.ndim = 0;
  *width *= n;
}

/* Dims in the order of their strides, the largest first. */
static luc_index_dims sorted(const luc_index_dims *dims, bool by_dense) {
  luc_index_dims left = *dims, r = {0};
  int64_t *by = by_dense ? left.dense : left.indexed;
  while (r.ndim < left.ndim) {
    int far = 0;
    for (int d = 1; d < left.ndim; d++)
      if (by[d] > by[far]) far = d;
    const luc_index_dims one = {1, {left.sizes[far]}, {dims->indexed[far]}, {dims->dense[far]}};
    append(&r, &one);
    by[far] = -1;
  }
  return r;
}

/* Lines and rows may be walked in any order: as they lie in the memory that is written. There one
 * position has long rows alone (for sums, without gaps), but where these are multiplied. */
static void arrange(luc_index_job *job) {
  luc_index_dims all = job->op == LUC_INDEX_GET ? (luc_index_dims){0} : job->outer;
  append(&all, &job->inner);
  all = sorted(&all, job->op == LUC_INDEX_GET);
  job->inner = all;
  if (job->op == LUC_INDEX_GET) return;
  all = merged(&all);
  const int last = all.ndim - 1;
  bool whole = job->n == 1 && job->alpha == 0 && last >= 0 && all.sizes[last] >= LONG_ROW;
  if (job->op != LUC_INDEX_PUT) whole = whole && all.indexed[last] == 1 && all.dense[last] == 1;
  job->outer.ndim = job->inner.ndim = 0;
  for (int d = 0; d < all.ndim; d++) {
    const luc_index_dims one = {1, {all.sizes[d]}, {all.indexed[d]}, {all.dense[d]}};
    append(whole || one.indexed[0] < job->stride ? &job->inner : &job->outer, &one);
  }
}

/* How a call is cut. How many parts rows have changes no result; whole ones go fastest, but for own
 * positions. */
static void cut(luc_context *ctx, walk *w) {
  const int64_t threads = luc_get_num_threads(ctx);
  const int64_t most = w->job->own || threads > MANY ? MANY : threads;
  bool few = w->outer_count < MANY && w->row >= 2 * BLOCK;
  w->blocks = !few ? 1 : w->row < most * BLOCK ? w->row / BLOCK : most;
  w->grain = GRAIN_BYTES * w->outer_count * w->blocks / (w->bytes * w->job->n) + 1;
}

bool luc__index_run(luc_context *ctx, const luc_index_job *given) {
  luc_index_job job = *given;
  if (job.own && job.n == 1) { /* one position for each line is one long row */
    append(&job.outer, &job.inner);
    job.inner = job.outer;
    job.outer.ndim = 0;
  }
  if (!job.own) arrange(&job);
  job.outer = merged(&job.outer);
  job.inner = merged(&job.inner);
  int64_t places[STRIP];
  atomic_bool bad = false;
  walk w = {.job = &job, .places = places, .bad = &bad};
  w.width = (int64_t)luc__dtype_size(job.dtype);
  w.kernels = luc__kernels(ctx)->index;
  w.move = luc__kernels(ctx)->copy->move[luc__log2(w.width)];
  w.runs = luc__kernels(ctx)->copy->runs[luc__log2(w.width)];
  w.on_run = kernel_of(ctx, job.op, job.dtype);
  if (job.op == LUC_INDEX_ADD && (job.dtype == LUC_FLOAT32 || job.dtype == LUC_FLOAT64))
    w.add_rows = w.kernels->add_rows[job.dtype == LUC_FLOAT64];
  widen(&job, &w.width);
  w.one = table_of(w.kernels, job.op, job.dtype, w.width);
  w.outer = job.outer;
  w.rows = job.inner;
  w.outer_count = product(&w.outer);
  int64_t each = w.outer_count * product(&w.rows);
  if (job.n == 0 || each == 0) {
    begin_all(ctx, &job);
    return true;
  }
  w.bytes = each * w.width;
  w.line = job.n * product(&w.rows);
  w.row = w.row_indexed = w.row_dense = w.many = 1;
  if (w.rows.ndim) {
    int last = --w.rows.ndim;
    w.row = w.rows.sizes[last];
    w.row_indexed = w.rows.indexed[last];
    w.row_dense = w.rows.dense[last];
  }
  if (w.rows.ndim && job.op == LUC_INDEX_GET && !job.own) {
    int last = --w.rows.ndim;
    w.many = w.rows.sizes[last];
    w.many_indexed = w.rows.indexed[last];
    w.many_dense = w.rows.dense[last];
  }
  cut(ctx, &w);
  if (each != 1 || !run_parts(ctx, &w)) (job.own ? run_own : run_shared)(ctx, &w);
  return !atomic_load_explicit(&bad, memory_order_relaxed);
}

/* ---- offsets ---- */

void luc__offsets_grid(int64_t *offsets, int ndim, const int64_t *sizes, const int64_t *strides) {
  int64_t at[LUC_MAX_DIMS] = {0}, rows = 1, base = 0;
  int last = ndim - 1;
  int64_t row = ndim ? sizes[last] : 1, step = ndim ? strides[last] : 0;
  for (int d = 0; d < last; d++) rows *= sizes[d];
  if (row == 0) return;
  for (int64_t r = 0; r < rows; r++, offsets += row) {
    for (int64_t i = 0; i < row; i++) offsets[i] = base + i * step;
    for (int d = last - 1; d >= 0; d--) {
      base += strides[d];
      if (++at[d] < sizes[d]) break;
      base -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}
