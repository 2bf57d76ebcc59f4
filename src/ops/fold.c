/* unfold and fold of nn.functional, named as their rows im2col and col2im: sliding blocks to
 * columns and the sum of columns back. Each is the other's gradient. */
#include <stdio.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/conv.h"
#include "cpu/fold.h"

/* The last four arguments of both rows: kernel_size, dilation, padding, stride. */
static luc_status take_geometry(luc_context *ctx, const luc_value *at, luc_fold *f) {
  static const char *const names[] = {"kernel_size", "dilation", "padding", "stride"};
  int64_t *to[] = {f->kernel, f->dilation, f->padding, f->stride};
  for (int i = 0; i < 4; i++) {
    LUC_TRY(luc__take_ints(ctx, names[i], &at[i], 2, to[i]));
    LUC_TRY(luc__check_least(ctx, names[i], 2, to[i], i == 2 ? 0 : 1));
  }
  return LUC_OK;
}

/* Sizes are below 2^31 each, but not their product. */
static luc_status check_memory(luc_context *ctx, const luc_fold *f, int64_t channels) {
  double columns = (double)channels * (double)f->kernel[0] * (double)f->kernel[1];
  LUC_CHECK(ctx, columns * (double)f->out[0] * (double)f->out[1] < 0x1p60, LUC_ERR_MEMORY,
            "unfold: the columns are larger than any memory");
  return LUC_OK;
}

static void find_places(luc_fold *f) {
  for (int d = 0; d < 2; d++)
    f->out[d] = luc__conv_out_size(f->in[d], f->kernel[d], f->stride[d], f->padding[d],
                                   f->padding[d], f->dilation[d]);
}

/* "kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), stride=(1, 1)" */
static const char *geometry_text(const luc_fold *f, char *buf, size_t size) {
  snprintf(buf, size,
           "kernel_size=(%lld, %lld), dilation=(%lld, %lld), padding=(%lld, %lld), "
           "stride=(%lld, %lld)",
           (long long)f->kernel[0], (long long)f->kernel[1], (long long)f->dilation[0],
           (long long)f->dilation[1], (long long)f->padding[0], (long long)f->padding[1],
           (long long)f->stride[0], (long long)f->stride[1]);
  return buf;
}

enum { GEOMETRY_TEXT = 256 };

/* Is input an image, or a batch of them? */
static luc_status check_image(luc_context *ctx, const luc_tensor *input, bool *batched) {
  char text[LUC_SHAPE_TEXT];
  LUC_TRY(luc__check_batched(ctx, input, 2, batched));
  for (int d = *batched; d < input->ndim; d++)
    LUC_CHECK(ctx, input->sizes[d] > 0, LUC_ERR_SHAPE,
              "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
              "non-zero dimensions for input, but got: %s",
              luc__tensor_shape_text(text, input));
  return LUC_OK;
}

/* unfold(input, kernel_size, dilation, padding, stride) */
luc_status luc__run_im2col(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y;
  luc_dtype dtype = input->dtype;
  if (luc__dtype_is_complex(dtype)) return luc__by_parts(ctx, LUC_OP_im2col, args, 5, out);
  luc_fold f = {.dtype = luc__compute_dtype(dtype), .planes = 1};
  bool batched;
  char text[GEOMETRY_TEXT];
  LUC_TRY(check_image(ctx, input, &batched));
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(take_geometry(ctx, &args[1], &f));
  for (int d = 0; d < 2; d++) f.in[d] = input->sizes[input->ndim - 2 + d];
  find_places(&f);
  LUC_CHECK(ctx, f.out[0] > 0 && f.out[1] > 0, LUC_ERR_SHAPE,
            "Given input with spatial size (%lld, %lld), %s, calculated shape of the array "
            "of sliding blocks as (%lld, %lld), but its components must be at least one.",
            (long long)f.in[0], (long long)f.in[1], geometry_text(&f, text, sizeof text),
            (long long)f.out[0], (long long)f.out[1]);
  int64_t channels = input->sizes[input->ndim - 3];
  LUC_TRY(check_memory(ctx, &f, channels));
  int64_t sizes[3] = {input->sizes[0], channels * f.kernel[0] * f.kernel[1], f.out[0] * f.out[1]};
  f.planes = channels * (batched ? sizes[0] : 1);
  LUC_TRY(luc__as_dense(ctx, input, f.dtype, &x));
  LUC_TRY(luc__scratch(ctx, f.dtype, batched ? 3 : 2, sizes + !batched, &y));
  luc__unfold(ctx, &f, x->data, y->data);
  return luc__result(ctx, out, dtype, y);
}

