/* Sorting and searching: sort, topk, median, mode, unique, searchsorted, bincount. */
#include "cpu/copy.h"
#include "cpu/search.h"
#include "cpu/sort.h"

#include <string.h>

#include "cpu/histogram.h"
#include "cpu/runs.h"
#include "ops/compute.h"
#include "ops/geometry.h"
#include "ops/pointwise.h"
#include "ops/reduction.h"

/* ---- lines along a dimension ---- */

/* `like`, made of what t has along strides. */
static luc_status spread(luc_context *ctx, luc_tensor *like, luc_tensor *t,
                         const int64_t *strides) {
  luc_tensor *all;
  if (!like) return LUC_OK;
  LUC_TRY(luc__tensor_view(ctx, t, like->ndim, like->sizes, strides, t->offset, &all));
  luc_status status = luc__copy(ctx, like, all);
  luc_tensor_release(ctx, all);
  return status;
}

/* What is kept of lines along dimension d that are one element each: values y, places `at`. */
static luc_status take_equal(luc_context *ctx, const luc_sort_job *job, luc_tensor *t, int d,
                             int64_t kept, luc_tensor *y, luc_tensor *at) {
  const int64_t from[] = {[LUC_PICK_KTH] = job->keep,
                          [LUC_PICK_MEDIAN] = (job->n - 1) / 2,
                          [LUC_PICK_NANMEDIAN] = (job->n - 1) / 2,
                          [LUC_PICK_MODE] = job->n - 1};
  const bool median = job->pick == LUC_PICK_MEDIAN || job->pick == LUC_PICK_NANMEDIAN;
  luc_tensor *places, *nan;
  int64_t strides[LUC_MAX_DIMS], along[LUC_MAX_DIMS] = {0};
  int n = 0;
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &kept, &places));
  for (int64_t i = 0; i < kept; i++) ((int64_t *)(void *)places->data)[i] = from[job->pick] + i;
  for (int i = 0; i < t->ndim; i++) {
    if (i == d && at->ndim < t->ndim) continue;
    along[n] = i == d;
    strides[n++] = t->strides[i];
  }
  LUC_TRY(spread(ctx, y, t, strides));
  LUC_TRY(spread(ctx, at, places, along));
  if (!median || !luc__dtype_is_float(job->dtype)) return LUC_OK;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_isnan, y, &nan), &nan)); /* the first of these */
  return luc_call_inplace(ctx, LUC_OP_masked_fill,
                          LUC_ARGS(luc_v_tensor(at), luc_v_tensor(nan), luc_v_int(0)));
}

/* Sorts t along dim and keeps what the job says, in fresh tensors; kept 0: the dimension goes. */
static luc_status sort_along(luc_context *ctx, luc_sort_job *job, luc_tensor *t, int d,
                             bool keepdim, int64_t kept, luc_value *values, luc_value *indices) {
  luc_tensor *x, *y = NULL, *at = NULL;
  int64_t sizes[LUC_MAX_DIMS];
  int ndim = 0;
  job->dtype = t->dtype;
  job->outer = job->inner = job->n = 1;
  for (int i = 0; i < t->ndim; i++) {
    if (i < d) job->outer *= t->sizes[i];
    if (i > d) job->inner *= t->sizes[i];
    if (i != d || keepdim) sizes[ndim++] = i == d ? kept : t->sizes[i];
  }
  if (t->ndim > 0) job->n = t->sizes[d];
  const bool equal = job->n > 1 && t->strides[d] == 0;
  if (!equal) LUC_TRY(luc__as_dense(ctx, t, job->dtype, &x));
  if (values) LUC_TRY(luc__out(ctx, values, job->dtype, ndim, sizes, &y));
  if (indices) LUC_TRY(luc__out(ctx, indices, LUC_INT64, ndim, sizes, &at));
  if (equal) return take_equal(ctx, job, t, d, kept, y, at);
  job->x = x->data;
  job->values = y ? y->data : NULL;
  job->indices = at ? (int64_t *)(void *)at->data : NULL;
  return luc__sort(ctx, job);
}

static luc_status sort(luc_context *ctx, luc_tensor *t, int64_t dim, bool descending,
                       luc_value *values, luc_value *indices) {
  luc_sort_job job = {.descending = descending, .pick = LUC_PICK_FIRST};
  int d;
  LUC_TRY(luc__dim_wrap(ctx, dim, t->ndim, &d));
  job.keep = t->ndim > 0 ? t->sizes[d] : 1;
  return sort_along(ctx, &job, t, d, true, job.keep, values, indices);
}

