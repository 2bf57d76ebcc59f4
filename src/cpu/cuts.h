/* How work is cut: the arithmetic of sizes that plans share. */
#ifndef LUC_CUTS_H
#define LUC_CUTS_H

#include <stdint.h>

/* Pieces of at most `piece` that n takes. */
static inline int64_t luc__cuts(int64_t n, int64_t piece) {
  return (n + piece - 1) / piece;
}
static inline int64_t luc__min64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t luc__max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#endif
