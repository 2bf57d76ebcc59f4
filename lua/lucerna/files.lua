-- What stands for a file in a call: a path, an object with a method read or write, a function that
-- gives or takes the bytes piece by piece. Needs no io library: paths are opened by the core.

local core = require "lucerna.core"
local is_callable = require "lucerna.callable"

local files = {}

local fail = core._fail

local function has_method(f, name)
  if type(f) ~= "table" and type(f) ~= "userdata" then return false end
  local ok, method = pcall(function() return f[name] end)
  return ok and is_callable(method)
end

local function check_path(who, param, path, expected)
  if type(path) ~= "string" then
    fail("%s: %s must be %s (got %s)", who, param, expected, core.nn.kind_name(path))
  end
  if path:find("\0", 1, true) then fail("%s: %s: it contains a NUL", who, param) end
  return path
end

-- Everything a reader function or an object with a method read gives.
local function read_all(who, f, max_bytes)
  local parts, n, size = {}, 0, 0
  local reader = type(f) == "function" and f or function() return f:read(65536) end
  while true do
    local part = reader()
    if part == nil or part == "" then break end
    if type(part) ~= "string" then
      fail("%s: the reader gave a %s, not a string", who, core.nn.kind_name(part))
    end
    n, size = n + 1, size + #part
    if max_bytes and size > max_bytes then
      fail("%s: the reader gave more than max_bytes = %d", who, max_bytes)
    end
    parts[n] = part
  end
  return table.concat(parts)
end

--- Returns a path, or nil and the bytes: of `bytes` if they were given, else of what f is.
function files.source(who, param, f, bytes, max_bytes)
  if bytes ~= nil then
    if f ~= nil then fail("%s: both %s and bytes were given", who, param) end
    if type(bytes) ~= "string" then
      fail("%s: bytes must be a string (got %s)", who, core.nn.kind_name(bytes))
    end
    return nil, bytes
  end
  if type(f) == "function" or (type(f) ~= "string" and has_method(f, "read")) then
    return nil, read_all(who, f, max_bytes)
  end
  return check_path(who, param, f, "a path or a reader"), nil
end

--- Returns a path or a function that takes the bytes piece by piece. A writer that returns a false
-- value and a message, as files do, has failed.
function files.target(who, param, f)
  local object = type(f) ~= "string" and type(f) ~= "function" and has_method(f, "write")
  if type(f) ~= "function" and not object then
    return check_path(who, param, f, "a path or a writer")
  end
  return function(piece)
    local done, message
    if object then done, message = f:write(piece) else done, message = f(piece) end
    if not done and message ~= nil then
      fail("%s: the writer failed: %s", who, message)
    end
  end
end

--- The bytes that save(target) writes, as one string.
function files.to_string(save)
  local parts = {}
  save(function(piece) parts[#parts + 1] = piece end)
  return table.concat(parts)
end

return files
