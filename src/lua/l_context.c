/* What belongs to the context: random seeds and generators, threads, the clock, memory, and
 * lucerna.scope; and questions about a tensor that no operator answers. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "cuda/cuda.h"
#include "l_args.h"
#include "ops/geometry.h"

/* ---- random numbers ---- */

static luc_l_generator *push_generator(lua_State *L, luc_l_state *st) {
  luc_l_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  memset(g, 0, sizeof *g);
  g->magic = LUC_L_MAGIC_GENERATOR;
  g->generator = &g->own;
  luc_l_get(L, st, LUC_L_GENERATOR_META);
  lua_setmetatable(L, -2);
  return g;
}

static uint64_t fresh_seed(void) {
  uint64_t x = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uint64_t)(luc_clock() * 1e9);
  return (x ^ x >> 29) >> 11;
}

/* PyTorch's default seed of a new generator. */
static int generator_new(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_status status = luc__check_device(st->ctx, "Generator", &a->v[0]);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
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
  luc_status status = luc_tensor_from(st->ctx, LUC_UINT8, 1, &size, bytes, &box->t);
  return status == LUC_OK ? 1 : luc_l_raise(L, st, status);
}

static int set_state_of(lua_State *L, luc_generator *g, const luc_tensor *t) {
  bool fits = t->dtype == LUC_UINT8 && t->ndim == 1 && t->numel == LUC_RNG_STATE_BYTES &&
              luc__is_contiguous(t) && luc__generator_load(g, (const uint8_t *)t->data);
  if (fits) return 0;
  return luc_l_error(L, "set_state: expected a state that get_state or PyTorch returned");
}

static int set_rng_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  return set_state_of(L, &st->ctx->rng, a->v[0].as.tensor);
}

static int set_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  set_state_of(L, luc_as_generator(st->ctx, &a->v[0]), a->v[1].as.tensor);
  lua_settop(L, 1);
  return 1;
}

static int clone_state(lua_State *L, luc_l_state *st, luc_l_args *a) {
  *push_generator(L, st)->generator = *luc_as_generator(st->ctx, &a->v[0]);
  return 1;
}

/* ---- threads, clock, memory ---- */

static int set_num_threads(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int64_t n = a->v[0].as.i;
  luc_status status = luc_set_num_threads(st->ctx, n > 0 && n < 1 << 16 ? (int)n : 0);
  return status == LUC_OK ? 0 : luc_l_raise(L, st, status);
}

static int get_num_threads(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushinteger(L, luc_get_num_threads(st->ctx));
  return 1;
}

static int set_winograd_enabled(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)L;
  luc_set_winograd(st->ctx, a->v[0].as.i != 0);
  return 0;
}

static int is_winograd_enabled(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushboolean(L, luc_get_winograd(st->ctx));
  return 1;
}

static int monotonic_clock(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushnumber(L, luc_clock());
  return 1;
}

static int memory(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  luc_memory m = luc_memory_stats(st->ctx);
  const struct {
    const char *name;
    size_t bytes;
  } fields[] = {{"live", m.live},
                {"cached", m.cached},
                {"peak", m.peak},
                {"limit", m.limit},
                {"pace", st->pace.limit}};
  lua_createtable(L, 0, 5);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    lua_pushinteger(L, (lua_Integer)fields[i].bytes);
    lua_setfield(L, -2, fields[i].name);
  }
  return 1;
}

static int set_memory_limit(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int64_t bytes = a->v[0].as.i;
  if (bytes < 0) return luc_l_error(L, "set_memory_limit: bytes must not be negative");
  luc_memory_set_limit(st->ctx, (size_t)bytes);
  luc_l_pace_limit(L, st);
  return 0;
}

static int trim_memory(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)L, (void)a;
  luc_memory_trim(st->ctx);
  return 0;
}

/* ---- scope ---- */

/* What ends a scope; user values: its tensors (weak), the table of the scope around it. One is kept
 * for scope after scope; those inside others have their own. */
typedef struct luc_l_scope {
  luc_l_state *st;
  struct luc_l_scope *outer;
  lua_Integer outer_count;
  bool done;
} scope;

enum { LARGE_SCOPE = 1024 };

