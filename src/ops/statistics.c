/* Statistics of samples: covariance, histograms, medians without NaN, and the integrals and slopes
 * of samples. */
#include <math.h>

#include "cpu/histogram.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/reduction.h"

/* ---- trapezoids ---- */

typedef struct samples {
  int d; /* dimension of y */
  int64_t n;
  double dx;
  luc_tensor *x; /* positions along d, or NULL: they are dx apart */
} samples;

static luc_status read_samples(luc_context *ctx, luc_formula *f, const luc_value *args,
                               samples *s) {
  luc_tensor *y = args[0].as.tensor, *x = luc_as_tensor(&args[1]);
  int64_t sizes[LUC_MAX_DIMS];
  LUC_CHECK(ctx, y->dtype != LUC_BOOL && !(x && x->dtype == LUC_BOOL), LUC_ERR_TYPE,
            "received a bool input for `%s`, but bool is not supported",
            y->dtype == LUC_BOOL ? "y" : "x");
  LUC_CHECK(ctx, !x || luc_is_none(&args[2]), LUC_ERR_TYPE, "x and dx exclude each other");
  LUC_CHECK(ctx, y->ndim > 0, LUC_ERR_SHAPE, "y must have at least 1 dimension");
  LUC_TRY(luc__dim_wrap(ctx, args[3].as.i, y->ndim, &s->d));
  s->n = y->sizes[s->d];
  s->dx = luc_is_none(&args[2]) ? 1 : luc_as_double(&args[2]);
  s->x = x;
  if (!x) return LUC_OK;
  LUC_CHECK(ctx, x->ndim <= y->ndim, LUC_ERR_SHAPE, "x has more dimensions than y");
  LUC_CHECK(ctx, x->ndim != 1 || x->sizes[0] == s->n, LUC_ERR_SHAPE,
            "There must be one `x` value for each sample point");
  for (int i = 0; i < y->ndim; i++) {
    int own = i - (y->ndim - x->ndim);
    sizes[i] = x->ndim == 1 ? (i == s->d ? s->n : 1) : own < 0 ? 1 : x->sizes[own];
  }
  s->x = luc__f_reshape(f, x, y->ndim, sizes);
  return f->status;
}

/* Twice the areas between neighbours; s->n > 0. */
static luc_tensor *areas(luc_formula *f, luc_tensor *y, const samples *s) {
  luc_tensor *both = luc__f2(f, LUC_OP_add, luc__f_narrow(f, y, s->d, 0, s->n - 1),
                             luc__f_narrow(f, y, s->d, 1, s->n - 1));
  if (!s->x) return luc__fs(f, LUC_OP_mul, both, s->dx);
  int64_t n = s->x->sizes[s->d];
  luc_tensor *steps = luc__f2(f, LUC_OP_sub, luc__f_narrow(f, s->x, s->d, 1, n > 0 ? n - 1 : 0),
                              luc__f_narrow(f, s->x, s->d, 0, n > 0 ? n - 1 : 0));
  return luc__f2(f, LUC_OP_mul, steps, both);
}

/* Twice the area under samples dx apart: inner ones count twice. */
static luc_tensor *total(luc_formula *f, luc_tensor *y, const samples *s) {
  luc_tensor *twice = luc__fs(f, LUC_OP_mul, luc__f_sum_dim(f, y, s->d), 2);
  luc_tensor *first = luc__f_squeeze(f, luc__f_narrow(f, y, s->d, 0, 1), s->d);
  luc_tensor *last = luc__f_squeeze(f, luc__f_narrow(f, y, s->d, s->n - 1, 1), s->d);
  luc_tensor *rest = luc__f2(f, LUC_OP_sub, luc__f2(f, LUC_OP_sub, twice, first), last);
  return luc__fs(f, LUC_OP_mul, rest, s->dx);
}

