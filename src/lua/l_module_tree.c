/* Methods of modules that act on trees: iterating, converting, finding by path. Declared by schemas
 * like operators; lua/lucerna/nn.lua puts them into nn.Module. */
#include <string.h>

#include "l_module.h"
#include "lucerna/autograd.h"

/* ---- children ---- */

/* The modules at 2 with their names (at 3, or numbers), as arrays that live on the stack. */
typedef struct child_list {
  int n;
  luc_module **modules;
  const char **names;
  int entries; /* a table name -> module or false, which keeps the names alive */
} child_list;

static child_list read_children(lua_State *L, const luc_l_peer *peer) {
  luaL_checktype(L, 2, LUA_TTABLE);
  child_list c = {.n = (int)lua_rawlen(L, 2)};
  bool named = lua_istable(L, 3);
  size_t each = sizeof *c.modules + sizeof *c.names;
  luc_l_checkstack(L, 8);
  c.modules = lua_newuserdatauv(L, (size_t)c.n * each + 1, 0);
  c.names = (const char **)(c.modules + c.n);
  lua_newtable(L);
  c.entries = lua_gettop(L);
  for (int i = 0; i < c.n; i++) {
    lua_rawgeti(L, 2, i + 1);
    c.modules[i] = lua_toboolean(L, -1) ? luc_l_checkpeer(L, -1, "children")->m : NULL;
    if (named)
      lua_rawgeti(L, 3, i + 1);
    else
      lua_pushfstring(L, "%d", i);
    c.names[i] = luaL_checkstring(L, -1);
    lua_insert(L, -2);
    lua_rawset(L, c.entries);
    luc_l_check(L, peer->nn->st,
                c.modules[i]
                    ? luc__check_acyclic(peer->nn->st->ctx, peer->m, c.modules[i], c.names[i])
                    : LUC_OK);
  }
  return c;
}

/* Puts the new children into the peer's table `fields`. */
static void hold_entries(lua_State *L, int entries, int fields) {
  lua_pushnil(L);
  while (lua_next(L, entries)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    if (lua_toboolean(L, -1))
      lua_rawset(L, fields);
    else
      lua_pop(L, 2);
  }
}

/* Takes out of the table what is no child any more; clearing keys cannot raise. */
static void drop_entries(lua_State *L, const luc_module *m, int fields) {
  lua_pushnil(L);
  while (lua_next(L, fields)) {
    luc_l_peer *child = luc_l_topeer(L, -1);
    lua_pop(L, 1);
    if (!child || lua_type(L, -1) != LUA_TSTRING) continue;
    size_t length;
    const char *key = lua_tolstring(L, -1, &length);
    luc_map_entry *e = luc__map_find(&m->slots[LUC_SLOT_CHILD], key, length);
    if (e && e->value == child->m) continue;
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, fields);
  }
}

/* core.nn._set_children(m, list[, names]): replaces all children; entries false are empty slots.
 * The peer's table holds the new children before the core does. */
static int set_children(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "children");
  luc_l_state *st = peer->nn->st;
  luc_nn *nn = luc__nn_of(st->ctx);
  child_list c = read_children(L, peer);
  lua_getiuservalue(L, 1, 1);
  int fields = lua_gettop(L);
  hold_entries(L, c.entries, fields);
  luc_l_forget_children(L, 1);
  lua_State *outer = luc_l_enter(st, L);
  const luc_module *acting = nn->host_acts;
  nn->host_acts = peer->m;
  luc_status status = luc__set_children(st->ctx, peer->m, c.modules, c.names, c.n);
  nn->host_acts = acting;
  st->L = outer;
  drop_entries(L, peer->m, fields);
  return luc_l_results(L, st, 0, status);
}

/* ---- iterating ---- */

typedef struct members_box {
  luc_l_nn *nn;
  luc_members list;
  size_t next;
  bool named, tensors;
  const luc_module *root; /* of a visit … */
  uint32_t visits;        /* … that stops at modules with one of these methods; else 0 */
} members_box;

static int members_gc(lua_State *L) {
  members_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (box && box->nn->st->ctx) luc_members_free(box->nn->st->ctx, &box->list);
  return 0;
}

