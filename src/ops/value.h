/* Making and reading boxed values: what goes through the one door. A value borrows what it points
 * to; results own theirs (luc__value_release). */
#ifndef LUC_VALUE_H
#define LUC_VALUE_H

#include "lucerna/value.h"
#include "tensor/tensor.h"

static inline luc_value luc_v_none(void) {
  return (luc_value){.kind = LUC_NONE};
}
static inline luc_value luc_v_bool(bool b) {
  return (luc_value){.kind = LUC_BOOLEAN, .as.i = b};
}
static inline luc_value luc_v_int(int64_t i) {
  return (luc_value){.kind = LUC_INT, .as.i = i};
}
static inline luc_value luc_v_float(double f) {
  return (luc_value){.kind = LUC_FLOAT, .as.f = f};
}
/* NULL gives None. */
static inline luc_value luc_v_tensor(luc_tensor *t) {
  return (luc_value){.kind = t ? LUC_TENSOR : LUC_NONE, .as.tensor = t};
}
static inline luc_value luc_v_tensors(luc_tensor **v, int n) {
  return (luc_value){.kind = LUC_TENSORS, .n = n, .as.tensors = v};
}
static inline luc_value luc_v_ints(const int64_t *v, int n) {
  return (luc_value){.kind = LUC_INTS, .n = n, .as.ints = v};
}
static inline luc_value luc_v_string(const char *s) {
  return (luc_value){.kind = LUC_STRING, .as.string = s};
}
static inline luc_value luc_v_dtype(luc_dtype d) {
  return (luc_value){.kind = LUC_DTYPE, .as.i = d};
}
static inline luc_value luc_v_scalar(luc_scalar s) {
  if (s.kind == LUC_SCALAR_FLOAT) return luc_v_float(s.as.f);
  return s.kind == LUC_SCALAR_INT ? luc_v_int(s.as.i) : luc_v_bool(s.as.i != 0);
}

/* Reading an argument that the schema guarantees. */
static inline bool luc_is_none(const luc_value *v) {
  return v->kind == LUC_NONE;
}
static inline luc_tensor *luc_as_tensor(const luc_value *v) {
  return v->kind == LUC_TENSOR ? v->as.tensor : NULL;
}
/* The tensors of either kind of argument, one or a list of them: how many, and *list. */
static inline int luc_as_tensors(const luc_value *v, luc_tensor *const **list) {
  *list = v->kind == LUC_TENSORS ? v->as.tensors : &v->as.tensor;
  return v->kind == LUC_TENSORS ? v->n : v->kind == LUC_TENSOR;
}
static inline luc_scalar luc_as_scalar(const luc_value *v) {
  if (v->kind == LUC_FLOAT) return (luc_scalar){LUC_SCALAR_FLOAT, {.f = v->as.f}};
  return (luc_scalar){v->kind == LUC_INT ? LUC_SCALAR_INT : LUC_SCALAR_BOOL, {.i = v->as.i}};
}
static inline double luc_as_double(const luc_value *v) {
  return v->kind == LUC_FLOAT ? v->as.f : (double)v->as.i;
}
/* Of a `Generator? generator`: the context's where none is given. */
static inline luc_generator *luc_as_generator(luc_context *ctx, const luc_value *v) {
  return v->kind == LUC_GENERATOR ? v->as.generator : &ctx->rng;
}

/* Drops what a result owns: its tensor, or its list (tensors, and the array from luc__alloc). */
void luc__value_release(luc_context *ctx, luc_value *v);

#endif
