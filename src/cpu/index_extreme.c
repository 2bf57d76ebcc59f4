/* Scattering the largest or the smallest: the tables of dtypes that have an order. */
#include "cpu/index.h"

#include "tensor/half.h"

#define KERNEL "cpu/index_extreme.inc"
#include "cpu/index_dtypes.inc"

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
    [LUC_BOOL] = {put_max_bool, put_min_bool},
};

luc_index_table_fn luc__index_extreme(luc_index_op op, luc_dtype dtype) {
  return op == LUC_INDEX_MAX ? by_dtype[dtype].max : by_dtype[dtype].min;
}
