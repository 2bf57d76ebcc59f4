/* The creating, viewing, joining and indexing operators from C: what views share, what fails and
 * leaves things as they were, and every operator with its gradient while allocations are refused.
 */
#include "lucerna/autograd.h"
#include "ops/geometry.h"
#include "test.h"

static luc_tensor *numbers(luc_context *ctx, int ndim, const int64_t *sizes) {
  luc_tensor *t = NULL, *r = NULL;
  int64_t n = 1;
  for (int d = 0; d < ndim; d++) n *= sizes[d];
  CHECK_OK(luc__op1(ctx, LUC_OP_arange, &t, LUC_ARGS(luc_v_int(n))));
  CHECK_OK(luc__op1(ctx, LUC_OP_reshape, &r, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, ndim))));
  luc_tensor_release(ctx, t);
  return r;
}

static int64_t whole(const luc_tensor *t, int64_t i) {
  return ((const int64_t *)t->data)[i];
}

TEST("a view shares its storage, a reshape that cannot be one does not") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = numbers(ctx, 2, (int64_t[]){2, 3}), *v, *t, *r;
  int64_t six = 6;
  CHECK_OK(luc__op1(ctx, LUC_OP_view, &v, LUC_ARGS(luc_v_tensor(x), luc_v_ints(&six, 1))));
  CHECK(v->storage == x->storage);
  CHECK_OK(luc__unary(ctx, LUC_OP_t, x, &t));
  CHECK_EQ(luc__op1(ctx, LUC_OP_view, &r, LUC_ARGS(luc_v_tensor(t), luc_v_ints(&six, 1))),
           LUC_ERR_SHAPE);
  CHECK_OK(luc__op1(ctx, LUC_OP_reshape, &r, LUC_ARGS(luc_v_tensor(t), luc_v_ints(&six, 1))));
  CHECK(r->storage != x->storage);
  CHECK_EQ(whole(r, 1), 3);
  LUC_RELEASE(ctx, x, v, t, r);
}

TEST("view names the shape that does not fit") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = numbers(ctx, 2, (int64_t[]){2, 3}), *v;
  int64_t four = 4;
  CHECK_EQ(luc__op1(ctx, LUC_OP_view, &v, LUC_ARGS(luc_v_tensor(x), luc_v_ints(&four, 1))),
           LUC_ERR_SHAPE);
  CHECK_STR(luc_message(ctx), "view: shape '[4]' is invalid for input of size 6");
  luc_tensor_release(ctx, x);
}

TEST("a bad index leaves an in-place target as it was") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = numbers(ctx, 1, (int64_t[]){4}), *index, *ones;
  int64_t at[] = {0, 4}, two = 2;
  CHECK_OK(luc_tensor_from(ctx, LUC_INT64, 1, &two, at, &index));
  CHECK_OK(luc_tensor_from(ctx, LUC_INT64, 1, &two, at, &ones));
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(x), luc_v_int(0), luc_v_tensor(index),
                                    luc_v_tensor(ones)};
  CHECK_EQ(luc_call_inplace(ctx, LUC_OP_index_add, args, 4), LUC_ERR_INDEX);
  CHECK_STR(luc_message(ctx), "index_add: index 5 is out of range [1, 4] (indices count from 1)");
  for (int i = 0; i < 4; i++) CHECK_EQ(whole(x, i), i);
  LUC_RELEASE(ctx, x, index, ones);
}

TEST("the same seed gives PyTorch's numbers") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *a, *b, *c;
  int64_t three = 3;
  luc_manual_seed(ctx, 0);
  CHECK_OK(luc__op1(ctx, LUC_OP_rand, &a, LUC_ARGS(luc_v_ints(&three, 1))));
  CHECK_OK(luc__op1(ctx, LUC_OP_randn, &b, LUC_ARGS(luc_v_ints(&three, 1))));
  CHECK_OK(luc__op1(ctx, LUC_OP_randperm, &c, LUC_ARGS(luc_v_int(5))));
  CHECK_NEAR(((float *)a->data)[0], 0.4962566, 1e-7);
  CHECK_NEAR(((float *)a->data)[2], 0.0884774, 1e-7);
  CHECK_NEAR(((float *)b->data)[0], 0.3643, 1e-4);
  CHECK_EQ(whole(c, 0), 1);
  CHECK_EQ(whole(c, 1), 0);
  LUC_RELEASE(ctx, a, b, c);
}