/* Marks what is at `index` as kept in the set at `kept`: tensors, and those in plain tables. */
static void keep(lua_State *L, int index, int kept, int depth) {
  if (luc_l_tobox(L, index)) {
    lua_pushvalue(L, index);
    lua_pushboolean(L, true);
    lua_rawset(L, kept);
  } else if (lua_type(L, index) == LUA_TTABLE && depth < 16) {
    luaL_checkstack(L, 6, NULL);
    lua_pushnil(L);
    while (lua_next(L, index)) {
      keep(L, lua_gettop(L), kept, depth + 1);
      lua_pop(L, 1);
    }
  }
}

/* Is the box on top of the stack in the set at `kept` (0: there is none)? */
static bool is_kept(lua_State *L, int kept) {
  if (!kept) return false;
  lua_pushvalue(L, -1);
  bool found = lua_rawget(L, kept) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* The scope around is the running one again; pushes its table, or nil where there is none: then
 * that of the kept guard stays where it is. One that has grown is not kept: the collector looks
 * through it. */
static void restore_outer(lua_State *L, luc_l_state *st, scope *s, int guard) {
  if (--st->scopes) {
    lua_getiuservalue(L, guard, 2);
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

/* Releases the scope's tensors; those in the set at `kept` (0: none) go to the scope around. What
 * the core holds as well (parameters, gradients) is not the scope's to release. The table is empty
 * then. */
static void leave(lua_State *L, int guard, int kept) {
  const uint8_t held = LUC_TF_HAS_PEER | LUC_TF_PARAMETER | LUC_TF_BUFFER;
  scope *s = lua_touserdata(L, guard);
  luc_l_state *st = s->st;
  if (s->done || !st->ctx) return;
  lua_Integer n = st->scope_count;
  lua_getiuservalue(L, guard, 1);
  restore_outer(L, st, s, guard);
  int outer = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, outer - 1, i);
    luc_l_box *box = luc_l_tobox(L, -1);
    bool stays = !box || !box->t || (box->t->flags & held) || is_kept(L, kept);
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
  leave(L, 1, 0);
  return 0;
}

static void push_weak_table(lua_State *L) {
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

static scope *push_new_guard(lua_State *L, luc_l_state *st) {
  scope *s = lua_newuserdatauv(L, sizeof *s, 2);
  *s = (scope){.st = st, .done = true};
  push_weak_table(L);
  lua_setiuservalue(L, -2, 1);
  luc_l_get(L, st, LUC_L_SCOPE_META);
  lua_setmetatable(L, -2);
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
  luaL_checkstack(L, 12, NULL);
  if (kept) lua_createtable(L, 0, nresults);
  for (int i = 2; i < kept; i++) keep(L, i, kept, 0);
  leave(L, 1, kept);
  lua_settop(L, nresults + 1);
  return nresults;
}

/* ---- questions ---- */

static int is_tensor(lua_State *L) {
  lua_pushboolean(L, luc_l_tobox(L, 1) != NULL);
  return 1;
}

static int release(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  luc_l_release_box(L, st, luc_l_tobox(L, 1));
  return 0;
}

static int push_length(lua_State *L, luc_l_state *st, const luc_tensor *t, const luc_value *dim,
                       const char *who, const int64_t *values) {
  int d;
  if (luc_is_none(dim)) {
    luc_l_pushsizes(L, t->ndim, values);
    return 1;
  }
  luc_status status = luc__dim_wrap(st->ctx, who, dim->as.i, t->ndim, &d);
  if (status == LUC_OK && !t->ndim)
    status = luc__fail(st->ctx, LUC_ERR_INDEX, "%s: a 0-d tensor has no dimensions", who);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  lua_pushinteger(L, values[d]);
  return 1;
}

static int size(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_tensor *t = a->v[0].as.tensor;
  return push_length(L, st, t, &a->v[1], "size", t->sizes);
}

static int stride(lua_State *L, luc_l_state *st, luc_l_args *a) {
  const luc_tensor *t = a->v[0].as.tensor;
  luc_l_need_shape(L, st, "stride", t);
  return push_length(L, st, t, &a->v[1], "stride", t->strides);
}

static int dim(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_need_shape(L, st, "dim", a->v[0].as.tensor);
  lua_pushinteger(L, a->v[0].as.tensor->ndim);
  return 1;
}

static int numel(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_need_shape(L, st, "numel", a->v[0].as.tensor);
  lua_pushinteger(L, a->v[0].as.tensor->numel);
  return 1;
}

static int element_size(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushinteger(L, (lua_Integer)luc__dtype_size((luc_dtype)a->v[0].as.tensor->dtype));
  return 1;
}

static int storage_offset(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushinteger(L, a->v[0].as.tensor->offset);
  return 1;
}

static int is_contiguous(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__is_contiguous(a->v[0].as.tensor));
  return 1;
}

static int is_floating_point(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_is_float((luc_dtype)a->v[0].as.tensor->dtype));
  return 1;
}

static int is_complex(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_is_complex((luc_dtype)a->v[0].as.tensor->dtype));
  return 1;
}

