/* From Lua arguments to boxed values, driven by a parsed schema: positional arguments, a trailing
 * table of keyword arguments, sizes as varargs, lists as tables, positions counted from 1. One
 * parser serves operators, methods of our own and module constructors. It raises with nothing
 * owned. */
#ifndef LUC_L_ARGS_H
#define LUC_L_ARGS_H

#include "l_tensor.h"

/* A schema made ready for a lua_State: its names are interned, so that a key matches by address. */
typedef struct luc_l_sig {
  const luc_schema *schema;
  const char *who; /* the function's name in messages */
  const char *keys[LUC_MAX_PARAMS];
  uint32_t params;     /* bit p: there is a parameter p, */
  uint32_t lists;      /* it takes a list, */
  uint32_t required;   /* it has no default */
  uint32_t index_mask; /* bit p: parameter p holds index tensors, to be counted from 0 */
  int8_t dim, weight;  /* the parameters of these names, or -1: what counts positions */
  bool target;         /* there is one of this name */
  bool takes_out;      /* out= is accepted */
  bool takes_inplace;  /* inplace= is accepted */
  bool as_given;       /* constructors: a number for a list, an integer for a float stay so */
  bool lenient;        /* a single tensor stands for a list of one */
} luc_l_sig;

enum { LUC_L_INTS = 32, LUC_L_FLOATS = 8, LUC_L_TENSORS = 16, LUC_L_CONVERTED = 16 };

/* One call's arguments. v[p] is the value of parameter p, defaults filled in; what it points to
 * lives in here, on the Lua stack or in the schema. */
typedef struct luc_l_args {
  luc_value v[LUC_MAX_PARAMS];
  uint32_t given; /* bit p: parameter p was given */
  uint8_t nout;   /* number of tensors in out= */
  luc_tensor *out[LUC_MAX_RESULTS];
  int out_index; /* its stack position */
  bool inplace;  /* inplace=true */
  uint8_t nints, nfloats, ntensors, nconverted;
  int64_t ints[LUC_L_INTS];
  double floats[LUC_L_FLOATS];
  luc_tensor *tensors[LUC_L_TENSORS];
  luc_tensor *converted[LUC_L_CONVERTED]; /* index tensors counted from 0, owned */
} luc_l_args;

/* None yet. */
static inline void luc_l_args_begin(luc_l_args *a) {
  a->given = 0;
  a->nout = 0;
  a->inplace = false;
  a->nints = a->nfloats = a->ntensors = a->nconverted = 0;
}
/* Defaults for those that were not given. */
static inline void luc_l_args_complete(const luc_l_sig *sig, luc_l_args *a) {
  for (uint32_t rest = sig->params & ~a->given; rest; rest &= rest - 1)
    a->v[__builtin_ctz(rest)] = sig->schema->params[__builtin_ctz(rest)].def;
}

/* Interns the schema's names. `who` NULL: the schema's name. sig and schema must stay where they
 * are. */
void luc_l_sig_init(lua_State *L, luc_l_state *st, luc_l_sig *sig, const luc_schema *schema,
                    const char *who);
/* Where a call's arguments are: n positional ones, the first `split` of them from `first` on, the
 * others (the array part of a mixed table, pushed) from `rest` on; the keyword table at `kw`, or 0,
 * and its first pair, pushed, at `pair`, or 0. */
typedef struct luc_l_layout {
  int n, first, split, rest, kw, pair;
  bool empty; /* the last positional one is {}, which a schema may take for no keyword arguments */
} luc_l_layout;

/* Where positional argument i is. */
static inline int luc_l_position(const luc_l_layout *l, int i) {
  return i < l->split ? l->first + i : l->rest + i - l->split;
}

/* The layout of the arguments at stack positions first..last. May push. */
luc_l_layout luc_l_layout_of(lua_State *L, int first, int last);
/* Reads the arguments of a layout into args, or raises; see luc_l_parse. */
void luc_l_read(lua_State *L, luc_l_state *st, const luc_l_sig *sig, const luc_l_layout *layout,
                luc_l_args *args);
/* Reads arguments first..last (stack positions) into args, or raises. May leave scratch on the
 * stack above `last`: take results from absolute positions. Index tensors are still as given. */
void luc_l_parse(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int first, int last,
                 luc_l_args *args);
/* Can a schema take so many positional arguments? */
bool luc_l_takes(lua_State *L, const luc_l_sig *sig, const luc_l_layout *layout);
/* How well positional arguments and (if `keywords`) the names of keyword arguments fit a schema:
 * LUC_L_MATCH if completely, else a smaller number, the larger the nearer. */
enum { LUC_L_MATCH = 1000 };
int luc_l_match(lua_State *L, luc_l_state *st, const luc_l_sig *sig, const luc_l_layout *layout,
                bool keywords);
/* How many names of the keyword arguments, which there must be, a schema has. */
int luc_l_known_names(lua_State *L, const luc_l_sig *sig, const luc_l_layout *layout);
/* Pushes what out=, at a stack position, has for result i of several. */
void luc_l_push_out(lua_State *L, const luc_schema *schema, int at, int i);
/* After parsing: replaces index tensors by ones counted from 0, or `as_given` by ones that say how
 * they count. A module gives the table they are positions in, or NULL. On failure nothing stays. */
luc_status luc_l_index_from_one(luc_l_state *st, const luc_l_sig *sig, const luc_tensor *table,
                                bool as_given, luc_l_args *args);
/* Drops what luc_l_index_from_one made. */
void luc_l_args_release(luc_l_state *st, luc_l_args *args);

/* ---- functions of the binding itself, declared by a schema like operators ---- */

/* Positions count from 1 in Lua. 0 becomes LUC_POSITION_ZERO, which the core's range checks refuse
 * in the words of a Lua user. */
static inline int64_t luc_l_from_one(int64_t i) {
  return i > 0 ? i - 1 : i == 0 ? LUC_POSITION_ZERO : i + (i == LUC_POSITION_ZERO);
}

/* A parameter of type Any is passed as its stack position (LUC_INT); left out, it is LUC_NONE. */
typedef int (*luc_l_native_fn)(lua_State *L, luc_l_state *st, luc_l_args *args);
/* Is the table at `index` an array? One with holes, names or a length of its own (an object that
 * stands for another) would be read as an empty one. */
bool luc_l_is_list(lua_State *L, int index);
/* The stack position of an Any that can be called; anything else is an error. */
int luc_l_check_function(lua_State *L, const char *who, const char *name, const luc_value *v);
/* Arguments stand at stack positions 1..top as given; fn returns its number of results. flags:
 * LUC_F_FUNCTION, LUC_F_METHOD, LUC_F_NN. */
typedef struct luc_l_native {
  const char *schema;
  luc_l_native_fn fn;
  uint16_t flags;
} luc_l_native;
/* Adds them: functions to the core table, methods to tensors. */
void luc_l_add_natives(lua_State *L, luc_l_state *st, const luc_l_native *natives, int n);
/* The same with functions going to a table of the core table ("autograd"). */
void luc_l_add_natives_to(lua_State *L, luc_l_state *st, const char *table,
                          const luc_l_native *natives, int n);
/* The name of the public function in C that runs, or NULL. */
const char *luc_l_running(lua_State *L);

#endif
