/* What all optimizers share: groups, options, lazily made state, and the gathering of everything a
 * fused step needs. A step first makes all that can fail, then updates, so it is all or nothing. */
#include "optim/optimizer.h"

#include <string.h>

#include "base/array.h"
#include "base/float_mode.h"
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "ops/op.h"

static const luc_optim_kind *const kinds[] = {
    &luc__optim_sgd,      &luc__optim_adam,  &luc__optim_adamw,   &luc__optim_adamax,
    &luc__optim_nadam,    &luc__optim_radam, &luc__optim_rmsprop, &luc__optim_adagrad,
    &luc__optim_adadelta, &luc__optim_asgd,  &luc__optim_rprop,   &luc__optim_sparse_adam};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void close_schemas(luc_context *ctx) {
  luc_schema *schemas = ctx->optim;
  if (!schemas) return;
  for (int i = 0; i < KINDS; i++) luc__schema_free(ctx, &schemas[i]);
  luc__free(ctx, schemas, KINDS * sizeof *schemas);
  ctx->optim = NULL;
}

/* A kind's options, parsed when they are first asked for. */
static luc_status schema_of(luc_context *ctx, int kind, const luc_schema **out) {
  if (!ctx->optim) {
    LUC_TRY(luc__context_on_close(ctx, close_schemas));
    ctx->optim = luc__alloc_zero(ctx, KINDS * sizeof **out);
    if (!ctx->optim) return LUC_ERR_MEMORY;
  }
  luc_schema *schema = (luc_schema *)ctx->optim + kind;
  if (!schema->text) LUC_TRY(luc__schema_parse(ctx, kinds[kind]->schema, schema));
  *out = schema;
  return LUC_OK;
}

luc_status luc_optimizer_new(luc_context *ctx, const char *name, luc_optimizer **out) {
  int kind = 0;
  const luc_schema *schema;
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, name);
  while (kind < KINDS && strcmp(kinds[kind]->name, name) != 0) kind++;
  LUC_CHECK(ctx, kind < KINDS, LUC_ERR_VALUE, "optimizer: there is none named '%.40s'", name);
  LUC_TRY(schema_of(ctx, kind, &schema));
  luc_optimizer *o = luc__alloc_zero(ctx, sizeof *o);
  if (!o) return LUC_ERR_MEMORY;
  o->kind = kinds[kind];
  o->schema = schema;
  *out = o;
  return LUC_OK;
}

static void slots_free(luc_context *ctx, luc_optim_slot *slots, int n) {
  for (int i = 0; slots && i < n; i++) {
    luc_tensor_release(ctx, slots[i].param);
    for (int s = 0; s < LUC_MAX_STATES; s++) luc_tensor_release(ctx, slots[i].state[s]);
  }
  luc__free(ctx, slots, (size_t)n * sizeof *slots);
}

static void group_free(luc_context *ctx, luc_optim_group *g) {
  slots_free(ctx, g->slots, g->n);
  luc__free(ctx, g, sizeof *g);
}

void luc_optimizer_free(luc_context *ctx, luc_optimizer *o) {
  if (!o) return;
  for (int i = 0; i < o->ngroups; i++) group_free(ctx, o->groups[i]);
  luc__free(ctx, o->groups, o->capacity * sizeof *o->groups);
  luc__free(ctx, o->updates, o->updates_size);
  luc__free(ctx, o, sizeof *o);
}

/* ---- groups ---- */

/* PyTorch warns of duplicates and updates twice; here both updates would run at once. */
static luc_status fail_twice(luc_context *ctx, const char *who, luc_tensor *const *params, int at) {
  int first = 0;
  while (params[first] != params[at]) first++;
  return luc__fail(ctx, LUC_ERR_VALUE,
                   first == at ? "%s: some parameters appear in more than one parameter group "
                                 "(parameter %d)"
                               : "%s: a parameter group has duplicate parameters (parameter %d)",
                   who, at + 1);
}

