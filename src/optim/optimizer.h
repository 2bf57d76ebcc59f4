/* What an optimizer's kind is: its options in the schema notation, the state it keeps, and its
 * step. Each kind has a file; optimizer.c holds what they share. */
#ifndef LUC_OPTIMIZER_H
#define LUC_OPTIMIZER_H

#include <math.h>

#include "base/map.h"
#include "cpu/optim.h"
#include "lucerna/optim.h"
#include "ops/schema.h"

/* What an option must satisfy: low <= value < high. A refused one is "Adam: Invalid <what>: -1". */
typedef struct luc_optim_limit {
  const char *what; /* NULL ends the list */
  int option, entry;
  double low, high;
} luc_optim_limit;

#define LUC_AT_LEAST_0(option, what)                                                               \
  { what, option, 0, 0, INFINITY }
#define LUC_ABOVE_0(option, what)                                                                  \
  { what, option, 0, 0x1p-1074, INFINITY }
#define LUC_BETAS_BELOW_1(option)                                                                  \
  {"beta parameter at index 1", option, 0, 0, 1}, {                                                \
    "beta parameter at index 2", option, 1, 0, 1                                                   \
  }

/* A kind's rule, and which options it takes: the numbers of these, in the order of its struct. */
#define LUC_TAKES(of, ...)                                                                         \
  .rule = of, .ntakes = sizeof((int8_t[]){__VA_ARGS__}), .takes = {__VA_ARGS__}

/* What `step` is in the state dict: not there, a tensor, an integer. */
typedef enum luc_optim_counts {
  LUC_COUNTS_NOT,
  LUC_COUNTS_TENSOR,
  LUC_COUNTS_INTEGER
} luc_optim_counts;

/* Rows without a gradient are updated like others, to what they were, not at all. */
typedef enum luc_optim_rows { LUC_ROWS_ALL, LUC_ROWS_SAME, LUC_ROWS_LEFT } luc_optim_rows;

typedef struct luc_optim_kind {
  const char *name;
  const char *schema; /* the options; their values are those of a group */
  luc_optim_counts counts;
  bool eager; /* state is made with the group, not at the first step */
  const char *states[LUC_MAX_STATES + 1];
  const char *scalars[LUC_MAX_SCALARS + 1]; /* state that is one number for a parameter */
  luc_optim_limit limits[8];
  /* Refuses options that make no sense together. May be NULL. */
  luc_status (*check)(luc_context *ctx, const luc_value *options);
  /* Which of the states these options need: bit i stands for states[i]. NULL: all. */
  unsigned (*needs)(const luc_value *options);
  /* What a state begins with; NULL: 0. */
  double (*initial)(const luc_value *options, int which);
  /* What these options make of rows without a gradient. NULL: what they make of others. */
  luc_optim_rows (*rows)(const luc_value *options);
  /* Scalars before step 1 (step is 0), and after each step. NULL where there are none. */
  void (*advance)(const luc_value *options, int64_t step, double *scalar);
  luc_optim_rule rule;
  int ntakes; /* LUC_TAKES gives these three */
  int8_t takes[LUC_MAX_PARAMS];
} luc_optim_kind;

extern const luc_optim_kind luc__optim_sgd, luc__optim_adam, luc__optim_adamw, luc__optim_adamax,
    luc__optim_nadam, luc__optim_radam, luc__optim_rmsprop, luc__optim_adagrad, luc__optim_adadelta,
    luc__optim_asgd, luc__optim_rprop, luc__optim_sparse_adam;

typedef struct luc_optim_slot {
  luc_tensor *param, *state[LUC_MAX_STATES];
  double scalar[LUC_MAX_SCALARS];
  int64_t steps;
  unsigned made; /* bit i: state[i] was made by the step under way, and goes if that fails */
} luc_optim_slot;

typedef struct luc_optim_group {
  int n;
  int gathered; /* parameters with a gradient, during a step */
  luc_optim_slot *slots;
  luc_value options[LUC_MAX_PARAMS];
  double floats[LUC_SCHEMA_FLOATS]; /* list options point into it */
} luc_optim_group;

struct luc_optimizer {
  const luc_optim_kind *kind;
  const luc_schema *schema; /* the kind's, which the context keeps */
  int ngroups;
  size_t capacity;
  luc_optim_group **groups;
  luc_update *updates; /* scratch, kept between steps */
  size_t updates_size;
};

/* Refuses parameters for a group that are no leaves, not of a floating point (or complex) dtype,
 * or there twice: in it, or in `seen`, which has those of other groups and takes these. */
luc_status luc__optimizer_check_params(luc_context *ctx, const char *who, bool complex,
                                       luc_set *seen, luc_tensor *const *params, int n);
/* luc_optimizer_add_group with options of its own, one for each parameter of the schema. */
luc_status luc__optimizer_add_group(luc_context *ctx, luc_optimizer *o, luc_tensor *const *params,
                                    int n, const luc_value *options, int *group);
/* Gives a group other parameters; those that it had keep their state. */
luc_status luc__optimizer_exchange(luc_context *ctx, luc_optimizer *o, int group,
                                   luc_tensor *const *params, int n);
/* Sets all options, unchecked, as PyTorch does once an optimizer is made: a schedule may well end
 * at -1e-18. */
void luc__optimizer_take(luc_optimizer *o, int group, const luc_value *options);

#endif
