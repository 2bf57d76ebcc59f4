/* What classes and modules define of their own that the binding must respect: properties, and
 * methods which assignments, walks and conversions call in place of nn.Module's. Class tables note
 * both when they are assigned to, so that nobody pays for what nobody has. */
#include "l_module.h"

/* ---- methods ---- */

/* ORDER OVERRIDE */
static const char *const names[] = {
    "register_parameter",
    "register_buffer",
    "named_children",
    "named_modules",
    "named_parameters",
    "named_buffers",
    "_named_members",
    "parameters",
    "__index",
    "__len",
    "__pairs",
    "reset_parameters",
    "_reset_parameters",
    "_check_input_dim",
    "buffers",
    "children",
    "modules",
    "train",
    "apply",
    "_apply",
    "state_dict",
    "_save_to_state_dict",
    "get_extra_state",
    "set_extra_state",
    "load_state_dict",
    "_load_from_state_dict",
    "_version",
};

/* The bit of the method whose name is at index; 0 if nobody calls it. */
static uint32_t override_bit(lua_State *L, luc_l_nn *nn, int index) {
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->override_bits);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  uint32_t bit = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return bit;
}

uint32_t luc_l_overrides_of(const luc_module *m) {
  const luc_class *c = m->cls;
  while (c->parent && !c->binding) c = c->parent; /* not yet asked for: nothing of its own */
  const luc_l_class *made = c->binding;
  return m->overrides | (made ? made->overrides : 0);
}

bool luc_l_overridden(lua_State *L, luc_l_nn *nn, luc_module *m, uint32_t mask) {
  if (!(nn->overrides & mask)) return false;
  bool found = false;
  luc_walk w;
  luc__walk_begin(&w, nn->st->ctx, m, NULL, LUC_MEMBERS_UNNAMED);
  luc__walk_next(&w);
  for (const luc_module *at; !found && (at = luc__walk_next(&w)) != NULL;)
    found = (luc_l_overrides_of(at) & mask) != 0;
  luc_l_check(L, nn->st, luc__walk_end(&w));
  return found;
}

void luc_l_note_override(lua_State *L, luc_l_peer *peer, int key, bool on) {
  uint32_t bit = override_bit(L, peer->nn, key);
  if (on) {
    peer->m->overrides |= bit;
    peer->nn->overrides |= bit;
  } else {
    peer->m->overrides &= ~bit;
  }
}

/* ---- properties ---- */

enum { GETTER = 1, SETTER };

bool luc_l_isproperty(lua_State *L, luc_l_nn *nn, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->property_meta);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* core.nn.property(get, set) */
static int property(lua_State *L) {
  luc_l_nn *nn = luc_l_state_of(L)->nn;
  lua_settop(L, 2);
  for (int i = 1; i <= 2; i++)
    if (!lua_isnil(L, i) && !lua_isfunction(L, i))
      return luc_l_error(L, "nn.property: %s must be a function (got %s)", i == 1 ? "get" : "set",
                         luc_l_given(L, i));
  lua_createtable(L, 2, 0);
  lua_rotate(L, 1, 1);
  lua_rawseti(L, 1, SETTER);
  lua_rawseti(L, 1, GETTER);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->property_meta);
  lua_setmetatable(L, 1);
  return 1;
}

/* core.nn.is_property(value) */
static int is_property(lua_State *L) {
  lua_pushboolean(L, luc_l_isproperty(L, luc_l_state_of(L)->nn, 1));
  return 1;
}

/* Pushes the nearest class's property of the name at 2. What a class has under that name hides the
 * properties of its parents. */
static bool push_property(lua_State *L, luc_l_nn *nn) {
  lua_pushvalue(L, 2);
  if (lua_gettable(L, lua_upvalueindex(2)) == LUA_TTABLE && luc_l_isproperty(L, nn, -1))
    return true;
  lua_pop(L, 1);
  return false;
}

/* After the getter or setter, which may have yielded. */
static int finish(lua_State *L, int status, lua_KContext results) {
  (void)L, (void)status;
  return (int)results;
}

