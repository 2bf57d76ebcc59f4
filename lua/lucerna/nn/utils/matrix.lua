-- The matrix functions that orthogonal parametrizations need, from smaller operators, with
-- gradients: the exponential, linear systems, Householder reflections. Matrices are the last two
-- dimensions: [*, n, n], [*, n, k].

local lucerna = require "lucerna"
local autograd = require "lucerna.autograd"

local matrix = {}

local DEGREE = 14 -- of the Taylor polynomial: 0.5^15 / 15! is below float64's precision

--- exp(a): the matrix exponential, by scaling and squaring.
function matrix.exp(a)
  local n = a:size(-1)
  if a:numel() == 0 then return a:clone() end
  local largest = a:detach():abs():sum(-1):max():item()
  local squarings = 0
  while largest > 0.5 and largest < math.huge do
    largest, squarings = largest / 2, squarings + 1
  end
  local x = a / 2.0 ^ squarings
  local identity = lucerna.eye(n, { dtype = a.dtype })
  local result = identity + x / DEGREE
  for k = DEGREE - 1, 1, -1 do result = identity + x:matmul(result) / k end
  for _ = 1, squarings do result = result:matmul(result) end
  return result
end

-- Gauss-Jordan elimination with partial pivoting of [n, n + k]; a becomes the identity.
local function eliminate(both, n)
  for j = 1, n do
    local column = both:select(2, j)
    local pivot = column:narrow(1, j, n - j + 1):abs():argmax():item() + j - 1
    if pivot ~= j then
      local row = both[pivot]:clone()
      both[pivot] = both[j]:clone()
      both[j] = row
    end
    local row = both[j] / column[j]
    local factors = column:clone()
    factors[j] = 0
    both:sub_(factors:outer(row))
    both[j] = row
  end
  return both
end

local function solve_each(a, b)
  local n, k = a:size(-1), b:size(-1)
  local left, right, list = a:reshape(-1, n, n), b:reshape(-1, n, k), {}
  for i = 1, left:size(1) do
    local both = lucerna.cat({ left[i], right[i] }, 2)
    list[i] = eliminate(both, n):narrow(2, n + 1, k)
  end
  return lucerna.stack(list):reshape(b:size())
end

local Solve
Solve = autograd.Function("solve", {
  forward = function(ctx, a, b)
    local x = solve_each(a, b)
    ctx:save_for_backward(a, x)
    return x
  end,
  backward = function(ctx, grad)
    local a, x = table.unpack(ctx.saved_tensors)
    local grad_b = Solve.apply(a.mT, grad)
    return -grad_b:matmul(x.mT), grad_b
  end,
})

--- solve(a, b): the x of a x = b.
function matrix.solve(a, b) return Solve.apply(a, b) end

-- One matrix: reflectors below the diagonal, R on and above it, and their factors.
local function geqrf(a)
  local n, k = a:size(1), a:size(2)
  a = a:clone()
  local tau = a:new_zeros(math.min(n, k))
  for j = 1, math.min(n, k) do
    local alpha, norm = a[{ j, j }]:item(), 0.0
    local below = n > j and a:select(2, j):narrow(1, j + 1, n - j)
    if below then norm = below:norm():item() end
    if norm > 0 then
      local beta = math.sqrt(alpha * alpha + norm * norm)
      if alpha >= 0 then beta = -beta end
      local factor = (beta - alpha) / beta
      below:div_(alpha - beta)
      a[{ j, j }], tau[j] = beta, factor
      if j < k then
        local v = lucerna.cat { a:new_ones(1), below }
        local rest = a:narrow(1, j, n - j + 1):narrow(2, j + 1, k - j)
        rest:sub_(v:outer(rest:t():mv(v)) * factor)
      end
    end
  end
  return a, tau
end

--- geqrf(a): LAPACK's QR: Householder vectors below the diagonal with R above, and tau [*, k]. Not
-- differentiable.
function matrix.geqrf(a)
  local _ <close> = lucerna.no_grad()
  local n, k = a:size(-2), a:size(-1)
  local flat, reflectors, factors = a:reshape(-1, n, k), {}, {}
  for i = 1, flat:size(1) do reflectors[i], factors[i] = geqrf(flat[i]) end
  local shape = a:size()
  table.remove(shape)
  shape[#shape] = math.min(n, k)
  return lucerna.stack(reflectors):reshape(a:size()), lucerna.stack(factors):reshape(shape)
end

--- householder_product(a, tau): the first k columns of the product of the reflections
-- 1 - tau[i] v v', where v is column i of a below the diagonal and 1 on it.
function matrix.householder_product(a, tau)
  local n, k = a:size(-2), a:size(-1)
  local identity = lucerna.eye(n, k, { dtype = a.dtype })
  local vectors = a:tril(-1) + identity
  local q = identity:expand(a:size())
  for i = k, 1, -1 do
    local v = vectors:narrow(-1, i, 1)
    q = q - tau:narrow(-1, i, 1):unsqueeze(-1) * v:matmul(v:transpose(-2, -1):matmul(q))
  end
  return q
end

return matrix
