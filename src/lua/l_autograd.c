/* Autograd as Lua sees it: backward, grad, leaves and modes. What of Lua's the graph calls is in
 * l_graph.c. */
#include "l_args.h"
#include "lucerna/autograd.h"

/* ---- backward and grad ---- */

static int graph_flags(const luc_l_state *st, const luc_value *retain, const luc_value *create) {
  bool create_graph = create->kind == LUC_BOOLEAN && create->as.i;
  bool retain_graph = retain->kind == LUC_BOOLEAN ? retain->as.i != 0 : create_graph;
  return (create_graph ? LUC_CREATE_GRAPH : 0) | (retain_graph ? LUC_RETAIN_GRAPH : 0) |
         (st->detect_anomaly ? LUC_DETECT_ANOMALY : 0);
}

/* backward of n tensors. grads: a list of as many, or None. */
static int run_backward(lua_State *L, luc_l_state *st, const luc_value *tensors,
                        const luc_value *grads, const luc_value *inputs, int flags) {
  bool given = grads->kind == LUC_TENSORS, some = inputs->kind == LUC_TENSORS;
  if (some && inputs->n == 0) return luc_l_error(L, "backward: inputs argument cannot be empty");
  if (given && grads->n != tensors->n)
    return luc_l_error(L, "backward: got %d tensors and %d gradients", tensors->n, grads->n);
  lua_State *outer = luc_l_enter(st, L);
  luc_status status = luc_tensor_backward_to(
      st->ctx, tensors->as.tensors, tensors->n, given ? grads->as.tensors : NULL,
      some ? inputs->as.tensors : NULL, some ? inputs->n : 0, flags);
  st->L = outer;
  if (status == LUC_OK && st->ctx->unpacked_nodes) status = luc_l_pack_saved(L, st);
  return luc_l_results(L, st, 0, status);
}

static int tensor_backward(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *self = a->v[0].as.tensor, *grad = luc_as_tensor(&a->v[1]);
  luc_value tensors = luc_v_tensors(&self, 1);
  luc_value grads = grad ? luc_v_tensors(&grad, 1) : luc_v_none();
  return run_backward(L, st, &tensors, &grads, &a->v[4], graph_flags(st, &a->v[2], &a->v[3]));
}

static int autograd_backward(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return run_backward(L, st, &a->v[0], &a->v[1], &a->v[4], graph_flags(st, &a->v[2], &a->v[3]));
}

/* Zeros in place of the gradients that are missing; on failure there are none. */
static luc_status fill_zeros(luc_context *ctx, const luc_value *inputs, luc_tensor **results) {
  luc_status status = LUC_OK;
  for (int i = 0; i < inputs->n && status == LUC_OK; i++)
    if (!results[i])
      status = luc__unary(ctx, LUC_OP_zeros_like, inputs->as.tensors[i], &results[i]);
  for (int i = 0; i < inputs->n && status != LUC_OK; i++) luc_tensor_release(ctx, results[i]);
  return status;
}

/* From the arguments of grad from retain_graph on. */
static int grad_flags(lua_State *L, const luc_l_state *st, const luc_value *options) {
  const luc_value *unused = &options[3];
  bool zeros = options[4].as.i != 0, allowed = unused->kind == LUC_BOOLEAN && unused->as.i;
  if (zeros && unused->kind == LUC_BOOLEAN && !allowed)
    luc_l_error(L, "grad: expected allow_unused to be true or nil when materialize_grads is true, "
                   "but got false");
  return graph_flags(st, &options[0], &options[1]) | (zeros || allowed ? LUC_ALLOW_UNUSED : 0);
}

/* One result per input; nil where an unused one is allowed. */
static int autograd_grad(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_value *outputs = &a->v[0], *inputs = &a->v[1], *grads = &a->v[2];
  bool given = grads->kind == LUC_TENSORS;
  if (given && grads->n != outputs->n)
    return luc_l_error(L, "grad: got %d outputs and %d grad_outputs", outputs->n, grads->n);
  for (int i = 0; i < outputs->n; i++) luc_l_need_values(L, "grad", outputs->as.tensors[i]);
  for (int i = 0; i < inputs->n; i++) luc_l_need_values(L, "grad", inputs->as.tensors[i]);
  int n = inputs->n, flags = grad_flags(L, st, &a->v[3]);
  luc_l_checkstack(L, n + 8);
  luc_tensor **results = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *results, 0);
  int first = lua_gettop(L) + 1;
  for (int i = 0; i < n; i++) luc_l_newbox(L, st);
  for (int i = 0; i < n; i++) results[i] = NULL;
  lua_State *outer = luc_l_enter(st, L);
  luc_status status =
      luc_autograd_grad(st->ctx, outputs->as.tensors, outputs->n, given ? grads->as.tensors : NULL,
                        inputs->as.tensors, n, flags, results);
  st->L = outer;
  if (a->v[7].as.i && status == LUC_OK) status = fill_zeros(st->ctx, inputs, results);
  luc_l_check(L, st, status);
  for (int i = 0; i < n; i++) luc_l_tobox(L, first + i)->t = results[i];
  for (int i = 0; i < n; i++) {
    if (results[i]) continue;
    lua_pushnil(L);
    lua_replace(L, first + i);
  }
  if (st->ctx->unpacked_nodes) status = luc_l_pack_saved(L, st);
  return luc_l_results(L, st, n, status);
}

