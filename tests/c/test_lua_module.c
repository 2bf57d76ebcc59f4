/* Modules between a C host and Lua: who keeps what alive, changes that the other side sees, calls
 * in both directions. */
#include "lua_test.h"
#include "lucerna/module.h"
#include "modules.h"

TEST_ALONE("fields of a leaf live while a host holds the root") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  luc_module *root = make(ctx, "Sequential", 0, 0), *middle = make(ctx, "Sequential", 0, 0);
  luc_module *leaf = make(ctx, "Linear", 2, 2);
  CHECK_OK(luc_module_append(ctx, root, middle));
  CHECK_OK(luc_module_append(ctx, middle, leaf));
  luc_module_release(ctx, middle);
  luc_lua_push_module(L, leaf);
  lua_setglobal(L, "leaf");
  run(L, "leaf.tag = {7}; leaf = nil");
  luc_module_release(ctx, leaf);
  collect(L);
  luc_lua_push_module(L, root);
  lua_setglobal(L, "root");
  run(L, "assert(root[1][1].tag[1] == 7)");
  run(L, "root = nil");
  collect(L);
  luc_module_release(ctx, root);
  collect(L);
  close_state(L);
}

TEST_ALONE("changes made in C are seen in Lua") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  luc_module *root = make(ctx, "Sequential", 0, 0), *a = make(ctx, "Linear", 2, 2),
             *b = make(ctx, "ReLU", 0, 0);
  luc_lua_push_module(L, root);
  lua_setglobal(L, "root");
  CHECK_OK(luc_module_append(ctx, root, a));
  run(L, "assert(#root == 1 and nn.isinstance(root[1], nn.Linear)); first = root[1]");
  CHECK_OK(luc_module_add_module(ctx, root, "0", b));
  run(L, "assert(nn.isinstance(root[1], nn.ReLU) and root['0'] == root[1])");
  run(L, "assert(first.weight:size(1) == 2)");
  luc_tensor *t = filled(ctx, 1, 2, 1);
  CHECK_OK(luc_module_register_buffer(ctx, root, "mean", t, true));
  run(L, "assert(root.mean:sum():item() == 2)");
  luc_tensor_release(ctx, t);
  CHECK_OK(luc_module_delete(ctx, root, "mean"));
  run(L, "assert(root.mean == nil)");
  luc_module_release(ctx, a);
  luc_module_release(ctx, b);
  luc_module_release(ctx, root);
  run(L, "root = nil");
  close_state(L);
}

TEST_ALONE("places changed in C are seen in Lua") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  run(L, "list = nn.ModuleList {nn.ReLU(), nn.Tanh(), nn.GELU()}; tanh = list[2]; tanh.tag = {7}");
  lua_getglobal(L, "list");
  luc_module *list = luc_module_retain(ctx, luc_lua_to_module(L, -1)),
             *a = make(ctx, "Linear", 2, 2);
  lua_settop(L, 0);
  CHECK_OK(luc_module_insert(ctx, list, 0, a));
  run(L, "assert(#list == 4 and list[3] == tanh and list['2'] == tanh)"
         "assert(nn.isinstance(list[1], nn.Linear) and nn.isinstance(list[-1], nn.GELU))");
  CHECK_OK(luc_module_pop(ctx, list, 0, NULL));
  CHECK_OK(luc_module_pop(ctx, list, 0, NULL));
  run(L, "tanh = nil");
  collect(L);
  run(L, "assert(#list == 2 and list[1].tag[1] == 7 and list['2'] == nil and list['3'] == nil)");
  CHECK_EQ(luc_module_insert(ctx, list, 1, list), LUC_ERR_VALUE);
  run(L, "assert(#list == 2 and list[1].tag[1] == 7 and nn.isinstance(list[2], nn.GELU))");
  luc_module *params = make(ctx, "ParameterList", 0, 0);
  luc_lua_push_module(L, params);
  lua_setglobal(L, "params");
  luc_tensor *t = filled(ctx, 1, 2, 1);
  CHECK_OK(luc_module_append_parameter(ctx, params, t));
  run(L, "assert(#params == 1 and params[1]:sum():item() == 2 and params[1] == params[-1])");
  run(L, "params:append(5); assert(#params == 2 and params[2] == 5)");
  CHECK_OK(luc_module_append_parameter(ctx, params, t));
  run(L, "assert(#params == 3 and params[3].requires_grad)");
  luc_tensor_release(ctx, t);
  luc_module_release(ctx, a);
  luc_module_release(ctx, list);
  luc_module_release(ctx, params);
  run(L, "list, params = nil, nil");
  close_state(L);
}

