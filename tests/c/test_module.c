/* Module trees without Lua: making, registering, walking, calling, hooks, lifetime. */
#include "lucerna/autograd.h"
#include "modules.h"

static luc_module *mlp(luc_context *ctx) {
  luc_module *net = make(ctx, "Sequential", 0, 0);
  add(ctx, net, make(ctx, "Linear", 3, 4));
  add(ctx, net, make(ctx, "ReLU", 0, 0));
  add(ctx, net, make(ctx, "Linear", 4, 2));
  return net;
}

TEST("a layer knows its constructor's arguments and has its parameters") {
  luc_module *l = make(ctx, "Linear", 3, 4);
  CHECK_EQ(luc_module_config(l, "in_features")->as.i, 3);
  CHECK_EQ(luc_module_config(l, "bias")->as.i, 1);
  CHECK_EQ(luc_tensor_sizes(luc_module_tensor(l, "weight"))[0], 4);
  CHECK(luc_tensor_requires_grad(luc_module_tensor(l, "bias")));
  CHECK(luc_module_is(l, "Module") && luc_module_is(l, "Linear") && !luc_module_is(l, "ReLU"));
  luc_module_release(ctx, l);
  luc_module *none = NULL;
  CHECK_EQ(luc_module_new(ctx, "Linaer", NULL, 0, &none), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_new(ctx, "Linear", NULL, 0, &none), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "Linear: missing argument 'in_features'");
}

TEST("a chain runs its children") {
  luc_module *net = mlp(ctx);
  luc_tensor *x = filled(ctx, 5, 3, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_EQ(luc_tensor_sizes(y)[0], 5);
  CHECK_EQ(luc_tensor_sizes(y)[1], 2);
  CHECK(luc_tensor_requires_grad(y));
  LUC_RELEASE(ctx, y, x);
  x = filled(ctx, 5, 4, 1);
  CHECK(luc_module_call1(ctx, net, x, &y) != LUC_OK);
  CHECK(strncmp(luc_message(ctx), "in 0 (Linear): linear: ", 23) == 0);
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, net);
}

TEST("named members come in order, once, under their first name") {
  luc_module *net = mlp(ctx);
  CHECK_OK(luc_module_add_module(ctx, net, "again", luc_module_child_at(net, 0)));
  luc_members list;
  CHECK_OK(luc_module_members(ctx, net, LUC_MEMBERS_PARAMETERS, "net", 0, &list));
  CHECK_EQ(list.n, 4);
  CHECK_STR(list.items[0].name, "net.0.weight");
  CHECK_STR(list.items[3].name, "net.2.bias");
  luc_members_free(ctx, &list);
  CHECK_OK(
      luc_module_members(ctx, net, LUC_MEMBERS_PARAMETERS, NULL, LUC_MEMBERS_DUPLICATES, &list));
  CHECK_EQ(list.n, 6);
  CHECK_STR(list.items[4].name, "again.weight");
  luc_members_free(ctx, &list);
  CHECK_OK(luc_module_members(ctx, net, LUC_MEMBERS_MODULES, NULL, 0, &list));
  CHECK_EQ(list.n, 4);
  CHECK_STR(list.items[0].name, "");
  CHECK_STR(list.items[2].name, "1");
  luc_members_free(ctx, &list);
  luc_module_release(ctx, net);
}

TEST("names are checked as PyTorch checks them") {
  luc_module *l = make(ctx, "Linear", 1, 1), *other = make(ctx, "ReLU", 0, 0);
  CHECK_EQ(luc_module_add_module(ctx, l, "a.b", other), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "module name can't contain \".\", got: a.b");
  CHECK_EQ(luc_module_add_module(ctx, l, "", other), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_add_module(ctx, l, "weight", other), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "attribute 'weight' already exists");
  CHECK_OK(luc_module_add_module(ctx, l, "act", other));
  CHECK_EQ(luc_module_add_module(ctx, other, "up", l), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_add_module(ctx, l, "self", l), LUC_ERR_VALUE);
  luc_module_release(ctx, other);
  luc_module_release(ctx, l);
}

