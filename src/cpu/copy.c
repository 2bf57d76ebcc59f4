/* Copying between tensors of any dtype and strides. Same dtype: blocks of memory, turned tiles, or
 * strided moves; else elements go through a compute type (cpu/copy_kernels.h) in chunks on the
 * stack. Work is cut by size only. */
#include "cpu/copy.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/complex.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

enum {
  CHUNK = 1024,
  GRAIN = 1 << 16,
  TURN_MIN = 8,
  STREAM_FROM = 1 << 22,
  SHORT_BYTES = 256, /* runs of fewer are brought together before they are converted (elements */
  HALF_FROM = 4,     /* that become halves, in two steps, count as so many at most), */
  STEPS_FROM = 256,  /* where there are so many elements */
  MANY_TIMES = 4     /* each element comes, for it to be converted once */
};

typedef struct copy_job {
  luc_nest nest; /* operands: dst, src */
  luc_dtype to, from;
  const luc_copy_kernels *kernels;
  int64_t size;     /* of an element of dst */
  int size_log;     /* log2 of it */
  int along;        /* the dimension that is turned against dimension 0, or of narrow rows */
  int64_t group;    /* narrow rows at a time */
  luc_load_fn load; /* for conversions */
  luc_store_fn store;
  luc_resize_fn resize;
} copy_job;

/* ---- one dtype ---- */

static void copy_block(void *arg, int64_t begin, int64_t end) {
  const copy_job *job = arg;
  job->kernels->move[0](job->nest.base[0] + begin * job->size, 1,
                        job->nest.base[1] + begin * job->size, 1, (end - begin) * job->size);
}

/* How many whole rows without gaps, forwards or backwards, or of one element, lie ahead evenly of
 * what is left. */
static int64_t rows_ahead(const copy_job *job, const luc_cursor *c, int64_t left) {
  const luc_nest *nest = &job->nest;
  const int64_t row = nest->sizes[0];
  if (nest->ndim < 2 || c->at[0] || left < row) return 0;
  if (nest->strides[0][0] != job->size) return 0;
  if (llabs(nest->strides[1][0]) > job->size) return 0;
  const int64_t rows = nest->sizes[1] - c->at[1];
  return rows < left / row ? rows : left / row;
}

static void copy_strided(void *arg, int64_t begin, int64_t end) {
  const copy_job *job = arg;
  const luc_nest *nest = &job->nest;
  const int64_t *to = nest->strides[0], *from = nest->strides[1];
  luc_move_fn move = job->kernels->move[job->size_log];
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  while (begin < end) {
    int64_t run = nest->sizes[0] - c.at[0], n = run < end - begin ? run : end - begin;
    const int64_t rows = rows_ahead(job, &c, end - begin);
    if (rows) {
      job->kernels->runs[job->size_log](c.ptr[0], to[1], to[0], c.ptr[1], from[1], from[0], n,
                                        rows);
      c.at[1] += rows - 1;
      for (int i = 0; i < 2; i++) c.ptr[i] += (rows - 1) * nest->strides[i][1];
      begin += (rows - 1) * n;
    } else {
      move(c.ptr[0], to[0], c.ptr[1], from[0], n);
    }
    begin += n;
    if (begin < end) luc__nest_advance(nest, &c, n);
  }
}

enum { ROW_GROUP = 64, NARROW = 32, NARROW_GROUP = 512, GROUP_BYTES = 1 << 14 };

/* From `row` on, a group of `size` rows along dimension t, in a plane of the other dimensions; how
 * many rows it has. */
static int64_t seek_group(const luc_nest *nest, int t, int64_t size, int64_t plane, int64_t row,
                          char **dst, char **src) {
  const int64_t rows = nest->sizes[t];
  *dst = nest->base[0] + row * nest->strides[0][t];
  *src = nest->base[1] + row * nest->strides[1][t];
  for (int d = 1; d < nest->ndim; d++) {
    if (d == t) continue;
    *dst += plane % nest->sizes[d] * nest->strides[0][d];
    *src += plane % nest->sizes[d] * nest->strides[1][d];
    plane /= nest->sizes[d];
  }
  return rows - row < size ? rows - row : size;
}

static void copy_turned(void *arg, int64_t begin, int64_t end) {
  const copy_job *job = arg;
  const luc_nest *nest = &job->nest;
  char *dst, *src;
  const int64_t groups = luc__cuts(nest->sizes[job->along], ROW_GROUP);
  for (int64_t i = begin; i < end; i++) {
    int64_t n =
        seek_group(nest, job->along, ROW_GROUP, i / groups, i % groups * ROW_GROUP, &dst, &src);
    job->kernels->transpose[job->size_log](dst, nest->strides[0][job->along], src,
                                           nest->strides[1][0], n, nest->sizes[0],
                                           nest->numel * job->size >= STREAM_FROM);
  }
}

