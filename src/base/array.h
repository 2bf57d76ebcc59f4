/* Arrays that grow: memory for twice as many items whenever they are full, so that n additions copy
 * fewer than 2 n of them. */
#ifndef LUC_ARRAY_H
#define LUC_ARRAY_H

#include "base/memory.h"

/* The array with room for item n: `items`, or where they have been moved; NULL if memory is
 * refused, when it stays as it was. */
static inline void *luc__with_room(luc_context *ctx, void *items, size_t n, size_t *capacity,
                                   size_t size) {
  if (n < *capacity) return items;
  const size_t more = *capacity ? 2 * *capacity : 16;
  void *moved = luc__realloc(ctx, items, *capacity * size, luc__mul_size(more, size));
  if (moved) *capacity = more;
  return moved;
}

#endif
