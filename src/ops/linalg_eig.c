/* Eigenvalues and vectors of square matrices without symmetry, which are complex. Vectors are free
 * up to a complex factor of size 1: what depends on it has no gradient. */
#include "ops/linalg.h"
#include "ops/rows.h"

/* eig(A) -> eigenvalues, eigenvectors (NULL: only the values), which are held */
static luc_status eig(luc_context *ctx, luc_tensor *input, luc_tensor **values,
                      luc_tensor **vectors) {
  luc_tensor *a, *info;
  LUC_TRY(luc__need_matrices(ctx, "A", input));
  LUC_TRY(luc__need_square(ctx, "A", input));
  luc_dtype dtype = luc__dtype_to_complex(input->dtype);
  LUC_TRY(luc__as_dense(ctx, input, input->dtype, &a));
  if (vectors) LUC_TRY(luc__scratch_like(ctx, a, dtype, vectors));
  LUC_TRY(luc__batch_scratch(ctx, a, dtype, 1, &a->sizes[a->ndim - 1], values));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  LUC_TRY(luc__eig(ctx, luc__matrices(a), a->data, (*values)->data,
                   vectors ? (*vectors)->data : NULL, (int32_t *)info->data));
  return luc__check_info(ctx, info, LUC_LA_EIGEN);
}

luc_status luc__run_linalg_eig(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *values, *vectors;
  LUC_TRY(eig(ctx, args[0].as.tensor, &values, &vectors));
  return luc__results(out, 2, (luc_tensor *[]){values, vectors});
}

/* What turns of V pass on: (V^H gV - V^H V diag(Re V^H gV)) / conj(l[j] - l[i]), the diagonal
 * zero. */
static luc_tensor *turned(luc_formula *f, luc_tensor *l, luc_tensor *v, luc_tensor *g) {
  luc_tensor *vh = luc__f_mh(f, v), *vg = luc__f_mm(f, vh, g);
  luc_tensor *diagonal = luc__f_diagonal(f, vg);
  luc__f_check_gauge(f, diagonal, "linalg_eig_backward", false);
  luc_tensor *size = luc__f_unsqueeze(f, luc__f1(f, LUC_OP_real, diagonal), -2);
  luc_tensor *t = luc__f_mm(f, vh, luc__f2(f, LUC_OP_mul, v, size));
  return luc__f_over_gaps(f, luc__f2(f, LUC_OP_sub, vg, t), luc__f1(f, LUC_OP_conj, l));
}

/* V^-H (diag(gL) + turns) V^H */
luc_status luc__grad_linalg_eig(luc_context *ctx, luc_backward *b) {
  luc_tensor *l = b->results[0], *v = b->results[1], *inner = NULL;
  if (!b->gout[0] && !b->gout[1]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  if (b->gout[0]) inner = luc__f1(&f, LUC_OP_diag_embed, b->gout[0]);
  if (b->gout[1]) inner = luc__f_plus(&f, inner, turned(&f, l, v, b->gout[1]));
  luc_tensor *vh = luc__f_mh(&f, v);
  luc_tensor *g = luc__f2(&f, LUC_OP_solve_system, vh, luc__f_mm(&f, inner, vh));
  return luc__f_end(&f, g, &b->gin[0]);
}

luc_status luc__run_linalg_eigvals(luc_context *ctx, luc_value *args, luc_value *out) {
  if (!luc__wants_gradient(ctx, args[0].as.tensor)) {
    luc_tensor *values;
    LUC_TRY(eig(ctx, args[0].as.tensor, &values, NULL));
    return luc__result(ctx, out, values->dtype, values);
  }
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, luc__f1(&f, LUC_OP_linalg_eig, args[0].as.tensor), out);
}
