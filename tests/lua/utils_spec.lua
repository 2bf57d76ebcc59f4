-- nn.utils against PyTorch: the recorded pairs of tests/parity/gen_utils.py run in Lua.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "tests.lua.parity"
local message = parity.message

-- The tensors of the recorded lines: quarters from -1 on.
local function x(...)
  local n = 1
  for _, size in ipairs { ... } do n = n * size end
  return (lucerna.arange(n, { dtype = lucerna.float32 }) * 0.25 - 1):reshape(...)
end

local function keys(m)
  local names = {}
  for name in pairs(m:state_dict()) do names[#names + 1] = name end
  return names
end

local NAMES = {
  lucerna = lucerna, nn = nn, utils = nn.utils, rnn = nn.utils.rnn, prune = nn.utils.prune, x = x,
  keys = keys,
}

local function same(actual, expected, label)
  if type(expected) == "table" and expected.none then
    assert(actual == nil, label .. " is not nil")
  elseif type(expected) == "table" and expected.list then
    assert.equal(#expected.list, #actual, label .. " has entries")
    for k, item in ipairs(expected.list) do same(actual[k], item, label .. "[" .. k .. "]") end
  elseif type(expected) == "string" then
    assert.equal(expected, actual)
  elseif type(expected) == "number" and math.type(expected) == "integer" then
    assert.equal(expected, actual)
  else
    parity.close(actual, expected, { rtol = 1e-4, atol = 1e-5 }, label)
  end
end

describe("nn.utils as PyTorch", function()
  for _, case in ipairs(parity.load "utils") do
    it(case.topic .. ": " .. case.name, function()
      local f = assert(load(case.lua, case.name, "t", setmetatable({}, {
        __index = function(_, name) return NAMES[name] or _G[name] end,
      })))
      lucerna.manual_seed(5)
      if case.error then
        local text = message(f)
        assert(text:find(case.error, 1, true), text .. "\ninstead of\n" .. case.error)
      else
        local results = table.pack(f())
        assert.equal(#case.out, results.n, "number of results")
        for k, expected in ipairs(case.out) do same(results[k], expected, "result " .. k) end
      end
    end)
  end
end)

describe("nn.utils.clip_grad", function()
  local utils = nn.utils

  it("takes the norm of tensors and clips with a norm given", function()
    local p = nn.Parameter(x(2))
    p.grad = lucerna.tensor { 3.0, 4.0 }
    assert.equal(5, utils.get_total_norm(p.grad):item())
    assert.equal(4, utils.get_total_norm({ p.grad }, { norm_type = math.huge }):item())
    assert.equal(7, utils.get_total_norm({ p.grad }, 1, { foreach = true }):item())
    utils.clip_grads_with_norm_(p, 1, 10)
    assert.near(0.3, p.grad[1]:item(), 1e-6)
    utils.clip_grads_with_norm_({ p }, { max_norm = 1, total_norm = lucerna.tensor(0.1) })
    assert.near(0.3, p.grad[1]:item(), 1e-6)
    assert.equal(0, utils.get_total_norm({}):item())
  end)

  it("refuses what is no number or tensor", function()
    assert.matches("clip_grad_value_: clip_value must be a number %(got nil%)",
      message(utils.clip_grad_value_, {}))
    assert.matches("get_total_norm: tensors: expected tensors %(entry 1 is a number%)",
      message(utils.get_total_norm, { 3 }))
    assert.matches("total_norm must be a Tensor", message(utils.clip_grads_with_norm_, {}, 1))
    assert.matches("norm_type must be a number", message(utils.clip_grad_norm_, {}, 1, "fro"))
    assert.matches("did you mean 'max_norm'", message(utils.clip_grad_norm_, {}, { max_nor = 1 }))
  end)
end)

describe("nn.utils.rnn", function()
  local rnn = nn.utils.rnn

  it("pads on the left", function()
    local y = rnn.pad_sequence({ x(1), x(3) }, true, 0, "left")
    assert.same({ { 0, 0, -1 }, { -1, -0.75, -0.5 } }, y:tolist())
    assert.matches("Expected padding_side to be one of left or right, but got up",
      message(rnn.pad_sequence, { x(1) }, { padding_side = "up" }))
  end)

  it("takes the rows of a tensor and iterators as sequences", function()
    assert.same({ { 2, 3 } }, { rnn.pad_sequence(x(3, 2)):size() })
    local k = 0
    local padded = rnn.pad_sequence(function()
      k = k + 1
      return k < 3 and x(k) or nil
    end)
    assert.same({ 2, 2 }, padded:size())
  end)

  it("packs what unpacks to the same, with gradients", function()
    local a, b = x(2, 3):double():requires_grad_(), (x(4, 3) + 1):double():requires_grad_()
    parity.gradcheck(function(p, q)
      local list = rnn.unpack_sequence(rnn.pack_sequence({ p, q }, false))
      return list[1]:sum() + (list[2] * list[2]):sum()
    end, { a, b })
    local list = rnn.unpack_sequence(rnn.pack_sequence({ a, b }, false))
    assert.same(a:tolist(), list[1]:tolist())
    assert.same(b:tolist(), list[2]:tolist())
  end)

  it("converts the data alone", function()
    local p = rnn.pack_sequence({ x(2), x(3) }, false)
    assert.equal(p, p:to(lucerna.float32))
    local q = p:double()
    assert.equal(lucerna.float64, q.data.dtype)
    assert.equal(lucerna.int64, q.batch_sizes.dtype)
    assert.equal(p.sorted_indices, q.sorted_indices)
    assert.is_false(p.is_cuda)
  end)

  it("refuses what is no sequence", function()
    assert.matches("sequence must be a PackedSequence %(got Tensor%)",
      message(rnn.pad_packed_sequence, x(2)))
    assert.matches("the longest of lengths is 5, but input has 2 steps",
      message(rnn.pack_padded_sequence, x(2, 1), { 5 }))
    assert.matches("'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu int64",
      message(rnn.pack_padded_sequence, x(2, 1), lucerna.ones(1, 1):long()))
    assert.matches("same sizes after the first dimension %(got %[2, 3%] and %[2, 2%]%)",
      message(rnn.pad_sequence, { x(2, 3), x(2, 2) }))
  end)
end)

describe("a layer written in C", function()
  local core = require("lucerna.core").nn

  it("asks its object for tensors that are slots no more", function()
    local m = nn.Linear(2, 2)
    local weight = m.weight
    nn.delattr(m, "weight")
    assert.matches("in Linear: Linear: 'weight' is missing", message(m, x(1, 2)))
    m.weight = weight * 2
    assert.same((x(1, 2):matmul((weight * 2):t()) + m.bias):tolist(), m(x(1, 2)):tolist())
    assert.same({ 1, 2 }, nn.Sequential(m, nn.ReLU())(x(1, 2)):size())
    m.weight = weight
    assert.same({ "bias", "weight" }, (function()
      local names = {}
      for name in m:named_parameters() do names[#names + 1] = name end
      return names
    end)())
    local norm = nn.LayerNorm(2, { bias = false })
    nn.delattr(norm, "weight")
    norm.weight = x(2) * 0
    assert.same({ { 0, 0 } }, norm(lucerna.tensor { { 1.0, 2.0 } }):tolist())
  end)

  it("can become an instance of another class on the same ground", function()
    local m, Other = nn.Linear(2, 2), nn.class("Other", nn.Linear)
    local before = m(x(1, 2)):tolist()
    core._set_class(m, Other)
    assert.is_true(nn.isinstance(m, Other))
    assert.same(before, m(x(1, 2)):tolist())
    assert.matches("^Other%(", tostring(m))
    core._set_class(m, nn.Linear)
    assert.is_false(nn.isinstance(m, Other))
    assert.matches("Linear: cannot become a ReLU: they are built on different classes",
      message(core._set_class, m, nn.ReLU))
  end)
end)

describe("nn.utils.prune", function()
  local prune = nn.utils.prune

  it("takes classes of one's own", function()
    local EveryOther = prune.class "EveryOther"
    EveryOther.PRUNING_TYPE = "unstructured"
    function EveryOther:__init(step) self.step = step or 2 end
    function EveryOther:compute_mask(_, default_mask)
      local mask = default_mask:clone()
      mask:view(-1)[{ { 1, -1, self.step } }] = 0
      return mask
    end
    local m = nn.Linear(2, 2)
    local method = EveryOther.apply(m, "weight", 2)
    assert.equal(2, method.step)
    assert.same({ { 0, 1 }, { 0, 1 } }, m.weight_mask:tolist())
    prune.l1_unstructured(m, "weight", 1)
    assert.equal(1, m.weight_mask:sum():item())
    assert.same({ { 0, 1 }, { 0, 1 } }, EveryOther():prune(lucerna.ones(2, 2)):tolist())
    assert.matches("importance_scores should have the same shape as tensor t",
      message(method.prune, method, x(2, 2), { importance_scores = x(2) }))
  end)

  it("keeps methods in a container", function()
    local m = nn.Linear(3, 4)
    prune.identity(m, "weight")
    local container = prune.RandomStructured.apply(m, "weight", { amount = 1, dim = 1 })
    assert.equal(2, #container)
    container:add_pruning_method(container[1])
    assert.equal(3, #container)
    assert.matches("acting on the parameter named 'weight' to PruningContainer. Found 'nil'",
      message(container.add_pruning_method, container, prune.Identity()))
    assert.matches("is not a BasePruningMethod subclass",
      message(container.add_pruning_method, container, 3))
  end)

  it("leaves the module as it was when a mask cannot be computed", function()
    local m = nn.Linear(3, 4)
    local before = keys(m)
    assert.has_error(function() prune.l1_unstructured(m, "weight", 99) end)
    assert.same({ "bias", "weight" }, keys(m)) -- in PyTorch's order after a failure
    assert.equal(#before, #keys(m))
    assert.is_true(m.weight.requires_grad)
    assert.is_false(prune.is_pruned(m))
    prune.l1_unstructured(m, "weight", 2)
    assert.has_error(function() prune.l1_unstructured(m, "weight", 99) end)
    prune.remove(m, "weight")
    assert.equal(2, m.weight:eq(0):sum():item())
  end)

  it("refuses what it cannot prune", function()
    local m = nn.BatchNorm1d(2)
    assert.matches("cannot assign 'Tensor' object to parameter 'running_mean_orig'",
      message(prune.identity, m, "running_mean"))
    assert.matches("'BatchNorm1d' object has no attribute 'wait'",
      message(prune.identity, m, "wait"))
    assert.matches("module must be an nn.Module", message(prune.identity, 3, "weight"))
    assert.matches("parameters is not an Iterable",
      message(prune.global_unstructured, m, prune.L1Unstructured, { amount = 1 }))
    assert.matches("importance_scores must be of type dict",
      message(prune.global_unstructured, {}, prune.L1Unstructured, 3))
    assert.matches("importance_scores should have the same shape as parameter weight",
      message(prune.l1_unstructured, m, "weight", 1, x(3)))
  end)
end)
