/* Attention, cut by the problem's size: forward by groups of blocks of queries; backward by batch
 * items and, where these are few, by blocks of keys, which add up the queries' gradients apart.
 * Keys are the outer loop: a block of them is packed once for all queries of a piece. */
#include "cpu/attention.h"

#include <math.h>
#include <string.h>

#include "cpu/attention_kernels.h"
#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "cpu/scratch.h"

enum { QUERIES = 64, KEYS = LUC_GEMM_NC }; /* of a block */
enum { GROUP = 8 };                        /* blocks of queries in a piece of forward, at most */

typedef struct job {
  const luc_attention *a;
  const luc_attention_kernels *kernels;
  const luc_gemm_kernels *gemm;
  int64_t size, group, groups; /* bytes of an element; queries of a piece, pieces of an item */
  const luc_heads *dout, *out, *dq, *dk, *dv;
  char *lse, *delta, *weights; /* weights: NULL where they are not kept */
  int64_t weights_row;
  int64_t keys, cuts; /* backward: keys of a block, pieces of an item */
  char *sums;         /* [batch, cuts - 1, l, e]: dq of the cuts but the first */
} job;

/* A block of one item: where its queries and keys begin, and how many there are. */
typedef struct block {
  int64_t item, query, queries, key, keys;
} block;

/* Scratch of one thread: packed keys and packed values, two blocks of scores, and per query of a
 * piece its maximum and its sum. Of pairs (see below) also rows of queries and of their gradients,
 * weights as bfloat16, these turned and woven, what else meets them, and forward sums. */
typedef struct scratch {
  char *keys, *values, *scores, *more, *max, *sum;
  char *queries, *grads, *halves, *turned, *woven, *columns, *key_columns, *acc;
} scratch;

static int64_t packed_size(const job *j) {
  return (int64_t)(luc__gemm_scratch_size((size_t)j->size) + 63) / 64 * 64;
}

/* Pairs that rows of so many elements are filled up to. */
static int64_t depth_of(int64_t width) {
  return luc__whole(luc__cuts(width, 2), LUC_GEMM_STRIP);
}

/* What pairs take, from `from` on; returns its size. */
static int64_t cut_pairs(const job *j, scratch *s, char *from) {
  const int64_t e = depth_of(j->a->e) * j->size, ev = depth_of(j->a->ev) * j->size;
  char **const places[] = {&s->keys,    &s->values, &s->key_columns, &s->queries, &s->grads,
                           &s->columns, &s->halves, &s->woven,       &s->turned,  &s->acc};
  const int64_t halves = QUERIES * KEYS / 2 * j->size;
  const int64_t sizes[] = {KEYS * e,     KEYS * ev,
                           KEYS * e,     QUERIES * e,
                           QUERIES * ev, QUERIES * luc__max64(e, ev),
                           halves,       halves,
                           halves,       luc__whole(j->group * j->a->ev, LUC_GEMM_STRIP) * j->size};
  int64_t size = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; size += sizes[i++])
    if (from) *places[i] = from + size;
  return size;
}

static size_t scratch_size(const job *j) {
  scratch s;
  const int64_t rest = (2 * QUERIES * KEYS + 2 * GROUP * QUERIES) * j->size;
  return (size_t)((j->a->pairs ? cut_pairs(j, &s, NULL) : 2 * packed_size(j)) + rest);
}

/* The values' scratch begins empty like the slot itself, with zeros. */
static scratch cut_scratch(const job *j, void *slot) {
  const int64_t scores = (int64_t)QUERIES * KEYS * j->size;
  scratch s = {.keys = slot};
  if (j->a->pairs) {
    s.scores = s.keys + cut_pairs(j, &s, slot);
  } else {
    s.values = s.keys + packed_size(j);
    s.scores = s.values + packed_size(j);
    memset(s.values, 0, sizeof(luc_gemm_scratch));
  }
  s.more = s.scores + scores;
  s.max = s.more + scores;
  s.sum = s.max + GROUP * QUERIES * j->size;
  return s;
}

