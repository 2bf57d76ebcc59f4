/* The machine's own limits, which `make bench` sets its figures against: float32 multiply-adds in
 * registers, and a copy of 16 MB (the size of the elementwise benchmarks). One line for each of 1
 * and 2 threads: GFLOP/s, GB/s read and written. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES  ((size_t)4 << 22)
#define CHAINS 10
#define STEPS  20000000

typedef float vec __attribute__((vector_size(64)));

static char *from, *to;
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

/* When the threads began and ended: a gate opens for one earlier than for the other. */
static double begun[2], ended[2];

static double copy(int part) {
  size_t size = BYTES / (size_t)threads, at = (size_t)part * size;
  double best = 0;
  for (int i = 0; i < 200; i++) {
    pthread_barrier_wait(&gate);
    begun[part] = now();
    memcpy(to + at, from + at, size);
    ended[part] = now();
    pthread_barrier_wait(&gate);
    double begin = begun[0], end = ended[0];
    if (threads == 2 && begun[1] < begin) begin = begun[1];
    if (threads == 2 && ended[1] > end) end = ended[1];
    double rate = 2.0 * (double)BYTES / (end - begin) / 1e9;
    if (rate > best) best = rate;
  }
  return best;
}

static double results[2];

static void *work(void *part) {
  double flops = multiply_add(), bytes = copy((int)(size_t)part);
  if (part == NULL) results[0] = flops, results[1] = bytes;
  return NULL;
}

int main(void) {
  from = malloc(BYTES), to = malloc(BYTES);
  if (from == NULL || to == NULL) return 1;
  memset(from, 1, BYTES), memset(to, 1, BYTES);
  for (threads = 1; threads <= 2; threads++) {
    pthread_t other;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    if (threads == 2 && pthread_create(&other, NULL, work, (void *)1) != 0) return 1;
    work(NULL);
    if (threads == 2) pthread_join(other, NULL);
    printf("%g %g\n", results[0], results[1]);
  }
  return 0;
}
