/* The distributions. Most are one double draw each; uniform and normal have PyTorch's special ways
 * for each dtype. Sources: ATen/core/DistributionsHelper.h and TransformationHelper.h. */
#include "cpu/random.h"

#include <math.h>
#include <string.h>

#include "cpu/kernels.h"
#include "tensor/half.h"

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

/* Of the low 24 - shift bits of each word. */
static void uniform_float(luc_context *ctx, luc_generator *gen, float *out, int64_t n, float lo,
                          float width, int shift) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  uint32_t bits[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    words(ctx, gen, bits, m);
    k->uniform(out + i, bits, m, lo, width, shift);
  }
}

/* At most CHUNK draws of 53 bits in [0, 1). */
static void units(luc_context *ctx, luc_generator *gen, double *out, int64_t n) {
  uint32_t bits[2 * CHUNK];
  words(ctx, gen, bits, 2 * n);
  luc__kernels(ctx)->random->uniform_double(out, bits, n);
}

static void uniform_double(luc_context *ctx, luc_generator *gen, double *out, int64_t n, double lo,
                           double hi) {
  const double width = hi - lo;
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    units(ctx, gen, out + i, m);
    for (int64_t j = i; j < i + m; j++) out[j] = lo == 0 ? out[j] * width : fma(out[j], width, lo);
  }
}

/* A draw is below p where its 53 bits are below 2^53 p. */
static void bernoulli(luc_context *ctx, luc_generator *gen, float *out, int64_t n, double p) {
  const int64_t limit = (int64_t)ceil(p * 0x1p53);
  uint32_t bits[2 * CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    words(ctx, gen, bits, 2 * m);
    luc__kernels(ctx)->random->below(out + i, bits, m, limit);
  }
}

static float round_to(float v, luc_dtype dtype) {
  if (dtype == LUC_FLOAT32) return v;
  if (dtype == LUC_FLOAT16) return luc__half_to_float(luc__float_to_half(v));
  return luc__bfloat16_to_float(luc__float_to_bfloat16(v));
}

/* The narrow types draw as many bits as they hold. */
static int narrow_bits(luc_dtype dtype) {
  return dtype == LUC_FLOAT16 ? 11 : 8;
}

static void uniform_narrow(luc_context *ctx, luc_generator *gen, float *out, int64_t n, double lo,
                           double hi, luc_dtype dtype) {
  float from = round_to((float)lo, dtype), to = round_to((float)hi, dtype);
  uniform_float(ctx, gen, out, n, from, round_to(to - from, dtype), 24 - narrow_bits(dtype));
}

static void normal_float(luc_context *ctx, luc_generator *gen, float *out, int64_t n,
                         const luc_draw *d) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  float mean = (float)d->a, std = (float)d->b;
  uniform_float(ctx, gen, out, n, 0, 1, 0);
  k->normal(out, n / BLOCK, mean, std);
  if (n % BLOCK == 0) return;
  uniform_float(ctx, gen, out + n - BLOCK, BLOCK, 0, 1, 0);
  k->normal(out + n - BLOCK, 1, mean, std);
}

/* x = f(x), in place, by the pointwise kernel. */
static void apply(luc_context *ctx, luc_ew f, double *x, int64_t n) {
  static const luc_ew_params none;
  const void *in[LUC_EW_MAX_INPUTS] = {x};
  luc__kernels(ctx)->elementwise[f].fn[LUC_COMPUTE_F64](x, in, n, &none, 0);
}

/* The j-th pair of Box-Muller: of each 16 the first 8 give radii, the last 8 angles. */
static int64_t radius_of(int64_t j) {
  return j / 8 * BLOCK + j % 8;
}

/* Logarithms, and cosines and sines, of at most CHUNK / 2 numbers each. */
typedef struct polar {
  double log[CHUNK / 2], cosine[CHUNK / 2], sine[CHUNK / 2];
} polar;

static void polar_of(luc_context *ctx, polar *p, int64_t n) {
  memcpy(p->cosine, p->sine, (size_t)n * sizeof p->sine[0]);
  apply(ctx, LUC_EW_log, p->log, n);
  apply(ctx, LUC_EW_cos, p->cosine, n);
  apply(ctx, LUC_EW_sin, p->sine, n);
}

