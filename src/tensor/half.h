/* float16 and bfloat16 to and from float without branches, for loops that become vector code.
 * Rounds to nearest even. */
#ifndef LUC_HALF_H
#define LUC_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float luc__bits_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t luc__float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float luc__half_to_float(uint16_t h) {
  uint32_t bits = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t scaled =
      luc__float_bits(luc__bits_float(bits) * 0x1p112f);    /* denormals come out right */
  uint32_t special = bits >= 0x0f800000u ? 0x7f800000u : 0; /* infinities and NaN */
  return luc__bits_float(scaled | special | sign);
}

/* Adding a power of two whose last bit is the half's last bit makes the addition do the rounding;
 * the scalings before send what is too large to infinity. */
static inline uint16_t luc__float_to_half(float f) {
  float rounded = (fabsf(f) * 0x1p112f) * 0x1p-110f;
  uint32_t doubled = luc__float_bits(f) << 1, exponent = doubled & 0xff000000u;
  exponent = exponent < 0x71000000u ? 0x71000000u : exponent;
  rounded += luc__bits_float((exponent >> 1) + 0x07800000u);
  uint32_t bits = luc__float_bits(rounded);
  uint32_t magnitude = ((bits >> 13) & 0x7c00u) + (bits & 0x0fffu);
  magnitude = doubled > 0xff000000u ? 0x7e00u : magnitude;
  return (uint16_t)(magnitude | ((luc__float_bits(f) >> 16) & 0x8000u));
}

static inline float luc__bfloat16_to_float(uint16_t h) {
  return luc__bits_float((uint32_t)h << 16);
}

static inline uint16_t luc__float_to_bfloat16(float f) {
  uint32_t bits = luc__float_bits(f);
  uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return (uint16_t)(f != f ? 0x7fc0u : rounded >> 16);
}

#endif
