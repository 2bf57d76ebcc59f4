/* Convolutions with filters in the lanes: see conv_filters.h. Outputs that meet the same taps are a
 * class: along one dimension those inside, each that lacks some taps beyond a border, and on the
 * way back those a stride apart. Cuts follow from the sizes alone, so results do not depend on the
 * number of threads. */
#include "cpu/conv_filters.h"

#include <math.h>

#include "cpu/conv_plan.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

/* Multiplications worth a piece; outputs at a time, which meet all weights before the next; weights
 * packed that are worth a piece; spans along a dimension and taps of all classes at most. */
static const int64_t PIECE_WORK = 1 << 20, PANEL = 448, PACKED = 1 << 15, MOST_TAPS = 1 << 15;
enum { SPANS = 40 };

/* Outputs along one dimension that meet the same taps: the first, how far the next and how many; a
 * span's first tap, how far the next and how many. The first output meets the first tap at `from`,
 * the next one `apart` on, the next tap `dilation` on. */
typedef struct span {
  int64_t first, step, out;
  int64_t from, apart;
  int64_t tap, tap_step, taps, dilation;
} span;

typedef struct spans {
  span s[SPANS];
  int64_t count;
  int64_t met; /* taps of all outputs */
} spans;

/* Cuts a line of outputs by which of its taps meet the inputs [0, size). False: into too many. */
static bool cut_line(spans *to, span line, int64_t size) {
  const int64_t reach = (line.taps - 1) * line.dilation;
  for (int64_t n; line.out > 0; line.out -= n) {
    const int64_t room = size - line.from;
    int64_t begin = line.from < 0 ? luc__cuts(-line.from, line.dilation) : 0;
    int64_t end = room > 0 ? luc__cuts(room, line.dilation) : 0;
    end = luc__min64(end, line.taps), begin = luc__min64(begin, end);
    n = 1;
    if (begin == 0 && end == line.taps && end > 0)
      n = luc__min64((size - 1 - reach - line.from) / line.apart + 1, line.out);
    span s = line;
    s.out = n, s.tap += begin * line.tap_step, s.taps = end - begin;
    s.from += begin * line.dilation;
    span *last = to->count > 0 ? &to->s[to->count - 1] : NULL;
    const bool same = last && last->taps == s.taps && (s.taps == 0 || last->tap == s.tap) &&
                      last->first + last->out * last->step == s.first;
    if (same) {
      last->out += n;
    } else {
      if (to->count == SPANS) return false;
      to->s[to->count++] = s;
    }
    to->met += n * s.taps;
    line.first += n * line.step, line.from += n * line.apart;
  }
  return true;
}

/* On the way back input x = stride j + residue - padding meets output j - reach of each tap, where
 * reach is the tap's distance in strides: the last tap comes first. */
static bool cut_lines(spans *to, const luc_conv_plan *p, int d, bool backward) {
  const int64_t stride = p->stride[d], dilation = p->dilation[d], kernel = p->kernel[d];
  to->count = to->met = 0;
  if (!backward) {
    const span line = {0, 1, p->out[d], -p->padding[d], stride, 0, 1, kernel, dilation};
    return cut_line(to, line, p->in[d]);
  }
  const int64_t every = stride / luc__gcd(dilation, stride);
  for (int64_t x = 0; x < luc__min64(stride, p->in[d]); x++) {
    int64_t tap = 0;
    while (tap < every && (x + p->padding[d] - tap * dilation) % stride != 0) tap++;
    span line = {.first = x, .step = stride, .out = luc__cuts(p->in[d] - x, stride)};
    line.apart = 1, line.tap_step = -every, line.dilation = every * dilation / stride;
    if (tap < every) line.taps = luc__max64(luc__cuts(kernel - tap, every), 0);
    line.tap = tap + (line.taps - 1) * every;
    line.from = (x + p->padding[d] - line.tap * dilation) / stride;
    if (line.taps == 0) line.from = 0;
    if (!cut_line(to, line, p->out[d])) return false;
  }
  return true;
}

static int64_t taps_of(const spans *s) {
  int64_t taps = 0;
  for (int64_t i = 0; i < s->count; i++) taps += s->s[i].taps;
  return taps;
}

/* False: there are too many. */
static bool cut_all(spans *s, const luc_conv_plan *p, bool backward) {
  for (int d = 0; d < LUC_MAX_SPATIAL; d++)
    if (!cut_lines(&s[d], p, d, backward)) return false;
  return taps_of(&s[0]) * taps_of(&s[1]) * taps_of(&s[2]) <= MOST_TAPS;
}

/* Measured: to turn outputs takes as long as 14 kernel elements, a vector without a second a
 * seventh more, and every class its time. */