/* In place on at most CHUNK uniforms. */
static void normal_blocks(luc_context *ctx, double *x, int64_t n, double mean, double std) {
  const double two_pi = 6.283185307179586;
  polar p;
  for (int64_t j = 0; j < n / 2; j++) {
    const double *from = x + radius_of(j);
    p.log[j] = 1.0 - from[0];
    p.sine[j] = two_pi * from[BLOCK / 2];
  }
  polar_of(ctx, &p, n / 2);
  for (int64_t j = 0; j < n / 2; j++) {
    double *to = x + radius_of(j), r = sqrt(-2.0 * p.log[j]);
    to[0] = r * p.cosine[j] * std + mean;
    to[BLOCK / 2] = r * p.sine[j] * std + mean;
  }
}

/* The same of halves. */
static void narrow_blocks(luc_context *ctx, float *x, int64_t n, const luc_draw *d) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  const bool brain = d->target == LUC_BFLOAT16;
  polar p;
  k->narrow_uniforms[brain](p.log, p.sine, x, n / BLOCK);
  polar_of(ctx, &p, n / 2);
  k->narrow_normal[brain](x, p.log, p.cosine, p.sine, n / BLOCK, round_to((float)d->a, d->target),
                          round_to((float)d->b, d->target));
}

static void normal_narrow(luc_context *ctx, luc_generator *gen, float *out, int64_t n,
                          const luc_draw *d) {
  uniform_narrow(ctx, gen, out, n, 0, 1, d->target);
  for (int64_t i = 0, m; i + BLOCK <= n; i += m) {
    m = n - i < CHUNK ? (n - i) / BLOCK * BLOCK : CHUNK;
    narrow_blocks(ctx, out + i, m, d);
  }
  if (n % BLOCK == 0) return;
  uniform_narrow(ctx, gen, out + n - BLOCK, BLOCK, 0, 1, d->target);
  narrow_blocks(ctx, out + n - BLOCK, BLOCK, d);
}

/* A remainder draws the last 16 anew. */
static void normal_double(luc_context *ctx, luc_generator *gen, double *out, int64_t n,
                          const luc_draw *d) {
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    units(ctx, gen, out + i, m);
    normal_blocks(ctx, out + i, m - m % BLOCK, d->a, d->b);
  }
  if (n % BLOCK == 0) return;
  units(ctx, gen, out + n - BLOCK, BLOCK);
  normal_blocks(ctx, out + n - BLOCK, BLOCK, d->a, d->b);
}

static double normal(luc_generator *gen, const luc_draw *d) {
  double x = luc__normal_double(gen) * d->b + d->a;
  return d->kind == LUC_NORMAL ? x : exp(x);
}

/* What the distribution makes of uniform values. */
static void shape(luc_context *ctx, const luc_draw *d, double *x, int64_t n) {
  const double a = d->a, b = d->b, pi = 3.14159265358979323846;
  switch (d->kind) {
  case LUC_EXPONENTIAL:
    for (int64_t i = 0; i < n; i++) x[i] = 1.0 - x[i];
    apply(ctx, LUC_EW_log, x, n);
    for (int64_t i = 0; i < n; i++) x[i] *= -1.0 / a;
    break;
  case LUC_CAUCHY:
    for (int64_t i = 0; i < n; i++) x[i] = pi * (x[i] - 0.5);
    apply(ctx, LUC_EW_tan, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = a + b * x[i];
    break;
  case LUC_GEOMETRIC:
    apply(ctx, LUC_EW_log, x, n);
    for (int64_t i = 0; i < n; i++) x[i] /= b;
    apply(ctx, LUC_EW_ceil, x, n);
    break;
  default: break;
  }
}

/* The distributions that take one draw of 53 bits each, whatever the target is. */
static void shaped(luc_context *ctx, luc_generator *gen, const luc_draw *d, double *out,
                   int64_t n) {
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    units(ctx, gen, out + i, m);
    shape(ctx, d, out + i, m);
  }
}

