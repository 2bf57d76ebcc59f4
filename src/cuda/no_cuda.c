/* Stands in for the CUDA backend where it is not built: there are no devices, so nothing above ever
 * asks for more. */
#include "cuda/cuda.h"

int luc__cuda_device_count(void) {
  return 0;
}
