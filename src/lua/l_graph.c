/* Functions of Lua's that the graph calls: hooks on gradients, backward functions of
 * autograd.Function, and what packs saved tensors. They sit in a table of the registry under a
 * number, and leave it when the core drops them. */
#include "autograd/graph.h"
#include "l_args.h"

/* ---- functions the core keeps ---- */

typedef struct callback {
  int refs; /* 1: for luc_l_callback_own */
  luc_l_state *st;
  uint64_t id;
  luc_node *node; /* of an autograd.Function; the node owns this block */
} callback;

static void callback_free(luc_context *ctx, void *ud) {
  callback *cb = ud;
  luc_l_callback_drop(cb->st, cb->id);
  luc__free(ctx, cb, sizeof *cb);
}

/* The function on top of the stack, popped, as something for the core; raises when out of memory.
 */
static callback *keep_callback(lua_State *L, luc_l_state *st) {
  uint64_t id = luc_l_callback_keep(L, st);
  callback *cb = luc__alloc(st->ctx, sizeof *cb);
  if (!cb) {
    luc_l_callback_drop(st, id);
    luc_l_raise(L, st, LUC_ERR_MEMORY);
  }
  *cb = (callback){1, st, id, NULL};
  luc_l_callback_own(st, id, cb);
  return cb;
}

/* ---- handles ---- */

/* Pops a function and pushes a handle whose :remove() and __close call it once. */
static void push_handle(lua_State *L, luc_l_state *st) {
  lua_newuserdatauv(L, 0, 1);
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, 1);
  luc_l_set_meta(L, st, LUC_L_HANDLE_META);
}

static int handle_remove(lua_State *L) {
  if (lua_type(L, 1) != LUA_TUSERDATA || lua_getiuservalue(L, 1, 1) != LUA_TFUNCTION) return 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  lua_call(L, 0, 0);
  return 0;
}

/* ---- hooks ---- */

/* Pushes the handle of a hook of what is at 1; returns its index. `remove` has two upvalues: that,
 * and the hook's number. */
static int push_hook_handle(lua_State *L, luc_l_state *st, lua_CFunction remove) {
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, remove, 2);
  push_handle(L, st);
  return lua_gettop(L);
}

/* Returns the handle, once the hook has a number; cb is dropped if it has not. */
static int hooked(lua_State *L, luc_l_state *st, int handle, callback *cb, luc_status status,
                  uint64_t id) {
  if (status != LUC_OK) {
    callback_free(st->ctx, cb);
    return luc_l_raise(L, st, status);
  }
  lua_getiuservalue(L, handle, 1);
  lua_pushinteger(L, (lua_Integer)id);
  lua_setupvalue(L, -2, 2);
  lua_settop(L, handle);
  return 1;
}

typedef struct hook_call {
  callback *cb;
  luc_tensor *grad, *replacement;
} hook_call;

static int call_hook(lua_State *L) {
  hook_call *call = lua_touserdata(L, 1);
  luc_l_state *st = call->cb->st;
  luc_l_callback_push(L, st, call->cb->id);
  if (lua_isboolean(L, -1)) return 0;
  luc_l_pushtensor(L, st, call->grad);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) return 0;
  call->replacement = luc_tensor_retain(luc_l_checktensor(L, -1, "hook", "the result"));
  return 0;
}

static luc_status run_hook(luc_context *ctx, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  (void)ctx;
  hook_call call = {ud, grad, NULL};
  LUC_TRY(luc_l_protect(call.cb->st, call_hook, &call));
  if (call.replacement) *replacement = call.replacement;
  return LUC_OK;
}

static luc_status run_after(luc_context *ctx, void *ud, luc_tensor *t) {
  (void)ctx;
  hook_call call = {ud, t, NULL};
  luc_status status = luc_l_protect(call.cb->st, call_hook, &call);
  luc_tensor_release(ctx, call.replacement);
  return status;
}

/* A handle's remove function: upvalues are the tensor and the hook's number. */
static int remove_hook(lua_State *L) {
  luc_l_box *box = luc_l_tobox(L, lua_upvalueindex(1));
  luc_context *ctx = luc_l_state_of(L)->ctx;
  if (!box || !box->t || !ctx) return 0;
  luc_tensor_remove_hook(ctx, box->t, (uint64_t)lua_tointeger(L, lua_upvalueindex(2)));
  return 0;
}

