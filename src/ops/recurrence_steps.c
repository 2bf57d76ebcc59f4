/* A recurrent layer in operators, so that its gradient's gradients are the operators'. Rows of all
 * steps lie one after the other, those of the longest sequence first, so that the rows that take
 * part in a step are the first of the batch. */
#include "ops/recurrence_steps.h"

#include <string.h>

#include "cpu/recurrence.h"
#include "ops/formula.h"

enum { GATES, H, C, W_HH, B_HH, W_HR, CELL, SIZES, REVERSE }; /* arguments of the row */
enum { STATES = 2 };                                          /* h, and c of an LSTM */

/* The steps of one call. */
typedef struct walk {
  luc_context *ctx;
  luc_cell cell;
  luc_tensor *w_hh, *b_hh, *w_hr; /* borrowed */
  const int64_t *sizes;           /* rows of each step */
  int steps, nstates;
  luc_tensor *now[STATES]; /* owned, as are y: the states of the whole batch */
  luc_tensor **y;          /* results of the steps */
} walk;

/* ---- one step ---- */

static luc_tensor *f_linear(luc_formula *f, luc_tensor *x, luc_tensor *weight, luc_tensor *bias) {
  return luc__f_call(f, LUC_OP_linear,
                     LUC_ARGS(luc_v_tensor(x), luc_v_tensor(weight), luc_v_tensor(bias)));
}

/* t in n parts along its last dimension. */
static void f_chunk(luc_formula *f, luc_tensor *t, int n, luc_tensor **parts) {
  luc_value out = luc_v_none();
  memset(parts, 0, (size_t)n * sizeof *parts);
  if (f->status != LUC_OK) return;
  f->status =
      luc_call(f->ctx, LUC_OP_chunk, LUC_ARGS(luc_v_tensor(t), luc_v_int(n), luc_v_int(-1)), &out);
  if (f->status != LUC_OK) return;
  for (int i = 0; i < n; i++) parts[i] = luc__f_own(f, luc_tensor_retain(out.as.tensors[i]));
  luc__value_release(f->ctx, &out);
}

static void f_lstm(luc_formula *f, const walk *w, luc_tensor *gates, luc_tensor *c,
                   luc_tensor **after) {
  luc_tensor *g[4];
  f_chunk(f, gates, 4, g);
  luc_tensor *in =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[0]), luc__f1(f, LUC_OP_tanh, g[2]));
  luc_tensor *kept = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[1]), c);
  after[1] = luc__f2(f, LUC_OP_add, kept, in);
  luc_tensor *h =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[3]), luc__f1(f, LUC_OP_tanh, after[1]));
  after[0] = w->w_hr ? f_linear(f, h, w->w_hr, NULL) : h;
}

static luc_tensor *f_gru(luc_formula *f, luc_tensor *x_gates, luc_tensor *share, luc_tensor *h) {
  luc_tensor *x[3], *g[3];
  f_chunk(f, x_gates, 3, x);
  f_chunk(f, share, 3, g);
  luc_tensor *r = luc__f1(f, LUC_OP_sigmoid, luc__f2(f, LUC_OP_add, x[0], g[0]));
  luc_tensor *z = luc__f1(f, LUC_OP_sigmoid, luc__f2(f, LUC_OP_add, x[1], g[1]));
  luc_tensor *n =
      luc__f1(f, LUC_OP_tanh, luc__f2(f, LUC_OP_add, x[2], luc__f2(f, LUC_OP_mul, r, g[2])));
  return luc__f2(f, LUC_OP_add, n, luc__f2(f, LUC_OP_mul, z, luc__f2(f, LUC_OP_sub, h, n)));
}

