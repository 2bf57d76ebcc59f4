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

/* 1 + 2 + … of the numbers from .. to - 1. */
static int64_t sum_between(int64_t from, int64_t to) {
  int64_t n = to - from, twice = from + to - 1;
  return n <= 0 ? 0 : n % 2 ? n * (twice / 2) : n / 2 * twice;
}

/* Visits only rows that have elements, so that the work is that of writing them. */
int64_t luc__sequence_triangle(int64_t *out, int64_t n, int64_t r, int64_t c, int64_t diagonal,
                               bool lower) {
  if (r == 0 || c == 0) return 0;
  int64_t d = clamp(diagonal, -r, c);
  int64_t first = lower ? clamp(-d, 0, r) : 0, last = lower ? r : clamp(c - d, 0, r);
  /* Row i holds i + d + 1 elements below, c - (i + d) above, until that is all c of them. */
  int64_t whole = clamp(lower ? c - 1 - d : -d, first, last);
  int64_t count = lower ? sum_between(first + d + 1, whole + d + 1) + (last - whole) * c
                        : (whole - first) * c + sum_between(c - d - last + 1, c - d - whole + 1);
  if (!out) return count;
  for (int64_t i = first, at = 0; i < last; i++) {
    int64_t begin = lower ? 0 : clamp(i + d, 0, c), end = lower ? clamp(i + d + 1, 0, c) : c;
    for (int64_t j = begin; j < end; j++, at++) {
      out[at] = i;
      out[n + at] = j;
    }
  }
  return count;
}
