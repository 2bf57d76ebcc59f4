/* Pooling, softmax, normalization, embedding, optimizer and QR kernels against naive loops in
 * double, over odd sizes, every instruction set. */
#include "cpu/embed.h"
#include "cpu/lapack.h"
#include "cpu/norm.h"
#include "cpu/optim.h"
#include "cpu/pool2d.h"
#include "cpu/softmax.h"
#include "cpu/windows.h"
#include "kernel_test.h"

/* ---- pooling ---- */

/* Where output o's maximum is: the first of equals, the last NaN, as in PyTorch. */
static int64_t naive_max(const luc_pool2d *p, const double *x, int64_t oy, int64_t ox) {
  double most = -INFINITY;
  int64_t at = -1;
  for (int64_t i = 0; i < p->kernel[0]; i++)
    for (int64_t j = 0; j < p->kernel[1]; j++) {
      int64_t y = oy * p->stride[0] - p->padding[0] + i * p->dilation[0];
      int64_t k = ox * p->stride[1] - p->padding[1] + j * p->dilation[1];
      if (y < 0 || y >= p->in[0] || k < 0 || k >= p->in[1]) continue;
      double v = x[y * p->in[1] + k];
      if (at < 0) at = y * p->in[1] + k;
      if (v > most || isnan(v)) most = v, at = y * p->in[1] + k;
    }
  return at;
}

static void check_max(luc_context *ctx, const luc_pool2d *p, bool odd_values) {
  int64_t in = p->in[0] * p->in[1], out = p->out[0] * p->out[1];
  kt_array x = kt_random(p->dtype, p->planes * in), y = kt_random(p->dtype, p->planes * out);
  kt_array dy = kt_random(p->dtype, y.n), dx = kt_random(p->dtype, x.n);
  int64_t *indices = malloc((size_t)y.n * sizeof *indices + 1);
  for (int64_t i = 0; i < x.n && odd_values; i++) {
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.5, 0.5, -0.5};
    x.v[i] = values[kt_int(0, 5)];
    kt_put(&x, i, x.v[i]);
  }
  kt_fill(&dx, 0);
  int64_t *want = malloc((size_t)y.n * sizeof *want + 1);
  for (int64_t i = 0; i < y.n; i++) {
    const double *plane = x.v + i / out * in;
    want[i] = naive_max(p, plane, i % out / p->out[1], i % p->out[1]);
    y.v[i] = plane[want[i]];
    dx.v[i / out * in + want[i]] += dy.v[i];
  }
  luc__max_pool(ctx, p, x.p, y.p, indices);
  CHECK(memcmp(indices, want, (size_t)y.n * sizeof *want) == 0);
  kt_check("max with indices", &y, 0);
  luc__pool_scatter(ctx, p->dtype, p->planes, 1, out, in, dy.p, indices, dx.p);
  kt_check("max gradient by indices", &dx, 1e-6);
  luc__max_pool(ctx, p, x.p, y.p, NULL);
  kt_check("max", &y, 0);
  if (luc__pool_is_2x2(p)) {
    luc__max_pool_2x2_backward(ctx, p, dy.p, x.p, dx.p);
    kt_check("max gradient", &dx, 1e-6);
  }
  free(indices), free(want);
  kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&dx);
}

static luc_windows windows_of(const luc_pool2d *p) {
  return (luc_windows){.dtype = p->dtype,
                       .planes = p->planes,
                       .in = {1, p->in[0], p->in[1]},
                       .out = {1, p->out[0], p->out[1]}};
}

