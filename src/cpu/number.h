/* One number among many, float32 or float64, where a loop is not worth a kernel. */
#ifndef LUC_NUMBER_H
#define LUC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

static inline double luc__number(bool single, const void *block, int64_t i) {
  return single ? (double)((const float *)block)[i] : ((const double *)block)[i];
}
static inline void luc__number_put(bool single, void *block, int64_t i, double v) {
  if (single)
    ((float *)block)[i] = (float)v;
  else
    ((double *)block)[i] = v;
}
/* Both parts of the i-th complex number. */
static inline void luc__complex_put(bool single, void *block, int64_t i, double re, double im) {
  luc__number_put(single, block, 2 * i, re);
  luc__number_put(single, block, 2 * i + 1, im);
}

#endif