/* A conjugate is computed at once. */
static int is_conj(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushboolean(L, false);
  return 1;
}

static int is_signed(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_is_signed((luc_dtype)a->v[0].as.tensor->dtype));
  return 1;
}

static int get_device(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushinteger(L, -1);
  return 1;
}

static int is_nonzero(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  luc_tensor *t = a->v[0].as.tensor;
  if (t->numel != 1)
    return luc_l_error(L, "is_nonzero: needs a Tensor of one element (got %I)",
                       (LUAI_UACINT)t->numel);
  double parts[2];
  luc__load_complex(t->data, (luc_dtype)t->dtype, parts);
  lua_pushboolean(L, parts[0] != 0 || parts[1] != 0);
  return 1;
}

/* ---- printing ---- */

static luc_status profile_options(luc_context *ctx, const char *name, luc_print_options *o) {
  int which;
  LUC_TRY(luc__choice(ctx, "set_printoptions", "profile", "default|short|full", name, &which));
  *o = (luc_print_options)LUC_PRINT_DEFAULTS;
  if (which == 1) o->precision = o->edge = 2;
  if (which == 2) o->threshold = HUGE_VAL;
  return LUC_OK;
}

/* Sets an option that is given. */
static void read_option(lua_State *L, const char *name, const luc_value *v, int most, int *option) {
  if (luc_is_none(v)) return;
  if (v->as.i < 0 || v->as.i > most)
    luc_l_error(L, "set_printoptions: %s must be from 0 to %d (got %I)", name, most,
                (LUAI_UACINT)v->as.i);
  *option = (int)v->as.i;
}

/* A profile first, then what is given; sci_mode is always set, as in PyTorch. */
static int set_printoptions(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_print_options o = st->ctx->print;
  luc_status status = LUC_OK;
  if (!luc_is_none(&a->v[4])) status = profile_options(st->ctx, a->v[4].as.string, &o);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  read_option(L, "precision", &a->v[0], LUC_PRINT_PRECISION, &o.precision);
  read_option(L, "edgeitems", &a->v[2], INT_MAX, &o.edge);
  read_option(L, "linewidth", &a->v[3], INT_MAX, &o.line_width);
  if (!luc_is_none(&a->v[1])) o.threshold = a->v[1].as.f;
  o.sci_mode = luc_is_none(&a->v[5]) ? -1 : a->v[5].as.i != 0;
  st->ctx->print = o;
  return 0;
}

/* Normalises a device's name; there is only one kind. */
static int device(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_status status = luc__check_device(st->ctx, "device", &a->v[0]);
  if (status != LUC_OK) return luc_l_raise(L, st, status);
  lua_pushliteral(L, "cpu");
  return 1;
}

static int set_root(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  const char *root = luaL_checkstring(L, 1);
  if (strlen(root) < sizeof st->root) memcpy(st->root, root, strlen(root) + 1);
  return 0;
}

/* _raise(message): an error at the line of the user's code that called ours. */
static int raise(lua_State *L) {
  return luc_l_error(L, "%s", luaL_checkstring(L, 1));
}

/* ---- tables ---- */

