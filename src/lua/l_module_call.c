/* Calling modules. Pure C subtrees run in the core; forward and __init of C classes are functions
 * in their tables; a C host that calls a module written in Lua comes through a protected callback.
 * The path in error messages is found here, by looking at the stack when an error is raised. */
#include <stdio.h>
#include <string.h>

#include "l_module.h"
#include "ops/counting.h"

/* ---- results ---- */

/* The module that takes a chain's arguments, or gives its results: itself if it is empty. */
static const luc_module *edge_of(const luc_module *m, bool last) {
  while (m->cls->core->def->flags & LUC_CF_CHAIN) {
    int n = luc_module_num_children(m), i = 0;
    luc_module *child = NULL;
    while (i < n && !child) {
      child = luc_module_child_at(m, last ? n - 1 - i : i);
      i++;
    }
    if (!child) break;
    m = child;
  }
  return m;
}

/* The class whose forward that is. */
static const luc_l_class *edge_class(lua_State *L, luc_l_nn *nn, const luc_module *m, bool last) {
  const luc_class *cls = edge_of(m, last)->cls;
  if (cls->binding) return cls->binding;
  if (!cls->core->binding) { /* only C has used it so far */
    luc_l_pushclass(L, nn, cls->core);
    lua_pop(L, 1);
  }
  return cls->core->binding;
}

/* What an embedding looks positions up in, or NULL. */
static const luc_tensor *table_of(const luc_module *m) {
  luc_slot slot;
  const luc_map_entry *e = luc__slot_find(edge_of(m, false), "weight", 6, &slot);
  return e && slot == LUC_SLOT_PARAMETER ? e->value : NULL;
}

static luc_status count_from_one(luc_context *ctx, const luc_l_class *c, luc_outputs *out) {
  luc_status status = LUC_OK;
  for (int i = 0; i < out->n && status == LUC_OK; i++)
    if (c->index_results & 1u << i && out->v[i].kind == LUC_TENSOR)
      status = luc__index_to_one(ctx, &out->v[i].as.tensor);
  if (status != LUC_OK) luc_outputs_release(ctx, out);
  return status;
}

static void drop_spare(luc_l_nn *nn) {
  for (int i = 0; i < nn->nspare; i++) luc__value_release(nn->st->ctx, &nn->spare[i]);
  nn->nspare = 0;
}

/* Pushes results other than one tensor. While boxes are made, nn keeps what is not yet Lua's. */
static int push_several(lua_State *L, luc_l_nn *nn, luc_outputs *out) {
  drop_spare(nn);
  memcpy(nn->spare, out->v, sizeof out->v);
  nn->nspare = out->n;
  for (int i = 0; i < out->n; i++) {
    luc_value *v = &nn->spare[i];
    if (v->kind == LUC_TENSOR) {
      luc_l_box *box = luc_l_newbox(L, nn->st);
      box->t = v->as.tensor;
      *v = luc_v_none();
    } else if (v->kind == LUC_TENSORS) {
      luc_l_push_tensors(L, nn->st, v);
      luc__value_release(nn->st->ctx, v);
    } else {
      luc_l_push_value(L, v, false);
    }
  }
  nn->nspare = 0;
  return out->n;
}

/* Pushes results, the first in the box prepared at `at`. A tensor that came in goes out as it is.
 */
static int push_outputs(lua_State *L, luc_l_nn *nn, luc_l_box *box, int at, luc_outputs *out) {
  if (out->n != 1 || out->v[0].kind != LUC_TENSOR) return push_several(L, nn, out);
  box->t = out->v[0].as.tensor;
  bool same = box->t->refs > 1 && luc_l_totensor(L, 2) == box->t;
  if (same)
    luc_l_spare_box(L, nn->st, at);
  else
    luc_l_note_box(L, nn->st, box, at);
  lua_pushvalue(L, same ? 2 : at);
  return 1;
}

/* ---- calls ---- */

typedef luc_status (*run_fn)(luc_context *ctx, luc_module *m, const luc_class *cls, luc_value *args,
                             int nargs, luc_outputs *out);

