/* Running sums, products and extremes, compiled once per instruction set: of many lines side by
 * side (scan_lines.inc) and of one line (scan_line.inc). */
#include "cpu/scan_kernels.h"

#include <math.h>
#include <string.h>

#include "cpu/simd.h"

typedef float half_f32 __attribute__((vector_size(LUC_VECTOR_BYTES / 2), aligned(4), may_alias));
typedef luc_vi64 vi64_any __attribute__((aligned(8), may_alias));

typedef int32_t vi32_any __attribute__((vector_size(LUC_VECTOR_BYTES), aligned(4), may_alias));

typedef int32_t half_i32 __attribute__((vector_size(LUC_VECTOR_BYTES / 2), aligned(4), may_alias));

LUC_INLINE luc_vi64 long_places(const int32_t *p) {
  return __builtin_convertvector(*(const half_i32 *)p, luc_vi64);
}

enum { FEW = 4, SOME = 7 };            /* lines side by side, in registers */
enum { WIDTH = LUC_VECTOR_BYTES / 8 }; /* totals in a vector */

/* No integer is. */
#define UNORDERED(v) ((v) != (v))

/* ---- float and double: totals in double ---- */

#define S           double
#define W           luc_vf64
#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define LOWEST      (-INFINITY)
#define HIGHEST     INFINITY

#define T              float
#define V              luc_vf32
#define VI             luc_vi32
#define V_ANY          luc_vf32_any
#define PLACE          int32_t
#define LONG_PLACES(p) long_places(p)
#define IN_ORDER       false /* they have room in double */

#define FN(name) name##_f32
LUC_INLINE luc_vf64 get_f32(const float *p) {
  return luc__widened(*(const half_f32 *)p);
}
LUC_INLINE void put_f32(float *p, luc_vf64 x) {
  *(half_f32 *)p = luc__narrowed(x);
}
#include "cpu/scan_line.inc"
#include "cpu/scan_lines.inc"

#define T              double
#define V              luc_vf64
#define VI             luc_vi64
#define V_ANY          luc_vf64_any
#define PLACE          int64_t
#define LONG_PLACES(p) (*(const luc_vi64 *)(p))
#define IN_ORDER       true

#define FN(name) name##_f64
LUC_INLINE luc_vf64 get_f64(const double *p) {
  return *(const luc_vf64_any *)p;
}
LUC_INLINE void put_f64(double *p, luc_vf64 x) {
  *(luc_vf64_any *)p = x;
}
#include "cpu/scan_line.inc"
#include "cpu/scan_lines.inc"

/* ---- integers wrap around ---- */

#undef S
#undef W
#undef PLUS
#undef TIMES
#undef LOWEST
#undef HIGHEST
#define S           uint64_t
#define W           luc_vu64
#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define LOWEST      INT64_MIN
#define HIGHEST     INT64_MAX

typedef uint64_t luc_vu64 __attribute__((vector_size(LUC_VECTOR_BYTES)));

/* Are products of their vectors one instruction? If not, four lines at a time take less. */
#if defined(__AVX512DQ__)
#define BY_VECTORS true
#else
#define BY_VECTORS false
#endif

#define T              int64_t
#define V              luc_vi64
#define VI             luc_vi64
#define V_ANY          vi64_any
#define PLACE          int64_t
#define LONG_PLACES(p) (*(const luc_vi64 *)(p))
#define IN_ORDER       !BY_VECTORS

#define FN(name) name##_i64
LUC_INLINE luc_vu64 get_i64(const int64_t *p) {
  return (luc_vu64) * (const vi64_any *)p;
}
LUC_INLINE void put_i64(int64_t *p, luc_vu64 x) {
  *(vi64_any *)p = (luc_vi64)x;
}
#include "cpu/scan_line.inc"
#include "cpu/scan_lines.inc"

/* ---- smaller integers: extremes alone ---- */

#undef S
#undef LOWEST
#undef HIGHEST
#define LOWEST  INT32_MIN
#define HIGHEST INT32_MAX

#define T              int32_t
#define V              luc_vi32
#define VI             luc_vi32
#define V_ANY          vi32_any
#define PLACE          int32_t
#define LONG_PLACES(p) long_places(p)

#define FN(name) name##_i32
#include "cpu/scan_line.inc"
#include "cpu/scan_lines.inc"

#define KERNEL(id, type)                                                                           \
  { id##_##type, id##_line_##type }
#define TOTALS(id)                                                                                 \
  { KERNEL(id, f32), KERNEL(id, f64), KERNEL(id, i64) }
#define EXTREMES(id)                                                                               \
  { KERNEL(id, f32), KERNEL(id, f64), KERNEL(id, i64), KERNEL(id, i32) }

/* ORDER SCAN, ORDER COMPUTE */
const luc_scan_kernel LUC_ISA_NAME(luc__scan)[LUC_NUM_SCANS][LUC_NUM_SCAN_TYPES] = {
    TOTALS(sum), TOTALS(prod), EXTREMES(max), EXTREMES(min)};
