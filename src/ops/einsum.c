/* einsum: every operand is brought to one layout of labels (the result's, then the summed ones),
 * absent labels having size 1; then operands are multiplied from left to right, by elements or as
 * batched matrix products, a label being summed as soon as no later operand has it. */
#include "ops/formula.h"
#include "ops/rows.h"

#include <string.h>

enum {
  LETTERS = 52,
  MAX_LABELS = LETTERS + LUC_MAX_DIMS, /* the ellipsis' dims are labels of their own */
  MAX_OPERANDS = 8
};

typedef struct einsum_plan {
  luc_context *ctx;
  const char *equation;
  int count;              /* operands */
  int ndim[MAX_OPERANDS]; /* labels of each; with repeats */
  uint8_t labels[MAX_OPERANDS][LUC_MAX_DIMS];
  int ellipsis;          /* dims of the longest ellipsis */
  int uses[MAX_LABELS];  /* in how many operands */
  int place[MAX_LABELS]; /* in the layout; -1 none */
  int nout, total;       /* labels of the result; all */
} einsum_plan;

static luc_status bad(einsum_plan *p, const char *what) {
  return luc__fail(p->ctx, LUC_ERR_VALUE, "einsum: %s (equation '%.80s')", what, p->equation);
}

static int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* One operand's labels up to ',' '-' or the end; its ellipsis takes what dims the letters leave. */
static luc_status parse_operand(einsum_plan *p, const char **at, const luc_tensor *t, int k) {
  int letters = 0, n = 0;
  bool dots = false;
  for (const char *c = *at; *c && *c != ',' && *c != '-'; c++) letters += label_of(*c) >= 0;
  for (; **at && **at != ',' && **at != '-'; ++*at) {
    char c = **at;
    if (c == ' ') continue;
    if (c == '.') {
      if (dots || strncmp(*at, "...", 3) != 0) return bad(p, "an ellipsis is three dots, once");
      dots = true;
      *at += 2;
      int size = t->ndim - letters;
      if (n + size > LUC_MAX_DIMS) return bad(p, "too many labels");
      if (size > p->ellipsis) p->ellipsis = size;
      for (int i = 0; i < size; i++) /* counted from the last, as broadcasting does */
        p->labels[k][n++] = (uint8_t)(LETTERS + size - 1 - i);
      continue;
    }
    if (label_of(c) < 0) return bad(p, "labels are letters");
    if (n == LUC_MAX_DIMS) return bad(p, "too many labels");
    p->labels[k][n++] = (uint8_t)label_of(c);
  }
  p->ndim[k] = n;
  if (n == t->ndim) return LUC_OK;
  char shape[LUC_SHAPE_TEXT];
  return luc__fail(p->ctx, LUC_ERR_SHAPE,
                   "einsum: operand %d has %d labels and shape %s (equation '%.80s')", k + 1,
                   letters, luc__tensor_shape_text(shape, t), p->equation);
}

static void count_uses(einsum_plan *p) {
  for (int k = 0; k < p->count; k++) {
    bool seen[MAX_LABELS] = {false};
    for (int i = 0; i < p->ndim[k]; i++) seen[p->labels[k][i]] = true;
    for (int l = 0; l < MAX_LABELS; l++) p->uses[l] += seen[l];
  }
}

static luc_status place_label(einsum_plan *p, int label) {
  if (p->place[label] >= 0) return bad(p, "a label stands twice in the result");
  if (label < LETTERS && !p->uses[label]) return bad(p, "the result has a label of no operand");
  p->place[label] = p->nout++;
  return LUC_OK;
}

static luc_status place_ellipsis(einsum_plan *p) {
  for (int i = p->ellipsis - 1; i >= 0; i--) LUC_TRY(place_label(p, LETTERS + i));
  return LUC_OK;
}

static luc_status parse_result(einsum_plan *p, const char *at) {
  for (; *at; at++) {
    if (*at == ' ') continue;
    if (*at == '.') {
      if (strncmp(at, "...", 3) != 0) return bad(p, "an ellipsis is three dots, once");
      at += 2;
      LUC_TRY(place_ellipsis(p));
    } else if (label_of(*at) < 0) {
      return bad(p, "labels are letters");
    } else {
      LUC_TRY(place_label(p, label_of(*at)));
    }
  }
  return LUC_OK;
}

/* Without an arrow the result has the ellipsis and every label that stands once, in order. */
static luc_status implied_result(einsum_plan *p) {
  int times[MAX_LABELS] = {0};
  LUC_TRY(place_ellipsis(p));
  for (int k = 0; k < p->count; k++)
    for (int i = 0; i < p->ndim[k]; i++) times[p->labels[k][i]]++;
  for (int l = 0; l < LETTERS; l++)
    if (times[l] == 1) LUC_TRY(place_label(p, l));
  return LUC_OK;
}

