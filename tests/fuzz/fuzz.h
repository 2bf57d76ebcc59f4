/* What the harnesses share: one context for all inputs, under a memory limit that the sizes of the
 * inputs explain, and that nothing of an input stays in it. Checksums are not compared in these
 * builds, so that what they protect is reached. */
#ifndef LUC_FUZZ_H
#define LUC_FUZZ_H

#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "io/file.h"
#include "ops/op.h"
#include "tensor/tensor.h"

static luc_context *fuzz_ctx;
static size_t fuzz_base;

static luc_context *fuzz_begin(void) {
  if (fuzz_ctx == NULL) {
    luc_config config = {.num_threads = 1, .memory_limit = (size_t)200 << 20};
    if (luc_context_new(&config, &fuzz_ctx) != LUC_OK || luc__ops_init(fuzz_ctx) != LUC_OK) abort();
    fuzz_base = luc_memory_stats(fuzz_ctx).live;
  }
  return fuzz_ctx;
}

/* A leak is a crash. Blocks go back to the allocator, which sees what is used after that. */
static int fuzz_end(void) {
  luc_memory_trim(fuzz_ctx);
  if (luc_memory_stats(fuzz_ctx).live > fuzz_base + (1 << 16)) abort();
  return 0;
}

/* Inputs that are read whole, each by one function. */
#define FUZZ_READER(who, call)                                                                     \
  int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                   \
    luc_context *ctx = fuzz_begin();                                                               \
    luc_input input = luc__input_memory(ctx, who, data, size);                                     \
    luc_tensor *t = NULL;                                                                          \
    if ((call) == LUC_OK) luc_tensor_release(ctx, t);                                              \
    return fuzz_end();                                                                             \
  }

#endif
