/* MT19937 and PyTorch's CPU way of turning it into numbers. at::CPUGeneratorImpl keeps one cached
 * normal for float and one for double; seeding drops them. */
#ifndef LUC_RANDOM_H
#define LUC_RANDOM_H

#include "lucerna/base.h"

typedef struct luc_generator {
  uint32_t state[624];
  int left; /* values still unused in state */
  int next;
  uint64_t seed;
  bool has_normal_float, has_normal_double;
  float normal_float;
  double normal_double;
} luc_generator;

void luc__generator_seed(luc_generator *gen, uint64_t seed);
uint32_t luc__random_u32(luc_generator *gen);
uint64_t luc__random_u64(luc_generator *gen);   /* first draw is the high half, as in PyTorch */
float luc__uniform_float(luc_generator *gen);   /* [0, 1) from 24 bits */
double luc__uniform_double(luc_generator *gen); /* [0, 1) from 53 bits */
double luc__normal_double(luc_generator *gen);  /* Box-Muller with the cached second value */
/* Fills as Tensor.uniform_ / normal_ do (normal_ of >= 16 contiguous values has its own order). */
void luc__fill_uniform_float(luc_generator *gen, float *out, int64_t n, double lo, double hi);
void luc__fill_uniform_double(luc_generator *gen, double *out, int64_t n, double lo, double hi);
void luc__fill_normal_float(luc_generator *gen, float *out, int64_t n, double mean, double std);
void luc__fill_normal_double(luc_generator *gen, double *out, int64_t n, double mean, double std);
/* Tensor.random_(lo, hi) and randint: hi exclusive; 32-bit draws while the range fits, else 64. */
void luc__fill_random_int(luc_generator *gen, int64_t *out, int64_t n, int64_t lo, int64_t hi);
/* randperm(n), its numbers from `first` on. */
void luc__fill_randperm(luc_generator *gen, int64_t *out, int64_t n, int64_t first);
/* Bernoulli by p per element (p may have stride 0), one double draw each, as PyTorch without MKL.
 */
void luc__fill_bernoulli(luc_generator *gen, bool *out, const double *p, int64_t p_stride,
                         int64_t n);

/* The same with float p: one float draw each, compared in float. */
void luc__fill_bernoulli_float(luc_generator *gen, bool *out, const float *p, int64_t p_stride,
                               int64_t n);

/* Draws modulo `modulus` (0: all 64 bits), of 64 bits if wide: Tensor.random_() without bounds has
 * modulus 2^63 wide for int64, 2^53+1 wide for float64, 2^24+1 for float32, 2^11+1 for float16,
 * 2^8+1 for bfloat16, 2^31, 2^15, 2^7 for the smaller signed, 256 for uint8, 2 for bool. */
void luc__fill_random_mod(luc_generator *gen, int64_t *out, int64_t n, uint64_t modulus, bool wide);

/* One value of the in-place fills that make double draws whatever the dtype. */
double luc__exponential(luc_generator *gen, double lambda);
double luc__cauchy(luc_generator *gen, double median, double sigma);
double luc__log_normal(luc_generator *gen, double mean, double std);
double luc__geometric(luc_generator *gen, double p);
double luc__poisson(luc_generator *gen, double rate);

/* The bytes of torch.get_rng_state, and back; false if they are no valid state (nothing changes).
 */
enum { LUC_RNG_STATE_BYTES = 5056 };
void luc__generator_save(const luc_generator *gen, uint8_t *bytes);
bool luc__generator_load(luc_generator *gen, const uint8_t *bytes);

#endif
