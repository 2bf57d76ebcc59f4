/* Optimizer steps over all parameters: one parallel loop over stretches of all of them. */
#include "cpu/optim.h"

#include "cpu/kernels.h"
#include "cpu/optim_kernels.h"

enum { STRETCH = 1 << 14 };

typedef struct job {
  const luc_sgd *sgd; /* or NULL: adam */
  const luc_adam *adam;
  const luc_optim_kernels *kernels;
  const luc_update *updates;
  int64_t count;
} job;

static int64_t stretches(const luc_update *u) {
  return (u->n + STRETCH - 1) / STRETCH;
}

static void run_stretch(const job *j, const luc_update *u, int64_t stretch) {
  int64_t begin = stretch * STRETCH, end = begin + STRETCH < u->n ? begin + STRETCH : u->n;
  if (j->sgd)
    j->kernels[u->dtype].sgd(j->sgd, u, begin, end);
  else
    j->kernels[u->dtype].adam(j->adam, u, begin, end);
}

/* Stretches are numbered through all parameters. */
static void run_stretches(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t first = 0;
  for (int64_t i = 0; i < j->count && first < end; i++) {
    int64_t last = first + stretches(&j->updates[i]);
    for (int64_t s = begin > first ? begin : first; s < last && s < end; s++)
      run_stretch(j, &j->updates[i], s - first);
    first = last;
  }
}

static luc_status run(luc_context *ctx, job *j) {
  j->kernels = luc__kernels(ctx)->optim;
  int64_t total = 0, elements = 0;
  for (int64_t i = 0; i < j->count; i++) {
    total += stretches(&j->updates[i]);
    elements += j->updates[i].n;
  }
  /* Many small parameters are not worth waking anybody. */
  luc__parallel_for(ctx, total, elements < 4 * STRETCH ? total + 1 : 1, run_stretches, j);
  return LUC_OK;
}

luc_status luc__sgd_step(luc_context *ctx, const luc_sgd *o, const luc_update *u, int64_t count) {
  job j = {.sgd = o, .updates = u, .count = count};
  return run(ctx, &j);
}

luc_status luc__adam_step(luc_context *ctx, const luc_adam *o, const luc_update *u, int64_t count) {
  job j = {.adam = o, .updates = u, .count = count};
  return run(ctx, &j);
}
