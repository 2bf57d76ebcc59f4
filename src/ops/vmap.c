/* Levels of vmap, and calls with batched tensors: a call is taken apart at its innermost level, its
 * rule runs with what is further out, and the results are put together again. Statuses but those
 * of memory and state mean that a rule cannot do the call: then it is done sample by sample, which
 * also words errors as one sample's. */
#include "ops/compute.h"
#include "ops/vmap_rules.h"

#include <string.h>

/* ---- levels ---- */

void luc__vmap_enter(luc_context *ctx, luc_vmap_level *level) {
  if (level->entered++) return;
  luc_vmap_level **at = &ctx->vmap; /* by age: coroutines may come back in another order */
  while (*at && (*at)->id > level->id) at = &(*at)->outer;
  level->outer = *at;
  *at = level;
  ctx->batched++;
}

void luc__vmap_leave(luc_context *ctx, luc_vmap_level *level) {
  if (!level->entered || --level->entered) return;
  luc_vmap_level **at = &ctx->vmap;
  while (*at && *at != level) at = &(*at)->outer;
  if (*at) *at = level->outer;
  ctx->batched--;
}

static uint64_t level_of(const luc_tensor *t) {
  return t && t->inner ? luc__batch_level(t) : 0;
}

/* The innermost level among tensor arguments, 0 if there is none. */
static uint64_t innermost(const luc_context *ctx, luc_opid op, const luc_value *args) {
  uint64_t most = 0;
  uint32_t mask = luc__op_info(ctx, op)->tensor_params;
  for (int p = 0; mask; p++, mask >>= 1) {
    if (!(mask & 1)) continue;
    luc_tensor *const *list;
    for (int i = luc_as_tensors(&args[p], &list) - 1; i >= 0; i--)
      if (level_of(list[i]) > most) most = level_of(list[i]);
  }
  return most;
}

static bool has_batched(const luc_context *ctx, luc_opid op, const luc_value *args) {
  return innermost(ctx, op, args) != 0;
}

static bool is_random(luc_opid op) {
  return luc__ops[op].flags & LUC_F_RANDOM;
}

bool luc__vmap_concerns(const luc_context *ctx, luc_opid op, const luc_value *args) {
  if (is_random(op) && ctx->vmap && !ctx->inside_op) return true;
  bool through = (luc__ops[op].flags & LUC_F_COMPOSITE) && !luc__ops[op].rule;
  return !through && has_batched(ctx, op, args);
}

luc_status luc__vmap_refuse_out(luc_context *ctx, luc_opid op, const luc_value *args,
                                luc_tensor *const *into) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  bool batched = has_batched(ctx, op, args);
  for (int i = 0; i < schema->nresults; i++) batched |= into[i] && into[i]->inner;
  LUC_CHECK(ctx, !batched, LUC_ERR_STATE,
            "%s: vmap: functions with out=... arguments do not support vmap", schema->name);
  return LUC_OK;
}

/* ---- taking a call apart ---- */

static luc_status find_level(luc_context *ctx, luc_opid op, uint64_t id, luc_vmap_level **out) {
  luc_vmap_level *level = ctx->vmap;
  while (level && level->id != id) level = level->outer;
  *out = level;
  LUC_CHECK(ctx, level, LUC_ERR_STATE,
            "%s: a Tensor that vmap was mapping over is used after its function has returned",
            luc__op_info(ctx, op)->schema.name);
  return LUC_OK;
}

static luc_status peel_list(luc_context *ctx, luc_vcall *c, int p) {
  luc_value *v = &c->args[p];
  c->list = luc__alloc(ctx, luc__mul_size((size_t)v->n, sizeof *c->list));
  if (!c->list) return LUC_ERR_MEMORY;
  c->nlist = v->n;
  for (int i = 0; i < v->n; i++) {
    luc_tensor *t = v->as.tensors[i];
    bool batched = level_of(t) == c->level->id;
    c->list[i] = batched ? t->inner : t;
    if (batched) c->batched |= 1u << p;
  }
  v->as.tensors = c->list;
  return LUC_OK;
}

static luc_status peel(luc_context *ctx, luc_vcall *c) {
  const luc_schema *schema = &c->info->schema;
  memcpy(c->args, c->given, (size_t)schema->nparams * sizeof *c->args);
  for (int p = 0; p < schema->nparams; p++) {
    if (!(c->info->tensor_params >> p & 1)) continue;
    luc_value *v = &c->args[p];
    if (v->kind == LUC_TENSORS) LUC_TRY(peel_list(ctx, c, p));
    if (v->kind != LUC_TENSOR || level_of(v->as.tensor) != c->level->id) continue;
    v->as.tensor = v->as.tensor->inner;
    c->batched |= 1u << p;
  }
  return LUC_OK;
}

