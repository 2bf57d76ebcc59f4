/* gather and its opposites: an index tensor with as many dimensions as the data names, for every
 * place, the position along one dimension. */
#include <math.h>
#include <string.h>

#include "ops/formula.h"
#include "ops/indexing.h"

/* Sizes of a and b compared over the dimensions other than `except`: all of index's at most t's? */
static luc_status check_index(luc_context *ctx, const luc_tensor *index, const luc_tensor *t,
                              const char *name, int except) {
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  int n = index->ndim ? index->ndim : 1, m = t->ndim ? t->ndim : 1;
  LUC_CHECK(ctx, n == m, LUC_ERR_SHAPE,
            "index tensor must have the same number of dimensions as %s tensor (%d and %d)", name,
            n, m);
  bool fits = true;
  for (int d = 0; d < n; d++) { /* a tensor without dimensions counts as one of size 1 */
    int64_t want = index->ndim ? index->sizes[d] : 1, have = t->ndim ? t->sizes[d] : 1;
    fits = fits && (d == except || want <= have);
  }
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "size does not match: expected index %s to be smaller than %s %s%s",
            luc__tensor_shape_text(a, index), name, luc__tensor_shape_text(b, t),
            except < 0 ? "" : " apart from the given dimension");
  return LUC_OK;
}

/* Between t at the positions along dim and `dense`, which is contiguous in the sizes of index (step
 * 1), or one element (step 0). */
static luc_index_job job_along(luc_index_op op, luc_tensor *t, int dim, const luc_tensor *index,
                               const luc_positions *p, void *dense, int64_t step) {
  luc_index_job job = {.op = op,
                       .dtype = t->dtype,
                       .own = p->n == index->numel,
                       .indexed = t->data,
                       .dense = dense,
                       .bytes = (size_t)t->numel * luc__dtype_size(t->dtype),
                       .positions = *p,
                       .n = index->ndim ? index->sizes[dim] : 1,
                       .stride = t->ndim ? t->strides[dim] : 0};
  for (int d = index->ndim - 1; d >= 0; d--) {
    luc_index_dims *part = d < dim ? &job.outer : &job.inner;
    if (d == dim) {
      job.dense_step = step;
    } else {
      int at = d < dim ? d : d - dim - 1;
      part->ndim = part->ndim > at ? part->ndim : at + 1;
      part->sizes[at] = index->sizes[d];
      part->indexed[at] = t->strides[d];
      part->dense[at] = step;
    }
    step *= index->sizes[d];
  }
  return job;
}

/* Is index one line along dim, expanded? Then it leads to slices, which move as such. */
static bool is_line(const luc_tensor *index, int dim) {
  for (int d = 0; d < index->ndim; d++)
    if (d != dim && index->sizes[d] != 1 && index->strides[d] != 0) return false;
  return index->ndim > 1 && index->numel > 0;
}

/* Positions of all of index, or of its line. */
static luc_status positions_along(luc_context *ctx, const luc_tensor *t, int dim, luc_tensor *index,
                                  const luc_tensor *target, luc_positions *p, luc_tensor **values) {
  int64_t size = t->ndim ? t->sizes[dim] : 1;
  luc_tensor *line;
  if (!is_line(index, dim)) return luc__positions(ctx, index, size, false, target, p, values);
  LUC_TRY(luc__tensor_view(ctx, index, 1, index->sizes + dim, index->strides + dim, index->offset,
                           &line));
  luc_status status = luc__positions(ctx, line, size, false, target, p, values);
  luc_tensor_release(ctx, line);
  return status;
}

/* Lines of elements far apart, whose steps meet few sets of the cache, are laid out before many
 * are looked up in them. */
static luc_status lines_of(luc_context *ctx, luc_tensor *t, int dim, int64_t n, luc_tensor **out) {
  enum { FAR_BYTES = 1 << 10, MANY = 1 << 14 };
  bool far =
      dim == t->ndim - 1 && t->strides[dim] >= FAR_BYTES / (int64_t)luc__dtype_size(t->dtype);
  if (far && n >= MANY && n >= t->numel) return luc__to_contiguous(ctx, t, out);
  *out = luc__retain(t);
  return LUC_OK;
}

