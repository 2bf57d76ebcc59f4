/* The machine's last cache, and what is written past it: results of operations that fill it would
 * be gone before anybody reads them, and lines written whole need not be read first. */
#ifndef LUC_CACHE_H
#define LUC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Do so many bytes, read and written, fill it? */
bool luc__past_cache(int64_t bytes);

/* The same for what does little but write: where several threads have a cache to themselves, they
 * write into it faster than past it until there is half as much again. */
bool luc__past_cache_by(int threads, int64_t bytes);

/* After stores past the cache (luc__stream of simd.h): others see them from here on. */
static inline void luc__stream_fence(void) {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

#endif
