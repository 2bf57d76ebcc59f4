/* How work is cut: the arithmetic of sizes that plans share. */
#ifndef LUC_CUTS_H
#define LUC_CUTS_H

#include <stdint.h>

/* Pieces of at most `piece` that n takes. */
static inline int64_t luc__cuts(int64_t n, int64_t piece) {
  return (n + piece - 1) / piece;
}
/* n and what it lacks of whole pieces. */
static inline int64_t luc__whole(int64_t n, int64_t piece) {
  return luc__cuts(n, piece) * piece;
}
/* Which power of 2 a size is: its place in tables of loops by size. */
static inline int luc__log2(int64_t size) {
  return __builtin_ctzll((uint64_t)size);
}
static inline int64_t luc__min64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t luc__max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static inline int64_t luc__clamp64(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}
/* The greatest common divisor. */
static inline int64_t luc__gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

#endif
