/* Lines in order, by words of keys and places where both have room in one, by pairs of them, or
 * beside each other; and what is read off sorted lines. */
#include "cpu/sort.h"

#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/sort_pairs.h"

typedef luc_pair pair;

/* a pair has as many numbers */
enum { PAIR = 2, SMALL = 64, FEW = 32, SOME = 128, LONG = 2000, VAST = 1 << 18 };
enum { GRAIN = 1 << 14, MAX_PIECES = 16, STRIP = 512 };

static uint64_t nan_key(luc_dtype dtype) {
  if (!luc__dtype_is_float(dtype)) return UINT64_MAX; /* no small integer's key */
  return dtype == LUC_FLOAT64 ? UINT64_MAX : UINT32_MAX;
}

/* ---- lines ---- */

typedef struct sort_lines {
  const luc_sort_job *job;
  const luc_sort_kernels *kernels;
  luc_transpose_fn transpose;
  char *scratch;
  size_t room; /* of each piece: 2 n pairs, then `together` lines, `pitch` elements apart */
  int64_t lines, pieces, kept, together, pitch;
} sort_lines;

/* Where the mode of a sorted line of n keys, `step` apart, stands. */
static int64_t mode_place(const uint64_t *keys, int64_t step, int64_t n) {
  int64_t best = 0, longest = 0;
  for (int64_t i = 0, first = 0; i < n; i++) {
    if (keys[i * step] != keys[first * step]) first = i;
    if (i - first + 1 > longest) {
      longest = i - first + 1;
      best = i;
    }
  }
  return best;
}

/* Elements of a line, of width T, at the places. */
#define TAKE(T)                                                                                    \
  for (int64_t k = 0; k < kept; k++)                                                               \
    ((T *)values)[to + k * inner] = ((const T *)x)[first + at[k * step] * apart];                  \
  break

/* Where the ends of a stretch are equal, so is all of it. */
static void take_bytes(const uint8_t *x, const int64_t *at, int64_t n, uint8_t *values) {
  enum { RUN = 64 };
  int64_t k = 0;
  for (; k + RUN <= n; k += RUN) {
    if (x[at[k]] == x[at[k + RUN - 1]])
      memset(values + k, x[at[k]], RUN);
    else
      for (int64_t i = k; i < k + RUN; i++) values[i] = x[at[i]];
  }
  for (; k < n; k++) values[k] = x[at[k]];
}

/* Writes, from element `to` on, the `kept` elements whose places are `step` apart in `at`, in the
 * line of `from` that begins at `first`. */
static void write_line(const luc_sort_job *job, const int64_t *at, int64_t step, int64_t to,
                       int64_t kept, const luc_sort_job *from, int64_t first) {
  const int64_t inner = job->inner, apart = from->inner;
  const void *x = from->x;
  void *values = job->values;
  int64_t *indices = job->indices ? job->indices + to : NULL;
  for (int64_t k = 0; indices && at != indices && k < kept; k++) indices[k * inner] = at[k * step];
  if (!values) return;
  switch (luc__dtype_size(job->dtype)) {
  case 1:
    if (step == 1 && inner == 1 && apart == 1) {
      take_bytes((const uint8_t *)x + first, at, kept, (uint8_t *)values + to);
      return;
    }
    TAKE(uint8_t);
  case 2: TAKE(uint16_t);
  case 4: TAKE(uint32_t);
  default: TAKE(uint64_t);
  }
}

/* The keys, in the order wanted, of n elements from i on of a line that begins at `first`. */
static void line_keys(const sort_lines *s, int64_t first, int64_t i, int64_t n, uint64_t *keys) {
  const luc_sort_job *job = s->job;
  s->kernels->keys(job->x, job->dtype, first + i * job->inner, job->inner, n,
                   job->descending ? UINT64_MAX : 0, keys);
}

/* Of a line that begins at `first`, the `keep` first in order, the rest only looked at: for
 * keep <= FEW. Blocks of keys with nothing before the last of them are passed over whole. */
