/* CSV (RFC 4180) as a tensor [rows, columns]: fields between delimiters, quotes that may hold
 * delimiters and line ends. Strict: every row has as many fields as the first, every field that is
 * asked for is a number or missing; what is not is told by line and column. Numbers are read the
 * same in every locale. What is kept grows with what was read. */
#include "io/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/numerals.h"
#include "io/readers.h"

enum { WINDOW = 1 << 16, MAX_FIELD = 256 };

typedef struct choice {
  int64_t column, place; /* in the file, in the row that is made */
} choice;

typedef struct parser {
  luc_context *ctx;
  const luc_input *input;
  const luc_csv_options *options;
  unsigned char *window;
  uint64_t offset; /* of the window's end in the input */
  const unsigned char *at, *end;
  int64_t line, row_line; /* counted from 1; where the row began */
  char field[MAX_FIELD + 1];
  size_t length; /* of the field, also where it is longer than what is kept of it */
  bool quoted;
  int64_t column, columns; /* of the row so far; of each row, -1: not known yet */
  choice *choices;         /* by column; NULL: all */
  int64_t nchoices, next;
  luc_text *names; /* while the header is read: each with a NUL behind it */
  luc_text values;
} parser;

/* ---- numbers ---- */

static luc_status bad_field(parser *p, const char *what) {
  luc_status status =
      luc__fail(p->ctx, LUC_ERR_IO, "%s: line %lld, column %lld: %s (got '%.40s%s')", p->input->who,
                (long long)p->row_line, (long long)p->column + 1, what, p->field,
                p->length > 40 ? "..." : "");
  luc__io_one_line(p->ctx);
  return status;
}

static bool same_word(const char *text, size_t n, const char *word) {
  if (strlen(word) != n) return false;
  for (size_t i = 0; i < n; i++)
    if ((text[i] | 0x20) != (word[i] | 0x20)) return false;
  return true;
}

static const char *skip_digits(const char *c) {
  while (*c >= '0' && *c <= '9') c++;
  return c;
}

/* Digits, a point, an exponent: nothing else that strtod takes. */
static bool is_decimal(const char *text, size_t n) {
  const char *c = text + (*text == '-' || *text == '+'), *first = c;
  c = skip_digits(c);
  size_t digits = (size_t)(c - first);
  if (*c == '.') {
    first = ++c;
    c = skip_digits(c);
    digits += (size_t)(c - first);
  }
  if (digits && (*c | 0x20) == 'e') {
    c += 1 + (c[1] == '-' || c[1] == '+');
    first = c;
    c = skip_digits(c);
    if (c == first) return false;
  }
  return digits > 0 && c == text + n;
}

/* Short numbers are exact in a double: digits below 2^53 and a power of ten up to 22. */
static bool read_short(const char *c, double *out) {
  static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  bool negative = *c == '-';
  int64_t digits = 0;
  int n = 0, places = 0;
  for (c += negative || *c == '+'; *c >= '0' && *c <= '9' && n < 16; c++, n++)
    digits = digits * 10 + (*c - '0');
  if (*c == '.')
    for (c++; *c >= '0' && *c <= '9' && n < 16; c++, n++, places++)
      digits = digits * 10 + (*c - '0');
  if (*c || n > 15) return false;
  *out = (double)digits / powers[places];
  if (negative) *out = -*out;
  return true;
}

static luc_status read_float(parser *p, const char *text, size_t n, double *out) {
  static const char *const words[] = {"nan", "inf", "infinity"};
  size_t sign = *text == '-' || *text == '+';
  for (int i = 0; i < 3; i++)
    if (same_word(text + sign, n - sign, words[i])) {
      double value = i ? __builtin_inf() : __builtin_nan("");
      *out = *text == '-' ? -value : value;
      return LUC_OK;
    }
  if (!is_decimal(text, n)) return bad_field(p, "expected a number");
  if (n < 20 && read_short(text, out)) return LUC_OK;
  luc_numerals numerals = luc__numerals_begin();
  *out = strtod(text, NULL);
  luc__numerals_end(numerals);
  return LUC_OK;
}

static luc_status read_integer(parser *p, const char *text, size_t n, int64_t *out) {
  bool negative = *text == '-', overflow = false;
  const char *c = text + (negative || *text == '+');
  if (c == text + n || skip_digits(c) != text + n) return bad_field(p, "expected an integer");
  *out = 0;
  for (; *c; c++) {
    overflow |= __builtin_mul_overflow(*out, 10, out);
    overflow |= __builtin_sub_overflow(*out, *c - '0', out); /* negative: one more fits */
  }
  if (!negative) overflow |= __builtin_sub_overflow((int64_t)0, *out, out);
  return overflow ? bad_field(p, "expected a smaller integer") : LUC_OK;
}

