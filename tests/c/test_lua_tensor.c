/* Tensors between a C host and Lua: memory of either side used by the other, and who keeps what
 * alive how long. */
#include <pthread.h>

#include "lua_test.h"
#include "lucerna/autograd.h"
#include "lucerna/dlpack.h"

/* A global userdata of `size` bytes. */
static void *new_buffer(lua_State *L, const char *name, size_t size) {
  void *data = lua_newuserdatauv(L, size, 0);
  memset(data, 0, size);
  lua_setglobal(L, name);
  return data;
}

/* Is the userdata whose weak reference is the global `weak[1]` alive? */
static bool is_alive(lua_State *L) {
  collect(L);
  run(L, "return weak[1] ~= nil");
  bool alive = lua_toboolean(L, -1);
  lua_settop(L, 0);
  return alive;
}

TEST("a userdata's memory is used in place and kept while a tensor sees it") {
  lua_State *L = open();
  float *data = new_buffer(L, "buffer", 4 * sizeof(float));
  data[3] = 7;
  run(L, "x = lucerna.frombuffer(buffer, {dtype = 'float32'})"
         "assert(#x == 4 and x[4]:item() == 7)"
         "x[1] = 5; view = x:view(2, 2)[2]; weak = setmetatable({buffer}, {__mode = 'v'})"
         "buffer, x = nil, nil");
  CHECK_EQ(data[0], 5);
  CHECK(is_alive(L));
  data[2] = 9;
  run(L, "assert(view[1]:item() == 9); view = nil");
  CHECK(!is_alive(L));
  close_state(L);
}

TEST("count, offset and alignment are checked for userdata") {
  lua_State *L = open();
  new_buffer(L, "buffer", 10);
  run(L, "local function refused(pattern, options)"
         "  options.dtype = 'float32'"
         "  local ok, err = pcall(lucerna.frombuffer, buffer, options)"
         "  assert(not ok and err:find(pattern), err)"
         "end "
         "refused('must be a multiple of element size %(4%)', {})"
         "refused('must not be greater than actual buffer length %(10 bytes%)', {count = 3})"
         "refused('needs an address that is a multiple of 4 %(offset 2%)', {offset = 2})"
         "refused('only a light userdata takes a length', {length = 4})"
         "assert(#lucerna.frombuffer(buffer, {dtype = 'float32', count = 2}) == 2)"
         "assert(#lucerna.frombuffer(buffer, {dtype = 'uint8', offset = 3}) == 7)");
  close_state(L);
}

TEST("a light userdata comes with a count or a length") {
  lua_State *L = open();
  int16_t data[] = {1, 2, 3, 4};
  lua_pushlightuserdata(L, data);
  lua_setglobal(L, "p");
  lua_pushlightuserdata(L, NULL);
  lua_setglobal(L, "null");
  run(L,
      "local f, i2 = lucerna.frombuffer, 'int16'"
      "local x = f(p, {dtype = i2, count = 3, offset = 2})"
      "assert(x[3]:item() == 4); x[1] = -1 "
      "assert(#f(p, {dtype = i2, length = 8}) == 4)"
      "assert(f(p, {dtype = i2, length = 8, offset = 6}):item() == 4)"
      "local function refused(pattern, ...)"
      "  local ok, err = pcall(f, ...) assert(not ok and err:find(pattern), err)"
      "end "
      "refused('a light userdata needs a length or a count', p, {dtype = i2})"
      "refused('buffer length %(7 bytes%)', p, {dtype = i2, length = 7})"
      "refused('requested buffer length', p, {dtype = i2, length = 8, count = 5})"
      "refused('must not be 0', p, {dtype = i2, length = -8})"
      "refused('must not be 0', p, {dtype = i2, count = 0})"
      "refused('must be non%-negative', p, {dtype = i2, count = 1, offset = -2})"
      "refused('larger than any memory', p, {dtype = i2, count = math.maxinteger})"
      "refused('larger than any memory', p, {dtype = 'uint8', count = math.maxinteger, offset = 1})"
      "refused('null pointer', null, {dtype = i2, count = 1})");
  CHECK_EQ(data[1], -1);
  close_state(L);
}

static int gc_count;
static int count_gc(lua_State *L) {
  (void)L;
  gc_count++;
  return 0;
}

