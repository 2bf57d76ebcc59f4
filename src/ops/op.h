/* The operator table and the one door every operator goes through.
 *
 * A row of ops.def:  LUC_OP(id, "schema", run, grad, "saves", flags[, rule])
 *   schema its name is the name users call; rows with one name are overloads, which the binding
 *          tries in table order by number and kind of arguments
 *   run    luc_status run(luc_context *, luc_value *args, luc_value *out)
 *          args: one value per schema parameter, defaults filled in (borrowed). out: one value per
 *          result, kind LUC_NONE, to fill with new references; but out[0] of an in-place or out=
 *          call already holds the tensor to write: get it through luc__out. Checks, shapes,
 *          promotion, then kernels. On failure out may be partly filled; the door releases it.
 *   grad   luc_status grad(luc_context *, luc_backward *), in terms of operators; or LUC_NO_GRAD
 *          (the result is never differentiable: comparisons, argmax), or LUC_GRAD_MISSING (asking
 *          for it is an error that says so).
 *   saves  the parameters and results whose tensors the gradient reads ("self other", "result";
 *          an unnamed result is "result", named ones go by their names). Everything that is not a
 *          tensor is always kept. Do not save what is not read: saved tensors stay alive and must
 *          not be changed in place. "input:other" saves input only if other's gradient is wanted,
 *          "result:other" the result.
 *   flags  LUC_F_*.
 *   rule   how it runs under vmap (vmap_rules.h). Without one it runs sample by sample, a composite
 *          through the operators that it calls.
 * While run executes, what it calls is not recorded; a LUC_F_COMPOSITE is recorded through the
 * operators it calls instead, and has no gradient of its own (write LUC_NO_GRAD).
 * Run functions are named luc__run_<id>, gradients luc__grad_<id>; rows may share them. rows.h
 * declares them all. */
#ifndef LUC_OP_H
#define LUC_OP_H

#include "ops/schema.h"

/* The keyword arguments that every factory's schema ends with (ops/geometry.h reads them). */
#define LUC_FACTORY "dtype? dtype=None, device? device=None, bool requires_grad=False"
/* How a loss over a batch is summed up; the first two are PyTorch's older way to say it. */
#define LUC_REDUCTION                                                                              \
  "bool? size_average=None, bool? reduce=None, str(none|mean|sum) reduction='mean'"

typedef enum luc_opid {
#define LUC_OP(name, schema, run, grad, saves, ...) LUC_OP_##name,
#include "ops/ops.def"
#undef LUC_OP
  LUC_NUM_OPS
} luc_opid;

enum {
  LUC_F_COMPOSITE = 1,
  LUC_F_VIEW = 2,        /* the result (or every tensor of the list) may share args[0]'s storage */
  LUC_F_INPLACE = 4,     /* name_ exists too: writes args[0], through luc__out; a composite has a
                          parameter `inplace` that does it, or copies its result; a view changes
                          args[0]'s geometry */
  LUC_F_MUTATES = 8,     /* the row itself writes args[0] (fill_, uniform_); it has no result */
  LUC_F_OUT = 16,        /* writes an out= tensor itself, through luc__out (see luc__takes_out) */
  LUC_F_FUNCTION = 32,   /* lucerna.name */
  LUC_F_METHOD = 64,     /* tensor:name */
  LUC_F_NN = 128,        /* nn.functional.name */
  LUC_F_BATCHED = 256,   /* functions of the binding: may be given batched tensors (vmap) */
  LUC_F_POSITIONS = 512, /* reads its IndexTensors by luc__positions, counted from 0 or from 1 */
  LUC_F_SAME = 1024,     /* may give back its first argument: luc__gives_back knows when */
  LUC_F_COUNTED = 2048,  /* makes positions of any dtype, which count from ctx->first */
  LUC_F_COMPLEX = 4096,  /* takes complex tensors, or gives them; the door refuses them to others */
  LUC_F_ANY_DTYPE = 8192, /* only moves or converts elements: takes complex tensors and those of
                           dtypes that are only stored (float8, wide unsigned integers) */
  LUC_F_RANDOM = 16384,   /* draws numbers: under vmap the caller says whether for each sample */
  LUC_F_COUNTS = 32768,   /* the same as LUC_F_COUNTED, but only where the call is not recorded */
  LUC_F_BOTH = LUC_F_FUNCTION | LUC_F_METHOD,
  LUC_F_POINTWISE = LUC_F_BOTH | LUC_F_INPLACE | LUC_F_OUT
};

