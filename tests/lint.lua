-- The house rules that no compiler checks: direction of includes, sizes of functions and files,
-- forbidden calls, a comment at the head of each file. Then clang-format, Clang and luacheck.
-- Prints every offence as file:line: text and fails if there was one; `make lint` compiles with
-- -Werror.

local offences = 0

local function offend(file, line, text)
  offences = offences + 1
  io.write(("%s:%d: %s\n"):format(file, line, text))
end

local LONG_FILES = {
  ["src/ops/ops.def"] = "the one table of operators",
}

-- Includes flow down only: a layer may include itself and those named here.
local MAY_INCLUDE = {
  base = {},
  tensor = { "base" },
  cpu = { "base", "tensor" },
  cuda = { "base", "tensor" },
  ops = { "base", "tensor", "cpu", "cuda" },
  autograd = { "base", "tensor", "cpu", "cuda", "ops" },
  nn = { "base", "tensor", "cpu", "cuda", "ops", "autograd" },
  optim = { "base", "tensor", "cpu", "cuda", "ops", "autograd", "nn" },
  io = { "base", "tensor", "cpu", "cuda", "ops", "autograd", "nn" },
  lua = { "base", "tensor", "cpu", "cuda", "ops", "autograd", "nn", "optim", "io" },
}
-- Who may know Lua.
local LUA_LAYERS = { lua = true, command = true }
-- Where one of the calls below may stand, and why.
local MAY_CALL = {
  ["src/base/context.c"] = { fprintf = "test builds", abort = "test builds: luc__assert_failed" },
}
local FORBIDDEN = { "abort", "exit", "printf", "sprintf", "vsprintf", "strcpy", "strcat", "gets",
  "fprintf", "puts", "assert" }

