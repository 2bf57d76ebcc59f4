/* The machine's own limit, which `make bench` sets its figures against: GFLOP/s of float32
 * multiply-adds in registers, by one thread or, with any argument, by two. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define CHAINS 10
#define STEPS  10000000

typedef float vec __attribute__((vector_size(64)));

static pthread_barrier_t gate;
static int threads;
static double result;

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

static void *work(void *part) {
  double flops = multiply_add();
  if (part == NULL) result = flops;
  return NULL;
}

int main(int argc, char **argv) {
  (void)argv;
  threads = argc > 1 ? 2 : 1;
  pthread_t second;
  pthread_barrier_init(&gate, NULL, (unsigned)threads);
  if (threads == 2 && pthread_create(&second, NULL, work, (void *)1) != 0) return 1;
  work(NULL);
  if (threads == 2) pthread_join(second, NULL);
  printf("%g\n", result);
  return 0;
}
