/* Few pairs by insertion or by ranks, more by the bytes of their keys. Stable. */
#include "cpu/sort_pairs.h"

#include <stdbool.h>

/* False: given up halfway, after more than `most` moves. */
static inline bool insertion_sort(luc_pair *p, int64_t n, int64_t most) {
  for (int64_t i = 1; i < n && most >= 0; i++) {
    luc_pair v = p[i];
    int64_t k = i;
    for (; k > 0 && p[k - 1].key > v.key; k--) p[k] = p[k - 1];
    p[k] = v;
    most -= i - k;
  }
  return most >= 0;
}

/* One byte of the key after another, but those without a bit in `apart`. The result is in p or in
 * spare, and so it is in what follows. */
static luc_pair *sort_bytes(luc_pair *p, luc_pair *spare, int64_t n, uint64_t apart) {
  luc_pair *from = p, *to = spare;
  for (int shift = 0; shift < 64; shift += 8) {
    if (!(apart >> shift & 255)) continue;
    int64_t places[256] = {0};
    for (int64_t i = 0; i < n; i++) places[from[i].key >> shift & 255]++;
    luc__to_places(places);
    for (int64_t i = 0; i < n; i++) to[places[from[i].key >> shift & 255]++] = from[i];
    luc_pair *t = from;
    from = to;
    to = t;
  }
  return from;
}

/* By the bytes in which keys differ. The highest few of many are first tried alone: mostly they
 * leave little to move. */
static luc_pair *radix_sort(luc_pair *p, luc_pair *spare, int64_t n) {
  uint64_t apart = 0;
  for (int64_t i = 1; i < n; i++) apart |= p[i].key ^ p[0].key;
  const int bytes = (63 - __builtin_clzll(apart | 1)) / 8 + 1;
  const int low = 8 * (bytes - 2 - (63 - __builtin_clzll((uint64_t)n)) / 7);
  if (low >= 16 && apart << (64 - low)) {
    luc_pair *nearly = sort_bytes(p, spare, n, apart >> low << low);
    if (insertion_sort(nearly, n, n)) return nearly;
    if (nearly == spare) spare = p;
    p = nearly;
  }
  return sort_bytes(p, spare, n, apart);
}

/* Each to where as many are before it, by keys above places in one word. False: they have no room
 * in it, or there is little to move. */
static bool sort_ranked(const luc_sort_kernels *kernels, const luc_pair *p, luc_pair *sorted,
                        int64_t n) {
  enum { BITS = 6 };
  _Static_assert(LUC_SORT_RANKED == 1 << BITS, "places have room");
  _Alignas(64) uint64_t words[LUC_SORT_RANKED];
  int64_t ranks[LUC_SORT_RANKED];
  uint64_t least = p[0].key, most = least;
  int64_t falls = 0;
  for (int64_t i = 1; i < n; i++) {
    least = p[i].key < least ? p[i].key : least;
    most = p[i].key > most ? p[i].key : most;
    falls += p[i].key < p[i - 1].key;
  }
  if (falls < n / 4 || (most - least) >> (63 - BITS)) return false;
  for (int64_t i = 0; i < n; i++) words[i] = (p[i].key - least) << BITS | (uint64_t)i;
  kernels->rank(words, n, ranks);
  for (int64_t i = 0; i < n; i++) sorted[ranks[i]] = p[i];
  return true;
}

luc_pair *luc__sort_pairs(const luc_sort_kernels *kernels, luc_pair *p, luc_pair *spare,
                          int64_t n) {
  enum { FEWEST = 32 };
  if (n > LUC_SORT_RANKED) return radix_sort(p, spare, n);
  if (n >= FEWEST && kernels->rank && sort_ranked(kernels, p, spare, n)) return spare;
  insertion_sort(p, n, INT64_MAX);
  return p;
}
