/* What lookups in a table share. */
#ifndef LUC_OPS_EMBEDDING_H
#define LUC_OPS_EMBEDDING_H

#include "ops/op.h"

/* Fails where one of the int64 indices (contiguous) is outside [0, rows). */
luc_status luc__embedding_check(luc_context *ctx, const luc_tensor *indices, int64_t rows);
/* The rows of weight at indices, which are about to be looked up, are scaled down to max_norm, in
 * place and unrecorded. */
luc_status luc__embedding_renorm(luc_context *ctx, luc_tensor *weight, luc_tensor *indices,
                                 double max_norm, luc_value norm_type);

#endif
