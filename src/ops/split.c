/* Splitting a tensor into views along a dimension. unbind and split_sizes are recorded; the others
 * work out the sizes and call split_sizes. */
#include <string.h>

#include "ops/compute.h"
#include "ops/geometry.h"

static luc_status wrap(luc_context *ctx, const luc_tensor *t, int64_t dim_arg, int *dim) {
  LUC_CHECK(ctx, t->ndim > 0, LUC_ERR_SHAPE, "expects at least a 1-dimensional tensor");
  return luc__dim_wrap(ctx, dim_arg, t->ndim, dim);
}

/* A list of n views that differ from `like` only in what each one's size (if keep) and start are.
 */
static luc_status parts(luc_context *ctx, luc_tensor *t, int dim, int n, const int64_t *lengths,
                        luc_value *out) {
  LUC_TRY(luc__list(ctx, n, out));
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS], offset = t->offset;
  int ndim = t->ndim - (lengths ? 0 : 1);
  for (int d = 0; d < ndim; d++) {
    int from = d + (!lengths && d >= dim);
    sizes[d] = t->sizes[from];
    strides[d] = t->strides[from];
  }
  for (int i = 0; i < n; i++) {
    if (lengths) sizes[dim] = lengths[i];
    LUC_TRY(luc__tensor_view(ctx, t, ndim, sizes, strides, offset, &out->as.tensors[i]));
    offset += (lengths ? lengths[i] : 1) * t->strides[dim];
  }
  return LUC_OK;
}

/* The memory of gradients that lie in it as parts of a tensor of these sizes do, and that nobody
 * else sees: they are joined already. Else *out is NULL. */
static luc_status joined(luc_context *ctx, const luc_backward *b, int n, int dim,
                         const int64_t *lengths, const int64_t *sizes, int ndim, luc_tensor **out) {
  int64_t strides[LUC_MAX_DIMS], start = 0;
  const int64_t numel = luc__contiguous_strides(ndim, sizes, strides);
  luc_tensor *first = b->gout[0];
  if (!first || luc__recording(ctx) || first->dtype != luc__input_dtype(b)) return LUC_OK;
  if (first->storage->nbytes != (size_t)numel * luc__dtype_size(first->dtype) ||
      atomic_load(&first->storage->refs) != n)
    return LUC_OK;
  for (int i = 0; i < n; start += lengths[i++]) {
    const luc_tensor *g = b->gout[i];
    if (!g || g->storage != first->storage || g->refs != 1 || g->inner) return LUC_OK;
    if (g->dtype != first->dtype || g->offset != start * strides[dim]) return LUC_OK;
    for (int d = 0; d < ndim; d++)
      if (g->strides[d] != strides[d] && g->sizes[d] > 1) return LUC_OK;
  }
  return luc__tensor_view(ctx, first, ndim, sizes, strides, 0, out);
}

/* gin[0] from the gradients of n parts: where one is missing, zeros. `op` joins them. */
static luc_status join_parts(luc_context *ctx, luc_backward *b, luc_opid op, int n, int dim,
                             const int64_t *lengths, int64_t *sizes, int ndim) {
  size_t bytes = (size_t)n * sizeof(luc_tensor *);
  luc_tensor **list = luc__alloc_zero(ctx, bytes);
  if (!list) return LUC_ERR_MEMORY;
  luc_status status = LUC_OK;
  luc_dtype dtype = luc__input_dtype(b);
  for (int i = 0; i < n && status == LUC_OK; i++) {
    if (lengths) sizes[dim] = lengths[i];
    if (b->gout[i]) {
      list[i] = luc__retain(b->gout[i]);
    } else {
      status = luc__zeros(ctx, dtype, ndim, sizes, &list[i]);
    }
  }
  if (status == LUC_OK)
    status = luc__op1(ctx, op, &b->gin[0], LUC_ARGS(luc_v_tensors(list, n), luc_v_int(dim)));
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, list[i]);
  luc__free(ctx, list, bytes);
  return status;
}

luc_status luc__run_unbind(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int dim;
  LUC_TRY(wrap(ctx, t, args[1].as.i, &dim));
  LUC_CHECK(ctx, t->sizes[dim] <= INT32_MAX, LUC_ERR_SHAPE, "too many parts");
  return parts(ctx, t, dim, (int)t->sizes[dim], NULL, out);
}

luc_status luc__grad_unbind(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  int dim;
  int ndim = luc__input_sizes(b, 0, sizes);
  LUC_TRY(luc__dim_wrap(ctx, b->args[1].as.i, ndim, &dim));
  int n = (int)sizes[dim];
  memmove(sizes + dim, sizes + dim + 1, (size_t)(ndim - 1 - dim) * sizeof *sizes);
  return join_parts(ctx, b, LUC_OP_stack, n, dim, NULL, sizes, ndim - 1);
}

