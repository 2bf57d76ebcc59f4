/* CSV files as tensors and back. */
#ifndef LUC_CSV_H
#define LUC_CSV_H

#include "io/file.h"
#include "tensor/tensor.h"

typedef struct luc_csv_options {
  char delimiter;
  bool header;      /* the first row is names */
  bool only_header; /* the rest is not read, and no tensor made */
  luc_dtype dtype;
  const luc_scalar *fill; /* for missing values; NULL: they are errors */
  const int64_t *columns; /* ncolumns positions from 0 on, in any order; NULL: all */
  int64_t ncolumns;
} luc_csv_options;

/* Reads an input, which it takes over, as a tensor [rows, columns]. names: of a header, each with a
 * NUL behind it. */
luc_status luc__csv_read(luc_input input, const luc_csv_options *options, luc_text *names,
                         luc_tensor **out);
/* Writes a tensor [rows, columns], numbers in as few digits as bring them back. names: NULL, or as
 * many as there are columns. */
luc_status luc__csv_write(luc_context *ctx, const luc_target *to, char delimiter,
                          const char *const *names, luc_tensor *t);

#endif
