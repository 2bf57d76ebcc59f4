/* Recurrent layers: rows of the batch in ranges, each through all steps, or few rows step by step,
 * each cut along the hidden units. Weights are packed once, in blocks of columns as wide as a tile
 * of the product, and read again in every step. Of a single step, as a cell takes, the product is
 * one like any other: whole weights, packed, would be out of the cache before rows meet them. */
#include "cpu/recurrence.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/recurrence_kernels.h"
#include "cpu/scratch.h"

/* Columns of a block, or units of a piece of a step: a multiple of every tile's width (with AMX's
 * two tiles are beside each other). What is worth a range, in multiplications, or cutting steps, in
 * weights that one reads for a row, or a piece of the packing, in weights. */
static const int64_t WIDTH = 48, TILES_WIDTH = 64, RANGE_WORK = 1 << 18, STEP_WORK = 1 << 16,
                     PACK_WORK = 1 << 14;

/* A factor B [k, n] of products: wᵀ of w [n, k] (turned) or w [k, n] itself; packed in blocks of
 * `width` columns, of which none holds some of two groups (gates), unless data is NULL. Tiles take
 * strips, whose k is filled up with zeros to depth. */
typedef struct factor {
  const char *w;
  bool turned;
  char *data;
  size_t bytes;
  int64_t k, n, group, width, depth;
} factor;

typedef struct job {
  luc_context *ctx;
  const luc_recurrence *r;
  const luc_recurrence_grads *g;
  const luc_recurrence_kernels *kernels;
  const luc_gemm_kernels *gemm;
  int64_t size, gates, work; /* bytes of an element; elements of a row of gates and of work */
  int64_t range;             /* rows */
  bool by_units;             /* all rows are one range, whose steps are cut */
  int64_t piece;             /* units of a piece of a step */
  bool once;                 /* one step, whose product is not the ranges' */
  factor share, projection;
  char *halves; /* pairs: what meets w_hh next, as bfloat16, [batch, half_pitch], and zeros */
  int64_t half_width, half_pitch;
  size_t half_bytes;
  char *step; /* once: the state's share of the gates where no gradient keeps it, [batch, pitch] */
  size_t step_bytes;
} job;

/* Rows [begin, end) of the batch, in one thread's hands; of them `units` units from `unit` on. */
typedef struct range {
  const job *j;
  int64_t begin, end, unit, units;
  char *scratch;
} range;

/* Row `row` of a matrix with rows of `width` elements; NULL stays. */
static char *at(const job *j, const void *matrix, int64_t row, int64_t width) {
  return matrix ? (char *)matrix + row * width * j->size : NULL;
}

/* Worth it for many rows of which several meet B at once: dots of rows with w's are as fast for
 * few. */
enum { LEAST_ROWS = 32 };
static bool pays_to_pack(const job *j) {
  const luc_recurrence *r = j->r;
  return j->range >= 4 && r->offsets[r->steps] >= LEAST_ROWS;
}

/* Column i of B, packed. */
static char *packed_at(const job *j, const factor *b, int64_t i) {
  const int64_t before = i / b->group * luc__whole(b->group, b->width) + i % b->group;
  return at(j, b->data, before, b->depth);
}

static int64_t block_at(const factor *b, int64_t i, int64_t end) {
  const int64_t group_end = (i / b->group + 1) * b->group;
  return luc__min64(luc__min64(end, group_end) - i, b->width);
}

typedef struct packing {
  const job *j;
  const factor *b;
} packing;

static void pack_blocks(void *arg, int64_t begin, int64_t end) {
  const packing *p = arg;
  const job *j = p->j;
  const factor *b = p->b;
  const int64_t in_group = luc__cuts(b->group, b->width);
  for (int64_t block = begin; block < end; block++) {
    const int64_t i = block / in_group * b->group + block % in_group * b->width;
    const int64_t columns = block_at(b, i, b->n);
    char *to = packed_at(j, b, i);
    if (b->turned) j->gemm->transpose(columns, b->k, at(j, b->w, i, b->k), b->k, to, b->width);
    for (int64_t q = 0; !b->turned && q < b->k; q++)
      memcpy(at(j, to, q, b->width), at(j, b->w, q, b->n) + i * j->size,
             (size_t)(columns * j->size));
  }
}

