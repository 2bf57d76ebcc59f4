/* Boxes: tensors as userdata, their peers, and what else of the core's Lua can hold. A box owns one
 * reference and is made empty, with its metatable, before the tensor it is for. */
#include "l_tensor.h"

/* ---- boxes ---- */

/* Remembers the box on top of the stack in the table of the running lucerna.scope. */
static void scope_add(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_SCOPE);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, ++st->scope_count);
  lua_pop(L, 1);
}

/* Forgets it there, if it came last: in-place calls, which take and spare one box, need no room
 * beyond that of the first. */
static void scope_forget(lua_State *L, luc_l_state *st, const luc_l_box *box) {
  luc_l_get(L, st, LUC_L_SCOPE);
  lua_rawgeti(L, -1, st->scope_count);
  if (luc_l_tobox(L, -1) == box) {
    lua_pushnil(L);
    lua_rawseti(L, -3, st->scope_count--);
  }
  lua_pop(L, 2);
}

/* Pushes a box that the registry keeps, which is then the caller's. */
static luc_l_box *push_kept(lua_State *L, luc_l_state *st, int key, luc_l_box **kept) {
  luc_l_box *box = *kept;
  luc_l_get(L, st, key);
  lua_pushboolean(L, false);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[key]);
  *kept = NULL;
  return box;
}

/* The registry keeps the box on top, which it pops. */
static void keep_box(lua_State *L, luc_l_state *st, int key, luc_l_box **kept) {
  luc_l_box *box = luc_l_tobox(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[key]);
  *kept = box;
}

/* What is made inside a finalizer may be made while Lua closes, and is never finalized then: it is
 * noted, to be found. The table forgets what dies, even where Lua has no memory to finalize it. */
static luc_l_box *push_fresh(lua_State *L, luc_l_state *st) {
  luc_l_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (luc_l_box){.magic = LUC_L_MAGIC_TENSOR};
  luc_l_set_meta(L, st, LUC_L_TENSOR_META);
  if (lua_gc(L, LUA_GCISRUNNING) <= st->finalizing) luc_l_note(L, st, -1);
  return box;
}

luc_l_box *luc_l_newbox(lua_State *L, luc_l_state *st) {
  luc_l_context(L, st);
  luc_l_pace_check(L, st);
  luc_l_box *box = st->spare ? push_kept(L, st, LUC_L_SPARE, &st->spare) : push_fresh(L, st);
  if (st->scopes) scope_add(L, st);
  return box;
}

void luc_l_setpeer(lua_State *L, luc_l_state *st, int index) {
  index = lua_absindex(L, index);
  luc_l_box *box = luc_l_tobox(L, index);
  luc_l_get(L, st, LUC_L_PEERS);
  lua_pushvalue(L, index);
  lua_rawsetp(L, -2, box->t);
  lua_pop(L, 1);
  box->t->flags |= LUC_TF_HAS_PEER;
}

void luc_l_note(lua_State *L, luc_l_state *st, int index) {
  index = lua_absindex(L, index);
  luc_l_get(L, st, LUC_L_NOTED);
  lua_pushvalue(L, index);
  lua_rawsetp(L, -2, lua_touserdata(L, index));
  lua_pop(L, 1);
}

/* Pushes the peer that the weak table has, or nothing. Entries of dead or refilled boxes don't
 * count. */
static bool push_known(lua_State *L, luc_l_state *st, luc_tensor *t) {
  luc_l_get(L, st, LUC_L_PEERS);
  lua_rawgetp(L, -1, t);
  lua_replace(L, -2);
  luc_l_box *box = luc_l_tobox(L, -1);
  if (box && box->t == t) return true;
  lua_pop(L, 1);
  return false;
}

/* Until a tensor is in its box, no finalizer may run: it could take the tensor from whoever has it.
 * So the next peer's box is made when this one's holds its tensor. */
static void make_next_peer(lua_State *L, luc_l_state *st) {
  luc_l_pace_check(L, st);
  push_fresh(L, st);
  keep_box(L, st, LUC_L_NEXT_PEER, &st->next_peer);
}

