/* The driver of pointwise kernels. The output's elements are walked in runs; for each, an operand
 * that already is a contiguous run of the kernel's type, or one element for the whole run, is
 * handed over as it is ("direct"), and any other is gathered into (scattered from) a chunk on the
 * stack. */
#include "cpu/elementwise.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/cache.h"
#include "cpu/copy.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"
#include "cpu/scratch.h"

/* Runs shorter than SHORT_RUN or within a LINE (of a kernel that goes from row to row, only shorter
 * than that), or shorter than MOVED_RUN where one is gathered, are joined into chunks that cross
 * them; else a run ends where one of an operand does. Inputs of rows up to SHORT_ROW bytes are laid
 * out for calls of many. Results with gaps are computed one by one, those of short runs, or of
 * fewer than FEW words of 8 bytes without gaps, NEAR runs at a time. */
enum {
  CHUNK = 1024,
  SPAN = 9 << 10,
  SHORT_RUN = 16,
  MOVED_RUN = 128,
  SHORT_ROW = 160,
  NEAR = 128,
  FEW = 6,
  PARALLEL_FROM = 1 << 15,
  TURN_FROM = 4096,
  TURN_MIN = 8,
  WIDE = 2048,
  BLOCK = 1 << 16,
  BLOCK_MIN = 256,
  LINE = 64
};

typedef struct operand {
  bool direct, is_number;
  bool native; /* its elements are the kernel's as they lie */
  bool run;    /* its elements lie side by side in a run, or wherever chunks cross runs */
  int like;    /* an input before that is the same memory, or this one */
  luc_dtype dtype;
  luc_load_fn load;
  luc_resize_fn widen; /* of integers smaller than the kernel's, or NULL */
  int64_t number;      /* of an input without a tensor, in the kernel's type */
} operand;

typedef struct ew_job {
  luc_nest nest; /* operand 0 is the output */
  const luc_ew_kernel *kernel;
  const luc_ew_params *params;
  luc_ew_fn fn;
  luc_ew_apart_fn apart; /* for results with gaps, which it runs instead, or NULL, */
  int64_t near;          /* where they lie farther apart than that, in bytes: for every second of */
                         /* 4 bytes AVX-512 has stores, and no slower ones for the third integer */
  unsigned once;         /* inputs that are one element for a run */
  unsigned how;          /* LUC_EW_STREAM, LUC_EW_NUMBERS */
  int threads;           /* that run it at most */
  const luc_copy_kernels *copy;
  luc_dtype alike;     /* what all operands are, */
  luc_compute compute; /* or LUC_NUM_DTYPES, and what they are converted to */
  int64_t size;        /* of an element of the kernel's inputs */
  bool joined;         /* chunks may cross runs */
  bool fills;          /* each run is one result, as all inputs are one element */
  int64_t chunk;       /* elements that are gathered at once */
  int64_t together;    /* runs that are one for the kernel, */
  unsigned laid;       /* inputs that are laid out side by side for that */
  operand operands[1 + LUC_EW_MAX_INPUTS];
} ew_job;

/* A chunk of the kernel's type (8 bytes at most) for each operand. */
typedef struct chunks {
  _Alignas(64) char data[1 + LUC_EW_MAX_INPUTS][CHUNK * 8];
} chunks;

static const luc_ew_params no_params;

/* From how many elements on is a call cut into pieces? */
static int64_t parallel_from(const luc_ew_kernel *kernel) {
  return kernel->slow ? PARALLEL_FROM / 32 : PARALLEL_FROM;
}

/* Does the kernel write truth values, whatever its own type? */
static bool gives_bytes(const ew_job *job) {
  return job->kernel->truth && !(job->how & LUC_EW_NUMBERS);
}

static bool is_once(const ew_job *job, int input) {
  return job->once >> (input - 1) & 1;
}

/* ---- moving chunks ---- */

/* How many whole blocks of the dimensions below d, from here on within n elements, lie one distance
 * along d apart; 0 for one alone. */
static int64_t even_blocks(const luc_nest *nest, const luc_cursor *c, int d, int64_t n) {
  if (nest->ndim <= d) return 0;
  for (int k = 0; k < d; k++) {
    if (c->at[k] != 0) return 0;
    n /= nest->sizes[k];
  }
  n = luc__min64(n, nest->sizes[d] - c->at[d]);
  return n > 1 ? n : 0;
}

/* Moves over n of them. */
static void pass(const luc_nest *nest, luc_cursor *c, int d, int64_t n) {
  for (int k = 1; k <= d; k++) {
    const int64_t over = (k < d ? nest->sizes[k] : n) - 1;
    c->at[k] += over;
    for (int i = 0; i < nest->count; i++) c->ptr[i] += over * nest->strides[i][k];
  }
  luc__nest_advance(nest, c, d > 0 ? nest->sizes[0] : n);
}

/* n elements of `size` bytes from `at` on, of the nest's operand i, to memory without gaps, or back
 * from there: of a few rows that come again and again, the first of all, then the second of all. */
