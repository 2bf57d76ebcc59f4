/* Files for Lua: IDX, PNG, plain bytes; what is asked of paths and terminals. The work is the
 * core's; lua/lucerna checks the arguments. */
#include <unistd.h>

#include "io/readers.h"
#include "l_args.h"
#include "l_files.h"

/* idx_load(path), which data.read_idx is for other sources too */
static int idx_load(lua_State *L, luc_l_state *st, luc_l_args *args) {
  luc_l_box *box = luc_l_newbox(L, st);
  return luc_l_results(L, st, 1, luc_idx_load(st->ctx, args->v[0].as.string, &box->t));
}

/* core._idx_read(path or nil, bytes) -> Tensor */
static int read_idx(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_input input;
  lua_settop(L, 2);
  luc_l_box *box = luc_l_newbox(L, st);
  luc_status status = luc_l_open_input(L, ctx, "idx", 1, &input);
  if (status == LUC_OK) status = luc__idx_read(input, &box->t);
  return luc_l_results(L, st, 1, status);
}

/* core._png_read(path or nil, bytes, number of the mode, max_bytes or nil) -> Tensor */
static int read_png(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_input input;
  lua_settop(L, 4);
  luc_l_box *box = luc_l_newbox(L, st);
  luc_image_mode mode = (luc_image_mode)lua_tointeger(L, 3);
  luc_status status = luc_l_open_input(L, ctx, "read_image", 1, &input);
  if (status == LUC_OK) {
    status = luc__png_read(input, mode, (uint64_t)lua_tointeger(L, 4), &box->t);
    luc_l_name_input(L, ctx, status, "read_image", 1);
  }
  return luc_l_results(L, st, 1, status);
}

/* core._png_write(who, image, path or function, level) */
static int write_png(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  const char *who = luaL_checkstring(L, 1);
  luc_target to = luc_l_target(L, st, 3, &sink);
  luc_tensor *image = luc_l_checktensor(L, 2, who, "input");
  return luc_l_results(L, st, 0, luc__png_write(ctx, who, &to, image, (int)lua_tointeger(L, 4)));
}

/* core._write_bytes(who, bytes, path or function) */
static int write_bytes(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  size_t n;
  luc_target to = luc_l_target(L, st, 3, &sink);
  const char *bytes = luaL_checklstring(L, 2, &n);
  return luc_l_results(L, st, 0, luc__write_bytes(ctx, luaL_checkstring(L, 1), &to, bytes, n));
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
      {"idx_load(str path) -> Tensor", idx_load, LUC_F_FUNCTION}};
  static const luaL_Reg functions[] = {{"_idx_read", read_idx},
                                       {"_png_read", read_png},
                                       {"_png_write", write_png},
                                       {"_write_bytes", write_bytes},
                                       {"_exists", file_exists},
                                       {"_isatty", is_terminal},
                                       {NULL, NULL}};
  luc_l_add_natives(L, st, natives, 1);
  luaL_setfuncs(L, functions, 0);
  luc_l_open_safetensors(L);
  luc_l_open_numpy(L);
  luc_l_open_csv(L);
  luc_l_open_checkpoint(L);
}
