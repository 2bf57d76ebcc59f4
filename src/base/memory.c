/* The heap (allocator, limit, atomic counts) and the context's cache of free blocks in front of it.
 * A page fault costs more than most kernels, so blocks are kept by size class and reused.
 * Every block starts on a 64-byte boundary; a class's size is what the allocator sees, both ways.
 */
#define _GNU_SOURCE /* madvise */

#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

/* AddressSanitizer sees blocks in the cache as freed and the rest of a class as out of bounds. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HIDE(p, size) ASAN_POISON_MEMORY_REGION(p, size)
#define SHOW(p, size) ASAN_UNPOISON_MEMORY_REGION(p, size)
#else
#define HIDE(p, size) ((void)(p), (void)(size))
#define SHOW(p, size) ((void)(p), (void)(size))
#endif

enum {
  ALIGNMENT = 64,
  NUM_SMALL = 17, /* classes 1..16: multiples of 64 up to 1024; 0 is unused */
  STEPS = 8,      /* classes per power of two above that: at most 1/8 of a block is wasted */
  MAX_POWER = 47,
  NUM_CLASSES = NUM_SMALL + (MAX_POWER - 10) * STEPS,
  NO_CLASS = NUM_CLASSES, /* larger than any machine's memory */
  SMALL_BLOCK = 1024,     /* up to here blocks are taken STOCK bytes at a time */
  STOCK = 4 << 10,
  HUGE_BLOCK = 4 << 20, /* from here on huge pages are asked for */
  HUGE_PAGE = 2 << 20,
  MOST_CLEAN = 64
};

#ifdef LUCERNA_TEST_BUILD /* odd and tiny, to reach every path; wrong sizes and writes show */
enum { GUARD = 24, CACHE_MIN = 300 << 10, CACHE_MAX = 1 << 20 };
enum { CACHE_OVER_HOST = 0 }; /* a test's allocator sees, and can refuse, every allocation */
enum { FRESH_BYTE = 0xFF /* NaN in every float */, FREED_BYTE = 0xDB, GUARD_BYTE = 0xA9 };
#else
enum { GUARD = 0, CACHE_MIN = 64 << 20, CACHE_MAX = 1 << 30 };
enum { CACHE_OVER_HOST = CACHE_MAX };
#endif

/* What precedes a block over a host's allocator: its neighbours among all that the host has granted
 * and not got back. */
typedef struct grant {
  struct grant *previous, *next;
  size_t size;
} grant;

struct luc_heap {
  luc_alloc_fn alloc;
  void *ud;
  size_t pad; /* over a host's allocator: room for a grant and for aligning the block behind it */
  grant *grants;
  atomic_flag grants_busy;
  atomic_int refs;
  atomic_size_t limit;   /* 0: none */
  atomic_size_t granted; /* bytes the allocator has given and not got back */
  atomic_size_t peak;    /* most ever granted */
};

typedef struct free_block {
  struct free_block *next;
} free_block;

typedef struct clean_block { /* its other bytes are zero */
  struct clean_block *next;
  size_t size;
} clean_block;

struct luc_cache {
  size_t bytes;     /* in the lists, with padding */
  size_t allowance; /* at most this much: what the program once had in use, within bounds */
  size_t most;      /* what the allowance can grow to */
  size_t pad;
  free_block *lists[NUM_CLASSES];
  clean_block *clean;
  int nclean; /* at most MOST_CLEAN, since they are looked through */
};

/* ---- size classes ---- */

static unsigned class_of(size_t size) {
  if (size <= SMALL_BLOCK) return size == 0 ? 1 : (unsigned)((size + 63) >> 6);
  size_t last = size - 1;
  unsigned power = 63u - (unsigned)__builtin_clzll(last);
  if (power >= MAX_POWER) return NO_CLASS;
  return NUM_SMALL + (power - 10) * STEPS + (unsigned)((last >> (power - 3)) & 7);
}

static size_t class_size(unsigned c) {
  if (c < NUM_SMALL) return (size_t)c << 6;
  unsigned power = (c - NUM_SMALL) / STEPS + 10, step = (c - NUM_SMALL) % STEPS;
  return (size_t)(STEPS + 1 + step) << (power - 3);
}

static unsigned class_with_guard(size_t size) {
  return size > SIZE_MAX - GUARD ? NO_CLASS : class_of(size + GUARD);
}