static void take_first(const sort_lines *s, int64_t first, int64_t keep, pair *best) {
  const luc_sort_job *job = s->job;
  uint64_t keys[STRIP], limit = UINT64_MAX;
  int64_t found = 0;
  for (int64_t i = 0; i < job->n; i += STRIP) {
    int64_t n = job->n - i < STRIP ? job->n - i : STRIP;
    line_keys(s, first, i, n, keys);
    for (int64_t j = 0; j < n; j++) {
      if (found == keep && j % LUC_SORT_BLOCK == 0) j = s->kernels->pass(keys, j, n, limit);
      if (j == n) break;
      if (found == keep && keys[j] >= limit) continue;
      int64_t k = found < keep ? found++ : keep - 1;
      for (; k > 0 && best[k - 1].key > keys[j]; k--) best[k] = best[k - 1];
      best[k] = (pair){keys[j], i + j};
      if (found == keep) limit = best[keep - 1].key;
    }
  }
}

static void fill_pairs(const sort_lines *s, int64_t first, pair *p) {
  const luc_sort_job *job = s->job;
  uint64_t keys[STRIP];
  for (int64_t i = 0; i < job->n; i += STRIP) {
    int64_t n = job->n - i < STRIP ? job->n - i : STRIP;
    line_keys(s, first, i, n, keys);
    for (int64_t k = 0; k < n; k++) p[i + k] = (pair){keys[k], i + k};
  }
}

/* Integers about 0 differ in all of their bytes, but not once they count from the least of them. */
static void count_from_least(pair *p, int64_t n) {
  uint64_t least = p[0].key, most = least;
  for (int64_t i = 1; i < n; i++) {
    least = p[i].key < least ? p[i].key : least;
    most = p[i].key > most ? p[i].key : most;
  }
  if ((least ^ most) >> 8 <= most - least) return;
  for (int64_t i = 0; i < n; i++) p[i].key -= least;
}

/* How far apart the keys of a line may be; *least: from where on. Only integers that may be near
 * each other are looked at. */
static uint64_t key_range(const sort_lines *s, int64_t first, uint64_t *least) {
  const luc_dtype dtype = s->job->dtype;
  uint64_t keys[STRIP], low = UINT64_MAX, high = 0;
  if (dtype == LUC_FLOAT64) return UINT64_MAX;
  if (dtype != LUC_INT32 && dtype != LUC_INT64) {
    const int unused = luc__dtype_is_float(dtype) ? 32 : 64 - 8 * (int)luc__dtype_size(dtype);
    *least = s->job->descending ? ~(UINT64_MAX >> unused) : 0;
    return UINT64_MAX >> unused;
  }
  for (int64_t i = 0, m; i < s->job->n; i += m) {
    m = luc__min64(s->job->n - i, STRIP);
    line_keys(s, first, i, m, keys);
    for (int64_t k = 0; k < m; k++) {
      low = keys[k] < low ? keys[k] : low;
      high = keys[k] > high ? keys[k] : high;
    }
  }
  *least = low;
  return high - low;
}

static inline __attribute__((always_inline)) void count(const uint64_t *keys, int64_t n,
                                                        int64_t counts[8][256], const int bytes) {
  for (int64_t k = 0; k < n; k++)
#pragma GCC unroll 8
    for (int b = 0; b < bytes; b++) counts[b][keys[k] >> 8 * b & 255]++;
}

/* How many keys, from the least on, have which bytes; one of them. */
static uint64_t count_bytes(const sort_lines *s, int64_t first, uint64_t least, int bytes,
                            int64_t counts[8][256]) {
  uint64_t keys[STRIP];
  memset(counts, 0, (size_t)(bytes > 4 ? 8 : bytes > 2 ? 4 : bytes) * sizeof *counts);
  for (int64_t i = 0, m; i < s->job->n; i += m) {
    m = luc__min64(s->job->n - i, STRIP);
    line_keys(s, first, i, m, keys);
    for (int64_t k = 0; k < m; k++) keys[k] -= least;
    if (bytes == 1)
      count(keys, m, counts, 1);
    else if (bytes == 2)
      count(keys, m, counts, 2);
    else if (bytes <= 4)
      count(keys, m, counts, 4);
    else
      count(keys, m, counts, 8);
  }
  return keys[0];
}

/* Keys, from the least on, above their places in words, in order of the lowest byte. */
static void fill_words(const sort_lines *s, int64_t first, uint64_t least, int bits, uint64_t kept,
                       int64_t places[256], uint64_t *words) {
  uint64_t keys[STRIP];
  for (int64_t i = 0, m; i < s->job->n; i += m) {
    m = luc__min64(s->job->n - i, STRIP);
    line_keys(s, first, i, m, keys);
    for (int64_t k = 0; k < m; k++) {
      const uint64_t key = keys[k] - least;
      words[places[key & 255]++] = (key << bits | (uint64_t)(i + k)) & kept;
    }
  }
}

