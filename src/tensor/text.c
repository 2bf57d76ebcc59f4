/* The growing text behind tostring and long messages.
 * Capacity doubles; `data` stays NUL-terminated after every write that succeeded. */
#include "tensor/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numerals.h"
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

/* ---- numbers ---- */

/* a as digits / 10^*decimals with as few decimals as read back: both are exact, so that their
 * quotient is a number nearest to that decimal, and no other of 15 digits has the same. 0 if there
 * is none; a > 0. */
static int64_t to_decimal(double a, int *decimals) {
  double scale = 1;
  for (int d = 0; d <= 22 && a * scale < 1e15; d++, scale *= 10) {
    int64_t digits = (int64_t)(a * scale + 0.5);
    *decimals = d;
    if ((double)digits / scale == a) return digits;
  }
  return 0;
}

/* Python's way of writing one with up to 15 digits. */
static void write_decimal(char *out, const char *sign, int64_t digits, int decimals) {
  char text[24];
  int n = snprintf(text, sizeof text, "%lld", (long long)digits), exponent = n - 1 - decimals;
  if (exponent < -4)
    snprintf(out, LUC_FLOAT_TEXT, "%s%c%s%se%03d", sign, text[0], n > 1 ? "." : "", text + 1,
             exponent);
  else if (decimals == 0)
    snprintf(out, LUC_FLOAT_TEXT, "%s%s.0", sign, text);
  else if (n > decimals)
    snprintf(out, LUC_FLOAT_TEXT, "%s%.*s.%s", sign, n - decimals, text, text + n - decimals);
  else
    snprintf(out, LUC_FLOAT_TEXT, "%s0.%.*s%s", sign, decimals - n, "0000", text);
}

/* Any other, in as many digits as read back. */
static void write_digits(char *out, double f) {
  int digits = 1;
  do snprintf(out, LUC_FLOAT_TEXT, "%.*e", digits - 1, f);
  while (strtod(out, NULL) != f && ++digits <= 17);
  int exponent = atoi(strchr(out, 'e') + 1);
  if (exponent < -4 || exponent >= 16) return;
  int after = digits - 1 - exponent;
  snprintf(out, LUC_FLOAT_TEXT, "%.*f", after > 1 ? after : 1, f);
}

void luc__float_text(char out[LUC_FLOAT_TEXT], double f) {
  int decimals;
  int64_t plain = isfinite(f) && f != 0 ? to_decimal(fabs(f), &decimals) : 0;
  if (plain) {
    write_decimal(out, f < 0 ? "-" : "", plain, decimals);
    return;
  }
  if (!isfinite(f)) {
    snprintf(out, LUC_FLOAT_TEXT, "%s", isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
    return;
  }
  luc_numerals numerals = luc__numerals_begin();
  write_digits(out, f);
  luc__numerals_end(numerals);
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

int luc__miss(const char *written, const char *name) {
  const char *part = strstr(name, written);
  const bool left_out = part && (part == name || strlen(written) > 2);
  return left_out ? 1 : luc__edit_distance(written, name);
}
