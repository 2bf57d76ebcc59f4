/* Index tensors between Lua, which counts from 1, and the core, which counts from 0. */
#ifndef LUC_COUNTING_H
#define LUC_COUNTING_H

#include "tensor/tensor.h"

/* A new int64 tensor with every positive index one less; negative ones count from the end and stay.
 * 0 is refused, naming the number of positions (-1: not known). Masks and floating point
 * (class probabilities) or complex numbers are no indices: they come back as they are, retained. */
luc_status luc__index_from_one(luc_context *ctx, int64_t positions, luc_tensor *t,
                               luc_tensor **out);
/* The same for operators that read positions through luc__positions: where nothing else may see the
 * tensor, a view of it that says from_one, which spares a pass over memory. */
luc_status luc__index_as_given(luc_context *ctx, int64_t positions, luc_tensor *t,
                               luc_tensor **out);
/* Adds 1 to a result of int64 indices: in place if nothing else sees it, else *t is replaced by a
 * new tensor. */
luc_status luc__index_to_one(luc_context *ctx, luc_tensor **t);

#endif
