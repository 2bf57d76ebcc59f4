/* The only things a pickle can name, and what calling them makes: data. Names that are not here are
 * errors that say which; so are those of PyTorch that stand for what Lucerna has not. */
#include <stdio.h>
#include <string.h>

#include "io/pickle.h"

/* ORDER ROLE */
enum {
  ROLE_CLASS, /* may be mentioned, cannot be called */
  ROLE_ORDERED,
  ROLE_COUNTER,
  ROLE_DEFAULTDICT,
  ROLE_SET,
  ROLE_BYTES,
  ROLE_ENCODE,
  ROLE_SIZE,
  ROLE_DEVICE,
  ROLE_STORAGE,
  ROLE_TENSOR,
  ROLE_TENSOR_TYPED,
  ROLE_PARAMETER,
  ROLE_FROM_TYPE,
  ROLE_UNSUPPORTED
};

typedef struct named {
  const char *module, *name;
  int role;
  const char *why; /* what to name in the error of an unsupported one */
} named;

static const named globals[] = {
    {"collections", "OrderedDict", ROLE_ORDERED, NULL},
    {"collections", "Counter", ROLE_COUNTER, NULL},
    {"collections", "defaultdict", ROLE_DEFAULTDICT, NULL},
    {"builtins", "set", ROLE_SET, NULL},
    {"builtins", "frozenset", ROLE_SET, NULL},
    {"builtins", "bytes", ROLE_BYTES, NULL},
    {"builtins", "bytearray", ROLE_BYTES, NULL},
    {"builtins", "dict", ROLE_CLASS, NULL},
    {"builtins", "list", ROLE_CLASS, NULL},
    {"builtins", "tuple", ROLE_CLASS, NULL},
    {"builtins", "int", ROLE_CLASS, NULL},
    {"builtins", "float", ROLE_CLASS, NULL},
    {"builtins", "bool", ROLE_CLASS, NULL},
    {"builtins", "str", ROLE_CLASS, NULL},
    {"builtins", "complex", ROLE_UNSUPPORTED, "complex numbers"},
    {"_codecs", "encode", ROLE_ENCODE, NULL},
    {"torch", "Size", ROLE_SIZE, NULL},
    {"torch", "device", ROLE_DEVICE, NULL},
    {"torch", "Tensor", ROLE_CLASS, NULL},
    {"torch.nn.parameter", "Parameter", ROLE_CLASS, NULL},
    {"torch.nn.parameter", "Buffer", ROLE_CLASS, NULL},
    {"torch.nn.parameter", "UninitializedParameter", ROLE_UNSUPPORTED, "uninitialized parameters"},
    {"torch.nn.parameter", "UninitializedBuffer", ROLE_UNSUPPORTED, "uninitialized buffers"},
    {"torch._utils", "_rebuild_tensor", ROLE_TENSOR, NULL},
    {"torch._utils", "_rebuild_tensor_v2", ROLE_TENSOR, NULL},
    {"torch._utils", "_rebuild_tensor_v3", ROLE_TENSOR_TYPED, NULL},
    {"torch._utils", "_rebuild_parameter", ROLE_PARAMETER, NULL},
    {"torch._utils", "_rebuild_parameter_with_state", ROLE_PARAMETER, NULL},
    {"torch._tensor", "_rebuild_from_type_v2", ROLE_FROM_TYPE, NULL},
    {"torch._utils", "_rebuild_sparse_tensor", ROLE_UNSUPPORTED, "sparse tensors"},
    {"torch._utils", "_rebuild_sparse_csr_tensor", ROLE_UNSUPPORTED, "sparse tensors"},
    {"torch._utils", "_rebuild_qtensor", ROLE_UNSUPPORTED, "quantized tensors"},
    {"torch._utils", "_rebuild_nested_tensor", ROLE_UNSUPPORTED, "nested tensors"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", ROLE_UNSUPPORTED, "meta tensors"},
    {"torch._utils", "_rebuild_wrapper_subclass", ROLE_UNSUPPORTED, "tensor subclasses"},
    {"torch", "complex32", ROLE_UNSUPPORTED, "complex32 tensors"},
    {"torch", "QInt8Storage", ROLE_UNSUPPORTED, "quantized tensors"},
    {"torch", "QUInt8Storage", ROLE_UNSUPPORTED, "quantized tensors"},
    {"torch", "QInt32Storage", ROLE_UNSUPPORTED, "quantized tensors"},
    {"torch", "QUInt4x2Storage", ROLE_UNSUPPORTED, "quantized tensors"},
    {"torch", "QUInt2x4Storage", ROLE_UNSUPPORTED, "quantized tensors"},
};

/* torch.float32, torch.FloatStorage, torch.UntypedStorage. */
static bool find_typed(const char *module, const char *name, luc_item *out) {
  luc_dtype dtype;
  size_t n = strlen(name), tail = strlen("Storage");
  bool torch = !strcmp(module, "torch");
  if (!torch && strcmp(module, "torch.storage") != 0) return false;
  if (torch && luc__dtype_find(name, &dtype)) {
    *out = (luc_item){.kind = LUC_ITEM_DTYPE, .dtype = (int16_t)dtype};
    return true;
  }
  if (n <= tail || strcmp(name + n - tail, "Storage") != 0) return false;
  *out = (luc_item){.kind = LUC_ITEM_GLOBAL, .role = ROLE_STORAGE, .dtype = LUC_NUM_DTYPES};
  if (!strcmp(name, "UntypedStorage") || !strcmp(name, "_UntypedStorage")) return true;
  for (int d = 0; d < LUC_NUM_DTYPES && torch; d++) {
    const char *title = luc__dtype_title((luc_dtype)d);
    if (strlen(title) != n - tail || strncmp(title, name, n - tail) != 0) continue;
    out->dtype = (int16_t)d;
    return true;
  }
  return false;
}

/* A class that is no data: says so, and what to do about whole modules. */
static luc_status refuse(luc_pickle *p, const char *module, const char *name) {
  bool layer = !strncmp(module, "torch.nn.modules.", 17) || !strncmp(module, "torch.fx.", 9);
  luc__fail(p->doc->ctx, LUC_ERR_IO,
            layer ? "%s: the file holds a whole module (%.150s.%.100s), which is code and is never "
                    "executed; save model.state_dict() in PyTorch and load that"
                  : "%s: the file needs %.150s.%.100s, which is no data (nothing in a file is ever "
                    "executed; of a whole module, save model.state_dict() in PyTorch)",
            p->doc->who, module, name);
  return LUC_ERR_IO;
}

luc_status luc__pickle_global(luc_pickle *p, const char *module, const char *name, luc_item *out) {
  if (!strcmp(module, "__builtin__")) module = "builtins"; /* Python 2's, and protocol 2's */
  for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
    const named *g = &globals[i];
    if (strcmp(g->module, module) != 0 || strcmp(g->name, name) != 0) continue;
    LUC_CHECK(p->doc->ctx, g->role != ROLE_UNSUPPORTED, LUC_ERR_SUPPORT,
              "%s: the file needs %s.%s: %s are not supported", p->doc->who, module, name, g->why);
    *out = (luc_item){.kind = LUC_ITEM_GLOBAL, .role = (uint8_t)g->role};
    return LUC_OK;
  }
  return find_typed(module, name, out) ? LUC_OK : refuse(p, module, name);
}

