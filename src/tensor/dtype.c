/* Element types: names, sizes, promotion, and single values read and written as any of them.
 * ORDER DTYPE: every table here follows luc_dtype. */
#include "tensor/dtype.h"

#include <string.h>

#include "base/context.h"
#include "tensor/float8.h"

typedef struct dtype_info {
  const char *name, *title, *alias; /* alias: PyTorch's other name, or NULL */
  uint8_t size;
  uint8_t kind; /* LUC_SCALAR_*, or COMPLEX */
} dtype_info;

/* PyTorch's categories in their order; the first three are kinds of numbers. */
enum { COMPLEX = LUC_SCALAR_FLOAT + 1 };

static const dtype_info infos[] = {
    /* ORDER DTYPE */
    {"float32", "Float", "float", 4, LUC_SCALAR_FLOAT},
    {"float64", "Double", "double", 8, LUC_SCALAR_FLOAT},
    {"float16", "Half", "half", 2, LUC_SCALAR_FLOAT},
    {"bfloat16", "BFloat16", NULL, 2, LUC_SCALAR_FLOAT},
    {"int8", "Char", NULL, 1, LUC_SCALAR_INT},
    {"uint8", "Byte", NULL, 1, LUC_SCALAR_INT},
    {"int16", "Short", "short", 2, LUC_SCALAR_INT},
    {"int32", "Int", "int", 4, LUC_SCALAR_INT},
    {"int64", "Long", "long", 8, LUC_SCALAR_INT},
    {"bool", "Bool", NULL, 1, LUC_SCALAR_BOOL},
    {"complex64", "ComplexFloat", "cfloat", 8, COMPLEX},
    {"complex128", "ComplexDouble", "cdouble", 16, COMPLEX},
    {"float8_e4m3fn", "Float8_e4m3fn", NULL, 1, LUC_SCALAR_FLOAT},
    {"float8_e5m2", "Float8_e5m2", NULL, 1, LUC_SCALAR_FLOAT},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", NULL, 1, LUC_SCALAR_FLOAT},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", NULL, 1, LUC_SCALAR_FLOAT},
    {"float8_e8m0fnu", "Float8_e8m0fnu", NULL, 1, LUC_SCALAR_FLOAT},
    {"uint16", "UInt16", NULL, 2, LUC_SCALAR_INT},
    {"uint32", "UInt32", NULL, 4, LUC_SCALAR_INT},
    {"uint64", "UInt64", NULL, 8, LUC_SCALAR_INT},
};
_Static_assert(sizeof infos / sizeof *infos == LUC_NUM_DTYPES, "ORDER DTYPE");

enum {
  F4 = LUC_FLOAT32,
  F8 = LUC_FLOAT64,
  F2 = LUC_FLOAT16,
  BF = LUC_BFLOAT16,
  I1 = LUC_INT8,
  U1 = LUC_UINT8,
  I2 = LUC_INT16,
  I4 = LUC_INT32,
  I8 = LUC_INT64,
  B1 = LUC_BOOL
};

/* Of the real ones, which come first. */
enum { NUM_REAL = LUC_COMPLEX64 };
static const uint8_t promotions[NUM_REAL][NUM_REAL] = {
    /* ORDER DTYPE: f4 f8 f2 bf i1 u1 i2 i4 i8 b1 */
    {F4, F8, F4, F4, F4, F4, F4, F4, F4, F4}, /* float32 */
    {F8, F8, F8, F8, F8, F8, F8, F8, F8, F8}, /* float64 */
    {F4, F8, F2, F4, F2, F2, F2, F2, F2, F2}, /* float16 */
    {F4, F8, F4, BF, BF, BF, BF, BF, BF, BF}, /* bfloat16 */
    {F4, F8, F2, BF, I1, I2, I2, I4, I8, I1}, /* int8 */
    {F4, F8, F2, BF, I2, U1, I2, I4, I8, U1}, /* uint8 */
    {F4, F8, F2, BF, I2, I2, I2, I4, I8, I2}, /* int16 */
    {F4, F8, F2, BF, I4, I4, I4, I4, I8, I4}, /* int32 */
    {F4, F8, F2, BF, I8, I8, I8, I8, I8, I8}, /* int64 */
    {F4, F8, F2, BF, I1, U1, I2, I4, I8, B1}, /* bool */
};

size_t luc__dtype_size(luc_dtype dtype) {
  return infos[dtype].size;
}
size_t luc__dtype_align(luc_dtype dtype) {
  return infos[luc__dtype_to_real(dtype)].size;
}
const char *luc__dtype_name(luc_dtype dtype) {
  return infos[dtype].name;
}
const char *luc__dtype_title(luc_dtype dtype) {
  return infos[dtype].title;
}
bool luc__dtype_is_float(luc_dtype dtype) {
  return infos[dtype].kind == LUC_SCALAR_FLOAT;
}
bool luc__dtype_is_int(luc_dtype dtype) {
  return infos[dtype].kind == LUC_SCALAR_INT;
}