static luc_status run_whole(luc_context *ctx, luc_module *m, const luc_class *cls, luc_value *args,
                            int nargs, luc_outputs *out) {
  (void)cls;
  return luc__module_run(ctx, m, args, nargs, out);
}

/* One try: reads the arguments at 2..top and runs. Without a forward there are none: running says
 * so. */
static luc_status attempt(lua_State *L, luc_l_peer *peer, const luc_l_class *c, run_fn run, int top,
                          luc_outputs *out) {
  luc_l_state *st = peer->nn->st;
  luc_l_args a;
  luc_tensor *alone = top == 2 && c->takes_one ? luc_l_totensor(L, 2) : NULL;
  const int nargs = alone ? 1 : c->forward.schema->nparams;
  const bool indices = !alone && c->forward.index_mask;
  if (alone)
    a.v[0] = luc_v_tensor(alone);
  else if (nargs > 0)
    luc_l_parse(L, st, &c->forward, 2, top, &a);
  if (indices) LUC_TRY(luc_l_index_from_one(st, &c->forward, table_of(peer->m), false, &a));
  lua_State *outer = luc_l_enter(st, L);
  luc_status status = run(st->ctx, peer->m, c->cls->core, a.v, nargs, out);
  st->L = outer;
  if (indices) luc_l_args_release(st, &a);
  return status;
}

/* Does the value at 2 go through as it is? Whatever Identity and an empty chain get does, keyword
 * arguments aside; tensors take the common way. */
static bool passes(lua_State *L, const luc_module *m) {
  const luc_class_def *def = m->cls->core->def;
  const bool any = def->flags & LUC_CF_CHAIN ? luc_module_num_children(m) == 0
                                             : def->forward == luc__identity_forward;
  if (!any || lua_gettop(L) != 2 || luc_l_totensor(L, 2)) return false;
  const bool named = luc_l_layout_of(L, 2, 2).kw;
  lua_settop(L, 2);
  return !named;
}

static int call(lua_State *L, luc_l_peer *peer, const luc_l_class *c, const luc_l_class *last,
                run_fn run) {
  luc_l_nn *nn = peer->nn;
  int top = lua_gettop(L);
  if (passes(L, peer->m)) return 1;
  luc_l_box *box = luc_l_newbox(L, nn->st);
  luc_outputs out;
  luc_status status = attempt(L, peer, c, run, top, &out);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, nn->st)) {
    lua_settop(L, top + 1);
    status = attempt(L, peer, c, run, top, &out);
  }
  if (status == LUC_OK && last->index_results) status = count_from_one(nn->st->ctx, last, &out);
  luc_l_check(L, nn->st, status);
  int n = push_outputs(L, nn, box, top + 1, &out);
  if (nn->st->ctx->unpacked_nodes) status = luc_l_pack_saved(L, nn->st);
  return luc_l_results(L, nn->st, n, status);
}

/* Is the input of this layer a PackedSequence of Lua's? */
static bool is_packed(lua_State *L, const luc_class *cls) {
  return cls->core->def->flags & LUC_CF_PACKED && lua_type(L, 2) == LUA_TTABLE;
}

/* Lua takes a PackedSequence apart and calls the function on top with its data. */
static int call_packed(lua_State *L, luc_l_nn *nn) {
  luc_l_push_function(L, nn, "packed");
  lua_insert(L, 1);
  lua_insert(L, 2); /* the helper, the function, the arguments */
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

int luc_l_module_call(lua_State *L) {
  luc_l_peer *peer = luc_l_checkpeer(L, 1, "nn");
  luc_module *m = peer->m;
  if (is_packed(L, m->cls)) {
    lua_pushcfunction(L, luc_l_module_call);
    return call_packed(L, peer->nn);
  }
  luc__nn_of(peer->nn->st->ctx)->failed = false;
  const luc_l_class *first = peer->cls, *last = first;
  if (m->cls->core->def->flags & LUC_CF_CHAIN) {
    first = edge_class(L, peer->nn, m, false);
    last = edge_class(L, peer->nn, m, true);
  }
  return call(L, peer, first, last, run_whole);
}

/* The class table's own C functions: upvalue 1 is their luc_l_class. */
static luc_l_peer *check_own(lua_State *L, const luc_l_class *c, const char *who) {
  luc_l_peer *peer = luc_l_topeer(L, 1);
  if (!peer || !peer->m || !luc__class_is(peer->m->cls, c->cls))
    luc_l_error(L, "%s.%s: self must be a %s (got %s)", c->cls->name, who, c->cls->name,
                luc_l_given(L, 1));
  luc_l_context(L, c->nn->st);
  return peer;
}

int luc_l_module_forward(lua_State *L) {
  const luc_l_class *c = lua_touserdata(L, lua_upvalueindex(1));
  luc_l_peer *peer = check_own(L, c, "forward");
  if (is_packed(L, c->cls)) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, luc_l_module_forward, 1);
    return call_packed(L, peer->nn);
  }
  return call(L, peer, c, c, luc__class_forward);
}

