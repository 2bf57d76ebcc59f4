/* Convolutions by Winograd's minimal filtering: when, and how the work is cut into pieces. Cuts
 * follow from the sizes alone, so results do not depend on the number of threads. */
#include "cpu/winograd.h"

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "cpu/winograd_kernels.h"

/* Tiles of a block at most, and elements of its transformed input, to stay in the second-level
 * cache beside a pack of weights; filters and channels of the weights' gradient at a time, whose
 * sums stay there; operations worth a piece of their own. */
static const int64_t BLOCK = 48, BLOCK_SIZE = 120000, CHUNK = 64, PIECE_WORK = 1 << 20;

typedef struct job {
  luc_winograd_plan plan;
  const luc_winograd_kernels *kernels;
  const float *x, *weight, *bias, *dy;
  float *y, *dweight;
  float *shared;              /* what is transformed beforehand, all weights or all input; sums */
  int64_t blocks, block_size; /* how many there are, and elements of one's input */
  int64_t pack_size;          /* elements of the weights of one pack */
  int64_t filters, channels;  /* of a chunk of the weights' gradient */
  int64_t filter_chunks, channel_chunks, cuts, sum_size;
  luc_slots slots;
} job;

/* ---- the plan -------------------------------------------------------------------------------- */

/* What is known without the tiles; of a missing third dimension there is one plane. */
static void plan_sizes(luc_winograd_plan *w, const luc_conv *c, bool backward) {
  const int missing = LUC_MAX_SPATIAL - c->spatial;
  const bool deep = missing == 0;
  luc_winograd_images *in = &w->input;
  w->all_channels = backward ? c->out_channels : c->in_channels;
  w->all_filters = backward ? c->in_channels : c->out_channels;
  w->groups = c->groups;
  w->channels = w->all_channels / c->groups, w->filters = w->all_filters / c->groups;
  w->kernel = (int)c->kernel[c->spatial - 1];
  w->tile = LUC_WINOGRAD_SIDE + 1 - w->kernel;
  w->backward = backward;
  w->relu = c->relu && !backward;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const int s = d - missing;
    in->size[d] = s < 0 ? 1 : backward ? c->out[s] : c->in[s];
    w->out[d] = s < 0 ? 1 : backward ? c->in[s] : c->out[s];
    if (d > 0) in->padding[d - 1] = backward ? w->kernel - 1 - c->padding[s] : c->padding[s];
  }
  in->channel = in->size[0] * in->size[1] * in->size[2];
  in->image = w->all_channels * in->channel;
  in->taps = deep ? c->kernel[0] : 1;
  in->side = LUC_WINOGRAD_SIDE;
  const int64_t stride = deep ? c->stride[0] : 1, apart = deep ? c->dilation[0] : 1;
  const int64_t padding = deep ? c->padding[0] : 0;
  in->plane_step = backward ? 1 : stride, in->tap_step = backward ? -apart : apart;
  in->first = backward ? padding : -padding, in->divisor = backward ? stride : 1;
  w->k = w->channels * in->taps;
  w->packs = luc__cuts(w->filters, LUC_WINOGRAD_PACK);
  w->tiles[0] = w->out[0];
  for (int d = 1; d < LUC_MAX_SPATIAL; d++) w->tiles[d] = luc__cuts(w->out[d], w->tile);
  w->all_tiles = c->batch * w->tiles[0] * w->tiles[1] * w->tiles[2];
}

/* Is it such a convolution at all? */
static bool is_filter(const luc_conv *c) {
  if (c->dtype != LUC_FLOAT32 || c->spatial < 2) return false;
  const int64_t kernel = c->kernel[c->spatial - 1];
  for (int d = c->spatial - 2; d < c->spatial; d++)
    if (c->kernel[d] != kernel || c->stride[d] != 1 || c->dilation[d] != 1 ||
        c->padding[d] >= kernel)
      return false;
  return kernel == 3 || kernel == 5;
}

/* Direct sums take kernel² multiplications for an output and channel; here a tile takes 36, its
 * transforms, and a share of the weights'. Of the taps of a depth with a stride, most meet nothing
 * on the way back. */
