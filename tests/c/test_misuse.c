/* What a host in C gets wrong: NULL for every pointer of the public functions, one at a time, and
 * numbers that mean nothing. Those that return a status refuse it, the others answer 0 or NULL. */
#include "test.h"

#include "lucerna/autograd.h"
#include "lucerna/dlpack.h"
#include "lucerna/io.h"
#include "lucerna/module.h"
#include "lucerna/optim.h"

typedef struct row {
  const char *call;
  luc_status status;
} row;

static void check_refused(const row *rows, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (rows[i].status != LUC_ERR_VALUE && rows[i].status != LUC_ERR_TYPE)
      test_fail(__FILE__, __LINE__, rows[i].call);
}

#define ROW(call)                                                                                  \
  { #call, call }
#define CHECK_REFUSED(...)                                                                         \
  do {                                                                                             \
    const row rows[] = {__VA_ARGS__};                                                              \
    check_refused(rows, sizeof rows / sizeof *rows);                                               \
  } while (0)

static luc_tensor *new_tensor(luc_context *ctx) {
  int64_t two = 2;
  float data[2] = {1, 2};
  luc_tensor *t = NULL;
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT32, 1, &two, data, &t));
  return t;
}

static luc_module *new_linear(luc_context *ctx) {
  luc_value args[2] = {LUC_VALUE_INT(2), LUC_VALUE_INT(2)};
  luc_module *m = NULL;
  CHECK_OK(luc_module_new(ctx, "Linear", args, 2, &m));
  return m;
}

TEST("contexts") {
  CHECK_EQ(luc_context_new(NULL, NULL), LUC_ERR_VALUE);
  CHECK_STR(luc_message(NULL), "there is no context");
  CHECK_EQ(luc_fail(ctx, LUC_ERR_VALUE, NULL), LUC_ERR_VALUE);
  luc_context_free(NULL);
}

static int released;
static void count_release(void *ud, void *data) {
  (void)ud, (void)data;
  released++;
}

TEST("tensors are refused") {
  luc_tensor *t = new_tensor(ctx), *out = t;
  int64_t one = 1;
  double d;
  char *text;
  size_t size;
  const luc_dtype f32 = LUC_FLOAT32, none = (luc_dtype)77;
  CHECK_REFUSED(
      ROW(luc_tensor_new(ctx, f32, 1, NULL, &out)), ROW(luc_tensor_new(ctx, f32, 1, &one, NULL)),
      ROW(luc_tensor_new(ctx, none, 1, &one, &out)),
      ROW(luc_tensor_from(ctx, f32, 1, NULL, &d, &out)),
      ROW(luc_tensor_from(ctx, f32, 1, &one, NULL, &out)),
      ROW(luc_tensor_from(ctx, f32, 1, &one, &d, NULL)),
      ROW(luc_tensor_wrap(ctx, f32, 1, NULL, NULL, &d, count_release, NULL, &out)),
      ROW(luc_tensor_wrap(ctx, f32, 1, &one, NULL, NULL, count_release, NULL, &out)),
      ROW(luc_tensor_wrap(ctx, f32, 1, &one, NULL, &d, count_release, NULL, NULL)),
      ROW(luc_tensor_uninitialized(ctx, f32, NULL)), ROW(luc_tensor_uninitialized(ctx, none, &out)),
      ROW(luc_tensor_item(ctx, NULL, &d)), ROW(luc_tensor_item(ctx, t, NULL)),
      ROW(luc_tensor_text(ctx, NULL, &text, &size)), ROW(luc_tensor_text(ctx, t, NULL, &size)),
      ROW(luc_tensor_text(ctx, t, &text, NULL)));
  CHECK_EQ(released, 3);
  CHECK(out == NULL && text == NULL);
  CHECK_EQ(luc_tensor_item(ctx, NULL, &d), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "luc_tensor_item: needs t && out (got NULL)");
  luc_tensor *shapeless;
  CHECK_OK(luc_tensor_uninitialized(ctx, f32, &shapeless));
  CHECK_REFUSED(ROW(luc_tensor_materialize(ctx, NULL, f32, 1, &one)),
                ROW(luc_tensor_materialize(ctx, shapeless, f32, 1, NULL)),
                ROW(luc_tensor_materialize(ctx, shapeless, none, 1, &one)));
  luc_tensor_release(ctx, shapeless);
  luc_tensor_release(ctx, t);
}

