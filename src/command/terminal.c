/* Line editing by libedit where it was found and stdin is a terminal, plain lines elsewhere.
 * Ctrl-C while editing is a key like others (the terminal sends no signal then); while Lua runs it
 * is a signal, whose handler only sets a debug hook. */
#include "terminal.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LUCERNA_HAVE_EDITLINE
#include <histedit.h>
#else
typedef struct editline EditLine;
typedef struct history History;
#endif

enum { HISTORY_LINES = 2000 };

/* ---- calls that Ctrl-C interrupts ---- */

static lua_State *running; /* for the signal handler, which gets no argument */

static void stop_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted!");
}

static void on_interrupt(int signal_number) {
  (void)signal_number;
  lua_sethook(running, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

int luc_terminal_pcall(lua_State *L, int nargs, int nresults, int handler) {
  struct sigaction action = {.sa_handler = on_interrupt}, old;
  lua_State *outer = running;
  action.sa_flags = (int)SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  running = L;
  sigaction(SIGINT, &action, &old);
  int status = lua_pcall(L, nargs, nresults, handler);
  sigaction(SIGINT, &old, NULL);
  running = outer;
  return status;
}

/* call(handler, f, ...) -> ok, results or error: xpcall that Ctrl-C interrupts. */
static int terminal_call(lua_State *L) {
  int status = luc_terminal_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 1);
  return lua_gettop(L);
}

/* ---- the editor, a userdata that is the upvalue of every function ---- */

typedef struct editor {
  EditLine *edit; /* NULL: plain lines */
  History *history;
  lua_State *L; /* while a line is being read */
  bool interrupted;
  char *history_path;
  const char *prompt;
  char reply[1024]; /* what the completer wants inserted */
} editor;

static editor *get_editor(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

#ifdef LUCERNA_HAVE_EDITLINE

static char *give_prompt(EditLine *edit) {
  editor *e = NULL;
  el_get(edit, EL_CLIENTDATA, &e);
  return (char *)(uintptr_t)e->prompt;
}

/* Bound to Ctrl-C: gives the line up. */
static unsigned char give_up(EditLine *edit, int key) {
  editor *e = NULL;
  (void)key;
  el_get(edit, EL_CLIENTDATA, &e);
  e->interrupted = true;
  fputs("^C\n", stdout);
  fflush(stdout);
  return CC_EOF;
}

/* Calls the Lua completer with the text before the cursor; it returns what to insert and a listing
 * to show, either of which may be nil. Nothing it does can harm the editor. */
static int call_completer(lua_State *L) {
  editor *e = lua_touserdata(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 2);
  const char *insertion = lua_tostring(L, -2), *listing = lua_tostring(L, -1);
  snprintf(e->reply, sizeof e->reply, "%s", insertion ? insertion : "");
  if (listing) {
    fputc('\n', stdout);
    fputs(listing, stdout);
    fputc('\n', stdout);
    fflush(stdout);
  }
  lua_pushboolean(L, listing != NULL);
  return 1;
}

static unsigned char complete(EditLine *edit, int key) {
  editor *e = NULL;
  (void)key;
  el_get(edit, EL_CLIENTDATA, &e);
  const LineInfo *line = el_line(edit);
  lua_State *L = e->L;
  int top = lua_gettop(L);
  e->reply[0] = '\0';
  lua_pushcfunction(L, call_completer);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  bool good = lua_pcall(L, 2, 1, 0) == LUA_OK;
  bool listed = good && lua_toboolean(L, -1);
  lua_settop(L, top);
  if (e->reply[0] && el_insertstr(edit, e->reply) != 0) return CC_ERROR;
  if (listed) return CC_REDISPLAY;
  return e->reply[0] ? CC_REFRESH : CC_REFRESH_BEEP;
}

static void open_edit(editor *e) {
  HistEvent event;
  e->edit = el_init("lucerna", stdin, stdout, stderr);
  if (!e->edit) return;
  e->history = history_init();
  if (e->history) history(e->history, &event, H_SETSIZE, HISTORY_LINES);
  if (e->history) history(e->history, &event, H_SETUNIQUE, 1);
  el_set(e->edit, EL_CLIENTDATA, e);
  el_set(e->edit, EL_PROMPT, give_prompt);
  el_set(e->edit, EL_EDITOR, "emacs");
  if (e->history) el_set(e->edit, EL_HIST, history, e->history);
  el_set(e->edit, EL_ADDFN, "lucerna-complete", "Complete a name", complete);
  el_set(e->edit, EL_ADDFN, "lucerna-interrupt", "Give the line up", give_up);
  el_set(e->edit, EL_BIND, "^I", "lucerna-complete", NULL);
  el_set(e->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_source(e->edit, NULL);                       /* ~/.editrc */
  el_set(e->edit, EL_SETTY, "-d", "-isig", NULL); /* Ctrl-C is a key while editing */
  el_set(e->edit, EL_BIND, "^C", "lucerna-interrupt", NULL);
}

static void close_edit(editor *e) {
  if (e->edit) el_end(e->edit);
  if (e->history) history_end(e->history);
  e->edit = NULL;
  e->history = NULL;
}

static int edit_line(lua_State *L, editor *e) {
  int n = 0;
  e->L = L;
  e->interrupted = false;
  const char *line = el_gets(e->edit, &n);
  e->L = NULL;
  if (e->interrupted) {
    lua_pushboolean(L, 0);
  } else if (!line || n <= 0) {
    lua_pushnil(L);
  } else {
    if (line[n - 1] == '\n') n--;
    lua_pushlstring(L, line, (size_t)n);
  }
  return 1;
}

/* remember(text): adds an entry to the history and saves it, since os.exit closes nothing. */
static int terminal_remember(lua_State *L) {
  editor *e = get_editor(L);
  HistEvent event;
  const char *text = luaL_checkstring(L, 1);
  if (!e->history) return 0;
  history(e->history, &event, H_ENTER, text);
  if (e->history_path) history(e->history, &event, H_SAVE, e->history_path); /* it may fail */
  return 0;
}

/* open_history(path): loads it now; entries to come are saved there. */
static int terminal_open_history(lua_State *L) {
  editor *e = get_editor(L);
  HistEvent event;
  free(e->history_path);
  e->history_path = strdup(luaL_checkstring(L, 1));
  if (e->history && e->history_path) history(e->history, &event, H_LOAD, e->history_path);
  return 0;
}

#else

static void open_edit(editor *e) {
  e->edit = NULL;
}

static void close_edit(editor *e) {
  e->edit = NULL;
}

static int edit_line(lua_State *L, editor *e) {
  (void)e;
  lua_pushnil(L);
  return 1;
}

static int terminal_remember(lua_State *L) {
  (void)L;
  return 0;
}

static int terminal_open_history(lua_State *L) {
  (void)L;
  return 0;
}

#endif

/* ---- what Lua calls ---- */

static int plain_line(lua_State *L, const char *prompt) {
  luaL_Buffer buffer;
  int c;
  fputs(prompt, stdout);
  fflush(stdout);
  luaL_buffinit(L, &buffer);
  while ((c = getchar()) != EOF && c != '\n') luaL_addchar(&buffer, (char)c);
  luaL_pushresult(&buffer);
  if (c == EOF && lua_rawlen(L, -1) == 0) lua_pushnil(L);
  return 1;
}

/* readline(prompt) -> a line, nil at the end of input, false when Ctrl-C gave it up. */
static int terminal_readline(lua_State *L) {
  editor *e = get_editor(L);
  e->prompt = luaL_checkstring(L, 1);
  return e->edit ? edit_line(L, e) : plain_line(L, e->prompt);
}

/* set_completer(f): f(text before the cursor) -> what to insert, a listing to show. */
static int terminal_set_completer(lua_State *L) {
  lua_settop(L, 1);
  lua_setiuservalue(L, lua_upvalueindex(1), 1);
  return 0;
}

static int terminal_close(lua_State *L) {
  close_edit(get_editor(L));
  return 0;
}

static int editor_gc(lua_State *L) {
  editor *e = lua_touserdata(L, 1);
  close_edit(e);
  free(e->history_path);
  e->history_path = NULL;
  return 0;
}

static editor *new_editor(lua_State *L) {
  editor *e = lua_newuserdatauv(L, sizeof *e, 1);
  *e = (editor){.prompt = ""};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, editor_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return e;
}

void luc_terminal_push(lua_State *L) {
  static const luaL_Reg functions[] = {{"readline", terminal_readline},
                                       {"remember", terminal_remember},
                                       {"open_history", terminal_open_history},
                                       {"set_completer", terminal_set_completer},
                                       {"close", terminal_close},
                                       {"call", terminal_call},
                                       {NULL, NULL}};
  luaL_newlibtable(L, functions);
  editor *e = new_editor(L);
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) open_edit(e);
  luaL_setfuncs(L, functions, 1);
  lua_pushboolean(L, e->edit != NULL);
  lua_setfield(L, -2, "interactive");
}
