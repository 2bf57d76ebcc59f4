/* The pointwise kernels: small real functions (most in elementwise_real.inc and
 * elementwise_any.inc) and one loop around each, compiled once per instruction set. Rows:
 * elementwise.def. */
#include "cpu/elementwise.h"

#include <math.h>

#include "cpu/isa.h"
#include "cpu/special.h"

typedef luc_ew_params PARAMS;

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)

/* Loops around a function of one, two or three values (P: and of the parameters). In place, out is
 * an input: iterations are independent all the same, which is what ivdep says. */
#define EACH(n) _Pragma("GCC ivdep") for (int64_t k = 0; k < (n); k++)
#define LOOP(name, R, call)                                                                        \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params) { \
    const T *a = in[0], *b = in[1], *c = in[2];                                                    \
    const PARAMS local = *params, *p = &local;                                                     \
    R *o = out;                                                                                    \
    (void)a, (void)b, (void)c, (void)p;                                                            \
    EACH(n) o[k] = call;                                                                           \
  }
#define LOOP1(name)   LOOP(name, T, FN(name)(a[k]))
#define LOOP2(name)   LOOP(name, T, FN(name)(a[k], b[k]))
#define LOOP3(name)   LOOP(name, T, FN(name)(a[k], b[k], c[k]))
#define LOOP1P(name)  LOOP(name, T, FN(name)(a[k], p))
#define LOOP2P(name)  LOOP(name, T, FN(name)(a[k], b[k], p))
#define LOOP3P(name)  LOOP(name, T, FN(name)(a[k], b[k], c[k], p))
#define TRUTH1(name)  LOOP(name, uint8_t, FN(name)(a[k]))
#define TRUTH2(name)  LOOP(name, uint8_t, FN(name)(a[k], b[k]))
#define TRUTH2P(name) LOOP(name, uint8_t, FN(name)(a[k], b[k], p))

