/* The module's insides. Trees are acyclic: every child knows its parents, and edges are counted
 * apart from the references that hosts hold, so that a binding can pin what a host keeps. Nothing
 * here recurses over a tree. */
#ifndef LUC_MODULE_H
#define LUC_MODULE_H

#include "base/roster.h"
#include "nn/class.h"

typedef struct luc_module_hook {
  int refs; /* the module's list, running calls, and hooks of copies */
  uint64_t id;
  uint8_t kind; /* luc_hook_kind, or LUC_HOOK_STATE + luc_state_event */
  uint8_t flags;
  bool host; /* the binding's: the function is on its side */
  bool removed;
  union {
    luc_pre_hook_fn pre;
    luc_forward_hook_fn forward;
    luc_backward_hook_fn backward;
    luc_state_hook_fn state;
  } fn;
  void *ud;
  luc_hook_free_fn free;
  struct luc_module_hook *origin; /* of a copied module's hook: the one that owns ud, else NULL */
} luc_module_hook;
enum { LUC_HOOK_STATE = LUC_HOOK_KINDS, LUC_ALL_HOOK_KINDS = LUC_HOOK_STATE + LUC_STATE_EVENTS };
/* Does not change while refs > 1. */
typedef struct luc_hooks {
  int refs;
  uint32_t kinds; /* bit k: there may be some of kind k */
  int counts[LUC_ALL_HOOK_KINDS];
  luc_roster *roster;
} luc_hooks;

typedef struct luc_parent {
  luc_module *parent;
  uint32_t count; /* names under which it has this child */
} luc_parent;

typedef enum luc_slot { LUC_SLOT_PARAMETER, LUC_SLOT_BUFFER, LUC_SLOT_CHILD, LUC_SLOTS } luc_slot;

struct luc_module {
  int32_t refs;     /* all references */
  int32_t external; /* those that hosts hold */
  const luc_class *cls;
  void *peer; /* the binding's object for it, or NULL */
  bool training;
  bool built;           /* its C class's constructor has run */
  bool tables;          /* for the binding: some field is a plain table, which may hold modules */
  bool dead;            /* being destroyed */
  bool fresh;           /* built, but the registration hooks have not seen its slots */
  uint32_t overrides;   /* for the binding: methods assigned to this module alone */
  uint32_t impure_self; /* reasons why calling it needs the host: class, hooks, forward */
  uint32_t impure_children; /* edges to children that are impure */
  luc_map slots[LUC_SLOTS]; /* luc_tensor *, luc_tensor *, luc_module * */
  luc_map transient;        /* names of buffers that are not persistent */
  luc_map outside;          /* names of tensors that the host now provides: m.weight computed */
  luc_map *lent;            /* while forward runs: the tensors of `outside` by name, else NULL */
  luc_value *config;        /* constructor arguments, those of luc__config_class */
  size_t config_size;
  luc_hooks *hooks;       /* NULL: none */
  uint32_t backward_kind; /* its backward hooks are full or old ones, not both; 0: none yet */
  luc_parent *parents;
  uint32_t nparents, parents_capacity;
  luc_module *next, *previous; /* all modules of the context; or the list of dying ones */
  luc_module *link;            /* work lists of walks that must not fail */
  bool marked;
};

typedef struct luc_description {
  luc_text name, extra;
  bool has_name, has_extra, whole;
} luc_description;

/* What a binding that gives modules host objects provides; one per context. Those without a result
 * cannot fail. */