/* How many integers from 0 on the dtype holds exactly, of those that one word gives. */
static int64_t integers_of(luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT32: return (1 << 24) + 1;
  case LUC_FLOAT16: return (1 << 11) + 1;
  case LUC_BFLOAT16: return (1 << 8) + 1;
  case LUC_INT32: return INT64_C(1) << 31;
  case LUC_INT16: return 1 << 15;
  case LUC_INT8: return 1 << 7;
  case LUC_UINT8: return 1 << 8;
  default: return 2;
  }
}

luc_dtype luc__random_dtype(const luc_draw *draw) {
  switch (draw->kind) {
  case LUC_INTEGERS:
  case LUC_ANY_INTEGER: return LUC_INT64;
  case LUC_BERNOULLI: return LUC_FLOAT32;
  case LUC_UNIFORM:
  case LUC_NORMAL: return draw->target == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  default: return LUC_FLOAT64;
  }
}

/* Of float64 and int64, whose integers take two words. */
static void wide_integers(luc_generator *gen, luc_dtype dtype, int64_t *out, int64_t n) {
  const uint64_t most = dtype == LUC_INT64 ? INT64_MAX : UINT64_MAX;
  for (int64_t i = 0; i < n; i++) out[i] = (int64_t)(luc__random_u64(gen) & most);
  for (int64_t i = 0; dtype == LUC_FLOAT64 && i < n; i++)
    out[i] = (int64_t)((uint64_t)out[i] % ((UINT64_C(1) << 53) + 1));
}

