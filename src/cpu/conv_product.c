/* Convolutions as one matrix product: see conv_product.h. The matrix [kernel elements, pixels] is
 * made for a few images at a time. Cuts follow from the sizes alone, so results do not depend on
 * the number of threads. */
#include "cpu/conv_product.h"

#include <math.h>
#include <string.h>

#include "cpu/conv_plan.h"
#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Elements of the matrix while it has several images and at most, channels gathered at a time,
 * elements copied that are worth a piece. */
static const int64_t MATRIX_SIZE = 1 << 18, MOST = 1 << 22, CHANNELS = 8, PIECE_SIZE = 1 << 15;

typedef struct job {
  luc_conv_plan plan;
  const luc_conv_kernels *kernels;
  luc_dtype dtype;
  bool pairs;
  int64_t size; /* of an element */
  int64_t batch, groups;
  bool joined;                 /* the pixels of all images side by side, else image after image */
  int64_t images, most;        /* images and channels at a time, at most */
  int64_t group, first, count; /* of images */
  int64_t channel, channels;   /* whose rows the matrix holds */
  int64_t chunk, chunks, cuts; /* of these channels, of the images */
  char *matrix;  /* [channels * taps, count * pixels] or [count, channels * taps, pixels] */
  char *outputs; /* joined: [filters, count * pixels] */
  size_t matrix_bytes, output_bytes;
  const char *x;
  char *dx, *y;
  bool place; /* outputs to y, else from there */
} job;

/* Does no input meet two outputs? */
static bool is_patches(const luc_conv_plan *p) {
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    if ((p->kernel[d] - 1) * p->dilation[d] >= p->stride[d]) return false;
  return true;
}

/* Rows of such that need no buffer, and are worth turning. */
static bool is_turned(const luc_conv_plan *p) {
  bool padded = false;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    padded = padded || p->padding[d] > 0 || luc__conv_covered(p, d, p->out[d]) > p->in[d];
  return is_patches(p) && !padded && p->dilation[2] == 1 && p->kernel[2] == p->stride[2] &&
         p->stride[2] > 4;
}

/* Does a plane leave lanes empty? Then those of all images lie side by side. */
static bool is_joined(const luc_conv_plan *p) {
  return p->pixels % 16 != 0 && p->pixels < 256;
}

/* For patches, and for few outputs of many weights: other ways turn those. */
bool luc__conv_product_suits(const luc_conv *c, bool forward) {
  if (c->groups > 1 || c->out_channels < 64) return false;
  luc_conv_plan p;
  luc__conv_plan_sizes(&p, c);
  const int64_t weights = p.k * p.filters;
  const bool few = c->batch * p.pixels < 64 && weights >= 1 << 16;
  if (p.k * p.pixels > MOST || !(few || is_patches(&p))) return false;
  return forward ? p.filters >= 256 && weights >= 1 << 17 : p.k >= 64;
}

/* Measured: a row added to the image costs 200 and 5 for each element, 400 if it ends within half a
 * vector, 15 beyond the cache, one copied forward 150; an element of the image 25; outputs that
 * leave the cache are packed. */
double luc__conv_product_cost(const luc_conv *c, bool forward) {
  luc_conv_plan p;
  luc__conv_plan_sizes(&p, c);
  const double met = (double)(p.taps * p.pixels), rows = met / (double)p.out[2];
  const double row = forward ? 150 : p.out[2] % 8 == 0 ? 200 : 400;
  const double element = p.k * p.pixels > 1 << 20 ? 15 : 5;
  const double image = 25 * fmin(met, (double)p.in_pixels);
  const double added = met * (1.05 * (double)p.filters + element) + rows * row + image;
  const int64_t outputs = p.filters * p.pixels;
  const double packed = p.k > 16 && outputs > 1 << 16 ? 10 * (double)outputs : 0;
  return (double)(c->batch * c->groups) * ((double)p.channels * added + packed);
}

static void job_free(luc_context *ctx, job *j) {
  luc__free(ctx, j->matrix, j->matrix_bytes);
  luc__free(ctx, j->outputs, j->output_bytes);
  luc__conv_plan_free(ctx, &j->plan);
}

