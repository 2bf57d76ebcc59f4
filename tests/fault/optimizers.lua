-- What the out-of-memory sweep runs with optimizers and schedulers: a step, a group, a load happens
-- whole or not at all. Returns the scenario as a function.
local lucerna = require "lucerna"
local optim = lucerna.optim

local OPTIONS = { SGD = { momentum = 0.9 }, Adam = { amsgrad = true },
  RMSprop = { centered = true } }
local KINDS = { "SGD", "Adam", "NAdam", "RMSprop", "Adagrad", "ASGD", "Rprop", "Adafactor", "Muon",
  "SparseAdam" }

-- Every number that a step may change, as text.
local function snapshot(o)
  local parts = {}
  local function add(value)
    if lucerna.is_tensor(value) then value = value:tolist() end
    if type(value) ~= "table" then
      parts[#parts + 1] = tostring(value)
    else
      for _, item in ipairs(value) do add(item) end
    end
  end
  for g, group in ipairs(o.param_groups) do
    add { g, group.lr, group.momentum or 0 }
    for _, p in ipairs(group.params) do
      local state, names = o.state[p], {}
      for name in pairs(state) do names[#names + 1] = name end
      table.sort(names)
      add(p:detach())
      for _, name in ipairs(names) do
        parts[#parts + 1] = name
        add(state[name])
      end
    end
  end
  return table.concat(parts, " ")
end

-- f() leaves the optimizer as it was if it fails.
local function whole(o, f)
  local before = snapshot(o)
  local ok, err = pcall(f)
  if ok then return end
  local after = snapshot(o)
  if after ~= before then io.stderr:write(tostring(err), "\n", before, "\n", after, "\n") end
  assert(after == before, "half changed")
  error(err, 0)
end

local function parameters()
  local list = {}
  for k = 1, 2 do
    list[k] = lucerna.full({ 2, 2 }, k + 0.0):requires_grad_(true)
    list[k].grad = lucerna.full({ 2, 2 }, 0.5)
  end
  return list
end

local function train(kind)
  local params = parameters()
  local o = optim[kind](params, OPTIONS[kind] or {})
  lucerna.scope(whole, o, function() o:step() end)
  whole(o, function() o:add_param_group { params = parameters(), lr = 0.5 } end)
  whole(o, function() o:step() end)
  local other = optim[kind] { { params = parameters() }, { params = parameters() } }
  whole(other, function() other:load_state_dict(o:state_dict()) end)
  assert(other.param_groups[2].lr == 0.5)
end

-- One whose step cannot fail once it has begun: nor can what comes after it in a scope.
local Plain = optim.class("Plain")

function Plain:__init(params)
  optim.Optimizer.__init(self, params, { lr = 1 })
  for _, p in ipairs(self.param_groups[1].params) do self.state[p].sum = 0 end
end

function Plain:step()
  local params, data, sums, values = self.param_groups[1].params, {}, {}, {}
  for k, p in ipairs(params) do
    data[k] = p.data
    sums[k], values[k] = p.grad + self.state[p].sum, data[k] - p.grad
  end
  for k, p in ipairs(params) do
    data[k]:copy_(values[k]) -- the first one fails or none
    self.state[p].sum = sums[k]
  end
end

local function outlive()
  local o = Plain(parameters())
  for _ = 1, 2 do lucerna.scope(whole, o, function() o:step() end) end
end

-- One parameter in another's place.
local function exchange(kind)
  local o = optim[kind](parameters(), OPTIONS[kind] or {})
  o:step()
  o.param_groups[1].params[2] = parameters()[2]
  whole(o, function() o:step() end)
end

-- Gradients that know their rows: made, added up, clipped, followed, dropped.
local function look_up(kind)
  local w = lucerna.ones(32, 4):requires_grad_(true)
  local o = optim[kind]({ w }, { lr = 0.5 })
  for k = 1, 2 do
    whole(o, function()
      local one = lucerna.nn.functional.embedding(lucerna.tensor { k, 3, k }, w)
      local two = lucerna.nn.functional.embedding(lucerna.tensor { 3, 7 }, w);
      (one:sum() + two:sum()):backward()
      lucerna.nn.utils.clip_grad_norm_({ w }, 1)
    end)
    lucerna.scope(whole, o, function() o:step() end)
    o:zero_grad()
    assert(w.grad == nil and w[20]:sum():item() == 4)
  end
end

local function search()
  local p = lucerna.ones(2):requires_grad_(true)
  local o = optim.LBFGS({ p }, { line_search_fn = "strong_wolfe", max_iter = 2 })
  whole(o, function()
    o:step(function()
      o:zero_grad()
      local loss = (p * p):sum()
      loss:backward()
      return loss
    end)
  end)
end

local function schedule()
  local s = optim.lr_scheduler
  local o = optim.SGD(parameters(), { lr = 1.0, momentum = 0.5 })
  local chain = s.ChainedScheduler { s.OneCycleLR(o, 1.0, 9), s.StepLR(o, 1, 0.5) }
  whole(o, function() chain:step() end)
  local plateau = s.ReduceLROnPlateau(o, { patience = 0 })
  for _ = 1, 2 do whole(o, function() plateau:step(1) end) end
  assert(plateau.best == 1)
end

local function average()
  local net = lucerna.nn.Linear(2, 2)
  local mean = optim.swa_utils.AveragedModel(net)
  for n = 1, 2 do
    mean:update_parameters(net)
    assert(mean.n_averaged:item() == n)
  end
end

return function()
  outlive()
  for _, kind in ipairs(KINDS) do train(kind) end
  for _, kind in ipairs { "SGD", "Adagrad", "SparseAdam" } do look_up(kind) end
  for _, kind in ipairs { "Adam", "Adagrad" } do exchange(kind) end
  search()
  schedule()
  average()
end
