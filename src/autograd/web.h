/* The graph as the collector of cycles sees it: tensors with autograd's data and nodes, what each
 * leads to, and which of them somebody else has a reference to. */
#ifndef LUC_WEB_H
#define LUC_WEB_H

#include "autograd/graph.h"

/* A tensor with autograd's data, or a node. */
typedef struct luc_thing {
  const void *p;
  uint64_t key; /* in an ordered web everything it leads to has a smaller one */
  bool node, held;
  int32_t explained; /* references we know of */
  int32_t keeper;    /* of the binding's (l_cycles.c); -1 to begin with */
} luc_thing;

typedef struct luc_web {
  luc_context *ctx;
  bool ordered; /* what is led to from below counts as held */
  luc_thing *things;
  uint32_t n, capacity;
  uint32_t *slots; /* open addressing: index + 1 */
  uint32_t nslots;
  uint32_t *order; /* work list */
} luc_web;

typedef bool (*luc_visit_fn)(void *ud, const void *p, bool node);

/* The thing's index, added by need; -1 when out of memory. */
int32_t luc__web_add(luc_web *w, const void *p, bool node);
/* A thing that is there. */
luc_thing *luc__web_find(const luc_web *w, const void *p);
/* Visits everything the thing has a reference to; false if a visit said so. */
bool luc__web_visit(const luc_thing *from, luc_visit_fn visit, void *ud);
/* Adds all that the things lead to, and finds what hosts hold, with what it leads to; false when
 * out of memory. */
bool luc__web_follow(luc_web *w);
void luc__web_free(luc_web *w);

#endif