typedef struct luc_node luc_node;

/* What a gradient formula sees. Slots count by schema position; the tensors of the (one) list
 * argument stand in gin_list instead. */
typedef struct luc_backward {
  luc_node *node;
  const luc_value *args;      /* saved arguments; tensors that were not saved are None */
  luc_tensor *const *results; /* saved results, NULL where not saved */
  luc_tensor *const *gout;    /* gradient of each result (of each list item), NULL where none */
  luc_tensor **gin;           /* to fill: gin[p], new references; NULL means zero */
  luc_tensor **gin_list;      /* to fill: for the tensors of the list argument */
} luc_backward;

typedef luc_status (*luc_run_fn)(luc_context *ctx, luc_value *args, luc_value *out);
typedef luc_status (*luc_grad_fn)(luc_context *ctx, luc_backward *b);

/* A call under vmap (vmap.h). */
typedef struct luc_vcall luc_vcall;
typedef luc_status luc_vmap_rule(luc_context *ctx, luc_vcall *c);

luc_status luc__no_grad(luc_context *ctx, luc_backward *b);
luc_status luc__grad_missing(luc_context *ctx, luc_backward *b);
#define LUC_NO_GRAD      luc__no_grad
#define LUC_GRAD_MISSING luc__grad_missing

typedef struct luc_op {
  const char *name;
  const char *schema;
  luc_run_fn run;
  luc_grad_fn grad;
  const char *saves;
  uint16_t flags;
  luc_vmap_rule *rule; /* or NULL */
} luc_op;

extern const luc_op luc__ops[LUC_NUM_OPS];

/* The parsed rows, one table per context. */
typedef struct luc_op_info {
  luc_schema schema;
  uint32_t tensor_params;             /* bit p: parameter p can be a tensor */
  uint32_t dtype_params;              /* bit p: it is a dtype */
  uint32_t save_args;                 /* bit p: parameter p's tensor is saved */
  uint32_t save_for[LUC_MAX_PARAMS];  /* [p]: only if one of these wants a gradient; 0: always */
  uint32_t save_results;              /* bit r */
  uint32_t keep_for[LUC_MAX_RESULTS]; /* [r]: the same for results */
  int8_t list_param;                  /* position of the list-of-tensors parameter, or -1 */
} luc_op_info;
luc_status luc__ops_init(luc_context *ctx); /* idempotent; luc_call needs it done */
static inline const luc_op_info *luc__op_info(const luc_context *ctx, luc_opid op) {
  return &((const luc_op_info *)ctx->ops)[op];
}
/* Errors name the function that was called: its name takes the place of that of the operator it is
 * made of, and precedes a message without any (out of memory). Both return status. */
luc_status luc__failed_as(luc_context *ctx, luc_status status, const char *name);
luc_status luc__call_failed(luc_context *ctx, luc_opid op, luc_status status);
/* The length of the name that a message begins with, as "add" of "add: text", or 0. */
size_t luc__message_name(const char *text);

/* ---- the door ---- */

/* Calls an operator. args must have room for nparams values; args[nargs..] are filled with their
 * defaults. out: nresults values, filled with new references. */
luc_status luc_call(luc_context *ctx, luc_opid op, luc_value *args, int nargs, luc_value *out);
/* Will a call of a LUC_F_SAME row with all its arguments do nothing but give back the first? Then
 * it need not be made. */
bool luc__gives_back(const luc_context *ctx, luc_opid op, const luc_value *args);
/* The in-place form of a LUC_F_INPLACE operator, or a LUC_F_MUTATES row: writes args[0]. */
luc_status luc_call_inplace(luc_context *ctx, luc_opid op, luc_value *args, int nargs);
/* The out= form: writes the results into `into`, a tensor each (NULL for one that the call does
 * not give), resized if their shape differs; neither they nor the inputs may require grad while
 * recording. */
luc_status luc_call_out(luc_context *ctx, luc_opid op, luc_value *args, int nargs,
                        luc_tensor *const *into);