static luc_status make_factor(luc_context *ctx, const job *j, factor *b, const void *w, bool turned,
                              int64_t k, int64_t n, int64_t group) {
  const bool tiles = j->gemm->tiles;
  *b = (factor){.w = w, .turned = turned, .k = k, .n = n, .group = group};
  if (!w || !pays_to_pack(j)) return LUC_OK;
  b->width = tiles ? LUC_GEMM_STRIP : WIDTH, b->depth = tiles ? luc__whole(k, LUC_GEMM_STRIP) : k;
  b->bytes =
      luc__mul_size((size_t)(n / group * luc__whole(group, b->width) * b->depth), (size_t)j->size);
  b->data = luc__alloc(ctx, b->bytes);
  if (!b->data) return LUC_ERR_MEMORY;
  if (tiles) memset(b->data, 0, b->bytes);
  packing p = {j, b};
  const int64_t blocks = n / group * luc__cuts(group, b->width);
  luc__parallel_for(ctx, blocks, PACK_WORK / (b->width * k) + 1, pack_blocks, &p);
  return LUC_OK;
}

/* Columns [first, end) of c [m, b.n] = a [m, b.k] B + beta c + bias; rows of c at distance c_row.
 * Packed, first begins a block. */
static void product_part(const job *j, const factor *b, int64_t first, int64_t end, int64_t m,
                         const void *a, double beta, void *c, int64_t c_row, const void *bias) {
  luc_gemm g = {.m = m, .k = b->k, .a = a, .a_row = b->k, .a_col = 1, .alpha = 1, .beta = beta};
  g.c_row = c_row;
  g.bias_kind = LUC_BIAS_COLUMN;
  const bool strips = b->data && j->gemm->tiles;
  if (strips) g.k = b->depth, g.a_row = j->half_pitch / 2;
  g.b_row = strips ? b->depth : b->data ? b->width : b->turned ? 1 : b->n;
  g.b_col = !b->data && b->turned ? b->k : 1;
  for (int64_t i = first; i < end; i += g.n) {
    g.n = b->data && !strips ? block_at(b, i, end) : end - i;
    g.b = b->data ? packed_at(j, b, i) : b->w + i * (b->turned ? b->k : 1) * j->size;
    g.c = (char *)c + i * j->size;
    g.bias = bias ? (const char *)bias + i * j->size : NULL;
    if (strips)
      j->gemm->strips(&g);
    else if (g.b_row == 1 && g.b_col != 1)
      j->gemm->dots(&g);
    else
      j->gemm->block(&g);
  }
}

static void product(const job *j, const factor *b, int64_t m, const void *a, void *c,
                    int64_t c_row) {
  product_part(j, b, 0, b->n, m, a, 0, c, c_row, NULL);
}

static int64_t rows_of(const luc_recurrence *r, int64_t step) {
  return r->offsets[step + 1] - r->offsets[step];
}

/* How many rows of a range take part in a step: the first ones. */
static int64_t taking_part(const range *p, int64_t step) {
  return luc__max64(luc__min64(rows_of(p->j->r, step), p->end) - p->begin, 0);
}

/* The rows of [rows, width] that a range has in a step. */
static char *rows_at(const range *p, const void *matrix, int64_t step, int64_t width) {
  return at(p->j, matrix, p->j->r->offsets[step] + p->begin, width);
}

