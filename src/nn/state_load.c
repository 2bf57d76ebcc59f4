/* Loading a state dict. Everything is checked, and converted where it needs it, before anything is
 * written; where hooks of C code take part, values must be in place before the later of them run,
 * and a snapshot takes the rest back. The lines of errors are PyTorch's. */
#include <string.h>

#include "base/array.h"
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"

/* ---- lists of names ---- */

void luc_names_free(luc_context *ctx, luc_names *names) {
  if (names == NULL) return;
  for (size_t i = 0; i < names->n; i++)
    luc__free(ctx, names->items[i], strlen(names->items[i]) + 1);
  luc__free(ctx, names->items, names->capacity * sizeof *names->items);
  *names = (luc_names){0};
}

luc_status luc__names_add(luc_context *ctx, luc_names *names, const char *name, size_t length) {
  char **items = luc__with_room(ctx, names->items, names->n, &names->capacity, sizeof *items);
  if (items == NULL) return LUC_ERR_MEMORY;
  names->items = items;
  char *copy = luc__alloc(ctx, length + 1);
  if (copy == NULL) return LUC_ERR_MEMORY;
  memcpy(copy, name, length);
  copy[length] = '\0';
  names->items[names->n++] = copy;
  return LUC_OK;
}

luc_status luc_names_add(luc_context *ctx, luc_names *names, const char *name) {
  LUC_NEED(ctx, names && name);
  return luc__names_add(ctx, names, name, strlen(name));
}

void luc_names_remove(luc_context *ctx, luc_names *names, size_t i) {
  if (names == NULL || i >= names->n) return;
  luc__free(ctx, names->items[i], strlen(names->items[i]) + 1);
  names->n--;
  memmove(names->items + i, names->items + i + 1, (names->n - i) * sizeof *names->items);
}

/* ---- the loader ---- */

/* One tensor to be written: into `target`, or (assign) in place of it. */
typedef struct copy {
  luc_tensor *target, *value; /* value: owned; of the target's dtype, or what takes its place */
  luc_module *owner;
  luc_slot slot;
  uint32_t entry;
  bool requires_grad; /* as the target has it */
  bool lazy;          /* target has no shape yet: it takes value's memory */
} copy;

typedef struct loader {
  luc_context *ctx;
  const luc_state_dict *sd;
  bool assign;
  int version; /* of the module at hand, as saved; -1: none */
  luc_names *missing, *unexpected, *errors;
  luc_text prefix; /* of the module at hand */
  luc_text name;   /* scratch: a full name */
  luc_text line;   /* scratch: an error */
  copy *copies;
  size_t ncopies, capacity;
  bool taking;     /* registration hooks see what is assigned: … */
  luc_names taken; /* … the slots' names, aligned with copies, which they may change */
} loader;

static void begin(loader *l, luc_context *ctx, const luc_state_dict *sd, bool assign) {
  *l = (loader){.ctx = ctx, .sd = sd, .assign = assign};
  l->taking = assign && luc__nn_of(ctx)->registration != NULL;
  luc__text_init(&l->prefix, ctx);
  luc__text_init(&l->name, ctx);
  luc__text_init(&l->line, ctx);
}

static void drop_copies(loader *l) {
  for (size_t i = 0; i < l->ncopies; i++) luc_tensor_release(l->ctx, l->copies[i].value);
  l->ncopies = 0;
  luc_names_free(l->ctx, &l->taken);
}

static void end(loader *l) {
  drop_copies(l);
  luc__free(l->ctx, l->copies, l->capacity * sizeof *l->copies);
  luc__text_drop(&l->prefix);
  luc__text_drop(&l->name);
  luc__text_drop(&l->line);
}

static luc_status add_copy(loader *l, copy c) {
  const luc_map_entry *e = &c.owner->slots[c.slot].entries[c.entry];
  if (l->taking) LUC_TRY(luc__names_add(l->ctx, &l->taken, e->key, e->length));
  copy *copies = luc__with_room(l->ctx, l->copies, l->ncopies, &l->capacity, sizeof *copies);
  if (copies == NULL) return LUC_ERR_MEMORY;
  l->copies = copies;
  l->copies[l->ncopies++] = c;
  return LUC_OK;
}

