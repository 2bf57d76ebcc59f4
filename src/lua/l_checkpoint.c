/* Checkpoints for Lua: documents (io/document.h) become tables and tensors, and the other way
 * round. Both walks have a queue, so that tables of any depth and with cycles come through, and
 * what is shared in one is shared in the other. What is owned hangs in a userdata. */
#include <stdlib.h>
#include <string.h>

#include "io/document.h"
#include "l_files.h"

typedef struct document_box {
  luc_l_state *st;
  luc_document doc;
  /* loading: containers that are made but not filled */
  luc_object *first, *last;
  uint32_t made;
  size_t sparse; /* keys that check_sparse counted */
} document_box;

static int document_gc(lua_State *L) {
  document_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (box && box->st->ctx) luc__document_free(&box->doc);
  return 0;
}

/* Pushes a document that ends with the running function, however that ends: its file is not open
 * for as long as the collector likes. */
static document_box *new_document(lua_State *L, luc_l_state *st, const char *who) {
  luc_context *ctx = luc_l_context(L, st);
  document_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (document_box){.st = st};
  luc__document_init(&box->doc, ctx, who);
  luc_l_push_gc(L, document_gc);
  lua_pushcfunction(L, document_gc);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  return box;
}

/* ---- loading ---- */

enum { LOAD_PATH = 1, LOAD_BYTES, LOAD_ONLY, LOAD_MAX, LOAD_NEW_MAP, LOAD_BOX, LOAD_MADE };

static void push_tensor(lua_State *L, document_box *box, luc_object *node) {
  luc_tensor *t;
  luc_l_box *holder = luc_l_newbox(L, box->st);
  luc_status status = luc__document_tensor(&box->doc, node, &t);
  if (status == LUC_ERR_MEMORY && !box->doc.limit_given && luc_l_collect(L, box->st))
    status = luc__document_tensor(&box->doc, node, &t);
  luc_l_check(L, box->st, luc_l_name_input(L, box->doc.ctx, status, "load", LOAD_PATH));
  holder->t = luc_tensor_retain(t);
}

/* Pushes a node's table or tensor: the same each time. New tables are filled later. */
static void push_node(lua_State *L, document_box *box, luc_object *node) {
  if (node->id != 0) {
    lua_rawgeti(L, LOAD_MADE, node->id);
    return;
  }
  if (node->kind == LUC_OBJECT_TENSOR) {
    push_tensor(L, box, node);
  } else {
    if (node->ordered) {
      lua_pushvalue(L, LOAD_NEW_MAP);
      lua_call(L, 0, 1);
    } else {
      lua_newtable(L);
    }
    if (box->last)
      box->last->queue = node;
    else
      box->first = node;
    box->last = node;
  }
  node->id = ++box->made;
  lua_pushvalue(L, -1);
  lua_rawseti(L, LOAD_MADE, node->id);
}

static void push_item(lua_State *L, document_box *box, const luc_item *item) {
  switch (item->kind) {
  case LUC_ITEM_NONE: lua_pushnil(L); break;
  case LUC_ITEM_BOOL: lua_pushboolean(L, item->as.i != 0); break;
  case LUC_ITEM_INT: lua_pushinteger(L, item->as.i); break;
  case LUC_ITEM_FLOAT: lua_pushnumber(L, item->as.f); break;
  case LUC_ITEM_TEXT:
  case LUC_ITEM_BYTES: lua_pushlstring(L, item->as.blob->bytes, item->as.blob->n); break;
  case LUC_ITEM_DTYPE: luc_l_pushdtype(L, box->st, item->dtype); break;
  case LUC_ITEM_OBJECT: push_node(L, box, item->as.object); break;
  case LUC_ITEM_BIG:
    luc_l_error(L, "load: an integer of %d bytes does not fit into 64 bits", (int)item->as.blob->n);
    break;
  default: luc_l_error(L, "load: %s stands where a value should", luc__item_name(item));
  }
}

static void push_key(lua_State *L, document_box *box, const luc_item *key) {
  bool good = key->kind >= LUC_ITEM_BOOL && key->kind <= LUC_ITEM_BYTES;
  if (!good || (key->kind == LUC_ITEM_FLOAT && key->as.f != key->as.f))
    luc_l_error(L, "load: a dictionary's key is %s; only strings and numbers are supported",
                good ? "nan" : luc__item_name(key));
  push_item(L, box, key);
}

/* Lua hashes numbers by their remainder, so that they can be chosen to meet in one place of a
 * table, where each costs a look at all others. Those of a range, as ids are, cannot. */
static void check_sparse(lua_State *L, document_box *box, const luc_object *dict) {
  enum { MOST = 1 << 15 };
  for (size_t i = 0; i + 1 < dict->n; i += 2) {
    const luc_item *key = &dict->items[i];
    bool near = key->kind == LUC_ITEM_INT && key->as.i >= 0 && key->as.i <= 2 * (int64_t)dict->n;
    box->sparse += key->kind == LUC_ITEM_FLOAT || (key->kind == LUC_ITEM_INT && !near);
  }
  if (box->sparse > MOST)
    luc_l_error(L, "load: dictionaries with more than %d numbers far apart as keys", MOST);
}

