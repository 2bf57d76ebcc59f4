/* state_dict and load_state_dict: arrays of names and values between the core's state dicts and the
 * ordered maps of lua/lucerna/nn. Trees in which nothing of Lua's takes part are saved and loaded
 * in the core at once; for the others lua/lucerna/nn/state.lua goes from module to module. */
#include <string.h>

#include "l_module.h"

/* What the core needs while Lua may raise. */
typedef struct state_box {
  luc_l_state *st;
  luc_state_dict *sd;
  luc_names missing, unexpected, errors;
} state_box;

static void drop_state(state_box *box) {
  luc_context *ctx = box->st->ctx;
  if (!ctx) return;
  luc_state_dict_free(ctx, box->sd);
  box->sd = NULL;
  luc_names_free(ctx, &box->missing);
  luc_names_free(ctx, &box->unexpected);
  luc_names_free(ctx, &box->errors);
}

static int state_gc(lua_State *L) {
  state_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (box) drop_state(box);
  return 0;
}

static state_box *new_state(lua_State *L, luc_l_state *st) {
  state_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (state_box){.st = st};
  luc_l_set_gc(L, state_gc);
  return box;
}

/* ---- between Lua's arrays and the core's ---- */

/* Pushes {prefix, version, …}. */
static void push_versions(lua_State *L, const luc_state_dict *sd) {
  size_t versions = luc_state_dict_num_versions(sd);
  lua_createtable(L, 2 * (int)versions, 0);
  for (size_t k = 0; k < versions; k++) {
    int version;
    lua_pushstring(L, luc_state_dict_version_at(sd, k, &version));
    lua_rawseti(L, -2, 2 * (lua_Integer)k + 1);
    lua_pushinteger(L, version);
    lua_rawseti(L, -2, 2 * (lua_Integer)k + 2);
  }
}

/* Pushes {name = tensor, …}, {name, …} and {prefix, version, …}. */
static int push_state(lua_State *L, luc_l_state *st, const luc_state_dict *sd) {
  luc_map_entry *e;
  int n = (int)luc_state_dict_count(sd), top = lua_gettop(L);
  lua_createtable(L, 0, n + 1); /* with what an ordered map has beside its entries */
  lua_createtable(L, n, 0);
  lua_Integer i = 0;
  for (uint32_t at = 0; (e = luc__state_next(sd, &at)) != NULL;) {
    lua_pushlstring(L, e->key, e->length);
    lua_pushvalue(L, -1);
    lua_rawseti(L, top + 2, ++i);
    luc_tensor *t = e->value;
    if (t && t->refs == 1) /* an alias made for this: no other object can be its */
      luc_l_newbox(L, st)->t = luc_tensor_retain(t);
    else if (t)
      luc_l_pushtensor(L, st, t);
    else
      lua_pushboolean(L, false);
    lua_rawset(L, top + 1);
  }
  push_versions(L, sd);
  return 3;
}

/* Tensors that will be read from slots, values of the array at 3, must be found as the objects they
 * are. */
static void know_tensors(lua_State *L, luc_l_state *st) {
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 3);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 3, i);
    if (luc_l_totensor(L, -1)) luc_l_setpeer(L, st, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* Fills sd from arrays of names and values, {prefix, version, …} (0: none). */
static luc_status read_state(lua_State *L, luc_context *ctx, luc_state_dict *sd, int names,
                             int values, int versions) {
  luaL_checktype(L, names, LUA_TTABLE);
  luaL_checktype(L, values, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, names);
  int top = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, names, i);
    lua_rawgeti(L, values, i);
    const char *name = luaL_checkstring(L, top + 1);
    luc_tensor *t = luc_l_totensor(L, top + 2);
    LUC_TRY(t ? luc_state_dict_set(ctx, sd, name, t)
              : luc_state_dict_set_other(ctx, sd, name, luc_l_kind_name(L, top + 2)));
    lua_settop(L, top);
  }
  if (versions) luaL_checktype(L, versions, LUA_TTABLE);
  n = versions ? (lua_Integer)lua_rawlen(L, versions) : 0;
  for (lua_Integer i = 1; i < n; i += 2) {
    lua_rawgeti(L, versions, i);
    lua_rawgeti(L, versions, i + 1);
    const char *prefix = luaL_checkstring(L, -2);
    LUC_TRY(luc_state_dict_set_version(ctx, sd, prefix, (int)lua_tointeger(L, -1)));
    lua_pop(L, 2);
  }
  return LUC_OK;
}

/* The same, for a new one in the box. */
static luc_status read_new_state(lua_State *L, state_box *box, int names, int values,
                                 int versions) {
  LUC_TRY(luc_state_dict_new(box->st->ctx, &box->sd));
  return read_state(L, box->st->ctx, box->sd, names, values, versions);
}

