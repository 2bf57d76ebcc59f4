/* What winograd.isa.c offers to winograd.c: the serial pieces of a convolution of float32 by
 * minimal filtering. An image comes in tiles, of which one and its margin, 6 × 6 pixels, are
 * transformed to 36 points. There a convolution is a matrix product of [tiles, channels] and
 * [channels, filters], and its weights' gradient one of [filters, tiles] and [tiles, channels].
 * Kernels of n × n go with tiles of 7 - n, from 2 to 5; where a kernel has one row or one column
 * (or there are no rows) the margin is in the other dimension alone, and there are 6 points.
 *
 * All else comes down to that. A stride splits an image into phases, each with the taps that meet
 * it; a larger kernel is cut into parts of n taps: parts are so many more channels, as the taps of
 * a third dimension are. On the way back a stride splits the outputs instead: what is a stride
 * apart meets the same taps, so classes of weights make so many more filters. Outputs a dilation
 * apart are a class with tiles of its own. Lanes of vectors are channels, then filters, so that
 * narrow images waste none. */
#ifndef LUC_WINOGRAD_KERNELS_H
#define LUC_WINOGRAD_KERNELS_H

#include "cpu/conv.h"
#include "cpu/gemm_kernels.h"

enum {
  LUC_WINOGRAD_SIDE = 6,    /* of a tile and its margin */
  LUC_WINOGRAD_GATHER = 16, /* channels of a pack's weights gathered at a time */
  LUC_WINOGRAD_PARTS = 16,  /* parts, times classes, of one dimension, at most */
  LUC_WINOGRAD_RUN = 64     /* columns of pixels that are turned at a time */
};

/* Images [batch, all channels, depth, rows, columns], cut into tiles and transformed. Of plane z of
 * the tiles, tap t sees plane (z * plane_step + t * tap_step + first) / divisor, if that is one.
 * Rows (and columns): pixel i of a tile that begins at u is step * (u + i) + origin, and its class
 * on. */
typedef struct luc_winograd_images {
  int64_t image, channel; /* distances from image to image and from channel to channel */
  int64_t size[3];        /* of one channel */
  int64_t taps;           /* of the depth; each gives its channels */
  int64_t plane_step, tap_step, first, divisor;
  int64_t parts[2]; /* of rows and columns; each gives its channels */
  int64_t origin[2][LUC_WINOGRAD_PARTS], step[2];
  int side[2];         /* rows and columns that a tile takes: 6 or 1, or its own */
  int64_t row, points; /* transformed: one tile's channels; distance from point to point */
} luc_winograd_images;

/* One group of a convolution of [batch, channels, in...] to [batch, filters, out...]. Distances
 * from point to point are no powers of two, which would fill few sets of a cache. */
typedef struct luc_winograd_plan {
  const luc_gemm_kernels *gemm;
  int64_t channels, filters; /* of the group */
  int64_t all_channels, all_filters, groups;
  int kernel[2], tile[2], points; /* rows and columns: a part's taps, a tile's outputs */
  int64_t k;                      /* channels * taps of the depth * parts */
  int64_t size[2], depth;         /* of the kernel; of its depth, taps depth_first + ... */
  int64_t depth_first, depth_step;
  /* Tap i of a part and class of weights is first + i * tap_step, if there is one. */
  int64_t weight_classes[2], tap[2][LUC_WINOGRAD_PARTS], tap_step[2];
  /* Outputs of one tile are so far apart, and first of them before the image's. */
  int64_t out[3], classes[2], out_step[2], out_first[2];
  int64_t plane_first, plane_apart; /* of the outputs' planes */
  int64_t tiles[3], all_tiles; /* planes, lines and tiles of a line, of all classes; of the batch */
  int64_t block, some;         /* tiles of one product; channels: all unless there is one part */
  int64_t pack;                /* filters of one product */
  int64_t pack_filters, packs; /* a pack has those of all classes of columns */
  luc_winograd_images input;
  luc_winograd_images gradient; /* of the output, for that of the weights */
  int64_t weight_points;        /* weights of a pack: [points][parts, some, pack] */
  int64_t output_points;        /* output of a block: [points][block, pack] */
  int64_t sum_row, sum_points;  /* of the weights' gradient: [points][filters, k] of some */
  bool backward;                /* weight is [channels, filters, ...] */
  bool relu;
} luc_winograd_plan;

/* Pointers are those of a group's first channel or filter. */
typedef struct luc_winograd_kernels {
  int64_t pack; /* filters of a product that suit it */
  /* Weights of one pack of filters for w->some channels or what there are from `channel` on.
   * Scratch: luc__winograd_gather elements. */
  void (*weights)(const luc_winograd_plan *w, const float *weight, int64_t pack, int64_t channel,
                  float *to, float *scratch);
  /* Tiles [begin, begin + count) of so many channels. Scratch: luc__winograd_pixels elements. */
  void (*transform)(const luc_winograd_plan *w, const luc_winograd_images *s, const float *x,
                    int64_t channels, int64_t begin, int64_t count, float *to, float *scratch);
  /* Those tiles of the output for one pack, by those channels, after the last of which they are
   * complete. Scratch: POINTS * output_points elements. */
  void (*product)(const luc_winograd_plan *w, const float *input, const float *weights,
                  const float *bias, float *y, int64_t begin, int64_t count, int64_t pack,
                  int64_t channel, float *scratch);
  /* sums [points][filters, taps * parts * channels] += (or =) those of `tiles` tiles. */
  void (*add)(const luc_winograd_plan *w, const float *gradient, const float *input, int64_t tiles,
              int64_t filters, int64_t channels, bool first, float *sums);
  /* The gradient of some filters' and channels' weights from those sums. */
  void (*finish)(const luc_winograd_plan *w, const float *sums, int64_t filters, int64_t channels,
                 float *dweight);
} luc_winograd_kernels;

/* Weights of one channel and filter. */
static inline int64_t luc__winograd_taps(const luc_winograd_plan *w) {
  return w->depth * w->size[0] * w->size[1];
}

/* How many times the channels there are. */
static inline int64_t luc__winograd_parts(const luc_winograd_images *s) {
  return s->taps * s->parts[0] * s->parts[1];
}

/* Channels of a pack, and what whole squares write beyond them. */
static inline int64_t luc__winograd_gather(const luc_winograd_plan *w) {
  return (LUC_WINOGRAD_GATHER * luc__winograd_taps(w) + 16) * w->pack;
}

/* Rows of the images that a block needs, each pixel with a vector of channels. */
static inline int64_t luc__winograd_pixels(const luc_winograd_plan *w,
                                           const luc_winograd_images *s) {
  const int64_t lines = (w->block / w->tiles[2] + 1) / w->classes[0] + 2;
  const int64_t reach = s->origin[0][s->parts[0] - 1] - s->origin[0][0] + w->classes[0];
  const int64_t rows = s->step[0] * ((lines - 1) * w->tile[0] + s->side[0] - 1) + reach;
  return ((rows < s->size[1] ? rows : s->size[1]) * s->size[2] + 16) * 16;
}

extern const luc_winograd_kernels luc__winograd_base, luc__winograd_avx2, luc__winograd_avx512;

#endif
