/* Pacing Lua's collector: tensors are small userdata that own much memory, which the collector
 * cannot see. Above a soft limit, creating objects pays for collection in steps; a sentinel,
 * garbage from its birth, tells when a cycle ended. The host's mode and parameters are never
 * touched, and nothing runs while it has the collector stopped. */
#include "autograd/graph.h"
#include "l_tensor.h"

enum {
  WARM = 1 << 20,
  MIN_BUDGET = 4 << 20,
  MIN_STRIDE = 64 << 10,
  MAX_STEPS = 32,
  MIN_OWNED = 1024
};

/* What warm memory saves for WARM bytes freed, and how many times its own time a full collection
 * has to be saved: mostly it is for what frequent cycles made old. */
static const double SAVED_SECONDS = 30e-6, FULL_COSTS = 16;

size_t luc_l_live(const luc_l_state *st) {
  return luc_memory_stats(st->ctx).live; /* of userdata Lua knows by itself */
}

static size_t lua_heap(lua_State *L) {
  int kilobytes = lua_gc(L, LUA_GCCOUNT);
  return kilobytes > 0 ? (size_t)kilobytes << 10 : 0;
}

static size_t max_size(size_t a, size_t b) {
  return a > b ? a : b;
}

/* How much may be created before the next collection; less where the host set a limit on memory. */
static size_t budget_for(lua_State *L, const luc_l_state *st, size_t live) {
  size_t budget = max_size(max_size(MIN_BUDGET, live / 2), lua_heap(L));
  size_t limit = luc_memory_stats(st->ctx).limit;
  if (!limit) return budget;
  size_t room = limit > live ? (limit - live) / 2 : 0;
  return budget < room ? budget : max_size(room, MIN_STRIDE);
}

/* What lives at the end of a cycle; what kept only itself alive does not. */
static size_t left_alive(luc_l_state *st) {
  luc__collect_cycles(st->ctx, false);
  return luc_l_live(st);
}

/* Where cycles are quick, as minor collections of a small heap are, one is due each time that a
 * part of the cache has been filled, so that results find warm memory. */
static size_t next_step(const luc_l_pace *p, size_t live, size_t limit) {
  return p->quick && p->owed <= 0 && live + WARM < limit ? live + WARM : limit;
}

/* A cycle is over: what lives now is the base of the next limit, less the `young` bytes that were
 * made while it ran and so could not be found to be garbage. */
static void set_limit(lua_State *L, luc_l_state *st, size_t young) {
  luc_l_pace *p = &st->pace;
  size_t live = luc_l_live(st);
  p->budget = budget_for(L, st, live);
  p->limit = live - (young < live / 2 ? young : live / 2) + p->budget;
  p->next = next_step(p, live, p->limit);
  p->steps = 0;
  p->grown = 0;
  p->urgent = p->crowded = false;
}

static void make_sentinel(lua_State *L, luc_l_state *st) {
  luc_l_state **sentinel = lua_newuserdatauv(L, sizeof *sentinel, 0);
  *sentinel = st;
  luc_l_set_meta(L, st, LUC_L_SENTINEL_META);
  lua_pushnil(L); /* no stale slot of the stack may keep it alive: the collector looks at those */
  lua_replace(L, -2);
  lua_pop(L, 1);
  st->pace.sentinel = true;
}

/* Is it collectgarbage that runs the finalizer at hand, or a host's lua_gc? */
static bool at_rest(lua_State *L, const luc_l_state *st) {
  lua_Debug ar;
  if (!lua_getstack(L, 1, &ar)) return true;
  lua_getinfo(L, "f", &ar);
  lua_CFunction by = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  return by && by == st->collectgarbage;
}

/* The sentinel's __gc. How large Lua's heap is it does not say in here: the next object asks. */
static int sentinel_gc(lua_State *L) {
  luc_l_state **sentinel = luc_l_userdata(L, 1, sizeof *sentinel);
  luc_l_state *st = sentinel ? *sentinel : NULL;
  if (!st || !st->ctx) return 0;
  st->finalizing = lua_gc(L, LUA_GCISRUNNING);
  st->pace.ended = true;
  st->pace.sentinel = false;
  if (!st->pace.collecting) {
    if (st->pace.limit) st->pace.most = st->pace.limit;
    st->pace.limit = st->pace.next = 0;
  }
  make_sentinel(L, st);
  if (!at_rest(L, st)) return 0;
  luc__collect_cycles(st->ctx, true);
  luc_l_begin_probe(L, st);
  return 0;
}

/* Twice where functions hang on the graph: after the first the probe knows what is left. */
static void full_collection(lua_State *L, luc_l_state *st) {
  const double began = luc_clock();
  st->pace.collecting = true;
  lua_gc(L, LUA_GCCOLLECT);
  if (st->owned) {
    lua_gc(L, LUA_GCSTOP);
    luc_l_begin_probe(L, st);
    lua_gc(L, LUA_GCRESTART);
    lua_gc(L, LUA_GCCOLLECT);
  }
  st->owned_limit = max_size(MIN_OWNED, 2 * st->owned);
  st->pace.owed = FULL_COSTS * (luc_clock() - began);
  st->pace.collecting = false;
  luc__collect_cycles(st->ctx, false);
  set_limit(L, st, 0);
}

