/* Masks: their set elements are counted in blocks first, so that each block can then be written by
 * itself. The inner loops have no branch that depends on the mask. */
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/index.h"
#include "cpu/index_kernels.h"
#include "cpu/kernels.h"

enum { BLOCK = 1 << 14, GRAIN_BLOCKS = 4 };

/* Only the lowest bit of a mask's byte counts, here and wherever it is written. */
static void count_blocks(void *arg, int64_t begin, int64_t end) {
  luc_mask *m = arg;
  const uint64_t ones = 0x0101010101010101u;
  for (int64_t b = begin; b < end; b++) {
    int64_t i = b * BLOCK, past = i + BLOCK < m->n ? i + BLOCK : m->n, count = 0;
    for (; i + 8 <= past; i += 8) {
      uint64_t word;
      memcpy(&word, m->bits + i, sizeof word);
      count += (int64_t)((word & ones) * ones >> 56);
    }
    for (; i < past; i++) count += ((const uint8_t *)m->bits)[i] & 1;
    m->starts[b] = count;
  }
}

static int64_t num_blocks(const luc_mask *m) {
  return luc__cuts(m->n, BLOCK);
}

luc_status luc__mask_begin(luc_context *ctx, const bool *bits, int64_t n, luc_mask *mask) {
  *mask = (luc_mask){.bits = bits, .n = n};
  int64_t blocks = num_blocks(mask);
  mask->bytes = (size_t)(blocks + 1) * sizeof *mask->starts;
  mask->starts = luc__alloc(ctx, mask->bytes);
  if (!mask->starts) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, blocks, GRAIN_BLOCKS, count_blocks, mask);
  for (int64_t b = 0; b < blocks; b++) {
    int64_t count = mask->starts[b];
    mask->starts[b] = mask->count;
    mask->count += count;
  }
  mask->starts[blocks] = mask->count;
  return LUC_OK;
}

void luc__mask_end(luc_context *ctx, luc_mask *mask) {
  luc__free(ctx, mask->starts, mask->bytes);
  mask->starts = NULL;
}

/* ---- writing what is set ---- */

typedef struct walk {
  const luc_mask *mask;
  const luc_index_kernels *kernels;
  int ndim;
  int64_t row, step; /* the last dimension */
  const int64_t *sizes, *strides;
  bool coordinates;
  int64_t dim_step, item_step, first;
  int64_t *out;
} walk;

/* Writes base + i * step for each set bit of a row of n, at most `left` of them; returns their
 * number. */
static int64_t write_row(const walk *w, const uint8_t *bits, int64_t n, int64_t base, int64_t step,
                         int64_t left, int64_t *out, int64_t out_step) {
  enum { STRIP = 512 };
  int64_t places[STRIP], k = 0;
  if (out_step == 1) return w->kernels->choose_places(out, base, step, (const bool *)bits, n, left);
  for (int64_t i = 0, m; i < n && k < left; i += m) {
    m = luc__min64(n - i, STRIP);
    const int64_t found = w->kernels->choose_places(places, base + i * step, step,
                                                    (const bool *)bits + i, m, left - k);
    for (int64_t q = 0; q < found; q++) out[(k + q) * out_step] = places[q];
    k += found;
  }
  return k;
}

/* The row of the grid at coordinates `at`, from place `from` of it on: n elements. */
static int64_t one_row(const walk *w, const int64_t *at, int64_t from, const uint8_t *bits,
                       int64_t n, int64_t number, int64_t left) {
  int last = w->ndim - 1;
  if (!w->coordinates) {
    int64_t base = from * w->step;
    for (int d = 0; d < last; d++) base += at[d] * w->strides[d];
    return write_row(w, bits, n, base, w->step, left, w->out + number, 1);
  }
  const int64_t step = w->item_step, first = w->first;
  int64_t *out = w->out + number * step;
  if (last < 0) return n && left ? bits[0] & 1 : 0;
  const int64_t k = write_row(w, bits, n, from + first, 1, left, out + last * w->dim_step, step);
  for (int d = 0; d < last; d++, out += w->dim_step)
    for (int64_t i = 0, v = at[d] + first; i < k; i++) out[i * step] = v;
  return k;
}