/* Keys above places, in words, byte after byte of the keys, which are counted beforehand. The last
 * leaves places alone, where they are wanted if that can be, but of the mode, which stands first.
 * NULL: words have no room for both. */
static const int64_t *sort_words(const sort_lines *s, int64_t first, uint64_t *words) {
  const int64_t n = s->job->n;
  const bool mode = s->job->pick == LUC_PICK_MODE;
  const int bits = 64 - __builtin_clzll((uint64_t)n);
  uint64_t *from = words, *to = words + n, least;
  uint64_t *wanted = NULL;
  int64_t counts[8][256];
  bool alike[8];
  int last = 0;
  const uint64_t range = key_range(s, first, &least), place = ~(UINT64_MAX << bits);
  const int bytes = (63 - __builtin_clzll(range | 1)) / 8 + 1;
  if (range >> (64 - bits)) return NULL;
  if (n > GRAIN && s->job->inner == 1 && s->job->indices && s->kept == n)
    wanted = (uint64_t *)s->job->indices + first;
  const uint64_t one = count_bytes(s, first, least, bytes, counts);
  for (int b = 0; b < bytes; b++) {
    alike[b] = b > 0 && counts[b][one >> 8 * b & 255] == n; /* in all keys */
    if (alike[b]) continue;
    luc__to_places(counts[b]);
    last = b;
  }
  if (last == 0 && wanted) from = wanted;
  fill_words(s, first, least, bits, last > 0 || mode ? UINT64_MAX : place, counts[0], from);
  for (int b = 1; b <= last; b++) {
    if (alike[b]) continue;
    const int shift = bits + 8 * b;
    const uint64_t kept = b < last || mode ? UINT64_MAX : place;
    int64_t *places = counts[b];
    if (b == last && wanted) to = wanted;
    for (int64_t i = 0; i < n; i++) to[places[from[i] >> shift & 255]++] = from[i] & kept;
    uint64_t *t = from;
    from = to;
    to = t;
  }
  if (!mode) return (int64_t *)from;
  for (int64_t i = 0; i < n; i++) to[i] = from[i] >> bits;
  to[0] = from[mode_place(to, 1, n)] & place;
  return (int64_t *)to;
}

/* The places of a line that is in order, or the other way round without equals; or NULL. Few keys
 * mostly tell. */
static const int64_t *take_ordered(const sort_lines *s, int64_t first, int64_t *places) {
  enum { FIRST = 8 };
  const int64_t n = s->job->n;
  uint64_t keys[STRIP], last = 0;
  bool rises = true, falls = true;
  for (int64_t i = 0, m = FIRST; i < n; i += m, m = STRIP) {
    m = luc__min64(n - i, m);
    line_keys(s, first, i, m, keys);
    for (int64_t k = 0; k < m; k++, last = keys[k - 1]) {
      rises &= keys[k] >= last;
      falls &= keys[k] < last || i + k == 0;
    }
    if (!rises && !falls) return NULL;
  }
  for (int64_t i = 0; i < n; i++) places[i] = rises ? i : n - 1 - i;
  return places;
}

/* The places of a line in order, or of its mode, *step apart. */
static const int64_t *sort_line(const sort_lines *s, int64_t first, pair *p, int64_t *step) {
  const int64_t n = s->job->n, few = luc__dtype_size(s->job->dtype) > 1 ? SOME : SMALL;
  const bool mode = s->job->pick == LUC_PICK_MODE;
  const int64_t *words = mode ? NULL : take_ordered(s, first, &p->at);
  if (!words && n > few) words = sort_words(s, first, &p->key);
  *step = words ? 1 : PAIR;
  if (words) return words;
  fill_pairs(s, first, p);
  if (!luc__dtype_is_float(s->job->dtype)) count_from_least(p, n);
  p = luc__sort_pairs(s->kernels, p, p + n, n);
  return &p[mode ? mode_place(&p->key, PAIR, n) : 0].at;
}