static void check_avg(luc_context *ctx, const luc_pool2d *p) {
  int64_t in = p->in[0] * p->in[1], out = p->out[0] * p->out[1];
  kt_array x = kt_random(p->dtype, p->planes * in), y = kt_random(p->dtype, p->planes * out);
  kt_array dy = kt_random(p->dtype, y.n), dx = kt_random(p->dtype, x.n);
  kt_fill(&dx, 0);
  for (int64_t o = 0; o < y.n; o++) {
    int64_t begin[2], end[2], at[2] = {o % out / p->out[1], o % p->out[1]}, full = 1, inside = 1;
    for (int d = 0; d < 2; d++) {
      begin[d] = at[d] * p->stride[d] - p->padding[d];
      end[d] = begin[d] + p->kernel[d];
      if (end[d] > p->in[d] + p->padding[d]) end[d] = p->in[d] + p->padding[d];
      full *= end[d] - begin[d];
      if (begin[d] < 0) begin[d] = 0;
      if (end[d] > p->in[d]) end[d] = p->in[d];
      inside *= end[d] - begin[d];
    }
    double by = (double)(p->count_include_pad ? full : inside), sum = 0;
    if (p->divisor_override) by = (double)p->divisor_override;
    for (int64_t i = begin[0]; i < end[0]; i++)
      for (int64_t j = begin[1]; j < end[1]; j++) {
        sum += x.v[o / out * in + i * p->in[1] + j];
        dx.v[o / out * in + i * p->in[1] + j] += dy.v[o] / by;
      }
    y.v[o] = sum / by;
  }
  luc__avg_pool(ctx, p, x.p, y.p);
  kt_check("avg", &y, 2e-6);
  luc_windows w = windows_of(p);
  CHECK_OK(luc__windows_sliding(ctx, &w, (int64_t[]){1, p->kernel[0], p->kernel[1]},
                                (int64_t[]){1, p->stride[0], p->stride[1]},
                                (int64_t[]){0, p->padding[0], p->padding[1]}, (int64_t[]){1, 1, 1},
                                p->count_include_pad));
  w.divisor = p->divisor_override;
  luc__windows_avg(ctx, &w, x.p, y.p);
  kt_check("avg by windows", &y, 2e-6);
  luc__windows_avg_backward(ctx, &w, dy.p, dx.p);
  kt_check("avg gradient", &dx, 4e-6);
  luc__windows_free(ctx, &w);
  kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&dx);
}

static void random_pools(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(160); i++) {
    luc_pool2d p = {.dtype = dtype, .planes = kt_int(1, 3), .dilation = {1, 1}};
    bool halves = i % 4 == 0, dilated = i % 4 == 1;
    for (int d = 0; d < 2; d++) do {
        p.in[d] = kt_int(1, i % 5 ? 12 : 70);
        p.kernel[d] = halves ? 2 : kt_int(1, 5), p.stride[d] = halves ? 2 : kt_int(1, 4);
        p.padding[d] = halves || dilated ? 0 : kt_int(0, p.kernel[d] / 2);
        p.dilation[d] = dilated ? kt_int(1, 2) : 1;
        p.out[d] = luc__pool_out_size(p.in[d], p.kernel[d], p.stride[d], p.padding[d],
                                      p.dilation[d], !halves && i % 2);
      } while (p.out[d] < 1);
    check_max(ctx, &p, i % 3 == 0);
    p.count_include_pad = i % 2, p.divisor_override = i % 7 ? 0 : 3;
    if (!dilated) check_avg(ctx, &p);
  }
}

static void nothing_inside(luc_context *ctx, luc_dtype dtype) {
  luc_pool2d p = {.dtype = dtype, .planes = 1, .in = {1, 1}, .out = {1, 1}, .kernel = {1, 2}};
  p.stride[0] = p.stride[1] = p.dilation[0] = p.padding[1] = 1, p.dilation[1] = 2;
  kt_array x = kt_random(dtype, 1), y = kt_random(dtype, 1);
  int64_t at = 7;
  luc__max_pool(ctx, &p, x.p, y.p, &at);
  CHECK(kt_get(&y, 0) == -INFINITY);
  CHECK_EQ(at, 0);
  kt_free(&x), kt_free(&y);
}

TEST("a window between all elements stays in bounds") {
  kt_everywhere(nothing_inside);
}
TEST("pooling agrees with naive loops") {
  kt_everywhere(random_pools);
}

