/* Checkpoints from C: state dicts of PyTorch's read, written and read again, with what they share;
 * files that cannot be read or written leave nothing behind. The recorded files come from
 * tests/parity/gen_pickle.py. */
#include <signal.h>
#include <sys/resource.h>

#include "io_files.h"
#include "lucerna/module.h"

static luc_module *make(luc_context *ctx, const char *name, luc_value a, luc_value b, int n) {
  luc_module *m = NULL;
  luc_value args[] = {a, b};
  CHECK_OK(luc_module_new(ctx, name, args, n, &m));
  return m;
}

static luc_module *make_net(luc_context *ctx) {
  luc_value none = LUC_VALUE_NONE, two = LUC_VALUE_INT(2), three = LUC_VALUE_INT(3);
  luc_module *net = make(ctx, "Sequential", none, none, 0);
  luc_module *linear = make(ctx, "Linear", three, two, 2);
  luc_module *norm = make(ctx, "BatchNorm1d", two, none, 1);
  CHECK_OK(luc_module_append(ctx, net, linear));
  CHECK_OK(luc_module_append(ctx, net, norm));
  luc_module_release(ctx, linear);
  luc_module_release(ctx, norm);
  return net;
}

TEST("a state of PyTorch's goes into a model, and comes back from its file") {
  char path[512], recorded[512];
  luc_module *net = make_net(ctx);
  luc_state_dict *sd, *again;
  CHECK_OK(luc_load(ctx, io_recorded(recorded, "checkpoint_state.pt"), &sd));
  CHECK(sd && luc_state_dict_count(sd) == 7);
  CHECK_EQ(luc_state_dict_version(sd, "1"), 2);
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL));
  io_path(path, "state.pt");
  CHECK_OK(luc_save(ctx, path, sd));
  CHECK_OK(luc_load(ctx, path, &again));
  CHECK_EQ(luc_state_dict_version(again, "1"), 2);
  for (size_t i = 0; i < luc_state_dict_count(sd); i++) {
    luc_tensor *a, *b;
    const char *name = luc_state_dict_entry(sd, i, &a);
    CHECK_STR(luc_state_dict_entry(again, i, &b), name);
    CHECK(luc__same_sizes(a, b) && a->dtype == b->dtype);
    CHECK(!memcmp(a->data, b->data, (size_t)a->numel * luc__dtype_size((luc_dtype)a->dtype)));
  }
  luc_state_dict_free(ctx, again);
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, net);
}

TEST("views of one storage are that again") {
  char path[512];
  int64_t sizes[] = {4}, part[] = {2}, stride[] = {1};
  luc_tensor *x = NULL, *view = NULL;
  luc_state_dict *sd, *again;
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 1, sizes, &x));
  memset(x->data, 0, 16);
  CHECK_OK(luc__tensor_view(ctx, x, 1, part, stride, 2, &view));
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_OK(luc_state_dict_set(ctx, sd, "x", x));
  CHECK_OK(luc_state_dict_set(ctx, sd, "view", view));
  CHECK_OK(luc_save(ctx, io_path(path, "views.pt"), sd));
  CHECK_OK(luc_load(ctx, path, &again));
  luc_tensor *a = luc_state_dict_get(again, "x"), *b = luc_state_dict_get(again, "view");
  CHECK(a && b && a->storage == b->storage && b->offset == 2);
  luc_state_dict_free(ctx, again);
  luc_state_dict_free(ctx, sd);
  LUC_RELEASE(ctx, view, x);
}

TEST("what is no state dict is refused, and nothing is left") {
  char path[512], recorded[512];
  luc_state_dict *sd;
  size_t live = luc_memory_stats(ctx).live;
  CHECK_EQ(luc_load(ctx, "/nowhere/x.pt", &sd), LUC_ERR_IO);
  CHECK(sd == NULL && strstr(luc_message(ctx), "load: cannot open '/nowhere/x.pt'"));
  CHECK_EQ(luc_load(ctx, io_recorded(recorded, "checkpoint_module.pt"), &sd), LUC_ERR_IO);
  CHECK(sd == NULL && strstr(luc_message(ctx), "whole module (torch.nn.modules.linear.Linear)"));
  io_write(io_path(path, "nothing.pt"), "", 0);
  CHECK_EQ(luc_load(ctx, path, &sd), LUC_ERR_IO);
  CHECK(strstr(luc_message(ctx), "nothing.pt': not a file that torch.save wrote"));
  CHECK_EQ((long long)luc_memory_stats(ctx).live, (long long)live);
  CHECK_OK(luc_load(ctx, io_recorded(recorded, "checkpoint_training.pt"), &sd));
  CHECK(sd && luc_state_dict_get(sd, "model") == NULL); /* an entry that is no tensor */
  CHECK_EQ(luc_save(ctx, path, sd), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "save: 'model' is no tensor");
  luc_state_dict_free(ctx, sd);
}

TEST("a file that cannot grow leaves the old one and no other") {
  char path[512];
  int64_t sizes[] = {100000};
  luc_tensor *x = NULL;
  luc_state_dict *sd, *old;
  struct rlimit before, small = {100000, 100000};
  CHECK_OK(luc_state_dict_new(ctx, &sd));
  CHECK_OK(luc_save(ctx, io_path(path, "grow.pt"), sd));
  int files = io_count_files();
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 1, sizes, &x));
  memset(x->data, 0, 400000);
  CHECK_OK(luc_state_dict_set(ctx, sd, "x", x));
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_EQ(luc_save(ctx, path, sd), LUC_ERR_IO);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(strstr(luc_message(ctx), "save: cannot write"));
  CHECK_EQ(io_count_files(), files);
  CHECK_OK(luc_load(ctx, path, &old));
  CHECK(old && luc_state_dict_count(old) == 0);
  luc_state_dict_free(ctx, old);
  luc_state_dict_free(ctx, sd);
  luc_tensor_release(ctx, x);
}

TEST("numbers that a file holds conjugated are read before any operator was called") {
  char recorded[512];
  luc_state_dict *sd = NULL;
  CHECK_OK(luc_load(ctx, io_recorded(recorded, "checkpoint_complex.pt"), &sd));
  luc_state_dict_free(ctx, sd);
}
