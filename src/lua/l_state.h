/* What one lua_State keeps of Lucerna: its context, the tables the binding needs at hand, the
 * error being carried through the core, and the pacing of Lua's collector. It is a userdata in the
 * registry, made before every other object of ours and so finalized after them. */
#ifndef LUC_L_STATE_H
#define LUC_L_STATE_H

#include <lauxlib.h>
#include <lua.h>

#include "base/context.h"
#include "ops/op.h"

/* What luc_l_get pushes. */
enum {
  LUC_L_TENSOR_META, /* metatable of tensors */
  LUC_L_HOLD_META,   /* metatable of luc_l_hold */
  LUC_L_SENTINEL_META,
  LUC_L_SPARE,
  LUC_L_NEXT_PEER,
  LUC_L_HOLD,
  LUC_L_PEERS,     /* weak values: C object (light userdata) -> userdata */
  LUC_L_ANCHOR,    /* strong: interned names, anything that must live as long as the state */
  LUC_L_ERROR,     /* [1]: the error object that LUC_ERR_CALLBACK stands for */
  LUC_L_CALLBACKS, /* strong: id -> Lua function that the core may call */
  LUC_L_NONE,      /* lucerna.none */
  LUC_L_SCOPE,     /* tensors made in the running lucerna.scope */
  LUC_L_GUARD,     /* what ends one scope after another */
  LUC_L_GENERATOR_META,
  LUC_L_MODE_META,
  LUC_L_REGION_META,    /* of autocast */
  LUC_L_SUSPENDED_META, /* of what runs a function in a region */
  LUC_L_SCOPE_META,
  LUC_L_HANDLE_META,
  LUC_L_LEVEL_META,  /* of vmap */
  LUC_L_LEVELS_META, /* of lists of them */
  LUC_L_TAPE_META,
  LUC_L_NODE_META,
  LUC_L_FILE_META,     /* of open safetensors files */
  LUC_L_HOOKED_META,   /* of calls with backward hooks; finished ones as its array */
  LUC_L_COPIES_META,   /* of what clone has copied */
  LUC_L_SNAPSHOT_META, /* of module trees */
  LUC_L_OWNERS,        /* id of a callback -> what hooks and functions of the graph have as ud */
  LUC_L_NOTED,  /* weak: address of a box -> that box: with a graph, or made in a finalizer */
  LUC_L_PROBED, /* while probing: weak: id -> function */
  LUC_L_LINKS,  /* while probing: box or module -> its functions */
  LUC_L_LEASES, /* strong: address of a lease -> it: userdata whose memory tensors see */
  LUC_L_DLPACK_META,
  LUC_L_DLPACK_VERSIONED_META,
  LUC_L_METHODS, /* of tensors */
  LUC_L_GATHER,  /* a function: its arguments as a table */
  LUC_L_NAME_OF, /* a function: the name of a public function, or nil */
  LUC_L_CORE,    /* the table that luaopen_lucerna_core returns */
  LUC_L_KEYS
};

typedef struct luc_l_pace {
  size_t limit;    /* below this many bytes creating an object costs one comparison; 0: to be set */
  size_t most;     /* what it was before it was 0 */
  size_t budget;   /* growth allowed per collection */
  size_t next;     /* live bytes at which the next step is due */
  bool quick;      /* the last step was a whole cycle, and took little for what it freed */
  double owed;     /* seconds such cycles have to save before they may come often */
  int steps;       /* steps we drove in this cycle */
  size_t last;     /* live bytes after the last of them */
  size_t grown;    /* bytes made between them: too young for this cycle */
  bool sentinel;   /* one exists */
  bool ended;      /* it was finalized: a cycle ended */
  bool collecting; /* inside our own lua_gc */
  bool urgent;     /* memory ran out: the next object begins with a full collection */
  bool crowded;    /* more functions than owned_limit hang on graphs: with a cycle */
} luc_l_pace;

/* The schema of a function of the binding; its text is freed when the state closes. */
typedef struct luc_l_schema {
  struct luc_l_schema *next;
  luc_schema schema;
} luc_l_schema;

