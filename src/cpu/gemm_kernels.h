/* What gemm.isa.c offers to gemm.c and conv.c: serial pieces of a matrix product. */
#ifndef LUC_GEMM_KERNELS_H
#define LUC_GEMM_KERNELS_H

#include "cpu/cuts.h"
#include "cpu/gemm.h"

/* Cut sizes, the same for every instruction set so that results differ only by rounding. */
enum {
#ifdef LUCERNA_TEST_BUILD
  LUC_GEMM_KC = 40, /* so that small products are cut, and scratch is small */
#else
  LUC_GEMM_KC = 512, /* length of one chain of additions */
#endif
  LUC_GEMM_STRIP = 16,
  LUC_GEMM_NC = 192, /* columns packed at a time: a multiple of every tile's width */
  LUC_GEMM_MC = 64   /* rows that meet all of these before the next */
};

/* Scratch of a serial product. It knows which part of B it holds: pieces that share it, one after
 * another, pack it once. The first bytes must be zero at the start, and B stay as it is. */
typedef struct luc_gemm_packed {
  const void *b;
  int64_t b_row, b_col, k, n;
  int64_t chains; /* of k, of which the last is there; all, if there is room */
} luc_gemm_packed;
typedef struct luc_gemm_scratch {
  luc_gemm_packed packed;
  _Alignas(64) char elements[];
} luc_gemm_scratch;

/* In bytes, for elements of `size`. */
static inline size_t luc__gemm_scratch_size(size_t size) {
  return sizeof(luc_gemm_scratch) + size * LUC_GEMM_KC * (LUC_GEMM_NC + LUC_GEMM_MC);
}

/* Products of halves (luc__gemm_takes_halves) have no chains: columns packed at a time, with all of
 * their pairs along k, beside which 32 rows may be packed; and the scratch of them. */
static inline int64_t luc__halves_pairs(const luc_gemm *g) {
  return luc__whole(luc__cuts(g->k, 2), LUC_GEMM_STRIP);
}
static inline int64_t luc__halves_columns(const luc_gemm *g) {
  enum { MOST = 512, STEP = 2 * LUC_GEMM_STRIP, ROOM = LUC_GEMM_KC * (MOST + STEP) };
  const int64_t most = luc__min64(ROOM / luc__halves_pairs(g) / STEP - 1, MOST / STEP) * STEP;
  return luc__min64(most, luc__max64(luc__whole(g->n, STEP), LUC_GEMM_MC));
}
static inline size_t luc__halves_scratch_size(const luc_gemm *g) {
  const int64_t rows = luc__halves_columns(g) + 2 * LUC_GEMM_STRIP;
  return sizeof(luc_gemm_scratch) + sizeof(float) * (size_t)(rows * luc__halves_pairs(g));
}

/* Do B's rows stay in the cache while rows of A meet them? Not if they are many, nor if `least` or
 * more, which are whole pages apart and so share its sets, meet more than as many of A's. */
static inline bool luc__gemm_rows_stay(const luc_gemm *g, int64_t size, int64_t least) {
  const bool share = g->b_row * size % 4096 == 0 && g->k >= least && g->m > least;
  return g->k * g->b_row <= 1 << 16 && !share;
}

/* Are columns of A, adjacent elements so many bytes apart, whole pages apart, and worth a copy? */
static inline bool luc__gemm_columns_share(int64_t bytes, int64_t m, int64_t n, int64_t k) {
  return bytes % 4096 == 0 && m > 16 && n >= 64 && k >= 96;
}

