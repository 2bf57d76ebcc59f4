/* Which part of the graph only itself refers to: trial deletion, by counting the references that
 * things have to each other. */
#include "autograd/web.h"

/* ---- things ---- */

static uint32_t slot_of(const luc_web *w, const void *p) {
  uint64_t h = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u;
  uint32_t at = (uint32_t)(h >> 32) & (w->nslots - 1);
  while (w->slots[at] && w->things[w->slots[at] - 1].p != p) at = (at + 1) & (w->nslots - 1);
  return at;
}

static bool grow(luc_web *w) {
  luc_context *ctx = w->ctx;
  uint32_t capacity = w->capacity ? 2 * w->capacity : 256;
  luc_thing *things =
      luc__realloc(ctx, w->things, w->capacity * sizeof *things, capacity * sizeof *things);
  if (!things) return false;
  w->things = things;
  w->capacity = capacity;
  luc__free(ctx, w->slots, w->nslots * sizeof *w->slots);
  w->nslots = 0;
  w->slots = luc__alloc_zero(ctx, 2 * (size_t)capacity * sizeof *w->slots);
  if (!w->slots) return false;
  w->nslots = 2 * capacity;
  for (uint32_t i = 0; i < w->n; i++) w->slots[slot_of(w, things[i].p)] = i + 1;
  return true;
}

static uint64_t key_of(const void *p, bool node) {
  const luc_node *made = node ? p : ((const luc_tensor *)p)->meta->node;
  return made ? 2 * made->seq + (node ? 2 : 3) : 1;
}

int32_t luc__web_add(luc_web *w, const void *p, bool node) {
  if (w->n == w->capacity && !grow(w)) return -1;
  uint32_t at = slot_of(w, p);
  if (w->slots[at]) return (int32_t)w->slots[at] - 1;
  w->things[w->n] = (luc_thing){.p = p, .key = key_of(p, node), .node = node, .keeper = -1};
  w->slots[at] = ++w->n;
  return (int32_t)w->n - 1;
}

luc_thing *luc__web_find(const luc_web *w, const void *p) {
  return &w->things[w->slots[slot_of(w, p)] - 1];
}

void luc__web_free(luc_web *w) {
  luc_context *ctx = w->ctx;
  luc__free(ctx, w->things, w->capacity * sizeof *w->things);
  luc__free(ctx, w->slots, w->nslots * sizeof *w->slots);
  luc__free(ctx, w->order, w->n * sizeof *w->order);
}

/* ---- what leads where ---- */

static bool visit_tensor(const luc_tensor *t, luc_visit_fn visit, void *ud) {
  return !t || !t->meta || visit(ud, t, false);
}

static bool visit_value(const luc_value *v, luc_visit_fn visit, void *ud) {
  luc_tensor *const *list;
  const int n = luc_as_tensors(v, &list);
  for (int i = 0; i < n; i++)
    if (!visit_tensor(list[i], visit, ud)) return false;
  return true;
}

bool luc__web_visit(const luc_thing *from, luc_visit_fn visit, void *ud) {
  if (!from->node) {
    const luc_meta *meta = ((const luc_tensor *)from->p)->meta;
    return visit_tensor(meta->grad, visit, ud) && visit_tensor(meta->base, visit, ud) &&
           (!meta->node || visit(ud, meta->node, true));
  }
  const luc_node *node = from->p;
  for (int i = 0; i < node->nslots + node->nlist; i++) {
    const luc_edge *edge = &node->edges[i];
    bool there = edge->to && (!edge->leaf || ((const luc_tensor *)edge->to)->meta);
    if (there && !visit(ud, edge->to, !edge->leaf)) return false;
  }
  for (int i = 0; i < node->nslots; i++)
    if (!visit_value(&node->args[i], visit, ud)) return false;
  for (int i = 0; i < node->nresults; i++)
    if (!visit_tensor(node->results[i], visit, ud)) return false;
  const luc_node *inner = luc__slices_inner(node);
  return !inner || visit(ud, inner, true);
}

typedef struct step {
  luc_web *w;
  uint32_t from, queued; /* queued: length of the work list */
} step;

static bool explain(void *ud, const void *p, bool node) {
  step *s = ud;
  int32_t i = luc__web_add(s->w, p, node);
  if (i < 0) return false;
  luc_thing *t = &s->w->things[i];
  t->explained++;
  t->held |= s->w->ordered && t->key >= s->w->things[s->from].key;
  return true;
}

static bool hold(void *ud, const void *p, bool node) {
  step *s = ud;
  (void)node;
  luc_thing *t = luc__web_find(s->w, p);
  if (!t->held) s->w->order[s->queued++] = (uint32_t)(t - s->w->things);
  t->held = true;
  return true;
}

bool luc__web_follow(luc_web *w) {
  step s = {w, 0, 0};
  for (; s.from < w->n; s.from++) {
    luc_thing from = w->things[s.from]; /* the array may move */
    if (!luc__web_visit(&from, explain, &s)) return false;
  }
  w->order = luc__alloc(w->ctx, w->n * sizeof *w->order);
  if (!w->order) return false;
  for (uint32_t i = 0; i < w->n; i++) {
    luc_thing *t = &w->things[i];
    int32_t refs = t->node ? ((const luc_node *)t->p)->refs : ((const luc_tensor *)t->p)->refs;
    if (refs > t->explained) t->held = true;
    if (t->held) w->order[s.queued++] = i;
  }
  for (uint32_t i = 0; i < s.queued; i++) luc__web_visit(&w->things[w->order[i]], hold, &s);
  return true;
}
