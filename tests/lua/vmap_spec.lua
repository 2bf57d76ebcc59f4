-- vmap over every operator: each recorded call of tests/parity/data, mapped over a batch of its
-- tensors, all of them or one, gives what a loop over the samples gives, values and gradients; and
-- its vjp and jvp can be mapped. Data files are found, not listed.
local lucerna = require "lucerna"
local cases = require "cases"
local core = require "lucerna.core"
local parity = require "parity"
local report = dofile((os.getenv("LUCERNA_ROOT") or ".") .. "/tests/parity/report.lua")
local func, none = lucerna.func, lucerna.none

local BATCH = 5 -- no recorded tensor has this size in front
local HALF = {float16 = true, bfloat16 = true}

-- What a map must refuse: these depend on values, or write where all samples look.
local REFUSALS = {
  "can output dynamic shape", "data%-dependent control flow", "calling %.%w+%(%) on a Tensor",
  "inplace arithmetic", "updated in place, were not batched",
}

-- A view by strides is one of memory, which a batch lays out in its own way.
local BY_MEMORY = {as_strided = true, as_strided_scatter = true,
  [".as_strided"] = true, [".as_strided_"] = true}

-- ---- recorded calls ----

-- The tensors of a value; the nn files say what one is by its kind.
local function collect(v, out)
  if type(v) ~= "table" then return end
  if parity.is_fixture(v) then
    if v.kind then
      local floating = v.kind == "real" or v.kind == "fixed"
      v.dtype, v.grad = floating and "float64" or "int64", v.kind == "real"
    end
    out[#out + 1] = v
  elseif v.list then
    for _, item in ipairs(v.list == true and v or v.list) do collect(item, out) end
  end
end

-- The function of a case and its name; ".name" is a method, but of nn.functional in the nn files.
local function find(case, nn)
  local home, name = case.fn:match("^(%w*)%.(.*)$")
  if not home then return lucerna[case.fn] or core[case.fn], case.fn end
  if home == "F" or (nn and home == "") then return core.functional[name], name end
  return (home == "" and core.Tensor or core[home] or {})[name], name
end

-- The results as a list of tensors; nil if something else is among them.
local function call(case, nn, tensors)
  local args, n = cases.arguments(case, function(v) return tensors[v] end)
  local f, name = find(case, nn)
  if name:find("_$") then args[1] = args[1]:clone() end
  local results = table.pack(f(table.unpack(args, 1, n)))
  if results.n == 1 and type(results[1]) == "table" then
    results = table.pack(table.unpack(results[1]))
  end
  for i = 1, results.n do
    if not lucerna.is_tensor(results[i]) then return nil end
  end
  return results
end

-- ---- comparing ----

local function same(got, expected, label)
  if not got then return label .. " is missing" end
  local half = HALF[tostring(expected.dtype)]
  local difference = parity.difference(got:detach(), expected:detach(),
    {rtol = half and 2e-2 or 1e-4, atol = half and 1e-2 or 1e-5, scale = true})
  return difference and label .. ": " .. difference
end

local function gradients(outs, leaves)
  local total
  for _, out in ipairs(outs) do
    if out.requires_grad then
      lucerna.manual_seed(3)
      local seed = lucerna.randn(out.shape, {dtype = lucerna.float64}):to(out.dtype)
      total = (total or 0) + (out * seed):sum()
    end
  end
  if not total or total:is_complex() then return {} end
  return table.pack(lucerna.autograd.grad(total, leaves, {allow_unused = true}))
end

local function same_gradients(got, expected, leaves)
  local fine, wanted = pcall(gradients, expected, leaves)
  if not fine then return nil end -- there is none
  local have = gradients(got, leaves)
  for k = 1, #leaves do
    local zero = lucerna.zeros_like(leaves[k])
    local wrong = same(have[k] or zero, wanted[k] or zero, "gradient " .. k)
    if wrong then return wrong end
  end
end

-- ---- mapping a call ----

local function samples_of(fixture, dim)
  local base, list = parity.tensor(fixture), {}
  for k = 1, BATCH do
    list[k] = base:is_floating_point() and base * (1 - (k - 1) / 16) or base
  end
  return lucerna.stack(list, dim)
end

-- The tensors of a case, those that `batched` picks with a mapped dimension; and the leaves.
local function batch(fixtures, variant)
  local full, dims, leaves = {}, {}, {}
  for i, fixture in ipairs(fixtures) do
    local mapped = variant.only == nil or variant.only == i
    dims[i] = mapped and variant.dim or none
    full[i] = mapped and samples_of(fixture, variant.dim) or parity.tensor(fixture)
    if fixture.grad and full[i]:is_floating_point() then
      full[i] = full[i]:detach():requires_grad_()
      leaves[#leaves + 1] = full[i]
    end
  end
  return full, dims, leaves
end

-- The same by a loop; nil where the call fails or its results differ in shape.
local function by_loop(case, nn, fixtures, full, dims)
  local columns = {}
  for k = 1, BATCH do
    local tensors = {}
    for i, fixture in ipairs(fixtures) do
      tensors[fixture] = dims[i] == none and full[i] or full[i]:select(dims[i], k)
    end
    local fine, results = pcall(call, case, nn, tensors)
    if not fine or not results then return nil end
    for o = 1, results.n do
      columns[o] = columns[o] or {}
      columns[o][k] = results[o]
    end
  end
  local stacked = {}
  for o, list in ipairs(columns) do
    local fine, t = pcall(lucerna.stack, list)
    if not fine or #list ~= BATCH then return nil end
    stacked[o] = t
  end
  return stacked
end

local function refusal(message)
  for _, pattern in ipairs(REFUSALS) do
    if message:find(pattern) then return true end
  end
end

-- nil, or what is wrong; and whether values were compared.
local function check(case, nn, fixtures, variant)
  local full, dims, leaves = batch(fixtures, variant)
  local expected = by_loop(case, nn, fixtures, full, dims)
  if not expected then return nil, false end
  local fine, got = pcall(function()
    return table.pack(func.vmap(function(...)
      local tensors = {}
      for i, fixture in ipairs(fixtures) do tensors[fixture] = (select(i, ...)) end
      return table.unpack(call(case, nn, tensors))
    end, {in_dims = dims, randomness = "different"})(table.unpack(full)))
  end)
  if not fine then return not refusal(got) and got or nil, false end
  for o, t in ipairs(expected) do
    local wrong = same(got[o], t, "result " .. o)
    if wrong then return wrong end
  end
  return #leaves > 0 and same_gradients(got, expected, leaves) or nil, true
end

-- Every argument in front, at the end, and each alone.
local function variants(n)
  local list = {{dim = 1}, {dim = -1}}
  for i = 1, n > 1 and n or 0 do list[#list + 1] = {dim = 1, only = i} end
  return list
end

-- ---- mapping vjp and jvp ----

local function differentiable(fixtures)
  local places, primals = {}, {}
  for i, fixture in ipairs(fixtures) do
    local t = parity.tensor(fixture)
    if fixture.grad and t:is_floating_point() then
      places[#places + 1], primals[#primals + 1] = i, t
    end
  end
  return places, primals
end

local function function_of(case, nn, fixtures, places)
  return function(...)
    local tensors, outs = {}, {}
    for _, fixture in ipairs(fixtures) do tensors[fixture] = parity.tensor(fixture) end
    for k, i in ipairs(places) do tensors[fixtures[i]] = (select(k, ...)) end
    for _, t in ipairs(call(case, nn, tensors) or {}) do
      if t:is_floating_point() then outs[#outs + 1] = t end
    end
    return outs
  end
end

local function random_batch(like)
  local list = {}
  for k, t in ipairs(like) do
    local shape = t.shape
    table.insert(shape, 1, BATCH)
    list[k] = lucerna.randn(shape, {dtype = lucerna.float64}):to(t.dtype)
  end
  return list
end

-- A linear function mapped over a batch of its arguments, against a loop.
local function check_linear(f, arguments, label)
  local wanted = {}
  for k = 1, BATCH do
    local sample = {}
    for i, t in ipairs(arguments) do sample[i] = t[k] end
    local fine, result = pcall(f, sample)
    if not fine then return nil end
    wanted[k] = result
  end
  local got = func.vmap(f)(arguments)
  for o = 1, #wanted[1] do
    local list = {}
    for k = 1, BATCH do list[k] = wanted[k][o] end
    local wrong = same(got[o], lucerna.stack(list), label .. " " .. o)
    if wrong then return wrong end
  end
end

local function check_products(case, nn, fixtures)
  local places, primals = differentiable(fixtures)
  if #places == 0 then return nil end
  local f = function_of(case, nn, fixtures, places)
  local fine, outs, pull = pcall(func.vjp, f, table.unpack(primals))
  if not fine or #outs == 0 then return nil end
  lucerna.manual_seed(1)
  local wrong = check_linear(function(cotangents) return {pull(cotangents)} end,
    random_batch(outs), "vjp")
  if wrong then return wrong end
  local twice, _, push = pcall(func.linearize, f, table.unpack(primals))
  if not twice then return nil end -- its gradient has none
  return check_linear(function(tangents) return push(table.unpack(tangents)) end,
    random_batch(primals), "jvp")
end

-- ---- all of them ----

local function each_case(file, visit)
  local nn, list = file:find("^nn_") ~= nil, parity.load(file)
  for _, case in ipairs(type(list) == "table" and list or {}) do
    local usable = type(case) == "table" and case.fn and type(case.args) == "table"
      and not case.error and not case.seed and not BY_MEMORY[case.fn]
    if usable and find(case, nn) then
      local fixtures = {}
      for i = 1, case.args.n or 0 do collect(case.args[i], fixtures) end
      for _, v in pairs(case.kw or {}) do collect(v, fixtures) end
      if #fixtures > 0 then visit(case, nn, fixtures) end
    end
  end
end

local function has_calls(file)
  local some = false
  each_case(file, function() some = true end)
  return some
end

describe("vmap does for all samples what a loop does, for the calls of", function()
  for _, file in ipairs(report.data_files()) do
    if has_calls(file) then
      it(file, function()
        local faults, compared = {}, 0
        each_case(file, function(case, nn, fixtures)
          local label = case.fn .. " " .. (case.name or "")
          for _, variant in ipairs(variants(#fixtures)) do
            local wrong, done = check(case, nn, fixtures, variant)
            compared = compared + (done and 1 or 0)
            if wrong then
              faults[#faults + 1] = ("%s, dim %d of %s: %s"):format(label, variant.dim,
                variant.only or "all", wrong)
            end
          end
          local wrong = check_products(case, nn, fixtures)
          if wrong then faults[#faults + 1] = label .. ", " .. wrong end
        end)
        assert.equal("", table.concat(faults, "\n"))
        assert(compared > 0)
      end)
    end
  end
end)

-- Which of input and factors are mapped, by bits, with inputs of fewer dimensions than the result,
-- whose sizes are the batch's: taken for another, a dimension would not fail.
describe("vmap over what is added to a product", function()
  local N = BATCH
  local INPUTS = {{}, {1}, {N}, {1, N}, {N, 1}, {N, N}, {1, N, N}, {N, N, N}}
  local FACTORS = {addmm = {{N, 3}, {3, N}}, addmv = {{N, 3}, {3}},
    baddbmm = {{N, N, 3}, {N, 3, N}}}

  local function check_mask(name, shapes, mask, beta)
    local full, dims, fixtures = {}, {}, {}
    for i, shape in ipairs(shapes) do
      local mapped = mask >> (i - 1) & 1 == 1
      fixtures[i], dims[i] = {}, mapped and 1 or none
      full[i] = lucerna.randn(mapped and {BATCH, table.unpack(shape)} or shape)
    end
    local case = {fn = name, args = {n = 3, table.unpack(fixtures)}, kw = {beta = beta}}
    local expected = by_loop(case, false, fixtures, full, dims)
    if not expected then return end
    local function f(a, b, c) return lucerna[name](a, b, c, {beta = beta}) end
    local got = func.vmap(f, {in_dims = dims})(table.unpack(full))
    assert.is_nil(same(got, expected[1], ("%s %d {%s}"):format(name, mask,
      table.concat(shapes[1], ", "))))
  end

  for name, factors in pairs(FACTORS) do
    it(name, function()
      for _, shape in ipairs(INPUTS) do
        for mask = 1, 7 do
          for beta = 0, 2 do check_mask(name, {shape, factors[1], factors[2]}, mask, beta) end
        end
      end
    end)
  end
end)

-- ---- layers ----

local nn = lucerna.nn
local RANDOM = {"Dropout", "RReLU", "FractionalMaxPool"}
local UNMAPPED = {
  CTCLoss = "its lengths are numbers", AdaptiveLogSoftmaxWithLoss = "it counts its targets",
  max_norm = "it writes its weight", ["track_running_stats = true"] = "it writes statistics",
}

local function mapped(text)
  for _, name in ipairs(RANDOM) do
    if text:find(name) then return false end
  end
  for name in pairs(UNMAPPED) do
    if text:find(name) then return false end
  end
  return true
end

-- The layer of a case, its inputs and parameters in batches.
local function layer_of(case)
  lucerna.manual_seed(42)
  local layer = assert(load("return " .. case.lua, case.lua, "t", {nn = nn, lucerna = lucerna}))()
  func.replace_all_batch_norm_modules_(layer)
  local inputs, all = {}, {}
  for k, fixture in ipairs(case.inputs) do inputs[k] = samples_of(fixture, 1) end
  for name, p in layer:named_parameters() do
    local list = {}
    for b = 1, BATCH do list[b] = p:detach() * (1 - b / 32) end
    all[name] = lucerna.stack(list)
  end
  return layer, inputs, all
end

local function sample(map, b)
  local one = {}
  for key, t in pairs(map) do one[key] = t[b] end
  return one
end

local function compare(f, all, inputs, dims, pick)
  local wanted = {}
  for b = 1, BATCH do
    local params = dims[1] == none and sample(all, 1) or sample(all, b)
    local args = dims[2] == none and sample(inputs, 1) or sample(inputs, b)
    wanted[b] = f(params, table.unpack(args))
  end
  local in_dims = {dims[1]}
  for k = 1, #inputs do in_dims[k + 1] = dims[2] end
  local got = func.vmap(f, in_dims)(dims[1] == none and sample(all, 1) or all,
    table.unpack(dims[2] == none and sample(inputs, 1) or inputs))
  for b = 1, BATCH do
    local wrong = pick(got, wanted[b], b)
    if wrong then return wrong end
  end
end

local function check_layer(case)
  local layer, inputs, all = layer_of(case)
  local function f(params, ...) return (func.functional_call(layer, params, {...})) end
  local function loss(params, ...) return (f(params, ...) ^ 2):sum() end
  local function output(got, wanted, b) return same(got[b], wanted, "output") end
  local function each(got, wanted, b)
    for name, t in pairs(wanted) do
      local wrong = same(got[name][b], t, "gradient of " .. name)
      if wrong then return wrong end
    end
  end
  local wrong = compare(f, all, inputs, {none, 1}, output)
  if wrong or not next(all) then return wrong end
  return compare(f, all, inputs, {1, none}, output) or compare(f, all, inputs, {1, 1}, output)
    or compare(func.grad(loss), all, inputs, {none, 1}, each)
end

describe("vmap over the inputs and parameters of layers, and their gradients:", function()
  for _, file in ipairs {"layers", "layers_simple", "layers_conv"} do
    it(file, function()
      local faults = {}
      for _, case in ipairs(parity.load(file)) do
        local _, wrong
        if mapped(case.lua) then _, wrong = pcall(check_layer, case) end
        if wrong then faults[#faults + 1] = case.lua .. ": " .. tostring(wrong) end
      end
      assert.equal("", table.concat(faults, "\n"))
    end)
  end
end)

-- ---- random calls ----

local arguments = require "arguments"
local operators = require "operators"

local RANDOM_IDS = {"rand", "normal", "bernoulli", "uniform", "poisson", "binomial", "gamma",
  "dirichlet", "dropout", "rrelu", "gumbel", "cauchy", "exponential", "geometric", "multinomial",
  "empty", "fractional", "as_strided"}

local function repeatable(row)
  for _, word in ipairs(RANDOM_IDS) do
    if row.id:find(word) then return false end
  end
  return true
end

-- Makes batches of some of the tensors among args and in their lists: {tensors, dims, places}.
local function batch_some(dice, args, n)
  local chosen = {tensors = {}, dims = {}, places = {}, some = false}
  local function take(holder, key)
    local t = holder[key]
    if not lucerna.is_tensor(t) or t:dim() > 6 or t:numel() > 2000 then return end
    local taken = dice.often(60)
    if taken then
      local list = {}
      for b = 1, BATCH do
        list[b] = t:is_floating_point() and t:detach() * (1 - b / 16) or t
      end
      t = lucerna.stack(list)
    end
    local at = #chosen.tensors + 1
    chosen.tensors[at], chosen.dims[at] = t, taken and 1 or none
    chosen.places[at], chosen.some = {holder, key}, chosen.some or taken
  end
  for i = 1, n do
    if type(args[i]) == "table" then
      for key in pairs(args[i]) do take(args[i], key) end
    else
      take(args, i)
    end
  end
  return chosen
end

-- Calls with a loop and with vmap; what differs, or nil.
local function random_call(dice, row, f)
  local args, n = arguments.arguments(dice, row)
  local chosen = batch_some(dice, args, n)
  if not chosen.some then return nil end
  local function call_with(...)
    for k, place in ipairs(chosen.places) do place[1][place[2]] = (select(k, ...)) end
    local results = table.pack(f(table.unpack(args, 1, n)))
    if results.n == 1 and type(results[1]) == "table" then
      results = table.pack(table.unpack(results[1]))
    end
    return table.unpack(results, 1, results.n)
  end
  local columns, fine = {}, true
  for b = 1, BATCH do
    local one = {}
    for k, t in ipairs(chosen.tensors) do
      one[k] = (chosen.dims[k] == 1 and t[b] or t):clone()
    end
    columns[b] = table.pack(pcall(call_with, table.unpack(one)))
    fine = fine and columns[b][1]
  end
  local copies = {}
  for k, t in ipairs(chosen.tensors) do copies[k] = t:clone() end
  local got = table.pack(pcall(func.vmap(call_with, {in_dims = chosen.dims,
    randomness = "different"}), table.unpack(copies)))
  if not got[1] then
    local known = not fine or got[2]:find("vmap", 1, true) or got[2]:find("at most 8", 1, true)
    return not known and row.id .. ": " .. got[2] or nil
  end
  for o = 2, fine and repeatable(row) and columns[1].n or 0 do
    local list = {}
    for b = 1, BATCH do list[b] = columns[b][o] end
    local stacked, expected = pcall(lucerna.stack, list)
    local wrong = stacked and lucerna.is_tensor(got[o]) and same(got[o], expected, row.id)
    if wrong then return wrong end
  end
end

describe("vmap over random calls", function()
  after_each(function() lucerna.set_memory_limit(0) end)

  it("does what a loop does, or fails as it", function()
    lucerna.set_memory_limit(96 << 20)
    lucerna.manual_seed(1)
    local dice, faults = operators.dice(1), {}
    for _, row in ipairs(operators.rows()) do
      for _, f in ipairs(arguments.functions(row)) do
        for _ = 1, 6 do faults[#faults + 1] = random_call(dice, row, f) end
      end
    end
    assert.equal("", table.concat(faults, "\n"))
  end)
end)