static void move_elements(const ew_job *job, int i, const luc_cursor *at, int64_t n, int64_t size,
                          char *chunk, bool back) {
  const luc_nest *nest = &job->nest;
  const int64_t *steps = nest->strides[i];
  const int log = luc__log2(size);
  if (n <= nest->sizes[0] - at->at[0]) {
    if (back)
      job->copy->move[log](at->ptr[i], steps[0], chunk, size, n);
    else
      job->copy->move[log](chunk, size, at->ptr[i], steps[0], n);
    return;
  }
  luc_cursor c = *at;
  while (n > 0) {
    const int64_t run = luc__min64(nest->sizes[0] - c.at[0], n);
    int d = 2;
    int64_t count = even_blocks(nest, &c, d, n), rows = nest->sizes[1];
    if (count <= rows) count = even_blocks(nest, &c, d = 1, n), rows = 1;
    if (count == 0) count = run, d = 0;
    const int64_t row = run * size, block = rows * row;
    for (int64_t r = 0; r < rows; r++) {
      char *far = c.ptr[i] + r * steps[1], *near = chunk + r * row;
      if (d == 0 && back)
        job->copy->move[log](far, steps[0], near, size, run);
      else if (d == 0)
        job->copy->move[log](near, size, far, steps[0], run);
      else if (back)
        job->copy->runs[log](far, steps[d], steps[0], near, block, size, run, count);
      else
        job->copy->runs[log](near, block, size, far, steps[d], steps[0], run, count);
    }
    const int64_t moved = d == 0 ? run : count * rows * run;
    chunk += moved * size;
    n -= moved;
    if (n > 0) pass(nest, &c, d, count);
  }
}

/* What crosses runs is gathered as it is stored, then converted. */
static void gather(const ew_job *job, int i, const luc_cursor *at, int64_t n, char *chunk,
                   char *spare) {
  const operand *o = &job->operands[i];
  const int64_t size = (int64_t)luc__dtype_size(o->dtype), stride = job->nest.strides[i][0];
  const bool whole = o->run || n <= job->nest.sizes[0] - at->at[0];
  const char *from = at->ptr[i];
  if (o->native) {
    move_elements(job, i, at, n, size, chunk, false);
    return;
  }
  if (whole && o->widen == NULL) {
    o->load(chunk, from, stride, n);
    return;
  }
  if (!whole || stride != size) {
    move_elements(job, i, at, n, size, spare, false);
    from = spare;
  }
  if (o->widen != NULL)
    o->widen(chunk, from, n);
  else
    o->load(chunk, from, size, n);
}

/* Truth values for another type become numbers first. */
static void scatter(const ew_job *job, const luc_cursor *at, int64_t n, char *chunk, char *spare) {
  const luc_dtype dtype = job->operands[0].dtype;
  const int64_t size = (int64_t)luc__dtype_size(dtype), stride = job->nest.strides[0][0];
  const bool whole = job->operands[0].run || n <= job->nest.sizes[0] - at->at[0];
  const bool truth = gives_bytes(job);
  const luc_compute compute = truth ? luc__compute(dtype) : job->compute;
  if (job->operands[0].native) {
    move_elements(job, 0, at, n, size, chunk, true);
    return;
  }
  if (truth) {
    char *bytes = chunk;
    job->copy->load[compute][LUC_UINT8](spare, bytes, 1, n);
    chunk = spare;
    spare = bytes;
  }
  luc_store_fn store = job->copy->store[compute][dtype];
  if (whole) {
    store(at->ptr[0], stride, chunk, n);
  } else {
    store(spare, size, chunk, n);
    move_elements(job, 0, at, n, size, spare, true);
  }
}

/* How many elements are gathered at once: results that are scattered should meet what was read in
 * place while it is in the first-level cache. Chunks that cross rows of runs end with one. */
static int64_t find_chunk(const ew_job *job) {
  const luc_nest *nest = &job->nest;
  int64_t chunk = CHUNK, apart = nest->strides[0][0];
  if (job->joined) apart = nest->strides[0][1] / nest->sizes[0];
  if (!job->operands[0].direct) chunk = luc__clamp64(SPAN / (llabs(apart) + 1), CHUNK / 4, CHUNK);
  const int64_t block = job->joined && nest->ndim > 2 ? nest->sizes[0] * nest->sizes[1] : 1;
  return block > chunk ? chunk : chunk - chunk % block;
}

static int64_t run_length(const ew_job *job, const luc_cursor *c, int64_t left, bool all_direct) {
  int64_t run = job->nest.sizes[0] - c->at[0];
  int64_t n = job->joined || run > left ? left : run;
  return all_direct || n < job->chunk ? n : job->chunk;
}

/* One result for n elements from here on. */
static void fill_run(const ew_job *job, const luc_cursor *c, const void *const *in, int64_t n) {
  const int64_t size = (int64_t)luc__dtype_size(job->operands[0].dtype);
  int64_t one;
  job->fn(&one, in, 1, job->params, job->how);
  job->copy->move[luc__log2(size)](c->ptr[0], size, (const char *)&one, 0, n);
}

