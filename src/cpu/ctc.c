/* CTC, sequences in parallel. Places of an alignment: the target's labels with a blank before,
 * between and after them. */
#include "cpu/ctc.h"

#include <math.h>

typedef struct job {
  const luc_ctc *c;
  double *loss, *alpha;
  const double *from_loss, *from_alpha, *dloss;
  double *dx, *rows; /* rows: two of beta for each sequence */
  bool zero_infinity;
} job;

/* One sequence. */
typedef struct sequence {
  const luc_ctc *c;
  int64_t b, steps, places, width;
  const int64_t *target;
} sequence;

static sequence take(const luc_ctc *c, int64_t b) {
  return (sequence){c,
                    b,
                    c->input_lengths[b],
                    2 * c->target_lengths[b] + 1,
                    2 * c->longest + 1,
                    c->targets + c->starts[b]};
}

static int64_t label(const sequence *s, int64_t place) {
  return place % 2 ? s->target[place / 2] : s->c->blank;
}

static const double *probs(const sequence *s, int64_t t) {
  return s->c->log_probs + (t * s->c->batch + s->b) * s->c->classes;
}

static double log_add(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return high == -INFINITY ? high : high + log1p(exp(low - high));
}

/* What a place gets from itself, its neighbour and, past a blank between different labels, the next
 * one; `step` is the direction they lie in. */
static double reach(const sequence *s, const double *row, int64_t place, int step) {
  double sum = row[place];
  int64_t near = place + step, far = near + step;
  if (near >= 0 && near < s->places) sum = log_add(sum, row[near]);
  if (far >= 0 && far < s->places && label(s, place) != label(s, far)) sum = log_add(sum, row[far]);
  return sum;
}

/* The first row of a recursion that begins at the places `edge` and `edge + step`. */
static void begin_row(const sequence *s, double *row, int64_t t, int64_t edge, int step) {
  for (int64_t i = 0; i < s->places; i++) row[i] = -INFINITY;
  row[edge] = probs(s, t)[label(s, edge)];
  if (s->places > 1) row[edge + step] = probs(s, t)[label(s, edge + step)];
}

static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t b = begin; b < end; b++) {
    sequence s = take(j->c, b);
    double *row = j->alpha + b * j->c->steps * s.width;
    if (s.steps == 0) {
      j->loss[b] = s.places == 1 ? 0 : INFINITY;
      continue;
    }
    begin_row(&s, row, 0, 0, 1);
    for (int64_t t = 1; t < s.steps; t++, row += s.width)
      for (int64_t i = 0; i < s.places; i++)
        row[s.width + i] = reach(&s, row, i, -1) + probs(&s, t)[label(&s, i)];
    double sum = row[s.places - 1];
    if (s.places > 1) sum = log_add(sum, row[s.places - 2]);
    j->loss[b] = -sum;
  }
}

static double *gradient_row(const job *j, const sequence *s, int64_t t) {
  return j->dx + (t * s->c->batch + s->b) * s->c->classes;
}

/* dx of a step, from how probable each label is there. */
static void finish_row(const job *j, const sequence *s, int64_t t, const double *alpha,
                       const double *beta) {
  const double *lp = probs(s, t);
  double *dx = gradient_row(j, s, t), nll = j->from_loss[s->b], g = j->dloss[s->b];
  for (int64_t k = 0; k < s->c->classes; k++) dx[k] = -INFINITY;
  for (int64_t i = 0; i < s->places; i++) {
    double *at = &dx[label(s, i)];
    *at = log_add(*at, alpha[i] + beta[i]);
  }
  for (int64_t k = 0; k < s->c->classes; k++) dx[k] = (exp(lp[k]) - exp(dx[k] + nll - lp[k])) * g;
}

static void backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t b = begin; b < end; b++) {
    sequence s = take(j->c, b);
    bool none = j->zero_infinity && j->from_loss[b] == INFINITY;
    for (int64_t t = none ? 0 : s.steps; t < j->c->steps; t++)
      for (int64_t k = 0; k < j->c->classes; k++) gradient_row(j, &s, t)[k] = 0;
    if (none) continue;
    const double *alpha = j->from_alpha + b * j->c->steps * s.width;
    double *row = j->rows + b * 2 * s.width, *next = row + s.width;
    for (int64_t t = s.steps - 1; t >= 0; t--) {
      if (t == s.steps - 1)
        begin_row(&s, next, t, s.places - 1, -1);
      else
        for (int64_t i = 0; i < s.places; i++)
          next[i] = reach(&s, row, i, 1) + probs(&s, t)[label(&s, i)];
      finish_row(j, &s, t, alpha + t * s.width, next);
      double *swap = row;
      row = next;
      next = swap;
    }
  }
}

void luc__ctc(luc_context *ctx, const luc_ctc *c, double *loss, double *alpha) {
  job j = {.c = c, .loss = loss, .alpha = alpha};
  luc__parallel_for(ctx, c->batch, 1, forward, &j);
}

luc_status luc__ctc_backward(luc_context *ctx, const luc_ctc *c, const double *loss,
                             const double *alpha, const double *dloss, bool zero_infinity,
                             double *dx) {
  job j = {.c = c, .from_loss = loss, .from_alpha = alpha, .dloss = dloss, .dx = dx};
  size_t n = luc__mul_size((size_t)c->batch, (size_t)(2 * (2 * c->longest + 1)));
  size_t bytes = luc__mul_size(n, sizeof(double));
  j.zero_infinity = zero_infinity;
  j.rows = luc__alloc(ctx, bytes);
  if (!j.rows) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, c->batch, 1, backward, &j);
  luc__free(ctx, j.rows, bytes);
  return LUC_OK;
}
