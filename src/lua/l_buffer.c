/* Tensors in bulk: bytes of Lua strings and userdata as tensors, and tensors as bytes. The memory
 * of a userdata is used where it is: a lease keeps the userdata while a tensor sees it. */
#include <string.h>

#include "cpu/copy.h"
#include "l_args.h"
#include "lucerna/autograd.h"

/* ---- leases ---- */

/* A userdata whose user value is what it keeps alive. In the table LUC_L_LEASES, under its address,
 * until the core gives the memory back. */
typedef struct lease {
  luc_l_state *st;
} lease;

/* Pushes a lease on the value at index. */
static lease *new_lease(lua_State *L, luc_l_state *st, int index) {
  index = lua_absindex(L, index);
  luc_l_get(L, st, LUC_L_LEASES);
  lease *l = lua_newuserdatauv(L, sizeof *l, 1);
  l->st = st;
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, -3, l);
  lua_remove(L, -2);
  return l;
}

/* The core's luc_release_fn. Sets a key that exists, so it cannot raise. */
static void end_lease(void *ud, void *data) {
  lease *l = ud;
  luc_l_state *st = l->st;
  lua_State *L = st->main;
  (void)data;
  if (!st->ctx || !lua_checkstack(L, 2)) return;
  luc_l_get(L, st, LUC_L_LEASES);
  lua_pushnil(L);
  lua_rawsetp(L, -2, l);
  lua_pop(L, 1);
}

bool luc_l_is_leased(const luc_tensor *t) {
  return t->storage->kind == LUC_DATA_HOST && t->storage->release == end_lease;
}

/* ---- from bytes ---- */

/* Bytes of a userdata are memory and nothing else if it has no finalizer and does not hide its
 * metatable, as objects with pointers in them do. */
static bool is_plain_memory(lua_State *L, luc_l_state *st, int index) {
  return !luc_l_isnone(L, st, index) && luaL_getmetafield(L, index, "__gc") == LUA_TNIL &&
         luaL_getmetafield(L, index, "__close") == LUA_TNIL &&
         luaL_getmetafield(L, index, "__metatable") == LUA_TNIL;
}

typedef struct bytes {
  char *data;
  int64_t size; /* -1: unknown */
  bool copied;  /* a string's cannot be written to */
} bytes;

static bytes find_bytes(lua_State *L, luc_l_state *st, int index) {
  size_t size;
  if (lua_type(L, index) == LUA_TSTRING) {
    char *data = (char *)(uintptr_t)lua_tolstring(L, index, &size);
    return (bytes){data, (int64_t)size, true};
  }
  if (lua_islightuserdata(L, index)) return (bytes){lua_touserdata(L, index), -1, false};
  if (!lua_isuserdata(L, index) || !is_plain_memory(L, st, index))
    luc_l_error(L, "frombuffer: buffer must be a string, or userdata that is plain memory (got %s)",
                luc_l_given(L, index));
  return (bytes){lua_touserdata(L, index), (int64_t)lua_rawlen(L, index), false};
}

/* PyTorch's checks. Returns the number of elements. */
static int64_t count_elements(lua_State *L, int64_t size, int64_t item, int64_t count,
                              int64_t offset) {
  if (size <= 0 || count == 0)
    luc_l_error(L, "frombuffer: both buffer length (%I) and count (%I) must not be 0",
                (LUAI_UACINT)size, (LUAI_UACINT)count);
  if (offset < 0 || offset >= size)
    luc_l_error(L,
                "frombuffer: offset (%I bytes) must be non-negative and no greater than buffer "
                "length (%I bytes) minus 1",
                (LUAI_UACINT)offset, (LUAI_UACINT)size);
  int64_t rest = size - offset;
  if (count < 0 && rest % item)
    luc_l_error(L,
                "frombuffer: buffer length (%I bytes) after offset (%I bytes) must be a multiple "
                "of element size (%I)",
                (LUAI_UACINT)rest, (LUAI_UACINT)offset, (LUAI_UACINT)item);
  if (count > rest / item)
    luc_l_error(L,
                "frombuffer: requested buffer length (%I * %I bytes) after offset (%I bytes) must "
                "not be greater than actual buffer length (%I bytes)",
                (LUAI_UACINT)count, (LUAI_UACINT)item, (LUAI_UACINT)offset, (LUAI_UACINT)size);
  return count < 0 ? rest / item : count;
}

/* A light userdata says nothing about its size: length or count must. */
static int64_t size_of_light(lua_State *L, const luc_value *length, int64_t item, int64_t count,
                             int64_t offset) {
  int64_t size = 0;
  if (!luc_is_none(length)) return length->as.i;
  if (count < 0) luc_l_error(L, "frombuffer: a light userdata needs a length or a count");
  if (offset < 0) return 1;
  if (__builtin_mul_overflow(count, item, &size) || __builtin_add_overflow(size, offset, &size))
    luc_l_error(L, "frombuffer: count %I is larger than any memory", (LUAI_UACINT)count);
  return size;
}

