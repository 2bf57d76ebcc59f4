/* Classes of modules in Lua. A class table holds the methods; its metatable makes it callable and
 * falls back to the parent's table. Instances get one of three metatables that differ in __call
 * alone; their __index is a C function with the class table as an upvalue. */
#include <string.h>

#include "l_module.h"

static const char class_key; /* in a class table's metatable: its luc_l_class */

luc_l_class *luc_l_toclass(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return NULL;
  lua_rawgetp(L, -1, &class_key);
  luc_l_class *c = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return c && c->cls ? c : NULL; /* a finalizer may have one that is finalized already */
}

luc_l_class *luc_l_pushclass(lua_State *L, luc_l_nn *nn, const luc_class *cls) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->classes);
  if (lua_rawgetp(L, -1, cls) == LUA_TNIL && !cls->host) {
    lua_pop(L, 1);
    luc_l_pushlayer(L, nn, cls->name);
    lua_pop(L, 1);
    lua_rawgetp(L, -1, cls);
  }
  if (lua_isnil(L, -1)) /* plain: luc_l_error asks for classes */
    luaL_error(L, "%s: its class was collected", cls->name);
  lua_replace(L, -2);
  return lua_touserdata(L, -1);
}

void luc_l_push_function(lua_State *L, luc_l_nn *nn, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->functions);
  lua_getfield(L, -1, name);
  lua_replace(L, -2);
}

/* ---- metamethods of instances that classes may define ---- */

/* Calls the class's own `event` with the arguments, or says false. */
static bool dispatch(lua_State *L, const char *event, int results) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  lua_pushstring(L, event);
  if (!peer || !peer->m) return false; /* no module, or one that was collected */
  luc_l_class_get(L, peer);
  if (lua_isnil(L, -1)) return false;
  lua_insert(L, 1);
  lua_pop(L, 1);
  lua_call(L, lua_gettop(L) - 1, results);
  return true;
}

static int instance_len(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "#");
  lua_settop(L, 1);
  bool own = peer->nn->overrides & luc_l_overrides_of(peer->m) & LUC_L_OWN_LEN;
  if (own && dispatch(L, "__len", 1)) return 1;
  if (!(peer->m->cls->core->def->flags & (LUC_CF_SEQUENCE | LUC_CF_KEYED)))
    return luc_l_error(L, "#: a %s has no length", peer->m->cls->name);
  lua_pushinteger(L, luc__entries(peer->m)->count);
  return 1;
}

static int instance_pairs(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "pairs");
  bool own = peer->nn->overrides & luc_l_overrides_of(peer->m) & LUC_L_OWN_PAIRS;
  int flags = peer->m->cls->core->def->flags;
  bool modules = flags & (LUC_CF_SEQUENCE | LUC_CF_KEYED) && !(flags & LUC_CF_ENTRIES);
  if (modules && !own) return luc_l_module_pairs(L);
  if (dispatch(L, "__pairs", 3)) return 3;
  lua_settop(L, 1);
  luc_l_push_function(L, peer->nn, "pairs");
  lua_insert(L, 1);
  lua_call(L, 1, 3);
  return 3;
}

static int instance_tostring(lua_State *L) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  if (!peer || !peer->m) {
    lua_pushliteral(L, "Module(collected)");
    return 1;
  }
  lua_settop(L, 1);
  if (dispatch(L, "__tostring", 1)) return 1;
  luc_l_state *st = peer->nn->st;
  luc_context *ctx = luc_l_context(L, st);
  luc_l_hold *hold = luc_l_newhold(L, st);
  lua_State *outer = luc_l_enter(st, L);
  luc_l_leave(L, st, outer, luc_module_text(ctx, peer->m, &hold->text, &hold->size));
  lua_pushstring(L, hold->text);
  luc_l_release_hold(hold);
  return 1;
}

/* The upvalue is the event's name. */
static int instance_event(lua_State *L) {
  const char *event = lua_tostring(L, lua_upvalueindex(1));
  bool second = !luc_l_topeer(L, 1); /* 2 * m; the method is told */
  lua_settop(L, 2);
  if (second) lua_rotate(L, 1, 1);
  lua_pushboolean(L, second);
  if (dispatch(L, event, 1)) return 1;
  luc_l_peer *peer = luc_l_checkpeer(L, 1, event);
  return luc_l_error(L, "%s: a %s does not have this operator", event, peer->m->cls->name);
}

