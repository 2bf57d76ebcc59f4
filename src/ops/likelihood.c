/* Losses that are likelihoods of distributions: Poisson, Gaussian. Formulas of operators. */
#include <math.h>

#include "ops/compute.h"
#include "ops/loss.h"
#include "ops/rows.h"

static const double two_pi = 6.28318530717958647692;

/* ---- poisson_nll_loss ---- */

/* Stirling's approximation of log(target!), for targets above 1. */
static luc_tensor *stirling(luc_formula *f, luc_tensor *target) {
  luc_tensor *y = luc__f2(f, LUC_OP_mul, target, luc__f1(f, LUC_OP_log, target));
  y = luc__f2(f, LUC_OP_sub, y, target);
  luc_tensor *rest = luc__f1(f, LUC_OP_log, luc__fs(f, LUC_OP_mul, target, two_pi));
  y = luc__f2(f, LUC_OP_add, y, luc__fs(f, LUC_OP_mul, rest, 0.5));
  luc_tensor *low = luc__fs(f, LUC_OP_le, target, 1);
  return luc__f_fill(f, y, low, 0);
}

/* poisson_nll_loss(input, target, log_input, full, size_average, eps, reduce, reduction) */
luc_status luc__run_poisson_nll_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *target = args[1].as.tensor, *loss;
  luc_formula f = luc__formula(ctx);
  if (args[2].as.i) {
    loss = luc__f2(&f, LUC_OP_sub, luc__f1(&f, LUC_OP_exp, x), luc__f2(&f, LUC_OP_mul, target, x));
  } else {
    luc_tensor *log = luc__f1(&f, LUC_OP_log, luc__fs(&f, LUC_OP_add, x, luc_as_double(&args[5])));
    loss = luc__f2(&f, LUC_OP_sub, x, luc__f2(&f, LUC_OP_mul, target, log));
  }
  if (args[3].as.i) loss = luc__f2(&f, LUC_OP_add, loss, stirling(&f, target));
  return luc__loss_result(&f, loss, (luc_value[]){args[4], args[6], args[7]}, out);
}

/* ---- gaussian_nll_loss ---- */

/* var as it broadcasts to input: of its shape, without its last dimension, or with one dimension of
 * size 1. */
static luc_status fit_variance(luc_formula *f, const luc_tensor *input, luc_tensor **var) {
  luc_tensor *v = *var;
  if (luc__same_sizes(v, input)) return LUC_OK;
  bool shorter = v->ndim == input->ndim - 1;
  int different = 0;
  for (int i = 0; i < v->ndim && i < input->ndim; i++) {
    if (v->sizes[i] == input->sizes[i]) continue;
    shorter = false;
    different += v->sizes[i] == 1 ? 1 : 2;
  }
  if (shorter) *var = luc__f_unsqueeze(f, v, -1);
  if (shorter || (v->ndim == input->ndim && different == 1)) return f->status;
  return luc__fail_shapes(f->ctx, "input", input, "var", v, "var is of incorrect size");
}

/* No entry of a float tensor is below 0. */
static luc_status check_variance(luc_formula *f, luc_tensor *var) {
  LUC_TRY(luc__need_float(f->ctx, "var", var));
  luc_tensor *low = luc__f1(f, LUC_OP_any, luc__fs(f, LUC_OP_lt, var, 0));
  LUC_TRY(f->status);
  LUC_CHECK(f->ctx, !*(const bool *)low->data, LUC_ERR_VALUE,
            "gaussian_nll_loss: var has negative entry/entries");
  return LUC_OK;
}

/* At least eps, with var's gradient everywhere. */
static luc_tensor *clamp_variance(luc_formula *f, luc_tensor *var, double eps) {
  luc_tensor *low = luc__fs(f, LUC_OP_lt, var, eps);
  luc_tensor *flat = luc__f2(f, LUC_OP_sub, var, luc__f1(f, LUC_OP_detach, var));
  return luc__f_where(f, low, luc__fs(f, LUC_OP_add, flat, eps), var);
}

/* 0.5 (log var + (input - target)² / var) */
static luc_status gaussian(luc_formula *f, luc_value *args, luc_tensor *var, int reduction,
                           luc_tensor **out) {
  luc_tensor *x = args[0].as.tensor;
  LUC_TRY(check_variance(f, var));
  LUC_TRY(fit_variance(f, x, &var));
  var = clamp_variance(f, var, luc_as_double(&args[4]));
  luc_tensor *d = luc__f2(f, LUC_OP_sub, x, args[1].as.tensor);
  luc_tensor *far = luc__f2(f, LUC_OP_div, luc__f2(f, LUC_OP_mul, d, d), var);
  luc_tensor *loss = luc__f2(f, LUC_OP_add, luc__f1(f, LUC_OP_log, var), far);
  loss = luc__fs(f, LUC_OP_mul, loss, 0.5);
  if (args[3].as.i) loss = luc__fs(f, LUC_OP_add, loss, 0.5 * log(two_pi));
  *out = luc__loss_reduced(f, loss, reduction);
  return f->status;
}

/* gaussian_nll_loss(input, target, var, full, eps, reduction) */
luc_status luc__run_gaussian_nll_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  luc_tensor *var = luc_as_tensor(&args[2]), *loss = NULL;
  LUC_TRY(luc__choice(ctx, "reduction", LUC_REDUCTIONS, args[5].as.string, &reduction));
  if (!luc__dtype_is_complex(args[0].as.tensor->dtype))
    LUC_TRY(luc__need_float(ctx, "input", args[0].as.tensor));
  luc_formula f = luc__formula(ctx);
  if (!var)
    var =
        luc__f_call(&f, LUC_OP_full_like, LUC_ARGS(args[0], luc_v_float(luc_as_double(&args[2]))));
  if (f.status == LUC_OK) f.status = gaussian(&f, args, var, reduction, &loss);
  return luc__f_result(&f, loss, out);
}
