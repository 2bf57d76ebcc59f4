/* Hooks for Lua. The core keeps one ordered list of C's and Lua's hooks; Lua's functions stand in
 * the peer's table by id, and the Lua driver walks lists made from both. */
#include "l_module.h"

bool luc_l_push_hook_functions(lua_State *L, luc_l_nn *nn, int index, bool make) {
  if (lua_isnil(L, index))
    lua_pushvalue(L, LUA_REGISTRYINDEX);
  else
    lua_getiuservalue(L, index, 1);
  if (lua_rawgetp(L, -1, &nn->hooks) == LUA_TNIL) {
    lua_pop(L, 1);
    if (!make) {
      lua_pop(L, 1);
      return false;
    }
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, &nn->hooks);
  }
  lua_replace(L, -2);
  return true;
}

/* core.nn._add_hook(m, kind, f, flags): its id; m nil: of every module. The function is in place
 * before the core knows it. */
static int add_hook(lua_State *L) {
  luc_l_peer *peer = lua_isnil(L, 1) ? NULL : luc_l_checkpeer(L, 1, "register_hook");
  luc_l_nn *nn = peer ? peer->nn : luc_l_state_of(L)->nn;
  luc_context *ctx = luc_l_context(L, nn->st);
  lua_Integer kind = luaL_checkinteger(L, 2);
  luaL_argcheck(L, kind >= 0 && kind < LUC_HOOK_STATE + LUC_STATE_EVENTS, 2, "no such kind");
  luc_module_hook hook = {
      .kind = (uint8_t)kind, .flags = (uint8_t)luaL_checkinteger(L, 4), .host = true};
  lua_Integer next = (lua_Integer)ctx->next_id + 1;
  luc_l_push_hook_functions(L, nn, 1, true);
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, next);
  uint64_t id;
  lua_State *outer = luc_l_enter(nn->st, L);
  luc_status status = luc__hook_add(ctx, peer ? peer->m : NULL, &hook, &id);
  nn->st->L = outer;
  if (status == LUC_OK) {
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
  }
  lua_pushnil(L);
  lua_rawseti(L, -2, next);
  return luc_l_raise(L, nn->st, status);
}

/* core.nn._remove_hook(m, id); m nil: of every module */
static int remove_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  luc_l_nn *nn = peer ? peer->nn : luc_l_state_of(L)->nn;
  lua_Integer id = luaL_checkinteger(L, 2);
  if ((!peer && !lua_isnil(L, 1)) || (peer && !peer->m) || !nn->st->ctx) return 0;
  lua_State *outer = luc_l_enter(nn->st, L);
  bool removed = luc_module_remove_hook(nn->st->ctx, peer ? peer->m : NULL, (uint64_t)id);
  nn->st->L = outer;
  if (removed && luc_l_push_hook_functions(L, nn, 1, false) && lua_rawgeti(L, -1, id) != LUA_TNIL) {
    lua_pushnil(L);
    lua_rawseti(L, -3, id);
  }
  return 0;
}

/* core.nn._hooks(m): {kind, function, flags, id, …} of Lua's hooks, in order. */
static int hooks_of(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "clone");
  const luc_module_hook *next;
  lua_Integer n = 0;
  lua_settop(L, 1);
  lua_newtable(L);
  luc_l_push_hook_functions(L, peer->nn, 1, true);
  for (uint64_t at = 0; (next = luc__own_hook(peer->m, &at)) != NULL;) {
    const luc_module_hook hook = *next; /* which a finalizer may remove */
    if (!hook.host || hook.removed) continue;
    lua_pushinteger(L, hook.kind);
    lua_rawseti(L, 2, ++n);
    if (lua_rawgeti(L, 3, (lua_Integer)hook.id) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushboolean(L, false); /* a copy that has no function yet */
    }
    lua_rawseti(L, 2, ++n);
    lua_pushinteger(L, hook.flags);
    lua_rawseti(L, 2, ++n);
    lua_pushinteger(L, (lua_Integer)hook.id);
    lua_rawseti(L, 2, ++n);
  }
  lua_settop(L, 2);
  return 1;
}

/* core.nn._set_hook(m, id, f): gives a hook of Lua's that the core copied its function. */
static int set_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "clone");
  lua_Integer id = luaL_checkinteger(L, 2);
  lua_settop(L, 3);
  luc_l_push_hook_functions(L, peer->nn, 1, true);
  lua_pushvalue(L, 3);
  lua_rawseti(L, 4, id);
  return 0;
}

/* ---- C's hooks, called from the Lua driver ---- */

