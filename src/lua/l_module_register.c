/* Registering parameters, buffers and children: the methods, nn.Parameter and nn.Buffer, deleting,
 * and the hooks on registration. A module's table and its slot change together, after all checks
 * and hooks; a failure leaves both as they were. */
#include "l_module.h"
#include "lucerna/autograd.h"

/* ---- hooks ---- */

typedef struct shown {
  luc_l_nn *nn;
  uint64_t function;
  luc_module *m;
  const char *name;
  const luc_registered *given;
  luc_registered *replacement;
} shown;

/* Calls the function with (m, name, object) and takes what it returns. */
static int show_protected(lua_State *L) {
  shown *s = lua_touserdata(L, 1);
  luc_l_checkstack(L, 24);
  luc_l_callback_push(L, s->nn->st, s->function);
  luc_l_pushmodule(L, s->nn, s->m);
  lua_pushstring(L, s->name);
  if (s->given->tensor)
    luc_l_pushtensor(L, s->nn->st, s->given->tensor);
  else
    luc_l_pushmodule(L, s->nn, s->given->module);
  lua_call(L, 3, 1);
  luc_tensor *t = luc_l_totensor(L, -1);
  luc_l_peer *peer = luc_l_topeer(L, -1);
  if (t) {
    luc_l_setpeer(L, s->nn->st, -1);
    s->replacement->tensor = luc_tensor_retain(t);
  } else if (peer && peer->m) {
    s->replacement->module = luc_module_retain(s->nn->st->ctx, peer->m);
  } else if (!lua_isnil(L, -1) && !luc_l_isnone(L, s->nn->st, -1)) {
    luc_l_error(L, "registration hook: must return nil or what to register for '%s' (got %s)",
                s->name, luc_l_given(L, -1));
  }
  return 0;
}

typedef struct lua_hook {
  luc_l_nn *nn;
  uint64_t function;
} lua_hook;

static luc_status show(luc_context *ctx, void *ud, luc_module *m, const char *name,
                       const luc_registered *given, luc_registered *replacement) {
  const lua_hook *hook = ud;
  luc_l_nn *nn = hook->nn;
  shown s = {nn, hook->function, m, name, given, replacement};
  (void)ctx;
  return luc_l_protect(nn->st, show_protected, &s);
}

static void free_hook(luc_context *ctx, void *ud) {
  lua_hook *hook = ud;
  luc_l_callback_drop(hook->nn->st, hook->function);
  luc__free(ctx, hook, sizeof *hook);
}

/* core.nn._add_registration_hook(kind, function) -> id; kind as luc_member_kind numbers it. */
static int add_hook(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  static const luc_member_kind kinds[] = {LUC_MEMBERS_PARAMETERS, LUC_MEMBERS_BUFFERS,
                                          LUC_MEMBERS_CHILDREN};
  lua_Integer kind = luaL_checkinteger(L, 1);
  luaL_argcheck(L, kind >= 0 && kind < LUC_SLOTS, 1, "no such kind");
  lua_settop(L, 2);
  uint64_t function = luc_l_callback_keep(L, st), id;
  lua_hook *hook = luc__alloc(ctx, sizeof *hook);
  luc_status status = hook ? LUC_OK : LUC_ERR_MEMORY;
  if (hook) {
    *hook = (lua_hook){st->nn, function};
    status = luc_register_registration_hook(ctx, kinds[kind], show, hook, free_hook, &id);
  }
  if (status != LUC_OK) {
    luc_l_callback_drop(st, function);
    if (hook) luc__free(ctx, hook, sizeof *hook);
    return luc_l_raise(L, st, status);
  }
  lua_pushinteger(L, (lua_Integer)id);
  return 1;
}

/* core.nn._remove_registration_hook(id) */
static int remove_hook(lua_State *L) {
  luc_context *ctx = luc_l_context(L, luc_l_state_of(L));
  luc_remove_registration_hook(ctx, (uint64_t)luaL_checkinteger(L, 1));
  return 0;
}

static int held_gc(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_registered *held = luc_l_userdata(L, 1, sizeof *held);
  if (held && st->ctx) luc__registered_drop(st->ctx, held);
  return 0;
}

