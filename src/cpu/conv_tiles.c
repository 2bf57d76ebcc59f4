/* Weight gradients by AMX's tiles: see conv_tiles.h. x is copied once, in planes of a stride's
 * phases with zeros around, dy into strips with zeros where a plane has more places than outputs.
 * Then a tap's gradient is a product of channels with filters over all places, x shifted by the
 * tap, which tiles read wherever it begins. Cuts follow from the sizes alone, so results do not
 * depend on the number of threads. */
#include "cpu/conv_tiles.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"

enum { SIDE = LUC_GEMM_STRIP };       /* of a tile */
enum { CHANNELS = 32, FILTERS = 64 }; /* of a piece of the product */
enum { LEAST_OUTPUTS = 256 };         /* of a filter: fewer are not worth adding up by taps */
enum { PLACES = 4096 };               /* of images that are multiplied together */
enum { PAIRS = 512 };                 /* that all taps meet one after another */

typedef struct job {
  const luc_conv *c;
  const luc_gemm_kernels *gemm;
  const uint16_t *x, *dy;
  float *dweight;               /* of a group */
  int64_t channels, filters;    /* of a group */
  int64_t phases, size[3];      /* of strides; places of a plane */
  int64_t places, taps, pixels; /* of a plane, of the kernel, of an output */
  int64_t image, images, depth; /* the first of these, how many, pairs of all their places */
  int64_t pitch;                /* from phase to phase, room for shifts behind the places */
  uint16_t *planes;             /* [channels, phases, pitch] */
  uint16_t *rows;               /* [filters, 2 depth] */
  float *strips;                /* [filters / 16, depth, 16] */
  float *sums;                  /* of all pieces */
  int64_t block;                /* filters of a piece */
} job;

static int64_t tap_in(const luc_conv *c, int64_t tap, int d) {
  const int64_t inner = d == 0 ? c->kernel[1] * c->kernel[2] : d == 1 ? c->kernel[2] : 1;
  return tap / inner % c->kernel[d] * c->dilation[d];
}

/* Where a tap begins in a channel. */
static int64_t start_of(const job *j, int64_t tap) {
  int64_t phase = 0, place = 0;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const int64_t at = tap_in(j->c, tap, d), stride = j->c->stride[d];
    phase = phase * stride + at % stride;
    place = place * j->size[d] + at / stride;
  }
  return phase * j->pitch + place;
}

static void take_sizes(job *j) {
  const luc_conv *c = j->c;
  j->channels = c->in_channels / c->groups, j->filters = c->out_channels / c->groups;
  int64_t shift = 0; /* of the last tap, the largest */
  j->phases = j->places = 1;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const int64_t more = (c->kernel[d] - 1) * c->dilation[d] / c->stride[d];
    j->size[d] = c->out[d] + more;
    j->phases *= c->stride[d], j->places *= j->size[d];
    shift = shift * j->size[d] + more;
  }
  j->taps = luc__volume(c->kernel), j->pixels = luc__volume(c->out);
  j->images = luc__min64(luc__max64(PLACES / j->places, 1), c->batch);
  j->depth = luc__whole(luc__cuts(j->images * j->places, 2), SIDE);
  j->pitch = 2 * j->depth + luc__whole(shift, 16 * SIDE); /* measured: 2 SIDE are slower */
  j->block =
      luc__cuts(j->channels, CHANNELS) * luc__cuts(j->filters, FILTERS) < 8 ? FILTERS / 2 : FILTERS;
}

static int64_t pieces_of(const job *j) {
  return luc__cuts(j->channels, CHANNELS) * luc__cuts(j->filters, j->block);
}

static const luc_gemm_kernels *kernels_of(luc_context *ctx, const job *j) {
  const luc_gemm g = {.dtype = LUC_FLOAT32,
                      .pairs = true,
                      .m = j->channels,
                      .n = j->filters,
                      .k = j->depth,
                      .batch = j->taps};
  return luc__gemm_kernels(ctx, &g);
}

bool luc__conv_tiles_suit(luc_context *ctx, const luc_conv *c) {
  job j = {.c = c};
  if (c->batch <= 0 || c->in_channels <= 0 || c->out_channels <= 0) return false;
  take_sizes(&j);
  if (c->batch * j.pixels < LEAST_OUTPUTS) return false;
  return j.channels >= SIDE && j.filters >= SIDE && j.phases <= j.taps &&
         j.places <= 2 * j.pixels && kernels_of(ctx, &j)->tiles;
}

