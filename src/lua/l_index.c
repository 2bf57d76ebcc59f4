/* Indexing in all forms. An index is first read into a list of entries, which may raise; then the
 * entries are applied one after the other through the operator table (so that views stay views and
 * everything is recorded), which only returns statuses. */
#include "l_index.h"

#include <string.h>

#include "l_args.h"
#include "ops/counting.h"
#include "ops/geometry.h"

typedef enum entry_kind {
  ENTRY_SELECT, /* a number: the dimension goes away */
  ENTRY_RANGE,  /* {first, last[, step]} */
  ENTRY_ALL,    /* {} */
  ENTRY_NEW,    /* lucerna.none: a new dimension of size 1 */
  ENTRY_REST,   /* "...": as many {} as are needed */
  ENTRY_TENSOR  /* mask or index tensor */
} entry_kind;

typedef struct entry {
  entry_kind kind;
  int64_t first, last, step; /* as written, counted from 1 */
  luc_tensor *t;
} entry;

enum { MAX_ENTRIES = 2 * LUC_MAX_DIMS };

typedef struct spec {
  int n;
  int used;      /* dimensions that the entries use up */
  int rest;      /* position of "...", or -1 */
  bool advanced; /* has a tensor */
  entry entries[MAX_ENTRIES];
} spec;

/* ---- reading ---- */

/* A tensor that is one integer stands for it. */
static bool is_integer(const luc_tensor *t) {
  return t->ndim == 0 && luc__dtype_is_int(t->dtype);
}

static int64_t check_integer(lua_State *L, int index, const char *what) {
  int whole = 0;
  int64_t i = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &whole) : 0;
  if (whole) return i;
  const luc_tensor *t = luc_l_totensor(L, index);
  if (!t || !is_integer(t))
    luc_l_error(L, "index: %s must be an integer (got %s)", what, luc_l_given(L, index));
  luc_l_need_values(L, "item", t);
  return luc__scalar_int(luc__load_scalar(t->data, t->dtype));
}

/* How many entries the table has: one that has others has a hole or names, which mean nothing. */
static int count_entries(lua_State *L, int index) {
  int n = (int)lua_rawlen(L, index);
  if (n > 0) return n;
  lua_pushnil(L);
  if (!lua_next(L, index)) return 0;
  lua_pop(L, 1);
  return luc_l_error(L, "index: a table of entries is an array (got a key %s)", luc_l_given(L, -1));
}

static void read_range(lua_State *L, int index, entry *e) {
  int n = count_entries(L, index);
  e->kind = ENTRY_ALL;
  if (n == 0) return;
  if (n == 1 || n > 3)
    luc_l_error(L, "index: a range is {first, last} or {first, last, step} (got %d values)", n);
  e->kind = ENTRY_RANGE;
  lua_rawgeti(L, index, 1);
  lua_rawgeti(L, index, 2);
  lua_rawgeti(L, index, 3);
  e->first = check_integer(L, -3, "the first position of a range");
  e->last = check_integer(L, -2, "the last position of a range");
  e->step = n == 3 ? check_integer(L, -1, "the step of a range") : 1;
  lua_pop(L, 3);
  if (e->step < 1)
    luc_l_error(L, "index: the step of a range must be positive (got %I)", (LUAI_UACINT)e->step);
}

static bool is_rest(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING && !strcmp(lua_tostring(L, index), "...");
}

/* A tensor as an entry; returns how many dimensions it uses. */
static int read_tensor(lua_State *L, luc_tensor *t, entry *e, spec *s) {
  if (is_integer(t) && t->dtype != LUC_UINT8) { /* which is a mask, as in PyTorch */
    e->kind = ENTRY_SELECT;
    e->first = luc__scalar_int(luc__load_scalar(t->data, t->dtype));
    return 1;
  }
  e->kind = ENTRY_TENSOR;
  e->t = t;
  s->advanced = true;
  if (luc__dtype_has_gradient(t->dtype))
    luc_l_error(L, "index: tensors used as indices must be integers or booleans (got %s)",
                luc__dtype_name(t->dtype));
  return t->dtype == LUC_BOOL ? t->ndim : 1;
}

