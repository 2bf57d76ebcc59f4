/* Rosters: an array with room at both ends. Who leaves stays as a gap until more than half are. */
#include "base/roster.h"

#include "base/memory.h"

static size_t roster_size(uint32_t capacity) {
  return sizeof(luc_roster) + capacity * sizeof(luc_roster_entry);
}

/* Puts the items of `from` (which may be `to`) into `to`, from entry `first` on. */
static void gather(luc_roster *to, uint32_t first, const luc_roster *from) {
  uint32_t last = first;
  for (uint32_t i = from->first; i < from->last; i++)
    if (from->entries[i].item != NULL) to->entries[last++] = from->entries[i];
  to->first = first;
  to->last = last;
  to->count = last - first;
}

luc_roster *luc__roster_copy(luc_context *ctx, const luc_roster *from) {
  static const luc_roster none = {0};
  if (from == NULL) from = &none;
  uint32_t room = from->count / 2 + 1, capacity = from->count + 2 * room;
  luc_roster *copy = luc__alloc(ctx, roster_size(capacity));
  if (copy == NULL) return NULL;
  copy->capacity = capacity;
  gather(copy, room, from);
  return copy;
}

void luc__roster_free(luc_context *ctx, luc_roster *roster) {
  if (roster != NULL) luc__free(ctx, roster, roster_size(roster->capacity));
}

luc_status luc__roster_add(luc_context *ctx, luc_roster **roster, uint64_t number, void *item) {
  luc_roster *r = *roster;
  bool front = r != NULL && r->first < r->last && number < r->entries[r->first].number;
  if (r == NULL || (front ? r->first == 0 : r->last == r->capacity)) {
    r = luc__roster_copy(ctx, r);
    if (r == NULL) return LUC_ERR_MEMORY;
    luc__roster_free(ctx, *roster);
    *roster = r;
  }
  r->entries[front ? --r->first : r->last++] = (luc_roster_entry){number, item};
  r->count++;
  return LUC_OK;
}

/* The first entry whose number is not below this one. */
static uint32_t place_of(const luc_roster *r, uint64_t number) {
  uint32_t low = r->first, high = r->last;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (r->entries[middle].number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void *luc__roster_find(const luc_roster *r, uint64_t number) {
  if (r == NULL) return NULL;
  uint32_t place = place_of(r, number);
  return place < r->last && r->entries[place].number == number ? r->entries[place].item : NULL;
}

void *luc__roster_take(luc_roster *r, uint64_t number) {
  void *item = luc__roster_find(r, number);
  if (item == NULL) return NULL;
  r->entries[place_of(r, number)].item = NULL;
  r->count--;
  if (r->count < (r->last - r->first) / 2 || r->count == 0) gather(r, r->first, r);
  return item;
}

void *luc__roster_next(const luc_roster *r, uint64_t *number) {
  if (r == NULL) return NULL;
  for (uint32_t i = place_of(r, *number + 1); i < r->last; i++) {
    if (r->entries[i].item == NULL) continue;
    *number = r->entries[i].number;
    return r->entries[i].item;
  }
  return NULL;
}