TEST("a userdata with a finalizer is an object, no memory") {
  lua_State *L = open();
  gc_count = 0;
  lua_newuserdatauv(L, 64, 0);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, count_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_setglobal(L, "object");
  run(L, "local ok, err = pcall(lucerna.frombuffer, object, {dtype = 'uint8'})"
         "assert(not ok and err:find('plain memory'), err)");
  close_state(L);
  CHECK_EQ(gc_count, 1);
}

static int released;
static void count_release(void *ud, void *data) {
  released += data == ud;
}

static float host[4] = {1, 2, 3, 4};

static luc_tensor *wrapped(lua_State *L) {
  luc_tensor *t = NULL;
  released = 0;
  CHECK_OK(luc_tensor_wrap(luc_lua_context(L), LUC_FLOAT32, 1, (int64_t[]){4}, NULL, host,
                           count_release, host, &t));
  return t;
}

TEST("a host's memory given to Lua is released once: collected, or with the state") {
  for (int closing = 0; closing <= 1; closing++) {
    lua_State *L = open();
    luc_tensor *t = wrapped(L);
    luc_lua_push_tensor(L, t);
    CHECK(luc_lua_to_tensor(L, -1) == t);
    lua_setglobal(L, "x");
    luc_tensor_release(luc_lua_context(L), t);
    run(L, "x[2] = 20; view = x:view(2, 2); x = nil");
    CHECK_EQ(host[1], 20);
    collect(L);
    CHECK_EQ(released, 0);
    if (!closing) {
      run(L, "view = nil");
      collect(L);
      CHECK_EQ(released, 1);
    }
    close_state(L);
    CHECK_EQ(released, 1);
  }
}

TEST("so it is where it keeps itself alive, with functions of Lua's, when the state closes") {
  for (int lua = 0; lua <= 1; lua++) {
    lua_State *L = open();
    luc_tensor *t = wrapped(L);
    luc_lua_push_tensor(L, t);
    lua_setglobal(L, "w");
    luc_tensor_release(luc_lua_context(L), t);
    run(L, "w:requires_grad_()");
    if (lua) run(L, "local w = w; w:register_hook(function() return nil, w end)");
    run(L, "w:square():sum():backward {create_graph = true}; w = nil");
    CHECK_EQ(released, 0);
    close_state(L);
    CHECK_EQ(released, 1);
  }
}

TEST("pushing and reading what is no tensor") {
  lua_State *L = open();
  luc_lua_push_tensor(L, NULL);
  CHECK(lua_isnil(L, -1));
  CHECK(luc_lua_to_tensor(L, -1) == NULL);
  lua_pushinteger(L, 3);
  CHECK(luc_lua_to_tensor(L, -1) == NULL);
  lua_settop(L, 0);
  close_state(L);
}

static int deleted;
static void count_delete(DLManagedTensor *self) {
  deleted += self->manager_ctx == host;
}

TEST("a host hands DLPack tensors over as light userdata") {
  lua_State *L = open();
  int64_t two_two[] = {2, 2};
  DLManagedTensor dl = {
      {host, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, two_two, NULL, 0}, host, count_delete};
  deleted = 0;
  lua_pushlightuserdata(L, &dl);
  lua_setglobal(L, "p");
  run(L, "x = lucerna.from_dlpack(p); assert(#x == 2 and x[{2, 2}]:item() == 4)");
  CHECK_EQ(deleted, 0);
  run(L, "x = nil");
  collect(L);
  CHECK_EQ(deleted, 1);
  dl.dl_tensor.device.device_type = kDLCUDA;
  run(L, "local ok, err = pcall(lucerna.from_dlpack, p)"
         "assert(not ok and err:find('only tensors of the CPU'), err)");
  CHECK_EQ(deleted, 1);
  close_state(L);
}

TEST("a host takes a capsule's tensor, which may outlive the state") {
  lua_State *L = open();
  run(L, "return lucerna.to_dlpack(lucerna.tensor{5.0, 6.0})");
  DLManagedTensor **capsule = luaL_testudata(L, -1, "dltensor") ? NULL : lua_touserdata(L, -1);
  DLManagedTensor *dl = *capsule;
  *capsule = NULL;
  lua_close(L);
  CHECK_EQ(((float *)dl->dl_tensor.data)[1], 6);
  dl->deleter(dl);
  CHECK_EQ(heap.blocks, 0);
}