static luc_status read_names(lua_State *L, luc_context *ctx, int index, luc_names *names) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= n; i++) {
    size_t length;
    lua_rawgeti(L, index, i);
    const char *name = luaL_tolstring(L, -1, &length);
    LUC_TRY(luc__names_add(ctx, names, name, strlen(name)));
    lua_pop(L, 2);
  }
  return LUC_OK;
}

/* Fills the box's lists from three arrays, the first at `index`. */
static luc_status read_lists(lua_State *L, state_box *box, int index) {
  LUC_TRY(read_names(L, box->st->ctx, index, &box->missing));
  LUC_TRY(read_names(L, box->st->ctx, index + 1, &box->unexpected));
  return read_names(L, box->st->ctx, index + 2, &box->errors);
}

static void push_names(lua_State *L, const luc_names *names) {
  lua_createtable(L, (int)names->n, 0);
  for (size_t i = 0; i < names->n; i++) {
    lua_pushstring(L, names->items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* ---- whole trees ---- */

/* core.nn._state_dict(m, prefix, keep_vars) */
static int state_dict(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_state *st = peer->nn->st;
  const char *prefix = luaL_checkstring(L, 2);
  bool keep_vars = lua_toboolean(L, 3);
  state_box *box = new_state(L, st);
  luc_status status = luc_state_dict_new(st->ctx, &box->sd);
  lua_State *outer = luc_l_enter(st, L);
  if (status == LUC_OK) status = luc__state_dict(st->ctx, peer->m, prefix, keep_vars, box->sd);
  luc_l_leave(L, st, outer, status);
  int results = push_state(L, st, box->sd);
  drop_state(box);
  return results;
}

/* What load_state_dict returns must exist before anything is written. */
static int results_protected(lua_State *L) {
  const state_box *box = lua_touserdata(L, 1);
  push_names(L, &box->missing);
  push_names(L, &box->unexpected);
  return 2;
}

static luc_status push_results(void *ud) {
  state_box *box = ud;
  lua_State *L = box->st->L;
  lua_pushcfunction(L, results_protected);
  lua_pushlightuserdata(L, box);
  return lua_pcall(L, 1, 2, 0) == LUA_OK ? LUC_OK : luc_l_keep_error(L, box->st);
}

/* core.nn._load_state_dict(m, names, values, versions, strict, assign): missing, unexpected */
static int load_state_dict(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "load_state_dict");
  luc_l_state *st = peer->nn->st;
  int flags =
      (lua_toboolean(L, 5) ? LUC_LOAD_STRICT : 0) | (lua_toboolean(L, 6) ? LUC_LOAD_ASSIGN : 0);
  lua_settop(L, 4);
  if (flags & LUC_LOAD_ASSIGN) know_tensors(L, st);
  state_box *box = new_state(L, st);
  luc_status status = read_new_state(L, box, 2, 3, 4);
  lua_State *outer = luc_l_enter(st, L);
  if (status == LUC_OK)
    status = luc__load_state_dict(st->ctx, peer->m, box->sd, flags, &box->missing, &box->unexpected,
                                  push_results, box);
  luc_l_leave(L, st, outer, status);
  drop_state(box);
  return 2;
}

/* core.nn._check_tables(m): no plain table among the fields below m may hold modules. */
static int check_tables(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_check_tables(L, peer->nn, peer->m);
  return 0;
}

/* ---- one module ---- */

/* Pushes what a state has of a slot: an alias, unless variables are kept; false if it is empty. */
static bool push_own(lua_State *L, luc_l_state *st, luc_tensor *value, bool keep_vars) {
  luc_l_pushtensor(L, st, value);
  luc_tensor *t = luc_l_totensor(L, -1);
  if (!t || keep_vars || luc_tensor_is_uninitialized(t)) return t;
  luc_l_box *box = luc_l_newbox(L, st);
  luc_l_check(L, st, luc__tensor_alias(st->ctx, t, &box->t));
  lua_replace(L, -2);
  return true;
}

/* core.nn._own_state(m, keep_vars): {name, tensor, …} of what it saves. */
static int own_state(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "_save_to_state_dict");
  luc_l_state *st = peer->nn->st;
  bool keep_vars = lua_toboolean(L, 2);
  lua_Integer n = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++) {
    const luc_map *map = &peer->m->slots[slot];
    luc_map_entry *e;
    for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
      if (slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(peer->m, e->key, e->length)) continue;
      if (!e->value || !(e = luc_l_push_name(L, map, e))) continue;
      if (push_own(L, st, e->value, keep_vars)) {
        lua_rawseti(L, list, n + 2);
        lua_rawseti(L, list, n + 1);
        n += 2;
      }
      lua_settop(L, list);
    }
  }
  return 1;
}