static void integers(luc_context *ctx, luc_generator *gen, const luc_draw *d, int64_t *out,
                     int64_t n) {
  const luc_random_kernels *k = luc__kernels(ctx)->random;
  const bool any = d->kind == LUC_ANY_INTEGER;
  uint64_t range = any ? (uint64_t)integers_of(d->target) : (uint64_t)d->hi - (uint64_t)d->lo;
  int64_t first = any ? 0 : d->lo;
  uint32_t bits[CHUNK];
  if (any && (d->target == LUC_FLOAT64 || d->target == LUC_INT64)) {
    wide_integers(gen, d->target, out, n);
  } else if (range >> 32) {
    for (int64_t i = 0; i < n; i++)
      out[i] = (int64_t)(luc__random_u64(gen) % range + (uint64_t)first);
  } else {
    for (int64_t i = 0; i < n; i += CHUNK) {
      int64_t m = n - i < CHUNK ? n - i : CHUNK;
      words(ctx, gen, bits, m);
      k->remainder(out + i, bits, m, (uint32_t)range, first);
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
  } else if (draw->kind == LUC_BERNOULLI) {
    bernoulli(ctx, gen, out, n, draw->a);
  } else if (draw->kind == LUC_UNIFORM && narrow) {
    uniform_narrow(ctx, gen, out, n, draw->a, draw->b, draw->target);
  } else if (draw->kind == LUC_UNIFORM && dtype == LUC_FLOAT32) {
    uniform_float(ctx, gen, out, n, (float)draw->a, (float)draw->b - (float)draw->a, 0);
  } else if (draw->kind == LUC_UNIFORM) {
    uniform_double(ctx, gen, out, n, draw->a, draw->b);
  } else if (draw->kind == LUC_NORMAL && blocks && narrow) {
    normal_narrow(ctx, gen, out, n, draw);
  } else if (draw->kind == LUC_NORMAL && blocks && dtype == LUC_FLOAT32) {
    normal_float(ctx, gen, out, n, draw);
  } else if (draw->kind == LUC_NORMAL && blocks) {
    normal_double(ctx, gen, out, n, draw);
  } else if (draw->kind != LUC_NORMAL && draw->kind != LUC_LOG_NORMAL) {
    shaped(ctx, gen, draw, out, n);
  } else if (dtype == LUC_FLOAT32) {
    float *to = out;
    for (int64_t i = 0; i < n; i++) to[i] = (float)normal(gen, draw);
  } else {
    double *to = out;
    for (int64_t i = 0; i < n; i++) to[i] = normal(gen, draw);
  }
}

void luc__random_bernoulli_float(luc_context *ctx, luc_generator *gen, bool *out, const float *p,
                                 int64_t n) {
  float drawn[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    uniform_float(ctx, gen, drawn, m, 0, 1, 0);
    for (int64_t j = 0; j < m; j++) out[i + j] = drawn[j] < p[i + j];
  }
}

void luc__random_bernoulli_double(luc_context *ctx, luc_generator *gen, bool *out, const double *p,
                                  int64_t n) {
  double drawn[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    units(ctx, gen, drawn, m);
    for (int64_t j = 0; j < m; j++) out[i + j] = drawn[j] < p[i + j];
  }
}

/* ---- multinomial ---- */

/* Running sums of floats, each rounded to float. Within a power of two sums lie on one grid, and
 * the next is what the weight's nearest point of it adds, if there is one: so they are sums of such
 * points, which are exact in any order. Where the power changes, they follow one after another. */
static void float_sums(luc_context *ctx, const float *p, int64_t n, double *sums) {
  const luc_kernels *k = luc__kernels(ctx);
  float sum = 0;
  for (int64_t i = 0; i < n; i += CHUNK) {
    int64_t m = n - i < CHUNK ? n - i : CHUNK;
    float power = sum > 0x1p-60f && sum < 0x1p60f ? ldexpf(1, ilogbf(sum)) : 0;
    bool even = power > 0 && k->random->on_grid(sums + i, p + i, m, power);
    if (even) {
      sums[i] += (double)sum;
      k->scan[LUC_SCAN_SUM][LUC_COMPUTE_F64].line(sums + i, sums + i, NULL, m, 1, false, 0);
      even = sums[i + m - 1] < 2 * (double)power;
    }
    for (int64_t j = 0; !even && j < m; j++) sums[i + j] = (double)(sum += p[i + j]);
    sum = (float)sums[i + m - 1];
  }
}

static void running_sums(luc_context *ctx, const void *p, int64_t n, bool single, double *sums) {
  double sum = 0;
  if (single)
    float_sums(ctx, p, n, sums);
  else
    for (int64_t i = 0; i < n; i++) sums[i] = sum += ((const double *)p)[i];
}

/* The share of the first i + 1 weights. */
static double share(const double *sums, int64_t i, int64_t n, bool single) {
  if (i == n - 1) return 1;
  return single ? (double)((float)sums[i] / (float)sums[n - 1]) : sums[i] / sums[n - 1];
}

/* The first place whose share is not below u: `guess`, or else what the shares say. */
static int64_t place_of(const double *sums, int64_t n, bool single, double u, int64_t guess) {
  int64_t left = 0, right = n;
  bool found = share(sums, guess, n, single) >= u;
  if (found && (guess == 0 || share(sums, guess - 1, n, single) < u)) return guess;
  while (left < right) {
    int64_t middle = left + (right - left) / 2;
    if (share(sums, middle, n, single) < u) {
      left = middle + 1;
    } else {
      right = middle;
    }
  }
  return left;
}

/* Many at once look for the sum that their share of all comes to, and wait for memory together;
 * rounding aside, that is the place. */
void luc__multinomial_replace(luc_context *ctx, luc_generator *gen, int64_t *out, int64_t samples,
                              const void *p, int64_t n, double *scratch, bool single) {
  enum { AHEAD = 16 };
  double u[AHEAD];
  const double *at[AHEAD];
  running_sums(ctx, p, n, single, scratch);
  for (int64_t s = 0; s < samples; s += AHEAD) {
    const int64_t m = samples - s < AHEAD ? samples - s : AHEAD;
    for (int64_t k = 0; k < m; k++) u[k] = luc__uniform_double(gen), at[k] = scratch;
    for (int64_t left = n, half; left > 1; left -= half) {
      half = left / 2;
      for (int64_t k = 0; k < m; k++) at[k] += at[k][half - 1] < u[k] * scratch[n - 1] ? half : 0;
    }
    for (int64_t k = 0; k < m; k++)
      out[s + k] = place_of(scratch, n, single, u[k], at[k] - scratch);
  }
}

void luc__multinomial_keys(const void *p, int64_t n, double *draws, bool single) {
  if (!single)
    for (int64_t i = 0; i < n; i++) draws[i] = ((const double *)p)[i] / draws[i];
  for (int64_t i = 0; single && i < n; i++) {
    const float key = ((const float *)p)[i] / (float)draws[i];
    memcpy((float *)(void *)draws + i, &key, sizeof key);
  }
}
