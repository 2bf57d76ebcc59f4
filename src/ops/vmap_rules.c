/* Rules of vmap: how an operator runs on tensors that have one dimension more, in front. A row
 * of ops.def names its rule, or has none. A rule that finds something special (no
 * dimensions, another rank, holes) declines, and the call is done sample by sample: rules make
 * calls fast, they do not make them possible. They are made of operators, which records them. */
#include "ops/vmap_rules.h"

#include <string.h>

/* ---- parts of rules ---- */

int luc__vm_ndim(const luc_vcall *c, int p) {
  const luc_tensor *t = luc_as_tensor(&c->given[p]);
  return t ? t->ndim : 0;
}

/* The most dimensions that one sample of a tensor argument has. */
static int most_dims(const luc_vcall *c) {
  int most = 0;
  for (int p = 0; p < c->info->schema.nparams; p++)
    if (luc__vm_ndim(c, p) > most) most = luc__vm_ndim(c, p);
  return most;
}

bool luc__vm_all_batched(luc_vcall *c) {
  for (int p = 0; p < c->info->schema.nparams; p++)
    if (c->args[p].kind == LUC_TENSOR && !luc__vm_batch(c, p)) return false;
  return true;
}

static luc_tensor *expand(luc_vcall *c, luc_tensor *t) {
  int64_t sizes[LUC_MAX_DIMS + 1];
  if (!t || c->f.status != LUC_OK) return NULL;
  if (t->ndim == LUC_MAX_DIMS) {
    c->f.status = LUC_VMAP_DECLINE;
    return NULL;
  }
  sizes[0] = c->level->size;
  copy_sizes(sizes + 1, t->sizes, t->ndim);
  return luc__f_expand(&c->f, t, t->ndim + 1, sizes);
}

bool luc__vm_batch(luc_vcall *c, int p) {
  if (c->args[p].kind != LUC_TENSOR || ((c->batched | c->expanded) >> p & 1)) return true;
  c->args[p].as.tensor = expand(c, c->args[p].as.tensor);
  c->expanded |= 1u << p;
  return c->args[p].as.tensor != NULL;
}

luc_status luc__vm_call(luc_context *ctx, luc_vcall *c) {
  int n = c->info->schema.nparams;
  LUC_TRY(c->f.status);
  if (c->out) return luc_call(ctx, c->op, c->args, n, c->out);
  return luc_call_inplace(ctx, c->op, c->args, n);
}

luc_status luc__vm_result(luc_vcall *c, int r, luc_tensor *t) {
  if (c->f.status == LUC_OK && t) c->out[r] = luc_v_tensor(luc__retain(t));
  return c->f.status;
}

/* ---- pointwise: sizes aligned at the end ---- */

luc_tensor *luc__vm_pad(luc_vcall *c, luc_tensor *t, int ndim) {
  int64_t sizes[LUC_MAX_DIMS];
  if (c->f.status != LUC_OK) return NULL;
  int have = t->ndim - 1, lead = ndim - have;
  if (lead <= 0) return t;
  if (ndim + 1 > LUC_MAX_DIMS) {
    c->f.status = LUC_VMAP_DECLINE;
    return t;
  }
  sizes[0] = t->sizes[0];
  for (int i = 0; i < lead; i++) sizes[1 + i] = 1;
  copy_sizes(sizes + 1 + lead, t->sizes + 1, have);
  return luc__f_reshape(&c->f, t, ndim + 1, sizes);
}

/* A sample without dimensions promotes weakly; with the dimension in front it would not: such
 * tensors are cast to what the samples' call computes in. */
