/* What optim.isa.c offers to optim.c: a stretch of one parameter. */
#ifndef LUC_OPTIM_KERNELS_H
#define LUC_OPTIM_KERNELS_H

#include "cpu/optim.h"

typedef struct luc_optim_kernels {
  /* Elements [begin, end) of one parameter. */
  void (*sgd)(const luc_sgd *o, const luc_update *u, int64_t begin, int64_t end);
  void (*adam)(const luc_adam *o, const luc_update *u, int64_t begin, int64_t end);
} luc_optim_kernels;

extern const luc_optim_kernels luc__optim_base[2], luc__optim_avx2[2], luc__optim_avx512[2];

#endif
