/* Filling memory with random numbers of every dtype and distribution, draw for draw as PyTorch's
 * CPU generator does. Targets are contiguous; views are the caller's business. */
#ifndef LUC_CPU_RANDOM_H
#define LUC_CPU_RANDOM_H

#include "base/context.h"
#include "tensor/dtype.h"

/* One row per instruction set: the loops worth vectorizing. */
typedef struct luc_random_kernels {
  /* out[i] = the generator's state words, tempered */
  void (*temper)(uint32_t *out, const uint32_t *state, int64_t n);
  /* out[i] = uniform in [lo, lo + width) from the low 24 - shift bits, rounded once */
  void (*uniform)(float *out, const uint32_t *bits, int64_t n, float lo, float width, int shift);
  /* out[i] = uniform in [0, 1) from the low 53 bits of two words, of which the first is high */
  void (*uniform_double)(double *out, const uint32_t *bits, int64_t n);
  /* out[i] = 1 where those 53 bits are below limit, else 0 */
  void (*below)(float *out, const uint32_t *bits, int64_t n, int64_t limit);
  /* out[i] = bits[i] % range + first */
  void (*remainder)(int64_t *out, const uint32_t *bits, int64_t n, uint32_t range, int64_t first);
  /* out[i] = the multiple of power * 2^-23 nearest to p[i]. False: one lies between two, or is more
   * than half of power. */
  bool (*on_grid)(double *out, const float *p, int64_t n, float power);
  /* Box-Muller in place on blocks of 16 uniforms: 8 for radii, 8 for angles */
  void (*normal)(float *x, int64_t blocks, float mean, float std);
  /* The same of float16 and bfloat16, before and after logarithms, cosines and sines are taken */
  void (*narrow_uniforms[2])(double *log, double *angle, const float *x, int64_t blocks);
  void (*narrow_normal[2])(float *x, const double *log, const double *cosine, const double *sine,
                           int64_t blocks, float mean, float std);
} luc_random_kernels;
extern const luc_random_kernels luc__random_base, luc__random_avx2, luc__random_avx512;

typedef enum luc_distribution {
  LUC_UNIFORM,     /* a: low, b: high */
  LUC_NORMAL,      /* a: mean, b: std */
  LUC_LOG_NORMAL,  /* a: mean, b: std */
  LUC_EXPONENTIAL, /* a: lambda */
  LUC_CAUCHY,      /* a: median, b: sigma */
  LUC_GEOMETRIC,   /* a: p, b: log(1 - p) */
  LUC_BERNOULLI,   /* a: p */
  LUC_INTEGERS,    /* lo, hi (exclusive) */
  LUC_ANY_INTEGER  /* the whole range of the target dtype that it holds exactly */
} luc_distribution;

typedef struct luc_draw {
  luc_distribution kind;
  double a, b;
  int64_t lo, hi;
  luc_dtype target; /* dtype of the tensor that is filled */
  bool blocks;      /* normal: the target is contiguous, so 16 values and more come in blocks */
} luc_draw;

/* The dtype luc__random_fill writes for this draw; the caller converts to draw->target. */
luc_dtype luc__random_dtype(const luc_draw *draw);
void luc__random_fill(luc_context *ctx, luc_generator *gen, const luc_draw *draw, void *out,
                      int64_t n);
/* out[i] = 1 with probability p[i]: 24-bit draws for float p, 53-bit draws for double p. */
void luc__random_bernoulli_float(luc_context *ctx, luc_generator *gen, bool *out, const float *p,
                                 int64_t n);
void luc__random_bernoulli_double(luc_context *ctx, luc_generator *gen, bool *out, const double *p,
                                  int64_t n);

/* One row of multinomial over n weights, drawn with a running sum (scratch: n doubles). single: the
 * weights are floats, else doubles, and so are sums rounded, as in PyTorch. */
void luc__multinomial_replace(luc_context *ctx, luc_generator *gen, int64_t *out, int64_t samples,
                              const void *p, int64_t n, double *scratch, bool single);
/* Without replacement: weight / exponential, of which the largest are taken. draws: n exponential
 * draws, which the keys, of the weights' type, replace. */
void luc__multinomial_keys(const void *p, int64_t n, double *draws, bool single);

#endif
