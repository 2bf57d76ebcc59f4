/* LAPACK through OpenBLAS. LAPACK keeps matrices by columns, so matrices are transposed on the way
 * in and out. OpenBLAS's threads are stopped for the time of a call: the pool and the host own
 * them. */
#include "cpu/lapack.h"

#include <dlfcn.h>
#include <string.h>

typedef void (*geqrf_fn)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                         const int *lwork, int *info);
typedef void (*orgqr_fn)(const int *m, const int *n, const int *k, void *a, const int *lda,
                         const void *tau, void *work, const int *lwork, int *info);

typedef struct lapack {
  geqrf_fn geqrf;
  orgqr_fn orgqr;
  int (*get_threads)(void);
  void (*set_threads)(int n);
} lapack;

/* Looks a function up. POSIX gives functions as void *, which C converts only through memory. */
static bool find(void *library, const char *name, void *to) {
  void *symbol = dlsym(library, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* The library stays loaded; opening it again is a lookup. */
static luc_status load(luc_context *ctx, luc_dtype dtype, lapack *l) {
  bool f32 = dtype == LUC_FLOAT32;
  void *library = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
  LUC_CHECK(ctx, library, LUC_ERR_SUPPORT, "qr: OpenBLAS (libopenblas.so.0) is not installed");
  bool whole = find(library, f32 ? "sgeqrf_" : "dgeqrf_", &l->geqrf) &&
               find(library, f32 ? "sorgqr_" : "dorgqr_", &l->orgqr) &&
               find(library, "openblas_get_num_threads", &l->get_threads) &&
               find(library, "openblas_set_num_threads", &l->set_threads);
  LUC_CHECK(ctx, whole, LUC_ERR_SUPPORT, "qr: this OpenBLAS was built without LAPACK");
  return LUC_OK;
}

/* to [columns, rows] = from [rows, columns], elements of `size` bytes, rows of `from` `stride`
 * apart. */
static void transpose(char *to, const char *from, int64_t rows, int64_t columns, int64_t stride,
                      size_t size) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      memcpy(to + (size_t)(j * rows + i) * size, from + (size_t)(i * stride + j) * size, size);
}

/* R [k, n] is the upper triangle of the factored columns [n, m]. */
static void take_r(char *r, const char *columns, int64_t m, int64_t n, int64_t k, size_t size) {
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) {
      char *to = r + (size_t)(i * n + j) * size;
      if (j < i) {
        memset(to, 0, size);
      } else {
        memcpy(to, columns + (size_t)(j * m + i) * size, size);
      }
    }
}

luc_status luc__qr(luc_context *ctx, luc_dtype dtype, int64_t m, int64_t n, const void *a, void *q,
                   void *r) {
  lapack l = {0};
  size_t size = luc__dtype_size(dtype);
  int64_t k = m < n ? m : n;
  if (k == 0) return LUC_OK;
  LUC_CHECK(ctx, m < INT32_MAX && n < INT32_MAX, LUC_ERR_SUPPORT,
            "qr: a matrix of %lld rows and %lld columns is too large", (long long)m, (long long)n);
  LUC_TRY(load(ctx, dtype, &l));
  int rows = (int)m, columns = (int)n, rank = (int)k, work_size = 64 * (columns + 1), info = 0;
  size_t matrix = luc__mul_size((size_t)(m * n), size);
  size_t extra = (size_t)(k + work_size) * size;
  char *block = matrix > SIZE_MAX - extra ? NULL : luc__alloc(ctx, matrix + extra);
  if (!block) return LUC_ERR_MEMORY;
  char *tau = block + matrix, *work = tau + (size_t)k * size;
  transpose(block, a, m, n, n, size);
  int threads = l.get_threads();
  l.set_threads(1);
  l.geqrf(&rows, &columns, block, &rows, tau, work, &work_size, &info);
  if (r) take_r(r, block, m, n, k, size);
  if (info == 0) l.orgqr(&rows, &rank, &rank, block, &rows, tau, work, &work_size, &info);
  l.set_threads(threads);
  transpose(q, block, k, m, m, size);
  luc__free(ctx, block, matrix + extra);
  LUC_CHECK(ctx, info == 0, LUC_ERR_VALUE, "qr: LAPACK refused argument %d", -info);
  return LUC_OK;
}