static int instance_gc(lua_State *L) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  if (!peer || !peer->m) return 0;
  luc_l_nn *nn = peer->nn;
  luc_module *m = peer->m;
  peer->m = NULL;
  if (!nn->st->ctx) return 0;
  if (m->peer == peer) m->peer = NULL;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->pins);
  if (lua_rawgetp(L, -1, m) != LUA_TNIL) { /* an existing key: cannot raise */
    lua_pushnil(L);
    lua_rawsetp(L, -3, m);
  }
  lua_State *outer = luc_l_enter(nn->st, L);
  luc__module_unref(nn->st->ctx, m);
  nn->st->L = outer;
  return 0;
}

/* ---- making classes ---- */

/* __index's and __newindex's closure: upvalue 1 is nn, 2 the class table at `table`. */
static void push_accessor(lua_State *L, luc_l_nn *nn, int table, lua_CFunction fn) {
  lua_pushlightuserdata(L, nn);
  lua_pushvalue(L, table);
  lua_pushcclosure(L, fn, 2);
}

static const luaL_Reg instance_meta[] = {{"__gc", instance_gc},
                                         {"__len", instance_len},
                                         {"__pairs", instance_pairs},
                                         {"__tostring", instance_tostring},
                                         {NULL, NULL}};
static const char *const instance_events[] = {"__add", "__mul", "__concat", "__unm",   "__sub",
                                              "__div", "__lt",  "__le",     "__close", "__bor"};

/* Pushes a metatable for instances; __index and __newindex are at `closures`. */
static void push_meta(lua_State *L, luc_l_nn *nn, const luc_class *cls, int kind, int closures) {
  /* ORDER CALL */
  static const char *const drivers[LUC_L_CALL_KINDS] = {NULL, "call", "hooked_call"};
  lua_createtable(L, 0, 20);
  luaL_setfuncs(L, instance_meta, 0);
  for (size_t i = 0; i < sizeof instance_events / sizeof *instance_events; i++) {
    lua_pushstring(L, instance_events[i]);
    lua_pushcclosure(L, instance_event, 1);
    lua_setfield(L, -2, instance_events[i]);
  }
  lua_pushvalue(L, closures);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, closures + 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushstring(L, cls->name);
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "module");
  lua_setfield(L, -2, "__metatable");
  if (kind == LUC_L_CALL_ONE_HOOK) { /* upvalues nn, the class's table, all modules' lists */
    lua_pushlightuserdata(L, nn);
    lua_pushvalue(L, closures - 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->hook_lists);
    lua_pushcclosure(L, luc_l_hooked_call, 3);
  } else if (drivers[kind]) {
    luc_l_push_function(L, nn, drivers[kind]);
  } else {
    lua_pushcfunction(L, luc_l_module_call);
  }
  lua_setfield(L, -2, "__call");
}

/* Classes of C stay whole, for the finalizers that come after when the state closes. */
static int class_gc(lua_State *L) {
  luc_l_class *c = luc_l_userdata(L, 1, sizeof *c);
  if (!c || !c->nn->st->ctx || !c->cls || !c->cls->host) return 0;
  if (c->cls->binding == c) c->cls->binding = NULL;
  luc__class_release(c->nn->st->ctx, c->cls);
  c->cls = NULL;
  return 0;
}

/* Pushes the luc_l_class of cls (taking over a reference) with an empty table and all metatables,
 * and enters it in the registry. Its parents have theirs. */
static luc_l_class *new_class(lua_State *L, luc_l_nn *nn) {
  luc_l_class *c = lua_newuserdatauv(L, sizeof *c, LUC_L_CLASS_META + LUC_L_CALL_KINDS - 1);
  memset(c, 0, sizeof *c);
  c->magic = LUC_L_MAGIC_CLASS;
  c->nn = nn;
  luc_l_set_gc(L, class_gc);
  lua_newtable(L);
  lua_setiuservalue(L, -2, LUC_L_CLASS_TABLE);
  return c;
}

