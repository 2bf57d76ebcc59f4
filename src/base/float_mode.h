/* How a thread rounds and whether denormals are zeros to it, a register of its own that the host
 * may have set. A loop's workers compute as the thread that called, so that results do not depend
 * on how many there are. */
#ifndef LUC_FLOAT_MODE_H
#define LUC_FLOAT_MODE_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef unsigned luc_float_mode;

#if defined(__x86_64__)
/* MXCSR: what happened; FTZ, DAZ; nothing traps, to nearest. */
enum { LUC_FLOAT_FLAGS = 0x3f, LUC_FLOAT_FLUSHES = 0x8040, LUC_FLOAT_PLAIN = 0x1f80 };
static inline luc_float_mode luc__float_mode(void) {
  return _mm_getcsr() & ~(luc_float_mode)LUC_FLOAT_FLAGS;
}
static inline void luc__set_float_mode(luc_float_mode mode) {
  const luc_float_mode now = _mm_getcsr(), flags = now & LUC_FLOAT_FLAGS;
  if (now != (mode | flags)) _mm_setcsr(mode | flags);
}
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
enum { LUC_FLOAT_FLUSHES = 1 << 24, LUC_FLOAT_PLAIN = 0 }; /* FPCR: FZ */
static inline luc_float_mode luc__float_mode(void) {
  return (luc_float_mode)__builtin_aarch64_get_fpcr();
}
static inline void luc__set_float_mode(luc_float_mode mode) {
  if (luc__float_mode() != mode) __builtin_aarch64_set_fpcr(mode);
}
#else
enum { LUC_FLOAT_FLUSHES = 0, LUC_FLOAT_PLAIN = 0 };
static inline luc_float_mode luc__float_mode(void) {
  return 0;
}
static inline void luc__set_float_mode(luc_float_mode mode) {
  (void)mode;
}
#endif

/* Kernels round to nearest, and nothing they do raises a signal, whatever the host has set: returns
 * the host's mode, for luc__float_leave. */
static inline luc_float_mode luc__float_enter(void) {
  const luc_float_mode own = luc__float_mode(), flushes = own & LUC_FLOAT_FLUSHES;
  if (own != (LUC_FLOAT_PLAIN | flushes)) luc__set_float_mode(LUC_FLOAT_PLAIN | flushes);
  return own;
}
static inline void luc__float_leave(luc_float_mode own) {
  if ((own & ~(luc_float_mode)LUC_FLOAT_FLUSHES) != LUC_FLOAT_PLAIN) luc__set_float_mode(own);
}

#endif