luc_status luc__run_sort(luc_context *ctx, luc_value *args, luc_value *out) {
  return sort(ctx, args[0].as.tensor, args[1].as.i, args[2].as.i, &out[0], &out[1]);
}

luc_status luc__run_argsort(luc_context *ctx, luc_value *args, luc_value *out) {
  return sort(ctx, args[0].as.tensor, args[1].as.i, args[2].as.i, NULL, &out[0]);
}

/* msort is sort along the first dimension. */
luc_status luc__run_msort(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_sort, LUC_ARGS(args[0], luc_v_int(0))), out);
}

LUC_GRAD_BY(sort, luc__grad_picked, 1, -1)

luc_status luc__run_topk(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_sort_job job = {.descending = args[3].as.i, .pick = LUC_PICK_FIRST, .keep = args[1].as.i};
  int d;
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &d));
  int64_t n = t->ndim > 0 ? t->sizes[d] : 1;
  LUC_CHECK(ctx, job.keep >= 0 && job.keep <= n, LUC_ERR_INDEX,
            "k must be in [0, %lld] (got %lld, input %s, dim %d)", (long long)n,
            (long long)job.keep, luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t), d + 1);
  if (t->ndim == 0) job.keep = 1; /* there is no dimension to have size 0 */
  return sort_along(ctx, &job, t, d, true, job.keep, &out[0], &out[1]);
}

LUC_GRAD_BY(topk, luc__grad_picked, 2, -1)

/* ---- one element of each line ---- */

static luc_status pick(luc_context *ctx, luc_pick what, int64_t keep, luc_tensor *t, int64_t dim,
                       bool keepdim, luc_value *out) {
  luc_sort_job job = {.pick = what, .keep = keep};
  int d;
  LUC_TRY(luc__dim_wrap(ctx, dim, t->ndim, &d));
  LUC_CHECK(ctx, t->ndim == 0 || t->sizes[d] > 0, LUC_ERR_VALUE,
            "expected reduction dim %d to have non-zero size (input %s)", d + 1,
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  return sort_along(ctx, &job, t, d, keepdim, 1, &out[0], &out[1]);
}

luc_status luc__run_kthvalue(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  int d;
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &d));
  int64_t n = t->ndim > 0 ? t->sizes[d] : 1, k = args[1].as.i;
  LUC_CHECK(ctx, k >= 1 && k <= n, LUC_ERR_INDEX, "k must be in [1, %lld] (got %lld, dim %d)",
            (long long)n, (long long)k, d + 1);
  return pick(ctx, LUC_PICK_KTH, k - 1, t, d, args[3].as.i, out);
}

LUC_GRAD_BY(kthvalue, luc__grad_picked, 2, 3)

/* (input, dim, keepdim) */
static luc_status pick_along(luc_context *ctx, luc_pick kind, luc_value *args, luc_value *out) {
  return pick(ctx, kind, 0, args[0].as.tensor, args[1].as.i, args[2].as.i, out);
}

LUC_RUN_BY(median_dim, pick_along, LUC_PICK_MEDIAN)
LUC_RUN_BY(mode, pick_along, LUC_PICK_MODE)
LUC_GRAD_BY(median_dim, luc__grad_picked, 1, 2)

luc_status luc__run_nanmedian_dim(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(luc__need_numbers(ctx, args[0].as.tensor));
  return pick_along(ctx, LUC_PICK_NANMEDIAN, args, out);
}

/* median(input), nanmedian(input): along the flattened input; of nothing, NaN as its dtype. */
static luc_status median_of_all(luc_context *ctx, luc_opid along, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor;
  int64_t whole = -1;
  if (t->numel == 0) {
    luc_tensor *nan = luc__f_mean_all(&f, luc__f_to(&f, t, luc__compute_dtype(t->dtype)));
    return luc__f_result(&f, luc__f_to(&f, nan, t->dtype), out);
  }
  luc_value flat = luc_v_tensor(luc__f_reshape(&f, t, 1, &whole));
  return luc__f_result(&f, luc__f_call(&f, along, LUC_ARGS(flat, luc_v_int(0))), out);
}

