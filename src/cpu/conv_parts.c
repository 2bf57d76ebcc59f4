/* Input gradients by parts: see conv_parts.h. All parts read the same padded copy of the output's
 * gradient, and what they give of a row is dealt to it together. Cuts follow from the sizes alone,
 * so results do not depend on the number of threads. */
#include "cpu/conv_parts.h"

#include <string.h>

#include "cpu/conv_plan.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Elements of sums that live in the second-level cache; channels whose weights are turned at a
 * time: they lie side by side. */
static const int64_t PANEL_SIZE = 1 << 15, TURNED = 16;

/* Along one dimension, input x = stride j + residue - padding meets output j - reach of each tap,
 * where reach is the tap's distance in strides. */
typedef struct side {
  int64_t tap, apart;              /* the first tap and how far the next is */
  int64_t taps, dilation, padding; /* of the convolution by steps of one */
  int64_t first, out;              /* input, and how many */
} side;

typedef struct job {
  luc_conv_plan whole, plan; /* the convolution's, and that of dy's copy */
  const luc_conv_kernels *kernels;
  int64_t size; /* of an element */
  int64_t batch, groups;
  side sides[3][LUC_CONV_PARTS];
  luc_conv_part parts[LUC_CONV_PARTS];
  int64_t count;    /* of parts */
  int64_t *taps;    /* of all parts, of each the last first */
  int64_t *offsets; /* of all parts: [filters, taps] in dy's copy */
  char *weights;    /* of all parts: [groups, channels, filters, taps] */
  size_t bytes;
  const char *weight, *dy;
  char *dx;
  int64_t bands;
} job;

static int64_t sides_along(const luc_conv_plan *p, int d) {
  return luc__min64(p->kernel[d], p->stride[d] / luc__gcd(p->dilation[d], p->stride[d]));
}

int64_t luc__conv_parts_count(const luc_conv *c) {
  luc_conv_plan p;
  luc__conv_plan_sizes(&p, c);
  return sides_along(&p, 0) * sides_along(&p, 1) * sides_along(&p, 2);
}

/* False if there is no such input. */
static bool side_at(const luc_conv_plan *p, int d, int64_t tap, side *s) {
  const int64_t stride = p->stride[d], common = luc__gcd(p->dilation[d], stride);
  const int64_t residue = tap * p->dilation[d] % stride, lack = p->padding[d] - residue;
  const int64_t j = lack > 0 ? luc__cuts(lack, stride) : 0;
  s->tap = tap, s->apart = stride / common;
  s->taps = luc__cuts(p->kernel[d] - tap, s->apart), s->dilation = p->dilation[d] / common;
  s->padding = tap * p->dilation[d] / stride + (s->taps - 1) * s->dilation - j;
  s->first = stride * j - lack;
  if (s->first >= p->in[d]) return false;
  s->out = luc__cuts(p->in[d] - s->first, stride);
  return true;
}

/* The convolution of dy that dimension d of all parts is: its kernel is where any tap may be.
 * Returns how many parts there are along it. */
static int64_t join_sides(job *j, int d, luc_conv *c) {
  const luc_conv_plan *p = &j->whole;
  side *s = j->sides[d];
  int64_t n = 0;
  for (int64_t i = 0; i < sides_along(p, d); i++) n += side_at(p, d, i, &s[n]);
  c->in[d] = p->out[d], c->stride[d] = c->dilation[d] = c->kernel[d] = 1;
  c->padding[d] = s[0].padding, c->out[d] = s[0].out;
  for (int64_t i = 1; i < n; i++) {
    c->out[d] = luc__max64(c->out[d], s[i].out);
    c->padding[d] = luc__max64(c->padding[d], s[i].padding);
  }
  for (int64_t i = 0; i < n; i++)
    c->kernel[d] = luc__max64(c->kernel[d],
                              c->padding[d] - s[i].padding + (s[i].taps - 1) * s[i].dilation + 1);
  return n;
}

/* ---- the weights of the parts ---- */

