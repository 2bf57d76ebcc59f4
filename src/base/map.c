/* The ordered map: an array of entries in insertion order, found by a scan while there are few and
 * through an open-addressed index of positions beyond that, whose hash nobody outside can foresee.
 * Deleted entries stay as holes until the array is rebuilt, so that order and walks survive; the
 * index knows nothing of them, and the array never ends with one. */
#include "base/map.h"

#include <string.h>

#include "base/context.h"

enum { SCAN_MAX = 8 }; /* up to here a scan beats the index */

static inline uint64_t rotate(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4]) {
  v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
  v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein), so that names in a file, which may come from anywhere,
 * cannot be chosen to meet in one place. The secret is where the system put this code. */
static uint32_t keyed_hash(const char *key, size_t length) {
  const uint64_t secret = (uint64_t)(uintptr_t)&keyed_hash;
  uint64_t v[4] = {secret ^ 0x736f6d6570736575, ~secret ^ 0x646f72616e646f6d,
                   secret ^ 0x6c7967656e657261, ~secret ^ 0x7465646279746573};
  uint64_t word = 0;
  size_t left = length;
  for (; left >= 8; left -= 8, key += 8) {
    memcpy(&word, key, 8);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
  }
  word = (uint64_t)length << 56;
  for (size_t i = 0; i < left; i++) word |= (uint64_t)(unsigned char)key[i] << (8 * i);
  v[3] ^= word;
  sip_round(v);
  v[0] ^= word;
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) sip_round(v);
  word = v[0] ^ v[1] ^ v[2] ^ v[3];
  return (uint32_t)(word ^ word >> 32);
}

/* 0 while the map is scanned. */
static uint32_t hash_of(const luc_map *map, const char *key, size_t length) {
  return map->index == NULL ? 0 : keyed_hash(key, length);
}

static bool is_key(const luc_map_entry *e, uint32_t hash, const char *key, size_t length) {
  return e->hash == hash && e->key != NULL && e->length == length &&
         memcmp(e->key, key, length) == 0;
}

static void free_key(luc_context *ctx, luc_map_entry *e) {
  luc__free(ctx, e->key, e->length + 1);
  e->key = NULL;
}

static void index_add(luc_map *map, uint32_t hash, uint32_t position) {
  uint32_t mask = map->index_size - 1, slot = hash & mask;
  while (map->index[slot] != 0) slot = (slot + 1) & mask;
  map->index[slot] = position + 1;
}

/* Takes an entry out; those behind it that it kept from their places move up. */
static void index_remove(luc_map *map, uint32_t hash, uint32_t position) {
  uint32_t mask = map->index_size - 1, slot = hash & mask;
  while (map->index[slot] != position + 1) slot = (slot + 1) & mask;
  for (uint32_t i = (slot + 1) & mask; map->index[i] != 0; i = (i + 1) & mask) {
    uint32_t home = map->entries[map->index[i] - 1].hash & mask;
    if (((i - home) & mask) < ((i - slot) & mask)) continue;
    map->index[slot] = map->index[i];
    slot = i;
  }
  map->index[slot] = 0;
}

void luc__map_init(luc_map *map) {
  *map = (luc_map){0};
}

void luc__map_free(luc_context *ctx, luc_map *map) {
  for (uint32_t i = 0; i < map->used; i++) free_key(ctx, &map->entries[i]);
  luc__free(ctx, map->entries, map->capacity * sizeof *map->entries);
  luc__free(ctx, map->index, map->index_size * sizeof *map->index);
  luc__map_init(map);
}

static luc_map_entry *find_hashed(const luc_map *map, uint32_t hash, const char *key,
                                  size_t length) {
  if (map->index == NULL) {
    for (uint32_t i = 0; i < map->used; i++)
      if (is_key(&map->entries[i], hash, key, length)) return &map->entries[i];
    return NULL;
  }
  uint32_t mask = map->index_size - 1;
  for (uint32_t slot = hash & mask; map->index[slot] != 0; slot = (slot + 1) & mask) {
    luc_map_entry *e = &map->entries[map->index[slot] - 1];
    if (is_key(e, hash, key, length)) return e;
  }
  return NULL;
}

luc_map_entry *luc__map_find(const luc_map *map, const char *key, size_t length) {
  return map->count == 0 ? NULL : find_hashed(map, hash_of(map, key, length), key, length);
}

/* Makes room for one entry more: rebuilds without the holes, twice as large if it is still full.
 * Nothing has changed when it fails. */
