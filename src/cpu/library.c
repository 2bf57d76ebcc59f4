/* Shared libraries loaded on first need: the one place that knows dlopen. Handles are never closed,
 * since pointers into them may be anywhere. */
#include "cpu/library.h"

#include <dlfcn.h>
#include <string.h>

luc_status luc__library_open(luc_context *ctx, const char *title, const char *file,
                             const char *package, void **library) {
  *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  LUC_CHECK(ctx, *library, LUC_ERR_SUPPORT, "%s (%s) is not installed; Debian's package is %s",
            title, file, package);
  return LUC_OK;
}

bool luc__library_held(const char *file) {
  void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

/* POSIX gives functions as void *, which C converts only through memory. */
bool luc__library_find(void *library, const char *name, void *to) {
  void *symbol = dlsym(library, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol != NULL;
}
