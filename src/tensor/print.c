/* PyTorch's text of a tensor, character for character (torch/_tensor_str.py), by the context's
 * options: how many digits, from how many elements on only the edges are shown, how long lines are.
 * One format serves a whole tensor; its width comes from the elements that will be shown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numerals.h"
#include "tensor/tensor.h"
#include "tensor/text.h"

enum { INDENT = 7 /* "tensor(" */ };
enum { VALUE_TEXT = 320 + LUC_PRINT_PRECISION /* the longest double in %f */ };

typedef struct format {
  bool is_float, int_mode, sci_mode;
  bool is_unsigned; /* uint64, whose numbers come as if they were int64 */
  int precision;
  int width;
  bool any;        /* a finite value other than 0 was seen: */
  double min, max; /* their smallest and largest absolute value */
} format;

typedef struct printer {
  const luc_tensor *t;
  luc_text *text;
  const luc_print_options *options;
  bool summarize;
  luc_dtype real;    /* of the numbers an element is made of: */
  int parts;         /* 1, or 2 of a complex one, */
  format formats[2]; /* each with its own format */
} printer;

typedef void (*visit_fn)(format *f, luc_scalar value);

static bool cut(const printer *pr, int dim) {
  return pr->summarize && pr->t->sizes[dim] > 2 * (int64_t)pr->options->edge;
}

/* The next position along a dimension (after -1 the first): jumps over the middle when that is left
 * out. */
static int64_t after(const printer *pr, int dim, int64_t i) {
  int64_t edge = pr->options->edge;
  return cut(pr, dim) && i == edge - 1 ? pr->t->sizes[dim] - edge : i + 1;
}

static const char *at(const printer *pr, const char *p, int dim, int64_t i) {
  return p + i * pr->t->strides[dim] * (int64_t)luc__dtype_size(pr->t->dtype);
}

static luc_scalar part_of(const printer *pr, const char *p, int part) {
  return luc__load_scalar(p + (size_t)part * luc__dtype_size(pr->real), pr->real);
}

/* Calls visit for every element that will be shown. */
static void each_shown(printer *pr, int dim, const char *p, visit_fn visit) {
  if (dim == pr->t->ndim) {
    for (int part = 0; part < pr->parts; part++) visit(&pr->formats[part], part_of(pr, p, part));
    return;
  }
  for (int64_t i = after(pr, dim, -1); i < pr->t->sizes[dim]; i = after(pr, dim, i))
    each_shown(pr, dim + 1, at(pr, p, dim, i), visit);
}

/* ---- the format ---- */

static int float_text(const format *f, double value, char *buf) {
  if (isnan(value)) return snprintf(buf, VALUE_TEXT, "nan");
  if (isinf(value)) return snprintf(buf, VALUE_TEXT, value < 0 ? "-inf" : "inf");
  if (f->sci_mode) return snprintf(buf, VALUE_TEXT, "%.*e", f->precision, value);
  if (f->int_mode) return snprintf(buf, VALUE_TEXT, "%.0f.", value);
  return snprintf(buf, VALUE_TEXT, "%.*f", f->precision, value);
}

static int value_text(const format *f, luc_scalar value, char *buf) {
  if (value.kind == LUC_SCALAR_FLOAT) return float_text(f, value.as.f, buf);
  if (value.kind == LUC_SCALAR_BOOL)
    return snprintf(buf, VALUE_TEXT, "%s", value.as.i ? "True" : "False");
  return snprintf(buf, VALUE_TEXT, f->is_unsigned ? "%llu" : "%lld", (long long)value.as.i);
}

static void see_range(format *f, luc_scalar value) {
  double v = value.as.f, size = fabs(v);
  if (!isfinite(v) || v == 0) return;
  if (!f->any || size < f->min) f->min = size;
  if (!f->any || size > f->max) f->max = size;
  if (v != ceil(v)) f->int_mode = false;
  f->any = true;
}

/* Zeros and non-finite values have no say in the width of floats, as in PyTorch. */
static void see_width(format *f, luc_scalar value) {
  char buf[VALUE_TEXT];
  if (f->is_float && (!isfinite(value.as.f) || value.as.f == 0)) return;
  int length = value_text(f, value, buf);
  if (length > f->width) f->width = length;
}

static void choose_format(printer *pr) {
  bool is_float = luc__dtype_is_float(pr->real);
  for (int part = 0; part < pr->parts; part++)
    pr->formats[part] = (format){.is_float = is_float,
                                 .is_unsigned = pr->real == LUC_UINT64,
                                 .int_mode = true,
                                 .precision = pr->options->precision,
                                 .width = 1};
  if (is_float) each_shown(pr, 0, pr->t->data, see_range);
  for (int part = 0; part < pr->parts; part++) {
    format *f = &pr->formats[part];
    f->sci_mode =
        f->any && (f->max / f->min > 1000. || f->max > 1e8 || (!f->int_mode && f->min < 1e-4));
  }
  each_shown(pr, 0, pr->t->data, see_width);
  int sci = pr->options->sci_mode; /* the width stays that of the other, as in PyTorch */
  for (int part = 0; part < pr->parts && sci >= 0; part++)
    if (pr->formats[part].any) pr->formats[part].sci_mode = sci;
}

/* ---- the brackets ---- */

static void put_value(printer *pr, const char *p) {
  char buf[VALUE_TEXT];
  const format *f = pr->formats;
  int length = value_text(f, part_of(pr, p, 0), buf);
  luc__text_fill(pr->text, ' ', f->width - length);
  luc__text_append(pr->text, buf, (size_t)length);
  if (pr->parts == 1) return;
  length = value_text(f + 1, part_of(pr, p, 1), buf);
  if (buf[0] != '-') luc__text_puts(pr->text, "+");
  luc__text_append(pr->text, buf, (size_t)length);
  luc__text_puts(pr->text, "j");
}

