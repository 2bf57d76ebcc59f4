/* Loads, stores and moves of every dtype, compiled once per instruction set. All conversions are
 * branch-free so that the loops become vector code. */
#include "cpu/copy_kernels.h"
#include "cpu/halves.h"
#include "cpu/simd.h"
#include "tensor/float8.h"
#include "tensor/half.h"

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)

/* Elements at any distance, four at a time: the compiler would put vectors together from them, or
 * take vectors apart, which takes twice as long. */
#define APART(n) _Pragma("GCC unroll 4") for (int64_t i = 0; i < (n); i++)

/* Which real numbers go to integers by the machine's conversion to 32 bits: those that are wanted
 * in so many, or (GCC's loops do not trust that with what is out of range) up to 64. */
#if defined(__AVX512F__)
#define BY_INT32 32
#elif defined(__x86_64__)
#define BY_INT32 64
#else
#define BY_INT32 0
#endif

/* Out of range and NaN give what x86's conversions give (and so PyTorch, which goes to 32 bits for
 * signed integers of at most as many, and uint16). */
static inline int64_t real_to_integer(double v) {
#if BY_INT32 == 64
  return _mm_cvttsd_si64(_mm_set_sd(v));
#else
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
#endif
}
static inline int32_t double_to_int32(double v) {
  return v > -0x1p31 - 1 && v < 0x1p31 ? (int32_t)v : INT32_MIN;
}
static inline int32_t float_to_int32(float v) {
  return v >= -0x1p31f && v < 0x1p31f ? (int32_t)v : INT32_MIN;
}
static inline int64_t same_integer(int64_t v) {
  return v;
}
/* clang-format off */
#define integer_of(x) _Generic((x), float: real_to_integer, double: real_to_integer, \
                               default: same_integer)(x)
#define int32_of(x) _Generic((x), float: float_to_int32, double: double_to_int32, \
                             default: same_integer)(x)
/* clang-format on */

/* Elements of 1, 2, 4 or 8 bytes with gaps, to be converted, or that have been. */
static luc_move_fn move_of(int64_t size);
enum { GATHERED = 256, LANES = LUC_VECTOR_BYTES / 4 };

static void gathered(luc_load_fn load, void *out, int64_t out_size, const char *in, int64_t stride,
                     int64_t size, int64_t n) {
  _Alignas(64) char near[GATHERED * 8];
  char *o = out;
  for (int64_t m; n > 0; n -= m, in += m * stride, o += m * out_size) {
    m = n < GATHERED ? n : GATHERED;
    move_of(size)(near, size, in, stride, m);
    load(o, near, size, m);
  }
}
static void scattered(luc_store_fn store, char *out, int64_t stride, int64_t size, const void *in,
                      int64_t in_size, int64_t n) {
  _Alignas(64) char near[GATHERED * 8];
  const char *p = in;
  for (int64_t m; n > 0; n -= m, p += m * in_size, out += m * stride) {
    m = n < GATHERED ? n : GATHERED;
    store(near, size, p, m);
    move_of(size)(out, stride, near, size, m);
  }
}

/* A run from FROM to TO, a vector of LANES at a time from `from` to `to`; the last of them takes
 * some once more, or all from memory of its own. */
#define RUN(name, FROM, TO, convert)                                                               \
  LUC_INLINE void name##_lanes(TO *restrict to, const FROM *restrict from) {                       \
    convert;                                                                                       \
  }                                                                                                \
  static void name(char *restrict out, const char *restrict in, int64_t n) {                       \
    const FROM *p = (const FROM *)in;                                                              \
    TO *o = (TO *)out, last[LANES];                                                                \
    FROM rest[LANES] = {0};                                                                        \
    int64_t i = 0;                                                                                 \
    for (; i + LANES <= n; i += LANES) name##_lanes(o + i, p + i);                                 \
    if (i == n) return;                                                                            \
    if (n > LANES) {                                                                               \
      name##_lanes(o + n - LANES, p + n - LANES);                                                  \
      return;                                                                                      \
    }                                                                                              \
    memcpy(rest, p, (size_t)n * sizeof *p);                                                        \
    name##_lanes(last, rest);                                                                      \
    memcpy(o, last, (size_t)n * sizeof *o);                                                        \
  }
