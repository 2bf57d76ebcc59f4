-- The parameters of a group, which may be exchanged, added and taken away in its list, as in
-- PyTorch: state goes with the parameter. Parameters of any layout and dtype.

local lucerna = require "lucerna"
local optim = require "lucerna.optim"
local parity = require "parity"

local function parameter(n)
  local p = lucerna.nn.Parameter(lucerna.ones(n))
  p.grad = lucerna.ones(n)
  return p
end

local function values(t) return t:detach():double():mul(1e4):round():tolist() end

describe("a group's list of parameters", function()
  -- After one step with p, one with q added, one with r in p's place and p's state: PyTorch 1.13.
  for kind, want in pairs {
    SGD = {8000, {9000, 9000}, 9000}, Adam = {8000, {9000, 9000}, 9000},
    Rprop = {7800, {9000, 9000}, 8560},
  } do
    it("may grow, and have one take another's place and state: " .. kind, function()
      local p, q, r = parameter(1), parameter(2), parameter(1)
      local o = optim[kind]({p}, {lr = 0.1})
      local list = o.param_groups[1].params
      o:step()
      list[2] = q
      o:step()
      assert.same({want[1]}, values(p))
      assert.same(want[2], values(q))
      local state = o.state[p]
      o.state[p] = nil
      list[1] = r
      o.state[r] = state
      o:step()
      assert.same({want[1]}, values(p))
      assert.same({want[3]}, values(r))
      local dict = o:state_dict()
      assert.same({0, 1}, dict.param_groups[1].params)
      if kind ~= "SGD" then
        assert.equal(3, dict.state[0].step:item())
        assert.equal(2, dict.state[1].step:item())
      end
    end)
  end

  it("begins state at once where the kind does, and drops that of what has gone", function()
    local p, q = parameter(1), parameter(2)
    local o = optim.Adagrad({p}, {lr = 0.1})
    o:step()
    o.param_groups[1].params = {q}
    local dict = o:state_dict()
    assert.same({0}, dict.param_groups[1].params)
    assert.same({0, 0}, dict.state[0].sum:tolist())
    assert.same({}, o.state[p] or {})
    o.param_groups[1].params = {}
    assert.same({}, o:state_dict().state)
    o:step()
    assert.same({10000, 10000}, values(q))
    o:add_param_group {params = q}
    o:step()
    assert.same({9000, 9000}, values(q))
  end)

  it("must hold parameters, and changes nothing where it does not", function()
    local p, q = parameter(1), parameter(1)
    local o = optim.Adam({{params = {p}}, {params = {q}}}, {lr = 0.1})
    o:step()
    local list = o.param_groups[1].params
    for message, wrong in pairs {
      ["Adam: params must be a Tensor (got number 3)"] = {3},
      ["Adam: can't optimize a non-leaf Tensor (parameter 2)"] = {p, p * 2},
      ["Adam: some parameters appear in more than one parameter group (parameter 1)"] = {q, p},
      ["Adam: a parameter group has duplicate parameters (parameter 2)"] = {p, p},
      ["Adam: param_groups[1].params must be a table of tensors (got nil)"] = false,
    } do
      o.param_groups[1].params = wrong or nil
      parity.refused(message, o.step, o)
      parity.refused(message, o.state_dict, o)
    end
    o.param_groups[1].params = list
    o:step()
    assert.same({8000}, values(p))
    assert.equal(2, o.state[p].step:item())
  end)

  it("are checked alike for kinds of the core and those of Lua", function()
    local p, q = parameter(1), parameter(1)
    local Mine = optim.class("Mine")
    function Mine:__init(params) optim.Optimizer.__init(self, params, {lr = 0.1}) end
    for name, kind in pairs {Adam = optim.Adam, Adafactor = optim.Adafactor, Mine = Mine} do
      local o = kind {p}
      for message, wrong in pairs {
        [": can't optimize a non-leaf Tensor (parameter 2)"] = {q, q * 2},
        [": parameter 1 has dtype int64, expected a floating point"] = {lucerna.tensor {1}},
        [": some parameters appear in more than one parameter group (parameter 2)"] = {q, p},
        [": a parameter group has duplicate parameters (parameter 2)"] = {q, q},
      } do
        parity.refused(name .. message, o.add_param_group, o, {params = wrong})
      end
      o:add_param_group {params = q}
      assert.equal(2, #o.param_groups)
    end
    local z = lucerna.zeros(1, {dtype = lucerna.complex64, requires_grad = true})
    parity.refused("Mine: parameter 1 has dtype complex64, expected a floating point one", Mine,
      {z})
    assert.equal(z, optim.Adam {z}.param_groups[1].params[1])
  end)

  it("must have no holes", function()
    parity.refused("SGD: params must hold tensors (entry 2 is a nil)", optim.SGD,
      {parameter(1), nil, parameter(1)}, {lr = 0.1})
  end)
end)

describe("the state of a parameter", function()
  local function stepped(kind)
    local p, q = parameter(2), parameter(1)
    local o = optim[kind] {p, q}
    o:step()
    return o, p
  end

  it("is one table for a parameter, which follows the steps", function()
    local o, p = stepped("NAdam")
    local state = o.state[p]
    assert.are.equal(state, o.state[p])
    local steps, product = state.step:item(), state.mu_product:item()
    o:step()
    assert.are.equal(state, o.state[p])
    assert.are.equal(steps + 1, state.step:item())
    assert.is_true(state.mu_product:item() < product)
    local average = state.exp_avg
    state.step:fill_(7) -- the core's is another
    state.exp_avg, state.exp_avg_sq, state.mine = nil, "none", 3
    assert.are.equal(steps + 1, o.state[p].step:item())
    assert.are.equal(average, o.state[p].exp_avg)
    assert.are.same(p:size(), o.state[p].exp_avg_sq:size())
    assert.are.equal(3, o.state[p].mine)
    for q, of in pairs(o.state) do assert.are.equal(o.state[q], of) end
    o.state[p] = state
    assert.are_not.equal(state, o.state[p])
    assert.is_nil(o.state[p].mine)
    assert.are_not.equal(average, o.state[p].exp_avg)
    assert.are.equal(steps + 1, o.state[p].step:item())
    o:state_dict().state[0].exp_avg = nil
    assert.is_truthy(o.state[p].exp_avg)
  end)

  it("is not replaced by what is no table", function()
    local o, p = stepped("Adam")
    local state = o.state[p]
    parity.refused("Adam: state: a parameter's must be a table (got number)", function()
      o.state[p] = 3
    end)
    assert.are.equal(state, o.state[p])
    assert.is_truthy(state.exp_avg)
  end)

  it("is a new table after another parameter had its place", function()
    local o, p = stepped("Adam")
    local list, state = o.param_groups[1].params, o.state[p]
    local q = parameter(2)
    list[1] = q
    assert.is_nil(next(o.state[q]))
    assert.is_nil(o.state[p])
    list[1] = p
    assert.is_nil(next(o.state[p]))
    assert.is_truthy(state.exp_avg)
  end)
end)

describe("a parameter whose data got another shape", function()
  it("is refused until its gradient and its state fit, and nothing changes", function()
    for _, case in ipairs {{"SGD", {lr = 0.1, momentum = 0.9}, "momentum_buffer"},
      {"Adam", {}, "exp_avg"}, {"RMSprop", {}, "square_avg"}} do
      local name, options, state = table.unpack(case)
      local other = lucerna.nn.Parameter(lucerna.zeros(2))
      local p = lucerna.nn.Parameter(lucerna.zeros(2))
      local o = optim[name]({other, p}, options)
      other.grad, p.grad = lucerna.ones(2), lucerna.ones(2)
      o:step()
      local before = other:clone()
      p.data = lucerna.zeros(100000)
      assert.error_matches(function() o:step() end,
        name .. ": grad of parameter 2 has shape %[2%], the parameter %[100000%]")
      p.grad = lucerna.ones(100000)
      assert.error_matches(function() o:step() end,
        name .. ": " .. state .. " of parameter 2 has shape %[2%], the parameter %[100000%]")
      assert.is_true(other:equal(before))
      p.grad = nil
      p.data = lucerna.zeros(2)
      p.grad = lucerna.ones(2)
      o:step()
    end
  end)
end)

describe("options that change between steps", function()
  -- A step with this gradient.
  local function step(o, p, grad)
    p.grad = lucerna.tensor(grad):to(p.dtype)
    o:step()
  end

  it("SGD's first buffer is the gradient, also where momentum comes late", function()
    for _, load in ipairs {false, true} do
      local p = lucerna.nn.Parameter(lucerna.tensor {1.0, 2.0})
      local o = optim.SGD({p}, {lr = 1, dampening = 0.75})
      step(o, p, {1.0, 1.0})
      step(o, p, {1.0, 1.0})
      o.param_groups[1].momentum = 0.5
      if load then
        local dict = o:state_dict()
        o = optim.SGD({p}, {lr = 2})
        o:load_state_dict(dict)
      end
      step(o, p, {2.0, 4.0})
      assert.same({2.0, 4.0}, o.state[p].momentum_buffer:tolist())
      assert.same({-3.0, -4.0}, p:tolist())
      step(o, p, {2.0, 4.0})
      assert.same({1.5, 3.0}, o.state[p].momentum_buffer:tolist())
    end
  end)

  it("means of weight 1 are the gradient, whatever was before", function()
    local options = {betas = {0.0, 0.9}, alpha = 0.0, centered = true, momentum = 0.0}
    for kind, state in pairs {Adam = "exp_avg", AdamW = "exp_avg", Adamax = "exp_avg",
      NAdam = "exp_avg", RAdam = "exp_avg", RMSprop = "grad_avg", Muon = "momentum_buffer"} do
      local p = lucerna.nn.Parameter(lucerna.ones(2, 1))
      local o = optim[kind]({p}, {lr = 0.5})
      for name in pairs(o.param_groups[1]) do
        if options[name] ~= nil then o.param_groups[1][name] = options[name] end
      end
      step(o, p, {{1e9}, {-3e8}})
      step(o, p, {{0.3}, {-0.7}})
      assert.same(lucerna.tensor {{0.3}, {-0.7}}:tolist(), o.state[p][state]:tolist(), kind)
    end
  end)

  it("a group may hold tensors of its own", function()
    local p, mask = parameter(1), lucerna.tensor {1.0, 0.0, 1.0}
    local o = optim.SGD({{params = {p}, mask = mask}}, {lr = lucerna.tensor(0.5)})
    assert.matches("\n    lr: 0.5\n    mask: tensor%(%[1., 0., 1.%]%)\n", tostring(o))
    local dict = o:state_dict()
    assert.same({1.0, 0.0, 1.0}, dict.param_groups[1].mask:tolist())
    o:load_state_dict(dict)
    dict.param_groups[1].mask:zero_()
    assert.same({1.0, 0.0, 1.0}, o.param_groups[1].mask:tolist())
  end)
end)

it("an array of parameters has no options beside them, wherever its table keeps them", function()
  for k = 1, 64 do
    local params = {["a" .. k] = 1, ["b" .. k] = 2, ["c" .. k] = 3}
    params[1] = lucerna.nn.Parameter(lucerna.zeros(1))
    assert.error_matches(function() lucerna.optim.SGD(params) end, "params must hold tensors")
  end
end)

describe("a step", function()
  local leaf = parity.parameter

  it("updates transposed and half precision parameters", function()
    local t = lucerna.ones(2, 3):t():requires_grad_(true)
    local h = leaf({1.0, 2.0}, lucerna.float16)
    t.grad = lucerna.ones(3, 2)
    h.grad = lucerna.ones(2, {dtype = lucerna.float16})
    optim.SGD({t, h}, {lr = 0.5, momentum = 0.9}):step()
    assert.are.same({{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}, t:tolist())
    assert.are.same({0.5, 1.5}, h:tolist())
  end)

  it("updates what is only stored, one byte an element", function()
    local p = lucerna.ones(4000):to(lucerna.float8_e4m3fn)
    p.grad = p:clone()
    optim.Adam({p}, {lr = 0.5}):step()
    assert.equal(2000, p:float():sum():item())
  end)

  it("keeps the states of a parameter that became half precision", function()
    local p, q = leaf {1.0, 2.0}, leaf {1.0, 2.0}
    local a, b = optim.Adam({p}, {lr = 0.5}), optim.Adam({q}, {lr = 0.5})
    for step = 1, 3 do
      p.grad, q.grad = lucerna.full({2}, step / 8):to(p.dtype), lucerna.full({2}, step / 8)
      a:step()
      b:step()
      p.data = p.data:bfloat16()
      p.grad = nil
    end
    assert.is_true(a.state[p].exp_avg_sq:equal(b.state[q].exp_avg_sq))
  end)
end)
