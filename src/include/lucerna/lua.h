/* The Lua module, for hosts that link it statically: luaL_requiref(L, "lucerna.core",
 * luaopen_lucerna_core, 0), or luc_lua_open to choose the allocator, a memory limit or threads. */
#ifndef LUCERNA_LUA_H
#define LUCERNA_LUA_H

#include "lucerna/module.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

#if defined(__GNUC__)
#define LUC_LUA_API __attribute__((visibility("default")))
#else
#define LUC_LUA_API
#endif

LUC_LUA_API int luaopen_lucerna_core(struct lua_State *L);
/* Opens the module with a configuration (used the first time; cfg may be NULL), registers it as
 * loaded and leaves its table on the stack. Raises Lua errors. */
LUC_LUA_API int luc_lua_open(struct lua_State *L, const luc_config *cfg);
/* The context of this lua_State; NULL before the module was opened. lua_close ends it, with all
 * that a host still holds of it. */
LUC_LUA_API luc_context *luc_lua_context(struct lua_State *L);
/* Pushes a tensor of that context, or nil for NULL; Lua takes a reference of its own. Raises Lua
 * errors. */
LUC_LUA_API void luc_lua_push_tensor(struct lua_State *L, luc_tensor *t);
/* The tensor at a stack index, borrowed, or NULL. */
LUC_LUA_API luc_tensor *luc_lua_to_tensor(struct lua_State *L, int index);
/* Pushes a module made in C, or nil for NULL; Lua takes references of its own. Raises Lua
 * errors. */
LUC_LUA_API void luc_lua_push_module(struct lua_State *L, luc_module *m);
/* The module at a stack index, borrowed, or NULL. A host that keeps it retains it, which keeps its
 * Lua fields and class too. */
LUC_LUA_API luc_module *luc_lua_to_module(struct lua_State *L, int index);

#ifdef __cplusplus
}
#endif
#endif
