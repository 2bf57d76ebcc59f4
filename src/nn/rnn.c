/* Recurrent layers: RNN, LSTM, GRU and their cells (torch.nn; LSTM: Hochreiter and Schmidhuber
 * 1997, GRU: Cho et al. 2014). The input's share of the gates is one product for all steps; the
 * operator `recurrence` goes through them. A batch of sequences of different lengths is packed:
 * rows of all steps in turn, longest sequence first, and the number of rows of each step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/recurrence.h"
#include "nn/module.h"
#include "nn/reset.h"
#include "ops/compute.h"
#include "ops/formula.h"

enum { STATES = 2 }; /* h, and c of an LSTM */

typedef struct cell {
  luc_cell kind;
  luc_tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* borrowed; biases and w_hr may be NULL */
} cell;

static int states_of(luc_cell kind) {
  return kind == LUC_CELL_LSTM ? 2 : 1;
}

static luc_tensor *zeros(luc_formula *f, luc_dtype dtype, int64_t n, int64_t m) {
  luc_tensor *t = NULL;
  luc_scalar nought = {LUC_SCALAR_INT, {.i = 0}};
  if (f->status == LUC_OK) f->status = luc__tensor_empty(f->ctx, dtype, 2, (int64_t[]){n, m}, &t);
  if (f->status == LUC_OK) f->status = luc__fill(f->ctx, t, nought);
  return luc__f_own(f, t);
}

/* ---- one layer in one direction ---- */

/* The input's share of the gates with the biases that are simply added: a GRU resets the state's
 * share of its third gate together with its bias. */
static luc_tensor *share_of_input(luc_formula *f, const cell *c, luc_tensor *x) {
  luc_tensor *bias = c->b_ih;
  if (bias && c->kind != LUC_CELL_GRU) bias = luc__f2(f, LUC_OP_add, bias, c->b_hh);
  return luc__f_call(f, LUC_OP_linear,
                     LUC_ARGS(luc_v_tensor(x), luc_v_tensor(c->w_ih), luc_v_tensor(bias)));
}

/* Rows of all steps x [rows, in] through the cell: *y [rows, out] is all h, `after` the last
 * states, new references both. */
static luc_status run_cell(luc_context *ctx, const cell *c, luc_tensor *x, const luc_value *sizes,
                           bool reverse, luc_tensor *const *state, luc_tensor **y,
                           luc_tensor **after) {
  luc_formula f = luc__formula(ctx);
  luc_value out[LUC_MAX_RESULTS];
  luc_tensor *gates = share_of_input(&f, c, x);
  luc_tensor *b_hh = c->kind == LUC_CELL_GRU ? c->b_hh : NULL;
  if (f.status == LUC_OK)
    f.status = luc_call(ctx, LUC_OP_recurrence,
                        LUC_ARGS(luc_v_tensor(gates), luc_v_tensor(state[0]),
                                 luc_v_tensor(state[1]), luc_v_tensor(c->w_hh), luc_v_tensor(b_hh),
                                 luc_v_tensor(c->w_hr), luc_v_int(c->kind), *sizes,
                                 luc_v_bool(reverse), luc_v_bool(ctx->grad_mode)),
                        out);
  LUC_TRY(luc__f_end(&f, NULL, NULL));
  *y = out[0].as.tensor;
  for (int s = 0; s < states_of(c->kind); s++) after[s] = out[1 + s].as.tensor;
  for (int i = 1 + STATES; i < 5; i++) luc__value_release(ctx, &out[i]);
  return LUC_OK;
}

static void free_list(luc_context *ctx, luc_tensor **list, int n) {
  if (list == NULL) return;
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, list[i]);
  luc__free(ctx, list, (size_t)n * sizeof *list);
}

/* ---- what the constructor said ---- */

typedef struct spec {
  luc_cell kind;
  int64_t input, hidden, proj, layers;
  bool bias, batch_first, bidirectional;
  double dropout;
} spec;

static int64_t whole(const luc_module *m, const char *name, int64_t otherwise) {
  const luc_value *v = luc_module_config(m, name);
  return v != NULL ? v->as.i : otherwise;
}

