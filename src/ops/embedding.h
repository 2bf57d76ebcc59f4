/* What lookups in a table share. */
#ifndef LUC_OPS_EMBEDDING_H
#define LUC_OPS_EMBEDDING_H

#include "ops/op.h"

/* Fails where one of the int64 indices (contiguous) is outside [0, rows). */
luc_status luc__embedding_check(luc_context *ctx, const luc_tensor *indices, int64_t rows);
/* padding_idx, if given, as a row counted from the first one; *out stays where it is not. */
luc_status luc__embedding_padding(luc_context *ctx, const luc_value *given, int64_t rows,
                                  int64_t *out);
/* The rows of weight at indices, which are about to be looked up, are scaled down to max_norm, in
 * place and unrecorded. */
luc_status luc__embedding_renorm(luc_context *ctx, luc_tensor *weight, luc_tensor *indices,
                                 double max_norm, luc_value norm_type);

/* The rows of a table that may be other than zero [n, width]; NULL: unknown, or none. */
luc_status luc__known_rows(luc_context *ctx, luc_tensor *t, luc_tensor **out);
/* t *= factor, a number in a tensor; only known rows are touched, and stay known. */
luc_status luc__scale(luc_context *ctx, luc_tensor *t, luc_tensor *factor);

#endif