typedef struct luc_host {
  void *ud;
  /* Before C code changes a slot (never for changes the binding makes itself): object NULL empties
   * or removes it. May refuse. */
  luc_status (*edge)(luc_context *ctx, void *ud, luc_module *m, luc_slot slot, const char *name,
                     size_t length, void *object);
  /* The first host reference was taken, the last one dropped. */
  void (*pin)(luc_context *ctx, void *ud, luc_module *m, bool on);
  /* Purity or hooks changed: another way of calling may be due. */
  void (*changed)(luc_context *ctx, void *ud, luc_module *m);
  /* Constructor arguments changed: what was kept of them is forgotten. */
  void (*configured)(void *ud, luc_module *m);
  /* What the host's object has under a name, as a new reference; NULL if that is no tensor. */
  luc_status (*tensor)(luc_context *ctx, void *ud, luc_module *m, const char *name, size_t length,
                       luc_tensor **out);
  /* A deep copy of a tree that has host objects, as a new reference. */
  luc_status (*clone)(luc_context *ctx, void *ud, luc_module *m, luc_module **out);
  /* Lets the host's class check an input by a _check_input_dim of its own; *checked is false if it
   * has none. */
  luc_status (*check)(luc_context *ctx, void *ud, luc_module *m, luc_tensor *input, bool *checked);
  /* Calls a module that only the host can call. */
  luc_status (*call)(luc_context *ctx, void *ud, luc_module *m, const luc_value *args, int nargs,
                     luc_outputs *out);
  /* What the host's code says of m in texts: its name, its extra_repr, or (in extra) all of it. */
  luc_status (*describe)(luc_context *ctx, void *ud, luc_module *m, luc_description *d);
  /* Keeps the host's backward hooks of m as they are now, for a call. */
  luc_status (*anchor)(luc_context *ctx, void *ud, luc_module *m, uint64_t *anchor);
  /* Calls one of the hooks that an anchor keeps. */
  luc_status (*backward)(luc_context *ctx, void *ud, uint64_t anchor, uint64_t id,
                         const luc_grads *grad_input, const luc_grads *grad_output,
                         luc_grads *replacement);
  void (*drop_anchor)(luc_context *ctx, void *ud, uint64_t anchor);
  /* Ties the anchor to `owner`, whose first member is an int, its number of references. */
  void (*own_anchor)(luc_context *ctx, void *ud, uint64_t anchor, const void *owner);
  /* Saves or loads a tree whose classes or hooks of the host's take part, as luc_module_state_dict
   * and luc_module_load_state_dict do. *handled is false for other trees. */
  luc_status (*save_state)(luc_context *ctx, void *ud, luc_module *m, const char *prefix,
                           bool keep_vars, luc_state_dict *sd, bool *handled);
  luc_status (*load_state)(luc_context *ctx, void *ud, luc_module *m, const luc_state_dict *sd,
                           int flags, luc_names *missing, luc_names *unexpected, bool *handled);
} luc_host;

enum { LUC_PATH_MAX = 512 };
typedef struct luc_nn {
  luc_class *classes; /* one per row */
  luc_class *made;    /* the host's: those nobody released end with the context */
  luc_host host;
  const luc_module
      *host_acts; /* while the binding changes this module's slots itself: no edge callback */
  luc_roster *registration; /* hooks; NULL: none */
  int registering;          /* calls of hooks that are running */
  int building;             /* build functions that are running */
  luc_module *live;         /* all modules */
  luc_module *dying;        /* waiting to be destroyed */
  bool destroying;
  bool skip_init;         /* default initializations do nothing: nn.utils.skip_init */
  bool skip_parameters;   /* those of parameters: the host will fill them */
  luc_hooks *hooks;       /* of every module, or NULL */
  uint32_t backward_kind; /* as in luc_module */
  uint32_t impure;        /* how many of `hooks` are the host's */
  bool state_hooks;       /* some module has had hooks around saving or loading */
  /* The last failed call: path below its root ("features.3"), class of the failing module. */
  bool failed;
  char failed_path[LUC_PATH_MAX];
  char failed_class[64];
} luc_nn;

/* The context's module state with the class table read. NULL after a failure. */
luc_nn *luc__nn(luc_context *ctx);
/* Frees what hosts left behind when the context closes. */
void luc__modules_close(luc_context *ctx);
static inline luc_nn *luc__nn_of(const luc_context *ctx) {
  return ctx->nn;
}

/* ---- module.c: objects and references ---- */

/* An empty module of a class, with one tree reference, not built. */
luc_status luc__module_create(luc_context *ctx, const luc_class *cls, luc_module **out);
/* Runs the constructor of a C class on m (of that class or a descendant). args are copied. What is
 * registered meanwhile waits for luc__registration_built, since a hook could free what build holds.
 */
