/* Keys: unsigned numbers in the order of the elements, NaN the largest and zeros equal. */
#include "cpu/sort_kernels.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/isa.h"
#include "tensor/half.h"

/* Both without branches, so that loops of them become vector code. Adding 0 makes -0 0. */
static inline uint64_t float_key(float f) {
  uint32_t bits, nan = -(uint32_t)(f != f);
  f = f + 0.0f;
  memcpy(&bits, &f, sizeof bits);
  return (bits ^ (-(bits >> 31) | 0x80000000u)) | nan;
}

static inline uint64_t double_key(double f) {
  uint64_t bits, nan = -(uint64_t)(f != f);
  f = f + 0.0;
  memcpy(&bits, &f, sizeof bits);
  return (bits ^ (-(bits >> 63) | (uint64_t)1 << 63)) | nan;
}

#define KEYS(T, key)                                                                               \
  for (int64_t i = 0; i < n; i++) {                                                                \
    T v = ((const T *)x)[at + i * step];                                                           \
    keys[i] = (key) ^ flip;                                                                        \
  }                                                                                                \
  break
static void fill_keys(const void *x, luc_dtype dtype, int64_t at, int64_t step, int64_t n,
                      uint64_t flip, uint64_t *restrict keys) {
  switch (dtype) {
  case LUC_FLOAT32: KEYS(float, float_key(v));
  case LUC_FLOAT64: KEYS(double, double_key(v));
  case LUC_FLOAT16: KEYS(uint16_t, float_key(luc__half_to_float(v)));
  case LUC_BFLOAT16: KEYS(uint16_t, float_key(luc__bfloat16_to_float(v)));
  case LUC_INT8: KEYS(int8_t, (uint8_t)(v ^ INT8_MIN));
  case LUC_INT16: KEYS(int16_t, (uint16_t)(v ^ INT16_MIN));
  case LUC_INT32: KEYS(int32_t, (uint32_t)v ^ 0x80000000u);
  case LUC_INT64: KEYS(int64_t, (uint64_t)v ^ (uint64_t)1 << 63);
  default: KEYS(uint8_t, v);
  }
}

/* The highest bit: is a less than b? The least instruction set has no vectors for a comparison. */
static inline uint64_t borrow(uint64_t a, uint64_t b) {
  return (~a & b) | ((~a | b) & (a - b));
}

static int64_t pass(const uint64_t *keys, int64_t j, int64_t n, uint64_t limit) {
  for (; j + LUC_SORT_BLOCK <= n; j += LUC_SORT_BLOCK) {
    uint64_t below = 0;
    for (int k = 0; k < LUC_SORT_BLOCK; k++) below |= borrow(keys[j + k], limit);
    if (below >> 63) break;
  }
  return j;
}

/* The first m of a are to be at most what they are in b; where each comes from goes with it. */
static inline void order(uint64_t *restrict a, uint64_t *restrict b, uint64_t *restrict from_a,
                         uint64_t *restrict from_b, int64_t m) {
  for (int64_t j = 0; j < m; j++) {
    const uint64_t turn = -(borrow(b[j], a[j]) >> 63);
    const uint64_t keys = (a[j] ^ b[j]) & turn, from = (from_a[j] ^ from_b[j]) & turn;
    a[j] ^= keys, b[j] ^= keys;
    from_a[j] ^= from, from_b[j] ^= from;
  }
}

/* By insertion, in as many lines at once as fill vectors. */
static void sort_short(luc_sort_short *lines, int64_t n, int64_t first, int64_t m) {
  enum { LANES = 8 };
  m = luc__whole(m, LANES);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) lines->at[i][j] = (uint64_t)i;
    for (int64_t k = luc__min64(i, first), from = i; k > 0; from = --k)
      order(lines->keys[k - 1], lines->keys[from], lines->at[k - 1], lines->at[from], m);
  }
}

const luc_sort_kernels LUC_ISA_NAME(luc__sort) = {fill_keys, pass, sort_short};
