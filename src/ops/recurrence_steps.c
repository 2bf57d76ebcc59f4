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
  luc_tensor *w_hh, *b_hh, *w_hr; /* borrowed, as is first: the states of the whole batch */
  luc_tensor *first[STATES];
  const int64_t *sizes; /* rows of each step */
  int steps, nstates;
  int64_t rows;               /* in work */
  luc_tensor *now[STATES];    /* owned, as all that follows: their states */
  luc_tensor **ended[STATES]; /* of sequences that have ended, the shortest first */
  int nended;
  luc_tensor **y; /* results of the steps */
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

static luc_tensor *f_lstm(luc_formula *f, const walk *w, luc_tensor *gates, luc_tensor **next) {
  luc_tensor *g[4];
  f_chunk(f, gates, 4, g);
  luc_tensor *in =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[0]), luc__f1(f, LUC_OP_tanh, g[2]));
  luc_tensor *kept = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[1]), w->now[1]);
  next[1] = luc__f2(f, LUC_OP_add, kept, in);
  luc_tensor *h =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[3]), luc__f1(f, LUC_OP_tanh, next[1]));
  return w->w_hr ? f_linear(f, h, w->w_hr, NULL) : h;
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

/* The input's share of the gates and the states now make the states after it. */
static luc_status step(walk *w, luc_tensor *x_gates) {
  luc_formula f = luc__formula(w->ctx);
  luc_tensor *next[STATES] = {0}, *made[STATES] = {0};
  if (w->cell == LUC_CELL_GRU) {
    next[0] = f_gru(&f, x_gates, f_linear(&f, w->now[0], w->w_hh, w->b_hh), w->now[0]);
  } else {
    luc_tensor *turned = luc__f_transpose(&f, w->w_hh, 0, 1);
    luc_tensor *gates =
        luc__f_call(&f, LUC_OP_addmm,
                    LUC_ARGS(luc_v_tensor(x_gates), luc_v_tensor(w->now[0]), luc_v_tensor(turned)));
    luc_opid act = w->cell == LUC_CELL_RELU ? LUC_OP_relu : LUC_OP_tanh;
    next[0] = w->cell == LUC_CELL_LSTM ? f_lstm(&f, w, gates, next) : luc__f1(&f, act, gates);
  }
  for (int s = 0; s < w->nstates; s++) luc__f_keep(&f, next[s], &made[s]);
  luc_status status = luc__f_end(&f, NULL, NULL);
  for (int s = 0; s < w->nstates; s++) {
    luc_tensor_release(w->ctx, status == LUC_OK ? w->now[s] : made[s]);
    if (status == LUC_OK) w->now[s] = made[s];
  }
  return status;
}

/* ---- sequences of different lengths ---- */

static luc_status rows(luc_context *ctx, luc_tensor *t, int64_t start, int64_t n,
                       luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_narrow, out,
                  LUC_ARGS(luc_v_tensor(t), luc_v_int(0), luc_v_int(start), luc_v_int(n)));
}

static luc_status join(luc_context *ctx, luc_tensor **list, int n, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_cat, out, LUC_ARGS(luc_v_tensors(list, n), luc_v_int(0)));
}

/* Sequences end (or, backwards, begin) before step t. */
static luc_status fit_rows(walk *w, int t) {
  int64_t n = w->sizes[t], before = w->rows;
  if (n == before) return LUC_OK;
  w->rows = n;
  for (int s = 0; s < w->nstates; s++) {
    luc_tensor *part, *next, *both[2];
    if (n < before) {
      LUC_TRY(rows(w->ctx, w->now[s], n, before - n, &w->ended[s][w->nended]));
      LUC_TRY(rows(w->ctx, w->now[s], 0, n, &next));
    } else {
      LUC_TRY(rows(w->ctx, w->first[s], before, n - before, &part));
      both[0] = w->now[s];
      both[1] = part;
      luc_status status = join(w->ctx, both, 2, &next);
      luc_tensor_release(w->ctx, part);
      LUC_TRY(status);
    }
    luc_tensor_release(w->ctx, w->now[s]);
    w->now[s] = next;
  }
  if (n < before) w->nended++;
  return LUC_OK;
}