/* ---- what arguments are ---- */

/* Item i of a call's arguments; one that is not there is None. */
static luc_item arg(const luc_object *args, size_t i) {
  return i < args->n ? args->items[i] : (luc_item){.kind = LUC_ITEM_NONE};
}

static bool is_text(const luc_item *item, const char *text) {
  return item->kind == LUC_ITEM_TEXT && !strcmp(item->as.blob->bytes, text);
}

static luc_status bad_arguments(luc_pickle *p, const char *what) {
  char text[100];
  snprintf(text, sizeof text, "%s is made of the wrong arguments", what);
  return luc__pickle_damaged(p, text);
}

/* ---- dictionaries, sets, bytes ---- */

/* OrderedDict([[key, value], …]) */
static luc_status fill_pairs(luc_pickle *p, luc_object *dict, const luc_object *pairs) {
  for (size_t i = 0; i < pairs->n; i++) {
    const luc_item *pair = &pairs->items[i];
    bool fits = luc__item_is(pair, LUC_OBJECT_LIST) || luc__item_is(pair, LUC_OBJECT_TUPLE);
    if (!fits || pair->as.object->n != 2) return bad_arguments(p, "a dictionary");
    LUC_TRY(luc__object_push(p->doc, dict, pair->as.object->items[0]));
    LUC_TRY(luc__object_push(p->doc, dict, pair->as.object->items[1]));
  }
  return LUC_OK;
}

