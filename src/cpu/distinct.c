/* Distinct elements and rows: in a table of those that were met, or read off what is sorted. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/sort.h"
#include "cpu/sort_pairs.h"

typedef luc_pair pair;

enum { GRAIN = 1 << 14, STRIP = 512 };

static bool is_nan(luc_dtype dtype, uint64_t key) {
  return luc__dtype_is_float(dtype) && key == luc__nan_key(dtype).key;
}

int64_t luc__distinct(luc_context *ctx, luc_dtype dtype, const void *sorted, int64_t n,
                      const int64_t *order, const luc_distinct *to) {
  uint64_t keys[STRIP], last = 0;
  int64_t found = 0, *firsts = to->firsts, *inverse = to->inverse, *counts = to->counts;
  for (int64_t i = 0; i < n; i++) {
    if (i % STRIP == 0)
      luc__kernels(ctx)->sort->keys(sorted, dtype, i, 1, luc__min64(n - i, STRIP), 0, keys);
    const uint64_t key = keys[i % STRIP];
    firsts[found] = i;
    found += (i == 0) | (key != last) | is_nan(dtype, key); /* NaN equals nothing */
    last = key;
    if (inverse) inverse[order[i]] = found - 1 + to->first;
  }
  for (int64_t k = 0; counts && k < found; k++)
    counts[k] = (k + 1 < found ? firsts[k + 1] : n) - firsts[k];
  return found;
}

/* Keys that were met, with their numbers, looked up in twice as many slots, where numbers begin
 * with 1. */
typedef struct key_table {
  pair *slots, *met;
  int64_t most, found;
  int shift;
} key_table;

/* Numbers all elements in the order in which they are met. False: there are too many, or NaN. */
static bool meet(luc_context *ctx, key_table *t, luc_dtype dtype, const void *x, int64_t n,
                 const luc_distinct *to) {
  int64_t *firsts = to->firsts, *inverse = to->inverse, *counts = to->counts;
  uint64_t keys[STRIP];
  pair *const slots = t->slots;
  const uint64_t last = 2 * (uint64_t)t->most - 1;
  const int shift = t->shift;
  for (int64_t i = 0, m; i < n; i += m) {
    m = luc__min64(n - i, STRIP);
    luc__kernels(ctx)->sort->keys(x, dtype, i, 1, m, 0, keys);
    for (int64_t k = 0; k < m; k++) {
      uint64_t at = keys[k] * 0x9E3779B97F4A7C15u >> shift;
      while (slots[at].key != keys[k] && slots[at].at) at = (at + 1) & last;
      if (slots[at].at == 0) {
        if (t->found == t->most || is_nan(dtype, keys[k])) return false;
        firsts[t->found] = i + k;
        if (counts) counts[t->found] = 0;
        t->met[t->found] = (pair){keys[k], t->found};
        slots[at] = (pair){keys[k], ++t->found};
      }
      if (inverse) inverse[i + k] = slots[at].at - 1;
      if (counts) counts[slots[at].at - 1]++;
    }
  }
  return true;
}

/* Puts what was numbered in order. spare: as many pairs as there are. */
static void put_in_order(const luc_sort_kernels *kernels, key_table *t, pair *spare, int64_t n,
                         const luc_distinct *to) {
  int64_t *firsts = to->firsts, *inverse = to->inverse, *counts = to->counts;
  const pair *met = luc__sort_pairs(kernels, t->met, spare, t->found);
  if (met == spare) spare = t->met;
  for (int64_t k = 0; k < t->found; k++)
    spare[k] = (pair){(uint64_t)firsts[k], counts ? counts[k] : 0};
  for (int64_t k = 0; k < t->found; k++) {
    const int64_t number = met[k].at;
    firsts[k] = (int64_t)spare[number].key;
    if (counts) counts[k] = spare[number].at;
    t->slots[number].at = k + to->first;
  }
  for (int64_t i = 0; inverse && i < n; i++) inverse[i] = t->slots[inverse[i]].at;
}

