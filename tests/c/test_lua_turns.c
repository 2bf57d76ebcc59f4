/* A host that gives scripts turns: its debug hook yields between any two instructions of theirs. A
 * mode that a function of ours has set for itself is not seen by others meanwhile, and is there
 * when it goes on. */
#include "lua_test.h"

static void yield_if_possible(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (lua_isyieldable(L)) lua_yield(L, 0);
}

/* turns(f): a coroutine of f that yields before each of its instructions. */
static int turns(lua_State *L) {
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_sethook(co, yield_if_possible, LUA_MASKCOUNT, 1);
  return 1;
}

static const char setup[] =
    "local core = require 'lucerna.core'"
    "local F, utils, optim = nn.functional, nn.utils, lucerna.optim "
    "local function modes() return table.concat({tostring(lucerna.is_grad_enabled()),"
    "  tostring(lucerna.is_inference_mode_enabled()), tostring(lucerna.is_autocast_enabled()),"
    "  tostring(core.nn._skip_init()), #core._vmap_levels()}, ' ') end "
    "local function square(a) return (a * a):sum() end "
    "local x = lucerna.ones(2, 3) "
    "local function parameter()"
    "  local p = lucerna.ones(2, 3):requires_grad_() p.grad = lucerna.ones(2, 3) * 3 return p end "
    "calls = {"
    "  function() return nn.init.normal_(parameter()) end,"
    "  function() return utils.clip_grad_norm_({parameter()}, 1) end,"
    "  function() local p = parameter() utils.clip_grad_value_({p}, 1) return p.grad end,"
    "  function() return utils.spectral_norm(nn.Linear(3, 3))(x) end,"
    "  function() return utils.parametrizations.spectral_norm(nn.Linear(3, 3))(x) end,"
    "  function() return lucerna.tensor(utils.skip_init(nn.Linear, 3, 3).weight:size()) end,"
    "  function() return nn.grad.conv1d_input({1, 1, 3}, x[1]:view(1, 1, 3), x[1]:view(1, 1, 3),"
    "    {padding = 1}) end,"
    "  function() local p = parameter() local o = optim.LBFGS({p}, {max_iter = 2})"
    "    o:step(function() o:zero_grad() local l = square(p) l:backward() return l end)"
    "    return p end,"
    "  function() return lucerna.func.vmap(lucerna.func.grad(square))(x) end,"
    "  function() return lucerna.no_grad(function() local _ <close> = lucerna.enable_grad()"
    "    return lucerna.tensor(square(parameter()).requires_grad) end) end,"
    "  function() return lucerna.utils.checkpoint.checkpoint(square, parameter()) end,"
    "}"
    "function alone(k) lucerna.manual_seed(1) return calls[k]() end "
    "function in_turns(k)"
    "  local normal, co, n = modes(), turns(alone), 0 "
    "  while true do"
    "    local ok, y = coroutine.resume(co, k)"
    "    assert(ok, y)"
    "    assert(modes() == normal, debug.traceback(co, modes()))"
    "    if coroutine.status(co) == 'dead' then return y, n end"
    "    n = n + 1 "
    "  end "
    "end";

TEST("functions of ours give the same results in turns, and no mode to others") {
  lua_State *L = open();
  lua_register(L, "turns", turns);
  run(L, setup);
  run(L, "for k = 1, #calls do"
         "  local y, n = in_turns(k)"
         "  assert(lucerna.equal(y, alone(k)), k)"
         "  assert(n > 20, k)"
         "end");
  close_state(L);
}