/* A new dictionary, a copy of `from` if there is one. */
static luc_status make_dict(luc_pickle *p, luc_item from, bool ordered, luc_item *out) {
  luc_object *dict;
  LUC_TRY(luc__object_new(p->doc, LUC_OBJECT_DICT, &dict));
  dict->ordered = ordered;
  *out = luc__item_object(dict);
  if (from.kind == LUC_ITEM_NONE) return LUC_OK;
  if (luc__item_is(&from, LUC_OBJECT_LIST)) return fill_pairs(p, dict, from.as.object);
  if (!luc__item_is(&from, LUC_OBJECT_DICT)) return bad_arguments(p, "a dictionary");
  for (size_t i = 0; i < from.as.object->n; i++)
    LUC_TRY(luc__object_push(p->doc, dict, from.as.object->items[i]));
  return LUC_OK;
}

static luc_status make_set(luc_pickle *p, const luc_object *args, luc_item *out) {
  luc_object *set;
  luc_item from = arg(args, 0);
  LUC_TRY(luc__object_new(p->doc, LUC_OBJECT_SET, &set));
  *out = luc__item_object(set);
  if (from.kind == LUC_ITEM_NONE) return LUC_OK;
  bool listed = luc__item_is(&from, LUC_OBJECT_LIST) || luc__item_is(&from, LUC_OBJECT_TUPLE);
  if (!listed) return bad_arguments(p, "a set");
  for (size_t i = 0; i < from.as.object->n; i++)
    LUC_TRY(luc__object_push(p->doc, set, from.as.object->items[i]));
  return LUC_OK;
}

/* UTF-8 of code points below 256, back to bytes: how protocol 2 writes bytes. */
static luc_status from_latin1(luc_pickle *p, const luc_blob *text, luc_item *out) {
  luc_blob *blob;
  LUC_TRY(luc__blob_new(p->doc, NULL, text->n, &blob));
  size_t n = 0;
  for (size_t i = 0; i < text->n; i++) {
    unsigned char c = (unsigned char)text->bytes[i];
    if (c >= 0x80) {
      unsigned char next = (unsigned char)text->bytes[i + 1]; /* at the end: the NUL */
      if ((c != 0xc2 && c != 0xc3) || (next & 0xc0) != 0x80) return bad_arguments(p, "bytes");
      c = (unsigned char)(c << 6 | (next & 0x3f));
      i++;
    }
    blob->bytes[n++] = (char)c;
  }
  blob->n = n;
  blob->bytes[n] = '\0';
  *out = (luc_item){.kind = LUC_ITEM_BYTES, .as = {.blob = blob}};
  return LUC_OK;
}

static luc_status make_bytes(luc_pickle *p, const luc_object *args, bool encode, luc_item *out) {
  luc_item from = arg(args, 0), codec = arg(args, 1);
  bool latin = is_text(&codec, "latin1") || is_text(&codec, "latin-1");
  if (from.kind == LUC_ITEM_TEXT && latin) return from_latin1(p, from.as.blob, out);
  *out = from;
  if (!encode && from.kind == LUC_ITEM_BYTES) return LUC_OK;
  if (encode || from.kind != LUC_ITEM_NONE) return bad_arguments(p, "bytes");
  luc_blob *blob;
  LUC_TRY(luc__blob_new(p->doc, NULL, 0, &blob));
  *out = (luc_item){.kind = LUC_ITEM_BYTES, .as = {.blob = blob}};
  return LUC_OK;
}

/* torch.device("cuda", 0) is "cuda:0". */
static luc_status make_device(luc_pickle *p, const luc_object *args, luc_item *out) {
  luc_item type = arg(args, 0), index = arg(args, 1);
  char text[64];
  luc_blob *blob;
  if (type.kind != LUC_ITEM_TEXT || type.as.blob->n > 20) return bad_arguments(p, "a device");
  int n = index.kind == LUC_ITEM_INT
              ? snprintf(text, sizeof text, "%s:%lld", type.as.blob->bytes, (long long)index.as.i)
              : snprintf(text, sizeof text, "%s", type.as.blob->bytes);
  LUC_TRY(luc__blob_new(p->doc, text, (size_t)n, &blob));
  *out = (luc_item){.kind = LUC_ITEM_TEXT, .as = {.blob = blob}};
  return LUC_OK;
}

/* ---- tensors ---- */

