/* Channels to pixels and back (pixel_shuffle, pixel_unshuffle), and channels among each other: a
 * reshape, a permutation, a reshape. */
#include <string.h>

#include "ops/formula.h"
#include "ops/rows.h"

/* input [..., C, H, W] seen as six sizes, dimensions reordered, seen as [..., channels, h, w]. */
static luc_status rearrange(luc_context *ctx, luc_tensor *input, const int64_t *sizes,
                            const int64_t *order, int64_t channels, int64_t h, int64_t w,
                            luc_value *out) {
  luc_formula f = luc__formula(ctx);
  int64_t shape[LUC_MAX_DIMS];
  memcpy(shape, input->sizes, sizeof shape);
  shape[input->ndim - 3] = channels, shape[input->ndim - 2] = h, shape[input->ndim - 1] = w;
  luc_tensor *t = luc__f_permute(&f, luc__f_reshape(&f, input, 6, sizes), 6, order);
  t = luc__f_reshape(&f, t, input->ndim, shape);
  return luc__f_result(&f, luc__f_apart(&f, t, input), out);
}

static luc_status check_pixels(luc_context *ctx, const char *option, const luc_tensor *input,
                               int64_t factor) {
  LUC_CHECK(ctx, input->ndim >= 3, LUC_ERR_SHAPE,
            "expects input to have at least 3 dimensions, but got input with %d dimension(s)",
            input->ndim);
  LUC_CHECK(ctx, factor > 0, LUC_ERR_VALUE, "expects a positive %s, but got %lld", option,
            (long long)factor);
  LUC_CHECK(ctx, factor <= INT32_MAX, LUC_ERR_VALUE, "%s %lld is too large", option,
            (long long)factor);
  return LUC_OK;
}

luc_status luc__run_pixel_shuffle(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  int64_t r = args[1].as.i;
  LUC_TRY(check_pixels(ctx, "upscale_factor", input, r));
  const int64_t *last = input->sizes + input->ndim - 3;
  LUC_CHECK(ctx, last[0] % (r * r) == 0, LUC_ERR_SHAPE,
            "expects its input's 'channel' dimension to be divisible by the square "
            "of upscale_factor, but input:size(-3)=%lld is not divisible by %lld",
            (long long)last[0], (long long)(r * r));
  int64_t channels = last[0] / (r * r),
          sizes[] = {luc__product(input->ndim - 3, input->sizes), channels, r, r, last[1], last[2]};
  static const int64_t order[] = {0, 1, 4, 2, 5, 3};
  return rearrange(ctx, input, sizes, order, channels, last[1] * r, last[2] * r, out);
}

luc_status luc__run_pixel_unshuffle(luc_context *ctx, luc_value *args, luc_value *out) {
  static const char *const names[] = {"height", "width"};
  luc_tensor *input = args[0].as.tensor;
  int64_t r = args[1].as.i;
  LUC_TRY(check_pixels(ctx, "downscale_factor", input, r));
  const int64_t *last = input->sizes + input->ndim - 3;
  for (int d = 1; d < 3; d++)
    LUC_CHECK(ctx, last[d] % r == 0, LUC_ERR_SHAPE,
              "expects %s to be divisible by downscale_factor, but "
              "input:size(%d)=%lld is not divisible by %lld",
              names[d - 1], d - 3, (long long)last[d], (long long)r);
  int64_t h = last[1] / r, w = last[2] / r,
          sizes[] = {luc__product(input->ndim - 3, input->sizes), last[0], h, r, w, r};
  static const int64_t order[] = {0, 1, 3, 5, 2, 4};
  return rearrange(ctx, input, sizes, order, last[0] * r * r, h, w, out);
}

static luc_status shuffle_channels(luc_context *ctx, const luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  int64_t groups = args[1].as.i;
  char text[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, input->ndim > 2, LUC_ERR_SHAPE,
            "expects input with > 2 dims, but got input with sizes %s",
            luc__tensor_shape_text(text, input));
  LUC_CHECK(ctx, groups > 0, LUC_ERR_VALUE,
            "Number of groups to divide channels in must be positive. Value of groups:%lld",
            (long long)groups);
  int64_t channels = input->sizes[1];
  LUC_CHECK(ctx, channels % groups == 0, LUC_ERR_SHAPE,
            "Number of channels must be divisible by groups. Got %lld channels and %lld "
            "groups.",
            (long long)channels, (long long)groups);
  int64_t sizes[] = {input->sizes[0], groups, channels / groups,
                     luc__product(input->ndim - 2, input->sizes + 2)};
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = luc__f_transpose(&f, luc__f_reshape(&f, input, 4, sizes), 1, 2);
  t = luc__f_reshape(&f, t, input->ndim, input->sizes);
  return luc__f_result(&f, luc__f_apart(&f, t, input), out);
}

luc_status luc__run_channel_shuffle(luc_context *ctx, luc_value *args, luc_value *out) {
  return shuffle_channels(ctx, args, out);
}

luc_status luc__run_native_channel_shuffle(luc_context *ctx, luc_value *args, luc_value *out) {
  return shuffle_channels(ctx, args, out);
}
