/* Convolutions: which way, and how the work is cut into pieces. Cuts follow from the sizes alone,
 * so results do not depend on the number of threads. */
#include "cpu/conv.h"

#include <math.h>
#include <string.h>

#include "cpu/conv_depthwise.h"
#include "cpu/conv_filters.h"
#include "cpu/conv_parts.h"
#include "cpu/conv_plan.h"
#include "cpu/conv_product.h"
#include "cpu/conv_taps.h"
#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/conv_1x1.h"
#include "cpu/scratch.h"
#include "cpu/winograd.h"

/* Elements that a panel should stay below to live in the second-level cache. */
static const int64_t PANEL_SIZE = 1 << 16;

/* Kernel elements that it costs to copy outputs, to deal them to every second, to every third and
 * more; products that it costs to turn a vector of weights. */
enum { COPY_WORK = 6, ZIP_WORK = 10, DEAL_WORK = 30, TURN_WORK = 200 };

/* Positions of a block of the weight gradient; inputs that are near, about. */
static const int64_t BLOCK = 1088, NEAR = 1 << 19;

/* One call: the plan, its tables and what every piece needs. */
typedef struct job {
  luc_conv_plan plan;
  const luc_conv_kernels *kernels;
  size_t size;
  luc_dtype dtype;
  int64_t groups, batch, in_channels, out_channels;
  const char *x, *weight, *bias, *dy;
  char *y, *dweight;     /* weight gradient: y holds sums */
  int64_t cuts;          /* forward: bands; weight: stretches of the batch's bands */
  int64_t bands;         /* weight: of an image */
  int64_t chunks, chunk; /* forward: of filters; weight: of channels */
  int64_t parts, part;   /* weight: of filters */
} job;

/* Positions of some rows in a buffer that is split by stride, about. */
static int64_t positions_of(const luc_conv_plan *p, int64_t rows) {
  const int64_t length = luc__cuts(luc__conv_covered(p, 2, p->out[2]), p->stride[2]);
  const int64_t pitch = luc__max64(length - p->padding[2] / p->stride[2], p->out[2]);
  return (rows - 1) * pitch + p->out[2];
}

/* Rows by themselves fill up their last vector, but what is computed goes where it belongs: that
 * saves a copy, which costs as much as some kernel elements. */
static bool is_by_rows(const luc_conv_plan *p) {
  const int64_t row = p->out[2] % 16 == 0 ? p->out[2] : p->out[2] / 16 * 16 + 24;
  return p->band[1] == p->out[2] && p->out[2] >= 32 &&
         (row - p->pitch) * p->k <= COPY_WORK * p->out[2];
}

/* Positions of the buffer's rows at a time, for sums of `filters` that stay in the cache. */
static void plan_direct(luc_conv_plan *p, int64_t filters) {
  int64_t length = (p->band[0] - 1) * p->pitch + p->band[1];
  int64_t even =
      luc__cuts(length, luc__cuts(length, luc__max64(PANEL_SIZE / 2 / filters / 48 * 48, 48)));
  p->panel = luc__cuts(even, 48) * 48;
}

/* Everything but the buffer and the cuts. */
static void job_init(luc_context *ctx, job *j, const luc_conv *c) {
  memset(j, 0, sizeof *j);
  luc__conv_plan_sizes(&j->plan, c);
  j->kernels = &luc__kernels(ctx)->conv[c->dtype];
  j->size = luc__dtype_size(c->dtype);
  j->dtype = c->dtype;
  j->groups = c->groups;
  j->batch = c->batch;
  j->in_channels = c->in_channels;
  j->out_channels = c->out_channels;
}

static const void *offset(const job *j, const char *p, int64_t elements) {
  return p ? p + elements * (int64_t)j->size : NULL;
}

static luc_status run(luc_context *ctx, job *j, int64_t pieces, int64_t work, size_t scratch,
                      luc_scratch_fn fn) {
  return luc__parallel_scratch(ctx, pieces, LUC_CONV_PIECE / (work + 1024) + 1, scratch, fn, j);
}

/* A product of this many multiplications per image and group is cut into `most` chunks at most, no
 * smaller than `least`, so that about eight pieces come out. Returns a chunk's length. */