void luc_l_pushtensor(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (!t) {
    lua_pushnil(L);
    return;
  }
  if ((t->flags & LUC_TF_HAS_PEER) && push_known(L, st, t)) return;
  luc_l_context(L, st);
  luc_l_box *box =
      st->next_peer ? push_kept(L, st, LUC_L_NEXT_PEER, &st->next_peer) : push_fresh(L, st);
  box->t = luc_tensor_retain(t);
  luc_l_setpeer(L, st, -1);
  if (st->scopes) scope_add(L, st);
  make_next_peer(L, st);
}

void luc_l_spare_box(lua_State *L, luc_l_state *st, int index) {
  luc_l_box *box = luc_l_tobox(L, index);
  luc_tensor_release(st->ctx, box->t);
  box->t = NULL;
  lua_pushvalue(L, index);
  if (st->scopes) scope_forget(L, st, box);
  keep_box(L, st, LUC_L_SPARE, &st->spare);
}

/* Empties a box. The weak table is left alone by __gc: another box may be the peer by then. What a
 * finalizer interrupts may be reading the tensor: there it is left to the collector. */
void luc_l_release_box(lua_State *L, luc_l_state *st, luc_l_box *box) {
  luc_tensor *t = box->t;
  if (!t || !st->ctx || lua_gc(L, LUA_GCISRUNNING) < 0) return;
  if (t->flags & LUC_TF_HAS_PEER) {
    luc_l_get(L, st, LUC_L_PEERS);
    if (lua_rawgetp(L, -1, t) != LUA_TNIL && lua_touserdata(L, -1) == (void *)box) {
      lua_pushnil(L); /* an existing key: cannot raise */
      lua_rawsetp(L, -3, t);
    }
    lua_pop(L, 2);
  }
  box->t = NULL;
  lua_State *outer = luc_l_enter(st, L);
  luc_tensor_release(st->ctx, t);
  st->L = outer;
}

/* Upvalue 1 of the metamethods. */
static luc_l_state *own_state(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static int box_gc(lua_State *L) {
  luc_l_box *box = luc_l_tobox(L, 1);
  if (!box) return 0;
  luc_l_state *st = own_state(L);
  luc_tensor *t = box->t;
  box->t = NULL;
  if (!st->ctx || box->finalized) return 0;
  box->finalized = true;
  if (st->spare == box) st->spare = NULL;
  if (st->next_peer == box) st->next_peer = NULL;
  lua_State *outer = luc_l_enter(st, L);
  luc_tensor_release(st->ctx, t);
  st->L = outer;
  return 0;
}

void luc_l_release_noted(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_NOTED);
  lua_pushnil(L);
  for (; lua_next(L, -2); lua_pop(L, 1)) {
    luc_l_box *box = luc_l_tobox(L, -1);
    luc_tensor_release(st->ctx, box->t);
    box->t = NULL;
  }
  lua_pop(L, 1);
}

luc_tensor *luc_l_checktensor(lua_State *L, int index, const char *who, const char *param) {
  luc_tensor *t = luc_l_totensor(L, index);
  if (t) return t;
  luc_l_error(L, "%s: %s must be a Tensor (got %s)", who, param, luc_l_given(L, index));
  return NULL;
}

/* ---- holds ---- */

/* One serves call after call; while it is in use, or where an error left it so, another takes its
 * place. */
luc_l_hold *luc_l_newhold(lua_State *L, luc_l_state *st) {
  if (st->hold && !st->holds) {
    luc_l_get(L, st, LUC_L_HOLD);
    st->holds = true;
    return st->hold;
  }
  luc_l_hold *hold = lua_newuserdatauv(L, sizeof *hold, 0);
  *hold = (luc_l_hold){.magic = LUC_L_MAGIC_HOLD, .st = st};
  luc_l_set_meta(L, st, LUC_L_HOLD_META);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_HOLD]);
  st->hold = hold;
  st->holds = true;
  return hold;
}

