/* CTC's loops in double; places and classes are lanes. */
#include "cpu/ctc_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/vmath.inc"
#include "cpu/real_end.inc"
#include "cpu/real_f64.inc"
#include "cpu/vmath.inc"

static void step(int64_t places, int direction, const double *row, const double *skip,
                 const double *lp, double *next) {
  for (int64_t i = 0; i < places; i += LANES) {
    V a = vload(row + i), b = vload(row + i + direction);
    V c = vload(row + i + 2 * direction) + vload(skip + i);
    V most = vmaximum(vmaximum(a, b), c), sum = vexp_low(a - most) + vexp_low(b - most);
    V y = most + vlog(sum + vexp_low(c - most));
    vstore(next + i, vselect((VI)(most == -REAL_INFINITY), most, y) + vload(lp + i));
  }
}

static void shares(int64_t places, const double *alpha, const double *beta, const double *lp,
                   double nll, double *to) {
  for (int64_t i = 0; i < places; i += LANES)
    vstore(to + i,
           vexp(vload_up_to(alpha + i, places - i) + vload(beta + i) - vload(lp + i) + nll));
}

static void finish(int64_t classes, const double *lp, double g, double *dx) {
  for (int64_t i = 0; i < classes; i += LANES) {
    V p = vexp(vload_up_to(lp + i, classes - i));
    vstore_up_to(dx + i, (p - vload_up_to(dx + i, classes - i)) * g, classes - i);
  }
}

#include "cpu/real_end.inc"

const luc_ctc_kernels LUC_ISA_NAME(luc__ctc) = {step, shares, finish};