static void read_signatures(lua_State *L, luc_l_class *c) {
  luc_l_state *st = c->nn->st;
  const luc_class *core = c->cls->core;
  luc_l_sig_init(L, st, &c->constructor, core->constructor, c->cls->name);
  luc_l_sig_init(L, st, &c->forward, core->forward, c->cls->name);
  c->constructor.as_given = true;
  for (int p = 0; p < core->constructor->nparams; p++) {
    int type = core->constructor->params[p].type;
    bool field = type != LUC_T_DTYPE && type != LUC_T_DEVICE && type != LUC_T_TENSOR &&
                 type != LUC_T_GENERATOR;
    if (field) c->fields[p] = luc_l_intern(L, st, core->constructor->params[p].name);
  }
  c->takes_one = core->forward->nparams > 0 && core->forward->params[0].type == LUC_T_TENSOR &&
                 !(c->forward.required & ~1u);
  for (int i = 0; i < core->forward->nresults; i++)
    if (core->forward->result_type[i] == LUC_T_INDEX_TENSOR) c->index_results |= 1u << i;
}

/* The metatable of the class table at `table`. */
static void set_table_meta(lua_State *L, luc_l_class *c, int class_index, int table) {
  luc_l_nn *nn = c->nn;
  lua_createtable(L, 0, 6);
  lua_pushvalue(L, class_index);
  lua_rawsetp(L, -2, &class_key);
  lua_pushstring(L, c->cls->name);
  lua_setfield(L, -2, "__name");
  if (c->cls->parent) {
    const luc_l_class *parent = luc_l_pushclass(L, nn, c->cls->parent);
    c->properties = parent->properties;
    c->overrides = parent->overrides;
    lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
    lua_setfield(L, -3, "__index");
    lua_pop(L, 1);
  }
  luc_l_push_function(L, nn, "construct");
  lua_setfield(L, -2, "__call");
  luc_l_push_function(L, nn, "class_tostring");
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, luc_l_class_newindex);
  lua_setfield(L, -2, "__newindex");
  lua_pushliteral(L, "class");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, table);
}

/* Completes the class on top of the stack: replaces it by its table. */
static void finish_class(lua_State *L, luc_l_class *c) {
  luc_l_nn *nn = c->nn;
  int at = lua_gettop(L), depth = 0;
  for (const luc_class *cls = c->cls; cls; cls = cls->parent)
    if (++depth > 250) luc_l_error(L, "nn.class: more than 250 parents");
  read_signatures(L, c);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->classes);
  lua_pushvalue(L, at);
  lua_rawsetp(L, -2, c->cls);
  lua_getiuservalue(L, at, LUC_L_CLASS_TABLE);
  int table = lua_gettop(L);
  set_table_meta(L, c, at, table);
  push_accessor(L, nn, table, luc_l_module_index);
  push_accessor(L, nn, table, luc_l_module_newindex);
  for (int kind = 0; kind < LUC_L_CALL_KINDS; kind++) {
    push_meta(L, nn, c->cls, kind, table + 1);
    lua_setiuservalue(L, at, LUC_L_CLASS_META + kind);
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->kinds);
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, c);
  lua_rawset(L, -3);
  c->cls->binding = c;
  lua_pushvalue(L, table);
  lua_replace(L, at);
  lua_settop(L, at);
}

/* Functions that a C class has in its table. */
static void set_layer_functions(lua_State *L, luc_l_class *c, int table) {
  const luc_class_def *def = c->cls->def;
  bool container = (def->flags & (LUC_CF_SEQUENCE | LUC_CF_KEYED)) != 0;
  bool root = !c->cls->parent;
  lua_pushinteger(L, def->version);
  lua_setfield(L, table, "_version");
  if (container || root) return; /* lua/lucerna/nn.lua has them */
  lua_pushlightuserdata(L, c);
  lua_pushcclosure(L, luc_l_module_build, 1);
  lua_setfield(L, table, "__init");
  if (def->forward == luc__no_forward) return;
  lua_pushlightuserdata(L, c);
  lua_pushcclosure(L, luc_l_module_forward, 1);
  lua_setfield(L, table, "forward");
}