/* How many values the table at index packs; -1: it is none that does, in the driver's eyes. */
static int count_packed(lua_State *L, int index) {
  enum { MOST = 1 << 16 };
  if (lua_type(L, index) != LUA_TTABLE) return -1;
  if (lua_getmetatable(L, index)) {
    lua_pop(L, 1);
    return -1;
  }
  lua_pushliteral(L, "n");
  int integral = lua_rawget(L, index) == LUA_TNUMBER;
  lua_Integer n = integral ? lua_tointegerx(L, -1, &integral) : -1;
  lua_pop(L, 1);
  return integral && n >= 0 && n <= MOST ? (int)n : -1;
}

/* The values of a packed table. Tensors stay in the table, which is on the stack. */
static int read_packed(lua_State *L, int index, luc_value *v, int most) {
  int n = count_packed(L, index);
  if (n > most) n = most;
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, index, i + 1);
    v[i] = luc_l_plain_value(L, -1);
    lua_pop(L, 1);
  }
  return n;
}

/* The outputs at 3 (one value, or a packed table), owned: as many as C sees, and of other kinds
 * than it knows nothing. */
static void read_outputs(lua_State *L, luc_outputs *out) {
  out->n = read_packed(L, 3, out->v, LUC_MAX_OUTPUTS);
  if (out->n < 0) {
    out->n = lua_isnil(L, 3) ? 0 : 1;
    out->v[0] = luc_l_plain_value(L, 3);
  }
  for (int i = 0; i < out->n; i++)
    if (out->v[i].kind == LUC_TENSOR) luc_tensor_retain(out->v[i].as.tensor);
}

/* Is this value what the hook was given? */
static bool is_left(const luc_value *given, const luc_value *v) {
  return v->kind == given->kind && v->n == given->n && v->as.i == given->as.i;
}

static bool all_left(const luc_value *given, int ngiven, const luc_outputs *out) {
  int i = 0;
  while (i < ngiven && i < out->n && is_left(&given[i], &out->v[i])) i++;
  return i == ngiven && i == out->n;
}

/* Pushes what a hook made of what it was given, the value or the packed table at `from`, and drops
 * it. Where it left something as it was, Lua's own value stays, and what C did not see. */
static int push_made(lua_State *L, luc_l_nn *nn, int from, const luc_value *given, int ngiven,
                     luc_outputs *out) {
  int packed = count_packed(L, from), n = out->n;
  if (n == ngiven && n < packed) n = packed;
  luc_l_hold *hold = luc_l_newhold(L, nn->st);
  for (int i = 0; i < out->n; i++) hold->values[i] = out->v[i];
  lua_createtable(L, n, 1);
  for (int i = 0; i < n; i++) {
    bool left = i >= out->n || (i < ngiven && is_left(&given[i], &out->v[i]));
    if (left && packed >= 0)
      lua_rawgeti(L, from, i + 1);
    else if (left)
      lua_pushvalue(L, from);
    else if (out->v[i].kind == LUC_TENSOR)
      luc_l_pushtensor(L, nn->st, out->v[i].as.tensor);
    else
      luc_l_push_value(L, &out->v[i], false);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, n);
  lua_setfield(L, -2, "n");
  luc_l_release_hold(hold);
  return 1;
}

/* Runs a hook, which may remove itself: it is there until it has returned. */
static luc_status run_c_hook(luc_l_nn *nn, luc_module_hook *hook, luc_module *m,
                             const luc_value *args, int nargs, luc_outputs *out) {
  luc_context *ctx = nn->st->ctx;
  const bool pre = hook->kind == LUC_HOOK_PRE;
  const int before = out->n;
  hook->refs++;
  luc_status status = pre ? hook->fn.pre(ctx, hook->ud, m, args, nargs, out)
                          : hook->fn.forward(ctx, hook->ud, m, args, nargs, out);
  luc__hook_release(ctx, hook);
  if (pre && out->n < 0) return status;
  luc_status counted = luc__hook_counted(ctx, m, &out->n, before);
  return status != LUC_OK ? status : counted;
}

/* Called as a hook: (m, args) or (m, args, output). Upvalue 1 is the id. */
static int call_c_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "hook");
  luc_l_nn *nn = peer->nn;
  luc_context *ctx = nn->st->ctx;
  lua_settop(L, 3);
  uint64_t id = (uint64_t)lua_tointeger(L, lua_upvalueindex(1));
  luc_module_hook *hook = luc__hook_find(peer->m->hooks, id);
  if (!hook) hook = luc__hook_find(luc__nn_of(ctx)->hooks, id);
  if (!hook) return 0;
  const bool pre = hook->kind == LUC_HOOK_PRE;
  luc_value args[LUC_MAX_PARAMS];
  int nargs = read_packed(L, 2, args, LUC_MAX_PARAMS);
  luc_outputs out = {.n = -1};
  if (!pre) read_outputs(L, &out);
  const luc_outputs given = out;
  lua_State *outer = luc_l_enter(nn->st, L);
  luc_status status = run_c_hook(nn, hook, peer->m, args, nargs < 0 ? 0 : nargs, &out);
  nn->st->L = outer;
  bool made = out.n >= 0 && (pre || !all_left(given.v, given.n, &out));
  if (status == LUC_OK && made)
    return pre ? push_made(L, nn, 2, args, nargs, &out)
               : push_made(L, nn, 3, given.v, given.n, &out);
  if (out.n > 0) luc_outputs_release(ctx, &out);
  return status == LUC_OK ? 0 : luc_l_raise(L, nn->st, status);
}

