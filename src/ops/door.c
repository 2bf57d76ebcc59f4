/* The one door: every operator call, from Lua, from C or from a gradient, passes here. Its stages:
 * complete the arguments, cast them (autocast), decide on recording, run, record. Failure leaves
 * nothing half-made: results are released, and histories change only after everything that can fail
 * has succeeded. */
#include <string.h>

#include "base/float_mode.h"
#include "ops/autocast.h"
#include "ops/vmap.h"

void luc__value_release(luc_context *ctx, luc_value *v) {
  if (v->kind == LUC_TENSOR) luc_tensor_release(ctx, v->as.tensor);
  if (v->kind == LUC_TENSORS) {
    for (int i = 0; i < v->n; i++) luc_tensor_release(ctx, v->as.tensors[i]);
    luc__free(ctx, v->as.tensors, (size_t)v->n * sizeof *v->as.tensors);
  }
  *v = luc_v_none();
}

luc_status luc__no_grad(luc_context *ctx, luc_backward *b) {
  (void)ctx;
  (void)b;
  return LUC_OK;
}

size_t luc__message_name(const char *text) {
  size_t n = 0;
  while (text[n] == '_' || text[n] == '.' || (text[n] >= 'a' && text[n] <= 'z') ||
         (text[n] >= 'A' && text[n] <= 'Z') || (text[n] >= '0' && text[n] <= '9'))
    n++;
  return text[n] == ':' && text[n + 1] == ' ' ? n : 0;
}

luc_status luc__failed_as(luc_context *ctx, luc_status status, const char *name) {
  if (status == LUC_OK) return status;
  const char *text = luc_message(ctx);
  size_t n = luc__message_name(text);
  if (status == LUC_ERR_CALLBACK || (n == strlen(name) && !memcmp(name, text, n))) return status;
  return luc__fail(ctx, status, "%s: %s", name, n ? text + n + 2 : text);
}

luc_status luc__call_failed(luc_context *ctx, luc_opid op, luc_status status) {
  bool named = luc__ops[op].flags & (LUC_F_BOTH | LUC_F_NN);
  return named ? luc__failed_as(ctx, status, luc__op_info(ctx, op)->schema.name) : status;
}

/* Runs a row and releases what it held. */
static luc_status run_row(luc_context *ctx, luc_run_fn run, luc_value *args, luc_value *out) {
  const int held = ctx->num_held;
  luc_status status = run(ctx, args, out);
  luc__let_go(ctx, held);
  return status;
}

/* The same with recording off for what it calls. */
static luc_status run_inside(luc_context *ctx, luc_run_fn run, luc_value *args, luc_value *out) {
  bool outer = ctx->inside_op;
  const luc_float_mode own = luc__float_enter();
  ctx->inside_op = true;
  luc_status status = run_row(ctx, run, args, out);
  ctx->inside_op = outer;
  luc__float_leave(own);
  return status;
}

/* Outside recording, views of operators must still know their base. */
static luc_status track_views(luc_context *ctx, const luc_value *args, const luc_value *out) {
  if (ctx->inside_op) return LUC_OK;
  if (out->kind == LUC_TENSOR)
    return luc__record_view(ctx, args[0].as.tensor, out->as.tensor, false);
  for (int i = 0; i < out->n; i++)
    LUC_TRY(luc__record_view(ctx, args[0].as.tensor, out->as.tensors[i], true));
  return LUC_OK;
}

static bool takes(uint16_t flags, luc_dtype dtype) {
  if (flags & LUC_F_ANY_DTYPE) return true;
  return luc__dtype_is_complex(dtype) ? flags & LUC_F_COMPLEX : !luc__dtype_is_stored(dtype);
}

/* The first dtype among the argument's that a row with these flags does not take, or
 * LUC_NUM_DTYPES. */
