/* safetensors for Lua: open files, whose tensors are read one by one, and saving. An open file is a
 * userdata whose user value keeps the bytes it reads from; lua/lucerna/safetensors.lua makes of it
 * what users see. */
#include <string.h>

#include "io/safetensors.h"
#include "l_files.h"
#include "l_index.h"

static const char who[] = "safetensors";

typedef struct open_file {
  luc_l_state *st;
  luc_safetensors *file;
} open_file;

static int close_file(lua_State *L) {
  open_file *box = luc_l_checkself(L, LUC_L_FILE_META, sizeof *box);
  if (box->file && box->st->ctx) luc__safetensors_close(box->file);
  box->file = NULL;
  return 0;
}

static open_file *new_file(lua_State *L, luc_l_state *st) {
  open_file *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (open_file){st, NULL};
  luc_l_set_meta(L, st, LUC_L_FILE_META);
  return box;
}

/* core._st_open(path or nil, bytes) -> file, names in the order of the data, metadata */
static int open_safetensors(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_input input;
  lua_settop(L, 2);
  open_file *box = new_file(L, st);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, 1);
  luc_status status = luc_l_open_input(L, ctx, who, 1, &input);
  if (status == LUC_OK) {
    status = luc__safetensors_open(input, &box->file);
    luc_l_name_input(L, ctx, status, who, 1);
  }
  luc_l_check(L, st, status);
  const luc_safetensors *f = box->file;
  lua_createtable(L, (int)f->n, 0);
  for (size_t i = 0; i < f->n; i++) {
    lua_pushstring(L, f->entries[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_createtable(L, 0, f->nmetadata);
  for (int i = 0; i < f->nmetadata; i++) {
    lua_pushstring(L, f->metadata[i].text);
    lua_setfield(L, -2, f->metadata[i].name);
  }
  return 3;
}

/* The file at 1, which must be open, and its tensor of the number at 2. */
static const luc_safetensors_entry *check_entry(lua_State *L, open_file **out) {
  *out = luc_l_checkself(L, LUC_L_FILE_META, sizeof **out);
  if (!(*out)->file) luc_l_error(L, "%s: the file is closed", who);
  luc_l_context(L, (*out)->st);
  lua_Integer number = luaL_checkinteger(L, 2);
  luaL_argcheck(L, number > 0 && (size_t)number <= (*out)->file->n, 2, "no tensor has the number");
  return &(*out)->file->entries[number - 1];
}

/* core._st_info(file, number) -> dtype, sizes */
static int tensor_info(lua_State *L) {
  open_file *box;
  const luc_safetensors_entry *e = check_entry(L, &box);
  luc_l_pushdtype(L, box->st, e->dtype);
  luc_l_pushsizes(L, e->ndim, e->sizes);
  return 2;
}

/* core._st_read(file, number, map) -> Tensor */
static int read_tensor(lua_State *L) {
  open_file *box;
  const luc_safetensors_entry *e = check_entry(L, &box);
  bool map = lua_toboolean(L, 3);
  luc_l_box *holder = luc_l_newbox(L, box->st);
  luc_status status = luc__safetensors_read(box->file, e, map, &holder->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, box->st))
    status = luc__safetensors_read(box->file, e, map, &holder->t);
  return luc_l_results(L, box->st, 1, status);
}

/* core._st_slice(file, number, positions and ranges) -> Tensor. They select a view of a tensor of
 * that shape over no memory, whose place is then read. */
static int read_slice(lua_State *L) {
  static _Alignas(64) char nothing[64];
  open_file *box;
  const luc_safetensors_entry *e = check_entry(L, &box);
  lua_settop(L, 3);
  lua_replace(L, 2);
  luc_l_box *outline = luc_l_newbox(L, box->st), *holder = luc_l_newbox(L, box->st);
  luc_status status = luc_tensor_wrap(box->st->ctx, e->dtype, e->ndim, e->sizes, NULL, nothing,
                                      NULL, NULL, &outline->t);
  luc_l_check(L, box->st, status);
  luc_l_index_view(L, box->st, outline->t);
  status = luc__safetensors_slice(box->file, e, luc_l_totensor(L, -1), &holder->t);
  lua_pop(L, 1);
  return luc_l_results(L, box->st, 1, status);
}

/* ---- models in several files ---- */

typedef struct index_box {
  luc_l_state *st;
  luc_shards shards;
} index_box;

static int free_index(lua_State *L) {
  index_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (!box) return 0;
  if (box->shards.ctx && box->st->ctx) luc__shards_free(&box->shards);
  box->shards.ctx = NULL;
  return 0;
}

/* core._st_index(path) -> { tensor = file } */
static int read_index(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_input input;
  lua_settop(L, 2);
  index_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (index_box){.st = st};
  luc_l_set_gc(L, free_index);
  luc_status status = luc_l_open_input(L, ctx, "safetensors index", 1, &input);
  if (status == LUC_OK) {
    status = luc__shards_read(&input, &box->shards);
    luc__input_close(&input);
    luc_l_name_input(L, ctx, status, "safetensors index", 1);
  }
  luc_l_check(L, st, status);
  lua_createtable(L, 0, (int)box->shards.n);
  for (size_t i = 0; i < box->shards.n; i++) {
    lua_pushstring(L, box->shards.items[i].text);
    lua_setfield(L, -2, box->shards.items[i].name);
  }
  return 1;
}

/* ---- saving ---- */

static int count_pairs(lua_State *L, int table) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) n++;
  return n;
}

