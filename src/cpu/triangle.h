/* Copying what lies on one side of a diagonal. */
#ifndef LUC_TRIANGLE_H
#define LUC_TRIANGLE_H

#include "base/context.h"

/* `count` contiguous matrices of rows x columns elements of `size` bytes. */
typedef struct luc_triangle {
  const char *from; /* may be `to` */
  char *to;
  int64_t size, count, rows, columns;
  int64_t diagonal; /* so far to the right of the main one */
  bool lower;       /* what lies above it becomes 0, else what lies below */
} luc_triangle;

void luc__triangle(luc_context *ctx, const luc_triangle *t);

#endif
