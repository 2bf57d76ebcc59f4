/* Recurrent layers: RNN, LSTM, GRU and their cells (torch.nn; LSTM: Hochreiter and Schmidhuber
 * 1997, GRU: Cho et al. 2014). Everything is made of operators, so that derivatives of any order
 * are the operators'. The input's share of the gates is one product for all steps. A batch of
 * sequences of different lengths is packed: rows of all steps in turn, longest sequence first, and
 * the number of rows of each step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/copy.h"
#include "nn/module.h"
#include "nn/reset.h"
#include "ops/formula.h"

typedef enum kind { RNN_TANH, RNN_RELU, LSTM, GRU } kind;
enum { STATES = 2 }; /* h, and c of an LSTM */

typedef struct cell {
  kind kind;
  luc_tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* borrowed; biases and w_hr may be NULL */
  luc_tensor *turned;                           /* owned: w_hhᵀ */
  luc_tensor *bias; /* owned: what is added to the input's share of the gates, or NULL */
} cell;

static int gates_of(kind k) {
  return k == LSTM ? 4 : k == GRU ? 3 : 1;
}

static int states_of(kind k) {
  return k == LSTM ? 2 : 1;
}

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

/* The state's share of the gates, added to `rest`, or to nothing. A cell's h may have no batch. */
static luc_tensor *f_gates(luc_formula *f, const cell *c, luc_tensor *rest, luc_tensor *h) {
  if (rest != NULL && h->ndim == 2)
    return luc__f_call(f, LUC_OP_addmm,
                       LUC_ARGS(luc_v_tensor(rest), luc_v_tensor(h), luc_v_tensor(c->turned)));
  luc_tensor *share = luc__f2(f, LUC_OP_matmul, h, c->turned);
  return rest != NULL ? luc__f2(f, LUC_OP_add, rest, share) : share;
}

static luc_tensor *f_lstm(luc_formula *f, const cell *c, luc_tensor *x_gates, luc_tensor **state) {
  luc_tensor *g[4];
  f_chunk(f, f_gates(f, c, x_gates, state[0]), 4, g);
  luc_tensor *in =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[0]), luc__f1(f, LUC_OP_tanh, g[2]));
  luc_tensor *kept = luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[1]), state[1]);
  luc_tensor *cx = luc__f2(f, LUC_OP_add, kept, in);
  luc_tensor *h =
      luc__f2(f, LUC_OP_mul, luc__f1(f, LUC_OP_sigmoid, g[3]), luc__f1(f, LUC_OP_tanh, cx));
  if (c->w_hr != NULL) h = f_linear(f, h, c->w_hr, NULL);
  state[1] = cx;
  return h;
}

static luc_tensor *f_gru(luc_formula *f, const cell *c, luc_tensor *x_gates, luc_tensor *h) {
  luc_tensor *x[3], *g[3];
  f_chunk(f, x_gates, 3, x);
  f_chunk(f, f_gates(f, c, c->b_hh, h), 3, g);
  luc_tensor *r = luc__f1(f, LUC_OP_sigmoid, luc__f2(f, LUC_OP_add, x[0], g[0]));
  luc_tensor *z = luc__f1(f, LUC_OP_sigmoid, luc__f2(f, LUC_OP_add, x[1], g[1]));
  luc_tensor *n =
      luc__f1(f, LUC_OP_tanh, luc__f2(f, LUC_OP_add, x[2], luc__f2(f, LUC_OP_mul, r, g[2])));
  return luc__f2(f, LUC_OP_add, n, luc__f2(f, LUC_OP_mul, z, luc__f2(f, LUC_OP_sub, h, n)));
}

/* The input's share of the gates and the state before make the state after. state's references are
 * replaced by new ones. */
static luc_status step(luc_context *ctx, const cell *c, luc_tensor *x_gates, luc_tensor **state) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *next[STATES] = {state[0], state[1]}, *made[STATES] = {0};
  if (c->kind == LSTM) {
    next[0] = f_lstm(&f, c, x_gates, next);
  } else if (c->kind == GRU) {
    next[0] = f_gru(&f, c, x_gates, state[0]);
  } else {
    next[0] = luc__f1(&f, c->kind == RNN_RELU ? LUC_OP_relu : LUC_OP_tanh,
                      f_gates(&f, c, x_gates, state[0]));
  }
  for (int s = 0; s < states_of(c->kind); s++) luc__f_keep(&f, next[s], &made[s]);
  luc_status status = luc__f_end(&f, NULL, NULL);
  for (int s = 0; s < STATES; s++) {
    if (made[s] == NULL) continue;
    luc_tensor_release(ctx, status == LUC_OK ? state[s] : made[s]);
    if (status == LUC_OK) state[s] = made[s];
  }
  return status;
}

