/* Optimizers for Lua: a userdata around the core's object, and functions over it that
 * lua/lucerna/optim builds the public classes from. Options live in Lua's groups, where users
 * change them; a step copies what has changed into the core. */
#include "l_args.h"
#include "lucerna/autograd.h"
#include "lucerna/optim.h"
#include "ops/embedding.h"
#include "optim/optimizer.h"

#define LUC_L_MAGIC_OPTIMIZER 0x4C75634Fu

/* Its user value has the tables that state[p] has given, by the addresses of the parameters. */
typedef struct optimizer_box {
  uint32_t magic;
  luc_l_state *st;
  luc_optimizer *o;
  int group, param; /* the place found last */
} optimizer_box;

static int optimizer_gc(lua_State *L) {
  optimizer_box *box = luc_l_userdata(L, 1, sizeof *box);
  if (!box) return 0;
  if (box->o && box->st->ctx) luc_optimizer_free(box->st->ctx, box->o);
  box->o = NULL;
  return 0;
}

static optimizer_box *check_optimizer(lua_State *L) {
  optimizer_box *box = lua_touserdata(L, 1);
  bool ours = box && lua_rawlen(L, 1) == sizeof *box && box->magic == LUC_L_MAGIC_OPTIMIZER;
  if (!ours || !box->o) luc_l_error(L, "optimizer: expected one of the core's optimizers");
  luc_l_context(L, box->st);
  return box;
}

static int optimizer_new(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  const char *kind = luaL_checkstring(L, 1);
  optimizer_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (optimizer_box){.magic = LUC_L_MAGIC_OPTIMIZER, .st = st};
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  return luc_l_results(L, st, 1, luc_optimizer_new(ctx, kind, &box->o));
}

/* ---- options ---- */

/* optimizer_schema(o) -> the options as help() shows them */
static int optimizer_schema(lua_State *L) {
  lua_pushstring(L, check_optimizer(L)->o->kind->schema);
  return 1;
}

/* The schema's signature, and below it the list of its names in order: both are made once. */
static const luc_l_sig *push_sig(lua_State *L, luc_l_state *st, const luc_schema *schema) {
  int known = lua_upvalueindex(1);
  if (lua_rawgetp(L, known, schema->text) != LUA_TNIL) {
    lua_rawgetp(L, known, schema);
    return lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  lua_createtable(L, schema->nparams, 0);
  for (int p = 0; p < schema->nparams; p++) {
    lua_pushstring(L, schema->params[p].name);
    lua_rawseti(L, -2, p + 1);
  }
  luc_l_sig *sig = lua_newuserdatauv(L, sizeof *sig, 0);
  luc_l_sig_init(L, st, sig, schema, NULL);
  sig->as_given = true;
  lua_pushvalue(L, -1);
  lua_rawsetp(L, known, schema);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, known, schema->text);
  return sig;
}

/* Adds the options to the table on top of the stack. */
static void set_options(lua_State *L, const luc_l_sig *sig, const luc_l_args *args, int names) {
  const luc_schema *schema = sig->schema;
  for (int p = 0; p < schema->nparams; p++) {
    lua_rawgeti(L, names, p + 1);
    if (args->given >> p & 1 || !schema->params[p].whole)
      luc_l_push_value(L, &args->v[p], false);
    else
      lua_pushinteger(L, (lua_Integer)args->v[p].as.f);
    lua_rawset(L, -3);
  }
}

/* optimizer_options(o, ...) -> options by name, with defaults; the names in order, which all
 * optimizers of the kind share */
static int optimizer_options(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  luc_l_args args;
  int last = lua_gettop(L), names = last + 1;
  const luc_l_sig *sig = push_sig(L, box->st, box->o->schema);
  luc_l_parse(L, box->st, sig, 2, last, &args);
  lua_createtable(L, 0, sig->schema->nparams);
  set_options(L, sig, &args, names);
  lua_pushvalue(L, names);
  return 2;
}

/* ---- tables, made in one piece: growing one field by field takes several times as long ---- */

