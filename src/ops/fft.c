/* lucerna.fft. Three transforms do the work: of complex numbers, of real ones to the non-negative
 * frequencies, and back. The public functions fit the input to the lengths asked for, and conjugate
 * where they go the other way. A transform is linear, so its gradient is its adjoint. */
#include <math.h>
#include <string.h>

#include "cpu/fft.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"

/* ---- the three transforms ---- */

/* The kernel's description of a transform over args[1]; sizes: those of the real side. */
static luc_fft describe(const luc_tensor *t, luc_fft_kind kind, const luc_value *dims,
                        const int64_t *sizes, double scale, int *held) {
  for (int i = 0; i < dims->n; i++) held[i] = (int)dims->as.ints[i];
  luc_dtype dtype = luc__dtype_to_real(t->dtype);
  return (luc_fft){kind, dtype, t->ndim, sizes, dims->n, held, scale};
}

/* A new tensor, held: the transform of t as contiguous memory. */
static luc_status transformed(luc_context *ctx, luc_tensor *t, const luc_fft *f, luc_dtype dtype,
                              const int64_t *sizes, luc_tensor **out) {
  luc_tensor *in;
  LUC_TRY(luc__as_dense(ctx, t, t->dtype, &in));
  LUC_TRY(luc__scratch(ctx, dtype, t->ndim, sizes, out));
  return luc__fft(ctx, f, in->data, (*out)->data);
}

/* fft_complex(input, dim, scale, forward) */
luc_status luc__run_fft_complex(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r;
  int dims[LUC_MAX_DIMS];
  luc_fft_kind kind = args[3].as.i ? LUC_FFT_FORWARD : LUC_FFT_INVERSE;
  luc_fft f = describe(t, kind, &args[1], t->sizes, luc_as_double(&args[2]), dims);
  LUC_TRY(transformed(ctx, t, &f, t->dtype, t->sizes, &r));
  return luc__result(ctx, out, r->dtype, r);
}

luc_status luc__grad_fft_complex(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  if (!b->gout[0]) return LUC_OK;
  luc_value g = luc_v_tensor(b->gout[0]), back = luc_v_bool(!b->args[3].as.i);
  luc_tensor *r = luc__f_call(&f, LUC_OP_fft_complex, LUC_ARGS(g, b->args[1], b->args[2], back));
  return luc__f_end(&f, r, &b->gin[0]);
}

/* fft_real(input, dim, scale, whole): of the last dim only the frequencies 0 to n / 2, or all. */
luc_status luc__run_fft_real(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r;
  int dims[LUC_MAX_DIMS];
  int64_t sizes[LUC_MAX_DIMS];
  luc_fft_kind kind = args[3].as.i ? LUC_FFT_WHOLE : LUC_FFT_REAL;
  luc_fft f = describe(t, kind, &args[1], t->sizes, luc_as_double(&args[2]), dims);
  for (int d = 0; d < t->ndim; d++) sizes[d] = t->sizes[d];
  int last = dims[f.count - 1];
  if (!args[3].as.i) sizes[last] = sizes[last] / 2 + 1;
  luc_dtype dtype = luc__dtype_to_complex(t->dtype);
  LUC_TRY(transformed(ctx, t, &f, dtype, sizes, &r));
  return luc__result(ctx, out, dtype, r);
}

/* fft_back(input, dim, scale, n): the real numbers, n along the last dim, whose frequencies are
 * the input and its mirror image. Over the other dims it is a transform of complex numbers, done
 * first, so that what it gives for an input that no real numbers have is PyTorch's. */
luc_status luc__run_fft_back(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  int dims[LUC_MAX_DIMS], last = args[1].n - 1;
  int64_t sizes[LUC_MAX_DIMS];
  luc_formula formula = luc__formula(ctx);
  if (last > 0) {
    luc_value others = luc_v_ints(args[1].as.ints, last), one = luc_v_float(1);
    t = luc__f_call(&formula, LUC_OP_fft_complex,
                    LUC_ARGS(args[0], others, one, luc_v_bool(false)));
  }
  if (formula.status == LUC_OK) {
    luc_value along = luc_v_ints(args[1].as.ints + last, 1);
    for (int d = 0; d < t->ndim; d++) sizes[d] = t->sizes[d];
    sizes[along.as.ints[0]] = args[3].as.i;
    luc_fft f = describe(t, LUC_FFT_BACK, &along, sizes, luc_as_double(&args[2]), dims);
    formula.status = transformed(ctx, t, &f, f.dtype, sizes, &r);
  }
  return luc__f_result(&formula, r, out);
}