/* ---- small operators ---- */

static luc_status linear(luc_context *ctx, luc_tensor *x, luc_tensor *weight, luc_tensor *bias,
                         luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_linear, out,
                  LUC_ARGS(luc_v_tensor(x), luc_v_tensor(weight), luc_v_tensor(bias)));
}

static luc_status rows(luc_context *ctx, luc_tensor *t, int64_t start, int64_t n,
                       luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_narrow, out,
                  LUC_ARGS(luc_v_tensor(t), luc_v_int(0), luc_v_int(start), luc_v_int(n)));
}

static luc_status join(luc_context *ctx, luc_opid op, luc_tensor **list, int n, int64_t dim,
                       luc_tensor **out) {
  return luc__op1(ctx, op, out, LUC_ARGS(luc_v_tensors(list, n), luc_v_int(dim)));
}

/* *t becomes what a view of it is. */
static luc_status replace(luc_context *ctx, luc_opid op, luc_tensor **t, int64_t a, int64_t b) {
  luc_tensor *view;
  LUC_TRY(luc__op1(ctx, op, &view, LUC_ARGS(luc_v_tensor(*t), luc_v_int(a), luc_v_int(b))));
  luc_tensor_release(ctx, *t);
  *t = view;
  return LUC_OK;
}

/* Makes what the steps share. Where nothing is recorded and steps are many, w_hhᵀ becomes a matrix
 * of its own: products with it are faster than with w_hh. */
static luc_status prepare(luc_context *ctx, cell *c, int steps) {
  if (c->b_ih != NULL && c->kind != GRU) /* a GRU scales the state's share, with its bias */
    LUC_TRY(luc__binary(ctx, LUC_OP_add, c->b_ih, c->b_hh, &c->bias));
  else if (c->b_ih != NULL)
    c->bias = luc_tensor_retain(c->b_ih);
  LUC_TRY(luc__op1(ctx, LUC_OP_transpose, &c->turned,
                   LUC_ARGS(luc_v_tensor(c->w_hh), luc_v_int(0), luc_v_int(1))));
  if (ctx->grad_mode || steps < 4) return LUC_OK;
  luc_tensor *copy;
  LUC_TRY(luc__op1(ctx, LUC_OP_contiguous, &copy, LUC_ARGS(luc_v_tensor(c->turned))));
  luc_tensor_release(ctx, c->turned);
  c->turned = copy;
  return LUC_OK;
}

static void drop_prepared(luc_context *ctx, cell *c) {
  luc_tensor_release(ctx, c->turned);
  luc_tensor_release(ctx, c->bias);
}

static luc_status batch_dim(luc_context *ctx, luc_tensor **t, bool add) {
  luc_opid op = add ? LUC_OP_unsqueeze : LUC_OP_squeeze;
  luc_tensor *view;
  int64_t dim = 1;
  luc_value where = add ? luc_v_int(dim) : luc_v_ints(&dim, 1);
  LUC_TRY(luc__op1(ctx, op, &view, LUC_ARGS(luc_v_tensor(*t), where)));
  luc_tensor_release(ctx, *t);
  *t = view;
  return LUC_OK;
}

static luc_status zeros(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t m, luc_tensor **out) {
  int64_t sizes[2] = {n, m};
  luc_scalar nought = {LUC_SCALAR_INT, {.i = 0}};
  LUC_TRY(luc__tensor_empty(ctx, dtype, 2, sizes, out));
  return luc__fill(ctx, *out, nought);
}

/* ---- one layer in one direction ---- */