luc_status luc__optimizer_check_params(luc_context *ctx, const char *who, bool complex,
                                       luc_set *seen, luc_tensor *const *params, int n) {
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = params[i];
    bool added;
    LUC_CHECK(ctx, luc_tensor_is_leaf(t), LUC_ERR_VALUE,
              "%s: can't optimize a non-leaf Tensor (parameter %d)", who, i + 1);
    LUC_CHECK(ctx, luc__dtype_is_float(t->dtype) || (complex && luc__dtype_is_complex(t->dtype)),
              LUC_ERR_TYPE, "%s: parameter %d has dtype %s, expected a floating point%s one", who,
              i + 1, luc__dtype_name(t->dtype), complex ? " or complex" : "");
    LUC_TRY(luc__set_add(ctx, seen, t, &added));
    if (!added) return fail_twice(ctx, who, params, i);
  }
  return LUC_OK;
}

static luc_status check_params(luc_context *ctx, const luc_optimizer *o, luc_tensor *const *params,
                               int n) {
  const char *kind = o->kind->name;
  luc_set seen = {0};
  luc_status status = LUC_OK;
  bool added;
  LUC_TRY(luc__tensors_check(ctx, kind, "parameter", params, n));
  for (int i = 0; i < n; i++)
    LUC_CHECK(ctx, !o->kind->eager || !luc_tensor_is_uninitialized(params[i]), LUC_ERR_VALUE,
              "%s: parameter %d is uninitialized: call the lazy module with a batch before making "
              "an optimizer whose state begins with it",
              kind, i + 1);
  for (int g = 0; g < o->ngroups; g++)
    for (int i = 0; i < o->groups[g]->n; i++)
      LUC_GO(luc__set_add(ctx, &seen, o->groups[g]->slots[i].param, &added));
  LUC_GO(luc__optimizer_check_params(ctx, kind, true, &seen, params, n));
done:
  luc__set_free(ctx, &seen);
  return status;
}

/* Sets options; lists are copied so that they can be changed. */
static void set_options(const luc_optimizer *o, luc_optim_group *g, const luc_value *options) {
  int used = 0;
  for (int p = 0; p < o->schema->nparams; p++) {
    luc_value *v = &g->options[p];
    *v = options ? options[p] : o->schema->params[p].def;
    if (v->kind != LUC_FLOATS) continue;
    memcpy(g->floats + used, v->as.floats, (size_t)v->n * sizeof *g->floats);
    v->as.floats = g->floats + used;
    used += v->n;
  }
}

static luc_status check_options(luc_context *ctx, const luc_optimizer *o, const luc_value *v) {
  const luc_optim_kind *kind = o->kind;
  int differentiable = luc__schema_find(o->schema, "differentiable");
  LUC_CHECK(ctx, differentiable < 0 || !v[differentiable].as.i, LUC_ERR_SUPPORT,
            "%s: differentiable=True is not supported: steps are not recorded", kind->name);
  for (const luc_optim_limit *l = kind->limits; l->what; l++) {
    const luc_value *option = &v[l->option];
    bool list = option->kind == LUC_FLOATS;
    double value = list ? option->as.floats[l->entry] : luc_as_double(option);
    LUC_CHECK(ctx, value >= l->low && value < l->high, LUC_ERR_VALUE, "%s: Invalid %s: %g",
              kind->name, l->what, value);
  }
  return kind->check ? kind->check(ctx, v) : LUC_OK;
}

static unsigned needed(const luc_optim_kind *kind, const luc_value *options) {
  unsigned all = 0;
  if (kind->needs) return kind->needs(options);
  for (int s = 0; kind->states[s]; s++) all |= 1u << s;
  return all;
}

/* Scalars before step 1, where steps is 0, and after each step, rounded as the tensors of the
 * default dtype that they are in a state dict. */
