/* Convolution. The public rows check, work out the geometry and call three rows that are each
 * other's gradients: convolution, convolution_input (also the transposed convolution) and
 * convolution_weight. For a loss <g, conv(x, w)> they are its derivatives by g, x and w, so that
 * any order of differentiation stays among them. */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include <string.h>

#include "cpu/conv.h"
#include "cpu/conv_tiles.h"
#include "cpu/cuts.h"
#include "ops/pairs.h"

/* Where the rows that take (…, stride, padding, dilation, groups) find them. */
enum { CONV_STRIDE = 3 };

/* ---- the three rows: everything has been checked, inputs have their batch ---- */

/* x, w and y by shape alone; `at` is the first of the four geometry arguments. */
static luc_conv geometry(const luc_value *at, luc_dtype dtype, const int64_t *x, const int64_t *w,
                         const int64_t *y) {
  luc_conv c = {.dtype = dtype,
                .batch = x[0],
                .in_channels = x[1],
                .out_channels = w[0],
                .groups = at[3].as.i};
  const int missing = LUC_MAX_SPATIAL - at[0].n;
  for (int d = 0; d < missing; d++)
    c.in[d] = c.kernel[d] = c.out[d] = c.stride[d] = c.dilation[d] = 1;
  for (int i = 0; i < at[0].n; i++) {
    const int d = missing + i;
    c.in[d] = x[i + 2], c.kernel[d] = w[i + 2], c.out[d] = y[i + 2];
    c.stride[d] = at[0].as.ints[i], c.padding[d] = at[1].as.ints[i];
    c.dilation[d] = at[2].as.ints[i];
  }
  return c;
}

static void append(int64_t *sizes, const luc_value *spatial) {
  memcpy(sizes + 2, spatial->as.ints, (size_t)spatial->n * sizeof *sizes);
}

static bool may_pair(const luc_tensor *a, const luc_tensor *b) {
  return a->dtype == LUC_BFLOAT16 && a->numel > 0 && b->numel > 0;
}

/* Dense, or its pairs along dimensions [first, end), seen as one. */
static luc_status factor(luc_context *ctx, luc_tensor *t, luc_dtype compute, bool pairs, int first,
                         int end, luc_tensor **out) {
  if (!pairs) return luc__as_dense(ctx, t, compute, out);
  luc_tensor *dense, *rows;
  LUC_TRY(luc__as_dense(ctx, t, t->dtype, &dense));
  const int64_t paired = luc__product(end - first, t->sizes + first);
  const int64_t beside = luc__product(t->ndim - end, t->sizes + end);
  const int64_t sizes[] = {t->numel / (paired * beside), paired, beside};
  const int64_t strides[] = {paired * beside, beside, 1};
  const int ndim = beside > 1 ? 3 : 2; /* else they are adjacent */
  LUC_TRY(luc__held(ctx, luc__tensor_view(ctx, dense, ndim, sizes, strides, dense->offset, &rows),
                    &rows));
  return luc__held(ctx, luc__pairs_of(ctx, rows, 1, out), out);
}

