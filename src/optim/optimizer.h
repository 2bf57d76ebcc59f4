/* What an optimizer's kind is: its options in the schema notation, the state it keeps, and its
 * step. Each kind has a file; optimizer.c holds what they share. */
#ifndef LUC_OPTIMIZER_H
#define LUC_OPTIMIZER_H

#include "cpu/optim.h"
#include "lucerna/optim.h"
#include "ops/schema.h"

enum { LUC_MAX_STATES = 3 };

typedef struct luc_optim_kind {
  const char *name;
  const char *schema; /* the options; their values are those of a group */
  bool counts;        /* `step` is part of the state dict */
  const char *states[LUC_MAX_STATES + 1];
  /* Refuses options that make no sense. */
  luc_status (*check)(luc_context *ctx, const luc_value *options);
  /* How many of the states these options need. */
  int (*needs)(const luc_value *options);
  luc_status (*step)(luc_context *ctx, const luc_value *options, const luc_update *updates,
                     int64_t count);
} luc_optim_kind;

extern const luc_optim_kind luc__optim_sgd, luc__optim_adam, luc__optim_adamw;

typedef struct luc_optim_slot {
  luc_tensor *param, *state[LUC_MAX_STATES];
  int64_t steps;
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
  luc_schema schema;
  int ngroups, capacity;
  luc_optim_group **groups;
  luc_update *updates; /* scratch, kept between steps */
  size_t updates_size;
};

/* "Adam: Invalid learning rate: -1" unless low <= value < high. */
luc_status luc__optim_range(luc_context *ctx, const char *kind, const char *what, double value,
                            double low, double high);

#endif