/* A tuple of integers that fit; torch.Size is one too. */
static bool read_sizes(luc_item item, int64_t *out, size_t *n) {
  if (!luc__item_is(&item, LUC_OBJECT_TUPLE) && !luc__item_is(&item, LUC_OBJECT_LIST)) return false;
  *n = item.as.object->n;
  for (size_t i = 0; i < *n && i < LUC_MAX_DIMS; i++) {
    if (item.as.object->items[i].kind != LUC_ITEM_INT) return false;
    out[i] = item.as.object->items[i].as.i;
  }
  return true;
}

static bool is_set(const luc_object *dict, const char *key) {
  const luc_item *value = luc__object_get(dict, key);
  return value && value->kind == LUC_ITEM_BOOL && value->as.i;
}

/* {"conj": True, "neg": True}: lazy bits of a tensor. False for what else it may say. */
static bool read_bits(luc_item metadata, luc_geometry *g) {
  if (!luc__item_is(&metadata, LUC_OBJECT_DICT)) return metadata.kind == LUC_ITEM_NONE;
  const luc_object *dict = metadata.as.object;
  g->conjugate = is_set(dict, "conj");
  g->negative = is_set(dict, "neg");
  return dict->n == 2u * g->conjugate + 2u * g->negative;
}

/* _rebuild_tensor(storage, offset, size, stride), _v2(…, requires_grad, hooks, metadata),
 * _v3(…, dtype, metadata) */
static luc_status make_tensor(luc_pickle *p, const luc_object *args, bool typed, luc_item *out) {
  luc_item storage = arg(args, 0), offset = arg(args, 1), grad = arg(args, 4), dtype = arg(args, 6);
  luc_geometry g = {0};
  size_t ndim, nstrides;
  luc_object *node;
  bool good = storage.kind == LUC_ITEM_STORAGE && offset.kind == LUC_ITEM_INT;
  good = good && (!typed || dtype.kind == LUC_ITEM_DTYPE);
  good = good && read_sizes(arg(args, 2), g.sizes, &ndim) &&
         read_sizes(arg(args, 3), g.strides, &nstrides) && ndim == nstrides;
  good = good && (typed || storage.as.stored->dtype != LUC_NUM_DTYPES);
  good = good && read_bits(arg(args, typed ? 7 : 6), &g);
  if (!good) return bad_arguments(p, "a tensor");
  LUC_CHECK(p->doc->ctx, ndim <= LUC_MAX_DIMS, LUC_ERR_SUPPORT,
            "%s: a tensor has %zu dimensions, at most %d are possible", p->doc->who, ndim,
            LUC_MAX_DIMS);
  g.stored = storage.as.stored;
  g.dtype = (uint8_t)(typed ? dtype.dtype : g.stored->dtype);
  g.ndim = (uint8_t)ndim;
  g.offset = offset.as.i;
  g.requires_grad = grad.kind == LUC_ITEM_BOOL && grad.as.i;
  LUC_TRY(luc__object_tensor(p->doc, &node));
  *node->geometry = g;
  *out = luc__item_object(node);
  return LUC_OK;
}

/* _rebuild_parameter(tensor, requires_grad, hooks[, state]) */
static luc_status make_parameter(luc_pickle *p, const luc_object *args, luc_item *out) {
  luc_item data = arg(args, 0), grad = arg(args, 1);
  luc_object *node;
  if (!luc__item_is(&data, LUC_OBJECT_TENSOR)) return bad_arguments(p, "a parameter");
  LUC_TRY(luc__object_tensor(p->doc, &node));
  *node->geometry = *data.as.object->geometry;
  node->geometry->parameter = true;
  node->geometry->requires_grad = grad.kind == LUC_ITEM_BOOL && grad.as.i;
  *out = luc__item_object(node);
  return LUC_OK;
}

/* _rebuild_from_type_v2(function, type, arguments, state): a tensor with attributes, which are left
 * out. */
static luc_status make_from_type(luc_pickle *p, const luc_object *args, luc_item *out) {
  luc_item function = arg(args, 0), inner = arg(args, 2);
  bool good = function.kind == LUC_ITEM_GLOBAL && luc__item_is(&inner, LUC_OBJECT_TUPLE);
  if (!good) return bad_arguments(p, "a tensor");
  if (function.role == ROLE_PARAMETER) return make_parameter(p, inner.as.object, out);
  bool tensor = function.role == ROLE_TENSOR || function.role == ROLE_TENSOR_TYPED;
  if (!tensor) return bad_arguments(p, "a tensor");
  return make_tensor(p, inner.as.object, function.role == ROLE_TENSOR_TYPED, out);
}