static luc_status add_one(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                          int nargs, luc_outputs *outputs) {
  (void)m, (void)args;
  *(int *)ud += 1;
  CHECK_EQ(nargs, 1);
  CHECK_EQ(outputs->n, 1);
  luc_tensor *sum;
  LUC_TRY(luc__binary_scalar(ctx, LUC_OP_add, outputs->v[0].as.tensor, 1, &sum));
  luc_tensor_release(ctx, outputs->v[0].as.tensor);
  outputs->v[0] = luc_v_tensor(sum);
  return LUC_OK;
}

TEST_ALONE("a host calls a module written in Lua, with hooks of both") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  run(L, "Twice = nn.class('Twice')"
         "function Twice:forward(x) if self.fail then error(self.fail, 0) end return x * 2 end "
         "m = Twice(); net = nn.Sequential(nn.Identity(), m)"
         "m:register_forward_hook(function(_, args, out) return out + args[1] end)");
  lua_getglobal(L, "net");
  luc_module *net = luc_module_retain(ctx, luc_lua_to_module(L, -1));
  lua_settop(L, 0);
  run(L, "net, twice, m = nil, m, nil");
  int calls = 0;
  uint64_t id;
  CHECK_OK(luc_module_register_forward_hook(ctx, luc_module_child_at(net, 1), add_one, &calls, NULL,
                                            0, &id));
  collect(L);
  luc_tensor *x = filled(ctx, 1, 2, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_EQ(calls, 1);
  CHECK_NEAR(((float *)luc_tensor_data(y))[1], 4, 0); /* 2x, + x by Lua's hook, + 1 by C's */
  luc_tensor_release(ctx, y);
  run(L, "twice.fail = {}");
  CHECK_EQ(luc_module_call1(ctx, net, x, &y), LUC_ERR_CALLBACK);
  CHECK(luc_module_remove_hook(ctx, luc_module_child_at(net, 1), id));
  run(L, "twice.fail = nil");
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_EQ(calls, 1);
  LUC_RELEASE(ctx, y, x);
  luc_module_release(ctx, net);
  close_state(L);
}

typedef struct visitor {
  int calls, freed, seen; /* seen: outputs */
  luc_kind kinds[LUC_MAX_OUTPUTS];
  uint64_t id;
  bool leaves, doubles_first;
  int says; /* if not 0: how many outputs there are */
} visitor;

static void count_freed(luc_context *ctx, void *ud) {
  (void)ctx;
  ((visitor *)ud)->freed++;
}

static luc_status visit(luc_context *ctx, void *ud, luc_module *m, const luc_value *args, int nargs,
                        luc_outputs *outputs) {
  visitor *v = ud;
  (void)args, (void)nargs;
  v->calls++;
  v->seen = outputs->n;
  for (int i = 0; i < outputs->n; i++) v->kinds[i] = outputs->v[i].kind;
  if (v->says) outputs->n = v->says;
  if (v->doubles_first) {
    luc_tensor *twice;
    LUC_TRY(luc__binary_scalar(ctx, LUC_OP_mul, outputs->v[0].as.tensor, 2, &twice));
    luc_tensor_release(ctx, outputs->v[0].as.tensor);
    outputs->v[0] = luc_v_tensor(twice);
  }
  if (!v->leaves) return LUC_OK;
  CHECK(luc_module_remove_hook(ctx, m, v->id));
  CHECK_EQ(v->freed, 0);
  return LUC_OK;
}

