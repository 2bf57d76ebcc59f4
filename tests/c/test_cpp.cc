/* A host in C++17 with all warnings on: every public header, and every initializer of values. */
#include <cstdio>
#include <cstring>

#include "lucerna/autograd.h"
#include "lucerna/base.h"
#include "lucerna/dlpack.h"
#include "lucerna/io.h"
#include "lucerna/lua.h"
#include "lucerna/module.h"
#include "lucerna/optim.h"
#include "lucerna/tensor.h"
#include "lucerna/value.h"

static const int64_t kernel[2] = {1, 2};
static const luc_value values[] = {LUC_VALUE_INT(1),        LUC_VALUE_INTS(kernel, 2),
                                   LUC_VALUE_FLOAT(0.5),    LUC_VALUE_BOOL(false),
                                   LUC_VALUE_STRING("sum"), LUC_VALUE_NONE};

static bool kinds_are_right() {
  const luc_kind kinds[] = {LUC_INT, LUC_INTS, LUC_FLOAT, LUC_BOOLEAN, LUC_STRING, LUC_NONE};
  for (int i = 0; i < 6; i++)
    if (values[i].kind != kinds[i]) return false;
  return values[0].as.i == 1 && values[1].n == 2 && values[1].as.ints[1] == 2 &&
         values[2].as.f == 0.5 && values[3].as.i == 0 && !std::strcmp(values[4].as.string, "sum");
}

/* A convolution of ones by its own weights: [1, 1, 1, 2] to [1, 1, 1, 1]. */
static bool convolves(luc_context *ctx) {
  const luc_value args[] = {values[0], values[0], values[1]};
  const int64_t sizes[] = {1, 1, 1, 2};
  const float ones[] = {1, 1};
  luc_module *conv = nullptr;
  luc_tensor *x = nullptr;
  luc_outputs out = {};
  bool good = luc_module_new(ctx, "Conv2d", args, 3, &conv) == LUC_OK &&
              luc_tensor_from(ctx, LUC_FLOAT32, 4, sizes, ones, &x) == LUC_OK;
  const luc_value input = LUC_VALUE_TENSOR(x);
  good = good && luc_module_call(ctx, conv, &input, 1, &out) == LUC_OK;
  if (good) {
    auto w = static_cast<const float *>(luc_tensor_data(luc_module_tensor(conv, "weight")));
    auto b = static_cast<const float *>(luc_tensor_data(luc_module_tensor(conv, "bias")));
    double y = 0;
    good = luc_tensor_item(ctx, out.v[0].as.tensor, &y) == LUC_OK &&
           y - double(w[0] + w[1] + b[0]) < 1e-6 && y - double(w[0] + w[1] + b[0]) > -1e-6;
  }
  luc_outputs_release(ctx, &out);
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, conv);
  return good;
}

int main() {
  luc_context *ctx = nullptr;
  luc_context_new(nullptr, &ctx);
  int passed = kinds_are_right() + convolves(ctx);
  luc_context_free(ctx);
  std::printf("%d passed, %d failed\n", passed, 2 - passed);
  return passed != 2;
}
