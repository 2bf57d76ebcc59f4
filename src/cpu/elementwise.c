/* The driver of pointwise kernels. The output's elements are walked in chunks; for each, an operand
 * that already is a contiguous run of the compute type is handed over as it is ("direct"), and any
 * other is gathered into (scattered from) a chunk on the stack. */
#include "cpu/elementwise.h"

#include <string.h>

#include "cpu/copy.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

/* Runs at least LONG_RUN long are not joined into one chunk: a chunk then never crosses them, so
 * that every operand contiguous along dimension 0 is direct. */
enum { CHUNK = 1024, LONG_RUN = 256, GRAIN = 1 << 15, PARALLEL_FROM = 3 << 15, TURN_FROM = 4096 };

typedef struct operand {
  bool direct;
  luc_dtype dtype;
  luc_load_fn load;
  luc_scalar number; /* of an input without a tensor */
  bool is_number;
} operand;

typedef struct ew_job {
  luc_nest nest; /* operand 0 is the output */
  const luc_ew_kernel *kernel;
  const luc_ew_params *params;
  luc_ew_fn fn;
  const luc_copy_kernels *copy;
  luc_compute compute;
  bool joined; /* chunks may cross runs */
  operand operands[1 + LUC_EW_MAX_INPUTS];
} ew_job;

/* A chunk of compute type (8 bytes at most) for each operand. */
typedef struct chunks {
  _Alignas(64) char data[1 + LUC_EW_MAX_INPUTS][CHUNK * 8];
} chunks;

static const luc_ew_params no_params;

static size_t compute_size(luc_compute compute) {
  return compute == LUC_COMPUTE_F32 ? 4 : 8;
}

static void store_number(void *out, luc_compute compute, luc_scalar s) {
  static const luc_dtype dtypes[] = {LUC_FLOAT32, LUC_FLOAT64, LUC_INT64}; /* ORDER COMPUTE */
  luc__store_scalar(out, dtypes[compute], s);
}

/* ---- moving chunks ---- */

static void gather(const ew_job *job, int i, luc_cursor c, int64_t n, char *chunk) {
  const luc_nest *nest = &job->nest;
  size_t size = compute_size(job->compute);
  while (n > 0) {
    int64_t run = nest->sizes[0] - c.at[0], k = run < n ? run : n;
    job->operands[i].load(chunk, c.ptr[i], nest->strides[i][0], k);
    chunk += (size_t)k * size;
    n -= k;
    if (n > 0) luc__nest_advance(nest, &c, k);
  }
}

/* Truth values become numbers first, in the input's chunk that the kernel has read already. */
static void scatter(const ew_job *job, luc_cursor c, int64_t n, char *chunk, char *spare) {
  const luc_nest *nest = &job->nest;
  luc_compute compute = job->compute;
  if (job->kernel->truth) {
    compute = LUC_COMPUTE_I64;
    job->copy->load[compute][LUC_UINT8](spare, chunk, 1, n);
    chunk = spare;
  }
  luc_store_fn store = job->copy->store[compute][job->operands[0].dtype];
  while (n > 0) {
    int64_t run = nest->sizes[0] - c.at[0], k = run < n ? run : n;
    store(c.ptr[0], nest->strides[0][0], chunk, k);
    chunk += (size_t)k * compute_size(compute);
    n -= k;
    if (n > 0) luc__nest_advance(nest, &c, k);
  }
}

static void advance(const luc_nest *nest, luc_cursor *c, int64_t n) {
  while (n > 0) {
    int64_t run = nest->sizes[0] - c->at[0], k = run < n ? run : n;
    luc__nest_advance(nest, c, k);
    n -= k;
  }
}

static int64_t chunk_length(const ew_job *job, const luc_cursor *c, int64_t left, bool all_direct) {
  int64_t run = job->nest.sizes[0] - c->at[0];
  int64_t n = job->joined || run > left ? left : run;
  return all_direct || n < CHUNK ? n : CHUNK;
}

static void fill_numbers(const ew_job *job, chunks *scratch, int64_t n) {
  for (int i = 1; i <= job->kernel->inputs; i++) {
    if (!job->operands[i].is_number) continue;
    int64_t value = 0;
    store_number(&value, job->compute, job->operands[i].number);
    job->copy->move[compute_size(job->compute) == 4 ? 2 : 3](
        scratch->data[i], (int64_t)compute_size(job->compute), (char *)&value, 0, n);
  }
}

