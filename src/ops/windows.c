/* Pooling by tables of windows: adaptive and fractional ones, three dimensions, very wide ones, and
 * the gradient of averages. Maxima have pool.c's gradient, a scatter by position. */
#include <string.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/pool2d.h"
#include "cpu/windows.h"

/* ---- geometry ---- */

/* planes and in from a tensor's sizes; dimensions that are not pooled have size 1. */
static luc_windows planes_of(luc_dtype dtype, int ndim, const int64_t *sizes, int spatial) {
  luc_windows w = {.dtype = dtype, .in = {1, 1, 1}, .out = {1, 1, 1}};
  w.planes = luc__product(ndim - spatial, sizes);
  for (int i = 0; i < spatial; i++) w.in[3 - spatial + i] = sizes[ndim - spatial + i];
  return w;
}

/* The integers of a list as the last of three, the others being `other`. */
static void fill_three(const luc_value *v, int64_t other, int64_t *three) {
  for (int i = 0; i < 3; i++) three[i] = i < 3 - v->n ? other : v->as.ints[i - (3 - v->n)];
}

/* kernel, stride, padding, dilation (NULL: 1) */
static luc_status sliding(luc_context *ctx, luc_windows *w, const luc_value *kernel,
                          const luc_value *stride, const luc_value *padding,
                          const luc_value *dilation, bool ceil_mode, bool include_pad) {
  int64_t k[3], s[3], p[3], d[3] = {1, 1, 1};
  fill_three(kernel, 1, k);
  fill_three(stride, 1, s);
  fill_three(padding, 0, p);
  if (dilation) fill_three(dilation, 1, d);
  for (int i = 0; i < 3; i++)
    w->out[i] = luc__pool_out_size(w->in[i], k[i], s[i], p[i], d[i], ceil_mode);
  return luc__windows_sliding(ctx, w, k, s, p, d, include_pad);
}

/* A new tensor for t pooled to (or from) planes of the size `three`; last: its channels are last in
 * memory. */
static luc_status new_planes(luc_context *ctx, const luc_tensor *t, luc_dtype dtype, int spatial,
                             const int64_t *three, bool last, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  memcpy(sizes, t->sizes, sizeof sizes);
  for (int i = 0; i < spatial; i++) sizes[t->ndim - spatial - last + i] = three[3 - spatial + i];
  if (last) sizes[t->ndim - 1] = t->sizes[1];
  LUC_TRY(luc__tensor_empty(ctx, dtype, t->ndim, sizes, out));
  if (last) luc__move_dim(*out, t->ndim - 1, 1);
  return LUC_OK;
}

/* Planes side by side, of images whose channels are last in memory? */
static bool lie_beside(const luc_tensor *t, int spatial, luc_windows *w) {
  if (w->own || !luc__lies_last(t, spatial)) return false;
  w->side = t->sizes[1];
  return true;
}

/* ---- maxima: out gets values and positions. The tables are freed, also on failure ---- */

static luc_status take_max(luc_context *ctx, luc_windows *w, luc_tensor *input, int spatial,
                           bool with_indices, luc_value *out) {
  luc_status status;
  luc_tensor *x = NULL, *y = NULL, *indices = NULL;
  const bool last = spatial > 1 && lie_beside(input, spatial, w);
  LUC_GO(luc__dense_images(ctx, input, w->dtype, last, &x));
  LUC_GO(new_planes(ctx, input, w->dtype, spatial, w->out, last, &y));
  if (with_indices) LUC_GO(new_planes(ctx, input, LUC_INT64, spatial, w->out, last, &indices));
  if (y->numel > 0)
    LUC_GO(luc__windows_max(ctx, w, x->data, y->data, (int64_t *)luc__data(indices)));
  if (indices) out[1] = luc_v_tensor(indices);
  indices = NULL;
  status = luc__deliver(ctx, &out[0], input->dtype, &y);
done:
  luc__windows_free(ctx, w);
  LUC_RELEASE(ctx, x, y, indices);
  return status;
}

static luc_windows windows_of(const luc_tensor *input, int spatial) {
  luc_dtype compute = luc__compute_dtype(input->dtype);
  return planes_of(compute, input->ndim, input->sizes, spatial);
}

luc_status luc__max_pool_by_windows(luc_context *ctx, bool with_indices, luc_value *args,
                                    luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  LUC_TRY(sliding(ctx, &w, &args[1], &args[2], &args[3], &args[4], args[5].as.i != 0, false));
  return take_max(ctx, &w, args[0].as.tensor, args[1].n, with_indices, out);
}

