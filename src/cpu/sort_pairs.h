/* Keys with the places where they stood, in order, equal ones as they were: what is sorted that has
 * no room in one word. */
#ifndef LUC_SORT_PAIRS_H
#define LUC_SORT_PAIRS_H

#include "cpu/sort_kernels.h"

typedef struct luc_pair {
  uint64_t key;
  int64_t at;
} luc_pair;

/* n pairs, in p or in spare, and so is the result. */
luc_pair *luc__sort_pairs(const luc_sort_kernels *kernels, luc_pair *p, luc_pair *spare, int64_t n);

/* From how many there are of each byte to where its first one goes. */
static inline void luc__to_places(int64_t counts[256]) {
  int64_t at = 0;
  for (int v = 0; v < 256; v++) {
    int64_t count = counts[v];
    counts[v] = at;
    at += count;
  }
}

#endif