static int64_t choose_chunk(int64_t pieces, int64_t work, int64_t n, int64_t least) {
  int64_t chunk = n;
  while (pieces * luc__cuts(n, chunk) < 8 && chunk >= 2 * least &&
         work / luc__cuts(n, chunk) >= 2 * LUC_CONV_PIECE)
    chunk = luc__cuts(chunk, 2);
  return chunk;
}

/* -- Forward ----------------------------------------------------------------------------------- */

static void forward_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *c = &j->plan;
  for (int64_t i = begin; i < end; i++) {
    int64_t chunk = i % j->chunks, band = i / j->chunks % j->cuts;
    int64_t group = i / (j->chunks * j->cuts) % j->groups;
    int64_t image = i / (j->chunks * j->cuts * j->groups);
    int64_t filter = group * c->filters + chunk * j->chunk;
    luc_conv_piece p = {
        .weight = offset(j, j->weight, filter * c->k),
        .bias = offset(j, j->bias, filter),
        .count = luc__min64(j->chunk, c->filters - chunk * j->chunk),
    };
    luc__conv_take_band(c, band, &p);
    p.x = offset(j, j->x, (image * j->groups + group) * c->channels * c->in_pixels);
    p.y = j->y + (image * j->out_channels + filter) * c->pixels * (int64_t)j->size;
    j->kernels->forward(c, &p, scratch);
  }
}

/* Every chunk of filters makes the buffer again: an element of it is worth as many products as some
 * filters have with one that meets one kernel element of each. */
static int64_t least_chunk(const job *j, int64_t pieces) {
  const luc_conv_plan *p = &j->plan;
  return pieces < 4 ? 32 : luc__max64(96 * p->in_pixels / (p->pixels * p->taps + 1), 32);
}

luc_status luc__conv_correlate(luc_context *ctx, const luc_conv *c, const void *x,
                               const void *weight, const void *bias, void *y) {
  job j;
  job_init(ctx, &j, c);
  luc_conv_plan *p = &j.plan;
  const int64_t all = p->pixels * p->k * p->filters;
  if (p->out[0] * p->kernel[0] == 1 || p->filters < 64) /* else filters of volumes are cut */
    luc__conv_choose_band(p, c->batch * c->groups, all, 1);
  LUC_TRY(luc__conv_plan_buffer(ctx, p, c));
  p->by_rows = is_by_rows(p);
  j.cuts = luc__conv_bands(p);
  const int64_t pieces = c->batch * c->groups * j.cuts;
  const int64_t work = all / j.cuts;
  j.chunk = choose_chunk(pieces, work, p->filters, least_chunk(&j, pieces));
  j.chunks = luc__cuts(p->filters, j.chunk);
  plan_direct(p, j.chunk);
  j.x = x, j.weight = weight, j.bias = bias, j.y = y;
  const int64_t elements = p->channels * p->plane + j.chunk * p->panel + 4 * LUC_CONV_SLACK;
  const size_t scratch = luc__mul_size((size_t)elements, j.size) + (size_t)luc__conv_tables(p);
  luc_status status = run(ctx, &j, pieces * j.chunks, work / j.chunks, scratch, forward_pieces);
  luc__conv_plan_free(ctx, &j.plan);
  return status;
}

/* Inputs' gradients by parts, in multiplications, measured: weights are turned by a vector for each
 * part; a single channel waits for what it loads; of doubles a vector has half as many. */
static double parts_cost(const luc_conv *c) {
  const int64_t parts = luc__conv_parts_count(c);
  if (parts > LUC_CONV_PARTS) return INFINITY;
  luc_conv_plan plan, *p = &plan;
  luc__conv_plan_sizes(p, c);
  int64_t out[LUC_MAX_SPATIAL];
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) out[d] = luc__cuts(p->in[d], p->stride[d]);
  const double k = (double)(p->filters * p->taps), channels = fmax((double)p->channels, 1.75);
  const double plane = (double)(out[0] * luc__whole(out[1] * (out[2] + 1) - 1, 16) * parts);
  const double rows = (double)(p->filters * p->out[0] * p->out[1]), width = (double)p->out[2];
  const double deal = p->stride[2] > 2 ? DEAL_WORK : p->stride[2] > 1 ? ZIP_WORK : COPY_WORK;
  const double image = channels * plane * (k / (double)parts + deal) + rows * (250 + 5 * width);
  return (c->dtype == LUC_FLOAT64 ? 1.25 : 1) * (double)c->groups *
         ((double)c->batch * image + TURN_WORK * (double)(p->filters * p->channels * parts));
}

