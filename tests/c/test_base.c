/* The lowest layer: contexts and messages, memory, the pool, maps and random numbers.
 * Random values were recorded from PyTorch 1.13 after torch.manual_seed(0), in this order. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/map.h"
#include "base/roster.h"
#include "cpu/random.h"
#include "test.h"

/* ---- contexts ---- */

TEST("a message replaces the last one, and may quote it") {
  CHECK_STR(luc_message(ctx), "");
  CHECK_EQ(luc__fail(ctx, LUC_ERR_VALUE, "one: %d", 1), LUC_ERR_VALUE);
  luc__fail(ctx, LUC_ERR_SHAPE, "two after %s", luc_message(ctx));
  CHECK_STR(luc_message(ctx), "two after one: 1");
}

TEST("a message of many lines is kept whole") {
  size_t before = luc_memory_stats(ctx).live;
  char *text = malloc(5001);
  memset(text, 'x', 5000);
  text[5000] = '\0';
  luc__fail_long(ctx, LUC_ERR_STATE, text);
  CHECK_STR(luc_message(ctx), text);
  luc__fail_long(ctx, LUC_ERR_STATE, luc_message(ctx));
  CHECK_STR(luc_message(ctx), text);
  luc__fail(ctx, LUC_ERR_STATE, "short");
  CHECK_STR(luc_message(ctx), "short");
  CHECK_EQ(luc_memory_stats(ctx).live, before);
  free(text);
}

static int closed;
static void close_first(luc_context *ctx) {
  closed = closed * 10 + (ctx != NULL);
}
static void close_second(luc_context *ctx) {
  closed = closed * 10 + 1 + (ctx != NULL);
}

TEST_ALONE("closers run once each, the last registered first") {
  luc_context *ctx = test_open(1);
  closed = 0;
  CHECK_OK(luc__context_on_close(ctx, close_first));
  CHECK_OK(luc__context_on_close(ctx, close_second));
  CHECK_OK(luc__context_on_close(ctx, close_first));
  luc_context_free(ctx);
  CHECK_EQ(closed, 21);
}

/* ---- memory ---- */

/* A host that returns odd addresses, insists on being told sizes exactly, and can refuse. */
typedef struct host {
  size_t bytes, refuse_above;
} host;

static void *host_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  host *h = ud;
  if (new_size == 0) {
    unsigned char *raw = (unsigned char *)ptr - 24;
    size_t told;
    memcpy(&told, raw, sizeof told);
    CHECK_EQ(told, old_size);
    h->bytes -= old_size;
    free(raw);
    return NULL;
  }
  CHECK(ptr == NULL);
  if (h->refuse_above != 0 && h->bytes + new_size > h->refuse_above) return NULL;
  unsigned char *raw = malloc(new_size + 24);
  if (raw == NULL) return NULL;
  memcpy(raw, &new_size, sizeof new_size);
  h->bytes += new_size;
  return raw + 24; /* 8-aligned only */
}

static const size_t block_sizes[] = {0,    1,    63,   64,    65,     1000,   1024,   1025,
                                     1152, 1153, 4096, 70000, 524288, 524289, 5 << 20};
enum { NUM_SIZES = sizeof block_sizes / sizeof *block_sizes };

TEST_ALONE("blocks of any size are aligned over any allocator, and all is given back") {
  host h = {0};
  luc_config cfg = {.alloc = host_alloc, .alloc_ud = &h, .num_threads = 1};
  luc_context *ctx = NULL;
  CHECK_OK(luc_context_new(&cfg, &ctx));
  size_t before = luc_memory_stats(ctx).live;
  for (int round = 0; round < 3; round++) {
    char *blocks[NUM_SIZES];
    for (int i = 0; i < NUM_SIZES; i++) {
      blocks[i] = luc__alloc(ctx, block_sizes[i]);
      CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % 64 == 0);
      memset(blocks[i], i, block_sizes[i]);
    }
    luc_memory now = luc_memory_stats(ctx);
    CHECK_EQ(now.live + now.cached, h.bytes);
    for (int i = 0; i < NUM_SIZES; i++) {
      if (block_sizes[i] != 0) CHECK_EQ(blocks[i][block_sizes[i] - 1], i);
      luc__free(ctx, blocks[i], block_sizes[i]);
    }
  }
  luc_memory now = luc_memory_stats(ctx);
  CHECK_EQ(now.live, before);
  CHECK_EQ(now.live + now.cached, h.bytes);
  luc_memory_trim(ctx);
  CHECK_EQ(luc_memory_stats(ctx).cached, 0);
  CHECK_EQ(h.bytes, before);
  luc_context_free(ctx);
  CHECK_EQ(h.bytes, 0);
}

