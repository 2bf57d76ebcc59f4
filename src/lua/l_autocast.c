/* Automatic mixed precision as Lua sees it: regions, and what is set. lucerna/autocast.lua gives
 * them PyTorch's names. */
#include "l_args.h"
#include "ops/autocast.h"

/* A region of autocast, which calling it begins and closing it ends. */
typedef struct region {
  luc_l_state *st;
  bool in_force;
  luc_autocast to, back;
} region;

static int region_enter(lua_State *L) {
  region *r = luc_l_userdata(L, 1, sizeof *r);
  if (!r || r->in_force || !r->st->ctx) return 0;
  r->back = luc__autocast_get(r->st->ctx);
  luc__autocast_enter(r->st->ctx, r->to);
  r->in_force = true;
  return 0;
}

static int region_close(lua_State *L) {
  region *r = luc_l_userdata(L, 1, sizeof *r);
  if (!r || !r->in_force || !r->st->ctx) return 0;
  r->in_force = false;
  r->to = luc__autocast_get(r->st->ctx); /* for a function that goes on */
  luc__autocast_leave(r->st->ctx, r->back);
  return 0;
}

static luc_autocast autocast_of(luc_l_state *st, const luc_l_args *a) {
  luc_autocast to = luc__autocast_get(st->ctx);
  if (a->v[0].kind == LUC_BOOLEAN) to.on = a->v[0].as.i != 0;
  if (!luc_is_none(&a->v[1])) to.dtype = (uint8_t)a->v[1].as.i;
  if (a->v[2].kind == LUC_BOOLEAN) to.cache = a->v[2].as.i != 0;
  return to;
}

/* _autocast(on, dtype, cache): a region that has not begun. */
static int new_region(lua_State *L, luc_l_state *st, luc_l_args *a) {
  region *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (region){.st = st, .to = autocast_of(st, a)};
  luc_l_set_meta(L, st, LUC_L_REGION_META);
  return 1;
}

static int set_autocast(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)L;
  luc__autocast_set(st->ctx, autocast_of(st, a));
  return 0;
}

/* on, dtype, cache */
static int get_autocast(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  luc_autocast now = luc__autocast_get(st->ctx);
  lua_pushboolean(L, now.on);
  luc_l_pushdtype(L, st, now.dtype);
  lua_pushboolean(L, now.cache);
  return 3;
}

static int clear_autocast(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)L, (void)a;
  luc__autocast_clear(st->ctx);
  return 0;
}

static const luc_l_native natives[] = {
    {"_autocast(bool? on=None, dtype? dtype=None, bool? cache=None)", new_region, LUC_F_FUNCTION},
    {"_set_autocast(bool? on=None, dtype? dtype=None, bool? cache=None)", set_autocast,
     LUC_F_FUNCTION},
    {"_get_autocast()", get_autocast, LUC_F_FUNCTION},
    {"clear_autocast_cache()", clear_autocast, LUC_F_FUNCTION},
};

void luc_l_open_autocast(lua_State *L, luc_l_state *st) {
  luc_l_make_guard_meta(L, st, LUC_L_REGION_META, "lucerna.region", region_enter, region_close);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
