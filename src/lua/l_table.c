/* Tensors from nested tables and back: lucerna.tensor, tolist, item. Tables are read without
 * metamethods, so that nothing can raise or change them while a tensor is filled. */
#include <stdio.h>

#include "cpu/copy.h"
#include "l_args.h"
#include "lucerna/autograd.h"
#include "ops/geometry.h"

/* What a walk over nested tables has found. */
typedef struct walk {
  lua_State *L;
  luc_l_state *st;
  const char *who;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  int kind;     /* the widest kind of number: LUC_SCALAR_* */
  bool complex; /* a complex number was met, or they are wanted: */
  bool pairs;   /* each number is a table {real, imaginary} */
  bool bounded; /* each number must fit `dtype`, integers that are wanted */
  luc_dtype dtype;
  int64_t at[LUC_MAX_DIMS + 1]; /* the place being looked at, for messages */
} walk;

/* "[2][1]", or "the top" */
static const char *place_text(const walk *w, int depth, char *buf, size_t size) {
  size_t used = 0;
  buf[0] = '\0';
  for (int d = 0; d < depth && used < size; d++)
    used += (size_t)snprintf(buf + used, size - used, "[%lld]", (long long)w->at[d]);
  return depth ? buf : "the top";
}

typedef struct leaf {
  luc_scalar s;
  double parts[2]; /* of a complex number */
  bool complex;
} leaf;

/* Shape: how deep the first elements go. A wanted complex dtype makes numbers pairs. */
static void find_shape(walk *w, int index) {
  lua_State *L = w->L;
  lua_pushvalue(L, index);
  while (lua_type(L, -1) == LUA_TTABLE) {
    if (w->ndim == LUC_MAX_DIMS)
      luc_l_error(L, "%s: tables are nested deeper than %d levels", w->who, LUC_MAX_DIMS);
    w->sizes[w->ndim++] = (int64_t)lua_rawlen(L, -1);
    lua_rawgeti(L, -1, 1);
    lua_replace(L, -2);
  }
  w->pairs = w->complex && w->ndim && lua_type(L, -1) == LUA_TNUMBER;
  lua_pop(L, 1);
  if (!w->pairs) return;
  if (w->sizes[w->ndim - 1] != 2)
    luc_l_error(L,
                "%s: a complex number is a table of its real and imaginary part (got a table of "
                "%d numbers; for real ones, leave out dtype and convert)",
                w->who, (int)w->sizes[w->ndim - 1]);
  w->ndim--;
}

/* A number, boolean or one-element tensor; false if it is none. */
static bool to_scalar(lua_State *L, int index, luc_scalar *s) {
  int type = lua_type(L, index);
  if (type == LUA_TBOOLEAN) {
    *s = (luc_scalar){LUC_SCALAR_BOOL, {.i = lua_toboolean(L, index)}};
  } else if (type == LUA_TNUMBER && lua_isinteger(L, index)) {
    *s = (luc_scalar){LUC_SCALAR_INT, {.i = lua_tointeger(L, index)}};
  } else if (type == LUA_TNUMBER) {
    *s = (luc_scalar){LUC_SCALAR_FLOAT, {.f = lua_tonumber(L, index)}};
  } else {
    luc_tensor *t = luc_l_totensor(L, index);
    if (!t || t->numel != 1 || t->inner) return false;
    *s = luc__load_scalar(t->data, t->dtype);
  }
  return true;
}

static void fail_leaf(walk *w, int depth, int index) {
  char place[128];
  luc_l_error(w->L,
              w->pairs
                  ? "%s: expected a table of two numbers, a complex one's parts, at %s (got %s)"
                  : "%s: expected a number or boolean at %s (got %s)",
              w->who, place_text(w, depth, place, sizeof place), luc_l_given(w->L, index));
}

static void fail_ragged(walk *w, int depth, int index) {
  char place[128];
  const char *given = lua_type(w->L, index) == LUA_TTABLE
                          ? lua_pushfstring(w->L, "%d", (int)lua_rawlen(w->L, index))
                          : luc_l_given(w->L, index);
  luc_l_error(w->L,
              "%s: expected a table of %d values at %s (got %s): rows must have equal lengths",
              w->who, (int)w->sizes[depth], place_text(w, depth, place, sizeof place), given);
}

