/* Random tensors. A non-contiguous target is filled in the order of its memory, as PyTorch's
 * iterators do, so that a transposed view gets the same numbers in the same places. */
#include "cpu/random.h"

#include <math.h>

#include "cpu/sort.h"
#include "ops/formula.h"
#include "ops/geometry.h"

/* Sorts the dimensions of t by falling stride; the same for p's strides if p is given. */
static luc_status by_stride(luc_context *ctx, luc_tensor *t, luc_tensor *p, luc_tensor **tv,
                            luc_tensor **pv) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS], p_strides[LUC_MAX_DIMS] = {0};
  for (int d = 0; d < t->ndim; d++) {
    int at = d;
    for (; at > 0 && strides[at - 1] < t->strides[d]; at--) {
      sizes[at] = sizes[at - 1];
      strides[at] = strides[at - 1];
      p_strides[at] = p_strides[at - 1];
    }
    sizes[at] = t->sizes[d];
    strides[at] = t->strides[d];
    if (p) p_strides[at] = p->strides[d];
  }
  if (p)
    LUC_TRY(luc__held(ctx, luc__tensor_view(ctx, p, p->ndim, sizes, p_strides, p->offset, pv), pv));
  return luc__held(ctx, luc__tensor_view(ctx, t, t->ndim, sizes, strides, t->offset, tv), tv);
}

static luc_status fill_random(luc_context *ctx, luc_generator *gen, luc_tensor *t, luc_draw *draw);

/* Both parts are drawn; of a normal distribution each has half of the variance. */
static luc_status fill_complex(luc_context *ctx, luc_generator *gen, luc_tensor *t,
                               luc_draw *draw) {
  luc_tensor *parts;
  LUC_TRY(luc__unary(ctx, LUC_OP_view_as_real, t, &parts));
  if (draw->kind == LUC_NORMAL) draw->b /= sqrt(2);
  luc_status status = fill_random(ctx, gen, parts, draw);
  luc_tensor_release(ctx, parts);
  return status;
}

static luc_status fill_random(luc_context *ctx, luc_generator *gen, luc_tensor *t, luc_draw *draw) {
  if (luc__dtype_is_complex(t->dtype)) return fill_complex(ctx, gen, t, draw);
  luc_tensor *wide, *target = t;
  draw->target = t->dtype;
  draw->blocks = luc__is_contiguous(t);
  luc_dtype work = luc__random_dtype(draw);
  if (!draw->blocks) LUC_TRY(by_stride(ctx, t, NULL, &target, NULL));
  if (work != draw->target || !luc__is_contiguous(target)) {
    LUC_TRY(luc__scratch_like(ctx, target, work, &wide));
    luc__random_fill(ctx, gen, draw, wide->data, wide->numel);
    LUC_TRY(luc__copy(ctx, target, wide));
  } else {
    luc__random_fill(ctx, gen, draw, target->data, target->numel);
  }
  return LUC_OK;
}

static luc_status need_float(luc_context *ctx, luc_dtype dtype) {
  LUC_CHECK(ctx, luc__dtype_has_gradient(dtype), LUC_ERR_TYPE, "not implemented for dtype %s",
            luc__dtype_name(dtype));
  return LUC_OK;
}

/* ---- factories ---- */

/* args: generator, dtype, device, requires_grad; `like` (or NULL) has the order of dimensions */
static luc_status made_as(luc_context *ctx, const luc_tensor *like, int n, const int64_t *sizes,
                          luc_dtype dtype, luc_draw *draw, const luc_value *args, luc_value *out) {
  luc_tensor *t;
  LUC_TRY(luc__factory_dtype(ctx, args + 1, dtype, &dtype));
  LUC_TRY(luc__check_sizes(ctx, n, sizes));
  if (draw->kind != LUC_INTEGERS) LUC_TRY(need_float(ctx, dtype));
  LUC_TRY(luc__tensor_empty(ctx, dtype, n, sizes, &t));
  if (like) luc__take_order(t, 1, &like);
  luc_status status = fill_random(ctx, luc_as_generator(ctx, args), t, draw);
  if (status == LUC_OK) return luc__factory_give(ctx, args + 1, out, t);
  luc_tensor_release(ctx, t);
  return status;
}
static luc_status made(luc_context *ctx, int n, const int64_t *sizes, luc_dtype dtype,
                       luc_draw *draw, const luc_value *args, luc_value *out) {
  return made_as(ctx, NULL, n, sizes, dtype, draw, args, out);
}

