/* Building and walking nests of loops. */
#include "cpu/nest.h"

#include <stdlib.h>

void luc__nest_init(luc_nest *nest, int ndim, const int64_t *sizes) {
  nest->ndim = ndim;
  nest->count = 0;
  nest->numel = 1;
  for (int d = 0; d < ndim; d++) {
    nest->sizes[d] = sizes[ndim - 1 - d];
    nest->numel *= nest->sizes[d];
  }
}

void luc__nest_add(luc_nest *nest, const luc_tensor *t) {
  int64_t *strides = nest->strides[nest->count];
  nest->base[nest->count++] = t ? t->data : NULL;
  for (int d = 0; d < nest->ndim; d++) {
    int own = t ? t->ndim - 1 - d : -1;
    bool repeated = own < 0 || (t->sizes[own] == 1 && nest->sizes[d] != 1);
    strides[d] = repeated ? 0 : t->strides[own] * (int64_t)luc__dtype_size(t->dtype);
  }
}

static void drop_ones(luc_nest *nest) {
  int kept = 0;
  for (int d = 0; d < nest->ndim; d++) {
    if (nest->sizes[d] == 1) continue;
    nest->sizes[kept] = nest->sizes[d];
    for (int i = 0; i < nest->count; i++) nest->strides[i][kept] = nest->strides[i][d];
    kept++;
  }
  if (kept == 0) {
    nest->sizes[0] = 1;
    for (int i = 0; i < nest->count; i++) nest->strides[i][0] = 0;
    kept = 1;
  }
  nest->ndim = kept;
}

void luc__nest_swap(luc_nest *nest, int a, int b) {
  int64_t t = nest->sizes[a];
  nest->sizes[a] = nest->sizes[b];
  nest->sizes[b] = t;
  for (int i = 0; i < nest->count; i++) {
    t = nest->strides[i][a];
    nest->strides[i][a] = nest->strides[i][b];
    nest->strides[i][b] = t;
  }
}

/* Should dimension b go inside a? The first operand to which it makes a difference decides; a lone
 * one is not repeated element by element. */
static bool closer(const luc_nest *nest, int a, int b) {
  for (int i = 0; i < nest->count; i++) {
    int64_t sa = llabs(nest->strides[i][a]), sb = llabs(nest->strides[i][b]);
    if (sa && sb && sa != sb) return sb < sa;
  }
  return nest->count == 1 && nest->strides[0][a] == 0 && nest->strides[0][b] != 0;
}

static bool mergeable(const luc_nest *nest, int inner, int outer) {
  for (int i = 0; i < nest->count; i++)
    if (nest->strides[i][outer] != nest->strides[i][inner] * nest->sizes[inner]) return false;
  return true;
}

static void merge(luc_nest *nest) {
  int last = 0;
  for (int d = 1; d < nest->ndim; d++) {
    if (mergeable(nest, last, d)) {
      nest->sizes[last] *= nest->sizes[d];
      continue;
    }
    last++;
    nest->sizes[last] = nest->sizes[d];
    for (int i = 0; i < nest->count; i++) nest->strides[i][last] = nest->strides[i][d];
  }
  nest->ndim = last + 1;
}

void luc__nest_simplify(luc_nest *nest) {
  drop_ones(nest);
  for (int d = 1; d < nest->ndim; d++)
    for (int k = d; k > 0 && closer(nest, k - 1, k); k--) luc__nest_swap(nest, k - 1, k);
  merge(nest);
}

bool luc__nest_is_linear(const luc_nest *nest, int i, int64_t size) {
  for (int d = 0; d < nest->ndim; d++) {
    if (nest->strides[i][d] != size) return false;
    size *= nest->sizes[d];
  }
  return true;
}

void luc__nest_seek(const luc_nest *nest, int64_t index, luc_cursor *c) {
  for (int i = 0; i < nest->count; i++) c->ptr[i] = nest->base[i];
  for (int d = 0; d < nest->ndim; d++) {
    bool last = d == nest->ndim - 1;
    c->at[d] = last ? index : index % nest->sizes[d];
    if (!last) index /= nest->sizes[d];
    for (int i = 0; i < nest->count; i++) c->ptr[i] += c->at[d] * nest->strides[i][d];
  }
}

void luc__nest_carry(const luc_nest *nest, luc_cursor *c) {
  for (int d = 0; d + 1 < nest->ndim && c->at[d] == nest->sizes[d]; d++) {
    c->at[d] = 0;
    c->at[d + 1]++;
    for (int i = 0; i < nest->count; i++)
      c->ptr[i] += nest->strides[i][d + 1] - nest->sizes[d] * nest->strides[i][d];
  }
}
