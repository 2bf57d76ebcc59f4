/* Padding by rows. A row of the padded memory is three runs of one row of the other: before, the
 * part that both have, after; rows above and below are those of the rows they stand for. Rows that
 * show one after another go together, part by part. Small items, alike, go by a table of places. */
#include "cpu/pad.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/kernels.h"

/* Rows are written in strips of so many bytes, which stay in the cache for their borders. */
enum { GRAIN = 1 << 14, STRIP = 1 << 14 };
/* Elements that a row takes as long as, beside its own; those of rows and of items that go by a
 * table, as from so many items on. */
enum { ROW = 16, NARROW = 20, SMALL = 4096, SOME = 4 };

typedef struct pad_job {
  const luc_pad *p;
  luc_runs_fn runs;
  luc_pad_fn bordered; /* if rows are such */
  luc_pad_ends ends;
  int64_t size, rows;            /* bytes of an element; padded rows of an item */
  int64_t left, middle, right;   /* of a padded row */
  int64_t first;                 /* where the middle begins in a row of inner */
  int64_t left_from, right_from; /* where the others do */
  int64_t left_step, right_step; /* and their steps in elements */
  int16_t places[SMALL];         /* of small items */
} pad_job;

/* Which of n elements stands at i; -1: none. */
static int64_t source(luc_pad_mode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (n == 0) return -1;
  switch (mode) {
  case LUC_PAD_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
  case LUC_PAD_REPLICATE: return i < 0 ? 0 : n - 1;
  case LUC_PAD_CIRCULAR: return (i % n + n) % n;
  default: return -1;
  }
}

/* Both ends of a row for the kernel; false if they are not narrow. */
static bool describe_ends(pad_job *j) {
  luc_pad_ends *e = &j->ends;
  const int64_t size = j->size, n = j->middle, width = j->left + n + j->right;
  const int64_t whole = LUC_PAD_BYTES / size, parts = size / 4; /* elements; words of one */
  if (parts == 0 || n < whole || j->left >= whole || j->right >= whole) return false;
  e->constant = j->p->mode == LUC_PAD_CONSTANT;
  e->left = j->left * size, e->inside = n * size, e->width = width * size;
  const int64_t tail = 2 * whole - n; /* what is added to places of the last register */
  const int64_t left = e->constant ? whole : j->left_from + (j->left_step == 1 ? tail : 0);
  const int64_t right = e->constant ? 0 : j->right_from + (j->right_step == 1 ? 0 : tail);
  for (int64_t i = 0; i < LUC_PAD_WORDS; i++) {
    const int64_t at = i / parts, k = at - (whole - j->right);
    const int64_t first = at < j->left ? left + at * j->left_step : at - j->left;
    const int64_t last = k < 0 ? at + j->right + whole : right + k * j->right_step;
    e->first[i] = (int32_t)(first * parts + i % parts);
    e->last[i] = (int32_t)(last * parts + i % parts);
    memcpy(&e->value[i], (const char *)&j->p->value + i % parts * 4, 4);
  }
  return true;
}

static void describe(luc_context *ctx, const luc_pad *p, pad_job *j) {
  static const int64_t steps[] = {0, -1, 0, 1}; /* ORDER PAD MODE */
  const int last = p->ndim - 1;
  const int64_t n = p->in[last], width = p->out[last], before = p->before[last];
  j->p = p, j->size = (int64_t)luc__dtype_size(p->dtype);
  j->rows = 1, j->bordered = NULL;
  j->runs = luc__kernels(ctx)->copy->runs[luc__log2(j->size)];
  for (int d = 0; d < last; d++) j->rows *= p->out[d];
  j->first = before < 0 ? -before : 0;
  j->left = before < 0 ? 0 : before < width ? before : width;
  j->middle = n - j->first < width - j->left ? n - j->first : width - j->left;
  if (j->middle < 0) j->middle = 0;
  j->right = width - j->left - j->middle;
  j->left_step = j->right_step = steps[p->mode];
  j->left_from = source(p->mode, -before, n);
  j->right_from = source(p->mode, j->left + j->middle - before, n);
  if (j->middle == n && width > n && n * j->size <= STRIP && describe_ends(j))
    j->bordered = *luc__kernels(ctx)->pad_rows;
}

