/* Views of a whole tensor: the same elements with other sizes or in another order of dimensions.
 * Each costs one small block; their gradients are the same kind of views of the gradient. */
#include <string.h>

#include "ops/geometry.h"

static luc_status view_of(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                          const int64_t *strides, int64_t offset, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__tensor_view(ctx, t, ndim, sizes, strides, offset, &r);
  return luc__give(ctx, status, out, r);
}

/* ---- other sizes ---- */

static luc_status view_to(luc_context *ctx, luc_tensor *t, int n, const int64_t *given,
                          luc_value *out) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  LUC_TRY(luc__infer_sizes(ctx, n, given, t->numel, sizes));
  LUC_CHECK(ctx, luc__view_strides(t, n, sizes, strides), LUC_ERR_SHAPE,
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return view_of(ctx, t, n, sizes, strides, t->offset, out);
}

static luc_status reshape_to(luc_context *ctx, luc_tensor *t, int n, const int64_t *given,
                             luc_value *out) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *r = NULL;
  LUC_TRY(luc__infer_sizes(ctx, n, given, t->numel, sizes));
  luc_status status = luc__reshape(ctx, t, n, sizes, &r);
  return luc__give(ctx, status, out, r);
}

typedef luc_status (*sizes_fn)(luc_context *ctx, luc_tensor *t, int n, const int64_t *sizes,
                               luc_value *out);

/* With the sizes given, or those of another tensor. */
static luc_status of_sizes(luc_context *ctx, sizes_fn fn, luc_value *args, luc_value *out) {
  return fn(ctx, args[0].as.tensor, args[1].n, args[1].as.ints, out);
}
static luc_status of_other(luc_context *ctx, sizes_fn fn, luc_value *args, luc_value *out) {
  const luc_tensor *other = args[1].as.tensor;
  return fn(ctx, args[0].as.tensor, other->ndim, other->sizes, out);
}

LUC_RUN_BY(view, of_sizes, view_to)
LUC_RUN_BY(view_as, of_other, view_to)
LUC_RUN_BY(reshape, of_sizes, reshape_to)
LUC_RUN_BY(reshape_as, of_other, reshape_to)

/* The same bytes as elements of another dtype: of smaller ones the last dimension has more. */
luc_status luc__run_view_dtype(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  luc_dtype dtype = (luc_dtype)args[1].as.i;
  const char *from = luc__dtype_name(t->dtype), *to = luc__dtype_name(dtype);
  int64_t have = (int64_t)luc__dtype_size(t->dtype), want = (int64_t)luc__dtype_size(dtype);
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  int last = t->ndim - 1;
  LUC_CHECK(ctx, dtype != LUC_BOOL || t->dtype == LUC_BOOL, LUC_ERR_TYPE,
            "%s cannot be viewed as bool, whose bytes are 0 or 1", from);
  LUC_CHECK(ctx, have == want || last >= 0, LUC_ERR_SHAPE,
            "a tensor without dimensions cannot be viewed as %s: its elements have another "
            "size than those of %s",
            to, from);
  LUC_CHECK(ctx, have == want || t->strides[last] == 1, LUC_ERR_SHAPE,
            "the last stride must be 1 to view %s as %s (different element sizes), but got "
            "%lld",
            from, to, (long long)t->strides[last]);
  bool fits = (uintptr_t)t->data % (uintptr_t)want == 0 && t->offset * have % want == 0;
  memcpy(sizes, t->sizes, sizeof sizes);
  memcpy(strides, t->strides, sizeof strides);
  for (int d = 0; d <= last && have != want; d++) {
    int64_t *count = d == last ? &sizes[d] : &strides[d];
    fits &= *count * have % want == 0;
    *count = *count * have / want;
  }
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "the last size, the other strides and the offset must be divisible by %lld to "
            "view %s as %s (different element sizes)",
            (long long)(want / have), from, to);
  luc_status status =
      luc__tensor_view_as(ctx, t, dtype, t->ndim, sizes, strides, t->offset * have / want, &r);
  return luc__give(ctx, status, out, r);
}

/* Unlike reshape it copies what has gaps, too. */
luc_status luc__run_ravel(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = NULL;
  LUC_TRY(luc__to_contiguous(ctx, args[0].as.tensor, &t));
  luc_status status = reshape_to(ctx, t, 1, &t->numel, out);
  luc_tensor_release(ctx, t);
  return status;
}

