/* What modules hold under names, as Lua sees it: the entries of containers and iterators over them,
 * and m._parameters, m._buffers and m._modules, which show what is there when they are asked. Lists
 * that loops walk are kept until entries change, and never written to. */
#include <stdio.h>
#include <string.h>

#include "l_module.h"

/* ---- lists ---- */

luc_map_entry *luc_l_push_name(lua_State *L, const luc_map *map, const luc_map_entry *e) {
  size_t length = e->length;
  const char *name = lua_pushlstring(L, e->key, length);
  luc_map_entry *found = luc__map_find(map, name, length);
  if (!found) lua_pop(L, 1);
  return found;
}

/* Pushes {name1, value1, …} of a module's slots of one kind; false for a value that is empty. */
static void push_slots(lua_State *L, const luc_l_peer *peer, lua_Integer kind) {
  const luc_map *map = &peer->m->slots[kind];
  luc_map_entry *e;
  lua_Integer n = 0;
  lua_createtable(L, 2 * (int)map->count, 0);
  int list = lua_gettop(L);
  for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
    if (!(e = luc_l_push_name(L, map, e))) continue;
    lua_rawseti(L, list, ++n);
    if (e->value)
      luc_l_push_held(L, peer->nn, (luc_slot)kind, e->value);
    else
      lua_pushboolean(L, false);
    lua_rawseti(L, list, ++n);
  }
}

/* Pushes what the table on top keeps under the key, or, and nothing, a mark that it is made. */
static bool push_kept(lua_State *L, const void *key) {
  if (lua_rawgetp(L, -1, key) == LUA_TTABLE) return true;
  lua_pop(L, 1);
  lua_pushboolean(L, true);
  lua_rawsetp(L, -2, key);
  return false;
}

/* The list on top is kept in the table below, unless entries changed while it was made, by a
 * finalizer, and the mark with them. */
static void keep(lua_State *L, const void *key) {
  if (lua_rawgetp(L, -2, key) == LUA_TBOOLEAN) {
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -4, key);
  }
  lua_pop(L, 1);
}

/* Pushes that of the children of the peer at `index`: kept until they change, not to be written to.
 */
static void push_children(lua_State *L, const luc_l_peer *peer, int index) {
  lua_getiuservalue(L, index, 1);
  if (!push_kept(L, &peer->nn->children)) {
    push_slots(L, peer, LUC_SLOT_CHILD);
    keep(L, &peer->nn->children);
  }
  lua_replace(L, -2);
}

static void push_kind(lua_State *L, const luc_l_peer *peer, lua_Integer kind) {
  if (kind == LUC_SLOT_CHILD)
    push_children(L, peer, 1);
  else
    push_slots(L, peer, kind);
}

/* core.nn._slots(m, kind): {name1, value1, …} of parameters, buffers or children, as LUC_SLOT_*;
 * empty: false. */
static int slots_of(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "slots");
  lua_Integer kind = luaL_checkinteger(L, 2);
  luaL_argcheck(L, kind >= 0 && kind < LUC_SLOTS, 2, "no such kind");
  push_kind(L, peer, kind);
  return 1;
}

/* Pushes an array of them without names, empty slots nil; kept likewise. */
static void push_modules(lua_State *L, const luc_l_peer *peer) {
  lua_getiuservalue(L, 1, 1);
  if (!push_kept(L, &peer->nn->child_array)) {
    const luc_map *map = &peer->m->slots[LUC_SLOT_CHILD];
    luc_map_entry *e;
    lua_createtable(L, (int)map->count, 0); /* all in its array part, which is walked in order */
    int list = lua_gettop(L);
    lua_Integer n = 0;
    for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
      luc_l_pushmodule(L, peer->nn, e->value);
      lua_rawseti(L, list, ++n);
    }
    keep(L, &peer->nn->child_array);
  }
  lua_replace(L, -2);
}

/* ---- iterators ---- */

static int next_module(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  return lua_next(L, 1) ? 2 : 0;
}

