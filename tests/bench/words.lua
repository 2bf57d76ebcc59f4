-- The words of operators.lua's rows: w is wanted a gradient of, p positive, ids count from 1 to n.
-- Others are lucerna's functions and tensors' methods. `leaves` gets what is wanted gradients of.

return function(lucerna, leaves)
  local W = { F = lucerna.nn.functional }
  local function maker(make, dtype)
    return function(...) return make({ ... }):to(dtype) end
  end
  local function positive(size) return lucerna.rand(size) * 0.9 + 0.05 end
  local function whole(size) return lucerna.randint(1, 20, size) end
  W.f32, W.f64 = maker(lucerna.randn, lucerna.float32), maker(lucerna.randn, lucerna.float64)
  W.h16, W.b16 = maker(lucerna.randn, lucerna.float16), maker(lucerna.randn, lucerna.bfloat16)
  W.p32, W.p64 = maker(positive, lucerna.float32), maker(positive, lucerna.float64)
  W.i64, W.i32 = maker(whole, lucerna.int64), maker(whole, lucerna.int32)
  W.u8, W.c64 = maker(whole, lucerna.uint8), maker(lucerna.randn, lucerna.complex64)
  function W.b8(...) return lucerna.rand({ ... }):gt(0.5) end
  function W.w(x, ...)
    x = (math.type(x) and lucerna.randn(x, ...) or x):requires_grad_()
    leaves[#leaves + 1] = x
    return x
  end
  function W.ids(n, ...) return lucerna.randint(1, n + 1, { ... }) end
  function W.list(...) return { ... } end
  function W.scalar(value) return lucerna.tensor(value) end
  function W.turned(x) return x:transpose(-1, -2) end
  function W.inside(x) return x:narrow(-1, 2, x:size(-1) - 2) end -- all but both ends of rows
  function W.every(n, x) -- n-th of each row
    local index = {}
    for d = 1, x:dim() - 1 do index[d] = {} end
    index[x:dim()] = { 1, -1, n }
    return x[index]
  end
  function W.eval(layer) return layer:eval() end
  function W.grid(a, b, c) return lucerna.rand(a, b, c, 2) * 2 - 1 end
  function W.definite(n)
    local x = lucerna.randn(n, n)
    return x:mm(x:t()) + lucerna.eye(n) * n
  end
  function W.pooled(...)
    return select(2, W.F.max_pool2d(lucerna.randn(...), 2, { return_indices = true }))
  end
  function W.all16(value)
    local list = {}
    for i = 1, 16 do list[i] = value end
    return list
  end
  return setmetatable(W, { __index = function(_, name)
    return lucerna[name] or function(x, ...) return x[name](x, ...) end
  end })
end
