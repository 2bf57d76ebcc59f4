/* clone for Lua: the core copies trees and tensors; lua/lucerna/nn/clone.lua copies the fields and
 * hooks, which only Lua sees. What has been copied stands in a userdata, so that what is shared by
 * both stays shared. */
#include "l_module.h"
#include "nn/copies.h"

typedef struct copies_box {
  luc_copies copies;
  luc_module *held; /* a module on its way to Lua, should making its peers fail */
} copies_box;

static int copies_gc(lua_State *L) {
  copies_box *box = luc_l_userdata(L, 1, sizeof *box);
  luc_context *ctx = luc_l_state_of(L)->ctx;
  if (!box || !ctx) return 0;
  luc__copies_free(ctx, &box->copies);
  luc__module_unref(ctx, box->held);
  box->held = NULL;
  return 0;
}

/* core.nn._copies(): nothing copied yet. */
static int copies_new(lua_State *L) {
  copies_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (copies_box){.copies = {.host = true}};
  luc_l_set_meta(L, luc_l_state_of(L), LUC_L_COPIES_META);
  return 1;
}

/* core.nn._clone(copies, m): a copy of the tree; what is Lua's is still missing. Hooks of Lua's
 * have their places, without functions. */
static int clone_tree(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 2, "clone");
  luc_l_nn *nn = peer->nn;
  copies_box *box = luc_l_checkself(L, LUC_L_COPIES_META, sizeof *box);
  luc_context *ctx = nn->st->ctx;
  luc_module *copy;
  luc_l_check(L, nn->st, luc__module_clone(ctx, &box->copies, peer->m, &copy));
  luc__module_unref(ctx, box->held);
  box->held = copy;
  luc_l_pushmodule(L, nn, copy);
  box->held = NULL;
  luc__module_unref(ctx, copy);
  return 1;
}

/* core.nn._copy(copies, tensor) */
static int copy_tensor(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  copies_box *box = luc_l_checkself(L, LUC_L_COPIES_META, sizeof *box);
  luc_tensor *t = luc_l_checktensor(L, 2, "clone", "value"), *copy;
  luc_l_need_values(L, "clone", t);
  luc_l_check(L, st, luc__copies_tensor(ctx, &box->copies, t, &copy));
  luc_l_pushtensor(L, st, copy);
  return 1;
}

/* ---- a C host copies a tree that Lua sees ---- */

typedef struct clone_call {
  luc_l_nn *nn;
  luc_module *m, *copy; /* copy: a tree reference */
} clone_call;

static int clone_protected(lua_State *L) {
  clone_call *c = lua_touserdata(L, 1);
  luc_l_pushmodule(L, c->nn, c->m);
  lua_getfield(L, 2, "clone");
  lua_insert(L, 2);
  lua_call(L, 1, 1);
  const luc_l_peer *copy = luc_l_topeer(L, 2);
  if (!copy || !copy->m) return luc_l_error(L, "clone: must return a module");
  c->copy = luc__module_ref(copy->m);
  return 0;
}

static luc_status host_clone(luc_context *ctx, void *ud, luc_module *m, luc_module **out) {
  luc_l_nn *nn = ud;
  clone_call c = {nn, m, NULL};
  (void)ctx;
  LUC_TRY(luc_l_protect(nn->st, clone_protected, &c));
  *out = c.copy;
  return LUC_OK;
}

void luc_l_clone_host(luc_host *host) {
  host->clone = host_clone;
}

static const luaL_Reg functions[] = {
    {"_copies", copies_new}, {"_clone", clone_tree}, {"_copy", copy_tensor}, {NULL, NULL}};

void luc_l_open_clone(lua_State *L, luc_l_nn *nn) {
  luc_l_add_to_nn(L, nn, functions);
  luc_l_make_gc_meta(L, nn->st, LUC_L_COPIES_META, "lucerna.copies", copies_gc);
}
