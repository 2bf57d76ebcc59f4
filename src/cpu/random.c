/* The distributions. Most are one double draw each; uniform and normal have PyTorch's special ways
 * for each dtype. Sources: ATen/core/DistributionsHelper.h and TransformationHelper.h. */
#include "cpu/random.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels.h"

enum { BLOCK = 16, CHUNK = 256 };

/* The generator's next n words. */
static void words(luc_context *ctx, luc_generator *gen, uint32_t *out, int64_t n) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  while (n > 0) {
    int64_t ready = gen->left - 1;
    if (ready > n) ready = n;
    if (ready > 0) {
      k->temper(out, gen->state + gen->next, ready);
      gen->next += (int)ready;
      gen->left -= (int)ready;
    } else {
      out[0] = luc__random_u32(gen); /* renews the state */
      ready = 1;
    }
    out += ready;
    n -= ready;
  }
}

static void uniform_float(luc_context *ctx, luc_generator *gen, float *out, int64_t n, float lo,
                          float hi) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  uint32_t bits[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    words(ctx, gen, bits, m);
    k->uniform(out + i, bits, m, lo, hi);
  }
}

static float round_to(float v, luc_dtype dtype) {
  if (dtype == LUC_FLOAT16) return luc__half_to_float(luc__float_to_half(v));
  return luc__bfloat16_to_float(luc__float_to_bfloat16(v));
}

/* The narrow types draw as many bits as they hold. */
static void uniform_narrow(luc_generator *gen, float *out, int64_t n, double lo, double hi,
                           luc_dtype dtype) {
  uint32_t steps = dtype == LUC_FLOAT16 ? 1u << 11 : 1u << 8;
  float from = round_to((float)lo, dtype), to = round_to((float)hi, dtype);
  for (int64_t i = 0; i < n; i++) {
    float x = (float)(luc__random_u32(gen) & (steps - 1)) / (float)steps;
    out[i] = round_to(fmaf(x, to - from, from), dtype);
  }
}

static void normal_float(luc_context *ctx, luc_generator *gen, float *out, int64_t n,
                         const luc_draw *d) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  float mean = (float)d->a, std = (float)d->b;
  uniform_float(ctx, gen, out, n, 0, 1);
  k->normal(out, n / BLOCK, mean, std);
  if (n % BLOCK == 0) return;
  uniform_float(ctx, gen, out + n - BLOCK, BLOCK, 0, 1);
  k->normal(out + n - BLOCK, 1, mean, std);
}

/* bfloat16 rounds after every step, float16 once. */
static void normal_narrow_block(float *x, const luc_draw *d) {
  bool each = d->target == LUC_BFLOAT16;
  float mean = round_to((float)d->a, d->target), std = round_to((float)d->b, d->target);
  for (int j = 0; j < BLOCK / 2; j++) {
    float u = 1.0f - x[j], angle = (float)(2 * 3.14159265358979323846) * x[j + BLOCK / 2];
    float log_u = logf(each ? round_to(u, d->target) : u);
    if (each) log_u = round_to(log_u, d->target), angle = round_to(angle, d->target);
    float radius = sqrtf(-2.0f * log_u), c = cosf(angle), s = sinf(angle);
    if (each) {
      radius = round_to(sqrtf(round_to(-2.0f * log_u, d->target)), d->target);
      c = round_to(radius * round_to(c, d->target), d->target) * std;
      s = round_to(radius * round_to(s, d->target), d->target) * std;
      x[j] = round_to(c, d->target) + mean;
      x[j + BLOCK / 2] = round_to(s, d->target) + mean;
    } else {
      x[j] = radius * c * std + mean;
      x[j + BLOCK / 2] = radius * s * std + mean;
    }
  }
}

static void normal_narrow(luc_generator *gen, float *out, int64_t n, const luc_draw *d) {
  uniform_narrow(gen, out, n, 0, 1, d->target);
  for (int64_t i = 0; i + BLOCK <= n; i += BLOCK) normal_narrow_block(out + i, d);
  if (n % BLOCK == 0) return;
  uniform_narrow(gen, out + n - BLOCK, BLOCK, 0, 1, d->target);
  normal_narrow_block(out + n - BLOCK, d);
}

/* One value of the distributions that are drawn in double whatever the target is. */
static double one(luc_generator *gen, const luc_draw *d) {
  switch (d->kind) {
  case LUC_NORMAL: return luc__normal_double(gen) * d->b + d->a;
  case LUC_LOG_NORMAL: return exp(luc__normal_double(gen) * d->b + d->a);
  case LUC_EXPONENTIAL: return -1.0 / d->a * log(1.0 - luc__uniform_double(gen));
  case LUC_CAUCHY:
    return d->a + d->b * tan(3.14159265358979323846 * (luc__uniform_double(gen) - 0.5));
  case LUC_GEOMETRIC: return ceil(log(luc__uniform_double(gen)) / d->b);
  case LUC_BERNOULLI: return luc__uniform_double(gen) < d->a;
  default: return luc__uniform_double(gen);
  }
}