static void adaptive(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(60); i++) {
    luc_pool2d p = {.dtype = dtype, .planes = kt_int(1, 3)};
    for (int d = 0; d < 2; d++) p.in[d] = kt_int(1, 40), p.out[d] = i % 4 ? kt_int(1, 9) : 1;
    int64_t in = p.in[0] * p.in[1], out = p.out[0] * p.out[1];
    kt_array x = kt_random(dtype, p.planes * in), y = kt_random(dtype, p.planes * out);
    kt_array dy = kt_random(dtype, y.n), dx = kt_random(dtype, x.n);
    kt_fill(&dx, 0);
    for (int64_t o = 0; o < y.n; o++) {
      int64_t oy = o % out / p.out[1], ox = o % p.out[1];
      int64_t y0 = oy * p.in[0] / p.out[0], x0 = ox * p.in[1] / p.out[1];
      int64_t y1 = ((oy + 1) * p.in[0] + p.out[0] - 1) / p.out[0];
      int64_t x1 = ((ox + 1) * p.in[1] + p.out[1] - 1) / p.out[1];
      double sum = 0, n = (double)((y1 - y0) * (x1 - x0));
      for (int64_t r = y0; r < y1; r++)
        for (int64_t c = x0; c < x1; c++) {
          sum += x.v[o / out * in + r * p.in[1] + c];
          dx.v[o / out * in + r * p.in[1] + c] += dy.v[o] / n;
        }
      y.v[o] = sum / n;
    }
    luc_windows w = windows_of(&p);
    CHECK_OK(luc__windows_adaptive(ctx, &w));
    luc__windows_avg(ctx, &w, x.p, y.p);
    kt_check("adaptive avg", &y, 2e-6);
    luc__windows_avg_backward(ctx, &w, dy.p, dx.p);
    kt_check("adaptive avg gradient", &dx, 4e-6);
    luc__windows_free(ctx, &w);
    kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&dx);
  }
}

TEST("adaptive pooling agrees with naive loops") {
  kt_everywhere(adaptive);
}

TEST("pooled sizes follow PyTorch's ceil_mode") {
  CHECK_EQ(luc__pool_out_size(5, 2, 2, 0, 1, false), 2);
  CHECK_EQ(luc__pool_out_size(5, 2, 2, 0, 1, true), 3);
  CHECK_EQ(luc__pool_out_size(4, 1, 3, 0, 1, true), 2); /* 3 would begin outside */
  CHECK_EQ(luc__pool_out_size(6, 2, 3, 1, 1, true), 3);
  CHECK_EQ(luc__pool_out_size(1, 3, 2, 0, 1, false), 0);
}

/* ---- softmax ---- */

static void check_softmax(luc_context *ctx, const luc_softmax *s) {
  int64_t n = s->n, inner = s->inner;
  kt_array x = kt_random(s->dtype, s->outer * n * inner), y = kt_random(s->dtype, x.n);
  kt_array dy = kt_random(s->dtype, x.n), dx = kt_random(s->dtype, x.n);
  for (int64_t i = 0; i < x.n; i++) x.v[i] *= 40, kt_put(&x, i, x.v[i]);
  for (int64_t i = 0; i < s->outer * inner; i++) {
    int64_t first = i / inner * n * inner + i % inner;
    double max = -INFINITY, sum = 0, dots = 0, sums = 0;
    for (int64_t k = 0; k < n; k++) max = fmax(max, x.v[first + k * inner]);
    for (int64_t k = 0; k < n; k++) sum += exp(x.v[first + k * inner] - max);
    for (int64_t k = 0; k < n; k++) {
      int64_t at = first + k * inner;
      y.v[at] = s->log ? x.v[at] - max - log(sum) : exp(x.v[at] - max) / sum;
      dots += dy.v[at] * y.v[at], sums += dy.v[at];
    }
    for (int64_t k = 0; k < n; k++) {
      int64_t at = first + k * inner;
      dx.v[at] = s->log ? dy.v[at] - exp(y.v[at]) * sums : y.v[at] * (dy.v[at] - dots);
    }
  }
  CHECK_OK(luc__softmax(ctx, s, x.p, y.p));
  kt_check("softmax", &y, s->log ? 8e-6 : 1e-6);
  CHECK_OK(luc__softmax_backward(ctx, s, dy.p, y.p, dx.p));
  kt_check("softmax gradient", &dx, 2e-5);
  kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&dx);
}

static void softmaxes(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(120); i++) {
    luc_softmax s = {.dtype = dtype, .log = i % 2, .outer = kt_int(0, 9), .n = kt_int(1, 70)};
    s.inner = i % 3 ? 1 : kt_int(1, 90);
    check_softmax(ctx, &s);
  }
  luc_softmax wide = {.dtype = dtype, .outer = 40, .n = 1200, .inner = 1};
  check_softmax(ctx, &wide);
}

TEST("softmax agrees with naive loops") {
  kt_everywhere(softmaxes);
}

