/* Registering without Lua: hooks that see, replace and refuse what modules take, paths, cycles,
 * conversions of everything. */
#include "lucerna/autograd.h"
#include "modules.h"

static luc_tensor *tensor(luc_context *ctx, luc_dtype dtype) {
  int64_t size = 3;
  luc_tensor *t = NULL;
  CHECK_OK(luc__tensor_empty(ctx, dtype, 1, &size, &t));
  CHECK_OK(luc__fill(ctx, t, (luc_scalar){LUC_SCALAR_INT, {.i = 1}}));
  return t;
}

typedef struct seen {
  int calls, freed;
  char names[128];
  luc_tensor *tensor; /* what to put in the place */
  luc_module *module;
  bool refuse;
} seen;

static luc_status note(luc_context *ctx, void *ud, luc_module *m, const char *name,
                       const luc_registered *given, luc_registered *replacement) {
  seen *s = ud;
  (void)m, (void)given;
  s->calls++;
  strncat(s->names, name, sizeof s->names - strlen(s->names) - 2);
  strncat(s->names, " ", 2);
  if (s->refuse) return luc__fail(ctx, LUC_ERR_VALUE, "refused %s", name);
  if (s->tensor != NULL) replacement->tensor = luc_tensor_retain(s->tensor);
  if (s->module != NULL) replacement->module = luc_module_retain(ctx, s->module);
  return LUC_OK;
}

static void forget(luc_context *ctx, void *ud) {
  (void)ctx;
  ((seen *)ud)->freed++;
}

TEST_ALONE("registration hooks see what modules take, constructors included") {
  test_heap heap = {0};
  luc_context *ctx = test_context(&heap);
  seen p = {0}, c = {0};
  uint64_t id, other;
  CHECK_OK(luc_register_registration_hook(ctx, LUC_MEMBERS_PARAMETERS, note, &p, forget, &id));
  CHECK_OK(luc_register_registration_hook(ctx, LUC_MEMBERS_CHILDREN, note, &c, forget, &other));
  luc_module *net = make(ctx, "Linear", 2, 2), *child = make(ctx, "Linear", 2, 2);
  CHECK_OK(luc_module_add_module(ctx, net, "child", child));
  CHECK_OK(luc_module_add_module(ctx, net, "none", NULL));
  CHECK_OK(luc_module_register_parameter(ctx, net, "empty", NULL));
  CHECK_STR(p.names, "weight bias weight bias ");
  CHECK_STR(c.names, "child none ");
  CHECK(luc_remove_registration_hook(ctx, id) && !luc_remove_registration_hook(ctx, id));
  CHECK_EQ(p.freed, 1);
  luc_module_release(ctx, make(ctx, "Linear", 2, 2));
  CHECK_EQ(p.calls, 4);
  luc_module_release(ctx, child);
  luc_module_release(ctx, net);
  luc_context_free(ctx);
  CHECK_EQ(c.freed, 1);
  CHECK_EQ(heap.blocks, 0);
}

TEST("a registration hook may replace, and what it refuses is not taken") {
  luc_module *net = make(ctx, "Linear", 2, 2), *child = make(ctx, "Linear", 2, 2),
             *other = make(ctx, "Linear", 2, 2);
  luc_tensor *given = tensor(ctx, LUC_FLOAT32), *wanted = tensor(ctx, LUC_FLOAT64);
  seen buffers = {.tensor = wanted}, children = {.module = other};
  uint64_t id;
  luc_register_registration_hook(ctx, LUC_MEMBERS_BUFFERS, note, &buffers, NULL, &id);
  luc_register_registration_hook(ctx, LUC_MEMBERS_CHILDREN, note, &children, NULL, &id);
  CHECK_OK(luc_module_register_buffer(ctx, net, "b", given, false));
  CHECK(luc_module_tensor(net, "b") == wanted);
  CHECK_OK(luc_module_add_module(ctx, net, "c", child));
  CHECK(luc_module_child(net, "c") == other);
  children.module = NULL;
  children.tensor = wanted;
  CHECK_EQ(luc_module_add_module(ctx, net, "c", child), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "module registration hook: must return an nn.Module or nil for 'c'");
  buffers.refuse = children.refuse = true;
  CHECK_EQ(luc_module_register_buffer(ctx, net, "b", given, true), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "refused b");
  CHECK_EQ(luc_module_add_module(ctx, net, "d", child), LUC_ERR_VALUE);
  CHECK(luc_module_tensor(net, "b") == wanted && luc_module_child(net, "d") == NULL);
  CHECK(!luc__slot_is_persistent(net, "b", 1));
  LUC_RELEASE(ctx, given, wanted);
  luc_module_release(ctx, child);
  luc_module_release(ctx, other);
  luc_module_release(ctx, net);
}