/* To copy an element of a row, which strides split: up to 4 by vectors. */
static double split_cost(const luc_conv_plan *p) {
  if (p->stride[2] > 4) return 6 * (double)p->stride[2];
  return p->stride[1] * p->stride[2] > 1 ? 10 : 5;
}

/* Forward they pay for what lies between rows, for outputs to be copied and rows to be split. All
 * takes a tenth longer than counted, less where inputs are far away: they are read in a stream. */
static double forward_cost(const luc_conv *c) {
  luc_conv_plan plan, *p = &plan;
  luc__conv_plan_sizes(p, c);
  const int64_t plane = luc__whole(positions_of(p, p->out[1]), 16);
  const double rows = (double)(p->channels * p->in[0] * p->in[1]), width = (double)p->in[2];
  const double all = (double)(c->batch * c->groups),
               slow = all * rows * width < (double)NEAR ? 1.1 : 1.02;
  return slow * all *
         ((double)(p->filters * p->out[0] * plane) * (double)(p->k + COPY_WORK) +
          rows * (250 + split_cost(p) * width));
}

/* Are products of an image's pixels with so many pairs of each filter made by tiles? */
static bool by_tiles(luc_context *ctx, int64_t pixels, int64_t filters, int64_t pairs) {
  const luc_gemm g = {.dtype = LUC_FLOAT32, .pairs = true, .m = filters, .n = pixels, .k = pairs};
  return luc__gemm_kernels(ctx, &g)->tiles;
}

/* Pairs by products with copies of what lies apart, in multiplications. */
static double pairs_product_cost(const luc_conv *c) {
  return c->groups > 1 ? INFINITY : luc__conv_product_cost(c, true);
}

/* Sums of at least so many pairs, of `channels` that are summed over. Minimal filtering saves more
 * where no output is skipped. */
static bool may_pair(luc_context *ctx, const luc_conv *c, int64_t channels, int64_t taps,
                     luc_winograd_way way, bool tiles) {
  if (!luc__gemm_has_fast_pairs(ctx) || luc__depthwise_suits(ctx, c)) return false;
  const int64_t each = channels / c->groups;
  if (luc__cuts(each, 2) * taps < luc__gemm_least_pairs(ctx)) return false;
  if (c->groups > 1 && each % 2 != 0) return false;
  return luc__is_1x1(c) || luc__volume(c->stride) > 1 || tiles ||
         luc__winograd_part(ctx, c, way) == 0;
}

bool luc__conv_pairs_suit(luc_context *ctx, const luc_conv *c) {
  luc_conv pairs = *c;
  pairs.in_channels = luc__cuts(c->in_channels, 2);
  const int64_t taps = luc__volume(c->kernel), k = pairs.in_channels / c->groups * taps;
  const bool tiles = by_tiles(ctx, luc__volume(c->out), c->out_channels / c->groups, k);
  return may_pair(ctx, c, c->in_channels, taps, LUC_WINOGRAD_FORWARD, tiles) &&
         (luc__is_1x1(c) || tiles || luc__conv_product_suits(&pairs, true) ||
          fmin(forward_cost(&pairs), pairs_product_cost(&pairs)) <
              fmin(forward_cost(c), luc__conv_filters_cost(c, false)));
}

luc_status luc__conv_forward(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                             const void *bias, void *y) {
  if (c->batch <= 0 || c->out_channels <= 0 || luc__volume(c->out) <= 0) return LUC_OK;
  if (!c->pairs && luc__depthwise_suits(ctx, c))
    return luc__depthwise(ctx, c, false, x, weight, bias, y);
  if (luc__is_1x1(c)) return luc__conv_1x1(ctx, c, x, weight, bias, y);
  const int taps = c->pairs ? 0 : luc__winograd_part(ctx, c, LUC_WINOGRAD_FORWARD);
  if (taps > 0) return luc__winograd(ctx, c, taps, false, x, weight, bias, y);
  if (luc__conv_product_suits(c, true) || (c->pairs && pairs_product_cost(c) < forward_cost(c)))
    return luc__conv_product(ctx, c, x, weight, bias, y);
  if (!c->pairs && luc__conv_filters_cost(c, false) < forward_cost(c))
    return luc__conv_filters(ctx, c, false, x, weight, bias, y);
  return luc__conv_correlate(ctx, c, x, weight, bias, y);
}

