/* Keys: unsigned numbers in the order of the elements, NaN the largest and zeros equal. */
#include "cpu/sort_kernels.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/simd.h"
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

/* Does what DO(T, N, number, key) says of elements v of each dtype T, numbers of type N. */
#define BY_DTYPE(DO)                                                                               \
  switch (dtype) {                                                                                 \
  case LUC_FLOAT32: DO(float, float, v, float_key(v));                                             \
  case LUC_FLOAT64: DO(double, double, v, double_key(v));                                          \
  case LUC_FLOAT16: DO(uint16_t, float, luc__half_to_float(v), float_key(luc__half_to_float(v)));  \
  case LUC_BFLOAT16:                                                                               \
    DO(uint16_t, float, luc__bfloat16_to_float(v), float_key(luc__bfloat16_to_float(v)));          \
  case LUC_INT8: DO(int8_t, int8_t, v, (uint8_t)(v ^ INT8_MIN));                                   \
  case LUC_INT16: DO(int16_t, int16_t, v, (uint16_t)(v ^ INT16_MIN));                              \
  case LUC_INT32: DO(int32_t, int32_t, v, (uint32_t)v ^ 0x80000000u);                              \
  case LUC_INT64: DO(int64_t, int64_t, v, (uint64_t)v ^ (uint64_t)1 << 63);                        \
  default: DO(uint8_t, uint8_t, v, v);                                                             \
  }

#define KEYS(T, N, number, key)                                                                    \
  for (int64_t i = 0; i < n; i++) {                                                                \
    const T v = ((const T *)x)[at + i * step];                                                     \
    keys[i] = (key) ^ flip;                                                                        \
  }                                                                                                \
  break
static void fill_keys(const void *x, luc_dtype dtype, int64_t at, int64_t step, int64_t n,
                      uint64_t flip, uint64_t *restrict keys) {
  BY_DTYPE(KEYS)
}

/* Numbers are compared as PyTorch does, so that NaN goes behind all bounds, and is before all. Of
 * the last halves some have no bound. */
#define FIND(T, N, number, key)                                                                    \
  {                                                                                                \
    N wanted[LUC_SEARCH_AHEAD];                                                                    \
    for (int64_t k = 0; k < n; k++) {                                                              \
      const T v = ((const T *)values)[k];                                                          \
      wanted[k] = number;                                                                          \
    }                                                                                              \
    for (int64_t most = m; most > 1; most /= 2)                                                    \
      for (int64_t k = 0; k < n; k++) {                                                            \
        const T v = ((const T *)x)[at[k] + left[k] / 2];                                           \
        const N bound = number;                                                                    \
        luc__halve(right ? !(bound > wanted[k]) : !(bound >= wanted[k]), &at[k], &left[k]);        \
      }                                                                                            \
    for (int64_t k = 0; k < n; k++) {                                                              \
      const T v = ((const T *)x)[left[k] > 0 ? at[k] : 0];                                         \
      const N bound = number;                                                                      \
      at[k] += left[k] > 0 && (right ? !(bound > wanted[k]) : !(bound >= wanted[k]));              \
    }                                                                                              \
    break;                                                                                         \
  }
