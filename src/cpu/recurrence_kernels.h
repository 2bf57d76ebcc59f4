/* What recurrence.isa.c offers to recurrence.c: the elementwise part of one step for n hidden units
 * of one row. Gates of a row are `pitch` elements apart. */
#ifndef LUC_RECURRENCE_KERNELS_H
#define LUC_RECURRENCE_KERNELS_H

#include "cpu/recurrence.h"

typedef struct luc_recurrence_kernels {
  /* x: the input's share of the gates, of bfloat16 if `halves`; share: the state's. h becomes the
   * next state, c too; an LSTM's share becomes its gates, a GRU's its gates and the third's share
   * (four). */
  void (*rnn)(int64_t n, int64_t pitch, bool relu, bool halves, const void *x, const void *share,
              void *h);
  void (*gru)(int64_t n, int64_t pitch, bool halves, const void *x, void *share, void *h);
  void (*lstm)(int64_t n, int64_t pitch, bool halves, const void *x, void *share, void *c, void *h);
  /* dh: the gradient of a step's h; a GRU's becomes what goes to h before it beside dshare. work:
   * what the share became. */
  void (*rnn_backward)(int64_t n, int64_t pitch, bool relu, const void *y, const void *dh,
                       void *dgates);
  void (*gru_backward)(int64_t n, int64_t pitch, const void *work, const void *before, void *dh,
                       void *dgates, void *dshare);
  /* dm: the gradient of the output before a projection. dc: of c, becomes that of c before; m is
   * the unprojected output, unless NULL. */
  void (*lstm_backward)(int64_t n, int64_t pitch, const void *work, const void *c_before,
                        const void *c, const void *dm, void *dc, void *dgates, void *m);
  /* to += from */
  void (*add)(int64_t n, const void *from, void *to);
} luc_recurrence_kernels;

/* ORDER DTYPE: float32, float64. */
extern const luc_recurrence_kernels luc__recurrence_base[2], luc__recurrence_avx2[2],
    luc__recurrence_avx512[2];

#endif
