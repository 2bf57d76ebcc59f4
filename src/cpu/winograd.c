/* Convolutions by Winograd's minimal filtering: when, and how the work is cut into pieces. Cuts
 * follow from the sizes alone, so results do not depend on the number of threads. */
#include "cpu/winograd.h"

#include <math.h>

#include "cpu/conv_filters.h"
#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "cpu/winograd_kernels.h"

/* Tiles of a block at most and at least; filters and channels of the weights' gradient at a time,
 * whose sums stay in the second-level cache; channels of few tiles at a time; channels * filters
 * that are worth the calls at every point; operations worth a piece of their own, and what a
 * transform takes as long as. */
static const int64_t BLOCK = 48, BLOCK_LEAST = 16, CHUNK = 64, SOME = 128, LEAST = 192,
                     PIECE_WORK = 1 << 20, TRANSFORM = 1000;

typedef struct job {
  luc_winograd_plan plan;
  const luc_winograd_kernels *kernels;
  const float *x, *weight, *bias, *dy;
  float *y, *dweight;
  float *shared;              /* what is transformed beforehand, all weights or all input; cuts */
  int64_t blocks, block_size; /* how many there are, and elements of one's input */
  int64_t units, unit;        /* that blocks are made of, and tiles of one */
  int64_t pack_size;          /* elements of the weights of one pack */
  int64_t filters, channels;  /* of a chunk: of the weights' gradient, of the input of few tiles */
  int64_t filter_chunks, channel_chunks, cuts, sum_size;
} job;

/* ---- the plan -------------------------------------------------------------------------------- */

/* One dimension of a convolution as far as minimal filtering sees it. */
typedef struct dimension {
  int64_t kernel, stride, dilation, padding, in, out; /* in: of the images, out: of the results */
} dimension;

static dimension dimension_of(const luc_conv *c, int d, bool backward) {
  const int64_t *in = backward ? c->out : c->in, *out = backward ? c->in : c->out;
  return (dimension){c->kernel[d], c->stride[d], c->dilation[d], c->padding[d], in[d], out[d]};
}

/* How many taps of one phase a kernel has. */
static int64_t phase_taps(const dimension *k) {
  return luc__cuts(k->kernel, k->stride);
}

/* The parts of rows (d = 0) or columns (1), of n taps each, and the tiles. With taps t = r + stride
 * q, forward output o meets input stride (o + q) + r - padding in phase r; with a dilation instead,
 * o + dilation t - padding. On the way back input stride u + r - padding meets outputs u - q, and
 * so the last tap of its class r first. */
static void plan_dimension(luc_winograd_plan *w, int d, const dimension *k, int n) {
  luc_winograd_images *in = &w->input;
  const int64_t stride = k->stride, apart = k->dilation, taps = phase_taps(k);
  const int64_t blocks = luc__cuts(taps, n), phases = luc__min64(stride, k->kernel);
  w->kernel[d] = n;
  w->tile[d] = n == 1 ? 1 : LUC_WINOGRAD_SIDE + 1 - n;
  w->size[d] = k->kernel;
  w->classes[d] = apart;
  w->weight_classes[d] = w->backward ? stride : 1;
  w->out_step[d] = w->backward ? stride * apart : apart;
  w->out_first[d] = w->backward ? k->padding % stride : 0;
  w->tap_step[d] = w->backward ? -stride : stride;
  in->side[d] = n == 1 ? 1 : LUC_WINOGRAD_SIDE;
  in->step[d] = w->backward ? apart : stride * apart;
  in->parts[d] = w->backward ? blocks : blocks * phases;
  for (int64_t i = 0; i < in->parts[d]; i++)
    in->origin[d][i] = w->backward ? apart * (i * n - taps + 1) + k->padding / stride
                                   : i % phases + stride * apart * (i / phases * n) - k->padding;
  for (int64_t i = 0; i < w->weight_classes[d] * in->parts[d]; i++)
    w->tap[d][i] = w->backward ? i / blocks + stride * (taps - 1 - i % blocks * n)
                               : i % phases + stride * (i / phases * n);
  const int64_t each = luc__cuts(k->out + w->out_first[d], w->out_step[d]);
  w->tiles[1 + d] = luc__cuts(each, w->tile[d]) * w->classes[d];
}

