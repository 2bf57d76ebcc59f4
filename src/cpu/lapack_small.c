/* Factors of small matrices, and what is solved by them: OpenBLAS takes a lock for each call, which
 * costs more than the work, and the more the more threads there are. */
#include "cpu/lapack_loop.h"

#include <math.h>

#define LUC_CONSTANTS static inline __attribute__((always_inline))

#define T                       float
#define FN(name)                name##_f32
#define REAL                    T
#define SIZE(x)                 fabsf(x)
#define CONJ(x)                 (x)
#define PRODUCT(x, y)           ((x) * (y))
#define QUOTIENT(x, y, inverse) ((x) / (y))
#include "cpu/lapack_small.inc"
#define T                       double
#define FN(name)                name##_f64
#define REAL                    T
#define SIZE(x)                 fabs(x)
#define CONJ(x)                 (x)
#define PRODUCT(x, y)           ((x) * (y))
#define QUOTIENT(x, y, inverse) ((x) / (y))
#include "cpu/lapack_small.inc"

/* C's product of complex numbers looks for infinities that became NaN, its quotient scales both
 * first; LAPACK's do not. */
static inline float _Complex product_c64(float _Complex x, float _Complex y) {
  float _Complex z;
  __real__ z = __real__ x * __real__ y - __imag__ x * __imag__ y;
  __imag__ z = __real__ x * __imag__ y + __imag__ x * __real__ y;
  return z;
}
static inline double _Complex product_c128(double _Complex x, double _Complex y) {
  double _Complex z;
  __real__ z = __real__ x * __real__ y - __imag__ x * __imag__ y;
  __imag__ z = __real__ x * __imag__ y + __imag__ x * __real__ y;
  return z;
}
#define T                       float _Complex
#define FN(name)                name##_c64
#define REAL                    float
#define SIZE(x)                 (fabsf(__real__(x)) + fabsf(__imag__(x)))
#define CONJ(x)                 __builtin_conjf(x)
#define PRODUCT(x, y)           product_c64(x, y)
#define QUOTIENT(x, y, inverse) product_c64(x, inverse)
#include "cpu/lapack_small.inc"
#define T                       double _Complex
#define FN(name)                name##_c128
#define REAL                    double
#define SIZE(x)                 (fabs(__real__(x)) + fabs(__imag__(x)))
#define CONJ(x)                 __builtin_conj(x)
#define PRODUCT(x, y)           product_c128(x, y)
#define QUOTIENT(x, y, inverse) product_c128(x, inverse)
#include "cpu/lapack_small.inc"

typedef struct small {
  int (*factor)(const luc_rectangle *r, int *pivots);
  int (*cholesky)(int64_t n, void *a);
  void (*substitute)(const luc_triangle *t, int64_t k, void *b, int64_t ldb);
  void (*exchange)(int64_t n, int64_t k, const int *pivots, bool back, void *b);
} small;

/* Complex or not, single or not. */
static const small smalls[2][2] = {
    {{factor_f64, cholesky_f64, substitute_f64, exchange_f64},
     {factor_f32, cholesky_f32, substitute_f32, exchange_f32}},
    {{factor_c128, cholesky_c128, substitute_c128, exchange_c128},
     {factor_c64, cholesky_c64, substitute_c64, exchange_c64}},
};

int luc__lapack_factor(const luc_lapack *l, const luc_rectangle *r, int *pivots) {
  return smalls[l->complex][l->f32].factor(r, pivots);
}

int luc__lapack_cholesky(const luc_lapack *l, int64_t n, void *a) {
  return smalls[l->complex][l->f32].cholesky(n, a);
}

void luc__lapack_substitute(const luc_lapack *l, const luc_triangle *t, int64_t k, void *b,
                            int64_t ldb) {
  smalls[l->complex][l->f32].substitute(t, k, b, ldb);
}

void luc__lapack_exchange(const luc_lapack *l, int64_t n, int64_t k, const int *pivots, bool back,
                          void *b) {
  smalls[l->complex][l->f32].exchange(n, k, pivots, back, b);
}