/* The steps of a pass. */
typedef struct pass {
  luc_context *ctx;
  cell *cell;
  int steps, nstates;
  const int64_t *sizes; /* rows of each step of a packed batch, or NULL */
  bool reverse;
  int64_t nrows;              /* packed: rows in work */
  luc_tensor *now[STATES];    /* owned */
  luc_tensor *first[STATES];  /* the whole initial state, borrowed */
  luc_tensor **ended[STATES]; /* packed: states of sequences that have ended, owned */
  int nended;
  luc_tensor **y; /* owned results of the steps */
} pass;

/* Packed: sequences end (or, backwards, begin) before step t. */
static luc_status fit_rows(pass *p, int t) {
  int64_t n = p->sizes[t], before = p->nrows;
  if (n == before) return LUC_OK;
  p->nrows = n;
  for (int s = 0; s < p->nstates; s++) {
    luc_tensor *part, *next, *both[2];
    if (n < before) {
      LUC_TRY(rows(p->ctx, p->now[s], n, before - n, &p->ended[s][p->nended]));
      LUC_TRY(rows(p->ctx, p->now[s], 0, n, &next));
    } else {
      LUC_TRY(rows(p->ctx, p->first[s], before, n - before, &part));
      both[0] = p->now[s];
      both[1] = part;
      luc_status status = join(p->ctx, LUC_OP_cat, both, 2, 0, &next);
      luc_tensor_release(p->ctx, part);
      LUC_TRY(status);
    }
    luc_tensor_release(p->ctx, p->now[s]);
    p->now[s] = next;
  }
  if (n < before) p->nended++;
  return LUC_OK;
}

/* Packed: the states of all sequences, the longest first. */
static luc_status gather_ended(pass *p) {
  for (int s = 0; s < p->nstates && p->nended > 0; s++) {
    luc_tensor **list = p->ended[s], *all;
    int n = p->nended;
    list[n] = p->now[s];
    for (int i = 0; i < (n + 1) / 2; i++) {
      luc_tensor *swap = list[i];
      list[i] = list[n - i];
      list[n - i] = swap;
    }
    luc_status status = join(p->ctx, LUC_OP_cat, list, n + 1, 0, &all);
    p->now[s] = list[0];
    list[0] = list[n];
    list[n] = NULL;
    LUC_TRY(status);
    luc_tensor_release(p->ctx, p->now[s]);
    p->now[s] = all;
  }
  return LUC_OK;
}

static luc_status run_steps(pass *p, luc_tensor *const *x_gates) {
  int64_t first = p->sizes != NULL ? p->sizes[p->reverse ? p->steps - 1 : 0] : 0;
  p->nrows = first;
  for (int s = 0; s < p->nstates; s++) {
    if (p->sizes != NULL && first < p->first[s]->sizes[0])
      LUC_TRY(rows(p->ctx, p->first[s], 0, first, &p->now[s]));
    else
      p->now[s] = luc_tensor_retain(p->first[s]);
  }
  for (int k = 0; k < p->steps; k++) {
    int t = p->reverse ? p->steps - 1 - k : k;
    if (p->sizes != NULL) LUC_TRY(fit_rows(p, t));
    LUC_TRY(step(p->ctx, p->cell, x_gates[t], p->now));
    p->y[t] = luc_tensor_retain(p->now[0]);
  }
  return p->sizes != NULL && !p->reverse ? gather_ended(p) : LUC_OK;
}

static void free_list(luc_context *ctx, luc_tensor **list, int n) {
  if (list == NULL) return;
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, list[i]);
  luc__free(ctx, list, (size_t)n * sizeof *list);
}