static luc_status integral(luc_context *ctx, bool running, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = args[0].as.tensor, *r;
  samples s;
  luc_status status = read_samples(ctx, &f, args, &s);
  if (status != LUC_OK) {
    luc__f_end(&f, NULL, NULL);
    return status;
  }
  if (!running && !s.x && s.n > 0) {
    r = total(&f, y, &s);
  } else {
    luc_value whole = luc_v_tensor(s.n > 0 ? areas(&f, y, &s) : y), dim = luc_v_int(s.d);
    r = luc__f_call(&f, running ? LUC_OP_cumsum : LUC_OP_sum, LUC_ARGS(whole, dim));
  }
  bool halved = s.n > 0 || running; /* of no samples PyTorch's total has the dtype of y */
  return luc__f_result(
      &f, halved ? luc__fs(&f, LUC_OP_div, r, 2) : luc__f_to(&f, r, (luc_dtype)y->dtype), out);
}

LUC_RUN_BY(trapezoid, integral, false)
LUC_RUN_BY(cumulative_trapezoid, integral, true)

/* ---- derivatives ---- */

/* Along dimension d, whose samples are 1 apart, or `steps` (a size that broadcasts). */
typedef struct spacing {
  int d;
  luc_tensor *steps;
} spacing;

/* The differences of n pairs of neighbours, from `at` on, by their distances. */
static luc_tensor *slopes(luc_formula *f, luc_tensor *x, const spacing *s, int64_t at, int64_t n) {
  luc_tensor *apart = luc__f2(f, LUC_OP_sub, luc__f_narrow(f, x, s->d, at + 1, n),
                              luc__f_narrow(f, x, s->d, at, n));
  return s->steps ? luc__f2(f, LUC_OP_div, apart, luc__f_narrow(f, s->steps, s->d, at, n)) : apart;
}

/* The slopes of n parabolas, each through three neighbours, the first of them from `at` on: at the
 * first, second or third of them (0, 1, 2). */
static luc_tensor *parabolas(luc_formula *f, luc_tensor *x, const spacing *s, int64_t at, int64_t n,
                             int which) {
  luc_tensor *before = slopes(f, x, s, at, n), *after = slopes(f, x, s, at + 1, n), *share;
  luc_tensor *bend = luc__f2(f, LUC_OP_sub, after, before);
  if (s->steps) {
    luc_tensor *h1 = luc__f_narrow(f, s->steps, s->d, at, n),
               *h2 = luc__f_narrow(f, s->steps, s->d, at + 1, n);
    share = luc__f2(f, LUC_OP_div, which == 2 ? h2 : h1, luc__f2(f, LUC_OP_add, h1, h2));
    bend = luc__f2(f, LUC_OP_mul, bend, share);
  } else {
    bend = luc__fs(f, LUC_OP_div, bend, 2);
  }
  return luc__f2(f, which == 0 ? LUC_OP_sub : LUC_OP_add, which == 2 ? after : before, bend);
}

static luc_status gradient_along(luc_context *ctx, luc_tensor *x, const spacing *given, double h,
                                 int64_t order, luc_tensor **out) {
  luc_formula f = luc__formula(ctx);
  spacing s = *given;
  int64_t n = x->sizes[s.d], sizes[LUC_MAX_DIMS];
  luc_tensor *inner, *list[3];
  for (int i = 0; i < x->ndim; i++) sizes[i] = i == s.d ? n - 1 : 1;
  if (s.steps) {
    luc_tensor *steps = luc__f1(&f, LUC_OP_diff, s.steps);
    s.steps = luc__f_reshape(&f, steps, x->ndim, sizes);
    inner = parabolas(&f, x, &s, 0, n - 2, 1);
  } else { /* the same, but for the middle one's part in it */
    luc_tensor *apart = luc__f2(&f, LUC_OP_sub, luc__f_narrow(&f, x, s.d, 2, n - 2),
                                luc__f_narrow(&f, x, s.d, 0, n - 2));
    inner = luc__fs(&f, LUC_OP_div, apart, 2);
  }
  list[0] = order == 2 ? parabolas(&f, x, &s, 0, 1, 0) : slopes(&f, x, &s, 0, 1);
  list[1] = inner;
  list[2] = order == 2 ? parabolas(&f, x, &s, n - 3, 1, 2) : slopes(&f, x, &s, n - 2, 1);
  luc_value dim = luc_v_int(s.d);
  luc_tensor *all = luc__f_call(&f, LUC_OP_cat, LUC_ARGS(luc_v_tensors(list, 3), dim));
  return luc__f_end(&f, s.steps ? all : luc__fs(&f, LUC_OP_div, all, h), out);
}

