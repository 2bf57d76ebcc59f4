/* Shapes: strides, broadcasting, dimensions counted from the end, overlap, and their messages.
 * Positions in messages count from 1, as every position a Lua user reads; the values here from 0.
 */
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

int64_t luc__contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) {
  int64_t step = 1;
  bool empty = false;
  for (int d = ndim - 1; d >= 0; d--) {
    strides[d] = step;
    if (sizes[d] < 0) return -1;
    if (sizes[d] == 0) empty = true;
    if (sizes[d] > 1 && __builtin_mul_overflow(step, sizes[d], &step)) return -1;
    if (step > INT64_MAX / 16) return -1; /* bytes are counted too, also those of empty tensors */
  }
  return empty ? 0 : step;
}

bool luc__is_contiguous(const luc_tensor *t) {
  if (t->numel == 0) return true;
  int64_t step = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (t->sizes[d] == 1) continue;
    if (t->strides[d] != step) return false;
    step *= t->sizes[d];
  }
  return true;
}

/* The stride of t for dimension d of what it broadcasts to; 0 where it has no say. */
static int64_t stride_in(const luc_tensor *t, const luc_tensor *wide, int d) {
  int own = d - (wide->ndim - t->ndim);
  return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

/* 1 if dimension b goes inside a, -1 if not, 0 if nobody tells. */
static int goes_inside(const luc_tensor *wide, int n, const luc_tensor *const *like, int a, int b) {
  for (int i = 0; i < n; i++) {
    if (like[i] == NULL) continue;
    int64_t outer = stride_in(like[i], wide, a), inner = stride_in(like[i], wide, b);
    if (outer && inner && outer != inner) return inner < outer ? 1 : -1;
  }
  return 0;
}

void luc__take_order(luc_tensor *fresh, int n, const luc_tensor *const *like) {
  int order[LUC_MAX_DIMS], ndim = fresh->ndim; /* innermost first */
  for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
  for (int d = 1; d < ndim; d++)
    for (int at = d, k = d - 1; k >= 0; k--) {
      int told = goes_inside(fresh, n, like, order[k], order[at]);
      if (told < 0) break;
      if (told == 0) continue;
      int moved = order[at];
      order[at] = order[k];
      order[k] = moved;
      at = k;
    }
  int64_t step = 1;
  for (int d = 0; d < ndim; d++) {
    fresh->strides[order[d]] = step;
    if (fresh->sizes[order[d]] > 1) step *= fresh->sizes[order[d]];
  }
}

bool luc__same_sizes(const luc_tensor *a, const luc_tensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++)
    if (a->sizes[d] != b->sizes[d]) return false;
  return true;
}

luc_tensor luc__without_repeats(const luc_tensor *t) {
  luc_tensor once = *t;
  for (int d = 0; d < t->ndim; d++)
    if (t->strides[d] == 0) once.sizes[d] = 1;
  once.numel = luc__product(once.ndim, once.sizes);
  return once;
}

/* The bytes a tensor can touch: [*low, *high). */
static void extent(const luc_tensor *t, const char **low, const char **high) {
  int64_t size = (int64_t)luc__dtype_size(t->dtype), first = 0, last = 0;
  for (int d = 0; d < t->ndim; d++) {
    int64_t reach = (t->sizes[d] - 1) * t->strides[d];
    if (reach < 0)
      first += reach;
    else
      last += reach;
  }
  *low = t->data + first * size;
  *high = t->data + (last + 1) * size;
}

bool luc__may_overlap(const luc_tensor *a, const luc_tensor *b) {
  if (a->storage != b->storage || a->numel == 0 || b->numel == 0) return false;
  const char *a_low, *a_high, *b_low, *b_high;
  extent(a, &a_low, &a_high);
  extent(b, &b_low, &b_high);
  return a_low < b_high && b_low < a_high;
}