/* prefix + name in l->name. */
static luc_status full_name(loader *l, const char *name, size_t length) {
  l->name.length = 0;
  luc__text_append(&l->name, l->prefix.data, l->prefix.length);
  luc__text_append(&l->name, name, length);
  return l->name.status;
}

/* ---- what can be wrong with a value ---- */

static luc_status add_line(loader *l) {
  LUC_TRY(l->line.status);
  return luc__names_add(l->ctx, l->errors, l->line.data, l->line.length);
}

static void put_size(luc_text *text, const luc_tensor *t) {
  luc__text_puts(text, "torch.Size([");
  for (int i = 0; i < t->ndim; i++)
    luc__text_printf(text, "%s%lld", i > 0 ? ", " : "", (long long)t->sizes[i]);
  luc__text_puts(text, "])");
}

static luc_status size_error(loader *l, const luc_tensor *value, const luc_tensor *target) {
  l->line.length = 0;
  luc__text_printf(&l->line, "size mismatch for %s: copying a param with shape ", l->name.data);
  put_size(&l->line, value);
  luc__text_puts(&l->line, " from checkpoint, the shape in current model is ");
  put_size(&l->line, target);
  luc__text_puts(&l->line, ".");
  return add_line(l);
}

static luc_status type_error(loader *l, const char *type) {
  l->line.length = 0;
  luc__text_printf(&l->line,
                   "While copying the parameter named \"%s\", expected torch.Tensor or "
                   "Tensor-like object from checkpoint but received %s",
                   l->name.data, type);
  return add_line(l);
}

static luc_status copy_error(loader *l, const luc_tensor *value, const luc_tensor *target,
                             const char *reason) {
  l->line.length = 0;
  luc__text_printf(&l->line,
                   "While copying the parameter named \"%s\", whose dimensions in the model are ",
                   l->name.data);
  put_size(&l->line, target);
  luc__text_puts(&l->line, " and whose dimensions in the checkpoint are ");
  put_size(&l->line, value);
  luc__text_printf(&l->line, ", an exception occurred : ('%s',).", reason);
  return add_line(l);
}

/* Says why a value of the right shape cannot go to the target; NULL if it can. */
static const char *obstacle(const loader *l, const luc_tensor *value, const luc_tensor *target) {
  if (l->assign) {
    bool fits = !target->requires_grad || luc__dtype_has_gradient(value->dtype);
    return fits ? NULL : "Only Tensors of floating point and complex dtype can require gradients";
  }
  if (luc__is_frozen(l->ctx, target)) return LUC_INFERENCE_WRITTEN;
  return !luc__overlaps_itself(target)
             ? NULL
             : "unsupported operation: more than one element of the written-to tensor refers to a "
               "single memory location. Please clone() the tensor before performing the operation.";
}

/* What takes the target's place: the value itself where it is of the right kind. */
static luc_status replacement(loader *l, luc_tensor *value, const copy *c, luc_tensor **out) {
  bool parameter = (value->flags & LUC_TF_PARAMETER) != 0;
  bool same = parameter == (c->slot == LUC_SLOT_PARAMETER) && luc_tensor_is_leaf(value);
  if (same) {
    *out = luc_tensor_retain(value);
    return LUC_OK;
  }
  LUC_TRY(luc__tensor_alias(l->ctx, value, out));
  (*out)->flags = (uint8_t)((*out)->flags | (c->target->flags & LUC_TF_PARAMETER));
  return LUC_OK;
}

static luc_status plan(loader *l, luc_tensor *value, copy c) {
  const char *reason = obstacle(l, value, c.target);
  if (!luc__same_sizes(value, c.target)) return size_error(l, value, c.target);
  if (reason != NULL) return copy_error(l, value, c.target, reason);
  if (l->assign)
    LUC_TRY(replacement(l, value, &c, &c.value));
  else
    LUC_TRY(luc__contiguous_as(l->ctx, value, c.target->dtype, &c.value));
  luc_status status = add_copy(l, c);
  if (status != LUC_OK) luc_tensor_release(l->ctx, c.value);
  return status;
}

/* A target without a shape takes the value's, in memory of its own. A value without a shape says
 * nothing to such a target, and cannot go into another one. */
