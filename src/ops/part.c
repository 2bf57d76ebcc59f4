/* Views of a part of a tensor. Each is a change of layout, written once: forward it is applied to
 * the tensor's own layout, backward to a contiguous layout of the input's sizes, which tells
 * strided_add where the gradient's elements go. */
#include <string.h>

#include "cpu/cuts.h"
#include "ops/formula.h"
#include "ops/indexing.h"

typedef struct layout {
  int ndim;
  int64_t offset, sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
} layout;

typedef luc_status (*layout_fn)(luc_context *ctx, layout *l, const luc_value *args);

static luc_status run_part(luc_context *ctx, layout_fn change, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  layout l = {.ndim = t->ndim, .offset = t->offset};
  memcpy(l.sizes, t->sizes, sizeof l.sizes);
  memcpy(l.strides, t->strides, sizeof l.strides);
  LUC_TRY(change(ctx, &l, args));
  luc_status status = luc__tensor_view(ctx, t, l.ndim, l.sizes, l.strides, l.offset, &r);
  return luc__give(ctx, status, out, r);
}

static luc_status grad_part(luc_context *ctx, luc_backward *b, layout_fn change) {
  layout l = {0};
  int64_t sizes[LUC_MAX_DIMS];
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = l.ndim = luc__input_sizes(b, 0, sizes);
  memcpy(l.sizes, sizes, sizeof sizes);
  luc__contiguous_strides(n, sizes, l.strides);
  LUC_TRY(change(ctx, &l, b->args));
  return luc__op1(ctx, LUC_OP_strided_add, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(sizes, n),
                           luc_v_ints(l.strides, l.ndim), luc_v_int(l.offset)));
}

static void drop_dim(layout *l, int dim) {
  l->ndim--;
  for (int d = dim; d < l->ndim; d++) {
    l->sizes[d] = l->sizes[d + 1];
    l->strides[d] = l->strides[d + 1];
  }
}

/* ---- select, narrow, slice ---- */

static luc_status select_layout(luc_context *ctx, layout *l, const luc_value *args) {
  int dim;
  int64_t index;
  LUC_CHECK(ctx, l->ndim > 0, LUC_ERR_INDEX, "select: cannot be applied to a 0-dim tensor");
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, l->ndim, &dim));
  LUC_TRY(luc__index_wrap(ctx, args[2].as.i, l->sizes[dim], &index));
  l->offset += index * l->strides[dim];
  drop_dim(l, dim);
  return LUC_OK;
}

LUC_RUN_BY(select, run_part, select_layout)
LUC_GRAD_BY(select, grad_part, select_layout)

static luc_status narrow_layout(luc_context *ctx, layout *l, const luc_value *args) {
  int dim;
  int64_t start = args[2].as.i, length = args[3].as.i;
  LUC_CHECK(ctx, l->ndim > 0, LUC_ERR_INDEX, "narrow: cannot be applied to a 0-dim tensor");
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, l->ndim, &dim));
  int64_t size = l->sizes[dim];
  LUC_CHECK(ctx, length >= 0, LUC_ERR_VALUE, "narrow: length must be non-negative, got %lld",
            (long long)length);
  if (start != size) LUC_TRY(luc__index_wrap(ctx, start, size, &start));
  LUC_CHECK(ctx, length <= size - start, LUC_ERR_INDEX,
            "narrow: start (%lld, counted from 1) and length (%lld) exceed dimension size (%lld)",
            (long long)(start + 1), (long long)length, (long long)size);
  l->sizes[dim] = length;
  l->offset += start * l->strides[dim];
  return LUC_OK;
}

LUC_RUN_BY(narrow, run_part, narrow_layout)
LUC_GRAD_BY(narrow, grad_part, narrow_layout)

/* Python's slice: what lies outside is cut off. */
static luc_status slice_layout(luc_context *ctx, layout *l, const luc_value *args) {
  int dim;
  LUC_CHECK(ctx, l->ndim > 0, LUC_ERR_INDEX, "slice: cannot be applied to a 0-dim tensor");
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, l->ndim, &dim));
  int64_t size = l->sizes[dim], step = args[4].as.i;
  int64_t start = luc_is_none(&args[2]) ? 0 : args[2].as.i;
  int64_t stop = luc_is_none(&args[3]) ? size : args[3].as.i;
  LUC_CHECK(ctx, step > 0, LUC_ERR_VALUE, "slice: step must be greater than zero, got %lld",
            (long long)step);
  start = luc__clamp64(start < 0 ? start + size : start, 0, size);
  int64_t span = luc__clamp64(stop < 0 ? stop + size : stop, start, size) - start;
  l->offset += start * l->strides[dim];
  l->sizes[dim] = span ? (span - 1) / step + 1 : 0;
  if (l->sizes[dim] > 1) l->strides[dim] *= step;
  return LUC_OK;
}