/* Between which keys those of ranks [a, b) of a long line may be expected, by a sample of it. */
static void expect(const sort_lines *s, int64_t first, int64_t a, int64_t b, pair *p, uint64_t *low,
                   uint64_t *high) {
  enum { SLACK = 4, SAMPLE = 16 };
  const int64_t n = s->job->n, count = luc__min64(n / SAMPLE, 4096);
  for (int64_t i = 0; i < count; i++) {
    line_keys(s, first, i * (n / count), 1, &p[i].key);
    p[i].at = i;
  }
  p = luc__sort_pairs(s->kernels, p, p + n, count);
  int64_t from = a * count / n, to = b * count / n; /* in the sample, more or less */
  from -= SLACK + 2 * (int64_t)sqrt((double)luc__min64(from, count - from));
  to += SLACK + 2 * (int64_t)sqrt((double)luc__min64(to, count - to));
  *low = from > 0 ? p[from].key : 0;
  *high = to < count ? p[to].key : UINT64_MAX;
}

/* Those of ranks [a, b) of a long line, without sorting the rest. NULL: they were not where they
 * may be expected. */
static const pair *select_ranks(const sort_lines *s, int64_t first, int64_t a, int64_t b, pair *p) {
  const luc_sort_job *job = s->job;
  uint64_t keys[STRIP], low, high;
  int64_t below = 0, kept = 0;
  expect(s, first, a, b, p, &low, &high);
  for (int64_t i = 0; i < job->n; i += STRIP) {
    int64_t n = job->n - i < STRIP ? job->n - i : STRIP;
    line_keys(s, first, i, n, keys);
    for (int64_t k = 0; k < n; k++) {
      if (a == 0 && high < UINT64_MAX && k % LUC_SORT_BLOCK == 0)
        k = s->kernels->pass(keys, k, n, high + 1);
      if (k == n) break;
      below += keys[k] < low;
      p[kept] = (pair){keys[k], i + k};
      kept += (keys[k] >= low) & (keys[k] <= high);
    }
  }
  if (below > a || below + kept < b) return NULL;
  return luc__sort_pairs(s->kernels, p, p + job->n, kept) + (a - below);
}

/* The key of a rank among n; *nth: how many of its equals are before it. What is below, or above,
 * one of the rest is dropped; spare: room for twice as many. */
static uint64_t rank_key(const sort_lines *s, const uint64_t *keys, uint64_t *spare, int64_t n,
                         int64_t rank, int64_t *nth) {
  enum { TRIES = 15, MANY = 4096 };
  uint64_t chance = 1, *other = spare + n;
  for (;;) {
    const int64_t tries = n < MANY ? 3 : TRIES;
    uint64_t some[TRIES];
    for (int64_t i = 0; i < tries; i++) { /* whatever the order, and always the same */
      int64_t k = i;
      chance = chance * 6364136223846793005u + 1442695040888963407u; /* Knuth's generator */
      const uint64_t key = keys[(int64_t)(chance >> 33) % n];
      for (; k > 0 && some[k - 1] > key; k--) some[k] = some[k - 1];
      some[k] = key;
    }
    const uint64_t key = some[rank * tries / n];
    int64_t equal, below = s->kernels->count(keys, n, key, &equal);
    *nth = rank - below;
    if (rank >= below && rank < below + equal) return key;
    const bool above = rank > below;
    if (above) rank -= below + equal;
    n = s->kernels->part(keys, n, key, above, spare);
    uint64_t *t = spare;
    keys = spare;
    spare = other;
    other = t;
  }
}

/* Is a sample worth its price? Where vectors drop what is not wanted, only of lines that leave the
 * cache. */
static bool is_sampled(const sort_lines *s) {
  return s->job->n >= (s->kernels->rank ? VAST : LONG);
}

/* How many keys of a line are in [low, high], and how many below. They are kept unless the bounds
 * are one, as all would be the same. */
static int64_t keep_within(const sort_lines *s, int64_t first, uint64_t low, uint64_t high,
                           uint64_t *keys, int64_t *below) {
  uint64_t strip[STRIP];
  int64_t kept = 0;
  *below = 0;
  for (int64_t i = 0, m; i < s->job->n; i += m) {
    m = luc__min64(s->job->n - i, STRIP);
    line_keys(s, first, i, m, strip);
    if (low == high) {
      int64_t equal;
      *below += s->kernels->count(strip, m, low, &equal);
      kept += equal;
      continue;
    }
    for (int64_t k = 0; k < m; k++) {
      *below += strip[k] < low;
      keys[kept] = strip[k];
      kept += (strip[k] >= low) & (strip[k] <= high);
    }
  }
  return kept;
}

