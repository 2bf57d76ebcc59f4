/* Depthwise convolutions: the plan and how the work is cut into pieces. Cuts follow from the sizes
 * alone, so results do not depend on the number of threads. */
#include "cpu/conv_depthwise.h"

#include <string.h>

#include "cpu/conv_kernels.h"
#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Pixels a buffer should stay below to live in the second-level cache, and products worth a piece
 * of their own. */
static const int64_t BUFFER_SIZE = 1 << 11, PIECE_WORK = 1 << 18;

typedef struct job {
  luc_depthwise_plan plan;
  const luc_conv_kernels *kernels;
  void *tables;
  size_t tables_size;
  luc_dtype dtype;
  int64_t size;                         /* of an element */
  int64_t batch, groups, bands, across; /* groups: of channels */
  const char *x, *weight, *bias, *dy;
  char *turned; /* [groups, 1 + taps, lanes] */
  char *y, *dweight;
  int64_t cuts; /* weight: of the batch's bands */
} job;

static int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* -- The plan ---------------------------------------------------------------------------------- */

/* Which way: output o meets input o * stride + tap * dilation - padding. */
typedef struct axes {
  const luc_conv *c;
  bool backward;
} axes;

static int64_t parts_along(const axes *a, int d) {
  return a->backward ? luc__min64(a->c->stride[d], a->c->in[d]) : 1;
}

/* The first element that a tap meets of what is read. */
static int64_t lowest(const axes *a, int d) {
  const int64_t padding = a->c->padding[d];
  if (!a->backward) return -padding;
  return floor_div(padding - (a->c->kernel[d] - 1) * a->c->dilation[d], a->c->stride[d]);
}

/* Where in the buffer the first output of part r meets a tap; -1: nowhere. */
static int64_t meets(const axes *a, int d, int64_t r, int64_t tap) {
  const int64_t at = r + a->c->padding[d] - tap * a->c->dilation[d];
  if (!a->backward) return tap * a->c->dilation[d];
  return at % a->c->stride[d] == 0 ? at / a->c->stride[d] - lowest(a, d) : -1;
}

/* Pixels of the buffer along d for so many outputs. */
static int64_t covered(const axes *a, int d, int64_t outputs) {
  if (!a->backward)
    return (outputs - 1) * a->c->stride[d] + (a->c->kernel[d] - 1) * a->c->dilation[d] + 1;
  const int64_t stride = a->c->stride[d];
  return luc__cuts(outputs, stride) + (stride - 1 + a->c->padding[d]) / stride - lowest(a, d);
}

/* Taps of a row that follow each other in the buffer, in columns of about the same height. */
static luc_depthwise_column *add_columns(const luc_depthwise_plan *p, const axes *a, int64_t r,
                                         int64_t tap, int64_t from, luc_depthwise_column *to) {
  const int64_t k = a->c->kernel[2], step = p->tap_step;
  for (int64_t i = 0; i < k; i++) {
    const int64_t before = i - step, at = meets(a, 2, r, i);
    if (at < 0 || (before >= 0 && before < k)) continue;
    const int64_t all = step > 0 ? luc__cuts(k - i, step) : i / -step + 1;
    const int64_t n = luc__cuts(all, LUC_DEPTHWISE_HEIGHT);
    for (int64_t j = 0; j < n; j++) {
      const int64_t begin = j * all / n, end = (j + 1) * all / n;
      *to++ = (luc_depthwise_column){tap + i + begin * step, end - begin,
                                     from + at + begin * p->in_step[2]};
    }
  }
  return to;
}

static void plan_parts(luc_depthwise_plan *p, const axes *a, luc_depthwise_part *parts) {
  int64_t n[3];
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) n[d] = parts_along(a, d);
  p->parts = parts;
  p->num_parts = n[0] * n[1] * n[2];
  luc_depthwise_column *columns = (luc_depthwise_column *)(parts + p->num_parts);
  for (int64_t i = 0; i < p->num_parts; i++) {
    luc_depthwise_part *part = parts + i;
    const int64_t r[] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
    memcpy(part->first, r, sizeof r);
    part->columns = columns;
    for (int64_t tap = 0; tap < a->c->kernel[0] * a->c->kernel[1]; tap++) {
      const int64_t z = meets(a, 0, r[0], tap / a->c->kernel[1]);
      const int64_t y = meets(a, 1, r[1], tap % a->c->kernel[1]);
      if (z >= 0 && y >= 0)
        columns = add_columns(p, a, r[2], tap * a->c->kernel[2], (z * p->size[1] + y) * p->size[2],
                              columns);
    }
    part->num_columns = columns - part->columns;
  }
}

