/* Converting a tree to another dtype. Everything is converted first and put in place when nothing
 * can fail any more. Parameters keep their identity, buffers are replaced, as in Module._apply. */
#include "base/array.h"
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"

typedef struct change {
  luc_tensor *param; /* borrowed from the tree; NULL for a buffer */
  luc_module *owner; /* of a buffer */
  uint32_t entry;    /* its place in the owner's map */
  luc_tensor *data, *grad;
} change;

typedef struct conversion {
  luc_context *ctx;
  luc_dtype dtype;
  bool all; /* tensors of integers too */
  change *items;
  size_t n, capacity;
  luc_set seen; /* parameters that are shared are converted once */
} conversion;

static luc_status append(conversion *c, change item) {
  change *items = luc__with_room(c->ctx, c->items, c->n, &c->capacity, sizeof *items);
  if (items == NULL) return LUC_ERR_MEMORY;
  c->items = items;
  c->items[c->n++] = item;
  return LUC_OK;
}

/* Complex numbers do not become real ones. */
static bool changes(const conversion *c, const luc_tensor *t) {
  if (t == NULL || t->dtype == c->dtype) return false;
  return c->all || luc__dtype_is_float(t->dtype) ||
         (luc__dtype_is_complex(t->dtype) && luc__dtype_is_complex(c->dtype));
}

static luc_status convert(conversion *c, luc_tensor *t, luc_tensor **out) {
  LUC_TRY(luc__tensor_empty_like(c->ctx, t, c->dtype, out));
  (*out)->flags |= t->flags & LUC_TF_UNINITIALIZED;
  return luc__copy(c->ctx, *out, t);
}

static luc_status convert_parameters(conversion *c, luc_module *m) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_PARAMETER], &at)) != NULL;) {
    bool added;
    luc_tensor *t = e->value;
    if (!changes(c, t)) continue;
    LUC_CHECK(c->ctx, !t->requires_grad || luc__dtype_has_gradient(c->dtype), LUC_ERR_TYPE,
              "data set to a tensor that requires gradients must be floating point or complex "
              "dtype");
    LUC_TRY(luc__set_add(c->ctx, &c->seen, t, &added));
    if (!added) continue;
    LUC_TRY(append(c, (change){.param = t}));
    change *item = &c->items[c->n - 1];
    LUC_TRY(convert(c, t, &item->data));
    luc_tensor *grad = luc_tensor_grad(t);
    if (grad != NULL) LUC_TRY(convert(c, grad, &item->grad));
  }
  return LUC_OK;
}

/* The host is told beforehand that the buffer's slot changes; it looks the new tensor up. */
static luc_status convert_buffers(conversion *c, luc_module *m) {
  const luc_host *host = &luc__nn_of(c->ctx)->host;
  luc_map *map = &m->slots[LUC_SLOT_BUFFER];
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
    if (!changes(c, e->value)) continue;
    LUC_TRY(append(c, (change){.owner = m, .entry = (uint32_t)(e - map->entries)}));
    LUC_TRY(convert(c, e->value, &c->items[c->n - 1].data));
    if (m->peer != NULL && host->edge != NULL)
      LUC_TRY(host->edge(c->ctx, host->ud, m, LUC_SLOT_BUFFER, e->key, e->length,
                         c->items[c->n - 1].data));
  }
  return LUC_OK;
}

static void commit(conversion *c) {
  for (size_t i = 0; i < c->n; i++) {
    change *item = &c->items[i];
    if (item->param == NULL) {
      luc_map_entry *e = &item->owner->slots[LUC_SLOT_BUFFER].entries[item->entry];
      luc_tensor *old = e->value;
      e->value = luc_tensor_retain(item->data);
      luc_tensor_release(c->ctx, old);
      continue;
    }
    luc_tensor *p = item->param;
    luc_tensor_set_grad(c->ctx, p, NULL);
    luc__tensor_set_data(c->ctx, p, item->data);
    if (item->grad != NULL) luc_tensor_set_grad(c->ctx, p, item->grad); /* its meta exists */
  }
}

static luc_status convert_tree(luc_context *ctx, luc_module *m, luc_dtype dtype, bool all) {
  conversion c = {.ctx = ctx, .dtype = dtype, .all = all};
  luc_status status = LUC_OK;
  luc_walk w;
  luc__walk_begin(&w, ctx, m, NULL, LUC_MEMBERS_UNNAMED);
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL) {
    status = convert_parameters(&c, m);
    if (status == LUC_OK) status = convert_buffers(&c, m);
  }
  luc_status walked = luc__walk_end(&w);
  if (status == LUC_OK) status = walked;
  if (status == LUC_OK) commit(&c);
  for (size_t i = 0; i < c.n; i++) {
    LUC_RELEASE(ctx, c.items[i].data, c.items[i].grad);
  }
  luc__free(ctx, c.items, c.capacity * sizeof *c.items);
  luc__set_free(ctx, &c.seen);
  return status;
}

luc_status luc_module_to_dtype(luc_context *ctx, luc_module *m, luc_dtype dtype) {
  LUC_NEED(ctx, m);
  LUC_TRY(luc__dtype_check(ctx, dtype));
  LUC_CHECK(ctx, luc__dtype_has_gradient(dtype), LUC_ERR_TYPE,
            "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s",
            luc__dtype_name(dtype));
  return convert_tree(ctx, m, dtype, false);
}

luc_status luc_module_type(luc_context *ctx, luc_module *m, luc_dtype dtype) {
  LUC_NEED(ctx, m);
  LUC_TRY(luc__dtype_check(ctx, dtype));
  return convert_tree(ctx, m, dtype, true);
}