/* The same around a function of vectors, from inputs x, y and z, some of which may be one. */
#define VLOOP(name, x, y, z, call)                                                                 \
  LUC_INLINE V FN(name##_part)(const void *const *in, int64_t k, int64_t n, const PARAMS *p) {     \
    V a = vload_up_to((const T *)in[x] + k, n), b = vload_up_to((const T *)in[y] + k, n);          \
    V c = vload_up_to((const T *)in[z] + k, n);                                                    \
    (void)a, (void)b, (void)c, (void)p;                                                            \
    return call;                                                                                   \
  }                                                                                                \
  static void FN(name##_loop)(void *out, const void *const *in, int64_t n, const PARAMS *params) { \
    const PARAMS p = *params;                                                                      \
    T *o = out;                                                                                    \
    int64_t k = 0;                                                                                 \
    for (; k + LANES <= n; k += LANES) vstore(o + k, FN(name##_part)(in, k, LANES, &p));           \
    if (k < n) vstore_part(o + k, FN(name##_part)(in, k, n - k, &p), (int)(n - k));                \
  }
#define VLOOP1(name)  VLOOP(name, 0, 0, 0, FN(luc__v##name)(a))
#define VLOOP1P(name) VLOOP(name, 0, 0, 0, FN(name)(a, p))
#define VLOOP2(name)  VLOOP(name, 0, 1, 0, FN(name)(a, b))
#define VLOOP3(name)  VLOOP(name, 0, 1, 2, FN(name)(a, b, c))

/* ---- float ---- */

#include "cpu/real_f32.inc"
#include "cpu/vmath.inc"
#define M(name) name##f

#include "cpu/elementwise_real.inc"
#include "cpu/elementwise_special.inc"
#include "cpu/elementwise_any.inc"

#undef M
#include "cpu/real_end.inc"

/* ---- double ---- */

#include "cpu/real_f64.inc"
#include "cpu/vmath.inc"
#define M(name) name

#include "cpu/elementwise_real.inc"
#include "cpu/elementwise_special.inc"
#include "cpu/elementwise_any.inc"

#undef M
#include "cpu/real_end.inc"

/* ---- int64_t: sums and products wrap around; division by zero, which operators refuse beforehand,
 * gives 0 ---- */

#define T     int64_t
#define FN(f) f##_i64

static inline bool unordered_i64(int64_t a) {
  (void)a;
  return false;
}
static inline int64_t add_i64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t sub_i64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t mul_i64(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t neg_i64(int64_t a) {
  return sub_i64(0, a);
}
static inline int64_t add_scaled_i64(int64_t a, int64_t b, const PARAMS *p) {
  return add_i64(a, mul_i64(p->i[0], b));
}
static inline int64_t addcmul_i64(int64_t a, int64_t b, int64_t c, const PARAMS *p) {
  return add_i64(a, mul_i64(p->i[0], mul_i64(b, c)));
}
static inline int64_t div_trunc_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? neg_i64(a) : a / b;
}
static inline int64_t fmod_i64(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static inline int64_t remainder_i64(int64_t a, int64_t b) {
  int64_t rest = fmod_i64(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static inline int64_t div_floor_i64(int64_t a, int64_t b) {
  int64_t rest = fmod_i64(a, b);
  return div_trunc_i64(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static inline int64_t pow_i64(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? (b % 2 ? -1 : 1) : 0);
  int64_t y = 1;
  for (; b; b >>= 1) {
    if (b & 1) y = mul_i64(y, a);
    a = mul_i64(a, a);
  }
  return y;
}
static inline int64_t abs_i64(int64_t a) {
  return a < 0 ? neg_i64(a) : a;
}
static inline int64_t sign_i64(int64_t a) {
  return (a > 0) - (a < 0);
}
static inline int64_t maximum_i64(int64_t a, int64_t b) {
  return a < b ? b : a;
}
static inline int64_t minimum_i64(int64_t a, int64_t b) {
  return b < a ? b : a;
}
static inline int64_t clamp_i64(int64_t a, int64_t lower, int64_t upper) {
  return minimum_i64(maximum_i64(a, lower), upper); /* the upper bound wins where bounds cross */
}
static inline int64_t square_i64(int64_t a) {
  return mul_i64(a, a);
}
static inline int64_t bitwise_and_i64(int64_t a, int64_t b) {
  return a & b;
}
static inline int64_t bitwise_or_i64(int64_t a, int64_t b) {
  return a | b;
}
static inline int64_t bitwise_xor_i64(int64_t a, int64_t b) {
  return a ^ b;
}
static inline int64_t bitwise_not_i64(int64_t a) {
  return ~a;
}
static inline int64_t shift_left_i64(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static inline int64_t shift_right_i64(int64_t a, int64_t b) {
  return a >> (b < 0 || b > 63 ? 63 : b);
}
static inline int64_t gcd_i64(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = fmod_i64(a, b);
    a = b;
    b = rest;
  }
  return abs_i64(a);
}
static inline uint8_t isclose_i64(int64_t a, int64_t b, const PARAMS *p) {
  double allowed = p->f[1] + fabs(p->f[0] * (double)b);
  return (uint8_t)((a == b) | (fabs((double)sub_i64(a, b)) <= allowed));
}
static inline uint8_t signbit_i64(int64_t a) {
  return a < 0;
}

#include "cpu/elementwise_any.inc"

LOOP2(maximum)
LOOP2(minimum)
LOOP3(clamp)
LOOP2(bitwise_and)
LOOP2(bitwise_or)
LOOP2(bitwise_xor)
LOOP1(bitwise_not)
LOOP2(shift_left)
LOOP2(shift_right)
LOOP2(gcd)

#undef T
#undef FN

/* ---- int32_t: the same sums and products, in half the memory ---- */

#define T     int32_t
#define FN(f) f##_i32

static inline int32_t add_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t sub_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a - (uint32_t)b);
}
static inline int32_t mul_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}

LOOP2(add)
LOOP2(sub)
LOOP2(mul)

#undef T
#undef FN

/* ---- bool ---- */

#define T     uint8_t
#define FN(f) f##_b8

static inline uint8_t logical_and_b8(uint8_t a, uint8_t b) {
  return (a != 0) & (b != 0);
}
static inline uint8_t logical_or_b8(uint8_t a, uint8_t b) {
  return (a != 0) | (b != 0);
}
static inline uint8_t logical_xor_b8(uint8_t a, uint8_t b) {
  return (a != 0) ^ (b != 0);
}
static inline uint8_t logical_not_b8(uint8_t a) {
  return a == 0;
}

LOOP2(logical_and)
LOOP2(logical_or)
LOOP2(logical_xor)
LOOP1(logical_not)
#define bitwise_and_loop_b8 logical_and_loop_b8
#define bitwise_or_loop_b8  logical_or_loop_b8
#define bitwise_xor_loop_b8 logical_xor_loop_b8

#undef T
#undef FN

/* ---- the table ---- */

#define KERNEL(f32, f64, i64, flat, flat_dtype, inputs, truth)                                     \
  {{f32, f64, i64}, flat, flat_dtype, inputs, truth},
#define LUC_EW_ALL(id, inputs, truth)                                                              \
  KERNEL(id##_loop_f32, id##_loop_f64, id##_loop_i64, NULL, LUC_BOOL, inputs, truth)
#define LUC_EW_RING(id, inputs, truth)                                                             \
  KERNEL(id##_loop_f32, id##_loop_f64, id##_loop_i64, id##_loop_i32, LUC_INT32, inputs, truth)
#define LUC_EW_TRUTH(id, inputs, truth)                                                            \
  KERNEL(id##_loop_f32, id##_loop_f64, id##_loop_i64, id##_loop_b8, LUC_BOOL, inputs, truth)
#define LUC_EW_REAL(id, inputs, truth)                                                             \
  KERNEL(id##_loop_f32, id##_loop_f64, NULL, NULL, LUC_BOOL, inputs, truth)
#define LUC_EW_INT(id, inputs, truth)                                                              \
  KERNEL(NULL, NULL, id##_loop_i64, NULL, LUC_BOOL, inputs, truth)
#define LUC_EW_BITS(id, inputs, truth)                                                             \
  KERNEL(NULL, NULL, id##_loop_i64, id##_loop_b8, LUC_BOOL, inputs, truth)

const luc_ew_kernel LUC_ISA_NAME(luc__elementwise)[LUC_NUM_EWS] = {
#include "cpu/elementwise.def"
};
