/* Operators that rearrange or repeat elements into a new tensor: flip, roll, repeat, triangles,
 * diagonals. Most copy one view into another. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/triangle.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"

/* ---- flip, roll, rot90 ---- */

luc_status luc__run_flip(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *view, *r;
  int64_t strides[LUC_MAX_DIMS], offset = t->offset;
  bool seen[LUC_MAX_DIMS] = {false};
  memcpy(strides, t->strides, sizeof strides);
  for (int i = 0; i < args[1].n; i++) {
    int d;
    LUC_TRY(luc__dim_wrap(ctx, args[1].as.ints[i], t->ndim, &d));
    LUC_CHECK(ctx, !seen[d], LUC_ERR_VALUE, "dim %d appears multiple times in the list of dims",
              d + 1);
    seen[d] = true;
    if (t->ndim == 0 || t->numel == 0) continue;
    offset += (t->sizes[d] - 1) * t->strides[d];
    strides[d] = -strides[d];
  }
  luc_status made = luc__tensor_view(ctx, t, t->ndim, t->sizes, strides, offset, &view);
  LUC_TRY(luc__held(ctx, made, &view));
  LUC_TRY(luc__scratch_like(ctx, t, t->dtype, &r));
  luc__take_order(r, 1, (const luc_tensor *const *)&t);
  r->from_one = t->from_one;
  LUC_TRY(luc__copy(ctx, r, view));
  return luc__result(ctx, out, r->dtype, r);
}

static luc_status flip_dim(luc_context *ctx, int64_t dim, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, args[0].as.tensor->ndim > dim, LUC_ERR_SHAPE,
            "input must have at least %d dimension(s), got %d", (int)dim + 1,
            args[0].as.tensor->ndim);
  return luc_call(ctx, LUC_OP_flip, LUC_ARGS(args[0], luc_v_ints(&dim, 1)), out);
}

/* Composites. */
LUC_RUN_BY(flipud, flip_dim, 0)
LUC_RUN_BY(fliplr, flip_dim, 1)

LUC_GRAD_BY(flip, luc__grad_call, LUC_OP_flip, 2)

/* Copies `length` positions along dim, from `from` on in src, to `to` on in dst. */
static luc_status move_run(luc_context *ctx, luc_tensor *dst, luc_tensor *src, int dim, int64_t to,
                           int64_t from, int64_t length) {
  luc_tensor *a = NULL, *b = NULL;
  int64_t sizes[LUC_MAX_DIMS];
  luc_status status = LUC_OK;
  if (length == 0) return LUC_OK;
  memcpy(sizes, dst->sizes, sizeof sizes);
  sizes[dim] = length;
  LUC_GO(luc__tensor_view(ctx, dst, dst->ndim, sizes, dst->strides,
                          dst->offset + to * dst->strides[dim], &a));
  LUC_GO(luc__tensor_view(ctx, src, src->ndim, sizes, src->strides,
                          src->offset + from * src->strides[dim], &b));
  LUC_GO(luc__copy(ctx, a, b));
done:
  LUC_RELEASE(ctx, a, b);
  return status;
}

/* What has channels last gives such, as PyTorch's. */
static luc_status roll_once(luc_context *ctx, luc_tensor *t, int dim, int64_t shift,
                            luc_tensor **out) {
  int64_t size = t->ndim ? t->sizes[dim] : 1;
  if (t->ndim == 0 || t->numel == 0) return luc__duplicate(ctx, t, out);
  shift = (shift % size + size) % size;
  luc_tensor *r;
  LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, &r));
  if (shift != 0 && t->ndim <= 5 && luc__channels_last(t, t->ndim - 2)) luc__lay_channels_last(r);
  luc_status status = move_run(ctx, r, t, dim, shift, 0, size - shift);
  if (status == LUC_OK) status = move_run(ctx, r, t, dim, 0, size - shift, shift);
  if (status == LUC_OK) {
    *out = r;
  } else {
    luc_tensor_release(ctx, r);
  }
  return status;
}

