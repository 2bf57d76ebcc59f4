/* Tensors without a shape (nn.UninitializedParameter, UninitializedBuffer) and what lazy modules
 * need of the core; the protocol itself is lua/lucerna/nn/lazy.lua's. */
#include "l_module.h"
#include "lucerna/autograd.h"

/* Pushes a new placeholder of (requires_grad, device, dtype); None is the default dtype. */
static int push_uninitialized(lua_State *L, luc_l_state *st, const luc_l_args *a, int flags) {
  const luc_value *dtype = &a->v[2];
  luc_l_box *box = luc_l_newbox(L, st);
  luc_dtype type = (luc_dtype)(luc_is_none(dtype) ? st->ctx->default_dtype : dtype->as.i);
  luc_status status = luc_tensor_uninitialized(st->ctx, type, &box->t);
  if (status == LUC_OK) status = luc_tensor_set_requires_grad(st->ctx, box->t, a->v[0].as.i != 0);
  luc_l_check(L, st, status);
  box->t->flags = (uint8_t)(box->t->flags | flags);
  luc_l_setpeer(L, st, -1);
  return 1;
}

/* (requires_grad, device, dtype) */
static int uninitialized_parameter(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return push_uninitialized(L, st, a, LUC_TF_PARAMETER);
}

/* (requires_grad, device, dtype, persistent) */
static int uninitialized_buffer(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int flags = a->v[3].as.i ? LUC_TF_BUFFER : LUC_TF_BUFFER | LUC_TF_NONPERSISTENT;
  return push_uninitialized(L, st, a, flags);
}

/* materialize(self, shape, device, dtype) */
static int materialize(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  const luc_value *shape = &a->v[1], *type = &a->v[3];
  luc_dtype dtype = (luc_dtype)(luc_is_none(type) ? t->dtype : type->as.i);
  return luc_l_results(L, st, 0,
                       luc_tensor_materialize(st->ctx, t, dtype, shape->n, shape->as.ints));
}

static int is_lazy(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = luc_l_totensor(L, (int)a->v[0].as.i);
  (void)st;
  lua_pushboolean(L, t && luc_tensor_is_uninitialized(t));
  return 1;
}

/* core.nn._has_uninitialized(m) */
static int has_uninitialized(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "has_uninitialized_params");
  lua_pushboolean(L, luc_module_has_uninitialized(peer->m));
  return 1;
}

static bool is_multihead(const luc_l_peer *peer) {
  return peer->m->cls->core->def->build == luc__multihead_build;
}

bool luc_l_resets_itself(const luc_l_peer *peer) {
  enum { BOTH = LUC_L_OWN_RESET_MULTIHEAD | LUC_L_OWN_RESET_PARAMETERS };
  if (!(peer->nn->overrides & BOTH)) return false;
  uint32_t own = is_multihead(peer) ? LUC_L_OWN_RESET_MULTIHEAD : LUC_L_OWN_RESET_PARAMETERS;
  return luc_l_overrides_of(peer->m) & own && !luc__nn_of(peer->nn->st->ctx)->skip_init;
}

void luc_l_reset(lua_State *L, const luc_l_peer *peer) {
  lua_getfield(L, 1, is_multihead(peer) ? "_reset_parameters" : "reset_parameters");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
}

/* core.nn._lazy_initialize(m, input): of the lazy layers written in C. */
static int lazy_initialize(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "initialize_parameters");
  luc_tensor *input = luc_l_checktensor(L, 2, "initialize_parameters", "input");
  luc_l_state *st = peer->nn->st;
  luc_nn *nn = luc__nn_of(st->ctx);
  bool own = luc_l_resets_itself(peer) && luc_module_has_uninitialized(peer->m);
  lua_State *outer = luc_l_enter(st, L);
  const bool skips = nn->skip_parameters;
  nn->skip_parameters = own;
  luc_status status = luc__lazy_initialize(st->ctx, peer->m, input);
  nn->skip_parameters = skips;
  luc_l_leave(L, st, outer, status);
  if (own) luc_l_reset(L, peer);
  return 0;
}

/* core.nn._become(m, class): the class of m from now on. */
static int become(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "cls_to_become");
  luc_l_class *c = luc_l_toclass(L, 2);
  if (!c)
    return luc_l_error(L, "cls_to_become: must be a class of modules (got %s)", luc_l_given(L, 2));
  luc_l_state *st = peer->nn->st;
  lua_State *outer = luc_l_enter(st, L);
  luc_l_leave(L, st, outer, luc__module_become(st->ctx, peer->m, c->cls));
  return 0;
}

static int reset_parameters(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_peer *peer = luc_l_checkpeer(L, (int)a->v[0].as.i, "reset_parameters");
  lua_State *outer = luc_l_enter(st, L);
  luc_l_leave(L, st, outer, luc_module_reset_parameters(st->ctx, peer->m));
  return 0;
}

static const luc_l_native natives[] = {
    {"UninitializedParameter(bool requires_grad=True, device? device=None, dtype? dtype=None) -> "
     "Tensor",
     uninitialized_parameter, LUC_F_FUNCTION},
    {"UninitializedBuffer(bool requires_grad=False, device? device=None, dtype? dtype=None, "
     "bool persistent=True) -> Tensor",
     uninitialized_buffer, LUC_F_FUNCTION},
    {"is_lazy(Any param) -> bool", is_lazy, LUC_F_FUNCTION},
    {"reset_parameters(Any self) -> None", reset_parameters, LUC_F_FUNCTION},
};

static const luc_l_native methods[] = {
    {"materialize(Tensor self, Size shape, *, device? device=None, dtype? dtype=None)", materialize,
     LUC_F_METHOD},
};

static const luaL_Reg functions[] = {{"_has_uninitialized", has_uninitialized},
                                     {"_lazy_initialize", lazy_initialize},
                                     {"_become", become},
                                     {NULL, NULL}};

void luc_l_open_lazy(lua_State *L, luc_l_nn *nn) {
  luc_l_add_natives_to(L, nn->st, "nn", natives, sizeof natives / sizeof *natives);
  luc_l_add_natives(L, nn->st, methods, sizeof methods / sizeof *methods);
  luc_l_add_to_nn(L, nn, functions);
}
