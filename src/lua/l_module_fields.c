/* Reading and assigning fields of modules. A hit costs one table lookup: children, parameters and
 * ordinary fields stand in the peer's table, methods in the class tables above. What is not there
 * may be a slot not yet cached, a constructor argument, `training`, or a position of a container.
 */
#include <string.h>

#include "l_module.h"

/* ---- reading ---- */

/* Position of the constructor argument of this name, or -1. name: a string of Lua's: short ones are
 * found by their address. */
static int find_argument(const luc_module *m, const char *name) {
  const luc_l_class *c = luc__config_class(m->cls->core)->binding;
  int p = c ? c->constructor.schema->nparams - 1 : -1;
  while (p >= 0 && c->fields[p] != name) p--;
  return p;
}

/* The same of one that is a field: a slot of the name hides it, and so does a parameter that was
 * deleted: `bias` is computed then. */
static int find_config(const luc_module *m, const char *name, size_t length) {
  int p = m->config ? find_argument(m, name) : -1;
  if (p < 0 || (m->outside.count > 0 && luc__map_find(&m->outside, name, length))) return -1;
  return luc__slot_find(m, name, length, NULL) ? -1 : p;
}

bool luc_l_is_kept(const luc_l_peer *peer, const char *name) {
  int p = peer->kept ? find_argument(peer->m, name) : -1;
  return p >= 0 && peer->kept >> p & 1;
}

