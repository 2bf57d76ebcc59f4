/* State dicts without Lua: walking a tree, saving, loading, hooks around both. */
#include <stdlib.h>
#include <unistd.h>

#include "lucerna/autograd.h"
#include "lucerna/io.h"
#include "modules.h"

static luc_status add_linear(luc_context *ctx, luc_module *net, int in, int out) {
  luc_value args[2] = {luc_v_int(in), luc_v_int(out)};
  luc_module *l = NULL;
  LUC_TRY(luc_module_new(ctx, "Linear", args, 2, &l));
  luc_status status = luc_module_append(ctx, net, l);
  luc_module_release(ctx, l);
  return status;
}

/* Sequential(Linear(3, 4), Linear(4, 2)) */
static luc_module *make_net(luc_context *ctx) {
  luc_module *net = make(ctx, "Sequential", 0, 0);
  add(ctx, net, make(ctx, "Linear", 3, 4));
  add(ctx, net, make(ctx, "Linear", 4, 2));
  return net;
}

static float *data_of(const luc_module *net, int child, const char *name) {
  return luc_tensor_data(luc_module_tensor(luc_module_child_at(net, child), name));
}

TEST("a state is saved from one tree and loaded into another") {
  luc_module *a = make_net(ctx), *b = make_net(ctx);
  luc_state_dict *sd = NULL;
  luc_tensor *t;
  CHECK_OK(luc_module_state_dict(ctx, a, NULL, false, &sd));
  CHECK_EQ(luc_state_dict_count(sd), 4);
  CHECK_STR(luc_state_dict_entry(sd, 3, &t), "1.bias");
  CHECK(!luc_tensor_requires_grad(t));
  CHECK_EQ(luc_state_dict_version(sd, ""), 1);
  CHECK_EQ(luc_state_dict_version(sd, "1"), 1);
  CHECK_EQ(luc_state_dict_version(sd, "2"), -1);
  CHECK(data_of(a, 0, "weight")[5] != data_of(b, 0, "weight")[5]);
  CHECK_OK(luc_module_load_state_dict(ctx, b, sd, LUC_LOAD_STRICT, NULL, NULL));
  CHECK(data_of(a, 0, "weight")[5] == data_of(b, 0, "weight")[5]);
  luc_state_dict_free(ctx, sd);
  CHECK_OK(luc_module_state_dict(ctx, a, "net.", true, &sd));
  CHECK_STR(luc_state_dict_entry(sd, 0, &t), "net.0.weight");
  CHECK(t == luc_module_tensor(luc_module_child_at(a, 0), "weight"));
  CHECK_EQ(luc_state_dict_version(sd, "net"), 1);
  CHECK_EQ(luc_state_dict_version(sd, "net.0"), 1);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, a);
  luc_module_release(ctx, b);
}

TEST("everything that is wrong is listed, and nothing is loaded") {
  luc_module *net = make_net(ctx);
  luc_state_dict *sd = NULL;
  luc_tensor *wrong = filled(ctx, 3, 4, 1), *right = filled(ctx, 4, 0, 1);
  luc_names missing = {0}, unexpected = {0};
  float before = data_of(net, 0, "bias")[0];
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_OK(luc_state_dict_set(ctx, sd, "0.weight", wrong));
  CHECK_OK(luc_state_dict_set(ctx, sd, "0.bias", right));
  CHECK_OK(luc_state_dict_set_other(ctx, sd, "1.bias", "string"));
  CHECK_OK(luc_state_dict_set(ctx, sd, "1.weigth", right));
  CHECK_EQ(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, &missing, &unexpected),
           LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx),
            "Error(s) in loading state_dict for Sequential:\n"
            "\tMissing key(s) in state_dict: \"1.weight\". \n"
            "\tUnexpected key(s) in state_dict: \"1.weigth\". \n"
            "\tsize mismatch for 0.weight: copying a param with shape torch.Size([3, 4]) from "
            "checkpoint, the shape in current model is torch.Size([4, 3]).\n"
            "\tWhile copying the parameter named \"1.bias\", expected torch.Tensor or Tensor-like "
            "object from checkpoint but received string\n"
            "\tNearest keys (state_dict = model): \"1.weigth\" = \"1.weight\".\n"
            "\t\"0.weight\" may be transposed: its shape is the model's reversed.");
  CHECK_EQ(missing.n, 1);
  CHECK_EQ(unexpected.n, 1);
  CHECK(data_of(net, 0, "bias")[0] == before);
  luc_names_free(ctx, &missing);
  luc_names_free(ctx, &unexpected);
  CHECK(luc_state_dict_remove(ctx, sd, "0.weight"));
  CHECK(!luc_state_dict_remove(ctx, sd, "0.weight"));
  CHECK(luc_state_dict_remove(ctx, sd, "1.bias"));
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, 0, NULL, NULL));
  CHECK_EQ(data_of(net, 0, "bias")[0], 1);
  LUC_RELEASE(ctx, wrong, right);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, net);
}

