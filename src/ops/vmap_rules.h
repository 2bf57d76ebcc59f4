/* What the files of vmap's rules share. */
#ifndef LUC_VMAP_RULES_H
#define LUC_VMAP_RULES_H

#include "ops/pointwise.h"
#include "ops/vmap.h"

/* As memcpy, but `from` may be NULL when n is 0. */
static inline void copy_sizes(int64_t *to, const int64_t *from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i];
}
/* Dimensions of one sample of parameter p; 0 also if it is no tensor. */
int luc__vm_ndim(const luc_vcall *c, int p);
/* Gives parameter p (every one) the level's dimension if it lacks it; false: c->f has failed. */
bool luc__vm_batch(luc_vcall *c, int p);
bool luc__vm_all_batched(luc_vcall *c);
/* A batched t with dimensions of size 1 in front of its samples' own, so that they have ndim. */
luc_tensor *luc__vm_pad(luc_vcall *c, luc_tensor *t, int ndim);
/* Calls the operator with c->args: out of place into c->out, or in place. */
luc_status luc__vm_call(luc_context *ctx, luc_vcall *c);
/* Makes t result r, unless the formula has failed. */
luc_status luc__vm_result(luc_vcall *c, int r, luc_tensor *t);

/* The rules that rows of ops.def name. */
luc_vmap_rule luc__vmap_add_product, luc__vmap_attention, luc__vmap_batch_norm, luc__vmap_blocks,
    luc__vmap_convolution, luc__vmap_convolution_weight, luc__vmap_copy, luc__vmap_dims,
    luc__vmap_dynamic, luc__vmap_embedding, luc__vmap_expand, luc__vmap_expand_as,
    luc__vmap_extreme, luc__vmap_fill, luc__vmap_flatten, luc__vmap_fold, luc__vmap_index,
    luc__vmap_index_dim, luc__vmap_layer_norm, luc__vmap_linear, luc__vmap_list, luc__vmap_loss,
    luc__vmap_masked_fill, luc__vmap_masked_select, luc__vmap_matmul, luc__vmap_matrix,
    luc__vmap_mm_fold, luc__vmap_new, luc__vmap_new_dim, luc__vmap_nll_loss, luc__vmap_one_hot,
    luc__vmap_pad, luc__vmap_permute, luc__vmap_pointwise, luc__vmap_random_fill,
    luc__vmap_random_like, luc__vmap_random_of, luc__vmap_random_size, luc__vmap_ravel,
    luc__vmap_recurrence, luc__vmap_reduce, luc__vmap_reduce_one, luc__vmap_reverse,
    luc__vmap_same_dims, luc__vmap_same_shape, luc__vmap_search, luc__vmap_squeeze,
    luc__vmap_strided_add, luc__vmap_strided_view, luc__vmap_view, luc__vmap_view_as;

#endif
