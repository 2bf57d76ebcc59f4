/* Out of memory, seen from Lua: scenario.lua (build, forward, backward, step, save) runs in a
 * forked process with its n-th allocation refused, the core's and Lua's own counted together, for
 * growing n. Each time it must end in an ordinary error or in success, work when run again in the
 * same state, and leave nothing behind when the state is closed. The core's allocations come
 * through aligned_alloc and free, which the linker redirects here (--wrap). */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

int luaopen_lucerna_core(lua_State *L);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *ptr);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *ptr);

static struct {
  long count;   /* allocations asked for since the scenario began */
  long fail_at; /* the one refused, with the two that follow: a retry must not hide it; 0: none */
  long blocks;  /* the core's blocks in use */
} faults;

static bool refused(void) {
  faults.count++;
  return faults.fail_at != 0 && faults.count >= faults.fail_at && faults.count < faults.fail_at + 3;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  if (refused()) return NULL;
  void *ptr = __real_aligned_alloc(alignment, size);
  if (ptr != NULL) faults.blocks++;
  return ptr;
}

void __wrap_free(void *ptr) {
  if (ptr != NULL) faults.blocks--;
  __real_free(ptr);
}

/* Lua's allocator. Shrinking cannot fail, by its manual. */
static void *lua_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  (void)ud;
  if (new_size == 0) {
    __real_free(ptr);
    return NULL;
  }
  bool grows = ptr == NULL || new_size > old_size;
  if (grows && refused()) return NULL;
  return realloc(ptr, new_size);
}

/* Loads the library and compiles the scenario; nothing is refused meanwhile. */
static int prepare(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "lucerna.core", luaopen_lucerna_core, 0);
  lua_getglobal(L, "package");
  const char *root = getenv("LUCERNA_ROOT");
  root = root ? root : ".";
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua", root, root);
  lua_setfield(L, -2, "path");
  lua_pushfstring(L, "%s/tests/fault/scenario.lua", root);
  if (luaL_loadfile(L, lua_tostring(L, -1)) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1); /* the scenario, a function */
  return 1;
}

static bool memory_error(const char *message) {
  return message != NULL && strstr(message, "memory") != NULL;
}

/* The scenario with the n-th allocation refused, then again with none; closes the state. Returns
 * how often something was wrong. */
static int run_with_fault(lua_State *L, long n, bool *reached) {
  int bad = 0;
  faults.count = 0;
  faults.fail_at = n;
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 0, 0, 0);
  *reached = faults.count >= n;
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
  if (faults.blocks != 0) {
    fprintf(stderr, "  allocation %ld: %ld blocks left\n", n, faults.blocks);
    bad++;
  }
  return bad;
}

enum { SUCCEEDED = 0, WRONG = 1, NOT_REACHED = 2 };

/* The same in a process of its own, so that the library is loaded once for all n. */
static int fork_with_fault(lua_State *L, long n) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool reached = false;
    int bad = run_with_fault(L, n, &reached);
    fflush(NULL);
    _exit(bad != 0 ? WRONG : reached ? SUCCEEDED : NOT_REACHED);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return WRONG;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fprintf(stderr, "  allocation %ld: killed by signal %d\n", n, WTERMSIG(status));
  return WRONG;
}

TEST("a scenario survives every refused allocation and can be run again") {
  setenv("LUCERNA_NUM_THREADS", "1", 1); /* the pool's threads do not survive a fork */
  lua_State *L = lua_newstate(lua_alloc, NULL);
  lua_pushcfunction(L, prepare);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    test_fail(__FILE__, __LINE__, lua_tostring(L, -1));
    lua_close(L);
    return;
  }
  long step = test_is_short() ? 17 : 1;
  long n = 1;
  int bad = 0;
  for (int result = SUCCEEDED; result != NOT_REACHED && bad < 20; n += step) {
    result = fork_with_fault(L, n);
    if (result == WRONG) bad++;
  }
  lua_close(L);
  CHECK_EQ(bad, 0);
  CHECK(n > 100);
  CHECK_EQ(faults.blocks, 0);
}