/* ---- everything, with its gradient ---- */

typedef struct scene {
  luc_tensor *x; /* [2, 3], requires grad */
  luc_tensor *ids, *grid, *mask, *rows, *vector, *pair[3];
} scene;

typedef struct step {
  luc_opid op;
  luc_value args[6];
  int n;
} step;

static luc_status run_step(luc_context *ctx, const step *s) {
  luc_value args[LUC_MAX_PARAMS], out[LUC_MAX_RESULTS];
  memcpy(args, s->args, sizeof s->args);
  LUC_TRY(luc_call(ctx, s->op, args, s->n, out));
  luc_status status = LUC_OK;
  luc_tensor *first = out->kind == LUC_TENSORS ? out->as.tensors[0] : out->as.tensor, *g = NULL;
  if (luc_tensor_requires_grad(first)) {
    LUC_GO(luc__op1(ctx, LUC_OP_ones_like, &g, LUC_ARGS(luc_v_tensor(first))));
    status = luc_tensor_backward(ctx, &first, 1, &g, 0);
  }
done:
  luc_tensor_release(ctx, g);
  luc__value_release(ctx, out);
  return status;
}

/* A macro only to write the table: STEP(op, arguments…). */
#define STEP(op, ...)                                                                              \
  { LUC_OP_##op, {__VA_ARGS__}, sizeof((luc_value[]){__VA_ARGS__}) / 16 }

static luc_status run_views(luc_context *ctx, const scene *s) {
  static const int64_t six[] = {6}, wide[] = {4, 2, 3}, turn[] = {1, 0}, both[] = {0, 1};
  static const int64_t parts[] = {1, 2}, twice[] = {2, 1, 2};
  luc_value x = luc_v_tensor(s->x), zero = luc_v_int(0), one = luc_v_int(1), two = luc_v_int(2);
  const step steps[] = {
      STEP(view, x, luc_v_ints(six, 1)),
      STEP(expand, x, luc_v_ints(wide, 3)),
      STEP(permute, x, luc_v_ints(turn, 2)),
      STEP(unsqueeze, x, one),
      STEP(select, x, one, two),
      STEP(narrow, x, one, one, two),
      STEP(slice, x, one, zero, luc_v_int(3), two),
      STEP(diagonal, x, one),
      STEP(unfold, x, one, two, one),
      STEP(as_strided, x, luc_v_ints(parts, 2), luc_v_ints(both, 2)),
      STEP(flip, x, luc_v_ints(both, 2)),
      STEP(roll, x, one, zero),
      STEP(rot90, x, one),
      STEP(repeat, x, luc_v_ints(twice, 3)),
      STEP(repeat_interleave, x, two, one),
      STEP(tril, x),
      STEP(diag_embed, x),
      STEP(unbind, x, one),
      STEP(split_sizes, x, luc_v_ints(parts, 2), one),
      STEP(chunk, x, two, one),
      STEP(clone, x),
      STEP(to, x, luc_v_dtype(LUC_FLOAT64)),
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) LUC_TRY(run_step(ctx, &steps[i]));
  return LUC_OK;
}

static luc_status run_indexing(luc_context *ctx, const scene *s) {
  luc_tensor *first[] = {s->ids}, *masked[] = {NULL, s->mask}, *pair[] = {s->ids, s->ids};
  luc_value x = luc_v_tensor(s->x), zero = luc_v_int(0), ids = luc_v_tensor(s->ids);
  luc_value rows = luc_v_tensor(s->rows), grid = luc_v_tensor(s->grid);
  luc_value mask = luc_v_tensor(s->mask), vector = luc_v_tensor(s->vector), yes = luc_v_bool(true);
  const step steps[] = {
      STEP(cat, luc_v_tensors((luc_tensor **)s->pair, 3), zero),
      STEP(stack, luc_v_tensors((luc_tensor **)s->pair, 2), zero),
      STEP(hstack, luc_v_tensors((luc_tensor **)s->pair, 2)),
      STEP(meshgrid, luc_v_tensors((luc_tensor **)&s->vector, 1)),
      STEP(index_select, x, zero, ids),
      STEP(index_add, x, zero, ids, rows),
      STEP(index_copy, x, zero, ids, rows),
      STEP(index_fill, x, zero, ids, luc_v_float(2)),
      STEP(gather, x, zero, grid),
      STEP(scatter, x, zero, grid, x),
      STEP(scatter_add, x, zero, grid, x),
      STEP(take, x, ids),
      STEP(put, x, ids, luc_v_tensor(s->pair[2]), yes),
      STEP(masked_fill, x, mask, zero),
      STEP(masked_select, x, mask),
      STEP(masked_scatter, x, mask, rows),
      STEP(index, x, luc_v_tensors(first, 1)),
      STEP(index, x, luc_v_tensors(masked, 2)),
      STEP(index, x, luc_v_tensors(pair, 2)),
      STEP(index_put, x, luc_v_tensors(first, 1), rows, yes),
      STEP(index_put, x, luc_v_tensors(masked, 2), luc_v_tensor(s->pair[0])),
      STEP(nonzero, x),
      STEP(multinomial, vector, luc_v_int(2)),
      STEP(bernoulli, vector),
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) LUC_TRY(run_step(ctx, &steps[i]));
  return LUC_OK;
}

static luc_status run_all(luc_context *ctx, void *arg) {
  (void)arg;
  scene s = {0};
  luc_status status = LUC_OK;
  int64_t shape[] = {2, 3}, two = 2, three = 3, at[] = {1, 0}, grid[] = {0, 1, 0, 1, 0, 1};
  bool mask[] = {true, false, true};
  float p[] = {0.5f, 0.25f, 0.25f}, pair[] = {1, 2};
  LUC_GO(luc__op1(ctx, LUC_OP_randn, &s.x, LUC_ARGS(luc_v_ints(shape, 2))));
  LUC_GO(luc_tensor_set_requires_grad(ctx, s.x, true));
  LUC_GO(luc_tensor_from(ctx, LUC_INT64, 1, &two, at, &s.ids));
  LUC_GO(luc_tensor_from(ctx, LUC_INT64, 2, shape, grid, &s.grid));
  LUC_GO(luc_tensor_from(ctx, LUC_BOOL, 1, &three, mask, &s.mask));
  LUC_GO(luc_tensor_from(ctx, LUC_FLOAT32, 1, &three, p, &s.vector));
  LUC_GO(luc_tensor_from(ctx, LUC_FLOAT32, 1, &two, pair, &s.pair[2]));
  LUC_GO(luc__op1(ctx, LUC_OP_rand, &s.rows, LUC_ARGS(luc_v_ints(shape, 2))));
  LUC_GO(luc_tensor_set_requires_grad(ctx, s.rows, true));
  LUC_GO(run_views(ctx, &s));
  s.pair[0] = s.pair[1] = luc_tensor_retain(s.pair[2]);
  LUC_GO(run_indexing(ctx, &s));
done:
  LUC_RELEASE(ctx, s.x, s.ids, s.grid, s.mask, s.rows, s.vector, s.pair[0], s.pair[2]);
  return status;
}

TEST("every operator here survives refused allocations, and leaks nothing") {
  CHECK(test_sweep_after(luc__ops_init, run_all, NULL, test_is_short() ? 7 : 1) > 0);
}
