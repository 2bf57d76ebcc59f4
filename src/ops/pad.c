/* Padding: constant values around a tensor (or cropping, where negative), and borders made of the
 * tensor's own values, which are a selection of positions along each dimension. */
#include <stdlib.h>
#include <string.h>

#include "cpu/copy.h"
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

/* ---- constant ---- */

/* The part of t that a crop leaves, or that padding surrounds: `start` and `sizes` per dimension.
 */
static luc_status region(luc_context *ctx, luc_tensor *t, const int64_t *start,
                         const int64_t *sizes, luc_tensor **out) {
  int64_t offset = t->offset;
  for (int d = 0; d < t->ndim; d++) offset += start[d] * t->strides[d];
  return luc__tensor_view(ctx, t, t->ndim, sizes, t->strides, offset, out);
}

luc_status luc__run_constant_pad_nd(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *padded = NULL, *from = NULL, *to = NULL;
  int n = input->ndim;
  int64_t sizes[LUC_MAX_DIMS], kept[LUC_MAX_DIMS], source[LUC_MAX_DIMS], target[LUC_MAX_DIMS];
  luc_status status;
  bool empty = false;
  LUC_TRY(check_pad(ctx, input, &args[1]));
  for (int d = 0; d < n; d++) {
    int64_t before = pad_before(&args[1], n, d), after = pad_after(&args[1], n, d);
    sizes[d] = input->sizes[d] + before + after;
    LUC_CHECK(ctx, sizes[d] >= 0, LUC_ERR_SHAPE,
              "pad: padding (%lld, %lld) leaves nothing of dim %d, which has size %lld",
              (long long)before, (long long)after, d + 1, (long long)input->sizes[d]);
    source[d] = before < 0 ? -before : 0;
    target[d] = before > 0 ? before : 0;
    kept[d] = input->sizes[d] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    empty |= kept[d] <= 0;
  }
  LUC_GO(luc__tensor_empty(ctx, (luc_dtype)input->dtype, n, sizes, &padded));
  LUC_GO(luc__fill(ctx, padded, luc_as_scalar(&args[2])));
  if (!empty) {
    LUC_GO(region(ctx, input, source, kept, &from));
    LUC_GO(region(ctx, padded, target, kept, &to));
    LUC_GO(luc__copy(ctx, to, from));
  }
  out[0] = luc_v_tensor(luc__retain(padded));
done:
  luc_tensor_release(ctx, padded);
  luc_tensor_release(ctx, from);
  luc_tensor_release(ctx, to);
  return status;
}

/* Cropping undoes padding. */
luc_status luc__grad_constant_pad_nd(luc_context *ctx, luc_backward *b) {
  int64_t crop[2 * LUC_MAX_DIMS];
  for (int i = 0; i < b->args[1].n; i++) crop[i] = -b->args[1].as.ints[i];
  return luc__op1(ctx, LUC_OP_constant_pad_nd, &b->gin[0],
                  LUC_ARGS(luc_v_tensor(b->gout[0]), luc_v_ints(crop, b->args[1].n), luc_v_int(0)));
}

/* ---- borders of the tensor's own values ---- */

/* ORDER PAD MODE */
enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

static int64_t position(int mode, int64_t i, int64_t n) {
  if (mode == REPLICATE) return i < 0 ? 0 : i < n ? i : n - 1;
  if (mode == CIRCULAR) return (i % n + n) % n;
  return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
}

static luc_status check_border(luc_context *ctx, const luc_tensor *input, int mode, int d,
                               int64_t before, int64_t after) {
  int64_t n = input->sizes[d], most = mode == REFLECT ? n - 1 : mode == CIRCULAR ? n : INT64_MAX;
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, before <= most && after <= most && (n > 0 || (before <= 0 && after <= 0)),
            LUC_ERR_SHAPE,
            "pad: Padding size should be %s the corresponding input dimension, but got: padding "
            "(%lld, %lld) at dimension %d of input %s",
            mode == REFLECT ? "less than" : "at most", (long long)before, (long long)after, d + 1,
            luc__tensor_shape_text(shape, input));
  LUC_CHECK(ctx, n + before + after > 0, LUC_ERR_SHAPE,
            "pad: padding (%lld, %lld) leaves nothing of dim %d, which has size %lld",
            (long long)before, (long long)after, d + 1, (long long)n);
  return LUC_OK;
}