static void advance(const luc_context *ctx, const luc_optimizer *o, const luc_value *options,
                    luc_optim_slot *slot) {
  if (!o->kind->advance) return;
  o->kind->advance(options, slot->steps, slot->scalar);
  if (ctx->default_dtype == LUC_FLOAT64) return;
  for (int s = 0; s < LUC_MAX_SCALARS; s++) slot->scalar[s] = (double)(float)slot->scalar[s];
}

/* The states these options need, where there are none yet. */
static luc_status make_state(luc_context *ctx, const luc_optimizer *o, const luc_value *options,
                             luc_optim_slot *slot) {
  unsigned needs = needed(o->kind, options);
  if (!slot->state[0]) {
    if (!o->kind->counts && needs & 1) slot->steps = 0; /* its first step with a state */
    advance(ctx, o, options, slot);
  }
  for (int s = 0; s < LUC_MAX_STATES; s++) {
    if (slot->state[s] || !(needs >> s & 1)) continue;
    double first[2] = {0, 0}; /* of a complex parameter each part has a state */
    if (o->kind->initial) first[0] = first[1] = o->kind->initial(options, s);
    luc_element element = {{0, 0}};
    luc__store_complex(&element, slot->param->dtype, first);
    luc_tensor *t;
    LUC_TRY(luc__tensor_empty_like(ctx, slot->param, slot->param->dtype, &t));
    luc_status status = luc__fill_element(ctx, t, &element);
    if (status != LUC_OK) {
      luc_tensor_release(ctx, t);
      return status;
    }
    slot->state[s] = t;
    slot->made |= 1u << s;
  }
  return LUC_OK;
}

/* Ends a step: keeps the states that it made, or drops them if it failed. */
static void settle(luc_context *ctx, luc_optim_group *g, bool stay) {
  for (int i = 0; i < g->n; i++) {
    luc_optim_slot *slot = &g->slots[i];
    for (int s = 0; s < LUC_MAX_STATES && !stay; s++) {
      if (!(slot->made >> s & 1)) continue;
      luc_tensor_release(ctx, slot->state[s]);
      slot->state[s] = NULL;
    }
    slot->made = 0;
  }
}

luc_status luc__optimizer_add_group(luc_context *ctx, luc_optimizer *o, luc_tensor *const *params,
                                    int n, const luc_value *options, int *group) {
  luc_status status = LUC_OK;
  if (options) LUC_TRY(check_options(ctx, o, options));
  LUC_TRY(check_params(ctx, o, params, n));
  luc_optim_group **groups =
      luc__with_room(ctx, o->groups, (size_t)o->ngroups, &o->capacity, sizeof *groups);
  if (!groups) return LUC_ERR_MEMORY;
  o->groups = groups;
  luc_optim_group *g = luc__alloc_zero(ctx, sizeof *g);
  if (!g) return LUC_ERR_MEMORY;
  g->n = n;
  g->slots = luc__alloc_zero(ctx, luc__mul_size((size_t)n, sizeof *g->slots));
  if (!g->slots) LUC_GO(LUC_ERR_MEMORY);
  set_options(o, g, options);
  for (int i = 0; i < n; i++) {
    g->slots[i].param = luc__retain(params[i]);
    if (options && o->kind->eager) LUC_GO(make_state(ctx, o, options, &g->slots[i]));
  }
  settle(ctx, g, true);
  if (group) *group = o->ngroups;
  o->groups[o->ngroups++] = g;
done:
  if (status != LUC_OK) group_free(ctx, g);
  return status;
}

luc_status luc_optimizer_add_group(luc_context *ctx, luc_optimizer *o, luc_tensor *const *params,
                                   int n, int *group) {
  LUC_NEED(ctx, o);
  return luc__optimizer_add_group(ctx, o, params, n, NULL, group);
}

static luc_optim_slot *find_slot(const luc_optim_group *g, const luc_tensor *param, int likely) {
  if (likely < g->n && g->slots[likely].param == param) return &g->slots[likely];
  for (int i = 0; i < g->n; i++)
    if (g->slots[i].param == param) return &g->slots[i];
  return NULL;
}