/* The results of so many runs, side by side, then each of them for all of its run. */
static void fill_rows(const ew_job *job, const luc_cursor *c, int64_t rows, chunks *scratch,
                      char *spare) {
  const luc_nest *nest = &job->nest;
  const int64_t size = (int64_t)luc__dtype_size(job->operands[0].dtype);
  const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  unsigned once = 0;
  for (int i = 1; i <= job->kernel->inputs; i++) {
    const operand *o = &job->operands[i];
    const int64_t own = (int64_t)luc__dtype_size(o->dtype);
    if (o->is_number) {
      once |= 1u << (i - 1);
      in[i - 1] = &o->number;
      continue;
    }
    char *chunk = o->widen != NULL ? spare : scratch->data[i];
    job->copy->move[luc__log2(own)](chunk, own, c->ptr[i], nest->strides[i][1], rows);
    if (o->widen != NULL) o->widen(scratch->data[i], chunk, rows);
    in[i - 1] = scratch->data[i];
  }
  job->fn(scratch->data[0], in, rows, job->params, once | (job->how & ~LUC_EW_STREAM));
  job->copy->runs[luc__log2(size)](c->ptr[0], nest->strides[0][1], size, scratch->data[0], size, 0,
                                   nest->sizes[0], rows);
}

/* Lays out n runs, from the r-th on, of these inputs. (By itself, so that rows keep registers.) */
static __attribute__((noinline)) void lay_out(const ew_job *job, const luc_cursor *c,
                                              unsigned inputs, int64_t r, int64_t n,
                                              chunks *scratch) {
  const int64_t run = job->nest.sizes[0], size = job->size;
  for (int i = 1; inputs != 0; inputs >>= 1, i++) {
    const int64_t *steps = job->nest.strides[i];
    if (inputs & 1)
      job->copy->runs[luc__log2(size)](scratch->data[i], run * size, size, c->ptr[i] + r * steps[1],
                                       steps[1], steps[0], run, n);
  }
}

/* `rows` whole runs, all operands of which are direct. */
static void run_rows(const ew_job *job, const luc_cursor *c, int64_t rows, chunks *scratch) {
  const luc_nest *nest = &job->nest;
  const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  const int64_t run = nest->sizes[0], most = luc__min64(job->together, rows);
  const unsigned laid = job->laid, how = (job->once & ~laid) | job->how;
  unsigned moving = 0;
  int64_t steps[LUC_EW_MAX_INPUTS] = {0};
  char *out = c->ptr[0];
  for (int i = 1; i <= job->kernel->inputs; i++) {
    const operand *o = &job->operands[i];
    const unsigned own = 1u << (i - 1);
    in[i - 1] = o->is_number ? (const void *)&o->number : laid & own ? scratch->data[i] : c->ptr[i];
    if (!(laid & own))
      steps[i - 1] = nest->strides[i][1] * most;
    else if (nest->strides[i][1] != 0)
      moving |= own;
  }
  if (job->kernel->rows && laid == 0) {
    luc_ew_rows all = {{in[0], in[1], in[2]}, rows, {nest->strides[0][1]}};
    memcpy(all.steps + 1, steps, sizeof steps);
    job->fn(out, all.in, run, job->params, how | LUC_EW_ROWS);
    return;
  }
  if (laid != moving) lay_out(job, c, laid & ~moving, 0, most, scratch);
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t n = luc__min64(most, rows - r);
    if (moving != 0) lay_out(job, c, moving, r, n, scratch);
    job->fn(out, in, n * run, job->params, how);
    out += nest->strides[0][1] * most;
    for (int i = 0; i < LUC_EW_MAX_INPUTS; i++) /* not as vectors, which the kernel waits for */
      if (steps[i] != 0) in[i] = (const char *)in[i] + steps[i];
  }
}