/* Those of some channels, of all parts while they are in the cache. */
static void turn_channels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *p = &j->whole;
  const int64_t blocks = luc__cuts(p->channels, TURNED);
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / blocks, channel = i % blocks * TURNED, *taps = j->taps;
    const char *from = j->weight + (group * p->filters * p->k + channel * p->taps) * j->size;
    const int64_t channels = luc__min64(TURNED, p->channels - channel);
    for (const luc_conv_part *t = j->parts; t < j->parts + j->count; t++) {
      const int64_t n = t->k / p->filters;
      char *to = (char *)t->weight + (group * p->channels + channel) * t->k * j->size;
      j->kernels->turn(p, taps, n, channels, from, to);
      taps += n;
    }
  }
}

/* A part's taps, and where they meet the copy of the first filter, if there is one. */
static int64_t list_taps(const job *j, const side *const s[3], int64_t *taps, int64_t *offsets) {
  const luc_conv_plan *p = &j->whole, *u = &j->plan;
  int64_t n = 0;
  for (int64_t z = 0; z < s[0]->taps; z++)
    for (int64_t y = 0; y < s[1]->taps; y++)
      for (int64_t x = 0; x < s[2]->taps; x++, n++) {
        const int64_t i[] = {z, y, x};
        int64_t tap = 0, at = 0;
        for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
          tap = tap * p->kernel[d] + s[d]->tap + (s[d]->taps - 1 - i[d]) * s[d]->apart;
          at = at * u->kernel[d] + u->padding[d] - s[d]->padding + i[d] * s[d]->dilation;
        }
        taps[n] = tap;
        offsets[n] = u->offsets ? u->offsets[at] : 0;
      }
  return n;
}

/* Part i, whose weights and offsets follow those of the parts before, as its taps do. Returns the
 * taps behind them. */
static int64_t *make_part(job *j, int64_t i, int64_t *taps) {
  const luc_conv_plan *p = &j->whole, *u = &j->plan;
  luc_conv_part *t = &j->parts[i];
  const side *const s[] = {&j->sides[0][i / (u->sides[1] * u->sides[2])],
                           &j->sides[1][i / u->sides[2] % u->sides[1]],
                           &j->sides[2][i % u->sides[2]]};
  int64_t *offsets = i == 0 ? j->offsets : (int64_t *)t[-1].offsets + t[-1].k;
  char *weight = j->weights;
  if (i > 0) weight = (char *)t[-1].weight + j->groups * p->channels * t[-1].k * j->size;
  const int64_t n = list_taps(j, s, taps, offsets);
  *t = (luc_conv_part){.k = n * p->filters, .offsets = offsets, .weight = weight};
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) t->first[d] = s[d]->first, t->out[d] = s[d]->out;
  for (int64_t k = n; k < t->k; k++) offsets[k] = offsets[k - n] + u->plane;
  return taps + n;
}

static luc_status make_parts(luc_context *ctx, job *j) {
  const luc_conv_plan *p = &j->whole;
  const size_t taps = (size_t)(p->taps * (1 + p->filters)), size = (size_t)j->size;
  const size_t weights = luc__mul_size((size_t)(j->groups * p->filters * p->k), size);
  j->bytes = luc__mul_size(taps, sizeof(int64_t)) + weights;
  j->taps = luc__alloc(ctx, j->bytes);
  if (!j->taps) return LUC_ERR_MEMORY;
  j->offsets = j->taps + p->taps, j->weights = (char *)(j->taps + taps);
  int64_t *taps_left = j->taps;
  for (int64_t i = 0; i < j->count; i++) taps_left = make_part(j, i, taps_left);
  const int64_t grain = PANEL_SIZE / (TURNED * p->filters * p->taps + 1) + 1;
  luc__parallel_for(ctx, j->groups * luc__cuts(p->channels, TURNED), grain, turn_channels, j);
  return LUC_OK;
}

/* ---- all parts together ---- */

