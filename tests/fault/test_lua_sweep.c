/* Out of memory, seen from Lua: a scenario (build, forward, backward, step, save) runs in a forked
 * process with its n-th allocation refused, the core's and Lua's own counted together, for every n
 * that is worth it. Each time it must end in an ordinary error or in success, work when run again
 * in the same state, and leave nothing behind when the state is closed, unless Lua itself could not
 * call a finalizer. In a test build the core keeps no cache over a host's allocator, so that each
 * of its allocations can be refused. */
#include <execinfo.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lucerna/lua.h"
#include "test.h"

enum { CHOOSE = 0, NONE = -1 };

static struct {
  long count;   /* allocations asked for since the scenario began */
  long fail_at; /* the one refused, with the two that follow: a retry must not hide it; or these */
  long blocks;  /* the core's blocks in use */
  bool lost;    /* Lua could not call a finalizer, for want of memory: what it held is lost */
} faults = {.fail_at = NONE};

/* The allocations to be refused, shared with the process that chooses them. */
typedef struct choice {
  long n, at[1 << 14];
} choice;

static choice *chosen;

/* Is this allocation the first, second, fourth, eighth … of those that come from the same calls in
 * C? What follows its refusal is nearly always what followed theirs. In short tests: the first, at
 * every sixteenth place, which a test build begins with the eighth of. */
static bool is_worth_refusing(void) {
#ifdef LUCERNA_TEST_BUILD
  enum { FIRST = 8 };
#else
  enum { FIRST = 0 };
#endif
  enum { PLACES = 1 << 16, DEPTH = 12 };
  static struct {
    uint64_t calls;
    long seen;
  } places[PLACES];
  static long nplaces;
  void *frames[DEPTH];
  uint64_t calls = 0;
  for (int i = backtrace(frames, DEPTH); i > 0; i--)
    calls = (calls ^ (uintptr_t)frames[i - 1]) * 0x9E3779B97F4A7C15u;
  size_t at = calls >> 48;
  while (places[at].seen != 0 && places[at].calls != calls) at = (at + 1) % PLACES;
  places[at].calls = calls;
  long seen = ++places[at].seen;
  if (test_is_short()) return seen == 1 && nplaces++ % 16 == FIRST;
  return (seen & (seen - 1)) == 0;
}

static bool refused(void) {
  const long most = sizeof chosen->at / sizeof *chosen->at;
  faults.count++;
  if (faults.fail_at == CHOOSE && chosen->n < most && is_worth_refusing())
    chosen->at[chosen->n++] = faults.count;
  return faults.fail_at > 0 && faults.count >= faults.fail_at && faults.count < faults.fail_at + 3;
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

/* Loads the library and the scenario of that name; nothing is refused meanwhile. A first large
 * buffer is made too: refused midway, Lua's own metatable of them stays without __close. */
static int prepare(lua_State *L) {
  luaL_openlibs(L);
  luaL_Buffer large;
  luaL_buffinitsize(L, &large, 2 * LUAL_BUFFERSIZE);
  luaL_pushresultsize(&large, 0);
  luc_lua_open(L, &(luc_config){.alloc = core_alloc, .num_threads = 1});
  lua_getglobal(L, "package");
  const char *root = getenv("LUCERNA_ROOT");
  root = root ? root : ".";
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua;%s/tests/lua/?.lua", root, root, root);
  lua_setfield(L, -2, "path");
  lua_pushfstring(L, "%s/tests/fault/%s.lua", root, lua_tostring(L, 1));
  if (luaL_loadfile(L, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1); /* the scenario, a function */
  return 1;
}

static bool memory_error(const char *message) {
  return message != NULL && strstr(message, "memory") != NULL;
}

/* The scenario with the n-th allocation refused (CHOOSE: with none, to choose them), then again
 * with none; closes the state. Returns how often something was wrong. */
static int run_with_fault(lua_State *L, long n) {
  int bad = 0;
  faults.count = 0;
  faults.fail_at = n;
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 0, 0, 0);
  faults.fail_at = NONE;
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
  if (!chosen)
    chosen = mmap(NULL, sizeof *chosen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
  chosen->n = 0;
  int bad = fork_with_fault(L, CHOOSE);
  CHECK(chosen->n >= 5);
  for (long i = 0; i < chosen->n && bad < 20; i++)
    bad += fork_with_fault(L, chosen->at[i]) == WRONG;
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
