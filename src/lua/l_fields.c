/* A tensor's fields (x.shape, x.grad = y) and its __index, which gives methods, fields and, through
 * l_index.c, elements. Methods and fields share one table: a field is a light userdata in it. */
#include "l_index.h"
#include "lucerna/autograd.h"

typedef struct field {
  const char *name;
  int (*get)(lua_State *L, luc_l_state *st, luc_tensor *t);
  void (*set)(lua_State *L, luc_l_state *st, luc_tensor *t, int value); /* NULL: read only */
} field;

/* Upvalues of the metamethods: methods and fields, the state; of __index also the dtypes' objects,
 * in their order. */
enum { FIELDS = lua_upvalueindex(1), STATE = lua_upvalueindex(2), FIRST_DTYPE = 3 };

/* ---- reading, in __index; the tensor is at 1 ---- */

static int get_shape(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (luc_tensor_is_uninitialized(t))
    return luc_l_raise(L, st, luc__fail_shapeless(st->ctx, "shape"));
  luc_l_pushsizes(L, t->ndim, t->sizes);
  return 1;
}

static int get_dtype(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushvalue(L, lua_upvalueindex(FIRST_DTYPE + (int)t->dtype));
  return 1;
}

static int get_device(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st, (void)t;
  lua_pushliteral(L, "cpu");
  return 1;
}

/* What is_cpu, is_cuda and their kin say: every tensor is dense, on the CPU. */
static int get_true(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st, (void)t;
  lua_pushboolean(L, true);
  return 1;
}

static int get_false(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st, (void)t;
  lua_pushboolean(L, false);
  return 1;
}

static int get_ndim(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (luc_tensor_is_uninitialized(t))
    return luc_l_raise(L, st, luc__fail_shapeless(st->ctx, "ndim"));
  lua_pushinteger(L, t->ndim);
  return 1;
}

static int get_itemsize(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushinteger(L, (lua_Integer)luc__dtype_size(t->dtype));
  return 1;
}

static int get_nbytes(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushinteger(L, (lua_Integer)luc__dtype_size(t->dtype) * t->numel);
  return 1;
}

static int get_requires_grad(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushboolean(L, luc_tensor_requires_grad(t));
  return 1;
}

static int get_is_leaf(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushboolean(L, luc_tensor_is_leaf(t));
  return 1;
}

/* Which result of its grad_fn the tensor is. */
static int get_output_nr(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushinteger(L, (lua_Integer)luc_tensor_output_nr(t) + 1);
  return 1;
}

static int get_retains_grad(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  lua_pushboolean(L, luc_tensor_retains_grad(t));
  return 1;
}

/* All tensors are: their elements lie apart by strides. */
static int get_layout(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st, (void)t;
  lua_pushliteral(L, "strided");
  return 1;
}

static int get_grad(lua_State *L, luc_l_state *st, luc_tensor *t) {
  luc_l_pushtensor(L, st, luc_tensor_grad(t));
  return 1;
}

/* The same memory outside the graph; writes through it are not tracked. */
static int get_data(lua_State *L, luc_l_state *st, luc_tensor *t) {
  luc_l_box *box = luc_l_newbox(L, st);
  luc_tensor *alias;
  luc_l_check(L, st, luc__tensor_alias(st->ctx, t, &alias));
  alias->flags |= LUC_TF_UNTRACKED;
  luc__expose(alias);
  box->t = alias;
  return 1;
}

static int get_version(lua_State *L, luc_l_state *st, luc_tensor *t) {
  (void)st;
  if ((t->flags & (LUC_TF_INFERENCE | LUC_TF_UNTRACKED)) == LUC_TF_INFERENCE)
    return luc_l_error(L, "_version: Inference tensors do not track version counter.");
  lua_pushinteger(L, t->storage->version);
  return 1;
}

