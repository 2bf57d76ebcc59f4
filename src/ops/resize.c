/* Resizing images: interpolate and its older names. The row resize and its gradient take one pass
 * along each resized dimension and are each other's gradients. */
#include <math.h>
#include <string.h>

#include "ops/compute.h"
#include "ops/rows.h"

#include "cpu/cuts.h"
#include "cpu/resize.h"

/* ---- the rows: resize(input, size, scales, kind, align_corners) ---- */

/* t's dimension d resampled by the tables, and the one before it by rows. */
static luc_status pass(luc_context *ctx, luc_tensor *t, int d, const luc_taps *taps,
                       const luc_taps *rows, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  memcpy(sizes, t->sizes, sizeof sizes);
  sizes[d] = taps->out;
  if (rows) sizes[d - 1] = rows->out;
  const int64_t outer = luc__product(d, sizes),
                inner = luc__product(t->ndim - d - 1, sizes + d + 1);
  luc_dtype dtype = t->dtype;
  LUC_TRY(luc__tensor_empty(ctx, dtype, t->ndim, sizes, out));
  if ((*out)->numel == 0) return LUC_OK;
  return luc__resample(ctx, dtype, taps, rows, outer, inner, t->data, (*out)->data);
}

/* What passes take, the first dimension's first or the last one's: lines of single elements, a
 * vector of them at a time, some times as long as rows. Gradients, and wide filters, read what they
 * drop. */
static double work_of(int spatial, const int64_t *from, const int64_t *to, int64_t channels,
                      bool wide, bool last_first) {
  enum { LANES = 8, PICKED = 4 };
  int64_t sizes[3];
  double work = 0;
  memcpy(sizes, from, (size_t)spatial * sizeof *sizes);
  for (int k = 0; k < spatial; k++) {
    const int i = last_first ? spatial - 1 - k : k;
    const int64_t n = wide ? luc__max64(from[i], to[i]) : to[i];
    double inner = (double)channels, outer = 1;
    for (int d = 0; d < spatial; d++) *(d < i ? &outer : &inner) *= d == i ? 1 : (double)sizes[d];
    sizes[i] = to[i];
    if (from[i] == to[i]) continue;
    work += outer *
            (inner == 1 ? (double)(luc__whole(n, LANES) * PICKED) : (double)n * (inner + LANES));
  }
  return work;
}

/* in[d] is the size before, out[d] after resizing; args: scales, kind, align_corners. */
static luc_status run_passes(luc_context *ctx, luc_tensor *input, int spatial, const int64_t *in,
                             const int64_t *out_size, const luc_value *args, bool back,
                             luc_value *out) {
  luc_status status;
  luc_tensor *t = NULL, *next = NULL;
  luc_taps taps = {.block = NULL}, rows = taps;
  luc_dtype compute = luc__compute_dtype(input->dtype);
  const int64_t *before = back ? out_size : in, *after = back ? in : out_size;
  const bool last = luc__channels_last(input, spatial);
  const bool nearest = args[1].as.i <= LUC_RESAMPLE_NEAREST_EXACT && spatial > 1 && !back && !last;
  const bool picks = nearest && out_size[spatial - 2] <= in[spatial - 2];
  const int64_t channels = last ? input->sizes[1] : 1;
  const bool wide = back || args[1].as.i >= LUC_RESAMPLE_LINEAR_AA;
  const bool last_first = nearest ? !picks
                                  : work_of(spatial, before, after, channels, wide, true) <=
                                        work_of(spatial, before, after, channels, wide, false);
  const int from = nearest && out_size[0] <= in[0] ? spatial : spatial - 1; /* spatial: 0 first */
  bool moved = false; /* t is no longer the input's memory */
  LUC_GO(luc__dense_images(ctx, input, compute, last, &t));
  for (int k = 0; k < spatial; k++) { /* the last dimension, which takes longest, where few are */
    const int i = last_first ? (from - k) % spatial : k;
    double scale = args[0].n > 0 ? args[0].as.floats[i] : 0;
    LUC_GO(luc__taps_new(ctx, (luc_resampling)args[1].as.i, compute, in[i], out_size[i], scale,
                         args[2].as.i != 0, &taps));
    if (back) LUC_GO(luc__taps_turn(ctx, compute, &taps));
    if (luc__taps_copy(&taps) && !rows.block && (moved || k + 1 < spatial)) {
      luc__taps_free(ctx, &taps);
      continue;
    }
    if (picks && i == spatial - 2) { /* no copies of rows: the next pass reads where they lie */
      rows = taps, taps.block = NULL;
      continue;
    }
    status = pass(ctx, t, t->ndim - spatial + i - last, &taps, rows.block ? &rows : NULL, &next);
    luc__taps_free(ctx, &taps);
    if (status != LUC_OK) goto done;
    luc_tensor_release(ctx, t);
    t = next, moved = true;
    next = NULL;
  }
  if (last) luc__move_dim(t, t->ndim - 1, 1);
  status = luc__deliver(ctx, out, input->dtype, &t);
done:
  luc__taps_free(ctx, &taps);
  luc__taps_free(ctx, &rows);
  LUC_RELEASE(ctx, t, next);
  return status;
}

