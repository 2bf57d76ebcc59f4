/* Dimensions of reductions, and the way back. */
#include "ops/reduction.h"

#include "cpu/complex.h"
#include "cpu/copy.h"

static uint32_t all_dims(int ndim) {
  return (1u << ndim) - 1;
}

/* The mask of a Dim, a list, or None; without checks beyond wrapping, for gradients. */
static luc_status dims_mask(luc_context *ctx, int ndim, const luc_value *dim, uint32_t *mask) {
  const int64_t *list = dim->kind == LUC_INT ? &dim->as.i : dim->as.ints;
  int n = dim->kind == LUC_INT ? 1 : dim->kind == LUC_INTS ? dim->n : 0;
  *mask = n == 0 ? all_dims(ndim) : 0;
  for (int i = 0; i < n; i++) {
    int d;
    LUC_TRY(luc__dim_wrap(ctx, list[i], ndim, &d));
    LUC_CHECK(ctx, !(*mask >> d & 1), LUC_ERR_VALUE,
              "dim %d appears multiple times in the list of dims", d + 1);
    *mask |= 1u << d;
  }
  return LUC_OK;
}

void luc__dims_shape(const luc_tensor *t, uint32_t mask, bool keepdim, luc_dims *out) {
  *out = (luc_dims){.mask = mask & all_dims(t->ndim), .count = 1};
  for (int d = 0; d < t->ndim; d++) {
    bool gone = mask >> d & 1;
    if (gone) out->count *= t->sizes[d];
    if (!gone || keepdim) out->sizes[out->ndim++] = gone ? 1 : t->sizes[d];
  }
}

luc_status luc__dims(luc_context *ctx, const luc_tensor *t, const luc_value *dim, bool keepdim,
                     luc_dims *out) {
  uint32_t mask;
  LUC_TRY(dims_mask(ctx, t->ndim, dim, &mask));
  luc__dims_shape(t, mask, keepdim, out);
  return LUC_OK;
}

/* Sums real numbers, or the real or imaginary parts of complex ones. */
static luc_status sum_reals(luc_context *ctx, const luc_tensor *t, const luc_dims *dims,
                            double divide, luc_tensor *r) {
  const luc_reduction_job job = {
      .op = LUC_RD_sum, .dtype = r->dtype, .in = t, .dims = dims->mask, .a = r, .divide = divide};
  return luc__reduce(ctx, &job);
}

/* A complex tensor's memory as real numbers, the two parts along a new last dimension. */
static luc_tensor both_parts(const luc_tensor *t) {
  luc_tensor parts;
  luc__part(t, 0, &parts);
  parts.sizes[parts.ndim] = 2, parts.strides[parts.ndim++] = 1;
  parts.numel *= 2;
  return parts;
}

/* Sums both parts of complex numbers: in one call if a dimension for them fits. */
static luc_status sum_parts(luc_context *ctx, luc_tensor *t, const luc_dims *dims, double divide,
                            luc_tensor *r) {
  luc_tensor in, to;
  bool from = luc__dtype_is_complex(t->dtype);
  if (from && t->ndim < LUC_MAX_DIMS) {
    in = both_parts(t), to = both_parts(r);
    return sum_reals(ctx, &in, dims, divide, &to);
  }
  for (int part = 0; part < 2; part++) {
    luc__part(r, part, &to);
    if (from) luc__part(t, part, &in);
    if (part == 1 && !from) return luc__fill(ctx, &to, (luc_scalar){LUC_SCALAR_INT, {.i = 0}});
    LUC_TRY(sum_reals(ctx, from ? &in : t, dims, divide, &to));
  }
  return LUC_OK;
}

/* The elements after the reduced dimensions, where those are neighbours and memory lies so. */
static int64_t columns_of(const luc_tensor *t, uint32_t mask) {
  int64_t columns = 1;
  if (mask == 0 || mask & (mask + (mask & -mask)) || t->numel == 0 || !luc__is_contiguous(t))
    return 1;
  for (int d = t->ndim - 1; !(mask >> d & 1); d--) columns *= t->sizes[d];
  return columns;
}

