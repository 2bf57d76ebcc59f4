/* The vectorized part of random numbers: tempering, uniform floats, Box-Muller. The polynomials are
 * those of Cephes (logf, sinf, cosf), within 1e-6 of PyTorch's results. */
#include <math.h>
#include <string.h>

#include "cpu/isa.h"
#include "cpu/random.h"
#include "tensor/half.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)

static void temper(uint32_t *restrict out, const uint32_t *restrict state, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t y = state[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    out[i] = y ^ (y >> 18);
  }
}

static void uniform(float *restrict out, const uint32_t *restrict bits, int64_t n, float lo,
                    float width, int shift) {
  for (int64_t i = 0; i < n; i++) {
    float x = (float)(int32_t)(bits[i] << shift & 0xffffffu) * 0x1p-24f;
    out[i] = fmaf(x, width, lo);
  }
}

static inline int64_t low_53(const uint32_t *bits) {
  return (int64_t)(((uint64_t)bits[0] << 32 | bits[1]) & 0x1fffffffffffffu);
}

static void uniform_double(double *restrict out, const uint32_t *restrict bits, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (double)low_53(bits + 2 * i) * 0x1p-53;
}

static void below(float *restrict out, const uint32_t *restrict bits, int64_t n, int64_t limit) {
  for (int64_t i = 0; i < n; i++) out[i] = low_53(bits + 2 * i) < limit ? 1 : 0;
}

/* The quotient by a product with the reciprocal is at most one off. */
static void remainder_of(int64_t *restrict out, const uint32_t *restrict bits, int64_t n,
                         uint32_t range, int64_t first) {
  const double part = 1.0 / range;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = bits[i], r = x - (int64_t)((double)x * part) * range;
    r += r < 0 ? range : 0;
    out[i] = first + (r >= range ? r - range : r);
  }
}

static bool on_grid(double *restrict out, const float *restrict p, int64_t n, float power) {
  const float shift = 1.5f * power, most = 0.5f * power, between = 0x1p-24f * power;
  int32_t off = 0; /* as wide as a lane */
  for (int64_t i = 0; i < n; i++) {
    float near = (p[i] + shift) - shift, rest = p[i] - near;
    off |= (p[i] >= most) | (rest == between) | (rest == -between);
    out[i] = (double)near;
  }
  return !off;
}

/* log(x) for x in (0, 1]. */
static inline float log_unit(float x) {
  int32_t i;
  memcpy(&i, &x, sizeof i);
  int32_t e = (i - 0x3f3504f3) >> 23; /* so that the mantissa lies in [sqrt(1/2), sqrt(2)) */
  i -= e * (1 << 23);
  float m;
  memcpy(&m, &i, sizeof m);
  m -= 1.0f;
  float p = 7.0376836292e-2f, ef = (float)e, z = m * m;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z + ef * -2.12194440e-4f - 0.5f * z;
  return m + p + ef * 0.693359375f;
}

/* Both at once, for x in [0, 7). */
static inline void sine_cosine(float x, float *sine, float *cosine) {
  int32_t q = (int32_t)(x * 0.636619772f + 0.5f);
  float k = (float)q;
  float r = ((x - k * 1.5703125f) - k * 4.837512969970703125e-4f) - k * 7.549789948768648e-8f;
  float z = r * r;
  float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  float c =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z;
  c = c - 0.5f * z + 1.0f;
  float a = q & 1 ? c : s, b = q & 1 ? s : c;
  *sine = q & 2 ? -a : a;
  *cosine = (q + 1) & 2 ? -b : b;
}

static void normal(float *x, int64_t blocks, float mean, float std) {
  const float two_pi = 6.283185307179586f;
  for (int64_t i = 0; i < blocks; i++, x += 16) {
    float s[8], c[8];
    for (int j = 0; j < 8; j++) {
      float radius = sqrtf(-2.0f * log_unit(1.0f - x[j]));
      sine_cosine(two_pi * x[j + 8], &s[j], &c[j]);
      c[j] *= radius;
      s[j] *= radius;
    }
    for (int j = 0; j < 8; j++) x[j] = c[j] * std + mean;
    for (int j = 0; j < 8; j++) x[j + 8] = s[j] * std + mean;
  }
}

static inline float float16_of(float x) {
  return luc__half_to_float(luc__float_to_half(x));
}
static inline float bfloat16_of(float x) {
  return luc__bfloat16_to_float(luc__float_to_bfloat16(x));
}

/* Of float16 angle and radius are rounded, */
#define D              f16
#define ROUND(x)       float16_of(x)
#define EACH(x)        (x)
#define FUSED(x, y, z) fmaf(x, y, z)
#include "cpu/random_narrow.inc"

/* of bfloat16 what comes of every step. */
#define D              bf16
#define ROUND(x)       bfloat16_of(x)
#define EACH(x)        bfloat16_of(x)
#define FUSED(x, y, z) (bfloat16_of((x) * (y)) + (z))
#include "cpu/random_narrow.inc"

const luc_random_kernels LUC_ISA_NAME(luc__random) = {
    temper,
    uniform,
    uniform_double,
    below,
    remainder_of,
    on_grid,
    normal,
    {narrow_uniforms_f16, narrow_uniforms_bf16},
    {narrow_normal_f16, narrow_normal_bf16},
};
