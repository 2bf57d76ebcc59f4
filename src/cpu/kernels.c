/* The tables of every kernel family, one row per instruction set, and the choice between rows.
 * A family adds a pointer to luc_kernels and its tables here; rows never change at run time. */
#include "cpu/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/activation.h"
#include "cpu/attention_kernels.h"
#include "cpu/complex_kernels.h"
#include "cpu/conv_kernels.h"
#include "cpu/ctc_kernels.h"
#include "cpu/fft_kernels.h"
#include "cpu/distance.h"
#include "cpu/gemm_kernels.h"
#include "cpu/grid_kernels.h"
#include "cpu/index_kernels.h"
#include "cpu/sort_kernels.h"
#include "cpu/isa.h"
#include "cpu/random.h"
#include "cpu/optim_kernels.h"
#include "cpu/norm_kernels.h"
#include "cpu/pool2d_kernels.h"
#include "cpu/recurrence_kernels.h"
#include "cpu/resize_kernels.h"
#include "cpu/softmax_kernels.h"
#include "cpu/winograd_kernels.h"

/* ORDER ISA */
static const luc_kernels tables[] = {
    {
        .isa = LUC_ISA_BASE,
        .name = "base",
        .copy = &luc__copy_base,
        .elementwise = luc__elementwise_base,
        .complexes = luc__complex_base,
        .activation = &luc__activation_base,
        .reduce = luc__reduce_base,
        .scan = luc__scan_base,
        .gemm = luc__gemm_base,
        .gemm_int = luc__gemm_int_base,
        .optim = luc__optim_base,
        .norm = luc__norm_base,
        .pool2d = luc__pool2d_base,
        .softmax = luc__softmax_base,
        .attention = luc__attention_base,
        .conv = luc__conv_base,
        .winograd = &luc__winograd_base,
        .random = &luc__random_base,
        .recurrence = luc__recurrence_base,
        .index = &luc__index_base,
        .sort = &luc__sort_base,
        .fft = luc__fft_base,
        .distance = luc__distance_base,
        .grid = luc__grid_base,
        .resize = luc__resize_base,
        .ctc = &luc__ctc_base,
    },
#if LUC_ISA_X86
    {
        .isa = LUC_ISA_AVX2,
        .name = "avx2",
        .copy = &luc__copy_avx2,
        .elementwise = luc__elementwise_avx2,
        .complexes = luc__complex_avx2,
        .activation = &luc__activation_avx2,
        .reduce = luc__reduce_avx2,
        .scan = luc__scan_avx2,
        .gemm = luc__gemm_avx2,
        .gemm_int = luc__gemm_int_avx2,
        .optim = luc__optim_avx2,
        .norm = luc__norm_avx2,
        .pool2d = luc__pool2d_avx2,
        .softmax = luc__softmax_avx2,
        .attention = luc__attention_avx2,
        .conv = luc__conv_avx2,
        .winograd = &luc__winograd_avx2,
        .random = &luc__random_avx2,
        .recurrence = luc__recurrence_avx2,
        .index = &luc__index_avx2,
        .sort = &luc__sort_avx2,
        .fft = luc__fft_avx2,
        .distance = luc__distance_avx2,
        .grid = luc__grid_avx2,
        .resize = luc__resize_avx2,
        .ctc = &luc__ctc_avx2,
    },
    {
        .isa = LUC_ISA_AVX512,
        .name = "avx512",
        .copy = &luc__copy_avx512,
        .elementwise = luc__elementwise_avx512,
        .complexes = luc__complex_avx512,
        .activation = &luc__activation_avx512,
        .reduce = luc__reduce_avx512,
        .scan = luc__scan_avx512,
        .gemm = luc__gemm_avx512,
        .gemm_int = luc__gemm_int_avx512,
        .optim = luc__optim_avx512,
        .norm = luc__norm_avx512,
        .pool2d = luc__pool2d_avx512,
        .softmax = luc__softmax_avx512,
        .attention = luc__attention_avx512,
        .conv = luc__conv_avx512,
        .winograd = &luc__winograd_avx512,
        .random = &luc__random_avx512,
        .recurrence = luc__recurrence_avx512,
        .index = &luc__index_avx512,
        .sort = &luc__sort_avx512,
        .fft = luc__fft_avx512,
        .distance = luc__distance_avx512,
        .grid = luc__grid_avx512,
        .resize = luc__resize_avx512,
        .ctc = &luc__ctc_avx512,
    },
#endif
};

enum { NUM_TABLES = sizeof tables / sizeof tables[0] };

static bool machine_has(luc_isa isa) {
  if ((int)isa >= NUM_TABLES) return false;
#if LUC_ISA_X86
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (isa == LUC_ISA_AVX2) return v3;
  if (isa == LUC_ISA_AVX512) return v4;
#endif
  return isa == LUC_ISA_BASE;
}

bool luc__kernels_use(luc_context *ctx, luc_isa isa) {
  if (!machine_has(isa)) return false;
  ctx->kernels = &tables[isa];
  return true;
}

static void choose(luc_context *ctx) {
  const char *wish = getenv("LUCERNA_ISA");
  for (int i = 0; wish && i < NUM_TABLES; i++)
    if (strcmp(wish, tables[i].name) == 0 && luc__kernels_use(ctx, tables[i].isa)) return;
  for (int i = NUM_TABLES - 1; i >= 0; i--)
    if (luc__kernels_use(ctx, tables[i].isa)) return;
}

const luc_kernels *luc__kernels(luc_context *ctx) {
  if (!ctx->kernels) choose(ctx);
  return ctx->kernels;
}
