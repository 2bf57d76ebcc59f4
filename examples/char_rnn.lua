-- Trains an LSTM to write text letter by letter, from a file or from this very program, and lets it
-- write. The better the longer it trains: a novel of 1 MB wants some 5,000 steps.
--   lucerna examples/char_rnn.lua --file novel.txt --steps 5000 --hidden 256 --length 1000

local lucerna = require "lucerna"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional
local progress = require "lucerna.progress"

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {file = arg[0], steps = 300,
  ["batch-size"] = 32, window = 64, hidden = 128, layers = 2, lr = 0.004, temperature = 0.7,
  length = 400, prompt = "", seed = 1, threads = 0}
local usage = options.usage

-- ---- the net ----

local CharRNN = nn.class("CharRNN")

function CharRNN:__init(letters, hidden, layers)
  self.embed = nn.Embedding(letters, hidden)
  self.lstm = nn.LSTM(hidden, hidden, {num_layers = layers, batch_first = true})
  self.head = nn.Linear(hidden, letters)
end

-- ids [N, T] and the state after the letters before -> logits [N, T, letters] and the state.
function CharRNN:forward(ids, state)
  local out
  out, state = self.lstm(self.embed(ids), state)
  return self.head(out), state
end

-- ---- training and writing ----

-- Reads the text in `rows` places at once, window after window, each going on where it left off.
local function train(net, text)
  local rows, window = options["batch-size"], options.window
  local columns = (#text - 1) // rows
  if columns < 1 then usage("the text is too short for that batch size") end
  window = math.min(window, columns)
  local x = text[{{1, rows * columns}}]:view(rows, columns)
  local y = text[{{2, rows * columns + 1}}]:view(rows, columns)
  local adam = optim.Adam(net:parameters(), {lr = options.lr})
  local bar <close> = progress(options.steps, {label = "training"})
  local at, state, mean = 1, nil, nil
  for _ = 1, options.steps do
    if at + window - 1 > columns then at, state = 1, nil end
    local logits
    logits, state = net(x:narrow(2, at, window), state)
    state = {state[1]:detach(), state[2]:detach()}
    local loss = F.cross_entropy(logits:flatten(1, 2), y:narrow(2, at, window):flatten())
    adam:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(net:parameters(), 1)
    adam:step()
    at = at + window
    mean = mean and 0.95 * mean + 0.05 * loss:item() or loss:item()
    bar:update(1, ("loss %.3f"):format(mean))
  end
  return mean or 0 / 0
end

-- Letters drawn one by one, each from what the net expects after those before.
local function write(net, prompt)
  net:eval()
  local _ <close> = lucerna.no_grad()
  local logits, state = net(prompt:unsqueeze(1))
  local ids = {prompt}
  for _ = 1, options.length do
    local chances = F.softmax(logits[1][-1] / options.temperature, -1)
    local id = lucerna.multinomial(chances, 1)
    ids[#ids + 1] = id
    logits, state = net(id:unsqueeze(1), state)
  end
  return lucerna.cat(ids)
end

-- ---- the run ----

lucerna.manual_seed(options.seed)
if options.threads > 0 then lucerna.set_num_threads(options.threads) end
local file <close> = io.open(options.file, "rb") or usage("cannot open " .. options.file)
local text = file:read "a"
if #text < 2 then usage("there is no text in " .. options.file) end
local letters = dofile(here .. "/shared/letters.lua")(text)
local prompt = letters.encode(options.prompt ~= "" and options.prompt or text:sub(1, 1))
  or usage("--prompt has a letter that the text lacks")

local net = CharRNN(#letters.kinds, options.hidden, options.layers)
print(net)
print(("\n%d letters of %d kinds"):format(#text, #letters.kinds))
local started = lucerna.clock()
local loss = train(net, letters.encode(text))
print(("loss %.3f after %d steps, %.1f s\n"):format(loss, options.steps, lucerna.clock() - started))
print(letters.decode(write(net, prompt)))
