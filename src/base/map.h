/* An ordered map from names to pointers: insertion order, O(1) lookup, deletion keeps order.
 * Module trees and state dicts are made of these. Values are not owned. */
#ifndef LUC_MAP_H
#define LUC_MAP_H

#include "lucerna/base.h"

typedef struct luc_map_entry {
  char *key; /* owned by the map, NUL-terminated; NULL marks a deleted entry */
  size_t length;
  uint32_t hash;
  void *value; /* may be NULL: a declared but empty slot */
} luc_map_entry;

typedef struct luc_map {
  luc_map_entry *entries;
  uint32_t *index; /* open addressing; 0 empty, else entry + 1; NULL while there are few entries */
  uint32_t used, capacity, index_size, count;
} luc_map;

void luc__map_init(luc_map *map);
void luc__map_free(luc_context *ctx, luc_map *map);
luc_map_entry *luc__map_find(const luc_map *map, const char *key, size_t length);
/* Inserts at the end or replaces in place; the old value (or NULL) goes to *old if old != NULL. */
luc_status luc__map_set(luc_context *ctx, luc_map *map, const char *key, size_t length, void *value,
                        void **old);
/* Removes; returns the value through *old. False if there was none. */
bool luc__map_remove(luc_context *ctx, luc_map *map, const char *key, size_t length, void **old);
/* Walks in order: pass 0 first; returns NULL at the end. Setting existing keys is allowed
 * meanwhile. */
luc_map_entry *luc__map_next(const luc_map *map, uint32_t *position);
/* Entry i from 0 in order, or NULL. */
luc_map_entry *luc__map_at(const luc_map *map, uint32_t i);

/* A set of pointers; zeroed: empty. */
typedef struct luc_set {
  const void **items;
  uint32_t count, capacity;
} luc_set;
luc_status luc__set_add(luc_context *ctx, luc_set *set, const void *p, bool *added);
void luc__set_free(luc_context *ctx, luc_set *set);

#endif