TEST("no tensor answers nothing") {
  char name[LUC_GRAD_FN_NAME];
  luc_tensor *t = new_tensor(ctx);
  CHECK(!luc_tensor_retain(NULL) && !luc_tensor_is_uninitialized(NULL));
  CHECK(!luc_tensor_dtype(NULL) && !luc_tensor_ndim(NULL) && !luc_tensor_numel(NULL));
  CHECK(!luc_tensor_sizes(NULL) && !luc_tensor_strides(NULL) && !luc_tensor_data(NULL));
  CHECK(!luc_tensor_is_contiguous(NULL) && !luc_tensor_requires_grad(NULL));
  CHECK(!luc_tensor_is_leaf(NULL) && !luc_tensor_grad(NULL) && !luc_tensor_output_nr(NULL));
  CHECK(!luc_tensor_grad_fn(NULL, name) && !luc_tensor_grad_fn(t, NULL));
  CHECK(!luc_tensor_retains_grad(NULL) && !luc_tensor_remove_hook(ctx, NULL, 1));
  luc_tensor_release(ctx, NULL);
  luc_text_free(ctx, NULL, 4);
  luc_tensor_release(ctx, t);
}

static luc_status see(luc_context *ctx, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  (void)ctx, (void)ud, (void)grad, (void)replacement;
  return LUC_OK;
}

static luc_status see_leaf(luc_context *ctx, void *ud, luc_tensor *t) {
  (void)ctx, (void)ud, (void)t;
  return LUC_OK;
}

static luc_status see_node(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                           luc_tensor **gin, int ngin) {
  (void)ctx, (void)ud, (void)gout, (void)ngout, (void)gin, (void)ngin;
  return LUC_OK;
}

TEST("gradients") {
  luc_tensor *t = new_tensor(ctx), *out, *none = NULL;
  bool b;
  luc_function f = {.name = "F", .backward = see_node}, nameless = {.backward = see_node},
               forward = {.name = "F"};
  CHECK_OK(luc_tensor_set_requires_grad(ctx, t, true));
  CHECK_REFUSED(ROW(luc_tensor_set_requires_grad(ctx, NULL, true)),
                ROW(luc_tensor_set_grad(ctx, NULL, t)), ROW(luc_tensor_detach_(ctx, NULL)),
                ROW(luc_tensor_detach(ctx, NULL, &out)), ROW(luc_tensor_detach(ctx, t, NULL)),
                ROW(luc_tensor_retain_grad(ctx, NULL)),
                ROW(luc_tensor_backward(ctx, NULL, 1, NULL, 0)),
                ROW(luc_tensor_backward(ctx, &none, 1, NULL, 0)),
                ROW(luc_tensor_backward(ctx, &t, -1, NULL, 0)),
                ROW(luc_tensor_backward_to(ctx, NULL, 1, NULL, &t, 1, 0)),
                ROW(luc_tensor_backward_to(ctx, &t, 1, NULL, NULL, 1, 0)),
                ROW(luc_tensor_backward_to(ctx, &t, 1, NULL, &none, 1, 0)),
                ROW(luc_autograd_grad(ctx, NULL, 1, NULL, &t, 1, 0, &out)),
                ROW(luc_autograd_grad(ctx, &t, 1, NULL, &none, 1, 0, &out)),
                ROW(luc_autograd_grad(ctx, &t, 1, NULL, &t, -1, 0, &out)),
                ROW(luc_autograd_grad(ctx, &t, 1, NULL, &t, 1, 0, NULL)),
                ROW(luc_autograd_reaches(ctx, NULL, 1, &t, 1, &b)),
                ROW(luc_autograd_reaches(ctx, &t, 1, NULL, 1, &b)),
                ROW(luc_autograd_reaches(ctx, &t, 1, &t, 1, NULL)),
                ROW(luc_tensor_register_hook(ctx, NULL, see, NULL, NULL, NULL)),
                ROW(luc_tensor_register_hook(ctx, t, NULL, NULL, NULL, NULL)),
                ROW(luc_tensor_register_accumulate_hook(ctx, NULL, see_leaf, NULL, NULL, NULL)),
                ROW(luc_tensor_register_accumulate_hook(ctx, t, NULL, NULL, NULL, NULL)),
                ROW(luc_tensor_register_node_hook(ctx, NULL, see_node, NULL, NULL)),
                ROW(luc_tensor_register_node_hook(ctx, t, NULL, NULL, NULL)),
                ROW(luc_function_record(ctx, NULL, NULL, &t, 1, &t, 1, 0, &b)),
                ROW(luc_function_record(ctx, &nameless, NULL, &t, 1, &t, 1, 0, &b)),
                ROW(luc_function_record(ctx, &forward, NULL, &t, 1, &t, 1, 0, &b)),
                ROW(luc_function_record(ctx, &f, NULL, NULL, 1, &t, 1, 0, &b)),
                ROW(luc_function_record(ctx, &f, NULL, &t, 1, NULL, 1, 0, &b)),
                ROW(luc_function_record(ctx, &f, NULL, &t, 1, &none, 1, 0, &b)),
                ROW(luc_function_record(ctx, &f, NULL, &t, 1, &t, 1, 0, NULL)));
  luc_tensor_release(ctx, t);
}

