/* Walking module trees: in order, with dotted paths, each module once unless duplicates are wanted.
 * named_* and everything that acts on whole trees stand on this. */
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"

/* ---- the walk ---- */

void luc__walk_begin(luc_walk *w, luc_context *ctx, luc_module *root, const char *prefix,
                     int flags) {
  *w = (luc_walk){.ctx = ctx, .flags = flags, .root = root};
  luc__text_init(&w->path, ctx);
  luc__text_puts(&w->path, prefix != NULL ? prefix : "");
}

static void push(luc_walk *w, luc_module *m) {
  luc_walk_frame *frames =
      luc__with_room(w->ctx, w->frames, w->depth, &w->capacity, sizeof *frames);
  if (frames == NULL) {
    w->status = LUC_ERR_MEMORY;
    return;
  }
  w->frames = frames;
  w->frames[w->depth++] = (luc_walk_frame){m, 0, w->path.length};
}

static bool is_new(luc_walk *w, const luc_module *m) {
  bool added = true;
  if ((w->flags & (LUC_MEMBERS_DUPLICATES | LUC_WALK_PER_PARENT)) == 0)
    w->status = luc__set_add(w->ctx, &w->seen, m, &added);
  return added;
}

/* Has parent the module of entry e under an earlier name too? */
static bool is_repeated(const luc_module *parent, const luc_map_entry *e) {
  const luc_module *child = e->value;
  uint32_t i = 0;
  while (child->parents[i].parent != parent) i++;
  if (child->parents[i].count == 1) return false;
  const luc_map_entry *first;
  uint32_t at = 0;
  do first = luc__map_next(&parent->slots[LUC_SLOT_CHILD], &at);
  while (first->value != child);
  return first != e;
}

/* The next child of the module on top not seen before, its path set; NULL when there is none. */
static luc_module *next_child(luc_walk *w) {
  luc_walk_frame *top = &w->frames[w->depth - 1];
  luc_map_entry *e;
  while ((e = luc__map_next(&top->m->slots[LUC_SLOT_CHILD], &top->position)) != NULL) {
    if (e->value == NULL || !is_new(w, e->value)) continue;
    if ((w->flags & LUC_WALK_PER_PARENT) != 0 && is_repeated(top->m, e)) continue;
    if ((w->flags & LUC_MEMBERS_UNNAMED) == 0) {
      w->path.length = top->path_length;
      if (top->path_length > 0) luc__text_append(&w->path, ".", 1);
      luc__text_append(&w->path, e->key, e->length);
      if (w->status == LUC_OK) w->status = w->path.status;
    }
    return e->value;
  }
  return NULL;
}

static luc_module *leave(luc_walk *w) {
  luc_walk_frame top = w->frames[--w->depth];
  w->path.length = top.path_length;
  if (w->path.data != NULL) w->path.data[top.path_length] = '\0';
  return top.m;
}

luc_module *luc__walk_next(luc_walk *w) {
  w->leaving = false;
  if (w->status == LUC_OK) w->status = w->path.status;
  if (w->root != NULL) {
    luc_module *root = w->root;
    w->root = NULL;
    if (is_new(w, root)) push(w, root);
    if (w->status != LUC_OK) return NULL;
    if ((w->flags & LUC_WALK_POST) == 0) return root;
  }
  while (w->status == LUC_OK && w->depth > 0) {
    luc_module *child = next_child(w);
    if (w->status != LUC_OK) return NULL;
    if (child == NULL) {
      luc_module *done = leave(w);
      w->leaving = true;
      if ((w->flags & (LUC_WALK_POST | LUC_WALK_LEAVE)) != 0) return done;
      continue;
    }
    if (w->mask != NULL && (w->mask(child) & w->leaves) != 0) return child;
    push(w, child);
    if (w->status == LUC_OK && (w->flags & LUC_WALK_POST) == 0) return child;
  }
  return NULL;
}

luc_status luc__walk_end(luc_walk *w) {
  luc__free(w->ctx, w->frames, w->capacity * sizeof *w->frames);
  luc__set_free(w->ctx, &w->seen);
  luc__text_drop(&w->path);
  return w->status;
}

/* ---- lists of members ---- */