TEST("the limit refuses, after giving back what was cached") {
  size_t live = luc_memory_stats(ctx).live;
  luc_memory_set_limit(ctx, live + 100000);
  void *a = luc__alloc(ctx, 60000);
  CHECK(a != NULL);
  CHECK(luc__alloc(ctx, 60000) == NULL);
  CHECK_EQ(ctx->status, LUC_ERR_MEMORY);
  CHECK(strstr(luc_message(ctx), "out of memory: 60000 bytes") == luc_message(ctx));
  luc__free(ctx, a, 60000);
  void *b = luc__alloc(ctx, 80000); /* needs the room of the cached block */
  CHECK(b != NULL);
  luc_memory now = luc_memory_stats(ctx);
  CHECK_EQ(now.limit, live + 100000);
  CHECK(now.peak >= now.live && now.peak <= now.limit);
  luc__free(ctx, b, 80000);
  CHECK_EQ(luc_memory_stats(ctx).live, live);
}

TEST("impossible sizes are refused, not wrapped") {
  CHECK(luc__alloc(ctx, SIZE_MAX) == NULL);
  CHECK(luc__alloc(ctx, SIZE_MAX / 2 + 1) == NULL);
  CHECK(luc__mul_size(SIZE_MAX / 2, 3) == SIZE_MAX);
  CHECK_EQ(luc__mul_size(6, 7), 42);
}

TEST("realloc keeps the contents, growing and shrinking") {
  size_t before = luc_memory_stats(ctx).live, size = 0;
  unsigned char *p = NULL;
  for (size_t next = 1; next < 100000; next = next * 2 + 1) {
    p = luc__realloc(ctx, p, size, next);
    CHECK(p != NULL);
    for (size_t i = size; i < next; i++) p[i] = (unsigned char)(i * 7);
    size = next;
  }
  CHECK(luc__realloc(ctx, p, size, SIZE_MAX) == NULL);
  p = luc__realloc(ctx, p, size, 777);
  for (size_t i = 0; i < 777; i++) CHECK_EQ(p[i], (unsigned char)(i * 7));
  luc__free(ctx, p, 777);
  CHECK_EQ(luc_memory_stats(ctx).live, before);
}

TEST_ALONE("a heap outlives its context while something shared points to it") {
  luc_context *ctx = test_open(1);
  luc_heap *heap = luc__heap_retain(ctx);
  void *shared = luc__alloc(ctx, 5000);
  luc_context_free(ctx);
  luc__heap_free(heap, shared, 5000);
  luc__heap_release(heap);
}

static luc_status open_and_use(luc_context *ctx, void *arg) {
  (void)arg;
  luc_map map;
  luc__map_init(&map);
  luc_status status = LUC_OK;
  char key[16];
  for (int i = 0; i < 40 && status == LUC_OK; i++) {
    int length = snprintf(key, sizeof key, "key%d", i);
    status = luc__map_set(ctx, &map, key, (size_t)length, ctx, NULL);
    CHECK_EQ(map.count, i + (status == LUC_OK));
  }
  luc__map_free(ctx, &map);
  return status;
}

TEST("refused allocations leave contexts and maps whole") {
  CHECK(test_sweep(open_and_use, NULL, 1) > 40);
}

/* ---- the pool ---- */

typedef struct loop {
  luc_context *ctx;
  int64_t n, grain;
  unsigned char seen[10007];
  int64_t partial[10007];
  bool nested_wrong;
} loop;

static void mark(void *arg, int64_t begin, int64_t end) {
  loop *l = arg;
  if (begin % l->grain != 0 || end != (begin + l->grain < l->n ? begin + l->grain : l->n))
    l->nested_wrong = true;
  for (int64_t i = begin; i < end; i++) l->seen[i]++;
  l->partial[begin / l->grain] = end - begin;
}