static bool cast_scalars(luc_context *ctx, luc_vcall *c) {
  luc_value operands[LUC_MAX_PARAMS];
  int n = 0, dtype = -1;
  bool scalar = false, mixed = false;
  for (int p = 0; p < c->info->schema.nparams; p++) {
    int type = c->info->schema.params[p].type;
    const luc_tensor *t = luc_as_tensor(&c->given[p]);
    bool number = type == LUC_T_OPERAND && c->given[p].kind != LUC_NONE;
    if (!t && !number) continue;
    operands[n++] = c->given[p];
    if (!t) continue;
    scalar |= t->ndim == 0 && (c->batched >> p & 1);
    mixed |= dtype >= 0 && dtype != t->dtype;
    dtype = t->dtype;
  }
  if (!scalar || !mixed) return true;
  bool promotes = c->info->schema.params[0].type == LUC_T_OPERAND && c->op != LUC_OP_complex;
  if (!c->out || !promotes) return false; /* what is written must not be cast */
  luc_dtype result = luc__result_dtype(ctx, operands, n);
  for (int p = 0; p < c->info->schema.nparams; p++)
    if (luc_as_tensor(&c->given[p]) && luc__vm_ndim(c, p) == 0)
      c->args[p].as.tensor = luc__f_to(&c->f, c->args[p].as.tensor, result);
  return true;
}

luc_status luc__vmap_pointwise(luc_context *ctx, luc_vcall *c) {
  int ndim = most_dims(c);
  if (!c->out && ndim > luc__vm_ndim(c, 0)) return LUC_VMAP_DECLINE;
  if (!cast_scalars(ctx, c)) return LUC_VMAP_DECLINE;
  for (int p = 0; p < c->info->schema.nparams && c->f.status == LUC_OK; p++)
    if (c->args[p].kind == LUC_TENSOR && (c->batched >> p & 1))
      c->args[p].as.tensor = luc__vm_pad(c, c->args[p].as.tensor, ndim);
  return luc__vm_call(ctx, c);
}

/* masked_fill(input, mask, value): a value for each sample is another matter. */
luc_status luc__vmap_masked_fill(luc_context *ctx, luc_vcall *c) {
  bool value = c->batched >> 2 & 1, wide = luc__vm_ndim(c, 1) > luc__vm_ndim(c, 0);
  if (value || wide || !luc__vm_batch(c, 0)) return LUC_VMAP_DECLINE;
  if (c->batched >> 1 & 1)
    c->args[1].as.tensor = luc__vm_pad(c, c->args[1].as.tensor, luc__vm_ndim(c, 0));
  return luc__vm_call(ctx, c);
}

/* fill_(self, value) */
luc_status luc__vmap_fill(luc_context *ctx, luc_vcall *c) {
  if (luc__vm_ndim(c, 1)) return LUC_VMAP_DECLINE;
  if (!(c->batched >> 1 & 1)) return luc__vm_call(ctx, c);
  luc_tensor *value = luc__vm_pad(c, c->args[1].as.tensor, luc__vm_ndim(c, 0));
  LUC_TRY(c->f.status);
  return luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(c->args[0], luc_v_tensor(value)));
}

/* copy_(self, src): src may have more dimensions only if they are 1. */
luc_status luc__vmap_copy(luc_context *ctx, luc_vcall *c) {
  int ndim = luc__vm_ndim(c, 0);
  if (luc__vm_ndim(c, 1) > ndim) return LUC_VMAP_DECLINE;
  if (c->batched >> 1 & 1) c->args[1].as.tensor = luc__vm_pad(c, c->args[1].as.tensor, ndim);
  return luc__vm_call(ctx, c);
}

/* ---- dimensions that are named ---- */

static bool is_dim(const luc_param *param) {
  bool dim = param->type == LUC_T_DIM || param->type == LUC_T_DIMS;
  return dim || (param->type == LUC_T_INT && !strcmp(param->name, "dim"));
}

static bool shift_one(int64_t *dim, int ndim) {
  if (*dim < -ndim || *dim >= ndim) return false;
  *dim += *dim < 0 ? ndim + 1 : 1;
  return true;
}