luc_status luc__module_build(luc_context *ctx, luc_module *m, const luc_class *cls,
                             const luc_value *args, int nargs);
static inline luc_module *luc__module_ref(luc_module *m) {
  m->refs++;
  return m;
}
void luc__module_unref(luc_context *ctx, luc_module *m);
/* Changes constructor argument i; strings and lists are copied. */
luc_status luc__module_set_config(luc_context *ctx, luc_module *m, int i, const luc_value *value);

/* Makes m an instance of another class with the same C class. */
luc_status luc__module_set_class(luc_context *ctx, luc_module *m, const luc_class *cls);

/* Mode and constructor arguments of `from` for `to`, a new module of its class. */
luc_status luc__module_copy_config(luc_context *ctx, const luc_module *from, luc_module *to);

/* ---- lazy.c: modules that learn their shapes from their first input ---- */

/* Gives m another class with the same constructor arguments: from now on it is one of those. */
luc_status luc__module_become(luc_context *ctx, luc_module *m, const luc_class *cls);
/* Materializes a lazy layer for this input; it stays lazy. Its parameters keep their identity. */
luc_status luc__lazy_initialize(luc_context *ctx, luc_module *m, const luc_tensor *input);
/* The forward of every lazy row: initializes, becomes the real class and runs its forward. */
luc_status luc__lazy_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out);

/* ---- config.c: constructor arguments ---- */

/* Reads a list of k integers, or one standing for k. */
void luc__config_ints(const luc_module *m, int i, int k, int64_t *out);
/* The dtype the constructor asks for, or the default one. */
luc_dtype luc__config_dtype(const luc_context *ctx, const luc_module *m);
luc_status luc__config_copy(luc_context *ctx, const luc_value *args, int n, luc_value **out,
                            size_t *size);
/* m keeps a copy of n arguments in place of those it has. */
luc_status luc__config_set(luc_context *ctx, luc_module *m, const luc_value *args, int n);
/* To be called when arguments have changed: the host may have kept them. */
void luc__config_changed(luc_context *ctx, luc_module *m);
/* Puts such a block in the place of m's. */
void luc__config_take(luc_context *ctx, luc_module *m, luc_value *config, size_t size);
/* Does v have what its kind says, be it from a host in C? */
bool luc__value_whole(const luc_value *v);
/* Does a value fit a parameter of a schema? */
luc_status luc__config_check(luc_context *ctx, const char *who, const luc_param *param,
                             const luc_value *value);

/* ---- slots.c: parameters, buffers, children ---- */

luc_map_entry *luc__slot_find(const luc_module *m, const char *name, size_t length, luc_slot *slot);
/* Puts object (NULL: empties) under a name, removing that name from the other kinds. */
luc_status luc__slot_set(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                         size_t length, void *object);
bool luc__slot_delete(luc_context *ctx, luc_module *m, const char *name, size_t length);
/* From now on forward asks the host for the tensor of this name, unless it is a slot again. */
luc_status luc__slot_outside(luc_context *ctx, luc_module *m, const char *name, size_t length);
/* A parameter or buffer, or what the host has lent; borrowed. */
luc_tensor *luc__slot_tensor(const luc_module *m, const char *name, size_t length);
/* The same for a buffer, with its persistence. */
luc_status luc__slot_set_buffer(luc_context *ctx, luc_module *m, const char *name, size_t length,
                                luc_tensor *buffer, bool persistent);
/* Registration hooks, then the slot; the checks are done. persistent: of a buffer. */
luc_status luc__slot_take(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                          void *object, bool persistent);
/* PyTorch's checks of register_parameter, register_buffer, add_module. */
luc_status luc__slot_check_name(luc_context *ctx, const luc_module *m, luc_slot slot,
                                const char *name, size_t length);
luc_status luc__slot_check_parameter(luc_context *ctx, const char *name, const luc_tensor *param);
luc_status luc__slot_set_transient(luc_context *ctx, luc_module *m, const char *name,
                                   size_t length);