static int members_next(lua_State *L) {
  members_box *box = lua_touserdata(L, lua_upvalueindex(1));
  luc_l_context(L, box->nn->st);
  if (box->next >= box->list.n) {
    luc_members_free(box->nn->st->ctx, &box->list);
    box->next = 0;
    return 0;
  }
  const luc_member *item = &box->list.items[box->next++];
  if (box->named) lua_pushlstring(L, item->name, item->length);
  if (box->tensors)
    luc_l_pushtensor(L, box->nn->st, item->tensor);
  else
    luc_l_pushmodule(L, box->nn, item->module);
  if (!box->visits) return 1 + box->named;
  bool own = item->module != box->root && luc_l_overrides_of(item->module) & box->visits;
  lua_pushboolean(L, own);
  return 2;
}

/* Pushes an empty list for members_next. */
static members_box *new_box(lua_State *L, luc_l_nn *nn, luc_member_kind kind, int flags) {
  members_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  memset(box, 0, sizeof *box);
  box->nn = nn;
  box->named = !(flags & LUC_MEMBERS_UNNAMED);
  box->tensors = kind == LUC_MEMBERS_PARAMETERS || kind == LUC_MEMBERS_BUFFERS;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &nn->members_meta);
  lua_setmetatable(L, -2);
  return box;
}

const luc_members *luc_l_push_modules(lua_State *L, luc_l_nn *nn, luc_module *m, int flags) {
  members_box *box = new_box(L, nn, LUC_MEMBERS_MODULES, LUC_MEMBERS_UNNAMED);
  flags |= LUC_MEMBERS_UNNAMED;
  luc_l_check(L, nn->st,
              luc_module_members(nn->st->ctx, m, LUC_MEMBERS_MODULES, NULL, flags, &box->list));
  return &box->list;
}

/* core.nn._visit(m, mask, post): iterates over the modules that a recursion over children() would
 * reach, m included, last if post, with whether they have a method of the mask of their own:
 * nothing below these is visited. */
static int visit(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  luc_l_check_tables(L, peer->nn, peer->m);
  members_box *box = new_box(L, peer->nn, LUC_MEMBERS_MODULES, LUC_MEMBERS_UNNAMED);
  box->root = peer->m;
  box->visits = (uint32_t)luaL_checkinteger(L, 2);
  luc_l_check(L, peer->nn->st,
              luc__module_visit(peer->nn->st->ctx, peer->m, lua_toboolean(L, 3) ? LUC_WALK_POST : 0,
                                luc_l_overrides_of, box->visits, &box->list));
  lua_pushcclosure(L, members_next, 1);
  return 1;
}

/* What PyTorch's walks over parameters and buffers call. */
enum { OWN_WALK = LUC_L_OWN_NAMED_MEMBERS | LUC_L_OWN_NAMED_MODULES };

/* Does the module have one of these methods, or one at or below it its own named_modules? Then the
 * walk goes as in PyTorch, from method to method. */
static bool walks_in_lua(lua_State *L, luc_l_peer *peer, uint32_t own, bool recurse) {
  luc_l_nn *nn = peer->nn;
  if (!(nn->overrides & (own | LUC_L_OWN_NAMED_MODULES))) return false;
  return luc_l_overrides_of(peer->m) & own ||
         (recurse && luc_l_overridden(L, nn, peer->m, LUC_L_OWN_NAMED_MODULES));
}

/* Calls the walk of that name in lua/lucerna/nn/trees.lua: (self, prefix, recurse,
 * remove_duplicate, what stands at `extra`). */
static int walk_in_lua(lua_State *L, luc_l_nn *nn, const char *who, int self, const char *prefix,
                       int flags, int extra) {
  luc_l_checkstack(L, 10);
  luc_l_push_function(L, nn, "walks");
  lua_getfield(L, -1, who);
  lua_pushvalue(L, self);
  lua_pushstring(L, prefix ? prefix : "");
  lua_pushboolean(L, !(flags & LUC_MEMBERS_OWN));
  lua_pushboolean(L, !(flags & LUC_MEMBERS_DUPLICATES));
  if (extra)
    lua_pushvalue(L, extra);
  else
    lua_pushnil(L);
  lua_call(L, 5, 1);
  return 1;
}