TEST("a million levels are called, walked and freed without recursion") {
  enum { DEPTH = 1000000 };
  luc_module *m = make(ctx, "Identity", 0, 0);
  for (int i = 0; i < (test_is_short() ? DEPTH / 10 : DEPTH); i++) {
    luc_module *outer = make(ctx, "Sequential", 0, 0);
    add(ctx, outer, m);
    m = outer;
  }
  luc_tensor *x = filled(ctx, 1, 1, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, m, x, &y));
  CHECK(y == x);
  CHECK_OK(luc_module_train(ctx, m, false));
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, m);
}

static luc_status scenario(luc_context *ctx, void *arg) {
  (void)arg;
  luc_module *net = NULL, *layer = NULL;
  luc_status status;
  luc_members list = {0};
  luc_state_dict *sd = NULL;
  char *text = NULL;
  size_t size = 0;
  LUC_GO(luc_module_new(ctx, "Sequential", NULL, 0, &net));
  for (int i = 0; i < 10; i++) {
    luc_value args[2] = {luc_v_int(2), luc_v_int(2)};
    LUC_GO(luc_module_new(ctx, "Linear", args, 2, &layer));
    LUC_GO(luc_module_append(ctx, net, layer));
    luc_module_release(ctx, layer);
    layer = NULL;
  }
  LUC_GO(luc_module_members(ctx, net, LUC_MEMBERS_PARAMETERS, NULL, 0, &list));
  LUC_GO(luc_module_zero_grad(ctx, net, true));
  LUC_GO(luc_module_clone(ctx, net, &layer));
  luc_module_release(ctx, layer);
  layer = NULL;
  LUC_GO(luc_module_state_dict(ctx, net, NULL, false, &sd));
  LUC_GO(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL));
  LUC_GO(luc_module_to_dtype(ctx, net, LUC_FLOAT64));
  LUC_GO(luc_module_text(ctx, net, &text, &size));
done:
  luc_state_dict_free(ctx, sd);
  if (text != NULL) luc_text_free(ctx, text, size);
  luc_members_free(ctx, &list);
  luc_module_release(ctx, layer);
  luc_module_release(ctx, net);
  return status;
}

TEST("refused allocations leave nothing behind") {
  test_sweep_after(luc__ops_init, scenario, NULL, 1);
}

static luc_status count_hook(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                             int nargs, luc_outputs *outputs) {
  (void)ctx, (void)m, (void)args;
  int *counts = ud;
  counts[0]++;
  counts[1] += nargs;
  counts[2] += outputs->n;
  return LUC_OK;
}

TEST("hooks run, see arguments and outputs, and can be removed") {
  luc_module *net = mlp(ctx);
  int counts[3] = {0};
  uint64_t id, inner;
  CHECK_OK(luc_module_register_forward_hook(ctx, net, count_hook, counts, NULL, 0, &id));
  CHECK_OK(luc_module_register_forward_hook(ctx, luc_module_child_at(net, 1), count_hook, counts,
                                            NULL, LUC_HOOK_ALWAYS_CALL, &inner));
  luc_tensor *x = filled(ctx, 5, 3, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_EQ(counts[0], 2);
  CHECK_EQ(counts[1], 2);
  CHECK_EQ(counts[2], 2);
  luc_tensor_release(ctx, y);
  CHECK(luc_module_remove_hook(ctx, net, id));
  CHECK(!luc_module_remove_hook(ctx, net, id));
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_EQ(counts[0], 3);
  LUC_RELEASE(ctx, y, x);
  luc_module_release(ctx, net);
}

static luc_status failing_hook(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                               int nargs, luc_outputs *out) {
  (void)ud, (void)m, (void)args, (void)nargs, (void)out;
  return luc_fail(ctx, LUC_ERR_VALUE, "not today");
}

static luc_status failing_pre_hook(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                                   int nargs, luc_outputs *replacement) {
  (void)ud, (void)m, (void)args, (void)nargs, (void)replacement;
  return luc_fail(ctx, LUC_ERR_VALUE, "not yet");
}

TEST("a hook that fails says why and where, and those that are always called run once") {
  luc_module *net = mlp(ctx), *child = luc_module_child_at(net, 1);
  int before[3] = {0}, after[3] = {0};
  uint64_t id;
  CHECK_OK(luc_module_register_forward_hook(ctx, child, count_hook, before, NULL,
                                            LUC_HOOK_ALWAYS_CALL, &id));
  CHECK_OK(luc_module_register_forward_hook(ctx, child, failing_hook, NULL, NULL, 0, &id));
  CHECK_OK(luc_module_register_forward_hook(ctx, child, count_hook, after, NULL,
                                            LUC_HOOK_ALWAYS_CALL, &id));
  luc_tensor *x = filled(ctx, 5, 3, 1), *y = NULL;
  CHECK_EQ(luc_module_call1(ctx, net, x, &y), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "in 1 (ReLU): not today");
  CHECK_EQ(before[0], 1);
  CHECK_EQ(after[0], 1);
  CHECK_OK(luc_module_register_pre_hook(ctx, child, failing_pre_hook, NULL, NULL, 0, &id));
  CHECK_EQ(luc_module_call1(ctx, net, x, &y), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "in 1 (ReLU): not yet");
  CHECK_EQ(before[0], 2);
  CHECK_EQ(before[1], 2);
  CHECK_EQ(after[0], 2);
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, net);
}