bool luc__slot_is_persistent(const luc_module *m, const char *name, size_t length);
/* To be called before C code changes a slot: the binding's table follows, or it refuses. */
luc_status luc__ask_host(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                         size_t length, void *object);
/* Fails if parent would be below itself with this child. */
luc_status luc__check_acyclic(luc_context *ctx, luc_module *parent, luc_module *child,
                              const char *name);
luc_status luc__add_edge(luc_context *ctx, luc_module *parent, luc_module *child);
void luc__drop_edge(luc_context *ctx, luc_module *parent, luc_module *child);
/* What a container's positions and keys name: children, or parameters (LUC_CF_ENTRIES). Empty slots
 * count; a host may keep other objects under their names. */
static inline luc_map *luc__entries(luc_module *m) {
  bool parameters = (m->cls->core->def->flags & LUC_CF_ENTRIES) != 0;
  return &m->slots[parameters ? LUC_SLOT_PARAMETER : LUC_SLOT_CHILD];
}
/* The name of child under parent, or NULL. */
const char *luc__child_name(const luc_module *parent, const luc_module *child);
/* For layers: the tensor of that name, or an error naming the module's class. */
luc_status luc__module_need(luc_context *ctx, const luc_module *m, const char *name,
                            luc_tensor **out);
/* For build functions: a new parameter (requires grad) or buffer, contents undefined. */
luc_status luc__new_parameter(luc_context *ctx, luc_module *m, const char *name, luc_dtype dtype,
                              int ndim, const int64_t *sizes, luc_tensor **borrowed);
luc_status luc__new_buffer(luc_context *ctx, luc_module *m, const char *name, luc_dtype dtype,
                           int ndim, const int64_t *sizes, luc_tensor **borrowed);

/* ---- registration.c ---- */

/* Lets the registration hooks see the object that m is about to take. One that they put in its
 * place comes back in *object, held by *owned. Call it when all checks are done. */
luc_status luc__registration_run(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                                 void **object, luc_registered *owned);
void luc__registered_drop(luc_context *ctx, luc_registered *owned);
/* Runs them for all that the constructor of m has registered in it and below. */
luc_status luc__registration_built(luc_context *ctx, luc_module *m);
void luc__registration_close(luc_context *ctx, luc_nn *nn);

/* ---- container.c ---- */

/* Replaces all children by these (NULL: an empty slot), named "0", "1", …, or as names says. */
luc_status luc__set_children(luc_context *ctx, luc_module *m, luc_module *const *children,
                             const char *const *names, int n);

/* ---- purity (slots.c) ---- */

static inline bool luc__is_pure(const luc_module *m) {
  return m->impure_self == 0 && m->impure_children == 0;
}
/* Counts one reason more (+1) or less (-1) why calling m needs the host. */
void luc__module_impure(luc_context *ctx, luc_module *m, int delta);

/* ---- call.c ---- */

/* luc_module_call without the path in the message: that stays in luc_nn's failed_*. */
luc_status luc__module_run(luc_context *ctx, luc_module *m, const luc_value *args, int nargs,
                           luc_outputs *out);
/* relu of m's result where m can end in it and nobody sees what lies between; else
 * *out is NULL, as after a failure. */
luc_status luc__module_relu(luc_context *ctx, luc_module *m, luc_tensor *input, luc_tensor **out);
/* Only the forward of the C class `cls`, without hooks; args must have room for the parameters of
 * its schema. */
luc_status luc__class_forward(luc_context *ctx, luc_module *m, const luc_class *cls,
                              luc_value *args, int nargs, luc_outputs *out);

/* ---- hooks.c ---- */

enum { LUC_HOOK_CALL_KINDS = (1 << LUC_HOOK_STATE) - 1 };
/* m NULL: the hook is of every module. */
luc_status luc__hook_add(luc_context *ctx, luc_module *m, const luc_module_hook *like,
                         uint64_t *id);
/* The one that has this id, or NULL. */
luc_module_hook *luc__hook_find(const luc_hooks *hooks, uint64_t id);
void luc__hook_release(luc_context *ctx, luc_module_hook *hook);
/* *n is what a hook of m says it left of at most LUC_MAX_OUTPUTS values; `before` after a failure.
 */
