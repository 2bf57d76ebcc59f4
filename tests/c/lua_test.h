/* A Lua state with the library in it, for programs that look at Lua from C: the globals lucerna and
 * nn, and a heap whose blocks are counted and all gone when the state is closed. */
#ifndef LUC_LUA_TEST_H
#define LUC_LUA_TEST_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "lucerna/lua.h"
#include "test.h"

static _Thread_local test_heap heap;

static lua_State *open(void) {
  heap = (test_heap){0};
  luc_config cfg = {.alloc = test_alloc, .alloc_ud = &heap, .num_threads = 1};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luc_lua_open(L, &cfg);
  lua_settop(L, 0);
  lua_getglobal(L, "package");
  const char *root = getenv("LUCERNA_ROOT");
  root = root ? root : ".";
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua", root, root);
  lua_setfield(L, -2, "path");
  CHECK_EQ(luaL_dostring(L, "lucerna = require 'lucerna'; nn = lucerna.nn"), LUA_OK);
  lua_settop(L, 0);
  return L;
}

static void close_state(lua_State *L) {
  lua_close(L);
  CHECK_EQ(heap.blocks, 0);
}

static void run(lua_State *L, const char *code) {
  if (luaL_dostring(L, code) != LUA_OK) {
    test_fail(__FILE__, __LINE__, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

static inline void collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
}

/* Runs `code` again and again while finalizers do what `change` does. */
static inline void run_under_finalizers(lua_State *L, const char *change, const char *code) {
  run(L, "function under_finalizers(change, code)"
         "  local on = true "
         "  local function spawn()"
         "    setmetatable({}, {__gc = function() if on then change() spawn() end end})"
         "  end "
         "  for _ = 1, 3 do spawn() end collectgarbage('incremental', 1, 400, 8) "
         "  for i = 1, 1000 do code(i) end "
         "  on = false collectgarbage('generational')"
         "end");
  lua_pushfstring(L, "under_finalizers(function() %s end, function(i) %s end)", change, code);
  run(L, lua_tostring(L, -1));
  lua_pop(L, 1);
}

#endif