/* Rows of a few elements, a group of them at once, in all planes before the next. */
static void copy_narrow(void *arg, int64_t begin, int64_t end) {
  const copy_job *job = arg;
  const luc_nest *nest = &job->nest;
  const int64_t *to = nest->strides[0], *from = nest->strides[1];
  const int64_t planes = nest->numel / (nest->sizes[0] * nest->sizes[job->along]);
  const int t = job->along;
  char *dst, *src;
  for (int64_t i = begin; i < end; i++) {
    int64_t n = seek_group(nest, t, job->group, i % planes, i / planes * job->group, &dst, &src);
    job->kernels->runs[job->size_log](dst, to[t], to[0], src, from[t], from[0], nest->sizes[0], n);
  }
}

/* The dimension to turn against dimension 0, or 0 if this is no transpose worth tiling. */
static int find_turned(const luc_nest *nest, int64_t size) {
  int64_t step = nest->strides[1][0];
  if (nest->strides[0][0] != size || step == size || step == 0) return 0;
  if (nest->sizes[0] < TURN_MIN) return 0;
  for (int d = 1; d < nest->ndim; d++)
    if (nest->strides[1][d] == size && nest->sizes[d] >= TURN_MIN) return d;
  return 0;
}

/* Rows far apart meet few sets of the cache: then only what goes element by element anyway. */
static bool is_narrow(const luc_nest *nest, int64_t size) {
  if (nest->ndim < 2 || nest->sizes[0] > NARROW) return false;
  if (nest->strides[0][1] <= 2 * NARROW * size) return nest->sizes[1] > 1;
  bool even = nest->strides[0][0] == size && nest->strides[1][0] == size;
  return !even && nest->sizes[0] < TURN_MIN && nest->sizes[1] >= 2 * nest->sizes[0];
}

/* The dimension along which narrow rows are many: of a few blocks of a few rows that of the blocks,
 * which are small enough for some to stay in the cache. */
static void choose_rows(copy_job *job) {
  const luc_nest *nest = &job->nest;
  int most = 1;
  job->along = 1;
  job->group = NARROW_GROUP;
  for (int d = 2; d < nest->ndim; d++)
    if (nest->sizes[d] > nest->sizes[most]) most = d;
  const int64_t block = nest->numel / nest->sizes[most] * job->size;
  if (nest->sizes[1] >= TURN_MIN || most == 1 || block > GROUP_BYTES / TURN_MIN) return;
  job->along = most;
  job->group = luc__min64(GROUP_BYTES / block, NARROW_GROUP);
}

static void copy_same(luc_context *ctx, copy_job *job) {
  const luc_nest *nest = &job->nest;
  bool block =
      nest->ndim == 1 && nest->strides[0][0] == job->size && nest->strides[1][0] == job->size;
  job->along = find_turned(nest, job->size);
  if (block) {
    luc__parallel_for(ctx, nest->numel, GRAIN, copy_block, job);
  } else if (job->along) {
    int64_t rows = nest->sizes[job->along], groups = luc__cuts(rows, ROW_GROUP);
    int64_t work = nest->sizes[0] * ROW_GROUP, planes = nest->numel / (nest->sizes[0] * rows);
    luc__parallel_for(ctx, planes * groups, (GRAIN + work - 1) / work, copy_turned, job);
  } else if (is_narrow(nest, job->size)) {
    choose_rows(job);
    int64_t rows = nest->sizes[job->along], groups = luc__cuts(rows, job->group);
    int64_t work = nest->sizes[0] * luc__min64(rows, job->group);
    int64_t planes = nest->numel / (nest->sizes[0] * rows);
    luc__parallel_for(ctx, planes * groups, (GRAIN + work - 1) / work, copy_narrow, job);
  } else {
    luc__parallel_for(ctx, nest->numel, GRAIN, copy_strided, job);
  }
}

/* ---- conversions ---- */

