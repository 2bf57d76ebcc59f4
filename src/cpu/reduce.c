/* The driver of reductions. Kept and reduced dimensions form two nests; outputs are taken in blocks
 * of neighbours along the innermost kept dimension. A block is folded along the reduced dimensions
 * either output by output (reduced memory is contiguous: "runs"), run by run of all outputs where
 * these lie nearer than the next run, or row by row (kept memory is contiguous); short runs go side
 * by side or are turned into rows.
 * When there are too few outputs to share out, the reduced elements are cut into parts of a fixed
 * size whose states are merged in order. */
#include "cpu/reduce.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/complex.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

enum {
  CHUNK = 1024,
  LONG = 32 << 10, /* a run that is folded as it lies */
  VECTOR = 8,      /* states in one */
  BLOCK = 1024,    /* neighbouring outputs folded together: rows are read in long stretches */
  SHARE = 1 << 14, /* elements that outputs are shared out by */
  GRAIN = 1 << 15, /* elements of a part */
  PARTS_FROM = 3 << 15,
  SHARES = 8,
  ROWS = 64,         /* at least so many rows to a part, as parts have states to merge */
  HALVES = 8,        /* at least so many rows of halves, whose sums round off more than floats do */
  MANY = 1 << 12,    /* rows of three columns that are added side by side */
  TURNED = 16 << 10, /* short runs are turned, so many bytes at a time, */
  FEW = 16,          /* where at least so many lie side by side; */
  TINY = 16,         /* others than these may go by themselves, */
  MEDIUM = 512       /* up to so many bytes by a kernel for short ones */
};

typedef enum rd_way { BY_RUNS, TOGETHER, BY_ROWS, BY_TURNS } rd_way;

typedef struct rd_job {
  luc_nest kept;    /* operands: input, a, b (absent ones have no memory) */
  luc_nest reduced; /* operand: input */
  const luc_reduction_job *what;
  const luc_rd_kernel *kernel;
  const luc_kernels *kernels;
  const luc_copy_kernels *copy;
  luc_compute compute;
  luc_load_fn load;
  rd_way way;
  int64_t times;     /* how often what is folded was there: along strides of 0 */
  bool native;       /* memory is of the kernel's type, */
  bool direct;       /* and folded as it lies */
  bool side_by_side; /* short runs, by a kernel for them */
  int64_t group;     /* outputs lie without gaps, and inputs as so many columns, or 0, */
  int64_t room;      /* whose states take whole vectors */
  int64_t size;      /* of an element, in bytes */
  int64_t longest;   /* run folded at once */
  int64_t block;     /* outputs folded together */
  /* parts of the reduced elements: states [parts][outputs] */
  int64_t part;
  char *part_a, *part_b;
} rd_job;

typedef struct states {
  _Alignas(64) int64_t a[BLOCK], b[BLOCK];
} states;

/* ---- folding ---- */

/* Elements [begin, end) of the nest that lie in one stretch of its innermost dimension. */
static int64_t stretch(const luc_nest *nest, const luc_cursor *c, int64_t begin, int64_t end) {
  int64_t rest = nest->sizes[0] - c->at[0];
  return rest < end - begin ? rest : end - begin;
}

/* How many rows of n elements go through a chunk together: if they are short many, as each takes a
 * call otherwise. */
static int64_t rows_of_chunk(int64_t n, int64_t rows) {
  enum { MOST = 64 };
  return n >= MOST ? 1 : luc__min64(rows, CHUNK / n);
}

/* Gathers `rows` rows, as the kernel takes them, into a chunk. */
static void load_rows(const rd_job *job, char *chunk, const char *in, int64_t n, int64_t stride,
                      int64_t rows, int64_t row_stride) {
  _Alignas(64) char raw[CHUNK * 8];
  const int64_t size = job->size;
  const int log = luc__log2(size);
  char *to = job->native ? chunk : raw;
  if (rows == 1 && job->native)
    job->copy->move[log](chunk, size, in, stride, n);
  else if (rows == 1)
    job->load(chunk, in, stride, n);
  else
    job->copy->runs[log](to, n * size, size, in, row_stride, stride, n, rows);
  if (rows > 1 && !job->native) job->load(chunk, raw, size, n * rows);
}