static void softmax_of_infinities(luc_context *ctx, luc_dtype dtype) {
  for (int64_t inner = 1; inner <= 2; inner++) {
    luc_softmax s = {.dtype = dtype, .outer = 1, .n = 3, .inner = inner};
    kt_array x = kt_random(dtype, 3 * inner), y = kt_random(dtype, 3 * inner);
    for (int64_t i = 0; i < x.n; i++) kt_put(&x, i, i < inner ? -INFINITY : 1);
    CHECK_OK(luc__softmax(ctx, &s, x.p, y.p));
    CHECK(kt_get(&y, 0) == 0 && kt_get(&y, inner) == 0.5);
    for (int64_t i = 0; i < x.n; i++) kt_put(&x, i, -INFINITY);
    CHECK_OK(luc__softmax(ctx, &s, x.p, y.p));
    CHECK(isnan(kt_get(&y, 0)) && isnan(kt_get(&y, 2 * inner)));
    for (int64_t i = 0; i < x.n; i++) kt_put(&x, i, i < inner ? NAN : 1);
    CHECK_OK(luc__softmax(ctx, &s, x.p, y.p));
    CHECK(isnan(kt_get(&y, inner)));
    kt_free(&x), kt_free(&y);
  }
}

TEST("softmax of infinities and NaN is PyTorch's") {
  kt_everywhere(softmax_of_infinities);
}

static void nll(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(60); i++) {
    luc_nll l = {.dtype = dtype, .reduction = (luc_reduction)(i % 3), .ignore_index = -100};
    l.batch = kt_int(1, 6), l.classes = kt_int(1, 7), l.inner = i % 2 ? 1 : kt_int(1, 5);
    int64_t count = l.batch * l.inner, outs = l.reduction == LUC_REDUCE_NONE ? count : 1;
    kt_array x = kt_random(dtype, l.batch * l.classes * l.inner), dx = kt_random(dtype, x.n);
    kt_array w = kt_random(dtype, l.classes), y = kt_random(dtype, outs);
    kt_array dy = kt_random(dtype, outs), total = kt_random(dtype, 1);
    int64_t *target = malloc((size_t)count * sizeof *target);
    double sum = 0, weights = 0;
    for (int64_t k = 0; k < l.classes; k++) w.v[k] = fabs(w.v[k]) + 0.5, kt_put(&w, k, w.v[k]);
    for (int64_t k = 0; k < count; k++)
      target[k] = kt_int(0, 5) || k == 0 ? kt_int(0, l.classes - 1) : -100;
    if (i % 4) l.weight = w.p;
    l.target = target;
    kt_fill(&dx, 0);
    for (int pass = 0; pass < 2; pass++) /* the total first */
      for (int64_t k = 0; k < count; k++) {
        if (target[k] < 0) {
          if (l.reduction == LUC_REDUCE_NONE) y.v[k] = 0;
          continue;
        }
        double weight = l.weight ? w.v[target[k]] : 1;
        int64_t at = (k / l.inner * l.classes + target[k]) * l.inner + k % l.inner;
        if (pass == 0) {
          sum -= weight * x.v[at], weights += weight;
          if (l.reduction == LUC_REDUCE_NONE) y.v[k] = -weight * x.v[at];
          continue;
        }
        dx.v[at] = -weight * dy.v[l.reduction == LUC_REDUCE_NONE ? k : 0];
        if (l.reduction == LUC_REDUCE_MEAN) dx.v[at] /= weights;
      }
    if (l.reduction != LUC_REDUCE_NONE)
      y.v[0] = l.reduction == LUC_REDUCE_MEAN ? sum / weights : sum;
    total.v[0] = weights;
    CHECK_OK(luc__nll_loss(ctx, &l, x.p, y.p, total.p));
    kt_check("nll", &y, 1e-5);
    kt_check("nll weight", &total, 1e-5);
    CHECK_OK(luc__nll_loss_backward(ctx, &l, dy.p, total.p, dx.p));
    kt_check("nll gradient", &dx, 1e-6);
    free(target);
    kt_free(&x), kt_free(&dx), kt_free(&w), kt_free(&y), kt_free(&dy), kt_free(&total);
  }
}

TEST("negative log likelihood agrees with naive loops") {
  kt_everywhere(nll);
}