/* ---- copies ---- */

/* A row of a phase: every stride-th element of one of x. */
static void copy_row(const luc_conv *c, int64_t phase, const uint16_t *from, int64_t places,
                     uint16_t *to) {
  const int64_t stride = c->stride[2], before = c->padding[2] - phase;
  const int64_t first = before > 0 ? luc__cuts(before, stride) : 0;
  const int64_t end = luc__min64(places, luc__cuts(c->in[2] + before, stride));
  from += first * stride - before;
  if (stride == 1 && end > first) memcpy(to + first, from, (size_t)(end - first) * sizeof *to);
  for (int64_t i = first; stride > 1 && i < end; i++, from += stride) to[i] = *from;
}

/* One image's plane of a phase. */
static void copy_plane(const job *j, int64_t phase, const uint16_t *from, uint16_t *to) {
  const luc_conv *c = j->c;
  const int64_t *in = c->in, *stride = c->stride, *size = j->size;
  const int64_t along[] = {phase / stride[2] / stride[1], phase / stride[2] % stride[1],
                           phase % stride[2]};
  for (int64_t z = 0; z < size[0]; z++)
    for (int64_t y = 0; y < size[1]; y++, to += size[2]) {
      const int64_t in_z = z * stride[0] + along[0] - c->padding[0];
      const int64_t in_y = y * stride[1] + along[1] - c->padding[1];
      if (in_z < 0 || in_z >= in[0] || in_y < 0 || in_y >= in[1]) continue;
      copy_row(c, along[2], from + (in_z * in[1] + in_y) * in[2], size[2], to);
    }
}

static void copy_channels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t pixels = luc__volume(j->c->in);
  uint16_t *to = j->planes + begin * j->phases * j->pitch;
  memset(to, 0, (size_t)((end - begin) * j->phases * j->pitch) * sizeof *to);
  for (int64_t i = begin; i < end; i++)
    for (int64_t phase = 0; phase < j->phases; phase++, to += j->pitch)
      for (int64_t n = 0; n < j->images; n++)
        copy_plane(j, phase, j->x + ((j->image + n) * j->c->in_channels + i) * pixels,
                   to + n * j->places);
}

/* A filter's outputs at their places. */
static void copy_outputs(const job *j, int64_t filter, uint16_t *to) {
  const int64_t *out = j->c->out, *size = j->size;
  memset(to, 0, (size_t)j->depth * 2 * sizeof *to);
  for (int64_t n = 0; n < j->images; n++, to += j->places) {
    const uint16_t *from = j->dy + ((j->image + n) * j->c->out_channels + filter) * j->pixels;
    for (int64_t z = 0; z < out[0]; z++)
      for (int64_t y = 0; y < out[1]; y++, from += out[2])
        memcpy(to + (z * size[1] + y) * size[2], from, (size_t)out[2] * sizeof *to);
  }
}

static void copy_strips(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i * SIDE, n = luc__min64(j->filters - first, SIDE);
    uint16_t *rows = j->rows + first * 2 * j->depth;
    float *strip = j->strips + first * j->depth;
    for (int64_t f = 0; f < n; f++) copy_outputs(j, first + f, rows + f * 2 * j->depth);
    if (n < SIDE) memset(strip, 0, (size_t)(j->depth * SIDE) * sizeof *strip);
    j->gemm->transpose(n, j->depth, rows, j->depth, strip, SIDE);
  }
}

/* ---- products ---- */

/* Some channels by some filters, and their sums [taps, CHANNELS, block]. */
typedef struct piece {
  int64_t channel, channels, filter, filters;
  float *sums;
} piece;

static piece piece_at(const job *j, int64_t i) {
  const int64_t blocks = luc__cuts(j->filters, j->block);
  piece p = {.channel = i / blocks * CHANNELS, .filter = i % blocks * j->block};
  p.channels = luc__min64(j->channels - p.channel, CHANNELS);
  p.filters = luc__min64(j->filters - p.filter, j->block);
  p.sums = j->sums + i * j->taps * CHANNELS * j->block;
  return p;
}