luc_status luc__run_gather(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *index = args[2].as.tensor, *values, *from, *r = NULL;
  luc_positions p;
  int dim;
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, t->ndim, &dim));
  if (index->numel) LUC_TRY(check_index(ctx, index, t, "input", dim));
  LUC_TRY(positions_along(ctx, t, dim, index, NULL, &p, &values));
  luc_status status = lines_of(ctx, t, dim, index->numel, &from);
  if (status == LUC_OK) {
    status = luc__tensor_empty(ctx, t->dtype, index->ndim, index->sizes, &r);
    if (status == LUC_OK) {
      luc_index_job job = job_along(LUC_INDEX_GET, from, dim, index, &p, r->data, 1);
      status = luc__index_move(ctx, &job, true);
    }
    luc_tensor_release(ctx, from);
  }
  luc_tensor_release(ctx, values);
  return luc__give(ctx, status, out, r);
}

luc_status luc__grad_gather(luc_context *ctx, luc_backward *b) {
  luc_value g = luc_v_tensor(b->gout[0]);
  return luc__grad_into_zeros(ctx, b, LUC_OP_scatter_add, b->args[1], b->args[2], g);
}

/* src's elements at index's places, of which it may have more. */
static luc_status source_part(luc_context *ctx, luc_tensor *src, const luc_tensor *index,
                              luc_tensor **out) {
  if (index->numel) LUC_TRY(check_index(ctx, index, src, "src", -1));
  if (src->ndim == index->ndim)
    return luc__tensor_view(ctx, src, src->ndim, index->sizes, src->strides, src->offset, out);
  *out = luc__retain(src);
  return LUC_OK;
}

/* The same, contiguous. */
static luc_status source_values(luc_context *ctx, luc_tensor *src, const luc_tensor *self,
                                const luc_tensor *index, luc_tensor **out) {
  luc_tensor *part;
  LUC_TRY(luc__need_self_dtype(ctx, self, src, "src"));
  LUC_TRY(source_part(ctx, src, index, &part));
  luc_status status = luc__may_overlap(src, self) ? luc__duplicate(ctx, part, out)
                                                  : luc__to_contiguous(ctx, part, out);
  luc_tensor_release(ctx, part);
  return status;
}

/* What is written: self, in place, or its copy, which the first move makes of *before, self's data,
 * if it comes to all lines. */
static luc_status begin_scatter(luc_context *ctx, luc_tensor *self, int dim,
                                const luc_tensor *index, luc_value *out, luc_tensor **target,
                                const void **before) {
  bool all = out->kind != LUC_TENSOR && luc__is_contiguous(self) && index->ndim == self->ndim;
  for (int d = 0; all && d < self->ndim; d++) all = d == dim || self->sizes[d] == index->sizes[d];
  *before = all ? self->data : NULL;
  if (!all) return luc__begin_write(ctx, self, out, target);
  LUC_TRY(luc__tensor_empty_like(ctx, self, self->dtype, target));
  (*target)->from_one = self->from_one;
  *out = luc_v_tensor(*target);
  return LUC_OK;
}

/* src NULL: `value` everywhere; with both, `value` is put before src comes. */
static luc_status scatter(luc_context *ctx, luc_index_op op, luc_value *args, luc_tensor *src,
                          void *value, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *index = args[2].as.tensor, *target;
  luc_tensor *at = NULL, *values = NULL;
  const void *before;
  const bool fresh = out->kind != LUC_TENSOR;
  luc_positions p;
  luc_index_job job;
  int dim;
  luc_status status = LUC_OK;
  LUC_GO(luc__dim_wrap(ctx, args[1].as.i, self->ndim, &dim));
  if (index->numel) LUC_GO(check_index(ctx, index, self, "self", dim));
  if (src) LUC_GO(source_values(ctx, src, self, index, &values));
  LUC_GO(positions_along(ctx, self, dim, index, fresh ? NULL : self, &p, &at));
  LUC_GO(begin_scatter(ctx, self, dim, index, out, &target, &before));
  if (src && value) {
    job = job_along(LUC_INDEX_PUT, target, dim, index, &p, value, 0);
    job.before = before;
    LUC_GO(luc__index_move(ctx, &job, fresh));
    before = NULL;
  }
  job = job_along(op, target, dim, index, &p, src ? values->data : value, src ? 1 : 0);
  job.before = before;
  LUC_GO(luc__index_move(ctx, &job, fresh));
done:
  LUC_RELEASE(ctx, at, values);
  return status;
}