static void read_entry(lua_State *L, luc_l_state *st, int index, spec *s) {
  if (s->n == MAX_ENTRIES)
    luc_l_error(L, "index: more than %d entries (a list of positions is a tensor)", MAX_ENTRIES);
  entry *e = &s->entries[s->n];
  luc_tensor *t = luc_l_totensor(L, index);
  int uses = 1;
  if (t) {
    uses = read_tensor(L, t, e, s);
  } else if (lua_type(L, index) == LUA_TTABLE) {
    read_range(L, lua_absindex(L, index), e);
  } else if (luc_l_isnone(L, st, index)) {
    e->kind = ENTRY_NEW;
    uses = 0;
  } else if (is_rest(L, index)) {
    if (s->rest >= 0) luc_l_error(L, "index: '...' can stand only once");
    e->kind = ENTRY_REST;
    s->rest = s->n;
    uses = 0;
  } else {
    e->kind = ENTRY_SELECT;
    e->first = check_integer(L, index, "an entry");
  }
  s->used += uses;
  s->n++;
}

static void read_spec(lua_State *L, luc_l_state *st, luc_tensor *t, spec *s) {
  luc_l_need_shape(L, st, "index", t);
  s->n = s->used = 0;
  s->rest = -1;
  s->advanced = false;
  if (lua_type(L, 2) == LUA_TTABLE) {
    int n = count_entries(L, 2);
    for (int i = 1; i <= n; i++) {
      lua_rawgeti(L, 2, i);
      read_entry(L, st, -1, s);
      lua_pop(L, 1);
    }
  } else {
    read_entry(L, st, 2, s);
  }
  if (s->used <= t->ndim) return;
  if (t->ndim == 0) luc_l_error(L, "index: a 0-d tensor cannot be indexed (use x:item())");
  luc_l_error(L, "index: too many indices (%d) for a tensor of %d dimensions%s", s->used, t->ndim,
              " (a list of positions is a tensor)");
}

/* ---- applying ---- */

/* Replaces *t by op(*t, args…); args[0] is filled in here. */
static luc_status step(luc_context *ctx, luc_opid op, luc_value *args, int n, luc_tensor **t) {
  luc_tensor *next;
  args[0] = luc_v_tensor(*t);
  LUC_TRY(luc__op1(ctx, op, &next, args, n));
  luc_tensor_release(ctx, *t);
  *t = next;
  return LUC_OK;
}

static luc_status apply_select(luc_context *ctx, int dim, int64_t index, luc_tensor **t) {
  luc_value args[LUC_MAX_PARAMS];
  int64_t at;
  LUC_TRY(luc__index_wrap(ctx, luc_l_from_one(index), (*t)->sizes[dim], &at));
  args[1] = luc_v_int(dim);
  args[2] = luc_v_int(at);
  return step(ctx, LUC_OP_select, args, 3, t);
}

static int64_t clamp(int64_t i, int64_t size) {
  return i < 0 ? 0 : i > size ? size : i;
}

/* Ranges include their last position and are cut off at the ends, as slices are. */
static luc_status apply_range(luc_context *ctx, int dim, const entry *e, luc_tensor **t) {
  int64_t size = (*t)->sizes[dim];
  LUC_CHECK(ctx, e->first && e->last, LUC_ERR_INDEX,
            "index 0 is out of range [1, %lld] (indices count from 1)", (long long)size);
  int64_t begin = clamp(e->first > 0 ? e->first - 1 : size + e->first, size);
  int64_t end = clamp(e->last > 0 ? e->last : size + e->last + 1, size);
  if (begin == 0 && end == size && e->step == 1) return LUC_OK;
  luc_value args[LUC_MAX_PARAMS];
  args[1] = luc_v_int(dim);
  args[2] = luc_v_int(begin);
  args[3] = luc_v_int(end < begin ? begin : end);
  args[4] = luc_v_int(e->step);
  return step(ctx, LUC_OP_slice, args, 5, t);
}

/* The tensors of a spec, each at the dimension it indexes, counted from 0 and owned. */
typedef struct indices {
  int n;
  luc_tensor *t[LUC_MAX_DIMS];
} indices;

static void release_indices(luc_context *ctx, indices *ix) {
  for (int i = 0; i < ix->n; i++) luc_tensor_release(ctx, ix->t[i]);
}

static luc_status apply_new(luc_context *ctx, int dim, luc_tensor **t) {
  luc_value args[LUC_MAX_PARAMS];
  args[1] = luc_v_int(dim);
  return step(ctx, LUC_OP_unsqueeze, args, 2, t);
}