/* own: methods that PyTorch's version of this one calls on the same module. */
static int iterate(lua_State *L, int self, const char *who, luc_member_kind kind,
                   const char *prefix, int flags, uint32_t own) {
  luc_l_peer *peer = luc_l_checkpeer(L, self, who);
  luc_l_nn *nn = peer->nn;
  luc_l_check_tables(L, nn, peer->m);
  if (walks_in_lua(L, peer, own, !(flags & LUC_MEMBERS_OWN)))
    return walk_in_lua(L, nn, who, self, prefix, flags, 0);
  const bool children = kind == LUC_MEMBERS_CHILDREN;
  if (children && luc_l_push_children(L, peer, self, !(flags & LUC_MEMBERS_UNNAMED))) return 1;
  members_box *box = new_box(L, nn, kind, flags);
  luc_l_check(L, nn->st, luc_module_members(nn->st->ctx, peer->m, kind, prefix, flags, &box->list));
  lua_pushcclosure(L, members_next, 1);
  return 1;
}

static int flags_of(const luc_l_args *a, int recurse, int duplicates) {
  return (recurse && !a->v[recurse].as.i ? LUC_MEMBERS_OWN : 0) |
         (duplicates && !a->v[duplicates].as.i ? LUC_MEMBERS_DUPLICATES : 0);
}

static int named_parameters(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "named_parameters", LUC_MEMBERS_PARAMETERS,
                 a->v[1].as.string, flags_of(a, 2, 3), OWN_WALK);
}

static int named_buffers(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "named_buffers", LUC_MEMBERS_BUFFERS, a->v[1].as.string,
                 flags_of(a, 2, 3), OWN_WALK);
}

static int parameters(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "parameters", LUC_MEMBERS_PARAMETERS, NULL,
                 LUC_MEMBERS_UNNAMED | flags_of(a, 1, 0), OWN_WALK | LUC_L_OWN_NAMED_PARAMETERS);
}

static int buffers(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "buffers", LUC_MEMBERS_BUFFERS, NULL,
                 LUC_MEMBERS_UNNAMED | flags_of(a, 1, 0), OWN_WALK | LUC_L_OWN_NAMED_BUFFERS);
}

static int named_modules(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int self = (int)a->v[0].as.i, flags = flags_of(a, 0, 3);
  const luc_value *memo = &a->v[1];
  if (memo->kind == LUC_NONE || luc_l_isnone(L, st, (int)memo->as.i))
    return iterate(L, self, "named_modules", LUC_MEMBERS_MODULES, a->v[2].as.string, flags, 0);
  luc_l_peer *peer = luc_l_checkpeer(L, self, "named_modules");
  return walk_in_lua(L, peer->nn, "named_modules", self, a->v[2].as.string, flags, (int)memo->as.i);
}

static int modules(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "modules", LUC_MEMBERS_MODULES, NULL, LUC_MEMBERS_UNNAMED,
                 LUC_L_OWN_NAMED_MODULES);
}

static int named_children(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "named_children", LUC_MEMBERS_CHILDREN, NULL,
                 LUC_MEMBERS_OWN, 0);
}

static int children(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  return iterate(L, (int)a->v[0].as.i, "children", LUC_MEMBERS_CHILDREN, NULL,
                 LUC_MEMBERS_UNNAMED | LUC_MEMBERS_OWN, LUC_L_OWN_NAMED_CHILDREN);
}

/* ---- acting on trees ---- */

/* core.nn.is_pure(m) */
static int is_pure(lua_State *L) {
  lua_pushboolean(L, luc__is_pure(luc_l_checkpeer(L, 1, "is_pure")->m));
  return 1;
}

/* core.nn.relu(m, x): relu(m(x)) as one call, or nil where it has to be two, or fails. */
static int relu_of(lua_State *L) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  luc_tensor *x = luc_l_totensor(L, 2);
  if (!peer || !peer->m || !x) return 0;
  luc_l_state *st = peer->nn->st;
  luc_l_box *box = luc_l_newbox(L, st);
  const bool made = luc__module_relu(st->ctx, peer->m, x, &box->t) == LUC_OK && box->t;
  if (made)
    luc_l_note_box(L, st, box, lua_gettop(L));
  else
    luc_l_spare_box(L, st, lua_gettop(L));
  return made ? 1 : 0;
}