/* Outputs of the third dimension that are a stride apart meet the same taps on the way back, as
 * many passes. */
static int64_t depth_classes(const dimension *k, bool backward) {
  return backward && k->dilation == 1 ? k->stride : 1;
}

/* The third dimension's taps, which in backward passes are those of one class; without it there is
 * one plane. */
static void plan_depth(luc_winograd_plan *w, const dimension *k, int64_t class) {
  luc_winograd_images *in = &w->input;
  const int64_t classes = depth_classes(k, w->backward), reach = k->padding - class;
  w->depth = k->kernel;
  w->depth_first = class;
  w->depth_step = w->plane_apart = classes;
  in->taps = luc__cuts(k->kernel - class, classes);
  in->divisor = w->backward ? k->stride / classes : 1;
  in->plane_step = w->backward ? 1 : k->stride;
  in->tap_step = w->backward ? -k->dilation : k->dilation;
  in->first = w->backward ? k->padding : -k->padding;
  w->tiles[0] = w->out[0];
  if (classes == 1) return;
  in->first = reach > 0 ? luc__cuts(reach, classes) : 0;
  w->plane_first = classes * in->first - reach;
  w->tiles[0] = luc__max64(luc__cuts(w->out[0] - w->plane_first, classes), 0);
}

/* What is known without the blocks, with parts of n taps, for one class of planes. */
static void plan_sizes(luc_winograd_plan *w, const luc_conv *c, bool backward, int n,
                       int64_t class) {
  luc_winograd_images *in = &w->input;
  w->all_channels = backward ? c->out_channels : c->in_channels;
  w->all_filters = backward ? c->in_channels : c->out_channels;
  w->groups = c->groups;
  w->channels = w->all_channels / c->groups, w->filters = w->all_filters / c->groups;
  w->backward = backward;
  w->relu = c->relu && !backward;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const dimension k = dimension_of(c, d, backward);
    in->size[d] = k.in, w->out[d] = k.out;
    if (d == 0)
      plan_depth(w, &k, class);
    else
      plan_dimension(w, d - 1, &k, k.kernel == 1 ? 1 : n);
  }
  in->channel = in->size[0] * in->size[1] * in->size[2];
  in->image = w->all_channels * in->channel;
  w->points = in->side[0] * in->side[1];
  w->k = w->channels * luc__winograd_parts(in);
  w->all_tiles = c->batch * w->tiles[0] * w->tiles[1] * w->tiles[2];
}

/* Is it such a convolution at all? Parts and classes must fit in their tables, a tile in a run of
 * columns, and of those on the way back two classes share vectors. */
static bool is_filter(const luc_conv *c, bool backward) {
  if (c->dtype != LUC_FLOAT32) return false;
  const int64_t channels = c->in_channels / c->groups, filters = c->out_channels / c->groups;
  if (channels < 8 || filters < 8 || channels * filters < LEAST) return false;
  bool any = false;
  const dimension depth = dimension_of(c, 0, backward);
  if (depth.kernel < depth_classes(&depth, backward)) return false; /* planes that meet no tap */
  for (int d = 1; d < LUC_MAX_SPATIAL; d++) {
    const dimension k = dimension_of(c, d, backward);
    if (k.stride > 1 && k.dilation > 1) return false;
    if (k.kernel + k.stride > LUC_WINOGRAD_PARTS || k.stride > 4 || k.dilation > 12) return false;
    if (backward && d == LUC_MAX_SPATIAL - 1 && k.stride > 2) return false;
    if (k.kernel > 1 && phase_taps(&k) == 1) return false; /* nothing overlaps */
    any = any || k.kernel > 1;
  }
  return any;
}

static int64_t row_of(const luc_winograd_images *s, int64_t channels) {
  return luc__cuts(luc__winograd_parts(s) * channels, 16) * 16 + 16;
}

