/* Convolutions and their gradients against naive loops in double, over random geometries in one,
 * two and three dimensions, every instruction set. */
#include "cpu/conv.h"
#include "cpu/winograd.h"
#include "kernel_test.h"

/* The place of window element t at output o in each dimension; false in the padding. */
static bool meet(const luc_conv *c, int64_t o, int64_t t, int64_t *in) {
  int64_t at[3];
  for (int d = LUC_MAX_SPATIAL - 1; d >= 0; d--) {
    at[d] = o % c->out[d] * c->stride[d] + t % c->kernel[d] * c->dilation[d] - c->padding[d];
    if (at[d] < 0 || at[d] >= c->in[d]) return false;
    o /= c->out[d], t /= c->kernel[d];
  }
  *in = 0;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) *in = *in * c->in[d] + at[d];
  return true;
}

typedef struct arrays {
  kt_array x, w, y, dx, dw, dy, bias;
} arrays;

/* Adds what output o and window element t of every image and filter give: to y, dx and dw. */
static void add_products(const luc_conv *c, arrays *a, int64_t o, int64_t t, int64_t at) {
  int64_t pixels = luc__volume(c->out), taps = luc__volume(c->kernel);
  int64_t inputs = luc__volume(c->in), cg = c->in_channels / c->groups;
  int64_t fg = c->out_channels / c->groups;
  for (int64_t nf = 0; nf < c->batch * c->out_channels; nf++) {
    int64_t n = nf / c->out_channels, f = nf % c->out_channels, out = nf * pixels + o;
    int64_t in = (n * c->in_channels + f / fg * cg) * inputs + at, weight = f * cg * taps + t;
    for (int64_t ch = 0; ch < cg; ch++, in += inputs, weight += taps) {
      a->y.v[out] += a->x.v[in] * a->w.v[weight];
      a->dx.v[in] += a->dy.v[out] * a->w.v[weight];
      a->dw.v[weight] += a->dy.v[out] * a->x.v[in];
    }
  }
}

static void naive(const luc_conv *c, arrays *a) {
  int64_t pixels = luc__volume(c->out), taps = luc__volume(c->kernel), at;
  kt_fill(&a->dx, 0), kt_fill(&a->dw, 0);
  for (int64_t i = 0; i < a->y.n; i++) a->y.v[i] = a->bias.v[i / pixels % c->out_channels];
  for (int64_t o = 0; o < pixels; o++)
    for (int64_t t = 0; t < taps; t++)
      if (meet(c, o, t, &at)) add_products(c, a, o, t, at);
  for (int64_t i = 0; c->relu && i < a->y.n; i++)
    if (a->y.v[i] < 0) a->y.v[i] = 0;
}

