/* state_dict and load_state_dict: arrays of names and tensors between the core's state dicts and
 * the ordered maps that lua/lucerna/nn gives users. */
#include "l_module.h"

typedef struct state_box {
  luc_l_state *st;
  luc_state_dict *sd;
  luc_names missing, unexpected;
} state_box;

static void drop_state(state_box *box) {
  luc_context *ctx = box->st->ctx;
  if (!ctx) return;
  luc_state_dict_free(ctx, box->sd);
  box->sd = NULL;
  luc_names_free(ctx, &box->missing);
  luc_names_free(ctx, &box->unexpected);
}

static int state_gc(lua_State *L) {
  drop_state(lua_touserdata(L, 1));
  return 0;
}

static state_box *new_state(lua_State *L, luc_l_state *st) {
  state_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (state_box){.st = st};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return box;
}

/* Pushes {name, …} and {tensor, …}; versions as {prefix, version, …}. */
static int push_state(lua_State *L, state_box *box) {
  size_t n = luc_state_dict_count(box->sd);
  lua_createtable(L, (int)n, 0);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    luc_tensor *t;
    lua_pushstring(L, luc_state_dict_entry(box->sd, i, &t));
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    luc_l_pushtensor(L, box->st, t);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_newtable(L);
  for (size_t i = 0; i < luc_state_dict_num_versions(box->sd); i++) {
    int version;
    lua_pushstring(L, luc_state_dict_version_at(box->sd, i, &version));
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 1);
    lua_pushinteger(L, version);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 2);
  }
  drop_state(box);
  return 3;
}

/* core.nn._state_dict(m, prefix, keep_vars) */
static int state_dict(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_state *st = peer->nn->st;
  const char *prefix = luaL_checkstring(L, 2);
  bool keep_vars = lua_toboolean(L, 3);
  luc_l_check_tables(L, peer->nn, peer->m);
  state_box *box = new_state(L, st);
  luc_status status = luc_module_state_dict(st->ctx, peer->m, prefix, keep_vars, &box->sd);
  return status == LUC_OK ? push_state(L, box) : luc_l_raise(L, st, status);
}

/* Fills the box from arrays of names (at 2) and values (at 3), {prefix, version, …} (at 4). */
static luc_status read_state(lua_State *L, state_box *box) {
  luc_context *ctx = box->st->ctx;
  LUC_TRY(luc_state_dict_new(ctx, &box->sd));
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    lua_rawgeti(L, 3, i);
    const char *name = lua_tostring(L, -2);
    luc_tensor *t = luc_l_totensor(L, -1);
    if (t)
      LUC_TRY(luc_state_dict_set(ctx, box->sd, name, t));
    else
      LUC_TRY(luc_state_dict_set_other(ctx, box->sd, name, luaL_typename(L, -1)));
    lua_pop(L, 2);
  }
  n = (lua_Integer)lua_rawlen(L, 4);
  for (lua_Integer i = 1; i < n; i += 2) {
    lua_rawgeti(L, 4, i);
    lua_rawgeti(L, 4, i + 1);
    LUC_TRY(
        luc_state_dict_set_version(ctx, box->sd, lua_tostring(L, -2), (int)lua_tointeger(L, -1)));
    lua_pop(L, 2);
  }
  return LUC_OK;
}

static void push_names(lua_State *L, const luc_names *names) {
  lua_createtable(L, (int)names->n, 0);
  for (size_t i = 0; i < names->n; i++) {
    lua_pushstring(L, names->items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* core.nn._load_state_dict(m, names, values, versions, strict, assign): missing, unexpected */
static int load_state_dict(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "load_state_dict");
  luc_l_state *st = peer->nn->st;
  int flags =
      (lua_toboolean(L, 5) ? LUC_LOAD_STRICT : 0) | (lua_toboolean(L, 6) ? LUC_LOAD_ASSIGN : 0);
  lua_settop(L, 4);
  luc_l_check_tables(L, peer->nn, peer->m);
  state_box *box = new_state(L, st);
  luc_status status = read_state(L, box);
  lua_State *outer = luc_l_enter(st, L);
  if (status == LUC_OK)
    status = luc_module_load_state_dict(st->ctx, peer->m, box->sd, flags, &box->missing,
                                        &box->unexpected);
  st->L = outer;
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  push_names(L, &box->missing);
  push_names(L, &box->unexpected);
  drop_state(box);
  return 2;
}

static const luaL_Reg functions[] = {
    {"_state_dict", state_dict}, {"_load_state_dict", load_state_dict}, {NULL, NULL}};

void luc_l_open_state_dict(lua_State *L, luc_l_nn *nn) {
  luc_l_get(L, nn->st, LUC_L_CORE);
  luaL_getsubtable(L, -1, "nn");
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 2);
}
