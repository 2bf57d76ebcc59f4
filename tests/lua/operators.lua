-- The operator table as specs see it: its rows with their parameters taken apart, and every Lua
-- function made from them. Nothing here knows an operator by name, so a new row is covered as it is
-- added.
local lucerna = require "lucerna"
local core = require "lucerna.core"

local M = {}

--- The recorded files of operators.
M.FILES = {"create", "index_ops", "pointwise", "random", "reduce", "view", "views",
  "rest", "nn_matmul",
  "nn_activation", "nn_conv", "nn_pool", "nn_norm", "nn_loss", "nn_softmax", "nn_dropout",
  "functional_conv",
  "functional_activation", "functional_loss", "functional_ctc",
  "functional_pool", "functional_distance", "functional_resize", "functional_grid",
  "functional_attention", "linalg", "fft", "special", "complex", "reductions"}

-- "Tensor? bias=None" -> {type = "Tensor", optional = true, name = "bias", default = "None"}
local function parameter(text)
  local kind, name, default = text:match("^(%S+)%s+([%w_]+)=?(.*)$")
  local choices = kind:match("^str(%b())")
  local p = {name = name, default = default ~= "" and default or nil}
  p.type = kind:match("^%a+")
  p.optional = kind:find("?", 1, true) ~= nil
  p.list = kind:match("%[(%d*)%]")
  if choices then
    p.choices = {}
    for word in choices:gmatch("[%w_-]+") do p.choices[#p.choices + 1] = word end
  end
  return p
end

--- The parameters of a schema: lists of positional ones and those that come by name alone.
function M.parameters(schema)
  local inside = schema:match("^[%w_.]+(%b())"):sub(2, -2)
  local all, depth, start = {}, 0, 1
  for i = 1, #inside + 1 do
    local c = inside:sub(i, i)
    if c:find("[%[%(]") then depth = depth + 1 end
    if c:find("[%]%)]") then depth = depth - 1 end
    if depth == 0 and (c == "," or c == "") then
      all[#all + 1] = inside:sub(start, i - 1):match("^%s*(.-)%s*$")
      start = i + 1
    end
  end
  local positional, named = {}, {}
  local into = positional
  for _, text in ipairs(all) do
    if text == "*" then
      into = named
    elseif text ~= "" then
      into[#into + 1] = parameter(text)
    end
  end
  return positional, named
end

--- The library's function of this name: "linalg.det" is det of linalg.
function M.find(name)
  local home, tail = name:match("^(%w+)%.(.*)$")
  if home then return lucerna[home][tail] end
  return lucerna[name] or core[name]
end

--- The rows that users can call, each with its parameters and its function.
function M.rows()
  local rows = {}
  for _, row in ipairs(core._operators()) do
    if row.fn or row.method or row.nn then
      row.positional, row.named = M.parameters(row.schema)
      row.call = row.fn and M.find(row.name) or row.nn and core.functional[row.name]
        or core.Tensor[row.name]
      rows[#rows + 1] = row
    end
  end
  return rows
end

--- Numbers that are the same on every machine: next(n) is one of 1..n, one(list) one of a list.
function M.dice(seed)
  local state = seed
  local dice = {}
  function dice.next(n)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % n + 1
  end
  function dice.one(list) return list[dice.next(#list)] end
  function dice.often(percent) return dice.next(100) <= percent end
  return dice
end

return M