/* Reduced elements [begin, end) of one output into one state. */
static void fold_runs(const rd_job *job, const char *at, int64_t begin, int64_t end, void *a,
                      void *b) {
  const luc_nest *nest = &job->reduced;
  _Alignas(64) char chunk[CHUNK * 8];
  const bool short_rows = !job->direct && nest->ndim > 1;
  const int64_t stride = nest->strides[0][0], row_stride = short_rows ? nest->strides[0][1] : 0;
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  int64_t away = at - job->kept.base[0], first = 0;
  while (begin < end) {
    int64_t n = stretch(nest, &c, begin, end), rows = 1;
    n = n < job->longest ? n : job->longest;
    if (short_rows && n == nest->sizes[0])
      rows = rows_of_chunk(n, luc__min64(nest->sizes[1] - c.at[1], (end - begin) / n));
    const char *in = c.ptr[0] + away;
    begin += n * rows;
    if (begin < end) {
      if (rows > 1) c.at[1] += rows - 1;
      c.ptr[0] += (rows - 1) * row_stride;
      luc__nest_advance(nest, &c, n);
      __builtin_prefetch(c.ptr[0] + away);
    }
    if (!job->direct) load_rows(job, chunk, in, n, stride, rows, row_stride);
    job->kernel->run(a, b, job->direct ? in : chunk, n * rows, first);
    first += n * rows;
  }
}

/* Reduced elements [begin, end) of n neighbouring outputs, a row of them at a time. */
static void fold_rows(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                      states *s) {
  _Alignas(64) char chunk[CHUNK * 8];
  const luc_nest *nest = &job->reduced;
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  int64_t away = at - job->kept.base[0], first = 0;
  while (begin < end) {
    int64_t rows = stretch(nest, &c, begin, end), step = n;
    const char *in = c.ptr[0] + away;
    if (job->direct) {
      step = nest->strides[0][0] / job->size;
    } else {
      rows = rows_of_chunk(n, rows);
      load_rows(job, chunk, in, n, job->kept.strides[0][0], rows, nest->strides[0][0]);
    }
    job->kernel->rows(s->a, s->b, job->direct ? in : chunk, n, step, rows, first);
    first += rows;
    begin += rows;
    if (begin < end) luc__nest_advance(nest, &c, rows);
  }
}

/* The same of outputs whose short runs lie side by side. */
static void fold_turns(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                       states *s) {
  _Alignas(64) char turned[TURNED], chunk[BLOCK * 8];
  const luc_nest *nest = &job->reduced;
  const luc_transpose_fn turn =
      job->copy->transpose[__builtin_ctzll((unsigned long long)job->size)];
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  int64_t away = at - job->kept.base[0], first = 0, row = n * job->size;
  while (begin < end) {
    int64_t rows = stretch(nest, &c, begin, end);
    turn(turned, row, c.ptr[0] + away, job->kept.strides[0][0], rows, n, false);
    if (job->direct) job->kernel->rows(s->a, s->b, turned, n, n, rows, first);
    for (int64_t r = 0; !job->direct && r < rows; r++) {
      job->load(chunk, turned + r * row, job->size, n);
      job->kernel->rows(s->a, s->b, chunk, n, n, 1, first + r);
    }
    first += rows;
    begin += rows;
    if (begin < end) luc__nest_advance(nest, &c, rows);
  }
}

