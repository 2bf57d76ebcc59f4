/* CTC, sequences in parallel. Places of an alignment: the target's labels with a blank before,
 * between and after them. */
#include "cpu/ctc.h"

#include <math.h>
#include <string.h>

#include "cpu/ctc_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

typedef struct job {
  const luc_ctc *c;
  const luc_ctc_kernels *k;
  double *loss, *alpha;
  const double *from_loss, *from_alpha, *dloss;
  double *dx;
  bool zero_infinity;
} job;

/* One sequence, and rows of places with room around them. */
typedef struct sequence {
  const luc_ctc *c;
  int64_t b, steps, places, width;
  const int64_t *target;
  double *row, *next; /* of the recursion */
  double *lp;         /* log probabilities of the places' labels */
  double *skip;       /* 0 where the place two before may be left for this one, else -infinity */
  double *shares;
} sequence;

enum { ROWS = 5 };

static int64_t row_size(const luc_ctc *c) {
  return 2 * c->longest + 1 + 2 * LUC_CTC_ROOM;
}

static sequence take(const luc_ctc *c, int64_t b, double *scratch) {
  const int64_t size = row_size(c);
  sequence s = {.c = c,
                .b = b,
                .steps = c->input_lengths[b],
                .places = 2 * c->target_lengths[b] + 1,
                .width = 2 * c->longest + 1,
                .target = c->targets + c->starts[b]};
  for (int64_t i = 0; i < ROWS * size; i++) scratch[i] = -INFINITY;
  double **rows[ROWS] = {&s.row, &s.next, &s.lp, &s.skip, &s.shares};
  for (int i = 0; i < ROWS; i++) *rows[i] = scratch + i * size + LUC_CTC_ROOM;
  for (int64_t i = 1; 2 * i + 1 < s.places; i++)
    if (s.target[i] != s.target[i - 1]) s.skip[2 * i + 1] = 0;
  return s;
}

static const double *probs(const sequence *s, int64_t t) {
  return s->c->log_probs + (t * s->c->batch + s->b) * s->c->classes;
}

/* The places' log probabilities at a step. */
static void take_probs(const sequence *s, int64_t t) {
  const double *from = probs(s, t);
  s->lp[0] = from[s->c->blank];
  for (int64_t i = 0; 2 * i + 1 < s->places; i++) {
    s->lp[2 * i + 1] = from[s->target[i]];
    s->lp[2 * i + 2] = from[s->c->blank];
  }
}

/* The next row of a recursion that goes up (1) or down (-1) the places; the first one begins at the
 * last two places that it leads away from. */
static void advance(const job *j, sequence *s, bool first, int direction) {
  double *from = s->row;
  s->row = s->next;
  s->next = from;
  if (!first) {
    const double *skip = direction > 0 ? s->skip : s->skip + 2;
    j->k->step(s->places, -direction, from, skip, s->lp, s->row);
    return;
  }
  const int64_t edge = direction > 0 ? 0 : s->places - 1;
  for (int64_t i = 0; i < s->places; i++) s->row[i] = -INFINITY;
  s->row[edge] = s->lp[edge];
  if (s->places > 1) s->row[edge + direction] = s->lp[edge + direction];
}

static double log_add(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return high == -INFINITY ? high : high + log1p(exp(low - high));
}

static void forward(void *arg, void *scratch, int64_t begin, int64_t end) {
  job *j = arg;
  for (int64_t b = begin; b < end; b++) {
    sequence s = take(j->c, b, scratch);
    double *alpha = j->alpha + b * j->c->steps * s.width;
    if (s.steps == 0) {
      j->loss[b] = s.places == 1 ? 0 : INFINITY;
      continue;
    }
    for (int64_t t = 0; t < s.steps; t++) {
      take_probs(&s, t);
      advance(j, &s, t == 0, 1);
      memcpy(alpha + t * s.width, s.row, (size_t)s.places * sizeof *alpha);
    }
    double sum = s.row[s.places - 1];
    if (s.places > 1) sum = log_add(sum, s.row[s.places - 2]);
    j->loss[b] = -sum;
  }
}

static double *gradient_row(const job *j, const sequence *s, int64_t t) {
  return j->dx + (t * s->c->batch + s->b) * s->c->classes;
}

/* dx of a step, from how probable each label is there; NaN where a logarithm or the loss is
 * infinite. */
static void finish_row(const job *j, const sequence *s, int64_t t, const double *alpha) {
  const double *lp = probs(s, t), nll = j->from_loss[s->b];
  double *dx = gradient_row(j, s, t), blanks = 0;
  j->k->shares(s->places, alpha, s->row, s->lp, nll, s->shares);
  for (int64_t k = 0; k < s->c->classes; k++) dx[k] = (lp[k] - lp[k]) + (nll - nll);
  for (int64_t i = 0; i < s->places; i += 2) blanks += s->shares[i];
  dx[s->c->blank] += blanks;
  for (int64_t i = 0; 2 * i + 1 < s->places; i++) dx[s->target[i]] += s->shares[2 * i + 1];
  j->k->finish(s->c->classes, lp, j->dloss[s->b], dx);
}

static void backward(void *arg, void *scratch, int64_t begin, int64_t end) {
  job *j = arg;
  for (int64_t b = begin; b < end; b++) {
    sequence s = take(j->c, b, scratch);
    bool none = j->zero_infinity && j->from_loss[b] == INFINITY;
    for (int64_t t = none ? 0 : s.steps; t < j->c->steps; t++)
      for (int64_t k = 0; k < j->c->classes; k++) gradient_row(j, &s, t)[k] = 0;
    if (none) continue;
    const double *alpha = j->from_alpha + b * j->c->steps * s.width;
    for (int64_t t = s.steps - 1; t >= 0; t--) {
      take_probs(&s, t);
      advance(j, &s, t == s.steps - 1, -1);
      finish_row(j, &s, t, alpha + t * s.width);
    }
  }
}

static luc_status run(luc_context *ctx, job *j, luc_scratch_fn loop) {
  size_t size = luc__mul_size((size_t)row_size(j->c), ROWS * sizeof(double));
  j->k = luc__kernels(ctx)->ctc;
  return luc__parallel_scratch(ctx, j->c->batch, 1, size, loop, j);
}

luc_status luc__ctc(luc_context *ctx, const luc_ctc *c, double *loss, double *alpha) {
  job j = {.c = c, .loss = loss, .alpha = alpha};
  return run(ctx, &j, forward);
}

luc_status luc__ctc_backward(luc_context *ctx, const luc_ctc *c, const double *loss,
                             const double *alpha, const double *dloss, bool zero_infinity,
                             double *dx) {
  job j = {.c = c, .from_loss = loss, .from_alpha = alpha, .dloss = dloss, .dx = dx};
  j.zero_infinity = zero_infinity;
  return run(ctx, &j, backward);
}