bool luc__winograd_suits(const luc_context *ctx, const luc_conv *c, luc_winograd_way way) {
  if (ctx->direct_convolution || !is_filter(c)) return false;
  if (c->in_channels / c->groups < 16 || c->out_channels / c->groups < 16) return false;
  luc_winograd_plan w = {0};
  plan_sizes(&w, c, way == LUC_WINOGRAD_INPUT);
  double pixels = (double)(c->batch * w.out[0] * w.out[1] * w.out[2]);
  return (double)(w.all_tiles * w.input.divisor) * 45 + 100 < pixels * w.kernel * w.kernel;
}

static void plan_images(luc_winograd_images *s, int64_t channels, int64_t block) {
  s->row = luc__cuts(s->taps * channels, 16) * 16 + 16;
  s->points = block * s->row + 16;
}

/* Tiles of a block, about `most`: whole rows of them where those are short. */
static int64_t choose_block(const luc_winograd_plan *w, int64_t most) {
  const int64_t row = w->tiles[2];
  if (row <= most && w->all_tiles > most) return (most + row / 2) / row * row;
  return luc__cuts(luc__cuts(w->all_tiles, luc__cuts(w->all_tiles, most)), 8) * 8;
}

static int64_t tiles_in(const luc_winograd_plan *w, int64_t block) {
  return luc__min64(w->block, w->all_tiles - block * w->block);
}

/* Elements from one group to the next. */
static int64_t weights_of(const luc_winograd_plan *w) {
  return w->filters * w->k * w->kernel * w->kernel;
}

bool luc_get_winograd(const luc_context *ctx) {
  return !ctx->direct_convolution;
}

void luc_set_winograd(luc_context *ctx, bool enabled) {
  ctx->direct_convolution = !enabled;
}

/* One parallel loop; `elements` of scratch for each piece. */
static luc_status loop(luc_context *ctx, job *j, int64_t pieces, int64_t work, int64_t elements,
                       luc_range_fn run) {
  size_t bytes = luc__mul_size((size_t)elements, sizeof(float));
  LUC_TRY(luc__slots_init(ctx, &j->slots, bytes, pieces));
  luc__parallel_for(ctx, pieces, PIECE_WORK / work + 1, run, j);
  luc__slots_free(ctx, &j->slots);
  return LUC_OK;
}

/* ---- many tiles: all weights first, then block after block ----------------------------------- */

static void transform_pack(job *j, int64_t group, int64_t pack, float *to, float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  j->kernels->weights(w, j->weight + group * weights_of(w), pack, to, scratch);
}

static void transform_block(job *j, int64_t group, int64_t block, float *to, float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  const float *x = j->x + group * w->channels * w->input.channel;
  j->kernels->transform(w, &w->input, x, w->channels, block * w->block, tiles_in(w, block), to,
                        scratch);
}

static void multiply(job *j, int64_t group, int64_t block, int64_t pack, const float *input,
                     const float *weights, float *scratch) {
  const luc_winograd_plan *w = &j->plan;
  const float *bias = j->bias ? j->bias + group * w->filters : NULL;
  float *y = j->y + group * w->filters * w->out[0] * w->out[1] * w->out[2];
  j->kernels->product(w, input, weights, bias, y, block * w->block, tiles_in(w, block), pack,
                      scratch);
}

static void transform_packs(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const int64_t packs = j->plan.packs;
  float *scratch = luc__slots_take(&j->slots);
  for (int64_t i = begin; i < end; i++)
    transform_pack(j, i / packs, i % packs, j->shared + i * j->pack_size, scratch);
  luc__slots_put(&j->slots, scratch);
}

static void finish_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const int64_t packs = j->plan.packs;
  float *input = luc__slots_take(&j->slots), *scratch = input + j->block_size;
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / j->blocks, block = i % j->blocks;
    transform_block(j, group, block, input, scratch);
    for (int64_t pack = 0; pack < packs; pack++)
      multiply(j, group, block, pack, input, j->shared + (group * packs + pack) * j->pack_size,
               scratch);
  }
  luc__slots_put(&j->slots, input);
}

/* ---- few tiles: all input first, then pack after pack, whose weights stay in the cache ------- */

static void transform_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  float *scratch = luc__slots_take(&j->slots);
  for (int64_t i = begin; i < end; i++)
    transform_block(j, i / j->blocks, i % j->blocks, j->shared + i * j->block_size, scratch);
  luc__slots_put(&j->slots, scratch);
}

