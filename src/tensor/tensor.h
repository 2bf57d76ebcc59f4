/* The tensor's insides. One block holds the tensor, its sizes and strides, a storage header and up
 * to 64 bytes of data, so that a small result is one allocation. The block is freed when neither
 * the tensor nor its embedded storage is in use. Tensors belong to one context; storages may be
 * shared between contexts (atomic counts). */
#ifndef LUC_TENSOR_H
#define LUC_TENSOR_H

#include <stdatomic.h>
#include <string.h>

#include "base/context.h"
#include "tensor/dtype.h"

enum { LUC_INLINE_BYTES = 64 };

/* Where a storage's bytes are. */
enum { LUC_DATA_INLINE, LUC_DATA_HEAP, LUC_DATA_HOST, LUC_DATA_ROWS };

/* Of a table that was made of a few rows: which they are, in order. All others are zero as long as
 * the storage is of this version. */
typedef struct luc_rows {
  uint32_t version;
  bool exposed; /* others may have written without a new version */
  int64_t width, n, at[];
} luc_rows;

typedef struct luc_storage {
  atomic_int refs;
  atomic_int holds; /* of the tensor it is part of: 1 while that lives, 1 while this is in use */
  uint32_t version; /* bumped by every in-place write; views share it */
  uint8_t kind;     /* LUC_DATA_* */
  luc_heap *heap;   /* owner of data and of the block, so that any context can free them */
  char *data;
  size_t nbytes;
  luc_release_fn release; /* for the host's memory; may be NULL */
  void *release_ud;       /* of LUC_DATA_ROWS: the luc_rows */
} luc_storage;

/* What autograd keeps of a tensor; made when first needed (autograd/graph.h knows the insides). */
typedef struct luc_meta luc_meta;

enum {
  LUC_TF_PARAMETER = 1, /* nn.Parameter */
  LUC_TF_BUFFER = 2,    /* nn.Buffer, not yet registered */
  LUC_TF_NONPERSISTENT = 4,
  LUC_TF_UNTRACKED = 8,      /* made by x.data: writes do not bump the version */
  LUC_TF_HAS_PEER = 16,      /* the binding's weak table holds a userdata for it */
  LUC_TF_INFERENCE = 32,     /* made in inference mode */
  LUC_TF_ALIAS = 64,         /* result of a function that gave its input back: no in-place writes */
  LUC_TF_UNINITIALIZED = 128 /* has a dtype, but no shape yet */
};

/* In the order of use, for the cache: all that a tensor's end reads is in its first 64 bytes, and
 * what is beyond the second dimension apart. */
struct luc_tensor {
  int32_t refs;
  uint8_t dtype; /* luc_dtype */
  uint8_t ndim;
  bool requires_grad : 1;   /* leaf that collects a gradient, or result of recorded operators */
  bool from_one : 1;        /* holds positions that count from 1: see luc__index_as_given */
  uint8_t flags;            /* LUC_TF_* */
  luc_meta *meta;           /* NULL for most tensors */
  struct luc_tensor *inner; /* of a batched tensor (see luc__tensor_batched); else NULL */
  luc_storage *storage;
  luc_storage own; /* in use by a tensor that is no view, and by the views of it */
  char *data;      /* storage->data + offset in bytes */
  int64_t offset;  /* in elements */
  int64_t numel;
  int64_t sizes[LUC_MAX_DIMS];
  int64_t strides[LUC_MAX_DIMS]; /* in elements; may be 0, or negative inside operators (flip) */
  _Alignas(64) char inl[LUC_INLINE_BYTES]; /* data; of a batched tensor, its level */
};

/* Is it a dtype, are these n tensors? Whatever a host passes. `what` calls one of them "input". */
luc_status luc__dtype_check(luc_context *ctx, luc_dtype dtype);
luc_status luc__tensors_check(luc_context *ctx, const char *who, const char *what,
                              luc_tensor *const *list, int n);
/* A new tensor shaped like `sizes`, contiguous, contents undefined. Checked arithmetic. */
luc_status luc__tensor_empty(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                             luc_tensor **out);
luc_status luc__tensor_empty_like(luc_context *ctx, const luc_tensor *t, luc_dtype dtype,
                                  luc_tensor **out); /* contiguous */