luc_status luc__optimizer_exchange(luc_context *ctx, luc_optimizer *o, int group,
                                   luc_tensor *const *params, int n) {
  luc_optim_group *g = o->groups[group], had = *g;
  g->n = 0; /* what is in this group may stay in it */
  luc_status status = check_params(ctx, o, params, n);
  g->n = had.n;
  if (status != LUC_OK) return status;
  luc_optim_slot *slots = luc__alloc_zero(ctx, luc__mul_size((size_t)n, sizeof *slots));
  if (!slots) return LUC_ERR_MEMORY;
  for (int i = 0; i < n; i++) {
    if (find_slot(g, params[i], i)) continue;
    slots[i].param = luc__retain(params[i]);
    if (o->kind->eager) LUC_GO(make_state(ctx, o, g->options, &slots[i]));
  }
  for (int i = 0; i < n; i++) {
    luc_optim_slot *kept = slots[i].param ? NULL : find_slot(g, params[i], i);
    if (!kept) continue;
    slots[i] = *kept;
    *kept = (luc_optim_slot){0};
  }
  g->slots = slots, g->n = n;
  settle(ctx, g, true);
  slots = had.slots, n = had.n;
done:
  slots_free(ctx, slots, n);
  return status;
}

void luc__optimizer_take(luc_optimizer *o, int group, const luc_value *options) {
  set_options(o, o->groups[group], options);
}

luc_status luc_optimizer_set(luc_context *ctx, luc_optimizer *o, int group, const char *option,
                             int index, double value) {
  LUC_NEED(ctx, o && option);
  int p = luc__schema_find(o->schema, option);
  LUC_CHECK(ctx, group >= 0 && group < o->ngroups, LUC_ERR_INDEX, "%s: there is no group %d",
            o->kind->name, group);
  LUC_CHECK(ctx, p >= 0, LUC_ERR_VALUE, "%s: unknown option '%.40s'", o->kind->name, option);
  luc_optim_group *g = o->groups[group];
  luc_value old = g->options[p], *v = &g->options[p];
  if (v->kind != LUC_FLOATS && luc_as_double(v) == value && index == 0) return LUC_OK;
  double *item = v->kind == LUC_FLOATS ? &g->floats[v->as.floats - g->floats + index] : NULL;
  LUC_CHECK(ctx, index >= 0 && index < (item ? v->n : 1), LUC_ERR_INDEX,
            "%s: option '%s' has no entry %d", o->kind->name, option, index);
  double before = item ? *item : 0;
  if (item) {
    *item = value;
  } else {
    *v = o->schema->params[p].type == LUC_T_BOOL ? luc_v_bool(value != 0) : luc_v_float(value);
  }
  luc_status status = check_options(ctx, o, g->options);
  if (status == LUC_OK) return LUC_OK;
  if (item) *item = before;
  g->options[p] = old;
  return status;
}

const char *luc_optimizer_option(const luc_optimizer *o, int p) {
  return o && p >= 0 && p < o->schema->nparams ? o->schema->params[p].name : NULL;
}

int luc_optimizer_num_groups(const luc_optimizer *o) {
  return o ? o->ngroups : 0;
}

int luc_optimizer_num_params(const luc_optimizer *o, int group) {
  return o && group >= 0 && group < o->ngroups ? o->groups[group]->n : 0;
}

/* ---- state ---- */

const char *luc_optimizer_state_name(const luc_optimizer *o, int which) {
  return o && which >= 0 && which <= LUC_MAX_STATES ? o->kind->states[which] : NULL;
}

/* What is kept for a parameter; NULL if there is no such one. */
static luc_optim_slot *slot_of(const luc_optimizer *o, int group, int param) {
  bool there = param >= 0 && param < luc_optimizer_num_params(o, group);
  return there ? &o->groups[group]->slots[param] : NULL;
}

