-- Trains a small GPT to write text letter by letter, from a file or from this very program, and
-- lets it write. The net is models.GPT2, which looks at up to `window` letters at once.
--   lucerna examples/gpt.lua --file novel.txt --steps 5000 --layers 6 --width 192 --heads 6

local lucerna = require "lucerna"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional
local models = require "lucerna.models"
local progress = require "lucerna.progress"

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {file = arg[0], steps = 400,
  ["batch-size"] = 16, window = 64, width = 96, layers = 3, heads = 4, dropout = 0.1, lr = 0.003,
  temperature = 0.7, ["top-k"] = 20, length = 400, prompt = "", seed = 1, threads = 0}
local usage = options.usage

-- A batch of windows of the text, and the letters that follow each of theirs.
local function batch(text, window)
  local starts = lucerna.randint(#text - window, {options["batch-size"], 1}) + 1
  local x = starts + lucerna.arange(window)
  return text[x], text[x + 1]
end

local function train(net, text)
  local window = math.min(options.window, #text - 1)
  local adam = optim.AdamW(net:parameters(), {lr = options.lr, betas = {0.9, 0.95}})
  local schedule = optim.lr_scheduler.OneCycleLR(adam, options.lr,
    {total_steps = math.max(2, options.steps), pct_start = 0.1, cycle_momentum = false})
  local bar <close> = progress(options.steps, {label = "training"})
  local mean
  for step = 1, options.steps do
    local x, y = batch(text, window)
    local loss = F.cross_entropy(net(x):flatten(1, 2), y:flatten())
    adam:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(net:parameters(), 1)
    adam:step()
    if step < options.steps then schedule:step() end
    mean = mean and 0.95 * mean + 0.05 * loss:item() or loss:item()
    bar:update(1, ("loss %.3f"):format(mean))
  end
  return mean or 0 / 0
end

lucerna.manual_seed(options.seed)
if options.threads > 0 then lucerna.set_num_threads(options.threads) end
local file <close> = io.open(options.file, "rb") or usage("cannot open " .. options.file)
local text = file:read "a"
if #text < 2 then usage("there is no text in " .. options.file) end
local letters = dofile(here .. "/shared/letters.lua")(text)
local prompt = letters.encode(options.prompt ~= "" and options.prompt or text:sub(1, 1))
  or usage("--prompt has a letter that the text lacks")

local net = models.GPT2 {vocab_size = #letters.kinds, n_positions = options.window,
  n_embd = options.width, n_layer = options.layers, n_head = options.heads,
  dropout = options.dropout}
local count = 0
for p in net:parameters() do count = count + p:numel() end
print(("%d letters of %d kinds, %d parameters"):format(#text, #letters.kinds, count))
local started = lucerna.clock()
local loss = train(net, letters.encode(text))
print(("loss %.3f after %d steps, %.1f s\n"):format(loss, options.steps, lucerna.clock() - started))
net:eval()
print(letters.decode(net:generate(prompt, {max_new_tokens = options.length,
  temperature = options.temperature, top_k = options["top-k"]})))