/* Runs a tree function on self and returns self. */
static int finish(lua_State *L, luc_l_state *st, const luc_l_args *a, luc_status status) {
  luc_l_check(L, st, status);
  lua_pushvalue(L, (int)a->v[0].as.i);
  return 1;
}

static int train_native(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_peer *peer = luc_l_checkpeer(L, (int)a->v[0].as.i, "train");
  return finish(L, st, a, luc_module_train(st->ctx, peer->m, a->v[1].as.i != 0));
}

enum { OWN_PARAMETERS = OWN_WALK | LUC_L_OWN_NAMED_PARAMETERS | LUC_L_OWN_PARAMETERS };

/* Runs a function on the parameters of self, or the walk in Lua of that name; returns self. */
static int on_parameters(lua_State *L, luc_l_state *st, const luc_l_args *a, const char *who,
                         luc_status (*act)(luc_context *ctx, luc_module *m, bool flag)) {
  int self = (int)a->v[0].as.i;
  bool flag = a->v[1].as.i != 0;
  luc_l_peer *peer = luc_l_checkpeer(L, self, who);
  luc_l_check_tables(L, peer->nn, peer->m);
  lua_pushboolean(L, flag);
  if (walks_in_lua(L, peer, OWN_PARAMETERS, true))
    return walk_in_lua(L, peer->nn, who, self, NULL, 0, lua_gettop(L));
  return finish(L, st, a, act(st->ctx, peer->m, flag));
}

static int requires_grad_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return on_parameters(L, st, a, "requires_grad_", luc_module_requires_grad);
}

static int zero_grad(lua_State *L, luc_l_state *st, luc_l_args *a) {
  on_parameters(L, st, a, "zero_grad", luc_module_zero_grad);
  return 0;
}

static int to_dtype(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_peer *peer = luc_l_checkpeer(L, (int)a->v[0].as.i, "to");
  luc_l_check_tables(L, peer->nn, peer->m);
  lua_State *outer = luc_l_enter(st, L);
  luc_dtype dtype = (luc_dtype)a->v[1].as.i;
  luc_status status = a->v[2].as.i ? luc_module_type(st->ctx, peer->m, dtype)
                                   : luc_module_to_dtype(st->ctx, peer->m, dtype);
  st->L = outer;
  return finish(L, st, a, status);
}

/* ---- paths ---- */

/* The value on top of the stack is what the module has under the name: it is not of that kind. */
static int refuse_attribute(lua_State *L, const luc_l_peer *peer, const char *name,
                            const char *kind) {
  luc_l_state *st = peer->nn->st;
  if (!lua_isnil(L, -1) || luc__slot_find(peer->m, name, strlen(name), NULL))
    luc__fail(st->ctx, LUC_ERR_VALUE, "`%s` is not %s", name, kind);
  else
    luc__fail(st->ctx, LUC_ERR_VALUE, "%s has no attribute `%s`", peer->m->cls->name, name);
  return luc_l_raise(L, st, LUC_ERR_VALUE);
}