int luc_l_check_function(lua_State *L, const char *who, const char *name, const luc_value *v) {
  int index = (int)v->as.i;
  bool callable = v->kind != LUC_NONE && lua_type(L, index) == LUA_TFUNCTION;
  if (!callable && v->kind != LUC_NONE && luaL_getmetafield(L, index, "__call") != LUA_TNIL) {
    lua_pop(L, 1);
    callable = true;
  }
  if (!callable)
    luc_l_error(L, "%s: %s must be a function (got %s)", who, name, luaL_typename(L, index));
  return index;
}

static int add_hook(lua_State *L, luc_l_state *st, luc_l_args *a, bool after) {
  const char *who = after ? "register_post_accumulate_grad_hook" : "register_hook";
  int function = luc_l_check_function(L, who, "hook", &a->v[1]);
  luc_tensor *t = a->v[0].as.tensor;
  int handle = push_hook_handle(L, st, remove_hook); /* everything that may raise, first */
  luc_l_note(L, st, 1);
  lua_pushvalue(L, function);
  callback *cb = keep_callback(L, st);
  uint64_t id = 0;
  luc_status status =
      after ? luc_tensor_register_accumulate_hook(st->ctx, t, run_after, cb, callback_free, &id)
            : luc_tensor_register_hook(st->ctx, t, run_hook, cb, callback_free, &id);
  return hooked(L, st, handle, cb, status, id);
}

static int register_hook(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return add_hook(L, st, a, false);
}

static int register_after(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return add_hook(L, st, a, true);
}

/* ---- hooks of nodes ---- */

typedef struct node_call {
  callback *cb;
  luc_tensor *const *gout; /* NULL: the hook comes before the node */
  luc_tensor **grads;      /* which the hook may replace */
  int nout, n;
} node_call;

static void push_packed(lua_State *L, luc_l_state *st, luc_tensor *const *v, int n) {
  lua_createtable(L, n, 1);
  for (int i = 0; i < n; i++) {
    if (!v[i]) continue;
    luc_l_pushtensor(L, st, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, n);
  lua_setfield(L, -2, "n");
}

/* Puts what the hook returned, a table on top, in the gradients' place, once all of it is right. */
static void replace_grads(lua_State *L, luc_l_state *st, const node_call *call) {
  int result = lua_gettop(L);
  if ((int)lua_rawlen(L, result) > call->n)
    luc_l_error(L, "hook: must return %d gradients (got %d)", call->n, (int)lua_rawlen(L, result));
  luc_l_checkstack(L, call->n + 4);
  for (int i = 0; i < call->n; i++) {
    lua_rawgeti(L, result, i + 1);
    const luc_tensor *old = call->grads[i];
    if (lua_isnil(L, -1) && (call->gout || !old)) continue; /* none: a node cannot run without */
    const luc_tensor *t = luc_l_checktensor(L, -1, "hook", "a gradient");
    if (!old || !luc__same_sizes(t, old) || t->dtype != old->dtype)
      luc_l_error(L, "hook: gradient %d must be like the one whose place it takes (got %s)", i + 1,
                  luc_l_given(L, -1));
  }
  for (int i = 0; i < call->n; i++) {
    luc_tensor *t = luc_l_totensor(L, result + 1 + i);
    if (t) luc_tensor_retain(t);
    luc_tensor_release(st->ctx, call->grads[i]);
    call->grads[i] = t;
  }
}

static int call_node_hook(lua_State *L) {
  const node_call *call = lua_touserdata(L, 1);
  luc_l_state *st = call->cb->st;
  luc_l_callback_push(L, st, call->cb->id);
  if (lua_isboolean(L, -1)) return 0;
  push_packed(L, st, call->grads, call->n);
  if (call->gout) push_packed(L, st, call->gout, call->nout);
  lua_call(L, call->gout ? 2 : 1, 1);
  if (lua_isnil(L, -1)) return 0;
  if (lua_type(L, -1) != LUA_TTABLE) { /* the one gradient */
    lua_createtable(L, 1, 0);
    lua_insert(L, -2);
    lua_rawseti(L, -2, 1);
  }
  replace_grads(L, st, call); /* the hook may have taken itself off: cb is gone */
  return 0;
}

static luc_status run_node_hook(luc_context *ctx, void *ud, luc_tensor *const *gout, int nout,
                                luc_tensor **grads, int n) {
  (void)ctx;
  node_call call = {ud, gout, grads, nout, n};
  return luc_l_protect(call.cb->st, call_node_hook, &call);
}

/* A handle's remove function: upvalues are the grad_fn and the hook's number. */
static int remove_node_hook(lua_State *L) {
  luc_node *node = luc_l_tonode(L, lua_upvalueindex(1));
  luc_context *ctx = luc_l_state_of(L)->ctx;
  if (node && ctx)
    luc__node_hook_remove(ctx, node, (uint64_t)lua_tointeger(L, lua_upvalueindex(2)));
  return 0;
}

int luc_l_node_hook(lua_State *L, luc_l_state *st, bool before) {
  const char *who = before ? "register_prehook" : "register_hook";
  luc_node *node = luc_l_tonode(L, 1);
  const luc_value function = luc_v_int(2);
  if (!node)
    luc_l_error(L, "%s: AccumulateGrad takes no hooks: its variable's register_hook does", who);
  lua_settop(L, 2);
  luc_l_check_function(L, who, "hook", &function);
  int handle = push_hook_handle(L, st, remove_node_hook);
  lua_pushvalue(L, 2);
  callback *cb = keep_callback(L, st);
  uint64_t id = 0;
  luc_status status =
      luc__node_hook_add(st->ctx, node, before, run_node_hook, cb, callback_free, &id);
  return hooked(L, st, handle, cb, status, id);
}

/* ---- of the pass that runs ---- */

static int call_end(lua_State *L) {
  const callback *cb = lua_touserdata(L, 1);
  luc_l_callback_push(L, cb->st, cb->id);
  lua_call(L, 0, 0);
  return 0;
}

static luc_status run_end(luc_context *ctx, void *ud) {
  (void)ctx;
  return luc_l_protect(((callback *)ud)->st, call_end, ud);
}

/* queue_callback(callback) */
static int queue_callback(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int function = luc_l_check_function(L, "queue_callback", "callback", &a->v[0]);
  lua_pushvalue(L, function);
  callback *cb = keep_callback(L, st);
  luc_status status = luc__pass_then(st->ctx, run_end, cb, callback_free);
  if (status == LUC_OK) return 0;
  callback_free(st->ctx, cb);
  return luc_l_raise(L, st, status);
}

/* _pass(): its number, 0 when none runs, and that of the pass it runs in. */
static int pass_number(lua_State *L, luc_l_state *st, luc_l_args *a) {
  uint64_t outer, number = luc__pass_number(st->ctx, &outer);
  (void)a;
  lua_pushinteger(L, (lua_Integer)number);
  lua_pushinteger(L, (lua_Integer)outer);
  return 2;
}

/* _pass_count(tensors): how many of their gradients it computes. */
static int pass_count(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int count;
  luc_l_check(L, st, luc__pass_count(st->ctx, a->v[0].as.tensors, a->v[0].n, &count));
  lua_pushinteger(L, count);
  return 1;
}

/* _increment_version(tensors): as if they had been written. */
static int increment_version(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)L, (void)st;
  for (int i = 0; i < a->v[0].n; i++) {
    luc_tensor *t = a->v[0].as.tensors[i];
    if (!(t->flags & LUC_TF_INFERENCE)) t->storage->version++;
  }
  return 0;
}

