-- autograd.Function: operators of Lua with a backward of their own.
local lucerna = require "lucerna"
local parity = require "parity"
local Exp = require("functions").Exp
local autograd, leaf = lucerna.autograd, parity.leaf_with

describe("autograd.Function", function()
  it("has a backward of its own", function()
    local x = leaf { 0, 1 }
    local y = Exp.apply(x)
    assert.equal("ExpBackward", y.grad_fn:name():match("^ExpBackward"))
    y:sum():backward()
    assert.same(x:detach():exp():tolist(), x.grad:tolist())
    assert.equal(1.0, x.grad[1]:item())
    assert.near(math.exp(1), x.grad[2]:item(), 2 ^ -51) -- an ulp
  end)

  it("has saved nothing while forward runs, and nothing more after it", function()
    local saved, context
    local Peeking = autograd.Function("Peeking", {
      forward = function(ctx, x)
        ctx:save_for_backward(x)
        saved, context = ctx.saved_tensors, ctx
        return x * 2
      end,
      backward = function(ctx, g) return g * #ctx.saved_tensors end,
    })
    local x = leaf { 0, 1 }
    local y = Peeking.apply(x):sum()
    context:save_for_backward(x, y)
    y:backward()
    assert.same({}, saved)
    assert.same({ 1.0, 1.0 }, x.grad:tolist())
  end)

  it("agrees with finite differences, twice", function()
    local x = parity.leaf(2, 3)
    parity.gradcheck(Exp.apply, { x })
    parity.gradgradcheck(Exp.apply, { x })
  end)

  it("takes and returns several values, tensors or not", function()
    local Scale = autograd.Function("Scale", {
      forward = function(ctx, a, factor, b)
        ctx.factor = factor
        assert.same({ true, false, false }, ctx.needs_input_grad)
        return a * factor, b + 1, "text"
      end,
      backward = function(ctx, ga, gb)
        assert.same({ 0.0 }, gb:tolist())
        return ga * ctx.factor, nil, gb
      end,
    })
    local x = leaf { 2 }
    local a, b, text = Scale.apply(x, 5, lucerna.ones(1, { dtype = lucerna.float64 }))
    assert.equal("text", text)
    assert.same({ 2.0 }, b:tolist())
    a:sum():backward()
    assert.same({ 5.0 }, x.grad:tolist())
  end)

  it("may mark outputs that have no gradient", function()
    local Sign = autograd.Function("Sign", {
      forward = function(ctx, x)
        local y = x * 0 + 1
        ctx:mark_non_differentiable(y)
        return x * 2, y
      end,
      backward = function(_, g) return g * 2 end,
    })
    local twice, sign = Sign.apply(leaf { 3 })
    assert.is_true(twice.requires_grad)
    assert.is_false(sign.requires_grad)
  end)

  it("gets zeros for outputs without a gradient, or nil when it asks for that", function()
    local seen
    local function pair(materialize)
      return autograd.Function("Pair", {
        forward = function(ctx, x)
          ctx:set_materialize_grads(materialize)
          return x * 2, x * 3
        end,
        backward = function(_, a, b)
          seen = b
          return a * 2
        end,
      })
    end
    for _, materialize in ipairs { true, false } do
      local x = leaf { 1, 2 }
      local twice = pair(materialize).apply(x)
      twice:sum():backward()
      assert.same({ 2.0, 2.0 }, x.grad:tolist())
      assert.same(materialize and { 0.0, 0.0 } or nil, seen and seen:tolist())
    end
  end)

  it("may set its context up apart from forward", function()
    local Scale = autograd.Function("Scale", {
      forward = function(x, factor) return x * factor, x + factor end,
      setup_context = function(ctx, inputs, output)
        assert.same({ 2, 2 }, { inputs.n, output.n })
        assert.is_false(lucerna.is_grad_enabled())
        ctx.factor = inputs[2]
        ctx:save_for_backward(inputs[1])
        ctx:mark_non_differentiable(output[2])
      end,
      backward = function(ctx, g)
        assert.same({ 1.0, 2.0 }, ctx.saved_tensors[1]:tolist())
        return g * ctx.factor
      end,
    })
    local x = leaf { 1, 2 }
    local y, z = Scale.apply(x, 3)
    assert.is_false(z.requires_grad)
    y:sum():backward()
    assert.same({ 3.0, 3.0 }, x.grad:tolist())
    local Square = autograd.Function("Square", {
      forward = function(t) return t * t end,
      setup_context = function(ctx, inputs, output)
        assert.equal(2, output:numel())
        ctx:save_for_backward(inputs[1])
      end,
      backward = function(ctx, g) return 2 * g * ctx.saved_tensors[1] end,
    })
    parity.gradgradcheck(Square.apply, { x })
    parity.refused("Function: Odd: setup_context must be a function (got boolean)",
      autograd.Function, "Odd", { forward = print, backward = print, setup_context = true })
  end)

  it("may write an input that it marks as dirty and returns", function()
    local Scale = autograd.Function("Scale", {
      forward = function(ctx, x, other)
        x:mul_(other)
        ctx:mark_dirty(x)
        ctx:save_for_backward(x, other)
        return x, x + 1
      end,
      backward = function(ctx, g, h)
        local y, other = table.unpack(ctx.saved_tensors)
        return (g + h) * other, (g + h) * y / other
      end,
    })
    local x, other = leaf { 1, 2 }, leaf { 3, 5 }
    local y = x * 1
    local part = y[{ { 2, 2 } }]
    local z, more = Scale.apply(y, other)
    assert.is_true(z == y)
    assert.same({ 3.0, 10.0 }, y:tolist());
    (y * y + more + 0):sum():backward()
    assert.same({ 21.0, 105.0 }, x.grad:tolist())
    assert.same({ 7.0, 42.0 }, other.grad:tolist())
    assert.same({ 10.0 }, part:tolist())

    x.grad, other.grad = nil, nil
    y = x * 1
    Scale.apply(y[{ { 2, 2 } }], other[{ { 2, 2 } }]) -- through a view
    y:sum():backward()
    assert.same({ 1.0, 5.0 }, x.grad:tolist())
    local plain = lucerna.ones(2, { dtype = lucerna.float64 })
    Scale.apply(plain, other)
    assert.is_true(plain.requires_grad)
    parity.refused("a leaf Variable that requires grad is being used in an in-place operation",
      Scale.apply, x, other)
    local Lost = autograd.Function("Lost", {
      forward = function(ctx, t) ctx:mark_dirty(t:add_(1)) return t * 2 end,
      backward = function(_, g) return g * 2 end,
    })
    parity.refused("Lost: input 1 was marked as dirty and is not returned", Lost.apply, other * 1)
    assert.same({ 2.0, 2.0 }, lucerna.no_grad(Lost.apply, lucerna.zeros(2)):tolist())
  end)

  it("may mark any of many outputs, and keep them and what follows them", function()
    local Many = autograd.Function("Many", {
      forward = function(ctx, x)
        local list = { "text" }
        for k = 1, 70 do list[#list + 1] = x * k end
        ctx:mark_non_differentiable(table.unpack(list, 2, 70))
        ctx:save_for_backward(list[3], list[71])
        return table.unpack(list, 1, #list)
      end,
      backward = function(ctx, ...)
        local flat, last = table.unpack(ctx.saved_tensors)
        assert.is_false(flat.requires_grad)
        assert.is_true(last.requires_grad)
        assert.same({ 0.0 }, (select(70, ...)):tolist())
        return (select(71, ...)) * last
      end,
    })
    local x = leaf { 2 }
    local results = table.pack(Many.apply(x))
    for k = 2, 70 do assert.is_false(results[k].requires_grad) end
    local g = autograd.grad(results[71], x, { create_graph = true })
    assert.same({ 140.0 }, g:tolist())
    assert.same({ 140.0 }, autograd.grad(g, x):tolist())
  end)

  it("records nothing inside no_grad or when no input requires a gradient", function()
    assert.is_false(Exp.apply(lucerna.ones(1)).requires_grad)
    assert.is_false(lucerna.no_grad(Exp.apply, leaf { 1 }).requires_grad)
  end)

  it("passes errors of its backward on as they are", function()
    local thrown = {}
    local Bad = autograd.Function("Bad", {
      forward = function(_, x) return x * 1 end,
      backward = function() error(thrown) end,
    })
    local ok, err = pcall(function() Bad.apply(leaf { 1 }):sum():backward() end)
    assert.is_false(ok)
    assert.is_true(rawequal(thrown, err))
  end)

  it("notices saved tensors that were changed in place", function()
    local Square = autograd.Function("Square", {
      forward = function(ctx, x)
        ctx:save_for_backward(x)
        return x * x
      end,
      backward = function(ctx, g) return g * 2 * ctx.saved_tensors[1] end,
    })
    local x = leaf { 1 }
    local base = x * 2
    local y = Square.apply(base)
    base:add_(1)
    parity.refused("modified by an inplace operation", function() y:sum():backward() end)
  end)

  it("leaves nothing behind when its graph is dropped without backward", function()
    local function run()
      for _ = 1, 50 do
        local x = lucerna.zeros(4096, { requires_grad = true })
        local _ = Exp.apply(x)
      end
      collectgarbage()
      collectgarbage()
    end
    run()
    local before = lucerna.memory().live
    run()
    assert.is_true(lucerna.memory().live <= before + 40000)
  end)

  it("is collected in time where only its graph is left, or a cycle through it #slow", function()
    local alive = setmetatable({}, { __mode = "k" })
    local Noted = autograd.Function("Noted", {
      forward = function(ctx, x)
        alive[ctx] = true
        return x * 2
      end,
      backward = function(_, g) return g * 2 end,
    })
    local x, kept = leaf { 1 }, Exp.apply(leaf { 2 })
    local function most_alive(call)
      local most = 0
      for i = 1, 5000 do
        call()
        local n = 0
        for _ in pairs(i % 250 == 0 and alive or {}) do n = n + 1 end
        most = math.max(most, n)
      end
      return most
    end
    local function drop() local _ = Noted.apply(x) end
    local function drop_cycle()
      local y = Noted.apply(x)
      y:register_hook(function() return y end)
    end
    local mode = collectgarbage("incremental")
    for _, other in ipairs { "incremental", "generational" } do
      collectgarbage(other)
      assert.is_true(most_alive(drop) < 3000)
      assert.is_true(most_alive(drop_cycle) < 3000)
    end
    collectgarbage(mode)
    kept:sum():backward() -- what is in use stays
    assert.equal("ExpBackward", kept.grad_fn:name():match("^ExpBackward"))
  end)

  it("may be differentiable once", function()
    local recorded = {}
    local Product = autograd.Function("Product", {
      forward = function(ctx, x, _, y)
        ctx:save_for_backward(x, y)
        return x * y
      end,
      backward = autograd.once_differentiable(function(ctx, g)
        recorded[#recorded + 1] = lucerna.is_grad_enabled()
        local x, y = table.unpack(ctx.saved_tensors)
        return g * y, nil, g * x
      end),
    })
    local x, y = leaf { 3, 4 }, leaf { 5, 6 }
    Product.apply(x, "by", y):sum():backward()
    assert.same({ 5, 6 }, x.grad:tolist())
    assert.same({ 3, 4 }, y.grad:tolist())
    local first = autograd.grad(Product.apply(x, "by", y):sum(), x, { create_graph = true })
    assert.is_false(first.requires_grad) -- the gradient that came to it has no history
    local outer = Product.apply(x * x, "by", y)
    local gx, gy = autograd.grad((outer * outer):sum(), { x, y }, { create_graph = true })
    assert.same({ 4 * 27 * 25, 4 * 64 * 36 }, gx:tolist())
    assert.same({ 2 * 81 * 5, 2 * 256 * 6 }, gy:tolist())
    for _, g in ipairs { gx, gy } do
      parity.refused("trying to differentiate twice a function that was marked with "
        .. "once_differentiable", function() g:sum():backward { retain_graph = true } end)
    end
    assert.same({ false, false, false }, recorded)
    parity.refused("once_differentiable: backward must be a function (got nil)",
      autograd.once_differentiable)
  end)

  it("leaves fields of its context to the user", function()
    local names = { "_class", "_saved", "_versions", "_outputs", "_positions", "_shapes", "_unpack",
      "_function", "_vmap", "_materialize", "_non_differentiable" }
    local Keeps = autograd.Function("Keeps", {
      forward = function(ctx, x)
        for i, name in ipairs(names) do ctx[name] = { i } end
        ctx:save_for_backward(x)
        return x * x, x + 1
      end,
      backward = function(ctx, g, h)
        for i, name in ipairs(names) do assert.same({ i }, ctx[name]) end
        return 2 * g * ctx.saved_tensors[1] + h
      end,
    })
    local x = lucerna.tensor({ 3., 4 }, { requires_grad = true })
    local y, z = Keeps.apply(x)
    local sum = (y + z):sum()
    sum:backward()
    assert.same({ 7, 9 }, x.grad:tolist())
  end)

  it("says what a method of its context was not given", function()
    local ctx
    autograd.Function("Shows", {
      forward = function(c, x)
        ctx = c
        return x * 1
      end,
      backward = function(_, g) return g end,
    }).apply(leaf { 1 })
    for _, method in ipairs { "save_for_backward", "mark_dirty", "mark_non_differentiable" } do
      parity.refused(method .. ": expected tensors or nil (argument 2 is a number)", ctx[method],
        ctx, lucerna.ones(1), 3)
      for _, self in ipairs { lucerna.ones(1), {}, 3 } do
        parity.refused(("Function.%s: must be called with a colon, ctx:%s(...)"):format(method,
          method), ctx[method], self)
      end
    end
    parity.refused("set_materialize_grads: value must be a boolean (got nil)",
      ctx.set_materialize_grads, ctx)
  end)

  it("says what a definition lacks", function()
    parity.refused("Function: Half: backward must be a function (got nil)",
      autograd.Function, "Half", { forward = function() end })
  end)
end)
