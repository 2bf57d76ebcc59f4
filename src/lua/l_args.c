/* The argument parser. A call's layout (how many positional arguments, where the keyword table is)
 * is found once; each parameter then has one reader, chosen by its type. Everything read lives in
 * luc_l_args or on the Lua stack, so an error at any point leaves nothing behind. */
#include "l_args.h"

#include <stdio.h>
#include <limits.h>
#include <string.h>
#include "lucerna/autograd.h"

typedef struct reader {
  lua_State *L;
  luc_l_state *st;
  const luc_l_sig *sig;
  luc_l_args *a;
} reader;

typedef luc_l_layout layout;

/* ---- messages ---- */

/* ORDER TYPE */
static const char *const type_texts[] = {"a Tensor",
                                         "a Tensor of indices",
                                         "a Tensor or a number",
                                         "a number or boolean",
                                         "an integer",
                                         "a dimension",
                                         "an index",
                                         "a list of sizes",
                                         "a list of dimensions",
                                         "a number",
                                         "a boolean",
                                         "a string",
                                         "a dtype",
                                         "a device",
                                         "a Generator",
                                         "an integer or a string",
                                         "a table of two tables of as many dimensions",
                                         "a value",
                                         "None"};
_Static_assert(sizeof type_texts / sizeof *type_texts == LUC_T_COUNT, "ORDER TYPE");

/* ORDER TYPE: items of lists */
static const char *const item_texts[] = {
    "Tensors",    "Tensors of indices", "Tensors", "numbers",  "integers", "dimensions", "indices",
    "integers",   "dimensions",         "numbers", "booleans", "strings",  "dtypes",     "devices",
    "Generators", "integers",           "tables",  "values",   "None"};
_Static_assert(sizeof item_texts / sizeof *item_texts == LUC_T_COUNT, "ORDER TYPE");

static const char *expected_text(const luc_param *param, char *buf, size_t size) {
  const char *nil = param->optional ? " or nil" : "";
  if (!param->list) {
    snprintf(buf, size, "%s%s", type_texts[param->type], nil);
  } else if (param->list > 0) {
    snprintf(buf, size, "%s or a table of %d %s%s", type_texts[param->type], param->list,
             item_texts[param->type], nil);
  } else {
    snprintf(buf, size, "a table of %s%s", item_texts[param->type], nil);
  }
  return buf;
}

static void fail_type(const reader *r, int p, int index) {
  char expected[96];
  const luc_param *param = &r->sig->schema->params[p];
  luc_l_error(r->L, "%s: %s must be %s (got %s)", r->sig->who, param->name,
              expected_text(param, expected, sizeof expected), luc_l_given(r->L, index));
}

static void fail_item(const reader *r, int p, int item, int index) {
  const luc_param *param = &r->sig->schema->params[p];
  luc_l_error(r->L, "%s: %s must be a table of %s (got %s at position %d)", r->sig->who,
              param->name, item_texts[param->type], luc_l_given(r->L, index), item);
}

/* ---- single values ---- */

/* Lua integers, and floats without a fraction. */
static bool to_integer(lua_State *L, int index, int64_t *out) {
  if (lua_type(L, index) != LUA_TNUMBER) return false;
  int whole;
  *out = lua_tointegerx(L, index, &whole);
  return whole;
}

/* Pushes the number of a tensor of no dimensions, where it has no gradient to lose. */
static bool push_number(lua_State *L, int index, bool integer) {
  const luc_tensor *t = luc_l_totensor(L, index);
  if (!t || t->ndim || luc_tensor_requires_grad(t)) return false;
  if (integer ? !luc__dtype_is_int(t->dtype) : luc__dtype_is_complex(t->dtype)) return false;
  luc_l_need_values(L, "item", t);
  luc_l_pushscalar(L, luc__load_scalar(t->data, t->dtype));
  return true;
}

/* An integer of a list; constructors keep what they are given, which is no tensor. */
static bool item_integer(const reader *r, int index, int64_t *out) {
  if (to_integer(r->L, index, out)) return true;
  if (r->sig->as_given || !push_number(r->L, index, true)) return false;
  bool whole = to_integer(r->L, -1, out);
  lua_pop(r->L, 1);
  return whole;
}

/* Readers say false when the value is of the wrong kind. */
typedef bool (*read_fn)(reader *r, int p, int index);

