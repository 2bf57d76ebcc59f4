/* Modules: torch.nn's trees of parameters, buffers and children, and the classes of layers.
 * Positions and dimensions count from 0 here. Names and rules are torch.nn.Module's. */
#ifndef LUCERNA_MODULE_H
#define LUCERNA_MODULE_H

#include "lucerna/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct luc_module luc_module;

/* ---- making, counting ---- */

/* A module of a class ("Linear", "Sequential"; "Module" is the empty one), constructed with
 * positional arguments as its schema lists them; what is left out gets its default. */
luc_status luc_module_new(luc_context *ctx, const char *class_name, const luc_value *args,
                          int nargs, luc_module **out);
luc_module *luc_module_retain(luc_context *ctx, luc_module *m); /* NULL is fine */
/* Drops a reference; NULL is fine. A tree of any depth is freed without recursion. */
void luc_module_release(luc_context *ctx, luc_module *m);
/* "Linear". */
const char *luc_module_class_name(const luc_module *m);
/* Is its class, or one of that class's ancestors, called so? */
bool luc_module_is(const luc_module *m, const char *class_name);
bool luc_module_is_training(const luc_module *m);
/* A constructor argument by name ("in_features"), or NULL. */
const luc_value *luc_module_config(const luc_module *m, const char *name);

/* ---- parameters, buffers, children ---- */

/* Adds or replaces under PyTorch's checks. NULL declares an empty slot. They take references of
 * their own. */
luc_status luc_module_register_parameter(luc_context *ctx, luc_module *m, const char *name,
                                         luc_tensor *param);
luc_status luc_module_register_buffer(luc_context *ctx, luc_module *m, const char *name,
                                      luc_tensor *buffer, bool persistent);
luc_status luc_module_add_module(luc_context *ctx, luc_module *m, const char *name,
                                 luc_module *child);
/* The same under the next free number, for containers: the child of position n. */
luc_status luc_module_append(luc_context *ctx, luc_module *m, luc_module *child);
/* Puts a child before the one at a position (their number: at the end). Names that are numbers
 * follow their places. */
luc_status luc_module_insert(luc_context *ctx, luc_module *m, int position, luc_module *child);
/* Removes the child at a position and numbers the others anew. *out (may be NULL) gets it, a new
 * reference, or NULL if its slot was empty. */
luc_status luc_module_pop(luc_context *ctx, luc_module *m, int position, luc_module **out);
/* A ParameterList's next entry; a tensor that is no parameter becomes one. */
luc_status luc_module_append_parameter(luc_context *ctx, luc_module *m, luc_tensor *t);
/* nn.Parameter: a parameter that shares t's memory. */
luc_status luc_parameter_new(luc_context *ctx, luc_tensor *t, bool requires_grad, luc_tensor **out);
/* A parameter or buffer of this module, a child; borrowed, NULL if absent or empty. */
luc_tensor *luc_module_tensor(const luc_module *m, const char *name);
luc_module *luc_module_child(const luc_module *m, const char *name);
int luc_module_num_children(const luc_module *m);
/* The child at a position counted from 0, or NULL. */
luc_module *luc_module_child_at(const luc_module *m, int position);
/* Removes the slot of that name; an unknown one is an error. */
luc_status luc_module_delete(luc_context *ctx, luc_module *m, const char *name);
/* Gives the parameters and buffers of a layer (not of those below it) the values that a new one
 * begins with. */
luc_status luc_module_reset_parameters(luc_context *ctx, luc_module *m);
/* Has m itself a parameter or buffer whose shape is not known yet? (A lazy layer has until its
 * first call.) */
bool luc_module_has_uninitialized(const luc_module *m);
/* By dotted path ("features.0"; "" is m), borrowed. A buffer may be empty: NULL. */
luc_status luc_module_get_submodule(luc_context *ctx, luc_module *m, const char *path,
                                    luc_module **out);
/* Puts child in the place of the module at a path, or adds it there (not if strict). */
luc_status luc_module_set_submodule(luc_context *ctx, luc_module *m, const char *path,
                                    luc_module *child, bool strict);
