/* Complex tensors: made of real ones, taken apart and conjugated. real, imag and view_as_real are
 * views of the same memory; a conjugate is computed at once, there is no lazy bit for it. */
#include "cpu/complex.h"

#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/pointwise.h"

static bool is_part(luc_dtype dtype) {
  return dtype == LUC_FLOAT32 || dtype == LUC_FLOAT64;
}

/* ---- made of parts ---- */

/* The dtype of the parts: the tensors' own; two numbers take the default. */
static luc_status parts_dtype(luc_context *ctx, const luc_value *args, luc_dtype *dtype) {
  const luc_tensor *a = luc_as_tensor(&args[0]), *b = luc_as_tensor(&args[1]);
  const luc_tensor *first = a ? a : b;
  *dtype = ctx->default_dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  if (!first) return LUC_OK;
  *dtype = first->dtype;
  LUC_CHECK(ctx, !b || first->dtype == b->dtype, LUC_ERR_TYPE,
            "both inputs must have one dtype (got %s and %s)", luc__dtype_name(*dtype),
            luc__dtype_name(b->dtype));
  LUC_CHECK(ctx, is_part(*dtype), LUC_ERR_TYPE,
            "inputs must be float32 or float64 tensors (got %s)", luc__dtype_name(*dtype));
  return LUC_OK;
}

luc_status luc__run_complex(luc_context *ctx, luc_value *args, luc_value *out) {
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  luc_dtype dtype;
  luc_tensor *r, part;
  LUC_TRY(parts_dtype(ctx, args, &dtype));
  LUC_TRY(luc__broadcast_operands(ctx, args, 2, &ndim, sizes));
  LUC_TRY(luc__out(ctx, out, luc__dtype_to_complex(dtype), ndim, sizes, &r));
  const luc_tensor *re = luc_as_tensor(&args[0]), *im = luc_as_tensor(&args[1]);
  if (re && im && luc__join_parts(ctx, r, re, im)) return LUC_OK;
  for (int p = 0; p < 2; p++) {
    luc__part(r, p, &part);
    if (args[p].kind == LUC_TENSOR)
      LUC_TRY(luc__copy(ctx, &part, args[p].as.tensor));
    else
      LUC_TRY(luc__fill(ctx, &part, luc_as_scalar(&args[p])));
  }
  return LUC_OK;
}

luc_status luc__grad_complex(luc_context *ctx, luc_backward *b) {
  if (luc__needs(b, 0)) LUC_TRY(luc__unary(ctx, LUC_OP_real, b->gout[0], &b->gin[0]));
  return luc__needs(b, 1) ? luc__unary(ctx, LUC_OP_imag, b->gout[0], &b->gin[1]) : LUC_OK;
}

luc_status luc__run_polar(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *length = args[0].as.tensor, *angle = args[1].as.tensor;
  luc_dtype dtype;
  LUC_TRY(parts_dtype(ctx, args, &dtype));
  luc_tensor *re = luc__f2(&f, LUC_OP_mul, length, luc__f1(&f, LUC_OP_cos, angle));
  luc_tensor *im = luc__f2(&f, LUC_OP_mul, length, luc__f1(&f, LUC_OP_sin, angle));
  return luc__f_result(&f, luc__f2(&f, LUC_OP_complex, re, im), out);
}

/* ---- views ---- */

luc_status luc__run_view_as_real(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  LUC_CHECK(ctx, luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
            "only complex tensors can be seen as real ones (got %s)", luc__dtype_name(t->dtype));
  LUC_CHECK(ctx, t->ndim < LUC_MAX_DIMS, LUC_ERR_SUPPORT,
            "tensors have at most %d dimensions, the result would have %d", LUC_MAX_DIMS,
            t->ndim + 1);
  for (int d = 0; d < t->ndim; d++) {
    sizes[d] = t->sizes[d];
    strides[d] = 2 * t->strides[d];
  }
  sizes[t->ndim] = 2;
  strides[t->ndim] = 1;
  luc_dtype real = luc__dtype_to_real(t->dtype);
  luc_status status =
      luc__tensor_view_as(ctx, t, real, t->ndim + 1, sizes, strides, 2 * t->offset, &r);
  return luc__give(ctx, status, out, r);
}