/* t [.., n / 2 + 1, ..] times `factor` where a frequency along dim stands for its mirror image too:
 * not at 0, and not at n / 2. */
static luc_tensor *doubled(luc_formula *f, luc_tensor *t, int64_t dim, int64_t n, double factor) {
  luc_tensor *weights = NULL;
  if (f->status != LUC_OK) return NULL;
  if (t->numel == 0) return t; /* n may be beyond all memory */
  int64_t half = n / 2 + 1, sizes[LUC_MAX_DIMS];
  luc_dtype dtype = luc__dtype_to_real(t->dtype);
  for (int d = 0; d < t->ndim; d++) sizes[d] = d == dim ? half : 1;
  f->status = luc__tensor_empty(f->ctx, dtype, t->ndim, sizes, &weights);
  luc__f_own(f, weights);
  if (f->status != LUC_OK) return NULL;
  for (int64_t i = 0; i < half; i++) {
    double weight = i == 0 || 2 * i == n ? 1 : factor;
    luc_scalar s = {LUC_SCALAR_FLOAT, {.f = weight}};
    luc__store_scalar(weights->data + (size_t)i * luc__dtype_size(dtype), dtype, s);
  }
  return luc__f2(f, LUC_OP_mul, t, weights);
}

luc_status luc__grad_fft_real(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value dims = b->args[1], scale = b->args[2];
  int64_t sizes[LUC_MAX_DIMS], last = dims.as.ints[dims.n - 1];
  luc_tensor *g = b->gout[0];
  if (!g) return LUC_OK;
  if (b->args[3].as.i) {
    luc_value inverse = luc_v_bool(false);
    g = luc__f_call(&f, LUC_OP_fft_complex, LUC_ARGS(luc_v_tensor(g), dims, scale, inverse));
    return luc__f_end(&f, luc__f1(&f, LUC_OP_real, g), &b->gin[0]);
  }
  luc__input_sizes(b, 0, sizes);
  luc_value n = luc_v_int(sizes[last]);
  g = doubled(&f, g, last, sizes[last], 0.5);
  g = luc__f_call(&f, LUC_OP_fft_back, LUC_ARGS(luc_v_tensor(g), dims, scale, n));
  return luc__f_end(&f, g, &b->gin[0]);
}

luc_status luc__grad_fft_back(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  int64_t last = b->args[1].as.ints[b->args[1].n - 1];
  if (!b->gout[0]) return LUC_OK;
  luc_value g = luc_v_tensor(b->gout[0]), whole = luc_v_bool(false);
  luc_tensor *r = luc__f_call(&f, LUC_OP_fft_real, LUC_ARGS(g, b->args[1], b->args[2], whole));
  return luc__f_end(&f, doubled(&f, r, last, b->args[3].as.i, 2), &b->gin[0]);
}

/* ---- what is transformed ---- */

/* The dims and the lengths along them. */
typedef struct lengths {
  int count;
  int64_t dims[LUC_MAX_DIMS], sizes[LUC_MAX_DIMS];
} lengths;

/* An argument that is a number, a list or None (then NULL). */
static const int64_t *numbers(const luc_value *v, int *count) {
  *count = v->kind == LUC_INT ? 1 : luc_is_none(v) ? 0 : v->n;
  return luc_is_none(v) ? NULL : v->kind == LUC_INT ? &v->as.i : v->as.ints;
}

/* The dims given, else the last ones, as many as sizes are given, else all. */
static luc_status read_dims(luc_context *ctx, const luc_tensor *t, const luc_value *sizes,
                            const luc_value *given, lengths *l) {
  int nsizes, ndims;
  numbers(sizes, &nsizes);
  const int64_t *dims = numbers(given, &ndims);
  bool one = given->kind == LUC_INT, any = !luc_is_none(sizes);
  LUC_CHECK(ctx, !one || t->ndim > 0, LUC_ERR_SHAPE,
            "Dimension specified as %lld but tensor has no dimensions", (long long)given->as.i);
  LUC_CHECK(ctx, luc_is_none(given) || !any || nsizes == ndims, LUC_ERR_VALUE,
            "When given, dim and shape arguments must have the same length");
  LUC_CHECK(ctx, !any || nsizes <= t->ndim, LUC_ERR_VALUE,
            "Got shape with %d values but input tensor only has %d dimensions.", nsizes, t->ndim);
  l->count = !luc_is_none(given) ? ndims : any ? nsizes : t->ndim;
  bool seen[LUC_MAX_DIMS] = {false};
  LUC_CHECK(ctx, l->count <= t->ndim, LUC_ERR_VALUE, "FFT dims must be unique");
  for (int i = 0; i < l->count; i++) {
    int dim = t->ndim - l->count + i;
    if (!luc_is_none(given)) LUC_TRY(luc__dim_wrap(ctx, dims[i], t->ndim, &dim));
    LUC_CHECK(ctx, !seen[dim], LUC_ERR_VALUE, "FFT dims must be unique");
    seen[dim] = true;
    l->dims[i] = dim;
  }
  return LUC_OK;
}

