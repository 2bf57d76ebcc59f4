/* Pooling over the last one to three dimensions. The public rows check and complete their
 * arguments, then call rows that take any dimensions before the pooled ones: sliding windows of one
 * and two dimensions are here, others in windows.c. Average pooling and its gradient are each
 * other's gradients; a maximum's gradient is a scatter by position, whose own gradient is a gather.
 */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include <string.h>

#include "cpu/pool2d.h"
#include "cpu/windows.h"

/* ---- geometry: a 1-d pooling is one of height 1 ---- */

static void fill_pair(const luc_value *v, int64_t one, int64_t *two) {
  two[0] = v->n == 2 ? v->as.ints[0] : one;
  two[1] = v->as.ints[v->n - 1];
}

/* in and planes from a tensor's sizes. */
static luc_pool2d plane_geometry(luc_dtype dtype, const luc_tensor *t, int spatial) {
  luc_pool2d p = {.dtype = dtype, .dilation = {1, 1}, .count_include_pad = true};
  p.planes = luc__product(t->ndim - spatial, t->sizes);
  p.in[0] = spatial == 2 ? t->sizes[t->ndim - 2] : 1;
  p.in[1] = t->sizes[t->ndim - 1];
  return p;
}

static void window_geometry(luc_pool2d *p, const luc_value *kernel, const luc_value *stride,
                            const luc_value *padding, const luc_value *dilation, bool ceil_mode) {
  fill_pair(kernel, 1, p->kernel);
  fill_pair(stride, 1, p->stride);
  fill_pair(padding, 0, p->padding);
  if (dilation) fill_pair(dilation, 1, p->dilation);
  for (int i = 0; i < 2; i++) {
    p->out[i] = luc__pool_out_size(p->in[i], p->kernel[i], p->stride[i], p->padding[i],
                                   p->dilation[i], ceil_mode);
    if (p->out[i] == 1) p->stride[i] = 1; /* of any, the one that is fastest */
  }
}

/* A new tensor for the pooled t, or for what t was pooled from. */
static luc_status new_pooled(luc_context *ctx, const luc_tensor *t, luc_dtype dtype, int spatial,
                             const int64_t *two, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  memcpy(sizes, t->sizes, sizeof t->sizes);
  if (spatial == 2) sizes[t->ndim - 2] = two[0];
  sizes[t->ndim - 1] = two[1];
  return luc__scratch(ctx, dtype, t->ndim, sizes, out);
}

static luc_value spatial_of(const luc_tensor *t, int spatial) {
  return luc_v_ints(t->sizes + t->ndim - spatial, spatial);
}

/* ---- max pooling: (input, kernel, stride, padding, dilation, ceil_mode) ---- */

static luc_pool2d max_geometry(const luc_value *at, luc_dtype dtype, const luc_tensor *input) {
  luc_pool2d p = plane_geometry(dtype, input, at[0].n);
  window_geometry(&p, &at[0], &at[1], &at[2], &at[3], at[4].as.i != 0);
  return p;
}

static const int64_t last_dims[3] = {-1, -2, -3};

/* Is a plane one window? Then pooling is a reduction. */
static bool is_whole(const luc_pool2d *p) {
  for (int d = 0; d < 2; d++)
    if (p->kernel[d] != p->in[d] || p->padding[d] > 0 || p->dilation[d] > 1) return false;
  return p->divisor_override == 0;
}

/* From how many elements on kernels read a row as it lies, not side by side with others. */
enum { MAX_ROW = 17, AVG_ROW = 33 };

/* Up to how many columns planes lie better side by side. */
enum { MAX_NARROW = 12, AVG_NARROW = 14, PLACES_NARROW = 20 };

/* Is a plane one row that kernels read as it lies, of `long_row` elements or more? */
static bool is_straight(const luc_pool2d *p, int64_t long_row) {
  return luc__pool_is_seamless(p) ||
         (p->in[0] == 1 && p->out[0] == 1 && p->padding[1] == 0 && p->in[1] >= long_row);
}

