/* Keys, a stable radix sort of (key, position) pairs, and what is read off sorted lines. */
#include "cpu/sort.h"

#include <string.h>

typedef struct pair {
  uint64_t key;
  int64_t at;
} pair;

enum { SMALL = 48, FEW = 32, GRAIN = 1 << 14, MAX_PIECES = 16 };

/* ---- keys ---- */

static uint64_t float_key(float f) {
  uint32_t bits;
  f = f + 0.0f; /* -0 becomes 0 */
  memcpy(&bits, &f, sizeof bits);
  if (f != f) return UINT32_MAX;
  return bits >> 31 ? (uint32_t)~bits : bits | 0x80000000u;
}

static uint64_t double_key(double f) {
  uint64_t bits;
  f = f + 0.0;
  memcpy(&bits, &f, sizeof bits);
  if (f != f) return UINT64_MAX;
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of(const void *x, luc_dtype dtype, int64_t i) {
  switch (dtype) {
  case LUC_FLOAT32: return float_key(((const float *)x)[i]);
  case LUC_FLOAT64: return double_key(((const double *)x)[i]);
  case LUC_FLOAT16: return float_key(luc__half_to_float(((const uint16_t *)x)[i]));
  case LUC_BFLOAT16: return float_key(luc__bfloat16_to_float(((const uint16_t *)x)[i]));
  case LUC_INT8: return (uint8_t)(((const int8_t *)x)[i] ^ INT8_MIN);
  case LUC_INT16: return (uint16_t)(((const int16_t *)x)[i] ^ INT16_MIN);
  case LUC_INT32: return (uint32_t)((const int32_t *)x)[i] ^ 0x80000000u;
  case LUC_INT64: return (uint64_t)((const int64_t *)x)[i] ^ (uint64_t)1 << 63;
  default: return ((const uint8_t *)x)[i];
  }
}

static uint64_t nan_key(luc_dtype dtype) {
  if (!luc__dtype_is_float(dtype)) return UINT64_MAX; /* no small integer's key; see is_nan */
  return dtype == LUC_FLOAT64 ? UINT64_MAX : UINT32_MAX;
}

static bool is_nan(luc_dtype dtype, uint64_t key) {
  return luc__dtype_is_float(dtype) && key == nan_key(dtype);
}

/* ---- sorting pairs ---- */

static void insertion_sort(pair *p, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    pair v = p[i];
    int64_t k = i;
    for (; k > 0 && p[k - 1].key > v.key; k--) p[k] = p[k - 1];
    p[k] = v;
  }
}

/* One byte of the key after another, skipping bytes that are all alike. Leaves the result in p. */
static void radix_sort(pair *p, pair *spare, int64_t n) {
  int64_t counts[8][256] = {{0}};
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < 8; d++) counts[d][p[i].key >> (8 * d) & 255]++;
  pair *from = p, *to = spare;
  for (int d = 0; d < 8; d++) {
    if (counts[d][p[0].key >> (8 * d) & 255] == n) continue;
    int64_t at = 0;
    for (int v = 0; v < 256; v++) {
      int64_t c = counts[d][v];
      counts[d][v] = at;
      at += c;
    }
    for (int64_t i = 0; i < n; i++) to[counts[d][from[i].key >> (8 * d) & 255]++] = from[i];
    pair *t = from;
    from = to;
    to = t;
  }
  if (from != p) memcpy(p, from, (size_t)n * sizeof *p);
}

static void sort_pairs(pair *p, pair *spare, int64_t n) {
  if (n <= SMALL)
    insertion_sort(p, n);
  else
    radix_sort(p, spare, n);
}

/* ---- lines ---- */

typedef struct sort_lines {
  const luc_sort_job *job;
  pair *scratch; /* 2 n pairs for each piece */
  int64_t lines, pieces, kept;
} sort_lines;

/* Where the median or mode of a sorted line stands. */
static int64_t median_place(const luc_sort_job *job, const pair *p) {
  int64_t k = (job->n - 1) / 2;
  if (!is_nan(job->dtype, p[job->n - 1].key)) return k;
  for (k = job->n - 1; k > 0 && is_nan(job->dtype, p[k - 1].key);) k--;
  return k;
}

static int64_t mode_place(const luc_sort_job *job, const pair *p) {
  int64_t best = 0, longest = 0;
  for (int64_t i = 0, first = 0; i < job->n; i++) {
    if (p[i].key != p[first].key) first = i;
    if (i - first + 1 > longest) {
      longest = i - first + 1;
      best = i;
    }
  }
  return best;
}

static void write_line(const luc_sort_job *job, const pair *p, int64_t line, int64_t kept) {
  int64_t from = 0, outer = line / job->inner, inner = line % job->inner;
  size_t size = luc__dtype_size(job->dtype);
  if (job->pick == LUC_PICK_KTH) from = job->keep;
  if (job->pick == LUC_PICK_MEDIAN) from = median_place(job, p);
  if (job->pick == LUC_PICK_MODE) from = mode_place(job, p);
  for (int64_t k = 0; k < kept; k++) {
    int64_t to = (outer * kept + k) * job->inner + inner, at = p[from + k].at;
    if (job->indices) job->indices[to] = at;
    const char *source =
        (const char *)job->x + (size_t)((outer * job->n + at) * job->inner + inner) * size;
    if (job->values) memcpy((char *)job->values + (size_t)to * size, source, size);
  }
}