/* What was cached under the names of slots may have been replaced by C code. */
static void forget_slots(lua_State *L, luc_l_peer *peer, int index) {
  luc_map_entry *e;
  lua_getiuservalue(L, index, 1);
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&peer->m->slots[slot], &at)) != NULL;) {
      lua_pushlstring(L, e->key, e->length);
      lua_pushnil(L);
      lua_rawset(L, -3);
    }
  }
  lua_pop(L, 1);
}

/* What a class made in Lua has under the name of a slot would hide it. */
static void check_shadows(lua_State *L, luc_l_peer *peer) {
  luc_map_entry *e;
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&peer->m->slots[slot], &at)) != NULL;) {
      lua_pushlstring(L, e->key, e->length);
      luc_l_class_get(L, peer);
      if (!lua_isnil(L, -1)) luc_l_error(L, "attribute '%s' already exists", lua_tostring(L, -2));
      lua_pop(L, 2);
    }
  }
}

/* What C registered while building passes through the class's own methods and the hooks. */
static void announce(lua_State *L, luc_l_peer *peer) {
  enum { OWN = LUC_L_OWN_REGISTER_PARAMETER | LUC_L_OWN_REGISTER_BUFFER };
  luc_l_nn *nn = peer->nn;
  if (nn->overrides & OWN && luc_l_overrides_of(peer->m) & OWN) {
    luc_l_push_function(L, nn, "reregister");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    peer->m->fresh = false;
  }
  if (!luc__nn_of(nn->st->ctx)->registration) return;
  lua_State *outer = luc_l_enter(nn->st, L);
  luc_l_leave(L, nn->st, outer, luc__registration_built(nn->st->ctx, peer->m));
}

/* Does the constructor call reset_parameters? Lazy layers call it once they have shapes, and an
 * embedding's _weight is taken as it is given. */
static bool fills_itself(const luc_l_peer *peer, const luc_l_class *c, const luc_l_args *a) {
  const luc_class *cls = c->cls->core;
  if (!luc_l_resets_itself(peer)) return false;
  int given = luc__schema_find(cls->constructor, "_weight");
  return cls->dtype_param >= 0 && !(cls->def->flags & LUC_CF_LAZY) &&
         (given < 0 || luc_is_none(&a->v[given]));
}

int luc_l_module_build(lua_State *L) {
  const luc_l_class *c = lua_touserdata(L, lua_upvalueindex(1));
  luc_l_peer *peer = check_own(L, c, "__init");
  luc_l_state *st = c->nn->st;
  luc_nn *nn = luc__nn_of(st->ctx);
  luc_l_args a;
  bool any = (c->cls->core->def->flags & LUC_CF_ANY_ARGS) != 0;
  int n = c->constructor.schema->nparams;
  luc_l_parse(L, st, &c->constructor, 2, any ? 1 : lua_gettop(L), &a);
  bool own = fills_itself(peer, c, &a);
  lua_State *outer = luc_l_enter(st, L);
  const luc_module *acting = nn->host_acts;
  const bool skips = nn->skip_parameters;
  nn->host_acts = peer->m;
  nn->skip_parameters = own;
  luc_status status = luc__module_build(st->ctx, peer->m, c->cls->core, a.v, n);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st))
    status = luc__module_build(st->ctx, peer->m, c->cls->core, a.v, n);
  nn->skip_parameters = skips;
  nn->host_acts = acting;
  luc_l_leave(L, st, outer, status);
  forget_slots(L, peer, 1);
  luc_l_forget_children(L, 1);
  luc_l_attach_children(L, peer, 1);
  if (peer->m->cls->host) check_shadows(L, peer);
  announce(L, peer);
  if (own) luc_l_reset(L, peer);
  return 0;
}