/* -- Input gradient ---------------------------------------------------------------------------- */

bool luc__conv_pairs_suit_input(luc_context *ctx, const luc_conv *c) {
  luc_conv pairs = *c;
  pairs.out_channels = luc__cuts(c->out_channels, 2);
  const int64_t k = pairs.out_channels / c->groups * luc__volume(c->kernel);
  const bool tiles = by_tiles(ctx, luc__volume(c->in), c->in_channels / c->groups, k);
  return may_pair(ctx, c, c->out_channels, 1, LUC_WINOGRAD_INPUT, tiles) &&
         (luc__is_1x1(c) || tiles ||
          fmin(luc__conv_product_cost(&pairs, false), parts_cost(&pairs)) <
              luc__conv_filters_cost(c, true));
}

luc_status luc__conv_backward_input(luc_context *ctx, const luc_conv *c, const void *dy,
                                    const void *weight, void *dx) {
  const int64_t inputs = luc__volume(c->in);
  if (c->batch <= 0 || c->in_channels <= 0 || inputs <= 0) return LUC_OK;
  if (c->out_channels <= 0 || luc__volume(c->out) <= 0) {
    memset(dx, 0, (size_t)(c->batch * c->in_channels * inputs) * luc__dtype_size(c->dtype));
    return LUC_OK;
  }
  if (!c->pairs && luc__depthwise_suits(ctx, c))
    return luc__depthwise(ctx, c, true, dy, weight, NULL, dx);
  if (luc__is_1x1(c)) return luc__conv_1x1_input(ctx, c, dy, weight, dx);
  const int taps = c->pairs ? 0 : luc__winograd_part(ctx, c, LUC_WINOGRAD_INPUT);
  if (taps > 0) return luc__winograd(ctx, c, taps, true, dy, weight, NULL, dx);
  const double filters = c->pairs ? INFINITY : luc__conv_filters_cost(c, true),
               parts = parts_cost(c), product = luc__conv_product_cost(c, false);
  if (product < fmin(filters, parts)) return luc__conv_product_input(ctx, c, dy, weight, dx);
  if (filters < parts) return luc__conv_filters(ctx, c, true, dy, weight, NULL, dx);
  return luc__conv_parts(ctx, c, dy, weight, dx);
}

/* -- Weight gradient --------------------------------------------------------------------------- */

/* Sums of one stretch of the batch's bands, one group and chunk of channels: the first stretch's
 * are j->dweight, the others' [cuts - 1, out_channels, k] at j->y. */
static void weight_pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *c = &j->plan;
  const int64_t size = (int64_t)j->size, units = j->batch * j->bands;
  for (int64_t i = begin; i < end; i++) {
    int64_t filter = i % j->parts * j->part, channel = i / j->parts % j->chunks * j->chunk;
    int64_t stretch = i / (j->parts * j->chunks), group = stretch % j->groups;
    int64_t cut = stretch / j->groups;
    int64_t first = cut * units / j->cuts, last = (cut + 1) * units / j->cuts;
    luc_conv_piece p = {.count = luc__min64(j->chunk, c->channels - channel)};
    p.filters = luc__min64(j->part, c->filters - filter);
    p.x_image = j->in_channels * c->in_pixels;
    p.dy_image = j->out_channels * c->pixels;
    char *sums = cut == 0 ? j->dweight : j->y + (cut - 1) * j->out_channels * c->k * size;
    filter += group * c->filters;
    p.y = sums + (filter * c->k + channel * c->taps) * size;
    for (int64_t unit = first; unit < last; unit += p.images) {
      const int64_t n = unit / j->bands; /* a unit: a band of an image, or some whole images */
      luc__conv_take_band(c, unit % j->bands, &p);
      p.images = luc__min64(c->images, last - unit);
      p.x = offset(j, j->x, n * p.x_image + (group * c->channels + channel) * c->in_pixels);
      p.dy = offset(j, j->dy, n * p.dy_image + filter * c->pixels);
      p.accumulate = unit > first, p.last = unit + p.images == last;
      j->kernels->backward_weight(c, &p, scratch);
    }
  }
}

