-- Gradients of tables of which few rows were looked up: optimizers go through those rows alone.
-- Elsewhere they are tensors like others.

local lucerna = require "lucerna"
local parity = require "parity"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional
local recorded = parity.load "optim_rows"

local ROWS, WIDTH, PADDING = 40000, 32, 5

local function weights(dtype)
  local at = lucerna.arange(ROWS, {dtype = lucerna.float64}):unsqueeze(2) * 0.5
    + lucerna.arange(WIDTH, {dtype = lucerna.float64}) + 1
  return at:sin():to(lucerna[dtype or "float32"]):requires_grad_()
end

local function lookup(w, list, options) return F.embedding(lucerna.tensor(list), w, options) end

local function nonzero_rows(grad) return grad:ne(0):any(2):nonzero():squeeze(2):tolist() end

describe("the gradient of a table", function()
  for _, case in ipairs(recorded) do
    local title = ("%s %s %s"):format(case.kind, case.dtype, case.options.maximize and "up" or "")
    it("moves what PyTorch's sparse one moves: " .. title, function()
      local w = weights(case.dtype)
      local o = optim[case.kind]({w}, case.options)
      for k, step in ipairs(recorded.steps) do
        o:zero_grad()
        local scale = lucerna.ones(#step[1], 1, {dtype = w.dtype})
        scale[1] = 0
        local one = lookup(w, step[1], {padding_idx = PADDING, sparse = true}) * scale
        local two = lookup(w, step[2], {padding_idx = PADDING, sparse = true});
        (one:square():sum() + two:square():mean()):backward()
        o:step()
        local got = w:detach():index_select(1, lucerna.tensor(recorded.shown)):narrow(2, 1, 2)
        for i, row in ipairs(got:tolist()) do
          for j = 1, 2 do assert.is_near(case.values[k][i][j], row[j], 2e-6) end
        end
      end
    end)
  end

  it("is the sum of what was looked up", function()
    for _, dtype in ipairs {"float32", "float64", "float16", "bfloat16"} do
      local w, list = weights(dtype), {7, 3, 7, PADDING, ROWS, 7}
      local pull = lucerna.randint(-9, 9, {#list, WIDTH}):to(w.dtype)
      for _, by_count in ipairs {false, true} do
        w.grad = nil;
        (lookup(w, list, {padding_idx = PADDING, scale_grad_by_freq = by_count}) * pull):sum()
          :backward()
        local want = pull[1] + pull[3] + pull[6]
        assert.is_true(lucerna.allclose(by_count and want / 3 or want, w.grad[7], 1e-3))
        assert.is_true(w.grad[3]:equal(pull[2]))
        assert.is_true(w.grad[ROWS]:equal(pull[5]))
        assert.are.same({3, 7, ROWS}, nonzero_rows(w.grad))
      end
      w.grad = nil
      F.embedding_bag(lucerna.tensor {{2, 9}, {9, 4}}, w, {mode = "sum"}):sum():backward()
      assert.are.same({2, 4, 9}, nonzero_rows(w.grad))
      assert.are.equal(2, w.grad[9][1]:item())
    end
  end)

  it("keeps nothing of those before it", function()
    local w = weights()
    local ways = {
      function() end,
      function(g) g:add_(1) end,
      function(g) g.data:fill_(2) end,
      function(g) g[17]:fill_(3) end,
      function(g) g.data[18] = 4 end,
      function(g) lucerna.from_dlpack(lucerna.to_dlpack(g)):mul_(5):add_(1) end,
      function(g) g:zero_() end,
      function(g) g:resize_(3, WIDTH):fill_(6) end,
    }
    for _, write in ipairs(ways) do
      for _, list in ipairs {{1, 2}, {2, 30000}} do
        w.grad = nil
        collectgarbage()
        lookup(w, list):sum():backward()
        assert.are.same(list, nonzero_rows(w.grad))
        assert.are.equal(2 * WIDTH, w.grad:sum():item())
      end
      lucerna.no_grad(write, w.grad)
      w.grad:release()
    end
  end)

  it("is followed where somebody has written to it", function()
    local ways = {
      function(g) g[17]:fill_(1) end,
      function(g) g.data[17] = 1 end,
      function(g) lucerna.from_dlpack(lucerna.to_dlpack(g))[17] = 1 end,
    }
    for _, kind in ipairs {"SGD", "Adagrad", "SparseAdam"} do
      for _, write in ipairs(ways) do
        local w = weights()
        local before = w:detach():clone()
        lookup(w, {1, 2}):sum():backward()
        write(w.grad)
        optim[kind]({w}, {lr = 0.5}):step()
        assert.are.same({1, 2, 17}, nonzero_rows(w:detach() - before))
      end
    end
  end)

  it("adds up over lookups and passes", function()
    local w = weights();
    (lookup(w, {1, 2}):sum() + lookup(w, {2, 40}):sum()):backward()
    lookup(w, {3, 40}):sum():backward()
    assert.are.same({1, 2, 3, 40}, nonzero_rows(w.grad))
    assert.are.same({1, 2, 1, 2}, w.grad:index_select(1, lucerna.tensor {1, 2, 3, 40}):select(2, 1)
      :tolist())
    local held = w.grad -- seen by somebody else
    lookup(w, {5}):sum():backward()
    assert.are.equal(1, held[5][1]:item())
    w.grad:mul_(2)
    lookup(w, {6}):sum():backward()
    assert.are.same({1, 2, 3, 5, 6, 40}, nonzero_rows(w.grad))
    assert.are.equal(4, w.grad[2][1]:item())
    w:square():sum():backward()
    assert.are.equal(ROWS, #nonzero_rows(w.grad))
  end)

  it("of halves is one of its rows, rounded once, added and clipped as any other", function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local w = weights(dtype)
      local function grad(list, values)
        w.grad = nil;
        (lookup(w, list) * lucerna.tensor(values, {dtype = w.dtype}):unsqueeze(2)):sum():backward()
        return w.grad
      end
      local step = dtype == "float16" and 2048 or 256 -- neighbours are 2 apart from here on
      assert.are.equal(step + 2, grad({3, 3, 3}, {step, 1, 1})[3][1]:item())
      assert.are.equal(math.huge, grad({3, 4}, {math.huge, 1})[3][1]:item())
      assert.is_true(grad({3, 4}, {0 / 0, 1})[3]:isnan():all():item())
      grad({2, 9}, {1, 2})
      lookup(w, {9, 11}):sum():backward()
      assert.are.same({2, 9, 11}, nonzero_rows(w.grad))
      assert.are.equal(3, w.grad[9][WIDTH]:item())
      local norm = math.sqrt(WIDTH * (1 + 9 + 1))
      assert.is_near(norm, nn.utils.clip_grad_norm_({w}, 0.5):item(), 0.1)
      assert.is_near(1.5 / norm, w.grad[9][WIDTH]:item(), 2e-3)
      assert.are.same({2, 9, 11}, nonzero_rows(w.grad))
      local v = lucerna.ones(100, 301, {dtype = w.dtype}):requires_grad_();
      (lookup(v, {1, 4}):sum() + lookup(v, {4, 5}):sum()):backward()
      assert.are.same({1, 2, 1}, v.grad:index_select(1, lucerna.tensor {1, 4, 5}):select(2, 301)
        :tolist())
    end
  end)

  it("meets decay and momentum in every row", function()
    for _, options in ipairs {{lr = 0.1, weight_decay = 0.1}, {lr = 0.1, momentum = 0.9}} do
      local w = weights()
      local before, o = w:detach():clone(), optim.SGD({w}, options)
      for _, list in ipairs {{1}, {2}} do
        o:zero_grad()
        lookup(w, list):sum():backward()
        o:step()
      end
      local moved = options.momentum and 2 or ROWS
      assert.are.equal(moved, #nonzero_rows(w:detach() - before))
      if options.momentum then
        assert.is_near(-0.19, (w:detach() - before)[1][1]:item(), 1e-6)
      end
    end
  end)

  it("is clipped by its rows #slow", function()
    for _, order in ipairs {2, 1, 3, math.huge, -math.huge, 0} do
      local w, v = weights(), weights()
      for _, t in ipairs {w, v} do (lookup(t, {1, 2, 2}):square():sum() * 3):backward() end
      v.grad = v.grad:clone()
      local clip = nn.utils.clip_grad_norm_
      local norm, want = clip({w}, 0.5, order), clip({v}, 0.5, order)
      assert.is_true(lucerna.allclose(want, norm))
      assert.is_true(lucerna.allclose(v.grad, w.grad))
      lookup(w, {9}):sum():backward() -- its rows are still known
      optim.SparseAdam({w}, {lr = 0.1}):step()
      local moved = nonzero_rows(w:detach() - weights():detach())
      assert.are.same({1, 2, 9}, moved)
    end
    local w = weights()
    lookup(w, {1}):sum():backward()
    w.grad[1][1] = 0 / 0
    assert.has_error(function() nn.utils.clip_grad_norm_({w}, 1, {error_if_nonfinite = true}) end)
    assert.is_true(nn.utils.clip_grad_norm_({w}, 1):isnan():item())
    assert.is_true(w.grad:isnan():all():item())
  end)

  it("of nothing, or of nothing but padding, is zero", function()
    local w = weights()
    for _, list in ipairs {lucerna.zeros(0, {dtype = lucerna.int64}), lucerna.tensor {PADDING}} do
      w.grad = nil
      F.embedding(list, w, {padding_idx = PADDING}):sum():backward()
      assert.are.same({}, nonzero_rows(w.grad))
      optim.SGD({w}, {lr = 1}):step()
    end
    assert.is_true(w:equal(weights()))
  end)

  it("is no different to a module's step", function()
    local moved = {}
    for k, copied in ipairs {false, true} do
      lucerna.manual_seed(1)
      local e = nn.Embedding(ROWS, WIDTH, {sparse = true})
      local o = optim.SGD(e:parameters(), {lr = 0.1})
      for step = 1, 3 do
        o:zero_grad()
        e(lucerna.tensor {step, 2 * step, 9}):square():sum():backward()
        if copied then e.weight.grad = e.weight.grad:clone() end
        o:step()
      end
      moved[k] = e.weight:detach()
    end
    assert.is_true(moved[1]:equal(moved[2]))
  end)
end)
