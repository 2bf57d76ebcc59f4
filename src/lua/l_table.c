/* Tensors from nested tables and back: lucerna.tensor, tolist, item. Tables are read without
 * metamethods, and once: the first value says which dtype is filled; only where a later one does
 * not fit into it the tensor is made anew. */
#include <stdio.h>
#include <string.h>

#include "cpu/copy.h"
#include "l_args.h"
#include "lucerna/autograd.h"
#include "ops/geometry.h"
#include "tensor/half.h"

/* What a walk over nested tables has found. */
typedef struct walk {
  lua_State *L;
  luc_l_state *st;
  const char *who;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  int kind;                     /* the widest kind of number: LUC_SCALAR_* */
  bool complex;                 /* a complex number was met, or they are wanted: */
  bool pairs;                   /* each number is a table {real, imaginary} */
  bool bounded;                 /* each number must fit `dtype`, integers that are wanted */
  luc_dtype dtype;              /* of the tensor that is filled … */
  int holds;                    /* … with numbers of no wider kind than this: LUC_SCALAR_* */
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

/* A number, boolean or one-element tensor; false if it is none. */
static bool to_scalar(lua_State *L, int index, luc_scalar *s) {
  if (luc_l_toscalar(L, index, s)) return true;
  luc_tensor *t = luc_l_totensor(L, index);
  if (!t || t->numel != 1 || t->inner) return false;
  *s = luc__load_scalar(t->data, t->dtype);
  return true;
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

/* Shape: how deep the first elements go; the first one's kind. A wanted complex dtype makes numbers
 * pairs. */
static void find_shape(walk *w, int index) {
  lua_State *L = w->L;
  lua_pushvalue(L, index);
  while (lua_type(L, -1) == LUA_TTABLE) {
    if (w->ndim == LUC_MAX_DIMS)
      luc_l_error(L, "%s: tables are nested deeper than %d levels", w->who, LUC_MAX_DIMS);
    if (!luc_l_is_list(L, lua_gettop(L)))
      luc_l_error(L, "%s: expected an array of values (got a table that is none)", w->who);
    w->sizes[w->ndim++] = (int64_t)lua_rawlen(L, -1);
    lua_rawgeti(L, -1, 1);
    lua_replace(L, -2);
  }
  w->pairs = w->complex && w->ndim && lua_type(L, -1) == LUA_TNUMBER;
  leaf first;
  if (!w->pairs && to_leaf(w, -1, &first)) {
    w->complex |= first.complex;
    w->kind = first.complex ? LUC_SCALAR_FLOAT : first.s.kind;
  }
  lua_pop(L, 1);
  if (!w->pairs) return;
  if (w->sizes[w->ndim - 1] != 2)
    luc_l_error(L,
                "%s: a complex number is a table of its real and imaginary part (got a table of "
                "%d numbers; for real ones, leave out dtype and convert)",
                w->who, (int)w->sizes[w->ndim - 1]);
  w->ndim--;
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

static void check_fits(walk *w, luc_scalar s) {
  luc_context *ctx = w->st->ctx;
  luc_l_check(w->L, w->st, luc__failed_as(ctx, luc__check_scalar(ctx, s, w->dtype), w->who));
}

/* Every table has the length its depth wants. Value at `index`. */
static void check_lengths(walk *w, int depth, int index) {
  lua_State *L = w->L;
  bool table = lua_type(L, index) == LUA_TTABLE;
  if (!table || (int64_t)lua_rawlen(L, index) != w->sizes[depth]) fail_ragged(w, depth, index);
  if (depth == w->ndim - 1) return;
  luc_l_checkstack(L, 4);
  for (int64_t i = 1; i <= w->sizes[depth]; i++) {
    w->at[depth] = i;
    lua_rawgeti(L, index, i);
    check_lengths(w, depth + 1, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* Any leaf; of one that the tensor cannot hold the kind is noted. */
static void put_leaf(walk *w, int depth, int index, char *p) {
  leaf l;
  luc_l_checkstack(w->L, 4);
  if (!to_leaf(w, index, &l)) fail_leaf(w, depth, index);
  if (l.complex) {
    w->complex = true;
    if (luc__dtype_is_complex(w->dtype)) luc__store_complex(p, w->dtype, l.parts);
    return;
  }
  if (w->bounded) check_fits(w, l.s);
  if (l.s.kind > w->kind) w->kind = l.s.kind;
  if (l.s.kind <= w->holds) luc__store_scalar(p, w->dtype, l.s);
}

/* An integer as it is; false if it does not fit, or the dtype is none of these. */
static bool put_integer(lua_Integer v, luc_dtype dtype, char *p) {
  switch (dtype) {
  case LUC_INT64: *(int64_t *)p = v; return true;
  case LUC_INT32: *(int32_t *)p = (int32_t)v; return v == (int32_t)v;
  case LUC_INT16: *(int16_t *)p = (int16_t)v; return v == (int16_t)v;
  case LUC_INT8: *(int8_t *)p = (int8_t)v; return v == (int8_t)v;
  case LUC_UINT8: *(uint8_t *)p = (uint8_t)v; return v == (uint8_t)v;
  default: return false;
  }
}

enum { AT_ONCE = 64 }; /* items of a row are on the stack at a time: popping each takes longer */

/* The leaves of the table at `index`: mostly numbers, which are told apart at once. A float32 is
 * made of a double, as in PyTorch. */
static char *put_row(walk *w, int depth, int index, char *p) {
  lua_State *L = w->L;
  int top = lua_gettop(L);
  luc_dtype dtype = w->dtype;
  size_t size = luc__dtype_size(dtype);
  luc_l_checkstack(L, AT_ONCE + LUA_MINSTACK);
  for (int64_t i = 1; i <= w->sizes[depth]; i++, p += size) {
    luc_scalar s;
    int type = lua_rawgeti(L, index, i);
    bool number = type == LUA_TNUMBER && !w->pairs, boolean = type == LUA_TBOOLEAN && !w->pairs;
    if (number && dtype == LUC_FLOAT32) {
      *(float *)p = (float)lua_tonumber(L, -1);
    } else if (number && dtype == LUC_FLOAT64) {
      *(double *)p = lua_tonumber(L, -1);
    } else if (number && lua_isinteger(L, -1) && put_integer(lua_tointeger(L, -1), dtype, p)) {
      /* it fits */
    } else if ((number || boolean) && to_scalar(L, -1, &s) && s.kind <= w->holds) {
      if (w->bounded) check_fits(w, s);
      luc__store_scalar(p, dtype, s);
    } else {
      w->at[depth] = i;
      put_leaf(w, depth + 1, lua_gettop(L), p);
    }
    if (i % AT_ONCE == 0) lua_settop(L, top);
  }
  lua_settop(L, top);
  return p;
}

/* Writes the leaves in order; returns where the next one goes. */
static char *put(walk *w, int depth, int index, char *p) {
  lua_State *L = w->L;
  if (depth == w->ndim) {
    put_leaf(w, depth, index, p);
    return p + luc__dtype_size(w->dtype);
  }
  if (lua_type(L, index) != LUA_TTABLE) fail_ragged(w, depth, index); /* a finalizer changed it */
  if (depth == w->ndim - 1) return put_row(w, depth, index, p);
  for (int64_t i = 1; i <= w->sizes[depth]; i++) {
    w->at[depth] = i;
    lua_rawgeti(L, index, i);
    p = put(w, depth + 1, lua_gettop(L), p);
    lua_pop(L, 1);
  }
  return p;
}

/* What the numbers met so far make. */
static luc_dtype dtype_of(const walk *w) {
  luc_context *ctx = w->st->ctx;
  if (w->complex) return luc__dtype_to_complex(ctx->default_dtype);
  return luc__scalar_dtype(ctx, (luc_scalar){(uint8_t)w->kind, {.i = 0}});
}

/* Gives the box a tensor of the walk's dtype and shape. */
static void new_tensor_of(walk *w, luc_l_box *box) {
  luc_context *ctx = w->st->ctx;
  luc_tensor_release(ctx, box->t);
  box->t = NULL;
  luc_status status = luc_tensor_new(ctx, w->dtype, w->ndim, w->sizes, &box->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(w->L, w->st))
    status = luc_tensor_new(ctx, w->dtype, w->ndim, w->sizes, &box->t);
  luc_l_check(w->L, w->st, status);
}

/* Fills the box with a new tensor of what is at `index`. dtype: LUC_NUM_DTYPES for what fits. */
static void tensor_from_value(lua_State *L, luc_l_state *st, luc_l_box *box, const char *who,
                              int index, luc_dtype dtype) {
  bool wanted = dtype != LUC_NUM_DTYPES, empty = false;
  walk w = {.L = L, .st = st, .who = who, .dtype = dtype, .kind = LUC_SCALAR_BOOL};
  w.bounded = wanted && luc__dtype_is_int(dtype);
  w.complex = wanted && luc__dtype_is_complex(dtype);
  find_shape(&w, index);
  if (w.ndim) check_lengths(&w, 0, index);
  for (int d = 0; d < w.ndim; d++) empty |= w.sizes[d] == 0;
  if (empty) w.kind = LUC_SCALAR_FLOAT;
  do {
    w.holds = wanted ? LUC_SCALAR_FLOAT : w.kind;
    if (!wanted) w.dtype = dtype_of(&w);
    new_tensor_of(&w, box);
    if (!empty) put(&w, 0, index, box->t->data);
  } while (!wanted && dtype_of(&w) != w.dtype);
  if (w.complex && !luc__dtype_is_complex(w.dtype))
    luc_l_error(L, "%s: complex numbers cannot be converted to %s", who, luc__dtype_name(dtype));
}

/* The same from a tensor: a copy outside the graph. */
static void tensor_from_tensor(lua_State *L, luc_l_state *st, luc_l_box *box, luc_tensor *t,
                               luc_dtype dtype) {
  if (dtype == LUC_NUM_DTYPES) dtype = t->dtype;
  luc_status status = luc__tensor_empty_like(st->ctx, t, dtype, &box->t);
  if (status == LUC_OK) status = luc__copy(st->ctx, box->t, t);
  luc_l_check(L, st, status);
}

/* args: data, dtype?, device?, requires_grad, from v[0] on. */
static int make_tensor(lua_State *L, luc_l_state *st, const char *who, const luc_value *v,
                       luc_dtype dtype) {
  int index = (int)v[0].as.i;
  if (!luc_is_none(&v[1])) dtype = (luc_dtype)v[1].as.i;
  luc_l_check(L, st, luc__failed_as(st->ctx, luc__check_device(st->ctx, &v[2]), who));
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
  return luc_l_results(L, st, 1, luc_tensor_set_requires_grad(st->ctx, box->t, true));
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
  return luc_l_results(L, st, 1, luc__failed_as(st->ctx, status, "asarray"));
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

static void push_number(lua_State *L, luc_dtype dtype, const char *p) {
  switch (dtype) {
  case LUC_FLOAT32: lua_pushnumber(L, (double)*(const float *)p); break;
  case LUC_FLOAT64: lua_pushnumber(L, *(const double *)p); break;
  case LUC_FLOAT16: lua_pushnumber(L, (double)luc__half_to_float(*(const uint16_t *)p)); break;
  case LUC_BFLOAT16: lua_pushnumber(L, (double)luc__bfloat16_to_float(*(const uint16_t *)p)); break;
  case LUC_INT64: lua_pushinteger(L, *(const int64_t *)p); break;
  case LUC_INT32: lua_pushinteger(L, *(const int32_t *)p); break;
  case LUC_INT16: lua_pushinteger(L, *(const int16_t *)p); break;
  case LUC_INT8: lua_pushinteger(L, *(const int8_t *)p); break;
  case LUC_UINT8: lua_pushinteger(L, *(const uint8_t *)p); break;
  case LUC_BOOL: lua_pushboolean(L, *p); break;
  default: push_element(L, p, dtype);
  }
}

/* A table of n elements, `step` bytes apart. Lua's own constructor takes them from the stack in a
 * third of the time of as many lua_rawseti; of few, or more than it can take, the table is filled.
 */
static void push_row(lua_State *L, luc_l_state *st, luc_dtype dtype, int64_t n, const char *p,
                     int64_t step) {
  bool gather = n >= GATHER_LEAST && n <= GATHER_MOST && lua_checkstack(L, (int)n + 4);
  luc_l_checkstack(L, 4);
  if (gather)
    luc_l_get(L, st, LUC_L_GATHER);
  else
    lua_createtable(L, (int)n, 0);
  for (int64_t i = 1; i <= n; i++, p += step) {
    push_number(L, dtype, p);
    if (!gather) lua_rawseti(L, -2, i);
  }
  if (gather) lua_call(L, (int)n, 1);
}

/* What becomes tables, in memory that stays as it is meanwhile, whatever finalizers do. */
typedef struct grid {
  const char *data;
  luc_dtype dtype;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS], steps[LUC_MAX_DIMS]; /* bytes */
} grid;

static grid grid_of(const luc_tensor *t) {
  grid g; /* sizes beyond ndim are never read */
  g.data = t->data;
  g.dtype = t->dtype;
  g.ndim = t->ndim;
  for (int d = 0; d < t->ndim; d++) {
    g.sizes[d] = t->sizes[d];
    g.steps[d] = t->strides[d] * (int64_t)luc__dtype_size(t->dtype);
  }
  return g;
}

static void push_nested(lua_State *L, luc_l_state *st, const grid *g, int depth, const char *p) {
  if (depth == g->ndim) {
    push_element(L, p, g->dtype);
    return;
  }
  int64_t n = g->sizes[depth], step = g->steps[depth];
  if (depth == g->ndim - 1) {
    push_row(L, st, g->dtype, n, p, step);
    return;
  }
  luc_l_checkstack(L, 4);
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    push_nested(L, st, g, depth + 1, p + i * step);
    lua_rawseti(L, -2, i + 1);
  }
}

enum { SMALL = 1024 }; /* bytes that are copied rather than held */

static int tolist(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "tolist", t);
  grid g = grid_of(t);
  size_t bytes = (size_t)t->numel * luc__dtype_size(g.dtype);
  if (bytes <= SMALL && luc_tensor_is_contiguous(t)) {
    _Alignas(16) char copy[SMALL];
    memcpy(copy, g.data, bytes);
    push_nested(L, st, &g, 0, copy);
    return 1;
  }
  bool number = !luc__dtype_is_complex(g.dtype);
  if (g.ndim == 1 && number && t->numel >= GATHER_LEAST && t->numel <= GATHER_MOST) {
    push_nested(L, st, &g, 0, g.data); /* all is read before anything is made */
    return 1;
  }
  luc_l_box *box = luc_l_newbox(L, st); /* a finalizer may give t other memory meanwhile */
  luc_l_check(L, st, luc__tensor_alias(st->ctx, t, &box->t));
  g = grid_of(box->t);
  push_nested(L, st, &g, 0, g.data);
  luc_l_spare_box(L, st, -2);
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
    {"tolist(Tensor self) -> Any", tolist, LUC_F_METHOD},
};

void luc_l_open_table(lua_State *L, luc_l_state *st) {
  if (luaL_loadstring(L, "return {...}") != LUA_OK) lua_error(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_GATHER]);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