/* Runs of n outputs by the kernel for short ones, converted at once if they lie without gaps. */
static void fold_short(const rd_job *job, const char *in, int64_t n, int64_t run, states *s) {
  _Alignas(64) char chunk[TURNED];
  const int64_t step = job->kept.strides[0][0], size = job->compute == LUC_COMPUTE_F32 ? 4 : 8;
  if (job->direct) {
    job->kernel->short_runs(s->a, in, n, step / job->size, run);
    return;
  }
  if (step == run * job->size)
    job->load(chunk, in, job->size, n * run);
  else
    for (int64_t j = 0; j < n; j++)
      job->load(chunk + j * run * size, in + j * step, job->size, run);
  job->kernel->short_runs(s->a, chunk, n, run, run);
}

/* The same as memory lies: a run of each output, then the next of each. */
static void fold_together(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                          states *s) {
  const luc_nest *nest = &job->reduced;
  const int64_t step = job->kept.strides[0][0];
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  int64_t away = at - job->kept.base[0], first = 0;
  while (begin < end) {
    int64_t run = stretch(nest, &c, begin, end);
    const char *in = c.ptr[0] + away;
    if (job->side_by_side)
      fold_short(job, in, n, run, s);
    else
      for (int64_t j = 0; j < n; j++)
        job->kernel->run(&s->a[j], &s->b[j], in + j * step, run, first);
    first += run;
    begin += run;
    if (begin < end) luc__nest_advance(nest, &c, run);
  }
}

/* Groups of neighbours, each in states of its own, which then close up. */
static void fold_groups(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                        states *s) {
  const int64_t group = job->group, room = job->room, groups = n / group;
  const int64_t apart = job->reduced.strides[0][0], row = apart / job->size;
  const int64_t between = job->kept.strides[0][1];
  const char *from = at + begin * apart;
  for (int64_t j = 0; j < groups; j++, from += between)
    job->kernel->rows(s->a + j * room, s->b + j * room, from, group, row, end - begin, 0);
  for (int64_t j = 1; j < groups && room != group; j++)
    for (int64_t i = 0; i < group; i++) {
      s->a[j * group + i] = s->a[j * room + i];
      s->b[j * group + i] = s->b[j * room + i];
    }
}

static void fold_block(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                       states *s) {
  const int64_t step = job->kept.strides[0][0];
  if (step == 0 && n > 1) { /* all are the same */
    fold_block(job, at, 1, begin, end, s);
    for (int64_t j = 1; j < n; j++) s->a[j] = s->a[0], s->b[j] = s->b[0];
    return;
  }
  job->kernel->init(s->a, s->b, job->group ? n / job->group * job->room : n);
  if (begin == end) return;
  if (job->group) {
    fold_groups(job, at, n, begin, end, s);
  } else if (job->way == BY_ROWS) {
    fold_rows(job, at, n, begin, end, s);
  } else if (job->way == BY_TURNS) {
    fold_turns(job, at, n, begin, end, s);
  } else if (job->way == TOGETHER) {
    fold_together(job, at, n, begin, end, s);
  } else {
    for (int64_t j = 0; j < n; j++) fold_runs(job, at + j * step, begin, end, &s->a[j], &s->b[j]);
  }
}

/* ---- finishing ---- */

/* Multiplies instead of dividing where the result, as it is stored, is the same. */
static void finish(const rd_job *job, luc_dtype dtype, int64_t *state, int64_t n) {
  const luc_ew_kernel *kernels = job->kernels->elementwise;
  const double divide = job->what->divide, times = (double)job->times;
  const double by = divide / times, inverse = times / divide;
  const bool same = dtype != LUC_FLOAT64 || divide == 1 || frexp(by, &(int){0}) == 0.5;
  const void *in[] = {state, same ? &inverse : &by};
  const unsigned second = 2;
  static const luc_ew_params none;
  if (by != 1)
    kernels[same ? LUC_EW_mul : LUC_EW_div].fn[LUC_COMPUTE_F64](state, in, n, &none, second);
  if (job->what->root) kernels[LUC_EW_sqrt].fn[LUC_COMPUTE_F64](state, in, n, &none, 0);
}

