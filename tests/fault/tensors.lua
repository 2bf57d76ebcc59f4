-- What the out-of-memory sweep runs without modules: tensors are made, batched, differentiated,
-- stepped, saved, loaded, indexed and printed. Returns the scenario as a function.
local lucerna = require "lucerna"
local F = require("lucerna.core").functional
local data, safetensors, optim = lucerna.data, lucerna.safetensors, lucerna.optim

local path = os.tmpname()

local Exp = require("functions").Exp

-- Tensors made inside a finalizer, which are collected in a coroutine: there Lua asks for memory to
-- call their own. The first collection renews what paces the collector, which is finalized first.
local function finalizers()
  local kept = {}
  kept.old = setmetatable({}, { __gc = function()
    kept.made = { lucerna.ones(2), lucerna.ones(2), lucerna.ones(2) }
  end })
  collectgarbage()
  kept.old = nil
  collectgarbage()
  kept.made = nil
  coroutine.wrap(collectgarbage)()
  collectgarbage()
  return kept
end

local function scenario()
  finalizers()
  local w = lucerna.rand(3, 4):requires_grad_()
  local b = lucerna.zeros(3):requires_grad_()
  local adam = optim.Adam({ w, b }, { lr = 0.01 })
  local x, target = lucerna.rand(5, 4), lucerna.tensor { 1, 3, 2, 1, 2 }
  local hook = w:register_hook(function(g) return g * 2 end)
  local set = data.TensorDataset(x, target)
  for rows, classes in data.DataLoader { set, batch_size = 2, shuffle = true } do
    adam:zero_grad()
    local loss = F.nll_loss(F.log_softmax(rows:matmul(w:t()) + b, -1), classes)
    loss:backward()
    adam:step()
  end
  hook:remove()
  Exp.apply(w):sum():backward()
  safetensors.save_file({ w = w:detach(), b = b:detach() }, path, { note = "text" })
  local loaded, metadata = safetensors.load_file(path)
  os.remove(path)
  assert(lucerna.equal(loaded.w, w) and metadata.note == "text")
  local half = lucerna.ones(9, 33):bfloat16():requires_grad_() -- by pairs, made in two ways
  local sum = (half:mm(half:t()) + half:mm(lucerna.ones(33, 9):bfloat16())):sum()
  F.linear(half, half):sum():add(sum):backward()
  x[{ {}, 1 }] = 0
  assert(#tostring(x[{ 1, { 2, 3 } }]) > 0 and #x[x:ge(0)] == 20)
  assert(select("#", x:max(2)) == 2 and #x:split(2) == 3 and #x:tolist() == 5)
  local bytes = x:t():tostring("raw")
  assert(#lucerna.frombuffer(bytes, { dtype = "float32" }) == 20)
  assert(lucerna.from_dlpack(lucerna.to_dlpack(x)):data_ptr() == x:data_ptr())
  lucerna.from_dlpack(x, { copy = true })
end

return scenario