/* Adds one to every dimension among the arguments; false if one is out of range. */
static bool shift(luc_vcall *c, int ndim) {
  for (int p = 0; p < c->info->schema.nparams; p++) {
    luc_value *v = &c->args[p];
    if (!is_dim(&c->info->schema.params[p])) continue;
    if (v->kind == LUC_NONE) return false; /* which one, depends on how many there are */
    if (v->kind == LUC_INT && !shift_one(&v->as.i, ndim)) return false;
    if (v->kind != LUC_INTS) continue;
    if (!v->n || v->n > LUC_MAX_DIMS || c->nrooms == LUC_VCALL_ROOMS) return false;
    int64_t *room = c->rooms[c->nrooms++];
    for (int i = 0; i < v->n; i++) {
      room[i] = v->as.ints[i];
      if (!shift_one(&room[i], ndim)) return false;
    }
    v->as.ints = room;
  }
  return true;
}

luc_status luc__vmap_dims(luc_context *ctx, luc_vcall *c) {
  int ndim = luc__vm_ndim(c, 0);
  if (!ndim || !luc__vm_all_batched(c) || !shift(c, ndim)) return LUC_VMAP_DECLINE;
  return luc__vm_call(ctx, c);
}

/* gather, scatter: index and source have as many dimensions as the input. */
luc_status luc__vmap_same_dims(luc_context *ctx, luc_vcall *c) {
  for (int p = 1; p < c->info->schema.nparams; p++)
    if (c->args[p].kind == LUC_TENSOR && luc__vm_ndim(c, p) != luc__vm_ndim(c, 0))
      return LUC_VMAP_DECLINE;
  return luc__vmap_dims(ctx, c);
}

/* The same with places for a new dimension: unsqueeze, diag_embed. */
luc_status luc__vmap_new_dim(luc_context *ctx, luc_vcall *c) {
  if (!shift(c, luc__vm_ndim(c, 0) + 1)) return LUC_VMAP_DECLINE;
  return luc__vm_call(ctx, c);
}

/* (input, dim, index, ...): the index is the same for all. */
luc_status luc__vmap_index_dim(luc_context *ctx, luc_vcall *c) {
  int ndim = luc__vm_ndim(c, 0);
  bool source = c->info->schema.nparams > 3 && c->args[3].kind == LUC_TENSOR;
  if (!ndim || (c->batched >> 2 & 1) || !luc__vm_batch(c, 0)) return LUC_VMAP_DECLINE;
  if (source && (luc__vm_ndim(c, 3) != ndim || !luc__vm_batch(c, 3))) return LUC_VMAP_DECLINE;
  return shift(c, ndim) ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
}

/* ---- reductions ---- */

/* `dim` names all dimensions of a sample; one without any gets one. */
static void all_dims(luc_vcall *c, int p) {
  int ndim = luc__vm_ndim(c, 0);
  int64_t *room = c->rooms[c->nrooms++];
  if (ndim == 0) {
    int keepdim = luc__schema_find(&c->info->schema, "keepdim");
    c->args[0].as.tensor =
        luc__f_reshape(&c->f, c->args[0].as.tensor, 2, (int64_t[]){c->level->size, 1});
    if (keepdim >= 0) c->args[keepdim] = luc_v_bool(false);
    ndim = 1;
  }
  for (int d = 0; d < ndim; d++) room[d] = d + 1;
  c->args[p] = luc_v_ints(room, ndim);
}

/* (input, ..., Dim[]? dim, ...): no dimension stands for all. */
luc_status luc__vmap_reduce(luc_context *ctx, luc_vcall *c) {
  int p = luc__schema_find(&c->info->schema, "dim"), ndim = luc__vm_ndim(c, 0);
  const luc_value *v = &c->args[p];
  if (v->kind == LUC_NONE || (v->kind == LUC_INTS && v->n == 0)) {
    all_dims(c, p);
  } else if (!ndim || !shift(c, ndim)) {
    return LUC_VMAP_DECLINE;
  }
  return luc__vm_call(ctx, c);
}

