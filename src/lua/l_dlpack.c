/* DLPack in Lua. What a tensor exports is a capsule: a userdata named "dltensor" (or
 * "dltensor_versioned") whose block is one pointer, to the DLManagedTensor. Who takes the tensor
 * sets the pointer to NULL; a capsule that nobody took deletes it when it is collected. */
#include <string.h>

#include "l_args.h"
#include "lucerna/dlpack.h"
#include "ops/geometry.h"

/* ---- capsules ---- */

static void **new_capsule(lua_State *L, luc_l_state *st, bool versioned) {
  void **capsule = lua_newuserdatauv(L, sizeof *capsule, 0);
  *capsule = NULL;
  luc_l_set_meta(L, st, versioned ? LUC_L_DLPACK_VERSIONED_META : LUC_L_DLPACK_META);
  return capsule;
}

static int plain_gc(lua_State *L) {
  DLManagedTensor **capsule = luc_l_userdata(L, 1, sizeof *capsule), *held = NULL;
  if (capsule) held = *capsule;
  if (held) *capsule = NULL;
  if (held && held->deleter) held->deleter(held);
  return 0;
}

static int versioned_gc(lua_State *L) {
  DLManagedTensorVersioned **capsule = luc_l_userdata(L, 1, sizeof *capsule), *held = NULL;
  if (capsule) held = *capsule;
  if (held) *capsule = NULL;
  if (held && held->deleter) held->deleter(held);
  return 0;
}

/* The capsule at index, also one of another library's; NULL if it is none. */
static void **to_capsule(lua_State *L, int index, bool *versioned) {
  if (lua_type(L, index) != LUA_TUSERDATA || lua_rawlen(L, index) != sizeof(void *)) return NULL;
  if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) return NULL;
  const char *name = lua_tostring(L, -1);
  *versioned = !strcmp(name, "dltensor_versioned");
  bool capsule = *versioned || !strcmp(name, "dltensor");
  lua_pop(L, 1);
  return capsule ? lua_touserdata(L, index) : NULL;
}

/* ---- export ---- */

static luc_copy copy_of(const luc_value *v) {
  if (luc_is_none(v)) return LUC_COPY_IF_NEEDED;
  return v->as.i ? LUC_COPY_ALWAYS : LUC_COPY_NEVER;
}

/* Memory of the Lua state's own is copied: what is exported may outlive the state. */
static luc_status export(luc_l_state *st, luc_tensor *t, luc_copy copy, bool versioned,
                         void **capsule) {
  bool leased = luc_l_is_leased(t);
  LUC_CHECK(st->ctx, !leased || copy != LUC_COPY_NEVER, LUC_ERR_VALUE,
            "to_dlpack: the memory of a userdata cannot be exported without a copy");
  luc_tensor *seen = luc__retain(t);
  luc_status status = LUC_OK;
  DLManagedTensorVersioned *with_version = NULL;
  DLManagedTensor *plain = NULL;
  if (leased || copy == LUC_COPY_ALWAYS) {
    luc_tensor_release(st->ctx, seen);
    seen = NULL;
    LUC_GO(luc__op1(st->ctx, LUC_OP_clone, &seen, LUC_ARGS(luc_v_tensor(t))));
  }
  if (versioned) {
    LUC_GO(luc_tensor_to_dlpack_versioned(st->ctx, seen, &with_version));
    if (seen != t) with_version->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    *capsule = with_version;
  } else {
    LUC_GO(luc_tensor_to_dlpack(st->ctx, seen, &plain));
    *capsule = plain;
  }
done:
  luc_tensor_release(st->ctx, seen);
  return status;
}

static int push_export(lua_State *L, luc_l_state *st, luc_tensor *t, luc_copy copy,
                       bool versioned) {
  void **capsule = new_capsule(L, st, versioned);
  luc_status status = export(st, t, copy, versioned, capsule);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st))
    status = export(st, t, copy, versioned, capsule);
  return luc_l_results(L, st, 1, status);
}

static int to_dlpack(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return push_export(L, st, a->v[0].as.tensor, LUC_COPY_IF_NEEDED, false);
}