/* The row of inner that padded row `row` of an item shows; -1: none. */
static int64_t source_row(const luc_pad *p, int64_t row) {
  int64_t at = 0, scale = 1;
  for (int d = p->ndim - 2; d >= 0; d--) {
    const int64_t place = d > 0 ? row % p->out[d] : row;
    const int64_t i = source(p->mode, place - p->before[d], p->in[d]);
    if (i < 0) return -1;
    at += i * scale;
    scale *= p->in[d];
    if (d > 0) row /= p->out[d];
  }
  return at;
}

static int64_t inner_rows(const luc_pad *p) {
  int64_t rows = 1;
  for (int d = 0; d < p->ndim - 1; d++) rows *= p->in[d];
  return rows;
}

/* How many of `left` padded rows from one on, which shows a row of inner, show the next ones. */
static int64_t rows_ahead(const luc_pad *p, int64_t row, int64_t left) {
  const int d = p->ndim - 2;
  if (d < 0) return left;
  const int64_t place = row % p->out[d], i = place - p->before[d];
  if (i < 0 || i >= p->in[d]) return 1;
  return luc__min64(left, luc__min64(p->in[d] - i, p->out[d] - place));
}

/* One part of some rows, from element `from` of inner's. */
static inline void show(const pad_job *j, char *to, const char *row, int64_t from, int64_t step,
                        int64_t n, int64_t rows) {
  const luc_pad *p = j->p;
  const int last = p->ndim - 1;
  const int64_t size = j->size, apart = from < 0 ? 0 : p->in[last] * size;
  const char *at = from < 0 ? (const char *)&p->value : row + from * size;
  const int64_t along = from < 0 ? 0 : n > 1 ? step * size : size;
  if (n > 0) j->runs(to, p->out[last] * size, size, at, apart, along, n, rows);
}

static void pad_rows(void *arg, int64_t begin, int64_t end) {
  const pad_job *j = arg;
  const luc_pad *p = j->p;
  const int64_t n = p->in[p->ndim - 1], width = p->out[p->ndim - 1], rows = inner_rows(p);
  const int64_t strip = STRIP / (width * j->size) + 1, size = j->size;
  char *to = p->outer + begin * width * size;
  for (int64_t i = begin, m; i < end; i += m, to += m * width * size) {
    const int64_t item = i / j->rows, r = i % j->rows, from = source_row(p, r);
    m = from < 0 ? 1 : rows_ahead(p, r, luc__min64(end - i, strip));
    if (from < 0) {
      show(j, to, NULL, -1, 0, width, 1);
      continue;
    }
    const char *row = p->inner + (item * rows + from) * n * size;
    if (j->bordered) {
      j->bordered(to, row, m, &j->ends);
      continue;
    }
    show(j, to, row, j->left_from, j->left_step, j->left, m);
    show(j, to + j->left * size, row, j->first, 1, j->middle, m);
    show(j, to + (j->left + j->middle) * size, row, j->right_from, j->right_step, j->right, m);
  }
}

/* Which element of an item of inner each of outer's shows. */
static void find_places(pad_job *j) {
  const luc_pad *p = j->p;
  const int last = p->ndim - 1;
  const int64_t n = p->in[last], width = p->out[last];
  for (int64_t k = 0; k < width; k++)
    j->places[k] = (int16_t)source(p->mode, k - p->before[last], n);
  for (int64_t r = j->rows - 1; r >= 0; r--) { /* the first row is the table of columns */
    const int64_t row = source_row(p, r) * n;
    for (int64_t k = 0; k < width; k++) j->places[r * width + k] = (int16_t)(row + j->places[k]);
  }
}

