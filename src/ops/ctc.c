/* ctc_loss. The row and its gradient stand on kernels that compute in double; checks, reduction and
 * what zero_infinity hides are the composite's. Lengths travel as lists of integers. */
#include <math.h>

#include "ops/compute.h"
#include "ops/loss.h"
#include "ops/rows.h"

#include "cpu/ctc.h"
#include "cpu/embed.h"

/* ---- the row: ctc(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) --- */

/* The kernel's view of a call: dense copies, and where each target begins. */
typedef struct call {
  luc_ctc c;
  luc_tensor *x, *targets, *starts;
} call;

static void drop_call(luc_context *ctx, call *k) {
  LUC_RELEASE(ctx, k->x, k->targets, k->starts);
}

static int64_t longest(const luc_value *lengths) {
  int64_t most = 0;
  for (int i = 0; i < lengths->n; i++)
    if (lengths->as.ints[i] > most) most = lengths->as.ints[i];
  return most;
}

/* targets: [N, S], or one after another. */
static luc_status take_call(luc_context *ctx, luc_tensor *x, luc_tensor *targets,
                            const luc_value *input_lengths, const luc_value *target_lengths,
                            int64_t blank, call *k) {
  int64_t batch = x->sizes[1];
  LUC_TRY(luc__dense(ctx, x, LUC_FLOAT64, &k->x));
  LUC_TRY(luc__dense(ctx, targets, LUC_INT64, &k->targets));
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &batch, &k->starts));
  int64_t *starts = (int64_t *)k->starts->data;
  for (int64_t b = 0, at = 0; b < batch; b++) {
    starts[b] = targets->ndim == 2 ? b * targets->sizes[1] : at;
    at += target_lengths->as.ints[b];
  }
  k->c = (luc_ctc){.steps = x->sizes[0],
                   .batch = batch,
                   .classes = x->sizes[2],
                   .blank = blank,
                   .longest = longest(target_lengths),
                   .log_probs = (const double *)k->x->data,
                   .targets = (const int64_t *)k->targets->data,
                   .starts = starts,
                   .input_lengths = input_lengths->as.ints,
                   .target_lengths = target_lengths->as.ints};
  return LUC_OK;
}

luc_status luc__run_ctc(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *log_probs = args[0].as.tensor, *loss = NULL, *alpha = NULL;
  call k = {.x = NULL};
  LUC_GO(take_call(ctx, log_probs, args[1].as.tensor, &args[2], &args[3], args[4].as.i, &k));
  int64_t sizes[3] = {k.c.batch, k.c.steps, 2 * k.c.longest + 1};
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT64, 1, sizes, &loss));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT64, 3, sizes, &alpha));
  LUC_GO(luc__ctc(ctx, &k.c, (double *)loss->data, (double *)alpha->data));
  out[1] = luc_v_tensor(alpha);
  alpha = NULL;
  status = luc__deliver(ctx, &out[0], log_probs->dtype, &loss);
done:
  drop_call(ctx, &k);
  LUC_RELEASE(ctx, loss, alpha);
  return status;
}

/* ctc_backward(grad, log_probs, targets, loss, log_alpha, input_lengths, target_lengths, blank,
 * zero_infinity) */
luc_status luc__run_ctc_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_status status;
  luc_tensor *log_probs = args[1].as.tensor, *g = NULL, *loss = NULL, *dx = NULL;
  const double *alpha = (const double *)args[4].as.tensor->data;
  call k = {.x = NULL};
  LUC_GO(take_call(ctx, log_probs, args[2].as.tensor, &args[5], &args[6], args[7].as.i, &k));
  LUC_GO(luc__dense(ctx, args[0].as.tensor, LUC_FLOAT64, &g));
  LUC_GO(luc__dense(ctx, args[3].as.tensor, LUC_FLOAT64, &loss));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT64, 3, log_probs->sizes, &dx));
  LUC_GO(luc__ctc_backward(ctx, &k.c, (const double *)loss->data, alpha, (const double *)g->data,
                           args[8].as.i != 0, (double *)dx->data));
  status = luc__deliver(ctx, out, log_probs->dtype, &dx);
done:
  drop_call(ctx, &k);
  LUC_RELEASE(ctx, g, loss, dx);
  return status;
}

luc_status luc__grad_ctc(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0] || !luc__needs(b, 0)) return LUC_OK;
  return luc__op1(ctx, LUC_OP_ctc_backward, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1],
                           luc_v_tensor(b->results[0]), luc_v_tensor(b->results[1]), b->args[2],
                           b->args[3], b->args[4], b->args[5]));
}

/* ---- ctc_loss ---- */

static luc_status check_lengths(luc_context *ctx, const char *name, const luc_value *lengths,
                                int64_t batch, int64_t most) {
  LUC_CHECK(ctx, lengths->n == batch, LUC_ERR_SHAPE,
            "ctc_loss: %s must be of size batch_size (%lld, got %d)", name, (long long)batch,
            lengths->n);
  for (int i = 0; i < lengths->n; i++)
    LUC_CHECK(ctx, lengths->as.ints[i] >= 0 && lengths->as.ints[i] <= most, LUC_ERR_VALUE,
              "ctc_loss: Expected %s to have value at most %lld, but got value %lld", name,
              (long long)most, (long long)lengths->as.ints[i]);
  return LUC_OK;
}