/* Up to 16 filters' sums of up to 16 taps of a channel become rows of these taps. */
static void turn_square(const job *j, const piece *p, int64_t filter, int64_t channel, int64_t tap,
                        float *to) {
  const float *from = p->sums + (tap * CHANNELS + channel) * j->block + filter;
  float square[SIDE * SIDE] = {0};
  for (int64_t i = 0; i < luc__min64(j->taps - tap, SIDE); i++)
    memcpy(square + i * SIDE, from + i * CHANNELS * j->block, SIDE * sizeof *square);
  j->gemm->transpose(SIDE, SIDE, square, SIDE, to, SIDE);
}

/* Rows of squares are stored whole, what is too much before what comes there. */
static void turn_piece(const job *j, const piece *p) {
  const int64_t row = j->channels * j->taps, length = p->channels * j->taps;
  float square[SIDE * SIDE];
  for (int64_t filter = 0; filter < p->filters; filter += SIDE)
    for (int64_t at = 0, next; at < length; at = next) {
      const int64_t tap = at % j->taps;
      float *to = j->dweight + (p->filter + filter) * row + p->channel * j->taps + at;
      next = luc__min64(at + SIDE, at - tap + j->taps);
      turn_square(j, p, filter, at / j->taps, tap, square);
      for (int64_t f = 0; f < luc__min64(p->filters - filter, SIDE); f++, to += row) {
        if (length - at >= SIDE)
          memcpy(to, square + f * SIDE, SIDE * sizeof *to);
        else
          memcpy(to, square + f * SIDE, (size_t)(length - at) * sizeof *to);
      }
    }
}

static void multiply(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t row = j->phases * j->pitch;
  for (int64_t i = begin; i < end; i++) {
    const piece p = piece_at(j, i);
    luc_gemm g = {.dtype = LUC_FLOAT32, .batch = 1, .alpha = 1, .a_col = 1, .b_row = j->depth};
    g.m = p.channels, g.n = p.filters;
    g.a_row = row / 2, g.c_row = j->block;
    for (int64_t k = 0; k < j->depth; k += PAIRS)
      for (int64_t tap = 0; tap < j->taps; tap++) {
        g.k = luc__min64(j->depth - k, PAIRS);
        g.beta = j->image > 0 || k > 0;
        g.a = j->planes + p.channel * row + start_of(j, tap) + 2 * k;
        g.b = j->strips + p.filter * j->depth + k * SIDE;
        g.c = p.sums + tap * CHANNELS * j->block;
        j->gemm->strips(&g);
      }
    if (j->image + j->images == j->c->batch) turn_piece(j, &p);
  }
}

/* Pieces of a parallel loop that move so many elements each, or multiply. */
static int64_t grain(int64_t elements) {
  return (1 << 15) / luc__max64(elements, 1) + 1;
}

static void run_group(luc_context *ctx, job *j) {
  const int64_t images = j->images;
  for (j->image = 0; j->image < j->c->batch; j->image += images) {
    j->images = luc__min64(images, j->c->batch - j->image);
    luc__parallel_for(ctx, j->channels, grain(j->phases * j->pitch), copy_channels, j);
    luc__parallel_for(ctx, luc__cuts(j->filters, SIDE), grain(4 * SIDE * j->depth), copy_strips, j);
    luc__parallel_for(ctx, pieces_of(j), grain(j->depth * j->taps * 2), multiply, j);
  }
  j->images = images;
}

luc_status luc__conv_tiles_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                  const void *dy, void *dweight) {
  job j = {.c = c, .x = x, .dy = dy, .dweight = dweight};
  take_sizes(&j);
  j.gemm = kernels_of(ctx, &j);
  const int64_t planes = luc__whole(j.channels, SIDE) * j.phases * j.pitch;
  const int64_t rows = luc__whole(j.filters, SIDE) * 2 * j.depth;
  const int64_t sums = pieces_of(&j) * j.taps * CHANNELS * j.block;
  const size_t bytes = luc__mul_size((size_t)(planes + 2 * rows + 2 * sums), sizeof *j.planes);
  j.sums = luc__alloc(ctx, bytes);
  if (!j.sums) return LUC_ERR_MEMORY;
  j.strips = j.sums + sums;
  j.rows = (uint16_t *)(j.strips + rows / 2);
  j.planes = j.rows + rows;
  for (int64_t i = 0; i < c->groups; i++) {
    run_group(ctx, &j);
    j.x += j.channels * luc__volume(c->in), j.dy += j.filters * j.pixels;
    j.dweight += j.filters * j.channels * j.taps;
  }
  luc__free(ctx, j.sums, bytes);
  return LUC_OK;
}