/* The gradient becomes complex again: copied first if its pairs are not adjacent. */
luc_status luc__grad_view_as_real(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *plain = luc__f1(&f, LUC_OP_contiguous, b->gout[0]);
  return luc__f_end(&f, luc__f1(&f, LUC_OP_view_as_complex, plain), &b->gin[0]);
}

luc_status luc__run_view_as_complex(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  int64_t strides[LUC_MAX_DIMS];
  int last = t->ndim - 1;
  LUC_CHECK(ctx, is_part(t->dtype), LUC_ERR_TYPE,
            "only float32 and float64 tensors can be seen as complex ones (got %s)",
            luc__dtype_name(t->dtype));
  LUC_CHECK(ctx, last >= 0 && t->sizes[last] == 2, LUC_ERR_SHAPE,
            "Tensor must have a last dimension of size 2");
  bool empty = t->numel == 0; /* its strides mean nothing */
  LUC_CHECK(ctx, empty || t->strides[last] == 1, LUC_ERR_SHAPE,
            "Tensor must have a last dimension with stride 1");
  for (int d = 0; d < last; d++) {
    strides[d] = t->strides[d] / 2;
    LUC_CHECK(ctx, empty || t->sizes[d] == 1 || t->strides[d] % 2 == 0, LUC_ERR_SHAPE,
              "Tensor must have a stride divisible by 2 for all but last "
              "dimension");
  }
  LUC_CHECK(ctx, t->offset % 2 == 0, LUC_ERR_SHAPE,
            "Tensor must have a storage_offset divisible by 2");
  luc_dtype dtype = luc__dtype_to_complex(t->dtype);
  luc_status status =
      luc__tensor_view_as(ctx, t, dtype, last, t->sizes, strides, t->offset / 2, &r);
  return luc__give(ctx, status, out, r);
}

LUC_GRAD_BY(view_as_complex, luc__grad_call, LUC_OP_view_as_real, 1)

static luc_status part_of(luc_context *ctx, luc_tensor *t, int part, luc_value *out) {
  luc_tensor seen, *r = NULL;
  luc__part(t, part, &seen);
  luc_status status =
      luc__tensor_view_as(ctx, t, seen.dtype, t->ndim, seen.sizes, seen.strides, seen.offset, &r);
  return luc__give(ctx, status, out, r);
}

luc_status luc__run_real(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  if (luc__dtype_is_complex(t->dtype)) return part_of(ctx, t, 0, out);
  *out = luc_v_tensor(luc__retain(t));
  return LUC_OK;
}

luc_status luc__run_imag(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
            "imag is not implemented for tensors with non-complex dtypes.");
  return part_of(ctx, t, 1, out);
}

luc_status luc__grad_imag(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *zero = luc__f1(&f, LUC_OP_zeros_like, b->gout[0]);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_complex, zero, b->gout[0]), &b->gin[0]);
}

/* ---- the conjugate ---- */

/* Writes the conjugate of t into the result, which is t itself in the in-place form. */
static luc_status conjugate(luc_context *ctx, luc_tensor *t, luc_value *out) {
  luc_tensor *r;
  const luc_ew_input in = {.t = t};
  LUC_TRY(luc__out(ctx, out, t->dtype, t->ndim, t->sizes, &r));
  if (luc__dtype_is_complex(t->dtype))
    return luc__complex_run(ctx, LUC_EW_conj, t->dtype, r, &in, NULL);
  return r == t ? LUC_OK : luc__copy(ctx, r, t);
}

luc_status luc__run_conj(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  if (luc__dtype_is_complex(t->dtype)) return conjugate(ctx, t, out);
  *out = luc_v_tensor(luc__retain(t));
  return LUC_OK;
}

luc_status luc__run_conj_physical(luc_context *ctx, luc_value *args, luc_value *out) {
  return conjugate(ctx, args[0].as.tensor, out);
}

LUC_GRAD_BY(conj, luc__grad_call, LUC_OP_conj, 1)

luc_status luc__run_adjoint(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *turned = luc__f1(&f, LUC_OP_mT, args[0].as.tensor);
  return luc__f_result(&f, luc__f1(&f, LUC_OP_conj, turned), out);
}
