/* What conv.isa.c offers to conv.c: the serial pieces of a convolution of one image and group.
 * The image is copied once into a padded buffer, its rows and columns split by stride into phases:
 * pixels that one kernel element meets along an output row are adjacent, output rows are one pitch
 * apart, and what a kernel element adds to a pixel's position is one offset. The buffer itself is
 * the B of a matrix product and what falls between the rows is dropped. Where that would be much,
 * filters are in the lanes of vectors: the weight's gradient (conv_weight.inc) lists the positions
 * of outputs, so that rows need not be split, others read the image as it lies (conv_filters.c). */
#ifndef LUC_CONV_KERNELS_H
#define LUC_CONV_KERNELS_H

#include "cpu/conv.h"
#include "cpu/conv_depthwise_kernels.h"
#include "cpu/gemm_kernels.h"

/* Of an input's gradient: see conv_parts.h. */
enum { LUC_CONV_PARTS = 8 };
typedef struct luc_conv_part {
  int64_t k;                /* filters * taps */
  const int64_t *offsets;   /* [k], as those of a plan */
  const void *weight;       /* [channels of all groups, k] */
  int64_t first[3], out[3]; /* inputs: the first, and how many, a step apart */
} luc_conv_part;

/* One group of a convolution, always in three dimensions, and its padded buffer. */
typedef struct luc_conv_plan {
  const luc_gemm_kernels *gemm;
  int64_t channels, filters; /* of the group */
  int64_t taps;              /* kernel elements of one channel */
  int64_t k;                 /* channels * taps */
  int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
  int64_t in_pixels, pixels; /* of one channel */
  bool relu;
  /* the padded buffer [channels, depth, phases of rows, phases of columns, phase_size] */
  int64_t band[2];            /* output rows and columns it serves at a time */
  int64_t depth, rows, width; /* what their windows cover */
  int64_t split[3];           /* into phases: strides, or 1 where positions are listed */
  int64_t phases[3];          /* how many are stored, and ... */
  const int64_t *residues[3]; /* ... which: rows and columns modulo the stride */
  int64_t phase_rows, length; /* rows of a phase, each of so many elements, ... */
  int64_t pitch;              /* ... and so far apart: less where zeros are shared */
  int64_t phase_size, depth_size, plane;
  int64_t *tables;
  size_t tables_size;
  const int64_t *offsets; /* [k]: from a pixel's position to the element it meets */
  int64_t panel;          /* pixels, or positions, at a time */
  bool by_rows;           /* forward: each output row is a product */
  bool patches;           /* columns: rows of the image are turned as they lie */
  int64_t block, units;   /* weight: channels in the buffer, planes multiplied at a time, ... */
  int64_t images;         /* ... and images, at most */
  /* parts: how many along each dimension, the gradient's size and stride */
  int64_t sides[3];
  const int64_t *image, *step;
  const luc_conv_part *parts;
  bool lanes;     /* weight: filters are, little is split, and ... */
  int64_t places; /* ... outputs passed at a time */
} luc_conv_plan;

/* One piece: pointers are those of its image, group and first filter or channel. */
typedef struct luc_conv_piece {
  const void *x, *weight, *bias, *dy;
  void *y;                                    /* output, input gradient or weight sums */
  int64_t first[2], size[2];                  /* forward, weight: output rows and columns */
  int64_t count;                              /* forward: filters; gradients: channels */
  int64_t weight_row;                         /* distance of rows of the matrix */
  bool accumulate, last;                      /* weight: of a stretch, not the first, the last */
  int64_t images, x_image, y_image, dy_image; /* how many, and how far apart */
  int64_t filters;                            /* weight; parts: the first channel of all groups */
} luc_conv_piece;

/* Filters in the lanes (conv_filters.c). A tap of a class: how far it is from the first in the
 * image, and which of a channel's weights it is. */
typedef struct luc_conv_tap {
  int64_t at, weight;
} luc_conv_tap;
/* Outputs that meet the same taps: the first, how far the next and how many, where the first meets
 * its first tap and how far from there the next does. */
