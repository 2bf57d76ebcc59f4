/* Each row is a part that is copied and one of zeros. */
#include "cpu/triangle.h"

#include <string.h>

#include "base/pool.h"
#include "cpu/cuts.h"

static void run_rows(void *arg, int64_t begin, int64_t end) {
  const luc_triangle *t = arg;
  const int64_t shift = t->diagonal + (t->lower ? 1 : 0);
  for (int64_t i = begin, rows; i < end; i += rows) {
    const int64_t r = i % t->rows, left = luc__min64(t->rows - r, end - i);
    /* the first column beyond (or not before) the diagonal; rows it does not cut go together */
    const int64_t edge = luc__clamp64(r + shift, 0, t->columns);
    rows = edge == t->columns ? left : edge == 0 ? luc__min64(1 - shift - r, left) : 1;
    const int64_t kept = t->lower ? edge : t->columns - edge, cleared = t->columns - kept;
    const int64_t row = i * t->columns, from = (row + (t->lower ? 0 : edge)) * t->size;
    char *zeros = t->to + (row + (t->lower ? edge : 0)) * t->size;
    if (t->from != t->to && kept > 0)
      memcpy(t->to + from, t->from + from, (size_t)(rows * kept * t->size));
    if (cleared > 0) memset(zeros, 0, (size_t)(rows * cleared * t->size));
  }
}

void luc__triangle(luc_context *ctx, const luc_triangle *t) {
  enum { GRAIN = 1 << 18 }; /* bytes */
  luc_triangle job = *t;
  job.diagonal = luc__clamp64(t->diagonal, -t->rows, t->columns);
  luc__parallel_for(ctx, t->count * t->rows, GRAIN / (t->columns * t->size) + 1, run_rows, &job);
}