static luc_cell kind_of(const luc_module *m) {
  const luc_value *by_name = luc_module_config(m, "mode"),
                  *relu = luc_module_config(m, "nonlinearity");
  const char *name = by_name != NULL ? by_name->as.string : m->cls->core->name;
  if (strncmp(name, "LSTM", 4) == 0) return LUC_CELL_LSTM;
  if (strncmp(name, "GRU", 3) == 0) return LUC_CELL_GRU;
  if (relu != NULL) name = strcmp(relu->as.string, "relu") == 0 ? "RNN_RELU" : "RNN_TANH";
  return strcmp(name, "RNN_RELU") == 0 ? LUC_CELL_RELU : LUC_CELL_TANH;
}

static spec read_spec(const luc_module *m) {
  const luc_value *dropout = luc_module_config(m, "dropout");
  return (spec){.kind = kind_of(m),
                .input = whole(m, "input_size", 0),
                .hidden = whole(m, "hidden_size", 0),
                .proj = whole(m, "proj_size", 0),
                .layers = whole(m, "num_layers", 1),
                .bias = whole(m, "bias", 1) != 0,
                .batch_first = whole(m, "batch_first", 0) != 0,
                .bidirectional = whole(m, "bidirectional", 0) != 0,
                .dropout = dropout != NULL ? luc_as_double(dropout) : 0};
}

static int64_t output_size(const spec *s) {
  return s->proj > 0 ? s->proj : s->hidden;
}

static int directions(const spec *s) {
  return s->bidirectional ? 2 : 1;
}

static luc_status check_spec(luc_context *ctx, const luc_module *m, const spec *s) {
  const char *who = m->cls->core->name;
  LUC_CHECK(ctx, s->dropout >= 0 && s->dropout <= 1, LUC_ERR_VALUE,
            "%s: dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed (got %g)",
            who, s->dropout);
  LUC_CHECK(ctx, s->input > 0, LUC_ERR_VALUE, "%s: input_size must be greater than zero (got %lld)",
            who, (long long)s->input);
  LUC_CHECK(ctx, s->hidden > 0, LUC_ERR_VALUE,
            "%s: hidden_size must be greater than zero (got %lld)", who, (long long)s->hidden);
  LUC_CHECK(ctx, s->layers > 0, LUC_ERR_VALUE,
            "%s: num_layers must be greater than zero (got %lld)", who, (long long)s->layers);
  LUC_CHECK(ctx, s->proj >= 0, LUC_ERR_VALUE,
            "%s: proj_size should be a positive integer or zero to disable projections (got %lld)",
            who, (long long)s->proj);
  LUC_CHECK(ctx, s->proj < s->hidden, LUC_ERR_VALUE,
            "%s: proj_size has to be smaller than hidden_size (got %lld and %lld)", who,
            (long long)s->proj, (long long)s->hidden);
  return LUC_OK;
}

/* ---- making ---- */

enum { NAME = 64 };

static const char *weight_name(char *buf, const char *what, int64_t layer, int direction) {
  snprintf(buf, NAME, "%s_l%lld%s", what, (long long)layer, direction ? "_reverse" : "");
  return buf;
}

static luc_status add_weight(luc_context *ctx, luc_module *m, const char *name, int ndim,
                             int64_t rows_of, int64_t columns) {
  int64_t sizes[2] = {rows_of, columns};
  luc_tensor *t;
  return luc__new_parameter(ctx, m, name, luc__config_dtype(ctx, m), ndim, sizes, &t);
}

static luc_status add_layer(luc_context *ctx, luc_module *m, const spec *s, int64_t layer,
                            int direction) {
  char name[NAME];
  int64_t n = luc__product_of(2, (int64_t[]){s->hidden, luc__cell_gates(s->kind)});
  int64_t in = layer == 0 ? s->input : output_size(s) * directions(s);
  LUC_TRY(add_weight(ctx, m, weight_name(name, "weight_ih", layer, direction), 2, n, in));
  LUC_TRY(
      add_weight(ctx, m, weight_name(name, "weight_hh", layer, direction), 2, n, output_size(s)));
  if (s->bias) {
    LUC_TRY(add_weight(ctx, m, weight_name(name, "bias_ih", layer, direction), 1, n, 0));
    LUC_TRY(add_weight(ctx, m, weight_name(name, "bias_hh", layer, direction), 1, n, 0));
  }
  if (s->proj == 0) return LUC_OK;
  return add_weight(ctx, m, weight_name(name, "weight_hr", layer, direction), 2, s->proj,
                    s->hidden);
}