/* Adds the sums of all cuts to the first's. */
static void add_cuts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t size = (int64_t)j->size, all = j->out_channels * j->plan.k;
  for (int64_t cut = 1; cut < j->cuts; cut++)
    luc__add_elements(j->dtype, j->dweight + begin * size, j->y + ((cut - 1) * all + begin) * size,
                      end - begin);
}

/* Bands of about a block of positions: fewer would cost more to add up than to multiply, and what a
 * tile passes must stay in the first-level cache. Those of all planes where bands share no row: of
 * more channels in the buffer, dy is turned less often. */
static void choose_weight_band(luc_conv_plan *p) {
  const int d = p->out[1] > 1 ? 0 : 1;
  int64_t most = luc__max64(BLOCK / (d == 0 ? p->out[2] : 1), 1);
  if (p->kernel[1 + d] == 1) most = luc__max64(most / p->out[0], 1);
  p->band[d] = luc__cuts(p->band[d], luc__cuts(p->band[d], most));
  if (d == 1) p->band[d] = luc__min64(luc__cuts(p->band[d], 16) * 16, p->out[2]);
}

/* Filters in the lanes, unless those they leave empty cost more than what a plane has between its
 * rows and behind. */
static bool is_by_lanes(const job *j) {
  const luc_conv_plan *p = &j->plan;
  const int64_t pixels = p->band[0] * p->out[2];
  const int64_t between = luc__whole(positions_of(p, p->band[0]), 16) - pixels;
  return p->filters >= j->kernels->lanes || between * p->filters >= 8 * pixels;
}

/* Small images and planes are multiplied together, few channels at a time stay in the cache. */
static void plan_weight(job *j) {
  luc_conv_plan *p = &j->plan;
  int64_t length = p->band[0] * p->band[1];
  if (!p->lanes) length = luc__whole((p->band[0] - 1) * p->pitch + p->band[1], 16);
  p->units = luc__max64(1, BLOCK / length);
  p->images = 1;
  if (j->bands == 1)
    p->images = luc__min64(luc__max64(1, p->units / p->out[0]), luc__cuts(j->batch, j->cuts));
  p->places = p->images * p->out[0] * length;
  p->block = luc__min64(luc__max64(PANEL_SIZE / (p->images * p->plane), 1), j->chunk);
  p->block = luc__cuts(j->chunk, luc__cuts(j->chunk, p->block));
}

/* Cuts of the batch while they are long and their sums take little memory, then of the channels and
 * of filters in the lanes. */
static void choose_weight_cuts(job *j) {
  const luc_conv_plan *c = &j->plan;
  int64_t work = j->batch * c->pixels * c->k * c->filters, sums = j->out_channels * c->k;
  j->bands = luc__conv_bands(c);
  j->cuts = luc__min64(luc__min64(j->batch * j->bands, 8), 8 * LUC_CONV_BUFFER / (sums + 1));
  j->cuts = luc__max64(luc__min64(j->cuts, j->batch * c->pixels / (BLOCK / 2)), 1);
  while (j->cuts > 1 && work / j->cuts < LUC_CONV_PIECE) j->cuts = luc__cuts(j->cuts, 2);
  int64_t per_cut = work / j->cuts;
  j->chunk = choose_chunk(j->cuts * j->groups, per_cut, c->channels, luc__cuts(64, c->taps));
  j->chunks = luc__cuts(c->channels, j->chunk);
  const int64_t pieces = j->cuts * j->groups * j->chunks, wide = 2 * j->kernels->lanes;
  j->part = c->filters;
  if (c->lanes)
    j->part = luc__whole(choose_chunk(pieces, per_cut / j->chunks, c->filters, wide), wide);
  j->parts = luc__cuts(c->filters, j->part);
}