static luc_status reduce_op(luc_context *ctx, const luc_value *reduce, luc_index_op *op) {
  static const luc_index_op ops[] = {LUC_INDEX_ADD, LUC_INDEX_MUL};
  int which;
  *op = LUC_INDEX_PUT;
  if (luc_is_none(reduce)) return LUC_OK;
  LUC_TRY(luc__choice(ctx, "reduce", "add|multiply", reduce->as.string, &which));
  *op = ops[which];
  return LUC_OK;
}

/* Halves of which as many come as there are places, or twice as many sums, each to its own, become
 * floats for it and are rounded once; rows are added as such. */
static bool comes_as_floats(luc_index_op op, const luc_value *args) {
  const luc_tensor *self = args[0].as.tensor, *index = args[2].as.tensor;
  return op != LUC_INDEX_PUT && (self->dtype == LUC_FLOAT16 || self->dtype == LUC_BFLOAT16) &&
         self->dtype == args[3].as.tensor->dtype && luc__is_contiguous(index) &&
         index->numel >= self->numel * (op == LUC_INDEX_ADD ? 2 : 1);
}
static luc_status in_floats(luc_context *ctx, luc_run_fn run, const luc_value *args, int nargs,
                            luc_value *out) {
  const luc_dtype dtype = args[0].as.tensor->dtype;
  luc_value wide[LUC_MAX_PARAMS], r = luc_v_none();
  luc_tensor *part;
  memcpy(wide, args, (size_t)nargs * sizeof *wide);
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, LUC_FLOAT32, &wide[0].as.tensor));
  LUC_TRY(luc__held(ctx, source_part(ctx, args[3].as.tensor, args[2].as.tensor, &part), &part));
  LUC_TRY(luc__as_dense(ctx, part, LUC_FLOAT32, &wide[3].as.tensor));
  luc_status status = run(ctx, wide, &r);
  if (status == LUC_OK) status = luc__result(ctx, out, dtype, r.as.tensor);
  luc__value_release(ctx, &r);
  return status;
}

luc_status luc__run_scatter(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_index_op op;
  LUC_TRY(reduce_op(ctx, &args[4], &op));
  if (comes_as_floats(op, args)) return in_floats(ctx, luc__run_scatter, args, 5, out);
  return scatter(ctx, op, args, args[3].as.tensor, NULL, out);
}

luc_status luc__run_scatter_value(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_index_op op;
  luc_element value;
  luc_dtype dtype = args[0].as.tensor->dtype;
  LUC_TRY(reduce_op(ctx, &args[4], &op));
  LUC_TRY(luc__operand_element(ctx, &args[3], dtype, &value));
  return scatter(ctx, op, args, NULL, &value, out);
}

luc_status luc__run_scatter_add(luc_context *ctx, luc_value *args, luc_value *out) {
  if (comes_as_floats(LUC_INDEX_ADD, args))
    return in_floats(ctx, luc__run_scatter_add, args, 4, out);
  return scatter(ctx, LUC_INDEX_ADD, args, args[3].as.tensor, NULL, out);
}

/* What reaches src (a new reference in *gin): `part`, the gradient at the index's places; where src
 * was larger than index the rest of it had no effect. */
static luc_status spread(luc_context *ctx, luc_backward *b, luc_tensor *part, luc_tensor **gin) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  int n = luc__input_sizes(b, 3, sizes);
  if (n == part->ndim && !memcmp(sizes, part->sizes, (size_t)n * sizeof *sizes)) {
    *gin = luc__retain(part);
    return LUC_OK;
  }
  luc__contiguous_strides(n, sizes, strides);
  if (n != part->ndim) memset(strides, 0, sizeof strides); /* then there is one element, or none */
  return luc__op1(ctx, LUC_OP_strided_add, gin,
                  LUC_ARGS(luc_v_tensor(part), luc_v_ints(sizes, n),
                           luc_v_ints(strides, part->ndim), luc_v_int(0)));
}

/* ---- scatter_reduce ---- */

enum { SUM, PROD, MEAN, AMAX, AMIN };

static luc_status reduction_of(luc_context *ctx, const luc_value *reduce, int *which) {
  return luc__choice(ctx, "reduce", "sum|prod|mean|amax|amin", reduce->as.string, which);
}

