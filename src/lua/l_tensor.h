/* Tensors as Lua values. A tensor's userdata (its box) owns one reference. Results of operators get
 * a fresh box; tensors that the core may hand out again (gradients, parameters) have a peer: one
 * box that the weak table finds, so that identity is stable. */
#ifndef LUC_L_TENSOR_H
#define LUC_L_TENSOR_H

#include "l_state.h"

#define LUC_L_MAGIC_TENSOR    0x4C75634Eu
#define LUC_L_MAGIC_DTYPE     0x4C756344u
#define LUC_L_MAGIC_GENERATOR 0x4C756347u
#define LUC_L_MAGIC_HOLD      0x4C756348u
#define LUC_L_MAGIC_NODE      0x4C75636Eu

/* Small, since every call leaves one to Lua's collector, which counts in bytes. */
typedef struct luc_l_box {
  uint32_t magic;
  bool finalized, outlives; /* the scope it was made in */
  luc_tensor *t;            /* NULL: empty or released */
} luc_l_box;

typedef struct luc_l_dtype {
  uint32_t magic;
  luc_dtype dtype;
} luc_l_dtype;

typedef struct luc_l_generator {
  uint32_t magic;
  luc_generator *generator; /* own, or the context's */
  luc_generator own;
} luc_l_generator;

/* Something of the core's that must be given back even if Lua raises: a text, a list of results. */
typedef struct luc_l_hold {
  uint32_t magic;
  luc_l_state *st;
  luc_value values[LUC_MAX_RESULTS]; /* results */
  char *text;
  size_t size;
} luc_l_hold;

/* The box at a stack index, or NULL. Any index, any type. */
static inline luc_l_box *luc_l_tobox(lua_State *L, int index) {
  luc_l_box *box = lua_touserdata(L, index);
  bool ours = box && lua_rawlen(L, index) == sizeof *box && box->magic == LUC_L_MAGIC_TENSOR;
  return ours ? box : NULL;
}
/* The tensor at a stack index, or NULL; NULL also when it was released. */
static inline luc_tensor *luc_l_totensor(lua_State *L, int index) {
  luc_l_box *box = luc_l_tobox(L, index);
  return box ? box->t : NULL;
}
/* The same, or an error naming the function and the argument ("backward", "gradient"). */
luc_tensor *luc_l_checktensor(lua_State *L, int index, const char *who, const char *param);

/* Pushes an empty box, to be filled (box->t = new reference) by what cannot raise. May run a piece
 * of Lua's collector before it makes the box. */
luc_l_box *luc_l_newbox(lua_State *L, luc_l_state *st);
/* Pushes the peer of t, making it (with a reference of its own) if there is none. t is borrowed;
 * NULL pushes nil. For whatever the core keeps: gradients, parameters, buffers. */
void luc_l_pushtensor(lua_State *L, luc_l_state *st, luc_tensor *t);
/* Makes the box at index the peer of its tensor: call it when the core takes hold of the tensor
 * (x.grad = y, m.weight = p), so that the core's tensor comes back as this box. */
void luc_l_setpeer(lua_State *L, luc_l_state *st, int index);
/* Notes the box at index for l_cycles.c: where the box of a result is handed out, if functions of
 * Lua's hang on some graph. */
void luc_l_note(lua_State *L, luc_l_state *st, int index);
static inline void luc_l_note_box(lua_State *L, luc_l_state *st, luc_l_box *box, int index) {
  if (st->owned && box->t && box->t->meta) luc_l_note(L, st, index);
}
/* Takes back the box at index, which the script has not seen: another call will use it. */
void luc_l_spare_box(lua_State *L, luc_l_state *st, int index);
/* Drops a box's reference now; the box is empty from here on. */
void luc_l_release_box(lua_State *L, luc_l_state *st, luc_l_box *box);
/* When the lua_State closes: empties the noted boxes, some of which were not finalized. */
void luc_l_release_noted(lua_State *L, luc_l_state *st);
/* Pushes an empty hold: what is put in is given back when it is closed (luc_l_release_hold) or
 * collected. */
luc_l_hold *luc_l_newhold(lua_State *L, luc_l_state *st);
void luc_l_release_hold(luc_l_hold *hold);

void luc_l_pushdtype(lua_State *L, luc_l_state *st, luc_dtype dtype);
bool luc_l_todtype(lua_State *L, int index, luc_dtype *out); /* an object or a name */
luc_generator *luc_l_togenerator(lua_State *L, int index);   /* NULL if it is not one */
/* Pushes an array table of integers: a shape. */
void luc_l_pushsizes(lua_State *L, int n, const int64_t *sizes);
void luc_l_pushscalar(lua_State *L, luc_scalar s);
/* The number or boolean at the index; false if it is neither. */
static inline bool luc_l_toscalar(lua_State *L, int index, luc_scalar *out) {
  int type = lua_type(L, index);
  if (type == LUA_TNUMBER && lua_isinteger(L, index))
    *out = (luc_scalar){LUC_SCALAR_INT, {.i = lua_tointeger(L, index)}};
  else if (type == LUA_TNUMBER)
    *out = (luc_scalar){LUC_SCALAR_FLOAT, {.f = lua_tonumber(L, index)}};
  else if (type == LUA_TBOOLEAN)
    *out = (luc_scalar){LUC_SCALAR_BOOL, {.i = lua_toboolean(L, index)}};
  else
    return false;
  return true;
}
/* Pushes a number, boolean, string or list of numbers; nil for others. from_one: positions. */
void luc_l_push_value(lua_State *L, const luc_value *v, bool from_one);
/* Pushes a list of tensors as an array table; each is Lua's, and no longer in the list, once it has
 * its box. */