/* The value on top of the stack as what the function at 2 makes of it. */
static void made_value(lua_State *L) {
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

/* The value on top of the stack as one of the copy's own: a plain table as a copy of it, what is no
 * number, boolean or string as what the function makes of it, and so are tables in tables. */
static void own_value(lua_State *L) {
  int type = lua_type(L, -1), at = lua_gettop(L);
  if (type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TSTRING) return;
  if (type != LUA_TTABLE || lua_getmetatable(L, at)) {
    lua_settop(L, at);
    made_value(L);
    return;
  }
  lua_createtable(L, (int)lua_rawlen(L, at), 0);
  for (lua_pushnil(L); lua_next(L, at); lua_rawset(L, at + 1)) {
    if (lua_istable(L, -1)) made_value(L);
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
  }
  lua_replace(L, at);
}

/* optimizer_fields(t, own, into, but) -> a copy of t with values of its own, without the keys of
 * `but`, if given: in a table, or in a new one with room for so many fields */
static int optimizer_fields(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 4);
  const bool all = lua_isnil(L, 4);
  if (!all) luaL_checktype(L, 4, LUA_TTABLE);
  if (lua_type(L, 3) != LUA_TTABLE) {
    lua_createtable(L, 0, (int)luaL_checkinteger(L, 3));
    lua_replace(L, 3);
  }
  for (lua_pushnil(L); lua_next(L, 1);) {
    if (!all) {
      lua_pushvalue(L, 5);
      bool taken = lua_rawget(L, 4) == LUA_TNIL;
      lua_settop(L, taken ? 6 : 5);
      if (!taken) continue;
    }
    own_value(L);
    lua_pushvalue(L, 5);
    lua_insert(L, 6);
    lua_rawset(L, 3);
  }
  lua_settop(L, 3);
  return 1;
}

/* put(t, key, value, ...): fields that no debug hook, nor its error, comes between */
static int put(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  for (lua_settop(L, lua_gettop(L) | 1); lua_gettop(L) > 1;) lua_rawset(L, 1);
  return 0;
}

/* optimizer_params(t) -> the plain array t as a new one, if it has nothing but tensors; else nil */
static int optimizer_params(lua_State *L) {
  lua_settop(L, 1);
  if (!lua_istable(L, 1) || lua_getmetatable(L, 1)) return 0;
  lua_createtable(L, (int)lua_rawlen(L, 1), 0);
  lua_Integer n = 0; /* keys in another order may be no array's */
  for (lua_pushnil(L); lua_next(L, 1); lua_rawseti(L, 2, n))
    if (!lua_isinteger(L, 3) || lua_tointeger(L, 3) != ++n || !luc_l_tobox(L, 4)) return 0;
  return 1;
}

/* The tensors of the array at `index`, in a userdata that is pushed. An optimizer of the core (box)
 * gives these objects back. */
static luc_tensor **read_params(lua_State *L, const char *who, const optimizer_box *box, int index,
                                int *n) {
  *n = (int)lua_rawlen(L, index);
  luc_tensor **params = lua_newuserdatauv(L, (size_t)*n * sizeof *params + 1, 0);
  for (int i = 0; i < *n; i++) {
    lua_rawgeti(L, index, i + 1);
    params[i] = luc_l_checktensor(L, -1, who, "params");
    luc_l_need_values(L, "step", params[i]);
    if (box) luc_l_setpeer(L, box->st, -1);
    lua_pop(L, 1);
  }
  return params;
}

/* Adds those of the array on top to a set. Does not raise. */
static luc_status add_tensors(lua_State *L, luc_context *ctx, luc_set *set) {
  luc_status status = LUC_OK;
  bool added;
  if (!lua_istable(L, -1)) return LUC_OK;
  for (int i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL && status == LUC_OK; i++) {
    luc_tensor *t = luc_l_totensor(L, -1);
    if (t) status = luc__set_add(ctx, set, t, &added);
    lua_pop(L, 1);
  }
  return status;
}

/* optimizer_check_params(who, params, groups): raises unless they are fit for another group */
static int optimizer_check_params(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  const char *who = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 3);
  lua_pushliteral(L, "params");
  int n;
  luc_tensor **params = read_params(L, who, NULL, 2, &n);
  luc_set seen = {0};
  luc_status status = LUC_OK;
  for (int g = 1; status == LUC_OK && lua_rawgeti(L, 3, g) == LUA_TTABLE; g++) {
    lua_pushvalue(L, 4);
    lua_rawget(L, -2);
    status = add_tensors(L, ctx, &seen);
    lua_settop(L, 5);
  }
  if (status == LUC_OK) status = luc__optimizer_check_params(ctx, who, false, &seen, params, n);
  luc__set_free(ctx, &seen);
  return luc_l_results(L, st, 0, status);
}