void luc_l_forget_arguments(lua_State *L, luc_l_peer *peer, int index) {
  const luc_l_class *c = luc__config_class(peer->m->cls->core)->binding;
  lua_getiuservalue(L, index, 1);
  for (uint32_t rest = c ? peer->kept : 0; rest; rest &= rest - 1) {
    const char *name = c->fields[__builtin_ctz(rest)];
    lua_pushstring(L, name); /* it is there already */
    if (lua_rawget(L, -2) != LUA_TNIL && lua_type(L, -1) <= LUA_TSTRING) {
      lua_pushstring(L, name);
      lua_pushnil(L); /* an existing key: cannot raise */
      lua_rawset(L, -4);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  peer->kept = 0;
}

int luc_l_module_config_names(lua_State *L) {
  const luc_module *m = luc_l_checkpeer(L, 1, "pairs")->m;
  const luc_schema *schema = luc__config_class(m->cls->core)->constructor;
  lua_Integer n = 0;
  lua_newtable(L);
  for (int p = 0; m->config && p < schema->nparams; p++) {
    const char *name = lua_pushstring(L, schema->params[p].name);
    if (m->config[p].kind != LUC_NONE && find_config(m, name, strlen(name)) == p)
      lua_rawseti(L, -2, ++n);
    else
      lua_pop(L, 1);
  }
  return 1;
}

/* Caches the value on top of the stack under the key at 2 in the table at 3. */
static int cached(lua_State *L) {
  if (lua_isnil(L, -1)) return 1;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 3);
  return 1;
}

/* The entry of a ParameterList: a parameter, or what the peer's table (at 3) has under its name. */
static int push_entry(lua_State *L, luc_l_peer *peer, const luc_map_entry *e) {
  if (e->value) {
    luc_l_pushtensor(L, peer->nn->st, e->value);
    return 1;
  }
  lua_pushlstring(L, e->key, e->length);
  lua_rawget(L, 3);
  return 1;
}

/* Is the key at `index` a position? 2.0 becomes 2, as among the keys of a table. */
static bool to_position(lua_State *L, int index) {
  int whole;
  if (lua_type(L, index) != LUA_TNUMBER) return false;
  lua_Integer i = lua_tointegerx(L, index, &whole);
  if (!whole) return false;
  lua_pushinteger(L, i);
  lua_replace(L, index);
  return true;
}

/* seq[i]: nil past the end, from the end when negative. */
static int read_position(lua_State *L, luc_l_peer *peer) {
  const luc_map *entries = luc__entries(peer->m);
  lua_Integer i = lua_tointeger(L, 2), n = entries->count;
  if (i == 0)
    return luc_l_error(L, "%s: index 0 is out of range [1, %d] (indices count from 1)",
                       peer->m->cls->name, (int)n);
  lua_Integer position = i > 0 ? i - 1 : n + i;
  if (i < -n)
    return luc_l_error(L, "%s: index %I is out of range [%I, %I]", peer->m->cls->name, i, -n, n);
  if (position >= n) {
    lua_pushnil(L);
    return 1;
  }
  const luc_map_entry *e = luc__map_at(entries, (uint32_t)position);
  if (entries != &peer->m->slots[LUC_SLOT_CHILD]) return push_entry(L, peer, e);
  luc_l_pushmodule(L, peer->nn, e->value);
  /* Cached positions stay a prefix, so that one loop forgets them. */
  if (i > 0 && (lua_Unsigned)i == lua_rawlen(L, 3) + 1) return cached(L);
  return 1;
}

/* Calls what lua/lucerna/nn provides under this name with the n values at the stack's bottom. */
static int call_helper(lua_State *L, luc_l_peer *peer, const char *name, int n) {
  luc_l_push_function(L, peer->nn, name);
  for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
  lua_call(L, n, 1);
  return 1;
}

bool luc_l_is_view(const char *name) {
  static const char *const names[] = {"_parameters",
                                      "_buffers",
                                      "_modules",
                                      "_forward_pre_hooks",
                                      "_forward_hooks",
                                      "_non_persistent_buffers_set",
                                      "_backward_pre_hooks",
                                      "_backward_hooks",
                                      "_load_state_dict_pre_hooks",
                                      "_state_dict_hooks",
                                      "_state_dict_pre_hooks",
                                      "_load_state_dict_post_hooks"};
  for (size_t i = 0; *name == '_' && i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

static void push_value_of(lua_State *L, const luc_l_peer *peer, int p) {
  const luc_module *m = peer->m;
  const luc_value *v = &m->config[p];
  int type = luc__config_class(m->cls->core)->constructor->params[p].type;
  luc_l_push_value(L, v, type == LUC_T_DIM || type == LUC_T_INDEX || type == LUC_T_DIMS);
  for (int i = 0; v->kind == LUC_INTS && i < v->n; i++) {
    if (v->as.ints[i] != LUC_NO_ITEM) continue;
    luc_l_get(L, peer->nn->st, LUC_L_NONE);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Mark p stands in a peer's table for the list that is constructor argument p. */
static const char list_marks[32];

/* m.name: a constructor argument, which comes before what the class has. Arguments are kept in the
 * peer's table (at 3), for lists, which are the caller's to change, a mark. */
static bool push_argument(lua_State *L, luc_l_peer *peer) {
  const luc_module *m = peer->m;
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  int p = find_config(m, name, length);
  if (p < 0 || m->config[p].kind == LUC_NONE) return false;
  push_value_of(L, peer, p);
  lua_pushvalue(L, 2);
  if (lua_type(L, -2) <= LUA_TSTRING)
    lua_pushvalue(L, -2);
  else
    lua_pushlightuserdata(L, (void *)&list_marks[p]);
  lua_rawset(L, 3);
  peer->kept |= 1u << p;
  return true;
}

/* What comes before what the class has: `training`, too. */
static bool push_own(lua_State *L, luc_l_peer *peer) {
  if (lua_topointer(L, 2) != peer->nn->training_at)
    return lua_type(L, 2) == LUA_TSTRING && push_argument(L, peer);
  lua_pushboolean(L, peer->m->training);
  return true;
}

/* Pushes the list that the light userdata at 4 stands for, unless it is a field. */
static bool push_list(lua_State *L, const luc_l_peer *peer, bool alive) {
  const uintptr_t p = (uintptr_t)lua_touserdata(L, 4) - (uintptr_t)list_marks;
  if (p >= sizeof list_marks) return false;
  if (!alive) return luc_l_error(L, "nn: module was collected");
  push_value_of(L, peer, (int)p);
  return true;
}

/* m.name: a slot not yet cached, a view of slots or hooks, which shows them as they are. */
static int read_named(lua_State *L, luc_l_peer *peer) {
  luc_module *m = peer->m;
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  luc_slot slot;
  luc_map_entry *e = luc__slot_find(m, name, length, &slot);
  if (e) {
    luc_l_push_held(L, peer->nn, slot, e->value);
    return cached(L);
  }
  if (!luc_l_is_view(name)) return 0;
  call_helper(L, peer, "view", 2);
  if (!lua_getmetatable(L, -1)) return 1; /* a table made for this */
  lua_pop(L, 1);
  return cached(L);
}

static bool is_sequence(const luc_l_peer *peer) {
  return (peer->m->cls->core->def->flags & LUC_CF_SEQUENCE) != 0;
}

/* What neither the peer's table (at 3) nor the classes have. */
static int read_missing(lua_State *L, luc_l_peer *peer) {
  int type = lua_type(L, 2);
  if (type == LUA_TSTRING) return read_named(L, peer);
  bool sequence = is_sequence(peer);
  if (type == LUA_TNUMBER && sequence && to_position(L, 2)) return read_position(L, peer);
  if (type == LUA_TTABLE && sequence) return call_helper(L, peer, "slice", 2);
  return 0;
}

/* What a class has as __index is asked last, as Python's __getattr__ is. */
static int read_fallback(lua_State *L, luc_l_peer *peer) {
  if (!(peer->nn->overrides & luc_l_overrides_of(peer->m) & LUC_L_OWN_INDEX)) return 0;
  lua_settop(L, 2);
  lua_pushliteral(L, "__index");
  luc_l_class_get(L, peer);
  if (lua_isnil(L, -1)) return 0;
  lua_insert(L, 1);
  lua_settop(L, 3);
  lua_call(L, 2, 1);
  return 1;
}

/* The box at 4 was released, by hand or at the end of a scope: a slot's tensor gets a new one. */
static int read_released(lua_State *L, luc_l_peer *peer) {
  bool slot = peer->m && peer->nn->st->ctx && lua_type(L, 2) == LUA_TSTRING &&
              luc__slot_find(peer->m, lua_tostring(L, 2), lua_rawlen(L, 2), NULL);
  return slot ? read_named(L, peer) : 1;
}

/* Pushes what the classes have: it stands under names, so that positions of lists are not asked. */
static int push_of_class(lua_State *L, const luc_l_peer *peer, bool alive) {
  if (alive && lua_type(L, 2) == LUA_TNUMBER && is_sequence(peer)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  lua_pushvalue(L, 2);
  return lua_gettable(L, lua_upvalueindex(2));
}

int luc_l_module_index(lua_State *L) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  if (!peer) return luc_l_error(L, "nn: expected a module");
  if (lua_gettop(L) != 2) lua_settop(L, 2);
  if (peer->cls->properties && luc_l_read_property(L, peer) >= 0) return 1;
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, 3);
  if (type == LUA_TUSERDATA) {
    luc_l_box *box = luc_l_tobox(L, 4);
    if (!box || box->t) return 1;
    return read_released(L, peer);
  }
  bool alive = peer->m && peer->nn->st->ctx;
  if (type == LUA_TLIGHTUSERDATA && push_list(L, peer, alive)) return 1;
  if (type != LUA_TNIL) return 1;
  if (alive && push_own(L, peer)) return 1;
  type = push_of_class(L, peer, alive);
  if (type == LUA_TTABLE && luc_l_isproperty(L, peer->nn, -1)) { /* it replaced a method */
    lua_settop(L, 2);
    return luc_l_read_property(L, peer);
  }
  if (type != LUA_TNIL) return 1;
  if (!alive) return luc_l_error(L, "nn: module was collected");
  lua_settop(L, 3);
  int found = read_missing(L, peer);
  return found > 0 && !lua_isnil(L, -1) ? found : read_fallback(L, peer);
}

/* ---- assigning ---- */

/* What a value is, in PyTorch's messages. */
const char *luc_l_kind_name(lua_State *L, int index) {
  luc_tensor *t = luc_l_totensor(L, index);
  if (t) return t->flags & LUC_TF_PARAMETER ? "Parameter" : "Tensor";
  luc_l_peer *peer = luc_l_topeer(L, index);
  if (peer) return peer->m ? peer->m->cls->name : "module";
  const luc_l_class *c = luc_l_toclass(L, index);
  if (c) return lua_pushfstring(L, "uncalled class %s", c->cls->name);
  return luc_l_isnone(L, luc_l_state_of(L), index) ? "none" : luaL_typename(L, index);
}

/* core.nn.kind_name(value) */
int luc_l_module_kind_name(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushstring(L, luc_l_kind_name(L, 1));
  return 1;
}

static int refuse_kind(lua_State *L, luc_slot slot, const char *name, int value) {
  static const char *const slots[] = {"parameter", "buffer", "child module"};
  static const char *const expected[] = {"nn.Parameter", "nn.Buffer, Tensor", "nn.Module"};
  return luc_l_error(L, "cannot assign '%s' as %s '%s' (%s or nil expected)",
                     luc_l_kind_name(L, value), slots[slot], name, expected[slot]);
}

/* Does register_buffer, on top of the stack, take `persistent`? */
static bool takes_persistent(lua_State *L) {
  lua_Debug ar;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">u", &ar);
  return ar.isvararg || ar.nparams > 3;
}

/* Assigns through the module's own register_parameter or register_buffer. The field of that name
 * makes way, and comes back if the method raises. */
static void call_register(lua_State *L, luc_l_peer *peer, luc_slot slot, bool persistent) {
  bool buffer = slot == LUC_SLOT_BUFFER;
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, 4);
  lua_getfield(L, 1, buffer ? "register_buffer" : "register_parameter");
  bool asks = buffer && takes_persistent(L);
  if (buffer && !persistent && !asks)
    luc_l_error(L, "Registering a non-persistent buffer on a Module subclass that implements "
                   "register_buffer() without the persistent argument is not allowed.");
  if (!luc__slot_find(peer->m, lua_tostring(L, 2), lua_rawlen(L, 2), NULL)) {
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_rawset(L, 4);
  }
  for (int i = 1; i <= 3; i++) lua_pushvalue(L, i);
  if (asks) lua_pushboolean(L, persistent);
  if (lua_pcall(L, asks ? 4 : 3, 0, 0) == LUA_OK) return;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 5);
  lua_rawset(L, 4);
  lua_error(L);
}

/* The value at 3 takes the slot named at 2. */
static int assign_slot(lua_State *L, luc_l_peer *peer, luc_slot slot) {
  const luc_tensor *t = luc_l_totensor(L, 3);
  const char *name = lua_tostring(L, 2);
  bool persistent = t && t->flags & LUC_TF_BUFFER
                        ? !(t->flags & LUC_TF_NONPERSISTENT)
                        : luc__slot_is_persistent(peer->m, name, lua_rawlen(L, 2));
  uint32_t own = slot == LUC_SLOT_PARAMETER ? LUC_L_OWN_REGISTER_PARAMETER
                 : slot == LUC_SLOT_BUFFER  ? LUC_L_OWN_REGISTER_BUFFER
                                            : 0;
  if (peer->nn->overrides & own && luc_l_overrides_of(peer->m) & own)
    call_register(L, peer, slot, persistent);
  else
    luc_l_put_slot(L, peer, 1, slot, 2, 3, persistent);
  return 0;
}

/* m.x = parameter, buffer or module where no slot has the name. What the class has under it would
 * hide the new slot. */
static int add_slot(lua_State *L, luc_l_peer *peer, const char *name, luc_slot slot) {
  lua_pushvalue(L, 2);
  bool method = lua_gettable(L, lua_upvalueindex(2)) != LUA_TNIL;
  lua_pop(L, 1);
  if (method || name == peer->nn->training || luc_l_is_view(name))
    return luc_l_error(L, "attribute '%s' already exists", name);
  luc_l_state *st = peer->nn->st;
  luc_status status = LUC_OK;
  bool key = (peer->m->cls->core->def->flags & LUC_CF_KEYED) != 0;
  if (slot == LUC_SLOT_CHILD) luc_l_checkpeer(L, 3, peer->m->cls->name);
  if (slot != LUC_SLOT_CHILD || key) /* PyTorch checks children's names in dictionaries only */
    status = luc__slot_check_name(st->ctx, peer->m, slot, name, lua_rawlen(L, 2));
  if (status == LUC_OK && slot == LUC_SLOT_PARAMETER)
    status = luc__slot_check_parameter(st->ctx, name, luc_l_totensor(L, 3));
  luc_l_check(L, st, status);
  return assign_slot(L, peer, slot);
}

/* Over a name that is registered: its own kind, nil or none. */
static int replace_slot(lua_State *L, luc_l_peer *peer, luc_slot slot, const char *name) {
  if (luc_l_isnone(L, peer->nn->st, 3)) {
    lua_pushnil(L);
    lua_replace(L, 3);
  }
  luc_tensor *t = luc_l_totensor(L, 3);
  luc_l_peer *child = luc_l_topeer(L, 3);
  bool parameter = t && t->flags & LUC_TF_PARAMETER;
  bool fits = lua_isnil(L, 3) || (slot == LUC_SLOT_CHILD    ? child != NULL
                                  : slot == LUC_SLOT_BUFFER ? t && !parameter
                                                            : parameter);
  if (!fits) return refuse_kind(L, slot, name, 3);
  if (child) luc_l_checkpeer(L, 3, peer->m->cls->name);
  return assign_slot(L, peer, slot);
}

/* dropout.p = 0.2: read by the constructor's rules. */
static int assign_config(lua_State *L, luc_l_peer *peer, int p) {
  luc_l_state *st = peer->nn->st;
  const luc_l_class *c = luc__config_class(peer->m->cls->core)->binding;
  luc_l_sig sig = c->constructor;
  sig.required = 0;
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 2);
  if (lua_isnil(L, 3)) {
    luc_l_get(L, st, LUC_L_NONE);
  } else {
    lua_pushvalue(L, 3);
  }
  lua_rawset(L, -3);
  int table = lua_gettop(L);
  luc_l_args args;
  luc_l_parse(L, st, &sig, table, table, &args);
  luc_status status =
      luc__config_check(st->ctx, peer->m->cls->name, &sig.schema->params[p], &args.v[p]);
  if (status == LUC_OK) status = luc__module_set_config(st->ctx, peer->m, p, &args.v[p]);
  return luc_l_results(L, st, 0, status);
}