static void finish_packs(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const int64_t packs = j->plan.packs;
  float *weights = luc__slots_take(&j->slots), *scratch = weights + j->pack_size;
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / packs, pack = i % packs;
    transform_pack(j, group, pack, weights, scratch);
    for (int64_t block = 0; block < j->blocks; block++)
      multiply(j, group, block, pack, j->shared + (group * j->blocks + block) * j->block_size,
               weights, scratch);
  }
  luc__slots_put(&j->slots, weights);
}

static void plan_product(job *j) {
  luc_winograd_plan *w = &j->plan;
  plan_images(&w->input, w->channels, 0);
  int64_t most = BLOCK_SIZE / (LUC_WINOGRAD_POINTS * w->input.row) / 8 * 8;
  w->block = choose_block(w, luc__max64(luc__min64(most, BLOCK), 16));
  plan_images(&w->input, w->channels, w->block);
  w->weight_points = w->k * LUC_WINOGRAD_PACK + 16;
  w->output_points = w->block * LUC_WINOGRAD_PACK + 16;
  j->blocks = luc__cuts(w->all_tiles, w->block);
  j->block_size = LUC_WINOGRAD_POINTS * w->input.points;
  j->pack_size = LUC_WINOGRAD_POINTS * w->weight_points;
}

luc_status luc__winograd(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                         const void *weight, const void *bias, void *y) {
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {.x = x, .weight = weight, .bias = bias, .y = y, .kernels = kernels->winograd};
  luc_winograd_plan *w = &j.plan;
  plan_sizes(w, c, backward);
  plan_product(&j);
  w->gemm = &kernels->gemm[LUC_FLOAT32];
  const bool few = w->all_tiles < w->filters;
  const int64_t gather = luc__winograd_gather(w);
  const int64_t pixels = luc__winograd_pixels(w, &w->input);
  const int64_t output = LUC_WINOGRAD_POINTS * w->output_points;
  const int64_t pack_work = w->k * LUC_WINOGRAD_PACK * 100, block_work = w->block * w->k * 100;
  const int64_t product_work = LUC_WINOGRAD_POINTS * w->block * w->k * LUC_WINOGRAD_PACK;
  const int64_t packs = w->groups * w->packs, blocks = w->groups * j.blocks;
  int64_t shared = few ? blocks * j.block_size : packs * j.pack_size;
  size_t bytes = luc__mul_size((size_t)shared, sizeof(float));
  j.shared = luc__alloc(ctx, bytes);
  luc_status status = j.shared ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK && few) {
    status = loop(ctx, &j, blocks, block_work, pixels, transform_blocks);
    if (status == LUC_OK)
      status = loop(ctx, &j, packs, product_work * j.blocks,
                    j.pack_size + luc__max64(gather, output), finish_packs);
  } else if (status == LUC_OK) {
    status = loop(ctx, &j, packs, pack_work, gather, transform_packs);
    if (status == LUC_OK)
      status = loop(ctx, &j, blocks, product_work * w->packs,
                    j.block_size + luc__max64(pixels, output), finish_blocks);
  }
  luc__free(ctx, j.shared, bytes);
  return status;
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

static void finish_chunk(job *j, const chunk *k, const float *sums) {
  const luc_winograd_plan *w = &j->plan;
  const int64_t first = k->group * weights_of(w) + k->filter * (weights_of(w) / w->filters) +
                        k->channel * w->input.taps * w->kernel * w->kernel;
  j->kernels->finish(w, sums, k->filters, k->channels, j->dweight + first);
}

static void add_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const luc_winograd_plan *w = &j->plan;
  const luc_winograd_images *in = &w->input, *out = &w->gradient;
  float *input = luc__slots_take(&j->slots), *gradient = input + LUC_WINOGRAD_POINTS * in->points;
  float *scratch = gradient + LUC_WINOGRAD_POINTS * out->points, *own = scratch;
  own += luc__max64(luc__winograd_pixels(w, in), luc__winograd_pixels(w, out));
  for (int64_t i = begin; i < end; i++) {
    const chunk k = chunk_at(j, i);
    const float *x = j->x + (k.group * w->channels + k.channel) * in->channel;
    const float *dy = j->dy + (k.group * w->filters + k.filter) * out->channel;
    float *sums = j->shared ? j->shared + i * j->sum_size : own;
    const int64_t first = k.cut * j->blocks / j->cuts, last = (k.cut + 1) * j->blocks / j->cuts;
    for (int64_t b = first; b < last; b++) {
      const int64_t tile = b * w->block, tiles = tiles_in(w, b);
      j->kernels->transform(w, in, x, k.channels, tile, tiles, input, scratch);
      j->kernels->transform(w, out, dy, k.filters, tile, tiles, gradient, scratch);
      j->kernels->add(w, gradient, input, tiles, k.filters, k.channels, b == first, sums);
    }
    if (!j->shared) finish_chunk(j, &k, sums);
  }
  luc__slots_put(&j->slots, input);
}

