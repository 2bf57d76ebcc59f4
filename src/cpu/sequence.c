/* Loops that make number sequences. Everything is computed in 64 bits. */
#include "cpu/sequence.h"

#include <math.h>

void luc__sequence_int(int64_t *out, int64_t n, int64_t start, int64_t step) {
  for (int64_t i = 0; i < n; i++)
    out[i] = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step);
}

void luc__sequence_double(double *out, int64_t n, double start, double step) {
  for (int64_t i = 0; i < n; i++) out[i] = start + (double)i * step;
}

void luc__sequence_between(double *out, int64_t n, double start, double end) {
  double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
  int64_t half = n / 2;
  if (n == 1) half = 1;
  for (int64_t i = 0; i < half; i++) out[i] = start + step * (double)i;
  for (int64_t i = half; i < n; i++) out[i] = end - step * (double)(n - 1 - i);
}

void luc__sequence_power(double *out, int64_t n, double base) {
  for (int64_t i = 0; i < n; i++) out[i] = pow(base, out[i]);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

int64_t luc__sequence_triangle(int64_t *out, int64_t n, int64_t r, int64_t c, int64_t diagonal,
                               bool lower) {
  int64_t count = 0;
  for (int64_t i = 0; i < r; i++) {
    int64_t begin = lower ? 0 : clamp(i + diagonal, 0, c);
    int64_t end = lower ? clamp(i + diagonal + 1, 0, c) : c;
    for (int64_t j = begin; out && j < end; j++) {
      out[count + j - begin] = i;
      out[n + count + j - begin] = j;
    }
    if (end > begin) count += end - begin;
  }
  return count;
}