/* The dimensions asked for, in order, and that there are enough samples along them. */
static luc_status gradient_dims(luc_context *ctx, const luc_tensor *x, const luc_value *args,
                                int *n, int *dims) {
  luc_dims unused;
  int64_t order = args[3].as.i;
  bool all = luc_is_none(&args[2]);
  LUC_CHECK(ctx, x->dtype != LUC_UINT8, LUC_ERR_TYPE, "gradient: does not support uint8 input");
  LUC_CHECK(ctx, order == 1 || order == 2, LUC_ERR_VALUE,
            "gradient: only supports edge_order=1 and edge_order=2 (got %lld)", (long long)order);
  LUC_TRY(luc__dims(ctx, x, &args[2], false, &unused));
  *n = all ? x->ndim : args[2].n;
  for (int i = 0; i < *n; i++) {
    LUC_TRY(luc__dim_wrap(ctx, all ? i : args[2].as.ints[i], x->ndim, &dims[i]));
    LUC_CHECK(ctx, x->ndim > 0 && x->sizes[dims[i]] > order, LUC_ERR_SHAPE,
              "gradient: expected each dimension size to be at least edge_order+1 (dim %d of "
              "input %s, edge_order %lld)",
              dims[i] + 1, luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, x), (long long)order);
  }
  return LUC_OK;
}

/* spacing: None, numbers (a single one for all dimensions), or the positions of the samples. */
static luc_status check_spacing(luc_context *ctx, const luc_tensor *x, const luc_value *given,
                                int n, const int *dims) {
  bool positions = given->kind == LUC_TENSORS;
  int count = luc_is_none(given) ? 1 : given->n;
  LUC_CHECK(ctx, count == n || (count == 1 && !positions), LUC_ERR_VALUE,
            "gradient: expected spacing to be unspecified, a number or a list of length equal to "
            "the number of dimensions %d, but got a list of length %d",
            n, count);
  for (int i = 0; positions && i < n; i++) {
    const luc_tensor *at = given->as.tensors[i];
    LUC_CHECK(ctx, at->ndim == 1 && at->sizes[0] == x->sizes[dims[i]], LUC_ERR_SHAPE,
              "gradient: spacing[%d] must have a position for each of the %lld samples (got %s)",
              i + 1, (long long)x->sizes[dims[i]],
              luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, at));
  }
  return LUC_OK;
}

luc_status luc__run_gradient(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  const luc_value *given = &args[1];
  int n = 0, dims[LUC_MAX_DIMS];
  LUC_TRY(gradient_dims(ctx, x, args, &n, dims));
  LUC_TRY(check_spacing(ctx, x, given, n, dims));
  LUC_TRY(luc__list(ctx, n, out));
  for (int i = 0; i < n; i++) {
    spacing s = {dims[i], given->kind == LUC_TENSORS ? given->as.tensors[i] : NULL};
    double h = given->kind == LUC_FLOATS ? given->as.floats[given->n == 1 ? 0 : i] : 1;
    LUC_TRY(gradient_along(ctx, x, &s, h, args[3].as.i, &out->as.tensors[i]));
  }
  return LUC_OK;
}

/* ---- covariance ---- */

