/* Joining. cat works on a list whose sizes its gradient must know, so cat records `join`, which
 * carries them. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/pointwise.h"

/* a + b, or the largest number, as which no tensor has a size: where it is made it is refused. */
static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- cat ---- */

/* PyTorch skips empty one-dimensional tensors whatever the others are. */
static bool skipped(const luc_tensor *t) {
  return t->ndim == 1 && t->numel == 0;
}

static luc_status check_join(luc_context *ctx, const luc_value *list, int64_t dim_arg, int *dim,
                             luc_tensor **first, luc_dtype *dtype) {
  *first = NULL;
  LUC_CHECK(ctx, list->n > 0, LUC_ERR_VALUE, "cat: expected a non-empty list of Tensors");
  *dtype = list->as.tensors[0]->dtype;
  for (int i = 0; i < list->n; i++) {
    luc_tensor *t = list->as.tensors[i];
    LUC_CHECK(ctx, t->ndim > 0, LUC_ERR_SHAPE,
              "cat: zero-dimensional tensor (at position %d) cannot be concatenated", i + 1);
    if (t->dtype != *dtype) *dtype = luc__dtype_promote(*dtype, t->dtype);
    if (!*first && !skipped(t)) *first = t;
  }
  if (!*first) *first = list->as.tensors[0];
  LUC_TRY(luc__dim_wrap(ctx, dim_arg, (*first)->ndim, dim));
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  for (int i = 0; i < list->n; i++) {
    luc_tensor *t = list->as.tensors[i];
    bool fits = skipped(t) || t->ndim == (*first)->ndim;
    for (int d = 0; fits && !skipped(t) && d < t->ndim; d++)
      fits = d == *dim || t->sizes[d] == (*first)->sizes[d];
    LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
              "cat: sizes of tensors must match except in dimension %d. Expected %s but got %s for "
              "tensor number %d in the list",
              *dim + 1, luc__tensor_shape_text(a, *first), luc__tensor_shape_text(b, t), i + 1);
  }
  return LUC_OK;
}

/* Copies t into r, where it begins at `start` along dim. */
static luc_status put_part(luc_context *ctx, luc_tensor *r, luc_tensor *t, int dim, int64_t start) {
  luc_tensor *part;
  LUC_TRY(luc__tensor_view(ctx, r, t->ndim, t->sizes, r->strides,
                           r->offset + start * r->strides[dim], &part));
  luc_status status = luc__copy(ctx, part, t);
  luc_tensor_release(ctx, part);
  return status;
}

/* Parts that are blocks of memory: a row of the result is a stretch of each, one after another. */
typedef struct join_job {
  luc_tensor **parts;
  const int64_t *starts; /* where each part begins along dim; NULL: part i at index i */
  char *to;
  int64_t inner, row; /* bytes of one index along dim, and of one row: all indices */
  int n;
  int64_t width;
  luc_runs_fn runs;
  luc_move_fn move;          /* moves bytes */
  const luc_pairs_fn *pairs; /* of elements; the next, of pairs of them */
} join_job;

static int64_t part_begin(const join_job *j, int i) {
  return (j->starts ? j->starts[i] : i) * j->inner;
}

/* n rows of two or four elements, each of another part. */
static void join_pairs(const join_job *j, int64_t row, int64_t n) {
  enum { STRIP = 256 };
  _Alignas(64) char ab[STRIP * 16], cd[STRIP * 16];
  const int64_t width = j->width;
  for (int64_t end = row + n; row < end; row += n) {
    char *to = j->to + row * j->row;
    const char *a = j->parts[0]->data + row * width, *b = j->parts[1]->data + row * width;
    n = j->n == 2 || end - row < STRIP ? end - row : STRIP;
    j->pairs[0](j->n == 2 ? to : ab, a, b, n);
    if (j->n == 2) continue;
    j->pairs[0](cd, j->parts[2]->data + row * width, j->parts[3]->data + row * width, n);
    j->pairs[1](to, ab, cd, n);
  }
}

