/* Things in the order of a number that each has, from 1: new ones go to either end, any can leave.
 * A walk goes on after the last number it saw, so things may come and go meanwhile. Adding,
 * removing and walking n of them take n steps, each of at most a search by halves. */
#ifndef LUC_ROSTER_H
#define LUC_ROSTER_H

#include "lucerna/base.h"

typedef struct luc_roster_entry {
  uint64_t number;
  void *item; /* not owned; NULL: gone */
} luc_roster_entry;

typedef struct luc_roster {
  uint32_t first, last, capacity; /* entries lie from `first` up to before `last` */
  uint32_t count;
  luc_roster_entry entries[];
} luc_roster;

/* Adds an item whose number is below or above all others; *roster may be NULL. */
luc_status luc__roster_add(luc_context *ctx, luc_roster **roster, uint64_t number, void *item);
/* The item that has this number, or NULL. */
void *luc__roster_find(const luc_roster *roster, uint64_t number);
/* The same, taken out. */
void *luc__roster_take(luc_roster *roster, uint64_t number);
/* The first item after *number, which then is its own (0: from the beginning on), or NULL. */
void *luc__roster_next(const luc_roster *roster, uint64_t *number);
/* Another with the same items; NULL when memory is refused. */
luc_roster *luc__roster_copy(luc_context *ctx, const luc_roster *roster);
void luc__roster_free(luc_context *ctx, luc_roster *roster);

#endif