LUC_RUN_BY(median, median_of_all, LUC_OP_median_dim)
LUC_RUN_BY(nanmedian, median_of_all, LUC_OP_nanmedian_dim)

/* ---- distinct elements ---- */

static luc_status index_tensor(luc_context *ctx, int ndim, const int64_t *sizes, int64_t **data,
                               luc_tensor **out) {
  LUC_TRY(luc__scratch(ctx, LUC_INT64, ndim, sizes, out));
  *data = (int64_t *)(void *)(*out)->data;
  return LUC_OK;
}

/* The first `n` of a flat tensor, in a tensor of their own, which is held. */
static luc_status shortened(luc_context *ctx, luc_tensor *t, int64_t n, luc_tensor **out) {
  int64_t one = 1;
  luc_tensor *part;
  LUC_TRY(luc__held(ctx, luc__tensor_view(ctx, t, 1, &n, &one, t->offset, &part), &part));
  return luc__held(ctx, luc__duplicate(ctx, part, out), out);
}

static void gather_values(const luc_tensor *x, const int64_t *at, luc_tensor *y) {
  size_t size = luc__dtype_size(x->dtype);
  for (int64_t i = 0; i < y->numel; i++)
    memcpy(y->data + (size_t)i * size, x->data + (size_t)at[i] * size, size);
}

/* The smallest and the largest of integers; 0 and -1 of nothing. */
static luc_status extremes(luc_context *ctx, luc_tensor *x, int64_t *low, int64_t *high) {
  luc_tensor *least, *most, *a, *b;
  *low = 0;
  *high = -1;
  if (x->numel == 0) return LUC_OK;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_amin, x, &least), &least));
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_amax, x, &most), &most));
  LUC_TRY(luc__as_dense(ctx, least, LUC_INT64, &a));
  LUC_TRY(luc__as_dense(ctx, most, LUC_INT64, &b));
  *low = *(const int64_t *)(void *)a->data;
  *high = *(const int64_t *)(void *)b->data;
  return LUC_OK;
}

/* What unique makes besides values, held: NULL where it was not asked for. */
typedef struct distinct_parts {
  luc_tensor *inverse, *counts;
  luc_distinct to;
} distinct_parts;

static luc_status new_parts(luc_context *ctx, int ndim, const int64_t *sizes, int64_t n,
                            const luc_value *flags, distinct_parts *p) {
  int64_t room = n + 1;
  *p = (distinct_parts){.to.first = ctx->first};
  if (flags[0].as.i) LUC_TRY(index_tensor(ctx, ndim, sizes, &p->to.inverse, &p->inverse));
  return flags[1].as.i ? index_tensor(ctx, 1, &room, &p->to.counts, &p->counts) : LUC_OK;
}

static luc_status give_parts(luc_context *ctx, luc_tensor *values, const distinct_parts *p,
                             int64_t found, luc_value *out) {
  luc_tensor *counts = NULL;
  if (p->counts) LUC_TRY(shortened(ctx, p->counts, found, &counts));
  out[0] = luc_v_tensor(luc__retain(values));
  if (p->inverse) out[1] = luc_v_tensor(luc__retain(p->inverse));
  if (counts) out[2] = luc_v_tensor(luc__retain(counts));
  return LUC_OK;
}

/* By a table of those met or by sorting. flags: whether inverse and counts are wanted. */
static luc_status distinct(luc_context *ctx, luc_tensor *t, const luc_value *flags,
                           luc_value *out) {
  luc_tensor *x, *order, *sorted = NULL, *firsts, *y;
  distinct_parts parts;
  luc_dtype dtype = t->dtype;
  int64_t *at = NULL, room = t->numel + 1, n = t->numel, found = 0;
  LUC_TRY(luc__as_dense(ctx, t, dtype, &x));
  LUC_TRY(new_parts(ctx, t->ndim, t->sizes, n, flags, &parts));
  LUC_TRY(index_tensor(ctx, 1, &room, &parts.to.firsts, &firsts));
  LUC_TRY(luc__distinct_few(ctx, dtype, x->data, n, &parts.to, &found));
  if (found == 0) {
    if (parts.inverse) LUC_TRY(index_tensor(ctx, 1, &n, &at, &order));
    LUC_TRY(luc__scratch(ctx, dtype, 1, &n, &sorted));
    luc_sort_job job = {.dtype = dtype, .outer = 1, .n = n, .inner = 1, .keep = n, .x = x->data};
    job.values = sorted->data;
    job.indices = at;
    LUC_TRY(luc__sort(ctx, &job));
    found = luc__distinct(ctx, dtype, sorted->data, n, at, &parts.to);
  }
  LUC_TRY(luc__scratch(ctx, dtype, 1, &found, &y));
  gather_values(sorted ? sorted : x, parts.to.firsts, y);
  return give_parts(ctx, y, &parts, found, out);
}