double luc__conv_filters_cost(const luc_conv *c, bool backward) {
  luc_conv_plan p;
  spans s[LUC_MAX_SPATIAL];
  luc__conv_plan_sizes(&p, c);
  if (!cut_all(s, &p, backward)) return INFINITY;
  const int64_t vectors = luc__cuts(backward ? p.channels : p.filters, 16);
  const double lone = vectors % 2 ? 0.15 / (double)vectors : 0;
  const double met = (double)(s[0].met * s[1].met * s[2].met);
  const double k = met * (double)(backward ? p.filters : p.channels);
  const int64_t outputs = backward ? p.in_pixels : p.pixels;
  const int64_t classes = s[0].count * s[1].count * s[2].count;
  const int64_t strips = classes * luc__cuts(c->batch * outputs, PANEL) * luc__cuts(vectors, 2);
  return (double)c->groups *
         ((double)(c->batch * vectors * 16) * (1.1 * k * (1 + lone) + 14 * (double)outputs) +
          LUC_CONV_PACK_WORK * (double)(p.filters * p.k) + 4000 * (double)strips);
}

/* ---- one call ---- */

typedef struct job {
  luc_conv_lanes plan;
  const luc_conv_kernels *kernels;
  int64_t size;              /* of an element */
  int64_t groups, all, room; /* outputs of all images; filters for which there is room in a group */
  int64_t panels, chunk, chunks;
  const char *x, *weight, *bias;
  char *y, *packed;
  size_t packed_bytes, class_bytes;
} job;

/* The taps of a class: how far they are from the first in a channel, and which of its weights. */
static luc_conv_tap *list_taps(const luc_conv_plan *p, const int64_t *in, const span *const *s,
                               luc_conv_tap *to) {
  for (int64_t z = 0; z < s[0]->taps; z++)
    for (int64_t y = 0; y < s[1]->taps; y++)
      for (int64_t x = 0; x < s[2]->taps; x++, to++) {
        const int64_t i[] = {z, y, x};
        *to = (luc_conv_tap){0};
        for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
          to->at = to->at * in[d] + i[d] * s[d]->dilation;
          to->weight = to->weight * p->kernel[d] + s[d]->tap + i[d] * s[d]->tap_step;
        }
      }
  return to;
}

static luc_status make_classes(luc_context *ctx, job *j, const luc_conv_plan *p, const spans *s,
                               const int64_t *in) {
  luc_conv_lanes *l = &j->plan;
  const size_t taps = (size_t)(taps_of(&s[0]) * taps_of(&s[1]) * taps_of(&s[2]));
  l->count = s[0].count * s[1].count * s[2].count;
  j->class_bytes = (size_t)l->count * sizeof(luc_conv_class) + taps * sizeof(luc_conv_tap);
  luc_conv_class *classes = luc__alloc(ctx, j->class_bytes);
  if (!classes) return LUC_ERR_MEMORY;
  luc_conv_tap *next = (luc_conv_tap *)(classes + l->count);
  l->classes = classes;
  for (int64_t i = 0; i < l->count; i++) {
    const span *const at[] = {&s[0].s[i / (s[1].count * s[2].count)],
                              &s[1].s[i / s[2].count % s[1].count], &s[2].s[i % s[2].count]};
    luc_conv_class *t = &classes[i];
    *t = (luc_conv_class){.taps = next};
    int64_t apart = 1;
    for (int d = LUC_MAX_SPATIAL - 1; d >= 0; apart *= in[d--]) {
      t->first[d] = at[d]->first, t->step[d] = at[d]->step, t->out[d] = at[d]->out;
      t->from += at[d]->from * apart, t->apart[d] = at[d]->apart * apart;
    }
    next = list_taps(p, in, at, next);
    t->count = next - t->taps;
    if (t->count == 0) t->from = t->apart[0] = t->apart[1] = t->apart[2] = 0; /* meets nothing */
  }
  return LUC_OK;
}

/* Two vectors of a group's filters at a time. */
static void pack(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_lanes *l = &j->plan;
  const int64_t k = l->channels * l->taps, wide = 2 * j->kernels->lanes;
  const int64_t units = luc__cuts(l->filters, wide);
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / units, first = i % units * wide;
    j->kernels->pack_filters(l, j->weight + group * l->filters * k * j->size, first,
                             luc__min64(wide, l->filters - first),
                             j->packed + (group * j->room + first) * k * j->size);
  }
}

