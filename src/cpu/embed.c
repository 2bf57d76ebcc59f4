/* Embedding lookups, sums and maxima of bags of rows, and the gradient of lookups: each row of the
 * table is the sum of the bag of those who looked it up, in their order, by whichever thread. */
#include "cpu/embed.h"

#include <string.h>

#include "cpu/index_kernels.h"
#include "cpu/kernels.h"
#include "cpu/sort.h"

enum { PIECE_BYTES = 1 << 16 };

typedef struct job {
  int64_t dim, size, apart; /* bytes of an element; from row to row of the table */
  const int64_t *indices;
  const char *from;
  char *to;
} job;

int64_t luc__index_check(const int64_t *indices, int64_t n, int64_t limit, int64_t except) {
  for (int64_t i = 0; i < n; i++)
    if ((indices[i] < 0 || indices[i] >= limit) && indices[i] != except) return i;
  return -1;
}

/* Short rows of a size that the compiler knows, or of any. */
static inline __attribute__((always_inline)) void copy_rows(const job *j, int64_t begin,
                                                            int64_t end, const int64_t bytes) {
  const int64_t apart = j->apart;
  for (int64_t i = begin; i < end; i++)
    memcpy(j->to + i * bytes, j->from + j->indices[i] * apart, (size_t)bytes);
}

static void lookup(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t bytes = j->dim * j->size;
  switch (bytes) {
  case 4: copy_rows(j, begin, end, 4); break;
  case 8: copy_rows(j, begin, end, 8); break;
  case 16: copy_rows(j, begin, end, 16); break;
  case 32: copy_rows(j, begin, end, 32); break;
  case 64: copy_rows(j, begin, end, 64); break;
  default: copy_rows(j, begin, end, bytes);
  }
}

