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
double luc__uniform_double(luc_generator *gen); /* [0, 1) from 53 bits */
double luc__normal_double(luc_generator *gen);  /* Box-Muller with the cached second value */
/* randperm(n), its numbers from `first` on. */
void luc__fill_randperm(luc_generator *gen, int64_t *out, int64_t n, int64_t first);

/* A draw of the Poisson distribution. */
double luc__poisson(luc_generator *gen, double rate);

/* The bytes of torch.get_rng_state, and back; false if they are no valid state (nothing changes).
 */
enum { LUC_RNG_STATE_BYTES = 5056 };
void luc__generator_save(const luc_generator *gen, uint8_t *bytes);
bool luc__generator_load(luc_generator *gen, const uint8_t *bytes);

#endif