static luc_status read_whole(parser *p, const char *text, size_t n, luc_scalar *out) {
  static const struct {
    luc_dtype dtype;
    int64_t least, most;
  } ranges[] = {{LUC_INT8, INT8_MIN, INT8_MAX},
                {LUC_UINT8, 0, UINT8_MAX},
                {LUC_INT16, INT16_MIN, INT16_MAX},
                {LUC_INT32, INT32_MIN, INT32_MAX},
                {LUC_BOOL, 0, 1}};
  out->kind = LUC_SCALAR_INT;
  if (p->options->dtype == LUC_BOOL && same_word(text, n, "true")) {
    out->as.i = 1;
    return LUC_OK;
  }
  if (p->options->dtype == LUC_BOOL && same_word(text, n, "false")) {
    out->as.i = 0;
    return LUC_OK;
  }
  LUC_TRY(read_integer(p, text, n, &out->as.i));
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    if (ranges[i].dtype != p->options->dtype) continue;
    if (out->as.i < ranges[i].least || out->as.i > ranges[i].most) {
      char what[64];
      snprintf(what, sizeof what, "expected what fits into %s", luc__dtype_name(p->options->dtype));
      return bad_field(p, what);
    }
  }
  return LUC_OK;
}

static bool is_missing(const char *text, size_t n) {
  return n == 0 || same_word(text, n, "na") || same_word(text, n, "n/a") ||
         same_word(text, n, "null");
}

/* The field's value, spaces around it left out. */
static luc_status read_value(parser *p, luc_scalar *out) {
  bool whole = !luc__dtype_is_float(p->options->dtype);
  char *text = p->field;
  size_t n = p->length;
  if (n > MAX_FIELD) return bad_field(p, "expected a number");
  while (n > 0 && (*text == ' ' || *text == '\t')) text++, n--;
  while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) text[--n] = '\0';
  if (strlen(text) != n) return bad_field(p, "expected a number");
  if (is_missing(text, n)) {
    if (!p->options->fill) return bad_field(p, "a value is missing");
    *out = *p->options->fill;
    return LUC_OK;
  }
  if (whole) return read_whole(p, text, n, out);
  out->kind = LUC_SCALAR_FLOAT;
  return read_float(p, text, n, &out->as.f);
}

/* ---- fields and rows ---- */

static luc_status keep_value(parser *p, int64_t place) {
  luc_scalar value;
  size_t size = luc__dtype_size(p->options->dtype);
  LUC_TRY(read_value(p, &value));
  size_t row = p->values.length - (size_t)p->nchoices * size; /* the row being made is the last */
  luc__store_scalar(p->values.data + row + (size_t)place * size, p->options->dtype, value);
  return LUC_OK;
}

/* Room for the row's values, before its first field. */
static luc_status begin_row(parser *p) {
  size_t size = luc__dtype_size(p->options->dtype);
  p->next = 0;
  if (p->choices && !p->names) luc__text_fill(&p->values, '\0', p->nchoices * (int64_t)size);
  return p->values.status;
}

static luc_status end_field(parser *p) {
  size_t kept = p->length < MAX_FIELD ? p->length : MAX_FIELD;
  p->field[kept] = '\0';
  if (p->names) {
    luc__text_append(p->names, p->field, kept);
    luc__text_append(p->names, "", 1);
    LUC_TRY(p->names->status);
  } else if (p->choices) {
    for (; p->next < p->nchoices && p->choices[p->next].column == p->column; p->next++)
      LUC_TRY(keep_value(p, p->choices[p->next].place));
  } else { /* all of them, of the first row: their number is not known yet */
    luc_scalar value;
    size_t size = luc__dtype_size(p->options->dtype);
    LUC_TRY(read_value(p, &value));
    luc__text_fill(&p->values, '\0', (int64_t)size);
    LUC_TRY(p->values.status);
    luc__store_scalar(p->values.data + p->values.length - size, p->options->dtype, value);
  }
  p->column++;
  p->length = 0;
  p->quoted = false;
  return LUC_OK;
}

static luc_status choose_all(parser *p) {
  p->choices = luc__alloc(p->ctx, (size_t)p->columns * sizeof *p->choices);
  if (!p->choices) return LUC_ERR_MEMORY;
  p->nchoices = p->columns;
  for (int64_t i = 0; i < p->columns; i++) p->choices[i] = (choice){i, i};
  return LUC_OK;
}

