/* Automatic mixed precision as Lua sees it: regions, and what is set. lucerna/autocast.lua gives
 * them PyTorch's names. */
#include "l_args.h"
#include "ops/autocast.h"

/* What an autocast region puts back. */
typedef struct region {
  luc_l_state *st;
  bool done;
  luc_autocast back;
} region;

static int region_close(lua_State *L) {
  region *r = luc_l_userdata(L, 1, sizeof *r);
  if (!r || r->done || !r->st->ctx) return 0;
  r->done = true;
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

/* Begins a region; returns the value whose __close ends it. */
static int enter_autocast(lua_State *L, luc_l_state *st, luc_l_args *a) {
  region *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (region){st, false, luc__autocast_get(st->ctx)};
  luc_l_get(L, st, LUC_L_REGION_META);
  lua_setmetatable(L, -2);
  luc__autocast_enter(st->ctx, autocast_of(st, a));
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
    {"_enter_autocast(bool? on=None, dtype? dtype=None, bool? cache=None)", enter_autocast,
     LUC_F_FUNCTION},
    {"_set_autocast(bool? on=None, dtype? dtype=None, bool? cache=None)", set_autocast,
     LUC_F_FUNCTION},
    {"_get_autocast()", get_autocast, LUC_F_FUNCTION},
    {"clear_autocast_cache()", clear_autocast, LUC_F_FUNCTION},
};

void luc_l_open_autocast(lua_State *L, luc_l_state *st) {
  luc_l_make_plain_meta(L, st, LUC_L_REGION_META, "lucerna.region", "__close", region_close);
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
}
