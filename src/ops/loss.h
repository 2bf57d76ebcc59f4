/* What the losses share: how the values of the elements become the result. */
#ifndef LUC_LOSS_H
#define LUC_LOSS_H

#include "cpu/softmax.h" /* luc_reduction */
#include "ops/formula.h"

#define LUC_REDUCTIONS "none|mean|sum" /* in the order of luc_reduction */

/* What PyTorch's deprecated size_average and reduce say, or -1 where neither is given. */
int luc__loss_legacy(const luc_value *size_average, const luc_value *reduce);
luc_tensor *luc__loss_reduced(luc_formula *f, luc_tensor *t, int reduction);
/* luc__f_result of the loss reduced as these three options say. */
luc_status luc__loss_result(luc_formula *f, luc_tensor *loss, const luc_value *args,
                            luc_value *out);

#endif