/* Rows of the output, then columns, until the buffer is small; a multiple of the parts. */
static void plan_band(luc_depthwise_plan *p, const axes *a) {
  for (int d = 0; d < 2; d++) p->band[d] = p->out[1 + d];
  for (int d = 0; d < 2; d++)
    for (;;) {
      for (int i = 0; i < 3; i++) p->size[i] = covered(a, i, i == 0 ? p->out[0] : p->band[i - 1]);
      p->buffer = p->size[0] * p->size[1] * p->size[2];
      const int64_t parts = luc__cuts(p->out[1 + d], p->band[d]) + 1, step = p->out_step[1 + d];
      const int64_t band = luc__cuts(luc__cuts(p->out[1 + d], parts), step) * step;
      if (p->buffer <= BUFFER_SIZE || p->band[d] <= step || band >= p->band[d]) break;
      p->band[d] = band;
    }
}

static luc_status job_init(luc_context *ctx, job *j, const luc_conv *c, bool backward) {
  const axes a = {c, backward};
  *j = (job){.kernels = &luc__kernels(ctx)->conv[c->dtype], .dtype = c->dtype};
  luc_depthwise_plan *p = &j->plan;
  p->gemm = &luc__kernels(ctx)->gemm[c->dtype];
  p->channels = c->in_channels;
  p->taps = p->in_pixels = p->pixels = 1;
  p->relu = c->relu && !backward;
  int64_t parts = 1;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    p->in[d] = backward ? c->out[d] : c->in[d];
    p->out[d] = backward ? c->in[d] : c->out[d];
    p->in_step[d] = backward ? 1 : c->stride[d];
    p->out_step[d] = backward ? c->stride[d] : 1;
    p->low[d] = lowest(&a, d);
    p->taps *= c->kernel[d], p->in_pixels *= p->in[d], p->pixels *= p->out[d];
    parts *= parts_along(&a, d);
  }
  /* Taps follow each other in steps of the stride, if the dilation is not longer than that. */
  const int64_t common = luc__gcd(c->dilation[2], c->stride[2]);
  p->tap_step = c->dilation[2] == common ? c->stride[2] / common : c->kernel[2];
  if (backward) p->tap_step = -p->tap_step;
  plan_band(p, &a);
  j->size = (int64_t)luc__dtype_size(c->dtype);
  j->batch = c->batch;
  j->groups = luc__cuts(c->in_channels, j->kernels->lanes);
  j->across = luc__cuts(p->out[2], p->band[1]);
  j->bands = luc__cuts(p->out[1], p->band[0]) * j->across;
  j->tables_size = luc__mul_size((size_t)parts, sizeof(luc_depthwise_part)) +
                   luc__mul_size((size_t)p->taps, sizeof(luc_depthwise_column));
  j->tables = luc__alloc(ctx, j->tables_size);
  if (!j->tables) return LUC_ERR_MEMORY;
  plan_parts(p, &a, j->tables);
  return LUC_OK;
}

static void set_band(const job *j, int64_t band, luc_depthwise_piece *e) {
  const luc_depthwise_plan *p = &j->plan;
  const int64_t at[] = {band / j->across, band % j->across};
  for (int d = 0; d < 2; d++) {
    e->first[d] = at[d] * p->band[d];
    e->size[d] = luc__min64(p->band[d], p->out[1 + d] - e->first[d]);
  }
}

static luc_status run(luc_context *ctx, job *j, int64_t pieces, int64_t work, luc_scratch_fn fn) {
  const int64_t elements = luc__depthwise_scratch(&j->plan, j->kernels->lanes);
  const size_t bytes = luc__mul_size((size_t)elements, (size_t)j->size);
  return luc__parallel_scratch(ctx, pieces, PIECE_WORK / (work + 1024) + 1, bytes, fn, j);
}

/* -- Forward and input gradient ---------------------------------------------------------------- */