void luc_members_free(luc_context *ctx, luc_members *list) {
  if (list == NULL) return;
  for (size_t i = 0; i < list->n; i++) {
    luc_member *item = &list->items[i];
    if (item->name != NULL) luc__free(ctx, item->name, item->length + 1);
    luc_tensor_release(ctx, item->tensor);
    luc__module_unref(ctx, item->module);
  }
  luc__free(ctx, list->items, list->capacity * sizeof *list->items);
  *list = (luc_members){0};
}

typedef struct collector {
  luc_context *ctx;
  luc_members *list;
  int flags;
  luc_set seen; /* tensors */
} collector;

/* Appends path.name (path alone for modules, key NULL). */
static luc_status append(collector *c, const luc_text *path, const luc_map_entry *e,
                         luc_tensor *tensor, luc_module *module) {
  luc_members *list = c->list;
  luc_member *items = luc__with_room(c->ctx, list->items, list->n, &list->capacity, sizeof *items);
  if (items == NULL) return LUC_ERR_MEMORY;
  list->items = items;
  luc_member *item = &list->items[list->n];
  *item = (luc_member){0};
  if ((c->flags & LUC_MEMBERS_UNNAMED) == 0) {
    size_t before = path->length, dot = before > 0 && e != NULL;
    item->length = before + dot + (e != NULL ? e->length : 0);
    item->name = luc__alloc(c->ctx, item->length + 1);
    if (item->name == NULL) return LUC_ERR_MEMORY;
    if (before > 0) memcpy(item->name, path->data, before);
    if (dot) item->name[before] = '.';
    if (e != NULL) memcpy(item->name + before + dot, e->key, e->length);
    item->name[item->length] = '\0';
  }
  item->tensor = tensor != NULL ? luc_tensor_retain(tensor) : NULL;
  item->module = module != NULL ? luc__module_ref(module) : NULL;
  list->n++;
  return LUC_OK;
}

static luc_status collect_slot(collector *c, const luc_text *path, const luc_module *m,
                               luc_slot slot) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;) {
    bool added = true, child = slot == LUC_SLOT_CHILD;
    if (e->value == NULL) continue;
    if (child || (c->flags & LUC_MEMBERS_DUPLICATES) == 0)
      LUC_TRY(luc__set_add(c->ctx, &c->seen, e->value, &added));
    if (added) LUC_TRY(append(c, path, e, child ? NULL : e->value, child ? e->value : NULL));
  }
  return LUC_OK;
}

luc_status luc_module_members(luc_context *ctx, luc_module *m, luc_member_kind kind,
                              const char *prefix, int flags, luc_members *out) {
  LUC_NEED(ctx, out);
  *out = (luc_members){0};
  LUC_NEED(ctx, m);
  LUC_CHECK(ctx, (unsigned)kind <= LUC_MEMBERS_CHILDREN, LUC_ERR_VALUE,
            "there are no members of kind %d", (int)kind);
  collector c = {.ctx = ctx, .list = out, .flags = flags};
  luc_walk w;
  luc__walk_begin(&w, ctx, m, prefix, flags);
  luc_status status = LUC_OK;
  bool own = kind == LUC_MEMBERS_CHILDREN ||
             (kind != LUC_MEMBERS_MODULES && (flags & LUC_MEMBERS_OWN) != 0);
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL) {
    if (!m->tables && (flags & LUC_WALK_TABLES) != 0) continue;
    if (kind == LUC_MEMBERS_MODULES)
      status = append(&c, &w.path, NULL, NULL, m);
    else if (kind == LUC_MEMBERS_CHILDREN)
      status = collect_slot(&c, &w.path, m, LUC_SLOT_CHILD);
    else
      status = collect_slot(&c, &w.path, m,
                            kind == LUC_MEMBERS_BUFFERS ? LUC_SLOT_BUFFER : LUC_SLOT_PARAMETER);
    if (own) break;
  }
  luc_status walked = luc__walk_end(&w);
  luc__set_free(ctx, &c.seen);
  if (status == LUC_OK) status = walked;
  if (status != LUC_OK) luc_members_free(ctx, out);
  return status;
}