/* The sums of all cuts, chunk after chunk. */
static void join_cuts(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const chunk k = chunk_at(j, i * j->cuts);
    float *sums = j->shared + i * j->cuts * j->sum_size;
    for (int64_t cut = 1; cut < j->cuts; cut++) {
      const float *more = sums + cut * j->sum_size;
      for (int64_t n = 0; n < j->sum_size; n++) sums[n] += more[n];
    }
    finish_chunk(j, &k, sums);
  }
}

/* Chunks of the weights, and cuts of the tiles until there are about eight pieces. */
static void plan_sums(job *j) {
  luc_winograd_plan *w = &j->plan;
  j->filter_chunks = luc__cuts(w->filters, CHUNK);
  j->filters = luc__cuts(luc__cuts(w->filters, j->filter_chunks), 8) * 8;
  j->channel_chunks = luc__cuts(w->channels, luc__max64(CHUNK / w->input.taps / 16 * 16, 16));
  j->channels =
      luc__min64(luc__cuts(luc__cuts(w->channels, j->channel_chunks), 16) * 16, w->channels);
  plan_images(&w->input, j->channels, 0);
  plan_images(&w->gradient, j->filters, 0);
  w->block = choose_block(w, BLOCK);
  plan_images(&w->input, j->channels, w->block);
  plan_images(&w->gradient, j->filters, w->block);
  w->sum_row = luc__cuts(w->input.taps * j->channels, 16) * 16;
  w->sum_points = j->filters * w->sum_row + 16;
  j->sum_size = LUC_WINOGRAD_POINTS * w->sum_points;
  j->blocks = luc__cuts(w->all_tiles, w->block);
  const int64_t chunks = w->groups * j->filter_chunks * j->channel_chunks;
  j->cuts = luc__max64(luc__min64(luc__cuts(8, chunks), j->blocks / 4), 1);
}

luc_status luc__winograd_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                void *dweight) {
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {.x = x, .dy = dy, .dweight = dweight, .kernels = kernels->winograd};
  luc_winograd_plan *w = &j.plan;
  plan_sizes(w, c, false);
  w->gemm = &kernels->gemm[LUC_FLOAT32];
  luc_winograd_images *out = &w->gradient;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) out->size[d] = w->out[d];
  out->channel = out->size[0] * out->size[1] * out->size[2];
  out->image = w->all_filters * out->channel;
  out->taps = out->plane_step = out->divisor = 1;
  out->side = w->tile;
  plan_sums(&j);
  const int64_t pixels =
      luc__max64(luc__winograd_pixels(w, &w->input), luc__winograd_pixels(w, out));
  const int64_t chunks = w->groups * j.filter_chunks * j.channel_chunks;
  const int64_t shared = j.cuts > 1 ? chunks * j.cuts * j.sum_size : 0;
  const int64_t scratch =
      LUC_WINOGRAD_POINTS * (w->input.points + out->points) + pixels + (shared ? 0 : j.sum_size);
  const int64_t work = LUC_WINOGRAD_POINTS * w->block * j.filters * w->sum_row;
  size_t bytes = luc__mul_size((size_t)shared, sizeof(float));
  if (shared && !(j.shared = luc__alloc(ctx, bytes))) return LUC_ERR_MEMORY;
  luc_status status = loop(ctx, &j, chunks * j.cuts, work * j.blocks / j.cuts, scratch, add_blocks);
  if (status == LUC_OK && shared)
    luc__parallel_for(ctx, chunks, PIECE_WORK / (j.sum_size * j.cuts) + 1, join_cuts, &j);
  if (shared) luc__free(ctx, j.shared, bytes);
  return status;
}