/* Tiles of a block at most: their transformed input takes less than half of the second-level cache,
 * beside a pack of weights. */
static int64_t most_tiles(const luc_winograd_plan *w) {
  const int64_t room = luc__second_cache() / (int64_t)sizeof(float) * 15 / 32;
  const int64_t tiles = room / (w->points * row_of(&w->input, w->channels)) / 8 * 8;
  return luc__max64(luc__min64(tiles, BLOCK), BLOCK_LEAST);
}

static bool is_few(const luc_winograd_plan *w) {
  return w->all_tiles < w->filters;
}

/* What comes from the last cache once more for every block or pack, in multiplications: all
 * weights, or all input, where the second-level cache cannot keep them. */
static double refetching(luc_context *ctx, const luc_winograd_plan *w) {
  const bool few = is_few(w);
  const int64_t filters = w->filters * w->weight_classes[0] * w->weight_classes[1];
  const int64_t kept = w->points * w->k * (few ? w->all_tiles : filters);
  const int64_t times = few ? luc__cuts(filters, luc__kernels(ctx)->winograd->pack)
                            : luc__cuts(w->all_tiles, most_tiles(w));
  if (kept * (int64_t)sizeof(float) <= luc__second_cache() / 2) return 0;
  return (few ? 10.0 : 17.0) * (double)kept * (double)(times - 1);
}

/* Of a group, in multiplications, measured. A tile's transforms cost so many at each point, more
 * where a dilation sets its elements apart, those of one channel's weights for one filter so many
 * in all, more where they are a plane of a volume's; chunks of the weights' gradient repeat the
 * former, and go through their sums once for every block. Where products are fast beside the last
 * cache, what goes through that counts. */
static double cost_of(luc_context *ctx, const luc_winograd_plan *w, luc_winograd_way way) {
  const bool line = w->points == LUC_WINOGRAD_SIDE;
  const int64_t classes = w->weight_classes[0] * w->weight_classes[1];
  const double tiles = (double)w->all_tiles, k = (double)w->k;
  /* in whole vectors, of the widest instruction set */
  const double lanes = (double)(luc__cuts(w->channels, 16) * 16 * luc__winograd_parts(&w->input));
  const double filters = (double)(luc__cuts(w->filters, 16) * 16 * classes);
  double input = line ? 18 : w->classes[1] > 1 ? 30 : 11, output = line ? 22 : 13;
  double weight = w->depth > 1 ? 750 : 250, again = 0;
  if (way == LUC_WINOGRAD_WEIGHT) {
    input = (line ? 22 : 11) * (double)luc__cuts(w->filters, CHUNK);
    output = (line ? 19 : 24) * (double)luc__cuts(w->k, CHUNK);
    weight = 500;
  }
  if (way != LUC_WINOGRAD_WEIGHT && luc__is_twofold(ctx)) weight = 400, again = refetching(ctx, w);
  return w->points * tiles * (k * filters + input * lanes + output * filters) +
         weight * lanes * filters + again;
}

/* What direct sums cost likewise: copies and what tiles leave idle are as much as some filters. */
static double direct_cost(const luc_conv *c, luc_winograd_way way) {
  const bool backward = way == LUC_WINOGRAD_INPUT;
  const int64_t pixels = luc__volume(c->out), rows = c->out[0] * c->out[1];
  double cost = (double)(c->batch * pixels * luc__volume(c->kernel)), idle = 5;
  /* Small planes of many filters are joined, positions of the weights' gradient by many filters are
   * listed; lone rows and planes leave lanes idle behind them. */
  const int64_t plane = rows == 1 ? pixels : rows * (c->out[2] + 1);
  const bool listed = way == LUC_WINOGRAD_WEIGHT && c->out_channels / c->groups >= 16;
  if (!listed && (rows == 1 || c->out_channels < 64))
    cost *= (double)(luc__cuts(plane, 16) * 16) / (double)pixels;
  if (way == LUC_WINOGRAD_WEIGHT) idle = listed ? 6 : 14;
  const double from = (double)(backward ? c->out_channels : c->in_channels);
  const double to = (double)(backward ? c->in_channels : c->out_channels);
  return cost * from / (double)c->groups * (1.1 * to + idle * (double)c->groups);
}