static void run_range(void *arg, int64_t begin, int64_t end) {
  const ew_job *job = arg;
  chunks scratch;
  _Alignas(64) char spare[CHUNK * 8];
  bool all_direct = job->operands[0].direct;
  bool nothing_moves = all_direct && !job->joined && !job->fills;
  for (int i = 1; i <= job->kernel->inputs; i++) {
    all_direct &= job->operands[i].direct || is_once(job, i);
    nothing_moves &= job->operands[i].direct || job->laid >> (i - 1) & 1;
  }
  const char *held[1 + LUC_EW_MAX_INPUTS] = {NULL}; /* what was gathered, and how much of it */
  int64_t count[1 + LUC_EW_MAX_INPUTS] = {0};
  luc_cursor c;
  luc__nest_seek(&job->nest, begin, &c);
  while (begin < end) {
    int64_t rows = nothing_moves || job->fills ? even_blocks(&job->nest, &c, 1, end - begin) : 0;
    if (rows > CHUNK && job->fills) rows = CHUNK;
    if (rows > 0) {
      if (job->fills)
        fill_rows(job, &c, rows, &scratch, spare);
      else
        run_rows(job, &c, rows, &scratch);
      memset(held, 0, sizeof held); /* chunks may have other rows now */
      begin += rows * job->nest.sizes[0];
      if (begin < end) pass(&job->nest, &c, 1, rows);
      continue;
    }
    int64_t n = run_length(job, &c, end - begin, all_direct);
    const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
    for (int i = 1; i <= job->kernel->inputs; i++) {
      const operand *o = &job->operands[i];
      in[i - 1] = o->is_number ? (const void *)&o->number : o->direct ? c.ptr[i] : scratch.data[i];
      const int64_t m = is_once(job, i) ? 1 : n;
      const bool keeps = !job->joined && !job->fills; /* rows that are filled take the chunks */
      const bool again = keeps && held[i] == c.ptr[i] && count[i] == m;
      if (o->like != i)
        in[i - 1] = in[o->like - 1];
      else if (!o->direct && !again)
        gather(job, i, &c, m, scratch.data[i], spare);
      held[i] = c.ptr[i], count[i] = m;
    }
    bool direct = job->operands[0].direct;
    if (job->fills)
      fill_run(job, &c, in, n);
    else
      job->fn(direct ? c.ptr[0] : scratch.data[0], in, n, job->params, job->once | job->how);
    if (!direct) scatter(job, &c, n, scratch.data[0], spare);
    begin += n;
    if (begin < end && job->joined)
      luc__nest_seek(&job->nest, begin, &c);
    else if (begin < end)
      luc__nest_advance(&job->nest, &c, n);
  }
  if (job->how & LUC_EW_STREAM) luc__stream_fence();
}

/* The same of results with gaps and what they are made of, as they lie; of short runs the first
 * elements of many, then the second of all. */
static void run_apart(void *arg, int64_t begin, int64_t end) {
  const ew_job *job = arg;
  const luc_nest *nest = &job->nest;
  int64_t steps[1 + LUC_EW_MAX_INPUTS] = {0};
  int64_t down[1 + LUC_EW_MAX_INPUTS] = {0};
  for (int i = 0; i < nest->count; i++) {
    steps[i] = nest->strides[i][0];
    if (nest->ndim > 1) down[i] = nest->strides[i][1];
  }
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  for (int64_t n; begin < end; begin += n) {
    const void *in[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
    n = luc__min64(nest->sizes[0] - c.at[0], end - begin);
    for (int i = 1; i < nest->count; i++)
      in[i - 1] = job->operands[i].is_number ? (const void *)&job->operands[i].number : c.ptr[i];
    const int64_t rows =
        n < SHORT_RUN ? luc__min64(even_blocks(nest, &c, 1, end - begin), NEAR) : 0;
    if (rows == 0) {
      job->apart(c.ptr[0], in, steps, n, job->params);
      if (begin + n < end) luc__nest_advance(nest, &c, n);
      continue;
    }
    for (int64_t k = 0; k < n; k++) {
      job->apart(c.ptr[0] + k * steps[0], in, down, rows, job->params);
      for (int i = 1; i < nest->count; i++) in[i - 1] = (const char *)in[i - 1] + steps[i];
    }
    n *= rows;
    if (begin + n < end) pass(nest, &c, 1, rows);
  }
}

/* ---- choosing ---- */

int luc__elementwise_type(luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT32: return LUC_COMPUTE_F32;
  case LUC_FLOAT64: return LUC_COMPUTE_F64;
  case LUC_INT64: return LUC_COMPUTE_I64;
  case LUC_INT32: return LUC_EW_I32;
  case LUC_INT16: return LUC_EW_I16;
  case LUC_INT8: return LUC_EW_I8;
  case LUC_UINT8: return LUC_EW_U8;
  case LUC_BOOL: return LUC_EW_BOOL;
  case LUC_FLOAT16: return LUC_EW_F16;
  case LUC_BFLOAT16: return LUC_EW_BF16;
  default: return -1;
  }
}

/* Has the dtype this value? float and double have what they make of it; halves are computed with
 * the number as a float. */
static bool has_value(luc_dtype dtype, luc_scalar s) {
  int64_t stored = 0;
  const bool half = dtype == LUC_FLOAT16 || dtype == LUC_BFLOAT16;
  if (luc__dtype_is_float(dtype) && !half) return true;
  luc__store_scalar(&stored, dtype, s);
  luc_scalar back = luc__load_scalar((char *)&stored, dtype);
  if (half) return luc__scalar_double(back) == luc__scalar_double(s);
  return s.kind != LUC_SCALAR_FLOAT && luc__scalar_int(back) == luc__scalar_int(s);
}

/* What makes larger integers of such small ones, or bools, or NULL. */
static luc_resize_fn widening(const luc_copy_kernels *copy, luc_dtype from, luc_dtype to) {
  const size_t size = luc__dtype_size(to);
  const bool larger = size > luc__dtype_size(from) && size <= 4;
  const bool whole = !luc__dtype_is_float(from) && !luc__dtype_is_float(to);
  return larger && whole ? copy->resize[from][luc__log2((int64_t)size)] : NULL;
}