static luc_status check_choices(const parser *p) {
  int64_t n = p->columns;
  for (int64_t i = 0; i < p->nchoices; i++)
    LUC_CHECK(p->ctx, p->choices[i].column < n, LUC_ERR_INDEX,
              "%s: columns: %lld is out of range [1, %lld] (columns count from 1)", p->input->who,
              (long long)p->choices[i].column + 1, (long long)n);
  return LUC_OK;
}

static luc_status end_row(parser *p) {
  LUC_TRY(end_field(p));
  int64_t n = p->column;
  p->column = 0;
  if (p->columns < 0) {
    p->columns = n;
    LUC_TRY(p->choices ? check_choices(p) : choose_all(p));
  }
  LUC_CHECK(p->ctx, n == p->columns, LUC_ERR_IO,
            "%s: line %lld has %lld fields, the first has %lld", p->input->who,
            (long long)p->row_line, (long long)n, (long long)p->columns);
  return LUC_OK;
}

/* ---- bytes ---- */

/* The next byte, or -1 at the end; *status tells an end from a failure. */
static int next_byte(parser *p, luc_status *status) {
  if (p->at == p->end) {
    uint64_t left = p->input->size - p->offset;
    size_t n = left < WINDOW ? (size_t)left : WINDOW;
    *status = n ? luc__input_read(p->input, p->offset, p->window, n) : LUC_OK;
    if (n == 0 || *status != LUC_OK) return -1;
    p->offset += n;
    p->at = p->window;
    p->end = p->window + n;
  }
  return *p->at++;
}

static int peek_byte(parser *p, luc_status *status) {
  int c = next_byte(p, status);
  if (c >= 0) p->at--;
  return c;
}

static void keep_byte(parser *p, int c) {
  if (p->length < MAX_FIELD) p->field[p->length] = (char)c;
  p->length++;
}

/* What a quote opened, up to the one that closes it. */
static luc_status read_quoted(parser *p) {
  luc_status status = LUC_OK;
  p->quoted = true;
  for (;;) {
    int c = next_byte(p, &status);
    if (c < 0 && status != LUC_OK) return status;
    if (c < 0)
      return luc__fail(p->ctx, LUC_ERR_IO, "%s: line %lld, column %lld: a quote is never closed",
                       p->input->who, (long long)p->row_line, (long long)p->column + 1);
    if (c == '"' && peek_byte(p, &status) != '"') return status;
    if (c == '"') p->at++;
    p->line += c == '\n';
    keep_byte(p, c);
  }
}

/* One row, or *over; lines with nothing in them are none. */
static luc_status read_row(parser *p, bool *over) {
  luc_status status = LUC_OK;
  int c;
  while ((c = peek_byte(p, &status)) == '\n' || c == '\r') {
    p->line += c == '\n';
    p->at++;
  }
  *over = c < 0;
  if (c < 0) return status;
  p->row_line = p->line;
  LUC_TRY(begin_row(p));
  while ((c = next_byte(p, &status)) >= 0 && c != '\n') {
    if (c == '\r' && (peek_byte(p, &status) == '\n' || p->at == p->end)) continue;
    if (c == (unsigned char)p->options->delimiter)
      LUC_TRY(end_field(p));
    else if (c == '"' && p->length == 0 && !p->quoted)
      LUC_TRY(read_quoted(p));
    else if (p->quoted && c != ' ')
      return bad_field(p, "something stands behind a quote");
    else if (!p->quoted)
      keep_byte(p, c);
  }
  LUC_TRY(status);
  p->line += c == '\n';
  return end_row(p);
}

/* ---- files ---- */