/* Do windows.c's tables take planes side by side that would go one by one here? */
static bool by_windows(luc_context *ctx, const luc_pool2d *p, bool places, int64_t long_row,
                       int64_t narrow) {
  const luc_planes planes = {.dtype = p->dtype,
                             .planes = p->planes,
                             .columns = p->in[1],
                             .in = p->in[0] * p->in[1],
                             .out = p->out[0] * p->out[1],
                             .window = p->kernel[0] * p->kernel[1]};
  return luc__windows_turn(ctx, &planes, narrow) &&
         (places || !(luc__pool_is_2x2(p) || is_straight(p, long_row)));
}

static luc_status run_max(luc_context *ctx, bool with_indices, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y, *indices = NULL;
  luc_dtype compute = luc__compute_dtype(input->dtype);
  luc_pool2d p = max_geometry(&args[1], compute, input);
  int spatial = args[1].n;
  if (is_whole(&p) && !with_indices)
    return luc_call(ctx, LUC_OP_amax,
                    LUC_ARGS(args[0], luc_v_ints(last_dims, spatial), luc_v_bool(true)), out);
  if (luc__channels_last(input, spatial) ||
      by_windows(ctx, &p, with_indices, MAX_ROW, with_indices ? PLACES_NARROW : MAX_NARROW))
    return luc__max_pool_by_windows(ctx, with_indices, args, out);
  if (is_whole(&p)) { /* as one row */
    p.in[1] = p.kernel[1] *= p.in[0];
    p.in[0] = p.kernel[0] = 1;
  }
  LUC_TRY(luc__as_dense(ctx, input, compute, &x));
  LUC_TRY(new_pooled(ctx, input, compute, spatial, p.out, &y));
  if (with_indices) LUC_TRY(new_pooled(ctx, input, LUC_INT64, spatial, p.out, &indices));
  if (y->numel > 0) luc__max_pool(ctx, &p, x->data, y->data, (int64_t *)luc__data(indices));
  if (indices) out[1] = luc_v_tensor(luc__retain(indices));
  return luc__result(ctx, &out[0], input->dtype, y);
}

LUC_RUN_BY(max_pool, run_max, false)
LUC_RUN_BY(max_pool_indices, run_max, true)

/* max_pool_2x2_backward(grad, input, kernel, stride, padding, dilation, ceil_mode) */
luc_status luc__run_max_pool_2x2_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *x, *dy, *dx;
  luc_dtype compute = luc__compute_dtype(grad->dtype);
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, compute, &x));
  LUC_TRY(luc__as_dense(ctx, grad, compute, &dy));
  luc_pool2d p = max_geometry(&args[2], compute, args[1].as.tensor);
  LUC_TRY(new_pooled(ctx, grad, compute, args[2].n, p.in, &dx));
  if (dx->numel > 0) luc__max_pool_2x2_backward(ctx, &p, dy->data, x->data, dx->data);
  return luc__result(ctx, out, grad->dtype, dx);
}

/* t with its last `spatial` dimensions as one. */
static luc_tensor *flat_planes(luc_formula *f, luc_tensor *t, int spatial) {
  int64_t sizes[LUC_MAX_DIMS];
  if (f->status != LUC_OK) return NULL;
  int ndim = t->ndim - spatial + 1;
  memcpy(sizes, t->sizes, sizeof sizes);
  sizes[ndim - 1] = luc__product(spatial, t->sizes + ndim - 1);
  return luc__f_reshape(f, t, ndim, sizes);
}

/* pool_scatter(values, indices, size): values added at flat positions of planes of that size. */
luc_status luc__run_pool_scatter(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *values = args[0].as.tensor, *at, *dy, *dx;
  luc_dtype compute = luc__compute_dtype(values->dtype);
  int spatial = args[2].n, lead = values->ndim - spatial;
  int64_t sizes[LUC_MAX_DIMS];
  memcpy(sizes, values->sizes, sizeof sizes);
  for (int i = 0; i < spatial; i++) sizes[lead + i] = args[2].as.ints[i];
  const int64_t n = luc__product(spatial, values->sizes + lead);
  const bool last = luc__channels_last(values, spatial);
  LUC_TRY(luc__held(ctx, luc__dense_images(ctx, args[1].as.tensor, LUC_INT64, last, &at), &at));
  LUC_TRY(luc__held(ctx, luc__dense_images(ctx, values, compute, last, &dy), &dy));
  LUC_TRY(luc__scratch(ctx, compute, values->ndim, sizes, &dx));
  if (last) luc__lay_channels_last(dx);
  if (dx->numel > 0)
    luc__pool_scatter(ctx, compute, luc__product(lead, sizes), last ? sizes[1] : 1, n,
                      luc__product(spatial, sizes + lead), dy->data, (const int64_t *)at->data,
                      dx->data);
  return luc__result(ctx, out, values->dtype, dx);
}

