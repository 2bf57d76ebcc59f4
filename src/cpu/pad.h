/* Borders around the last dimensions of contiguous memory, by rows: a number, or the tensor's own
 * elements, which along a row are runs that go forwards, backwards or stand still. */
#ifndef LUC_CPU_PAD_H
#define LUC_CPU_PAD_H

#include "base/context.h"
#include "tensor/dtype.h"

/* ORDER PAD MODE */
typedef enum luc_pad_mode {
  LUC_PAD_CONSTANT,
  LUC_PAD_REFLECT,
  LUC_PAD_REPLICATE,
  LUC_PAD_CIRCULAR
} luc_pad_mode;

/* `items` blocks of shape in, and as many of shape out: element i of a dimension of out is element
 * i - before of in, or what the mode puts there (value where it is constant). Both may crop. */
typedef struct luc_pad {
  luc_pad_mode mode;
  luc_dtype dtype;
  int ndim; /* at least 1 */
  int64_t items, in[LUC_MAX_DIMS], out[LUC_MAX_DIMS], before[LUC_MAX_DIMS];
  char *inner, *outer; /* memory of in's shape, of out's */
  luc_element value;
} luc_pad;

/* outer = inner with borders. */
void luc__pad(luc_context *ctx, const luc_pad *p);
/* The gradient of that, for float32, float64 and their complex dtypes: each element of inner = the
 * sum of outer's that were made from it. */
void luc__pad_backward(luc_context *ctx, const luc_pad *p);

/* Rows whose borders are narrower than a register of this many bytes, and what is inside is not. */
enum { LUC_PAD_BYTES = 32, LUC_PAD_WORDS = LUC_PAD_BYTES / 4 };
typedef struct luc_pad_ends {
  int64_t left, inside, width; /* bytes */
  /* Words of the padded row's first and last register: places among those of the inner row's first
   * one and, after them, its last; where it is constant, `value` is the one that is farther. */
  int32_t first[LUC_PAD_WORDS], last[LUC_PAD_WORDS], value[LUC_PAD_WORDS];
  bool constant;
} luc_pad_ends;
/* So many rows one after another. */
typedef void (*luc_pad_fn)(char *to, const char *from, int64_t rows, const luc_pad_ends *e);
extern const luc_pad_fn luc__pad_rows_base[1], luc__pad_rows_avx2[1], luc__pad_rows_avx512[1];

#endif
