/* The lucerna command: `lucerna [options] [script [args]]`. Lucerna's C part is linked in and found
 * through package.preload; its Lua files are looked for beside the executable, so that no
 * environment variable is needed. Only this folder prints and ends the process. */
#include <lauxlib.h>
#include <limits.h>
#include <locale.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lucerna/lua.h"
#include "terminal.h"

#ifndef LUCERNA_LUADIR
#define LUCERNA_LUADIR "/usr/local/share/lua/5.4"
#endif

static const char usage[] =
    "usage: lucerna [options] [script [args]]\n"
    "  -e code   run code\n"
    "  -i        read commands after running script or code\n"
    "  -v        show the version\n"
    "  -h        show this text\n"
    "  -         run standard input\n"
    "  --        end of the options\n"
    "Without script and code: reads commands from the terminal, or runs standard input.\n";

typedef struct options {
  int argc;
  char **argv;
  int script; /* position in argv; argc: none */
  bool code, interactive, version, help;
  const char *wrong; /* an option that is none */
} options;

/* ---- where our Lua files are ---- */

static bool has_library(const char *folder) {
  char path[PATH_MAX];
  int n = snprintf(path, sizeof path, "%s/lucerna/init.lua", folder);
  return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
}

/* The folder of this executable, or "". */
static void executable_folder(char *to, size_t size) {
  ssize_t n = readlink("/proc/self/exe", to, size - 1);
  to[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(to, '/');
  if (slash) *slash = '\0';
}

/* build/bin, build/<kind>/bin, an installed prefix, where the build would install. */
static bool find_library(char *to, size_t size) {
  static const char *const beside[] = {"/../../lua", "/../../../lua", "/../share/lua/5.4"};
  char folder[PATH_MAX];
  executable_folder(folder, sizeof folder);
  for (size_t i = 0; folder[0] && i < sizeof beside / sizeof *beside; i++) {
    char path[PATH_MAX + 32], real[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, beside[i]);
    if (!realpath(path, real) || !has_library(real)) continue;
    snprintf(to, size, "%s", real);
    return true;
  }
  snprintf(to, size, "%s", LUCERNA_LUADIR);
  return has_library(to);
}

static void set_paths(lua_State *L) {
  char folder[PATH_MAX];
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_lucerna_core);
  lua_setfield(L, -2, "lucerna.core");
  lua_pop(L, 1);
  if (find_library(folder, sizeof folder)) {
    lua_getfield(L, -1, "path");
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", folder, folder, lua_tostring(L, -1));
    lua_setfield(L, -3, "path");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* ---- running ---- */

static void complain(const char *message) {
  fflush(stdout);
  fprintf(stderr, "lucerna: %s\n", message);
  fflush(stderr);
}

static int add_traceback(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (!message) {
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
    message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  }
  luaL_traceback(L, L, message, 1);
  return 1;
}

/* Calls the function below its arguments; says what went wrong. */
static bool call(lua_State *L, int nargs) {
  int base = lua_gettop(L) - nargs;
  lua_pushcfunction(L, add_traceback);
  lua_insert(L, base);
  int status = luc_terminal_pcall(L, nargs, 0, base);
  if (status != LUA_OK) complain(lua_tostring(L, -1));
  lua_settop(L, base - 1);
  return status == LUA_OK;
}

/* Calls what a luaL_load… left on the stack. */
static bool call_loaded(lua_State *L, int status, int nargs) {
  if (status == LUA_OK) {
    lua_insert(L, -nargs - 1);
    return call(L, nargs);
  }
  complain(lua_tostring(L, -1));
  lua_pop(L, nargs + 1);
  return false;
}

static void set_arg(lua_State *L, const options *o) {
  int zero = o->script < o->argc ? o->script : 0;
  lua_createtable(L, o->argc - zero, zero + 1);
  for (int i = 0; i < o->argc; i++) {
    lua_pushstring(L, o->argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

static bool run_script(lua_State *L, const options *o) {
  const char *name = strcmp(o->argv[o->script], "-") != 0 ? o->argv[o->script] : NULL;
  int n = o->argc - o->script - 1;
  luaL_checkstack(L, n + 8, "too many arguments");
  for (int i = 0; i < n; i++) lua_pushstring(L, o->argv[o->script + 1 + i]);
  return call_loaded(L, luaL_loadfile(L, name), n);
}

/* The chunk on top of the stack reads the prompt's names where no global has them. */
static bool give_names(lua_State *L) {
  static const char code[] = "return require('lucerna.repl').environment()";
  if (luaL_loadbuffer(L, code, sizeof code - 1, "=lucerna") != LUA_OK ||
      lua_pcall(L, 0, 1, 0) != LUA_OK)
    return false;
  lua_setupvalue(L, -2, 1);
  return true;
}

static bool run_code(lua_State *L, const options *o) {
  for (int i = 1; i < o->script; i++) {
    if (strncmp(o->argv[i], "-e", 2) != 0) continue;
    const char *code = o->argv[i][2] ? o->argv[i] + 2 : o->argv[++i];
    int status = luaL_loadbuffer(L, code, strlen(code), "=(command line)");
    if (status == LUA_OK && !give_names(L)) status = LUA_ERRRUN;
    if (!call_loaded(L, status, 0)) return false;
  }
  return true;
}

static bool run_repl(lua_State *L) {
  static const char start[] = "require('lucerna.repl').start(...)";
  if (luaL_loadbuffer(L, start, sizeof start - 1, "=lucerna") != LUA_OK) return false;
  luc_terminal_push(L);
  return call(L, 1);
}

static bool show_version(lua_State *L) {
  static const char code[] = "print(require('lucerna')._VERSION .. ' on ' .. _VERSION)";
  return call_loaded(L, luaL_loadbuffer(L, code, sizeof code - 1, "=lucerna"), 0);
}

static bool run(lua_State *L, const options *o) {
  bool script = o->script < o->argc;
  if (o->version && !show_version(L)) return false;
  if (!run_code(L, o)) return false;
  if (script && !run_script(L, o)) return false;
  if (o->interactive) return run_repl(L);
  if (script || o->code || o->version) return true;
  if (isatty(STDIN_FILENO)) return run_repl(L);
  return call_loaded(L, luaL_loadfile(L, NULL), 0);
}

/* ---- options ---- */

static bool read_option(options *o, int *i) {
  const char *text = o->argv[*i];
  if (!strcmp(text, "-i")) {
    o->interactive = true;
  } else if (!strcmp(text, "-v") || !strcmp(text, "--version")) {
    o->version = true;
  } else if (!strcmp(text, "-h") || !strcmp(text, "--help")) {
    o->help = true;
  } else if (!strncmp(text, "-e", 2) && (text[2] || *i + 1 < o->argc)) {
    o->code = true;
    *i += text[2] == '\0';
  } else {
    o->wrong = text;
  }
  return o->wrong == NULL;
}

static options read_options(int argc, char **argv) {
  options o = {.argc = argc, .argv = argv};
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
    if (!strcmp(argv[i], "--")) {
      i++;
      break;
    }
    if (!read_option(&o, &i)) break;
  }
  o.script = i;
  return o;
}

static int protected_main(lua_State *L) {
  const options *o = lua_touserdata(L, 1);
  luaL_openlibs(L);
  lua_gc(L, LUA_GCGEN, 0, 0); /* as the stock lua does */
  set_paths(L);
  set_arg(L, o);
  lua_pushboolean(L, run(L, o));
  return 1;
}

int main(int argc, char **argv) {
  options o = read_options(argc, argv);
  setlocale(LC_CTYPE, ""); /* the line editor counts in characters */
  if (o.wrong) {
    fprintf(stderr, "lucerna: unknown option, or one that lacks its value: %s\n%s", o.wrong, usage);
    return EXIT_FAILURE;
  }
  if (o.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  lua_State *L = luaL_newstate();
  if (!L) {
    complain("not enough memory");
    return EXIT_FAILURE;
  }
  lua_pushcfunction(L, protected_main);
  lua_pushlightuserdata(L, &o);
  int status = lua_pcall(L, 1, 1, 0);
  if (status != LUA_OK) complain(lua_tostring(L, -1));
  bool good = status == LUA_OK && lua_toboolean(L, -1);
  lua_close(L);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
