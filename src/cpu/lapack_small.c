/* What is solved by the factors of small matrices: OpenBLAS takes a lock for each call, which costs
 * more than the work, and the more the more threads there are. */
#include "cpu/lapack_loop.h"

#define T        float
#define FN(name) name##_f32
#include "cpu/lapack_small.inc"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "cpu/lapack_small.inc"

void luc__lapack_substitute(const luc_lapack *l, luc_triangle t, int64_t k, void *b, int64_t ldb) {
  if (l->f32)
    substitute_f32(&t, k, b, ldb);
  else
    substitute_f64(&t, k, b, ldb);
}

void luc__lapack_exchange(const luc_lapack *l, int64_t n, int64_t k, const int *pivots, bool back,
                          void *b) {
  if (l->f32)
    exchange_f32(n, k, pivots, back, b);
  else
    exchange_f64(n, k, pivots, back, b);
}
