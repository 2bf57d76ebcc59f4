/* What belongs to the context: threads, the clock, memory, how tensors print; and questions about a
 * tensor that no operator answers. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "cuda/cuda.h"
#include "l_args.h"
#include "ops/geometry.h"
#include "tensor/text.h"

/* ---- threads, clock, memory ---- */

static int set_num_threads(lua_State *L, luc_l_state *st, luc_l_args *a) {
  int64_t n = a->v[0].as.i;
  n = n > INT_MAX ? INT_MAX : n < -INT_MAX ? -INT_MAX : n;
  return luc_l_results(L, st, 0, luc_set_num_threads(st->ctx, (int)n));
}

static int get_num_threads(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)a;
  lua_pushinteger(L, luc_get_num_threads(st->ctx));
  return 1;
}

static int set_flush_denormal(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc_set_flush_denormal(a->v[0].as.i != 0));
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
  luc_status status = luc__dim_wrap(st->ctx, dim->as.i, t->ndim, &d);
  if (status == LUC_OK && !t->ndim)
    status = luc__fail(st->ctx, LUC_ERR_INDEX, "a 0-d tensor has no dimensions");
  luc_l_check(L, st, luc__failed_as(st->ctx, status, who));
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
  lua_pushinteger(L, (lua_Integer)luc__dtype_size(a->v[0].as.tensor->dtype));
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

static int is_inference(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, a->v[0].as.tensor->flags & LUC_TF_INFERENCE);
  return 1;
}

static int is_floating_point(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_is_float(a->v[0].as.tensor->dtype));
  return 1;
}

static int is_complex(lua_State *L, luc_l_state *st, luc_l_args *a) {
  (void)st;
  lua_pushboolean(L, luc__dtype_is_complex(a->v[0].as.tensor->dtype));
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
  lua_pushboolean(L, luc__dtype_is_signed(a->v[0].as.tensor->dtype));
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
  luc__load_complex(t->data, t->dtype, parts);
  lua_pushboolean(L, parts[0] != 0 || parts[1] != 0);
  return 1;
}

/* ---- printing ---- */

static luc_status profile_options(luc_context *ctx, const char *name, luc_print_options *o) {
  int which;
  LUC_TRY(luc__choice(ctx, "profile", "default|short|full", name, &which));
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
  luc_l_check(L, st, luc__failed_as(st->ctx, status, "set_printoptions"));
  read_option(L, "precision", &a->v[0], LUC_PRINT_PRECISION, &o.precision);
  read_option(L, "edgeitems", &a->v[2], INT_MAX, &o.edge);
  read_option(L, "linewidth", &a->v[3], INT_MAX, &o.line_width);
  if (!luc_is_none(&a->v[1])) o.threshold = a->v[1].as.f;
  o.sci_mode = luc_is_none(&a->v[5]) ? -1 : a->v[5].as.i != 0;
  st->ctx->print = o;
  return 0;
}

/* Normalises a device's name; there is only one kind, and one of it. */
static int device(lua_State *L, luc_l_state *st, luc_l_args *a) {
  luc_l_check(L, st, luc__failed_as(st->ctx, luc__check_device(st->ctx, &a->v[0]), "device"));
  lua_pushliteral(L, "cpu");
  return 1;
}

/* _set_root(root, name_of): how chunk names of our own Lua files begin, and a function that gives
 * the name of a public one. */
static int set_root(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  const char *root = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (strlen(root) < sizeof st->root) memcpy(st->root, root, strlen(root) + 1);
  lua_settop(L, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_NAME_OF]);
  return 0;
}

/* _fail(message) or _fail(format, ...), as string.format takes it: an error at the line of the
 * user's code that called ours. */
static int fail(lua_State *L) {
  const int n = lua_gettop(L);
  luaL_checkstring(L, 1);
  if (n > 1) {
    lua_getfield(L, 1, "format");
    lua_insert(L, 1);
    lua_call(L, n, 1);
  }
  return luc_l_error(L, "%s", lua_tostring(L, -1));
}

/* ---- tables ---- */