/* A global module m, whose forward is what it was given, with a hook of C's. */
static luc_module *make_visited(lua_State *L, visitor *v) {
  run(L, "Same = nn.class('Same') function Same:forward(...) return ... end "
         "m, one, text, list = Same(), lucerna.ones(1), 'text', {1, 2}");
  lua_getglobal(L, "m");
  luc_module *m = luc_lua_to_module(L, -1);
  lua_settop(L, 0);
  CHECK_OK(
      luc_module_register_forward_hook(luc_lua_context(L), m, visit, v, count_freed, 0, &v->id));
  return m;
}

TEST_ALONE("what a hook of C leaves as it was stays Lua's, also what C knows nothing of") {
  lua_State *L = open();
  visitor v = {0};
  make_visited(L, &v);
  run(L, "assert(m(text) == text and m(list) == list and m(7) == 7 and m(m) == m)"
         "assert(m() == nil)");
  CHECK_EQ(v.calls, 5);
  run(L, "local a, b, c, d, e, f = m(one, list, text, nil, 5, one)"
         "assert(a == one and b == list and c == text and d == nil and e == 5 and f == one)");
  CHECK_EQ(v.seen, LUC_MAX_OUTPUTS);
  CHECK(v.kinds[0] == LUC_TENSOR && v.kinds[1] == LUC_NONE && v.kinds[3] == LUC_NONE);
  run(L, "assert(m(7) == 7)");
  CHECK(v.seen == 1 && v.kinds[0] == LUC_INT);
  v.doubles_first = true;
  run(L, "local a, b, c, d, e, f = m(one, list, text, nil, 5, one)"
         "assert(a:item() == 2 and b == list and c == text and d == nil and e == 5 and f == one)"
         "assert(select('#', m(one, list)) == 2 and m(one):item() == 2)");
  v.doubles_first = false;
  v.says = LUC_MAX_OUTPUTS + 1;
  run(L, "local ok, message = pcall(m, one) assert(not ok and message:find("
         "'a hook may give at most 4 values (got 5)', 1, true), message)");
  run(L, "m = nil");
  close_state(L);
  CHECK_EQ(v.freed, 1);
}

/* Passes on what it was given, the first argument doubled. */
static luc_status double_first(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                               int nargs, luc_outputs *replacement) {
  (void)ud, (void)m;
  LUC_TRY(luc__binary_scalar(ctx, LUC_OP_mul, args[0].as.tensor, 2, &replacement->v[0].as.tensor));
  replacement->v[0].kind = LUC_TENSOR;
  for (int i = 1; i < nargs; i++) replacement->v[i] = args[i];
  replacement->n = nargs;
  return LUC_OK;
}

TEST_ALONE("so do arguments that a hook of C passes on") {
  lua_State *L = open();
  visitor v = {0};
  luc_module *m = make_visited(L, &v);
  luc_context *ctx = luc_lua_context(L);
  CHECK_OK(luc_module_register_pre_hook(ctx, m, double_first, NULL, NULL, 0, NULL));
  run(L, "local a, b, c = m(one, list, text)"
         "assert(a:item() == 2 and b == list and c == text and m(one):item() == 2)");
  run(L, "m = nil");
  close_state(L);
}

TEST_ALONE("a table whose n is no count is one output of a hook of C") {
  lua_State *L = open();
  visitor v = {0};
  make_visited(L, &v);
  run(L,
      "for _, n in ipairs {2.5, -1, math.mininteger} do local t = {n = n} assert(m(t) == t) end");
  CHECK(v.calls == 3 && v.seen == 1 && v.kinds[0] == LUC_NONE);
  run(L, "m = nil");
  close_state(L);
}

TEST_ALONE("hooks that call their module again do so without limit") {
  lua_State *L = open();
  run(L, "Same = nn.class('Same') function Same:forward(x) return x end m, calls = Same(), 0 "
         "m:register_forward_hook(function(_, _, y) calls = calls + 1 "
         "return calls < 1000 and m(y) + 1 or y end)");
  run(L, "assert(m(5) == 1004 and calls == 1000)");
  close_state(L);
}

