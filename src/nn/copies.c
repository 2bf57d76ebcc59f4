/* The tensors of a deep copy, by Python's rules: a parameter is its values alone; another tensor
 * must be a leaf, brings its gradient, and shares storage in the copy with what it shared it with.
 * Each is copied once. */
#include "nn/copies.h"

#include <string.h>

#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "tensor/tensor.h"

/* Maps are keyed by addresses. */
static void *find(const luc_map *map, const void *p) {
  luc_map_entry *e = luc__map_find(map, (const char *)&p, sizeof p);
  return e != NULL ? e->value : NULL;
}

static luc_status put(luc_context *ctx, luc_map *map, const void *p, void *value) {
  return luc__map_set(ctx, map, (const char *)&p, sizeof p, value, NULL);
}

static luc_status new_bytes(luc_context *ctx, const char *data, size_t n, luc_tensor **out) {
  int64_t size = (int64_t)n;
  LUC_TRY(luc__tensor_empty(ctx, LUC_UINT8, 1, &size, out));
  if (n > 0) memcpy((*out)->data, data, n);
  return LUC_OK;
}

/* t's geometry over the storage of `bytes`, `shift` bytes from its beginning. */
static luc_status overlay(luc_context *ctx, luc_tensor *t, luc_tensor *bytes, int64_t shift,
                          luc_tensor **out) {
  LUC_TRY(luc__tensor_alias(ctx, t, out));
  luc_storage *old = (*out)->storage;
  (*out)->storage = luc__storage_retain(bytes->storage);
  (*out)->data = bytes->data + shift;
  (*out)->offset = shift / (int64_t)luc__dtype_size(t->dtype);
  luc__storage_release(ctx, old);
  return LUC_OK;
}

/* Do t's elements fill one stretch of memory, in whatever order? */
static bool is_dense(const luc_tensor *t) {
  int64_t last = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (t->strides[d] < 0) return false;
    last += (t->sizes[d] - 1) * t->strides[d];
  }
  return t->numel > 0 && last + 1 == t->numel && !luc__overlaps_itself(t);
}

static luc_status copy_values(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  if (!is_dense(t)) {
    LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, out));
    luc_status status = t->numel > 0 ? luc__copy(ctx, *out, t) : LUC_OK;
    if (status != LUC_OK) luc_tensor_release(ctx, *out);
    return status;
  }
  luc_tensor *bytes;
  size_t n = (size_t)t->numel * luc__dtype_size(t->dtype);
  LUC_TRY(new_bytes(ctx, t->data, n, &bytes));
  luc_status status = overlay(ctx, t, bytes, 0, out);
  luc_tensor_release(ctx, bytes);
  return status;
}

static luc_status copy_view(luc_context *ctx, luc_copies *c, luc_tensor *t, luc_tensor **out) {
  luc_tensor *bytes = find(&c->storages, t->storage);
  if (bytes == NULL) {
    LUC_TRY(new_bytes(ctx, t->storage->data, t->storage->nbytes, &bytes));
    luc_status status = put(ctx, &c->storages, t->storage, bytes);
    if (status != LUC_OK) {
      luc_tensor_release(ctx, bytes);
      return status;
    }
  }
  return overlay(ctx, t, bytes, t->data - t->storage->data, out);
}

static luc_status copy_grad(luc_context *ctx, luc_copies *c, luc_tensor *t, luc_tensor *copy) {
  luc_tensor *grad = luc_tensor_grad(t), *copied;
  if (grad == NULL) return LUC_OK;
  LUC_TRY(luc__copies_tensor(ctx, c, grad, &copied));
  return luc_tensor_set_grad(ctx, copy, copied);
}

static luc_status copy_tensor(luc_context *ctx, luc_copies *c, luc_tensor *t, luc_tensor **out) {
  bool parameter = (t->flags & LUC_TF_PARAMETER) != 0;
  bool shapeless = luc_tensor_is_uninitialized(t);
  LUC_CHECK(ctx, parameter || luc_tensor_is_leaf(t), LUC_ERR_STATE,
            "clone: Only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment");
  if (shapeless)
    LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, out));
  else
    LUC_TRY(parameter ? copy_values(ctx, t, out) : copy_view(ctx, c, t, out));
  (*out)->flags =
      (uint8_t)((*out)->flags | (t->flags & (LUC_TF_PARAMETER | LUC_TF_BUFFER |
                                             LUC_TF_NONPERSISTENT | LUC_TF_UNINITIALIZED)));
  luc_status status = LUC_OK;
  if (t->requires_grad) status = luc_tensor_set_requires_grad(ctx, *out, true);
  if (status == LUC_OK && !parameter) status = copy_grad(ctx, c, t, *out);
  if (status != LUC_OK) luc_tensor_release(ctx, *out);
  return status;
}

luc_status luc__copies_tensor(luc_context *ctx, luc_copies *c, luc_tensor *t, luc_tensor **out) {
  *out = find(&c->tensors, t);
  if (*out != NULL) return LUC_OK;
  luc_tensor *copy;
  LUC_TRY(copy_tensor(ctx, c, t, &copy));
  luc_status status = put(ctx, &c->tensors, t, copy);
  if (status != LUC_OK) {
    luc_tensor_release(ctx, copy);
    return status;
  }
  *out = copy;
  return LUC_OK;
}

luc_module *luc__copies_module(const luc_copies *c, const luc_module *m) {
  return find(&c->modules, m);
}

luc_status luc__copies_add_module(luc_context *ctx, luc_copies *c, const luc_module *m,
                                  luc_module *copy) {
  return put(ctx, &c->modules, m, copy);
}

void luc__copies_free(luc_context *ctx, luc_copies *c) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&c->tensors, &at)) != NULL;)
    luc_tensor_release(ctx, e->value);
  for (uint32_t at = 0; (e = luc__map_next(&c->storages, &at)) != NULL;)
    luc_tensor_release(ctx, e->value);
  for (uint32_t at = 0; (e = luc__map_next(&c->modules, &at)) != NULL;)
    luc__module_unref(ctx, e->value);
  luc__map_free(ctx, &c->tensors);
  luc__map_free(ctx, &c->storages);
  luc__map_free(ctx, &c->modules);
}