static void check_conv(luc_context *ctx, const luc_conv *c) {
  int64_t inputs = luc__volume(c->in), pixels = luc__volume(c->out);
  int64_t taps = luc__volume(c->kernel), cg = c->in_channels / c->groups;
  arrays a = {
      .x = kt_random(c->dtype, c->batch * c->in_channels * inputs),
      .w = kt_random(c->dtype, c->out_channels * cg * taps),
      .y = kt_random(c->dtype, c->batch * c->out_channels * pixels),
      .bias = kt_random(c->dtype, c->out_channels),
  };
  a.dx = kt_random(c->dtype, a.x.n), a.dw = kt_random(c->dtype, a.w.n);
  a.dy = kt_random(c->dtype, a.y.n);
  naive(c, &a);
  CHECK_OK(luc__conv_forward(ctx, c, a.x.p, a.w.p, a.bias.p, a.y.p));
  CHECK_OK(luc__conv_backward_input(ctx, c, a.dy.p, a.w.p, a.dx.p));
  CHECK_OK(luc__conv_backward_weight(ctx, c, a.x.p, a.dy.p, a.dw.p));
  int before = test_failures;
  double forward = luc__winograd_part(ctx, c, LUC_WINOGRAD_FORWARD) ? 1e-5 : 3e-6;
  double backward = luc__winograd_part(ctx, c, LUC_WINOGRAD_INPUT) ? 1e-5 : 3e-6;
  double weight = luc__winograd_part(ctx, c, LUC_WINOGRAD_WEIGHT) ? 1e-5 : 3e-6;
  kt_check("forward", &a.y, forward * sqrt((double)(cg * taps + 1)));
  kt_check("input gradient", &a.dx, backward * sqrt((double)(c->out_channels * taps + 1)));
  kt_check("weight gradient", &a.dw, weight * sqrt((double)(c->batch * pixels + 1)));
  if (test_failures > before)
    for (int d = 0; d < LUC_MAX_SPATIAL; d++)
      fprintf(stderr, "  N %d C %d F %d g %d: in %d k %d out %d s %d p %d d %d\n", (int)c->batch,
              (int)c->in_channels, (int)c->out_channels, (int)c->groups, (int)c->in[d],
              (int)c->kernel[d], (int)c->out[d], (int)c->stride[d], (int)c->padding[d],
              (int)c->dilation[d]);
  kt_free(&a.x), kt_free(&a.w), kt_free(&a.y), kt_free(&a.bias);
  kt_free(&a.dx), kt_free(&a.dw), kt_free(&a.dy);
}

static void random_dimension(luc_conv *c, int d, int64_t largest) {
  int64_t after;
  do {
    c->in[d] = kt_int(1, largest), c->kernel[d] = kt_int(1, 5), c->stride[d] = kt_int(1, 4);
    c->dilation[d] = kt_int(0, 3) ? 1 : kt_int(1, 3), c->padding[d] = kt_int(0, 3);
    after = c->padding[d] + kt_int(0, 1);
    c->out[d] = luc__conv_out_size(c->in[d], c->kernel[d], c->stride[d], c->padding[d], after,
                                   c->dilation[d]);
  } while (c->out[d] < 1);
}

/* One of the last `spatial` dimensions, whose sizes are to come. */
static luc_conv blank(luc_dtype dtype, int spatial) {
  luc_conv c = {.dtype = dtype, .batch = 1, .groups = 1};
  for (int d = 0; d < LUC_MAX_SPATIAL - spatial; d++)
    c.in[d] = c.kernel[d] = c.out[d] = c.stride[d] = c.dilation[d] = 1;
  return c;
}

static void random_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(120); i++) {
    const int spatial = 1 + i % 3;
    luc_conv c = blank(dtype, spatial);
    c.batch = kt_int(1, 3);
    c.groups = kt_int(0, 2) ? 1 : kt_int(1, 4);
    c.in_channels = c.groups * kt_int(1, c.groups > 1 ? 2 : 20);
    c.out_channels = c.groups * kt_int(1, c.groups > 1 ? 3 : 11);
    if (kt_int(0, 9) == 0) c.out_channels = c.groups = c.in_channels; /* depthwise */
    c.relu = kt_int(0, 1);
    for (int d = 3 - spatial; d < 3; d++) random_dimension(&c, d, spatial == 3 ? 6 : 21);
    check_conv(ctx, &c);
  }
}

static luc_conv square(luc_dtype dtype, int64_t batch, int64_t in, int64_t out, int64_t size,
                       int64_t kernel, int64_t stride, int64_t padding) {
  luc_conv c = blank(dtype, 2);
  c.batch = batch, c.in_channels = in, c.out_channels = out;
  for (int d = 1; d < LUC_MAX_SPATIAL; d++) {
    c.in[d] = size, c.kernel[d] = kernel, c.stride[d] = stride, c.dilation[d] = 1;
    c.padding[d] = padding;
    c.out[d] = luc__conv_out_size(size, kernel, stride, padding, padding, 1);
  }
  return c;
}

