/* multilabel_margin_loss, lines in parallel. A class is looked for in its line's list, which is
 * short where the classes are many. */
#include "cpu/margin.h"

#include <string.h>

enum { PIECE_WORK = 1 << 14 };

typedef struct job {
  const luc_margin *m;
  const double *dy;
  double *to;
} job;

/* How many classes the list has. */
static int64_t length(const int64_t *list, int64_t classes) {
  int64_t n = 0;
  while (n < classes && list[n] >= 0) n++;
  return n;
}

static bool has(const int64_t *list, int64_t n, int64_t c) {
  for (int64_t i = 0; i < n; i++)
    if (list[i] == c) return true;
  return false;
}

bool luc__margin_targets_fit(const luc_margin *m) {
  for (int64_t i = 0; i < m->lines; i++) {
    const int64_t *list = m->target + i * m->classes;
    int64_t n = length(list, m->classes);
    for (int64_t k = 0; k < n; k++)
      if (list[k] >= m->classes) return false;
  }
  return true;
}

static void forward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t classes = j->m->classes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t *list = j->m->target + i * classes;
    const double *x = j->m->x + i * classes;
    int64_t n = length(list, classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) {
      if (has(list, n, c)) continue;
      for (int64_t k = 0; k < n; k++) {
        double z = 1 - x[list[k]] + x[c];
        if (!(z <= 0)) sum += z;
      }
    }
    j->to[i] = sum / (double)classes;
  }
}

static void backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t classes = j->m->classes;
  for (int64_t i = begin; i < end; i++) {
    const int64_t *list = j->m->target + i * classes;
    const double *x = j->m->x + i * classes, g = j->dy[i] / (double)classes;
    double *dx = j->to + i * classes;
    int64_t n = length(list, classes);
    memset(dx, 0, (size_t)classes * sizeof *dx);
    for (int64_t c = 0; c < classes; c++) {
      if (has(list, n, c)) continue;
      for (int64_t k = 0; k < n; k++) {
        if (1 - x[list[k]] + x[c] <= 0) continue;
        dx[list[k]] -= g;
        dx[c] += g;
      }
    }
  }
}

void luc__multilabel_margin(luc_context *ctx, const luc_margin *m, double *y) {
  job j = {m, NULL, y};
  luc__parallel_for(ctx, m->lines, PIECE_WORK / (m->classes + 1) + 1, forward, &j);
}

void luc__multilabel_margin_backward(luc_context *ctx, const luc_margin *m, const double *dy,
                                     double *dx) {
  job j = {m, dy, dx};
  luc__parallel_for(ctx, m->lines, PIECE_WORK / (m->classes + 1) + 1, backward, &j);
}
