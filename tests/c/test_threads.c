/* Training comes to the same bits with one thread, several, and a host's own parallel loop. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <pthread.h>

#include "nets.h"
#include "ops/op.h"

/* A host's loop that runs the last piece first. */
static void backwards(void *ud, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  ++*(int *)ud;
  for (int64_t begin = (n - 1) / grain * grain; begin >= 0; begin -= grain)
    fn(arg, begin, n - begin < grain ? n : begin + grain);
}

typedef struct share {
  int64_t n, grain, first;
  luc_range_fn fn;
  void *arg;
} share;

enum { HOST_THREADS = 3 };

static void *run_share(void *p) {
  share *s = p;
  for (int64_t i = s->first; i < s->n; i += HOST_THREADS * s->grain)
    s->fn(s->arg, i, s->n - i < s->grain ? s->n : i + s->grain);
  return NULL;
}

/* A host's loop that deals the pieces to threads of its own. */
static void dealt(void *ud, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  ++*(int *)ud;
  pthread_t threads[HOST_THREADS];
  share shares[HOST_THREADS];
  for (int i = 0; i < HOST_THREADS; i++) {
    shares[i] = (share){n, grain, i * grain, fn, arg};
    CHECK_EQ(pthread_create(&threads[i], NULL, run_share, &shares[i]), 0);
  }
  for (int i = 0; i < HOST_THREADS; i++) pthread_join(threads[i], NULL);
}

/* A digest (FNV-1a) of all parameters after three steps and of a forward pass with them. */
static uint64_t trained(void (*make)(net *), int threads, luc_parallel_fn parallel, int *loops) {
  luc_config cfg = {.num_threads = threads, .parallel = parallel, .parallel_ud = loops};
  net n = {0};
  CHECK_OK(luc_context_new(&cfg, &n.ctx));
  luc_manual_seed(n.ctx, 1);
  make(&n);
  for (int i = 0; i < 3; i++) train(&n);
  luc_tensor *y = NULL;
  CHECK_OK(luc_module_call1(n.ctx, n.m, n.x, &y));
  uint64_t digest = 14695981039346656037u;
  for (int i = 0; i <= n.nparams; i++) {
    luc_tensor *t = i < n.nparams ? n.params[i] : y;
    const unsigned char *bytes = luc_tensor_data(t);
    for (int64_t k = 0; k < t->numel * (int64_t)sizeof(float); k++)
      digest = (digest ^ bytes[k]) * 1099511628211u;
  }
  luc_tensor_release(n.ctx, y);
  free_net(&n);
  luc_context_free(n.ctx);
  return digest;
}

static void check_threads(void (*make)(net *)) {
  uint64_t alone = trained(make, 1, NULL, NULL);
  for (int threads = 2; threads <= 5; threads++) CHECK(trained(make, threads, NULL, NULL) == alone);
  int loops = 0;
  CHECK(trained(make, 4, backwards, &loops) == alone);
  CHECK(trained(make, 4, dealt, &loops) == alone);
}

TEST("a small net trains to the same bits with any threads and a host's loop") {
  check_threads(make_mlp);
}

TEST("convolutions train to the same bits with any threads and a host's loop") {
  check_threads(make_convolutions);
  int loops = 0;
  trained(make_convolutions, 4, dealt, &loops);
  CHECK(loops > 20); /* the host's loop is what runs them */
}

/* A digest of functions that round their argument on the way, and of what a softmax divides. */
static uint64_t computed(void) {
  enum { N = 1000 };
  const luc_opid ops[] = {LUC_OP_erf, LUC_OP_tan, LUC_OP_exp, LUC_OP_log};
  luc_context *ctx = NULL;
  uint64_t digest = 14695981039346656037u;
  CHECK_OK(luc_context_new(NULL, &ctx));
  CHECK_OK(luc__ops_init(ctx));
  for (int double_too = 0; double_too < 2; double_too++) {
    luc_tensor *x = NULL;
    CHECK_OK(luc_tensor_new(ctx, double_too ? LUC_FLOAT64 : LUC_FLOAT32, 1, (int64_t[]){N}, &x));
    for (int i = 0; i < N; i++)
      if (double_too)
        ((double *)luc_tensor_data(x))[i] = (i - N / 2) / 128.0;
      else
        ((float *)luc_tensor_data(x))[i] = (float)(i - N / 2) / 128;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
      luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(x)}, out[LUC_MAX_RESULTS];
      CHECK_OK(luc_call(ctx, ops[k], args, 1, out));
      const unsigned char *bytes = luc_tensor_data(out[0].as.tensor);
      for (int64_t i = 0; i < N * (double_too ? 8 : 4); i++)
        digest = (digest ^ bytes[i]) * 1099511628211u;
      luc_tensor_release(ctx, out[0].as.tensor);
    }
    luc_tensor_release(ctx, x);
  }
  luc_context_free(ctx);
  return digest;
}

TEST("a host's rounding and its traps are not those of kernels, and stay") {
  const uint64_t training = trained(make_mlp, 2, NULL, NULL), functions = computed();
  const int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW;
  CHECK_EQ(fesetround(FE_UPWARD), 0);
  feenableexcept(traps);
  const uint64_t other_training = trained(make_mlp, 2, NULL, NULL), other = computed();
  CHECK_EQ(fegetround(), FE_UPWARD);
  CHECK_EQ(fegetexcept(), traps);
  fedisableexcept(FE_ALL_EXCEPT);
  CHECK_EQ(fesetround(FE_TONEAREST), 0);
  CHECK(other_training == training);
  CHECK(other == functions);
}