static luc_status parse_equation(einsum_plan *p, luc_tensor *const *operands) {
  const char *at = p->equation;
  for (int l = 0; l < MAX_LABELS; l++) p->place[l] = -1;
  for (int k = 0; k < p->count; k++) {
    LUC_TRY(parse_operand(p, &at, operands[k], k));
    if (k + 1 < p->count && *at++ != ',') return bad(p, "there are more operands than labels");
  }
  count_uses(p);
  if (*at == ',') return bad(p, "there are more labels than operands");
  if (*at == '-') {
    if (at[1] != '>') return bad(p, "expected '->'");
    LUC_TRY(parse_result(p, at + 2));
  } else {
    LUC_TRY(implied_result(p));
  }
  p->total = p->nout;
  for (int l = 0; l < MAX_LABELS; l++)
    if (p->uses[l] && p->place[l] < 0) p->place[l] = p->total++;
  return p->total <= LUC_MAX_DIMS ? LUC_OK : bad(p, "too many different labels");
}

/* The first two places of one label. */
static bool find_repeated(const int *labels, int n, int *i, int *j) {
  for (*i = 0; *i < n; ++*i)
    for (*j = *i + 1; *j < n; ++*j)
      if (labels[*i] == labels[*j]) return true;
  return false;
}

/* Repeated labels become a diagonal, which stands last. */
static luc_tensor *diagonals(luc_formula *f, const einsum_plan *p, luc_tensor *t, int k,
                             int *labels, int *n) {
  int i, j;
  while (f->status == LUC_OK && find_repeated(labels, *n, &i, &j)) {
    if (t->sizes[i] != t->sizes[j]) {
      f->status = luc__fail(p->ctx, LUC_ERR_SHAPE,
                            "einsum: a label is repeated for operand %d but the sizes don't "
                            "match, %lld != %lld (equation '%.80s')",
                            k + 1, (long long)t->sizes[j], (long long)t->sizes[i], p->equation);
      return NULL;
    }
    t = luc__f_call(f, LUC_OP_diagonal,
                    LUC_ARGS(luc_v_tensor(t), luc_v_int(0), luc_v_int(i), luc_v_int(j)));
    const int label = labels[i];
    memmove(labels + j, labels + j + 1, sizeof *labels * (size_t)(*n - j - 1));
    memmove(labels + i, labels + i + 1, sizeof *labels * (size_t)(*n - i - 2));
    labels[*n - 2] = label;
    --*n;
  }
  return t;
}

/* Operand k with its dimensions ordered by place and filled up with size 1. */
static luc_tensor *lay_out(luc_formula *f, const einsum_plan *p, luc_tensor *t, int k) {
  int n = p->ndim[k], labels[LUC_MAX_DIMS];
  for (int i = 0; i < n; i++) labels[i] = p->labels[k][i];
  t = diagonals(f, p, t, k, labels, &n);
  int64_t order[LUC_MAX_DIMS], sizes[LUC_MAX_DIMS];
  int next = 0;
  if (f->status != LUC_OK) return NULL;
  for (int place = 0; place < p->total; place++) {
    sizes[place] = 1;
    for (int i = 0; i < n; i++) {
      if (p->place[labels[i]] != place) continue;
      sizes[place] = t->sizes[i];
      order[next++] = i;
    }
  }
  return luc__f_reshape(f, luc__f_permute(f, t, n, order), p->total, sizes);
}

/* Dims in four groups: kept by both, by the left, summed, by the right alone. */
typedef struct groups {
  int n[4];
  int64_t dims[4][LUC_MAX_DIMS], size[4];
} groups;
enum { BOTH, LEFT, SUMMED, RIGHT };

static void add_to(groups *g, int which, int dim, int64_t size) {
  g->dims[which][g->n[which]++] = dim;
  g->size[which] *= size;
}

static luc_tensor *grouped(luc_formula *f, luc_tensor *t, const groups *g, const int *order,
                           int64_t rows, int64_t columns) {
  int64_t dims[LUC_MAX_DIMS];
  int n = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < g->n[order[i]]; j++) dims[n++] = g->dims[order[i]][j];
  return luc__f_reshape(f, luc__f_permute(f, t, n, dims), 3,
                        (int64_t[]){g->size[BOTH], rows, columns});
}

/* Where nothing is summed, elements are multiplied, of any two dtypes; but all of one side by all
 * of the other are a matrix product, whose gradients are products, too. */
static bool by_elements(const groups *g, const luc_tensor *a, const luc_tensor *b) {
  if (g->size[SUMMED] != 1) return false;
  return g->size[LEFT] == 1 || g->size[RIGHT] == 1 || a->dtype != b->dtype || a->dtype == LUC_BOOL;
}