luc_status luc__distinct_few(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                             const luc_distinct *to, int64_t *found) {
  enum { LEAST = 5, MOST = 14 };
  int log = LEAST;
  while (log < MOST && (int64_t)4 << log < n) log++;
  key_table t = {.most = (int64_t)1 << log, .shift = 63 - log};
  const size_t bytes = (size_t)(4 * t.most) * sizeof *t.slots;
  t.slots = luc__alloc(ctx, bytes);
  if (!t.slots) return LUC_ERR_MEMORY;
  t.met = t.slots + 2 * t.most;
  memset(t.slots, 0, bytes / 2);
  *found = 0;
  if (meet(ctx, &t, dtype, x, n, to)) {
    *found = t.found;
    put_in_order(luc__kernels(ctx)->sort, &t, t.met + t.most, n, to);
  }
  luc__free(ctx, t.slots, bytes);
  return LUC_OK;
}

/* Rows of keys, which are compared from the left. */
typedef struct key_rows {
  const luc_sort_kernels *kernels;
  luc_dtype dtype;
  const void *x;
  int64_t width;
  uint64_t *keys;
} key_rows;

static void row_keys(void *arg, int64_t begin, int64_t end) {
  const key_rows *r = arg;
  r->kernels->keys(r->x, r->dtype, begin, 1, end - begin, 0, r->keys + begin);
}

static int compare_rows(const key_rows *r, int64_t a, int64_t b) {
  const uint64_t *x = r->keys + a * r->width, *y = r->keys + b * r->width;
  int64_t i = 0;
  while (i < r->width && x[i] == y[i]) i++;
  return i == r->width ? 0 : x[i] < y[i] ? -1 : 1;
}

/* Equal to the other, which has the same keys, as NaN is not? */
static bool has_nan(const key_rows *r, int64_t a) {
  for (int64_t i = 0; i < r->width; i++)
    if (is_nan(r->dtype, r->keys[a * r->width + i])) return true;
  return false;
}

/* Merges neighbouring stretches of `at`, twice as long each time. */
static void sort_rows(const key_rows *r, int64_t n, int64_t *at, int64_t *spare) {
  for (int64_t length = 1; length < n; length *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * length) {
      int64_t middle = begin + length < n ? begin + length : n;
      int64_t end = middle + length < n ? middle + length : n, a = begin, b = middle;
      for (int64_t k = begin; k < end; k++)
        spare[k] =
            b == end || (a < middle && compare_rows(r, at[a], at[b]) <= 0) ? at[a++] : at[b++];
    }
    memcpy(at, spare, (size_t)n * sizeof *at);
  }
}

luc_status luc__distinct_rows(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                              int64_t width, bool sorted, const luc_distinct *to, int64_t *found) {
  int64_t *counts = to->counts;
  const size_t bytes = luc__mul_size(luc__mul_size((size_t)n, (size_t)width + 2), 8);
  key_rows r = {luc__kernels(ctx)->sort, dtype, x, width, luc__alloc(ctx, bytes)};
  if (!r.keys) return LUC_ERR_MEMORY;
  int64_t *at = (int64_t *)(r.keys + n * width);
  luc__parallel_for(ctx, n * width, GRAIN, row_keys, &r);
  for (int64_t i = 0; i < n; i++) at[i] = i;
  if (sorted) sort_rows(&r, n, at, at + n);
  *found = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || compare_rows(&r, at[i], at[i - 1]) || has_nan(&r, at[i])) {
      to->firsts[*found] = at[i];
      if (counts) counts[*found] = 0;
      ++*found;
    }
    if (counts) counts[*found - 1]++;
    if (to->inverse) to->inverse[at[i]] = *found - 1 + to->first;
  }
  luc__free(ctx, r.keys, bytes);
  return LUC_OK;
}

int64_t luc__distinct_near(const int64_t *x, int64_t n, int64_t low, int64_t range, int64_t *table,
                           const luc_distinct *to) {
  int64_t found = 0, *inverse = to->inverse, *counts = to->counts;
  memset(table, 0, (size_t)range * sizeof *table);
  if (counts)
    for (int64_t i = 0; i < n; i++) table[x[i] - low]++;
  else
    for (int64_t i = 0; i < n; i++) table[x[i] - low] = 1;
  for (int64_t v = 0; v < range; v++) {
    int64_t count = table[v];
    to->firsts[found] = low + v;
    if (counts) counts[found] = count;
    table[v] = found + to->first;
    found += count > 0;
  }
  for (int64_t i = 0; inverse && i < n; i++) inverse[i] = table[x[i] - low];
  return found;
}