/* The lengths given, of which -1 means the input's. half: those of the real side, of which the last
 * is by default the even one that gives the input's. */
static luc_status read_lengths(luc_context *ctx, const luc_tensor *t, const luc_value *sizes,
                               const luc_value *dims, bool half, lengths *l) {
  int nsizes;
  const int64_t *given = numbers(sizes, &nsizes);
  LUC_TRY(read_dims(ctx, t, sizes, dims, l));
  bool single = sizes->kind == LUC_INT; /* a lone n has no -1 */
  for (int i = 0; i < l->count; i++) {
    bool known = given && (single || given[i] != -1);
    int64_t own = t->sizes[l->dims[i]];
    l->sizes[i] = known ? given[i] : half && i == l->count - 1 ? 2 * (own - 1) : own;
    LUC_CHECK(ctx, l->sizes[i] > 0, LUC_ERR_VALUE, "Invalid number of data points (%lld) specified",
              (long long)l->sizes[i]);
  }
  return LUC_OK;
}

/* t cut off or followed by zeros. */
static luc_tensor *fitted(luc_formula *f, luc_tensor *t, int64_t dim, int64_t size) {
  if (f->status != LUC_OK || t->sizes[dim] == size) return t;
  if (t->sizes[dim] > size) return luc__f_narrow(f, t, dim, 0, size);
  int64_t pad[2 * LUC_MAX_DIMS] = {0}, pairs = t->ndim - dim; /* of dims from the last one on */
  pad[2 * pairs - 1] = size - t->sizes[dim];
  luc_value by = luc_v_ints(pad, (int)(2 * pairs));
  return luc__f_call(f, LUC_OP_constant_pad_nd, LUC_ARGS(luc_v_tensor(t), by));
}

/* What the result is multiplied by; transforms themselves multiply by nothing. */
static luc_status read_norm(luc_context *ctx, const luc_value *norm, bool forward, const lengths *l,
                            double *scale) {
  const char *name = luc_is_none(norm) ? "backward" : norm->as.string;
  bool none = !strcmp(name, forward ? "backward" : "forward"), ortho = !strcmp(name, "ortho");
  bool all = !strcmp(name, forward ? "forward" : "backward");
  LUC_CHECK(ctx, none || ortho || all, LUC_ERR_VALUE, "Invalid normalization mode: \"%s\"", name);
  double n = 1;
  for (int i = 0; i < l->count; i++) n *= (double)l->sizes[i];
  *scale = none ? 1 : ortho ? 1 / sqrt(n) : 1 / n;
  return LUC_OK;
}

/* The dtype to compute in, of real numbers. */
static luc_status read_dtype(luc_context *ctx, const luc_tensor *t, luc_dtype *dtype) {
  bool whole = luc__dtype_is_int(t->dtype) || t->dtype == LUC_BOOL;
  *dtype = whole ? ctx->default_dtype : luc__dtype_to_real(t->dtype);
  LUC_CHECK(ctx, *dtype == LUC_FLOAT32 || *dtype == LUC_FLOAT64, LUC_ERR_TYPE,
            "Unsupported dtype %s", luc__dtype_title(*dtype));
  return LUC_OK;
}

/* ---- the functions ---- */

typedef enum domain { OF_COMPLEX, OF_REAL, TO_REAL } domain;

static luc_status check_kind(luc_context *ctx, const luc_tensor *t, domain kind, bool single,
                             int count) {
  LUC_CHECK(ctx, kind != OF_REAL || !luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
            "expects a real%s input tensor, but got %s", single ? "" : "-valued",
            luc__dtype_title(t->dtype));
  LUC_CHECK(ctx, kind == OF_COMPLEX || count > 0, LUC_ERR_VALUE,
            "must transform at least one axis");
  return LUC_OK;
}

