/* The operator table itself, and its parsed form in each context. */
#include "ops/rows.h"
#include "ops/vmap_rules.h"

#include <string.h>

const luc_op luc__ops[LUC_NUM_OPS] = {
#define LUC_OP(id, schema, run, grad, saves, ...)                                                  \
  {#id, schema, run, grad, saves, .flags = __VA_ARGS__},
#include "ops/ops.def"
#undef LUC_OP
};

/* Is `name` one of the space-separated words of `list`? *reader gets what follows its ':'. */
static bool has_word(const char *list, const char *name, const char **reader) {
  size_t n = strlen(name);
  for (const char *w = list; *w; w += strspn(w, " ")) {
    size_t length = strcspn(w, " "), stem = strcspn(w, " :");
    *reader = w[stem] == ':' ? w + stem + 1 : NULL;
    if (stem == n && !memcmp(w, name, n)) return true;
    w += length;
  }
  return false;
}

/* The parameter whose name `word` begins with, as a mask; 0 for NULL. */
static uint32_t reader_mask(const luc_schema *s, const char *word) {
  for (int i = 0; word && i < s->nparams; i++) {
    size_t n = strlen(s->params[i].name);
    if (!strncmp(word, s->params[i].name, n) && (word[n] == ' ' || !word[n])) return 1u << i;
  }
  return 0;
}

static luc_status init_row(luc_context *ctx, const luc_op *row, luc_op_info *info) {
  LUC_TRY(luc__schema_parse(ctx, row->schema, &info->schema));
  const luc_schema *s = &info->schema;
  info->list_param = -1;
  for (int i = 0; i < s->nparams; i++) {
    int type = s->params[i].type;
    if (type == LUC_T_DTYPE) info->dtype_params |= 1u << i;
    if (type != LUC_T_TENSOR && type != LUC_T_INDEX_TENSOR && type != LUC_T_OPERAND) continue;
    info->tensor_params |= 1u << i;
    if (s->params[i].list) info->list_param = (int8_t)i;
    const char *reader;
    if (!has_word(row->saves, s->params[i].name, &reader)) continue;
    info->save_args |= 1u << i;
    info->save_for[i] = reader_mask(s, reader);
  }
  for (int i = 0; i < s->nresults; i++) {
    const char *reader;
    if (!has_word(row->saves, s->result_name[i] ? s->result_name[i] : "result", &reader)) continue;
    info->save_results |= 1u << i;
    info->keep_for[i] = reader_mask(s, reader);
  }
  return LUC_OK;
}

static void ops_free(luc_context *ctx) {
  luc_op_info *infos = ctx->ops;
  if (!infos) return;
  for (int i = 0; i < LUC_NUM_OPS; i++) luc__schema_free(ctx, &infos[i].schema);
  luc__free(ctx, infos, sizeof *infos * LUC_NUM_OPS);
  ctx->ops = NULL;
}

luc_status luc__ops_init(luc_context *ctx) {
  if (ctx->ops) return LUC_OK;
  LUC_TRY(luc__context_on_close(ctx, ops_free));
  luc_op_info *infos = luc__alloc_zero(ctx, sizeof *infos * LUC_NUM_OPS);
  if (!infos) return LUC_ERR_MEMORY;
  ctx->ops = infos;
  ctx->autocast_dtype = LUC_BFLOAT16;
  ctx->autocast_cache = true;
  for (int i = 0; i < LUC_NUM_OPS; i++) {
    luc_status status = init_row(ctx, &luc__ops[i], &infos[i]);
    if (status == LUC_OK) continue;
    ops_free(ctx);
    return status;
  }
  return LUC_OK;
}