/* Without dims the flattened tensor is rolled. */
luc_status luc__run_roll_dims(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *now = NULL, *next = NULL;
  luc_status status = LUC_OK;
  int64_t flat = t->numel;
  LUC_CHECK(ctx, args[1].n > 0, LUC_ERR_VALUE, "`shifts` required");
  LUC_CHECK(ctx, args[1].n == (args[2].n ? args[2].n : 1), LUC_ERR_VALUE,
            "shifts and dimensions must align: %d shifts, %d dims", args[1].n, args[2].n);
  if (args[2].n == 0) {
    LUC_GO(luc__reshape(ctx, t, 1, &flat, &next));
    LUC_GO(roll_once(ctx, next, 0, args[1].as.ints[0], &now));
    luc_tensor_release(ctx, next);
    next = now;
    LUC_GO(luc__reshape(ctx, next, t->ndim, t->sizes, &now));
  } else {
    now = luc__retain(t);
  }
  for (int i = 0; i < args[2].n; i++) {
    int dim;
    LUC_GO(luc__dim_wrap(ctx, args[2].as.ints[i], t->ndim, &dim));
    luc_tensor_release(ctx, next);
    next = now;
    now = NULL;
    LUC_GO(roll_once(ctx, next, dim, args[1].as.ints[i], &now));
  }
done:
  if (next != now) luc_tensor_release(ctx, next);
  return luc__give(ctx, status, out, now);
}

luc_status luc__grad_roll_dims(luc_context *ctx, luc_backward *b) {
  const luc_value *shifts = &b->args[1], *dims = &b->args[2];
  const luc_tensor *t = b->gout[0];
  const size_t bytes = (size_t)shifts->n * sizeof(int64_t);
  int64_t *back = luc__alloc(ctx, bytes);
  luc_status status = back ? LUC_OK : LUC_ERR_MEMORY;
  for (int i = 0, dim = 0; i < shifts->n && status == LUC_OK; i++) {
    if (dims->n) status = luc__dim_wrap(ctx, dims->as.ints[i], t->ndim, &dim);
    const int64_t size = dims->n && t->ndim ? t->sizes[dim] : t->numel;
    back[i] = size ? -(shifts->as.ints[i] % size) : 0;
  }
  if (status == LUC_OK)
    status = luc__op1(ctx, LUC_OP_roll_dims, &b->gin[0],
                      LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(back, shifts->n), *dims));
  luc__free(ctx, back, bytes);
  return status;
}

luc_status luc__run_roll(luc_context *ctx, luc_value *args, luc_value *out) {
  int n = luc_is_none(&args[2]) ? 0 : 1;
  return luc_call(ctx, LUC_OP_roll_dims,
                  LUC_ARGS(args[0], luc_v_ints(&args[1].as.i, 1), luc_v_ints(&args[2].as.i, n)),
                  out);
}

/* Composite: a flip, a transposition, or both. */
luc_status luc__run_rot90(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor;
  int a, b, k = (int)((args[1].as.i % 4 + 4) % 4);
  LUC_CHECK(ctx, args[2].n == 2 && t->ndim >= 2, LUC_ERR_VALUE,
            "expected 2 dims of a tensor of at least 2 dims, got %d of %d", args[2].n, t->ndim);
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.ints[0], t->ndim, &a));
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.ints[1], t->ndim, &b));
  LUC_CHECK(ctx, a != b, LUC_ERR_VALUE, "rotation dims must differ, got %d and %d", a + 1, b + 1);
  int64_t dims[2] = {a, b};
  if (k == 0) return luc_call(ctx, LUC_OP_clone, LUC_ARGS(args[0]), out);
  luc_value flipped = k == 2 ? luc_v_ints(dims, 2) : luc_v_ints(&dims[k == 1], 1);
  t = luc__f_call(&f, LUC_OP_flip, LUC_ARGS(args[0], flipped));
  return luc__f_result(&f, k == 2 ? t : luc__f_transpose(&f, t, a, b), out);
}

/* ---- repeat ---- */

/* Dimensions one copy can repeat: each becomes [times, size] below one for all before. */
enum { REPEATED = (LUC_MAX_DIMS - 1) / 2 };

static bool is_expanded(const luc_tensor *t) {
  bool any = false;
  for (int d = 0; d < t->ndim; d++) any |= t->strides[d] == 0 && t->sizes[d] > 1;
  return any;
}

/* Repeats dimensions [first, last) of t in one copy from a view in which times, with stride 0,
 * stand before each: of t, where it is expanded and dimensions suffice, or else of its elements
 * without gaps, where the dimensions before those are one, and the last has all behind it. */
