/* Peers: the userdata of modules. One exists for every module of a connected tree as soon as Lua
 * holds any of it; the weak table finds it by the module's address, and while a host holds the
 * module a strong table keeps it. __gc leaves the weak table alone: there may be a second peer. */
#include "l_module.h"

#include <string.h>

#include "lucerna/lua.h"

luc_l_peer *luc_l_checkpeer(lua_State *L, int index, const char *who) {
  luc_l_peer *peer = luc_l_topeer(L, index);
  if (!peer) {
    luc_l_error(L, "%s: self must be a module (got %s)", who, luc_l_given(L, index));
    return NULL;
  }
  luc_l_context(L, peer->nn->st);
  if (!peer->m) luc_l_error(L, "%s: module was collected", who);
  return peer;
}

/* Pushes the peer of m if it has one, else nothing. */
static luc_l_peer *push_known(lua_State *L, luc_l_nn *nn, const luc_module *m) {
  if (!m->peer) return NULL;
  luc_l_get(L, nn->st, LUC_L_PEERS);
  lua_rawgetp(L, -1, m);
  lua_replace(L, -2);
  luc_l_peer *peer = luc_l_topeer(L, -1);
  if (peer && peer->m == m) return peer;
  lua_pop(L, 1);
  return NULL;
}

/* Pushes an empty peer for instances of the class at `cls`. */
static luc_l_peer *new_peer(lua_State *L, luc_l_nn *nn, luc_l_class *c, int cls) {
  luc_l_pace_check(L, nn->st);
  luc_l_peer *peer = lua_newuserdatauv(L, sizeof *peer, 1);
  *peer = (luc_l_peer){.magic = LUC_L_MAGIC_MODULE, .nn = nn, .cls = c};
  lua_createtable(L, 0, 4);
  lua_setiuservalue(L, -2, 1);
  lua_getiuservalue(L, cls, LUC_L_CLASS_META + LUC_L_CALL_NATIVE);
  lua_setmetatable(L, -2);
  return peer;
}

/* Sets the metatable of the peer on top by how the module is to be called. Takes three slots. */
static void set_call(lua_State *L, luc_l_peer *peer) {
  luc_module *m = peer->m;
  luc_l_nn *nn = peer->nn;
  const luc_nn *core = luc__nn_of(nn->st->ctx);
  int kind = luc__is_pure(m)                      ? LUC_L_CALL_NATIVE
             : !luc__has_hooks(core, m)           ? LUC_L_CALL_LUA
             : nn->deep                           ? LUC_L_CALL_HOOKED
             : luc__has_one_forward_hook(core, m) ? LUC_L_CALL_ONE_HOOK
                                                  : LUC_L_CALL_HOOKED;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->classes);
  lua_rawgetp(L, -1, m->cls);
  peer->cls = lua_touserdata(L, -1);
  lua_getiuservalue(L, -1, LUC_L_CLASS_META + kind);
  lua_setmetatable(L, -4);
  lua_pop(L, 2);
}

/* Enters the peer on top in the tables; from here on m is its. Everything that can raise comes
 * first. */
static void adopt(lua_State *L, luc_l_peer *peer, luc_module *m, bool take) {
  luc_l_nn *nn = peer->nn;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->pins);
  lua_pushboolean(L, false); /* makes the slot, so that pinning later cannot fail */
  lua_rawsetp(L, -2, m);
  luc_l_get(L, nn->st, LUC_L_PEERS);
  lua_pushvalue(L, -3);
  lua_rawsetp(L, -2, m);
  lua_pop(L, 1);
  peer->m = take ? m : luc__module_ref(m);
  m->peer = peer;
  if (m->external > 0) {
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, m);
  }
  lua_pop(L, 1);
  set_call(L, peer);
}

luc_l_peer *luc_l_newmodule(lua_State *L, luc_l_class *c) {
  luc_l_nn *nn = c->nn;
  luc_context *ctx = luc_l_context(L, nn->st);
  luc_l_pushclass(L, nn, c->cls);
  luc_l_peer *peer = new_peer(L, nn, c, lua_gettop(L));
  lua_replace(L, -2);
  luc_module *m;
  luc_status status = luc__module_create(ctx, c->cls, &m);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, nn->st))
    status = luc__module_create(ctx, c->cls, &m);
  luc_l_check(L, nn->st, status);
  peer->m = m; /* owned from here, whatever raises */
  adopt(L, peer, m, true);
  return peer;
}

/* The class of a module that C made; one that memory ran out for is made again. */
static luc_l_class *push_whole_class(lua_State *L, luc_l_nn *nn, const luc_class *cls) {
  luc_l_class *c = luc_l_pushclass(L, nn, cls);
  if (cls->host || c->complete) return c;
  lua_pop(L, 1);
  luc_l_pushlayer(L, nn, cls->name);
  lua_pop(L, 1);
  return luc_l_pushclass(L, nn, cls);
}

