/* Spatial transformers: affine_grid, which makes grids of places, and grid_sample, which reads
 * images there. */
#include <string.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/grid.h"

/* ---- the rows: grid_sampler(input, grid, mode, padding, align_corners) ---- */

static luc_grid geometry(const luc_tensor *x, const luc_tensor *grid, const luc_value *options) {
  luc_grid g = {.mode = (luc_grid_mode)options[0].as.i,
                .padding = (luc_grid_padding)options[1].as.i,
                .align_corners = options[2].as.i != 0,
                .dims = x->ndim - 2,
                .batch = x->sizes[0],
                .channels = x->sizes[1],
                .points = 1,
                .size = {1, 1, 1},
                .x = (const double *)x->data,
                .grid = (const double *)grid->data};
  for (int d = 0; d < g.dims; d++) {
    g.size[3 - g.dims + d] = x->sizes[2 + d];
    g.points *= grid->sizes[1 + d];
  }
  return g;
}

luc_status luc__run_grid_sampler(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *input = args[0].as.tensor, *x = NULL, *grid = NULL, *y = NULL;
  int64_t sizes[LUC_MAX_DIMS] = {input->sizes[0], input->sizes[1]};
  for (int d = 2; d < input->ndim; d++) sizes[d] = args[1].as.tensor->sizes[d - 1];
  LUC_GO(luc__dense(ctx, input, LUC_FLOAT64, &x));
  LUC_GO(luc__dense(ctx, args[1].as.tensor, LUC_FLOAT64, &grid));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT64, input->ndim, sizes, &y));
  luc_grid g = geometry(x, grid, &args[2]);
  if (y->numel > 0) luc__grid_sample(ctx, &g, (double *)y->data);
  status = luc__deliver(ctx, "grid_sample", out, (luc_dtype)input->dtype, y);
  y = NULL;
done:
  luc_tensor_release(ctx, x);
  luc_tensor_release(ctx, grid);
  luc_tensor_release(ctx, y);
  return status;
}

/* grid_sampler_backward(grad, input, grid, mode, padding, align_corners) -> (input, grid) */
luc_status luc__run_grid_sampler_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *dy = NULL, *x = NULL, *grid = NULL, *dx = NULL, *dgrid = NULL;
  luc_dtype dtype = (luc_dtype)args[1].as.tensor->dtype;
  LUC_GO(luc__dense(ctx, args[0].as.tensor, LUC_FLOAT64, &dy));
  LUC_GO(luc__dense(ctx, args[1].as.tensor, LUC_FLOAT64, &x));
  LUC_GO(luc__dense(ctx, args[2].as.tensor, LUC_FLOAT64, &grid));
  LUC_GO(luc__tensor_empty_like(ctx, x, LUC_FLOAT64, &dx));
  LUC_GO(luc__tensor_empty_like(ctx, grid, LUC_FLOAT64, &dgrid));
  luc_grid g = geometry(x, grid, &args[3]);
  luc__grid_sample_backward(ctx, &g, (const double *)dy->data, (double *)dx->data,
                            (double *)dgrid->data);
  status = luc__deliver(ctx, "grid_sample", &out[0], dtype, dx);
  dx = NULL;
  if (status != LUC_OK) goto done;
  status = luc__deliver(ctx, "grid_sample", &out[1], dtype, dgrid);
  dgrid = NULL;
done:
  luc_tensor_release(ctx, dy);
  luc_tensor_release(ctx, x);
  luc_tensor_release(ctx, grid);
  luc_tensor_release(ctx, dx);
  luc_tensor_release(ctx, dgrid);
  return status;
}

