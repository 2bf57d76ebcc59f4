/* libFuzzer's harness for checkpoints: every tensor in one is made. */
#include "fuzz.h"
#include "io/document.h"

/* All tensors below the root; each object is queued once. */
static void make_tensors(luc_document *doc) {
  luc_object *first = NULL, *last = NULL;
  luc_item *root = &doc->root;
  if (root->kind == LUC_ITEM_OBJECT) first = last = root->as.object;
  if (first) first->id = 1;
  for (; first; first = first->queue) {
    luc_tensor *t;
    if (first->kind == LUC_OBJECT_TENSOR) (void)luc__document_tensor(doc, first, &t);
    for (size_t i = 0; i < first->n; i++) {
      luc_object *object = first->items[i].as.object;
      if (first->items[i].kind != LUC_ITEM_OBJECT || object->id) continue;
      object->id = 1;
      last->queue = object;
      last = object;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  luc_context *ctx = fuzz_begin();
  luc_document doc;
  luc__document_init(&doc, ctx, "load");
  if (luc__document_read(&doc, luc__input_memory(ctx, "load", data, size), 0) == LUC_OK)
    make_tensors(&doc);
  luc__document_free(&doc);
  return fuzz_end();
}
