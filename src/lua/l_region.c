/* core._suspendable(make, f, ...): f(...), which may yield, while the guard that make() returns is
 * in force. f runs in a coroutine of its own, so that the guard goes out of force as f yields and
 * comes back, by make(guard), as f goes on. In C, since a host's debug hook may yield between any
 * two instructions of Lua's. */
#include "l_tensor.h"

/* What ends the call, however it ends. */
typedef struct region {
  bool in_force;
} region;

enum { COROUTINE = 1, MAKE, GUARD, REGION = 2 }; /* its user values; where it is on the stack */

static int put_in_force(lua_State *L) {
  region *r = luc_l_userdata(L, 1, sizeof *r);
  if (!r) return 0;
  lua_getiuservalue(L, 1, MAKE);
  lua_getiuservalue(L, 1, GUARD);
  lua_call(L, 1, 1);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, GUARD);
  r->in_force = true; /* a guard that was not called takes being closed */
  lua_call(L, 0, 0);
  return 0;
}

/* problem: the place of the error object of a call that fails, or 0. */
static void put_out_of_force(lua_State *L, int at, int problem) {
  region *r = luc_l_userdata(L, at, sizeof *r);
  if (!r || !r->in_force) return;
  r->in_force = false;
  lua_getiuservalue(L, at, GUARD);
  if (luaL_getmetafield(L, -1, "__close") == LUA_TNIL) lua_pushnil(L);
  lua_insert(L, -2);
  if (problem) {
    lua_pushvalue(L, problem);
  } else {
    lua_pushnil(L);
  }
  lua_call(L, 2, 0);
}

/* What f left to be closed is closed in the region. */
static int region_close(lua_State *L) {
  region *r = luc_l_userdata(L, 1, sizeof *r);
  if (!r) return 0;
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, COROUTINE);
  lua_State *co = lua_tothread(L, 3);
  if (!co) return 0;
  int status = lua_status(co);
  if (status == LUA_YIELD && !r->in_force) {
    lua_pushcfunction(L, put_in_force);
    lua_pushvalue(L, 1);
    (void)lua_pcall(L, 1, 0, 0);
  }
  if (status != LUA_OK) status = lua_resetthread(co);
  if (status != LUA_OK) {
    lua_xmove(co, L, 1);
    lua_replace(L, 2);
  }
  put_out_of_force(L, 1, 2);
  if (status == LUA_OK) return 0;
  lua_settop(L, 2);
  return lua_error(L);
}

/* Raises the error on top, as it is after the end: a coroutine that fails closes nothing by itself.
 */
static int fail(lua_State *L) {
  lua_pushcfunction(L, region_close);
  lua_pushvalue(L, REGION);
  lua_pushvalue(L, -3);
  lua_call(L, 2, 0);
  return lua_error(L);
}

/* Resumes f with what is above the region. */
static int go_on(lua_State *L, int status, lua_KContext unused) {
  lua_State *co = lua_tothread(L, COROUTINE);
  int n = lua_gettop(L) - REGION;
  if (!lua_checkstack(co, n)) return luc_l_error(L, "too many arguments");
  lua_pushcfunction(L, put_in_force);
  lua_pushvalue(L, REGION);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) return fail(L);
  lua_xmove(L, co, n);
  status = lua_resume(co, L, status == LUA_YIELD ? n : n - 1, &n);
  bool failed = status != LUA_OK && status != LUA_YIELD;
  if (failed || !lua_checkstack(L, n + 8)) {
    if (!failed) lua_pushliteral(co, "too many results");
    lua_xmove(co, L, 1);
    lua_pushvalue(L, -1);
    lua_xmove(L, co, 1); /* its end looks for it there */
    return fail(L);
  }
  lua_xmove(co, L, n);
  put_out_of_force(L, REGION, 0);
  return status == LUA_YIELD ? lua_yieldk(L, n, unused, go_on) : n;
}

static int suspendable(lua_State *L) {
  luaL_checkany(L, 2);
  lua_newthread(L);
  region *r = lua_newuserdatauv(L, sizeof *r, GUARD);
  r->in_force = false;
  luc_l_set_meta(L, luc_l_state_of(L), LUC_L_SUSPENDED_META);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, COROUTINE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, MAKE);
  lua_replace(L, 1);
  lua_insert(L, 1); /* the coroutine, the region, f and its arguments */
  lua_toclose(L, REGION);
  return go_on(L, LUA_OK, 0);
}

bool luc_l_runs_region(lua_State *thread) {
  lua_Debug ar;
  if (!lua_checkstack(thread, 1) || !lua_getstack(thread, 0, &ar)) return false;
  lua_getinfo(thread, "f", &ar);
  const bool runs = lua_tocfunction(thread, -1) == suspendable;
  lua_pop(thread, 1);
  return runs;
}

void luc_l_open_region(lua_State *L, luc_l_state *st) {
  luc_l_make_meta(L, st, LUC_L_SUSPENDED_META, "lucerna.suspendable");
  lua_pushcfunction(L, region_close);
  lua_setfield(L, -2, "__close");
  luc_l_get(L, st, LUC_L_CORE);
  lua_pushcfunction(L, suspendable);
  lua_setfield(L, -2, "_suspendable");
  lua_pop(L, 2);
}
