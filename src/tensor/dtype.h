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
bool luc__dtype_is_complex(luc_dtype dtype);
bool luc__dtype_is_signed(luc_dtype dtype);
bool luc__dtype_is_stored(luc_dtype dtype);    /* only stored: no operator computes with it */
bool luc__dtype_has_gradient(luc_dtype dtype); /* floating or complex */
/* complex64 for every real dtype but float64; a complex dtype itself. */
luc_dtype luc__dtype_to_complex(luc_dtype dtype);
/* The dtype of a complex number's parts; any other dtype itself. */
luc_dtype luc__dtype_to_real(luc_dtype dtype);
luc_dtype luc__dtype_promote(luc_dtype a, luc_dtype b);
/* May a result of type `from` be stored in `to` in place (PyTorch's can_cast)? */
bool luc__dtype_can_cast(luc_dtype from, luc_dtype to);
luc_dtype luc__scalar_dtype(const luc_context *ctx, luc_scalar s);
double luc__scalar_double(luc_scalar s);
int64_t luc__scalar_int(luc_scalar s);

/* One element at `p`, any dtype; of a complex one its real part. */
luc_scalar luc__load_scalar(const void *p, luc_dtype dtype);
void luc__store_scalar(void *p, luc_dtype dtype, luc_scalar s);
/* What of s is left in an element of that dtype. */
luc_scalar luc__scalar_as(luc_scalar s, luc_dtype dtype);
/* The same as real and imaginary part, of any dtype; only a complex one stores the second. */
void luc__load_complex(const void *p, luc_dtype dtype, double parts[2]);
void luc__store_complex(void *p, luc_dtype dtype, const double parts[2]);
enum { LUC_MAX_ITEM = 16 }; /* bytes of the largest element */
/* Room for one element of any dtype. */
typedef union luc_element {
  uint64_t words[LUC_MAX_ITEM / 8];
} luc_element;

#endif
