/* What ctc.isa.c offers to ctc.c: the loops over places and classes. Rows of places are followed by
 * LUC_CTC_ROOM elements of -infinity, and the kernels keep that so. */
#ifndef LUC_CTC_KERNELS_H
#define LUC_CTC_KERNELS_H

#include <stdint.h>

enum { LUC_CTC_ROOM = 16 };

typedef struct luc_ctc_kernels {
  /* next[i] = lp[i] + log(exp(row[i]) + exp(row[i + step]) + exp(row[i + 2 step] + skip[i])) */
  void (*step)(int64_t places, int step, const double *row, const double *skip, const double *lp,
               double *next);
  /* shares[i] = exp(alpha[i] + beta[i] - lp[i] + nll); there is room behind all but alpha */
  void (*shares)(int64_t places, const double *alpha, const double *beta, const double *lp,
                 double nll, double *shares);
  /* dx[k] = (exp(lp[k]) - dx[k]) g */
  void (*finish)(int64_t classes, const double *lp, double g, double *dx);
} luc_ctc_kernels;

extern const luc_ctc_kernels luc__ctc_base, luc__ctc_avx2, luc__ctc_avx512;

#endif
