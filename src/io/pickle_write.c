/* The pickle writer: a document as protocol 2, in the opcodes that torch.load(weights_only=True)
 * accepts. What is shared is written once and fetched from the memo; the walk has a stack of its
 * own, so that neither depth nor cycles matter. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "io/document.h"

typedef struct frame {
  luc_object *node;
  size_t next;   /* the item to be written */
  bool metadata; /* it is the metadata that is being written */
} frame;

enum { MAX_GLOBALS = 32 };

typedef struct writer {
  luc_document *doc;
  luc_text *text;
  frame *frames;
  size_t depth, capacity;
  uint32_t memo; /* numbers given so far; a node's id is its number + 1 */
  struct {
    const char *name, *tail;
    uint32_t number;
  } globals[MAX_GLOBALS];
  int num_globals;
} writer;

/* ---- scalars ---- */

static void op(writer *w, int code) {
  char c = (char)code;
  luc__text_append(w->text, &c, 1);
}

static void number(writer *w, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) op(w, (int)(value >> (8 * i) & 0xff));
}

static void integer(writer *w, int64_t i) {
  if (i >= 0 && i < 256) {
    op(w, 'K');
    number(w, (uint64_t)i, 1);
  } else if (i >= 0 && i < 65536) {
    op(w, 'M');
    number(w, (uint64_t)i, 2);
  } else if (i >= INT32_MIN && i <= INT32_MAX) {
    op(w, 'J');
    number(w, (uint64_t)i, 4);
  } else {
    op(w, 0x8a);
    op(w, 8);
    number(w, (uint64_t)i, 8);
  }
}

static void real(writer *w, double f) {
  uint64_t bits;
  memcpy(&bits, &f, 8);
  op(w, 'G');
  for (int i = 7; i >= 0; i--) op(w, (int)(bits >> (8 * i) & 0xff));
}

static void boolean(writer *w, bool b) {
  op(w, b ? 0x88 : 0x89);
}

static void text_n(writer *w, const char *bytes, size_t n) {
  op(w, 'X');
  number(w, n, 4);
  luc__text_append(w->text, bytes, n);
}

static void text(writer *w, const char *bytes) {
  text_n(w, bytes, strlen(bytes));
}

static uint32_t put(writer *w) {
  op(w, w->memo < 256 ? 'q' : 'r');
  number(w, w->memo, w->memo < 256 ? 1 : 4);
  return w->memo++;
}

static void get(writer *w, uint32_t n) {
  op(w, n < 256 ? 'h' : 'j');
  number(w, n, n < 256 ? 1 : 4);
}

/* A class or function: written in full the first time. Its name has a tail ("Float" "Storage"). */
static void global(writer *w, const char *module, const char *name, const char *tail) {
  for (int i = 0; i < w->num_globals; i++)
    if (w->globals[i].name == name && w->globals[i].tail == tail) {
      get(w, w->globals[i].number);
      return;
    }
  op(w, 'c');
  luc__text_printf(w->text, "%s\n%s%s\n", module, name, tail);
  uint32_t n = put(w);
  if (w->num_globals == MAX_GLOBALS) return;
  w->globals[w->num_globals].name = name;
  w->globals[w->num_globals].tail = tail;
  w->globals[w->num_globals++].number = n;
}

static const char no_tail[] = "", storage_tail[] = "Storage";

static void empty_ordered(writer *w) {
  static const char name[] = "OrderedDict";
  global(w, "collections", name, no_tail);
  op(w, ')');
  op(w, 'R');
}

/* Bytes as protocol 2 has them: a text of as many characters, to be encoded. */
static void bytes(writer *w, const luc_blob *blob) {
  static const char name[] = "encode";
  size_t high = 0;
  global(w, "_codecs", name, no_tail);
  for (size_t i = 0; i < blob->n; i++) high += (unsigned char)blob->bytes[i] >= 0x80;
  op(w, 'X');
  number(w, blob->n + high, 4);
  for (size_t i = 0; i < blob->n; i++) {
    unsigned char c = (unsigned char)blob->bytes[i];
    if (c >= 0x80) op(w, 0xc0 | c >> 6);
    op(w, c >= 0x80 ? 0x80 | (c & 0x3f) : c);
  }
  text(w, "latin1");
  op(w, 0x86);
  op(w, 'R');
}

/* ---- tensors ---- */

static void sizes(writer *w, int n, const int64_t *values) {
  if (n > 3) op(w, '(');
  for (int d = 0; d < n; d++) integer(w, values[d]);
  op(w, n > 3 ? 't' : n == 0 ? ')' : 0x84 + n);
}

/* What is only stored has no storage class of its own in PyTorch: its storage counts bytes, and the
 * tensor names its dtype. */