luc_status luc_module_get_parameter(luc_context *ctx, luc_module *m, const char *path,
                                    luc_tensor **out);
luc_status luc_module_get_buffer(luc_context *ctx, luc_module *m, const char *path,
                                 luc_tensor **out);

/* ---- walking the tree ---- */

typedef enum luc_member_kind {
  LUC_MEMBERS_PARAMETERS,
  LUC_MEMBERS_BUFFERS,
  LUC_MEMBERS_MODULES, /* m itself first */
  LUC_MEMBERS_CHILDREN /* direct ones */
} luc_member_kind;
enum {
  LUC_MEMBERS_OWN = 1,        /* recurse=False */
  LUC_MEMBERS_DUPLICATES = 2, /* remove_duplicate=False */
  LUC_MEMBERS_UNNAMED = 4     /* names are not needed */
};
typedef struct luc_member {
  char *name; /* NULL when unnamed */
  size_t length;
  luc_tensor *tensor; /* or NULL */
  luc_module *module; /* or NULL */
} luc_member;
typedef struct luc_members {
  luc_member *items;
  size_t n, capacity;
} luc_members;
/* named_parameters, named_buffers, named_modules, named_children as they are now, in PyTorch's
 * order. prefix may be NULL. The list holds references; drop it with luc_members_free. */
luc_status luc_module_members(luc_context *ctx, luc_module *m, luc_member_kind kind,
                              const char *prefix, int flags, luc_members *out);
void luc_members_free(luc_context *ctx, luc_members *list);

typedef luc_status (*luc_module_fn)(luc_context *ctx, void *ud, luc_module *m);
/* Calls fn on every module under each of its parents, children first; stops at a failure. */
luc_status luc_module_apply(luc_context *ctx, luc_module *m, luc_module_fn fn, void *ud);
luc_status luc_module_train(luc_context *ctx, luc_module *m, bool mode);
luc_status luc_module_requires_grad(luc_context *ctx, luc_module *m, bool on);
luc_status luc_module_zero_grad(luc_context *ctx, luc_module *m, bool set_to_none);
/* Converts floating point parameters, their gradients and buffers; all or nothing. Parameters keep
 * their identity, buffers are replaced. */
luc_status luc_module_to_dtype(luc_context *ctx, luc_module *m, luc_dtype dtype);
/* The same for every parameter and buffer, those of integers too. */
luc_status luc_module_type(luc_context *ctx, luc_module *m, luc_dtype dtype);
/* A deep copy by the rules of Python's deepcopy: parameters (without gradients), buffers, children,
 * hooks of C code. What is shared inside stays shared. Hooks keep their ud: the copy's are the same
 * functions, and free is called when the last of them is gone. Buffers must be leaves. What Lua has
 * of the tree (fields, hooks) is copied too. */
luc_status luc_module_clone(luc_context *ctx, luc_module *m, luc_module **out);

/* ---- calling ---- */

enum { LUC_MAX_OUTPUTS = 4 };
typedef struct luc_outputs {
  int n;
  luc_value v[LUC_MAX_OUTPUTS];
} luc_outputs;
/* Runs hooks and forward. Outputs are new references (luc_outputs_release). A failure's message
 * begins with the failing module's path: "in features.3 (Conv2d): ". */
luc_status luc_module_call(luc_context *ctx, luc_module *m, const luc_value *args, int nargs,
                           luc_outputs *out);
/* One tensor in, one tensor out. */
luc_status luc_module_call1(luc_context *ctx, luc_module *m, luc_tensor *x, luc_tensor **y);
void luc_outputs_release(luc_context *ctx, luc_outputs *out);

/* ---- hooks ---- */

/* Hooks see what Lua passes that no luc_value can hold (texts, tables) as LUC_NONE, of outputs the
 * first LUC_MAX_OUTPUTS; where they leave something as it was, so does Lua. One may remove itself:
 * its free is called when it has returned. */
/* Before forward. May put new arguments in *replacement (new references, n >= 0; n is -1 before).
 */
typedef luc_status (*luc_pre_hook_fn)(luc_context *ctx, void *ud, luc_module *m,
                                      const luc_value *args, int nargs, luc_outputs *replacement);