/* hfft and ihfft go the other way than the rows fft_back and fft_real, so they conjugate. */
static luc_tensor *transform(luc_formula *f, domain kind, bool forward, luc_tensor *t,
                             const lengths *l, double scale) {
  luc_value dims = luc_v_ints(l->dims, l->count), by = luc_v_float(scale);
  if (f->status != LUC_OK) return NULL;
  if (kind == TO_REAL) {
    luc_value n = luc_v_int(l->sizes[l->count - 1]);
    if (forward) t = luc__f1(f, LUC_OP_conj, t);
    return luc__f_call(f, LUC_OP_fft_back, LUC_ARGS(luc_v_tensor(t), dims, by, n));
  }
  bool complex = luc__dtype_is_complex(t->dtype);
  luc_value how = luc_v_bool(complex ? forward : kind == OF_COMPLEX);
  luc_opid op = complex ? LUC_OP_fft_complex : LUC_OP_fft_real;
  t = luc__f_call(f, op, LUC_ARGS(luc_v_tensor(t), dims, by, how));
  return complex || forward ? t : luc__f1(f, LUC_OP_conj, t);
}

/* args: input, n or s, dim, norm */
static luc_status run(luc_context *ctx, domain kind, bool forward, const luc_value *args,
                      luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  luc_formula f = luc__formula(ctx);
  lengths l;
  double scale = 1;
  luc_dtype dtype;
  LUC_TRY(read_dtype(ctx, t, &dtype));
  LUC_TRY(read_lengths(ctx, t, &args[1], &args[2], kind == TO_REAL, &l));
  LUC_TRY(check_kind(ctx, t, kind, args[2].kind == LUC_INT, l.count));
  LUC_TRY(read_norm(ctx, &args[3], forward, &l, &scale));
  for (int i = 0; i < l.count; i++) {
    bool half = kind == TO_REAL && i == l.count - 1;
    t = fitted(&f, t, l.dims[i], half ? l.sizes[i] / 2 + 1 : l.sizes[i]);
  }
  bool complex = kind == TO_REAL || l.count == 0;
  complex = complex || luc__dtype_is_complex(args[0].as.tensor->dtype);
  t = luc__f_to(&f, t, complex ? luc__dtype_to_complex(dtype) : dtype);
  t = transform(&f, kind, forward, t, &l, scale);
  LUC_TRY(luc__f_end(&f, t, &r));
  return luc__give(ctx, LUC_OK, out, r);
}

LUC_RUN_BY(fft, run, OF_COMPLEX, true)
LUC_RUN_BY(ifft, run, OF_COMPLEX, false)
LUC_RUN_BY(rfft, run, OF_REAL, true)
LUC_RUN_BY(irfft, run, TO_REAL, false)
LUC_RUN_BY(hfft, run, TO_REAL, true)
LUC_RUN_BY(ihfft, run, OF_REAL, false)

/* ---- order of frequencies ---- */

/* Each dim moved on by half its size; `up` rounds that up. */
static luc_status shift(luc_context *ctx, int up, const luc_value *args, luc_value *out) {
  const luc_tensor *t = args[0].as.tensor;
  int64_t dims[LUC_MAX_DIMS], by[LUC_MAX_DIMS];
  int count = luc_is_none(&args[1]) ? t->ndim : args[1].n;
  LUC_CHECK(ctx, count <= LUC_MAX_DIMS, LUC_ERR_VALUE, "too many dims (%d)", count);
  for (int i = 0; i < count; i++) {
    int dim = i;
    if (!luc_is_none(&args[1])) LUC_TRY(luc__dim_wrap(ctx, args[1].as.ints[i], t->ndim, &dim));
    dims[i] = dim;
    by[i] = t->ndim ? (t->sizes[dim] + up) / 2 : 0;
  }
  luc_formula f = luc__formula(ctx);
  luc_tensor *r = luc__f_call(&f, LUC_OP_roll_dims,
                              LUC_ARGS(args[0], luc_v_ints(by, count), luc_v_ints(dims, count)));
  return luc__f_result(&f, r, out);
}

LUC_RUN_BY(fftshift, shift, 0)
LUC_RUN_BY(ifftshift, shift, 1)
