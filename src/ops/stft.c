/* Fourier transforms of overlapping frames of a signal, and the signal back from them. Frames are a
 * view of the signal with overlapping strides; the way back adds them at the same strides. */
#include <math.h>
#include <string.h>

#include "ops/formula.h"
#include "ops/geometry.h"

/* n_fft, hop_length, win_length, window as both functions take them, from args[1] on. */
typedef struct framing {
  int64_t n, hop, length;
  luc_tensor *window; /* NULL: all ones */
  double scale;       /* of the transform of a frame */
} framing;

static framing read_framing(const luc_value *args) {
  framing w = {.n = args[1].as.i, .window = luc_as_tensor(&args[4]), .scale = 1};
  w.hop = luc_is_none(&args[2]) ? w.n / 4 : args[2].as.i;
  w.length = luc_is_none(&args[3]) ? w.n : args[3].as.i;
  return w;
}

static bool is_complex(const luc_tensor *t) {
  return t && luc__dtype_is_complex(t->dtype);
}

static luc_status check_window(luc_context *ctx, const framing *w) {
  char text[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, w->length > 0 && w->length <= w->n, LUC_ERR_VALUE,
            "expected 0 < win_length <= n_fft, but got win_length=%lld", (long long)w->length);
  bool fits = !w->window || (w->window->ndim == 1 && w->window->sizes[0] == w->length);
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "expected a 1D window tensor of size equal to win_length=%lld, but got window with "
            "size %s",
            (long long)w->length, luc__tensor_shape_text(text, w->window));
  return LUC_OK;
}

static luc_tensor *padded(luc_formula *f, luc_tensor *t, int64_t before, int64_t after,
                          const char *mode) {
  luc_value pad = luc_v_ints((int64_t[]){before, after}, 2), how = luc_v_string(mode);
  return luc__f_call(f, LUC_OP_pad, LUC_ARGS(luc_v_tensor(t), pad, how));
}

/* The window with zeros on both sides up to n_fft, or NULL if it is all ones; like: whose dtype a
 * window of ones has. */
static luc_tensor *whole_window(luc_formula *f, const framing *w, luc_tensor *like) {
  luc_tensor *window = w->window;
  if (w->length == w->n) return window;
  luc_value size = luc_v_ints(&w->length, 1);
  if (!window) window = luc__f_call(f, LUC_OP_new_ones, LUC_ARGS(luc_v_tensor(like), size));
  int64_t left = (w->n - w->length) / 2;
  return padded(f, window, left, w->n - w->length - left, "constant");
}

/* Over the last dim of [B, frames, n]; how: the transform's own argument. */
static luc_tensor *transformed(luc_formula *f, luc_opid op, luc_tensor *t, double scale,
                               luc_value how) {
  int64_t dim = 2;
  return luc__f_call(f, op,
                     LUC_ARGS(luc_v_tensor(t), luc_v_ints(&dim, 1), luc_v_float(scale), how));
}

/* ---- stft ---- */

/* args: input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
 * return_complex */
static luc_status check_stft(luc_context *ctx, const luc_value *args, const framing *w) {
  const luc_tensor *t = args[0].as.tensor;
  bool complex = is_complex(t) || is_complex(w->window);
  LUC_CHECK(ctx, complex || !luc_is_none(&args[9]), LUC_ERR_VALUE,
            "requires the return_complex parameter be given for real inputs");
  LUC_CHECK(ctx, luc__dtype_has_gradient(t->dtype), LUC_ERR_TYPE,
            "expected a tensor of floating point or complex values, got %s",
            luc__dtype_name(t->dtype));
  char text[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, t->ndim == 1 || t->ndim == 2, LUC_ERR_SHAPE,
            "expected a 1D or 2D tensor, got input %s", luc__tensor_shape_text(text, t));
  int64_t length = t->sizes[t->ndim - 1]; /* centered, it is padded by n_fft / 2 on both sides */
  bool centered = args[5].as.i != 0, zeros = !strcmp(args[6].as.string, "constant");
  bool fits = w->n <= length || (centered && (length > 0 || zeros));
  LUC_CHECK(ctx, w->n > 0 && fits, LUC_ERR_VALUE, "expected 0 < n_fft < %lld, but got n_fft=%lld",
            (long long)length, (long long)w->n);
  LUC_CHECK(ctx, w->hop > 0, LUC_ERR_VALUE, "expected hop_length > 0, but got hop_length=%lld",
            (long long)w->hop);
  LUC_CHECK(ctx, !complex || luc_is_none(&args[8]) || !args[8].as.i, LUC_ERR_VALUE,
            "Cannot have onesided output if window or input is complex");
  return check_window(ctx, w);
}

