/* Snapshots of module trees as values whose __close puts everything back unless core.nn._keep was
 * called: what the core keeps, and for each peer a copy of its table, which takes the table's place
 * then. Nothing on the way back needs memory. */
#include "l_module.h"

typedef struct snapshot_box {
  luc_l_nn *nn;
  luc_snapshot *core; /* NULL: kept, or put back */
  lua_Integer n;      /* peers; user value 1 has each with its table's copy after it */
} snapshot_box;

static void drop(snapshot_box *box) {
  if (box->core && box->nn->st->ctx) luc__snapshot_free(box->nn->st->ctx, box->core);
  box->core = NULL;
}

static int snapshot_gc(lua_State *L) {
  snapshot_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (box) drop(box);
  return 0;
}

/* Is there a function under the name `forward` in the table at index? */
static bool has_forward(lua_State *L, luc_l_nn *nn, int index) {
  lua_pushstring(L, nn->forward); /* interned */
  bool found = lua_rawget(L, index) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* The peer at `index` gets the table on top in place of its own. */
static void restore_peer(lua_State *L, luc_l_nn *nn, int index) {
  luc_l_peer *peer = luc_l_topeer(L, index);
  int then = lua_gettop(L);
  lua_getiuservalue(L, index, 1);
  bool had = has_forward(L, nn, then), has = has_forward(L, nn, then + 1);
  lua_pop(L, 1);
  lua_settop(L, then);
  lua_setiuservalue(L, index, 1);
  if (peer) peer->kept = 0; /* the table has none */
  if (peer && peer->m && had != has) luc__module_impure(nn->st->ctx, peer->m, had ? 1 : -1);
}

/* __close */
static int snapshot_close(lua_State *L) {
  snapshot_box *box = luc_l_checkself(L, LUC_L_SNAPSHOT_META, sizeof *box);
  luc_l_state *st = box->nn->st;
  if (!box->core || !st->ctx) return 0;
  lua_settop(L, 1);
  lua_State *outer = luc_l_enter(st, L);
  luc__snapshot_restore(st->ctx, box->core);
  lua_getiuservalue(L, 1, 1);
  for (lua_Integer i = 1; i <= box->n; i++) {
    lua_rawgeti(L, 2, 2 * i - 1);
    lua_rawgeti(L, 2, 2 * i);
    restore_peer(L, box->nn, 3);
    lua_settop(L, 2);
  }
  drop(box);
  st->L = outer;
  return 0;
}

/* Pushes a copy of the table of the peer at index. Its table of hook functions is shared. */
static void copy_fields(lua_State *L, luc_l_nn *nn, int index) {
  luc_l_push_hook_functions(L, nn, index, true);
  lua_pop(L, 1);
  luc_l_forget_arguments(L, luc_l_topeer(L, index), index);
  lua_getiuservalue(L, index, 1);
  int from = lua_gettop(L);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, from)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, from + 1);
  }
  lua_remove(L, from);
}

/* Puts the tree's peers and copies of their tables into the table at 3. */
static void copy_peers(lua_State *L, snapshot_box *box, luc_module *root) {
  luc_l_nn *nn = box->nn;
  const luc_members *all = luc_l_push_modules(L, nn, root, 0);
  lua_Integer n = 0;
  for (size_t i = 0; i < all->n; i++) {
    luc_l_pushmodule(L, nn, all->items[i].module);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 3, ++n);
    copy_fields(L, nn, lua_gettop(L));
    lua_rawseti(L, 3, ++n);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  box->n = (lua_Integer)all->n;
}

/* core.nn._snapshot(m) */
static int snapshot(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "load_state_dict");
  luc_l_state *st = peer->nn->st;
  lua_settop(L, 1);
  snapshot_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (snapshot_box){.nn = peer->nn};
  luc_l_get(L, st, LUC_L_SNAPSHOT_META);
  lua_setmetatable(L, 2);
  lua_newtable(L);
  copy_peers(L, box, peer->m);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 2, 1);
  lua_State *outer = luc_l_enter(st, L);
  luc_status status = luc__snapshot_take(st->ctx, peer->m, &box->core);
  st->L = outer;
  lua_settop(L, 2);
  return luc_l_results(L, st, 1, status);
}

/* core.nn._keep(snapshot): what was changed since stays. */
static int keep(lua_State *L) {
  drop(luc_l_checkself(L, LUC_L_SNAPSHOT_META, sizeof(snapshot_box)));
  return 0;
}

static const luaL_Reg functions[] = {{"_snapshot", snapshot}, {"_keep", keep}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", snapshot_gc}, {"__close", snapshot_close}, {NULL, NULL}};

void luc_l_open_snapshots(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
  luc_l_make_meta(L, nn->st, LUC_L_SNAPSHOT_META, "lucerna.snapshot");
  luaL_setfuncs(L, meta, 0);
  lua_pop(L, 1);
}