/* ---- plain tables that hold modules ---- */

/* Puts the table on top into the queue, an array that has its tables as keys, too, unless it was
 * there; returns how many there are then. */
static lua_Integer enqueue(lua_State *L, int queue, lua_Integer n) {
  lua_pushvalue(L, -1);
  if (lua_rawget(L, queue) != LUA_TNIL) return n;
  lua_pushvalue(L, -2);
  lua_pushboolean(L, true);
  lua_rawset(L, queue);
  lua_pushvalue(L, -2);
  lua_rawseti(L, queue, n + 1);
  return n + 1;
}

/* Does the plain table on top hold a module or parameter at any depth? */
static bool holds_modules(lua_State *L) {
  luc_l_checkstack(L, 12);
  const int top = lua_gettop(L), queue = top + 1;
  bool found = false;
  lua_newtable(L);
  lua_pushvalue(L, top);
  lua_Integer n = enqueue(L, queue, 0);
  for (lua_Integer k = 1; k <= n && !found; k++) {
    lua_settop(L, queue);
    lua_rawgeti(L, queue, k);
    lua_pushnil(L);
    while (!found && lua_next(L, queue + 1)) {
      const int at = lua_gettop(L);
      const luc_tensor *t = luc_l_totensor(L, at);
      found = luc_l_topeer(L, at) != NULL || (t && t->flags & LUC_TF_PARAMETER);
      const bool table = lua_istable(L, at), plain = table && !lua_getmetatable(L, at);
      lua_settop(L, at);
      if (plain) n = enqueue(L, queue, n);
      lua_settop(L, at - 1);
    }
  }
  lua_settop(L, top);
  return found;
}