/* Row `row` of an item's matrix. */
static char *at(const job *j, const luc_heads *h, int64_t item, int64_t row) {
  const luc_attention *a = j->a;
  const bool made = h == j->out && !j->dout; /* on the way back it is read as floats */
  const bool halves = a->pairs && (h == &a->q || h == &a->k || h == &a->v || h == &a->g || made);
  const int64_t size = h == &a->mask && a->mask_bool ? 1 : halves ? 2 : j->size;
  int64_t offset = row * h->row;
  for (int d = a->nbatch - 1; d >= 0; d--) {
    offset += item % a->sizes[d] * h->batch[d];
    item /= a->sizes[d];
  }
  return (char *)h->data + offset * size;
}

/* A factor of a product [rows, columns], its rows or (turned) its columns at this distance. */
typedef struct factor {
  const void *data;
  int64_t rows, columns, row;
  bool turned;
} factor;

static factor queries_of(const job *j, const luc_heads *h, const block *b, int64_t width) {
  return (factor){at(j, h, b->item, b->query), b->queries, width, h->row, false};
}
static factor keys_of(const job *j, const luc_heads *h, const block *b, int64_t width) {
  return (factor){at(j, h, b->item, b->key), b->keys, width, h->row, false};
}
static factor block_of(const luc_attention_rows *r) {
  return (factor){r->scores, r->rows, r->n, r->pitch, false};
}
static factor turned(factor f) {
  return (factor){f.data, f.columns, f.rows, f.row, !f.turned};
}

/* Where a product goes, rows at this distance, and how much stays of what is there. */
typedef struct target {
  void *data;
  int64_t row;
  double beta;
} target;

/* Queries that are not worth packing keys for. */
enum { FEW = 8 };

/* C = alpha * A B + beta * C */
static void product(const job *j, char *packed, double alpha, factor a, factor b, target c) {
  luc_gemm g = {.dtype = j->a->dtype,
                .m = a.rows,
                .n = b.columns,
                .k = a.columns,
                .a = a.data,
                .b = b.data,
                .c = c.data,
                .a_row = a.turned ? 1 : a.row,
                .a_col = a.turned ? a.row : 1,
                .b_row = b.turned ? 1 : b.row,
                .b_col = b.turned ? b.row : 1,
                .c_row = c.row,
                .batch = 1,
                .alpha = alpha,
                .beta = c.beta};
  if (g.m <= 0 || g.n <= 0) return;
  if (b.turned && !a.turned && j->a->l <= FEW)
    j->gemm->dots(&g);
  else
    j->gemm->serial(&g, packed);
}

/* ---- products of pairs ---- */

/* Strips of so many columns, from a packed block of `depth` pairs, of which A may meet some. */
typedef struct packed {
  const char *data;
  int64_t columns, depth;
} packed;

/* C = alpha * A B + beta * C; what A counts along its rows are pairs. */
static void strips(const job *j, double alpha, factor a, packed b, target c) {
  const luc_gemm g = {.dtype = j->a->dtype,
                      .m = a.rows,
                      .n = b.columns,
                      .k = a.columns,
                      .a = a.data,
                      .b = b.data,
                      .c = c.data,
                      .a_row = a.row,
                      .a_col = 1,
                      .b_row = b.depth,
                      .c_row = c.row,
                      .batch = 1,
                      .alpha = alpha,
                      .beta = c.beta};
  j->gemm->strips(&g);
}

/* Rows of `width` halves, `row` apart, filled up with zeros. */
static void copy_rows(int64_t n, int64_t width, const char *from, int64_t row, char *to) {
  const int64_t pitch = depth_of(width) * 4;
  for (int64_t i = 0; i < n; i++, from += 2 * row, to += pitch) {
    memcpy(to, from, (size_t)(2 * width));
    memset(to + 2 * width, 0, (size_t)(pitch - 2 * width));
  }
}

/* Strips of which the n rows are columns. */
static packed pack_rows(const job *j, int64_t n, int64_t width, const char *from, int64_t row,
                        char *to) {
  const int64_t depth = depth_of(width), strip = LUC_GEMM_STRIP;
  if (n % strip != 0 || 2 * depth != width)
    memset(to, 0, (size_t)(luc__whole(n, strip) * depth * j->size));
  for (int64_t i = 0; i < n; i += strip)
    j->gemm->transpose(luc__min64(n - i, strip), width / 2, from + 2 * i * row, row / 2,
                       to + i * depth * j->size, strip);
  return (packed){to, n, depth};
}