static luc_dtype foreign_dtype(uint16_t flags, const luc_value *v) {
  if (v->kind == LUC_DTYPE && !takes(flags, (luc_dtype)v->as.i)) return (luc_dtype)v->as.i;
  luc_tensor *const *list;
  int n = luc_as_tensors(v, &list);
  for (int i = 0; i < n; i++)
    if (list[i] && !takes(flags, list[i]->dtype)) return list[i]->dtype;
  return LUC_NUM_DTYPES;
}

/* No kernel meets a dtype it does not know. Tensors are only looked at once one of an unusual dtype
 * has been made in this context. */
static luc_status check_dtypes(luc_context *ctx, luc_opid op, const luc_value *args) {
  uint16_t flags = luc__ops[op].flags;
  if (flags & LUC_F_ANY_DTYPE) return LUC_OK;
  const luc_op_info *info = luc__op_info(ctx, op);
  uint32_t rest = info->dtype_params | (ctx->complex ? info->tensor_params : 0);
  for (; rest; rest &= rest - 1) {
    luc_dtype dtype = foreign_dtype(flags, &args[__builtin_ctz(rest)]);
    if (dtype == LUC_NUM_DTYPES) continue;
    return luc__fail(ctx, LUC_ERR_TYPE, "%s: not implemented for %s%s", info->schema.name,
                     luc__dtype_name(dtype),
                     luc__dtype_is_stored(dtype) ? ", which is only stored; convert it first" : "");
  }
  return LUC_OK;
}

/* Refuses tensors that have no shape yet, but for casts, as PyTorch does. Only asked once such a
 * tensor has been made. */
static luc_status check_initialized(luc_context *ctx, luc_opid op, const luc_value *args) {
  if (op >= LUC_OP_to_copy && op <= LUC_OP_cpu) return LUC_OK; /* neighbours in the table */
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  for (int p = 0; p < schema->nparams; p++) {
    luc_tensor *const *list;
    const int n = luc_as_tensors(&args[p], &list);
    for (int i = 0; i < n; i++)
      if (list[i] && luc_tensor_is_uninitialized(list[i]))
        return luc__fail_uninitialized(ctx, schema->name, list[i]);
  }
  return LUC_OK;
}

/* Completes the arguments and checks what holds for every call. */
static luc_status prepare(luc_context *ctx, luc_opid op, luc_value *args, int nargs) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  if (nargs < schema->nparams) LUC_TRY(luc__schema_defaults(ctx, schema, args, nargs));
  if (ctx->uninitialized) LUC_TRY(check_initialized(ctx, op, args));
  return check_dtypes(ctx, op, args);
}

static luc_status call(luc_context *ctx, luc_opid op, luc_value *args, int nargs, luc_value *out) {
  const luc_op *row = &luc__ops[op];
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  LUC_TRY(prepare(ctx, op, args, nargs));
  if (ctx->autocast && !ctx->inside_op && luc__autocast_applies(op))
    return luc__autocast_call(ctx, op, args, call, out);
  int nresults = schema->nresults;
  for (int i = 0; i < nresults; i++) out[i] = luc_v_none();
  luc_status status;
  if (ctx->batched && luc__vmap_concerns(ctx, op, args)) {
    status = luc__vmap_call(ctx, op, args, out);
  } else if (row->flags & LUC_F_COMPOSITE) {
    status = run_row(ctx, row->run, args, out);
    if (status != LUC_OK && ctx->batched) status = luc__vmap_retry(ctx, op, args, status, out);
  } else {
    bool records = luc__wants_record(ctx, op, args, schema->nparams);
    status = run_inside(ctx, row->run, args, out);
    if (status == LUC_OK && records) status = luc__record(ctx, op, args, out);
    if (status == LUC_OK && (row->flags & LUC_F_VIEW)) status = track_views(ctx, args, out);
  }
  if (status == LUC_OK) return LUC_OK;
  for (int i = 0; i < nresults; i++) luc__value_release(ctx, &out[i]);
  return luc__call_failed(ctx, op, status);
}

