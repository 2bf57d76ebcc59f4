/* Pooling made of other operators: max_unpool, which puts values back where max pooling found them,
 * and lp_pool, an average of powers. */
#include <string.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

/* ---- max_unpool1d, 2d, 3d ---- */

/* The size asked for, with or without batch and channels, lies within a stride of the one that
 * kernel, stride and padding give. */
static luc_status unpooled_size(luc_context *ctx, int spatial, const luc_value *args,
                                int64_t *size) {
  const luc_tensor *input = args[0].as.tensor;
  const luc_value *given = &args[5];
  bool own = !luc_is_none(&args[3]) && !(args[3].kind == LUC_INTS && args[3].n == 0);
  int64_t kernel[3], stride[3], padding[3];
  LUC_TRY(luc__take_ints(ctx, "kernel_size", &args[2], spatial, kernel));
  LUC_TRY(luc__take_ints(ctx, "stride", own ? &args[3] : &args[2], spatial, stride));
  LUC_TRY(luc__take_ints(ctx, "padding", &args[4], spatial, padding));
  LUC_TRY(luc__check_least(ctx, "kernel_size", spatial, kernel, 1));
  LUC_TRY(luc__check_least(ctx, "stride", spatial, stride, 1));
  LUC_TRY(luc__check_least(ctx, "padding", spatial, padding, 0));
  int extra = luc_is_none(given) ? 0 : given->n - spatial;
  LUC_CHECK(ctx, extra == 0 || extra == 2, LUC_ERR_VALUE,
            "output_size should be a sequence containing %d or %d elements, but it has a "
            "length of %d",
            spatial, spatial + 2, given->n);
  for (int d = 0; d < spatial; d++) {
    int64_t in = input->sizes[input->ndim - spatial + d];
    int64_t usual = (in - 1) * stride[d] + kernel[d] - 2 * padding[d];
    size[d] = luc_is_none(given) ? usual : given->as.ints[d + extra];
    LUC_CHECK(ctx, size[d] > usual - stride[d] && size[d] < usual + stride[d], LUC_ERR_VALUE,
              "invalid output_size %lld (dim %d must be between %lld and %lld)", (long long)size[d],
              d + 1, (long long)(usual - stride[d]), (long long)(usual + stride[d]));
    LUC_CHECK(ctx, size[d] >= 0, LUC_ERR_VALUE, "output would have size %lld", (long long)size[d]);
  }
  return LUC_OK;
}

/* t with its last `spatial` dimensions replaced by one of n elements. */
static luc_tensor *as_lines(luc_formula *f, luc_tensor *t, int spatial, int64_t n) {
  int64_t sizes[LUC_MAX_DIMS];
  int ndim = t->ndim - spatial + 1;
  memcpy(sizes, t->sizes, sizeof sizes);
  sizes[ndim - 1] = n;
  return luc__f_reshape(f, t, ndim, sizes);
}

/* (input, indices, kernel_size, stride, padding, output_size) */
static luc_status unpool(luc_context *ctx, int spatial, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *indices = args[1].as.tensor;
  bool batched;
  int64_t sizes[LUC_MAX_DIMS], lines[LUC_MAX_DIMS], n = 1, cells = 1;
  int lead = input->ndim - spatial;
  LUC_TRY(luc__check_batched(ctx, input, spatial, &batched));
  LUC_TRY(luc__need_float(ctx, "input", input));
  if (!luc__dtype_is_int(indices->dtype) || !luc__same_sizes(input, indices))
    return luc__fail_shapes(ctx, "input", input, "indices", indices,
                            "expected indices to be integers of the shape of input");
  for (int d = lead; d < input->ndim; d++)
    if (input->sizes[d] == 0)
      return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                              "input has no elements along a pooled dimension");
  memcpy(sizes, input->sizes, sizeof sizes);
  LUC_TRY(unpooled_size(ctx, spatial, args, sizes + lead));
  memcpy(lines, sizes, sizeof lines);
  for (int d = lead; d < input->ndim; d++) n *= input->sizes[d], cells *= sizes[d];
  lines[lead] = cells;
  luc_formula f = luc__formula(ctx);
  luc_value values = luc_v_tensor(as_lines(&f, input, spatial, n));
  luc_value at = luc_v_tensor(as_lines(&f, indices, spatial, n));
  luc_tensor *y = luc__f_call(&f, LUC_OP_new_zeros, LUC_ARGS(args[0], luc_v_ints(lines, lead + 1)));
  if (f.status == LUC_OK)
    f.status =
        luc_call_inplace(ctx, LUC_OP_scatter, LUC_ARGS(luc_v_tensor(y), luc_v_int(-1), at, values));
  return luc__f_result(&f, luc__f_reshape(&f, y, input->ndim, sizes), out);
}

LUC_RUN_BY(max_unpool1d, unpool, 1)
LUC_RUN_BY(max_unpool2d, unpool, 2)
LUC_RUN_BY(max_unpool3d, unpool, 3)

/* ---- lp_pool1d, 2d, 3d: (input, norm_type, kernel_size, stride, ceil_mode) ---- */

static luc_status pool_lp(luc_context *ctx, luc_opid avg, int spatial, luc_value *args,
                          luc_value *out) {
  int64_t kernel[3];
  double p = luc_as_double(&args[1]);
  LUC_CHECK(ctx, p != 0, LUC_ERR_VALUE, "norm_type must be a non-zero value, but got 0");
  LUC_TRY(luc__take_ints(ctx, "kernel_size", &args[2], spatial, kernel));
  LUC_TRY(luc__check_least(ctx, "kernel_size", spatial, kernel, 1));
  int64_t cells = luc__product_of(spatial, kernel);
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = luc__fs(&f, LUC_OP_pow, args[0].as.tensor, p);
  y = luc__f_call(
      &f, avg, LUC_ARGS(luc_v_tensor(y), args[2], args[3], luc_v_ints((int64_t[]){0}, 1), args[4]));
  luc_tensor *size = luc__f1(&f, LUC_OP_relu, luc__f1(&f, LUC_OP_abs, y));
  y = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_sign, y), size);
  y = luc__fs(&f, LUC_OP_pow, luc__fs(&f, LUC_OP_mul, y, (double)cells), 1 / p);
  return luc__f_result(&f, y, out);
}

LUC_RUN_BY(lp_pool1d, pool_lp, LUC_OP_avg_pool1d, 1)
LUC_RUN_BY(lp_pool2d, pool_lp, LUC_OP_avg_pool2d, 2)
LUC_RUN_BY(lp_pool3d, pool_lp, LUC_OP_avg_pool3d, 3)
