/* lucerna.scope(f, ...): what f makes and does not return is released when it ends, also by an
 * error, without waiting for the collector. */
#include "l_tensor.h"

/* What ends a scope; user values: its tensors (weak), the table of the scope around it. One is kept
 * for scope after scope; those inside others have their own. */
typedef struct luc_l_scope {
  luc_l_state *st;
  struct luc_l_scope *outer;
  lua_Integer outer_count;
  bool done;
} scope;

enum { LARGE_SCOPE = 1024 };

/* Tensors at `index`, and those in plain tables there, go into the set at `kept`; 0: they outlive
 * all scopes. */
static void keep(lua_State *L, int index, int kept, int depth) {
  luc_l_box *box = luc_l_tobox(L, index);
  if (box && kept) {
    lua_pushvalue(L, index);
    lua_pushboolean(L, true);
    lua_rawset(L, kept);
  } else if (box) {
    box->outlives = true;
  } else if (lua_type(L, index) == LUA_TTABLE && depth < 16) {
    luc_l_checkstack(L, 6);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) keep(L, lua_gettop(L), kept, depth + 1);
  }
}

/* outlive(value): what the library's own Lua keeps is not a scope's to release. Takes no memory. */
static int outlive_scopes(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  lua_settop(L, 1);
  if (st->scopes) keep(L, 1, 0, 0);
  return 0;
}

/* Is the box on top of the stack in the set at `kept` (0: there is none)? */
static bool is_kept(lua_State *L, int kept) {
  if (!kept) return false;
  lua_pushvalue(L, -1);
  bool found = lua_rawget(L, kept) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* The scope around that at 1 is the running one again; pushes its table, or nil where there is
 * none: then that of the kept guard stays where it is. One that has grown is not kept: the
 * collector looks through it. */
static void restore_outer(lua_State *L, luc_l_state *st, scope *s) {
  if (--st->scopes) {
    lua_getiuservalue(L, 1, 2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_SCOPE]);
  } else {
    lua_pushnil(L);
  }
  if (st->guard == s && st->scope_count > LARGE_SCOPE) st->guard = NULL;
  st->scope = st->scopes || st->guard != s ? s->outer : s;
  st->scope_count = s->outer_count;
  s->done = true;
}

/* Releases the tensors of the scope at 1; those in the set at `kept` (0: none) go to the scope
 * around. What the core holds as well (parameters, gradients) is not the scope's to release. The
 * table is empty then. */
static void leave(lua_State *L, int kept) {
  const uint8_t held = LUC_TF_HAS_PEER | LUC_TF_PARAMETER | LUC_TF_BUFFER;
  scope *s = luc_l_userdata(L, 1, sizeof *s);
  luc_l_state *st = s ? s->st : NULL;
  if (!st || s->done || !st->ctx) return;
  lua_Integer n = st->scope_count;
  lua_getiuservalue(L, 1, 1);
  restore_outer(L, st, s);
  int outer = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, outer - 1, i);
    luc_l_box *box = luc_l_tobox(L, -1);
    bool stays = !box || !box->t || box->outlives || (box->t->flags & held) || is_kept(L, kept);
    if (!stays) luc_l_release_box(L, st, box);
    if (stays && box && st->scopes) {
      lua_rawseti(L, outer, ++st->scope_count);
    } else {
      lua_pop(L, 1);
    }
    lua_pushnil(L);
    lua_rawseti(L, outer - 1, i);
  }
  lua_settop(L, outer - 2);
}

static int scope_close(lua_State *L) {
  lua_settop(L, 1);
  leave(L, 0);
  return 0;
}

static scope *push_new_guard(lua_State *L, luc_l_state *st) {
  scope *s = lua_newuserdatauv(L, sizeof *s, 2);
  *s = (scope){.st = st, .done = true};
  luc_l_push_table(L, 0, "v");
  lua_setiuservalue(L, -2, 1);
  luc_l_set_meta(L, st, LUC_L_SCOPE_META);
  if (st->guard) return s;
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_GUARD]);
  return st->guard = s;
}

static scope *push_guard(lua_State *L, luc_l_state *st) {
  if (!st->guard || !st->guard->done) return push_new_guard(L, st);
  luc_l_get(L, st, LUC_L_GUARD);
  return st->guard;
}

/* Puts a guard below the arguments and makes its scope the running one. */
static void enter(lua_State *L, luc_l_state *st) {
  scope *s = push_guard(L, st);
  if (st->scopes) {
    luc_l_get(L, st, LUC_L_SCOPE);
    lua_setiuservalue(L, -2, 2);
  }
  lua_insert(L, 1);
  lua_toclose(L, 1);
  if (s != st->guard || st->scope != s) { /* an unfinished one may have died at this address */
    lua_getiuservalue(L, 1, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_SCOPE]);
  }
  s->outer = st->scopes ? st->scope : NULL;
  s->outer_count = st->scope_count;
  s->done = false;
  st->scope = s;
  st->scopes++;
  st->scope_count = 0;
}

/* scope(f, ...): runs f and releases what it made and does not return. f cannot yield: what others
 * make meanwhile would be taken for its own. */
static int run_scope(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_l_context(L, st);
  if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL)
    return luc_l_error(L, "scope: f must be a function (got %s)", luaL_typename(L, 1));
  if (!lua_isfunction(L, 1)) lua_pop(L, 1); /* what luaL_getmetafield found */
  int nargs = lua_gettop(L) - 1;
  enter(L, st);
  lua_call(L, nargs, LUA_MULTRET);
  int nresults = lua_gettop(L) - 1, kept = nresults ? nresults + 2 : 0;
  luc_l_checkstack(L, 12);
  if (kept) lua_createtable(L, 0, nresults);
  for (int i = 2; i < kept; i++) keep(L, i, kept, 0);
  leave(L, kept);
  lua_settop(L, nresults + 1);
  return nresults;
}

void luc_l_open_scope(lua_State *L, luc_l_state *st) {
  luc_l_make_meta(L, st, LUC_L_SCOPE_META, "lucerna.scope");
  lua_pushcfunction(L, scope_close);
  lua_setfield(L, -2, "__close");
  luc_l_get(L, st, LUC_L_CORE);
  lua_pushcfunction(L, run_scope);
  lua_setfield(L, -2, "scope");
  lua_pushcfunction(L, outlive_scopes);
  lua_setfield(L, -2, "_outlive");
  lua_pop(L, 2);
}