/* What stands at the flat positions `indices` of each plane of t. */
static luc_tensor *gather_planes(luc_formula *f, luc_tensor *t, luc_tensor *indices, int spatial) {
  luc_tensor *planes = flat_planes(f, t, spatial), *at = flat_planes(f, indices, spatial);
  luc_tensor *found = luc__f_call(f, LUC_OP_gather,
                                  LUC_ARGS(luc_v_tensor(planes), luc_v_int(-1), luc_v_tensor(at)));
  return luc__f_reshape(f, found, indices->ndim, indices->sizes);
}

luc_status luc__grad_pool_scatter(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *found = gather_planes(&f, b->gout[0], b->args[1].as.tensor, b->args[2].n);
  return luc__f_end(&f, found, &b->gin[0]);
}

static luc_tensor *scatter(luc_formula *f, luc_tensor *g, luc_tensor *indices, luc_value size) {
  return luc__f_call(f, LUC_OP_pool_scatter,
                     LUC_ARGS(luc_v_tensor(g), luc_v_tensor(indices), size));
}

luc_status luc__grad_max_pool(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *input = b->args[0].as.tensor, *g = b->gout[0], *dx;
  const luc_value *at = &b->args[1];
  const luc_pool2d p = max_geometry(at, input->dtype, input);
  if (luc__recording(ctx) || !luc__pool_is_2x2(&p)) {
    luc_tensor *indices;
    luc__f_call2(&f, LUC_OP_max_pool_indices, &indices,
                 LUC_ARGS(b->args[0], at[0], at[1], at[2], at[3], at[4]));
    dx = scatter(&f, g, indices, spatial_of(input, at[0].n));
  } else {
    dx = luc__f_call(&f, LUC_OP_max_pool_2x2_backward,
                     LUC_ARGS(luc_v_tensor(g), b->args[0], at[0], at[1], at[2], at[3], at[4]));
  }
  return luc__f_end(&f, dx, &b->gin[0]);
}

/* Also for adaptive_max_pool: whatever has (output, indices) as results and the kernel or size as
 * its second argument. */
luc_status luc__grad_max_pool_indices(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS];
  const luc_value size = luc__input_spatial(b, 0, b->args[1].n, sizes);
  if (!b->gout[0]) return LUC_OK;
  luc_tensor *dx = scatter(&f, b->gout[0], b->results[1], size);
  return luc__f_end(&f, dx, &b->gin[0]);
}

/* ---- average pooling: (x, kernel, stride, padding, ceil_mode, count_include_pad, divisor) ---- */

static luc_pool2d avg_geometry(const luc_value *at, luc_dtype dtype, const luc_tensor *input) {
  luc_pool2d p = plane_geometry(dtype, input, at[0].n);
  window_geometry(&p, &at[0], &at[1], &at[2], NULL, at[3].as.i != 0);
  p.count_include_pad = at[4].as.i != 0;
  p.divisor_override = luc_is_none(&at[5]) ? 0 : at[5].as.i;
  return p;
}

