/* The schema notation's parser, and what is asked of a parsed schema: defaults, names, choices.
 * One copy of the text is cut up in place, so a schema is a single small block. */
#include "ops/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numerals.h"
#include "tensor/text.h"

/* ORDER TYPE */
static const char *const type_names[] = {"Tensor",  "IndexTensor", "Operand", "Scalar", "int",
                                         "Dim",     "Index",       "Size",    "Dims",   "float",
                                         "bool",    "str",         "dtype",   "device", "Generator",
                                         "Padding", "DimPair",     "Any",     "None"};
_Static_assert(sizeof type_names / sizeof *type_names == LUC_T_COUNT, "ORDER TYPE");

typedef struct parser {
  luc_context *ctx;
  luc_schema *schema;
  const char *source; /* the text as given, for messages */
  char *at;
} parser;

static luc_status fail_at(parser *p, const char *expected) {
  int place = (int)(p->at - p->schema->text);
  return luc__fail(p->ctx, LUC_ERR_VALUE, "schema '%s': expected %s at character %d", p->source,
                   expected, place + 1);
}

static void skip_spaces(parser *p) {
  while (*p->at == ' ' || *p->at == '\n') p->at++;
}

static bool accept(parser *p, const char *token) {
  skip_spaces(p);
  size_t n = strlen(token);
  if (strncmp(p->at, token, n) != 0) return false;
  p->at += n;
  return true;
}

/* The dot of a name in a table of its own: linalg.det. */
static bool is_name(char c) {
  return c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '_';
}

/* Takes a name; the character after it is consumed later, so the caller writes the NUL. */
static char *take_name(parser *p, size_t *length) {
  skip_spaces(p);
  char *start = p->at;
  while (is_name(*p->at)) p->at++;
  *length = (size_t)(p->at - start);
  return *length ? start : NULL;
}

static int find_type(const char *name, size_t length) {
  for (int t = 0; t < LUC_T_COUNT; t++)
    if (strlen(type_names[t]) == length && !memcmp(type_names[t], name, length)) return t;
  return -1;
}

static luc_status parse_type(parser *p, luc_param *param) {
  size_t length;
  char *name = take_name(p, &length);
  int type = name ? find_type(name, length) : -1;
  if (type < 0) return fail_at(p, "a type");
  param->type = (uint8_t)type;
  if (type == LUC_T_SIZE || type == LUC_T_DIMS) param->list = -1;
  if (type == LUC_T_STR && *p->at == '(') {
    param->choices = ++p->at;
    while (*p->at && *p->at != ')') p->at++;
    if (!*p->at) return fail_at(p, "')'");
    *p->at++ = '\0';
  }
  bool mark = accept(p, "?");
  if (*p->at == '[') {
    p->at++;
    param->list = (int8_t)(*p->at == ']' ? -1 : strtol(p->at, &p->at, 10));
    if (*p->at++ != ']') return fail_at(p, "']'");
    param->optional_items = mark;
    mark = accept(p, "?");
  }
  param->optional = mark;
  return LUC_OK;
}

static luc_status parse_int_list(parser *p, luc_param *param) {
  luc_schema *s = p->schema;
  int first = s->nints;
  while (!accept(p, "]")) {
    char *end;
    long v = strtol(p->at, &end, 10);
    if (end == p->at || s->nints == LUC_SCHEMA_INTS) return fail_at(p, "an integer");
    s->ints[s->nints++] = v;
    p->at = end;
    accept(p, ",");
  }
  param->def = luc_v_ints(s->ints + first, s->nints - first);
  return LUC_OK;
}

static luc_status parse_float_list(parser *p, luc_param *param) {
  luc_schema *s = p->schema;
  int first = s->nfloats;
  while (!accept(p, "]")) {
    char *end;
    double v = strtod(p->at, &end);
    if (end == p->at || s->nfloats == LUC_SCHEMA_FLOATS) return fail_at(p, "a number");
    s->floats[s->nfloats++] = v;
    p->at = end;
    accept(p, ",");
  }
  param->def =
      (luc_value){.kind = LUC_FLOATS, .n = s->nfloats - first, .as.floats = s->floats + first};
  return LUC_OK;
}