/* A mask of k dimensions stands for k places of the list; the operator knows it by its shape. One
 * without dimensions chooses along a new one. */
static luc_status add_index(luc_context *ctx, indices *ix, int dim, int64_t size, luc_tensor *t) {
  LUC_CHECK(ctx, dim < LUC_MAX_DIMS, LUC_ERR_INDEX, "index: too many dimensions");
  while (ix->n <= dim) ix->t[ix->n++] = NULL;
  LUC_TRY(luc__index_as_given(ctx, size, t, &ix->t[dim]));
  return t->ndim == 0 && t->dtype == LUC_BOOL ? apply_new(ctx, 0, &ix->t[dim]) : LUC_OK;
}

static bool is_mask(const entry *e) {
  return e->kind == ENTRY_TENSOR && e->t->dtype == LUC_BOOL;
}

/* Dimensions of the tensor (after entry i's turn) that the entries after i use. */
static int used_after(const spec *s, int i) {
  int n = 0;
  for (int j = i + 1; j < s->n; j++) {
    const entry *e = &s->entries[j];
    n += is_mask(e) ? e->t->ndim : e->kind != ENTRY_NEW;
  }
  return n;
}

/* Applies the entries to *t; tensors are collected in *ix. A mask of several dimensions takes one
 * place in the list of indices, so places and dimensions are counted apart. */
static luc_status apply(luc_context *ctx, const spec *s, luc_tensor **t, indices *ix) {
  int dim = 0, place = 0;
  for (int i = 0; i < s->n; i++) {
    const entry *e = &s->entries[i];
    int dims = 1, places = 1;
    switch (e->kind) {
    case ENTRY_SELECT:
      LUC_TRY(apply_select(ctx, dim, e->first, t));
      dims = places = 0;
      break;
    case ENTRY_RANGE: LUC_TRY(apply_range(ctx, dim, e, t)); break;
    case ENTRY_ALL: break;
    case ENTRY_NEW: LUC_TRY(apply_new(ctx, dim, t)); break;
    case ENTRY_REST: dims = places = (*t)->ndim - dim - used_after(s, i); break;
    case ENTRY_TENSOR:
      if (is_mask(e) && e->t->ndim)
        dims = e->t->ndim;
      else if (is_mask(e))
        LUC_TRY(apply_new(ctx, dim, t));
      LUC_TRY(add_index(ctx, ix, place, dim < (*t)->ndim ? (*t)->sizes[dim] : -1, e->t));
      break;
    }
    dim += dims;
    place += places;
  }
  return LUC_OK;
}

/* *out: the indexed part of t, a new reference. */
static luc_status get(luc_context *ctx, luc_tensor *t, const spec *s, luc_tensor **out) {
  indices ix = {0, {NULL}};
  luc_tensor *r = luc__retain(t);
  luc_status status = apply(ctx, s, &r, &ix);
  luc_value args[LUC_MAX_PARAMS];
  if (status == LUC_OK && ix.n) {
    args[1] = luc_v_tensors(ix.t, ix.n);
    status = step(ctx, LUC_OP_index, args, 2, &r);
  } else if (status == LUC_OK && r == t) {
    status = step(ctx, LUC_OP_alias, args, 1, &r);
  }
  release_indices(ctx, &ix);
  if (status != LUC_OK) {
    luc_tensor_release(ctx, r);
    return status;
  }
  *out = r;
  return LUC_OK;
}

/* Does ipairs ask for what follows the last position, where nil ends its loop? */
static bool ends_ipairs(lua_State *L, const luc_tensor *t) {
  lua_Debug caller;
  return t->ndim > 0 && lua_isinteger(L, 2) && lua_tointeger(L, 2) == t->sizes[0] + 1 &&
         lua_getstack(L, 1, &caller) && lua_getinfo(L, "nS", &caller) && *caller.what == 'C' &&
         strcmp(caller.namewhat, "for iterator") == 0;
}

int luc_l_index_get(lua_State *L, luc_l_state *st, luc_tensor *t) {
  if (ends_ipairs(L, t)) return 0;
  luc_l_box *box = luc_l_newbox(L, st);
  spec s;
  read_spec(L, st, t, &s);
  luc_status status = get(st->ctx, t, &s, &box->t);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st)) {
    read_spec(L, st, t, &s);
    status = get(st->ctx, t, &s, &box->t);
  }
  if (status == LUC_OK && st->ctx->unpacked_nodes) status = luc_l_pack_saved(L, st);
  return luc_l_results(L, st, 1, status);
}