static void check_table(lua_State *L, const char *name, int index) {
  lua_pushvalue(L, index);
  if (holds_modules(L))
    luc_l_error(L,
                "field '%s' is a plain table that holds modules or parameters, which would not be "
                "registered: use nn.ModuleList, nn.ModuleDict, nn.ParameterList or "
                "nn.unregistered(table)",
                name);
  lua_pop(L, 1);
}

/* Looks again into the tables among m's fields. */
static void check_fields(lua_State *L, luc_l_nn *nn, luc_module *m) {
  luc_l_pushmodule(L, nn, m);
  lua_getiuservalue(L, -1, 1);
  int fields = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, fields)) {
    bool named = lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TTABLE;
    if (named && !lua_getmetatable(L, -1)) check_table(L, lua_tostring(L, fields + 1), fields + 2);
    lua_settop(L, fields + 1);
  }
  lua_pop(L, 2);
}

void luc_l_check_tables(lua_State *L, luc_l_nn *nn, luc_module *m) {
  if (!nn->tables) return;
  const luc_members *found = luc_l_push_modules(L, nn, m, LUC_WALK_TABLES);
  for (size_t i = 0; i < found->n; i++) check_fields(L, nn, found->items[i].module);
  lua_pop(L, 1);
}

/* ---- ordinary fields ---- */