static void write_block(const rd_job *job, const luc_cursor *c, int64_t n, states *s) {
  const luc_reduction_job *what = job->what;
  bool positions = what->op == LUC_RD_argmax || what->op == LUC_RD_argmin;
  bool var = what->op == LUC_RD_var;
  luc_compute type = job->compute == LUC_COMPUTE_I64 ? LUC_COMPUTE_I64 : LUC_COMPUTE_F64;
  if (var && job->reduced.numel == 0) /* the mean of nothing */
    for (int64_t i = 0; i < n; i++) memcpy(&s->a[i], &(double){NAN}, sizeof s->a[i]);
  if (type == LUC_COMPUTE_F64 && (var ? what->b : what->a))
    finish(job, (luc_dtype)(var ? what->b : what->a)->dtype, var ? s->b : s->a, n);
  for (int64_t i = 0; type == LUC_COMPUTE_I64 && job->times != 1 && i < n; i++)
    s->a[i] = (int64_t)((uint64_t)s->a[i] * (uint64_t)job->times);
  if (what->a) job->copy->store[type][what->a->dtype](c->ptr[1], job->kept.strides[1][0], s->a, n);
  for (int64_t i = 0; positions && what->first && i < n; i++) s->b[i] += what->first;
  if (positions) type = LUC_COMPUTE_I64;
  if (what->b) job->copy->store[type][what->b->dtype](c->ptr[2], job->kept.strides[2][0], s->b, n);
}

/* ---- outputs shared out ---- */

static void run_outputs(void *arg, int64_t begin, int64_t end) {
  const rd_job *job = arg;
  states s;
  luc_cursor c;
  luc__nest_seek(&job->kept, begin, &c);
  while (begin < end) {
    int64_t n = job->group ? end - begin : stretch(&job->kept, &c, begin, end);
    n = n < job->block ? n : job->block;
    fold_block(job, c.ptr[0], n, 0, job->reduced.numel, &s);
    write_block(job, &c, n, &s);
    begin += n;
    if (begin < end && job->group)
      luc__nest_seek(&job->kept, begin, &c);
    else if (begin < end)
      luc__nest_advance(&job->kept, &c, n);
  }
}

/* ---- extremes and products of a few rows, which make no states ---- */

/* Of two elements of this dtype what is asked for, and how many rows it may join: products of
 * floats no more than their kernel multiplies as they are. */
static luc_ew_fn join_of_two(const rd_job *job, luc_dtype dtype, int64_t *most) {
  enum { FEW_ROWS = 16, FOUR = 4 };
  const luc_rd op = job->what->op;
  const int type = luc__elementwise_type(dtype);
  const bool prod = op == LUC_RD_prod && dtype == LUC_FLOAT32;
  *most = prod ? FOUR : FEW_ROWS;
  if (type < 0 || !(prod || op == LUC_RD_max || op == LUC_RD_min)) return NULL;
  const luc_ew which = prod ? LUC_EW_mul : op == LUC_RD_max ? LUC_EW_maximum : LUC_EW_minimum;
  return job->kernels->elementwise[which].fn[type];
}

/* Are these such, in the inputs' dtype, that lie as each of a few long rows does? */
static bool has_few_rows(const rd_job *job, luc_dtype dtype) {
  enum { LONGER = 16 };
  const luc_nest *kept = &job->kept, *reduced = &job->reduced;
  int64_t most;
  return job->what->a && job->what->a->dtype == dtype && job->way == BY_ROWS &&
         join_of_two(job, dtype, &most) != NULL && reduced->ndim == 1 && reduced->numel > 1 &&
         reduced->numel <= most && kept->sizes[0] >= reduced->numel * LONGER &&
         kept->strides[0][0] == job->size && kept->strides[1][0] == job->size;
}

