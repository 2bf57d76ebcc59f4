/* Out of memory, seen from Lua: a scenario (build, forward, backward, step, save) runs in a forked
 * process with its n-th allocation refused, the core's and Lua's own counted together, for growing
 * n. Each time it must end in an ordinary error or in success, work when run again in the same
 * state, and leave nothing behind when the state is closed, unless Lua itself could not call a
 * finalizer. In a test build the core keeps no cache over a host's allocator, so that each of its
 * allocations can be refused. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lucerna/lua.h"
#include "test.h"

static struct {
  long count;   /* allocations asked for since the scenario began */
  long fail_at; /* the one refused, with the two that follow: a retry must not hide it; 0: none */
  long blocks;  /* the core's blocks in use */
  bool lost;    /* Lua could not call a finalizer, for want of memory: what it held is lost */
} faults;

static bool refused(void) {
  faults.count++;
  return faults.fail_at != 0 && faults.count >= faults.fail_at && faults.count < faults.fail_at + 3;
}

/* Lua's allocator. Shrinking cannot fail, by its manual. */
static void *lua_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  (void)ud;
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  bool grows = ptr == NULL || new_size > old_size;
  if (grows && refused()) return NULL;
  return realloc(ptr, new_size);
}

/* The core's. */
static void *core_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  void *block = lua_alloc(ud, ptr, old_size, new_size);
  if (ptr == NULL && block != NULL) faults.blocks++;
  if (ptr != NULL && new_size == 0) faults.blocks--;
  return block;
}

/* Lua's warnings: there is none but of finalizers. */
static void on_warning(void *ud, const char *message, int more) {
  (void)ud, (void)message, (void)more;
  faults.lost = true;
}

/* Loads the library and the scenario of that name; nothing is refused meanwhile. */
static int prepare(lua_State *L) {
  luaL_openlibs(L);
  luc_lua_open(L, &(luc_config){.alloc = core_alloc, .num_threads = 1});
  lua_getglobal(L, "package");
  const char *root = getenv("LUCERNA_ROOT");
  root = root ? root : ".";
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua", root, root);
  lua_setfield(L, -2, "path");
  lua_pushfstring(L, "%s/tests/fault/%s.lua", root, lua_tostring(L, 1));
  if (luaL_loadfile(L, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1); /* the scenario, a function */
  return 1;
}

static bool memory_error(const char *message) {
  return message != NULL && strstr(message, "memory") != NULL;
}

/* The scenario with the n-th allocation refused, then again with none; closes the state. Returns
 * how often something was wrong. */
static int run_with_fault(lua_State *L, long n) {
  int bad = 0;
  faults.count = 0;
  faults.fail_at = n;
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 0, 0, 0);
  faults.fail_at = 0;
  if (status != LUA_OK && !memory_error(lua_tostring(L, -1))) {
    fprintf(stderr, "  allocation %ld: %s\n", n, lua_tostring(L, -1));
    bad++;
  }
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    fprintf(stderr, "  after allocation %ld was refused: %s\n", n, lua_tostring(L, -1));
    bad++;
  }
  lua_close(L);
  if (faults.blocks != 0 && !faults.lost) {
    fprintf(stderr, "  allocation %ld: %ld blocks left\n", n, faults.blocks);
    bad++;
  }
  return bad;
}

enum { SUCCEEDED = 0, WRONG = 1 };

/* The same in a process of its own, so that the library is loaded once for all n. */
static int fork_with_fault(lua_State *L, long n) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int bad = run_with_fault(L, n);
    fflush(NULL);
    _exit(bad != 0 ? WRONG : SUCCEEDED);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return WRONG;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fprintf(stderr, "  allocation %ld: killed by signal %d\n", n, WTERMSIG(status));
  return WRONG;
}

/* How many allocations the scenario makes, or -1: it fails without any being refused. */
static long count_allocations(lua_State *L) {
  fflush(NULL);
  int ends[2];
  long count = -1;
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    faults.count = 0;
    lua_pushvalue(L, 1);
    bool good = lua_pcall(L, 0, 0, 0) == LUA_OK;
    if (!good) fprintf(stderr, "  %s\n", lua_tostring(L, -1));
    fflush(NULL);
    if (good && write(ends[1], &faults.count, sizeof faults.count) < 0) _exit(WRONG);
    _exit(SUCCEEDED);
  }
  close(ends[1]);
  if (read(ends[0], &count, sizeof count) != (ssize_t)sizeof count) count = -1;
  close(ends[0]);
  waitpid(child, NULL, 0);
  return count;
}

static void sweep(const char *scenario) {
  lua_State *L = lua_newstate(lua_alloc, NULL);
  lua_setwarnf(L, on_warning, NULL);
  lua_pushcfunction(L, prepare);
  lua_pushstring(L, scenario);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
    test_fail(__FILE__, __LINE__, lua_tostring(L, -1));
    lua_close(L);
    return;
  }
  long total = count_allocations(L);
  long step = test_is_short() ? total / 100 + 1 : total / 4000 + 1;
  int bad = 0;
  CHECK(total > 100);
  for (long n = 1; n <= total && bad < 20; n += step) bad += fork_with_fault(L, n) == WRONG;
  lua_close(L);
  CHECK_EQ(bad, 0);
  CHECK_EQ(faults.blocks, 0);
}

TEST("tensors, gradients and files survive every refused allocation, and can be used again") {
  sweep("tensors");
}

TEST("so do views changed in place, scattering and elements through functions") {
  sweep("views");
}

TEST("so do modules and their training") {
  sweep("nets");
}

TEST("so do losses, pooling and resampling, with their tables and scratch memory") {
  sweep("functional");
}

TEST("containers change whole or not at all") {
  sweep("containers");
}

TEST("optimizers, schedulers and averages step and load whole or not at all") {
  sweep("optimizers");
}

TEST("so do registering, its hooks and conversions, and no module is left half-changed") {
  sweep("registering");
}

TEST("so do copies, computed tensors and calls with other tensors") {
  sweep("utils");
}

TEST("so does loading a state, whatever classes and hooks do meanwhile") {
  sweep("state");
}

TEST("so do maps over samples, and gradients of and inside them") {
  sweep("func");
}

TEST("so do convolutions, whichever way their sizes choose") {
  sweep("convolutions");
}

TEST("so does attention") {
  sweep("attention");
}

TEST("so do recurrent layers, by the kernel and in operators") {
  sweep("recurrent");
}

TEST("so do factorizations of matrices and their gradients") {
  sweep("linalg");
}

TEST("so do statistics, special functions and out=, which is not half written") {
  sweep("statistics");
}

TEST("so do Fourier transforms, frames of signals and eigenvalues") {
  sweep("fft");
}

TEST("so do complex tensors, their parts, functions, products and files") {
  sweep("complex");
}

TEST("so do distributions, their samples and gradients") {
  sweep("distributions");
}

TEST("so do checkpoints, and a save that fails leaves the old file") {
  sweep("checkpoints");
}

TEST("so do the other formats of files, their readers, writers and parts") {
  sweep("files");
}