/* Is `result` a fit for the tensor that a call in-place writes? float_power_ casts nothing. */
static luc_status check_store(luc_context *ctx, luc_opid op, const luc_tensor *result,
                              luc_tensor *target) {
  luc_value preset = luc_v_tensor(target);
  LUC_CHECK(ctx, op != LUC_OP_float_power || target->dtype == result->dtype, LUC_ERR_TYPE,
            "the base given has dtype %s but the operation's result requires dtype %s",
            luc__dtype_title(target->dtype), luc__dtype_title(result->dtype));
  return luc__out(ctx, &preset, result->dtype, result->ndim, result->sizes, &target);
}

/* A composite's in-place form is its own parameter `inplace`, or a copy of what it makes of a copy:
 * its operators may save the original. */
static luc_status composite_inplace(luc_context *ctx, luc_opid op, luc_value *args, int nparams) {
  luc_value out[LUC_MAX_RESULTS] = {{0}};
  luc_tensor *self = args[0].as.tensor, *copy = NULL;
  luc_status status = LUC_OK;
  int p = luc__schema_find(&luc__op_info(ctx, op)->schema, "inplace");
  if (p >= 0) {
    args[p] = luc_v_bool(true);
  } else {
    LUC_GO(luc__unary(ctx, LUC_OP_clone, self, &copy));
    args[0] = luc_v_tensor(copy);
  }
  LUC_GO(luc_call(ctx, op, args, nparams, out));
  if (p >= 0) goto done;
  LUC_GO(check_store(ctx, op, out[0].as.tensor, self));
  LUC_GO(luc_call_inplace(ctx, LUC_OP_copy_,
                          LUC_ARGS(luc_v_tensor(self), luc_v_tensor(out[0].as.tensor))));
done:
  args[0] = luc_v_tensor(self);
  luc_tensor_release(ctx, copy);
  luc__value_release(ctx, &out[0]);
  return status == LUC_OK ? LUC_OK : luc__call_failed(ctx, op, status);
}

/* The in-place form of a view writes nothing: the tensor's geometry becomes the view's. */
static luc_status view_inplace(luc_context *ctx, luc_opid op, luc_value *args, int nparams) {
  luc_value out[LUC_MAX_RESULTS];
  luc_tensor *self = args[0].as.tensor;
  luc_tensor *whole = luc__all_samples(self);
  LUC_TRY(luc__inplace_check(ctx, op, whole, luc__wants_record(ctx, op, args, nparams)));
  LUC_TRY(call(ctx, op, args, nparams, out));
  if (self->inner)
    luc__tensor_become_batched(ctx, self, out[0].as.tensor);
  else
    luc__become_view(ctx, self, out[0].as.tensor);
  luc__value_release(ctx, &out[0]);
  return LUC_OK;
}

/* Is there somebody to tell? Operators that a run function calls are its own affair. */
static luc_observer *observer_of(const luc_context *ctx) {
  return ctx->observer != NULL && !ctx->inside_op ? ctx->observer : NULL;
}

luc_status luc_call(luc_context *ctx, luc_opid op, luc_value *args, int nargs, luc_value *out) {
  luc_observer *observer = observer_of(ctx);
  if (observer == NULL) return call(ctx, op, args, nargs, out);
  double begin = luc_clock();
  observer->depth++;
  luc_status status = call(ctx, op, args, nargs, out);
  observer->depth--;
  if (status != LUC_OK) return status;
  observer->begin = begin;
  status = observer->called(ctx, observer, op, false, args, out);
  for (int i = 0; i < luc__op_info(ctx, op)->schema.nresults && status != LUC_OK; i++)
    luc__value_release(ctx, &out[i]);
  return status;
}

static double now_if_observed(const luc_context *ctx) {
  return observer_of(ctx) != NULL ? luc_clock() : 0;
}

