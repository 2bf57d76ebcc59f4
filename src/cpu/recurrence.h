/* Recurrent layers (RNN, GRU, LSTM with or without projection): all steps of one layer in one
 * direction, for sequences of one or of different lengths. Rows of the batch never meet, so the
 * work is cut into ranges of them, each of which runs through all steps alone. */
#ifndef LUC_RECURRENCE_H
#define LUC_RECURRENCE_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef enum luc_cell { LUC_CELL_RELU, LUC_CELL_TANH, LUC_CELL_GRU, LUC_CELL_LSTM } luc_cell;

/* Gates of `hidden` elements that a row of the input has, in PyTorch's order. */
static inline int luc__cell_gates(luc_cell cell) {
  return cell == LUC_CELL_LSTM ? 4 : cell == LUC_CELL_GRU ? 3 : 1;
}

/* What the gradient of a row needs beside states, also in units of `hidden`: a GRU's three gates
 * and the state's share of the third before it is reset; an LSTM's four gates. */
static inline int luc__cell_work(luc_cell cell) {
  return cell < LUC_CELL_GRU ? 0 : 4;
}

/* Everything is contiguous. Packed rows: those of step 0, then those of step 1, … */
typedef struct luc_recurrence {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  luc_cell cell;
  bool reverse; /* the last step first */
  int64_t steps, batch, hidden;
  int64_t output;         /* elements of h: hidden, unless projected */
  const int64_t *offsets; /* [steps + 1]: where a step's rows begin; counts of rows never grow */
  const void *gates;      /* [rows, gates * hidden]: the input's share, with its bias */
  bool halves;            /* they are of bfloat16 */
  const void *h, *c;      /* [batch, output], [batch, hidden]: states at first; c of an LSTM */
  const void *w_hh;       /* [gates * hidden, output] */
  bool pairs;             /* w_hh holds pairs of bfloat16 along output, on the way back along gates
                             (an odd one's other is zero), and w_hr is NULL */
  const void *b_hh;       /* [gates * hidden] or NULL; only a GRU's is not in `gates` */
  const void *w_hr;       /* [output, hidden], the projection, or NULL */
  void *y;                /* [rows, output] */
  void *h_n, *c_n;        /* like h and c: states at last; c_n of an LSTM */
  void *work, *cells;     /* [rows, work * hidden], [rows, hidden] (LSTM); NULL: no gradient */
} luc_recurrence;

luc_status luc__recurrence(luc_context *ctx, const luc_recurrence *r);

/* Gradients. dy, dh_n and dc_n may be NULL. h_n and c_n of the recurrence are not read. */
typedef struct luc_recurrence_grads {
  const void *dy, *dh_n, *dc_n;
  void *dgates;      /* [rows, gates * hidden] */
  void *dshare;      /* the same of the state's share of the gates: dgates, but for a GRU */
  void *dh, *dc;     /* of the states at first */
  void *before;      /* [rows, output]: h before each step, which met dshare in w_hh */
  void *dprojected;  /* [rows, output], of h; with w_hr */
  void *unprojected; /* [rows, hidden], which met dprojected in w_hr */
} luc_recurrence_grads;

luc_status luc__recurrence_backward(luc_context *ctx, const luc_recurrence *r,
                                    const luc_recurrence_grads *g);

#endif