/* As many taps as there are, unless those are more than 5. */
int luc__winograd_part(luc_context *ctx, const luc_conv *c, luc_winograd_way way) {
  const bool backward = way == LUC_WINOGRAD_INPUT;
  if (ctx->direct_convolution || !is_filter(c, backward)) return 0;
  const dimension depth = dimension_of(c, 0, backward);
  int64_t taps = 2;
  for (int d = 1; d < LUC_MAX_SPATIAL; d++) {
    const dimension k = dimension_of(c, d, backward);
    taps = luc__max64(taps, phase_taps(&k));
  }
  const int most = LUC_WINOGRAD_SIDE - 1, first = taps > most ? 3 : (int)taps;
  double least = direct_cost(c, way);
  if (way != LUC_WINOGRAD_WEIGHT) least = fmin(least, luc__conv_filters_cost(c, backward));
  int best = 0;
  for (int n = first; n <= (taps > most ? most : first); n++) {
    double cost = 0;
    for (int64_t class = 0; class < depth_classes(&depth, backward); class ++) {
      luc_winograd_plan w = {0};
      plan_sizes(&w, c, backward, n, class);
      cost += cost_of(ctx, &w, way);
    }
    cost *= (double)c->groups;
    if (way == LUC_WINOGRAD_FORWARD && n == 2) cost *= 1.1;
    if (cost < least) best = n, least = cost;
  }
  return best;
}

static void plan_images(luc_winograd_images *s, int64_t channels, int64_t block) {
  s->row = row_of(s, channels);
  s->points = block * s->row + 16;
}

/* Cuts the tiles into blocks of about `most`, alike to a unit: whole lines of them where those are
 * short, and whole classes. A few are an even number, which two threads share best. */
static void cut_tiles(job *j, int64_t most) {
  luc_winograd_plan *w = &j->plan;
  const bool lines = w->tiles[2] <= most && w->all_tiles > most;
  j->unit = lines ? w->tiles[2] : 8;
  while (!lines && j->unit % w->classes[1] != 0) j->unit += 8;
  j->units = luc__cuts(w->all_tiles, j->unit);
  j->blocks = luc__cuts(j->units, luc__max64((most + j->unit / 2) / j->unit, 1));
  if (j->blocks > 1 && j->blocks < 8) j->blocks = luc__min64(j->blocks + j->blocks % 2, j->units);
  w->block = luc__cuts(j->units, j->blocks) * j->unit;
}

static int64_t first_tile(const job *j, int64_t block) {
  return luc__min64(block * j->units / j->blocks * j->unit, j->plan.all_tiles);
}

static int64_t tiles_in(const job *j, int64_t block) {
  return first_tile(j, block + 1) - first_tile(j, block);
}

/* Elements from one group to the next. */
static int64_t weights_of(const luc_winograd_plan *w) {
  return w->filters * w->channels * luc__winograd_taps(w);
}

bool luc_get_winograd(const luc_context *ctx) {
  return !ctx->direct_convolution;
}

void luc_set_winograd(luc_context *ctx, bool enabled) {
  ctx->direct_convolution = !enabled;
}

/* One parallel loop; `elements` of scratch for each piece. */
static luc_status loop(luc_context *ctx, job *j, int64_t pieces, int64_t work, int64_t elements,
                       luc_scratch_fn run) {
  const size_t bytes = luc__mul_size((size_t)elements, sizeof(float));
  return luc__parallel_scratch(ctx, pieces, PIECE_WORK / work + 1, bytes, run, j);
}

/* ---- many tiles: all weights first, then block after block ----------------------------------- */

static void transform_pack(const job *j, int64_t group, int64_t pack, int64_t channel, float *to,
                           float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  j->kernels->weights(w, j->weight + group * weights_of(w), pack, channel, to, scratch);
}