void luc_l_release_hold(luc_l_hold *hold) {
  luc_context *ctx = hold->st->ctx;
  if (!ctx) return;
  for (int i = 0; i < LUC_MAX_RESULTS; i++) luc__value_release(ctx, &hold->values[i]);
  if (hold->text) luc_text_free(ctx, hold->text, hold->size);
  hold->text = NULL;
  if (hold->st->hold == hold) hold->st->holds = false;
}

static int hold_gc(lua_State *L) {
  luc_l_hold *hold = luc_l_userdata(L, 1, sizeof *hold);
  if (!hold) return 0;
  luc_l_release_hold(hold);
  if (hold->st->hold == hold) hold->st->hold = NULL;
  return 0;
}

/* ---- small values ---- */

void luc_l_pushdtype(lua_State *L, luc_l_state *st, luc_dtype dtype) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &st->dtypes[dtype]);
}

bool luc_l_todtype(lua_State *L, int index, luc_dtype *out) {
  if (lua_type(L, index) == LUA_TSTRING) return luc__dtype_find(lua_tostring(L, index), out);
  luc_l_dtype *d = lua_touserdata(L, index);
  bool ours = d && lua_rawlen(L, index) == sizeof *d && d->magic == LUC_L_MAGIC_DTYPE;
  if (ours) *out = d->dtype;
  return ours;
}

luc_generator *luc_l_togenerator(lua_State *L, int index) {
  luc_l_generator *g = lua_touserdata(L, index);
  bool ours = g && lua_rawlen(L, index) == sizeof *g && g->magic == LUC_L_MAGIC_GENERATOR;
  return ours ? g->generator : NULL;
}