/* Pushes the peer of m, new if need be; *fresh says so. */
static luc_l_peer *push_one(lua_State *L, luc_l_nn *nn, luc_module *m, bool *fresh) {
  luc_l_peer *peer = push_known(L, nn, m);
  *fresh = !peer;
  if (peer) return peer;
  luc_l_class *c = push_whole_class(L, nn, m->cls);
  peer = new_peer(L, nn, c, lua_gettop(L));
  lua_replace(L, -2);
  adopt(L, peer, m, false);
  return peer;
}

/* Puts peers of the children of the peer at `index` into its table; new ones go to the list. */
static void hold_children(lua_State *L, luc_l_peer *peer, int index, int list, lua_Integer *n) {
  luc_map_entry *e;
  lua_getiuservalue(L, index, 1);
  for (uint32_t at = 0; (e = luc__map_next(&peer->m->slots[LUC_SLOT_CHILD], &at)) != NULL;) {
    bool fresh;
    if (!e->value) continue;
    lua_pushlstring(L, e->key, e->length);
    push_one(L, peer->nn, e->value, &fresh);
    if (fresh) {
      lua_pushvalue(L, -1);
      lua_rawseti(L, list, ++*n);
    }
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

/* Parents hold their children in turn. */
static void meet_parents(lua_State *L, luc_l_peer *peer, int list, lua_Integer *n) {
  for (uint32_t i = 0; i < peer->m->nparents; i++) {
    bool fresh;
    push_one(L, peer->nn, peer->m->parents[i].parent, &fresh);
    if (fresh) lua_rawseti(L, list, ++*n);
    if (!fresh) lua_pop(L, 1);
  }
}

/* Gives peers to everything connected to the peer at `index`. */
static void close_upward(lua_State *L, luc_l_peer *peer, int index) {
  lua_Integer n = 0;
  index = lua_absindex(L, index);
  luc_l_checkstack(L, 16);
  lua_newtable(L);
  int list = lua_gettop(L);
  for (;;) {
    hold_children(L, peer, index, list, &n);
    meet_parents(L, peer, list, &n);
    lua_settop(L, list);
    if (n == 0) break;
    lua_rawgeti(L, list, n);
    lua_pushnil(L);
    lua_rawseti(L, list, n--);
    index = list + 1;
    peer = luc_l_topeer(L, index);
  }
  lua_pop(L, 1);
}

void luc_l_attach_children(lua_State *L, luc_l_peer *peer, int index) {
  if (luc_module_num_children(peer->m) > 0) close_upward(L, peer, index);
}

void luc_l_pushmodule(lua_State *L, luc_l_nn *nn, luc_module *m) {
  if (!m) {
    lua_pushnil(L);
    return;
  }
  bool fresh;
  luc_l_checkstack(L, 16);
  luc_l_peer *peer = push_one(L, nn, m, &fresh);
  if (fresh && (m->nparents || luc_module_num_children(m))) close_upward(L, peer, -1);
}

void luc_l_forget_children(lua_State *L, int index) {
  luc_l_nn *nn = luc_l_topeer(L, index)->nn;
  lua_getiuservalue(L, index, 1);
  for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i > 0; i--) {
    lua_pushnil(L); /* existing keys: cannot raise */
    lua_rawseti(L, -2, i);
  }
  const void *const kept[] = {&nn->children, &nn->child_array, &nn->names};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    if (lua_rawgetp(L, -1, kept[i]) != LUA_TNIL) {
      lua_pushnil(L);
      lua_rawsetp(L, -3, kept[i]);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* ---- for hosts in C ---- */

void luc_lua_push_module(lua_State *L, luc_module *m) {
  luc_l_pushmodule(L, luc_l_open_state(L)->nn, m);
}

luc_module *luc_lua_to_module(lua_State *L, int index) {
  luc_l_peer *peer = luc_l_topeer(L, index);
  return peer ? peer->m : NULL;
}

/* ---- what the core asks of us ---- */

static lua_State *any_state(luc_l_nn *nn) {
  return nn->st->L ? nn->st->L : nn->st->main;
}

static void host_pin(luc_context *ctx, void *ud, luc_module *m, bool on) {
  luc_l_nn *nn = ud;
  lua_State *L = any_state(nn);
  (void)ctx;
  if (!lua_checkstack(L, 6)) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->pins);
  if (on) {
    if (!push_known(L, nn, m)) lua_pushboolean(L, false);
  } else {
    lua_pushboolean(L, false);
  }
  lua_rawsetp(L, -2, m); /* the slot exists */
  lua_pop(L, 1);
}

static void host_changed(luc_context *ctx, void *ud, luc_module *m) {
  luc_l_nn *nn = ud;
  lua_State *L = any_state(nn);
  (void)ctx;
  nn->hook_changes++;
  if (!lua_checkstack(L, 8)) return;
  luc_l_peer *peer = push_known(L, nn, m);
  if (!peer) return;
  set_call(L, peer);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->hook_lists);
  lua_pushvalue(L, -2);
  if (lua_rawget(L, -2) != LUA_TNIL) {
    lua_pushvalue(L, -3);
    lua_pushnil(L); /* an existing key */
    lua_rawset(L, -4);
  }
  lua_pop(L, 3);
}

static void host_configured(void *ud, luc_module *m) {
  luc_l_nn *nn = ud;
  luc_l_peer *peer = m->peer;
  if (!peer->kept) return;
  lua_State *L = any_state(nn);
  if (!lua_checkstack(L, 8) || !push_known(L, nn, m)) return;
  luc_l_forget_arguments(L, peer, -1);
  lua_pop(L, 1);
}

typedef struct edge_change {
  luc_l_nn *nn;
  luc_module *m;
  luc_slot slot;
  const char *name;
  size_t length;
  void *object;
} edge_change;

/* C code changes a slot: the peer's table follows. */
static int follow_edge(lua_State *L) {
  edge_change *e = lua_touserdata(L, 1);
  luc_l_pushmodule(L, e->nn, e->m);
  int index = lua_gettop(L);
  luc_l_forget_children(L, index);
  lua_getiuservalue(L, index, 1);
  lua_pushlstring(L, e->name, e->length);
  if (e->slot == LUC_SLOT_CHILD) {
    luc_l_pushmodule(L, e->nn, e->object);
  } else {
    lua_pushnil(L); /* tensors are looked up again */
  }
  lua_rawset(L, -3);
  return 0;
}

static luc_status host_edge(luc_context *ctx, void *ud, luc_module *m, luc_slot slot,
                            const char *name, size_t length, void *object) {
  luc_l_nn *nn = ud;
  edge_change e = {nn, m, slot, name, length, object};
  (void)ctx;
  return luc_l_protect(nn->st, follow_edge, &e);
}

/* ---- opening ---- */

static void put_table(lua_State *L, const void *key, const char *mode) {
  luc_l_push_table(L, 0, mode);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

/* core.nn.setup(functions): what lua/lucerna/nn.lua provides. The first set stays, so that loading
 * the file again leaves existing classes and their drivers as they are. */
static int setup(lua_State *L) {
  luc_l_nn *nn = luc_l_state_of(L)->nn;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->functions);
  if (lua_getfield(L, 2, "call") != LUA_TNIL) return 0;
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->functions);
  return 0;
}