static void plain_tensor(writer *w, const luc_geometry *g, bool requires_grad) {
  static const char typed[] = "_rebuild_tensor_v2", untyped[] = "_rebuild_tensor_v3",
                    bytes_name[] = "Untyped";
  const luc_stored *s = g->stored;
  luc_dtype dtype = s->dtype;
  bool by_name = luc__dtype_is_stored(dtype);
  char key[24];
  global(w, "torch._utils", by_name ? untyped : typed, no_tail);
  op(w, '(');
  op(w, '(');
  text(w, "storage");
  if (by_name)
    global(w, "torch.storage", bytes_name, storage_tail);
  else
    global(w, "torch", luc__dtype_title(dtype), storage_tail);
  snprintf(key, sizeof key, "%llu", (unsigned long long)s->number);
  text(w, key);
  text(w, "cpu");
  integer(w, (int64_t)(s->count * (by_name ? luc__dtype_size(dtype) : 1)));
  op(w, 't');
  op(w, 'Q');
  integer(w, g->offset);
  sizes(w, g->ndim, g->sizes);
  sizes(w, g->ndim, g->strides);
  boolean(w, requires_grad);
  empty_ordered(w);
  if (by_name) global(w, "torch", luc__dtype_name(dtype), no_tail);
  op(w, 't');
  op(w, 'R');
}

static void tensor(writer *w, luc_object *node) {
  static const char name[] = "_rebuild_parameter";
  const luc_geometry *g = node->geometry;
  if (g->parameter) global(w, "torch._utils", name, no_tail);
  plain_tensor(w, g, g->requires_grad && !g->parameter);
  if (g->parameter) {
    boolean(w, g->requires_grad);
    empty_ordered(w);
    op(w, 0x87);
    op(w, 'R');
  }
  node->id = put(w) + 1;
}

/* ---- the walk ---- */

static luc_status open_frame(writer *w, luc_object *node) {
  frame *frames = luc__with_room(w->doc->ctx, w->frames, w->depth, &w->capacity, sizeof *frames);
  if (!frames) return LUC_ERR_MEMORY;
  w->frames = frames;
  w->frames[w->depth++] = (frame){.node = node};
  if (node->kind != LUC_OBJECT_DICT)
    op(w, ']');
  else if (node->ordered)
    empty_ordered(w);
  else
    op(w, '}');
  node->id = put(w) + 1;
  if (node->n > 0) op(w, '(');
  return LUC_OK;
}

static luc_status write_node(writer *w, luc_object *node) {
  if (node->id != 0) {
    get(w, node->id - 1);
    return LUC_OK;
  }
  if (node->kind != LUC_OBJECT_TENSOR) return open_frame(w, node);
  tensor(w, node);
  return LUC_OK;
}

static luc_status write_item(writer *w, const luc_item *item) {
  switch (item->kind) {
  case LUC_ITEM_NONE: op(w, 'N'); break;
  case LUC_ITEM_BOOL: boolean(w, item->as.i != 0); break;
  case LUC_ITEM_INT: integer(w, item->as.i); break;
  case LUC_ITEM_FLOAT: real(w, item->as.f); break;
  case LUC_ITEM_DTYPE: global(w, "torch", luc__dtype_name(item->dtype), no_tail); break;
  case LUC_ITEM_OBJECT: return write_node(w, item->as.object);
  default:
    LUC_CHECK(w->doc->ctx, item->as.blob->n <= UINT32_MAX / 2, LUC_ERR_SUPPORT,
              "%s: a string is longer than 2 GB", w->doc->who);
    if (item->kind == LUC_ITEM_TEXT)
      text_n(w, item->as.blob->bytes, item->as.blob->n);
    else
      bytes(w, item->as.blob);
  }
  return LUC_OK;
}

/* One step of the frame at the top: its next item, or its end. */
static luc_status step(writer *w) {
  frame *f = &w->frames[w->depth - 1];
  luc_object *node = f->node;
  if (f->metadata) {
    op(w, 's');
    op(w, 'b');
    w->depth--;
    return LUC_OK;
  }
  if (f->next < node->n) return write_item(w, &node->items[f->next++]);
  if (node->n > 0) op(w, node->kind == LUC_OBJECT_DICT ? 'u' : 'e');
  if (!node->ordered || node->metadata.kind == LUC_ITEM_NONE) {
    w->depth--;
    return LUC_OK;
  }
  f->metadata = true;
  op(w, '}');
  text(w, "_metadata");
  return write_item(w, &node->metadata);
}

luc_status luc__pickle_write(luc_document *doc, luc_text *out) {
  writer w = {.doc = doc, .text = out};
  uint64_t n = 0;
  for (luc_stored *s = doc->first_stored; s; s = s->next) s->number = n++;
  op(&w, 0x80);
  op(&w, 2);
  luc_status status = write_item(&w, &doc->root);
  while (status == LUC_OK && out->status == LUC_OK && w.depth > 0) status = step(&w);
  op(&w, '.');
  luc__free(doc->ctx, w.frames, w.capacity * sizeof *w.frames);
  return status == LUC_OK ? out->status : status;
}
