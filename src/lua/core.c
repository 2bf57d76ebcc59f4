/* luaopen_lucerna_core: one luc_context per lua_State, kept in the registry, and the table of
 * everything that is written in C. Opening it again gives the same table. */
#include <string.h>

#include "l_module.h"
#include "lucerna/lua.h"

static const char state_key; /* its address finds the state in any lua_State's registry */

luc_l_state *luc_l_state_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  luc_l_state *st = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return st;
}

const char *luc_l_intern(lua_State *L, luc_l_state *st, const char *text) {
  luc_l_get(L, st, LUC_L_ANCHOR);
  const char *s = lua_pushstring(L, text);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return s;
}

void luc_l_push_gc(lua_State *L, lua_CFunction gc) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
}

/* What still holds objects of it finds no context, and says so. */
static void close_state(lua_State *L, luc_l_state *st) {
  luc_context *ctx = st->ctx;
  if (!ctx) return;
  for (luc_l_schema *s = st->schemas; s; s = s->next) luc__schema_free(ctx, &s->schema);
  luc_l_release_noted(L, st);
  st->ctx = NULL;
  luc_context_free(ctx);
}

/* Runs when the lua_State closes, after every object of ours was finalized. */
static int state_gc(lua_State *L) {
  luc_l_state *st = luc_l_userdata(L, 1, sizeof *st);
  if (st) close_state(L, st);
  return 0;
}

static luc_l_state *new_state(lua_State *L) {
  luc_l_state *st = lua_newuserdatauv(L, sizeof *st, 0);
  memset(st, 0, sizeof *st);
  luc_l_set_gc(L, state_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  st->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return st;
}

/* Closes what a failed attempt left, which is the collector's then. */
static void drop_state(lua_State *L, luc_l_state *st) {
  close_state(L, st);
  for (int i = 0; i < LUC_L_KEYS; i++) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[i]);
  }
}

void luc_l_push_table(lua_State *L, int narray, const char *mode) {
  lua_createtable(L, narray, 0);
  if (!mode) return;
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

static void put_table(lua_State *L, luc_l_state *st, int key, int narray, const char *mode) {
  luc_l_push_table(L, narray, mode);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[key]);
}

static void make_tables(lua_State *L, luc_l_state *st) {
  put_table(L, st, LUC_L_ANCHOR, 0, NULL);
  put_table(L, st, LUC_L_PEERS, 0, "v");
  put_table(L, st, LUC_L_ERROR, 1, NULL);
  put_table(L, st, LUC_L_CALLBACKS, 0, NULL);
  put_table(L, st, LUC_L_OWNERS, 0, NULL);
  put_table(L, st, LUC_L_NOTED, 0, "v");
  put_table(L, st, LUC_L_LEASES, 0, NULL);
  put_table(L, st, LUC_L_METHODS, 0, NULL);
  put_table(L, st, LUC_L_SCOPE, 0, NULL);
  put_table(L, st, LUC_L_CORE, 0, NULL);
}

/* The context comes last: until then there is nothing to give back. */
static void open_context(lua_State *L, luc_l_state *st, const luc_config *cfg) {
  luc_status status = luc_context_new(cfg, &st->ctx);
  if (status != LUC_OK) luaL_error(L, "lucerna: not enough memory for a context");
  status = luc__ops_init(st->ctx);
  if (status != LUC_OK) luaL_error(L, "lucerna: %s", luc_message(st->ctx));
}

static void open_parts(lua_State *L, luc_l_state *st) {
  luc_l_pace_init(L, st);
  luc_l_open_tensor(L, st);
  luc_l_open_dtypes(L, st);
  luc_l_open_ops(L, st);
  luc_l_open_table(L, st);
  luc_l_open_buffer(L, st);
  luc_l_open_dlpack(L, st);
  luc_l_open_context(L, st);
  luc_l_open_random(L, st);
  luc_l_open_scope(L, st);
  luc_l_open_region(L, st);
  luc_l_open_autograd(L, st);
  luc_l_open_graph(L, st);
  luc_l_open_autocast(L, st);
  luc_l_open_nodes(L, st);
  luc_l_open_memory(L, st);
  luc_l_open_vmap(L, st);
  luc_l_open_observe(L, st);
  luc_l_get(L, st, LUC_L_CORE);
  luc_l_open_optim(L, st);
  luc_l_open_io(L, st);
  luc_l_open_named(L, st);
  lua_pop(L, 1);
  luc_l_open_fields(L, st);
  luc_l_open_modules(L, st);
}

static int open_core(lua_State *L, const luc_config *cfg) {
  luaL_checkversion(L);
  luc_l_state *st = luc_l_state_of(L);
  if (!st || !st->ready) {
    if (st) drop_state(L, st);
    st = new_state(L);
    make_tables(L, st);
    open_context(L, st, cfg);
    open_parts(L, st);
    st->ready = true;
  }
  luc_l_get(L, st, LUC_L_CORE);
  return 1;
}

int luaopen_lucerna_core(lua_State *L) {
  return open_core(L, NULL);
}

int luc_lua_open(lua_State *L, const luc_config *cfg) {
  open_core(L, cfg);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "lucerna.core");
  lua_pop(L, 1);
  return 1;
}

luc_context *luc_lua_context(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  return st && st->ready ? st->ctx : NULL;
}

luc_l_state *luc_l_open_state(lua_State *L) {
  if (!luc_lua_context(L)) luaL_error(L, "lucerna is not open in this Lua state");
  return luc_l_state_of(L);
}

void luc_lua_push_tensor(lua_State *L, luc_tensor *t) {
  luc_l_pushtensor(L, luc_l_open_state(L), t);
}

luc_tensor *luc_lua_to_tensor(lua_State *L, int index) {
  return luc_l_totensor(L, index);
}
