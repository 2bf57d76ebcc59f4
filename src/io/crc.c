/* CRC-32 by carry-less multiplication: four lanes of 128 bits (of 512 where the processor has them)
 * are folded over 64 (256) bytes at a time, then into one, then reduced (Gopal et al., "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; the constants are
 * those of its bit-reflected form). What is left over, and other processors, are zlib's. */
#include "io/crc.h"

#include <stdbool.h>
#include <zlib.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define CARRYLESS __attribute__((target("pclmul,sse4.1")))

/* Moves a lane on by the distance that the two constants stand for. */
static inline CARRYLESS __m128i fold(__m128i lane, __m128i by, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(lane, by, 0x00), high = _mm_clmulepi64_si128(lane, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline CARRYLESS __m128i load(const unsigned char *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* From 128 bits to 32. */
static CARRYLESS uint32_t reduce(__m128i x, __m128i by16) {
  const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0), by4 = _mm_set_epi64x(0, 0x163cd6124);
  const __m128i poly = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, by16, 0x10));
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, mask), by4, 0x00));
  __m128i t = _mm_clmulepi64_si128(_mm_and_si128(x, mask), poly, 0x10);
  t = _mm_clmulepi64_si128(_mm_and_si128(t, mask), poly, 0x00);
  return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

/* n is at least 64 and a multiple of 16. */
static CARRYLESS uint32_t crc_folded(uint32_t crc, const unsigned char *p, size_t n) {
  const __m128i by64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i x[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)};
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~crc));
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64)
    for (int i = 0; i < 4; i++) x[i] = fold(x[i], by64, load(p + 16 * i));
  for (int i = 1; i < 4; i++) x[0] = fold(x[0], by16, x[i]);
  for (; n >= 16; p += 16, n -= 16) x[0] = fold(x[0], by16, load(p));
  return ~reduce(x[0], by16);
}

#define WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.1")))

static inline WIDE __m512i fold_wide(__m512i lane, __m512i by, __m512i next) {
  __m512i low = _mm512_clmulepi64_epi128(lane, by, 0x00);
  return _mm512_ternarylogic_epi64(low, _mm512_clmulepi64_epi128(lane, by, 0x11), next, 0x96);
}

/* n is at least 256 and a multiple of 16. */
static WIDE uint32_t crc_wide(uint32_t crc, const unsigned char *p, size_t n) {
  const __m512i by256 = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
  const __m512i by64 = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1c6e41596, 0x154442bd4));
  const __m128i by16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m512i x[4];
  for (int i = 0; i < 4; i++) x[i] = _mm512_loadu_si512(p + 64 * i);
  x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256)
    for (int i = 0; i < 4; i++) x[i] = fold_wide(x[i], by256, _mm512_loadu_si512(p + 64 * i));
  for (int i = 1; i < 4; i++) x[0] = fold_wide(x[0], by64, x[i]);
  for (; n >= 64; p += 64, n -= 64) x[0] = fold_wide(x[0], by64, _mm512_loadu_si512(p));
  __m128i y = _mm512_castsi512_si128(x[0]);
  y = fold(y, by16, _mm512_extracti32x4_epi32(x[0], 1));
  y = fold(y, by16, _mm512_extracti32x4_epi32(x[0], 2));
  y = fold(y, by16, _mm512_extracti32x4_epi32(x[0], 3));
  for (; n >= 16; p += 16, n -= 16) y = fold(y, by16, load(p));
  return ~reduce(y, by16);
}

static size_t fold_whole(uint32_t *crc, const unsigned char *p, size_t n) {
  bool wide =
      n >= 1024 && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
  bool can = n >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (!can) return 0;
  n &= ~(size_t)15;
  *crc = wide ? crc_wide(*crc, p, n) : crc_folded(*crc, p, n);
  return n;
}
#else
static size_t fold_whole(uint32_t *crc, const unsigned char *p, size_t n) {
  (void)crc, (void)p, (void)n;
  return 0;
}
#endif

uint32_t luc__crc32(uint32_t crc, const void *bytes, size_t n) {
  if (n == 0) return crc;
  size_t done = fold_whole(&crc, bytes, n);
  return (uint32_t)crc32_z(crc, (const unsigned char *)bytes + done, n - done);
}
