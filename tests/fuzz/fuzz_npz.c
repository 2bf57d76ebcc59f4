/* libFuzzer's harness for .npz files: every array in one is read. */
#include "fuzz.h"
#include "io/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  luc_context *ctx = fuzz_begin();
  luc_npz *npz = NULL;
  if (luc__npz_open(luc__input_memory(ctx, "load", data, size), 0, &npz) == LUC_OK) {
    for (size_t i = 0, n; i < luc__npz_count(npz); i++) {
      luc_tensor *t = NULL;
      if (luc__npz_name(npz, i, &n) && luc__npz_read(npz, i, &t) == LUC_OK)
        luc_tensor_release(ctx, t);
    }
    luc__npz_close(npz);
  }
  return fuzz_end();
}
