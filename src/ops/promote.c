/* The common part of pointwise operators: which dtype, which shape, which memory, then the kernel.
 */
#include <string.h>

#include "cpu/complex.h"
#include "cpu/copy.h"
#include "cpu/kernels.h"
#include "ops/geometry.h"
#include "ops/pointwise.h"

/* ---- promotion ---- */

enum { UNDEFINED = -1, FEW = 1024 };

static int promote(int a, int b) {
  if (a == UNDEFINED) return b;
  return b == UNDEFINED ? a : (int)luc__dtype_promote((luc_dtype)a, (luc_dtype)b);
}

/* A lower class of operand changes the dtype only where it is of a higher category (bool, integer,
 * floating, complex). */
static int combine(int higher, int lower) {
  if (higher == UNDEFINED) return lower;
  if (lower == UNDEFINED || luc__dtype_is_complex((luc_dtype)higher)) return higher;
  if (luc__dtype_is_float((luc_dtype)higher))
    return luc__dtype_is_complex((luc_dtype)lower) ? (int)luc__dtype_to_complex((luc_dtype)higher)
                                                   : higher;
  bool lifts = higher == LUC_BOOL || luc__dtype_has_gradient((luc_dtype)lower);
  return lifts ? promote(higher, lower) : higher;
}

/* Have all operands a dimension and one dtype? Mostly. */
static bool are_alike(const luc_value *operands, int n) {
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = luc_as_tensor(&operands[i]);
    if (t == NULL || t->ndim == 0 || t->dtype != operands[0].as.tensor->dtype) return false;
  }
  return true;
}

luc_dtype luc__result_dtype(const luc_context *ctx, const luc_value *operands, int n) {
  if (are_alike(operands, n)) return operands[0].as.tensor->dtype;
  int dimensioned = UNDEFINED, zero_dim = UNDEFINED, number = UNDEFINED;
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = luc_as_tensor(&operands[i]);
    if (t == NULL)
      number = promote(number, luc__scalar_dtype(ctx, luc_as_scalar(&operands[i])));
    else if (t->ndim > 0)
      dimensioned = promote(dimensioned, t->dtype);
    else
      zero_dim = promote(zero_dim, t->dtype);
  }
  return (luc_dtype)combine(dimensioned, combine(zero_dim, number));
}

luc_dtype luc__list_dtype(luc_tensor *const *list, int n) {
  int dimensioned = UNDEFINED, zero_dim = UNDEFINED;
  for (int i = 0; i < n; i++) {
    int *dtype = list[i]->ndim ? &dimensioned : &zero_dim;
    *dtype = promote(*dtype, list[i]->dtype);
  }
  return (luc_dtype)combine(dimensioned, zero_dim);
}

/* ---- shape ---- */

luc_status luc__broadcast_operands(luc_context *ctx, const luc_value *operands, int n, int *ndim,
                                   int64_t *sizes) {
  const luc_tensor *first = NULL;
  luc_tensor so_far; /* only its shape is used */
  *ndim = 0;
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = luc_as_tensor(&operands[i]);
    if (t == NULL) continue;
    if (first == NULL) {
      *ndim = t->ndim;
      memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    } else {
      LUC_TRY(luc__broadcast(ctx, first, t, ndim, sizes));
    }
    so_far.ndim = (uint8_t)*ndim;
    memcpy(so_far.sizes, sizes, (size_t)*ndim * sizeof *sizes);
    first = first == NULL ? t : &so_far;
  }
  return LUC_OK;
}

/* ---- memory ---- */

static bool same_memory(const luc_tensor *a, const luc_tensor *b) {
  size_t bytes = (size_t)a->ndim * sizeof *a->strides;
  return a->data == b->data && a->dtype == b->dtype && luc__same_sizes(a, b) &&
         memcmp(a->strides, b->strides, bytes) == 0;
}

/* Refuses what PyTorch refuses: an output that overlaps itself, or partly a dense input. Inputs
 * that lie otherwise among the output's elements are copied first. */
static luc_status part(luc_context *ctx, const luc_tensor *out, luc_ew_input *in, int n,
                       luc_tensor **copies) {
  LUC_CHECK(ctx, !luc__overlaps_itself(out), LUC_ERR_STATE, LUC_OVERLAP_ITSELF);
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = in[i].t;
    if (t == NULL || !luc__may_overlap(out, t) || same_memory(out, t)) continue;
    LUC_CHECK(ctx, !luc__overlaps_partly(out, t), LUC_ERR_STATE, LUC_OVERLAP_INPUT);
    LUC_TRY(luc__duplicate(ctx, t, &copies[i]));
    in[i].t = copies[i];
  }
  return LUC_OK;
}

