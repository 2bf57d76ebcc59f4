/* Files: PyTorch's checkpoints, safetensors, IDX and PNG. Every length in a file is checked against
 * the file's size before memory is asked for; saves are atomic. Sources: torch/serialization.py;
 * the safetensors specification; the MNIST page for IDX. */
#ifndef LUCERNA_IO_H
#define LUCERNA_IO_H

#include "lucerna/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a file goes: to a path, where it replaces the old one when it is complete, or (path NULL)
 * piece by piece to the host's function, whose failure ends the saving. */
typedef struct luc_target {
  const char *path;
  luc_status (*write)(void *ud, const void *bytes, size_t n);
  void *ud;
} luc_target;

/* Reads a state dict that torch.save wrote, in its zip format or the one before. Nothing in a file
 * is executed: whatever is no data is an error that names it. Tensors that share memory in the file
 * do so here. */
luc_status luc_load(luc_context *ctx, const char *path, luc_state_dict **out);
luc_status luc_load_bytes(luc_context *ctx, const void *bytes, size_t n, luc_state_dict **out);
/* Writes one that torch.load(path, weights_only=True) reads: an OrderedDict with its _metadata. */
luc_status luc_save(luc_context *ctx, const char *path, const luc_state_dict *sd);
luc_status luc_save_to(luc_context *ctx, const luc_target *to, const luc_state_dict *sd);

typedef struct luc_named_tensor {
  const char *name; /* UTF-8, NUL-terminated */
  luc_tensor *tensor;
} luc_named_tensor;

typedef struct luc_named_text {
  const char *name, *text;
} luc_named_text;

/* What a safetensors file holds, in the order of the data. */
typedef struct luc_tensor_file {
  int ntensors, nmetadata;
  luc_named_tensor *tensors;
  luc_named_text *metadata;
} luc_tensor_file;

/* Reads a whole safetensors file: header, names, shapes and offsets validated, tensors copied. */
luc_status luc_safetensors_load(luc_context *ctx, const char *path, luc_tensor_file **out);
luc_status luc_safetensors_load_bytes(luc_context *ctx, const void *bytes, size_t n,
                                      luc_tensor_file **out);
void luc_tensor_file_free(luc_context *ctx, luc_tensor_file *file);
/* Writes tensors (of any strides) and metadata. The old file stays until the new one is complete.
 * Tensors that share memory are refused, as safetensors does. */
luc_status luc_safetensors_save(luc_context *ctx, const char *path, const luc_named_tensor *tensors,
                                int ntensors, const luc_named_text *metadata, int nmetadata);
luc_status luc_safetensors_save_to(luc_context *ctx, const luc_target *to,
                                   const luc_named_tensor *tensors, int ntensors,
                                   const luc_named_text *metadata, int nmetadata);
/* Reads an IDX file, plain or gzipped, as the tensor it declares (uint8, int8, int16, int32,
 * float32 or float64). */
luc_status luc_idx_load(luc_context *ctx, const char *path, luc_tensor **out);

/* NumPy's .npy. Arrays of objects and structures are refused. */
luc_status luc_npy_load(luc_context *ctx, const char *path, luc_tensor **out);
luc_status luc_npy_save(luc_context *ctx, const char *path, luc_tensor *t);

/* What an image is read as. ORDER IMAGE */
typedef enum luc_image_mode {
  LUC_IMAGE_UNCHANGED, /* as it is; palettes as RGB, transparent colours as alpha */
  LUC_IMAGE_GRAY,
  LUC_IMAGE_GRAY_ALPHA,
  LUC_IMAGE_RGB,
  LUC_IMAGE_RGB_ALPHA
} luc_image_mode;

/* Reads a PNG file as a tensor [C, H, W]: uint8, of a file with 16 bits int32 from 0 to 65535. */
luc_status luc_png_load(luc_context *ctx, const char *path, luc_image_mode mode, luc_tensor **out);
/* Writes a uint8 image [C, H, W] as a PNG, atomically: 1 channel is gray, 2 gray and alpha, 3 RGB,
 * 4 RGB and alpha. */
luc_status luc_png_save(luc_context *ctx, const char *path, luc_tensor *image);

#ifdef __cplusplus
}
#endif
#endif