/* After forward, with the arguments it got. May replace the outputs in place. */
typedef luc_status (*luc_forward_hook_fn)(luc_context *ctx, void *ud, luc_module *m,
                                          const luc_value *args, int nargs, luc_outputs *outputs);
/* Gradients that backward hooks see, one per positional argument or result; NULL where there is
 * none. */
enum { LUC_HOOK_GRADS = 16 };
typedef struct luc_grads {
  int n;
  luc_tensor *v[LUC_HOOK_GRADS];
} luc_grads;
/* In a backward pass. grad_input is NULL for LUC_HOOK_FULL_BACKWARD_PRE. To replace grad_input (of
 * a pre-hook: grad_output) put as many new references into *replacement; its n is -1 before. */
typedef luc_status (*luc_backward_hook_fn)(luc_context *ctx, void *ud, luc_module *m,
                                           const luc_grads *grad_input,
                                           const luc_grads *grad_output, luc_grads *replacement);
typedef void (*luc_hook_free_fn)(luc_context *ctx, void *ud);
typedef enum luc_hook_kind {
  LUC_HOOK_PRE,
  LUC_HOOK_FORWARD,
  LUC_HOOK_FULL_BACKWARD_PRE,
  LUC_HOOK_FULL_BACKWARD,
  LUC_HOOK_BACKWARD, /* PyTorch's deprecated kind: of the node that made the first result */
  LUC_HOOK_KINDS
} luc_hook_kind;
enum { LUC_HOOK_PREPEND = 1, LUC_HOOK_ALWAYS_CALL = 2 };
/* For all of these m may be NULL: a hook of every module, which runs before a module's own. free
 * (may be NULL) is called when the hook is gone; not when registering fails. *id (may be NULL) is
 * what luc_module_remove_hook takes. */
luc_status luc_module_register_pre_hook(luc_context *ctx, luc_module *m, luc_pre_hook_fn fn,
                                        void *ud, luc_hook_free_fn free, int flags, uint64_t *id);
luc_status luc_module_register_forward_hook(luc_context *ctx, luc_module *m, luc_forward_hook_fn fn,
                                            void *ud, luc_hook_free_fn free, int flags,
                                            uint64_t *id);
/* kind: one of the three backward ones. LUC_HOOK_FULL_BACKWARD and LUC_HOOK_BACKWARD exclude each
 * other on one module, and among the hooks of every module. */
luc_status luc_module_register_backward_hook(luc_context *ctx, luc_module *m, luc_hook_kind kind,
                                             luc_backward_hook_fn fn, void *ud,
                                             luc_hook_free_fn free, int flags, uint64_t *id);
/* False if it is gone already. */
bool luc_module_remove_hook(luc_context *ctx, luc_module *m, uint64_t id);

/* What a module is about to take: a tensor or a module. */
typedef struct luc_registered {
  luc_tensor *tensor;
  luc_module *module;
} luc_registered;
/* May put another object, a new reference, into *replacement, which is empty before. A failure
 * keeps the module as it is. An empty buffer or child slot is given as nothing. */
typedef luc_status (*luc_registration_fn)(luc_context *ctx, void *ud, luc_module *m,
                                          const char *name, const luc_registered *given,
                                          luc_registered *replacement);
/* Calls fn before any module of the context takes a parameter, buffer or child (kind) by
 * registration or assignment. */
luc_status luc_register_registration_hook(luc_context *ctx, luc_member_kind kind,
                                          luc_registration_fn fn, void *ud, luc_hook_free_fn free,
                                          uint64_t *id);
/* False if it is gone already. */
bool luc_remove_registration_hook(luc_context *ctx, uint64_t id);

/* ---- state ---- */

/* An ordered list of named tensors and, per module prefix, its class's version. */
typedef struct luc_state_dict luc_state_dict;
/* m's parameters and persistent buffers. Tensors are detached views of the live ones unless
 * keep_vars. prefix ("net.") stands before every name; it may be NULL. */