/* The neutral element of the reduction, which leaves any value of this dtype as it is. */
static luc_scalar neutral(int which, luc_dtype dtype) {
  if (which != AMAX && which != AMIN) return (luc_scalar){LUC_SCALAR_INT, {.i = which == PROD}};
  bool low = which == AMAX;
  if (luc__dtype_is_float(dtype))
    return (luc_scalar){LUC_SCALAR_FLOAT, {.f = low ? -INFINITY : INFINITY}};
  if (dtype == LUC_BOOL || dtype == LUC_UINT8)
    return (luc_scalar){LUC_SCALAR_INT, {.i = low ? 0 : dtype == LUC_BOOL ? 1 : UINT8_MAX}};
  int64_t most = INT64_MAX >> (64 - 8 * (int)luc__dtype_size(dtype));
  return (luc_scalar){LUC_SCALAR_INT, {.i = low ? -most - 1 : most}};
}

/* How many values each element of a result is the mean of; 1 where none came. */
static luc_tensor *counts(luc_formula *f, const luc_value *args, luc_tensor *like) {
  bool self = args[5].as.i;
  luc_tensor *start = luc__f1(f, self ? LUC_OP_ones_like : LUC_OP_zeros_like, like);
  luc_tensor *ones = luc__f_call(f, LUC_OP_ones_like, LUC_ARGS(args[2], luc_v_dtype(like->dtype)));
  luc_tensor *n = luc__f_call(f, LUC_OP_scatter_add,
                              LUC_ARGS(luc_v_tensor(start), args[1], args[2], luc_v_tensor(ones)));
  return luc__f_call(f, LUC_OP_clamp_min, LUC_ARGS(luc_v_tensor(n), luc_v_int(1)));
}