static void check_loop(luc_context *ctx, loop *l, int64_t n, int64_t grain) {
  memset(l, 0, sizeof *l);
  l->ctx = ctx;
  l->n = n;
  l->grain = grain;
  luc__parallel_for(ctx, n, grain, mark, l);
  int64_t missed = 0, total = 0;
  for (int64_t i = 0; i < n; i++) missed += l->seen[i] != 1;
  for (int64_t i = 0; i < 10007; i++) total += l->partial[i];
  CHECK_EQ(missed, 0);
  CHECK_EQ(total, n);
  CHECK(!l->nested_wrong);
}

static const int64_t loops[][2] = {{0, 1},   {1, 1},     {7, 3},     {64, 64},
                                   {65, 64}, {10007, 1}, {10007, 13}};

TEST_ALONE("every index runs once, in the same pieces for any number of threads") {
  static loop l;
  for (int threads = 1; threads <= 5; threads += 2) {
    luc_context *ctx = test_open(threads);
    for (int round = 0; round < 50; round++)
      for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        check_loop(ctx, &l, loops[i][0], loops[i][1]);
    CHECK_EQ(luc_get_num_threads(ctx), threads);
    luc_context_free(ctx);
  }
}

static void nest(void *arg, int64_t begin, int64_t end) {
  loop *outer = arg;
  for (int64_t i = begin; i < end; i++) {
    loop *inner = calloc(1, sizeof *inner);
    inner->n = 100;
    inner->grain = 9;
    luc__parallel_for(outer->ctx, 100, 9, mark, inner);
    for (int j = 0; j < 100; j++)
      if (inner->seen[j] != 1) outer->nested_wrong = true;
    outer->seen[i]++;
    free(inner);
  }
}

TEST_ALONE("a loop inside a loop runs serially") {
  static loop l;
  luc_context *ctx = test_open(3);
  memset(&l, 0, sizeof l);
  l.ctx = ctx;
  luc__parallel_for(ctx, 40, 1, nest, &l);
  for (int i = 0; i < 40; i++) CHECK_EQ(l.seen[i], 1);
  CHECK(!l.nested_wrong);
  luc_context_free(ctx);
}

TEST_ALONE("the number of threads changes while workers sleep or spin") {
  static loop l;
  luc_context *ctx = test_open(2);
  static const int counts[] = {4, 1, 2, 3, 1, 5};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    CHECK_OK(luc_set_num_threads(ctx, counts[i]));
    check_loop(ctx, &l, 1000, 10);
    struct timespec nap = {0, 2000000};
    nanosleep(&nap, NULL);
    check_loop(ctx, &l, 1000, 7);
  }
  CHECK_EQ(luc_set_num_threads(ctx, 0), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "set_num_threads: expected a positive number, got 0");
  CHECK_EQ(luc_get_num_threads(ctx), 5);
  luc_context_free(ctx);
}

static void host_loop(void *ud, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  ++*(int *)ud;
  for (int64_t begin = (n - 1) / grain * grain; begin >= 0; begin -= grain)
    fn(arg, begin, n - begin < grain ? n : begin + grain);
}

TEST_ALONE("a host can supply its own parallel loop") {
  static loop l;
  int calls = 0;
  luc_config cfg = {.num_threads = 4, .parallel = host_loop, .parallel_ud = &calls};
  luc_context *ctx = NULL;
  CHECK_OK(luc_context_new(&cfg, &ctx));
  check_loop(ctx, &l, 1000, 10);
  CHECK_EQ(calls, 1);
  luc_context_free(ctx);
}

static void halve(void *arg, int64_t begin, int64_t end) {
  float *x = arg;
  for (int64_t i = begin; i < end; i++) x[i] *= 0.5f;
}

/* The loop of a host whose threads keep denormals. */
static void keeping_loop(void *ud, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  volatile float small = 1e-39f;
  luc_set_flush_denormal(false);
  host_loop(ud, n, grain, fn, arg);
  CHECK(small * 0.5f > 0);
  luc_set_flush_denormal(true);
}

TEST_ALONE("a host's threads take denormals as the caller does, for its loop") {
  float x[100];
  int calls = 0;
  luc_config cfg = {.num_threads = 4, .parallel = keeping_loop, .parallel_ud = &calls};
  luc_context *ctx = NULL;
  CHECK_OK(luc_context_new(&cfg, &ctx));
  for (int i = 0; i < 100; i++) x[i] = 1e-39f;
  const bool can = luc_set_flush_denormal(true);
  luc__parallel_for(ctx, 100, 10, halve, x);
  luc_set_flush_denormal(false);
  CHECK_EQ(calls, 1);
  for (int i = 0; can && i < 100; i++) CHECK(x[i] == 0);
  luc_context_free(ctx);
}