static luc_status repeat_dims(luc_context *ctx, luc_tensor *t, int first, int last,
                              const int64_t *times, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS], wide[LUC_MAX_DIMS], steps[LUC_MAX_DIMS];
  luc_tensor *from = NULL, *tiled = NULL, *copy = NULL;
  luc_status status = LUC_OK;
  const bool own = is_expanded(t) && t->ndim + last - first <= LUC_MAX_DIMS;
  int n = 0;
  memcpy(sizes, t->sizes, sizeof sizes);
  if (own)
    from = luc__retain(t);
  else
    LUC_GO(luc__to_contiguous(ctx, t, &from));
  for (int d = 0; d < t->ndim; d++) {
    const bool again = d >= first && d < last;
    const int64_t step = own ? t->strides[d] : luc__product(t->ndim - d - 1, t->sizes + d + 1);
    if (again) wide[n] = times[d], steps[n++] = 0;
    if (own || again || n == 0)
      wide[n] = t->sizes[d], steps[n++] = step;
    else
      wide[n - 1] *= t->sizes[d], steps[n - 1] = step;
    bool over = again && __builtin_mul_overflow(sizes[d], times[d], &sizes[d]);
    LUC_GO(over ? luc__fail(ctx, LUC_ERR_SHAPE, "repeat: sizes are too large") : LUC_OK);
  }
  LUC_GO(luc__tensor_view(ctx, from, n, wide, steps, from->offset, &tiled));
  LUC_GO(luc__duplicate(ctx, tiled, &copy));
  LUC_GO(luc__reshape(ctx, copy, t->ndim, sizes, out));
done:
  LUC_RELEASE(ctx, from, tiled, copy);
  return status;
}

static luc_status repeat(luc_context *ctx, luc_tensor *t, int n, const int64_t *times,
                         luc_value *out) {
  luc_tensor *now = NULL, *next = NULL;
  luc_status status = LUC_OK;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__check_sizes(ctx, n, times));
  int lead = n - t->ndim;
  for (int d = 0; d < n; d++) sizes[d] = d < lead ? 1 : t->sizes[d - lead];
  LUC_GO(luc__reshape(ctx, t, n, sizes, &now));
  for (int last = n, first; last > 0; last = first) {
    while (last > 0 && times[last - 1] == 1) last--;
    first = last > REPEATED ? last - REPEATED : 0;
    while (first < last && times[first] == 1) first++;
    if (last == 0) break;
    LUC_GO(repeat_dims(ctx, now, first, last, times, &next));
    luc_tensor_release(ctx, now);
    now = next;
    next = NULL;
  }
  if (now->storage == t->storage) {
    LUC_GO(luc__duplicate(ctx, now, &next));
    luc_tensor_release(ctx, now);
    now = next;
  }
done:
  return luc__give(ctx, status, out, now);
}

luc_status luc__run_repeat(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, args[1].n >= t->ndim, LUC_ERR_SHAPE,
            "number of dimensions of repeat dims (%d) can not be smaller than number of "
            "dimensions of tensor (%d)",
            args[1].n, t->ndim);
  return repeat(ctx, t, args[1].n, args[1].as.ints, out);
}

/* Composite: fills up with ones on the left. */
luc_status luc__run_tile(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int64_t times[LUC_MAX_DIMS];
  int n = args[1].n, lead = t->ndim > n ? t->ndim - n : 0;
  LUC_CHECK(ctx, n <= LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions",
            LUC_MAX_DIMS);
  for (int d = 0; d < lead; d++) times[d] = 1;
  for (int d = 0; d < n; d++) times[lead + d] = args[1].as.ints[d];
  return luc_call(ctx, LUC_OP_repeat, LUC_ARGS(args[0], luc_v_ints(times, lead + n)), out);
}

