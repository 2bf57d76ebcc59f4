/* Padding: constant values around a tensor (or cropping, where negative), and borders made of the
 * tensor's own values. */
#include <stdlib.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/cuts.h"
#include "cpu/pad.h"
#include "ops/compute.h"
#include "ops/geometry.h"
#include "ops/rows.h"

/* `pad` lists (before, after) from the last dimension backwards. */
static int64_t pad_before(const luc_value *pad, int ndim, int d) {
  int i = 2 * (ndim - 1 - d);
  return i < pad->n ? pad->as.ints[i] : 0;
}

static int64_t pad_after(const luc_value *pad, int ndim, int d) {
  int i = 2 * (ndim - 1 - d) + 1;
  return i < pad->n ? pad->as.ints[i] : 0;
}

static luc_status check_pad(luc_context *ctx, const luc_tensor *input, const luc_value *pad) {
  LUC_CHECK(ctx, pad->n % 2 == 0, LUC_ERR_VALUE, "pad: pad must have an even length (got %d)",
            pad->n);
  LUC_CHECK(ctx, pad->n / 2 <= input->ndim, LUC_ERR_SHAPE,
            "pad: pad has %d entries, too many for an input of %d dimensions", pad->n, input->ndim);
  for (int i = 0; i < pad->n; i++)
    LUC_CHECK(ctx, llabs(pad->as.ints[i] / 2) <= INT64_MAX / 32, LUC_ERR_VALUE,
              "pad: padding %lld is larger than any memory", (long long)pad->as.ints[i]);
  return LUC_OK;
}

/* The job of padding t's shape: the dimensions before the first padded one are one of items. Where
 * channels come last, those have no borders. */
static void describe(luc_pad *p, luc_pad_mode mode, const luc_tensor *t, bool last,
                     const luc_value *pad) {
  const int ndim = t->ndim;
  luc_tensor lies = *t;
  luc_value borders = *pad;
  int64_t around[2 * LUC_MAX_DIMS] = {0};
  if (last) {
    luc__move_dim(&lies, 1, ndim - 1);
    memcpy(around + 2, pad->as.ints, (size_t)pad->n * sizeof *around);
    borders = luc_v_ints(around, pad->n + 2);
  }
  int first = ndim - borders.n / 2;
  if (first == ndim && ndim > 0) first--;
  *p = (luc_pad){.mode = mode, .dtype = (luc_dtype)t->dtype, .ndim = ndim - first};
  p->items = luc__product(first, lies.sizes);
  for (int d = first; d < ndim; d++) {
    const int64_t before = pad_before(&borders, ndim, d), n = lies.sizes[d];
    p->in[d - first] = n;
    p->before[d - first] = before;
    p->out[d - first] = n + before + pad_after(&borders, ndim, d);
  }
  if (ndim == 0) p->ndim = 1, p->in[0] = p->out[0] = 1;
}

/* Do images of t's lie with their channels last, and are these rows worth a call, without borders?
 */
static bool is_last(const luc_tensor *t, const luc_value *pad) {
  enum { LEAST = 16 };
  return pad->n / 2 <= t->ndim - 2 && luc__channels_last(t, t->ndim - 2) && t->sizes[1] >= LEAST;
}

/* Short rows, or channels last: the value everywhere, then what both have, from wherever it lies.
 */
static luc_status pad_short(luc_context *ctx, luc_tensor *input, const luc_value *pad,
                            luc_scalar value, luc_tensor *padded) {
  int64_t sizes[LUC_MAX_DIMS], from = input->offset, to = padded->offset;
  luc_tensor *source, *middle;
  LUC_TRY(luc__fill(ctx, padded, value));
  for (int d = 0; d < input->ndim; d++) {
    const int64_t before = pad_before(pad, input->ndim, d);
    const int64_t skip = luc__max64(-before, 0), first = luc__max64(before, 0);
    sizes[d] = luc__min64(input->sizes[d] - skip, padded->sizes[d] - first);
    if (sizes[d] <= 0) return LUC_OK;
    from += skip * input->strides[d], to += first * padded->strides[d];
  }
  LUC_TRY(luc__held(ctx,
                    luc__tensor_view(ctx, input, input->ndim, sizes, input->strides, from, &source),
                    &source));
  LUC_TRY(luc__held(ctx,
                    luc__tensor_view(ctx, padded, input->ndim, sizes, padded->strides, to, &middle),
                    &middle));
  return luc__copy(ctx, middle, source);
}

