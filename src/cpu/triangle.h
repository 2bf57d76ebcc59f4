/* Clearing what lies above or below a diagonal. */
#ifndef LUC_TRIANGLE_H
#define LUC_TRIANGLE_H

#include "lucerna/base.h"

/* Zeroes, in `count` contiguous matrices of rows x columns elements of `width` bytes, what lies
 * above (lower) or below (upper) the diagonal that is `diagonal` to the right of the main one. */
void luc__triangle_clear(char *data, size_t width, int64_t count, int64_t rows, int64_t columns,
                         int64_t diagonal, bool lower);

#endif