static bool is_row(const char *name) {
  const luc_class_def *def;
  for (int i = 0; (def = luc__class_row(i)) != NULL; i++)
    if (!strcmp(def->name, name)) return true;
  return false;
}

/* Makes the Lua side of a class of the table and pushes its table. Parents have theirs. */
static void make_layer(lua_State *L, luc_l_nn *nn, const luc_class *cls) {
  luc_l_class *c = new_class(L, nn);
  luc_l_get(L, nn->st, LUC_L_ANCHOR); /* it lives as long as the state */
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  lua_pop(L, 1);
  c->cls = (luc_class *)cls;
  finish_class(L, c);
  set_layer_functions(L, c, lua_gettop(L));
  luc_l_push_function(L, nn, "extend"); /* what lua/lucerna/nn.lua adds to this class */
  if (lua_isnil(L, -1)) luaL_error(L, "modules in Lua need require 'lucerna.nn' first");
  lua_pushvalue(L, -2);
  lua_pushstring(L, cls->name);
  lua_call(L, 2, 0);
  c->complete = true;
}

void luc_l_pushlayer(lua_State *L, luc_l_nn *nn, const char *name) {
  luc_context *ctx = luc_l_context(L, nn->st);
  if (!is_row(name)) {
    lua_pushnil(L);
    return;
  }
  const luc_class *cls;
  luc_l_check(L, nn->st, luc__class_find(ctx, name, &cls));
  const luc_l_class *made = cls->binding;
  if (made && made->complete) { /* one that memory ran out for is made again */
    luc_l_pushclass(L, nn, cls);
    lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
    lua_replace(L, -2);
    return;
  }
  luc_l_checkstack(L, 20);
  if (cls->parent) {
    luc_l_pushlayer(L, nn, cls->parent->name);
    lua_pop(L, 1);
  }
  make_layer(L, nn, cls);
}

/* core.nn.layer(name) */
static int layer(lua_State *L) {
  luc_l_pushlayer(L, luc_l_state_of(L)->nn, luaL_checkstring(L, 1));
  return 1;
}

/* core.nn.class(name, parent) */
static int class_new(lua_State *L) {
  luc_l_nn *nn = luc_l_state_of(L)->nn;
  luc_context *ctx = luc_l_context(L, nn->st);
  if (lua_type(L, 1) != LUA_TSTRING)
    return luc_l_error(L, "nn.class: name must be a string (got %s)", luc_l_given(L, 1));
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    luc_l_pushlayer(L, nn, "Module");
    lua_replace(L, 2);
  }
  luc_l_class *parent = luc_l_toclass(L, 2);
  if (!parent)
    return luc_l_error(L, "nn.class: Parent must be a class of modules (got %s)",
                       luc_l_given(L, 2));
  luc_l_class *c = new_class(L, nn);
  luc_l_check(L, nn->st, luc__class_new(ctx, lua_tostring(L, 1), parent->cls, &c->cls));
  finish_class(L, c);
  return 1;
}

static luc_l_class *check_class(lua_State *L, int index) {
  luc_l_class *c = luc_l_toclass(L, index);
  if (!c) luc_l_error(L, "nn: expected a class of modules");
  return c;
}

/* core.nn.new(class): an instance whose __init has not run. */
static int instance_new(lua_State *L) {
  luc_l_newmodule(L, check_class(L, 1));
  return 1;
}

/* Is the value at 1 an instance of what is on top, at `class`: a class, what stands for one, or a
 * list of them? The upvalue is core.nn._kinds: classes and predicates by what is asked for. */
