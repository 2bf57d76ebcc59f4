/* MT19937 (Matsumoto and Nishimura) and the distributions of PyTorch's CPU generator
 * (aten/src/ATen/core/DistributionsHelper.h, native/cpu/DistributionTemplates.h).
 * The order and width of every draw is PyTorch's: the same seed gives the same numbers. */
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { N = 624, M = 397 };

static const double PI = 3.14159265358979323846;

void luc__generator_seed(luc_generator *gen, uint64_t seed) {
  uint32_t x = (uint32_t)seed;
  gen->seed = seed;
  gen->state[0] = x;
  for (uint32_t i = 1; i < N; i++) {
    x = 1812433253u * (x ^ (x >> 30)) + i;
    gen->state[i] = x;
  }
  gen->left = 1;
  gen->next = 0;
  gen->has_normal_float = gen->has_normal_double = false;
  gen->normal_float = 0;
  gen->normal_double = 0;
}

static uint32_t twist(uint32_t u, uint32_t v) {
  uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
  return (mixed >> 1) ^ ((0u - (v & 1u)) & 0x9908b0dfu);
}

static void next_state(luc_generator *gen) {
  uint32_t *s = gen->state;
  int i = 0;
  for (; i < N - M; i++) s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
  for (; i < N - 1; i++) s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
  s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
  gen->left = N;
  gen->next = 0;
}

uint32_t luc__random_u32(luc_generator *gen) {
  if (--gen->left == 0) next_state(gen);
  uint32_t y = gen->state[gen->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t luc__random_u64(luc_generator *gen) {
  uint64_t high = luc__random_u32(gen);
  return high << 32 | luc__random_u32(gen);
}

double luc__uniform_double(luc_generator *gen) {
  return (double)(luc__random_u64(gen) & 0x1fffffffffffffu) * 0x1p-53;
}

double luc__normal_double(luc_generator *gen) {
  if (gen->has_normal_double) {
    gen->has_normal_double = false;
    return gen->normal_double;
  }
  double u1 = luc__uniform_double(gen), u2 = luc__uniform_double(gen);
  double radius = sqrt(-2.0 * log(1.0 - u2)), angle = 2.0 * PI * u1;
  gen->normal_double = radius * sin(angle);
  gen->has_normal_double = true;
  return radius * cos(angle);
}

void luc__fill_randperm(luc_generator *gen, int64_t *out, int64_t n, int64_t first) {
  for (int64_t i = 0; i < n; i++) out[i] = first + i;
  for (int64_t i = 0; i < n - 1; i++) {
    int64_t other = i + (int64_t)(luc__random_u32(gen) % (uint64_t)(n - i));
    int64_t value = out[i];
    out[i] = out[other];
    out[other] = value;
  }
}

/* From rate 10 on: transformed rejection (Hoermann 1993), as in aten/native/Distributions.cpp. */
static double poisson_large(luc_generator *gen, double rate) {
  double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = luc__uniform_double(gen) - 0.5, v = luc__uniform_double(gen), us = 0.5 - fabs(u);
    double k = floor((2 * a / us + b) * u + rate + 0.43);
    int sign; /* lgamma alone writes to a global */
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
        -rate + k * log_rate - lgamma_r(k + 1, &sign))
      return k;
  }
}

double luc__poisson(luc_generator *gen, double rate) {
  if (!(rate > 0)) return 0;
  if (rate >= 10) return poisson_large(gen, rate);
  double floor_at = exp(-rate), count = 0;
  for (double product = luc__uniform_double(gen); product > floor_at; count++)
    product *= luc__uniform_double(gen);
  return count;
}

/* ---- the state as bytes ---- */

/* at::CPUGeneratorImplState, so that a state can come from PyTorch or go there. */
typedef struct saved_state {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next, state[N];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid, unused;
  float normal_float;
  uint8_t normal_float_is_valid, unused2[3];
} saved_state;
_Static_assert(sizeof(saved_state) == LUC_RNG_STATE_BYTES, "as PyTorch lays it out");

void luc__generator_save(const luc_generator *gen, uint8_t *bytes) {
  saved_state s = {.seed = gen->seed, .left = gen->left, .seeded = 1, .next = (uint64_t)gen->next};
  for (int i = 0; i < N; i++) s.state[i] = gen->state[i];
  s.normal_is_valid = gen->has_normal_double;
  s.normal_y = gen->has_normal_double ? gen->normal_double : 0;
  s.normal_float_is_valid = gen->has_normal_float;
  s.normal_float = gen->has_normal_float ? gen->normal_float : 0;
  memcpy(bytes, &s, sizeof s);
}

bool luc__generator_load(luc_generator *gen, const uint8_t *bytes) {
  saved_state s;
  memcpy(&s, bytes, sizeof s);
  if (s.left < 1 || s.left > N || s.next > N || s.next + (uint64_t)s.left > N + 1) return false;
  gen->seed = s.seed;
  gen->left = s.left;
  gen->next = (int)s.next;
  for (int i = 0; i < N; i++) gen->state[i] = (uint32_t)s.state[i];
  gen->has_normal_double = s.normal_is_valid != 0;
  gen->normal_double = s.normal_y;
  gen->has_normal_float = s.normal_float_is_valid != 0;
  gen->normal_float = s.normal_float;
  return true;
}
