/* Inputs and targets of files. A function of Lua's that gets a file's bytes is called protected, so
 * that what it raises passes through the core as a failure. */
#include "l_files.h"

luc_status luc_l_open_input(lua_State *L, luc_context *ctx, const char *who, int index,
                            luc_input *out) {
  size_t n;
  if (lua_type(L, index) == LUA_TSTRING)
    return luc__input_open(ctx, who, lua_tostring(L, index), out);
  const char *bytes = lua_tolstring(L, index + 1, &n);
  *out = luc__input_memory(ctx, who, bytes, bytes ? n : 0);
  return LUC_OK;
}

luc_status luc_l_name_input(lua_State *L, luc_context *ctx, luc_status status, const char *who,
                            int index) {
  if (lua_type(L, index) == LUA_TSTRING)
    return luc__name_path(ctx, status, who, lua_tostring(L, index));
  if (status != LUC_OK) luc__io_one_line(ctx);
  return status;
}

typedef struct piece {
  const char *bytes;
  size_t n;
} piece;

/* f(piece) */
static int call_with_piece(lua_State *L) {
  const piece *p = lua_touserdata(L, 2);
  lua_settop(L, 1);
  lua_pushlstring(L, p->bytes, p->n);
  lua_call(L, 1, 0);
  return 0;
}

static luc_status write_piece(void *ud, const void *bytes, size_t n) {
  luc_l_sink *sink = ud;
  lua_State *L = sink->L;
  piece p = {bytes, n};
  if (!lua_checkstack(L, 8)) return luc__fail(sink->st->ctx, LUC_ERR_MEMORY, "out of Lua stack");
  lua_pushcfunction(L, call_with_piece);
  lua_pushvalue(L, sink->function);
  lua_pushlightuserdata(L, &p);
  if (lua_pcall(L, 2, 0, 0) == LUA_OK) return LUC_OK;
  return luc_l_keep_error(L, sink->st);
}

luc_target luc_l_target(lua_State *L, luc_l_state *st, int index, luc_l_sink *sink) {
  if (lua_type(L, index) == LUA_TSTRING) return (luc_target){.path = lua_tostring(L, index)};
  luaL_checkany(L, index);
  *sink = (luc_l_sink){L, st, index};
  return (luc_target){.write = write_piece, .ud = sink};
}