/* Strips of their columns, of pairs of rows. */
static packed pack_columns(const job *j, int64_t n, int64_t width, const char *from, int64_t row,
                           char *to) {
  const int64_t depth = depth_of(n), strip = LUC_GEMM_STRIP, bytes = depth * strip * j->size;
  if (2 * depth != n || width % strip != 0)
    memset(to, 0, (size_t)(luc__cuts(width, strip) * bytes));
  for (int64_t c = 0; c < width; c += strip) {
    const int64_t columns = luc__min64(width - c, strip), each = columns == strip ? n : 2;
    for (int64_t i = 0; i < n; i += each) /* what is woven has rows of so many columns */
      j->gemm->weave(luc__min64(n - i, each), columns, (const uint16_t *)from + i * row + c, row,
                     to + c / strip * bytes + i / 2 * strip * j->size);
  }
  return (packed){to, width, depth};
}

/* A block of numbers as bfloat16, rows KEYS apart, zeros after each. */
static void round_block(const job *j, const luc_attention_rows *r, char *halves) {
  const int64_t whole = 2 * depth_of(r->n);
  for (int64_t i = 0; i < r->rows; i++) {
    uint16_t *to = (uint16_t *)halves + i * KEYS;
    j->gemm->round(r->n, (const char *)r->scores + i * r->pitch * j->size, to);
    memset(to + r->n, 0, (size_t)(whole - r->n) * sizeof *to);
  }
}

static factor halves_of(const scratch *w, const block *b) {
  return (factor){w->halves, b->queries, depth_of(b->keys), KEYS / 2, false};
}

/* Those with keys as rows, of pairs of queries. */
static factor turn_block(const job *j, const scratch *w, const luc_attention_rows *r) {
  const int64_t depth = depth_of(r->rows);
  if (2 * depth != r->rows) memset(w->turned, 0, (size_t)(r->n * depth * j->size));
  j->gemm->weave(r->rows, r->n, (const uint16_t *)w->halves, KEYS, w->woven);
  j->gemm->transpose(luc__cuts(r->rows, 2), r->n, w->woven, r->n, w->turned, depth);
  return (factor){w->turned, r->n, depth, depth, false};
}

/* What all queries meet of a block of keys: these, and values' columns; backward values, and
 * keys' columns. */
static void pack_keys(const job *j, const scratch *w, const block *b) {
  const luc_attention *a = j->a;
  const char *keys = at(j, &a->k, b->item, b->key), *values = at(j, &a->v, b->item, b->key);
  pack_rows(j, b->keys, a->e, keys, a->k.row, w->keys);
  if (!j->dout) {
    pack_columns(j, b->keys, a->ev, values, a->v.row, w->values);
    return;
  }
  pack_rows(j, b->keys, a->ev, values, a->v.row, w->values);
  pack_columns(j, b->keys, a->e, keys, a->k.row, w->key_columns);
}

/* Rows of queries, or of their gradients, as strips take them: where they lie, or copied with zeros
 * after them. */
static factor paired(const job *j, const block *b, const luc_heads *rows, int64_t width,
                     char *copy) {
  const int64_t depth = depth_of(width);
  const char *from = at(j, rows, b->item, b->query);
  const bool lie = b->queries % LUC_GEMM_STRIP == 0 && 2 * depth == width;
  if (!lie) copy_rows(b->queries, width, from, rows->row, copy);
  return (factor){lie ? from : copy, b->queries, depth, lie ? rows->row / 2 : depth, false};
}

/* ---- blocks of scores ---- */

/* Keys that queries of a block can see end here. */
static int64_t last_key(const luc_attention *a, const block *b) {
  return a->causal ? luc__min64(a->s, b->query + b->queries) : a->s;
}

