/* Vector products, cut into runs of vectors: a nest over all dimensions but theirs. */
#include "cpu/cross.h"

#include "base/pool.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

enum { PIECE = 1 << 13 };

typedef struct job {
  luc_nest nest; /* out, a, b */
  int64_t part[3];
  luc_cross_fn kernel;
} job;

static void runs(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t step[3] = {j->nest.strides[0][0], j->nest.strides[1][0], j->nest.strides[2][0]};
  luc_cursor c;
  luc__nest_seek(&j->nest, begin, &c);
  while (begin < end) {
    const int64_t n = luc__min64(end - begin, j->nest.sizes[0] - c.at[0]);
    j->kernel(c.ptr, n, step, j->part);
    luc__nest_advance(&j->nest, &c, n);
    begin += n;
  }
}

static int kernel_of(luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT32: return LUC_CROSS_F32;
  case LUC_FLOAT64: return LUC_CROSS_F64;
  case LUC_COMPLEX64: return LUC_CROSS_C64;
  case LUC_COMPLEX128: return LUC_CROSS_C128;
  default: return LUC_CROSS_I8 + luc__log2((int64_t)luc__dtype_size(dtype));
  }
}

void luc__cross(luc_context *ctx, int dim, luc_tensor *out, const luc_tensor *a,
                const luc_tensor *b) {
  const luc_tensor *operands[3] = {out, a, b};
  job j = {.kernel = luc__kernels(ctx)->cross[kernel_of(out->dtype)]};
  int64_t sizes[LUC_MAX_DIMS];
  for (int d = 0; d < out->ndim; d++) sizes[d] = d == dim ? 1 : out->sizes[d];
  luc__nest_init(&j.nest, out->ndim, sizes);
  for (int i = 0; i < 3; i++) {
    luc__nest_add(&j.nest, operands[i]);
    j.part[i] = operands[i]->strides[dim] * (int64_t)luc__dtype_size(out->dtype);
  }
  luc__nest_simplify(&j.nest);
  luc__parallel_for(ctx, j.nest.numel, PIECE, runs, &j);
}
