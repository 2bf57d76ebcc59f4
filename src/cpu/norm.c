/* Normalizations in parallel: rows, then columns, or channels. */
#include "cpu/norm.h"

#include "cpu/cache.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/norm_kernels.h"

enum { PIECE_SIZE = 1 << 15, COLUMN_BLOCK = 128 };
/* A piece's elements, of which a row takes as long as so many more. */
enum { SHARE = 1 << 14, ROW = 64 };

typedef struct job {
  const luc_layer_norm *layer;
  const luc_batch_norm *batch;
  const luc_norm_kernels *kernels;
  luc_norm_arrays a;
  luc_channels_fn run;
  int64_t block; /* channels, or rows of layer_norm's gradient, per piece; */
  char *sums;    /* what it leaves for the weights */
  int64_t sums_size;
} job;

/* Do so many arrays of n elements fill the cache? */
static bool fills_cache(luc_dtype dtype, int arrays, int64_t n) {
  return luc__past_cache(arrays * n * (int64_t)luc__dtype_size(dtype));
}

static void layer_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->kernels->layer_rows(j->layer, &j->a, begin, end);
}

/* Pieces are blocks of rows: each has its own sums, which are added afterwards in order. A group
 * finds the place of its channels in those of its image. */
static void layer_blocks_backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_layer_norm *l = j->layer;
  for (int64_t i = begin; i < end; i++) {
    int64_t last = (i + 1) * j->block < l->rows ? (i + 1) * j->block : l->rows;
    j->kernels->layer_rows_backward(l, &j->a, i * j->block, last, j->sums + i * j->sums_size);
  }
}

static void channels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t all = j->batch->channels;
  j->run(j->batch, &j->a, begin * j->block, end * j->block < all ? end * j->block : all);
}

/* Channels in parallel, or blocks of adjacent ones where each is a column; `known`: a few are read
 * as they lie; `next`: a large one's memory is read while the one before is written. */
static void run_batch(luc_context *ctx, job *j, luc_channels_fn run, luc_channels_fn columns,
                      bool known, bool next) {
  const luc_batch_norm *b = j->batch;
  const int64_t some = luc__min64(b->channels / 4 + 1, LUC_NORM_CHANNELS);
  j->run = b->inner == 1 ? columns : run;
  j->block = b->inner == 1 ? COLUMN_BLOCK : known ? some : 1;
  const int64_t each = b->batch * (b->inner + (b->inner > 1 ? ROW / 2 : 0)) + 1;
  const bool overlaps = next && b->inner > 1 && each <= 2 * SHARE;
  const int64_t grain = luc__max64(SHARE / each / j->block + 1, overlaps ? 4 : 1);
  luc__parallel_for(ctx, (b->channels + j->block - 1) / j->block, grain, channels, j);
}

void luc__layer_norm(luc_context *ctx, const luc_layer_norm *l, const luc_norm_arrays *a) {
  job j = {.layer = l, .kernels = &luc__kernels(ctx)->norm[l->dtype], .a = *a};
  j.a.stream = fills_cache(l->dtype, 2, l->rows * l->n);
  luc__parallel_for(ctx, l->rows, SHARE / (l->n + ROW) + 1, layer_rows, &j);
}

luc_status luc__layer_norm_backward(luc_context *ctx, const luc_layer_norm *l,
                                    const luc_norm_arrays *a) {
  job j = {.layer = l, .kernels = &luc__kernels(ctx)->norm[l->dtype], .a = *a};
  j.a.stream = fills_cache(l->dtype, 3, l->rows * l->n);
  if (l->n <= 0) j.kernels->layer_add_sums(l, &j.a, 0, NULL);
  if (l->n <= 0) return LUC_OK;
  const int64_t size = (int64_t)(l->dtype == LUC_FLOAT64 ? sizeof(double) : sizeof(float));
  const bool groups = l->inner > 0;
  /* At least 64 rows, so that sums stay few, and no more than 256, so that they stay accurate. */
  j.block = PIECE_SIZE / l->n < 64 ? 64 : PIECE_SIZE / l->n > 256 ? 256 : PIECE_SIZE / l->n;
  if (groups) j.block = 1;
  int64_t blocks = (l->rows + j.block - 1) / j.block, parts = blocks;
  int64_t part_size = 2 * (groups ? l->channels : l->n) * size;
  if (groups) parts = l->rows * (l->n / l->inner) / l->channels; /* images */
  size_t bytes = luc__mul_size((size_t)parts, (size_t)part_size);
  j.sums_size = groups ? 0 : part_size;
  j.sums = luc__alloc(ctx, bytes);
  if (!j.sums) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, blocks, SHARE / (j.block * (l->n + ROW)) + 1, layer_blocks_backward, &j);
  j.kernels->layer_add_sums(l, &j.a, parts, j.sums);
  luc__free(ctx, j.sums, bytes);
  return LUC_OK;
}

void luc__batch_norm(luc_context *ctx, const luc_batch_norm *b, const luc_norm_arrays *a) {
  job j = {.batch = b, .kernels = &luc__kernels(ctx)->norm[b->dtype], .a = *a};
  j.a.stream = fills_cache(b->dtype, 2, b->batch * b->channels * b->inner);
  run_batch(ctx, &j, j.kernels->batch, j.kernels->batch_columns, !b->training, b->training);
}

void luc__batch_norm_backward(luc_context *ctx, const luc_batch_norm *b, const luc_norm_arrays *a) {
  job j = {.batch = b, .kernels = &luc__kernels(ctx)->norm[b->dtype], .a = *a};
  j.a.stream = fills_cache(b->dtype, 3, b->batch * b->channels * b->inner);
  run_batch(ctx, &j, j.kernels->batch_backward, j.kernels->batch_columns_backward, false, false);
}
