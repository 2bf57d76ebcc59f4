/* The tables of every kernel family, one row per instruction set, and the choice between rows.
 * A family adds a pointer to luc_kernels and to the rows here, which never change at run time. */
#include "cpu/kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
#include "cpu/lapack_kernels.h"
#include "cpu/random.h"
#include "cpu/optim_kernels.h"
#include "cpu/norm_kernels.h"
#include "cpu/pool2d_kernels.h"
#include "cpu/recurrence_kernels.h"
#include "cpu/resize_kernels.h"
#include "cpu/softmax_kernels.h"
#include "cpu/winograd_kernels.h"

#if LUC_ISA_TILES
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define TABLE(id, title, set)                                                                      \
  {                                                                                                \
    .isa = id, .name = title, .copy = &luc__copy_##set, .elementwise = luc__elementwise_##set,     \
    .complexes = luc__complex_##set, .complex_apart = luc__complex_apart_##set,                    \
    .complex_fold = luc__complex_fold_##set, .complex_turned = luc__complex_turned_##set,          \
    .activation = &luc__activation_##set, .reduce = luc__reduce_##set, .scan = luc__scan_##set,    \
    .gemm = luc__gemm_##set, .gemm_pairs = &luc__gemm_pairs_##set,                                 \
    .gemm_unpacked = luc__gemm_unpacked_##set, .gemm_sparse = luc__gemm_sparse_##set,              \
    .optim = luc__optim_##set, .norm = luc__norm_##set, .pool2d = luc__pool2d_##set,               \
    .softmax = luc__softmax_##set, .attention = luc__attention_##set, .conv = luc__conv_##set,     \
    .winograd = &luc__winograd_##set, .random = &luc__random_##set,                                \
    .recurrence = luc__recurrence_##set, .index = &luc__index_##set, .sort = &luc__sort_##set,     \
    .fft = luc__fft_##set, .distance = luc__distance_##set, .grid = luc__grid_##set,               \
    .resize = luc__resize_##set, .ctc = &luc__ctc_##set, .cross = luc__cross_##set,                \
    .lapack = &luc__lapack_##set, .pad_rows = luc__pad_rows_##set,                                 \
  }

/* ORDER ISA */
static const luc_kernels tables[] = {
#ifndef LUC_WITHOUT_base
    TABLE(LUC_ISA_BASE, "base", base),
#endif
#if LUC_ISA_X86 && !defined LUC_WITHOUT_avx2
    TABLE(LUC_ISA_AVX2, "avx2", avx2),
#endif
#if LUC_ISA_X86 && !defined LUC_WITHOUT_avx512
    TABLE(LUC_ISA_AVX512, "avx512", avx512),
#endif
#if LUC_ISA_TILES
    TABLE(LUC_ISA_AMX, "amx", avx512),
#endif
};

enum { NUM_TABLES = sizeof tables / sizeof tables[0] };

static bool machine_has(luc_isa isa) {
#if LUC_ISA_X86
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (isa == LUC_ISA_AVX2) return v3;
  if (isa == LUC_ISA_AVX512) return v4;
#endif
#if LUC_ISA_TILES
  if (isa == LUC_ISA_AMX)
    return v4 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("amx-tile") &&
           __builtin_cpu_supports("amx-bf16");
#endif
  return isa == LUC_ISA_BASE;
}

bool luc__kernels_use(luc_context *ctx, luc_isa isa) {
  for (int i = 0; i < NUM_TABLES; i++)
    if (tables[i].isa == isa && machine_has(isa)) {
      ctx->kernels = &tables[i];
      return true;
    }
  return false;
}

static void choose(luc_context *ctx) {
  const char *wish = getenv("LUCERNA_ISA");
  for (int i = 0; wish && i < NUM_TABLES; i++)
    if (strcmp(wish, tables[i].name) == 0 && luc__kernels_use(ctx, tables[i].isa)) return;
  for (int i = NUM_TABLES - 1; i >= 0; i--)
    if (luc__kernels_use(ctx, tables[i].isa)) return;
}

/* Linux gives their registers to processes that ask. Threads may do so at once: the answer is the
 * same. */
static bool may_use_tiles(void) {
#if LUC_ISA_TILES
  enum { REQUEST = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18, YES = 1, NO = 2 };
  static atomic_int known;
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer != 0) return answer == YES;
  const int before = errno;
  answer = syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0 ? YES : NO;
  errno = before;
  atomic_store_explicit(&known, answer, memory_order_relaxed);
  return answer == YES;
#else
  return false;
#endif
}

bool luc__kernels_have_tiles(luc_context *ctx) {
  return luc__kernels(ctx)->isa == LUC_ISA_AMX && may_use_tiles();
}

const luc_kernels *luc__kernels(luc_context *ctx) {
  if (!ctx->kernels) choose(ctx);
  return ctx->kernels;
}

int64_t luc__second_cache(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return bytes;
#endif
  return 1 << 20;
}

bool luc__is_twofold(luc_context *ctx) {
#if LUC_ISA_X86
  return luc__kernels(ctx)->isa >= LUC_ISA_AVX512 && __builtin_cpu_is("intel");
#else
  (void)ctx;
  return false;
#endif
}
