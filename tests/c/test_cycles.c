/* Cycles through the graph: what keeps only itself alive is freed by luc__collect_cycles, and when
 * the context closes, with the hooks and the memory of hosts in it. */
#include "test.h"

#include "autograd/graph.h"

static int hooks_freed, released;

static luc_status no_hook(luc_context *ctx, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  (void)ctx, (void)ud, (void)grad, (void)replacement;
  return LUC_OK;
}

static void hook_freed(luc_context *ctx, void *ud) {
  (void)ctx, (void)ud;
  hooks_freed++;
}

static void memory_released(void *ud, void *data) {
  (void)ud, (void)data;
  released++;
}

typedef luc_status (*cycle_fn)(luc_context *ctx, luc_tensor *w);

/* w.grad = 2 w, with its graph. */
static luc_status gradient_with_graph(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL, *s = NULL;
  luc_status status;
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc__unary(ctx, LUC_OP_sum, y, &s));
  LUC_GO(luc_tensor_backward(ctx, &s, 1, NULL, LUC_CREATE_GRAPH));
done:
  LUC_RELEASE(ctx, y, s);
  return status;
}

static luc_status gradient_of_a_result(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL, *z = NULL, *s = NULL;
  luc_status status;
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc_tensor_retain_grad(ctx, y));
  LUC_GO(luc__binary(ctx, LUC_OP_mul, y, y, &z));
  LUC_GO(luc__unary(ctx, LUC_OP_sum, z, &s));
  LUC_GO(luc_tensor_backward(ctx, &s, 1, NULL, LUC_CREATE_GRAPH));
done:
  LUC_RELEASE(ctx, y, z, s);
  return status;
}

static luc_status gradient_that_was_given(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL;
  luc_status status;
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc_tensor_set_grad(ctx, w, y));
done:
  LUC_RELEASE(ctx, y);
  return status;
}

static luc_status gradient_that_was_written(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL, *g = NULL;
  luc_status status;
  LUC_GO(luc__tensor_empty_like(ctx, w, LUC_FLOAT64, &g));
  LUC_GO(luc_tensor_set_grad(ctx, w, g));
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(g), luc_v_tensor(y))));
done:
  LUC_RELEASE(ctx, y, g);
  return status;
}

static luc_status gradients_of_each_other(luc_context *ctx, luc_tensor *w) {
  luc_tensor *g = NULL;
  luc_status status;
  LUC_GO(luc__tensor_empty_like(ctx, w, LUC_FLOAT64, &g));
  LUC_GO(luc_tensor_set_grad(ctx, w, g));
  LUC_GO(luc_tensor_set_grad(ctx, g, w));
done:
  LUC_RELEASE(ctx, g);
  return status;
}

/* y += y * y: the product has saved y, which then comes of it. */
static luc_status write_of_what_it_is_saved_for(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL, *z = NULL;
  luc_status status;
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc__binary(ctx, LUC_OP_mul, y, y, &z));
  LUC_GO(luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(y), luc_v_tensor(z))));
done:
  LUC_RELEASE(ctx, y, z);
  return status;
}

/* The same through a view, which is differentiated once more after that. */
static luc_status write_through_a_view(luc_context *ctx, luc_tensor *w) {
  luc_tensor *y = NULL, *v = NULL, *z = NULL, *again = NULL;
  const int64_t minus = -1;
  luc_status status;
  LUC_GO(luc__binary(ctx, LUC_OP_mul, w, w, &y));
  LUC_GO(luc__op1(ctx, LUC_OP_view, &v, LUC_ARGS(luc_v_tensor(y), luc_v_ints(&minus, 1))));
  LUC_GO(luc__binary(ctx, LUC_OP_mul, v, v, &z));
  LUC_GO(luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(v), luc_v_tensor(z))));
  LUC_GO(luc__binary(ctx, LUC_OP_mul, v, v, &again));
done:
  LUC_RELEASE(ctx, y, v, z, again);
  return status;
}

static const struct {
  const char *name;
  cycle_fn make;
} cycles[] = {
    {"a gradient with its graph", gradient_with_graph},
    {"a result's gradient with its graph", gradient_of_a_result},
    {"a gradient that was given", gradient_that_was_given},
    {"a gradient that was written to", gradient_that_was_written},
    {"gradients of each other", gradients_of_each_other},
    {"a write of what was saved", write_of_what_it_is_saved_for},
    {"a write through a view", write_through_a_view},
};
enum { NUM_CYCLES = sizeof cycles / sizeof *cycles };

/* A leaf over a host's memory with a hook, in a cycle; *out: a reference to it, if wanted. */
static luc_status leaf_in_cycle(luc_context *ctx, cycle_fn make, luc_tensor **out) {
  static double values[2] = {3, 4};
  const int64_t size = 2;
  luc_tensor *w = NULL;
  uint64_t id;
  luc_status status;
  LUC_GO(luc__ops_init(ctx));
  LUC_GO(luc_tensor_wrap(ctx, LUC_FLOAT64, 1, &size, NULL, values, memory_released, NULL, &w));
  LUC_GO(luc_tensor_set_requires_grad(ctx, w, true));
  LUC_GO(luc_tensor_register_hook(ctx, w, no_hook, NULL, hook_freed, &id));
  LUC_GO(make(ctx, w));
  if (out) *out = luc__retain(w);
done:
  luc_tensor_release(ctx, w);
  return status;
}