/* As the protocol says: a consumer names the newest version it knows, or knows none. */
static int dlpack(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_value *most = &a->v[2], *copy = &a->v[4];
  bool versioned = !luc_is_none(most) && most->as.ints[0] >= DLPACK_MAJOR_VERSION;
  return push_export(L, st, a->v[0].as.tensor, copy_of(copy), versioned);
}

static int dlpack_device(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushinteger(L, kDLCPU);
  lua_pushinteger(L, 0);
  return 2;
}

/* ---- import ---- */

static luc_status import(luc_l_state *st, void *from, bool versioned, luc_copy copy,
                         luc_tensor **out) {
  return versioned ? luc_tensor_from_dlpack_versioned(st->ctx, from, copy, out)
                   : luc_tensor_from_dlpack(st->ctx, from, copy, out);
}

/* Replaces the value at index by the capsule that its method __dlpack__ gives. */
static void ask(lua_State *L, int index) {
  bool has = luc_l_tobox(L, index) || lua_type(L, index) == LUA_TTABLE ||
             luaL_getmetafield(L, index, "__index") != LUA_TNIL;
  if (!has || lua_getfield(L, index, "__dlpack__") == LUA_TNIL)
    luc_l_error(L, "from_dlpack: expected a capsule or what has a method __dlpack__ (got %s)",
                luc_l_given(L, index));
  lua_pushvalue(L, index);
  lua_createtable(L, 0, 1);
  luc_l_pushsizes(L, 2, (const int64_t[]){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION});
  lua_setfield(L, -2, "max_version");
  lua_call(L, 2, 1);
  lua_replace(L, index);
}

/* *where: the pointer to clear when it was taken, or NULL. */
static void *find_managed(lua_State *L, luc_value *v, bool *versioned, void ***where) {
  int index = (int)v[0].as.i;
  *where = NULL;
  if (lua_islightuserdata(L, index)) {
    *versioned = v[3].as.i;
    if (!lua_touserdata(L, index)) luc_l_error(L, "from_dlpack: a null pointer");
    return lua_touserdata(L, index);
  }
  void **capsule = to_capsule(L, index, versioned);
  if (!capsule) {
    ask(L, index);
    capsule = to_capsule(L, index, versioned);
    if (!capsule)
      luc_l_error(L, "from_dlpack: __dlpack__ must give a capsule (got %s)", luc_l_given(L, index));
  }
  if (!*capsule)
    luc_l_error(L, "from_dlpack: the capsule was taken already (a capsule can be taken once)");
  *where = capsule;
  return *capsule;
}

static int from_dlpack(lua_State *L, luc_l_state *st, luc_l_args *a) {
  bool versioned = false;
  void **where;
  luc_status status = luc__check_device(st->ctx, &a->v[1]);
  luc_l_check(L, st, luc__failed_as(st->ctx, status, "from_dlpack"));
  void *from = find_managed(L, a->v, &versioned, &where);
  luc_copy copy = copy_of(&a->v[2]);
  luc_l_box *box = luc_l_newbox(L, st);
  status = import(st, from, versioned, copy, &box->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st))
    status = import(st, from, versioned, copy, &box->t);
  luc_l_check(L, st, status);
  if (where) *where = NULL;
  return 1;
}

static const luc_l_native natives[] = {
    {"to_dlpack(Tensor tensor) -> Any", to_dlpack, LUC_F_FUNCTION},
    {"from_dlpack(Any ext_tensor, *, device? device=None, bool? copy=None, bool versioned=False) "
     "-> Tensor",
     from_dlpack, LUC_F_FUNCTION},
    {"__dlpack__(Tensor self, *, int? stream=None, int[2]? max_version=None, "
     "device? dl_device=None, bool? copy=None)",
     dlpack, LUC_F_METHOD},
    {"__dlpack_device__(Tensor self)", dlpack_device, LUC_F_METHOD},
};

void luc_l_open_dlpack(lua_State *L, luc_l_state *st) {
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
  luc_l_make_gc_meta(L, st, LUC_L_DLPACK_META, "dltensor", plain_gc);
  luc_l_make_gc_meta(L, st, LUC_L_DLPACK_VERSIONED_META, "dltensor_versioned", versioned_gc);
}