/* A NUL in a name would cut it short in the file. */
static const char *check_text(lua_State *L, int index, const char *what, const char *part) {
  size_t length;
  if (lua_type(L, index) != LUA_TSTRING) {
    luc_l_error(L, "save_file: %s: expected string %ss (got %s)", what, part,
                luaL_typename(L, index));
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
    items[i].name = check_text(L, -2, "tensors", "key");
    items[i].tensor = luc_l_totensor(L, -1);
    if (!items[i].tensor)
      luc_l_error(L, "save_file: tensors: '%s' must be a Tensor (got %s)", items[i].name,
                  luc_l_given(L, lua_gettop(L)));
    luc_l_need_values(L, "save_file", items[i].tensor);
  }
  return items;
}

static luc_named_text *collect_texts(lua_State *L, int table, int *n) {
  *n = lua_isnoneornil(L, table) ? 0 : count_pairs(L, table);
  luc_named_text *items = lua_newuserdatauv(L, (size_t)*n * sizeof *items + 1, 0);
  int i = 0;
  if (*n == 0) return items;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), i++) {
    items[i].name = check_text(L, -2, "metadata", "key");
    items[i].text = check_text(L, -1, "metadata", "value");
  }
  return items;
}

/* core._st_save(tensors, path or function, metadata or nil), all of which were checked: plain
 * tables of this call's own, whose names and texts the core may point into. */
static int save(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  int ntensors, nmetadata;
  luc_l_sink sink;
  lua_settop(L, 3);
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!lua_isnil(L, 3)) luaL_checktype(L, 3, LUA_TTABLE);
  luc_target to = luc_l_target(L, st, 2, &sink);
  luc_named_tensor *tensors = collect_tensors(L, 1, &ntensors);
  luc_named_text *metadata = collect_texts(L, 3, &nmetadata);
  return luc_l_results(L, st, 0,
                       luc_safetensors_save_to(ctx, &to, tensors, ntensors, metadata, nmetadata));
}

void luc_l_open_safetensors(lua_State *L) {
  static const luaL_Reg functions[] = {{"_st_open", open_safetensors}, {"_st_close", close_file},
                                       {"_st_info", tensor_info},      {"_st_read", read_tensor},
                                       {"_st_slice", read_slice},      {"_st_save", save},
                                       {"_st_index", read_index},      {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  luc_l_make_gc_meta(L, luc_l_state_of(L), LUC_L_FILE_META, "lucerna.safetensors", close_file);
}
