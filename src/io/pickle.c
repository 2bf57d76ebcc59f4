/* The pickle reader: a machine for the opcodes of protocols 2 to 5 that data need. It builds a
 * document and can call nothing but the constructors of pickle_globals.c. The stack and the memo
 * grow with the bytes read, and nothing recurses, so that nesting costs no more than length. */
#include "io/pickle.h"

#include <string.h>

enum { WINDOW = 1 << 16, MAX_NAME = 255 };

typedef luc_status (*op_fn)(luc_pickle *p, unsigned char op);

/* ---- bytes ---- */

static uint64_t position(const luc_pickle *p) {
  return p->offset - (uint64_t)(p->end - p->at);
}

luc_status luc__pickle_damaged(luc_pickle *p, const char *what) {
  return luc__fail(p->doc->ctx, LUC_ERR_IO, "%s: the pickle is damaged at byte %llu: %s",
                   p->doc->who, (unsigned long long)(position(p) - p->begin), what);
}

/* Moves the window on: at least n bytes from `at` on, which the source must have. */
static luc_status refill(luc_pickle *p, size_t n) {
  uint64_t from = position(p), left = p->source->size - from;
  size_t want = n > WINDOW ? n : WINDOW;
  if (n > left) return luc__pickle_damaged(p, "it ends too early");
  if (want > left) want = (size_t)left;
  if (want > p->window_size) {
    LUC_TRY(luc__document_charge(p->doc, want - p->window_size));
    unsigned char *grown = luc__realloc(p->doc->ctx, p->window, p->window_size, want);
    if (!grown) return LUC_ERR_MEMORY;
    p->window = grown;
    p->window_size = want;
  }
  p->at = p->end = p->window; /* position() must not see the old window any more */
  p->offset = from;
  LUC_TRY(luc__input_read(p->source, from, p->window, want));
  p->end = p->window + want;
  p->offset = from + want;
  return LUC_OK;
}

/* The next n bytes, valid until the next take. */
static luc_status take(luc_pickle *p, size_t n, const unsigned char **bytes) {
  if ((size_t)(p->end - p->at) < n) LUC_TRY(refill(p, n));
  *bytes = p->at;
  p->at += n;
  return LUC_OK;
}

/* A little-endian number of n bytes. */
static luc_status take_number(luc_pickle *p, size_t n, uint64_t *out) {
  const unsigned char *bytes;
  LUC_TRY(take(p, n, &bytes));
  *out = 0;
  for (size_t i = n; i-- > 0;) *out = *out << 8 | bytes[i];
  return LUC_OK;
}

/* A length of `width` bytes and as many bytes, which the source must have. */
static luc_status take_counted(luc_pickle *p, size_t width, const unsigned char **bytes,
                               size_t *n) {
  uint64_t length;
  *bytes = NULL;
  *n = 0;
  LUC_TRY(take_number(p, width, &length));
  if (length > p->source->size - position(p)) return luc__pickle_damaged(p, "it ends too early");
  *n = (size_t)length;
  return take(p, *n, bytes);
}

/* ---- the stack ---- */

/* Room in an array of items, which grows with what was read. */
static luc_status reserve(luc_pickle *p, luc_item **items, size_t *size, size_t need) {
  if (need <= *size) return LUC_OK;
  size_t more = *size ? 2 * *size : 64;
  while (more < need) more *= 2;
  LUC_TRY(luc__document_charge(p->doc, (more - *size) * sizeof **items));
  luc_item *grown =
      luc__realloc(p->doc->ctx, *items, *size * sizeof **items, more * sizeof **items);
  if (!grown) return LUC_ERR_MEMORY;
  *items = grown;
  *size = more;
  return LUC_OK;
}

static luc_status push(luc_pickle *p, luc_item item) {
  LUC_TRY(reserve(p, &p->stack, &p->stack_size, p->depth + 1));
  p->stack[p->depth++] = item;
  return LUC_OK;
}

/* The item `down` from the top, none of which down to it may be a mark. */
static luc_status peek(luc_pickle *p, size_t down, luc_item **out) {
  *out = NULL;
  if (down > p->depth) return luc__pickle_damaged(p, "its stack is empty");
  for (size_t i = 1; i <= down; i++)
    if (p->stack[p->depth - i].kind == LUC_ITEM_MARK)
      return luc__pickle_damaged(p, "its stack is empty");
  *out = &p->stack[p->depth - down];
  return LUC_OK;
}

/* The items above the last mark; popping them is `p->depth = *mark`. */
static luc_status find_mark(luc_pickle *p, size_t *mark) {
  size_t i = p->depth;
  *mark = 0;
  while (i > 0 && p->stack[i - 1].kind != LUC_ITEM_MARK) i--;
  if (i == 0) return luc__pickle_damaged(p, "it has no mark");
  *mark = i - 1;
  return LUC_OK;
}