/* Here of one and two dimensions, and windows that are not too wide; else in windows.c. */
luc_status luc__run_avg_pool(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y;
  int spatial = args[1].n;
  if (spatial == 3 || args[1].as.ints[spatial - 1] > LUC_POOL_WIDEST)
    return luc__run_avg_pool_windows(ctx, args, out);
  luc_dtype compute = luc__compute_dtype(input->dtype);
  luc_pool2d p = avg_geometry(&args[1], compute, input);
  if (is_whole(&p) && luc__dtype_is_float(input->dtype))
    return luc_call(ctx, LUC_OP_mean,
                    LUC_ARGS(args[0], luc_v_ints(last_dims, spatial), luc_v_bool(true)), out);
  if (luc__lies_last(input, spatial) || by_windows(ctx, &p, false, AVG_ROW, AVG_NARROW))
    return luc__run_avg_pool_windows(ctx, args, out);
  LUC_TRY(luc__as_dense(ctx, input, compute, &x));
  LUC_TRY(new_pooled(ctx, input, compute, spatial, p.out, &y));
  if (y->numel > 0) luc__avg_pool(ctx, &p, x->data, y->data);
  return luc__result(ctx, out, input->dtype, y);
}

luc_status luc__grad_avg_pool(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  const luc_value *at = &b->args[1];
  return luc__op1(ctx, LUC_OP_avg_pool_backward, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), at[0], at[1], at[2], at[3], at[4], at[5],
                           luc__input_spatial(b, 0, at[0].n, sizes)));
}

LUC_GRAD_BY(avg_pool_backward, luc__grad_call, LUC_OP_avg_pool, 7)

/* ---- gradients of adaptive average pooling: (x, output_size), (grad, input_size) ---- */

LUC_GRAD_BY(adaptive_avg_pool, luc__grad_to_size, LUC_OP_adaptive_avg_pool_backward, 2)
LUC_GRAD_BY(adaptive_avg_pool_backward, luc__grad_to_size, LUC_OP_adaptive_avg_pool, 2)

/* ---- checks of the public rows ---- */

/* A public call's windows, taken apart. */
typedef struct windows {
  int64_t kernel[3], stride[3], padding[3], dilation[3];
  luc_value values[4]; /* the same as arguments */
} windows;

static luc_status check_windows(luc_context *ctx, int spatial, const luc_tensor *input, windows *w,
                                bool ceil_mode) {
  bool batched, fits = true;
  LUC_TRY(luc__check_batched(ctx, input, spatial, &batched));
  LUC_TRY(luc__need_numbers(ctx, input));
  if (input->sizes[input->ndim - spatial - 1] == 0)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL, "only the batch may have no elements");
  LUC_TRY(luc__check_least(ctx, "kernel_size", spatial, w->kernel, 1));
  LUC_TRY(luc__check_least(ctx, "stride", spatial, w->stride, 1));
  LUC_TRY(luc__check_least(ctx, "padding", spatial, w->padding, 0));
  LUC_TRY(luc__check_least(ctx, "dilation", spatial, w->dilation, 1));
  const int64_t *in = input->sizes + input->ndim - spatial;
  int64_t out[3];
  for (int i = 0; i < spatial; i++) {
    LUC_CHECK(ctx, w->padding[i] <= w->kernel[i] / 2, LUC_ERR_VALUE,
              "padding must be at most half of kernel_size (got %lld for kernel_size %lld)",
              (long long)w->padding[i], (long long)w->kernel[i]);
    out[i] = luc__pool_out_size(in[i], w->kernel[i], w->stride[i], w->padding[i], w->dilation[i],
                                ceil_mode);
    fits = fits && out[i] > 0 && in[i] > 0;
  }
  if (fits) return LUC_OK;
  char shape[LUC_SHAPE_TEXT], kernel[LUC_SHAPE_TEXT];
  return luc__fail(
      ctx, LUC_ERR_SHAPE, "kernel %s does not fit into input %s, the output would have size %s",
      luc__shape_text(kernel, spatial, w->kernel), luc__tensor_shape_text(shape, input),
      luc__shape_text((char[LUC_SHAPE_TEXT]){0}, spatial, out));
}