/* A [rows, width] table of zeros but for n rows: those at at[], ascending, which are filled with
 * values [n, width]. It knows them until it is written to. */
luc_status luc__tensor_of_rows(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t width,
                               const int64_t *at, int64_t n, const void *values, luc_tensor **out);
/* Which rows of t, as such a table, may be other than zero; NULL: unknown. */
const luc_rows *luc__rows_of(const luc_tensor *t);
/* t's rows are written to, and no others: they stay known. */
void luc__keep_rows(luc_tensor *t);
/* t, whose rows are known, is about to get others as well; counts as writing to it. */
luc_status luc__tensor_join_rows(luc_context *ctx, luc_tensor *t, const luc_rows *others);
/* Who hands out t's memory, to be written to in ways that the version does not tell, calls this. */
void luc__expose(luc_tensor *t);
/* luc_tensor_wrap, but a failure leaves the memory with the caller. */
luc_status luc__tensor_over(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                            const int64_t *strides, void *data, luc_release_fn release, void *ud,
                            luc_tensor **out);
/* A view of t's storage. offset in elements of the storage. */
luc_status luc__tensor_view(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                            const int64_t *strides, int64_t offset, luc_tensor **out);
/* The same as elements of another dtype, in which strides and offset count. */
luc_status luc__tensor_view_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype, int ndim,
                               const int64_t *sizes, const int64_t *strides, int64_t offset,
                               luc_tensor **out);
/* A view with t's own geometry, detached from autograd; of a batched tensor a batched one. */
luc_status luc__tensor_alias(luc_context *ctx, luc_tensor *t, luc_tensor **out);
/* inner, whose dimension 0 is that of a vmap level, as one sample sees it: with the shape of the
 * rest. Only the door (ops/vmap.c) computes with it, on inner; its own data are the first sample's,
 * and what is not the door refuses it. */
luc_status luc__tensor_batched(luc_context *ctx, luc_tensor *inner, uint64_t level,
                               luc_tensor **out);
/* dst, which is batched, becomes what src is: a view of the same storage at the same level. */
void luc__tensor_become_batched(luc_context *ctx, luc_tensor *dst, const luc_tensor *src);
static inline uint64_t luc__batch_level(const luc_tensor *t) {
  uint64_t level;
  memcpy(&level, t->inl, sizeof level); /* a view has no data of its own there */
  return level;
}
/* The tensor with the samples of all levels. */
static inline luc_tensor *luc__all_samples(luc_tensor *t) {
  while (t->inner) t = t->inner;
  return t;
}
/* Fails if t is batched: for what reads or writes data past the door. */
luc_status luc__refuse_batched(luc_context *ctx, const char *who, const luc_tensor *t);
/* A 0-d tensor holding s. */
luc_status luc__tensor_scalar(luc_context *ctx, luc_scalar s, luc_dtype dtype, luc_tensor **out);
/* dst, which shares src's storage, gets its shape, strides and offset. */
void luc__tensor_set_geometry(luc_tensor *dst, const luc_tensor *src);
/* Makes dst see src's storage and geometry in place of its own (x.data = y, module conversion). */
luc_status luc__tensor_set_data(luc_context *ctx, luc_tensor *dst, luc_tensor *src);
/* Gives t, in its place, these sizes without gaps; elements beyond its storage are undefined, and
 * in a new one that its views do not see. */
luc_status luc__tensor_resize(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes);
/* A view that sees other memory is none any more; defined in autograd/. */
void luc__tensor_leave_base(luc_context *ctx, luc_tensor *t);
/* dst, which is uninitialized, becomes a tensor that sees src's storage. Cannot fail. */
void luc__tensor_initialize(luc_context *ctx, luc_tensor *dst, luc_tensor *src);
/* The error of who tried to use an uninitialized tensor, or to ask for its shape. */
luc_status luc__fail_uninitialized(luc_context *ctx, const char *who, const luc_tensor *t);
luc_status luc__uninitialized_text(luc_context *ctx, const luc_tensor *t, char **out, size_t *size);
luc_status luc__fail_shapeless(luc_context *ctx, const char *who);
/* Storages are counted apart from tensors; the last release frees the bytes. ctx may be NULL, on
 * any thread: then they do not go to its cache. */