/* Are numbers of this dtype, as they lie or widened, some of the other? */
static bool becomes(const luc_copy_kernels *copy, luc_dtype from, luc_dtype to) {
  return from == to || (from == LUC_BOOL && (to == LUC_INT8 || to == LUC_UINT8)) ||
         widening(copy, from, to) != NULL;
}

/* The kernel for operands that all are of this dtype, or become so, or NULL where some do not. */
static luc_ew_fn kernel_alike(const luc_copy_kernels *copy, const luc_ew_kernel *kernel,
                              luc_dtype dtype, const luc_tensor *out, const luc_ew_input *in) {
  int type = luc__elementwise_type(dtype);
  if (type < 0 || (!kernel->truth && out->dtype != dtype)) return NULL;
  for (int i = 0; i < kernel->inputs; i++)
    if (in[i].t != NULL ? !becomes(copy, (luc_dtype)in[i].t->dtype, dtype)
                        : !has_value(dtype, in[i].s))
      return NULL;
  return kernel->fn[type];
}

/* Are these what truth values are written as, if not as numbers? */
static bool is_byte(luc_dtype dtype) {
  return dtype == LUC_BOOL || dtype == LUC_UINT8 || dtype == LUC_INT8;
}

/* LUC_EW_NUMBERS if truth values become numbers of the kernel's own type, or 0. */
static unsigned truth_as(const luc_ew_kernel *kernel, bool alike, luc_dtype dtype, luc_dtype out) {
  if (kernel->truth != LUC_EW_EITHER || is_byte(out)) return 0;
  const bool own = alike ? out == dtype : luc__compute(out) == luc__compute(dtype);
  return own ? LUC_EW_NUMBERS : 0;
}

/* Small and contiguous: straight to the kernel. */
static bool run_simple(const luc_ew_kernel *kernel, luc_ew_fn fn, luc_dtype dtype, luc_tensor *out,
                       const luc_ew_input *in, const luc_ew_params *params, unsigned how) {
  const void *data[LUC_EW_MAX_INPUTS] = {NULL, NULL, NULL};
  int64_t numbers[LUC_EW_MAX_INPUTS];
  unsigned once = 0;
  if (out->numel >= parallel_from(kernel) || !luc__is_contiguous(out)) return false;
  if (kernel->truth && how == 0 && !is_byte((luc_dtype)out->dtype)) return false;
  for (int i = 0; i < kernel->inputs; i++) {
    const luc_tensor *t = in[i].t;
    if (t == NULL) {
      luc__store_scalar(&numbers[i], dtype, in[i].s);
      data[i] = &numbers[i];
      once |= 1u << i;
    } else {
      if (t->ndim != out->ndim || !luc__same_sizes(t, out) || !luc__is_contiguous(t)) return false;
      if (luc__dtype_size((luc_dtype)t->dtype) != luc__dtype_size(dtype)) return false;
      data[i] = t->data;
    }
  }
  if (once + 1 == 1u << kernel->inputs) return false;
  fn(out->data, data, out->numel, params, once | how);
  return true;
}

/* What the kernel's inputs are. */
static luc_dtype kernel_dtype(const ew_job *job) {
  static const luc_dtype dtypes[] = {LUC_FLOAT32, LUC_FLOAT64, LUC_INT64}; /* ORDER COMPUTE */
  return job->alike != LUC_NUM_DTYPES ? job->alike : dtypes[job->compute];
}

/* Is operand i one element for all of a chunk? */
static bool stands_still(const ew_job *job, int i) {
  for (int d = 0; d < (job->joined ? job->nest.ndim : 1); d++)
    if (job->nest.strides[i][d] != 0) return false;
  return true;
}

static void describe(ew_job *job, int i, const luc_tensor *t) {
  operand *o = &job->operands[i];
  o->dtype = (luc_dtype)t->dtype;
  o->load = job->copy->load[job->compute][o->dtype];
  const bool alike = job->alike != LUC_NUM_DTYPES;
  o->widen = alike && i > 0 ? widening(job->copy, o->dtype, job->alike) : NULL;
  o->native =
      alike ? o->widen == NULL : luc__is_native(o->dtype) && luc__compute(o->dtype) == job->compute;
  if (i == 0 && gives_bytes(job)) o->native = is_byte(o->dtype);
  int64_t size = (int64_t)luc__dtype_size(o->dtype);
  o->run = job->joined ? luc__nest_is_linear(&job->nest, i, size) : job->nest.strides[i][0] == size;
  o->direct = o->native && (o->run || (i > 0 && is_once(job, i)));
}

/* Decides which inputs are one element for a run: of those not all may be, unless a run without
 * gaps is filled with one result. */
