/* Random numbers: the context's generator, and others as objects. */
#include <string.h>
#include <time.h>

#include "l_args.h"
#include "ops/geometry.h"

static luc_l_generator *push_generator(lua_State *L, luc_l_state *st) {
  luc_l_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  memset(g, 0, sizeof *g);
  g->magic = LUC_L_MAGIC_GENERATOR;
  g->generator = &g->own;
  luc_l_set_meta(L, st, LUC_L_GENERATOR_META);
  return g;
}

static uint64_t fresh_seed(void) {
  uint64_t x = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uint64_t)(luc_clock() * 1e9);
  return (x ^ x >> 29) >> 11;
}

/* PyTorch's default seed of a new generator. */
static int generator_new(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_check(L, st, luc__failed_as(st->ctx, luc__check_device(st->ctx, &a->v[0]), "Generator"));
  luc__generator_seed(push_generator(L, st)->generator, 67280421310721u);
  return 1;
}

static int manual_seed(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc__generator_seed(&st->ctx->rng, (uint64_t)a->v[0].as.i);
  lua_settop(L, 0);
  luc_l_get(L, st, LUC_L_CORE);
  lua_getfield(L, -1, "default_generator");
  return 1;
}

static int generator_seed(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc__generator_seed(luc_as_generator(st->ctx, &a->v[0]), (uint64_t)a->v[1].as.i);
  lua_settop(L, 1);
  return 1;
}

static int seed(lua_State *L, luc_l_state *st, luc_l_args *a) {
  uint64_t value = fresh_seed();
  luc__generator_seed(luc_as_generator(st->ctx, &a->v[0]), value);
  lua_pushinteger(L, (lua_Integer)value);
  return 1;
}

static int initial_seed(lua_State *L, luc_l_state *st, luc_l_args *a) {
  lua_pushinteger(L, (lua_Integer)luc_as_generator(st->ctx, &a->v[0])->seed);
  return 1;
}

static int get_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_box *box = luc_l_newbox(L, st);
  uint8_t bytes[LUC_RNG_STATE_BYTES];
  int64_t size = sizeof bytes;
  luc__generator_save(luc_as_generator(st->ctx, &a->v[0]), bytes);
  return luc_l_results(L, st, 1, luc_tensor_from(st->ctx, LUC_UINT8, 1, &size, bytes, &box->t));
}

static int set_state_of(lua_State *L, const char *who, luc_generator *g, const luc_tensor *t) {
  bool fits = t->dtype == LUC_UINT8 && t->ndim == 1 && t->numel == LUC_RNG_STATE_BYTES &&
              luc__is_contiguous(t) && luc__generator_load(g, (const uint8_t *)t->data);
  if (fits) return 0;
  return luc_l_error(L, "%s: expected a state that get_state or PyTorch returned", who);
}

static int set_rng_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return set_state_of(L, "set_rng_state", &st->ctx->rng, a->v[0].as.tensor);
}

static int set_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  set_state_of(L, "set_state", luc_as_generator(st->ctx, &a->v[0]), a->v[1].as.tensor);
  lua_settop(L, 1);
  return 1;
}

static int clone_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  *push_generator(L, st)->generator = *luc_as_generator(st->ctx, &a->v[0]);
  return 1;
}

static const luc_l_native natives[] = {
    {"Generator(device? device=None) -> Generator", generator_new, LUC_F_FUNCTION},
    {"manual_seed(int seed) -> Generator", manual_seed, LUC_F_FUNCTION},
    {"seed(Generator? generator=None) -> int", seed, LUC_F_FUNCTION},
    {"initial_seed(Generator? generator=None) -> int", initial_seed, LUC_F_FUNCTION},
    {"get_rng_state(Generator? generator=None) -> Tensor", get_state, LUC_F_FUNCTION},
    {"set_rng_state(Tensor new_state)", set_rng_state, LUC_F_FUNCTION},
};

/* Methods of generators: functions of the table "_generator". */
static const luc_l_native generator_natives[] = {
    {"manual_seed(Generator self, int seed) -> Generator", generator_seed, LUC_F_FUNCTION},
    {"seed(Generator self) -> int", seed, LUC_F_FUNCTION},
    {"initial_seed(Generator self) -> int", initial_seed, LUC_F_FUNCTION},
    {"get_state(Generator self) -> Tensor", get_state, LUC_F_FUNCTION},
    {"set_state(Generator self, Tensor new_state) -> Generator", set_state, LUC_F_FUNCTION},
    {"clone_state(Generator self) -> Generator", clone_state, LUC_F_FUNCTION},
};

void luc_l_open_random(lua_State *L, luc_l_state *st) {
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
  luc_l_add_natives_to(L, st, "_generator", generator_natives,
                       sizeof generator_natives / sizeof *generator_natives);
  luc_l_make_meta(L, st, LUC_L_GENERATOR_META, "Generator");
  luc_l_get(L, st, LUC_L_CORE);
  lua_getfield(L, -1, "_generator");
  lua_pushliteral(L, "cpu");
  lua_setfield(L, -2, "device");
  lua_setfield(L, -3, "__index");
  push_generator(L, st)->generator = &st->ctx->rng;
  lua_setfield(L, -2, "default_generator");
  lua_pop(L, 2);
}
