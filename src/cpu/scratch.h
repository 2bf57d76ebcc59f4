/* Scratch memory for the pieces of a parallel loop: few slots, taken and given back by whichever
 * thread runs a piece, so that memory is bounded and stays warm however many pieces there are. */
#ifndef LUC_SCRATCH_H
#define LUC_SCRATCH_H

#include <stdatomic.h>

#include "base/context.h"

enum { LUC_MAX_SLOTS = 64 };

typedef struct luc_slots {
  char *memory;
  size_t slot_size, total;
  int count;
  atomic_bool taken[LUC_MAX_SLOTS];
} luc_slots;

/* Slots of `size` bytes for a loop of `pieces`: 64 zeros, then undefined. */
luc_status luc__slots_init(luc_context *ctx, luc_slots *s, size_t size, int64_t pieces);
void luc__slots_free(luc_context *ctx, luc_slots *s);
/* A slot of one's own, until it is put back. Waits if a host runs more pieces at once than this
 * context has threads. */
void *luc__slots_take(luc_slots *s);
void luc__slots_put(luc_slots *s, void *slot);

#endif