static luc_status divide_by_counts(luc_context *ctx, const luc_value *args, luc_tensor *target) {
  luc_formula f = luc__formula(ctx);
  luc_value mode = luc__dtype_is_float(target->dtype) ? luc_v_none() : luc_v_string("floor");
  luc_tensor *n = counts(&f, args, target);
  if (f.status == LUC_OK)
    f.status =
        luc_call_inplace(ctx, LUC_OP_div, LUC_ARGS(luc_v_tensor(target), luc_v_tensor(n), mode));
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__run_scatter_reduce(luc_context *ctx, luc_value *args, luc_value *out) {
  static const luc_index_op ops[] = {LUC_INDEX_ADD, LUC_INDEX_MUL, LUC_INDEX_ADD, LUC_INDEX_MAX,
                                     LUC_INDEX_MIN};
  luc_tensor *self = args[0].as.tensor;
  int which;
  double value[1];
  LUC_TRY(reduction_of(ctx, &args[4], &which));
  luc_dtype dtype = self->dtype;
  LUC_CHECK(ctx, which != MEAN || dtype != LUC_BOOL, LUC_ERR_TYPE,
            "the mean of booleans is not defined");
  LUC_CHECK(ctx, !luc__dtype_is_complex(dtype), LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  if (comes_as_floats(ops[which], args))
    return in_floats(ctx, luc__run_scatter_reduce, args, 6, out);
  luc__store_scalar(value, dtype, neutral(which, dtype)); /* what is written does not count then */
  LUC_TRY(scatter(ctx, ops[which], args, args[3].as.tensor, args[5].as.i ? NULL : value, out));
  return which == MEAN ? divide_by_counts(ctx, args, out->as.tensor) : LUC_OK;
}

/* The gradients' parts: g reaches both inputs, or `self` and `src` differ. */
typedef struct parts {
  luc_tensor *self, *src;
} parts;

static luc_tensor *gathered(luc_formula *f, const luc_backward *b, luc_tensor *t) {
  return luc__f_call(f, LUC_OP_gather, LUC_ARGS(luc_v_tensor(t), b->args[1], b->args[2]));
}

/* The part of src that index is over. */
static luc_tensor *used_source(luc_formula *f, const luc_backward *b) {
  luc_tensor *src = b->args[3].as.tensor, *t = src, *index = b->args[2].as.tensor;
  bool even = src->ndim == index->ndim;
  for (int d = 0; d < src->ndim; d++) {
    int64_t size = even ? index->sizes[d] : 1;
    if (src->sizes[d] == size) continue;
    t = luc__f_call(f, LUC_OP_slice,
                    LUC_ARGS(luc_v_tensor(t), luc_v_int(d), luc_v_int(0), luc_v_int(size)));
  }
  return even ? t : luc__f_reshape(f, t, index->ndim, index->sizes);
}

/* The products without one factor: the result divided by it. Where it is 0, it is set to 1 first;
 * a source's only if no other there is 0, for else the product stays 0. */
static parts product_parts(luc_formula *f, const luc_backward *b, luc_tensor *g, luc_tensor *src) {
  luc_tensor *self = b->args[0].as.tensor;
  luc_tensor *self_zero = luc__fs(f, LUC_OP_eq, self, 0), *src_zero = luc__fs(f, LUC_OP_eq, src, 0);
  luc_tensor *whole = luc__f_fill(f, self, self_zero, 1);
  luc_tensor *others = luc__f_call(
      f, LUC_OP_scatter_reduce,
      LUC_ARGS(luc_v_tensor(whole), b->args[1], b->args[2], b->args[3], b->args[4], b->args[5]));
  luc_tensor *none = luc__f1(f, LUC_OP_zeros_like, self);
  luc_tensor *marks = luc__f_to(f, src_zero, self->dtype);
  luc_tensor *zeros =
      luc__f_call(f, LUC_OP_scatter_add,
                  LUC_ARGS(luc_v_tensor(none), b->args[1], b->args[2], luc_v_tensor(marks)));
  luc_tensor *single =
      luc__f2(f, LUC_OP_logical_and, src_zero, luc__fs(f, LUC_OP_eq, gathered(f, b, zeros), 1));
  luc_tensor *filled = luc__f_fill(f, src, single, 1);
  luc_tensor *without = luc__f_call(
      f, LUC_OP_scatter_reduce,
      LUC_ARGS(b->args[0], b->args[1], b->args[2], luc_v_tensor(filled), b->args[4], b->args[5]));
  luc_tensor *divisor = luc__f_fill(f, src, src_zero, 1);
  luc_tensor *result =
      luc__f_call(f, LUC_OP_scatter_reduce,
                  LUC_ARGS(b->args[0], b->args[1], b->args[2], b->args[3], b->args[4], b->args[5]));
  return (parts){luc__f2(f, LUC_OP_div, luc__f2(f, LUC_OP_mul, g, others), whole),
                 luc__f_where(f, single, gathered(f, b, luc__f2(f, LUC_OP_mul, g, without)),
                              luc__f2(f, LUC_OP_div,
                                      gathered(f, b, luc__f2(f, LUC_OP_mul, g, result)), divisor))};
}

/* The gradient is shared evenly among all elements that equal the extreme. */
static parts extreme_parts(luc_formula *f, const luc_backward *b, luc_tensor *g, luc_tensor *src) {
  luc_tensor *self = b->args[0].as.tensor, *result = b->results[0];
  luc_dtype dtype = self->dtype;
  luc_tensor *mine = luc__f_to(f, luc__f2(f, LUC_OP_eq, self, result), dtype);
  luc_tensor *theirs = luc__f_to(f, luc__f2(f, LUC_OP_eq, src, gathered(f, b, result)), dtype);
  luc_tensor *n =
      luc__f_call(f, LUC_OP_scatter_add,
                  LUC_ARGS(luc_v_tensor(mine), b->args[1], b->args[2], luc_v_tensor(theirs)));
  luc_tensor *share = luc__f2(f, LUC_OP_div, g, n);
  return (parts){luc__f2(f, LUC_OP_mul, mine, share),
                 luc__f2(f, LUC_OP_mul, theirs, gathered(f, b, share))};
}

luc_status luc__grad_scatter_reduce(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0];
  int which;
  LUC_TRY(reduction_of(ctx, &b->args[4], &which));
  if (b->args[2].as.tensor->numel == 0) return luc__pass_to(b, 0);
  luc_tensor *src = used_source(&f, b), *part = NULL;
  if (which == MEAN) g = luc__f2(&f, LUC_OP_div, g, counts(&f, b->args, g));
  parts p = which == PROD                    ? product_parts(&f, b, g, src)
            : which == AMAX || which == AMIN ? extreme_parts(&f, b, g, src)
                                             : (parts){g, gathered(&f, b, g)};
  if (!b->args[5].as.i)
    p.self = luc__f_call(&f, LUC_OP_scatter_value,
                         LUC_ARGS(luc_v_tensor(p.self), b->args[1], b->args[2], luc_v_int(0)));
  if (luc__needs(b, 0)) luc__f_keep(&f, p.self, &b->gin[0]);
  if (luc__needs(b, 3) && f.status == LUC_OK) f.status = spread(ctx, b, p.src, &part);
  if (part) luc__f_keep(&f, luc__f_own(&f, part), &b->gin[3]);
  return luc__f_end(&f, NULL, NULL);
}

/* Composite: the index is the same across the other dimensions. */
luc_status luc__run_index_reduce(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *index = args[2].as.tensor, *source = args[3].as.tensor;
  luc_formula f = luc__formula(ctx);
  int dim;
  int64_t sizes[LUC_MAX_DIMS];
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, self->ndim, &dim));
  LUC_CHECK(ctx, index->ndim <= 1, LUC_ERR_SHAPE, "index is supposed to be a vector, got %dD",
            index->ndim);
  bool fits = source->ndim == self->ndim;
  for (int d = 0; fits && d < self->ndim; d++)
    fits = source->sizes[d] == (d == dim ? index->numel : self->sizes[d]);
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "source %s must have the size of self %s, with one place for each of the "
            "%lld indices",
            luc__tensor_shape_text(a, source), luc__tensor_shape_text(b, self),
            (long long)index->numel);
  for (int d = 0; d < self->ndim; d++) sizes[d] = d == dim ? index->numel : 1;
  luc_tensor *column = luc__f_reshape(&f, index, self->ndim, sizes);
  luc_tensor *wide = luc__f_expand(&f, column, source->ndim, source->sizes);
  return luc__f_result(
      &f,
      luc__f_call(&f, LUC_OP_scatter_reduce,
                  LUC_ARGS(args[0], args[1], luc_v_tensor(wide), args[3], args[4], args[5])),
      out);
}