/* "0=ReLU 1=Linear": names and classes of the children. */
static const char *children_of(luc_context *ctx, luc_module *m) {
  static char text[256];
  luc_members list = {0};
  CHECK_OK(luc_module_members(ctx, m, LUC_MEMBERS_CHILDREN, NULL, 0, &list));
  text[0] = '\0';
  for (size_t i = 0; i < list.n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%s", i > 0 ? " " : "",
             list.items[i].name, luc_module_class_name(list.items[i].module));
  luc_members_free(ctx, &list);
  return text;
}

static void insert(luc_context *ctx, luc_module *m, int position, const char *name) {
  luc_module *child = make(ctx, name, 0, 0);
  CHECK_OK(luc_module_insert(ctx, m, position, child));
  luc_module_release(ctx, child);
}

TEST("lists of modules are changed by position") {
  luc_module *net = make(ctx, "Sequential", 0, 0), *popped = NULL, *named;
  insert(ctx, net, 0, "ReLU");
  insert(ctx, net, 0, "Tanh");
  insert(ctx, net, 1, "GELU");
  CHECK_STR(children_of(ctx, net), "0=Tanh 1=GELU 2=ReLU");
  named = make(ctx, "Sigmoid", 0, 0);
  CHECK_OK(luc_module_add_module(ctx, net, "last", named));
  insert(ctx, net, 1, "Identity");
  CHECK_STR(children_of(ctx, net), "0=Tanh 1=Identity 2=GELU 3=ReLU last=Sigmoid");
  CHECK_OK(luc_module_pop(ctx, net, 0, &popped));
  CHECK_STR(luc_module_class_name(popped), "Tanh");
  CHECK_OK(luc_module_pop(ctx, net, 0, NULL));
  CHECK_STR(children_of(ctx, net), "0=GELU 1=ReLU 2=Sigmoid");
  CHECK_EQ(luc_module_pop(ctx, net, 3, NULL), LUC_ERR_INDEX);
  CHECK_EQ(luc_module_insert(ctx, net, 4, popped), LUC_ERR_INDEX);
  CHECK_EQ(luc_module_insert(ctx, net, 0, net), LUC_ERR_VALUE);
  CHECK_STR(children_of(ctx, net), "0=GELU 1=ReLU 2=Sigmoid");
  luc_module_release(ctx, popped);
  luc_module_release(ctx, named);
  luc_module_release(ctx, net);
}

