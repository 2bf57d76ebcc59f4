-- Learns to balance a pole on a cart by trying (REINFORCE; Williams, 1992), in seconds. The cart
-- and the pole are Barto, Sutton and Anderson's (1983): an episode ends when one is too far out.
--   lucerna examples/reinforce.lua --draw

local lucerna = require "lucerna"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {episodes = 2000, steps = 500, lr = 0.01,
  gamma = 0.99, hidden = 64, draw = false, frames = 250, seed = 1}

-- ---- the cart and the pole ----

local GRAVITY, CART, POLE, HALF, FORCE, STEP = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
local FAR, TILTED = 2.4, math.rad(12)

-- {position, speed, angle, angular speed}, all near 0.
local function new_state()
  local state = {}
  for i = 1, 4 do state[i] = (math.random() - 0.5) / 10 end
  return state
end

-- The state a fiftieth of a second after a push to the left (1) or to the right (2).
local function push(state, action)
  local x, speed, angle, turn = table.unpack(state)
  local force = action == 2 and FORCE or -FORCE
  local sin, cos = math.sin(angle), math.cos(angle)
  local pulled = (force + POLE * HALF * turn ^ 2 * sin) / (CART + POLE)
  local turning = (GRAVITY * sin - cos * pulled) /
    (HALF * (4 / 3 - POLE * cos ^ 2 / (CART + POLE)))
  local moving = pulled - POLE * HALF * turning * cos / (CART + POLE)
  return {x + STEP * speed, speed + STEP * moving, angle + STEP * turn, turn + STEP * turning}
end

local function is_over(state) return math.abs(state[1]) > FAR or math.abs(state[3]) > TILTED end

-- ---- the policy ----

local policy

-- Plays an episode: the states it saw, and what it did, drawn from what the policy says.
local function play()
  local _ <close> = lucerna.no_grad()
  local states, actions, state = {}, {}, new_state()
  while #states < options.steps and not is_over(state) do
    local chances = F.softmax(policy(lucerna.tensor(state)), -1)
    local action = math.random() < chances[1]:item() and 1 or 2
    states[#states + 1], actions[#actions + 1] = state, action
    state = push(state, action)
  end
  return states, actions
end

-- Each step is worth the steps that followed it, later ones less; what was worth more than usual is
-- made more likely.
local function learn(adam, states, actions)
  local worth, sum = {}, 0
  for t = #states, 1, -1 do
    sum = 1 + options.gamma * sum
    worth[t] = sum
  end
  worth = lucerna.tensor(worth)
  if #states > 1 then worth = (worth - worth:mean()) / (worth:std() + 1e-8) end
  local costs = F.cross_entropy(policy(lucerna.tensor(states)), lucerna.tensor(actions),
    {reduction = "none"})
  adam:zero_grad()
  local loss = (costs * worth):sum()
  loss:backward()
  adam:step()
end

-- ---- drawing ----

local WIDTH, HEIGHT = 61, 11

-- The cart on its track and the pole above it, as lines of text.
local function picture(state)
  local rows = {}
  for r = 1, HEIGHT do rows[r] = {} end
  local function put(column, row, text)
    column, row = math.floor(column + 0.5), math.floor(row + 0.5)
    local inside = column >= 1 and column <= WIDTH and row >= 1 and row <= HEIGHT
    if inside then rows[row][column] = text end
  end
  local middle = (state[1] / FAR + 1) / 2 * (WIDTH - 1) + 1
  for along = 1, HEIGHT - 2, 0.25 do -- letters are about twice as high as wide
    put(middle + 2 * along * math.sin(state[3]), HEIGHT - 1 - along * math.cos(state[3]), "●")
  end
  for c = -3, 3 do put(middle + c, HEIGHT - 1, "█") end
  for c = 1, WIDTH do rows[HEIGHT][c] = "─" end
  local lines = {}
  for r, row in ipairs(rows) do
    for c = 1, WIDTH do row[c] = row[c] or " " end
    lines[r] = table.concat(row)
  end
  return table.concat(lines, "\n")
end

-- Plays with what the policy thinks best, a picture each step, until it falls or after `frames`.
local function draw()
  local _ <close> = lucerna.no_grad()
  local state = new_state()
  io.write "\27[?25l" -- hides the cursor
  for frame = 1, options.frames do
    if frame > 1 then io.write(("\27[%dA"):format(HEIGHT)) end
    io.write(picture(state), "\n")
    io.flush()
    if is_over(state) then break end
    os.execute(("sleep %.2f"):format(STEP))
    state = push(state, policy(lucerna.tensor(state)):argmax():item())
  end
  io.write "\27[?25h"
end

-- ---- the run ----

lucerna.manual_seed(options.seed)
math.randomseed(options.seed)
policy = nn.Sequential(nn.Linear(4, options.hidden), nn.ReLU(), nn.Linear(options.hidden, 2))
local adam = optim.Adam(policy:parameters(), {lr = options.lr})

local started, usual, learned = lucerna.clock(), 10, false
for episode = 1, options.episodes do
  local states, actions = play()
  usual = 0.95 * usual + 0.05 * #states
  if episode % 50 == 0 then
    print(("episode %4d  %3d steps, %5.1f on average"):format(episode, #states, usual))
  end
  if usual > 0.95 * options.steps then
    learned = episode
    break
  end
  learn(adam, states, actions)
end
local spent = lucerna.clock() - started
if learned then
  print(("balances the pole after %d episodes, %.1f s"):format(learned, spent))
else
  print(("has not learned it in %d episodes, %.1f s"):format(options.episodes, spent))
end
if options.draw then draw() end