static const luaL_Reg functions[] = {{"setup", setup}, {NULL, NULL}};

static void be_host(lua_State *L, luc_l_nn *nn) {
  luc_nn *core = luc__nn(nn->st->ctx);
  if (!core) luaL_error(L, "lucerna: not enough memory for modules");
  core->host.ud = nn;
  core->host.pin = host_pin;
  core->host.changed = host_changed;
  core->host.configured = host_configured;
  core->host.edge = host_edge;
  luc_l_call_host(&core->host);
  luc_l_clone_host(&core->host);
  luc_l_backward_host(&core->host);
  luc_l_state_host(&core->host);
  luc_l_add_to_nn(L, nn, functions);
}

static void intern_names(lua_State *L, luc_l_nn *nn) {
  nn->training = luc_l_intern(L, nn->st, "training");
  lua_pushstring(L, nn->training);
  nn->training_at = lua_topointer(L, -1);
  lua_pop(L, 1);
  nn->forward = luc_l_intern(L, nn->st, "forward");
}

void luc_l_open_modules(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_ANCHOR);
  luc_l_nn *nn = lua_newuserdatauv(L, sizeof *nn, 0);
  memset(nn, 0, sizeof *nn);
  lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  lua_pop(L, 1);
  nn->st = st;
  put_table(L, &nn->classes, "v");
  put_table(L, &nn->kinds, "k");
  put_table(L, &nn->pins, NULL);
  put_table(L, &nn->functions, NULL);
  intern_names(L, nn);
  luc_l_open_overrides(L, nn);
  luc_l_open_classes(L, nn);
  luc_l_open_tree(L, nn);
  luc_l_open_clone(L, nn);
  luc_l_open_registering(L, nn);
  luc_l_open_hooks(L, nn);
  luc_l_open_backward_hooks(L, nn);
  luc_l_open_lazy(L, nn);
  luc_l_open_state_dict(L, nn);
  luc_l_open_state_hooks(L, nn);
  luc_l_open_snapshots(L, nn);
  be_host(L, nn);
  st->nn = nn;
  st->push_place = luc_l_push_place;
}