LUC_RUN_BY(max_pool_windows, luc__max_pool_by_windows, true)

/* Windows that fill a row are sliding ones. */
static luc_status slide_rows(luc_context *ctx, const luc_windows *w, luc_tensor *input,
                             luc_value *out) {
  int64_t none = 0, one = 1, kernel = w->in[2] / w->out[2];
  const luc_value size = luc_v_ints(&kernel, 1);
  luc_value args[] = {luc_v_tensor(input), size, size, luc_v_ints(&none, 1), luc_v_ints(&one, 1),
                      luc_v_bool(false)};
  return luc__run_max_pool_indices(ctx, args, out);
}

/* (input, output_size) */
luc_status luc__run_adaptive_max_pool(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  fill_three(&args[1], 1, w.out);
  if (args[1].n == 1 && w.out[2] > 1 && w.in[2] % w.out[2] == 0)
    return slide_rows(ctx, &w, args[0].as.tensor, out);
  if (luc__product(3, w.out) == 1) { /* a whole plane is one row */
    w.in[2] *= w.in[0] * w.in[1];
    w.in[0] = w.in[1] = 1;
  }
  LUC_TRY(luc__windows_adaptive(ctx, &w));
  return take_max(ctx, &w, args[0].as.tensor, args[1].n, true, out);
}

/* fractional_max_pool(input, kernel, output_size, samples [N, C, spatial]): PyTorch's samples stand
 * in the order W, H for two dimensions and D, H, W for three. */
luc_status luc__run_fractional_max_pool(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *samples, *ordered;
  int spatial = args[1].n;
  int64_t kernel[3];
  luc_windows w = windows_of(input, spatial);
  fill_three(&args[1], 1, kernel);
  fill_three(&args[2], 1, w.out);
  LUC_TRY(luc__as_dense(ctx, args[3].as.tensor, LUC_FLOAT64, &samples));
  LUC_TRY(luc__scratch(ctx, LUC_FLOAT64, 2, (int64_t[]){w.planes, 3}, &ordered));
  const double *from = (const double *)samples->data;
  double *to = (double *)ordered->data;
  for (int64_t i = 0; i < w.planes; i++, from += spatial, to += 3) {
    to[0] = spatial == 3 ? from[0] : 0;
    to[1] = from[1];
    to[2] = spatial == 3 ? from[2] : from[0];
  }
  LUC_TRY(luc__windows_fractional(ctx, &w, kernel, (const double *)ordered->data));
  return take_max(ctx, &w, input, spatial, true, out);
}

/* ---- averages ---- */

typedef luc_status (*avg_kernel)(luc_context *, const luc_windows *, const void *, void *);

/* t to planes of the size `three`; frees the tables. */
static luc_status average(luc_context *ctx, luc_windows *w, avg_kernel kernel, luc_tensor *t,
                          int spatial, const int64_t *three, luc_value *out) {
  luc_status status;
  luc_tensor *x = NULL, *y = NULL;
  const bool last = lie_beside(t, spatial, w);
  LUC_GO(luc__dense_images(ctx, t, w->dtype, last, &x));
  LUC_GO(new_planes(ctx, t, w->dtype, spatial, three, last, &y));
  if (y->numel > 0) LUC_GO(kernel(ctx, w, x->data, y->data));
  status = luc__deliver(ctx, out, t->dtype, &y);
done:
  luc__windows_free(ctx, w);
  LUC_RELEASE(ctx, x, y);
  return status;
}

/* at: kernel, stride, padding, ceil_mode, count_include_pad, divisor_override */
static luc_status averaging(luc_context *ctx, luc_windows *w, const luc_value *at) {
  w->divisor = luc_is_none(&at[5]) ? 0 : at[5].as.i;
  return sliding(ctx, w, &at[0], &at[1], &at[2], NULL, at[3].as.i != 0, at[4].as.i != 0);
}

luc_status luc__run_avg_pool_windows(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  LUC_TRY(averaging(ctx, &w, &args[1]));
  return average(ctx, &w, luc__windows_avg, args[0].as.tensor, args[1].n, w.out, out);
}

/* avg_pool_backward(grad, kernel, …, divisor_override, input_size) */
luc_status luc__run_avg_pool_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  fill_three(&args[7], 1, w.in);
  LUC_TRY(averaging(ctx, &w, &args[1]));
  return average(ctx, &w, luc__windows_avg_backward, args[0].as.tensor, args[1].n, w.in, out);
}

/* adaptive_avg_pool(input, output_size) */
luc_status luc__run_adaptive_avg_pool(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  fill_three(&args[1], 1, w.out);
  LUC_TRY(luc__windows_adaptive(ctx, &w));
  return average(ctx, &w, luc__windows_avg, args[0].as.tensor, args[1].n, w.out, out);
}

