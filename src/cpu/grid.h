/* Sampling images at places that a grid gives. */
#ifndef LUC_GRID_H
#define LUC_GRID_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef enum luc_grid_mode { LUC_GRID_LINEAR, LUC_GRID_NEAREST, LUC_GRID_CUBIC } luc_grid_mode;
typedef enum luc_grid_padding {
  LUC_GRID_ZEROS,
  LUC_GRID_BORDER,
  LUC_GRID_REFLECTION
} luc_grid_padding;

/* In float32, whose vectors count with 32 bits, an image has fewer elements than this. */
enum { LUC_GRID_MOST = 1 << 30 };

typedef struct luc_grid {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  luc_grid_mode mode;
  luc_grid_padding padding;
  bool align_corners;
  int dims;     /* 2 or 3 */
  int order[3]; /* along x, y, z: which derivative of the taps' weights they are summed by */
  int64_t batch, channels, points;
  int64_t size[3];  /* of the image; unused leading ones are 1 */
  const void *x;    /* [batch, channels, size] */
  const void *grid; /* [batch, points, dims]: x, y, z in [-1, 1] */
} luc_grid;

/* y [batch, channels, points] */
luc_status luc__grid_sample(luc_context *ctx, const luc_grid *g, void *y);
/* dx and dgrid, wholly written; one of them may be NULL. */
luc_status luc__grid_sample_backward(luc_context *ctx, const luc_grid *g, const void *dy, void *dx,
                                     void *dgrid);

#endif
