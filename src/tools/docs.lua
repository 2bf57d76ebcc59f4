-- Writes build/docs/: lucerna.lua, types for editors (LuaCATS), and operators.md, the reference
-- page, both from the schemas of the operator table, so that they cannot disagree with the library;
-- and a page for each group that is written in Lua, from the comments that help() shows.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local help = require "lucerna.help"

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

local function write_types(path)
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

local function write_reference(path)
  local out = assert(io.open(path, "w"))
  out:write("# Operators\n\nOne schema a line, as the library reads it. `Dim`, `Index` and ",
    "`IndexTensor` count from 1; `Size` and `Dims` also go as varargs; what follows `*` is given ",
    "by name, in a table: `x:sum(1, {keepdim = true})`.\n")
  for _, part in ipairs(PARTS) do
    out:write("\n## ", part[3], "\n\n```\n")
    for _, f in ipairs(functions_of(part[2])) do
      for _, schema in ipairs(f.schemas) do
        out:write((schema.text:gsub("^[%w_]+", f.name)), "\n")
      end
    end
    out:write("```\n")
  end
  out:close()
end

-- ---- what is written in Lua: the texts of help() ----

-- {page, title, {prefix, table}, …}
local PAGES = {
  { "optim", "Optimizers, schedulers, averages", { "optim.", lucerna.optim },
    { "optim.Optimizer:", lucerna.optim.Optimizer },
    { "optim.lr_scheduler.", lucerna.optim.lr_scheduler },
    { "optim.swa_utils.", lucerna.optim.swa_utils } },
  { "init", "Initializers", { "nn.init.", lucerna.nn.init } },
  { "utils", "Parameters and gradients as a whole", { "nn.utils.", lucerna.nn.utils } },
  { "distributions", "Probability distributions", { "distributions.", lucerna.distributions },
    { "distributions.Distribution:", lucerna.distributions.Distribution },
    { "distributions.constraints.", lucerna.distributions.constraints } },
  { "models", "Nets with published names", { "models.", lucerna.models },
    { "models.GPT2:", { generate = lucerna.models.GPT2.generate } } },
  { "data", "Data sets and loaders", { "data.", lucerna.data } },
}

local function write_texts(out, prefix, t)
  local names = {}
  for name, value in pairs(t) do
    local class = type(value) == "table" and rawget(value, "__name")
    local public = type(name) == "string" and not name:find("^_")
    if public and (type(value) == "function" or class or core.nn.is_class(value)) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local text = help.text(t[name]):gsub("^[^\n]*\n", "", 1):gsub("\n  ", "\n"):gsub("^  ", "")
    out:write("\n## `", prefix, name, "`\n\n```\n", text, "\n```\n")
  end
end

local function write_page(page)
  local out = assert(io.open("build/docs/" .. page[1] .. ".md", "w"))
  out:write("# ", page[2], "\n")
  for k = 3, #page do write_texts(out, page[k][1], page[k][2]) end
  out:close()
end

os.execute("mkdir -p build/docs")
for _, page in ipairs(PAGES) do write_page(page) end
write_types("build/docs/lucerna.lua")
write_reference("build/docs/operators.md")
print("build/docs/lucerna.lua (types for editors), build/docs/*.md")
