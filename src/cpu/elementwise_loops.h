/* The loops that pointwise kernels are made of, around a function of one, two or three values A, B
 * and C: LOOP for functions of numbers (T), which the compiler makes vector code of, VLOOP for
 * functions of vectors (V). An input whose bit is set in `once` has one element, which goes with
 * all of the others'; but for VLOOP, each such case is a loop of its own. Include below
 * real_*.inc, or define T and FN. */
#ifndef LUC_ELEMENTWISE_LOOPS_H
#define LUC_ELEMENTWISE_LOOPS_H

#include "cpu/elementwise.h"
#include "cpu/isa.h"
#include "cpu/simd.h"

typedef luc_ew_params PARAMS;

#define LUC_EW_CASE(name, which)                                                                   \
  case which: FN(name##_each)((void *)o, x, n, &p, which | stream); break;
/* Never are all inputs one element. */
#define LUC_EW_CASES1(name) LUC_EW_CASE(name, 0)
#define LUC_EW_CASES2(name) LUC_EW_CASE(name, 0) LUC_EW_CASE(name, 1) LUC_EW_CASE(name, 2)
#define LUC_EW_CASES3(name)                                                                        \
  LUC_EW_CASES2(name)                                                                              \
  LUC_EW_CASE(name, 3)                                                                             \
  LUC_EW_CASE(name, 4) LUC_EW_CASE(name, 5) LUC_EW_CASE(name, 6)
#define LUC_EW_ENTRY(name, inputs)                                                                 \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params,   \
                              unsigned once) {                                                     \
    const PARAMS p = *params;                                                                      \
    const luc_ew_rows *more = once & LUC_EW_ROWS ? (const luc_ew_rows *)in : NULL;                 \
    int64_t rows = more ? more->count : 1;                                                         \
    const uintptr_t places = (uintptr_t)out | (uintptr_t)(more ? more->steps[0] : 0);              \
    const unsigned stream = CAN_STREAM(places) ? once & LUC_EW_STREAM : 0;                         \
    const void *x[] = {in[0], inputs > 1 ? in[1] : NULL, inputs > 2 ? in[2] : NULL};               \
    char *o = out;                                                                                 \
    for (;; rows--) {                                                                              \
      switch (ONCE) { LUC_EW_CASES##inputs(name) }                                                 \
      if (rows <= 1) return;                                                                       \
      o += more->steps[0];                                                                         \
      for (int i = 0; i < inputs; i++) x[i] = (const char *)x[i] + more->steps[1 + i];             \
    }                                                                                              \
  }

/* In place, out is an input: iterations are independent all the same, which is what ivdep says. */
#define EACH(n) LUC_EACH_ALONE for (int64_t k = 0; k < (n); k++)
#define LUC_EW_OPERANDS(inputs)                                                                    \
  const T *a = in[0], *b = inputs > 1 ? in[1] : a, *c = inputs > 2 ? in[2] : a;                    \
  const T a0 = once & 1 ? *a : (T)0, b0 = once & 2 ? *b : (T)0, c0 = once & 4 ? *c : (T)0;         \
  (void)a0, (void)b0, (void)c0, (void)b, (void)c, (void)p;
/* Registers of 32 bytes: what memory takes longer for goes up to a fifth faster on Zen 4. */
#if defined(__AVX512F__) && !defined(__clang__)
#define NARROW __attribute__((target("prefer-vector-width=256")))
#else
#define NARROW
#endif
/* What `once` tells of inputs. */
#define ONCE (once & (LUC_EW_STREAM - 1))
/* Can what begins here be written past the cache? */
#if defined(__AVX2__)
#define CAN_STREAM(out)  ((uintptr_t)(out) % LUC_VECTOR_BYTES == 0)
#define STREAM_32(to, x) _mm256_stream_ps((float *)(to), (__m256)(x))
#else
#define CAN_STREAM(out)  ((void)(out), false)
#define STREAM_32(to, x) (void)(to), (void)(x)
#endif
#define LUC_EW_EACH(name, R, inputs, call)                                                         \
  __attribute__((always_inline)) static inline void FN(name##_each)(                               \
      R * o, const void *const *in, int64_t n, const PARAMS *p, unsigned once) {                   \
    LUC_EW_OPERANDS(inputs)                                                                        \
    EACH(n) o[k] = call;                                                                           \
  }
/* LOOP: for what takes longer than memory does; QUICK: for what does not. */
#define LOOP(name, R, inputs, call) LUC_EW_EACH(name, R, inputs, call) LUC_EW_ENTRY(name, inputs)
#define QUICK(name, R, inputs, call)                                                               \
  LUC_EW_EACH(name, R, inputs, call)                                                               \
  NARROW LUC_EW_ENTRY(name, inputs) LUC_EW_NOT_APART(name)
/* luc_ew_apart_fn of PAIRS, for tables that have it; others have none. */
#define LUC_EW_APART(name, inputs, call)                                                           \
  static inline void FN(name##_apart)(void *out, const void *const *in, const int64_t *steps,      \
                                      int64_t n, const PARAMS *params) {                           \
    enum { once = 0, k = 0 };                                                                      \
    const PARAMS own = *params, *p = &own;                                                         \
    LUC_EW_OPERANDS(inputs)                                                                        \
    const int64_t step = steps[0], a_step = steps[1], b_step = steps[2], c_step = steps[3];        \
    _Pragma("GCC unroll 4") for (char *o = out; n > 0; n--, o += step) {                           \
      *(T *)o = (T)(call);                                                                         \
      a = STEP(a, a_step), b = STEP(b, b_step), c = STEP(c, c_step);                               \
    }                                                                                              \
  }
#define STEP(x, bytes)         ((const T *)((const char *)(x) + (bytes)))
#define LUC_EW_NOT_APART(name) enum { FN(name##_apart) }; /* NULL in the table */
/* PAIRS, where results are as wide: two lines are read before one is written. Read and written in
 * turns, what is not in the second-level cache can take a quarter longer. These also go past the
 * cache. What is left of long runs is done with some of what came before, once more. */
enum { PAIRED = LUC_VECTOR_BYTES > 16 };
/* Is no input where results go? */
#define APART ((const void *)o != a && (const void *)o != b && (const void *)o != c)
#define LUC_EW_MOVE(inputs, by)                                                                    \
  do {                                                                                             \
    o += by;                                                                                       \
    if (!(once & 1)) a += by;                                                                      \
    if (inputs > 1 && !(once & 2)) b += by;                                                        \
    if (inputs > 2 && !(once & 4)) c += by;                                                        \
  } while (0)
#define PAIRS(name, inputs, call)                                                                  \
  LUC_EW_APART(name, inputs, call) PAIRS_TOGETHER(name, inputs, call)
/* The same of what takes vectors to be quick. */
#define SLOWER(name, inputs, call) LUC_EW_NOT_APART(name) PAIRS_TOGETHER(name, inputs, call)
#define PAIRS_TOGETHER(name, inputs, call)                                                         \
  __attribute__((always_inline)) static inline void FN(name##_each)(                               \
      T * o, const void *const *in, int64_t n, const PARAMS *p, unsigned once) {                   \
    LUC_EW_OPERANDS(inputs)                                                                        \
    typedef T registers __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));           \
    enum { PAIR = 128 / sizeof(T) };                                                               \
    const bool again = PAIRED && n >= PAIR && APART;                                               \
    bool stream = once & LUC_EW_STREAM;                                                            \
    while (PAIRED) {                                                                               \
      for (; n >= PAIR; n -= PAIR) {                                                               \
        T pair[PAIR];                                                                              \
        for (int k = 0; k < PAIR; k++) pair[k] = call;                                             \
        const registers *done = (const registers *)pair;                                           \
        for (int k = 0; k < 4; k++)                                                                \
          if (stream)                                                                              \
            STREAM_32((registers *)o + k, done[k]);                                                \
          else                                                                                     \
            ((registers *)o)[k] = done[k];                                                         \
        LUC_EW_MOVE(inputs, PAIR);                                                                 \
      }                                                                                            \
      if (!again || n == 0) break;                                                                 \
      LUC_EW_MOVE(inputs, n - PAIR);                                                               \
      n = PAIR, stream = false;                                                                    \
    }                                                                                              \
    EACH(n) o[k] = call;                                                                           \
  }                                                                                                \
  NARROW LUC_EW_ENTRY(name, inputs)
