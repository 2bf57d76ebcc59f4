/* The pointwise kernels, compiled once per instruction set: small real functions, in files included
 * for each type, and a loop of elementwise_loops.h around each. Rows: elementwise.def. */
#include "cpu/elementwise.h"

#include <math.h>
#include <string.h>

#include "cpu/elementwise_loops.h"
#include "cpu/isa.h"
#include "cpu/special.h"
#include "tensor/half.h"

/* ---- float ---- */

#include "cpu/real_f32.inc"
#include "cpu/vmath.inc"
#include "cpu/vmath_gamma.inc"

#include "cpu/elementwise_real.inc"
#include "cpu/elementwise_loss.inc"
#include "cpu/elementwise_divide.inc"
#include "cpu/elementwise_ring.inc"
#include "cpu/elementwise_any.inc"

#include "cpu/real_end.inc"

/* ---- double ---- */

#include "cpu/real_f64.inc"
#include "cpu/vmath.inc"
#include "cpu/vmath_gamma.inc"
#include "cpu/vmath_double.inc"

#include "cpu/elementwise_real.inc"
#include "cpu/elementwise_special.inc"
#include "cpu/elementwise_loss.inc"
#include "cpu/elementwise_divide.inc"
#include "cpu/elementwise_ring.inc"
#include "cpu/elementwise_any.inc"

#include "cpu/real_end.inc"

/* ---- halves: computed as floats in registers ---- */