/* Lets the hooks see the value at `value`; what they put in its place replaces it there. */
static void run_hooks(lua_State *L, luc_l_peer *peer, luc_slot slot, int key, int value) {
  luc_l_state *st = peer->nn->st;
  luc_l_peer *child = luc_l_topeer(L, value);
  void *object = child ? (void *)child->m : (void *)luc_l_totensor(L, value);
  luc_l_checkstack(L, 24);
  luc_registered *held = lua_newuserdatauv(L, sizeof *held, 0);
  *held = (luc_registered){0};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &peer->nn->registered_meta);
  lua_setmetatable(L, -2);
  lua_State *outer = luc_l_enter(st, L);
  luc_l_leave(L, st, outer,
              luc__registration_run(st->ctx, peer->m, slot, lua_tostring(L, key), &object, held));
  if (!held->tensor && !held->module) return;
  luc_l_push_held(L, peer->nn, slot, object);
  lua_replace(L, value);
  luc__registered_drop(st->ctx, held); /* what is at `value` holds it */
}

/* ---- slots and the table that Lua sees ---- */

/* Changes the core's slot; the peer's table has it already. persistent: -1 as it was. */
static luc_status set_core_slot(lua_State *L, luc_l_peer *peer, luc_slot slot, int key,
                                void *object, int persistent) {
  luc_l_state *st = peer->nn->st;
  luc_nn *nn = luc__nn_of(st->ctx);
  size_t length;
  const char *name = lua_tolstring(L, key, &length);
  const luc_module *acting = nn->host_acts;
  lua_State *outer = luc_l_enter(st, L);
  nn->host_acts = peer->m;
  luc_status status =
      slot == LUC_SLOT_BUFFER && persistent >= 0
          ? luc__slot_set_buffer(st->ctx, peer->m, name, length, object, persistent != 0)
          : luc__slot_set(st->ctx, peer->m, slot, name, length, object);
  nn->host_acts = acting;
  st->L = outer;
  return status;
}

/* Sets the table's entry, changes the slot, and takes the entry back if the core refuses. */
static void put_slot(lua_State *L, luc_l_peer *peer, int index, luc_slot slot, int key, int value,
                     int persistent) {
  lua_getiuservalue(L, index, 1);
  lua_pushvalue(L, key);
  lua_rawget(L, -2); /* the old entry */
  lua_pushvalue(L, key);
  lua_pushvalue(L, value);
  lua_rawset(L, -4);
  luc_l_peer *child = slot == LUC_SLOT_CHILD ? luc_l_topeer(L, value) : NULL;
  luc_tensor *t = slot == LUC_SLOT_CHILD ? NULL : luc_l_totensor(L, value);
  if (t) luc_l_setpeer(L, peer->nn->st, value);
  uint32_t entries = luc__entries(peer->m)->count;
  luc_status status =
      set_core_slot(L, peer, slot, key, child ? (void *)child->m : (void *)t, persistent);
  if (status == LUC_OK) {
    lua_pop(L, 2);
    bool added = luc__entries(peer->m)->count != entries;
    if (slot == LUC_SLOT_CHILD || added) luc_l_forget_children(L, index);
    return;
  }
  lua_pushvalue(L, key); /* the key exists: this cannot raise */
  lua_insert(L, -2);
  lua_rawset(L, -3);
  luc_l_raise(L, peer->nn->st, status);
}

void luc_l_put_slot(lua_State *L, luc_l_peer *peer, int index, luc_slot slot, int key, int value,
                    int persistent) {
  if (luc__nn_of(peer->nn->st->ctx)->registration) run_hooks(L, peer, slot, key, value);
  put_slot(L, peer, index, slot, key, value, persistent);
}

/* What functional_call puts in for a while are entries {module, name, value or false}, of which
 * `count` are in; in and out are one exchange with what is there. It is done here since a hook of
 * debug may raise an error at any instruction of Lua. */
enum { SWAP_MODULE = 1, SWAP_NAME, SWAP_VALUE };

/* Puts any tensor in the place of a parameter or buffer, without hooks and checks of its kind, and
 * pushes what was there. What is neither is assigned. */
static void put_any(lua_State *L, int module, int name, int value) {
  luc_l_peer *peer = luc_l_checkpeer(L, module, "functional_call");
  luc_slot slot;
  luc_map_entry *e = luc__slot_find(peer->m, luaL_checkstring(L, name), lua_rawlen(L, name), &slot);
  if (!e || slot == LUC_SLOT_CHILD) {
    lua_pushvalue(L, name);
    lua_gettable(L, module);
    lua_pushvalue(L, name);
    lua_pushvalue(L, value);
    lua_settable(L, module);
    return;
  }
  if (e->value)
    luc_l_pushtensor(L, peer->nn->st, e->value);
  else
    lua_pushboolean(L, false);
  put_slot(L, peer, module, slot, name, value, -1);
}