static luc_status plan_lazy(loader *l, luc_tensor *value, copy c) {
  if (!luc_tensor_is_uninitialized(c.target)) {
    l->line.length = 0;
    luc__text_printf(&l->line,
                     "While copying the parameter named \"%s\": Can't access the shape of an "
                     "uninitialized parameter or buffer. This error usually happens in "
                     "`load_state_dict` when trying to load an uninitialized parameter into an "
                     "initialized module. Call `forward` to initialize the parameters before "
                     "accessing their attributes.",
                     l->name.data);
    return add_line(l);
  }
  if (luc_tensor_is_uninitialized(value)) return LUC_OK;
  c.lazy = true;
  bool floats = luc__dtype_has_gradient(luc_tensor_dtype(value));
  luc_dtype dtype = luc_tensor_dtype(l->assign && floats ? value : c.target);
  luc_status status = luc__tensor_empty_like(l->ctx, value, dtype, &c.value);
  if (status == LUC_OK) status = luc__copy(l->ctx, c.value, value);
  if (status == LUC_OK) status = add_copy(l, c);
  if (status != LUC_OK) luc_tensor_release(l->ctx, c.value);
  return status;
}

/* A 0-d target takes the first element of a 1-d value, as old checkpoints have it. */
static luc_status plan_any(loader *l, luc_tensor *value, copy c) {
  luc_tensor *first;
  if (luc_tensor_is_uninitialized(value) || luc_tensor_is_uninitialized(c.target))
    return plan_lazy(l, value, c);
  if (c.target->ndim != 0 || value->ndim != 1 || value->sizes[0] < 1) return plan(l, value, c);
  LUC_TRY(luc__tensor_view(l->ctx, value, 0, value->sizes, value->strides, value->offset, &first));
  luc_status status = plan(l, first, c);
  luc_tensor_release(l->ctx, first);
  return status;
}

/* ---- one module ---- */

/* A batch norm saved before version 2 has no num_batches_tracked: the live one stays. */
static bool is_upgraded(const loader *l, const luc_module *m, const char *key) {
  return m->cls->version >= 2 && l->version < 2 && strcmp(key, "num_batches_tracked") == 0;
}

static luc_status load_slot(loader *l, luc_module *m, luc_slot slot) {
  luc_map *map = &m->slots[slot];
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
    if (e->value == NULL) continue;
    if (slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(m, e->key, e->length)) continue;
    LUC_TRY(full_name(l, e->key, e->length));
    const char *type;
    luc_tensor *value = luc__state_find(l->sd, l->name.data, l->name.length, &type);
    luc_tensor *target = e->value;
    copy c = {.target = target,
              .owner = m,
              .slot = slot,
              .entry = (uint32_t)(e - map->entries),
              .requires_grad = target->requires_grad};
    if (value != NULL)
      LUC_TRY(plan_any(l, value, c));
    else if (type != NULL)
      LUC_TRY(type_error(l, type));
    else if (!is_upgraded(l, m, e->key))
      LUC_TRY(luc__names_add(l->ctx, l->missing, l->name.data, l->name.length));
  }
  return LUC_OK;
}

/* Before 0.4 instance norms had running statistics by default. Is key one of those that a module
 * which tracks none now finds in a state without versions? */
static bool is_dropped(const loader *l, const luc_module *m, const char *key) {
  if (strcmp(key, "running_mean") != 0 && strcmp(key, "running_var") != 0) return false;
  const luc_value *tracks = luc_module_config(m, "track_running_stats");
  return l->version < 0 && tracks != NULL && tracks->as.i == 0 &&
         strncmp(m->cls->core->name, "InstanceNorm", 12) == 0;
}

static luc_status report_dropped(loader *l, const luc_module *m) {
  static const char *const keys[] = {"running_mean", "running_var"};
  const char *type, *cls = m->cls->name;
  luc_text *line = &l->line;
  bool any = false;
  if (!is_dropped(l, m, keys[0])) return LUC_OK;
  line->length = 0;
  luc__text_puts(line, "Unexpected running stats buffer(s) ");
  for (int i = 0; i < 2; i++) {
    LUC_TRY(full_name(l, keys[i], strlen(keys[i])));
    if (luc__state_find(l->sd, l->name.data, l->name.length, &type) == NULL && type == NULL)
      continue;
    luc__text_printf(line, "%s\"%s\"", any ? " and " : "", l->name.data);
    any = true;
  }
  luc__text_printf(line,
                   " for %s with track_running_stats=False. If state_dict is a checkpoint saved "
                   "before 0.4.0, this may be expected because %s does not track running stats by "
                   "default since 0.4.0. Please remove these keys from state_dict. If the running "
                   "stats are actually needed, instead set track_running_stats=True in %s to "
                   "enable them. See the documentation of %s for details.",
                   cls, cls, cls, cls);
  return any ? add_line(l) : LUC_OK;
}