luc_status luc__run_flatten(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int first, last, n = 0;
  int64_t sizes[LUC_MAX_DIMS], merged = 1;
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, t->ndim, &first));
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &last));
  LUC_CHECK(ctx, first <= last, LUC_ERR_INDEX, "start_dim (%d) cannot come after end_dim (%d)",
            first + 1, last + 1);
  if (first == last && t->ndim) {
    *out = luc_v_tensor(luc__retain(t));
    return LUC_OK;
  }
  for (int d = 0; d < first; d++) sizes[n++] = t->sizes[d];
  for (int d = first; d <= last && d < t->ndim; d++) merged *= t->sizes[d];
  sizes[n++] = merged;
  for (int d = last + 1; d < t->ndim; d++) sizes[n++] = t->sizes[d];
  return reshape_to(ctx, t, n, sizes, out);
}

luc_status luc__run_unflatten(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int dim, n = args[2].n;
  int64_t inner[LUC_MAX_DIMS], sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, t->ndim, &dim));
  LUC_CHECK(ctx, n > 0 && t->ndim - 1 + n <= LUC_MAX_DIMS, LUC_ERR_SHAPE,
            "sizes must have from 1 to %d numbers, got %d", LUC_MAX_DIMS - t->ndim + 1, n);
  LUC_TRY(luc__infer_sizes(ctx, n, args[2].as.ints, t->ndim ? t->sizes[dim] : 1, inner));
  memcpy(sizes, t->sizes, (size_t)dim * sizeof *sizes);
  memcpy(sizes + dim, inner, (size_t)n * sizeof *sizes);
  for (int d = dim + 1; d < t->ndim; d++) sizes[d + n - 1] = t->sizes[d];
  return reshape_to(ctx, t, t->ndim ? t->ndim + n - 1 : n, sizes, out);
}

/* For all that only change sizes: the gradient gets the input's back. */
luc_status luc__grad_reshape(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  int n = luc__input_sizes(b, 0, sizes);
  return luc__op1(ctx, LUC_OP_reshape, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(sizes, n)));
}

/* Without dims all dimensions of size 1 go. */
luc_status luc__run_squeeze(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  const luc_value *dims = &args[1];
  const int64_t *list = dims->kind == LUC_INTS ? dims->as.ints : &dims->as.i;
  int n = 0, listed = dims->kind == LUC_INTS ? dims->n : !luc_is_none(dims);
  uint32_t drop = luc_is_none(dims) ? ~0u : 0;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int i = 0; i < listed; i++) {
    int d;
    LUC_TRY(luc__dim_wrap(ctx, list[i], t->ndim, &d));
    drop |= 1u << d;
  }
  for (int d = 0; d < t->ndim; d++) {
    if ((drop >> d & 1) && t->sizes[d] == 1) continue;
    sizes[n] = t->sizes[d];
    strides[n++] = t->strides[d];
  }
  return view_of(ctx, t, n, sizes, strides, t->offset, out);
}

luc_status luc__run_unsqueeze(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int dim, n = t->ndim;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  LUC_CHECK(ctx, n < LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions",
            LUC_MAX_DIMS);
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, n + 1, &dim));
  for (int d = 0; d < n; d++) {
    sizes[d + (d >= dim)] = t->sizes[d];
    strides[d + (d >= dim)] = t->strides[d];
  }
  sizes[dim] = 1;
  strides[dim] = dim < n ? t->sizes[dim] * t->strides[dim] : 1;
  return view_of(ctx, t, n + 1, sizes, strides, t->offset, out);
}

luc_status luc__grad_unsqueeze(luc_context *ctx, luc_backward *b) {
  int64_t dim = b->args[1].as.i, sizes[LUC_MAX_DIMS];
  if (dim < 0) dim += luc__input_sizes(b, 0, sizes) + 1;
  return luc__op1(ctx, LUC_OP_squeeze, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_int(dim)));
}

/* ---- stretched ---- */

static luc_status expand_to(luc_context *ctx, luc_tensor *t, int n, const int64_t *sizes,
                            luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__expand(ctx, t, n, sizes, &r);
  return luc__give(ctx, status, out, r);
}

LUC_RUN_BY(expand, of_sizes, expand_to)
LUC_RUN_BY(expand_as, of_other, expand_to)

/* ---- dimensions in another order ---- */

static luc_status permuted(luc_context *ctx, luc_tensor *t, const int *order, luc_value *out) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) {
    sizes[d] = t->sizes[order[d]];
    strides[d] = t->strides[order[d]];
  }
  return view_of(ctx, t, t->ndim, sizes, strides, t->offset, out);
}

/* Wraps n dims, each at most once. */
static luc_status wrap_dims(luc_context *ctx, const luc_value *dims, int ndim, int *wrapped) {
  bool seen[LUC_MAX_DIMS] = {false};
  for (int i = 0; i < dims->n; i++) {
    int d;
    LUC_TRY(luc__dim_wrap(ctx, dims->as.ints[i], ndim, &d));
    LUC_CHECK(ctx, !seen[d], LUC_ERR_VALUE, "repeated dim %d", d + 1);
    seen[d] = true;
    wrapped[i] = d;
  }
  return LUC_OK;
}

