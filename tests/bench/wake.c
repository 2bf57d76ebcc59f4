/* How long a worker of the pool takes to begin with its piece of a loop: microseconds, the median
 * of some loops, one line for a worker that still spins after the loop before and one for a
 * worker that has gone to sleep. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/context.h"
#include "base/pool.h"

enum { LOOPS = 200 };

static double begun; /* when the second piece did */
static atomic_bool met;

/* Two pieces, so one for each thread: none ends before both have begun. */
static void piece(void *arg, int64_t begin, int64_t end) {
  (void)arg, (void)end;
  if (begin == 0) {
    while (!atomic_load(&met)) sched_yield(); /* to it, on the only processor */
  } else {
    begun = luc_clock();
    atomic_store(&met, true);
  }
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_after(luc_context *ctx, struct timespec rest) {
  static double took[LOOPS];
  for (int i = 0; i < LOOPS; i++) {
    nanosleep(&rest, NULL);
    atomic_store(&met, false);
    double begin = luc_clock();
    luc__parallel_for(ctx, 2, 1, piece, NULL);
    took[i] = (begun - begin) * 1e6;
  }
  qsort(took, LOOPS, sizeof *took, by_size);
  return took[LOOPS / 2];
}

int main(void) {
  luc_context *ctx = NULL;
  luc_config cfg = {.num_threads = 2};
  if (luc_context_new(&cfg, &ctx) != LUC_OK) return 1;
  printf("%g\n", median_after(ctx, (struct timespec){0}));
  printf("%g\n", median_after(ctx, (struct timespec){.tv_nsec = 2000000}));
  luc_context_free(ctx);
  return 0;
}