/* Large enough for bands, chunks, several panels and long sums. */
static void large_geometries(luc_context *ctx, luc_dtype dtype) {
  luc_conv lenet1 = square(dtype, 3, 1, 20, 28, 5, 1, 0),
           lenet2 = square(dtype, 9, 20, 50, 12, 5, 1, 0);
  luc_conv wide = square(dtype, 1, 64, 64, 30, 3, 1, 1),
           deep = square(dtype, 1, 140, 70, 7, 3, 1, 1);
  luc_conv strided = square(dtype, 2, 3, 64, 40, 7, 2, 3),
           point = square(dtype, 2, 24, 40, 14, 1, 1, 0);
  luc_conv skip = square(dtype, 2, 40, 24, 15, 1, 2, 0),
           long_rows = square(dtype, 1, 3, 19, 90, 3, 1, 1),
           points = square(dtype, 3, 64, 36, 28, 1, 1, 0),
           many_points = square(dtype, 3, 200, 210, 7, 1, 1, 0);
  luc_conv thirds = square(dtype, 1, 4, 10, 100, 4, 3, 1),
           fourths = square(dtype, 1, 3, 10, 140, 5, 4, 2);
  luc_conv rows = square(dtype, 2, 3, 34, 64, 3, 2, 1),
           patches = square(dtype, 4, 8, 70, 33, 3, 3, 0);
  luc_conv window = square(dtype, 5, 6, 9, 4, 4, 3, 0),
           column = square(dtype, 17, 90, 1, 3, 3, 1, 0);
  window.relu = true, window.groups = 3;
  point.groups = 2;
  check_conv(ctx, &lenet1), check_conv(ctx, &lenet2), check_conv(ctx, &wide),
      check_conv(ctx, &deep);
  check_conv(ctx, &strided), check_conv(ctx, &point), check_conv(ctx, &skip);
  check_conv(ctx, &long_rows), check_conv(ctx, &points), check_conv(ctx, &many_points);
  check_conv(ctx, &thirds), check_conv(ctx, &fourths), check_conv(ctx, &rows);
  check_conv(ctx, &patches), check_conv(ctx, &window), check_conv(ctx, &column);
  luc_conv signal = blank(dtype, 1);
  signal.groups = 2, signal.relu = true;
  signal.in_channels = 8, signal.out_channels = 36, signal.in[2] = signal.out[2] = 3001;
  signal.kernel[2] = 3, signal.stride[2] = 1, signal.dilation[2] = signal.padding[2] = 4;
  check_conv(ctx, &signal);
  luc_conv grouped = square(dtype, 2, 32, 32, 60, 3, 2, 1),
           small = square(dtype, 5, 6, 74, 9, 3, 2, 1);
  grouped.groups = 4, small.groups = 2;
  check_conv(ctx, &grouped), check_conv(ctx, &small);
  for (int stride = 2; stride <= 3; stride++) { /* one long row, in bands and panels of columns */
    luc_conv row = blank(dtype, 1);
    row.in_channels = 40, row.out_channels = 37, row.in[2] = 9001, row.padding[2] = 2;
    row.kernel[2] = 5, row.stride[2] = stride, row.dilation[2] = 1;
    row.out[2] = luc__conv_out_size(row.in[2], 5, stride, 2, 1, 1);
    check_conv(ctx, &row);
    luc_conv volume = square(dtype, 1, 3, 16 * stride, 40, 3, stride - 1, 1); /* in bands of rows */
    volume.in[0] = 6, volume.out[0] = 6 / (stride - 1), volume.stride[0] = stride - 1;
    volume.kernel[0] = 3, volume.dilation[0] = volume.padding[0] = 1;
    volume.in[2] = 48, volume.out[2] = 48 / (stride - 1);
    check_conv(ctx, &volume);
  }
  /* Gradients of inputs that are one product: by groups, some channels after others. */
  luc_conv groups = square(dtype, 2, 10, 12, 19, 7, 5, 1),
           blocks = square(dtype, 1, 4, 2, 390, 9, 3, 4);
  groups.groups = 2;
  check_conv(ctx, &groups), check_conv(ctx, &blocks);
}