/* One step is enough from or to the compute type, and between integers. */
static void convert_run(const copy_job *job, char *dst, const char *src, int64_t n) {
  int64_t dst_stride = job->nest.strides[0][0], src_stride = job->nest.strides[1][0];
  _Alignas(64) char chunk[CHUNK * 8];
  if (job->resize != NULL) {
    job->resize(dst, src, n);
  } else if (job->load == NULL) {
    job->store(dst, dst_stride, src, n);
  } else if (job->store == NULL) {
    job->load(dst, src, src_stride, n);
  } else {
    for (int64_t i = 0; i < n; i += CHUNK) {
      int64_t k = n - i < CHUNK ? n - i : CHUNK;
      job->load(chunk, src + i * src_stride, src_stride, k);
      job->store(dst + i * dst_stride, dst_stride, chunk, k);
    }
  }
}

static void copy_converted(void *arg, int64_t begin, int64_t end) {
  const copy_job *job = arg;
  const luc_nest *nest = &job->nest;
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  while (begin < end) {
    int64_t run = nest->sizes[0] - c.at[0], n = run < end - begin ? run : end - begin;
    convert_run(job, c.ptr[0], c.ptr[1], n);
    begin += n;
    if (begin < end) luc__nest_advance(nest, &c, n);
  }
}

/* Do real numbers become these integers by way of int32_t, not int64_t? */
static bool goes_by_32(luc_dtype to) {
  return to == LUC_INT8 || to == LUC_INT16 || to == LUC_UINT16 || to == LUC_INT32;
}

/* What converts a run at once, or NULL. */
static luc_resize_fn find_resize(const copy_job *job) {
  const luc_copy_kernels *k = job->kernels;
  const bool whole = !luc__dtype_is_float(job->from);
  if (job->to == LUC_BFLOAT16) return k->as_bf16[job->from];
  if (luc__dtype_is_float(job->to) || job->size > 4) return NULL;
  if (job->to == LUC_BOOL)
    return whole ? k->truth[luc__log2((int64_t)luc__dtype_size(job->from))] : NULL;
  return whole || goes_by_32(job->to) ? k->resize[job->from][job->size_log] : NULL;
}

/* Truth, and how a real number becomes an integer, is decided in the source's own type, everything
 * else in the destination's. */
static void copy_other(luc_context *ctx, copy_job *job) {
  const luc_nest *nest = &job->nest;
  bool whole = luc__dtype_is_float(job->from) && !luc__dtype_is_float(job->to);
  luc_compute compute = luc__compute(job->to == LUC_BOOL || whole ? job->from : job->to);
  bool from_native = luc__is_native(job->from) && luc__compute(job->from) == compute &&
                     nest->strides[1][0] == (int64_t)luc__dtype_size(job->from);
  bool to_native = luc__is_native(job->to) && luc__compute(job->to) == compute &&
                   nest->strides[0][0] == job->size;
  bool runs = nest->strides[0][0] == job->size &&
              nest->strides[1][0] == (int64_t)luc__dtype_size(job->from);
  job->resize = runs ? find_resize(job) : NULL;
  job->load = from_native ? NULL : job->kernels->load[compute][job->from];
  job->store = to_native ? NULL : job->kernels->store[compute][job->to];
  luc__parallel_for(ctx, nest->numel, GRAIN, copy_converted, job);
}

/* Converting wants long runs: elements are first brought into the other's order where one of dst
 * and src lies without gaps. */
static luc_status copy_in_steps(luc_context *ctx, const copy_job *job, luc_tensor *dst,
                                const luc_tensor *src) {
  const int64_t from_size = (int64_t)luc__dtype_size(job->from);
  const bool spread = !luc__nest_is_linear(&job->nest, 0, job->size) &&
                      luc__nest_is_linear(&job->nest, 1, from_size);
  const luc_tensor *like = spread ? src : dst;
  luc_tensor *middle;
  LUC_TRY(luc__tensor_empty_like(ctx, dst, spread ? job->to : job->from, &middle));
  luc__take_order(middle, 1, &like);
  luc_status status = luc__copy(ctx, middle, src);
  if (status == LUC_OK) status = luc__copy(ctx, dst, middle);
  luc_tensor_release(ctx, middle);
  return status;
}

/* Has the nest short runs, or does src run across dst? */
static bool wants_steps(const copy_job *job) {
  const luc_nest *nest = &job->nest;
  if (nest->ndim == 1 || nest->numel < STEPS_FROM) return false;
  const int64_t from_size = (int64_t)luc__dtype_size(job->from);
  const bool far = llabs(nest->strides[1][0]) > 8 * from_size;
  const int64_t least = job->size == 2 ? luc__min64(from_size, HALF_FROM) : from_size;
  return nest->sizes[0] * least < SHORT_BYTES || far;
}