local function lines_of(command)
  local p = assert(io.popen(command))
  local out = {}
  for line in p:lines() do out[#out + 1] = line end
  p:close()
  return out
end

local function read_lines(path)
  local out = {}
  for line in io.lines(path) do out[#out + 1] = line end
  return out
end

-- The text with comments and literals blanked, newlines kept: what the C checks look at.
local function code_of(text)
  local out, i, n = {}, 1, #text
  local function blank(to)
    out[#out + 1] = text:sub(i, to):gsub("[^\n]", " ")
    i = to + 1
  end
  while i <= n do
    local two, one = text:sub(i, i + 1), text:sub(i, i)
    if two == "/*" then
      local _, e = text:find("*/", i + 2, true)
      blank(e or n)
    elseif two == "//" then
      blank((text:find("\n", i, true) or n + 1) - 1)
    elseif one == '"' or one == "'" then
      local j = i + 1
      while j <= n and text:sub(j, j) ~= one do
        j = j + (text:sub(j, j) == "\\" and 2 or 1)
      end
      blank(math.min(j, n))
    else
      out[#out + 1] = one
      i = i + 1
    end
  end
  return table.concat(out)
end

local function split(text)
  local out = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do out[#out + 1] = line end
  return out
end

local function contains(list, value)
  for _, v in ipairs(list) do
    if v == value then return true end
  end
  return false
end

local function check_includes(file, lines, layer)
  for number, line in ipairs(lines) do
    local target = line:match('^%s*#%s*include%s*"([^"]+)"')
    local system = line:match("^%s*#%s*include%s*<([^>]+)>")
    local folder = target and target:match("^(%w+)/")
    if folder and folder ~= "lucerna" and folder ~= layer and MAY_INCLUDE[layer]
        and not contains(MAY_INCLUDE[layer], folder) then
      offend(file, number, layer .. " must not include " .. target)
    end
    local name = target or system or ""
    local lua = name:match("^lua%w*%.h$") or name:match("^lauxlib%.h$")
    if lua and not LUA_LAYERS[layer] then
      offend(file, number, lua .. " belongs to src/lua alone")
    end
  end
end

-- Functions: a line that opens a brace at depth 0 and is no type, table or namespace.
local function check_functions(file, code, limit)
  local depth, start, name = 0, nil, nil
  for number, line in ipairs(code) do
    if depth == 0 then
      local candidate = line:match("([%w_]+)%s*%(")
      if candidate and not line:match("^%s*#") then name = candidate end
    end
    for brace in line:gmatch("[{}]") do
      if brace == "{" then
        if depth == 0 then
          local head = line:match("^(.-){") or ""
          local opens = head:match("%)%s*$") or (head:match("^%s*$") and name)
          start = opens and not head:match("=") and number or nil
        end
        depth = depth + 1
      else
        depth = depth - 1
        if depth == 0 and start then
          local length = number - start + 1
          if length > limit then
            offend(file, start, ("%s has %d lines, the limit is %d"):format(name, length, limit))
          end
          start, name = nil, nil
        end
      end
    end
  end
end

local function check_calls(file, code)
  for number, line in ipairs(code) do
    for word in line:gmatch("([%a_][%w_]*)%s*%(") do
      if contains(FORBIDDEN, word) and not (MAY_CALL[file] or {})[word] then
        offend(file, number, word .. " is not for a library")
      end
    end
  end
end

local function check_text(file, lines, max_columns)
  for number, line in ipairs(lines) do
    if (utf8.len(line) or #line) > max_columns then
      offend(file, number, ("longer than %d columns"):format(max_columns))
    end
    if line:match("%f[%w]TO" .. "DO%f[%W]") or line:match("%f[%w]FIX" .. "ME%f[%W]") then
      offend(file, number, "unfinished business is for issues")
    end
    if line:match("%s$") then offend(file, number, "trailing blanks") end
  end
  if #lines > 800 and not LONG_FILES[file] then offend(file, #lines, "longer than 800 lines") end
end

local function check_head(file, lines)
  local first = lines[1] or ""
  if first:match("^#!") then first = lines[2] or "" end
  local comment = first:match("^/[*/]") or first:match("^%-%-") or first:match('^"""')
    or first:match("^#")
  if not comment then
    offend(file, 1, "begins without a comment that says what the file holds")
  end
end

local function check_c(file, lines)
  local layer = file:match("^src/(%w+)/") or file:match("^(%w+)/")
  local code = split(code_of(table.concat(lines, "\n")))
  local in_src = file:match("^src/") ~= nil
  if in_src then check_includes(file, lines, layer) end
  check_functions(file, code, in_src and layer == "lua" and 30 or 60)
  if in_src and layer ~= "command" then check_calls(file, code) end
end

local TEXT = { "c", "h", "inc", "def", "cu", "lua", "py", "sh" }
local C = { "c", "h", "inc", "cu" }

local function own_checks()
  local files = lines_of("git ls-files")
  if #files == 0 then offend(".", 0, "git lists no files here") end
  for _, file in ipairs(files) do
    local extension = file:match("%.(%w+)$")
    local generated = file:match("^tests/parity/data/")
    if not generated and contains(TEXT, extension) then
      local lines = read_lines(file)
      check_head(file, lines)
      if ((lines[1] or "") .. (lines[2] or "")):match("[Dd]o not edit") then goto next_file end
      check_text(file, lines, 100)
      if contains(C, extension) then check_c(file, lines) end
    end
    ::next_file::
  end
end

local function tool(name, command)
  if not os.execute(command) then
    offences = offences + 1
    io.write(name, ": see above\n")
  end
end

local C_FILES = "git ls-files '*.c' '*.h' '*.inc' '*.cc' '*.cu' | xargs -r "
local LUA_FILES = "git ls-files '*.lua' .busted "
  .. "| grep -v '^tests/parity/data/' | xargs -r "
own_checks()
tool("clang-format", C_FILES .. "clang-format --dry-run -Werror")
-- Clang takes what GCC does, with the warnings that CMakeLists.txt leaves on.
tool("clang", "git ls-files 'src/*.c' | grep -v '^src/command/' | xargs -r -P 2 -n 8 "
  .. "clang -std=c11 -fsyntax-only -march=x86-64-v4 -mprfchw -DLUC_ISA=avx512 -DLUCERNA_PNG=1 "
  .. "-Isrc -Isrc/include -isystem /usr/include/lua5.4 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE "
  .. "-Wall -Wextra -Wshadow -Werror -Wno-bitwise-instead-of-logical -Wno-tautological-compare "
  .. "-Wno-non-literal-null-conversion")
-- The module has all of its own symbols and asks for no library of Lua's or CUDA's.
local MODULE = "build/asan/lucerna/core.so"
if io.open(MODULE) then
  tool("module", "! nm -D --undefined-only " .. MODULE .. " | grep ' luc_'")
  tool("module", "! readelf -d " .. MODULE .. " | grep -E 'NEEDED.*(lua|cuda|edit)'")
else
  io.write("lint: " .. MODULE .. " is not there: what it asks for was not checked\n")
end
tool("luacheck", LUA_FILES .. "luacheck -q")
io.write(offences == 0 and "lint: clean\n" or ("lint: %d offences\n"):format(offences))
os.exit(offences == 0)
