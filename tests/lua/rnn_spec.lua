-- Recurrent layers and cells against recorded PyTorch: outputs, states, gradients, keys, text;
-- packed batches; gradcheck; errors.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn
local rnn = require "lucerna.nn.utils.rnn"

local message_of = parity.message

local function states(state)
  if state == nil then return {} end
  return lucerna.is_tensor(state) and {state} or state
end

-- The state to call with: one tensor, or a list of two.
local function given(list)
  if #list == 0 then return nil end
  return #list == 1 and list[1] or list
end

local function outputs_of(class, out, ...)
  if class:find("Cell") then return {out, ...} end
  local list = {out.data and not lucerna.is_tensor(out) and out.data or out}
  for _, t in ipairs(states((...))) do list[#list + 1] = t end
  return list
end

describe("recurrent layers under vmap", function()
  local func, none = lucerna.func, lucerna.none
  local function loss(net, x) return (net(x)):pow(2):sum() end
  for _, class in ipairs {"LSTM", "GRU", "RNN"} do
    it("give each sample its own results and gradients: " .. class, function()
      lucerna.manual_seed(6)
      local options = {num_layers = 2, bidirectional = true, dtype = lucerna.float64}
      local net, x = nn[class](5, 7, options), parity.leaf {4, 3, 2, 5}
      local y = func.vmap(function(a) return (net(a)) end)(x)
      for i = 1, 4 do parity.close(y[i], (net(x[i])), {atol = 1e-12}) end
      local all, sum = lucerna.autograd.grad(y:pow(2):sum(), x), 0
      for i = 1, 4 do sum = sum + loss(net, x[i]) end
      parity.close(all, lucerna.autograd.grad(sum, x), {atol = 1e-12})

      local params = {}
      for name, p in net:named_parameters() do params[name] = p:detach() end
      local gradients = func.grad(function(p, a)
        return func.functional_call(net, p, a):pow(2):sum()
      end)
      local each = func.vmap(gradients, {none, 1})(params, x:detach())
      for name, g in pairs(gradients(params, x[3]:detach())) do
        parity.close(each[name][3], g, {atol = 1e-12}, name)
      end
    end)
  end
end)

-- Few rows of many units go step by step, each step cut along the units; many rows do not, nor
-- does a gradient that is recorded, which is made of operators.
describe("few rows of many units", function()
  local double = {dtype = lucerna.float64}
  for _, class in ipairs {"LSTM", "GRU", "RNN"} do
    it("give what they give among many, in both directions: " .. class, function()
      lucerna.manual_seed(4)
      local net = nn[class](6, 260, {bidirectional = true, dtype = lucerna.float64})
      local x = lucerna.randn({5, 3, 6}, double)
      local few = outputs_of(class, net(x))
      for i, many in ipairs(outputs_of(class, net(x:tile(1, 6, 1)))) do
        parity.close(few[i], many:narrow(2, 1, 3), {atol = 1e-12})
      end
    end)

    it("have the gradients that operators have, of sequences that end: " .. class, function()
      lucerna.manual_seed(5)
      local net = nn[class](6, 260, {bidirectional = true, dtype = lucerna.float64})
      local x = parity.leaf {5, 3, 6}
      local inputs = {x}
      for p in net:parameters() do inputs[#inputs + 1] = p end
      local packed = rnn.pack_padded_sequence(x, lucerna.tensor {5, 3, 2})
      local loss = parity.total(outputs_of(class, net(packed)))
      local operators = {lucerna.autograd.grad(loss, inputs, {create_graph = true})}
      for i, g in ipairs {lucerna.autograd.grad(loss, inputs)} do
        parity.close(g, operators[i]:detach(), {atol = 1e-10}, "gradient " .. i)
      end
    end)
  end
end)

describe("recurrent layers answer as PyTorch's do:", function()
  for i, case in ipairs(parity.load "rnn") do
    it(("%d %s"):format(i, case.repr), function()
      lucerna.manual_seed(case.seed)
      local options = {input_size = 3, hidden_size = 4}
      for key, value in pairs(case.options) do options[key] = value end
      local m = nn[case.class](options)
      assert.are.equal(case.repr, tostring(m))
      local keys = {}
      for name, t in pairs(m:state_dict()) do keys[#keys + 1] = {name, t:size()} end
      assert.are.same(case.state, keys)

      local leaves = {parity.tensor(case.input, {requires_grad = true})}
      for _, h in ipairs(case.hx) do
        leaves[#leaves + 1] = parity.tensor(h, {requires_grad = true})
      end
      local x = leaves[1]
      if case.lengths then
        x = rnn.pack_padded_sequence(x, case.lengths, {enforce_sorted = false})
      end
      local outputs = outputs_of(case.class, m(x, given({table.unpack(leaves, 2)})))
      assert.are.equal(#case.outputs, #outputs)
      for k, want in ipairs(case.outputs) do
        parity.close(outputs[k], parity.tensor(want), nil, "output " .. k)
      end
      parity.total(outputs):backward()
      for k, want in ipairs(case.grads) do
        parity.close(leaves[k].grad, parity.tensor(want), nil, "gradient " .. k)
      end
      local k = 0
      for name, p in m:named_parameters() do
        k = k + 1
        parity.close_sums(p.grad, case.weights[k], 2e-5, name)
      end
    end)
  end
end)

describe("recurrent layers", function()
  it("pass gradcheck and gradgradcheck", function()
    local d = {dtype = lucerna.float64, requires_grad = true}
    for _, class in ipairs {"RNN", "GRU", "LSTM"} do
      local m = nn[class](2, 3, {bidirectional = true, dtype = lucerna.float64})
      local x = lucerna.randn(3, 2, 2, d)
      local function f(t, w)
        return lucerna.func.functional_call(m, {weight_hh_l0 = w}, {t})
      end
      local w = m.weight_hh_l0:detach():clone():requires_grad_()
      parity.gradcheck(function(t, v) return (f(t, v)) end, {x, w})
      parity.gradgradcheck(function(t) return (m(t)) end, {x})
    end
  end)

  it("pass gradcheck for every parameter and state, packed and projected", function()
    local d = {dtype = lucerna.float64, requires_grad = true}
    for _, class in ipairs {"RNN", "GRU", "LSTM"} do
      local proj = class == "LSTM" and 2 or nil
      local m = nn[class](2, 3, {bidirectional = true, proj_size = proj, dtype = lucerna.float64})
      local names, inputs = {}, {lucerna.randn(6, 2, d), lucerna.randn(2, 3, proj or 3, d)}
      if class == "LSTM" then inputs[3] = lucerna.randn(2, 3, 3, d) end
      local first = #inputs
      for name, p in m:named_parameters() do
        names[#names + 1] = name
        inputs[#inputs + 1] = p:detach():clone():requires_grad_()
      end
      parity.gradcheck(function(...)
        local values, params = {...}, {}
        for i, name in ipairs(names) do params[name] = values[first + i] end
        local x = rnn.PackedSequence(values[1], lucerna.tensor({3, 2, 1}))
        local hx = first == 3 and {values[2], values[3]} or values[2]
        local y, last = lucerna.func.functional_call(m, params, {x, hx})
        local h, c = last, nil
        if first == 3 then h, c = last[1], last[2] end
        return y.data:sum() + (h * 2):sum() + (c and (c * 3):sum() or 0)
      end, inputs)
    end
  end)

  -- A gradient that is recorded goes step by step through operators, another through the kernel.
  it("have the same gradients from the kernel and from operators", function()
    lucerna.manual_seed(4)
    for _, case in ipairs {
      {"RNN", 3, 5, 7, 1}, {"RNN", 5, 40, 20, 20, nonlinearity = "relu"}, {"GRU", 4, 7, 3, 5},
      {"GRU", 4, 50, 12, 18}, {"LSTM", 3, 5, 4, 2}, {"LSTM", 8, 64, 30, 19},
      {"LSTM", 4, 50, 9, 16, proj_size = 20}, {"LSTM", 4, 50, 3, 1, proj_size = 20},
      {"LSTM", 4, 128, 1, 33}, {"GRU", 4, 150, 1, 35}, {"RNN", 4, 260, 1, 40}, {"GRU", 3, 6, 1, 34},
    } do
      local class, input, hidden, steps, batch = table.unpack(case)
      local m = nn[class](input, hidden, {bidirectional = true, proj_size = case.proj_size,
        nonlinearity = case.nonlinearity, dtype = lucerna.float64})
      local x = lucerna.randn(steps, batch, input, {dtype = lucerna.float64, requires_grad = true})
      local wanted = {x}
      for p in m:parameters() do wanted[#wanted + 1] = p end
      local y, state = m(x)
      local alone = lucerna.no_grad(function() return (m(x)) end)
      assert.is_true(lucerna.equal(y, alone), class .. " without gradients")
      local sum = y:pow(2):sum()
      for _, s in ipairs(class == "LSTM" and state or {state}) do sum = sum + s:exp():sum() end
      local fused = {lucerna.autograd.grad(sum, wanted, nil, {retain_graph = true})}
      local recorded = {lucerna.autograd.grad(sum, wanted, nil, {create_graph = true})}
      for i, g in ipairs(fused) do
        parity.close(recorded[i], g, {rtol = 1e-9, atol = 1e-11}, class .. " gradient " .. i)
      end
    end
  end)

  it("refuse weights of other shapes and types in one line", function()
    local x = lucerna.rand(5, 2, 3)
    for _, case in ipairs {
      {"LSTM", {}, "weight_hh_l0", lucerna.rand(4, 5),
        "in LSTM: lstm: expected weight_hh of shape [16, 4], got [4, 5]"},
      {"GRU", {}, "bias_hh_l0", lucerna.rand(3),
        "in GRU: gru: expected bias_hh of shape [12], got [3]"},
      {"RNN", {}, "weight_hh_l0", lucerna.rand(4, 4):double(),
        "in RNN: rnn: expected weight_hh of type float32, got float64"},
      {"GRU", {bias = false}, "weight_ih_l0", lucerna.rand(7, 3),
        "in GRU: gru: weight_ih must have 3 rows for every hidden unit"},
      {"LSTM", {proj_size = 2}, "weight_hr_l0", lucerna.rand(3, 4),
        "in LSTM: lstm: expected weight_hr of shape [2, 4], got [3, 4]"},
    } do
      local class, options, name, weight, message = table.unpack(case)
      local m = nn[class](3, 4, options)
      m[name] = nn.Parameter(weight)
      assert.matches(message, message_of(m, x), 1, true)
    end
  end)

  it("give the same for a packed batch and for its sequences alone", function()
    local m = nn.GRU(2, 3, {num_layers = 2, bidirectional = true})
    local a, b = lucerna.randn(4, 2), lucerna.randn(2, 2)
    local out, h = m(rnn.pack_sequence({b, a}, false))
    local padded, lengths = rnn.pad_packed_sequence(out)
    assert.are.same({2, 4}, lengths:tolist())
    local ya, ha = m(a)
    local yb, hb = m(b)
    parity.close(padded[{{}, 2}], ya)
    parity.close(padded[{{1, 2}, 1}], yb)
    parity.close(h:select(2, 2), ha)
    parity.close(h:select(2, 1), hb)
  end)

  it("run hooks, on packed batches too", function()
    local m, calls = nn.LSTM(2, 3), 0
    m:register_forward_hook(function(_, args, output)
      calls = calls + 1
      assert.are.equal(2, output.n)
      assert.are.equal(1, args.n)
      return output
    end)
    local _, state = m(lucerna.ones(2, 1, 2))
    assert.are.equal(2, #state)
    local packed = m(rnn.pack_sequence {lucerna.ones(2, 2)})
    assert.are.equal(2, packed.data:dim())
    assert.are.equal(2, calls)
  end)

  it("keeps dropout as a float", function()
    assert.equal("float", math.type(nn.LSTM(1, 2, {dropout = 0}).dropout))
    assert.equal("GRU(1, 2, num_layers=2, dropout=1.0)", tostring(nn.GRU(1, 2, 2, {dropout = 1})))
  end)

  it("begin anew with all their parameters, also those that others added", function()
    local Mine = nn.class("Mine", nn.RNN)
    function Mine:__init(...)
      nn.RNN.__init(self, ...)
      self.first = nn.Parameter(lucerna.ones(1, 4))
    end
    local utils = nn.utils
    for _, m in ipairs {utils.weight_norm(nn.GRU(2, 4), "weight_hh_l0"), Mine(2, 4),
      utils.parametrizations.weight_norm(nn.LSTMCell(2, 4), "weight_ih")} do
      lucerna.manual_seed(5)
      m:reset_parameters()
      lucerna.manual_seed(5)
      for name, p in m:named_parameters() do
        assert.is_true(lucerna.equal(p, lucerna.empty_like(p):uniform_(-0.5, 0.5)), name)
      end
    end
    local odd = nn.GRU(2, 4)
    odd.ids = nn.Parameter(lucerna.ones(1):to(lucerna.int64), false)
    local before = odd.weight_ih_l0:clone()
    parity.refused("reset_parameters: a parameter of GRU is int64", odd.reset_parameters, odd)
    assert.is_true(lucerna.equal(before, odd.weight_ih_l0))
  end)

  it("drop out between layers when training only", function()
    lucerna.manual_seed(1)
    local m = nn.RNN(2, 8, {num_layers = 2, dropout = 0.5})
    local x = lucerna.ones(3, 1, 2)
    local a, b = m(x), m(x)
    assert.is_false(lucerna.equal(a, b))
    m:eval()
    local c, d = m(x), m(x)
    assert.is_true(lucerna.equal(c, d))
    assert.are.equal(m, m:flatten_parameters() or m)
  end)

  it("refuse what does not fit, in PyTorch's words", function()
    local x = lucerna.ones(3, 2, 4)
    local m = nn.LSTM(4, 5)
    local cases = {
      {"LSTM: Expected input to be 2D or 3D, got 4D instead", m, lucerna.ones(1, 1, 1, 4)},
      {"LSTM: input.size(-1) must be equal to input_size. Expected 4, got 3", m,
        lucerna.ones(1, 1, 3)},
      {"LSTM: input must have the type float32, got type float64", m, x:double()},
      {"LSTM: Expected hidden[0] size (1, 2, 5), got [1, 3, 5]", m, x,
        {lucerna.ones(1, 3, 5), lucerna.ones(1, 2, 5)}},
      {"LSTM: Expected hidden[1] size (1, 2, 5), got [2, 2, 5]", m, x,
        {lucerna.ones(1, 2, 5), lucerna.ones(2, 2, 5)}},
      {"For batched 3-D input, hx and cx should also be 3-D but got 2-D tensor", m, x,
        {lucerna.ones(1, 5), lucerna.ones(1, 5)}},
      {"For unbatched 2-D input, hx should also be 2-D but got 3-D tensor", nn.GRU(4, 5),
        lucerna.ones(3, 4), lucerna.ones(1, 1, 5)},
      {"LSTM: hx must be a list of 2 tensors (got 1)", m, x, {lucerna.ones(1, 2, 5)}},
      {"Expected sequence length to be larger than 0 in RNN", m, lucerna.ones(0, 2, 4)},
      {"GRUCell: Expected input to be 1D or 2D, got 3D instead", nn.GRUCell(4, 5), x},
      {"RNNCell: input has inconsistent input_size: got 3 expected 4", nn.RNNCell(4, 5),
        lucerna.ones(2, 3)},
      {"RNNCell: Input batch size 2 doesn't match hidden0 batch size 3", nn.RNNCell(4, 5),
        lucerna.ones(2, 4), lucerna.ones(3, 5)},
      {"LSTMCell: hidden1 has inconsistent hidden_size: got 6, expected 5", nn.LSTMCell(4, 5),
        lucerna.ones(2, 4), {lucerna.ones(2, 5), lucerna.ones(2, 6)}},
    }
    for _, case in ipairs(cases) do
      assert.matches(case[1], message_of(case[2], table.unpack(case, 3)), 1, true)
    end
    local made = {
      {"input_size must be greater than zero (got 0)", {0, 4}},
      {"hidden_size must be greater than zero", {4, 0}},
      {"num_layers must be greater than zero", {4, 4, {num_layers = 0}}},
      {"dropout should be a number in range [0, 1]", {4, 4, {dropout = 2}}},
      {"proj_size has to be smaller than hidden_size", {4, 4, {proj_size = 4}}},
      {"proj_size should be a positive integer or zero", {4, 4, {proj_size = -1}}},
    }
    for _, case in ipairs(made) do
      assert.matches(case[1], message_of(nn.LSTM, table.unpack(case[2])), 1, true)
    end
    assert.matches("unknown argument 'proj_size'",
      message_of(nn.GRU, 4, 4, {proj_size = 2}), 1, true)
    assert.matches("GRU: input must be a Tensor or a PackedSequence (got table)",
      message_of(nn.GRU(4, 4), {}), 1, true)
    assert.matches('Module [RNNBase] is missing the required "forward" function',
      message_of(nn.RNNBase("GRU", 4, 4), x), 1, true)
  end)
end)