/* The first values, of a new module's own parameters. */
static luc_status reset(luc_context *ctx, luc_module *m, int64_t hidden) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_PARAMETER], &at)) != NULL;)
    if (e->value != NULL) LUC_TRY(luc__reset_uniform(ctx, e->value, 1 / sqrt((double)hidden)));
  return LUC_OK;
}

luc_status luc__rnn_reset(luc_context *ctx, luc_module *m) {
  double bound = 1 / sqrt((double)whole(m, "hidden_size", 1));
  luc_members list;
  LUC_TRY(luc_module_members(ctx, m, LUC_MEMBERS_PARAMETERS, NULL, LUC_MEMBERS_UNNAMED, &list));
  luc_status status = LUC_OK;
  for (size_t i = 0; status == LUC_OK && i < list.n; i++)
    if (!luc__dtype_is_float(luc_tensor_dtype(list.items[i].tensor)))
      status = luc__fail(ctx, LUC_ERR_TYPE, "reset_parameters: a parameter of %s is %s",
                         m->cls->name, luc__dtype_name(luc_tensor_dtype(list.items[i].tensor)));
  for (size_t i = 0; status == LUC_OK && i < list.n; i++)
    status = luc__reset_uniform(ctx, list.items[i].tensor, bound);
  luc_members_free(ctx, &list);
  return status;
}

/* Is there memory for all weights? Found out before the first is filled, however many layers. */
static luc_status check_memory(luc_context *ctx, const luc_module *m, const spec *s) {
  double ways = directions(s), out = (double)output_size(s), rows = (double)s->hidden,
         row = ways * out + out + 2 * s->bias, item = luc__dtype_size(luc__config_dtype(ctx, m)),
         layer = rows * ((double)luc__cell_gates(s->kind) * row + (double)s->proj) * item;
  double bytes = (double)s->layers * ways * (layer + 4 * sizeof(luc_tensor));
  size_t size = bytes < (double)PTRDIFF_MAX ? (size_t)bytes : PTRDIFF_MAX;
  void *block = luc__alloc(ctx, size);
  luc__free(ctx, block, size);
  return block ? LUC_OK : LUC_ERR_MEMORY;
}

luc_status luc__rnn_build(luc_context *ctx, luc_module *m) {
  spec s = read_spec(m);
  LUC_TRY(check_spec(ctx, m, &s));
  if (s.layers > 1) LUC_TRY(check_memory(ctx, m, &s));
  for (int64_t layer = 0; layer < s.layers; layer++)
    for (int direction = 0; direction < directions(&s); direction++)
      LUC_TRY(add_layer(ctx, m, &s, layer, direction));
  luc_value dropout = luc_v_float(s.dropout); /* 1 is 1.0, as PyTorch keeps and prints it */
  int p = luc__schema_find(luc__config_class(m->cls->core)->constructor, "dropout");
  LUC_TRY(luc__module_set_config(ctx, m, p, &dropout));
  return reset(ctx, m, s.hidden);
}

luc_status luc__rnn_cell_build(luc_context *ctx, luc_module *m) {
  spec s = read_spec(m);
  int64_t gates = whole(m, "num_chunks", luc__cell_gates(s.kind));
  int64_t n = luc__product_of(2, (int64_t[]){s.hidden, gates});
  LUC_CHECK(ctx, s.hidden > 0, LUC_ERR_VALUE,
            "%s: hidden_size must be greater than zero (got %lld)", m->cls->core->name,
            (long long)s.hidden);
  LUC_CHECK(ctx, s.input >= 0, LUC_ERR_VALUE, "%s: input_size must not be negative (got %lld)",
            m->cls->core->name, (long long)s.input);
  LUC_TRY(add_weight(ctx, m, "weight_ih", 2, n, s.input));
  LUC_TRY(add_weight(ctx, m, "weight_hh", 2, n, s.hidden));
  static const char *const biases[] = {"bias_ih", "bias_hh"};
  for (int i = 0; i < 2; i++) {
    if (s.bias)
      LUC_TRY(add_weight(ctx, m, biases[i], 1, n, 0));
    else
      LUC_TRY(luc_module_register_parameter(ctx, m, biases[i], NULL));
  }
  return reset(ctx, m, s.hidden);
}

