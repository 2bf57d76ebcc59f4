/* The thread pool: lazily made workers that spin briefly after each loop, then sleep.
 * A loop is published by raising `epoch`; its pieces are claimed from the lanes' shares. A worker
 * is counted in `inside` while it may touch the loop's fields, and the caller leaves when none is.
 * Of the caller's (close, read inside) and a worker's (enter, read open) one always sees the
 * other, since all four are sequentially consistent: the fields never change under a worker. */
#define _GNU_SOURCE /* sched_getaffinity */

#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/float_mode.h"

enum { MAX_THREADS = 256, SPINS_PER_LOOK = 64, JOIN_SPINS = 4096 };

static const double SPIN_SECONDS = 200e-6;

/* One of the threads that work on a loop; the caller is the first. */
typedef struct pool_lane {
  _Alignas(64) atomic_int_fast64_t next; /* of its share of the loop */
  luc_pool *pool;
  pthread_t thread;
} pool_lane;

struct luc_pool {
  luc_parallel_fn parallel; /* the host's, or NULL */
  void *parallel_ud;
  int num_threads; /* wanted, the caller included */
  int workers;     /* running */
  bool failed;     /* a thread could not be made: work with those there are */
  pid_t owner;     /* the process that made the workers */
  atomic_bool busy;
  /* the loop */
  luc_range_fn fn;
  void *arg;
  int64_t n, grain, share; /* share: what each of so many lanes begins with, in whole pieces */
  int shares;
  luc_float_mode float_mode; /* the caller's */
  _Alignas(64) atomic_int inside;
  atomic_bool open;
  _Alignas(64) atomic_uint epoch;
  atomic_bool stop;
  /* sleeping */
  atomic_int sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  pool_lane lanes[MAX_THREADS];
};

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- workers ---- */

/* The pieces of this lane's share, then what is left of the others'. From one loop to the next a
 * thread has the same share, and finds in its cache what it left there. */
static void run_pieces(luc_pool *pool, int lane) {
  int64_t n = pool->n, grain = pool->grain, share = pool->share;
  for (int i = 0; i < pool->shares; i++) {
    int64_t at = (lane + i) % pool->shares, end = (at + 1) * share < n ? (at + 1) * share : n;
    atomic_int_fast64_t *next = &pool->lanes[at].next;
    for (;;) {
      int64_t begin = atomic_fetch_add_explicit(next, grain, memory_order_relaxed);
      if (begin >= end) break;
      pool->fn(pool->arg, begin, end - begin < grain ? end : begin + grain);
    }
  }
}

static bool nothing_new(luc_pool *pool, unsigned seen) {
  return atomic_load(&pool->epoch) == seen && !atomic_load(&pool->stop);
}

/* Waits for an epoch after `seen`: spinning for a while, then asleep. */
static void wait_for_work(luc_pool *pool, unsigned seen) {
  double until = luc_clock() + SPIN_SECONDS;
  while (luc_clock() < until) {
    for (int i = 0; i < SPINS_PER_LOOK; i++) {
      if (!nothing_new(pool, seen)) return;
      pause_briefly();
    }
  }
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->sleepers, 1);
  while (nothing_new(pool, seen)) pthread_cond_wait(&pool->wake, &pool->mutex);
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *arg) {
  pool_lane *lane = arg;
  luc_pool *pool = lane->pool;
  unsigned seen = atomic_load(&pool->epoch) - 1; /* look once at a loop already open */
  while (!atomic_load(&pool->stop)) {
    wait_for_work(pool, seen);
    seen = atomic_load(&pool->epoch);
    atomic_fetch_add(&pool->inside, 1);
    if (atomic_load(&pool->open)) {
      luc__set_float_mode(pool->float_mode);
      run_pieces(pool, (int)(lane - pool->lanes));
    }
    atomic_fetch_sub_explicit(&pool->inside, 1, memory_order_release);
  }
  return NULL;
}

