/* Optimizers from C: every kind by its name, options by theirs, state, failing allocations. The
 * numbers are compared with PyTorch's in tests/lua/optim_spec.lua. */
#include "test.h"

#include "lucerna/autograd.h"
#include "lucerna/optim.h"
#include "ops/op.h"

static const char *const kinds[] = {"SGD",     "Adam",    "AdamW",    "Adamax", "NAdam", "RAdam",
                                    "RMSprop", "Adagrad", "Adadelta", "ASGD",   "Rprop"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A parameter of two elements with its gradient: {1, -2}, {0.5, -1}. */
static luc_status make_parameter(luc_context *ctx, luc_tensor **out) {
  int64_t size = 2;
  luc_tensor *grad = NULL;
  LUC_TRY(luc_tensor_from(ctx, LUC_FLOAT64, 1, &size, (double[]){1, -2}, out));
  luc_status status = LUC_OK;
  LUC_GO(luc_tensor_set_requires_grad(ctx, *out, true));
  LUC_GO(luc_tensor_from(ctx, LUC_FLOAT64, 1, &size, (double[]){0.5, -1}, &grad));
  LUC_GO(luc_tensor_set_grad(ctx, *out, grad));
done:
  luc_tensor_release(ctx, grad);
  return status;
}

static luc_status three_steps(luc_context *ctx, void *arg) {
  const char *kind = arg;
  luc_tensor *p = NULL;
  luc_optimizer *o = NULL;
  luc_status status = LUC_OK;
  LUC_GO(make_parameter(ctx, &p));
  LUC_GO(luc_optimizer_new(ctx, kind, &o));
  LUC_GO(luc_optimizer_add_group(ctx, o, &p, 1, NULL));
  for (int i = 0; i < 3; i++) LUC_GO(luc_optimizer_step(ctx, o));
  const double *values = luc_tensor_data(p);
  CHECK(values[0] < 1 && values[1] > -2);
  CHECK_EQ(luc_optimizer_steps(o, 0, 0), 3);
  for (int s = 0; luc_optimizer_scalar_name(o, s); s++) CHECK(luc_optimizer_scalar(o, 0, 0, s) > 0);
done:
  luc_optimizer_free(ctx, o);
  luc_tensor_release(ctx, p);
  return status;
}

TEST("every kind is made by its name and goes downhill") {
  for (int i = 0; i < KINDS; i++)
    CHECK(test_sweep_after(luc__ops_init, three_steps, (void *)kinds[i], 1) > 5);
}

TEST("options are set by name, and checked") {
  luc_tensor *p = NULL;
  luc_optimizer *o = NULL;
  CHECK_OK(luc__ops_init(ctx));
  CHECK_OK(make_parameter(ctx, &p));
  CHECK_EQ(luc_optimizer_new(ctx, "Adagrat", &o), LUC_ERR_VALUE);
  CHECK_OK(luc_optimizer_new(ctx, "Adagrad", &o));
  CHECK_EQ(luc_optimizer_add_group(ctx, o, (luc_tensor *[]){p, p}, 2, NULL), LUC_ERR_VALUE);
  CHECK_OK(luc_optimizer_add_group(ctx, o, &p, 1, NULL));
  CHECK_EQ(luc_optimizer_set(ctx, o, 0, "lr", 0, -1), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "Adagrad: Invalid learning rate: -1");
  CHECK_EQ(luc_optimizer_set(ctx, o, 0, "differentiable", 0, 1), LUC_ERR_SUPPORT);
  CHECK_EQ(luc_optimizer_set(ctx, o, 0, "momentum", 0, 1), LUC_ERR_VALUE);
  CHECK_OK(luc_optimizer_set(ctx, o, 0, "initial_accumulator_value", 0, 0.75));
  CHECK_OK(luc_optimizer_set(ctx, o, 0, "lr", 0, 0.5));
  CHECK_OK(luc_optimizer_step(ctx, o));
  CHECK_NEAR(((const double *)luc_tensor_data(p))[0], 0.75, 1e-6);
  CHECK_NEAR(((const double *)luc_tensor_data(luc_optimizer_state(o, 0, 0, 0)))[0], 1, 1e-6);
  CHECK_OK(luc_optimizer_zero_grad(ctx, o, false));
  CHECK_NEAR(((const double *)luc_tensor_data(luc_tensor_grad(p)))[0], 0, 0);
  CHECK_OK(luc_optimizer_zero_grad(ctx, o, true));
  CHECK(!luc_tensor_grad(p));
  luc_optimizer_free(ctx, o);
  luc_tensor_release(ctx, p);
}

TEST("groups, parameters and state that do not exist are refused or nothing") {
  luc_optimizer *o;
  luc_tensor *none = NULL, *copy;
  CHECK_OK(luc_optimizer_new(ctx, "Adam", &o));
  CHECK_EQ(luc_optimizer_add_group(ctx, o, &none, 1, NULL), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "Adam: parameter 1 must be a tensor (got NULL)");
  CHECK_EQ(luc_optimizer_add_group(ctx, o, NULL, -1, NULL), LUC_ERR_VALUE);
  CHECK_EQ(luc_optimizer_num_params(o, 3), 0);
  CHECK(luc_optimizer_state(o, 0, 0, 0) == NULL);
  CHECK_EQ(luc_optimizer_copy_state(ctx, o, 0, 0, 0, none, &copy), LUC_ERR_VALUE);
  luc_optimizer_set_state(ctx, o, -1, 0, 0, NULL);
  luc_optimizer_set_scalar(o, 0, -1, 0, 1);
  luc_optimizer_set_steps(o, 0, 0, 1);
  CHECK_EQ(luc_optimizer_scalar(o, 0, 0, 0), 0);
  CHECK_EQ(luc_optimizer_steps(o, 0, 0), 0);
  luc_optimizer_free(ctx, o);
}
