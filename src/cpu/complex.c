/* What complex tensors need of kernels. A complex tensor is two real ones that share its memory, so
 * most of it is real kernels run on either part. */
#include "cpu/complex.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "cpu/complex_kernels.h"
#include "cpu/copy.h"
#include "cpu/cuts.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

#undef complex /* a name like any other here */
#undef I

void luc__part(const luc_tensor *t, int part, luc_tensor *out) {
  luc_dtype real = luc__dtype_to_real(t->dtype);
  LUC_ASSERT(luc__dtype_is_complex(t->dtype));
  out->dtype = (uint8_t)real;
  out->ndim = t->ndim;
  out->requires_grad = 0;
  out->flags = 0;
  out->inner = NULL;
  out->storage = t->storage;
  out->data = t->data + (size_t)part * luc__dtype_size(real);
  out->offset = 2 * t->offset + part;
  out->numel = t->numel;
  out->meta = NULL;
  for (int d = 0; d < t->ndim; d++) {
    out->sizes[d] = t->sizes[d];
    out->strides[d] = 2 * t->strides[d];
  }
}

/* ---- copies ---- */

/* Which of n numbers of parts of this type, so many parts apart, are not 0. */
#define TRUTH_RUN(type)                                                                            \
  static void truth_##type(char *out, int64_t step, const char *in, int64_t apart, int64_t n) {    \
    const type *p = (const type *)(const void *)in;                                                \
    if (step == 1 && apart == 2)                                                                   \
      for (int64_t i = 0; i < n; i++) out[i] = (p[2 * i] != 0) | (p[2 * i + 1] != 0);              \
    else                                                                                           \
      for (int64_t i = 0; i < n; i++)                                                              \
        out[i * step] = (p[i * apart] != 0) | (p[i * apart + 1] != 0);                             \
  }
TRUTH_RUN(float)
TRUTH_RUN(double)

static void to_truth(luc_tensor *dst, const luc_tensor *src) {
  const int64_t size = (int64_t)luc__dtype_size(luc__dtype_to_real(src->dtype));
  luc_nest nest;
  luc_cursor c;
  luc__nest_init(&nest, dst->ndim, dst->sizes);
  luc__nest_add(&nest, dst);
  luc__nest_add(&nest, src);
  luc__nest_simplify(&nest);
  luc__nest_seek(&nest, 0, &c);
  const int64_t n = nest.sizes[0], step = nest.strides[0][0], apart = nest.strides[1][0] / size;
  for (int64_t i = 0; i < nest.numel; i += n) {
    (size == 4 ? truth_float : truth_double)(c.ptr[0], step, c.ptr[1], apart, n);
    if (i + n < nest.numel) luc__nest_advance(&nest, &c, n);
  }
}

typedef struct join_job {
  luc_pairs_fn pairs;
  int64_t size; /* of a part */
  char *out;
  const char *in[2];   /* NULL: zeros */
  int64_t in_size[2];  /* of what is read, */
  luc_load_fn load[2]; /* or NULL where it is a part */
} join_job;

static void join_range(void *arg, int64_t begin, int64_t end) {
  enum { SOME = 512, APART = 8 }; /* at another place in their pages */
  static const _Alignas(64) double zeros[SOME];
  const join_job *j = arg;
  _Alignas(64) double chunks[2][SOME + APART];
  for (int64_t n; begin < end; begin += n) {
    const char *from[2];
    n = luc__min64(SOME, end - begin);
    for (int part = 0; part < 2; part++) {
      from[part] = j->in[part] ? j->in[part] + begin * j->in_size[part] : (const char *)zeros;
      if (j->load[part] == NULL) continue;
      j->load[part](chunks[part], from[part], j->in_size[part], n);
      from[part] = (const char *)chunks[part];
    }
    j->pairs(j->out + begin * 2 * j->size, from[0], from[1], n);
  }
}

