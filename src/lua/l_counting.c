/* Index tensors among a call's arguments: Lua counts their positions from 1, the core from 0. What
 * is converted belongs to the call until its arguments are released. */
#include "l_args.h"

#include "ops/counting.h"

/* How many positions there are to choose from; -1 if only the operator knows. */
static int64_t count_positions(const luc_l_sig *sig, const luc_tensor *table, const luc_l_args *a) {
  const luc_tensor *self = luc_as_tensor(&a->v[0]);
  int dim = sig->dim, weight = sig->weight;
  if (self && dim >= 0 && a->v[dim].kind == LUC_INT) {
    int64_t d = a->v[dim].as.i + (a->v[dim].as.i < 0 ? self->ndim : 0);
    return d >= 0 && d < self->ndim ? self->sizes[d] : -1;
  }
  if (sig->target) /* classes are dimension 1 of [N, C, ..], 0 of [C] */
    return self && self->ndim ? self->sizes[self->ndim > 1] : -1;
  if (weight >= 0) table = luc_as_tensor(&a->v[weight]);
  return table && table->ndim == 2 ? table->sizes[0] : -1;
}

static luc_status convert_index(luc_context *ctx, int64_t positions, bool as_given, luc_l_args *a,
                                luc_tensor **t) {
  LUC_CHECK(ctx, a->nconverted < LUC_L_CONVERTED, LUC_ERR_SUPPORT,
            "more than %d index tensors in one call", LUC_L_CONVERTED);
  LUC_TRY((as_given ? luc__index_as_given : luc__index_from_one)(ctx, positions, *t,
                                                                 &a->converted[a->nconverted]));
  *t = a->converted[a->nconverted++];
  return LUC_OK;
}

luc_status luc_l_index_from_one(luc_l_state *st, const luc_l_sig *sig, const luc_tensor *table,
                                bool as_given, luc_l_args *a) {
  luc_status status = LUC_OK;
  luc_context *ctx = st->ctx;
  const int64_t positions = count_positions(sig, table, a);
  for (uint32_t rest = sig->index_mask; rest; rest &= rest - 1) {
    int p = __builtin_ctz(rest);
    luc_value *v = &a->v[p];
    if (v->kind == LUC_TENSOR) LUC_GO(convert_index(ctx, positions, as_given, a, &v->as.tensor));
    for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
      if (v->as.tensors[i]) LUC_GO(convert_index(ctx, positions, as_given, a, &v->as.tensors[i]));
  }
done:
  if (status == LUC_OK) return status;
  luc_l_args_release(st, a);
  return luc__failed_as(ctx, status, sig->who);
}

void luc_l_args_release(luc_l_state *st, luc_l_args *a) {
  while (a->nconverted) luc_tensor_release(st->ctx, a->converted[--a->nconverted]);
}
