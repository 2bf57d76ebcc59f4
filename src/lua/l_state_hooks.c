/* Hooks around saving and loading, for Lua: the core keeps one list of C's and Lua's; Lua's
 * functions stand in the peer's table by id, beside those of the other hooks. */
#include "l_module.h"

static luc_state_event check_event(lua_State *L, int index) {
  lua_Integer event = luaL_checkinteger(L, index);
  luaL_argcheck(L, event >= 0 && event < LUC_STATE_EVENTS, index, "no such event");
  return (luc_state_event)event;
}

/* core.nn._add_state_hook(m, event, f): its id. The function is in place before the core knows. */
static int add_state_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "register_state_hook");
  luc_l_state *st = peer->nn->st;
  luc_state_hook hook = {.event = check_event(L, 2), .host = true};
  lua_Integer next = (lua_Integer)st->ctx->next_id + 1;
  uint64_t id;
  lua_settop(L, 3);
  luc_l_push_hook_functions(L, peer->nn, 1, true);
  lua_pushvalue(L, 3);
  lua_rawseti(L, 4, next);
  luc_status status = luc__state_hook_add(st->ctx, peer->m, &hook, &id);
  if (status == LUC_OK) {
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
  }
  lua_pushnil(L);
  lua_rawseti(L, 4, next);
  return luc_l_raise(L, st, status);
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
  const luc_state_hook *hook =
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

/* core.nn._state_hooks(m): {event, function, id, …} of Lua's, in order. */
static int state_hooks(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "clone");
  lua_Integer n = 0;
  lua_settop(L, 1);
  lua_newtable(L);
  if (!peer->m->state_hooks) return 1;
  luc_l_push_hook_functions(L, peer->nn, 1, true);
  for (const luc_state_hook *hook = peer->m->state_hooks; hook; hook = hook->next) {
    if (!hook->host) continue;
    lua_pushinteger(L, hook->event);
    lua_rawseti(L, 2, ++n);
    if (lua_rawgeti(L, 3, (lua_Integer)hook->id) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushboolean(L, false); /* a copy that has no function yet */
    }
    lua_rawseti(L, 2, ++n);
    lua_pushinteger(L, (lua_Integer)hook->id);
    lua_rawseti(L, 2, ++n);
  }
  lua_settop(L, 2);
  return 1;
}

/* core.nn._state_hooked(m, event, event): has a module of the tree a hook of Lua's for one? */
static int state_hooked(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_state *st = peer->nn->st;
  uint32_t events = 1u << check_event(L, 2) | 1u << check_event(L, 3);
  bool found;
  luc_status status = luc__state_hooked(st->ctx, peer->m, events, true, &found);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  lua_pushboolean(L, found);
  return 1;
}

/* core.nn._registration_hooked(): is there a hook that sees what modules take? */
static int registration_hooked(lua_State *L) {
  lua_pushboolean(L, luc__nn_of(luc_l_state_of(L)->ctx)->registration != NULL);
  return 1;
}

static const luaL_Reg functions[] = {{"_add_state_hook", add_state_hook},
                                     {"_last_hook_id", last_hook_id},
                                     {"_next_state_hook", next_state_hook},
                                     {"_state_hooks", state_hooks},
                                     {"_state_hooked", state_hooked},
                                     {"_registration_hooked", registration_hooked},
                                     {NULL, NULL}};

void luc_l_open_state_hooks(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
}