typedef struct luc_l_state luc_l_state;
struct luc_l_state {
  luc_context *ctx;    /* NULL once the lua_State is closing */
  bool detect_anomaly; /* of backward passes: a mode like no_grad */
  lua_State *main;     /* the main thread */
  lua_State *L;        /* the coroutine inside a core call that may call back; else NULL */
  const void *none;    /* address of lucerna.none */
  int finalizing; /* LUA_GCISRUNNING inside finalizers: -1 from Lua 5.4.4 on; 0 until one ran */
  struct luc_l_box *spare;     /* one in LUC_L_SPARE that was never handed out, or NULL */
  struct luc_l_box *next_peer; /* one in LUC_L_NEXT_PEER; NULL only where memory was short */
  struct luc_l_hold *hold;     /* the one in LUC_L_HOLD, or NULL */
  bool holds;                  /* it is in use */
  luc_l_pace pace;
  int scopes;                /* running lucerna.scope calls */
  struct luc_l_scope *scope; /* whose table is in LUC_L_SCOPE, or NULL */
  struct luc_l_scope *guard; /* the one in LUC_L_GUARD, or NULL */
  lua_Integer scope_count;   /* tensors noted by the innermost */
  size_t owned;              /* callbacks in LUC_L_OWNERS */
  size_t owned_limit;        /* so many are reason for a collection */
  lua_CFunction collectgarbage;
  bool probing; /* l_cycles.c: they hang on objects, and are not in LUC_L_CALLBACKS */
  luc_l_schema *schemas;
  char *blocks; /* l_ops.c: of a chunk in LUC_L_ANCHOR, `room` bytes are free */
  size_t room;
  bool ready;          /* opened completely */
  struct luc_l_nn *nn; /* modules: l_module.h */
  char root[256];      /* chunk name prefix of our own Lua files ("@./lua/lucerna/"), or "" */
  /* Set by the modules' part: pushes "in features.3 (Conv2d): " or "" for the error being raised.
   */
  void (*push_place)(lua_State *L, luc_l_state *st);
  char keys[LUC_L_KEYS];       /* their addresses are keys of the registry; */
  char dtypes[LUC_NUM_DTYPES]; /* these, of the dtype objects */
};

/* Room for n more values, or an error: Lua does not tell whether there are too many already. */
static inline void luc_l_checkstack(lua_State *L, int n) {
  luaL_checkstack(L, n, "too many values or not enough memory");
}

/* The state of this lua_State; NULL before luaopen_lucerna_core. */
luc_l_state *luc_l_state_of(lua_State *L);
/* The same for functions that a host calls: an error unless it is open. */
luc_l_state *luc_l_open_state(lua_State *L);
/* Pushes one of LUC_L_*. */
static inline void luc_l_get(lua_State *L, luc_l_state *st, int which) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &st->keys[which]);
}
/* The full userdata at a stack index if it is of this size, else NULL. What has one of our
 * metatables may be anything: debug.setmetatable gives them to whatever it likes. */
static inline void *luc_l_userdata(lua_State *L, int index, size_t size) {
  return lua_rawlen(L, index) == size ? lua_touserdata(L, index) : NULL;
}
/* Keeps a string for as long as the state lives, so that equal ones have its address. */
const char *luc_l_intern(lua_State *L, luc_l_state *st, const char *text);
/* Gives the userdata on top of the stack the metatable LUC_L_… `key`. */
static inline void luc_l_set_meta(lua_State *L, luc_l_state *st, int key) {
  luc_l_get(L, st, key);
  lua_setmetatable(L, -2);
}
/* Pushes a metatable that has this finalizer. */
void luc_l_push_gc(lua_State *L, lua_CFunction gc);
/* Gives one to the userdata on top of the stack. */
static inline void luc_l_set_gc(lua_State *L, lua_CFunction gc) {
  luc_l_push_gc(L, gc);
  lua_setmetatable(L, -2);
}
/* Pushes a new table, weak in its keys ("k") or values ("v") unless mode is NULL. */
void luc_l_push_table(lua_State *L, int narray, const char *mode);
/* The context, or an error when the state is closing. */
luc_context *luc_l_context_slow(lua_State *L, luc_l_state *st);
static inline luc_context *luc_l_context(lua_State *L, luc_l_state *st) {
  return st->ctx && !st->probing ? st->ctx : luc_l_context_slow(L, st);
}

/* ---- errors (l_error.c). Raise only when nothing is owned by the C frame. ---- */

/* Raises the context's message for a failed status, at the caller's line, with the module's path;
 * LUC_ERR_CALLBACK raises the callback's own error object. */