/* The same of any number, also a pair or a complex tensor of one element. */
static bool to_leaf(const walk *w, int index, leaf *out) {
  lua_State *L = w->L;
  luc_tensor *t = luc_l_totensor(L, index);
  if (t && t->inner) return false;
  out->complex = w->pairs || (t && luc__dtype_is_complex(t->dtype));
  if (!out->complex) return to_scalar(L, index, &out->s);
  if (!w->pairs) {
    luc__load_complex(t->data, t->dtype, out->parts);
    return t->numel == 1;
  }
  bool good = lua_type(L, index) == LUA_TTABLE && lua_rawlen(L, index) == 2;
  for (int i = 0; i < 2 && good; i++) {
    good = lua_rawgeti(L, index, i + 1) == LUA_TNUMBER;
    out->parts[i] = good ? lua_tonumber(L, -1) : 0;
    lua_pop(L, 1);
  }
  return good;
}

static void check_fits(walk *w, luc_scalar s) {
  luc_status status = luc__check_scalar(w->st->ctx, s, w->dtype);
  if (status != LUC_OK) luc_l_raise(w->L, w->st, luc__failed_as(w->st->ctx, status, w->who));
}

static void check_leaf(walk *w, int depth, int index) {
  leaf l;
  luc_l_checkstack(w->L, 4);
  if (!to_leaf(w, index, &l)) fail_leaf(w, depth, index);
  if (w->bounded) check_fits(w, l.s);
  w->complex |= l.complex;
  if (!l.complex && l.s.kind > w->kind) w->kind = l.s.kind;
}

enum { AT_ONCE = 64 }; /* items of a row are on the stack at a time: popping each takes longer */

/* The items of a table of leaves: mostly numbers, which are told apart at once. */
static void check_row(walk *w, int depth, int index) {
  lua_State *L = w->L;
  int top = lua_gettop(L);
  bool floats = false, whole = false;
  lua_Integer least = 0, most = 0; /* of integers that must fit */
  luc_l_checkstack(L, AT_ONCE + LUA_MINSTACK);
  for (int64_t i = 1; i <= w->sizes[depth]; i++) {
    bool number = lua_rawgeti(L, index, i) == LUA_TNUMBER && !w->pairs;
    bool integer = number && lua_isinteger(L, -1);
    if (integer && w->bounded) {
      lua_Integer v = lua_tointeger(L, -1);
      least = v < least ? v : least;
      most = v > most ? v : most;
      whole = true;
    } else if (number && !w->bounded) {
      *(integer ? &whole : &floats) = true;
    } else {
      w->at[depth] = i;
      check_leaf(w, depth + 1, lua_gettop(L));
    }
    if (i % AT_ONCE == 0) lua_settop(L, top);
  }
  lua_settop(L, top);
  if (w->bounded) check_fits(w, (luc_scalar){LUC_SCALAR_INT, {.i = least}});
  if (w->bounded) check_fits(w, (luc_scalar){LUC_SCALAR_INT, {.i = most}});
  int kind = floats ? LUC_SCALAR_FLOAT : whole ? LUC_SCALAR_INT : LUC_SCALAR_BOOL;
  if (kind > w->kind) w->kind = kind;
}

/* Every table has the length its depth wants, every leaf is a number. Value at `index`. */
static void check(walk *w, int depth, int index) {
  lua_State *L = w->L;
  if (depth == w->ndim) {
    check_leaf(w, depth, index);
    return;
  }
  bool table = lua_type(L, index) == LUA_TTABLE;
  if (!table || (int64_t)lua_rawlen(L, index) != w->sizes[depth]) fail_ragged(w, depth, index);
  if (depth == w->ndim - 1) {
    check_row(w, depth, index);
    return;
  }
  luc_l_checkstack(L, 4);
  for (int64_t i = 1; i <= w->sizes[depth]; i++) {
    w->at[depth] = i;
    lua_rawgeti(L, index, i);
    check(w, depth + 1, lua_gettop(L));
    lua_pop(L, 1);
  }
}