static void find_once(ew_job *job, const luc_tensor *out, const luc_ew_input *in) {
  const luc_dtype type = kernel_dtype(job);
  int n = job->kernel->inputs, moving = 0;
  job->once = 0;
  for (int i = 1; i <= n; i++) {
    operand *o = &job->operands[i];
    o->is_number = o->direct = in[i - 1].t == NULL;
    if (o->is_number) luc__store_scalar(&o->number, type, in[i - 1].s);
    if (stands_still(job, i)) job->once |= 1u << (i - 1);
    if (!o->is_number) moving = i;
  }
  const bool all = job->once + 1 == 1u << n;
  job->fills = all && moving && !job->joined && job->alike != LUC_NUM_DTYPES &&
               job->nest.strides[0][0] == (int64_t)luc__dtype_size(out->dtype) &&
               (!gives_bytes(job) || is_byte((luc_dtype)out->dtype));
  if (job->nest.numel == 1)
    job->once = 0;
  else if (all && !job->fills)
    job->once &= ~(1u << (moving - 1));
}

/* Up to how many bytes of a run are these inputs laid out? Where the kernel of several goes from
 * row to row by itself, one of less than its pair of lines, two of less than one. */
static int64_t longest_laid(const ew_job *job, unsigned laid) {
  if (!job->kernel->rows || job->kernel->inputs == 1) return SHORT_ROW;
  return laid & (laid - 1) ? LINE - 1 : 2 * LINE - 1;
}

/* How many runs are one for the kernel: where results lie on behind each other, inputs that do not
 * are laid out in chunks, those that repeat once, others of short runs each time. */
static void find_together(ew_job *job) {
  const luc_nest *nest = &job->nest;
  const int64_t run = nest->sizes[0];
  int64_t most = luc__min64(CHUNK / run, nest->ndim > 1 ? nest->sizes[1] : 0);
  unsigned laid = 0;
  job->together = 1, job->laid = 0;
  for (int i = 0; i < nest->count && most > 1; i++) {
    const int64_t step = nest->strides[i][1], next = run * nest->strides[i][0];
    const operand *o = &job->operands[i];
    if (i == 0 ? !o->direct || step != next : !o->direct && (!o->native || o->like != i)) return;
    if (step == next && o->direct) continue;
    laid |= 1u << (i - 1);
    if (step == 0)
      most = luc__min64(most, nest->sizes[1] / 4 + 1);
    else if (run * job->size > longest_laid(job, laid) || most * run < BLOCK_MIN)
      return;
  }
  if (laid != 0 && most > 1) job->together = most, job->laid = laid;
}

/* Is what lies here in whole runs of lines more than the cache holds? In place, lines that are
 * written have been read. */
static bool past_cache(const ew_job *job, const luc_tensor *out, const luc_ew_input *in) {
  int64_t bytes = out->numel * (int64_t)luc__dtype_size((luc_dtype)out->dtype);
  const int64_t run = job->nest.ndim == 1 ? 0 : job->nest.sizes[0] * job->size;
  if (!job->operands[0].direct || gives_bytes(job) || run % LINE != 0) return false;
  for (int i = 0; i < job->kernel->inputs; i++) {
    if (in[i].t == NULL) continue;
    if (in[i].t->data == out->data) return false;
    if (job->operands[i + 1].like <= i) continue; /* read once for both */
    bytes += in[i].t->numel * (int64_t)luc__dtype_size((luc_dtype)in[i].t->dtype);
  }
  return luc__past_cache_by(job->threads, bytes);
}

/* Are these inputs the same memory, read alike? */
static bool is_alike(const ew_job *job, int a, int b) {
  const luc_nest *nest = &job->nest;
  const operand *x = &job->operands[a], *y = &job->operands[b];
  const size_t strides = (size_t)nest->ndim * sizeof nest->strides[0][0];
  return !x->is_number && !y->is_number && x->dtype == y->dtype &&
         is_once(job, a) == is_once(job, b) && nest->base[a] == nest->base[b] &&
         memcmp(nest->strides[a], nest->strides[b], strides) == 0;
}

static void plan(ew_job *job, bool joined, const luc_tensor *out, const luc_ew_input *in) {
  job->joined = joined;
  find_once(job, out, in);
  describe(job, 0, out);
  for (int i = 1; i <= job->kernel->inputs; i++) {
    job->operands[i].like = i;
    if (in[i - 1].t == NULL) continue;
    describe(job, i, in[i - 1].t);
    for (int k = 1; k < i; k++)
      if (is_alike(job, k, i)) job->operands[i].like = k;
  }
}

/* Do results go one by one to places that far apart, or from one short run to the next one's?
 * Nearer ones are written by vectors. */
static bool goes_apart(const ew_job *job) {
  const luc_nest *nest = &job->nest;
  for (int i = 1; i < nest->count; i++)
    if (job->operands[i].widen != NULL) return false;
  const int64_t *to = nest->strides[0], run = nest->sizes[0];
  const int64_t most = nest->ndim > 1 ? luc__max64(run, nest->sizes[1]) : run;
  if (job->apart == NULL || most < SHORT_RUN) return false;
  const int64_t few = to[0] != job->size ? SHORT_RUN : job->size == 8 ? FEW : 0;
  const bool across = nest->ndim > 1 && run < few && to[1] != run * to[0];
  return llabs(to[across]) > job->near;
}

