/* What the error of load_state_dict adds to PyTorch's lines: what may have been meant. It judges by
 * the lists alone, so what hooks did to them counts. */
#include <stdlib.h>
#include <string.h>

#include "nn/module.h"

/* ---- a common prefix ---- */

static bool contains(const luc_names *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->items[i], name) == 0) return true;
  return false;
}

/* Length of what stands before `name` and a dot in `longer`, with the dot; or 0. */
static size_t head_of(const char *longer, const char *name) {
  size_t n = strlen(longer), tail = strlen(name);
  bool ends = n > tail && longer[n - tail - 1] == '.' && strcmp(longer + n - tail, name) == 0;
  return ends ? n - tail : 0;
}

/* The prefix that all of `longer` have and without which most are among `names`; 0 if there is
 * none. (An old batch norm's counter is not missing, for one.) */
static size_t common_prefix(const luc_names *longer, const luc_names *names) {
  if (longer->n == 0 || longer->n > 4096) return 0;
  for (size_t k = 0; k < names->n; k++) {
    const char *first = longer->items[0];
    size_t head = head_of(first, names->items[k]);
    size_t common = 1, fitting = 1;
    while (head > 0 && common < longer->n && strncmp(longer->items[common], first, head) == 0)
      fitting += contains(names, longer->items[common++] + head);
    if (head > 0 && common == longer->n && 2 * fitting > longer->n) return head;
  }
  return 0;
}

static bool put_prefix(luc_text *text, const luc_names *missing, const luc_names *unexpected) {
  size_t n = common_prefix(unexpected, missing);
  if (n > 0) {
    luc__text_printf(text,
                     "\n\tThe keys begin with \"%.*s\", which the model's do not: load them with "
                     "{prefix = \"%.*s\"}.",
                     (int)n, unexpected->items[0], (int)n, unexpected->items[0]);
    return true;
  }
  n = common_prefix(missing, unexpected);
  if (n == 0) return false;
  luc__text_printf(text,
                   "\n\tThe model's keys begin with \"%.*s\", which those of state_dict do not: "
                   "load them with {rename = function(key) return \"%.*s\" .. key end}.",
                   (int)n, missing->items[0], (int)n, missing->items[0]);
  return true;
}

/* ---- renamed paths ---- */

enum { LONGEST = 128, MOST_PAIRS = 4096 };

/* Lengths of what stands before the components that both names end in; false if one is empty. */
static bool heads_of(const char *a, const char *b, size_t *head_a, size_t *head_b) {
  size_t i = strlen(a), k = strlen(b);
  while (i > 0 && k > 0 && a[i - 1] == b[k - 1]) i--, k--;
  size_t skip = strcspn(a + i, "."); /* to where a component begins */
  *head_a = i + skip;
  *head_b = k + skip;
  return a[*head_a] == '.' && *head_a > 0 && *head_b > 0;
}

/* Is every name below the path a[0, n) one of `names` once the path is b[0, m)? */
static bool all_fit(const luc_names *list, const char *a, size_t n, const char *b, size_t m,
                    const luc_names *names) {
  char name[2 * LONGEST + 1];
  for (size_t i = 0; i < list->n; i++) {
    const char *item = list->items[i];
    if (strncmp(item, a, n) != 0 || item[n] != '.') continue;
    size_t rest = strlen(item + n);
    if (m + rest >= sizeof name) return false;
    memcpy(name, b, m);
    memcpy(name + m, item + n, rest + 1);
    if (!contains(names, name)) return false;
  }
  return true;
}

/* A path of the state and the model's in its place: beginnings of names. */
typedef struct renaming {
  const char *from, *to;
  size_t from_length, to_length;
} renaming;

static bool is_below(const char *name, const char *path, size_t length) {
  return strncmp(name, path, length) == 0 && name[length] == '.';
}

/* Finds the one path in whose place name's beginning, as short as possible, may stand, beside the n
 * renamings in the list; *out gets the renaming. False if there is none, or several. */
static bool find_renaming(const char *name, const luc_names *missing, const luc_names *unexpected,
                          const renaming *list, int n, renaming *out) {
  bool several = false;
  *out = (renaming){.from = name};
  for (int i = 0; i < n; i++)
    if (is_below(name, list[i].from, list[i].from_length)) return false;
  for (size_t k = 0; k < missing->n; k++) {
    const char *other = missing->items[k];
    size_t a, b;
    bool taken = !heads_of(name, other, &a, &b) || (out->to != NULL && a > out->from_length);
    for (int i = 0; i < n; i++) taken = taken || is_below(other, list[i].to, list[i].to_length);
    if (taken || !all_fit(unexpected, name, a, other, b, missing)) continue;
    several = out->to != NULL && a == out->from_length;
    *out = (renaming){name, other, a, b};
  }
  return out->to != NULL && !several;
}