/* The gradient of src: that of the result at the index's places. */
static luc_status source_gradient(luc_context *ctx, luc_backward *b) {
  luc_tensor *part;
  if (!luc__needs(b, 3)) return LUC_OK;
  LUC_TRY(luc__op1(ctx, LUC_OP_gather, &part,
                   LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2])));
  luc_status status = spread(ctx, b, part, &b->gin[3]);
  luc_tensor_release(ctx, part);
  return status;
}

luc_status luc__grad_scatter_add(luc_context *ctx, luc_backward *b) {
  LUC_TRY(luc__pass_to(b, 0));
  return source_gradient(ctx, b);
}

luc_status luc__grad_scatter(luc_context *ctx, luc_backward *b) {
  luc_index_op op;
  LUC_TRY(reduce_op(ctx, &b->args[4], &op));
  LUC_CHECK(ctx, op != LUC_INDEX_MUL, LUC_ERR_SUPPORT,
            "backward: the gradient of scatter with reduce = 'multiply' is not implemented");
  if (op == LUC_INDEX_ADD) {
    LUC_TRY(luc__pass_to(b, 0));
  } else if (luc__needs(b, 0)) {
    LUC_TRY(luc__op1(ctx, LUC_OP_scatter_value, &b->gin[0],
                     LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2], luc_v_int(0))));
  }
  return source_gradient(ctx, b);
}

/* ---- take_along_dim: broadcasts, then gathers ---- */

static luc_status widen(luc_formula *f, int dim, luc_tensor **t, luc_tensor **index) {
  int64_t sizes[LUC_MAX_DIMS], index_sizes[LUC_MAX_DIMS];
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  const int n = (*t)->ndim;
  for (int d = 0; d < n; d++) {
    int64_t x = (*t)->sizes[d], y = (*index)->sizes[d];
    LUC_CHECK(f->ctx, d == dim || x == y || x == 1 || y == 1, LUC_ERR_SHAPE,
              "take_along_dim: input %s and indices %s do not broadcast",
              luc__tensor_shape_text(a, *t), luc__tensor_shape_text(b, *index));
    sizes[d] = d == dim ? x : x == 1 ? y : x;
    index_sizes[d] = d == dim ? y : sizes[d];
  }
  *t = luc__f_expand(f, *t, n, sizes);
  *index = luc__f_expand(f, *index, n, index_sizes);
  return f->status;
}

luc_status luc__run_take_along_dim(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor, *index = args[1].as.tensor;
  int dim = 0;
  if (luc_is_none(&args[2])) {
    t = luc__f_reshape(&f, t, 1, &t->numel);
    index = luc__f_reshape(&f, index, 1, &index->numel);
  } else {
    LUC_CHECK(ctx, t->ndim == index->ndim, LUC_ERR_SHAPE,
              "input and indices should have the same number of dimensions, but "
              "got %d dimensions for input, and %d dimensions for indices",
              t->ndim, index->ndim);
    LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &dim));
    f.status = widen(&f, dim, &t, &index);
  }
  luc_value from = luc_v_tensor(t), at = luc_v_tensor(index);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_gather, LUC_ARGS(from, luc_v_int(dim), at)), out);
}