/* Masked scores of a block, rows at distance KEYS. */
static void score(const job *j, const scratch *w, const block *b) {
  const luc_attention *a = j->a;
  const target to = {w->scores, KEYS, 0};
  if (a->pairs)
    strips(j, a->scale, paired(j, b, &a->q, a->e, w->queries),
           (packed){w->keys, b->keys, depth_of(a->e)}, to);
  else
    product(j, w->keys, a->scale, queries_of(j, &a->q, b, a->e), turned(keys_of(j, &a->k, b, a->e)),
            to);
  if (!a->mask.data && !a->causal) return;
  const int64_t size = a->mask_bool ? 1 : j->size;
  const char *mask = a->mask.data ? at(j, &a->mask, b->item, b->query) : NULL;
  if (mask) mask += b->key * a->mask_column * size;
  for (int64_t i = 0; i < b->queries; i++) {
    char *row = w->scores + i * KEYS * j->size;
    if (mask)
      j->kernels->mask(b->keys, a->mask_bool, mask + i * a->mask.row * size, a->mask_column, row);
    if (a->causal) j->kernels->hide(b->keys, b->query + i + 1 - b->key, row);
  }
}

/* ---- weights that are kept ---- */

enum { ROW_UNIT = 16 }; /* a row of them begins on a vector */
static const int64_t MOST_KEPT = 1 << 19;

static int64_t weights_row(const luc_attention *a) {
  return luc__whole(a->s, ROW_UNIT);
}

int64_t luc__attention_kept(const luc_attention *a) {
  const int64_t row = weights_row(a);
  return a->s <= KEYS && a->batch * a->l * row <= MOST_KEPT ? row : 0;
}

static char *weights_of(const job *j, const block *b) {
  return j->weights + ((b->item * j->a->l + b->query) * j->weights_row + b->key) * j->size;
}

/* ---- forward ---- */

static void fill(const job *j, char *to, double value) {
  for (int64_t i = 0; i < GROUP * QUERIES; i++) {
    if (j->a->dtype == LUC_FLOAT64)
      ((double *)to)[i] = value;
    else
      ((float *)to)[i] = (float)value;
  }
}

/* Where a query's result is added up, rows acc_row apart: in its own memory, if that is not of
 * bfloat16. */
static char *acc_of(const job *j, const scratch *w, int64_t item, int64_t query) {
  if (!j->a->pairs) return at(j, j->out, item, query);
  return w->acc + query % j->group * j->a->ev * j->size;
}

static int64_t acc_row(const job *j) {
  return j->a->pairs ? j->a->ev : j->out->row;
}

/* A block of queries meets a block of keys, some of those that are packed. max and sum are the
 * block's. */
static void forward_block(const job *j, const scratch *w, const block *b, int64_t keys, char *max,
                          char *sum) {
  const luc_attention *a = j->a;
  const target acc = {acc_of(j, w, b->item, b->query), acc_row(j), b->key > 0};
  const luc_attention_rows rows = {b->queries, b->keys, KEYS, w->scores};
  score(j, w, b);
  j->kernels->online(&rows, max, sum, b->key > 0 ? a->ev : 0, acc.row, acc.data);
  if (j->weights) j->kernels->keep(&rows, sum, weights_of(j, b), j->weights_row);
  if (!a->pairs) {
    product(j, w->values, 1, block_of(&rows), keys_of(j, &a->v, b, a->ev), acc);
    return;
  }
  round_block(j, &rows, w->halves);
  strips(j, 1, halves_of(w, b), (packed){w->values, a->ev, depth_of(keys)}, acc);
}

static void forward_piece(const job *j, const scratch *w, int64_t piece) {
  const luc_attention *a = j->a;
  block b = {.item = piece / j->groups};
  const int64_t first = piece % j->groups * j->group, end = luc__min64(first + j->group, a->l);
  fill(j, w->max, -(double)INFINITY);
  fill(j, w->sum, 0);
  for (b.key = 0; b.key < a->s; b.key += KEYS) {
    b.query = first, b.queries = end - first;
    const int64_t keys = b.keys = luc__min64(KEYS, last_key(a, &b) - b.key);
    if (a->pairs && keys > 0) pack_keys(j, w, &b);
    for (; b.query < end; b.query += QUERIES) {
      const int64_t done = (b.query - first) * j->size;
      b.queries = luc__min64(QUERIES, end - b.query);
      b.keys = luc__min64(KEYS, last_key(a, &b) - b.key);
      if (b.keys > 0) forward_block(j, w, &b, keys, w->max + done, w->sum + done);
    }
  }
  j->kernels->finish(end - first, a->ev, acc_row(j), acc_of(j, w, b.item, first), w->max, w->sum,
                     j->lse + (b.item * a->l + first) * j->size);
  for (int64_t i = first; a->pairs && i < end; i++)
    j->gemm->round(a->ev, acc_of(j, w, b.item, i), at(j, j->out, b.item, i));
}

