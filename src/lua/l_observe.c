/* Tapes: what lucerna.summary, lucerna.dot and lucerna.profiler learn calls from. A tape is the
 * door's observer while it is open: it notes every operator call in C, where nothing can raise or
 * yield, and gives the calls to Lua when it is asked. It holds the tensors it has noted, so their
 * addresses name them; a light one holds none. */
#include <string.h>

#include "autograd/graph.h"
#include "l_tensor.h"

/* One call. Of arguments that are no tensors, numbers and booleans are kept. */
typedef struct noted {
  luc_opid op;
  bool inplace;
  int depth, nargs, nvalues; /* values: arguments, then results */
  int64_t bytes;             /* of the memory its results took: not views, not in place */
  double begin, end;         /* luc_clock() */
  luc_value values[];
} noted;

/* User value 1 is the tape that was open before. */
typedef struct tape {
  luc_observer observer; /* first: the door gives us its address */
  luc_observer *outer;
  luc_l_state *st;
  bool closed;
  bool light; /* keeps no values */
  int n, capacity;
  noted **calls;
} tape;

/* ---- noting ---- */

static size_t noted_size(int nvalues) {
  return sizeof(noted) + (size_t)nvalues * sizeof(luc_value);
}

static void free_noted(luc_context *ctx, noted *call) {
  for (int i = 0; i < call->nvalues; i++) luc__value_release(ctx, &call->values[i]);
  luc__free(ctx, call, noted_size(call->nvalues));
}

static luc_status keep_value(luc_context *ctx, const luc_value *from, luc_value *to) {
  if (from->kind == LUC_TENSOR) {
    *to = luc_v_tensor(luc_tensor_retain(from->as.tensor));
  } else if (from->kind == LUC_TENSORS) {
    luc_tensor **list = luc__alloc(ctx, (size_t)from->n * sizeof *list);
    if (list == NULL) return LUC_ERR_MEMORY;
    for (int i = 0; i < from->n; i++)
      list[i] = from->as.tensors[i] ? luc_tensor_retain(from->as.tensors[i]) : NULL;
    *to = luc_v_tensors(list, from->n);
  } else if (from->kind <= LUC_FLOAT) {
    *to = *from;
  }
  return LUC_OK;
}

static bool shares(const luc_tensor *t, const luc_value *v) {
  luc_tensor *const *list;
  for (int i = luc_as_tensors(v, &list) - 1; i >= 0; i--)
    if (list[i] && list[i]->storage == t->storage) return true;
  return false;
}

/* Bytes of a result whose memory is none of the arguments'. */
static int64_t fresh_bytes(const luc_value *args, int nargs, const luc_tensor *t) {
  for (int i = 0; t && i < nargs; i++)
    if (shares(t, &args[i])) return 0;
  return t ? t->numel * (int64_t)luc__dtype_size(t->dtype) : 0;
}

static int64_t count_bytes(const luc_value *args, int nargs, const luc_value *out, int nresults) {
  int64_t bytes = 0;
  for (const luc_value *v = out; v < out + nresults; v++) {
    luc_tensor *const *list;
    for (int k = luc_as_tensors(v, &list) - 1; k >= 0; k--)
      bytes += fresh_bytes(args, nargs, list[k]);
  }
  return bytes;
}

static luc_status make_room(luc_context *ctx, tape *t) {
  if (t->n < t->capacity) return LUC_OK;
  int capacity = t->capacity ? 2 * t->capacity : 64;
  size_t size = sizeof *t->calls;
  noted **calls = luc__realloc(ctx, t->calls, (size_t)t->capacity * size, (size_t)capacity * size);
  if (calls == NULL) return LUC_ERR_MEMORY;
  t->calls = calls;
  t->capacity = capacity;
  return LUC_OK;
}

static luc_status note(luc_context *ctx, luc_observer *self, luc_opid op, bool inplace,
                       const luc_value *args, const luc_value *out) {
  tape *t = (tape *)self;
  const double end = luc_clock();
  if (t->closed) return LUC_OK;
  LUC_TRY(make_room(ctx, t));
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  int nargs = schema->nparams, nresults = schema->nresults > 0 ? schema->nresults : 1;
  int n = t->light ? 0 : nargs + nresults;
  noted *call = luc__alloc_zero(ctx, noted_size(n));
  if (call == NULL) return LUC_ERR_MEMORY;
  call->op = op;
  call->inplace = inplace;
  call->depth = self->depth;
  call->nargs = t->light ? 0 : nargs;
  call->nvalues = n;
  call->begin = self->begin;
  call->end = end;
  call->bytes = count_bytes(args, nargs, out, nresults);
  luc_status status = LUC_OK;
  for (int i = 0; i < n && status == LUC_OK; i++)
    status = keep_value(ctx, i < nargs ? &args[i] : &out[i - nargs], &call->values[i]);
  if (status != LUC_OK) {
    free_noted(ctx, call);
    return status;
  }
  t->calls[t->n++] = call;
  return LUC_OK;
}