static void pieces(void *arg, void *scratch, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_conv_lanes *l = &j->plan;
  for (int64_t i = begin; i < end; i++) {
    const int64_t chunk = i % j->chunks * j->chunk, panel = i / j->chunks % j->panels;
    const int64_t group = i / (j->chunks * j->panels), filter = group * l->filters + chunk;
    const char *weight = l->packs ? j->weight : j->packed;
    const int64_t filters = l->packs ? l->filters : j->room;
    luc_conv_lanes_piece p = {
        .begin = panel * l->panel,
        .end = luc__min64((panel + 1) * l->panel, j->all),
        .filter = chunk,
        .filters = luc__min64(j->chunk, l->filters - chunk),
        .x = j->x + group * l->channels * l->plane * j->size,
        .weight = weight + group * filters * l->channels * l->taps * j->size,
        .bias = j->bias ? j->bias + filter * j->size : NULL,
        .y = j->y + filter * l->outputs * j->size,
    };
    j->kernels->filters(l, &p, scratch);
  }
}

/* Panels of evenly many outputs, smaller ones and chunks of filters while there are few. One panel
 * whose filters make pieces enough needs no weights packed for all: they stay in its cache. */
static void choose_cuts(job *j, double work) {
  luc_conv_lanes *l = &j->plan;
  const int64_t wide = 2 * j->kernels->lanes;
  int64_t most = PANEL;
  if (j->all > most || j->groups * luc__cuts(l->filters, wide) < 8)
    while (j->groups * luc__cuts(j->all, most) < 8 && most > PANEL / 4) most /= 2;
  l->panel = luc__cuts(j->all, luc__cuts(j->all, most));
  j->panels = luc__cuts(j->all, l->panel);
  l->packs = j->panels == 1;
  j->chunk = luc__whole(l->filters, wide);
  for (;;) {
    j->chunks = luc__cuts(l->filters, j->chunk);
    const int64_t count = j->groups * j->panels * j->chunks;
    const int64_t half = luc__whole(luc__cuts(j->chunk, 2), wide);
    if (count >= 8 || half >= j->chunk || work / (double)count < (double)(2 * PIECE_WORK)) return;
    j->chunk = half;
  }
}

static luc_status run(luc_context *ctx, job *j, double work) {
  const luc_conv_lanes *l = &j->plan;
  const int64_t k = l->channels * l->taps, matrix = j->room * k, wide = 2 * j->kernels->lanes;
  if (!l->packs) {
    j->packed_bytes = luc__mul_size((size_t)(j->groups * matrix), (size_t)j->size);
    j->packed = luc__alloc(ctx, j->packed_bytes);
    if (!j->packed) return LUC_ERR_MEMORY;
    const int64_t packs = j->groups * luc__cuts(l->filters, wide);
    luc__parallel_for(ctx, packs, PACKED * packs / (j->groups * matrix + 1) + 1, pack, j);
  }
  const int64_t count = j->groups * j->panels * j->chunks;
  const int64_t grain = PIECE_WORK / ((int64_t)(work / (double)count) + 1024) + 1;
  const int64_t words = 2 * l->panel + l->count, elements = 2 * l->panel + (l->packs ? k : 0);
  const size_t bytes = (size_t)(elements * wide * j->size + words * (int64_t)sizeof(int64_t));
  luc_status status = luc__parallel_scratch(ctx, count, grain, bytes, pieces, j);
  luc__free(ctx, j->packed, j->packed_bytes);
  return status;
}

luc_status luc__conv_filters(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                             const void *weight, const void *bias, void *y) {
  const luc_kernels *kernels = luc__kernels(ctx);
  job j = {.kernels = &kernels->conv[c->dtype], .groups = c->groups};
  luc_conv_plan p;
  spans s[LUC_MAX_SPATIAL];
  luc__conv_plan_sizes(&p, c);
  if (!cut_all(s, &p, backward)) return LUC_ERR_SUPPORT;
  luc_conv_lanes *l = &j.plan;
  const int64_t *in = backward ? p.out : p.in, *out = backward ? p.in : p.out;
  j.x = x, j.weight = weight, j.bias = bias, j.y = y;
  j.size = (int64_t)luc__dtype_size(c->dtype);
  l->gemm = &kernels->gemm[c->dtype];
  l->channels = backward ? p.filters : p.channels, l->filters = backward ? p.channels : p.filters;
  l->taps = p.taps, l->relu = c->relu && !backward, l->backward = backward;
  l->plane = backward ? p.pixels : p.in_pixels, l->outputs = backward ? p.in_pixels : p.pixels;
  l->x_image = c->groups * l->channels * l->plane;
  l->y_image = c->groups * l->filters * l->outputs;
  l->rows = out[1], l->columns = out[2];
  j.all = c->batch * l->outputs;
  j.room = luc__whole(l->filters, j.kernels->lanes);
  const double work = luc__conv_filters_cost(c, backward);
  choose_cuts(&j, work);
  LUC_TRY(make_classes(ctx, &j, &p, s, in));
  luc_status status = run(ctx, &j, work);
  luc__free(ctx, (void *)l->classes, j.class_bytes);
  return status;
}
