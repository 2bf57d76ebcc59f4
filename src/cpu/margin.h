/* multilabel_margin_loss: lines of scores with a list of classes each, that ends at its first
 * negative entry. In double, as it is called rarely. */
#ifndef LUC_MARGIN_H
#define LUC_MARGIN_H

#include "base/context.h"

typedef struct luc_margin {
  int64_t lines, classes;
  const double *x;       /* [lines, classes] */
  const int64_t *target; /* likewise */
} luc_margin;

/* Is every entry of the lists a class? */
bool luc__margin_targets_fit(const luc_margin *m);
/* y[line] = sum over its classes t and the others c of max(1 - x[t] + x[c], 0), by classes. */
void luc__multilabel_margin(luc_context *ctx, const luc_margin *m, double *y);
void luc__multilabel_margin_backward(luc_context *ctx, const luc_margin *m, const double *dy,
                                     double *dx);

#endif