static int by_column(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static luc_status begin(parser *p) {
  const luc_csv_options *o = p->options;
  static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
  p->window = luc__alloc(p->ctx, WINDOW);
  if (!p->window) return LUC_ERR_MEMORY;
  if (o->columns) {
    p->nchoices = o->ncolumns;
    p->choices = luc__alloc(p->ctx, (size_t)o->ncolumns * sizeof *p->choices);
    if (!p->choices) return LUC_ERR_MEMORY;
    for (int64_t i = 0; i < o->ncolumns; i++) p->choices[i] = (choice){o->columns[i], i};
    if (o->ncolumns) qsort(p->choices, (size_t)o->ncolumns, sizeof *p->choices, by_column);
  }
  luc_status status = LUC_OK;
  peek_byte(p, &status); /* fills the window */
  LUC_TRY(status);
  if (p->end - p->at >= 3 && !memcmp(p->at, mark, 3)) p->at += 3;
  return LUC_OK;
}

static luc_status read_header(parser *p, luc_text *names) {
  bool over;
  p->names = names;
  LUC_TRY(read_row(p, &over));
  p->names = NULL;
  LUC_CHECK(p->ctx, !over, LUC_ERR_IO, "%s: the file is empty", p->input->who);
  return LUC_OK;
}

static luc_status make_tensor(parser *p, luc_tensor **out) {
  size_t row = (size_t)p->nchoices * luc__dtype_size(p->options->dtype);
  int64_t sizes[] = {row ? (int64_t)(p->values.length / row) : 0, p->nchoices};
  LUC_TRY(luc__tensor_empty(p->ctx, p->options->dtype, 2, sizes, out));
  if (p->values.length) memcpy((*out)->data, p->values.data, p->values.length);
  return LUC_OK;
}

luc_status luc__csv_read(luc_input input, const luc_csv_options *options, luc_text *names,
                         luc_tensor **out) {
  parser p = {.ctx = input.ctx, .input = &input, .options = options, .line = 1, .columns = -1};
  luc_status status;
  bool over = false;
  *out = NULL;
  luc__text_init(&p.values, input.ctx);
  LUC_GO(begin(&p));
  if (options->header) LUC_GO(read_header(&p, names));
  while (!over && !options->only_header) LUC_GO(read_row(&p, &over));
  if (!options->only_header) LUC_GO(make_tensor(&p, out));
done:
  luc__free(p.ctx, p.window, WINDOW);
  luc__free(p.ctx, p.choices, (size_t)p.nchoices * sizeof *p.choices);
  luc__text_drop(&p.values);
  luc__input_close(&input);
  return status;
}

/* ---- writing ---- */

/* In quotes where it must be. */
static void put_name(luc_text *text, const char *name, char delimiter) {
  bool plain = *name && !strpbrk(name, "\"\r\n") && !strchr(name, delimiter);
  if (plain) {
    luc__text_puts(text, name);
    return;
  }
  luc__text_puts(text, "\"");
  for (; *name; name++) luc__text_append(text, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
  luc__text_puts(text, "\"");
}

/* The fewest digits that give the number back. */
static void put_float(luc_text *text, double value, bool whole) {
  char number[40];
  int least = whole ? 15 : 6, most = whole ? 17 : 9;
  luc_numerals numerals = luc__numerals_begin();
  for (int digits = least; digits <= most; digits++) {
    snprintf(number, sizeof number, "%.*g", digits, value);
    double back = strtod(number, NULL);
    if (whole ? back == value : (float)back == (float)value) break;
  }
  luc__numerals_end(numerals);
  luc__text_puts(text, value != value ? "nan" : number);
}

static void put_value(luc_text *text, const luc_tensor *t, const char *at) {
  luc_scalar s = luc__load_scalar(at, t->dtype);
  if (s.kind == LUC_SCALAR_FLOAT)
    put_float(text, s.as.f, t->dtype == LUC_FLOAT64);
  else
    luc__text_printf(text, "%lld", (long long)s.as.i);
}

static luc_status write_rows(luc_writer *writer, luc_text *text, char delimiter,
                             const luc_tensor *t) {
  size_t size = luc__dtype_size(t->dtype);
  int64_t columns = t->sizes[1];
  for (int64_t i = 0; i < t->numel; i++) {
    bool last = i % columns == columns - 1;
    put_value(text, t, t->data + (size_t)i * size);
    luc__text_append(text, last ? "\n" : &delimiter, 1);
    if (!last && text->length < WINDOW) continue;
    LUC_TRY(text->status);
    if (text->length < WINDOW && i + 1 < t->numel) continue;
    LUC_TRY(luc__writer_write(writer, text->data, text->length));
    text->length = 0;
  }
  return luc__writer_write(writer, text->data, text->length);
}

luc_status luc__csv_write(luc_context *ctx, const luc_target *to, char delimiter,
                          const char *const *names, luc_tensor *t) {
  luc_text text;
  luc_tensor *plain = NULL;
  luc_writer writer = {.ctx = ctx};
  luc_status status;
  luc__text_init(&text, ctx);
  LUC_GO(luc__plain_copy(ctx, "write_csv", t, &plain));
  LUC_GO(luc__writer_open(ctx, "write_csv", to, &writer));
  for (int64_t i = 0; names && i < plain->sizes[1]; i++) {
    put_name(&text, names[i], delimiter);
    luc__text_append(&text, i + 1 < plain->sizes[1] ? &delimiter : "\n", 1);
  }
  LUC_GO(text.status);
  LUC_GO(write_rows(&writer, &text, delimiter, plain));
  LUC_GO(luc__writer_commit(&writer));
done:
  luc__writer_close(&writer);
  luc_tensor_release(ctx, plain);
  luc__text_drop(&text);
  return status;
}
