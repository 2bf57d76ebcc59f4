/* Inside the pickle reader: its state, which pickle.c's opcodes work on, and the constructors of
 * pickle_globals.c, the only things a pickle can name. */
#ifndef LUC_PICKLE_H
#define LUC_PICKLE_H

#include "io/document.h"

typedef struct luc_pickle {
  luc_document *doc;
  const luc_input *source;
  bool legacy;
  uint64_t offset; /* of `end` in the source */
  uint64_t begin;  /* where the pickle begins */
  unsigned char *window;
  size_t window_size;
  const unsigned char *at, *end; /* bytes at hand */
  luc_item *stack, *memo;
  size_t depth, stack_size, memo_used, memo_size;
  bool stopped;
} luc_pickle;

/* "load: the pickle is damaged at byte n: …" */
luc_status luc__pickle_damaged(luc_pickle *p, const char *what);
/* The constructor of that name, or an error that names it. */
luc_status luc__pickle_global(luc_pickle *p, const char *module, const char *name, luc_item *out);
/* What calling a global with arguments makes. */
luc_status luc__pickle_reduce(luc_pickle *p, const luc_item *callable, const luc_item *args,
                              luc_item *out);
/* A dictionary's attributes, as pickles set them after its items. */
luc_status luc__pickle_build(luc_pickle *p, const luc_item *object, const luc_item *state);
/* The storage that a persistent id names. */
luc_status luc__pickle_persistent(luc_pickle *p, const luc_item *id, luc_item *out);

#endif
