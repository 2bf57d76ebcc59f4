/* What Python's repr prints for a module. One text is written from the outside in, over an explicit
 * stack; ModuleList compares the text of each child with the one before and folds equal runs. The
 * host's code may run meanwhile and change the tree: modules on the stack are held. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "nn/module.h"

/* ---- values ---- */

static void put_float(luc_text *text, double f) {
  char buf[LUC_FLOAT_TEXT];
  luc__float_text(buf, f);
  luc__text_puts(text, buf);
}

static void put_int(luc_text *text, const luc_param *param, int64_t i) {
  bool position = param != NULL && (param->type == LUC_T_DIM || param->type == LUC_T_INDEX ||
                                    param->type == LUC_T_DIMS);
  luc__text_printf(text, "%lld", (long long)(i + (position && i >= 0)));
}

static void put_list(luc_text *text, const luc_param *param, const luc_value *v) {
  luc__text_puts(text, "(");
  for (int i = 0; i < v->n; i++) {
    if (i > 0) luc__text_puts(text, ", ");
    if (v->kind == LUC_FLOATS)
      put_float(text, v->as.floats[i]);
    else if (v->as.ints[i] == LUC_NO_ITEM)
      luc__text_puts(text, "None");
    else
      put_int(text, param, v->as.ints[i]);
  }
  luc__text_puts(text, v->n == 1 ? ",)" : ")");
}

/* A constructor argument as Python writes it: 3, (1, 2), 'none', True. */
static void put_value(luc_text *text, const luc_param *param, const luc_value *v) {
  switch (v->kind) {
  case LUC_BOOLEAN: luc__text_puts(text, v->as.i != 0 ? "True" : "False"); break;
  case LUC_INT: put_int(text, param, v->as.i); break;
  case LUC_FLOAT: put_float(text, v->as.f); break;
  case LUC_STRING: luc__text_printf(text, "'%s'", v->as.string); break;
  case LUC_INTS:
  case LUC_FLOATS: put_list(text, param, v); break;
  case LUC_DTYPE: luc__text_printf(text, "torch.%s", luc__dtype_name((luc_dtype)v->as.i)); break;
  default: luc__text_puts(text, "None");
  }
}

static bool same_value(const luc_value *a, const luc_value *b) {
  if (a->kind != b->kind) {
    bool numbers = (a->kind == LUC_INT || a->kind == LUC_FLOAT) &&
                   (b->kind == LUC_INT || b->kind == LUC_FLOAT);
    return numbers && luc_as_double(a) == luc_as_double(b);
  }
  if (a->kind == LUC_STRING) return strcmp(a->as.string, b->as.string) == 0;
  if (a->kind == LUC_FLOAT) return a->as.f == b->as.f;
  if (a->kind == LUC_INTS)
    return a->n == b->n && memcmp(a->as.ints, b->as.ints, (size_t)a->n * sizeof *a->as.ints) == 0;
  return a->kind == LUC_NONE || a->as.i == b->as.i;
}

/* ---- extra_repr ---- */

/* An argument as it is now: `bias` says whether the parameter is there, as in PyTorch. */
static luc_value current(const luc_module *m, const char *name, int p) {
  luc_slot slot;
  const luc_map_entry *e =
      m->config[p].kind == LUC_BOOLEAN ? luc__slot_find(m, name, strlen(name), &slot) : NULL;
  return e != NULL ? luc_v_bool(e->value != NULL) : m->config[p];
}

static void put_size(luc_text *text, const luc_tensor *t) {
  for (int d = 0; d < t->ndim; d++)
    luc__text_printf(text, d > 0 ? "x%lld" : "%lld", (long long)t->sizes[d]);
}

/* A line for each entry; PyTorch's lists name the dtype, its dictionaries the type. */
static void put_entries(luc_text *text, const luc_module *m) {
  bool list = (m->cls->core->def->flags & LUC_CF_SEQUENCE) != 0;
  luc_map_entry *e;
  int i = 0;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_PARAMETER], &at)) != NULL; i++) {
    const luc_tensor *t = e->value;
    if (i > 0) luc__text_puts(text, "\n");
    luc__text_printf(text, "  (%s): ", e->key);
    if (t == NULL) {
      luc__text_puts(text, "Object of type: NoneType");
      continue;
    }
    luc__text_puts(text, "Parameter containing: [torch.");
    if (list)
      luc__text_puts(text, luc__dtype_name(t->dtype));
    else
      luc__text_printf(text, "%sTensor", luc__dtype_title(t->dtype));
    luc__text_puts(text, " of size ");
    put_size(text, t);
    luc__text_puts(text, "]");
  }
}

