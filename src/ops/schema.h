/* The notation that declares operators and module constructors, parsed once per context:
 *   conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, *, ...) -> Tensor
 * (a name like linalg.det is published as det in the table lucerna.linalg).
 * Types: Tensor, Operand (a tensor or a number), Scalar (number or boolean), int, float, bool, str,
 * dtype, Generator, device; Dim and Index (counted from 1 in Lua), IndexTensor (values counted from
 * 1 in Lua); each with `?` (may be None) and `[]` / `[k]` (a list; with k a single value stands for
 * k equal ones; `IndexTensor?[]` is a list with holes). `Padding[k]` is int[k] or a str; DimPair
 * is two lists of as many dims, one after the other; Any is the binding's. `Size` is int[] that
 * may also be given as varargs; `Dims` likewise for Dim. str may list what is allowed:
 * str(none|mean|sum). `*` begins keyword-only arguments. Defaults: numbers, True, False, None,
 * 'text', [1, 2], float32. Results: `Tensor`, `(Tensor values, IndexTensor indices)`, `Tensor[]`,
 * `bool`, `Scalar`, `None`. */
#ifndef LUC_SCHEMA_H
#define LUC_SCHEMA_H

#include "ops/value.h"

/* ORDER TYPE (names in schema.c) */
typedef enum luc_type {
  LUC_T_TENSOR,
  LUC_T_INDEX_TENSOR,
  LUC_T_OPERAND,
  LUC_T_SCALAR,
  LUC_T_INT,
  LUC_T_DIM,
  LUC_T_INDEX,
  LUC_T_SIZE,
  LUC_T_DIMS,
  LUC_T_FLOAT,
  LUC_T_BOOL,
  LUC_T_STR,
  LUC_T_DTYPE,
  LUC_T_DEVICE,
  LUC_T_GENERATOR,
  LUC_T_PADDING,
  LUC_T_DIM_PAIR,
  LUC_T_ANY,  /* functions of the binding only */
  LUC_T_NONE, /* results only */
  LUC_T_COUNT
} luc_type;

enum { LUC_MAX_PARAMS = 16, LUC_MAX_RESULTS = 6, LUC_SCHEMA_INTS = 16, LUC_SCHEMA_FLOATS = 4 };

typedef struct luc_param {
  const char *name;
  uint8_t type;        /* luc_type */
  int8_t list;         /* 0: single; -1: list of any length; k: list of k */
  bool optional;       /* `?`: None is a value */
  bool optional_items; /* `?[]`: entries of the list may be None (NULL tensors) */
  bool has_default;
  bool keyword_only;
  bool whole;          /* the default of a float is written without a point: 0, not 0.0 */
  const char *choices; /* "none|mean|sum", or NULL */
  luc_value def;
} luc_param;

typedef struct luc_schema {
  const char *name;
  uint8_t nparams, npositional, nresults;
  bool result_list; /* -> Tensor[] */
  luc_param params[LUC_MAX_PARAMS];
  uint8_t result_type[LUC_MAX_RESULTS];
  const char *result_name[LUC_MAX_RESULTS]; /* NULL when unnamed */
  char *text;                               /* owned: names and choices point into it */
  size_t text_size;
  uint8_t nints;
  int64_t ints[LUC_SCHEMA_INTS]; /* list defaults point into these: a schema must not move */
  uint8_t nfloats;
  double floats[LUC_SCHEMA_FLOATS];
} luc_schema;

/* Parses; a mistake in the notation is LUC_ERR_VALUE naming the place. */
luc_status luc__schema_parse(luc_context *ctx, const char *text, luc_schema *out);
void luc__schema_free(luc_context *ctx, luc_schema *schema);
/* Position of a parameter, or -1. */
int luc__schema_find(const luc_schema *schema, const char *name);
/* The parameter's name closest to a misspelt one, or NULL if none is near. */
const char *luc__schema_closest(const luc_schema *schema, const char *name);
/* Completes args[given..] with defaults; missing ones are an error "linear: missing argument
 * 'weight'". args has room for nparams values. */
luc_status luc__schema_defaults(luc_context *ctx, const luc_schema *schema, luc_value *args,
                                int given);
/* The position of a str argument in its list of choices ("none|mean|sum": 0, 1, 2); an unknown one
 * is LUC_ERR_VALUE: "nll_loss: reduction must be 'none', 'mean' or 'sum' (got 'avg')". */
luc_status luc__choice(luc_context *ctx, const char *param, const char *choices, const char *given,
                       int *out);
/* "int[2]?" and the like, for messages and generated documents. Returns buf. */
enum { LUC_TYPE_TEXT = 32 };
const char *luc__param_type_text(char *buf, const luc_param *param);

#endif
