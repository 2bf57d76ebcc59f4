-- Types for editors (LuaCATS), from the schemas that the library itself reads, and the comments of
-- what is written in Lua, so that they cannot disagree with it.

local lucerna = require "lucerna"
local core = require "lucerna.core"

local stubs = {}

-- ---- reading a schema ----

local function split(text)
  local parts, depth, from = {}, 0, 1
  for i = 1, #text do
    local c = text:sub(i, i)
    if c == "(" or c == "[" then depth = depth + 1 end
    if c == ")" or c == "]" then depth = depth - 1 end
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
  local name, inner, rest = text:match("^([%w_]+)(%b())(.*)$")
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
  Generator = "lucerna.Generator", Padding = "integer|integer[]|string", Any = "any",
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

-- The parameters as a function type's: "input: lucerna.Tensor, dim?: integer".
local function signature(schema, first)
  local parts, options = {}, {}
  for i = first, #schema.params do
    local p = schema.params[i]
    local optional = p.default and "?" or ""
    if not p.keyword then
      parts[#parts + 1] = ("%s%s: %s"):format(identifier(p.name), optional, cats(p.type))
    end
    options[#options + 1] = ("%s?: %s"):format(identifier(p.name), cats(p.type))
  end
  if #options > 0 then
    parts[#parts + 1] = ("options?: {%s}"):format(table.concat(options, ", "))
  end
  return table.concat(parts, ", ")
end

local function overload(schema, method)
  local arguments = signature(schema, method and 2 or 1)
  if method then
    arguments = "self: lucerna.Tensor" .. (arguments ~= "" and ", " or "") .. arguments
  end
  local results = table.concat(result_types(schema), ", ")
  return ("---@overload fun(%s)%s"):format(arguments, results ~= "" and ": " .. results or "")
end

local function write_function(out, owner, name, schemas, method)
  local main = schemas[1]
  if KEYWORDS[name] then return end
  for i = 2, #schemas do out:write(overload(schemas[i], method), "\n") end
  local names, options = {}, {}
  for i = method and 2 or 1, #main.params do
    local p = main.params[i]
    options[#options + 1] = ("%s?: %s"):format(identifier(p.name), cats(p.type))
    if not p.keyword then
      names[#names + 1] = identifier(p.name)
      out:write(("---@param %s%s %s\n"):format(identifier(p.name), p.default and "?" or "",
        cats(p.type)))
    end
  end
  if #options > 0 then
    names[#names + 1] = "options"
    out:write(("---@param options? {%s}\n"):format(table.concat(options, ", ")))
  end
  for _, kind in ipairs(result_types(main)) do out:write("---@return ", kind, "\n") end
  out:write(("function %s%s%s(%s) end\n\n"):format(owner, method and ":" or ".", name,
    table.concat(names, ", ")))
end

-- ---- what there is ----

-- Name -> schemas of the functions of a table, in order of names.
local function functions_of(t)
  local found = {}
  for name, f in pairs(t) do
    local texts = type(f) == "function" and type(name) == "string" and core._schemas(f)
    if texts and not name:find("^_") then
      local schemas = {}
      for i, text in ipairs(texts) do schemas[i] = parse(text) end
      found[#found + 1] = { name = name, schemas = schemas }
    end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

local PARTS = {
  { "lucerna", lucerna, "Functions: `lucerna.name(...)`" },
  { "Tensor", core.Tensor, "Methods of tensors: `x:name(...)`", true },
  { "lucerna.nn.functional", core.functional, "`lucerna.nn.functional`" },
}

local HEAD = [[
---@meta lucerna

---@class lucerna.dtype
---@field itemsize integer
---@field is_floating_point boolean
---@field is_signed boolean

---@class lucerna.Generator

---@class lucerna.Tensor
---@field shape integer[]
---@field dtype lucerna.dtype
---@field device string
---@field ndim integer
---@field requires_grad boolean
---@field grad lucerna.Tensor?
---@field grad_fn string?
---@field is_leaf boolean
---@field data lucerna.Tensor
---@field T lucerna.Tensor
---@field mT lucerna.Tensor
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

local lucerna = { nn = { functional = {} } }

]]

--- Writes the types of everything into a file.
function stubs.write(path)
  local out = assert(io.open(path, "w"))
  out:write(HEAD)
  for name, value in pairs(lucerna) do
    if tostring(value) == name and type(value) == "userdata" and name ~= "none" then
      out:write(("---@type lucerna.dtype\nlucerna.%s = nil\n\n"):format(name))
    end
  end
  for _, part in ipairs(PARTS) do
    for _, f in ipairs(functions_of(part[2])) do
      write_function(out, part[1], f.name, f.schemas, part[4])
    end
  end
  out:write("return lucerna\n")
  out:close()
end

return stubs
