/* The terminal as the REPL's Lua side sees it: a table of functions that read lines, keep a
 * history, and call Lua so that Ctrl-C interrupts it. */
#ifndef LUC_TERMINAL_H
#define LUC_TERMINAL_H

#include <lua.h>

/* Pushes the table: readline, remember, open_history, close, set_completer, call, interactive. */
void luc_terminal_push(lua_State *L);
/* lua_pcall during which SIGINT raises "interrupted!" in the Lua code that runs; a second SIGINT
 * before that happened ends the process, as in stock Lua. */
int luc_terminal_pcall(lua_State *L, int nargs, int nresults, int handler);

#endif
