/* Spatial transformers: affine_grid, which makes grids of places, and grid_sample, which reads
 * images there. */
#include <string.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/grid.h"

/* ---- the rows: grid_sampler(input, grid, mode, padding, align_corners, orders) ---- */

/* Along each dimension a value is a sum by weights. Its derivative is that by theirs, of which
 * `orders` says which it is, x, y and z having three bits each; from the highest on all are 0. */
enum { ORDER_BITS = 3, HIGHEST = (1 << ORDER_BITS) - 1 };

static int order_of(int64_t orders, int d) {
  return (int)(orders >> d * ORDER_BITS) & HIGHEST;
}

static int64_t next_order(int64_t orders, int d) {
  return order_of(orders, d) == HIGHEST ? orders : orders + (1 << d * ORDER_BITS);
}

static luc_grid geometry(const luc_tensor *x, const luc_tensor *grid, const luc_value *options) {
  luc_grid g = {.dtype = x->dtype,
                .mode = (luc_grid_mode)options[0].as.i,
                .padding = (luc_grid_padding)options[1].as.i,
                .align_corners = options[2].as.i != 0,
                .dims = x->ndim - 2,
                .batch = x->sizes[0],
                .channels = x->sizes[1],
                .points = 1,
                .size = {1, 1, 1},
                .x = x->data,
                .grid = grid->data};
  for (int d = 0; d < g.dims; d++) {
    g.size[3 - g.dims + d] = x->sizes[2 + d];
    g.points *= grid->sizes[1 + d];
    g.order[d] = order_of(options[3].as.i, d);
  }
  return g;
}

/* What images are sampled in: large ones of floats in double. */
static luc_dtype dtype_of(const luc_tensor *input) {
  const int64_t cells = luc__product(input->ndim - 2, input->sizes + 2);
  return cells < LUC_GRID_MOST ? luc__compute_dtype(input->dtype) : LUC_FLOAT64;
}

luc_status luc__run_grid_sampler(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *grid, *y;
  const luc_dtype compute = dtype_of(input);
  int64_t sizes[LUC_MAX_DIMS] = {input->sizes[0], input->sizes[1]};
  for (int d = 2; d < input->ndim; d++) sizes[d] = args[1].as.tensor->sizes[d - 1];
  LUC_TRY(luc__as_dense(ctx, input, compute, &x));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, compute, &grid));
  LUC_TRY(luc__scratch(ctx, compute, input->ndim, sizes, &y));
  luc_grid g = geometry(x, grid, &args[2]);
  if (y->numel > 0) LUC_TRY(luc__grid_sample(ctx, &g, y->data));
  return luc__result(ctx, out, input->dtype, y);
}

/* grid_sampler_backward(grad, input, grid, mode, padding, align_corners, orders, with_input,
 * with_grid) -> (input, grid); one that is not wanted is empty. */
luc_status luc__run_grid_sampler_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *dy, *x, *grid, *dx, *dgrid;
  const luc_dtype dtype = args[1].as.tensor->dtype;
  const luc_dtype compute = dtype_of(args[1].as.tensor);
  const int64_t none = 0;
  const bool with_x = args[7].as.i != 0, with_grid = args[8].as.i != 0;
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, compute, &dy));
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, compute, &x));
  LUC_TRY(luc__as_dense(ctx, args[2].as.tensor, compute, &grid));
  LUC_TRY(luc__scratch(ctx, compute, with_x ? x->ndim : 1, with_x ? x->sizes : &none, &dx));
  LUC_TRY(luc__scratch(ctx, compute, with_grid ? grid->ndim : 1, with_grid ? grid->sizes : &none,
                       &dgrid));
  luc_grid g = geometry(x, grid, &args[3]);
  LUC_TRY(luc__grid_sample_backward(ctx, &g, dy->data, with_x ? dx->data : NULL,
                                    with_grid ? dgrid->data : NULL));
  LUC_TRY(luc__result(ctx, &out[0], dtype, dx));
  return luc__result(ctx, &out[1], dtype, dgrid);
}

/* What is sampled, or what comes to `input` and `grid`, which are wanted or not, from g; the
 * options are mode, padding and align_corners. */
static luc_tensor *sample(luc_formula *f, luc_value input, luc_value grid, const luc_value *options,
                          int64_t orders) {
  const bool flat = input.as.tensor && input.as.tensor->ndim == 4;
  return luc__f_call(f, flat ? LUC_OP_grid_sampler_2d : LUC_OP_grid_sampler_3d,
                     LUC_ARGS(input, grid, options[0], options[1], options[2], luc_v_int(orders)));
}