/* Upvalues of iterators: a list, the position reached in it. Returns the next one. */
static lua_Integer advance(lua_State *L, int by) {
  lua_Integer at = lua_tointeger(L, lua_upvalueindex(2)) + by;
  lua_pushinteger(L, at);
  lua_replace(L, lua_upvalueindex(2));
  return at;
}

/* Of {name1, module1 or false, …}. */
static int next_entry(lua_State *L) {
  lua_Integer at = advance(L, 2);
  lua_rawgeti(L, lua_upvalueindex(1), at - 1);
  bool empty = lua_rawgeti(L, lua_upvalueindex(1), at) == LUA_TBOOLEAN;
  return empty ? (lua_pop(L, 1), 1) : 2;
}

/* The modules alone, those that are there. */
static int next_value(lua_State *L) {
  while (lua_rawgeti(L, lua_upvalueindex(1), advance(L, 2)) == LUA_TBOOLEAN) lua_pop(L, 1);
  return 1;
}

/* The same with their names. */
static int next_child(lua_State *L) {
  lua_Integer at;
  do {
    lua_settop(L, 0);
    at = advance(L, 2);
    lua_rawgeti(L, lua_upvalueindex(1), at - 1);
  } while (lua_rawgeti(L, lua_upvalueindex(1), at) == LUA_TBOOLEAN);
  return 2;
}

static int next_name(lua_State *L) {
  lua_rawgeti(L, lua_upvalueindex(1), advance(L, 1));
  return 1;
}

/* An iterator over the list on top, which it replaces. */
static int push_iterator(lua_State *L, lua_CFunction next) {
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next, 2);
  return 1;
}

/* Pushes an array of the names of slots of a kind; that of a container's entries is kept. */
static void push_names(lua_State *L, const luc_l_peer *peer, lua_Integer kind) {
  const luc_map *map = &peer->m->slots[kind];
  luc_map_entry *e;
  lua_Integer n = 0;
  lua_getiuservalue(L, 1, 1);
  bool kept = map == luc__entries(peer->m);
  if (kept && push_kept(L, &peer->nn->names)) return;
  lua_createtable(L, (int)map->count, 0);
  for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
    lua_pushlstring(L, e->key, e->length);
    lua_rawseti(L, -2, ++n);
  }
  if (kept) keep(L, &peer->nn->names);
}

/* Has m a child under two names? */
static bool repeats(const luc_module *m) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_CHILD], &at)) != NULL;) {
    const luc_module *child = e->value;
    for (uint32_t i = 0; child && i < child->nparents; i++)
      if (child->parents[i].parent == m && child->parents[i].count > 1) return true;
  }
  return false;
}

bool luc_l_push_children(lua_State *L, const luc_l_peer *peer, int index, bool named) {
  if (repeats(peer->m)) return false;
  push_children(L, peer, index);
  push_iterator(L, named ? next_child : next_value);
  return true;
}

static luc_l_peer *check_container(lua_State *L, const char *method) {
  lua_settop(L, 1);
  if (!luc_l_topeer(L, 1))
    luc_l_error(L, "%s: self must be a module (got %s)", method, luc_l_kind_name(L, 1));
  return luc_l_checkpeer(L, 1, method);
}

/* keys(): the upvalue is the kind of slots that are entries. */
static int container_keys(lua_State *L) {
  const luc_l_peer *peer = check_container(L, "keys");
  push_names(L, peer, lua_tointeger(L, lua_upvalueindex(1)));
  return push_iterator(L, next_name);
}

/* core.nn._keys(kind): the method keys() of dictionaries of slots of that kind */
static int keys_of(lua_State *L) {
  lua_Integer kind = luaL_checkinteger(L, 1);
  luaL_argcheck(L, kind >= 0 && kind < LUC_SLOTS, 1, "no such kind");
  lua_settop(L, 1);
  lua_pushcclosure(L, container_keys, 1);
  return 1;
}

/* core.nn._values(container): an iterator of the modules in it */
static int values_of(lua_State *L) {
  push_children(L, check_container(L, "values"), 1);
  return push_iterator(L, next_value);
}