static void fill_leaf(walk *w, int index, luc_dtype dtype, char *p) {
  leaf l = {.s = {LUC_SCALAR_INT, {.i = 0}}};
  (void)to_leaf(w, index, &l);
  if (l.complex)
    luc__store_complex(p, dtype, l.parts);
  else
    luc__store_scalar(p, dtype, l.s);
}

/* Pushes item i. Cannot raise: what a finalizer may have changed meanwhile is nil. */
static int push_item(lua_State *L, int index, int64_t i) {
  if (lua_type(L, index) == LUA_TTABLE) return lua_rawgeti(L, index, i);
  lua_pushnil(L);
  return LUA_TNIL;
}

/* The number on top of the stack. A float32 is made of a double, as in PyTorch. */
static void fill_number(lua_State *L, luc_dtype dtype, char *p) {
  if (dtype == LUC_FLOAT32)
    *(float *)p = (float)lua_tonumber(L, -1);
  else if (lua_isinteger(L, -1))
    luc__store_scalar(p, dtype, (luc_scalar){LUC_SCALAR_INT, {.i = lua_tointeger(L, -1)}});
  else
    luc__store_scalar(p, dtype, (luc_scalar){LUC_SCALAR_FLOAT, {.f = lua_tonumber(L, -1)}});
}

static char *fill_row(walk *w, int64_t n, int index, luc_dtype dtype, char *p) {
  lua_State *L = w->L;
  int top = lua_gettop(L);
  size_t size = luc__dtype_size(dtype);
  bool table = lua_type(L, index) == LUA_TTABLE;
  for (int64_t i = 1; i <= n; i++, p += size) {
    if ((table ? lua_rawgeti(L, index, i) : push_item(L, index, i)) != LUA_TNUMBER || w->pairs) {
      fill_leaf(w, -1, dtype, p);
    } else {
      fill_number(L, dtype, p);
    }
    if (i % AT_ONCE == 0) lua_settop(L, top);
  }
  lua_settop(L, top);
  return p;
}

/* Writes the leaves in order; returns where the next one goes. Cannot raise: check has made room
 * on the stack. */
static char *fill(walk *w, int depth, int index, luc_dtype dtype, char *p) {
  lua_State *L = w->L;
  if (depth == w->ndim) {
    fill_leaf(w, index, dtype, p);
    return p + luc__dtype_size(dtype);
  }
  if (depth == w->ndim - 1) return fill_row(w, w->sizes[depth], index, dtype, p);
  for (int64_t i = 1; i <= w->sizes[depth]; i++) {
    push_item(L, index, i);
    p = fill(w, depth + 1, lua_gettop(L), dtype, p);
    lua_pop(L, 1);
  }
  return p;
}

/* Fills the box with a new tensor of what is at `index`. dtype: LUC_NUM_DTYPES for what fits. */
static void tensor_from_value(lua_State *L, luc_l_state *st, luc_l_box *box, const char *who,
                              int index, luc_dtype dtype) {
  walk w = {.L = L, .st = st, .who = who, .kind = LUC_SCALAR_BOOL};
  w.bounded = dtype != LUC_NUM_DTYPES && luc__dtype_is_int(dtype);
  w.dtype = dtype;
  w.complex = dtype != LUC_NUM_DTYPES && luc__dtype_is_complex(dtype);
  find_shape(&w, index);
  check(&w, 0, index);
  bool empty = false;
  for (int d = 0; d < w.ndim; d++) empty |= w.sizes[d] == 0;
  if (empty) w.kind = LUC_SCALAR_FLOAT;
  if (dtype == LUC_NUM_DTYPES) {
    dtype = luc__scalar_dtype(st->ctx, (luc_scalar){(uint8_t)w.kind, {.i = 0}});
    if (w.complex) dtype = luc__dtype_to_complex(st->ctx->default_dtype);
  }
  if (w.complex && !luc__dtype_is_complex(dtype))
    luc_l_error(L, "%s: complex numbers cannot be converted to %s", who, luc__dtype_name(dtype));
  luc_status status = luc_tensor_new(st->ctx, dtype, w.ndim, w.sizes, &box->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st))
    status = luc_tensor_new(st->ctx, dtype, w.ndim, w.sizes, &box->t);
  if (status != LUC_OK) luc_l_raise(L, st, status);
  if (!empty) fill(&w, 0, index, dtype, box->t->data);
}

