/* Loops that make number sequences. Everything is computed in 64 bits. */
#include "cpu/sequence.h"

#include <string.h>

#include "base/pool.h"
#include "cpu/kernels.h"

enum { CHUNK = 1024, GRAIN = 1 << 14 };

/* ---- chunk by chunk ---- */

typedef struct sequence_job {
  char *out;
  int64_t size;
  luc_sequence_fn numbers;
  const void *arg;
  luc_store_fn store; /* NULL: they are of the tensor's dtype */
} sequence_job;

static void fill_range(void *arg, int64_t begin, int64_t end) {
  const sequence_job *job = arg;
  _Alignas(64) char chunk[CHUNK * 8];
  for (; begin < end; begin += CHUNK) {
    int64_t n = end - begin < CHUNK ? end - begin : CHUNK;
    char *to = job->out + begin * job->size;
    job->numbers(job->store ? chunk : to, begin, n, job->arg);
    if (job->store) job->store(to, job->size, chunk, n);
  }
}

void luc__sequence(luc_context *ctx, luc_tensor *out, bool whole, luc_sequence_fn numbers,
                   const void *arg) {
  luc_dtype dtype = (luc_dtype)out->dtype;
  luc_compute compute = whole ? LUC_COMPUTE_I64 : LUC_COMPUTE_F64;
  bool own = dtype == (whole ? LUC_INT64 : LUC_FLOAT64);
  sequence_job job = {out->data, (int64_t)luc__dtype_size(dtype), numbers, arg,
                      own ? NULL : luc__kernels(ctx)->copy->store[compute][dtype]};
  luc__parallel_for(ctx, out->numel, GRAIN, fill_range, &job);
}

/* ---- sequences ---- */

void luc__sequence_int(void *out, int64_t first, int64_t n, const void *arg) {
  const int64_t *line = arg;
  uint64_t step = (uint64_t)line[1], value = (uint64_t)line[0] + (uint64_t)first * step;
  for (int64_t i = 0; i < n; i++, value += step) ((uint64_t *)out)[i] = value;
}

/* start + step * (from + i * by) of n places, by being 1 or -1. Places are counted in vectors, as
 * they are exact: converting them takes longer than what is computed of them. */
static void line(double *out, int64_t n, double start, double step, double from, double by) {
  typedef double two __attribute__((vector_size(16)));
  two place[4];
  for (int k = 0; k < 4; k++) place[k] = from + by * (two){2 * k, 2 * k + 1};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 4; k++) {
      const two x = start + step * place[k];
      memcpy(out + i + 2 * k, &x, sizeof x);
      place[k] += 8 * by;
    }
  for (; i < n; i++) out[i] = start + step * (from + (double)i * by);
}

void luc__sequence_double(void *out, int64_t first, int64_t n, const void *arg) {
  const double *start_step = arg;
  line(out, n, start_step[0], start_step[1], (double)first, 1);
}

void luc__sequence_between(void *out, int64_t first, int64_t n, const void *arg) {
  static const luc_ew_params none;
  const luc_between *s = arg;
  double *x = out, step = s->count > 1 ? (s->end - s->start) / (double)(s->count - 1) : 0;
  const int64_t half = (s->count == 1 ? 1 : s->count / 2) - first; /* of this chunk */
  const int64_t early = half < 0 ? 0 : half < n ? half : n;
  line(x, early, s->start, step, (double)first, 1);
  line(x + early, n - early, s->end, -step, (double)(s->count - 1 - first - early), -1);
  const void *in[LUC_EW_MAX_INPUTS] = {&s->base, x, NULL};
  if (s->base != 0) s->power(x, in, n, &none, n > 1 ? 1 : 0);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

/* 1 + 2 + … of the numbers from .. to - 1. */
static int64_t sum_between(int64_t from, int64_t to) {
  int64_t n = to - from, twice = from + to - 1;
  return n <= 0 ? 0 : n % 2 ? n * (twice / 2) : n / 2 * twice;
}

/* Visits only rows that have elements, so that the work is that of writing them. */
int64_t luc__sequence_triangle(int64_t *out, int64_t n, int64_t r, int64_t c, int64_t diagonal,
                               bool lower) {
  if (r == 0 || c == 0) return 0;
  int64_t d = clamp(diagonal, -r, c);
  int64_t first = lower ? clamp(-d, 0, r) : 0, last = lower ? r : clamp(c - d, 0, r);
  /* Row i holds i + d + 1 elements below, c - (i + d) above, until that is all c of them. */
  int64_t whole = clamp(lower ? c - 1 - d : -d, first, last);
  int64_t count = lower ? sum_between(first + d + 1, whole + d + 1) + (last - whole) * c
                        : (whole - first) * c + sum_between(c - d - last + 1, c - d - whole + 1);
  if (!out) return count;
  for (int64_t i = first, at = 0; i < last; i++) {
    int64_t begin = lower ? 0 : clamp(i + d, 0, c), end = lower ? clamp(i + d + 1, 0, c) : c;
    for (int64_t j = begin; j < end; j++, at++) {
      out[at] = i;
      out[n + at] = j;
    }
  }
  return count;
}
