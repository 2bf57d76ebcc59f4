/* Calls of modules with one hook, which comes after forward: what most hooks are. In C they take a
 * quarter less time than by the driver in Lua, as all other calls with hooks go. But C's stack has
 * room for some 200 calls: once LUC_L_DEEP lie within each other, Lua's driver takes these, too. */
#include "l_module.h"

/* What lies where on the stack of a call with n arguments. */
enum {
  SELF = 1,
  NN = lua_upvalueindex(1),
  CLASS = lua_upvalueindex(2),
  LISTS = lua_upvalueindex(3)
};
static int packed_at(lua_KContext n) {
  return (int)n + 2;
} /* the arguments, for the hook */
static int result_at(lua_KContext n) {
  return (int)n + 3;
} /* what forward returned */

/* Begins a call: its number among those in C's stack. Of those noted, which lie above each other,
 * the ones below this one have ended, by errors and yields. */
static int begin(luc_l_nn *nn) {
  const uintptr_t here = (uintptr_t)&nn;
  while (nn->calls > 0 && nn->places[nn->calls - 1] <= here) nn->calls--;
  if (nn->calls < LUC_L_DEEP) {
    nn->places[nn->calls++] = here;
  } else if (!nn->deep) {
    nn->deep = true;
    luc_context *ctx = nn->st->ctx;
    for (luc_module *m = luc__nn_of(ctx)->live; m; m = m->next) luc__module_impure(ctx, m, 0);
  }
  return nn->calls - 1;
}

/* Pushes the arguments at 2 to n + 1 as a table with a field n. */
static void pack(lua_State *L, int n) {
  lua_createtable(L, n, 1);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, SELF + i);
    lua_rawseti(L, -2, i);
  }
  lua_pushinteger(L, n);
  lua_setfield(L, -2, "n");
}

/* Pushes self.forward. */
static void push_forward(lua_State *L, const luc_l_peer *peer) {
  const char *forward = peer->nn->forward;
  if (!peer->cls->properties) {
    lua_getiuservalue(L, SELF, 1);
    bool own = lua_getfield(L, -1, forward) != LUA_TNIL;
    lua_pop(L, 2);
    if (!own && lua_getfield(L, CLASS, forward) == LUA_TFUNCTION) return;
    if (!own) lua_pop(L, 1); /* nothing, or a property, or what can be called */
  }
  lua_getfield(L, SELF, forward);
}

/* What the hook returned is on top. */
static int after_hook(lua_State *L, int status, lua_KContext n) {
  (void)status;
  const int type = lua_type(L, -1), top = lua_gettop(L);
  if (type == LUA_TNIL) lua_settop(L, result_at(n));
  if (type != LUA_TTABLE) return 1;
  luc_l_push_function(L, lua_touserdata(L, NN), "outputs_of");
  lua_insert(L, top);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L) - top + 1;
}

static int after_hooks(lua_State *L, int status, lua_KContext n) {
  (void)status;
  return lua_gettop(L) - packed_at(n) + 1;
}

/* By now there may be other hooks than this one, or none. */
static int after_forward(lua_State *L, int status, lua_KContext n) {
  const int top = lua_gettop(L);
  luc_l_checkstack(L, 8);
  lua_pushvalue(L, SELF);
  lua_gettable(L, LISTS);
  const bool any = lua_rawgeti(L, -1, 2) == LUA_TTABLE;
  if (any && lua_rawlen(L, -1) == 1 && top == result_at(n)) {
    lua_rawgeti(L, -1, 1);
    lua_pushvalue(L, SELF);
    lua_pushvalue(L, packed_at(n));
    lua_pushvalue(L, result_at(n));
    lua_callk(L, 3, 1, n, after_hook);
    return after_hook(L, status, n);
  }
  lua_settop(L, top);
  luc_l_push_function(L, lua_touserdata(L, NN), "run_hooks"); /* (self, nil, args, …) */
  lua_pushvalue(L, SELF);
  lua_pushnil(L);
  lua_rotate(L, packed_at(n), 3);
  lua_callk(L, top - packed_at(n) + 3, LUA_MULTRET, n, after_hooks);
  return after_hooks(L, status, n);
}

int luc_l_hooked_call(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, SELF, "nn");
  const int n = lua_gettop(L) - 1;
  luc_l_checkstack(L, n + 8);
  pack(L, n);
  push_forward(L, peer);
  for (int i = 0; i <= n; i++) lua_pushvalue(L, SELF + i);
  const int number = begin(peer->nn);
  lua_callk(L, n + 1, LUA_MULTRET, n, after_forward);
  const int results = after_forward(L, LUA_OK, n); /* from where the hook calls more */
  peer->nn->calls = number;
  return results;
}
