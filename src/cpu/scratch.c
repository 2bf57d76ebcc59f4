/* Slots of scratch memory: see scratch.h. */
#include "cpu/scratch.h"

#include <sched.h>
#include <string.h>

luc_status luc__slots_init(luc_context *ctx, luc_slots *s, size_t size, int64_t pieces) {
  int threads = luc_get_num_threads(ctx);
  int64_t count = pieces < threads ? pieces : threads;
  s->count = (int)(count < 1 ? 1 : count > LUC_MAX_SLOTS ? LUC_MAX_SLOTS : count);
  s->slot_size = (size + 127) / 64 * 64; /* a cache line between neighbours */
  s->total = luc__mul_size((size_t)s->count, s->slot_size);
  for (int i = 0; i < s->count; i++) atomic_init(&s->taken[i], false);
  s->memory = luc__alloc(ctx, s->total);
  if (!s->memory) return LUC_ERR_MEMORY;
  for (int i = 0; i < s->count; i++) memset(s->memory + (size_t)i * s->slot_size, 0, 64);
  return LUC_OK;
}

void luc__slots_free(luc_context *ctx, luc_slots *s) {
  luc__free(ctx, s->memory, s->total);
  s->memory = NULL;
}

void *luc__slots_take(luc_slots *s) {
  for (;;) {
    for (int i = 0; i < s->count; i++)
      if (!atomic_exchange_explicit(&s->taken[i], true, memory_order_acquire))
        return s->memory + (size_t)i * s->slot_size;
    sched_yield();
  }
}

void luc__slots_put(luc_slots *s, void *slot) {
  size_t i = (size_t)((char *)slot - s->memory) / s->slot_size;
  atomic_store_explicit(&s->taken[i], false, memory_order_release);
}