/* Replaces the module on top of the stack by its attribute name[0..n). */
static void step(lua_State *L, const char *name, size_t n) {
  luc_l_peer *peer = luc_l_checkpeer(L, -1, "get_submodule");
  const char *text = lua_pushlstring(L, name, n);
  lua_pushvalue(L, -1);
  lua_gettable(L, -3);
  if (!luc_l_topeer(L, -1)) refuse_attribute(L, peer, text, "an nn.Module");
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Pushes the module at path[0..length) below self. */
static luc_l_peer *descend(lua_State *L, luc_l_args *a, const char *who, size_t length) {
  luc_l_checkpeer(L, (int)a->v[0].as.i, who);
  const char *path = a->v[1].as.string, *end = path + length;
  luc_l_checkstack(L, 8);
  lua_pushvalue(L, (int)a->v[0].as.i);
  while (length > 0) {
    const char *dot = memchr(path, '.', (size_t)(end - path));
    step(L, path, (size_t)((dot ? dot : end) - path));
    if (!dot) break;
    path = dot + 1;
  }
  return luc_l_checkpeer(L, -1, who);
}

/* The same for all but the path's last name. */
static luc_l_peer *descend_to(lua_State *L, luc_l_args *a, const char *who, const char **name) {
  const char *path = a->v[1].as.string, *dot = strrchr(path, '.');
  *name = dot ? dot + 1 : path;
  return descend(L, a, who, dot ? (size_t)(dot - path) : 0);
}

static int get_submodule(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  descend(L, a, "get_submodule", strlen(a->v[1].as.string));
  return 1;
}

static int get_parameter(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  const char *name;
  luc_l_peer *peer = descend_to(L, a, "get_parameter", &name);
  lua_getfield(L, -1, name);
  luc_tensor *t = luc_l_totensor(L, -1);
  bool found = t && t->flags & LUC_TF_PARAMETER;
  return found ? 1 : refuse_attribute(L, peer, name, "an nn.Parameter");
}

static int get_buffer(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const char *name;
  luc_l_peer *peer = descend_to(L, a, "get_buffer", &name);
  luc_map_entry *e = luc__map_find(&peer->m->slots[LUC_SLOT_BUFFER], name, strlen(name));
  if (e) {
    luc_l_pushtensor(L, st, e->value);
    return 1;
  }
  lua_getfield(L, -1, name);
  return refuse_attribute(L, peer, name, "a buffer");
}

/* ---- kinds and copies ---- */

/* core.nn.is_parameter(value), is_buffer(value), is_module(value) */
static int is_parameter(lua_State *L) {
  luc_tensor *t = luc_l_totensor(L, 1);
  lua_pushboolean(L, t && t->flags & LUC_TF_PARAMETER);
  return 1;
}

static int is_buffer(lua_State *L) {
  luc_tensor *t = luc_l_totensor(L, 1);
  lua_pushboolean(L, t && t->flags & LUC_TF_BUFFER);
  return 1;
}

static int is_module(lua_State *L) {
  lua_pushboolean(L, luc_l_topeer(L, 1) != NULL);
  return 1;
}

/* extra_repr of the classes written in C. */
static int extra_repr(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "extra_repr");
  luc_l_hold *hold = luc_l_newhold(L, peer->nn->st);
  luc_text text;
  luc__text_init(&text, peer->nn->st->ctx);
  luc__text_extra_repr(&text, peer->m);
  luc_l_check(L, peer->nn->st, luc__text_finish(&text, &hold->text, &hold->size));
  lua_pushstring(L, hold->text);
  luc_l_release_hold(hold);
  return 1;
}

/* core.nn._replace_buffer(m, name, tensor): a conversion's; no hooks, and it cannot fail. */
static int replace_buffer(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "_apply");
  size_t length;
  const char *name = luaL_checklstring(L, 2, &length);
  luc_tensor *t = luc_l_checktensor(L, 3, "_apply", "buffer");
  luc_map_entry *e = luc__map_find(&peer->m->slots[LUC_SLOT_BUFFER], name, length);
  if (!e) return 0; /* fn removed it */
  luc_tensor *old = e->value;
  e->value = luc_tensor_retain(t);
  luc_tensor_release(peer->nn->st->ctx, old);
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, 4) == LUA_TNIL) return 0;
  lua_pushvalue(L, 2);
  lua_pushnil(L); /* looked up again; an existing key */
  lua_rawset(L, 4);
  return 0;
}

/* core.nn._replicate(m): a new module of m's class with its constructor arguments and mode, and
 * nothing else. */
static int replicate(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "_replicate_for_data_parallel");
  luc_l_nn *nn = peer->nn;
  luc_l_peer *copy = luc_l_newmodule(L, luc_l_pushclass(L, nn, peer->m->cls));
  return luc_l_results(L, nn->st, 1, luc__module_copy_config(nn->st->ctx, peer->m, copy->m));
}

/* core.nn._is_slot(m, name): does it name a parameter, buffer or child that is not empty, what
 * shows them, or a constructor argument that is kept? */