#define SHOW(T)                                                                                    \
  for (int64_t k = 0; k < to_n; k++) ((T *)to)[k] = ((const T *)from)[j->places[k]];               \
  break

static void show_items(void *arg, int64_t begin, int64_t end) {
  const pad_job *j = arg;
  const luc_pad *p = j->p;
  const int64_t n = inner_rows(p) * p->in[p->ndim - 1], to_n = j->rows * p->out[p->ndim - 1];
  for (int64_t i = begin; i < end; i++) {
    const void *from = p->inner + i * n * j->size;
    void *to = p->outer + i * to_n * j->size;
    switch (j->size) {
    case 1: SHOW(uint8_t);
    case 2: SHOW(uint16_t);
    case 4: SHOW(uint32_t);
    default: SHOW(uint64_t);
    }
  }
}

void luc__pad(luc_context *ctx, const luc_pad *p) {
  pad_job j;
  describe(ctx, p, &j);
  const int64_t width = p->out[p->ndim - 1], all = width * j.rows;
  const bool narrow = width <= NARROW && j.size <= 8 && !j.bordered;
  const bool small = all > 0 && all <= SMALL && inner_rows(p) * p->in[p->ndim - 1] <= SMALL;
  if (narrow && small && p->ndim > 1 && p->mode != LUC_PAD_CONSTANT && p->items >= SOME) {
    find_places(&j);
    luc__parallel_for(ctx, p->items, GRAIN / all + 1, show_items, &j);
  } else if (all > 0) {
    luc__parallel_for(ctx, p->items * j.rows, GRAIN / (width + ROW) + 1, pad_rows, &j);
  }
}

/* ---- backward ---- */

/* row[from + i * step] += grad[i]; `parts` real numbers an element. */
static void add_back(const pad_job *j, char *row, int64_t from, int64_t step, const char *grad,
                     int64_t n, luc_dtype real, int64_t parts) {
  if (n == 0 || from < 0) return;
  if (step == 1) {
    luc__add_elements(real, row + from * j->size, grad, n * parts);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    luc__add_elements(real, row + (from + i * step) * j->size, grad + i * j->size, parts);
}

static void sum_items(void *arg, int64_t begin, int64_t end) {
  const pad_job *j = arg;
  const luc_pad *p = j->p;
  const int64_t n = p->in[p->ndim - 1], width = p->out[p->ndim - 1], rows = inner_rows(p);
  const bool complex = luc__dtype_is_complex(p->dtype);
  const luc_dtype real = j->size == (complex ? 16 : 8) ? LUC_FLOAT64 : LUC_FLOAT32;
  const int64_t parts = complex ? 2 : 1;
  for (int64_t i = begin; i < end; i++) {
    char *to = p->inner + i * rows * n * j->size;
    const char *g = p->outer + i * j->rows * width * j->size;
    memset(to, 0, (size_t)(rows * n * j->size));
    for (int64_t r = 0, m; r < j->rows; r += m, g += m * width * j->size) {
      const int64_t at = source_row(p, r);
      m = j->middle == width && n == width ? rows_ahead(p, r, j->rows - r) : 1;
      if (at < 0) continue;
      char *row = to + at * n * j->size;
      const char *middle = g + j->left * j->size, *right = middle + j->middle * j->size;
      add_back(j, row, j->left_from, j->left_step, g, j->left, real, parts);
      add_back(j, row, j->first, 1, middle, m * j->middle, real, parts);
      add_back(j, row, j->right_from, j->right_step, right, j->right, real, parts);
    }
  }
}

void luc__pad_backward(luc_context *ctx, const luc_pad *p) {
  pad_job j;
  describe(ctx, p, &j);
  const int64_t work = j.rows * (p->out[p->ndim - 1] + ROW);
  luc__parallel_for(ctx, p->items, GRAIN / (work + 1) + 1, sum_items, &j);
}
