/* What the files of vmap's rules share. */
#ifndef LUC_VMAP_RULES_H
#define LUC_VMAP_RULES_H

#include "ops/pointwise.h"
#include "ops/vmap.h"

/* n may be 0 and the list then NULL. */
static inline void copy_sizes(int64_t *to, const int64_t *from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i];
}
/* Dimensions of one sample of parameter p; 0 also if it is no tensor. */
int luc__vm_ndim(const luc_vcall *c, int p);
/* Gives parameter p (every one) the level's dimension if it lacks it; false: c->f has failed. */
bool luc__vm_batch(luc_vcall *c, int p);
bool luc__vm_all_batched(luc_vcall *c);
/* Calls the operator with c->args: out of place into c->out, or in place. */
luc_status luc__vm_call(luc_context *ctx, luc_vcall *c);
/* t as result r, unless the formula has failed. */
luc_status luc__vm_result(luc_vcall *c, int r, luc_tensor *t);

#define LUC_VMAP(op, rule)        luc_status luc__vmap_##rule(luc_context *ctx, luc_vcall *c);
#define LUC_VMAP_RANDOM(op, rule) LUC_VMAP(op, rule)
#include "ops/vmap.def"
#undef LUC_VMAP
#undef LUC_VMAP_RANDOM

#endif
