/* Where files come from and go to, seen from Lua: a path or a string; a path or a function. */
#ifndef LUC_L_FILES_H
#define LUC_L_FILES_H

#include "io/file.h"
#include "l_tensor.h"

/* The input at two stack indexes: a path at `index`, or (nil there) the bytes at index + 1, which
 * must stay on the stack while it is in use. */
luc_status luc_l_open_input(lua_State *L, luc_context *ctx, const char *who, int index,
                            luc_input *out);
/* Names the path at `index`, if there is one, in a failure's message; returns status. */
luc_status luc_l_name_input(lua_State *L, luc_context *ctx, luc_status status, const char *who,
                            int index);

/* What a target's function needs; it must outlive the saving. */
typedef struct luc_l_sink {
  lua_State *L;
  luc_l_state *st;
  int function;
} luc_l_sink;

/* The target at a stack index: a path, or a function that is called with each piece. What it raises
 * is raised again by luc_l_raise. */
luc_target luc_l_target(lua_State *L, luc_l_state *st, int index, luc_l_sink *sink);

void luc_l_open_safetensors(lua_State *L);
void luc_l_open_numpy(lua_State *L);
void luc_l_open_csv(lua_State *L);

#endif