/* Rows of a range that meet w_hh in the next step. */
static void round_rows(const range *p, int64_t n, const char *rows) {
  const job *j = p->j;
  if (!j->halves) return;
  for (int64_t i = 0; i < n; i++)
    j->gemm->round(j->half_width, at(j, rows, i, j->half_width),
                   at(j, j->halves, p->begin + i, j->half_pitch / 2));
}

/* Those rows, as the product takes them. */
static const char *rounded(const range *p, const char *rows) {
  return p->j->halves ? at(p->j, p->j->halves, p->begin, p->j->half_pitch / 2) : rows;
}

static int64_t step_at(const luc_recurrence *r, int64_t i) {
  return r->reverse ? r->steps - 1 - i : i;
}

/* ---- a step ---- */

/* One of a range's steps, with the whole range or by some units of all its rows after others. */
typedef struct step_job {
  const range *rows;
  void (*run)(const struct step_job *s, const range *p);
  int64_t at, n;            /* which; how many rows take part */
  int64_t before, before_n; /* backward: the step whose gates have their gradients */
} step_job;

static void run_pieces(void *arg, int64_t begin, int64_t end) {
  const step_job *s = arg;
  range p = *s->rows;
  for (int64_t i = begin; i < end; i++) {
    p.unit = i * p.j->piece;
    p.units = luc__min64(p.j->r->hidden - p.unit, p.j->piece);
    s->run(s, &p);
  }
}

static void run_step(luc_context *ctx, step_job *s) {
  const job *j = s->rows->j;
  if (j->by_units)
    luc__parallel_for(ctx, luc__cuts(j->r->hidden, j->piece), 1, run_pieces, s);
  else
    s->run(s, s->rows);
}

/* States at first become those at last, in place. */
static void begin_states(const range *p, const void *from, void *to, int64_t width) {
  const job *j = p->j;
  if (!to) return;
  char *rows = at(j, to, p->begin, width);
  const size_t bytes = (size_t)((p->end - p->begin) * width * j->size);
  if (from)
    memcpy(rows, at(j, from, p->begin, width), bytes);
  else
    memset(rows, 0, bytes);
}

/* ---- forward ---- */

/* A row of the input's share, from the range's first unit on. */
static const char *input_at(const range *p, int64_t row) {
  const luc_recurrence *r = p->j->r;
  return (const char *)r->gates + (row * p->j->gates + p->unit) * (r->halves ? 2 : p->j->size);
}

/* Pointers are to a row, but x is at the units, which are the range's. */
static void cell_forward(const range *p, const char *x, char *share, char *c, char *h) {
  const luc_recurrence *r = p->j->r;
  const luc_recurrence_kernels *k = p->j->kernels;
  const int64_t n = p->units, skip = p->unit * p->j->size;
  share += skip, h += skip;
  if (c) c += skip;
  switch (r->cell) {
  case LUC_CELL_LSTM: k->lstm(n, r->hidden, r->halves, x, share, c, h); break;
  case LUC_CELL_GRU: k->gru(n, r->hidden, r->halves, x, share, h); break;
  default: k->rnn(n, r->hidden, r->cell == LUC_CELL_RELU, r->halves, x, share, h);
  }
}

/* Elements of a row's place for the state's share of the gates. */
static int64_t share_pitch(const job *j) {
  return j->work ? j->work : j->gates;
}

static bool keeps_share(const job *j) {
  return j->r->work && j->work;
}

/* In scratch it comes after what is projected. */
static char *share_at(const range *p, int64_t step) {
  const job *j = p->j;
  if (j->step) return at(j, j->step, p->begin, share_pitch(j));
  if (keeps_share(j)) return rows_at(p, j->r->work, step, j->work);
  return at(j, p->scratch, j->r->w_hr ? j->range : 0, j->r->hidden);
}

