/* What winograd.isa.c offers to winograd.c: the serial pieces of a 3 × 3 convolution of float32 by
 * minimal filtering, F(4 × 4, 3 × 3). Output comes in tiles of 4 × 4; what one needs of the input,
 * 6 × 6, is transformed to 36 points, at each of which the convolution is a matrix product of
 * [tiles, channels] and [channels, filters]. Lanes of vectors are channels, then filters, so that
 * narrow images waste none. */
#ifndef LUC_WINOGRAD_KERNELS_H
#define LUC_WINOGRAD_KERNELS_H

#include "cpu/conv.h"
#include "cpu/gemm_kernels.h"

enum {
  LUC_WINOGRAD_POINTS = 36,
  LUC_WINOGRAD_PACK = 32 /* filters of one product: two vectors, so that eight rows fit too */
};

/* Convolution of [batch, channels, in...] to [batch, filters, out...]. Distances are those from
 * point to point, in elements; they are no powers of two, which would fill few sets of a cache. */
typedef struct luc_winograd_plan {
  const luc_gemm_kernels *gemm;
  int64_t channels, filters;
  int64_t in[2], out[2], padding[2];
  int64_t tiles[2], all_tiles; /* rows and columns of tiles of an image; of the batch */
  int64_t block;               /* tiles of one product */
  int64_t packs;               /* ⌈filters / LUC_WINOGRAD_PACK⌉ */
  int64_t input_row;           /* one tile's channels */
  int64_t input_plane;         /* input of a block: [points][block, input_row] */
  int64_t weight_plane;        /* weights of a pack: [points][channels, PACK] */
  int64_t output_plane;        /* output of a block: [points][block, PACK] */
  bool backward;               /* weight is [channels, filters, 3, 3], to be turned around */
  bool relu;
} luc_winograd_plan;

typedef struct luc_winograd_kernels {
  /* Weights of one pack of filters. Scratch: channels * 9 * PACK elements. */
  void (*weights)(const luc_winograd_plan *w, const float *weight, int64_t pack, float *to,
                  float *scratch);
  /* Tiles [begin, begin + count) of a block. Scratch: luc__winograd_input_scratch elements. */
  void (*input)(const luc_winograd_plan *w, const float *x, int64_t begin, int64_t count, float *to,
                float *scratch);
  /* Those tiles of the output for one pack. Scratch: POINTS * output_plane elements. */
  void (*product)(const luc_winograd_plan *w, const float *input, const float *weights,
                  const float *bias, float *y, int64_t begin, int64_t count, int64_t pack,
                  float *scratch);
} luc_winograd_kernels;

/* Rows of the image that a block needs, each pixel with a vector of channels. */
static inline int64_t luc__winograd_input_scratch(const luc_winograd_plan *w) {
  int64_t rows = 4 * (w->block / w->tiles[1] + 2) + 2;
  return ((rows < w->in[0] ? rows : w->in[0]) * w->in[1] + 16) * 16;
}

extern const luc_winograd_kernels luc__winograd_base, luc__winograd_avx2, luc__winograd_avx512;

#endif