#define A             (once & 1 ? a0 : a[k])
#define B             (once & 2 ? b0 : b[k])
#define C             (once & 4 ? c0 : c[k])
#define LOOP1(name)   PAIRS(name, 1, FN(name)(A))
#define LOOP2(name)   PAIRS(name, 2, FN(name)(A, B))
#define LOOP3(name)   QUICK(name, T, 3, FN(name)(A, B, C))
#define LOOP1P(name)  PAIRS(name, 1, FN(name)(A, p))
#define LOOP2P(name)  PAIRS(name, 2, FN(name)(A, B, p))
#define LOOP3P(name)  QUICK(name, T, 3, FN(name)(A, B, C, p))
#define TRUTH1(name)  QUICK(name, uint8_t, 1, FN(name)(A))
#define TRUTH2P(name) LOOP(name, uint8_t, 2, FN(name)(A, B, p))

/* LUC_EW_EITHER: true is `one` where it is a number. */
#define EITHER(name, inputs, one, call)                                                            \
  QUICK(name##_bytes, uint8_t, inputs, call)                                                       \
  PAIRS(name##_numbers, inputs, (T)(call ? one : 0))                                               \
  LUC_EW_NOT_APART(name)                                                                           \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params,   \
                              unsigned once) {                                                     \
    const luc_ew_fn loop =                                                                         \
        once & LUC_EW_NUMBERS ? FN(name##_numbers_loop) : FN(name##_bytes_loop);                   \
    loop(out, in, n, params, once);                                                                \
  }

/* VLOOP, for what takes longer than memory does: one loop for all cases, of whole vectors, which
 * FN(by_vectors) gives the rest as well. VLOOP_FOR has one more, for the case `own`, where much of
 * the work is the same for all elements. Memory is asked for 8 KB ahead, to read and to write: so
 * long a chain of operations has few of the machine's own requests under way. */
#define AHEAD(p) ((const void *)((uintptr_t)(p) + 8192))
#define LUC_EW_VECTORS(name, which, call)                                                          \
  static void FN(name)(T * o, const T *const *in, const int64_t *steps, int64_t n,                 \
                       const PARAMS *params, bool stream) {                                        \
    enum { once = which, k = 0, m = LANES };                                                       \
    const PARAMS own = *params, *p = &own;                                                         \
    LUC_EW_OPERANDS(3)                                                                             \
    const int64_t a_step = steps[0], b_step = steps[1], c_step = steps[2];                         \
    for (; n > 0; n -= LANES) {                                                                    \
      __builtin_prefetch(AHEAD(a));                                                                \
      if (!stream) __builtin_prefetch(AHEAD(o), 1);                                                \
      const V done = call;                                                                         \
      if (stream)                                                                                  \
        luc__stream(o, &done);                                                                     \
      else                                                                                         \
        vstore(o, done);                                                                           \
      o += LANES, a += a_step, b += b_step, c += c_step;                                           \
    }                                                                                              \
  }
#define LUC_EW_BY_VECTORS(name, inputs, fn)                                                        \
  LUC_EW_NOT_APART(name)                                                                           \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params,   \
                              unsigned once) {                                                     \
    FN(by_vectors)(fn, inputs, out, in, n, params, once);                                          \
  }
#define VLOOP(name, inputs, call)                                                                  \
  LUC_EW_VECTORS(name##_vectors, 0, call)                                                          \
  LUC_EW_BY_VECTORS(name, inputs, FN(name##_vectors))
#define VLOOP_FOR(own, name, inputs, call)                                                         \
  LUC_EW_VECTORS(name##_vectors, 0, call)                                                          \
  LUC_EW_VECTORS(name##_own, own, call)                                                            \
  LUC_EW_BY_VECTORS(name, inputs, ONCE == own ? FN(name##_own) : FN(name##_vectors))
/* VLOOP of numbers whose sign makes the difference. */
#define VLOOP_BY_SIGN(name, call)                                                                  \
  LUC_EW_VECTORS(name##_vectors, 0, call)                                                          \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params,   \
                              unsigned once) {                                                     \
    (void)once;                                                                                    \
    FN(by_sign)(FN(name##_vectors), out, in, n, params);                                           \
  }
/* VPAIRS: as PAIRS, below names of memory_*.inc. */
#define VPAIRS(name, inputs, call)                                                                 \
  LUC_INLINE void FN(name##_each)(T * o, const void *const *in, int64_t n, const PARAMS *p,        \
                                  unsigned once) {                                                 \
    LUC_EW_OPERANDS(inputs)                                                                        \
    const bool stream = once & LUC_EW_STREAM;                                                      \
    int64_t k = 0;                                                                                 \
    for (int64_t m = LANES; PAIRED && k + 2 * LANES <= n; k += LANES) {                            \
      V first = call;                                                                              \
      k += LANES;                                                                                  \
      V second = call;                                                                             \
      if (stream)                                                                                  \
        xstream(o + k - LANES, first), xstream(o + k, second);                                     \
      else                                                                                         \
        vstore(o + k - LANES, first), vstore(o + k, second);                                       \
    }                                                                                              \
    const bool again = n >= LANES && APART;                                                        \
    for (int64_t m = LANES; n >= LANES; k = n - LANES) {                                           \
      for (; k + LANES <= n; k += LANES) vstore(o + k, call);                                      \
      if (!again || k == n) break;                                                                 \
    }                                                                                              \
    int64_t m = n - k;                                                                             \
    if (m > 0) vstore_part(o + k, call, (int)m);                                                   \
  }                                                                                                \
  LUC_EW_ENTRY(name, inputs)
#define VA            (once & 1 ? vset1(a0) : vload_up_to(a + k, m))
#define VB            (once & 2 ? vset1(b0) : vload_up_to(b + k, m))
#define VC            (once & 4 ? vset1(c0) : vload_up_to(c + k, m))
#define VLOOP1(name)  VLOOP(name, 1, FN(luc__v##name)(VA))
#define VLOOP2(name)  VLOOP(name, 2, FN(name)(VA, VB))
#define VLOOP3(name)  VLOOP(name, 3, FN(name)(VA, VB, VC))
#define VLOOP1P(name) VLOOP(name, 1, FN(name)(VA, p))
#define VLOOP2P(name) VLOOP(name, 2, FN(name)(VA, VB, p))

#endif