/* Integers near each other (*done), without sorting. */
static luc_status distinct_near(luc_context *ctx, luc_tensor *t, const luc_value *flags, bool *done,
                                luc_value *out) {
  luc_tensor *x, *table, *values, *y;
  distinct_parts parts;
  luc_dtype dtype = t->dtype;
  int64_t low, high, *marks, n = t->numel, found = 0;
  LUC_TRY(extremes(ctx, t, &low, &high));
  uint64_t apart = (uint64_t)high - (uint64_t)low;
  *done = n > 0 && apart / 4 < (uint64_t)n;
  if (!*done) return LUC_OK;
  int64_t range = (int64_t)apart + 1, room = (range < n ? range : n) + 1;
  LUC_TRY(luc__as_dense(ctx, t, LUC_INT64, &x));
  const int64_t *v = (const int64_t *)(void *)x->data;
  LUC_TRY(index_tensor(ctx, 1, &range, &marks, &table));
  LUC_TRY(new_parts(ctx, t->ndim, t->sizes, n, flags, &parts));
  LUC_TRY(index_tensor(ctx, 1, &room, &parts.to.firsts, &values));
  found = luc__distinct_near(v, n, low, range, marks, &parts.to);
  LUC_TRY(shortened(ctx, values, found, &y));
  LUC_TRY(luc__as_dense(ctx, y, dtype, &y));
  return give_parts(ctx, y, &parts, found, out);
}