/* Has a row that form? Functions with new tensors as results have. */
bool luc__takes_out(const luc_context *ctx, luc_opid op);
/* Its parts, for what must change results in between; all arguments must be there. */
luc_status luc__out_check(luc_context *ctx, luc_opid op, luc_value *args, luc_tensor *const *into);
luc_status luc__out_write(luc_context *ctx, luc_opid op, const luc_value *results,
                          luc_tensor *const *into);
luc_status luc__call_copied(luc_context *ctx, luc_opid op, luc_value *args, int nargs,
                            luc_tensor *const *into);

/* Is told of every call that succeeded (ctx->observer): what summaries and profilers are made of.
 * Not of what the run function of an operator calls; but of what a composite calls, at a depth one
 * greater and before the composite itself. */
typedef struct luc_observer luc_observer;
struct luc_observer {
  /* Depth 0: called by the user or a layer. out: the results, also of in-place and out= calls. A
   * failure makes the call fail. */
  luc_status (*called)(luc_context *ctx, luc_observer *self, luc_opid op, bool inplace,
                       const luc_value *args, const luc_value *out);
  int depth;
  double begin; /* when the call began that it is told of: luc_clock() */
};

/* For C code (gradients, layers): boxes its arguments on the stack, one tensor result.
 *   LUC_TRY(luc__op1(ctx, LUC_OP_mul, &r, LUC_ARGS(luc_v_tensor(a), luc_v_tensor(b)))); */
#define LUC_ARGS(...)                                                                              \
  (luc_value[LUC_MAX_PARAMS]){__VA_ARGS__},                                                        \
      (int)(sizeof((luc_value[]){__VA_ARGS__}) / sizeof(luc_value))
luc_status luc__op1(luc_context *ctx, luc_opid op, luc_tensor **out, luc_value *args, int nargs);
/* The commonest of them, in short. */
luc_status luc__unary(luc_context *ctx, luc_opid op, luc_tensor *a, luc_tensor **out);
luc_status luc__binary(luc_context *ctx, luc_opid op, luc_tensor *a, luc_tensor *b,
                       luc_tensor **out);
luc_status luc__binary_scalar(luc_context *ctx, luc_opid op, luc_tensor *a, double s,
                              luc_tensor **out);

/* ---- for run functions ---- */

/* The tensor a run function writes, a new reference in out->as.tensor and borrowed in *result: a
 * new one of this dtype and shape, or the preset one (in-place, out=) after PyTorch's checks:
 * castable dtype; same sizes (an out= tensor is resized). A preset tensor can have any dtype and
 * strides: pointwise and reducing drivers write those themselves; other run functions compute into
 * a temporary and luc__copy it. */
luc_status luc__out(luc_context *ctx, luc_value *out, luc_dtype dtype, int ndim,
                    const int64_t *sizes, luc_tensor **result);

/* What a run function, or a gradient, makes on its way to its results is held for it until it has
 * ended: a failure needs no exit of its own.
 *   luc_tensor *x, *y;
 *   LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, LUC_FLOAT32, &x));
 *   LUC_TRY(luc__scratch(ctx, LUC_FLOAT32, 1, &n, &y));
 *   ...
 *   return luc__result(ctx, out, dtype, y);
 * What is large and soon done with, or made by a loop, is still released by hand. */

/* Passes `made` on; when it is LUC_OK, *t, which may be NULL, is held, and nobody else's then, also
 * on failure: luc__held(ctx, luc__expand(..., &t), &t). */
luc_status luc__held(luc_context *ctx, luc_status made, luc_tensor **t);
/* A new tensor, contiguous, contents undefined. */
luc_status luc__scratch(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                        luc_tensor **out);
luc_status luc__scratch_like(luc_context *ctx, const luc_tensor *t, luc_dtype dtype,
                             luc_tensor **out);
/* t as contiguous memory of dtype: itself where it is that; t NULL gives NULL. */
luc_status luc__as_dense(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out);
/* A computed tensor goes to a result slot as `dtype`: itself where it can, else converted, or
 * copied into the preset tensor. */