/* After a fork the workers are the parent's, and glibc would wait for their copies: the child
 * works alone and leaves its lock and condition alone, unless it makes workers itself. */
static bool is_ours(const luc_pool *pool) {
  return pool->owner == getpid();
}

/* Begins anew, with nothing of the parent's. */
static void adopt(luc_pool *pool) {
  pthread_mutex_init(&pool->mutex, NULL); /* made before, so it is made again */
  pthread_cond_init(&pool->wake, NULL);
  atomic_store(&pool->sleepers, 0);
  atomic_store(&pool->inside, 0);
  pool->workers = 0;
  pool->owner = getpid();
}

/* What the host's threads take: all but what an instruction itself brings about, which would end
 * the process where it is blocked; the host's handler may mend it (map a page, do a system call).
 */
static sigset_t signals_of_others(void) {
  static const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&set, own[i]);
  return set;
}

/* Makes the workers still missing; signals stay with the host's threads. */
static void start_workers(luc_pool *pool) {
  if (!is_ours(pool)) adopt(pool);
  sigset_t others = signals_of_others(), before;
  pthread_sigmask(SIG_SETMASK, &others, &before);
  while (!pool->failed && pool->workers < pool->num_threads - 1) {
    pool_lane *lane = &pool->lanes[pool->workers + 1];
    lane->pool = pool;
    if (pthread_create(&lane->thread, NULL, worker_main, lane) == 0)
      pool->workers++;
    else
      pool->failed = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Wakes `wanted` of those asleep, or all. */
static void wake_sleepers(luc_pool *pool, int64_t wanted) {
  int asleep = atomic_load(&pool->sleepers);
  if (asleep == 0 || !is_ours(pool)) return;
  pthread_mutex_lock(&pool->mutex);
  if (wanted >= asleep) pthread_cond_broadcast(&pool->wake);
  for (int64_t i = 0; wanted < asleep && i < wanted; i++) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

static void stop_workers(luc_pool *pool) {
  atomic_store(&pool->stop, true);
  if (is_ours(pool)) {
    wake_sleepers(pool, MAX_THREADS);
    for (int i = 1; i <= pool->workers; i++) pthread_join(pool->lanes[i].thread, NULL);
  }
  pool->workers = 0;
  pool->failed = false;
  atomic_store(&pool->stop, false);
}

/* ---- the pool ---- */

static int cores(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)n;
}

static int default_threads(void) {
  const char *text = getenv("LUCERNA_NUM_THREADS");
  long n = text != NULL ? strtol(text, NULL, 10) : 0;
  if (n < 1) n = cores();
  return n > MAX_THREADS ? MAX_THREADS : (int)n;
}

luc_status luc__pool_new(luc_context *ctx, const luc_config *cfg, luc_pool **out) {
  luc_pool *pool = luc__alloc_zero(ctx, sizeof *pool);
  *out = NULL;
  if (pool == NULL) return LUC_ERR_MEMORY;
  pool->parallel = cfg->parallel;
  pool->parallel_ud = cfg->parallel_ud;
  pool->num_threads = cfg->num_threads > 0 ? cfg->num_threads : default_threads();
  if (pool->num_threads > MAX_THREADS) pool->num_threads = MAX_THREADS;
  pool->owner = getpid();
  if (pthread_mutex_init(&pool->mutex, NULL) != 0) goto no_mutex;
  if (pthread_cond_init(&pool->wake, NULL) != 0) goto no_condition;
  *out = pool;
  return LUC_OK;
no_condition:
  pthread_mutex_destroy(&pool->mutex);
no_mutex:
  luc__free(ctx, pool, sizeof *pool);
  return luc__fail(ctx, LUC_ERR_MEMORY, "threads: no room for a lock");
}

void luc__pool_free(luc_context *ctx, luc_pool *pool) {
  if (pool == NULL) return;
  stop_workers(pool);
  if (is_ours(pool)) {
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
  }
  ctx->pool = NULL;
  luc__free(ctx, pool, sizeof *pool);
}

bool luc__pool_busy(const luc_pool *pool) {
  return atomic_load_explicit(&pool->busy, memory_order_relaxed);
}

static void run_serially(int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  for (int64_t begin = 0; begin < n; begin += grain)
    fn(arg, begin, n - begin < grain ? n : begin + grain);
}

/* Waits for the workers still in the loop; yields after a while, for they may need our core. In a
 * forked child one of the parent's may seem to be, for ever. */
static void join_workers(luc_pool *pool) {
  int spins = 0;
  while (atomic_load(&pool->inside) != 0) {
    if (++spins < JOIN_SPINS)
      pause_briefly();
    else if (is_ours(pool))
      sched_yield();
    else
      atomic_store(&pool->inside, 0);
  }
}

static void run_on_pool(luc_pool *pool, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  pool->fn = fn;
  pool->arg = arg;
  pool->n = n;
  pool->grain = grain;
  int64_t pieces = (n - 1) / grain + 1, threads = pool->num_threads;
  pool->share = ((pieces - 1) / threads + 1) * grain;
  pool->shares = (int)((n - 1) / pool->share + 1);
  pool->float_mode = luc__float_mode();
  for (int i = 0; i < pool->shares; i++)
    atomic_store_explicit(&pool->lanes[i].next, i * pool->share, memory_order_relaxed);
  atomic_store(&pool->open, true);
  atomic_fetch_add(&pool->epoch, 1);
  wake_sleepers(pool, (n - 1) / grain); /* a piece each, one for the caller */
  run_pieces(pool, 0);
  atomic_store(&pool->open, false);
  join_workers(pool);
}

/* A loop for threads of the host's, which keep their own way to compute. */
typedef struct hosted {
  luc_range_fn fn;
  void *arg;
  luc_float_mode float_mode;
} hosted;

static void run_hosted(void *arg, int64_t begin, int64_t end) {
  const hosted *h = arg;
  const luc_float_mode own = luc__float_mode();
  luc__set_float_mode(h->float_mode);
  h->fn(h->arg, begin, end);
  luc__set_float_mode(own);
}

void luc__parallel_for(luc_context *ctx, int64_t n, int64_t grain, luc_range_fn fn, void *arg) {
  luc_pool *pool = ctx->pool;
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) {
    fn(arg, 0, n);
    return;
  }
  if (pool->num_threads == 1 || luc__pool_busy(pool)) {
    run_serially(n, grain, fn, arg);
    return;
  }
  atomic_store_explicit(&pool->busy, true, memory_order_relaxed);
  if (pool->parallel != NULL) {
    hosted h = {fn, arg, luc__float_mode()};
    pool->parallel(pool->parallel_ud, n, grain, run_hosted, &h);
  } else {
    if (pool->workers < pool->num_threads - 1 && !pool->failed) start_workers(pool);
    run_on_pool(pool, n, grain, fn, arg);
  }
  atomic_store_explicit(&pool->busy, false, memory_order_relaxed);
}

int luc_get_num_threads(const luc_context *ctx) {
  return ctx->pool->num_threads;
}

bool luc_set_flush_denormal(bool enabled) {
  const luc_float_mode flushes = LUC_FLOAT_FLUSHES, other = luc__float_mode() & ~flushes;
  luc__set_float_mode(enabled ? other | flushes : other);
  return flushes != 0;
}

luc_status luc_set_num_threads(luc_context *ctx, int n) {
  luc_pool *pool = ctx->pool;
  LUC_CHECK(ctx, n >= 1, LUC_ERR_VALUE, "set_num_threads: expected a positive number, got %d", n);
  LUC_CHECK(ctx, !luc__pool_busy(pool), LUC_ERR_STATE,
            "set_num_threads: called from inside a parallel loop");
  if (n > MAX_THREADS) n = MAX_THREADS;
  if (n - 1 < pool->workers) stop_workers(pool);
  pool->num_threads = n;
  pool->failed = false;
  return LUC_OK;
}