luc_status luc__run_resize(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  int spatial = args[1].n;
  return run_passes(ctx, input, spatial, input->sizes + input->ndim - spatial, args[1].as.ints,
                    &args[2], false, out);
}

/* resize_backward(grad, input_size, scales, kind, align_corners) */
luc_status luc__run_resize_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor;
  int spatial = args[1].n;
  return run_passes(ctx, grad, spatial, args[1].as.ints, grad->sizes + grad->ndim - spatial,
                    &args[2], true, out);
}

LUC_GRAD_BY(resize, luc__grad_to_size, LUC_OP_resize_backward, 5)
LUC_GRAD_BY(resize_backward, luc__grad_to_size, LUC_OP_resize, 5)

/* ---- interpolate ---- */

static const char modes[] = "nearest|nearest-exact|linear|bilinear|trilinear|bicubic|area";
enum { NEAREST, NEAREST_EXACT, LINEAR, BILINEAR, TRILINEAR, BICUBIC, AREA };

/* A call, taken apart. */
typedef struct sizing {
  int mode, spatial, align; /* align -1: not said */
  bool scaled, antialias;
  int64_t size[3];
  double scale[3];
} sizing;

static double entry(const luc_value *v, int i) {
  if (v->kind == LUC_FLOATS) return v->as.floats[v->n == 1 ? 0 : i];
  if (v->kind == LUC_INTS) return (double)v->as.ints[v->n == 1 ? 0 : i];
  return luc_as_double(v);
}

static luc_status check_count(luc_context *ctx, const char *name, const luc_value *v, int spatial) {
  bool list = v->kind == LUC_INTS || v->kind == LUC_FLOATS;
  LUC_CHECK(
      ctx, !list || v->n == 1 || v->n == spatial, LUC_ERR_VALUE,
      "interpolate: Input and output must have the same number of spatial dimensions, but got "
      "input with %d spatial dimensions and %s of %d entries",
      spatial, name, v->n);
  return LUC_OK;
}

/* size, scale_factor, recompute_scale_factor */
static luc_status take_size(luc_context *ctx, const luc_tensor *input, const luc_value *size,
                            const luc_value *scale, const luc_value *recompute, sizing *s) {
  char shape[LUC_SHAPE_TEXT];
  bool sized = !luc_is_none(size), again = !luc_is_none(recompute) && recompute->as.i;
  s->scaled = !luc_is_none(scale);
  LUC_CHECK(ctx, sized || s->scaled, LUC_ERR_VALUE,
            "interpolate: either size or scale_factor should be defined");
  LUC_CHECK(ctx, !sized || !s->scaled, LUC_ERR_VALUE,
            "interpolate: only one of size or scale_factor should be defined");
  LUC_CHECK(ctx, !sized || !again, LUC_ERR_VALUE,
            "interpolate: recompute_scale_factor is not meaningful when size is explicitly "
            "specified.");
  LUC_CHECK(ctx, input->sizes[1] > 0 || s->mode == AREA, LUC_ERR_SHAPE,
            "interpolate: Non-empty %dD data tensor expected but got a tensor with sizes %s",
            input->ndim, luc__tensor_shape_text(shape, input));
  LUC_TRY(check_count(ctx, sized ? "size" : "scale_factor", sized ? size : scale, s->spatial));
  for (int i = 0; i < s->spatial; i++) {
    double in = (double)input->sizes[i + 2];
    s->scale[i] = sized ? 0 : entry(scale, i);
    double out = sized ? entry(size, i) : floor(in * s->scale[i]);
    LUC_CHECK(ctx, in > 0 && out >= (s->mode != AREA), LUC_ERR_SHAPE,
              "interpolate: Input and output sizes should be greater than 0, but got input size "
              "%.0f and output size %.0f",
              in, out);
    LUC_CHECK(ctx, out <= INT32_MAX, LUC_ERR_SHAPE,
              "interpolate: output size %.0f is too large, expected at most %d", out, INT32_MAX);
    s->size[i] = (int64_t)out;
  }
  if (again) s->scaled = false;
  return LUC_OK;
}

