/* Pointwise kernels and the one driver that runs them over tensors of any dtype and strides.
 *
 * A kernel works on contiguous runs of one type, or on one element of an input for all of a run: it
 * knows nothing of dtypes, shapes or threads. The driver gives it the tensors' own memory where
 * that is already such a run, and otherwise converts or gathers chunks on the stack; so halves,
 * small integers, bool, views, broadcasting and numbers cost a kernel nothing to support. An input
 * may be the output itself (in place); other overlaps are refused before the driver is called.
 *
 * To add one: a function in elementwise_real.inc (float and double), elementwise_int.inc (integers)
 * or elementwise_any.inc (both), a loop of elementwise_loops.h around it, and a row in
 * elementwise.def. A family with its own *.isa.c fills luc_ew_kernel rows itself and calls
 * luc__elementwise_run with them. */
#ifndef LUC_ELEMENTWISE_H
#define LUC_ELEMENTWISE_H

#include "cpu/copy_kernels.h"
#include "tensor/tensor.h"

enum {
  LUC_EW_MAX_INPUTS = 3,
  LUC_EW_MAX_PARAMS = 4,
  LUC_EW_STREAM = 1 << LUC_EW_MAX_INPUTS,
  LUC_EW_NUMBERS = LUC_EW_STREAM << 1,
  LUC_EW_ROWS = LUC_EW_STREAM << 2
};

/* Numbers a kernel is told, in both readings: floating kernels use f, integer kernels i. */
typedef struct luc_ew_params {
  double f[LUC_EW_MAX_PARAMS];
  int64_t i[LUC_EW_MAX_PARAMS];
} luc_ew_params;

/* out[k] = f(in[0][k], …) for n elements; out may be one of the inputs. Bit i of `once`: in[i] is
 * one element for all n, which may not be so of every input. LUC_EW_STREAM: what is written had
 * better go past the cache; the driver says when it is to be seen. LUC_EW_NUMBERS: truth values
 * are written as numbers of the kernel's own type. LUC_EW_ROWS: `in` is that of luc_ew_rows. */
typedef void (*luc_ew_fn)(void *out, const void *const *in, int64_t n, const luc_ew_params *params,
                          unsigned once);

/* So many rows of n elements; steps has the bytes from one to the next of out, then of inputs. */
typedef struct luc_ew_rows {
  const void *in[LUC_EW_MAX_INPUTS];
  int64_t count, steps[1 + LUC_EW_MAX_INPUTS];
} luc_ew_rows;

/* The same of elements with gaps: steps has the bytes from one to the next of out, then of each
 * input, 0 of one element for all. */
typedef void (*luc_ew_apart_fn)(void *out, const void *const *in, const int64_t *steps, int64_t n,
                                const luc_ew_params *params);

/* What kernels run in: the compute types, or the dtype that all operands have, if it is one of
 * these and the kernel is made for it. */
enum {
  LUC_EW_I32 = LUC_NUM_COMPUTES,
  LUC_EW_I16,
  LUC_EW_I8,
  LUC_EW_U8,
  LUC_EW_BOOL,
  LUC_EW_F16,
  LUC_EW_BF16,
  LUC_NUM_EW_TYPES
};

/* What kernels that compare write: bytes 0 and 1 whatever they compute in, or these or numbers. */
enum { LUC_EW_BYTES = 1, LUC_EW_EITHER };

/* The type for operands that are of this dtype as they lie, or -1. */
int luc__elementwise_type(luc_dtype dtype);

typedef struct luc_ew_kernel {
  luc_ew_fn fn[LUC_NUM_EW_TYPES]; /* NULL where it has no meaning, or none made for it */
  uint8_t inputs;
  uint8_t truth;                     /* LUC_EW_BYTES, LUC_EW_EITHER, or 0: results are numbers */
  bool slow;                         /* an element takes as long as some 30 of others */
  bool rows;                         /* it can be told LUC_EW_ROWS */
  luc_ew_apart_fn apart[LUC_EW_I16]; /* for the first types; NULL where none is made */
} luc_ew_kernel;

typedef enum luc_ew {
#define LUC_EW(id, inputs, truth) LUC_EW_##id,
#define LUC_EW_ALL                LUC_EW
#define LUC_EW_FIELD              LUC_EW
#define LUC_EW_QUOTIENT           LUC_EW
#define LUC_EW_DIVIDE             LUC_EW
#define LUC_EW_ORDER              LUC_EW
#define LUC_EW_SIGN               LUC_EW
#define LUC_EW_REAL               LUC_EW
#define LUC_EW_SLOW               LUC_EW
#define LUC_EW_INT                LUC_EW
#define LUC_EW_BITS               LUC_EW
#define LUC_EW_SHIFT              LUC_EW
#define LUC_EW_WHOLE              LUC_EW
#define LUC_EW_COMPLEX            LUC_EW
#include "cpu/elementwise.def"
#undef LUC_EW
#undef LUC_EW_ALL
#undef LUC_EW_FIELD
#undef LUC_EW_QUOTIENT
#undef LUC_EW_DIVIDE
#undef LUC_EW_ORDER
#undef LUC_EW_SIGN
#undef LUC_EW_REAL
#undef LUC_EW_SLOW
#undef LUC_EW_INT
#undef LUC_EW_BITS
#undef LUC_EW_SHIFT
#undef LUC_EW_WHOLE
#undef LUC_EW_COMPLEX
  LUC_NUM_EWS
} luc_ew;

/* An input: a tensor (broadcastable to the output), or with t NULL the number s. */
typedef struct luc_ew_input {
  const luc_tensor *t;
  luc_scalar s;
} luc_ew_input;

/* Runs a kernel. dtype, the promoted one, decides the compute type; out can have any dtype the
 * result may be stored in. params may be NULL. */
void luc__elementwise_run(luc_context *ctx, const luc_ew_kernel *kernel, luc_dtype dtype,
                          luc_tensor *out, const luc_ew_input *in, const luc_ew_params *params);
/* The same with a kernel of elementwise.def that is told no numbers. */
void luc__elementwise(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_tensor *out,
                      const luc_ew_input *in);

extern const luc_ew_kernel luc__elementwise_base[LUC_NUM_EWS], luc__elementwise_avx2[LUC_NUM_EWS],
    luc__elementwise_avx512[LUC_NUM_EWS];

#endif
