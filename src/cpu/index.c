/* The two steps of indexing. Reading is cut into pieces for the pool; writing stays in order, so
 * that equal positions give the same result on any number of threads. */
#include "cpu/index.h"

#include <string.h>

/* ---- loops per element width and per dtype ---- */

typedef uint64_t word128 __attribute__((vector_size(16), may_alias, aligned(8)));

#define T       uint8_t
#define NAME(x) x##_8
#include "cpu/index_move.inc"
#define T       uint16_t
#define NAME(x) x##_16
#include "cpu/index_move.inc"
#define T       uint32_t
#define NAME(x) x##_32
#include "cpu/index_move.inc"
#define T       uint64_t
#define NAME(x) x##_64
#include "cpu/index_move.inc"
#define T       word128
#define NAME(x) x##_128
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

typedef void (*row_fn)(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n);
typedef luc_index_table_fn table_fn;

enum { GRAIN_BYTES = 1 << 18 };

typedef struct arithmetic {
  row_fn add, mul;
  table_fn put_add, put_mul;
} arithmetic;

/* ORDER DTYPE */
static const arithmetic by_dtype[LUC_NUM_DTYPES] = {
    {add_float32, mul_float32, put_add_float32, put_mul_float32},
    {add_float64, mul_float64, put_add_float64, put_mul_float64},
    {add_float16, mul_float16, put_add_float16, put_mul_float16},
    {add_bfloat16, mul_bfloat16, put_add_bfloat16, put_mul_bfloat16},
    {add_int8, mul_int8, put_add_int8, put_mul_int8},
    {add_uint8, mul_uint8, put_add_uint8, put_mul_uint8},
    {add_int16, mul_int16, put_add_int16, put_mul_int16},
    {add_int32, mul_int32, put_add_int32, put_mul_int32},
    {add_int64, mul_int64, put_add_int64, put_mul_int64},
    {add_bool, mul_bool, put_add_bool, put_mul_bool},
    {add_complex64, mul_complex64, put_add_complex64, put_mul_complex64},
    {add_complex128, mul_complex128, put_add_complex128, put_mul_complex128},
};

typedef struct movement {
  row_fn copy;
  table_fn get, put;
} movement;

static movement movement_of(size_t width) {
  switch (width) {
  case 1: return (movement){copy_8, get_8, put_8};
  case 2: return (movement){copy_16, get_16, put_16};
  case 4: return (movement){copy_32, get_32, put_32};
  case 16: return (movement){copy_128, get_128, put_128};
  default: return (movement){copy_64, get_64, put_64};
  }
}

static table_fn table_of(luc_index_op op, luc_dtype dtype) {
  const arithmetic *sums = &by_dtype[dtype];
  movement move = movement_of(luc__dtype_size(dtype));
  switch (op) {
  case LUC_INDEX_GET: return move.get;
  case LUC_INDEX_PUT: return move.put;
  case LUC_INDEX_ADD: return sums->put_add;
  case LUC_INDEX_MAX:
  case LUC_INDEX_MIN: return luc__index_extreme(op, dtype);
  default: return sums->put_mul;
  }
}

/* ---- the walk over outer, positions, inner ---- */

typedef struct walk {
  const luc_index_job *job;
  luc_index_dims outer, rows; /* inner without its last dimension, which is the row */
  int64_t row, row_indexed, row_dense;
  size_t width;
  row_fn on_row;
  table_fn on_table;
} walk;

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

static void one_row(const walk *w, int64_t indexed, int64_t dense) {
  const luc_index_job *job = w->job;
  char *x = job->indexed + indexed * (int64_t)w->width;
  char *y = job->dense + dense * (int64_t)w->width;
  bool even = w->row_indexed == 1 && w->row_dense == 1;
  if (job->op == LUC_INDEX_GET) {
    if (even)
      memcpy(y, x, (size_t)w->row * w->width);
    else
      w->on_row(y, w->row_dense, x, w->row_indexed, w->row);
  } else if (even && job->op == LUC_INDEX_PUT) {
    memcpy(x, y, (size_t)w->row * w->width);
  } else {
    w->on_row(x, w->row_indexed, y, w->row_dense, w->row);
  }
}