LUC_RUN_BY(slice, run_part, slice_layout)
LUC_GRAD_BY(slice, grad_part, slice_layout)

/* ---- diagonal, unfold ---- */

static luc_status diagonal_layout(luc_context *ctx, layout *l, const luc_value *args) {
  int a, b;
  int64_t shift = luc__diagonal_shift(args[1].as.i);
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, l->ndim, &a));
  LUC_TRY(luc__dim_wrap(ctx, args[3].as.i, l->ndim, &b));
  LUC_CHECK(ctx, a != b, LUC_ERR_VALUE, "diagonal: dimensions cannot be identical %d, %d", a + 1,
            b + 1);
  int64_t row_step = l->strides[a], column_step = l->strides[b];
  int64_t rows = l->sizes[a] - (shift < 0 ? -shift : 0);
  int64_t columns = l->sizes[b] - (shift > 0 ? shift : 0);
  int64_t length = rows < columns ? rows : columns;
  drop_dim(l, a > b ? a : b);
  drop_dim(l, a > b ? b : a);
  if (length > 0) l->offset += shift < 0 ? -shift * row_step : shift * column_step;
  l->sizes[l->ndim] = length > 0 ? length : 0;
  l->strides[l->ndim++] = row_step + column_step;
  return LUC_OK;
}

LUC_RUN_BY(diagonal, run_part, diagonal_layout)
LUC_GRAD_BY(diagonal, grad_part, diagonal_layout)

static luc_status unfold_layout(luc_context *ctx, layout *l, const luc_value *args) {
  int dim, n = l->ndim;
  int64_t size = args[2].as.i, step = args[3].as.i;
  LUC_CHECK(ctx, n < LUC_MAX_DIMS, LUC_ERR_SHAPE, "unfold: tensors have at most %d dimensions",
            LUC_MAX_DIMS);
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, n, &dim));
  int64_t full = n ? l->sizes[dim] : 1, stride = n ? l->strides[dim] : 1;
  LUC_CHECK(ctx, size >= 0 && size <= full, LUC_ERR_VALUE,
            "unfold: maximum size for tensor at dimension %d is %lld but size is %lld", dim + 1,
            (long long)full, (long long)size);
  LUC_CHECK(ctx, step > 0, LUC_ERR_VALUE, "unfold: step is %lld but must be > 0", (long long)step);
  if (n) {
    l->sizes[dim] = (full - size) / step + 1;
    if (l->sizes[dim] > 1) l->strides[dim] *= step;
  }
  l->sizes[n] = size;
  l->strides[n] = stride;
  l->ndim++;
  return LUC_OK;
}

LUC_RUN_BY(unfold, run_part, unfold_layout)
LUC_GRAD_BY(unfold, grad_part, unfold_layout)

/* ---- by hand ---- */

/* The last element a layout reaches, or -1 if it has none; checked. */
static luc_status last_element(luc_context *ctx, int n, const int64_t *sizes,
                               const int64_t *strides, int64_t offset, int64_t *last) {
  LUC_CHECK(ctx, offset >= 0, LUC_ERR_VALUE, "as_strided: storage_offset is negative: %lld",
            (long long)offset);
  *last = offset;
  bool empty = false;
  for (int d = 0; d < n; d++) {
    LUC_CHECK(ctx, strides[d] >= 0, LUC_ERR_VALUE,
              "as_strided: negative strides are not supported, got %lld", (long long)strides[d]);
    int64_t reach = 0;
    empty |= sizes[d] == 0;
    bool over = __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach);
    LUC_CHECK(ctx, !over && !__builtin_add_overflow(*last, reach, last), LUC_ERR_VALUE,
              "as_strided: sizes and strides reach beyond any storage");
  }
  if (empty) *last = -1;
  return LUC_OK;
}

/* self, size, stride, storage_offset; then self's strides and offset, which the gradient needs. */
luc_status luc__run_strided_view(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *r = NULL;
  int n = args[1].n;
  const int64_t *sizes = args[1].as.ints, *strides = args[2].as.ints;
  int64_t offset = args[3].as.i, last = 0;
  LUC_TRY(luc__check_sizes(ctx, n, sizes));
  LUC_CHECK(ctx, args[2].n == n, LUC_ERR_SHAPE,
            "as_strided: mismatch in length of strides and shape (%d and %d)", args[2].n, n);
  LUC_TRY(last_element(ctx, n, sizes, strides, offset, &last));
  int64_t have = (int64_t)(t->storage->nbytes / luc__dtype_size(t->dtype));
  bool empty = last < 0; /* fits everywhere, and points nowhere */
  if (empty && offset > have) offset = have;
  LUC_CHECK(
      ctx, empty || last < have, LUC_ERR_VALUE,
      "as_strided: size, stride and offset need a storage of %llu elements, this one has %lld",
      (unsigned long long)last + 1, (long long)have);
  luc_status status = luc__tensor_view(ctx, t, n, sizes, strides, offset, &r);
  return luc__give(ctx, status, out, r);
}