static luc_tensor *back(luc_formula *f, luc_tensor *g, luc_value input, luc_value grid,
                        const luc_value *options, int64_t orders, const bool *wanted,
                        luc_tensor **dgrid) {
  return luc__f_call2(f, LUC_OP_grid_sampler_backward, dgrid,
                      LUC_ARGS(luc_v_tensor(g), input, grid, options[0], options[1], options[2],
                               luc_v_int(orders), luc_v_bool(wanted[0]), luc_v_bool(wanted[1])));
}

luc_status luc__grad_grid_sampler(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  const bool wanted[] = {luc__needs(b, 0), luc__needs(b, 1)};
  luc_tensor *dgrid, *dx = back(&f, b->gout[0], b->args[0], b->args[1], &b->args[2],
                                b->args[5].as.i, wanted, &dgrid);
  if (wanted[0]) luc__f_keep(&f, dx, &b->gin[0]);
  if (wanted[1]) luc__f_keep(&f, dgrid, &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* A sum, whose first term may be missing. */
static void add_to(luc_formula *f, luc_tensor **sum, luc_tensor *t) {
  *sum = *sum ? luc__f2(f, LUC_OP_add, *sum, t) : t;
}

/* The image's gradient has one that is an image itself. The grid's has one with a number for each
 * dimension: by it grad is multiplied, and so are samples, by the weights' next derivative. */
luc_status luc__grad_grid_sampler_backward(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  const luc_value input = b->args[1], grid = b->args[2], *options = &b->args[3];
  const int64_t orders = b->args[6].as.i;
  const bool wanted[] = {luc__needs(b, 1), luc__needs(b, 2)};
  luc_tensor *g = b->args[0].as.tensor, *dg = NULL, *dx = NULL, *dgrid = NULL, *more;
  luc_tensor *image = b->args[7].as.i ? b->gout[0] : NULL;
  luc_tensor *places = b->args[8].as.i ? b->gout[1] : NULL;
  if (image) {
    const luc_value v = luc_v_tensor(image);
    dg = sample(&f, v, grid, options, orders);
    if (wanted[1]) (void)back(&f, g, v, grid, options, orders, (bool[]){false, true}, &dgrid);
  }
  for (int d = 0; places && d < input.as.tensor->ndim - 2; d++) {
    const int64_t next = next_order(orders, d);
    luc_tensor *by = luc__f_narrow(&f, places, -1, d, 1);
    by = luc__f_unsqueeze(&f, luc__f_squeeze(&f, by, -1), 1);
    add_to(&f, &dg, luc__f2(&f, LUC_OP_mul, sample(&f, input, grid, options, next), by));
    luc_tensor *turned = luc__f2(&f, LUC_OP_mul, g, by);
    turned = back(&f, turned, input, grid, options, next, wanted, &more);
    if (wanted[0]) add_to(&f, &dx, turned);
    if (wanted[1]) add_to(&f, &dgrid, more);
  }
  if (luc__needs(b, 0) && dg) luc__f_keep(&f, dg, &b->gin[0]);
  if (wanted[0] && dx) luc__f_keep(&f, dx, &b->gin[1]);
  if (wanted[1] && dgrid) luc__f_keep(&f, dgrid, &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- grid_sample(input, grid, mode, padding_mode, align_corners) ---- */

static luc_status check_sampling(luc_context *ctx, const luc_tensor *x, const luc_tensor *grid,
                                 int mode) {
  const char *wrong = NULL;
  LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_TRY(luc__match_dtype(ctx, "input", x, "grid", grid));
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
  if (wrong) return luc__fail_shapes(ctx, "input", x, "grid", grid, "%s", wrong);
  return LUC_OK;
}

luc_status luc__run_grid_sample(luc_context *ctx, luc_value *args, luc_value *out) {
  int mode, padding;
  luc_tensor *input = args[0].as.tensor;
  LUC_TRY(luc__choice(ctx, "mode", "bilinear|nearest|bicubic", args[2].as.string, &mode));
  LUC_TRY(luc__choice(ctx, "padding_mode", "zeros|border|reflection", args[3].as.string, &padding));
  LUC_TRY(check_sampling(ctx, input, args[1].as.tensor, mode));
  bool align = !luc_is_none(&args[4]) && args[4].as.i;
  return luc_call(ctx, input->ndim == 5 ? LUC_OP_grid_sampler_3d : LUC_OP_grid_sampler_2d,
                  LUC_ARGS(args[0], args[1], luc_v_int(mode), luc_v_int(padding), luc_v_bool(align),
                           luc_v_int(0)),
                  out);
}

/* ---- affine_grid(theta, size, align_corners) ---- */

static void put(luc_tensor *t, int64_t i, double value) {
  if (t->dtype == LUC_FLOAT64)
    ((double *)t->data)[i] = value;
  else
    ((float *)t->data)[i] = (float)value;
}

/* The place of element i of n in [-1, 1]. */
static double place(int64_t i, int64_t n, bool align) {
  if (n <= 1) return 0;
  double at = 2 * (double)i / (double)(n - 1) - 1;
  return align ? at : at * (double)(n - 1) / (double)n;
}

/* [points, dims + 1]: x, y, (z,) 1 of every element of an image of that size. */
static luc_status homogeneous(luc_context *ctx, luc_dtype dtype, int dims, const int64_t *size,
                              bool align, luc_tensor **out) {
  int64_t sizes[2] = {1, dims + 1};
  for (int d = 0; d < dims; d++) sizes[0] *= size[d];
  LUC_TRY(luc__tensor_empty(ctx, dtype, 2, sizes, out));
  for (int64_t i = 0; i < sizes[0]; i++) {
    int64_t rest = i, at = i * (dims + 1);
    for (int d = 0; d <= dims; d++) {
      int64_t n = d < dims ? size[dims - 1 - d] : 1;
      put(*out, at + d, d < dims ? place(rest % n, n, align) : 1);
      rest /= n;
    }
  }
  return LUC_OK;
}

/* [dims * width, dims + 1]: what a row of an image, times theta transposed, needs of theta: first
 * the factor of y, then of z, then for each of its elements x * the factor of x + the constant. */
static luc_status factors(luc_context *ctx, luc_dtype dtype, int dims, int64_t width, bool align,
                          luc_tensor **out) {
  LUC_TRY(luc__tensor_empty(ctx, dtype, 2, (int64_t[]){dims * width, dims + 1}, out));
  memset((*out)->data, 0, (size_t)(*out)->numel * luc__dtype_size(dtype));
  for (int64_t i = 0; i < dims * width; i++) {
    const int64_t d = i / width, at = i * (dims + 1);
    if (d < dims - 1) {
      put(*out, at + d + 1, 1);
      continue;
    }
    put(*out, at, place(i % width, width, align));
    put(*out, at + dims, 1);
  }
  return LUC_OK;
}

static luc_status check_affine(luc_context *ctx, const luc_tensor *theta, const luc_value *size) {
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  int dims = size->n - 2;
  LUC_CHECK(ctx, luc__dtype_is_float(theta->dtype), LUC_ERR_TYPE,
            "affine_grid: Expected theta to have floating point type, but got %s",
            luc__dtype_name(theta->dtype));
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

/* A row of the image at (y, z) is (y, z, 1) times what theta makes of the elements of a row. */
luc_status luc__run_affine_grid(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *theta = args[0].as.tensor, *left = NULL, *right = NULL;
  const luc_value *size = &args[1];
  LUC_TRY(check_affine(ctx, theta, size));
  const int dims = size->n - 2;
  const luc_dtype dtype = luc__compute_dtype(theta->dtype);
  const bool align = !luc_is_none(&args[2]) && args[2].as.i;
  const int64_t *image = size->as.ints + 2, width = image[dims - 1];
  luc_formula f = luc__formula(ctx);
  f.status = homogeneous(ctx, dtype, dims - 1, image, align, &left);
  left = luc__f_own(&f, left);
  if (f.status == LUC_OK) f.status = factors(ctx, dtype, dims, width, align, &right);
  right = luc__f_own(&f, right);
  luc_tensor *turned = luc__f_transpose(&f, luc__f_to(&f, theta, dtype), 1, 2);
  right = luc__f2(&f, LUC_OP_matmul, right, turned);
  right = luc__f_reshape(&f, right, 3, (int64_t[]){size->as.ints[0], dims, width * dims});
  luc_tensor *grid = luc__f2(&f, LUC_OP_matmul, left, right);
  int64_t sizes[LUC_MAX_DIMS] = {size->as.ints[0]};
  memcpy(sizes + 1, image, (size_t)dims * sizeof *sizes);
  sizes[dims + 1] = dims;
  grid = luc__f_reshape(&f, grid, dims + 2, sizes);
  if (theta->dtype != dtype) grid = luc__f_to(&f, grid, theta->dtype);
  return luc__f_result(&f, grid, out); /* of autocast's dtype, like any product */
}