/* optimizer_ids(params, first) -> {first, first + 1, ...}, as many */
static int optimizer_ids(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1), first = luaL_checkinteger(L, 2);
  lua_settop(L, 2);
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)((lua_Unsigned)first + (lua_Unsigned)i));
    lua_rawseti(L, 3, i + 1);
  }
  return 1;
}

/* known_rows(t) -> the rows of a table's gradient that may be other than zero, or t */
static int known_rows(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_tensor *t = luc_l_checktensor(L, 1, "known_rows", "t");
  luc_l_box *box = luc_l_newbox(L, st);
  luc_l_check(L, st, luc__known_rows(ctx, t, &box->t));
  if (!box->t) lua_settop(L, 1);
  return 1;
}

/* scale(t, factor): t *= factor, a tensor of one number */
static int scale(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  luc_tensor *t = luc_l_checktensor(L, 1, "scale", "t");
  return luc_l_results(L, st, 0, luc__scale(ctx, t, luc_l_checktensor(L, 2, "scale", "factor")));
}

/* A group's options as the core takes them. Lists point into `floats`. */
typedef struct group_options {
  luc_value v[LUC_MAX_PARAMS];
  double floats[LUC_SCHEMA_FLOATS];
} group_options;

/* One number (maybe in a tensor) or boolean at the top of the stack, popped; of a list, an item. */
static double read_number(lua_State *L, const optimizer_box *box, const luc_param *param,
                          int item) {
  bool boolean = param->type == LUC_T_BOOL;
  double value;
  luc_tensor *t = boolean ? NULL : luc_l_totensor(L, -1);
  if (t) {
    luc_l_check(L, box->st, luc_tensor_item(box->st->ctx, t, &value));
    lua_pop(L, 1);
    return value;
  }
  bool fits = boolean ? lua_isboolean(L, -1) || lua_isnil(L, -1) : lua_type(L, -1) == LUA_TNUMBER;
  if (!fits && item)
    luc_l_error(L, "%s: %s must be a table of numbers (got %s at position %d)", box->o->kind->name,
                param->name, luc_l_given(L, -1), item);
  if (!fits)
    luc_l_error(L, "%s: %s must be a %s (got %s)", box->o->kind->name, param->name,
                boolean ? "boolean" : "number", luc_l_given(L, -1));
  value = boolean ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

static luc_value read_list(lua_State *L, const optimizer_box *box, const luc_param *param,
                           double *floats) {
  if (lua_type(L, -1) != LUA_TTABLE)
    luc_l_error(L, "%s: %s must be a table of %d numbers (got %s)", box->o->kind->name, param->name,
                param->list, luc_l_given(L, -1));
  for (int i = 0; i < param->list; i++) {
    lua_rawgeti(L, -1, i + 1);
    floats[i] = read_number(L, box, param, i + 1);
  }
  lua_pop(L, 1);
  return (luc_value){.kind = LUC_FLOATS, .n = param->list, .as.floats = floats};
}

/* The options of the table at the top of the stack. */
static void read_options(lua_State *L, const optimizer_box *box, group_options *out) {
  const luc_schema *schema = box->o->schema;
  int used = 0;
  for (int p = 0; p < schema->nparams; p++) {
    const luc_param *param = &schema->params[p];
    out->v[p] = param->def;
    if (param->optional) continue; /* foreach, fused: one implementation serves all */
    lua_getfield(L, -1, param->name);
    if (param->list) {
      out->v[p] = read_list(L, box, param, out->floats + used);
      used += param->list;
    } else {
      double value = read_number(L, box, param, 0);
      out->v[p] = param->type == LUC_T_BOOL ? luc_v_bool(value != 0) : luc_v_float(value);
    }
  }
}

/* optimizer_check_options(o, options): raises unless a step could read them */
static int optimizer_check_options(lua_State *L) {
  group_options options;
  const optimizer_box *box = check_optimizer(L);
  lua_settop(L, 2);
  read_options(L, box, &options);
  return 0;
}

/* ---- groups and steps ---- */

/* optimizer_add_group(o, params, options) -> the group's position */
static int optimizer_add_group(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  int n, group;
  group_options options;
  lua_pushvalue(L, 3);
  read_options(L, box, &options);
  luc_tensor **params = read_params(L, box->o->kind->name, box, 2, &n);
  luc_l_check(L, box->st,
              luc__optimizer_add_group(box->st->ctx, box->o, params, n, options.v, &group));
  lua_pushinteger(L, group + 1);
  return 1;
}

/* Takes over what a user has made of the parameters of the group at the top of the stack, for the
 * optimizer at 1. */
static void take_params(lua_State *L, const optimizer_box *box, int group) {
  if (lua_getfield(L, -1, "params") != LUA_TTABLE)
    luc_l_error(L, "%s: param_groups[%d].params must be a table of tensors (got %s)",
                box->o->kind->name, group + 1, luc_l_given(L, -1));
  const luc_optim_group *g = box->o->groups[group];
  int n = g->n;
  bool same = lua_rawlen(L, -1) == (lua_Unsigned)n;
  for (int i = 0; i < g->n && same; i++) {
    lua_rawgeti(L, -1, i + 1);
    same = luc_l_totensor(L, -1) == g->slots[i].param;
    lua_pop(L, 1);
  }
  if (!same) {
    luc_tensor **params = read_params(L, box->o->kind->name, box, lua_gettop(L), &n);
    lua_pushnil(L);
    lua_setiuservalue(L, 1, 1);
    luc_l_check(L, box->st, luc__optimizer_exchange(box->st->ctx, box->o, group, params, n));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Those of the groups at `index`, of the optimizer at 1. */
static void take_all(lua_State *L, const optimizer_box *box, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  for (int g = 0; g < luc_optimizer_num_groups(box->o); g++) {
    if (lua_rawgeti(L, index, g + 1) == LUA_TTABLE) take_params(L, box, g);
    lua_pop(L, 1);
  }
}

/* optimizer_take(o, groups): their parameters, for what knows them by their places */
static int optimizer_take(lua_State *L) {
  take_all(L, check_optimizer(L), 2);
  return 0;
}

/* optimizer_step(o, groups) */
static int optimizer_step(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  group_options options;
  int n = luc_optimizer_num_groups(box->o);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (lua_rawlen(L, 2) > (size_t)n)
    return luc_l_error(L,
                       "%s: param_groups has more than the %d groups that were added: use "
                       "add_param_group",
                       box->o->kind->name, n);
  for (int g = 0; g < n; g++) {
    if (lua_rawgeti(L, 2, g + 1) != LUA_TTABLE)
      return luc_l_error(L, "%s: param_groups[%d] is missing", box->o->kind->name, g + 1);
    read_options(L, box, &options);
    take_params(L, box, g);
    luc__optimizer_take(box->o, g, options.v);
    lua_pop(L, 1);
  }
  return luc_l_results(L, box->st, 0, luc_optimizer_step(box->st->ctx, box->o));
}

/* ---- state ---- */

/* Arguments 2 and 3 as a group and a parameter, from 0. */
static void check_place(lua_State *L, const optimizer_box *box, int *group, int *param) {
  lua_Integer g = luaL_checkinteger(L, 2), p = luaL_checkinteger(L, 3);
  bool inside = g >= 1 && g <= luc_optimizer_num_groups(box->o) && p >= 1 &&
                p <= luc_optimizer_num_params(box->o, (int)g - 1);
  if (!inside)
    luc_l_error(L, "%s: there is no parameter %d in group %d", box->o->kind->name, (int)p, (int)g);
  *group = (int)g - 1;
  *param = (int)p - 1;
}

/* A number of the state as PyTorch keeps it: a tensor without dimensions. */
static void push_scalar(lua_State *L, optimizer_box *box, double number) {
  luc_context *ctx = box->st->ctx;
  luc_dtype dtype = ctx->default_dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  luc_scalar value = {LUC_SCALAR_FLOAT, {.f = number}};
  luc_l_box *made = luc_l_newbox(L, box->st);
  luc_l_check(L, box->st, luc__tensor_scalar(ctx, value, dtype, &made->t));
}

/* Where parameter t is; false if it is none of them. The next one asked for is mostly the next. */
static bool find_place(optimizer_box *box, const luc_tensor *t, int *group, int *param) {
  const luc_optimizer *o = box->o;
  for (int pass = 0; pass < 2; pass++) {
    int p = pass ? 0 : box->param;
    for (int g = pass ? 0 : box->group; g < o->ngroups; g++, p = 0)
      for (; p < o->groups[g]->n; p++) {
        if (o->groups[g]->slots[p].param != t) continue;
        *group = box->group = g;
        *param = box->param = p;
        return true;
      }
  }
  return false;
}

/* optimizer_place(o, param) -> its group and its position there, or nothing */
static int optimizer_place(lua_State *L) {
  int group, param;
  if (!find_place(check_optimizer(L), luc_l_totensor(L, 2), &group, &param)) return 0;
  lua_pushinteger(L, group + 1);
  lua_pushinteger(L, param + 1);
  return 2;
}

static bool has_state(const luc_optimizer *o, int group, int param) {
  for (int s = 0; luc_optimizer_state_name(o, s); s++)
    if (luc_optimizer_state(o, group, param, s)) return true;
  return false;
}

/* Is t what push_scalar would make of the number? */
static bool is_scalar(const optimizer_box *box, const luc_tensor *t, double number) {
  const luc_dtype dtype = box->st->ctx->default_dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  if (!t || t->ndim || t->inner || t->dtype != dtype) return false;
  return luc__load_scalar(t->data, dtype).as.f == (dtype == LUC_FLOAT64 ? number : (float)number);
}

/* The tensor that the state on top has under field i of the list at `names`. */
static luc_tensor *known_tensor(lua_State *L, int names, int i) {
  lua_rawgeti(L, names, i);
  lua_rawget(L, -2);
  luc_tensor *t = luc_l_totensor(L, -1);
  lua_pop(L, 1);
  return t;
}

static void write_scalar(lua_State *L, optimizer_box *box, int names, int i, double number) {
  if (is_scalar(box, known_tensor(L, names, i), number)) return;
  lua_rawgeti(L, names, i);
  push_scalar(L, box, number);
  lua_rawset(L, -3);
}

/* Writes a parameter's state into the table on top, where it is not there yet. names: a list of its
 * fields' names. */
static void write_state(lua_State *L, optimizer_box *box, int group, int param, int names) {
  const luc_optimizer *o = box->o;
  int i = 1;
  for (int s = 0; luc_optimizer_state_name(o, s); s++, i++) {
    luc_tensor *t = luc_optimizer_state(o, group, param, s);
    if (known_tensor(L, names, i) == t) continue;
    lua_rawgeti(L, names, i);
    luc_l_pushtensor(L, box->st, t);
    lua_rawset(L, -3);
  }
  if (!luc_optimizer_state(o, group, param, 0)) return;
  for (int s = 0; luc_optimizer_scalar_name(o, s); s++, i++)
    write_scalar(L, box, names, i, luc_optimizer_scalar(o, group, param, s));
  const int64_t steps = luc_optimizer_steps(o, group, param);
  if (o->kind->counts == LUC_COUNTS_INTEGER) {
    lua_rawgeti(L, names, i);
    lua_pushinteger(L, steps);
    lua_rawset(L, -3);
  } else if (o->kind->counts) {
    write_scalar(L, box, names, i, (double)steps);
  }
}

/* Pushes a table for the states that the optimizer at 1 keeps: it begins with the names of their
 * fields. */
static void new_kept(lua_State *L, const luc_optimizer *o) {
  const char *name;
  lua_Integer n = 0;
  lua_newtable(L);
  for (int s = 0; (name = luc_optimizer_state_name(o, s)); s++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, ++n);
  }
  for (int s = 0; (name = luc_optimizer_scalar_name(o, s)); s++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, ++n);
  }
  if (o->kind->counts) {
    lua_pushliteral(L, "step");
    lua_rawseti(L, -2, ++n);
  }
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, 1);
}

