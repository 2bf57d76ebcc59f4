-- The interactive prompt: reads a chunk over as many lines as it takes, runs it, shows what it
-- returns. What is here is text in, text out; the terminal (lines, history, Ctrl-C) is handed in by
-- the command as a table of functions.

local core = require "lucerna.core"
local shape_text = require "lucerna.shape_text"

local repl = {}

-- ---- chunks ----

-- Was the chunk cut off, so that more lines may complete it?
local function is_incomplete(message) return message:find("<eof>", -5, true) ~= nil end

--- Compiles a chunk, an expression so that it returns what it is worth (not by a tail call, which
-- would have no line that errors could name). A `local` that begins the chunk is left out, since it
-- would be gone with the next line. Returns a function; or nil and the error; or nil, the error and
-- true when the text is only the beginning of a chunk.
function repl.compile(text, env)
  local expression = text:match("^%s*=(.*)$") or text
  local f, cut = load("local _repl <close> = nil return " .. expression, "=stdin", "t", env)
  local kept = text:match("^%s*local%s+(.*)$")
  if not f and kept then f = load(kept, "=stdin", "t", env) end
  if f then return f end
  local message
  f, message = load(text, "=stdin", "t", env)
  if f then return f end
  return nil, message, is_incomplete(message) or is_incomplete(cut)
end

-- ---- showing values ----