/* Dimension by dimension: [before, times, size, after] summed over times. */
luc_status luc__grad_repeat(luc_context *ctx, luc_backward *b) {
  const int64_t *times = b->args[1].as.ints;
  int n = b->args[1].n;
  int64_t sizes[LUC_MAX_DIMS], own[LUC_MAX_DIMS];
  int own_n = luc__input_sizes(b, 0, own);
  if (b->gout[0]->numel == 0) /* of huge dimensions one after the other there may be too much */
    return luc__zeros(ctx, b->gout[0]->dtype, own_n, own, &b->gin[0]);
  luc_tensor *now = luc__retain(b->gout[0]), *split = NULL, *sum = NULL;
  luc_status status = LUC_OK;
  memcpy(sizes, now->sizes, sizeof sizes);
  for (int d = 0; d < n; d++) {
    if (times[d] == 1) continue;
    const int64_t size = d < n - own_n ? 1 : own[d - (n - own_n)], one = 1;
    const int64_t parts[4] = {luc__product(d, sizes), times[d], size,
                              luc__product(n - d - 1, sizes + d + 1)};
    LUC_GO(
        luc__op1(ctx, LUC_OP_reshape, &split, LUC_ARGS(luc_v_tensor(now), luc_v_ints(parts, 4))));
    LUC_GO(luc__op1(ctx, LUC_OP_sum, &sum, LUC_ARGS(luc_v_tensor(split), luc_v_ints(&one, 1))));
    LUC_RELEASE(ctx, split, now);
    now = sum;
    split = sum = NULL;
    sizes[d] = size;
  }
  LUC_GO(luc__op1(ctx, LUC_OP_reshape, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(now), luc_v_ints(own, own_n))));
done:
  LUC_RELEASE(ctx, now, split);
  return status;
}

/* ---- repeat_interleave: which position comes how often, then index_select ---- */

/* *out is held. */
static luc_status interleave_positions(luc_context *ctx, luc_tensor *repeats, int64_t size,
                                       luc_tensor **out) {
  luc_tensor *counts;
  int64_t total = 0;
  bool whole = repeats->dtype == LUC_INT64 || repeats->dtype == LUC_INT32;
  LUC_CHECK(ctx, whole && repeats->ndim <= 1, LUC_ERR_TYPE,
            "repeat_interleave: repeats must be 0-D or 1-D of int32 or int64, got %dD of %s",
            repeats->ndim, luc__dtype_name(repeats->dtype));
  LUC_CHECK(
      ctx, repeats->numel == 1 || repeats->numel == size, LUC_ERR_SHAPE,
      "repeat_interleave: repeats must have the same size as input along dim (%lld, got %lld)",
      (long long)size, (long long)repeats->numel);
  LUC_TRY(luc__as_dense(ctx, repeats, LUC_INT64, &counts));
  const int64_t *times = (const int64_t *)counts->data;
  int64_t step = counts->numel == 1 ? 0 : 1;
  bool fits = true;
  for (int64_t i = 0; i < counts->numel; i++) {
    LUC_CHECK(ctx, times[i] >= 0, LUC_ERR_VALUE, "repeat_interleave: repeats can not be negative");
    fits = fits && !__builtin_add_overflow(total, times[i], &total);
  }
  if (!step) fits = !__builtin_mul_overflow(total, size, &total); /* one for all */
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE, "repeat_interleave: too many repeats");
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &total, out));
  int64_t *to = (int64_t *)(*out)->data;
  for (int64_t i = 0; i < size && total; i++)
    for (int64_t k = 0; k < times[i * step]; k++) *to++ = i;
  return LUC_OK;
}

static luc_status interleave(luc_context *ctx, luc_tensor *t, luc_tensor *repeats,
                             const luc_value *dim_arg, const luc_value *size_arg, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *at = NULL;
  int dim = 0;
  if (!luc_is_none(dim_arg)) LUC_TRY(luc__dim_wrap(ctx, dim_arg->as.i, t->ndim, &dim));
  if (luc_is_none(dim_arg) || t->ndim == 0) t = luc__f_reshape(&f, t, 1, &t->numel);
  if (f.status == LUC_OK) f.status = interleave_positions(ctx, repeats, t->sizes[dim], &at);
  if (f.status == LUC_OK && !luc_is_none(size_arg) && size_arg->as.i != at->numel)
    f.status =
        luc__fail(ctx, LUC_ERR_VALUE, "repeat_interleave: output_size is %lld, repeats add to %lld",
                  (long long)size_arg->as.i, (long long)at->numel);
  luc_value from = luc_v_tensor(t), positions = luc_v_tensor(at);
  return luc__f_result(
      &f, luc__f_call(&f, LUC_OP_index_select, LUC_ARGS(from, luc_v_int(dim), positions)), out);
}