static bool read_tensor(reader *r, int p, int index) {
  luc_tensor *t = luc_l_totensor(r->L, index);
  if (!t) return false;
  r->a->v[p] = luc_v_tensor(t);
  return true;
}

static bool read_scalar(reader *r, int p, int index) {
  luc_scalar s;
  if (!luc_l_toscalar(r->L, index, &s)) return false;
  r->a->v[p] = luc_v_scalar(s);
  return true;
}

static bool read_operand(reader *r, int p, int index) {
  return read_tensor(r, p, index) || read_scalar(r, p, index);
}

static bool read_int(reader *r, int p, int index) {
  int64_t i;
  if (!to_integer(r->L, index, &i)) return false;
  r->a->v[p] = luc_v_int(i);
  return true;
}

/* Operators check dimensions in the core; a constructor only keeps them. */
static bool read_dim(reader *r, int p, int index) {
  if (!read_int(r, p, index)) return false;
  if (r->a->v[p].as.i == 0 && r->sig->as_given)
    luc_l_error(r->L, "%s: %s: dim 0 is out of range (dims count from 1)", r->sig->who,
                r->sig->schema->params[p].name);
  r->a->v[p].as.i = luc_l_from_one(r->a->v[p].as.i);
  return true;
}

/* Only where the schema has a dimension is the index checked against a size, in the core. */
static bool read_index(reader *r, int p, int index) {
  if (!read_int(r, p, index)) return false;
  const luc_schema *schema = r->sig->schema;
  bool checked = p > 0 && schema->params[p - 1].type == LUC_T_DIM;
  if (r->a->v[p].as.i == 0 && !checked)
    luc_l_error(r->L, "%s: %s: index 0 is out of range (indices count from 1)", r->sig->who,
                schema->params[p].name);
  r->a->v[p].as.i = luc_l_from_one(r->a->v[p].as.i);
  return true;
}

static bool read_float(reader *r, int p, int index) {
  if (lua_type(r->L, index) != LUA_TNUMBER) return false;
  bool whole = r->sig->as_given && lua_isinteger(r->L, index);
  r->a->v[p] =
      whole ? luc_v_int(lua_tointeger(r->L, index)) : luc_v_float(lua_tonumber(r->L, index));
  return true;
}

static bool read_bool(reader *r, int p, int index) {
  if (lua_type(r->L, index) != LUA_TBOOLEAN) return false;
  r->a->v[p] = luc_v_bool(lua_toboolean(r->L, index));
  return true;
}

static bool read_str(reader *r, int p, int index) {
  if (lua_type(r->L, index) != LUA_TSTRING) return false;
  r->a->v[p] = luc_v_string(lua_tostring(r->L, index));
  return true;
}

static bool read_dtype(reader *r, int p, int index) {
  luc_dtype dtype;
  if (!luc_l_todtype(r->L, index, &dtype)) return false;
  r->a->v[p] = luc_v_dtype(dtype);
  return true;
}

static bool read_generator(reader *r, int p, int index) {
  luc_generator *g = luc_l_togenerator(r->L, index);
  if (!g) return false;
  r->a->v[p] = (luc_value){.kind = LUC_GENERATOR, .as.generator = g};
  return true;
}

/* Pushes entry i of the pair at `index`; its length if it is a table, else -1. */
static int push_half(lua_State *L, int index, int i) {
  lua_rawgeti(L, index, i);
  return lua_type(L, -1) == LUA_TTABLE ? (int)lua_rawlen(L, -1) : -1;
}