static void write_block(const walk *w, int64_t b) {
  const luc_mask *m = w->mask;
  int64_t i = b * BLOCK, past = i + BLOCK < m->n ? i + BLOCK : m->n;
  int64_t number = m->starts[b], end = m->starts[b + 1], from = i % w->row, rest = i / w->row;
  int64_t at[LUC_MAX_DIMS] = {0};
  for (int d = w->ndim - 2; d >= 0; d--) {
    at[d] = rest % w->sizes[d];
    rest /= w->sizes[d];
  }
  while (i < past && number < end) {
    int64_t n = w->row - from < past - i ? w->row - from : past - i;
    number += one_row(w, at, from, (const uint8_t *)m->bits + i, n, number, end - number);
    i += n;
    from = 0;
    for (int d = w->ndim - 2; d >= 0; d--) {
      if (++at[d] < w->sizes[d]) break;
      at[d] = 0;
    }
  }
}

static void write_blocks(void *arg, int64_t begin, int64_t end) {
  const walk *w = arg;
  for (int64_t b = begin; b < end; b++)
    if (w->mask->starts[b] < w->mask->starts[b + 1]) write_block(w, b);
}

static void run(luc_context *ctx, walk *w) {
  w->kernels = luc__kernels(ctx)->index;
  w->row = w->ndim ? w->sizes[w->ndim - 1] : 1;
  luc__parallel_for(ctx, num_blocks(w->mask), GRAIN_BLOCKS, write_blocks, w);
}

void luc__mask_offsets(luc_context *ctx, const luc_mask *mask, int ndim, const int64_t *sizes,
                       const int64_t *strides, int64_t *offsets) {
  int64_t own_sizes[LUC_MAX_DIMS], own_strides[LUC_MAX_DIMS];
  int kept = 0; /* dimensions that lie evenly are one */
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 1) continue;
    if (kept && own_strides[kept - 1] == strides[d] * sizes[d]) {
      own_sizes[kept - 1] *= sizes[d];
      own_strides[kept - 1] = strides[d];
      continue;
    }
    own_sizes[kept] = sizes[d];
    own_strides[kept++] = strides[d];
  }
  walk w = {.mask = mask, .ndim = kept, .sizes = own_sizes, .strides = own_strides, .out = offsets};
  w.step = kept ? own_strides[kept - 1] : 0;
  run(ctx, &w);
}

void luc__mask_positions(luc_context *ctx, const luc_mask *mask, int ndim, const int64_t *sizes,
                         int64_t dim_step, int64_t item_step, int64_t first, int64_t *out) {
  walk w = {.mask = mask,
            .ndim = ndim,
            .sizes = sizes,
            .coordinates = true,
            .dim_step = dim_step,
            .item_step = item_step,
            .first = first,
            .out = out};
  run(ctx, &w);
}

typedef struct take_job {
  const luc_mask *mask;
  int64_t (*choose)(void *out, const void *in, const bool *mask, int64_t n, int64_t room);
  const char *data;
  char *out;
  int64_t width;
} take_job;

static void take_blocks(void *arg, int64_t begin, int64_t end) {
  const take_job *j = arg;
  const luc_mask *m = j->mask;
  for (int64_t b = begin; b < end; b++) {
    const int64_t i = b * BLOCK, room = m->starts[b + 1] - m->starts[b];
    j->choose(j->out + m->starts[b] * j->width, j->data + i * j->width, m->bits + i,
              luc__min64(m->n - i, BLOCK), room);
  }
}

void luc__mask_take(luc_context *ctx, const luc_mask *mask, const void *data, size_t width,
                    void *out) {
  const int64_t size = (int64_t)width;
  take_job j = {mask, luc__kernels(ctx)->index->choose[luc__log2(size)], data, out, size};
  luc__parallel_for(ctx, num_blocks(mask), GRAIN_BLOCKS, take_blocks, &j);
}

/* ---- filling ---- */

typedef struct fill_job {
  void (*fill)(char *data, const bool *mask, int64_t n, const void *value);
  char *data;
  const bool *bits;
  const void *value;
  int64_t width;
} fill_job;

static void fill_range(void *arg, int64_t begin, int64_t end) {
  const fill_job *j = arg;
  j->fill(j->data + begin * j->width, j->bits + begin, end - begin, j->value);
}

void luc__mask_fill(luc_context *ctx, char *data, const bool *bits, int64_t n, const void *value,
                    size_t width) {
  const int64_t size = (int64_t)width;
  fill_job j = {luc__kernels(ctx)->index->fill[luc__log2(size)], data, bits, value, size};
  luc__parallel_for(ctx, n, GRAIN_BLOCKS * BLOCK, fill_range, &j);
}