static bool is_instance(lua_State *L, int class) {
  lua_pushvalue(L, class);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TLIGHTUSERDATA) {
    const luc_l_class *c = lua_touserdata(L, -1);
    const luc_l_peer *peer = luc_l_topeer(L, 1);
    return peer && peer->m && luc__class_is(peer->m->cls, c->cls);
  }
  if (type != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return lua_toboolean(L, -1);
  }
  if (lua_type(L, class) != LUA_TTABLE || lua_getmetatable(L, class) || class > 102)
    return luc_l_error(L, "nn.isinstance: class must be a class of modules (got %s)",
                       luc_l_given(L, class));
  luc_l_checkstack(L, 8);
  lua_settop(L, class);
  bool found = false;
  for (lua_Integer i = 1; !found && lua_rawgeti(L, class, i) != LUA_TNIL; i++) {
    found = is_instance(L, class + 1);
    lua_settop(L, class);
  }
  return found;
}

/* core.nn.isinstance(value, class) */
static int isinstance(lua_State *L) {
  if (lua_gettop(L) != 2) lua_settop(L, 2);
  lua_pushboolean(L, is_instance(L, 2));
  return 1;
}

/* core.nn.parent(class): its parent's table, or nil. */
static int class_parent(lua_State *L) {
  luc_l_class *c = check_class(L, 1);
  if (!c->cls->parent) return 0;
  luc_l_pushclass(L, c->nn, c->cls->parent);
  lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
  return 1;
}

/* core.nn.class_of(module): its class table. */
static int class_of(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "class_of");
  luc_l_pushclass(L, peer->nn, peer->m->cls);
  lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
  return 1;
}

/* core.nn._set_class(module, class): makes it an instance of another class, which is built on the
 * same class of C's. */
static int set_class(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "set_class");
  luc_l_class *c = check_class(L, 2);
  luc_l_state *st = peer->nn->st;
  lua_State *outer = luc_l_enter(st, L);
  luc_l_leave(L, st, outer, luc__module_set_class(st->ctx, peer->m, c->cls));
  peer->cls = c;
  return 0;
}

/* core.nn.class_name(class or module) */
static int class_name(lua_State *L) {
  luc_l_class *c = luc_l_toclass(L, 1);
  lua_pushstring(L, c ? c->cls->name : luc_l_checkpeer(L, 1, "_get_name")->m->cls->name);
  return 1;
}

/* core.nn.names(): the classes written in C. */
static int names(lua_State *L) {
  const luc_class_def *def;
  lua_newtable(L);
  for (int i = 0; (def = luc__class_row(i)) != NULL; i++) {
    lua_pushstring(L, def->name);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* core.nn.schemas(class): the parameters of its constructor and of forward as a C class declares
 * them; nothing for a class made in Lua. */
static int schemas(lua_State *L) {
  luc_l_class *c = luc_l_toclass(L, 1);
  if (!c || c->cls->host) return 0;
  lua_pushstring(L, c->cls->def->constructor);
  lua_pushstring(L, c->cls->def->forward_schema);
  return 2;
}

/* core.nn.is_class(value) */
static int is_class(lua_State *L) {
  lua_pushboolean(L, luc_l_toclass(L, 1) != NULL);
  return 1;
}

void luc_l_class_get(lua_State *L, const luc_l_peer *peer) {
  luc_l_pushclass(L, peer->nn, peer->m->cls);
  lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
  lua_pushvalue(L, -3);
  lua_gettable(L, -2);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static const luaL_Reg functions[] = {{"layer", layer},
                                     {"class", class_new},
                                     {"new", instance_new},
                                     {"parent", class_parent},
                                     {"class_name", class_name},
                                     {"names", names},
                                     {"class_of", class_of},
                                     {"_set_class", set_class},
                                     {"schemas", schemas},
                                     {"is_class", is_class},
                                     {NULL, NULL}};

void luc_l_add_to_nn(lua_State *L, const luc_l_nn *nn, const luaL_Reg *list) {
  luc_l_get(L, nn->st, LUC_L_CORE);
  luaL_getsubtable(L, -1, "nn");
  luaL_setfuncs(L, list, 0);
  lua_pop(L, 2);
}

void luc_l_open_classes(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
  luc_l_get(L, nn->st, LUC_L_CORE);
  lua_getfield(L, -1, "nn");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->kinds);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "_kinds");
  lua_pushcclosure(L, isinstance, 1);
  lua_setfield(L, -2, "isinstance");
  lua_pop(L, 2);
}
