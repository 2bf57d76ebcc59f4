/* Where runs begin is counted in blocks first, so that each block can then write by itself. The
 * loops have no branch that depends on the elements. */
#include "cpu/runs.h"

#include <string.h>

#include "base/pool.h"
#include "cpu/cuts.h"
#include "cpu/index_kernels.h"
#include "cpu/kernels.h"
#include "tensor/half.h"

enum { BLOCK = 1 << 14, STRIP = 512 };

static int64_t num_blocks(int64_t n) {
  return luc__cuts(n, BLOCK);
}

/* begins[i] = does a run begin at x[i], which has one before it? */
static void begins_16(luc_dtype dtype, const uint16_t *x, int64_t n, uint8_t *begins) {
  if (dtype == LUC_INT16)
    for (int64_t i = 0; i < n; i++) begins[i] = x[i] != x[i - 1];
  else if (dtype == LUC_FLOAT16)
    for (int64_t i = 0; i < n; i++)
      begins[i] = luc__half_to_float(x[i]) != luc__half_to_float(x[i - 1]);
  else
    for (int64_t i = 0; i < n; i++)
      begins[i] = luc__bfloat16_to_float(x[i]) != luc__bfloat16_to_float(x[i - 1]);
}

static int64_t sum_of(const uint8_t *bits, int64_t n) {
  const uint64_t ones = 0x0101010101010101u;
  int64_t i = 0, sum = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    memcpy(&word, bits + i, sizeof word);
    sum += (int64_t)(word * ones >> 56);
  }
  for (; i < n; i++) sum += bits[i];
  return sum;
}

/* Of which run each element is, after run `run`: eight at a time, as most often all begin runs or
 * none does. */
static void number_runs(const uint8_t *begins, int64_t n, int64_t run, int64_t *runs) {
  enum { EIGHT = 8 };
  for (int64_t i = 0, m; i < n; i += m) {
    uint64_t which = 2; /* neither all nor none */
    m = n - i < EIGHT ? n - i : EIGHT;
    if (m == EIGHT) memcpy(&which, begins + i, sizeof which);
    if (which == 0) {
      for (int q = 0; q < EIGHT; q++) runs[i + q] = run;
    } else if (which == 0x0101010101010101u) {
      for (int q = 0; q < EIGHT; q++) runs[i + q] = ++run;
    } else {
      for (int64_t q = i; q < i + m; q++) runs[q] = run += begins[q];
    }
  }
}

typedef struct runs_job {
  luc_runs *runs;
  const luc_index_kernels *kernels;
  luc_ew_fn differ; /* NULL: there is none for this dtype */
  size_t size;
  char *values;
  int64_t *inverse, *places; /* places: where runs begin */
  int64_t first;             /* inverse counts from it */
} runs_job;

/* A strip of block b, from i on: the strip's runs, after `found` others. */
static int64_t take_strip(const runs_job *j, int64_t i, int64_t n, int64_t found) {
  static const luc_ew_params none;
  bool begins[STRIP];
  uint8_t *bits = (uint8_t *)begins;
  const char *x = (const char *)j->runs->x + (size_t)i * j->size;
  const int64_t skip = i == 0; /* the very first has none before it */
  const char *second = x + (size_t)skip * j->size;
  const void *both[LUC_EW_MAX_INPUTS] = {second, second - j->size};
  begins[0] = true;
  if (j->differ && n > skip)
    j->differ(bits + skip, both, n - skip, &none, 0);
  else if (n > skip)
    begins_16(j->runs->dtype, (const uint16_t *)(const void *)second, n - skip, bits + skip);
  const int64_t count = sum_of(bits, n);
  if (!j->values) return count;
  j->kernels->choose[luc__log2((int64_t)j->size)](j->values + (size_t)found * j->size, x, begins, n,
                                                  count);
  if (j->places) j->kernels->choose_places(j->places + found, i, 1, begins, n, count);
  if (j->inverse) number_runs(bits, n, found - 1 + j->first, j->inverse + i);
  return count;
}

static int64_t block_runs(const runs_job *j, int64_t b, int64_t found) {
  const int64_t first = found, end = (b + 1) * BLOCK < j->runs->n ? (b + 1) * BLOCK : j->runs->n;
  for (int64_t i = b * BLOCK; i < end; i += STRIP)
    found += take_strip(j, i, end - i < STRIP ? end - i : STRIP, found);
  return found - first;
}

static void count_blocks(void *arg, int64_t begin, int64_t end) {
  const runs_job *j = arg;
  for (int64_t b = begin; b < end; b++) j->runs->before[b] = block_runs(j, b, 0);
}

static void take_blocks(void *arg, int64_t begin, int64_t end) {
  const runs_job *j = arg;
  for (int64_t b = begin; b < end; b++) block_runs(j, b, j->runs->before[b]);
}

static runs_job new_job(luc_context *ctx, luc_runs *runs) {
  const luc_dtype same = runs->dtype == LUC_INT8 ? LUC_UINT8 : runs->dtype;
  const int type = luc__elementwise_type(same);
  const luc_ew_kernel *differ = &luc__kernels(ctx)->elementwise[LUC_EW_ne];
  return (runs_job){.runs = runs,
                    .kernels = luc__kernels(ctx)->index,
                    .differ = type < 0 ? NULL : differ->fn[type],
                    .size = luc__dtype_size(runs->dtype)};
}

luc_status luc__runs_begin(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                           luc_runs *runs) {
  const int64_t blocks = num_blocks(n);
  *runs = (luc_runs){.dtype = dtype, .x = x, .n = n};
  runs->bytes = (size_t)(blocks + 1) * sizeof *runs->before;
  runs->before = luc__alloc(ctx, runs->bytes);
  if (!runs->before) return LUC_ERR_MEMORY;
  runs_job j = new_job(ctx, runs);
  luc__parallel_for(ctx, blocks, 1, count_blocks, &j);
  for (int64_t b = 0; b < blocks; b++) {
    int64_t count = runs->before[b];
    runs->before[b] = runs->count;
    runs->count += count;
  }
  return LUC_OK;
}

void luc__runs_end(luc_context *ctx, luc_runs *runs) {
  luc__free(ctx, runs->before, runs->bytes);
  runs->before = NULL;
}

void luc__runs_take(luc_context *ctx, const luc_runs *runs, void *values, int64_t *inverse,
                    int64_t *lengths, int64_t first) {
  luc_runs all = *runs;
  runs_job j = new_job(ctx, &all);
  j.values = values;
  j.inverse = inverse;
  j.places = lengths;
  j.first = first;
  luc__parallel_for(ctx, num_blocks(runs->n), 1, take_blocks, &j);
  if (!lengths || runs->count == 0) return;
  for (int64_t i = 0; i + 1 < runs->count; i++) lengths[i] = lengths[i + 1] - lengths[i];
  lengths[runs->count - 1] = runs->n - lengths[runs->count - 1];
}