/* A weight for each of n observations: integers >= 0 (fweights) or floats >= 0 (aweights). */
static luc_status check_weights(luc_context *ctx, const char *name, bool whole, const luc_tensor *w,
                                int64_t n) {
  if (!w) return LUC_OK;
  luc_dtype dtype = w->dtype;
  bool fits = whole ? !luc__dtype_is_float(dtype) && dtype != LUC_BOOL : luc__dtype_is_float(dtype);
  LUC_CHECK(ctx, w->ndim <= 1, LUC_ERR_SHAPE,
            "cov: expected %s to have one or fewer dimensions but got %s with %d dimensions", name,
            name, w->ndim);
  LUC_CHECK(ctx, fits, LUC_ERR_TYPE, "cov: expected %s to have %s dtype but got %s with %s dtype",
            name, whole ? "integral" : "floating point", name, luc__dtype_title(dtype));
  LUC_CHECK(ctx, w->numel == n, LUC_ERR_SHAPE,
            "cov: expected %s to have the same numel as there are observations in the input but "
            "got %lld != %lld",
            name, (long long)w->numel, (long long)n);
  for (int64_t i = 0; i < n; i++) {
    const char *at =
        (const char *)w->data + i * (w->ndim ? w->strides[0] : 1) * (int64_t)luc__dtype_size(dtype);
    LUC_CHECK(ctx, !(luc__scalar_double(luc__load_scalar(at, dtype)) < 0), LUC_ERR_VALUE,
              "cov: %s cannot be negative", name);
  }
  return LUC_OK;
}

/* The number that sums of products are divided by, as a tensor. */
static luc_tensor *freedom(luc_formula *f, luc_tensor *w, luc_tensor *total, luc_tensor *a,
                           double correction) {
  luc_tensor *rest = NULL;
  if (a && correction != 0) {
    luc_tensor *sum = luc__f_sum_all(f, luc__f2(f, LUC_OP_mul, w, a));
    luc_tensor *share = luc__f2(f, LUC_OP_div, sum, total);
    rest = luc__f2(f, LUC_OP_sub, total, luc__fs(f, LUC_OP_mul, share, correction));
  } else {
    rest = luc__fs(f, LUC_OP_sub, total, correction);
  }
  return luc__fs(f, LUC_OP_clamp_min, rest, 0);
}

luc_status luc__run_cov(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *fw = luc_as_tensor(&args[2]), *aw = luc_as_tensor(&args[3]);
  int64_t rows[2] = {1, x->numel};
  LUC_CHECK(ctx, x->ndim <= 2, LUC_ERR_SHAPE,
            "expected input to have two or fewer dimensions but got an input with %d "
            "dimensions",
            x->ndim);
  LUC_CHECK(ctx, x->dtype != LUC_BOOL, LUC_ERR_TYPE, "bool dtype is not supported for input");
  int64_t n = x->ndim == 2 ? x->sizes[1] : x->numel;
  LUC_TRY(check_weights(ctx, "fweights", true, fw, n));
  LUC_TRY(check_weights(ctx, "aweights", false, aw, n));
  luc_formula f = luc__formula(ctx);
  luc_tensor *w = fw && aw ? luc__f2(&f, LUC_OP_mul, fw, aw) : fw ? fw : aw;
  luc_tensor *total = w ? luc__f_sum_all(&f, w) : NULL;
  if (total && luc__scalar_double(luc__load_scalar(total->data, total->dtype)) == 0)
    f.status = luc__fail(ctx, LUC_ERR_VALUE, "weights sum to zero, can't be normalized");
  double correction = (double)args[1].as.i;
  if (x->ndim < 2) x = luc__f_reshape(&f, x, 2, rows);
  luc_tensor *sum = luc__f_sum_keepdim(&f, w ? luc__f2(&f, LUC_OP_mul, x, w) : x, 1);
  luc_tensor *mean =
      w ? luc__f2(&f, LUC_OP_div, sum, total) : luc__fs(&f, LUC_OP_div, sum, (double)n);
  luc_tensor *away = luc__f2(&f, LUC_OP_sub, x, mean);
  luc_tensor *other = luc__f_transpose(&f, w ? luc__f2(&f, LUC_OP_mul, away, w) : away, 0, 1);
  luc_tensor *c = luc__f2(&f, LUC_OP_matmul, away, luc__f_conj(&f, other));
  c = w ? luc__f2(&f, LUC_OP_div, c, freedom(&f, w, total, aw, correction))
        : luc__fs(&f, LUC_OP_div, c, fmax((double)n - correction, 0));
  return luc__f_result(&f, luc__f1(&f, LUC_OP_squeeze, c), out);
}

