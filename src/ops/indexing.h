/* What the indexing families share: index tensors as checked positions, masks as offsets, and
 * targets that are written in place or copied first. */
#ifndef LUC_INDEXING_H
#define LUC_INDEXING_H

#include "cpu/index.h"
#include "ops/compute.h"
#include "ops/geometry.h"

/* index as positions along a dimension of that size; *values, a new reference, holds them, apart
 * from `target` (NULL: nothing) where that is about to be written. Anything but integers fails. */
luc_status luc__positions(luc_context *ctx, luc_tensor *index, int64_t size, bool negative,
                          const luc_tensor *target, luc_positions *p, luc_tensor **values);
/* The failure for the position that is out of range, if there is one. */
luc_status luc__positions_check(luc_context *ctx, const luc_positions *p);
/* Runs the job. A bad position is the failure, which leaves everything as it was; what is `fresh`,
 * the caller then throws away. */
luc_status luc__index_move(luc_context *ctx, const luc_index_job *job, bool fresh);
/* mask as a contiguous bool tensor expanded to these sizes. */
luc_status luc__mask_values(luc_context *ctx, luc_tensor *mask, int ndim, const int64_t *sizes,
                            luc_tensor **out);
/* The offsets of the elements of t (whose sizes mask has, from dim on) where mask is set. */
luc_status luc__mask_table(luc_context *ctx, const luc_tensor *t, int dim, const luc_tensor *mask,
                           luc_tensor **table);
/* A table of offsets as positions. */
luc_positions luc__table_positions(const luc_tensor *table);
/* The coordinates where mask (contiguous bools) is set: rows [count, ndim] or, `by_dim`, columns
 * [ndim, count]. */
luc_status luc__mask_coordinates(luc_context *ctx, const luc_tensor *mask, bool by_dim,
                                 luc_tensor **out);
/* The tensor an in-place form writes (self), or a copy of self; owned by out. */
luc_status luc__begin_write(luc_context *ctx, luc_tensor *self, luc_value *out,
                            luc_tensor **target);
/* The same, where a copy lies in memory as self does. */
luc_status luc__begin_in_order(luc_context *ctx, luc_tensor *self, luc_value *out,
                               luc_tensor **target);
/* Do elements of rows, of which positions along dim lead to one, lie apart in t that a copy of all
 * brings together in less time than it takes to move them one by one? */
bool luc__is_better_dense(luc_index_op op, const luc_tensor *t, int dim);
/* t, or a copy of it where it shares memory with what is about to be written (a new reference). */
luc_status luc__apart(luc_context *ctx, luc_tensor *t, const luc_tensor *target, luc_tensor **out);
/* The gradient of what reads args[0] at positions: gin[0] = op(zeros like it, x, y, z), where op
 * adds gout there. */
luc_status luc__grad_into_zeros(luc_context *ctx, luc_backward *b, luc_opid op, luc_value x,
                                luc_value y, luc_value z);
/* Fails unless source, called `name`, has self's dtype. */
luc_status luc__need_self_dtype(luc_context *ctx, const luc_tensor *self, const luc_tensor *source,
                                const char *name);

#endif