static void run_range(void *arg, int64_t begin, int64_t end) {
  const ew_job *job = arg;
  chunks scratch;
  bool all_direct = true;
  for (int i = 0; i <= job->kernel->inputs; i++) all_direct &= job->operands[i].direct;
  if (!all_direct) fill_numbers(job, &scratch, end - begin < CHUNK ? end - begin : CHUNK);
  luc_cursor c;
  luc__nest_seek(&job->nest, begin, &c);
  while (begin < end) {
    int64_t n = chunk_length(job, &c, end - begin, all_direct);
    const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
    for (int i = 1; i <= job->kernel->inputs; i++) {
      const operand *o = &job->operands[i];
      in[i - 1] = o->direct ? c.ptr[i] : scratch.data[i];
      if (!o->direct && !o->is_number) gather(job, i, c, n, scratch.data[i]);
    }
    bool direct = job->operands[0].direct;
    job->fn(direct ? c.ptr[0] : scratch.data[0], in, n, job->params);
    /* The spare chunk must not be a number's, which is filled once. */
    char spare[CHUNK * 8];
    if (!direct) scatter(job, c, n, scratch.data[0], spare);
    begin += n;
    if (begin < end) advance(&job->nest, &c, n);
  }
}

/* ---- choosing ---- */

static bool is_linear(const luc_nest *nest, int i, int64_t size) {
  int64_t step = size;
  for (int d = 0; d < nest->ndim; d++) {
    if (nest->strides[i][d] != step) return false;
    step *= nest->sizes[d];
  }
  return true;
}

static void describe(ew_job *job, int i, const luc_tensor *t) {
  operand *o = &job->operands[i];
  o->is_number = t == NULL;
  o->direct = false;
  if (t == NULL) return;
  o->dtype = (luc_dtype)t->dtype;
  o->load = job->copy->load[job->compute][o->dtype];
  bool native = luc__is_native(o->dtype) && luc__compute(o->dtype) == job->compute;
  if (i == 0 && job->kernel->truth) native = o->dtype == LUC_BOOL || o->dtype == LUC_UINT8;
  int64_t size = (int64_t)luc__dtype_size(o->dtype);
  if (!native) return;
  o->direct = job->joined ? is_linear(&job->nest, i, size) : job->nest.strides[i][0] == size;
}

static bool fits(const luc_tensor *t, const luc_tensor *out, luc_dtype dtype) {
  return t != NULL && t->dtype == dtype && t->ndim == out->ndim && luc__same_sizes(t, out) &&
         luc__is_contiguous(t);
}

/* A number as n elements; returns data. */
static void *repeat(luc_scalar s, luc_dtype dtype, int64_t n, int64_t *data) {
  for (int64_t k = 0; k < n; k++)
    store_number((char *)data + k * (int64_t)luc__dtype_size(dtype), luc__compute(dtype), s);
  return data;
}