static luc_status unit(luc_context *ctx, luc_distribution kind, luc_value *args, luc_value *out) {
  luc_draw draw = {.kind = kind, .b = 1};
  return made(ctx, args[0].n, args[0].as.ints, ctx->default_dtype, &draw, args + 1, out);
}

LUC_RUN_BY(rand, unit, LUC_UNIFORM)
LUC_RUN_BY(randn, unit, LUC_NORMAL)

static luc_status made_like(luc_context *ctx, luc_draw *draw, const luc_value *args,
                            const luc_value *opts, luc_value *out) {
  const luc_tensor *t = args[0].as.tensor;
  return made_as(ctx, t, t->ndim, t->sizes, t->dtype, draw, opts, out);
}

static luc_status unit_like(luc_context *ctx, luc_distribution kind, luc_value *args,
                            luc_value *out) {
  luc_draw draw = {.kind = kind, .b = 1};
  return made_like(ctx, &draw, args, args + 1, out);
}

LUC_RUN_BY(rand_like, unit_like, LUC_UNIFORM)
LUC_RUN_BY(randn_like, unit_like, LUC_NORMAL)

/* x as a floating point dtype rounds it; x itself where that is no int64. */
static int64_t rounded(int64_t x, luc_dtype dtype) {
  const double near = luc__scalar_as((luc_scalar){LUC_SCALAR_INT, {.i = x}}, dtype).as.f;
  return fabs(near) < 0x1p63 ? (int64_t)near : x;
}

/* How far apart the dtype's numbers of x's size are, where they are whole. */
static int64_t spacing(int64_t x, luc_dtype dtype) {
  int shift = dtype == LUC_FLOAT64 ? -52 : dtype == LUC_FLOAT32 ? -23 : -7;
  if (dtype == LUC_FLOAT16) shift = -10;
  for (int64_t v = x / 2; v != 0; v /= 2) shift++;
  return INT64_C(1) << shift;
}

/* Ends that floats round away from the range come back into it, so that no number is rounded to
 * one outside. */
static luc_status keep_inside(luc_context *ctx, luc_dtype dtype, int64_t *lo, int64_t *hi) {
  const int64_t first = rounded(*lo + 1, dtype), last = rounded(*hi - 1, dtype);
  if (first < *lo) *lo = first + spacing(*lo + 1, dtype);
  if (last >= *hi) *hi = last - spacing(*hi - 1, dtype);
  LUC_CHECK(ctx, *lo < *hi, LUC_ERR_VALUE,
            "expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            "from=%lld >= to=%lld",
            (long long)*lo, (long long)*hi);
  return LUC_OK;
}

static luc_status integer_draw(luc_context *ctx, int64_t lo, int64_t hi, luc_dtype dtype,
                               luc_draw *draw) {
  LUC_CHECK(ctx, lo < hi, LUC_ERR_VALUE,
            "expects 'from' to be less than 'to', but got from=%lld >= to=%lld", (long long)lo,
            (long long)hi);
  if (luc__dtype_is_float(dtype)) LUC_TRY(keep_inside(ctx, dtype, &lo, &hi));
  luc_scalar ends[2] = {{LUC_SCALAR_INT, {.i = lo}}, {LUC_SCALAR_INT, {.i = hi - 1}}};
  for (int i = 0; i < 2; i++) {
    bool fits = luc__check_scalar(ctx, ends[i], dtype) == LUC_OK &&
                (dtype != LUC_UINT8 || ends[i].as.i >= 0) &&
                (dtype != LUC_BOOL || ends[i].as.i >> 1 == 0);
    LUC_CHECK(ctx, fits, LUC_ERR_VALUE, "%s is out of bounds for %s", i ? "to - 1" : "from",
              luc__dtype_name(dtype));
  }
  *draw = (luc_draw){.kind = LUC_INTEGERS, .lo = lo, .hi = hi};
  return LUC_OK;
}

