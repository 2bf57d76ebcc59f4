/* Recurrent layers: one layer in one direction through all steps of a batch, whose sequences may
 * have different lengths. The kernel goes through the steps by itself; a gradient that is itself
 * recorded goes through them in operators (recurrence_steps.c). */
#include "cpu/recurrence.h"

#include <string.h>

#include "cpu/gemm.h"
#include "lucerna/autograd.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/pairs.h"
#include "ops/recurrence_steps.h"
#include "ops/rows.h"

static const char *name_of(luc_cell cell) {
  return cell == LUC_CELL_LSTM ? "lstm" : cell == LUC_CELL_GRU ? "gru" : "rnn";
}

/* ---- what both directions share ---- */

/* The kernel's view of a call; tensors that it holds are dense and owned. */
typedef struct held {
  luc_recurrence r;
  luc_tensor *gates, *h, *c, *w_hh, *b_hh, *w_hr;
  int64_t *offsets;
  size_t offsets_bytes;
} held;

/* Where the rows of each step begin. */
static luc_status take_sizes(luc_context *ctx, held *k, const luc_value *sizes) {
  k->offsets_bytes = (size_t)(sizes->n + 1) * sizeof *k->offsets;
  k->offsets = luc__alloc(ctx, k->offsets_bytes);
  if (!k->offsets) return LUC_ERR_MEMORY;
  k->offsets[0] = 0;
  for (int i = 0; i < sizes->n; i++) k->offsets[i + 1] = k->offsets[i] + sizes->as.ints[i];
  k->r.offsets = k->offsets;
  k->r.steps = sizes->n;
  k->r.batch = sizes->n > 0 ? sizes->as.ints[0] : 0;
  return LUC_OK;
}

static void let_go(luc_context *ctx, held *k) {
  luc_tensor *all[] = {k->gates, k->h, k->c, k->w_hh, k->b_hh, k->w_hr};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) luc_tensor_release(ctx, all[i]);
  luc__free(ctx, k->offsets, k->offsets_bytes);
}

/* w_hh as the kernel takes it, of bfloat16 by pairs along dim. */
static luc_status take_weight(luc_context *ctx, held *k, luc_dtype compute, luc_tensor *w_hh,
                              bool projected, int dim) {
  const int64_t output = w_hh->sizes[1];
  luc_recurrence *r = &k->r;
  r->pairs = w_hh->dtype == LUC_BFLOAT16 && !projected &&
             output >= 2 * luc__gemm_least_pairs(ctx) && luc__gemm_has_fast_pairs(ctx);
  if (!r->pairs) return luc__dense(ctx, w_hh, compute, &k->w_hh);
  luc_tensor *dense;
  LUC_TRY(luc__dense(ctx, w_hh, w_hh->dtype, &dense));
  luc_status status = luc__pairs_of(ctx, dense, dim, &k->w_hh);
  luc_tensor_release(ctx, dense);
  return status;
}

/* h, c, w_hh and w_hr as the kernel takes them. */
static luc_status take_states(luc_context *ctx, held *k, luc_dtype compute, const luc_value *h,
                              const luc_value *c, const luc_value *w_hh, const luc_value *w_hr,
                              int dim) {
  LUC_TRY(luc__dense(ctx, h->as.tensor, compute, &k->h));
  LUC_TRY(luc__dense(ctx, luc_as_tensor(c), compute, &k->c));
  LUC_TRY(take_weight(ctx, k, compute, w_hh->as.tensor, !luc_is_none(w_hr), dim));
  LUC_TRY(luc__dense(ctx, luc_as_tensor(w_hr), compute, &k->w_hr));
  k->r.dtype = compute;
  k->r.h = k->h->data;
  k->r.c = luc__data(k->c);
  k->r.w_hh = k->w_hh->data;
  k->r.w_hr = luc__data(k->w_hr);
  k->r.output = k->h->sizes[1];
  return LUC_OK;
}

static luc_status matrix(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t columns,
                         luc_tensor **out) {
  int64_t sizes[2] = {rows, columns};
  return luc__tensor_empty(ctx, dtype, 2, sizes, out);
}

/* ---- forward ---- */

enum { GATES, H, C, W_HH, B_HH, W_HR, CELL, SIZES, REVERSE, KEEP };
enum { Y, H_N, C_N, WORK, CELLS, RESULTS };