static luc_status make_room(luc_context *ctx, luc_map *map) {
  if (map->used < map->capacity) return LUC_OK;
  uint32_t capacity = map->capacity;
  if (capacity == 0)
    capacity = 4;
  else if (map->count >= capacity - capacity / 4)
    capacity *= 2;
  uint32_t index_size = capacity > SCAN_MAX ? capacity * 2 : 0;
  luc_map_entry *entries = luc__alloc(ctx, capacity * sizeof *entries);
  if (entries == NULL) return LUC_ERR_MEMORY;
  uint32_t *index = NULL;
  if (index_size != 0) {
    index = luc__alloc_zero(ctx, index_size * sizeof *index);
    if (index == NULL) {
      luc__free(ctx, entries, capacity * sizeof *entries);
      return LUC_ERR_MEMORY;
    }
  }
  luc_map old = *map;
  *map = (luc_map){entries, index, 0, capacity, index_size, old.count};
  for (uint32_t i = 0; i < old.used; i++) {
    if (old.entries[i].key == NULL) continue;
    luc_map_entry *e = &entries[map->used];
    *e = old.entries[i];
    if (old.index == NULL) e->hash = hash_of(map, e->key, e->length);
    if (index != NULL) index_add(map, e->hash, map->used);
    map->used++;
  }
  luc__free(ctx, old.entries, old.capacity * sizeof *old.entries);
  luc__free(ctx, old.index, old.index_size * sizeof *old.index);
  return LUC_OK;
}

luc_status luc__map_set(luc_context *ctx, luc_map *map, const char *key, size_t length, void *value,
                        void **old) {
  const bool scanned = map->index == NULL;
  uint32_t hash = hash_of(map, key, length);
  luc_map_entry *e = find_hashed(map, hash, key, length);
  if (old != NULL) *old = e != NULL ? e->value : NULL;
  if (e != NULL) {
    e->value = value;
    return LUC_OK;
  }
  LUC_TRY(make_room(ctx, map));
  char *copy = luc__alloc(ctx, length + 1);
  if (copy == NULL) return LUC_ERR_MEMORY;
  memcpy(copy, key, length);
  copy[length] = '\0';
  if (scanned && map->index != NULL) hash = hash_of(map, key, length);
  map->entries[map->used] = (luc_map_entry){copy, length, hash, value};
  if (map->index != NULL) index_add(map, hash, map->used);
  map->used++;
  map->count++;
  return LUC_OK;
}

bool luc__map_remove(luc_context *ctx, luc_map *map, const char *key, size_t length, void **old) {
  luc_map_entry *e = luc__map_find(map, key, length);
  if (old != NULL) *old = e != NULL ? e->value : NULL;
  if (e == NULL) return false;
  if (map->index != NULL) index_remove(map, e->hash, (uint32_t)(e - map->entries));
  free_key(ctx, e);
  e->value = NULL;
  map->count--;
  while (map->used > 0 && map->entries[map->used - 1].key == NULL) map->used--;
  return true;
}

luc_map_entry *luc__map_next(const luc_map *map, uint32_t *position) {
  while (*position < map->used) {
    luc_map_entry *e = &map->entries[(*position)++];
    if (e->key != NULL) return e;
  }
  return NULL;
}

luc_map_entry *luc__map_at(const luc_map *map, uint32_t i) {
  if (i >= map->count) return NULL;
  if (map->used == map->count) return &map->entries[i];
  if (i == map->count - 1) return &map->entries[map->used - 1];
  luc_map_entry *e = luc__map_next(map, &(uint32_t){0});
  for (uint32_t at = (uint32_t)(e - map->entries) + 1; i > 0; i--) e = luc__map_next(map, &at);
  return e;
}

/* ---- a set of pointers ---- */

static uint32_t place_of(const luc_set *set, const void *p) {
  uint32_t mask = set->capacity - 1;
  uint32_t at = (uint32_t)(((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (set->items[at] != NULL && set->items[at] != p) at = (at + 1) & mask;
  return at;
}

static luc_status set_grow(luc_context *ctx, luc_set *set) {
  luc_set larger = {.capacity = set->capacity == 0 ? 16 : set->capacity * 2};
  larger.items = luc__alloc_zero(ctx, larger.capacity * sizeof *larger.items);
  if (larger.items == NULL) return LUC_ERR_MEMORY;
  larger.count = set->count;
  for (uint32_t i = 0; i < set->capacity; i++)
    if (set->items[i] != NULL) larger.items[place_of(&larger, set->items[i])] = set->items[i];
  luc__set_free(ctx, set);
  *set = larger;
  return LUC_OK;
}

luc_status luc__set_add(luc_context *ctx, luc_set *set, const void *p, bool *added) {
  if (set->count * 2 >= set->capacity) LUC_TRY(set_grow(ctx, set));
  uint32_t at = place_of(set, p);
  *added = set->items[at] == NULL;
  set->items[at] = p;
  set->count += *added;
  return LUC_OK;
}

void luc__set_free(luc_context *ctx, luc_set *set) {
  luc__free(ctx, set->items, set->capacity * sizeof *set->items);
  *set = (luc_set){0};
}