/* adaptive_avg_pool_backward(grad, input_size) */
luc_status luc__run_adaptive_avg_pool_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_windows w = windows_of(args[0].as.tensor, args[1].n);
  memcpy(w.out, w.in, sizeof w.out);
  fill_three(&args[1], 1, w.in);
  LUC_TRY(luc__windows_adaptive(ctx, &w));
  return average(ctx, &w, luc__windows_avg_backward, args[0].as.tensor, args[1].n, w.in, out);
}

/* ---- fractional_max_pool2d, 3d ---- */

/* The ratios of a float[]: one stands for all. */
static double ratio_at(const luc_value *v, int i) {
  return v->kind == LUC_FLOATS ? v->as.floats[v->n == 1 ? 0 : i] : luc_as_double(v);
}

/* args: input, kernel_size, output_size, output_ratio */
static luc_status fractional_sizes(luc_context *ctx, int spatial, const luc_value *args,
                                   int64_t *kernel, int64_t *size) {
  const luc_tensor *input = args[0].as.tensor;
  LUC_TRY(luc__take_ints(ctx, "kernel_size", &args[1], spatial, kernel));
  LUC_TRY(luc__check_least(ctx, "kernel_size", spatial, kernel, 1));
  LUC_CHECK(ctx, !luc_is_none(&args[2]) || !luc_is_none(&args[3]), LUC_ERR_VALUE,
            "requires specifying either an output_size or an output_ratio");
  if (!luc_is_none(&args[2])) LUC_TRY(luc__take_ints(ctx, "output_size", &args[2], spatial, size));
  for (int i = 0; i < spatial; i++) {
    int64_t in = input->sizes[input->ndim - spatial + i];
    if (luc_is_none(&args[2])) {
      double ratio = ratio_at(&args[3], i);
      LUC_CHECK(ctx, ratio > 0 && ratio < 1, LUC_ERR_VALUE,
                "output_ratio must be between 0 and 1 (got %g)", ratio);
      size[i] = (int64_t)((double)in * ratio);
    }
    int64_t last = in - (spatial == 3); /* as in PyTorch */
    LUC_CHECK(ctx, size[i] >= 1 && size[i] <= last && kernel[i] - 1 <= last - size[i],
              LUC_ERR_SHAPE, "kernel %lld and output size %lld are too large for input size %lld",
              (long long)kernel[i], (long long)size[i], (long long)in);
  }
  return LUC_OK;
}

/* (input, kernel_size, output_size, output_ratio, return_indices, _random_samples) */
static luc_status fractional(luc_context *ctx, int spatial, bool with_indices, luc_value *args,
                             luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  bool batched;
  int64_t kernel[3], size[3];
  LUC_TRY(luc__check_batched(ctx, input, spatial, &batched));
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(fractional_sizes(ctx, spatial, args, kernel, size));
  luc_formula f = luc__formula(ctx);
  int64_t want[3] = {batched ? input->sizes[0] : 1, input->sizes[input->ndim - spatial - 1],
                     spatial};
  luc_tensor *samples = luc_as_tensor(&args[5]);
  if (!samples)
    samples = luc__f_call(&f, LUC_OP_rand,
                          LUC_ARGS(luc_v_ints(want, 3), luc_v_none(), luc_v_dtype(input->dtype)));
  else if (samples->ndim != 3 || memcmp(samples->sizes, want, sizeof want) != 0)
    f.status = luc__fail_shapes(ctx, "input", input, "_random_samples", samples,
                                "_random_samples must be [N, C, %d]", spatial);
  luc_tensor *indices = NULL;
  luc_tensor *y = luc__f_call2(
      &f, spatial == 3 ? LUC_OP_fractional_max_pool_3 : LUC_OP_fractional_max_pool_2, &indices,
      LUC_ARGS(args[0], luc_v_ints(kernel, spatial), luc_v_ints(size, spatial),
               luc_v_tensor(samples)));
  if ((with_indices || args[4].as.i) && f.status == LUC_OK)
    out[1] = luc_v_tensor(luc__retain(indices));
  return luc__f_result(&f, y, out);
}

LUC_RUN_BY(fractional_max_pool2d, fractional, 2, false)
LUC_RUN_BY(fractional_max_pool3d, fractional, 3, false)
LUC_RUN_BY(fractional_max_pool2d_with_indices, fractional, 2, true)
LUC_RUN_BY(fractional_max_pool3d_with_indices, fractional, 3, true)
