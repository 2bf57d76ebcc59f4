/* libFuzzer's harness for checkpoints: any bytes are read as one, and every tensor in it is made,
 * under a memory limit that the sizes of the inputs explain. Checksums are not compared in this
 * build, so that what they protect is reached. */
#include "io/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
  luc_config cfg = {.num_threads = 1, .memory_limit = (size_t)200 << 20};
  luc_context *ctx;
  luc_document doc;
  if (luc_context_new(&cfg, &ctx) != LUC_OK) return 0;
  luc__document_init(&doc, ctx, "load");
  if (luc__document_read(&doc, luc__input_memory(ctx, "load", data, size), 0) == LUC_OK)
    make_tensors(&doc);
  luc__document_free(&doc);
  luc_context_free(ctx);
  return 0;
}