/* ---- checks of a call ---- */

/* One call of a whole layer. */
typedef struct call {
  spec s;
  luc_module *m;
  bool unbatched;
  luc_tensor *x;            /* rows of all steps [rows, in]; owned */
  luc_value states[STATES]; /* lists of [N, size] for every layer and direction; owned */
  luc_tensor *zero[STATES]; /* the zeros used as states that were not given; owned */
  bool packed;
  luc_value sizes; /* rows of each step */
  int64_t *even;   /* owned: sizes of what is not packed */
  int64_t batch;
} call;

static luc_status check_input(luc_context *ctx, const call *c, const luc_tensor *x, bool packed) {
  const char *who = c->m->cls->core->name;
  char name[NAME];
  luc_tensor *weight;
  LUC_TRY(luc__module_need(ctx, c->m, weight_name(name, "weight_ih", 0, 0), &weight));
  LUC_CHECK(ctx, packed ? x->ndim == 2 : x->ndim == 2 || x->ndim == 3, LUC_ERR_SHAPE,
            packed ? "%s: input must have 2 dimensions, got %d"
                   : "%s: Expected input to be 2D or 3D, got %dD instead",
            who, x->ndim);
  LUC_CHECK(ctx, x->dtype == weight->dtype || ctx->autocast, LUC_ERR_TYPE,
            "%s: input must have the type %s, got type %s", who, luc__dtype_name(weight->dtype),
            luc__dtype_name(x->dtype));
  LUC_CHECK(ctx, x->sizes[x->ndim - 1] == c->s.input, LUC_ERR_SHAPE,
            "%s: input.size(-1) must be equal to input_size. Expected %lld, got %lld", who,
            (long long)c->s.input, (long long)x->sizes[x->ndim - 1]);
  return LUC_OK;
}

static luc_status check_packing(luc_context *ctx, const call *c, const luc_tensor *x,
                                const luc_value *sizes) {
  int64_t sum = 0;
  for (int i = 0; i < sizes->n; i++) {
    int64_t n = sizes->as.ints[i];
    LUC_CHECK(ctx, n > 0 && (i == 0 || n <= sizes->as.ints[i - 1]), LUC_ERR_VALUE,
              "%s: batch_sizes must be positive and must not grow", c->m->cls->core->name);
    sum += n;
  }
  LUC_CHECK(ctx, sum == x->sizes[0], LUC_ERR_SHAPE,
            "%s: batch_sizes add up to %lld rows, input has %lld", c->m->cls->core->name,
            (long long)sum, (long long)x->sizes[0]);
  return LUC_OK;
}

/* The rank first (PyTorch says it in other words), then every size. */
static luc_status check_state(luc_context *ctx, const call *c, const luc_tensor *t, int which) {
  const spec *s = &c->s;
  const char *who = c->m->cls->core->name;
  int rank = c->unbatched ? 2 : 3;
  LUC_CHECK(ctx, t->ndim == rank, LUC_ERR_SHAPE,
            c->unbatched
                ? "%s: For unbatched 2-D input, hx%s should also be 2-D but got %d-D tensor"
                : "%s: For batched 3-D input, hx%s should also be 3-D but got %d-D tensor",
            who, s->kind == LUC_CELL_LSTM ? " and cx" : "", t->ndim);
  int64_t want[3] = {s->layers * directions(s), c->batch, which == 0 ? output_size(s) : s->hidden};
  int64_t have[3] = {t->sizes[0], c->unbatched ? 1 : t->sizes[1], t->sizes[t->ndim - 1]};
  if (memcmp(want, have, sizeof want) == 0) return LUC_OK;
  char name[32] = "hidden", given[LUC_SHAPE_TEXT];
  if (s->kind == LUC_CELL_LSTM) snprintf(name, sizeof name, "hidden[%d]", which);
  return luc__fail(ctx, LUC_ERR_SHAPE, "%s: Expected %s size (%lld, %lld, %lld), got %s", who, name,
                   (long long)want[0], (long long)want[1], (long long)want[2],
                   luc__shape_text(given, 3, have));
}

/* ---- calls of whole layers ---- */