TEST("modules are made and called with what there is") {
  luc_tensor *t = new_tensor(ctx), *y, *none = NULL;
  luc_module *m = new_linear(ctx), *out;
  luc_outputs outputs;
  luc_value no_tensor = {.kind = LUC_TENSOR}, unknown = {.kind = 99}, string = {.kind = LUC_STRING};
  luc_value ints = LUC_VALUE_INTS(NULL, 2), fewer = {.kind = LUC_TENSORS, .n = -1};
  luc_value tensors = {.kind = LUC_TENSORS, .n = 1, .as.tensors = &none};
  luc_value dtype[5] = {LUC_VALUE_INT(2),
                        LUC_VALUE_INT(2),
                        LUC_VALUE_BOOL(1),
                        LUC_VALUE_NONE,
                        {.kind = LUC_DTYPE, .as.i = 77}};
  CHECK_REFUSED(
      ROW(luc_module_new(ctx, NULL, NULL, 0, &out)),
      ROW(luc_module_new(ctx, "ReLU", NULL, 1, &out)),
      ROW(luc_module_new(ctx, "ReLU", NULL, 0, NULL)),
      ROW(luc_module_new(ctx, "None", NULL, 0, &out)),
      ROW(luc_module_new(ctx, "ReLU", &unknown, 1, &out)),
      ROW(luc_module_new(ctx, "Linear", dtype, 5, &out)),
      ROW(luc_module_new(ctx, "LayerNorm", &ints, 1, &out)), ROW(luc_module_clone(ctx, NULL, &out)),
      ROW(luc_module_clone(ctx, m, NULL)), ROW(luc_module_call(ctx, NULL, NULL, 0, &outputs)),
      ROW(luc_module_call(ctx, m, NULL, 1, &outputs)), ROW(luc_module_call(ctx, m, NULL, 0, NULL)),
      ROW(luc_module_call(ctx, m, &no_tensor, 1, &outputs)),
      ROW(luc_module_call(ctx, m, &unknown, 1, &outputs)),
      ROW(luc_module_call(ctx, m, &string, 1, &outputs)),
      ROW(luc_module_call(ctx, m, &ints, 1, &outputs)),
      ROW(luc_module_call(ctx, m, &fewer, 1, &outputs)),
      ROW(luc_module_call(ctx, m, &tensors, 1, &outputs)), ROW(luc_module_call1(ctx, NULL, t, &y)),
      ROW(luc_module_call1(ctx, m, NULL, &y)), ROW(luc_module_call1(ctx, m, t, NULL)));
  CHECK(out == NULL && y == NULL);
  luc_outputs_release(ctx, NULL);
  luc_module_release(ctx, m);
  luc_tensor_release(ctx, t);
}