static const luc_l_native natives[] = {
    {"set_num_threads(int n)", set_num_threads, LUC_F_FUNCTION},
    {"get_num_threads() -> int", get_num_threads, LUC_F_FUNCTION},
    {"set_flush_denormal(bool mode) -> bool", set_flush_denormal, LUC_F_FUNCTION},
    {"set_winograd_enabled(bool enabled)", set_winograd_enabled, LUC_F_FUNCTION},
    {"is_winograd_enabled() -> bool", is_winograd_enabled, LUC_F_FUNCTION},
    {"clock() -> float", monotonic_clock, LUC_F_FUNCTION},
    {"memory() -> Any", memory, LUC_F_FUNCTION},
    {"set_memory_limit(int bytes)", set_memory_limit, LUC_F_FUNCTION},
    {"trim_memory()", trim_memory, LUC_F_FUNCTION},
    {"set_printoptions(int? precision=None, float? threshold=None, int? edgeitems=None, int? "
     "linewidth=None, str(default|short|full)? profile=None, bool? sci_mode=None)",
     set_printoptions, LUC_F_FUNCTION},
    {"device(device device, int? index=None) -> device", device, LUC_F_FUNCTION},
    {"release(Tensor self)", release, LUC_F_METHOD | LUC_F_BATCHED},
    {"size(Tensor self, Dim? dim=None) -> Any", size, LUC_F_METHOD | LUC_F_BATCHED},
    {"stride(Tensor self, Dim? dim=None) -> Any", stride, LUC_F_METHOD | LUC_F_BATCHED},
    {"dim(Tensor self) -> int", dim, LUC_F_METHOD | LUC_F_BATCHED},
    {"ndimension(Tensor self) -> int", dim, LUC_F_METHOD | LUC_F_BATCHED},
    {"numel(Tensor self) -> int", numel, LUC_F_BOTH | LUC_F_BATCHED},
    {"nelement(Tensor self) -> int", numel, LUC_F_METHOD | LUC_F_BATCHED},
    {"element_size(Tensor self) -> int", element_size, LUC_F_METHOD | LUC_F_BATCHED},
    {"storage_offset(Tensor self) -> int", storage_offset, LUC_F_METHOD | LUC_F_BATCHED},
    {"is_contiguous(Tensor self) -> bool", is_contiguous, LUC_F_METHOD | LUC_F_BATCHED},
    {"is_inference(Tensor self) -> bool", is_inference, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_floating_point(Tensor self) -> bool", is_floating_point, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_complex(Tensor self) -> bool", is_complex, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_conj(Tensor self) -> bool", is_conj, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_signed(Tensor self) -> bool", is_signed, LUC_F_BOTH | LUC_F_BATCHED},
    {"is_nonzero(Tensor self) -> bool", is_nonzero, LUC_F_BOTH},
    {"get_device(Tensor self) -> int", get_device, LUC_F_BOTH | LUC_F_BATCHED},
};

/* core._float_text(number): as Python writes it */
static int float_text(lua_State *L) {
  char text[LUC_FLOAT_TEXT];
  luc__float_text(text, luaL_checknumber(L, 1));
  lua_pushstring(L, text);
  return 1;
}

/* core._before(a, b): for table.sort: strings by their bytes. Lua's < follows the locale. */
static int before(lua_State *L) {
  size_t m, n;
  if (lua_type(L, 1) != LUA_TSTRING || lua_type(L, 2) != LUA_TSTRING) {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
  }
  const char *a = lua_tolstring(L, 1, &m), *b = lua_tolstring(L, 2, &n);
  int order = memcmp(a, b, m < n ? m : n);
  lua_pushboolean(L, order ? order < 0 : m < n);
  return 1;
}

/* _given(value) -> what messages call it: number 1, string 'x', Tensor [2, 3] */
static int given(lua_State *L) {
  lua_pushstring(L, luc_l_given(L, 1));
  return 1;
}

static const luaL_Reg functions[] = {
    {"is_tensor", is_tensor}, {"_set_root", set_root}, {"_fail", fail}, {"_float_text", float_text},
    {"_before", before},      {"_given", given},       {NULL, NULL}};

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
  luc_l_add_natives_to(L, st, "_cuda", cuda_natives, sizeof cuda_natives / sizeof *cuda_natives);
  luc_l_get(L, st, LUC_L_CORE);
  luaL_setfuncs(L, functions, 0);
  lua_pushliteral(L, LUC_VERSION);
  lua_setfield(L, -2, "_version");
  luc_l_get(L, st, LUC_L_METHODS);
  lua_setfield(L, -2, "Tensor");
  lua_pop(L, 1);
}