/* Functions of numbers, which the compiler makes those of vectors. */
#define HALF(name, inputs, call)                                                                   \
  LUC_INLINE V FN(name##_lanes)(V a, V b, V c, const PARAMS *p) {                                  \
    V done = {0};                                                                                  \
    (void)p;                                                                                       \
    for (int i = 0; i < LANES; i++) {                                                              \
      const float x = a[i], y = b[i], z = c[i];                                                    \
      (void)y, (void)z;                                                                            \
      done[i] = call;                                                                              \
    }                                                                                              \
    return done;                                                                                   \
  }                                                                                                \
  VPAIRS(name, inputs, FN(name##_lanes)(VA, inputs > 1 ? VB : (V){0}, inputs > 2 ? VC : (V){0}, p))

#include "cpu/memory_bf16.inc"

#include "cpu/half.inc"
#define INFINITE 0x7f80
#include "cpu/elementwise_half.inc"
#include "cpu/half_end.inc"

#include "cpu/memory_end.inc"
#include "cpu/memory_f16.inc"

#if !defined(__F16C__) /* by bits, or in chunks of floats: no kernel, which is NULL in the table */
#undef HALF
#define HALF(name, inputs, call) enum { FN(name##_loop) };
#endif
#include "cpu/half.inc"
#define INFINITE 0x7c00
#include "cpu/elementwise_half.inc"
#include "cpu/half_end.inc"

#include "cpu/memory_end.inc"
#undef HALF

/* ---- integers ---- */

#define T     int64_t
#define U     uint64_t
#define BITS  64
#define FN(f) f##_i64
#include "cpu/elementwise_bits.inc"
#include "cpu/elementwise_int.inc"
#undef T
#undef U
#undef BITS
#undef FN

#define T     int32_t
#define U     uint32_t
#define BITS  32
#define FN(f) f##_i32
#include "cpu/elementwise_bits.inc"
#include "cpu/elementwise_int.inc"
#undef T
#undef BITS
#undef FN

#define T     int16_t
#define FN(f) f##_i16
#include "cpu/elementwise_bits.inc"
#include "cpu/elementwise_truth.inc"
#include "cpu/elementwise_order.inc"
#include "cpu/elementwise_small.inc"
#undef T
#undef FN

#define T     int8_t
#define FN(f) f##_i8
#include "cpu/elementwise_truth.inc"
#include "cpu/elementwise_order.inc"
#include "cpu/elementwise_small.inc"
#undef T
#undef FN

/* Bytes: of int8_t where the sign makes no difference, and of bool where it does not either. */
#define T     uint8_t
#define FN(f) f##_u8
#include "cpu/elementwise_bits.inc"
#include "cpu/elementwise_truth.inc"
#include "cpu/elementwise_order.inc"
#include "cpu/elementwise_small.inc"
#undef T
#undef U
#undef FN

/* Eight bytes at a time, as one word, which no machine shifts by lanes: what comes from a
 * neighbour is cut off. */
typedef uint64_t eight __attribute__((aligned(1), may_alias));
#define T        eight
#define FN(f)    f##_eight
#define BYTES(b) ((uint64_t)(uint8_t)(b)*0x0101010101010101u)
static inline T FN(left)(T a, const PARAMS *p) {
  return a << p->i[0] & BYTES(0xff << p->i[0]);
}
static inline T FN(right)(T a, const PARAMS *p) {
  return a >> p->i[0] & BYTES(0xff >> p->i[0]);
}
static inline T FN(right_signed)(T a, const PARAMS *p) {
  const T signs = a & BYTES(0x80);
  return FN(right)(a, p) | ((signs << 1) - (signs >> (p->i[0] - 1)));
}
SLOWER(left, 1, FN(left)(A, p))
SLOWER(right, 1, FN(right)(A, p))
SLOWER(right_signed, 1, FN(right_signed)(A, p))
#undef BYTES
#undef T
#undef FN

/* By one number, from 1 to 7. */
#define SHIFT_BYTES(name, eights, each)                                                            \
  static void name(void *out, const void *const *in, int64_t n, const PARAMS *params,              \
                   unsigned once) {                                                                \
    const int by = ONCE == 2 ? *(const int8_t *)in[1] : 0;                                         \
    const int64_t done = by > 0 && by < 8 ? n / 8 * 8 : 0;                                         \
    const PARAMS p = {.i = {by}};                                                                  \
    if (done > 0) eights(out, in, done / 8, &p, once & LUC_EW_STREAM);                             \
    const void *rest[LUC_EW_MAX_INPUTS] = {(const char *)in[0] + done, in[1], NULL};               \
    if (done < n) each((char *)out + done, rest, n - done, params, ONCE);                          \
  }
SHIFT_BYTES(shift_left_bytes_i8, left_loop_eight, shift_left_loop_i8)
SHIFT_BYTES(shift_left_bytes_u8, left_loop_eight, shift_left_loop_u8)
SHIFT_BYTES(shift_right_bytes_i8, right_signed_loop_eight, shift_right_loop_i8)
SHIFT_BYTES(shift_right_bytes_u8, right_loop_eight, shift_right_loop_u8)

/* ---- the table ---- */

/* ORDER EW TYPES: what a row has of each, `byte` for int8_t where its sign matters. */
#define REALS(id)       id##_loop_f32, id##_loop_f64
#define INTS(id)        id##_loop_i64, id##_loop_i32
#define WHOLE(id, byte) INTS(id), id##_loop_i16, byte, id##_loop_u8
#define HALVES(id)      [LUC_EW_F16] = id##_loop_f16, [LUC_EW_BF16] = id##_loop_bf16
#define NO_REALS        NULL, NULL

#define APART_REALS(id) id##_apart_f32, id##_apart_f64
#define APART_ALL(id)   APART_REALS(id), id##_apart_i64, id##_apart_i32

#define ROW(inputs, truth, slow, ...)        {{__VA_ARGS__}, inputs, truth, slow, false, {NULL}},
#define ROWS(inputs, truth, ...)             {{__VA_ARGS__}, inputs, truth, false, true, {NULL}},
#define APART_ROW(apart, inputs, truth, ...) {{__VA_ARGS__}, inputs, truth, false, true, {apart}},
#define LUC_EW_ALL(id, inputs, truth)        ROW(inputs, truth, false, REALS(id), INTS(id))
#define LUC_EW_FIELD(id, inputs, truth)                                                            \
  APART_ROW(APART_ALL(id), inputs, truth, REALS(id), WHOLE(id, id##_loop_u8), HALVES(id))
#define LUC_EW_DIVIDE(id, inputs, truth)                                                           \
  ROW(inputs, truth, false, REALS(id), WHOLE(id, id##_loop_i8))
#define LUC_EW_ORDER(id, inputs, truth)                                                            \
  ROW(inputs, truth, false, REALS(id), WHOLE(id, id##_loop_i8), id##_loop_u8)
#define LUC_EW_SIGN(id, inputs, truth)                                                             \
  APART_ROW(APART_ALL(id), inputs, truth, REALS(id), WHOLE(id, id##_loop_i8), id##_loop_u8,        \
            HALVES(id))
#define LUC_EW_QUOTIENT(id, inputs, truth)                                                         \
  APART_ROW(APART_REALS(id), inputs, truth, REALS(id), HALVES(id))
#define LUC_EW_REAL(id, inputs, truth)    ROW(inputs, truth, false, REALS(id))
#define LUC_EW_SLOW(id, inputs, truth)    ROW(inputs, truth, true, REALS(id))
#define LUC_EW_INT(id, inputs, truth)     ROW(inputs, truth, false, NO_REALS, INTS(id))
#define LUC_EW_COMPLEX(id, inputs, truth) ROW(inputs, truth, false, NULL)
#define LUC_EW_BITS(id, inputs, truth)                                                             \
  ROWS(inputs, truth, NO_REALS, WHOLE(id, id##_loop_u8), id##_loop_u8)
#define LUC_EW_WHOLE(id, inputs, truth) ROW(inputs, truth, false, NO_REALS, WHOLE(id, id##_loop_i8))
#define LUC_EW_SHIFT(id, inputs, truth)                                                            \
  ROW(inputs, truth, false, NO_REALS, INTS(id), id##_loop_i16, id##_bytes_i8, id##_bytes_u8)

const luc_ew_kernel LUC_ISA_NAME(luc__elementwise)[LUC_NUM_EWS] = {
#include "cpu/elementwise.def"
};