TEST_ALONE("a hook of C that removes itself keeps its data until it has returned") {
  lua_State *L = open();
  visitor v = {.leaves = true};
  make_visited(L, &v);
  run(L, "assert(m(one) == one and m(one) == one)");
  CHECK(v.calls == 1 && v.freed == 1);
  run(L, "m = nil");
  close_state(L);
}

static luc_status twice(luc_context *ctx, void *ud, luc_module *m, const luc_grads *grad_input,
                        const luc_grads *grad_output, luc_grads *replacement) {
  (void)m, (void)grad_output;
  *(int *)ud += 1;
  if (grad_input->v[0] == NULL) return LUC_OK;
  replacement->n = grad_input->n;
  for (int i = 1; i < grad_input->n; i++) replacement->v[i] = NULL;
  return luc__binary_scalar(ctx, LUC_OP_mul, grad_input->v[0], 2, &replacement->v[0]);
}

TEST_ALONE("backward hooks of C and of Lua follow each other, on layers of both") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  run(L, "Times = nn.class('Times') function Times:forward(x) return x * 3 end "
         "net = nn.Sequential(nn.Tanh(), Times()); seen = {} "
         "for name, m in net:named_modules() do "
         "  m:register_full_backward_hook(function(_, gi) seen[#seen + 1] = gi[1]:item() end) "
         "end");
  lua_getglobal(L, "net");
  luc_module *net = luc_lua_to_module(L, -1);
  int calls = 0;
  uint64_t id, all;
  for (int i = 0; i < 2; i++)
    CHECK_OK(luc_module_register_backward_hook(
        ctx, luc_module_child_at(net, i), LUC_HOOK_FULL_BACKWARD, twice, &calls, NULL, 0, &id));
  CHECK_OK(luc_module_register_backward_hook(ctx, NULL, LUC_HOOK_FULL_BACKWARD, twice, &calls, NULL,
                                             0, &all));
  run(L, "x = lucerna.zeros(1, {requires_grad = true}) net(x):backward() "
         /* each module: all's doubling, Lua's look, its own doubling */
         "assert(seen[1] == 6 and seen[2] == 24 and seen[3] == 96, table.concat(seen, ' ')) "
         "assert(x.grad:item() == 96)");
  CHECK_EQ(calls, 5);
  CHECK(luc_module_remove_hook(ctx, NULL, all));
  run(L, "x.grad = nil net(x):backward() assert(x.grad:item() == 12)");
  CHECK_EQ(calls, 7);
  lua_settop(L, 0);
  close_state(L);
}

TEST_ALONE("a module of Lua's that a host holds keeps its class and fields") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  run(L, "local C = nn.class('C'); function C:forward(x) return x * self.k end "
         "local m = C(); m.k = 3; m.sub = nn.ReLU(); m.sub.t = 5; held = m");
  lua_getglobal(L, "held");
  luc_module *m = luc_module_retain(ctx, luc_lua_to_module(L, -1));
  lua_settop(L, 0);
  run(L, "held = nil");
  collect(L);
  luc_tensor *x = filled(ctx, 1, 2, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, m, x, &y));
  CHECK_NEAR(((float *)luc_tensor_data(y))[0], 3, 0);
  luc_lua_push_module(L, m);
  lua_setglobal(L, "held");
  run(L, "assert(held.k == 3 and held.sub.t == 5 and held:_get_name() == 'C')");
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, m);
  close_state(L);
}