/* The states after a step of the rows that are in `before`. */
static void f_cell(luc_formula *f, const walk *w, luc_tensor *x_gates, luc_tensor *const *before,
                   luc_tensor **after) {
  if (w->cell == LUC_CELL_GRU) {
    after[0] = f_gru(f, x_gates, f_linear(f, before[0], w->w_hh, w->b_hh), before[0]);
    return;
  }
  luc_tensor *turned = luc__f_transpose(f, w->w_hh, 0, 1);
  luc_tensor *gates =
      luc__f_call(f, LUC_OP_addmm,
                  LUC_ARGS(luc_v_tensor(x_gates), luc_v_tensor(before[0]), luc_v_tensor(turned)));
  if (w->cell == LUC_CELL_LSTM)
    f_lstm(f, w, gates, before[1], after);
  else
    after[0] = luc__f1(f, w->cell == LUC_CELL_RELU ? LUC_OP_relu : LUC_OP_tanh, gates);
}

/* ---- all steps ---- */

/* Step t: the first n of the batch's rows go on, the others wait: their sequences have ended or,
 * backwards, are to begin. */
static luc_status step(walk *w, int t, luc_tensor *x_gates) {
  luc_formula f = luc__formula(w->ctx);
  const int64_t n = w->sizes[t], all = w->now[0]->sizes[0];
  luc_tensor *before[STATES] = {0}, *after[STATES] = {0}, *made[STATES] = {0};
  for (int s = 0; s < w->nstates; s++)
    before[s] = n < all ? luc__f_narrow(&f, w->now[s], 0, 0, n) : w->now[s];
  f_cell(&f, w, x_gates, before, after);
  luc__f_keep(&f, after[0], &w->y[t]);
  for (int s = 0; s < w->nstates; s++) {
    luc_tensor *now = after[s];
    if (n < all) now = luc__f_cat(&f, now, luc__f_narrow(&f, w->now[s], 0, n, all - n), 0);
    luc__f_keep(&f, now, &made[s]);
  }
  luc_status status = luc__f_end(&f, NULL, NULL);
  for (int s = 0; s < w->nstates; s++) {
    luc_tensor_release(w->ctx, status == LUC_OK ? w->now[s] : made[s]);
    if (status == LUC_OK) w->now[s] = made[s];
  }
  return status;
}

static luc_status run_steps(walk *w, bool reverse, luc_tensor *const *x_gates) {
  for (int k = 0; k < w->steps; k++) {
    const int t = reverse ? w->steps - 1 - k : k;
    LUC_TRY(step(w, t, x_gates[t]));
  }
  return LUC_OK;
}

luc_status luc__recurrence_steps(luc_context *ctx, const luc_value *args, luc_tensor **results) {
  walk w = {.ctx = ctx,
            .cell = (luc_cell)args[CELL].as.i,
            .w_hh = args[W_HH].as.tensor,
            .b_hh = luc_as_tensor(&args[B_HH]),
            .w_hr = luc_as_tensor(&args[W_HR]),
            .sizes = args[SIZES].as.ints,
            .steps = args[SIZES].n};
  const size_t bytes = (size_t)w.steps * sizeof *w.y;
  luc_value parts = luc_v_none();
  luc_status status;
  w.nstates = w.cell == LUC_CELL_LSTM ? 2 : 1;
  for (int s = 0; s < w.nstates; s++) w.now[s] = luc_tensor_retain(args[H + s].as.tensor);
  w.y = luc__alloc_zero(ctx, bytes);
  if (!w.y) LUC_GO(LUC_ERR_MEMORY);
  LUC_GO(
      luc_call(ctx, LUC_OP_split_sizes, LUC_ARGS(args[GATES], args[SIZES], luc_v_int(0)), &parts));
  LUC_GO(run_steps(&w, args[REVERSE].as.i != 0, parts.as.tensors));
  LUC_GO(
      luc__op1(ctx, LUC_OP_cat, &results[0], LUC_ARGS(luc_v_tensors(w.y, w.steps), luc_v_int(0))));
  for (int s = 0; s < w.nstates; s++) {
    results[1 + s] = w.now[s];
    w.now[s] = NULL;
  }
done:
  luc__value_release(ctx, &parts);
  for (int s = 0; s < w.nstates; s++) luc_tensor_release(ctx, w.now[s]);
  for (int i = 0; w.y && i < w.steps; i++) luc_tensor_release(ctx, w.y[i]);
  luc__free(ctx, w.y, bytes);
  return status;
}