/* The one of a rank. */
static const pair *select_rank(const sort_lines *s, int64_t first, int64_t rank, pair *p) {
  const int64_t n = s->job->n;
  uint64_t *keys = &p->key, *spare = keys + n, strip[STRIP], low = 0, high = UINT64_MAX;
  int64_t below = 0, kept = 0, nth;
  if (is_sampled(s)) {
    expect(s, first, rank, rank + 1, p, &low, &high);
    kept = keep_within(s, first, low, high, keys, &below);
  }
  if (rank < below || rank >= below + kept) {
    line_keys(s, first, 0, n, keys);
    below = 0, kept = n;
    low = 0, high = UINT64_MAX;
  }
  nth = rank - below;
  p->key = low == high ? low : rank_key(s, keys, spare, kept, nth, &nth);
  for (int64_t i = 0, m; nth >= 0; i += m) {
    m = luc__min64(n - i, STRIP);
    int64_t equal = 0;
    line_keys(s, first, i, m, strip);
    if (i + m < n) s->kernels->count(strip, m, p->key, &equal); /* the last has it for sure */
    const bool passed = i + m < n && nth >= equal;
    if (passed) nth -= equal;
    for (int64_t k = passed ? m : 0; k < m && nth >= 0; k++)
      if (strip[k] == p->key && nth-- == 0) p->at = i + k;
  }
  return p;
}

/* Those of a line that are kept, the first in order, without sorting the rest. */
static const pair *select_pairs(const sort_lines *s, int64_t first, pair *p) {
  const int64_t n = s->job->n;
  uint64_t *keys = &p->key, strip[STRIP];
  int64_t found = 0, kept = 0, equals;
  line_keys(s, first, 0, n, keys);
  const uint64_t last = rank_key(s, keys, keys + n, n, s->kept - 1, &equals);
  for (int64_t i = 0, m; i < n; i += m) {
    m = luc__min64(n - i, STRIP);
    line_keys(s, first, i, m, strip);
    for (int64_t k = 0; k < m; k++) {
      if (k % LUC_SORT_BLOCK == 0 && last < UINT64_MAX) k = s->kernels->pass(strip, k, m, last + 1);
      if (k == m) break;
      p[found] = (pair){strip[k], i + k};
      found += strip[k] <= last;
    }
  }
  for (int64_t i = 0; i < found; i++) { /* of those as large as the last, the first */
    p[kept] = p[i];
    kept += p[i].key < last || equals-- >= 0;
  }
  return luc__sort_pairs(s->kernels, p, p + n, kept);
}

/* The places of the same, *step apart, by keys above places in words, of which no two are equal. */
static const int64_t *select_first(const sort_lines *s, int64_t first, pair *p, int64_t *step) {
  const int64_t n = s->job->n, kept = s->kept;
  const int bits = 64 - __builtin_clzll((uint64_t)n);
  uint64_t *words = &p->key, *some = words + n, least;
  const uint64_t range = key_range(s, first, &least), place = ~(UINT64_MAX << bits);
  int64_t unused, ranks[LUC_SORT_RANKED];
  *step = PAIR;
  if (range >> (63 - bits)) return &select_pairs(s, first, p)->at;
  line_keys(s, first, 0, n, words);
  for (int64_t i = 0; i < n; i++) words[i] = (words[i] - least) << bits | (uint64_t)i;
  const uint64_t last = rank_key(s, words, some, n, kept - 1, &unused);
  s->kernels->part(words, n, last + 1, false, some);
  if (kept <= LUC_SORT_RANKED && s->kernels->rank) {
    *step = 1;
    s->kernels->rank(some, kept, ranks);
    for (int64_t i = 0; i < kept; i++) words[ranks[i]] = some[i] & place;
    return (int64_t *)words;
  }
  for (int64_t i = 0; i < kept; i++) p[i] = (pair){some[i], (int64_t)(some[i] & place)};
  return &luc__sort_pairs(s->kernels, p, p + n, kept)->at;
}