/* ---- for Lua ---- */

static void close_tape(tape *t) {
  luc_context *ctx = t->st->ctx;
  if (t->closed || !ctx) return;
  t->closed = true;
  while (ctx->observer && ctx->observer->called == note && ((tape *)ctx->observer)->closed)
    ctx->observer = ((tape *)ctx->observer)->outer;
  for (int i = 0; i < t->n; i++) free_noted(ctx, t->calls[i]);
  luc__free(ctx, t->calls, (size_t)t->capacity * sizeof *t->calls);
  t->n = 0;
}

static int tape_close(lua_State *L) {
  close_tape(luc_l_checkself(L, LUC_L_TAPE_META, sizeof(tape)));
  return 0;
}

static void push_tensor(lua_State *L, luc_l_state *st, luc_tensor *tensor) {
  luc_l_box *box = tensor ? luc_l_newbox(L, st) : NULL;
  if (box)
    box->t = luc_tensor_retain(tensor);
  else
    lua_pushboolean(L, false);
}

static void push_value(lua_State *L, luc_l_state *st, const luc_value *v) {
  switch (v->kind) {
  case LUC_TENSOR: push_tensor(L, st, v->as.tensor); break;
  case LUC_TENSORS:
    lua_createtable(L, v->n, 0);
    for (int i = 0; i < v->n; i++) {
      push_tensor(L, st, v->as.tensors[i]);
      lua_rawseti(L, -2, i + 1);
    }
    break;
  case LUC_BOOLEAN:
  case LUC_INT:
  case LUC_FLOAT: luc_l_pushscalar(L, luc_as_scalar(v)); break;
  default: lua_pushboolean(L, false);
  }
}

/* A list of values under a name of the table on top; False stands for what is none of ours. */
static void set_values(lua_State *L, luc_l_state *st, const char *name, const luc_value *v, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_value(L, st, &v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_call(lua_State *L, luc_l_state *st, const noted *call) {
  const luc_op *row = &luc__ops[call->op];
  bool inplace = call->inplace && !(row->flags & LUC_F_MUTATES);
  lua_createtable(L, 0, 9);
  lua_pushstring(L, row->name);
  lua_setfield(L, -2, "id");
  lua_pushfstring(L, "%s%s", luc__op_info(st->ctx, call->op)->schema.name, inplace ? "_" : "");
  lua_setfield(L, -2, "name");
  lua_pushinteger(L, call->depth);
  lua_setfield(L, -2, "depth");
  lua_pushboolean(L, row->flags & LUC_F_COMPOSITE);
  lua_setfield(L, -2, "composite");
  lua_pushinteger(L, call->bytes);
  lua_setfield(L, -2, "bytes");
  lua_pushnumber(L, call->begin);
  lua_setfield(L, -2, "begin");
  lua_pushnumber(L, call->end);
  lua_setfield(L, -2, "finish");
  set_values(L, st, "args", call->values, call->nargs);
  set_values(L, st, "results", call->values + call->nargs, call->nvalues - call->nargs);
}

/* tape:take(): the calls since the last time, in the order of their ends: tables of id (as in
 * ops.def), name, depth, composite, bytes, begin and finish in seconds, args, results. */
static int tape_take(lua_State *L) {
  tape *t = luc_l_checkself(L, LUC_L_TAPE_META, sizeof *t);
  if (t->closed) return luc_l_error(L, "take: expected an open tape");
  luc_context *ctx = luc_l_context(L, t->st);
  int n = t->n;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_call(L, t->st, t->calls[i]);
    lua_rawseti(L, -2, i + 1);
  }
  for (int i = 0; i < n; i++) free_noted(ctx, t->calls[i]);
  t->n -= n; /* finalizers may have called operators meanwhile */
  if (t->n > 0) memmove(t->calls, t->calls + n, (size_t)t->n * sizeof *t->calls);
  return 1;
}

/* core._tape(light): a new tape, open until it is closed. One that was open before gets nothing
 * then. */
static int tape_new(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_context *ctx = luc_l_context(L, st);
  bool light = lua_toboolean(L, 1);
  tape *t = lua_newuserdatauv(L, sizeof *t, 1);
  memset(t, 0, sizeof *t);
  t->light = light;
  t->observer.called = note;
  t->st = st;
  luc_l_set_meta(L, st, LUC_L_TAPE_META);
  luc_l_get(L, st, LUC_L_PEERS);
  if (ctx->observer && lua_rawgetp(L, -1, ctx->observer) != LUA_TNIL) {
    lua_setiuservalue(L, -3, 1); /* its address stays good */
  } else if (ctx->observer) {
    lua_pop(L, 1);
  }
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, &t->observer);
  lua_pop(L, 1);
  t->outer = ctx->observer;
  ctx->observer = &t->observer;
  return 1;
}