void luc_l_push_tensors(lua_State *L, luc_l_state *st, luc_value *list);
/* Raises if t has no shape yet. */
static inline void luc_l_need_shape(lua_State *L, luc_l_state *st, const char *who,
                                    const luc_tensor *t) {
  if (t->flags & LUC_TF_UNINITIALIZED) luc_l_raise(L, st, luc__fail_uninitialized(st->ctx, who, t));
}
/* Raises what PyTorch says of calling a method that reads values on a tensor being mapped over. */
void luc_l_need_values(lua_State *L, const char *method, const luc_tensor *t);
/* Is the value lucerna.none? */
static inline bool luc_l_isnone(lua_State *L, luc_l_state *st, int index) {
  return lua_touserdata(L, index) == st->none;
}

/* Pushes a new metatable with __name and __metatable, kept in the registry as LUC_L_… `key`. */
void luc_l_make_meta(lua_State *L, luc_l_state *st, int key, const char *name);
/* Makes one whose only metamethod is a finalizer. */
void luc_l_make_gc_meta(lua_State *L, luc_l_state *st, int key, const char *name, lua_CFunction gc);
/* Makes one of values that calling puts in force and closing ends. */
void luc_l_make_guard_meta(lua_State *L, luc_l_state *st, int key, const char *name,
                           lua_CFunction enter, lua_CFunction leave);
/* The userdata at 1 if it has the metatable LUC_L_… `key`, or an error. */
void *luc_l_checkself(lua_State *L, int key, size_t size);

/* Is it a userdata's memory that t sees, which lives only as long as the lua_State? */
bool luc_l_is_leased(const luc_tensor *t);

/* Pushes the object for t's grad_fn, or nil. */
int luc_l_push_grad_fn(lua_State *L, luc_l_state *st, luc_tensor *t);
/* The node of a grad_fn at the index, or NULL. */
luc_node *luc_l_tonode(lua_State *L, int index);
/* Adds the function at 2 to the hooks of the grad_fn at 1, after it or before; pushes a handle. */
int luc_l_node_hook(lua_State *L, luc_l_state *st, bool before);
/* Pushes the table that Lua keeps with a node, or with a leaf. */
int luc_l_push_metadata(lua_State *L, luc_l_state *st, luc_node *node, luc_tensor *leaf);

/* The parts of the core table, in the order in which they are opened. */
void luc_l_open_dtypes(lua_State *L, luc_l_state *st);
void luc_l_open_tensor(lua_State *L, luc_l_state *st);   /* the metatable */
void luc_l_open_ops(lua_State *L, luc_l_state *st);      /* the operator table */
void luc_l_open_table(lua_State *L, luc_l_state *st);    /* tensor, tolist, item */
void luc_l_open_buffer(lua_State *L, luc_l_state *st);   /* frombuffer, data_ptr, tostring */
void luc_l_open_dlpack(lua_State *L, luc_l_state *st);   /* exchange with other libraries */
void luc_l_open_context(lua_State *L, luc_l_state *st);  /* threads, memory, printing; x:size() */
void luc_l_open_random(lua_State *L, luc_l_state *st);   /* seeds and generators */
void luc_l_open_scope(lua_State *L, luc_l_state *st);    /* lucerna.scope */
void luc_l_open_region(lua_State *L, luc_l_state *st);   /* modes while a function runs */
bool luc_l_runs_region(lua_State *thread);               /* is it what this thread runs? */
void luc_l_open_observe(lua_State *L, luc_l_state *st);  /* tapes of operator calls */
void luc_l_open_autograd(lua_State *L, luc_l_state *st); /* backward, grad, modes */
void luc_l_open_graph(lua_State *L, luc_l_state *st);    /* hooks, Function */
void luc_l_open_autocast(lua_State *L, luc_l_state *st);
void luc_l_open_nodes(lua_State *L, luc_l_state *st);  /* grad_fn objects */
void luc_l_open_memory(lua_State *L, luc_l_state *st); /* resize_, set_, detach_, apply_ */
void luc_l_open_vmap(lua_State *L, luc_l_state *st);   /* levels of vmap */
void luc_l_open_fields(lua_State *L, luc_l_state *st); /* x.shape, x[…]: last, over methods */
void luc_l_open_io(lua_State *L, luc_l_state *st);     /* files */
void luc_l_open_checkpoint(lua_State *L);              /* … of PyTorch */
void luc_l_open_optim(lua_State *L, luc_l_state *st);  /* optimizers */
void luc_l_open_named(lua_State *L, luc_l_state *st);  /* arguments of Lua's functions */

#endif