TEST("members of modules") {
  luc_tensor *t = new_tensor(ctx), *out;
  luc_module *m = new_linear(ctx), *child;
  CHECK_REFUSED(
      ROW(luc_module_register_parameter(ctx, NULL, "w", t)),
      ROW(luc_module_register_parameter(ctx, m, NULL, t)),
      ROW(luc_module_register_buffer(ctx, NULL, "w", t, true)),
      ROW(luc_module_register_buffer(ctx, m, NULL, t, true)),
      ROW(luc_module_add_module(ctx, NULL, "w", m)), ROW(luc_module_add_module(ctx, m, NULL, m)),
      ROW(luc_module_append(ctx, NULL, m)), ROW(luc_module_insert(ctx, NULL, 0, m)),
      ROW(luc_module_pop(ctx, NULL, 0, &child)), ROW(luc_module_append_parameter(ctx, NULL, t)),
      ROW(luc_module_append_parameter(ctx, m, NULL)), ROW(luc_parameter_new(ctx, NULL, true, &out)),
      ROW(luc_parameter_new(ctx, t, true, NULL)), ROW(luc_module_delete(ctx, NULL, "weight")),
      ROW(luc_module_delete(ctx, m, NULL)), ROW(luc_module_reset_parameters(ctx, NULL)),
      ROW(luc_module_get_submodule(ctx, NULL, "", &child)),
      ROW(luc_module_get_submodule(ctx, m, NULL, &child)),
      ROW(luc_module_get_submodule(ctx, m, "", NULL)),
      ROW(luc_module_set_submodule(ctx, NULL, "w", m, false)),
      ROW(luc_module_set_submodule(ctx, m, NULL, m, false)),
      ROW(luc_module_get_parameter(ctx, NULL, "weight", &out)),
      ROW(luc_module_get_parameter(ctx, m, NULL, &out)),
      ROW(luc_module_get_parameter(ctx, m, "weight", NULL)),
      ROW(luc_module_get_buffer(ctx, NULL, "w", &out)),
      ROW(luc_module_get_buffer(ctx, m, NULL, &out)),
      ROW(luc_module_get_buffer(ctx, m, "w", NULL)));
  CHECK(out == NULL && child == NULL);
  CHECK(!luc_module_retain(ctx, NULL) && !luc_module_class_name(NULL));
  CHECK(!luc_module_is(NULL, "Linear") && !luc_module_is(m, NULL) && !luc_module_is_training(NULL));
  CHECK(!luc_module_config(NULL, "bias") && !luc_module_config(m, NULL));
  CHECK(!luc_module_tensor(NULL, "weight") && !luc_module_tensor(m, NULL));
  CHECK(!luc_module_child(NULL, "0") && !luc_module_child(m, NULL));
  CHECK(!luc_module_num_children(NULL) && !luc_module_child_at(NULL, 0));
  CHECK(!luc_module_has_uninitialized(NULL) && !luc_module_child_at(m, -1));
  luc_module_release(ctx, NULL);
  luc_module_release(ctx, m);
  luc_tensor_release(ctx, t);
}

TEST("trees of modules") {
  luc_module *m = new_linear(ctx);
  luc_members list;
  char *text;
  size_t size;
  const luc_dtype none = (luc_dtype)77;
  CHECK_REFUSED(
      ROW(luc_module_members(ctx, NULL, LUC_MEMBERS_MODULES, NULL, 0, &list)),
      ROW(luc_module_members(ctx, m, LUC_MEMBERS_MODULES, NULL, 0, NULL)),
      ROW(luc_module_members(ctx, m, (luc_member_kind)77, NULL, 0, &list)),
      ROW(luc_module_apply(ctx, NULL, NULL, NULL)), ROW(luc_module_apply(ctx, m, NULL, NULL)),
      ROW(luc_module_train(ctx, NULL, true)), ROW(luc_module_requires_grad(ctx, NULL, true)),
      ROW(luc_module_zero_grad(ctx, NULL, true)), ROW(luc_module_to_dtype(ctx, NULL, LUC_FLOAT64)),
      ROW(luc_module_to_dtype(ctx, m, none)), ROW(luc_module_type(ctx, NULL, LUC_FLOAT64)),
      ROW(luc_module_type(ctx, m, none)), ROW(luc_module_text(ctx, NULL, &text, &size)),
      ROW(luc_module_text(ctx, m, NULL, &size)), ROW(luc_module_text(ctx, m, &text, NULL)),
      ROW(luc_module_register_pre_hook(ctx, m, NULL, NULL, NULL, 0, NULL)),
      ROW(luc_module_register_forward_hook(ctx, m, NULL, NULL, NULL, 0, NULL)),
      ROW(luc_module_register_backward_hook(ctx, m, LUC_HOOK_BACKWARD, NULL, NULL, NULL, 0, NULL)),
      ROW(luc_register_registration_hook(ctx, LUC_MEMBERS_BUFFERS, NULL, NULL, NULL, NULL)),
      ROW(luc_module_register_state_hook(ctx, m, LUC_STATE_SAVE_AFTER, NULL, NULL, NULL, NULL)));
  luc_members_free(ctx, NULL);
  luc_module_release(ctx, m);
}