/* The same from a tensor: a copy outside the graph. */
static void tensor_from_tensor(lua_State *L, luc_l_state *st, luc_l_box *box, luc_tensor *t,
                               luc_dtype dtype) {
  if (dtype == LUC_NUM_DTYPES) dtype = t->dtype;
  luc_status status = luc__tensor_empty_like(st->ctx, t, dtype, &box->t);
  if (status == LUC_OK) status = luc__copy(st->ctx, box->t, t);
  if (status != LUC_OK) luc_l_raise(L, st, status);
}

/* args: data, dtype?, device?, requires_grad, from v[0] on. */
static int make_tensor(lua_State *L, luc_l_state *st, const char *who, const luc_value *v,
                       luc_dtype dtype) {
  int index = (int)v[0].as.i;
  if (!luc_is_none(&v[1])) dtype = (luc_dtype)v[1].as.i;
  luc_status status = luc__check_device(st->ctx, &v[2]);
  if (status != LUC_OK) return luc_l_raise(L, st, luc__failed_as(st->ctx, status, who));
  luc_l_box *box = luc_l_newbox(L, st);
  luc_tensor *t = luc_l_totensor(L, index);
  if (t) luc_l_need_values(L, who, t);
  if (t) {
    tensor_from_tensor(L, st, box, t, dtype);
  } else {
    tensor_from_value(L, st, box, who, index, dtype);
  }
  lua_pushvalue(L, -1);
  if (!v[3].as.i) return 1;
  status = luc_tensor_set_requires_grad(st->ctx, box->t, true);
  return status == LUC_OK ? 1 : luc_l_raise(L, st, status);
}

static int tensor(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return make_tensor(L, st, "tensor", a->v, LUC_NUM_DTYPES);
}

static int new_tensor(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return make_tensor(L, st, "new_tensor", a->v + 1, a->v[0].as.tensor->dtype);
}

static int as_tensor(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = luc_l_totensor(L, (int)a->v[0].as.i);
  bool same = t && (luc_is_none(&a->v[1]) || a->v[1].as.i == t->dtype);
  if (!same) return make_tensor(L, st, "as_tensor", a->v, LUC_NUM_DTYPES);
  lua_pushvalue(L, (int)a->v[0].as.i);
  return 1;
}

/* as_tensor outside the graph, which may be told to copy, or not to. */
static int asarray(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int index = (int)a->v[0].as.i;
  luc_tensor *t = luc_l_totensor(L, index);
  const luc_value *copy = &a->v[3];
  luc_value v[] = {a->v[0], a->v[1], a->v[2], a->v[4]};
  bool share = t && (luc_is_none(&v[1]) || v[1].as.i == t->dtype);
  if (!luc_is_none(copy) && !copy->as.i && !share)
    return luc_l_error(L, t ? "asarray: can't alias a tensor of another dtype"
                            : "asarray: can't alias arbitrary values into a tensor");
  if (!share || (!luc_is_none(copy) && copy->as.i))
    return make_tensor(L, st, "asarray", v, LUC_NUM_DTYPES);
  luc_status status = luc__check_device(st->ctx, &v[2]);
  if (status == LUC_OK && luc_tensor_requires_grad(t) && !v[3].as.i) {
    luc_l_box *box = luc_l_newbox(L, st);
    status = luc_tensor_detach(st->ctx, t, &box->t);
  } else {
    lua_pushvalue(L, index);
    if (v[3].as.i) status = luc_tensor_set_requires_grad(st->ctx, t, true);
  }
  return status == LUC_OK ? 1 : luc_l_raise(L, st, luc__failed_as(st->ctx, status, "asarray"));
}

/* ---- back ---- */

enum { GATHER_LEAST = 8, GATHER_MOST = 4096 };

