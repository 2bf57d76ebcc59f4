/* The table of classes. A row is read (schemas parsed, operator looked up) when its class is first
 * asked for, so that starting costs nothing. Classes made by the binding are counted; those of the
 * table live as long as the context. */
#include "nn/class.h"

#include <stdio.h>
#include <string.h>

#include "nn/module.h"

/* The forward of every LUC_LAYER. */
static luc_status call_op(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out);

static const luc_class_def rows[] = {
#define LUC_CLASS(name, parent, constructor, forward, build, run, repr, version, flags)            \
  {#name, #parent, constructor, forward, build, run, NULL, repr, version, flags},
#define LUC_LAYER(name, parent, constructor, forward, op, repr, build)                             \
  {#name, #parent, constructor, forward, build, call_op, op, repr, 1, 0},
#include "nn/classes.def"
#undef LUC_CLASS
#undef LUC_LAYER
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

const luc_class_def *luc__class_row(int i) {
  return i >= 0 && i < NUM_ROWS ? &rows[i] : NULL;
}

luc_status luc__build_nothing(luc_context *ctx, luc_module *m) {
  (void)ctx, (void)m;
  return LUC_OK;
}

luc_status luc__no_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  (void)args, (void)out;
  const int flags = m->cls->core->def->flags;
  LUC_CHECK(ctx, !(flags & LUC_CF_ENTRIES), LUC_ERR_STATE, "%s should not be called.",
            m->cls->name);
  const char *walk = flags & LUC_CF_FOLD ? " (ipairs walks it)" : "";
  if (flags & LUC_CF_KEYED) walk = " (pairs walks it)";
  return luc__fail(ctx, LUC_ERR_STATE, "Module [%s] is missing the required \"forward\" function%s",
                   m->cls->name, walk);
}

/* ---- the context's state ---- */

static void free_class(luc_context *ctx, luc_class *c) {
  if (c->constructor != NULL) luc__schema_free(ctx, c->constructor);
  if (c->forward != NULL) luc__schema_free(ctx, c->forward);
  luc__free(ctx, c->constructor, sizeof *c->constructor);
  luc__free(ctx, c->forward, sizeof *c->forward);
  c->constructor = c->forward = NULL;
}

static void free_host_class(luc_context *ctx, luc_class *c) {
  *c->place = c->next;
  if (c->next != NULL) c->next->place = c->place;
  luc__free(ctx, c, sizeof *c + strlen(c->name) + 1);
}

static void nn_close(luc_context *ctx) {
  luc_nn *nn = ctx->nn;
  if (nn == NULL) return; /* its allocation failed */
  luc__modules_close(ctx);
  while (nn->made != NULL) free_host_class(ctx, nn->made);
  for (int i = 0; i < NUM_ROWS; i++) free_class(ctx, &nn->classes[i]);
  luc__free(ctx, nn->classes, NUM_ROWS * sizeof *nn->classes);
  luc__free(ctx, nn, sizeof *nn);
  ctx->nn = NULL;
}

static luc_nn *nn_new(luc_context *ctx) {
  if (luc__ops_init(ctx) != LUC_OK || luc__context_on_close(ctx, nn_close) != LUC_OK) return NULL;
  luc_nn *nn = luc__alloc_zero(ctx, sizeof *nn);
  if (nn == NULL) return NULL;
  nn->classes = luc__alloc_zero(ctx, NUM_ROWS * sizeof *nn->classes);
  if (nn->classes == NULL) {
    luc__free(ctx, nn, sizeof *nn);
    return NULL;
  }
  return nn;
}

luc_nn *luc__nn(luc_context *ctx) {
  if (ctx->nn == NULL) ctx->nn = nn_new(ctx);
  return ctx->nn;
}

/* ---- reading a row ---- */

/* Parses "Name(params) -> result". */
static luc_status parse(luc_context *ctx, const char *name, const char *params, const char *result,
                        luc_schema **out) {
  luc_text text;
  luc__text_init(&text, ctx);
  luc__text_printf(&text, "%s(%s)%s", name, params, result);
  luc_schema *schema = luc__alloc_zero(ctx, sizeof *schema);
  luc_status status = schema == NULL ? LUC_ERR_MEMORY : text.status;
  if (status == LUC_OK) status = luc__schema_parse(ctx, text.data, schema);
  luc__text_drop(&text);
  if (status != LUC_OK) luc__free(ctx, schema, sizeof *schema);
  if (status == LUC_OK) *out = schema;
  return status;
}

/* forward is written "params -> result"; the parenthesis goes before the arrow. */
static luc_status parse_forward(luc_context *ctx, const luc_class_def *def, luc_schema **out) {
  const char *arrow = strstr(def->forward_schema, "->");
  if (arrow == NULL) return parse(ctx, def->name, def->forward_schema, " -> Tensor", out);
  size_t length = (size_t)(arrow - def->forward_schema);
  char *params = luc__alloc(ctx, length + 1), result[96];
  if (params == NULL) return LUC_ERR_MEMORY;
  memcpy(params, def->forward_schema, length);
  params[length] = '\0';
  snprintf(result, sizeof result, " %s", arrow);
  luc_status status = parse(ctx, def->name, params, result, out);
  luc__free(ctx, params, length + 1);
  return status;
}

static bool named(const char *name, const char *word, size_t length) {
  return strlen(name) == length && memcmp(name, word, length) == 0;
}

static int find_param(const luc_schema *schema, const char *word, size_t length) {
  for (int i = 0; i < schema->nparams; i++)
    if (named(schema->params[i].name, word, length)) return i;
  return -1;
}

/* What one word of "op(words)" stands for. */
static bool read_source(const luc_class *c, const char *word, size_t length, luc_source *out) {
  *out = (luc_source){0};
  if (length == 1 && *word == '_') return true;
  if (*word == '$') {
    *out = (luc_source){LUC_FROM_SLOT, 0, word + 1, length - 1};
    return true;
  }
  int i = find_param(c->forward, word, length);
  if (i >= 0) {
    *out = (luc_source){LUC_FROM_INPUT, (uint8_t)i, NULL, 0};
    return true;
  }
  i = find_param(c->constructor, word, length);
  if (i >= 0) *out = (luc_source){LUC_FROM_CONFIG, (uint8_t)i, NULL, 0};
  if (i < 0 && named("training", word, length)) {
    *out = (luc_source){LUC_FROM_TRAINING, 0, NULL, 0};
    return true;
  }
  return i >= 0;
}

static luc_status read_plan(luc_context *ctx, luc_class *c) {
  const char *text = c->def->op, *open = strchr(text, '(');
  size_t length = (size_t)(open - text);
  c->op = -1;
  for (int i = 0; i < LUC_NUM_OPS && c->op < 0; i++)
    if (named(luc__ops[i].name, text, length)) c->op = i;
  LUC_CHECK(ctx, c->op >= 0, LUC_ERR_SUPPORT, "%s: operator '%.*s' is not built in", c->name,
            (int)length, text);
  c->nsources = 0;
  for (const char *at = open + 1; *at != ')';) {
    size_t n = strcspn(at, " ,)");
    LUC_CHECK(ctx, c->nsources < LUC_MAX_PARAMS && read_source(c, at, n, &c->sources[c->nsources]),
              LUC_ERR_VALUE, "%s: unknown argument '%.*s' of %s", c->name, (int)n, at, text);
    c->nsources++;
    at += n;
    at += strspn(at, " ,");
  }
  return LUC_OK;
}

static luc_forward_fn with_relu(luc_forward_fn forward) {
#define WHICH(name)                                                                                \
  if (forward == luc__##name##_forward) return luc__##name##_relu_forward;
  LUC_WITH_RELU(WHICH)
#undef WHICH
  return NULL;
}

static luc_status read_row(luc_context *ctx, int i) {
  luc_nn *nn = luc__nn_of(ctx);
  luc_class *c = &nn->classes[i];
  const luc_class_def *def = &rows[i];
  const luc_class *parent = NULL;
  if (*def->parent != '\0') LUC_TRY(luc__class_find(ctx, def->parent, &parent));
  *c = (luc_class){.name = def->name,
                   .parent = parent,
                   .def = def,
                   .core = c,
                   .version = def->version,
                   .op = -1,
                   .with_relu = with_relu(def->forward)};
  luc_status status = parse(ctx, def->name, def->constructor, " -> None", &c->constructor);
  if (status == LUC_OK) status = parse_forward(ctx, def, &c->forward);
  if (status == LUC_OK) {
    c->inplace_param = luc__schema_find(c->constructor, "inplace");
    c->dtype_param = luc__schema_find(c->constructor, "dtype");
    if (def->op != NULL) status = read_plan(ctx, c);
  }
  if (status != LUC_OK) {
    free_class(ctx, c);
    c->def = NULL;
  }
  return status;
}

luc_status luc__class_find(luc_context *ctx, const char *name, const luc_class **out) {
  luc_nn *nn = luc__nn(ctx);
  if (nn == NULL) return LUC_ERR_MEMORY;
  for (int i = 0; i < NUM_ROWS; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    *out = &nn->classes[i];
    return nn->classes[i].def != NULL ? LUC_OK : read_row(ctx, i);
  }
  return luc__fail(ctx, LUC_ERR_VALUE, "nn: there is no class '%s'", name);
}

/* ---- classes made by the binding ---- */

luc_status luc__class_new(luc_context *ctx, const char *name, const luc_class *parent,
                          luc_class **out) {
  size_t size = strlen(name) + 1;
  luc_class *c = luc__alloc_zero(ctx, sizeof *c + size);
  if (c == NULL) return LUC_ERR_MEMORY;
  char *copy = (char *)(c + 1);
  memcpy(copy, name, size);
  *c = (luc_class){.name = copy,
                   .parent = parent,
                   .core = parent->core,
                   .def = parent->core->def,
                   .host = true,
                   .refs = 1,
                   .version = parent->version,
                   .op = -1};
  luc__class_retain(parent);
  luc_nn *nn = ctx->nn; /* it exists, since the parent is in it */
  c->next = nn->made;
  c->place = &nn->made;
  if (c->next != NULL) c->next->place = &c->next;
  *out = nn->made = c;
  return LUC_OK;
}

void luc__class_retain(const luc_class *c) {
  if (c->host) ((luc_class *)c)->refs++;
}

void luc__class_release(luc_context *ctx, const luc_class *c) {
  while (c != NULL && c->host) {
    luc_class *mine = (luc_class *)c;
    if (--mine->refs > 0) return;
    c = mine->parent;
    free_host_class(ctx, mine);
  }
}

bool luc__class_is(const luc_class *c, const luc_class *ancestor) {
  for (; c != NULL; c = c->parent)
    if (c == ancestor) return true;
  return false;
}

/* ---- layers that call one operator ---- */

enum { MAX_LIST = 8 };
typedef struct op_args {
  luc_value v[LUC_MAX_PARAMS];
  int64_t ints[LUC_MAX_PARAMS][MAX_LIST];
} op_args;

/* A number kept as given becomes the float or the list that the operator takes. */
static void widen(op_args *a, int i, const luc_param *param) {
  if (a->v[i].kind != LUC_INT) return;
  if (param->list == 0) {
    if (param->type == LUC_T_FLOAT) a->v[i] = luc_v_float((double)a->v[i].as.i);
    return;
  }
  int n = param->list > 0 && param->list <= MAX_LIST ? param->list : 1;
  for (int k = 0; k < n; k++) a->ints[i][k] = a->v[i].as.i;
  a->v[i] = luc_v_ints(a->ints[i], n);
}

static luc_value fetch(const luc_module *m, const luc_source *s, const luc_value *args,
                       const luc_param *param) {
  if (s->from == LUC_FROM_INPUT) return args[s->index];
  if (s->from == LUC_FROM_CONFIG) return m->config[s->index];
  if (s->from == LUC_FROM_TRAINING) return luc_v_bool(m->training);
  if (s->from == LUC_FROM_DEFAULT) return param->def;
  return luc_v_tensor(luc__slot_tensor(m, s->slot, s->length));
}

static luc_status call_op(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  const luc_class *c = m->cls->core;
  while (c->op < 0) c = c->parent; /* a class written in C may descend from a layer */
  const luc_schema *schema = &luc__op_info(ctx, (luc_opid)c->op)->schema;
  op_args a;
  for (int i = 0; i < c->nsources; i++) {
    a.v[i] = fetch(m, &c->sources[i], args, &schema->params[i]);
    widen(&a, i, &schema->params[i]);
    if (a.v[i].kind == LUC_NONE && !schema->params[i].optional)
      return luc__fail(ctx, LUC_ERR_TYPE, "%s: '%s' is missing", m->cls->name,
                       schema->params[i].name);
  }
  if (c->inplace_param >= 0 && m->config[c->inplace_param].as.i != 0 &&
      (luc__ops[c->op].flags & LUC_F_INPLACE) != 0) {
    LUC_TRY(luc_call_inplace(ctx, (luc_opid)c->op, a.v, c->nsources));
    *out = (luc_outputs){1, {luc_v_tensor(luc__retain(a.v[0].as.tensor))}};
    return LUC_OK;
  }
  luc_value results[LUC_MAX_RESULTS];
  LUC_TRY(luc_call(ctx, (luc_opid)c->op, a.v, c->nsources, results));
  out->n = schema->nresults;
  for (int i = 0; i < out->n; i++) out->v[i] = results[i];
  while (out->n > 1 && out->v[out->n - 1].kind == LUC_NONE)
    out->n--; /* trailing results that were not asked for, such as indices */
  return LUC_OK;
}