/* Interprets the class's repr column: "+name ?name name", "%name" for strings without quotes. */
void luc__text_extra_repr(luc_text *text, const luc_module *m) {
  const luc_class *c = luc__config_class(m->cls->core);
  size_t before = text->length;
  if ((c->def->flags & LUC_CF_ENTRIES) != 0) put_entries(text, m);
  if (m->config == NULL) return;
  for (const char *at = c->def->repr; *at != '\0';) {
    char mark = *at == '+' || *at == '?' ? *at++ : ' ', name[64];
    bool bare = *at == '%' && *at++;
    size_t n = strcspn(at, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, at);
    at += n;
    at += strspn(at, " ");
    int p = luc__schema_find(c->constructor, name);
    if (p < 0) continue;
    const luc_param *param = &c->constructor->params[p];
    luc_value value = current(m, name, p);
    if (mark == '?' && same_value(&value, &param->def)) continue;
    if (text->length > before) luc__text_puts(text, ", ");
    if (mark != '+') luc__text_printf(text, "%s=", name);
    if (bare && value.kind == LUC_STRING)
      luc__text_puts(text, value.as.string);
    else
      put_value(text, param, &value);
  }
}

/* ---- the tree ---- */

/* Deeper modules are written "Name(...)": a line is indented by its depth, so the text of a chain
 * grows with the square of its length. (Python gives up before.) */
enum { MAX_LEVELS = 2000 };

typedef struct level {
  luc_module *m;
  uint32_t position;
  int indent;      /* indentation of its children's lines */
  bool open;       /* a line break stands after "Name(" */
  size_t child_at; /* where the last child's line break stands */
  size_t repr_at;  /* where its repr begins */
  /* ModuleList: the run of equal children before it. */
  size_t run_at, run_repr, run_length; /* its line break, its repr, that one's length */
  int run_first, run_count;
  int index;    /* children written */
  bool written; /* the child written last has not been compared with the one before */
} level;

typedef struct printer {
  luc_context *ctx;
  luc_text text;
  level *levels;
  uint32_t depth;
  size_t capacity;
} printer;

static luc_status push(printer *p, luc_module *m, int indent) {
  level *levels = luc__with_room(p->ctx, p->levels, p->depth, &p->capacity, sizeof *levels);
  if (levels == NULL) return LUC_ERR_MEMORY;
  p->levels = levels;
  p->levels[p->depth++] = (level){.m = luc__module_ref(m), .indent = indent};
  return LUC_OK;
}

static void pop(printer *p) {
  luc__module_unref(p->ctx, p->levels[--p->depth].m);
}

static void new_line(printer *p, int indent) {
  luc__text_puts(&p->text, "\n");
  luc__text_fill(&p->text, ' ', indent);
}

static bool folds(const level *l) {
  return (l->m->cls->core->def->flags & LUC_CF_FOLD) != 0;
}

static luc_status describe(printer *p, luc_module *m, luc_description *d) {
  const luc_host *host = &luc__nn_of(p->ctx)->host;
  if (host->describe != NULL && m->peer != NULL) LUC_TRY(host->describe(p->ctx, host->ud, m, d));
  if (!d->has_extra && !d->whole) luc__text_extra_repr(&d->extra, m);
  return d->extra.status != LUC_OK ? d->extra.status : d->name.status;
}

/* "Name(" and the extra lines of the module that was pushed. */
static void open_level(printer *p, const luc_description *d) {
  level *l = &p->levels[p->depth - 1];
  const char *name = d->has_name ? d->name.data : l->m->cls->name;
  luc__text_printf(&p->text, "%s(", name != NULL ? name : "");
  if (d->extra.length == 0 || folds(l)) return;
  l->open = l->m->slots[LUC_SLOT_CHILD].count > 0 || strchr(d->extra.data, '\n') != NULL;
  if (l->open) new_line(p, l->indent);
  luc__text_indented(&p->text, d->extra.data, l->indent);
}