/* ---- a C host calls a module of Lua's ---- */

typedef struct host_call {
  luc_l_nn *nn;
  luc_module *m;
  const luc_value *args;
  int nargs;
  luc_outputs *out;
} host_call;

static void push_argument(lua_State *L, luc_l_nn *nn, const luc_value *v) {
  if (v->kind == LUC_TENSOR)
    luc_l_pushtensor(L, nn->st, v->as.tensor);
  else
    luc_l_push_value(L, v, false);
}

luc_value luc_l_plain_value(lua_State *L, int index) {
  luc_tensor *t = luc_l_totensor(L, index);
  luc_scalar s;
  if (t) return luc_v_tensor(t);
  return luc_l_toscalar(L, index, &s) ? luc_v_scalar(s) : luc_v_none();
}

/* Takes the values from `from` up as outputs. Nothing raises once the first is taken. */
static void take_outputs(lua_State *L, int from, luc_outputs *out) {
  int n = lua_gettop(L) - from + 1;
  for (int i = 0; i < n; i++) {
    bool fits = luc_l_totensor(L, from + i) || lua_type(L, from + i) <= LUA_TNUMBER;
    if (!fits || n > LUC_MAX_OUTPUTS)
      luc_l_error(L, "forward: a host takes up to %d tensors (got a %s as number %d)",
                  LUC_MAX_OUTPUTS, luaL_typename(L, from + i), i + 1);
  }
  out->n = n;
  for (int i = 0; i < n; i++) {
    out->v[i] = luc_l_plain_value(L, from + i);
    if (out->v[i].kind == LUC_TENSOR) luc_tensor_retain(out->v[i].as.tensor);
  }
}

static int call_protected(lua_State *L) {
  host_call *h = lua_touserdata(L, 1);
  luc_l_checkstack(L, h->nargs + 8);
  luc_l_pushmodule(L, h->nn, h->m);
  for (int i = 0; i < h->nargs; i++) push_argument(L, h->nn, &h->args[i]);
  lua_call(L, h->nargs, LUA_MULTRET);
  take_outputs(L, 2, h->out);
  return 0;
}

static luc_status host_call_module(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                                   int nargs, luc_outputs *out) {
  luc_l_nn *nn = ud;
  host_call h = {nn, m, args, nargs, out};
  if (!m->peer) return luc__fail(ctx, LUC_ERR_STATE, "%s: its Lua state is gone", m->cls->name);
  return luc_l_protect(nn->st, call_protected, &h);
}

/* ---- tensors that stand outside the slots ---- */

typedef struct tensor_call {
  luc_l_nn *nn;
  luc_module *m;
  const char *name;
  size_t length;
  luc_tensor *found; /* retained */
} tensor_call;

static int tensor_protected(lua_State *L) {
  tensor_call *c = lua_touserdata(L, 1);
  luc_l_pushmodule(L, c->nn, c->m);
  lua_pushlstring(L, c->name, c->length);
  lua_gettable(L, 2);
  luc_tensor *t = luc_l_totensor(L, -1);
  if (t) c->found = luc_tensor_retain(t);
  return 0;
}

static luc_status host_tensor(luc_context *ctx, void *ud, luc_module *m, const char *name,
                              size_t length, luc_tensor **out) {
  luc_l_nn *nn = ud;
  tensor_call c = {nn, m, name, length, NULL};
  (void)ctx;
  LUC_TRY(luc_l_protect(nn->st, tensor_protected, &c));
  *out = c.found;
  return LUC_OK;
}

/* ---- a norm's own check of its input ---- */

typedef struct check_call {
  luc_l_nn *nn;
  luc_module *m;
  luc_tensor *input;
} check_call;

static int check_protected(lua_State *L) {
  check_call *c = lua_touserdata(L, 1);
  luc_l_pushmodule(L, c->nn, c->m);
  lua_getfield(L, 2, "_check_input_dim");
  lua_pushvalue(L, 2);
  luc_l_pushtensor(L, c->nn->st, c->input);
  lua_call(L, 2, 0);
  return 0;
}

