-- Learns to learn: after a few seconds on many sines, ten points of a new one and a few steps are
-- enough (MAML; Finn, Abbeel and Levine, 2017). Gradients of gradients, of all sines at once.
--   lucerna examples/maml.lua --points 5

local lucerna = require "lucerna"
local nn, optim, func, F = lucerna.nn, lucerna.optim, lucerna.func, lucerna.nn.functional

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {rounds = 2000, tasks = 25, points = 10,
  hidden = 40, lr = 0.001, rate = 0.01, steps = 5, seed = 1}

lucerna.manual_seed(options.seed)
local net = nn.Sequential(
  nn.Linear(1, options.hidden), nn.ReLU(),
  nn.Linear(options.hidden, options.hidden), nn.ReLU(),
  nn.Linear(options.hidden, 1))

-- n sines of a height of 0.1 to 5 and any phase: points to learn from and points to be judged by,
-- each [n, points, 1].
local function sines(n)
  local height, phase = lucerna.rand(n, 1, 1) * 4.9 + 0.1, lucerna.rand(n, 1, 1) * math.pi
  local function points(count)
    local x = lucerna.rand(n, count, 1) * 10 - 5
    return x, height * (x - phase):sin()
  end
  local x, y = points(options.points)
  return x, y, points(100)
end

local function loss(parameters, x, y)
  return F.mse_loss(func.functional_call(net, parameters, x), y)
end

-- The parameters after a step of gradient descent on one sine; the net keeps its own.
local function step(parameters, x, y)
  local gradients, moved = func.grad(loss)(parameters, x, y), {}
  for name, p in pairs(parameters) do moved[name] = p - options.rate * gradients[name] end
  return moved
end

-- The error on one sine after each of `steps` steps, the first before any.
local function adapt(parameters, steps, x, y, new_x, new_y)
  local errors = {loss(parameters, new_x, new_y)}
  for k = 1, steps do
    parameters = step(parameters, x, y)
    errors[k + 1] = loss(parameters, new_x, new_y)
  end
  return lucerna.stack(errors)
end

-- The mean errors over many sines, which vmap computes side by side.
local function errors_of(steps, ...)
  local parameters = {}
  for name, p in net:named_parameters() do parameters[name] = p end
  local function one(...) return adapt(parameters, steps, ...) end
  return func.vmap(one)(...):mean(1)
end

local function show(title)
  local _ <close> = lucerna.no_grad()
  local errors = errors_of(options.steps, sines(500)):tolist()
  io.write(("%-16s"):format(title))
  for _, e in ipairs(errors) do io.write(("%8.3f"):format(e)) end
  io.write "\n"
end

io.write(("%-16s"):format "error after")
for k = 0, options.steps do io.write(("%8d"):format(k)) end
io.write " steps\n"
show "as it begins"

-- Each round the net moves so that one step from where it stands leaves less error.
local adam = optim.Adam(net:parameters(), {lr = options.lr})
local started = lucerna.clock()
for round = 1, options.rounds do
  local errors = errors_of(1, sines(options.tasks))
  adam:zero_grad()
  errors[2]:backward()
  adam:step()
  if round % math.ceil(options.rounds / 4) == 0 then show(("%d rounds"):format(round)) end
end
print(("%.1f s"):format(lucerna.clock() - started))