/* As many results as ud says. */
static luc_status count_before(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                               int nargs, luc_outputs *outputs) {
  (void)ctx, (void)m, (void)args, (void)nargs;
  outputs->n = *(int *)ud;
  return LUC_OK;
}

static luc_status count_backward(luc_context *ctx, void *ud, luc_module *m,
                                 const luc_grads *grad_input, const luc_grads *grad_output,
                                 luc_grads *replacement) {
  (void)ctx, (void)m, (void)grad_input, (void)grad_output;
  replacement->n = *(int *)ud;
  return LUC_OK;
}

TEST("hooks that say they gave more than there is room for") {
  luc_tensor *t = new_tensor(ctx), *y, *z;
  luc_module *m = new_linear(ctx);
  int counts[2] = {LUC_MAX_OUTPUTS + 1, -1}, many = LUC_HOOK_GRADS + 1;
  uint64_t id;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(luc_module_register_forward_hook(ctx, m, count_before, &counts[i], NULL, 0, &id));
    CHECK_REFUSED(ROW(luc_module_call1(ctx, m, t, &y)));
    CHECK(luc_module_remove_hook(ctx, m, id));
  }
  CHECK_STR(luc_message(ctx), "in Linear: Linear: a hook may give at most 4 values (got -1)");
  CHECK_OK(luc_module_register_pre_hook(ctx, m, count_before, &counts[0], NULL, 0, &id));
  CHECK_REFUSED(ROW(luc_module_call1(ctx, m, t, &y)));
  CHECK(luc_module_remove_hook(ctx, m, id));
  CHECK_OK(luc_tensor_set_requires_grad(ctx, t, true));
  for (luc_hook_kind kind = LUC_HOOK_FULL_BACKWARD_PRE; kind <= LUC_HOOK_FULL_BACKWARD; kind++) {
    CHECK_OK(luc_module_register_backward_hook(ctx, m, kind, count_backward, &many, NULL, 0, &id));
    CHECK_OK(luc_module_call1(ctx, m, t, &y));
    CHECK_OK(luc_tensor_detach(ctx, y, &z));
    CHECK_REFUSED(ROW(luc_tensor_backward(ctx, &y, 1, &z, 0)));
    CHECK(luc_module_remove_hook(ctx, m, id));
    luc_tensor_release(ctx, y);
    luc_tensor_release(ctx, z);
  }
  luc_module_release(ctx, m);
  luc_tensor_release(ctx, t);
}

