/* Passes of resampling, for float and double. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/resize_kernels.h"

enum { LINES = 8 }; /* that go through a plan together */

/* Are there shuffles by any positions? */
#if defined(__AVX2__)
enum { SHUFFLES = 1 };
#else
enum { SHUFFLES = 0 };
#endif

/* Where the i-th line comes from. */
static int64_t line_of(const luc_resize_job *j, int64_t i) {
  const luc_taps *r = j->rows;
  return r ? i / r->out * r->in + r->at[i % r->out] : i;
}

#include "cpu/real_f32.inc"
#include "cpu/resize.inc"
#include "cpu/real_f64.inc"
#include "cpu/resize.inc"

/* ORDER DTYPE */
const luc_resize_kernels LUC_ISA_NAME(luc__resize)[2] = {
    {plan_f32, elements_f32, rows_f32},
    {plan_f64, elements_f64, rows_f64},
};
