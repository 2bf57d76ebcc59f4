/* The operator table as Lua functions. Every name gets one C closure; the rows of that name (and
 * functions of the binding itself, declared by schemas too) are its overloads, tried in table
 * order. A call makes its result's box first, parses, passes the one door, and fills the box. */
#include <string.h>

#include "l_args.h"
#include "ops/counting.h"

typedef struct luc_l_row luc_l_row;

/* One call of one row. Returns the number of results. */
typedef int (*call_fn)(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l);

struct luc_l_row {
  luc_l_sig sig;
  luc_l_row *next; /* overload */
  call_fn call;
  luc_opid op;
  luc_l_native_fn native;
  const char *text;       /* the schema as it was written */
  uint32_t index_results; /* bit r: result r is to count from 1, as Lua does */
  uint8_t nresults;
  bool inplace; /* writes its first argument */
  bool asks;    /* a function of the binding that a tensor alone is enough for */
  uint16_t flags;
};

/* Which overload a call took, by the kinds of its arguments. */
typedef struct luc_l_memo {
  uint64_t kinds;
  const luc_l_row *row;
} luc_l_memo;

/* A closure's upvalue. */
typedef struct luc_l_fn {
  luc_l_state *st;
  luc_l_row *rows;
  luc_l_memo *memos; /* where there are overloads: MEMOS, by the number of arguments */
} luc_l_fn;

enum { MEMOS = 4 };

/* ---- calls ---- */

/* Positions in a result, or in each of a list. */
static luc_status positions_from_one(luc_context *ctx, luc_value *v) {
  luc_status status = LUC_OK;
  if (v->kind == LUC_TENSOR) return luc__index_to_one(ctx, &v->as.tensor);
  for (int i = 0; v->kind == LUC_TENSORS && i < v->n && status == LUC_OK; i++)
    status = luc__index_to_one(ctx, &v->as.tensors[i]);
  return status;
}

/* Results that are positions, from 1; then what out= is to get is copied there. */
static luc_status count_from_one(luc_context *ctx, const luc_l_row *row, const luc_l_args *a,
                                 luc_value *out) {
  luc_status status = LUC_OK;
  for (int i = 0; i < row->nresults && status == LUC_OK; i++)
    if (row->index_results & 1u << i) status = positions_from_one(ctx, &out[i]);
  if (a->nout && status == LUC_OK) status = luc__out_write(ctx, row->op, out, a->out);
  for (int i = 0; i < row->nresults && (a->nout || status != LUC_OK); i++)
    luc__value_release(ctx, &out[i]);
  return status == LUC_OK ? LUC_OK : luc__call_failed(ctx, row->op, status);
}

/* Parses and runs. What is not a tensor list in `out` is owned by the caller at once. */
static luc_status run(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l,
                      luc_l_args *a, luc_value *out) {
  luc_l_read(L, st, &row->sig, l, a);
  luc_context *ctx = st->ctx;
  int n = row->sig.schema->nparams;
  bool as_given = row->flags & LUC_F_POSITIONS;
  if (row->sig.index_mask) LUC_TRY(luc_l_index_from_one(st, &row->sig, NULL, as_given, a));
  luc_status status = LUC_OK;
  a->inplace |= row->inplace;
  const bool counts = row->flags & LUC_F_COUNTS && !a->nout && !ctx->batched &&
                      !luc__wants_record(ctx, row->op, a->v, n);
  ctx->first = counts || row->flags & LUC_F_COUNTED;
  bool written = a->nout && (row->flags & LUC_F_OUT || !row->index_results);
  if (a->inplace) {
    status = luc_call_inplace(ctx, row->op, a->v, n);
  } else if (written) {
    status = luc_call_out(ctx, row->op, a->v, n, a->out);
  } else {
    if (a->nout) status = luc__out_check(ctx, row->op, a->v, a->out);
    if (status == LUC_OK) status = luc_call(ctx, row->op, a->v, n, out);
  }
  ctx->first = 0;
  if (row->sig.index_mask) luc_l_args_release(st, a);
  if (status != LUC_OK || !row->index_results || a->inplace || counts) return status;
  return count_from_one(ctx, row, a, out);
}