/* Bytes of scratch for one piece: sums of all filters and some places of dy, or all its rows. */
static size_t weight_scratch(const job *j) {
  const luc_conv_plan *p = &j->plan;
  const int64_t lanes = j->kernels->lanes, filters = luc__whole(j->part, lanes);
  int64_t elements = p->images * p->block * p->plane + 4 * LUC_CONV_SLACK;
  if (p->lanes)
    elements += 2 * lanes * LUC_CONV_PLACES + filters * j->chunk * p->taps;
  else
    elements += p->filters * p->places;
  return luc__mul_size((size_t)elements, j->size) + (size_t)luc__conv_tables(p);
}

static luc_status weight_gradient(luc_context *ctx, const luc_conv *c, bool exact, const void *x,
                                  const void *dy, void *dweight) {
  job j;
  job_init(ctx, &j, c);
  luc_conv_plan *p = &j.plan;
  choose_weight_band(p);
  p->lanes = exact || is_by_lanes(&j);
  LUC_TRY(luc__conv_plan_buffer(ctx, p, c));
  choose_weight_cuts(&j);
  plan_weight(&j);
  const int64_t all = j.out_channels * p->k;
  size_t bytes = luc__mul_size((size_t)((j.cuts - 1) * all), j.size);
  char *sums = j.cuts > 1 ? luc__alloc(ctx, bytes) : NULL;
  luc_status status = sums || j.cuts == 1 ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK) {
    j.x = x, j.dy = dy, j.y = sums, j.dweight = dweight;
    int64_t work = j.batch * p->pixels * p->k * p->filters / (j.cuts * j.chunks * j.parts);
    int64_t pieces = j.cuts * j.groups * j.chunks * j.parts;
    status = run(ctx, &j, pieces, work, weight_scratch(&j), weight_pieces);
  }
  if (status == LUC_OK && j.cuts > 1)
    luc__parallel_for(ctx, all, PANEL_SIZE / j.cuts, add_cuts, &j);
  luc__free(ctx, sums, bytes);
  luc__conv_plan_free(ctx, &j.plan);
  return status;
}

/* Transforms, and zeros between rows, carry an infinity or NaN of the input to taps that never met
 * it: to those of every filter, so it shows in each group's first. */
bool luc__conv_is_finite(luc_context *ctx, const luc_conv *c, const void *dweight) {
  const luc_conv_kernels *kernels = &luc__kernels(ctx)->conv[c->dtype];
  const int64_t k = c->in_channels / c->groups * luc__volume(c->kernel);
  const int64_t group = c->out_channels / c->groups * k * (int64_t)luc__dtype_size(c->dtype);
  for (int64_t i = 0; i < c->groups; i++)
    if (!isfinite(kernels->sum((const char *)dweight + i * group, k))) return false;
  return true;
}

bool luc__conv_pairs_suit_weight(luc_context *ctx, const luc_conv *c) {
  return luc__gemm_has_fast_pairs(ctx) && luc__is_1x1(c) && !luc__depthwise_suits(ctx, c) &&
         luc__volume(c->out) >= 2 * luc__gemm_least_pairs(ctx);
}

luc_status luc__conv_backward_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                     const void *dy, void *dweight) {
  if (c->out_channels <= 0 || c->in_channels <= 0) return LUC_OK;
  if (c->batch <= 0 || luc__volume(c->out) <= 0) {
    const int64_t n = c->out_channels * (c->in_channels / c->groups) * luc__volume(c->kernel);
    memset(dweight, 0, (size_t)n * luc__dtype_size(c->dtype));
    return LUC_OK;
  }
  if (!c->pairs && luc__depthwise_suits(ctx, c))
    return luc__depthwise_weight(ctx, c, x, dy, dweight);
  if (c->pairs || luc__is_1x1(c)) return luc__conv_1x1_weight(ctx, c, x, dy, dweight);
  if (luc__conv_taps_suits(c)) return luc__conv_taps_weight(ctx, c, x, dy, dweight);
  const int taps = luc__winograd_part(ctx, c, LUC_WINOGRAD_WEIGHT);
  if (taps > 0)
    LUC_TRY(luc__winograd_weight(ctx, c, taps, x, dy, dweight));
  else if (luc__conv_product_suits(c, false))
    return luc__conv_product_weight(ctx, c, x, dy, dweight);
  else
    LUC_TRY(weight_gradient(ctx, c, false, x, dy, dweight));
  return luc__conv_is_finite(ctx, c, dweight) ? LUC_OK
                                              : weight_gradient(ctx, c, true, x, dy, dweight);
}
