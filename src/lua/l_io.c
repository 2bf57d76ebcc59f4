/* Files for Lua: idx_load, write_png, and safetensors' load_file and save_file. The work is the
 * core's; here tables become arrays of names and tensors and back. */
#include <unistd.h>

#include "l_args.h"
#include "l_files.h"
#include "lucerna/io.h"

static int idx_load(lua_State *L, luc_l_state *st, luc_l_args *args) {
  luc_l_box *box = luc_l_newbox(L, st);
  luc_status status = luc_idx_load(st->ctx, args->v[0].as.string, &box->t);
  return status == LUC_OK ? 1 : luc_l_raise(L, st, status);
}

static int write_png(lua_State *L, luc_l_state *st, luc_l_args *args) {
  luc_status status = luc_png_save(st->ctx, args->v[1].as.string, args->v[0].as.tensor);
  return status == LUC_OK ? 0 : luc_l_raise(L, st, status);
}

/* core._write_bytes(who, bytes, path or function) */
static int write_bytes(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  size_t n;
  luc_target to = luc_l_target(L, st, 3, &sink);
  const char *bytes = luaL_checklstring(L, 2, &n);
  luc_status status = luc__write_bytes(ctx, luaL_checkstring(L, 1), &to, bytes, n);
  return status == LUC_OK ? 0 : luc_l_raise(L, st, status);
}

/* core._exists(path) */
static int file_exists(lua_State *L) {
  lua_pushboolean(L, access(luaL_checkstring(L, 1), F_OK) == 0);
  return 1;
}

/* Is the file descriptor a terminal? For what draws itself only there. */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

void luc_l_open_io(lua_State *L, luc_l_state *st) {
  static const luc_l_native natives[] = {
      {"idx_load(str path) -> Tensor", idx_load, LUC_F_FUNCTION},
      {"_write_png(Tensor input, str filename)", write_png, LUC_F_FUNCTION},
  };
  static const luaL_Reg functions[] = {{"_isatty", is_terminal},
                                       {"_exists", file_exists},
                                       {"_write_bytes", write_bytes},
                                       {NULL, NULL}};
  luc_l_add_natives(L, st, natives, 2);
  luaL_setfuncs(L, functions, 0);
  luc_l_open_safetensors(L);
  luc_l_open_numpy(L);
  luc_l_open_checkpoint(L);
}
