/* Backward hooks for Lua. The Lua driver passes a call's arguments and results through the core's
 * identity functions; what the graph keeps is an anchor: the module and its functions by id, in the
 * table of callbacks until the graph lets go of it. */
#include "l_module.h"

typedef struct hooked {
  luc_l_nn *nn;
  luc_hooked *h; /* NULL: the call is over */
} hooked;

static int hooked_gc(lua_State *L) {
  hooked *state = luc_l_userdata(L, 1, sizeof *state);
  if (!state) return 0;
  if (state->h && state->nn->st->ctx) luc__hooked_release(state->nn->st->ctx, state->h);
  state->h = NULL;
  return 0;
}

/* Pushes an empty one. Those of finished calls are used again: a finalizer costs more than a call.
 */
static hooked *push_state(lua_State *L, luc_l_nn *nn) {
  luc_l_get(L, nn->st, LUC_L_HOOKED_META);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  if (n > 0) {
    lua_rawgeti(L, -1, n);
    lua_pushnil(L);
    lua_rawseti(L, -3, n);
    lua_remove(L, -2);
    return lua_touserdata(L, -1);
  }
  hooked *state = lua_newuserdatauv(L, sizeof *state, 0);
  *state = (hooked){nn, NULL};
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  return state;
}

enum { SPARE = 16 };

/* The call of the state at `index` is over. */
static void end_state(lua_State *L, hooked *state, int index) {
  luc_l_nn *nn = state->nn;
  luc__hooked_release(nn->st->ctx, state->h);
  state->h = NULL;
  luc_l_get(L, nn->st, LUC_L_HOOKED_META);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  lua_pushvalue(L, index);
  if (n < SPARE)
    lua_rawseti(L, -2, n + 1);
  else
    lua_pop(L, 1);
  lua_pop(L, 1);
}

/* ---- the driver's part ---- */

/* Passes the values from `first` to the top; tensors among them are replaced by new boxes. */
static luc_status pass(lua_State *L, luc_l_nn *nn, luc_hooked *h, int first, bool outputs) {
  luc_value v[LUC_HOOK_GRADS];
  luc_l_box *boxes[LUC_HOOK_GRADS];
  int n = lua_gettop(L) - first + 1;
  uint32_t replaced = 0;
  if (n > LUC_HOOK_GRADS)
    luc_l_error(L, "backward hooks see up to %d arguments or results (got %d)", LUC_HOOK_GRADS, n);
  luc_l_checkstack(L, LUC_HOOK_GRADS + 8);
  for (int i = 0; i < n; i++) {
    luc_tensor *t = luc_l_totensor(L, first + i);
    v[i] = t ? luc_v_tensor(t) : luc_v_none();
    boxes[i] = t ? luc_l_newbox(L, nn->st) : NULL;
  }
  luc_status status = outputs ? luc__hooked_outputs(nn->st->ctx, h, v, n, 0, &replaced)
                              : luc__hooked_inputs(nn->st->ctx, h, v, n, &replaced);
  for (int i = n - 1; i >= 0; i--) {
    if (!boxes[i]) continue;
    if (replaced >> i & 1) {
      boxes[i]->t = v[i].as.tensor;
      luc_l_note_box(L, nn->st, boxes[i], -1);
      lua_replace(L, first + i);
    } else {
      lua_pop(L, 1);
    }
  }
  return status;
}

/* core.nn._hooked_inputs(m, anchor, …): what _hooked_outputs wants, and the arguments anew. */
static int hooked_inputs(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "hook");
  luaL_checkany(L, 2);
  luc_l_nn *nn = peer->nn;
  luc_context *ctx = nn->st->ctx;
  hooked *state = push_state(L, nn);
  lua_replace(L, 1);
  lua_pushvalue(L, 2);
  uint64_t anchor = luc_l_callback_keep(L, nn->st);
  luc_hook_lists lists = luc__hook_lists(ctx, peer->m);
  luc_status status = luc__hooked_new(ctx, peer->m, &lists, anchor, &state->h);
  luc__hook_lists_release(ctx, &lists);
  if (status != LUC_OK) luc_l_callback_drop(nn->st, anchor);
  if (status == LUC_OK) status = pass(L, nn, state->h, 3, false);
  luc_l_check(L, nn->st, status);
  lua_remove(L, 2);
  return lua_gettop(L);
}

/* core.nn._hooked_outputs(state, …): the results of the call. */
static int hooked_outputs(lua_State *L) {
  hooked *state = luc_l_checkself(L, LUC_L_HOOKED_META, sizeof *state);
  luc_l_nn *nn = state->nn;
  luc_l_context(L, nn->st);
  luaL_argcheck(L, state->h, 1, "the call is over");
  bool tensor = false;
  for (int i = 2; i <= lua_gettop(L); i++) tensor |= luc_l_tobox(L, i) != NULL;
  if (!tensor)
    lua_warning(L,
                "For backward hooks to be called, module output should be a Tensor or a tuple "
                "of Tensors",
                0);
  luc_status status = pass(L, nn, state->h, 2, true);
  end_state(L, state, 1);
  luc_l_check(L, nn->st, status);
  return lua_gettop(L) - 1;
}