static int is_slot(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "clone");
  size_t length;
  const char *name = luaL_checklstring(L, 2, &length);
  luc_map_entry *e = luc__slot_find(peer->m, name, length, NULL);
  lua_pushboolean(L, (e && e->value) || luc_l_is_view(name) || luc_l_is_kept(peer, name));
  return 1;
}

/* core.nn._has_slot(m, name[, kind]): is the name registered (as LUC_SLOT_*), though perhaps empty?
 * And what it holds. */
static int has_slot(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  luc_slot slot;
  bool named = lua_type(L, 2) == LUA_TSTRING;
  luc_map_entry *e =
      named ? luc__slot_find(peer->m, lua_tostring(L, 2), lua_rawlen(L, 2), &slot) : NULL;
  bool found = e && (lua_isnoneornil(L, 3) || lua_tointeger(L, 3) == (int)slot);
  lua_pushboolean(L, found);
  if (!found) return 1;
  luc_l_push_held(L, peer->nn, slot, e->value);
  return 2;
}

/* core.nn._fields(m): the table behind a module, for clone. */
static int fields_of(lua_State *L) {
  luc_l_checkpeer(L, 1, "clone");
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static const luc_l_native natives[] = {
    {"named_parameters(Any self, str prefix='', bool recurse=True, bool remove_duplicate=True)"
     " -> Any",
     named_parameters, LUC_F_FUNCTION},
    {"named_buffers(Any self, str prefix='', bool recurse=True, bool remove_duplicate=True)"
     " -> Any",
     named_buffers, LUC_F_FUNCTION},
    {"parameters(Any self, bool recurse=True) -> Any", parameters, LUC_F_FUNCTION},
    {"buffers(Any self, bool recurse=True) -> Any", buffers, LUC_F_FUNCTION},
    {"named_modules(Any self, Any memo=None, str prefix='', bool remove_duplicate=True) -> Any",
     named_modules, LUC_F_FUNCTION},
    {"modules(Any self) -> Any", modules, LUC_F_FUNCTION},
    {"named_children(Any self) -> Any", named_children, LUC_F_FUNCTION},
    {"children(Any self) -> Any", children, LUC_F_FUNCTION},
    {"_train(Any self, bool mode=True) -> None", train_native, LUC_F_FUNCTION},
    {"requires_grad_(Any self, bool requires_grad=True) -> Any", requires_grad_, LUC_F_FUNCTION},
    {"zero_grad(Any self, bool set_to_none=True) -> None", zero_grad, LUC_F_FUNCTION},
    {"_to_dtype(Any self, dtype dtype, bool all=False) -> None", to_dtype, LUC_F_FUNCTION},
    {"get_submodule(Any self, str target) -> Any", get_submodule, LUC_F_FUNCTION},
    {"get_parameter(Any self, str target) -> Tensor", get_parameter, LUC_F_FUNCTION},
    {"get_buffer(Any self, str target) -> Tensor", get_buffer, LUC_F_FUNCTION},
};

static const luaL_Reg functions[] = {{"_visit", visit},
                                     {"_has_slot", has_slot},
                                     {"_replace_buffer", replace_buffer},
                                     {"_replicate", replicate},
                                     {"_config_names", luc_l_module_config_names},
                                     {"kind_name", luc_l_module_kind_name},
                                     {"_set_children", set_children},
                                     {"is_pure", is_pure},
                                     {"relu", relu_of},
                                     {"is_parameter", is_parameter},
                                     {"is_buffer", is_buffer},
                                     {"is_module", is_module},
                                     {"_fields", fields_of},
                                     {"_is_slot", is_slot},
                                     {"extra_repr", extra_repr},
                                     {"_set_field", luc_l_module_set_field},
                                     {NULL, NULL}};

void luc_l_open_tree(lua_State *L, luc_l_nn *nn) {
  luc_l_add_natives_to(L, nn->st, "nn", natives, sizeof natives / sizeof *natives);
  luc_l_add_to_nn(L, nn, functions);
  luc_l_open_entries(L, nn);
  luc_l_push_gc(L, members_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &nn->members_meta);
}