TEST("state dicts") {
  luc_tensor *t = new_tensor(ctx);
  luc_module *m = new_linear(ctx);
  luc_state_dict *sd, *out;
  luc_names names = {0};
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_REFUSED(ROW(luc_module_state_dict(ctx, NULL, NULL, true, &out)),
                ROW(luc_module_state_dict(ctx, m, NULL, true, NULL)),
                ROW(luc_state_dict_new(ctx, NULL)), ROW(luc_state_dict_set(ctx, NULL, "w", t)),
                ROW(luc_state_dict_set(ctx, sd, NULL, t)),
                ROW(luc_state_dict_set(ctx, sd, "w", NULL)),
                ROW(luc_state_dict_set_other(ctx, NULL, "w", "string")),
                ROW(luc_state_dict_set_other(ctx, sd, NULL, "string")),
                ROW(luc_state_dict_set_other(ctx, sd, "w", NULL)),
                ROW(luc_state_dict_set_version(ctx, NULL, "", 1)),
                ROW(luc_state_dict_set_version(ctx, sd, NULL, 1)),
                ROW(luc_names_add(ctx, NULL, "w")), ROW(luc_names_add(ctx, &names, NULL)),
                ROW(luc_module_load_state_dict(ctx, NULL, sd, 0, NULL, NULL)),
                ROW(luc_module_load_state_dict(ctx, m, NULL, 0, NULL, NULL)));
  CHECK_OK(luc_state_dict_set(ctx, sd, "w", t));
  CHECK_STR(luc_state_dict_entry(sd, 0, NULL), "w");
  CHECK_OK(luc_state_dict_set_version(ctx, sd, "a", 1));
  CHECK_STR(luc_state_dict_version_at(sd, 0, NULL), "a");
  CHECK(!luc_state_dict_count(NULL) && !luc_state_dict_entry(NULL, 0, NULL));
  CHECK(!luc_state_dict_get(NULL, "w") && !luc_state_dict_get(sd, NULL));
  CHECK(!luc_state_dict_remove(ctx, NULL, "w") && !luc_state_dict_remove(ctx, sd, NULL));
  CHECK(luc_state_dict_version(NULL, "") == -1 && luc_state_dict_version(sd, NULL) == -1);
  CHECK(!luc_state_dict_num_versions(NULL) && !luc_state_dict_version_at(NULL, 0, NULL));
  luc_state_dict_free(ctx, NULL);
  luc_names_free(ctx, NULL);
  luc_names_remove(ctx, NULL, 0);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, m);
  luc_tensor_release(ctx, t);
}

TEST("optimizers") {
  luc_tensor *t = new_tensor(ctx), *copy;
  luc_optimizer *o, *out;
  CHECK_OK(luc_optimizer_new(ctx, "Adam", &o));
  CHECK_REFUSED(ROW(luc_optimizer_new(ctx, NULL, &out)), ROW(luc_optimizer_new(ctx, "SGD", NULL)),
                ROW(luc_optimizer_add_group(ctx, NULL, &t, 1, NULL)),
                ROW(luc_optimizer_add_group(ctx, o, NULL, 1, NULL)),
                ROW(luc_optimizer_set(ctx, NULL, 0, "lr", 0, 1)),
                ROW(luc_optimizer_set(ctx, o, 0, NULL, 0, 1)), ROW(luc_optimizer_step(ctx, NULL)),
                ROW(luc_optimizer_zero_grad(ctx, NULL, true)),
                ROW(luc_optimizer_copy_state(ctx, NULL, 0, 0, 0, t, &copy)),
                ROW(luc_optimizer_copy_state(ctx, o, 0, 0, 0, NULL, &copy)),
                ROW(luc_optimizer_copy_state(ctx, o, 0, 0, 0, t, NULL)));
  CHECK(out == NULL && copy == NULL);
  CHECK_EQ(luc_optimizer_copy_state(ctx, o, 0, 0, 0, t, &copy), LUC_ERR_INDEX);
  CHECK(!luc_optimizer_option(NULL, 0) && !luc_optimizer_num_groups(NULL));
  CHECK(!luc_optimizer_num_params(NULL, 0) && !luc_optimizer_state_name(NULL, 0));
  CHECK(!luc_optimizer_state(NULL, 0, 0, 0) && !luc_optimizer_scalar_name(NULL, 0));
  CHECK(luc_optimizer_scalar(NULL, 0, 0, 0) == 0 && luc_optimizer_steps(NULL, 0, 0) == 0);
  luc_optimizer_set_state(ctx, NULL, 0, 0, 0, t);
  luc_optimizer_set_scalar(NULL, 0, 0, 0, 1);
  luc_optimizer_set_steps(NULL, 0, 0, 1);
  luc_optimizer_free(ctx, NULL);
  luc_optimizer_free(ctx, o);
  luc_tensor_release(ctx, t);
}

static luc_status keep_nothing(void *ud, const void *bytes, size_t n) {
  (void)ud, (void)bytes, (void)n;
  return LUC_OK;
}