/* Runs x through the cell; state (borrowed) becomes the last state in new references, *y all h. */
static luc_status run_direction(pass *p, luc_tensor *x, luc_tensor **state, luc_tensor **y) {
  luc_context *ctx = p->ctx;
  luc_tensor *gates = NULL;
  luc_value parts = luc_v_none();
  luc_status status = LUC_OK;
  int n = p->steps;
  memcpy(p->first, state, sizeof p->first);
  p->y = luc__alloc_zero(ctx, (size_t)n * sizeof *p->y);
  if (p->y == NULL) return LUC_ERR_MEMORY;
  for (int s = 0; p->sizes != NULL && s < p->nstates; s++) {
    p->ended[s] = luc__alloc_zero(ctx, (size_t)n * sizeof *p->ended[s]);
    if (p->ended[s] == NULL) LUC_GO(LUC_ERR_MEMORY);
  }
  LUC_GO(prepare(ctx, p->cell, n));
  LUC_GO(linear(ctx, x, p->cell->w_ih, p->cell->bias, &gates));
  if (p->sizes != NULL)
    LUC_GO(luc_call(ctx, LUC_OP_split_sizes,
                    LUC_ARGS(luc_v_tensor(gates), luc_v_ints(p->sizes, n), luc_v_int(0)), &parts));
  else
    LUC_GO(luc_call(ctx, LUC_OP_unbind, LUC_ARGS(luc_v_tensor(gates), luc_v_int(0)), &parts));
  LUC_GO(run_steps(p, parts.as.tensors));
  LUC_GO(join(ctx, p->sizes != NULL ? LUC_OP_cat : LUC_OP_stack, p->y, n, 0, y));
  for (int s = 0; s < p->nstates; s++) {
    state[s] = p->now[s];
    p->now[s] = NULL;
  }
done:
  drop_prepared(ctx, p->cell);
  luc__value_release(ctx, &parts);
  luc_tensor_release(ctx, gates);
  for (int s = 0; s < p->nstates; s++) {
    luc_tensor_release(ctx, p->now[s]);
    free_list(ctx, p->ended[s], n);
  }
  free_list(ctx, p->y, n);
  return status;
}

/* ---- what the constructor said ---- */

typedef struct spec {
  kind kind;
  int64_t input, hidden, proj, layers;
  bool bias, batch_first, bidirectional;
  double dropout;
} spec;

static const luc_value *setting(const luc_module *m, const char *name) {
  return luc_module_config(m, name);
}

static int64_t whole(const luc_module *m, const char *name, int64_t otherwise) {
  const luc_value *v = setting(m, name);
  return v != NULL ? v->as.i : otherwise;
}

static kind kind_of(const luc_module *m) {
  const luc_value *by_name = setting(m, "mode"), *relu = setting(m, "nonlinearity");
  const char *name = by_name != NULL ? by_name->as.string : m->cls->core->name;
  if (strncmp(name, "LSTM", 4) == 0) return LSTM;
  if (strncmp(name, "GRU", 3) == 0) return GRU;
  if (relu != NULL) return strcmp(relu->as.string, "relu") == 0 ? RNN_RELU : RNN_TANH;
  return strcmp(name, "RNN_RELU") == 0 ? RNN_RELU : RNN_TANH;
}

static spec read_spec(const luc_module *m) {
  const luc_value *dropout = setting(m, "dropout");
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
  LUC_CHECK(ctx, s->input >= 0, LUC_ERR_VALUE, "%s: input_size must not be negative (got %lld)",
            who, (long long)s->input);
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
  int64_t n = s->hidden * gates_of(s->kind);
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

/* reset_parameters: U(±1/sqrt(hidden_size)), in the order of registration. */
static luc_status reset(luc_context *ctx, luc_module *m, int64_t hidden) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_PARAMETER], &at)) != NULL;)
    if (e->value != NULL) LUC_TRY(luc__reset_uniform(ctx, e->value, 1 / sqrt((double)hidden)));
  return LUC_OK;
}

luc_status luc__rnn_build(luc_context *ctx, luc_module *m) {
  spec s = read_spec(m);
  LUC_TRY(check_spec(ctx, m, &s));
  for (int64_t layer = 0; layer < s.layers; layer++)
    for (int direction = 0; direction < directions(&s); direction++)
      LUC_TRY(add_layer(ctx, m, &s, layer, direction));
  return reset(ctx, m, s.hidden);
}

