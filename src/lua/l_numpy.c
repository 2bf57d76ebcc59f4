/* NumPy's files for Lua: .npy as tensors, .npz as tables of them. */
#include <string.h>

#include "io/readers.h"
#include "l_files.h"

typedef struct npz_box {
  luc_l_state *st;
  luc_npz *npz;
} npz_box;

static int close_npz(lua_State *L) {
  npz_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (!box) return 0;
  if (box->npz && box->st->ctx) luc__npz_close(box->npz);
  box->npz = NULL;
  return 0;
}

static npz_box *new_npz_box(lua_State *L, luc_l_state *st) {
  npz_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (npz_box){st, NULL};
  luc_l_set_gc(L, close_npz);
  return box;
}

enum { LOAD_PATH = 1, LOAD_BYTES, LOAD_MAX, LOAD_BOX };

/* Raises a failure of reading. */
static void check(lua_State *L, luc_l_state *st, luc_status status) {
  if (status == LUC_OK) return;
  luc_l_name_input(L, st->ctx, status, "load", LOAD_PATH);
  luc_l_raise(L, st, status);
}

static int load_npz(lua_State *L, luc_l_state *st, luc_input input) {
  npz_box *box = lua_touserdata(L, LOAD_BOX);
  check(L, st, luc__npz_open(input, (uint64_t)lua_tointeger(L, LOAD_MAX), &box->npz));
  size_t count = luc__npz_count(box->npz), length;
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    const char *name = luc__npz_name(box->npz, i, &length);
    if (!name) return luc_l_error(L, "load: the archive holds what is no array");
    lua_pushlstring(L, name, length);
    luc_l_box *holder = luc_l_newbox(L, st);
    luc_status status = luc__npz_read(box->npz, i, &holder->t);
    if (status != LUC_OK) {
      char text[256];
      snprintf(text, sizeof text, "%s", luc_message(st->ctx));
      bool ours = status != LUC_ERR_MEMORY && !strncmp(text, "load: ", 6);
      if (ours) luc__fail(st->ctx, status, "load: array '%.100s': %s", name, text + 6);
    }
    check(L, st, status);
    lua_rawset(L, -3);
  }
  box->npz = (luc__npz_close(box->npz), NULL);
  return 1;
}

/* core._np_load(path or nil, bytes, max_bytes or nil) -> a tensor, or a table of them by name */
static int load(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  char first[4] = {0};
  luc_input input;
  lua_settop(L, LOAD_MAX);
  uint64_t most = (uint64_t)lua_tointeger(L, LOAD_MAX);
  new_npz_box(L, st);
  luc_l_box *holder = luc_l_newbox(L, st);
  check(L, st, luc_l_open_input(L, ctx, "load", LOAD_PATH, &input));
  luc_status status = input.size < 4 ? LUC_OK : luc__input_read(&input, 0, first, 4);
  bool zip = !memcmp(first, "PK", 2); /* an empty archive begins with its end */
  if (status == LUC_OK && zip) return load_npz(L, st, input);
  if (status == LUC_OK && most && input.size > most)
    status = luc__fail(ctx, LUC_ERR_MEMORY, "load: the file needs more memory than max_bytes");
  if (status == LUC_OK)
    status = luc__npy_read(input, &holder->t);
  else
    luc__input_close(&input);
  check(L, st, status);
  return 1;
}

/* core._npy_save(tensor, path or function) */
static int save_npy(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  luc_target to = luc_l_target(L, st, 2, &sink);
  return luc_l_results(L, st, 0, luc__npy_write(ctx, &to, luc_l_checktensor(L, 1, "save", "arr")));
}

/* core._npz_save(names, tensors, path or function, deflated): two arrays, the caller's own. */
static int save_npz(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  int n = (int)lua_rawlen(L, 1);
  lua_settop(L, 4);
  luc_target to = luc_l_target(L, st, 3, &sink);
  luc_named_tensor *items = lua_newuserdatauv(L, (size_t)n * sizeof *items + 1, 0);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1);
    lua_rawgeti(L, 2, i + 1);
    luaL_checktype(L, -2, LUA_TSTRING);
    items[i] =
        (luc_named_tensor){lua_tostring(L, -2), luc_l_checktensor(L, -1, "savez", "tensors")};
    lua_pop(L, 2);
  }
  return luc_l_results(L, st, 0, luc__npz_write(ctx, &to, items, n, lua_toboolean(L, 4)));
}

void luc_l_open_numpy(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_np_load", load}, {"_npy_save", save_npy}, {"_npz_save", save_npz}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