/* ---- the heap ---- */

/* What an allocator returned (or NULL), moved by `head` and to a boundary; the byte before it tells
 * how far. */
static void *align(char *raw, size_t head) {
  if (raw == NULL) return NULL;
  size_t move = head + ALIGNMENT - ((uintptr_t)(raw + head) & (ALIGNMENT - 1)); /* 1 .. 64 + head */
  raw[move - 1] = (char)move;
  return raw + move;
}

static void *unaligned(void *ptr) {
  return ptr == NULL ? NULL : (char *)ptr - ((char *)ptr)[-1];
}

/* The C library behind the allocator's interface, for blocks that are aligned already. Small ones
 * are aligned by hand: aligned_alloc leaves a gap beside each, where the boxes of Lua would lie, as
 * far apart from each other as tensors do, when the collector walks them. */
static void *default_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  (void)ud;
  if (old_size + new_size <= SMALL_BLOCK) { /* one of them is 0 */
    if (new_size != 0) return align(malloc(new_size + ALIGNMENT), 0);
    free(unaligned(ptr));
    return NULL;
  }
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  if (new_size < HUGE_BLOCK) return aligned_alloc(ALIGNMENT, new_size);
  void *block = aligned_alloc(HUGE_PAGE, (new_size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
  if (block != NULL) (void)madvise(block, new_size, MADV_HUGEPAGE); /* a wish: failing is fine */
#endif
  return block;
}

/* Counts `size` more as granted, unless that passes the limit. */
static bool heap_charge(luc_heap *heap, size_t size) {
  size_t limit = atomic_load_explicit(&heap->limit, memory_order_relaxed);
  size_t granted = atomic_fetch_add_explicit(&heap->granted, size, memory_order_relaxed) + size;
  if (limit != 0 && granted > limit) {
    atomic_fetch_sub_explicit(&heap->granted, size, memory_order_relaxed);
    return false;
  }
  return true;
}

static void heap_note_peak(luc_heap *heap) {
  size_t granted = atomic_load_explicit(&heap->granted, memory_order_relaxed);
  size_t peak = atomic_load_explicit(&heap->peak, memory_order_relaxed);
  while (granted > peak &&
         !atomic_compare_exchange_weak_explicit(&heap->peak, &peak, granted, memory_order_relaxed,
                                                memory_order_relaxed)) {}
}

/* Blocks may be given back by threads that hold a shared storage. */
static void lock_grants(luc_heap *heap) {
  while (atomic_flag_test_and_set_explicit(&heap->grants_busy, memory_order_acquire)) {}
}

static void unlock_grants(luc_heap *heap) {
  atomic_flag_clear_explicit(&heap->grants_busy, memory_order_release);
}

/* The block behind a new grant. */
static void *grant_add(luc_heap *heap, grant *g, size_t total) {
  lock_grants(heap);
  *g = (grant){.next = heap->grants, .size = total};
  if (g->next != NULL) g->next->previous = g;
  heap->grants = g;
  unlock_grants(heap);
  return align((char *)g, sizeof *g);
}

static void *grant_remove(luc_heap *heap, grant *g) {
  lock_grants(heap);
  *(g->previous != NULL ? &g->previous->next : &heap->grants) = g->next;
  if (g->next != NULL) g->next->previous = g->previous;
  unlock_grants(heap);
  return g;
}

/* A block of `size` bytes, a class's size. */
static void *heap_get(luc_heap *heap, size_t size) {
  size_t total = size + heap->pad;
  if (!heap_charge(heap, total)) return NULL;
  char *raw = heap->alloc(heap->ud, NULL, 0, total);
  if (raw == NULL) {
    atomic_fetch_sub_explicit(&heap->granted, total, memory_order_relaxed);
    return NULL;
  }
  heap_note_peak(heap);
  return heap->pad == 0 ? raw : grant_add(heap, (grant *)raw, total);
}

static void heap_put(luc_heap *heap, void *ptr, size_t size) {
  size_t total = size + heap->pad;
  SHOW(ptr, size);
  heap->alloc(heap->ud, heap->pad == 0 ? ptr : grant_remove(heap, unaligned(ptr)), total, 0);
  atomic_fetch_sub_explicit(&heap->granted, total, memory_order_relaxed);
}

luc_heap *luc__heap_new(const luc_config *cfg) {
  luc_heap first = {.alloc = cfg->alloc,
                    .ud = cfg->alloc_ud,
                    .pad = sizeof(grant) + ALIGNMENT,
                    .grants_busy = ATOMIC_FLAG_INIT};
  if (first.alloc == NULL) {
    first.alloc = default_alloc;
    first.pad = 0;
  }
  atomic_init(&first.refs, 1);
  atomic_init(&first.limit, cfg->memory_limit);
  luc_heap *heap = heap_get(&first, class_size(class_of(sizeof *heap)));
  if (heap != NULL) memcpy(heap, &first, sizeof first);
  return heap;
}

luc_heap *luc__heap_retain(luc_context *ctx) {
  atomic_fetch_add_explicit(&ctx->heap->refs, 1, memory_order_relaxed);
  return ctx->heap;
}

/* A host gets back what nobody holds any more: where memory is so short that Lua cannot call a
 * finalizer, it drops it, and what it would have released is lost. The heap's own block is the
 * first that was granted. Tests see what leaks. */
static void give_back_lost(luc_heap *heap) {
#ifndef LUCERNA_TEST_BUILD
  while (heap->grants != NULL && heap->grants->next != NULL) {
    grant *g = heap->grants;
    size_t size = g->size;
    heap->alloc(heap->ud, grant_remove(heap, g), size, 0);
  }
#else
  (void)heap;
#endif
}

void luc__heap_release(luc_heap *heap) {
  if (atomic_fetch_sub_explicit(&heap->refs, 1, memory_order_acq_rel) != 1) return;
  luc_heap last = {.alloc = heap->alloc, .ud = heap->ud, .pad = heap->pad, .grants = heap->grants};
  give_back_lost(&last);
  heap_put(&last, heap, class_size(class_of(sizeof *heap)));
}

/* ---- the test build's checks: fresh memory reads as NaN, guards show wrong sizes and writes ----
 */

#ifdef LUCERNA_TEST_BUILD
static void mark_fresh(void *ptr, size_t size, size_t block) {
  memset(ptr, FRESH_BYTE, size);
  memset((char *)ptr + size, GUARD_BYTE, block - size < GUARD ? block - size : GUARD);
}

static void check_guard(const void *ptr, size_t size) {
  const unsigned char *guard = (const unsigned char *)ptr + size;
  for (int i = 0; i < GUARD; i++) LUC_ASSERT(guard[i] == GUARD_BYTE);
}

static void mark_freed(void *ptr, size_t block) {
  memset(ptr, FREED_BYTE, block);
}

static void check_clean(const void *ptr, size_t size) {
  const unsigned char *bytes = ptr;
  for (size_t i = 0; i < size; i++) LUC_ASSERT(bytes[i] == 0);
}

/* Nobody may have written to a block while it was in the cache. */
static void check_freed(const void *ptr, size_t block) {
  const unsigned char *bytes = ptr;
  size_t end = block < 4096 ? block : 4096;
  for (size_t i = sizeof(free_block); i < end; i++) LUC_ASSERT(bytes[i] == FREED_BYTE);
}
#else
static inline void mark_fresh(void *ptr, size_t size, size_t block) {
  (void)ptr, (void)size, (void)block;
}
static inline void check_guard(const void *ptr, size_t size) {
  (void)ptr, (void)size;
}
static inline void mark_freed(void *ptr, size_t block) {
  (void)ptr, (void)block;
}
static inline void check_clean(const void *ptr, size_t size) {
  (void)ptr, (void)size;
}
static inline void check_freed(const void *ptr, size_t block) {
  (void)ptr, (void)block;
}
#endif

/* Hands a block to its user: exactly `size` bytes of it may be touched. */
static void *block_out(void *ptr, size_t size, unsigned c) {
  size_t block = class_size(c);
  SHOW(ptr, block);
  mark_fresh(ptr, size, block);
  HIDE((char *)ptr + size, block - size);
  return ptr;
}

static void block_in(void *ptr, size_t size, unsigned c) {
  SHOW(ptr, class_size(c));
  check_guard(ptr, size);
}

void *luc__heap_alloc(luc_heap *heap, size_t size) {
  unsigned c = class_with_guard(size);
  void *ptr = c == NO_CLASS ? NULL : heap_get(heap, class_size(c));
  return ptr == NULL ? NULL : block_out(ptr, size, c);
}

void luc__heap_free(luc_heap *heap, void *ptr, size_t size) {
  if (ptr == NULL) return;
  unsigned c = class_with_guard(size);
  block_in(ptr, size, c);
  mark_freed(ptr, class_size(c));
  heap_put(heap, ptr, class_size(c));
}

/* ---- the cache ---- */

luc_cache *luc__cache_new(luc_heap *heap) {
  luc_cache *cache = luc__heap_alloc(heap, sizeof *cache);
  if (cache == NULL) return NULL;
  memset(cache, 0, sizeof *cache);
  cache->pad = heap->pad;
  cache->most = heap->pad == 0 ? CACHE_MAX : CACHE_OVER_HOST;
  cache->allowance = cache->most < CACHE_MIN ? cache->most : CACHE_MIN;
  return cache;
}

/* Returns every cached block to the allocator; true if there was one. */
static bool cache_trim(luc_heap *heap, luc_cache *cache) {
  bool any = cache->bytes != 0;
  for (unsigned c = 1; c < NUM_CLASSES; c++) {
    while (cache->lists[c] != NULL) {
      free_block *block = cache->lists[c];
      SHOW(block, sizeof *block);
      cache->lists[c] = block->next;
      heap_put(heap, block, class_size(c));
    }
  }
  while (cache->clean != NULL) {
    clean_block *block = cache->clean;
    cache->clean = block->next;
    heap_put(heap, block, class_size(class_with_guard(block->size)));
  }
  cache->nclean = 0;
  cache->bytes = 0;
  return any;
}

void luc__cache_free(luc_heap *heap, luc_cache *cache) {
  if (cache == NULL) return;
  cache_trim(heap, cache);
  luc__heap_free(heap, cache, sizeof *cache);
}

/* Makes room for `bytes` more: the allowance follows the program's peak; a cache that is full all
 * the same holds blocks of sizes no longer asked for, and starts over. */
static bool cache_make_room(luc_heap *heap, luc_cache *cache, size_t bytes) {
  size_t peak = atomic_load_explicit(&heap->peak, memory_order_relaxed);
  if (peak > cache->most) peak = cache->most;
  if (peak > cache->allowance) cache->allowance = peak;
  if (bytes > cache->allowance) return false;
  if (cache->bytes + bytes > cache->allowance) cache_trim(heap, cache);
  return true;
}

static void cache_add(luc_cache *cache, free_block *block, unsigned c) {
  mark_freed(block, class_size(c));
  block->next = cache->lists[c];
  cache->lists[c] = block;
  cache->bytes += class_size(c) + cache->pad;
  HIDE(block, class_size(c));
}

/* Some more blocks of a small class, beside each other. A host's allocator sees every need. */
static void cache_stock(luc_heap *heap, luc_cache *cache, unsigned c) {
  if (c >= NUM_SMALL || heap->pad != 0 || cache->bytes + STOCK > cache->allowance) return;
  for (size_t got = 0; got < STOCK; got += class_size(c)) {
    free_block *block = heap_get(heap, class_size(c));
    if (block == NULL) return;
    cache_add(cache, block, c);
  }
}

/* The cache has no such block: ask the allocator, and once more with all we keep given back. */
static void *alloc_slow(luc_context *ctx, size_t size, unsigned c) {
  void *ptr = NULL;
  if (c != NO_CLASS) {
    ptr = heap_get(ctx->heap, class_size(c));
    if (ptr == NULL && cache_trim(ctx->heap, ctx->cache)) ptr = heap_get(ctx->heap, class_size(c));
  }
  if (ptr != NULL) {
    cache_stock(ctx->heap, ctx->cache, c);
    return block_out(ptr, size, c);
  }
  luc_memory now = luc_memory_stats(ctx);
  if (now.limit != 0)
    luc__fail(ctx, LUC_ERR_MEMORY,
              "out of memory: %zu bytes asked for, %zu in use, the limit is %zu", size, now.live,
              now.limit);
  else
    luc__fail(ctx, LUC_ERR_MEMORY, "out of memory: %zu bytes asked for, %zu in use", size,
              now.live);
  return NULL;
}

/* The next call writes the first lines of this block, which may have left the cache since it was
 * freed. */
static inline void expect(const free_block *block) {
  for (int line = 0; line < 3; line++)
    __builtin_prefetch((const char *)block + line * ALIGNMENT, 1);
}

void *luc__alloc(luc_context *ctx, size_t size) {
  LUC_ASSERT(ctx->pool == NULL || !luc__pool_busy(ctx->pool));
  unsigned c = class_with_guard(size);
  luc_cache *cache = ctx->cache;
  free_block *block = c == NO_CLASS ? NULL : cache->lists[c];
  if (block == NULL) return alloc_slow(ctx, size, c);
  SHOW(block, class_size(c));
  cache->lists[c] = block->next;
  expect(block->next);
  cache->bytes -= class_size(c) + cache->pad;
  check_freed(block, class_size(c));
  return block_out(block, size, c);
}

void *luc__alloc_zero(luc_context *ctx, size_t size) {
  void *ptr = luc__alloc(ctx, size);
  if (ptr != NULL) memset(ptr, 0, size);
  return ptr;
}

void *luc__alloc_clean(luc_context *ctx, size_t size) {
  for (clean_block **at = &ctx->cache->clean; *at != NULL; at = &(*at)->next) {
    clean_block *block = *at;
    if (block->size != size) continue;
    *at = block->next;
    *block = (clean_block){NULL, 0};
    ctx->cache->nclean--;
    ctx->cache->bytes -= class_size(class_with_guard(size)) + ctx->cache->pad;
    check_clean(block, size);
    return block;
  }
  return luc__alloc_zero(ctx, size);
}

void luc__free_clean(luc_context *ctx, void *ptr, size_t size) {
  luc_cache *cache = ctx->cache;
  size_t bytes = class_size(class_with_guard(size)) + cache->pad;
  if (size < sizeof(clean_block) || cache->nclean == MOST_CLEAN ||
      (cache->bytes + bytes > cache->allowance && !cache_make_room(ctx->heap, cache, bytes))) {
    luc__free(ctx, ptr, size);
    return;
  }
  check_clean(ptr, size);
  *(clean_block *)ptr = (clean_block){cache->clean, size};
  cache->clean = ptr;
  cache->nclean++;
  cache->bytes += bytes;
}

void luc__free(luc_context *ctx, void *ptr, size_t size) {
  if (ptr == NULL) return;
  LUC_ASSERT(ctx->pool == NULL || !luc__pool_busy(ctx->pool));
  unsigned c = class_with_guard(size);
  luc_cache *cache = ctx->cache;
  size_t bytes = class_size(c) + cache->pad;
  block_in(ptr, size, c);
  if (cache->bytes + bytes > cache->allowance && !cache_make_room(ctx->heap, cache, bytes)) {
    mark_freed(ptr, class_size(c));
    heap_put(ctx->heap, ptr, class_size(c));
    return;
  }
  cache_add(cache, ptr, c);
}

void *luc__realloc(luc_context *ctx, void *ptr, size_t old_size, size_t new_size) {
  if (ptr == NULL) return luc__alloc(ctx, new_size);
  unsigned c = class_with_guard(old_size);
  if (c == class_with_guard(new_size) && GUARD == 0) {
    SHOW(ptr, class_size(c));
    HIDE((char *)ptr + new_size, class_size(c) - new_size);
    return ptr;
  }
  void *moved = luc__alloc(ctx, new_size);
  if (moved == NULL) return NULL;
  memcpy(moved, ptr, old_size < new_size ? old_size : new_size);
  luc__free(ctx, ptr, old_size);
  return moved;
}

size_t luc__mul_size(size_t n, size_t size) {
  size_t product;
  return __builtin_mul_overflow(n, size, &product) ? SIZE_MAX : product;
}

luc_memory luc_memory_stats(const luc_context *ctx) {
  size_t granted = atomic_load_explicit(&ctx->heap->granted, memory_order_relaxed);
  return (luc_memory){
      .live = granted - ctx->cache->bytes,
      .cached = ctx->cache->bytes,
      .peak = atomic_load_explicit(&ctx->heap->peak, memory_order_relaxed),
      .limit = atomic_load_explicit(&ctx->heap->limit, memory_order_relaxed),
  };
}

void luc_memory_set_limit(luc_context *ctx, size_t bytes) {
  atomic_store_explicit(&ctx->heap->limit, bytes, memory_order_relaxed);
}

void luc_memory_trim(luc_context *ctx) {
  cache_trim(ctx->heap, ctx->cache);
}
