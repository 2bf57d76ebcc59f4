/* A host with Lucerna inside, as a game or a robot would have it: one Lua state and one budget of
 * memory for Lua and Lucerna together, a net that learns XOR a step at a time in the host's own
 * loop, and scripts that go wrong in every way on purpose meanwhile. The host never ends early, and
 * gets every byte back. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_files.h"
#include "lucerna/lua.h"

enum { MEGABYTE = 1 << 20, BUDGET = 5 * MEGABYTE, TENSORS = 3 * MEGABYTE };

/* ---- memory: the same function is lua_Alloc and luc_alloc_fn ---- */

typedef struct budget {
  size_t used, most, limit;
} budget;

static void *budget_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  budget *b = ud;
  if (ptr == NULL) old_size = 0; /* Lua passes the kind of object here */
  if (new_size == 0) {
    free(ptr);
    b->used -= old_size;
    return NULL;
  }
  if (new_size > old_size && new_size - old_size > b->limit - b->used) return NULL;
  void *block = realloc(ptr, new_size);
  if (block == NULL) return NULL;
  b->used = b->used - old_size + new_size;
  if (b->used > b->most) b->most = b->used;
  return block;
}

/* ---- opening: nothing is read from the disk ---- */

/* package.preload.<module> loads the bytes. Chunk names that begin with "=[lucerna" tell Lucerna
 * that an error's position is the caller's, not one inside its own files. */
static int load_module(lua_State *L) {
  size_t i = (size_t)lua_tointeger(L, lua_upvalueindex(1));
  lua_pushfstring(L, "=[%s]", lua_files[i].module);
  if (luaL_loadbuffer(L, (const char *)lua_files[i].bytes, lua_files[i].size,
                      lua_tostring(L, -1)) != LUA_OK)
    return lua_error(L);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static int open_all(lua_State *L) {
  luc_config config = {.alloc = budget_alloc,
                       .alloc_ud = lua_touserdata(L, 1),
                       .memory_limit = TENSORS, /* so that garbage is collected in good time */
                       .num_threads = 1};
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (size_t i = 0; i < sizeof lua_files / sizeof *lua_files; i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, load_module, 1);
    lua_setfield(L, -2, lua_files[i].module);
  }
  luc_lua_open(L, &config);
  return 0;
}

/* ---- scripts ---- */

static const char training[] =
    "local lucerna = require 'lucerna'\n"
    "local nn, F, optim = lucerna.nn, lucerna.nn.functional, lucerna.optim\n"
    "lucerna.manual_seed(1)\n"
    "local net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))\n"
    "local adam = optim.Adam(net:parameters(), {lr = 0.05})\n"
    "local x = lucerna.tensor {{0.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}, {1.0, 1.0}}\n"
    "local target = lucerna.tensor {{0.0}, {1.0}, {1.0}, {0.0}}\n"
    "function step()\n"
    "  adam:zero_grad()\n"
    "  local loss = F.binary_cross_entropy_with_logits(net(x), target)\n"
    "  loss:backward()\n"
    "  adam:step()\n"
    "  return loss:item()\n"
    "end\n"
    "function predict(a, b)\n"
    "  local _ <close> = lucerna.no_grad()\n"
    "  return net(lucerna.tensor {{a, b}}):sigmoid():item()\n"
    "end\n";

/* What goes wrong while the net learns: each raises an error that the host catches. */
static const struct {
  const char *what, *code;
} accidents[] = {
    {"an error in Lua", "local t = nil; return t.field"},
    {"shapes that do not fit", "local l = require 'lucerna'; return l.ones(2, 3) + l.ones(4)"},
    {"a bad file", "print((require('lucerna').safetensors.load_file '/dev/null'))"},
    {"a missing file", "print((require('lucerna').safetensors.load_file 'no such file'))"},
    {"a tensor beyond the budget", "print((require('lucerna').zeros(4096, 4096)))"},
    {"tensors without end",
     "local l, all = require 'lucerna', {} while true do all[#all + 1] = l.ones(100, 100) end"},
    {"a string beyond the budget", "return ('x'):rep(1 << 24)"},
    {"tables without end", "local t = {} while true do t = {t, {}} end"},
    {"recursion without end", "local function f() return 1 + f() end return f()"},
    {"no script at all", "return +"},
};

/* Runs a script in protected mode; its message, or NULL if all went well, is on the stack. */
static const char *try(lua_State *L, const char *code) {
  lua_settop(L, 0);
  int status = luaL_loadbuffer(L, code, strlen(code), "=script");
  if (status == LUA_OK) status = lua_pcall(L, 0, 0, 0);
  return status == LUA_OK ? NULL : lua_tostring(L, -1);
}

/* Calls a global function of n numbers; NaN after an error. */
static double call(lua_State *L, const char *name, int n, const double *numbers) {
  lua_settop(L, 0);
  lua_getglobal(L, name);
  for (int i = 0; i < n; i++) lua_pushnumber(L, numbers[i]);
  if (lua_pcall(L, n, 1, 0) != LUA_OK) {
    printf("%s: %s\n", name, lua_tostring(L, -1));
    return 0.0 / 0.0;
  }
  return lua_tonumber(L, -1);
}

/* ---- the host ---- */

static int train(lua_State *L) {
  int caught = 0, accident = 0;
  const int count = (int)(sizeof accidents / sizeof *accidents);
  for (int i = 1; i <= 300; i++) {
    double loss = call(L, "step", 0, NULL);
    if (i % 100 == 0) printf("step %d: loss %.4f\n", i, loss);
    if (i % 25 != 0 || accident == count) continue;
    const char *message = try(L, accidents[accident].code);
    printf("  %s: %s\n", accidents[accident].what, message ? message : "nothing happened");
    caught += message != NULL;
    accident++;
  }
  return caught == count;
}

static int answers_are_right(lua_State *L) {
  int right = 1;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      double p = call(L, "predict", 2, (const double[]){a, b});
      printf("%d xor %d = %.3f\n", a, b, p);
      right &= (a ^ b) ? p > 0.9 : p < 0.1;
    }
  return right;
}

int main(void) {
  budget memory = {.limit = BUDGET};
  lua_State *L = lua_newstate(budget_alloc, &memory);
  int good = 0;
  if (L == NULL) return EXIT_FAILURE;
  lua_pushcfunction(L, open_all);
  lua_pushlightuserdata(L, &memory);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    printf("opening: %s\n", lua_tostring(L, -1));
  } else {
    const char *message = try(L, training);
    if (message) printf("training: %s\n", message);
    printf("ready with %zu kB\n", memory.used >> 10);
    good = !message && train(L) && answers_are_right(L);
  }
  lua_close(L);
  printf("at most %.1f of %d MB, %zu bytes left behind\n", (double)memory.most / MEGABYTE,
         BUDGET / MEGABYTE, memory.used);
  good = good && memory.used == 0;
  puts(good ? "survived everything" : "FAILED");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