/* Does m itself account for the rest of a key below its prefix? What follows a dot must be under
 * one of its children; an empty slot swallows all. */
static bool is_known(const loader *l, const luc_module *m, const char *rest) {
  size_t n = strcspn(rest, ".");
  luc_slot slot = LUC_SLOT_CHILD;
  luc_map_entry *e = luc__slot_find(m, rest, n, &slot);
  if (rest[n] == '.') return e != NULL && slot == LUC_SLOT_CHILD;
  if (is_dropped(l, m, rest)) return true;
  return e != NULL && e->value != NULL && slot != LUC_SLOT_CHILD &&
         (slot != LUC_SLOT_BUFFER || luc__slot_is_persistent(m, rest, n));
}

#define EXTRA "_extra_state"

static luc_status find_unexpected(loader *l, const luc_module *m) {
  luc_context *ctx = l->ctx;
  const luc_map_entry *e;
  const char *type;
  LUC_TRY(full_name(l, EXTRA, sizeof EXTRA - 1)); /* before the tensors, as in PyTorch's list */
  if (luc__state_find(l->sd, l->name.data, l->name.length, &type) != NULL || type != NULL)
    LUC_TRY(luc__names_add(ctx, l->unexpected, l->name.data, l->name.length));
  for (uint32_t at = 0; (e = luc__state_next(l->sd, &at)) != NULL;) {
    if (strncmp(e->key, l->prefix.data, l->prefix.length) != 0) continue;
    const char *rest = e->key + l->prefix.length;
    if (strcmp(rest, EXTRA) == 0 || is_known(l, m, rest)) continue;
    LUC_TRY(luc__names_add(ctx, l->unexpected, e->key, e->length));
  }
  return LUC_OK;
}

/* ---- writing ---- */

/* Everything that may fail when tensors are put in the place of others. */
static luc_status prepare_assign(loader *l) {
  const luc_host *host = &luc__nn_of(l->ctx)->host;
  for (size_t i = 0; l->assign && i < l->ncopies; i++) {
    const copy *c = &l->copies[i];
    luc_map_entry *e = &c->owner->slots[c->slot].entries[c->entry];
    if (c->lazy) continue;
    if (c->target->requires_grad && !c->value->requires_grad) {
      LUC_TRY(luc_tensor_set_requires_grad(l->ctx, c->value, true)); /* makes room for a gradient */
      c->value->requires_grad = false;
    }
    if (c->owner->peer != NULL && host->edge != NULL)
      LUC_TRY(host->edge(l->ctx, host->ud, c->owner, c->slot, e->key, e->length, c->value));
  }
  return LUC_OK;
}

/* As an assignment in Lua: registration hooks may fail, or change anything. */
static luc_status take_all(loader *l) {
  for (size_t i = 0; i < l->ncopies; i++) {
    const copy *c = &l->copies[i];
    if (c->lazy) {
      luc__tensor_initialize(l->ctx, c->target, c->value);
      continue;
    }
    if (c->slot == LUC_SLOT_PARAMETER) c->value->requires_grad = c->requires_grad;
    LUC_TRY(luc__slot_take(l->ctx, c->owner, c->slot, l->taken.items[i], c->value, true));
  }
  drop_copies(l);
  return LUC_OK;
}

static luc_status commit(loader *l) {
  if (l->taking) return take_all(l);
  for (size_t i = 0; i < l->ncopies; i++) {
    const copy *c = &l->copies[i];
    if (c->lazy) {
      luc__tensor_initialize(l->ctx, c->target, c->value);
    } else if (l->assign) {
      luc_map_entry *e = &c->owner->slots[c->slot].entries[c->entry];
      luc_tensor *old = e->value; /* a shared module comes twice: not always the target */
      if (c->slot == LUC_SLOT_PARAMETER) c->value->requires_grad = c->requires_grad;
      e->value = luc_tensor_retain(c->value);
      luc_tensor_release(l->ctx, old);
    } else if (c->target->data != c->value->data) {
      LUC_TRY(luc__copy(l->ctx, c->target, c->value)); /* of one dtype: this only moves bytes */
      c->target->storage->version++;
    }
  }
  drop_copies(l);
  return LUC_OK;
}

