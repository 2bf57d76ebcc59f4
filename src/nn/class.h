/* Classes of modules. One written in C is a row of classes.def:
 *
 *   LUC_CLASS(Name, Parent, "constructor", "forward", build, run, "repr", version, flags)
 *   LUC_LAYER(Name, Parent, "constructor", "forward", "operator(arguments)", "repr", build)
 *
 * constructor: parameters in the operators' notation, "int in_features, bool bias=True".
 *
 * forward: "Tensor input, Tensor? weight=None -> Tensor".
 *
 * build: makes parameters and children. The constructor's arguments are m->config, aligned with the
 * schema; a list parameter holds a LUC_INT where one number was given, a float one where an integer
 * was: read them with luc__config_ints and luc_as_double. Tensors are only lent to build.
 *
 * run: args has one value per forward parameter, defaults filled in; out gets new references and
 * their count.
 *
 * repr: extra_repr as words: "name" gives name=value, "+name" the value alone, "?name" name=value
 * where it is not the default; "%name" leaves out the quotes of a string ("?%padding").
 *
 * A LUC_LAYER calls one operator. Its arguments, in the operator's order, are names of forward
 * parameters or of constructor parameters, `training`, `$weight` for the module's parameter or
 * buffer of that name, `_` for the default. `inplace` in the constructor calls the in-place form.
 *
 * A lazy class (LUC_CF_LAZY, lazy.c) is its parent without the first constructor parameter, which
 * is 0 in config until the first input tells it: config, build and repr are the parent's.
 *
 * A class made by the binding has a C ancestor (Module at least) that its modules are built on. */
#ifndef LUC_CLASS_H
#define LUC_CLASS_H

#include "base/map.h"
#include "lucerna/module.h"
#include "ops/op.h"
#include "tensor/text.h"

enum {
  LUC_CF_SEQUENCE = 1,  /* children have positions: Sequential, ModuleList */
  LUC_CF_CHAIN = 2,     /* forward passes its arguments through the children in turn */
  LUC_CF_FOLD = 4,      /* repr folds runs of equal children: ModuleList */
  LUC_CF_KEYED = 8,     /* children have keys: ModuleDict */
  LUC_CF_PACKED = 128,  /* bindings may pass packed batches of sequences: RNN, LSTM, GRU */
  LUC_CF_ANY_ARGS = 16, /* the constructor takes and ignores all arguments: Identity */
  LUC_CF_ENTRIES = 32,  /* not children but parameters: ParameterList, ParameterDict */
  LUC_CF_LAZY = 64      /* becomes its parent at the first call: see above */
};

typedef luc_status (*luc_build_fn)(luc_context *ctx, luc_module *m);
typedef luc_status (*luc_forward_fn)(luc_context *ctx, luc_module *m, luc_value *args,
                                     luc_outputs *out);

typedef struct luc_class_def {
  const char *name, *parent, *constructor, *forward_schema;
  luc_build_fn build;
  luc_forward_fn forward;
  const char *op; /* "relu(input)", or NULL */
  const char *repr;
  int version;
  int flags;
} luc_class_def;

/* Where an operator's argument comes from. */
enum { LUC_FROM_DEFAULT, LUC_FROM_INPUT, LUC_FROM_CONFIG, LUC_FROM_SLOT, LUC_FROM_TRAINING };
typedef struct luc_source {
  uint8_t from;
  uint8_t index;    /* forward or constructor parameter */
  const char *slot; /* of LUC_FROM_SLOT, `length` bytes */
  size_t length;
} luc_source;

typedef struct luc_class luc_class;
struct luc_class {
  const char *name;
  const luc_class *parent;  /* NULL for Module */
  const luc_class *core;    /* the nearest class written in C: itself, or an ancestor */
  const luc_class_def *def; /* core's row */
  bool host;                /* made by the binding: forward is the host's */
  int refs;                 /* of a host class: modules and subclasses */
  luc_class *next, **place; /* in the list of host classes, and what points to it there */
  int version;
  void *binding; /* the binding's object for it, or NULL */
  /* Of C classes (read core's); NULL until the class is first used. */
  luc_schema *constructor, *forward;
  int inplace_param, dtype_param; /* positions in the constructor, or -1 */
  /* LUC_LAYER: what to call. */
  int op; /* -1: none */
  int nsources;
  luc_source sources[LUC_MAX_PARAMS];
  luc_forward_fn with_relu; /* forward, and a ReLU behind it; or NULL */
};

/* The class of that name, or NULL with an error that names the nearest. Reads the table when first
 * used. Class names are exact. */
luc_status luc__class_find(luc_context *ctx, const char *name, const luc_class **out);
/* Row i of the table, parents first; NULL past its end. */
const luc_class_def *luc__class_row(int i);
/* A class made by the binding. */
luc_status luc__class_new(luc_context *ctx, const char *name, const luc_class *parent,
                          luc_class **out);
void luc__class_retain(const luc_class *c);
void luc__class_release(luc_context *ctx, const luc_class *c);
bool luc__class_is(const luc_class *c, const luc_class *ancestor);
/* The class whose constructor a module's arguments are aligned with. */
static inline const luc_class *luc__config_class(const luc_class *core) {
  return core->def->flags & LUC_CF_LAZY ? core->parent : core;
}

/* For rows without a build or a run function. */
luc_status luc__build_nothing(luc_context *ctx, luc_module *m);
luc_status luc__no_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out);

/* The functions that rows name. */
#define LUC_CLASS(name, parent, constructor, forward, build, run, repr, version, flags)            \
  luc_status build(luc_context *, luc_module *);                                                   \
  luc_status run(luc_context *, luc_module *, luc_value *, luc_outputs *);
#define LUC_LAYER(name, parent, constructor, forward, op, repr, build)                             \
  luc_status build(luc_context *, luc_module *);
#include "nn/classes.def"
#undef LUC_CLASS
#undef LUC_LAYER
/* Classes whose products can end in relu. */
#define LUC_WITH_RELU(ROW) ROW(linear) ROW(conv1d) ROW(conv2d) ROW(conv3d)
#define LUC_WITH_RELU_FORWARD(name)                                                                \
  luc_status luc__##name##_relu_forward(luc_context *, luc_module *, luc_value *, luc_outputs *);
LUC_WITH_RELU(LUC_WITH_RELU_FORWARD)

/* Defines luc__<name>_build (luc__<name>_forward): `function`, which serves several rows, for one
 * of them. */
#define LUC_BUILD_BY(name, function, ...)                                                          \
  luc_status luc__##name##_build(luc_context *ctx, luc_module *m) {                                \
    return function(ctx, m, __VA_ARGS__);                                                          \
  }
#define LUC_FORWARD_BY(name, function, ...)                                                        \
  luc_status luc__##name##_forward(luc_context *ctx, luc_module *m, luc_value *args,               \
                                   luc_outputs *out) {                                             \
    return function(ctx, m, __VA_ARGS__, args, out);                                               \
  }

#endif