/* a * b with the dims of `sum` summed (kept with size 1). */
static luc_tensor *pair(luc_formula *f, luc_tensor *a, luc_tensor *b, const bool *sum) {
  groups g = {.size = {1, 1, 1, 1}};
  if (f->status != LUC_OK) return NULL;
  int total = a->ndim;
  for (int64_t d = 0; d < total; d++) {
    bool left = a->sizes[d] != 1, right = b->sizes[d] != 1;
    if (sum[d] && left && right) {
      add_to(&g, SUMMED, (int)d, a->sizes[d]);
    } else if (left && right) {
      add_to(&g, BOTH, (int)d, a->sizes[d]);
    } else if (sum[d]) { /* one of them alone has it, or neither */
      if (left) a = luc__f_sum_keepdim(f, a, d);
      if (right) b = luc__f_sum_keepdim(f, b, d);
      if (f->status != LUC_OK) return NULL;
      add_to(&g, SUMMED, (int)d, 1);
    } else {
      add_to(&g, left ? LEFT : RIGHT, (int)d, left ? a->sizes[d] : b->sizes[d]);
    }
  }
  if (by_elements(&g, a, b)) return luc__f2(f, LUC_OP_mul, a, b);
  int64_t sizes[LUC_MAX_DIMS], back[LUC_MAX_DIMS];
  int n = 0;
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < g.n[i]; j++) {
      int64_t d = g.dims[i][j];
      sizes[n] = i == SUMMED ? 1 : i == RIGHT ? b->sizes[d] : a->sizes[d];
      back[d] = n++;
    }
  }
  luc_tensor *l =
      grouped(f, a, &g, (int[]){BOTH, LEFT, SUMMED, RIGHT}, g.size[LEFT], g.size[SUMMED]);
  luc_tensor *r =
      grouped(f, b, &g, (int[]){BOTH, SUMMED, RIGHT, LEFT}, g.size[SUMMED], g.size[RIGHT]);
  luc_tensor *y = luc__f_reshape(f, luc__f2(f, LUC_OP_bmm, l, r), total, sizes);
  return luc__f_permute(f, y, total, back);
}

/* Sizes must agree wherever both have more than 1. */
static luc_status check_sizes(einsum_plan *p, luc_tensor *const *laid) {
  for (int d = 0; d < p->total; d++) {
    int64_t size = 1;
    for (int k = 0; k < p->count; k++) {
      int64_t s = laid[k]->sizes[d];
      if (s != 1 && size != 1 && s != size)
        return luc__fail(p->ctx, LUC_ERR_SHAPE,
                         "einsum: operand %d has size %lld where another has %lld (equation "
                         "'%.80s')",
                         k + 1, (long long)s, (long long)size, p->equation);
      if (s != 1) size = s;
    }
  }
  return LUC_OK;
}

static luc_tensor *multiply_all(luc_formula *f, einsum_plan *p, luc_tensor **laid) {
  luc_tensor *y = laid[0];
  for (int k = 1; k < p->count; k++) {
    bool sum[LUC_MAX_DIMS] = {false};
    for (int d = p->nout; d < p->total; d++) {
      sum[d] = true;
      for (int later = k + 1; later < p->count; later++) sum[d] &= laid[later]->sizes[d] == 1;
    }
    y = pair(f, y, laid[k], sum);
  }
  int64_t dims[LUC_MAX_DIMS], left = 1;
  int n = 0;
  if (f->status != LUC_OK) return NULL;
  for (int d = p->nout; d < p->total; d++) left *= y->sizes[dims[n++] = d];
  if (left == 1 && p->count > 1) return luc__f_reshape(f, y, p->nout, y->sizes);
  return n > 0 ? luc__f_sum(f, y, n, dims, false) : y;
}

/* einsum(equation, operands) */
luc_status luc__run_einsum(luc_context *ctx, luc_value *args, luc_value *out) {
  einsum_plan p = {.ctx = ctx, .equation = args[0].as.string, .count = args[1].n};
  luc_tensor *laid[MAX_OPERANDS] = {NULL};
  LUC_CHECK(ctx, p.count >= 1 && p.count <= MAX_OPERANDS, LUC_ERR_VALUE,
            "takes 1 to %d operands (got %d)", MAX_OPERANDS, p.count);
  LUC_TRY(parse_equation(&p, args[1].as.tensors));
  luc_formula f = luc__formula(ctx);
  for (int k = 0; k < p.count; k++) laid[k] = lay_out(&f, &p, args[1].as.tensors[k], k);
  if (f.status == LUC_OK) f.status = check_sizes(&p, laid);
  luc_tensor *y = f.status == LUC_OK ? multiply_all(&f, &p, laid) : NULL;
  return luc__f_result(&f, y, out);
}