static void run_few_rows(void *arg, int64_t begin, int64_t end) {
  enum { LINE = 4096 };
  static const luc_ew_params none;
  const rd_job *job = arg;
  int64_t most;
  const luc_ew_fn fold = join_of_two(job, (luc_dtype)job->what->a->dtype, &most);
  const int64_t step = job->reduced.strides[0][0];
  luc_cursor c;
  luc__nest_seek(&job->kept, begin, &c);
  for (int64_t n; begin < end; begin += n) {
    n = luc__min64(stretch(&job->kept, &c, begin, end), LINE);
    fold(c.ptr[1], (const void *[]){c.ptr[0], c.ptr[0] + step}, n, &none, 0);
    for (int64_t r = 2; r < job->reduced.numel; r++)
      fold(c.ptr[1], (const void *[]){c.ptr[1], c.ptr[0] + r * step}, n, &none, 0);
    if (begin + n < end) luc__nest_advance(&job->kept, &c, n);
  }
}

/* ---- reduced elements shared out ---- */

static void run_parts(void *arg, int64_t begin, int64_t end) {
  const rd_job *job = arg;
  states s;
  int64_t outputs = job->kept.numel;
  const bool one_run =
      outputs == 1 && job->direct && job->reduced.ndim == 1 && job->part <= job->longest;
  for (int64_t p = begin; p < end; p++) {
    int64_t from = p * job->part, to = from + job->part;
    if (to > job->reduced.numel) to = job->reduced.numel;
    if (one_run) { /* straight into its place: the way there takes as long as 1000 elements */
      char *a = job->part_a + p * 8, *b = job->part_b + p * 8;
      job->kernel->init(a, b, 1);
      job->kernel->run(a, b, job->reduced.base[0] + from * job->size, to - from, 0);
      continue;
    }
    luc_cursor c;
    luc__nest_seek(&job->kept, 0, &c);
    for (int64_t done = 0; done < outputs;) {
      int64_t run = job->kept.sizes[0] - c.at[0], n = run < job->block ? run : job->block;
      fold_block(job, c.ptr[0], n, from, to, &s);
      memcpy(job->part_a + (p * outputs + done) * 8, s.a, (size_t)n * 8);
      memcpy(job->part_b + (p * outputs + done) * 8, s.b, (size_t)n * 8);
      done += n;
      if (done < outputs) luc__nest_advance(&job->kept, &c, n);
    }
  }
}

static void merge_parts(const rd_job *job, int64_t parts) {
  int64_t outputs = job->kept.numel, first = job->part, total = job->reduced.numel;
  for (int64_t p = 1; p < parts; p++) {
    int64_t more = total - first < job->part ? total - first : job->part;
    job->kernel->merge(job->part_a, job->part_b, job->part_a + p * outputs * 8,
                       job->part_b + p * outputs * 8, outputs, first, more);
    first += more;
  }
  states s;
  luc_cursor c;
  luc__nest_seek(&job->kept, 0, &c);
  for (int64_t done = 0; done < outputs;) {
    int64_t run = job->kept.sizes[0] - c.at[0], n = run < BLOCK ? run : BLOCK;
    memcpy(s.a, job->part_a + done * 8, (size_t)n * 8);
    memcpy(s.b, job->part_b + done * 8, (size_t)n * 8);
    write_block(job, &c, n, &s);
    done += n;
    if (done < outputs) luc__nest_advance(&job->kept, &c, n);
  }
}

static luc_status reduce_parts(luc_context *ctx, rd_job *job) {
  int64_t outputs = job->kept.numel, total = job->reduced.numel;
  job->part = (GRAIN + outputs - 1) / outputs;
  if (job->way == BY_ROWS && job->part < ROWS) job->part = ROWS;
  int64_t parts = (total + job->part - 1) / job->part;
  size_t bytes = luc__mul_size((size_t)(parts * outputs), 16);
  job->part_a = luc__alloc(ctx, bytes);
  if (!job->part_a) return LUC_ERR_MEMORY;
  job->part_b = job->part_a + bytes / 2;
  luc__parallel_for(ctx, parts, 1, run_parts, job);
  merge_parts(job, parts);
  luc__free(ctx, job->part_a, bytes);
  return LUC_OK;
}