static luc_tensor **state_of(const luc_optimizer *o, int group, int param, int which) {
  luc_optim_slot *slot = slot_of(o, group, param);
  return slot && which >= 0 && which < LUC_MAX_STATES ? &slot->state[which] : NULL;
}

static double *scalar_of(const luc_optimizer *o, int group, int param, int which) {
  luc_optim_slot *slot = slot_of(o, group, param);
  return slot && which >= 0 && which < LUC_MAX_SCALARS ? &slot->scalar[which] : NULL;
}

luc_tensor *luc_optimizer_state(const luc_optimizer *o, int group, int param, int which) {
  luc_tensor **state = state_of(o, group, param, which);
  return state ? *state : NULL;
}

/* A parameter's data may have got another shape since its gradient and state were made. */
static luc_status check_shape(luc_context *ctx, const luc_optimizer *o, int param, const char *what,
                              const luc_tensor *t, const luc_tensor *p) {
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, luc__same_sizes(t, p), LUC_ERR_SHAPE,
            "%s: %s of parameter %d has shape %s, the parameter %s", o->kind->name, what, param + 1,
            luc__tensor_shape_text(have, t), luc__tensor_shape_text(want, p));
  return LUC_OK;
}

luc_status luc_optimizer_copy_state(luc_context *ctx, const luc_optimizer *o, int group, int param,
                                    int which, luc_tensor *value, luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, o && value);
  LUC_CHECK(ctx, state_of(o, group, param, which), LUC_ERR_INDEX,
            "%s: there is no state %d of parameter %d in group %d", o->kind->name, which, param,
            group);
  const luc_tensor *p = slot_of(o, group, param)->param;
  LUC_TRY(check_shape(ctx, o, param, o->kind->states[which], value, p));
  LUC_TRY(luc__tensor_empty_like(ctx, p, p->dtype, out));
  luc_status status = luc__copy(ctx, *out, value);
  if (status == LUC_OK) return LUC_OK;
  luc_tensor_release(ctx, *out);
  *out = NULL;
  return status;
}

void luc_optimizer_set_state(luc_context *ctx, luc_optimizer *o, int group, int param, int which,
                             luc_tensor *copy) {
  luc_tensor **state = state_of(o, group, param, which);
  if (!state) return;
  luc_tensor *old = *state;
  *state = copy ? luc__retain(copy) : NULL;
  luc_tensor_release(ctx, old);
}

const char *luc_optimizer_scalar_name(const luc_optimizer *o, int which) {
  return o && which >= 0 && which <= LUC_MAX_SCALARS ? o->kind->scalars[which] : NULL;
}

double luc_optimizer_scalar(const luc_optimizer *o, int group, int param, int which) {
  double *scalar = scalar_of(o, group, param, which);
  return scalar ? *scalar : 0;
}

void luc_optimizer_set_scalar(luc_optimizer *o, int group, int param, int which, double value) {
  double *scalar = scalar_of(o, group, param, which);
  if (scalar) *scalar = value;
}

int64_t luc_optimizer_steps(const luc_optimizer *o, int group, int param) {
  luc_optim_slot *slot = slot_of(o, group, param);
  return slot ? slot->steps : 0;
}

void luc_optimizer_set_steps(luc_optimizer *o, int group, int param, int64_t steps) {
  luc_optim_slot *slot = slot_of(o, group, param);
  if (slot) slot->steps = steps;
}

/* ---- the step ---- */

/* The tensors of one parameter as a kernel takes them: contiguous, of one dtype; complex ones as
 * twice as many real numbers. Where that is what they are, the tensors themselves. */
typedef struct operands {
  luc_tensor *param, *grad, *state[LUC_MAX_STATES];
} operands;

static void operands_release(luc_context *ctx, operands *t) {
  LUC_RELEASE(ctx, t->param, t->grad);
  for (int s = 0; s < LUC_MAX_STATES; s++) luc_tensor_release(ctx, t->state[s]);
  *t = (operands){0};
}