/* The labels that lengths reach are classes. */
static luc_status check_labels(luc_context *ctx, luc_tensor *targets, const luc_value *lengths,
                               int64_t classes) {
  luc_tensor *dense;
  LUC_TRY(luc__dense(ctx, targets, LUC_INT64, &dense));
  const int64_t *at = (const int64_t *)dense->data;
  int64_t bad = -1, label = 0;
  for (int i = 0; i < lengths->n && bad < 0; i++) {
    int64_t n = lengths->as.ints[i];
    const int64_t *from = targets->ndim == 2 ? at + i * targets->sizes[1] : at;
    bad = luc__index_check(from, n, classes, 0);
    if (bad >= 0) label = from[bad];
    if (targets->ndim == 1) at += n;
  }
  luc_tensor_release(ctx, dense);
  LUC_CHECK(ctx, bad < 0, LUC_ERR_INDEX,
            "ctc_loss: target %lld is out of range (classes [1, %lld])",
            (long long)label + (label >= 0), (long long)classes);
  return LUC_OK;
}

/* log_probs is [T, N, C]. */
static luc_status check_call(luc_context *ctx, const luc_value *args, const luc_tensor *log_probs) {
  luc_tensor *targets = args[1].as.tensor;
  int64_t batch = log_probs->sizes[1], classes = log_probs->sizes[2], blank = args[4].as.i;
  if (!luc__dtype_is_int(targets->dtype))
    return luc__fail(ctx, LUC_ERR_TYPE, "ctc_loss: targets must be integral (got %s)",
                     luc__dtype_name(targets->dtype));
  LUC_CHECK(ctx, blank >= 0 && blank < classes, LUC_ERR_VALUE,
            "ctc_loss: blank must be in label range (got %lld, classes [1, %lld])",
            (long long)blank + (blank >= 0), (long long)classes);
  LUC_TRY(check_lengths(ctx, "input_lengths", &args[2], batch, log_probs->sizes[0]));
  bool lines = targets->ndim == 2 && targets->sizes[0] == batch;
  int64_t most = lines ? targets->sizes[1] : targets->numel;
  LUC_TRY(check_lengths(ctx, "target_lengths", &args[3], batch, most));
  int64_t sum = 0;
  for (int i = 0; i < args[3].n; i++) sum += args[3].as.ints[i];
  if (!lines && (targets->ndim != 1 || sum != targets->numel))
    return luc__fail_shapes(ctx, "log_probs", log_probs, "targets", targets,
                            "targets must be [N, S], or all of them one after another");
  return check_labels(ctx, targets, &args[3], classes);
}

/* Infinite losses as zeros. */
static luc_tensor *without_infinity(luc_formula *f, luc_tensor *loss) {
  luc_tensor *infinite = luc__fs(f, LUC_OP_eq, loss, INFINITY);
  return luc__f_where(f, infinite, NULL, loss);
}

/* Each loss by its target's length, at least 1; then their mean. */
static luc_tensor *mean_by_length(luc_formula *f, luc_tensor *loss, const luc_value *lengths) {
  int64_t n = lengths->n;
  luc_tensor *by = NULL;
  if (f->status == LUC_OK) f->status = luc__tensor_empty(f->ctx, LUC_FLOAT64, 1, &n, &by);
  if (luc__f_own(f, by) == NULL) return NULL;
  for (int i = 0; i < lengths->n; i++)
    ((double *)by->data)[i] = lengths->as.ints[i] > 0 ? (double)lengths->as.ints[i] : 1;
  by = luc__f_to(f, by, loss->dtype);
  return luc__f_mean_all(f, luc__f2(f, LUC_OP_div, loss, by));
}

/* ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity) of
 * log_probs [T, N, C], or [T, C]. */
luc_status luc__run_ctc_loss(luc_context *ctx, luc_value *args, luc_value *out) {
  int reduction;
  luc_tensor *log_probs = args[0].as.tensor, *loss = NULL;
  bool batched = log_probs->ndim == 3;
  LUC_TRY(luc__choice(ctx, "reduction", LUC_REDUCTIONS, args[5].as.string, &reduction));
  LUC_TRY(luc__need_float(ctx, "log_probs", log_probs));
  if (!batched && log_probs->ndim != 2)
    return luc__fail_shapes(ctx, "log_probs", log_probs, NULL, NULL,
                            "log_probs must be [T, N, C] or [T, C]");
  luc_formula f = luc__formula(ctx);
  if (!batched) log_probs = luc__f_unsqueeze(&f, log_probs, 1);
  if (f.status == LUC_OK) f.status = check_call(ctx, args, log_probs);
  loss =
      luc__f_call(&f, LUC_OP_ctc,
                  LUC_ARGS(luc_v_tensor(log_probs), args[1], args[2], args[3], args[4], args[6]));
  if (args[6].as.i) loss = without_infinity(&f, loss);
  if (reduction == LUC_REDUCE_MEAN)
    loss = mean_by_length(&f, loss, &args[3]);
  else if (reduction == LUC_REDUCE_SUM)
    loss = luc__f_sum_all(&f, loss);
  else if (!batched)
    loss = luc__f_squeeze(&f, loss, 0);
  return luc__f_result(&f, loss, out);
}
