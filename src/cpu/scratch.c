/* Parallel loops with scratch memory: see scratch.h. */
#include "cpu/scratch.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/cuts.h"

enum { MAX_SLOTS = 64 };

typedef struct loop {
  luc_scratch_fn fn;
  void *arg;
  char *memory;
  size_t slot_size;
  int count;
  atomic_bool taken[MAX_SLOTS];
} loop;

/* Waits if a host runs more pieces at once than this context has threads. */
static int take_slot(loop *l) {
  for (;;) {
    for (int i = 0; i < l->count; i++)
      if (!atomic_exchange_explicit(&l->taken[i], true, memory_order_acquire)) return i;
    sched_yield();
  }
}

static void run_range(void *arg, int64_t begin, int64_t end) {
  loop *l = arg;
  const int slot = take_slot(l);
  l->fn(l->arg, l->memory + (size_t)slot * l->slot_size, begin, end);
  atomic_store_explicit(&l->taken[slot], false, memory_order_release);
}

static void run_bare(void *arg, int64_t begin, int64_t end) {
  const loop *l = arg;
  l->fn(l->arg, NULL, begin, end);
}

luc_status luc__parallel_scratch(luc_context *ctx, int64_t n, int64_t grain, size_t size,
                                 luc_scratch_fn fn, void *arg) {
  loop l = {.fn = fn, .arg = arg};
  if (size == 0) {
    luc__parallel_for(ctx, n, grain, run_bare, &l);
    return LUC_OK;
  }
  const int64_t threads = luc__min64(luc_get_num_threads(ctx), MAX_SLOTS);
  l.count = (int)luc__max64(luc__min64(luc__cuts(n, grain), threads), 1);
  l.slot_size = (size + 127) / 64 * 64; /* a cache line between neighbours */
  const size_t total = luc__mul_size((size_t)l.count, l.slot_size);
  l.memory = luc__alloc(ctx, total);
  if (!l.memory) return LUC_ERR_MEMORY;
  for (int i = 0; i < l.count; i++) {
    atomic_init(&l.taken[i], false);
    memset(l.memory + (size_t)i * l.slot_size, 0, 64);
  }
  luc__parallel_for(ctx, n, grain, run_range, &l);
  luc__free(ctx, l.memory, total);
  return LUC_OK;
}