TEST_ALONE("a forked child works alone and closes its copy") {
  static loop l;
  luc_context *ctx = test_open(3);
  check_loop(ctx, &l, 1000, 10); /* workers exist, some asleep, some spinning */
  pid_t child = fork();
  if (child == 0) {
    test_failures = 0;
    check_loop(ctx, &l, 1000, 10);
    luc_context_free(ctx);
    _exit(test_failures != 0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(status, 0);
  luc_context_free(ctx);
}

/* Threads of this process. */
static int count_threads(void) {
  int n = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 1;
  for (const struct dirent *d; (d = readdir(tasks)) != NULL;) n += d->d_name[0] != '.';
  closedir(tasks);
  return n;
}

TEST_ALONE("a child forked before the first loop has workers of its own and ends them") {
  static loop l;
  luc_context *ctx = test_open(3);
  pid_t child = fork();
  if (child == 0) {
    test_failures = 0;
    check_loop(ctx, &l, 1000, 10);
    struct timespec nap = {0, 2000000};
    nanosleep(&nap, NULL); /* they are asleep */
    check_loop(ctx, &l, 1000, 10);
    luc_context_free(ctx);
    CHECK_EQ(count_threads(), 1);
    _exit(test_failures != 0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(status, 0);
  luc_context_free(ctx);
}

static char *pages;
static long page_size;
static atomic_int pages_mended, threads_begun;

static void mend_page(int signal, siginfo_t *info, void *machine) {
  (void)signal, (void)machine;
  const intptr_t at = (char *)info->si_addr - pages;
  if (at < 0 || at >= 2 * page_size) _exit(1);
  mprotect(pages + at / page_size * page_size, (size_t)page_size, PROT_READ | PROT_WRITE);
  atomic_fetch_add(&pages_mended, 1);
}

static void write_page(void *arg, int64_t begin, int64_t end) {
  (void)arg, (void)end;
  atomic_fetch_add(&threads_begun, 1);
  while (atomic_load(&threads_begun) < 2) sched_yield(); /* one page each */
  pages[begin * page_size] = 7;
}

/* A child, which a signal that is blocked would end. */
TEST_ALONE("a host's handler mends what workers cannot reach") {
  pid_t child = fork();
  if (child == 0) {
    luc_context *ctx = test_open(2);
    struct sigaction mend = {.sa_sigaction = mend_page, .sa_flags = SA_SIGINFO};
    page_size = sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 2 * (size_t)page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &mend, NULL);
    luc__parallel_for(ctx, 2, 1, write_page, NULL);
    _exit(pages_mended != 2 || pages[0] != 7 || pages[page_size] != 7);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(status, 0);
}

/* ---- maps ---- */

TEST("a map keeps insertion order through replacing and deleting") {
  luc_map map;
  luc__map_init(&map);
  CHECK(luc__map_find(&map, "a", 1) == NULL);
  int values[1000];
  char key[16];
  for (int i = 0; i < 1000; i++)
    CHECK_OK(luc__map_set(ctx, &map, key, (size_t)sprintf(key, "k%d", i), &values[i], NULL));
  void *old = NULL;
  CHECK_OK(luc__map_set(ctx, &map, "k5", 2, NULL, &old));
  CHECK(old == &values[5]);
  for (int i = 0; i < 1000; i += 2)
    CHECK(luc__map_remove(ctx, &map, key, (size_t)sprintf(key, "k%d", i), &old) &&
          old == &values[i]);
  CHECK(!luc__map_remove(ctx, &map, "k0", 2, &old));
  CHECK_OK(luc__map_set(ctx, &map, "k0", 2, &values[0], NULL));
  CHECK_EQ(map.count, 501);
  uint32_t position = 0;
  for (int i = 1; i < 1000; i += 2) {
    luc_map_entry *e = luc__map_next(&map, &position);
    sprintf(key, "k%d", i);
    CHECK_STR(e->key, key);
    CHECK(e->value == (i == 5 ? NULL : &values[i]));
    CHECK(luc__map_find(&map, key, strlen(key)) == e);
  }
  CHECK_STR(luc__map_next(&map, &position)->key, "k0");
  CHECK(luc__map_next(&map, &position) == NULL);
  luc__map_free(ctx, &map);
}

TEST("a map finds what is left when names that meet in one place go") {
  luc_map map;
  luc__map_init(&map);
  char key[16];
  for (int i = 0; i < 200; i++)
    CHECK_OK(luc__map_set(ctx, &map, key, (size_t)sprintf(key, "k%d", i), NULL, NULL));
  uint32_t used = map.used;
  for (int i = 0; i < 5000; i++) {
    size_t length = (size_t)sprintf(key, "k%d", 199);
    CHECK(luc__map_remove(ctx, &map, key, length, NULL));
    CHECK_OK(luc__map_set(ctx, &map, key, length, NULL, NULL));
    CHECK_EQ(map.used, used); /* the last one leaves no hole */
  }
  for (int i = 0; i < 200; i += 1 + i % 3) {
    size_t length = (size_t)sprintf(key, "k%d", i);
    CHECK(luc__map_remove(ctx, &map, key, length, NULL));
    CHECK(luc__map_find(&map, key, length) == NULL);
    for (int k = i + 1; k < 200; k++)
      CHECK(luc__map_find(&map, key, (size_t)sprintf(key, "k%d", k)) != NULL);
  }
  CHECK_STR(luc__map_at(&map, map.count - 1)->key, map.entries[map.used - 1].key);
  luc__map_free(ctx, &map);
}

TEST("a map that is filled and emptied for ever stays small") {
  luc_map map;
  luc__map_init(&map);
  char key[16];
  for (int i = 0; i < 10000; i++) {
    size_t length = (size_t)sprintf(key, "%d", i);
    CHECK_OK(luc__map_set(ctx, &map, key, length, NULL, NULL));
    CHECK(luc__map_find(&map, key, length) != NULL);
    CHECK(luc__map_remove(ctx, &map, key, length, NULL));
  }
  CHECK(map.capacity <= 8);
  luc__map_free(ctx, &map);
}

/* ---- rosters ---- */

enum { MIDDLE = 1000, NUMBERS = 2 * MIDDLE };

/* The roster holds the items that are there, by number, and walks them in order. */
static void check_roster(const luc_roster *r, char *const *there) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < NUMBERS; i++) {
    CHECK(luc__roster_find(r, i) == there[i]);
    if (there[i] != NULL) CHECK(luc__roster_next(r, &at) == there[i] && at == i);
  }
  CHECK(luc__roster_next(r, &at) == NULL);
}

TEST("a roster keeps its order through additions at both ends and removals") {
  luc_roster *r = NULL;
  char items[NUMBERS], *there[NUMBERS] = {0};
  uint64_t low = MIDDLE, high = MIDDLE;
  luc_manual_seed(ctx, 0);
  for (int i = 0; i < 1400; i++) {
    uint64_t number = i % 3 == 0 ? --low : ++high;
    CHECK_OK(luc__roster_add(ctx, &r, number, there[number] = &items[number]));
    uint64_t leaves = luc__random_u32(&ctx->rng) % NUMBERS;
    CHECK(luc__roster_take(r, leaves) == there[leaves]);
    there[leaves] = NULL;
    if (i % 50 == 0) check_roster(r, there);
  }
  luc_roster *copy = luc__roster_copy(ctx, r);
  for (uint64_t at = 0; luc__roster_next(r, &at) != NULL;) CHECK(luc__roster_take(r, at) != NULL);
  CHECK(r->count == 0 && luc__roster_take(r, low) == NULL);
  check_roster(copy, there);
  luc__roster_free(ctx, r);
  luc__roster_free(ctx, copy);
}

TEST("a roster that is filled and emptied for ever stays small") {
  luc_roster *r = NULL;
  char item;
  for (uint64_t i = 1; i < 10000; i++) {
    CHECK_OK(luc__roster_add(ctx, &r, i, &item));
    if (i > 2) CHECK(luc__roster_take(r, i - 2) == &item);
  }
  CHECK(r->capacity <= 16);
  luc__roster_free(ctx, r);
}

/* ---- random numbers ---- */

static void near_all(const double *got, const double *want, int n) {
  for (int i = 0; i < n; i++) CHECK_NEAR(got[i], want[i], 1e-14);
}

static void normals(luc_context *ctx, double *out, int64_t n) {
  const luc_draw draw = {.kind = LUC_NORMAL, .b = 1, .target = LUC_FLOAT64, .blocks = true};
  luc__random_fill(ctx, &ctx->rng, &draw, out, n);
}

TEST("the generator gives PyTorch's numbers") {
  luc_generator *gen = &ctx->rng;
  const luc_draw coin = {.kind = LUC_BERNOULLI, .a = 0.5, .target = LUC_FLOAT32};
  double d[20];
  int64_t ints[5];
  float coins[8];
  luc_manual_seed(ctx, 0);
  for (int i = 0; i < 2; i++) /* of the lower 24 bits */
    CHECK_NEAR((luc__random_u32(gen) & 0xffffffu) * 0x1p-24, i ? 0.76822179556 : 0.49625658989,
               1e-10);
  luc_manual_seed(ctx, 0);
  normals(ctx, d, 3);
  near_all(d, (double[]){1.54099610824404332, -0.29342890576094638, -2.17878938207455741}, 3);
  luc_manual_seed(ctx, 0);
  normals(ctx, d, 20);
  near_all(d, (double[]){-2.31041180023417603, -0.37325086125776430}, 2);
  near_all(d + 18, (double[]){0.15429517864658948, -0.74989152283919414}, 2);
  luc_manual_seed(ctx, 0);
  luc__fill_randperm(gen, ints, 5, 0);
  for (int i = 0; i < 5; i++) CHECK_EQ(ints[i], ((int[]){4, 0, 1, 3, 2})[i]);
  luc_manual_seed(ctx, 0);
  luc__random_fill(ctx, gen, &coin, coins, 8);
  for (int i = 0; i < 8; i++) CHECK_NEAR(coins[i], ((int[]){0, 0, 1, 0, 0, 0, 1, 1})[i], 0);
  luc_manual_seed(ctx, 0);
  CHECK_EQ(luc__poisson(gen, 3), 6);
  CHECK_EQ(luc__poisson(gen, 50), 47);
}

TEST("a saved state continues where it was") {
  static uint8_t bytes[LUC_RNG_STATE_BYTES];
  double first[3], again[3];
  luc_manual_seed(ctx, 7);
  normals(ctx, first, 3); /* leaves a cached value */
  luc__generator_save(&ctx->rng, bytes);
  normals(ctx, first, 3);
  luc_manual_seed(ctx, 8);
  CHECK(luc__generator_load(&ctx->rng, bytes));
  normals(ctx, again, 3);
  CHECK(memcmp(first, again, sizeof first) == 0);
  memset(bytes, 0xff, sizeof bytes);
  CHECK(!luc__generator_load(&ctx->rng, bytes));
}

/* ---- names that want to meet ---- */

enum { BLOCK = 3, LEVELS = 16, KEY = BLOCK * LEVELS };

static uint32_t fnv(uint32_t h, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * 16777619u;
  return h;
}

/* Two blocks after either of which an FNV-1a hash that began with h ends in the same 17 bits. */
static uint32_t find_pair(uint32_t h, char pair[2][BLOCK]) {
  static char seen[1 << 17][BLOCK];
  memset(seen, 0, sizeof seen);
  for (uint32_t i = 0;; i++) {
    char block[BLOCK] = {(char)('0' + i % 64), (char)('0' + i / 64 % 64), (char)('0' + i / 4096)};
    uint32_t slot = fnv(h, block, BLOCK) & 0x1ffff;
    if (seen[slot][0]) {
      memcpy(pair[0], seen[slot], BLOCK);
      memcpy(pair[1], block, BLOCK);
      return slot;
    }
    memcpy(seen[slot], block, BLOCK);
  }
}

TEST("names chosen to have one hash do not slow a map down") {
  luc_map map;
  char pairs[LEVELS][2][BLOCK], key[KEY];
  uint32_t h = 2166136261u;
  luc__map_init(&map);
  for (int level = 0; level < LEVELS; level++) h = find_pair(h, pairs[level]);
  clock_t begin = clock();
  for (uint32_t i = 0; i < 1u << LEVELS; i++) {
    for (int level = 0; level < LEVELS; level++)
      memcpy(key + level * BLOCK, pairs[level][i >> level & 1], BLOCK);
    CHECK_OK(luc__map_set(ctx, &map, key, KEY, NULL, NULL));
  }
  CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 1);
  CHECK_EQ(map.count, 1 << LEVELS);
  luc__map_free(ctx, &map);
}