luc_status luc__pickle_reduce(luc_pickle *p, const luc_item *callable, const luc_item *given,
                              luc_item *out) {
  if (!luc__item_is(given, LUC_OBJECT_TUPLE) || callable->kind != LUC_ITEM_GLOBAL)
    return luc__pickle_damaged(p, "it calls what is no function");
  const luc_object *args = given->as.object;
  switch (callable->role) {
  case ROLE_ORDERED: return make_dict(p, arg(args, 0), true, out);
  case ROLE_COUNTER: return make_dict(p, arg(args, 0), false, out);
  case ROLE_DEFAULTDICT: return make_dict(p, arg(args, 1), false, out);
  case ROLE_SET: return make_set(p, args, out);
  case ROLE_BYTES: return make_bytes(p, args, false, out);
  case ROLE_ENCODE: return make_bytes(p, args, true, out);
  case ROLE_DEVICE: return make_device(p, args, out);
  case ROLE_TENSOR: return make_tensor(p, args, false, out);
  case ROLE_TENSOR_TYPED: return make_tensor(p, args, true, out);
  case ROLE_PARAMETER: return make_parameter(p, args, out);
  case ROLE_FROM_TYPE: return make_from_type(p, args, out);
  case ROLE_SIZE:
    *out = arg(args, 0);
    if (luc__item_is(out, LUC_OBJECT_TUPLE)) return LUC_OK;
    return bad_arguments(p, "a size");
  default: return luc__pickle_damaged(p, "it calls what is no function");
  }
}

luc_status luc__pickle_build(luc_pickle *p, const luc_item *object, const luc_item *state) {
  bool good = luc__item_is(object, LUC_OBJECT_DICT) && object->as.object->ordered &&
              luc__item_is(state, LUC_OBJECT_DICT);
  if (!good) return luc__pickle_damaged(p, "it sets attributes of what has none");
  const luc_item *metadata = luc__object_get(state->as.object, "_metadata");
  if (metadata) object->as.object->metadata = *metadata;
  return LUC_OK;
}

luc_status luc__pickle_persistent(luc_pickle *p, const luc_item *id, luc_item *out) {
  static const luc_object none;
  const luc_object *tuple = luc__item_is(id, LUC_OBJECT_TUPLE) ? id->as.object : &none;
  luc_item tag = arg(tuple, 0), type = arg(tuple, 1), key = arg(tuple, 2), count = arg(tuple, 4);
  luc_stored *s;
  LUC_CHECK(p->doc->ctx, !is_text(&tag, "module"), LUC_ERR_IO,
            "%s: the file holds a whole module, which is code and is never executed; save "
            "model.state_dict() in PyTorch and load that",
            p->doc->who);
  bool good = is_text(&tag, "storage") && type.kind == LUC_ITEM_GLOBAL &&
              type.role == ROLE_STORAGE && key.kind == LUC_ITEM_TEXT &&
              count.kind == LUC_ITEM_INT && count.as.i >= 0 && count.as.i <= INT64_MAX / 16 &&
              strlen(key.as.blob->bytes) == key.as.blob->n;
  if (!good) return luc__pickle_damaged(p, "a storage's name is wrong");
  LUC_CHECK(p->doc->ctx, !p->legacy || arg(tuple, 5).kind == LUC_ITEM_NONE, LUC_ERR_SUPPORT,
            "%s: views of storages as PyTorch before 0.4 wrote them are not supported",
            p->doc->who);
  LUC_TRY(luc__document_stored(p->doc, key.as.blob->bytes, key.as.blob->n, &s));
  size_t size = type.dtype == LUC_NUM_DTYPES ? 1 : luc__dtype_size(type.dtype);
  uint64_t nbytes = (uint64_t)count.as.i * size;
  if (!s->described) {
    s->described = true;
    s->dtype = type.dtype;
    s->count = (uint64_t)count.as.i;
    s->nbytes = nbytes;
  }
  if (s->dtype != type.dtype || s->nbytes != nbytes)
    return luc__pickle_damaged(p, "a storage is described in two ways");
  *out = (luc_item){.kind = LUC_ITEM_STORAGE, .as = {.stored = s}};
  return LUC_OK;
}
