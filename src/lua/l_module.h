/* Modules as Lua values. A module's userdata (its peer) owns one tree reference; its user value is
 * a table of everything Lua can see behind it: children, parameters and buffers under their names
 * (what the C maps hold, cached), ordinary fields, hooks. Peers exist for whole connected trees, so
 * every strong edge of the C tree is also one of Lua's and cycles through closures are collectable.
 */
#ifndef LUC_L_MODULE_H
#define LUC_L_MODULE_H

#include "l_args.h"
#include "nn/module.h"

#define LUC_L_MAGIC_MODULE 0x4C75634Du
#define LUC_L_MAGIC_CLASS  0x4C756363u

/* How instances are called: ORDER CALL. */
enum {
  LUC_L_CALL_NATIVE,   /* in C, with everything below */
  LUC_L_CALL_LUA,      /* self:forward(...) */
  LUC_L_CALL_HOOKED,   /* hooks around self:forward(...) */
  LUC_L_CALL_ONE_HOOK, /* the same in C: one hook after self:forward(...) */
  LUC_L_CALL_KINDS
};

enum { LUC_L_DEEP = 32 };

/* What a lua_State keeps of modules; at st->nn. */
typedef struct luc_l_nn {
  luc_l_state *st;
  const char *training, *forward;   /* interned names */
  const void *training_at;          /* lua_topointer of the first */
  bool tables;                      /* some module has plain tables among its fields */
  uint32_t overrides;               /* some class or module has its own: ORDER OVERRIDE */
  uint32_t hook_changes;            /* how often hooks came or went */
  bool deep;                        /* calls with hooks lay deep in each other: none in C */
  int calls;                        /* with hooks that C's stack may hold, their … */
  uintptr_t places[LUC_L_DEEP];     /* … addresses there */
  luc_value spare[LUC_MAX_OUTPUTS]; /* outputs on their way to Lua */
  int nspare;
  /* Their addresses are keys: of the registry … */
  char classes;       /* weak: luc_class -> luc_l_class */
  char pins;          /* luc_module -> its peer while hosts hold it, else false */
  char kinds;         /* weak: class's table -> luc_l_class; what stands for one -> its predicate */
  char functions;     /* name -> Lua function that lua/lucerna/nn.lua gave us */
  char override_bits; /* name of a method that others call -> its bit */
  char property_meta;
  char members_meta, registered_meta;
  /* … and of every peer's table: hook functions by id (the registry has every module's under
   * `hooks`); {before, after, anchor} for the drivers; what core.nn._slots gives of the
   * children; what core.nn._pairs walks; what keys() walks. */
  char hooks, hook_lists, children, child_array, names;
} luc_l_nn;

/* A class: uservalue 1 is its table, 2 to 4 the metatables of its instances (ORDER CALL). */
typedef struct luc_l_class {
  uint32_t magic;
  luc_l_nn *nn;
  luc_class *cls;
  luc_l_sig constructor, forward;     /* of the C class; forward only if it has one */
  const char *fields[LUC_MAX_PARAMS]; /* of the constructor: interned names, NULL if it is none */
  uint32_t index_results;             /* bit r: result r of forward counts from 1 */
  bool takes_one;                     /* forward wants no more than a tensor */
  bool complete;                      /* a C class: its table has all its functions */
  bool properties;                    /* it or a parent defines some */
  uint32_t overrides;                 /* what it or a parent defines of its own: ORDER OVERRIDE */
} luc_l_class;
enum { LUC_L_CLASS_TABLE = 1, LUC_L_CLASS_META = 2 };

typedef struct luc_l_peer {
  uint32_t magic;
  uint32_t kept; /* bit p: its table has the value of constructor argument p */
  luc_module *m; /* NULL: collected */
  luc_l_nn *nn;
  luc_l_class *cls;
} luc_l_peer;

/* The peer at a stack index, or NULL. */
static inline luc_l_peer *luc_l_topeer(lua_State *L, int index) {
  luc_l_peer *peer = lua_touserdata(L, index);
  bool ours = peer && lua_rawlen(L, index) == sizeof *peer && peer->magic == LUC_L_MAGIC_MODULE;
  return ours ? peer : NULL;
}
/* The same, alive, or an error naming the function. */
luc_l_peer *luc_l_checkpeer(lua_State *L, int index, const char *who);

/* ---- l_class.c ---- */

/* The class behind a class table at index, or NULL. */
luc_l_class *luc_l_toclass(lua_State *L, int index);
/* Pushes the table of a class written in C, making it (and its parents') when first asked for; nil
 * if there is no such class. */