/* The same, once more after a full collection when memory ran out: garbage may hold it. Arguments
 * are read again, since finalizers may have changed the tables they came in. */
static void run_or_raise(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l,
                         luc_l_args *a, luc_value *out) {
  luc_status status = run(L, st, row, l, a, out);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st)) {
    luc_l_layout again = *l;
    again.pair = 0;
    status = run(L, st, row, &again, a, out);
  }
  if (status == LUC_OK && st->ctx->unpacked_nodes) {
    status = luc_l_pack_saved(L, st);
    for (int i = 0; i < row->nresults && status != LUC_OK && !a->inplace && !a->nout; i++)
      luc__value_release(st->ctx, &out[i]);
  }
  luc_l_check(L, st, luc__failed_as(st->ctx, status, row->sig.who));
}

/* Pushes the argument that holds t: what in-place and out= calls return. */
static int return_argument(lua_State *L, luc_l_state *st, luc_tensor *t, int index) {
  if (luc_l_totensor(L, index) == t) {
    lua_pushvalue(L, index);
  } else {
    luc_l_pushtensor(L, st, t);
  }
  return 1;
}

/* The commonest kind: one tensor. */
static int call_one(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l) {
  luc_l_box *box = luc_l_newbox(L, st);
  int at = lua_gettop(L);
  luc_l_args a;
  luc_value out[LUC_MAX_RESULTS];
  run_or_raise(L, st, row, l, &a, out);
  if (a.inplace || a.nout) luc_l_spare_box(L, st, at);
  if (a.inplace) return return_argument(L, st, a.v[0].as.tensor, 1);
  if (a.nout) return return_argument(L, st, a.out[0], a.out_index);
  if (out[0].kind != LUC_TENSOR) return 0;
  box->t = out[0].as.tensor;
  bool same = box->t->refs > 1 && luc_l_totensor(L, 1) == box->t;
  if (same)
    luc_l_spare_box(L, st, at);
  else
    luc_l_note_box(L, st, box, at);
  lua_pushvalue(L, same ? 1 : at); /* contiguous() and the like return their argument */
  return 1;
}

/* The same where the result may be the argument itself: no box is made then. */
static int call_same(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l) {
  luc_l_args a;
  if (l->kw) return call_one(L, st, row, l);
  luc_l_read(L, st, &row->sig, l, &a);
  if (!luc__gives_back(st->ctx, row->op, a.v)) return call_one(L, st, row, l);
  lua_pushvalue(L, 1);
  return 1;
}

/* A fixed tuple: several results, without those that nobody asked for; also booleans and numbers.
 */
static int call_several(lua_State *L, luc_l_state *st, const luc_l_row *row,
                        const luc_l_layout *l) {
  luc_l_box *boxes[LUC_MAX_RESULTS];
  int n = row->nresults, first = lua_gettop(L) + 1, pushed = 0;
  for (int i = 0; i < n; i++) {
    bool tensor = row->sig.schema->result_type[i] <= LUC_T_INDEX_TENSOR;
    boxes[i] = tensor ? luc_l_newbox(L, st) : (lua_pushnil(L), NULL);
  }
  luc_l_args a;
  luc_value out[LUC_MAX_RESULTS];
  run_or_raise(L, st, row, l, &a, out);
  for (int i = 0; i < a.nout; i++) luc_l_push_out(L, row->sig.schema, a.out_index, i);
  if (a.nout) return n;
  for (int i = 0; i < n; i++)
    if (out[i].kind == LUC_TENSOR) boxes[i]->t = out[i].as.tensor;
  for (int i = 0; i < n; i++) {
    if (luc_is_none(&out[i])) continue;
    if (out[i].kind == LUC_TENSOR) {
      lua_pushvalue(L, first + i);
    } else {
      luc_l_push_value(L, &out[i], false);
    }
    pushed++;
  }
  return pushed;
}