static luc_status check_mode(luc_context *ctx, const luc_tensor *input, const char *mode,
                             const sizing *s) {
  static const int dims[] = {0, 0, 3, 4, 5, 4, 0};
  bool interpolates = s->mode >= LINEAR && s->mode <= BICUBIC;
  LUC_CHECK(ctx, s->align < 0 || interpolates, LUC_ERR_VALUE,
            "interpolate: align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear");
  LUC_CHECK(ctx, input->ndim >= 3 && input->ndim <= 5, LUC_ERR_SUPPORT,
            "interpolate: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: "
            "nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got %s)",
            input->ndim, mode);
  LUC_CHECK(ctx, !dims[s->mode] || dims[s->mode] == input->ndim, LUC_ERR_SUPPORT,
            "interpolate: Got %dD input, but %s mode needs %dD input", input->ndim, mode,
            dims[s->mode]);
  LUC_CHECK(ctx, !s->antialias || (input->ndim == 4 && (s->mode == BILINEAR || s->mode == BICUBIC)),
            LUC_ERR_VALUE,
            "interpolate: Anti-alias option is restricted to bilinear and bicubic modes and "
            "requires a 4-D tensor as input");
  if (s->mode <= NEAREST_EXACT && input->dtype == LUC_UINT8) return LUC_OK;
  return luc__need_float(ctx, "input", input);
}

static luc_resampling resampling_of(const sizing *s) {
  switch (s->mode) {
  case NEAREST: return LUC_RESAMPLE_NEAREST;
  case NEAREST_EXACT: return LUC_RESAMPLE_NEAREST_EXACT;
  case BICUBIC: return s->antialias ? LUC_RESAMPLE_CUBIC_AA : LUC_RESAMPLE_CUBIC;
  default: return s->antialias ? LUC_RESAMPLE_LINEAR_AA : LUC_RESAMPLE_LINEAR;
  }
}

/* interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias) */
luc_status luc__run_interpolate(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  sizing s = {.spatial = input->ndim - 2, .antialias = args[6].as.i != 0};
  s.align = luc_is_none(&args[4]) ? -1 : args[4].as.i != 0;
  LUC_TRY(luc__choice(ctx, "mode", modes, args[3].as.string, &s.mode));
  LUC_TRY(check_mode(ctx, input, args[3].as.string, &s));
  LUC_TRY(take_size(ctx, input, &args[1], &args[2], &args[5], &s));
  luc_value size = luc_v_ints(s.size, s.spatial);
  if (s.mode == AREA) {
    static const luc_opid pools[] = {LUC_OP_adaptive_avg_pool1d, LUC_OP_adaptive_avg_pool2d,
                                     LUC_OP_adaptive_avg_pool3d};
    return luc_call(ctx, pools[s.spatial - 1], LUC_ARGS(args[0], size), out);
  }
  luc_value scales = {.kind = LUC_FLOATS, .n = s.scaled ? s.spatial : 0, .as.floats = s.scale};
  return luc_call(
      ctx, LUC_OP_resize,
      LUC_ARGS(args[0], size, scales, luc_v_int(resampling_of(&s)), luc_v_bool(s.align == 1)), out);
}

/* upsample(input, size, scale_factor, mode, align_corners) */
luc_status luc__run_upsample(luc_context *ctx, luc_value *args, luc_value *out) {
  return luc_call(ctx, LUC_OP_interpolate, LUC_ARGS(args[0], args[1], args[2], args[3], args[4]),
                  out);
}

/* upsample_nearest, upsample_bilinear: (input, size, scale_factor) */
luc_status luc__run_upsample_nearest(luc_context *ctx, luc_value *args, luc_value *out) {
  return luc_call(ctx, LUC_OP_interpolate, LUC_ARGS(args[0], args[1], args[2]), out);
}

luc_status luc__run_upsample_bilinear(luc_context *ctx, luc_value *args, luc_value *out) {
  return luc_call(ctx, LUC_OP_interpolate,
                  LUC_ARGS(args[0], args[1], args[2], luc_v_string("bilinear"), luc_v_bool(true)),
                  out);
}