/* Calls x:name(…) with the n numbers. */
static int call_method(lua_State *L, luc_l_state *st, const char *name, int n, const int *numbers) {
  luc_l_get(L, st, LUC_L_METHODS);
  lua_getfield(L, -1, name);
  lua_pushvalue(L, 1);
  for (int i = 0; i < n; i++) lua_pushinteger(L, numbers[i]);
  lua_call(L, n + 1, 1);
  return 1;
}

static int get_T(lua_State *L, luc_l_state *st, luc_tensor *t) {
  int order[LUC_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) order[d] = t->ndim - d;
  if (t->ndim) return call_method(L, st, "permute", t->ndim, order);
  lua_pushvalue(L, 1);
  return 1;
}

static int get_mT(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (t->ndim < 2) return luc_l_error(L, "mT: needs at least 2 dimensions (got %d)", t->ndim);
  return call_method(L, st, "transpose", 2, (const int[]){-2, -1});
}

static int get_H(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (t->ndim == 0) return call_method(L, st, "conj", 0, NULL);
  if (t->ndim != 2)
    return luc_l_error(L, "H: only supported on matrices (2-D tensors). Got %d-D tensor.", t->ndim);
  return call_method(L, st, "adjoint", 0, NULL);
}

static int get_mH(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (t->ndim < 2) return luc_l_error(L, "mH: needs at least 2 dimensions (got %d)", t->ndim);
  return call_method(L, st, "adjoint", 0, NULL);
}

static int call_part(lua_State *L, luc_l_state *st, luc_opid op, luc_tensor *t) {
  luc_l_box *box = luc_l_newbox(L, st);
  return luc_l_results(L, st, 1, luc__unary(st->ctx, op, t, &box->t));
}

static int get_real(lua_State *L, luc_l_state *st, luc_tensor *t) {
  return call_part(L, st, LUC_OP_real, t);
}

static int get_imag(lua_State *L, luc_l_state *st, luc_tensor *t) {
  return call_part(L, st, LUC_OP_imag, t);
}

/* ---- assigning; the value is at 3 ---- */

static void set_requires_grad(lua_State *L, luc_l_state *st, luc_tensor *t, int value) {
  if (lua_type(L, value) != LUA_TBOOLEAN)
    luc_l_error(L, "requires_grad must be a boolean (got %s)", luaL_typename(L, value));
  luc_l_check(L, st, luc_tensor_set_requires_grad(st->ctx, t, lua_toboolean(L, value)));
}

static void set_grad(lua_State *L, luc_l_state *st, luc_tensor *t, int value) {
  luc_tensor *grad = luc_l_totensor(L, value);
  if (grad)
    luc_l_setpeer(L, st, value);
  else if (!lua_isnil(L, value) && !luc_l_isnone(L, st, value))
    luc_l_checktensor(L, value, "grad", "value"); /* raises */
  luc_l_check(L, st, luc_tensor_set_grad(st->ctx, t, grad));
}

static void set_data(lua_State *L, luc_l_state *st, luc_tensor *t, int value) {
  luc_tensor *data = luc_l_checktensor(L, value, "data", "value");
  if (t->requires_grad && !luc__dtype_has_gradient(data->dtype))
    luc_l_error(L, "data set to a tensor that requires gradients must be floating point or "
                   "complex dtype");
  luc_l_check(L, st, luc__tensor_set_data(st->ctx, t, data));
}

/* x.real = y writes the part, as copy_ does. */
static void set_part(lua_State *L, luc_l_state *st, luc_opid op, luc_tensor *t, int value) {
  call_part(L, st, op, t);
  luc_l_get(L, st, LUC_L_METHODS);
  lua_getfield(L, -1, lua_type(L, value) == LUA_TNUMBER ? "fill_" : "copy_");
  lua_pushvalue(L, -3);
  lua_pushvalue(L, value);
  lua_call(L, 2, 0);
}

static void set_real(lua_State *L, luc_l_state *st, luc_tensor *t, int value) {
  set_part(L, st, LUC_OP_real, t, value);
}

