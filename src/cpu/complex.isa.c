/* Complex arithmetic, and the functions that come of real ones, in vectors, compiled once per
 * instruction set. The other functions are the C library's, in complex.c. */
#include "cpu/complex_kernels.h"

#include <complex.h>

#include "cpu/isa.h"

#undef complex /* names like any other here */
#undef I

#include "cpu/real_f32.inc"
#include "cpu/complex_vector.inc"
#include "cpu/real_f64.inc"
#include "cpu/complex_vector.inc"

#define VECTOR(name, inputs, CALL)      [LUC_EW_##name] = {name##_loop_f32, name##_loop_f64},
#define VECTOR_REAL(name, inputs, CALL) VECTOR(name, inputs, CALL)
const luc_complex_fn LUC_ISA_NAME(luc__complex)[LUC_NUM_EWS][2] = {
#include "cpu/complex_kernels.def"
};
#define APART(name, inputs, value) [LUC_EW_##name] = {name##_apart_f32, name##_apart_f64},
const luc_complex_fn LUC_ISA_NAME(luc__complex_apart)[LUC_NUM_EWS][2] = {
#include "cpu/complex_kernels.def"
};
const luc_complex_fold_fn LUC_ISA_NAME(luc__complex_fold)[2] = {fold_f32, fold_f64};
const luc_complex_turned_fn LUC_ISA_NAME(luc__complex_turned)[2] = {add_turned_f32, add_turned_f64};
