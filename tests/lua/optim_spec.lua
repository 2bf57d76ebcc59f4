-- Optimizers and schedulers: PyTorch's trajectories, groups, state dicts, errors.

local lucerna = require "lucerna"
local optim = require "lucerna.optim"
local parity = require "parity"
local cases = parity.load "optim"

local parameter, words = parity.parameter, parity.words

describe("an optimizer", function()
  for _, case in ipairs(cases) do
    local title = ("%s %s %s"):format(case.kind, case.dtype, words(case.options))
    it("follows PyTorch's trajectory: " .. title, function()
      local p = parameter({1.0, -2.0, 0.5}, lucerna[case.dtype])
      local o = optim[case.kind]({p}, case.options)
      for step, want in ipairs(case.values) do
        local phase = lucerna.arange(3, {dtype = lucerna.float64}) + step
        p.grad = (phase:sin() * 2):to(p.dtype) + p:detach()
        if case.kind == "SparseAdam" then p.grad[step % 3 + 1] = 0 end -- not in use
        o:step()
        local got = p:tolist()
        for i = 1, 3 do assert.is_near(want[i], got[i], 1e-5 * math.max(1, math.abs(want[i]))) end
      end
    end)
  end

  it("of sparse gradients leaves rows that are not in use alone", function()
    local nn = lucerna.nn
    local table_of = nn.Embedding(6, 2, {sparse = true})
    local before = table_of.weight:detach():clone()
    local o = optim.SparseAdam(table_of:parameters(), {lr = 0.1})
    table_of(lucerna.tensor {2, 5, 2}):sum():backward()
    o:step()
    o:zero_grad()
    table_of(lucerna.tensor {5}):sum():backward()
    o:step()
    local moved = table_of.weight:ne(before):to(lucerna.int64):sum(2)
    assert.are.same({0, 2, 0, 0, 2, 0}, moved:tolist())
    local state = o.state[table_of.weight]
    assert.are.equal(2, state.step)
    assert.are.same({6, 2}, state.exp_avg:size())
    assert.are.equal(0, state.exp_avg[1]:abs():sum():item())
    for _, options in ipairs {{lr = 0}, {eps = 0}} do
      parity.refused("SparseAdam: Invalid %a+ %a+: 0", optim.SparseAdam, table_of:parameters(),
        options)
    end
    assert.has_error(function() optim.SparseAdam(table_of:parameters(), {betas = {1, 0}}) end)
  end)

  for _, kind in ipairs {"SparseAdam", "Adafactor", "Muon", "LBFGS"} do
    it("keeps the state that " .. kind .. " makes in a scope", function()
      local moved = {}
      for run = 1, 2 do
        local p = parameter {{1.0, 2.0}, {3.0, 4.0}}
        local o = optim[kind]({p}, {lr = 0.1})
        local function step()
          o:step(function()
            o:zero_grad()
            local loss = p:square():sum()
            loss:backward()
            return loss
          end)
        end
        for _ = 1, 3 do
          if run == 1 then lucerna.scope(step) else step() end
        end
        moved[run] = {p:tolist(), o:state_dict().state[0]}
      end
      assert.are.same(moved[2][1], moved[1][1])
      for name, value in pairs(moved[2][2]) do
        if lucerna.is_tensor(value) then
          assert.are.same(value:tolist(), moved[1][2][name]:tolist())
        end
      end
    end)
  end

  it("agrees with published values", function()
    local published = { -- PyTorch 2.9, p = 1, gradients 2, 1.5, 1
      Adam = {0.999, 0.9980174, 0.9970749}, AdamW = {0.99899, 0.9979974, 0.9970449},
      RMSprop = {0.9, 0.8398071, 0.8024037}, Adagrad = {0.99, 0.984, 0.9802861},
      Adadelta = {0.9968377, 0.9940642, 0.9920001}, Adamax = {0.998, 0.9962614, 0.9947935},
      NAdam = {0.9978871, 0.9965319, 0.9955136}, ASGD = {0.979999, 0.964998, 0.9549971},
      Rprop = {0.99, 0.978, 0.9636}, RAdam = {0.998, 0.9962632, 0.9947982},
    }
    for kind, want in pairs(published) do
      local p = parameter {1.0}
      local o = optim[kind]({p})
      for step, grad in ipairs {2.0, 1.5, 1.0} do
        p.grad = lucerna.tensor {grad}
        o:step()
        assert.is_near(want[step], p:item(), 2e-7, kind .. " " .. step)
      end
    end
  end)

  it("keeps its numbers in the default dtype", function()
    local recorded = { -- PyTorch 2.15, 12 steps of sin(x) x
      {"NAdam", {lr = 0.05}, "mu_product", 6.9835142770724765e-05,
        {0.5334008978967359, -1.350057141655233, 0.1053020390494128}},
      {"ASGD", {lr = 0.05, lambd = 0.01, t0 = 3, alpha = 0.7}, "eta", 0.049791065248517868,
        {0.3433218757313592, -1.87665852196916, 0.1472352206048232}},
    }
    local _ <close> = setmetatable({}, {__close = function()
      lucerna.set_default_dtype(lucerna.float32)
    end})
    lucerna.set_default_dtype(lucerna.float64)
    for _, case in ipairs(recorded) do
      local kind, options, name, number, want = table.unpack(case)
      local p = lucerna.tensor({1.0, -2.0, 0.5}, {requires_grad = true})
      local o = optim[kind]({p}, options)
      for _ = 1, 12 do
        o:zero_grad()
        ;(p:sin() * p):sum():backward()
        o:step()
      end
      assert.is_near(number, o.state[p][name]:item(), 1e-15)
      for i, value in ipairs(p:tolist()) do assert.is_near(want[i], value, 1e-14) end
    end
  end)

  it("of gradients of 1 goes as published, dampened or after Nesterov", function()
    local published = {
      {{momentum = 0.9, dampening = 0.5}, {0.9, 0.76, 0.584}},
      {{momentum = 0.9, nesterov = true}, {0.81, 0.539}},
    }
    for _, case in ipairs(published) do
      local p = parameter {1.0}
      local o = optim.SGD({p}, case[1])
      o.param_groups[1].lr = 0.1
      for _, want in ipairs(case[2]) do
        p.grad = lucerna.ones(1)
        o:step()
        assert.is_near(want, p:item(), 2e-7)
      end
    end
  end)

  it("accepts the flags that choose PyTorch's implementation", function()
    local p = parameter {1.0}
    p.grad = lucerna.ones(1)
    optim.RMSprop({p}, {foreach = true, capturable = true}):step()
    optim.Adam({p}, {fused = true, foreach = lucerna.none}):step()
    assert.is_true(p:item() < 1)
  end)

  it("gives states in tables of the caller's own, whose tensors are the live ones", function()
    local p, q = parameter {1.0, 2.0}, parameter {3.0}
    local o = optim.Adam({p, q}, {lr = 0.5})
    local function step()
      p.grad, q.grad = lucerna.ones(2), lucerna.ones(1)
      o:step()
    end
    step()
    local first, kept = o:state_dict().state, o.state[q]
    first[0].exp_avg, first[0].mine, first[1].step = nil, 1, nil
    assert.is_true(rawequal(kept.exp_avg, first[1].exp_avg))
    step()
    local second = o:state_dict().state
    assert.is_nil(second[0].mine)
    assert.same({2.0, 2.0}, {second[0].step:item(), second[1].step:item()})
    assert.equal(1.0, first[0].step:item())
    assert.is_true(rawequal(o.state[p].exp_avg, second[0].exp_avg))
    assert.is_true(rawequal(kept.exp_avg, second[1].exp_avg))
    second[1].step:fill_(7)
    assert.same({2.0, 2.0}, {o:state_dict().state[1].step:item(), o.state[q].step:item()})
    second[0].exp_avg:release()
    assert.equal(2, o:state_dict().state[0].exp_avg:numel())
    assert.same({}, optim.SGD({p}, {lr = 1}):state_dict().state)
  end)

  it("takes a rate in a tensor, which schedulers write into", function()
    local p, lr = parameter {1.0}, lucerna.tensor(0.5)
    p.grad = lucerna.ones(1)
    for _, o in ipairs {optim.SGD({p}, lr), optim.SGD({p}, {lr = lr}),
        optim.Adafactor({p}, {lr = lr})} do
      local rate = o.param_groups[1].lr
      optim.lr_scheduler.ExponentialLR(o, 0.5):step()
      assert.are.equal(0.25, rate:item())
      assert.are.equal(0.25, o:state_dict().param_groups[1].lr)
    end
    assert.are.equal(0.5, lr:item())
    local options = {lr = lr, momentum = 0.25}
    for _, o in ipairs {optim.SGD({p}, lr, 0.25), optim.SGD({p}, lr, {momentum = 0.25}),
        optim.SGD({p}, options), optim.SGD {params = {p}, lr = lr, momentum = 0.25}} do
      assert.are.equal(lr, o.defaults.lr)
      assert.are.equal(0.5, o.param_groups[1].lr:item())
      assert.are.equal(0.25, o.param_groups[1].momentum)
    end
    assert.are.equal(lr, options.lr)
    local o = optim.SGD({p}, lr)
    o:step()
    assert.are.equal(0.5, p:item())
    o:load_state_dict(o:state_dict())
    parity.refused("Tensor lr must be 1%-element %(got %[2%]%)", optim.SGD, {p}, lucerna.ones(2))
    parity.refused("1%-element", optim.Muon, {p}, {lr = lucerna.ones(2)})
  end)

  it("leaves infinite parameters where they are", function()
    for _, kind in ipairs {"SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta",
      "Adagrad", "RMSprop", "ASGD", "Rprop"} do
      local p = parameter {-math.huge, math.huge, 0.0}
      local o = optim[kind]({p}, {lr = 0.5})
      for _ = 1, 2 do
        p.grad = lucerna.tensor {0.0, 1.0, 1.0}
        o:step()
      end
      assert.same({-math.huge, math.huge}, {p[1]:item(), p[2]:item()}, kind)
      assert.is_true(p[3]:item() < 0, kind)
    end
  end)

  it("leaves parameters without a gradient alone", function()
    local p, q = parameter {1.0}, parameter {2.0}
    p.grad = lucerna.ones(1)
    optim.Adam({p, q}, {lr = 0.1}):step()
    assert.are.equal(2.0, q:item())
    assert.is_true(p:item() < 1)
  end)

  it("takes options by position, by name, and groups with their own", function()
    local p, q = parameter {1.0}, parameter {1.0}
    assert.are.equal(0.5, optim.SGD({p}, 0.5).param_groups[1].lr)
    local o = optim.SGD({{params = {p}, lr = 0.1}, {params = {q}}}, {lr = 1.0})
    assert.are.equal(0.1, o.param_groups[1].lr)
    p.grad, q.grad = lucerna.ones(1), lucerna.ones(1)
    o.param_groups[2].lr = 0.25
    o:step()
    assert.is_near(0.9, p:item(), 1e-7)
    assert.is_near(0.75, q:item(), 1e-7)
  end)

  it("runs a closure with gradients on and returns its loss", function()
    local p = parameter {3.0}
    local o = optim.SGD({p}, {lr = 0.1})
    local loss = lucerna.no_grad(function()
      return o:step(function()
        o:zero_grad()
        local l = (p * p):sum()
        l:backward()
        return l
      end)
    end)
    assert.are.equal(9.0, loss:item())
    assert.is_near(2.4, p:item(), 1e-6)
  end)

  it("drops gradients, or fills them with zeros", function()
    local p = parameter {1.0}
    local o = optim.SGD({p}, {lr = 0.1})
    p.grad = lucerna.ones(1)
    o:zero_grad {set_to_none = false}
    assert.are.equal(0.0, p.grad:item())
    o:zero_grad()
    assert.is_nil(p.grad)
  end)
end)