static void pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_plan *c = &j->plan;
  const int64_t inputs = j->whole.in_pixels;
  for (int64_t i = begin; i < end; i++) {
    const int64_t image = i / j->bands;
    luc_conv_piece p = {
        .images = 1,
        .count = c->filters,
        .filters = image % j->groups * c->filters,
        .x = j->dy + image * c->channels * c->in_pixels * j->size,
        .y = j->dx + image * c->filters * inputs * j->size,
    };
    luc__conv_take_band(c, i % j->bands, &p);
    j->kernels->parts(c, &p, scratch);
  }
}

/* Products of an image and group. */
static int64_t work_of(const job *j) {
  return j->plan.pixels * j->plan.filters * j->whole.filters * j->whole.taps;
}

/* Rows that sums have room for, of all parts side by side. */
static luc_status deal_parts(luc_context *ctx, job *j) {
  luc_conv_plan *p = &j->plan;
  const int64_t rows = p->sides[2] * p->filters, most = (p->band[0] - 1) * p->pitch + p->band[1];
  p->panel = luc__max64(PANEL_SIZE / rows / 48 * 48, 48);
  p->panel = luc__min64(p->panel, luc__cuts(most, 16) * 16);
  int64_t elements = p->channels * p->plane + rows * luc__max64(p->panel, 48) + 4 * LUC_CONV_SLACK;
  const int64_t all = j->batch * j->groups * j->bands;
  const int64_t grain = LUC_CONV_PIECE / (work_of(j) / j->bands + 1024) + 1;
  size_t bytes = luc__mul_size((size_t)elements, (size_t)j->size);
  bytes += (size_t)luc__conv_tables(p);
  return luc__parallel_scratch(ctx, all, grain, bytes, pieces, j);
}

/* What no part has is zero. */
static void fill_gaps(const job *j) {
  const luc_conv_plan *p = &j->whole;
  bool gaps = false;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    gaps = gaps || j->plan.sides[d] < luc__min64(p->stride[d], p->in[d]);
  const int64_t inputs = j->batch * j->groups * p->channels * p->in_pixels;
  if (gaps) memset(j->dx, 0, (size_t)(inputs * j->size));
}

luc_status luc__conv_parts(luc_context *ctx, const luc_conv *c, const void *dy, const void *weight,
                           void *dx) {
  job j = {.kernels = &luc__kernels(ctx)->conv[c->dtype], .dy = dy, .weight = weight, .dx = dx};
  luc_conv u = {.dtype = c->dtype, .pairs = c->pairs, .batch = c->batch};
  u.in_channels = c->out_channels, u.out_channels = c->in_channels, u.groups = c->groups;
  luc__conv_plan_sizes(&j.whole, c);
  j.size = (int64_t)luc__dtype_size(c->dtype);
  j.batch = c->batch, j.groups = c->groups;
  int64_t n[3], step = 1;
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) n[d] = join_sides(&j, d, &u), step *= j.whole.stride[d];
  luc__conv_plan_sizes(&j.plan, &u);
  memcpy(j.plan.sides, n, sizeof n);
  j.plan.image = j.whole.in, j.plan.step = j.whole.stride, j.plan.parts = j.parts;
  fill_gaps(&j);
  j.count = n[0] * n[1] * n[2];
  if (j.count == 0) return LUC_OK;
  if (step > 1) {
    luc__conv_choose_band(&j.plan, c->batch * c->groups, work_of(&j), 4);
    j.bands = luc__conv_bands(&j.plan);
    LUC_TRY(luc__conv_plan_buffer(ctx, &j.plan, c));
  }
  luc_status status = make_parts(ctx, &j);
  if (status == LUC_OK && step > 1) status = deal_parts(ctx, &j);
  for (int d = 0; d < LUC_MAX_SPATIAL && step == 1; d++) /* one part, with a plan of its own */
    u.kernel[d] = j.sides[d][0].taps, u.dilation[d] = j.sides[d][0].dilation;
  if (status == LUC_OK && step == 1)
    status = luc__conv_correlate(ctx, &u, dy, j.parts[0].weight, NULL, dx);
  luc__free(ctx, j.taps, j.bytes);
  luc__conv_plan_free(ctx, &j.plan);
  return status;
}
