/* embedding_bag: sums, means or maxima of looked-up rows. Sums and the choice of the largest are
 * kernels'. */
#include "ops/compute.h"
#include "ops/embedding.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/embed.h"

/* args: weight, rows [n], bags [n], count. The rows of a bag are next to each other. */
typedef struct bag_args {
  luc_tensor *weight, *rows, *bags, *scales;
  luc_bags job;
} bag_args;

static luc_status begin_bags(luc_context *ctx, const luc_value *args, luc_dtype dtype,
                             bag_args *a) {
  LUC_TRY(luc__dense(ctx, args[0].as.tensor, dtype, &a->weight));
  LUC_TRY(luc__dense(ctx, args[1].as.tensor, LUC_INT64, &a->rows));
  LUC_TRY(luc__dense(ctx, args[2].as.tensor, LUC_INT64, &a->bags));
  a->job = (luc_bags){.dtype = dtype,
                      .n = a->rows->numel,
                      .dim = a->weight->sizes[1],
                      .count = args[3].as.i,
                      .table = a->weight->data,
                      .rows = (const int64_t *)a->rows->data,
                      .bag = (const int64_t *)a->bags->data};
  return luc__embedding_check(ctx, a->rows, a->weight->sizes[0]);
}

static void end_bags(luc_context *ctx, bag_args *a) {
  LUC_RELEASE(ctx, a->weight, a->rows, a->bags, a->scales);
}

/* bag_argmax(weight, rows, bags, count): the row that has each bag's maximum, [count, dim] */

luc_status luc__run_bag_argmax(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *at;
  bag_args a = {.weight = NULL};
  LUC_GO(begin_bags(ctx, args, luc__compute_dtype(args[0].as.tensor->dtype), &a));
  LUC_GO(luc__tensor_empty(ctx, LUC_INT64, 2, (int64_t[]){a.job.count, a.job.dim}, &at));
  luc__bag_argmax(ctx, &a.job, (int64_t *)at->data);
  out[0] = luc_v_tensor(at);
done:
  end_bags(ctx, &a);
  return status;
}

/* bag_sum(weight, rows, bags, count, scale_grad_by_freq, scales [n]): sums of halves are floats,
 * rounded once, as PyTorch's are */

luc_status luc__run_bag_sum(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *sums;
  bag_args a = {.weight = NULL};
  const luc_dtype dtype = args[0].as.tensor->dtype, compute = luc__compute_dtype(dtype);
  LUC_GO(begin_bags(ctx, args, dtype, &a));
  LUC_GO(luc__dense(ctx, luc_as_tensor(&args[5]), compute, &a.scales));
  if (a.scales) a.job.scales = a.scales->data;
  LUC_GO(luc__scratch(ctx, compute, 2, (int64_t[]){a.job.count, a.job.dim}, &sums));
  luc__bag_sum(ctx, &a.job, sums->data);
  status = luc__result(ctx, out, dtype, sums);
done:
  end_bags(ctx, &a);
  return status;
}