TEST("a state goes through a file") {
  luc_module *a = make_net(ctx), *b = make_net(ctx);
  luc_state_dict *sd = NULL;
  luc_named_tensor list[4];
  luc_tensor_file *file = NULL;
  char path[] = "/tmp/lucerna_state_XXXXXX";
  int handle = mkstemp(path);
  CHECK(handle >= 0);
  close(handle);
  CHECK_OK(luc_module_state_dict(ctx, a, NULL, false, &sd));
  for (int i = 0; i < 4; i++) list[i].name = luc_state_dict_entry(sd, (size_t)i, &list[i].tensor);
  CHECK_OK(luc_safetensors_save(ctx, path, list, 4, NULL, 0));
  luc_state_dict_free(ctx, sd);
  CHECK_OK(luc_safetensors_load(ctx, path, &file));
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  for (int i = 0; i < file->ntensors; i++)
    CHECK_OK(luc_state_dict_set(ctx, sd, file->tensors[i].name, file->tensors[i].tensor));
  CHECK_OK(luc_module_load_state_dict(ctx, b, sd, LUC_LOAD_STRICT, NULL, NULL));
  CHECK(data_of(a, 1, "weight")[3] == data_of(b, 1, "weight")[3]);
  luc_tensor_file_free(ctx, file);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, a);
  luc_module_release(ctx, b);
  remove(path);
}

/* ---- hooks ---- */

typedef struct record {
  char log[256];
  bool fail, edit;
  int freed;
} record;

static luc_status note(luc_context *ctx, void *ud, luc_module *m, const luc_state_info *info) {
  record *r = ud;
  size_t n = strlen(r->log);
  (void)m;
  snprintf(r->log + n, sizeof r->log - n, "%d(%s) ", (int)info->event, info->prefix);
  if (r->fail) return luc__fail(ctx, LUC_ERR_STATE, "the hook failed");
  if (!r->edit) return LUC_OK;
  if (info->event == LUC_STATE_SAVE_AFTER) luc_state_dict_remove(ctx, info->state, "0.bias");
  if (info->event == LUC_STATE_LOAD_BEFORE)
    return luc_state_dict_set(ctx, info->state, "0.bias",
                              luc_module_tensor(m, "bias")); /* m: the first Linear */
  if (info->event == LUC_STATE_LOAD_AFTER && info->unexpected->n > 0)
    luc_names_remove(ctx, info->unexpected, 0);
  return LUC_OK;
}

static void count_free(luc_context *ctx, void *ud) {
  (void)ctx;
  ((record *)ud)->freed++;
}

