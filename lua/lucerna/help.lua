-- help(x): what x is and how it is called. Operators and C classes tell it by their schemas and
-- lucerna.texts, what is written in Lua by the comment above its definition.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local shape_text = require "lucerna.shape_text"
local texts = require "lucerna.texts"
local written = require("lucerna.distributions.tools").written

local help = {}

-- Where names are looked for, as they are written there.
local PLACES = {
  "lucerna.", "nn.", "F.", "nn.grad.", "nn.parameter.", "nn.Module.", "nn.init.", "nn.utils.",
  "nn.utils.rnn.", "nn.utils.stateless.", "nn.utils.prune.", "nn.utils.parametrize.",
  "nn.utils.parametrizations.", "nn.attention.flex_attention.", "nn.attention.bias.",
  "nn.attention.", "nn.parallel.", "nn.Sequential:", "nn.ModuleList:", "nn.ModuleDict:",
  "nn.ParameterList:", "nn.ParameterDict:", "profiler.", "profiler.Profile:", "linalg.", "fft.",
  "special.", "optim.", "optim.Optimizer:", "optim.lr_scheduler.",
  "optim.lr_scheduler.LRScheduler:", "optim.swa_utils.", "func.", "distributions.",
  "distributions.Distribution:", "distributions.transforms.", "distributions.constraints.",
  "autograd.functional.", "autograd.graph.", "autograd.", "amp.", "amp.GradScaler:", "data.",
  "utils.checkpoint.", "models.", "models.GPT2:", "cuda.", "accelerator.",
  "backends.cuda.", "backends.cudnn.", "backends.mps.", "safetensors.", "numpy.", "tensor:",
  "tensor.",
}

-- A tensor's methods, or its fields (what is no function).
local function members(fields)
  local t = {}
  for name, value in next, core.Tensor do
    if (type(value) ~= "function") == fields then t[name] = value end
  end
  return t
end

-- Those that are not where their names lead to.
local ELSEWHERE = {
  ["lucerna."] = function() return lucerna end,
  ["F."] = function() return lucerna.nn.functional end,
  ["models.GPT2:"] = function() return {generate = lucerna.models.GPT2.generate} end,
  ["tensor:"] = function() return members(false) end,
  ["tensor."] = function() return members(true) end,
}

-- t.a.b for "a.b" or "a:b".
local function follow(t, text)
  for key in text:gmatch("[^.:]+") do t = t[key] end
  return t
end

-- Calls f(prefix, table) for the places that exist.
local function each_place(f)
  for _, prefix in ipairs(PLACES) do
    local good, t = pcall(ELSEWHERE[prefix] or follow, lucerna, prefix)
    if good and type(t) == "table" then f(prefix, t) end
  end
end

