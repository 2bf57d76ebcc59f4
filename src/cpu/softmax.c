/* Softmax over rows or columns in parallel, and the negative log likelihood. */
#include "cpu/softmax.h"

#include "cpu/cache.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "cpu/softmax_kernels.h"

/* Elements of a piece: some microseconds of exponentials. A piece reads its first row once more
 * than the others, so many rows make no more than so many pieces. Columns are cut in blocks. */
enum { PIECE_SIZE = 1 << 14, MOST_PIECES = 32, COLUMN_BLOCK = LUC_SOFTMAX_COLUMNS };
/* The most floats, and doubles, of rows that are turned, so many together and at least; columns of
 * fewer than LONG. */
enum { SHORT = 16, SHORT_WIDE = 12, TURNED = 64, MANY = 32, LONG = 64 };

typedef struct job {
  const luc_softmax *s;
  const luc_softmax_kernels *kernels;
  int64_t blocks, size; /* of columns per outer; bytes of an element */
  const char *x, *dy, *y;
  char *to;
  bool backward, stream;
  const luc_copy_kernels *copy;
} job;

static void rows(void *arg, void *room, int64_t begin, int64_t end) {
  job *j = arg;
  const luc_softmax *s = j->s;
  const int64_t at = begin * s->n * j->size;
  if (j->backward) {
    j->kernels->rows_backward(s->log, end - begin, s->n, j->dy + at, j->y + at, j->to + at,
                              j->stream);
    return;
  }
  j->kernels->rows(s->log, end - begin, s->n, j->x + at, j->to + at, room, j->stream);
}

/* Between `count` of the matrices [n, inner] from x on and one of n rows of TURNED, in which they
 * lie beside each other; back from there to x. */
static void turn(const job *j, char *block, char *x, int64_t count, bool back) {
  const luc_softmax *s = j->s;
  const int64_t row = s->inner * j->size, matrix = s->n * row, pitch = TURNED * j->size;
  const int log = luc__log2(j->size);
  if (s->inner == 1 && back) {
    j->copy->transpose[log](x, matrix, block, pitch, count, s->n, false);
  } else if (s->inner == 1) {
    j->copy->transpose[log](block, pitch, x, matrix, s->n, count, false);
  } else {
    for (int64_t i = 0; i < s->n; i++, block += pitch, x += row)
      j->copy->runs[log](back ? x : block, back ? matrix : row, j->size, back ? block : x,
                         back ? row : matrix, j->size, s->inner, count);
  }
}

/* Short rows, or few columns, are turned, so that each is a lane. room: for what is not `few`. */
static void turned(void *arg, void *room, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_softmax *s = j->s;
  const int64_t matrix = s->n * s->inner * j->size, most = TURNED / s->inner;
  const int64_t bytes = s->n * TURNED * j->size;
  _Alignas(64) char few[3 * SHORT * TURNED * 8];
  char *x = room ? room : few, *to = x + bytes, *y = to + bytes;
  for (int64_t i = begin; i < end; i += most) {
    const int64_t count = luc__min64(end - i, most), width = count * s->inner;
    turn(j, x, (char *)(j->backward ? j->dy : j->x) + i * matrix, count, false);
    if (j->backward) {
      turn(j, y, (char *)j->y + i * matrix, count, false);
      j->kernels->columns_backward(s->log, s->n, TURNED, width, x, y, to);
    } else {
      j->kernels->columns(s->log, s->n, TURNED, width, x, to);
    }
    turn(j, to, j->to + i * matrix, count, true);
  }
}

static void columns(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_softmax *s = j->s;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i % j->blocks * COLUMN_BLOCK;
    int64_t count = s->inner - first < COLUMN_BLOCK ? s->inner - first : COLUMN_BLOCK;
    int64_t at = (i / j->blocks * s->n * s->inner + first) * j->size;
    if (j->backward)
      j->kernels->columns_backward(s->log, s->n, s->inner, count, j->dy + at, j->y + at,
                                   j->to + at);
    else
      j->kernels->columns(s->log, s->n, s->inner, count, j->x + at, j->to + at);
  }
}

