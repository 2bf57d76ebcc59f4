/* A nest of loops over up to four strided operands of one shape: dimensions of size 1 dropped, the
 * rest ordered by the first operand's strides and merged where every operand allows it. Dimension
 * 0 is the innermost, and strides are in bytes. Every kernel driver walks memory through this. */
#ifndef LUC_NEST_H
#define LUC_NEST_H

#include "tensor/tensor.h"

enum { LUC_NEST_OPERANDS = 4 };

typedef struct luc_nest {
  int ndim, count;
  int64_t numel;
  int64_t sizes[LUC_MAX_DIMS];
  char *base[LUC_NEST_OPERANDS];
  int64_t strides[LUC_NEST_OPERANDS][LUC_MAX_DIMS];
} luc_nest;

/* An empty nest over this shape. */
void luc__nest_init(luc_nest *nest, int ndim, const int64_t *sizes);
/* Adds an operand, broadcast to the shape; NULL adds one that has no memory (stride 0). */
void luc__nest_add(luc_nest *nest, const luc_tensor *t);
/* Drops, orders and merges dimensions. At least one dimension stays. */
void luc__nest_simplify(luc_nest *nest);
/* Dimensions a and b change places. */
void luc__nest_swap(luc_nest *nest, int a, int b);

/* Do operand i's elements, of this size, lie without gaps in the nest's order? */
bool luc__nest_is_linear(const luc_nest *nest, int i, int64_t size);

/* A position in the nest. */
typedef struct luc_cursor {
  int64_t at[LUC_MAX_DIMS];
  char *ptr[LUC_NEST_OPERANDS];
} luc_cursor;

/* The element counted `index` in the nest's order. */
void luc__nest_seek(const luc_nest *nest, int64_t index, luc_cursor *c);
/* Moves on to the next run once dimension 0 is finished (at[0] == sizes[0]). */
void luc__nest_carry(const luc_nest *nest, luc_cursor *c);
/* Moves k elements along dimension 0; k is at most what is left of it. */
static inline void luc__nest_advance(const luc_nest *nest, luc_cursor *c, int64_t k) {
  for (int i = 0; i < nest->count; i++) c->ptr[i] += k * nest->strides[i][0];
  c->at[0] += k;
  if (c->at[0] == nest->sizes[0]) luc__nest_carry(nest, c);
}

#endif