/* Halves, which the kernel converts, stay as they are if all of them are such: a parameter that
 * became one after its state was made keeps that in floats. */
static luc_dtype operands_dtype(const luc_optim_slot *slot, unsigned needs) {
  const luc_dtype dtype = slot->param->dtype;
  if (dtype == LUC_FLOAT64 || luc__dtype_is_complex(dtype)) return dtype;
  bool halves = dtype == LUC_FLOAT16 || dtype == LUC_BFLOAT16;
  for (int s = 0; s < LUC_MAX_STATES; s++)
    if (needs >> s & 1) halves = halves && slot->state[s]->dtype == dtype;
  return halves ? dtype : LUC_FLOAT32;
}

static luc_status operands_get(luc_context *ctx, luc_optim_slot *slot, unsigned needs,
                               operands *t) {
  const luc_dtype dtype = operands_dtype(slot, needs);
  LUC_TRY(luc__contiguous_as(ctx, slot->param, dtype, &t->param));
  LUC_TRY(luc__contiguous_as(ctx, luc_tensor_grad(slot->param), dtype, &t->grad));
  for (int s = 0; s < LUC_MAX_STATES; s++)
    if (needs >> s & 1) LUC_TRY(luc__contiguous_as(ctx, slot->state[s], dtype, &t->state[s]));
  return LUC_OK;
}

static luc_update update_of(const luc_optim_slot *slot, luc_optim_rows rows, const operands *t) {
  luc_dtype dtype = t->param->dtype;
  luc_update u = {.dtype = luc__dtype_to_real(dtype),
                  .n = luc__dtype_is_complex(dtype) ? 2 * t->param->numel : t->param->numel,
                  .param = t->param->data,
                  .grad = t->grad->data,
                  .step = slot->steps + 1};
  const luc_rows *known = rows == LUC_ROWS_ALL ? NULL : luc__rows_of(t->grad);
  if (u.n > 0 && (known || rows == LUC_ROWS_LEFT))
    u.width = t->param->ndim > 0 ? u.n / t->param->sizes[0] : u.n;
  if (u.n > 0 && known) u.rows = known->at, u.nrows = known->n;
  for (int s = 0; s < LUC_MAX_STATES; s++) u.state[s] = t->state[s] ? t->state[s]->data : NULL;
  memcpy(u.scalar, slot->scalar, sizeof u.scalar);
  return u;
}

/* Copies what was converted for the kernel back, and advances scalars. Nothing here can fail:
 * copying between two existing tensors of one shape takes no memory. */
static void write_back(luc_context *ctx, const luc_optimizer *o, const luc_value *options,
                       luc_optim_slot *slot, const operands *t) {
  if (t->param != slot->param) (void)luc__copy(ctx, slot->param, t->param);
  for (int s = 0; s < LUC_MAX_STATES; s++)
    if (t->state[s] && t->state[s] != slot->state[s])
      (void)luc__copy(ctx, slot->state[s], t->state[s]);
  slot->param->storage->version++;
  slot->steps++;
  advance(ctx, o, options, slot);
}

static luc_status reserve_updates(luc_context *ctx, luc_optimizer *o, int n) {
  size_t size = (size_t)n * (sizeof(luc_update) + sizeof(operands));
  if (size <= o->updates_size) return LUC_OK;
  luc_update *grown = luc__realloc(ctx, o->updates, o->updates_size, size);
  if (!grown) return LUC_ERR_MEMORY;
  o->updates = grown;
  o->updates_size = size;
  return LUC_OK;
}

