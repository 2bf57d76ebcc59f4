/* Optimizers: groups of parameters with options, and the state kept for each parameter. Names of
 * options and state, defaults and formulas are torch.optim's. */
#ifndef LUCERNA_OPTIM_H
#define LUCERNA_OPTIM_H

#include "lucerna/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct luc_optimizer luc_optimizer;

/* kind, a name of torch.optim: "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop",
 * "Adagrad", "Adadelta", "ASGD", "Rprop" or "SparseAdam". */
luc_status luc_optimizer_new(luc_context *ctx, const char *kind, luc_optimizer **out);
void luc_optimizer_free(luc_context *ctx, luc_optimizer *o);
/* Adds a group with default options; *group (may be NULL) is its position, from 0. Parameters must
 * be leaves, of a floating point dtype, and in no other group. */
luc_status luc_optimizer_add_group(luc_context *ctx, luc_optimizer *o, luc_tensor *const *params,
                                   int n, int *group);
/* Sets a number, or a boolean as 0 or 1; `index` chooses within lists (betas), else 0. */
luc_status luc_optimizer_set(luc_context *ctx, luc_optimizer *o, int group, const char *option,
                             int index, double value);
/* Option p of the kind, from 0: its name, or NULL past the end. */
const char *luc_optimizer_option(const luc_optimizer *o, int p);
/* Updates every parameter that has a gradient; on failure none has changed. */
luc_status luc_optimizer_step(luc_context *ctx, luc_optimizer *o);
/* Drops the gradients, or fills them with zeros. */
luc_status luc_optimizer_zero_grad(luc_context *ctx, luc_optimizer *o, bool set_to_none);

/* Of groups, parameters and state that do not exist there are 0, NULL or nothing to set. */
int luc_optimizer_num_groups(const luc_optimizer *o);
int luc_optimizer_num_params(const luc_optimizer *o, int group);
/* A parameter's state, counted from 0 in the kind's order: its name, or NULL past the end. */
const char *luc_optimizer_state_name(const luc_optimizer *o, int which);
/* The state tensor (borrowed), NULL if there is none yet. */
luc_tensor *luc_optimizer_state(const luc_optimizer *o, int group, int param, int which);
/* Loading takes two steps, so that it is all or nothing: first copies of everything, in the
 * parameters' shapes (else an error) and dtypes; then, which cannot fail, putting them in place. */
luc_status luc_optimizer_copy_state(luc_context *ctx, const luc_optimizer *o, int group, int param,
                                    int which, luc_tensor *value, luc_tensor **out);
/* Takes a reference to what luc_optimizer_copy_state made; NULL drops the state. */
void luc_optimizer_set_state(luc_context *ctx, luc_optimizer *o, int group, int param, int which,
                             luc_tensor *copy);
/* State that is one number for a parameter (NAdam's mu_product, ASGD's eta and mu): its name, or
 * NULL past the end. It has a value where there is a state tensor. */
const char *luc_optimizer_scalar_name(const luc_optimizer *o, int which);
double luc_optimizer_scalar(const luc_optimizer *o, int group, int param, int which);
void luc_optimizer_set_scalar(luc_optimizer *o, int group, int param, int which, double value);
/* Steps taken for a parameter. */
int64_t luc_optimizer_steps(const luc_optimizer *o, int group, int param);
void luc_optimizer_set_steps(luc_optimizer *o, int group, int param, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