int luc_l_index_view(lua_State *L, luc_l_state *st, luc_tensor *t) {
  spec s;
  read_spec(L, st, t, &s);
  if (s.advanced) return luc_l_error(L, "index: expected positions and ranges (got a Tensor)");
  return luc_l_index_get(L, st, t);
}

/* ---- assigning ---- */

/* A value may have more dimensions than its place, if they are of size 1. */
static luc_status trim(luc_context *ctx, const luc_tensor *place, luc_tensor *value,
                       luc_tensor **out) {
  int extra = 0;
  while (value->ndim - extra > place->ndim && value->sizes[extra] == 1) extra++;
  *out = luc__retain(value);
  if (!extra) return LUC_OK;
  luc_value args[LUC_MAX_PARAMS];
  args[1] = luc_v_ints(value->sizes + extra, value->ndim - extra);
  luc_status status = step(ctx, LUC_OP_reshape, args, 2, out);
  if (status != LUC_OK) luc_tensor_release(ctx, *out);
  return status;
}

static luc_status put(luc_context *ctx, luc_tensor *place, indices *ix, luc_tensor *value) {
  luc_value args[LUC_MAX_PARAMS];
  args[0] = luc_v_tensor(place);
  args[1] = luc_v_tensors(ix->t, ix->n);
  args[2] = luc_v_tensor(value);
  return luc_call_inplace(ctx, LUC_OP_index_put, args, 3);
}

static luc_status copy(luc_context *ctx, luc_tensor *place, luc_tensor *value) {
  luc_value args[LUC_MAX_PARAMS];
  luc_tensor *trimmed;
  LUC_TRY(trim(ctx, place, value, &trimmed));
  args[0] = luc_v_tensor(place);
  args[1] = luc_v_tensor(trimmed);
  luc_status status = luc_call_inplace(ctx, LUC_OP_copy_, args, 2);
  luc_tensor_release(ctx, trimmed);
  return status;
}

/* value: a tensor, or NULL for the number s. */
static luc_status store(luc_context *ctx, luc_tensor *place, indices *ix, luc_tensor *value,
                        luc_scalar s) {
  if (!ix->n && value) return copy(ctx, place, value);
  if (!ix->n) {
    luc_value args[LUC_MAX_PARAMS];
    args[0] = luc_v_tensor(place);
    args[1] = luc_v_scalar(s);
    return luc_call_inplace(ctx, LUC_OP_fill_, args, 2);
  }
  if (value) return put(ctx, place, ix, value);
  luc_tensor *scalar;
  luc_status status = luc__check_scalar(ctx, s, place->dtype);
  if (status != LUC_OK) return luc__failed_as(ctx, status, "index_put_");
  LUC_TRY(luc__tensor_scalar(ctx, s, place->dtype, &scalar));
  status = put(ctx, place, ix, scalar);
  luc_tensor_release(ctx, scalar);
  return status;
}

static luc_status set(luc_context *ctx, luc_tensor *t, const spec *s, luc_tensor *value,
                      luc_scalar scalar) {
  indices ix = {0, {NULL}};
  luc_tensor *place = luc__retain(t);
  luc_status status = apply(ctx, s, &place, &ix);
  if (status == LUC_OK) status = store(ctx, place, &ix, value, scalar);
  release_indices(ctx, &ix);
  luc_tensor_release(ctx, place);
  return status;
}

int luc_l_index_set(lua_State *L, luc_l_state *st, luc_tensor *t) {
  spec s;
  luc_scalar scalar = {LUC_SCALAR_INT, {.i = 0}};
  luc_tensor *value = luc_l_totensor(L, 3);
  if (!value && !luc_l_toscalar(L, 3, &scalar))
    return luc_l_error(L, "index: a number, boolean or Tensor can be assigned (got %s)",
                       luc_l_given(L, 3));
  read_spec(L, st, t, &s);
  luc_status status = set(st->ctx, t, &s, value, scalar);
  if (status == LUC_ERR_MEMORY && luc_l_collect(L, st)) {
    read_spec(L, st, t, &s);
    status = set(st->ctx, t, &s, value, scalar);
  }
  if (status == LUC_OK && st->ctx->unpacked_nodes) status = luc_l_pack_saved(L, st);
  return luc_l_results(L, st, 0, status);
}