static int write_field(lua_State *L, luc_l_peer *peer) {
  int type = lua_type(L, 3);
  if (type == LUA_TTABLE) {
    bool plain = !lua_getmetatable(L, 3);
    if (plain) {
      const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
      check_table(L, name, 3);
      peer->m->tables = peer->nn->tables = true;
    }
    lua_settop(L, 3);
  }
  bool named = lua_type(L, 2) == LUA_TSTRING;
  bool forward = named && lua_tostring(L, 2) == peer->nn->forward;
  if (named && (type > LUA_TSTRING || peer->m->overrides))
    luc_l_note_override(L, peer, 2, type != LUA_TNIL);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  bool had = forward && lua_rawget(L, 4) != LUA_TNIL;
  lua_settop(L, 4);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_rawset(L, 4);
  if (forward && had != (type != LUA_TNIL))
    luc__module_impure(peer->nn->st->ctx, peer->m, had ? -1 : 1);
  return 0;
}

/* m[name] = value as an ordinary field, for containers whose entries may be anything. */
int luc_l_module_set_field(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 3);
  return write_field(L, peer);
}

/* Is m[name] = value an entry of a container of parameters? Any key of a dictionary is (but its
 * methods can be overridden), of a list those it has. */
static bool is_entry(lua_State *L, const luc_l_peer *peer, const char *name) {
  int flags = peer->m->cls->core->def->flags;
  if (!(flags & LUC_CF_ENTRIES) || name == peer->nn->training) return false;
  if (!(flags & LUC_CF_KEYED))
    return luc__map_find(luc__entries(peer->m), name, lua_rawlen(L, 2)) != NULL;
  if (lua_type(L, 3) != LUA_TFUNCTION) return !lua_isnil(L, 3);
  lua_pushvalue(L, 2);
  luc_l_class_get(L, peer);
  bool method = lua_type(L, -1) == LUA_TFUNCTION;
  lua_settop(L, 3);
  return !method;
}