static void pass_bounds(const void *x, luc_dtype dtype, int64_t m, const void *values, int64_t n,
                        bool right, int64_t *restrict at) {
  int64_t left[LUC_SEARCH_AHEAD];
  for (int64_t k = 0; k < n; k++) left[k] = m;
  BY_DTYPE(FIND)
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

static int64_t count(const uint64_t *keys, int64_t n, uint64_t key, int64_t *equal) {
  uint64_t below = 0, upto = 0;
  for (int64_t i = 0; i < n; i++) {
    below += keys[i] < key;
    upto += keys[i] <= key;
  }
  *equal = (int64_t)(upto - below);
  return (int64_t)below;
}

static int64_t part(const uint64_t *keys, int64_t n, uint64_t key, bool above, uint64_t *out) {
  int64_t i = 0, kept = 0;
#if defined(__AVX512F__)
  const __m512i limit = _mm512_set1_epi64((long long)key);
  for (; i + 8 <= n; i += 8) { /* compressed in a register: to memory is slow on Zen 4 */
    const __m512i v = _mm512_loadu_si512(keys + i);
    const __mmask8 less = _mm512_cmplt_epu64_mask(v, limit);
    const __mmask8 here = above ? _mm512_cmpgt_epu64_mask(v, limit) : less;
    _mm512_storeu_si512(out + kept, _mm512_maskz_compress_epi64(here, v));
    kept += __builtin_popcount(here);
  }
#endif
  for (; i < n; i++) {
    out[kept] = keys[i];
    kept += above ? keys[i] > key : keys[i] < key;
  }
  return kept;
}

#if LUC_VECTOR_BYTES > 16
/* x - 1 where v is below a number. */
LUC_INLINE luc_vi64 less_one(luc_vi64 x, luc_vi64 v, int64_t number) {
#if defined(__AVX512F__)
  const __mmask8 below = _mm512_cmplt_epi64_mask((__m512i)v, _mm512_set1_epi64(number));
  return (luc_vi64)_mm512_mask_add_epi64((__m512i)x, below, (__m512i)x, _mm512_set1_epi64(-1));
#else
  return x + (v < number - (luc_vi64){0});
#endif
}

static void rank(uint64_t *words, int64_t n, int64_t *ranks) {
  enum { WIDTH = LUC_VECTOR_BYTES / 8, SIDE = 4 };
  const int64_t whole = luc__whole(n, WIDTH > SIDE ? WIDTH : SIDE);
  for (int64_t i = n; i < whole; i++) words[i] = INT64_MAX;
  for (int64_t i = 0; i < n; i += SIDE) {
    luc_vi64 below[SIDE] = {{0}};
    for (int64_t j = 0; j < whole; j += WIDTH) {
      luc_vi64 v;
      memcpy(&v, words + j, sizeof v);
#pragma GCC unroll 4
      for (int k = 0; k < SIDE; k++) below[k] = less_one(below[k], v, (int64_t)words[i + k]);
    }
    for (int k = 0; k < SIDE; k++) {
      ranks[i + k] = 0;
      for (int l = 0; l < WIDTH; l++) ranks[i + k] -= below[k][l];
    }
  }
}
#endif

enum { VECTORS = LUC_VECTOR_BYTES == 64 ? 2 : 4, LANES = VECTORS * LUC_VECTOR_BYTES / 8 };

/* Packed, keys stand above their places, of so many bits, so that no two are equal. Are all so near
 * each other that the highest bit stays 0? *base: what is then to be subtracted from them. */
static bool fit(const luc_sort_short *lines, int64_t n, int64_t m, int bits, uint64_t *base) {
  const uint64_t half = (uint64_t)1 << (62 - bits), most = -2 * half, one = lines->keys[0][0];
  uint64_t over = 0;
  *base = one < half ? 0 : one - half < most ? one - half : most;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) over |= lines->keys[i][j] - *base;
  return over >> (63 - bits) == 0;
}

/* In LANES lines from j on, row i goes to its place in the first `last` rows, and what it passes
 * one further. */
LUC_INLINE void insert(luc_sort_short *lines, int64_t i, int64_t last, int64_t j, bool packed) {
  enum { WIDTH = LANES / VECTORS };
  luc_vu64 key[VECTORS], at[VECTORS];
  memcpy(key, &lines->keys[i][j], sizeof key);
  memcpy(at, &lines->at[i][j], sizeof at);
  for (int64_t k = luc__min64(i, last); k-- > 0;)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
      luc_vu64 *keys = (luc_vu64 *)(void *)&lines->keys[k][j + v * WIDTH];
      luc_vu64 *ats = (luc_vu64 *)(void *)&lines->at[k][j + v * WIDTH];
      const luc_vu64 other = *keys, place = *ats;
      const luc_vu64 less =
          packed ? (luc_vu64)((luc_vi64)key[v] < (luc_vi64)other) : (luc_vu64)(key[v] < other);
      keys[LUC_SORT_BESIDE / WIDTH] = (other & less) | (key[v] & ~less);
      key[v] = (key[v] & less) | (other & ~less);
      if (packed) continue;
      ats[LUC_SORT_BESIDE / WIDTH] = (place & less) | (at[v] & ~less);
      at[v] = (at[v] & less) | (place & ~less);
    }
  memcpy(&lines->keys[0][j], key, sizeof key);
  if (!packed) memcpy(&lines->at[0][j], at, sizeof at);
}