/* What each output of `c` sees of x [N, C, in...], as [N, groups, C / groups * kernel, out]. */
static luc_tensor *windows(luc_formula *f, luc_tensor *x, const luc_conv *c, int spatial) {
  int64_t pad[2 * LUC_MAX_SPATIAL], sizes[LUC_MAX_DIMS] = {c->batch, c->in_channels};
  int64_t strides[LUC_MAX_DIMS], *kernel = sizes + 2, *out = kernel + spatial;
  for (int i = 0, d = LUC_MAX_SPATIAL - spatial; i < spatial; i++, d++) {
    const int64_t met = (c->out[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1;
    int64_t *ends = pad + 2 * (spatial - 1 - i);
    ends[0] = c->padding[d];
    ends[1] = met - c->in[d] - c->padding[d];
    kernel[i] = c->kernel[d], out[i] = c->out[d];
  }
  x = luc__f_call(f, LUC_OP_constant_pad_nd,
                  LUC_ARGS(luc_v_tensor(x), luc_v_ints(pad, 2 * spatial), luc_v_int(0)));
  if (!x) return NULL;
  memcpy(strides, x->strides, 2 * sizeof *strides);
  for (int i = 0, d = LUC_MAX_SPATIAL - spatial; i < spatial; i++, d++) {
    strides[2 + i] = c->dilation[d] * x->strides[2 + i];
    strides[2 + spatial + i] = c->stride[d] * x->strides[2 + i];
  }
  const int n = 2 + 2 * spatial;
  const int64_t flat[] = {c->batch, c->groups, luc__product(spatial + 1, sizes + 1) / c->groups,
                          luc__product(spatial, out)};
  x = luc__f_call(f, LUC_OP_as_strided,
                  LUC_ARGS(luc_v_tensor(x), luc_v_ints(sizes, n), luc_v_ints(strides, n)));
  return luc__f_reshape(f, x, 4, flat);
}

/* y, which is nobody else's, takes the bias where it lies, unless that is recorded. */
static luc_tensor *add_bias(luc_formula *f, luc_tensor *y, luc_tensor *bias, int spatial) {
  if (!bias) return y;
  const int64_t sizes[] = {bias->sizes[0], 1, 1, 1};
  bias = luc__f_reshape(f, bias, spatial + 1, sizes);
  luc_value args[3] = {luc_v_tensor(y), luc_v_tensor(bias)};
  if (f->status != LUC_OK) return NULL;
  if (y->inner || bias->inner || luc__wants_record(f->ctx, LUC_OP_add, args, 2))
    return luc__f2(f, LUC_OP_add, y, bias);
  f->status = luc_call_inplace(f->ctx, LUC_OP_add, args, 2);
  return y;
}

/* Sums of integers wrap. */
static luc_status convolve_integers(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor, *w = args[1].as.tensor, *bias = luc_as_tensor(&args[2]);
  const int spatial = x->ndim - 2;
  int64_t sizes[LUC_MAX_DIMS] = {x->sizes[0], w->sizes[0]};
  append(sizes, &args[7]);
  const luc_conv c = geometry(&args[CONV_STRIDE], x->dtype, x->sizes, w->sizes, sizes);
  const int64_t rows[] = {c.groups, c.out_channels / c.groups,
                          luc__product(w->ndim - 1, w->sizes + 1)};
  const int64_t planes[] = {c.batch, c.out_channels, luc__product(spatial, args[7].as.ints)};
  luc_tensor *y =
      luc__f2(&f, LUC_OP_matmul, luc__f_reshape(&f, w, 3, rows), windows(&f, x, &c, spatial));
  y = add_bias(&f, luc__f_reshape(&f, y, 3, planes), bias, 1);
  return luc__f_result(&f, luc__f_reshape(&f, y, x->ndim, sizes), out);
}

/* One of the three rows, of complex factors: three real ones, of the parts and of their sums. */
static luc_status of_parts(luc_context *ctx, luc_opid op, const luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  const int n = op == LUC_OP_convolution ? CONV_STRIDE + 5 : CONV_STRIDE + 4;
  luc_tensor *parts[2][3], *y[3];
  luc_value real[CONV_STRIDE + 5];
  memcpy(real, args, (size_t)n * sizeof *real);
  for (int p = 0; p < 2; p++) {
    parts[p][0] = luc__f1(&f, LUC_OP_real, args[p].as.tensor);
    parts[p][1] = luc__f1(&f, LUC_OP_imag, args[p].as.tensor);
    parts[p][2] = luc__f2(&f, LUC_OP_add, parts[p][0], parts[p][1]);
  }
  if (op == LUC_OP_convolution) real[2] = luc_v_tensor(NULL);
  for (int i = 0; i < 3; i++) {
    for (int p = 0; p < 2; p++) real[p] = luc_v_tensor(parts[p][i]);
    y[i] = luc__f_call(&f, op, real, n);
  }
  luc_tensor *re = luc__f2(&f, LUC_OP_sub, y[0], y[1]);
  luc_tensor *im = luc__f2(&f, LUC_OP_sub, y[2], luc__f2(&f, LUC_OP_add, y[0], y[1]));
  luc_tensor *z = luc__f2(&f, LUC_OP_complex, re, im);
  if (op == LUC_OP_convolution && z) z = add_bias(&f, z, luc_as_tensor(&args[2]), z->ndim - 2);
  return luc__f_result(&f, z, out);
}

/* (input, weight, bias, stride, padding, dilation, groups, output_size); relu of floats alone. */
static luc_status convolution(luc_context *ctx, bool relu, luc_value *args, luc_value *out) {
  if (!luc__dtype_has_gradient(args[0].as.tensor->dtype)) return convolve_integers(ctx, args, out);
  luc_tensor *input = args[0].as.tensor, *weight = args[1].as.tensor;
  luc_tensor *x, *w, *b, *y;
  if (luc__dtype_is_complex(input->dtype)) return of_parts(ctx, LUC_OP_convolution, args, out);
  luc_dtype compute = luc__compute_dtype(input->dtype);
  int64_t sizes[LUC_MAX_DIMS] = {input->sizes[0], weight->sizes[0]};
  append(sizes, &args[7]);
  LUC_TRY(luc__scratch(ctx, compute, input->ndim, sizes, &y));
  luc_conv c = geometry(&args[CONV_STRIDE], compute, input->sizes, weight->sizes, sizes);
  c.relu = relu;
  c.pairs = may_pair(input, weight) && luc__conv_pairs_suit(ctx, &c);
  LUC_TRY(factor(ctx, input, compute, c.pairs, 1, 2, &x));
  LUC_TRY(factor(ctx, weight, compute, c.pairs, 1, 2, &w));
  LUC_TRY(luc__as_dense(ctx, luc_as_tensor(&args[2]), compute, &b));
  if (c.pairs) c.in_channels = luc__cuts(c.in_channels, 2);
  if (y->numel > 0) LUC_TRY(luc__conv_forward(ctx, &c, x->data, w->data, luc__data(b), y->data));
  return luc__result(ctx, out, input->dtype, y);
}

LUC_RUN_BY(convolution, convolution, false)
LUC_RUN_BY(convolution_relu, convolution, true)

/* convolution_input(grad, weight, input_size, stride, padding, dilation, groups) */
luc_status luc__run_convolution_input(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *weight = args[1].as.tensor;
  luc_tensor *dy, *w, *dx;
  if (luc__dtype_is_complex(grad->dtype)) return of_parts(ctx, LUC_OP_convolution_input, args, out);
  luc_dtype compute = luc__compute_dtype(grad->dtype);
  int64_t sizes[LUC_MAX_DIMS] = {grad->sizes[0], weight->sizes[1] * args[6].as.i};
  append(sizes, &args[2]);
  LUC_TRY(luc__scratch(ctx, compute, grad->ndim, sizes, &dx));
  luc_conv c = geometry(&args[CONV_STRIDE], compute, sizes, weight->sizes, grad->sizes);
  c.pairs = may_pair(grad, weight) && luc__conv_pairs_suit_input(ctx, &c);
  LUC_TRY(factor(ctx, grad, compute, c.pairs, 1, 2, &dy));
  LUC_TRY(factor(ctx, weight, compute, c.pairs, 0, 1, &w));
  if (c.pairs) c.out_channels = luc__cuts(c.out_channels, 2);
  if (dx->numel > 0) LUC_TRY(luc__conv_backward_input(ctx, &c, dy->data, w->data, dx->data));
  return luc__result(ctx, out, grad->dtype, dx);
}

/* convolution_weight(grad, input, kernel_size, stride, padding, dilation, groups) */
luc_status luc__run_convolution_weight(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *input = args[1].as.tensor;
  luc_tensor *dy, *x, *dw;
  if (luc__dtype_is_complex(grad->dtype))
    return of_parts(ctx, LUC_OP_convolution_weight, args, out);
  luc_dtype dtype = grad->dtype, compute = luc__compute_dtype(dtype);
  int64_t sizes[LUC_MAX_DIMS] = {grad->sizes[1], input->sizes[1] / args[6].as.i};
  append(sizes, &args[2]);
  LUC_TRY(luc__scratch(ctx, compute, grad->ndim, sizes, &dw));
  luc_conv c = geometry(&args[CONV_STRIDE], compute, input->sizes, sizes, grad->sizes);
  c.pairs = may_pair(grad, input) && luc__conv_pairs_suit_weight(ctx, &c);
  if (!c.pairs && may_pair(grad, input) && luc__conv_tiles_suit(ctx, &c)) {
    LUC_TRY(luc__as_dense(ctx, grad, dtype, &dy));
    LUC_TRY(luc__as_dense(ctx, input, dtype, &x));
    LUC_TRY(luc__conv_tiles_weight(ctx, &c, x->data, dy->data, dw->data));
    if (luc__conv_is_finite(ctx, &c, dw->data)) return luc__result(ctx, &out[0], dtype, dw);
  }
  LUC_TRY(factor(ctx, grad, compute, c.pairs, 2, grad->ndim, &dy));
  LUC_TRY(factor(ctx, input, compute, c.pairs, 2, input->ndim, &x));
  for (int d = 0; c.pairs && d < LUC_MAX_SPATIAL; d++)
    c.in[d] = c.out[d] = d > 0 ? 1 : luc__cuts(luc__volume(c.out), 2);
  if (luc__product(grad->ndim, sizes) > 0)
    LUC_TRY(luc__conv_backward_weight(ctx, &c, x->data, dy->data, dw->data));
  return luc__result(ctx, &out[0], dtype, dw);
}

/* ---- their gradients ---- */

/* Input, weight and gradient are factors of one sum: each of the three operators gives the sum's
 * derivative by one of them from the two others, so their gradients are each other. */
enum { X, W, G };

static luc_tensor *derivative(luc_formula *f, int by, luc_tensor *const *factors, luc_value size,
                              const luc_value *at) {
  luc_value x = luc_v_tensor(factors[X]), w = luc_v_tensor(factors[W]);
  luc_value g = luc_v_tensor(factors[G]);
  if (by == G)
    return luc__f_call(f, LUC_OP_convolution,
                       LUC_ARGS(x, w, luc_v_tensor(NULL), at[0], at[1], at[2], at[3], size));
  return luc__f_call(f, by == X ? LUC_OP_convolution_input : LUC_OP_convolution_weight,
                     LUC_ARGS(g, by == X ? w : x, size, at[0], at[1], at[2], at[3]));
}

/* g summed over all but the channels. */
static luc_tensor *sum_to_bias(luc_formula *f, luc_tensor *g) {
  int64_t dims[] = {0, 2, 3, 4};
  return luc__f_sum(f, g, g->ndim - 1, dims, false);
}

/* The operator takes factors 0 and 1, and what comes back stands for the third. */
static luc_status grad_factors(luc_context *ctx, luc_backward *b, int factor0, int factor1,
                               int third) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t[3];
  int64_t sizes[LUC_MAX_DIMS];
  t[factor0] = luc__f_conj(&f, luc_as_tensor(&b->args[0]));
  t[factor1] = luc__f_conj(&f, luc_as_tensor(&b->args[1]));
  t[third] = b->gout[0];
  for (int p = 0; p < 2; p++) {
    if (!luc__needs(b, p)) continue;
    luc_value size = luc__input_spatial(b, p, t[third]->ndim - 2, sizes);
    luc_tensor *d = derivative(&f, p ? factor1 : factor0, t, size, &b->args[CONV_STRIDE]);
    luc__f_keep(&f, d, &b->gin[p]);
  }
  if (third == G && luc__needs(b, 2)) luc__f_keep(&f, sum_to_bias(&f, t[G]), &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(convolution, grad_factors, X, W, G)
LUC_GRAD_BY(convolution_relu, luc__grad_behind_relu, luc__grad_convolution)
LUC_GRAD_BY(convolution_input, grad_factors, G, W, X)
LUC_GRAD_BY(convolution_weight, grad_factors, G, X, W)

/* ---- checks ---- */

/* A public call's arguments, taken apart. */
typedef struct conv_call {
  int spatial;
  bool batched, transposed;
  luc_tensor *input, *weight, *bias;
  int64_t groups;
  int64_t stride[LUC_MAX_SPATIAL], padding[LUC_MAX_SPATIAL], dilation[LUC_MAX_SPATIAL];
  int64_t after[LUC_MAX_SPATIAL]; /* padding behind; output_padding of a transposed one */
  int64_t out[LUC_MAX_SPATIAL];
} conv_call;

static luc_status check_channels(luc_context *ctx, const conv_call *c) {
  const luc_tensor *x = c->input, *w = c->weight;
  int64_t channels = x->sizes[x->ndim - c->spatial - 1];
  int64_t expected = c->transposed ? w->sizes[0] : w->sizes[1] * c->groups;
  int64_t out_channels = c->transposed ? w->sizes[1] * c->groups : w->sizes[0];
  if (channels != expected)
    return luc__fail_shapes(ctx, "input", x, "weight", w,
                            "input has %lld channels, weight expects %lld with groups=%lld",
                            (long long)channels, (long long)expected, (long long)c->groups);
  if (w->sizes[0] % c->groups != 0)
    return luc__fail_shapes(
        ctx, "input", x, "weight", w, "weight's %lld %s channels are not divisible by groups=%lld",
        (long long)w->sizes[0], c->transposed ? "input" : "output", (long long)c->groups);
  if (w->sizes[0] < c->groups)
    return luc__fail_shapes(ctx, "input", c->input, "weight", w,
                            "with groups=%lld weight must have at least %lld at dimension 1",
                            (long long)c->groups, (long long)c->groups);
  if (c->bias && (c->bias->ndim != 1 || c->bias->sizes[0] != out_channels))
    return luc__fail_shapes(ctx, "weight", w, "bias", c->bias,
                            "bias must have one value for each of %lld output channels",
                            (long long)out_channels);
  return LUC_OK;
}

static luc_status check_call(luc_context *ctx, conv_call *c) {
  LUC_TRY(luc__check_batched(ctx, c->input, c->spatial, &c->batched));
  if (c->weight->ndim != c->spatial + 2)
    return luc__fail_shapes(ctx, "input", c->input, "weight", c->weight,
                            "weight must have %d dimensions", c->spatial + 2);
  LUC_TRY(luc__match_dtype(ctx, "input", c->input, "weight", c->weight));
  LUC_TRY(luc__match_dtype(ctx, "input", c->input, "bias", c->bias));
  LUC_TRY(luc__need_numbers(ctx, c->input));
  LUC_TRY(luc__check_least(ctx, "groups", 1, &c->groups, 1));
  LUC_TRY(luc__check_least(ctx, "stride", c->spatial, c->stride, 1));
  LUC_TRY(luc__check_least(ctx, "padding", c->spatial, c->padding, 0));
  LUC_TRY(luc__check_least(ctx, "dilation", c->spatial, c->dilation, 1));
  LUC_TRY(luc__check_least(ctx, "weight's kernel", c->spatial, c->weight->sizes + 2, 1));
  return check_channels(ctx, c);
}

/* padding: integers, 'valid', or 'same', whose odd cell goes behind. */
static luc_status take_padding(luc_context *ctx, conv_call *c, const luc_value *v) {
  if (v->kind != LUC_STRING) {
    LUC_TRY(luc__take_ints(ctx, "padding", v, c->spatial, c->padding));
    memcpy(c->after, c->padding, sizeof c->after);
    return LUC_OK;
  }
  int same;
  LUC_TRY(luc__choice(ctx, "padding", "valid|same", v->as.string, &same));
  for (int i = 0; i < c->spatial; i++) {
    int64_t total = same ? c->dilation[i] * (c->weight->sizes[i + 2] - 1) : 0;
    LUC_CHECK(ctx, !same || c->stride[i] == 1, LUC_ERR_VALUE,
              "padding 'same' needs stride 1 (got %lld)", (long long)c->stride[i]);
    c->padding[i] = total / 2;
    c->after[i] = total - total / 2;
  }
  return LUC_OK;
}

static luc_status find_output(luc_context *ctx, conv_call *c) {
  const int64_t *in = c->input->sizes + c->input->ndim - c->spatial;
  const int64_t *kernel = c->weight->sizes + 2;
  int64_t padded[LUC_MAX_SPATIAL];
  bool fits = true;
  for (int i = 0; i < c->spatial; i++) {
    padded[i] = in[i] + c->padding[i] + c->after[i];
    c->out[i] = luc__conv_out_size(in[i], kernel[i], c->stride[i], c->padding[i], c->after[i],
                                   c->dilation[i]);
    fits = fits && kernel[i] > 0 && c->out[i] > 0;
  }
  if (fits) return LUC_OK;
  char shape[LUC_SHAPE_TEXT], text[LUC_SHAPE_TEXT];
  return luc__fail(
      ctx, LUC_ERR_SHAPE, "kernel %s (dilation included) is larger than the padded input %s",
      luc__shape_text(text, c->spatial, kernel), luc__shape_text(shape, c->spatial, padded));
}

/* ---- conv1d, conv2d, conv3d ---- */

static luc_tensor *with_batch(luc_formula *f, const conv_call *c) {
  return c->batched ? c->input : luc__f_unsqueeze(f, c->input, 0);
}

/* (input, weight, bias, stride, padding, dilation, groups) */
static luc_status convolve(luc_context *ctx, int spatial, luc_opid op, luc_value *args,
                           luc_value *out) {
  conv_call c = {.spatial = spatial,
                 .input = args[0].as.tensor,
                 .weight = args[1].as.tensor,
                 .bias = luc_as_tensor(&args[2]),
                 .groups = args[6].as.i};
  LUC_TRY(luc__take_ints(ctx, "stride", &args[3], spatial, c.stride));
  LUC_TRY(luc__take_ints(ctx, "dilation", &args[5], spatial, c.dilation));
  if (args[4].kind != LUC_STRING) LUC_TRY(take_padding(ctx, &c, &args[4]));
  LUC_TRY(check_call(ctx, &c));
  if (args[4].kind == LUC_STRING) LUC_TRY(take_padding(ctx, &c, &args[4]));
  LUC_TRY(find_output(ctx, &c));
  luc_formula f = luc__formula(ctx);
  luc_value x = luc_v_tensor(with_batch(&f, &c));
  luc_tensor *y = luc__f_call(
      &f, op,
      LUC_ARGS(x, luc_v_tensor(c.weight), luc_v_tensor(c.bias), luc_v_ints(c.stride, spatial),
               luc_v_ints(c.padding, spatial), luc_v_ints(c.dilation, spatial), luc_v_int(c.groups),
               luc_v_ints(c.out, spatial)));
  if (!c.batched) y = luc__f_squeeze(&f, y, 0);
  return luc__f_result(&f, y, out);
}

LUC_RUN_BY(conv1d, convolve, 1, LUC_OP_convolution)
LUC_RUN_BY(conv2d, convolve, 2, LUC_OP_convolution)
LUC_RUN_BY(conv3d, convolve, 3, LUC_OP_convolution)
LUC_RUN_BY(conv_relu, convolve, (int)args[7].as.i, LUC_OP_convolution_relu)

/* ---- conv_transpose1d, 2d, 3d ---- */

static luc_status find_transposed_output(luc_context *ctx, conv_call *c) {
  const int64_t *in = c->input->sizes + c->input->ndim - c->spatial;
  for (int i = 0; i < c->spatial; i++) {
    LUC_CHECK(ctx, c->after[i] < c->stride[i] || c->after[i] < c->dilation[i], LUC_ERR_VALUE,
              "output_padding must be smaller than stride or dilation (got %lld, stride %lld, "
              "dilation %lld)",
              (long long)c->after[i], (long long)c->stride[i], (long long)c->dilation[i]);
    c->out[i] = (in[i] - 1) * c->stride[i] - 2 * c->padding[i] +
                c->dilation[i] * (c->weight->sizes[i + 2] - 1) + c->after[i] + 1;
  }
  char text[LUC_SHAPE_TEXT];
  for (int i = 0; i < c->spatial; i++)
    if (c->out[i] < 1 || in[i] < 1)
      return luc__fail_shapes(ctx, "input", c->input, "weight", c->weight,
                              "the output would have size %s",
                              luc__shape_text(text, c->spatial, c->out));
  return LUC_OK;
}

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
static luc_status convolve_transposed(luc_context *ctx, int spatial, luc_value *args,
                                      luc_value *out) {
  conv_call c = {.spatial = spatial,
                 .transposed = true,
                 .input = args[0].as.tensor,
                 .weight = args[1].as.tensor,
                 .bias = luc_as_tensor(&args[2]),
                 .groups = args[6].as.i};
  LUC_TRY(luc__take_ints(ctx, "stride", &args[3], spatial, c.stride));
  LUC_TRY(luc__take_ints(ctx, "padding", &args[4], spatial, c.padding));
  LUC_TRY(luc__take_ints(ctx, "output_padding", &args[5], spatial, c.after));
  LUC_TRY(luc__take_ints(ctx, "dilation", &args[7], spatial, c.dilation));
  LUC_TRY(luc__check_least(ctx, "output_padding", spatial, c.after, 0));
  LUC_TRY(check_call(ctx, &c));
  LUC_TRY(find_transposed_output(ctx, &c));
  luc_formula f = luc__formula(ctx);
  luc_value x = luc_v_tensor(with_batch(&f, &c));
  luc_tensor *y =
      luc__f_call(&f, LUC_OP_convolution_input,
                  LUC_ARGS(x, luc_v_tensor(c.weight), luc_v_ints(c.out, spatial),
                           luc_v_ints(c.stride, spatial), luc_v_ints(c.padding, spatial),
                           luc_v_ints(c.dilation, spatial), luc_v_int(c.groups)));
  y = add_bias(&f, y, c.bias, spatial);
  if (!c.batched) y = luc__f_squeeze(&f, y, 0);
  return luc__f_result(&f, y, out);
}

LUC_RUN_BY(conv_transpose1d, convolve_transposed, 1)
LUC_RUN_BY(conv_transpose2d, convolve_transposed, 2)
LUC_RUN_BY(conv_transpose3d, convolve_transposed, 3)

/* ---- conv_tbc: a sequence of length T, a batch of B, C channels ---- */

/* t's dimensions in another order, which must be 3. */
static luc_tensor *reordered(luc_formula *f, luc_tensor *t, int64_t a, int64_t b, int64_t c) {
  return luc__f_permute(f, t, 3, (int64_t[]){a, b, c});
}

/* (input [T, B, C], weight [K, C, out], bias [out], pad) */
luc_status luc__run_conv_tbc(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *weight = args[1].as.tensor, *bias = args[2].as.tensor;
  LUC_CHECK(ctx, input->ndim == 3, LUC_ERR_SHAPE,
            "Input must have 3 dims: time, batch, in_channel (got %dD)", input->ndim);
  LUC_CHECK(ctx, weight->ndim == 3, LUC_ERR_SHAPE,
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels "
            "(got %dD)",
            weight->ndim);
  LUC_CHECK(ctx, bias->ndim == 1, LUC_ERR_SHAPE, "Bias must be 1-D (got %dD)", bias->ndim);
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = reordered(&f, input, 1, 2, 0), *w = reordered(&f, weight, 2, 1, 0);
  luc_tensor *y = luc__f_call(&f, LUC_OP_conv1d,
                              LUC_ARGS(luc_v_tensor(x), luc_v_tensor(w), args[2], luc_v_int(1),
                                       args[3], luc_v_int(1), luc_v_int(1)));
  return luc__f_result(&f, reordered(&f, y, 2, 0, 1), out);
}
