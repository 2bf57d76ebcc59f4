/* The plan of one group's geometry: see conv_plan.h. */
#include "cpu/conv_plan.h"

#include "cpu/cuts.h"

int64_t luc__conv_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad_before,
                           int64_t pad_after, int64_t dilation) {
  int64_t room = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

void luc__conv_plan_sizes(luc_conv_plan *p, const luc_conv *c) {
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    p->in[d] = c->in[d], p->kernel[d] = c->kernel[d], p->out[d] = c->out[d];
    p->stride[d] = c->stride[d], p->padding[d] = c->padding[d], p->dilation[d] = c->dilation[d];
  }
  p->channels = c->in_channels / c->groups;
  p->filters = c->out_channels / c->groups;
  p->taps = luc__volume(p->kernel);
  p->k = p->channels * p->taps;
  p->in_pixels = luc__volume(p->in), p->pixels = luc__volume(p->out);
  p->relu = c->relu;
  p->band[0] = p->out[1], p->band[1] = p->out[2];
}

int64_t luc__conv_covered(const luc_conv_plan *p, int d, int64_t out) {
  return (out - 1) * p->stride[d] + (p->kernel[d] - 1) * p->dilation[d] + 1;
}

void luc__conv_choose_band(luc_conv_plan *p, int64_t pieces, int64_t work, int64_t kernels) {
  const int d = p->out[1] > 1 ? 0 : 1;
  int64_t *band = p->band;
  for (;;) {
    int64_t bands = luc__cuts(p->out[1 + d], band[d]), half = luc__cuts(band[d], 2);
    if (d == 1) half = luc__whole(half, 48);
    const int64_t rows = luc__conv_covered(p, 1, band[0]),
                  columns = luc__conv_covered(p, 2, band[1]);
    const int64_t buffer = luc__conv_covered(p, 0, p->out[0]) * rows * columns * p->channels;
    const bool few = pieces * bands < 8 && work / bands >= 2 * LUC_CONV_PIECE &&
                     half * (d == 0 ? p->out[2] : 1) >= 192;
    if (!few && buffer <= LUC_CONV_BUFFER) return;
    const int64_t least = few ? luc__cuts(kernels, 2) : kernels;
    if (half >= band[d] || half < least * p->kernel[1 + d]) return;
    band[d] = half;
  }
}

int64_t luc__conv_bands(const luc_conv_plan *p) {
  return luc__cuts(p->out[1], p->band[0]) * luc__cuts(p->out[2], p->band[1]);
}

void luc__conv_take_band(const luc_conv_plan *p, int64_t band, luc_conv_piece *piece) {
  const int64_t across = luc__cuts(p->out[2], p->band[1]), at[] = {band / across, band % across};
  for (int d = 0; d < 2; d++) {
    piece->first[d] = at[d] * p->band[d];
    piece->size[d] = luc__min64(p->band[d], p->out[1 + d] - piece->first[d]);
  }
}

/* How many residues modulo the stride the kernel's elements have in dimension d, and which. */
static int64_t plan_residues(luc_conv_plan *p, int d, int64_t *residues) {
  int64_t n = 0;
  for (int64_t i = 0; i < p->kernel[d]; i++) {
    int64_t residue = i * p->dilation[d] % p->split[d], j = 0;
    while (j < n && residues[j] != residue) j++;
    if (j == n) residues[n++] = residue;
    if (n == p->split[d]) break;
  }
  p->residues[d] = residues;
  return n;
}

/* How many zeros begin and end every row of every phase: neighbours share them. */
static int64_t shared_zeros(const luc_conv_plan *p) {
  int64_t shared = p->length;
  for (int64_t i = 0; i < p->phases[2]; i++) {
    int64_t first = p->residues[2][i] - p->padding[2], step = p->split[2];
    int64_t left = first < 0 ? (step - 1 - first) / step : 0;
    int64_t last = p->in[2] > first ? (p->in[2] - first + step - 1) / step : 0;
    shared = luc__min64(shared, luc__min64(left, p->length - last));
  }
  return luc__max64(shared, 0);
}

/* The buffer for a band. */
static void plan_buffer(luc_conv_plan *p, int64_t *residues) {
  const int64_t rows = p->band[0], columns = p->band[1];
  for (int d = 0; d < LUC_MAX_SPATIAL; d++) {
    const bool lies = p->lanes && p->kernel[d] >= p->stride[d];
    p->split[d] = lies ? 1 : p->stride[d];
  }
  p->depth = luc__conv_covered(p, 0, p->out[0]);
  p->rows = luc__conv_covered(p, 1, rows);
  p->width = luc__conv_covered(p, 2, columns);
  p->phases[1] = plan_residues(p, 1, residues);
  p->phases[2] = plan_residues(p, 2, residues + p->kernel[1]);
  p->phase_rows = luc__cuts(p->rows, p->split[1]);
  p->length = luc__cuts(p->width, p->split[2]);
  int64_t shared = columns == p->out[2] ? shared_zeros(p) : 0;
  p->pitch = luc__max64(p->length - shared, columns);
  p->phase_size = (p->phase_rows * p->pitch + p->length - p->pitch + LUC_CONV_SLACK + 15) / 16 * 16;
  p->depth_size = p->phases[1] * p->phases[2] * p->phase_size;
  p->plane = p->depth * p->depth_size;
}

static int64_t slot_of(const luc_conv_plan *p, int d, int64_t at) {
  int64_t i = 0;
  while (p->residues[d][i] != at % p->split[d]) i++;
  return i;
}

/* Those of one row of one channel, and of the others so many elements on. */
static void plan_offsets(luc_conv_plan *p, int64_t *offsets) {
  const int64_t columns = p->k > 0 ? p->kernel[2] : 0;
  int64_t *to = offsets + columns;
  p->offsets = offsets;
  for (int64_t j = 0; j < columns; j++) {
    const int64_t x = j * p->dilation[2];
    offsets[j] = slot_of(p, 2, x) * p->phase_size + x / p->split[2];
  }
  for (int64_t i = 1; columns > 0 && i < p->kernel[0] * p->kernel[1]; i++) {
    const int64_t z = i / p->kernel[1] * p->dilation[0], y = i % p->kernel[1] * p->dilation[1];
    const int64_t row = z * p->depth_size + y / p->split[1] * p->pitch +
                        slot_of(p, 1, y) * p->phases[2] * p->phase_size;
    for (int64_t j = 0; j < columns; j++) *to++ = offsets[j] + row;
  }
  for (int64_t k = p->taps; k < p->k; k++, to++) *to = to[-p->taps] + p->plane;
}

luc_status luc__conv_plan_buffer(luc_context *ctx, luc_conv_plan *p, const luc_conv *c) {
  const luc_gemm g = {
      .dtype = c->dtype, .pairs = c->pairs, .m = p->filters, .n = p->pixels, .k = p->k};
  p->gemm = luc__gemm_kernels(ctx, &g);
  const int64_t residues = p->kernel[1] + p->kernel[2];
  p->tables_size = luc__mul_size((size_t)(residues + p->k), sizeof(int64_t));
  p->tables = luc__alloc(ctx, p->tables_size);
  if (!p->tables) return LUC_ERR_MEMORY;
  plan_buffer(p, p->tables);
  plan_offsets(p, p->tables + residues);
  return LUC_OK;
}

void luc__conv_plan_free(luc_context *ctx, luc_conv_plan *p) {
  luc__free(ctx, p->tables, p->tables_size);
}
