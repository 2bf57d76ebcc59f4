/* Contexts, status codes, memory and threads: what every other part of the API stands on.
 * A context owns all mutable state (allocator, random numbers, pool, last error) and is used by one
 * thread at a time; there are no process globals.
 * A function borrows what it is given, and retains what it keeps. What it leaves in `out` or
 * `results` is a new reference, the caller's to release; what it returns, or is said to be
 * borrowed, lasts until the object that was asked for it changes or goes.
 * Misuse is an error: NULL, where it is not said to be fine, and dtypes, kinds, positions or counts
 * that there are not make a function that returns a status fail and leave NULL for its result; all
 * others answer 0, false or NULL. A host itself ensures what cannot be seen: that a context is one,
 * that objects meet only their own context and are gone before it, that strings end and arrays have
 * the length given. */
#ifndef LUCERNA_BASE_H
#define LUCERNA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LUC_VERSION_MAJOR 0
#define LUC_VERSION_MINOR 1
#define LUC_VERSION_PATCH 0
#define LUC_VERSION       "0.1.0"

typedef struct luc_context luc_context;

/* What a call came to. Anything but LUC_OK leaves a one-line message in the context. */
typedef enum luc_status {
  LUC_OK = 0,
  LUC_ERR_MEMORY,  /* the allocator refused, or the context's limit was reached */
  LUC_ERR_TYPE,    /* an argument of the wrong kind or dtype */
  LUC_ERR_VALUE,   /* a value outside what is allowed */
  LUC_ERR_SHAPE,   /* sizes that do not fit together */
  LUC_ERR_INDEX,   /* a position or dimension out of range */
  LUC_ERR_STATE,   /* the object cannot do this now (freed graph, changed saved tensor) */
  LUC_ERR_IO,      /* a file could not be read or written, or is not what it should be */
  LUC_ERR_SUPPORT, /* valid in PyTorch, not built here */
  LUC_ERR_CALLBACK /* a callback failed; the callback's owner keeps the error itself */
} luc_status;

/* Allocates (ptr NULL), frees (new_size 0) or resizes a block; returns NULL when it cannot. Called
 * by the thread that uses the context, and by one that gives back what was exported (dlpack.h). */
typedef void *(*luc_alloc_fn)(void *ud, void *ptr, size_t old_size, size_t new_size);

/* One piece of a parallel loop: handles indices [begin, end). */
typedef void (*luc_range_fn)(void *arg, int64_t begin, int64_t end);

/* A host's parallel loop: calls fn over all of [0, n) in pieces of `grain`, by as many threads at
 * once as it likes, and returns when all are done. */
typedef void (*luc_parallel_fn)(void *ud, int64_t n, int64_t grain, luc_range_fn fn, void *arg);

typedef struct luc_config {
  luc_alloc_fn alloc; /* NULL: the C library's */
  void *alloc_ud;
  size_t memory_limit;      /* bytes; 0: none */
  int num_threads;          /* 0: LUCERNA_NUM_THREADS, else the number of cores */
  luc_parallel_fn parallel; /* NULL: our own pool */
  void *parallel_ud;
} luc_config;

typedef struct luc_memory {
  size_t live;   /* bytes in use by objects */
  size_t cached; /* bytes kept for reuse */
  size_t peak;   /* highest value of live + cached */
  size_t limit;  /* 0: none */
} luc_memory;

/* Makes a context; cfg may be NULL for all defaults. On failure *out is NULL. */
luc_status luc_context_new(const luc_config *cfg, luc_context **out);
/* Frees the context and its caches. Objects made in it must be gone. */
void luc_context_free(luc_context *ctx);
/* The message of the last failure, one line (load_state_dict: several), until the next one; "" if
 * none. ctx may be NULL, where there is none. */
const char *luc_message(const luc_context *ctx);
/* For callbacks of the host's: makes `message` that of their failure and returns the status:
 * return luc_fail(ctx, LUC_ERR_VALUE, "no gradient"); */
luc_status luc_fail(luc_context *ctx, luc_status status, const char *message);
/* Bytes in use now, cached, at most so far, and allowed. */
luc_memory luc_memory_stats(const luc_context *ctx);
/* Sets the limit in bytes; 0 removes it. What is already in use stays. */
void luc_memory_set_limit(luc_context *ctx, size_t bytes);
/* Returns cached blocks to the allocator. */
void luc_memory_trim(luc_context *ctx);
/* Threads used by parallel loops, the caller included. */
int luc_get_num_threads(const luc_context *ctx);
/* Sets them; n < 1 is an error. Results never depend on it. */
luc_status luc_set_num_threads(luc_context *ctx, int n);
/* Are denormal numbers zeros to the calling thread, and to the workers of its loops? The thread's
 * own arithmetic follows, so it stays as it is unless asked; false where the machine cannot. */
bool luc_set_flush_denormal(bool enabled);
/* May 3 × 3 and 5 × 5 convolutions of float32, and those of three dimensions with such kernels in
 * the last two, go by Winograd's minimal filtering? It is on at first: several times faster, with
 * errors of about 1e-5 of the output's scale instead of 1e-6. */
bool luc_get_winograd(const luc_context *ctx);
void luc_set_winograd(luc_context *ctx, bool enabled);
/* Monotonic wall clock in seconds. */
double luc_clock(void);
/* Seeds the context's generator as torch.manual_seed does. */
void luc_manual_seed(luc_context *ctx, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
