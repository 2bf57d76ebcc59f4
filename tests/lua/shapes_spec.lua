-- Where elements lie does not matter: every operator gives the same of transposed, stepped,
-- expanded or offset tensors as of contiguous copies of them, for all dtypes, sizes of 0 and no
-- dimensions; gradients included. No recorded answers: an operator is compared with itself.
local lucerna = require "lucerna"
local arguments = require "arguments"
local core = require "lucerna.core"
local operators = require "operators"
local parity = require "parity"

-- Where the layout is the point: why the two may differ.
local LAYOUT = {
  view = "refuses some strides", view_as = "refuses some strides", as_strided = "reads strides",
  as_strided_scatter = "reads strides",
  view_as_complex = "refuses some strides", view_dtype = "refuses some strides",
  empty_like = "arbitrary values", new_empty = "arbitrary values",
  empty_strided = "arbitrary values", empty = "arbitrary values",
}

local DTYPES = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32",
  "int64", "bool"}

-- ---- a call on copies ----

local function copy_of(v, pairs_of)
  if lucerna.is_tensor(v) then
    local t = v:detach():contiguous():clone()
    if v.requires_grad then t:requires_grad_() end
    pairs_of[#pairs_of + 1] = {v, t}
    return t
  end
  if type(v) ~= "table" then return v end
  local list = {}
  for k, item in pairs(v) do list[k] = copy_of(item, pairs_of) end
  return list
end

-- Own history is cut, so that gradients of arguments can be compared.
local function leaf_of(v)
  if lucerna.is_tensor(v) and v.requires_grad then return v:detach():requires_grad_() end
  if type(v) ~= "table" then return v end
  local list = {}
  for k, item in pairs(v) do list[k] = leaf_of(item) end
  return list
end

local function tensors_in(results)
  local list = {}
  for i = 2, results.n do
    local r = results[i]
    if type(r) == "table" then
      for _, item in ipairs(r) do list[#list + 1] = item end
    else
      list[#list + 1] = r
    end
  end
  return list
end

local function differentiate(list)
  local sum
  for _, t in ipairs(list) do
    if lucerna.is_tensor(t) and t.requires_grad then
      local weights = lucerna.linspace(0.5, 1.5, t:numel()):view(t.shape)
      local term = (t * weights:to(t.dtype)):sum():double()
      sum = sum and sum + term or term
    end
  end
  return sum and pcall(function() sum:backward() end)
end

-- Half precision adds up in float32, in another order: off by a unit of its last place or two.
local LOOSE = {float16 = 4e-3, bfloat16 = 3e-2, float32 = 3e-5, float64 = 1e-10,
  complex64 = 3e-5, complex128 = 1e-10}

local function unlike(a, b, what)
  local loose = lucerna.is_tensor(a) and LOOSE[tostring(a.dtype)] or 0
  local difference = parity.difference(a, b, {scale = true, atol = loose, rtol = loose})
  -- Where all cancels, rounding of numbers around 1 is left.
  difference = difference and parity.difference(a, b, {atol = loose / 30, rtol = loose})
  return difference and what .. ": " .. difference
end

local function compare(f, args, copies, n, pairs_of)
  lucerna.manual_seed(3)
  local strange = table.pack(pcall(f, table.unpack(args, 1, n)))
  lucerna.manual_seed(3)
  local plain = table.pack(pcall(f, table.unpack(copies, 1, n)))
  local refused = not strange[1] and (strange[2]:find("single memory location")
    or strange[2]:find("detach views"))
  if strange[1] ~= plain[1] and not refused then -- (embedding's max_norm writes its weight)
    return ("one fails: %s, %s"):format(tostring(strange[2]), tostring(plain[2]))
  end
  if not strange[1] then return nil, false end
  local a, b = tensors_in(strange), tensors_in(plain)
  if #a ~= #b then return "number of results" end
  for i = 1, #a do
    local trouble = unlike(a[i], b[i], "result " .. i)
    if trouble then return trouble end
  end
  if differentiate(a) ~= differentiate(b) then return "one gradient fails" end
  for i, pair in ipairs(pairs_of) do
    local g, h = pair[1].grad, pair[2].grad
    if (g == nil) ~= (h == nil) then return "one gradient is missing" end
    local trouble = g and unlike(g, h, "gradient " .. i)
    if trouble then return trouble end
  end
  return nil, true
end

local function text_of(row, args, n)
  local words = {}
  for i = 1, n do
    local a = args[i]
    words[i] = lucerna.is_tensor(a) and ("%s [%s] strides [%s]"):format(a.dtype,
      table.concat(a.shape, ","), table.concat(a:stride(), ","))
      or type(a) == "table" and "{" .. #a .. "}" or tostring(a)
  end
  return row.id .. "(" .. table.concat(words, "; ") .. ")"
end

local function random_order(row) -- is drawn in the order of memory
  for _, p in ipairs(row.named) do
    if p.type == "Generator" then return true end
  end
  return row.name:find("^dropout") ~= nil
end

-- Returns troubles, and how many calls succeeded, for `rounds` calls of each function.
local function check(seed, rounds)
  local troubles, good = {}, 0
  local dice = operators.dice(seed)
  for _, row in ipairs(operators.rows()) do
    local spared = LAYOUT[row.id] or random_order(row)
    for _, f in ipairs(spared and {} or arguments.functions(row)) do
      local _, in_place = core._schemas(f)
      for _ = 1, in_place and 0 or rounds do
        local args, n = arguments.arguments(dice, row)
        for i = 1, n do args[i] = leaf_of(args[i]) end
        local pairs_of, copies = {}, {}
        for i = 1, n do copies[i] = copy_of(args[i], pairs_of) end
        local trouble, succeeded = compare(f, args, copies, n, pairs_of)
        if succeeded then good = good + 1 end
        if trouble then troubles[#troubles + 1] = text_of(row, args, n) .. ": " .. trouble end
      end
    end
  end
  return troubles, good
end

-- ---- pointwise functions, all dtypes and layouts ----

local LAYOUTS = {
  {"transposed", function(t) return t:transpose(1, -1) end},
  {"stepped", function(t) return lucerna.cat({t, t}, 2)[{{}, {1, -1, 2}}] end},
  {"offset", function(t) return lucerna.cat({t, t}, 1)[{{3, -1}}] end},
  {"a row expanded", function(t) return t[{{1, 1}}]:expand(4, 3) end},
  {"a column expanded", function(t) return t[{{}, {2, 2}}]:expand(4, 3) end},
  {"one value expanded", function(t) return t[1][2]:expand(2, 2) end},
  {"without dimensions", function(t) return t[2][3] end},
  {"empty", function(t) return t[{{1, 1}}]:expand(2, 3):narrow(1, 1, 0) end},
  {"permuted", function(t) return t:view(2, 2, 3):permute(3, 1, 2) end},
}

local function pointwise(row)
  if not (row.inplace and row.out) then return false end
  for _, p in ipairs(row.positional) do
    if p.type ~= "Tensor" and p.type ~= "Operand" and not p.default then return false end
  end
  return #row.positional > 0
end

local function in_layout(dtype, change, k)
  local base = lucerna.arange(12):mul(k):remainder(5):add(1):view(4, 3)
  return change(base:to(lucerna[dtype]))
end

-- As many tensors as the row needs, in the layout; and in place where that is not shared memory.
local function check_pointwise(row, dtype, layout)
  local args = {}
  for i, p in ipairs(row.positional) do
    if p.default then break end
    args[i] = in_layout(dtype, layout[2], 2 * i + 1)
  end
  local n, copies = #args, {}
  for i = 1, n do copies[i] = args[i]:contiguous():clone() end
  local trouble = compare(row.call, args, copies, n, {})
  local write = lucerna[row.name .. "_"]
  if not trouble and not layout[1]:find("expanded") then
    trouble = compare(write, args, copies, n, {})
  end
  return trouble and text_of(row, args, n) .. ": " .. trouble
end

describe("counts of parts", function()
  local many = math.maxinteger

  it("may be larger than what is cut", function()
    local x = lucerna.arange(4)
    assert.equal(4, #x:chunk(many))
    assert.equal(1, #x:split(many))
  end)

  it("have a bound, which is what the error is about", function()
    local x = lucerna.arange(4)
    parity.refused("chunk: too many parts$", function() lucerna.zeros(0):chunk(many) end)
    parity.refused("tensor_split: too many parts$", x.tensor_split, x, many)
    parity.refused("repeat_interleave: too many repeats$", x.repeat_interleave, x, many)
  end)

  it("take no time where nothing comes of them", function()
    local x = lucerna.zeros(1):expand(1 << 40)
    assert.equal(0, #x:repeat_interleave(0, 1))
  end)
end)

describe("layouts make no difference", function()
  for _, layout in ipairs(LAYOUTS) do
    it("to pointwise functions: " .. layout[1], function()
      for _, row in ipairs(operators.rows()) do
        for _, dtype in ipairs(pointwise(row) and DTYPES or {}) do
          assert.is_nil(check_pointwise(row, dtype, layout))
        end
      end
    end)
  end

  local function random_calls(seed, rounds, least)
    local troubles, good = check(seed, rounds)
    assert(#troubles == 0, #troubles .. " troubles:\n" .. table.concat(troubles, "\n", 1,
      math.min(#troubles, 100)))
    assert(good >= least, "only " .. good .. " calls succeeded")
  end

  it("to any operator", function() random_calls(1, 12, 1500) end)
  it("to any operator, many times #long", function() random_calls(2, 200, 20000) end)
end)

describe("results lie in memory as operands do", function()
  local a, b = lucerna.rand(4, 5, 6), lucerna.rand(6, 5, 4):permute(3, 2, 1)
  local function strides(t) return table.concat(t:stride(), " ") end

  it("of one", function()
    assert.equal("1 4 20", strides(-b))
    assert.equal("1 4 20", strides(b:clone()))
    assert.equal("1 4 20", strides(b:double()))
    assert.equal("1 4 12", strides(b[{{}, {1, 3}}]:neg()))
    local F, whole = lucerna.nn.functional, (b * 9):int()
    for _, name in ipairs {"ceil", "floor", "round", "trunc", "nan_to_num", "signbit"} do
      assert.equal("1 4 20", strides(whole[name](whole)), name)
    end
    assert.equal("1 4 20", strides(F.relu6(whole)))
    assert.equal("1 4 20", strides(F.prelu(b, lucerna.rand(5))))
  end)

  it("of several, of which the first decides that tells", function()
    assert.equal("30 6 1", strides(a + b))
    assert.equal("1 4 20", strides(b + a))
    assert.equal("1 4 20", strides(b:gt(0.5)))
    assert.equal("1 5", strides(lucerna.ones(5, 1):expand(5, 7) + lucerna.rand(7, 5):t()))
  end)

  it("of cat, where all have their channels last", function()
    local function image(...) return lucerna.rand(...):permute(1, 4, 2, 3) end
    local few, more = image(2, 3, 5, 4), image(2, 3, 5, 3)
    local both = lucerna.cat({few, more}, 2)
    assert.equal("105 1 35 7", strides(both))
    assert.is_true(both:equal(lucerna.cat({few:contiguous(), more:contiguous()}, 2)))
    assert.equal("105 15 5 1", strides(lucerna.cat({few, more:contiguous()}, 2)))
    assert.equal("60 12 1", strides(lucerna.cat({b, b}, 3)))
  end)

  it("of roll, where channels are last and something moves", function()
    local images = lucerna.rand(2, 3, 5, 4):permute(1, 4, 2, 3)
    for dim = 1, 4 do
      assert.equal("60 1 20 4", strides(images:roll(1, dim)))
      assert.is_true(images:roll(1, dim):equal(images:contiguous():roll(1, dim)))
    end
    assert.equal("60 15 5 1", strides(images:roll(5, 4)))
    assert.equal("60 15 5 1", strides(images:contiguous():roll(1, 2)))
  end)

  it("of cat and pad, which tell channels from columns of 1", function()
    local column = lucerna.rand(2, 4, 1, 3):permute(1, 4, 2, 3)
    assert.equal("24 1 6 3", strides(lucerna.cat({column, column}, 4)))
    assert.equal("48 1 12 3", strides(lucerna.nn.functional.pad(column, {1, 2})))
  end)
end)

-- ---- memory ----

-- No views, yet they may give an operand back: as it is, or written.
local GIVES_BACK = {}
for name in ([[contiguous to to_device to_other type_as type to_float to_double to_half
  to_bfloat16 to_cfloat to_cdouble to_char to_byte to_short to_int to_long to_bool cpu conj
  resolve_conj adjoint movedim_one movedim detach atleast_1d atleast_2d atleast_3d atleast_1d_all
  atleast_2d_all atleast_3d_all broadcast_tensors meshgrid cartesian_prod split chunk
  tensor_split tensor_split_at tensor_split_by hsplit hsplit_at vsplit vsplit_at dsplit dsplit_at
  positive dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu
  view_dtype einsum]]):gmatch("%S+") do
  GIVES_BACK[name] = true
end

local function memories_of(list)
  local memories = {}
  for _, t in ipairs(tensors_in(list)) do
    if lucerna.is_tensor(t) and t:numel() > 0 then
      memories[t:data_ptr() - t:storage_offset() * t:element_size()] = true
    end
  end
  return memories
end

-- nil where the call fails.
local function shares_memory(f, args, n)
  local results = table.pack(pcall(f, table.unpack(args, 1, n)))
  if not results[1] then return nil end
  local theirs = memories_of(table.pack(true, table.unpack(args, 1, n)))
  for memory in pairs(memories_of(results)) do
    if theirs[memory] then return true end
  end
  return false
end

describe("rows of any length", function()
  it("are joined and cut as their elements are", function()
    lucerna.manual_seed(5)
    local all = lucerna.randint(0, 256, {90, 1300}, {dtype = lucerna.uint8})
    for n = 1, 600 do
      local m = 1 + n * 7 % 400
      local a, b = all:narrow(2, 3, n):contiguous(), all:narrow(2, 650, m):contiguous()
      assert.is_true(a:equal(all:narrow(2, 3, n)) and a[90][n]:equal(all[90][n + 2]))
      local joined = lucerna.cat({a, b, a}, 2)
      assert.is_true(joined:narrow(2, 1, n):equal(a))
      assert.is_true(joined:narrow(2, n + 1, m):equal(b))
      assert.is_true(joined:narrow(2, n + m + 1, n):equal(a))
      assert.is_true(a:sum(2):equal(all:narrow(2, 3, n):long():sum(2)))
    end
  end)
end)

describe("triangles", function()
  local function kept(x, diagonal, lower)
    local rows, columns = x:size(-2), x:size(-1)
    local apart = lucerna.arange(columns) - lucerna.arange(rows):unsqueeze(2)
    local mask = lower and apart:le(diagonal) or apart:ge(diagonal)
    return lucerna.where(mask, x:contiguous(), lucerna.zeros_like(x:contiguous()))
  end

  it("of what lies turned, apart or repeated are those of a copy", function()
    for _, dtype in ipairs {"float32", "float64", "uint8"} do
      for _, size in ipairs {{1, 5}, {70, 3}, {3, 200}, {200, 130}, {530, 9}, {0, 4}} do
        local rows, columns = size[1], size[2]
        local start = lucerna.arange(2 * rows * columns):remainder(200):add(1):to(lucerna[dtype])
        local whole = start:view(2, columns, rows)
        local layouts = {
          whole:transpose(2, 3), whole[1]:t(), start:view(rows, 2 * columns):narrow(2, 1, columns),
          start:view(2, rows, columns):flip(2),
          lucerna.arange(columns):add(1):to(lucerna[dtype]):expand(rows, columns),
        }
        for k, x in ipairs(layouts) do
          for _, diagonal in ipairs {0, 1, -1, 60, -70, -rows, columns, -1000, 1000} do
            local title = ("%s %d x %d, %d, layout %d"):format(dtype, rows, columns, diagonal, k)
            assert.is_true(x:tril(diagonal):equal(kept(x, diagonal, true)), title)
            assert.is_true(x:triu(diagonal):equal(kept(x, diagonal, false)), title)
            assert.is_true(x:tril(diagonal):is_contiguous(), title)
          end
        end
      end
    end
  end)
end)

describe("results have memory of their own", function()
  it("unless the operator is a view", function()
    local dice, tried = operators.dice(4), 0
    for _, row in ipairs(operators.rows()) do
      for _, f in ipairs((row.view or GIVES_BACK[row.id]) and {} or arguments.functions(row)) do
        local _, in_place = core._schemas(f)
        for _ = 1, in_place and 0 or 12 do
          local args, n = arguments.arguments(dice, row)
          local shared = shares_memory(f, args, n)
          if shared ~= nil then tried = tried + 1 end
          assert(not shared, text_of(row, args, n))
        end
      end
    end
    assert(tried > 2000, tried)
  end)

  it("also where there is nothing to move", function()
    local F, x = lucerna.nn.functional, lucerna.rand(1, 1, 1, 4)
    for _, f in ipairs {
      function() return F.pixel_shuffle(x, 1) end, function() return F.pixel_unshuffle(x, 1) end,
      function() return F.channel_shuffle(x, 1) end, function() return x:diff {n = 0} end,
      function() return x:repeat_interleave(1, 1) end, function() return x:tile(1) end,
      function() return lucerna.cat({x}, 1) end, function() return x:roll(0, 1) end,
      function() return F.pad(x, {0, 0}) end,
      function() return F.interpolate(x, {size = {1, 4}}) end,
      function() return F.avg_pool2d(x, 1) end, function() return F.unfold(x, 1) end,
      function() return x:flip(1) end, function() return x:tril() end,
    } do
      local y, before = f(), x:clone()
      y:fill_(7)
      assert.is_true(x:equal(before))
    end
  end)
end)
