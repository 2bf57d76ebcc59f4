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
#include <string.h>

#include "cpu/complex.h"
#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/nest.h"

enum {
  CHUNK = 1024,      /* elements gathered at a time */
  LONG = 32 << 10,   /* elements of a run that is folded as it lies */
  VECTOR = 8,        /* states in one */
  BLOCK = 1024,      /* neighbouring outputs folded together: rows are read in long stretches */
  MANY = 16,         /* neighbouring outputs whose short runs are worth folding together */
  TURNED = 16 << 10, /* bytes of theirs at a time */
  SHARE = 1 << 14,   /* elements that outputs are shared out by */
  GRAIN = 1 << 15,   /* elements of a part, */
  ROWS = 64          /* and rows at least, as parts have states to merge */
};

/* How a block of outputs is folded: one after the other; a run of each, then the next of each; the
 * same of short runs, by the kernel for these; row by row; by short runs turned into rows. */
typedef enum rd_way { BY_RUNS, TOGETHER, BY_SHORT_RUNS, BY_ROWS, BY_TURNS } rd_way;

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
  int64_t times;   /* how often what is folded was there: along strides of 0 */
  bool native;     /* memory is of the kernel's type, */
  bool direct;     /* and folded as it lies */
  int64_t group;   /* outputs lie without gaps, and inputs as so many columns, or 0, */
  int64_t room;    /* whose states take whole vectors */
  int64_t columns; /* outputs at one distance from each other in memory: */
  int64_t turned;  /* lines of so few of them, whose results go line by line; or 1 */
  int64_t size;    /* of an element, in bytes */
  int64_t longest; /* run folded at once */
  int64_t block;   /* outputs folded together */
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

/* ---- folding n neighbouring outputs: `rows` reduced elements, a stretch of them, of each. They
 * lie from `in` on; `first` came before. Each says how many it took. ---- */

static int64_t fold_rows(const rd_job *job, const char *in, int64_t n, int64_t rows, int64_t first,
                         states *s) {
  _Alignas(64) char chunk[CHUNK * 8];
  const int64_t apart = job->reduced.strides[0][0];
  if (job->direct) {
    job->kernel->rows(s->a, s->b, in, n, apart / job->size, rows, first);
    return rows;
  }
  rows = rows_of_chunk(n, rows);
  load_rows(job, chunk, in, n, job->kept.strides[0][0], rows, apart);
  job->kernel->rows(s->a, s->b, chunk, n, n, rows, first);
  return rows;
}

/* Short runs become rows. */
static int64_t fold_turns(const rd_job *job, const char *in, int64_t n, int64_t rows, int64_t first,
                          states *s) {
  _Alignas(64) char turned[TURNED], chunk[BLOCK * 8];
  const int64_t row = n * job->size;
  job->copy->transpose[luc__log2(job->size)](turned, row, in, job->kept.strides[0][0], rows, n,
                                             false);
  if (job->direct) job->kernel->rows(s->a, s->b, turned, n, n, rows, first);
  for (int64_t r = 0; !job->direct && r < rows; r++) {
    job->load(chunk, turned + r * row, job->size, n);
    job->kernel->rows(s->a, s->b, chunk, n, n, 1, first + r);
  }
  return rows;
}

/* Short runs by the kernel for them; those that are converted lie without gaps. */
static int64_t fold_short_runs(const rd_job *job, const char *in, int64_t n, int64_t run,
                               int64_t first, states *s) {
  _Alignas(64) char chunk[TURNED];
  (void)first;
  if (!job->direct) job->load(chunk, in, job->size, n * run);
  const int64_t step = job->direct ? job->kept.strides[0][0] / job->size : run;
  job->kernel->short_runs(s->a, job->direct ? in : chunk, n, step, run);
  return run;
}