/* ---- setting up ---- */

static void add_dim(luc_nest *nest, int operand, int d, const luc_tensor *t, int own) {
  int64_t size = t ? (int64_t)luc__dtype_size((luc_dtype)t->dtype) : 0;
  nest->strides[operand][d] = t ? t->strides[own] * size : 0;
}

/* What elements make once they make as often as they are there, or so many times. */
static bool folds_once(luc_rd op, bool *adds) {
  *adds = op == LUC_RD_sum || op == LUC_RD_nansum || op == LUC_RD_sumsq || op == LUC_RD_sumabs ||
          op == LUC_RD_count;
  return *adds || op == LUC_RD_max || op == LUC_RD_min || op == LUC_RD_minmax || op == LUC_RD_all ||
         op == LUC_RD_any;
}

/* Splits the dimensions, innermost first, between the two nests. Along strides of 0 there is one
 * element. */
static void split(rd_job *job) {
  const luc_reduction_job *what = job->what;
  const luc_tensor *in = what->in, *outs[] = {what->a, what->b};
  luc_nest *kept = &job->kept, *reduced = &job->reduced;
  *kept = (luc_nest){.count = 3, .numel = 1};
  *reduced = (luc_nest){.count = 1, .numel = 1};
  kept->base[0] = reduced->base[0] = in->data;
  for (int i = 0; i < 2; i++) kept->base[i + 1] = outs[i] ? outs[i]->data : NULL;
  bool adds, once = folds_once(what->op, &adds);
  job->times = 1;
  for (int d = in->ndim - 1; d >= 0; d--) {
    bool gone = what->dims >> d & 1;
    if (gone && once && in->strides[d] == 0 && in->sizes[d] > 1) {
      if (adds) job->times *= in->sizes[d];
      continue;
    }
    luc_nest *nest = gone ? reduced : kept;
    int at = nest->ndim++;
    nest->sizes[at] = in->sizes[d];
    nest->numel *= in->sizes[d];
    add_dim(nest, 0, at, in, d);
    for (int i = 0; !gone && i < 2; i++) {
      bool keepdim = outs[i] && outs[i]->ndim == in->ndim;
      add_dim(nest, i + 1, at, outs[i], keepdim || !outs[i] ? d : outs[i]->ndim - 1 - at);
    }
  }
  luc__nest_simplify(kept);
  luc__nest_simplify(reduced);
}

/* Groups of a few outputs, each of a few elements, are many: they are taken at their distance. */
static void take_apart(rd_job *job) {
  enum { OUTPUTS = 8, ELEMENTS = 32 };
  luc_nest *kept = &job->kept;
  if (kept->ndim > 1 && kept->sizes[0] <= OUTPUTS && kept->sizes[1] >= FEW &&
      job->reduced.numel <= ELEMENTS)
    luc__nest_swap(kept, 0, 1);
}

/* Rows of so many outputs, in block after block, each in states of its own; few columns whose
 * kernels fill no vector are taken apart instead. Of two columns, which complex numbers are,
 * sums. */
static int64_t group_of(const rd_job *job, int64_t size) {
  enum { ELEMENTS = 4, LEAST = 24, WIDE = 4096 };
  const luc_nest *kept = &job->kept, *reduced = &job->reduced;
  const int64_t n = kept->sizes[0];
  const luc_rd op = job->what->op;
  const bool two = op == LUC_RD_argmax || op == LUC_RD_argmin || op == LUC_RD_var;
  if (!job->native || kept->ndim != 2 || kept->strides[0][0] != size || reduced->ndim != 1)
    return 0;
  for (int i = 1; i <= 2; i++)
    if (kept->base[i] && kept->strides[i][1] != n * kept->strides[i][0]) return 0;
  const int64_t all = reduced->numel * n;
  if (n > (two ? VECTOR : 2) && n <= BLOCK && all >= LEAST && all <= WIDE) return n;
  const bool sum = op == LUC_RD_sum && job->compute != LUC_COMPUTE_I64;
  return sum && n == 2 && reduced->strides[0][0] == 2 * size && reduced->numel > ELEMENTS ? n : 0;
}