/* y gets the states after the step; a GRU's are made of those before, in their place. */
static void forward_part(const step_job *s, const range *p) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  const int64_t pitch = share_pitch(j), first = p->unit * j->size;
  const int64_t apart = j->by_units ? r->hidden : j->gates;
  const int64_t columns = j->by_units ? p->units : j->gates;
  char *share = share_at(p, s->at), *y = rows_at(p, r->y, s->at, r->output);
  char *h = at(j, r->h_n, p->begin, r->output), *c = at(j, r->c_n, p->begin, r->hidden);
  char *cell_y = r->w_hr ? p->scratch : y;
  for (int64_t g = p->unit; g < j->gates && !j->once; g += apart)
    product_part(j, &j->share, g, g + columns, s->n, rounded(p, h), 0, share, pitch, r->b_hh);
  for (int64_t i = 0; i < s->n; i++) {
    char *to = at(j, cell_y, i, r->hidden);
    if (r->cell == LUC_CELL_GRU)
      memcpy(to + first, at(j, h, i, r->hidden) + first, (size_t)(p->units * j->size));
    cell_forward(p, input_at(p, r->offsets[s->at] + p->begin + i), at(j, share, i, pitch),
                 at(j, c, i, r->hidden), to);
  }
  if (r->w_hr) product(j, &j->projection, s->n, cell_y, y, r->output);
}

static void forward_steps(luc_context *ctx, const range *p) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  char *h = at(j, r->h_n, p->begin, r->output), *c = at(j, r->c_n, p->begin, r->hidden);
  begin_states(p, r->h, r->h_n, r->output);
  begin_states(p, r->c, r->c_n, r->hidden);
  round_rows(p, p->end - p->begin, h);
  for (int64_t i = 0; i < r->steps; i++) {
    step_job s = {.rows = p, .run = forward_part, .at = step_at(r, i)};
    s.n = taking_part(p, s.at);
    if (s.n == 0) continue;
    run_step(ctx, &s);
    memcpy(h, rows_at(p, r->y, s.at, r->output), (size_t)(s.n * r->output * j->size));
    round_rows(p, s.n, h);
    if (r->cells)
      memcpy(rows_at(p, r->cells, s.at, r->hidden), c, (size_t)(s.n * r->hidden * j->size));
  }
}

/* ---- backward ---- */

/* What rows [0, n) of a range had in `matrix` before a step: the rows of the step before, or the
 * states at first where there is none. */
static void copy_before(const range *p, int64_t step, int64_t n, const void *matrix,
                        const void *first, int64_t width, char *to) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  int64_t before = r->reverse ? step + 1 : step - 1, known = 0;
  if (before >= 0 && before < r->steps) known = luc__min64(taking_part(p, before), n);
  const size_t row = (size_t)(width * j->size);
  if (known > 0) memcpy(to, rows_at(p, matrix, before, width), (size_t)known * row);
  if (known < n)
    memcpy(at(j, to, known, width), at(j, first, p->begin + known, width),
           (size_t)(n - known) * row);
}

/* Scratch of a range: dh, dc of its rows, the gradient before the projection, c before a step. */
typedef struct carried {
  char *dh, *dc, *dm, *c_before;
} carried;

static carried cut_scratch(const range *p) {
  const job *j = p->j;
  const int64_t hidden = j->range * j->r->hidden * j->size;
  carried c = {.dm = p->scratch, .c_before = p->scratch + hidden};
  c.dh = at(j, j->g->dh, p->begin, j->r->output);
  c.dc = at(j, j->g->dc, p->begin, j->r->hidden);
  return c;
}

/* What a cell's row has at the range's first unit; NULL stays. */
static char *unit_at(const range *p, const void *matrix, int64_t row, int64_t width) {
  char *found = at(p->j, matrix, row, width);
  return found ? found + p->unit * p->j->size : NULL;
}

