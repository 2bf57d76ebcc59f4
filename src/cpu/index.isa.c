/* Loops over positions, masks and bags of rows that become vector code. */
#include "cpu/index_kernels.h"
#include "cpu/isa.h"

/* v = at - first and size - 1 - v are both at least 0 just when v is in range: one sign bit tells
 * for many. */
static bool in_range(const int64_t *at, int64_t n, int64_t first, int64_t size) {
  uint64_t last = (uint64_t)size - 1, low = (uint64_t)first, signs = size == 0 ? UINT64_MAX : 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = (uint64_t)at[i] - low;
    signs |= v | (last - v);
  }
  return n == 0 || !(signs >> 63);
}

static void offsets(int64_t *restrict out, const int64_t *restrict at, int64_t n, int64_t base,
                    int64_t stride, const int64_t *restrict places) {
  for (int64_t i = 0; !places && i < n; i++) out[i] = base + at[i] * stride;
  for (int64_t i = 0; places && i < n; i++) out[i] = base + at[i] * stride + places[i];
}

static void within(int64_t *at, int64_t n, int64_t from, int64_t to, int64_t spare) {
  for (int64_t i = 0; i < n; i++) at[i] = (at[i] >= from) & (at[i] < to) ? at[i] : spare;
}

/* KEEP is all ones where the mask is not set. */
#define FILL(name, T)                                                                              \
  static void name(char *restrict data, const bool *restrict mask, int64_t n, const void *value) { \
    T *out = (T *)data;                                                                            \
    const uint8_t *bits = (const uint8_t *)mask;                                                   \
    T v = *(const T *)value;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                              \
      T keep = (T)((T)(bits[i] & 1) - 1);                                                          \
      out[i] = (T)((out[i] & keep) | (v & (T)~keep));                                              \
    }                                                                                              \
  }
FILL(fill_8, uint8_t)
FILL(fill_16, uint16_t)
FILL(fill_32, uint32_t)
FILL(fill_64, uint64_t)

static void fill_128(char *restrict data, const bool *restrict mask, int64_t n, const void *value) {
  const uint8_t *bits = (const uint8_t *)mask;
  uint64_t *out = (uint64_t *)data;
  const uint64_t *v = (const uint64_t *)value;
  for (int64_t i = 0; i < n; i++) {
    uint64_t keep = (uint64_t)(bits[i] & 1) - 1;
    out[2 * i] = (out[2 * i] & keep) | (v[0] & ~keep);
    out[2 * i + 1] = (out[2 * i + 1] & keep) | (v[1] & ~keep);
  }
}

#include "cpu/real_f32.inc"
#include "cpu/index_bag.inc"
#include "cpu/real_f64.inc"
#include "cpu/index_bag.inc"

const luc_index_kernels LUC_ISA_NAME(luc__index) = {
    .in_range = in_range,
    .offsets = offsets,
    .within = within,
    .fill = {fill_8, fill_16, fill_32, fill_64, fill_128},
    .bag_sum = {bag_sum_f32, bag_sum_f64},
    .bag_argmax = {bag_argmax_f32, bag_argmax_f64},
};