/* A parameter's state in a table that the optimizer at 1 keeps: whenever it is asked for, it is as
 * the state is then, like the one that PyTorch has. */
static bool push_kept_state(lua_State *L, optimizer_box *box, int group, int param) {
  if (!has_state(box->o, group, param)) return false;
  const void *key = box->o->groups[group]->slots[param].param;
  const int at = lua_gettop(L) + 1;
  if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
    new_kept(L, box->o);
    lua_replace(L, at);
  }
  if (lua_rawgetp(L, at, key) != LUA_TTABLE) {
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, at, key);
    lua_replace(L, at + 1);
  }
  write_state(L, box, group, param, at);
  lua_replace(L, at);
  lua_settop(L, at);
  return true;
}

/* Its table is nobody's from now on. */
static void forget_state(lua_State *L, const optimizer_box *box, int group, int param) {
  const void *key = box->o->groups[group]->slots[param].param;
  if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE && lua_rawgetp(L, -1, key) != LUA_TNIL) {
    lua_pushnil(L); /* an existing key: cannot raise */
    lua_rawsetp(L, -3, key);
  }
}

/* Puts the optimizer of the view at 1 into its place, and the view at 3. The upvalues are the keys
 * under which a view has that and the object that holds it. */
static optimizer_box *check_view(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_rawget(L, 3);
  lua_replace(L, 1);
  return check_optimizer(L);
}