/* core.nn._load_own(m, names, values, prefix, version, assign): missing, unexpected, errors */
static int load_own(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "_load_from_state_dict");
  luc_l_state *st = peer->nn->st;
  const char *prefix = luaL_checkstring(L, 4);
  int version = (int)luaL_checkinteger(L, 5);
  bool assign = lua_toboolean(L, 6);
  if (assign) know_tensors(L, st);
  state_box *box = new_state(L, st);
  luc_status status = read_new_state(L, box, 2, 3, 0);
  lua_State *outer = luc_l_enter(st, L);
  if (status == LUC_OK)
    status = luc__load_own(st->ctx, peer->m, box->sd, prefix, version, assign, &box->missing,
                           &box->unexpected, &box->errors);
  luc_l_leave(L, st, outer, status);
  push_names(L, &box->missing);
  push_names(L, &box->unexpected);
  push_names(L, &box->errors);
  drop_state(box);
  return 3;
}

/* core.nn._load_check(m, strict, missing, unexpected, errors) raises if there is reason to. */
static int load_check(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "load_state_dict");
  luc_l_state *st = peer->nn->st;
  state_box *box = new_state(L, st);
  luc_status status = read_lists(L, box, 3);
  if (status == LUC_OK)
    status = luc__load_check(st->ctx, peer->m, lua_toboolean(L, 2), &box->missing, &box->unexpected,
                             &box->errors);
  drop_state(box);
  return luc_l_results(L, st, 0, status);
}

/* ---- hooks of C in trees that Lua goes through ---- */

/* Puts a list's names into the table at index, in place of what it has. */
static void write_names(lua_State *L, int index, const luc_names *names) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (; n > (lua_Integer)names->n; n--) {
    lua_pushnil(L);
    lua_rawseti(L, index, n);
  }
  for (size_t i = 0; i < names->n; i++) {
    lua_pushstring(L, names->items[i]);
    lua_rawseti(L, index, (lua_Integer)i + 1);
  }
}

enum {
  HOOK_M = 1,
  HOOK_ID,
  HOOK_PREFIX,
  HOOK_KEEP,
  HOOK_VERSION,
  HOOK_NAMES,
  HOOK_VALUES,
  HOOK_MISSING,
  HOOK_UNEXPECTED,
  HOOK_ERRORS
};

static luc_status run_c_hook(lua_State *L, luc_l_peer *peer, state_box *box) {
  luc_context *ctx = box->st->ctx;
  uint64_t id = (uint64_t)lua_tointeger(L, HOOK_ID);
  luc_module_hook *hook = luc__hook_find(peer->m->hooks, id);
  if (!hook) return LUC_OK;
  luc_state_event event = hook->kind - LUC_HOOK_STATE;
  bool loads = event >= LUC_STATE_LOAD_BEFORE;
  if (lua_istable(L, HOOK_NAMES)) LUC_TRY(read_new_state(L, box, HOOK_NAMES, HOOK_VALUES, 0));
  if (loads) LUC_TRY(read_lists(L, box, HOOK_MISSING));
  luc_state_info info = {.event = event,
                         .prefix = luaL_checkstring(L, HOOK_PREFIX),
                         .state = box->sd,
                         .keep_vars = lua_toboolean(L, HOOK_KEEP),
                         .version = (int)lua_tointeger(L, HOOK_VERSION),
                         .missing = loads ? &box->missing : NULL,
                         .unexpected = loads ? &box->unexpected : NULL,
                         .errors = loads ? &box->errors : NULL};
  lua_State *outer = luc_l_enter(box->st, L);
  luc_status status = luc__state_hook_call(ctx, peer->m, hook, &info);
  box->st->L = outer;
  return status;
}

/* core.nn._call_state_hook(m, id, prefix, keep_vars, version, names, values, missing, unexpected,
 * errors) calls a hook of C. The lists follow what it does; the state's new names and values are
 * the results (false: no tensor). */
static int call_state_hook(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "state_dict");
  luc_l_state *st = peer->nn->st;
  luc_map_entry *e;
  lua_settop(L, HOOK_ERRORS);
  state_box *box = new_state(L, st);
  luc_l_check(L, st, run_c_hook(L, peer, box));
  if (lua_istable(L, HOOK_MISSING)) {
    write_names(L, HOOK_MISSING, &box->missing);
    write_names(L, HOOK_UNEXPECTED, &box->unexpected);
    write_names(L, HOOK_ERRORS, &box->errors);
  }
  if (!box->sd) return 0;
  lua_newtable(L);
  lua_newtable(L);
  lua_Integer i = 0;
  for (uint32_t at = 0; (e = luc__state_next(box->sd, &at)) != NULL;) {
    lua_pushlstring(L, e->key, e->length);
    lua_rawseti(L, -3, ++i);
    if (e->value)
      luc_l_pushtensor(L, st, e->value);
    else
      lua_pushboolean(L, false);
    lua_rawseti(L, -2, i);
  }
  drop_state(box);
  return 2;
}