/* The values of t at positions [first, end) along dim d, counted as if it went on. */
static luc_status select_border(luc_context *ctx, luc_tensor *t, int mode, int d, int64_t first,
                                int64_t end, luc_tensor **out) {
  luc_tensor *index;
  int64_t n = end - first;
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &n, &index));
  int64_t *positions = (int64_t *)(void *)index->data;
  for (int64_t i = 0; i < n; i++) positions[i] = position(mode, first + i, t->sizes[d]);
  luc_status status = luc__op1(ctx, LUC_OP_index_select, out,
                               LUC_ARGS(luc_v_tensor(t), luc_v_int(d), luc_v_tensor(index)));
  luc_tensor_release(ctx, index);
  return status;
}

/* Elements for which one call is as fast as four. */
enum { FEW = 1 << 12 };

/* t along dim d: the borders are selected, what is between them is copied. */
static luc_status surround(luc_context *ctx, luc_tensor *t, int mode, int d, int64_t before,
                           int64_t after, luc_tensor **out) {
  const int64_t n = t->sizes[d], whole = n + after; /* positions -before to this are wanted */
  const int64_t first = before < 0 ? -before : 0, end = after < 0 ? whole : n;
  luc_tensor *part[3] = {0};
  luc_status status = LUC_OK;
  int count = 0;
  if (t->numel < FEW) return select_border(ctx, t, mode, d, -before, whole, out);
  if (before > 0)
    LUC_GO(select_border(ctx, t, mode, d, -before, whole < 0 ? whole : 0, &part[count++]));
  if (end > first)
    LUC_GO(luc__op1(
        ctx, LUC_OP_narrow, &part[count++],
        LUC_ARGS(luc_v_tensor(t), luc_v_int(d), luc_v_int(first), luc_v_int(end - first))));
  if (after > 0)
    LUC_GO(select_border(ctx, t, mode, d, first > n ? first : n, whole, &part[count++]));
  status = luc__op1(ctx, LUC_OP_cat, out, LUC_ARGS(luc_v_tensors(part, count), luc_v_int(d)));
done:
  for (int i = 0; i < 3; i++) luc_tensor_release(ctx, part[i]);
  return status;
}

static luc_status pad_borders(luc_context *ctx, luc_tensor *input, const luc_value *pad, int mode,
                              luc_value *out) {
  int dims = pad->n / 2;
  LUC_CHECK(ctx, dims <= 3 && input->ndim >= dims + 1 && input->ndim <= dims + 2, LUC_ERR_SUPPORT,
            "pad: only the last 1, 2 or 3 dims of 2- to 5-dimensional inputs can be padded other "
            "than with a constant (pad has %d entries, the input %d dimensions)",
            pad->n, input->ndim);
  luc_tensor *t = luc__retain(input);
  luc_status status;
  for (int d = input->ndim - 1; d >= input->ndim - dims; d--) {
    int64_t before = pad_before(pad, input->ndim, d), after = pad_after(pad, input->ndim, d);
    luc_tensor *wider;
    if (before == 0 && after == 0) continue;
    LUC_GO(check_border(ctx, input, mode, d, before, after));
    LUC_GO(surround(ctx, t, mode, d, before, after, &wider));
    luc_tensor_release(ctx, t);
    t = wider;
  }
  if (t == input) {
    luc_tensor_release(ctx, t);
    LUC_TRY(luc__unary(ctx, LUC_OP_clone, input, &t));
  }
  *out = luc_v_tensor(t);
  return LUC_OK;
done:
  luc_tensor_release(ctx, t);
  return status;
}

luc_status luc__run_pad(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *result;
  int mode;
  LUC_TRY(check_pad(ctx, input, &args[1]));
  LUC_TRY(luc__choice(ctx, "pad", "mode", "constant|reflect|replicate|circular", args[2].as.string,
                      &mode));
  if (mode != CONSTANT) {
    LUC_CHECK(ctx, luc_is_none(&args[3]) || luc_as_double(&args[3]) == 0, LUC_ERR_VALUE,
              "pad: Padding mode \"%s\" doesn't take in value argument", args[2].as.string);
    return pad_borders(ctx, input, &args[1], mode, out);
  }
  luc_value value = luc_is_none(&args[3]) ? luc_v_int(0) : args[3];
  LUC_TRY(luc__op1(ctx, LUC_OP_constant_pad_nd, &result, LUC_ARGS(args[0], args[1], value)));
  out[0] = luc_v_tensor(result);
  return LUC_OK;
}