/* view[param] -> {name = tensor}, empty before the first step; nil of no parameter */
static int view_index(lua_State *L) {
  optimizer_box *box = check_view(L);
  int group, param;
  const luc_tensor *t = luc_l_totensor(L, 2);
  if (!find_place(box, t, &group, &param)) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_rawget(L, 3);
    lua_getfield(L, 4, "param_groups");
    take_all(L, box, 5);
    if (!find_place(box, t, &group, &param)) return 0;
  }
  if (!push_kept_state(L, box, group, param)) lua_newtable(L);
  return 1;
}

/* next(view, param) -> the next parameter that has a state, and that */
static int view_next(lua_State *L) {
  optimizer_box *box = check_view(L);
  int group = 0, param = -1;
  if (!lua_isnil(L, 2) && !find_place(box, luc_l_totensor(L, 2), &group, &param)) return 0;
  for (param++; group < box->o->ngroups; group++, param = 0)
    for (; param < box->o->groups[group]->n; param++) {
      if (!has_state(box->o, group, param)) continue;
      luc_l_pushtensor(L, box->st, box->o->groups[group]->slots[param].param);
      push_kept_state(L, box, group, param);
      return 2;
    }
  return 0;
}

/* optimizer_view(core, owner) -> what reads views that have their optimizers and what holds them
 * under these keys; what is their next */