static luc_status run_pad(luc_context *ctx, luc_pad_mode mode, luc_tensor *input,
                          const luc_value *pad, const luc_value *value, luc_value *out) {
  enum { BRIEF = 128 };
  luc_tensor *dense, *padded;
  luc_pad p;
  int64_t sizes[LUC_MAX_DIMS], both = 1;
  if (value) LUC_TRY(luc__check_scalar(ctx, luc_as_scalar(value), input->dtype));
  for (int d = 0; d < input->ndim; d++) {
    sizes[d] = input->sizes[d] + pad_before(pad, input->ndim, d) + pad_after(pad, input->ndim, d);
    both = luc__min64(input->sizes[d], sizes[d]);
  }
  LUC_TRY(luc__scratch(ctx, input->dtype, input->ndim, sizes, &padded));
  const bool brief = both * (int64_t)luc__dtype_size(input->dtype) <= BRIEF;
  const bool last = value ? luc__channels_last(input, input->ndim - 2) : is_last(input, pad);
  if (last) luc__lay_channels_last(padded);
  if (value && (last || brief)) {
    LUC_TRY(pad_short(ctx, input, pad, luc_as_scalar(value), padded));
  } else {
    LUC_TRY(luc__held(ctx, luc__dense_images(ctx, input, input->dtype, last, &dense), &dense));
    describe(&p, mode, input, last, pad);
    p.inner = dense->data, p.outer = padded->data;
    if (value) luc__store_scalar(&p.value, p.dtype, luc_as_scalar(value));
    luc__pad(ctx, &p);
  }
  out[0] = luc_v_tensor(luc__retain(padded));
  return LUC_OK;
}

/* ---- constant ---- */

luc_status luc__run_constant_pad_nd(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  int n = input->ndim;
  LUC_TRY(check_pad(ctx, input, &args[1]));
  for (int d = 0; d < n; d++) {
    int64_t before = pad_before(&args[1], n, d), after = pad_after(&args[1], n, d);
    LUC_CHECK(ctx, input->sizes[d] + before + after >= 0, LUC_ERR_SHAPE,
              "padding (%lld, %lld) leaves nothing of dim %d, which has size %lld",
              (long long)before, (long long)after, d + 1, (long long)input->sizes[d]);
  }
  return run_pad(ctx, LUC_PAD_CONSTANT, input, &args[1], &args[2], out);
}

/* Cropping undoes padding. */
luc_status luc__grad_constant_pad_nd(luc_context *ctx, luc_backward *b) {
  int64_t crop[2 * LUC_MAX_DIMS];
  for (int i = 0; i < b->args[1].n; i++) crop[i] = -b->args[1].as.ints[i];
  return luc__op1(ctx, LUC_OP_constant_pad_nd, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(crop, b->args[1].n), luc_v_int(0)));
}

/* ---- borders of the tensor's own values ---- */

static luc_status check_border(luc_context *ctx, const luc_tensor *input, int mode, int d,
                               int64_t before, int64_t after) {
  int64_t n = input->sizes[d], most = mode == LUC_PAD_REFLECT    ? n - 1
                                      : mode == LUC_PAD_CIRCULAR ? n
                                                                 : INT64_MAX;
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, before <= most && after <= most && (n > 0 || (before <= 0 && after <= 0)),
            LUC_ERR_SHAPE,
            "pad: Padding size should be %s the corresponding input dimension, but got: padding "
            "(%lld, %lld) at dimension %d of input %s",
            mode == LUC_PAD_REFLECT ? "less than" : "at most", (long long)before, (long long)after,
            d + 1, luc__tensor_shape_text(shape, input));
  LUC_CHECK(ctx, n + before + after >= (mode != LUC_PAD_CIRCULAR), LUC_ERR_SHAPE,
            "pad: padding (%lld, %lld) leaves nothing of dim %d, which has size %lld",
            (long long)before, (long long)after, d + 1, (long long)n);
  return LUC_OK;
}