/* Some channels of a block, all unless there is one part. */
static void transform_block(const job *j, int64_t group, int64_t block, int64_t channel,
                            int64_t channels, float *to, float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  const float *x = j->x + (group * w->channels + channel) * w->input.channel;
  j->kernels->transform(w, &w->input, x, channels, first_tile(j, block), tiles_in(j, block),
                        to + channel, scratch);
}

static void multiply(const job *j, int64_t group, int64_t block, int64_t pack, int64_t channel,
                     const float *input, const float *weights, float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  const float *bias = j->bias ? j->bias + group * w->filters : NULL;
  float *y = j->y + group * w->filters * w->out[0] * w->out[1] * w->out[2];
  j->kernels->product(w, input, weights, bias, y, first_tile(j, block), tiles_in(j, block), pack,
                      channel, scratch);
}

static void transform_packs(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t packs = j->plan.packs;
  for (int64_t i = begin; i < end; i++)
    transform_pack(j, i / packs, i % packs, 0, j->shared + i * j->pack_size, scratch);
}

static void finish_blocks(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t packs = j->plan.packs;
  float *input = scratch, *rest = input + j->block_size;
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / j->blocks, block = i % j->blocks;
    transform_block(j, group, block, 0, j->plan.channels, input, rest);
    for (int64_t pack = 0; pack < packs; pack++)
      multiply(j, group, block, pack, 0, input, j->shared + (group * packs + pack) * j->pack_size,
               rest);
  }
}

/* ---- few tiles: all input first, then pack after pack, whose weights stay in the cache ------- */

static void transform_blocks(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t block = i / j->channel_chunks, first = i % j->channel_chunks * j->channels;
    transform_block(j, block / j->blocks, block % j->blocks, first,
                    luc__min64(j->channels, j->plan.channels - first),
                    j->shared + block * j->block_size, scratch);
  }
}

static void finish_packs(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t packs = j->plan.packs;
  float *weights = scratch, *gathered = weights + j->pack_size;
  float *rest = gathered + luc__winograd_gather(&j->plan);
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / packs, pack = i % packs;
    for (int64_t c = 0; c < j->plan.channels; c += j->plan.some) {
      transform_pack(j, group, pack, c, weights, gathered);
      for (int64_t block = 0; block < j->blocks; block++)
        multiply(j, group, block, pack, c, j->shared + (group * j->blocks + block) * j->block_size,
                 weights, rest);
    }
  }
}

/* A few tiles in one block meet a pack's weights some channels at a time, which stay in the
 * second-level cache from their transform to the product. */
static void plan_product(job *j) {
  luc_winograd_plan *w = &j->plan;
  cut_tiles(j, most_tiles(w));
  plan_images(&w->input, w->channels, w->block);
  w->some = w->channels;
  j->channels = w->k == w->channels ? CHUNK : w->channels;
  j->channel_chunks = luc__cuts(w->channels, j->channels);
  if (is_few(w) && j->blocks == 1 && w->k == w->channels)
    w->some = luc__cuts(w->channels, luc__cuts(w->channels, SOME));
  w->pack = j->kernels->pack;
  w->pack_filters = w->pack / w->weight_classes[1];
  w->packs = w->weight_classes[0] * luc__cuts(w->filters, w->pack_filters);
  w->weight_points = luc__winograd_parts(&w->input) * w->some * w->pack + 16;
  w->output_points = w->block * w->pack + 16;
  j->block_size = w->points * w->input.points;
  j->pack_size = w->points * w->weight_points;
}