/* (input, Dim? dim, ...): no dimension stands for the flattened input. */
luc_status luc__vmap_reduce_one(luc_context *ctx, luc_vcall *c) {
  int p = luc__schema_find(&c->info->schema, "dim");
  int keepdim = luc__schema_find(&c->info->schema, "keepdim");
  if (c->args[p].kind != LUC_NONE) return luc__vmap_dims(ctx, c);
  if (keepdim >= 0 && c->args[keepdim].as.i) return LUC_VMAP_DECLINE;
  int64_t sizes[] = {c->level->size, c->given[0].as.tensor->numel};
  c->args[0].as.tensor = luc__f_reshape(&c->f, c->args[0].as.tensor, 2, sizes);
  c->args[p] = luc_v_int(1);
  return luc__vm_call(ctx, c);
}

/* max(input), min(input), whose gradient is that of amax and amin. */
luc_status luc__vmap_extreme(luc_context *ctx, luc_vcall *c) {
  luc_opid op = c->op == LUC_OP_max ? LUC_OP_amax : LUC_OP_amin;
  if (luc__vm_ndim(c, 0) == 0) return LUC_VMAP_DECLINE;
  all_dims(c, 1);
  return luc_call(ctx, op, c->args, 2, c->out);
}

/* ---- shapes ---- */

/* self as sizes[] with the level's dimension in front. */
static luc_status reshaped(luc_context *ctx, luc_vcall *c, luc_opid op, int n,
                           const int64_t *sizes) {
  int64_t all[LUC_MAX_DIMS];
  if (n >= LUC_MAX_DIMS || !luc__vm_batch(c, 0)) return LUC_VMAP_DECLINE;
  all[0] = c->level->size;
  copy_sizes(all + 1, sizes, n);
  return luc_call(ctx, op, LUC_ARGS(c->args[0], luc_v_ints(all, n + 1)), c->out);
}