/* Can two elements of the layout be the same? (May say yes when they can't.) */
static bool overlaps(int n, const int64_t *sizes, const int64_t *strides) {
  bool used[LUC_MAX_DIMS] = {false};
  int64_t reach = 0;
  for (int i = 0; i < n; i++) {
    int low = -1;
    for (int d = 0; d < n; d++)
      if (!used[d] && (low < 0 || strides[d] < strides[low])) low = d;
    used[low] = true;
    if (sizes[low] <= 1) continue;
    if (strides[low] <= reach) return true;
    reach += (sizes[low] - 1) * strides[low];
  }
  return false;
}

/* Through a flat tensor that stands for the storage: gout is added where the view was, the input's
 * part of it taken out. Elements of the input that are one share what comes to it. */
luc_status luc__grad_strided_view(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS], last = 0, view_last = 0, offset = b->args[5].as.i, one = 1;
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = luc__input_sizes(b, 0, sizes);
  LUC_TRY(last_element(ctx, n, sizes, b->args[4].as.ints, offset, &last));
  LUC_TRY(last_element(ctx, b->args[1].n, b->args[1].as.ints, b->args[2].as.ints, b->args[3].as.i,
                       &view_last));
  int64_t extent = (last > view_last ? last : view_last) + 1;
  luc_value g = luc_v_tensor(b->gout[0]), whole = luc_v_ints(&extent, 1);
  luc_value flat =
      luc_v_tensor(luc__f_call(&f, LUC_OP_strided_add, LUC_ARGS(g, whole, b->args[2], b->args[3])));
  if (overlaps(n, sizes, b->args[4].as.ints)) {
    luc_value real = luc_v_dtype(luc__dtype_to_real(b->gout[0]->dtype));
    luc_value one_each =
        luc_v_tensor(luc__f_call(&f, LUC_OP_new_ones, LUC_ARGS(g, luc_v_ints(sizes, n), real)));
    luc_tensor *count =
        luc__f_call(&f, LUC_OP_strided_add, LUC_ARGS(one_each, whole, b->args[4], b->args[5]));
    count = luc__fs(&f, LUC_OP_clamp_min, count, 1);
    flat = luc_v_tensor(luc__f2(&f, LUC_OP_div, flat.as.tensor, count));
  }
  luc_tensor *part = luc__f_call(&f, LUC_OP_strided_view,
                                 LUC_ARGS(flat, luc_v_ints(sizes, n), b->args[4], b->args[5],
                                          luc_v_ints(&one, 1), luc_v_int(0)));
  return luc__f_end(&f, part, &b->gin[0]);
}

/* Composite: notes the tensor's own geometry. */
luc_status luc__run_as_strided(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_value offset = luc_is_none(&args[3]) ? luc_v_int(t->offset) : args[3];
  return luc_call(ctx, LUC_OP_strided_view,
                  LUC_ARGS(args[0], args[1], args[2], offset, luc_v_ints(t->strides, t->ndim),
                           luc_v_int(t->offset)),
                  out);
}

/* ---- strided_add: where the gradients of parts go ---- */

static luc_status add_strided(luc_context *ctx, luc_tensor *r, luc_tensor *g,
                              const int64_t *strides, int64_t offset) {
  luc_tensor *table, *flat;
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &g->numel, &table));
  LUC_TRY(luc__as_dense(ctx, g, g->dtype, &flat));
  luc__offsets_grid((int64_t *)table->data, g->ndim, g->sizes, strides);
  luc_index_job job = {.op = LUC_INDEX_ADD,
                       .dtype = g->dtype,
                       .indexed = r->data + offset * (int64_t)luc__dtype_size(g->dtype),
                       .dense = flat->data,
                       .positions = luc__table_positions(table),
                       .n = g->numel,
                       .stride = 1,
                       .dense_step = 1};
  luc__index_run(ctx, &job);
  return LUC_OK;
}

/* grad, size, stride, offset: zeros of `size`, plus grad at the elements of a view with stride and
 * offset. */
luc_status luc__run_strided_add(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *g = args[0].as.tensor, *r, *view;
  const int64_t *strides = args[2].as.ints, from = args[3].as.i;
  LUC_TRY(luc__held(ctx, luc__zeros(ctx, g->dtype, args[1].n, args[1].as.ints, &r), &r));
  if (g->numel == 0) {
  } else if (overlaps(g->ndim, g->sizes, strides)) {
    LUC_TRY(add_strided(ctx, r, g, strides, from));
  } else {
    luc_status made = luc__tensor_view(ctx, r, g->ndim, g->sizes, strides, from, &view);
    LUC_TRY(luc__held(ctx, made, &view));
    LUC_TRY(luc__copy(ctx, view, g));
  }
  return luc__result(ctx, out, r->dtype, r);
}