static void call_free(luc_context *ctx, luc_vcall *c) {
  (void)luc__f_end(&c->f, NULL, NULL);
  luc__free(ctx, c->list, luc__mul_size((size_t)c->nlist, sizeof *c->list));
}

/* ---- putting results together ---- */

static luc_status wrap(luc_context *ctx, const luc_vcall *c, luc_tensor **t) {
  luc_tensor *inner = *t, *self = luc_as_tensor(&c->given[0]);
  if (self && level_of(self) == c->level->id && self->inner == inner) {
    *t = luc__retain(self); /* contiguous() and the like gave back their argument */
  } else {
    luc_tensor *batched;
    LUC_TRY(luc__tensor_batched(ctx, inner, c->level->id, &batched));
    *t = batched;
  }
  luc_tensor_release(ctx, inner);
  return LUC_OK;
}

static luc_status wrap_results(luc_context *ctx, luc_vcall *c) {
  for (int r = 0; r < c->info->schema.nresults; r++) {
    luc_value *v = &c->out[r];
    if (v->kind == LUC_TENSOR) LUC_TRY(wrap(ctx, c, &v->as.tensor));
    for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
      LUC_TRY(wrap(ctx, c, &v->as.tensors[i]));
  }
  return LUC_OK;
}

static void drop_results(luc_context *ctx, luc_vcall *c) {
  for (int r = 0; r < c->info->schema.nresults; r++) luc__value_release(ctx, &c->out[r]);
}

/* Does every result have the level's dimension? (Empty factors that nobody asked for have not.) */
static bool well_made(const luc_vcall *c) {
  for (int r = 0; r < c->info->schema.nresults; r++) {
    luc_tensor *const *list;
    for (int i = luc_as_tensors(&c->out[r], &list) - 1; i >= 0; i--)
      if (list[i]->ndim == 0 || list[i]->sizes[0] != c->level->size) return false;
  }
  return true;
}

static bool retryable(luc_status status) {
  return status == LUC_ERR_TYPE || status == LUC_ERR_VALUE || status == LUC_ERR_SHAPE ||
         status == LUC_ERR_INDEX || status == LUC_ERR_SUPPORT;
}

static luc_status start(luc_context *ctx, luc_vcall *c, luc_opid op, const luc_value *args,
                        luc_value *out) {
  bool random = is_random(op) && ctx->vmap;
  memset(c, 0, sizeof *c);
  c->f.ctx = ctx;
  c->op = op;
  c->info = luc__op_info(ctx, op);
  c->given = args;
  c->out = out;
  c->level = ctx->vmap; /* random numbers are a matter of the innermost level */
  if (!random) LUC_TRY(find_level(ctx, op, innermost(ctx, op, args), &c->level));
  return peel(ctx, c);
}

/* ---- sample by sample ---- */

/* The arguments of sample i: `owned` gets what must be released. */
typedef struct sample {
  luc_value args[LUC_MAX_PARAMS];
  luc_tensor *owned[LUC_MAX_PARAMS];
  luc_tensor **list; /* all owned */
  int nlist;
} sample;

static luc_status select_one(luc_context *ctx, luc_tensor *t, int64_t i, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_select, out, LUC_ARGS(luc_v_tensor(t), luc_v_int(0), luc_v_int(i)));
}

static void sample_free(luc_context *ctx, sample *s) {
  for (int p = 0; p < LUC_MAX_PARAMS; p++) luc_tensor_release(ctx, s->owned[p]);
  for (int i = 0; i < s->nlist; i++) luc_tensor_release(ctx, s->list[i]);
  luc__free(ctx, s->list, luc__mul_size((size_t)s->nlist, sizeof *s->list));
}

static luc_status sample_list(luc_context *ctx, const luc_vcall *c, int p, int64_t i, sample *s) {
  const luc_value *given = &c->given[p];
  s->list = luc__alloc_zero(ctx, luc__mul_size((size_t)given->n, sizeof *s->list));
  if (!s->list) return LUC_ERR_MEMORY;
  s->nlist = given->n;
  for (int k = 0; k < given->n; k++) {
    luc_tensor *t = given->as.tensors[k];
    if (t && level_of(t) == c->level->id) {
      LUC_TRY(select_one(ctx, t->inner, i, &s->list[k]));
    } else if (t) {
      s->list[k] = luc__retain(t);
    }
  }
  s->args[p].as.tensors = s->list;
  return LUC_OK;
}

static luc_status sample_of(luc_context *ctx, const luc_vcall *c, int64_t i, sample *s) {
  int n = c->info->schema.nparams;
  memset(s, 0, sizeof *s);
  memcpy(s->args, c->given, (size_t)n * sizeof *s->args);
  for (int p = 0; p < n; p++) {
    if (!(c->batched >> p & 1)) continue;
    luc_value *v = &s->args[p];
    if (v->kind == LUC_TENSORS) {
      LUC_TRY(sample_list(ctx, c, p, i, s));
    } else {
      LUC_TRY(select_one(ctx, v->as.tensor->inner, i, &s->owned[p]));
      v->as.tensor = s->owned[p];
    }
  }
  return LUC_OK;
}

