/* Methods that change what memory a tensor sees (resize_, set_, detach_), that ask about it, and
 * that pass its elements through a Lua function. */
#include "l_args.h"
#include "lucerna/autograd.h"
#include "ops/geometry.h"

static int returned_self(lua_State *L, luc_l_state *st, luc_status status) {
  luc_l_check(L, st, status);
  lua_pushvalue(L, 1);
  return 1;
}

/* ---- other memory ---- */

static luc_status resize(luc_context *ctx, luc_tensor *t, int n, const int64_t *sizes) {
  luc_status status = luc__check_sizes(ctx, n, sizes);
  if (status != LUC_OK) return luc__failed_as(ctx, status, "resize_");
  LUC_CHECK(ctx, !luc_tensor_requires_grad(t), LUC_ERR_STATE,
            "resize_: cannot resize variables that require grad");
  return luc__tensor_resize(ctx, t, n, sizes);
}

static int resize_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "resize_", t);
  return returned_self(L, st, resize(st->ctx, t, a->v[1].n, a->v[1].as.ints));
}

static int resize_as_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_tensor *other = a->v[1].as.tensor;
  luc_l_need_shape(L, st, "resize_as_", a->v[0].as.tensor);
  luc_l_need_shape(L, st, "resize_as_", other);
  return returned_self(L, st, resize(st->ctx, a->v[0].as.tensor, other->ndim, other->sizes));
}

/* Without a source: no elements. */
static luc_status set_memory(luc_context *ctx, luc_tensor *t, luc_tensor *source) {
  luc_tensor *empty = NULL;
  int64_t none = 0;
  LUC_CHECK(ctx, !luc_tensor_requires_grad(t), LUC_ERR_STATE,
            "set_: a Variable that requires grad is being used in an in-place operation.");
  LUC_CHECK(ctx, !source || source->dtype == t->dtype, LUC_ERR_TYPE,
            "set_: source must be of dtype %s (got %s)", luc__dtype_name(t->dtype),
            luc__dtype_name(source->dtype));
  if (!source) LUC_TRY(luc__tensor_empty(ctx, t->dtype, 1, &none, &empty));
  luc_status status = luc__tensor_set_data(ctx, t, source ? source : empty);
  luc_tensor_release(ctx, empty);
  return status;
}

static int set_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor, *source = luc_as_tensor(&a->v[1]);
  luc_l_need_shape(L, st, "set_", t);
  if (source) luc_l_need_shape(L, st, "set_", source);
  return returned_self(L, st, set_memory(st->ctx, t, source));
}

static int detach_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return returned_self(L, st, luc_tensor_detach_(st->ctx, a->v[0].as.tensor));
}

static int is_pinned(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushboolean(L, false);
  return 1;
}

static int pin_memory(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  return luc_l_error(L, "pin_memory: Cannot access accelerator device when none is available.");
}

/* There is no operator on a GPU yet: the error of x:to('cuda'). */
static int cuda(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_value device = luc_is_none(&a->v[1]) ? luc_v_string("cuda") : a->v[1];
  luc_l_check(L, st, luc__failed_as(st->ctx, luc__check_device(st->ctx, &device), "cuda"));
  return luc_l_error(L, "cuda: Invalid device, must be cuda device");
}

/* "torch.FloatTensor": the name that PyTorch gives a dtype on the CPU. */
static int type(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushfstring(L, "torch.%sTensor", luc__dtype_title(a->v[0].as.tensor->dtype));
  return 1;
}

/* ---- elements through a function ---- */

/* Pushes a box with a contiguous copy of t in the sizes of `like`. */
static luc_l_box *push_copy(lua_State *L, luc_l_state *st, const char *who, luc_tensor *t,
                            const luc_tensor *like) {
  luc_l_box *box = luc_l_newbox(L, st);
  luc_tensor *wide = NULL;
  luc_status status = LUC_OK;
  if (t != like) status = luc__expand(st->ctx, t, like->ndim, like->sizes, &wide);
  if (status == LUC_OK) status = luc__duplicate(st->ctx, wide ? wide : t, &box->t);
  if (wide) luc_tensor_release(st->ctx, wide);
  luc_l_check(L, st, luc__failed_as(st->ctx, status, who));
  return box;
}

