/* The growing text behind tostring and long messages.
 * Capacity doubles; `data` stays NUL-terminated after every write that succeeded. */
#include "tensor/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lucerna/tensor.h"

void luc__text_init(luc_text *text, luc_context *ctx) {
  *text = (luc_text){.ctx = ctx};
}

/* Room for `more` bytes and the NUL, or false. */
static bool reserve(luc_text *text, size_t more) {
  if (text->status != LUC_OK) return false;
  if (more < text->capacity - text->length) return true;
  size_t capacity = text->capacity == 0 ? 64 : text->capacity * 2;
  if (capacity <= text->length + more) capacity = text->length + more + 1;
  char *data = luc__realloc(text->ctx, text->data, text->capacity, capacity);
  if (data == NULL) {
    text->status = LUC_ERR_MEMORY;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void luc__text_append(luc_text *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void luc__text_puts(luc_text *text, const char *string) {
  luc__text_append(text, string, strlen(string));
}

void luc__text_fill(luc_text *text, char c, int64_t count) {
  if (count <= 0 || !reserve(text, (size_t)count)) return;
  memset(text->data + text->length, c, (size_t)count);
  text->length += (size_t)count;
  text->data[text->length] = '\0';
}

/* Mostly written where it belongs at once: vsnprintf takes longer than all else here. */
void luc__text_printf(luc_text *text, const char *fmt, ...) {
  enum { MOSTLY = 32 };
  va_list args;
  if (!reserve(text, MOSTLY)) return;
  size_t room = text->capacity - text->length;
  va_start(args, fmt);
  int need = vsnprintf(text->data + text->length, room, fmt, args);
  va_end(args);
  if (need < 0 || (size_t)need >= room) {
    text->data[text->length] = '\0';
    if (need < 0 || !reserve(text, (size_t)need)) return;
    va_start(args, fmt);
    vsnprintf(text->data + text->length, (size_t)need + 1, fmt, args);
    va_end(args);
  }
  text->length += (size_t)need;
}

void luc__text_indented(luc_text *text, const char *string, int spaces) {
  for (const char *end; (end = strchr(string, '\n')) != NULL; string = end + 1) {
    luc__text_append(text, string, (size_t)(end + 1 - string));
    luc__text_fill(text, ' ', spaces);
  }
  luc__text_puts(text, string);
}

void luc__text_drop(luc_text *text) {
  luc__free(text->ctx, text->data, text->capacity);
  luc__text_init(text, text->ctx);
}

luc_status luc__text_finish(luc_text *text, char **out, size_t *size) {
  *out = NULL;
  *size = 0;
  luc__text_append(text, "", 0);
  luc_status status = text->status;
  char *exact = NULL;
  if (status == LUC_OK) {
    exact = luc__realloc(text->ctx, text->data, text->capacity, text->length + 1);
    if (exact == NULL) status = LUC_ERR_MEMORY;
  }
  if (status != LUC_OK) {
    luc__text_drop(text);
    return status;
  }
  *out = exact;
  *size = text->length + 1;
  luc__text_init(text, text->ctx);
  return LUC_OK;
}

void luc_text_free(luc_context *ctx, char *text, size_t size) {
  luc__free(ctx, text, size);
}

int luc__edit_distance(const char *a, const char *b) {
  enum { LONGEST = 128 };
  int row[LONGEST + 1], n = (int)strlen(b);
  if (n > LONGEST) return INT_MAX;
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 1; a[i - 1] != '\0'; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[n];
}
