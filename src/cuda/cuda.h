/* What the layers above may ask of CUDA. Implemented by device.cu, or by no_cuda.c in builds
 * without it, so that no caller needs an #ifdef. Nothing here runs until something asks for CUDA:
 * loading the library must not start the driver. */
#ifndef LUC_CUDA_H
#define LUC_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* The number of usable devices; 0 without a build, a driver or a device. */
int luc__cuda_device_count(void);

#ifdef __cplusplus
}
#endif

#endif