void luc_l_pushlayer(lua_State *L, luc_l_nn *nn, const char *name);
/* Pushes the luc_l_class of a core class; an error if it was collected, which finalizers see. */
luc_l_class *luc_l_pushclass(lua_State *L, luc_l_nn *nn, const luc_class *cls);
/* Pushes what the class of the peer at index has under the key on top of the stack (which stays).
 */
void luc_l_class_get(lua_State *L, const luc_l_peer *peer);
/* Pushes the function that lua/lucerna/nn.lua gave us under this name. */
void luc_l_push_function(lua_State *L, luc_l_nn *nn, const char *name);
/* Adds the binding's own functions to the table nn of the library. */
void luc_l_add_to_nn(lua_State *L, const luc_l_nn *nn, const luaL_Reg *list);
void luc_l_open_classes(lua_State *L, luc_l_nn *nn);

/* ---- l_overrides.c: what classes and modules define of their own ---- */

/* Methods that other functions call once a class or a module has its own in place of nn.Module's.
 * ORDER OVERRIDE */
enum {
  LUC_L_OWN_REGISTER_PARAMETER = 1 << 0,
  LUC_L_OWN_REGISTER_BUFFER = 1 << 1,
  LUC_L_OWN_NAMED_CHILDREN = 1 << 2,
  LUC_L_OWN_NAMED_MODULES = 1 << 3,
  LUC_L_OWN_NAMED_PARAMETERS = 1 << 4,
  LUC_L_OWN_NAMED_BUFFERS = 1 << 5,
  LUC_L_OWN_NAMED_MEMBERS = 1 << 6,
  LUC_L_OWN_PARAMETERS = 1 << 7,
  LUC_L_OWN_INDEX = 1 << 8,
  LUC_L_OWN_LEN = 1 << 9,
  LUC_L_OWN_PAIRS = 1 << 10,
  LUC_L_OWN_RESET_PARAMETERS = 1 << 11,
  LUC_L_OWN_RESET_MULTIHEAD = 1 << 12,
  LUC_L_OWN_CHECK_INPUT_DIM = 1 << 13
};
uint32_t luc_l_overrides_of(const luc_module *m);
/* Does the module give its parameters their first values by a reset_parameters of its own (one of
 * attention: _reset_parameters)? Then luc_l_reset calls it, for the module at index 1, and no
 * default initialization fills them before. */
bool luc_l_resets_itself(const luc_l_peer *peer);
void luc_l_reset(lua_State *L, const luc_l_peer *peer);
/* Does a module below m have its own? */
bool luc_l_overridden(lua_State *L, luc_l_nn *nn, luc_module *m, uint32_t mask);
/* m.name = value replaces (on) a method, or gives the class's back. */
void luc_l_note_override(lua_State *L, luc_l_peer *peer, int key, bool on);
/* __newindex of class tables: notes properties and overrides. */
int luc_l_class_newindex(lua_State *L);
/* Is the value at index a property? */
bool luc_l_isproperty(lua_State *L, luc_l_nn *nn, int index);
/* Reads a property of the class of the peer at 1 by the key at 2, or writes the value at 3 to it.
 * Their closures' upvalues are the class tables. -1: there is no such property. */
int luc_l_read_property(lua_State *L, luc_l_peer *peer);
int luc_l_write_property(lua_State *L, luc_l_peer *peer);
void luc_l_open_overrides(lua_State *L, luc_l_nn *nn);

/* ---- l_module.c: peers ---- */

/* Pushes the peer of m, making it and those of everything connected to it. NULL pushes nil. */
void luc_l_pushmodule(lua_State *L, luc_l_nn *nn, luc_module *m);
/* Pushes a new peer with an unbuilt module of this class. */
luc_l_peer *luc_l_newmodule(lua_State *L, luc_l_class *cls);
/* Pushes what a slot holds, or nil. */
static inline void luc_l_push_held(lua_State *L, luc_l_nn *nn, luc_slot slot, void *object) {
  if (slot == LUC_SLOT_CHILD)
    luc_l_pushmodule(L, nn, object);
  else
    luc_l_pushtensor(L, nn->st, object);
}
/* Gives peers to children that a constructor made. */
void luc_l_attach_children(lua_State *L, luc_l_peer *peer, int index);
/* Forgets what is cached of the children as a list: their positions, core.nn._slots. */
void luc_l_forget_children(lua_State *L, int index);
void luc_l_open_modules(lua_State *L, luc_l_state *st);

/* ---- l_module_fields.c: m.x, m.x = y ---- */