static luc_status host_check(luc_context *ctx, void *ud, luc_module *m, luc_tensor *input,
                             bool *checked) {
  luc_l_nn *nn = ud;
  check_call c = {nn, m, input};
  (void)ctx;
  *checked = m->peer && nn->overrides & luc_l_overrides_of(m) & LUC_L_OWN_CHECK_INPUT_DIM;
  return *checked ? luc_l_protect(nn->st, check_protected, &c) : LUC_OK;
}

/* ---- what Lua code says of a module in texts ---- */

typedef struct describe_call {
  luc_l_nn *nn;
  luc_module *m;
  luc_description *d;
} describe_call;

/* Calls the function on top with the module at 2; its string goes to the text. */
static void write_said(lua_State *L, const char *who, luc_text *text) {
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  if (lua_type(L, -1) != LUA_TSTRING)
    luc_l_error(L, "%s: must return a string (got a %s)", who, luaL_typename(L, -1));
  size_t length;
  const char *s = lua_tolstring(L, -1, &length);
  luc__text_append(text, s, length);
}

/* The same for a method, if Lua code gave the module or its class one. */
static bool say(lua_State *L, const char *method, luc_text *text) {
  bool own = lua_getfield(L, 2, method) == LUA_TFUNCTION && !lua_iscfunction(L, -1);
  if (own) write_said(L, method, text);
  lua_settop(L, 2);
  return own;
}

static int describe_protected(lua_State *L) {
  describe_call *c = lua_touserdata(L, 1);
  luc_l_pushmodule(L, c->nn, c->m);
  lua_pushliteral(L, "__tostring");
  luc_l_class_get(L, luc_l_topeer(L, 2));
  c->d->whole = lua_type(L, -1) == LUA_TFUNCTION;
  if (c->d->whole) {
    write_said(L, "__tostring", &c->d->extra);
    return 0;
  }
  lua_settop(L, 2);
  c->d->has_name = say(L, "_get_name", &c->d->name);
  c->d->has_extra = say(L, "extra_repr", &c->d->extra);
  return 0;
}

static luc_status host_describe(luc_context *ctx, void *ud, luc_module *m, luc_description *d) {
  luc_l_nn *nn = ud;
  describe_call c = {nn, m, d};
  if (!m->peer) return LUC_OK;
  (void)ctx;
  return luc_l_protect(nn->st, describe_protected, &c);
}

void luc_l_call_host(luc_host *host) {
  host->call = host_call_module;
  host->check = host_check;
  host->tensor = host_tensor;
  host->describe = host_describe;
}

/* ---- the path in messages ---- */

enum { MAX_CHAIN = 64, MAX_LEVELS = 4096 };

/* Is the function on top the forward of the peer, one of our drivers, or our C call? */
static bool is_call(lua_State *L, luc_l_peer *peer, int index) {
  lua_CFunction c = lua_tocfunction(L, -1);
  if (c) return c == luc_l_module_call || c == luc_l_module_forward || c == luc_l_hooked_call;
  int fn = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &peer->nn->functions);
  lua_getfield(L, -1, "drivers");
  bool found = false;
  if (lua_istable(L, -1)) {
    lua_pushvalue(L, fn);
    found = lua_rawget(L, -2) != LUA_TNIL;
  }
  lua_settop(L, fn);
  if (found) return true;
  /* Its own forward or an ancestor's: look along the classes without running code. */
  lua_getiuservalue(L, index, 1);
  lua_pushstring(L, peer->nn->forward);
  lua_rawget(L, -2);
  found = lua_rawequal(L, -1, fn);
  for (const luc_class *k = peer->m->cls; k && !found; k = k->parent) {
    luc_l_pushclass(L, peer->nn, k);
    lua_getiuservalue(L, -1, LUC_L_CLASS_TABLE);
    lua_pushstring(L, peer->nn->forward);
    lua_rawget(L, -2);
    found = lua_rawequal(L, -1, fn);
    lua_settop(L, fn);
  }
  lua_settop(L, fn);
  return found;
}

