/* Files for Lua: idx_load, write_png, and safetensors' load_file and save_file. The work is the
 * core's; here tables become arrays of names and tensors and back. */
#include <string.h>
#include <unistd.h>

#include "l_args.h"
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

/* ---- safetensors ---- */

/* A file being read: freed by the collector if something raises on the way. */
typedef struct file_box {
  luc_l_state *st;
  luc_tensor_file *file;
} file_box;

static int file_box_gc(lua_State *L) {
  file_box *box = lua_touserdata(L, 1);
  if (box->file && box->st->ctx) luc_tensor_file_free(box->st->ctx, box->file);
  box->file = NULL;
  return 0;
}

static file_box *new_file_box(lua_State *L, luc_l_state *st) {
  file_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (file_box){st, NULL};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, file_box_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return box;
}

/* load_file(path) -> { name = tensor }, { key = text } */
static int load_file(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  if (lua_type(L, 1) != LUA_TSTRING)
    return luc_l_error(L, "load_file: path: expected a string (got %s)", luaL_typename(L, 1));
  file_box *holder = new_file_box(L, st);
  luc_status status = luc_safetensors_load(ctx, lua_tostring(L, 1), &holder->file);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  luc_tensor_file *file = holder->file;
  lua_createtable(L, 0, file->ntensors);
  for (int i = 0; i < file->ntensors; i++) {
    luc_l_box *box = luc_l_newbox(L, st);
    box->t = luc_tensor_retain(file->tensors[i].tensor);
    lua_setfield(L, -2, file->tensors[i].name);
  }
  lua_createtable(L, 0, file->nmetadata);
  for (int i = 0; i < file->nmetadata; i++) {
    lua_pushstring(L, file->metadata[i].text);
    lua_setfield(L, -2, file->metadata[i].name);
  }
  return 2;
}

static int count_pairs(lua_State *L, int table) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) n++;
  return n;
}

/* A NUL in a name would cut it short in the file. */
static const char *check_name(lua_State *L, int index, const char *what) {
  size_t length;
  if (lua_type(L, index) != LUA_TSTRING) {
    luc_l_error(L, "save_file: %s: expected string keys (got %s)", what, luaL_typename(L, index));
    return NULL;
  }
  const char *name = lua_tolstring(L, index, &length);
  if (strlen(name) != length) luc_l_error(L, "save_file: %s: a name contains a NUL", what);
  return name;
}

/* Arrays live in userdata below their users, so that raising leaks nothing. */
static luc_named_tensor *collect_tensors(lua_State *L, int table, int *n) {
  *n = count_pairs(L, table);
  luc_named_tensor *items = lua_newuserdatauv(L, (size_t)*n * sizeof *items + 1, 0);
  int i = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), i++) {
    items[i].name = check_name(L, -2, "tensors");
    items[i].tensor = luc_l_totensor(L, -1);
    if (!items[i].tensor) {
      char given[LUC_L_GIVEN];
      luc_l_error(L, "save_file: tensors: '%s': expected a Tensor (got %s)", items[i].name,
                  luc_l_given(L, lua_gettop(L), given));
    }
  }
  return items;
}

static luc_named_text *collect_texts(lua_State *L, int table, int *n) {
  *n = lua_isnoneornil(L, table) ? 0 : count_pairs(L, table);
  luc_named_text *items = lua_newuserdatauv(L, (size_t)*n * sizeof *items + 1, 0);
  int i = 0;
  if (*n == 0) return items;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), i++) {
    items[i].name = check_name(L, -2, "metadata");
    items[i].text = check_name(L, -1, "metadata");
  }
  return items;
}

/* save_file(tensors, path, metadata): the first two are plain tables here; the Lua side turns an
 * ordered map into one. */
static int save_file(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  int ntensors, nmetadata;
  lua_settop(L, 3);
  if (lua_type(L, 1) != LUA_TTABLE)
    return luc_l_error(L, "save_file: tensors: expected a table of named tensors (got %s)",
                       luaL_typename(L, 1));
  if (lua_type(L, 2) != LUA_TSTRING)
    return luc_l_error(L, "save_file: path: expected a string (got %s)", luaL_typename(L, 2));
  if (!lua_isnil(L, 3) && lua_type(L, 3) != LUA_TTABLE)
    return luc_l_error(L, "save_file: metadata: expected a table of strings (got %s)",
                       luaL_typename(L, 3));
  luc_named_tensor *tensors = collect_tensors(L, 1, &ntensors);
  luc_named_text *metadata = collect_texts(L, 3, &nmetadata);
  luc_status status =
      luc_safetensors_save(ctx, lua_tostring(L, 2), tensors, ntensors, metadata, nmetadata);
  return status == LUC_OK ? 0 : luc_l_raise(L, st, status);
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
  static const luaL_Reg functions[] = {
      {"_load_file", load_file}, {"_save_file", save_file}, {"_isatty", is_terminal}, {NULL, NULL}};
  luc_l_add_natives(L, st, natives, 2);
  luaL_setfuncs(L, functions, 0);
  luc_l_open_checkpoint(L);
}