static void begin(test_heap *heap, luc_context **ctx) {
  *heap = (test_heap){0};
  *ctx = test_context(heap);
  hooks_freed = released = 0;
}

TEST_ALONE("a context that closes frees them, the hooks and the memory of hosts") {
  for (int i = 0; i < NUM_CYCLES; i++) {
    test_heap heap;
    luc_context *c;
    begin(&heap, &c);
    CHECK_OK(leaf_in_cycle(c, cycles[i].make, NULL));
    CHECK_EQ(released, 0);
    luc_context_free(c);
    if (heap.blocks || hooks_freed != 1 || released != 1) fprintf(stderr, "%s\n", cycles[i].name);
    CHECK_EQ(heap.blocks, 0);
    CHECK_EQ(hooks_freed, 1);
    CHECK_EQ(released, 1);
  }
}

TEST_ALONE("they are collected while the context lives, all at once") {
  test_heap heap;
  luc_context *c;
  begin(&heap, &c);
  for (int i = 0; i < NUM_CYCLES; i++)
    for (int k = 0; k < 20; k++) CHECK_OK(leaf_in_cycle(c, cycles[i].make, NULL));
  CHECK_EQ(released, 0);
  luc__collect_cycles(c, true);
  CHECK_EQ(hooks_freed, 20 * NUM_CYCLES);
  CHECK_EQ(released, 20 * NUM_CYCLES);
  CHECK_EQ(c->num_watched, 0);
  luc__collect_cycles(c, true);
  luc_context_free(c);
  CHECK_EQ(heap.blocks, 0);
}

TEST_ALONE("what somebody refers to is not collected, nor what it leads to") {
  for (int i = 0; i < NUM_CYCLES; i++) {
    test_heap heap;
    luc_context *c;
    luc_tensor *w = NULL;
    begin(&heap, &c);
    CHECK_OK(leaf_in_cycle(c, cycles[i].make, &w));
    luc_tensor *grad = luc_tensor_grad(w);
    bool history = grad && grad->meta && grad->meta->node;
    luc__collect_cycles(c, true);
    CHECK_EQ(hooks_freed, 0);
    CHECK(luc_tensor_grad(w) == grad);
    CHECK(!history || grad->meta->node);
    luc_tensor_release(c, w);
    luc__collect_cycles(c, true);
    CHECK_EQ(hooks_freed, 1);
    CHECK_EQ(released, 1);
    luc_context_free(c);
    CHECK_EQ(heap.blocks, 0);
  }
}

TEST_ALONE("what is held is looked through again when twice as many nodes were made, or at once") {
  test_heap heap;
  luc_context *c;
  luc_tensor *w = NULL, *y;
  begin(&heap, &c);
  CHECK_OK(leaf_in_cycle(c, gradient_with_graph, &w));
  luc__collect_cycles(c, false);
  const uint64_t due = c->collect_from;
  CHECK(due > c->next_seq);
  CHECK_OK(leaf_in_cycle(c, gradient_with_graph, NULL));
  while (c->next_seq < due) {
    luc__collect_cycles(c, false);
    CHECK_EQ(released, 0);
    CHECK_OK(luc__binary(c, LUC_OP_mul, w, w, &y));
    luc_tensor_release(c, y);
  }
  luc__collect_cycles(c, false);
  CHECK_EQ(released, 1);
  luc_tensor_release(c, w);
  luc__collect_cycles(c, false);
  CHECK_EQ(released, 1);
  luc__collect_cycles(c, true);
  CHECK_EQ(released, 2);
  luc_context_free(c);
  CHECK_EQ(heap.blocks, 0);
}

TEST_ALONE("a gradient that is held alone keeps its graph, which can be differentiated") {
  test_heap heap;
  luc_context *c;
  luc_tensor *w = NULL, *s = NULL;
  begin(&heap, &c);
  CHECK_OK(leaf_in_cycle(c, gradient_with_graph, &w));
  luc_tensor *g = luc__retain(luc_tensor_grad(w));
  luc_tensor_release(c, w);
  luc__collect_cycles(c, true);
  CHECK_EQ(released, 0);
  CHECK_OK(luc__unary(c, LUC_OP_sum, g, &s));
  CHECK_OK(luc_tensor_backward(c, &s, 1, NULL, 0));
  CHECK_NEAR(((double *)luc_tensor_data(luc_tensor_grad(w)))[1], 8 + 2, 0);
  LUC_RELEASE(c, g, s);
  luc__collect_cycles(c, true);
  CHECK_EQ(released, 1);
  luc_context_free(c);
  CHECK_EQ(heap.blocks, 0);
}

static luc_status scenario(luc_context *c, void *arg) {
  cycle_fn make = ((const cycle_fn *)arg)[0];
  hooks_freed = released = 0;
  luc_status status = leaf_in_cycle(c, make, NULL);
  luc__collect_cycles(c, true); /* or not, where that is refused memory */
  return status;
}

TEST_ALONE("every refused allocation leaves nothing behind") {
  for (int i = 0; i < NUM_CYCLES; i++) {
    cycle_fn make = cycles[i].make;
    CHECK(test_sweep_after(luc__ops_init, scenario, &make, 1) > 5);
  }
}
