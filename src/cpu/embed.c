/* Embedding lookups and their gradient. The gradient is summed in the order of the indices, columns
 * in parallel, so that it is the same for any number of threads. */
#include "cpu/embed.h"

#include <string.h>

#include "cpu/gemm.h"

enum { PIECE_BYTES = 1 << 16, COLUMN_BLOCK = 64 };

typedef struct job {
  int64_t n, dim, rows, padding, size; /* size: bytes of an element */
  const int64_t *indices, *counts;     /* counts: NULL, or how often each row was looked up */
  const char *from;
  char *to;
} job;

int64_t luc__index_check(const int64_t *indices, int64_t n, int64_t limit, int64_t except) {
  for (int64_t i = 0; i < n; i++)
    if ((indices[i] < 0 || indices[i] >= limit) && indices[i] != except) return i;
  return -1;
}

static void lookup(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t bytes = j->dim * j->size;
  for (int64_t i = begin; i < end; i++)
    memcpy(j->to + i * bytes, j->from + j->indices[i] * bytes, (size_t)bytes);
}

luc_status luc__embedding(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                          const void *table, const int64_t *indices, void *out) {
  job j = {.dim = dim, .size = (int64_t)luc__dtype_size(dtype), .indices = indices};
  j.from = table, j.to = out;
  if (dim <= 0) return LUC_OK;
  luc__parallel_for(ctx, n, PIECE_BYTES / (dim * j.size) + 1, lookup, &j);
  return LUC_OK;
}

/* Columns [begin, end) of the sums, by dtype. */
static void scatter_f32(const job *j, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < j->n; i++) {
    if (j->indices[i] == j->padding) continue;
    float *to = (float *)j->to + j->indices[i] * j->dim;
    const float *from = (const float *)j->from + i * j->dim;
    float scale = j->counts ? 1.0f / (float)j->counts[j->indices[i]] : 1.0f;
    for (int64_t k = begin; k < end; k++) to[k] += from[k] * scale;
  }
}

static void scatter_f64(const job *j, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < j->n; i++) {
    if (j->indices[i] == j->padding) continue;
    double *to = (double *)j->to + j->indices[i] * j->dim;
    const double *from = (const double *)j->from + i * j->dim;
    double scale = j->counts ? 1.0 / (double)j->counts[j->indices[i]] : 1.0;
    for (int64_t k = begin; k < end; k++) to[k] += from[k] * scale;
  }
}

static void scatter(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  begin *= COLUMN_BLOCK;
  end = end * COLUMN_BLOCK < j->dim ? end * COLUMN_BLOCK : j->dim;
  if (j->size == sizeof(double))
    scatter_f64(j, begin, end);
  else
    scatter_f32(j, begin, end);
}

/* How often each row is looked up, in a new block of rows entries. */
static int64_t *count_rows(luc_context *ctx, const job *j, size_t *bytes) {
  *bytes = luc__mul_size((size_t)j->rows, sizeof(int64_t));
  int64_t *counts = luc__alloc_zero(ctx, *bytes);
  for (int64_t i = 0; counts && i < j->n; i++) counts[j->indices[i]]++;
  return counts;
}

luc_status luc__embedding_backward(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                                   int64_t rows, int64_t padding, bool scale_by_freq,
                                   const void *dy, const int64_t *indices, void *dtable) {
  job j = {.n = n, .dim = dim, .rows = rows, .padding = padding, .indices = indices};
  j.size = (int64_t)luc__dtype_size(dtype);
  j.from = dy, j.to = dtable;
  int64_t *counts = NULL;
  size_t bytes = 0;
  if (scale_by_freq) {
    j.counts = counts = count_rows(ctx, &j, &bytes);
    if (!counts) return LUC_ERR_MEMORY;
  }
  memset(dtable, 0, (size_t)(rows * dim * j.size));
  int64_t blocks = (dim + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
  int64_t grain = PIECE_BYTES / ((n + 1) * COLUMN_BLOCK * j.size) + 1;
  luc__parallel_for(ctx, blocks, grain, scatter, &j);
  luc__free(ctx, counts, bytes);
  return LUC_OK;
}

typedef struct bag_job {
  int64_t n, dim;
  const int64_t *indices, *bag;
  const void *table;
  void *out;
  bool wide; /* float64 */
} bag_job;

/* to += four rows, one after another. */
static void add_four_f32(float *to, const float *const *rows, int64_t dim) {
  const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  for (int64_t k = 0; k < dim; k++) to[k] = to[k] + a[k] + b[k] + c[k] + d[k];
}
static void add_four_f64(double *to, const double *const *rows, int64_t dim) {
  const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  for (int64_t k = 0; k < dim; k++) to[k] = to[k] + a[k] + b[k] + c[k] + d[k];
}

static void sum_bag(const bag_job *j, int64_t bag, int64_t begin, int64_t end) {
  const luc_dtype dtype = j->wide ? LUC_FLOAT64 : LUC_FLOAT32;
  const int64_t bytes = j->dim * (j->wide ? 8 : 4);
  char *to = (char *)j->out + bag * bytes;
  const void *rows[4];
  memset(to, 0, (size_t)bytes);
  for (; begin + 4 <= end; begin += 4) {
    for (int i = 0; i < 4; i++) rows[i] = (const char *)j->table + j->indices[begin + i] * bytes;
    if (j->wide)
      add_four_f64((double *)(void *)to, (const double *const *)rows, j->dim);
    else
      add_four_f32((float *)(void *)to, (const float *const *)rows, j->dim);
  }
  for (; begin < end; begin++)
    luc__add_elements(dtype, to, (const char *)j->table + j->indices[begin] * bytes, j->dim);
}

/* The first entry that is of this bag or a later one. */
static int64_t first_of(const bag_job *j, int64_t bag) {
  int64_t low = 0, high = j->n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (j->bag[middle] < bag)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void sum_bags(void *arg, int64_t begin, int64_t end) {
  const bag_job *j = arg;
  int64_t at = first_of(j, begin);
  for (int64_t bag = begin; bag < end; bag++) {
    int64_t next = at;
    while (next < j->n && j->bag[next] == bag) next++;
    sum_bag(j, bag, at, next);
    at = next;
  }
}

void luc__bag_sum(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim, int64_t bags,
                  const void *table, const int64_t *indices, const int64_t *bag, void *out) {
  bag_job j = {n, dim, indices, bag, table, out, dtype == LUC_FLOAT64};
  if (bags <= 0 || dim <= 0) return;
  const int64_t bytes = (n / bags + 1) * dim * (int64_t)luc__dtype_size(dtype);
  luc__parallel_for(ctx, bags, PIECE_BYTES / bytes + 1, sum_bags, &j);
}

void luc__bag_argmax(const double *rows, const int64_t *bag, int64_t n, int64_t dim, int64_t bags,
                     int64_t *at) {
  for (int64_t i = 0; i < bags * dim; i++) at[i] = -1;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < dim; k++) {
      int64_t *best = &at[bag[i] * dim + k];
      if (*best < 0 || rows[i * dim + k] > rows[*best * dim + k]) *best = i;
    }
  for (int64_t i = 0; i < bags * dim; i++)
    if (at[i] < 0) at[i] = 0;
}
