/* A tiny harness: every tests/c/test_*.c includes this once and becomes one program.
 * TEST("it does this") { … CHECK(…); } registers itself; main runs all, or those whose name
 * contains the first argument, and prints "N passed, N failed" (read by tests/run.lua). Each has a
 * fresh context, ctx, and must leave no block in it; a TEST_ALONE makes what it needs itself.
 * test_context gives a context whose blocks are counted; test_sweep runs a scenario with its
 * 1st, 2nd, 3rd … allocation refused until it succeeds. */
#ifndef LUC_TEST_H
#define LUC_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lucerna/base.h"

typedef struct test_case {
  const char *name;
  void (*run)(luc_context *ctx); /* or … */
  void (*run_alone)(void);
  struct test_case *next;
} test_case;

static test_case *test_first, **test_last = &test_first;
static int test_failures; /* of the test now running */

__attribute__((unused)) static void test_register(test_case *t) {
  *test_last = t;
  test_last = &t->next;
}

__attribute__((unused)) static void test_fail(const char *file, int line, const char *what) {
  test_failures++;
  fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

__attribute__((unused)) static void test_eq(const char *file, int line, const char *what,
                                            long long got, long long want) {
  if (got == want) return;
  test_failures++;
  fprintf(stderr, "%s:%d: failed: %s: got %lld, want %lld\n", file, line, what, got, want);
}

__attribute__((unused)) static void test_near(const char *file, int line, const char *what,
                                              double got, double want, double tolerance) {
  if (fabs(got - want) <= tolerance) return;
  test_failures++;
  fprintf(stderr, "%s:%d: failed: %s: got %.9g, want %.9g\n", file, line, what, got, want);
}

__attribute__((unused)) static void test_str(const char *file, int line, const char *what,
                                             const char *got, const char *want) {
  if (strcmp(got, want) == 0) return;
  test_failures++;
  fprintf(stderr, "%s:%d: failed: %s\n--- got\n%s\n--- want\n%s\n", file, line, what, got, want);
}

#define TEST_JOIN2(a, b) a##b
#define TEST_JOIN(a, b)  TEST_JOIN2(a, b)
#define TEST_ADD(title, test, field)                                                               \
  __attribute__((constructor)) static void TEST_JOIN(add_, __LINE__)(void) {                       \
    static test_case t = {.name = title, .field = test};                                           \
    test_register(&t);                                                                             \
  }
#define TEST(title)                                                                                \
  static void TEST_JOIN(test_, __LINE__)(luc_context * ctx);                                       \
  TEST_ADD(title, TEST_JOIN(test_, __LINE__), run)                                                 \
  static void TEST_JOIN(test_, __LINE__)(__attribute__((unused)) luc_context * ctx)
#define TEST_ALONE(title)                                                                          \
  static void TEST_JOIN(test_, __LINE__)(void);                                                    \
  TEST_ADD(title, TEST_JOIN(test_, __LINE__), run_alone)                                           \
  static void TEST_JOIN(test_, __LINE__)(void)

#define CHECK(cond)               ((cond) ? (void)0 : test_fail(__FILE__, __LINE__, #cond))
#define CHECK_EQ(got, want)       test_eq(__FILE__, __LINE__, #got, got, want)
#define CHECK_OK(call)            test_eq(__FILE__, __LINE__, #call, call, LUC_OK)
#define CHECK_NEAR(got, want, by) test_near(__FILE__, __LINE__, #got, got, want, by)
#define CHECK_STR(got, want)      test_str(__FILE__, __LINE__, #got, got, want)

/* Counts blocks in use; refuses the allocation number `fail_at` (from 1; 0: none), and the one
 * after it, since a context that is refused gives back its cache and asks once more. */
typedef struct test_heap {
  _Atomic long blocks, bytes, count;
  long fail_at;
} test_heap;

__attribute__((unused)) static void *test_alloc(void *ud, void *ptr, size_t old_size,
                                                size_t new_size) {
  test_heap *heap = ud;
  if (new_size == 0) {
    if (ptr != NULL) {
      heap->blocks--;
      heap->bytes -= (long)old_size;
    }
    free(ptr);
    return NULL;
  }
  heap->count++;
  if (heap->fail_at != 0 && (heap->count == heap->fail_at || heap->count == heap->fail_at + 1))
    return NULL;
  void *block = NULL;
  if (posix_memalign(&block, 64, new_size) != 0) return NULL;
  if (ptr != NULL) {
    memcpy(block, ptr, old_size < new_size ? old_size : new_size);
    free(ptr);
    heap->bytes -= (long)old_size;
  } else {
    heap->blocks++;
  }
  heap->bytes += (long)new_size;
  return block;
}

/* A context over this heap with so many threads (0: as many as there are cores), or NULL. */
__attribute__((unused)) static luc_context *test_context_of(test_heap *heap, int threads) {
  luc_config cfg = {.alloc = test_alloc, .alloc_ud = heap, .num_threads = threads};
  luc_context *ctx = NULL;
  return luc_context_new(&cfg, &ctx) == LUC_OK ? ctx : NULL;
}

/* The same of one thread, whose allocations come in one order. */
__attribute__((unused)) static luc_context *test_context(test_heap *heap) {
  return test_context_of(heap, 1);
}

/* A context over malloc with this many threads; 0: as many as there are cores. */
__attribute__((unused)) static luc_context *test_open(int threads) {
  luc_config cfg = {.num_threads = threads};
  luc_context *ctx = NULL;
  CHECK_OK(luc_context_new(&cfg, &ctx));
  return ctx;
}

typedef luc_status (*test_scenario)(luc_context *ctx, void *arg);

/* Runs `scenario` in a fresh context with its n-th allocation refused, for n = 1, 2, 3 … until none
 * is: it must return LUC_ERR_MEMORY (or get by without) and leave no block behind each time.
 * `step` > 1 samples. None of those of `ready`, which may be NULL and comes before it, is refused.
 * Returns how many allocations there were, or -1 after a failed check. */
__attribute__((unused)) static long test_sweep_after(luc_status (*ready)(luc_context *ctx),
                                                     test_scenario scenario, void *arg, long step) {
  for (long n = 1;; n += step) {
    test_heap heap = {.fail_at = ready ? 0 : n};
    luc_context *ctx = test_context(&heap);
    if (ready) {
      CHECK_OK(ready(ctx));
      heap.count = 0;
      heap.fail_at = n;
    }
    luc_status status = ctx ? scenario(ctx, arg) : LUC_ERR_MEMORY;
    bool refused = heap.count >= n;
    bool good = status == LUC_OK || (refused && status == LUC_ERR_MEMORY);
    if (!good) fprintf(stderr, "  %s\n", ctx ? luc_message(ctx) : "no context");
    if (ctx) luc_context_free(ctx);
    if (!good || heap.blocks != 0) {
      fprintf(stderr, "  allocation %ld refused: status %d, %ld blocks, %ld bytes left\n", n,
              (int)status, heap.blocks, heap.bytes);
      test_fail(__FILE__, __LINE__, "refused allocation");
      return -1;
    }
    if (!refused) return heap.count;
  }
}

/* From the context's own on. */
__attribute__((unused)) static long test_sweep(test_scenario scenario, void *arg, long step) {
  return test_sweep_after(NULL, scenario, arg, step);
}

/* In short runs (`make test`) long loops take fewer steps. */
__attribute__((unused)) static bool test_is_short(void) {
  return getenv("LUCERNA_TEST_SHORT") != NULL;
}

static void test_run(const test_case *t) {
  test_heap heap = {0};
  luc_context *ctx = test_context_of(&heap, 0);
  t->run(ctx);
  luc_context_free(ctx);
  CHECK_EQ(heap.blocks, 0);
}

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  for (test_case *t = test_first; t != NULL; t = t->next) {
    if (argc > 1 && strstr(t->name, argv[1]) == NULL) continue;
    test_failures = 0;
    if (t->run)
      test_run(t);
    else
      t->run_alone();
    if (test_failures == 0) {
      passed++;
    } else {
      failed++;
      fprintf(stderr, "not ok: %s\n", t->name);
    }
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

#endif