static luc_status randint(luc_context *ctx, int64_t lo, int64_t hi, const luc_value *args,
                          luc_value *out) {
  luc_draw draw;
  luc_dtype dtype = args[2].kind == LUC_DTYPE ? (luc_dtype)args[2].as.i : LUC_INT64;
  LUC_TRY(integer_draw(ctx, lo, hi, dtype, &draw));
  return made(ctx, args[0].n, args[0].as.ints, LUC_INT64, &draw, args + 1, out);
}

luc_status luc__run_randint(luc_context *ctx, luc_value *args, luc_value *out) {
  return randint(ctx, 0, args[0].as.i, args + 1, out);
}
luc_status luc__run_randint_low(luc_context *ctx, luc_value *args, luc_value *out) {
  return randint(ctx, args[0].as.i, args[1].as.i, args + 2, out);
}

static luc_status randint_like(luc_context *ctx, const luc_value *args, int64_t lo, int64_t hi,
                               const luc_value *opts, luc_value *out) {
  luc_draw draw;
  luc_dtype own = args[0].as.tensor->dtype;
  luc_dtype dtype = opts[1].kind == LUC_DTYPE ? (luc_dtype)opts[1].as.i : own;
  LUC_TRY(integer_draw(ctx, lo, hi, dtype, &draw));
  return made_like(ctx, &draw, args, opts, out);
}

luc_status luc__run_randint_like(luc_context *ctx, luc_value *args, luc_value *out) {
  return randint_like(ctx, args, 0, args[1].as.i, args + 2, out);
}
luc_status luc__run_randint_like_low(luc_context *ctx, luc_value *args, luc_value *out) {
  return randint_like(ctx, args, args[1].as.i, args[2].as.i, args + 3, out);
}

luc_status luc__run_randperm(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t n = args[0].as.i;
  luc_tensor *t, *r = NULL;
  luc_dtype dtype;
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "n must be non-negative, got %lld", (long long)n);
  LUC_TRY(luc__factory_dtype(ctx, args + 2, LUC_INT64, &dtype));
  luc_scalar last = {LUC_SCALAR_INT, {.i = n}};
  LUC_TRY(luc__check_scalar(ctx, last, dtype));
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &n, &t));
  luc__fill_randperm(luc_as_generator(ctx, &args[1]), (int64_t *)t->data, n, ctx->first);
  luc_status status = luc__contiguous_as(ctx, t, dtype, &r);
  luc_tensor_release(ctx, t);
  return status == LUC_OK ? luc__factory_give(ctx, args + 2, out, r) : status;
}

/* ---- in-place fills ---- */

static luc_status need_std(luc_context *ctx, double std) {
  LUC_CHECK(ctx, std >= 0, LUC_ERR_VALUE, "expects std >= 0.0, but found std %g", std);
  return LUC_OK;
}

/* args: self, a, b, generator (or self, a, generator) */
static luc_status draw_into(luc_context *ctx, luc_distribution kind, bool two,
                            const luc_value *args, luc_value *out) {
  (void)out;
  luc_tensor *self = args[0].as.tensor;
  luc_draw draw = {.kind = kind, .a = luc_as_double(&args[1])};
  if (two) draw.b = luc_as_double(&args[2]);
  LUC_TRY(need_float(ctx, self->dtype));
  return fill_random(ctx, luc_as_generator(ctx, &args[two ? 3 : 2]), self, &draw);
}

luc_status luc__run_uniform_(luc_context *ctx, luc_value *args, luc_value *out) {
  double lo = luc_as_double(&args[1]), hi = luc_as_double(&args[2]);
  LUC_CHECK(ctx, isfinite(lo) && isfinite(hi), LUC_ERR_VALUE, "%s is out of bounds for %s",
            isfinite(lo) ? "to" : "from", luc__dtype_name(args[0].as.tensor->dtype));
  LUC_CHECK(ctx, lo <= hi, LUC_ERR_VALUE,
            "expects to return a [from, to) range, but found from=%g > to=%g", lo, hi);
  return draw_into(ctx, LUC_UNIFORM, true, args, out);
}

luc_status luc__run_normal_(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(need_std(ctx, luc_as_double(&args[2])));
  return draw_into(ctx, LUC_NORMAL, true, args, out);
}

luc_status luc__run_log_normal_(luc_context *ctx, luc_value *args, luc_value *out) {
  double std = luc_as_double(&args[2]);
  LUC_CHECK(ctx, std > 0, LUC_ERR_VALUE, "expects std > 0.0, but found std=%g", std);
  return draw_into(ctx, LUC_LOG_NORMAL, true, args, out);
}