luc_status luc__result(luc_context *ctx, luc_value *out, luc_dtype dtype, luc_tensor *computed);
/* Computed tensors that are of their results' dtypes, n of them, go to as many slots. */
luc_status luc__results(luc_value *out, int n, luc_tensor *const *computed);
/* luc__result of a tensor that is the caller's own (*computed is NULL then, also on failure). */
luc_status luc__deliver(luc_context *ctx, luc_value *out, luc_dtype dtype, luc_tensor **computed);
/* Passes status on; when it is LUC_OK r (taken over in any case) becomes the result. */
luc_status luc__give(luc_context *ctx, luc_status status, luc_value *out, luc_tensor *r);
/* Releases what is held since there were `mark`: called by who runs them. */
void luc__release_held(luc_context *ctx, int mark);
static inline void luc__let_go(luc_context *ctx, int mark) {
  if (ctx->num_held > mark) luc__release_held(ctx, mark);
}

/* ---- for gradients ---- */

/* Is the gradient of parameter p (of item i of the list argument) wanted? */
bool luc__needs(const luc_backward *b, int p);
bool luc__needs_item(const luc_backward *b, int i);
/* Shape (returns ndim) of that input, and the dtype of the first, known even though its tensor was
 * not saved; only for inputs whose gradient is wanted. sizes has room for LUC_MAX_DIMS. */
int luc__input_sizes(const luc_backward *b, int p, int64_t *sizes);
int luc__item_sizes(const luc_backward *b, int i, int64_t *sizes);
luc_dtype luc__input_dtype(const luc_backward *b);
/* May gout[0] be written to: nobody else will see it? */
bool luc__gout_is_spare(const luc_backward *b);
/* The gradient of an operator that ends in relu, by that of the one without. */
luc_status luc__grad_behind_relu(luc_context *ctx, luc_backward *b, luc_grad_fn grad);
/* The gradient of a row by one call: op takes the result's gradient, and the row's own arguments 1
 * to n - 1. */
luc_status luc__grad_call(luc_context *ctx, luc_backward *b, luc_opid op, int n);
/* A gradient is only asked for if that of one of the inputs is wanted: with one, it need not check.
 * The engine sums a gradient down to its input's shape where that was broadcast, and casts it to
 * the input's dtype: formulas need not. */

/* ---- what autograd provides to the door (defined in autograd/record.c) ---- */

/* Does this call get recorded: grad mode on, outside an operator, an input that requires grad? */
bool luc__wants_record(luc_context *ctx, luc_opid op, const luc_value *args, int nargs);
/* Makes a node for a finished call and hangs it on the results. */
luc_status luc__record(luc_context *ctx, luc_opid op, const luc_value *args, luc_value *out);
/* Before an in-place write: refuses what PyTorch refuses (a leaf that requires grad, …). */
luc_status luc__inplace_check(luc_context *ctx, luc_opid op, luc_tensor *self, bool records);
/* As in PyTorch, only inference mode writes to what it made: what was saved would not notice. */
static inline bool luc__is_frozen(const luc_context *ctx, const luc_tensor *t) {
  bool made = (t->flags & (LUC_TF_INFERENCE | LUC_TF_UNTRACKED)) == LUC_TF_INFERENCE;
  return made && !ctx->inference_mode && !ctx->inside_op;
}
#define LUC_INFERENCE_WRITTEN                                                                      \
  "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone " \
  "to get a normal tensor before doing inplace update."
#define LUC_INFERENCE_SAVED                                                                        \
  "Inference tensors cannot be saved for backward. To work around you can make a clone to get a "  \
  "normal tensor and use it in autograd."
/* Recording an in-place call takes two steps, so that nothing can fail after the write: the node is
 * made before it, and afterwards (done: the write happened) self's version is bumped and its
 * history rewritten. node is NULL when the call is not recorded. */
luc_status luc__record_prepare(luc_context *ctx, luc_opid op, const luc_value *args,
                               luc_tensor *self, luc_node **node);
void luc__record_inplace(luc_context *ctx, bool done, luc_node *node, luc_tensor *self);
/* A view was made: remembers its base, so that in-place changes through it are seen, and if it is
 * one of several or was made without recording, when PyTorch forbids them. */
luc_status luc__record_view(luc_context *ctx, luc_tensor *base, luc_tensor *view, bool several);
/* The in-place form of a view: self takes the geometry and history of this view of itself. */
void luc__become_view(luc_context *ctx, luc_tensor *self, luc_tensor *view);

#endif