static luc_status need_matrix(luc_context *ctx, const char *name, const luc_value *v,
                              luc_dtype dtype, int64_t rows, int64_t columns) {
  const luc_tensor *t = luc_as_tensor(v);
  if (!t) return LUC_OK;
  LUC_CHECK(ctx, t->dtype == dtype, LUC_ERR_TYPE, "expected %s of type %s, got %s", name,
            luc__dtype_name(dtype), luc__dtype_name(t->dtype));
  int64_t have = t->ndim > 0 ? t->sizes[0] : 0, wide = t->ndim > 1 ? t->sizes[1] : 0;
  if (t->ndim == (columns > 0 ? 2 : 1) && have == rows && wide == columns) return LUC_OK;
  char given[LUC_SHAPE_TEXT], expected[LUC_SHAPE_TEXT];
  luc__shape_text(given, t->ndim, t->sizes);
  luc__shape_text(expected, columns > 0 ? 2 : 1, (int64_t[]){rows, columns});
  return luc__fail(ctx, LUC_ERR_SHAPE, "expected %s of shape %s, got %s", name, expected, given);
}

/* Weights can have been replaced by others than the layer made. */
static luc_status check(luc_context *ctx, const luc_value *args, luc_cell cell, int64_t hidden) {
  const luc_tensor *gates = args[GATES].as.tensor, *h = args[H].as.tensor;
  const luc_dtype dtype = gates->dtype;
  if (!luc__dtype_is_complex(dtype)) LUC_TRY(luc__need_float(ctx, "input", gates));
  int64_t all = hidden * luc__cell_gates(cell), batch = args[SIZES].n ? args[SIZES].as.ints[0] : 0;
  int64_t output = luc_is_none(&args[W_HR]) ? hidden : h->sizes[h->ndim - 1];
  LUC_CHECK(ctx, gates->ndim == 2 && gates->sizes[1] == all, LUC_ERR_SHAPE,
            "weight_ih must have %d rows for every hidden unit", luc__cell_gates(cell));
  LUC_TRY(need_matrix(ctx, "hidden", &args[H], dtype, batch, output));
  LUC_TRY(need_matrix(ctx, "cell", &args[C], dtype, batch, hidden));
  LUC_TRY(need_matrix(ctx, "weight_hh", &args[W_HH], dtype, all, output));
  LUC_TRY(need_matrix(ctx, "bias_hh", &args[B_HH], dtype, all, 0));
  return need_matrix(ctx, "weight_hr", &args[W_HR], dtype, output, hidden);
}

/* New tensors for the results; for the gradient's only if one is to be kept. */
static luc_status make_results(luc_context *ctx, held *k, bool keep, luc_tensor **t) {
  luc_recurrence *r = &k->r;
  const int64_t rows = r->offsets[r->steps], work = luc__cell_work(r->cell) * r->hidden;
  const bool lstm = r->cell == LUC_CELL_LSTM;
  LUC_TRY(matrix(ctx, r->dtype, rows, r->output, &t[Y]));
  LUC_TRY(matrix(ctx, r->dtype, r->batch, r->output, &t[H_N]));
  if (lstm) LUC_TRY(matrix(ctx, r->dtype, r->batch, r->hidden, &t[C_N]));
  if (keep && work) LUC_TRY(matrix(ctx, r->dtype, rows, work, &t[WORK]));
  if (keep && lstm) LUC_TRY(matrix(ctx, r->dtype, rows, r->hidden, &t[CELLS]));
  r->y = t[Y]->data;
  r->h_n = t[H_N]->data;
  r->c_n = luc__data(t[C_N]);
  r->work = luc__data(t[WORK]);
  r->cells = luc__data(t[CELLS]);
  return LUC_OK;
}

/* There is no kernel for complex numbers. */
static luc_status run_steps(luc_context *ctx, const luc_value *args, luc_value *out) {
  luc_tensor *made[3] = {0};
  LUC_TRY(luc__recurrence_steps(ctx, args, made));
  for (int i = 0; i < 3; i++)
    if (made[i]) out[i] = luc_v_tensor(made[i]);
  return LUC_OK;
}