/* Row i of a step; dm: the gradient of its output before a projection. */
static void cell_backward(const range *p, const carried *s, int64_t step, int64_t i,
                          const char *dm) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  const luc_recurrence_grads *g = j->g;
  const int64_t row = r->offsets[step] + p->begin + i, n = p->units, pitch = r->hidden;
  const char *work = unit_at(p, r->work, row, j->work);
  char *dgates = unit_at(p, g->dgates, row, j->gates), *d = unit_at(p, dm, i, pitch);
  if (r->cell == LUC_CELL_LSTM)
    j->kernels->lstm_backward(n, pitch, work, unit_at(p, s->c_before, i, pitch),
                              unit_at(p, r->cells, row, pitch), d, unit_at(p, s->dc, i, pitch),
                              dgates, r->w_hr ? unit_at(p, g->unprojected, row, pitch) : NULL);
  else if (r->cell == LUC_CELL_GRU)
    j->kernels->gru_backward(n, pitch, work, unit_at(p, g->before, row, r->output), d, dgates,
                             unit_at(p, g->dshare, row, j->gates));
  else
    j->kernels->rnn_backward(n, pitch, r->cell == LUC_CELL_RELU, unit_at(p, r->y, row, r->output),
                             d, dgates);
}

/* What the gradient of a step needs of the step before. */
static void copy_all_before(const range *p, const carried *s, int64_t step, int64_t n) {
  const luc_recurrence *r = p->j->r;
  copy_before(p, step, n, r->y, r->h, r->output, rows_at(p, p->j->g->before, step, r->output));
  if (r->cell == LUC_CELL_LSTM) copy_before(p, step, n, r->cells, r->c, r->hidden, s->c_before);
}

/* What the step before left to do, a product with all its gates, then the step. */
static void backward_part(const step_job *s, const range *p) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  const luc_recurrence_grads *g = j->g;
  const carried c = cut_scratch(p);
  const int64_t n = s->n, columns = j->by_units ? p->units : r->output;
  const char *dm = r->w_hr ? c.dm : c.dh;
  if (s->before_n > 0 && !j->once)
    product_part(j, &j->share, p->unit, p->unit + columns, s->before_n,
                 rounded(p, rows_at(p, g->dshare, s->before, j->gates)), r->cell == LUC_CELL_GRU,
                 c.dh, r->output, NULL);
  const int64_t runs = j->by_units ? n : 1, length = j->by_units ? columns : n * r->output;
  for (int64_t i = 0; g->dy && i < runs; i++)
    j->kernels->add(length, unit_at(p, rows_at(p, g->dy, s->at, r->output), i, r->output),
                    unit_at(p, c.dh, i, r->output));
  if (r->w_hr && n > 0) {
    memcpy(rows_at(p, g->dprojected, s->at, r->output), c.dh, (size_t)(n * r->output * j->size));
    product(j, &j->projection, n, c.dh, c.dm, r->hidden);
  }
  for (int64_t i = 0; i < n; i++) cell_backward(p, &c, s->at, i, dm);
}

static void backward_steps(luc_context *ctx, const range *p) {
  const job *j = p->j;
  const luc_recurrence *r = j->r;
  const luc_recurrence_grads *g = j->g;
  const carried c = cut_scratch(p);
  step_job s = {.rows = p, .run = backward_part};
  begin_states(p, g->dh_n, g->dh, r->output);
  begin_states(p, g->dc_n, g->dc, r->hidden);
  for (int64_t k = r->steps - 1; k >= -1; k--) { /* -1: what the first step left */
    s.at = k >= 0 ? step_at(r, k) : 0;
    s.n = k >= 0 ? taking_part(p, s.at) : 0;
    copy_all_before(p, &c, s.at, s.n);
    run_step(ctx, &s);
    round_rows(p, s.n, rows_at(p, g->dshare, s.at, j->gates));
    s.before = s.at, s.before_n = s.n;
  }
}

/* ---- both: backward where gradients are given ---- */

static void run_ranges(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t last = luc__min64((i + 1) * j->range, j->r->batch);
    const range p = {j, i * j->range, last, 0, j->r->hidden, scratch};
    (j->g ? backward_steps : forward_steps)(j->ctx, &p);
  }
}