/* The results of all samples: rows[r * size + i]. */
typedef struct rows {
  luc_tensor **t;
  int64_t n, size;
  bool list; /* they came as a list */
} rows;

static void rows_free(luc_context *ctx, rows *r) {
  for (int64_t k = 0; r->t && k < r->n * r->size; k++) luc_tensor_release(ctx, r->t[k]);
  if (r->t) luc__free(ctx, r->t, (size_t)(r->n * r->size + 1) * sizeof *r->t);
}

static luc_status keep_results(luc_context *ctx, luc_vcall *c, luc_value *results, int64_t i,
                               rows *r) {
  bool list = results->kind == LUC_TENSORS;
  int64_t n = list ? results->n : c->info->schema.nresults;
  if (!r->t) {
    r->n = n;
    r->list = list;
    r->t = luc__alloc_zero(ctx, (size_t)(n * r->size + 1) * sizeof *r->t);
    if (!r->t) return LUC_ERR_MEMORY;
  }
  if (r->n != n) return luc__vmap_dynamic(ctx, c);
  for (int64_t k = 0; k < n; k++) {
    luc_tensor *t = list ? results->as.tensors[k] : luc_as_tensor(&results[k]);
    luc_tensor *first = r->t[k * r->size];
    if (i > 0 && (!t != !first || (t && !luc__same_sizes(t, first))))
      return luc__vmap_dynamic(ctx, c);
    r->t[k * r->size + i] = t ? luc__retain(t) : NULL;
  }
  return LUC_OK;
}

static luc_status stack(luc_context *ctx, const rows *r, int64_t k, luc_tensor **out) {
  luc_tensor **t = &r->t[k * r->size];
  if (!t[0]) return LUC_OK; /* optional indices */
  return luc__op1(ctx, LUC_OP_stack, out, LUC_ARGS(luc_v_tensors(t, (int)r->size), luc_v_int(0)));
}

static luc_status stack_results(luc_context *ctx, luc_vcall *c, const rows *r) {
  if (!r->list) {
    for (int64_t k = 0; k < r->n; k++) {
      luc_tensor *t = NULL;
      LUC_TRY(stack(ctx, r, k, &t));
      c->out[k] = luc_v_tensor(t);
    }
    return LUC_OK;
  }
  LUC_TRY(luc__list(ctx, (int)r->n, &c->out[0]));
  for (int64_t k = 0; k < r->n; k++) LUC_TRY(stack(ctx, r, k, &c->out[0].as.tensors[k]));
  return LUC_OK;
}

static bool gives_tensors(const luc_schema *schema) {
  for (int r = 0; r < schema->nresults; r++)
    if (schema->result_type[r] > LUC_T_INDEX_TENSOR) return false;
  return true;
}

/* Calls the operator sample by sample into c->out. */
static luc_status run_samples(luc_context *ctx, luc_vcall *c) {
  rows r = {.size = c->level->size};
  luc_status status = LUC_OK;
  LUC_CHECK(ctx, gives_tensors(&c->info->schema), LUC_ERR_STATE,
            "%s: vmap: It looks like you're attempting to use a Tensor in some data-dependent "
            "control flow. We don't support that yet",
            c->info->schema.name);
  LUC_CHECK(ctx, r.size > 0, LUC_ERR_STATE, "%s: vmap: cannot map over a dimension of size 0",
            c->info->schema.name);
  for (int64_t i = 0; i < r.size && status == LUC_OK; i++) {
    luc_value results[LUC_MAX_RESULTS] = {{0}};
    sample s;
    status = sample_of(ctx, c, i, &s);
    if (status == LUC_OK) status = luc_call(ctx, c->op, s.args, c->info->schema.nparams, results);
    sample_free(ctx, &s);
    if (status != LUC_OK) break;
    status = keep_results(ctx, c, results, i, &r);
    for (int k = 0; k < c->info->schema.nresults; k++) luc__value_release(ctx, &results[k]);
  }
  if (status == LUC_OK) status = stack_results(ctx, c, &r);
  rows_free(ctx, &r);
  return status;
}

static luc_status run_samples_inplace(luc_context *ctx, luc_vcall *c) {
  luc_status status = LUC_OK;
  for (int64_t i = 0; i < c->level->size && status == LUC_OK; i++) {
    sample s;
    status = sample_of(ctx, c, i, &s);
    if (status == LUC_OK) status = luc_call_inplace(ctx, c->op, s.args, c->info->schema.nparams);
    sample_free(ctx, &s);
  }
  return status;
}

/* ---- calls ---- */