luc_status luc__hook_counted(luc_context *ctx, const luc_module *m, int *n, int before);
void luc__hooks_release(luc_context *ctx, luc_hooks *hooks);

/* The lists that a call of m goes through, global ones first; they keep their references. */
typedef struct luc_hook_lists {
  luc_hooks *list[2];
} luc_hook_lists;
/* Does a call of m have hooks? */
static inline bool luc__has_hooks(const luc_nn *nn, const luc_module *m) {
  return (nn->hooks != NULL && nn->hooks->kinds != 0) ||
         (m->hooks != NULL && m->hooks->kinds & LUC_HOOK_CALL_KINDS);
}
/* Are they one, which comes after forward and need not be called when forward fails? */
bool luc__has_one_forward_hook(const luc_nn *nn, const luc_module *m);
luc_hook_lists luc__hook_lists(luc_context *ctx, const luc_module *m);
void luc__hook_lists_release(luc_context *ctx, luc_hook_lists *lists);
/* Bit k: there is a hook of kind k. */
uint32_t luc__hook_kinds(const luc_hook_lists *lists);
/* A place in such lists; zeroed: the beginning. */
typedef struct luc_hook_at {
  int list;
  uint64_t number;
} luc_hook_at;
/* The next hook of a kind after *at, or NULL. */
luc_module_hook *luc__next_hook(const luc_hook_lists *lists, int kind, luc_hook_at *at);
/* The next of m's own hooks of all kinds after *at (begin at 0), or NULL. */
luc_module_hook *luc__own_hook(const luc_module *m, uint64_t *at);
/* The first hook of an event whose id is above `after` and not above `last`, or NULL. */
luc_module_hook *luc__state_hook_next(const luc_module *m, luc_state_event event, uint64_t after,
                                      uint64_t last);

/* ---- backward_hooks.c ---- */

enum {
  LUC_HOOK_FULL_KINDS = 1 << LUC_HOOK_FULL_BACKWARD | 1 << LUC_HOOK_FULL_BACKWARD_PRE,
  LUC_HOOK_BACKWARD_KINDS = LUC_HOOK_FULL_KINDS | 1 << LUC_HOOK_BACKWARD
};
/* One call of a module with backward hooks. */
typedef struct luc_hooked luc_hooked;
/* anchor (0: none) keeps the host's functions; it is dropped with the last reference. */
luc_status luc__hooked_new(luc_context *ctx, luc_module *m, const luc_hook_lists *lists,
                           uint64_t anchor, luc_hooked **out);
void luc__hooked_release(luc_context *ctx, luc_hooked *h);
/* Passes the arguments through an identity whose backward runs the hooks. Tensors in v are replaced
 * by new references where *replaced has a bit. */
luc_status luc__hooked_inputs(luc_context *ctx, luc_hooked *h, luc_value *v, int n,
                              uint32_t *replaced);
/* The same for results; also attaches hooks of the old kind. Bit i of `ours`: nobody else holds
 * v[i], so it can take the identity into its own history instead of being replaced. */
luc_status luc__hooked_outputs(luc_context *ctx, luc_hooked *h, luc_value *v, int n, uint32_t ours,
                               uint32_t *replaced);

/* ---- state_hooks.c ---- */

luc_status luc__state_hook_call(luc_context *ctx, luc_module *m, luc_module_hook *hook,
                                const luc_state_info *info);
/* Calls m's hooks of info->event that are not the host's. */
luc_status luc__state_hooks_run(luc_context *ctx, luc_module *m, const luc_state_info *info);
/* *found: has a module of the tree a hook of one of these events (bits), the host's or C's? */
luc_status luc__state_hooked(luc_context *ctx, luc_module *m, uint32_t events, bool host,
                             bool *found);

/* ---- state_dict.c, state_load.c ---- */

/* The tensor of an entry; NULL for another value, whose type is then *type. NULL without *type:
 * there is no such entry. */
luc_tensor *luc__state_find(const luc_state_dict *sd, const char *name, size_t length,
                            const char **type);