LUC_INLINE luc_vf32 floats(const float *p) {
  luc_vf32 x;
  memcpy(&x, p, sizeof x);
  return x;
}
LUC_INLINE void put_vector(void *to, luc_vi32 x) {
  memcpy(to, &x, sizeof x);
}

#if BY_INT32
/* Vectors by the machine's conversion to 32 bits, and what they leave of them. */
LUC_INLINE luc_vi32 whole(luc_vf32 x) {
  return (luc_vi32)LUC_MM(cvttps_epi32)(x);
}
LUC_INLINE luc_vi32 whole_doubles(const double *p) {
#if defined(__AVX512F__)
  const __m256i x = _mm512_cvttpd_epi32(_mm512_loadu_pd(p));
  const __m256i y = _mm512_cvttpd_epi32(_mm512_loadu_pd(p + LANES / 2));
  return (luc_vi32)_mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);
#else
  const __m128i x = LUC_MM(cvttpd_epi32)(LUC_MM(loadu_pd)(p));
  const __m128i y = LUC_MM(cvttpd_epi32)(LUC_MM(loadu_pd)(p + LANES / 2));
#if defined(__AVX2__)
  return (luc_vi32)_mm256_set_m128i(y, x);
#else
  return (luc_vi32)_mm_unpacklo_epi64(x, y);
#endif
#endif
}
LUC_INLINE void put_16(void *to, luc_vi32 x) {
  luc__put_halves(to, luc__narrow((luc_vu32)(x & 0xffff)), LANES);
}
LUC_INLINE void put_8(int8_t *to, luc_vi32 x) {
#if defined(__AVX512F__)
  _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)x));
#elif defined(__AVX2__)
  const __m128i y = (__m128i)luc__narrow((luc_vu32)(x & 0xff));
  _mm_storeu_si64(to, _mm_packus_epi16(y, y));
#else
  const luc_halves near = luc__narrow((luc_vu32)(x & 0xff));
  const __m128i y = _mm_loadl_epi64((const __m128i *)&near);
  const int32_t four_bytes = _mm_cvtsi128_si32(_mm_packus_epi16(y, y));
  memcpy(to, &four_bytes, sizeof four_bytes);
