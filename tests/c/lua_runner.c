/* A bare Lua interpreter: `lua_runner script.lua args…` or `-e code`. It is linked with the same
 * sanitizers as the build, so that the Lua suite can run under them with nothing preloaded, and it
 * keeps modules mapped at exit, so that a leak report can still name their functions. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

/* Lua unloads C modules when its state closes; the leak checker runs after that. */
int dlclose(void *handle);
int dlclose(void *handle) {
  (void)handle;
  return 0;
}

static int traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

static void set_arg(lua_State *L, int argc, char **argv, int script) {
  lua_newtable(L);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

static int run(lua_State *L, int argc, char **argv) {
  lua_pushcfunction(L, traceback);
  int status;
  int script = 1;
  if (argc > 2 && strcmp(argv[1], "-e") == 0) {
    status = luaL_loadstring(L, argv[2]);
    script = 2;
  } else {
    status = luaL_loadfile(L, argc > 1 ? argv[1] : NULL);
  }
  set_arg(L, argc, argv, script);
  int given = argc > script + 1 ? argc - script - 1 : 0;
  luaL_checkstack(L, given, "too many arguments");
  for (int i = 0; i < given; i++) lua_pushstring(L, argv[script + 1 + i]);
  if (status == LUA_OK) status = lua_pcall(L, given, 0, 1);
  if (status != LUA_OK) fprintf(stderr, "lua_runner: %s\n", lua_tostring(L, -1));
  return status == LUA_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return 1;
  luaL_openlibs(L);
  lua_gc(L, LUA_GCGEN, 0, 0); /* as the stock lua5.4 does */
  int status = run(L, argc, argv);
  lua_close(L);
  return status;
}
