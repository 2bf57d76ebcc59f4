/* Arguments of functions written in Lua, by the rules of the whole API: positional ones in order,
 * then a table of keyword arguments. What the core has a schema for is read by l_args.c. */
#include <string.h>

#include "l_tensor.h"
#include "tensor/text.h"

enum { WHO = 1, NAMES, FIRST }; /* places of arguments */

static void fail_key(lua_State *L, int key, int most) {
  const char *who = lua_tostring(L, WHO), *text = luaL_tolstring(L, key, NULL), *closest = NULL;
  int best = lua_type(L, key) == LUA_TSTRING ? (int)strlen(text) / 2 + 1 : 0;
  for (int i = 1; i <= most; i++) {
    lua_rawgeti(L, NAMES, i);
    const char *name = lua_tostring(L, -1);
    int d = best > 0 && name ? luc__miss(text, name) : best;
    if (d < best) {
      closest = name;
      best = d;
    }
    lua_pop(L, 1); /* the list has it */
  }
  if (!closest) luc_l_error(L, "%s: unknown argument '%s'", who, text);
  luc_l_error(L, "%s: unknown argument '%s' (did you mean '%s'?)", who, text, closest);
}

/* Which name the key on top of the stack is, from 1. */
static int find_name(lua_State *L, int most) {
  int key = lua_gettop(L);
  for (int i = 1; i <= most; i++) {
    lua_rawgeti(L, NAMES, i);
    bool same = lua_rawequal(L, key, -1);
    lua_pop(L, 1);
    if (same) return i;
  }
  fail_key(L, key, most);
  return 0;
}

/* Puts the values of the table on top in their places among the values from FIRST on. */
static void read_keywords(lua_State *L, int most) {
  lua_insert(L, FIRST); /* the values begin one later meanwhile */
  lua_settop(L, FIRST + most);
  for (lua_pushnil(L); lua_next(L, FIRST);) {
    lua_pushvalue(L, -2);
    int place = FIRST + find_name(L, most);
    if (!lua_isnil(L, place))
      luc_l_error(L, "%s: argument '%s' is given twice", lua_tostring(L, WHO), lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_replace(L, place);
  }
  lua_remove(L, FIRST);
}

/* A table without a metatable whose first key is a name. */
static bool is_keywords(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) return false;
  bool named = !lua_getmetatable(L, index);
  if (named) {
    lua_pushnil(L);
    named = lua_next(L, index) && lua_type(L, -2) == LUA_TSTRING;
  }
  lua_settop(L, index);
  return named;
}

/* An empty table for the parameter names.options, or a later one, which takes no tables: options
 * that are none. */
static bool is_no_options(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) return false;
  bool none = !lua_getmetatable(L, index);
  if (none) {
    lua_pushnil(L);
    none = !lua_next(L, index) && lua_getfield(L, NAMES, "options") == LUA_TNUMBER &&
           index - NAMES >= lua_tointeger(L, -1);
  }
  lua_settop(L, index);
  return none;
}

/* core._arguments(who, names, ...) -> the values in the order of names, as many as were given or
 * more; nil in the place of lucerna.none, which is the upvalue. */
static int arguments(lua_State *L) {
  luaL_checkstring(L, WHO);
  luaL_checktype(L, NAMES, LUA_TTABLE);
  int n = lua_gettop(L) - NAMES, most = (int)lua_rawlen(L, NAMES);
  if (n > 0 && is_no_options(L, NAMES + n)) lua_settop(L, NAMES + --n);
  bool named = n > 0 && is_keywords(L, NAMES + n);
  if (n - named > most)
    return luc_l_error(L, "%s: takes at most %d arguments (got %d)", lua_tostring(L, WHO), most,
                       n - named);
  luc_l_checkstack(L, most + 8);
  if (named) {
    read_keywords(L, most);
    n = most;
  }
  const void *none = lua_touserdata(L, lua_upvalueindex(1));
  for (int i = FIRST; i < FIRST + n; i++) {
    if (lua_touserdata(L, i) != none) continue;
    lua_pushnil(L);
    lua_replace(L, i);
  }
  if (n == 0) lua_pushnil(L);
  return n ? n : 1;
}

/* Into the table on top of the stack. */
void luc_l_open_named(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_NONE);
  lua_pushcclosure(L, arguments, 1);
  lua_setfield(L, -2, "_arguments");
}
