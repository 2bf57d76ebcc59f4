/* Warm nets ask nothing of the host's allocator: after the first steps the cache serves forward and
 * training steps of C modules, small and large. */
#include "nets.h"

/* Allocations of `steps` steps after some that warm the cache. */
static long allocations(void (*make)(net *), void (*run)(net *), int steps) {
  test_heap heap = {0};
  net n = {.ctx = test_context(&heap)};
  make(&n);
  for (int i = 0; i < 4; i++) run(&n);
  long before = heap.count;
  for (int i = 0; i < steps; i++) run(&n);
  long asked = heap.count - before;
  free_net(&n);
  luc_context_free(n.ctx);
  CHECK_EQ(heap.blocks, 0);
  return asked;
}

#ifdef __SANITIZE_ADDRESS__ /* every block comes from the allocator then: there is no cache */
#define ASKED_AT_MOST 1000000
#else
#define ASKED_AT_MOST 0
#endif

TEST("a warm forward asks for no memory") {
  CHECK(allocations(make_mlp, forward, 50) <= ASKED_AT_MOST);
  CHECK(allocations(make_convolutions, forward, 5) <= ASKED_AT_MOST);
}

TEST("a warm training step asks for no memory") {
  CHECK(allocations(make_mlp, train, 50) <= ASKED_AT_MOST);
  CHECK(allocations(make_convolutions, train, 5) <= ASKED_AT_MOST);
}