/* `int[2] stride=1` means [1, 1]. */
static luc_status repeat_default(parser *p, luc_param *param, int64_t value) {
  luc_schema *s = p->schema;
  int n = param->list;
  if (s->nints + n > LUC_SCHEMA_INTS) return fail_at(p, "fewer list defaults");
  for (int i = 0; i < n; i++) s->ints[s->nints + i] = value;
  param->def = luc_v_ints(s->ints + s->nints, n);
  s->nints = (uint8_t)(s->nints + n);
  return LUC_OK;
}

static luc_status parse_number(parser *p, luc_param *param) {
  char *end_int, *end_float;
  long long i = strtoll(p->at, &end_int, 10);
  double f = strtod(p->at, &end_float);
  if (end_float == p->at) return fail_at(p, "a default");
  bool whole = end_int == end_float;
  p->at = end_float;
  if (whole && param->list > 0 && param->type != LUC_T_FLOAT) return repeat_default(p, param, i);
  bool as_float = !whole || param->type == LUC_T_FLOAT;
  param->whole = whole;
  param->def = as_float ? luc_v_float(f) : luc_v_int(i);
  return LUC_OK;
}

static luc_status parse_default(parser *p, luc_param *param) {
  param->has_default = true;
  if (accept(p, "None")) {
    param->def = luc_v_none();
  } else if (accept(p, "True")) {
    param->def = luc_v_bool(true);
  } else if (accept(p, "False")) {
    param->def = luc_v_bool(false);
  } else if (accept(p, "[")) {
    bool floats = param->type == LUC_T_FLOAT;
    return floats ? parse_float_list(p, param) : parse_int_list(p, param);
  } else if (accept(p, "'")) {
    param->def = luc_v_string(p->at);
    while (*p->at && *p->at != '\'') p->at++;
    if (!*p->at) return fail_at(p, "a quote");
    *p->at++ = '\0';
  } else if (param->type == LUC_T_DTYPE) {
    size_t length;
    char name[16];
    const char *start = take_name(p, &length);
    luc_dtype dtype;
    if (!start || length >= sizeof name) return fail_at(p, "a dtype");
    memcpy(name, start, length);
    name[length] = '\0';
    if (!luc__dtype_find(name, &dtype)) return fail_at(p, "a dtype");
    param->def = luc_v_dtype(dtype);
  } else {
    return parse_number(p, param);
  }
  return LUC_OK;
}

/* One parameter and the ',' or ')' after it; *last says which. */
static luc_status parse_param(parser *p, bool keyword_only, bool *last) {
  luc_schema *s = p->schema;
  if (s->nparams == LUC_MAX_PARAMS) return fail_at(p, "fewer parameters");
  luc_param *param = &s->params[s->nparams];
  param->keyword_only = keyword_only;
  LUC_TRY(parse_type(p, param));
  size_t length;
  char *name = take_name(p, &length);
  if (!name) return fail_at(p, "a parameter name");
  param->name = name;
  if (accept(p, "=")) LUC_TRY(parse_default(p, param));
  skip_spaces(p);
  *last = *p->at == ')';
  if (*p->at != ',' && !*last) return fail_at(p, "',' or ')'");
  p->at++;
  name[length] = '\0'; /* the '=', ',' or ')' after the name has been read */
  s->nparams++;
  if (!keyword_only) s->npositional = s->nparams;
  return LUC_OK;
}

static luc_status parse_params(parser *p) {
  bool keyword_only = false, last = false;
  if (accept(p, ")")) return LUC_OK;
  while (!last) {
    if (accept(p, "*")) {
      keyword_only = true;
      if (!accept(p, ",")) return fail_at(p, "','");
    } else {
      LUC_TRY(parse_param(p, keyword_only, &last));
    }
  }
  return LUC_OK;
}

/* One result; of a named list also its name and the ',' or ')' after it, told by *last. */
static luc_status parse_result(parser *p, bool named, bool *last) {
  luc_schema *s = p->schema;
  luc_param result = {0};
  if (s->nresults == LUC_MAX_RESULTS) return fail_at(p, "fewer results");
  LUC_TRY(parse_type(p, &result));
  if (result.type == LUC_T_NONE) return LUC_OK;
  s->result_type[s->nresults] = result.type;
  s->result_list |= result.list != 0;
  if (named) {
    size_t length;
    char *name = take_name(p, &length);
    if (!name) return fail_at(p, "a result name");
    skip_spaces(p);
    *last = *p->at == ')';
    if (*p->at != ',' && !*last) return fail_at(p, "',' or ')'");
    p->at++;
    name[length] = '\0';
    s->result_name[s->nresults] = name;
  }
  s->nresults++;
  return LUC_OK;
}