#endif
}
#define WHOLES(name, FROM, vector)                                                                 \
  RUN(name##_as_i8, FROM, int8_t, put_8(to, vector))                                               \
  RUN(name##_as_i16, FROM, int16_t, put_16(to, vector))                                            \
  RUN(name##_as_i32, FROM, int32_t, put_vector(to, vector))
WHOLES(f32, float, whole(floats(from)))
WHOLES(f64, double, whole_doubles(from))
WHOLES(f16, uint16_t, whole(luc__widened_f16(from, 0, LANES)))
WHOLES(bf16, uint16_t, whole(luc__widened_bf16(from, 0, LANES)))
#define f32_as_u16 f32_as_i16
#define f64_as_u16 f64_as_i16
#endif

#if BY_INT32 == 64
/* A run; INT32_MIN is what is out of range. Is nothing? */
typedef int32_t four __attribute__((vector_size(16)));
static bool f32_as_int32(int32_t *restrict out, const float *restrict in, int64_t n) {
  luc_vi32 outside = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const luc_vi32 x = (luc_vi32)LUC_MM(cvttps_epi32)(LUC_MM(loadu_ps)(in + i));
    memcpy(out + i, &x, sizeof x);
    outside |= x == INT32_MIN;
  }
  bool within = !luc__any_i32(outside);
  for (; i < n; i++) within &= (out[i] = float_to_int32(in[i])) != INT32_MIN;
  return within;
}
static bool f64_as_int32(int32_t *restrict out, const double *restrict in, int64_t n) {
  four outside = {0};
  int64_t i = 0;
  for (; i + LANES / 2 <= n; i += LANES / 2) {
    const four x = (four)LUC_MM(cvttpd_epi32)(LUC_MM(loadu_pd)(in + i));
    memcpy(out + i, &x, LANES / 2 * sizeof *out);
    outside |= x == INT32_MIN;
  }
  bool within = !(outside[0] | outside[1] | outside[2] | outside[3]);
  for (; i < n; i++) within &= (out[i] = double_to_int32(in[i])) != INT32_MIN;
  return within;
}
#endif

static void repeat_f32(float *out, float v, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = v;
}
static void repeat_f64(double *out, double v, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = v;
}
static void repeat_i64(int64_t *out, int64_t v, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = v;
}

#define D         f32
#define MEMORY    float
#define WIDEN(x)  (x)
#define NARROW(x) ((float)(x))
#include "cpu/copy_convert.inc"

#define D         f64
#define MEMORY    double
#define WIDEN(x)  (x)
#define NARROW(x) ((double)(x))
#include "cpu/copy_convert.inc"

/* Runs of halves by vectors, of float16 where the machine has their conversions. */
RUN(f32_as_bf16, float, uint16_t, luc__put_halves(to, luc__narrow_bf16(floats(from)), LANES))
#if defined(__F16C__)
RUN(f16_as_f32, uint16_t, float, put_vector(to, (luc_vi32)luc__widened_f16(from, 0, LANES)))
RUN(f32_as_f16, float, uint16_t, luc__put_halves(to, luc__narrow_f16(floats(from)), LANES))
#define WIDEN_RUN  f16_as_f32
#define NARROW_RUN f32_as_f16
#endif

#define D         f16
#define MEMORY    uint16_t
#define WIDEN(x)  luc__half_to_float(x)
#define NARROW(x) luc__float_to_half((float)(x))
#include "cpu/copy_convert.inc"
#undef WIDEN_RUN
#undef NARROW_RUN

#define D          bf16
#define MEMORY     uint16_t
#define WIDEN(x)   luc__bfloat16_to_float(x)
#define NARROW(x)  luc__float_to_bfloat16((float)(x))
#define NARROW_RUN f32_as_bf16
#include "cpu/copy_convert.inc"
#undef NARROW_RUN

#define D         i8
#define MEMORY    int8_t
#define WIDEN(x)  (x)
#define NARROW(x) ((int8_t)int32_of(x))
#define WHOLE     32
#include "cpu/copy_convert.inc"

#define D         u8
#define MEMORY    uint8_t
#define WIDEN(x)  (x)
#define NARROW(x) ((uint8_t)integer_of(x))
#define WHOLE     64
#include "cpu/copy_convert.inc"

#define D         i16
#define MEMORY    int16_t
#define WIDEN(x)  (x)
#define NARROW(x) ((int16_t)int32_of(x))
#define WHOLE     32
#include "cpu/copy_convert.inc"

#define D         i32
#define MEMORY    int32_t
#define WIDEN(x)  (x)
#define NARROW(x) ((int32_t)int32_of(x))
#define WHOLE     32
#include "cpu/copy_convert.inc"

#define D         i64
#define MEMORY    int64_t
#define WIDEN(x)  (x)
#define NARROW(x) ((int64_t)integer_of(x))
#define WHOLE     64
#include "cpu/copy_convert.inc"

#define D         b8
#define MEMORY    uint8_t
#define WIDEN(x)  (x)
#define NARROW(x) ((x) != 0)
#include "cpu/copy_convert.inc"

#define D         e4m3fn
#define MEMORY    uint8_t
#define WIDEN(x)  luc__e4m3fn_to_float(x)
#define NARROW(x) luc__float_to_e4m3fn((float)(x))
#include "cpu/copy_convert.inc"

#define D         e5m2
#define MEMORY    uint8_t
#define WIDEN(x)  luc__e5m2_to_float(x)
#define NARROW(x) luc__float_to_e5m2((float)(x))
#include "cpu/copy_convert.inc"

#define D         e4m3fnuz
#define MEMORY    uint8_t
#define WIDEN(x)  luc__e4m3fnuz_to_float(x)
#define NARROW(x) luc__float_to_e4m3fnuz((float)(x))
#include "cpu/copy_convert.inc"

#define D         e5m2fnuz
#define MEMORY    uint8_t
#define WIDEN(x)  luc__e5m2fnuz_to_float(x)
#define NARROW(x) luc__float_to_e5m2fnuz((float)(x))
#include "cpu/copy_convert.inc"

#define D         e8m0fnu
#define MEMORY    uint8_t
#define WIDEN(x)  luc__e8m0fnu_to_float(x)
#define NARROW(x) luc__float_to_e8m0fnu((float)(x))
#include "cpu/copy_convert.inc"

#define D         u16
#define MEMORY    uint16_t
#define WIDEN(x)  (x)
#define NARROW(x) ((uint16_t)int32_of(x))
#define WHOLE     32
#include "cpu/copy_convert.inc"

#define D         u32
#define MEMORY    uint32_t
#define WIDEN(x)  (x)
#define NARROW(x) ((uint32_t)integer_of(x))
#define WHOLE     64
#include "cpu/copy_convert.inc"

#define D         u64
#define MEMORY    uint64_t
#define WIDEN(x)  (x)
#define NARROW(x) ((uint64_t)integer_of(x))
#define WHOLE     64
#include "cpu/copy_convert.inc"

/* Words of memory that may hold any type. */
typedef uint8_t word8;
typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));
typedef uint64_t word128 __attribute__((vector_size(16), may_alias, aligned(8)));