static void turn_groups(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_depthwise_plan *p = &j->plan;
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = begin; i < end; i++) {
    luc_depthwise_piece e = {.weight = j->weight + i * lanes * p->taps * j->size};
    e.bias = j->bias ? j->bias + i * lanes * j->size : NULL;
    e.planes = luc__min64(lanes, p->channels - i * lanes);
    j->kernels->depthwise_turn(p, &e, j->turned + i * (1 + p->taps) * lanes * j->size);
  }
}

static void plane_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_depthwise_plan *p = &j->plan;
  const int64_t lanes = j->kernels->lanes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / j->bands % j->groups, image = i / (j->bands * j->groups);
    const int64_t plane = image * p->channels + group * lanes;
    luc_depthwise_piece e = {.weight = j->turned + group * (1 + p->taps) * lanes * j->size};
    e.planes = luc__min64(lanes, p->channels - group * lanes);
    e.x = j->x + plane * p->in_pixels * j->size;
    e.y = j->y + plane * p->pixels * j->size;
    set_band(j, i % j->bands, &e);
    j->kernels->depthwise(p, &e, scratch);
  }
}

static luc_status convolve(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                           const void *weight, const void *bias, void *y) {
  job j;
  LUC_TRY(job_init(ctx, &j, c, backward));
  j.x = x, j.weight = weight, j.bias = bias, j.y = y;
  const int64_t lanes = j.kernels->lanes, taps = j.plan.taps, row = (1 + taps) * lanes;
  size_t bytes = luc__mul_size((size_t)(j.groups * row), (size_t)j.size);
  j.turned = luc__alloc(ctx, bytes);
  luc_status status = j.turned ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK) {
    luc__parallel_for(ctx, j.groups, PIECE_WORK / (16 * row) + 1, turn_groups, &j);
    const int64_t work = j.plan.pixels * (taps + 8) * lanes / j.bands;
    status = run(ctx, &j, c->batch * j.groups * j.bands, work, plane_pieces);
  }
  luc__free(ctx, j.turned, bytes);
  luc__free(ctx, j.tables, j.tables_size);
  return status;
}

/* -- Weight gradient --------------------------------------------------------------------------- */

/* Sums of some bands of the batch for a vector of channels: the first cut's are j->dweight, the
 * others' [cuts - 1, channels, taps] at j->y. */
static void weight_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_depthwise_plan *p = &j->plan;
  const int64_t lanes = j->kernels->lanes, all = p->channels * p->taps, bands = j->batch * j->bands;
  for (int64_t i = begin; i < end; i++) {
    const int64_t cut = i % j->cuts, first = cut * bands / j->cuts;
    const int64_t last = (cut + 1) * bands / j->cuts;
    const int64_t channel = i / j->cuts * lanes;
    luc_depthwise_piece e = {.planes = luc__min64(lanes, p->channels - channel)};
    char *sums = cut == 0 ? j->dweight : j->y + (cut - 1) * all * j->size;
    for (int64_t b = first; b < last; b++) {
      const int64_t plane = b / j->bands * p->channels + channel;
      e.x = j->x + plane * p->in_pixels * j->size;
      e.dy = j->dy + plane * p->pixels * j->size;
      e.y = b + 1 == last ? sums + channel * p->taps * j->size : NULL;
      set_band(j, b % j->bands, &e);
      j->kernels->depthwise_weight(p, &e, b == first, scratch);
    }
  }
}

static luc_status sum_weights(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                              void *dweight) {
  job j;
  LUC_TRY(job_init(ctx, &j, c, false));
  const luc_depthwise_plan *p = &j.plan;
  const int64_t all = p->channels * p->taps;
  j.cuts = luc__max64(luc__min64(luc__cuts(8, j.groups), j.batch * j.bands), 1);
  size_t bytes = luc__mul_size((size_t)((j.cuts - 1) * all), (size_t)j.size);
  char *sums = j.cuts > 1 ? luc__alloc(ctx, bytes) : NULL;
  luc_status status = sums || j.cuts == 1 ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK) {
    j.x = x, j.dy = dy, j.y = sums, j.dweight = dweight;
    const int64_t work = j.batch * p->pixels * (p->taps + 8) * j.kernels->lanes / j.cuts;
    status = run(ctx, &j, j.groups * j.cuts, work, weight_pieces);
  }
  for (int64_t i = 1; status == LUC_OK && i < j.cuts; i++)
    luc__add_elements(j.dtype, dweight, sums + (i - 1) * all * j.size, all);
  luc__free(ctx, sums, bytes);
  luc__free(ctx, j.tables, j.tables_size);
  return status;
}