/* Are there parts along dimension d, or is that alone what is empty? */
static luc_status check_parts(luc_context *ctx, const luc_tensor *t, int d) {
  int empty = 0;
  for (int i = 0; i < t->ndim; i++) empty += t->sizes[i] == 0;
  LUC_CHECK(ctx, t->ndim > 0, LUC_ERR_SHAPE, "dim given, but input has no dimensions");
  LUC_CHECK(ctx, empty == (t->sizes[d] == 0), LUC_ERR_SHAPE,
            "there are sizes of 0 besides dim %d's, so unique cannot be applied (input %s)", d + 1,
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  return LUC_OK;
}

/* The distinct ones of t's parts along dim, which is moved to the front for that. */
static luc_status distinct_along(luc_context *ctx, luc_tensor *t, int64_t dim, bool sorted,
                                 const luc_value *flags, luc_value *out) {
  luc_tensor *moved, *x, *firsts, *kept, *y;
  distinct_parts parts;
  int64_t found = 0, order[LUC_MAX_DIMS];
  int d, k = 0;
  LUC_TRY(luc__dim_wrap(ctx, dim, t->ndim, &d));
  LUC_TRY(check_parts(ctx, t, d));
  int64_t n = t->sizes[d];
  order[k++] = d;
  for (int i = 0; i < t->ndim; i++)
    if (i != d) order[k++] = i;
  luc_value turned = luc_v_ints(order, k);
  luc_status made = luc__op1(ctx, LUC_OP_permute, &moved, LUC_ARGS(luc_v_tensor(t), turned));
  LUC_TRY(luc__held(ctx, made, &moved));
  LUC_TRY(luc__as_dense(ctx, moved, t->dtype, &x));
  LUC_TRY(new_parts(ctx, 1, &n, n, flags, &parts));
  LUC_TRY(index_tensor(ctx, 1, &n, &parts.to.firsts, &firsts));
  if (n > 0)
    LUC_TRY(luc__distinct_rows(ctx, t->dtype, x->data, n, x->numel / n, sorted, &parts.to, &found));
  LUC_TRY(shortened(ctx, firsts, found, &kept));
  made = luc__op1(ctx, LUC_OP_index_select, &y,
                  LUC_ARGS(luc_v_tensor(t), luc_v_int(d), luc_v_tensor(kept)));
  LUC_TRY(luc__held(ctx, made, &y));
  return give_parts(ctx, y, &parts, found, out);
}

/* Of bools alone, which need not all be looked at. */
static luc_status distinct_bools(luc_context *ctx, luc_tensor *t, luc_value *out) {
  luc_tensor *x, *y;
  LUC_TRY(luc__as_dense(ctx, t, LUC_BOOL, &x));
  const bool has_true = memchr(x->data, true, (size_t)x->numel) != NULL;
  int64_t found = has_true + (memchr(x->data, false, (size_t)x->numel) != NULL);
  LUC_TRY(luc__scratch(ctx, LUC_BOOL, 1, &found, &y));
  for (int64_t i = 0; i < found; i++) ((bool *)y->data)[i] = has_true && i == found - 1;
  return luc__result(ctx, out, LUC_BOOL, y);
}

luc_status luc__run_unique(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  if (!luc_is_none(&args[4])) return distinct_along(ctx, t, args[4].as.i, true, &args[2], out);
  luc_dtype dtype = t->dtype;
  if (dtype == LUC_BOOL && !args[2].as.i && !args[3].as.i) return distinct_bools(ctx, t, out);
  bool done = false, whole = luc__dtype_is_int(dtype) || dtype == LUC_BOOL;
  if (whole) LUC_TRY(distinct_near(ctx, t, &args[2], &done, out));
  return done ? LUC_OK : distinct(ctx, t, &args[2], out);
}

static luc_status take_runs(luc_context *ctx, luc_tensor *t, const luc_runs *runs,
                            const luc_value *flags, luc_value *out) {
  luc_tensor *values;
  int64_t *inverse = NULL, *lengths = NULL, count = runs->count;
  LUC_TRY(luc__tensor_empty(ctx, runs->dtype, 1, &count, &values));
  out[0] = luc_v_tensor(values);
  if (flags[0].as.i) {
    luc_tensor *which;
    LUC_TRY(index_tensor(ctx, t->ndim, t->sizes, &inverse, &which));
    out[1] = luc_v_tensor(luc__retain(which));
  }
  if (flags[1].as.i) {
    luc_tensor *often;
    LUC_TRY(index_tensor(ctx, 1, &count, &lengths, &often));
    out[2] = luc_v_tensor(luc__retain(often));
  }
  luc__runs_take(ctx, runs, values->data, inverse, lengths, ctx->first);
  return LUC_OK;
}

luc_status luc__run_unique_consecutive(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *x;
  luc_runs runs;
  if (!luc_is_none(&args[3])) return distinct_along(ctx, t, args[3].as.i, false, &args[1], out);
  LUC_TRY(luc__as_dense(ctx, t, t->dtype, &x));
  LUC_TRY(luc__runs_begin(ctx, t->dtype, x->data, x->numel, &runs));
  luc_status status = take_runs(ctx, t, &runs, &args[1], out);
  luc__runs_end(ctx, &runs);
  return status;
}

/* ---- searching ---- */

static luc_status search(luc_context *ctx, luc_tensor *bounds, const luc_value *value, bool narrow,
                         bool right, luc_value *out) {
  luc_tensor *v, *b, *y, *given = luc_as_tensor(value);
  luc_value both[2] = {luc_v_tensor(bounds), *value};
  luc_dtype dtype = luc__result_dtype(ctx, both, 2);
  if (given)
    LUC_TRY(luc__as_dense(ctx, given, dtype, &v));
  else
    LUC_TRY(luc__held(ctx, luc__tensor_scalar(ctx, luc_as_scalar(value), dtype, &v), &v));
  LUC_TRY(luc__as_dense(ctx, bounds, dtype, &b));
  LUC_TRY(luc__scratch_like(ctx, v, LUC_INT64, &y));
  luc_search_job job = {.dtype = dtype,
                        .bounds = b->data,
                        .values = v->data,
                        .m = b->ndim > 0 ? b->sizes[b->ndim - 1] : 1,
                        .n = v->numel,
                        .per_row = b->ndim > 1 ? v->sizes[v->ndim - 1] : 0,
                        .first = ctx->first,
                        .right = right,
                        .out = (int64_t *)(void *)y->data};
  LUC_TRY(luc__search(ctx, &job));
  return luc__result(ctx, out, narrow ? LUC_INT32 : LUC_INT64, y);
}

/* searchsorted(sorted_sequence, input, out_int32, right, side, sorter) */
luc_status luc__run_searchsorted(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *bounds = args[0].as.tensor, *v = luc_as_tensor(&args[1]);
  luc_tensor *sorter = luc_as_tensor(&args[5]);
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  bool fits = bounds->ndim == 1 || (v && v->ndim == bounds->ndim && bounds->ndim > 0);
  int right = args[3].as.i != 0;
  for (int d = 0; fits && bounds->ndim > 1 && d < bounds->ndim - 1; d++)
    fits = bounds->sizes[d] == v->sizes[d];
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "sorted_sequence must have 1 dimension or match the leading dimensions "
            "of input (sorted_sequence %s, input %s)",
            luc__tensor_shape_text(a, bounds), v ? luc__tensor_shape_text(b, v) : "a number");
  if (!luc_is_none(&args[4])) {
    int side;
    LUC_TRY(luc__choice(ctx, "side", "left|right", args[4].as.string, &side));
    LUC_CHECK(ctx, side >= right, LUC_ERR_VALUE,
              "side is 'left' while right is true: they must not be opposites");
    right = side;
  }
  if (sorter) {
    LUC_CHECK(ctx, sorter->dtype == LUC_INT64, LUC_ERR_TYPE, "sorter must be int64 (got %s)",
              luc__dtype_name(sorter->dtype));
    LUC_CHECK(ctx, luc__same_sizes(sorter, bounds), LUC_ERR_SHAPE,
              "sorter must have the size of sorted_sequence (sorted_sequence %s, "
              "sorter %s)",
              luc__tensor_shape_text(a, bounds), luc__tensor_shape_text(b, sorter));
    luc_value last = luc_v_int(-1);
    luc_status made = luc__op1(ctx, LUC_OP_gather, &bounds, LUC_ARGS(args[0], last, args[5]));
    LUC_TRY(luc__held(ctx, made, &bounds));
  }
  return search(ctx, bounds, &args[1], args[2].as.i, right, out);
}