/* After a cycle that Lua ended, which can only lower the limit: in generational mode it says little
 * about what is garbage. Where our steps drove it too, what is left above the limit does live. */
static void lower_limit(lua_State *L, luc_l_state *st) {
  luc_l_pace *p = &st->pace;
  size_t live = left_alive(st);
  if (p->steps && live >= p->most) {
    set_limit(L, st, p->grown);
    return;
  }
  p->budget = budget_for(L, st, live);
  p->limit = live + p->budget < p->most ? live + p->budget : p->most;
  p->next = next_step(p, live, p->limit);
  p->steps = 0;
}

/* After a cycle that our steps ended. One step for a whole cycle was a minor collection (or a tiny
 * heap): if much is left above the limit, what we look for has grown old, and only a full one will
 * find it. That makes all that lives old in turn: a value that dies soon after, as the last result
 * of a loop does, must not be reason for the next. */
static void end_cycle(lua_State *L, luc_l_state *st) {
  luc_l_pace *p = &st->pace;
  size_t live = left_alive(st);
  if (p->steps > 1) {
    set_limit(L, st, p->grown);
  } else if (live > p->limit + p->budget / 4) {
    full_collection(L, st);
  } else {
    p->next = next_step(p, live, max_size(p->limit, live + p->budget / 4));
    p->steps = 0;
  }
}

/* One step; true if it ended a cycle. */
static bool drive_step(lua_State *L, luc_l_state *st) {
  luc_l_pace *p = &st->pace;
  p->collecting = true;
  p->ended = false;
  const size_t before = luc_l_live(st);
  const double began = luc_clock();
  lua_gc(L, LUA_GCSTEP, 0);
  const double took = luc_clock() - began;
  p->last = luc_l_live(st);
  const double freed = before > p->last ? (double)(before - p->last) : 0;
  const double saved = SAVED_SECONDS / WARM * freed - took;
  if (saved > 0) p->owed = p->owed > saved ? p->owed - saved : 0;
  p->quick = p->ended && p->steps == 0 && saved > 0 && lua_heap(L) < MIN_BUDGET;
  p->collecting = false;
  p->steps++;
  return p->ended;
}

/* Many functions hang on graphs. Mostly a cycle finds the tensors that hold them, and in
 * generational mode Lua's own come in time from then on. After a full collection, which is for what
 * a cycle leaves, Lua lets its heap double first, and as many would be there again. */
static void relieve(lua_State *L, luc_l_state *st) {
  bool ended = false;
  st->pace.crowded = false;
  if (!st->pace.sentinel) make_sentinel(L, st);
  for (int i = 0; i < MAX_STEPS && !ended; i++) ended = drive_step(L, st);
  if (ended && st->owned <= st->owned_limit / 2)
    end_cycle(L, st);
  else
    full_collection(L, st);
}

void luc_l_pace_pay(lua_State *L, luc_l_state *st) {
  luc_l_pace *p = &st->pace;
  if (!st->ctx || p->collecting) return;
  if (!p->limit && !p->urgent && lua_heap(L)) lower_limit(L, st);
  if (!p->urgent && !p->crowded && luc_l_live(st) < p->next) return;
  if (lua_gc(L, LUA_GCISRUNNING) != 1) return; /* stopped, or inside a finalizer */
  if (p->urgent || p->crowded) {
    (p->urgent ? full_collection : relieve)(L, st);
    return;
  }
  if (!p->sentinel) make_sentinel(L, st);
  size_t live = luc_l_live(st);
  if (p->steps && live > p->last) p->grown += live - p->last;
  /* A cycle takes about a step per MB of Lua heap: end it within half a budget. */
  size_t stride = max_size(p->budget / 2 / ((lua_heap(L) >> 20) + 1), MIN_STRIDE);
  size_t due = p->steps ? 1 + (live - p->next) / stride : 1;
  if ((size_t)p->steps > 8 * (lua_heap(L) >> 20) + 64) { /* no cycle is that long */
    full_collection(L, st);
    return;
  }
  for (size_t i = 0; i < due && i < MAX_STEPS; i++) {
    if (!drive_step(L, st)) continue;
    end_cycle(L, st);
    return;
  }
  p->next = p->last + stride;
}

void luc_l_pace_limit(lua_State *L, luc_l_state *st) {
  set_limit(L, st, 0);
}

void luc_l_pace_hurry(luc_l_state *st) {
  st->pace.urgent = true;
  st->pace.limit = st->pace.next = 0;
}

void luc_l_pace_crowd(luc_l_state *st) {
  if (st->owned <= st->owned_limit) return;
  st->pace.crowded = true;
  st->pace.next = 0;
}

bool luc_l_collect(lua_State *L, luc_l_state *st) {
  if (st->pace.collecting) return false;
  full_collection(L, st);
  luc__collect_cycles(st->ctx, true);
  return true;
}

void luc_l_pace_init(lua_State *L, luc_l_state *st) {
  luc_l_push_gc(L, sentinel_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &st->keys[LUC_L_SENTINEL_META]);
  make_sentinel(L, st);
  set_limit(L, st, 0);
  st->owned_limit = MIN_OWNED;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushliteral(L, "collectgarbage");
  lua_rawget(L, -2);
  st->collectgarbage = lua_tocfunction(L, -1);
  lua_pop(L, 2);
}