TEST("files") {
  luc_tensor *t = new_tensor(ctx), *out;
  luc_state_dict *sd, *loaded;
  luc_tensor_file *file;
  luc_target to = {.write = keep_nothing}, nowhere = {0};
  luc_named_tensor good = {"t", t}, empty = {"t", NULL}, nameless = {NULL, t};
  luc_named_text text = {"k", NULL};
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_REFUSED(ROW(luc_load(ctx, NULL, &loaded)), ROW(luc_load(ctx, "f", NULL)),
                ROW(luc_load_bytes(ctx, NULL, 8, &loaded)), ROW(luc_load_bytes(ctx, "f", 1, NULL)),
                ROW(luc_save(ctx, NULL, sd)), ROW(luc_save(ctx, "f", NULL)),
                ROW(luc_save_to(ctx, NULL, sd)), ROW(luc_save_to(ctx, &to, NULL)),
                ROW(luc_save_to(ctx, &nowhere, sd)), ROW(luc_safetensors_load(ctx, NULL, &file)),
                ROW(luc_safetensors_load(ctx, "f", NULL)),
                ROW(luc_safetensors_load_bytes(ctx, NULL, 8, &file)),
                ROW(luc_safetensors_load_bytes(ctx, "f", 1, NULL)),
                ROW(luc_safetensors_save(ctx, NULL, &good, 1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, NULL, &good, 1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, &to, NULL, 1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, &to, &good, 1, NULL, 1)),
                ROW(luc_safetensors_save_to(ctx, &to, &good, -1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, &to, &empty, 1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, &to, &nameless, 1, NULL, 0)),
                ROW(luc_safetensors_save_to(ctx, &to, &good, 1, &text, 1)),
                ROW(luc_idx_load(ctx, NULL, &out)), ROW(luc_idx_load(ctx, "f", NULL)),
                ROW(luc_npy_load(ctx, NULL, &out)), ROW(luc_npy_load(ctx, "f", NULL)),
                ROW(luc_npy_save(ctx, NULL, t)), ROW(luc_npy_save(ctx, "f", NULL)),
                ROW(luc_png_load(ctx, NULL, LUC_IMAGE_GRAY, &out)),
                ROW(luc_png_load(ctx, "f", LUC_IMAGE_GRAY, NULL)),
                ROW(luc_png_load(ctx, "f", (luc_image_mode)77, &out)),
                ROW(luc_png_save(ctx, NULL, t)), ROW(luc_png_save(ctx, "f", NULL)));
  CHECK(loaded == NULL && file == NULL && out == NULL);
  luc_tensor_file_free(ctx, NULL);
  luc_state_dict_free(ctx, sd);
  luc_tensor_release(ctx, t);
}

TEST("other libraries' tensors") {
  luc_tensor *t = new_tensor(ctx), *out;
  DLManagedTensor *plain, *exported;
  DLManagedTensorVersioned *versioned, *exported_versioned;
  CHECK_OK(luc_tensor_to_dlpack(ctx, t, &plain));
  CHECK_OK(luc_tensor_to_dlpack_versioned(ctx, t, &versioned));
  CHECK_REFUSED(ROW(luc_tensor_to_dlpack(ctx, NULL, &exported)),
                ROW(luc_tensor_to_dlpack(ctx, t, NULL)),
                ROW(luc_tensor_to_dlpack_versioned(ctx, NULL, &exported_versioned)),
                ROW(luc_tensor_to_dlpack_versioned(ctx, t, NULL)),
                ROW(luc_tensor_from_dlpack(ctx, NULL, LUC_COPY_ALWAYS, &out)),
                ROW(luc_tensor_from_dlpack(ctx, plain, LUC_COPY_ALWAYS, NULL)),
                ROW(luc_tensor_from_dlpack(ctx, plain, (luc_copy)77, &out)),
                ROW(luc_tensor_from_dlpack_versioned(ctx, NULL, LUC_COPY_ALWAYS, &out)),
                ROW(luc_tensor_from_dlpack_versioned(ctx, versioned, LUC_COPY_ALWAYS, NULL)));
  CHECK(exported == NULL && exported_versioned == NULL && out == NULL);
  plain->deleter(plain);
  versioned->deleter(versioned);
  luc_tensor_release(ctx, t);
}