/* recurrence(gates, h, c, w_hh, b_hh, w_hr, cell, batch_sizes, reverse, keep) */
luc_status luc__run_recurrence(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t[RESULTS] = {0}, *gates = args[GATES].as.tensor;
  luc_cell cell = (luc_cell)args[CELL].as.i;
  const luc_dtype dtype = gates->dtype, compute = luc__compute_dtype(dtype);
  held k = {.r = {.cell = cell, .reverse = args[REVERSE].as.i != 0}};
  luc_status status;
  k.r.hidden = gates->sizes[gates->ndim - 1] / luc__cell_gates(cell);
  status = check(ctx, args, cell, k.r.hidden);
  if (status != LUC_OK) return luc__failed_as(ctx, status, name_of(cell));
  if (luc__dtype_is_complex(dtype)) return run_steps(ctx, args, out);
  LUC_GO(take_sizes(ctx, &k, &args[SIZES]));
  LUC_GO(take_states(ctx, &k, compute, &args[H], &args[C], &args[W_HH], &args[W_HR], 1));
  k.r.halves = dtype == LUC_BFLOAT16;
  LUC_GO(luc__dense(ctx, gates, k.r.halves ? dtype : compute, &k.gates));
  LUC_GO(luc__dense(ctx, luc_as_tensor(&args[B_HH]), compute, &k.b_hh));
  k.r.gates = k.gates->data;
  k.r.b_hh = luc__data(k.b_hh);
  LUC_GO(make_results(ctx, &k, args[KEEP].as.i != 0, t));
  LUC_GO(luc__recurrence(ctx, &k.r));
  for (int i = 0; i < RESULTS; i++) {
    luc_dtype as = i < WORK ? dtype : compute;
    if (t[i]) LUC_GO(luc__deliver(ctx, &out[i], as, &t[i]));
  }
done:
  for (int i = 0; i < RESULTS; i++) luc_tensor_release(ctx, t[i]);
  let_go(ctx, &k);
  return status;
}

/* ---- backward ---- */

enum {
  G_Y,
  G_DY,
  G_DH_N,
  G_DC_N,
  G_H,
  G_C,
  G_W_HH,
  G_W_HR,
  G_WORK,
  G_CELLS,
  G_CELL,
  G_SIZES,
  G_REVERSE,
  G_ARGS
};
enum { DGATES, DH, DC, DW_HH, DB_HH, DW_HR, GRADS };
enum { DSHARE = GRADS, BEFORE, DPROJECTED, UNPROJECTED, MADE };

static luc_status make_grads(luc_context *ctx, const luc_recurrence *r, luc_recurrence_grads *g,
                             luc_tensor **t) {
  const int64_t rows = r->offsets[r->steps], gates = luc__cell_gates(r->cell) * r->hidden;
  LUC_TRY(matrix(ctx, r->dtype, rows, gates, &t[DGATES]));
  LUC_TRY(matrix(ctx, r->dtype, r->batch, r->output, &t[DH]));
  LUC_TRY(matrix(ctx, r->dtype, rows, r->output, &t[BEFORE]));
  if (r->cell == LUC_CELL_LSTM) LUC_TRY(matrix(ctx, r->dtype, r->batch, r->hidden, &t[DC]));
  if (r->cell == LUC_CELL_GRU)
    LUC_TRY(matrix(ctx, r->dtype, rows, gates, &t[DSHARE]));
  else
    t[DSHARE] = luc__retain(t[DGATES]);
  if (r->w_hr) {
    LUC_TRY(matrix(ctx, r->dtype, rows, r->output, &t[DPROJECTED]));
    LUC_TRY(matrix(ctx, r->dtype, rows, r->hidden, &t[UNPROJECTED]));
  }
  g->dgates = t[DGATES]->data;
  g->dshare = t[DSHARE]->data;
  g->dh = t[DH]->data;
  g->dc = luc__data(t[DC]);
  g->before = t[BEFORE]->data;
  g->dprojected = luc__data(t[DPROJECTED]);
  g->unprojected = luc__data(t[UNPROJECTED]);
  return LUC_OK;
}

/* Gradients of weights: one product over all rows each. */
static luc_status weight_grads(luc_context *ctx, const luc_recurrence *r, luc_tensor **t) {
  const luc_dtype as = r->pairs ? LUC_BFLOAT16 : r->dtype;
  luc_formula f = luc__formula(ctx);
  luc_tensor *share = luc__f_transpose(&f, luc__f_to(&f, t[DSHARE], as), 0, 1);
  luc_tensor *before = luc__f_to(&f, t[BEFORE], as);
  luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, share, before), &t[DW_HH]);
  if (r->cell == LUC_CELL_GRU) luc__f_keep(&f, luc__f_sum_dim(&f, t[DSHARE], 0), &t[DB_HH]);
  if (t[DPROJECTED]) {
    luc_tensor *projected = luc__f_transpose(&f, t[DPROJECTED], 0, 1);
    luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, projected, t[UNPROJECTED]), &t[DW_HR]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* recurrence_backward(output, dy, dh_n, dc_n, h, c, w_hh, w_hr, work, cells, cell, batch_sizes,
 * reverse) */