luc_status luc__load_own(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                         const char *prefix, int version, bool assign, luc_names *missing,
                         luc_names *unexpected, luc_names *errors) {
  loader l;
  luc_status status;
  begin(&l, ctx, sd, assign);
  l.version = version;
  l.missing = missing;
  l.unexpected = unexpected;
  l.errors = errors;
  luc__text_puts(&l.prefix, prefix);
  LUC_GO(l.prefix.status);
  LUC_GO(report_dropped(&l, m));
  LUC_GO(load_slot(&l, m, LUC_SLOT_PARAMETER));
  LUC_GO(load_slot(&l, m, LUC_SLOT_BUFFER));
  LUC_GO(find_unexpected(&l, m));
  LUC_GO(prepare_assign(&l));
  LUC_GO(commit(&l));
done:
  end(&l);
  return status;
}

/* ---- the error ---- */

static void put_names(luc_text *text, const char *what, const luc_names *names) {
  if (names->n == 0) return;
  luc__text_printf(text, "\n\t%s key(s) in state_dict: ", what);
  for (size_t i = 0; i < names->n; i++)
    luc__text_printf(text, "%s\"%s\"", i > 0 ? ", " : "", names->items[i]);
  luc__text_puts(text, ". ");
}

luc_status luc__load_check(luc_context *ctx, const luc_module *m, bool strict,
                           const luc_names *missing, const luc_names *unexpected,
                           const luc_names *errors) {
  luc_text text;
  if (errors->n == 0 && (!strict || missing->n + unexpected->n == 0)) return LUC_OK;
  luc__text_init(&text, ctx);
  luc__text_printf(&text, "Error(s) in loading state_dict for %s:", m->cls->name);
  if (strict) {
    put_names(&text, "Missing", missing);
    put_names(&text, "Unexpected", unexpected);
  }
  for (size_t i = 0; i < errors->n; i++) luc__text_printf(&text, "\n\t%s", errors->items[i]);
  const luc_names none = {0};
  luc__load_hints(&text, strict ? missing : &none, strict ? unexpected : &none, errors);
  luc_status status = text.status;
  if (status == LUC_OK) status = luc__fail_long(ctx, LUC_ERR_VALUE, text.data);
  luc__text_drop(&text);
  return status;
}

/* ---- trees ---- */

/* Is some key of the state under no module of the tree, by the rules of is_known? */
static bool any_unexpected(loader *l, const luc_module *root) {
  const luc_map_entry *entry;
  for (uint32_t at = 0; (entry = luc__state_next(l->sd, &at)) != NULL;) {
    const luc_module *m = root;
    for (const char *rest = entry->key; m != NULL; rest += strcspn(rest, ".") + 1) {
      size_t n = strcspn(rest, ".");
      luc_map_entry *e = luc__map_find(&m->slots[LUC_SLOT_CHILD], rest, n);
      bool down = rest[n] == '.' && e != NULL;
      if (!down && (rest[n] == '.' || !is_known(l, m, rest))) return true;
      m = down ? e->value : NULL;
    }
  }
  return false;
}

typedef struct tree {
  loader l;
  luc_state_dict *own; /* a copy of the caller's that hooks may edit, or NULL: there are none */
  bool unexpected;     /* whether to look for unexpected keys */
  luc_status (*ready)(void *ud);
  void *ud;
} tree;

static luc_status run_hooks(tree *t, luc_module *m, luc_state_event event) {
  loader *l = &t->l;
  if (t->own == NULL || m->hooks == NULL) return LUC_OK;
  luc_state_info info = {.event = event,
                         .prefix = l->prefix.data,
                         .version = l->version,
                         .missing = l->missing,
                         .unexpected = l->unexpected,
                         .errors = l->errors};
  if (event == LUC_STATE_LOAD_BEFORE) info.state = t->own;
  return luc__state_hooks_run(l->ctx, m, &info);
}