/* In LANES lines from j on, rows i and k in order. */
LUC_INLINE void order(luc_sort_short *lines, int64_t i, int64_t k, int64_t j, bool packed) {
  enum { WIDTH = LANES / VECTORS };
#pragma GCC unroll 4
  for (int v = 0; v < VECTORS; v++, j += WIDTH) {
    luc_vu64 *key = (luc_vu64 *)(void *)&lines->keys[i][j];
    luc_vu64 *other = (luc_vu64 *)(void *)&lines->keys[k][j];
    luc_vu64 *at = (luc_vu64 *)(void *)&lines->at[i][j];
    luc_vu64 *place = (luc_vu64 *)(void *)&lines->at[k][j];
    const luc_vu64 a = *key, b = *other;
    if (packed) {
      const luc_vu64 less = (luc_vu64)((luc_vi64)b < (luc_vi64)a);
      *key = (b & less) | (a & ~less);
      *other = (a & less) | (b & ~less);
    } else {
      const luc_vu64 x = *at, y = *place;
      const luc_vu64 less = (luc_vu64)(b < a) | ((luc_vu64)(b == a) & (luc_vu64)(y < x));
      *key = (b & less) | (a & ~less);
      *other = (a & less) | (b & ~less);
      *at = (y & less) | (x & ~less);
      *place = (x & less) | (y & ~less);
    }
  }
}

/* Batcher's odd-even merging of n rows (Knuth, 5.2.2 M). */
LUC_INLINE void merge(luc_sort_short *lines, int64_t n, int64_t j, bool packed) {
  int64_t most = 1;
  while (2 * most < n) most *= 2;
  for (int64_t p = most; p > 0; p /= 2)
    for (int64_t q = most, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (int64_t i = 0; i + d < n; i++)
        if ((i & p) == r) order(lines, i, i + d, j, packed);
      if (q == p) break;
    }
}

static void merge_packed(luc_sort_short *lines, int64_t n, int64_t j) {
  merge(lines, n, j, true);
}
static void merge_pairs(luc_sort_short *lines, int64_t n, int64_t j) {
  merge(lines, n, j, false);
}

/* By insertion where few come first, in as many lines at once as fill vectors. */
static void sort_short(luc_sort_short *lines, int64_t n, int64_t first, int64_t m) {
  uint64_t base = 0;
  int bits = 1;
  while (1 << bits < n) bits++;
  const bool packed = n >= 8 && fit(lines, n, m, bits, &base);
  const bool few = 4 * first * (2 * n - first) < 3 * n * bits * bits;
  m = luc__whole(m, LANES);
  for (uint64_t i = 0; i < (uint64_t)n; i++)
    for (int64_t j = 0; j < m; j++)
      if (packed)
        lines->keys[i][j] = (lines->keys[i][j] - base) << bits | i;
      else
        lines->at[i][j] = i;
  for (int64_t j = 0; !few && j < m; j += LANES) (packed ? merge_packed : merge_pairs)(lines, n, j);
  for (int64_t j = 0; few && j < m; j += LANES)
    for (int64_t i = 1; i < n; i++)
      if (packed)
        insert(lines, i, first, j, true);
      else
        insert(lines, i, first, j, false);
  for (int64_t i = 0; packed && i < first; i++)
    for (int64_t j = 0; j < m; j++) {
      const uint64_t key = lines->keys[i][j];
      lines->at[i][j] = key & ~(UINT64_MAX << bits);
      lines->keys[i][j] = (key >> bits) + base;
    }
}

enum { LONGEST = LUC_VECTOR_BYTES > 16 ? LUC_SORT_SHORT : LUC_SORT_SHORT / 2 };

const luc_sort_kernels LUC_ISA_NAME(luc__sort) = {
    .keys = fill_keys,
    .pass_bounds = pass_bounds,
    .pass = pass,
    .count = count,
    .part = part,
    .sort_short = sort_short,
#if LUC_VECTOR_BYTES > 16
    .rank = rank,
#endif
    .longest = LONGEST,
};
