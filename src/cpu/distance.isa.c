/* Distances of rows and their slopes, for float and double. */
#include "cpu/distance.h"

#include <math.h>

#include "cpu/isa.h"

enum { COUNT, SUM, SQUARES, LARGEST, POWERS };

/* What is taken of differences for the norm of order p. */
static int measure_of(double p) {
  return p == 0 ? COUNT : p == 1 ? SUM : p == 2 ? SQUARES : isinf(p) ? LARGEST : POWERS;
}

#include "cpu/real_f32.inc"
#include "cpu/vmath.inc"

#include "cpu/distance.inc"
#include "cpu/real_f64.inc"
#include "cpu/vmath.inc"

#include "cpu/distance.inc"

/* ORDER DTYPE */
const luc_distance_kernels LUC_ISA_NAME(luc__distance)[2] = {
    {distances_f32, slopes_f32},
    {distances_f64, slopes_f64},
};
