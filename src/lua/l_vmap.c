/* What lucerna.func.vmap is built from: levels, as userdata that calling enters and closing leaves,
 * and tensors seen sample by sample. A level is entered again where a coroutine goes on. */
#include "l_args.h"
#include "ops/vmap.h"

#define LUC_L_MAGIC_LEVEL 0x4C75634Cu

typedef struct level {
  uint32_t magic;
  luc_l_state *st;
  luc_vmap_level vmap;
} level;

static level *check_level(lua_State *L, int index) {
  level *l = lua_touserdata(L, index);
  bool ours = l && lua_rawlen(L, index) == sizeof *l && l->magic == LUC_L_MAGIC_LEVEL;
  if (!ours) luc_l_error(L, "vmap: expected a level");
  return l;
}

static int level_gc(lua_State *L) {
  level *l = check_level(L, 1);
  while (l->st->ctx && l->vmap.entered) luc__vmap_leave(l->st->ctx, &l->vmap);
  return 0;
}

static int level_enter(lua_State *L) {
  level *l = check_level(L, 1);
  if (l->st->ctx) luc__vmap_enter(l->st->ctx, &l->vmap);
  return 0;
}

static int level_leave(lua_State *L) {
  level *l = check_level(L, 1);
  if (l->st->ctx) luc__vmap_leave(l->st->ctx, &l->vmap);
  return 0;
}

/* Enters or leaves all levels of the list at 1. Cannot raise once they have been checked. */
static void each_level(lua_State *L, luc_l_state *st, bool enters) {
  int n = (int)lua_rawlen(L, 1);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    luc_vmap_level *vmap = &check_level(L, -1)->vmap;
    lua_pop(L, 1);
    if (enters) luc__vmap_enter(st->ctx, vmap);
    if (!enters) luc__vmap_leave(st->ctx, vmap);
  }
}

/* Takes no memory: the field is there. */
static int list_enter(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushboolean(L, true);
  lua_setfield(L, 1, "entered");
  if (st->ctx) each_level(L, st, true);
  return 0;
}

static int list_leave(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "entered");
  if (lua_toboolean(L, -1) && st->ctx) each_level(L, st, false);
  return 0;
}

/* _vmap_level(size, randomness): a level, not entered yet, and its number. */
static int new_level(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int randomness;
  luc_l_check(L, st,
              luc__failed_as(st->ctx,
                             luc__choice(st->ctx, "randomness", "error|different|same",
                                         a->v[1].as.string, &randomness),
                             "vmap"));
  level *l = lua_newuserdatauv(L, sizeof *l, 0);
  *l = (level){.magic = LUC_L_MAGIC_LEVEL, .st = st};
  l->vmap.id = ++st->ctx->next_id;
  l->vmap.size = a->v[0].as.i;
  l->vmap.randomness = (luc_randomness)randomness;
  luc_l_set_meta(L, st, LUC_L_LEVEL_META);
  lua_pushinteger(L, (lua_Integer)l->vmap.id);
  return 2;
}

/* _vmap_guard(list of levels) -> the same, which enters and leaves all of them */
static int new_list(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_settop(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  for (int i = (int)lua_rawlen(L, 1); i > 0; i--) {
    lua_rawgeti(L, 1, i);
    check_level(L, -1);
    lua_pop(L, 1);
  }
  lua_pushboolean(L, false);
  lua_setfield(L, 1, "entered");
  luc_l_get(L, st, LUC_L_LEVELS_META);
  lua_setmetatable(L, 1);
  return 1;
}

/* _batched(t, number): t, whose first dimension is the level's, as one sample of it. */
static int batched(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_box *box = luc_l_newbox(L, st);
  luc_l_check(L, st,
              luc__tensor_batched(st->ctx, a->v[0].as.tensor, (uint64_t)a->v[1].as.i, &box->t));
  return 1;
}

/* _unbatched(t) -> what t is without its innermost level, and that level's number; nil if it has
 * none. */
static int unbatched(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_tensor *t = a->v[0].as.tensor;
  if (!t->inner) return 0;
  luc_l_box *box = luc_l_newbox(L, st);
  box->t = luc_tensor_retain(t->inner);
  lua_pushinteger(L, (lua_Integer)luc__batch_level(t));
  return 2;
}

/* _vmap_levels() -> numbers and sizes of the entered levels, innermost first. */
static int levels(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_newtable(L);
  lua_newtable(L);
  int n = 0;
  for (const luc_vmap_level *l = st->ctx->vmap; l; l = l->outer) {
    lua_pushinteger(L, (lua_Integer)l->id);
    lua_rawseti(L, -3, ++n);
    lua_pushinteger(L, (lua_Integer)l->size);
    lua_rawseti(L, -2, n);
  }
  return 2;
}

static const luc_l_native natives[] = {
    {"_vmap_level(int size, str randomness)", new_level, LUC_F_FUNCTION},
    {"_vmap_guard(Any levels)", new_list, LUC_F_FUNCTION},
    {"_vmap_levels()", levels, LUC_F_FUNCTION},
    {"_batched(Tensor t, int level)", batched, LUC_F_FUNCTION | LUC_F_BATCHED},
    {"_unbatched(Tensor t)", unbatched, LUC_F_FUNCTION | LUC_F_BATCHED},
};

void luc_l_open_vmap(lua_State *L, luc_l_state *st) {
  luc_l_make_guard_meta(L, st, LUC_L_LEVEL_META, "lucerna.level", level_enter, level_leave);
  luc_l_get(L, st, LUC_L_LEVEL_META);
  lua_pushcfunction(L, level_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luc_l_make_guard_meta(L, st, LUC_L_LEVELS_META, "lucerna.levels", list_enter, list_leave);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