/* A dimension whose kernel, stride and dilation minimal filtering takes. */
static void filtered_dimension(luc_conv *c, int d, int64_t kernel, int64_t largest) {
  int64_t after;
  do {
    c->kernel[d] = kernel, c->in[d] = kt_int(6, largest), c->padding[d] = kt_int(0, kernel);
    c->stride[d] = kt_int(0, 1) ? 1 : kt_int(1, 3);
    c->dilation[d] = c->stride[d] > 1 || kt_int(0, 1) ? 1 : kt_int(1, 3);
    after = kt_int(0, kernel - 1);
    c->out[d] =
        luc__conv_out_size(c->in[d], kernel, c->stride[d], c->padding[d], after, c->dilation[d]);
  } while (c->out[d] < 1);
}

/* With enough channels and tiles to go by transforms, in one to three dimensions: kernels of one
 * part and of several, rows or columns alone, strides and dilations, padding that is uneven or
 * wide, sizes that end within tiles, channels and filters that end within vectors, packs and
 * chunks, few tiles and many, several images and planes in a block, groups. */
static luc_conv filtered_geometry(int i) {
  const int64_t groups = kt_int(0, 3) ? 1 : 2, most = groups > 1 ? 36 : 70;
  const int64_t kernel = kt_int(0, 1) ? 3 : kt_int(2, 7);
  const int spatial = i % 4 == 3 ? 3 : i % 4 == 2 ? 1 : 2;
  const bool deep = spatial == 3;
  luc_conv c = blank(LUC_FLOAT32, spatial);
  c.groups = groups;
  c.batch = kt_int(1, deep || kernel > 3 ? 2 : 4), c.relu = kt_int(0, 1);
  c.in_channels = groups * kt_int(8, deep ? 30 : most);
  c.out_channels = groups * kt_int(8, deep ? 40 : most);
  if (deep) random_dimension(&c, 0, 5);
  const int64_t largest = spatial == 1 ? 90 : deep || kernel > 3 ? 14 : 22;
  const int alone = (int)kt_int(0, 3);
  for (int d = spatial == 1 ? 2 : 1; d < LUC_MAX_SPATIAL; d++)
    filtered_dimension(&c, d, spatial > 1 && alone == d ? 1 : kernel, largest);
  return c;
}

static void filtered_geometries(luc_context *ctx, luc_dtype dtype) {
  if (dtype != LUC_FLOAT32) return;
  int suited = 0;
  for (int i = 0; i < kt_rounds(40); i++) {
    luc_conv c = filtered_geometry(i);
    for (int tries = 0; tries < 100; tries++) {
      if (luc__winograd_part(ctx, &c, i % 3)) break; /* that way at least */
      c = filtered_geometry(i);
    }
    suited += luc__winograd_part(ctx, &c, i % 3) > 0;
    check_conv(ctx, &c);
  }
  CHECK(suited > kt_rounds(40) / 2);
}

TEST("convolutions of any geometry agree with naive loops") {
  kt_everywhere(random_geometries);
}
TEST("large convolutions agree with naive loops") {
  kt_everywhere(large_geometries);
}

/* A few planes, and vectors of them with some left; kernels wider than what is unrolled, strides,
 * dilations, a single row, a third dimension, several bands. */