#define D         32
#define T         float
#define ZIP       luc__zip_f32
#define LOAD_PART luc__load_part_f32
#include "cpu/copy_turn.inc"
#undef D
#define D         64
#define T         double
#define ZIP       luc__zip_f64
#define LOAD_PART luc__load_part_f64
#include "cpu/copy_turn.inc"
#undef D

/* Integers, and bool, as those of another size. */
#define RESIZE(from, to)                                                                           \
  static void from##_as_##to(char *restrict out, const char *restrict in, int64_t n) {             \
    const from##_t *p = (const from##_t *)in;                                                      \
    to##_t *o = (to##_t *)out;                                                                     \
    for (int64_t i = 0; i < n; i++) o[i] = (to##_t)p[i];                                           \
  }
RESIZE(int8, int16)
RESIZE(int8, int32)
RESIZE(uint8, int16)
RESIZE(uint8, int32)
RESIZE(int16, int8)
RESIZE(int16, int32)
RESIZE(uint16, int32)
RESIZE(int32, int8)
RESIZE(int32, int16)

/* Numbers as bfloat16. */
#define AS_BF16(name, FROM)                                                                        \
  static void name##_as_bf16(char *restrict out, const char *restrict in, int64_t n) {             \
    const FROM *p = (const FROM *)in;                                                              \
    uint16_t *o = (uint16_t *)out;                                                                 \
    for (int64_t i = 0; i < n; i++) o[i] = luc__float_to_bfloat16((float)p[i]);                    \
  }
AS_BF16(int8, int8_t)
AS_BF16(uint8, uint8_t)
AS_BF16(int16, int16_t)
AS_BF16(int32, int32_t)
AS_BF16(f64, double)

/* Which integers are not 0. */
#define TRUTH(bits)                                                                                \
  static void truth_##bits(char *restrict out, const char *restrict in, int64_t n) {               \
    const uint##bits##_t *p = (const uint##bits##_t *)in;                                          \
    for (int64_t i = 0; i < n; i++) out[i] = p[i] != 0;                                            \
  }
TRUTH(8)
TRUTH(16)
TRUTH(32)
TRUTH(64)

/* 32 bytes at any address: wider registers gain nothing, and lose a fifth on Zen 4. */
typedef int32_t bytes __attribute__((vector_size(32), aligned(1), may_alias));
enum { VECTOR = sizeof(bytes), VECTORS = 4 * VECTOR };

/* From here on, the second-level cache left behind, the machine's own loops are no slower than
 * registers, or faster: lines that they write whole are not read before. */
enum { LONG = 1 << 17 };

/* Does what is written lie a little behind what is read, as their places in a page have it? The
 * machine's loops then take fifteen times as long (Zen 4), since it sees one in the other. */
static bool close_behind(const char *out, const char *in) {
  const uintptr_t behind = ((uintptr_t)out - (uintptr_t)in) % 4096;
  return behind != 0 && behind < 2 * VECTOR;
}