/* ---- what is kept with a node ---- */

int luc_l_push_metadata(lua_State *L, luc_l_state *st, luc_node *node, luc_tensor *leaf) {
  if (!node && !luc__meta(st->ctx, leaf)) return luc_l_raise(L, st, LUC_ERR_MEMORY);
  luc_roster **hooks = node ? &node->hooks : &leaf->meta->hooks;
  const callback *cb = luc__hooks_data(*hooks);
  if (cb) {
    luc_l_callback_push(L, st, cb->id);
    return 1;
  }
  lua_newtable(L);
  lua_pushvalue(L, -1);
  callback *made = keep_callback(L, st);
  luc_status status = luc__hooks_keep(st->ctx, hooks, NULL, made, callback_free);
  if (status == LUC_OK) return 1;
  callback_free(st->ctx, made);
  return luc_l_raise(L, st, status);
}

/* ---- autograd.Function ---- */

typedef struct function_call {
  callback *cb;
  luc_tensor *const *gout;
  luc_tensor **gin;
  int ngout, ngin;
} function_call;

/* Calls the Lua side: f(function, gradients of the outputs...): one value per input. */
static int call_backward(lua_State *L) {
  function_call *call = lua_touserdata(L, 1);
  luc_l_state *st = call->cb->st;
  int first = lua_gettop(L) + 1;
  luc_l_checkstack(L, call->ngout + call->ngin + 8);
  luc_l_callback_push(L, st, call->cb->id);
  lua_pushlightuserdata(L, call->cb);
  for (int i = 0; i < call->ngout; i++) luc_l_pushtensor(L, st, call->gout[i]);
  lua_call(L, call->ngout + 1, LUA_MULTRET); /* Lua counts at most 32,767 wanted ones */
  lua_settop(L, first - 1 + call->ngin);
  for (int i = 0; i < call->ngin; i++)
    if (!lua_isnil(L, first + i)) luc_l_checktensor(L, first + i, "backward", "a gradient");
  for (int i = 0; i < call->ngin; i++) {
    luc_tensor *t = luc_l_totensor(L, first + i);
    call->gin[i] = t ? luc_tensor_retain(t) : NULL;
  }
  return 0;
}

