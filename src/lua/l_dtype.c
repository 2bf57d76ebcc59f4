/* dtypes as Lua values: one object each, printed as "float32", compared by identity; and what is
 * known of them. Devices are strings. */
#include <string.h>

#include "l_args.h"
#include "ops/pointwise.h"

static int dtype_tostring(lua_State *L) {
  luc_dtype dtype;
  if (!luc_l_todtype(L, 1, &dtype)) return luc_l_error(L, "tostring: expected a dtype");
  lua_pushstring(L, luc__dtype_name(dtype));
  return 1;
}

static int dtype_index(lua_State *L) {
  luc_dtype dtype;
  if (!luc_l_todtype(L, 1, &dtype) || lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  if (!strcmp(key, "itemsize")) {
    lua_pushinteger(L, (lua_Integer)luc__dtype_size(dtype));
  } else if (!strcmp(key, "is_floating_point")) {
    lua_pushboolean(L, luc__dtype_is_float(dtype));
  } else if (!strcmp(key, "is_complex")) {
    lua_pushboolean(L, luc__dtype_is_complex(dtype));
  } else if (!strcmp(key, "is_signed")) {
    lua_pushboolean(L, luc__dtype_is_signed(dtype));
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* PyTorch's other names. */
static const struct {
  const char *name;
  luc_dtype dtype;
} aliases[] = {{"float", LUC_FLOAT32},    {"double", LUC_FLOAT64},    {"half", LUC_FLOAT16},
               {"short", LUC_INT16},      {"int", LUC_INT32},         {"long", LUC_INT64},
               {"cfloat", LUC_COMPLEX64}, {"cdouble", LUC_COMPLEX128}};

static void make_dtypes(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_CORE);
  for (int d = 0; d < LUC_NUM_DTYPES; d++) {
    luc_l_dtype *object = lua_newuserdatauv(L, sizeof *object, 0);
    *object = (luc_l_dtype){LUC_L_MAGIC_DTYPE, (luc_dtype)d};
    lua_pushvalue(L, -3);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, luc__dtype_name((luc_dtype)d));
    lua_rawsetp(L, LUA_REGISTRYINDEX, &st->dtypes[d]);
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    luc_l_pushdtype(L, st, aliases[i].dtype);
    lua_setfield(L, -2, aliases[i].name);
  }
  lua_pop(L, 1);
}

/* ---- functions ---- */

static int promote_types(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_dtype x = (luc_dtype)a->v[0].as.i, y = (luc_dtype)a->v[1].as.i;
  luc_dtype r = luc__dtype_promote(x, y), stored = luc__dtype_is_stored(x) ? x : y;
  if (x != y && luc__dtype_is_stored(stored))
    return luc_l_error(L, "promote_types: promotion of %s, which is only stored, is not supported",
                       luc__dtype_name(stored));
  luc_l_pushdtype(L, st, r);
  return 1;
}

static int can_cast(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_can_cast((luc_dtype)a->v[0].as.i, (luc_dtype)a->v[1].as.i));
  return 1;
}

static int result_type(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_pushdtype(L, st, luc__result_dtype(st->ctx, a->v, 2));
  return 1;
}

static int get_default_dtype(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  luc_l_pushdtype(L, st, st->ctx->default_dtype);
  return 1;
}

static int set_default_dtype(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_dtype dtype = (luc_dtype)a->v[0].as.i;
  if (!luc__dtype_is_float(dtype) || luc__dtype_is_stored(dtype))
    return luc_l_error(L,
                       "set_default_dtype: only floating point dtypes can be the default (got %s)",
                       luc__dtype_name(dtype));
  st->ctx->default_dtype = (uint8_t)dtype;
  return 0;
}

static const luc_l_native natives[] = {
    {"promote_types(dtype type1, dtype type2) -> dtype", promote_types, LUC_F_FUNCTION},
    {"result_type(Operand tensor1, Operand tensor2) -> dtype", result_type,
     LUC_F_FUNCTION | LUC_F_BATCHED},
    {"can_cast(dtype from_, dtype to) -> bool", can_cast, LUC_F_FUNCTION},
    {"get_default_dtype() -> dtype", get_default_dtype, LUC_F_FUNCTION},
    {"set_default_dtype(dtype d)", set_default_dtype, LUC_F_FUNCTION},
};

static int none_tostring(lua_State *L) {
  lua_pushliteral(L, "none");
  return 1;
}

/* lucerna.none: Python's None where nil cannot stand. */
static void make_none(lua_State *L, luc_l_state *st) {
  luc_l_get(L, st, LUC_L_CORE);
  st->none = lua_newuserdatauv(L, 1, 0);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "none");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, none_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_NONE]);
  lua_setfield(L, -2, "none");
  lua_pop(L, 1);
}

void luc_l_open_dtypes(lua_State *L, luc_l_state *st) {
  make_none(L, st);
  lua_createtable(L, 0, 4);
  lua_pushliteral(L, "dtype");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "dtype");
  lua_setfield(L, -2, "__metatable");
  lua_pushcfunction(L, dtype_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, dtype_index);
  lua_setfield(L, -2, "__index");
  make_dtypes(L, st);
  lua_pop(L, 1);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