/* Four registers at a time: stores side by side reach memory 20 % faster than one by one. */
static void move_bytes(char *restrict out, const char *restrict in, int64_t n) {
  int64_t i = 0;
  if (n >= LONG && !close_behind(out, in)) {
    memcpy(out, in, (size_t)n);
    return;
  }
  for (; i + VECTORS <= n; i += VECTORS) {
    bytes a = *(const bytes *)(in + i), b = *(const bytes *)(in + i + VECTOR);
    bytes c = *(const bytes *)(in + i + 2 * VECTOR), d = *(const bytes *)(in + i + 3 * VECTOR);
    *(bytes *)(out + i) = a;
    *(bytes *)(out + i + VECTOR) = b;
    *(bytes *)(out + i + 2 * VECTOR) = c;
    *(bytes *)(out + i + 3 * VECTOR) = d;
  }
  for (; i + VECTOR <= n; i += VECTOR) *(bytes *)(out + i) = *(const bytes *)(in + i);
  if (i < n && n >= VECTOR) /* some of it once more */
    *(bytes *)(out + n - VECTOR) = *(const bytes *)(in + n - VECTOR);
  else
    memcpy(out + i, in + i, (size_t)(n - i));
}
/* In stretches, since of some MB Zen 4 keeps nothing in the cache. How many bytes that did. */
static int64_t repeat_words(char *out, uint64_t word, int64_t n) {
#if defined(__x86_64__)
  enum { STRETCH = 1 << 17 };
  for (int64_t left = n / 8; left > 0; left -= STRETCH) {
    int64_t words = left < STRETCH ? left : STRETCH;
    __asm__ volatile("rep stosq" : "+D"(out), "+c"(words) : "a"(word) : "memory");
  }
  return n / 8 * 8;
#else
  (void)out, (void)word, (void)n;
  return 0;
#endif
}
/* n bytes, made of elements of `size` that are one. */
static void repeat_bytes(char *restrict out, const char *restrict one, int64_t size, int64_t n) {
  bytes x;
  int64_t i = 0;
  if (n <= 0) return;
  for (int64_t k = 0; k < VECTOR; k += size) memcpy((char *)&x + k, one, (size_t)size);
  if (n >= LONG && size <= 8) i = repeat_words(out, *(const word64 *)&x, n);
  for (; i + VECTORS <= n; i += VECTORS)
    for (int64_t k = 0; k < VECTORS; k += VECTOR) *(bytes *)(out + i + k) = x;
  for (; i + VECTOR <= n; i += VECTOR) *(bytes *)(out + i) = x;
  memcpy(out + i, &x, (size_t)(n - i));
}

/* A block of `size` bytes, which the compiler knows: of memcpy it makes registers of 16 bytes
 * without AVX-512, and of 256 bytes a loop of the machine's that takes four times as long. */
LUC_INLINE void block(char *restrict out, const char *restrict in, size_t size) {
  size_t k = 0;
#pragma GCC unroll 8
  for (; k + VECTOR <= size; k += VECTOR) *(bytes *)(out + k) = *(const bytes *)(in + k);
  memcpy(out + k, in + k, size - k);
}
LUC_INLINE void blocks(char *restrict out, int64_t out_step, const char *restrict in,
                       int64_t in_step, size_t size, int64_t n) {
  for (int64_t i = 0; i < n; i++) block(out + i * out_step, in + i * in_step, size);
}

/* The same of `size` bytes, less than LUC_LONG_RUN, by two words, which meet. */
LUC_INLINE void two_words(char *restrict out, int64_t out_step, const char *restrict in,
                          int64_t in_step, size_t first, size_t last, int64_t size, int64_t n) {
  const int64_t second = size - (int64_t)last;
  for (int64_t i = 0; i < n; i++, out += out_step, in += in_step) {
    block(out, in, first);
    block(out + second, in + second, last);
  }
}
static void short_blocks(char *restrict out, int64_t out_step, const char *restrict in,
                         int64_t in_step, int64_t size, int64_t n) {
  if (size < 4)
    two_words(out, out_step, in, in_step, 2, 2, size, n);
  else if (size < 8)
    two_words(out, out_step, in, in_step, 4, 4, size, n);
  else if (size < 16)
    two_words(out, out_step, in, in_step, 8, 8, size, n);
  else if (size < 32)
    two_words(out, out_step, in, in_step, 16, 16, size, n);
  else if (size < 64)
    two_words(out, out_step, in, in_step, 32, 32, size, n);
  else if (size < 96)
    two_words(out, out_step, in, in_step, 64, 32, size, n);
  else if (size < 128)
    two_words(out, out_step, in, in_step, 64, 64, size, n);
  else if (size < 160)
    two_words(out, out_step, in, in_step, 128, 32, size, n);
  else if (size < 192)
    two_words(out, out_step, in, in_step, 128, 64, size, n);
  else if (size < 256)
    two_words(out, out_step, in, in_step, 128, 128, size, n);
  else if (size < 288)
    two_words(out, out_step, in, in_step, 256, 32, size, n);
  else
    two_words(out, out_step, in, in_step, 256, 128, size, n);
}

