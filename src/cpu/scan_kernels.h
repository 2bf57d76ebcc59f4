/* What scan.isa.c offers to scan.c: one line, and many that lie side by side, as columns do. */
#ifndef LUC_SCAN_KERNELS_H
#define LUC_SCAN_KERNELS_H

#include "cpu/copy_kernels.h"
#include "cpu/scan.h"

enum { LUC_SCAN_LINES = 256 };
/* ORDER COMPUTE, then extremes of int32 */
enum { LUC_SCAN_I32 = LUC_NUM_COMPUTES, LUC_NUM_SCAN_TYPES };

/* What the lines have come to: totals in double or int64_t, or extremes of the compute type with
 * their places, in integers of its size. */
typedef struct luc_scan_state {
  _Alignas(64) int64_t total[LUC_SCAN_LINES], place[LUC_SCAN_LINES];
} luc_scan_state;

/* At most LUC_SCAN_LINES lines of `rows` elements. */
typedef struct luc_scan_strip {
  int64_t lines, rows;
  int64_t step;  /* elements from one row to the next, in x, y and at */
  int64_t first; /* what positions count from */
} luc_scan_strip;

typedef struct luc_scan_kernel {
  void (*lines)(const luc_scan_strip *s, const void *x, void *y, int64_t *at,
                luc_scan_state *state);
  /* Lines of n adjacent elements, one behind the other; only sums run backwards. */
  void (*line)(const void *x, void *y, int64_t *at, int64_t n, int64_t lines, bool reverse,
               int64_t first);
} luc_scan_kernel;

/* No LOGSUMEXP. ORDER SCAN, ORDER COMPUTE */
extern const luc_scan_kernel luc__scan_base[LUC_NUM_SCANS][LUC_NUM_SCAN_TYPES],
    luc__scan_avx2[LUC_NUM_SCANS][LUC_NUM_SCAN_TYPES],
    luc__scan_avx512[LUC_NUM_SCANS][LUC_NUM_SCAN_TYPES];

#endif
