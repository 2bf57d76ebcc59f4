/* Weight gradients tap by tap: see conv_taps.h. Cuts follow from the sizes alone, so results do not
 * depend on the number of threads. */
#include "cpu/conv_taps.h"

#include <string.h>

#include "cpu/conv_plan.h"
#include "cpu/cuts.h"
#include "cpu/gemm.h"
#include "cpu/kernels.h"

/* Elements moved that are worth a piece. */
static const int64_t PIECE_SIZE = 1 << 15;

typedef struct job {
  luc_conv_plan plan;
  luc_dtype dtype;
  int64_t size;           /* of an element */
  char *weights;          /* their gradient: [taps, channels, filters] */
  char *inputs, *outputs; /* [channels, pixels] and [filters, pixels] of one tap */
  size_t weight_bytes, input_bytes, output_bytes;
  char *dweight;
} job;

/* The pixels of one tap: outputs from out[d] on, as many inputs from in[d] on. */
typedef struct tap {
  int64_t in[3], out[3], count[3], pixels;
} tap;

static tap tap_at(const luc_conv_plan *p, int64_t i) {
  const int64_t at[] = {i / (p->kernel[1] * p->kernel[2]), i / p->kernel[2] % p->kernel[1],
                        i % p->kernel[2]};
  tap t = {.pixels = 1};
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const int64_t shift = at[d] * p->dilation[d] - p->padding[d];
    t.out[d] = luc__max64(-shift, 0), t.in[d] = luc__max64(shift, 0);
    t.count[d] = luc__max64(p->in[d] - t.out[d] - t.in[d], 0);
    t.pixels *= t.count[d];
  }
  return t;
}

/* A dilation lets minimal filtering work on few pixels of each class. */
bool luc__conv_taps_suits(const luc_conv *c) {
  if (c->groups > 1 || c->in_channels < 64 || c->out_channels < 32) return false;
  luc_conv_plan p;
  luc__conv_plan_sizes(&p, c);
  double met = 0;
  bool wide = false;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    if (p.stride[d] > 1 || p.out[d] != p.in[d] || p.padding[d] % p.dilation[d] != 0) return false;
    if (p.padding[d] / p.dilation[d] >= p.kernel[d]) return false;
    wide = wide || (p.kernel[d] > 1 && p.dilation[d] >= 6);
  }
  for (int64_t i = 0; wide && i < p.taps; i++) met += (double)tap_at(&p, i).pixels;
  return wide && p.pixels >= 64 && met <= 0.75 * (double)(p.taps * p.pixels);
}

static void job_free(luc_context *ctx, job *j) {
  luc__free(ctx, j->weights, j->weight_bytes);
  luc__free(ctx, j->inputs, j->input_bytes);
  luc__free(ctx, j->outputs, j->output_bytes);
}

static luc_status job_init(luc_context *ctx, job *j, const luc_conv *c) {
  *j = (job){.dtype = c->dtype, .size = (int64_t)luc__dtype_size(c->dtype)};
  luc_conv_plan *p = &j->plan;
  luc__conv_plan_sizes(p, c);
  p->gemm = &luc__kernels(ctx)->gemm[c->dtype];
  j->weight_bytes = luc__mul_size((size_t)(p->k * p->filters), (size_t)j->size);
  j->input_bytes = luc__mul_size((size_t)(p->channels * p->pixels), (size_t)j->size);
  j->output_bytes = luc__mul_size((size_t)(p->filters * p->pixels), (size_t)j->size);
  j->weights = luc__alloc(ctx, j->weight_bytes);
  if (j->weights) j->inputs = luc__alloc(ctx, j->input_bytes);
  if (j->inputs) j->outputs = luc__alloc(ctx, j->output_bytes);
  if (j->outputs) return LUC_OK;
  job_free(ctx, j);
  return LUC_ERR_MEMORY;
}

/* ---- the pixels of a tap from images to matrices ---- */

/* Do they follow each other in the images? Then those are matrices themselves. */
static bool is_whole(const luc_conv_plan *p, const tap *t) {
  return t->count[2] == p->in[2] && (t->count[1] == p->in[1] || p->in[0] == 1);
}

/* Bytes from an image's first pixel. */
static int64_t offset_of(const job *j, const int64_t *first) {
  const int64_t *in = j->plan.in;
  return ((first[0] * in[1] + first[1]) * in[2] + first[2]) * j->size;
}

typedef struct move {
  const job *j;
  const tap *t;
  const char *image; /* the tap's first pixel */
  char *matrix;
} move;

static void move_channels(void *arg, int64_t begin, int64_t end) {
  const move *m = arg;
  const luc_conv_plan *p = &m->j->plan;
  const int64_t *count = m->t->count, row = count[2] * m->j->size;
  char *matrix = m->matrix + begin * m->t->pixels * m->j->size;
  for (int64_t i = begin; i < end; i++)
    for (int64_t z = 0; z < count[0]; z++)
      for (int64_t y = 0; y < count[1]; y++, matrix += row) {
        const int64_t at = (z * p->in[1] + y) * p->in[2] + i * p->pixels;
        memcpy(matrix, m->image + at * m->j->size, (size_t)row);
      }
}

static void move_pixels(luc_context *ctx, const job *j, const tap *t, int64_t channels,
                        const char *image, char *matrix) {
  move m = {j, t, image, matrix};
  luc__parallel_for(ctx, channels, PIECE_SIZE / t->pixels + 1, move_channels, &m);
}

/* ---- the weight's gradient ---- */

static void turn_channels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *p = &j->plan;
  for (int64_t i = begin; i < end; i++)
    p->gemm->transpose(p->taps, p->filters, j->weights + i * p->filters * j->size,
                       p->channels * p->filters, j->dweight + i * p->taps * j->size, p->k);
}

luc_status luc__conv_taps_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                 void *dweight) {
  job j;
  LUC_TRY(job_init(ctx, &j, c));
  const luc_conv_plan *p = &j.plan;
  luc_status status = LUC_OK;
  j.dweight = dweight;
  const int64_t matrix = p->channels * p->filters * j.size, plane = p->pixels * j.size;
  memset(j.weights, 0, j.weight_bytes); /* taps that meet nothing */
  luc_gemm g = {.dtype = j.dtype, .batch = 1, .alpha = 1};
  g.m = p->channels, g.n = g.c_row = p->filters, g.a_col = g.b_row = 1;
  for (int64_t i = 0; i < c->batch * p->taps && status == LUC_OK; i++) {
    const int64_t n = i / p->taps;
    const tap t = tap_at(p, i % p->taps);
    if (t.pixels == 0) continue;
    const char *in = (const char *)x + n * p->channels * plane + offset_of(&j, t.in);
    const char *out = (const char *)dy + n * p->filters * plane + offset_of(&j, t.out);
    const bool whole = is_whole(p, &t);
    if (!whole) move_pixels(ctx, &j, &t, p->channels, in, j.inputs);
    if (!whole) move_pixels(ctx, &j, &t, p->filters, out, j.outputs);
    g.a = whole ? in : j.inputs, g.b = whole ? out : j.outputs;
    g.k = t.pixels;
    g.a_row = g.b_col = whole ? p->pixels : t.pixels;
    g.c = j.weights + i % p->taps * matrix;
    g.beta = n > 0;
    status = luc__gemm(ctx, &g);
  }
  if (status == LUC_OK)
    luc__parallel_for(ctx, p->channels, PIECE_SIZE / (p->taps * p->filters) + 1, turn_channels, &j);
  job_free(ctx, &j);
  return status;
}
