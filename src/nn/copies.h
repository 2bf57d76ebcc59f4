/* What a deep copy has copied so far: Python's memo. A binding keeps one while it copies what only
 * it can see. */
#ifndef LUC_COPIES_H
#define LUC_COPIES_H

#include "nn/module.h"

typedef struct luc_copies {
  luc_map tensors, modules; /* address of the old one -> the copy, owned */
  luc_map storages;         /* address of the old one -> a tensor of its bytes, owned */
  bool host;                /* the binding copies too: its hooks keep their places */
} luc_copies;

/* The copy of t, borrowed. */
luc_status luc__copies_tensor(luc_context *ctx, luc_copies *c, luc_tensor *t, luc_tensor **out);
/* The copy of m, or NULL. */
luc_module *luc__copies_module(const luc_copies *c, const luc_module *m);
/* Takes over a reference to copy. */
luc_status luc__copies_add_module(luc_context *ctx, luc_copies *c, const luc_module *m,
                                  luc_module *copy);
void luc__copies_free(luc_context *ctx, luc_copies *c);
/* A deep copy of the tree, with a tree reference; what c has already is not copied again. */
luc_status luc__module_clone(luc_context *ctx, luc_copies *c, luc_module *m, luc_module **out);

#endif
