/* Transcendental functions in float, written without branches so that loops over them become vector
 * code: within 2 ulp, right at infinities, NaN, zeros and (results that are) denormals. Products
 * and sums contract to fused ones where the instruction set has them; exactness does not rest on
 * it. Sources: Cephes for log and tanh, N. Juffa's published minimax coefficients for erf. */
#ifndef LUC_ELEMENTWISE_MATH_H
#define LUC_ELEMENTWISE_MATH_H

#include <math.h>

#include "cpu/half.h"

/* x * log2(e) rounded to an integer, as a float, by adding and taking away 1.5 * 2^23. */
static inline float luc__exp_scale(float x) {
  float shifted = x * 1.44269504f + 12582912.0f;
  return shifted - 12582912.0f;
}

/* 2^k for an integer k in [-126, 127]. */
static inline float luc__pow2(int32_t k) {
  return luc__bits_float((uint32_t)(k + 127) << 23);
}

/* x - k * log(2) in two parts, the first product being exact. */
static inline float luc__exp_rest(float x, float k) {
  float r = x - k * 0.693359375f;
  return r - k * -2.12194440e-4f;
}

/* (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2. */
static inline float luc__exp_tail(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}

/* exp(x) without its power of two, whose exponent goes to *n. */
static inline float luc__exp_split(float x, int32_t *n) {
  float shifted = x * 1.44269504f + 12582912.0f; /* the integer is in its last bits */
  float r = luc__exp_rest(x, shifted - 12582912.0f);
  *n = (int32_t)(luc__float_bits(shifted) - 0x4b400000u);
  return luc__exp_tail(r) * (r * r) + r + 1.0f;
}

static inline float luc__expf(float x) {
  float clamped = x > 89.0f ? 89.0f : x; /* NaN stays */
  clamped = clamped < -104.0f ? -104.0f : clamped;
  int32_t n;
  float y = luc__exp_split(clamped, &n);
  int32_t half = n >> 1; /* in two steps, so that each factor is normal */
  return y * luc__pow2(half) * luc__pow2(n - half);
}

/* For |x| <= 87 and NaN. */
static inline float luc__exp_near(float x) {
  int32_t n;
  float y = luc__exp_split(x, &n);
  return y * luc__pow2(n);
}

static inline float luc__expm1f(float x) {
  float clamped = x > 89.0f ? 89.0f : x;
  clamped = clamped < -30.0f ? -30.0f : clamped;
  clamped = x != x ? 0.0f : clamped;
  float k = luc__exp_scale(clamped), r = luc__exp_rest(clamped, k);
  float p = luc__exp_tail(r) * (r * r) + r;
  float scale = luc__pow2((int32_t)k - 1); /* half, as 2^128 is no float */
  float y = 2.0f * (scale * p + (scale - 0.5f));
  y = k == 0.0f ? p : y;
  return x != x || x == 0.0f ? x : y;
}

/* Mantissa in [sqrt(1/2), sqrt(2)) minus one, and the exponent that goes with it. */
static inline float luc__log_split(float x, float *exponent) {
  float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
  float bias = x < 1.17549435e-38f ? 23.0f : 0.0f;
  uint32_t bits = luc__float_bits(scaled) - 0x3f3504f3u; /* sqrt(1/2) becomes zero */
  *exponent = (float)((int32_t)bits >> 23) - bias;
  return luc__bits_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

static inline float luc__logf(float x) {
  float e, m = luc__log_split(x, &e), z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = p * m * z;
  y = y + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  y = m + y;
  y = y + e * 0.693359375f;
  y = x == INFINITY ? x : y;
  y = x < 0.0f ? NAN : y;
  y = x == 0.0f ? -INFINITY : y;
  return x != x ? x : y;
}

/* log(1 + x) = log(u) + what rounding 1 + x to u lost. */
static inline float luc__log1pf(float x) {
  float u = 1.0f + x, back = u - 1.0f;
  float y = luc__logf(u), lost = (x - back) / u;
  y = back == x ? y : y + lost;
  return x == 0.0f ? x : y;
}

static inline float luc__sigmoidf(float x) {
  float e = luc__expf(-fabsf(x));
  float numerator = x < 0.0f ? e : 1.0f;
  return numerator / (1.0f + e);
}

static inline float luc__tanhf(float x) {
  float a = fabsf(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = copysignf(p * z * x + x, x); /* -0 too */
  float most = a > 10.0f ? 10.0f : a;
  float far = copysignf(1.0f - 2.0f / (luc__exp_near(2.0f * most) + 1.0f), x);
  return a < 0.625f ? near : far;
}

static inline float luc__erff(float x) {
  float t = fabsf(x), s = x * x;
  t = t > 4.0f ? 4.0f : t;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * (t * t) + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  float far = copysignf(1.0f - luc__exp_near(r), x);
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  float near = p * x + x;
  near = fabsf(x) > 0.927734375f ? far : near;
  return x != x ? x : near;
}

#endif