static void exchange(lua_State *L, int entry) {
  int top = lua_gettop(L);
  luc_l_checkstack(L, 16);
  lua_rawgeti(L, entry, SWAP_MODULE);
  lua_rawgeti(L, entry, SWAP_NAME);
  lua_rawgeti(L, entry, SWAP_VALUE);
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  put_any(L, top + 1, top + 2, top + 3);
  lua_rawseti(L, entry, SWAP_VALUE);
  lua_settop(L, top);
}

/* core.nn._swap_in(list): puts each entry in. */
static int swap_in(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  for (lua_Integer k = 1; lua_rawgeti(L, 1, k) == LUA_TTABLE; k++) {
    exchange(L, 2);
    lua_pushinteger(L, k);
    lua_setfield(L, 1, "count");
    lua_settop(L, 1);
  }
  return 0;
}

static int swap_back(lua_State *L) {
  for (lua_getfield(L, 1, "count"); lua_tointeger(L, 2) > 0; lua_getfield(L, 1, "count")) {
    lua_Integer k = lua_tointeger(L, 2);
    if (lua_rawgeti(L, 1, k) == LUA_TTABLE) exchange(L, 3);
    lua_pushinteger(L, k - 1);
    lua_setfield(L, 1, "count");
    lua_settop(L, 1);
  }
  return 0;
}

/* core.nn._swap_out(list): the same backwards. It may need memory: each failure is followed by a
 * collection and another try. */
static int swap_out(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  for (int tries = 4; tries > 0; tries--) {
    lua_settop(L, 1);
    lua_pushcfunction(L, swap_back);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK) break;
    lua_gc(L, LUA_GCCOLLECT);
  }
  return 0;
}

/* ---- the methods ---- */

/* PyTorch refuses names that the object already has otherwise. */
static void check_free(lua_State *L, luc_l_peer *peer, int index, luc_slot slot, int key) {
  luc_l_state *st = peer->nn->st;
  size_t length;
  const char *name = lua_tolstring(L, key, &length);
  luc_l_check(L, st, luc__slot_check_name(st->ctx, peer->m, slot, name, length));
  luc_slot own;
  if (luc__slot_find(peer->m, name, length, &own)) return;
  lua_pushvalue(L, key);
  luc_l_class_get(L, peer);
  bool taken = !lua_isnil(L, -1); /* properties are not read */
  if (!taken) {
    lua_pushvalue(L, key);
    lua_gettable(L, index);
    taken = !lua_isnil(L, -1);
  }
  if (taken) luc_l_error(L, "attribute '%s' already exists", name);
  lua_settop(L, lua_gettop(L) - 3);
}

/* The name must be a string as it stands: numbers are not. */
static int check_name(lua_State *L, const char *kind, const luc_value *v) {
  int at = (int)v->as.i;
  if (v->kind == LUC_NONE || lua_type(L, at) != LUA_TSTRING)
    luc_l_error(L, "%s name should be a string. Got %s", kind,
                v->kind == LUC_NONE ? "nil" : luaL_typename(L, at));
  return at;
}

/* Position of an Any argument; that of a nil pushed for one left out. */
static int any_at(lua_State *L, luc_l_state *st, const luc_value *v) {
  if (v->kind == LUC_NONE || luc_l_isnone(L, st, (int)v->as.i)) {
    lua_pushnil(L);
    return lua_gettop(L);
  }
  return (int)v->as.i;
}

static int register_parameter(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int self = (int)a->v[0].as.i;
  luc_l_peer *peer = luc_l_checkpeer(L, self, "register_parameter");
  int key = check_name(L, "parameter", &a->v[1]);
  int value = any_at(L, st, &a->v[2]);
  check_free(L, peer, self, LUC_SLOT_PARAMETER, key);
  luc_tensor *t = luc_l_totensor(L, value);
  if (!lua_isnil(L, value) && !t)
    return luc_l_error(L,
                       "cannot assign '%s' object to parameter '%s' (nn.Parameter or nil required)",
                       luc_l_kind_name(L, value), lua_tostring(L, key));
  luc_l_check(L, st, luc__slot_check_parameter(st->ctx, lua_tostring(L, key), t));
  luc_l_put_slot(L, peer, self, LUC_SLOT_PARAMETER, key, value, -1);
  return 0;
}

