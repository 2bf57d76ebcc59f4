/* The schema notation: what it accepts, what it refuses, what is asked of a parsed schema. */
#include "test.h"

#include "ops/op.h"
#include "ops/schema.h"

TEST("a schema gives names, types, lists, defaults and results") {
  luc_schema s;
  const char *text = "conv(Tensor input, Tensor? bias=None, int[2] stride=1, Padding[2] padding=0, "
                     "*, float[2] betas=[0.9, 0.999], str(none|mean|sum) reduction='mean', "
                     "dtype? dtype=None, Dim dim=-1) -> (Tensor values, IndexTensor indices)";
  CHECK_OK(luc__schema_parse(ctx, text, &s));
  CHECK_STR(s.name, "conv");
  CHECK_EQ(s.nparams, 8);
  CHECK_EQ(s.npositional, 4);
  CHECK_STR(s.params[0].name, "input");
  CHECK(!s.params[0].has_default);
  CHECK(s.params[1].optional && s.params[1].def.kind == LUC_NONE);
  CHECK_EQ(s.params[2].list, 2);
  CHECK_EQ(s.params[2].def.n, 2);
  CHECK_EQ(s.params[2].def.as.ints[1], 1);
  CHECK_EQ(s.params[3].type, LUC_T_PADDING);
  CHECK(s.params[4].keyword_only);
  CHECK_NEAR(s.params[4].def.as.floats[1], 0.999, 0);
  CHECK_STR(s.params[5].choices, "none|mean|sum");
  CHECK_STR(s.params[5].def.as.string, "mean");
  CHECK_EQ(s.params[7].def.as.i, -1);
  CHECK_EQ(s.nresults, 2);
  CHECK_STR(s.result_name[1], "indices");
  CHECK_EQ(s.result_type[1], LUC_T_INDEX_TENSOR);
  luc__schema_free(ctx, &s);
}

TEST("lists of tensors, with holes, and results that are lists") {
  luc_schema s;
  CHECK_OK(luc__schema_parse(ctx, "f(IndexTensor?[] indices, Tensor[] rest) -> Tensor[]", &s));
  CHECK(s.params[0].optional_items && !s.params[0].optional);
  CHECK_EQ(s.params[0].list, -1);
  CHECK(s.result_list);
  luc__schema_free(ctx, &s);
}

TEST("mistakes in the notation are named with their place") {
  luc_schema s;
  const char *wrong[] = {"f",         "f(Tensr x)", "f(Tensor)",    "f(Tensor x",
                         "f(int x=)", "f(int[2 x)", "f(str(a|b x)", "f(Tensor x) => Tensor"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_EQ(luc__schema_parse(ctx, wrong[i], &s), LUC_ERR_VALUE);
    CHECK(strstr(luc_message(ctx), "at character") != NULL);
  }
}

TEST("missing arguments, unknown names and unknown choices are explained") {
  luc_schema s;
  luc_value args[LUC_MAX_PARAMS] = {{0}};
  int choice;
  CHECK_OK(luc__schema_parse(ctx, "linear(Tensor input, Tensor weight, Tensor? bias=None)", &s));
  CHECK_EQ(luc__schema_defaults(ctx, &s, args, 1), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "linear: missing argument 'weight'");
  CHECK_OK(luc__schema_defaults(ctx, &s, args, 2));
  CHECK_STR(luc__schema_closest(&s, "wieght"), "weight");
  CHECK(luc__schema_closest(&s, "momentum") == NULL);
  CHECK_EQ(luc__schema_find(&s, "bias"), 2);
  CHECK_EQ(luc__choice(ctx, "reduction", "none|mean|sum", "avg", &choice), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "reduction must be 'none', 'mean' or 'sum' (got 'avg')");
  CHECK_OK(luc__choice(ctx, "reduction", "none|mean|sum", "sum", &choice));
  CHECK_EQ(choice, 2);
  luc__schema_free(ctx, &s);
}

static luc_status read_all(luc_context *ctx, void *arg) {
  (void)arg;
  return luc__ops_init(ctx);
}

TEST_ALONE("the table of operators is read whole or not at all") {
  CHECK(test_sweep(read_all, NULL, 1) > LUC_NUM_OPS);
}
