/* Blocks of memory from the context's heap: sized frees, a size-class cache, exact accounting.
 * A heap outlives its context while shared storages still point to it. Only the thread that drives
 * the context allocates: take scratch before a parallel loop, never inside one. */
#ifndef LUC_MEMORY_H
#define LUC_MEMORY_H

#include "lucerna/base.h"

typedef struct luc_heap luc_heap; /* allocator + limit + atomic counts, atomically counted */

typedef struct luc_cache luc_cache; /* one context's free lists: no atomics, no locks */

/* For the context: the heap it starts with (NULL: refused), its cache, and raw heap blocks. */
luc_heap *luc__heap_new(const luc_config *cfg);
luc_cache *luc__cache_new(luc_heap *heap);
void luc__cache_free(luc_heap *heap, luc_cache *cache);
void *luc__heap_alloc(luc_heap *heap, size_t size);

/* A block of at least `size` bytes, 64-byte aligned, from the cache or the allocator; NULL when
 * refused (the context then holds LUC_ERR_MEMORY and its message). size 0 gives a valid block. */
void *luc__alloc(luc_context *ctx, size_t size);
/* The same, zeroed. */
void *luc__alloc_zero(luc_context *ctx, size_t size);
/* A zeroed block as well, and back when every byte of it is zero again: kept apart, it need not be
 * cleared once more. */
void *luc__alloc_clean(luc_context *ctx, size_t size);
void luc__free_clean(luc_context *ctx, void *ptr, size_t size);
/* Grows or shrinks; on NULL the old block is untouched. */
void *luc__realloc(luc_context *ctx, void *ptr, size_t old_size, size_t new_size);
/* Gives a block back to the cache. `size` is what was asked for. NULL is fine. */
void luc__free(luc_context *ctx, void *ptr, size_t size);
/* n * size, or SIZE_MAX on overflow (which no allocator grants). */
size_t luc__mul_size(size_t n, size_t size);

/* The heap behind a context: +1 reference for shared storages, and frees that bypass the cache. */
luc_heap *luc__heap_retain(luc_context *ctx);
void luc__heap_release(luc_heap *heap);
void luc__heap_free(luc_heap *heap, void *ptr, size_t size);

#endif
