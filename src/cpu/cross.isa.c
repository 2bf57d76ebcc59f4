/* Vector products, as the compiler makes vectors of them. It is told not to contract them, so that
 * that of a vector with itself is zero. */
#include "cpu/cross.h"

#include <string.h>

#include "cpu/isa.h"

#define LUC_INLINE static inline __attribute__((always_inline))

typedef struct c64 {
  float re, im;
} c64;
typedef struct c128 {
  double re, im;
} c128;

static inline c64 less_c64(c64 a, c64 b, c64 c, c64 d) {
  return (c64){(a.re * b.re - a.im * b.im) - (c.re * d.re - c.im * d.im),
               (a.re * b.im + a.im * b.re) - (c.re * d.im + c.im * d.re)};
}
static inline c128 less_c128(c128 a, c128 b, c128 c, c128 d) {
  return (c128){(a.re * b.re - a.im * b.im) - (c.re * d.re - c.im * d.im),
                (a.re * b.im + a.im * b.re) - (c.re * d.im + c.im * d.re)};
}

#define T       c64
#define NAME(x) x##_c64
#define LESS    less_c64
#include "cpu/cross.inc"
#undef LESS
#define T       c128
#define NAME(x) x##_c128
#define LESS    less_c128
#include "cpu/cross.inc"
#undef LESS
#define LESS(a, b, c, d) (T)((a) * (b) - (c) * (d))
#define T                float
#define NAME(x)          x##_f32
#include "cpu/cross.inc"
#define T       double
#define NAME(x) x##_f64
#include "cpu/cross.inc"
#define T       int8_t
#define NAME(x) x##_i8
#include "cpu/cross.inc"
#define T       int16_t
#define NAME(x) x##_i16
#include "cpu/cross.inc"
#define T       uint32_t
#define NAME(x) x##_i32
#include "cpu/cross.inc"
#define T       uint64_t
#define NAME(x) x##_i64
#include "cpu/cross.inc"

const luc_cross_fn LUC_ISA_NAME(luc__cross)[LUC_NUM_CROSSES] = {
    [LUC_CROSS_F32] = cross_f32,   [LUC_CROSS_F64] = cross_f64, [LUC_CROSS_C64] = cross_c64,
    [LUC_CROSS_C128] = cross_c128, [LUC_CROSS_I8] = cross_i8,   [LUC_CROSS_I16] = cross_i16,
    [LUC_CROSS_I32] = cross_i32,   [LUC_CROSS_I64] = cross_i64,
};