/* Is input [N, C * kernel, L] with the L that the output's size gives? */
static luc_status check_columns(luc_context *ctx, const luc_tensor *input, const luc_fold *f) {
  int n = input->ndim;
  int64_t taps = f->kernel[0] * f->kernel[1], places = luc__product_of(2, f->out);
  char text[GEOMETRY_TEXT];
  if (n != 2 && n != 3)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "input must be [N, C * kernel, L] or [C * kernel, L]");
  LUC_CHECK(ctx, input->sizes[n - 2] % taps == 0 && input->sizes[n - 2] > 0, LUC_ERR_SHAPE,
            "fold: Expected size of input's dimension %d to be divisible by the product of "
            "kernel_size, but got input:size(%d)=%lld and kernel_size=(%lld, %lld).",
            n - 1, n - 1, (long long)input->sizes[n - 2], (long long)f->kernel[0],
            (long long)f->kernel[1]);
  bool fits = f->out[0] > 0 && f->out[1] > 0 && input->sizes[n - 1] == places;
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "fold: Given output_size=(%lld, %lld), %s, expected size of input's dimension %d to "
            "match the calculated number of sliding blocks %lld * %lld = %lld, but got "
            "input:size(%d)=%lld.",
            (long long)f->in[0], (long long)f->in[1], geometry_text(f, text, sizeof text), n,
            (long long)f->out[0], (long long)f->out[1], (long long)places, n,
            (long long)input->sizes[n - 1]);
  return LUC_OK;
}

/* fold(input, output_size, kernel_size, dilation, padding, stride) */
luc_status luc__run_col2im(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y;
  luc_dtype dtype = input->dtype;
  if (luc__dtype_is_complex(dtype)) return luc__by_parts(ctx, LUC_OP_col2im, args, 6, out);
  luc_fold f = {.dtype = luc__compute_dtype(dtype)};
  LUC_TRY(luc__need_float(ctx, "input", input));
  LUC_TRY(luc__take_ints(ctx, "output_size", &args[1], 2, f.in));
  LUC_TRY(luc__check_least(ctx, "output_size", 2, f.in, 1));
  LUC_TRY(take_geometry(ctx, &args[2], &f));
  find_places(&f);
  LUC_TRY(check_columns(ctx, input, &f));
  bool batched = input->ndim == 3;
  int64_t channels = input->sizes[input->ndim - 2] / (f.kernel[0] * f.kernel[1]);
  int64_t sizes[4] = {input->sizes[0], channels, f.in[0], f.in[1]};
  f.planes = channels * (batched ? sizes[0] : 1);
  LUC_TRY(luc__as_dense(ctx, input, f.dtype, &x));
  LUC_TRY(luc__scratch(ctx, f.dtype, batched ? 4 : 3, sizes + !batched, &y));
  luc__fold(ctx, &f, x->data, y->data);
  return luc__result(ctx, out, dtype, y);
}

luc_status luc__grad_im2col(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  const luc_value *a = b->args;
  return luc__op1(ctx, LUC_OP_col2im, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc__input_spatial(b, 0, 2, sizes), a[1], a[2],
                           a[3], a[4]));
}

luc_status luc__grad_col2im(luc_context *ctx, luc_backward *b) {
  const luc_value *a = b->args;
  return luc__op1(ctx, LUC_OP_im2col, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), a[2], a[3], a[4], a[5]));
}
