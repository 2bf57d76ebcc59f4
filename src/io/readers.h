/* The readers and writers of tensors, as the binding and the fuzzing harnesses call them: an input,
 * which they take over, or a target. Messages begin with the input's `who`. */
#ifndef LUC_READERS_H
#define LUC_READERS_H

#include "io/file.h"

/* IDX, gzipped or not. */
luc_status luc__idx_read(luc_input input, luc_tensor **out);

/* [C, H, W]: uint8, of 16-bit files int32. max_bytes 0: no limit but what the file can hold. */
luc_status luc__png_read(luc_input input, luc_image_mode mode, uint64_t max_bytes,
                         luc_tensor **out);
/* level: zlib's, 0 to 9. */
luc_status luc__png_write(luc_context *ctx, const char *who, const luc_target *to,
                          luc_tensor *image, int level);

luc_status luc__npy_read(luc_input input, luc_tensor **out);
luc_status luc__npy_write(luc_context *ctx, const luc_target *to, luc_tensor *t);
/* What stands before the elements of a contiguous tensor. */
luc_status luc__npy_header(const char *who, const luc_tensor *t, luc_text *text);

typedef struct luc_npz luc_npz;
/* max_bytes 0: no limit but the file's size. */
luc_status luc__npz_open(luc_input input, uint64_t max_bytes, luc_npz **out);
void luc__npz_close(luc_npz *npz);
size_t luc__npz_count(const luc_npz *npz);
/* An array's name and its length, without ".npy"; NULL for what is no array. */
const char *luc__npz_name(const luc_npz *npz, size_t i, size_t *n);
luc_status luc__npz_read(luc_npz *npz, size_t i, luc_tensor **out);
luc_status luc__npz_write(luc_context *ctx, const luc_target *to, const luc_named_tensor *items,
                          int n, bool deflated);

/* A contiguous tensor of t's contents, which nothing that a host's function does to t can change in
 * shape. */
luc_status luc__plain_copy(luc_context *ctx, const char *who, luc_tensor *t, luc_tensor **out);

#endif
