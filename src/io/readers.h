/* The readers and writers of one tensor a file, as the binding and the fuzzing harnesses call them:
 * an input, which they take over, or a target. */
#ifndef LUC_READERS_H
#define LUC_READERS_H

#include "io/file.h"

/* IDX, gzipped or not. */
luc_status luc__idx_read(luc_input input, luc_tensor **out);
luc_status luc__png_write(luc_context *ctx, const luc_target *to, luc_tensor *image);

#endif