/* Rows of a range: eight fill a tile of the product, fewer if else there were no two ranges; of
 * AMX's 16 do, and 32 two beside each other. */
static int64_t choose_range(const job *j) {
  const luc_recurrence *r = j->r;
  int64_t rows = r->batch >= 16 ? 8 : luc__cuts(r->batch, 2),
          row_work = r->steps * j->gates * r->output;
  if (j->gemm->tiles) rows = r->batch >= 64 ? 32 : 16;
  while (rows < r->batch && rows * row_work < RANGE_WORK) rows *= 2;
  while (luc__cuts(r->batch, rows) > 32) rows *= 2;
  return luc__min64(rows, r->batch);
}

/* Few rows of many units; a projection would need all of them twice. Two ranges of 4 rows and more
 * read weights that the cache keeps faster than steps are begun. Tiles read weights as fast as 32
 * rows meet them, so that more rows are few. */
static bool goes_by_units(const job *j) {
  const luc_recurrence *r = j->r;
  const bool tiles = j->gemm->tiles;
  return r->batch < (tiles ? 128 : 16) && !r->w_hr && r->hidden >= 2 * WIDTH &&
         j->gates * r->output >= (r->batch < 8 || tiles ? STEP_WORK : 4 * STEP_WORK);
}

/* Few weights, packed, are still in the cache; the way back need not turn them. */
static bool goes_at_once(const job *j) {
  const luc_recurrence *r = j->r;
  return r->steps == 1 && !r->w_hr && pays_to_pack(j) &&
         (j->g || j->gates * r->output >= STEP_WORK);
}

/* The product of a single step with all rows: before the ranges take it, or after they left it. */
static luc_status product_once(luc_context *ctx, const job *j) {
  const luc_recurrence *r = j->r;
  const int64_t pair = r->pairs ? 2 : 1;
  luc_gemm g = {.dtype = r->dtype, .m = r->batch, .b = r->w_hh, .a_col = 1, .batch = 1};
  g.pairs = r->pairs;
  g.alpha = 1;
  g.k = luc__cuts(j->g ? j->gates : r->output, pair);
  g.n = j->g ? r->output : j->gates;
  g.a_row = g.k;
  if (j->g) {
    g.a = r->pairs ? j->halves : j->g->dshare;
    g.b_row = g.n, g.b_col = 1;
    g.beta = r->cell == LUC_CELL_GRU;
    g.c = j->g->dh, g.c_row = g.n;
  } else {
    g.a = r->pairs ? j->halves : r->h;
    g.b_row = 1, g.b_col = g.k;
    g.c = j->step ? j->step : r->work, g.c_row = share_pitch(j);
    g.bias = r->b_hh, g.bias_kind = LUC_BIAS_COLUMN;
    round_rows(&(range){.j = j}, r->batch, r->h);
  }
  return luc__gemm(ctx, &g);
}

/* Where that product goes, unless it is kept. */
static luc_status make_step(luc_context *ctx, job *j) {
  if (!j->once || j->g || keeps_share(j)) return LUC_OK;
  j->step_bytes = luc__mul_size((size_t)(j->r->batch * share_pitch(j)), (size_t)j->size);
  j->step = luc__alloc(ctx, j->step_bytes);
  return j->step ? LUC_OK : LUC_ERR_MEMORY;
}

static luc_status make_halves(luc_context *ctx, job *j) {
  const bool strips = j->gemm->tiles && !j->once;
  const int64_t rows = strips ? j->r->batch + LUC_GEMM_STRIP - 1 : j->r->batch;
  j->half_width = j->g ? j->gates : j->r->output;
  j->half_pitch = luc__whole(j->half_width, strips ? 2 * LUC_GEMM_STRIP : 2);
  j->half_bytes = luc__mul_size((size_t)(rows * j->half_pitch), sizeof(uint16_t));
  j->halves = luc__alloc(ctx, j->half_bytes);
  if (!j->halves) return LUC_ERR_MEMORY;
  if (strips || j->half_pitch > j->half_width) memset(j->halves, 0, j->half_bytes);
  return LUC_OK;
}

