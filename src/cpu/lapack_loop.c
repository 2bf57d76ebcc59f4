/* OpenBLAS's LAPACK, loaded when first needed, and the loop over matrices. */
#include "cpu/lapack_loop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/library.h"
#include "cpu/scratch.h"

/* Where nobody has loaded it before, OpenBLAS's threads are told to end: they would spin for some
 * milliseconds beside the pool's, and come back when the host asks for them. */
static luc_status open_library(luc_context *ctx, luc_lapack *l) {
  static const char FILE_NAME[] = "libopenblas.so.0";
  void (*stop)(void);
  const bool held = ctx->lapack != NULL || luc__library_held(FILE_NAME);
  if (!ctx->lapack)
    LUC_TRY(luc__library_open(ctx, "OpenBLAS", FILE_NAME, "libopenblas0", &ctx->lapack));
  l->library = ctx->lapack;
  bool whole = luc__library_find(l->library, "openblas_get_num_threads", &l->get_threads) &&
               luc__library_find(l->library, "openblas_set_num_threads", &l->set_threads);
  LUC_CHECK(ctx, whole, LUC_ERR_SUPPORT, "this is no OpenBLAS that can be told its threads");
  if (!held && luc__library_find(l->library, "blas_thread_shutdown_", &stop)) {
    l->set_threads(1);
    stop();
  }
  return LUC_OK;
}

luc_status luc__lapack_open(luc_context *ctx, const luc_matrices *s, int64_t k, luc_lapack *l) {
  LUC_CHECK(ctx, s->m < INT32_MAX / 64 && s->n < INT32_MAX / 64 && k < INT32_MAX, LUC_ERR_SUPPORT,
            "a matrix of %lld rows and %lld columns is too large", (long long)s->m,
            (long long)s->n);
  l->f32 = luc__dtype_to_real(s->dtype) == LUC_FLOAT32;
  l->complex = luc__dtype_is_complex(s->dtype);
  l->letter = l->complex ? (l->f32 ? 'c' : 'z') : (l->f32 ? 's' : 'd');
  l->item = luc__dtype_size(s->dtype);
  l->lanes = luc__kernels(ctx)->lapack;
  l->turn = luc__kernels(ctx)->copy->transpose[luc__log2((int64_t)l->item)];
  return open_library(ctx, l);
}

luc_status luc__lapack_routine(luc_context *ctx, const luc_lapack *l, const char *stem, void *to) {
  char name[16];
  snprintf(name, sizeof name, "%c%s_", l->letter, stem);
  LUC_CHECK(ctx, luc__library_find(l->library, name, to), LUC_ERR_SUPPORT,
            "this OpenBLAS was built without LAPACK");
  return LUC_OK;
}

typedef struct loop {
  luc_lapack_lanes_fn lanes;
  luc_lapack_fn one;
  const void *job;
  bool f32;
  int64_t count;
  atomic_int refused; /* the number of an argument, negative */
} loop;

static void pieces(void *arg, void *block, int64_t begin, int64_t end) {
  loop *p = arg;
  for (int64_t i = begin; i < end; i++) {
    int info = p->one(p->job, i, block);
    if (info < 0) atomic_store(&p->refused, info);
  }
}

static void groups(void *arg, void *block, int64_t begin, int64_t end) {
  loop *p = arg;
  for (int64_t g = begin; g < end; g++) {
    const int64_t first = g * LUC_LANES_COUNT;
    const int64_t n = luc__min64(LUC_LANES_COUNT, p->count - first);
    const unsigned left = p->lanes(p->job, (luc_lanes){p->f32, n}, first);
    for (int64_t i = 0; i < n && left; i++)
      if (left >> i & 1) pieces(arg, block, first + i, first + i + 1);
  }
}

/* Some microseconds, what a call costs, and what it takes to have OpenBLAS's lock from another
 * thread: those that have less to do would only wait for each other. */
enum { PIECE_WORK = 1 << 14, CALL_WORK = 1 << 9, LOCK_WORK = 200 };

luc_status luc__lapack_loop_lanes(luc_context *ctx, const luc_lapack *l, int64_t count,
                                  int64_t work, size_t block, luc_lapack_lanes_fn lanes,
                                  luc_lapack_fn one, const void *job) {
  loop p = {.lanes = lanes, .one = one, .job = job, .f32 = l->f32, .count = count};
  atomic_init(&p.refused, 0);
  const bool waits = l->locks && work < LOCK_WORK;
  const int64_t pieces_of = lanes ? luc__cuts(count, LUC_LANES_COUNT) : count;
  const int64_t grain = waits ? luc__max64(count, 1) : PIECE_WORK / (work + CALL_WORK) + 1;
  const int threads = l->get_threads();
  if (threads != 1) l->set_threads(1);
  const luc_status status =
      luc__parallel_scratch(ctx, pieces_of, grain, block, lanes ? groups : pieces, &p);
  if (threads != 1) l->set_threads(threads);
  LUC_TRY(status);
  const int refused = atomic_load(&p.refused);
  LUC_CHECK(ctx, refused == 0, LUC_ERR_VALUE, "LAPACK refused argument %d", -refused);
  return LUC_OK;
}

luc_status luc__lapack_loop(luc_context *ctx, const luc_lapack *l, int64_t count, int64_t work,
                            size_t block, luc_lapack_fn one, const void *job) {
  return luc__lapack_loop_lanes(ctx, l, count, work, block, NULL, one, job);
}

bool luc__lapack_empty(const luc_matrices *s, int64_t side, int32_t *info) {
  memset(info, 0, (size_t)s->count * sizeof *info);
  return s->count == 0 || side == 0;
}

void luc__lapack_turn(const luc_lapack *l, void *to, const void *from, int64_t rows,
                      int64_t columns) {
  const int64_t size = (int64_t)l->item;
  l->turn(to, rows * size, from, columns * size, columns, rows, false);
}

const void *luc__lapack_one(const luc_lapack *l) {
  static const float single[2] = {1, 0};
  static const double wide[2] = {1, 0};
  return l->f32 ? (const void *)single : (const void *)wide;
}

void luc__lapack_conj(const luc_lapack *l, void *block, int64_t n) {
  for (int64_t i = 1; l->complex && i < 2 * n; i += 2)
    luc__number_put(l->f32, block, i, -luc__number(l->f32, block, i));
}

int luc__lapack_work(const luc_lapack *l, const void *work) {
  double wanted = luc__number(l->f32, work, 0);
  return wanted < 1 ? 1 : (int)wanted + 8; /* a float rounds large sizes */
}

/* 0 * v is 0 but for NaN and infinities; some sums side by side fill vectors. */
static inline bool is_finite(const bool f32, const void *block, int64_t n) {
  enum { SUMS = 8 };
  double sums[SUMS] = {0};
  int64_t i = 0;
  for (; i + SUMS <= n; i += SUMS)
    for (int s = 0; s < SUMS; s++) sums[s] += 0 * luc__number(f32, block, i + s);
  for (; i < n; i++) sums[0] += 0 * luc__number(f32, block, i);
  for (int s = 1; s < SUMS; s++) sums[0] += sums[s];
  return sums[0] == 0;
}

bool luc__lapack_finite(const luc_lapack *l, const void *block, int64_t n) {
  const int64_t parts = l->complex ? 2 * n : n;
  return l->f32 ? is_finite(true, block, parts) : is_finite(false, block, parts);
}