bool luc__dtype_is_complex(luc_dtype dtype) {
  return infos[dtype].kind == COMPLEX;
}
bool luc__dtype_is_signed(luc_dtype dtype) {
  return dtype != LUC_UINT8 && dtype != LUC_BOOL && dtype < LUC_UINT16;
}
bool luc__dtype_is_stored(luc_dtype dtype) {
  return dtype > LUC_COMPLEX128;
}
bool luc__dtype_has_gradient(luc_dtype dtype) {
  return infos[dtype].kind >= LUC_SCALAR_FLOAT;
}

luc_dtype luc__dtype_to_complex(luc_dtype dtype) {
  return dtype == LUC_FLOAT64 || dtype == LUC_COMPLEX128 ? LUC_COMPLEX128 : LUC_COMPLEX64;
}

luc_dtype luc__dtype_to_real(luc_dtype dtype) {
  if (!luc__dtype_is_complex(dtype)) return dtype;
  return dtype == LUC_COMPLEX64 ? LUC_FLOAT32 : LUC_FLOAT64;
}

/* "torch.FloatTensor", as x:type() writes it. */
static bool is_tensor_type(const char *name, const dtype_info *info) {
  size_t n = strlen(info->title);
  return strncmp(name, "torch.", 6) == 0 && strncmp(name + 6, info->title, n) == 0 &&
         strcmp(name + 6 + n, "Tensor") == 0;
}

bool luc__dtype_find(const char *name, luc_dtype *out) {
  for (int i = 0; i < LUC_NUM_DTYPES; i++) {
    const char *alias = infos[i].alias;
    if (strcmp(name, infos[i].name) == 0 || (alias != NULL && strcmp(name, alias) == 0) ||
        is_tensor_type(name, &infos[i])) {
      *out = (luc_dtype)i;
      return true;
    }
  }
  return false;
}

/* Of what is only stored nothing can be promoted; it gives way to the other. */
luc_dtype luc__dtype_promote(luc_dtype a, luc_dtype b) {
  if (luc__dtype_is_stored(b)) return a;
  if (luc__dtype_is_stored(a)) return b;
  if (!luc__dtype_is_complex(a) && !luc__dtype_is_complex(b)) return (luc_dtype)promotions[a][b];
  a = luc__dtype_to_complex(a);
  b = luc__dtype_to_complex(b);
  return a > b ? a : b;
}

bool luc__dtype_can_cast(luc_dtype from, luc_dtype to) {
  return infos[from].kind <= infos[to].kind;
}

luc_dtype luc__scalar_dtype(const luc_context *ctx, luc_scalar s) {
  if (s.kind == LUC_SCALAR_BOOL) return LUC_BOOL;
  return s.kind == LUC_SCALAR_INT ? LUC_INT64 : ctx->default_dtype;
}

/* ---- numbers ---- */

/* C leaves this undefined outside the range; this is what x86 (and so PyTorch) gives. */
static int64_t double_to_int(double f) {
  return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
}

double luc__scalar_double(luc_scalar s) {
  return s.kind == LUC_SCALAR_FLOAT ? s.as.f : (double)s.as.i;
}

int64_t luc__scalar_int(luc_scalar s) {
  return s.kind == LUC_SCALAR_FLOAT ? double_to_int(s.as.f) : s.as.i;
}

static float scalar_float(luc_scalar s) {
  return s.kind == LUC_SCALAR_FLOAT ? (float)s.as.f : (float)s.as.i;
}

/* ---- one element in memory ---- */

static luc_scalar of_int(int64_t i) {
  return (luc_scalar){LUC_SCALAR_INT, {.i = i}};
}
static luc_scalar of_double(double f) {
  return (luc_scalar){LUC_SCALAR_FLOAT, {.f = f}};
}

