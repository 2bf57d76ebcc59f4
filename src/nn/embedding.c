/* Embedding (torch.nn.Embedding): rows of a table, found by position. */
#include "lucerna/autograd.h"
#include "nn/module.h"
#include "nn/reset.h"

/* ORDER EMBEDDING: the constructor's parameters. */
enum { COUNT, DIM, PADDING, MAX_NORM, NORM_TYPE, SCALE, SPARSE, WEIGHT, FREEZE };

/* padding_idx counted from the end becomes one counted from the start. */
static luc_status wrap_padding(luc_context *ctx, luc_module *m) {
  if (luc_is_none(&m->config[PADDING])) return LUC_OK;
  int64_t position;
  LUC_TRY(luc__index_wrap(ctx, "Embedding: padding_idx", m->config[PADDING].as.i,
                          m->config[COUNT].as.i, &position));
  luc_value wrapped = luc_v_int(position);
  return luc__module_set_config(ctx, m, PADDING, &wrapped);
}

static luc_status zero_padding_row(luc_context *ctx, const luc_module *m, luc_tensor *weight) {
  luc_tensor *row;
  if (luc_is_none(&m->config[PADDING])) return LUC_OK;
  int64_t position = m->config[PADDING].as.i;
  LUC_TRY(luc__tensor_view(ctx, weight, 1, &weight->sizes[1], &weight->strides[1],
                           weight->offset + position * weight->strides[0], &row));
  luc_status status = luc__reset_fill(ctx, row, 0);
  luc_tensor_release(ctx, row);
  return status;
}

luc_status luc__embedding_build(luc_context *ctx, luc_module *m) {
  luc_value *c = m->config;
  int64_t sizes[2] = {c[COUNT].as.i, c[DIM].as.i};
  LUC_CHECK(ctx, sizes[0] >= 0 && sizes[1] >= 0, LUC_ERR_VALUE,
            "Embedding: num_embeddings and embedding_dim must not be negative (got %lld, %lld)",
            (long long)sizes[0], (long long)sizes[1]);
  LUC_CHECK(ctx, !c[SPARSE].as.i, LUC_ERR_SUPPORT, "Embedding: sparse gradients are not built in");
  LUC_TRY(wrap_padding(ctx, m));
  luc_tensor *weight, *given = luc_as_tensor(&m->config[WEIGHT]);
  LUC_TRY(luc__new_parameter(ctx, m, "weight", luc__config_dtype(ctx, m), 2, sizes, &weight));
  if (given) {
    char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
    LUC_CHECK(ctx, luc__same_sizes(given, weight), LUC_ERR_SHAPE,
              "Embedding: _weight has shape %s, num_embeddings and embedding_dim say %s",
              luc__tensor_shape_text(have, given), luc__tensor_shape_text(want, weight));
    LUC_TRY(luc__tensor_set_data(ctx, weight, given));
  } else {
    LUC_TRY(luc__reset_normal(ctx, weight, 0, 1));
    LUC_TRY(zero_padding_row(ctx, m, weight));
  }
  return luc_tensor_set_requires_grad(ctx, weight, !m->config[FREEZE].as.i);
}