/* ---- C hosts ---- */

typedef struct host_state {
  luc_l_nn *nn;
  luc_module *m;
  const char *prefix;
  luc_state_dict *sd;
  int flags; /* of loading; for saving: keep_vars */
  luc_names *missing, *unexpected;
  bool handled;
  luc_status status;
} host_state;

/* Calls what lua/lucerna/nn/state.lua provides under a name with what the stack has above it. */
static void call_provided(lua_State *L, luc_l_nn *nn, const char *name, int nargs, int nresults) {
  luc_l_push_function(L, nn, name);
  lua_insert(L, -nargs - 1);
  lua_call(L, nargs, nresults);
}

static int save_protected(lua_State *L) {
  host_state *h = lua_touserdata(L, 1);
  luc_l_pushmodule(L, h->nn, h->m);
  lua_pushstring(L, h->prefix ? h->prefix : "");
  lua_pushboolean(L, h->flags);
  call_provided(L, h->nn, "save_state", 3, 3);
  h->handled = !lua_isnil(L, 2);
  if (h->handled) h->status = read_state(L, h->nn->st->ctx, h->sd, 2, 3, 4);
  return 0;
}

/* Gives the host the lists, at the last moment at which that may fail. Upvalue 1: host_state. */
static int report(lua_State *L) {
  host_state *h = lua_touserdata(L, lua_upvalueindex(1));
  luc_l_state *st = h->nn->st;
  luc_status status = read_names(L, st->ctx, 1, h->missing);
  if (status == LUC_OK) status = read_names(L, st->ctx, 2, h->unexpected);
  return luc_l_results(L, st, 0, status);
}

static int load_protected(lua_State *L) {
  host_state *h = lua_touserdata(L, 1);
  luc_l_pushmodule(L, h->nn, h->m);
  lua_pushboolean(L, h->flags & LUC_LOAD_ASSIGN);
  call_provided(L, h->nn, "needs_load", 2, 1);
  h->handled = lua_toboolean(L, 2);
  if (!h->handled) return 0;
  lua_settop(L, 1);
  luc_l_pushmodule(L, h->nn, h->m);
  push_state(L, h->nn->st, h->sd);
  lua_pushboolean(L, h->flags & LUC_LOAD_STRICT);
  lua_pushboolean(L, h->flags & LUC_LOAD_ASSIGN);
  lua_pushlightuserdata(L, h);
  lua_pushcclosure(L, report, 1);
  call_provided(L, h->nn, "load_state", 7, 0);
  return 0;
}

static luc_status protect(host_state *h, lua_CFunction fn, bool *handled) {
  if (!h->m->peer) return LUC_OK; /* Lua does not know the tree */
  LUC_TRY(luc_l_protect(h->nn->st, fn, h));
  *handled = h->handled;
  return h->status;
}

static luc_status host_save_state(luc_context *ctx, void *ud, luc_module *m, const char *prefix,
                                  bool keep_vars, luc_state_dict *sd, bool *handled) {
  host_state h = {.nn = ud, .m = m, .prefix = prefix, .sd = sd, .flags = keep_vars};
  (void)ctx;
  return protect(&h, save_protected, handled);
}

static luc_status host_load_state(luc_context *ctx, void *ud, luc_module *m,
                                  const luc_state_dict *sd, int flags, luc_names *missing,
                                  luc_names *unexpected, bool *handled) {
  host_state h = {.nn = ud,
                  .m = m,
                  .sd = (luc_state_dict *)sd,
                  .flags = flags,
                  .missing = missing,
                  .unexpected = unexpected};
  (void)ctx;
  return protect(&h, load_protected, handled);
}

void luc_l_state_host(luc_host *host) {
  host->save_state = host_save_state;
  host->load_state = host_load_state;
}

static const luaL_Reg functions[] = {{"_state_dict", state_dict},
                                     {"_load_state_dict", load_state_dict},
                                     {"_check_tables", check_tables},
                                     {"_own_state", own_state},
                                     {"_load_own", load_own},
                                     {"_load_check", load_check},
                                     {"_call_state_hook", call_state_hook},
                                     {NULL, NULL}};

void luc_l_open_state_dict(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
}