/* Products of contiguous rows, with the reduced dimensions moved to the end, or of many columns. */
static luc_status multiply_rows(luc_context *ctx, luc_tensor *t, const luc_dims *dims,
                                luc_tensor *r) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  enum { MANY = 64 };
  const int64_t columns = columns_of(t, dims->mask);
  luc_tensor *moved, *rows = NULL;
  int n = 0;
  if (columns >= MANY && t->dtype == r->dtype) {
    luc__complex_column_products(ctx, r->dtype, r->numel / columns, dims->count, columns, t->data,
                                 r->data);
    return LUC_OK;
  }
  for (int gone = 0; gone < 2; gone++)
    for (int d = 0; d < t->ndim; d++) {
      if ((int)(dims->mask >> d & 1) != gone) continue;
      sizes[n] = t->sizes[d];
      strides[n++] = t->strides[d];
    }
  LUC_TRY(luc__tensor_view(ctx, t, n, sizes, strides, t->offset, &moved));
  luc_status status = luc__contiguous_as(ctx, moved, r->dtype, &rows);
  luc_tensor_release(ctx, moved);
  if (status != LUC_OK) return status;
  luc__complex_products(ctx, r->dtype, r->numel, dims->count, false, rows->data, r->data);
  luc_tensor_release(ctx, rows);
  return LUC_OK;
}

