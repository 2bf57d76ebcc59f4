/* What cpuid tells of the caches. (In a guest the C library may tell the size of the whole
 * machine's, which it shares with others.) */
#include "cpu/cache.h"

#include <stdatomic.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
  SMALL = 1 << 22, /* no last cache is */
  LARGE = 1 << 25  /* what is larger serves many: one process does not get all of it */
};

#define UNKNOWN INT64_MAX /* nothing fills it */

/* Bytes of the largest, or, without cpuid, UNKNOWN. */
static int64_t find(void) {
  int64_t most = 0;
#if defined(__x86_64__)
  static const unsigned leaves[] = {4, 0x8000001d}; /* Intel's, AMD's */
  unsigned a, b, sets, flags;
  for (int k = 0; k < 2; k++)
    for (unsigned i = 0; __get_cpuid_count(leaves[k], i, &a, &b, &sets, &flags) && a % 32; i++) {
      const unsigned ways = (b >> 22) + 1, parts = (b >> 12) % 1024 + 1, line = b % 4096 + 1;
      const int64_t bytes = (int64_t)ways * parts * line * ((int64_t)sets + 1);
      if (bytes > most) most = bytes;
    }
#endif
  return most > 0 ? most : UNKNOWN;
}

/* Asking takes a guest microseconds. */
static int64_t last_cache(void) {
  static _Atomic int64_t known;
  int64_t size = atomic_load_explicit(&known, memory_order_relaxed);
  if (size == 0) {
    size = find();
    atomic_store_explicit(&known, size, memory_order_relaxed);
  }
  return size;
}

static bool is_shared(int64_t size) {
  return size > LARGE && size < UNKNOWN;
}

bool luc__past_cache(int64_t bytes) {
  if (bytes < SMALL) return false;
  const int64_t size = last_cache();
  return bytes >= (is_shared(size) ? LARGE : size);
}

bool luc__past_cache_by(int threads, int64_t bytes) {
  if (bytes < SMALL) return false;
  return luc__past_cache(threads > 1 && !is_shared(last_cache()) ? bytes - bytes / 3 : bytes);
}