TEST("a userdata's memory is exported as a copy") {
  lua_State *L = open();
  new_buffer(L, "buffer", 8);
  run(L, "local x = lucerna.frombuffer(buffer, {dtype = 'float32'})"
         "local y = lucerna.from_dlpack(lucerna.to_dlpack(x)); y[1] = 3 "
         "assert(x[1]:item() == 0)"
         "local ok, err = pcall(x.__dlpack__, x, {copy = false})"
         "assert(not ok and err:find('cannot be exported without a copy'), err)");
  close_state(L);
}

TEST("any byte but 0 is true in a host's booleans, which are copied") {
  lua_State *L = open();
  unsigned char bytes[] = {7, 0, 2, 1, 255, 0};
  lua_pushlightuserdata(L, bytes);
  lua_setglobal(L, "p");
  run(L, "local b = lucerna.frombuffer(p, {dtype = 'bool', count = 6})"
         "assert(b:tostring('raw') == '\\1\\0\\1\\1\\1\\0')"
         "assert(#b:nonzero() == 4 and #lucerna.arange(6)[b] == 4)"
         "b:fill_(false)");
  CHECK_EQ(bytes[0], 7);
  close_state(L);
}

TEST("hooks and functions of Lua's run when a host goes backward") {
  lua_State *L = open();
  run(L, "x = lucerna.ones(2, {requires_grad = true}); seen = 0 "
         "y = (x * 3):sum() "
         "x:register_hook(function(g) seen = seen + 1; return g * 2 end)");
  lua_getglobal(L, "y");
  luc_tensor *y = luc_lua_to_tensor(L, -1);
  CHECK_OK(luc_tensor_backward(luc_lua_context(L), &y, 1, NULL, 0));
  run(L, "assert(seen == 1 and x.grad:equal(lucerna.tensor {6.0, 6}))"
         "x:register_hook(function() error('not today') end); y = (x * 3):sum()");
  lua_getglobal(L, "y");
  y = luc_lua_to_tensor(L, -1);
  CHECK_EQ(luc_tensor_backward(luc_lua_context(L), &y, 1, NULL, 0), LUC_ERR_CALLBACK);
  CHECK(strstr(luc_message(luc_lua_context(L)), "not today") != NULL);
  lua_settop(L, 0);
  close_state(L);
}

/* Trains in a state of its own, with hooks, errors, draws and a mode on the way; *loss is the last.
 */
static void *train_alone(void *loss) {
  lua_State *L = open();
  run(L, "lucerna.manual_seed(7) lucerna.set_num_threads(2) "
         "local net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),"
         "  nn.Linear(2704, 5)) "
         "net[1]:register_forward_hook(function(_, _, y) return y * 2 end) "
         "local trainer = lucerna.optim.Adam(net:parameters()) "
         "local x = lucerna.randn(4, 1, 28, 28) "
         "for _ = 1, 5 do "
         "  trainer:zero_grad() "
         "  local l = lucerna.scope(function() return net(x):pow(2):sum() end) "
         "  l:backward() trainer:step() "
         "  assert(not pcall(lucerna.no_grad, net, x:flatten())) "
         "  loss = l:item() "
         "end");
  lua_getglobal(L, "loss");
  *(double *)loss = lua_tonumber(L, -1);
  lua_settop(L, 0);
  close_state(L);
  return NULL;
}

TEST("memory that finalizers take away is not read") {
  lua_State *L = open();
  run_under_finalizers(L, "if x then x:set_() end",
                       "x = lucerna.full({50, 2}, i, {dtype = 'int64'})"
                       "local list = x:tolist() for _, row in ipairs(list) do "
                       "  assert(row[1] == i and row[2] == i)"
                       "end");
  run_under_finalizers(L, "if x then x:release() end",
                       "x = lucerna.zeros(3) assert(#x.shape == 1 and #x.data == 3)");
  run_under_finalizers(L, "if x then x.grad = nil end",
                       "x = lucerna.zeros(2):requires_grad_(); (x * 2):sum():backward() "
                       "local g = x.grad assert(not g or #g == 2)");
  close_state(L);
}

TEST("states in several threads know nothing of each other") {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  double alone = 0, losses[THREADS] = {0};
  train_alone(&alone);
  CHECK(alone > 0);
  for (int i = 0; i < THREADS; i++)
    CHECK_EQ(pthread_create(&threads[i], NULL, train_alone, &losses[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) CHECK(losses[i] == alone);
}
