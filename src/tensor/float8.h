/* The 8-bit floating point formats to and from float, without branches, for loops that become
 * vector code. Rounding is to nearest even. What is too large becomes NaN, or infinity in
 * float8_e5m2, which alone has one; the fnuz formats have one zero, and their -0 is NaN. */
#ifndef LUC_FLOAT8_H
#define LUC_FLOAT8_H

#include "tensor/half.h"

/* The 7 bits below the sign as a number: shifted into place, and scaled, so that denormals come out
 * right. */
static inline float luc__float8_widen(uint8_t x, int fraction, int bias) {
  float scaled = luc__bits_float((uint32_t)(x & 0x7f) << (23 - fraction)) *
                 luc__bits_float((uint32_t)(254 - bias) << 23);
  return luc__bits_float(luc__float_bits(scaled) | (uint32_t)(x & 0x80) << 24);
}

/* Those bits of a number smaller in size than 2^limit; denormals round by adding a power of two
 * whose last bit is theirs. */
static inline uint32_t luc__float8_round(uint32_t size, int fraction, int bias) {
  uint32_t least = (uint32_t)(128 - bias) << 23, magic = (uint32_t)(151 - bias - fraction) << 23;
  uint32_t small = luc__float_bits(luc__bits_float(size) + luc__bits_float(magic)) - magic;
  int drop = 23 - fraction;
  uint32_t odd = size >> drop & 1, half = (1u << (drop - 1)) - 1;
  uint32_t normal = (size - ((uint32_t)(127 - bias) << 23) + half + odd) >> drop;
  return size < least ? small : normal;
}

static inline float luc__e4m3fn_to_float(uint8_t x) {
  return (x & 0x7f) == 0x7f ? luc__bits_float(0x7fc00000u) : luc__float8_widen(x, 3, 7);
}
static inline float luc__e5m2_to_float(uint8_t x) {
  uint32_t special = (uint32_t)(x & 0x7f) << 21 | 0x7f800000u | (uint32_t)(x & 0x80) << 24;
  return (x & 0x7f) >= 0x7c ? luc__bits_float(special) : luc__float8_widen(x, 2, 15);
}
static inline float luc__e4m3fnuz_to_float(uint8_t x) {
  return x == 0x80 ? luc__bits_float(0x7fc00000u) : luc__float8_widen(x, 3, 8);
}
static inline float luc__e5m2fnuz_to_float(uint8_t x) {
  return x == 0x80 ? luc__bits_float(0x7fc00000u) : luc__float8_widen(x, 2, 16);
}
/* A power of two: 2^(x - 127). */
static inline float luc__e8m0fnu_to_float(uint8_t x) {
  uint32_t bits = x == 0 ? 0x00400000u : (uint32_t)x << 23;
  return luc__bits_float(x == 0xff ? 0x7fc00000u : bits);
}

static inline uint8_t luc__float_to_e4m3fn(float f) {
  uint32_t bits = luc__float_bits(f), size = bits & 0x7fffffffu;
  uint32_t x = luc__float8_round(size, 3, 7);
  return (uint8_t)((size >= 0x43f00000u ? 0x7fu : x) | (bits >> 24 & 0x80u)); /* 480 */
}
static inline uint8_t luc__float_to_e5m2(float f) {
  uint32_t bits = luc__float_bits(f), size = bits & 0x7fffffffu;
  uint32_t x = luc__float8_round(size, 2, 15);
  x = size >= 0x47800000u ? 0x7cu : x; /* 65536 */
  return (uint8_t)((size > 0x7f800000u ? 0x7fu : x) | (bits >> 24 & 0x80u));
}
static inline uint8_t luc__float_to_e4m3fnuz(float f) {
  uint32_t bits = luc__float_bits(f), size = bits & 0x7fffffffu;
  uint32_t x = luc__float8_round(size, 3, 8);
  uint32_t signed_x = x == 0 ? 0 : x | (bits >> 24 & 0x80u);
  return (uint8_t)(size >= 0x43800000u ? 0x80u : signed_x); /* 256 */
}
static inline uint8_t luc__float_to_e5m2fnuz(float f) {
  uint32_t bits = luc__float_bits(f), size = bits & 0x7fffffffu;
  uint32_t x = luc__float8_round(size, 2, 16);
  uint32_t signed_x = x == 0 ? 0 : x | (bits >> 24 & 0x80u);
  return (uint8_t)(size >= 0x47800000u ? 0x80u : signed_x); /* 65536 */
}
/* The sign is lost. */
static inline uint8_t luc__float_to_e8m0fnu(float f) {
  uint32_t bits = luc__float_bits(f), exponent = bits >> 23 & 0xffu;
  uint32_t above = (bits & 0x3fffffu) > 0 || exponent > 0; /* of a half: more, or odd */
  uint32_t up = (bits & 0x400000u) && above;
  return (uint8_t)(exponent == 0xffu ? 0xffu : exponent + up);
}

#endif