/* Complex numbers, or a complex result. */
static luc_status reduce_complex(luc_context *ctx, luc_rd op, luc_tensor *t, const luc_dims *dims,
                                 luc_dtype dtype, luc_dtype result, double divide, luc_value *out) {
  luc_tensor *r, *cast = NULL;
  bool truth = op == LUC_RD_all || op == LUC_RD_any || op == LUC_RD_count;
  luc_dtype plain = truth ? LUC_BOOL : luc__dtype_to_real(dtype);
  if (truth || !luc__dtype_is_complex(dtype)) {
    LUC_TRY(luc__contiguous_as(ctx, t, plain, &cast));
    luc_status status = luc__reduce_to(ctx, op, cast, dims, plain, result, divide, false, out);
    luc_tensor_release(ctx, cast);
    return status;
  }
  LUC_CHECK(ctx, op == LUC_RD_sum || op == LUC_RD_prod, LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  LUC_TRY(luc__out(ctx, out, result, dims->ndim, dims->sizes, &r));
  return op == LUC_RD_sum ? sum_parts(ctx, t, dims, divide, r) : multiply_rows(ctx, t, dims, r);
}

/* Reductions of one element each by max, min, any or all, which only convert it. */
static luc_status take_ones(luc_context *ctx, const luc_tensor *t, const luc_dims *dims,
                            luc_tensor *r) {
  luc_tensor ones = *t;
  ones.ndim = dims->ndim;
  for (int d = 0, n = 0; d < t->ndim && n < dims->ndim; d++) {
    if (dims->ndim < t->ndim && dims->mask >> d & 1) continue;
    ones.sizes[n] = t->sizes[d], ones.strides[n++] = t->strides[d];
  }
  return luc__copy(ctx, r, &ones);
}

luc_status luc__reduce_to(luc_context *ctx, luc_rd op, luc_tensor *t, const luc_dims *dims,
                          luc_dtype dtype, luc_dtype result, double divide, bool root,
                          luc_value *out) {
  luc_tensor *r;
  if (luc__dtype_is_complex(t->dtype) || luc__dtype_is_complex(dtype))
    return reduce_complex(ctx, op, t, dims, dtype, result, divide, out);
  LUC_TRY(luc__out(ctx, out, result, dims->ndim, dims->sizes, &r));
  const bool truth = (op == LUC_RD_any || op == LUC_RD_all) && r->dtype == LUC_BOOL;
  if (dims->count == 1 && (truth || op == LUC_RD_max || op == LUC_RD_min))
    return take_ones(ctx, t, dims, r);
  luc_reduction_job job = {.op = op,
                           .dtype = dtype,
                           .in = t,
                           .dims = dims->mask,
                           .a = op == LUC_RD_var ? NULL : r,
                           .b = op == LUC_RD_var ? r : NULL,
                           .divide = divide,
                           .root = root};
  return luc__reduce(ctx, &job);
}

/* g with the reduced dimensions back at size 1. */
static luc_status unreduce(luc_context *ctx, const luc_backward *b, luc_tensor *g,
                           const luc_value *dim, bool keepdim, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  int ndim = luc__input_sizes(b, 0, sizes);
  uint32_t mask;
  if (keepdim || ndim == 0) {
    *out = luc__retain(g);
    return LUC_OK;
  }
  LUC_TRY(dims_mask(ctx, ndim, dim, &mask));
  for (int d = 0; d < ndim; d++)
    if (mask >> d & 1) sizes[d] = 1;
  return luc__op1(ctx, LUC_OP_reshape, out, LUC_ARGS(luc_v_tensor(g), luc_v_ints(sizes, ndim)));
}

luc_status luc__unreduce_full(luc_context *ctx, const luc_backward *b, luc_tensor *g,
                              const luc_value *dim, bool keepdim, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  int ndim = luc__input_sizes(b, 0, sizes);
  luc_tensor *kept;
  LUC_TRY(unreduce(ctx, b, g, dim, keepdim, &kept));
  luc_status status =
      luc__op1(ctx, LUC_OP_expand, out, LUC_ARGS(luc_v_tensor(kept), luc_v_ints(sizes, ndim)));
  luc_tensor_release(ctx, kept);
  return status;
}

luc_tensor *luc__f_unreduce(luc_formula *f, luc_backward *b, luc_tensor *g, const luc_value *dim,
                            bool keepdim) {
  luc_tensor *kept = NULL;
  if (f->status == LUC_OK) f->status = unreduce(f->ctx, b, g, dim, keepdim, &kept);
  return luc__f_own(f, kept);
}

luc_status luc__grad_picked(luc_context *ctx, luc_backward *b, int dim_param, int keepdim_param) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *indices = b->results[1];
  int64_t sizes[LUC_MAX_DIMS], dim = b->args[dim_param].as.i;
  int ndim = luc__input_sizes(b, 0, sizes);
  if (ndim == 0) {
    b->gin[0] = luc__retain(g);
    return LUC_OK;
  }
  luc_tensor *zeros =
      luc__f_call(&f, LUC_OP_new_zeros, LUC_ARGS(luc_v_tensor(g), luc_v_ints(sizes, ndim)));
  if (keepdim_param >= 0 && !b->args[keepdim_param].as.i) {
    if (dim < 0) dim += ndim;
    g = luc__f_unsqueeze(&f, g, dim);
    indices = luc__f_unsqueeze(&f, indices, dim);
  }
  luc_tensor *spread = luc__f_call(
      &f, LUC_OP_scatter_add,
      LUC_ARGS(luc_v_tensor(zeros), luc_v_int(dim), luc_v_tensor(indices), luc_v_tensor(g)));
  return luc__f_end(&f, spread, &b->gin[0]);
}

int64_t luc__reduced_count(const luc_backward *b, const luc_value *dim) {
  int64_t sizes[LUC_MAX_DIMS], count = 1;
  int ndim = luc__input_sizes(b, 0, sizes);
  const int64_t *list = dim->kind == LUC_INT ? &dim->as.i : dim->as.ints;
  int n = dim->kind == LUC_INT ? 1 : dim->kind == LUC_INTS ? dim->n : 0;
  if (ndim == 0) return 1;
  for (int d = 0; n == 0 && d < ndim; d++) count *= sizes[d];
  for (int i = 0; i < n; i++) count *= sizes[list[i] < 0 ? list[i] + ndim : list[i]];
  return count;
}