static luc_status make_factors(luc_context *ctx, job *j) {
  const luc_recurrence *r = j->r;
  const int64_t group = j->by_units ? r->hidden : j->gates, pair = r->pairs ? 2 : 1;
  if (r->pairs) LUC_TRY(make_halves(ctx, j));
  if (j->once) return make_step(ctx, j);
  if (j->g) {
    const int64_t k = luc__cuts(j->gates, pair);
    LUC_TRY(make_factor(ctx, j, &j->share, r->w_hh, false, k, r->output, r->output));
    return make_factor(ctx, j, &j->projection, r->w_hr, false, r->output, r->hidden, r->hidden);
  }
  const int64_t k = luc__cuts(r->output, pair);
  LUC_TRY(make_factor(ctx, j, &j->share, r->w_hh, true, k, j->gates, group));
  return make_factor(ctx, j, &j->projection, r->w_hr, true, r->hidden, r->output, r->output);
}

/* Those for large products only where weights are packed. */
static const luc_gemm_kernels *kernels_of(luc_context *ctx, const job *j) {
  const luc_recurrence *r = j->r;
  luc_gemm g = {.dtype = r->dtype, .pairs = r->pairs, .a_col = 1, .b_row = 1, .batch = 1};
  g.n = j->gates, g.k = luc__cuts(r->output, 2);
  if (r->offsets[r->steps] >= LEAST_ROWS) g.m = r->batch;
  return luc__gemm_kernels(ctx, &g);
}

/* Elements of scratch for each row of a range. */
static int64_t scratch_width(const job *j) {
  const int64_t hidden = j->r->hidden;
  if (j->g) return 2 * hidden;
  return (j->step || keeps_share(j) ? 0 : share_pitch(j)) + (j->r->w_hr ? hidden : 0);
}

static luc_status run(luc_context *ctx, job *j) {
  const luc_recurrence *r = j->r;
  luc_status status = LUC_OK;
  if (r->batch == 0) return status;
  j->kernels = &luc__kernels(ctx)->recurrence[r->dtype];
  j->size = (int64_t)luc__dtype_size(r->dtype);
  j->gates = luc__cell_gates(r->cell) * r->hidden;
  j->gemm = kernels_of(ctx, j);
  j->work = luc__cell_work(r->cell) * r->hidden;
  j->by_units = goes_by_units(j);
  j->piece = j->gemm->tiles ? TILES_WIDTH : WIDTH;
  j->range = j->by_units ? r->batch : choose_range(j);
  j->once = goes_at_once(j);
  LUC_GO(make_factors(ctx, j));
  if (j->once && !j->g) LUC_GO(product_once(ctx, j));
  const int64_t ranges = luc__cuts(r->batch, j->range);
  size_t bytes = luc__mul_size((size_t)(j->range * scratch_width(j)), (size_t)j->size);
  LUC_GO(luc__parallel_scratch(ctx, ranges, 1, bytes, run_ranges, j));
  if (j->once && j->g) LUC_GO(product_once(ctx, j));
done:
  luc__free(ctx, j->share.data, j->share.bytes);
  luc__free(ctx, j->projection.data, j->projection.bytes);
  luc__free(ctx, j->halves, j->half_bytes);
  luc__free(ctx, j->step, j->step_bytes);
  return status;
}

luc_status luc__recurrence(luc_context *ctx, const luc_recurrence *r) {
  job j = {.ctx = ctx, .r = r};
  return run(ctx, &j);
}

luc_status luc__recurrence_backward(luc_context *ctx, const luc_recurrence *r,
                                    const luc_recurrence_grads *g) {
  job j = {.ctx = ctx, .r = r, .g = g};
  return run(ctx, &j);
}