/* kernel, stride (None or empty: the kernel), padding, dilation (NULL: 1) */
static luc_status take_windows(luc_context *ctx, int spatial, const luc_value *kernel,
                               const luc_value *stride, const luc_value *padding,
                               const luc_value *dilation, windows *w) {
  bool own = !luc_is_none(stride) && !(stride->kind == LUC_INTS && stride->n == 0);
  luc_value one = luc_v_int(1);
  LUC_TRY(luc__take_ints(ctx, "kernel_size", kernel, spatial, w->kernel));
  LUC_TRY(luc__take_ints(ctx, "stride", own ? stride : kernel, spatial, w->stride));
  LUC_TRY(luc__take_ints(ctx, "padding", padding, spatial, w->padding));
  LUC_TRY(luc__take_ints(ctx, "dilation", dilation ? dilation : &one, spatial, w->dilation));
  w->values[0] = luc_v_ints(w->kernel, spatial);
  w->values[1] = luc_v_ints(w->stride, spatial);
  w->values[2] = luc_v_ints(w->padding, spatial);
  w->values[3] = luc_v_ints(w->dilation, spatial);
  return LUC_OK;
}

/* ---- max_pool1d, 2d, 3d ---- */

/* Will a gradient want to know where the maxima are? */
static bool keeps_indices(const luc_context *ctx, const luc_tensor *input, const luc_value *values,
                          luc_value ceil_mode) {
  const luc_value at[] = {values[0], values[1], values[2], values[3], ceil_mode};
  const luc_pool2d p = max_geometry(at, input->dtype, input);
  return luc__wants_gradient(ctx, input) && !luc__pool_is_2x2(&p);
}

/* (input, kernel_size, stride, padding, dilation, ceil_mode); with indices a second result. */
static luc_status pool_max(luc_context *ctx, int spatial, bool with_indices, luc_value *args,
                           luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  windows w;
  with_indices = with_indices || args[6].as.i != 0;
  LUC_TRY(take_windows(ctx, spatial, &args[1], &args[2], &args[3], &args[4], &w));
  LUC_TRY(check_windows(ctx, spatial, input, &w, args[5].as.i != 0));
  bool keep = with_indices || spatial == 3 || keeps_indices(ctx, input, w.values, args[5]);
  luc_opid op = spatial == 3 ? LUC_OP_max_pool_windows
                : keep       ? LUC_OP_max_pool_indices
                             : LUC_OP_max_pool;
  LUC_TRY(luc_call(ctx, op,
                   LUC_ARGS(args[0], w.values[0], w.values[1], w.values[2], w.values[3], args[5]),
                   out));
  if (keep && !with_indices) luc__value_release(ctx, &out[1]);
  return LUC_OK;
}

LUC_RUN_BY(max_pool1d, pool_max, 1, false)
LUC_RUN_BY(max_pool2d, pool_max, 2, false)
LUC_RUN_BY(max_pool3d, pool_max, 3, false)
LUC_RUN_BY(max_pool1d_with_indices, pool_max, 1, true)
LUC_RUN_BY(max_pool2d_with_indices, pool_max, 2, true)
LUC_RUN_BY(max_pool3d_with_indices, pool_max, 3, true)

/* ---- avg_pool1d, 2d, 3d ---- */

/* (input, kernel_size, stride, padding, ceil_mode, count_include_pad); not 1d: divisor_override */
static luc_status pool_avg(luc_context *ctx, int spatial, luc_value *args, luc_value *out) {
  windows w;
  const luc_value divisor = spatial == 1 ? luc_v_none() : args[6];
  LUC_TRY(take_windows(ctx, spatial, &args[1], &args[2], &args[3], NULL, &w));
  LUC_TRY(check_windows(ctx, spatial, args[0].as.tensor, &w, args[4].as.i != 0));
  const luc_tensor *input = args[0].as.tensor;
  for (int i = 0; i < spatial && spatial == 3; i++)
    LUC_CHECK(ctx, input->sizes[input->ndim - 3 + i] >= w.kernel[i], LUC_ERR_SHAPE,
              "input is smaller than kernel_size (%lld and %lld along dim %d)",
              (long long)input->sizes[input->ndim - 3 + i], (long long)w.kernel[i],
              input->ndim - 2 + i);
  LUC_CHECK(ctx, luc_is_none(&divisor) || divisor.as.i != 0, LUC_ERR_VALUE,
            "divisor_override must not be zero");
  return luc_call(
      ctx, spatial == 3 ? LUC_OP_avg_pool_windows : LUC_OP_avg_pool,
      LUC_ARGS(args[0], w.values[0], w.values[1], w.values[2], args[4], args[5], divisor), out);
}