static void forward(void *arg, void *slot, int64_t begin, int64_t end) {
  const job *j = arg;
  const scratch w = cut_scratch(j, slot);
  for (int64_t i = begin; i < end; i++) forward_piece(j, &w, i);
}

/* ---- backward ---- */

/* What gradients' products add to: what was there, 0 if this block is the first of several. */
static double added_to(const job *j, int64_t first) {
  return luc__attention_adds(j->a) || first > 0;
}

/* Where a block's gradients go. */
typedef struct gradients {
  target dq, dk, dv;
} gradients;

/* p: the weights; ds: the scores' gradient. Of `keys` columns are packed. */
static void add_pairs(const job *j, const scratch *w, const block *b, int64_t keys,
                      const luc_attention_rows *p, const luc_attention_rows *ds,
                      const gradients *to) {
  const luc_attention *a = j->a;
  const int64_t n = b->queries;
  packed columns = pack_columns(j, n, a->ev, at(j, &a->g, b->item, b->query), a->g.row, w->columns);
  round_block(j, p, w->halves);
  strips(j, 1, turn_block(j, w, p), columns, to->dv);
  round_block(j, ds, w->halves);
  const factor turned_ds = turn_block(j, w, ds);
  strips(j, a->scale, halves_of(w, b), (packed){w->key_columns, a->e, depth_of(keys)}, to->dq);
  columns = pack_columns(j, n, a->e, at(j, &a->q, b->item, b->query), a->q.row, w->columns);
  strips(j, a->scale, turned_ds, columns, to->dk);
}

static void add_products(const job *j, const scratch *w, const block *b,
                         const luc_attention_rows *p, const luc_attention_rows *ds,
                         const gradients *to) {
  const luc_attention *a = j->a;
  product(j, w->values, 1, turned(block_of(p)), queries_of(j, j->dout, b, a->ev), to->dv);
  product(j, w->keys, a->scale, block_of(ds), keys_of(j, &a->k, b, a->e), to->dq);
  product(j, w->keys, a->scale, turned(block_of(ds)), queries_of(j, &a->q, b, a->e), to->dk);
}

/* dq: the item's, rows e or more apart; a product has written it where the block is not the first
 * one, of key `start`. Of `keys` some are met. */
static void backward_block(const job *j, const scratch *w, const block *b, int64_t keys, char *dq,
                           int64_t dq_row, int64_t start) {
  const luc_attention *a = j->a;
  const int64_t first = (b->item * a->l + b->query) * j->size;
  const double adds = added_to(j, b->query);
  const gradients to = {
      .dq = {dq + b->query * dq_row * j->size, dq_row, added_to(j, b->key - start)},
      .dk = {at(j, j->dk, b->item, b->key), j->dk->row, adds},
      .dv = {at(j, j->dv, b->item, b->key), j->dv->row, adds}};
  const luc_attention_rows ds = {b->queries, b->keys, KEYS, w->more};
  const luc_attention_rows p =
      j->weights ? (luc_attention_rows){b->queries, b->keys, j->weights_row, weights_of(j, b)}
                 : (luc_attention_rows){b->queries, b->keys, KEYS, w->scores};
  if (!j->weights) score(j, w, b);
  const target dp = {w->more, KEYS, 0};
  if (a->pairs)
    strips(j, 1, paired(j, b, &a->g, a->ev, w->grads),
           (packed){w->values, b->keys, depth_of(a->ev)}, dp);
  else
    product(j, w->values, 1, queries_of(j, j->dout, b, a->ev), turned(keys_of(j, &a->v, b, a->ev)),
            dp);
  j->kernels->backward(&p, j->weights ? NULL : j->lse + first, j->delta + first, KEYS, w->more);
  if (a->pairs)
    add_pairs(j, w, b, keys, &p, &ds, &to);
  else
    add_products(j, w, b, &p, &ds, &to);
}

