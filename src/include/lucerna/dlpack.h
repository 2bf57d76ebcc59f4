/* DLPack: tensors handed to and taken from other libraries without a copy. The layouts are those of
 * DLPack 1.1 (https://dmlc.github.io/dlpack/); where a host includes the published dlpack.h, before
 * or after, its declarations and these are the same. */
#ifndef LUCERNA_DLPACK_H
#define LUCERNA_DLPACK_H

#include "lucerna/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

typedef struct {
  uint32_t major, minor;
} DLPackVersion;

typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14
} DLDataTypeCode;

typedef struct {
  uint8_t code; /* DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: contiguous */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif

/* What t sees, for another library; neither t nor the context need live as long as it does. Its
 * deleter may be called by any thread if the context's allocator may. Tensors that require a
 * gradient are refused: detach them first. */
luc_status luc_tensor_to_dlpack(luc_context *ctx, luc_tensor *t, DLManagedTensor **out);
luc_status luc_tensor_to_dlpack_versioned(luc_context *ctx, luc_tensor *t,
                                          DLManagedTensorVersioned **out);

/* When an import copies: memory that is read only, not aligned or of negative strides cannot be
 * used in place. */
typedef enum luc_copy { LUC_COPY_IF_NEEDED, LUC_COPY_NEVER, LUC_COPY_ALWAYS } luc_copy;

/* A tensor over what another library hands out. On success it is the tensor's: the deleter is
 * called once, after the last view of it is gone (after a copy, at once). On failure it is still
 * the caller's. Devices and dtypes that do not exist here, and other major versions, are
 * LUC_ERR_SUPPORT. */
luc_status luc_tensor_from_dlpack(luc_context *ctx, DLManagedTensor *from, luc_copy copy,
                                  luc_tensor **out);
luc_status luc_tensor_from_dlpack_versioned(luc_context *ctx, DLManagedTensorVersioned *from,
                                            luc_copy copy, luc_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