local function quoted(s)
  if #s > 60 then s = s:sub(1, 57) .. "..." end
  return '"' .. s:gsub('[%c"\\]', function(c)
    return ({["\n"] = "\\n", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\"})[c]
      or ("\\%d"):format(c:byte())
  end) .. '"'
end

local function is_name(s) return type(s) == "string" and s:find("^[%a_][%w_]*$") ~= nil end

-- A value inside a table, on part of a line.
local function brief(value)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "table" then
    local meta = getmetatable(value)
    if type(meta) == "table" and rawget(meta, "__tostring") then
      local text = tostring(value)
      if #text <= 60 and not text:find("\n") then return text end
      return text:match("^[^\n]*"):sub(1, 57) .. "…"
    end
    return next(value) == nil and "{}" or "{…}"
  end
  if kind ~= "userdata" then return tostring(value) end
  local good, shape = pcall(function() return value:size() end)
  if good and type(shape) == "table" then return "Tensor " .. shape_text(shape) end
  local text = tostring(value)
  local first = text:match("^[^\n]*")
  return first ~= text and first .. "…)" or first
end

local function key_text(key)
  if is_name(key) then return key end
  return "[" .. (type(key) == "string" and quoted(key) or tostring(key)) .. "]"
end

local function by_name(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  return core._before(tostring(a), tostring(b))
end

local MOST = 30

local function entries(t)
  local parts, n = {}, rawlen(t)
  for i = 1, math.min(n, MOST) do parts[i] = brief(rawget(t, i)) end
  local keys = {}
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then keys[#keys + 1] = key end
  end
  table.sort(keys, by_name)
  local count = n + #keys
  for _, key in ipairs(keys) do
    if #parts == MOST then break end
    parts[#parts + 1] = key_text(key) .. " = " .. brief(rawget(t, key))
  end
  if count > #parts then parts[#parts + 1] = ("… (%d more)"):format(count - #parts) end
  return parts
end

--- The text of a result. Tables are shown one level deep.
function repl.show(value)
  local meta = type(value) == "table" and getmetatable(value)
  local own_text = meta and (type(meta) ~= "table" or rawget(meta, "__tostring"))
  if type(value) ~= "table" or own_text then return tostring(value) end
  local parts = entries(value)
  local line = "{" .. table.concat(parts, ", ") .. "}"
  if (utf8.len(line) or #line) <= 80 then return line end
  return "{\n  " .. table.concat(parts, ",\n  ") .. "\n}"
end

-- ---- completion ----

local KEYWORDS = {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto",
  "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"}

local function meta_of(value)
  local meta = debug and debug.getmetatable(value) or getmetatable(value)
  return type(meta) == "table" and meta or nil
end

local function add_keys(keys, t)
  for key in next, t do
    if is_name(key) then keys[key] = true end
  end
end

-- The names of a table, of the tables its metatables lead to, and of what it loads when asked.
local function table_keys(keys, value, depth)
  add_keys(keys, value)
  local meta = meta_of(value)
  if not meta or depth > 8 then return end
  if type(meta.__names) == "function" then
    for _, name in ipairs(meta.__names()) do keys[name] = true end
  end
  if type(meta.__index) == "table" then table_keys(keys, meta.__index, depth + 1) end
end

-- A module's methods and properties, its fields, parameters, buffers and children.
local function module_keys(keys, module, class)
  table_keys(keys, class, 1)
  for _, name in ipairs(require("lucerna.nn.trees").names(module)) do
    if is_name(name) then keys[name] = true end
  end
end

local function userdata_keys(keys, value)
  if core.is_tensor(value) then return add_keys(keys, core.Tensor) end
  local is_module, class = pcall(core.nn.class_of, value)
  if is_module then return module_keys(keys, value, class) end
  local meta = meta_of(value)
  if meta and type(meta.__index) == "table" then table_keys(keys, meta.__index, 1) end
end

--- The names that can follow `value.` or `value:`, as a set.
function repl.keys(value)
  local keys = {}
  if type(value) == "table" then
    table_keys(keys, value, 1)
  elseif type(value) == "string" then
    add_keys(keys, string)
  elseif type(value) == "userdata" then
    userdata_keys(keys, value)
  end
  return keys
end

-- Splits "… a.b[2]:c" into what stands before the name being typed and that name: the steps
-- {"a", "b", 2}, "c" and ":". Without steps the name is a global's.
local function parse(before)
  local rest, typed = before:match("^(.-)([%a_][%w_]*)$")
  if not rest then rest, typed = before, "" end
  local separator = rest:match("([.:])$")
  if not separator or rest:find("%.%.$") then return {}, typed, nil end
  rest = rest:sub(1, -2)
  local steps = {}
  while true do
    local head, name = rest:match("^(.-)([%a_][%w_]*)$")
    if name then
      table.insert(steps, 1, name)
      if not head:find("%.$") or head:find("%.%.$") then return steps, typed, separator end
      rest = head:sub(1, -2)
    else
      local key
      head, key = rest:match("^(.-)%[(%-?%d+)%]$")
      if head then key = math.tointeger(key) else head, key = rest:match('^(.-)%["([^"]*)"%]$') end
      if not head then return nil end
      table.insert(steps, 1, key)
      rest = head
    end
  end
end

local function follow(steps, env)
  local value = env
  for _, key in ipairs(steps) do
    if value == nil then return nil end
    value = value[key]
  end
  return value
end

-- Can value:key() be written? Properties of modules are not read for the answer.
local function is_method(value, key)
  local nn = core.nn
  local is_module, class = pcall(nn.class_of, value)
  if is_module and nn.is_property(class[key]) then return false end
  local good, field = pcall(function() return value[key] end)
  return good and type(field) == "function"
end

--- The names that `before`, the text up to the cursor, could end with: a sorted list and the part
-- already typed. After a colon only functions are named.
function repl.candidates(before, env)
  local steps, typed, separator = parse(before)
  if not steps then return {}, "" end
  local value = env
  if #steps > 0 then
    local good
    good, value = pcall(follow, steps, env)
    if not good or value == nil then return {}, typed end
  end
  local keys = repl.keys(value)
  if #steps == 0 then
    for _, word in ipairs(KEYWORDS) do keys[word] = true end
  end
  local names = {}
  for key in pairs(keys) do
    local hidden = key:find("^_") and not typed:find("^_")
    local fits = key:sub(1, #typed) == typed and not hidden
    if fits and (separator ~= ":" or is_method(value, key)) then names[#names + 1] = key end
  end
  table.sort(names, core._before)
  return names, typed
end

-- Names side by side, as many as fit in 80 columns.
local function columns(names)
  local width = 0
  for _, name in ipairs(names) do width = math.max(width, #name + 2) end
  local per_line = math.max(1, 80 // width)
  local rows = (#names + per_line - 1) // per_line
  local lines = {}
  for row = 1, rows do
    local line = {}
    for i = row, #names, rows do line[#line + 1] = names[i] .. (" "):rep(width - #names[i]) end
    lines[row] = table.concat(line):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

--- What the Tab key does after the text `before`: what to insert (or nil), a listing (or nil).
function repl.complete(before, env)
  if not before:find("%S") then return "  " end
  local names, typed = repl.candidates(before, env)
  if #names == 0 then return nil end
  local common = names[1]
  for _, name in ipairs(names) do
    while name:sub(1, #common) ~= common do common = common:sub(1, -2) end
  end
  if #common > #typed then return common:sub(#typed + 1) end
  if #names > 1 then return nil, columns(names) end
end

-- ---- the loop ----

-- The library's own files, as a traceback names them.
local OURS = debug and debug.getinfo(1, "S").short_src:match("^(.+)repl%.lua$")

-- The traceback of an error down to the line that was typed, or "" if it came from there. What an
-- error at a typed line passed through inside the library is left out.
local function trace(level, typed)
  local kept = {}
  for line in debug.traceback("", level):gmatch("[^\n]+") do
    if line:find("stdin:%d+: in main chunk") or line:find("in field 'call'", 1, true) then break end
    local noise = line:find("^stack traceback") or line:find("in function 'error'", 1, true)
      or line:find("(...tail calls...)", 1, true)
      or (typed and OURS and line:find(OURS, 1, true))
    if not noise then kept[#kept + 1] = line end
  end
  for i = #kept, 1, -1 do -- calls from C alone tell nothing
    if kept[i]:find("^%s*%[C%]") then kept[i] = nil else break end
  end
  return #kept > 0 and "\n" .. table.concat(kept, "\n") or ""
end

-- The message handler: errors of one line get a traceback when they come from deeper.
local function describe(problem)
  if type(problem) ~= "string" then
    local meta = meta_of(problem)
    if not (meta and meta.__tostring) then
      problem = ("(error object is a %s value)"):format(type(problem))
    end
  end
  local message = tostring(problem)
  return message .. trace(3, message:find("^stdin:%d"))
end

local function show_results(write, first, ...)
  if not first then
    write((...) .. "\n")
    return
  end
  local n = select("#", ...)
  for i = 1, n do
    local good, text = pcall(repl.show, (select(i, ...)))
    write((good and text or "(error while showing the result: " .. tostring(text) .. ")") .. "\n")
  end
end

-- Reads lines until they make a chunk. Returns its function and text; nil at the end of input;
-- false and perhaps a message when there is nothing to run.
local function read_chunk(terminal, env)
  local text = terminal.readline("> ")
  if not text then return text end
  while true do
    local f, message, incomplete = repl.compile(text, env)
    if not incomplete then
      if text:find("%S") then terminal.remember(text) end
      if f then return f end
      return false, message
    end
    local more = terminal.readline(">> ")
    if more == false then return false end
    if more == nil then return false, message end
    text = text .. "\n" .. more
  end
end

local function banner(lucerna)
  return ("%s on %s, %d thread%s. help(x) explains x, Tab completes, Ctrl-D ends.\n"
    .. "At hand: lucerna, nn, F (nn.functional), optim.\n"):format(lucerna._VERSION, _VERSION,
    lucerna.get_num_threads(), lucerna.get_num_threads() == 1 and "" or "s")
end

-- What the prompt has at hand.
local NAMES = {
  lucerna = function() return require "lucerna" end,
  nn = function() return require "lucerna.nn" end,
  optim = function() return require "lucerna.optim" end,
  F = function() return require "lucerna.nn.functional" end,
  help = function() return require "lucerna.help" end,
}

--- The globals, and the prompt's names where there are none such: for code of the command line,
-- whose script is to find its globals as it would alone.
function repl.environment()
  return setmetatable({}, {__newindex = _G, __index = function(_, name)
    local value = _G[name]
    if value == nil and NAMES[name] then return NAMES[name]() end
    return value
  end})
end

--- Reads and runs until the input ends. `terminal`: readline, remember, open_history,
-- set_completer, close, call (an xpcall with the handler first), interactive.
function repl.start(terminal)
  local lucerna = require "lucerna"
  local env = _G
  local write = terminal.write or function(text) io.stdout:write(text) end
  for name, make in pairs(NAMES) do env[name] = make() end
  local home = os.getenv "HOME"
  if home and terminal.interactive then terminal.open_history(home .. "/.lucerna_history") end
  terminal.set_completer(function(before) return repl.complete(before, env) end)
  write(banner(lucerna))
  while true do
    local f, message = read_chunk(terminal, env)
    if f == nil then break end
    if f then
      show_results(write, terminal.call(describe, f))
    elseif message then
      write(message .. "\n")
    end
    io.stdout:flush()
  end
  if terminal.interactive then write("\n") end
  terminal.close()
end

return repl