/* Everything of one group that can fail; its updates go to `updates`, *count of them. */
static luc_status gather(luc_context *ctx, luc_optimizer *o, luc_optim_group *g,
                         luc_update *updates, operands *held, int *count) {
  unsigned needs = needed(o->kind, g->options);
  luc_optim_rows rows = o->kind->rows ? o->kind->rows(g->options) : LUC_ROWS_ALL;
  *count = 0;
  for (int i = 0; i < g->n; i++) {
    const luc_tensor *param = g->slots[i].param, *grad = luc_tensor_grad(param);
    if (!grad) continue;
    LUC_CHECK(ctx, !luc__is_frozen(ctx, param), LUC_ERR_STATE,
              "%s: parameter %d: " LUC_INFERENCE_WRITTEN, o->kind->name, i + 1);
    LUC_TRY(check_shape(ctx, o, i, "grad", grad, param));
    LUC_TRY(make_state(ctx, o, g->options, &g->slots[i]));
    for (int s = 0; s < LUC_MAX_STATES; s++)
      if (needs >> s & 1)
        LUC_TRY(check_shape(ctx, o, i, o->kind->states[s], g->slots[i].state[s], param));
    LUC_TRY(operands_get(ctx, &g->slots[i], needs, &held[i]));
    updates[(*count)++] = update_of(&g->slots[i], rows, &held[i]);
  }
  return LUC_OK;
}

/* Nothing here can fail. */
static void update_group(luc_context *ctx, luc_optimizer *o, luc_optim_group *g,
                         luc_update *updates, const operands *held) {
  double numbers[LUC_MAX_PARAMS + LUC_SCHEMA_FLOATS] = {0}, *next = numbers;
  for (int i = 0; i < o->kind->ntakes; i++) {
    const luc_value *v = &g->options[o->kind->takes[i]];
    if (v->kind != LUC_FLOATS) *next++ = luc_as_double(v);
    for (int k = 0; v->kind == LUC_FLOATS && k < v->n; k++) *next++ = v->as.floats[k];
  }
  luc__optim_step(ctx, o->kind->rule, numbers, updates, g->gathered);
  for (int i = 0; i < g->n; i++)
    if (held[i].param) write_back(ctx, o, g->options, &g->slots[i], &held[i]);
}

luc_status luc_optimizer_step(luc_context *ctx, luc_optimizer *o) {
  int total = 0, at = 0;
  LUC_NEED(ctx, o);
  for (int g = 0; g < o->ngroups; g++) total += o->groups[g]->n;
  if (total == 0) return LUC_OK;
  LUC_TRY(reserve_updates(ctx, o, total));
  operands *held = (operands *)(void *)(o->updates + total);
  luc_status status = LUC_OK;
  memset(held, 0, (size_t)total * sizeof *held);
  for (int g = 0; g < o->ngroups; at += o->groups[g++]->n)
    LUC_GO(gather(ctx, o, o->groups[g], o->updates + at, held + at, &o->groups[g]->gathered));
  at = 0;
  const luc_float_mode own = luc__float_enter();
  for (int g = 0; g < o->ngroups; at += o->groups[g++]->n)
    update_group(ctx, o, o->groups[g], o->updates + at, held + at);
  luc__float_leave(own);
done:
  for (int i = 0; i < total; i++) operands_release(ctx, &held[i]);
  for (int g = 0; g < o->ngroups; g++) settle(ctx, o->groups[g], status == LUC_OK);
  return status;
}

luc_status luc_optimizer_zero_grad(luc_context *ctx, luc_optimizer *o, bool set_to_none) {
  luc_scalar zero = {LUC_SCALAR_INT, {.i = 0}};
  LUC_NEED(ctx, o);
  for (int g = 0; g < o->ngroups; g++)
    for (int i = 0; i < o->groups[g]->n; i++) {
      luc_tensor *param = o->groups[g]->slots[i].param, *grad = luc_tensor_grad(param);
      if (!grad) continue;
      if (set_to_none) {
        LUC_TRY(luc_tensor_set_grad(ctx, param, NULL));
      } else {
        LUC_TRY(luc__fill(ctx, grad, zero));
        grad->storage->version++;
      }
    }
  return LUC_OK;
}