bool luc__join_parts(luc_context *ctx, luc_tensor *dst, const luc_tensor *re,
                     const luc_tensor *im) {
  enum { GRAIN = 1 << 15 };
  const luc_copy_kernels *copy = luc__kernels(ctx)->copy;
  const luc_dtype real = luc__dtype_to_real(dst->dtype);
  const luc_tensor *parts[] = {re, im};
  join_job j = {.size = (int64_t)luc__dtype_size(real), .out = dst->data};
  j.pairs = copy->pairs[luc__log2(j.size)];
  if (!luc__is_contiguous(dst)) return false;
  for (int i = 0; i < 2 && parts[i]; i++) {
    const luc_tensor *t = parts[i];
    if (!luc__same_sizes(dst, t) || !luc__is_contiguous(t)) return false;
    j.in[i] = t->data, j.in_size[i] = (int64_t)luc__dtype_size((luc_dtype)t->dtype);
    if (t->dtype != real) j.load[i] = copy->load[luc__compute(real)][t->dtype];
  }
  luc__parallel_for(ctx, dst->numel, GRAIN, join_range, &j);
  return true;
}

luc_status luc__copy_parts(luc_context *ctx, luc_tensor *dst, const luc_tensor *src) {
  bool to = luc__dtype_is_complex(dst->dtype);
  bool from = luc__dtype_is_complex(src->dtype);
  luc_tensor into, out_of;
  if (!to && dst->dtype == LUC_BOOL) {
    to_truth(dst, src);
    return LUC_OK;
  }
  if (!from && luc__join_parts(ctx, dst, src, NULL)) return LUC_OK;
  for (int part = 0; part < (to ? 2 : 1); part++) {
    if (to) luc__part(dst, part, &into);
    if (from) luc__part(src, part, &out_of);
    if (part == 1 && !from) return luc__fill(ctx, &into, (luc_scalar){LUC_SCALAR_INT, {.i = 0}});
    LUC_TRY(luc__copy(ctx, to ? &into : dst, from ? &out_of : src));
  }
  return LUC_OK;
}

/* ---- functions that the C library lacks ---- */

/* The sum of a and b, and what rounding took from it. */
static double two_sum(double a, double b, double *lost) {
  const double sum = a + b, other = sum - a;
  *lost += (a - (sum - other)) + (b - other);
  return sum;
}

/* exp(x) cos(y) - 1 without a difference from 1, where both are near it. */
static luc_wide wide_expm1(luc_wide z) {
  const double x = creal(z), y = cimag(z), half = sin(y / 2);
  return luc__wide(expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y));
}

/* Of |1 + z|^2 - 1 = 2x + x^2 + y^2, every digit: near 0 and around it, it is all that counts. */
static luc_wide wide_log1p(luc_wide z) {
  const double x = creal(z), y = cimag(z), p = x * x, q = y * y;
  double lost = fma(x, x, -p) + fma(y, y, -q);
  double size = two_sum(two_sum(2 * x, q, &lost), p, &lost) + lost;
  if (!(size > -0.5 && size < 0x1p1000)) return clog(luc__wide(1 + x, y));
  return luc__wide(size == 0 ? x : log1p(size) / 2, atan2(y, 1 + x));
}

/* exp(z) of a real part that is infinite: a direction. */
static luc_wide endless(luc_wide z) {
  const double x = cos(cimag(z)), y = sin(cimag(z));
  return luc__wide(x == 0 ? 0 : x * (double)INFINITY, y == 0 ? 0 : y * (double)INFINITY);
}

luc_wide luc__log_add(luc_wide a, luc_wide b) {
  const double x = creal(a), y = creal(b);
  if (x != x || y != y || cimag(a) != cimag(a) || cimag(b) != cimag(b))
    return luc__wide((double)NAN, (double)NAN);
  const luc_wide low = x < y ? a : b, high = x < y ? b : a;
  if (x == y && isinf(x)) return x < 0 ? b : clog(endless(a) + endless(b));
  return wide_log1p(cexp(low - high)) + high;
}