TEST_ALONE("a host copies a module of Lua's with its fields and hooks") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  run(L, "local C = nn.class('C'); function C:forward(x) return x * self.k end "
         "held = C(); held.k = 3; held:register_forward_hook(function(_, _, y) return y + 1 end)");
  lua_getglobal(L, "held");
  luc_module *m = luc_lua_to_module(L, -1), *copy = NULL;
  CHECK_OK(luc_module_clone(ctx, m, &copy));
  CHECK(copy != m);
  run(L, "held.k = 5; held = nil");
  lua_settop(L, 0);
  collect(L);
  luc_tensor *x = filled(ctx, 1, 2, 1), *y = NULL;
  CHECK_OK(luc_module_call1(ctx, copy, x, &y));
  CHECK_NEAR(((float *)luc_tensor_data(y))[0], 4, 0);
  luc_lua_push_module(L, copy);
  lua_setglobal(L, "held");
  run(L, "held.bad = (lucerna.ones(1):requires_grad_() * 2)");
  luc_module *third = copy;
  CHECK_EQ(luc_module_clone(ctx, copy, &third), LUC_ERR_CALLBACK);
  CHECK(third == NULL);
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, copy);
  close_state(L);
}

TEST_ALONE("what a host still holds when the state closes is freed with it") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  luc_module *net = make(ctx, "Sequential", 0, 0), *l = make(ctx, "Linear", 2, 2);
  CHECK_OK(luc_module_append(ctx, net, l));
  luc_lua_push_module(L, net);
  lua_settop(L, 0);
  close_state(L);
}

TEST("so is what a finalizer makes then, which is not finalized itself") {
  lua_State *L = open();
  run(L, "setmetatable({}, {__gc = function() late = nn.class('Late')() end})");
  close_state(L);
}

static int note_done(lua_State *L) {
  *(bool *)lua_touserdata(L, lua_upvalueindex(1)) = lua_toboolean(L, 1);
  return 0;
}

TEST_ALONE("finalizers find classes of C whole when the state closes, and Lua's collected") {
  bool done = false;
  lua_State *L = open();
  lua_pushlightuserdata(L, &done);
  lua_pushcclosure(L, note_done, 1);
  lua_setglobal(L, "done");
  run(L, "late = setmetatable({}, {__gc = function(t)"
         "  if pcall(t.F, 1) or pcall(t.C) or pcall(nn.class, 'D', t.C) then return end "
         "  done(nn.Linear(2, 3)(lucerna.ones(1, 2)):size(2) == 3)"
         "end}) "
         "late.F, late.C, late.m = nn.Linear.forward, nn.class('C'), nn.Linear(2, 2)");
  close_state(L);
  CHECK(done);
}

TEST_ALONE("slots that finalizers move are read where they are") {
  lua_State *L = open();
  run(L, "count, one = 0, nn.Parameter(lucerna.ones(1)) "
         "function fill(n)"
         "  for _ = 1, n do"
         "    count = count + 1 m:add_module('m' .. count, nn.Identity()) d['p' .. count] = one "
         "  end "
         "end");
  run_under_finalizers(L, "if reading then fill(30) end",
                       "m, d = nn.Module(), nn.ParameterDict() fill(3) for i = 1, 3 do "
                       "m:add_module('l' .. i, nn.Linear(2, 2)) end "
                       "reading = true "
                       "for name, c in pairs(m._modules) do "
                       "  assert(name:find('^%a%d+$') and c.training)"
                       "end "
                       "for name, t in pairs(d) do assert(name:find('^p%d+$') and #t == 1) end "
                       "reading = false");
  close_state(L);
}

TEST_ALONE("hooks that finalizers register do not move those being listed") {
  lua_State *L = open();
  run_under_finalizers(L, "if reading then m:register_forward_hook(hook) end",
                       "one = one or lucerna.ones(1) hook = function() end m = nn.Identity() "
                       "for _ = 1, 3 do m:register_forward_hook(hook, {always_call = true}) end "
                       "reading = true m(one) reading = false");
  close_state(L);
}

/* ---- opening ---- */

typedef struct budget {
  size_t used, limit;
} budget;

static void *budget_alloc(void *ud, void *ptr, size_t old_size, size_t new_size) {
  budget *b = ud;
  if (ptr == NULL) old_size = 0;
  if (new_size > old_size && b->used + new_size - old_size > b->limit) return NULL;
  void *block = new_size == 0 ? NULL : realloc(ptr, new_size);
  if (new_size == 0) free(ptr);
  if (block != NULL || new_size == 0) b->used += new_size - old_size;
  return block;
}