/* core._address(tensor): what tells it from all other tensors while it lives. */
static int address(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(intptr_t)luc_l_checktensor(L, 1, "_address", "tensor"));
  return 1;
}

/* ---- the graph behind a tensor ---- */

/* Pushes {node=, result=} or {leaf=} for an edge. New nodes go to the list at 2 (place -> node) and
 * the map at 3 (node -> place). */
static void push_edge(lua_State *L, luc_l_state *st, const luc_edge *edge) {
  lua_createtable(L, 0, 2);
  if (edge->leaf) {
    luc_l_pushtensor(L, st, edge->to);
    lua_setfield(L, -2, "leaf");
    return;
  }
  if (lua_rawgetp(L, 3, edge->to) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 2) + 1);
    lua_pushlightuserdata(L, edge->to);
    lua_rawseti(L, 2, lua_tointeger(L, -2));
    lua_pushvalue(L, -1);
    lua_rawsetp(L, 3, edge->to);
  }
  lua_setfield(L, -2, "node");
  lua_pushinteger(L, (lua_Integer)edge->index + 1);
  lua_setfield(L, -2, "result");
}

/* Pushes {name, shapes, edges} of a node. */
static void push_node(lua_State *L, luc_l_state *st, const luc_node *node) {
  char name[LUC_NODE_NAME];
  lua_createtable(L, 0, 3);
  lua_pushstring(L, luc__node_name(name, node));
  lua_setfield(L, -2, "name");
  lua_createtable(L, node->nresults, 0);
  for (int i = 0; i < node->nresults; i++) {
    luc_l_pushsizes(L, node->infos[i].ndim, node->infos[i].sizes);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "shapes");
  lua_newtable(L);
  for (int i = 0, n = 0; i < node->nslots + node->nlist; i++) {
    if (!node->edges[i].to) continue;
    push_edge(L, st, &node->edges[i]);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "edges");
}

/* core.autograd._graph(y): the nodes that lead to y, its own first, each before those it needs. */
static int graph_of(lua_State *L) {
  luc_l_state *st = luc_l_state_of(L);
  luc_tensor *y = luc_l_checktensor(L, 1, "_graph", "tensor");
  luc_l_check(L, st, y->meta && y->meta->base ? luc__view_refresh(st->ctx, y) : LUC_OK);
  luc_edge first = {y->meta ? y->meta->node : NULL, 0, false};
  lua_settop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_newtable(L);
  if (!first.to) return 1;
  push_edge(L, st, &first);
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) != LUA_TNIL; i++) {
    push_node(L, st, lua_touserdata(L, -1));
    lua_rawseti(L, 4, i);
    lua_settop(L, 4);
  }
  lua_settop(L, 4);
  return 1;
}

static const luaL_Reg functions[] = {{"_tape", tape_new}, {"_address", address}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", tape_close}, {"__close", tape_close}, {NULL, NULL}};

void luc_l_open_observe(lua_State *L, luc_l_state *st) {
  luc_l_make_meta(L, st, LUC_L_TAPE_META, "lucerna.tape");
  luaL_setfuncs(L, meta, 0);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, tape_take);
  lua_setfield(L, -2, "take");
  lua_pushcfunction(L, tape_close);
  lua_setfield(L, -2, "close");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luc_l_get(L, st, LUC_L_CORE);
  luaL_setfuncs(L, functions, 0);
  luaL_getsubtable(L, -1, "autograd");
  lua_pushcfunction(L, graph_of);
  lua_setfield(L, -2, "_graph");
  lua_pop(L, 2);
}