static luc_scalar check_result(lua_State *L, luc_l_state *st, const char *who, luc_dtype dtype) {
  luc_scalar s;
  if (!luc_l_toscalar(L, -1, &s))
    luc_l_error(L, "%s: callable must return a number or boolean (got %s)", who,
                luc_l_given(L, -1));
  luc_l_check(L, st, luc__failed_as(st->ctx, luc__check_scalar(st->ctx, s, dtype), who));
  return s;
}

static void push_element(lua_State *L, const luc_tensor *t, int64_t i) {
  const luc_dtype dtype = t->dtype;
  luc_l_pushscalar(L, luc__load_scalar(t->data + i * (int64_t)luc__dtype_size(dtype), dtype));
}

/* The elements of `self` (and of other) through the function, then written: an error in between
 * changes nothing. */
static int through(lua_State *L, luc_l_state *st, const char *who, luc_tensor *other, int fn) {
  luc_tensor *self = luc_l_checktensor(L, 1, who, "self");
  if (luc_tensor_requires_grad(self))
    return luc_l_error(L,
                       "%s: Can't call %s() on Variable that requires grad. Use "
                       "x:detach():%s(...) instead.",
                       who, who, who);
  luc_l_need_shape(L, st, who, self);
  if (luc__dtype_is_complex(self->dtype) || (other && luc__dtype_is_complex(other->dtype)))
    return luc_l_error(L, "%s: not implemented for complex tensors", who);
  luc_l_box *own = push_copy(L, st, who, self, self);
  luc_l_box *given = other ? push_copy(L, st, who, other, self) : NULL;
  luc_tensor *values = own->t;
  luc_dtype dtype = values->dtype;
  int64_t width = (int64_t)luc__dtype_size(dtype);
  for (int64_t i = 0; i < values->numel; i++) {
    lua_pushvalue(L, fn);
    push_element(L, values, i);
    if (given) push_element(L, given->t, i);
    lua_call(L, given ? 2 : 1, 1);
    luc__store_scalar(values->data + i * width, dtype, check_result(L, st, who, dtype));
    lua_pop(L, 1);
  }
  self = luc_l_checktensor(L, 1, who, "self"); /* the function may have released it */
  luc_status status =
      luc_call_inplace(st->ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(self), luc_v_tensor(values)));
  luc_l_release_box(L, st, own);
  if (given) luc_l_release_box(L, st, given);
  return returned_self(L, st, status);
}

static int apply_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return through(L, st, "apply_", NULL, luc_l_check_function(L, "apply_", "callable", &a->v[1]));
}

static int map_(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return through(L, st, "map_", a->v[1].as.tensor,
                 luc_l_check_function(L, "map_", "callable", &a->v[2]));
}

static const luc_l_native natives[] = {
    {"resize_(Tensor self, Size size) -> Tensor", resize_, LUC_F_METHOD},
    {"resize_as_(Tensor self, Tensor other) -> Tensor", resize_as_, LUC_F_METHOD},
    {"set_(Tensor self, Tensor? source=None) -> Tensor", set_, LUC_F_METHOD},
    {"detach_(Tensor self) -> Tensor", detach_, LUC_F_METHOD},
    {"is_pinned(Tensor self) -> bool", is_pinned, LUC_F_METHOD},
    {"pin_memory(Tensor self) -> Tensor", pin_memory, LUC_F_METHOD},
    {"cuda(Tensor self, device? device=None, bool non_blocking=False) -> Tensor", cuda,
     LUC_F_METHOD},
    {"type(Tensor self) -> str", type, LUC_F_METHOD},
    {"apply_(Tensor self, Any callable) -> Tensor", apply_, LUC_F_METHOD},
    {"map_(Tensor self, Tensor tensor, Any callable) -> Tensor", map_, LUC_F_METHOD},
};

void luc_l_open_memory(lua_State *L, luc_l_state *st) {
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