static luc_status parse_results(parser *p) {
  bool last = false;
  if (!accept(p, "->")) return *p->at ? fail_at(p, "'->'") : LUC_OK;
  if (!accept(p, "(")) return parse_result(p, false, &last);
  while (!last) LUC_TRY(parse_result(p, true, &last));
  return LUC_OK;
}

luc_status luc__schema_parse(luc_context *ctx, const char *text, luc_schema *out) {
  size_t size = strlen(text) + 1;
  memset(out, 0, sizeof *out);
  out->text = luc__alloc(ctx, size);
  if (!out->text) return LUC_ERR_MEMORY;
  out->text_size = size;
  memcpy(out->text, text, size);
  parser p = {ctx, out, text, out->text};
  size_t length;
  char *name = take_name(&p, &length);
  luc_status status = name && *p.at == '(' ? LUC_OK : fail_at(&p, "name(");
  if (status == LUC_OK) {
    *p.at++ = '\0';
    out->name = name;
    luc_numerals numerals = luc__numerals_begin();
    status = parse_params(&p);
    luc__numerals_end(numerals);
  }
  if (status == LUC_OK) status = parse_results(&p);
  if (status != LUC_OK) luc__schema_free(ctx, out);
  return status;
}

void luc__schema_free(luc_context *ctx, luc_schema *schema) {
  luc__free(ctx, schema->text, schema->text_size);
  schema->text = NULL;
}

int luc__schema_find(const luc_schema *schema, const char *name) {
  for (int i = 0; i < schema->nparams; i++)
    if (!strcmp(schema->params[i].name, name)) return i;
  return -1;
}

const char *luc__schema_closest(const luc_schema *schema, const char *name) {
  const char *closest = NULL;
  int best = (int)strlen(name) / 2 + 1;
  for (int i = 0; i < schema->nparams; i++) {
    int d = luc__miss(name, schema->params[i].name);
    if (d < best) {
      best = d;
      closest = schema->params[i].name;
    }
  }
  return closest;
}

luc_status luc__schema_defaults(luc_context *ctx, const luc_schema *schema, luc_value *args,
                                int given) {
  for (int i = given; i < schema->nparams; i++) {
    const luc_param *param = &schema->params[i];
    LUC_CHECK(ctx, param->has_default, LUC_ERR_TYPE, "%s: missing argument '%s'", schema->name,
              param->name);
    args[i] = param->def;
  }
  return LUC_OK;
}

/* "'none', 'mean' or 'sum'" from "none|mean|sum". */
static void choices_text(char *buf, size_t size, const char *choices) {
  size_t used = 0;
  buf[0] = '\0';
  while (*choices && used < size) {
    size_t n = strcspn(choices, "|");
    const char *rest = choices + n;
    const char *after = !*rest ? "" : strchr(rest + 1, '|') ? ", " : " or ";
    used += (size_t)snprintf(buf + used, size - used, "'%.*s'%s", (int)n, choices, after);
    choices = *rest ? rest + 1 : rest;
  }
}

luc_status luc__choice(luc_context *ctx, const char *param, const char *choices, const char *given,
                       int *out) {
  size_t length = strlen(given);
  int position = 0;
  for (const char *c = choices; *c; position++) {
    size_t n = strcspn(c, "|");
    if (n == length && !memcmp(c, given, n)) {
      *out = position;
      return LUC_OK;
    }
    c += n + (c[n] == '|');
  }
  char allowed[256];
  choices_text(allowed, sizeof allowed, choices);
  return luc__fail(ctx, LUC_ERR_VALUE, "%s must be %s (got '%.40s')", param, allowed, given);
}

const char *luc__param_type_text(char *buf, const luc_param *param) {
  char list[8] = "";
  bool implied = param->type == LUC_T_SIZE || param->type == LUC_T_DIMS;
  if (param->list > 0) snprintf(list, sizeof list, "[%d]", param->list);
  if (param->list < 0 && !implied) snprintf(list, sizeof list, "[]");
  snprintf(buf, LUC_TYPE_TEXT, "%s%s%s%s", type_names[param->type],
           param->optional_items ? "?" : "", list, param->optional ? "?" : "");
  return buf;
}
