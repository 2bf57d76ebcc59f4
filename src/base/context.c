/* Contexts and their messages: what a host opens first and closes last.
 * Everything mutable hangs off the context; a failure leaves its status and message here. */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/numerals.h"

/* An unseeded generator differs between runs and between contexts of one process, as PyTorch's. */
static uint64_t first_seed(const luc_context *ctx) {
  uint64_t x = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)ctx ^ (uint64_t)(luc_clock() * 1e9);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u; /* splitmix64's finish */
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) >> 11; /* fits a double, so that Lua can print it either way */
}

luc_status luc_context_new(const luc_config *cfg, luc_context **out) {
  static const luc_config defaults = {0};
  if (out == NULL) return LUC_ERR_VALUE;
  *out = NULL;
  if (cfg == NULL) cfg = &defaults;
  luc_heap *heap = luc__heap_new(cfg);
  if (heap == NULL) return LUC_ERR_MEMORY;
  luc_context *ctx = luc__heap_alloc(heap, sizeof *ctx);
  luc_cache *cache = luc__cache_new(heap);
  if (ctx == NULL || cache == NULL) {
    luc__cache_free(heap, cache);
    luc__heap_free(heap, ctx, sizeof *ctx);
    luc__heap_release(heap);
    return LUC_ERR_MEMORY;
  }
  memset(ctx, 0, sizeof *ctx);
  ctx->heap = heap;
  ctx->cache = cache;
  ctx->grad_mode = true;
  ctx->print = (luc_print_options)LUC_PRINT_DEFAULTS;
  luc__generator_seed(&ctx->rng, first_seed(ctx));
  luc_status status = luc__pool_new(ctx, cfg, &ctx->pool);
  if (status != LUC_OK) {
    luc_context_free(ctx);
    return status;
  }
  *out = ctx;
  return LUC_OK;
}

static void drop_long_message(luc_context *ctx) {
  luc__free(ctx, ctx->long_message, ctx->long_message_size);
  ctx->long_message = NULL;
}

void luc_context_free(luc_context *ctx) {
  if (ctx == NULL) return;
  if (ctx->before_close != NULL) ctx->before_close(ctx);
  while (ctx->num_closers > 0) ctx->closers[--ctx->num_closers](ctx);
  luc__pool_free(ctx, ctx->pool);
  ctx->pool = NULL;
  drop_long_message(ctx);
  luc_heap *heap = ctx->heap;
  luc__cache_free(heap, ctx->cache);
  luc__heap_free(heap, ctx, sizeof *ctx);
  luc__heap_release(heap);
}

luc_status luc__context_on_close(luc_context *ctx, luc_close_fn fn) {
  for (int i = 0; i < ctx->num_closers; i++)
    if (ctx->closers[i] == fn) return LUC_OK;
  LUC_CHECK(ctx, ctx->num_closers < LUC_MAX_CLOSERS, LUC_ERR_STATE,
            "context: more than %d layers want to know of its end", LUC_MAX_CLOSERS);
  ctx->closers[ctx->num_closers++] = fn;
  return LUC_OK;
}

const char *luc_message(const luc_context *ctx) {
  if (ctx == NULL) return "there is no context";
  return ctx->long_message != NULL ? ctx->long_message : ctx->message;
}

luc_status luc__fail(luc_context *ctx, luc_status status, const char *fmt, ...) {
  char text[LUC_MESSAGE_MAX]; /* the arguments may point into the message being replaced */
  luc_numerals numerals = luc__numerals_begin();
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  luc__numerals_end(numerals);
  for (char *c = text; *c; c++) /* a message is one line, whatever was given */
    if ((unsigned char)*c < ' ') *c = '?';
  drop_long_message(ctx);
  memcpy(ctx->message, text, strlen(text) + 1);
  ctx->status = status;
  return status;
}

luc_status luc_fail(luc_context *ctx, luc_status status, const char *message) {
  return luc__fail(ctx, status, "%s", message != NULL ? message : "");
}

luc_status luc__fail_long(luc_context *ctx, luc_status status, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = luc__alloc(ctx, size);
  if (copy != NULL) memcpy(copy, text, size);
  luc__fail(ctx, status, "%s", text);
  ctx->long_message = copy;
  ctx->long_message_size = size;
  return status;
}

void luc_manual_seed(luc_context *ctx, uint64_t seed) {
  luc__generator_seed(&ctx->rng, seed);
}

#ifdef LUCERNA_TEST_BUILD
#include <stdlib.h>

void luc__assert_failed(const char *what, const char *file, int line) {
  fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, what);
  abort();
}
#endif