/* One class of planes. */
static luc_status run_product(luc_context *ctx, job *j) {
  const luc_winograd_plan *w = &j->plan;
  const bool few = is_few(w);
  const int64_t gather = luc__winograd_gather(w);
  const int64_t pixels = luc__winograd_pixels(w, &w->input);
  const int64_t output = w->points * w->output_points;
  const int64_t pack_work = w->k * w->pack * TRANSFORM;
  const int64_t block_work = w->block * w->k * TRANSFORM;
  const int64_t product_work = w->points * w->block * w->k * w->pack;
  const int64_t packs = w->groups * w->packs, blocks = w->groups * j->blocks;
  int64_t shared = few ? blocks * j->block_size : packs * j->pack_size;
  size_t bytes = luc__mul_size((size_t)shared, sizeof(float));
  j->shared = luc__alloc(ctx, bytes);
  luc_status status = j->shared ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK && few) {
    status = loop(ctx, j, blocks * j->channel_chunks, block_work / j->channel_chunks, pixels,
                  transform_blocks);
    if (status == LUC_OK)
      status = loop(ctx, j, packs, product_work * j->blocks, j->pack_size + gather + output,
                    finish_packs);
  } else if (status == LUC_OK) {
    status = loop(ctx, j, packs, pack_work, gather, transform_packs);
    if (status == LUC_OK)
      status = loop(ctx, j, blocks, product_work * w->packs,
                    j->block_size + luc__max64(pixels, output), finish_blocks);
  }
  luc__free(ctx, j->shared, bytes);
  return status;
}

luc_status luc__winograd(luc_context *ctx, const luc_conv *c, int part, bool backward,
                         const void *x, const void *weight, const void *bias, void *y) {
  const luc_kernels *kernels = luc__kernels(ctx);
  const dimension depth = dimension_of(c, 0, backward);
  for (int64_t class = 0; class < depth_classes(&depth, backward); class ++) {
    job j = {.x = x, .weight = weight, .bias = bias, .y = y, .kernels = kernels->winograd};
    plan_sizes(&j.plan, c, backward, part, class);
    if (j.plan.all_tiles == 0) continue;
    plan_product(&j);
    j.plan.gemm = &kernels->gemm[LUC_FLOAT32];
    LUC_TRY(run_product(ctx, &j));
  }
  return LUC_OK;
}

/* ---- the weights' gradient: sums over tiles at each point, for some filters and channels ----- */

/* A piece: one cut of the tiles for one chunk of the weights. */
typedef struct chunk {
  int64_t group, filter, channel, cut;
  int64_t filters, channels;
} chunk;

static chunk chunk_at(const job *j, int64_t i) {
  const luc_winograd_plan *w = &j->plan;
  chunk k = {.cut = i % j->cuts};
  i /= j->cuts;
  k.channel = i % j->channel_chunks * j->channels;
  i /= j->channel_chunks;
  k.filter = i % j->filter_chunks * j->filters;
  k.group = i / j->filter_chunks;
  k.filters = luc__min64(j->filters, w->filters - k.filter);
  k.channels = luc__min64(j->channels, w->channels - k.channel);
  return k;
}

/* The weights of a chunk from the sums of one cut of the tiles: those of the first are j->dweight,
 * the others' at j->shared, to be added. */
static void finish_chunk(const job *j, const chunk *k, const float *sums) {
  const luc_winograd_plan *w = &j->plan;
  const int64_t all = w->groups * weights_of(w);
  const int64_t first = k->group * weights_of(w) + k->filter * (weights_of(w) / w->filters) +
                        k->channel * luc__winograd_taps(w);
  float *to = k->cut == 0 ? j->dweight : j->shared + (k->cut - 1) * all;
  j->kernels->finish(w, sums, k->filters, k->channels, to + first);
}

static void add_blocks(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_winograd_plan *w = &j->plan;
  const luc_winograd_images *in = &w->input, *out = &w->gradient;
  float *input = scratch, *gradient = input + w->points * in->points;
  float *pixels = gradient + w->points * out->points, *sums = pixels;
  sums += luc__max64(luc__winograd_pixels(w, in), luc__winograd_pixels(w, out));
  for (int64_t i = begin; i < end; i++) {
    const chunk k = chunk_at(j, i);
    const float *x = j->x + (k.group * w->channels + k.channel) * in->channel;
    const float *dy = j->dy + (k.group * w->filters + k.filter) * out->channel;
    const int64_t first = k.cut * j->blocks / j->cuts, last = (k.cut + 1) * j->blocks / j->cuts;
    for (int64_t b = first; b < last; b++) {
      const int64_t tile = first_tile(j, b), tiles = tiles_in(j, b);
      j->kernels->transform(w, in, x, k.channels, tile, tiles, input, pixels);
      j->kernels->transform(w, out, dy, k.filters, tile, tiles, gradient, pixels);
      j->kernels->add(w, gradient, input, tiles, k.filters, k.channels, b == first, sums);
    }
    finish_chunk(j, &k, sums);
  }
}