static int write_named(lua_State *L, luc_l_peer *peer) {
  luc_module *m = peer->m;
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  luc_slot slot;
  if (is_entry(L, peer, name)) return call_helper(L, peer, "put_entry", 3);
  if (luc__slot_find(m, name, length, &slot)) return replace_slot(L, peer, slot, name);
  luc_tensor *t = luc_l_totensor(L, 3);
  if (t && t->flags & LUC_TF_PARAMETER) return add_slot(L, peer, name, LUC_SLOT_PARAMETER);
  if (t && t->flags & LUC_TF_BUFFER) return add_slot(L, peer, name, LUC_SLOT_BUFFER);
  if (luc_l_topeer(L, 3)) return add_slot(L, peer, name, LUC_SLOT_CHILD);
  if (name == peer->nn->training) {
    if (!lua_isboolean(L, 3))
      return luc_l_error(L, "%s: training must be a boolean (got %s)", m->cls->name,
                         luc_l_given(L, 3));
    m->training = lua_toboolean(L, 3);
    return 0;
  }
  if (luc_l_is_view(name))
    return luc_l_error(L, "'%s' cannot be assigned: assign to its entries, or register", name);
  int p = find_config(m, name, length);
  return p >= 0 ? assign_config(L, peer, p) : write_field(L, peer);
}