luc_status luc_module_state_dict(luc_context *ctx, luc_module *m, const char *prefix,
                                 bool keep_vars, luc_state_dict **out);
luc_status luc_state_dict_new(luc_context *ctx, luc_state_dict **out);
void luc_state_dict_free(luc_context *ctx, luc_state_dict *sd);
size_t luc_state_dict_count(const luc_state_dict *sd);
/* Entry i, from 0: its name and its tensor (may be NULL: not wanted), borrowed. */
const char *luc_state_dict_entry(const luc_state_dict *sd, size_t i, luc_tensor **tensor);
luc_tensor *luc_state_dict_get(const luc_state_dict *sd, const char *name);
luc_status luc_state_dict_set(luc_context *ctx, luc_state_dict *sd, const char *name,
                              luc_tensor *tensor);
/* Records that name's value is no tensor but a `type` ("string"): loading then says so. */
luc_status luc_state_dict_set_other(luc_context *ctx, luc_state_dict *sd, const char *name,
                                    const char *type);
/* False if there is no such entry. */
bool luc_state_dict_remove(luc_context *ctx, luc_state_dict *sd, const char *name);
/* Version of the module at a prefix without its last dot, or -1 if there is none. */
int luc_state_dict_version(const luc_state_dict *sd, const char *prefix);
luc_status luc_state_dict_set_version(luc_context *ctx, luc_state_dict *sd, const char *prefix,
                                      int version);
size_t luc_state_dict_num_versions(const luc_state_dict *sd);
const char *luc_state_dict_version_at(const luc_state_dict *sd, size_t i, int *version);

/* Names found missing or unexpected; lines of an error. */
typedef struct luc_names {
  char **items;
  size_t n, capacity;
} luc_names;
void luc_names_free(luc_context *ctx, luc_names *names);
luc_status luc_names_add(luc_context *ctx, luc_names *names, const char *name);
void luc_names_remove(luc_context *ctx, luc_names *names, size_t i);
enum { LUC_LOAD_STRICT = 1, LUC_LOAD_ASSIGN = 2 };
/* Copies sd's values into m's tensors (with LUC_LOAD_ASSIGN: puts them in their place). All or
 * nothing, also when a hook fails; the error lists everything wrong in PyTorch's wording. missing
 * and unexpected may be NULL; they are filled whenever the names could be compared. */
luc_status luc_module_load_state_dict(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                                      int flags, luc_names *missing, luc_names *unexpected);

/* Hooks around saving and loading, per module of the tree. */
typedef enum luc_state_event {
  LUC_STATE_SAVE_BEFORE, /* before a module's own values are collected */
  LUC_STATE_SAVE_AFTER,  /* after those of all below it: may edit state */
  LUC_STATE_LOAD_BEFORE, /* before its own values are loaded: may edit state and the lists */
  LUC_STATE_LOAD_AFTER,  /* after those of all below it: may edit missing and unexpected */
  LUC_STATE_EVENTS
} luc_state_event;
typedef struct luc_state_info {
  luc_state_event event;
  const char *prefix;    /* of the module's names: "features."; "" for the one that was called */
  luc_state_dict *state; /* the whole one; loading: a copy. NULL for _SAVE_BEFORE and _LOAD_AFTER */
  bool keep_vars;
  int version; /* LUC_STATE_LOAD_BEFORE: the module's in state, or -1 */
  luc_names *missing, *unexpected, *errors; /* NULL when saving */
} luc_state_info;
/* Must not change what children the tree has. */
typedef luc_status (*luc_state_hook_fn)(luc_context *ctx, void *ud, luc_module *m,
                                        const luc_state_info *info);
/* Hooks run in their order of registration. luc_module_remove_hook removes them. */
luc_status luc_module_register_state_hook(luc_context *ctx, luc_module *m, luc_state_event event,
                                          luc_state_hook_fn fn, void *ud, luc_hook_free_fn free,
                                          uint64_t *id);

/* ---- text ---- */

/* What Python's repr prints for the same model, dimensions counted from 1. Free the block with
 * luc_text_free. */
luc_status luc_module_text(luc_context *ctx, luc_module *m, char **out, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
