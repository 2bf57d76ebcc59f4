-- Benchmarks of files, in the page cache: a checkpoint of 45 MB, 400 MB of safetensors. Twins in
-- files.py. The large file is made once for all runs; run.lua removes it.

local cases = dofile("tests/bench/list.lua")()
local LARGE = "build/bench.safetensors"

local function temporary()
  local path = os.tmpname()
  return path, setmetatable({}, { __gc = function() os.remove(path) end })
end

cases:add("save ResNet-18's state, 45 MB, as .pt (ours reaches the disk)", {
  ratio = 1, threads = { 2 },
  setup = function(lucerna)
    local state, path, remover = lucerna.models.resnet18():state_dict(), temporary()
    return function() lucerna.save(state, remover and path) end
  end,
})

cases:add("load ResNet-18's state, 45 MB, from .pt", {
  ratio = 1, threads = { 2 },
  setup = function(lucerna)
    local path, remover = temporary()
    lucerna.save(lucerna.models.resnet18():state_dict(), path)
    return function()
      lucerna.load(remover and path)
      collectgarbage()
    end
  end,
})

-- 100 matrices of 4 MB.
local function large(lucerna)
  local tensors, file = {}, io.open(LARGE, "rb")
  for k = 1, 100 do tensors[("layer%d.weight"):format(k)] = lucerna.ones(1024, 1024) end
  if file then file:close() else lucerna.safetensors.save_file(tensors, LARGE) end
  return tensors
end

cases:add("open 400 MB of safetensors, mapped; peer: a mapped storage", {
  bound = 5, threads = { 2 },
  setup = function(lucerna)
    large(lucerna)
    return function() lucerna.safetensors.load_file(LARGE) end
  end,
})

cases:add("touch 400 MB of mapped safetensors first; peer: the sum of 400 MB", {
  threads = { 2 }, bytes = 100 << 22,
  setup = function(lucerna)
    large(lucerna)
    return function()
      for _, x in pairs((lucerna.safetensors.load_file(LARGE))) do x:sum() end
    end
  end,
})

for _, mmap in ipairs { true, false } do
  local how = mmap and "mapped" or "read"
  cases:add(("load 400 MB of safetensors, %s, into a module; peer: a copy"):format(how), {
    ratio = mmap and 0.7 or nil, threads = { 2 }, bytes = 100 << 23,
    setup = function(lucerna)
      local nn = lucerna.nn
      local module = nn.Module()
      large(lucerna)
      for k = 1, 100 do module["layer" .. k] = nn.Linear(1024, 1024, { bias = false }) end
      return function() lucerna.safetensors.load_model(module, LARGE, { mmap = mmap }) end
    end,
  })
end

return cases