static void set_imag(lua_State *L, luc_l_state *st, luc_tensor *t, int value) {
  set_part(L, st, LUC_OP_imag, t, value);
}

static const field fields[] = {
    {"shape", get_shape, NULL},
    {"dtype", get_dtype, NULL},
    {"device", get_device, NULL},
    {"is_cpu", get_true, NULL},
    {"is_cuda", get_false, NULL},
    {"is_meta", get_false, NULL},
    {"is_sparse", get_false, NULL},
    {"is_quantized", get_false, NULL},
    {"ndim", get_ndim, NULL},
    {"itemsize", get_itemsize, NULL},
    {"nbytes", get_nbytes, NULL},
    {"requires_grad", get_requires_grad, set_requires_grad},
    {"is_leaf", get_is_leaf, NULL},
    {"grad_fn", luc_l_push_grad_fn, NULL},
    {"output_nr", get_output_nr, NULL},
    {"retains_grad", get_retains_grad, NULL},
    {"layout", get_layout, NULL},
    {"grad", get_grad, set_grad},
    {"data", get_data, set_data},
    {"_version", get_version, NULL},
    {"T", get_T, NULL},
    {"mT", get_mT, NULL},
    {"H", get_H, NULL},
    {"mH", get_mH, NULL},
    {"real", get_real, set_real},
    {"imag", get_imag, set_imag},
};

/* ---- metamethods ---- */

/* The state, if the box may be used. */
static luc_l_state *check_alive(lua_State *L, const luc_l_box *box) {
  luc_l_state *st = lua_touserdata(L, STATE);
  if (!box->t) luc_l_error(L, "the tensor was released");
  luc_l_context(L, st);
  return st;
}

static int tensor_index(lua_State *L) {
  bool named = lua_type(L, 2) == LUA_TSTRING;
  if (named && lua_rawget(L, FIELDS) != LUA_TLIGHTUSERDATA) return 1; /* a method */
  luc_l_box *box = luc_l_tobox(L, 1);
  if (!box) return luc_l_error(L, "index: expected a Tensor (got %s)", luaL_typename(L, 1));
  luc_l_state *st = check_alive(L, box);
  if (!named) return luc_l_index_get(L, st, box->t);
  const field *f = lua_touserdata(L, -1);
  return f->get(L, st, box->t);
}

static int tensor_newindex(lua_State *L) {
  luc_l_box *box = luc_l_tobox(L, 1);
  if (!box) return luc_l_error(L, "index: expected a Tensor (got %s)", luaL_typename(L, 1));
  luc_l_state *st = check_alive(L, box);
  if (lua_type(L, 2) != LUA_TSTRING) return luc_l_index_set(L, st, box->t);
  lua_pushvalue(L, 2);
  bool known = lua_rawget(L, FIELDS) == LUA_TLIGHTUSERDATA;
  const field *f = known ? lua_touserdata(L, -1) : NULL;
  if (!f || !f->set)
    return luc_l_error(L, "a Tensor's field '%s' cannot be assigned", lua_tostring(L, 2));
  f->set(L, st, box->t, 3);
  return 0;
}

void luc_l_open_fields(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_TENSOR_META);
  luc_l_get(L, st, LUC_L_METHODS);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    lua_pushlightuserdata(L, (void *)&fields[i]);
    lua_setfield(L, -2, fields[i].name);
  }
  lua_pushvalue(L, -1);
  lua_pushlightuserdata(L, st);
  luc_l_checkstack(L, LUC_NUM_DTYPES);
  for (int d = 0; d < LUC_NUM_DTYPES; d++) luc_l_pushdtype(L, st, (luc_dtype)d);
  lua_pushcclosure(L, tensor_index, FIRST_DTYPE - 1 + LUC_NUM_DTYPES);
  lua_setfield(L, -3, "__index");
  lua_pushlightuserdata(L, st);
  lua_pushcclosure(L, tensor_newindex, 2);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
}
