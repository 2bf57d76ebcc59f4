/* What is solved by the factors of small matrices: OpenBLAS takes a lock for each call, which costs
 * more than the work, and the more the more threads there are. */
#include "cpu/lapack_loop.h"

#define T        float
#define FN(name) name##_f32
#include "cpu/lapack_small.inc"
#define T        double
#define FN(name) name##_f64
#include "cpu/lapack_small.inc"
#define T        float _Complex
#define FN(name) name##_c64
#include "cpu/lapack_small.inc"
#define T        double _Complex
#define FN(name) name##_c128
#include "cpu/lapack_small.inc"

typedef struct small {
  void (*substitute)(const luc_triangle *t, int64_t k, void *b, int64_t ldb);
  void (*exchange)(int64_t n, int64_t k, const int *pivots, bool back, void *b);
} small;

/* Complex or not, single or not. */
static const small smalls[2][2] = {
    {{substitute_f64, exchange_f64}, {substitute_f32, exchange_f32}},
    {{substitute_c128, exchange_c128}, {substitute_c64, exchange_c64}},
};

void luc__lapack_substitute(const luc_lapack *l, luc_triangle t, int64_t k, void *b, int64_t ldb) {
  smalls[l->complex][l->f32].substitute(&t, k, b, ldb);
}

void luc__lapack_exchange(const luc_lapack *l, int64_t n, int64_t k, const int *pivots, bool back,
                          void *b) {
  smalls[l->complex][l->f32].exchange(n, k, pivots, back, b);
}
