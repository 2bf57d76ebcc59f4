-- Types for editors (LuaCATS), from the schemas that the library itself reads, and the comments of
-- what is written in Lua, so that they cannot disagree with it.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local help = require "lucerna.help"
local texts = require "lucerna.texts"

local stubs = {}

-- ---- reading a schema ----

local function split(text)
  local parts, depth, from = {}, 0, 1
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:find("[%(%[{]") then depth = depth + 1 end
    if c:find("[%)%]}]") then depth = depth - 1 end
    if c == "," and depth == 0 then
      parts[#parts + 1] = text:sub(from, i - 1):match("^%s*(.-)%s*$")
      from = i + 1
    end
  end
  local last = text:sub(from):match("^%s*(.-)%s*$")
  if last ~= "" then parts[#parts + 1] = last end
  return parts
end

local function parse_param(text)
  local head, default = text:match("^(.-)=(.*)$")
  local kind, name = (head or text):match("^(.-)%s+([%w_]+)%s*$")
  return { type = kind, name = name, default = default }
end

-- {name, params = {{type, name, default, keyword}}, results = {{type, name}}, list}
local function parse(text)
  local name, inner, rest = text:match("^([%w_.]+)(%b())(.*)$")
  local schema = { name = name, text = text, params = {}, results = {} }
  local keyword = false
  for _, part in ipairs(split(inner:sub(2, -2))) do
    if part == "*" then
      keyword = true
    else
      local param = parse_param(part)
      param.keyword = keyword
      table.insert(schema.params, param)
    end
  end
  local results = rest:match("^%s*%->%s*(.*)$") or ""
  if results:sub(1, 1) == "(" then
    for _, part in ipairs(split(results:sub(2, -2))) do
      table.insert(schema.results, parse_param(part))
    end
  elseif results ~= "" and results ~= "None" then
    schema.results[1] = { type = results }
  end
  return schema
end

-- ---- LuaCATS ----

local TYPES = {
  Tensor = "lucerna.Tensor", IndexTensor = "lucerna.Tensor", Operand = "lucerna.Tensor|number",
  Scalar = "number|boolean", int = "integer", Dim = "integer", Index = "integer",
  Size = "integer|integer[]", Dims = "integer|integer[]", float = "number", bool = "boolean",
  str = "string", dtype = "lucerna.dtype|string", device = "string",
  Generator = "lucerna.Generator", Padding = "integer|integer[]|string",
  DimPair = "integer[][]", Any = "any",
}

local function cats(kind)
  local base, choices, tail = kind:match("^(%a+)(%b())(.*)$")
  if not base then base, tail = kind:match("^(%a+)(.*)$") end
  local text = TYPES[base] or "any"
  if choices then text = '"' .. choices:sub(2, -2):gsub("|", '"|"') .. '"' end
  if tail:find("%[%]") then
    text = (text:find("|") and "(" .. text .. ")" or text) .. "[]"
  elseif tail:find("%[%d") and base ~= "Padding" then
    text = text .. "|" .. text .. "[]"
  end
  return text
end

local KEYWORDS = { ["end"] = "end_", ["repeat"] = "repeat_", ["function"] = "function_",
  ["in"] = "in_", ["not"] = "not_", ["or"] = "or_", ["and"] = "and_", ["until"] = "until_" }

local function identifier(name) return KEYWORDS[name] or name end

local function result_types(schema)
  local types = {}
  for i, result in ipairs(schema.results) do types[i] = cats(result.type) end
  return types
end

-- What may be given for a type: one value for a list of numbers, too.
local function accepted(kind)
  local one = not kind:find("Tensor") and kind:match("^(%a+)%[%]%??$")
  return one and cats(one) .. "|" .. cats(kind) or cats(kind)
end

-- The type of the items of a list that may be given one by one, or nil.
local function item_type(kind)
  if kind == "Size" or kind == "Dims" then return "integer" end
  return (kind == "int[]" or kind == "Tensor[]") and cats(kind:sub(1, -3)) or nil
end

-- The parameters from the first on as {name, type}, the last one the table of options. That may
-- stand in the place of any other that has a default; the first of these says what it holds. After
-- a list that ends the positional ones come its items, too.
local function parameters(schema, first)
  local fields, last = {}, nil
  for i = first, #schema.params do
    local p = schema.params[i]
    fields[#fields + 1] = ("%s?: %s"):format(identifier(p.name), accepted(p.type))
    if not p.keyword then last = p end
  end
  local options, found = ("{%s}"):format(table.concat(fields, ", ")), {}
  local item = last and item_type(last.type)
  local instead = options
  for i = first, #schema.params do
    local p = schema.params[i]
    if not p.keyword and p.default then
      found[#found + 1] = { identifier(p.name) .. "?", accepted(p.type) .. "|" .. instead }
      instead = "table"
    elseif not p.keyword then
      found[#found + 1] = { identifier(p.name), accepted(p.type) .. (item and p == last
        and item ~= "integer" and "|" .. item or "") }
    end
  end
  if item then
    found[#found + 1] = { "...", item .. "|" .. options }
  elseif #fields > 0 then
    found[#found + 1] = { "options?", options }
  end
  return found
end

-- The parameters as a function type's: "input: lucerna.Tensor, dim?: integer".
local function signature(schema, first)
  local parts = {}
  for i, p in ipairs(parameters(schema, first)) do parts[i] = p[1] .. ": " .. p[2] end
  return table.concat(parts, ", ")
end

local function overload(schema, method)
  local arguments = signature(schema, method and 2 or 1)
  if method then arguments = "self: any" .. (arguments ~= "" and ", " or "") .. arguments end
  local results = table.concat(result_types(schema), ", ")
  return ("---@overload fun(%s)%s"):format(arguments, results ~= "" and ": " .. results or "")
end

-- Writes a function: its other overloads, its parameters, what it returns.
local function write_function(out, full, schemas, results)
  local main, method = schemas[1], full:find(":", 1, true) ~= nil
  for i = 2, #schemas do out:write(overload(schemas[i], method), "\n") end
  local names = {}
  for i, p in ipairs(parameters(main, method and 2 or 1)) do
    names[i] = p[1]:gsub("?", "")
    out:write(("---@param %s %s\n"):format(p[1], p[2]))
  end
  for _, kind in ipairs(results or result_types(main)) do out:write("---@return ", kind, "\n") end
  out:write(("function %s(%s) end\n\n"):format(full, table.concat(names, ", ")))
end

-- ---- what is written in Lua: "name(a, b = 1, [d], {c = true}): …" in its text ----

local function kind_of(default)
  if default == "true" or default == "false" then return "boolean" end
  if tonumber(default) then return "number" end
  return default:find("^[\"']") and "string" or "any"
end

-- into = {names, lines, options, seen} gets the parts of a list; named: they are options only.
local function add_parts(into, text, named)
  for _, part in ipairs(split(text:sub(2, -2))) do into:add(part, named) end
end

local function add(into, part, named)
  local optional = part:match("^%[([%a_][%w_]*)%]$")
  local name = optional or part:match("^([%a_][%w_]*)")
  if part:find("^{") then return add_parts(into, part, true) end
  if not name or into.seen[name] then return end
  into.seen[name] = true
  name = identifier(name)
  local default = optional and "" or part:match("=%s*(.*)$")
  local kind = kind_of(default or "")
  table.insert(into.options, ("%s?: %s"):format(name, kind))
  if named then return end
  table.insert(into.names, name)
  if default then name, kind = name .. "?", kind .. "|table" end
  table.insert(into.lines, ("---@param %s %s"):format(name, kind))
end

local function write_written(out, full, text, results)
  local name = full:match("[%w_]+$")
  local flat = text:gsub("%s+", " ")
  local into = { names = {}, lines = {}, options = {}, seen = {}, add = add }
  local arguments = flat:match("%f[%w_]" .. name .. "(%b())") or flat:match("%f[%w_]" .. name
    .. "(%b{})")
  if arguments then add_parts(into, arguments, arguments:find("^{") ~= nil) end
  local open = arguments and (arguments:find("%.%.%.[%)}]$") or arguments:find("…", 1, true))
  if #into.options > 0 and not open then
    table.insert(into.names, "options")
    table.insert(into.lines, ("---@param options? {%s}"):format(table.concat(into.options, ", ")))
  end
  for _, line in ipairs(into.lines) do out:write(line, "\n") end
  local dots = not arguments or open or arguments:find(",]", 1, true) -- [device_type,] enabled
  if dots then table.insert(into.names, "...") end
  for _, kind in ipairs(results) do out:write("---@return ", kind, "\n") end
  out:write(("function %s(%s) end\n\n"):format(full, table.concat(into.names, ", ")))
end

-- ---- classes ----

-- A layer: an instance that is called as its forward, and what makes one.
local function write_class(out, full, class)
  local constructor, forward = core.nn.schemas(class)
  local parent = core.nn.parent(class)
  if not parent then return end -- nn.Module stands in HEAD
  local base = "lucerna.nn." .. core.nn.class_name(parent)
  out:write(("---@class %s: %s\n"):format(full, base))
  if forward and forward ~= "" then
    local call = parse("forward(" .. forward:gsub("%s*%->", ") ->", 1))
    local results = table.concat(result_types(call), ", ")
    local arguments, tail = signature(call, 1), results ~= "" and ": " .. results or ""
    out:write(("---@overload fun(%s)%s\n"):format(arguments, tail))
    out:write(("---@field forward fun(self: any, %s)%s\n"):format(arguments, tail))
  end
  out:write("\n")
  return constructor and parse(("new(%s)"):format(constructor))
end

-- An optimizer's options: its schema's, or what one of its kind has.
local function write_optimizer(out, full, class)
  local made_of = { "lucerna.optim.Optimizer" }
  if rawget(class, "_schema") then
    return write_function(out, full, { parse(class._schema) }, made_of)
  end
  local parameter = lucerna.nn.Parameter(lucerna.ones(1, 1))
  local good, made = pcall(class, { parameter })
  local options = {}
  for name, value in pairs(good and made.defaults or {}) do
    local kind = type(value) == "table" and "number[]" or type(value)
    options[#options + 1] = ("%s?: %s"):format(name, kind)
  end
  table.sort(options)
  out:write("---@param params any\n---@param options? {", table.concat(options, ", "), "}\n")
  out:write(("---@return %s\nfunction %s(params, options) end\n\n"):format(made_of[1], full))
end

-- ---- all names ----

local HEAD = [[
---@meta lucerna

---@class lucerna.dtype
---@field itemsize integer
---@field is_floating_point boolean
---@field is_signed boolean

---@class lucerna.Generator

---@class lucerna.grad_fn
---@field next_functions table[]
---@field variable lucerna.Tensor?
---@field metadata table
---@field name fun(self: lucerna.grad_fn): string
---@field register_hook fun(self: lucerna.grad_fn, hook: function): any
---@field register_prehook fun(self: lucerna.grad_fn, hook: function): any

---@class lucerna.Tensor
---@field shape integer[]
---@field dtype lucerna.dtype
---@field device string
---@field layout string
---@field is_cpu boolean
---@field is_cuda boolean
---@field is_meta boolean
---@field is_sparse boolean
---@field is_quantized boolean
---@field ndim integer
---@field itemsize integer
---@field nbytes integer
---@field requires_grad boolean
---@field grad lucerna.Tensor?
---@field retains_grad boolean
---@field grad_fn lucerna.grad_fn?
---@field output_nr integer
---@field is_leaf boolean
---@field data lucerna.Tensor
---@field T lucerna.Tensor
---@field mT lucerna.Tensor
---@field H lucerna.Tensor
---@field mH lucerna.Tensor
---@field real lucerna.Tensor
---@field imag lucerna.Tensor
---@operator add(lucerna.Tensor|number): lucerna.Tensor
---@operator sub(lucerna.Tensor|number): lucerna.Tensor
---@operator mul(lucerna.Tensor|number): lucerna.Tensor
---@operator div(lucerna.Tensor|number): lucerna.Tensor
---@operator idiv(lucerna.Tensor|number): lucerna.Tensor
---@operator mod(lucerna.Tensor|number): lucerna.Tensor
---@operator pow(lucerna.Tensor|number): lucerna.Tensor
---@operator unm: lucerna.Tensor
---@operator len: integer
---@field [any] any
local Tensor = {}

---@class lucerna.nn.Module
---@field training boolean
---@field [any] any
local Module = {}

---@class lucerna.optim.Optimizer
---@field param_groups table[]
---@field [any] any
local Optimizer = {}

---@class lucerna.optim.lr_scheduler.LRScheduler
---@field last_epoch integer
---@field [any] any
local LRScheduler = {}

---@class lucerna.profiler.Profile
---@field [any] any
local Profile = {}

---@class lucerna.nn.Sequential: lucerna.nn.Module
local Sequential = {}

---@class lucerna.nn.ModuleList: lucerna.nn.Module
local ModuleList = {}

---@class lucerna.nn.ModuleDict: lucerna.nn.Module
local ModuleDict = {}

---@class lucerna.nn.ParameterList: lucerna.nn.Module
local ParameterList = {}

---@class lucerna.nn.ParameterDict: lucerna.nn.Module
local ParameterDict = {}

local lucerna = {}
]]

-- How a name of help() is written in the stubs.
local OWNERS = {
  { "^tensor:", "Tensor:" }, { "^nn%.Module%.", "Module:" }, { "^nn%.(%u%w*):", "%1:" },
  { "^optim%.Optimizer:", "Optimizer:" }, { "^profiler%.Profile:", "Profile:" },
  { "^optim%.lr_scheduler%.LRScheduler:", "LRScheduler:" },
  { "^F%.", "lucerna.nn.functional." }, { "^lucerna%.", "lucerna." }, { "^", "lucerna." },
}

local function full_name(name)
  for _, owner in ipairs(OWNERS) do
    if name:find(owner[1]) then return (name:gsub(owner[1], owner[2], 1)) end
  end
end

-- The tables that a name stands in, from the outermost.
local function write_tables(out, full, known)
  for at in full:gmatch("()[.:]") do
    local t = full:sub(1, at - 1)
    if not known[t] and t:find(".", 1, true) then out:write(t, " = {}\n\n") end
    known[t] = true
  end
end

local function write_comment(out, parts)
  local text = parts.comment and parts.comment:gsub("^  ", ""):gsub("\n  ", "\n") or ""
  if parts.entry then
    local _, more = texts.example(parts.entry)
    if parts.shared then more = table.concat(parts.shared, " ") .. " " .. more end
    text = text .. (text ~= "" and more ~= "" and "\n" or "") .. more
  end
  for line in text:gmatch("[^\n]+") do out:write("---", line, "\n") end
end

local function write_name(out, name, value, parts)
  local full = full_name(name)
  local native = type(value) == "function" and core._schemas(value)
  local results, constructor = { "any" }, nil
  if core.nn.is_class(value) then
    constructor = write_class(out, full, value)
    results = { full }
  elseif name:find("^optim%.lr_scheduler%.%u%w*$") then
    results = { "lucerna.optim.lr_scheduler.LRScheduler" }
  end
  write_comment(out, parts)
  if native then
    local schemas = {}
    for i, text in ipairs(native) do schemas[i] = parse(text) end
    write_function(out, full, schemas)
  elseif constructor and parts.signature then
    write_function(out, full, { constructor }, results)
  elseif name:find("^optim%.%u%w*$") and value ~= lucerna.optim.Optimizer then
    write_optimizer(out, full, value)
  else
    local text = parts.comment or parts.entry and select(2, texts.example(parts.entry)) or ""
    write_written(out, full, text, results)
  end
end

-- The type of a value that is no function, or nil.
local function type_of(value)
  local kind = type(value)
  if kind == "number" or kind == "string" then return kind end
  if value == lucerna.none then return "userdata" end
  if value == lucerna.default_generator then return "lucerna.Generator" end
  return kind == "userdata" and lucerna[tostring(value)] == value and "lucerna.dtype" or nil
end

-- Constants: dtypes, none, pi, …
local function write_constants(out)
  local names = {}
  for name, value in pairs(lucerna) do
    if type_of(value) then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    out:write(("---@type %s\nlucerna.%s = nil\n\n"):format(type_of(lucerna[name]), name))
  end
end

--- Writes the types of everything into a file.
function stubs.write(path)
  local out = assert(io.open(path, "w"))
  out:write(HEAD, "\n")
  write_constants(out)
  local known = {}
  help.each(function(name, value, parts)
    local last = name:match("[%w_]+$")
    if identifier(last) ~= last then return end -- x["repeat"]
    if name:find("^tensor%.") then return end -- a field: in HEAD
    write_tables(out, full_name(name), known)
    write_name(out, name, value, parts)
  end)
  out:write("return lucerna\n")
  out:close()
end

return stubs