/* The sums of a cut of an item, which is not its first. */
static char *sums_of(const job *j, int64_t item, int64_t cut) {
  return j->sums + (item * (j->cuts - 1) + cut - 1) * j->a->l * j->a->e * j->size;
}

/* A range of an item's blocks of keys meets all queries. */
static void backward_piece(const job *j, const scratch *w, int64_t item, int64_t cut) {
  const luc_attention *a = j->a;
  const int64_t blocks = (a->s + j->keys - 1) / j->keys;
  const int64_t end = luc__min64((cut + 1) * blocks / j->cuts * j->keys, a->s);
  const int64_t first = cut * blocks / j->cuts * j->keys;
  char *dq = cut == 0 ? at(j, j->dq, item, 0) : sums_of(j, item, cut);
  if (cut > 0 && luc__attention_adds(a)) memset(dq, 0, (size_t)(a->l * a->e * j->size));
  for (block b = {.item = item, .key = first}; b.key < end; b.key += j->keys) {
    b.query = 0, b.queries = a->l;
    const int64_t keys = b.keys = luc__min64(j->keys, last_key(a, &b) - b.key);
    if (a->pairs && keys > 0) pack_keys(j, w, &b);
    for (b.query = 0; b.query < a->l; b.query += QUERIES) {
      b.queries = luc__min64(QUERIES, a->l - b.query);
      b.keys = luc__min64(j->keys, last_key(a, &b) - b.key);
      if (b.keys > 0) backward_block(j, w, &b, keys, dq, cut == 0 ? j->dq->row : a->e, first);
    }
  }
}

static void backward(void *arg, void *slot, int64_t begin, int64_t end) {
  const job *j = arg;
  const scratch w = cut_scratch(j, slot);
  for (int64_t i = begin; i < end; i++) backward_piece(j, &w, i / j->cuts, i % j->cuts);
}

/* Blocks of queries of all items: what comes before the pieces, and what after. */

static void find_deltas(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_attention *a = j->a;
  for (int64_t i = begin; i < end; i++) {
    const int64_t item = i / j->groups, row = i % j->groups * QUERIES;
    j->kernels->dots(luc__min64(QUERIES, a->l - row), a->ev, j->dout->row,
                     at(j, j->dout, item, row), j->out->row, at(j, j->out, item, row),
                     j->delta + (item * a->l + row) * j->size);
  }
}

static void add_cuts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const luc_attention *a = j->a;
  for (int64_t i = begin; i < end; i++) {
    const int64_t item = i / j->groups, first = i % j->groups * QUERIES;
    for (int64_t row = first; row < luc__min64(first + QUERIES, a->l); row++)
      for (int64_t cut = 1; cut < j->cuts; cut++)
        luc__add_elements(a->dtype, at(j, j->dq, item, row),
                          sums_of(j, item, cut) + row * a->e * j->size, a->e);
  }
}

/* ---- calls ---- */

/* Pieces that there should be where blocks of queries, or of keys, allow it. */
enum { PIECES = 8 };

/* Multiplications worth a piece of their own. */
static const int64_t PIECE_WORK = 1 << 20;

/* Pieces at a time; few queries read memory, which takes longer than arithmetic. */
static int64_t grain_of(const luc_attention *a, int64_t queries, int64_t keys) {
  const int64_t work = (queries < 16 ? 16 : queries) * keys * (a->e + a->ev);
  return PIECE_WORK / (work + 1024) + 1;
}

/* Measured: blocks of 32 queries by 32 keys are no faster. */
static const int64_t LEAST_SCORES = 1 << 11;

/* Tiles want some queries, keys and features. */
static const luc_gemm_kernels *kernels_of(luc_context *ctx, const luc_attention *a) {
  const luc_gemm g = {
      .dtype = a->dtype, .pairs = true, .m = a->l, .n = a->s, .k = a->e / 2, .batch = a->batch};
  return luc__gemm_kernels(ctx, &g);
}

