/* CUDA devices. The runtime is linked statically and finds the driver by itself when first asked,
 * so a machine without one sees zero devices and no error. */
#include <cuda_runtime.h>

#include "cuda/cuda.h"

extern "C" int luc__cuda_device_count(void) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    (void)cudaGetLastError(); /* the failure is the answer; leave no error behind */
    return 0;
  }
  return count;
}
