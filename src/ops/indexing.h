/* What the indexing families share: index tensors as checked tables of element offsets, and targets
 * that are written in place or copied first. */
#ifndef LUC_INDEXING_H
#define LUC_INDEXING_H

#include "cpu/index.h"
#include "ops/geometry.h"

/* index as a contiguous int64 tensor; anything but integers is an error. */
luc_status luc__index_values(luc_context *ctx, const char *who, luc_tensor *index,
                             luc_tensor **out);
/* Adds index * stride to the table; a bad index is the failure. */
luc_status luc__table_add(luc_context *ctx, const char *who, luc_tensor *table, luc_tensor *index,
                          int64_t size, int64_t stride, bool negative);
/* The failure for index v (which is wrong) along a dimension of that size. */
luc_status luc__bad_index(luc_context *ctx, const char *who, int64_t v, int64_t size,
                          bool negative);
/* mask as a contiguous bool tensor expanded to these sizes. */
luc_status luc__mask_values(luc_context *ctx, const char *who, luc_tensor *mask, int ndim,
                            const int64_t *sizes, luc_tensor **out);
/* The table of the elements of t (whose sizes mask has) where mask is set. */
luc_status luc__mask_table(luc_context *ctx, const luc_tensor *t, int dim, const luc_tensor *mask,
                           luc_tensor **table);
/* The tensor an in-place form writes (self), or a copy of self; owned by out. */
luc_status luc__begin_write(luc_context *ctx, const char *who, luc_tensor *self, luc_value *out,
                            luc_tensor **target);
/* t, or a copy of it where it shares memory with what is about to be written (a new reference). */
luc_status luc__apart(luc_context *ctx, luc_tensor *t, const luc_tensor *target, luc_tensor **out);
luc_status luc__same_dtype(luc_context *ctx, const char *who, const luc_tensor *self,
                           const luc_tensor *source, const char *name);

#endif