/* How many of a line are NaN; *place: the first, or -1. */
static int64_t count_nan(const sort_lines *s, int64_t first, int64_t *place) {
  const luc_sort_job *job = s->job;
  const uint64_t nan = ~nan_key(job->dtype); /* the least, with all bits turned */
  uint64_t keys[STRIP];
  int64_t count = 0;
  *place = -1;
  for (int64_t i = 0; luc__dtype_is_float(job->dtype) && i < job->n; i += STRIP) {
    const int64_t n = luc__min64(job->n - i, STRIP);
    s->kernels->keys(job->x, job->dtype, first + i * job->inner, job->inner, n, UINT64_MAX, keys);
    for (int64_t k = 0; k < n; k++) {
      if (k % LUC_SORT_BLOCK == 0) k = s->kernels->pass(keys, k, n, nan + 1);
      if (k == n) break;
      if (keys[k] == nan && count++ == 0) *place = i + k;
    }
  }
  return count;
}

/* The places of what is kept of the line that begins at `first`, *step apart; p: scratch of 2 n
 * pairs. */
static const int64_t *pick(const sort_lines *s, int64_t first, pair *p, int64_t *step) {
  const luc_sort_job *job = s->job;
  int64_t n = job->n, a = job->pick == LUC_PICK_KTH ? job->keep : 0;
  *step = PAIR;
  const bool selects = n >= SOME && n < LONG && s->kept * s->kept > n;
  if (job->pick == LUC_PICK_FIRST && s->kept <= FEW && s->kept < n && !selects) {
    take_first(s, first, s->kept, p);
    return &p->at;
  }
  if (job->pick == LUC_PICK_MEDIAN || job->pick == LUC_PICK_NANMEDIAN) {
    int64_t nan, count = count_nan(s, first, &nan);
    bool skips = job->pick == LUC_PICK_NANMEDIAN && count < n;
    p->at = nan;
    if (count > 0 && !skips) return &p->at;
    a = (n - count - 1) / 2;
  }
  if (job->pick == LUC_PICK_MODE) return sort_line(s, first, p, step);
  if (s->kept == 1) return &select_rank(s, first, a, p)->at;
  if (is_sampled(s) && s->kept <= n / 4) {
    const pair *found = select_ranks(s, first, a, a + s->kept, p);
    if (found) return &found->at;
  }
  if (n >= SOME && s->kept <= n / 2) return select_first(s, first, p, step);
  return sort_line(s, first, p, step);
}

/* Lines that lie beside each other are turned, so that each lies in a row. */
static void sort_turned(const sort_lines *s, int64_t to, int64_t m, int64_t first, pair *p) {
  const size_t size = luc__dtype_size(s->job->dtype);
  char *tile = (char *)(p + 2 * s->job->n);
  luc_sort_job turned = *s->job;
  sort_lines rows = *s;
  turned.x = tile;
  turned.indices = NULL;
  turned.inner = 1;
  rows.job = &turned;
  s->transpose(tile, s->pitch * (int64_t)size, (const char *)s->job->x + (size_t)first * size,
               s->job->inner * (int64_t)size, m, s->job->n, false);
  for (int64_t i = 0, step; i < m; i++) {
    const int64_t *at = pick(&rows, i * s->pitch, p, &step);
    write_line(s->job, at, step, to + i, s->kept, &turned, i * s->pitch);
  }
}

/* Up to which place a line is to be sorted: all of it where NaN or runs are counted. */
static int64_t wanted(const luc_sort_job *job) {
  if (job->pick == LUC_PICK_FIRST) return job->keep;
  return job->pick == LUC_PICK_KTH ? job->keep + 1 : job->n;
}

/* What is kept of short line i of some, sorted beside each other. */
static int64_t pick_short(const luc_sort_job *job, const luc_sort_short *lines, int64_t i) {
  const int64_t n = job->n;
  const uint64_t nan = nan_key(job->dtype);
  int64_t count = 0;
  switch (job->pick) {
  case LUC_PICK_FIRST: return 0;
  case LUC_PICK_KTH: return job->keep;
  case LUC_PICK_MODE: return mode_place(&lines->keys[0][i], LUC_SORT_BESIDE, n);
  default: break;
  }
  for (int64_t k = 0; k < n; k++) count += lines->keys[k][i] == nan;
  if (!luc__dtype_is_float(job->dtype)) count = 0;
  if (count > 0 && (job->pick == LUC_PICK_MEDIAN || count == n)) return n - count;
  return (n - count - 1) / 2;
}