static bool put_renamed(luc_text *text, const luc_names *missing, const luc_names *unexpected) {
  enum { MOST = 8, MOST_HERE = 1 << 17 }; /* renamings; pairs of names to compare */
  renaming list[MOST];
  int n = 0, before;
  if (missing->n * unexpected->n > MOST_HERE) return false;
  do { /* what one pass finds makes others the only ones */
    before = n;
    for (size_t i = 0; i < unexpected->n && n < MOST; i++)
      n += find_renaming(unexpected->items[i], missing, unexpected, list, n, &list[n]);
  } while (n > before && n < MOST);
  if (n == 0) return false;
  luc__text_puts(text, "\n\tPaths may have other names: load with {rename = {");
  for (int i = 0; i < n; i++)
    luc__text_printf(text, "%s[\"%.*s\"] = \"%.*s\"", i > 0 ? ", " : "", (int)list[i].from_length,
                     list[i].from, (int)list[i].to_length, list[i].to);
  luc__text_puts(text, "}}.");
  return true;
}

/* ---- nearest keys ---- */

static const char *nearest(const char *name, const luc_names *names) {
  const char *best = NULL;
  size_t length = strlen(name);
  int least = (int)length / 3 + 1;
  for (size_t i = 0; length <= LONGEST && i < names->n; i++) {
    int d = luc__edit_distance(name, names->items[i]);
    if (d >= least) continue;
    least = d;
    best = names->items[i];
  }
  return best;
}

static void put_nearest(luc_text *text, const luc_names *missing, const luc_names *unexpected) {
  bool any = false;
  if (missing->n * unexpected->n > MOST_PAIRS) return;
  for (size_t i = 0; i < unexpected->n; i++) {
    const char *name = nearest(unexpected->items[i], missing);
    const char *back = name != NULL ? nearest(name, unexpected) : NULL;
    if (back != unexpected->items[i]) continue; /* each other's nearest */
    luc__text_puts(text, any ? ", " : "\n\tNearest keys (state_dict = model): ");
    luc__text_printf(text, "\"%s\" = \"%s\"", unexpected->items[i], name);
    any = true;
  }
  if (any) luc__text_puts(text, ".");
}

/* ---- a whole checkpoint ---- */

/* Where programs keep the state beside others. */
static bool put_wrapped(luc_text *text, const luc_names *unexpected) {
  static const char *const usual[] = {"state_dict", "model_state_dict", "model", "net", "params"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    if (!contains(unexpected, usual[i])) continue;
    luc__text_printf(text, "\n\tThe state may be what stands under \"%s\": load that.", usual[i]);
    return true;
  }
  return false;
}

/* ---- swapped shapes ---- */

/* A line about sizes, taken apart. */
typedef struct mismatch {
  const char *name, *value, *target; /* parts of the line */
  size_t name_length, value_length, target_length;
} mismatch;

static const char *part(const char *at, const char *before, const char *after, const char **begin,
                        size_t *length) {
  *begin = at != NULL ? strstr(at, before) : NULL;
  if (*begin == NULL) return NULL;
  *begin += strlen(before);
  const char *end = strstr(*begin, after);
  *length = end != NULL ? (size_t)(end - *begin) : 0;
  return end;
}

static bool take_apart(const char *line, mismatch *m) {
  const char *at =
      part(line, "size mismatch for ", ": copying a param with", &m->name, &m->name_length);
  at = part(at, "torch.Size([", "])", &m->value, &m->value_length);
  return part(at, "torch.Size([", "])", &m->target, &m->target_length) != NULL;
}

static bool same(const char *a, size_t n, const char *b, size_t m) {
  return n == m && memcmp(a, b, n) == 0;
}

/* Are these sizes of two dimensions each other's reverse? */
static bool is_transposed(const mismatch *m) {
  char *rest;
  long long a = strtoll(m->value, &rest, 10), c = strtoll(m->target, NULL, 10);
  if (*rest != ',') return false;
  long long b = strtoll(rest + 1, &rest, 10);
  const char *comma = strchr(m->target, ',');
  if (*rest != ']' || comma == NULL || comma > m->target + m->target_length) return false;
  long long d = strtoll(comma + 1, &rest, 10);
  return *rest == ']' && a == d && b == c;
}

static void put_swapped(luc_text *text, const luc_names *errors) {
  mismatch a, b;
  for (size_t i = 0; i < errors->n && i < 512; i++) {
    if (!take_apart(errors->items[i], &a)) continue;
    bool paired = false;
    for (size_t k = 0; k < errors->n && k < 512; k++) {
      if (k == i || !take_apart(errors->items[k], &b)) continue;
      if (!same(a.value, a.value_length, b.target, b.target_length) ||
          !same(b.value, b.value_length, a.target, a.target_length))
        continue;
      paired = true;
      if (k < i) break;
      luc__text_printf(text,
                       "\n\tThe shapes of \"%.*s\" and \"%.*s\" are each other's: they may have "
                       "been swapped.",
                       (int)a.name_length, a.name, (int)b.name_length, b.name);
      break;
    }
    if (!paired && is_transposed(&a))
      luc__text_printf(text, "\n\t\"%.*s\" may be transposed: its shape is the model's reversed.",
                       (int)a.name_length, a.name);
  }
}

void luc__load_hints(luc_text *text, const luc_names *missing, const luc_names *unexpected,
                     const luc_names *errors) {
  if (!put_prefix(text, missing, unexpected) && !put_renamed(text, missing, unexpected) &&
      !(missing->n > 0 && put_wrapped(text, unexpected)))
    put_nearest(text, missing, unexpected);
  put_swapped(text, errors);
}