/* Elements that come again and again are converted once. */
static luc_status copy_repeated(luc_context *ctx, luc_tensor *dst, const luc_tensor *src,
                                const luc_tensor *once) {
  luc_tensor *middle;
  LUC_TRY(luc__tensor_empty(ctx, (luc_dtype)dst->dtype, once->ndim, once->sizes, &middle));
  luc_tensor wide = *middle;
  wide.numel = src->numel;
  for (int d = 0; d < src->ndim; d++) {
    wide.sizes[d] = src->sizes[d];
    if (src->strides[d] == 0) wide.strides[d] = 0;
  }
  luc_status status = luc__copy(ctx, middle, once);
  if (status == LUC_OK) status = luc__copy(ctx, dst, &wide);
  luc_tensor_release(ctx, middle);
  return status;
}

/* Are integers of one dtype, or bools, those of another as they lie? */
static bool same_bytes(luc_dtype from, luc_dtype to) {
  return to != LUC_BOOL && !luc__dtype_is_float(from) && !luc__dtype_is_float(to) &&
         luc__dtype_size(from) == luc__dtype_size(to);
}

luc_status luc__copy(luc_context *ctx, luc_tensor *dst, const luc_tensor *src) {
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a copy", dst));
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a copy", src));
  if (dst->numel == 0) return LUC_OK;
  copy_job job;
  job.to = (luc_dtype)dst->dtype;
  job.from = (luc_dtype)src->dtype;
  if (job.to != job.from && (luc__dtype_is_complex(job.to) || luc__dtype_is_complex(job.from)))
    return luc__copy_parts(ctx, dst, src);
  if (same_bytes(job.from, job.to)) job.from = job.to;
  job.size = (int64_t)luc__dtype_size(job.to);
  job.size_log = luc__log2(job.size);
  job.kernels = luc__kernels(ctx)->copy;
  if (job.to == job.from && luc__same_sizes(dst, src) && luc__is_contiguous(dst) &&
      luc__is_contiguous(src) && dst->numel <= GRAIN) {
    job.kernels->move[0](dst->data, 1, src->data, 1, dst->numel * job.size);
    return LUC_OK;
  }
  luc__nest_init(&job.nest, dst->ndim, dst->sizes);
  luc__nest_add(&job.nest, dst);
  luc__nest_add(&job.nest, src);
  luc__nest_simplify(&job.nest);
  if (job.to == job.from) {
    copy_same(ctx, &job);
    return LUC_OK;
  }
  const luc_tensor once = luc__without_repeats(src);
  if (dst->numel >= STEPS_FROM && MANY_TIMES * once.numel <= dst->numel &&
      copy_repeated(ctx, dst, src, &once) == LUC_OK)
    return LUC_OK;
  if (!wants_steps(&job) || copy_in_steps(ctx, &job, dst, src) != LUC_OK) copy_other(ctx, &job);
  return LUC_OK;
}

luc_status luc__contiguous_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a kernel", t));
  if (t->dtype == dtype && luc__is_contiguous(t)) {
    *out = luc__retain(t);
    return LUC_OK;
  }
  LUC_TRY(luc__tensor_empty_like(ctx, t, dtype, out));
  (*out)->from_one = t->from_one;
  return luc__copy(ctx, *out, t);
}

/* ---- filling ---- */

luc_status luc__fill(luc_context *ctx, luc_tensor *t, luc_scalar s) {
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "filling", t));
  luc_element value = {{0, 0}};
  luc__store_scalar(&value, (luc_dtype)t->dtype, s);
  return luc__fill_element(ctx, t, &value);
}

/* A fill is a copy from one element with stride 0. */
luc_status luc__fill_element(luc_context *ctx, luc_tensor *t, const luc_element *value) {
  if (t->numel == 0) return LUC_OK;
  if (value->words[0] == 0 && value->words[1] == 0 && luc__is_contiguous(t) && t->numel <= GRAIN) {
    memset(t->data, 0, (size_t)t->numel * luc__dtype_size((luc_dtype)t->dtype));
    return LUC_OK;
  }
  copy_job job;
  job.to = job.from = (luc_dtype)t->dtype;
  job.size = (int64_t)luc__dtype_size(job.to);
  job.size_log = luc__log2(job.size);
  job.kernels = luc__kernels(ctx)->copy;
  luc__nest_init(&job.nest, t->ndim, t->sizes);
  luc__nest_add(&job.nest, t);
  luc__nest_add(&job.nest, NULL);
  job.nest.base[1] = (char *)(uintptr_t)value; /* only read */
  luc__nest_simplify(&job.nest);
  luc__parallel_for(ctx, job.nest.numel, GRAIN, copy_strided, &job);
  return LUC_OK;
}