/* Rows in groups whose results stay in the cache, part by part. */
static void join_rows(void *arg, int64_t begin, int64_t end) {
  enum { CACHED = 1 << 14 };
  const join_job *j = arg;
  const int64_t group = CACHED / j->row + 1;
  bool single = j->row == j->n * j->width && (j->n == 2 || (j->n == 4 && j->width <= 8));
  for (int i = 0; i < j->n; i++) single = single && part_begin(j, i) == i * j->width;
  if (single) {
    join_pairs(j, begin, end - begin);
    return;
  }
  for (; begin < end; begin += group) {
    int64_t n = end - begin < group ? end - begin : group;
    for (int i = 0; i < j->n; i++) {
      int64_t first = part_begin(j, i), bytes = part_begin(j, i + 1) - first;
      if (bytes)
        j->runs(j->to + begin * j->row + first, j->row, j->width, j->parts[i]->data + begin * bytes,
                bytes, j->width, bytes / j->width, n);
    }
  }
}

/* Longer stretches not by memcpy: glibc's loop for some KB goes backwards where both sides lie
 * alike in their pages, which takes three times as long from and to large memory. */
static void join_bytes(void *arg, int64_t begin, int64_t end) {
  enum { BRIEF = 512 };
  const join_job *j = arg;
  int64_t row = begin / j->row, at = begin % j->row;
  for (int i = 0; begin < end;) {
    while (part_begin(j, i + 1) <= at) i++;
    int64_t first = part_begin(j, i), past = part_begin(j, i + 1);
    int64_t n = past - at < end - begin ? past - at : end - begin;
    const char *from = j->parts[i]->data + row * (past - first) + at - first;
    if (past - first < BRIEF)
      memcpy(j->to + begin, from, (size_t)n);
    else
      j->move(j->to + begin, 1, from, 1, n);
    begin += n, at += n;
    if (at < j->row) continue;
    at = i = 0;
    row++;
  }
}

/* Joins parts that are blocks of r's dtype; false: some are not, and nothing is done. */
static bool put_blocks(luc_context *ctx, luc_tensor *r, const luc_value *list, int dim,
                       const int64_t *starts) {
  enum { GRAIN = 1 << 18 };
  int64_t width = (int64_t)luc__dtype_size(r->dtype);
  for (int i = 0; i < list->n; i++) {
    const luc_tensor *t = list->as.tensors[i];
    if (t->numel && (t->dtype != r->dtype || !luc__is_contiguous(t))) return false;
  }
  const int log = luc__log2(width);
  join_job j = {.parts = list->as.tensors,
                .starts = starts,
                .to = r->data,
                .inner = r->strides[dim] * width,
                .row = r->strides[dim] * r->sizes[dim] * width,
                .n = list->n,
                .width = width,
                .runs = luc__kernels(ctx)->copy->runs[log],
                .move = luc__kernels(ctx)->copy->move[0],
                .pairs = luc__kernels(ctx)->copy->pairs + log};
  if (j.row < LUC_LONG_RUN * list->n)
    luc__parallel_for(ctx, r->numel * width / j.row, GRAIN / j.row + 1, join_rows, &j);
  else
    luc__parallel_for(ctx, r->numel * width, GRAIN, join_bytes, &j);
  return true;
}

/* Do all parts have their channels last? */
static bool all_channels_last(const luc_value *list) {
  for (int i = 0; i < list->n; i++) {
    const luc_tensor *t = list->as.tensors[i];
    if (t->ndim > 5 || !luc__channels_last(t, t->ndim - 2)) return false;
  }
  return true;
}

/* tensors, dim, where each begins along dim (and, last, where all end). What has channels last
 * gives such, as PyTorch's. */
luc_status luc__run_join(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *first, *r;
  luc_dtype dtype;
  int dim, n = args[0].n;
  const int64_t *starts = args[2].as.ints;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(check_join(ctx, &args[0], args[1].as.i, &dim, &first, &dtype));
  memcpy(sizes, first->sizes, sizeof sizes);
  sizes[dim] = starts[n];
  LUC_TRY(luc__scratch(ctx, dtype, first->ndim, sizes, &r));
  if (all_channels_last(&args[0])) luc__lay_channels_last(r);
  bool done = r->numel == 0 || put_blocks(ctx, r, &args[0], dim, starts);
  for (int i = 0; i < n && !done; i++) {
    luc_tensor *t = args[0].as.tensors[i];
    if (t->numel) LUC_TRY(put_part(ctx, r, t, dim, starts[i]));
  }
  return luc__result(ctx, out, dtype, r);
}