luc_scalar luc__load_scalar(const void *p, luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT32: return of_double((double)*(const float *)p);
  case LUC_FLOAT64: return of_double(*(const double *)p);
  case LUC_FLOAT16: return of_double((double)luc__half_to_float(*(const uint16_t *)p));
  case LUC_BFLOAT16: return of_double((double)luc__bfloat16_to_float(*(const uint16_t *)p));
  case LUC_INT8: return of_int(*(const int8_t *)p);
  case LUC_UINT8: return of_int(*(const uint8_t *)p);
  case LUC_INT16: return of_int(*(const int16_t *)p);
  case LUC_INT32: return of_int(*(const int32_t *)p);
  case LUC_INT64: return of_int(*(const int64_t *)p);
  case LUC_FLOAT8_E4M3FN: return of_double((double)luc__e4m3fn_to_float(*(const uint8_t *)p));
  case LUC_FLOAT8_E5M2: return of_double((double)luc__e5m2_to_float(*(const uint8_t *)p));
  case LUC_FLOAT8_E4M3FNUZ: return of_double((double)luc__e4m3fnuz_to_float(*(const uint8_t *)p));
  case LUC_FLOAT8_E5M2FNUZ: return of_double((double)luc__e5m2fnuz_to_float(*(const uint8_t *)p));
  case LUC_FLOAT8_E8M0FNU: return of_double((double)luc__e8m0fnu_to_float(*(const uint8_t *)p));
  case LUC_UINT16: return of_int(*(const uint16_t *)p);
  case LUC_UINT32: return of_int(*(const uint32_t *)p);
  case LUC_UINT64: return of_int(*(const int64_t *)p); /* Lua has no larger ones, either */
  case LUC_COMPLEX64: return luc__load_scalar(p, LUC_FLOAT32);
  case LUC_COMPLEX128: return luc__load_scalar(p, LUC_FLOAT64);
  default: return (luc_scalar){LUC_SCALAR_BOOL, {.i = *(const uint8_t *)p != 0}};
  }
}

void luc__store_scalar(void *p, luc_dtype dtype, luc_scalar s) {
  switch (dtype) {
  case LUC_FLOAT32: *(float *)p = scalar_float(s); break;
  case LUC_FLOAT64: *(double *)p = luc__scalar_double(s); break;
  case LUC_FLOAT16: *(uint16_t *)p = luc__float_to_half(scalar_float(s)); break;
  case LUC_BFLOAT16: *(uint16_t *)p = luc__float_to_bfloat16(scalar_float(s)); break;
  case LUC_INT8: *(int8_t *)p = (int8_t)luc__scalar_int(s); break;
  case LUC_UINT8: *(uint8_t *)p = (uint8_t)luc__scalar_int(s); break;
  case LUC_INT16: *(int16_t *)p = (int16_t)luc__scalar_int(s); break;
  case LUC_INT32: *(int32_t *)p = (int32_t)luc__scalar_int(s); break;
  case LUC_INT64: *(int64_t *)p = luc__scalar_int(s); break;
  case LUC_FLOAT8_E4M3FN: *(uint8_t *)p = luc__float_to_e4m3fn(scalar_float(s)); break;
  case LUC_FLOAT8_E5M2: *(uint8_t *)p = luc__float_to_e5m2(scalar_float(s)); break;
  case LUC_FLOAT8_E4M3FNUZ: *(uint8_t *)p = luc__float_to_e4m3fnuz(scalar_float(s)); break;
  case LUC_FLOAT8_E5M2FNUZ: *(uint8_t *)p = luc__float_to_e5m2fnuz(scalar_float(s)); break;
  case LUC_FLOAT8_E8M0FNU: *(uint8_t *)p = luc__float_to_e8m0fnu(scalar_float(s)); break;
  case LUC_UINT16: *(uint16_t *)p = (uint16_t)luc__scalar_int(s); break;
  case LUC_UINT32: *(uint32_t *)p = (uint32_t)luc__scalar_int(s); break;
  case LUC_UINT64: *(int64_t *)p = luc__scalar_int(s); break;
  case LUC_COMPLEX64:
  case LUC_COMPLEX128: luc__store_complex(p, dtype, (double[2]){luc__scalar_double(s), 0}); break;
  default: *(uint8_t *)p = luc__scalar_double(s) != 0;
  }
}

luc_scalar luc__scalar_as(luc_scalar s, luc_dtype dtype) {
  luc_element element;
  luc__store_scalar(&element, dtype, s);
  return luc__load_scalar(&element, dtype);
}

void luc__load_complex(const void *p, luc_dtype dtype, double parts[2]) {
  luc_dtype real = luc__dtype_to_real(dtype);
  parts[0] = luc__scalar_double(luc__load_scalar(p, real));
  parts[1] = 0;
  if (real == dtype) return;
  const char *second = (const char *)p + luc__dtype_size(real);
  parts[1] = luc__scalar_double(luc__load_scalar(second, real));
}

void luc__store_complex(void *p, luc_dtype dtype, const double parts[2]) {
  luc_dtype real = luc__dtype_to_real(dtype);
  luc__store_scalar(p, real, (luc_scalar){LUC_SCALAR_FLOAT, {.f = parts[0]}});
  if (real == dtype) return;
  char *second = (char *)p + luc__dtype_size(real);
  luc__store_scalar(second, real, (luc_scalar){LUC_SCALAR_FLOAT, {.f = parts[1]}});
}