/* Every row's gradient is its bag's, times its scale, whose own is the product of both. */
luc_status luc__grad_bag_sum(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_formula f = luc__formula(ctx);
  luc__input_sizes(b, 0, sizes);
  luc_tensor *rows = luc__f_call(&f, LUC_OP_index_select,
                                 LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_int(0), b->args[2]));
  if (luc__needs(b, 5)) {
    luc_tensor *found =
        luc__f_call(&f, LUC_OP_embedding_lookup,
                    LUC_ARGS(b->args[0], b->args[1], luc_v_int(-1), luc_v_bool(false)));
    luc__f_keep(&f, luc__f_sum_dim(&f, luc__f2(&f, LUC_OP_mul, rows, found), -1), &b->gin[5]);
  }
  if (!luc__needs(b, 0)) return luc__f_end(&f, NULL, NULL);
  if (!luc_is_none(&b->args[5]))
    rows = luc__f2(&f, LUC_OP_mul, rows, luc__f_unsqueeze(&f, b->args[5].as.tensor, -1));
  luc__f_keep(&f,
              luc__f_call(&f, LUC_OP_embedding_backward,
                          LUC_ARGS(luc_v_tensor(rows), b->args[1], luc_v_int(sizes[0]),
                                   luc_v_int(-1), b->args[4])),
              &b->gin[0]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- the call ---- */

/* embedding_bag(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
 * per_sample_weights, include_last_offset, padding_idx) */
enum {
  INPUT,
  WEIGHT,
  OFFSETS,
  MAX_NORM,
  NORM_TYPE,
  SCALE,
  MODE,
  SPARSE,
  PER_SAMPLE,
  LAST,
  PADDING
};
typedef enum bag_mode { SUM, MEAN, MAX } bag_mode;

static luc_status check_kinds(luc_context *ctx, const luc_value *args, bag_mode mode) {
  luc_tensor *input = args[INPUT].as.tensor, *weight = args[WEIGHT].as.tensor;
  luc_tensor *per_sample = luc_as_tensor(&args[PER_SAMPLE]);
  if (!luc__dtype_is_int(input->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "input must hold positions (got %s)",
                     luc__dtype_name(input->dtype));
  LUC_TRY(luc__need_float(ctx, "weight", weight));
  if (weight->ndim != 2)
    return luc__fail_shapes(ctx, "input", input, "weight", weight,
                            "weight has to be a 2D Tensor, but got Tensor of dimension %d",
                            weight->ndim);
  LUC_CHECK(ctx, mode != MAX || !args[SPARSE].as.i, LUC_ERR_VALUE,
            "max mode does not support sparse weights");
  LUC_CHECK(ctx, mode != MAX || !args[SCALE].as.i, LUC_ERR_VALUE,
            "max mode does not support scaling the gradient by the frequency");
  LUC_CHECK(ctx, !per_sample || mode == SUM, LUC_ERR_SUPPORT,
            "per_sample_weights is only supported for mode='sum' (got mode='%s')",
            args[MODE].as.string);
  if (per_sample && !luc__same_sizes(per_sample, input))
    return luc__fail_shapes(ctx, "input", input, "per_sample_weights", per_sample,
                            "per_sample_weights must have the same shape as the input");
  return luc__match_dtype(ctx, "weight", weight, "per_sample_weights", per_sample);
}

static luc_status check_forms(luc_context *ctx, const luc_value *args) {
  const luc_tensor *input = args[INPUT].as.tensor, *offsets = luc_as_tensor(&args[OFFSETS]);
  LUC_CHECK(ctx, input->ndim == 1 || input->ndim == 2, LUC_ERR_SHAPE,
            "input has to be 1D or 2D Tensor, but got Tensor of dimension %d", input->ndim);
  LUC_CHECK(ctx, input->ndim == 1 || !offsets, LUC_ERR_VALUE,
            "if input is 2D, then offsets has to be None, as input is treated as a mini-batch "
            "of fixed length sequences");
  LUC_CHECK(ctx, input->ndim == 2 || (offsets && offsets->ndim == 1), LUC_ERR_VALUE,
            "offsets has to be a 1D Tensor");
  LUC_CHECK(ctx, !args[LAST].as.i || !offsets || offsets->numel > 0, LUC_ERR_VALUE,
            "embedding_bag: include_last_offset: number of offset should be at least 1");
  return LUC_OK;
}

/* Where bags begin: from 0 on, never back, within the input. Messages count from 1. */
static luc_status check_offsets(luc_context *ctx, const int64_t *at, int64_t n, int64_t length) {
  LUC_CHECK(ctx, n == 0 || at[0] == 0, LUC_ERR_VALUE,
            "offsets[1] has to be 1, i.e., the first sequence in the mini-batch has to start "
            "from position 1. However, got %lld",
            (long long)at[0] + (at[0] >= 0));
  for (int64_t i = 1; i < n; i++)
    LUC_CHECK(ctx, at[i] >= at[i - 1], LUC_ERR_VALUE, "offsets must not decrease");
  LUC_CHECK(ctx, n == 0 || at[n - 1] <= length, LUC_ERR_VALUE,
            "offsets[-1] can not be greater than %lld, the place after input, but got %lld",
            (long long)length + 1, (long long)at[n - 1] + 1);
  return LUC_OK;
}

/* What is looked up, without what padding_idx leaves out. The formula owns it. */
typedef struct bags {
  int64_t count, n;
  luc_tensor *rows, *ids; /* int64 [n]: row of weight, bag */
  luc_tensor *keep;       /* place in input; NULL: all are there */
  luc_tensor *sizes;      /* weight's compute dtype [count, 1]: entries, at least 1 */
  luc_tensor *empty;      /* bool [count, 1] */
  bool some_empty;
} bags;

enum { NO_PADDING = -1 };

/* One bag's entries, from i to end, behind those of the bags before. */
static void take_entries(const int64_t *input, int64_t i, int64_t end, int64_t bag, int64_t padding,
                         bags *b) {
  int64_t *rows = (int64_t *)b->rows->data, *ids = (int64_t *)b->ids->data;
  if (!b->keep) {
    for (; i < end; i++) ids[i] = bag;
    b->n = end;
    return;
  }
  for (int64_t *keep = (int64_t *)b->keep->data; i < end; i++) {
    rows[b->n] = input[i], ids[b->n] = bag, keep[b->n] = i;
    b->n += input[i] != padding;
  }
}

/* Sorts input's first `length` entries into bags: `starts` where each begins, or NULL: `width`
 * entries each. */
static void sort_entries(const int64_t *input, int64_t length, const int64_t *starts, int64_t width,
                         int64_t padding, bags *b) {
  const luc_dtype dtype = b->sizes->dtype;
  b->n = 0;
  for (int64_t bag = 0, i = 0; bag < b->count; bag++) {
    const int64_t before = b->n;
    const int64_t end = bag + 1 == b->count ? length : starts ? starts[bag + 1] : i + width;
    take_entries(input, i, end, bag, padding, b);
    i = end;
    int64_t size = b->n - before;
    ((bool *)b->empty->data)[bag] = size == 0;
    b->some_empty |= size == 0;
    luc__store_scalar(b->sizes->data + (size_t)bag * luc__dtype_size(dtype), dtype,
                      (luc_scalar){LUC_SCALAR_INT, {.i = size ? size : 1}});
  }
}

/* The first n entries of a vector. */
static luc_tensor *first(luc_formula *f, luc_tensor *t, int64_t n) {
  return t->numel == n ? t : luc__f_narrow(f, t, 0, 0, n);
}

static void make_bags(luc_formula *f, const luc_value *args, int64_t padding, bags *b) {
  luc_status status;
  luc_context *ctx = f->ctx;
  luc_tensor *input = args[INPUT].as.tensor, *dense = NULL, *starts = NULL;
  const luc_dtype dtype = luc__compute_dtype(args[WEIGHT].as.tensor->dtype);
  const int64_t *at = NULL;
  LUC_GO(luc__dense(ctx, input, LUC_INT64, &dense));
  LUC_GO(luc__dense(ctx, luc_as_tensor(&args[OFFSETS]), LUC_INT64, &starts));
  if (starts) LUC_GO(check_offsets(ctx, at = (int64_t *)starts->data, starts->numel, input->numel));
  b->count = starts ? starts->numel - (args[LAST].as.i != 0) : input->sizes[0];
  int64_t column[2] = {b->count, 1}, length = input->numel, one = 1;
  if (padding == NO_PADDING) {
    LUC_GO(luc__tensor_view(ctx, dense, 1, &length, &one, dense->offset, &b->rows));
  } else {
    LUC_GO(luc__tensor_empty(ctx, LUC_INT64, 1, &length, &b->rows));
    LUC_GO(luc__tensor_empty(ctx, LUC_INT64, 1, &length, &b->keep));
  }
  LUC_GO(luc__tensor_empty(ctx, LUC_INT64, 1, &length, &b->ids));
  LUC_GO(luc__tensor_empty(ctx, dtype, 2, column, &b->sizes));
  LUC_GO(luc__tensor_empty(ctx, LUC_BOOL, 2, column, &b->empty));
  sort_entries((int64_t *)dense->data, args[LAST].as.i && at ? at[b->count] : length, at,
               input->ndim == 2 ? input->sizes[1] : 1, padding, b);
done:
  LUC_RELEASE(ctx, dense, starts);
  luc__f_own(f, b->rows), luc__f_own(f, b->ids), luc__f_own(f, b->keep);
  luc__f_own(f, b->sizes), luc__f_own(f, b->empty);
  if (f->status == LUC_OK) f->status = status;
  if (f->status != LUC_OK) return;
  b->rows = first(f, b->rows, b->n);
  b->ids = first(f, b->ids, b->n);
  if (b->keep) b->keep = first(f, b->keep, b->n);
}

/* The rows that have the maxima are found first; then it is a gather. */
static luc_tensor *largest(luc_formula *f, const luc_value *args, const bags *b) {
  luc_tensor *at = luc__f_call(
      f, LUC_OP_bag_argmax,
      LUC_ARGS(args[WEIGHT], luc_v_tensor(b->rows), luc_v_tensor(b->ids), luc_v_int(b->count)));
  luc_tensor *y =
      luc__f_call(f, LUC_OP_gather, LUC_ARGS(args[WEIGHT], luc_v_int(0), luc_v_tensor(at)));
  if (!b->some_empty) return y;
  return luc__f_fill(f, y, b->empty, 0);
}

/* What each row is multiplied by; NULL: nothing. */
static luc_tensor *scales_of(luc_formula *f, const luc_value *args, const bags *b) {
  luc_tensor *per_sample = luc_as_tensor(&args[PER_SAMPLE]);
  int64_t flat = -1;
  if (!per_sample) return NULL;
  luc_tensor *w = luc__f_reshape(f, per_sample, 1, &flat);
  if (b->keep)
    w = luc__f_call(f, LUC_OP_index_select,
                    LUC_ARGS(luc_v_tensor(w), luc_v_int(0), luc_v_tensor(b->keep)));
  else if (f->status == LUC_OK)
    w = first(f, w, b->n);
  return w;
}

static luc_tensor *reduce_bags(luc_formula *f, const luc_value *args, bag_mode mode,
                               const bags *b) {
  const luc_dtype dtype = args[WEIGHT].as.tensor->dtype;
  if (mode == MAX && b->n > 0) return largest(f, args, b);
  luc_tensor *scales = scales_of(f, args, b);
  luc_tensor *y = luc__f_call(f, LUC_OP_bag_sum,
                              LUC_ARGS(args[WEIGHT], luc_v_tensor(b->rows), luc_v_tensor(b->ids),
                                       luc_v_int(b->count), args[SCALE],
                                       scales ? luc_v_tensor(scales) : luc_v_none()));
  return mode == MEAN ? luc__f2(f, LUC_OP_div, y, luc__f_to(f, b->sizes, dtype)) : y;
}

luc_status luc__run_embedding_bag(luc_context *ctx, luc_value *args, luc_value *out) {
  int mode;
  int64_t padding = -1;
  luc_tensor *weight = args[WEIGHT].as.tensor, *y = NULL;
  bags b = {.n = 0};
  LUC_TRY(luc__choice(ctx, "mode", "sum|mean|max", args[MODE].as.string, &mode));
  LUC_TRY(check_kinds(ctx, args, (bag_mode)mode));
  LUC_TRY(check_forms(ctx, args));
  LUC_TRY(luc__embedding_padding(ctx, &args[PADDING], weight->sizes[0], &padding));
  if (!luc_is_none(&args[MAX_NORM]))
    LUC_TRY(luc__embedding_renorm(ctx, weight, args[INPUT].as.tensor,
                                  luc_as_double(&args[MAX_NORM]), args[NORM_TYPE]));
  luc_formula f = luc__formula(ctx);
  make_bags(&f, args, padding, &b);
  if (f.status == LUC_OK) y = reduce_bags(&f, args, (bag_mode)mode, &b);
  return luc__f_result(&f, y, out);
}