luc_status luc__vmap_call(luc_context *ctx, luc_opid op, const luc_value *args, luc_value *out) {
  luc_vmap_level *inner = ctx->vmap;
  luc_vmap_rule *rule = luc__ops[op].rule;
  luc_vcall c;
  luc_status status = start(ctx, &c, op, args, out);
  if (status != LUC_OK) goto done;
  ctx->vmap = c.level->outer;
  status = rule ? rule(ctx, &c) : LUC_VMAP_DECLINE;
  if (status == LUC_OK && !c.plain && !well_made(&c)) status = LUC_VMAP_DECLINE;
  if (retryable(status)) {
    drop_results(ctx, &c);
    status = run_samples(ctx, &c);
  }
  if (status == LUC_OK && !c.plain) status = wrap_results(ctx, &c);
done:
  ctx->vmap = inner;
  call_free(ctx, &c);
  return status;
}

luc_status luc__vmap_retry(luc_context *ctx, luc_opid op, const luc_value *args, luc_status failure,
                           luc_value *out) {
  luc_vmap_level *inner = ctx->vmap;
  luc_vcall c;
  int p = luc__schema_find(&luc__op_info(ctx, op)->schema, "inplace");
  bool writes = p >= 0 && args[p].kind == LUC_BOOLEAN && args[p].as.i;
  if (writes || !retryable(failure) || !has_batched(ctx, op, args)) return failure;
  luc_status status = start(ctx, &c, op, args, out);
  if (status == LUC_OK) {
    ctx->vmap = c.level->outer;
    drop_results(ctx, &c);
    status = run_samples(ctx, &c);
    if (status == LUC_OK) status = wrap_results(ctx, &c);
  }
  ctx->vmap = inner;
  call_free(ctx, &c);
  return status;
}

/* The rule of an in-place call; NULL: it is made out of place and the result copied. */
static luc_vmap_rule *rule_inplace(luc_opid op) {
  luc_vmap_rule *rule = luc__ops[op].rule;
  bool both = rule == luc__vmap_pointwise || rule == luc__vmap_masked_fill;
  return both || luc__ops[op].flags & LUC_F_MUTATES ? rule : NULL;
}

/* Is a dtype given to compute in? In place that is self's. */
static bool computes_in(const luc_vcall *c) {
  int p = luc__schema_find(&c->info->schema, "dtype");
  return p >= 0 && c->given[p].kind != LUC_NONE;
}

/* The result of the call out of place, written over self. */
static luc_status call_and_copy(luc_context *ctx, const luc_vcall *c) {
  luc_value args[LUC_MAX_PARAMS], results[LUC_MAX_RESULTS];
  int n = c->info->schema.nparams;
  luc_tensor *self = c->given[0].as.tensor, *before;
  memcpy(args, c->given, (size_t)n * sizeof *args);
  LUC_TRY(luc__unary(ctx, LUC_OP_clone, self, &before)); /* gradients read it as it was */
  args[0] = luc_v_tensor(before);
  luc_status status = luc_call(ctx, c->op, args, n, results);
  luc_tensor_release(ctx, before);
  LUC_TRY(status);
  luc_tensor *result = results[0].as.tensor;
  luc_value preset = luc_v_tensor(self); /* may it be stored there? */
  LUC_GO(luc__out(ctx, &preset, result->dtype, result->ndim, result->sizes, &self));
  status = luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(self), luc_v_tensor(result)));
done:
  luc__value_release(ctx, &results[0]);
  return status;
}

luc_status luc__vmap_inplace(luc_context *ctx, luc_opid op, const luc_value *args) {
  luc_vmap_level *inner = ctx->vmap;
  luc_vmap_rule *rule = rule_inplace(op);
  luc_vcall c;
  luc_status status = start(ctx, &c, op, args, NULL);
  if (status != LUC_OK) goto done;
  if (!(c.batched & 1) && !is_random(op))
    LUC_GO(luc__fail(
        ctx, LUC_ERR_SUPPORT,
        "%s: vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a "
        "Tensor `other` in extra_args that has more elements than `self`: `other` is being vmapped "
        "over but `self` is not. Use the out-of-place form, or make `self` by a function of "
        "`other`'s (other:new_zeros(...))",
        c.info->schema.name));
  if (!rule && !(luc__ops[op].flags & LUC_F_MUTATES) && !computes_in(&c)) {
    status = call_and_copy(ctx, &c);
    goto done;
  }
  ctx->vmap = c.level->outer;
  status = rule ? rule(ctx, &c) : LUC_VMAP_DECLINE;
  if (retryable(status)) status = run_samples_inplace(ctx, &c);
  if (status == LUC_OK && (c.batched & 1))
    args[0].as.tensor->requires_grad = c.args[0].as.tensor->requires_grad;
done:
  ctx->vmap = inner;
  call_free(ctx, &c);
  return status;
}