/* The keys of m lines from one on, some of which lie beside each other. */
static void short_keys(const sort_lines *s, int64_t line, int64_t m, luc_sort_short *lines) {
  const luc_sort_job *job = s->job;
  const int64_t inner = job->inner, apart = inner == 1 ? job->n : 1;
  for (int64_t i = 0, some; i < m; i += some) {
    const int64_t beside = (line + i) % inner, first = (line + i - beside) * job->n + beside;
    some = inner == 1 ? m : luc__min64(inner - beside, m - i);
    for (int64_t k = 0; k < job->n; k++)
      s->kernels->keys(job->x, job->dtype, first + k * inner, apart, some,
                       job->descending ? UINT64_MAX : 0, lines->keys[k] + i);
  }
}

/* Elements of width T of m lines, the first of which are at `places`. */
#define TAKE_SHORT(T)                                                                              \
  for (int64_t k = 0; k < s->kept; k++)                                                            \
    for (int64_t i = 0; i < m; i++)                                                                \
      ((T *)job->values)[to[i] + k * inner] =                                                      \
          ((const T *)job->x)[from[i] + (int64_t)lines->at[places[i] + k][i] * inner];             \
  break

/* The same of lines beside each other, row by row: in lines, places may share the cache's sets. */
#define TAKE_ROW(T)                                                                                \
  for (int64_t i = 0; i < m; i++)                                                                  \
    ((T *)job->values)[row + i] =                                                                  \
        ((const T *)job->x)[from + i + (int64_t)lines->at[k][i] * job->inner];                     \
  break
static void write_rows(const sort_lines *s, int64_t from, int64_t to, int64_t m,
                       const luc_sort_short *lines) {
  const luc_sort_job *job = s->job;
  for (int64_t k = 0; k < s->kept; k++) {
    const int64_t row = to + k * job->inner;
    if (job->indices) memcpy(job->indices + row, lines->at[k], (size_t)m * sizeof(int64_t));
    if (!job->values) continue;
    switch (luc__dtype_size(job->dtype)) {
    case 1: TAKE_ROW(uint8_t);
    case 2: TAKE_ROW(uint16_t);
    case 4: TAKE_ROW(uint32_t);
    default: TAKE_ROW(uint64_t);
    }
  }
}

/* Writes what is kept of m lines from one on: where that is little, of all at once. */
static void write_short(const sort_lines *s, int64_t line, int64_t m, const luc_sort_short *lines) {
  enum { MOST = 2 };
  const luc_sort_job *job = s->job;
  const int64_t inner = job->inner;
  int64_t from[LUC_SORT_BESIDE], to[LUC_SORT_BESIDE], places[LUC_SORT_BESIDE];
  int64_t beside = line % inner, before = line - beside;
  if (s->kept > MOST && m > 1 && beside + m <= inner) {
    write_rows(s, before * job->n + beside, before * s->kept + beside, m, lines);
    return;
  }
  for (int64_t i = 0; i < m; i++) {
    from[i] = before * job->n + beside;
    to[i] = before * s->kept + beside;
    places[i] = pick_short(job, lines, i);
    if (++beside < inner) continue;
    before += inner;
    beside = 0;
  }
  if (s->kept > MOST) {
    for (int64_t i = 0; i < m; i++)
      write_line(job, (const int64_t *)&lines->at[places[i]][i], LUC_SORT_BESIDE, to[i], s->kept,
                 job, from[i]);
    return;
  }
  for (int64_t k = 0; job->indices && k < s->kept; k++)
    for (int64_t i = 0; i < m; i++)
      job->indices[to[i] + k * inner] = (int64_t)lines->at[places[i] + k][i];
  if (!job->values) return;
  switch (luc__dtype_size(job->dtype)) {
  case 1: TAKE_SHORT(uint8_t);
  case 2: TAKE_SHORT(uint16_t);
  case 4: TAKE_SHORT(uint32_t);
  default: TAKE_SHORT(uint64_t);
  }
}

