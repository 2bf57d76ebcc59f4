/* A growing text: tensors, module trees and error listings are written into one.
 * The first failure sticks and later writes do nothing, so that only the end needs a check. */
#ifndef LUC_TEXT_H
#define LUC_TEXT_H

#include "base/context.h"

typedef struct luc_text {
  luc_context *ctx;
  char *data; /* NUL-terminated once anything was written */
  size_t length, capacity;
  luc_status status;
} luc_text;

void luc__text_init(luc_text *text, luc_context *ctx);
void luc__text_append(luc_text *text, const char *bytes, size_t length);
void luc__text_puts(luc_text *text, const char *string);
void luc__text_fill(luc_text *text, char c, int64_t count);
void luc__text_printf(luc_text *text, const char *fmt, ...) LUC_PRINTF(2, 3);
/* Appends with `spaces` blanks after every newline, as module reprs nest. */
void luc__text_indented(luc_text *text, const char *string, int spaces);
/* Hands the block over (free it with luc_text_free) or frees it and passes the failure on. */
luc_status luc__text_finish(luc_text *text, char **out, size_t *size);
void luc__text_drop(luc_text *text);

/* Python's repr of a float: the fewest digits that read back, exponents of two digits. */
enum { LUC_FLOAT_TEXT = 40 };
void luc__float_text(char out[LUC_FLOAT_TEXT], double f);

/* How many letters to change, insert or leave out to get b from a; INT_MAX if b is too long. */
int luc__edit_distance(const char *a, const char *b);
/* How far what somebody wrote is from a name: all letters left out at its ends count as one. */
int luc__miss(const char *written, const char *name);

#endif
