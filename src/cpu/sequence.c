/* Loops that make number sequences. Everything is computed in 64 bits. */
#include "cpu/sequence.h"

#include <string.h>

#include "base/pool.h"
#include "cpu/cuts.h"
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
  luc_dtype dtype = out->dtype;
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
  if (s->power) s->power(x, in, n, &none, n > 1 ? 1 : 0);
}

/* 1 + 2 + … of the numbers from .. to - 1. */
static int64_t sum_between(int64_t from, int64_t to) {
  int64_t n = to - from, twice = from + to - 1;
  return n <= 0 ? 0 : n % 2 ? n * (twice / 2) : n / 2 * twice;
}

typedef struct triangle {
  int64_t *rows, *columns;        /* what is written */
  int64_t width, diagonal, first; /* first: what positions count from */
  bool lower;
  int64_t begin, longest; /* rows: the columns of the longest are those of all others, or more */
  luc_move_fn move;
} triangle;

/* Elements of the first i rows at or below a diagonal. */
static int64_t below(int64_t i, int64_t columns, int64_t diagonal) {
  int64_t first = luc__clamp64(-diagonal, 0, i), whole = luc__clamp64(columns - diagonal, first, i);
  return sum_between(first + diagonal + 1, whole + diagonal + 1) + (i - whole) * columns;
}

static int64_t start_of(const triangle *t, int64_t i) {
  return t->lower ? below(i, t->width, t->diagonal)
                  : i * t->width - below(i, t->width, t->diagonal - 1);
}

static int64_t first_column(const triangle *t, int64_t i) {
  return t->lower ? 0 : luc__clamp64(i + t->diagonal, 0, t->width);
}

static void triangle_rows(void *arg, int64_t begin, int64_t end) {
  const triangle *t = arg;
  const int64_t size = sizeof(int64_t);
  const int64_t zero = start_of(t, t->longest) - first_column(t, t->longest);
  for (int64_t i = t->begin + begin, at = start_of(t, i), next; i < t->begin + end;
       i++, at = next) {
    const int64_t row = t->first + i;
    next = start_of(t, i + 1);
    t->move((char *)(t->rows + at), size, (const char *)&row, 0, next - at);
    if (i == t->longest) continue;
    const int64_t *columns = t->columns + zero + first_column(t, i);
    t->move((char *)(t->columns + at), size, (const char *)columns, size, next - at);
  }
}

/* Visits only rows that have elements, so that the work is that of writing them. */
int64_t luc__sequence_triangle(luc_context *ctx, int64_t *out, int64_t n, int64_t r, int64_t c,
                               int64_t diagonal, bool lower) {
  const int64_t d = luc__clamp64(diagonal, -r, c), last = lower ? r : luc__clamp64(c - d, 0, r);
  triangle t = {.rows = out, .columns = out + n, .width = c, .diagonal = d, .lower = lower};
  if (n == 0) return start_of(&t, last);
  t.first = ctx->first;
  t.begin = lower ? luc__clamp64(-d, 0, r) : 0;
  t.longest = lower ? r - 1 : 0;
  t.move = luc__kernels(ctx)->copy->move[3];
  const int64_t from = first_column(&t, t.longest), at = start_of(&t, t.longest);
  luc__sequence_int(t.columns + at, from, start_of(&t, t.longest + 1) - at,
                    (int64_t[]){t.first, 1});
  luc__parallel_for(ctx, last - t.begin, GRAIN / c + 1, triangle_rows, &t);
  return n;
}
