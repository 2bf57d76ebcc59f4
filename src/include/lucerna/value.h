/* Boxed arguments and results, as operators and modules take them. A value borrows what it points
 * to; results own theirs (luc_outputs_release). */
#ifndef LUCERNA_VALUE_H
#define LUCERNA_VALUE_H

#include "lucerna/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum luc_kind {
  LUC_NONE, /* an optional argument that was not given */
  LUC_BOOLEAN,
  LUC_INT,
  LUC_FLOAT,
  LUC_TENSOR,
  LUC_TENSORS, /* n tensors */
  LUC_INTS,    /* n integers */
  LUC_FLOATS,
  LUC_STRING, /* NUL-terminated */
  LUC_DTYPE,
  LUC_GENERATOR
} luc_kind;

typedef struct luc_value {
  uint8_t kind; /* luc_kind */
  int32_t n;    /* length of a list */
  union {
    int64_t i; /* BOOLEAN, INT, DTYPE */
    double f;
    luc_tensor *tensor;
    luc_tensor **tensors;
    const int64_t *ints;
    const double *floats;
    const char *string;
    struct luc_generator *generator;
  } as;
} luc_value;

/* What stands for None in a list of integers (`int?[2]`). */
#define LUC_NO_ITEM INT64_MIN

/* Initializers of values. */
#ifndef __cplusplus
#define LUC_VALUE_NONE                                                                             \
  { .kind = LUC_NONE }
#define LUC_VALUE_BOOL(b)                                                                          \
  {                                                                                                \
    .kind = LUC_BOOLEAN, .as = {.i = (b) }                                                         \
  }
#define LUC_VALUE_INT(v)                                                                           \
  {                                                                                                \
    .kind = LUC_INT, .as = {.i = (v) }                                                             \
  }
#define LUC_VALUE_FLOAT(v)                                                                         \
  {                                                                                                \
    .kind = LUC_FLOAT, .as = {.f = (v) }                                                           \
  }
#define LUC_VALUE_TENSOR(t)                                                                        \
  {                                                                                                \
    .kind = LUC_TENSOR, .as = {.tensor = (t) }                                                     \
  }
#define LUC_VALUE_STRING(s)                                                                        \
  {                                                                                                \
    .kind = LUC_STRING, .as = {.string = (s) }                                                     \
  }
#define LUC_VALUE_INTS(v, count)                                                                   \
  {                                                                                                \
    .kind = LUC_INTS, .n = (count), .as = {.ints = (v) }                                           \
  }
#else /* where members of a union cannot be named before C++20 */
#define LUC_VALUE_NONE (luc_value())
static inline luc_value LUC_VALUE_BOOL(bool b) {
  return luc_value{LUC_BOOLEAN, 0, {b}};
}
static inline luc_value LUC_VALUE_INT(int64_t v) {
  return luc_value{LUC_INT, 0, {v}};
}
static inline luc_value LUC_VALUE_FLOAT(double v) {
  luc_value value = {LUC_FLOAT, 0, {0}};
  value.as.f = v;
  return value;
}
static inline luc_value LUC_VALUE_TENSOR(luc_tensor *t) {
  luc_value value = {LUC_TENSOR, 0, {0}};
  value.as.tensor = t;
  return value;
}
static inline luc_value LUC_VALUE_STRING(const char *s) {
  luc_value value = {LUC_STRING, 0, {0}};
  value.as.string = s;
  return value;
}
static inline luc_value LUC_VALUE_INTS(const int64_t *v, int count) {
  luc_value value = {LUC_INTS, count, {0}};
  value.as.ints = v;
  return value;
}
}
#endif
#endif