/* Columns are turned where they fill less than a register, are not long, and those of some matrices
 * fit. */
static bool is_turned(const luc_softmax *s) {
  const int64_t most = s->dtype == LUC_FLOAT64 ? SHORT_WIDE : SHORT;
  if (s->inner == 1) return s->n <= most && s->outer >= MANY;
  return s->n < LONG && s->inner < (s->dtype == LUC_FLOAT64 ? 8 : 16) && s->outer >= 4;
}

static luc_status run(luc_context *ctx, job *j) {
  const luc_softmax *s = j->s;
  if (s->outer <= 0 || s->n <= 0 || s->inner <= 0) return LUC_OK;
  j->kernels = &luc__kernels(ctx)->softmax[s->dtype];
  j->size = (int64_t)luc__dtype_size(s->dtype);
  j->copy = luc__kernels(ctx)->copy;
  if (is_turned(s)) {
    const int64_t most = TURNED / s->inner;
    const int64_t room = s->n > SHORT ? 3 * s->n * TURNED * j->size : 0;
    const int64_t grain = (PIECE_SIZE / (s->n * s->inner * most) + 1) * most;
    return luc__parallel_scratch(ctx, s->outer, grain, (size_t)room, turned, j);
  } else if (s->inner == 1) {
    const int64_t least = 2 * PIECE_SIZE / s->n + 1, even = s->outer / MOST_PIECES;
    j->stream = luc__past_cache((j->backward ? 3 : 2) * s->outer * s->n * j->size);
    const bool apart = !s->log && !j->backward && (j->stream || j->size < 4);
    const int64_t room = apart ? s->n * (j->size < 4 ? 4 : j->size) : 0; /* of exponentials */
    return luc__parallel_scratch(ctx, s->outer, least > even ? least : even, (size_t)room, rows, j);
  } else {
    j->blocks = (s->inner + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    int64_t grain = PIECE_SIZE / (s->n * COLUMN_BLOCK) + 1;
    luc__parallel_for(ctx, s->outer * j->blocks, grain, columns, j);
  }
  return LUC_OK;
}

luc_status luc__softmax(luc_context *ctx, const luc_softmax *s, const void *x, void *y) {
  job j = {.s = s, .x = x, .to = y};
  return run(ctx, &j);
}

luc_status luc__softmax_backward(luc_context *ctx, const luc_softmax *s, const void *dy,
                                 const void *y, void *dx) {
  job j = {.s = s, .dy = dy, .y = y, .to = dx, .backward = true};
  return run(ctx, &j);
}

luc_status luc__nll_loss(luc_context *ctx, const luc_nll *l, const void *x, void *out,
                         void *total_weight) {
  luc__kernels(ctx)->softmax[l->dtype].nll(l, x, out, total_weight);
  return LUC_OK;
}

typedef struct nll_job {
  const luc_nll *nll;
  const luc_softmax_kernels *kernels;
  const void *dy, *total_weight;
  void *dx;
} nll_job;

static void run_nll_backward(void *arg, int64_t begin, int64_t end) {
  const nll_job *j = arg;
  j->kernels->nll_backward(j->nll, j->dy, j->total_weight, j->dx, begin, end);
}

luc_status luc__nll_loss_backward(luc_context *ctx, const luc_nll *l, const void *dy,
                                  const void *total_weight, void *dx) {
  nll_job j = {l, &luc__kernels(ctx)->softmax[l->dtype], dy, total_weight, dx};
  int64_t plane = l->classes * l->inner;
  luc__parallel_for(ctx, l->batch, PIECE_SIZE / (plane + 1) + 1, run_nll_backward, &j);
  return LUC_OK;
}
