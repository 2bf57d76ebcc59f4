-- lucerna.dot: the call graph of a net as Graphviz text. The text is parsed here by the grammar of
-- the DOT language that it uses, and by Graphviz's own `dot` where that is installed.
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"
local nn = lucerna.nn

-- ---- reading DOT ----

local function tokens_of(text)
  local tokens, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then return tokens end
    local c = text:sub(at, at)
    local token
    if c == '"' then
      local stop = at + 1
      while text:sub(stop, stop) ~= '"' do
        assert(stop <= #text, "a string without an end")
        stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
      end
      token = text:sub(at, stop)
    else
      token = text:match("^%->", at) or text:match("^[%w_]+", at) or text:match("^[%[%]{}=,;]", at)
    end
    assert(token, "unexpected character at " .. at .. ": " .. text:sub(at, at + 20))
    tokens[#tokens + 1] = token
    at = at + #token
  end
end

local function unquote(token)
  return (token:gsub('^"(.*)"$', "%1"):gsub("\\(.)", {n = "\n", ['"'] = '"', ["\\"] = "\\"}))
end

-- {name, nodes = {id -> {label, cluster, …}}, edges = {{from, to, label}}, clusters = {labels}}
local function parse(text)
  local tokens, i = tokens_of(text), 0
  local graph = {nodes = {}, edges = {}, clusters = {}, order = {}}
  local function take(expected)
    i = i + 1
    if expected then assert.are.equal(expected, tokens[i]) end
    return tokens[i]
  end
  local function attributes()
    local list = {}
    take "["
    while tokens[i + 1] ~= "]" do
      local key = take()
      take "="
      list[key] = unquote(take())
      if tokens[i + 1] == "," then take() end
    end
    take "]"
    return list
  end
  local statements
  local function statement(cluster)
    local first = take()
    if first == "subgraph" then
      assert.matches("^cluster_%d+$", take())
      local inner = {parent = cluster}
      graph.clusters[#graph.clusters + 1] = inner
      take "{"
      statements(inner)
      return take "}"
    elseif tokens[i + 1] == "=" then
      take "="
      cluster[first] = unquote(take())
    elseif tokens[i + 1] == "->" then
      take "->"
      local edge = {from = first, to = take()}
      edge.label = attributes().label
      graph.edges[#graph.edges + 1] = edge
    else
      local list = attributes()
      list.cluster, list.id = cluster, first
      assert.is_nil(graph.nodes[first], "a node is declared twice")
      if first ~= "node" then
        graph.nodes[first] = list
        graph.order[#graph.order + 1] = list
      end
    end
    take ";"
  end
  function statements(cluster)
    while tokens[i + 1] ~= "}" do statement(cluster) end
  end
  take "digraph"
  graph.name = unquote(take())
  take "{"
  statements(graph)
  take "}"
  assert.are.equal(#tokens, i)
  for _, edge in ipairs(graph.edges) do
    edge.from, edge.to = assert(graph.nodes[edge.from]), assert(graph.nodes[edge.to])
  end
  return graph
end

local function labels(list)
  local result = {}
  for i, item in ipairs(list) do result[i] = item.label end
  return result
end

-- "from -> to shape" of every edge, labels cut at their first line.
local function edges_of(graph)
  local result = {}
  for i, edge in ipairs(graph.edges) do
    result[i] = ("%s -> %s %s"):format(edge.from.label:match("^[^\n]*"),
      edge.to.label:match("^[^\n]*"), edge.label)
  end
  return result
end

-- ---- nets ----

local Net = nn.class("Net")
function Net:__init()
  self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Identity())
  self.fc = nn.Linear(2, 2, {bias = false})
end
function Net:forward(x)
  local y = self.body(x):mean({3, 4})
  return self.fc(self.fc(y)) + lucerna.ones(2)
end

describe("the call graph", function()
  it("has modules as clusters, operators as nodes, shapes on edges, leaves by name", function()
    local graph = parse(lucerna.dot(Net(), {1, 1, 5, 5}))
    assert.are.equal("Net", graph.name)
    assert.are.same({"Net", "body (Sequential)", "body.0 (Conv2d)", "body.1 (BatchNorm2d)",
      "fc (Linear)", "fc (Linear), call 2"}, labels(graph.clusters))
    assert.are.same({
      "input -> conv2d [1, 1, 5, 5]", "body.0.weight -> conv2d [2, 1, 3, 3]",
      "body.0.bias -> conv2d [2]", "conv2d -> batch_norm [1, 2, 3, 3]",
      "body.1.running_mean -> batch_norm [2]", "body.1.running_var -> batch_norm [2]",
      "body.1.weight -> batch_norm [2]", "body.1.bias -> batch_norm [2]",
      "batch_norm -> mean [1, 2, 3, 3]", "mean -> linear [1, 2]", "fc.weight -> linear [2, 2]",
      "linear -> linear [1, 2]", "fc.weight -> linear [2, 2]", "linear -> add [1, 2]",
      "ones -> add [2]", "add -> output [1, 2]",
    }, edges_of(graph))
    local of = {}
    for _, node in ipairs(graph.order) do of[node.label:match("^[^\n]*")] = node end
    assert.are.equal("body.0 (Conv2d)", of.conv2d.cluster.label)
    assert.are.equal("body (Sequential)", of.conv2d.cluster.parent.label)
    assert.are.equal("Net", of.mean.cluster.label)
    assert.are.equal(graph, of.input.cluster)
    assert.are.equal("body.0.weight\n[2, 1, 3, 3]", of["body.0.weight"].label)
  end)

  it("is the same text every time", function()
    local net = Net()
    local text = lucerna.dot(net, {1, 1, 5, 5})
    collectgarbage()
    assert.are.equal(text, lucerna.dot(net, {1, 1, 5, 5}))
    assert.are.equal(text, lucerna.dot(Net(), lucerna.ones(1, 1, 5, 5)))
    assert.are.equal(text, lucerna.dot {net = net, input_size = {1, 1, 5, 5}})
  end)

  it("shows operators as they were called, in place, with lists and several results", function()
    local Odd = nn.class("Odd")
    function Odd:__init() self:register_buffer("shift", lucerna.ones(2, 3)) end
    function Odd:forward(a, b)
      local c = lucerna.cat({a, b, self.shift}, 1)
      c:add_(1)
      local values = c:topk(1, 1)
      return values, nn.functional.relu(c, {inplace = true}), lucerna.einsum("ij,kj->ik", {a, b})
    end
    local graph = parse(lucerna.dot(Odd(), {{2, 3}, {2, 3}}))
    assert.are.same({"input 1 -> cat [2, 3]", "input 2 -> cat [2, 3]", "shift -> cat [2, 3]",
      "cat -> add_ [6, 3]", "add_ -> topk [6, 3]", "add_ -> relu_ [6, 3]",
      "input 1 -> einsum [2, 3]", "input 2 -> einsum [2, 3]", "topk -> output 1 [1, 3]",
      "relu_ -> output 2 [6, 3]", "einsum -> output 3 [2, 2]"}, edges_of(graph))
  end)

  it("goes through recursion, shared modules, and tensors from outside", function()
    local outside = lucerna.ones(3)
    local shared = nn.Linear(3, 3, {bias = false})
    local Twice = nn.class("Twice")
    function Twice:__init() self.a = nn.Sequential(shared, shared) end
    function Twice:forward(x, again)
      if again == false then return x * outside end
      return self(self.a(x), false)
    end
    local graph = parse(lucerna.dot(Twice(), {1, 3}))
    assert.are.same({"Twice", "a (Sequential)", "a.0 (Linear)", "a.0 (Linear), call 2",
      "Twice, call 2"}, labels(graph.clusters))
    assert.are.same({"input -> linear [1, 3]", "a.0.weight -> linear [3, 3]",
      "linear -> linear [1, 3]", "a.0.weight -> linear [3, 3]", "linear -> mul [1, 3]",
      "[3] -> mul [3]", "mul -> output [1, 3]"}, edges_of(graph))
  end)

  it("quotes whatever names hold", function()
    local Named = nn.class('Na"me\\d')
    function Named:forward(x) return x + 1 end -- luacheck: ignore 212
    local net = nn.Sequential()
    net:add_module('a "b" \\', Named())
    local graph = parse(lucerna.dot(net, {1}))
    assert.are.equal('a "b" \\ (Na"me\\d)', graph.clusters[2].label)
  end)

  it("of a net that gives its input back has one edge", function()
    local graph = parse(lucerna.dot(nn.Identity(), {2}))
    assert.are.same({"input -> output [2]"}, edges_of(graph))
    assert.are.equal(0, #graph.clusters)
  end)

  it("leaves the net as it was, also after an error", function()
    local net = Net()
    net.body[3]:eval()
    local mean = net.body[2].running_mean
    local rng = lucerna.get_rng_state():tolist()
    lucerna.dot(net, {1, 1, 5, 5}, {mode = "train"})
    assert.are.equal(mean, net.body[2].running_mean)
    assert.are.same({0, 0}, mean:tolist())
    assert.matches("in body.0 (Conv2d): conv2d", parity.message(lucerna.dot, net, {1, 2, 5, 5}), 1,
      true)
    assert.are.same(rng, lucerna.get_rng_state():tolist())
    assert.is_true(net.training)
    assert.is_false(net.body[3].training)
    assert.is_true(net(lucerna.ones(1, 1, 5, 5)).requires_grad)
  end)

  it("is read by Graphviz", function()
    if not os.execute("command -v dot >/dev/null 2>&1") then return end
    local path = files.with(lucerna.dot(Net(), {1, 1, 5, 5}))
    assert.is_true(os.execute("dot -Tsvg " .. path .. " >/dev/null 2>&1"))
  end)

  it("needs a net and an input", function()
    parity.refused("dot: missing argument 'input_size'", lucerna.dot, Net())
    parity.refused("dot: mode must be", lucerna.dot, Net(), {1}, {mode = 1})
    parity.refused("dot: input_size must be", lucerna.dot, Net(), "x")
    parity.refused("dot: unknown argument 'depth'", lucerna.dot, Net(), {1}, {depth = 1})
  end)
end)

describe("the autograd graph", function()
  it("has nodes, leaves by name, and shapes", function()
    local net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    local x = lucerna.ones(4, 3)
    local y = net(x):sum()
    local graph = parse(lucerna.dot(y, {params = net}))
    assert.are.equal("SumBackward0", graph.name)
    assert.are.same({"0.weight -> LinearBackward0 [2, 3]", "0.bias -> LinearBackward0 [2]",
      "LinearBackward0 -> TanhBackward0 [4, 2]", "TanhBackward0 -> SumBackward0 [4, 2]",
      "SumBackward0 -> output []"}, edges_of(graph))
    graph = parse(lucerna.dot(y, {params = {w = net[1].weight}}))
    assert.are.equal("w -> LinearBackward0 [2, 3]", edges_of(graph)[1])
    assert.are.equal("[2, 3] -> LinearBackward0 [2, 3]", edges_of(parse(lucerna.dot(y)))[1])
  end)

  it("shows what is used twice once, and functions of the user's", function()
    local Double = lucerna.autograd.Function("Double", {
      forward = function(_, a) return a * 2 end,
      backward = function(_, g) return g * 2 end,
    })
    local p = lucerna.ones(2):requires_grad_()
    local a = Double.apply(p)
    local graph = parse(lucerna.dot(a * a + p))
    assert.are.same({"[2] -> DoubleBackward [2]", "DoubleBackward -> MulBackward0 [2]",
      "DoubleBackward -> MulBackward0 [2]", "MulBackward0 -> AddBackward0 [2]",
      "[2] -> AddBackward0 [2]", "AddBackward0 -> output [2]"}, edges_of(graph))
    assert.are.same({"[2] -> output [2]"}, edges_of(parse(lucerna.dot(p))))
    assert.are.same({"[2] -> output [2]"}, edges_of(parse(lucerna.dot(lucerna.ones(2)))))
  end)
end)

describe("products of integers", function()
  it("wrap in their dtype, whatever way their factors lie", function()
    for _, dtype in ipairs {"int64", "int32", "int16", "int8", "uint8"} do
      for _, size in ipairs {{1, 40, 7}, {7, 40, 1}, {5, 3, 3}, {17, 33, 70}, {5, 0, 4},
        {1, 1030, 1}, {1, 6, 600}, {600, 9, 1}} do
        local m, k, n = table.unpack(size)
        local a = lucerna.randint(0, 50, {m, k}):to(lucerna[dtype])
        local b = lucerna.randint(0, 50, {k, n}):to(lucerna[dtype])
        local want = a:double():mm(b:double()):to(lucerna.int64):to(lucerna[dtype])
        for _, x in ipairs {a, a:t():contiguous():t(), lucerna.stack({a, a}, 3):select(3, 1)} do
          for _, y in ipairs {b, b:t():contiguous():t(), lucerna.stack({b, b}, 3):select(3, 1)} do
            assert.is_true(x:mm(y):equal(want))
            assert.is_true(x:mv(y:select(2, 1)):equal(want:select(2, 1)))
            assert.is_true(x[1]:matmul(y):equal(want[1]))
            assert.is_true(lucerna.stack {x, x}:bmm(lucerna.stack {y, y})[2]:equal(want))
          end
        end
      end
    end
  end)

  it("are Lua's where all 64 bits count", function()
    local function integers(rows, columns)
      local t = {}
      for i = 1, rows do
        t[i] = {}
        for j = 1, columns do t[i][j] = math.random(0) end
      end
      return t, lucerna.tensor(t, {dtype = lucerna.int64})
    end
    for _, size in ipairs {{1, 3, 19}, {4, 5, 4}, {5, 9, 13}, {9, 2, 17}, {3, 4, 3}} do
      local m, k, n = table.unpack(size)
      local a, x = integers(m, k)
      local b, y = integers(k, n)
      local got = x:mm(y)
      for i = 1, m do
        for j = 1, n do
          local sum = 0
          for p = 1, k do sum = sum + a[i][p] * b[p][j] end
          assert.are.equal(sum, got[i][j]:item())
        end
      end
    end
  end)

  it("so do linear's, of numbers that no float32 holds", function()
    for dtype, largest in pairs {int64 = 2 ^ 62, int32 = 2 ^ 31 - 1, int16 = 2 ^ 15 - 1} do
      local x = lucerna.full({2, 3}, largest // 1, {dtype = lucerna[dtype]})
      local w, b = lucerna.ones_like(x):mul(3), lucerna.ones(2):to(lucerna[dtype])
      assert.is_true(nn.functional.linear(x, w):equal(x:mm(w:t())))
      assert.is_true(nn.functional.linear(x[1], w, b):equal(w:mv(x[1]) + b))
    end
  end)
end)

describe("products of complex matrices", function()
  it("are those of their parts, whatever their size and way to lie", function()
    local function product(a, b) -- by real numbers
      local x, y = lucerna.view_as_real(a):double(), lucerna.view_as_real(b):double()
      local re, im = x:select(-1, 1), x:select(-1, 2)
      local RE, IM = y:select(-1, 1), y:select(-1, 2)
      return lucerna.complex(re:matmul(RE) - im:matmul(IM), re:matmul(IM) + im:matmul(RE))
    end
    local function ways(t)
      return {t, t.mT:contiguous().mT, lucerna.stack({t, t}, -1):select(-1, 1)}
    end
    local function agree(got, want, near) -- by tensors: there are millions of numbers
      assert.same(want:size(), got:size())
      assert.is_true((got:to(want.dtype) - want):abs():le(near):all():item())
    end
    lucerna.manual_seed(6)
    for dtype, near in pairs {complex64 = 2e-4, complex128 = 1e-11} do
      for _, size in ipairs {{1, 1, 1}, {2, 2, 2}, {3, 5, 4}, {5, 0, 4}, {4, 3, 0}, {0, 2, 3},
        {1, 33, 9}, {9, 33, 1}, {6, 1, 19}, {17, 8, 8}, {18, 600, 7}, {7, 1030, 33},
        {70, 20, 600}, {9, 300, 260}, {600, 300, 260}} do
        local m, k, n = table.unpack(size)
        local options = {dtype = lucerna[dtype]}
        local a, b = lucerna.randn({3, m, k}, options), lucerna.randn({3, k, n}, options)
        local want, of_first = product(a, b), product(a, b[1])
        for _, x in ipairs(ways(a)) do
          for _, y in ipairs(ways(b)) do
            agree(x:bmm(y), want, near)
            agree(x[1]:mm(y[1]), want[1], near)
            agree(x:matmul(y[1]), of_first, near)
            if n > 0 then
              agree(x[1]:mv(y[1]:select(2, 1)), want[1]:select(2, 1), near)
            end
            if m > 0 then
              agree(x[1][1]:matmul(y[1]), want[1][1], near)
            end
          end
        end
        if m > 0 and n > 0 then
          local x, y = a[1][1], b[1]:select(2, 1)
          agree(x:dot(y), want[1][1][1], near)
          agree(x:conj():vdot(y), x:dot(y), near)
        end
      end
    end
  end)

  it("keep NaN and infinities in their rows and columns", function()
    local a, b = lucerna.ones({9, 5}, {dtype = lucerna.complex64}), lucerna.ones({5, 11}) * 1
    b = b:to(lucerna.complex64)
    a[3][2], b[4][7] = 0 / 0, 1 / 0
    local bad = lucerna.view_as_real(a:mm(b)):isfinite():all(3):logical_not()
    assert.equal(11 + 9 - 1, bad:sum():item())
    assert.is_true(bad[3]:all():item() and bad:select(2, 7):all():item())
  end)
end)

describe("dot of two vectors", function()
  it("is their product, as before", function()
    local a, b = lucerna.tensor {1.0, 2.0}, lucerna.tensor {3.0, 4.0}
    assert.are.equal(11, lucerna.dot(a, b):item())
    assert.are.equal(11, lucerna.dot(a, {tensor = b}):item())
    assert.are.equal(11, lucerna.dot {input = a, tensor = b}:item())
    local out = lucerna.empty(0)
    lucerna.dot(a, b, {out = out})
    assert.are.equal(11, out:item())
    assert.are.equal(11, a:dot(b):item())
    parity.refused("dot: ", lucerna.dot, a, 3)
    parity.refused("dot: ", lucerna.dot, 3)
    parity.refused("dot: ", lucerna.dot)
  end)
end)

describe("products of a batch of vectors", function()
  it("are those of copies, whatever lies between their elements", function()
    lucerna.manual_seed(4)
    for _, name in ipairs { "float32", "float64", "bfloat16", "float16", "int64", "int32", "int16",
      "int8", "complex64" } do
      local dtype = lucerna[name]
      for _, k in ipairs { 1, 31, 32, 100 } do
        local y = lucerna.randint(-3, 4, { 5, k }):to(dtype)
        for _, x in ipairs { lucerna.randint(-3, 4, { k, 5 }):to(dtype):t(),
          lucerna.randint(-3, 4, { 5, 2 * k }):to(dtype)[{ {}, { 1, -1, 2 } }],
          lucerna.randint(-3, 4, { 1, k }):to(dtype):expand(5, k) } do
          local want = (x * y):sum(2)
          assert.same(want:tolist(), lucerna.einsum("ij,ij->i", { x, y }):tolist(), name .. k)
          local row, column = x:unsqueeze(2), y:unsqueeze(3)
          assert.same(want:tolist(), lucerna.bmm(row, column):flatten():tolist(), name .. k)
          assert.same((x:unsqueeze(3) * y:unsqueeze(2)):tolist(),
            lucerna.bmm(x:unsqueeze(3), y:unsqueeze(2)):tolist(), name .. k)
        end
      end
    end
  end)
end)

describe("products of integers", function()
  it("are those of doubles, of few rows or columns, turned or not, in batches or not", function()
    lucerna.manual_seed(6)
    for _, name in ipairs { "int64", "int32", "int16", "int8", "uint8" } do
      local low = name == "uint8" and 0 or -1
      for _, sizes in ipairs { { 2, 127, 70 }, { 3, 130, 5 }, { 7, 128, 33 }, { 16, 200, 17 },
        { 17, 130, 4 }, { 30, 128, 2 }, { 2, 5, 64 } } do
        local m, k, n = table.unpack(sizes)
        local a = lucerna.randint(low, 2, { 3, m, k }):to(lucerna[name])
        local b = lucerna.randint(low, 2, { 3, n, k }):to(lucerna[name])
        for _, y in ipairs { b:transpose(2, 3), b:transpose(2, 3):contiguous() } do
          local want = a:double():bmm(y:double()):to(lucerna[name])
          assert.is_true(a:bmm(y):equal(want), name)
          assert.is_true(a[2]:mm(y[2]):equal(want[2]), name)
        end
      end
    end
  end)
end)

describe("the product of a half's row by a matrix, in batches", function()
  it("is that of floats, rounded, and of one that all share", function()
    lucerna.manual_seed(7)
    for _, name in ipairs { "float16", "bfloat16" } do
      local dtype = lucerna[name]
      local a, b = lucerna.randint(-2, 3, { 3, 1, 80 }):to(dtype),
        lucerna.randint(-2, 3, { 3, 80, 70 }):to(dtype)
      for _, y in ipairs { b, b:transpose(2, 3):contiguous():transpose(2, 3),
        b:narrow(1, 2, 1), b:narrow(1, 2, 1):expand(3, -1, -1) } do
        local want = a:float():matmul(y:float()):to(dtype)
        assert.is_true(a:matmul(y):equal(want), name)
        local turned = y:transpose(2, 3):matmul(a:transpose(2, 3))
        assert.is_true(turned:equal(want:transpose(2, 3)), name)
      end
    end
  end)
end)

describe("the product of a matrix whose columns are adjacent elements", function()
  it("is exact for integers, however far apart these are: 512 or 1,024 are whole pages", function()
    lucerna.manual_seed(5)
    for _, name in ipairs { "float32", "float64" } do
      for _, sizes in ipairs { { 17, 64, 96 }, { 64, 200, 100 }, { 130, 65, 600 } } do
        local m, n, k = table.unpack(sizes)
        local b = lucerna.randint(-3, 4, { k, n })
        for _, pitch in ipairs { m, 512, 1024 } do
          local a = lucerna.randint(-3, 4, { k, pitch }):narrow(2, 1, m)
          local far = lucerna.empty(k, pitch, { dtype = lucerna[name] }):narrow(2, 1, m):copy_(a)
          local want = lucerna.mm(a:t(), b):to(lucerna[name])
          assert.is_true(lucerna.equal(want, lucerna.mm(far:t(), b:to(lucerna[name]))),
            name .. m .. " " .. pitch)
        end
      end
    end
  end)
end)
