-- save and load: PyTorch's checkpoints. What is in a file becomes data or an error: nothing is ever
-- executed. The formats are the core's; here arguments are checked.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local files = require "lucerna.files"
local is_plain = require("lucerna.nn.container").is_plain
local ordered = require "lucerna.nn.ordered"

local checkpoint = {}

local fail = core._fail

-- " (at a.b[3])", where value stands in tables in tables.
local function place_in(object, value)
  local queue, paths = { object }, { [object] = "" }
  for _, t in ipairs(queue) do
    for key, item in pairs(t) do
      local path = paths[t] .. (type(key) == "string" and "." .. key or ("[%s]"):format(key))
      if rawequal(item, value) then return (" (at %s)"):format((path:gsub("^%.", ""))) end
      local walked = is_plain(item) or ordered.is(item)
      if walked and not paths[item] then queue[#queue + 1], paths[item] = item, path end
    end
  end
end

local function refuse(object, value)
  local at = not rawequal(value, object) and place_in(object, value) or ""
  local name = type(value)
  if core.nn.is_module(value) then
    fail("save: cannot save a whole module (%s): save its state_dict()%s", value:_get_name(), at)
  elseif name == "table" then
    local known = value.state_dict and "; save its state_dict()" or ""
    name = (getmetatable(value) or {}).__name or name
    fail("save: cannot save a %s, an object%s%s", name, known, at)
  end
  fail("save: cannot save a %s%s", name, at)
end

-- What an ordered map holds, for the core: {key, value, …}, their number, the metadata.
local function entries(value)
  local list, n = {}, 0
  for key, item in pairs(value) do
    if type(key) ~= "string" and type(key) ~= "number" then
      fail("save: a map's key is a %s; only strings and numbers can be saved", type(key))
    end
    list[n + 1], list[n + 2] = key, item
    n = n + 2
  end
  return list, n, value._metadata
end

--- save(object, f) writes what torch.load(path, weights_only=True) reads: tensors, numbers,
-- strings, booleans and tables of them at any depth. Array tables become lists, tables with other
-- keys dicts, state dicts OrderedDicts with their _metadata; what is shared stays shared. Of a
-- module or optimizer, save the state_dict(). f is a path (the old file stays until the new one is
-- complete), a function that gets the bytes piece by piece or an object with a method write.
function checkpoint.save(object, f, ...)
  if select("#", ...) > 0 then arguments("save", {"object", "f"}, true, f, ...) end
  core._save(object, files.target("save", "path", f), function(value)
    if not ordered.is(value) then refuse(object, value) end
    return entries(value)
  end)
end

-- Tensors are on the CPU in this build, wherever they were saved from. PyTorch asks a function for
-- each storage; storages are no values of Lua, and there is but one answer.
local function check_location(location)
  if location == nil or type(location) == "function" then return end
  if type(location) == "table" and getmetatable(location) == nil then
    for _, to in pairs(location) do check_location(to) end
    return
  end
  check.device("load", "map_location", location)
end

-- A set of the names.
local function set_of(only)
  if only == nil then return nil end
  if type(only) == "string" then only = {only} end
  if type(only) ~= "table" then
    fail("load: only must be a table of keys (got %s)", type(only))
  end
  local set = {}
  for _, key in ipairs(only) do set[key] = true end
  return set
end

--- load(f, {map_location=, only=, max_bytes=, bytes=}) reads a file of torch.save or lucerna.save,
-- in the zip format or the one before. f is a path, a function that gives the bytes piece by piece
-- (nil at the end), an object with a method read, or the bytes themselves, which their first
-- letters tell from a path; load{bytes = text} takes any text for bytes and never for a path. Dicts
-- and lists become tables, OrderedDicts ordered maps as state_dict() gives; None is absent. only:
-- the keys of the outermost dict to load; the data of others are not read. max_bytes: a limit for
-- what is made. weights_only and mmap are accepted: nothing in a file is executed either way, and
-- what is loaded is read; mmap = true asks for a path.
function checkpoint.load(...)
  local f, map_location, only, max_bytes, bytes, weights_only, mmap = arguments("load",
    {"f", "map_location", "only", "max_bytes", "bytes", "weights_only", "mmap"}, ...)
  check_location(map_location)
  check.option("load", "weights_only", weights_only, "boolean")
  check.positive("load", "max_bytes", max_bytes)
  check.option("load", "mmap", mmap, "boolean")
  local told = type(f) == "string" and (f:find("^PK\3\4") or f:find("^\x80[\2-\5]"))
  if told then f, bytes = nil, f end
  if mmap and type(f) ~= "string" then fail("load: f must be a path to use the mmap argument") end
  local path
  path, bytes = files.source("load", "path", f, bytes, max_bytes)
  local wanted = set_of(only)
  local object = core._load(path, bytes, wanted, max_bytes, ordered.new)
  for key, missing in pairs(wanted or {}) do
    if missing then fail("load: only: the file has no '%s'", key) end
  end
  return object
end

return checkpoint