TEST("set_submodule puts modules at paths; a module cannot get into its own subtree") {
  luc_module *net = make(ctx, "Linear", 2, 2), *a = make(ctx, "Linear", 2, 2),
             *b = make(ctx, "Linear", 2, 2), *found;
  CHECK_EQ(luc_module_set_submodule(ctx, net, "a", a, true), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "Linear has no attribute `a`");
  CHECK_OK(luc_module_set_submodule(ctx, net, "a", a, false));
  CHECK_OK(luc_module_set_submodule(ctx, net, "a.b", b, false));
  CHECK_OK(luc_module_get_submodule(ctx, net, "a.b", &found));
  CHECK(found == b);
  CHECK_EQ(luc_module_set_submodule(ctx, net, "a.weight", b, false), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "`weight` is not an nn.Module");
  CHECK_EQ(luc_module_set_submodule(ctx, net, "", b, false), LUC_ERR_VALUE);
  CHECK_EQ(luc_module_add_module(ctx, b, "up", net), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "Linear: cannot become child 'up' of its own descendant a.b (Linear) "
                              "(a module tree has no cycles)");
  CHECK_EQ(luc_module_add_module(ctx, b, "me", b), LUC_ERR_VALUE);
  luc_module_release(ctx, a);
  luc_module_release(ctx, b);
  luc_module_release(ctx, net);
}

static luc_status count_one(luc_context *ctx, void *ud, luc_module *m) {
  (void)ctx, (void)m;
  ++*(int *)ud;
  return LUC_OK;
}

TEST("type converts everything, to floating point tensors alone; apply goes by parents") {
  luc_module *net = make(ctx, "Linear", 2, 2), *child = make(ctx, "Linear", 2, 2);
  luc_tensor *ids = tensor(ctx, LUC_INT64);
  luc_module_register_buffer(ctx, net, "ids", ids, true);
  CHECK_OK(luc_module_to_dtype(ctx, net, LUC_FLOAT64));
  CHECK_EQ(luc_tensor_dtype(luc_module_tensor(net, "ids")), LUC_INT64);
  CHECK_EQ(luc_module_to_dtype(ctx, net, LUC_INT64), LUC_ERR_TYPE);
  CHECK_EQ(luc_module_type(ctx, net, LUC_INT32), LUC_ERR_TYPE);
  CHECK_EQ(luc_tensor_dtype(luc_module_tensor(net, "ids")), LUC_INT64);
  CHECK_OK(luc_module_type(ctx, net, LUC_FLOAT32));
  CHECK_EQ(luc_tensor_dtype(luc_module_tensor(net, "ids")), LUC_FLOAT32);
  int n = 0;
  luc_module_add_module(ctx, net, "a", child);
  luc_module_add_module(ctx, net, "b", child);
  CHECK_OK(luc_module_apply(ctx, net, count_one, &n));
  CHECK_EQ(n, 2);
  luc_tensor_release(ctx, ids);
  luc_module_release(ctx, child);
  luc_module_release(ctx, net);
}