/* core.nn._pairs(container): an iterator of positions and modules, empty slots passed over, or of a
 * dictionary's keys and modules. */
int luc_l_module_pairs(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "pairs");
  if (peer->m->cls->core->def->flags & LUC_CF_KEYED) {
    push_children(L, peer, 1);
    return push_iterator(L, next_entry);
  }
  lua_pushcfunction(L, next_module);
  push_modules(L, peer);
  return 2;
}

/* core.nn._items(dictionary) */
static int items_of(lua_State *L) {
  push_children(L, check_container(L, "items"), 1);
  return push_iterator(L, next_entry);
}

/* ---- entries ---- */

/* core.nn._has_entry(container, key) */
static int has_entry(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "contains");
  size_t length;
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &length) : NULL;
  lua_pushboolean(L, key && luc__map_find(luc__entries(peer->m), key, length));
  return 1;
}

/* core.nn._last_entry(container): the key of the entry added last, or nil */
static int last_entry(lua_State *L) {
  const luc_map *map = luc__entries(luc_l_checkpeer(L, 1, "popitem")->m);
  const luc_map_entry *e = luc__map_at(map, map->count - 1);
  lua_pushstring(L, e ? e->key : NULL);
  return 1;
}

/* core.nn._numbered(list): are its names "0", "1", … in order? */
static int numbered(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "pop");
  luc_map_entry *e;
  char name[16];
  bool all = true;
  int i = 0;
  for (uint32_t at = 0; all && (e = luc__map_next(luc__entries(peer->m), &at)) != NULL; i++) {
    snprintf(name, sizeof name, "%d", i);
    all = !strcmp(name, e->key);
  }
  lua_pushboolean(L, all);
  return 1;
}

/* ---- views ---- */

/* Puts the peer whose slots a view shows into the view's place. Upvalues: the key under which views
 * have it, the kind of the slots. */
static luc_l_peer *check_view(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_rawget(L, 1);
  lua_replace(L, 1);
  return luc_l_checkpeer(L, 1, "nn");
}

static lua_Integer view_kind(lua_State *L) {
  return lua_tointeger(L, lua_upvalueindex(2));
}

static int view_index(lua_State *L) {
  const luc_l_peer *peer = check_view(L);
  lua_Integer kind = view_kind(L);
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  luc_map_entry *e = luc__map_find(&peer->m->slots[kind], lua_tostring(L, 2), lua_rawlen(L, 2));
  if (!e) return 0;
  luc_l_push_held(L, peer->nn, (luc_slot)kind, e->value);
  return 1;
}

static int view_len(lua_State *L) {
  lua_pushinteger(L, check_view(L)->m->slots[view_kind(L)].count);
  return 1;
}

static int view_pairs(lua_State *L) {
  push_kind(L, check_view(L), view_kind(L));
  return push_iterator(L, next_entry);
}

/* core.nn._slot_view(owner, kind): a metatable that reads tables which have a module under the key
 * `owner` as maps of its slots of a kind, LUC_SLOT_*. */
static int slot_view(lua_State *L) {
  static const luaL_Reg reads[] = {
      {"__index", view_index}, {"__len", view_len}, {"__pairs", view_pairs}, {NULL, NULL}};
  lua_Integer kind = luaL_checkinteger(L, 2);
  luaL_argcheck(L, kind >= 0 && kind < LUC_SLOTS, 2, "no such kind");
  lua_settop(L, 2);
  lua_createtable(L, 0, 8);
  lua_insert(L, 1);
  luaL_setfuncs(L, reads, 2);
  return 1;
}

static const luaL_Reg functions[] = {{"_slots", slots_of},           {"_slot_view", slot_view},
                                     {"_pairs", luc_l_module_pairs}, {"_keys", keys_of},
                                     {"_values", values_of},         {"_items", items_of},
                                     {"_has_entry", has_entry},      {"_last_entry", last_entry},
                                     {"_numbered", numbered},        {NULL, NULL}};

void luc_l_open_entries(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
}