luc_status luc__run_cauchy_(luc_context *ctx, luc_value *args, luc_value *out) {
  double sigma = luc_as_double(&args[2]);
  LUC_CHECK(ctx, sigma > 0, LUC_ERR_VALUE, "expects sigma > 0.0, but found sigma=%g", sigma);
  return draw_into(ctx, LUC_CAUCHY, true, args, out);
}

luc_status luc__run_exponential_(luc_context *ctx, luc_value *args, luc_value *out) {
  double lambda = luc_as_double(&args[1]);
  LUC_CHECK(ctx, lambda > 0, LUC_ERR_VALUE, "expects lambda > 0.0, but found lambda=%g", lambda);
  return draw_into(ctx, LUC_EXPONENTIAL, false, args, out);
}

luc_status luc__run_geometric_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  luc_draw draw = {.kind = LUC_GEOMETRIC, .a = luc_as_double(&args[1])};
  draw.b = log1p(-draw.a);
  LUC_CHECK(ctx, draw.a > 0 && draw.a < 1, LUC_ERR_VALUE, "expects p to be in (0, 1), but got p=%g",
            draw.a);
  return fill_random(ctx, luc_as_generator(ctx, &args[2]), args[0].as.tensor, &draw);
}

static luc_status random_range(luc_context *ctx, luc_tensor *self, int64_t lo, int64_t hi,
                               const luc_value *generator) {
  luc_draw draw;
  LUC_TRY(integer_draw(ctx, lo, hi, self->dtype, &draw));
  return fill_random(ctx, luc_as_generator(ctx, generator), self, &draw);
}

luc_status luc__run_random_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  luc_draw draw = {.kind = LUC_ANY_INTEGER};
  return fill_random(ctx, luc_as_generator(ctx, &args[1]), args[0].as.tensor, &draw);
}
luc_status luc__run_random_to_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  return random_range(ctx, args[0].as.tensor, 0, args[1].as.i, &args[2]);
}
luc_status luc__run_random_from_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  return random_range(ctx, args[0].as.tensor, args[1].as.i, args[2].as.i, &args[3]);
}

/* ---- bernoulli ---- */

static luc_status check_probabilities(luc_context *ctx, const luc_tensor *p) {
  for (int64_t i = 0; i < p->numel; i++) {
    double v = p->dtype == LUC_FLOAT64 ? ((double *)p->data)[i] : (double)((float *)p->data)[i];
    LUC_CHECK(ctx, v >= 0 && v <= 1, LUC_ERR_VALUE, "bernoulli: expected 0 <= p <= 1 (got %g)", v);
  }
  return LUC_OK;
}

/* self, in its memory order, becomes 1 with the probability in p, which has self's sizes. */
static luc_status bernoulli_tensor(luc_context *ctx, luc_generator *gen, luc_tensor *self,
                                   luc_tensor *p) {
  luc_tensor *wide, *view, *p_view, *flat, *bits;
  luc_dtype dtype = p->dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  LUC_TRY(need_float(ctx, p->dtype));
  LUC_TRY(luc__held(ctx, luc__expand(ctx, p, self->ndim, self->sizes, &wide), &wide));
  LUC_TRY(by_stride(ctx, self, wide, &view, &p_view));
  LUC_TRY(luc__as_dense(ctx, p_view, dtype, &flat));
  LUC_TRY(check_probabilities(ctx, flat));
  LUC_TRY(luc__scratch_like(ctx, view, LUC_BOOL, &bits));
  if (dtype == LUC_FLOAT64) {
    luc__random_bernoulli_double(ctx, gen, (bool *)bits->data, (double *)flat->data, flat->numel);
  } else {
    luc__random_bernoulli_float(ctx, gen, (bool *)bits->data, (float *)flat->data, flat->numel);
  }
  return luc__copy(ctx, view, bits);
}

