/* Embedding lookups and their gradient. The gradient is summed in the order of the indices, columns
 * in parallel, so that it is the same for any number of threads. */
#include "cpu/embed.h"

#include <string.h>

#include "cpu/index_kernels.h"
#include "cpu/kernels.h"

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

/* ---- bags ---- */

typedef struct bag_job {
  const luc_bags *bags;
  const luc_index_kernels *kernels;
  void *sums;
  int64_t *at; /* one of these two is wanted */
} bag_job;

/* The first entry that is of this bag or a later one. */
static int64_t first_of(const luc_bags *b, int64_t bag) {
  int64_t low = 0, high = b->n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (b->bag[middle] < bag)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void fold_bag(const bag_job *j, int64_t bag, const int64_t *rows, int64_t n) {
  const luc_bags *b = j->bags;
  const int type = b->dtype == LUC_FLOAT64;
  if (j->sums)
    j->kernels->bag_sum[type]((char *)j->sums + bag * b->dim * (type ? 8 : 4), b->table, rows, n,
                              b->dim);
  else if (n > 0)
    j->kernels->bag_argmax[type](j->at + bag * b->dim, b->table, rows, n, b->dim);
  else
    memset(j->at + bag * b->dim, 0, (size_t)b->dim * sizeof *j->at);
}

static void fold_bags(void *arg, int64_t begin, int64_t end) {
  const bag_job *j = arg;
  const luc_bags *b = j->bags;
  int64_t at = first_of(b, begin);
  for (int64_t bag = begin; bag < end; bag++) {
    int64_t next = at;
    while (next < b->n && b->bag[next] == bag) next++;
    fold_bag(j, bag, b->rows + at, next - at);
    at = next;
  }
}

static void run_bags(luc_context *ctx, bag_job j) {
  const luc_bags *b = j.bags;
  if (b->count <= 0 || b->dim <= 0) return;
  const int64_t bytes = (b->n / b->count + 1) * b->dim * (int64_t)luc__dtype_size(b->dtype);
  luc__parallel_for(ctx, b->count, PIECE_BYTES / bytes + 1, fold_bags, &j);
}

void luc__bag_sum(luc_context *ctx, const luc_bags *bags, void *out) {
  run_bags(ctx, (bag_job){bags, luc__kernels(ctx)->index, out, NULL});
}

void luc__bag_argmax(luc_context *ctx, const luc_bags *bags, int64_t *at) {
  run_bags(ctx, (bag_job){bags, luc__kernels(ctx)->index, NULL, at});
}