/* ---- lists for the driver ---- */

/* Where lists are made on the stack: the module, its functions by id, and those of all modules. */
enum { SELF = 2, OWN, SHARED };

/* Pushes the function of a Lua hook. */
static void push_function(lua_State *L, const luc_module_hook *hook) {
  if (lua_rawgeti(L, OWN, (lua_Integer)hook->id) != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_rawgeti(L, SHARED, (lua_Integer)hook->id);
}

/* The next hook of one kind, in the lists as they are now: a finalizer may have made others. */
static luc_module_hook *next_hook(const luc_l_peer *peer, int kind, luc_hook_at *at) {
  const luc_hook_lists now = {{luc__nn_of(peer->nn->st->ctx)->hooks, peer->m->hooks}};
  return luc__next_hook(&now, kind, at);
}

/* Pushes the list of one kind, or false. */
static void push_list(lua_State *L, const luc_l_peer *peer, int kind) {
  lua_Integer n = 0;
  luc_module_hook *hook;
  lua_newtable(L);
  for (luc_hook_at at = {0}; (hook = next_hook(peer, kind, &at)) != NULL;) {
    if (hook->removed) continue;
    const bool always = hook->flags & LUC_HOOK_ALWAYS_CALL;
    if (!hook->host) {
      lua_pushinteger(L, (lua_Integer)hook->id);
      lua_pushcclosure(L, call_c_hook, 1);
    } else {
      push_function(L, hook);
    }
    lua_rawseti(L, -2, ++n);
    if (!always) continue;
    luaL_getsubtable(L, -1, "always");
    lua_pushboolean(L, true);
    lua_rawseti(L, -2, n);
    lua_pop(L, 1);
  }
  if (n > 0) return;
  lua_pop(L, 1);
  lua_pushboolean(L, false);
}

/* Pushes what calls with backward hooks keep, or false: the peer at 0, functions by id. */
static void push_anchor(lua_State *L, const luc_l_peer *peer) {
  bool any = false;
  luc_module_hook *hook;
  lua_newtable(L);
  for (int kind = LUC_HOOK_FULL_BACKWARD_PRE; kind < LUC_HOOK_KINDS; kind++) {
    for (luc_hook_at at = {0}; (hook = next_hook(peer, kind, &at)) != NULL;) {
      if (hook->removed) continue;
      any = true;
      if (!hook->host) continue;
      push_function(L, hook);
      lua_rawseti(L, -2, (lua_Integer)hook->id);
    }
  }
  if (any) {
    lua_pushvalue(L, SELF);
    lua_rawseti(L, -2, 0);
    return;
  }
  lua_pop(L, 1);
  lua_pushboolean(L, false);
}

/* __index of the table of all modules' lists: makes those of the module at 2 and keeps them, unless
 * a finalizer changed hooks meanwhile. */
static int make_lists(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, SELF, "hooks");
  const uint32_t changes = peer->nn->hook_changes;
  lua_settop(L, SELF);
  luc_l_push_hook_functions(L, peer->nn, SELF, true);
  lua_pushnil(L);
  luc_l_push_hook_functions(L, peer->nn, 4, true);
  lua_remove(L, 4);
  lua_createtable(L, 3, 0);
  push_list(L, peer, LUC_HOOK_PRE);
  lua_rawseti(L, -2, 1);
  push_list(L, peer, LUC_HOOK_FORWARD);
  lua_rawseti(L, -2, 2);
  push_anchor(L, peer);
  lua_rawseti(L, -2, 3);
  if (peer->nn->hook_changes != changes) return 1;
  lua_pushvalue(L, SELF);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static const luaL_Reg functions[] = {{"_add_hook", add_hook},
                                     {"_remove_hook", remove_hook},
                                     {"_hooks", hooks_of},
                                     {"_set_hook", set_hook},
                                     {NULL, NULL}};

void luc_l_open_hooks(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
  luc_l_get(L, nn->st, LUC_L_CORE);
  luaL_getsubtable(L, -1, "nn");
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_pushcfunction(L, make_lists);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->hook_lists);
  lua_setfield(L, -2, "_hook_lists");
  lua_pop(L, 2);
}