/* A node over the top n items, which are popped; it is pushed. */
static luc_status gather(luc_pickle *p, luc_object_kind kind, size_t from, size_t pop_to) {
  luc_object *node;
  LUC_TRY(luc__object_new(p->doc, kind, &node));
  for (size_t i = from; i < p->depth; i++) LUC_TRY(luc__object_push(p->doc, node, p->stack[i]));
  p->depth = pop_to;
  return push(p, luc__item_object(node));
}

/* ---- opcodes: structure ---- */

static luc_status op_proto(luc_pickle *p, unsigned char op) {
  uint64_t version;
  (void)op;
  LUC_TRY(take_number(p, 1, &version));
  LUC_CHECK(p->doc->ctx, version <= 5, LUC_ERR_IO, "%s: pickle protocol %d is not known",
            p->doc->who, (int)version);
  return LUC_OK;
}

static luc_status op_frame(luc_pickle *p, unsigned char op) {
  uint64_t length;
  (void)op;
  return take_number(p, 8, &length); /* only a hint for reading ahead */
}

static luc_status op_stop(luc_pickle *p, unsigned char op) {
  luc_item *top;
  (void)op;
  LUC_TRY(peek(p, 1, &top));
  p->stopped = true;
  return LUC_OK;
}

static luc_status op_mark(luc_pickle *p, unsigned char op) {
  (void)op;
  return push(p, (luc_item){.kind = LUC_ITEM_MARK});
}

static luc_status op_pop(luc_pickle *p, unsigned char op) {
  (void)op;
  if (p->depth == 0) return luc__pickle_damaged(p, "its stack is empty");
  p->depth--;
  return LUC_OK;
}

static luc_status op_pop_mark(luc_pickle *p, unsigned char op) {
  (void)op;
  return find_mark(p, &p->depth);
}

static luc_status op_dup(luc_pickle *p, unsigned char op) {
  luc_item *top;
  (void)op;
  LUC_TRY(peek(p, 1, &top));
  return push(p, *top);
}

/* ---- opcodes: values ---- */

static luc_status op_constant(luc_pickle *p, unsigned char op) {
  if (op == 'N') return push(p, (luc_item){.kind = LUC_ITEM_NONE});
  return push(p, (luc_item){.kind = LUC_ITEM_BOOL, .as = {.i = op == 0x88}});
}

static luc_status op_integer(luc_pickle *p, unsigned char op) {
  uint64_t value;
  LUC_TRY(take_number(p, op == 'K' ? 1 : op == 'M' ? 2 : 4, &value));
  return push(p, luc__item_int(op == 'J' ? (int32_t)value : (int64_t)value));
}

/* LONG1, LONG4: two's complement, little-endian, any length. */
static luc_status op_long(luc_pickle *p, unsigned char op) {
  const unsigned char *bytes;
  size_t n;
  LUC_TRY(take_counted(p, op == 0x8a ? 1 : 4, &bytes, &n));
  if (n > 8) {
    luc_blob *blob;
    LUC_TRY(luc__blob_new(p->doc, bytes, n, &blob));
    return push(p, (luc_item){.kind = LUC_ITEM_BIG, .as = {.blob = blob}});
  }
  uint64_t value = n > 0 && bytes[n - 1] & 0x80 ? UINT64_MAX : 0;
  for (size_t i = n; i-- > 0;) value = value << 8 | bytes[i];
  return push(p, luc__item_int((int64_t)value));
}

static luc_status op_float(luc_pickle *p, unsigned char op) {
  const unsigned char *bytes;
  uint64_t bits = 0;
  luc_item item = {.kind = LUC_ITEM_FLOAT};
  (void)op;
  LUC_TRY(take(p, 8, &bytes));
  for (int i = 0; i < 8; i++) bits = bits << 8 | bytes[i];
  memcpy(&item.as.f, &bits, 8);
  return push(p, item);
}

static luc_status op_text(luc_pickle *p, unsigned char op) {
  const unsigned char *bytes;
  size_t n, width = op == 0x8d || op == 0x8e || op == 0x96 ? 8 : 4;
  luc_blob *blob;
  if (op == 0x8c || op == 'U' || op == 'C') width = 1;
  bool raw = op == 'C' || op == 'B' || op == 0x8e || op == 0x96;
  LUC_TRY(take_counted(p, width, &bytes, &n));
  LUC_TRY(luc__blob_new(p->doc, bytes, n, &blob));
  return push(p, (luc_item){.kind = raw ? LUC_ITEM_BYTES : LUC_ITEM_TEXT, .as = {.blob = blob}});
}

/* ---- opcodes: containers ---- */