luc_status luc__run_split_sizes(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int dim;
  int64_t sum = 0;
  char text[LUC_SHAPE_TEXT];
  LUC_TRY(wrap(ctx, t, args[2].as.i, &dim));
  for (int i = 0; i < args[1].n; i++) {
    int64_t length = args[1].as.ints[i];
    LUC_CHECK(ctx, length >= 0, LUC_ERR_VALUE,
              "expects split_sizes to have only non-negative entries, got %lld", (long long)length);
    if (__builtin_add_overflow(sum, length, &sum)) sum = -1;
  }
  LUC_CHECK(ctx, sum == t->sizes[dim], LUC_ERR_SHAPE,
            "expects split_sizes to sum exactly to %lld (the size of dim %d of %s), got %lld",
            (long long)t->sizes[dim], dim + 1, luc__tensor_shape_text(text, t), (long long)sum);
  return parts(ctx, t, dim, args[1].n, args[1].as.ints, out);
}

luc_status luc__grad_split_sizes(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  int dim;
  int ndim = luc__input_sizes(b, 0, sizes);
  LUC_TRY(luc__dim_wrap(ctx, b->args[2].as.i, ndim, &dim));
  const int n = b->args[1].n;
  const int64_t *lengths = b->args[1].as.ints;
  LUC_TRY(joined(ctx, b, n, dim, lengths, sizes, ndim, &b->gin[0]));
  return b->gin[0] ? LUC_OK : join_parts(ctx, b, LUC_OP_cat, n, dim, lengths, sizes, ndim);
}

/* ---- composites ---- */

/* The n parts between the cuts (n - 1 positions) as slices, each recorded alone: unlike those of
 * split they can be written. Cuts that go back have nothing between them. */
static luc_status slices(luc_context *ctx, luc_tensor *t, int dim, int n, const int64_t *cuts,
                         luc_value *out) {
  LUC_TRY(luc__list(ctx, n, out));
  int64_t at = 0;
  for (int i = 0; i < n; i++) {
    int64_t next = i < n - 1 ? cuts[i] : t->sizes[dim];
    LUC_TRY(luc__op1(ctx, LUC_OP_slice, &out->as.tensors[i],
                     LUC_ARGS(luc_v_tensor(t), luc_v_int(dim), luc_v_int(at),
                              luc_v_int(next > at ? next : at), luc_v_int(1))));
    at = next;
  }
  return LUC_OK;
}

enum { MOST_PARTS = INT32_MAX / 8 };

/* Parts of `step` each, the last of what is left; so many of size 0 if there is nothing. */
static luc_status cut(luc_context *ctx, luc_tensor *t, int dim, int64_t step, int64_t empty,
                      luc_value *out) {
  int64_t left = t->sizes[dim], n = left == 0 ? empty : (left - 1) / step + 1;
  LUC_CHECK(ctx, n <= MOST_PARTS, LUC_ERR_SHAPE, "too many parts");
  size_t bytes = (size_t)n * sizeof(int64_t);
  int64_t *lengths = luc__alloc(ctx, bytes);
  if (!lengths) return LUC_ERR_MEMORY;
  for (int64_t i = 0; i < n; i++, left -= lengths[i - 1]) lengths[i] = step > left ? left : step;
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(t), luc_v_ints(lengths, (int)n), luc_v_int(dim)};
  luc_status status = luc_call(ctx, LUC_OP_split_sizes, args, 3, out);
  luc__free(ctx, lengths, bytes);
  return status;
}

luc_status luc__run_split(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int64_t step = args[1].as.i;
  int dim;
  LUC_TRY(wrap(ctx, t, args[2].as.i, &dim));
  LUC_CHECK(ctx, step > 0 || (step == 0 && t->sizes[dim] == 0), LUC_ERR_VALUE,
            "expects split_size to be positive, got %lld", (long long)step);
  return cut(ctx, t, dim, step, 1, out);
}

luc_status luc__run_chunk(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int64_t chunks = args[1].as.i;
  int dim;
  LUC_TRY(wrap(ctx, t, args[2].as.i, &dim));
  LUC_CHECK(ctx, chunks > 0, LUC_ERR_VALUE, "expects `chunks` to be greater than 0, got %lld",
            (long long)chunks);
  int64_t size = t->sizes[dim], step = size / chunks + (size % chunks != 0);
  return cut(ctx, t, dim, step, chunks, out);
}

/* n parts whose sizes differ by at most one, the longer first. */
static luc_status even_parts(luc_context *ctx, luc_tensor *t, int64_t n, int dim, luc_value *out) {
  LUC_CHECK(ctx, n > 0, LUC_ERR_VALUE, "number of sections must be larger than 0, got %lld",
            (long long)n);
  LUC_CHECK(ctx, n <= MOST_PARTS, LUC_ERR_SHAPE, "too many parts");
  size_t bytes = (size_t)n * sizeof(int64_t);
  int64_t *cuts = luc__alloc(ctx, bytes), size = t->sizes[dim];
  if (!cuts) return LUC_ERR_MEMORY;
  for (int64_t i = 0; i < n; i++)
    cuts[i] = (i + 1) * (size / n) + (i + 1 < size % n ? i + 1 : size % n);
  luc_status status = slices(ctx, t, dim, (int)n, cuts, out);
  luc__free(ctx, cuts, bytes);
  return status;
}