static int open_with(lua_State *L) {
  return luc_lua_open(L, lua_touserdata(L, 1));
}

/* Is it open now? */
static bool opens(lua_State *L, const luc_config *cfg) {
  lua_settop(L, 0);
  lua_pushcfunction(L, open_with);
  lua_pushlightuserdata(L, (void *)cfg);
  bool good = lua_pcall(L, 1, 1, 0) == LUA_OK;
  CHECK(good || strstr(lua_tostring(L, -1), "memory") != NULL);
  CHECK_EQ(luc_lua_context(L) != NULL, good);
  return good;
}

/* With so much for Lua and so much for the core; then with enough, in the same state. */
static bool opens_within(size_t limit, bool of_lua) {
  budget lua = {0, of_lua ? limit : SIZE_MAX / 2}, core = {0, of_lua ? SIZE_MAX / 2 : limit};
  luc_config cfg = {.alloc = budget_alloc, .alloc_ud = &core, .num_threads = 1};
  lua_State *L = lua_newstate(budget_alloc, &lua);
  if (L == NULL) return false;
  bool good = opens(L, &cfg);
  lua.limit = core.limit = SIZE_MAX / 2;
  CHECK(opens(L, &cfg));
  collect(L);
  CHECK(opens(L, NULL));
  lua_close(L);
  CHECK_EQ(lua.used, 0);
  CHECK_EQ(core.used, 0);
  return good;
}

TEST_ALONE("opening within any budget works or fails, and may be tried again") {
  for (int of_lua = 0; of_lua < 2; of_lua++)
    for (size_t limit = 0; !opens_within(limit, of_lua);) limit += 1 + limit / 16;
}

static int push_linear(lua_State *L) {
  luc_lua_push_module(L, lua_touserdata(L, 1));
  return 1;
}

TEST_ALONE("a module pushed before its Lua part is there says what to load") {
  lua_State *L = luaL_newstate();
  CHECK(opens(L, NULL));
  luc_module *m = make(luc_lua_context(L), "Linear", 2, 2);
  lua_pushcfunction(L, push_linear);
  lua_pushlightuserdata(L, m);
  CHECK_EQ(lua_pcall(L, 1, 1, 0), LUA_ERRRUN);
  CHECK_STR(lua_tostring(L, -1), "modules in Lua need require 'lucerna.nn' first");
  luc_module_release(luc_lua_context(L), m);
  lua_close(L);
}

static int push_late(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  bool *refused = lua_touserdata(L, -1);
  lua_pushcfunction(L, push_linear);
  *refused = lua_pcall(L, 0, 0, 0) == LUA_ERRRUN;
  return 0;
}

TEST_ALONE("a host's last finalizer finds the library closed") {
  bool refused = false;
  lua_State *L = luaL_newstate();
  lua_newuserdatauv(L, 1, 1);
  lua_pushlightuserdata(L, &refused);
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_pushcfunction(L, push_late);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, "last");
  CHECK(opens(L, NULL));
  lua_close(L);
  CHECK(refused);
}

/* ---- state ---- */

/* Makes a global `net` of Lua's: Sequential(Linear(2, 2), Odd()). Odd saves its own way. */
static luc_module *make_odd(lua_State *L) {
  run(L, "Odd = nn.class('Odd') "
         "function Odd:__init() self.w = nn.Parameter(lucerna.ones(1)) end "
         "function Odd:_save_to_state_dict(sd, prefix) sd[prefix .. 'odd'] = self.w.data * 2 end "
         "function Odd:_load_from_state_dict(sd, prefix) "
         "  self.w.data:copy_(sd[prefix .. 'odd'] / 2) "
         "  if self.fail then error(self.fail, 0) end "
         "end "
         "net = nn.Sequential(nn.Linear(2, 2), Odd())");
  lua_getglobal(L, "net");
  luc_module *net = luc_lua_to_module(L, -1);
  lua_settop(L, 0);
  return net;
}