/* Lines of few elements, as many as the kernel sorts beside each other. */
static void sort_short(void *arg, int64_t begin, int64_t end) {
  const sort_lines *s = arg;
  luc_sort_short lines;
  for (int64_t line = begin, m; line < end; line += m) {
    const int64_t rest = s->job->inner - line % s->job->inner; /* keys of two rows take longer */
    m = luc__min64(end - line, LUC_SORT_BESIDE);
    if (rest >= LUC_SORT_BESIDE / 2) m = luc__min64(m, rest);
    short_keys(s, line, m, &lines);
    s->kernels->sort_short(&lines, s->job->n, wanted(s->job), m);
    write_short(s, line, m, &lines);
  }
}

static void sort_piece(void *arg, int64_t begin, int64_t end) {
  const sort_lines *s = arg;
  const luc_sort_job *job = s->job;
  for (int64_t piece = begin; piece < end; piece++) {
    pair *p = (pair *)(void *)(s->scratch + (size_t)piece * s->room);
    int64_t last = (piece + 1) * s->lines / s->pieces;
    for (int64_t line = piece * s->lines / s->pieces, m; line < last; line += m) {
      const int64_t beside = line % job->inner, before = line - beside;
      const int64_t first = before * job->n + beside, to = before * s->kept + beside;
      m = luc__min64(luc__min64(job->inner - beside, last - line), s->together);
      if (m > 1) {
        sort_turned(s, to, m, first, p);
        continue;
      }
      int64_t step;
      const int64_t *at = pick(s, first, p, &step);
      write_line(job, at, step, to, s->kept, job, first);
    }
  }
}

/* How long lines are at most that are sorted beside each other: others are quicker where few are
 * wanted, or by counting bytes. */
static int64_t longest_short(const luc_sort_job *job, const luc_sort_kernels *kernels,
                             int64_t kept) {
  if (job->pick == LUC_PICK_MEDIAN || job->pick == LUC_PICK_NANMEDIAN) return LUC_SORT_SHORT / 4;
  const bool most = job->pick == LUC_PICK_MODE || kept > FEW;
  return most && luc__dtype_size(job->dtype) > 1 ? kernels->longest : LUC_SORT_SHORT / 2;
}

luc_status luc__sort(luc_context *ctx, const luc_sort_job *job) {
  enum { LINE = 64 };
  sort_lines s = {.job = job, .lines = job->outer * job->inner, .together = 1};
  const int64_t size = (int64_t)luc__dtype_size(job->dtype);
  s.kernels = luc__kernels(ctx)->sort;
  s.kept = job->pick == LUC_PICK_FIRST ? job->keep : 1;
  if (s.lines == 0 || job->n == 0 || s.kept == 0) return LUC_OK;
  if (job->n == 1) { /* nothing to sort */
    if (job->values) memcpy(job->values, job->x, (size_t)(s.lines * size));
    if (job->indices) memset(job->indices, 0, (size_t)s.lines * sizeof *job->indices);
    return LUC_OK;
  }
  if (job->n <= longest_short(job, s.kernels, s.kept) &&
      s.lines >= luc__min64(job->n, LUC_SORT_BESIDE)) {
    luc__parallel_for(ctx, s.lines, GRAIN / job->n, sort_short, &s);
    return LUC_OK;
  }
  s.pieces = s.lines * job->n / GRAIN + 1;
  if (s.pieces > MAX_PIECES) s.pieces = MAX_PIECES;
  if (s.pieces > s.lines) s.pieces = s.lines;
  if (job->inner > 1 && s.lines >= 2 * s.pieces) s.together = LINE / size;
  while (s.together > job->inner) s.together /= 2;
  s.transpose = luc__kernels(ctx)->copy->transpose[luc__log2(size)];
  s.pitch = ((job->n * size / LINE + 1) | 1) * LINE / size; /* in other sets of the cache */
  s.room = luc__mul_size((size_t)job->n, 2 * sizeof(pair));
  if (s.together > 1) s.room += luc__mul_size((size_t)s.pitch, (size_t)(s.together * size));
  s.room = (s.room + LINE - 1) / LINE * LINE;
  const size_t bytes = luc__mul_size((size_t)s.pieces, s.room);
  s.scratch = luc__alloc(ctx, bytes);
  if (!s.scratch) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, s.pieces, 1, sort_piece, &s);
  luc__free(ctx, s.scratch, bytes);
  return LUC_OK;
}