/* Between items: ", ", or a new line after `per_line` of them. */
static void put_comma(printer *pr, int count, int per_line, int indent) {
  if (count == 0) return;
  if (count % per_line != 0) {
    luc__text_puts(pr->text, ", ");
    return;
  }
  luc__text_puts(pr->text, ",\n");
  luc__text_fill(pr->text, ' ', indent + 1);
}

static void put_vector(printer *pr, const char *p, int indent) {
  int dim = pr->t->ndim - 1, width = pr->formats[0].width + 2, count = 0;
  if (pr->parts == 2) width += pr->formats[1].width + 1;
  int edge = pr->options->edge, per_line = (pr->options->line_width - indent) / width;
  if (per_line < 1) per_line = 1;
  luc__text_puts(pr->text, cut(pr, dim) && edge == 0 ? "[..." : "[");
  for (int64_t i = after(pr, dim, -1); i < pr->t->sizes[dim]; i = after(pr, dim, i)) {
    if (cut(pr, dim) && count == edge) {
      put_comma(pr, count++, per_line, indent);
      luc__text_puts(pr->text, " ...");
    }
    put_comma(pr, count++, per_line, indent);
    put_value(pr, at(pr, p, dim, i));
  }
  luc__text_puts(pr->text, "]");
}

static void put_break(printer *pr, int left, int indent) {
  luc__text_puts(pr->text, ",");
  luc__text_fill(pr->text, '\n', left - 1);
  luc__text_fill(pr->text, ' ', indent + 1);
}

static void put_nested(printer *pr, int dim, const char *p, int indent) {
  int left = pr->t->ndim - dim;
  if (left == 0) {
    put_value(pr, p);
    return;
  }
  if (left == 1) {
    put_vector(pr, p, indent);
    return;
  }
  int edge = pr->options->edge;
  luc__text_puts(pr->text, cut(pr, dim) && edge == 0 ? "[..." : "[");
  for (int64_t i = after(pr, dim, -1); i < pr->t->sizes[dim]; i = after(pr, dim, i)) {
    if (i > 0) put_break(pr, left, indent);
    if (cut(pr, dim) && i == pr->t->sizes[dim] - edge) {
      luc__text_puts(pr->text, "...");
      put_break(pr, left, indent);
    }
    put_nested(pr, dim + 1, at(pr, p, dim, i), indent + 1);
  }
  luc__text_puts(pr->text, "]");
}

/* ---- around them ---- */

/* Adds ", suffix", on a line of its own when this one would be too long. */
static void put_suffix(luc_context *ctx, luc_text *text, int64_t *line, const char *suffix) {
  int64_t length = (int64_t)strlen(suffix);
  bool wrap = *line + length + 2 > ctx->print.line_width;
  luc__text_puts(text, wrap ? ",\n       " : ", ");
  luc__text_puts(text, suffix);
  *line = wrap ? INDENT + length : *line + length + 2;
}

/* PyTorch's measure of the last line, two more than it has. */
static int64_t last_line(const luc_text *text) {
  size_t begin = text->length;
  while (begin > 0 && text->data[begin - 1] != '\n') begin--;
  return (int64_t)(text->length - begin) + 2;
}

static void size_suffix(char *buf, size_t size, const luc_tensor *t) {
  char shape[LUC_SHAPE_TEXT];
  luc__tensor_shape_text(shape, t);
  shape[0] = '(';
  shape[strlen(shape) - 1] = ')';
  snprintf(buf, size, "size=%s", shape);
}

luc_status luc__tensor_text(luc_context *ctx, const luc_tensor *t, const char *suffix, char **out,
                            size_t *size) {
  luc_text text;
  char buf[LUC_SHAPE_TEXT + 8];
  luc_dtype dtype = t->dtype;
  bool show_dtype = dtype != ctx->default_dtype, complex = luc__dtype_is_complex(dtype);
  luc__text_init(&text, ctx);
  if (t->flags & LUC_TF_PARAMETER) luc__text_puts(&text, "Parameter containing:\n");
  luc__text_puts(&text, "tensor(");
  if (t->numel == 0) {
    luc__text_puts(&text, "[]");
  } else {
    printer pr = {.t = t, .text = &text, .options = &ctx->print};
    pr.summarize = (double)t->numel > ctx->print.threshold;
    pr.real = luc__dtype_to_real(dtype);
    pr.parts = complex ? 2 : 1;
    luc_numerals numerals = luc__numerals_begin();
    choose_format(&pr);
    put_nested(&pr, 0, t->data, INDENT);
    luc__numerals_end(numerals);
    show_dtype = show_dtype && dtype != LUC_INT64 && dtype != LUC_BOOL;
    if (complex) show_dtype = dtype != luc__dtype_to_complex(ctx->default_dtype);
  }
  int64_t line = last_line(&text);
  if (t->numel == 0 && t->ndim != 1) {
    size_suffix(buf, sizeof buf, t);
    put_suffix(ctx, &text, &line, buf);
  }
  if (show_dtype) {
    snprintf(buf, sizeof buf, "dtype=torch.%s", luc__dtype_name(dtype));
    put_suffix(ctx, &text, &line, buf);
  }
  if (suffix != NULL) put_suffix(ctx, &text, &line, suffix);
  luc__text_puts(&text, ")");
  return luc__text_finish(&text, out, size);
}