luc_storage *luc__storage_retain(luc_storage *s);
void luc__storage_release(luc_context *ctx, luc_storage *s);
/* Autograd's destructor for meta, defined in autograd/. */
void luc__meta_free(luc_context *ctx, luc_meta *meta);

bool luc__is_contiguous(const luc_tensor *t);
bool luc__same_sizes(const luc_tensor *a, const luc_tensor *b);
/* t without what repeats its elements: a view that broadcasts to it. */
luc_tensor luc__without_repeats(const luc_tensor *t);
/* Lays the memory of a fresh tensor out in the order of dimensions that n others have (any may be
 * NULL; they broadcast to it), as PyTorch does with results; the first of them that tells decides.
 */
void luc__take_order(luc_tensor *fresh, int n, const luc_tensor *const *like);
/* Do two tensors' bytes overlap / does a tensor overlap itself (expanded)? */
bool luc__may_overlap(const luc_tensor *a, const luc_tensor *b);
bool luc__overlaps_itself(const luc_tensor *t);
/* Do they overlap, both without gaps, and not as the same elements? */
bool luc__overlaps_partly(const luc_tensor *a, const luc_tensor *b);
/* What writes say then; the name of the function goes before. */
#define LUC_OVERLAP_ITSELF                                                                         \
  "unsupported operation: more than one element of the written-to tensor refers to a single "      \
  "memory location. Please clone() the tensor before performing the operation."
#define LUC_OVERLAP_INPUT                                                                          \
  "unsupported operation: some elements of the input tensor and the written-to tensor refer to a " \
  "single memory location. Please clone() the tensor before performing the operation."
/* How many elements a shape has: of sizes that are known to fit. With the sizes before or behind a
 * dimension, how many lines along it there are. */
static inline int64_t luc__product(int n, const int64_t *sizes) {
  int64_t product = 1;
  for (int d = 0; d < n; d++) product *= sizes[d];
  return product;
}
/* Row-major strides; returns numel, or -1 on overflow or a negative size. */
int64_t luc__contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides);

/* Broadcasting: result sizes of a and b; the failure is PyTorch's "The size of tensor a (2) must
 * match the size of tensor b (3) at non-singleton dimension 0", where the dimension counts from 1,
 * as every position a user reads. */
luc_status luc__broadcast(luc_context *ctx, const luc_tensor *a, const luc_tensor *b, int *ndim,
                          int64_t *sizes);

/* What the binding passes for a user's 0, which counting from 1 does not have: out of every range,
 * and the checks below print it as 0. */
#define LUC_POSITION_ZERO INT64_MIN

/* Normalises a dimension counted from 0 or from the end. ndim 0 counts as 1, as in PyTorch. The
 * message counts from 1: "dim 3 is out of range [-2, 2] (dims count from 1)". */
luc_status luc__dim_wrap(luc_context *ctx, int64_t dim, int ndim, int *out);
/* The same for a position along a dimension of the given size: "index 5 is out of range [1, 3]
 * (indices count from 1)". */
luc_status luc__index_wrap(luc_context *ctx, int64_t index, int64_t size, int64_t *out);
/* Text of a shape for messages: "[2, 3]". Returns buf. */
enum { LUC_SHAPE_TEXT = 24 * LUC_MAX_DIMS };
const char *luc__shape_text(char *buf, int ndim, const int64_t *sizes);
const char *luc__tensor_shape_text(char *buf, const luc_tensor *t);

/* Text as PyTorch prints it; suffix (may be NULL) is "requires_grad=True" or "grad_fn=<X>". */
luc_status luc__tensor_text(luc_context *ctx, const luc_tensor *t, const char *suffix, char **out,
                            size_t *size);

static inline luc_tensor *luc__retain(luc_tensor *t) {
  t->refs++;
  return t;
}
/* LUC_RELEASE(ctx, a, b, …): one after the other; any may be NULL. */
static inline void luc__release_all(luc_context *ctx, int n, luc_tensor *const *list) {
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, list[i]);
}
#define LUC_RELEASE(ctx, ...)                                                                      \
  luc__release_all(ctx, (int)(sizeof((luc_tensor *[]){__VA_ARGS__}) / sizeof(luc_tensor *)),       \
                   (luc_tensor *[]){__VA_ARGS__})

#endif