static luc_status job_init(luc_context *ctx, job *j, const luc_conv *c) {
  *j = (job){.kernels = &luc__kernels(ctx)->conv[c->dtype], .dtype = c->dtype, .batch = c->batch};
  j->groups = c->groups, j->pairs = c->pairs;
  luc_conv_plan *p = &j->plan;
  luc__conv_plan_sizes(p, c);
  LUC_TRY(luc__conv_plan_buffer(ctx, p, c));
  p->patches = is_turned(p);
  j->size = (int64_t)luc__dtype_size(c->dtype);
  j->joined = is_joined(p);
  j->most = luc__min64(luc__max64(1, MOST / (p->taps * p->pixels)), p->channels);
  const int64_t matrix = j->most * p->taps * p->pixels;
  j->images = luc__cuts(
      c->batch, luc__cuts(c->batch, luc__max64(luc__cuts(64, p->pixels), MATRIX_SIZE / matrix)));
  if (j->images == 1) j->joined = false;
  j->channels = j->most;
  const int64_t pixels = j->images * p->pixels;
  j->matrix_bytes = luc__mul_size((size_t)(j->images * matrix), (size_t)j->size);
  j->output_bytes = j->joined ? luc__mul_size((size_t)(p->filters * pixels), (size_t)j->size) : 0;
  j->matrix = luc__alloc(ctx, j->matrix_bytes);
  if (j->matrix && j->joined) j->outputs = luc__alloc(ctx, j->output_bytes);
  if (j->matrix && (j->outputs || !j->joined)) return LUC_OK;
  job_free(ctx, j);
  return LUC_ERR_MEMORY;
}

/* Which of all images' groups it is. */
static int64_t image_at(const job *j, int64_t image) {
  return image * j->groups + j->group;
}

static int64_t row_of(const job *j) {
  return (j->joined ? j->count : 1) * j->plan.pixels;
}

/* Some channels of some images to the matrix, or with a dx from there. */
static void matrix_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *c = &j->plan;
  for (int64_t i = begin; i < end; i++) {
    const int64_t some = i % j->chunks * j->chunk, cut = i / j->chunks;
    const int64_t image = cut * j->count / j->cuts;
    const int64_t channel = image_at(j, j->first + image) * c->channels + j->channel + some;
    luc_conv_piece p = {.count = luc__min64(j->chunk, j->channels - some)};
    p.images = (cut + 1) * j->count / j->cuts - image;
    p.x_image = p.y_image = j->groups * c->channels * c->in_pixels;
    p.weight_row = row_of(j);
    const int64_t before = image * (j->joined ? 1 : j->channels * c->taps) * c->pixels;
    p.y = j->matrix + (before + some * c->taps * p.weight_row) * j->size;
    if (j->dx) {
      p.x = p.y, p.y = j->dx + channel * c->in_pixels * j->size;
      j->kernels->add_columns(c, &p, scratch);
    } else {
      p.x = j->x + channel * c->in_pixels * j->size;
      j->kernels->columns(c, &p, scratch);
    }
  }
}

/* All images together where there are pieces enough. */
static luc_status move_matrix(luc_context *ctx, job *j) {
  const luc_conv_plan *c = &j->plan;
  j->chunk = luc__min64(luc__cuts(j->channels * j->count, 8), luc__min64(CHANNELS, j->channels));
  j->chunks = luc__cuts(j->channels, j->chunk);
  j->cuts = j->joined ? luc__min64(j->count, luc__cuts(8, j->chunks)) : j->count;
  const int64_t pieces = j->cuts * j->chunks, images = luc__cuts(j->count, j->cuts);
  const int64_t planes = luc__max64(j->chunk, images);
  const int64_t grain = PIECE_SIZE / (j->chunk * c->taps * images * c->pixels + 1) + 1;
  size_t bytes = luc__mul_size((size_t)(planes * c->plane + 4 * LUC_CONV_SLACK), (size_t)j->size);
  bytes += (size_t)luc__conv_tables(c);
  return luc__parallel_scratch(ctx, pieces, grain, bytes, matrix_pieces, j);
}

/* Filters of all images between y and the joined outputs. */
static void output_filters(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *c = &j->plan;
  const int64_t plane = c->pixels * j->size;
  for (int64_t f = begin; f < end; f++)
    for (int64_t i = 0; i < j->count; i++) {
      char *outside = j->y + (image_at(j, j->first + i) * c->filters + f) * plane;
      char *joined = j->outputs + (f * j->count + i) * plane;
      memcpy(j->place ? outside : joined, j->place ? joined : outside, (size_t)plane);
    }
}

static void move_outputs(luc_context *ctx, job *j, bool place) {
  j->place = place;
  const int64_t grain = PIECE_SIZE / (j->count * j->plan.pixels) + 1;
  if (j->joined) luc__parallel_for(ctx, j->plan.filters, grain, output_filters, j);
}

/* Images of a group, then those of the next. */
static bool next_stretch(job *j) {
  j->first += j->count;
  if (j->first == j->batch) j->first = 0, j->group++;
  j->count = luc__min64(j->images, j->batch - j->first);
  return j->group < j->groups;
}

static char *outputs_of(const job *j) {
  const int64_t plane = j->plan.pixels * j->size;
  return j->joined ? j->outputs : j->y + image_at(j, j->first) * j->plan.filters * plane;
}

