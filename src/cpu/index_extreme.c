/* Scattering the largest or the smallest: the tables of dtypes that have an order. */
#include <math.h>

#include "cpu/half.h"
#include "cpu/index.h"

#define PASTE2(a, b) a##_##b
#define PASTE(a, b)  PASTE2(a, b)

#define LOAD(x)   (x)
#define IS_NAN(x) isnan(x)
#define T         float
#define NAME(x)   PASTE(x, float32)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#define T       double
#define NAME(x) PASTE(x, float64)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#undef IS_NAN
#define IS_NAN(x) false
#define T         int8_t
#define NAME(x)   PASTE(x, int8)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#define T       uint8_t
#define NAME(x) PASTE(x, uint8)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#define T       int16_t
#define NAME(x) PASTE(x, int16)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#define T       int32_t
#define NAME(x) PASTE(x, int32)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#define T       int64_t
#define NAME(x) PASTE(x, int64)
#include "cpu/index_extreme.inc"
#undef T
#undef NAME
#undef LOAD
#undef IS_NAN
#define IS_NAN(x) isnan(x)
#define LOAD(x)   luc__half_to_float(x)
#define T         uint16_t
#define NAME(x)   PASTE(x, float16)
#include "cpu/index_extreme.inc"
#undef NAME
#undef LOAD
#define LOAD(x) luc__bfloat16_to_float(x)
#define NAME(x) PASTE(x, bfloat16)
#include "cpu/index_extreme.inc"

static const struct {
  luc_index_table_fn max, min;
} by_dtype[LUC_NUM_DTYPES] = {
    [LUC_FLOAT32] = {put_max_float32, put_min_float32},
    [LUC_FLOAT64] = {put_max_float64, put_min_float64},
    [LUC_FLOAT16] = {put_max_float16, put_min_float16},
    [LUC_BFLOAT16] = {put_max_bfloat16, put_min_bfloat16},
    [LUC_INT8] = {put_max_int8, put_min_int8},
    [LUC_UINT8] = {put_max_uint8, put_min_uint8},
    [LUC_INT16] = {put_max_int16, put_min_int16},
    [LUC_INT32] = {put_max_int32, put_min_int32},
    [LUC_INT64] = {put_max_int64, put_min_int64},
    [LUC_BOOL] = {put_max_uint8, put_min_uint8},
};

luc_index_table_fn luc__index_extreme(luc_index_op op, luc_dtype dtype) {
  return op == LUC_INDEX_MAX ? by_dtype[dtype].max : by_dtype[dtype].min;
}