static luc_status visit(tree *t, luc_module *m, const luc_walk *w) {
  loader *l = &t->l;
  l->prefix.length = 0;
  luc__text_append(&l->prefix, w->path.data, w->path.length);
  LUC_TRY(l->prefix.status);
  l->version = luc_state_dict_version(l->sd, l->prefix.data);
  luc__text_append(&l->prefix, ".", w->path.length > 0 ? 1 : 0);
  LUC_TRY(l->prefix.status);
  if (w->leaving) return run_hooks(t, m, LUC_STATE_LOAD_AFTER);
  LUC_TRY(report_dropped(l, m));
  LUC_TRY(run_hooks(t, m, LUC_STATE_LOAD_BEFORE));
  LUC_TRY(load_slot(l, m, LUC_SLOT_PARAMETER));
  LUC_TRY(load_slot(l, m, LUC_SLOT_BUFFER));
  if (t->unexpected) LUC_TRY(find_unexpected(l, m));
  if (t->own == NULL) return LUC_OK;
  LUC_TRY(prepare_assign(l));
  return commit(l);
}

static luc_status load_tree(tree *t, luc_module *root, bool strict) {
  loader *l = &t->l;
  luc_status status = LUC_OK;
  luc_walk w;
  luc__walk_begin(&w, l->ctx, root, NULL, LUC_MEMBERS_DUPLICATES | LUC_WALK_LEAVE);
  for (luc_module *m; status == LUC_OK && (m = luc__walk_next(&w)) != NULL;)
    status = visit(t, m, &w);
  luc_status walked = luc__walk_end(&w);
  if (status == LUC_OK) status = walked;
  if (status == LUC_OK)
    status = luc__load_check(l->ctx, root, strict, l->missing, l->unexpected, l->errors);
  if (status == LUC_OK) status = prepare_assign(l);
  if (status == LUC_OK && t->ready != NULL) status = t->ready(t->ud);
  return status == LUC_OK ? commit(l) : status;
}

/* With hooks of C code: they see a copy of the state, and find values in place. */
static luc_status load_hooked(tree *t, luc_module *root, bool strict) {
  luc_context *ctx = t->l.ctx;
  luc_snapshot *before = NULL;
  luc_status status = luc__state_copy(ctx, t->l.sd, &t->own);
  if (status != LUC_OK) return status;
  LUC_GO(luc__snapshot_take(ctx, root, &before));
  t->l.sd = t->own;
  t->unexpected = true;
  status = load_tree(t, root, strict);
  if (status != LUC_OK) luc__snapshot_restore(ctx, before);
done:
  luc__snapshot_free(ctx, before);
  luc_state_dict_free(ctx, t->own);
  return status;
}

luc_status luc__load_state_dict(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                                int flags, luc_names *missing, luc_names *unexpected,
                                luc_status (*ready)(void *ud), void *ud) {
  tree t = {.ready = ready, .ud = ud};
  luc_names errors = {0};
  bool hooked, strict = (flags & LUC_LOAD_STRICT) != 0;
  uint32_t events = 1u << LUC_STATE_LOAD_BEFORE | 1u << LUC_STATE_LOAD_AFTER;
  LUC_TRY(luc__state_hooked(ctx, m, events, false, &hooked));
  begin(&t.l, ctx, sd, (flags & LUC_LOAD_ASSIGN) != 0);
  t.l.missing = missing;
  t.l.unexpected = unexpected;
  t.l.errors = &errors;
  luc_status status;
  if (hooked || t.l.taking) {
    status = load_hooked(&t, m, strict);
  } else {
    t.l.version = 0; /* a dropped key is looked for */
    t.unexpected = any_unexpected(&t.l, m);
    status = load_tree(&t, m, strict);
  }
  end(&t.l);
  luc_names_free(ctx, &errors);
  return status;
}

luc_status luc_module_load_state_dict(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                                      int flags, luc_names *missing, luc_names *unexpected) {
  LUC_NEED(ctx, m && sd);
  const luc_host *host = &luc__nn_of(ctx)->host;
  luc_names lists[2] = {{0}, {0}};
  bool handled = false;
  luc_status status = LUC_OK;
  if (host->load_state != NULL)
    status = host->load_state(ctx, host->ud, m, sd, flags, &lists[0], &lists[1], &handled);
  if (status == LUC_OK && !handled)
    status = luc__load_state_dict(ctx, m, sd, flags, &lists[0], &lists[1], NULL, NULL);
  luc_names *wanted[2] = {missing, unexpected};
  for (int i = 0; i < 2; i++) {
    if (wanted[i] != NULL)
      *wanted[i] = lists[i];
    else
      luc_names_free(ctx, &lists[i]);
  }
  return status;
}
