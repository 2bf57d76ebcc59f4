-- What the out-of-memory sweep runs with complex tensors: parts and back, arithmetic between
-- dtypes, functions, sums, products, writes through views, factorizations and layers, with
-- gradients; a step; a file.
-- Returns the scenario as a function.
local lucerna = require "lucerna"
local linalg, F = lucerna.linalg, lucerna.nn.functional

local path = os.tmpname() -- here, where no allocation is refused that would leave it

local function scenario()
  local x = lucerna.tensor({1, 2, 0.5, -1, 3, 0.25}, {dtype = lucerna.float64}):requires_grad_()
  local z = lucerna.complex(x:reshape(2, 3), x:reshape(2, 3) * 2)
  local w = lucerna.tensor({{1, 2}, {3, -1}, {0.5, 0}}, {dtype = lucerna.complex64})
  local sum = (z * w + 1 / z - z:pow(2)):exp():sum():abs()
  sum = sum + z:matmul(z.H):abs():sum() + z:prod(2):abs():sum() + z:cumprod(1).imag:sum()
  sum = sum + z:mv(z[1]):abs():sum() + (z:t():mm(z) + z[1]:dot(z[2])):abs():sum()
  sum = sum + z:var() + z:norm() + z:angle():sum() + (z:conj() + z:mean()).real:sum()
  sum:backward()
  local y = z:detach():clone():requires_grad_()
  local v = y * 1
  v.imag = 2
  lucerna.view_as_real(v)[1] = 1
  v:abs():sum():backward()
  local a = y:matmul(y.mH) + lucerna.eye(2)
  sum = linalg.cholesky(a):abs():sum() + linalg.eigvalsh(a):sum() + linalg.det(a):abs()
  sum = sum + linalg.solve(a, y):abs():sum() + linalg.svdvals(y):sum() + linalg.pinv(y):abs():sum()
  sum = sum + (linalg.qr(y.mT)):abs():sum() + (linalg.lstsq(a, y, {driver = "gelsd"})):abs():sum()
  sum = sum + F.conv1d(y, y:unsqueeze(1):narrow(3, 1, 2), y[1][{{1, 1}}]):abs():sum()
  sum = sum + F.fold(F.unfold(y:reshape(1, 1, 2, 3), 2), {2, 3}, 2):abs():sum()
  sum = sum + F.embedding(lucerna.tensor {2, 1}, y):abs():sum() + F.l1_loss(y, y:detach() * 2)
  sum = sum + (F.silu(y) + F.softsign(y) + F.tanhshrink(y)):abs():sum()
  sum:backward()
  assert(y:to(lucerna.complex64):bool():all() and not y:eq(0):any():item())
  lucerna.optim.Adam({y}):step()
  tostring(y)
  y:detach():tolist()
  lucerna.save({y = y}, path)
  lucerna.load(path)
  os.remove(path)
end

return scenario
