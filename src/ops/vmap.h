/* Mapping functions over a dimension of their tensors (lucerna.func.vmap). A level is one map that
 * is running; a batched tensor (luc__tensor_batched) hides a level's dimension. A call with batched
 * tensors is done on what they hide, with the dimension in front, by the rule that its row names;
 * whatever has no rule, or a rule cannot do, is done sample by sample and stacked. Levels nest: a
 * rule calls operators, which see the tensors of the levels further out. */
#ifndef LUC_VMAP_H
#define LUC_VMAP_H

#include "ops/formula.h"

/* What random operators do: refuse, draw for every sample, draw once for all. */
typedef enum luc_randomness {
  LUC_RANDOM_ERROR,
  LUC_RANDOM_DIFFERENT,
  LUC_RANDOM_SAME
} luc_randomness;

typedef struct luc_vmap_level {
  struct luc_vmap_level *outer;
  uint64_t id; /* larger than those of the levels around it */
  int64_t size;
  luc_randomness randomness;
  int entered; /* how often */
} luc_vmap_level;

/* The caller owns a level's memory, and leaves it as often as it entered before freeing it. */
void luc__vmap_enter(luc_context *ctx, luc_vmap_level *level);
void luc__vmap_leave(luc_context *ctx, luc_vmap_level *level);

/* ---- for the door; asked only while ctx->batched ---- */

/* Must this call go to luc__vmap_call? */
bool luc__vmap_concerns(const luc_context *ctx, luc_opid op, const luc_value *args);
luc_status luc__vmap_call(luc_context *ctx, luc_opid op, const luc_value *args, luc_value *out);
luc_status luc__vmap_inplace(luc_context *ctx, luc_opid op, const luc_value *args);
/* After a composite failed with batched arguments: makes the call sample by sample, if that can
 * help, else returns the failure. */
luc_status luc__vmap_retry(luc_context *ctx, luc_opid op, const luc_value *args, luc_status failure,
                           luc_value *out);
/* Fails if a call that writes to tensors of the caller's has batched ones. */
luc_status luc__vmap_refuse_out(luc_context *ctx, luc_opid op, const luc_value *args,
                                luc_tensor *const *into);

/* ---- for rules (vmap_rules.c) ---- */

enum { LUC_VCALL_ROOMS = 4 };

/* A call at one level. */
struct luc_vcall {
  luc_formula f; /* owns what the rule makes */
  luc_opid op;
  const luc_op_info *info;
  const luc_value *given;         /* as one sample sees them; defaults filled in */
  luc_value args[LUC_MAX_PARAMS]; /* the same without this level: its dimension in front */
  uint32_t batched;               /* bit p: parameter p (one of its list) came with the dimension */
  uint32_t expanded;              /* bit p: the rule has given it to parameter p */
  luc_tensor **list;              /* the tensors of the list parameter in args; owned */
  int nlist;
  luc_vmap_level *level;
  int64_t rooms[LUC_VCALL_ROOMS][LUC_MAX_DIMS]; /* room for lists that a rule has changed */
  int nrooms;
  bool plain; /* the results are the same for all samples, and have no dimension in front */
  luc_value *out;
};

/* What a rule returns that leaves the call to be done sample by sample. */
#define LUC_VMAP_DECLINE LUC_ERR_SUPPORT

#endif