static int64_t any_integer(luc_generator *gen, luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT64: return (int64_t)(luc__random_u64(gen) % ((UINT64_C(1) << 53) + 1));
  case LUC_INT64: return (int64_t)(luc__random_u64(gen) & INT64_MAX);
  case LUC_FLOAT32: return luc__random_u32(gen) % ((1u << 24) + 1);
  case LUC_FLOAT16: return luc__random_u32(gen) % ((1u << 11) + 1);
  case LUC_BFLOAT16: return luc__random_u32(gen) % ((1u << 8) + 1);
  case LUC_INT32: return luc__random_u32(gen) & INT32_MAX;
  case LUC_INT16: return luc__random_u32(gen) & INT16_MAX;
  case LUC_INT8: return luc__random_u32(gen) & INT8_MAX;
  case LUC_UINT8: return luc__random_u32(gen) & UINT8_MAX;
  default: return luc__random_u32(gen) & 1;
  }
}

luc_dtype luc__random_dtype(const luc_draw *draw) {
  switch (draw->kind) {
  case LUC_INTEGERS:
  case LUC_ANY_INTEGER: return LUC_INT64;
  case LUC_UNIFORM:
  case LUC_NORMAL: return draw->target == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  default: return LUC_FLOAT64;
  }
}

static void integers(luc_context *ctx, luc_generator *gen, const luc_draw *d, int64_t *out,
                     int64_t n) {
  uint64_t range = (uint64_t)d->hi - (uint64_t)d->lo;
  uint32_t bits[CHUNK];
  if (d->kind == LUC_ANY_INTEGER) {
    for (int64_t i = 0; i < n; i++) out[i] = any_integer(gen, d->target);
  } else if (range == 0 || range >> 32) {
    luc__fill_random_int(gen, out, n, d->lo, d->hi);
  } else {
    for (int64_t i = 0; i < n; i += CHUNK) {
      int64_t m = n - i < CHUNK ? n - i : CHUNK;
      words(ctx, gen, bits, m);
      for (int64_t j = 0; j < m; j++) out[i + j] = bits[j] % (uint32_t)range + d->lo;
    }
  }
}

void luc__random_fill(luc_context *ctx, luc_generator *gen, const luc_draw *draw, void *out,
                      int64_t n) {
  bool narrow = draw->target == LUC_FLOAT16 || draw->target == LUC_BFLOAT16;
  luc_dtype dtype = luc__random_dtype(draw);
  bool blocks = draw->blocks && n >= BLOCK;
  if (dtype == LUC_INT64) {
    integers(ctx, gen, draw, out, n);
  } else if (draw->kind == LUC_UNIFORM && narrow) {
    uniform_narrow(gen, out, n, draw->a, draw->b, draw->target);
  } else if (draw->kind == LUC_UNIFORM && dtype == LUC_FLOAT32) {
    uniform_float(ctx, gen, out, n, (float)draw->a, (float)draw->b);
  } else if (draw->kind == LUC_UNIFORM) {
    luc__fill_uniform_double(gen, out, n, draw->a, draw->b);
  } else if (draw->kind == LUC_NORMAL && blocks && narrow) {
    normal_narrow(gen, out, n, draw);
  } else if (draw->kind == LUC_NORMAL && blocks && dtype == LUC_FLOAT32) {
    normal_float(ctx, gen, out, n, draw);
  } else if (draw->kind == LUC_NORMAL && blocks) {
    luc__fill_normal_double(gen, out, n, draw->a, draw->b);
  } else if (dtype == LUC_FLOAT32) {
    float *to = out;
    for (int64_t i = 0; i < n; i++) to[i] = (float)one(gen, draw);
  } else {
    double *to = out;
    for (int64_t i = 0; i < n; i++) to[i] = one(gen, draw);
  }
}

void luc__random_bernoulli_float(luc_generator *gen, bool *out, const float *p, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = luc__uniform_float(gen) < p[i];
}

/* ---- multinomial ---- */

/* The share of the first i + 1 weights. */
static double share(const double *sums, int64_t i, int64_t n, bool single) {
  if (i == n - 1) return 1;
  return single ? (double)((float)sums[i] / (float)sums[n - 1]) : sums[i] / sums[n - 1];
}

void luc__multinomial_replace(luc_generator *gen, int64_t *out, int64_t samples, const double *p,
                              int64_t n, double *scratch, bool single) {
  float narrow = 0;
  double sum = 0;
  if (single)
    for (int64_t i = 0; i < n; i++) scratch[i] = (double)(narrow += (float)p[i]);
  else
    for (int64_t i = 0; i < n; i++) scratch[i] = sum += p[i];
  for (int64_t s = 0; s < samples; s++) {
    double u = luc__uniform_double(gen);
    int64_t left = 0, right = n;
    while (left < right) {
      int64_t middle = left + (right - left) / 2;
      if (share(scratch, middle, n, single) < u) {
        left = middle + 1;
      } else {
        right = middle;
      }
    }
    out[s] = left;
  }
}

void luc__multinomial_distinct(int64_t *out, int64_t samples, const double *p, int64_t n,
                               double *keys, bool single) {
  for (int64_t i = 0; i < n; i++) {
    keys[i] = single ? (double)((float)p[i] / (float)keys[i]) : p[i] / keys[i];
  }
  for (int64_t s = 0; s < samples; s++) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
      if (keys[i] > keys[best]) best = i;
    out[s] = best;
    keys[best] = -1;
  }
}