static luc_status pad_borders(luc_context *ctx, luc_tensor *input, const luc_value *pad, int mode,
                              luc_value *out) {
  int dims = pad->n / 2;
  LUC_CHECK(ctx, dims <= 3 && input->ndim >= dims + 1 && input->ndim <= dims + 2, LUC_ERR_SUPPORT,
            "pad: only the last 1, 2 or 3 dims of 2- to 5-dimensional inputs can be padded other "
            "than with a constant (pad has %d entries, the input %d dimensions)",
            pad->n, input->ndim);
  if (mode != LUC_PAD_CIRCULAR && input->sizes[input->ndim - dims - 1] == 0)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "pad: only the batch may have no elements");
  for (int d = input->ndim - 1; d >= input->ndim - dims; d--)
    LUC_TRY(check_border(ctx, input, mode, d, pad_before(pad, input->ndim, d),
                         pad_after(pad, input->ndim, d)));
  return luc_call(ctx, LUC_OP_pad_border, LUC_ARGS(luc_v_tensor(input), *pad, luc_v_int(mode)),
                  out);
}

/* What is cropped is so before the rest goes round, as in PyTorch. */
static luc_status pad_round(luc_context *ctx, luc_tensor *input, const luc_value *pad,
                            luc_value *out) {
  int64_t crop[2 * LUC_MAX_DIMS], wrap[2 * LUC_MAX_DIMS];
  luc_value rest = luc_v_ints(wrap, pad->n);
  luc_tensor *middle = NULL;
  bool crops = false;
  for (int i = 0; i < pad->n; i++) {
    crop[i] = pad->as.ints[i] < 0 ? pad->as.ints[i] : 0;
    wrap[i] = pad->as.ints[i] - crop[i];
    crops = crops || crop[i] < 0;
  }
  if (!crops) return pad_borders(ctx, input, pad, LUC_PAD_CIRCULAR, out);
  LUC_TRY(luc__op1(ctx, LUC_OP_constant_pad_nd, &middle,
                   LUC_ARGS(luc_v_tensor(input), luc_v_ints(crop, pad->n), luc_v_int(0))));
  luc_status status = pad_borders(ctx, middle, &rest, LUC_PAD_CIRCULAR, out);
  luc_tensor_release(ctx, middle);
  return status;
}

/* pad_border(input, pad, mode) */
luc_status luc__run_pad_border(luc_context *ctx, luc_value *args, luc_value *out) {
  return run_pad(ctx, (luc_pad_mode)args[2].as.i, args[0].as.tensor, &args[1], NULL, out);
}

LUC_GRAD_BY(pad_border, luc__grad_call, LUC_OP_pad_border_backward, 3)

/* pad_border_backward(grad, pad, mode) */
luc_status luc__run_pad_border_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *grad = args[0].as.tensor, *dense, *sum;
  const luc_dtype dtype = grad->dtype;
  const luc_dtype compute = luc__dtype_is_complex(dtype) ? dtype : luc__compute_dtype(dtype);
  const bool last = is_last(grad, &args[1]);
  int64_t sizes[LUC_MAX_DIMS];
  luc_pad p;
  for (int d = 0; d < grad->ndim; d++)
    sizes[d] =
        grad->sizes[d] - pad_before(&args[1], grad->ndim, d) - pad_after(&args[1], grad->ndim, d);
  LUC_TRY(luc__held(ctx, luc__dense_images(ctx, grad, compute, last, &dense), &dense));
  LUC_TRY(luc__scratch(ctx, compute, grad->ndim, sizes, &sum));
  if (last) luc__lay_channels_last(sum);
  describe(&p, (luc_pad_mode)args[2].as.i, sum, last, &args[1]);
  p.inner = sum->data, p.outer = dense->data;
  luc__pad_backward(ctx, &p);
  return luc__result(ctx, out, dtype, sum);
}

LUC_GRAD_BY(pad_border_backward, luc__grad_call, LUC_OP_pad_border, 3)

luc_status luc__run_pad(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *result;
  int mode;
  LUC_TRY(check_pad(ctx, input, &args[1]));
  LUC_TRY(
      luc__choice(ctx, "mode", "constant|reflect|replicate|circular", args[2].as.string, &mode));
  if (mode != LUC_PAD_CONSTANT) {
    LUC_CHECK(ctx, luc_is_none(&args[3]) || luc_as_double(&args[3]) == 0, LUC_ERR_VALUE,
              "Padding mode \"%s\" doesn't take in value argument", args[2].as.string);
    return mode == LUC_PAD_CIRCULAR ? pad_round(ctx, input, &args[1], out)
                                    : pad_borders(ctx, input, &args[1], mode, out);
  }
  luc_value value = luc_is_none(&args[3]) ? luc_v_int(0) : args[3];
  LUC_TRY(luc__op1(ctx, LUC_OP_constant_pad_nd, &result, LUC_ARGS(args[0], args[1], value)));
  out[0] = luc_v_tensor(result);
  return LUC_OK;
}
