/* Optimizer steps over all parameters: one parallel loop over stretches of all of them. */
#include "cpu/optim.h"

#include <math.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/optim_kernels.h"

enum { STRETCH = 1 << 14, MOST_PIECES = 128, BLOCK = 1 << 10 };

typedef struct job {
  luc_optim_rule rule;
  const void *options;
  const luc_optim_kernels *kernels;
  const luc_copy_kernels *copy;
  const luc_update *updates;
  int64_t count;
} job;

/* Whole rows, where there are rows. */
static int64_t stretch_of(const luc_update *u) {
  return u->width > 0 ? luc__whole(STRETCH, u->width) : STRETCH;
}

static int64_t elements_of(const luc_update *u) {
  return u->rows ? u->nrows * u->width : u->n;
}

static int64_t stretches(const luc_update *u) {
  return luc__cuts(elements_of(u), stretch_of(u));
}

/* Halves are floats to the rule, a block at a time. */
static void run_halves(const job *j, const luc_update *u, int64_t begin, int64_t end) {
  float param[BLOCK], grad[BLOCK], state[LUC_MAX_STATES][BLOCK];
  const luc_load_fn load = j->copy->load[LUC_COMPUTE_F32][u->dtype];
  const luc_store_fn store = j->copy->store[LUC_COMPUTE_F32][u->dtype];
  const int64_t size = sizeof(uint16_t);
  luc_update block = *u;
  block.param = param, block.grad = grad;
  for (int s = 0; s < LUC_MAX_STATES; s++) block.state[s] = u->state[s] ? state[s] : NULL;
  for (int64_t n; begin < end; begin += n) {
    n = luc__min64(end - begin, BLOCK);
    load(param, (const char *)u->param + begin * size, size, n);
    load(grad, (const char *)u->grad + begin * size, size, n);
    for (int s = 0; s < LUC_MAX_STATES; s++)
      if (u->state[s]) load(state[s], (const char *)u->state[s] + begin * size, size, n);
    j->kernels[LUC_FLOAT32].rule[j->rule](j->options, &block, 0, n);
    store((char *)u->param + begin * size, size, param, n);
    for (int s = 0; s < LUC_MAX_STATES; s++)
      if (u->state[s]) store((char *)u->state[s] + begin * size, size, state[s], n);
  }
}

static void run_rule(const job *j, const luc_update *u, int64_t begin, int64_t end) {
  if (luc__is_native(u->dtype))
    j->kernels[u->dtype].rule[j->rule](j->options, u, begin, end);
  else
    run_halves(j, u, begin, end);
}

static bool is_zero(const job *j, const luc_update *u, int64_t begin, int64_t end) {
  if (luc__is_native(u->dtype)) return j->kernels[u->dtype].is_zero(u->grad, begin, end);
  int any = 0;
  for (int64_t i = begin; i < end; i++) any |= ((const uint16_t *)u->grad)[i] & INT16_MAX;
  return !any;
}

/* Of the listed rows those from begin on, as many at a time as are neighbours. */
static void run_listed(const job *j, const luc_update *u, int64_t begin, int64_t end) {
  for (int64_t at = begin, next; at < end; at = next) {
    for (next = at + 1; next < end && u->rows[next] == u->rows[next - 1] + 1;) next++;
    run_rule(j, u, u->rows[at] * u->width, (u->rows[next - 1] + 1) * u->width);
  }
}

/* Rows that have a gradient, as many at a time as are neighbours. */
static void run_used(const job *j, const luc_update *u, int64_t begin, int64_t end) {
  for (int64_t at = begin, next; at < end; at = next + u->width) {
    for (next = at; next < end && !is_zero(j, u, next, next + u->width);) next += u->width;
    if (next > at) run_rule(j, u, at, next);
  }
}

static void run_stretch(const job *j, const luc_update *u, int64_t stretch) {
  int64_t begin = stretch * stretch_of(u);
  int64_t end = luc__min64(begin + stretch_of(u), elements_of(u));
  if (u->rows)
    run_listed(j, u, begin / u->width, end / u->width);
  else if (u->width > 0)
    run_used(j, u, begin, end);
  else
    run_rule(j, u, begin, end);
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

/* Parameters mostly are at the same step. */
static void set_corrections(const luc_adam *o, luc_update *u, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    bool same = i > 0 && u[i].step == u[i - 1].step;
    u[i].correction1 = same ? u[i - 1].correction1 : 1 - pow(o->beta1, (double)u[i].step);
    u[i].correction2 = same ? u[i - 1].correction2 : 1 - pow(o->beta2, (double)u[i].step);
  }
}

void luc__optim_step(luc_context *ctx, luc_optim_rule rule, const void *options, luc_update *u,
                     int64_t count) {
  if ((rule >= LUC_RULE_ADAM && rule <= LUC_RULE_RADAM) || rule == LUC_RULE_SPARSE_ADAM)
    set_corrections(options, u, count);
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {rule, options, kernels->optim, kernels->copy, u, count};
  int64_t total = 0, elements = 0;
  for (int64_t i = 0; i < count; i++) {
    total += stretches(&u[i]);
    elements += elements_of(&u[i]);
  }
  /* Many small parameters are not worth waking anybody; each piece looks for its first one. */
  int64_t grain = elements < 4 * STRETCH ? total + 1 : total / MOST_PIECES + 1;
  luc__parallel_for(ctx, total, grain, run_stretches, &j);
}

double luc__nadam_mu(double beta1, double momentum_decay, int64_t step) {
  return beta1 * (1 - 0.5 * pow(0.96, (double)step * momentum_decay));
}

double luc__radam_rectification(double beta2, int64_t step) {
  double left = pow(beta2, (double)step), most = 2 / (1 - beta2) - 1;
  double length = most - 2 * (double)step * left / (1 - left);
  if (length <= 5) return 0;
  return sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
}