TEST("hooks run before and after a module's part, and may edit") {
  luc_module *net = make_net(ctx);
  luc_state_dict *sd = NULL;
  record r = {.edit = true};
  uint64_t id = 0;
  for (int event = 0; event < LUC_STATE_EVENTS; event++) {
    luc_module *m = event == LUC_STATE_LOAD_BEFORE ? luc_module_child_at(net, 0) : net;
    CHECK_OK(
        luc_module_register_state_hook(ctx, m, (luc_state_event)event, note, &r, count_free, &id));
  }
  CHECK_OK(luc_module_state_dict(ctx, net, NULL, false, &sd));
  CHECK_STR(r.log, "0() 1() ");
  CHECK_EQ(luc_state_dict_count(sd), 3);
  r.log[0] = '\0';
  CHECK_OK(luc_state_dict_set(ctx, sd, "x", luc_state_dict_get(sd, "1.bias")));
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL));
  CHECK_STR(r.log, "2(0.) 3() ");
  CHECK_EQ(luc_state_dict_count(sd), 4);
  CHECK(luc_module_remove_hook(ctx, net, id));
  CHECK(!luc_module_remove_hook(ctx, net, id));
  CHECK_EQ(r.freed, 1);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, net);
  CHECK_EQ(r.freed, 4);
}

TEST("a hook that fails after values were loaded leaves the model as it was") {
  luc_module *net = make_net(ctx), *other = make_net(ctx);
  luc_state_dict *sd = NULL;
  record r = {.fail = true};
  uint64_t id;
  float before = data_of(net, 0, "weight")[2];
  CHECK_OK(luc_module_state_dict(ctx, other, NULL, false, &sd));
  CHECK_OK(luc_module_register_state_hook(ctx, luc_module_child_at(net, 1), LUC_STATE_LOAD_AFTER,
                                          note, &r, NULL, &id));
  luc_tensor *weight = luc_module_tensor(luc_module_child_at(net, 0), "weight");
  for (int flags = LUC_LOAD_STRICT; flags <= (LUC_LOAD_STRICT | LUC_LOAD_ASSIGN); flags += 2) {
    CHECK_EQ(luc_module_load_state_dict(ctx, net, sd, flags, NULL, NULL), LUC_ERR_STATE);
    CHECK_STR(luc_message(ctx), "the hook failed");
    CHECK(data_of(net, 0, "weight")[2] == before);
    CHECK(luc_module_tensor(luc_module_child_at(net, 0), "weight") == weight);
  }
  r.fail = false;
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL));
  CHECK(data_of(net, 0, "weight")[2] != before);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, other);
  luc_module_release(ctx, net);
}

/* ---- refused allocations ---- */

static luc_status compare(const luc_module *net, const luc_module *other, bool equal) {
  int different = 0;
  for (int i = 0; i < 12; i++)
    different += data_of(net, 0, "weight")[i] != data_of(other, 0, "weight")[i];
  CHECK_EQ(different == 0, equal);
  return LUC_OK;
}

/* Loads `other` into a fresh net: what fails has changed nothing. */
static luc_status scenario(luc_context *ctx, void *arg) {
  luc_module *net = NULL, *twin = NULL, *other = NULL;
  luc_state_dict *sd = NULL;
  record r = {.edit = true};
  luc_status status;
  uint64_t id;
  LUC_GO(luc_module_new(ctx, "Sequential", NULL, 0, &net));
  LUC_GO(add_linear(ctx, net, 3, 4));
  LUC_GO(luc_module_clone(ctx, net, &twin));
  LUC_GO(luc_module_new(ctx, "Sequential", NULL, 0, &other));
  LUC_GO(add_linear(ctx, other, 3, 4));
  LUC_GO(luc_module_state_dict(ctx, other, NULL, false, &sd));
  if (*(bool *)arg)
    LUC_GO(luc_module_register_state_hook(ctx, luc_module_child_at(net, 0), LUC_STATE_LOAD_BEFORE,
                                          note, &r, NULL, &id));
  status = luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL);
  (void)compare(net, status == LUC_OK ? other : twin, true);
  if (status == LUC_OK)
    LUC_GO(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT | LUC_LOAD_ASSIGN, NULL, NULL));
done:
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, other);
  luc_module_release(ctx, twin);
  luc_module_release(ctx, net);
  return status;
}

TEST("refused allocations leave nothing behind and the model as it was") {
  bool hooked = false;
  test_sweep_after(luc__ops_init, scenario, &hooked, 1);
  hooked = true;
  test_sweep_after(luc__ops_init, scenario, &hooked, 1);
}