TEST("lists of parameters take tensors") {
  luc_module *list = make(ctx, "ParameterList", 0, 0), *net = make(ctx, "Sequential", 0, 0);
  luc_tensor *t = filled(ctx, 2, 3, 1), *p = NULL;
  CHECK_OK(luc_parameter_new(ctx, t, false, &p));
  CHECK_OK(luc_module_append_parameter(ctx, list, t));
  CHECK_OK(luc_module_append_parameter(ctx, list, p));
  CHECK(luc_tensor_requires_grad(luc_module_tensor(list, "0")));
  CHECK(luc_module_tensor(list, "1") == p);
  add(ctx, net, luc_module_retain(ctx, list));
  char *text = NULL;
  size_t size;
  CHECK_OK(luc_module_text(ctx, net, &text, &size));
  CHECK_STR(text, "Sequential(\n  (0): ParameterList(\n"
                  "      (0): Parameter containing: [torch.float32 of size 2x3]\n"
                  "      (1): Parameter containing: [torch.float32 of size 2x3]\n  )\n)");
  luc_text_free(ctx, text, size);
  luc_tensor *y;
  CHECK_EQ(luc_module_call1(ctx, list, t, &y), LUC_ERR_STATE);
  CHECK_STR(luc_message(ctx), "in ParameterList: ParameterList should not be called.");
  LUC_RELEASE(ctx, t, p);
  luc_module_release(ctx, list);
  luc_module_release(ctx, net);
}

/* ---- what a host gets wrong ---- */

TEST("what a failed call left NULL is an error to use, not a crash") {
  luc_value args[2] = {luc_v_int(2), luc_v_int(2)}, none = {.kind = LUC_TENSOR};
  luc_module *m, *list;
  luc_tensor *p;
  luc_outputs out;
  CHECK_OK(luc_module_new(ctx, "Linear", args, 2, &m));
  CHECK_OK(luc_module_new(ctx, "ParameterList", NULL, 0, &list));
  CHECK(luc_module_retain(ctx, NULL) == NULL);
  CHECK_EQ(luc_module_call1(ctx, NULL, NULL, &p), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "luc_module_call: needs m && (args || nargs == 0) (got NULL)");
  CHECK_EQ(luc_module_call(ctx, m, &none, 1, &out), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "Linear: argument 1 must be a value (got NULL)");
  CHECK_EQ(luc_module_call(ctx, m, NULL, 0, &out), LUC_ERR_TYPE);
  CHECK_EQ(luc_module_call(ctx, m, NULL, -1, &out), LUC_ERR_VALUE);
  CHECK_EQ(luc_parameter_new(ctx, NULL, true, &p), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_append_parameter(ctx, list, NULL), LUC_ERR_VALUE);
  luc_module_release(ctx, list);
  CHECK_EQ(luc_module_new(ctx, "Linear", NULL, -1, &list), LUC_ERR_TYPE);
  CHECK_EQ(luc_module_new(ctx, "CrossEntropyLoss", &none, 1, &list), LUC_ERR_TYPE);
  CHECK_EQ(luc_module_to_dtype(ctx, m, LUC_NUM_DTYPES), LUC_ERR_TYPE);
  CHECK_EQ(luc_module_type(ctx, m, LUC_NUM_DTYPES), LUC_ERR_TYPE);
  luc_module_release(ctx, m);
}

static luc_status keep(luc_context *ctx, void *ud, luc_module *m, const luc_value *args, int nargs,
                       luc_outputs *outputs) {
  (void)ctx, (void)ud, (void)m, (void)args, (void)nargs, (void)outputs;
  return LUC_OK;
}

TEST("hooks need a function and no place for their id") {
  luc_module *m;
  CHECK(!luc_module_remove_hook(ctx, NULL, 1));
  CHECK_OK(luc_module_new(ctx, "ReLU", NULL, 0, &m));
  CHECK_EQ(luc_module_register_forward_hook(ctx, m, NULL, NULL, NULL, 0, NULL), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_register_state_hook(ctx, m, LUC_STATE_SAVE_AFTER, NULL, NULL, NULL, NULL),
           LUC_ERR_VALUE);
  CHECK_EQ(luc_register_registration_hook(ctx, (luc_member_kind)9, NULL, NULL, NULL, NULL),
           LUC_ERR_VALUE);
  CHECK_OK(luc_module_register_forward_hook(ctx, m, keep, NULL, NULL, 0, NULL));
  luc_module_release(ctx, m);
}

TEST("a state dict has no value that is NULL") {
  luc_state_dict *sd;
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_EQ(luc_state_dict_set(ctx, sd, "weight", NULL), LUC_ERR_VALUE);
  CHECK_EQ(luc_state_dict_count(sd), 0);
  luc_state_dict_free(ctx, sd);
}