static void depthwise_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(60); i++) {
    const int spatial = 1 + i % 3;
    luc_conv c = blank(dtype, spatial);
    c.batch = kt_int(1, 3);
    c.in_channels = c.out_channels = c.groups = kt_int(0, 3) ? kt_int(8, 35) : kt_int(1, 7);
    c.relu = kt_int(0, 1);
    for (int d = 3 - spatial; d < 3; d++) random_dimension(&c, d, spatial == 3 ? 7 : 33);
    check_conv(ctx, &c);
  }
  luc_conv wide = square(dtype, 1, 20, 20, 60, 11, 1, 5), row = square(dtype, 2, 9, 9, 61, 4, 2, 1);
  wide.groups = 20, row.groups = 9;
  row.in[1] = row.out[1] = row.kernel[1] = row.stride[1] = 1, row.padding[1] = 0;
  row.in[2] = 5000, row.out[2] = 2500;
  check_conv(ctx, &wide), check_conv(ctx, &row);
}

TEST("depthwise convolutions agree with naive loops") {
  kt_everywhere(depthwise_geometries);
}

/* Small planes and many filters, which are gathered: joined images and lone ones, strides, patches,
 * more filters than kernel elements and fewer. */
static void gathered_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(16); i++) {
    const int64_t kernel = kt_int(1, 4), size = kt_int(kernel, i % 4 == 3 ? 24 : 9);
    luc_conv c = square(dtype, kt_int(1, 5), kt_int(1, 9), kt_int(64, i % 8 == 7 ? 260 : 80), size,
                        kernel, kt_int(1, 3), kt_int(0, 1));
    c.relu = kt_int(0, 1);
    if (i % 5 == 4) random_dimension(&c, 0, 4);
    check_conv(ctx, &c);
  }
  /* Patches, with pixels that none has; gaps between their rows. */
  luc_conv patches = square(dtype, 3, 10, 66, 23, 6, 6, 0),
           apart = square(dtype, 2, 3, 64, 119, 7, 7, 0);
  apart.kernel[1] = 3, apart.stride[1] = 4, apart.out[1] = 30;
  check_conv(ctx, &patches), check_conv(ctx, &apart);
}

TEST("convolutions of small planes agree with naive loops") {
  kt_everywhere(gathered_geometries);
}

/* Narrow rows of many filters, which are in the lanes: positions and filters that end within strips
 * and vectors, long sums, joined images, planes whose windows leave the image on either side. */
static void filter_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(24); i++) {
    luc_conv c = square(dtype, kt_int(1, 6), kt_int(1, 30), kt_int(10, 70), kt_int(6, 16),
                        kt_int(1, 5), kt_int(1, 4), kt_int(0, 3));
    c.relu = kt_int(0, 1);
    if (i % 3 == 2) c.batch = kt_int(1, 2), random_dimension(&c, 0, 5);
    if (i % 4 == 3) c.groups = 2, c.in_channels *= 2, c.out_channels *= 2;
    check_conv(ctx, &c);
  }
  /* Outputs of all filters on one set of the cache; several bands; long sums of few filters; many
   * filters, of a matrix product; sums that go on with the few images that are left; one panel of
   * many groups, whose weights are packed piece by piece. */
  luc_conv set = square(dtype, 1, 2, 32, 132, 8, 4, 0),
           bands = square(dtype, 1, 90, 32, 90, 3, 5, 1),
           sums = square(dtype, 9, 130, 33, 5, 3, 2, 1),
           many = square(dtype, 1, 228, 260, 4, 3, 2, 1),
           rest = square(dtype, 25, 2, 40, 9, 3, 1, 0),
           groups = square(dtype, 16, 80, 160, 5, 3, 2, 1);
  groups.groups = 8;
  check_conv(ctx, &set), check_conv(ctx, &bands), check_conv(ctx, &sums), check_conv(ctx, &many);
  check_conv(ctx, &rest), check_conv(ctx, &groups);
}

TEST("convolutions of narrow rows agree with naive loops") {
  kt_everywhere(filter_geometries);
}

