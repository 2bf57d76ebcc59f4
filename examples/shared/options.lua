-- The options of the examples: options {epochs = 3, data = "mnist", draw = false} reads `--epochs 5
-- --draw` from the command line into a table with these defaults. A default's type says what an
-- option takes: an integer, a number, a text, or, if it is false, nothing. --help lists them.

local KINDS = {integer = "N", float = "X", string = "TEXT"}

local function usage_text(defaults)
  local names = {}
  for name, value in pairs(defaults) do
    local kind = KINDS[math.type(value) or type(value)]
    names[#names + 1] = kind and ("[--%s %s]"):format(name, kind) or ("[--%s]"):format(name)
  end
  table.sort(names)
  local lines, line = {}, "usage: " .. arg[0]:match("[^/]*$")
  for _, name in ipairs(names) do
    if #line + #name > 78 then lines[#lines + 1], line = line, "  " end
    line = line .. " " .. name
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- A value of the default's type, or nil.
local function convert(text, default)
  local kind = math.type(default)
  if not kind then return text end
  local number = tonumber(text)
  return kind == "integer" and math.tointeger(number) or kind == "float" and number or nil
end

return function(defaults)
  local options = {}
  for name, value in pairs(defaults) do options[name] = value end

  --- Ends the program with a message and what the options are.
  function options.usage(message)
    io.stderr:write(message, "\n", usage_text(defaults), "\n")
    os.exit(2, true)
  end

  local i = 1
  while i <= #arg do
    local name = arg[i]:match("^%-%-(.+)$")
    if name == "help" then
      print(usage_text(defaults))
      os.exit(true, true)
    end
    local default = name and defaults[name]
    if default == nil then options.usage("unknown option: " .. arg[i]) end
    if default == false then
      options[name] = true
    else
      i = i + 1
      options[name] = convert(arg[i], default)
      if options[name] == nil then options.usage("missing or wrong value: " .. arg[i - 1]) end
    end
    i = i + 1
  end
  return options
end
