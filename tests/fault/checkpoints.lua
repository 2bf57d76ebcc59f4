-- What the out-of-memory sweep runs with checkpoints: an object with everything in it is saved and
-- loaded, recorded files of PyTorch's are loaded. A save that fails leaves the old file.
local lucerna = require "lucerna"
local nn = lucerna.nn

local root = os.getenv "LUCERNA_ROOT" or "."

local function recorded(name)
  return ("%s/tests/parity/data/checkpoint_%s.pt"):format(root, name)
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read "a"
  file:close()
  return bytes
end

read(recorded "training") -- Lua's own buffers must have been used once before memory runs out
local path = os.tmpname()
setmetatable({}, { __gc = function() os.remove(path) end })
local net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))

local function save(object)
  local before = read(path)
  local ok, err = pcall(lucerna.save, object, path)
  if ok then return end
  local after = read(path)
  assert(not before or not after or before == after, "the old file is gone")
  error(err, 0)
end

local function scenario()
  local x, list = lucerna.arange(40):float(), {}
  for i = 1, 40 do list[i] = "text " .. i end
  save { net = net:state_dict(), x = x, row = x:narrow(1, 3, 2), list = list, raw = "\xff", n = 2.5,
    p = nn.Parameter(lucerna.ones(2)), same = list }
  local o = lucerna.load(path)
  assert(o.row[1]:item() == 2 and #o.list == 40 and o.same == o.list and #o.net == 7)
  for _, name in ipairs { "deflated", "legacy" } do
    assert(lucerna.load(recorded(name)).scalar:item() == 2.5)
  end
  local bytes = read(recorded "training")
  assert(lucerna.load(bytes, { only = { "model" } }).model)
end

return scenario