/* Writes a module whose text the host gave or that lies too deep; pushes any other. */
static luc_status begin(printer *p, luc_module *m, int indent) {
  luc_description d = {0};
  if (p->depth == MAX_LEVELS && m->slots[LUC_SLOT_CHILD].count > 0) {
    luc__text_printf(&p->text, "%s(...)", m->cls->name);
    return LUC_OK;
  }
  LUC_TRY(push(p, m, indent + 2));
  luc__text_init(&d.name, p->ctx);
  luc__text_init(&d.extra, p->ctx);
  luc_status status = describe(p, m, &d);
  if (status == LUC_OK && d.whole) {
    if (d.extra.length > 0) luc__text_indented(&p->text, d.extra.data, indent);
    pop(p);
  } else if (status == LUC_OK) {
    open_level(p, &d);
  }
  luc__text_drop(&d.name);
  luc__text_drop(&d.extra);
  return status;
}

/* Writes "(0-2): 3 x " for the "(0): " of a run that has ended; what follows moves. */
static void close_run(printer *p, level *l) {
  luc_text *text = &p->text;
  if (l->run_count < 2 || text->status != LUC_OK) return;
  char head[64];
  size_t n = (size_t)snprintf(head, sizeof head, "(%d-%d): %d x ", l->run_first,
                              l->run_first + l->run_count - 1, l->run_count);
  size_t at = l->run_at + 1 + (size_t)l->indent, rest = text->length - l->run_repr;
  size_t longer = at + n - l->run_repr;
  luc__text_fill(text, ' ', (int64_t)longer);
  if (text->status != LUC_OK) return;
  memmove(text->data + at + n, text->data + l->run_repr, rest);
  memcpy(text->data + at, head, n);
  l->child_at += longer;
  l->repr_at += longer;
}

/* A child of a ModuleList is written: equal to the one before it, it only makes the run longer. */
static void fold(printer *p, level *l) {
  luc_text *text = &p->text;
  l->written = false;
  if (text->status != LUC_OK) return;
  size_t length = text->length - l->repr_at;
  bool equal = l->run_count > 0 && length == l->run_length &&
               memcmp(text->data + l->run_repr, text->data + l->repr_at, length) == 0;
  if (equal) {
    l->run_count++;
    text->length = l->child_at; /* back to before its line break */
    text->data[text->length] = '\0';
    return;
  }
  close_run(p, l);
  l->run_at = l->child_at;
  l->run_repr = l->repr_at;
  l->run_length = length;
  l->run_first = l->index - 1;
  l->run_count = 1;
}

static void end(printer *p) {
  level *l = &p->levels[p->depth - 1];
  if (folds(l)) close_run(p, l);
  if (l->open) new_line(p, l->indent - 2);
  luc__text_puts(&p->text, ")");
  pop(p);
}

/* The next child of the module on top, or its end. */
static luc_status step(printer *p) {
  level *l = &p->levels[p->depth - 1];
  if (folds(l) && l->written) fold(p, l);
  luc_map_entry *e = luc__map_next(&l->m->slots[LUC_SLOT_CHILD], &l->position);
  if (e == NULL) {
    end(p);
    return LUC_OK;
  }
  l->written = true;
  l->open = true;
  l->child_at = p->text.length;
  new_line(p, l->indent);
  if (folds(l))
    luc__text_printf(&p->text, "(%d): ", l->index);
  else
    luc__text_printf(&p->text, "(%s): ", e->key);
  l->index++;
  l->repr_at = p->text.length;
  if (e->value != NULL) return begin(p, e->value, l->indent);
  luc__text_puts(&p->text, "None");
  return LUC_OK;
}

luc_status luc_module_text(luc_context *ctx, luc_module *m, char **out, size_t *size) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m && size);
  printer p = {.ctx = ctx};
  luc__text_init(&p.text, ctx);
  luc_status status = begin(&p, m, 0);
  while (status == LUC_OK && p.text.status == LUC_OK && p.depth > 0) status = step(&p);
  while (p.depth > 0) pop(&p);
  luc__free(ctx, p.levels, p.capacity * sizeof *p.levels);
  if (status == LUC_OK) return luc__text_finish(&p.text, out, size);
  luc__text_drop(&p.text);
  *out = NULL;
  return status;
}