static luc_status run_function(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                               luc_tensor **gin, int ngin) {
  (void)ctx;
  function_call call = {ud, gout, gin, ngout, ngin};
  return luc_l_protect(call.cb->st, call_backward, &call);
}

/* _record(backward, inputs, outputs, name): true if the call is in the graph. */
static int record(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_value *inputs = &a->v[1], *outputs = &a->v[2];
  luc_function fn = {.name = a->v[3].as.string, .backward = run_function, .free = callback_free};
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_pushvalue(L, (int)a->v[0].as.i);
  callback *cb = keep_callback(L, st);
  bool recorded = false;
  luc_status status = luc_function_record(st->ctx, &fn, cb, inputs->as.tensors, inputs->n,
                                          outputs->as.tensors, outputs->n, 0, &recorded);
  for (int i = 0; recorded && i < outputs->n; i++) {
    luc_meta *meta = outputs->as.tensors[i]->meta;
    if (meta && meta->node) cb->node = meta->node;
  }
  if (!recorded) callback_free(st->ctx, cb);
  luc_l_check(L, st, status);
  for (int i = 0; recorded && i < outputs->n; i++) {
    lua_rawgeti(L, 3, i + 1);
    luc_l_note(L, st, -1);
  }
  lua_pushboolean(L, recorded);
  return 1;
}

/* Pushes a view of the argument t; returns the node of the argument `function`, or NULL if it is
 * gone. */
static luc_node *alias(lua_State *L, luc_l_state *st, const luc_l_args *a, luc_l_box **box) {
  const int function = (int)a->v[0].as.i;
  const callback *cb = lua_islightuserdata(L, function) ? lua_touserdata(L, function) : NULL;
  *box = luc_l_newbox(L, st);
  luc_l_check(L, st, luc__tensor_alias(st->ctx, a->v[1].as.tensor, &(*box)->t));
  return cb ? cb->node : NULL;
}

/* _attach(function, t, i): a view of t with the history of output i (from 1) of a function, which
 * _record's backward got as its first argument: a saved output as it was, without a cycle. */
static int attach(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_box *box;
  luc_node *node = alias(L, st, a, &box);
  if (!node || a->v[2].as.i >= node->nresults) return 1;
  if (!luc__meta(st->ctx, box->t)) return luc_l_raise(L, st, LUC_ERR_MEMORY);
  luc__set_history(st->ctx, box->t, node, (uint32_t)a->v[2].as.i);
  return 1;
}

/* _attach_input(function, t, i): t, in the place of input i, whose gradients come to it. */
static int attach_input(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_box *box;
  const luc_node *node = alias(L, st, a, &box);
  if (!node || a->v[2].as.i >= node->nslots) return 1;
  luc_l_check(L, st, luc__saved_join(st->ctx, box->t, &node->edges[a->v[2].as.i]));
  return 1;
}

/* ---- saved tensors ---- */

/* A call of saved_tensors_hooks, kept as a callback while it is open; its user value is the
 * function that packs: from a tensor it makes the function that gives it back. */
typedef struct region {
  luc_saved_hooks hooks;
  luc_l_state *st;
  uint64_t id;
  bool open;
} region;

typedef struct saved_call {
  const region *of;
  callback *cb;
  luc_tensor *t;
} saved_call;

static int call_pack(lua_State *L) {
  saved_call *call = lua_touserdata(L, 1);
  luc_l_state *st = call->of->st;
  luc_l_callback_push(L, st, call->of->id);
  lua_getiuservalue(L, -1, 1);
  luc_l_pushtensor(L, st, call->t);
  lua_call(L, 1, 1);
  call->cb = keep_callback(L, st);
  return 0;
}

static luc_status pack_saved(luc_context *ctx, const luc_saved_hooks *hooks, luc_tensor *t,
                             void **packed) {
  saved_call call = {(const region *)hooks, NULL, t};
  (void)ctx;
  LUC_TRY(luc_l_protect(call.of->st, call_pack, &call));
  *packed = call.cb;
  return LUC_OK;
}