luc_status luc__run_corrcoef(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *c = luc__f1(&f, LUC_OP_cov, args[0].as.tensor);
  if (c && c->ndim == 0) return luc__f_result(&f, luc__f2(&f, LUC_OP_div, c, c), out);
  luc_tensor *variance = luc__f1(&f, LUC_OP_real, luc__f1(&f, LUC_OP_diagonal, c));
  luc_tensor *deviation = luc__f1(&f, LUC_OP_sqrt, variance);
  c = luc__f2(&f, LUC_OP_div, c, luc__f_unsqueeze(&f, deviation, 1));
  c = luc__f2(&f, LUC_OP_div, c, luc__f_unsqueeze(&f, deviation, 0));
  bool complex = c && luc__dtype_is_complex(c->dtype); /* whose parts are clamped */
  luc_value r = luc_v_tensor(complex ? luc__f1(&f, LUC_OP_view_as_real, c) : c);
  c = luc__f_call(&f, LUC_OP_clamp, LUC_ARGS(r, luc_v_float(-1), luc_v_float(1)));
  return luc__f_result(&f, complex ? luc__f1(&f, LUC_OP_view_as_complex, c) : c, out);
}

/* ---- histograms ---- */

static luc_status end_of(luc_context *ctx, luc_opid op, luc_tensor *x, double *end) {
  luc_tensor *t;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, op, x, &t), &t));
  *end = luc__scalar_double(luc__load_scalar(t->data, t->dtype));
  return LUC_OK;
}

/* The ends of the bins: as given, else of the values; `apart` where they are the same. */
static luc_status outer_edges(luc_context *ctx, luc_tensor *x, bool given, double apart,
                              double *ends) {
  if (!given && x->numel > 0) {
    LUC_TRY(end_of(ctx, LUC_OP_min, x, &ends[0]));
    LUC_TRY(end_of(ctx, LUC_OP_max, x, &ends[1]));
  }
  LUC_CHECK(ctx, isfinite(ends[0]) && isfinite(ends[1]), LUC_ERR_VALUE,
            "range of [%g, %g] is not finite", ends[0], ends[1]);
  LUC_CHECK(ctx, ends[0] <= ends[1], LUC_ERR_VALUE, "max must be larger than min (got %g, %g)",
            ends[0], ends[1]);
  if (ends[0] == ends[1]) {
    ends[0] -= apart;
    ends[1] += apart;
  }
  return LUC_OK;
}

static luc_status equal_edges(luc_context *ctx, const double *ends, int64_t bins, luc_dtype dtype,
                              luc_tensor **edges) {
  luc_status made = luc__op1(ctx, LUC_OP_linspace, edges,
                             LUC_ARGS(luc_v_float(ends[0]), luc_v_float(ends[1]),
                                      luc_v_int(bins + 1), luc_v_dtype(dtype)));
  return luc__held(ctx, made, edges);
}

static luc_status check_bins(luc_context *ctx, const luc_tensor *x, int64_t bins) {
  LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_CHECK(ctx, bins > 0 && bins < INT64_MAX, LUC_ERR_VALUE, "bins must be > 0, but got %lld",
            (long long)bins);
  return LUC_OK;
}