local function stepped(kind, options)
  local p, q = parameter {1.0, 2.0}, parameter {3.0}
  local o = optim[kind]({p, q}, options)
  p.grad, q.grad = lucerna.ones(2), lucerna.ones(1)
  o:step()
  return o, p, q
end

local function keys(t) return table.concat(parity.sorted_names(t), " ") end

describe("an optimizer's state", function()
  local kept = {
    {"SGD", {momentum = 0.9}, "momentum_buffer"},
    {"SGD", {}, ""},
    {"Adam", {amsgrad = true}, "exp_avg exp_avg_sq max_exp_avg_sq step"},
    {"AdamW", {}, "exp_avg exp_avg_sq step"},
    {"Adamax", {}, "exp_avg exp_inf step"},
    {"NAdam", {}, "exp_avg exp_avg_sq mu_product step"},
    {"RAdam", {}, "exp_avg exp_avg_sq step"},
    {"RMSprop", {}, "square_avg step"},
    {"RMSprop", {centered = true}, "grad_avg square_avg step"},
    {"RMSprop", {momentum = 0.5}, "momentum_buffer square_avg step"},
    {"Adagrad", {}, "step sum"},
    {"Adadelta", {}, "acc_delta square_avg step"},
    {"ASGD", {}, "ax eta mu step"},
    {"Rprop", {}, "prev step step_size"},
  }
  for _, case in ipairs(kept) do
    local kind, options, names = table.unpack(case)
    local title = ("%s %s"):format(kind, words(options))
    it("has PyTorch's keys: " .. title, function()
      local o, p = stepped(kind, options)
      assert.are.equal(names, keys(o:state_dict().state[0] or {}))
      local step = o.state[p].step
      assert.is_true(step == nil or (step:item() == 1 and #step:size() == 0))
    end)

    it("goes on from a state dict as if nothing had happened: " .. title, function()
      local a, p = stepped(kind, options)
      local b, q = stepped(kind, options)
      for _ = 1, 3 do a:step() end
      lucerna.no_grad(function() q:copy_(p) end)
      b:load_state_dict(a:state_dict())
      for step = 1, 4 do
        p.grad = lucerna.tensor {0.5 - step, 0.1}
        q.grad = p.grad:clone()
        a:step()
        b:step()
        assert.are.same(p:tolist(), q:tolist())
      end
    end)
  end

  it("of Adagrad is there from the beginning", function()
    local p = parameter {1.0, 2.0}
    local dict = optim.Adagrad({p}, {initial_accumulator_value = 0.5}):state_dict()
    assert.are.same({0.5, 0.5}, dict.state[0].sum:tolist())
    assert.are.equal(0, dict.state[0].step:item())
  end)

  it("of ASGD averages from step t0 on", function()
    local o, p = stepped("ASGD", {lr = 0.5, t0 = 1})
    local ax = p:detach():clone()
    for n = 1, 3 do
      o:step()
      ax = ax + (p:detach() - ax) / math.max(1, n - 1)
    end
    assert.is_true(lucerna.allclose(ax, o.state[p].ax))
    assert.is_near(1 / 3, o.state[p].mu:item(), 1e-7)
  end)

  it("can be replaced and dropped for a parameter", function()
    local o, p = stepped("SGD", {momentum = 0.9})
    o.state[p] = {momentum_buffer = lucerna.tensor {5.0, 6.0}}
    assert.are.same({5.0, 6.0}, o.state[p].momentum_buffer:tolist())
    o.state[p] = nil
    assert.is_nil(next(o.state[p]))
    local n = 0
    for _ in pairs(o.state) do n = n + 1 end
    assert.are.equal(1, n)
  end)

  it("is refused when its step is no count", function()
    local o = stepped("Adam", {})
    for _, step in ipairs {-1, 0 / 0, math.huge} do
      local dict = stepped("Adam", {}):state_dict()
      dict.state[1].step = step
      parity.refused("step", o.load_state_dict, o, dict)
    end
  end)

  it("has PyTorch's names, with ids from 0", function()
    local dict = stepped("Adam", {lr = 0.1}):state_dict()
    assert.are.same({0, 1}, dict.param_groups[1].params)
    assert.are.equal(1.0, dict.state[0].step:item())
    assert.are.same({2}, dict.state[0].exp_avg:size())
    assert.is_near(0.1, dict.state[1].exp_avg:item(), 1e-7)
    assert.is_nil(dict.state[0].max_exp_avg_sq)
    assert.are.equal(0.1, dict.param_groups[1].lr)
  end)

  it("is found by parameter", function()
    local o, p = stepped("SGD", {lr = 0.1, momentum = 0.9})
    assert.are.same({1.0, 1.0}, o.state[p].momentum_buffer:tolist())
  end)

  it("continues where it was saved", function()
    local a, p = stepped("Adam", {lr = 0.1})
    local b, q = stepped("Adam", {lr = 0.3})
    q:detach():copy_(p:detach())
    b:load_state_dict(a:state_dict())
    p.grad, q.grad = lucerna.full({2}, 0.5), lucerna.full({2}, 0.5)
    a:step()
    b:step()
    assert.are.same(p:tolist(), q:tolist())
    assert.are.equal(0.1, b.param_groups[1].lr)
  end)

  it("is refused whole when anything does not fit", function()
    local o = stepped("Adam", {lr = 0.1})
    local dict = stepped("Adam", {lr = 0.5}):state_dict()
    dict.state[1].exp_avg = lucerna.ones(7)
    parity.refused("exp_avg.*%[7%].*%[1%]", o.load_state_dict, o, dict)
    assert.are.equal(0.1, o.param_groups[1].lr)
    dict.param_groups[2] = dict.param_groups[1]
    parity.refused("loaded state dict has a different number of parameter groups",
      o.load_state_dict, o, dict)
    dict = stepped("Adam", {lr = 0.5}):state_dict()
    dict.param_groups[1].params[3] = 2
    parity.refused("loaded state dict contains a parameter group that doesn't match the size of "
      .. "optimizer's group", o.load_state_dict, o, dict)
    assert.are.equal(0.1, o.param_groups[1].lr)
  end)

  it("prints as PyTorch's, numbers too", function()
    local text = tostring(optim.Adadelta({parameter {1.0}}))
    assert.matches("\n    eps: 1e%-06\n", text)
    assert.matches("\n    lr: 1.0\n.*\n    rho: 0.9\n    weight_decay: 0\n", text)
    assert.matches("t0: 1000000.0\n", tostring(optim.ASGD({parameter {1.0}})))
    text = tostring(optim.Rprop({parameter {1.0}}, {lr = 1 / 3}))
    assert.matches("etas: %(0.5, 1.2%)", text)
    assert.matches("lr: 0.3333333333333333\n", text)
    assert.matches("lr: 1\n", tostring(optim.SGD({parameter {1.0}}, {lr = 1})))
    assert.matches("lr: 1.0\n", tostring(optim.SGD({parameter {1.0}}, {lr = 1.0})))
  end)

  it("prints as PyTorch's", function()
    local text = tostring(optim.SGD({parameter {1.0}}, {lr = 0.1, momentum = 0.9}))
    assert.are.equal([[
SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.1
    maximize: False
    momentum: 0.9
    nesterov: False
    weight_decay: 0
)]], text)
    local groups = {{params = {parameter {1.0}}}, {params = {parameter {1.0}}, lr = 1e-5}}
    assert.matches("    weight_decay: 0\n\nParameter Group 1\n.*    lr: 1e%-05\n",
      tostring(optim.SGD(groups, {lr = 0.1})))
  end)
end)

describe("a state dict of PyTorch's", function()
  local recorded = parity.load "optim_states"

  local function tensors(state)
    local made = {}
    for key, value in pairs(state) do
      made[key] = lucerna.tensor(value, {dtype = key ~= "step" and lucerna.float64 or nil})
    end
    return made
  end

  local function flat(p, q)
    local values = p:tolist()
    values[4] = q:item()
    return values
  end

  for _, case in ipairs(recorded) do
    it("is taken over, and training goes on: " .. case.kind, function()
      local a, b, c, d = table.unpack(case.start)
      local p = parameter({a, b, c}, lucerna.float64)
      local q = parameter({{d}}, lucerna.float64)
      local o = optim[case.kind] {{params = {p}}, {params = {q}}}
      local dict = {state = {[0] = tensors(case.state[1]), tensors(case.state[2])},
        param_groups = case.groups}
      o:load_state_dict(dict)
      for step, want in ipairs(case.values) do
        for _, t in ipairs {p, q} do
          local phase = lucerna.arange(t:numel(), {dtype = lucerna.float64}) + step + 5
          t.grad = (phase:sin() * 2):view(t:size()) + t:detach()
        end
        o:step()
        for i, value in ipairs(flat(p, q)) do assert.is_near(want[i], value, 1e-6) end
      end
    end)

    it("has the layout of ours: " .. case.kind, function()
      local p, q = parameter({1.0, -2.0, 0.5}, lucerna.float64), parameter({{1.0}}, lucerna.float64)
      local o = optim[case.kind]({{params = {p}}, {params = {q}, lr = 0.01}}, case.options)
      p.grad, q.grad = lucerna.ones_like(p), lucerna.ones_like(q)
      o:step()
      local dict = o:state_dict()
      for id, saved in ipairs(case.state) do
        local ours = dict.state[id - 1]
        for key, value in pairs(saved) do
          assert.are.same(lucerna.tensor(value):size(), ours[key]:size(), key)
        end
        saved.step = saved.step or case.kind ~= "SGD" or nil
        assert.are.equal(keys(saved), keys(ours))
      end
      for g, saved in ipairs(case.groups) do
        for key, value in pairs(saved) do
          assert.are.same(value, dict.param_groups[g][key], key)
        end
      end
    end)
  end
end)

describe("groups of parameters", function()
  it("are added later, with the defaults for what they leave out", function()
    local p, q = parameter {1.0}, parameter {1.0}
    local o = optim.RMSprop({p}, {lr = 0.5, alpha = 0.5})
    o:add_param_group {params = {q}, lr = 0.25, note = "mine"}
    assert.are.equal(0.25, o.param_groups[2].lr)
    assert.are.equal(0.5, o.param_groups[2].alpha)
    assert.are.equal("mine", o:state_dict().param_groups[2].note)
    assert.are.same({1}, o:state_dict().param_groups[2].params)
    assert.are.equal(0.5, o.defaults.lr)
  end)

  it("are not added in part when anything is wrong", function()
    local p, q = parameter {1.0}, parameter {1.0}
    local o = optim.SGD({p}, {lr = 0.5})
    parity.refused("Invalid learning rate: %-1", o.add_param_group, o, {params = {q}, lr = -1})
    parity.refused("number", o.add_param_group, o, {params = {q}, lr = "x"})
    parity.refused("more than one", o.add_param_group, o, {params = {p}})
    parity.refused("params", o.add_param_group, o, {q})
    assert.are.equal(1, #o.param_groups)
    q.grad = lucerna.ones(1)
    o:add_param_group {params = q and {q}, lr = 0.25}
    o:step()
    assert.are.equal(0.75, q:item())
  end)

  it("may hold one tensor", function()
    local p, q = parameter {1.0}, parameter {1.0}
    local o = optim.SGD {{params = p}}
    o:add_param_group {params = q}
    assert.are.same({p, q}, {o.param_groups[1].params[1], o.param_groups[2].params[1]})
  end)

  it("share no lists", function()
    local o = optim.Adam {{params = {parameter {1.0}}}, {params = {parameter {1.0}}}}
    o.param_groups[1].betas[1] = 0.5
    assert.are.equal(0.9, o.param_groups[2].betas[1])
    assert.are.equal(0.9, o.defaults.betas[1])
  end)

  it("are added by add_param_group alone, and not taken away", function()
    local p = parameter {1.0}
    local o = optim.SGD({p}, {lr = 0.5})
    o.param_groups[2] = {params = {parameter {1.0}}, lr = 1}
    parity.refused("use add_param_group", o.step, o)
    o.param_groups[1], o.param_groups[2] = nil, nil
    parity.refused("param_groups%[1%] is missing", o.step, o)
  end)

  it("may know their parameters' names", function()
    local net = lucerna.nn.Linear(2, 1)
    local o = optim.SGD(net:named_parameters(), {lr = 0.5})
    assert.are.same({"weight", "bias"}, o.param_groups[1].param_names)
    assert.are.same({"weight", "bias"}, o:state_dict().param_groups[1].param_names)
    assert.matches("param_names: %['weight', 'bias'%]", tostring(o))
    local p, q = parameter {1.0}, parameter {1.0}
    parity.refused("with/without names", optim.SGD, {{"p", p}, q})
    parity.refused("with/without names", o.add_param_group, o, {params = {p}})
    o:add_param_group {params = {{"p", p}}}
    assert.are.same({"p"}, o.param_groups[2].param_names)
  end)

  it("take over saved options; what is not saved is as at the beginning", function()
    local o = optim.Adam({parameter {1.0}}, {lr = 0.5, eps = 1e-3})
    local dict = o:state_dict()
    dict.param_groups[1].lr, dict.param_groups[1].eps = 0.25, nil
    dict.param_groups[1].initial_lr = 0.75
    o.param_groups[1].eps, o.param_groups[1].extra = 1, true
    o:load_state_dict(dict)
    local group = o.param_groups[1]
    assert.are.same({0.25, 1e-3, 0.75}, {group.lr, group.eps, group.initial_lr})
    assert.is_nil(group.extra)
  end)

  it("may be set to what a constructor refuses, as schedules may", function()
    local p = parameter {1.0}
    p.grad = lucerna.ones(1)
    local o = optim.SGD({p}, {lr = 0.5, momentum = 0.9, nesterov = true})
    o.param_groups[1].lr, o.param_groups[1].momentum = -0.5, 0
    o.param_groups[1].nesterov = false
    o:step()
    assert.are.equal(1.5, p:item())
  end)
end)

describe("an optimizer's hooks", function()
  it("run around every step, global ones outside", function()
    local p, seen = parameter {1.0}, {}
    local o = optim.SGD({p}, {lr = 0.5})
    local function note(name) return function(who, args)
      assert.are.equal(o, who)
      seen[#seen + 1] = name .. args.n
    end end
    local handles = {optim.register_optimizer_step_pre_hook(note "all pre "),
      o:register_step_pre_hook(note "pre "), o:register_step_post_hook(note "post "),
      optim.register_optimizer_step_post_hook(note "all post ")}
    o:step()
    assert.are.same({"all pre 0", "pre 0", "post 0", "all post 0"}, seen)
    for _, handle in ipairs(handles) do handle:remove() end
    o:step(function() return 3 end)
    assert.are.equal(4, #seen)
  end)

  it("may replace the arguments of a step", function()
    local o = optim.SGD({parameter {1.0}}, {lr = 0.5})
    o:register_step_pre_hook(function() return {function() return "replaced" end} end)
    assert.are.equal("replaced", o:step(function() return "given" end))
    o:register_step_pre_hook(function() return 5 end)
    parity.refused("nil or a table", o.step, o)
    parity.refused("must be a function", o.register_step_pre_hook, o, 5)
  end)

  it("see and replace state dicts", function()
    local o, seen = optim.SGD({parameter {1.0}}, {lr = 0.5}), {}
    o:register_state_dict_pre_hook(function() seen[#seen + 1] = "pre" end)
    o:register_state_dict_post_hook(function(_, dict) dict.mark = 1; return dict end)
    o:register_load_state_dict_pre_hook(function(_, dict)
      return {state = dict.state, param_groups = {{lr = 0.25, params = {0}}}}
    end)
    o:register_load_state_dict_post_hook(function() seen[#seen + 1] = "second" end)
    o:register_load_state_dict_post_hook(function() seen[#seen + 1] = "first" end, {prepend = true})
    local dict = o:state_dict()
    assert.are.equal(1, dict.mark)
    o:load_state_dict(dict)
    assert.are.equal(0.25, o.param_groups[1].lr)
    assert.are.same({"pre", "first", "second"}, seen)
  end)
end)

describe("an optimizer of one's own", function()
  it("is a class with a step, and gets groups, state dicts and hooks", function()
    local Signs = optim.class "Signs"
    function Signs:__init(params, options)
      optim.Optimizer.__init(self, params, {lr = options.lr})
    end
    function Signs:step(closure)
      local loss = self._evaluate(closure)
      for _, group in ipairs(self.param_groups) do
        for _, p in ipairs(group.params) do
          local state = self.state[p]
          state.step = (state.step or 0) + 1
          lucerna.no_grad(function() p:add_(p.grad:sign(), {alpha = -group.lr}) end)
        end
      end
      return loss
    end
    local p, count = parameter {1.0}, 0
    local o = Signs({p}, {lr = 0.25})
    o:register_step_post_hook(function() count = count + 1 end)
    p.grad = lucerna.tensor {-5.0}
    o:step()
    assert.are.equal(1.25, p:item())
    assert.are.equal(1, count)
    assert.is_true(optim.is_optimizer(o))
    local ring = {} -- its own metatable, and its parent
    ring.__index = ring
    assert.is_false(optim.is_optimizer(setmetatable({}, setmetatable(ring, ring))))
    local other = Signs({parameter {1.0}}, {lr = 1})
    other:load_state_dict(o:state_dict())
    assert.are.equal(1, other:state_dict().state[0].step)
    assert.are.equal(0.25, other.param_groups[1].lr)
    assert.are.equal("Signs (\nParameter Group 0\n    lr: 0.25\n)", tostring(o))
  end)
end)

describe("an empty group", function()
  for _, kind in ipairs {"SGD", "Adagrad", "Adafactor", "SparseAdam"} do
    it("is as good as any other in " .. kind, function()
      local p = parameter {{1.0}}
      local o = optim[kind]({{params = {}}, {params = {p}}, {params = {}, lr = 0.5}}, {lr = 0.1})
      p.grad = lucerna.tensor {{1.0}}
      o:step()
      assert.is_true(p:item() < 1)
      local dict = o:state_dict()
      assert.are.same({{}, {0}, {}}, {dict.param_groups[1].params, dict.param_groups[2].params,
        dict.param_groups[3].params})
      o:load_state_dict(dict)
      o:zero_grad()
      assert.are.equal(0.5, o.param_groups[3].lr)
    end)
  end
end)

describe("an optimizer refuses", function()
  local p = parameter {1.0}
  local refusals = {
    {"a negative learning rate", function() optim.SGD({p}, {lr = -1.0}) end,
      "Invalid learning rate: %-1"},
    {"a beta of 1", function() optim.Adam({p}, {betas = {1.0, 0.9}}) end, "Invalid beta parameter"},
    {"nesterov without momentum", function() optim.SGD({p}, {lr = 0.1, nesterov = true}) end,
      "Nesterov"},
    {"an empty list", function() optim.SGD({}, {lr = 0.1}) end, "empty parameter list"},
    {"a single tensor", function() optim.SGD(p, {lr = 0.1}) end, "iterator or a table"},
    {"a non-leaf", function() optim.SGD({p * 2}, {lr = 0.1}) end, "non%-leaf"},
    {"something else", function() optim.SGD({p, 5}, {lr = 0.1}) end, "entry 2"},
    {"a group that has no params", function() optim.SGD {p, {lr = 0.1}} end,
      "entry 2 is a table; a group has a field 'params'"},
    {"an option among parameters", function() optim.SGD {{p}, lr = 0.1} end,
      "SGD: params must hold tensors %(got a key 'lr'; options go in a table of their own%)"},
    {"an option without a name", function() optim.SGD {{params = {p}, {lr = 0.1}}} end,
      "SGD: param_group: an option has a name %(got number 1%)"},
    {"an iterator in a list", function() optim.SGD({lucerna.nn.Linear(1, 1):parameters()}) end,
      "entry 1 is a function; an iterator goes in a group, {params = %.%.%.}%)$"},
    {"a map", function() optim.SGD(lucerna.nn.Linear(1, 1):state_dict()) end,
      "SGD: params should be an iterator or a table of tensors"},
    {"an unknown option", function() optim.SGD({p}, {lr = 0.1, momentun = 1}) end, "momentum"},
    {"a parameter twice", function() optim.SGD({p, p}) end,
      "duplicate parameters %(parameter 2%)"},
    {"differentiable", function() optim.SGD({p}, {differentiable = true}) end, "not supported"},
    {"foreach with fused", function() optim.Adam({p}, {foreach = true, fused = true}) end,
      "cannot be `True` together"},
    {"a negative momentum", function() optim.SGD({p}, {momentum = -1}) end,
      "SGD: Invalid momentum value: %-1"},
    {"a negative weight decay", function() optim.NAdam({p}, {weight_decay = -1}) end,
      "NAdam: Invalid weight_decay value: %-1"},
    {"a negative momentum decay", function() optim.NAdam({p}, {momentum_decay = -1}) end,
      "Invalid momentum_decay value: %-1"},
    {"a negative epsilon", function() optim.Adamax({p}, {eps = -1}) end, "Invalid epsilon value"},
    {"a beta that is no number", function() optim.RAdam({p}, {betas = {0.9, 0 / 0}}) end,
      "beta parameter at index 2: %-?nan"},
    {"a negative alpha", function() optim.RMSprop({p}, {alpha = -1}) end, "Invalid alpha value"},
    {"a rho above 1", function() optim.Adadelta({p}, {rho = 1.5}) end, "Invalid rho value: 1.5"},
    {"a negative lr_decay", function() optim.Adagrad({p}, {lr_decay = -1}) end,
      "Invalid lr_decay value"},
    {"a negative first sum", function() optim.Adagrad({p}, {initial_accumulator_value = -1}) end,
      "Invalid initial_accumulator_value value"},
    {"a negative rate of ASGD", function() optim.ASGD({p}, {lr = -1}) end,
      "ASGD: Invalid learning rate: %-1"},
    {"a word for maximize in LBFGS", function() optim.LBFGS({p}, {maximize = "x"}) end,
      "LBFGS: maximize must be a boolean %(got string 'x'%)"},
    {"a negative rate of LBFGS's group", function() optim.LBFGS({{params = {p}, lr = -1}}) end,
      "LBFGS: Invalid learning rate: %-1"},
    {"a word for maximize in Adafactor", function() optim.Adafactor({p}, {maximize = "x"}) end,
      "Adafactor: maximize must be a boolean %(got string 'x'%)"},
    {"a word for maximize in SparseAdam", function() optim.SparseAdam({p}, {maximize = "x"}) end,
      "SparseAdam: maximize must be a boolean %(got string 'x'%)"},
    {"a word for nesterov in Muon", function() optim.Muon({p}, {nesterov = "x"}) end,
      "Muon: nesterov must be a boolean %(got string 'x'%)"},
    {"a negative lambd", function() optim.ASGD({p}, {lambd = -0.5}) end,
      "ASGD: Invalid lambd value: %-0.5"},
    {"a negative alpha of ASGD", function() optim.ASGD({p}, {alpha = -0.5}) end,
      "ASGD: Invalid alpha value: %-0.5"},
    {"etas on one side of 1", function() optim.Rprop({p}, {etas = {1.1, 1.2}}) end,
      "Rprop: Invalid eta values: 1.1, 1.2"},
    {"a word for a group's rate", function() optim.Adam {{params = {p}, lr = "x"}} end,
      "Adam: lr must be a number %(got string 'x'%)"},
    {"a number for a group's maximize", function() optim.SGD {{params = {p}, maximize = 1}} end,
      "SGD: maximize must be a boolean %(got number 1%)"},
    {"a number for a group's betas", function() optim.Adam {{params = {p}, betas = 0.5}} end,
      "Adam: betas must be a table of 2 numbers %(got number 0.5%)"},
    {"integers", function() optim.SGD({lucerna.ones(2, {dtype = lucerna.int64})}) end,
      "dtype int64"},
    {"a parameter in two groups", function()
      optim.SGD({{params = {p}}, {params = {p}}}, {lr = 0.1})
    end, "more than one parameter group"},
  }
  for _, refusal in ipairs(refusals) do
    it(refusal[1], function() parity.refused(refusal[3], refusal[2]) end)
  end
end)

describe("help", function()
  local help = require "lucerna.help"

  it("has a text for every public name of optim and its parts", function()
    for _, place in ipairs {"lr_scheduler", "swa_utils", "optim"} do
      for name, value in pairs(place == "optim" and optim or optim[place]) do
        if type(name) == "string" and value ~= optim.lr_scheduler and value ~= optim.swa_utils then
          local text = help.text(value)
          assert.matches("\n  %a", text, 1, false, place .. "." .. name)
          assert.not_matches("no documentation", text, 1, true)
        end
      end
    end
  end)

  it("shows an optimizer and what its class is", function()
    local text = help.text(optim.SGD {parameter {1.0}})
    assert.matches("^SGD %(\n.*\n%)\noptim.SGD\n.*\n  Stochastic gradient descent", text)
  end)

  it("takes as long for a step as there are parameters #slow", function()
    local params, one = {}, lucerna.ones(1)
    for i = 1, 70000 do
      params[i] = lucerna.ones(1):requires_grad_()
      params[i].grad = one
    end
    local trainer = optim.SGD(params, {lr = 1})
    local begin = os.clock()
    trainer:step()
    assert.is_true(os.clock() - begin < 1.5)
    assert.are.equal(0, params[70000]:item())
  end)

  it("has a text for every method of optimizers and schedulers", function()
    for _, class in ipairs {optim.Optimizer, optim.lr_scheduler.LRScheduler} do
      for name, value in pairs(class) do
        if type(value) == "function" and not name:find "^_" then
          assert.not_matches("no documentation", help.text(value), 1, true)
        end
      end
    end
  end)
end)