luc_status luc__embedding(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                          const void *table, int64_t apart, const int64_t *indices, void *out) {
  job j = {.dim = dim, .size = (int64_t)luc__dtype_size(dtype), .indices = indices};
  j.from = table, j.to = out, j.apart = apart * j.size;
  if (dim <= 0) return LUC_OK;
  luc__parallel_for(ctx, n, PIECE_BYTES / (dim * j.size) + 1, lookup, &j);
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

static void fold_bags(void *arg, int64_t begin, int64_t end) {
  const bag_job *j = arg;
  const luc_bags *b = j->bags;
  const int type = b->dtype == LUC_FLOAT64;
  const int64_t size = type ? 8 : 4, bytes = b->dim * (j->at ? 8 : size);
  char *out = j->sums ? j->sums : (char *)j->at;
  int64_t at = first_of(b, begin), next = at;
  for (int64_t bag = begin; bag < end; at = next) {
    while (next < b->n && b->bag[next] == bag) next++;
    char *to = out + bag * bytes;
    if (next == at) { /* empty ones, all before the next that is not */
      const int64_t full = next < b->n && b->bag[next] < end ? b->bag[next] : end;
      memset(to, 0, (size_t)((full - bag) * bytes));
      bag = full;
      continue;
    }
    const char *scales = b->scales ? (const char *)b->scales + at * size : NULL;
    if (j->sums)
      j->kernels->bag_sum[b->dtype](to, b->table, b->rows + at, scales, next - at, b->dim);
    else
      j->kernels->bag_argmax[type]((int64_t *)to, b->table, b->rows + at, next - at, b->dim);
    bag++;
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

/* ---- the gradient ---- */

/* Entries in the order of their rows, those of one row in their own order: bag[k] is the row of
 * entry at[k]. `ends` [rows] begins as zeros; padding is left out. Returns how many there are. */
static int64_t sort_entries(const luc_lookups *l, int64_t rows, int64_t *ends, int64_t *at,
                            int64_t *bag) {
  const int64_t *indices = l->indices, n = l->n;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) ends[indices[i]]++;
  if (l->padding >= 0) ends[l->padding] = 0;
  for (int64_t row = 0; row < rows; row++) {
    const int64_t begin = count;
    count += ends[row];
    ends[row] = begin;
  }
  for (int64_t i = 0; i < n; i++) {
    if (indices[i] == l->padding) continue;
    const int64_t k = ends[indices[i]]++;
    at[k] = i;
    bag[k] = indices[i];
  }
  return count;
}

/* row = kernel(row, other) for so many elements; other may be NULL. Halves without a kernel of
 * their own go through floats. */
static void write_row(luc_context *ctx, luc_ew op, const luc_ew_params *params, luc_dtype dtype,
                      char *row, const char *other, int64_t n) {
  enum { CHUNK = 256 };
  const luc_ew_fn *fn = luc__kernels(ctx)->elementwise[op].fn;
  const luc_ew_fn own = fn[luc__elementwise_type(dtype)];
  if (own != NULL) {
    own(row, (const void *[LUC_EW_MAX_INPUTS]){row, other}, n, params, 0);
    return;
  }
  const luc_copy_kernels *copy = luc__kernels(ctx)->copy;
  const luc_load_fn load = copy->load[LUC_COMPUTE_F32][dtype];
  const int64_t size = (int64_t)luc__dtype_size(dtype);
  float wide[2][CHUNK];
  for (int64_t at = 0; at < n; at += CHUNK) {
    const int64_t count = n - at < CHUNK ? n - at : CHUNK;
    load(wide[0], row + at * size, size, count);
    if (other) load(wide[1], other + at * size, size, count);
    fn[LUC_COMPUTE_F32](wide[0], (const void *[LUC_EW_MAX_INPUTS]){wide[0], wide[1]}, count, params,
                        0);
    copy->store[LUC_COMPUTE_F32][dtype](row + at * size, size, wide[0], count);
  }
}

void luc__scale_rows(luc_context *ctx, luc_dtype dtype, int64_t dim, void *table, double factor,
                     const int64_t *at, int64_t n) {
  const luc_ew_params by = {.f = {factor}};
  const int64_t bytes = dim * (int64_t)luc__dtype_size(dtype);
  for (int64_t i = 0; i < n; i++)
    write_row(ctx, LUC_EW_scaled, &by, dtype, (char *)table + at[i] * bytes, NULL, dim);
}

/* Each row divided by how many entries it is the sum of. */
static void divide_by_counts(luc_context *ctx, const luc_bags *b, void *sums) {
  const luc_dtype dtype = b->dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  for (int64_t k = 0, end; k < b->n; k = end) {
    for (end = k + 1; end < b->n && b->bag[end] == b->bag[k];) end++;
    const int64_t count = end - k;
    const double part = dtype == LUC_FLOAT64 ? 1.0 / (double)count : 1.0f / (float)count;
    luc__scale_rows(ctx, dtype, b->dim, sums, part, &b->bag[k], 1);
  }
}

/* Rows of dy in the bags of the table's rows. */
luc_status luc__embedding_backward(luc_context *ctx, const luc_lookups *l, int64_t rows,
                                   void *dtable) {
  const size_t bytes = luc__mul_size((size_t)rows, sizeof(int64_t));
  const size_t entries = luc__mul_size((size_t)l->n, 2 * sizeof(int64_t));
  int64_t *ends = luc__alloc_zero(ctx, bytes), *at = luc__alloc(ctx, entries);
  const bool room = (ends || !bytes) && (at || !entries);
  if (room) {
    luc_bags b = {.dtype = l->dtype, .dim = l->dim, .count = rows, .table = l->dy, .rows = at};
    b.bag = at + l->n;
    b.n = sort_entries(l, rows, ends, at, at + l->n);
    luc__bag_sum(ctx, &b, dtable);
    if (l->scale_by_freq) divide_by_counts(ctx, &b, dtable);
  }
  luc__free(ctx, ends, bytes);
  luc__free(ctx, at, entries);
  return room ? LUC_OK : LUC_ERR_MEMORY;
}

luc_status luc__embedding_rows(luc_context *ctx, const luc_lookups *l, int64_t *at, int64_t *count,
                               void *sums) {
  const int64_t n = l->n;
  const size_t bytes = luc__mul_size((size_t)n, 3 * sizeof(int64_t));
  int64_t *sorted = luc__alloc(ctx, bytes);
  if (!sorted) return LUC_ERR_MEMORY;
  int64_t *order = sorted + n, *bag = order + n;
  luc_sort_job sort = {.dtype = LUC_INT64, .outer = 1, .n = n, .inner = 1, .keep = n};
  sort.x = l->indices, sort.values = sorted, sort.indices = order;
  luc_status status = luc__sort(ctx, &sort);
  luc_bags b = {.dtype = l->dtype, .dim = l->dim, .table = l->dy, .rows = order, .bag = bag};
  for (int64_t i = 0; i < n && status == LUC_OK; i++) {
    if (sorted[i] == l->padding) continue;
    if (b.count == 0 || at[b.count - 1] != sorted[i]) at[b.count++] = sorted[i];
    order[b.n] = order[i];
    bag[b.n++] = b.count - 1;
  }
  if (status == LUC_OK) luc__bag_sum(ctx, &b, sums);
  if (status == LUC_OK && l->scale_by_freq) divide_by_counts(ctx, &b, sums);
  *count = b.count;
  luc__free(ctx, sorted, bytes);
  return status;
}

void luc__add_rows(luc_context *ctx, luc_dtype dtype, int64_t dim, void *table, const void *other,
                   const int64_t *at, int64_t n) {
  static const luc_ew_params none;
  const int64_t bytes = dim * (int64_t)luc__dtype_size(dtype);
  for (int64_t i = 0; i < n; i++)
    write_row(ctx, LUC_EW_add, &none, dtype, (char *)table + at[i] * bytes,
              (const char *)other + at[i] * bytes, dim);
}
