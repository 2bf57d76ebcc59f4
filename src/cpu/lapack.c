/* QR by Householder reflections. Columns are kept adjacent; a reflection touches those to its right
 * in parallel. */
#include "cpu/lapack.h"

#include <string.h>

#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/lapack_kernels.h"

enum { PIECE_SIZE = 1 << 16 }; /* elements of columns per piece */

typedef struct job {
  const luc_lapack_kernels *kernels;
  int64_t m, n, k, j, first, size;
  char *a, *q, *tau; /* a [n, m] and q [k, m]: columns */
  char *to;          /* of the two, what a reflection is applied to */
} job;

static void apply_columns(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  j->kernels->apply(j->m, j->j, j->a, j->tau, j->to, j->first + begin, j->first + end);
}

static void apply_all(luc_context *ctx, job *j, char *to, int64_t first, int64_t end) {
  j->to = to;
  j->first = first;
  luc__parallel_for(ctx, end - first, PIECE_SIZE / (j->m - j->j + 1) + 1, apply_columns, j);
}

static void factorize(luc_context *ctx, job *j) {
  for (j->j = 0; j->j < j->k; j->j++) {
    j->kernels->reflector(j->m, j->j, j->a, j->tau);
    apply_all(ctx, j, j->a, j->j + 1, j->n);
  }
}

static void put_one(const job *j, char *at) {
  if (j->size == sizeof(double))
    *(double *)(void *)at = 1;
  else
    *(float *)(void *)at = 1;
}

/* Q = H0 H1 … applied to the first k columns of the identity, from the last. */
static void form_q(luc_context *ctx, job *j) {
  memset(j->q, 0, (size_t)(j->k * j->m * j->size));
  for (int64_t i = 0; i < j->k; i++) put_one(j, j->q + (i * j->m + i) * j->size);
  for (j->j = j->k - 1; j->j >= 0; j->j--) apply_all(ctx, j, j->q, j->j, j->k);
}

/* r [k, n], row-major, from the columns of a. */
static void copy_r(const job *j, char *r) {
  memset(r, 0, (size_t)(j->k * j->n * j->size));
  for (int64_t row = 0; row < j->k; row++)
    for (int64_t c = row; c < j->n; c++)
      memcpy(r + (row * j->n + c) * j->size, j->a + (c * j->m + row) * j->size, (size_t)j->size);
}

luc_status luc__qr(luc_context *ctx, luc_dtype dtype, int64_t m, int64_t n, const void *a, void *q,
                   void *r) {
  job j = {.kernels = &luc__kernels(ctx)->lapack[dtype], .m = m, .n = n, .k = m < n ? m : n};
  const luc_gemm_kernels *gemm = &luc__kernels(ctx)->gemm[dtype];
  j.size = dtype == LUC_FLOAT64 ? sizeof(double) : sizeof(float);
  size_t elements = (size_t)(n * m + j.k * m + j.k);
  size_t bytes = luc__mul_size(elements, (size_t)j.size);
  j.a = luc__alloc(ctx, bytes);
  if (!j.a) return LUC_ERR_MEMORY;
  j.q = j.a + n * m * j.size;
  j.tau = j.q + j.k * m * j.size;
  gemm->transpose(m, n, a, n, j.a, m);
  factorize(ctx, &j);
  if (r) copy_r(&j, r);
  form_q(ctx, &j);
  gemm->transpose(j.k, m, j.q, m, q, j.k);
  luc__free(ctx, j.a, bytes);
  return LUC_OK;
}