static int optimizer_view(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, view_index, 2);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, view_next, 1);
  return 2;
}

/* Replaces the state on top, which is kept, by a table of the caller's own. */
static void copy_fields(lua_State *L) {
  const int kept = lua_gettop(L), names = kept + 1;
  lua_getiuservalue(L, 1, 1);
  lua_createtable(L, 0, 4);
  for (int i = 1; lua_rawgeti(L, names, i) != LUA_TNIL; i++) {
    lua_pushvalue(L, -1);
    lua_rawget(L, kept);
    lua_rawset(L, names + 1);
  }
  lua_settop(L, names + 1);
  lua_replace(L, kept);
  lua_settop(L, kept);
}

/* optimizer_states(o) -> the states that there are, by parameters' numbers from 0. Their tensors
 * stand in those that are kept, so that they are objects of Lua's once. */
static int optimizer_states(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  const luc_optimizer *o = box->o;
  int n = 0, id = 0;
  for (int g = 0; g < o->ngroups; g++) n += o->groups[g]->n;
  lua_settop(L, 1);
  lua_createtable(L, n, 1);
  for (int g = 0; g < o->ngroups; g++)
    for (int p = 0; p < o->groups[g]->n; p++, id++) {
      if (!push_kept_state(L, box, g, p)) continue;
      copy_fields(L);
      lua_rawseti(L, 2, id);
    }
  return 1;
}