/* Walks the entries, from *at = 0. Their values are tensors; NULL: another value. */
luc_map_entry *luc__state_next(const luc_state_dict *sd, uint32_t *at);
luc_status luc__state_copy(luc_context *ctx, const luc_state_dict *sd, luc_state_dict **out);
/* As luc_module_state_dict, without asking the host. */
luc_status luc__state_dict(luc_context *ctx, luc_module *m, const char *prefix, bool keep_vars,
                           luc_state_dict *sd);
/* As luc_module_load_state_dict. `ready` (or NULL) is called when everything but the writing is
 * done, as the last thing that may fail. */
luc_status luc__load_state_dict(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                                int flags, luc_names *missing, luc_names *unexpected,
                                luc_status (*ready)(void *ud), void *ud);
/* Loads into m, and none of its children, what sd has under prefix. version: the saved one, or -1.
 * Errors are added to the lists. */
luc_status luc__load_own(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                         const char *prefix, int version, bool assign, luc_names *missing,
                         luc_names *unexpected, luc_names *errors);
/* Fails with one message about everything in the lists, if there is anything. */
luc_status luc__load_check(luc_context *ctx, const luc_module *m, bool strict,
                           const luc_names *missing, const luc_names *unexpected,
                           const luc_names *errors);
luc_status luc__names_add(luc_context *ctx, luc_names *names, const char *name, size_t length);
/* Adds lines that suggest which names may have been meant. */
void luc__load_hints(luc_text *text, const luc_names *missing, const luc_names *unexpected,
                     const luc_names *errors);

/* ---- snapshot.c ---- */

/* What loading could change in a tree: values and geometry of its tensors, which tensors and
 * children stand under which names, constructor arguments. */
typedef struct luc_snapshot luc_snapshot;
luc_status luc__snapshot_take(luc_context *ctx, luc_module *root, luc_snapshot **out);
/* Makes the tree what it was; cannot fail. The binding does so for its objects' tables itself. */
void luc__snapshot_restore(luc_context *ctx, luc_snapshot *s);
void luc__snapshot_free(luc_context *ctx, luc_snapshot *s);

/* ---- walk.c ---- */

/* Visits a tree in order without recursion. The tree must not change meanwhile. */
typedef struct luc_walk_frame {
  luc_module *m;
  uint32_t position;
  size_t path_length;
} luc_walk_frame;
typedef struct luc_walk {
  luc_context *ctx;
  int flags; /* LUC_MEMBERS_DUPLICATES, LUC_MEMBERS_UNNAMED, LUC_WALK_POST */
  luc_walk_frame *frames;
  uint32_t depth;
  size_t capacity;
  luc_text path; /* of the module last visited, without a last dot */
  luc_set seen;
  bool leaving; /* LUC_WALK_LEAVE: the module was last visited the second time */
  luc_module *root;
  uint32_t (*mask)(const luc_module *m); /* modules below the root with one of these bits … */
  uint32_t leaves;                       /* … are visited, but not what is below them */
  luc_status status;
} luc_walk;
enum {
  LUC_WALK_POST = 256,       /* children first */
  LUC_WALK_LEAVE = 1024,     /* twice: before and after what is below (`leaving`) */
  LUC_WALK_PER_PARENT = 512, /* once under each parent, as a recursion over children() goes */
  LUC_WALK_TABLES = 2048     /* of luc_module_members: only modules that have `tables` */
};
void luc__walk_begin(luc_walk *w, luc_context *ctx, luc_module *root, const char *prefix,
                     int flags);
/* The next module, or NULL at the end or after a failure (w->status). */
luc_module *luc__walk_next(luc_walk *w);
luc_status luc__walk_end(luc_walk *w);
/* The modules that a recursion over children() reaches from m, m included: parents first, or last
 * with LUC_WALK_POST; nothing below those that mask gives one of the bits in leaves (mask may be
 * NULL). The list holds references. */
luc_status luc__module_visit(luc_context *ctx, luc_module *m, int flags,
                             uint32_t (*mask)(const luc_module *), uint32_t leaves,
                             luc_members *out);

/* ---- repr.c ---- */

void luc__text_extra_repr(luc_text *text, const luc_module *m);

#endif
