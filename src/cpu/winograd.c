/* 3 × 3 convolutions by Winograd's minimal filtering: when, and how the work is cut into pieces. */
#include "cpu/winograd.h"

#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "cpu/winograd_kernels.h"

/* Elements of transformed input of one block, to stay in the second-level cache beside a pack of
 * weights; operations worth a piece of their own. */
static const int64_t BLOCK_SIZE = 120000, PIECE_WORK = 1 << 20;

typedef struct job {
  luc_winograd_plan plan;
  const luc_winograd_kernels *kernels;
  const float *x, *weight, *bias;
  float *y, *shared;          /* what is transformed beforehand: all weights, or all input */
  int64_t blocks, block_size; /* how many there are, and elements of one's input */
  int64_t pack_size;          /* elements of the weights of one pack */
  luc_slots slots;
} job;

static int64_t cuts_of(int64_t n, int64_t piece) {
  return (n + piece - 1) / piece;
}

static luc_winograd_plan plan_of(const luc_conv *c, bool backward) {
  luc_winograd_plan w = {.channels = backward ? c->out_channels : c->in_channels,
                         .filters = backward ? c->in_channels : c->out_channels,
                         .backward = backward,
                         .relu = c->relu && !backward};
  for (int d = 0; d < 2; d++) {
    w.in[d] = backward ? c->out[d] : c->in[d];
    w.out[d] = backward ? c->in[d] : c->out[d];
    w.padding[d] = backward ? 2 - c->padding[d] : c->padding[d];
    w.tiles[d] = cuts_of(w.out[d], 4);
  }
  w.all_tiles = c->batch * w.tiles[0] * w.tiles[1];
  w.packs = cuts_of(w.filters, LUC_WINOGRAD_PACK);
  return w;
}

/* Direct sums take 9 multiplications for an output and channel; here a tile of 16 outputs takes
 * 36, its transforms, and a share of the weights'. */
bool luc__winograd_suits(const luc_context *ctx, const luc_conv *c, bool backward) {
  if (ctx->direct_convolution) return false;
  if (c->dtype != LUC_FLOAT32 || c->spatial != 2 || c->groups != 1) return false;
  for (int d = 0; d < 2; d++)
    if (c->kernel[d] != 3 || c->stride[d] != 1 || c->dilation[d] != 1 || c->padding[d] > 2)
      return false;
  if (c->in_channels < 32 || c->out_channels < 32) return false;
  luc_winograd_plan w = plan_of(c, backward);
  double pixels = (double)(c->batch * w.out[0] * w.out[1]);
  return (double)w.all_tiles * 45 + 100 < pixels * 9;
}

static void plan_block(job *j) {
  luc_winograd_plan *w = &j->plan;
  w->input_row = cuts_of(w->channels, 16) * 16 + 16;
  int64_t most = BLOCK_SIZE / (LUC_WINOGRAD_POINTS * w->input_row) / 8 * 8;
  if (most > 48) most = 48;
  if (most < 16) most = 16;
  w->block = cuts_of(cuts_of(w->all_tiles, cuts_of(w->all_tiles, most)), 8) * 8;
  w->input_plane = w->block * w->input_row + 16;
  w->weight_plane = w->channels * LUC_WINOGRAD_PACK + 16;
  w->output_plane = w->block * LUC_WINOGRAD_PACK + 16;
  j->blocks = cuts_of(w->all_tiles, w->block);
  j->block_size = LUC_WINOGRAD_POINTS * w->input_plane;
  j->pack_size = LUC_WINOGRAD_POINTS * w->weight_plane;
}

static int64_t tiles_in(const luc_winograd_plan *w, int64_t block) {
  int64_t left = w->all_tiles - block * w->block;
  return left < w->block ? left : w->block;
}

bool luc_get_winograd(const luc_context *ctx) {
  return !ctx->direct_convolution;
}

void luc_set_winograd(luc_context *ctx, bool enabled) {
  ctx->direct_convolution = !enabled;
}

/* ---- many tiles: all weights first, then block after block ---- */

static void transform_packs(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  float *scratch = luc__slots_take(&j->slots);
  for (int64_t i = begin; i < end; i++)
    j->kernels->weights(&j->plan, j->weight, i, j->shared + i * j->pack_size, scratch);
  luc__slots_put(&j->slots, scratch);
}

static void finish_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const luc_winograd_plan *w = &j->plan;
  float *input = luc__slots_take(&j->slots), *scratch = input + j->block_size;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i * w->block, count = tiles_in(w, i);
    j->kernels->input(w, j->x, first, count, input, scratch);
    for (int64_t pack = 0; pack < w->packs; pack++)
      j->kernels->product(w, input, j->shared + pack * j->pack_size, j->bias, j->y, first, count,
                          pack, scratch);
  }
  luc__slots_put(&j->slots, input);
}

/* ---- few tiles: all input first, then pack after pack, whose weights stay in the cache ---- */

static void transform_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const luc_winograd_plan *w = &j->plan;
  float *scratch = luc__slots_take(&j->slots);
  for (int64_t i = begin; i < end; i++)
    j->kernels->input(w, j->x, i * w->block, tiles_in(w, i), j->shared + i * j->block_size,
                      scratch);
  luc__slots_put(&j->slots, scratch);
}

static void finish_packs(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const luc_winograd_plan *w = &j->plan;
  float *weights = luc__slots_take(&j->slots), *scratch = weights + j->pack_size;
  for (int64_t pack = begin; pack < end; pack++) {
    j->kernels->weights(w, j->weight, pack, weights, scratch);
    for (int64_t i = 0; i < j->blocks; i++)
      j->kernels->product(w, j->shared + i * j->block_size, weights, j->bias, j->y, i * w->block,
                          tiles_in(w, i), pack, scratch);
  }
  luc__slots_put(&j->slots, weights);
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

static int64_t max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

luc_status luc__winograd(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                         const void *weight, const void *bias, void *y) {
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {.plan = plan_of(c, backward), .x = x, .weight = weight, .bias = bias, .y = y};
  luc_winograd_plan *w = &j.plan;
  plan_block(&j);
  w->gemm = &kernels->gemm[LUC_FLOAT32];
  j.kernels = kernels->winograd;
  const bool few = w->all_tiles < w->filters;
  const int64_t gather = w->channels * 9 * LUC_WINOGRAD_PACK;
  const int64_t pixels = luc__winograd_input_scratch(w);
  const int64_t output = LUC_WINOGRAD_POINTS * w->output_plane;
  const int64_t pack_work = gather * 12, block_work = w->block * w->channels * 100;
  const int64_t product_work = LUC_WINOGRAD_POINTS * w->block * w->channels * LUC_WINOGRAD_PACK;
  int64_t shared = few ? j.blocks * j.block_size : w->packs * j.pack_size;
  size_t bytes = luc__mul_size((size_t)shared, sizeof(float));
  j.shared = luc__alloc(ctx, bytes);
  luc_status status = j.shared ? LUC_OK : LUC_ERR_MEMORY;
  if (status == LUC_OK && few) {
    status = loop(ctx, &j, j.blocks, block_work, pixels, transform_blocks);
    if (status == LUC_OK)
      status = loop(ctx, &j, w->packs, product_work * j.blocks, j.pack_size + max64(gather, output),
                    finish_packs);
  } else if (status == LUC_OK) {
    status = loop(ctx, &j, w->packs, pack_work, gather, transform_packs);
    if (status == LUC_OK)
      status = loop(ctx, &j, j.blocks, product_work * w->packs,
                    j.block_size + max64(pixels, output), finish_blocks);
  }
  luc__free(ctx, j.shared, bytes);
  return status;
}