luc_status luc__rnn_cell_build(luc_context *ctx, luc_module *m) {
  spec s = read_spec(m);
  int64_t n = s.hidden * whole(m, "num_chunks", gates_of(s.kind));
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
  luc_tensor *x;            /* [T, N, in], or packed; owned */
  luc_value states[STATES]; /* lists of [N, size] for every layer and direction; owned */
  luc_tensor *zero[STATES]; /* where no state was given; owned */
  const int64_t *sizes;     /* packed */
  int steps;
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
  LUC_CHECK(ctx, x->dtype == weight->dtype, LUC_ERR_TYPE,
            "%s: input must have the type %s, got type %s", who,
            luc__dtype_name((luc_dtype)weight->dtype), luc__dtype_name((luc_dtype)x->dtype));
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
            who, s->kind == LSTM ? " and cx" : "", t->ndim);
  int64_t want[3] = {s->layers * directions(s), c->batch, which == 0 ? output_size(s) : s->hidden};
  int64_t have[3] = {t->sizes[0], c->unbatched ? 1 : t->sizes[1], t->sizes[t->ndim - 1]};
  if (memcmp(want, have, sizeof want) == 0) return LUC_OK;
  char name[32] = "hidden", expected[LUC_SHAPE_TEXT], given[LUC_SHAPE_TEXT];
  if (s->kind == LSTM) snprintf(name, sizeof name, "hidden[%d]", which);
  return luc__fail(ctx, LUC_ERR_SHAPE, "%s: Expected %s size %s, got %s", who, name,
                   luc__shape_text(expected, 3, want), luc__shape_text(given, 3, have));
}

/* ---- calls of whole layers ---- */

static luc_status take_state(luc_context *ctx, call *c, luc_tensor *given, int which) {
  if (given == NULL) {
    int64_t size = which == 0 ? output_size(&c->s) : c->s.hidden;
    return zeros(ctx, (luc_dtype)c->x->dtype, c->batch, size, &c->zero[which]);
  }
  LUC_TRY(check_state(ctx, c, given, which));
  luc_tensor *t = luc_tensor_retain(given);
  luc_status status = c->unbatched ? batch_dim(ctx, &t, true) : LUC_OK;
  if (status == LUC_OK)
    status =
        luc_call(ctx, LUC_OP_unbind, LUC_ARGS(luc_v_tensor(t), luc_v_int(0)), &c->states[which]);
  luc_tensor_release(ctx, t);
  return status;
}