static luc_status bernoulli_into(luc_context *ctx, luc_tensor *self, const luc_value *p,
                                 const luc_value *generator) {
  luc_generator *gen = luc_as_generator(ctx, generator);
  if (p->kind == LUC_TENSOR) return bernoulli_tensor(ctx, gen, self, p->as.tensor);
  luc_draw draw = {.kind = LUC_BERNOULLI, .a = luc_as_double(p)};
  LUC_CHECK(ctx, draw.a >= 0 && draw.a <= 1, LUC_ERR_VALUE,
            "bernoulli_: expects p to be in [0, 1], but got p=%g", draw.a);
  return fill_random(ctx, gen, self, &draw);
}

luc_status luc__run_bernoulli_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  return bernoulli_into(ctx, args[0].as.tensor, &args[1], &args[2]);
}

/* Like the first argument; the probabilities are argument p, the generator is the next. */
static luc_status bernoulli(luc_context *ctx, int p, luc_value *args, luc_value *out) {
  luc_tensor *like = args[0].as.tensor, *r;
  LUC_TRY(luc__scratch_like(ctx, like, like->dtype, &r));
  LUC_TRY(bernoulli_into(ctx, r, &args[p], &args[p + 1]));
  return luc__result(ctx, out, r->dtype, r);
}

LUC_RUN_BY(bernoulli, bernoulli, 0)
LUC_RUN_BY(bernoulli_p, bernoulli, 1)

/* ---- normal with means and deviations ---- */

luc_status luc__run_normal_size(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_draw draw = {.kind = LUC_NORMAL, .a = luc_as_double(&args[0]), .b = luc_as_double(&args[1])};
  LUC_TRY(need_std(ctx, draw.b));
  return made(ctx, args[2].n, args[2].as.ints, ctx->default_dtype, &draw, args + 3, out);
}

static luc_status need_stds(luc_context *ctx, luc_tensor *std) {
  luc_tensor *least;
  if (std->numel == 0) return LUC_OK;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_amin, std, &least), &least)); /* NaN if any is */
  LUC_TRY(luc__as_dense(ctx, least, LUC_FLOAT64, &least));
  LUC_CHECK(ctx, *(const double *)(void *)least->data >= 0, LUC_ERR_VALUE,
            "expects all elements of std >= 0.0");
  return LUC_OK;
}

/* Standard normal values of these sizes, times std, plus mean (each NULL or broadcast). */
static luc_status normal_around(luc_context *ctx, const luc_value *generator, luc_tensor *like,
                                luc_tensor *mean, const luc_value *std, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *z;
  luc_draw draw = {.kind = LUC_NORMAL, .b = 1};
  LUC_TRY(need_float(ctx, like->dtype));
  if (std->kind == LUC_TENSOR)
    LUC_TRY(need_stds(ctx, std->as.tensor));
  else
    LUC_TRY(need_std(ctx, draw.b = luc_as_double(std)));
  LUC_TRY(luc__tensor_empty_like(ctx, like, like->dtype, &z));
  luc__f_own(&f, z);
  f.status = fill_random(ctx, luc_as_generator(ctx, generator), z, &draw);
  if (std->kind == LUC_TENSOR) z = luc__f2(&f, LUC_OP_mul, z, std->as.tensor);
  return luc__f_result(&f, luc__f2(&f, LUC_OP_add, z, mean), out);
}

luc_status luc__run_normal(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *mean = args[0].as.tensor, *like;
  if (args[1].kind != LUC_TENSOR) return normal_around(ctx, &args[2], mean, mean, &args[1], out);
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  luc_dtype dtype = luc__dtype_promote(mean->dtype, args[1].as.tensor->dtype);
  LUC_TRY(luc__broadcast(ctx, mean, args[1].as.tensor, &ndim, sizes));
  LUC_TRY(luc__scratch(ctx, dtype, ndim, sizes, &like));
  return normal_around(ctx, &args[2], like, mean, &args[1], out);
}

luc_status luc__run_normal_std(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *std = args[1].as.tensor, *mean = NULL;
  luc_scalar m = luc_as_scalar(&args[0]);
  LUC_TRY(luc__tensor_scalar(ctx, m, std->dtype, &mean));
  luc_status status = normal_around(ctx, &args[2], std, mean, &args[1], out);
  luc_tensor_release(ctx, mean);
  return status;
}

/* ---- multinomial ---- */

/* Is one infinite, NaN or below 0, is one above 0? Answers are as wide as a lane, so that these are
 * vector code. */
