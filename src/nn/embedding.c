/* Embedding and EmbeddingBag: rows of a table, found by position. */
#include "lucerna/autograd.h"
#include "nn/module.h"
#include "nn/reset.h"
#include "ops/embedding.h"

/* Where the constructors of Embedding and EmbeddingBag have what they share. */
typedef struct places {
  int padding, weight, freeze; /* freeze -1: none */
} places;
enum { COUNT, DIM };

static places places_of(const luc_module *m) {
  const luc_schema *s = m->cls->core->constructor;
  return (places){luc__schema_find(s, "padding_idx"), luc__schema_find(s, "_weight"),
                  luc__schema_find(s, "_freeze")};
}

/* padding_idx counted from the end becomes one counted from the start. */
static luc_status wrap_padding(luc_context *ctx, luc_module *m, int padding) {
  if (luc_is_none(&m->config[padding])) return LUC_OK;
  int64_t position;
  luc_status status =
      luc__embedding_padding(ctx, &m->config[padding], m->config[COUNT].as.i, &position);
  if (status != LUC_OK) return luc__failed_as(ctx, status, m->cls->core->name);
  luc_value wrapped = luc_v_int(position);
  return luc__module_set_config(ctx, m, padding, &wrapped);
}

static luc_status zero_padding_row(luc_context *ctx, const luc_value *padding, luc_tensor *weight) {
  luc_tensor *row;
  if (luc_is_none(padding)) return LUC_OK;
  LUC_TRY(luc__tensor_view(ctx, weight, 1, &weight->sizes[1], &weight->strides[1],
                           weight->offset + padding->as.i * weight->strides[0], &row));
  luc_status status = luc__reset_fill(ctx, row, 0);
  luc_tensor_release(ctx, row);
  return status;
}

luc_status luc__embedding_build(luc_context *ctx, luc_module *m) {
  places at = places_of(m);
  const char *who = m->cls->core->name;
  int64_t sizes[2] = {m->config[COUNT].as.i, m->config[DIM].as.i};
  LUC_CHECK(ctx, sizes[0] >= 0 && sizes[1] >= 0, LUC_ERR_VALUE,
            "%s: num_embeddings and embedding_dim must not be negative (got %lld, %lld)", who,
            (long long)sizes[0], (long long)sizes[1]);
  LUC_TRY(wrap_padding(ctx, m, at.padding));
  luc_tensor *weight, *given = luc_as_tensor(&m->config[at.weight]);
  LUC_TRY(luc__new_parameter(ctx, m, "weight", luc__config_dtype(ctx, m), 2, sizes, &weight));
  if (given) {
    char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
    LUC_CHECK(ctx, luc__same_sizes(given, weight), LUC_ERR_SHAPE,
              "%s: _weight has shape %s, num_embeddings and embedding_dim say %s", who,
              luc__tensor_shape_text(have, given), luc__tensor_shape_text(want, weight));
    LUC_TRY(luc__tensor_set_data(ctx, weight, given));
  } else {
    LUC_TRY(luc__reset_normal(ctx, weight, 1));
    LUC_TRY(zero_padding_row(ctx, &m->config[at.padding], weight));
  }
  bool freeze = at.freeze >= 0 && m->config[at.freeze].as.i != 0;
  return luc_tensor_set_requires_grad(ctx, weight, !freeze);
}