/* The weights of all cuts, in their order. */
static void add_cuts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t all = j->plan.groups * weights_of(&j->plan);
  for (int64_t cut = 1; cut < j->cuts; cut++)
    luc__add_elements(LUC_FLOAT32, j->dweight + begin, j->shared + (cut - 1) * all + begin,
                      end - begin);
}

/* Chunks of the weights, and cuts of the tiles until there are about eight pieces. */
static void plan_sums(job *j) {
  luc_winograd_plan *w = &j->plan;
  j->filter_chunks = luc__cuts(w->filters, CHUNK);
  j->filters = luc__cuts(luc__cuts(w->filters, j->filter_chunks), 8) * 8;
  j->channel_chunks =
      luc__cuts(w->channels, luc__max64(CHUNK / luc__winograd_parts(&w->input) / 16 * 16, 16));
  j->channels =
      luc__min64(luc__cuts(luc__cuts(w->channels, j->channel_chunks), 16) * 16, w->channels);
  plan_images(&w->input, j->channels, 0);
  plan_images(&w->gradient, j->filters, 0);
  cut_tiles(j, BLOCK);
  plan_images(&w->input, j->channels, w->block);
  plan_images(&w->gradient, j->filters, w->block);
  w->sum_row = luc__cuts(luc__winograd_parts(&w->input) * j->channels, 16) * 16;
  w->sum_points = j->filters * w->sum_row + 16;
  j->sum_size = w->points * w->sum_points;
  const int64_t chunks = w->groups * j->filter_chunks * j->channel_chunks;
  const int64_t least = chunks > 1 ? 1 : luc__min64(j->blocks, 2);
  j->cuts = luc__min64(luc__cuts(8, chunks), luc__max64(j->blocks / 4, least));
}

luc_status luc__winograd_weight(luc_context *ctx, const luc_conv *c, int part, const void *x,
                                const void *dy, void *dweight) {
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {.x = x, .dy = dy, .dweight = dweight, .kernels = kernels->winograd};
  luc_winograd_plan *w = &j.plan;
  plan_sizes(w, c, false, part, 0);
  w->gemm = &kernels->gemm[LUC_FLOAT32];
  luc_winograd_images *out = &w->gradient;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) out->size[d] = w->out[d];
  out->channel = out->size[0] * out->size[1] * out->size[2];
  out->image = w->all_filters * out->channel;
  out->taps = out->plane_step = out->divisor = 1;
  for (int d = 0; d < 2; d++)
    out->parts[d] = 1, out->step[d] = w->classes[d], out->side[d] = w->tile[d];
  plan_sums(&j);
  const int64_t pixels =
      luc__max64(luc__winograd_pixels(w, &w->input), luc__winograd_pixels(w, out));
  const int64_t chunks = w->groups * j.filter_chunks * j.channel_chunks;
  const int64_t all = w->groups * weights_of(w), shared = (j.cuts - 1) * all;
  const int64_t scratch = w->points * (w->input.points + out->points) + pixels + j.sum_size;
  const int64_t work = w->points * w->block * j.filters * w->sum_row;
  size_t bytes = luc__mul_size((size_t)shared, sizeof(float));
  if (shared && !(j.shared = luc__alloc(ctx, bytes))) return LUC_ERR_MEMORY;
  luc_status status = loop(ctx, &j, chunks * j.cuts, work * j.blocks / j.cuts, scratch, add_blocks);
  if (status == LUC_OK && shared)
    luc__parallel_for(ctx, all, PIECE_WORK / 16 / j.cuts, add_cuts, &j);
  if (shared) luc__free(ctx, j.shared, bytes);
  return status;
}
