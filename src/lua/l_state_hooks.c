/* Hooks around saving and loading, for Lua: the core keeps one list of C's and Lua's; Lua's
 * functions stand in the peer's table by id, beside those of the other hooks. */
#include "l_module.h"

static luc_state_event check_event(lua_State *L, int index) {
  lua_Integer event = luaL_checkinteger(L, index);
  luaL_argcheck(L, event >= 0 && event < LUC_STATE_EVENTS, index, "no such event");
  return (luc_state_event)event;
}

/* core.nn._last_hook_id(): those registered from now on have a larger one. */
static int last_hook_id(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)luc_l_state_of(L)->ctx->next_id);
  return 1;
}

/* core.nn._next_state_hook(m, event, after, last): id and function (false: C's) of the first one
 * after an id and up to another; nothing at the end. */
static int next_state_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  const luc_module_hook *hook =
      luc__state_hook_next(peer->m, check_event(L, 2), (uint64_t)luaL_checkinteger(L, 3),
                           (uint64_t)luaL_checkinteger(L, 4));
  if (!hook) return 0;
  lua_pushinteger(L, (lua_Integer)hook->id);
  lua_pushboolean(L, false);
  if (hook->host && luc_l_push_hook_functions(L, peer->nn, 1, false))
    lua_rawgeti(L, -1, (lua_Integer)hook->id);
  lua_replace(L, 6);
  lua_settop(L, 6);
  return 2;
}

/* core.nn._state_hooked(m, event, event): has a module of the tree a hook of Lua's for one? */
static int state_hooked(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_state *st = peer->nn->st;
  uint32_t events = 1u << check_event(L, 2) | 1u << check_event(L, 3);
  bool found;
  luc_l_check(L, st, luc__state_hooked(st->ctx, peer->m, events, true, &found));
  lua_pushboolean(L, found);
  return 1;
}

/* core.nn._registration_hooked(): is there a hook that sees what modules take? */
static int registration_hooked(lua_State *L) {
  lua_pushboolean(L, luc__nn_of(luc_l_state_of(L)->ctx)->registration != NULL);
  return 1;
}

static const luaL_Reg functions[] = {{"_last_hook_id", last_hook_id},
                                     {"_next_state_hook", next_state_hook},
                                     {"_state_hooked", state_hooked},
                                     {"_registration_hooked", registration_hooked},
                                     {NULL, NULL}};

void luc_l_open_state_hooks(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
}
