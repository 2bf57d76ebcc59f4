/* Shared libraries that are loaded when first needed, so that starting costs nothing and a machine
 * can do without them. They stay loaded; opening one again is a lookup. */
#ifndef LUC_LIBRARY_H
#define LUC_LIBRARY_H

#include "base/context.h"

/* Opens `file`. Where there is none, the failure names `title` and Debian's package of it. */
luc_status luc__library_open(luc_context *ctx, const char *title, const char *file,
                             const char *package, void **library);
/* Has anybody in this process loaded it? */
bool luc__library_held(const char *file);
/* Looks a function up, also in the libraries that this one needs: *to is a pointer to it. */
bool luc__library_find(void *library, const char *name, void *to);

#endif