luc_status luc__run_permute(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int order[LUC_MAX_DIMS];
  LUC_CHECK(ctx, args[1].n == t->ndim, LUC_ERR_SHAPE,
            "number of dims (%d) does not match the tensor's (%d)", args[1].n, t->ndim);
  LUC_TRY(wrap_dims(ctx, &args[1], t->ndim, order));
  return permuted(ctx, t, order, out);
}

luc_status luc__grad_permute(luc_context *ctx, luc_backward *b) {
  int64_t back[LUC_MAX_DIMS];
  int n = b->args[1].n;
  for (int i = 0; i < n; i++) {
    int64_t d = b->args[1].as.ints[i];
    back[d < 0 ? d + n : d] = i;
  }
  return luc__op1(ctx, LUC_OP_permute, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(back, n)));
}

static luc_status swapped(luc_context *ctx, luc_tensor *t, int64_t dim0, int64_t dim1,
                          luc_value *out) {
  int a, b, order[LUC_MAX_DIMS];
  LUC_TRY(luc__dim_wrap(ctx, dim0, t->ndim, &a));
  LUC_TRY(luc__dim_wrap(ctx, dim1, t->ndim, &b));
  for (int d = 0; d < t->ndim; d++) order[d] = d == a ? b : d == b ? a : d;
  return permuted(ctx, t, order, out);
}

luc_status luc__run_transpose(luc_context *ctx, luc_value *args, luc_value *out) {
  return swapped(ctx, args[0].as.tensor, args[1].as.i, args[2].as.i, out);
}

LUC_GRAD_BY(transpose, luc__grad_call, LUC_OP_transpose, 3)

static luc_status turned(luc_context *ctx, luc_tensor *t, luc_value *out) {
  int order[LUC_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) order[d] = t->ndim - 1 - d;
  return permuted(ctx, t, order, out);
}

luc_status luc__run_t(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, t->ndim <= 2, LUC_ERR_SHAPE, "expects a tensor with <= 2 dimensions, got %dD",
            t->ndim);
  return turned(ctx, t, out);
}
luc_status luc__run_T(luc_context *ctx, luc_value *args, luc_value *out) {
  return turned(ctx, args[0].as.tensor, out);
}
LUC_GRAD_BY(T, luc__grad_call, LUC_OP_T, 1)

luc_status luc__run_mT(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, t->ndim >= 2, LUC_ERR_SHAPE,
            "mT: only supported on matrices or batches of matrices, got a %dD tensor", t->ndim);
  return swapped(ctx, t, -2, -1, out);
}
LUC_GRAD_BY(mT, luc__grad_call, LUC_OP_mT, 1)

/* Composite: works out the whole permutation. */
luc_status luc__run_movedim(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int from[LUC_MAX_DIMS], to[LUC_MAX_DIMS], n = args[1].n;
  LUC_CHECK(ctx, n == args[2].n && (n <= t->ndim || n == 1), LUC_ERR_VALUE,
            "source and destination must have the same number of dims, at most the "
            "tensor's (%d and %d for %d)",
            n, args[2].n, t->ndim);
  LUC_TRY(wrap_dims(ctx, &args[1], t->ndim, from));
  LUC_TRY(wrap_dims(ctx, &args[2], t->ndim, to));
  int64_t order[LUC_MAX_DIMS];
  bool moved[LUC_MAX_DIMS] = {false};
  for (int d = 0; d < t->ndim; d++) order[d] = -1;
  for (int i = 0; i < n; i++) {
    order[to[i]] = from[i];
    moved[from[i]] = true;
  }
  int next = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (order[d] >= 0) continue;
    while (moved[next]) next++;
    order[d] = next++;
  }
  return luc_call(ctx, LUC_OP_permute, LUC_ARGS(luc_v_tensor(t), luc_v_ints(order, t->ndim)), out);
}

luc_status luc__run_movedim_one(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t from = args[1].as.i, to = args[2].as.i;
  luc_value lists[3] = {args[0], luc_v_ints(&from, 1), luc_v_ints(&to, 1)};
  return luc__run_movedim(ctx, lists, out);
}

/* ---- the same ---- */

/* What inference mode made cannot be written outside of it, but through what was detached there. */
luc_status luc__run_detach(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(luc__run_alias(ctx, args, out));
  luc_tensor *r = out[0].as.tensor;
  if (r->flags & LUC_TF_INFERENCE && !ctx->inference_mode) r->flags |= LUC_TF_UNTRACKED;
  return LUC_OK;
}

luc_status luc__run_alias(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__tensor_alias(ctx, args[0].as.tensor, &r);
  return luc__give(ctx, status, out, r);
}