/* A second result that is true gives the tensor away, so that it goes without the collector. */
static int call_unpack(lua_State *L) {
  saved_call *call = lua_touserdata(L, 1);
  luc_l_callback_push(L, call->cb->st, call->cb->id);
  if (lua_isboolean(L, -1)) luc_l_error(L, "backward: what a saved tensor was packed as is gone");
  lua_call(L, 0, 2);
  call->t = luc_tensor_retain(luc_l_checktensor(L, -2, "unpack_hook", "the result"));
  if (lua_toboolean(L, -1)) luc_l_release_box(L, call->cb->st, luc_l_tobox(L, -2));
  return 0;
}

static luc_status unpack_saved(luc_context *ctx, void *packed, luc_tensor **t) {
  saved_call call = {NULL, packed, NULL};
  (void)ctx;
  LUC_TRY(luc_l_protect(call.cb->st, call_unpack, &call));
  *t = call.t;
  return LUC_OK;
}

luc_status luc_l_pack_saved(lua_State *L, luc_l_state *st) {
  lua_State *outer = luc_l_enter(st, L);
  luc_status status = luc__saved_pack_waiting(st->ctx);
  st->L = outer;
  return status;
}

/* Ends the region in the upvalue, wherever it stands among the open ones. */
static int end_region(lua_State *L) {
  region *r = lua_touserdata(L, lua_upvalueindex(1));
  luc_context *ctx = r->st->ctx;
  if (!ctx || !r->open) return 0;
  luc_saved_hooks **link = &ctx->saved_hooks;
  while (*link && *link != &r->hooks) link = &(*link)->outer;
  if (*link) *link = r->hooks.outer;
  r->open = false;
  luc__saved_forget_waiting(ctx);
  luc_l_callback_drop(r->st, r->id);
  return 0;
}

/* _saved_hooks(pack): a handle that ends the region; pack(t) gives a function that gives t back. */
static int saved_hooks(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_check(L, st, luc__context_on_close(st->ctx, luc__saved_forget_waiting));
  region *r = lua_newuserdatauv(L, sizeof *r, 1);
  *r = (region){{NULL, pack_saved, unpack_saved, callback_free}, st, 0, false};
  lua_pushvalue(L, (int)a->v[0].as.i);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, end_region, 1);
  push_handle(L, st);
  lua_insert(L, -2);
  r->id = luc_l_callback_keep(L, st);
  r->hooks.outer = st->ctx->saved_hooks;
  r->open = true;
  st->ctx->saved_hooks = &r->hooks;
  return 1;
}

/* _saved_hook(): the packing function of the innermost region, or nil. */
static int saved_hook(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const region *r = (const region *)st->ctx->saved_hooks;
  (void)a;
  if (!r) return 0;
  luc_l_callback_push(L, st, r->id);
  lua_getiuservalue(L, -1, 1);
  return 1;
}

/* ---- tables ---- */

static const luc_l_native natives[] = {
    {"register_hook(Tensor self, Any hook) -> Any", register_hook, LUC_F_METHOD},
    {"register_post_accumulate_grad_hook(Tensor self, Any hook) -> Any", register_after,
     LUC_F_METHOD},
};

static const luc_l_native autograd_natives[] = {
    {"_record(Any backward, Tensor?[] inputs, Tensor[] outputs, str name)", record, LUC_F_FUNCTION},
    {"_attach(Any function, Tensor t, Index output)", attach, LUC_F_FUNCTION},
    {"_attach_input(Any function, Tensor t, Index input)", attach_input, LUC_F_FUNCTION},
    {"_saved_hooks(Any pack)", saved_hooks, LUC_F_FUNCTION},
    {"_saved_hook()", saved_hook, LUC_F_FUNCTION},
    {"_queue_callback(Any callback)", queue_callback, LUC_F_FUNCTION},
    {"_pass()", pass_number, LUC_F_FUNCTION},
    {"_pass_count(Tensor[] tensors)", pass_count, LUC_F_FUNCTION},
    {"_increment_version(Tensor[] tensors)", increment_version, LUC_F_FUNCTION},
};

void luc_l_open_graph(lua_State *L, luc_l_state *st) {
  luc_l_make_meta(L, st, LUC_L_HANDLE_META, "RemovableHandle");
  lua_pushcfunction(L, handle_remove);
  lua_setfield(L, -2, "__close");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, handle_remove);
  lua_setfield(L, -2, "remove");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
  luc_l_add_natives_to(L, st, "autograd", autograd_natives,
                       sizeof autograd_natives / sizeof *autograd_natives);
}
