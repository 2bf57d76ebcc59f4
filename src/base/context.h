/* The context's insides: the one place where mutable state lives. Layers above keep their own state
 * in the slots at the end, by pointer, so that this header needs none of theirs. */
#ifndef LUC_CONTEXT_H
#define LUC_CONTEXT_H

#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"

enum { LUC_MESSAGE_MAX = 1024 };

/* What a layer above does with its state when the context closes. */
typedef void (*luc_close_fn)(luc_context *ctx);
enum { LUC_MAX_CLOSERS = 8 };

/* How tensors are printed (tensor/print.c). */
enum { LUC_PRINT_PRECISION = 40 }; /* the most digits */
typedef struct luc_print_options {
  int precision, edge, line_width;
  int sci_mode;     /* 0, 1; -1: as the values need */
  double threshold; /* more elements are summarized */
} luc_print_options;
#define LUC_PRINT_DEFAULTS                                                                         \
  { .precision = 4, .edge = 3, .line_width = 80, .sci_mode = -1, .threshold = 1000 }

struct luc_context {
  luc_heap *heap;
  luc_cache *cache;
  luc_pool *pool;
  luc_generator rng;     /* the default generator */
  uint8_t default_dtype; /* luc_dtype; float32 to begin with */
  bool grad_mode;        /* no_grad / enable_grad */
  bool inference_mode;
  bool inside_op;           /* an operator is running: what it calls is not recorded */
  int64_t first;            /* what positions that a row counts (LUC_F_COUNTED) begin with */
  struct luc_tensor **held; /* ops/scratch.c: what running operators made for themselves */
  int num_held, held_room;
  int64_t batched; /* vmap levels entered + batched tensors alive; 0: nothing to look for */
  struct luc_vmap_level *vmap; /* ops/vmap.h: the innermost level, or NULL */
  bool uninitialized; /* tensors without a shape have been made: operators look out for them */
  bool complex;       /* complex tensors have been made: most operators refuse them */
  luc_print_options print;
  bool direct_convolution; /* Winograd's filtering is off (cpu/winograd.h) */
  bool autocast;           /* ops/autocast.h: operators cast what they are given */
  bool autocast_cache;
  uint8_t autocast_dtype; /* luc_dtype */
  int autocast_depth;     /* how many regions are open */
  void *autocast_weights; /* casts of weights, until the outermost region ends */
  uint64_t next_seq;      /* numbers autograd nodes in order of creation */
  uint64_t next_id;       /* numbers hooks and handles */
  const void *kernels;    /* cpu/kernels.h: the table for this machine's instruction set */
  void *ops;              /* ops/op.h: parsed operator table */
  void *nn;               /* nn: parsed class table, global hooks */
  void *optim;            /* optim: parsed options of its kinds */
  void *fft;              /* cpu/fft.c: FFTW's functions, recent plans */
  void *lapack;           /* cpu/lapack_loop.c: OpenBLAS, once it has been needed */
  void *dead_nodes;       /* autograd: nodes waiting to be freed, so that freeing is iterative */
  void *dead_metas;       /* the same, of luc_meta */
  bool freeing_nodes, freeing_metas;
  struct luc_saved_hooks *saved_hooks; /* autograd/graph.h: who keeps saved tensors, or NULL */
  void *unpacked_nodes;                /* autograd: nodes that wait to be packed */
  struct luc_run *pass;                /* autograd/engine.c: the backward pass that runs, or NULL */
  struct luc_observer *observer;       /* ops/op.h: is told of every operator call, or NULL */
  luc_close_fn closers[LUC_MAX_CLOSERS];
  int num_closers;
  luc_status status;
  char message[LUC_MESSAGE_MAX];
  char *long_message; /* of an error of several lines; freed with the next message */
  size_t long_message_size;
  struct luc_tensor **watched; /* autograd/cycles.c: what may keep itself alive */
  size_t num_watched, watched_room;
  uint64_t collect_from;     /* next_seq from which on they are looked through again */
  luc_close_fn before_close; /* of autograd/cycles.c: runs before all closers */
};

/* Has fn called when the context is freed, last registered first; the same fn only once. */
luc_status luc__context_on_close(luc_context *ctx, luc_close_fn fn);

#if defined(__GNUC__)
#define LUC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define LUC_PRINTF(f, a)
#endif

/* Records a failure and returns its status, so that code can say `return luc__fail(...)`. */
luc_status luc__fail(luc_context *ctx, luc_status status, const char *fmt, ...) LUC_PRINTF(3, 4);
/* The same with a message of any length, which is copied (falls back to its beginning). */
luc_status luc__fail_long(luc_context *ctx, luc_status status, const char *text);

/* Misuse, always checked: LUC_CHECK(ctx, cond, LUC_ERR_VALUE, "linear: …", …). */
#define LUC_CHECK(ctx, cond, status, ...)                                                          \
  do {                                                                                             \
    if (!(cond)) return luc__fail((ctx), (status), __VA_ARGS__);                                   \
  } while (0)
/* What a host must give, each pointer by its name: LUC_NEED(ctx, m && name). */
#define LUC_NEED(ctx, given)                                                                       \
  LUC_CHECK(ctx, given, LUC_ERR_VALUE, "%s: needs %s (got NULL)", __func__, #given)
/* The same for the place of a result, which is NULL until there is one. */
#define LUC_PLACE(ctx, out)                                                                        \
  do {                                                                                             \
    LUC_NEED(ctx, out);                                                                            \
    *(out) = NULL;                                                                                 \
  } while (0)
/* Passes a failure on. */
#define LUC_TRY(expr)                                                                              \
  do {                                                                                             \
    luc_status try_status_ = (expr);                                                               \
    if (try_status_ != LUC_OK) return try_status_;                                                 \
  } while (0)
/* The same where something must be released: `done:` is the function's one exit label and
 * `status` its result. */
#define LUC_GO(expr)                                                                               \
  do {                                                                                             \
    status = (expr);                                                                               \
    if (status != LUC_OK) goto done;                                                               \
  } while (0)

/* Our own bugs, checked in test builds only. */
#ifdef LUCERNA_TEST_BUILD
void luc__assert_failed(const char *what, const char *file, int line);
#define LUC_ASSERT(cond) ((cond) ? (void)0 : luc__assert_failed(#cond, __FILE__, __LINE__))
#else
#define LUC_ASSERT(cond) ((void)0)
#endif

#endif