int luc_l_module_index(lua_State *L);
int luc_l_module_newindex(lua_State *L);
/* core.nn._config_names(m): constructor arguments that can be read as fields. */
int luc_l_module_config_names(lua_State *L);
/* Is what the peer's table has under an interned name the value of a constructor argument, kept
 * since it was read, and no field? */
bool luc_l_is_kept(const luc_l_peer *peer, const char *name);
/* Takes such values out of the table of the peer at index. */
void luc_l_forget_arguments(lua_State *L, luc_l_peer *peer, int index);
int luc_l_module_set_field(lua_State *L);
/* Is it the name of a map of slots or hooks, as PyTorch's m._parameters? */
bool luc_l_is_view(const char *name);
/* Pushes an entry's name and finds the entry again, as pushing may run a finalizer that changes the
 * map. NULL, and nothing pushed, if it is gone. */
luc_map_entry *luc_l_push_name(lua_State *L, const luc_map *map, const luc_map_entry *e);
/* What a value is, in PyTorch's messages: "Parameter", "Linear", "number". The text may stand on
 * the stack, of which it takes a slot then. */
const char *luc_l_kind_name(lua_State *L, int index);
int luc_l_module_kind_name(lua_State *L);
/* Raises if a plain table among the fields of the tree below m holds modules or parameters. */
void luc_l_check_tables(lua_State *L, luc_l_nn *nn, luc_module *m);
/* The value at index if a core function may take it: a borrowed tensor, a number, a boolean; else
 * none. */
luc_value luc_l_plain_value(lua_State *L, int index);

/* ---- l_module_register.c ---- */

/* Puts the object at `value` (a module, tensor or nil) under a name; the checks are done. The hooks
 * on registration may replace it there. persistent: of a buffer, -1 as it was. */
void luc_l_put_slot(lua_State *L, luc_l_peer *peer, int index, luc_slot slot, int key, int value,
                    int persistent);
void luc_l_open_registering(lua_State *L, luc_l_nn *nn);

/* ---- l_module_call.c ---- */

int luc_l_module_call(lua_State *L);    /* __call of pure C modules */
int luc_l_module_forward(lua_State *L); /* forward of a C class: upvalue 1 */
int luc_l_hooked_call(lua_State *L);    /* __call of those of LUC_L_CALL_ONE_HOOK */
int luc_l_module_build(lua_State *L);   /* __init of a C class: upvalue 1 */
/* Fills in the callbacks that run Lua code. */
void luc_l_call_host(luc_host *host);
/* Pushes "in path (Class): " for the error being raised. */
void luc_l_push_place(lua_State *L, luc_l_state *st);

/* ---- l_module_clone.c ---- */

void luc_l_clone_host(luc_host *host);
void luc_l_open_clone(lua_State *L, luc_l_nn *nn);

/* ---- l_module_entries.c: what is held under names ---- */

/* Pushes an iterator over the children of the peer at index, those that are there; false, and
 * nothing pushed, where one has two names, under which it is to come once. */
bool luc_l_push_children(lua_State *L, const luc_l_peer *peer, int index, bool named);
void luc_l_open_entries(lua_State *L, luc_l_nn *nn);

/* ---- l_module_tree.c: methods ---- */

/* Pushes what holds the modules of m's tree until it is collected, for what may raise, or run
 * finalizers, between one and the next. flags: 0 or LUC_WALK_TABLES. */
const luc_members *luc_l_push_modules(lua_State *L, luc_l_nn *nn, luc_module *m, int flags);
/* pairs of a list or dictionary of modules. */
int luc_l_module_pairs(lua_State *L);
void luc_l_open_tree(lua_State *L, luc_l_nn *nn);
void luc_l_open_lazy(lua_State *L, luc_l_nn *nn);
void luc_l_open_hooks(lua_State *L, luc_l_nn *nn);
void luc_l_open_backward_hooks(lua_State *L, luc_l_nn *nn);
void luc_l_backward_host(luc_host *host);
/* Pushes the table of hook functions by id of the peer at index (nil there: of every module), made
 * if asked; false (nothing pushed) if there is none. */
bool luc_l_push_hook_functions(lua_State *L, luc_l_nn *nn, int index, bool make);
void luc_l_open_state_dict(lua_State *L, luc_l_nn *nn);
void luc_l_open_state_hooks(lua_State *L, luc_l_nn *nn);
void luc_l_open_snapshots(lua_State *L, luc_l_nn *nn);
/* Fills in the callbacks that save and load trees for C hosts. */
void luc_l_state_host(luc_host *host);

#endif
