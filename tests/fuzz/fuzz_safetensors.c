/* libFuzzer's harness for safetensors: every tensor in a file is read, and a slice of it; what
 * begins with a brace is read as the index of a model in several files. */
#include "fuzz.h"
#include "io/safetensors.h"

static void read_file(luc_context *ctx, const uint8_t *data, size_t size) {
  luc_safetensors *file;
  if (luc__safetensors_open(luc__input_memory(ctx, "load", data, size), &file) != LUC_OK) return;
  for (size_t i = 0; i < file->n; i++) {
    luc_tensor *t = NULL, *part = NULL;
    if (luc__safetensors_read(file, &file->entries[i], false, &t) != LUC_OK) continue;
    if (luc__safetensors_slice(file, &file->entries[i], t, &part) == LUC_OK)
      luc_tensor_release(ctx, part);
    luc_tensor_release(ctx, t);
  }
  luc__safetensors_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  luc_context *ctx = fuzz_begin();
  if (size > 0 && data[0] == '{') {
    luc_input input = luc__input_memory(ctx, "load", data, size);
    luc_shards shards = {.ctx = ctx};
    (void)luc__shards_read(&input, &shards);
    luc__shards_free(&shards);
  } else {
    read_file(ctx, data, size);
  }
  return fuzz_end();
}