/* Every element repeated equally often: a new dimension beside dim is expanded, then copied. */
static luc_status interleave_evenly(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS];
  int dim = 0, ndim = luc_is_none(&args[2]) ? 1 : t->ndim;
  if (!luc_is_none(&args[2])) LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, ndim, &dim));
  memcpy(sizes, t->sizes, sizeof sizes);
  if (luc_is_none(&args[2])) sizes[0] = t->numel;
  int64_t split[4] = {luc__product(dim, sizes), sizes[dim], 1,
                      luc__product(ndim - dim - 1, sizes + dim + 1)};
  luc_tensor *column = luc__f_reshape(&f, t, 4, split);
  split[2] = args[1].as.i;
  sizes[dim] *= args[1].as.i;
  luc_tensor *r = luc__f_reshape(&f, luc__f_expand(&f, column, 4, split), ndim, sizes);
  return luc__f_result(&f, luc__f_apart(&f, r, t), out);
}

luc_status luc__run_repeat_interleave(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *repeats, *t = args[0].as.tensor;
  int64_t most = t->numel ? INT64_MAX / 32 / t->numel : 0;
  if (t->ndim && luc_is_none(&args[3]) && args[1].as.i > 0 && args[1].as.i <= most)
    return interleave_evenly(ctx, args, out);
  luc_scalar times = {LUC_SCALAR_INT, {.i = args[1].as.i}};
  LUC_TRY(luc__held(ctx, luc__tensor_scalar(ctx, times, LUC_INT64, &repeats), &repeats));
  return interleave(ctx, t, repeats, &args[2], &args[3], out);
}
luc_status luc__run_repeat_interleave_tensor(luc_context *ctx, luc_value *args, luc_value *out) {
  return interleave(ctx, args[0].as.tensor, args[1].as.tensor, &args[2], &args[3], out);
}
luc_status luc__run_repeat_interleave_counts(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *repeats = args[0].as.tensor, *r;
  LUC_CHECK(ctx, repeats->ndim == 1, LUC_ERR_SHAPE, "repeats must be 1-D without an input, got %dD",
            repeats->ndim);
  LUC_TRY(interleave_positions(ctx, repeats, repeats->numel, &r));
  return luc__result(ctx, out, LUC_INT64, r);
}

/* ---- triangles ---- */

/* Rows [begin, end) of t, without those and the columns of which none is kept. */
static luc_status copy_kept(luc_context *ctx, luc_tensor *r, luc_tensor *t, int64_t begin,
                            int64_t end, int64_t shift, bool lower) {
  const int down = t->ndim - 2, along = t->ndim - 1;
  const int64_t columns = t->sizes[along];
  const int64_t top = lower ? luc__clamp64(-shift, begin, end) : begin;
  const int64_t left = lower ? 0 : luc__clamp64(begin + shift, 0, columns);
  const int64_t bottom = lower ? end : luc__clamp64(columns - shift, begin, end);
  const int64_t right = lower ? luc__clamp64(end + shift, 0, columns) : columns;
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *parts[2] = {NULL, NULL}, *whole[] = {r, t};
  luc_status status = LUC_OK;
  if (top == bottom || left == right) return LUC_OK;
  memcpy(sizes, t->sizes, sizeof sizes);
  sizes[down] = bottom - top;
  sizes[along] = right - left;
  for (int i = 0; i < 2; i++) {
    const int64_t *strides = whole[i]->strides;
    const int64_t offset = whole[i]->offset + top * strides[down] + left * strides[along];
    LUC_GO(luc__tensor_view(ctx, whole[i], t->ndim, sizes, strides, offset, &parts[i]));
  }
  LUC_GO(luc__copy(ctx, parts[0], parts[1]));
done:
  LUC_RELEASE(ctx, parts[0], parts[1]);
  return status;
}