/* Dilations with as much padding, where taps meet part of the image, or none of it. */
static void wide_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(6); i++) {
    luc_conv c = square(dtype, kt_int(1, 2), 64 + kt_int(0, 9), 32 + kt_int(0, 5), 11, 3, 1, 0);
    for (int d = 1; d < LUC_MAX_SPATIAL; d++) {
      c.dilation[d] = c.padding[d] = kt_int(6, 12);
      c.in[d] = c.out[d] = kt_int(8, 15);
      if (i == 0) c.dilation[d] = c.padding[d] = 6, c.in[d] = c.out[d] = 22; /* whole vectors */
    }
    if (i % 3 == 1) c.kernel[2] = 1, c.padding[2] = 0;
    if (i % 3 == 2) c.in[0] = c.out[0] = 5, c.kernel[0] = 2, c.padding[0] = 1;
    check_conv(ctx, &c);
  }
}

/* Padding far beyond the kernel: whole rows and columns of taps that meet zeros alone. */
static void padded_geometries(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(8); i++) {
    int64_t size = kt_int(1, 15), kernel = kt_int(1, 5), stride = kt_int(1, 3);
    luc_conv c = square(dtype, kt_int(1, 2), kt_int(1, 20), kt_int(1, 20), size, kernel, stride,
                        kt_int(kernel, 40));
    check_conv(ctx, &c);
  }
}

TEST("convolutions of wide kernels agree with naive loops") {
  kt_everywhere(wide_geometries);
}

TEST("convolutions of wide padding agree with naive loops") {
  kt_everywhere(padded_geometries);
}

TEST("convolutions by minimal filtering agree with naive loops") {
  kt_everywhere(filtered_geometries);
}

TEST("an empty batch has zero weight gradient") {
  luc_conv c = square(LUC_FLOAT32, 0, 2, 3, 5, 3, 1, 1);
  float dw[54] = {1};
  CHECK_OK(luc__conv_forward(ctx, &c, NULL, NULL, NULL, NULL));
  CHECK_OK(luc__conv_backward_input(ctx, &c, NULL, NULL, NULL));
  CHECK_OK(luc__conv_backward_weight(ctx, &c, NULL, NULL, dw));
  CHECK_EQ(dw[0], 0);
}

TEST("without input channels there is only the bias") {
  luc_conv c = square(LUC_FLOAT32, 1, 0, 2, 3, 2, 1, 0);
  float y[8] = {0}, bias[2] = {1, -2};
  CHECK_OK(luc__conv_forward(ctx, &c, NULL, NULL, bias, y));
  for (int i = 0; i < 8; i++) CHECK(y[i] == bias[i / 4]);
}

static luc_status all_three(luc_context *ctx, void *arg) {
  const luc_conv *c = arg;
  static float x[2000], w[2000], y[2000];
  luc_status status = luc__conv_forward(ctx, c, x, w, NULL, y);
  if (status == LUC_OK) status = luc__conv_backward_input(ctx, c, y, w, x);
  if (status == LUC_OK) status = luc__conv_backward_weight(ctx, c, x, y, w);
  return status;
}

TEST("a convolution survives every refused allocation") {
  for (int stride = 1; stride <= 2; stride++) {
    luc_conv c = square(LUC_FLOAT32, 1, 3, 4, 9, 3, stride, 1);
    CHECK(test_sweep(all_three, &c, 1) > 0);
  }
  luc_conv gathered = square(LUC_FLOAT32, 2, 2, 64, 5, 3, 2, 1);
  CHECK(test_sweep(all_three, &gathered, 1) > 0);
  luc_conv lanes = square(LUC_FLOAT32, 2, 2, 20, 5, 3, 2, 1);
  CHECK(test_sweep(all_three, &lanes, 1) > 0);
  luc_conv narrow = square(LUC_FLOAT32, 1, 4, 16, 9, 5, 1, 0);
  CHECK(test_sweep(all_three, &narrow, 1) > 0);
  luc_conv depthwise = square(LUC_FLOAT32, 2, 16, 16, 5, 3, 1, 1);
  depthwise.groups = 16;
  CHECK(test_sweep(all_three, &depthwise, 1) > 0);
}