bool luc__overlaps_itself(const luc_tensor *t) {
  if (t->numel == 0) return false;
  for (int d = 0; d < t->ndim; d++)
    if (t->strides[d] == 0 && t->sizes[d] > 1) return true;
  return false;
}

/* Do the elements fill the bytes from the first to the last, each once? */
static bool dense(const luc_tensor *t, const char *low, const char *high) {
  int64_t size = (int64_t)luc__dtype_size(t->dtype);
  return high - low == t->numel * size && !luc__overlaps_itself(t);
}

bool luc__overlaps_partly(const luc_tensor *a, const luc_tensor *b) {
  if (a == b || a->storage != b->storage || !luc__may_overlap(a, b)) return false;
  const char *a_low, *a_high, *b_low, *b_high;
  extent(a, &a_low, &a_high);
  extent(b, &b_low, &b_high);
  if (!dense(a, a_low, a_high) || !dense(b, b_low, b_high)) return false;
  if (a_low != b_low || a_high != b_high) return true;
  for (int i = 0, j = 0;; i++, j++) {
    while (i < a->ndim && a->sizes[i] == 1) i++;
    while (j < b->ndim && b->sizes[j] == 1) j++;
    if (i == a->ndim || j == b->ndim) return i < a->ndim || j < b->ndim;
    if (a->strides[i] != b->strides[j]) return true;
  }
}

luc_status luc__broadcast(luc_context *ctx, const luc_tensor *a, const luc_tensor *b, int *ndim,
                          int64_t *sizes) {
  int n = a->ndim > b->ndim ? a->ndim : b->ndim;
  for (int d = n - 1; d >= 0; d--) {
    int da = d - (n - a->ndim), db = d - (n - b->ndim);
    int64_t sa = da < 0 ? 1 : a->sizes[da], sb = db < 0 ? 1 : b->sizes[db];
    LUC_CHECK(ctx, sa == sb || sa == 1 || sb == 1, LUC_ERR_SHAPE,
              "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
              "non-singleton dimension %d",
              (long long)sa, (long long)sb, d + 1);
    sizes[d] = sa == 1 ? sb : sa;
  }
  *ndim = n;
  return LUC_OK;
}

/* A position as a user wrote it. */
static long long shown_position(int64_t i) {
  if (i == LUC_POSITION_ZERO) return 0;
  return i < 0 || i == INT64_MAX ? i : i + 1;
}

luc_status luc__dim_wrap(luc_context *ctx, int64_t dim, int ndim, int *out) {
  int n = ndim == 0 ? 1 : ndim;
  LUC_CHECK(ctx, dim >= -n && dim < n, LUC_ERR_INDEX,
            "dim %lld is out of range [%d, %d] (dims count from 1)", shown_position(dim), -n, n);
  *out = (int)(dim < 0 ? dim + n : dim);
  return LUC_OK;
}

luc_status luc__index_wrap(luc_context *ctx, int64_t index, int64_t size, int64_t *out) {
  long long shown = shown_position(index);
  LUC_CHECK(ctx, size > 0, LUC_ERR_INDEX,
            "index %lld is out of range: the dimension is empty (indices count from 1)", shown);
  LUC_CHECK(ctx, index >= -size && index < size, LUC_ERR_INDEX,
            "index %lld is out of range [1, %lld] (indices count from 1)", shown, (long long)size);
  *out = index < 0 ? index + size : index;
  return LUC_OK;
}

const char *luc__shape_text(char *buf, int ndim, const int64_t *sizes) {
  char *p = buf;
  *p++ = '[';
  for (int d = 0; d < ndim; d++)
    p += snprintf(p, 23, d == 0 ? "%lld" : ", %lld", (long long)sizes[d]);
  memcpy(p, "]", 2);
  return buf;
}

const char *luc__tensor_shape_text(char *buf, const luc_tensor *t) {
  return luc__shape_text(buf, t->ndim, t->sizes);
}
