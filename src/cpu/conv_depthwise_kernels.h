/* What conv.isa.c offers to conv_depthwise.c: the serial pieces of a depthwise convolution, a band
 * of a vector's worth of planes. What it reads is turned into a padded buffer of pixels, each a
 * vector of planes. Outputs that meet the same taps are a part: all of a forward convolution; of an
 * input gradient those a stride apart. */
#ifndef LUC_CONV_DEPTHWISE_KERNELS_H
#define LUC_CONV_DEPTHWISE_KERNELS_H

#include "cpu/conv.h"
#include "cpu/gemm_kernels.h"

/* Taps beside each other, the first `tap`, then tap + tap_step, ...: from one to the next the pixel
 * met is one output further. */
typedef struct luc_depthwise_column {
  int64_t tap, height, from; /* from: the pixel of the buffer that the first one meets */
} luc_depthwise_column;

/* Taps of a column at most: there is code for each. */
enum { LUC_DEPTHWISE_HEIGHT = 4 };

typedef struct luc_depthwise_part {
  int64_t first[3]; /* output */
  const luc_depthwise_column *columns;
  int64_t num_columns;
} luc_depthwise_part;

/* Always in three dimensions. Sizes of a buffer count pixels. */
typedef struct luc_depthwise_plan {
  const luc_gemm_kernels *gemm;
  int64_t channels, taps;
  int64_t in[3], out[3], in_pixels, pixels; /* of what is read and what is computed */
  int64_t in_step[3], out_step[3];          /* between outputs of a part: in the buffer, in y */
  int64_t low[3];                           /* where in what is read the buffer begins */
  int64_t band[2];                          /* rows and columns of the output at a time */
  int64_t size[3], buffer;                  /* of the buffer that these need */
  int64_t tap_step;
  const luc_depthwise_part *parts;
  int64_t num_parts;
  bool relu;
} luc_depthwise_plan;

/* A band: pointers are those of its first plane. */
typedef struct luc_depthwise_piece {
  const void *x, *dy;
  const void *weight, *bias; /* to be turned, or the weights turned */
  void *y;                   /* output or [planes, taps] */
  int64_t planes;            /* no more than lanes */
  int64_t first[2], size[2]; /* rows and columns of the output, from multiples of out_step on */
} luc_depthwise_piece;

/* Elements of scratch: the sums of all taps; the buffer; the output. */
static inline int64_t luc__depthwise_scratch(const luc_depthwise_plan *p, int64_t lanes) {
  return (p->taps + p->buffer + p->out[0] * p->band[0] * p->band[1]) * lanes;
}

#endif