/* Pushes the first argument of the frame, whose function is on top; false if it has none. */
static bool push_first(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "uS", ar);
  bool vararg = *ar->what != 'C' && ar->isvararg && !ar->nparams;
  return lua_getlocal(L, ar, vararg ? -1 : 1) != NULL;
}

typedef struct place {
  luc_module *list[MAX_CHAIN]; /* whose calls are on the stack, innermost first */
  bool tail[MAX_CHAIN];        /* reached by a tail call: its parents' frames may be gone */
  int n;
} place;

/* Adds the modules of one coroutine's stack. A method that a forward ends in (return self:f(x)) has
 * taken its frame. Lua takes as many steps to find a level as its number says. */
static void find_frames(lua_State *L, place *p) {
  lua_Debug ar;
  if (!lua_checkstack(L, 12)) return;
  for (int n = 0; n < MAX_LEVELS && p->n < MAX_CHAIN && lua_getstack(L, n, &ar); n++) {
    int top = lua_gettop(L);
    luc_l_peer *peer = push_first(L, &ar) ? luc_l_topeer(L, -1) : NULL;
    if (peer && peer->m) {
      lua_getinfo(L, "ftSl", &ar);
      bool users = ar.istailcall && !luc_l_is_ours(peer->nn->st, &ar);
      bool call = is_call(L, peer, top + 1) || users;
      if (call && (p->n == 0 || p->list[p->n - 1] != peer->m)) p->list[p->n++] = peer->m;
      if (call) p->tail[p->n - 1] = ar.istailcall;
    }
    lua_settop(L, top);
  }
}

/* Writes the names from below `top` (NULL: as far up as parents are unique) down to m before `end`
 * in buf. Returns where they begin, or NULL if top was not met. */
static char *climb(const luc_module *top, const luc_module *m, char *buf, char *end) {
  while (m != top) {
    const char *name = top ? luc__child_name(top, m) : NULL;
    const luc_module *parent = name ? top : m->nparents == 1 ? m->parents[0].parent : NULL;
    if (!parent) return top ? NULL : end;
    if (!name) name = luc__child_name(parent, m);
    size_t length = strlen(name);
    if (length + 1 > (size_t)(end - buf)) return top ? NULL : end;
    if (*end) *--end = '.';
    end -= length;
    memcpy(end, name, length);
    m = parent;
  }
  return end;
}

/* "in path (Class): " from the frames and the core's part of the path. */
static void write_place(const place *p, const luc_nn *core, char *out, size_t size) {
  char path[2 * LUC_PATH_MAX];
  char *end = path + sizeof path - 1;
  *end = '\0';
  const char *cls = core->failed ? core->failed_class : p->list[0]->cls->name;
  if (core->failed && core->failed_path[0]) {
    size_t length = strlen(core->failed_path);
    end -= length;
    memcpy(end, core->failed_path, length);
  }
  int i = 0;
  for (char *begin; i + 1 < p->n; i++) {
    begin = climb(p->list[i + 1], p->list[i], path, end);
    if (!begin) break; /* called from somewhere else: the path begins here */
    end = begin;
  }
  if (p->tail[i]) end = climb(NULL, p->list[i], path, end);
  if (*end)
    snprintf(out, size, "in %s (%s): ", end, cls);
  else
    snprintf(out, size, "in %s: ", cls);
  for (; *out; out++) /* names are anybody's: a message stays one line */
    if ((unsigned char)*out < ' ') *out = '?';
}

void luc_l_push_place(lua_State *L, luc_l_state *st) {
  luc_nn *core = st->ctx ? luc__nn_of(st->ctx) : NULL;
  place p = {.n = 0};
  if (core) {
    lua_State *threads[LUC_L_THREADS];
    for (int i = luc_l_threads(L, st, threads) - 1; i >= 0; i--) find_frames(threads[i], &p);
  }
  luc_l_checkstack(L, 12);
  if (p.n == 0) {
    lua_pushliteral(L, "");
  } else {
    char text[2 * LUC_PATH_MAX + 128];
    write_place(&p, core, text, sizeof text);
    lua_pushstring(L, text);
  }
  if (core) core->failed = false;
}