int luc_l_raise(lua_State *L, luc_l_state *st, luc_status status);
/* The same, if it is one. */
static inline void luc_l_check(lua_State *L, luc_l_state *st, luc_status status) {
  if (status == LUC_OK) return;
  luc_l_raise(L, st, status);
  __builtin_unreachable();
}
/* What a function with n results returns, unless it failed. */
static inline int luc_l_results(lua_State *L, luc_l_state *st, int n, luc_status status) {
  luc_l_check(L, st, status);
  return n;
}
/* Raises "file:line: " + message. */
int luc_l_error(lua_State *L, const char *fmt, ...);
/* Takes the error object on top of the stack into keeping. Returns LUC_ERR_CALLBACK. */
luc_status luc_l_keep_error(lua_State *L, luc_l_state *st);
/* Is the frame a C function or a chunk of lucerna's own? ar has its source and line. */
bool luc_l_is_ours(const luc_l_state *st, const lua_Debug *ar);
/* The coroutines from the main thread to L, each resumed by the one before it; L alone where that
 * cannot be seen. Returns their number. */
enum { LUC_L_THREADS = 32 };
int luc_l_threads(lua_State *L, luc_l_state *st, lua_State *list[LUC_L_THREADS]);
/* "number 5", "string 'abc'", "Tensor [2, 3]", "nil": what an argument is, for messages. The text
 * is left on the stack, for an error to be raised. */
const char *luc_l_given(lua_State *L, int index);

/* ---- calling back (l_error.c) ---- */

/* Bracket a core call that may call back: prev = luc_l_enter(st, L); …; st->L = prev. */
static inline lua_State *luc_l_enter(luc_l_state *st, lua_State *L) {
  lua_State *previous = st->L;
  st->L = L;
  return previous;
}
/* Ends the bracket; raises what failed in it. */
static inline void luc_l_leave(lua_State *L, luc_l_state *st, lua_State *previous,
                               luc_status status) {
  st->L = previous;
  luc_l_check(L, st, status);
}
/* Packs the saved tensors that wait for saved_tensors_hooks (l_graph.c); asked for where
 * ctx->unpacked_nodes is set and what the call made is owned. */
luc_status luc_l_pack_saved(lua_State *L, luc_l_state *st);
/* Calls fn in protected mode with a pointer, on the coroutine in the core call, else the main
 * thread; an error is kept for luc_l_raise. */
luc_status luc_l_protect(luc_l_state *st, lua_CFunction fn, void *arg);
/* Keeps the function on top of the stack for the core and pops it; luc_l_callback_push pushes it.
 */
uint64_t luc_l_callback_keep(lua_State *L, luc_l_state *st);
/* Hooks and functions of the graph, as many as the int at `ud` says, have `ud` from now until the
 * callback is dropped: so a function that holds its tensor can be collected with it. */
void luc_l_callback_own(luc_l_state *st, uint64_t id, const void *ud);
/* Pushes true for a function that was collected, while finalizers run. */
void luc_l_callback_push(lua_State *L, luc_l_state *st, uint64_t id);
void luc_l_callback_drop(luc_l_state *st, uint64_t id);

/* ---- cycles through the graph (l_cycles.c) ---- */

/* After a full collection, when no function of ours is running (or all that it has made counts as
 * held). Any call of ours ends the probe (luc_l_context). */
void luc_l_begin_probe(lua_State *L, luc_l_state *st);
void luc_l_end_probe(lua_State *L, luc_l_state *st);

/* ---- pacing (l_gc.c) ---- */

void luc_l_pace_init(lua_State *L, luc_l_state *st);
/* Before the creation of an object, with no core state open: may run steps of Lua's collector. */
void luc_l_pace_pay(lua_State *L, luc_l_state *st);
size_t luc_l_live(const luc_l_state *st);
static inline void luc_l_pace_check(lua_State *L, luc_l_state *st) {
  if (luc_l_live(st) > st->pace.next) luc_l_pace_pay(L, st);
}
/* The memory limit was changed. */
void luc_l_pace_limit(lua_State *L, luc_l_state *st);
/* Memory ran out and the error unwinds: what it leaves behind is garbage by the time the next
 * object is created, which begins with a full collection. */
void luc_l_pace_hurry(luc_l_state *st);
/* A function hangs on a graph: where there are too many, the next object begins with a cycle. */
void luc_l_pace_crowd(luc_l_state *st);
/* After LUC_ERR_MEMORY: one full collection. True if it is worth trying again. */
bool luc_l_collect(lua_State *L, luc_l_state *st);

#endif
