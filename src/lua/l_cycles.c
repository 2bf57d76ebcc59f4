/* Cycles through the graph. The core keeps functions of Lua's (hooks, backward functions) for which
 * a strong table stands in, so a function that holds its own tensor or module would live for ever.
 * What collectgarbage() ends is therefore followed by a probe: until the next call of ours, the
 * functions hang on the objects from which the graph leads to them, and the next collection sees
 * which of them nothing else holds. Objects with references that cannot be explained by boxes,
 * modules and the graph count as held by a host; their functions stay in the strong table. */
#include <stdlib.h>

#include "autograd/web.h"
#include "l_module.h"

/* ---- what Lua holds: stack positions of the probe ---- */

enum { WEB = 1, OWNED, FUNCTIONS, PROBED, LINKS, KEEPERS, NOTED, PEERS, LAST = PEERS };

typedef void (*tensor_fn)(lua_State *L, luc_web *w, const luc_tensor *t);

static void each_slot(lua_State *L, luc_web *w, const luc_module *m, tensor_fn f) {
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++) {
    const luc_map_entry *e;
    for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;) {
      const luc_tensor *t = e->value;
      if (t && t->meta) f(L, w, t);
    }
  }
}

/* Calls f for the tensors of boxes and modules, with the object on top of the stack. Boxes that are
 * neither noted nor peers are not met, so their tensors count as held. */
static void each_object(lua_State *L, luc_web *w, tensor_fn f) {
  lua_pushnil(L);
  for (; lua_next(L, NOTED); lua_pop(L, 1)) {
    const luc_tensor *t = luc_l_totensor(L, -1);
    if (t && t->meta) f(L, w, t);
  }
  lua_pushnil(L);
  for (; lua_next(L, PEERS); lua_pop(L, 1)) {
    const void *key = lua_touserdata(L, -2);
    const luc_tensor *t = luc_l_totensor(L, -1);
    const luc_l_peer *peer = luc_l_topeer(L, -1);
    if (peer && peer->m == key) each_slot(L, w, peer->m, f);
    if (!t || t != key || !t->meta) continue;
    bool noted = lua_rawgetp(L, NOTED, lua_touserdata(L, -1)) != LUA_TNIL;
    lua_pop(L, 1);
    if (!noted) f(L, w, t);
  }
}

static void begin_with(lua_State *L, luc_web *w, const luc_tensor *t) {
  int32_t i = luc__web_add(w, t, false);
  if (i < 0) luaL_error(L, "out of memory");
  w->things[i].explained++;
}

/* ---- functions ---- */

typedef void (*callback_fn)(lua_State *L, void *ud, const void *callback);

/* Of a node's saved tensors, those that Lua keeps. */
static void each_packed(lua_State *L, const luc_node *node, callback_fn f, void *ud) {
  const void *packed;
  for (int p = 0; p < node->nslots; p++) {
    luc_tensor *const *list;
    const int n = luc_as_tensors(&node->args[p], &list);
    for (int i = 0; i < n; i++)
      if ((packed = luc__saved_packed(list[i])) != NULL) f(L, ud, packed);
  }
  for (int r = 0; r < node->nresults; r++)
    if ((packed = luc__saved_packed(node->results[r])) != NULL) f(L, ud, packed);
}

/* Calls f with what the core calls Lua with from this thing. */
static void each_callback(lua_State *L, const luc_thing *t, callback_fn f, void *ud) {
  const luc_node *node = t->node ? t->p : NULL;
  if (node && node->packed) each_packed(L, node, f, ud);
  const luc_roster *hooks = node ? node->hooks : ((const luc_tensor *)t->p)->meta->hooks;
  const luc_hook *hook;
  if (node && node->function.free) f(L, ud, node->ud);
  for (uint64_t id = 0; (hook = luc__roster_next(hooks, &id));)
    if (hook->ud) f(L, ud, hook->ud);
}

/* Counts in OWNED[callback][2]; one of a held thing is forgotten. */
static void count_callback(lua_State *L, void *ud, const void *callback) {
  const luc_thing *t = ud;
  if (lua_rawgetp(L, OWNED, callback) == LUA_TTABLE) {
    lua_rawgeti(L, -1, 2);
    lua_Integer n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_pushinteger(L, n + 1);
    lua_rawseti(L, -2, 2);
    if (t->held) {
      lua_pushnil(L);
      lua_rawsetp(L, OWNED, callback);
    }
  }
  lua_pop(L, 1);
}

/* Forgets callbacks that something has which is no thing we know. */
static void count_callbacks(lua_State *L, luc_web *w) {
  for (uint32_t i = 0; i < w->n; i++)
    each_callback(L, &w->things[i], count_callback, &w->things[i]);
  lua_pushnil(L);
  while (lua_next(L, OWNED)) {
    lua_rawgeti(L, -1, 2);
    bool known = lua_tointeger(L, -1) == *(const int *)lua_touserdata(L, -3);
    lua_pop(L, 2);
    if (known) continue;
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, OWNED);
  }
}

/* ---- keepers: tables with the functions below a thing ---- */

typedef struct gathering {
  lua_State *L;
  luc_web *w;
  int32_t one; /* the only keeper below, as yet */
  bool made;   /* a table is on top */
} gathering;