/* _reaches(outputs, except): does their graph end in other leaves, too? */
static int reaches(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_value *outputs = &a->v[0], *except = &a->v[1];
  bool result;
  luc_l_check(L, st,
              luc_autograd_reaches(st->ctx, outputs->as.tensors, outputs->n, except->as.tensors,
                                   except->n, &result));
  lua_pushboolean(L, result);
  return 1;
}

/* ---- leaves ---- */

static int requires_grad_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_check(L, st, luc_tensor_set_requires_grad(st->ctx, a->v[0].as.tensor, a->v[1].as.i != 0));
  lua_pushvalue(L, 1);
  return 1;
}

static int retain_grad(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return luc_l_results(L, st, 0, luc_tensor_retain_grad(st->ctx, a->v[0].as.tensor));
}

/* ---- modes ---- */

typedef struct modes {
  bool grad, inference, anomaly;
} modes;

/* Modes that calling it sets and closing it puts back. Called again it sets those that it has seen
 * to be changed as well, for a function that goes on. */
typedef struct guard {
  luc_l_state *st;
  bool in_force;
  int8_t set[3]; /* grad, inference, anomaly; -1: as it is */
  modes before;
} guard;

static modes exchange_modes(luc_l_state *st, modes to) {
  modes before = {st->ctx->grad_mode, st->ctx->inference_mode, st->detect_anomaly};
  st->ctx->grad_mode = to.grad;
  st->ctx->inference_mode = to.inference;
  st->detect_anomaly = to.anomaly;
  return before;
}

/* __call: apart from the making, so that it is marked to be closed before anything changes. */
static int mode_enter(lua_State *L) {
  guard *g = luc_l_userdata(L, 1, sizeof *g);
  if (!g || g->in_force || !g->st->ctx) return 0;
  luc_context *ctx = g->st->ctx;
  modes to = {ctx->grad_mode, ctx->inference_mode, g->st->detect_anomaly};
  if (g->set[0] >= 0) to.grad = g->set[0];
  if (g->set[1] >= 0) to.inference = g->set[1];
  if (g->set[2] >= 0) to.anomaly = g->set[2];
  g->before = exchange_modes(g->st, to);
  g->in_force = true;
  return 0;
}

static int mode_close(lua_State *L) {
  guard *g = luc_l_userdata(L, 1, sizeof *g);
  if (!g || !g->in_force || !g->st->ctx) return 0;
  g->in_force = false;
  const modes now = exchange_modes(g->st, g->before), before = g->before;
  if (now.grad != before.grad || g->set[0] >= 0) g->set[0] = now.grad;
  if (now.inference != before.inference || g->set[1] >= 0) g->set[1] = now.inference;
  if (now.anomaly != before.anomaly || g->set[2] >= 0) g->set[2] = now.anomaly;
  return 0;
}

/* _mode(grad, inference, anomaly): a guard of those that are given, not in force yet. */
static int new_mode(lua_State *L, luc_l_state *st, luc_l_args *a) {
  guard *g = lua_newuserdatauv(L, sizeof *g, 0);
  *g = (guard){.st = st};
  for (int i = 0; i < 3; i++)
    g->set[i] = a->v[i].kind == LUC_BOOLEAN ? (int8_t)(a->v[i].as.i != 0) : -1;
  luc_l_set_meta(L, st, LUC_L_MODE_META);
  return 1;
}

static int is_grad_enabled(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushboolean(L, st->ctx->grad_mode);
  return 1;
}

static int is_inference_mode_enabled(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushboolean(L, st->ctx->inference_mode);
  return 1;
}

static int is_anomaly_enabled(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushboolean(L, st->detect_anomaly);
  return 1;
}

/* ---- tables ---- */

static const luc_l_native natives[] = {
    {"backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, "
     "bool create_graph=False, Tensor[]? inputs=None)",
     tensor_backward, LUC_F_METHOD},
    {"requires_grad_(Tensor self, bool requires_grad=True) -> Tensor", requires_grad_,
     LUC_F_METHOD},
    {"retain_grad(Tensor self)", retain_grad, LUC_F_METHOD},
    {"is_grad_enabled() -> bool", is_grad_enabled, LUC_F_FUNCTION},
    {"is_inference_mode_enabled() -> bool", is_inference_mode_enabled, LUC_F_FUNCTION},
    {"is_anomaly_enabled() -> bool", is_anomaly_enabled, LUC_F_FUNCTION},
    {"_mode(bool? grad, bool? inference=None, bool? anomaly=None)", new_mode, LUC_F_FUNCTION},
};

static const luc_l_native autograd_natives[] = {
    {"backward(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? retain_graph=None, "
     "bool create_graph=False, Tensor[]? inputs=None)",
     autograd_backward, LUC_F_FUNCTION},
    {"grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, "
     "bool? retain_graph=None, bool create_graph=False, bool only_inputs=True, "
     "bool? allow_unused=None, bool materialize_grads=False)",
     autograd_grad, LUC_F_FUNCTION | LUC_F_BATCHED},
    {"_reaches(Tensor[] outputs, Tensor[] except)", reaches, LUC_F_FUNCTION},
};

void luc_l_open_autograd(lua_State *L, luc_l_state *st) {
  luc_l_make_guard_meta(L, st, LUC_L_MODE_META, "lucerna.mode", mode_enter, mode_close);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
  luc_l_add_natives_to(L, st, "autograd", autograd_natives,
                       sizeof autograd_natives / sizeof *autograd_natives);
}