static luc_status op_empty(luc_pickle *p, unsigned char op) {
  luc_object_kind kind = op == ']'   ? LUC_OBJECT_LIST
                         : op == ')' ? LUC_OBJECT_TUPLE
                         : op == '}' ? LUC_OBJECT_DICT
                                     : LUC_OBJECT_SET;
  return gather(p, kind, p->depth, p->depth);
}

static luc_status op_tuple(luc_pickle *p, unsigned char op) {
  luc_item *first;
  size_t n = (size_t)op - 0x84;
  LUC_TRY(peek(p, n, &first));
  return gather(p, LUC_OBJECT_TUPLE, p->depth - n, p->depth - n);
}

static luc_status op_from_mark(luc_pickle *p, unsigned char op) {
  size_t mark;
  LUC_TRY(find_mark(p, &mark));
  if (op == 'd' && (p->depth - mark) % 2 == 0)
    return luc__pickle_damaged(p, "a dictionary's key has no value");
  luc_object_kind kind = op == 'l'   ? LUC_OBJECT_LIST
                         : op == 't' ? LUC_OBJECT_TUPLE
                         : op == 'd' ? LUC_OBJECT_DICT
                                     : LUC_OBJECT_SET;
  return gather(p, kind, mark + 1, mark);
}

/* APPEND(S), SETITEM(S), ADDITEMS: what is above `base` on the stack goes into what is there. */
static luc_status add_items(luc_pickle *p, luc_object_kind kind, size_t base, size_t from) {
  bool fits = base > 0 && luc__item_is(&p->stack[base - 1], kind);
  if (!fits) return luc__pickle_damaged(p, "items are added to what is no container of them");
  if (kind == LUC_OBJECT_DICT && (p->depth - from) % 2 != 0)
    return luc__pickle_damaged(p, "a dictionary's key has no value");
  luc_object *node = p->stack[base - 1].as.object;
  for (size_t i = from; i < p->depth; i++) LUC_TRY(luc__object_push(p->doc, node, p->stack[i]));
  p->depth = base;
  return LUC_OK;
}

static luc_status op_add(luc_pickle *p, unsigned char op) {
  luc_item *first;
  size_t n = op == 's' ? 2 : 1;
  LUC_TRY(peek(p, n, &first));
  return add_items(p, op == 's' ? LUC_OBJECT_DICT : LUC_OBJECT_LIST, p->depth - n, p->depth - n);
}

static luc_status op_add_many(luc_pickle *p, unsigned char op) {
  size_t mark;
  LUC_TRY(find_mark(p, &mark));
  luc_object_kind kind = op == 'u' ? LUC_OBJECT_DICT : op == 'e' ? LUC_OBJECT_LIST : LUC_OBJECT_SET;
  return add_items(p, kind, mark, mark + 1);
}

/* ---- opcodes: the memo ---- */

/* Numbers count what was memoized, so that none can be larger than the bytes read. */
static luc_status remember(luc_pickle *p, uint64_t number) {
  luc_item *top;
  LUC_TRY(peek(p, 1, &top));
  if (number > position(p) - p->begin) return luc__pickle_damaged(p, "a memo's number is wrong");
  size_t need = (size_t)number + 1, had = p->memo_size;
  LUC_TRY(reserve(p, &p->memo, &p->memo_size, need));
  for (size_t i = had; i < p->memo_size; i++) /* unset */
    p->memo[i] = (luc_item){.kind = LUC_ITEM_MARK};
  p->memo[number] = p->stack[p->depth - 1];
  return LUC_OK;
}

static luc_status op_put(luc_pickle *p, unsigned char op) {
  uint64_t number;
  LUC_TRY(take_number(p, op == 'q' ? 1 : 4, &number));
  return remember(p, number);
}

static luc_status op_memoize(luc_pickle *p, unsigned char op) {
  (void)op;
  return remember(p, p->memo_used++);
}

static luc_status op_get(luc_pickle *p, unsigned char op) {
  uint64_t number;
  LUC_TRY(take_number(p, op == 'h' ? 1 : 4, &number));
  bool known = number < p->memo_size && p->memo[number].kind != LUC_ITEM_MARK;
  return known ? push(p, p->memo[number]) : luc__pickle_damaged(p, "a memo was never set");
}

/* ---- opcodes: globals and what they make ---- */

/* A line without its end. */
static luc_status take_line(luc_pickle *p, char *line) {
  const unsigned char *c;
  for (size_t n = 0; n <= MAX_NAME; n++) {
    LUC_TRY(take(p, 1, &c));
    line[n] = *c == '\n' ? '\0' : (char)*c;
    if (*c == '\n') return LUC_OK;
  }
  return luc__pickle_damaged(p, "a name is too long");
}

static luc_status op_global(luc_pickle *p, unsigned char op) {
  char module[MAX_NAME + 1], name[MAX_NAME + 1];
  luc_item item;
  (void)op;
  LUC_TRY(take_line(p, module));
  LUC_TRY(take_line(p, name));
  LUC_TRY(luc__pickle_global(p, module, name, &item));
  return push(p, item);
}