/* Puts the callback's function into the table on top, made by need. */
static void keep_function(lua_State *L, void *ud, const void *callback) {
  gathering *g = ud;
  if (lua_rawgetp(L, OWNED, callback) != LUA_TTABLE) {
    lua_pop(L, 1);
    return;
  }
  lua_rawgeti(L, -1, 1);
  lua_Integer id = lua_tointeger(L, -1);
  lua_pop(L, 2);
  if (!g->made) lua_newtable(L);
  g->made = true;
  lua_rawgeti(L, FUNCTIONS, id);
  lua_pushvalue(L, -1);
  lua_rawseti(L, PROBED, id);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void keep_keeper(lua_State *L, int32_t keeper) {
  lua_rawgeti(L, KEEPERS, keeper + 1);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static bool gather(void *ud, const void *p, bool node) {
  gathering *g = ud;
  (void)node;
  int32_t keeper = luc__web_find(g->w, p)->keeper;
  if (keeper < 0 || keeper == g->one) return true;
  if (g->one < 0 && !g->made) {
    g->one = keeper;
    return true;
  }
  if (!g->made) {
    lua_newtable(g->L);
    g->made = true;
  }
  if (g->one >= 0) keep_keeper(g->L, g->one);
  keep_keeper(g->L, keeper);
  g->one = -1;
  return true;
}

static void make_keeper(lua_State *L, luc_web *w, uint32_t at) {
  luc_thing *t = &w->things[at];
  gathering g = {L, w, -1, false};
  each_callback(L, t, keep_function, &g);
  luc__web_visit(t, gather, &g);
  t->keeper = g.one;
  if (!g.made) return;
  if (g.one >= 0) keep_keeper(L, g.one);
  lua_rawseti(L, KEEPERS, (lua_Integer)at + 1);
  t->keeper = (int32_t)at;
}

/* Links the object on top of the stack to the keeper of its tensor. */
static void link(lua_State *L, luc_web *w, const luc_tensor *t) {
  int32_t keeper = luc__web_find(w, t)->keeper;
  if (keeper < 0) return;
  lua_pushvalue(L, -1);
  if (lua_rawget(L, LINKS) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, LINKS);
  }
  keep_keeper(L, keeper);
  lua_pop(L, 1);
}

typedef struct by_key {
  uint64_t key;
  uint32_t at;
} by_key;

static int compare_keys(const void *a, const void *b) {
  uint64_t x = ((const by_key *)a)->key, y = ((const by_key *)b)->key;
  return (x > y) - (x < y);
}

/* Keepers of all that no host holds, what is led to first. */
static void make_keepers(lua_State *L, luc_web *w) {
  by_key *sorted = lua_newuserdatauv(L, (w->n + 1) * sizeof *sorted, 0);
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (!w->things[i].held) sorted[n++] = (by_key){w->things[i].key, i};
  qsort(sorted, n, sizeof *sorted, compare_keys);
  for (uint32_t i = 0; i < n; i++) make_keeper(L, w, sorted[i].at);
  lua_pop(L, 1);
}

/* ---- the probe ---- */

/* callback -> {id, how many things were met that have it}, from id -> callback. */
static void push_owned(lua_State *L, luc_l_state *st) {
  lua_newtable(L);
  luc_l_get(L, st, LUC_L_OWNERS);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (!lua_touserdata(L, -1)) {
      lua_pop(L, 1);
      continue;
    }
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, -3);
    lua_rawseti(L, -2, 1);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
}

static int probe_protected(lua_State *L) {
  luc_web *w = lua_touserdata(L, WEB);
  luc_l_state *st = luc_l_state_of(L);
  luc_l_checkstack(L, 24);
  push_owned(L, st);
  luc_l_get(L, st, LUC_L_CALLBACKS);
  luc_l_push_table(L, 0, "v");
  luc_l_push_table(L, 0, "k");
  lua_newtable(L);
  luc_l_get(L, st, LUC_L_NOTED);
  luc_l_get(L, st, LUC_L_PEERS);
  each_object(L, w, begin_with);
  if (!luc__web_follow(w)) return 0;
  count_callbacks(L, w);
  make_keepers(L, w);
  each_object(L, w, link);
  lua_pushvalue(L, PROBED);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_PROBED]);
  lua_pushvalue(L, LINKS);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_LINKS]);
  lua_settop(L, LAST);
  lua_pushnil(L);
  while (lua_next(L, PROBED)) { /* from here on nothing can raise */
    lua_pop(L, 1);
    lua_pushboolean(L, true); /* keeps the place */
    lua_rawseti(L, FUNCTIONS, lua_tointeger(L, -2));
  }
  st->probing = true;
  return 0;
}

void luc_l_begin_probe(lua_State *L, luc_l_state *st) {
  if (!st->owned || !st->ready || st->L || !lua_checkstack(L, 12)) return;
  if (st->probing) luc_l_end_probe(L, st); /* nobody called us since the last one */
  luc_web w = {.ctx = st->ctx, .ordered = true};
  lua_pushcfunction(L, probe_protected);
  lua_pushlightuserdata(L, &w);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  luc__web_free(&w);
}

/* The functions that are left go back into the strong table, where their places are free. */
void luc_l_end_probe(lua_State *L, luc_l_state *st) {
  luc_l_checkstack(L, 8);
  luc_l_get(L, st, LUC_L_CALLBACKS);
  luc_l_get(L, st, LUC_L_PROBED);
  lua_pushnil(L);
  while (lua_next(L, -2)) lua_rawseti(L, -4, lua_tointeger(L, -2));
  lua_pop(L, 2);
  st->probing = false;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_LINKS]);
}