/* Pushes the function of the property on top, or says that it has none. */
static void push_accessor(lua_State *L, luc_l_peer *peer, int which, const char *kind) {
  if (lua_rawgeti(L, -1, which) != LUA_TNIL) return;
  luc_l_error(L, "property '%s' of '%s' object has no %s", luaL_tolstring(L, 2, NULL),
              peer->m ? peer->m->cls->name : "module", kind);
}

int luc_l_read_property(lua_State *L, luc_l_peer *peer) {
  if (!push_property(L, peer->nn)) return -1;
  push_accessor(L, peer, GETTER, "getter");
  lua_pushvalue(L, 1);
  lua_callk(L, 1, 1, 1, finish);
  return 1;
}

int luc_l_write_property(lua_State *L, luc_l_peer *peer) {
  if (!push_property(L, peer->nn)) return -1;
  const luc_tensor *t = luc_l_totensor(L, 3);
  bool registers = t && t->flags & (LUC_TF_PARAMETER | LUC_TF_BUFFER);
  if (registers || luc_l_topeer(L, 3))
    return luc_l_error(L, "attribute '%s' already exists", luaL_tolstring(L, 2, NULL));
  push_accessor(L, peer, SETTER, "setter");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_callk(L, 2, 0, 0, finish);
  return 0;
}

/* ---- classes ---- */

/* Marks the class and those derived from it, which have what it has. */
static void mark(lua_State *L, luc_l_class *c, bool properties, uint32_t overrides) {
  if ((c->properties || !properties) && !(overrides & ~c->overrides)) return;
  c->nn->overrides |= overrides;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &c->nn->classes);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    luc_l_class *one = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!one || !one->cls || !luc__class_is(one->cls, c->cls)) continue;
    one->properties |= properties;
    one->overrides |= overrides;
  }
  lua_pop(L, 1);
}

int luc_l_class_newindex(lua_State *L) {
  luc_l_class *c = luc_l_toclass(L, 1);
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_rawset(L, 1);
  bool own = c && (c->cls->host || c->complete) && !lua_isnil(L, 3);
  if (own) mark(L, c, luc_l_isproperty(L, c->nn, 3), override_bit(L, c->nn, 2));
  return 0;
}

/* ---- for lua/lucerna/nn ---- */

/* core.nn._override_mask(name, …): bits of methods. */
static int override_mask(lua_State *L) {
  luc_l_nn *nn = luc_l_state_of(L)->nn;
  lua_Integer mask = 0;
  for (int i = 1, n = lua_gettop(L); i <= n; i++) {
    uint32_t bit = override_bit(L, nn, i);
    if (!bit) return luc_l_error(L, "nn: method '%s' is not dispatched", lua_tostring(L, i));
    mask |= bit;
  }
  lua_pushinteger(L, mask);
  return 1;
}

/* core.nn._overrides(m, mask): has the module one of these methods of its own? */
static int overrides(lua_State *L) {
  const luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  lua_pushboolean(L, (luc_l_overrides_of(peer->m) & (uint32_t)luaL_checkinteger(L, 2)) != 0);
  return 1;
}

/* core.nn._overridden(m, mask): has a module below it one? */
static int overridden(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  uint32_t mask = (uint32_t)luaL_checkinteger(L, 2);
  lua_pushboolean(L, luc_l_overridden(L, peer->nn, peer->m, mask));
  return 1;
}

static const luaL_Reg functions[] = {
    {"property", property},    {"is_property", is_property}, {"_override_mask", override_mask},
    {"_overrides", overrides}, {"_overridden", overridden},  {NULL, NULL}};

void luc_l_open_overrides(lua_State *L, luc_l_nn *nn) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_pushinteger(L, (lua_Integer)1 << i);
    lua_setfield(L, -2, names[i]);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->override_bits);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "property");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "property");
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->property_meta);
  luc_l_add_to_nn(L, nn, functions);
}