static uint64_t sort_key(const luc_sort_job *job, int64_t at) {
  uint64_t key = key_of(job->x, job->dtype, at);
  return job->descending ? ~key : key;
}

/* From i on, past whole blocks with nothing larger than `last` (or NaN). */
enum { BLOCK = 16 };
static int64_t skip_blocks(const float *x, int64_t i, int64_t n, float last) {
  for (; i + BLOCK <= n; i += BLOCK) {
    int beyond = 0;
    for (int k = 0; k < BLOCK; k++) beyond |= !(x[i + k] <= last);
    if (beyond) break;
  }
  return i;
}

/* Of a line that begins at `first`, the `keep` first in order, the rest only looked at: for
 * keep <= FEW. */
static void take_first(const luc_sort_job *job, int64_t first, int64_t keep, pair *best) {
  bool blocks = job->dtype == LUC_FLOAT32 && job->descending && job->inner == 1;
  const float *x = blocks ? (const float *)job->x + first : NULL;
  int64_t found = 0;
  for (int64_t i = 0; i < job->n; i++) {
    if (blocks && found == keep && i % BLOCK == 0)
      i = skip_blocks(x, i, job->n, x[best[keep - 1].at]);
    if (i == job->n) break;
    uint64_t key = sort_key(job, first + i * job->inner);
    if (found == keep && key >= best[keep - 1].key) continue;
    int64_t k = found < keep ? found++ : keep - 1;
    for (; k > 0 && best[k - 1].key > key; k--) best[k] = best[k - 1];
    best[k] = (pair){key, i};
  }
}

static void sort_piece(void *arg, int64_t begin, int64_t end) {
  const sort_lines *s = arg;
  const luc_sort_job *job = s->job;
  for (int64_t piece = begin; piece < end; piece++) {
    pair *p = s->scratch + piece * 2 * job->n;
    int64_t last = (piece + 1) * s->lines / s->pieces;
    for (int64_t line = piece * s->lines / s->pieces; line < last; line++) {
      int64_t first = line / job->inner * job->n * job->inner + line % job->inner;
      if (job->pick == LUC_PICK_FIRST && s->kept <= FEW && s->kept < job->n) {
        take_first(job, first, s->kept, p);
      } else {
        for (int64_t i = 0; i < job->n; i++)
          p[i] = (pair){sort_key(job, first + i * job->inner), i};
        sort_pairs(p, p + job->n, job->n);
      }
      write_line(job, p, line, s->kept);
    }
  }
}

luc_status luc__sort(luc_context *ctx, const luc_sort_job *job) {
  sort_lines s = {.job = job, .lines = job->outer * job->inner};
  s.kept = job->pick == LUC_PICK_FIRST ? job->keep : 1;
  if (s.lines == 0 || job->n == 0 || s.kept == 0) return LUC_OK;
  s.pieces = s.lines * job->n / GRAIN + 1;
  if (s.pieces > MAX_PIECES) s.pieces = MAX_PIECES;
  if (s.pieces > s.lines) s.pieces = s.lines;
  size_t bytes = luc__mul_size((size_t)(s.pieces * job->n), 2 * sizeof(pair));
  s.scratch = luc__alloc(ctx, bytes);
  if (!s.scratch) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, s.pieces, 1, sort_piece, &s);
  luc__free(ctx, s.scratch, bytes);
  return LUC_OK;
}

/* ---- distinct elements ---- */

int64_t luc__distinct(luc_dtype dtype, const void *x, int64_t n, const int64_t *order,
                      int64_t *firsts, int64_t *inverse, int64_t *counts) {
  int64_t found = 0;
  uint64_t last = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = order ? order[i] : i;
    uint64_t key = key_of(x, dtype, at);
    if (i == 0 || key != last || is_nan(dtype, key)) { /* NaN equals nothing */
      if (firsts) firsts[found] = at;
      if (counts) counts[found] = 0;
      found++;
    }
    last = key;
    if (counts) counts[found - 1]++;
    if (inverse) inverse[at] = found - 1;
  }
  return found;
}

/* ---- searching ---- */

static int64_t place(const luc_search_job *job, const void *bounds, int64_t row, uint64_t key) {
  int64_t low = 0, high = job->m;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    uint64_t bound = key_of(bounds, job->dtype, row * job->m + middle);
    if (bound < key || (job->right && bound == key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void search_range(void *arg, int64_t begin, int64_t end) {
  const luc_search_job *job = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t row = job->per_row ? i / job->per_row : 0;
    job->out[i] = place(job, job->bounds, row, key_of(job->values, job->dtype, i));
  }
}

void luc__search(luc_context *ctx, const luc_search_job *job) {
  luc_search_job local = *job;
  luc__parallel_for(ctx, job->n, GRAIN, search_range, &local);
}

void luc__bincount(const int64_t *x, int64_t n, const double *weights, int64_t bins, void *out) {
  memset(out, 0, (size_t)bins * 8);
  for (int64_t i = 0; i < n; i++) {
    if (weights)
      ((double *)out)[x[i]] += weights[i];
    else
      ((int64_t *)out)[x[i]]++;
  }
}