/* A list of tensors: one table. */
static int call_list(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l) {
  luc_l_hold *hold = luc_l_newhold(L, st);
  luc_l_args a;
  run_or_raise(L, st, row, l, &a, hold->values);
  luc_value *list = &hold->values[0];
  if (list->kind == LUC_TENSOR) { /* asked for one after all */
    luc_l_newbox(L, st)->t = luc__retain(list->as.tensor);
    luc_l_release_hold(hold);
    return 1;
  }
  luc_l_push_tensors(L, st, list);
  luc_l_release_hold(hold);
  return 1;
}

/* name_: writes its first argument and returns it. */
static int call_inplace(lua_State *L, luc_l_state *st, const luc_l_row *row,
                        const luc_l_layout *l) {
  luc_l_args a;
  run_or_raise(L, st, row, l, &a, NULL);
  return return_argument(L, st, a.v[0].as.tensor, 1);
}

/* Functions of the binding see a tensor's own data, which of a batched one are not all. */
static void refuse_batched(lua_State *L, const luc_l_row *row, const luc_l_args *a) {
  for (int p = 0; p < row->sig.schema->nparams; p++) {
    luc_tensor *const *list;
    const int n = luc_as_tensors(&a->v[p], &list);
    for (int i = 0; i < n; i++)
      if (list[i]) luc_l_need_values(L, row->sig.who, list[i]);
  }
}

static inline int run_native(lua_State *L, luc_l_state *st, const luc_l_row *row, luc_l_args *a) {
  if (st->ctx->batched && !(row->flags & LUC_F_BATCHED)) refuse_batched(L, row, a);
  return row->native(L, st, a);
}

static int call_native(lua_State *L, luc_l_state *st, const luc_l_row *row, const luc_l_layout *l) {
  luc_l_args a;
  luc_l_context(L, st);
  luc_l_read(L, st, &row->sig, l, &a);
  return run_native(L, st, row, &a);
}

/* x:dim() and the like. */
static int call_alone(lua_State *L, luc_l_state *st, const luc_l_row *row, luc_tensor *t) {
  luc_l_args a;
  luc_l_args_begin(&a);
  a.given = 1;
  a.v[0] = luc_v_tensor(t);
  luc_l_args_complete(&row->sig, &a);
  return run_native(L, st, row, &a);
}

/* Two or more overloads fit the positional arguments: names decide, else the first of those that
 * know the most of them is taken. */
static const luc_l_row *choose_by_names(lua_State *L, luc_l_state *st, const luc_l_row *row,
                                        const luc_l_layout *l) {
  const luc_l_row *best = row;
  for (const luc_l_row *r = row; r; r = r->next)
    if (luc_l_match(L, st, &r->sig, l, true) == LUC_L_MATCH) return r;
  int most = -1;
  for (; l->kw && row; row = row->next) {
    if (luc_l_match(L, st, &row->sig, l, false) != LUC_L_MATCH) continue;
    int known = luc_l_known_names(L, &row->sig, l);
    if (known > most) best = row, most = known;
  }
  return best;
}

/* The first overload that fits, else the nearest, whose parsing will say what is wrong. */
static const luc_l_row *choose(lua_State *L, luc_l_state *st, const luc_l_row *row,
                               const luc_l_layout *l) {
  const luc_l_row *best = NULL;
  bool unique = true;
  for (const luc_l_row *r = row; r; r = r->next) { /* mostly the number decides already */
    if (!luc_l_takes(L, &r->sig, l)) continue;
    if (best) unique = false;
    best = r;
  }
  if (best && unique) return best;
  int best_score = -1;
  for (best = row; row; row = row->next) {
    int score = luc_l_match(L, st, &row->sig, l, false);
    if (score == LUC_L_MATCH && best_score == LUC_L_MATCH) return choose_by_names(L, st, best, l);
    if (score <= best_score) continue;
    best = row;
    best_score = score;
  }
  return best;
}

/* The kind of a value, where that is all that overloads look at; 0 where it is not: for strings
 * other than the one device, floats (which may be whole), empty tables and others. */