/* -- Few channels ------------------------------------------------------------------------------ */

/* How many images have their channels together in the lanes: behind each other they are the
 * channels of one image, with as many copies of the weights. Groups of images are alike. */
static int64_t together(luc_context *ctx, const luc_conv *c) {
  const int64_t most = luc__kernels(ctx)->conv[c->dtype].lanes / c->in_channels;
  return most > 1 && c->batch > 1 ? luc__cuts(c->batch, luc__cuts(c->batch, most)) : 1;
}

static luc_conv joined(const luc_conv *c, int64_t batch, int64_t images) {
  luc_conv all = *c;
  all.batch = batch;
  all.in_channels = all.out_channels = all.groups = c->in_channels * images;
  return all;
}

/* The copies of [channels, n], each behind the one before it; NULL has none. */
static const void *repeat(char *to, const void *from, int64_t bytes, int64_t images) {
  for (int64_t i = 0; from && i < images; i++) memcpy(to + i * bytes, from, (size_t)bytes);
  return from ? to : NULL;
}

luc_status luc__depthwise(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                          const void *weight, const void *bias, void *y) {
  const int64_t images = together(ctx, c), size = (int64_t)luc__dtype_size(c->dtype);
  if (images == 1) return convolve(ctx, c, backward, x, weight, bias, y);
  const int64_t batch = c->batch / images, rest = c->batch % images, done = batch * images;
  const int64_t row = c->in_channels * size, taps = luc__volume(c->kernel) * row;
  const size_t bytes = luc__mul_size((size_t)images, (size_t)(taps + row));
  char *copies = luc__alloc(ctx, bytes);
  if (!copies) return LUC_ERR_MEMORY;
  weight = repeat(copies, weight, taps, images);
  bias = repeat(copies + images * taps, bias, row, images);
  luc_conv all = joined(c, batch, images), last = joined(c, 1, rest);
  luc_status status = convolve(ctx, &all, backward, x, weight, bias, y);
  x = (const char *)x + done * row * luc__volume(backward ? c->out : c->in);
  y = (char *)y + done * row * luc__volume(backward ? c->in : c->out);
  if (status == LUC_OK && rest > 0) status = convolve(ctx, &last, backward, x, weight, bias, y);
  luc__free(ctx, copies, bytes);
  return status;
}

luc_status luc__depthwise_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                 void *dweight) {
  const int64_t images = together(ctx, c), size = (int64_t)luc__dtype_size(c->dtype);
  if (images == 1) return sum_weights(ctx, c, x, dy, dweight);
  const int64_t batch = c->batch / images, rest = c->batch % images, done = batch * images;
  const int64_t n = c->in_channels * luc__volume(c->kernel), row = c->in_channels * size;
  const size_t bytes = luc__mul_size((size_t)(images + rest), (size_t)(n * size));
  char *sums = luc__alloc(ctx, bytes);
  if (!sums) return LUC_ERR_MEMORY;
  luc_conv all = joined(c, batch, images), last = joined(c, 1, rest);
  luc_status status = sum_weights(ctx, &all, x, dy, sums);
  x = (const char *)x + done * row * luc__volume(c->in);
  dy = (const char *)dy + done * row * luc__volume(c->out);
  if (status == LUC_OK && rest > 0)
    status = sum_weights(ctx, &last, x, dy, sums + images * n * size);
  memcpy(dweight, sums, (size_t)(n * size));
  for (int64_t i = 1; status == LUC_OK && i < images + rest; i++)
    luc__add_elements(c->dtype, dweight, sums + i * n * size, n);
  luc__free(ctx, sums, bytes);
  return status;
}

/* Lanes must be filled by half, where that takes some images by three quarters. */
bool luc__depthwise_suits(luc_context *ctx, const luc_conv *c) {
  const int64_t lanes = luc__kernels(ctx)->conv[c->dtype].lanes;
  if (c->in_channels != c->groups || c->out_channels != c->groups || c->groups < 1) return false;
  return c->in_channels >= lanes / 2 || 4 * c->in_channels * together(ctx, c) >= 3 * lanes;
}