static int register_buffer(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int self = (int)a->v[0].as.i;
  luc_l_peer *peer = luc_l_checkpeer(L, self, "register_buffer");
  int key = check_name(L, "buffer", &a->v[1]);
  int value = any_at(L, st, &a->v[2]);
  check_free(L, peer, self, LUC_SLOT_BUFFER, key);
  if (!lua_isnil(L, value) && !luc_l_totensor(L, value))
    return luc_l_error(L, "cannot assign '%s' object to buffer '%s' (Tensor or nil required)",
                       luc_l_kind_name(L, value), lua_tostring(L, key));
  luc_l_put_slot(L, peer, self, LUC_SLOT_BUFFER, key, value, a->v[3].as.i != 0);
  return 0;
}

static int add_module(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int self = (int)a->v[0].as.i;
  luc_l_peer *peer = luc_l_checkpeer(L, self, "add_module");
  int value = any_at(L, st, &a->v[2]);
  if (!lua_isnil(L, value) && !luc_l_topeer(L, value))
    return luc_l_error(L, "%s is not a Module subclass", luc_l_kind_name(L, value));
  if (!lua_isnil(L, value)) luc_l_checkpeer(L, value, "add_module");
  int key = check_name(L, "module", &a->v[1]);
  check_free(L, peer, self, LUC_SLOT_CHILD, key);
  luc_l_put_slot(L, peer, self, LUC_SLOT_CHILD, key, value, -1);
  return 0;
}

/* Removes the slot named by the string at key; forward looks for its tensor elsewhere. */
static void delete_slot(lua_State *L, luc_l_peer *peer, int self, luc_slot slot, int key) {
  luc_l_state *st = peer->nn->st;
  size_t length;
  const char *name = lua_tolstring(L, key, &length);
  bool inside = slot == LUC_SLOT_CHILD || (peer->m->cls->core->def->flags & LUC_CF_ENTRIES) != 0;
  luc_l_check(L, st, inside ? LUC_OK : luc__slot_outside(st->ctx, peer->m, name, length));
  lua_getiuservalue(L, self, 1);
  lua_pushvalue(L, key);
  lua_pushnil(L);
  lua_rawset(L, -3);
  luc_l_forget_children(L, self);
  lua_State *outer = luc_l_enter(st, L);
  luc__slot_delete(st->ctx, peer->m, name, length);
  st->L = outer;
}

/* Deletes places of a list of modules: a position or {first, last}. False for names and for other
 * modules. */
static bool delete_positions(lua_State *L, luc_l_peer *peer, int self, const luc_value *key) {
  bool list =
      (peer->m->cls->core->def->flags & (LUC_CF_SEQUENCE | LUC_CF_ENTRIES)) == LUC_CF_SEQUENCE;
  if (!list || key->kind == LUC_NONE || lua_type(L, (int)key->as.i) == LUA_TSTRING) return false;
  luc_l_push_function(L, peer->nn, "delete");
  lua_pushvalue(L, self);
  lua_pushvalue(L, (int)key->as.i);
  lua_call(L, 2, 0);
  return true;
}

/* nn.delattr(m, name), nn.delattr(list, position) */
static int delattr(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  int self = (int)a->v[0].as.i;
  luc_l_peer *peer = luc_l_checkpeer(L, self, "delattr");
  if (delete_positions(L, peer, self, &a->v[1])) return 0;
  int key = check_name(L, "attribute", &a->v[1]);
  size_t length;
  const char *name = lua_tolstring(L, key, &length);
  luc_slot slot;
  if (luc__slot_find(peer->m, name, length, &slot)) {
    delete_slot(L, peer, self, slot, key);
    return 0;
  }
  lua_getiuservalue(L, self, 1);
  lua_pushvalue(L, key);
  if (lua_rawget(L, -2) == LUA_TNIL || luc_l_is_kept(peer, name))
    return luc_l_error(L, "delattr: '%s' object has no attribute '%s'", peer->m->cls->name, name);
  lua_pushvalue(L, key);
  lua_pushnil(L);
  lua_settable(L, self);
  return 0;
}

