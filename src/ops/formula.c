/* Steps of formulas: each calls the door, so formulas are recorded wherever recording is on. */
#include "ops/formula.h"

#include <string.h>

luc_tensor *luc__f_own(luc_formula *f, luc_tensor *t) {
  if (!t) return NULL;
  if (f->count == LUC_FORMULA_STEPS) {
    luc_tensor_release(f->ctx, t);
    f->status = luc__fail(f->ctx, LUC_ERR_SUPPORT, "a formula has too many steps");
    return NULL;
  }
  return f->steps[f->count++] = t;
}

luc_tensor *luc__f_call2(luc_formula *f, luc_opid op, luc_tensor **second, luc_value *args,
                         int nargs) {
  luc_value results[LUC_MAX_RESULTS];
  if (second) *second = NULL;
  if (f->status != LUC_OK) return NULL;
  f->status = luc_call(f->ctx, op, args, nargs, results);
  if (f->status != LUC_OK) return NULL;
  int n = luc__op_info(f->ctx, op)->schema.nresults;
  for (int i = 1; i < n; i++) {
    luc_tensor *t = luc__f_own(f, luc_as_tensor(&results[i]));
    if (i == 1 && second) *second = t;
  }
  return luc__f_own(f, luc_as_tensor(&results[0]));
}

luc_tensor *luc__f_call(luc_formula *f, luc_opid op, luc_value *args, int nargs) {
  return luc__f_call2(f, op, NULL, args, nargs);
}

luc_tensor *luc__f1(luc_formula *f, luc_opid op, luc_tensor *a) {
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(a)));
}

luc_tensor *luc__f2(luc_formula *f, luc_opid op, luc_tensor *a, luc_tensor *b) {
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(a), luc_v_tensor(b)));
}

luc_tensor *luc__fs(luc_formula *f, luc_opid op, luc_tensor *a, double s) {
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(a), luc_v_float(s)));
}

luc_tensor *luc__f_reshape(luc_formula *f, luc_tensor *t, int ndim, const int64_t *sizes) {
  return luc__f_call(f, LUC_OP_reshape, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, ndim)));
}

luc_tensor *luc__f_expand(luc_formula *f, luc_tensor *t, int ndim, const int64_t *sizes) {
  return luc__f_call(f, LUC_OP_expand, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, ndim)));
}

luc_tensor *luc__f_permute(luc_formula *f, luc_tensor *t, int ndim, const int64_t *dims) {
  return luc__f_call(f, LUC_OP_permute, LUC_ARGS(luc_v_tensor(t), luc_v_ints(dims, ndim)));
}

luc_tensor *luc__f_transpose(luc_formula *f, luc_tensor *t, int64_t dim0, int64_t dim1) {
  return luc__f_call(f, LUC_OP_transpose,
                     LUC_ARGS(luc_v_tensor(t), luc_v_int(dim0), luc_v_int(dim1)));
}

luc_tensor *luc__f_unsqueeze(luc_formula *f, luc_tensor *t, int64_t dim) {
  return luc__f_call(f, LUC_OP_unsqueeze, LUC_ARGS(luc_v_tensor(t), luc_v_int(dim)));
}

luc_tensor *luc__f_squeeze(luc_formula *f, luc_tensor *t, int64_t dim) {
  return luc__f_call(f, LUC_OP_squeeze, LUC_ARGS(luc_v_tensor(t), luc_v_ints(&dim, 1)));
}

static luc_tensor *reduce(luc_formula *f, luc_opid op, luc_tensor *t, int ndims,
                          const int64_t *dims, bool keepdim) {
  luc_value over = ndims > 0 ? luc_v_ints(dims, ndims) : luc_v_none();
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(t), over, luc_v_bool(keepdim)));
}

luc_tensor *luc__f_sum(luc_formula *f, luc_tensor *t, int ndims, const int64_t *dims,
                       bool keepdim) {
  return reduce(f, LUC_OP_sum, t, ndims, dims, keepdim);
}

luc_tensor *luc__f_mean(luc_formula *f, luc_tensor *t, int ndims, const int64_t *dims,
                        bool keepdim) {
  return reduce(f, LUC_OP_mean, t, ndims, dims, keepdim);
}

luc_tensor *luc__f_sum_all(luc_formula *f, luc_tensor *t) {
  return luc__f_sum(f, t, 0, NULL, false);
}