/* How the nest is run, and whether past the cache. */
static void arrange(ew_job *job, const luc_tensor *out, const luc_ew_input *in) {
  luc__nest_simplify(&job->nest);
  plan(job, false, out, in);
  if (!goes_apart(job)) job->apart = NULL;
  find_together(job);
  const int64_t run = job->nest.sizes[0];
  const bool rows = job->kernel->rows;
  bool is_short = rows ? run * job->size < LINE : run < SHORT_RUN || run * job->size <= LINE;
  for (int i = 0; i <= job->kernel->inputs; i++)
    is_short |= !job->operands[i].direct && run < MOVED_RUN;
  is_short &= job->together == 1 || job->together * run < LINE;
  if (job->nest.ndim > 1 && is_short && !(job->fills && job->nest.sizes[1] >= SHORT_RUN))
    plan(job, true, out, in);
  job->chunk = find_chunk(job);
  if (past_cache(job, out, in)) job->how |= LUC_EW_STREAM;
}

static void run_nest(luc_context *ctx, ew_job *job, luc_tensor *out, const luc_ew_input *in) {
  luc__nest_init(&job->nest, out->ndim, out->sizes);
  luc__nest_add(&job->nest, out);
  for (int i = 0; i < job->kernel->inputs; i++) luc__nest_add(&job->nest, in[i].t);
  arrange(job, out, in);
  int64_t numel = job->nest.numel;
  int64_t from = parallel_from(job->kernel);
  luc__parallel_for(ctx, numel, numel < from ? numel : from / 2,
                    job->apart != NULL ? run_apart : run_range, job);
}

/* ---- operands that run across the output's rows ---- */

/* Blocks of the output, for each of which those operands are turned into scratch: gathered element
 * by element they would miss the cache with every one, and copied whole leave it again. */
typedef struct turned_job {
  ew_job job; /* dimensions 0 and 1 of its nest are cut */
  const luc_tensor *out;
  const luc_ew_input *in;
  unsigned turned; /* operands */
  int64_t rows, cols;
} turned_job;

static void run_blocks(void *arg, void *scratch, int64_t begin, int64_t end) {
  const turned_job *t = arg;
  const luc_nest *all = &t->job.nest;
  const int64_t width = luc__cuts(all->sizes[0], t->cols),
                height = luc__cuts(all->sizes[1], t->rows);
  for (int64_t b = begin; b < end; b++) {
    const int64_t col = b % width * t->cols, row = b / width % height * t->rows;
    const int64_t cols = luc__min64(all->sizes[0] - col, t->cols);
    const int64_t rows = luc__min64(all->sizes[1] - row, t->rows);
    ew_job job = t->job;
    luc_nest *nest = &job.nest;
    luc_cursor at;
    luc__nest_seek(all, (b / width / height * all->sizes[1] + row) * all->sizes[0] + col, &at);
    nest->ndim = 2;
    nest->sizes[0] = cols, nest->sizes[1] = rows;
    nest->numel = rows * cols;
    char *block = scratch;
    for (int i = 0; i < nest->count; i++) {
      nest->base[i] = at.ptr[i];
      if (!(t->turned >> i & 1)) continue;
      const int64_t size = (int64_t)luc__dtype_size((luc_dtype)t->in[i - 1].t->dtype);
      nest->base[i] = block;
      nest->strides[i][0] = size, nest->strides[i][1] = cols * size;
      for (int k = 1; k < i; k++) /* what comes twice is turned once */
        if (t->in[k - 1].t == t->in[i - 1].t) nest->base[i] = nest->base[k];
      if (nest->base[i] != block) continue;
      job.copy->transpose[luc__log2(size)](block, cols * size, at.ptr[i], all->strides[i][0], rows,
                                           cols, false);
      block += rows * cols * size;
    }
    arrange(&job, t->out, t->in);
    run_range(&job, 0, nest->numel);
  }
}

/* The dimension along which operand i has its neighbours, which dimension 0 is not, or 0. */
static int find_across(const luc_nest *nest, int i, const luc_tensor *t) {
  if (t == NULL || nest->sizes[0] < TURN_MIN) return 0;
  const int64_t size = (int64_t)luc__dtype_size((luc_dtype)t->dtype);
  if (llabs(nest->strides[i][0]) <= size) return 0;
  for (int d = 1; d < nest->ndim; d++)
    if (nest->strides[i][d] == size && nest->sizes[d] >= TURN_MIN) return d;
  return 0;
}

/* Rows as they are, up to WIDE elements of them, and two lines of each turned one at least; slow
 * kernels have as many pieces as else. */
static void choose_block(turned_job *t) {
  const luc_nest *nest = &t->job.nest;
  const int64_t row = nest->sizes[0], lines = 2 * LINE / t->job.size;
  const int64_t parts = luc__cuts(row, WIDE),
                most = t->job.kernel->slow ? 512 : BLOCK / t->job.size;
  t->cols = parts == 1 ? row : luc__whole(luc__cuts(row, parts), LINE);
  t->rows = luc__max64(most / t->cols / lines, 1) * lines;
  t->rows = luc__min64(t->rows, nest->sizes[1]);
}