enum { BUFFER, DTYPE, COUNT, OFFSET, LENGTH, REQUIRES_GRAD };

static luc_status make(lua_State *L, luc_l_state *st, int index, const bytes *from,
                       const luc_value *v, int64_t n, luc_tensor **out) {
  luc_dtype dtype = (luc_dtype)v[DTYPE].as.i;
  char *data = from->data + v[OFFSET].as.i;
  if (from->copied || dtype == LUC_BOOL) { /* kernels trust that a bool is 0 or 1 */
    LUC_TRY(luc_tensor_from(st->ctx, dtype, 1, &n, data, out));
    char *p = (*out)->data;
    for (int64_t i = 0; dtype == LUC_BOOL && i < n; i++) p[i] = p[i] != 0;
    return LUC_OK;
  }
  size_t align = luc__dtype_align(dtype);
  LUC_CHECK(st->ctx, (uintptr_t)data % align == 0, LUC_ERR_VALUE,
            "frombuffer: %s needs an address that is a multiple of %zu (offset %lld)",
            luc__dtype_name(dtype), align, (long long)v[OFFSET].as.i);
  lease *l = new_lease(L, st, index);
  luc_status status = luc_tensor_wrap(st->ctx, dtype, 1, &n, NULL, data, end_lease, l, out);
  lua_pop(L, 1);
  return status;
}

static int frombuffer(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_value *v = a->v;
  int index = (int)v[BUFFER].as.i;
  int64_t item = (int64_t)luc__dtype_size((luc_dtype)v[DTYPE].as.i);
  bytes from = find_bytes(L, st, index);
  if (from.size < 0)
    from.size = size_of_light(L, &v[LENGTH], item, v[COUNT].as.i, v[OFFSET].as.i);
  else if (!luc_is_none(&v[LENGTH]))
    return luc_l_error(L, "frombuffer: only a light userdata takes a length");
  if (!from.data) return luc_l_error(L, "frombuffer: buffer is a null pointer");
  int64_t n = count_elements(L, from.size, item, v[COUNT].as.i, v[OFFSET].as.i);
  luc_l_box *box = luc_l_newbox(L, st);
  luc_status status = make(L, st, index, &from, v, n, &box->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st))
    status = make(L, st, index, &from, v, n, &box->t);
  if (status == LUC_OK && v[REQUIRES_GRAD].as.i)
    status = luc_tensor_set_requires_grad(st->ctx, box->t, true);
  return luc_l_results(L, st, 1, status);
}

/* ---- to bytes ---- */

static int data_ptr(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "data_ptr", t);
  luc__expose(t);
  lua_pushinteger(L, (lua_Integer)(intptr_t)t->data);
  return 1;
}

/* A contiguous tensor's bytes become the string in one copy. */
static int push_raw(lua_State *L, luc_l_state *st, luc_tensor *t) {
  luc_l_need_shape(L, st, "tostring", t);
  luc_l_box *box = luc_l_newbox(L, st);
  luc_status status = LUC_OK;
  if (!luc__is_contiguous(t)) {
    status = luc__tensor_empty_like(st->ctx, t, t->dtype, &box->t);
    if (status == LUC_OK) status = luc__copy(st->ctx, box->t, t);
    t = box->t;
  }
  luc_l_check(L, st, status);
  lua_pushlstring(L, t->data, (size_t)t->numel * luc__dtype_size(t->dtype));
  luc_l_release_box(L, st, box);
  return 1;
}

static int tostring(lua_State *L, luc_l_state *st, luc_l_args *a) {
  if (luc_is_none(&a->v[1])) {
    luaL_tolstring(L, 1, NULL);
    return 1;
  }
  if (!strcmp(a->v[1].as.string, "raw")) return push_raw(L, st, a->v[0].as.tensor);
  return luc_l_error(L, "tostring: format must be 'raw' or nil (got '%s')", a->v[1].as.string);
}

static const luc_l_native natives[] = {
    {"frombuffer(Any buffer, *, dtype dtype, int count=-1, int offset=0, int? length=None, "
     "bool requires_grad=False) -> Tensor",
     frombuffer, LUC_F_FUNCTION},
    {"data_ptr(Tensor self) -> int", data_ptr, LUC_F_METHOD},
    {"tostring(Tensor self, str? format=None) -> str", tostring, LUC_F_METHOD},
};

void luc_l_open_buffer(lua_State *L, luc_l_state *st) {
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