static void judge_floats(const float *p, int64_t n, bool *bad, bool *some) {
  int32_t wrong = 0, above = 0;
  for (int64_t i = 0; i < n; i++) {
    wrong |= !(p[i] >= 0) | !(p[i] < INFINITY);
    above |= p[i] > 0;
  }
  *bad = wrong, *some = above;
}

static void judge_doubles(const double *p, int64_t n, bool *bad, bool *some) {
  int64_t wrong = 0, above = 0;
  for (int64_t i = 0; i < n; i++) {
    wrong |= !(p[i] >= 0) | !(p[i] < (double)INFINITY);
    above |= p[i] > 0;
  }
  *bad = wrong, *some = above;
}

static luc_status check_weights(luc_context *ctx, const void *p, int64_t n, bool single) {
  bool bad, some;
  if (single)
    judge_floats(p, n, &bad, &some);
  else
    judge_doubles(p, n, &bad, &some);
  LUC_CHECK(ctx, !bad, LUC_ERR_VALUE,
            "multinomial: probability tensor contains either `inf`, `nan` or element < 0");
  LUC_CHECK(ctx, some, LUC_ERR_VALUE,
            "multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
  return LUC_OK;
}

static luc_status check_samples(luc_context *ctx, const luc_tensor *p, int64_t samples,
                                bool replace) {
  LUC_CHECK(ctx, p->ndim == 1 || p->ndim == 2, LUC_ERR_SHAPE,
            "multinomial: prob_dist must be 1 or 2 dim, got %d", p->ndim);
  LUC_TRY(need_float(ctx, p->dtype));
  int64_t n = p->sizes[p->ndim - 1];
  LUC_CHECK(ctx, samples > 0, LUC_ERR_VALUE, "multinomial: cannot sample n_sample <= 0 samples");
  LUC_CHECK(ctx, replace || samples <= n, LUC_ERR_VALUE,
            "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement "
            "(%lld > %lld)",
            (long long)samples, (long long)n);
  LUC_CHECK(ctx, n > 0 && n <= 1 << 24, LUC_ERR_SHAPE,
            "multinomial: number of categories must be from 1 to 2^24, got %lld", (long long)n);
  return LUC_OK;
}

luc_status luc__run_multinomial(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *p, *drawn, *keys, *r;
  int64_t samples = args[1].as.i;
  bool replace = args[2].as.i, single = input->dtype != LUC_FLOAT64;
  luc_generator *gen = luc_as_generator(ctx, &args[3]);
  LUC_TRY(check_samples(ctx, input, samples, replace));
  LUC_TRY(luc__as_dense(ctx, input, single ? LUC_FLOAT32 : LUC_FLOAT64, &p));
  int64_t n = p->sizes[p->ndim - 1], rows = p->ndim == 2 ? p->sizes[0] : 1;
  int64_t sizes[2] = {rows, samples};
  LUC_TRY(luc__scratch(ctx, LUC_INT64, p->ndim, sizes + (2 - p->ndim), &r));
  LUC_TRY(luc__held(ctx, luc__tensor_empty_like(ctx, input, LUC_FLOAT64, &drawn), &drawn));
  luc__take_order(drawn, 1, (const luc_tensor *[]){input});
  const size_t row = (size_t)n * luc__dtype_size(p->dtype);
  const char *weights = p->data;
  double *key = (double *)drawn->data;
  int64_t *to = (int64_t *)r->data;
  for (int64_t i = 0; i < rows; i++)
    LUC_TRY(check_weights(ctx, weights + (size_t)i * row, n, single));
  for (int64_t i = 0; replace && i < rows; i++, weights += row, to += samples)
    luc__multinomial_replace(ctx, gen, to, samples, weights, n, key, single);
  if (!replace) {
    luc_draw draw = {.kind = LUC_EXPONENTIAL, .a = 1};
    LUC_TRY(fill_random(ctx, gen, drawn, &draw));
    LUC_TRY(luc__as_dense(ctx, drawn, LUC_FLOAT64, &keys));
    key = (double *)keys->data;
    luc_sort_job job = {p->dtype, true, LUC_PICK_FIRST, rows, n, 1, samples, key, NULL, to};
    luc__multinomial_keys(weights, keys->numel, key, single);
    LUC_TRY(luc__sort(ctx, &job));
  }
  *out = luc_v_tensor(luc__retain(r));
  return LUC_OK;
}