/* Small, contiguous, of one native dtype: straight to the kernel. */
static bool run_simple(const luc_ew_kernel *kernel, luc_dtype dtype, luc_tensor *out,
                       const luc_ew_input *in, const luc_ew_params *params) {
  enum { FEW = 8 }; /* a number for so many is written out */
  if (out->numel >= PARALLEL_FROM || !luc__is_native(dtype)) return false;
  if (out->dtype != (kernel->truth ? LUC_BOOL : dtype) || !luc__is_contiguous(out)) return false;
  for (int i = 0; i < kernel->inputs; i++)
    if (in[i].t != NULL ? !fits(in[i].t, out, dtype) : out->numel > FEW) return false;
  const void *data[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  _Alignas(64) int64_t numbers[LUC_EW_MAX_INPUTS][2 * FEW];
  for (int i = 0; i < kernel->inputs; i++) {
    const luc_tensor *t = in[i].t;
    data[i] = t != NULL ? t->data : repeat(in[i].s, dtype, out->numel, numbers[i]);
  }
  kernel->fn[luc__compute(dtype)](out->data, data, out->numel, params);
  return true;
}

typedef struct flat_job {
  luc_ew_fn fn;
  int64_t size; /* of an element */
  char *out;
  const char *in[LUC_EW_MAX_INPUTS];
  const luc_ew_params *params;
} flat_job;

static void run_flat_range(void *arg, int64_t begin, int64_t end) {
  const flat_job *job = arg;
  const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  for (int i = 0; i < LUC_EW_MAX_INPUTS; i++)
    if (job->in[i]) in[i] = job->in[i] + begin * job->size;
  job->fn(job->out + begin * job->size, in, end - begin, job->params);
}

/* Contiguous memory of one dtype all through need not become int64 and back. */
static bool run_flat(luc_context *ctx, const luc_ew_kernel *kernel, luc_dtype dtype,
                     luc_tensor *out, const luc_ew_input *in, const luc_ew_params *params) {
  if (!kernel->flat || dtype != kernel->flat_dtype || !fits(out, out, dtype)) return false;
  flat_job job = {.fn = kernel->flat, .size = (int64_t)luc__dtype_size(dtype), .params = params};
  job.out = out->data;
  for (int i = 0; i < kernel->inputs; i++) {
    if (!fits(in[i].t, out, dtype)) return false;
    job.in[i] = in[i].t->data;
  }
  int64_t numel = out->numel;
  luc__parallel_for(ctx, numel, numel < PARALLEL_FROM ? numel : GRAIN, run_flat_range, &job);
  return true;
}

static void run_nest(luc_context *ctx, const luc_ew_kernel *kernel, luc_dtype dtype,
                     luc_tensor *out, const luc_ew_input *in, const luc_ew_params *params) {
  ew_job job;
  job.kernel = kernel;
  job.params = params;
  job.compute = luc__compute(dtype);
  job.fn = kernel->fn[job.compute];
  job.copy = luc__kernels(ctx)->copy;
  luc__nest_init(&job.nest, out->ndim, out->sizes);
  luc__nest_add(&job.nest, out);
  for (int i = 0; i < kernel->inputs; i++) {
    luc__nest_add(&job.nest, in[i].t);
    job.operands[i + 1].number = in[i].s;
  }
  luc__nest_simplify(&job.nest);
  job.joined = job.nest.ndim > 1 && job.nest.sizes[0] < LONG_RUN;
  describe(&job, 0, out);
  for (int i = 0; i < kernel->inputs; i++) describe(&job, i + 1, in[i].t);
  int64_t numel = job.nest.numel;
  luc__parallel_for(ctx, numel, numel < PARALLEL_FROM ? numel : GRAIN, run_range, &job);
}

/* Does t run across out's rows? Gathering it would miss the cache with every element. */
static bool is_turned(const luc_tensor *t, const luc_tensor *out) {
  if (t == NULL || t->numel != out->numel || t->numel < TURN_FROM || t->ndim < 2) return false;
  int last = t->ndim - 1;
  if (t->strides[last] == 1 || t->sizes[last] < 8 || !luc__is_contiguous(out)) return false;
  for (int d = 0; d < last; d++)
    if (t->strides[d] == 1 && t->sizes[d] >= 8) return true;
  return false;
}

void luc__elementwise_run(luc_context *ctx, const luc_ew_kernel *kernel, luc_dtype dtype,
                          luc_tensor *out, const luc_ew_input *in, const luc_ew_params *params) {
  if (params == NULL) params = &no_params;
  LUC_ASSERT(kernel->fn[luc__compute(dtype)] != NULL);
  if (out->numel == 0 || run_simple(kernel, dtype, out, in, params)) return;
  if (run_flat(ctx, kernel, dtype, out, in, params)) return;
  /* What is turned is copied straight first, in tiles; without memory for it, it does without. */
  luc_ew_input straight[LUC_EW_MAX_INPUTS];
  luc_tensor *copies[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  for (int i = 0; i < kernel->inputs; i++) {
    straight[i] = in[i];
    if (!is_turned(in[i].t, out)) continue;
    if (luc__tensor_empty_like(ctx, in[i].t, (luc_dtype)in[i].t->dtype, &copies[i]) != LUC_OK)
      continue;
    luc__copy(ctx, copies[i], in[i].t);
    straight[i].t = copies[i];
  }
  run_nest(ctx, kernel, dtype, out, straight, params);
  for (int i = 0; i < kernel->inputs; i++) luc_tensor_release(ctx, copies[i]);
}

void luc__elementwise(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_tensor *out,
                      const luc_ew_input *in, const luc_ew_params *params) {
  luc__elementwise_run(ctx, &luc__kernels(ctx)->elementwise[op], dtype, out, in, params);
}