/* [B, frames, n] -> [B, frames, frequencies] */
static luc_tensor *spectra(luc_formula *f, luc_tensor *t, bool onesided, double scale) {
  if (f->status != LUC_OK) return NULL;
  luc_dtype real = luc__dtype_to_real(t->dtype);
  if (real != LUC_FLOAT32 && real != LUC_FLOAT64) {
    f->status = luc__fail(f->ctx, LUC_ERR_TYPE, "Unsupported dtype %s", luc__dtype_title(real));
    return NULL;
  }
  bool complex = is_complex(t);
  luc_opid op = complex ? LUC_OP_fft_complex : LUC_OP_fft_real;
  return transformed(f, op, t, scale, luc_v_bool(complex || !onesided));
}

luc_status luc__run_stft(luc_context *ctx, luc_value *args, luc_value *out) {
  framing w = read_framing(args);
  luc_tensor *t = args[0].as.tensor;
  LUC_TRY(check_stft(ctx, args, &w));
  luc_formula f = luc__formula(ctx);
  bool single = t->ndim == 1, complex = is_complex(t) || is_complex(w.window);
  bool onesided = luc_is_none(&args[8]) ? !complex : args[8].as.i != 0;
  bool gives_complex = luc_is_none(&args[9]) ? complex : args[9].as.i != 0;
  if (single) t = luc__f_unsqueeze(&f, t, 0);
  if (args[5].as.i) t = padded(&f, t, w.n / 2, w.n / 2, args[6].as.string);
  luc_value last = luc_v_int(-1);
  luc_tensor *frames = luc__f_call(
      &f, LUC_OP_unfold, LUC_ARGS(luc_v_tensor(t), last, luc_v_int(w.n), luc_v_int(w.hop)));
  luc_tensor *window = whole_window(&f, &w, t);
  if (window) frames = luc__f2(&f, LUC_OP_mul, frames, window);
  luc_tensor *r = spectra(&f, frames, onesided, args[7].as.i ? 1 / sqrt((double)w.n) : 1);
  r = luc__f_transpose(&f, r, 1, 2);
  if (single) r = luc__f_squeeze(&f, r, 0);
  if (!gives_complex) r = luc__f1(&f, LUC_OP_view_as_real, r);
  return luc__f_result(&f, r, out);
}

/* ---- istft ---- */

/* args: input, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
 * return_complex */
static luc_status check_istft(luc_context *ctx, const luc_value *args, const framing *w,
                              bool onesided) {
  const luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, is_complex(t), LUC_ERR_TYPE,
            "requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True.");
  LUC_CHECK(ctx, t->numel > 0, LUC_ERR_SHAPE, "input tensor cannot be empty.");
  LUC_CHECK(ctx, t->ndim == 2 || t->ndim == 3, LUC_ERR_SHAPE,
            "expected a tensor with 2 or 3 dimensions, but got %d", t->ndim);
  int64_t frequencies = t->sizes[t->ndim - 2], wanted = onesided ? w->n / 2 + 1 : w->n;
  LUC_CHECK(ctx, frequencies == wanted, LUC_ERR_SHAPE,
            "expected the frequency dimension (2nd to the last) of the input tensor to match %s "
            "when onesided=%s, but got %lld",
            onesided ? "n_fft / 2 + 1" : "n_fft", onesided ? "True" : "False",
            (long long)frequencies);
  LUC_CHECK(ctx, w->hop > 0 && w->hop <= w->length, LUC_ERR_VALUE,
            "expected 0 < hop_length <= win_length (hop_length %lld, win_length %lld)",
            (long long)w->hop, (long long)w->length);
  LUC_CHECK(ctx, luc_is_none(&args[8]) || args[8].as.i >= 0, LUC_ERR_VALUE,
            "length must not be negative, got %lld", (long long)args[8].as.i);
  LUC_CHECK(ctx, !args[9].as.i || !onesided, LUC_ERR_VALUE,
            "Cannot have onesided output if window or input is complex");
  LUC_CHECK(ctx, args[9].as.i || !is_complex(w->window), LUC_ERR_TYPE,
            "Complex windows are incompatible with return_complex=False");
  return check_window(ctx, w);
}