/* ---- normalization ---- */

/* Normalizes the `count` elements at x + at(i), and its gradients: shared by both kinds. */
typedef struct group {
  int64_t first, step, run, jump, count; /* element i is first + i / run * jump + i % run * step */
  double mean, rstd, squares;
} group;

static int64_t place(const group *g, int64_t i) {
  return g->first + i / g->run * g->jump + i % g->run * g->step;
}

static void measure(group *g, const kt_array *x, double eps) {
  double sum = 0;
  for (int64_t i = 0; i < g->count; i++) sum += x->v[place(g, i)];
  g->mean = sum / (double)g->count, g->squares = 0;
  for (int64_t i = 0; i < g->count; i++) g->squares += pow(x->v[place(g, i)] - g->mean, 2);
  g->rstd = 1 / sqrt(g->squares / (double)g->count + eps);
}

static void group_gradient(const group *g, const kt_array *x, const double *dxhat, kt_array *dx,
                           bool training) {
  double sums = 0, dots = 0, n = (double)g->count;
  for (int64_t i = 0; i < g->count; i++) {
    int64_t at = place(g, i);
    sums += dxhat[at], dots += dxhat[at] * (x->v[at] - g->mean) * g->rstd;
  }
  for (int64_t i = 0; i < g->count; i++) {
    int64_t at = place(g, i);
    double back = training ? sums / n + (x->v[at] - g->mean) * g->rstd * dots / n : 0;
    dx->v[at] = (dxhat[at] - back) * g->rstd;
  }
}

static void check_layer_norm(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t n,
                             bool affine) {
  luc_layer_norm l = {.dtype = dtype, .rows = rows, .n = n, .eps = 1e-3};
  kt_array x = kt_random(dtype, rows * n), y = kt_random(dtype, x.n), dy = kt_random(dtype, x.n);
  kt_array w = kt_random(dtype, n), b = kt_random(dtype, n), dx = kt_random(dtype, x.n);
  kt_array dw = kt_random(dtype, n), db = kt_random(dtype, n);
  kt_array mean = kt_random(dtype, rows), rstd = kt_random(dtype, rows);
  double *dxhat = malloc((size_t)x.n * sizeof *dxhat + 1);
  kt_fill(&dw, 0), kt_fill(&db, 0);
  for (int64_t r = 0; r < rows; r++) {
    group g = {.first = r * n, .step = 1, .run = n, .count = n};
    measure(&g, &x, l.eps);
    mean.v[r] = g.mean, rstd.v[r] = g.rstd;
    for (int64_t i = 0; i < n; i++) {
      int64_t at = r * n + i;
      double xhat = (x.v[at] - g.mean) * g.rstd;
      y.v[at] = affine ? xhat * w.v[i] + b.v[i] : xhat;
      dxhat[at] = affine ? dy.v[at] * w.v[i] : dy.v[at];
      dw.v[i] += dy.v[at] * xhat, db.v[i] += dy.v[at];
    }
    group_gradient(&g, &x, dxhat, &dx, true);
  }
  void *weight = affine ? w.p : NULL, *bias = affine ? b.p : NULL;
  luc_norm_arrays a = {.x = x.p, .weight = weight, .bias = bias, .y = y.p, .mean = mean.p};
  a.rstd = rstd.p;
  luc__layer_norm(ctx, &l, &a);
  kt_check("layer_norm", &y, 1e-5), kt_check("mean", &mean, 1e-6), kt_check("rstd", &rstd, 2e-5);
  a.dy = dy.p, a.given_mean = mean.p, a.given_rstd = rstd.p;
  a.dx = dx.p, a.dweight = dw.p, a.dbias = db.p;
  CHECK_OK(luc__layer_norm_backward(ctx, &l, &a));
  kt_check("layer_norm gradient", &dx, 2e-4);
  kt_check("layer_norm weight gradient", &dw, 1e-4),
      kt_check("layer_norm bias gradient", &db, 1e-5);
  free(dxhat);
  kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&w), kt_free(&b), kt_free(&dx), kt_free(&dw);
  kt_free(&db), kt_free(&mean), kt_free(&rstd);
}

static void layer_norms(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(60); i++)
    check_layer_norm(ctx, dtype, kt_int(0, 9), kt_int(2, 80), i % 2);
  check_layer_norm(ctx, dtype, 300, 130, true);
}