/* Tells of a call that wrote `result`. */
static luc_status written(luc_context *ctx, luc_opid op, const luc_value *args, luc_tensor *result,
                          bool inplace, double begin) {
  luc_observer *observer = observer_of(ctx);
  if (observer == NULL) return LUC_OK;
  observer->begin = begin;
  luc_value out[LUC_MAX_RESULTS] = {{0}};
  out[0] = luc_v_tensor(result);
  return observer->called(ctx, observer, op, inplace, args, out);
}

/* What it calls is deeper, as what a composite calls. */
static luc_status vmap_inplace(luc_context *ctx, luc_opid op, const luc_value *args) {
  luc_observer *observer = observer_of(ctx);
  if (observer) observer->depth++;
  luc_status status = luc__vmap_inplace(ctx, op, args);
  if (observer) observer->depth--;
  return status;
}

/* Does the write reach an element twice, or what it reads as well? As in PyTorch, setting all
 * elements alike is no matter, nor are copies of what is repeated: x[{{2, 4}}] = x[2]. */
static luc_status check_memory(luc_context *ctx, luc_opid op, const luc_value *args, bool records) {
  const luc_tensor *self = args[0].as.tensor;
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  const char *mark = luc__ops[op].flags & LUC_F_MUTATES ? "" : "_";
  bool alike = op == LUC_OP_fill_ || op == LUC_OP_zero_;
  LUC_CHECK(ctx, !luc__overlaps_itself(self) || (alike && !records), LUC_ERR_STATE,
            "%s%s: " LUC_OVERLAP_ITSELF, schema->name, mark);
  if (op == LUC_OP_copy_ && !luc__same_sizes(self, args[1].as.tensor)) return LUC_OK;
  for (int p = 1; p < schema->nparams; p++) {
    const luc_tensor *t = luc_as_tensor(&args[p]);
    LUC_CHECK(ctx, !t || !luc__overlaps_partly(self, t), LUC_ERR_STATE, "%s%s: " LUC_OVERLAP_INPUT,
              schema->name, mark);
  }
  return LUC_OK;
}

luc_status luc_call_inplace(luc_context *ctx, luc_opid op, luc_value *args, int nargs) {
  const luc_op *row = &luc__ops[op];
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  double begin = now_if_observed(ctx);
  LUC_TRY(prepare(ctx, op, args, nargs));
  LUC_CHECK(ctx, args[0].kind == LUC_TENSOR, LUC_ERR_TYPE, "%s_: expected a tensor to write to",
            schema->name);
  if ((row->flags & (LUC_F_COMPOSITE | LUC_F_VIEW)) == LUC_F_COMPOSITE)
    return composite_inplace(ctx, op, args, schema->nparams);
  luc_tensor *self = args[0].as.tensor;
  if (row->flags & LUC_F_VIEW) return view_inplace(ctx, op, args, schema->nparams);
  if (ctx->batched && luc__vmap_concerns(ctx, op, args)) {
    luc_status status = vmap_inplace(ctx, op, args);
    return status == LUC_OK ? written(ctx, op, args, self, true, begin)
                            : luc__call_failed(ctx, op, status);
  }
  bool records = luc__wants_record(ctx, op, args, schema->nparams);
  LUC_TRY(check_memory(ctx, op, args, records));
  LUC_TRY(luc__inplace_check(ctx, op, self, records));
  luc_node *node = NULL;
  if (records) LUC_TRY(luc__record_prepare(ctx, op, args, self, &node));
  luc_value out[LUC_MAX_RESULTS] = {{0}};
  if (!(row->flags & LUC_F_MUTATES)) out[0] = luc_v_tensor(luc__retain(self));
  luc_status status = run_inside(ctx, row->run, args, out);
  for (int i = 0; i < schema->nresults; i++) luc__value_release(ctx, &out[i]);
  luc__record_inplace(ctx, status == LUC_OK, node, self);
  return status == LUC_OK ? written(ctx, op, args, self, true, begin)
                          : luc__call_failed(ctx, op, status);
}

