/* Whole tensors are compared block by block, which ends at the first difference; membership is
 * asked of a table of the other elements' bits, hashed, with linear probing. */
#include "cpu/same.h"

#include <stdatomic.h>
#include <string.h>

#include "base/pool.h"
#include "cpu/kernels.h"

enum { BLOCK = 1024, KEYS = 256, GRAIN = 1 << 15, LEAST_SLOTS = 64 };

/* ---- comparing ---- */

typedef struct compare_job {
  luc_ew_fn equal;
  luc_load_fn load; /* NULL: as they lie */
  const char *a, *b;
  int64_t size;
  atomic_bool differs;
} compare_job;

static void compare_range(void *arg, int64_t begin, int64_t end) {
  static const luc_ew_params none;
  compare_job *job = arg;
  uint8_t truth[BLOCK];
  _Alignas(64) char x[BLOCK * 8], y[BLOCK * 8];
  while (begin < end && !atomic_load_explicit(&job->differs, memory_order_relaxed)) {
    int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
    const void *in[LUC_EW_MAX_INPUTS] = {job->a + begin * job->size, job->b + begin * job->size};
    if (job->load != NULL) {
      job->load(x, in[0], job->size, n);
      job->load(y, in[1], job->size, n);
      in[0] = x, in[1] = y;
    }
    job->equal(truth, in, n, &none, 0);
    if (memchr(truth, 0, (size_t)n)) atomic_store(&job->differs, true);
    begin += n;
  }
}

/* Complex numbers are equal where both of their parts are. */
bool luc__compare(luc_context *ctx, const luc_tensor *a, const luc_tensor *b) {
  const luc_dtype dtype = luc__dtype_to_real(a->dtype);
  const int64_t n = a->numel * (dtype != a->dtype ? 2 : 1);
  const luc_kernels *kernels = luc__kernels(ctx);
  const luc_ew_fn *equal = kernels->elementwise[LUC_EW_eq].fn;
  const int type = luc__elementwise_type(dtype);
  compare_job job = {.a = a->data, .b = b->data, .size = (int64_t)luc__dtype_size(dtype)};
  if (type >= 0) job.equal = equal[type];
  if (job.equal == NULL) {
    job.equal = equal[luc__compute(dtype)];
    job.load = kernels->copy->load[luc__compute(dtype)][dtype];
  }
  int64_t first = n < BLOCK ? n : BLOCK;
  compare_range(&job, 0, first); /* most that differ do so here: no thread is woken for them */
  if (!job.differs && first < n) luc__parallel_for(ctx, n, GRAIN, compare_range, &job);
  return !job.differs;
}

/* ---- membership ---- */

/* The keys of the others; 0 is a free slot, so whether it is among them stands by itself. */
typedef struct table {
  const luc_membership *job;
  uint64_t *slots;
  int shift; /* a hash's upper bits are a place */
  uint64_t mask;
  bool has_zero;
} table;

static const uint64_t NAN_KEY = UINT64_MAX; /* of integers, -1 */

/* Elements as bits: of floats those of the same double, +0 for -0 and one NaN. */
static void take_keys(luc_dtype dtype, const void *x, int64_t at, int64_t n, uint64_t *keys) {
  if (dtype == LUC_INT64) {
    memcpy(keys, (const int64_t *)x + at, (size_t)n * sizeof *keys);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double value =
        dtype == LUC_FLOAT32 ? (double)((const float *)x)[at + i] : ((const double *)x)[at + i];
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    keys[i] = value != value ? NAN_KEY : bits;
  }
}

/* Where the key stands, or would. */
static uint64_t slot_of(const table *t, uint64_t key) {
  uint64_t place = key * 0x9E3779B97F4A7C15u >> t->shift;
  while (t->slots[place] != key && t->slots[place] != 0) place = (place + 1) & t->mask;
  return place;
}

static void fill_table(table *t) {
  const luc_membership *job = t->job;
  uint64_t keys[KEYS];
  for (int64_t at = 0; at < job->m; at += KEYS) {
    int64_t n = job->m - at < KEYS ? job->m - at : KEYS;
    take_keys(job->dtype, job->others, at, n, keys);
    for (int64_t i = 0; i < n; i++) {
      if (keys[i] == 0) t->has_zero = true;
      if (keys[i] == 0 || (keys[i] == NAN_KEY && job->dtype != LUC_INT64)) continue;
      t->slots[slot_of(t, keys[i])] = keys[i];
    }
  }
}

static void ask_range(void *arg, int64_t begin, int64_t end) {
  const table *t = arg;
  const luc_membership *job = t->job;
  uint64_t keys[KEYS];
  for (; begin < end; begin += KEYS) {
    int64_t n = end - begin < KEYS ? end - begin : KEYS;
    take_keys(job->dtype, job->x, begin, n, keys);
    for (int64_t i = 0; i < n; i++) {
      bool found = keys[i] ? t->slots[slot_of(t, keys[i])] == keys[i] : t->has_zero;
      job->found[begin + i] = found != job->invert;
    }
  }
}

luc_status luc__membership(luc_context *ctx, const luc_membership *job) {
  table t = {.job = job, .shift = 64};
  size_t slots = LEAST_SLOTS;
  while (slots / 2 < (size_t)job->m) slots *= 2;
  for (size_t s = slots; s > 1; s /= 2) t.shift--;
  size_t bytes = luc__mul_size(slots, sizeof *t.slots);
  t.mask = slots - 1;
  t.slots = luc__alloc(ctx, bytes);
  if (!t.slots) return LUC_ERR_MEMORY;
  memset(t.slots, 0, bytes);
  fill_table(&t);
  luc__parallel_for(ctx, job->n, GRAIN / 4, ask_range, &t);
  luc__free(ctx, t.slots, bytes);
  return LUC_OK;
}