bool luc__attention_suits_pairs(luc_context *ctx, const luc_attention *a) {
  return a->l > FEW && a->l * a->s >= LEAST_SCORES && a->e % 2 == 0 && a->ev % 2 == 0 &&
         kernels_of(ctx, a)->tiles;
}

static job make_job(luc_context *ctx, const luc_attention *a) {
  const luc_kernels *kernels = luc__kernels(ctx);
  return (job){.a = a,
               .kernels = &kernels->attention[a->dtype],
               .weights_row = weights_row(a),
               .gemm = a->pairs ? kernels_of(ctx, a) : &kernels->gemm[a->dtype],
               .size = (int64_t)luc__dtype_size(a->dtype)};
}

luc_status luc__attention(luc_context *ctx, const luc_attention *a, const luc_heads *out, void *lse,
                          void *weights) {
  job j = make_job(ctx, a);
  j.out = out, j.lse = lse, j.weights = weights;
  if (a->batch * a->l * a->ev == 0) return LUC_OK; /* lse is not asked for */
  j.group = GROUP * QUERIES;
  while (j.group > QUERIES && a->batch * a->l < PIECES * j.group) j.group /= 2;
  j.groups = (a->l + j.group - 1) / j.group;
  const int64_t grain = grain_of(a, luc__min64(j.group, a->l), a->s);
  return luc__parallel_scratch(ctx, a->batch * j.groups, grain, scratch_size(&j), forward, &j);
}

static void choose_cuts(job *j) {
  const luc_attention *a = j->a;
  j->keys = KEYS;
  while (j->keys > QUERIES && a->batch * (a->s / j->keys) < PIECES / 2) j->keys -= QUERIES;
  const int64_t blocks = (a->s + j->keys - 1) / j->keys,
                wanted = (PIECES + a->batch - 1) / a->batch;
  j->cuts = wanted < blocks ? wanted : blocks;
  if (j->cuts < 1 || a->l * a->s * (a->e + a->ev) < 2 * PIECE_WORK) j->cuts = 1;
}

/* Keys see some of the queries, or there is nothing to multiply. */
bool luc__attention_adds(const luc_attention *a) {
  return a->causal || a->batch * a->l * a->s * a->ev == 0;
}

luc_status luc__attention_backward(luc_context *ctx, const luc_attention *a, const luc_heads *dout,
                                   const luc_heads *out, const void *lse, const void *weights,
                                   const luc_heads *dq, const luc_heads *dk, const luc_heads *dv) {
  job j = make_job(ctx, a);
  j.dout = dout, j.out = out, j.dq = dq, j.dk = dk, j.dv = dv, j.lse = (char *)lse;
  j.weights = (char *)weights;
  if (a->batch * a->l * a->ev == 0) return LUC_OK;
  choose_cuts(&j);
  j.groups = (a->l + QUERIES - 1) / QUERIES;
  const int64_t rows = a->batch * a->l, grain = PIECE_WORK / 8 / (QUERIES * a->ev) + 1;
  const size_t sums = luc__mul_size((size_t)(rows * a->e * (j.cuts - 1)), (size_t)j.size);
  const size_t bytes = (size_t)(rows * j.size);
  luc_status status = LUC_ERR_MEMORY;
  j.delta = luc__alloc(ctx, bytes);
  j.sums = j.delta && sums ? luc__alloc(ctx, sums) : NULL;
  if (j.delta && (j.sums || !sums)) {
    luc__parallel_for(ctx, a->batch * j.groups, grain, find_deltas, &j);
    status = luc__parallel_scratch(ctx, a->batch * j.cuts, grain_of(a, a->l, a->s / j.cuts),
                                   scratch_size(&j), backward, &j);
  }
  if (status == LUC_OK && j.cuts > 1)
    luc__parallel_for(ctx, a->batch * j.groups, grain, add_cuts, &j);
  luc__free(ctx, j.sums, sums);
  luc__free(ctx, j.delta, bytes);
  return status;
}