typedef struct luc_gemm_kernels {
  /* One product (batch ignored) whose B has adjacent columns; nothing is packed. */
  void (*block)(const luc_gemm *g);
  /* The same with row k of B at offsets[k] elements from b; n is a multiple of 16. */
  void (*scattered)(const luc_gemm *g, const int64_t *offsets);
  /* Few rows: A and B with adjacent k (a_col == 1, b_row == 1): dots of rows with rows. */
  void (*dots)(const luc_gemm *g);
  /* k = 1, b_col = 1: columns by rows, and nothing else (no scale, C, bias or relu). */
  void (*outer)(const luc_gemm *g);
  /* Items [begin, end) of a batch of products of a few numbers, without bias or relu. */
  void (*tiny)(const luc_gemm *g, int64_t begin, int64_t end);
  /* One product of any layout; scratch: a luc_gemm_scratch. */
  void (*serial)(const luc_gemm *g, void *scratch);
  /* to [n, m] = from [m, n] transposed, with row strides in elements. */
  void (*transpose)(int64_t m, int64_t n, const void *from, int64_t from_row, void *to,
                    int64_t to_row);
  /* Of pairs: to [cuts(k, 2), n] from k rows of n elements, so far apart; an odd one meets 0. */
  void (*weave)(int64_t k, int64_t n, const uint16_t *from, int64_t row, void *to);
  /* To pairs: n floats rounded, denormals to 0. */
  void (*round)(int64_t n, const void *from, void *to);
  int lanes;  /* numbers, or pairs, in a vector */
  bool tiles; /* serial is best, however A and B lie */
  /* Of tiles: B lies in strips of LUC_GEMM_STRIP columns, one after another, each of b_row rows
   * (b_col is ignored), of which k are met, a multiple of that; A's k is adjacent, and rows after
   * its last may be read until they are such a multiple. */
  void (*strips)(const luc_gemm *g);
} luc_gemm_kernels;

/* ORDER DTYPE: float32, float64. */
extern const luc_gemm_kernels luc__gemm_base[2], luc__gemm_avx2[2], luc__gemm_avx512[2];

/* Of pairs of bfloat16, which A and B have along k; C and bias are float32. Not outer and tiny,
 * or nothing at all: it takes instructions of which AVX-512 is no promise. */
extern const luc_gemm_kernels luc__gemm_pairs_base, luc__gemm_pairs_avx2, luc__gemm_pairs_avx512;

/* The same by AMX's tiles, for products large enough (cpu/isa.h says where there are any). */
extern const luc_gemm_kernels luc__gemm_tiles;

/* Those for g's dtype and sizes; without sizes, not those for large ones. Call it before a parallel
 * loop, not inside. */
const luc_gemm_kernels *luc__gemm_kernels(luc_context *ctx, const luc_gemm *g);

/* Of an A with many zeros, which are passed over: see gemm_sparse.c. ORDER DTYPE. */
enum {
#ifdef LUCERNA_TEST_BUILD
  LUC_SPARSE_K = 32,
#else
  LUC_SPARSE_K = 64, /* rows of a span of B that stay in the first cache: whole vectors */
#endif
  LUC_SPARSE_ROWS = 64,  /* of a piece */
  LUC_SPARSE_VECTORS = 8 /* of sums, in registers, of a span's columns */
};
typedef struct luc_gemm_sparse_kernels {
  /* k rows of a span of B (g's n columns) from row `begin` on; are all of them finite? */
  bool (*pack)(const luc_gemm *g, int64_t begin, int64_t k, void *to);
  /* A piece of C, at most LUC_SPARSE_ROWS rows, by spans of all k rows, one after another. */
  void (*rows)(const luc_gemm *g, const void *spans, void *scratch);
  int64_t columns; /* of a span */
  size_t scratch;  /* bytes, beside sums of LUC_SPARSE_ROWS rows of whole spans */
} luc_gemm_sparse_kernels;
extern const luc_gemm_sparse_kernels luc__gemm_sparse_base[2], luc__gemm_sparse_avx2[2],
    luc__gemm_sparse_avx512[2];

/* One product whose A and B are read as they lie (batch ignored): of int32, int64 and complex
 * numbers, and with a vector, or of one row, of other types; see luc__gemm_unpacked. */
typedef void (*luc_gemm_unpacked_fn)(const luc_gemm *g);
enum { LUC_GEMM_UNPACKED = 9 };
extern const luc_gemm_unpacked_fn luc__gemm_unpacked_base[LUC_GEMM_UNPACKED],
    luc__gemm_unpacked_avx2[LUC_GEMM_UNPACKED], luc__gemm_unpacked_avx512[LUC_GEMM_UNPACKED];

#endif