luc_status luc__grad_strided_add(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = luc__input_sizes(b, 0, sizes);
  luc_tensor *flat;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_contiguous, b->gout[0], &flat), &flat));
  luc__contiguous_strides(flat->ndim, flat->sizes, strides);
  return luc__op1(ctx, LUC_OP_strided_view, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(flat), luc_v_ints(sizes, n), b->args[2],
                           luc_v_int(b->args[3].as.i + flat->offset),
                           luc_v_ints(strides, flat->ndim), luc_v_int(flat->offset)));
}

/* ---- composites: a copy with a part of it replaced ---- */

/* Writes src into the part of where[0] that `op` gives of n arguments. */
static luc_status write_part(luc_context *ctx, luc_opid op, luc_value *where, int n,
                             luc_tensor *src) {
  luc_tensor *part;
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  LUC_TRY(luc__held(ctx, luc__op1(ctx, op, &part, where, n), &part));
  if (!luc__same_sizes(part, src))
    return luc__fail(ctx, LUC_ERR_SHAPE, "expected src to have the size of the part, %s, got %s",
                     luc__tensor_shape_text(want, part), luc__tensor_shape_text(have, src));
  return luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(part), luc_v_tensor(src)));
}

static luc_status replace_part(luc_context *ctx, luc_opid op, luc_value *args, luc_value *out) {
  luc_tensor *copy;
  luc_value where[LUC_MAX_PARAMS] = {{0}};
  int n = op == LUC_OP_select ? 2 : op == LUC_OP_diagonal ? 3 : 4;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_clone, args[0].as.tensor, &copy), &copy));
  where[0] = luc_v_tensor(copy);
  memcpy(where + 1, args + 2, (size_t)n * sizeof *where);
  LUC_TRY(write_part(ctx, op, where, n + 1, args[1].as.tensor));
  return luc__result(ctx, out, copy->dtype, copy);
}

/* The range is a Lua one, which includes its last position. */
luc_status luc__run_slice_scatter(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *t = args[0].as.tensor;
  luc_value where[] = {args[0], args[1], args[2], args[3], args[4], args[5]};
  int dim;
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &dim));
  int64_t size = t->ndim ? t->sizes[dim] : 1;
  LUC_CHECK(ctx, luc_is_none(&args[4]) || args[4].as.i != 0, LUC_ERR_INDEX,
            "index 0 is out of range [1, %lld] (indices count from 1)", (long long)size);
  if (!luc_is_none(&args[4]) && args[4].as.i < 0)
    where[4] = luc_v_int(luc__clamp64(args[4].as.i + size + 1, 0, size));
  return replace_part(ctx, LUC_OP_slice, where, out);
}

LUC_RUN_BY(select_scatter, replace_part, LUC_OP_select)
LUC_RUN_BY(diagonal_scatter, replace_part, LUC_OP_diagonal)

/* The storage is copied up to the input's last element, so that both geometries mean the same in
 * it; of an input that overlaps itself, its elements. */
luc_status luc__run_as_strided_scatter(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *whole = t, *copy;
  int64_t last, one = 1;
  luc_formula f = luc__formula(ctx);
  LUC_TRY(last_element(ctx, t->ndim, t->sizes, t->strides, t->offset, &last));
  const bool dense = !overlaps(t->ndim, t->sizes, t->strides);
  last++;
  if (dense)
    whole = luc__f_call(&f, LUC_OP_as_strided,
                        LUC_ARGS(args[0], luc_v_ints(&last, 1), luc_v_ints(&one, 1), luc_v_int(0)));
  copy = luc__f1(&f, LUC_OP_clone, whole);
  luc_value offset = luc_is_none(&args[4]) ? luc_v_int(t->offset) : args[4];
  luc_value where[] = {luc_v_tensor(copy), args[2], args[3], offset};
  if (f.status == LUC_OK)
    f.status = write_part(ctx, LUC_OP_as_strided, where, 4, args[1].as.tensor);
  if (dense)
    copy = luc__f_call(&f, LUC_OP_as_strided,
                       LUC_ARGS(luc_v_tensor(copy), luc_v_ints(t->sizes, t->ndim),
                                luc_v_ints(t->strides, t->ndim), luc_v_int(t->offset)));
  return luc__f_result(&f, copy, out);
}

/* ---- composites: a copy of a part ---- */

luc_status luc__run_narrow_copy(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *part = luc__f_call(&f, LUC_OP_narrow, LUC_ARGS(args[0], args[1], args[2], args[3]));
  return luc__f_result(&f, luc__f1(&f, LUC_OP_clone, part), out);
}