static luc_status begin(luc_context *ctx, call *c, luc_value *args) {
  luc_tensor *x = args[0].as.tensor;
  bool packed = args[2].kind == LUC_INTS;
  LUC_TRY(check_input(ctx, c, x, packed));
  if (packed) LUC_TRY(check_packing(ctx, c, x, &args[2]));
  c->unbatched = !packed && x->ndim == 2;
  c->x = luc_tensor_retain(x);
  if (c->unbatched) LUC_TRY(batch_dim(ctx, &c->x, true)); /* [T, 1, in], batch_first or not */
  if (c->s.batch_first && !c->unbatched && !packed)
    LUC_TRY(replace(ctx, LUC_OP_transpose, &c->x, 0, 1));
  c->sizes = packed ? args[2].as.ints : NULL;
  c->steps = packed ? args[2].n : (int)c->x->sizes[0];
  c->batch = packed ? (c->steps > 0 ? c->sizes[0] : 0) : c->x->sizes[1];
  LUC_CHECK(ctx, c->steps > 0, LUC_ERR_SHAPE,
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

/* One layer: its directions side by side. c->x becomes its output; last[s] at `at` its states. */
static luc_status run_layer(luc_context *ctx, call *c, int64_t layer, luc_tensor **last[STATES]) {
  luc_tensor *y[2] = {0}, *out = NULL;
  int n = directions(&c->s), nstates = states_of(c->s.kind);
  luc_status status = LUC_OK;
  for (int d = 0; d < n; d++) {
    int at = (int)layer * n + d;
    cell cell_of;
    luc_tensor *state[STATES] = {0};
    LUC_GO(find_cell(ctx, c, layer, d, &cell_of));
    for (int s = 0; s < nstates; s++)
      state[s] = c->zero[s] != NULL ? c->zero[s] : c->states[s].as.tensors[at];
    pass p = {.ctx = ctx,
              .cell = &cell_of,
              .steps = c->steps,
              .nstates = nstates,
              .sizes = c->sizes,
              .reverse = d == 1};
    LUC_GO(run_direction(&p, c->x, state, &y[d]));
    for (int s = 0; s < nstates; s++) last[s][at] = state[s];
  }
  if (n == 2)
    LUC_GO(join(ctx, LUC_OP_cat, y, 2, -1, &out));
  else
    out = luc_tensor_retain(y[0]);
  luc_tensor_release(ctx, c->x);
  c->x = out;
done:
  for (int d = 0; d < n; d++) luc_tensor_release(ctx, y[d]);
  return status;
}

static luc_status drop_out(luc_context *ctx, call *c) {
  luc_tensor *t;
  LUC_TRY(luc__op1(ctx, LUC_OP_dropout, &t,
                   LUC_ARGS(luc_v_tensor(c->x), luc_v_float(c->s.dropout), luc_v_bool(true))));
  luc_tensor_release(ctx, c->x);
  c->x = t;
  return LUC_OK;
}

/* The results: output, and h_n or a list of h_n and c_n. */
static luc_status finish(luc_context *ctx, call *c, luc_tensor **last[STATES], luc_outputs *out) {
  int n = (int)c->s.layers * directions(&c->s), nstates = states_of(c->s.kind);
  luc_tensor *state[STATES] = {0}, **list = NULL;
  luc_status status = LUC_OK;
  if (c->unbatched) {
    LUC_GO(batch_dim(ctx, &c->x, false));
  } else if (c->s.batch_first && c->sizes == NULL) {
    LUC_GO(replace(ctx, LUC_OP_transpose, &c->x, 0, 1));
  }
  for (int s = 0; s < nstates; s++) {
    LUC_GO(join(ctx, LUC_OP_stack, last[s], n, 0, &state[s]));
    if (c->unbatched) LUC_GO(batch_dim(ctx, &state[s], false));
  }
  if (nstates == 2) {
    list = luc__alloc(ctx, sizeof state);
    if (list == NULL) LUC_GO(LUC_ERR_MEMORY);
    memcpy(list, state, sizeof state);
  }
  *out = (luc_outputs){
      2, {luc_v_tensor(c->x), list != NULL ? luc_v_tensors(list, 2) : luc_v_tensor(state[0])}};
  c->x = NULL;
  return LUC_OK;
done:
  for (int s = 0; s < nstates; s++) luc_tensor_release(ctx, state[s]);
  return status;
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
            s->kind != LSTM ? ""
            : which == 0    ? "[0]"
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

/* The state a cell begins with, a new reference. */
static luc_status cell_state(luc_context *ctx, const char *who, const spec *s, luc_tensor *x,
                             luc_tensor *given, int which, luc_tensor **out) {
  if (given != NULL) {
    LUC_TRY(check_cell_state(ctx, who, s, x, given, which));
    *out = luc_tensor_retain(given);
    return LUC_OK;
  }
  LUC_TRY(zeros(ctx, (luc_dtype)x->dtype, x->ndim == 2 ? x->sizes[0] : 1, s->hidden, out));
  if (x->ndim == 2) return LUC_OK;
  return replace(ctx, LUC_OP_select, out, 0, 0);
}

luc_status luc__rnn_cell_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                 luc_outputs *out) {
  spec s = read_spec(m);
  const char *who = m->cls->core->name;
  luc_tensor *x = args[0].as.tensor, *gates = NULL, *state[STATES] = {0};
  bool list = args[1].kind == LUC_TENSORS;
  int n = states_of(s.kind);
  cell c = {.kind = s.kind,
            .b_ih = luc_module_tensor(m, "bias_ih"),
            .b_hh = luc_module_tensor(m, "bias_hh")};
  luc_status status = LUC_OK;
  LUC_GO(check_cell_input(ctx, who, &s, x));
  LUC_GO(luc__module_need(ctx, m, "weight_ih", &c.w_ih));
  LUC_GO(luc__module_need(ctx, m, "weight_hh", &c.w_hh));
  LUC_CHECK(ctx, !list || args[1].n == n, LUC_ERR_VALUE,
            "%s: hx must be a list of 2 tensors (got %d)", who, args[1].n);
  for (int k = 0; k < n; k++)
    LUC_GO(cell_state(ctx, who, &s, x, list ? args[1].as.tensors[k] : luc_as_tensor(&args[1]), k,
                      &state[k]));
  LUC_GO(prepare(ctx, &c, 1));
  LUC_GO(linear(ctx, x, c.w_ih, c.bias, &gates));
  LUC_GO(step(ctx, &c, gates, state));
  out->n = n;
  for (int k = 0; k < n; k++) {
    out->v[k] = luc_v_tensor(state[k]);
    state[k] = NULL;
  }
done:
  drop_prepared(ctx, &c);
  luc_tensor_release(ctx, gates);
  for (int k = 0; k < n; k++) luc_tensor_release(ctx, state[k]);
  return status;
}
