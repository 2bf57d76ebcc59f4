/* Where values go in sorted rows: by binary searches of many at once, in keys of the bounds or, for
 * few values, in the bounds as they lie. */
#include "cpu/search.h"

#include "base/pool.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/sort_kernels.h"

enum { GRAIN = 1 << 14, STRIP = 512 };

typedef struct search {
  const luc_search_job *job;
  const luc_sort_kernels *kernels;
  uint64_t *keys;       /* of all bounds */
  atomic_bool unsorted; /* is a row of them in no order? */
} search;

static void bound_keys(void *arg, int64_t begin, int64_t end) {
  search *s = arg;
  const luc_nan_key nan = luc__nan_key(s->job->dtype);
  const int64_t m = s->job->m;
  uint64_t last, descents = 0, *keys = s->keys;
  s->kernels->keys(s->job->bounds, s->job->dtype, luc__max64(begin - 1, 0), 1, 1, 0, &last);
  s->kernels->keys(s->job->bounds, s->job->dtype, begin, 1, end - begin, 0, keys + begin);
  for (int64_t i = begin; !nan.numbers && i < end; i++) keys[i] = luc__bound_key(keys[i], nan);
  if (begin % m) descents = luc__bound_key(last, nan) > keys[begin];
  for (int64_t i = begin, stop, row = begin - begin % m; i < end; i = stop, row += m) {
    stop = luc__min64(row + m, end);
    for (int64_t k = i + 1; k < stop; k++) descents |= keys[k - 1] > keys[k];
  }
  if (descents) atomic_store_explicit(&s->unsorted, true, memory_order_relaxed);
}

/* `first` and how many of m bounds are before the place of each of n keys, of which `tried`, n or
 * more, are looked for at once: then they wait for memory together. Which way a key goes is a
 * coin's: by arithmetic, not by a branch. */
static inline __attribute__((always_inline)) void
place_some(const uint64_t *bounds, int64_t m, const uint64_t *keys, int64_t n, int64_t first,
           const bool right, const int64_t tried, int64_t *restrict out) {
  int64_t at[LUC_SEARCH_AHEAD] = {0};
  for (int64_t left = m, half; left > 1; left -= half) {
    half = left / 2;
    const uint64_t *middle = bounds + half - 1;
    for (int64_t k = 0; k < tried; k++)
      at[k] += half & -(int64_t)luc__is_before(middle[at[k]], keys[k], right);
  }
  for (int64_t k = 0; k < n; k++)
    out[k] = first + at[k] + (m > 0 && luc__is_before(bounds[at[k]], keys[k], right));
}

/* A constant number is quicker, even where it is more than n, behind which there are other keys. */
static inline __attribute__((always_inline)) void places(const uint64_t *bounds, int64_t m,
                                                         const uint64_t *keys, int64_t n,
                                                         int64_t first, const bool right,
                                                         int64_t *restrict out) {
  if (n > LUC_SEARCH_AHEAD / 2)
    place_some(bounds, m, keys, n, first, right, LUC_SEARCH_AHEAD, out);
  else
    place_some(bounds, m, keys, n, first, right, n, out);
}

/* The same of bounds in no order, where it matters how they are halved. Behind them stands one
 * more. */
static void unsorted_places(const uint64_t *bounds, int64_t m, const uint64_t *keys, int64_t n,
                            int64_t first, const bool right, int64_t *restrict out) {
  int64_t left[LUC_SEARCH_AHEAD];
  for (int64_t k = 0; k < n; k++) left[k] = m, out[k] = 0;
  for (int64_t most = m; most > 0; most /= 2)
    for (int64_t k = 0; k < n; k++)
      luc__halve(left[k] > 0 && luc__is_before(bounds[out[k] + left[k] / 2], keys[k], right),
                 &out[k], &left[k]);
  for (int64_t k = 0; k < n; k++) out[k] += first;
}

/* The same of few values, which make no keys of the bounds. */
static void search_few(void *arg, int64_t begin, int64_t end) {
  const search *s = arg;
  const luc_search_job *job = s->job;
  const int64_t per_row = job->per_row ? job->per_row : job->n;
  const char *values = job->values;
  const int64_t size = (int64_t)luc__dtype_size(job->dtype);
  int64_t at[LUC_SEARCH_AHEAD], row[LUC_SEARCH_AHEAD + 1] = {begin / per_row * job->m};
  int64_t in_row = begin % per_row;
  for (int64_t i = begin, n; i < end; i += n) {
    n = luc__min64(end - i, LUC_SEARCH_AHEAD);
    for (int64_t k = 0; k < n; k++) {
      const bool last = ++in_row == per_row;
      at[k] = row[k];
      row[k + 1] = row[k] + (job->m & -(int64_t)last);
      if (last) in_row = 0;
    }
    s->kernels->pass_bounds(job->bounds, job->dtype, job->m, values + i * size, n, job->right, at);
    for (int64_t k = 0; k < n; k++) job->out[i + k] = job->first + at[k] - row[k];
    row[0] = row[n];
  }
}

static void search_range(void *arg, int64_t begin, int64_t end) {
  const search *s = arg;
  const luc_search_job *job = s->job;
  const int64_t per_row = job->per_row ? job->per_row : job->n;
  const bool unsorted = atomic_load_explicit(&s->unsorted, memory_order_relaxed);
  uint64_t keys[STRIP + LUC_SEARCH_AHEAD] = {0};
  for (int64_t from = begin, n; from < end; from += n) {
    n = luc__min64(end - from, STRIP);
    s->kernels->keys(job->values, job->dtype, from, 1, n, 0, keys);
    int64_t row = from / per_row, in_row = from % per_row;
    for (int64_t k = 0, some; k < n; k += some) {
      some = luc__min64(luc__min64(n - k, per_row - in_row), LUC_SEARCH_AHEAD);
      const uint64_t *bounds = s->keys + row * job->m;
      if (unsorted)
        unsorted_places(bounds, job->m, keys + k, some, job->first, job->right,
                        job->out + from + k);
      else if (job->right)
        places(bounds, job->m, keys + k, some, job->first, true, job->out + from + k);
      else
        places(bounds, job->m, keys + k, some, job->first, false, job->out + from + k);
      in_row += some;
      if (in_row == per_row) row++, in_row = 0;
    }
  }
}

luc_status luc__search(luc_context *ctx, const luc_search_job *job) {
  int64_t rows = job->per_row ? job->n / job->per_row : 1, bounds = rows * job->m;
  size_t bytes = luc__mul_size((size_t)bounds + 1, sizeof(uint64_t));
  search s = {job, luc__kernels(ctx)->sort, NULL, false};
  const int64_t worth = luc__dtype_size(job->dtype) < 8 ? 2 : 3; /* shorter ones widen each time */
  int64_t steps = 1;
  for (int64_t left = job->m; left > 1; left /= 2) steps++;
  if (job->n * steps < worth * bounds) {
    luc__parallel_for(ctx, job->n, GRAIN / steps, search_few, &s);
    return LUC_OK;
  }
  s.keys = luc__alloc(ctx, bytes);
  if (!s.keys) return LUC_ERR_MEMORY;
  s.keys[bounds] = 0;
  luc__parallel_for(ctx, bounds, GRAIN, bound_keys, &s);
  luc__parallel_for(ctx, job->n, GRAIN / steps, search_range, &s);
  luc__free(ctx, s.keys, bytes);
  return LUC_OK;
}
