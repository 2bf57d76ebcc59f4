-- Benchmarks of single calls on tensors of a few elements: what the binding, the parser of
-- arguments and the door cost for each kind of call. A benchmark is its code; small.py has the
-- same in Python. None may cost more than half of PyTorch's; those of EVEN, whose floor is Lua's
-- own (a call of C, a table) or which do much at once, no more than PyTorch's.

local CODE = {
  -- unary, binary, comparisons
  "x:exp()", "-x", "x + y", "x + 1", "x:add(y, {alpha = 2})", "x:add_(y)", "x:lt(y)", "x:gt(0.5)",
  "where(mask, x, y)",
  -- reductions with options
  "x:sum()", "m:sum(1)", "m:sum(1, {keepdim = true})", "m:sum{dim = 1, keepdim = true}",
  "m:mean(2, {keepdim = true})", "m:std(1, {correction = 0})", "m:max(1)", "m:argmax(1)",
  "m:softmax(2)",
  -- indexing
  "x[2]", "m[{2, {1, 3}}]", "m[{{}, 2}]", "x[ids]", "x[mask]", "m[{2, {1, 3}}] = 0", "x[2] = 1",
  "m[1] = x", "x[mask] = 0", "s:item()",
  -- views
  "m:t()", "m:view(2, 8)", "m:reshape(-1)", "m:transpose(1, 2)", "m:permute(2, 1)",
  "x:unsqueeze(1)", "m:narrow(1, 2, 2)", "x:expand(4, 4)",
  -- lists
  "cat{x, y}", "cat({x, y}, 1)", "stack{x, y}", "x:split(2)",
  -- many arguments
  "x:clamp(0.2, 0.8)", "x:clamp{min = 0.2, max = 0.8}", "x:addcmul(x, y, {value = 0.5})",
  "F.conv2d(image, w, b)", "F.conv2d(image, w, b, {stride = 1, padding = 1})",
  "F.conv2d(image, w, {bias = b, stride = 1, padding = 1, dilation = 1, groups = 1})",
  "F.layer_norm(m, {4}, {eps = 1e-5})", "F.cross_entropy(m, target, {reduction = 'sum'})",
  -- making
  "zeros(4)", "zeros({4}, {dtype = float64})", "tensor{1.0, 2.0, 3.0, 4.0}", "x:to(float64)",
  "randint(1, 10, {4})", "x:tile(2)", "m:unbind()", "lucerna.fft.fft(x)",
}

local EVEN = {
  -- questions, and what gives its argument back
  "x:numel()", "x:size()", "x:size(1)", "x.shape", "x.dtype", "x.requires_grad", "x:contiguous()",
  "x:positive()", "x:float()", "x:to('cpu')", "x:equal(y)", "m:trace()", "x:dim()", "x:stride()",
  "x:detach()",
  -- tables
  "x:tolist()", "thousand:tolist()", "matrix:tolist()", "tensor(numbers)", "tensor(rows)",
  "tostring(m)",
  -- modules
  "nn.Linear(4, 4)", "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())",
  "net:state_dict()", "net:load_state_dict(state)", "for _ in net:parameters() do end",
  "net:zero_grad()", "net:train()", "tostring(net)",
  -- training
  "leaf:sum():backward()", "F.nll_loss(m, target)", "sgd:step()", "adam:step()", "adam:zero_grad()",
  "adam:state_dict()", "optim.SGD(six, {lr = 0.1})", "optim.Adam(six)", "optim.LBFGS(six)",
  "optim.Adam(net:parameters())", "scheduler:step()", "for _ in loader do end",
}

local SETUP = [[
local lucerna = ...
local F, cat, stack, where = lucerna.nn.functional, lucerna.cat, lucerna.stack, lucerna.where
local zeros, tensor, float64 = lucerna.zeros, lucerna.tensor, lucerna.float64
local randint = lucerna.randint
local x, y, m, s = lucerna.rand(4), lucerna.rand(4), lucerna.rand(4, 4), lucerna.tensor(1.0)
local ids, mask = tensor{1, 3}, tensor{true, false, true, false}
local image, w, b = lucerna.rand(1, 1, 5, 5), lucerna.rand(2, 1, 3, 3), lucerna.rand(2)
local target = tensor{1, 2, 3, 4}
local nn, optim = lucerna.nn, lucerna.optim
local function linears(n)
  local net = nn.Sequential()
  for _ = 1, n do net:append(nn.Linear(4, 4)) end
  return net
end
local net, state, params, six, leaf = linears(25), linears(25):state_dict(), {}, {}, nn.Parameter(x)
for p in linears(10):parameters() do
  p.grad = lucerna.rand_like(p)
  params[#params + 1] = p
end
for i = 1, 6 do six[i] = nn.Parameter(lucerna.rand(4)) end
local sgd, adam = optim.SGD(params, {lr = 1e-3}), optim.Adam(params)
local loader = lucerna.data.DataLoader{
  lucerna.data.TensorDataset(lucerna.rand(1000, 4), lucerna.rand(1000)), batch_size = 32}
local thousand, rows = lucerna.rand(1000), lucerna.rand(100, 10):tolist()
local numbers, matrix = thousand:tolist(), lucerna.rand(100, 10)
local scheduler = optim.lr_scheduler.StepLR(sgd, 30)
sgd:step()
return function(n)
  lucerna.set_grad_enabled(%s, function()
    for _ = 1, n do
      %s
    end
  end)
end]]

local cases = {}

local function add(list, ratio)
  for _, code in ipairs(list) do
    local statement = code:find("] = ", 1, true) or code:find("^for ")
    local trains = tostring(code:find("backward", 1, true) ~= nil)
    cases[#cases + 1] = {
      name = code, unit = "ns", ratio = ratio,
      setup = assert(load(
        SETUP:format(trains, (statement and "" or "local _ = ") .. code), "=" .. code)),
    }
  end
end

add(CODE, 2)
add(EVEN, 1)
return cases