luc_status luc__grad_grid_sampler(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *dgrid;
  luc_tensor *dx = luc__f_call2(&f, LUC_OP_grid_sampler_backward, &dgrid,
                                LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1],
                                         b->args[2], b->args[3], b->args[4]));
  if (luc__needs(b, 0)) luc__f_keep(&f, dx, &b->gin[0]);
  if (luc__needs(b, 1)) luc__f_keep(&f, dgrid, &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- grid_sample(input, grid, mode, padding_mode, align_corners) ---- */

static luc_status check_sampling(luc_context *ctx, const luc_tensor *x, const luc_tensor *grid,
                                 int mode) {
  static const char who[] = "grid_sample";
  const char *wrong = NULL;
  LUC_TRY(luc__need_float(ctx, who, "input", x));
  LUC_TRY(luc__match_dtype(ctx, who, "input", x, "grid", grid));
  if ((x->ndim != 4 && x->ndim != 5) || grid->ndim != x->ndim)
    wrong = "expected 4D or 5D input and grid with same number of dimensions";
  else if (x->sizes[0] != grid->sizes[0])
    wrong = "expected grid and input to have same batch size";
  else if (grid->sizes[grid->ndim - 1] != x->ndim - 2)
    wrong = x->ndim == 4 ? "expected grid to have size 2 in last dimension"
                         : "expected grid to have size 3 in last dimension";
  else if (mode == LUC_GRID_CUBIC && x->ndim != 4)
    wrong = "bicubic interpolation only supports 4D input";
  for (int d = 2; !wrong && d < x->ndim; d++)
    if (x->sizes[d] == 0) wrong = "expected input to have non-empty spatial dimensions";
  if (wrong) return luc__fail_shapes(ctx, who, "input", x, "grid", grid, "%s", wrong);
  return LUC_OK;
}

luc_status luc__run_grid_sample(luc_context *ctx, luc_value *args, luc_value *out) {
  int mode, padding;
  luc_tensor *input = args[0].as.tensor;
  LUC_TRY(luc__choice(ctx, "grid_sample", "mode", "bilinear|nearest|bicubic", args[2].as.string,
                      &mode));
  LUC_TRY(luc__choice(ctx, "grid_sample", "padding_mode", "zeros|border|reflection",
                      args[3].as.string, &padding));
  LUC_TRY(check_sampling(ctx, input, args[1].as.tensor, mode));
  bool align = !luc_is_none(&args[4]) && args[4].as.i;
  return luc_call(
      ctx, input->ndim == 5 ? LUC_OP_grid_sampler_3d : LUC_OP_grid_sampler_2d,
      LUC_ARGS(args[0], args[1], luc_v_int(mode), luc_v_int(padding), luc_v_bool(align)), out);
}

/* ---- affine_grid(theta, size, align_corners) ---- */

/* The place of element i of n in [-1, 1]. */
static double place(int64_t i, int64_t n, bool align) {
  if (n <= 1) return 0;
  double at = 2 * (double)i / (double)(n - 1) - 1;
  return align ? at : at * (double)(n - 1) / (double)n;
}

/* [points, dims + 1]: x, y, (z,) 1 of every element of an image of that size. */
static luc_status homogeneous(luc_context *ctx, int dims, const int64_t *size, bool align,
                              luc_tensor **out) {
  int64_t sizes[2] = {1, dims + 1};
  for (int d = 0; d < dims; d++) sizes[0] *= size[d];
  LUC_TRY(luc__tensor_empty(ctx, LUC_FLOAT64, 2, sizes, out));
  double *to = (double *)(*out)->data;
  for (int64_t i = 0; i < sizes[0]; i++, to += dims + 1) {
    int64_t rest = i;
    for (int d = 0; d < dims; d++) {
      int64_t n = size[dims - 1 - d];
      to[d] = place(rest % n, n, align);
      rest /= n;
    }
    to[dims] = 1;
  }
  return LUC_OK;
}

static luc_status check_affine(luc_context *ctx, const luc_tensor *theta, const luc_value *size) {
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  int dims = size->n - 2;
  LUC_CHECK(ctx, luc__dtype_is_float((luc_dtype)theta->dtype), LUC_ERR_TYPE,
            "affine_grid: Expected theta to have floating point type, but got %s",
            luc__dtype_name((luc_dtype)theta->dtype));
  luc__shape_text(want, size->n, size->as.ints);
  LUC_CHECK(ctx, dims == 2 || dims == 3, LUC_ERR_SUPPORT,
            "affine_grid: only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            "respectively. Got size %s",
            want);
  int64_t numel = 1;
  for (int i = 0; i < size->n; i++) {
    int64_t n = size->as.ints[i];
    LUC_CHECK(ctx, n > 0 && n <= INT32_MAX && (i == 1 || (numel *= n) <= INT32_MAX), LUC_ERR_SHAPE,
              "affine_grid: Expected non-zero, positive output size. Got %s", want);
  }
  bool fits = theta->ndim == 3 && theta->sizes[0] == size->as.ints[0] && theta->sizes[1] == dims &&
              theta->sizes[2] == dims + 1;
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "affine_grid: Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. "
            "Got %s.",
            dims, dims, dims + 1, want, luc__tensor_shape_text(have, theta));
  return LUC_OK;
}

luc_status luc__run_affine_grid(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *theta = args[0].as.tensor, *base = NULL;
  const luc_value *size = &args[1];
  LUC_TRY(check_affine(ctx, theta, size));
  int dims = size->n - 2;
  luc_formula f = luc__formula(ctx);
  bool align = !luc_is_none(&args[2]) && args[2].as.i;
  f.status = homogeneous(ctx, dims, size->as.ints + 2, align, &base);
  base = luc__f_own(&f, base);
  if (f.status == LUC_OK) base = luc__f_to(&f, base, (luc_dtype)theta->dtype);
  luc_tensor *grid = luc__f2(&f, LUC_OP_matmul, base, luc__f_transpose(&f, theta, 1, 2));
  int64_t sizes[LUC_MAX_DIMS] = {size->as.ints[0]};
  memcpy(sizes + 1, size->as.ints + 2, (size_t)dims * sizeof *sizes);
  sizes[dims + 1] = dims;
  return luc__f_result(&f, luc__f_reshape(&f, grid, dims + 2, sizes), out);
}
