/* The machine's own limits, which `make bench` sets its figures against: float32 multiply-adds in
 * registers, a copy of 16 MB (the size of the elementwise benchmarks), and the sum of two such
 * arrays. Memory comes in huge pages, as the library asks for, and is timed as the benchmarks are.
 * One line for each of 1 and 2 threads: GFLOP/s, GB/s copied and added (read and written). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BYTES  ((size_t)4 << 22)
#define CHAINS 10
#define STEPS  20000000
#define PASSES 40 /* in a sample, which take some 20 ms */

typedef float vec __attribute__((vector_size(64)));

static float *from, *other, *to;
static pthread_barrier_t gate;
static int threads;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double multiply_add(void) {
  vec sum[CHAINS] = {{0}}, a = {0}, b = {0};
  for (int i = 0; i < 16; i++) a[i] = 0.999f, b[i] = 1e-3f;
  pthread_barrier_wait(&gate);
  double begin = now();
  for (int s = 0; s < STEPS; s++) {
    for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * a + b;
    __asm__ volatile("" : "+x"(a));
  }
  for (int c = 0; c < CHAINS; c++) __asm__ volatile("" : : "x"(sum[c]));
  pthread_barrier_wait(&gate);
  return 2.0 * 16 * CHAINS * STEPS * threads / (now() - begin) / 1e9;
}

static void copy(size_t at, size_t n) {
  memcpy(to + at, from + at, n * sizeof(float));
}

static void add(size_t at, size_t n) {
  float *sum = to + at;
  const float *a = from + at, *b = other + at;
  for (size_t i = 0; i < n; i++) sum[i] = a[i] + b[i];
}

static double passes(void (*pass)(size_t, size_t), double bytes, size_t part) {
  size_t n = BYTES / sizeof(float) / (size_t)threads;
  double best = 0;
  for (int sample = 0; sample < 6; sample++) {
    pthread_barrier_wait(&gate);
    double begin = now();
    for (int i = 0; i < PASSES; i++) pass(part * n, n);
    pthread_barrier_wait(&gate);
    double rate = bytes * PASSES / (now() - begin) / 1e9;
    if (rate > best) best = rate;
  }
  return best;
}

static double results[3];

static void *work(void *part) {
  double flops = multiply_add(), copied = passes(copy, 2.0 * BYTES, (size_t)part);
  double added = passes(add, 3.0 * BYTES, (size_t)part);
  if (part == NULL) results[0] = flops, results[1] = copied, results[2] = added;
  return NULL;
}

static float *array(void) {
  float *block = aligned_alloc((size_t)1 << 21, BYTES);
  if (block == NULL) exit(1);
#ifdef MADV_HUGEPAGE
  (void)madvise(block, BYTES, MADV_HUGEPAGE);
#endif
  memset(block, 0, BYTES);
  return block;
}

int main(void) {
  from = array(), other = array(), to = array();
  for (threads = 1; threads <= 2; threads++) {
    pthread_t second;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    if (threads == 2 && pthread_create(&second, NULL, work, (void *)1) != 0) return 1;
    work(NULL);
    if (threads == 2) pthread_join(second, NULL);
    printf("%g %g %g\n", results[0], results[1], results[2]);
  }
  return 0;
}
