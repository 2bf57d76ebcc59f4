/* From Lua arguments to boxed values, driven by a parsed schema: positional arguments, a trailing
 * table of keyword arguments, sizes as varargs, lists as tables, positions counted from 1. One parser
 * serves operators, methods of our own and module constructors. It raises with nothing owned. */
#ifndef LUC_L_ARGS_H
#define LUC_L_ARGS_H

#include "l_tensor.h"

/* A schema made ready for a lua_State: its names are interned, so that a key matches by address. */
typedef struct luc_l_sig {
  const luc_schema *schema;
  const char *who; /* the function's name in messages */
  const char *keys[LUC_MAX_PARAMS];
  uint32_t required;    /* bit p: parameter p has no default */
  uint32_t index_mask;  /* bit p: parameter p holds index tensors, to be counted from 0 */
  bool takes_out;       /* out= is accepted */
  bool takes_inplace;   /* inplace= is accepted */
  bool lenient;         /* a single tensor stands for a list of one */
} luc_l_sig;

enum { LUC_L_INTS = 32, LUC_L_FLOATS = 8, LUC_L_TENSORS = 16, LUC_L_CONVERTED = 16 };

/* One call's arguments. v[p] is the value of parameter p, defaults filled in; what it points to lives
 * in here, on the Lua stack or in the schema. */
typedef struct luc_l_args {
  luc_value v[LUC_MAX_PARAMS];
  uint32_t given;      /* bit p: parameter p was given */
  luc_tensor *out;     /* out=, or NULL */
  int out_index;       /* its stack position */
  bool inplace;        /* inplace=true */
  uint8_t nints, nfloats, ntensors, nconverted;
  int64_t ints[LUC_L_INTS];
  double floats[LUC_L_FLOATS];
  luc_tensor *tensors[LUC_L_TENSORS];
  luc_tensor *converted[LUC_L_CONVERTED]; /* index tensors counted from 0, owned */
} luc_l_args;

/* Interns the schema's names. `who` NULL: the schema's name. sig and schema must stay where they are. */
void luc_l_sig_init(lua_State *L, luc_l_state *st, luc_l_sig *sig, const luc_schema *schema,
                    const char *who);
/* Reads arguments first..last (stack positions) into args, or raises. May leave scratch on the stack
 * above `last`: take results from absolute positions. Index tensors are still as given. */
void luc_l_parse(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int first, int last,
                 luc_l_args *args);
/* Could these arguments be meant for this schema? Looks at number, kinds and keys; never raises. */
bool luc_l_matches(lua_State *L, luc_l_state *st, const luc_l_sig *sig, int first, int last);
/* After parsing: replaces index tensors by ones counted from 0. On failure nothing is kept. */
luc_status luc_l_index_from_one(luc_l_state *st, const luc_l_sig *sig, luc_l_args *args);
/* Drops what luc_l_index_from_one made. */
void luc_l_args_release(luc_l_state *st, luc_l_args *args);

/* ---- functions of the binding itself, declared by a schema like operators ---- */

typedef int (*luc_l_native_fn)(lua_State *L, luc_l_state *st, luc_l_args *args);
/* For positions: args->v[0] is at stack index 1 when called positionally. flags: LUC_F_FUNCTION,
 * LUC_F_METHOD. fn returns its number of results. */
typedef struct luc_l_native {
  const char *schema;
  luc_l_native_fn fn;
  uint16_t flags;
} luc_l_native;
/* Adds them: functions to the core table on top of the stack, methods to tensors. */
void luc_l_add_natives(lua_State *L, luc_l_state *st, const luc_l_native *natives, int n);

#endif