luc_status luc__conv_product(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                             const void *bias, void *y) {
  job j;
  LUC_TRY(job_init(ctx, &j, c));
  const luc_conv_plan *p = &j.plan;
  luc_status status = LUC_OK;
  j.x = x, j.y = y;
  while (status == LUC_OK && next_stretch(&j)) {
    luc_gemm g = {.dtype = j.dtype, .pairs = j.pairs, .batch = j.joined ? 1 : j.count, .alpha = 1};
    g.m = p->filters, g.k = p->k, g.n = g.b_row = g.c_row = row_of(&j);
    g.a = weight, g.a_row = p->k, g.a_col = g.b_col = 1;
    g.b = j.matrix, g.b_batch = g.k * g.n;
    g.c = outputs_of(&j), g.c_batch = g.m * g.n;
    g.bias = bias, g.bias_kind = bias ? LUC_BIAS_ROW : LUC_BIAS_NONE, g.relu = p->relu;
    status = move_matrix(ctx, &j);
    if (status == LUC_OK) status = luc__gemm(ctx, &g);
    if (status == LUC_OK) move_outputs(ctx, &j, true);
  }
  job_free(ctx, &j);
  return status;
}

/* Those of some channels after others, if all would take too much memory. */
static luc_status add_matrices(luc_context *ctx, job *j, const char *weight) {
  const luc_conv_plan *p = &j->plan;
  luc_gemm g = {
      .dtype = j->dtype, .pairs = j->pairs, .batch = j->joined ? 1 : j->count, .alpha = 1};
  g.k = p->filters, g.n = g.b_row = g.c_row = row_of(j);
  g.a_col = p->k, g.a_row = g.b_col = 1;
  g.b = outputs_of(j), g.b_batch = (j->joined ? 1 : j->groups) * g.k * g.n;
  g.c = j->matrix;
  luc_status status = LUC_OK;
  for (j->channel = 0; j->channel < p->channels && status == LUC_OK; j->channel += j->channels) {
    j->channels = luc__min64(j->most, p->channels - j->channel);
    g.m = j->channels * p->taps, g.c_batch = g.m * g.n;
    g.a = weight + (j->group * p->filters * p->k + j->channel * p->taps) * j->size;
    status = luc__gemm(ctx, &g);
    if (status == LUC_OK) status = move_matrix(ctx, j);
  }
  return status;
}

luc_status luc__conv_product_input(luc_context *ctx, const luc_conv *c, const void *dy,
                                   const void *weight, void *dx) {
  job j;
  LUC_TRY(job_init(ctx, &j, c));
  luc_status status = LUC_OK;
  j.dx = dx, j.y = (char *)dy;
  while (status == LUC_OK && next_stretch(&j)) {
    move_outputs(ctx, &j, false);
    status = add_matrices(ctx, &j, weight);
  }
  job_free(ctx, &j);
  return status;
}

/* The products of one stretch, added to those before: dy matrixᵀ, or the transpose of that. */
static luc_status add_products(luc_context *ctx, job *j, bool turned, void *to) {
  const luc_conv_plan *p = &j->plan;
  const int64_t row = row_of(j);
  const char *dy = outputs_of(j);
  luc_gemm g = {.dtype = j->dtype, .batch = j->joined ? 1 : j->count, .alpha = 1, .c = to};
  g.m = turned ? p->k : p->filters, g.n = g.c_row = turned ? p->filters : p->k;
  g.k = g.a_row = g.b_col = row, g.a_col = g.b_row = 1;
  g.a = turned ? j->matrix : dy, g.b = turned ? dy : j->matrix;
  g.a_batch = g.m * row, g.b_batch = g.n * row;
  g.beta = j->first > 0;
  return luc__gemm_sum(ctx, &g);
}

/* The second factor has to be turned, so that is the smaller one, unless to turn the result back
 * would take longer. */
luc_status luc__conv_product_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                    const void *dy, void *dweight) {
  job j;
  LUC_TRY(job_init(ctx, &j, c));
  const luc_conv_plan *p = &j.plan;
  const bool turned = c->batch * p->pixels * (p->k - p->filters) > 2 * p->k * p->filters;
  size_t bytes = turned ? luc__mul_size((size_t)(p->k * p->filters), (size_t)j.size) : 0;
  char *sums = turned ? luc__alloc(ctx, bytes) : NULL;
  luc_status status = sums || !turned ? LUC_OK : LUC_ERR_MEMORY;
  j.x = x, j.y = (char *)dy;
  while (status == LUC_OK && next_stretch(&j)) {
    status = move_matrix(ctx, &j);
    move_outputs(ctx, &j, false);
    if (status == LUC_OK) status = add_products(ctx, &j, turned, turned ? sums : dweight);
  }
  if (turned && status == LUC_OK)
    p->gemm->transpose(p->k, p->filters, sums, p->filters, dweight, p->k);
  luc__free(ctx, sums, bytes);
  job_free(ctx, &j);
  return status;
}