luc_ew_params luc__ew_param(luc_scalar s) {
  return (luc_ew_params){.f = {luc__scalar_double(s)}, .i = {luc__scalar_int(s)}};
}

/* ---- running ---- */

/* What a kernel is run on. */
typedef struct job {
  luc_ew_input in[LUC_EW_MAX_INPUTS];
  luc_tensor *copies[LUC_EW_MAX_INPUTS]; /* of inputs, to be released */
  luc_tensor *result;
} job;

/* PyTorch rounds a number beside halves to their dtype, but no factor, divisor or weight. */
static bool is_exact(luc_ew op, int i, const luc_tensor *t) {
  if (op == LUC_EW_mul && t == NULL) return true;
  return i > 0 && (op == LUC_EW_mul || op == LUC_EW_div || op == LUC_EW_lerp);
}

/* Operands are converted to the result's dtype before anything is computed: kernels do that by
 * computing in a wider one, which is no different but for integers without dimensions, whose values
 * the result's dtype may not have, and numbers beside halves. */
static luc_ew_input input_of(luc_ew op, int i, const luc_value *operand, luc_dtype dtype) {
  const luc_tensor *t = luc_as_tensor(operand);
  bool half = dtype == LUC_FLOAT16 || dtype == LUC_BFLOAT16;
  bool converts = half ? !is_exact(op, i, t) : t && luc__dtype_is_int(dtype);
  if (!converts || (t && (t->ndim != 0 || t->dtype == dtype)))
    return (luc_ew_input){t, luc_as_scalar(operand)};
  const luc_scalar s = t ? luc__load_scalar(t->data, t->dtype) : luc_as_scalar(operand);
  return (luc_ew_input){NULL, luc__scalar_as(s, dtype)};
}

static void end(luc_context *ctx, job *j, int n) {
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, j->copies[i]);
}

/* Results lie in memory as their operands do. */
static void arrange(luc_tensor *result, const luc_ew_input *in, int n) {
  const luc_tensor *like[LUC_EW_MAX_INPUTS];
  bool plain = true;
  for (int i = 0; i < n; i++) {
    like[i] = in[i].t;
    plain &= in[i].t == NULL || luc__is_contiguous(in[i].t);
  }
  if (!plain) luc__take_order(result, n, like);
}

/* Operands to compute with as `dtype`, and the tensor for a result that is `gives`. */
static luc_status begin(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_dtype gives,
                        const luc_value *operands, int n, luc_value *out, job *j) {
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  bool preset = out->kind == LUC_TENSOR;
  for (int i = 0; i < n; i++) {
    j->in[i] = input_of(op, i, &operands[i], dtype);
    j->copies[i] = NULL;
  }
  LUC_TRY(luc__broadcast_operands(ctx, operands, n, &ndim, sizes));
  LUC_TRY(luc__out(ctx, out, gives, ndim, sizes, &j->result));
  if (!preset) {
    arrange(j->result, j->in, n);
    return LUC_OK;
  }
  luc_status status = part(ctx, j->result, j->in, n, j->copies);
  if (status != LUC_OK) end(ctx, j, n);
  return status;
}

/* What writes another dtype than the kernel gives, or less than it computes, goes through a
 * temporary. */
