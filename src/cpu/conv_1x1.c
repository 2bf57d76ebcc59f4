/* 1 × 1 convolutions, and those of one window, as matrix products: see conv_1x1.h. */
#include "cpu/conv_1x1.h"

#include "cpu/gemm.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"

/* Is there one window, all of the image? Then images are rows of a matrix. */
static bool is_window(const luc_conv *c) {
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    if (c->kernel[d] != c->in[d] || c->out[d] != 1 || c->padding[d] != 0 ||
        (c->dilation[d] != 1 && c->kernel[d] != 1))
      return false;
  return true;
}

bool luc__is_1x1(const luc_conv *c) {
  if (is_window(c)) return true;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    if (c->kernel[d] != 1 || c->stride[d] != 1 || c->padding[d] != 0 || c->out[d] != c->in[d])
      return false;
  return true;
}

/* One group: its channels and filters, the pixels of an image, bytes of an element. The pixels of a
 * window are channels. */
typedef struct sizes {
  int64_t in, out, pixels, size;
} sizes;

static sizes sizes_of(const luc_conv *c) {
  const int64_t channels = c->in_channels / c->groups * (is_window(c) ? luc__volume(c->kernel) : 1);
  return (sizes){channels, c->out_channels / c->groups, luc__volume(c->out),
                 (int64_t)luc__dtype_size(c->dtype)};
}

/* A product for each group, of elements so far from those of the one before. */
static luc_status products(luc_context *ctx, const luc_conv *c, luc_gemm g, int64_t a, int64_t b,
                           int64_t to) {
  const int64_t size = sizes_of(c).size, bias = g.bias_kind == LUC_BIAS_ROW ? g.m : g.n;
  g.dtype = c->dtype, g.pairs = c->pairs, g.alpha = 1;
  for (int64_t i = 0; i < c->groups; i++) {
    LUC_TRY(luc__gemm(ctx, &g));
    g.a = (const char *)g.a + a * size;
    g.b = (const char *)g.b + b * size;
    g.c = (char *)g.c + to * size;
    if (g.bias) g.bias = (const char *)g.bias + bias * size;
  }
  return LUC_OK;
}

/* to[n] = A from[n] for every image n; A is the weight or its transpose. */
static luc_status images(luc_context *ctx, const luc_conv *c, bool transposed, const void *from,
                         const void *weight, const void *bias, void *to) {
  const sizes s = sizes_of(c);
  luc_gemm g = {.batch = c->batch, .a = weight, .b = from, .c = to, .bias = bias, .b_col = 1};
  g.m = transposed ? s.in : s.out, g.k = transposed ? s.out : s.in;
  g.n = g.b_row = g.c_row = s.pixels;
  g.a_row = transposed ? 1 : s.in, g.a_col = transposed ? s.in : 1;
  g.b_batch = g.k * c->groups * g.n, g.c_batch = g.m * c->groups * g.n;
  g.bias_kind = bias ? LUC_BIAS_ROW : LUC_BIAS_NONE;
  g.relu = c->relu && !transposed;
  return products(ctx, c, g, s.in * s.out, g.k * g.n, g.m * g.n);
}

luc_status luc__conv_1x1(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                         const void *bias, void *y) {
  if (!is_window(c)) return images(ctx, c, false, x, weight, bias, y);
  const sizes s = sizes_of(c);
  luc_gemm g = {.batch = 1, .m = c->batch, .k = s.in, .n = s.out, .a = x, .b = weight, .c = y};
  g.a_row = s.in * c->groups, g.b_col = s.in, g.c_row = s.out * c->groups, g.a_col = g.b_row = 1;
  g.bias = bias, g.bias_kind = bias ? LUC_BIAS_COLUMN : LUC_BIAS_NONE, g.relu = c->relu;
  return products(ctx, c, g, s.in, s.in * s.out, s.out);
}

luc_status luc__conv_1x1_input(luc_context *ctx, const luc_conv *c, const void *dy,
                               const void *weight, void *dx) {
  if (!is_window(c)) return images(ctx, c, true, dy, weight, NULL, dx);
  const sizes s = sizes_of(c);
  luc_gemm g = {.batch = 1, .m = c->batch, .k = s.out, .n = s.in, .a = dy, .b = weight, .c = dx};
  g.a_row = s.out * c->groups, g.b_row = s.in, g.c_row = s.in * c->groups, g.a_col = g.b_col = 1;
  return products(ctx, c, g, s.out, s.in * s.out, s.in);
}

/* dy xᵀ, summed over the images. The second factor has to be turned, so that is the one of fewer
 * channels: with fewer inputs than filters the product is as it should be, else its transpose. */
luc_status luc__conv_1x1_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                void *dweight) {
  const sizes s = sizes_of(c);
  luc_gemm w = {.batch = 1, .m = s.out, .k = c->batch, .n = s.in, .a = dy, .b = x, .c = dweight};
  w.a_col = s.out * c->groups, w.b_row = s.in * c->groups, w.c_row = s.in, w.a_row = w.b_col = 1;
  if (is_window(c)) return products(ctx, c, w, s.out, s.in, s.in * s.out);
  const bool turned = s.in > s.out;
  const size_t bytes = turned ? luc__mul_size((size_t)(s.in * s.out), (size_t)s.size) : 0;
  char *sum = turned ? luc__alloc(ctx, bytes) : NULL;
  luc_status status = LUC_OK;
  if (turned && !sum) return LUC_ERR_MEMORY;
  luc_gemm g = {
      .dtype = c->dtype, .pairs = c->pairs, .batch = c->batch, .alpha = 1, .a_col = 1, .b_row = 1};
  g.m = turned ? s.in : s.out, g.n = g.c_row = turned ? s.out : s.in;
  g.k = g.a_row = g.b_col = s.pixels;
  g.a_batch = g.m * c->groups * g.k, g.b_batch = g.n * c->groups * g.k;
  for (int64_t i = 0; i < c->groups && status == LUC_OK; i++) {
    char *to = (char *)dweight + i * s.in * s.out * s.size;
    g.a = (const char *)(turned ? x : dy) + i * g.m * g.k * s.size;
    g.b = (const char *)(turned ? dy : x) + i * g.n * g.k * s.size;
    g.c = turned ? sum : to;
    status = luc__gemm_sum(ctx, &g);
    if (turned && status == LUC_OK)
      luc__kernels(ctx)->gemm[c->dtype].transpose(s.in, s.out, sum, s.out, to, s.in);
  }
  luc__free(ctx, sum, bytes);
  return status;
}
