/* Errors and callbacks: a failed status becomes a Lua error once, where it is raised, by looking at
 * the stack, so success costs nothing. Errors of callbacks travel through the core untouched. */
#include <string.h>

#include "l_args.h"
#include "l_tensor.h"

bool luc_l_is_ours(const luc_l_state *st, const lua_Debug *ar) {
  if (ar->currentline <= 0) return true; /* a C function */
  if (!strncmp(ar->source, "=[lucerna", 9)) return true;
  return st->root[0] && !strncmp(ar->source, st->root, strlen(st->root));
}

/* The coroutine that `from` is resuming: the argument of resume, or what wrap's function holds. */
static lua_State *resumed_by(lua_State *from) {
  lua_Debug ar;
  if (!lua_checkstack(from, 4) || !lua_getstack(from, 0, &ar)) return NULL;
  int top = lua_gettop(from);
  lua_State *co = lua_getlocal(from, &ar, 1) ? lua_tothread(from, -1) : NULL;
  lua_getinfo(from, "f", &ar);
  if (!co && lua_iscfunction(from, -1) && lua_getupvalue(from, -1, 1)) co = lua_tothread(from, -1);
  lua_settop(from, top);
  return co;
}

int luc_l_threads(lua_State *L, luc_l_state *st, lua_State *list[LUC_L_THREADS]) {
  int n = 0;
  for (lua_State *at = st->main; at && at != L && n < LUC_L_THREADS - 1; at = resumed_by(at))
    list[n++] = at;
  if (n > 0 && resumed_by(list[n - 1]) != L) n = 0; /* a host resumed it: who knows from where */
  list[n++] = L;
  return n;
}

/* Pushes the position of the first Lua frame that is not ours. *ours: some were. */
static bool push_position(lua_State *L, lua_State *thread, const luc_l_state *st, bool *ours) {
  lua_Debug ar;
  *ours = false;
  for (int level = 0; lua_getstack(thread, level, &ar); level++) {
    lua_getinfo(thread, "Sl", &ar);
    if (!luc_l_is_ours(st, &ar)) {
      lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
      return true;
    }
    if (ar.currentline > 0) *ours = true;
  }
  return false;
}

/* Pushes "file:line: " of the first Lua frame that is not ours, or "". */
static void push_where(lua_State *L, luc_l_state *st) {
  lua_State *threads[LUC_L_THREADS];
  bool ours = true; /* a coroutine of our own code stands for who resumed it */
  for (int i = luc_l_threads(L, st, threads) - 1; i >= 0 && ours; i--) {
    if (push_position(L, threads[i], st, &ours)) return;
    ours = ours || (i > 0 && luc_l_runs_region(threads[i - 1]));
  }
  lua_pushliteral(L, "");
}

/* Pushes the name of the outermost of our own Lua functions that have called each other and at last
 * the running C function, or nil. */
static void push_name(lua_State *L, luc_l_state *st) {
  lua_Debug ar, outermost;
  int level = 1;
  for (; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || !luc_l_is_ours(st, &ar)) break;
    outermost = ar;
  }
  luc_l_get(L, st, LUC_L_NAME_OF);
  if (level == 1 || lua_isnil(L, -1)) {
    lua_pushnil(L);
    return;
  }
  lua_getinfo(L, "f", &outermost);
  if (!lua_getlocal(L, &outermost, 1)) lua_pushnil(L);
  lua_call(L, 2, 1);
}

/* Message on top: what failed inside a public function written in Lua gets that one's name, unless
 * it says where that is too ("optim.class"); what failed without a name in one of C gets that's. */
static void add_name(lua_State *L, luc_l_state *st) {
  int at = lua_gettop(L);
  push_name(L, st);
  size_t length = 0;
  const char *message = lua_tostring(L, at), *name = lua_tolstring(L, -1, &length);
  size_t n = luc__message_name(message);
  const char *last = message + n - length;
  bool named = name && n > length && last[-1] == '.' && !memcmp(last, name, length);
  if (!name && !n) name = luc_l_running(L);
  if (name && !named) {
    lua_pushfstring(L, "%s: %s", name, n ? message + n + 2 : message);
    lua_replace(L, at);
  }
  lua_settop(L, at);
}

/* Message on top: puts the position and the module's path before it and raises. What failed outside
 * of modules gets the name of the function that was called. */
static int raise_message(lua_State *L, luc_l_state *st) {
  if (st->push_place) {
    st->push_place(L, st);
  } else {
    lua_pushliteral(L, "");
  }
  lua_insert(L, -2);
  if (lua_rawlen(L, -2) == 0) add_name(L, st);
  push_where(L, st);
  lua_insert(L, -3); /* position, place, message */
  lua_concat(L, 3);
  return lua_error(L);
}

int luc_l_raise(lua_State *L, luc_l_state *st, luc_status status) {
  luc_l_checkstack(L, 8);
  if (status == LUC_ERR_CALLBACK) {
    luc_l_get(L, st, LUC_L_ERROR);
    lua_rawgeti(L, -1, 1);
    lua_pushnil(L);
    lua_rawseti(L, -3, 1);
    return lua_error(L);
  }
  if (status == LUC_ERR_MEMORY) luc_l_pace_hurry(st);
  lua_pushstring(L, luc_message(st->ctx));
  return raise_message(L, st);
}

int luc_l_error(lua_State *L, const char *fmt, ...) {
  luc_l_state *st = luc_l_state_of(L);
  luc_l_checkstack(L, 8);
  va_list args;
  va_start(args, fmt);
  const char *text = lua_pushvfstring(L, fmt, args);
  va_end(args);
  if (strchr(text, '\n')) luaL_gsub(L, text, "\n", "?"); /* from a string that was given */
  return raise_message(L, st);
}