/* core.nn._slot_to_field(m, name, value): a field in the place of a parameter or buffer. */
static int slot_to_field(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 3);
  luc_slot slot;
  if (luc__slot_find(peer->m, lua_tostring(L, 2), lua_rawlen(L, 2), &slot))
    delete_slot(L, peer, 1, slot, 2);
  lua_settop(L, 3);
  return luc_l_module_set_field(L);
}

/* ---- nn.Parameter, nn.Buffer ---- */

static int wrap(lua_State *L, luc_l_state *st, const luc_l_args *a, int flags, bool grad) {
  luc_l_box *box = luc_l_newbox(L, st);
  int64_t none = 0;
  luc_status status = a->v[0].kind == LUC_TENSOR
                          ? luc__tensor_alias(st->ctx, a->v[0].as.tensor, &box->t)
                          : luc__tensor_empty(st->ctx, st->ctx->default_dtype, 1, &none, &box->t);
  if (status == LUC_OK && grad) status = luc_tensor_set_requires_grad(st->ctx, box->t, true);
  const char *who = flags & LUC_TF_PARAMETER ? "Parameter" : "Buffer";
  luc_l_check(L, st, luc__failed_as(st->ctx, status, who));
  box->t->flags = (uint8_t)(box->t->flags | flags);
  luc_l_setpeer(L, st, -1);
  return 1;
}

static int parameter_new(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return wrap(L, st, a, LUC_TF_PARAMETER, a->v[1].as.i != 0);
}

static int buffer_new(lua_State *L, luc_l_state *st, luc_l_args *a) {
  bool grad = a->v[0].kind == LUC_TENSOR && luc_tensor_requires_grad(a->v[0].as.tensor);
  return wrap(L, st, a, LUC_TF_BUFFER | (a->v[1].as.i ? 0 : LUC_TF_NONPERSISTENT), grad);
}

/* core.nn._is_persistent(m, name) */
static int is_persistent(lua_State *L) {
  const luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  size_t length;
  const char *name = luaL_checklstring(L, 2, &length);
  lua_pushboolean(L, luc__slot_is_persistent(peer->m, name, length));
  return 1;
}

/* core.nn._skip_init([on]): whether constructors leave contents undefined; what it was. */
static int skip_init(lua_State *L) {
  luc_nn *nn = luc__nn_of(luc_l_context(L, luc_l_state_of(L)));
  lua_pushboolean(L, nn->skip_init);
  if (!lua_isnone(L, 1)) nn->skip_init = lua_toboolean(L, 1);
  return 1;
}

/* core.nn._skip_init_as(t): as t[1] says. */
static int skip_init_as(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_rawgeti(L, 1, 1);
  luc__nn_of(luc_l_context(L, luc_l_state_of(L)))->skip_init = lua_toboolean(L, -1);
  return 0;
}

static const luc_l_native natives[] = {
    {"Parameter(Tensor? data=None, bool requires_grad=True) -> Tensor", parameter_new,
     LUC_F_FUNCTION},
    {"Buffer(Tensor? data=None, bool persistent=True) -> Tensor", buffer_new, LUC_F_FUNCTION},
    {"register_parameter(Any self, Any name, Any param=None) -> None", register_parameter,
     LUC_F_FUNCTION},
    {"register_buffer(Any self, Any name, Any tensor=None, bool persistent=True) -> None",
     register_buffer, LUC_F_FUNCTION},
    {"add_module(Any self, Any name, Any module=None) -> None", add_module, LUC_F_FUNCTION},
    {"delattr(Any self, Any name) -> None", delattr, LUC_F_FUNCTION},
};

static const luaL_Reg functions[] = {{"_add_registration_hook", add_hook},
                                     {"_remove_registration_hook", remove_hook},
                                     {"_is_persistent", is_persistent},
                                     {"_swap_in", swap_in},
                                     {"_swap_out", swap_out},
                                     {"_skip_init", skip_init},
                                     {"_skip_init_as", skip_init_as},
                                     {"_slot_to_field", slot_to_field},
                                     {NULL, NULL}};

void luc_l_open_registering(lua_State *L, luc_l_nn *nn) {
  luc_l_add_natives_to(L, nn->st, "nn", natives, sizeof natives / sizeof *natives);
  luc_l_add_to_nn(L, nn, functions);
  luc_l_push_gc(L, held_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->registered_meta);
}