/* May the run function write to the tensor itself? None needs to write real numbers to a complex
 * tensor, or to what is only stored; and a dtype that no argument has could keep what the result's
 * would round or let wrap. What it reads may not be resized. */
static bool writes_itself(const luc_op *row, const luc_value *args, int nargs,
                          const luc_tensor *into) {
  if (!(row->flags & LUC_F_OUT) || into->dtype >= LUC_COMPLEX64) return false;
  bool any = into->dtype == LUC_BOOL, same = any;
  for (int i = 0; i < nargs; i++) {
    if (args[i].kind != LUC_TENSOR) continue;
    if (args[i].as.tensor == into && !(row->flags & LUC_F_INPLACE)) return false;
    any = true;
    same |= args[i].as.tensor->dtype == into->dtype;
  }
  return same || !any;
}

static bool is_argument(const luc_value *args, int nargs, const luc_tensor *t) {
  for (int i = 0; i < nargs; i++)
    if (args[i].kind == LUC_TENSOR && args[i].as.tensor == t) return true;
  return false;
}

luc_status luc_call_out(luc_context *ctx, luc_opid op, luc_value *args, int nargs,
                        luc_tensor *const *into) {
  const luc_op *row = &luc__ops[op];
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  double begin = now_if_observed(ctx);
  LUC_TRY(prepare(ctx, op, args, nargs));
  if (!writes_itself(row, args, schema->nparams, into[0]))
    return luc__call_copied(ctx, op, args, schema->nparams, into);
  LUC_TRY(luc__out_check(ctx, op, args, into));
  luc_value out[LUC_MAX_RESULTS] = {{0}};
  out[0] = luc_v_tensor(luc__retain(*into));
  out[0].n = is_argument(args, schema->nparams, *into) ? 2 : 1; /* 1: luc__out may resize it */
  luc_status status = run_inside(ctx, row->run, args, out);
  for (int i = 0; i < schema->nresults; i++) luc__value_release(ctx, &out[i]);
  luc__record_inplace(ctx, status == LUC_OK, NULL, *into);
  return status == LUC_OK ? written(ctx, op, args, *into, false, begin)
                          : luc__call_failed(ctx, op, status);
}

/* ---- short forms for C callers ---- */

luc_status luc__op1(luc_context *ctx, luc_opid op, luc_tensor **out, luc_value *args, int nargs) {
  luc_value results[LUC_MAX_RESULTS];
  *out = NULL;
  LUC_TRY(luc_call(ctx, op, args, nargs, results));
  LUC_ASSERT(results[0].kind == LUC_TENSOR);
  *out = results[0].as.tensor;
  for (int i = 1; i < luc__op_info(ctx, op)->schema.nresults; i++)
    luc__value_release(ctx, &results[i]);
  return LUC_OK;
}

luc_status luc__unary(luc_context *ctx, luc_opid op, luc_tensor *a, luc_tensor **out) {
  return luc__op1(ctx, op, out, LUC_ARGS(luc_v_tensor(a)));
}

luc_status luc__grad_call(luc_context *ctx, luc_backward *b, luc_opid op, int n) {
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(b->gout[0])};
  for (int p = 1; p < n; p++) args[p] = b->args[p];
  return luc__op1(ctx, op, &b->gin[0], args, n);
}

luc_status luc__binary(luc_context *ctx, luc_opid op, luc_tensor *a, luc_tensor *b,
                       luc_tensor **out) {
  return luc__op1(ctx, op, out, LUC_ARGS(luc_v_tensor(a), luc_v_tensor(b)));
}

luc_status luc__binary_scalar(luc_context *ctx, luc_opid op, luc_tensor *a, double s,
                              luc_tensor **out) {
  return luc__op1(ctx, op, out, LUC_ARGS(luc_v_tensor(a), luc_v_float(s)));
}