static void push_parts(lua_State *L, const char *p, luc_dtype dtype) {
  double parts[2];
  luc__load_complex(p, dtype, parts);
  lua_pushnumber(L, parts[0]);
  lua_pushnumber(L, parts[1]);
}

static int item(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "item", t);
  if (t->numel != 1)
    return luc_l_error(L, "item: a Tensor with %I elements cannot be converted to a number",
                       (LUAI_UACINT)t->numel);
  if (luc__dtype_is_complex(t->dtype)) {
    push_parts(L, t->data, t->dtype);
    return 2;
  }
  luc_l_pushscalar(L, luc__load_scalar(t->data, t->dtype));
  return 1;
}

/* A complex number as it stands in tables: {real, imaginary}. */
static void push_element(lua_State *L, const char *p, luc_dtype dtype) {
  if (!luc__dtype_is_complex(dtype)) {
    luc_l_pushscalar(L, luc__load_scalar(p, dtype));
    return;
  }
  luc_l_checkstack(L, 4);
  lua_createtable(L, 2, 0);
  push_parts(L, p, dtype);
  lua_rawseti(L, -3, 2);
  lua_rawseti(L, -2, 1);
}

/* A table of n elements, `step` bytes apart. Lua's own constructor takes them from the stack in a
 * third of the time of as many lua_rawseti; of more than it can take, the table is filled. */
static void push_row(lua_State *L, luc_l_state *st, luc_dtype dtype, int64_t n, const char *p,
                     int64_t step) {
  bool gather = n >= GATHER_LEAST && n <= GATHER_MOST && lua_checkstack(L, (int)n + 4);
  luc_l_checkstack(L, 4);
  if (gather)
    luc_l_get(L, st, LUC_L_GATHER);
  else
    lua_createtable(L, (int)n, 0);
  for (int64_t i = 1; i <= n; i++, p += step) {
    switch (dtype) {
    case LUC_FLOAT32: lua_pushnumber(L, (double)*(const float *)p); break;
    case LUC_FLOAT64: lua_pushnumber(L, *(const double *)p); break;
    case LUC_INT64: lua_pushinteger(L, *(const int64_t *)p); break;
    case LUC_BOOL: lua_pushboolean(L, *p); break;
    default: push_element(L, p, dtype);
    }
    if (!gather) lua_rawseti(L, -2, i);
  }
  if (gather) lua_call(L, (int)n, 1);
}

static void push_nested(lua_State *L, luc_l_state *st, const luc_tensor *t, int depth,
                        const char *p) {
  luc_dtype dtype = t->dtype;
  if (depth == t->ndim) {
    push_element(L, p, dtype);
    return;
  }
  int64_t n = t->sizes[depth];
  int64_t step = t->strides[depth] * (int64_t)luc__dtype_size(dtype);
  if (depth == t->ndim - 1) {
    push_row(L, st, dtype, n, p, step);
    return;
  }
  luc_l_checkstack(L, 4);
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    push_nested(L, st, t, depth + 1, p + i * step);
    lua_rawseti(L, -2, i + 1);
  }
}

static int tolist(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "tolist", t);
  push_nested(L, st, t, 0, t->data);
  return 1;
}

static const luc_l_native natives[] = {
    {"tensor(Any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> "
     "Tensor",
     tensor, LUC_F_FUNCTION},
    {"as_tensor(Any data, dtype? dtype=None, device? device=None, *, bool requires_grad=False) -> "
     "Tensor",
     as_tensor, LUC_F_FUNCTION},
    {"asarray(Any obj, *, dtype? dtype=None, device? device=None, bool? copy=None, "
     "bool requires_grad=False) -> Tensor",
     asarray, LUC_F_FUNCTION},
    {"new_tensor(Tensor self, Any data, *, dtype? dtype=None, device? device=None, "
     "bool requires_grad=False) -> Tensor",
     new_tensor, LUC_F_METHOD},
    {"item(Tensor self) -> Scalar", item, LUC_F_METHOD},
    {"tolist(Tensor self)", tolist, LUC_F_METHOD},
};

void luc_l_open_table(lua_State *L, luc_l_state *st) {
  if (luaL_loadstring(L, "return {...}") != LUA_OK) lua_error(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_GATHER]);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
