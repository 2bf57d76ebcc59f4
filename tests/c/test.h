/* A tiny harness: every tests/c/test_*.c includes this once and becomes one program.
 * TEST("it does this") { … CHECK(…); } registers itself; main runs all, or those whose name
 * contains the first argument, and prints "N passed, N failed". */
#ifndef LUC_TEST_H
#define LUC_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct test_case {
  const char *name;
  void (*run)(void);
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
#define TEST(title)                                                                                \
  static void TEST_JOIN(test_, __LINE__)(void);                                                    \
  __attribute__((constructor)) static void TEST_JOIN(add_, __LINE__)(void) {                       \
    static test_case t = {title, TEST_JOIN(test_, __LINE__), NULL};                                \
    test_register(&t);                                                                             \
  }                                                                                                \
  static void TEST_JOIN(test_, __LINE__)(void)

#define CHECK(cond)               ((cond) ? (void)0 : test_fail(__FILE__, __LINE__, #cond))
#define CHECK_EQ(got, want)       test_eq(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_NEAR(got, want, by) test_near(__FILE__, __LINE__, #got, got, want, by)
#define CHECK_STR(got, want)      test_str(__FILE__, __LINE__, #got, got, want)

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  for (test_case *t = test_first; t != NULL; t = t->next) {
    if (argc > 1 && strstr(t->name, argv[1]) == NULL) continue;
    test_failures = 0;
    t->run();
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