luc_status luc__module_visit(luc_context *ctx, luc_module *m, int flags,
                             uint32_t (*mask)(const luc_module *), uint32_t leaves,
                             luc_members *out) {
  *out = (luc_members){0};
  collector c = {.ctx = ctx, .list = out, .flags = LUC_MEMBERS_UNNAMED};
  luc_walk w;
  luc__walk_begin(&w, ctx, m, NULL, flags | LUC_MEMBERS_UNNAMED | LUC_WALK_PER_PARENT);
  w.mask = mask;
  w.leaves = leaves;
  luc_status status = LUC_OK;
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL)
    status = append(&c, &w.path, NULL, NULL, m);
  luc_status walked = luc__walk_end(&w);
  if (status == LUC_OK) status = walked;
  if (status != LUC_OK) luc_members_free(ctx, out);
  return status;
}

/* ---- acting on trees ---- */

luc_status luc_module_apply(luc_context *ctx, luc_module *m, luc_module_fn fn, void *ud) {
  luc_members list;
  LUC_NEED(ctx, m && fn);
  LUC_TRY(luc__module_visit(ctx, m, LUC_WALK_POST, NULL, 0, &list));
  luc_status status = LUC_OK;
  for (size_t i = 0; status == LUC_OK && i < list.n; i++)
    status = fn(ctx, ud, list.items[i].module);
  luc_members_free(ctx, &list);
  return status;
}

luc_status luc_module_train(luc_context *ctx, luc_module *m, bool mode) {
  LUC_NEED(ctx, m);
  if (m->slots[LUC_SLOT_CHILD].count == 0) {
    m->training = mode;
    return LUC_OK;
  }
  luc_members list;
  LUC_TRY(luc_module_members(ctx, m, LUC_MEMBERS_MODULES, NULL, LUC_MEMBERS_UNNAMED, &list));
  for (size_t i = 0; i < list.n; i++) list.items[i].module->training = mode;
  luc_members_free(ctx, &list);
  return LUC_OK;
}

luc_status luc_module_requires_grad(luc_context *ctx, luc_module *m, bool on) {
  luc_members list;
  LUC_TRY(luc_module_members(ctx, m, LUC_MEMBERS_PARAMETERS, NULL, LUC_MEMBERS_UNNAMED, &list));
  luc_status status = LUC_OK;
  size_t done = 0;
  for (; status == LUC_OK && done < list.n; done++) {
    luc_member *item = &list.items[done];
    item->length = item->tensor->requires_grad; /* what it was: no name needs the field */
    status = luc_tensor_set_requires_grad(ctx, item->tensor, on);
  }
  while (status != LUC_OK && done-- > 0)
    list.items[done].tensor->requires_grad = list.items[done].length != 0;
  luc_members_free(ctx, &list);
  return status;
}

/* A fresh zero gradient, outside any graph; the old one may be shared. */
static luc_status clear_grad(luc_context *ctx, luc_tensor *p, bool set_to_none) {
  luc_tensor *grad = luc_tensor_grad(p);
  if (grad == NULL || set_to_none) return luc_tensor_set_grad(ctx, p, NULL);
  if (!grad->requires_grad) {
    luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(grad)};
    return luc_call_inplace(ctx, LUC_OP_zero_, args, 1);
  }
  luc_tensor *zeros;
  LUC_TRY(luc__tensor_empty_like(ctx, grad, grad->dtype, &zeros));
  luc_status status = luc__fill(ctx, zeros, (luc_scalar){LUC_SCALAR_INT, {0}});
  if (status == LUC_OK) status = luc_tensor_set_grad(ctx, p, zeros);
  luc_tensor_release(ctx, zeros);
  return status;
}

luc_status luc_module_zero_grad(luc_context *ctx, luc_module *m, bool set_to_none) {
  luc_walk w;
  LUC_NEED(ctx, m);
  luc__walk_begin(&w, ctx, m, NULL, LUC_MEMBERS_UNNAMED);
  luc_status status = LUC_OK;
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL) {
    luc_map_entry *e;
    for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_PARAMETER], &at)) != NULL;)
      if (e->value != NULL && status == LUC_OK) status = clear_grad(ctx, e->value, set_to_none);
  }
  luc_status walked = luc__walk_end(&w);
  return status == LUC_OK ? walked : status;
}