static const luc_l_native natives[] = {
    {"Generator(device? device=None) -> Generator", generator_new, LUC_F_FUNCTION},
    {"manual_seed(int seed) -> Generator", manual_seed, LUC_F_FUNCTION},
    {"seed(Generator? generator=None) -> int", seed, LUC_F_FUNCTION},
    {"initial_seed(Generator? generator=None) -> int", initial_seed, LUC_F_FUNCTION},
    {"get_rng_state(Generator? generator=None) -> Tensor", get_state, LUC_F_FUNCTION},
    {"set_rng_state(Tensor new_state)", set_rng_state, LUC_F_FUNCTION},
    {"set_num_threads(int n)", set_num_threads, LUC_F_FUNCTION},
    {"get_num_threads() -> int", get_num_threads, LUC_F_FUNCTION},
    {"set_winograd_enabled(bool enabled)", set_winograd_enabled, LUC_F_FUNCTION},
    {"is_winograd_enabled() -> bool", is_winograd_enabled, LUC_F_FUNCTION},
    {"clock() -> float", monotonic_clock, LUC_F_FUNCTION},
    {"memory()", memory, LUC_F_FUNCTION},
    {"set_memory_limit(int bytes)", set_memory_limit, LUC_F_FUNCTION},
    {"trim_memory()", trim_memory, LUC_F_FUNCTION},
    {"set_printoptions(int? precision=None, float? threshold=None, int? edgeitems=None, int? "
     "linewidth=None, str(default|short|full)? profile=None, bool? sci_mode=None)",
     set_printoptions, LUC_F_FUNCTION},
    {"device(device device)", device, LUC_F_FUNCTION},
    {"release(Tensor self)", release, LUC_F_METHOD | LUC_F_BATCHED},
    {"size(Tensor self, Dim? dim=None)", size, LUC_F_METHOD | LUC_F_BATCHED},
    {"stride(Tensor self, Dim? dim=None)", stride, LUC_F_METHOD | LUC_F_BATCHED},
    {"dim(Tensor self) -> int", dim, LUC_F_METHOD | LUC_F_BATCHED},
    {"ndimension(Tensor self) -> int", dim, LUC_F_METHOD | LUC_F_BATCHED},
    {"numel(Tensor self) -> int", numel, LUC_F_BOTH | LUC_F_BATCHED},
    {"nelement(Tensor self) -> int", numel, LUC_F_METHOD | LUC_F_BATCHED},
    {"element_size(Tensor self) -> int", element_size, LUC_F_METHOD | LUC_F_BATCHED},
    {"storage_offset(Tensor self) -> int", storage_offset, LUC_F_METHOD | LUC_F_BATCHED},
    {"is_contiguous(Tensor self) -> bool", is_contiguous, LUC_F_METHOD | LUC_F_BATCHED},
    {"is_floating_point(Tensor self) -> bool", is_floating_point, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_complex(Tensor self) -> bool", is_complex, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_conj(Tensor self) -> bool", is_conj, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_signed(Tensor self) -> bool", is_signed, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_nonzero(Tensor self) -> bool", is_nonzero, LUC_F_BOTH},
    {"get_device(Tensor self) -> int", get_device, LUC_F_BOTH | LUC_F_BATCHED},
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

static const luaL_Reg functions[] = {{"is_tensor", is_tensor},
                                     {"scope", run_scope},
                                     {"_set_root", set_root},
                                     {"_raise", raise},
                                     {NULL, NULL}};

static void open_generators(lua_State *L, luc_l_state *st) {
  luc_l_add_natives_to(L, st, "_generator", generator_natives,
                       sizeof generator_natives / sizeof *generator_natives);
  luc_l_make_meta(L, st, LUC_L_GENERATOR_META, "Generator");
  luc_l_get(L, st, LUC_L_CORE);
  lua_getfield(L, -1, "_generator");
  lua_setfield(L, -3, "__index");
  push_generator(L, st)->generator = &st->ctx->rng;
  lua_setfield(L, -2, "default_generator");
  lua_pop(L, 2);
}

static int cuda_device_count(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushinteger(L, luc__cuda_device_count());
  return 1;
}

static int cuda_is_available(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st, (void)a;
  lua_pushboolean(L, luc__cuda_device_count() > 0);
  return 1;
}

static const luc_l_native cuda_natives[] = {
    {"device_count() -> int", cuda_device_count, LUC_F_FUNCTION},
    {"is_available() -> bool", cuda_is_available, LUC_F_FUNCTION}};

void luc_l_open_context(lua_State *L, luc_l_state *st) {
  luc_l_add_natives(L, st, natives, sizeof natives / sizeof *natives);
  open_generators(L, st);
  luc_l_add_natives_to(L, st, "_cuda", cuda_natives, sizeof cuda_natives / sizeof *cuda_natives);
  luc_l_make_meta(L, st, LUC_L_SCOPE_META, "lucerna.scope");
  lua_pushcfunction(L, scope_close);
  lua_setfield(L, -2, "__close");
  luc_l_get(L, st, LUC_L_CORE);
  luaL_setfuncs(L, functions, 0);
  lua_pushliteral(L, LUC_VERSION);
  lua_setfield(L, -2, "_version");
  luc_l_get(L, st, LUC_L_METHODS);
  lua_setfield(L, -2, "Tensor");
  lua_pop(L, 2);
}