/* Rows begin anywhere: the first lines of the next are asked for. */
static void move_rows(char *restrict out, int64_t out_step, const char *restrict in,
                      int64_t in_step, int64_t size, int64_t n) {
  enum { AHEAD = 512, LINE = 64 };
  for (int64_t i = 0; i < n; i++, out += out_step, in += in_step) {
    for (int64_t k = 0; k < size && k < AHEAD; k += LINE) __builtin_prefetch(in + in_step + k);
    move_bytes(out, in, size);
  }
}

static void move_blocks(char *restrict out, int64_t out_step, const char *restrict in,
                        int64_t in_step, int64_t size, int64_t n) {
  switch (size) {
  case 1: blocks(out, out_step, in, in_step, 1, n); break;
  case 2: blocks(out, out_step, in, in_step, 2, n); break;
  case 4: blocks(out, out_step, in, in_step, 4, n); break;
  case 8: blocks(out, out_step, in, in_step, 8, n); break;
  case 16: blocks(out, out_step, in, in_step, 16, n); break;
  case 32: blocks(out, out_step, in, in_step, 32, n); break;
  case 64: blocks(out, out_step, in, in_step, 64, n); break;
  case 128: blocks(out, out_step, in, in_step, 128, n); break;
  default:
    if (size < LUC_LONG_RUN)
      short_blocks(out, out_step, in, in_step, size, n);
    else
      move_rows(out, out_step, in, in_step, size, n);
  }
}

/* Asks for the two lines that begin at each of n places. (The asm keeps calls of what has no effect
 * that the compiler knows.) */
static __attribute__((noinline)) void ask_for(const char *at, int64_t step, int64_t n) {
  __asm__ volatile("");
  for (; n > 0; n--, at += step) {
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
  }
}

/* Lanes from n + 1 (n + 3, ...) down to n. */
#define BACK_2(n)  n + 1, n
#define BACK_4(n)  BACK_2(n + 2), BACK_2(n)
#define BACK_8(n)  BACK_4(n + 4), BACK_4(n)
#define BACK_16(n) BACK_8(n + 8), BACK_8(n)

#define D        8
#define MEMORY   word8
#define REVERSED BACK_16
#include "cpu/copy_move.inc"

#define D        16
#define MEMORY   word16
#define REVERSED BACK_8
#include "cpu/copy_move.inc"

#if defined(__AVX512F__)
/* Elements on their way to places that the mask `to` names: as many as `of` names, or half a
 * register of them, whose lanes go where `turn` of the mask says. */