-- Every name under which a value is reached, as users write it.
local function names_of(value)
  local names = {}
  value = core._original(value)
  each_place(function(prefix, t)
    for key, v in next, t do
      local same = rawequal(core._original(v), value)
      if same and type(key) == "string" then names[#names + 1] = prefix .. key end
    end
  end)
  table.sort(names, function(a, b)
    local colon_a, colon_b = a:find(":", 1, true) ~= nil, b:find(":", 1, true) ~= nil
    if colon_a ~= colon_b then return colon_b end
    return core._before(a, b)
  end)
  return names
end

-- The value a text names: "conv2d", "nn.Conv2d", "lucerna.nn.Conv2d", "torch.sum", "tensor:sum".
local function find(text)
  text = text:gsub("^torch%f[^%w_]", "lucerna"):gsub("^lucerna%.", "")
    :gsub("^Tensor:", "tensor:"):gsub("^nn%.functional%.", "F.")
  local found
  each_place(function(prefix, t)
    if found ~= nil then return end
    local name = text
    if prefix ~= "lucerna." and text:sub(1, #prefix) == prefix then name = text:sub(#prefix + 1) end
    local good, v = pcall(follow, t, name)
    if good then found = v end
  end)
  if found == nil and ELSEWHERE[text .. "."] then return ELSEWHERE[text .. "."]() end
  return found
end

-- " (did you mean …?)", a name that differs from text in case and underscores only, or "".
local function alike(text)
  local function letters(s) return (s:lower():gsub("[^%w]", "")) end
  local wanted, found = letters(text), nil
  each_place(function(prefix, t)
    for name in pairs(require("lucerna.repl").keys(t)) do
      local same = letters(name) == wanted or letters(prefix .. name) == wanted
      if same and not name:find("^_") and (not found or #found > #prefix + #name) then
        found = prefix .. name
      end
    end
  end)
  return found and (" (did you mean '%s'?)"):format(found) or ""
end

-- ---- what comments and schemas say ----

local function lines_of(path)
  local file = io and io.open(path)
  if not file then return nil end
  local lines = {}
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return lines
end

-- The comment that ends above line `at`, indented, or "".
local function comment_above(lines, at)
  local first = at
  while first > 1 and lines[first - 1]:find("^%s*%-%-") do first = first - 1 end
  local comment = {}
  for i = first, at - 1 do comment[#comment + 1] = "  " .. lines[i]:gsub("^%s*%-%-%-?%s?", "") end
  return table.concat(comment, "\n")
end

-- What was made by a call has its comment above the line that names it: `optim.Adam = …` or
-- `define("uniform_", …)`.
local function from_naming(lines, name)
  name = name:gsub("%p", "%%%0")
  for i, line in ipairs(lines) do
    if line:find("^[%w_.]+%." .. name .. "%s*=") or line:find('^define%("' .. name .. '"') then
      local comment = comment_above(lines, i)
      if comment ~= "" then return comment end
    end
  end
end

-- What the source says of a function of that name ("" if it has none), or nil. made: the comment at
-- the naming comes first, as for classes, whose f is their __init.
local function describe_lua(f, name, made)
  if not debug then return nil end -- a host's sandbox
  local info = debug.getinfo(written[f] or f, "S")
  local path = info.source:match("^@(.*)")
  local lines = path and info.linedefined > 0 and lines_of(path)
  local line = lines and lines[info.linedefined]
  if not line then return nil end
  name = name:match("[%w_]*$")
  if name ~= "" and (made or not line:find(name, 1, true)) then
    local comment = from_naming(lines, name)
    if comment then return comment end
  end
  local own, arguments = line:match("function%s+[%w_.:]-([%w_]+)(%b())")
  local comment = comment_above(lines, info.linedefined)
  local parts = {}
  -- A comment may begin with the call itself.
  local says_more = own and arguments ~= "(...)" and own ~= "__init"
    and not comment:find("^%s*[%w_.:]*" .. own .. "[({]")
  if says_more then parts[1] = "  " .. own .. arguments end
  if comment ~= "" then parts[#parts + 1] = comment end
  return #parts > 0 and table.concat(parts, "\n") or nil
end

local LEGEND = {
  {"%f[%w]Dims?%f[^%w]", "Dim, Dims: dimensions count from 1, -1 is the last"},
  {"%f[%w]Index%f[^%w]", "Index: positions count from 1, -1 is the last"},
  {"%f[%w]IndexTensor%f[^%w]", "IndexTensor: an integer tensor of positions that count from 1"},
  {"%f[%w]Operand%f[^%w]", "Operand: a Tensor or a number"},
  {"%f[%w]int%[%d%]", "int[2]: one number or a table of two, and so on"},
  {"%f[%w]Size%f[^%w]", "Size: numbers one after another, or one table of them"},
}

-- What counts from 0 in a schema's defaults counts from 1 for users: "Dim dim=0" is dim=1.
local function counted(schema)
  local function one_more(head, number) return head .. math.tointeger(number) + 1 end
  schema = schema:gsub("(%f[%w]Dims?[%[%]%d?]* [%w_]+=)(%d+)", one_more)
  schema = schema:gsub("(%f[%w]Index[%[%]%d?]* [%w_]+=)(%d+)", one_more)
  return (schema:gsub("(%f[%w]Dim%[%]%?? [%w_]+=)(%b[])", function(head, list)
    return head .. list:gsub("%d+", function(number) return one_more("", number) end)
  end))
end

-- A schema on lines of at most 98 columns.
local function folded(schema)
  local lines, line = {}, ""
  schema = counted(schema)
  for part in schema:gmatch("[^,]+,?") do
    if #line + #part > 96 then
      lines[#lines + 1] = line
      line = "   "
    end
    line = line .. part
  end
  lines[#lines + 1] = line
  return "  " .. table.concat(lines, "\n  ")
end

-- Schemas, each on its line, with a legend of the types that do not say enough.
local function schema_text(schemas)
  local lines, seen = {}, {}
  for _, schema in ipairs(schemas) do
    if not seen[schema] then lines[#lines + 1] = folded(schema) end
    seen[schema] = true
  end
  local all = table.concat(lines, " ")
  for _, entry in ipairs(LEGEND) do
    if all:find(entry[1]) then lines[#lines + 1] = "    " .. entry[2] end
  end
  return table.concat(lines, "\n")
end

-- What is known of a function, class or field: signature, comment (of the Lua source), entry (of
-- lucerna.texts), shared (the names whose entry it is); the first two come indented.
local function parts_of_function(f, names)
  local schemas, in_place = core._schemas(f)
  if not schemas then return { comment = describe_lua(f, names[1] or "") } end
  if not in_place then return { signature = schema_text(schemas) } end
  for i, schema in ipairs(schemas) do schemas[i] = schema:gsub("^([%w_.]-)_?%(", "%1_(") end
  return { signature = schema_text(schemas) .. "\n    writes its first argument and returns it" }
end

local function parts_of_class(class)
  local name = core.nn.class_name(class)
  local constructor, forward = core.nn.schemas(class)
  local own = rawget(class, "__init")
  local comment = type(own) == "function" and describe_lua(own, name, true) or nil
  if comment or not constructor then return { comment = comment } end
  local schemas = {("%s(%s)"):format(name, constructor)}
  if forward and forward ~= "" then
    schemas[2] = "forward(" .. forward:gsub("%s*%->", ") ->", 1)
  end
  return { signature = schema_text(schemas) }
end

-- A class of data sets, optimizers, schedulers; another table has no parts.
local function parts_of_table(t, names)
  -- The constructors of most distributions stand elsewhere; their densities do not.
  local init = rawget(t, "__name") and (rawget(t, "_log_prob") or t.__init)
  local comment = type(init) == "function" and describe_lua(init, names[1] or "", true) or nil
  local schema = rawget(t, "_schema")
  return { signature = schema and schema_text { schema }, comment = comment }
end

local function parts_of(value, names)
  local parts
  if type(value) == "function" then
    parts = parts_of_function(value, names)
  elseif core.nn.is_class(value) then
    parts = parts_of_class(value)
  else
    parts = type(value) == "table" and parts_of_table(value, names) or {}
  end
  for _, name in ipairs(names) do
    if not parts.entry then parts.entry, parts.shared = texts.find(name) end
  end
  return parts
end

-- Names in lines of at most 78 columns.
local function wrapped(names)
  local lines, line = {}, " "
  for _, name in ipairs(names) do
    if #line + #name + 1 > 78 then
      lines[#lines + 1] = line
      line = " "
    end
    line = line .. " " .. name
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- A title and, below it, what is known.
local function text_of(title, parts)
  local lines = { title }
  for _, key in ipairs { "signature", "comment" } do lines[#lines + 1] = parts[key] end
  if parts.shared then lines[#lines + 1] = wrapped(parts.shared) end
  if parts.entry then lines[#lines + 1] = "  " .. parts.entry:gsub("\n", "\n  ") end
  return table.concat(lines, "\n")
end

local function function_text(f)
  local names = names_of(f)
  local parts = parts_of(f, names)
  if not next(parts) then parts.comment = "  (no documentation)" end
  return text_of(#names > 0 and table.concat(names, ", ") or "function", parts)
end

-- ---- classes, modules, tables ----

local function class_text(class)
  local parent, names = core.nn.parent(class), names_of(class)
  local title = "class " .. (names[1] or core.nn.class_name(class))
  if parent then title = ("%s (a %s)"):format(title, core.nn.class_name(parent)) end
  return text_of(title, parts_of(class, names))
end

local function table_text(t)
  local title
  each_place(function(prefix, place)
    if rawequal(place, t) then title = title or prefix:gsub("[.:]$", "") end
  end)
  local class = rawget(t, "__name") -- of data sets, optimizers, schedulers: methods
  local names = {}
  for name in pairs(require("lucerna.repl").keys(t)) do
    local shown = not name:find("^_") and (not class or type(t[name]) == "function")
    if shown then names[#names + 1] = name end
  end
  table.sort(names, core._before)
  title = title or names_of(t)[1] or tostring(t)
  local text = text_of(title, class and parts_of(t, { title }) or {})
  return text .. (#names > 0 and "\n" .. wrapped(names) or "")
end

local INTRODUCTION = [[
help(x) explains a function, class, module or tensor; help "nn.Conv2d" finds it by name.
  help(lucerna)    what there is       help(nn)    layers          help(F)    functions on tensors
  help(optim)      optimizers          help "tensor:sum"    a method]]

local function value_text(value)
  if lucerna.is_tensor(value) then
    return ("Tensor %s, %s\n"):format(shape_text(value:size()), value.dtype)
      .. table_text(core.Tensor)
  end
  if core.nn.is_class(value) then return class_text(value) end
  local is_module, class = pcall(core.nn.class_of, value)
  if is_module then return tostring(value) .. "\n" .. class_text(class) end
  local meta = getmetatable(value)
  if type(meta) == "table" and rawget(meta, "__name") and meta.__init then -- an optimizer and such
    return (rawget(meta, "__tostring") and tostring(value) .. "\n" or "") .. table_text(meta)
  end
  local field = type(value) == "userdata" and not meta and names_of(value)[1]
  if field then return text_of(field, parts_of(value, { field })) end
  local kind = type(meta) == "table" and rawget(meta, "__name") or meta
  local made_by = type(kind) == "string" and find(kind) -- a DataLoader, a Generator
  if type(made_by) == "function" then return tostring(value) .. "\n" .. function_text(made_by) end
  if type(value) == "table" then return table_text(value) end
  return ("%s: %s"):format(type(kind) == "string" and kind or type(value), value)
end

--- The text that help prints.
function help.text(value)
  if value == nil then return INTRODUCTION end
  if type(value) == "string" then
    local found = find(value)
    if found == nil then return ("nothing is called '%s'%s"):format(value, alike(value)) end
    if type(found) ~= "string" then value = found end
  end
  if type(value) == "function" then return function_text(value) end
  return value_text(value)
end

--- Calls f(name, value, parts) for every public function, class and field of tensors, by place
-- and name. parts: what parts_of says.
function help.each(f)
  each_place(function(prefix, t)
    local names = {}
    local methods = prefix:find(":$") and t -- a class's own, without those of its parents
    for name in next, methods or require("lucerna.repl").keys(t) do
      local value = type(name) == "string" and not name:find("^_") and t[name]
      local class = core.nn.is_class(value) or type(value) == "table" and rawget(value, "__name")
      local field = type(value) == "userdata" and prefix == "tensor."
      if class or field or type(value) == "function" then names[#names + 1] = name end
    end
    table.sort(names, core._before)
    for _, name in ipairs(names) do
      f(prefix .. name, t[name], parts_of(t[name], { prefix .. name }))
    end
  end)
end

return setmetatable(help, {
  __tostring = function() return INTRODUCTION end, -- who types help
  __call = function(_, ...)
    if select("#", ...) > 0 and (...) == nil then
      print("nil: no such thing. help \"name\" finds a thing by its name")
    else
      print(help.text((...)))
    end
  end,
})