LUC_RUN_BY(avg_pool1d, pool_avg, 1)
LUC_RUN_BY(avg_pool2d, pool_avg, 2)
LUC_RUN_BY(avg_pool3d, pool_avg, 3)

/* ---- adaptive_avg_pool1d, 2d, 3d and adaptive_max_pool1d, 2d, 3d ---- */

/* Only the batch may have no elements, in PyTorch not so for means of 1 or 2 dimensions; a mean of
 * whole planes may be one of nothing. */
static luc_status adaptive_size(luc_context *ctx, int spatial, bool mean, const luc_value *args,
                                int64_t *size) {
  luc_tensor *input = args[0].as.tensor;
  bool batched;
  LUC_TRY(luc__check_batched(ctx, input, spatial, &batched));
  if (!luc__dtype_is_complex(input->dtype)) LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(luc__take_ints(ctx, "output_size", &args[1], spatial, size));
  const int64_t *in = input->sizes + input->ndim - spatial;
  for (int i = 0; i < spatial; i++)
    if (size[i] == LUC_NO_ITEM) size[i] = in[i];
  LUC_TRY(luc__check_least(ctx, "output_size", spatial, size, 0));
  if (mean && luc__product_of(spatial, size) == 1) return LUC_OK;
  if ((!mean || spatial == 3) && batched && input->sizes[1] == 0)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL, "only the batch may have no elements");
  for (int i = 0; i < spatial; i++)
    LUC_CHECK(ctx, in[i] > 0, LUC_ERR_SHAPE, "input has no elements along a pooled dimension");
  return LUC_OK;
}

/* Whole planes are a mean, as in PyTorch, also of complex numbers. */
static luc_status pool_adaptive_avg(luc_context *ctx, int spatial, luc_value *args,
                                    luc_value *out) {
  int64_t size[3];
  LUC_TRY(adaptive_size(ctx, spatial, true, args, size));
  if (luc__product_of(spatial, size) == 1)
    return luc_call(ctx, LUC_OP_mean,
                    LUC_ARGS(args[0], luc_v_ints(last_dims, spatial), luc_v_bool(true)), out);
  return luc_call(ctx, spatial == 3 ? LUC_OP_adaptive_avg_pool_windows : LUC_OP_adaptive_avg_pool,
                  LUC_ARGS(args[0], luc_v_ints(size, spatial)), out);
}

LUC_RUN_BY(adaptive_avg_pool1d, pool_adaptive_avg, 1)
LUC_RUN_BY(adaptive_avg_pool2d, pool_adaptive_avg, 2)
LUC_RUN_BY(adaptive_avg_pool3d, pool_adaptive_avg, 3)

/* Indices as a second result when asked for. */
static luc_status pool_adaptive_max(luc_context *ctx, int spatial, bool with_indices,
                                    luc_value *args, luc_value *out) {
  luc_value both[LUC_MAX_RESULTS];
  int64_t size[3];
  LUC_TRY(adaptive_size(ctx, spatial, false, args, size));
  LUC_TRY(luc_call(ctx, spatial == 3 ? LUC_OP_adaptive_max_pool_windows : LUC_OP_adaptive_max_pool,
                   LUC_ARGS(args[0], luc_v_ints(size, spatial)), both));
  out[0] = both[0];
  if (with_indices || args[2].as.i)
    out[1] = both[1];
  else
    luc__value_release(ctx, &both[1]);
  return LUC_OK;
}

LUC_RUN_BY(adaptive_max_pool1d, pool_adaptive_max, 1, false)
LUC_RUN_BY(adaptive_max_pool1d_with_indices, pool_adaptive_max, 1, true)
LUC_RUN_BY(adaptive_max_pool2d, pool_adaptive_max, 2, false)
LUC_RUN_BY(adaptive_max_pool2d_with_indices, pool_adaptive_max, 2, true)
LUC_RUN_BY(adaptive_max_pool3d, pool_adaptive_max, 3, false)
LUC_RUN_BY(adaptive_max_pool3d_with_indices, pool_adaptive_max, 3, true)