luc_status luc__grad_join(luc_context *ctx, luc_backward *b) {
  const int64_t *starts = b->args[2].as.ints;
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *g = b->gout[0];
  for (int i = 0; i < b->args[2].n - 1; i++) {
    if (!luc__needs_item(b, i)) continue;
    if (starts[i] == starts[i + 1]) {
      int n = luc__item_sizes(b, i, sizes);
      LUC_TRY(luc__zeros(ctx, g->dtype, n, sizes, &b->gin_list[i]));
    } else {
      LUC_TRY(luc__op1(
          ctx, LUC_OP_slice, &b->gin_list[i],
          LUC_ARGS(luc_v_tensor(g), b->args[1], luc_v_int(starts[i]), luc_v_int(starts[i + 1]))));
    }
  }
  return LUC_OK;
}

luc_status luc__run_cat(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { FEW = 32 };
  luc_tensor *first, *r = NULL;
  luc_dtype dtype;
  int dim, n = args[0].n;
  int64_t few[FEW + 1], *starts = few;
  LUC_TRY(check_join(ctx, &args[0], args[1].as.i, &dim, &first, &dtype));
  size_t bytes = (size_t)(n + 1) * sizeof *starts;
  if (n > FEW) starts = luc__alloc(ctx, bytes);
  if (!starts) return LUC_ERR_MEMORY;
  starts[0] = 0;
  for (int i = 0; i < n; i++) {
    luc_tensor *t = args[0].as.tensors[i];
    starts[i + 1] = plus(starts[i], skipped(t) ? 0 : t->sizes[dim]);
  }
  luc_status status =
      luc__op1(ctx, LUC_OP_join, &r, LUC_ARGS(args[0], luc_v_int(dim), luc_v_ints(starts, n + 1)));
  if (n > FEW) luc__free(ctx, starts, bytes);
  return luc__give(ctx, status, out, r);
}

/* ---- stack ---- */

luc_status luc__run_stack(luc_context *ctx, luc_value *args, luc_value *out) {
  int n = args[0].n, dim;
  luc_tensor **list = args[0].as.tensors, *r;
  int64_t sizes[LUC_MAX_DIMS];
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, n > 0, LUC_ERR_VALUE, "expects a non-empty list of Tensors");
  luc_tensor *first = list[0];
  luc_dtype dtype = first->dtype;
  LUC_CHECK(ctx, first->ndim < LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions",
            LUC_MAX_DIMS);
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, first->ndim + 1, &dim));
  for (int i = 1; i < n; i++) {
    LUC_CHECK(ctx, luc__same_sizes(first, list[i]), LUC_ERR_SHAPE,
              "expects each tensor to be equal size, but got %s at entry 1 and %s at entry %d",
              luc__tensor_shape_text(a, first), luc__tensor_shape_text(b, list[i]), i + 1);
    if (list[i]->dtype != dtype) dtype = luc__dtype_promote(dtype, list[i]->dtype);
  }
  for (int d = 0; d < first->ndim; d++) sizes[d + (d >= dim)] = first->sizes[d];
  sizes[dim] = n;
  LUC_TRY(luc__scratch(ctx, dtype, first->ndim + 1, sizes, &r));
  sizes[dim] = 1;
  bool done = r->numel == 0 || put_blocks(ctx, r, &args[0], dim, NULL);
  for (int i = 0; i < n && !done; i++) {
    luc_tensor *flat;
    LUC_TRY(luc__reshape(ctx, list[i], r->ndim, sizes, &flat));
    luc_status status = put_part(ctx, r, flat, dim, i);
    luc_tensor_release(ctx, flat);
    LUC_TRY(status);
  }
  return luc__result(ctx, out, dtype, r);
}

luc_status luc__grad_stack(luc_context *ctx, luc_backward *b) {
  luc_tensor *g = b->gout[0];
  int dim;
  LUC_TRY(luc__dim_wrap(ctx, b->args[1].as.i, g->ndim, &dim));
  for (int i = 0; i < g->sizes[dim]; i++) {
    if (!luc__needs_item(b, i)) continue;
    LUC_TRY(luc__op1(ctx, LUC_OP_select, &b->gin_list[i],
                     LUC_ARGS(luc_v_tensor(g), b->args[1], luc_v_int(i))));
  }
  return LUC_OK;
}