/* ---- the core's part: calling a hook ---- */

typedef struct hook_call {
  luc_l_nn *nn;
  uint64_t anchor, id;
  const luc_grads *grad_input, *grad_output;
  luc_grads *replacement;
} hook_call;

static void push_grads(lua_State *L, luc_l_state *st, const luc_grads *g) {
  lua_createtable(L, g->n, 1);
  for (int i = 0; i < g->n; i++) {
    if (!g->v[i]) continue;
    luc_l_newbox(L, st)->t = luc_tensor_retain(g->v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, g->n);
  lua_setfield(L, -2, "n");
}

/* The hook's result on top: a packed table or an array of gradients, or one of them. */
static void read_grads(lua_State *L, luc_l_state *st, luc_grads *out) {
  int result = lua_gettop(L);
  bool one = luc_l_tobox(L, result) != NULL;
  if (!one && lua_type(L, result) != LUA_TTABLE)
    luc_l_error(L, "backward hook: must return gradients (got %s)", luaL_typename(L, result));
  bool counted = !one && lua_getfield(L, result, "n") == LUA_TNUMBER;
  lua_Integer n = one ? 1 : counted ? lua_tointeger(L, -1) : (lua_Integer)lua_rawlen(L, result);
  luc_grads g = {.n = (int)(n < 0 || n > LUC_HOOK_GRADS ? LUC_HOOK_GRADS : n)};
  for (int i = 0; i < g.n; i++) { /* what raises comes before the first reference */
    if (one)
      lua_pushvalue(L, result);
    else
      lua_rawgeti(L, result, i + 1);
    if (!lua_isnil(L, -1) && !luc_l_isnone(L, st, -1))
      g.v[i] = luc_l_checktensor(L, -1, "backward hook", "a gradient");
    lua_pop(L, 1); /* still in the table, or at `result` */
  }
  for (int i = 0; i < g.n; i++)
    if (g.v[i]) luc_tensor_retain(g.v[i]);
  *out = g;
}

static int call_protected(lua_State *L) {
  hook_call *c = lua_touserdata(L, 1);
  luc_l_state *st = c->nn->st;
  luc_l_checkstack(L, 12);
  luc_l_callback_push(L, st, c->anchor);
  if (!lua_istable(L, -1) || lua_rawgeti(L, -1, (lua_Integer)c->id) == LUA_TNIL) return 0;
  lua_rawgeti(L, -2, 0);
  if (c->grad_input) push_grads(L, st, c->grad_input);
  push_grads(L, st, c->grad_output);
  lua_call(L, c->grad_input ? 3 : 2, 1);
  if (!lua_isnil(L, -1)) read_grads(L, st, c->replacement);
  return 0;
}

static luc_status run_hook(luc_context *ctx, void *ud, uint64_t anchor, uint64_t id,
                           const luc_grads *grad_input, const luc_grads *grad_output,
                           luc_grads *replacement) {
  luc_l_nn *nn = ud;
  hook_call c = {nn, anchor, id, grad_input, grad_output, replacement};
  (void)ctx;
  return luc_l_protect(nn->st, call_protected, &c);
}

typedef struct anchor_call {
  luc_l_nn *nn;
  luc_module *m;
  uint64_t anchor;
} anchor_call;

static int anchor_protected(lua_State *L) {
  anchor_call *c = lua_touserdata(L, 1);
  luc_l_pushmodule(L, c->nn, c->m);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &c->nn->hook_lists);
  lua_pushvalue(L, 2);
  lua_gettable(L, 3);
  lua_rawgeti(L, -1, 3);
  c->anchor = luc_l_callback_keep(L, c->nn->st);
  return 0;
}

static luc_status make_anchor(luc_context *ctx, void *ud, luc_module *m, uint64_t *anchor) {
  luc_l_nn *nn = ud;
  anchor_call c = {nn, m, 0};
  (void)ctx;
  LUC_TRY(luc_l_protect(nn->st, anchor_protected, &c));
  *anchor = c.anchor;
  return LUC_OK;
}

static void drop_anchor(luc_context *ctx, void *ud, uint64_t anchor) {
  (void)ctx;
  luc_l_callback_drop(((luc_l_nn *)ud)->st, anchor);
}

static void own_anchor(luc_context *ctx, void *ud, uint64_t anchor, const void *owner) {
  (void)ctx;
  luc_l_callback_own(((luc_l_nn *)ud)->st, anchor, owner);
}

void luc_l_backward_host(luc_host *host) {
  host->own_anchor = own_anchor;
  host->backward = run_hook;
  host->anchor = make_anchor;
  host->drop_anchor = drop_anchor;
}

static const luaL_Reg functions[] = {
    {"_hooked_inputs", hooked_inputs}, {"_hooked_outputs", hooked_outputs}, {NULL, NULL}};

void luc_l_open_backward_hooks(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
  luc_l_make_gc_meta(L, nn->st, LUC_L_HOOKED_META, "lucerna.hooked", hooked_gc);
}