luc_tensor *luc__f_sum_dim(luc_formula *f, luc_tensor *t, int64_t dim) {
  return luc__f_sum(f, t, 1, &dim, false);
}

luc_tensor *luc__f_sum_keepdim(luc_formula *f, luc_tensor *t, int64_t dim) {
  return luc__f_sum(f, t, 1, &dim, true);
}

luc_tensor *luc__f_mean_all(luc_formula *f, luc_tensor *t) {
  return luc__f_mean(f, t, 0, NULL, false);
}

luc_tensor *luc__f_narrow(luc_formula *f, luc_tensor *t, int64_t dim, int64_t start, int64_t n) {
  return luc__f_call(f, LUC_OP_narrow,
                     LUC_ARGS(luc_v_tensor(t), luc_v_int(dim), luc_v_int(start), luc_v_int(n)));
}

luc_tensor *luc__f_cat(luc_formula *f, luc_tensor *a, luc_tensor *b, int64_t dim) {
  luc_tensor *both[] = {a, b};
  return luc__f_call(f, LUC_OP_cat, LUC_ARGS(luc_v_tensors(both, 2), luc_v_int(dim)));
}

luc_tensor *luc__f_fill(luc_formula *f, luc_tensor *t, luc_tensor *mask, double value) {
  return luc__f_call(f, LUC_OP_masked_fill,
                     LUC_ARGS(luc_v_tensor(t), luc_v_tensor(mask), luc_v_float(value)));
}

luc_tensor *luc__f_where(luc_formula *f, luc_tensor *condition, luc_tensor *a, luc_tensor *b) {
  luc_value zero = luc_v_int(0);
  return luc__f_call(
      f, LUC_OP_where,
      LUC_ARGS(luc_v_tensor(condition), a ? luc_v_tensor(a) : zero, b ? luc_v_tensor(b) : zero));
}

luc_tensor *luc__f_to(luc_formula *f, luc_tensor *t, luc_dtype dtype) {
  if (f->status != LUC_OK || t->dtype == dtype) return t;
  return luc__f_call(f, LUC_OP_to, LUC_ARGS(luc_v_tensor(t), luc_v_dtype(dtype)));
}

luc_tensor *luc__f_conj(luc_formula *f, luc_tensor *t) {
  if (f->status != LUC_OK || !t || !luc__dtype_is_complex(t->dtype)) return t;
  return luc__f1(f, LUC_OP_conj, t);
}

luc_status luc__by_parts(luc_context *ctx, luc_opid op, const luc_value *args, int nargs,
                         luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_value real[LUC_MAX_PARAMS];
  luc_tensor *y[2];
  memcpy(real, args, (size_t)nargs * sizeof *real);
  for (int p = 0; p < 2; p++) {
    real[0] = luc_v_tensor(luc__f1(&f, p ? LUC_OP_imag : LUC_OP_real, args[0].as.tensor));
    y[p] = luc__f_call(&f, op, real, nargs);
  }
  return luc__f_result(&f, luc__f2(&f, LUC_OP_complex, y[0], y[1]), out);
}

luc_tensor *luc__f_apart(luc_formula *f, luc_tensor *t, const luc_tensor *x) {
  return t && t->storage == x->storage ? luc__f1(f, LUC_OP_clone, t) : t;
}

void luc__f_keep(luc_formula *f, luc_tensor *t, luc_tensor **out) {
  if (f->status == LUC_OK && t) *out = luc__retain(t);
}

luc_status luc__f_end(luc_formula *f, luc_tensor *result, luc_tensor **out) {
  if (out) luc__f_keep(f, result, out);
  for (int i = 0; i < f->count; i++) luc_tensor_release(f->ctx, f->steps[i]);
  f->count = 0;
  return f->status;
}

luc_status luc__f_result(luc_formula *f, luc_tensor *result, luc_value *out) {
  luc_tensor *t = NULL;
  luc_status status = luc__f_end(f, result, &t);
  *out = luc_v_tensor(t);
  return status;
}

luc_status luc__f_results(luc_formula *f, int n, luc_tensor *const *results, luc_value *out) {
  for (int i = 0; i < n && f->status == LUC_OK; i++) out[i] = luc_v_tensor(luc__retain(results[i]));
  return luc__f_end(f, NULL, NULL);
}