static luc_status run_complex(luc_context *ctx, luc_ew op, luc_dtype dtype,
                              const luc_value *operands, int n, const luc_ew_params *params,
                              luc_value *out) {
  job j;
  luc_dtype gives;
  luc_tensor *computed = NULL;
  luc_status status;
  LUC_CHECK(ctx, luc__complex_gives(op, dtype, &gives), LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  LUC_TRY(begin(ctx, op, dtype, gives, operands, n, out, &j));
  if (j.result->dtype == gives) {
    status = luc__complex_run(ctx, op, dtype, j.result, j.in, params);
  } else {
    LUC_GO(luc__tensor_empty(ctx, gives, j.result->ndim, j.result->sizes, &computed));
    LUC_GO(luc__complex_run(ctx, op, dtype, computed, j.in, params));
    LUC_GO(luc__copy(ctx, j.result, computed));
  }
done:
  luc_tensor_release(ctx, computed);
  end(ctx, &j, n);
  return status;
}

/* Are these few elements that a kernel can be given as they are: tensors of its dtype and of one
 * shape, without gaps, and a result, where there is one, that is no other part of their memory? */
static bool is_plain(const luc_ew_kernel *kernel, luc_dtype dtype, luc_dtype gives,
                     const luc_value *operands, const luc_tensor *result) {
  const luc_tensor *first = luc_as_tensor(&operands[0]);
  if (first == NULL || first->numel > FEW) return false;
  for (int i = 0; i < kernel->inputs; i++) {
    const luc_tensor *t = luc_as_tensor(&operands[i]);
    if (t == NULL || t->dtype != dtype || !luc__is_contiguous(t)) return false;
    if (t != first && !luc__same_sizes(t, first)) return false;
    if (result != NULL && t != result && luc__may_overlap(result, t)) return false;
  }
  return result == NULL ||
         (result->dtype == gives && luc__same_sizes(result, first) && luc__is_contiguous(result));
}

static luc_status run_plain(luc_context *ctx, const luc_ew_kernel *kernel, luc_ew_fn fn,
                            luc_dtype gives, const luc_value *operands, const luc_ew_params *params,
                            luc_value *out) {
  static const luc_ew_params none;
  const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  const luc_tensor *first = operands[0].as.tensor;
  luc_tensor *result = luc_as_tensor(out);
  if (result == NULL) {
    LUC_TRY(luc__tensor_empty(ctx, gives, first->ndim, first->sizes, &result));
    *out = luc_v_tensor(result);
  }
  for (int i = 0; i < kernel->inputs; i++) in[i] = operands[i].as.tensor->data;
  if (result->numel > 0) fn(result->data, in, result->numel, params ? params : &none, 0);
  return LUC_OK;
}

static luc_status run(luc_context *ctx, luc_ew op, luc_dtype dtype, const luc_value *operands,
                      const luc_ew_params *params, luc_value *out) {
  const luc_ew_kernel *kernel = &luc__kernels(ctx)->elementwise[op];
  luc_dtype gives = kernel->truth ? LUC_BOOL : dtype;
  int type = luc__elementwise_type(dtype);
  luc_ew_fn fn = type < 0 ? NULL : kernel->fn[type];
  if (fn != NULL && is_plain(kernel, dtype, gives, operands, luc_as_tensor(out)))
    return run_plain(ctx, kernel, fn, gives, operands, params, out);
  job j;
  LUC_TRY(begin(ctx, op, dtype, gives, operands, kernel->inputs, out, &j));
  luc__elementwise_run(ctx, kernel, dtype, j.result, j.in, params);
  end(ctx, &j, kernel->inputs);
  return LUC_OK;
}

luc_status luc__pointwise_as(luc_context *ctx, luc_ew op, luc_dtype dtype,
                             const luc_value *operands, const luc_ew_params *params,
                             luc_value *out) {
  const luc_ew_kernel *kernel = &luc__kernels(ctx)->elementwise[op];
  if (luc__dtype_is_complex(dtype))
    return run_complex(ctx, op, dtype, operands, kernel->inputs, params, out);
  for (int i = 0; ctx->complex && i < kernel->inputs; i++) { /* where not all decide the dtype */
    const luc_tensor *t = luc_as_tensor(&operands[i]);
    LUC_CHECK(ctx, !t || !luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
              "complex numbers cannot be computed with in %s", luc__dtype_name(dtype));
  }
  return run(ctx, op, dtype, operands, params, out);
}

luc_status luc__pointwise(luc_context *ctx, luc_ew op, luc_rule rule, const luc_value *operands,
                          const luc_ew_params *params, luc_value *out) {
  const luc_ew_kernel *kernel = &luc__kernels(ctx)->elementwise[op];
  luc_dtype dtype = luc__result_dtype(ctx, operands, kernel->inputs);
  if (rule == LUC_RULE_FLOAT && !luc__dtype_has_gradient(dtype)) dtype = ctx->default_dtype;
  if (dtype == LUC_BOOL && op == LUC_EW_add) op = LUC_EW_bitwise_or;
  if (dtype == LUC_BOOL && op == LUC_EW_mul) op = LUC_EW_bitwise_and;
  return luc__pointwise_as(ctx, op, dtype, operands, params, out);
}