/* A field of a state table that is a number or a tensor of one element. */
static double number_of(lua_State *L, optimizer_box *box, int table, const char *name) {
  double value = 0;
  lua_getfield(L, table, name);
  luc_tensor *t = luc_l_totensor(L, -1);
  if (t) {
    luc_l_check(L, box->st, luc_tensor_item(box->st->ctx, t, &value));
  } else {
    value = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return value;
}

static double steps_of(lua_State *L, optimizer_box *box, int table) {
  double steps = number_of(L, box, table, "step");
  if (!(steps >= 0 && steps < 0x1p53))
    luc_l_error(L, "%s: state 'step' must count from 0 (got %f)", box->o->kind->name, steps);
  return steps;
}

/* optimizer_copy_state(o, group, param, {name = tensor}) -> copies for optimizer_set_state, tensors
 * and numbers */
static int optimizer_copy_state(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  int group, param;
  const char *name;
  bool any = false;
  check_place(L, box, &group, &param);
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_createtable(L, 0, 4);
  int copies = lua_gettop(L);
  for (int s = 0; (name = luc_optimizer_state_name(box->o, s)); s++) {
    lua_getfield(L, 4, name);
    luc_tensor *t = luc_l_totensor(L, -1);
    any |= t != NULL;
    if (!t) continue;
    luc_l_box *copy = luc_l_newbox(L, box->st);
    luc_l_check(L, box->st,
                luc_optimizer_copy_state(box->st->ctx, box->o, group, param, s, t, &copy->t));
    lua_setfield(L, copies, name);
  }
  for (int s = 0; (name = luc_optimizer_scalar_name(box->o, s)); s++) {
    lua_pushnumber(L, number_of(L, box, 4, name));
    lua_setfield(L, copies, name);
  }
  lua_pushnumber(L, box->o->kind->counts ? steps_of(L, box, 4) : any);
  lua_setfield(L, copies, "step");
  lua_settop(L, copies);
  return 1;
}

/* optimizer_set_state(o, group, param, copies): cannot fail */
static int optimizer_set_state(lua_State *L) {
  optimizer_box *box = check_optimizer(L);
  int group, param;
  const char *name;
  check_place(L, box, &group, &param);
  forget_state(L, box, group, param);
  lua_settop(L, 4);
  for (int s = 0; (name = luc_optimizer_state_name(box->o, s)); s++) {
    lua_getfield(L, 4, name);
    luc_optimizer_set_state(box->st->ctx, box->o, group, param, s, luc_l_totensor(L, -1));
    lua_pop(L, 1);
  }
  for (int s = 0; (name = luc_optimizer_scalar_name(box->o, s)); s++) {
    lua_getfield(L, 4, name);
    luc_optimizer_set_scalar(box->o, group, param, s, lua_tonumber(L, -1));
    lua_pop(L, 1);
  }
  lua_getfield(L, 4, "step");
  luc_optimizer_set_steps(box->o, group, param, (int64_t)lua_tonumber(L, -1));
  return 0;
}

void luc_l_open_optim(lua_State *L, luc_l_state *st) {
  static const luaL_Reg functions[] = {{"_optimizer_schema", optimizer_schema},
                                       {"_optimizer_fields", optimizer_fields},
                                       {"_put", put},
                                       {"_optimizer_params", optimizer_params},
                                       {"_optimizer_check_params", optimizer_check_params},
                                       {"_optimizer_ids", optimizer_ids},
                                       {"_optimizer_place", optimizer_place},
                                       {"_optimizer_check_options", optimizer_check_options},
                                       {"_optimizer_add_group", optimizer_add_group},
                                       {"_optimizer_step", optimizer_step},
                                       {"_known_rows", known_rows},
                                       {"_scale", scale},
                                       {"_optimizer_take", optimizer_take},
                                       {"_optimizer_view", optimizer_view},
                                       {"_optimizer_states", optimizer_states},
                                       {"_optimizer_copy_state", optimizer_copy_state},
                                       {"_optimizer_set_state", optimizer_set_state},
                                       {NULL, NULL}};
  (void)st;
  luaL_setfuncs(L, functions, 0);
  luc_l_push_gc(L, optimizer_gc); /* the metatable of all */
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  lua_pushcclosure(L, optimizer_new, 1);
  lua_setfield(L, -2, "_optimizer_new");
  lua_createtable(L, 0, 0); /* signatures and lists of names by schema */
  lua_pushcclosure(L, optimizer_options, 1);
  lua_setfield(L, -2, "_optimizer_options");
}