/* seq[i] = module: replaces the child there; nil empties its slot. */
static int write_position(lua_State *L, luc_l_peer *peer) {
  luc_module *m = peer->m;
  const luc_map *entries = luc__entries(m);
  lua_Integer i = lua_tointeger(L, 2), n = entries->count;
  if (i == 0 || i > n || i < -n)
    return luc_l_error(L, "%s: index %I is out of range [1, %I] (%s)", m->cls->name, i, n,
                       i == n + 1 ? "append adds an entry" : "indices count from 1");
  luc_map_entry *e = luc__map_at(entries, (uint32_t)(i > 0 ? i - 1 : n + i));
  lua_pushlstring(L, e->key, e->length);
  lua_replace(L, 2);
  if (m->cls->core->def->flags & LUC_CF_ENTRIES) return call_helper(L, peer, "put_entry", 3);
  return replace_slot(L, peer, LUC_SLOT_CHILD, lua_tostring(L, 2));
}

/* Under a key that is no name: a position, or an ordinary field. */
static int write_other(lua_State *L, luc_l_peer *peer) {
  int flags = peer->m->cls->core->def->flags;
  if (flags & LUC_CF_SEQUENCE && to_position(L, 2)) return write_position(L, peer);
  if (lua_isnil(L, 2))
    return luc_l_error(L, "%s: a field's name cannot be nil", peer->m->cls->name);
  if (flags & LUC_CF_KEYED)
    return luc_l_error(L, "%s: keys must be strings (got %s)", peer->m->cls->name,
                       luaL_typename(L, 2));
  luc_tensor *t = luc_l_totensor(L, 3);
  if (luc_l_topeer(L, 3) || (t && t->flags & LUC_TF_PARAMETER)) /* it would not be registered */
    return luc_l_error(L, "%s: the name of a %s must be a string (got %s)", peer->m->cls->name,
                       luc_l_kind_name(L, 3), luaL_typename(L, 2));
  return write_field(L, peer);
}

int luc_l_module_newindex(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  lua_settop(L, 3);
  if (peer->cls->properties && luc_l_write_property(L, peer) >= 0) return 0;
  if (lua_type(L, 2) == LUA_TSTRING) {
    /* Over an ordinary field another one is written at once: slots hold userdata, and arguments
     * that are kept are known. */
    if (lua_type(L, 3) <= LUA_TSTRING) {
      lua_getiuservalue(L, 1, 1);
      lua_pushvalue(L, 2);
      int old = lua_rawget(L, 4);
      bool kept = peer->kept && luc_l_is_kept(peer, lua_tostring(L, 2));
      if (old != LUA_TNIL && old <= LUA_TSTRING && !kept) {
        lua_pushvalue(L, 2);
        lua_pushvalue(L, 3);
        lua_rawset(L, 4);
        return 0;
      }
      lua_settop(L, 3);
    }
    return write_named(L, peer);
  }
  return write_other(L, peer);
}