/* ---- stacks along fixed dimensions: each tensor brought to enough dimensions, then cat ---- */

/* A view with at least n dimensions: [s] becomes [1, s] (n = 2) and [1, s, 1] (n = 3). */
static luc_status at_least(luc_context *ctx, luc_tensor *t, int n, luc_tensor **out) {
  int64_t sizes[3] = {1, 1, 1};
  if (t->ndim >= n) {
    *out = luc__retain(t);
    return LUC_OK;
  }
  if (t->ndim == 1) sizes[n - 1 > 1 ? 1 : n - 1] = t->sizes[0];
  if (t->ndim == 2) sizes[0] = t->sizes[0], sizes[1] = t->sizes[1];
  return luc__op1(ctx, LUC_OP_view, out, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, n)));
}

static luc_status give_at_least(luc_context *ctx, int n, luc_value *args, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = at_least(ctx, args[0].as.tensor, n, &r);
  return luc__give(ctx, status, out, r);
}

LUC_RUN_BY(atleast_1d, give_at_least, 1)
LUC_RUN_BY(atleast_2d, give_at_least, 2)
LUC_RUN_BY(atleast_3d, give_at_least, 3)

static luc_status give_all_at_least(luc_context *ctx, int n, luc_value *args, luc_value *out) {
  LUC_TRY(luc__list(ctx, args[0].n, out));
  for (int i = 0; i < args[0].n; i++)
    LUC_TRY(at_least(ctx, args[0].as.tensors[i], n, &out->as.tensors[i]));
  return LUC_OK;
}

LUC_RUN_BY(atleast_1d_all, give_all_at_least, 1)
LUC_RUN_BY(atleast_2d_all, give_all_at_least, 2)
LUC_RUN_BY(atleast_3d_all, give_all_at_least, 3)

/* [s] as a column [s, 1]. */
static luc_status as_column(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  int64_t sizes[2] = {t->numel, 1};
  if (t->ndim <= 1)
    return luc__op1(ctx, LUC_OP_reshape, out, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, 2)));
  *out = luc__retain(t);
  return LUC_OK;
}

/* n: dimensions wanted, 0 for columns. dim -1: the first for vectors, else the second. */
static luc_status stack_along(luc_context *ctx, int n, int dim, const luc_value *tensors,
                              luc_value *out) {
  luc_value list = luc_v_none();
  luc_tensor *r = NULL;
  luc_status status;
  LUC_CHECK(ctx, tensors->n > 0, LUC_ERR_VALUE, "expects a non-empty list of Tensors");
  LUC_TRY(luc__list(ctx, tensors->n, &list));
  for (int i = 0; i < list.n; i++) {
    luc_tensor *t = tensors->as.tensors[i], **to = &list.as.tensors[i];
    LUC_GO(n ? at_least(ctx, t, n, to) : as_column(ctx, t, to));
  }
  if (dim < 0) dim = list.as.tensors[0]->ndim == 1 ? 0 : 1;
  LUC_GO(luc__op1(ctx, LUC_OP_cat, &r, LUC_ARGS(list, luc_v_int(dim))));
done:
  luc__value_release(ctx, &list);
  return luc__give(ctx, status, out, r);
}

LUC_RUN_BY(hstack, stack_along, 1, -1)
LUC_RUN_BY(vstack, stack_along, 2, 0)
LUC_RUN_BY(dstack, stack_along, 3, 2)
LUC_RUN_BY(column_stack, stack_along, 0, 1)

/* ---- broadcast_tensors, meshgrid ---- */

luc_status luc__run_broadcast_tensors(luc_context *ctx, luc_value *args, luc_value *out) {
  int n = args[0].n, ndim = 0;
  luc_tensor **list = args[0].as.tensors;
  int64_t sizes[LUC_MAX_DIMS];
  for (int d = 0; d < LUC_MAX_DIMS; d++) sizes[d] = 1;
  for (int i = 0; i < n; i++) {
    luc_tensor *t = list[i];
    luc_tensor so_far = {.ndim = (uint8_t)ndim};
    memcpy(so_far.sizes, sizes, sizeof sizes);
    LUC_TRY(luc__broadcast(ctx, &so_far, t, &ndim, sizes));
  }
  LUC_TRY(luc__list(ctx, n, out));
  for (int i = 0; i < n; i++)
    LUC_TRY(luc__op1(ctx, LUC_OP_expand, &out->as.tensors[i],
                     LUC_ARGS(luc_v_tensor(list[i]), luc_v_ints(sizes, ndim))));
  return LUC_OK;
}