/* ---- pointwise kernels ---- */

#define EACH(n) LUC_EACH_ALONE for (int64_t k = 0; k < (n); k++)

#define T        float
#define FN(name) name##_f32
#include "cpu/complex.inc"

#define T        double
#define FN(name) name##_f64
#include "cpu/complex.inc"

enum { GIVES_COMPLEX, GIVES_REAL, GIVES_TRUTH };

typedef struct kernel {
  luc_complex_fn fn[2]; /* complex64, complex128; NULL where the instruction set's table has it */
  uint8_t inputs, gives;
} kernel;

#define ROW(name, inputs, gives)                                                                   \
  [LUC_EW_##name] = {{name##_loop_f32, name##_loop_f64}, inputs, gives},
#define COMPLEX(name, inputs, CALL)     ROW(name, inputs, GIVES_COMPLEX)
#define TRUTH(name, inputs, CALL)       ROW(name, inputs, GIVES_TRUTH)
#define VECTOR(name, inputs, CALL)      [LUC_EW_##name] = {{NULL, NULL}, inputs, GIVES_COMPLEX},
#define VECTOR_REAL(name, inputs, CALL) [LUC_EW_##name] = {{NULL, NULL}, inputs, GIVES_REAL},
static const kernel kernels[LUC_NUM_EWS] = {
#include "cpu/complex_kernels.def"
};

bool luc__complex_gives(luc_ew op, luc_dtype dtype, luc_dtype *result) {
  const kernel *k = &kernels[op];
  *result = k->gives == GIVES_COMPLEX ? dtype
            : k->gives == GIVES_REAL  ? luc__dtype_to_real(dtype)
                                      : LUC_BOOL;
  return k->inputs > 0;
}

/* How many numbers that have gaps, or repeat, are laid out at a time; of results with gaps the
 * first of up to NEAR rows are computed before the second of all. */
enum { CHUNK = 512, NEAR = 128, LEAST = 8 };

typedef struct job {
  luc_nest nest; /* operand 0 is the output */
  luc_complex_fn fn;
  luc_complex_fn apart; /* for results with gaps, which it is run for instead, or NULL */
  const luc_ew_params *params;
  const luc_copy_kernels *copy;
  int64_t size[LUC_NEST_OPERANDS]; /* of an element */
} job;

typedef struct laid_out {
  _Alignas(64) char data[LUC_NEST_OPERANDS][CHUNK * 16];
  const char *repeated[LUC_NEST_OPERANDS]; /* a row that lies there, */
  int64_t times[LUC_NEST_OPERANDS];        /* so often */
} laid_out;

/* Is operand i one run of `rows` rows of n, or one number for all? */
static bool is_run(const luc_nest *nest, int i, int64_t size, int64_t n, int64_t rows) {
  const int64_t step = nest->strides[i][0];
  return (step == size || step == 0) && (rows == 1 || nest->strides[i][1] == n * step);
}

/* `rows` rows of n as one run for the kernel. */
static void run_rows(const job *j, const luc_cursor *c, int64_t n, int64_t rows, laid_out *chunks) {
  const luc_nest *nest = &j->nest;
  const luc_runs_fn *runs = j->copy->runs;
  const bool direct = is_run(nest, 0, j->size[0], n, rows);
  int64_t step[LUC_NEST_OPERANDS];
  char *at[LUC_NEST_OPERANDS];
  for (int i = 0; i < nest->count; i++) {
    const int64_t size = j->size[i], down = rows > 1 ? nest->strides[i][1] : 0;
    at[i] = c->ptr[i], step[i] = nest->strides[i][0];
    if (is_run(nest, i, size, n, rows)) continue;
    at[i] = chunks->data[i], step[i] = size;
    if (i == 0 || (chunks->repeated[i] == c->ptr[i] && chunks->times[i] >= rows)) continue;
    runs[luc__log2(size)](at[i], n * size, size, c->ptr[i], down, nest->strides[i][0], n, rows);
    chunks->repeated[i] = rows > 1 && down == 0 ? c->ptr[i] : NULL;
    chunks->times[i] = rows;
  }
  j->fn(at, step, n * rows, j->params);
  if (!direct)
    runs[luc__log2(j->size[0])](c->ptr[0], rows > 1 ? nest->strides[0][1] : 0, nest->strides[0][0],
                                at[0], n * j->size[0], j->size[0], n, rows);
}

/* `rows` rows of n by themselves, or as n columns. */
static void run_each(const job *j, luc_complex_fn fn, const luc_cursor *c, int64_t n, int64_t rows,
                     bool columns) {
  const luc_nest *nest = &j->nest;
  int64_t steps[2][LUC_NEST_OPERANDS];
  char *at[LUC_NEST_OPERANDS];
  for (int i = 0; i < nest->count; i++) {
    at[i] = c->ptr[i];
    steps[columns][i] = nest->strides[i][0];
    steps[!columns][i] = rows > 1 ? nest->strides[i][1] : 0;
  }
  for (int64_t k = columns ? n : rows; k > 0; k--) {
    fn(at, steps[0], columns ? rows : n, j->params);
    for (int i = 0; i < nest->count; i++) at[i] += steps[1][i];
  }
}

static void run_range(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_nest *nest = &j->nest;
  const int64_t run = nest->sizes[0];
  laid_out chunks;
  luc_cursor c;
  bool whole = true;
  /* what is scattered should meet what was read in the first-level cache */
  const bool scatters = !is_run(nest, 0, j->size[0], run, 1);
  int64_t most = scatters ? luc__min64(CHUNK, 4 * CHUNK / j->size[0]) : CHUNK;
  for (int i = 0; i < nest->count; i++) {
    whole &= is_run(nest, i, j->size[i], run, 1);
    chunks.repeated[i] = NULL;
  }
  /* laying out what does not lie on behind each other costs more than calls where rows are long */
  const bool on = nest->ndim == 1 || is_run(nest, 0, j->size[0], run, 2);
  const bool each = whole && (on ? run > CHUNK / 4 : run * j->size[0] >= LUC_LONG_RUN);
  const bool apart = j->apart != NULL && (scatters || (!on && !each && j->size[0] == 16));
  if (apart) most = luc__min64(NEAR * run, CHUNK);
  luc__nest_seek(nest, begin, &c);
  while (begin < end) {
    int64_t n = luc__min64(run - c.at[0], end - begin), rows = 1;
    if (n == run && nest->ndim > 1 && (each || run <= most / 2))
      rows = luc__min64((each ? end - begin : luc__min64(most, end - begin)) / run,
                        nest->sizes[1] - c.at[1]);
    else if (!whole && !apart)
      n = luc__min64(n, most);
    if (each && rows > 1)
      run_each(j, j->fn, &c, n, rows, false);
    else if (apart)
      run_each(j, j->apart, &c, n, rows, n < rows);
    else
      run_rows(j, &c, n, rows, &chunks);
    begin += n * rows;
    if (begin < end && rows > 1)
      luc__nest_seek(nest, begin, &c);
    else if (begin < end)
      luc__nest_advance(nest, &c, n);
  }
}

/* Real numbers and imaginary ones in turn, along a last dimension of their own. */
static void as_parts(const luc_tensor *t, luc_tensor *out) {
  luc__part(t, 0, out);
  out->sizes[out->ndim] = 2;
  out->strides[out->ndim++] = 1;
  out->numel *= 2;
}

/* Sums of runs of LEAST and more without gaps are those of their parts. */
static bool run_parts(luc_context *ctx, const job *j, luc_ew op, luc_tensor *out,
                      const luc_ew_input *in) {
  luc_tensor parts[1 + LUC_EW_MAX_INPUTS];
  luc_ew_input reals[LUC_EW_MAX_INPUTS] = {{0}};
  if (op != LUC_EW_add && op != LUC_EW_sub && op != LUC_EW_neg) return false;
  if (out->ndim == LUC_MAX_DIMS || j->nest.sizes[0] < LEAST) return false;
  for (int i = 0; i < j->nest.count; i++) {
    const luc_tensor *t = i == 0 ? out : in[i - 1].t;
    if (t == NULL || t->dtype != out->dtype || j->nest.strides[i][0] != j->size[0]) return false;
    as_parts(t, &parts[i]);
    if (i > 0) reals[i - 1].t = &parts[i];
  }
  luc__elementwise(ctx, op, (luc_dtype)parts[0].dtype, &parts[0], reals);
  return true;
}

luc_status luc__complex_run(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_tensor *out,
                            const luc_ew_input *in, const luc_ew_params *params) {
  enum { GRAIN = 1 << 13 };
  const kernel *k = &kernels[op];
  luc_tensor *cast[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  luc_element numbers[LUC_EW_MAX_INPUTS];
  luc_status status = LUC_OK;
  const bool wide = dtype == LUC_COMPLEX128;
  job j = {.fn = k->fn[wide], .params = params, .copy = luc__kernels(ctx)->copy};
  j.apart = luc__kernels(ctx)->complex_apart[op][wide];
  if (j.fn == NULL) j.fn = luc__kernels(ctx)->complexes[op][wide];
  luc__nest_init(&j.nest, out->ndim, out->sizes);
  luc__nest_add(&j.nest, out);
  j.size[0] = (int64_t)luc__dtype_size(out->dtype);
  for (int i = 0; i < k->inputs; i++) {
    const luc_tensor *t = in[i].t;
    j.size[i + 1] = (int64_t)luc__dtype_size(dtype);
    if (t != NULL && t->dtype != dtype) {
      LUC_GO(luc__tensor_empty_like(ctx, t, dtype, &cast[i]));
      LUC_GO(luc__copy(ctx, cast[i], t));
      t = cast[i];
    }
    luc__nest_add(&j.nest, t);
    if (t == NULL) luc__store_scalar(&numbers[i], dtype, in[i].s);
    if (t == NULL) j.nest.base[i + 1] = (char *)&numbers[i];
  }
  luc__nest_simplify(&j.nest);
  if (!run_parts(ctx, &j, op, out, in)) luc__parallel_for(ctx, j.nest.numel, GRAIN, run_range, &j);
done:
  for (int i = 0; i < k->inputs; i++) luc_tensor_release(ctx, cast[i]);
  return status;
}

bool luc__complex_any_zero(const luc_tensor *t) {
  luc_nest nest;
  luc_cursor c;
  if (t->numel == 0) return false;
  luc__nest_init(&nest, t->ndim, t->sizes);
  luc__nest_add(&nest, t);
  luc__nest_seek(&nest, 0, &c);
  for (int64_t i = 0; i < t->numel; i++) {
    double parts[2];
    luc__load_complex(c.ptr[0], t->dtype, parts);
    if (parts[0] == 0 && parts[1] == 0) return true;
    if (i + 1 < t->numel) luc__nest_advance(&nest, &c, 1);
  }
  return false;
}

typedef struct products_job {
  luc_complex_fn mul;
  luc_complex_fold_fn fold;
  int64_t size, n, inner;
  bool wide, running;
  const char *x;
  char *y;
} products_job;

static inline void put_parts(char *to, bool wide, double re, double im) {
  if (wide)
    memcpy(to, (double[]){re, im}, 2 * sizeof re);
  else
    memcpy(to, (float[]){(float)re, (float)im}, 2 * sizeof(float));
}

static void multiply_row(const products_job *j, const char *from, char *to) {
  double re = 1, im = 0, parts[2];
  float narrow[2];
  for (int64_t i = 0; i < j->n; i++, from += j->size) {
    if (j->wide)
      memcpy(parts, from, sizeof parts);
    else
      memcpy(narrow, from, sizeof narrow);
    const double x = j->wide ? parts[0] : (double)narrow[0];
    const double y = j->wide ? parts[1] : (double)narrow[1];
    const double all = re;
    re = all * x - im * y;
    im = all * y + im * x;
    if (j->running) put_parts(to + i * j->size, j->wide, re, im);
  }
  if (!j->running) put_parts(to, j->wide, re, im);
}

static void multiply_rows(void *arg, int64_t begin, int64_t end) {
  const products_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const char *row = j->x + i * j->n * j->size;
    if (j->running || j->n < LUC_COMPLEX_LEAST)
      multiply_row(j, row, j->y + i * (j->running ? j->n : 1) * j->size);
    else
      j->fold(j->y + i * j->size, row, j->n);
  }
}

enum { COLUMNS = 256 };

/* Row after row, so many columns at a time. */
static void multiply_columns(void *arg, int64_t begin, int64_t end) {
  const products_job *j = arg;
  const int64_t step[] = {j->size, j->size, j->size}, parts = luc__cuts(j->inner, COLUMNS);
  for (int64_t i = begin; i < end; i++) {
    const int64_t outer = i / parts, first = i % parts * COLUMNS;
    const int64_t n = luc__min64(COLUMNS, j->inner - first), row = j->inner * j->size;
    char *at[] = {j->y + outer * row + first * j->size, NULL, NULL};
    at[1] = at[0], at[2] = (char *)j->x + outer * j->n * row + first * j->size;
    memcpy(at[0], at[2], (size_t)(n * j->size));
    for (int64_t r = 1; r < j->n; r++) {
      at[2] += row;
      j->mul(at, step, n, NULL);
    }
  }
}

static products_job products_of(luc_context *ctx, luc_dtype dtype, const void *x, void *y) {
  const bool wide = dtype == LUC_COMPLEX128;
  return (products_job){.mul = luc__kernels(ctx)->complexes[LUC_EW_mul][wide],
                        .fold = luc__kernels(ctx)->complex_fold[wide],
                        .size = (int64_t)luc__dtype_size(dtype),
                        .wide = wide,
                        .x = x,
                        .y = y};
}

enum { GRAIN = 1 << 11 };

void luc__complex_products(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t n, bool running,
                           const void *x, void *y) {
  products_job j = products_of(ctx, dtype, x, y);
  j.n = n, j.running = running;
  luc__parallel_for(ctx, rows, GRAIN / (n + 1) + 1, multiply_rows, &j);
}

void luc__complex_column_products(luc_context *ctx, luc_dtype dtype, int64_t outer, int64_t n,
                                  int64_t inner, const void *x, void *y) {
  products_job j = products_of(ctx, dtype, x, y);
  const int64_t part = luc__min64(inner, COLUMNS);
  j.n = n, j.inner = inner;
  luc__parallel_for(ctx, outer * luc__cuts(inner, COLUMNS), GRAIN / (n * part) + 1,
                    multiply_columns, &j);
}

typedef struct turned_job {
  luc_complex_turned_fn add;
  int64_t bytes; /* of a row */
  int64_t n;
  const char *pairs;
  char *z;
} turned_job;

static void add_turned_rows(void *arg, int64_t begin, int64_t end) {
  const turned_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const char *x = j->pairs + 2 * i * j->bytes;
    j->add(j->z + i * j->bytes, x, x + j->bytes, j->n);
  }
}

void luc__complex_add_turned(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t n,
                             const void *pairs, void *z) {
  turned_job j = {.add = luc__kernels(ctx)->complex_turned[dtype == LUC_COMPLEX128],
                  .bytes = n * (int64_t)luc__dtype_size(dtype),
                  .n = n,
                  .pairs = pairs,
                  .z = z};
  luc__parallel_for(ctx, rows, 8 * GRAIN / (n + 1) + 1, add_turned_rows, &j);
}