/* bucketize(input, boundaries, out_int32, right) */
luc_status luc__run_bucketize(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *bounds = args[1].as.tensor;
  LUC_CHECK(ctx, bounds->ndim == 1, LUC_ERR_SHAPE,
            "boundaries must have 1 dimension (boundaries %s)",
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, bounds));
  return search(ctx, bounds, &args[0], args[2].as.i, args[3].as.i, out);
}

/* ---- counting ---- */

static luc_status check_bincount(luc_context *ctx, const luc_tensor *t, const luc_tensor *weights,
                                 int64_t minlength) {
  LUC_CHECK(ctx, t->ndim == 1 && !luc__dtype_is_float(t->dtype), LUC_ERR_TYPE,
            "bincount: input must have 1 dimension and integers (input %s of %s)",
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t), luc__dtype_name(t->dtype));
  LUC_CHECK(ctx, !weights || luc__same_sizes(t, weights), LUC_ERR_SHAPE,
            "bincount: weights must have input's shape (input %s)",
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  LUC_CHECK(ctx, minlength >= 0, LUC_ERR_VALUE,
            "bincount: minlength must not be negative (got %lld)", (long long)minlength);
  return LUC_OK;
}

luc_status luc__run_bincount(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *weights = luc_as_tensor(&args[1]), *x, *w = NULL, *y;
  int64_t bins = args[2].as.i, low, high;
  LUC_TRY(check_bincount(ctx, t, weights, bins));
  if (t->numel == 0) weights = NULL; /* as in PyTorch, counts */
  LUC_TRY(luc__as_dense(ctx, t, t->dtype, &x));
  LUC_TRY(extremes(ctx, x, &low, &high));
  LUC_CHECK(ctx, low >= 0, LUC_ERR_VALUE, "input must not be negative (got %lld)", (long long)low);
  if (high >= bins) bins = high < INT64_MAX ? high + 1 : high;
  const bool single = weights && weights->dtype == LUC_FLOAT32;
  const luc_dtype sums = single ? LUC_FLOAT32 : weights ? LUC_FLOAT64 : LUC_INT64;
  LUC_TRY(luc__as_dense(ctx, weights, sums, &w));
  LUC_TRY(luc__out(ctx, out, sums, 1, &bins, &y));
  return luc__bincount(ctx, x->dtype, x->data, x->numel, w ? w->data : NULL, single, bins, y->data);
}