void luc_l_pushsizes(lua_State *L, int n, const int64_t *sizes) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, sizes[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

void luc_l_pushscalar(lua_State *L, luc_scalar s) {
  if (s.kind == LUC_SCALAR_FLOAT) {
    lua_pushnumber(L, s.as.f);
  } else if (s.kind == LUC_SCALAR_INT) {
    lua_pushinteger(L, s.as.i);
  } else {
    lua_pushboolean(L, s.as.i != 0);
  }
}

static void push_numbers(lua_State *L, const luc_value *v, bool from_one) {
  lua_createtable(L, v->n, 0);
  for (int i = 0; i < v->n; i++) {
    if (v->kind == LUC_FLOATS)
      lua_pushnumber(L, v->as.floats[i]);
    else
      lua_pushinteger(L, v->as.ints[i] + (from_one && v->as.ints[i] >= 0));
    lua_rawseti(L, -2, i + 1);
  }
}

void luc_l_push_value(lua_State *L, const luc_value *v, bool from_one) {
  switch (v->kind) {
  case LUC_BOOLEAN: lua_pushboolean(L, v->as.i != 0); break;
  case LUC_INT: lua_pushinteger(L, v->as.i + (from_one && v->as.i >= 0)); break;
  case LUC_FLOAT: lua_pushnumber(L, v->as.f); break;
  case LUC_STRING: lua_pushstring(L, v->as.string); break;
  case LUC_INTS:
  case LUC_FLOATS: push_numbers(L, v, from_one); break;
  default: lua_pushnil(L);
  }
}

void luc_l_push_tensors(lua_State *L, luc_l_state *st, luc_value *list) {
  lua_createtable(L, list->n, 0);
  for (int i = 0; i < list->n; i++) {
    luc_l_newbox(L, st)->t = list->as.tensors[i];
    list->as.tensors[i] = NULL;
    lua_rawseti(L, -2, i + 1);
  }
}

/* ---- metatable ---- */

static int tensor_close(lua_State *L) {
  luc_l_box *box = luc_l_tobox(L, 1);
  if (box) luc_l_release_box(L, own_state(L), box);
  return 0;
}

void luc_l_need_values(lua_State *L, const char *method, const luc_tensor *t) {
  if (t->inner)
    luc_l_error(L,
                "%s: vmap: It looks like you're calling .%s() on a Tensor. We don't support vmap "
                "over calling .%s() on a Tensor, please try to rewrite what you're doing with "
                "other operations",
                method, method, method);
}

/* == compares what is behind the boxes: is it the same tensor? */
static int tensor_eq(lua_State *L) {
  luc_l_box *a = luc_l_tobox(L, 1), *b = luc_l_tobox(L, 2);
  lua_pushboolean(L, a && b && a->t && a->t == b->t);
  return 1;
}

static int tensor_len(lua_State *L) {
  luc_tensor *t = luc_l_checktensor(L, 1, "#", "operand");
  if (!t->ndim) return luc_l_error(L, "#: a 0-d tensor has no length");
  if (luc_tensor_is_uninitialized(t))
    return luc_l_error(L, "#: an uninitialized tensor has no length");
  lua_pushinteger(L, t->sizes[0]);
  return 1;
}

static int tensor_order(lua_State *L) {
  return luc_l_error(L,
                     "comparisons in Lua give one boolean: use x:lt(y), x:le(y), x:gt(y), x:ge(y)");
}

static int tensor_tostring(lua_State *L) {
  luc_l_box *box = luc_l_tobox(L, 1);
  if (!box || !box->t) {
    lua_pushliteral(L, "tensor(released)");
    return 1;
  }
  luc_l_state *st = own_state(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_hold *hold = luc_l_newhold(L, st);
  luc_l_check(L, st, luc_tensor_text(ctx, box->t, &hold->text, &hold->size));
  lua_pushstring(L, hold->text);
  luc_l_release_hold(hold);
  return 1;
}

static int next_row(lua_State *L) {
  luc_tensor *t = luc_l_checktensor(L, 1, "pairs", "operand");
  lua_Integer i = lua_tointeger(L, 2);
  if (!t->ndim || i >= t->sizes[0]) return 0;
  lua_pushinteger(L, i + 1);
  lua_pushinteger(L, i + 1);
  lua_gettable(L, 1);
  return 2;
}

/* pairs(x) walks the rows: ipairs would run into the error past the end. */
static int tensor_pairs(lua_State *L) {
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static const luaL_Reg tensor_meta[] = {
    {"__gc", box_gc},          {"__close", tensor_close},       {"__eq", tensor_eq},
    {"__len", tensor_len},     {"__lt", tensor_order},          {"__le", tensor_order},
    {"__pairs", tensor_pairs}, {"__tostring", tensor_tostring}, {NULL, NULL},
};

void luc_l_make_meta(lua_State *L, luc_l_state *st, int key, const char *name) {
  lua_createtable(L, 0, 24);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[key]);
}

void luc_l_make_gc_meta(lua_State *L, luc_l_state *st, int key, const char *name,
                        lua_CFunction gc) {
  luc_l_make_meta(L, st, key, name);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

void luc_l_make_guard_meta(lua_State *L, luc_l_state *st, int key, const char *name,
                           lua_CFunction enter, lua_CFunction leave) {
  luc_l_make_meta(L, st, key, name);
  lua_pushcfunction(L, enter);
  lua_setfield(L, -2, "__call");
  lua_pushcfunction(L, leave);
  lua_setfield(L, -2, "__close");
  lua_pop(L, 1);
}

void *luc_l_checkself(lua_State *L, int key, size_t size) {
  void *object = luc_l_userdata(L, 1, size);
  if (!object || !lua_getmetatable(L, 1)) lua_pushnil(L);
  luc_l_get(L, luc_l_state_of(L), key);
  if (!lua_rawequal(L, -1, -2)) {
    lua_getfield(L, -1, "__name");
    const char *name = lua_tostring(L, -1);
    luc_l_error(L, "expected a %s (got %s)", name, luc_l_given(L, 1));
  }
  lua_pop(L, 2);
  return object;
}

void luc_l_open_tensor(lua_State *L, luc_l_state *st) {
  luc_l_make_gc_meta(L, st, LUC_L_HOLD_META, "lucerna.hold", hold_gc);
  luc_l_make_meta(L, st, LUC_L_TENSOR_META, "Tensor");
  lua_pushlightuserdata(L, st);
  luaL_setfuncs(L, tensor_meta, 1);
  lua_pop(L, 1);
  make_next_peer(L, st);
}