static inline void put_32(void *out, unsigned to, const void *in, unsigned of) {
  const __m512i x = _mm512_maskz_loadu_epi32((__mmask16)of, in);
  _mm512_mask_storeu_epi32(out, (__mmask16)to, _mm512_maskz_expand_epi32((__mmask16)to, x));
}
static inline void put_64(void *out, unsigned to, const void *in, unsigned of) {
  const __m512i x = _mm512_maskz_loadu_epi64((__mmask8)of, in);
  _mm512_mask_storeu_epi64(out, (__mmask8)to, _mm512_maskz_expand_epi64((__mmask8)to, x));
}
static inline __m512i turn_to_32(unsigned to) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_maskz_expand_epi32((__mmask16)to, lane);
}
static inline __m512i turn_to_64(unsigned to) {
  return _mm512_maskz_expand_epi64((__mmask8)to, _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}
static inline __m512i half_of(const void *in) {
  return _mm512_castsi256_si512(_mm256_loadu_si256(in));
}
static inline void put_half_32(void *out, unsigned to, const void *in, __m512i turn) {
  _mm512_mask_storeu_epi32(out, (__mmask16)to, _mm512_permutexvar_epi32(turn, half_of(in)));
}
static inline void put_half_64(void *out, unsigned to, const void *in, __m512i turn) {
  _mm512_mask_storeu_epi64(out, (__mmask8)to, _mm512_permutexvar_epi64(turn, half_of(in)));
}
#define SPREAD 1
#endif

#define D      32
#define MEMORY word32
#define TURNED 1
#include "cpu/copy_move.inc"

#if defined(__AVX512F__)
#define SPREAD 1
#endif

#define D      64
#define MEMORY word64
#define TURNED 1
#include "cpu/copy_move.inc"

#define D      128
#define MEMORY word128
#define ALONE  1
#include "cpu/copy_move.inc"

static luc_move_fn move_of(int64_t size) {
  return size == 1 ? move_8 : size == 2 ? move_16 : size == 4 ? move_32 : move_64;
}

/* Of the dtypes that are only stored, one compute type's. */
/* clang-format off */
#define STORED(what, type)                                                                         \
  [LUC_FLOAT8_E4M3FN] = what##_##type##_e4m3fn, [LUC_FLOAT8_E5M2] = what##_##type##_e5m2,          \
  [LUC_FLOAT8_E4M3FNUZ] = what##_##type##_e4m3fnuz,                                                \
  [LUC_FLOAT8_E5M2FNUZ] = what##_##type##_e5m2fnuz,                                                \
  [LUC_FLOAT8_E8M0FNU] = what##_##type##_e8m0fnu, [LUC_UINT16] = what##_##type##_u16,              \
  [LUC_UINT32] = what##_##type##_u32, [LUC_UINT64] = what##_##type##_u64
/* clang-format on */

const luc_copy_kernels LUC_ISA_NAME(luc__copy) = {
    /* ORDER COMPUTE, ORDER DTYPE */
    .load =
        {
            {load_f32_f32, load_f32_f64, load_f32_f16, load_f32_bf16, load_f32_i8, load_f32_u8,
             load_f32_i16, load_f32_i32, load_f32_i64, load_f32_b8, STORED(load, f32)},
            {load_f64_f32, load_f64_f64, load_f64_f16, load_f64_bf16, load_f64_i8, load_f64_u8,
             load_f64_i16, load_f64_i32, load_f64_i64, load_f64_b8, STORED(load, f64)},
            {load_i64_f32, load_i64_f64, load_i64_f16, load_i64_bf16, load_i64_i8, load_i64_u8,
             load_i64_i16, load_i64_i32, load_i64_i64, load_i64_b8, STORED(load, i64)},
        },
    .store =
        {
            {store_f32_f32, store_f32_f64, store_f32_f16, store_f32_bf16, store_f32_i8,
             store_f32_u8, store_f32_i16, store_f32_i32, store_f32_i64, store_f32_b8,
             STORED(store, f32)},
            {store_f64_f32, store_f64_f64, store_f64_f16, store_f64_bf16, store_f64_i8,
             store_f64_u8, store_f64_i16, store_f64_i32, store_f64_i64, store_f64_b8,
             STORED(store, f64)},
            {store_i64_f32, store_i64_f64, store_i64_f16, store_i64_bf16, store_i64_i8,
             store_i64_u8, store_i64_i16, store_i64_i32, store_i64_i64, store_i64_b8,
             STORED(store, i64)},
        },
    .resize =
        {
            [LUC_INT8] = {NULL, int8_as_int16, int8_as_int32},
            [LUC_UINT8] = {NULL, uint8_as_int16, uint8_as_int32},
            [LUC_BOOL] = {NULL, uint8_as_int16, uint8_as_int32},
            [LUC_INT16] = {int16_as_int8, NULL, int16_as_int32},
            [LUC_UINT16] = {int16_as_int8, NULL, uint16_as_int32},
            [LUC_INT32] = {int32_as_int8, int32_as_int16},
            [LUC_UINT32] = {int32_as_int8, int32_as_int16},
#if BY_INT32
            [LUC_FLOAT16] = {f16_as_i8, f16_as_i16, f16_as_i32},
            [LUC_BFLOAT16] = {bf16_as_i8, bf16_as_i16, bf16_as_i32},
#endif
        },
    .as_bf16 =
        {
            [LUC_INT8] = int8_as_bf16,
            [LUC_UINT8] = uint8_as_bf16,
            [LUC_BOOL] = uint8_as_bf16,
            [LUC_INT16] = int16_as_bf16,
            [LUC_INT32] = int32_as_bf16,
            [LUC_FLOAT64] = f64_as_bf16,
        },
    .truth = {truth_8, truth_16, truth_32, truth_64},
    .move = {move_8, move_16, move_32, move_64, move_128},
    .runs = {runs_8, runs_16, runs_32, runs_64, runs_128},
    .pairs = {pairs_8, pairs_16, pairs_32, pairs_64, pairs_128},
    .transpose = {transpose_8, transpose_16, transpose_32, transpose_64, transpose_128},
};