/* What is not dense is first copied to where its triangle is then cut out, some rows at a time. */
static luc_status triangle(luc_context *ctx, bool lower, luc_value *args, luc_value *out) {
  enum { PARTS = 8, LEAST = 64 };
  luc_tensor *t = args[0].as.tensor, *r;
  LUC_CHECK(ctx, t->ndim >= 2, LUC_ERR_SHAPE,
            "input tensor must have at least 2 dimensions, got %d", t->ndim);
  LUC_TRY(luc__scratch_like(ctx, t, t->dtype, &r));
  const int64_t rows = t->sizes[t->ndim - 2], columns = t->sizes[t->ndim - 1];
  const int64_t diagonal = luc__clamp64(luc__diagonal_shift(args[1].as.i), -rows, columns);
  const int64_t strip = luc__max64(luc__cuts(rows, PARTS), LEAST);
  const bool dense = luc__is_contiguous(t) && !t->inner;
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a kernel", t));
  for (int64_t i = 0; i < rows && t->numel && !dense; i += strip)
    LUC_TRY(copy_kept(ctx, r, t, i, luc__min64(rows, i + strip), diagonal, lower));
  if (t->numel)
    luc__triangle(ctx, &(luc_triangle){.from = dense ? t->data : r->data,
                                       .to = r->data,
                                       .size = (int64_t)luc__dtype_size(r->dtype),
                                       .count = r->numel / (rows * columns),
                                       .rows = rows,
                                       .columns = columns,
                                       .diagonal = diagonal,
                                       .lower = lower});
  r->from_one = t->from_one;
  return luc__result(ctx, out, r->dtype, r);
}

LUC_RUN_BY(tril, triangle, true)
LUC_RUN_BY(triu, triangle, false)
LUC_GRAD_BY(tril, luc__grad_call, LUC_OP_tril, 2)
LUC_GRAD_BY(triu, luc__grad_call, LUC_OP_triu, 2)

/* ---- diagonals ---- */

/* The last dimension becomes a diagonal of the two new dimensions dim1, dim2. */
luc_status luc__run_diag_embed(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r, *line;
  int a, b, n = t->ndim + 1, next = 0;
  int64_t shift = luc__diagonal_shift(args[1].as.i), length = t->ndim ? t->sizes[t->ndim - 1] : 1;
  int64_t side = length + (shift < 0 ? -shift : shift), sizes[LUC_MAX_DIMS], steps[LUC_MAX_DIMS];
  LUC_CHECK(ctx, t->ndim > 0 && n <= LUC_MAX_DIMS, LUC_ERR_SHAPE,
            "input must have from 1 to %d dimensions, got %d", LUC_MAX_DIMS - 1, t->ndim);
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, n, &a));
  LUC_TRY(luc__dim_wrap(ctx, args[3].as.i, n, &b));
  LUC_CHECK(ctx, a != b, LUC_ERR_VALUE, "dimensions cannot be identical %d, %d", a + 1, b + 1);
  for (int d = 0; d < n; d++) sizes[d] = d == a || d == b ? side : t->sizes[next++];
  LUC_TRY(luc__held(ctx, luc__zeros(ctx, t->dtype, n, sizes, &r), &r));
  next = 0;
  for (int d = 0; d < n; d++)
    if (d != a && d != b) steps[next++] = r->strides[d];
  steps[next] = r->strides[a] + r->strides[b];
  int64_t offset = shift < 0 ? -shift * r->strides[a] : shift * r->strides[b];
  if (t->numel) {
    luc_status made = luc__tensor_view(ctx, r, t->ndim, t->sizes, steps, offset, &line);
    LUC_TRY(luc__held(ctx, made, &line));
    LUC_TRY(luc__copy(ctx, line, t));
  }
  return luc__result(ctx, out, r->dtype, r);
}

LUC_GRAD_BY(diag_embed, luc__grad_call, LUC_OP_diagonal, 4)

/* Composites. */
luc_status luc__run_diag(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  int ndim = args[0].as.tensor->ndim;
  LUC_CHECK(ctx, ndim == 1 || ndim == 2, LUC_ERR_SHAPE, "supports 1D or 2D tensors, got %dD", ndim);
  if (ndim == 1) return luc_call(ctx, LUC_OP_diag_embed, LUC_ARGS(args[0], args[1]), out);
  luc_tensor *line = luc__f_call(&f, LUC_OP_diagonal, LUC_ARGS(args[0], args[1]));
  return luc__f_result(&f, luc__f1(&f, LUC_OP_clone, line), out);
}

luc_status luc__run_diagflat(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *flat = luc__f_reshape(&f, args[0].as.tensor, 1, (int64_t[]){-1});
  luc_value line = luc_v_tensor(flat);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_diag_embed, LUC_ARGS(line, args[1])), out);
}