TEST("layer_norm agrees with naive loops") {
  kt_everywhere(layer_norms);
}

static void check_batch_norm(luc_context *ctx, luc_batch_norm b, bool affine) {
  int64_t c = b.channels, count = b.batch * b.inner;
  kt_array x = kt_random(b.dtype, count * c), y = kt_random(b.dtype, x.n);
  kt_array dy = kt_random(b.dtype, x.n), dx = kt_random(b.dtype, x.n);
  kt_array w = kt_random(b.dtype, c), bias = kt_random(b.dtype, c), dw = kt_random(b.dtype, c);
  kt_array db = kt_random(b.dtype, c), mean = kt_random(b.dtype, c), rstd = kt_random(b.dtype, c);
  kt_array rm = kt_random(b.dtype, c), rv = kt_random(b.dtype, c);
  double *dxhat = malloc((size_t)x.n * sizeof *dxhat + 1);
  kt_fill(&dw, 0), kt_fill(&db, 0);
  for (int64_t k = 0; k < c; k++) {
    rv.v[k] = fabs(rv.v[k]) + 0.25, kt_put(&rv, k, rv.v[k]);
    group g = {
        .first = k * b.inner, .step = 1, .run = b.inner, .jump = c * b.inner, .count = count};
    measure(&g, &x, b.eps);
    if (!b.training) g.mean = rm.v[k], g.rstd = 1 / sqrt(rv.v[k] + b.eps);
    mean.v[k] = g.mean, rstd.v[k] = g.rstd;
    for (int64_t i = 0; i < count; i++) {
      int64_t at = place(&g, i);
      double xhat = (x.v[at] - g.mean) * g.rstd;
      y.v[at] = affine ? xhat * w.v[k] + bias.v[k] : xhat;
      dxhat[at] = affine ? dy.v[at] * w.v[k] : dy.v[at];
      dw.v[k] += dy.v[at] * xhat, db.v[k] += dy.v[at];
    }
    group_gradient(&g, &x, dxhat, &dx, b.training);
    if (!b.training) continue;
    rm.v[k] += b.momentum * (g.mean - rm.v[k]);
    rv.v[k] += b.momentum * (g.squares / (double)(count - 1) - rv.v[k]);
  }
  void *weight = affine ? w.p : NULL;
  luc_norm_arrays a = {.x = x.p, .weight = weight, .y = y.p, .mean = mean.p, .rstd = rstd.p};
  a.bias = affine ? bias.p : NULL, a.running_mean = rm.p, a.running_var = rv.p;
  luc__batch_norm(ctx, &b, &a);
  kt_check("batch_norm", &y, 2e-5), kt_check("mean", &mean, 1e-6), kt_check("invstd", &rstd, 2e-5);
  kt_check("running mean", &rm, 1e-6), kt_check("running var", &rv, 1e-6);
  a.dy = dy.p, a.given_mean = mean.p, a.given_rstd = rstd.p;
  a.dx = dx.p, a.dweight = dw.p, a.dbias = db.p;
  luc__batch_norm_backward(ctx, &b, &a);
  kt_check("batch_norm gradient", &dx, 2e-4);
  kt_check("batch_norm weight gradient", &dw, 1e-4),
      kt_check("batch_norm bias gradient", &db, 2e-5);
  free(dxhat);
  kt_free(&x), kt_free(&y), kt_free(&dy), kt_free(&dx), kt_free(&w), kt_free(&bias), kt_free(&dw);
  kt_free(&db), kt_free(&mean), kt_free(&rstd), kt_free(&rm), kt_free(&rv);
}

static void batch_norms(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(80); i++) {
    luc_batch_norm b = {.dtype = dtype, .training = i % 2, .eps = 1e-3, .momentum = 0.1};
    b.batch = kt_int(2, 9), b.channels = kt_int(1, 40), b.inner = i % 3 ? kt_int(1, 40) : 1;
    check_batch_norm(ctx, b, i % 4 > 1);
  }
  luc_batch_norm tall = {.dtype = dtype, .training = true, .eps = 1e-3, .momentum = 0.1};
  tall.batch = 500, tall.channels = 70, tall.inner = 1;
  check_batch_norm(ctx, tall, true);
}