luc_status luc__run_meshgrid(luc_context *ctx, luc_value *args, luc_value *out) {
  int n = args[0].n, xy;
  luc_tensor **list = args[0].as.tensors;
  int64_t full[LUC_MAX_DIMS];
  LUC_TRY(luc__choice(ctx, "indexing", "ij|xy", args[1].as.string, &xy));
  LUC_CHECK(ctx, n > 0 && n <= LUC_MAX_DIMS, LUC_ERR_VALUE, "expects from 1 to %d tensors, got %d",
            LUC_MAX_DIMS, n);
  bool swap = xy && n >= 2;
  for (int i = 0; i < n; i++) {
    LUC_CHECK(ctx, list[i]->ndim <= 1, LUC_ERR_SHAPE,
              "expected scalar or 1D tensors, got %dD at position %d", list[i]->ndim, i + 1);
    LUC_CHECK(ctx, list[i]->dtype == list[0]->dtype, LUC_ERR_TYPE,
              "expects all tensors to have the same dtype");
    full[swap && i < 2 ? 1 - i : i] = list[i]->numel;
  }
  luc_formula f = luc__formula(ctx);
  LUC_TRY(luc__list(ctx, n, out));
  for (int i = 0; i < n; i++) {
    int64_t sizes[LUC_MAX_DIMS];
    for (int d = 0; d < n; d++) sizes[d] = 1;
    sizes[swap && i < 2 ? 1 - i : i] = list[i]->numel;
    luc_value line = luc_v_ints(sizes, n);
    luc_tensor *t = luc__f_call(&f, LUC_OP_view, LUC_ARGS(luc_v_tensor(list[i]), line));
    luc__f_keep(&f, luc__f_expand(&f, t, n, full), &out->as.tensors[i]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* ---- combinations of whole tensors (composites) ---- */

/* The next choice of r of n places in order; `again`: a place may be chosen again. */
static bool next_choice(int64_t *at, int r, int64_t n, bool again) {
  int i = r - 1;
  while (i >= 0 && at[i] == (again ? n - 1 : n - r + i)) i--;
  if (i < 0) return false;
  for (int64_t v = ++at[i]; ++i < r;) at[i] = again ? v : ++v;
  return true;
}

/* How many choices there are, or -1 if more than memory could hold. */
static int64_t count_choices(int64_t n, int64_t r) {
  double count = 1;
  for (int64_t i = 1; i <= r; i++) count = count * (double)(n - r + i) / (double)i;
  return n < r ? 0 : count < 1e15 ? (int64_t)(count + 0.5) : -1;
}

luc_status luc__run_combinations(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *table;
  luc_formula f = luc__formula(ctx);
  char shape[LUC_SHAPE_TEXT];
  bool again = args[2].as.i;
  int64_t r = args[1].as.i;
  LUC_CHECK(ctx, t->ndim == 1, LUC_ERR_SHAPE, "expects a 1D vector, got shape %s",
            luc__tensor_shape_text(shape, t));
  LUC_CHECK(ctx, r >= 0 && r <= 64, LUC_ERR_VALUE, "expects r from 0 to 64, got %lld",
            (long long)r);
  int64_t n = t->sizes[0], count = r && (n || !again) ? count_choices(again ? n + r - 1 : n, r) : 0;
  int64_t sizes[] = {count, r}, at[64] = {0}, numel = count * r;
  LUC_CHECK(ctx, count >= 0, LUC_ERR_MEMORY, "too many combinations");
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &numel, &table));
  luc__f_own(&f, table);
  for (int64_t i = 0; !again && i < r; i++) at[i] = i;
  int64_t *to = (int64_t *)table->data, *const end = to + numel;
  for (; to < end; next_choice(at, (int)r, n, again)) { /* of the last: all at once */
    for (int64_t last = at[r - 1]; last < n; last++) {
      for (int64_t i = 0; i < r - 1; i++) *to++ = at[i];
      *to++ = last;
    }
    at[r - 1] = n - 1;
  }
  luc_tensor *flat =
      luc__f_call(&f, LUC_OP_index_select, LUC_ARGS(args[0], luc_v_int(0), luc_v_tensor(table)));
  return luc__f_result(&f, luc__f_reshape(&f, flat, r ? 2 : 1, sizes + !r), out);
}

/* The product of vectors: meshgrid, flattened, as columns. */
luc_status luc__run_cartesian_prod(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value grid = luc_v_none();
  luc_tensor *r = NULL;
  int64_t all = -1;
  luc_status status = LUC_OK;
  for (int i = 0; i < args[0].n; i++)
    LUC_CHECK(ctx, args[0].as.tensors[i]->ndim == 1, LUC_ERR_SHAPE,
              "expects 1D tensors, got %dD at position %d", args[0].as.tensors[i]->ndim, i + 1);
  luc_value call[LUC_MAX_PARAMS] = {args[0], luc_v_string("ij")};
  LUC_TRY(luc_call(ctx, LUC_OP_meshgrid, call, 2, &grid));
  for (int i = 0; i < grid.n; i++) {
    luc_tensor *flat;
    LUC_GO(luc__op1(ctx, LUC_OP_reshape, &flat,
                    LUC_ARGS(luc_v_tensor(grid.as.tensors[i]), luc_v_ints(&all, 1))));
    luc_tensor_release(ctx, grid.as.tensors[i]);
    grid.as.tensors[i] = flat;
  }
  if (grid.n == 1) {
    r = luc__retain(grid.as.tensors[0]);
  } else {
    LUC_GO(luc__op1(ctx, LUC_OP_stack, &r, LUC_ARGS(grid, luc_v_int(1))));
  }
done:
  luc__value_release(ctx, &grid);
  return luc__give(ctx, status, out, r);
}

/* A zero matrix whose diagonal blocks are the given matrices (vectors are rows). */
luc_status luc__run_block_diag(luc_context *ctx, luc_value *args, luc_value *out) {
  int n = args[0].n;
  luc_tensor **list = args[0].as.tensors, *r = NULL;
  int64_t sizes[2] = {0, 0}, row = 0, column = 0;
  LUC_CHECK(ctx, n > 0, LUC_ERR_VALUE, "expects a non-empty list of Tensors");
  for (int i = 0; i < n; i++) {
    LUC_CHECK(ctx, list[i]->ndim <= 2, LUC_ERR_SHAPE,
              "input tensors must have 2 or fewer dimensions, got %d at position %d", list[i]->ndim,
              i + 1);
    sizes[0] = plus(sizes[0], list[i]->ndim == 2 ? list[i]->sizes[0] : 1);
    sizes[1] = plus(sizes[1], list[i]->ndim ? list[i]->sizes[list[i]->ndim - 1] : 1);
  }
  LUC_TRY(luc__zeros(ctx, luc__list_dtype(list, n), 2, sizes, &r));
  luc_status status = LUC_OK;
  for (int i = 0; i < n && status == LUC_OK; i++) {
    luc_tensor *rows, *block, *t = list[i];
    int64_t h = t->ndim == 2 ? t->sizes[0] : 1, w = t->ndim ? t->sizes[t->ndim - 1] : 1;
    status = luc__op1(ctx, LUC_OP_narrow, &rows,
                      LUC_ARGS(luc_v_tensor(r), luc_v_int(0), luc_v_int(row), luc_v_int(h)));
    if (status != LUC_OK) break;
    status = luc__op1(ctx, LUC_OP_narrow, &block,
                      LUC_ARGS(luc_v_tensor(rows), luc_v_int(1), luc_v_int(column), luc_v_int(w)));
    luc_tensor_release(ctx, rows);
    if (status != LUC_OK) break;
    luc_value write[LUC_MAX_PARAMS] = {luc_v_tensor(block), luc_v_tensor(t)};
    status = luc_call_inplace(ctx, LUC_OP_copy_, write, 2);
    luc_tensor_release(ctx, block);
    row += h;
    column += w;
  }
  return luc__give(ctx, status, out, r);
}
