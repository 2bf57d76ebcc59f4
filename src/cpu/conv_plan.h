/* The plan of a convolution's padded buffer: sizes in three dimensions, phases and where each
 * kernel element finds its pixels (conv_kernels.h has the scheme). */
#ifndef LUC_CONV_PLAN_H
#define LUC_CONV_PLAN_H

#include "cpu/conv_kernels.h"

/* The sizes; the band is the whole output. */
void luc__conv_plan_sizes(luc_conv_plan *p, const luc_conv *c);
/* What the windows of `out` outputs cover in dimension d. */
int64_t luc__conv_covered(const luc_conv_plan *p, int d, int64_t out);
/* Bands: of rows, or of columns of a single row, while the buffer leaves the cache or there are few
 * of so many pieces of `work` products each; none lower than so many kernels, or half of that where
 * pieces are few. */
void luc__conv_choose_band(luc_conv_plan *p, int64_t pieces, int64_t work, int64_t kernels);
/* How many there are, and which outputs one has. */
int64_t luc__conv_bands(const luc_conv_plan *p);
void luc__conv_take_band(const luc_conv_plan *p, int64_t band, luc_conv_piece *piece);
/* The buffer that serves a band. */
luc_status luc__conv_plan_buffer(luc_context *ctx, luc_conv_plan *p, const luc_conv *c);
void luc__conv_plan_free(luc_context *ctx, luc_conv_plan *p);

/* Multiplications worth a piece of their own; elements that a buffer should stay below to live in
 * the second-level cache. */
enum { LUC_CONV_PIECE = 1 << 20, LUC_CONV_BUFFER = 1 << 17 };

#endif
