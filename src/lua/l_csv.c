/* CSV files for Lua: options are a table that lua/lucerna/csv.lua has checked. */
#include "io/csv.h"

#include <string.h>

#include "l_files.h"

/* A text of the core's that is freed if something raises. */
typedef struct text_box {
  luc_l_state *st;
  luc_text text;
} text_box;

static int drop_text(lua_State *L) {
  text_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (box && box->st->ctx) luc__text_drop(&box->text);
  return 0;
}

static text_box *new_text_box(lua_State *L, luc_l_state *st) {
  text_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->st = st;
  luc__text_init(&box->text, st->ctx);
  luc_l_set_gc(L, drop_text);
  return box;
}

enum {
  READ_PATH = 1,
  READ_BYTES,
  READ_DELIMITER,
  READ_HEADER,
  READ_DTYPE,
  READ_FILL,
  READ_COLUMNS
};

/* Positions from 0 on, in a userdata of their own. */
static const int64_t *columns_of(lua_State *L, int64_t *n) {
  *n = 0;
  if (lua_isnil(L, READ_COLUMNS)) return NULL;
  luaL_checktype(L, READ_COLUMNS, LUA_TTABLE);
  *n = (int64_t)lua_rawlen(L, READ_COLUMNS);
  int64_t *columns = lua_newuserdatauv(L, (size_t)*n * sizeof *columns + 1, 0);
  for (int64_t i = 0; i < *n; i++) {
    lua_rawgeti(L, READ_COLUMNS, i + 1);
    columns[i] = (int64_t)((lua_Unsigned)lua_tointeger(L, -1) - 1);
    lua_pop(L, 1);
  }
  return columns;
}

static void push_names(lua_State *L, const luc_text *text) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (size_t at = 0; at < text->length; at += strlen(text->data + at) + 1) {
    lua_pushstring(L, text->data + at);
    lua_rawseti(L, -2, ++n);
  }
}

/* core._csv_read(path or nil, bytes, delimiter, header, dtype or nil, fill or nil, columns or nil)
 * -> Tensor (nil without a dtype: only the header is read), names */
static int read_csv(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_csv_options options = {.dtype = LUC_FLOAT32};
  luc_scalar fill;
  luc_input input;
  lua_settop(L, READ_COLUMNS);
  options.delimiter = *luaL_checkstring(L, READ_DELIMITER);
  options.header = lua_toboolean(L, READ_HEADER);
  options.only_header = !luc_l_todtype(L, READ_DTYPE, &options.dtype);
  options.fill = luc_l_toscalar(L, READ_FILL, &fill) ? &fill : NULL;
  options.columns = columns_of(L, &options.ncolumns);
  text_box *names = new_text_box(L, st);
  luc_l_box *holder = luc_l_newbox(L, st);
  luc_status status = luc_l_open_input(L, ctx, "read_csv", READ_PATH, &input);
  if (status == LUC_OK) {
    status = luc__csv_read(input, &options, &names->text, &holder->t);
    luc_l_name_input(L, ctx, status, "read_csv", READ_PATH);
  }
  luc_l_check(L, st, status);
  if (options.only_header) lua_pushnil(L);
  push_names(L, &names->text);
  return 2;
}

/* core._csv_write(tensor, path or function, delimiter, names or nil), a table of the call's own */
static int write_csv(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_l_sink sink;
  const char **names = NULL;
  lua_settop(L, 4);
  luc_tensor *t = luc_l_checktensor(L, 1, "write_csv", "input");
  luc_target to = luc_l_target(L, st, 2, &sink);
  char delimiter = *luaL_checkstring(L, 3);
  luaL_argcheck(L, t->ndim == 2, 1, "not of rows and columns");
  if (!lua_isnil(L, 4)) {
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 4);
    luaL_argcheck(L, n == t->sizes[1], 4, "not a name for each column");
    names = lua_newuserdatauv(L, (size_t)n * sizeof *names + 1, 0);
    for (lua_Integer i = 0; i < n; i++) {
      lua_rawgeti(L, 4, i + 1);
      luaL_checktype(L, -1, LUA_TSTRING); /* no copy of the stack's */
      names[i] = lua_tostring(L, -1);
      lua_pop(L, 1);
    }
  }
  return luc_l_results(L, st, 0, luc__csv_write(ctx, &to, delimiter, names, t));
}

void luc_l_open_csv(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_csv_read", read_csv}, {"_csv_write", write_csv}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