static void choose_way(rd_job *job, luc_dtype dtype) {
  const int64_t size = (int64_t)luc__dtype_size(dtype), run = job->reduced.sizes[0];
  const int64_t kept_step = llabs(job->kept.strides[0][0]), side = job->kept.sizes[0];
  const int64_t apart = llabs(job->reduced.strides[0][0]), step = apart ? apart : INT64_MAX;
  const bool even = job->reduced.strides[0][0] == size;
  const bool few = side >= FEW && run > 1 && run < LUC_RD_SHORT;
  job->size = size;
  job->block = BLOCK;
  job->side_by_side = false;
  /* Two or three columns that their kernel adds up as one run or as many. */
  const bool narrow = side >= 2 && job->what->op == LUC_RD_sum && job->native &&
                      kept_step == size && apart == side * size && (side == 2 || run >= MANY);
  if (((side >= 4 || narrow) && kept_step < step && kept_step != 0) || (few && !even)) {
    job->way = BY_ROWS;
    job->direct = job->native && job->kept.strides[0][0] == size;
  } else if (few) {
    int64_t fit = TURNED / (run * (job->native ? size : 8)) / FEW * FEW;
    job->direct = job->native;
    job->side_by_side =
        job->kernel->short_runs && run >= TINY && (job->native || kept_step == run * size);
    job->way = job->side_by_side ? TOGETHER : BY_TURNS;
    if (!(job->side_by_side && job->native) && fit < BLOCK) job->block = fit;
  } else {
    job->way = BY_RUNS;
    job->direct = job->native && even && (run >= LUC_RD_SHORT || job->reduced.ndim == 1);
    job->side_by_side =
        job->direct && job->kernel->short_runs && side >= FEW && run > 1 && run * size <= MEDIUM;
  }
  job->longest = job->direct && job->what->op != LUC_RD_var ? LONG : CHUNK;
  const bool near =
      job->reduced.ndim == 1 || (kept_step != 0 && kept_step < llabs(job->reduced.strides[0][1]));
  if (job->way == BY_RUNS && job->direct && near && run <= job->longest) job->way = TOGETHER;
}

/* The kernel for memory of this dtype as it lies, where there is one, or for its compute type. */
static void choose_kernel(rd_job *job, luc_dtype dtype) {
  const luc_rd_kernel *kernels = job->kernels->reduce[job->what->op];
  const int small = dtype == LUC_INT32                        ? LUC_RD_I32
                    : dtype == LUC_INT16                      ? LUC_RD_I16
                    : dtype == LUC_INT8                       ? LUC_RD_I8
                    : dtype == LUC_UINT8 || dtype == LUC_BOOL ? LUC_RD_U8
                                                              : -1;
  job->native = luc__is_native(dtype) && luc__compute(dtype) == job->compute;
  job->kernel = &kernels[job->compute];
  if (small < 0 || job->compute != LUC_COMPUTE_I64 || !kernels[small].run) return;
  job->kernel = &kernels[small];
  job->native = true;
}

/* The kernel for halves as they lie, in runs or some rows, or NULL: shorter sums stay exact. */
static const luc_rd_kernel *kernel_of_halves(const rd_job *job, luc_dtype dtype) {
  const int type = dtype == LUC_BFLOAT16 ? LUC_RD_BF16 : LUC_RD_F16;
  const luc_rd_kernel *kernel = &job->kernels->reduce[job->what->op][type];
  bool fits;
  if ((dtype != LUC_BFLOAT16 && dtype != LUC_FLOAT16) || job->compute != LUC_COMPUTE_F32)
    return NULL;
  if (job->way == BY_ROWS)
    fits = kernel->rows != NULL && job->kept.strides[0][0] == job->size &&
           job->kept.sizes[0] >= FEW && job->reduced.numel >= HALVES;
  else
    fits = kernel->run != NULL && job->way == BY_RUNS && job->reduced.strides[0][0] == job->size &&
           job->reduced.sizes[0] >= LUC_RD_SHORT;
  return fits ? kernel : NULL;
}