/* The states of all sequences, the longest first. */
static luc_status gather_ended(walk *w) {
  for (int s = 0; s < w->nstates && w->nended > 0; s++) {
    luc_tensor **list = w->ended[s], *all;
    int n = w->nended;
    list[n] = w->now[s];
    for (int i = 0; i < (n + 1) / 2; i++) {
      luc_tensor *swap = list[i];
      list[i] = list[n - i];
      list[n - i] = swap;
    }
    luc_status status = join(w->ctx, list, n + 1, &all);
    w->now[s] = list[0];
    list[0] = list[n];
    list[n] = NULL;
    LUC_TRY(status);
    luc_tensor_release(w->ctx, w->now[s]);
    w->now[s] = all;
  }
  return LUC_OK;
}

/* ---- all steps ---- */

static luc_status run_steps(walk *w, bool reverse, luc_tensor *const *x_gates) {
  w->rows = w->sizes[reverse ? w->steps - 1 : 0];
  for (int s = 0; s < w->nstates; s++) LUC_TRY(rows(w->ctx, w->first[s], 0, w->rows, &w->now[s]));
  for (int k = 0; k < w->steps; k++) {
    int t = reverse ? w->steps - 1 - k : k;
    LUC_TRY(fit_rows(w, t));
    LUC_TRY(step(w, x_gates[t]));
    w->y[t] = luc_tensor_retain(w->now[0]);
  }
  return reverse ? LUC_OK : gather_ended(w);
}

static void free_list(luc_context *ctx, luc_tensor **list, int n) {
  for (int i = 0; list && i < n; i++) luc_tensor_release(ctx, list[i]);
  luc__free(ctx, list, (size_t)n * sizeof *list);
}

static luc_status make_lists(walk *w) {
  const size_t bytes = (size_t)w->steps * sizeof *w->y;
  for (int s = 0; s < w->nstates; s++)
    if (!(w->ended[s] = luc__alloc_zero(w->ctx, bytes))) return LUC_ERR_MEMORY;
  w->y = luc__alloc_zero(w->ctx, bytes);
  return w->y ? LUC_OK : LUC_ERR_MEMORY;
}

luc_status luc__recurrence_steps(luc_context *ctx, const luc_value *args, luc_tensor **results) {
  walk w = {.ctx = ctx,
            .cell = (luc_cell)args[CELL].as.i,
            .w_hh = args[W_HH].as.tensor,
            .b_hh = luc_as_tensor(&args[B_HH]),
            .w_hr = luc_as_tensor(&args[W_HR]),
            .first = {args[H].as.tensor, luc_as_tensor(&args[C])},
            .sizes = args[SIZES].as.ints,
            .steps = args[SIZES].n};
  w.nstates = w.cell == LUC_CELL_LSTM ? 2 : 1;
  luc_value parts = luc_v_none();
  luc_status status;
  LUC_GO(make_lists(&w));
  LUC_GO(
      luc_call(ctx, LUC_OP_split_sizes, LUC_ARGS(args[GATES], args[SIZES], luc_v_int(0)), &parts));
  LUC_GO(run_steps(&w, args[REVERSE].as.i != 0, parts.as.tensors));
  LUC_GO(join(ctx, w.y, w.steps, &results[0]));
  for (int s = 0; s < w.nstates; s++) {
    results[1 + s] = w.now[s];
    w.now[s] = NULL;
  }
done:
  luc__value_release(ctx, &parts);
  for (int s = 0; s < w.nstates; s++) {
    luc_tensor_release(ctx, w.now[s]);
    free_list(ctx, w.ended[s], w.steps);
  }
  free_list(ctx, w.y, w.steps);
  return status;
}