/* Frames [B, frames, n] added where they came from: [B, total]. */
static luc_tensor *overlapped(luc_formula *f, luc_tensor *frames, int64_t hop, int64_t total) {
  if (f->status != LUC_OK) return NULL;
  luc_value size = luc_v_ints((int64_t[]){frames->sizes[0], total}, 2);
  luc_value stride = luc_v_ints((int64_t[]){total, hop, 1}, 3), offset = luc_v_int(0);
  return luc__f_call(f, LUC_OP_strided_add, LUC_ARGS(luc_v_tensor(frames), size, stride, offset));
}

/* Fails where the squares of the windows that lie over a sample add up to nothing. */
static void check_envelope(luc_formula *f, luc_tensor *envelope) {
  luc_tensor *least = luc__f1(f, LUC_OP_abs, envelope);
  if (f->status == LUC_OK) least = luc__f1(f, LUC_OP_amin, luc__all_samples(least));
  if (f->status != LUC_OK) return;
  double value = luc__scalar_double(luc__load_scalar(least->data, least->dtype));
  if (value < 1e-11)
    f->status =
        luc__fail(f->ctx, LUC_ERR_VALUE, "window overlap add min: %g is less than 1e-11", value);
}

/* The signal [B, samples] of frames [B, frames, n]: their sum over the sum of the windows'
 * squares. */
static luc_tensor *joined(luc_formula *f, luc_tensor *frames, const framing *w,
                          const luc_value *args) {
  if (f->status != LUC_OK) return NULL;
  int64_t count = frames->sizes[1], total = w->n + w->hop * (count - 1);
  int64_t start = args[5].as.i ? w->n / 2 : 0, end = total - start;
  if (!luc_is_none(&args[8]))
    end = args[8].as.i < INT64_MAX / 2 ? start + args[8].as.i : INT64_MAX / 2;
  int64_t held = end < total ? end : total;
  luc_tensor *window = whole_window(f, w, frames);
  luc_value size = luc_v_ints(&w->n, 1);
  if (!window) window = luc__f_call(f, LUC_OP_new_ones, LUC_ARGS(luc_v_tensor(frames), size));
  luc_tensor *squares = luc__f2(f, LUC_OP_mul, window, window);
  squares = luc__f_expand(f, squares, 3, (int64_t[]){1, count, w->n});
  luc_tensor *envelope = overlapped(f, squares, w->hop, total);
  envelope = luc__f_narrow(f, envelope, -1, start, held - start);
  luc_tensor *sum = overlapped(f, luc__f2(f, LUC_OP_mul, frames, window), w->hop, total);
  sum = luc__f_narrow(f, sum, -1, start, held - start);
  if (held > start) check_envelope(f, envelope);
  luc_tensor *r = luc__f2(f, LUC_OP_div, sum, envelope);
  return end > total ? padded(f, r, 0, end - total, "constant") : r;
}

luc_status luc__run_istft(luc_context *ctx, luc_value *args, luc_value *out) {
  framing w = read_framing(args);
  luc_tensor *t = args[0].as.tensor;
  bool known = !luc_is_none(&args[7]), single = t->ndim == 2;
  bool onesided = known ? args[7].as.i != 0 : t->ndim > 1 && t->sizes[t->ndim - 2] != w.n;
  LUC_TRY(check_istft(ctx, args, &w, onesided));
  luc_formula f = luc__formula(ctx);
  double n = (double)w.n, scale = args[6].as.i ? 1 / sqrt(n) : 1 / n;
  if (single) t = luc__f_unsqueeze(&f, t, 0);
  t = luc__f_transpose(&f, t, 1, 2); /* [B, frames, frequencies] */
  luc_value how = args[9].as.i ? luc_v_bool(false) : luc_v_int(w.n);
  if (args[9].as.i) {
    t = transformed(&f, LUC_OP_fft_complex, t, scale, how);
  } else {
    if (!onesided) t = luc__f_narrow(&f, t, -1, 0, w.n / 2 + 1);
    t = transformed(&f, LUC_OP_fft_back, t, scale, how);
  }
  luc_tensor *r = joined(&f, t, &w, args);
  if (single) r = luc__f_squeeze(&f, r, 0);
  return luc__f_result(&f, r, out);
}