luc_status luc__run_recurrence_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  static const int dense[] = {G_Y, G_DY, G_DH_N, G_DC_N, G_WORK, G_CELLS};
  luc_tensor *in[G_ARGS] = {0}, *t[MADE] = {0};
  const luc_tensor *w_hh = args[G_W_HH].as.tensor;
  luc_cell cell = (luc_cell)args[G_CELL].as.i;
  const luc_dtype dtype = w_hh->dtype, compute = luc__compute_dtype(dtype);
  held k = {.r = {.cell = cell, .reverse = args[G_REVERSE].as.i != 0}};
  luc_status status;
  k.r.hidden = w_hh->sizes[0] / luc__cell_gates(cell);
  LUC_GO(take_sizes(ctx, &k, &args[G_SIZES]));
  LUC_GO(take_states(ctx, &k, compute, &args[G_H], &args[G_C], &args[G_W_HH], &args[G_W_HR], 0));
  for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
    LUC_GO(luc__dense(ctx, luc_as_tensor(&args[dense[i]]), compute, &in[dense[i]]));
  k.r.y = in[G_Y]->data;
  k.r.work = luc__data(in[G_WORK]);
  k.r.cells = luc__data(in[G_CELLS]);
  luc_recurrence_grads g = {
      .dy = luc__data(in[G_DY]), .dh_n = luc__data(in[G_DH_N]), .dc_n = luc__data(in[G_DC_N])};
  LUC_GO(make_grads(ctx, &k.r, &g, t));
  LUC_GO(luc__recurrence_backward(ctx, &k.r, &g));
  LUC_GO(weight_grads(ctx, &k.r, t));
  for (int i = 0; i < GRADS; i++)
    if (t[i]) LUC_GO(luc__deliver(ctx, &out[i], dtype, &t[i]));
done:
  for (int i = 0; i < G_ARGS; i++) luc_tensor_release(ctx, in[i]);
  for (int i = 0; i < MADE; i++) luc_tensor_release(ctx, t[i]);
  let_go(ctx, &k);
  return status;
}

/* The tensors among the arguments of the row: which gradient each takes. */
static const int GRAD_OF[] = {
    [GATES] = DGATES, [H] = DH, [C] = DC, [W_HH] = DW_HH, [B_HH] = DB_HH, [W_HR] = DW_HR};
enum { INPUTS = W_HR + 1 };

/* Again in operators, on other names of the inputs: theirs stay out of it, hooks and all. */
static luc_status gradient_of_steps(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value args[KEEP + 1];
  luc_tensor *wanted[INPUTS], *made[3] = {0}, *outputs[3], *grads[3], *found[INPUTS] = {0};
  int slots[INPUTS], nwanted = 0, noutputs = 0;
  const bool mode = ctx->grad_mode;
  memcpy(args, b->args, sizeof args);
  ctx->grad_mode = true;
  for (int p = 0; p < INPUTS; p++) {
    if (!luc__needs(b, p)) continue;
    args[p] = luc_v_tensor(luc__f1(&f, LUC_OP_alias, args[p].as.tensor));
    wanted[nwanted] = args[p].as.tensor;
    slots[nwanted++] = p;
  }
  if (f.status == LUC_OK) f.status = luc__recurrence_steps(ctx, args, made);
  for (int i = 0; i < 3 && f.status == LUC_OK; i++) {
    if (!made[i] || !b->gout[i]) continue;
    outputs[noutputs] = made[i];
    grads[noutputs++] = b->gout[i];
  }
  if (f.status == LUC_OK)
    f.status = luc_autograd_grad(ctx, outputs, noutputs, grads, wanted, nwanted,
                                 (mode ? LUC_CREATE_GRAPH : 0) | LUC_ALLOW_UNUSED, found);
  ctx->grad_mode = mode;
  for (int i = 0; i < nwanted; i++) b->gin[slots[i]] = found[i];
  for (int i = 0; i < 3; i++) luc_tensor_release(ctx, made[i]);
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__grad_recurrence(luc_context *ctx, luc_backward *b) {
  if (!b->gout[Y] && !b->gout[H_N] && !b->gout[C_N]) return LUC_OK;
  if (luc__recording(ctx) || luc__dtype_is_complex(b->args[GATES].as.tensor->dtype))
    return gradient_of_steps(ctx, b);
  luc_value grads[LUC_MAX_RESULTS];
  LUC_TRY(luc_call(ctx, LUC_OP_recurrence_backward,
                   LUC_ARGS(luc_v_tensor(b->results[Y]), luc_v_tensor(b->gout[Y]),
                            luc_v_tensor(b->gout[H_N]), luc_v_tensor(b->gout[C_N]), b->args[H],
                            b->args[C], b->args[W_HH], b->args[W_HR],
                            luc_v_tensor(b->results[WORK]), luc_v_tensor(b->results[CELLS]),
                            b->args[CELL], b->args[SIZES], b->args[REVERSE]),
                   grads));
  for (int p = 0; p < INPUTS; p++) {
    luc_value *v = &grads[GRAD_OF[p]];
    if (luc__needs(b, p))
      b->gin[p] = v->as.tensor;
    else
      luc__value_release(ctx, v);
  }
  return LUC_OK;
}