static luc_status take_state(luc_context *ctx, call *c, luc_tensor *given, int which) {
  luc_formula f = luc__formula(ctx);
  if (given == NULL) {
    int64_t size = which == 0 ? output_size(&c->s) : c->s.hidden;
    return luc__f_end(&f, zeros(&f, c->x->dtype, c->batch, size), &c->zero[which]);
  }
  LUC_TRY(check_state(ctx, c, given, which));
  if (c->unbatched) given = luc__f_unsqueeze(&f, given, 1);
  if (f.status == LUC_OK)
    f.status = luc_call(ctx, LUC_OP_unbind, LUC_ARGS(luc_v_tensor(given), luc_v_int(0)),
                        &c->states[which]);
  return luc__f_end(&f, NULL, NULL);
}

/* Turns [T, N, in] into the rows of T steps. */
static luc_status lay_out(luc_context *ctx, call *c, luc_tensor *x) {
  const bool batch_first = c->s.batch_first && !c->unbatched;
  int64_t steps = x->sizes[batch_first];
  c->batch = c->unbatched ? 1 : x->sizes[!batch_first];
  c->even = luc__alloc(ctx, luc__mul_size((size_t)steps, sizeof *c->even));
  if (c->even == NULL) return LUC_ERR_MEMORY;
  for (int64_t i = 0; i < steps; i++) c->even[i] = c->batch;
  c->sizes = luc_v_ints(c->even, (int)steps);
  luc_formula f = luc__formula(ctx);
  if (batch_first) x = luc__f_transpose(&f, x, 0, 1);
  x = luc__f_reshape(&f, x, 2, (int64_t[]){steps * c->batch, c->s.input});
  return luc__f_end(&f, x, &c->x);
}

static luc_status begin(luc_context *ctx, call *c, luc_value *args) {
  luc_tensor *x = args[0].as.tensor;
  c->packed = args[2].kind == LUC_INTS;
  LUC_TRY(check_input(ctx, c, x, c->packed));
  if (c->packed) LUC_TRY(check_packing(ctx, c, x, &args[2]));
  c->unbatched = !c->packed && x->ndim == 2;
  c->sizes = args[2];
  c->batch = c->packed && c->sizes.n > 0 ? c->sizes.as.ints[0] : 0;
  if (c->packed)
    c->x = luc_tensor_retain(x);
  else
    LUC_TRY(lay_out(ctx, c, x));
  LUC_CHECK(ctx, c->sizes.n > 0, LUC_ERR_SHAPE,
            "%s: Expected sequence length to be larger than 0 in RNN", c->m->cls->core->name);
  int n = states_of(c->s.kind);
  const luc_value *hx = &args[1];
  bool list = hx->kind == LUC_TENSORS;
  LUC_CHECK(ctx, !list || hx->n == n, LUC_ERR_VALUE, "%s: hx must be a list of 2 tensors (got %d)",
            c->m->cls->core->name, hx->n);
  for (int s = 0; s < n; s++)
    LUC_TRY(take_state(ctx, c, list ? hx->as.tensors[s] : luc_as_tensor(hx), s));
  return LUC_OK;
}

static luc_status need_weight(luc_context *ctx, const call *c, const char *what, int64_t layer,
                              int direction, luc_tensor **out) {
  char name[NAME];
  return luc__module_need(ctx, c->m, weight_name(name, what, layer, direction), out);
}

static luc_status find_cell(luc_context *ctx, const call *c, int64_t layer, int direction,
                            cell *out) {
  *out = (cell){.kind = c->s.kind};
  LUC_TRY(need_weight(ctx, c, "weight_ih", layer, direction, &out->w_ih));
  LUC_TRY(need_weight(ctx, c, "weight_hh", layer, direction, &out->w_hh));
  if (c->s.bias) {
    LUC_TRY(need_weight(ctx, c, "bias_ih", layer, direction, &out->b_ih));
    LUC_TRY(need_weight(ctx, c, "bias_hh", layer, direction, &out->b_hh));
  }
  return c->s.proj > 0 ? need_weight(ctx, c, "weight_hr", layer, direction, &out->w_hr) : LUC_OK;
}

/* Runs one layer, its directions side by side. c->x becomes its output; its last states go to
 * last[s] from `at` on. */