static void positions(const walk *w, int64_t indexed, int64_t dense, int64_t begin, int64_t end) {
  const luc_index_job *job = w->job;
  if (w->row == 1 && w->rows.ndim == 0) {
    char *y = job->dense + (dense + begin * job->dense_step) * (int64_t)w->width;
    char *x = job->indexed + indexed * (int64_t)w->width;
    w->on_table(y, job->dense_step, x, job->offsets + begin, end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    int64_t at[LUC_MAX_DIMS] = {0}, x = indexed + job->offsets[i], y = dense + i * job->dense_step;
    do one_row(w, x, y);
    while (next(&w->rows, at, &x, &y));
  }
}

static void piece(void *arg, int64_t begin, int64_t end) {
  const walk *w = arg;
  int64_t at[LUC_MAX_DIMS] = {0}, x = 0, y = 0;
  do positions(w, x, y, begin, end);
  while (next(&w->outer, at, &x, &y));
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

static int64_t product(const luc_index_dims *d) {
  int64_t n = 1;
  for (int k = 0; k < d->ndim; k++) n *= d->sizes[k];
  return n;
}

void luc__index_run(luc_context *ctx, const luc_index_job *job) {
  walk w = {.job = job, .outer = merged(&job->outer), .rows = merged(&job->inner)};
  int64_t each = product(&w.outer) * product(&w.rows);
  if (job->n == 0 || each == 0) return;
  w.width = luc__dtype_size(job->dtype);
  w.row = w.row_indexed = w.row_dense = 1;
  if (w.rows.ndim) {
    int last = --w.rows.ndim;
    w.row = w.rows.sizes[last];
    w.row_indexed = w.rows.indexed[last];
    w.row_dense = w.rows.dense[last];
  }
  movement move = movement_of(w.width);
  const arithmetic *sums = &by_dtype[job->dtype];
  w.on_row = job->op == LUC_INDEX_ADD   ? sums->add
             : job->op == LUC_INDEX_MUL ? sums->mul
                                        : move.copy;
  w.on_table = table_of(job->op, job->dtype);
  int64_t grain = GRAIN_BYTES / (each * (int64_t)w.width) + 1;
  if (job->op == LUC_INDEX_GET && job->n > grain)
    luc__parallel_for(ctx, job->n, grain, piece, &w);
  else
    piece(&w, 0, job->n);
}

/* ---- gather and scatter: a position for every place ---- */

/* v and size - 1 - v are both at least 0 just when v is in range: one sign bit tells for many. */
int64_t luc__index_first_bad(const int64_t *index, int64_t n, int64_t size) {
  enum { STRIP = 512 };
  uint64_t last = (uint64_t)size - 1;
  for (int64_t i = 0; i < n; i += STRIP) {
    int64_t m = n - i < STRIP ? n - i : STRIP;
    uint64_t signs = size == 0 ? UINT64_MAX : 0;
    for (int64_t j = i; j < i + m; j++) signs |= (uint64_t)index[j] | (last - (uint64_t)index[j]);
    for (int64_t j = i; signs >> 63 && j < i + m; j++)
      if (index[j] < 0 || index[j] >= size) return j;
  }
  return -1;
}

typedef struct gather_walk {
  const luc_gather_job *job;
  table_fn on_table;
  int64_t row, step;
  int64_t width;
} gather_walk;

/* One row of the index, in strips whose offsets stay in cache. */
static void gather_row(const gather_walk *w, int64_t r, int64_t base) {
  enum { STRIP = 512 };
  const luc_gather_job *job = w->job;
  int64_t offsets[STRIP], stride = job->stride, step = w->step;
  if (step == 0 && stride == 1) { /* along the last dimension: the index is the table */
    char *row = job->indexed + base * w->width;
    w->on_table(job->dense + r * w->row * job->dense_step * w->width, job->dense_step, row,
                job->index + r * w->row, w->row);
    return;
  }
  for (int64_t i = 0; i < w->row; i += STRIP) {
    int64_t m = w->row - i < STRIP ? w->row - i : STRIP, at = r * w->row + i;
    const int64_t *index = job->index + at;
    for (int64_t j = 0; j < m; j++) offsets[j] = base + (i + j) * step + index[j] * stride;
    w->on_table(job->dense + at * job->dense_step * w->width, job->dense_step, job->indexed,
                offsets, m);
  }
}

static void gather_rows(void *arg, int64_t begin, int64_t end) {
  const gather_walk *w = arg;
  const luc_gather_job *job = w->job;
  int64_t at[LUC_MAX_DIMS] = {0}, base = 0, rest = begin;
  int last = job->ndim - 1;
  for (int d = last - 1; d >= 0; d--) {
    at[d] = rest % job->sizes[d];
    rest /= job->sizes[d];
    base += at[d] * job->strides[d];
  }
  for (int64_t r = begin; r < end; r++) {
    gather_row(w, r, base);
    for (int d = last - 1; d >= 0; d--) {
      base += job->strides[d];
      if (++at[d] < job->sizes[d]) break;
      base -= at[d] * job->strides[d];
      at[d] = 0;
    }
  }
}

void luc__gather_run(luc_context *ctx, const luc_gather_job *job) {
  gather_walk w = {.job = job, .on_table = table_of(job->op, job->dtype)};
  int64_t rows = 1;
  int last = job->ndim - 1;
  w.width = (int64_t)luc__dtype_size(job->dtype);
  w.row = job->ndim ? job->sizes[last] : 1;
  w.step = job->ndim ? job->strides[last] : 0;
  for (int d = 0; d < last; d++) rows *= job->sizes[d];
  if (w.row == 0 || rows == 0) return;
  int64_t grain = GRAIN_BYTES / (w.row * w.width) + 1;
  if (job->op == LUC_INDEX_GET && rows > grain)
    luc__parallel_for(ctx, rows, grain, gather_rows, &w);
  else
    gather_rows(&w, 0, rows);
}

void luc__mask_fill(char *data, const bool *mask, int64_t n, const void *value, size_t width) {
  switch (width) {
  case 1: fill_8(data, mask, n, value); break;
  case 2: fill_16(data, mask, n, value); break;
  case 4: fill_32(data, mask, n, value); break;
  case 16: fill_128(data, mask, n, value); break;
  default: fill_64(data, mask, n, value); break;
  }
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

int64_t luc__offsets_add(int64_t *offsets, const int64_t *index, int64_t n, int64_t size,
                         int64_t stride, bool negative) {
  int64_t bad = luc__index_first_bad(index, n, size);
  if (bad < 0) {
    for (int64_t i = 0; i < n; i++) offsets[i] += index[i] * stride;
    return -1;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t v = index[i];
    if (negative && v < 0) v = (int64_t)((uint64_t)v + (uint64_t)size);
    if (v < 0 || v >= size) return i;
    offsets[i] += v * stride;
  }
  return -1;
}

int64_t luc__mask_count(const bool *mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) count += mask[i];
  return count;
}

void luc__offsets_masked(int64_t *offsets, const bool *mask, int ndim, const int64_t *sizes,
                         const int64_t *strides) {
  int64_t at[LUC_MAX_DIMS] = {0}, rows = 1, base = 0;
  int last = ndim - 1;
  int64_t row = ndim ? sizes[last] : 1, step = ndim ? strides[last] : 0;
  for (int d = 0; d < last; d++) rows *= sizes[d];
  if (row == 0) return;
  for (int64_t r = 0; r < rows; r++, mask += row) {
    for (int64_t i = 0; i < row; i++)
      if (mask[i]) *offsets++ = base + i * step;
    for (int d = last - 1; d >= 0; d--) {
      base += strides[d];
      if (++at[d] < sizes[d]) break;
      base -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}

void luc__mask_positions(int64_t *out, const bool *mask, int ndim, const int64_t *sizes,
                         int64_t dim_step, int64_t item_step) {
  int64_t at[LUC_MAX_DIMS] = {0}, numel = 1;
  for (int d = 0; d < ndim; d++) numel *= sizes[d];
  for (int64_t i = 0; i < numel; i++) {
    if (mask[i]) {
      for (int d = 0; d < ndim; d++) out[d * dim_step] = at[d];
      out += item_step;
    }
    for (int d = ndim - 1; d >= 0; d--) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}