/* Counts x into the bins between edges: *sums is of double. */
static luc_status count(luc_context *ctx, luc_binning binning, luc_tensor *x, luc_tensor *edges,
                        luc_tensor *weights, luc_tensor **sums) {
  luc_tensor *v, *e, *w;
  int64_t bins = edges->numel - 1;
  bool single = x->dtype != LUC_FLOAT64;
  LUC_TRY(luc__as_dense(ctx, x, single ? LUC_FLOAT32 : LUC_FLOAT64, &v));
  LUC_TRY(luc__as_dense(ctx, edges, LUC_FLOAT64, &e));
  LUC_TRY(luc__as_dense(ctx, weights, LUC_FLOAT64, &w));
  LUC_TRY(luc__held(ctx, luc__zeros(ctx, LUC_FLOAT64, 1, &bins, sums), sums));
  luc_histogram job = {.binning = binning,
                       .single = single,
                       .bins = bins,
                       .edges = luc__data(e),
                       .n = v->numel,
                       .x = luc__data(v),
                       .weights = luc__data(w),
                       .sums = luc__data(*sums)};
  return luc__histogram(ctx, &job);
}

luc_status luc__run_histc(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *edges, *sums;
  double ends[2] = {luc_as_double(&args[2]), luc_as_double(&args[3])};
  luc_dtype dtype = x->dtype == LUC_FLOAT64 ? LUC_FLOAT64 : LUC_FLOAT32;
  LUC_TRY(check_bins(ctx, x, args[1].as.i));
  LUC_TRY(outer_edges(ctx, x, ends[0] != ends[1], 1, ends));
  LUC_TRY(equal_edges(ctx, ends, args[1].as.i, dtype, &edges));
  LUC_TRY(count(ctx, LUC_BINS_DIVIDED, x, edges, NULL, &sums));
  return luc__result(ctx, out, x->dtype, sums);
}

/* Sums over their total and the widths of the bins. */
static luc_status as_density(luc_context *ctx, luc_tensor *edges, luc_tensor **sums) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *total = luc__f_sum_all(&f, *sums);
  luc_tensor *share = luc__f2(&f, LUC_OP_div, *sums, total);
  luc_tensor *widths = luc__f1(&f, LUC_OP_diff, luc__f_to(&f, edges, LUC_FLOAT64));
  return luc__held(ctx, luc__f_end(&f, luc__f2(&f, LUC_OP_div, share, widths), sums), sums);
}

/* Results: the sums and the edges. */
static luc_status histogram(luc_context *ctx, luc_binning binning, luc_value *args, int weight,
                            luc_tensor *edges, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *w = luc_as_tensor(&args[weight]), *sums;
  if (w) LUC_TRY(luc__match_dtype(ctx, "input", x, "weight", w));
  if (w && !luc__same_sizes(x, w))
    return luc__fail_shapes(ctx, "input", x, "weight", w, "weight must have the shape of input");
  LUC_TRY(count(ctx, binning, x, edges, w, &sums));
  if (args[weight + 1].as.i) LUC_TRY(as_density(ctx, edges, &sums));
  out[1] = luc_v_tensor(luc__retain(edges));
  return luc__result(ctx, out, x->dtype, sums);
}

luc_status luc__run_histogram(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *edges;
  const luc_value *range = &args[2];
  double ends[2] = {0, 1}; /* of nothing */
  LUC_TRY(check_bins(ctx, x, args[1].as.i));
  if (!luc_is_none(range)) {
    LUC_CHECK(ctx, range->n == 2, LUC_ERR_VALUE, "range should have 2 elements, got %d", range->n);
    for (int i = 0; i < 2; i++) ends[i] = range->as.floats[i];
  }
  LUC_TRY(outer_edges(ctx, x, !luc_is_none(range), 0.5, ends));
  LUC_TRY(equal_edges(ctx, ends, args[1].as.i, x->dtype, &edges));
  return histogram(ctx, LUC_BINS_EQUAL, args, 3, edges, out);
}

luc_status luc__run_histogram_edges(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *bins = args[1].as.tensor, *edges;
  LUC_CHECK(ctx, bins->ndim == 1, LUC_ERR_SHAPE,
            "bins tensor should have one dimension, but got %d dimensions", bins->ndim);
  LUC_TRY(check_bins(ctx, x, bins->numel - 1));
  LUC_TRY(luc__match_dtype(ctx, "input", x, "bins", bins));
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_clone, bins, &edges), &edges));
  return histogram(ctx, LUC_BINS_ANY, args, 2, edges, out);
}