TEST_ALONE("a host saves and loads a tree that overrides in Lua") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  luc_module *net = make_odd(L);
  luc_state_dict *sd = NULL;
  luc_tensor *t;
  luc_names missing = {0}, unexpected = {0};
  CHECK_OK(luc_module_state_dict(ctx, net, "n.", false, &sd));
  CHECK_EQ(luc_state_dict_count(sd), 3);
  CHECK_STR(luc_state_dict_entry(sd, 2, &t), "n.1.odd");
  CHECK_NEAR(*(float *)luc_tensor_data(t), 2, 0);
  CHECK_EQ(luc_state_dict_version(sd, "n.1"), 1);
  luc_state_dict_free(ctx, sd);
  CHECK_OK(luc_module_state_dict(ctx, net, NULL, false, &sd));
  *(float *)luc_tensor_data(luc_state_dict_get(sd, "1.odd")) = 10;
  run(L, "net[2].fail = {}");
  CHECK_EQ(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL), LUC_ERR_CALLBACK);
  run(L, "assert(net[2].w:item() == 1); net[2].fail = nil");
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL));
  run(L, "assert(net[2].w:item() == 5)");
  CHECK(luc_state_dict_remove(ctx, sd, "0.bias"));
  CHECK_OK(luc_module_load_state_dict(ctx, net, sd, 0, &missing, &unexpected));
  CHECK_EQ(missing.n, 1);
  CHECK_STR(missing.items[0], "0.bias");
  CHECK_EQ(luc_module_load_state_dict(ctx, net, sd, LUC_LOAD_STRICT, NULL, NULL), LUC_ERR_CALLBACK);
  CHECK_STR(luc_message(ctx), "Error(s) in loading state_dict for Sequential:\n"
                              "\tMissing key(s) in state_dict: \"0.bias\". ");
  luc_names_free(ctx, &missing);
  luc_names_free(ctx, &unexpected);
  luc_state_dict_free(ctx, sd);
  run(L, "net = nil");
  close_state(L);
}

typedef struct edits {
  int calls;
  bool fail;
} edits;

static luc_status edit_state(luc_context *ctx, void *ud, luc_module *m,
                             const luc_state_info *info) {
  edits *e = ud;
  luc_tensor *w = luc_module_tensor(m, "weight");
  e->calls++;
  if (e->fail) return luc__fail(ctx, LUC_ERR_STATE, "no");
  if (info->event == LUC_STATE_SAVE_AFTER) {
    luc_state_dict_remove(ctx, info->state, "0.bias");
    return luc_state_dict_set(ctx, info->state, "0.more", w);
  }
  if (info->event == LUC_STATE_LOAD_BEFORE) luc_state_dict_remove(ctx, info->state, "0.more");
  if (info->event == LUC_STATE_LOAD_AFTER) luc_names_remove(ctx, info->missing, 0);
  return LUC_OK;
}

TEST_ALONE("hooks of C code run in trees that Lua goes through") {
  lua_State *L = open();
  luc_context *ctx = luc_lua_context(L);
  luc_module *net = make_odd(L);
  edits e = {0};
  uint64_t id;
  for (int event = 0; event < LUC_STATE_EVENTS; event++)
    CHECK_OK(luc_module_register_state_hook(ctx, luc_module_child_at(net, 0),
                                            (luc_state_event)event, edit_state, &e, NULL, &id));
  run(L, "keys = {} sd = net:state_dict() for key in pairs(sd) do keys[#keys + 1] = key end "
         "assert(table.concat(keys, ' ') == '0.weight 0.more 1.odd')");
  CHECK_EQ(e.calls, 2);
  run(L, "missing, unexpected = net:load_state_dict(sd) "
         "assert(#missing == 0 and #unexpected == 0)");
  CHECK_EQ(e.calls, 4);
  e.fail = true;
  run(L, "local ok, message = pcall(net.state_dict, net) assert(not ok and message:find('no'))");
  run(L, "net, sd, before, missing, unexpected = nil");
  close_state(L);
}