luc_status luc_l_keep_error(lua_State *L, luc_l_state *st) {
  bool text = lua_type(L, -1) == LUA_TSTRING; /* which is also what C hosts are told */
  luc_status status =
      luc__fail_long(st->ctx, LUC_ERR_CALLBACK, text ? lua_tostring(L, -1) : "a callback failed");
  luc_l_get(L, st, LUC_L_ERROR);
  lua_insert(L, -2);
  lua_rawseti(L, -2, 1); /* slot 1 is preallocated */
  lua_pop(L, 1);
  return status;
}

luc_context *luc_l_context_slow(lua_State *L, luc_l_state *st) {
  if (!st->ctx) luaL_error(L, "lucerna is closed: its Lua state is ending");
  if (st->probing) luc_l_end_probe(L, st);
  return st->ctx;
}

/* ---- what an argument is ---- */

static const char *tensor_given(lua_State *L, const luc_l_box *box) {
  char shape[LUC_SHAPE_TEXT];
  if (!box->t) return lua_pushliteral(L, "a released tensor");
  luc__tensor_shape_text(shape, box->t);
  return lua_pushfstring(L, "Tensor %s", shape);
}

const char *luc_l_given(lua_State *L, int index) {
  enum { LONG = 40 };
  luc_l_checkstack(L, 4);
  luc_l_box *box = luc_l_tobox(L, index);
  int type = lua_type(L, index);
  if (box) return tensor_given(L, box);
  if (type == LUA_TNUMBER && lua_isinteger(L, index))
    return lua_pushfstring(L, "number %I", (LUAI_UACINT)lua_tointeger(L, index));
  if (type == LUA_TNUMBER) return lua_pushfstring(L, "number %f", lua_tonumber(L, index));
  if (type == LUA_TSTRING) {
    const char *s = lua_tostring(L, index);
    bool whole = strlen(s) <= LONG;
    return lua_pushfstring(L, "string '%s%s'", whole ? s : lua_pushlstring(L, s, LONG - 3),
                           whole ? "" : "...");
  }
  if (type == LUA_TBOOLEAN)
    return lua_pushfstring(L, "boolean %s", lua_toboolean(L, index) ? "true" : "false");
  if (type == LUA_TUSERDATA && luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
    return lua_tostring(L, -1);
  return lua_pushstring(L, type == LUA_TNONE ? "nil" : lua_typename(L, type));
}

/* ---- callbacks ---- */

luc_status luc_l_protect(luc_l_state *st, lua_CFunction fn, void *arg) {
  lua_State *L = st->L ? st->L : st->main;
  if (!lua_checkstack(L, 4)) return luc__fail(st->ctx, LUC_ERR_MEMORY, "Lua's stack is full");
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, arg);
  return lua_pcall(L, 1, 0, 0) == LUA_OK ? LUC_OK : luc_l_keep_error(L, st);
}

/* The function comes last: a place made in vain holds nothing. */
uint64_t luc_l_callback_keep(lua_State *L, luc_l_state *st) {
  if (st->probing) luc_l_end_probe(L, st);
  luc_l_get(L, st, LUC_L_CALLBACKS);
  lua_pushboolean(L, true);
  int id = luaL_ref(L, -2);
  luc_l_get(L, st, LUC_L_OWNERS);
  lua_pushlightuserdata(L, NULL);
  lua_rawseti(L, -2, id);
  lua_pop(L, 1);
  lua_insert(L, -2);
  lua_rawseti(L, -2, id);
  lua_pop(L, 1);
  st->owned++;
  luc_l_pace_crowd(st);
  return (uint64_t)id;
}

void luc_l_callback_own(luc_l_state *st, uint64_t id, const void *ud) {
  lua_State *L = st->main;
  if (!lua_checkstack(L, 2)) return;
  luc_l_get(L, st, LUC_L_OWNERS);
  lua_pushlightuserdata(L, (void *)ud);
  lua_rawseti(L, -2, (lua_Integer)id);
  lua_pop(L, 1);
}

/* Clears a place, which cannot raise; false if it was empty. */
static bool clear(lua_State *L, luc_l_state *st, int table, uint64_t id) {
  luc_l_get(L, st, table);
  bool found = lua_rawgeti(L, -1, (lua_Integer)id) != LUA_TNIL;
  if (found) {
    lua_pushnil(L);
    lua_rawseti(L, -3, (lua_Integer)id);
  }
  lua_pop(L, 2);
  return found;
}

void luc_l_callback_push(lua_State *L, luc_l_state *st, uint64_t id) {
  if (st->probing) luc_l_end_probe(L, st);
  luc_l_get(L, st, LUC_L_CALLBACKS);
  lua_rawgeti(L, -1, (lua_Integer)id);
  lua_remove(L, -2);
}

/* Freeing a reference writes to slots that exist and cannot raise. Runs also from finalizers, on
 * whatever coroutine is there: the main thread's stack always has room for a C call. */
void luc_l_callback_drop(luc_l_state *st, uint64_t id) {
  lua_State *L = st->main;
  if (!st->ctx || !L || !lua_checkstack(L, 4)) return;
  if (clear(L, st, LUC_L_OWNERS, id)) st->owned--;
  if (st->probing) clear(L, st, LUC_L_PROBED, id);
  luc_l_get(L, st, LUC_L_CALLBACKS);
  luaL_unref(L, -1, (int)id);
  lua_pop(L, 1);
}
