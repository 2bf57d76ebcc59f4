/* The choice of instruction set, made once per context: the best this machine has, or what the
 * environment's LUCERNA_ISA (base, avx2, avx512, amx) asks for if the machine has it. */
#ifndef LUC_KERNELS_H
#define LUC_KERNELS_H

#include "base/context.h"
#include "cpu/complex_kernels.h"
#include "cpu/copy_kernels.h"
#include "cpu/cross.h"
#include "cpu/elementwise.h"
#include "cpu/pad.h"
#include "cpu/reduce.h"
#include "cpu/scan_kernels.h"

/* ORDER ISA: the tables in kernels.c follow this enum. */
typedef enum luc_isa {
  LUC_ISA_BASE,
  LUC_ISA_AVX2,
  LUC_ISA_AVX512,
  LUC_ISA_AMX, /* AVX-512, and tiles for products of bfloat16 */
  LUC_NUM_ISAS
} luc_isa;

struct luc_gemm;

/* One per instruction set: a pointer to each family's table (see the family's header). */
typedef struct luc_kernels {
  luc_isa isa;
  const char *name;
  const luc_copy_kernels *copy;
  const luc_ew_kernel *elementwise;     /* [LUC_NUM_EWS] */
  const luc_complex_fn (*complexes)[2]; /* likewise */
  const luc_complex_fn (*complex_apart)[2];
  const luc_complex_fold_fn *complex_fold;
  const luc_complex_turned_fn *complex_turned;
  const struct luc_activation_kernels *activation;
  const luc_rd_kernel (*reduce)[LUC_NUM_RD_TYPES];
  const luc_scan_kernel (*scan)[LUC_NUM_SCAN_TYPES];
  const struct luc_gemm_kernels *gemm;               /* [2]: float32, float64; so are the others */
  const struct luc_gemm_kernels *gemm_pairs;         /* of bfloat16 */
  const struct luc_gemm_sparse_kernels *gemm_sparse; /* [2] */
  void (*const *gemm_unpacked)(const struct luc_gemm *); /* see gemm_kernels.h */
  const struct luc_conv_kernels *conv;
  const struct luc_winograd_kernels *winograd; /* float32 only */
  const struct luc_random_kernels *random;
  const struct luc_softmax_kernels *softmax;
  const struct luc_attention_kernels *attention;
  const struct luc_pool2d_kernels *pool2d;
  const struct luc_norm_kernels *norm;
  const struct luc_optim_kernels *optim;
  const struct luc_recurrence_kernels *recurrence;
  const struct luc_index_kernels *index;
  const struct luc_sort_kernels *sort;
  const struct luc_fft_kernels *fft;
  const struct luc_distance_kernels *distance; /* [2] */
  const struct luc_grid_kernels *grid;         /* [2] */
  const struct luc_resize_kernels *resize;     /* [2] */
  const struct luc_ctc_kernels *ctc;
  const luc_cross_fn *cross; /* [LUC_NUM_CROSSES] */
  const struct luc_lapack_kernels *lapack;
  const luc_pad_fn *pad_rows; /* may be NULL */
} luc_kernels;

/* This context's kernels; chosen on the first call. Call it before a parallel loop, not inside. */
const luc_kernels *luc__kernels(luc_context *ctx);
/* May this context's products use AMX's tiles? The first call that comes this far asks Linux for
 * them, for the whole process: the frames of its signals grow by 8 KB from then on. */
bool luc__kernels_have_tiles(luc_context *ctx);
/* Makes the context use one instruction set (tests, benchmarks); false if the machine lacks it. */
bool luc__kernels_use(luc_context *ctx, luc_isa isa);

/* Bytes of a core's second-level cache. */
int64_t luc__second_cache(void);
/* Does a core add two of its widest vectors of products in a cycle, with a last cache that is far?
 * (Intel's with AVX-512.) All that is not a product weighs more there. */
bool luc__is_twofold(luc_context *ctx);

#endif
