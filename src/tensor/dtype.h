/* Element types, numbers that are one of them, and PyTorch's promotion rules.
 * ORDER DTYPE: the tables in dtype.c follow this enum. */
#ifndef LUC_DTYPE_H
#define LUC_DTYPE_H

#include "lucerna/tensor.h"

/* A number without a tensor: what Lua's integers, floats and booleans become. */
typedef struct luc_scalar {
  uint8_t kind; /* LUC_SCALAR_* */
  union {
    int64_t i; /* also booleans: 0 or 1 */
    double f;
  } as;
} luc_scalar;
enum { LUC_SCALAR_BOOL, LUC_SCALAR_INT, LUC_SCALAR_FLOAT };

size_t luc__dtype_size(luc_dtype dtype);
size_t luc__dtype_align(luc_dtype dtype);      /* what addresses of elements are multiples of */
const char *luc__dtype_name(luc_dtype dtype);  /* "float32" */
const char *luc__dtype_title(luc_dtype dtype); /* "Float", as in PyTorch's messages */
bool luc__dtype_find(const char *name, luc_dtype *out); /* also PyTorch's aliases: float, long... */
bool luc__dtype_is_float(luc_dtype dtype);
bool luc__dtype_is_int(luc_dtype dtype); /* integers without bool */
luc_dtype luc__dtype_promote(luc_dtype a, luc_dtype b);
/* May a result of type `from` be stored in `to` in place (PyTorch's can_cast)? */
bool luc__dtype_can_cast(luc_dtype from, luc_dtype to);
luc_dtype luc__scalar_dtype(const luc_context *ctx, luc_scalar s);
double luc__scalar_double(luc_scalar s);
int64_t luc__scalar_int(luc_scalar s);

/* Conversions of single values; halves round to nearest even. */
float luc__half_to_float(uint16_t h);
uint16_t luc__float_to_half(float f);
float luc__bfloat16_to_float(uint16_t h);
uint16_t luc__float_to_bfloat16(float f);
/* One element at `p`, any dtype. */
luc_scalar luc__load_scalar(const void *p, luc_dtype dtype);
void luc__store_scalar(void *p, luc_dtype dtype, luc_scalar s);

#endif