static luc_status run_layer(luc_context *ctx, call *c, int64_t layer, luc_tensor **last[STATES]) {
  luc_tensor *y[2] = {0}, *out = NULL;
  int n = directions(&c->s), nstates = states_of(c->s.kind);
  luc_status status = LUC_OK;
  for (int d = 0; d < n; d++) {
    int at = (int)layer * n + d;
    cell cell_of;
    luc_tensor *state[STATES] = {0}, *after[STATES];
    LUC_GO(find_cell(ctx, c, layer, d, &cell_of));
    for (int s = 0; s < nstates; s++)
      state[s] = c->zero[s] != NULL ? c->zero[s] : c->states[s].as.tensors[at];
    LUC_GO(run_cell(ctx, &cell_of, c->x, &c->sizes, d == 1, state, &y[d], after));
    for (int s = 0; s < nstates; s++) last[s][at] = after[s];
  }
  if (n == 2)
    LUC_GO(luc__op1(ctx, LUC_OP_cat, &out, LUC_ARGS(luc_v_tensors(y, 2), luc_v_int(-1))));
  else
    out = luc_tensor_retain(y[0]);
  luc_tensor_release(ctx, c->x);
  c->x = out;
done:
  for (int d = 0; d < n; d++) luc_tensor_release(ctx, y[d]);
  return status;
}

static luc_status drop_out(luc_context *ctx, call *c) {
  luc_tensor *x = c->x;
  luc_status status =
      luc__op1(ctx, LUC_OP_dropout, &c->x,
               LUC_ARGS(luc_v_tensor(x), luc_v_float(c->s.dropout), luc_v_bool(true)));
  luc_tensor_release(ctx, x);
  return status;
}

/* The results: output, and h_n or a list of h_n and c_n. */
static luc_status finish(luc_context *ctx, call *c, luc_tensor **last[STATES], luc_outputs *out) {
  int n = (int)c->s.layers * directions(&c->s), nstates = states_of(c->s.kind);
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = c->x, *state[STATES] = {0}, **list = NULL;
  if (!c->packed) {
    int64_t sizes[3] = {c->sizes.n, c->batch, y->sizes[1]};
    if (c->unbatched) sizes[1] = sizes[2];
    y = luc__f_reshape(&f, y, c->unbatched ? 2 : 3, sizes);
    if (c->s.batch_first && !c->unbatched) y = luc__f_transpose(&f, y, 0, 1);
  }
  for (int s = 0; s < nstates; s++) {
    state[s] = luc__f_call(&f, LUC_OP_stack, LUC_ARGS(luc_v_tensors(last[s], n), luc_v_int(0)));
    if (c->unbatched) state[s] = luc__f_squeeze(&f, state[s], 1);
  }
  if (nstates == 2 && f.status == LUC_OK) {
    list = luc__alloc(ctx, sizeof state);
    if (list == NULL) f.status = LUC_ERR_MEMORY;
  }
  if (f.status == LUC_OK) {
    for (int s = 0; s < nstates; s++) luc__retain(state[s]);
    if (list != NULL) memcpy(list, state, sizeof state);
    *out = (luc_outputs){2,
                         {luc_v_tensor(luc__retain(y)),
                          list != NULL ? luc_v_tensors(list, 2) : luc_v_tensor(state[0])}};
  }
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__rnn_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  call c = {.s = read_spec(m), .m = m};
  luc_tensor **last[STATES] = {0};
  int n = (int)c.s.layers * directions(&c.s), nstates = states_of(c.s.kind);
  luc_status status = LUC_OK;
  LUC_GO(begin(ctx, &c, args));
  for (int s = 0; s < nstates; s++) {
    last[s] = luc__alloc_zero(ctx, (size_t)n * sizeof *last[s]);
    if (last[s] == NULL) LUC_GO(LUC_ERR_MEMORY);
  }
  for (int64_t layer = 0; layer < c.s.layers; layer++) {
    if (layer > 0 && c.s.dropout > 0 && m->training) LUC_GO(drop_out(ctx, &c));
    LUC_GO(run_layer(ctx, &c, layer, last));
  }
  status = finish(ctx, &c, last, out);
done:
  for (int s = 0; s < nstates; s++) {
    free_list(ctx, last[s], n);
    luc__value_release(ctx, &c.states[s]);
    luc_tensor_release(ctx, c.zero[s]);
  }
  luc_tensor_release(ctx, c.x);
  luc__free(ctx, c.even, (size_t)c.sizes.n * sizeof *c.even);
  return status;
}