/* view(self, shape), reshape: a -1 among the sizes is worked out for one sample. */
luc_status luc__vmap_view(luc_context *ctx, luc_vcall *c) {
  const luc_value *shape = &c->args[1];
  int64_t sizes[LUC_MAX_DIMS], known = 1, numel = c->given[0].as.tensor->numel;
  int hole = -1;
  if (shape->n >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  for (int d = 0; d < shape->n; d++) {
    sizes[d] = shape->as.ints[d];
    if (sizes[d] < -1 || (sizes[d] == -1 && hole >= 0)) return LUC_VMAP_DECLINE;
    if (sizes[d] == -1) hole = d;
    if (sizes[d] != -1) known *= sizes[d];
  }
  if (hole >= 0 && (!known || numel % known)) return LUC_VMAP_DECLINE;
  if (hole >= 0) sizes[hole] = numel / known;
  if (hole < 0 && known != numel) return LUC_VMAP_DECLINE;
  return reshaped(ctx, c, c->op, shape->n, sizes);
}

/* ravel, flatten of a number */
luc_status luc__vmap_ravel(luc_context *ctx, luc_vcall *c) {
  return reshaped(ctx, c, LUC_OP_reshape, 1, &c->given[0].as.tensor->numel);
}

luc_status luc__vmap_flatten(luc_context *ctx, luc_vcall *c) {
  bool whole = c->args[1].as.i >= -1 && c->args[1].as.i <= 0 && c->args[2].as.i >= -1 &&
               c->args[2].as.i <= 0;
  if (luc__vm_ndim(c, 0)) return luc__vmap_dims(ctx, c);
  return whole ? luc__vmap_ravel(ctx, c) : LUC_VMAP_DECLINE;
}

/* view_as, reshape_as: of the other only the shape counts. */
luc_status luc__vmap_view_as(luc_context *ctx, luc_vcall *c) {
  const luc_tensor *self = c->given[0].as.tensor, *other = c->given[1].as.tensor;
  if (self->numel != other->numel) return LUC_VMAP_DECLINE;
  return reshaped(ctx, c, c->op == LUC_OP_view_as ? LUC_OP_view : LUC_OP_reshape, other->ndim,
                  other->sizes);
}

static luc_status expanded(luc_context *ctx, luc_vcall *c, luc_opid op, int n,
                           const int64_t *sizes) {
  int64_t all[LUC_MAX_DIMS];
  if (n >= LUC_MAX_DIMS || n < luc__vm_ndim(c, 0)) return LUC_VMAP_DECLINE;
  if (!(c->batched & 1)) return LUC_VMAP_DECLINE;
  for (int d = 0; d < n - luc__vm_ndim(c, 0); d++)
    if (sizes[d] < 0) return LUC_VMAP_DECLINE;
  all[0] = op == LUC_OP_repeat ? 1 : c->level->size;
  copy_sizes(all + 1, sizes, n);
  c->args[0].as.tensor = luc__vm_pad(c, c->args[0].as.tensor, n);
  LUC_TRY(c->f.status);
  return luc_call(ctx, op, LUC_ARGS(c->args[0], luc_v_ints(all, n + 1)), c->out);
}

/* expand(self, size), broadcast_to, repeat */
luc_status luc__vmap_expand(luc_context *ctx, luc_vcall *c) {
  return expanded(ctx, c, c->op, c->args[1].n, c->args[1].as.ints);
}

luc_status luc__vmap_expand_as(luc_context *ctx, luc_vcall *c) {
  const luc_tensor *other = c->given[1].as.tensor;
  return expanded(ctx, c, LUC_OP_expand, other->ndim, other->sizes);
}

/* squeeze(input, dim): without a dim, of all that are 1 */
luc_status luc__vmap_squeeze(luc_context *ctx, luc_vcall *c) {
  const luc_tensor *self = c->given[0].as.tensor;
  if (c->args[1].kind != LUC_NONE) return luc__vmap_dims(ctx, c);
  int64_t sizes[LUC_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < self->ndim; d++)
    if (self->sizes[d] != 1) sizes[n++] = self->sizes[d];
  return reshaped(ctx, c, LUC_OP_view, n, sizes);
}

/* permute(input, dims) */
luc_status luc__vmap_permute(luc_context *ctx, luc_vcall *c) {
  int n = c->args[1].n;
  int64_t dims[LUC_MAX_DIMS] = {0};
  if (n != luc__vm_ndim(c, 0) || !shift(c, n)) return LUC_VMAP_DECLINE;
  copy_sizes(dims + 1, c->args[1].as.ints, n);
  return luc_call(ctx, LUC_OP_permute, LUC_ARGS(c->args[0], luc_v_ints(dims, n + 1)), c->out);
}

/* t, T: dimensions in reverse */
luc_status luc__vmap_reverse(luc_context *ctx, luc_vcall *c) {
  int n = luc__vm_ndim(c, 0);
  int64_t dims[LUC_MAX_DIMS] = {0};
  if (n > 2) return LUC_VMAP_DECLINE;
  for (int d = 0; d < n; d++) dims[1 + d] = n - d;
  return luc_call(ctx, LUC_OP_permute, LUC_ARGS(c->args[0], luc_v_ints(dims, n + 1)), c->out);
}

/* new_zeros(self, size, ...) and its kin: one for each sample, so that it can be written to. */
luc_status luc__vmap_new(luc_context *ctx, luc_vcall *c) {
  int64_t sizes[LUC_MAX_DIMS];
  int n = c->args[1].n;
  if (n >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  sizes[0] = c->level->size;
  copy_sizes(sizes + 1, c->args[1].as.ints, n);
  c->args[1] = luc_v_ints(sizes, n + 1);
  return luc__vm_call(ctx, c);
}

/* strided_view(self, size, stride, offset, base_stride, base_offset): geometry as one sample sees
 * it, whose offset is the first sample's. */
luc_status luc__vmap_strided_view(luc_context *ctx, luc_vcall *c) {
  const luc_tensor *self = c->args[0].as.tensor;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  int n = c->args[1].n;
  if (n >= LUC_MAX_DIMS || c->args[2].n != n) return LUC_VMAP_DECLINE;
  sizes[0] = c->level->size;
  strides[0] = self->strides[0];
  copy_sizes(sizes + 1, c->args[1].as.ints, n);
  copy_sizes(strides + 1, c->args[2].as.ints, n);
  return luc_call(ctx, c->op,
                  LUC_ARGS(c->args[0], luc_v_ints(sizes, n + 1), luc_v_ints(strides, n + 1),
                           c->args[3], luc_v_ints(self->strides, self->ndim),
                           luc_v_int(self->offset)),
                  c->out);
}

/* strided_add(grad, size, stride, offset) */
luc_status luc__vmap_strided_add(luc_context *ctx, luc_vcall *c) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  int n = c->args[1].n, m = c->args[2].n;
  if (n >= LUC_MAX_DIMS || m >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  sizes[0] = c->level->size;
  strides[0] = 1;
  for (int d = 0; d < n; d++) strides[0] *= sizes[d + 1] = c->args[1].as.ints[d];
  copy_sizes(strides + 1, c->args[2].as.ints, m);
  return luc_call(
      ctx, c->op,
      LUC_ARGS(c->args[0], luc_v_ints(sizes, n + 1), luc_v_ints(strides, m + 1), c->args[3]),
      c->out);
}

/* ---- lists: join(tensors, dim, starts), stack(tensors, dim) ---- */

luc_status luc__vmap_list(luc_context *ctx, luc_vcall *c) {
  const luc_value *given = &c->given[0];
  if (!given->n || !given->as.tensors[0]) return LUC_VMAP_DECLINE;
  int ndim = given->as.tensors[0]->ndim + (c->op == LUC_OP_stack);
  if (!ndim || !shift(c, ndim)) return LUC_VMAP_DECLINE;
  for (int i = 0; i < given->n; i++)
    if (c->list[i] == given->as.tensors[i]) c->list[i] = expand(c, c->list[i]);
  return luc__vm_call(ctx, c);
}

/* ---- what knows of dimensions in front by itself ---- */

/* Operators of matrices take any number of batch dimensions before the last two. */
luc_status luc__vmap_matrix(luc_context *ctx, luc_vcall *c) {
  int ndim = luc__vm_ndim(c, 0);
  if (ndim < 2) return LUC_VMAP_DECLINE;
  for (int p = 1; p < c->info->schema.nparams; p++) {
    bool tolerance = c->info->schema.params[p].type == LUC_T_OPERAND;
    if (c->args[p].kind == LUC_TENSOR && (tolerance || luc__vm_ndim(c, p) != ndim))
      return LUC_VMAP_DECLINE;
  }
  return luc__vm_all_batched(c) ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
}

/* The shape depends on the values. */
luc_status luc__vmap_dynamic(luc_context *ctx, luc_vcall *c) {
  return luc__fail(ctx, LUC_ERR_STATE,
                   "%s: vmap: We do not support batching operators that can output dynamic shape",
                   c->info->schema.name);
}

/* masked_select(input, mask) with one mask for all */
luc_status luc__vmap_masked_select(luc_context *ctx, luc_vcall *c) {
  return c->batched >> 1 & 1 ? luc__vmap_dynamic(ctx, c) : LUC_VMAP_DECLINE;
}

luc_status luc__vmap_one_hot(luc_context *ctx, luc_vcall *c) {
  return c->args[1].as.i > 0 ? luc__vm_call(ctx, c) : luc__vmap_dynamic(ctx, c);
}