TEST("batch_norm agrees with naive loops") {
  kt_everywhere(batch_norms);
}

/* ---- embedding ---- */

static void embeddings(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(40); i++) {
    int64_t n = kt_int(0, 40), dim = kt_int(1, 150), rows = kt_int(1, 9),
            padding = kt_int(-1, rows - 1);
    bool by_count = i % 2;
    kt_array table = kt_random(dtype, rows * dim), out = kt_random(dtype, n * dim);
    kt_array dy = kt_random(dtype, n * dim), dt = kt_random(dtype, rows * dim);
    int64_t *at = malloc((size_t)n * sizeof *at + 1), counts[9] = {0};
    for (int64_t k = 0; k < n; k++) counts[at[k] = kt_int(0, rows - 1)]++;
    kt_fill(&dt, 0);
    for (int64_t k = 0; k < n * dim; k++) {
      int64_t row = at[k / dim];
      out.v[k] = table.v[row * dim + k % dim];
      if (row != padding)
        dt.v[row * dim + k % dim] += dy.v[k] / (by_count ? (double)counts[row] : 1);
    }
    CHECK_OK(luc__embedding(ctx, dtype, n, dim, table.p, dim, at, out.p));
    kt_check("embedding", &out, 0);
    luc_lookups l = {dtype, by_count, n, dim, padding, at, dy.p};
    CHECK_OK(luc__embedding_backward(ctx, &l, rows, dt.p));
    kt_check("embedding gradient", &dt, 1e-5);
    free(at);
    kt_free(&table), kt_free(&out), kt_free(&dy), kt_free(&dt);
  }
}

TEST("embedding agrees with naive loops") {
  kt_everywhere(embeddings);
}

TEST("the first index out of range is found") {
  int64_t at[] = {0, 4, -100, 5, -1};
  CHECK_EQ(luc__index_check(at, 5, 5, 0), 2);
  CHECK_EQ(luc__index_check(at, 5, 5, -100), 3);
  CHECK_EQ(luc__index_check(at, 2, 5, 0), -1);
}

/* ---- optimizers ---- */

static void naive_sgd(const luc_sgd *o, int64_t step, double *p, double g, double *buffer) {
  if (o->maximize) g = -g;
  g += o->weight_decay * *p;
  if (o->momentum != 0) {
    *buffer = step == 1 ? g : o->momentum * *buffer + (1 - o->dampening) * g;
    g = o->nesterov ? g + o->momentum * *buffer : *buffer;
  }
  *p -= o->lr * g;
}

static void naive_adam(const luc_adam *o, int64_t step, double *p, double g, double *m, double *v,
                       double *most) {
  if (o->maximize) g = -g;
  if (o->decoupled)
    *p *= 1 - o->lr * o->weight_decay;
  else
    g += o->weight_decay * *p;
  *m = o->beta1 * *m + (1 - o->beta1) * g;
  *v = o->beta2 * *v + (1 - o->beta2) * g * g;
  *most = fmax(*most, *v);
  double top = o->amsgrad ? *most : *v;
  double denominator = sqrt(top) / sqrt(1 - pow(o->beta2, (double)step)) + o->eps;
  *p -= o->lr / (1 - pow(o->beta1, (double)step)) * *m / denominator;
}

enum { PARAMETERS = 4, STEPS = 4 };