/* ---- cells ---- */

static luc_status check_cell_input(luc_context *ctx, const char *who, const spec *s,
                                   const luc_tensor *x) {
  LUC_CHECK(ctx, x->ndim == 1 || x->ndim == 2, LUC_ERR_SHAPE,
            "%s: Expected input to be 1D or 2D, got %dD instead", who, x->ndim);
  LUC_CHECK(ctx, x->sizes[x->ndim - 1] == s->input, LUC_ERR_SHAPE,
            "%s: input has inconsistent input_size: got %lld expected %lld", who,
            (long long)x->sizes[x->ndim - 1], (long long)s->input);
  return LUC_OK;
}

static luc_status check_cell_state(luc_context *ctx, const char *who, const spec *s,
                                   const luc_tensor *x, const luc_tensor *h, int which) {
  LUC_CHECK(ctx, h->ndim == 1 || h->ndim == 2, LUC_ERR_SHAPE,
            "%s: Expected hx%s to be 1D or 2D, got %dD instead", who,
            s->kind != LUC_CELL_LSTM ? ""
            : which == 0             ? "[0]"
                                     : "[1]",
            h->ndim);
  int64_t batch = x->ndim == 2 ? x->sizes[0] : 1, have = h->ndim == 2 ? h->sizes[0] : 1;
  LUC_CHECK(ctx, h->ndim == x->ndim && batch == have, LUC_ERR_SHAPE,
            "%s: Input batch size %lld doesn't match hidden%d batch size %lld", who,
            (long long)batch, which, (long long)have);
  LUC_CHECK(ctx, h->sizes[h->ndim - 1] == s->hidden, LUC_ERR_SHAPE,
            "%s: hidden%d has inconsistent hidden_size: got %lld, expected %lld", who, which,
            (long long)h->sizes[h->ndim - 1], (long long)s->hidden);
  return LUC_OK;
}

luc_status luc__rnn_cell_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                 luc_outputs *out) {
  spec s = read_spec(m);
  const char *who = m->cls->core->name;
  luc_tensor *x = args[0].as.tensor, *y = NULL, *state[STATES] = {0}, *after[STATES] = {0};
  bool list = args[1].kind == LUC_TENSORS, batched = x->ndim == 2;
  int n = states_of(s.kind);
  cell c = {.kind = s.kind,
            .b_ih = luc_module_tensor(m, "bias_ih"),
            .b_hh = luc_module_tensor(m, "bias_hh")};
  LUC_TRY(check_cell_input(ctx, who, &s, x));
  LUC_TRY(luc__module_need(ctx, m, "weight_ih", &c.w_ih));
  LUC_TRY(luc__module_need(ctx, m, "weight_hh", &c.w_hh));
  LUC_CHECK(ctx, !list || args[1].n == n, LUC_ERR_VALUE,
            "%s: hx must be a list of 2 tensors (got %d)", who, args[1].n);
  for (int k = 0; k < n; k++) {
    state[k] = list ? args[1].as.tensors[k] : luc_as_tensor(&args[1]);
    if (state[k] != NULL) LUC_TRY(check_cell_state(ctx, who, &s, x, state[k], k));
  }
  luc_formula f = luc__formula(ctx);
  for (int k = 0; k < n; k++)
    if (state[k] == NULL)
      state[k] = zeros(&f, x->dtype, batched ? x->sizes[0] : 1, s.hidden);
    else if (!batched)
      state[k] = luc__f_unsqueeze(&f, state[k], 0);
  if (!batched) x = luc__f_unsqueeze(&f, x, 0);
  if (f.status == LUC_OK) {
    luc_value sizes = luc_v_ints(&x->sizes[0], 1);
    f.status = run_cell(ctx, &c, x, &sizes, false, state, &y, after);
  }
  luc__f_own(&f, y);
  for (int k = 0; k < n; k++) {
    luc__f_own(&f, after[k]);
    if (!batched) after[k] = luc__f_squeeze(&f, after[k], 0);
  }
  if (f.status == LUC_OK) out->n = n;
  return luc__f_results(&f, n, after, out->v);
}