static luc_status op_stack_global(luc_pickle *p, unsigned char op) {
  luc_item *names, item;
  (void)op;
  LUC_TRY(peek(p, 2, &names));
  if (names[0].kind != LUC_ITEM_TEXT || names[1].kind != LUC_ITEM_TEXT)
    return luc__pickle_damaged(p, "a name is no string");
  LUC_TRY(luc__pickle_global(p, names[0].as.blob->bytes, names[1].as.blob->bytes, &item));
  p->depth -= 2;
  return push(p, item);
}

static luc_status op_reduce(luc_pickle *p, unsigned char op) {
  luc_item *callable, made;
  (void)op;
  LUC_TRY(peek(p, 2, &callable));
  LUC_TRY(luc__pickle_reduce(p, &callable[0], &callable[1], &made));
  p->depth -= 2;
  return push(p, made);
}

static luc_status op_build(luc_pickle *p, unsigned char op) {
  luc_item *object;
  (void)op;
  LUC_TRY(peek(p, 2, &object));
  LUC_TRY(luc__pickle_build(p, &object[0], &object[1]));
  p->depth--;
  return LUC_OK;
}

static luc_status op_persistent(luc_pickle *p, unsigned char op) {
  luc_item *id, made;
  (void)op;
  LUC_TRY(peek(p, 1, &id));
  LUC_TRY(luc__pickle_persistent(p, id, &made));
  *id = made;
  return LUC_OK;
}

static const op_fn opcodes[256] = {
    [0x80] = op_proto,    [0x95] = op_frame,    ['.'] = op_stop,      ['('] = op_mark,
    ['0'] = op_pop,       ['1'] = op_pop_mark,  ['2'] = op_dup,       ['N'] = op_constant,
    [0x88] = op_constant, [0x89] = op_constant, ['J'] = op_integer,   ['K'] = op_integer,
    ['M'] = op_integer,   [0x8a] = op_long,     [0x8b] = op_long,     ['G'] = op_float,
    ['U'] = op_text,      ['T'] = op_text,      ['X'] = op_text,      [0x8c] = op_text,
    [0x8d] = op_text,     ['B'] = op_text,      ['C'] = op_text,      [0x8e] = op_text,
    [0x96] = op_text,     [']'] = op_empty,     [')'] = op_empty,     ['}'] = op_empty,
    [0x8f] = op_empty,    [0x85] = op_tuple,    [0x86] = op_tuple,    [0x87] = op_tuple,
    ['l'] = op_from_mark, ['t'] = op_from_mark, ['d'] = op_from_mark, [0x91] = op_from_mark,
    ['a'] = op_add,       ['s'] = op_add,       ['e'] = op_add_many,  ['u'] = op_add_many,
    [0x90] = op_add_many, ['q'] = op_put,       ['r'] = op_put,       [0x94] = op_memoize,
    ['h'] = op_get,       ['j'] = op_get,       ['c'] = op_global,    [0x93] = op_stack_global,
    ['R'] = op_reduce,    [0x81] = op_reduce,   ['b'] = op_build,     ['Q'] = op_persistent,
};

static luc_status run(luc_pickle *p) {
  const unsigned char *op;
  while (!p->stopped) {
    LUC_TRY(take(p, 1, &op));
    unsigned char code = *op;
    LUC_CHECK(p->doc->ctx, opcodes[code], LUC_ERR_IO,
              "%s: the pickle uses opcode 0x%02x at byte %llu, which data do not need", p->doc->who,
              code, (unsigned long long)(position(p) - p->begin - 1));
    LUC_TRY(opcodes[code](p, code));
  }
  return LUC_OK;
}

luc_status luc__pickle_read(luc_document *doc, const luc_input *source, uint64_t *offset,
                            bool legacy, luc_item *out) {
  luc_pickle p = {.doc = doc, .source = source, .legacy = legacy};
  p.offset = p.begin = *offset;
  if (source->fd < 0) { /* memory: the window is all of it */
    p.at = source->bytes + *offset;
    p.end = source->bytes + source->size;
    p.offset = source->size;
  }
  luc_status status = run(&p);
  if (status == LUC_OK) {
    *out = p.stack[p.depth - 1];
    *offset = position(&p);
    if (out->kind == LUC_ITEM_GLOBAL || out->kind == LUC_ITEM_STORAGE)
      status = luc__pickle_damaged(&p, "it ends with what is no value");
  }
  luc__free(doc->ctx, p.window, p.window_size);
  luc__free(doc->ctx, p.stack, p.stack_size * sizeof *p.stack);
  luc__free(doc->ctx, p.memo, p.memo_size * sizeof *p.memo);
  return status;
}