static uint64_t kind_of(lua_State *L, luc_l_state *st, int index) {
  enum { OTHER, NIL, BOOLEAN, INTEGER, TENSOR, NONE, DTYPE, NUMBERS, TENSORS, CPU };
  luc_dtype dtype;
  int type = lua_type(L, index);
  if (type == LUA_TUSERDATA) {
    if (luc_l_totensor(L, index)) return TENSOR;
    if (luc_l_isnone(L, st, index)) return NONE;
    return luc_l_todtype(L, index, &dtype) ? DTYPE : OTHER;
  }
  if (type == LUA_TTABLE) {
    int first = lua_rawgeti(L, index, 1);
    uint64_t kind = first == LUA_TNUMBER ? NUMBERS : luc_l_tobox(L, -1) ? TENSORS : OTHER;
    lua_pop(L, 1);
    return kind;
  }
  if (type == LUA_TNUMBER) return lua_isinteger(L, index) ? INTEGER : OTHER;
  if (type == LUA_TSTRING) return strcmp(lua_tostring(L, index), "cpu") ? OTHER : CPU;
  return type == LUA_TNIL ? NIL : type == LUA_TBOOLEAN ? BOOLEAN : OTHER;
}

/* The kinds of a call's arguments as a number; 0 where more than that decides. */
static uint64_t kinds_of(lua_State *L, luc_l_state *st, const luc_l_layout *l) {
  uint64_t kinds = 1;
  if (l->kw || l->n > 12) return 0;
  for (int i = 0; i < l->n; i++) {
    uint64_t kind = kind_of(L, st, luc_l_position(l, i));
    if (!kind) return 0;
    kinds = kinds << 4 | kind;
  }
  return kinds;
}

static const luc_l_row *choose_known(lua_State *L, const luc_l_fn *fn, const luc_l_layout *l) {
  uint64_t kinds = kinds_of(L, fn->st, l);
  luc_l_memo *memo = &fn->memos[l->n % MEMOS];
  if (kinds && memo->kinds == kinds) return memo->row;
  const luc_l_row *row = choose(L, fn->st, fn->rows, l);
  if (kinds) *memo = (luc_l_memo){kinds, row};
  return row;
}

static int call(lua_State *L) {
  const luc_l_fn *fn = lua_touserdata(L, lua_upvalueindex(1));
  luc_l_state *st = fn->st;
  const luc_l_row *row = fn->rows;
  luc_l_context(L, st);
  int top = lua_gettop(L);
  luc_tensor *alone = top == 1 && row->asks && !row->next ? luc_l_totensor(L, 1) : NULL;
  if (alone) return call_alone(L, st, row, alone);
  luc_l_layout l = luc_l_layout_of(L, 1, top);
  if (row->next) row = choose_known(L, fn, &l);
  return row->call(L, st, row, &l);
}

