-- Trains a LeNet on MNIST and tells how well it reads digits it has never seen.
--   lucerna examples/mnist.lua --epochs 3 --batch-size 64 --lr 0.01 --save lenet.safetensors

local lucerna = require "lucerna"
local nn, optim, data = lucerna.nn, lucerna.optim, lucerna.data
local F, init = nn.functional, nn.init
local progress = require "lucerna.progress"

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {epochs = 3, ["batch-size"] = 64, lr = 0.01,
  threads = 0, seed = 1, data = here .. "/data/mnist", save = ""}

-- ---- the net ----

local LeNet = nn.class("LeNet")

function LeNet:__init()
  self.conv1 = nn.Conv2d(1, 20, 5)
  self.conv2 = nn.Conv2d(20, 50, 5)
  self.fc1 = nn.Linear(800, 500)
  self.fc2 = nn.Linear(500, 10)
  for _, conv in ipairs {self.conv1, self.conv2} do
    init.kaiming_normal_(conv.weight, {mode = "fan_out", nonlinearity = "leaky_relu"})
  end
  for _, fc in ipairs {self.fc1, self.fc2} do init.xavier_normal_(fc.weight) end
end

function LeNet:forward(x)
  x = F.max_pool2d(F.relu(self.conv1(x)), 2)
  x = F.max_pool2d(F.relu(self.conv2(x)), 2)
  x = F.relu(self.fc1(x:flatten(2)))
  return F.log_softmax(self.fc2(x), -1)
end

-- ---- training and testing ----

local function normalize(x) return x:sub_(0.1307):div_(0.3081) end

local function train(net, loader, optimizer, label)
  net:train()
  local bar <close> = progress(#loader, {label = label})
  local total, count = 0, 0
  for x, target in loader do
    optimizer:zero_grad()
    local loss = F.nll_loss(net(x), target)
    loss:backward()
    optimizer:step()
    total, count = total + loss:item(), count + 1
    bar:update(1, ("loss %.4f"):format(total / count))
  end
  return total / count
end

-- The mean loss, the share of right answers, and up to `keep` misread digits.
local function test(net, loader, keep)
  net:eval()
  local _ <close> = lucerna.no_grad()
  local loss, right, count, misread = 0, 0, 0, {}
  for x, target in loader do
    local output = net(x)
    local guess = output:argmax(2)
    loss = loss + F.nll_loss(output, target, {reduction = "sum"}):item()
    right = right + guess:eq(target):sum():item()
    count = count + #target
    local wrong = guess:ne(target):nonzero():tolist()
    for k = 1, math.min(#wrong, keep - #misread) do
      local i = wrong[k][1]
      misread[#misread + 1] = {image = x[i][1]:clone(), guess = guess[i]:item() - 1,
        target = target[i]:item() - 1}
    end
  end
  return loss / count, right / count, misread
end

-- Images side by side, two pixels a character: the upper in the foreground, the lower behind it.
local function picture(misread)
  local shades = {" ", "░", "▒", "▓", "█"}
  local lines, titles = {}, {}
  for k, m in ipairs(misread) do
    local rows = m.image:tolist()
    for r = 1, 28, 2 do
      local line = {}
      for c = 1, 28 do
        local ink = ((rows[r][c] + rows[r + 1][c]) / 2 * 0.3081 + 0.1307) * 4
        line[c] = shades[math.max(1, math.min(5, math.floor(ink + 1.5)))]
      end
      lines[(r + 1) // 2] = (lines[(r + 1) // 2] or "") .. table.concat(line) .. " "
    end
    titles[k] = ("%-28s"):format(("      a %d, read as %d"):format(m.target, m.guess))
  end
  return table.concat(lines, "\n") .. "\n" .. table.concat(titles, " ")
end

-- ---- the run ----

lucerna.manual_seed(options.seed)
if options.threads > 0 then lucerna.set_num_threads(options.threads) end

local train_set = data.MNIST {root = options.data, train = true, transform = normalize}
local test_set = data.MNIST {root = options.data, train = false, transform = normalize}
local train_loader = data.DataLoader {train_set, batch_size = options["batch-size"], shuffle = true}
local test_loader = data.DataLoader {test_set, batch_size = 500}

local net = LeNet()
print(net)
local optimizer = optim.SGD(net:parameters(), {lr = options.lr, momentum = 0.9})
local scheduler = optim.lr_scheduler.StepLR(optimizer, 1, {gamma = 0.5})

print("\nepoch  train loss  test loss  accuracy  seconds")
local accuracy, misread
for epoch = 1, options.epochs do
  local started = lucerna.clock()
  local train_loss = train(net, train_loader, optimizer, "epoch " .. epoch)
  local test_loss
  test_loss, accuracy, misread = test(net, test_loader, 3)
  scheduler:step()
  print(("%5d  %10.4f  %9.4f  %6.2f %%  %7.1f"):format(epoch, train_loss, test_loss, 100 * accuracy,
    lucerna.clock() - started))
end

if options.save ~= "" then
  lucerna.safetensors.save_file(net:state_dict(), options.save)
  print("\nsaved to " .. options.save)
end
if not accuracy then accuracy, misread = select(2, test(net, test_loader, 3)) end
if #misread > 0 then print("\nSome it misread:\n" .. picture(misread)) end
print(("\ntest accuracy %.2f %%"):format(100 * accuracy))