static bool read_dim_pair(reader *r, int p, int index) {
  lua_State *L = r->L;
  if (lua_type(L, index) != LUA_TTABLE || lua_rawlen(L, index) != 2) return false;
  int first = push_half(L, index, 1), second = push_half(L, index, 2), at = lua_gettop(L);
  bool fits = first >= 0 && first == second && 2 * first <= LUC_L_INTS - r->a->nints;
  int64_t *room = r->a->ints + r->a->nints;
  for (int i = 0; fits && i < 2 * first; i++) {
    lua_rawgeti(L, at - (i < first), i % first + 1);
    fits = to_integer(L, -1, &room[i]);
    if (fits) room[i] = luc_l_from_one(room[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  if (!fits) return false;
  r->a->nints = (uint8_t)(r->a->nints + 2 * first);
  r->a->v[p] = luc_v_ints(room, 2 * first);
  return true;
}

/* Stays on the stack: the value is its position. */
static bool read_any(reader *r, int p, int index) {
  r->a->v[p] = luc_v_int(lua_absindex(r->L, index));
  return true;
}

static bool read_nothing(reader *r, int p, int index) {
  (void)r, (void)p, (void)index;
  return false;
}

/* ORDER TYPE. Size, Dims and Padding are lists: a single number stands for a list of one. */
static const read_fn readers[] = {
    read_tensor,    read_tensor, read_operand,  read_scalar, read_int,    read_dim,   read_index,
    read_int,       read_dim,    read_float,    read_bool,   read_str,    read_dtype, read_str,
    read_generator, read_int,    read_dim_pair, read_any,    read_nothing};
_Static_assert(sizeof readers / sizeof *readers == LUC_T_COUNT, "ORDER TYPE");

/* ---- lists ---- */

/* Room for n entries of `size` bytes: in the array while it lasts, else a userdata on the stack. */
static void *list_room(reader *r, void *array, uint8_t *used, int capacity, int n, size_t size) {
  if (n <= capacity - *used) {
    void *room = (char *)array + *used * size;
    *used = (uint8_t)(*used + n);
    return room;
  }
  luc_l_checkstack(r->L, 4);
  return lua_newuserdatauv(r->L, (size_t)n * size, 0);
}

/* What a list is made of: n items, in the table at `table` or, when that is 0, from `index` on. */
typedef struct items {
  int n, table, index;
} items;

/* Pushes item i (from 0), or gives its position. */
static int item_at(reader *r, const items *list, int i) {
  if (!list->table) return list->index + i;
  lua_rawgeti(r->L, list->table, i + 1);
  return lua_gettop(r->L);
}

static void item_done(reader *r, const items *list) {
  if (list->table) lua_pop(r->L, 1);
}

static void read_ints(reader *r, int p, const items *list) {
  luc_l_args *a = r->a;
  int64_t *room = list_room(r, a->ints, &a->nints, LUC_L_INTS, list->n, sizeof *room);
  int type = r->sig->schema->params[p].type;
  bool dims = type == LUC_T_DIM || type == LUC_T_DIMS || type == LUC_T_INDEX;
  bool holes = r->sig->schema->params[p].optional_items;
  for (int i = 0; i < list->n; i++) {
    int at = item_at(r, list, i);
    int64_t value = 0;
    bool hole = holes && luc_l_isnone(r->L, r->st, at);
    if (!hole && !item_integer(r, at, &value)) fail_item(r, p, i + 1, at);
    room[i] = hole ? LUC_NO_ITEM : dims ? luc_l_from_one(value) : value;
    item_done(r, list);
  }
  a->v[p] = luc_v_ints(room, list->n);
}

static void read_floats(reader *r, int p, const items *list) {
  luc_l_args *a = r->a;
  double *room = list_room(r, a->floats, &a->nfloats, LUC_L_FLOATS, list->n, sizeof *room);
  for (int i = 0; i < list->n; i++) {
    int at = item_at(r, list, i);
    if (lua_type(r->L, at) != LUA_TNUMBER) fail_item(r, p, i + 1, at);
    room[i] = lua_tonumber(r->L, at);
    item_done(r, list);
  }
  a->v[p] = (luc_value){.kind = LUC_FLOATS, .n = list->n, .as.floats = room};
}

static void read_tensors(reader *r, int p, const items *list) {
  luc_l_args *a = r->a;
  luc_tensor **room = list_room(r, a->tensors, &a->ntensors, LUC_L_TENSORS, list->n, sizeof *room);
  bool holes = r->sig->schema->params[p].optional_items;
  for (int i = 0; i < list->n; i++) {
    int at = item_at(r, list, i);
    room[i] = luc_l_totensor(r->L, at);
    if (!room[i] && !(holes && luc_l_isnone(r->L, r->st, at))) fail_item(r, p, i + 1, at);
    item_done(r, list);
  }
  a->v[p] = luc_v_tensors(room, list->n);
}

typedef void (*list_fn)(reader *r, int p, const items *list);
/* ORDER TYPE; NULL: lists of this type do not exist */
static const list_fn list_readers[] = {
    read_tensors, read_tensors, read_tensors, read_floats, read_ints, read_ints, read_ints,
    read_ints,    read_ints,    read_floats,  NULL,        NULL,      NULL,      NULL,
    NULL,         read_ints,    NULL,         NULL,        NULL};
_Static_assert(sizeof list_readers / sizeof *list_readers == LUC_T_COUNT, "ORDER TYPE");

/* A tensor of no dimensions stands for its number. */
static bool read_tensor_as_number(reader *r, int p, int index) {
  int type = r->sig->schema->params[p].type;
  bool integer = list_readers[type] == read_ints;
  if (!integer && type != LUC_T_SCALAR && type != LUC_T_FLOAT) return false;
  if (r->sig->as_given || !push_number(r->L, index, integer)) return false;
  bool read = readers[type](r, p, lua_gettop(r->L));
  lua_pop(r->L, 1);
  return read;
}

/* One value stands for `list` equal ones; for a list of any length, for a list of one. */
static bool read_single_as_list(reader *r, int p, int index) {
  const luc_param *param = &r->sig->schema->params[p];
  luc_l_args *a = r->a;
  luc_value *v = &a->v[p];
  bool tensors = param->type <= LUC_T_INDEX_TENSOR;
  if (tensors && !r->sig->lenient) return false;
  if (!readers[param->type](r, p, index) && !read_tensor_as_number(r, p, index)) return false;
  if (r->sig->as_given && param->list > 0) return true;
  int n = param->list > 0 ? param->list : 1;
  if (tensors) {
    read_tensors(r, p, &(items){1, 0, index});
  } else if (list_readers[param->type] == read_floats) {
    double *room = list_room(r, a->floats, &a->nfloats, LUC_L_FLOATS, n, sizeof *room);
    for (int i = 0; i < n; i++) room[i] = luc__scalar_double(luc_as_scalar(v));
    *v = (luc_value){.kind = LUC_FLOATS, .n = n, .as.floats = room};
  } else {
    int64_t *room = list_room(r, a->ints, &a->nints, LUC_L_INTS, n, sizeof *room), one = v->as.i;
    for (int i = 0; i < n; i++) room[i] = one;
    *v = luc_v_ints(room, n);
  }
  return true;
}

/* An int[] may be an int64 tensor of at most one dimension: lengths of sequences. */
static bool read_tensor_as_ints(reader *r, int p, int index) {
  const luc_tensor *t = luc_l_totensor(r->L, index);
  if (!t || t->dtype != LUC_INT64 || t->ndim > 1 || t->numel > INT_MAX) return false;
  luc_l_need_values(r->L, "tolist", t);
  luc_l_args *a = r->a;
  int n = (int)t->numel;
  int64_t *room = list_room(r, a->ints, &a->nints, LUC_L_INTS, n, sizeof *room);
  for (int i = 0; i < n; i++) room[i] = ((const int64_t *)t->data)[i * (n > 1 ? t->strides[0] : 1)];
  a->v[p] = luc_v_ints(room, n);
  return true;
}

static bool is_empty_table(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || lua_rawlen(L, index)) return false;
  lua_pushnil(L);
  if (!lua_next(L, index)) return true;
  lua_pop(L, 2);
  return false;
}

bool luc_l_is_list(lua_State *L, int index) {
  if (lua_rawlen(L, index)) return true;
  if (!is_empty_table(L, index)) return false;
  if (luaL_getmetafield(L, index, "__len") == LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

static void read_list(reader *r, int p, int index) {
  const luc_param *param = &r->sig->schema->params[p];
  if (param->type == LUC_T_PADDING && read_str(r, p, index)) return;
  if (param->type == LUC_T_INT && param->list < 0 && read_tensor_as_ints(r, p, index)) return;
  if (lua_type(r->L, index) != LUA_TTABLE || !luc_l_is_list(r->L, index)) {
    if (!read_single_as_list(r, p, index)) fail_type(r, p, index);
    return;
  }
  items list = {(int)lua_rawlen(r->L, index), index, 0};
  if (list.n == 1 && param->list > 1) { /* {3} for [3, 3], as PyTorch expands it */
    int at = item_at(r, &list, 0);
    if (!read_single_as_list(r, p, at)) fail_item(r, p, 1, at);
    item_done(r, &list);
    return;
  }
  if (param->list > 0 && list.n != param->list)
    luc_l_error(r->L, "%s: %s must have %d entries (got %d)", r->sig->who, param->name, param->list,
                list.n);
  list_readers[param->type](r, p, &list);
}

/* ---- parameters ---- */

/* nil and lucerna.none, which no reader but that of Any takes. */
static void read_nil(reader *r, int p, int index, bool none) {
  const luc_param *param = &r->sig->schema->params[p];
  if (!none && param->has_default) {
    r->a->v[p] = param->def;
    return;
  }
  if (!param->optional) fail_type(r, p, index);
  r->a->v[p] = luc_v_none();
  r->a->given |= 1u << p;
}

static void read_param(reader *r, int p, int index) {
  const luc_param *param = &r->sig->schema->params[p];
  if (param->list || !readers[param->type](r, p, index)) {
    int type = lua_type(r->L, index);
    bool none = type == LUA_TUSERDATA && luc_l_isnone(r->L, r->st, index);
    if (none || type == LUA_TNIL) {
      read_nil(r, p, index, none);
      return;
    }
    if (param->list)
      read_list(r, p, index);
    else if (!read_tensor_as_number(r, p, index))
      fail_type(r, p, index);
  }
  r->a->given |= 1u << p;
}

/* Does the last positional parameter take all the remaining arguments, and do these want it to? */
static bool takes_rest(const reader *r, int p, int index) {
  const luc_param *param = &r->sig->schema->params[p];
  if (p != r->sig->schema->npositional - 1 || param->list >= 0) return false;
  if (param->type <= LUC_T_INDEX_TENSOR) return luc_l_tobox(r->L, index) != NULL;
  bool sizes = param->type == LUC_T_SIZE || param->type == LUC_T_DIMS || param->type == LUC_T_INT;
  if (!sizes || lua_type(r->L, index) == LUA_TNUMBER) return sizes;
  const luc_tensor *t = r->a ? luc_l_totensor(r->L, index) : NULL; /* no overload is chosen by it */
  return t && t->ndim == 0 && luc__dtype_is_int(t->dtype);
}

/* The n arguments from i on are one list; pushed together if the table's array part has some. */
static void read_rest(reader *r, int p, const layout *l, int i, int n) {
  int from = luc_l_position(l, i);
  if (i < l->split && i + n > l->split) {
    luc_l_checkstack(r->L, n);
    from = lua_gettop(r->L) + 1;
    for (int j = i; j < i + n; j++) lua_pushvalue(r->L, luc_l_position(l, j));
  }
  list_readers[r->sig->schema->params[p].type](r, p, &(items){n, 0, from});
  r->a->given |= 1u << p;
}

/* May an argument stand behind those of the parameters? */
static bool may_follow(lua_State *L, const luc_l_sig *sig, int index) {
  return lua_isnil(L, index) || (sig->takes_inplace && lua_isboolean(L, index));
}

/* A parameter that takes no list. */
static inline bool read_single(reader *r, int p, int index) {
  int type = r->sig->schema->params[p].type;
  luc_tensor *t = type <= LUC_T_OPERAND ? luc_l_totensor(r->L, index) : NULL;
  if (t)
    r->a->v[p] = luc_v_tensor(t);
  else if (!readers[type](r, p, index))
    return false;
  r->a->given |= 1u << p;
  return true;
}

/* The first n arguments. */
static void read_positional(reader *r, const layout *l, int n) {
  const int most = r->sig->schema->npositional;
  for (int i = 0; i < n; i++) {
    int at = luc_l_position(l, i);
    if (i >= most) {
      bool flag = lua_isboolean(r->L, at);
      if (!may_follow(r->L, r->sig, at) || (flag && i < n - 1))
        luc_l_error(r->L, "%s: takes at most %d arguments (got %d)", r->sig->who, most, l->n);
      if (flag) r->a->inplace = lua_toboolean(r->L, at);
      continue;
    }
    if (!(r->sig->lists >> i & 1) && read_single(r, i, at)) continue; /* nearly always */
    if (takes_rest(r, i, at)) {
      read_rest(r, i, l, i, n - i);
      return;
    }
    read_param(r, i, at);
  }
}

/* ---- keyword arguments ---- */

/* Operators take NumPy's names too, as PyTorch's do. */
static int find_key(const luc_l_sig *sig, const char *key) {
  for (int p = 0; p < sig->schema->nparams; p++)
    if (sig->keys[p] == key) return p; /* interned: equal strings are one */
  const char *own = !strcmp(key, "axis") ? "dim" : !strcmp(key, "keepdims") ? "keepdim" : NULL;
  return own && !sig->as_given ? luc__schema_find(sig->schema, own) : -1;
}

static void fail_key(const reader *r, const char *key) {
  const char *closest = luc__schema_closest(r->sig->schema, key);
  const char *hint = closest ? lua_pushfstring(r->L, " (did you mean '%s'?)", closest) : "";
  luc_l_error(r->L, "%s: unknown argument '%s'%s", r->sig->who, key, hint);
}

/* Pushes the tensor for result i of out=: a list, or a table of the results' names. */
void luc_l_push_out(lua_State *L, const luc_schema *schema, int at, int i) {
  const char *name = schema->result_name[i];
  if (lua_rawgeti(L, at, i + 1) != LUA_TNIL || !name) return;
  lua_pop(L, 1);
  lua_pushstring(L, name);
  lua_rawget(L, at);
}

/* out=: a tensor, or for several results a table of them; the call will miss what it lacks. */
static void read_out(reader *r, int at) {
  lua_State *L = r->L;
  const luc_schema *schema = r->sig->schema;
  r->a->out_index = at;
  r->a->nout = schema->nresults;
  if (schema->nresults == 1) {
    r->a->out[0] = luc_l_checktensor(L, at, r->sig->who, "out");
    return;
  }
  if (lua_type(L, at) != LUA_TTABLE)
    luc_l_error(L, "%s: out must be a table of %d tensors (got a %s)", r->sig->who,
                schema->nresults, luaL_typename(L, at));
  for (int i = 0; i < schema->nresults; i++) {
    luc_l_push_out(L, schema, at, i);
    r->a->out[i] = NULL;
    if (lua_isnil(L, -1)) continue;
    const char *name = schema->result_name[i];
    const char *what = lua_pushfstring(L, "out[%s]", name ? name : "?");
    r->a->out[i] = luc_l_checktensor(L, -2, r->sig->who, what);
    lua_pop(L, 1);
  }
}

/* Keys that no schema declares: out=, inplace=. The value is at `at`. */
static void read_extra(reader *r, const char *key, int at) {
  if (r->sig->takes_out && !strcmp(key, "out")) {
    read_out(r, at);
  } else if (r->sig->takes_inplace && !strcmp(key, "inplace")) {
    r->a->inplace = lua_toboolean(r->L, at);
  } else {
    fail_key(r, key);
  }
}

/* The pair at key_at and the place after it. Returns whether the value's place counts. */
static bool read_keyword(reader *r, int key_at) {
  lua_State *L = r->L;
  if (lua_type(L, key_at) != LUA_TSTRING) {
    if (!lua_isinteger(L, key_at))
      luc_l_error(L, "%s: argument names are strings (got a %s)", r->sig->who,
                  luaL_typename(L, key_at));
    return false;
  }
  const char *key = lua_tostring(L, key_at);
  int p = find_key(r->sig, key);
  if (p < 0) {
    read_extra(r, key, key_at + 1);
    return false;
  }
  if (r->a->given & 1u << p) luc_l_error(L, "%s: argument '%s' is given twice", r->sig->who, key);
  read_param(r, p, key_at + 1);
  return r->sig->schema->params[p].type == LUC_T_ANY;
}

/* The first pair is on the stack already, mostly. Values that Lua could collect, or whose place
 * counts, stay there, so that nothing can take them away meanwhile. */
static void read_keywords(reader *r, const layout *l) {
  lua_State *L = r->L;
  luc_l_checkstack(L, 3 * LUC_MAX_PARAMS);
  if (l->pair) {
    read_keyword(r, l->pair);
    lua_pushvalue(L, l->pair);
  } else {
    lua_pushnil(L);
  }
  while (lua_next(L, l->kw)) {
    int key_at = lua_gettop(L) - 1;
    bool stays = read_keyword(r, key_at) || lua_gettop(L) != key_at + 1;
    if (!stays && lua_type(L, key_at + 1) <= LUA_TNUMBER) {
      lua_pop(L, 1);
    } else {
      lua_pushvalue(L, key_at);
    }
  }
}

/* ---- the whole ---- */

/* A table is a set of keyword arguments when it has a string key; its array part, if any, continues
 * the positional arguments. Tables with a metatable are values. On true a pair of the table is left
 * on the stack, the first one if there is no array part. */
static bool is_keywords(lua_State *L, int index, int *array) {
  *array = (int)lua_rawlen(L, index);
  if (lua_getmetatable(L, index)) {
    lua_pop(L, 1);
    return false;
  }
  if (*array) {
    lua_pushinteger(L, *array); /* constructors put these before the others */
  } else {
    lua_pushnil(L);
  }
  if (!lua_next(L, index)) return false;
  if (lua_type(L, -2) == LUA_TSTRING) return true;
  lua_pop(L, 2);
  return false;
}

luc_l_layout luc_l_layout_of(lua_State *L, int first, int last) {
  layout l = {.n = last - first + 1, .first = first, .split = last - first + 1};
  int array;
  if (l.n <= 0 || lua_type(L, last) != LUA_TTABLE) return l;
  if (!is_keywords(L, last, &array)) {
    l.empty = !array && is_empty_table(L, last);
    return l;
  }
  l.kw = last;
  l.split = --l.n;
  if (!array) {
    l.pair = lua_gettop(L) - 1;
  } else {
    lua_pop(L, 2);
    luc_l_checkstack(L, array + LUA_MINSTACK);
    l.rest = lua_gettop(L) + 1;
    for (int i = 1; i <= array; i++) lua_rawgeti(L, last, i);
    l.n += array;
  }
  l.empty = l.n > 0 && is_empty_table(L, luc_l_position(&l, l.n - 1));
  return l;
}

/* How many positional arguments a schema sees: a trailing {} where no list of no items is expected
 * is keyword arguments, none of them. */
static inline int seen_by(const luc_l_sig *sig, const layout *l) {
  const luc_schema *schema = sig->schema;
  if (!l->empty) return l->n;
  if (l->n > schema->npositional) return l->n - 1;
  const luc_param *last = &schema->params[l->n - 1];
  return last->list < 0 || last->type == LUC_T_ANY ? l->n : l->n - 1;
}

void luc_l_read(lua_State *L, luc_l_state *st, const luc_l_sig *sig, const luc_l_layout *l,
                luc_l_args *args) {
  reader r = {L, st, sig, args};
  luc_l_args_begin(args);
  read_positional(&r, l, seen_by(sig, l));
  if (l->kw) read_keywords(&r, l);
  const uint32_t missing = sig->required & ~args->given;
  if (missing)
    luc_l_error(L, "%s: missing argument '%s'", sig->who,
                sig->schema->params[__builtin_ctz(missing)].name);
  luc_l_args_complete(sig, args);
}

void luc_l_parse(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int first, int last,
                 luc_l_args *args) {
  layout l = luc_l_layout_of(L, first, last);
  luc_l_read(L, st, sig, &l, args);
}

/* ---- overloads ---- */

static bool list_fits(lua_State *L, luc_l_state *st, const luc_param *param, int index) {
  if (!lua_rawlen(L, index)) return is_empty_table(L, index);
  lua_rawgeti(L, index, 1);
  bool tensors = param->type <= LUC_T_INDEX_TENSOR;
  bool fits =
      tensors ? luc_l_tobox(L, -1) || luc_l_isnone(L, st, -1) : lua_type(L, -1) == LUA_TNUMBER;
  lua_pop(L, 1);
  return fits;
}

static bool kind_fits(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int p, int index) {
  const luc_param *param = &sig->schema->params[p];
  int type = lua_type(L, index);
  if (type == LUA_TNIL) return param->has_default || param->optional;
  if (luc_l_isnone(L, st, index)) return param->optional;
  if (param->list && type == LUA_TTABLE) return list_fits(L, st, param, index);
  bool tensor = param->type <= LUC_T_OPERAND && luc_l_tobox(L, index);
  bool tensors_only = param->type <= LUC_T_INDEX_TENSOR;
  if (tensor || tensors_only) return tensor && (!param->list || sig->lenient);
  luc_l_args scratch;
  scratch.nints = scratch.nfloats = 0;
  reader r = {L, st, sig, &scratch};
  if (param->type == LUC_T_INDEX) return type == LUA_TNUMBER && lua_isinteger(L, index);
  if (param->type == LUC_T_PADDING && type == LUA_TSTRING) return true;
  return readers[param->type](&r, p, index);
}

/* How many leading positional arguments fit; all of them: l->n. *near: the next is at least a table
 * where a list belongs. */
static int positional_match(lua_State *L, luc_l_state *st, const luc_l_sig *sig, const layout *l,
                            uint32_t *given, bool *near) {
  const luc_schema *schema = sig->schema;
  reader r = {L, st, sig, NULL};
  const int n = seen_by(sig, l);
  *near = false;
  for (int i = 0; i < n; i++) {
    int at = luc_l_position(l, i);
    if (i >= schema->npositional) {
      if (may_follow(L, sig, at)) continue;
      return i;
    }
    if (takes_rest(&r, i, at)) { /* and a {} behind it, but a list of no items takes that better */
      *given |= 1u << i;
      while (i < l->n && lua_type(L, luc_l_position(l, i)) == lua_type(L, at)) i++;
      return i;
    }
    if (!kind_fits(L, st, sig, i, at)) {
      *near = schema->params[i].list && lua_type(L, at) == LUA_TTABLE;
      return i;
    }
    if (!lua_isnil(L, at)) *given |= 1u << i;
  }
  return l->n;
}

bool luc_l_takes(lua_State *L, const luc_l_sig *sig, const luc_l_layout *l) {
  const int most = sig->schema->npositional, n = seen_by(sig, l);
  if (!l->kw && n < LUC_MAX_PARAMS && sig->required >> n) return false; /* one is missing */
  if (n <= most || (most && sig->schema->params[most - 1].list < 0)) return true;
  return n == most + 1 && may_follow(L, sig, luc_l_position(l, most));
}

static bool is_extra(const luc_l_sig *sig, const char *key) {
  return (sig->takes_out && !strcmp(key, "out")) || (sig->takes_inplace && !strcmp(key, "inplace"));
}

static bool keywords_match(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int kw,
                           uint32_t *given) {
  lua_pushnil(L);
  while (lua_next(L, kw)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      const char *key = lua_tostring(L, -2);
      int p = find_key(sig, key);
      if (p < 0 && !is_extra(sig, key)) return false;
      if (p >= 0 && (*given >> p & 1 || !kind_fits(L, st, sig, p, lua_gettop(L)))) return false;
      if (p >= 0) *given |= 1u << p;
    }
    lua_pop(L, 1);
  }
  return true;
}

int luc_l_match(lua_State *L, luc_l_state *st, const luc_l_sig *sig, const luc_l_layout *l,
                bool keywords) {
  uint32_t given = 0;
  bool near;
  int fitting = positional_match(L, st, sig, l, &given, &near);
  bool fits = fitting == l->n;
  if (fits && keywords) {
    int top = lua_gettop(L);
    fits = (!l->kw || keywords_match(L, st, sig, l->kw, &given)) && !(sig->required & ~given);
    lua_settop(L, top);
  }
  return fits ? LUC_L_MATCH : 3 * fitting + near + (sig->schema->npositional >= l->n);
}

int luc_l_known_names(lua_State *L, const luc_l_sig *sig, const luc_l_layout *l) {
  int known = 0;
  for (lua_pushnil(L); lua_next(L, l->kw); lua_pop(L, 1))
    known += lua_type(L, -2) == LUA_TSTRING && find_key(sig, lua_tostring(L, -2)) >= 0;
  return known;
}

/* ---- signatures ---- */

void luc_l_sig_init(lua_State *L, luc_l_state *st, luc_l_sig *sig, const luc_schema *schema,
                    const char *who) {
  *sig = (luc_l_sig){.schema = schema, .who = who ? who : schema->name};
  sig->dim = (int8_t)luc__schema_find(schema, "dim");
  sig->weight = (int8_t)luc__schema_find(schema, "weight");
  sig->target = luc__schema_find(schema, "target") >= 0;
  luc_l_get(L, st, LUC_L_ANCHOR);
  for (int p = 0; p < schema->nparams; p++) {
    const luc_param *param = &schema->params[p];
    sig->keys[p] = lua_pushstring(L, param->name);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    sig->params |= 1u << p;
    if (param->list) sig->lists |= 1u << p;
    if (!param->has_default) sig->required |= 1u << p;
    if (param->type == LUC_T_INDEX_TENSOR) sig->index_mask |= 1u << p;
  }
  lua_pop(L, 1);
}