/* Is the key on top of the stack to be left out? Those found are marked. */
static bool skips(lua_State *L) {
  lua_pushvalue(L, -1);
  bool wanted = lua_rawget(L, LOAD_ONLY) != LUA_TNIL;
  lua_pop(L, 1);
  if (!wanted) return true;
  lua_pushvalue(L, -1);
  lua_pushboolean(L, 0);
  lua_rawset(L, LOAD_ONLY);
  return false;
}

static void fill_dict(lua_State *L, document_box *box, const luc_object *node) {
  bool filtered = node == box->doc.root.as.object && !lua_isnil(L, LOAD_ONLY);
  check_sparse(L, box, node);
  for (size_t i = 0; i + 1 < node->n; i += 2) {
    push_key(L, box, &node->items[i]);
    if (filtered && skips(L)) {
      lua_pop(L, 1);
      continue;
    }
    push_item(L, box, &node->items[i + 1]);
    if (node->ordered)
      lua_settable(L, -3);
    else
      lua_rawset(L, -3);
  }
  if (node->metadata.kind == LUC_ITEM_NONE) return;
  push_item(L, box, &node->metadata);
  lua_setfield(L, -2, "_metadata");
}

static void fill_node(lua_State *L, document_box *box, const luc_object *node) {
  lua_rawgeti(L, LOAD_MADE, node->id);
  if (node->kind == LUC_OBJECT_DICT) {
    fill_dict(L, box, node);
  } else {
    for (size_t i = 0; i < node->n; i++) {
      push_item(L, box, &node->items[i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
  }
  lua_pop(L, 1);
}

static luc_status read_document(lua_State *L, document_box *box) {
  luc_document *doc = &box->doc;
  uint64_t most = (uint64_t)lua_tointeger(L, LOAD_MAX);
  luc_input input;
  LUC_TRY(luc_l_open_input(L, doc->ctx, "load", LOAD_PATH, &input));
  luc_status status = luc__document_read(doc, input, most);
  return luc_l_name_input(L, doc->ctx, status, "load", LOAD_PATH);
}

/* core._load(path or nil, bytes, only or nil, max_bytes or nil, new_map): the object. only is a set
 * of keys, of which those found become false. */
static int load(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  lua_settop(L, LOAD_NEW_MAP);
  if (!lua_isnil(L, LOAD_ONLY)) luaL_checktype(L, LOAD_ONLY, LUA_TTABLE);
  document_box *box = new_document(L, st, "load");
  lua_newtable(L);
  luc_l_check(L, box->st, read_document(L, box));
  if (!lua_isnil(L, LOAD_ONLY) && !luc__item_is(&box->doc.root, LUC_OBJECT_DICT))
    return luc_l_error(L, "load: only: the file holds %s, not a dictionary",
                       luc__item_name(&box->doc.root));
  push_item(L, box, &box->doc.root);
  for (luc_object *node = box->first; node; node = node->queue) fill_node(L, box, node);
  return 1;
}

/* ---- saving ---- */

enum { SAVE_OBJECT = 1, SAVE_TARGET, SAVE_ENTRIES, SAVE_BOX, SAVE_SEEN, SAVE_QUEUE };

/* The node of the table at index: made, and queued to be filled, when it is first seen. */
static luc_item table_item(lua_State *L, document_box *box, int index) {
  luc_object *node;
  lua_pushvalue(L, index);
  lua_rawget(L, SAVE_SEEN);
  node = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (node) return luc__item_object(node);
  luc_l_check(L, box->st, luc__object_new(&box->doc, LUC_OBJECT_LIST, &node));
  lua_pushvalue(L, index);
  lua_pushlightuserdata(L, node);
  lua_rawset(L, SAVE_SEEN);
  lua_pushvalue(L, index);
  lua_rawseti(L, SAVE_QUEUE, ++box->made);
  return luc__item_object(node);
}

/* What cannot be saved is left to lua/lucerna/checkpoint.lua to say. */
static luc_item object_item(lua_State *L, document_box *box, int index) {
  luc_item item = {.kind = LUC_ITEM_NONE};
  luc_dtype dtype;
  luc_tensor *t = luc_l_totensor(L, index);
  if (t) {
    luc_object *node;
    luc_l_need_values(L, "save", t);
    luc_l_check(L, box->st, luc__document_live(&box->doc, t, &node));
    return luc__item_object(node);
  }
  if (luc_l_isnone(L, box->st, index)) return item;
  if (luc_l_todtype(L, index, &dtype))
    return (luc_item){.kind = LUC_ITEM_DTYPE, .dtype = (int16_t)dtype};
  lua_pushvalue(L, SAVE_ENTRIES);
  lua_pushvalue(L, index);
  lua_call(L, 1, 0);
  return item;
}

static luc_item value_item(lua_State *L, document_box *box, int index) {
  luc_item item = {.kind = LUC_ITEM_NONE};
  size_t n;
  switch (lua_type(L, index)) {
  case LUA_TNIL: return item;
  case LUA_TBOOLEAN: return (luc_item){.kind = LUC_ITEM_BOOL, .as = {.i = lua_toboolean(L, index)}};
  case LUA_TNUMBER:
    if (lua_isinteger(L, index)) return luc__item_int(lua_tointeger(L, index));
    return (luc_item){.kind = LUC_ITEM_FLOAT, .as = {.f = lua_tonumber(L, index)}};
  case LUA_TSTRING: {
    const char *bytes = lua_tolstring(L, index, &n);
    luc_l_check(L, box->st, luc__item_text(&box->doc, bytes, n, &item));
    return item;
  }
  case LUA_TTABLE: return table_item(L, box, index);
  default: return object_item(L, box, index);
  }
}

static void push_value(lua_State *L, document_box *box, luc_object *node, int index) {
  luc_l_check(L, box->st, luc__object_push(&box->doc, node, value_item(L, box, index)));
}

/* Numbers in order, then strings. */
static int by_key(const void *a, const void *b) {
  const luc_item *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind == LUC_ITEM_INT) return x->as.i < y->as.i ? -1 : x->as.i > y->as.i;
  if (x->kind == LUC_ITEM_FLOAT) return x->as.f < y->as.f ? -1 : x->as.f > y->as.f;
  size_t n = x->as.blob->n < y->as.blob->n ? x->as.blob->n : y->as.blob->n;
  int order = memcmp(x->as.blob->bytes, y->as.blob->bytes, n);
  return order ? order : x->as.blob->n < y->as.blob->n ? -1 : 1;
}

/* An optimizer's state is a dictionary even while its ids look like an array's, or there are none.
 */
static void mark_state(const luc_object *node) {
  const luc_item *state = luc__object_get(node, "state"),
                 *groups = luc__object_get(node, "param_groups");
  bool both = state && groups && luc__item_is(state, LUC_OBJECT_LIST) &&
              luc__item_is(groups, LUC_OBJECT_LIST);
  if (both && state->as.object->n == 0) state->as.object->kind = LUC_OBJECT_DICT;
}

static void fill_from_dict(lua_State *L, document_box *box, luc_object *node, int table) {
  node->kind = LUC_OBJECT_DICT;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    int value = lua_gettop(L), type = lua_type(L, value - 1);
    if (type != LUA_TSTRING && type != LUA_TNUMBER)
      luc_l_error(L, "save: a table's key is a %s; only strings and numbers can be saved",
                  lua_typename(L, type));
    push_value(L, box, node, value - 1);
    push_value(L, box, node, value);
  }
  if (node->n > 0) qsort(node->items, node->n / 2, 2 * sizeof *node->items, by_key);
  mark_state(node);
}

/* Plain tables: lists if their keys are 1 … n. */
static void fill_from_plain(lua_State *L, document_box *box, luc_object *node, int table) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, table), count = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
  if (node->kind == LUC_OBJECT_DICT || count != n) {
    fill_from_dict(L, box, node, table);
    return;
  }
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, table, i);
    push_value(L, box, node, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* Ordered maps: entries(map) gives {key, value, …}, their number, and the metadata. */
static void fill_from_map(lua_State *L, document_box *box, luc_object *node, int table) {
  lua_pushvalue(L, SAVE_ENTRIES);
  lua_pushvalue(L, table);
  lua_call(L, 1, 3);
  int metadata = lua_gettop(L);
  luaL_checktype(L, metadata - 2, LUA_TTABLE);
  lua_Integer n = lua_tointeger(L, metadata - 1) / 2 * 2;
  node->kind = LUC_OBJECT_DICT;
  node->ordered = true;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, metadata - 2, i);
    push_value(L, box, node, lua_gettop(L));
    lua_pop(L, 1);
  }
  node->metadata = value_item(L, box, metadata);
}

static void fill_from_table(lua_State *L, document_box *box, int i) {
  int table = SAVE_QUEUE + 1;
  lua_settop(L, SAVE_QUEUE);
  lua_rawgeti(L, SAVE_QUEUE, i);
  luc_object *node = table_item(L, box, table).as.object;
  if (lua_getmetatable(L, table)) {
    lua_pop(L, 1);
    fill_from_map(L, box, node, table);
  } else {
    fill_from_plain(L, box, node, table);
  }
}

/* core._save(object, path or function, entries) */
static int save(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_l_sink sink;
  lua_settop(L, SAVE_ENTRIES);
  document_box *box = new_document(L, st, "save");
  lua_newtable(L);
  lua_newtable(L);
  box->doc.root = value_item(L, box, SAVE_OBJECT);
  for (uint32_t i = 1; i <= box->made; i++) fill_from_table(L, box, (int)i);
  luc_target to = luc_l_target(L, st, SAVE_TARGET, &sink);
  luc_l_check(L, box->st, luc__document_write(&box->doc, &to));
  return 0;
}

void luc_l_open_checkpoint(lua_State *L) {
  static const luaL_Reg functions[] = {{"_load", load}, {"_save", save}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