static int64_t fold_together(const rd_job *job, const char *in, int64_t n, int64_t run,
                             int64_t first, states *s) {
  const int64_t step = job->kept.strides[0][0];
  for (int64_t j = 0; j < n; j++) job->kernel->run(&s->a[j], &s->b[j], in + j * step, run, first);
  return run;
}

/* Reduced elements [begin, end) of n neighbouring outputs. */
static void fold_stretches(const rd_job *job, const char *at, int64_t n, int64_t begin, int64_t end,
                           states *s) {
  static int64_t (*const folds[])(const rd_job *job, const char *in, int64_t n, int64_t rows,
                                  int64_t first, states *s) = {[TOGETHER] = fold_together,
                                                               [BY_SHORT_RUNS] = fold_short_runs,
                                                               [BY_ROWS] = fold_rows,
                                                               [BY_TURNS] = fold_turns};
  const luc_nest *nest = &job->reduced;
  luc_cursor c;
  luc__nest_seek(nest, begin, &c);
  const int64_t away = at - job->kept.base[0];
  for (int64_t first = 0, taken; begin < end; first += taken) {
    taken = folds[job->way](job, c.ptr[0] + away, n, stretch(nest, &c, begin, end), first, s);
    begin += taken;
    if (begin < end) luc__nest_advance(nest, &c, taken);
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
  if (job->group)
    fold_groups(job, at, n, begin, end, s);
  else if (job->way == BY_RUNS)
    for (int64_t j = 0; j < n; j++) fold_runs(job, at + j * step, begin, end, &s->a[j], &s->b[j]);
  else
    fold_stretches(job, at, n, begin, end, s);
}

/* ---- finishing ---- */

static bool has_positions(const rd_job *job) {
  return job->what->op == LUC_RD_argmax || job->what->op == LUC_RD_argmin;
}

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

/* What came of n outputs, of `turned` lines the k-th of each in a line of their own. */
static void store_block(const rd_job *job, const luc_cursor *c, int result, luc_compute type,
                        const int64_t *state, int64_t n) {
  const luc_tensor *to = result == 1 ? job->what->a : job->what->b;
  const int64_t *strides = job->kept.strides[result], turned = job->turned, lines = n / turned;
  int64_t line[BLOCK];
  if (!to) return;
  const luc_store_fn store = job->copy->store[type][to->dtype];
  if (turned == 1) store(c->ptr[result], strides[0], state, n);
  for (int64_t k = 0; turned > 1 && k < turned; k++) {
    for (int64_t i = 0; i < lines; i++) line[i] = state[i * turned + k];
    store(c->ptr[result] + k * strides[0], strides[1], line, lines);
  }
}

static void write_block(const rd_job *job, const luc_cursor *c, int64_t n, states *s) {
  const luc_reduction_job *what = job->what;
  const bool positions = has_positions(job);
  bool var = what->op == LUC_RD_var;
  luc_compute type = job->compute == LUC_COMPUTE_I64 ? LUC_COMPUTE_I64 : LUC_COMPUTE_F64;
  if (var && job->reduced.numel == 0) /* the mean of nothing */
    for (int64_t i = 0; i < n; i++) memcpy(&s->a[i], &(double){NAN}, sizeof s->a[i]);
  if (type == LUC_COMPUTE_F64 && (var ? what->b : what->a))
    finish(job, (luc_dtype)(var ? what->b : what->a)->dtype, var ? s->b : s->a, n);
  for (int64_t i = 0; type == LUC_COMPUTE_I64 && job->times != 1 && i < n; i++)
    s->a[i] = (int64_t)((uint64_t)s->a[i] * (uint64_t)job->times);
  store_block(job, c, 1, type, s->a, n);
  for (int64_t i = 0; positions && what->first && i < n; i++) s->b[i] += what->first;
  if (positions) type = LUC_COMPUTE_I64;
  store_block(job, c, 2, type, s->b, n);
}

/* ---- outputs shared out ---- */

static void run_outputs(void *arg, int64_t begin, int64_t end) {
  const rd_job *job = arg;
  states s;
  luc_cursor c;
  luc__nest_seek(&job->kept, begin, &c);
  while (begin < end) {
    const int64_t rest = job->group ? end : job->columns - begin % job->columns;
    const int64_t n = luc__min64(luc__min64(rest, end - begin), job->block);
    fold_block(job, c.ptr[0], n, 0, job->reduced.numel, &s);
    write_block(job, &c, n, &s);
    begin += n;
    if (begin < end && (job->group || job->turned > 1))
      luc__nest_seek(&job->kept, begin, &c);
    else if (begin < end)
      luc__nest_advance(&job->kept, &c, n);
  }
}

/* ---- a few rows whose joining loses nothing, which make no states ---- */

/* Of two elements of this dtype what is asked for, and how many rows it may join: products of
 * floats no more than their kernel multiplies as they are, other ones and sums no more than the
 * kernels for rows take longer for. */
static luc_ew_fn join_of_two(const rd_job *job, luc_dtype dtype, int64_t *most) {
  enum { FEW_ROWS = 16, EIGHT = 8, FOUR = 4 };
  const luc_ew_kernel *kernels = job->kernels->elementwise;
  const luc_rd op = job->what->op;
  const int type = luc__elementwise_type(dtype);
  const bool byte = dtype == LUC_UINT8 || dtype == LUC_BOOL; /* as truth is */
  *most = op != LUC_RD_prod && op != LUC_RD_sum ? FEW_ROWS : dtype == LUC_FLOAT32 ? FOUR : EIGHT;
  if (type < 0) return NULL;
  switch (op) {
  case LUC_RD_max: return kernels[LUC_EW_maximum].fn[type];
  case LUC_RD_min: return kernels[LUC_EW_minimum].fn[type];
  case LUC_RD_prod: return luc__is_native(dtype) ? kernels[LUC_EW_mul].fn[type] : NULL;
  case LUC_RD_sum: return dtype == LUC_INT64 ? kernels[LUC_EW_add].fn[type] : NULL;
  case LUC_RD_any: return byte ? kernels[LUC_EW_logical_or].fn[type] : NULL;
  case LUC_RD_all: return byte ? kernels[LUC_EW_logical_and].fn[type] : NULL;
  default: return NULL;
  }
}

/* Are these such, in the inputs' dtype, that lie as each of a few long rows does? A single one is
 * joined with itself where that changes nothing. */
static bool has_few_rows(const rd_job *job, luc_dtype dtype) {
  enum { LONGER = 16 };
  const luc_nest *kept = &job->kept, *reduced = &job->reduced;
  const luc_rd op = job->what->op;
  const int64_t least = op == LUC_RD_prod || op == LUC_RD_sum ? 2 : 1;
  int64_t most;
  return job->what->a && job->what->a->dtype == dtype && job->times == 1 && job->way == BY_ROWS &&
         join_of_two(job, dtype, &most) != NULL && reduced->ndim <= 1 && reduced->numel >= least &&
         reduced->numel <= most && kept->sizes[0] >= reduced->numel * LONGER &&
         kept->strides[0][0] == job->size && kept->strides[1][0] == job->size;
}

static void run_few_rows(void *arg, int64_t begin, int64_t end) {
  enum { LINE = 8192 }; /* bytes of the result, which stay in the first-level cache */
  static const luc_ew_params none;
  const rd_job *job = arg;
  int64_t most;
  const luc_ew_fn fold = join_of_two(job, (luc_dtype)job->what->a->dtype, &most);
  const int64_t step = job->reduced.numel > 1 ? job->reduced.strides[0][0] : 0;
  luc_cursor c;
  luc__nest_seek(&job->kept, begin, &c);
  for (int64_t n; begin < end; begin += n) {
    n = luc__min64(stretch(&job->kept, &c, begin, end), LINE / job->size);
    fold(c.ptr[1], (const void *[]){c.ptr[0], c.ptr[0] + step}, n, &none, 0);
    for (int64_t r = 2; r < job->reduced.numel; r++)
      fold(c.ptr[1], (const void *[]){c.ptr[1], c.ptr[0] + r * step}, n, &none, 0);
    if (begin + n < end) luc__nest_advance(&job->kept, &c, n);
  }
}

/* ---- reduced elements shared out ---- */

/* Does each output reduce one run, of which a part is folded at once? */
static bool are_single_runs(const rd_job *job) {
  return (job->way == BY_RUNS || job->way == TOGETHER) && job->direct && job->kept.ndim == 1 &&
         job->reduced.ndim == 1 && job->part <= job->longest;
}

/* These in the order they lie in, straight into their places: the way there takes as long as 1000
 * elements. */
static void run_single_runs(void *arg, int64_t begin, int64_t end) {
  const rd_job *job = arg;
  const int64_t parts = luc__cuts(job->reduced.numel, job->part);
  for (int64_t i = begin; i < end; i++) {
    const int64_t output = i / parts, p = i % parts, from = p * job->part;
    const int64_t at = (p * job->kept.numel + output) * 8;
    const char *in = job->kept.base[0] + output * job->kept.strides[0][0] + from * job->size;
    job->kernel->init(job->part_a + at, job->part_b + at, 1);
    job->kernel->run(job->part_a + at, job->part_b + at, in,
                     luc__min64(job->part, job->reduced.numel - from), 0);
  }
}

static void run_parts(void *arg, int64_t begin, int64_t end) {
  const rd_job *job = arg;
  states s;
  int64_t outputs = job->kept.numel;
  for (int64_t p = begin; p < end; p++) {
    int64_t from = p * job->part, to = from + job->part;
    if (to > job->reduced.numel) to = job->reduced.numel;
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
  const int64_t parts = luc__cuts(total, job->part);
  size_t bytes = luc__mul_size((size_t)(parts * outputs), 16);
  job->part_a = luc__alloc(ctx, bytes);
  if (!job->part_a) return LUC_ERR_MEMORY;
  job->part_b = job->part_a + bytes / 2;
  if (are_single_runs(job))
    luc__parallel_for(ctx, parts * outputs, outputs, run_single_runs, job);
  else
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
  enum { OUTPUTS = 8, ELEMENTS = 32, ALL = 60, LOCATED = 256 };
  luc_nest *kept = &job->kept;
  const int64_t few = kept->sizes[0], each = job->reduced.numel;
  int d = 1;
  while (d < kept->ndim && kept->sizes[d] < MANY) d++;
  if (d < kept->ndim && few <= OUTPUTS && each <= ELEMENTS &&
      few * each <= (has_positions(job) ? LOCATED : ALL))
    luc__nest_swap(kept, 0, d);
  job->columns = kept->sizes[0];
}

/* Rows of so many outputs, in block after block, each in states of its own; few columns whose
 * kernels fill no vector are taken apart instead. Of two columns, which complex numbers are,
 * sums. */
static int64_t group_of(const rd_job *job) {
  enum { ELEMENTS = 4, LEAST = 24, WIDE = 4096 };
  const luc_nest *kept = &job->kept, *reduced = &job->reduced;
  const int64_t n = kept->sizes[0], size = job->size;
  const luc_rd op = job->what->op;
  const bool two = has_positions(job) || op == LUC_RD_var;
  if (!job->native || kept->ndim != 2 || kept->strides[0][0] != size || reduced->ndim != 1)
    return 0;
  for (int i = 1; i <= 2; i++)
    if (kept->base[i] && kept->strides[i][1] != n * kept->strides[i][0]) return 0;
  const int64_t all = reduced->numel * n;
  if (n > (two ? VECTOR : 2) && n <= BLOCK && all >= LEAST && all <= WIDE) return n;
  const bool sum = op == LUC_RD_sum && job->compute != LUC_COMPUTE_I64;
  return sum && n == 2 && reduced->strides[0][0] == 2 * size && reduced->numel > ELEMENTS ? n : 0;
}

/* Are these runs that share lines of the cache, and make the same whichever go together? */
static bool are_shared_runs(const rd_job *job) {
  enum { LINE = 64 };
  const luc_nest *reduced = &job->reduced;
  const luc_rd op = job->what->op;
  return reduced->ndim == 1 && reduced->strides[0][0] == job->size &&
         reduced->sizes[0] * job->size < LINE && op != LUC_RD_prod && op != LUC_RD_var;
}

/* Few outputs that lie beside each other, or whose runs do, and the next ones behind them are
 * columns of a row. */
static void join_columns(rd_job *job) {
  enum { MOST = MANY };
  const luc_nest *kept = &job->kept;
  const int64_t few = kept->sizes[0], step = kept->strides[0][0];
  const bool turned = !job->group && kept->ndim > 1 && few > 1 && few <= MOST &&
                      kept->sizes[1] > 1 && kept->strides[0][1] == few * step &&
                      (step == job->size || are_shared_runs(job));
  job->turned = turned ? few : 1;
  job->columns = turned ? few * kept->sizes[1] : few;
}

/* Two columns, or three long ones, that their kernel adds up as one run or as many. */
static bool are_narrow(const rd_job *job) {
  enum { TALL = 1 << 12 };
  const int64_t columns = job->kept.sizes[0], size = job->size;
  return job->what->op == LUC_RD_sum && job->native && job->kept.strides[0][0] == size &&
         job->reduced.strides[0][0] == columns * size &&
         (columns == 2 || (columns == 3 && job->reduced.sizes[0] >= TALL));
}

/* Do outputs lie nearer to each other than what each of them reduces? */
static bool lie_in_rows(const rd_job *job) {
  enum { COLUMNS = 4 };
  const int64_t step = job->kept.strides[0][0], apart = job->reduced.strides[0][0];
  return step != 0 && (apart == 0 || step < apart) && (job->columns >= COLUMNS || are_narrow(job));
}

/* Are these runs that their kernel takes as they lie? Others than long ones are gathered. */
static bool are_plain_runs(const rd_job *job) {
  return job->native && job->reduced.strides[0][0] == job->size &&
         (job->reduced.sizes[0] >= LUC_RD_SHORT || job->reduced.ndim == 1);
}

/* The longest of them that is folded at once. */
static int64_t longest_run(const rd_job *job) {
  return job->what->op == LUC_RD_var ? CHUNK : LONG;
}

/* Does each output lie nearer to the next than its first run to its second? */
static bool lie_together(const rd_job *job) {
  const int64_t step = job->kept.strides[0][0];
  return job->reduced.ndim == 1 || (step != 0 && step < job->reduced.strides[0][1]);
}

enum { MEDIUM = 512 }; /* bytes that the kernel for short runs is still faster for */

/* Which way short runs of many outputs go. */
static rd_way way_of_short_runs(const rd_job *job) {
  enum { LEAST = 16 }; /* shorter ones are turned */
  const int64_t run = job->reduced.sizes[0];
  if (job->reduced.strides[0][0] != job->size) return BY_ROWS;
  const bool whole = job->native || job->kept.strides[0][0] == run * job->size;
  return job->kernel->short_runs && run >= LEAST && whole ? BY_SHORT_RUNS : BY_TURNS;
}

/* Are runs converted, one behind the other, not much longer than short ones? Halves as they lie
 * would take longer. */
static bool are_widened(const rd_job *job) {
  const int64_t run = job->reduced.sizes[0];
  return !job->native && job->compute == LUC_COMPUTE_F32 && job->kernel->short_runs &&
         run * 4 <= MEDIUM && job->reduced.strides[0][0] == job->size &&
         job->kept.strides[0][0] == run * job->size;
}

static rd_way way_of(const rd_job *job) {
  const int64_t run = job->reduced.sizes[0];
  const bool many = job->columns >= MANY && run > 1;
  if (lie_in_rows(job)) return BY_ROWS;
  if (many && (run < LUC_RD_SHORT || are_widened(job))) return way_of_short_runs(job);
  if (!are_plain_runs(job) || !lie_together(job)) return BY_RUNS;
  if (many && job->kernel->short_runs && run * job->size <= MEDIUM) return BY_SHORT_RUNS;
  return run <= longest_run(job) ? TOGETHER : BY_RUNS;
}

static bool is_direct(const rd_job *job) {
  switch (job->way) {
  case BY_ROWS: return job->native && job->kept.strides[0][0] == job->size;
  case BY_SHORT_RUNS:
  case BY_TURNS: return job->native;
  default: return are_plain_runs(job);
  }
}

/* Outputs folded together: short runs that are turned or converted need room for that. */
static int64_t block_of(const rd_job *job) {
  if (job->group) return BLOCK / job->room * job->group;
  int64_t most = BLOCK;
  if (job->way == BY_TURNS || (job->way == BY_SHORT_RUNS && !job->direct)) {
    const int64_t each = job->reduced.sizes[0] * (job->native ? job->size : 8);
    most = luc__min64(BLOCK, TURNED / each / MANY * MANY);
  }
  return most / job->turned * job->turned; /* which is no more than MANY */
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

/* The kernel for halves as they lie, in runs or rows, or NULL: sums of a few rows stay exact, as
 * sums of halves round off more than those of floats do. */
static const luc_rd_kernel *kernel_of_halves(const rd_job *job, luc_dtype dtype) {
  enum { COLUMNS = 16, LEAST = 8 };
  const int type = dtype == LUC_BFLOAT16 ? LUC_RD_BF16 : LUC_RD_F16;
  const luc_rd op = job->what->op;
  const luc_rd_kernel *kernel = &job->kernels->reduce[op][type];
  const int64_t least = op == LUC_RD_sum || op == LUC_RD_nansum ? LEAST : 1;
  bool fits;
  if ((dtype != LUC_BFLOAT16 && dtype != LUC_FLOAT16) || job->compute != LUC_COMPUTE_F32)
    return NULL;
  if (job->way == BY_ROWS)
    fits = kernel->rows != NULL && job->kept.strides[0][0] == job->size &&
           job->columns >= COLUMNS && job->reduced.numel >= least;
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
  job->size = (int64_t)luc__dtype_size(dtype);
  split(job);
  choose_kernel(job, dtype);
  job->group = group_of(job);
  job->room = job->group == 2 ? 2 : luc__whole(job->group, VECTOR);
  join_columns(job);
  if (!job->group && job->turned == 1) take_apart(job);
  job->way = way_of(job);
  job->direct = is_direct(job);
  job->block = block_of(job);
  const luc_rd_kernel *halves = kernel_of_halves(job, dtype);
  if (halves != NULL) job->kernel = halves, job->direct = true;
  job->longest = job->direct ? longest_run(job) : CHUNK;
}

luc_status luc__reduce(luc_context *ctx, const luc_reduction_job *what) {
  enum { PARTS_FROM = 3 << 15, SHARES = 8 };
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
  if (job.way == BY_ROWS && grain < job.columns) grain = luc__min64(job.columns, BLOCK);
  if (job.way == BY_ROWS && least < grain) least = grain;
  grain = luc__whole(grain, job.group ? job.group : job.turned);
  if (total >= PARTS_FROM && outputs < luc__min64(SHARES, total / GRAIN) * least &&
      each >= 2 * ROWS)
    return reduce_parts(ctx, &job);
  const bool together = job.way == TOGETHER || job.way == BY_SHORT_RUNS;
  if (together && job.reduced.ndim > 1) /* which changes no result */
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