/* Does as said above where operands are turned, and there is memory for it. */
static bool run_turned(luc_context *ctx, ew_job *job, luc_tensor *out, const luc_ew_input *in) {
  if (out->numel < TURN_FROM || out->ndim < 2) return false;
  turned_job t = {.job = *job, .out = out, .in = in};
  luc_nest *nest = &t.job.nest;
  luc__nest_init(nest, out->ndim, out->sizes);
  luc__nest_add(nest, out);
  for (int i = 0; i < job->kernel->inputs; i++) luc__nest_add(nest, in[i].t);
  luc__nest_simplify(nest);
  int across = 0, count = 0;
  for (int i = 1; i < nest->count; i++) {
    const int d = find_across(nest, i, in[i - 1].t);
    if (across == 0) across = d;
    if (d == 0 || d != across) continue;
    t.turned |= 1u << i;
    count++;
  }
  if (across == 0) return false;
  luc__nest_swap(nest, 1, across);
  choose_block(&t);
  const int64_t block = t.rows * t.cols, from = parallel_from(job->kernel) / 2;
  if (block < BLOCK_MIN) return false;
  const int64_t blocks = nest->numel / (nest->sizes[0] * nest->sizes[1]) *
                         luc__cuts(nest->sizes[0], t.cols) * luc__cuts(nest->sizes[1], t.rows);
  return luc__parallel_scratch(ctx, blocks, luc__max64(from / block, 1),
                               (size_t)(count * block * 8), run_blocks, &t) == LUC_OK;
}

/* An operand of another type whose elements come again and again, converted once, or NULL. */
static luc_tensor *converted(luc_context *ctx, const ew_job *job, const luc_tensor *out,
                             const luc_tensor *t) {
  const luc_dtype dtype = kernel_dtype(job);
  luc_tensor *made;
  if (t == NULL || t->dtype == dtype || out->numel < TURN_FROM) return NULL;
  if (job->alike != LUC_NUM_DTYPES && !widening(job->copy, (luc_dtype)t->dtype, dtype)) return NULL;
  const luc_tensor once = luc__without_repeats(t);
  if (2 * once.numel > out->numel) return NULL;
  if (luc__tensor_empty(ctx, dtype, once.ndim, once.sizes, &made) != LUC_OK) return NULL;
  if (luc__copy(ctx, made, &once) == LUC_OK) return made;
  luc_tensor_release(ctx, made);
  return NULL;
}

void luc__elementwise_run(luc_context *ctx, const luc_ew_kernel *kernel, luc_dtype dtype,
                          luc_tensor *out, const luc_ew_input *in, const luc_ew_params *params) {
  if (params == NULL) params = &no_params;
  const luc_copy_kernels *copy = luc__kernels(ctx)->copy;
  luc_ew_fn alike = kernel_alike(copy, kernel, dtype, out, in);
  if (out->numel == 0) return;
  const unsigned how = truth_as(kernel, alike != NULL, dtype, (luc_dtype)out->dtype);
  if (alike != NULL && run_simple(kernel, alike, dtype, out, in, params, how)) return;
  ew_job job = {.kernel = kernel, .params = params, .how = how, .copy = copy};
  job.threads = luc_get_num_threads(ctx);
  job.compute = luc__compute(dtype);
  job.alike = alike != NULL ? dtype : LUC_NUM_DTYPES;
  job.fn = alike != NULL ? alike : kernel->fn[job.compute];
  job.size = alike != NULL                    ? (int64_t)luc__dtype_size(dtype)
             : job.compute == LUC_COMPUTE_F32 ? 4
                                              : 8;
  const int type = luc__elementwise_type(dtype);
  if (alike != NULL && type < LUC_EW_I16) job.apart = kernel->apart[type];
  const bool spreads = luc__kernels(ctx)->isa >= LUC_ISA_AVX512 && job.size == 4;
  job.near = !spreads ? job.size : dtype == LUC_FLOAT32 ? 8 : 12;
  LUC_ASSERT(job.fn != NULL);
  luc_ew_input own[LUC_EW_MAX_INPUTS];
  luc_tensor *made[LUC_EW_MAX_INPUTS];
  for (int i = 0; i < kernel->inputs; i++) {
    made[i] = converted(ctx, &job, out, in[i].t);
    own[i] = made[i] != NULL ? (luc_ew_input){.t = made[i]} : in[i];
  }
  if (!run_turned(ctx, &job, out, own)) run_nest(ctx, &job, out, own);
  for (int i = 0; i < kernel->inputs; i++) luc_tensor_release(ctx, made[i]);
}

void luc__elementwise(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_tensor *out,
                      const luc_ew_input *in) {
  luc__elementwise_run(ctx, &luc__kernels(ctx)->elementwise[op], dtype, out, in, NULL);
}