static void run_optimizer(luc_context *ctx, luc_dtype dtype, const luc_sgd *sgd,
                          const luc_adam *adam) {
  static const int64_t sizes[PARAMETERS] = {1, 70000, 0, 37};
  kt_array p[PARAMETERS], g[PARAMETERS], s[PARAMETERS][3];
  luc_update u[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) {
    p[i] = kt_random(dtype, sizes[i]), g[i] = kt_random(dtype, sizes[i]);
    u[i] = (luc_update){.dtype = dtype, .n = sizes[i], .param = p[i].p, .grad = g[i].p};
    for (int k = 0; k < 3; k++) {
      s[i][k] = kt_random(dtype, sizes[i]);
      for (int64_t j = 0; j < sizes[i]; j++) s[i][k].v[j] = 0, kt_put(&s[i][k], j, sgd ? NAN : 0);
      u[i].state[k] = s[i][k].p;
    }
  }
  for (int64_t step = 1; step <= STEPS; step++) {
    for (int i = 0; i < PARAMETERS; i++) {
      u[i].step = step;
      for (int64_t j = 0; j < sizes[i]; j++)
        if (sgd)
          naive_sgd(sgd, step, &p[i].v[j], g[i].v[j], &s[i][0].v[j]);
        else
          naive_adam(adam, step, &p[i].v[j], g[i].v[j], &s[i][0].v[j], &s[i][1].v[j],
                     &s[i][2].v[j]);
    }
    if (sgd)
      luc__optim_step(ctx, LUC_RULE_SGD, sgd, u, PARAMETERS);
    else
      luc__optim_step(ctx, LUC_RULE_ADAM, adam, u, PARAMETERS);
  }
  for (int i = 0; i < PARAMETERS; i++) {
    kt_check("parameter", &p[i], 3e-6);
    if (adam || sgd->momentum != 0) kt_check("state", &s[i][0], 3e-6);
    kt_free(&p[i]), kt_free(&g[i]), kt_free(&s[i][0]), kt_free(&s[i][1]), kt_free(&s[i][2]);
  }
}

static void optimizers(luc_context *ctx, luc_dtype dtype) {
  const luc_sgd sgds[] = {{.lr = 0.1},
                          {.lr = 0.1, .weight_decay = 0.01, .maximize = true},
                          {.lr = 0.1, .momentum = 0.9, .dampening = 0.3},
                          {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1}};
  const luc_adam adams[] = {
      {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
      {.lr = 0.01, .beta1 = 0.8, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .amsgrad = true},
      {.lr = 0.01,
       .beta1 = 0.9,
       .beta2 = 0.999,
       .eps = 1e-8,
       .weight_decay = 0.1,
       .decoupled = true,
       .maximize = true}};
  for (size_t i = 0; i < sizeof sgds / sizeof sgds[0]; i++)
    run_optimizer(ctx, dtype, &sgds[i], NULL);
  for (size_t i = 0; i < sizeof adams / sizeof adams[0]; i++)
    run_optimizer(ctx, dtype, NULL, &adams[i]);
}

TEST("optimizer steps agree with naive loops, whatever sgd's buffer held") {
  kt_everywhere(optimizers);
}

/* ---- QR ---- */

static void check_qr(luc_context *ctx, luc_dtype dtype, int64_t m, int64_t n) {
  int64_t k = m < n ? m : n;
  kt_array a = kt_random(dtype, m * n), q = kt_random(dtype, m * k), r = kt_random(dtype, k * n);
  kt_array unit = kt_random(dtype, k * k), product = kt_random(dtype, m * n);
  luc_matrices one = {dtype, 1, m, n};
  luc_status status = luc__qr(ctx, one, false, a.p, q.p, r.p);
  if (status == LUC_ERR_SUPPORT) goto done; /* no OpenBLAS here */
  CHECK_OK(status);
  for (int64_t i = 0; i < m * n; i++) {
    double sum = 0;
    for (int64_t p = 0; p < k; p++) sum += kt_get(&q, i / n * k + p) * kt_get(&r, p * n + i % n);
    product.v[i] = a.v[i], kt_put(&product, i, sum);
  }
  for (int64_t i = 0; i < k * k; i++) {
    double sum = 0;
    for (int64_t p = 0; p < m; p++) sum += kt_get(&q, p * k + i / k) * kt_get(&q, p * k + i % k);
    unit.v[i] = i / k == i % k, kt_put(&unit, i, sum);
  }
  for (int64_t i = 0; i < k * n; i++) CHECK(i % n >= i / n || kt_get(&r, i) == 0);
  if (m > 1 && n > 0 && a.v[0] != 0) CHECK((kt_get(&r, 0) > 0) == (a.v[0] < 0)); /* LAPACK's sign */
  kt_check("QR", &product, 2e-5), kt_check("QᵀQ", &unit, 2e-5);
done:
  kt_free(&a), kt_free(&q), kt_free(&r), kt_free(&unit), kt_free(&product);
}

static void factorizations(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(40); i++) check_qr(ctx, dtype, kt_int(1, 50), kt_int(1, 50));
  check_qr(ctx, dtype, 150, 90);
  check_qr(ctx, dtype, 1, 1);
}

TEST("QR gives orthogonal columns with LAPACK's signs") {
  kt_everywhere(factorizations);
}