typedef struct luc_conv_class {
  int64_t first[3], step[3], out[3];
  int64_t from, apart[3];
  const luc_conv_tap *taps;
  int64_t count; /* of taps */
} luc_conv_class;
/* One group, of images of x to images of y. */
typedef struct luc_conv_lanes {
  const luc_gemm_kernels *gemm;
  int64_t channels, filters, taps;
  int64_t plane, outputs;          /* pixels of a channel, outputs of a filter ... */
  int64_t rows, columns;           /* ... by rows and columns */
  int64_t x_image, y_image, panel; /* elements of an image; outputs at a time */
  const luc_conv_class *classes;
  int64_t count;       /* of classes */
  bool relu, backward; /* backward: the weight is [channels, filters, taps] */
  bool packs;          /* a piece, the only one for its filters, packs their weights */
} luc_conv_lanes;
/* The outputs [begin, end) of all images, for some filters; x and weight are the group's. */
typedef struct luc_conv_lanes_piece {
  int64_t begin, end, filter, filters;
  const void *x, *weight, *bias;
  void *y;
} luc_conv_lanes_piece;

typedef struct luc_conv_kernels {
  /* A group's weights of n filters for later pieces, in whole vectors, two at most. */
  void (*pack_filters)(const luc_conv_lanes *c, const void *group, int64_t first, int64_t n,
                       void *to);
  void (*filters)(const luc_conv_lanes *c, const luc_conv_lanes_piece *p, void *scratch);
  void (*forward)(const luc_conv_plan *c, const luc_conv_piece *p, void *scratch);
  /* The weights of `count` taps of some channels: [filters, k] to [channels, filters, count]. */
  void (*turn)(const luc_conv_plan *c, const int64_t *taps, int64_t count, int64_t channels,
               const void *from, void *to);
  /* The parts of some channels. */
  void (*parts)(const luc_conv_plan *c, const luc_conv_piece *p, void *scratch);
  /* y [filters, k]. */
  void (*backward_weight)(const luc_conv_plan *c, const luc_conv_piece *p, void *scratch);
  /* conv_product.inc */
  void (*columns)(const luc_conv_plan *c, const luc_conv_piece *p, void *scratch);
  void (*add_columns)(const luc_conv_plan *c, const luc_conv_piece *p, void *scratch);
  /* conv_depthwise_kernels.h: weights of some channels for later pieces; those. Sums of the
   * weight's gradient stay in scratch from the first band of a cut to the last, which has a y. */
  void (*depthwise_turn)(const luc_depthwise_plan *p, const luc_depthwise_piece *e, void *to);
  void (*depthwise)(const luc_depthwise_plan *p, const luc_depthwise_piece *e, void *scratch);
  void (*depthwise_weight)(const luc_depthwise_plan *p, const luc_depthwise_piece *e, bool first,
                           void *scratch);
  /* The sum of n elements. */
  double (*sum)(const void *x, int64_t n);
  int64_t lanes;
} luc_conv_kernels;

/* Places that the sums of a weight gradient pass at a time. */
enum { LUC_CONV_PLACES = 128 };

/* Slack behind buffers that are read or written in whole vectors, in elements. */
enum { LUC_CONV_SLACK = 32 };

/* The position in the buffer of an output plane's first, counted from the buffer's first. */
static inline int64_t luc__conv_position(const luc_conv_plan *c, int64_t z) {
  return z * c->stride[0] * c->depth_size;
}

/* Bytes of a piece's tables, before the elements of its scratch, which stay where they are though
 * the last images may be fewer. */
static inline int64_t luc__conv_tables(const luc_conv_plan *c) {
  int64_t count = c->images * c->out[0] * 2 + c->phases[2] * 3 + c->places;
  return (count * (int64_t)sizeof(int64_t) + 63) / 64 * 64;
}

extern const luc_conv_kernels luc__conv_base[2], luc__conv_avx2[2], luc__conv_avx512[2];

#endif