const char *luc_l_running(lua_State *L) {
  lua_Debug ar;
  const luc_l_fn *fn = NULL;
  if (!lua_getstack(L, 0, &ar)) return NULL;
  lua_getinfo(L, "f", &ar);
  bool ours = lua_tocfunction(L, -1) == call && lua_getupvalue(L, -1, 1);
  if (ours) {
    fn = lua_touserdata(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return fn && *fn->rows->sig.who != '_' ? fn->rows->sig.who : NULL;
}

/* For unary operators, which Lua calls with their operand twice. */
static int call_unary(lua_State *L) {
  lua_settop(L, 1);
  return call(L);
}

static const struct {
  const char *event, *name;
  bool unary;
} events[] = {{"__add", "add", false},
              {"__sub", "sub", false},
              {"__mul", "mul", false},
              {"__div", "div", false},
              {"__idiv", "floor_divide", false},
              {"__mod", "remainder", false},
              {"__pow", "pow", false},
              {"__unm", "neg", true},
              {"__band", "bitwise_and", false},
              {"__bor", "bitwise_or", false},
              {"__bxor", "bitwise_xor", false},
              {"__bnot", "bitwise_not", true},
              {"__shl", "bitwise_left_shift", false},
              {"__shr", "bitwise_right_shift", false}};

/* ---- building the tables ---- */

/* Stack positions while the tables are filled. */
typedef struct builder {
  lua_State *L;
  luc_l_state *st;
  int fns;     /* name -> luc_l_fn, of functions and methods */
  int nn_fns;  /* the same of nn.functional */
  int core;    /* functions */
  int methods; /* of tensors */
  int nn;      /* nn.functional */
} builder;

/* Adds value (on top, popped) to the table at `index` unless the name is taken. */
static void publish(const builder *b, int index, const char *name) {
  if (lua_getfield(b->L, index, name) == LUA_TNIL) {
    lua_pop(b->L, 1);
    lua_setfield(b->L, index, name);
  } else {
    lua_pop(b->L, 2);
  }
}

/* Zeroed memory that lives as long as the state. Of thousands of blocks few are Lua's, whose
 * collector goes through them all, again and again. */
static void *new_block(const builder *b, size_t size) {
  enum { CHUNK = 16 << 10, ALIGN = _Alignof(max_align_t) };
  lua_State *L = b->L;
  luc_l_state *st = b->st;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (size > st->room) {
    const size_t bytes = size > CHUNK ? size : CHUNK;
    luc_l_get(L, st, LUC_L_ANCHOR);
    char *chunk = memset(lua_newuserdatauv(L, bytes, 0), 0, bytes);
    lua_rawseti(L, -2, luaL_len(L, -2) + 1);
    lua_pop(L, 1);
    st->blocks = chunk, st->room = bytes;
  }
  st->room -= size;
  return st->blocks + st->room;
}

static luc_l_fn *push_new_fn(const builder *b) {
  luc_l_fn *fn = new_block(b, sizeof *fn);
  fn->st = b->st;
  lua_pushlightuserdata(b->L, fn);
  return fn;
}

/* Pushes the closure of a name, made when the name is new. */
static luc_l_fn *push_fn(const builder *b, int fns, const char *name) {
  lua_State *L = b->L;
  if (lua_getfield(L, fns, name) != LUA_TNIL) {
    lua_getupvalue(L, -1, 1);
    luc_l_fn *fn = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return fn;
  }
  lua_pop(L, 1);
  luc_l_fn *fn = push_new_fn(b);
  lua_pushcclosure(L, call, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, fns, name);
  return fn;
}

static luc_l_row *new_row(const builder *b, const luc_schema *schema, const char *who) {
  lua_State *L = b->L;
  luc_l_row *row = new_block(b, sizeof *row);
  luc_l_sig_init(L, b->st, &row->sig, schema, who);
  return row;
}

/* Publishes a function in the library's table; "linalg.det" as det in the table linalg of it. */
static void publish_function(const builder *b, const char *name) {
  const char *dot = strchr(name, '.');
  if (!dot) {
    publish(b, b->core, name);
    return;
  }
  lua_State *L = b->L;
  lua_pushlstring(L, name, (size_t)(dot - name));
  luaL_getsubtable(L, b->core, lua_tostring(L, -1));
  lua_rotate(L, -3, -1);
  publish(b, lua_gettop(L) - 1, dot + 1);
  lua_pop(L, 2);
}

/* Appends the row to the overloads of `name` and publishes the closure where its flags say. */
static void add_row(const builder *b, luc_l_row *row, const char *name, bool nn) {
  lua_State *L = b->L;
  luc_l_fn *fn = push_fn(b, nn ? b->nn_fns : b->fns, name);
  luc_l_row **end = &fn->rows;
  if (*end && !fn->memos) fn->memos = new_block(b, MEMOS * sizeof *fn->memos);
  while (*end) end = &(*end)->next;
  *end = row;
  bool method = !nn && row->flags & LUC_F_METHOD, function = !nn && row->flags & LUC_F_FUNCTION;
  if (nn) {
    lua_pushvalue(L, -1);
    publish(b, b->nn, name);
  }
  if (method) {
    lua_pushvalue(L, -1);
    publish(b, b->methods, name);
  }
  if (function) {
    lua_pushvalue(L, -1);
    publish_function(b, name);
  }
  lua_pop(L, 1);
}

static luc_l_row *op_row(const builder *b, int op, const char *who) {
  const luc_schema *schema = &luc__op_info(b->st->ctx, (luc_opid)op)->schema;
  luc_l_row *row = new_row(b, schema, who);
  row->op = (luc_opid)op;
  row->text = luc__ops[op].schema;
  row->flags = luc__ops[op].flags;
  row->nresults = schema->nresults;
  for (int i = 0; i < schema->nresults; i++)
    if (schema->result_type[i] == LUC_T_INDEX_TENSOR && !(row->flags & LUC_F_COUNTED))
      row->index_results |= 1u << i;
  row->inplace = who != NULL || row->flags & LUC_F_MUTATES;
  row->sig.takes_out = !row->inplace && luc__takes_out(b->st->ctx, row->op);
  bool one = schema->nresults == 1 && schema->result_type[0] <= LUC_T_INDEX_TENSOR;
  row->call = row->inplace              ? call_inplace
              : schema->result_list     ? call_list
              : row->flags & LUC_F_SAME ? call_same
              : one                     ? call_one
                                        : call_several;
  return row;
}

static void add_op(const builder *b, int op) {
  uint16_t flags = luc__ops[op].flags;
  const char *name = luc__op_info(b->st->ctx, (luc_opid)op)->schema.name;
  if (flags & LUC_F_BOTH) add_row(b, op_row(b, op, NULL), name, false);
  if (flags & LUC_F_NN) {
    luc_l_row *row = op_row(b, op, NULL);
    row->sig.takes_inplace =
        flags & LUC_F_INPLACE && luc__schema_find(row->sig.schema, "inplace") < 0;
    add_row(b, row, name, true);
  }
  if (!(flags & LUC_F_INPLACE)) return;
  const char *with_ = luc_l_intern(b->L, b->st, lua_pushfstring(b->L, "%s_", name));
  lua_pop(b->L, 1);
  luc_l_row *row = op_row(b, op, with_);
  row->flags = LUC_F_BOTH | (flags & LUC_F_POSITIONS);
  add_row(b, row, with_, false);
  if (flags & LUC_F_NN) add_row(b, op_row(b, op, with_), with_, true);
}

static builder open_builder(lua_State *L, luc_l_state *st) {
  builder b = {.L = L, .st = st};
  luc_l_get(L, st, LUC_L_CORE);
  b.core = lua_gettop(L);
  luc_l_get(L, st, LUC_L_METHODS);
  b.methods = lua_gettop(L);
  luaL_getsubtable(L, b.core, "functional");
  b.nn = lua_gettop(L);
  luc_l_get(L, st, LUC_L_ANCHOR);
  luaL_getsubtable(L, -1, "functions");
  b.fns = lua_gettop(L);
  luaL_getsubtable(L, -2, "nn functions");
  b.nn_fns = lua_gettop(L);
  return b;
}

static const struct {
  const char *name, *existing, *name_, *existing_;
} aliases[] = {
#define LUC_ALIAS(name, existing) {#name, #existing, #name "_", #existing "_"},
#include "ops/alias.def"
#undef LUC_ALIAS
};

/* Replaces the closure on top by one that calls itself `name` in errors. */
static void rename_fn(const builder *b, const char *name) {
  lua_State *L = b->L;
  lua_getupvalue(L, -1, 1);
  const luc_l_fn *existing = lua_touserdata(L, -1);
  luc_l_fn *fn = push_new_fn(b);
  if (existing->memos) fn->memos = new_block(b, MEMOS * sizeof *fn->memos);
  luc_l_row **end = &fn->rows;
  for (const luc_l_row *row = existing->rows; row; row = row->next, end = &(*end)->next) {
    *end = memcpy(new_block(b, sizeof *row), row, sizeof *row);
    (*end)->sig.who = name;
  }
  lua_replace(L, -2);
  lua_insert(L, -2);
  lua_pushcclosure(L, call, 2);
}

/* Another name for a function and method, where they exist. */
static void add_alias(const builder *b, const char *name, const char *existing) {
  lua_State *L = b->L;
  int tables[] = {b->core, b->methods};
  if (lua_getfield(L, b->fns, existing) != LUA_TNIL) {
    rename_fn(b, name);
    for (int t = 0; t < 2; t++) {
      if (lua_getfield(L, tables[t], existing) != LUA_TNIL) {
        lua_pushvalue(L, -2);
        publish(b, tables[t], name);
      }
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

static void add_aliases(const builder *b) {
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    add_alias(b, aliases[i].name, aliases[i].existing);
    add_alias(b, aliases[i].name_, aliases[i].existing_);
  }
}

/* Operators written as such are the functions of the table. */
static void add_events(const builder *b) {
  lua_State *L = b->L;
  luc_l_get(L, b->st, LUC_L_TENSOR_META);
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    if (lua_getfield(L, b->fns, events[i].name) == LUA_TFUNCTION) {
      lua_getupvalue(L, -1, 1);
      lua_pushcclosure(L, events[i].unary ? call_unary : call, 1);
      lua_setfield(L, -3, events[i].event);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* _schemas(f) -> the schemas of a function's overloads, and whether it writes its first argument;
 * nil for what is no function of the table. For help, documents and tests. */
static int schemas(lua_State *L) {
  if (lua_tocfunction(L, 1) != call) return 0;
  lua_getupvalue(L, 1, 1);
  const luc_l_fn *fn = lua_touserdata(L, -1);
  lua_newtable(L);
  int n = 0;
  for (const luc_l_row *row = fn->rows; row; row = row->next) {
    lua_pushstring(L, row->text);
    lua_rawseti(L, -2, ++n);
  }
  lua_pushboolean(L, fn->rows->inplace);
  return 2;
}

/* _row(f, ...) -> the row that a call of f with these arguments takes, as its identifier in
 * ops.def; nil for functions of the binding itself. A Lua function that does more than an operator
 * of its name is that one if core._instead[f] says so. */
static int row_of(lua_State *L) {
  luaL_checkany(L, 1);
  if (!lua_iscfunction(L, 1)) {
    luc_l_get(L, luc_l_state_of(L), LUC_L_CORE);
    luaL_getsubtable(L, -1, "_instead");
    lua_pushvalue(L, 1);
    lua_rawget(L, -2);
    lua_replace(L, 1);
    lua_pop(L, 2);
  }
  if (lua_tocfunction(L, 1) != call || !lua_getupvalue(L, 1, 1)) return 0;
  const luc_l_fn *fn = lua_touserdata(L, -1);
  lua_pop(L, 1);
  luc_l_layout l = luc_l_layout_of(L, 2, lua_gettop(L));
  const luc_l_row *row = choose(L, fn->st, fn->rows, &l);
  if (row->native) return 0;
  lua_pushstring(L, luc__ops[row->op].name);
  return 1;
}

/* _renamed(f, name): f as a function that calls itself so in errors. */
static int renamed(lua_State *L) {
  luaL_argcheck(L, lua_tocfunction(L, 1) == call, 1, "no function of the table");
  luaL_checkstring(L, 2);
  luc_l_state *st = luc_l_state_of(L);
  builder b = {.L = L, .st = st};
  lua_pushvalue(L, 1);
  rename_fn(&b, luc_l_intern(L, st, lua_tostring(L, 2)));
  return 1;
}

/* _original(f): the function that f is another name of, or f. */
static int original(lua_State *L) {
  lua_settop(L, 1);
  if (lua_tocfunction(L, 1) == call) lua_getupvalue(L, 1, 2);
  return 1;
}

static const struct {
  const char *name;
  uint16_t bit;
} flag_names[] = {{"view", LUC_F_VIEW},           {"inplace", LUC_F_INPLACE},
                  {"mutates", LUC_F_MUTATES},     {"fn", LUC_F_FUNCTION},
                  {"method", LUC_F_METHOD},       {"nn", LUC_F_NN},
                  {"composite", LUC_F_COMPOSITE}, {"any_dtype", LUC_F_ANY_DTYPE}};

static void set_string(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

/* _operators() -> a list of the rows of ops.def: id, name, schema, gradient ("own", "none",
 * "missing"), and each of its flags. */
static int operators(lua_State *L) {
  const luc_l_state *st = luc_l_state_of(L);
  lua_createtable(L, LUC_NUM_OPS, 0);
  for (int op = 0; op < LUC_NUM_OPS; op++) {
    const luc_op *row = &luc__ops[op];
    lua_newtable(L);
    set_string(L, "id", row->name);
    set_string(L, "name", luc__op_info(st->ctx, (luc_opid)op)->schema.name);
    set_string(L, "schema", row->schema);
    set_string(L, "gradient",
               row->grad == LUC_NO_GRAD        ? "none"
               : row->grad == LUC_GRAD_MISSING ? "missing"
                                               : "own");
    for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
      lua_pushboolean(L, row->flags & flag_names[i].bit);
      lua_setfield(L, -2, flag_names[i].name);
    }
    lua_pushboolean(L, luc__takes_out(st->ctx, (luc_opid)op));
    lua_setfield(L, -2, "out");
    lua_rawseti(L, -2, op + 1);
  }
  return 1;
}

static void add_views(const builder *b) {
  static const luaL_Reg views[] = {{"_schemas", schemas},     {"_row", row_of},
                                   {"_operators", operators}, {"_renamed", renamed},
                                   {"_original", original},   {NULL, NULL}};
  lua_pushvalue(b->L, b->core);
  luaL_setfuncs(b->L, views, 0);
  luaL_getsubtable(b->L, -1, "_instead");
}

void luc_l_open_ops(lua_State *L, luc_l_state *st) {
  int top = lua_gettop(L);
  builder b = open_builder(L, st);
  for (int op = 0; op < LUC_NUM_OPS; op++) add_op(&b, op);
  add_events(&b);
  add_aliases(&b);
  add_views(&b);
  lua_settop(L, top);
}

/* A parsed schema kept for as long as the state lives; its block is freed with the state. */
static luc_schema *keep_schema(const builder *b, const char *text) {
  lua_State *L = b->L;
  luc_l_state *st = b->st;
  luc_l_schema *kept = new_block(b, sizeof *kept);
  luc_l_check(L, st, luc__schema_parse(st->ctx, text, &kept->schema));
  kept->next = st->schemas;
  st->schemas = kept;
  return &kept->schema;
}

void luc_l_add_natives(lua_State *L, luc_l_state *st, const luc_l_native *natives, int n) {
  luc_l_add_natives_to(L, st, NULL, natives, n);
}

void luc_l_add_natives_to(lua_State *L, luc_l_state *st, const char *table,
                          const luc_l_native *natives, int n) {
  int top = lua_gettop(L);
  builder b = open_builder(L, st);
  if (table) {
    luaL_getsubtable(L, b.core, table);
    b.core = lua_gettop(L);
    lua_newtable(L); /* names are free in it */
    b.fns = lua_gettop(L);
  }
  int keep = lua_gettop(L);
  for (int i = 0; i < n; i++) {
    const luc_schema *schema = keep_schema(&b, natives[i].schema);
    luc_l_row *row = new_row(&b, schema, NULL);
    row->text = natives[i].schema;
    row->native = natives[i].fn;
    row->flags = natives[i].flags;
    row->call = call_native;
    row->sig.lenient = true;
    row->asks = schema->nparams && schema->params[0].type == LUC_T_TENSOR &&
                !schema->params[0].list && !schema->params[0].keyword_only &&
                !(row->sig.required & ~1u);
    if (row->flags & LUC_F_BOTH) add_row(&b, row, schema->name, false);
    if (row->flags & LUC_F_NN) add_row(&b, row, schema->name, true);
    lua_settop(L, keep);
  }
  lua_settop(L, top);
}