/* Parts that begin at the given positions (and at the start). */
static luc_status parts_from(luc_context *ctx, luc_tensor *t, const luc_value *starts, int dim,
                             luc_value *out) {
  int n = starts->n;
  for (int i = 0; i < n; i++)
    LUC_CHECK(ctx, starts->as.ints[i] != LUC_POSITION_ZERO, LUC_ERR_INDEX,
              "tensor_split: index 0 is out of range (indices count from 1)");
  size_t bytes = (size_t)(n + 1) * sizeof(int64_t);
  int64_t *cuts = luc__alloc(ctx, bytes), size = t->sizes[dim];
  if (!cuts) return LUC_ERR_MEMORY;
  for (int i = 0; i < n; i++) {
    int64_t at = starts->as.ints[i];
    if (at < 0) at = at + size < 0 ? 0 : at + size;
    cuts[i] = at > size ? size : at;
  }
  luc_status status = slices(ctx, t, dim, n + 1, cuts, out);
  luc__free(ctx, cuts, bytes);
  return status;
}

luc_status luc__run_tensor_split(luc_context *ctx, luc_value *args, luc_value *out) {
  int dim;
  LUC_TRY(wrap(ctx, args[0].as.tensor, args[2].as.i, &dim));
  return even_parts(ctx, args[0].as.tensor, args[1].as.i, dim, out);
}
luc_status luc__run_tensor_split_at(luc_context *ctx, luc_value *args, luc_value *out) {
  int dim;
  LUC_TRY(wrap(ctx, args[0].as.tensor, args[2].as.i, &dim));
  return parts_from(ctx, args[0].as.tensor, &args[1], dim, out);
}

/* Positions in a tensor, which count from ctx->first; or, with no dimension, the sections. */
luc_status luc__run_tensor_split_by(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *by = args[1].as.tensor, *dense;
  const char *name = "indices_or_sections";
  int64_t *starts, n = by->numel, first = ctx->first;
  size_t bytes = (size_t)n * sizeof *starts;
  int dim;
  LUC_CHECK(ctx, by->dtype == LUC_INT64 && by->ndim <= 1, LUC_ERR_TYPE,
            "%s must be an int64 tensor of at most 1 dimension (got %s of %d)", name,
            luc__dtype_name(by->dtype), by->ndim);
  LUC_CHECK(ctx, !by->inner, LUC_ERR_SUPPORT, "%s must be the same for all samples", name);
  LUC_CHECK(ctx, n < MOST_PARTS, LUC_ERR_SHAPE, "too many parts");
  LUC_TRY(wrap(ctx, args[0].as.tensor, args[2].as.i, &dim));
  LUC_TRY(luc__as_dense(ctx, by, LUC_INT64, &dense));
  const int64_t *v = (const int64_t *)dense->data;
  if (by->ndim == 0) return even_parts(ctx, args[0].as.tensor, *v, dim, out);
  starts = luc__alloc(ctx, bytes);
  if (!starts && n) return LUC_ERR_MEMORY;
  for (int64_t i = 0; i < n; i++)
    starts[i] = v[i] > 0 ? v[i] - first : v[i] == 0 && first ? LUC_POSITION_ZERO : v[i];
  luc_value positions = luc_v_ints(starts, (int)n);
  luc_status status = parts_from(ctx, args[0].as.tensor, &positions, dim, out);
  luc__free(ctx, starts, bytes);
  return status;
}

/* hsplit, vsplit, dsplit: like tensor_split along a fixed dimension, which must divide evenly. */
static luc_status split_along(luc_context *ctx, int dim, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  const int least = dim == 1 ? 1 : dim == 0 ? 2 : 3;
  LUC_CHECK(ctx, t->ndim >= least, LUC_ERR_SHAPE,
            "requires a tensor with at least %d dimension(s), got %d", least, t->ndim);
  if (dim == 1 && t->ndim == 1) dim = 0;
  if (args[1].kind == LUC_INTS) return parts_from(ctx, t, &args[1], dim, out);
  int64_t n = args[1].as.i;
  LUC_CHECK(ctx, n > 0 && t->sizes[dim] % n == 0, LUC_ERR_VALUE,
            "attempted to split along dimension %d, but the size of the dimension %lld is not "
            "divisible by the split_size %lld",
            dim + 1, (long long)t->sizes[dim], (long long)n);
  return even_parts(ctx, t, n, dim, out);
}

LUC_RUN_BY(hsplit, split_along, 1)
LUC_RUN_BY(vsplit, split_along, 0)
LUC_RUN_BY(dsplit, split_along, 2)