static void setup(luc_context *ctx, rd_job *job, const luc_reduction_job *what) {
  const luc_kernels *kernels = luc__kernels(ctx);
  luc_dtype dtype = (luc_dtype)what->in->dtype;
  job->what = what;
  job->compute = luc__compute(what->dtype);
  job->kernels = kernels;
  job->copy = kernels->copy;
  job->load = job->copy->load[job->compute][dtype];
  split(job);
  choose_kernel(job, dtype);
  job->group = group_of(job, (int64_t)luc__dtype_size(dtype));
  if (!job->group) take_apart(job);
  choose_way(job, dtype);
  job->room = job->group == 2 ? 2 : luc__whole(job->group, VECTOR);
  if (job->group) job->block = BLOCK / job->room * job->group;
  const luc_rd_kernel *halves = kernel_of_halves(job, dtype);
  if (halves != NULL) job->kernel = halves, job->direct = true, job->longest = LONG;
}

luc_status luc__reduce(luc_context *ctx, const luc_reduction_job *what) {
  rd_job job;
  setup(ctx, &job, what);
  int64_t outputs = job.kept.numel, each = job.reduced.numel, total = outputs * each;
  if (outputs == 0) return LUC_OK;
  if (total < 2 * SHARE) {
    run_outputs(&job, 0, outputs);
    return LUC_OK;
  }
  if (has_few_rows(&job, (luc_dtype)what->in->dtype)) {
    luc__parallel_for(ctx, outputs, SHARE / each, run_few_rows, &job);
    return LUC_OK;
  }
  int64_t grain = luc__max64(SHARE / each, 1), least = luc__max64(GRAIN / each, 1);
  const int64_t stretch = job.kept.sizes[0];
  if (job.way == BY_ROWS && grain < stretch) grain = stretch < BLOCK ? stretch : BLOCK;
  if (job.way == BY_ROWS && least < grain) least = grain;
  if (job.group) grain = luc__whole(grain, job.group);
  if (total >= PARTS_FROM && outputs < luc__min64(SHARES, total / GRAIN) * least &&
      each >= 2 * ROWS)
    return reduce_parts(ctx, &job);
  if (job.way == TOGETHER && job.reduced.ndim > 1) /* which changes no result */
    grain = luc__max64(grain, luc__cuts(outputs, luc_get_num_threads(ctx)));
  luc__parallel_for(ctx, outputs, grain, run_outputs, &job);
  return LUC_OK;
}

typedef struct zero_search {
  rd_job job;
  atomic_bool found;
} zero_search;

static void find_zero(void *arg, int64_t begin, int64_t end) {
  zero_search *search = arg;
  states s;
  if (atomic_load_explicit(&search->found, memory_order_relaxed)) return;
  fold_block(&search->job, search->job.kept.base[0], 1, begin, end, &s);
  const int64_t zero_bits = 0; /* of an integer and of a double alike */
  if (s.a[0] == zero_bits) atomic_store_explicit(&search->found, true, memory_order_relaxed);
}

bool luc__any_zero(luc_context *ctx, const luc_tensor *t) {
  if (luc__dtype_is_complex((luc_dtype)t->dtype)) return luc__complex_any_zero(t);
  luc_reduction_job what = {.op = LUC_RD_all,
                            .dtype = (luc_dtype)t->dtype,
                            .in = t,
                            .dims = (1u << t->ndim) - 1,
                            .divide = 1};
  zero_search search;
  if (t->numel == 0) return false;
  atomic_init(&search.found, false);
  setup(ctx, &search.job, &what);
  luc__parallel_for(ctx, search.job.reduced.numel, GRAIN, find_zero, &search);
  return atomic_load(&search.found);
}
