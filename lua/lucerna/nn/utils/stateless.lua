-- Calling a module with other tensors in the place of its parameters and buffers, for that call
-- only: they are put back when it ends, fails, or yields (and come in again as it goes on).

local lucerna = require "lucerna"
local root = require "lucerna.core"
local is_plain = require("lucerna.nn.container").is_plain
local check = require "lucerna.nn.utils.check"
local options = require "lucerna.options"
local ordered = require "lucerna.nn.ordered"
local scoped = require "lucerna.scoped"

local core = root.nn

local WHO = "functional_call"

local stateless = {}

-- ---- names ----

-- Is it a map from names to tensors, and no list?
local function is_map(value)
  return ordered.is(value) or (is_plain(value) and #value == 0)
end

-- Adds the entries of a map to {names}, {name -> tensor}.
local function add(names, values, map)
  local own = {}
  for name, tensor in pairs(map) do
    check.string(WHO, "a name", name)
    if values[name] ~= nil then
      check.fail("%s: ['%s'] appeared in multiple dictionaries; behavior of functional call is "
        .. "ambiguous", WHO, name)
    end
    if not lucerna.is_tensor(tensor) and tensor ~= lucerna.none then
      check.fail("%s: %s must be a Tensor (got %s)", WHO, name, check.type_name(tensor))
    end
    values[name], own[#own + 1] = tensor, name
  end
  if not ordered.is(map) then table.sort(own, root._before) end
  table.move(own, 1, #own, #names + 1, names)
end

local function read_maps(maps)
  local names, values = {}, {}
  if is_map(maps) then
    add(names, values, maps)
  elseif is_plain(maps) then
    for _, map in ipairs(maps) do
      if not is_map(map) then
        check.fail("%s: Expected all elements of parameter_and_buffer_dicts to be dictionaries",
          WHO)
      end
      add(names, values, map)
    end
  else
    check.fail("%s: Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
      .. "but got %s", WHO, check.type_name(maps))
  end
  return names, values
end

-- All names of parameters and buffers -> tensor, shared ones under each of theirs.
local function all_tensors(module)
  local names, tensors = {}, {}
  for _, method in ipairs { "named_parameters", "named_buffers" } do
    for name, tensor in core[method](module, { remove_duplicate = false }) do
      names[#names + 1], tensors[name] = name, tensor
    end
  end
  return names, tensors
end

local function quoted(names)
  table.sort(names, root._before)
  for k, name in ipairs(names) do names[k] = ("'%s'"):format(name) end
  return table.concat(names, ", ")
end

local function check_keys(module, values, known, tensors)
  local lines, missing, unexpected = {}, {}, {}
  for _, name in ipairs(known) do
    if values[name] == nil then missing[#missing + 1] = name end
  end
  for name in pairs(values) do
    if tensors[name] == nil then unexpected[#unexpected + 1] = name end
  end
  if #unexpected > 0 then lines[1] = ("Unexpected key(s): %s."):format(quoted(unexpected)) end
  if #missing > 0 then lines[#lines + 1] = ("Missing key(s): %s."):format(quoted(missing)) end
  if #lines == 0 then return end
  check.fail("Error(s) in reparametrizing for %s: %s", core.class_name(module),
    table.concat(lines, " "))
end

-- Names of one tensor get the value given for one of them.
local function tie(names, values, known, tensors)
  local groups = {}
  for _, name in ipairs(known) do
    local group = groups[tensors[name]] or {}
    groups[tensors[name]] = group
    group[#group + 1] = name
  end
  for _, group in pairs(groups) do
    local given
    for _, name in ipairs(group) do
      local value = values[name]
      if given ~= nil and value ~= nil and not rawequal(value, given) then
        check.fail("%s got multiple values for keys [%s], which are tied. Consider using "
          .. "tie_weights=false", WHO, quoted(group))
      end
      given = given == nil and value or given
    end
    for _, name in ipairs(given ~= nil and #group > 1 and group or {}) do
      if values[name] == nil then values[name], names[#names + 1] = given, name end
    end
  end
end

-- ---- putting in and back ----

local function split(name)
  local path, last = name:match("^(.*)%.([^.]*)$")
  return path or "", last or name
end

-- What has to be put where, for core._swap_in, and the whole names.
local function read_entries(module, names, values)
  local entries = { paths = names, count = 0 }
  for k, name in ipairs(names) do
    local path, last = split(name)
    local value = values[name]
    entries[k] = { module:get_submodule(path), last, value ~= lucerna.none and value or false }
  end
  return entries
end

-- Called and closed by functions of C's: the originals go back in whatever happens meanwhile; what
-- is there then may have been replaced by the call.
local Replaced = { __call = core._swap_in, __close = core._swap_out }

-- What the module assigned to its buffers meanwhile is in the caller's map afterwards.
local function write_back(map, entries, values, ...)
  if is_map(map) then
    for k, path in ipairs(entries.paths) do
      local value = entries[k][3]
      if map[path] ~= nil and value and not rawequal(value, values[path]) then map[path] = value end
    end
  end
  return ...
end

-- ---- functional_call ----

local OPTIONS = { args = true, kwargs = true, tie_weights = true, strict = true }

-- args, kwargs, options of the call.
local function read_arguments(...)
  local given = table.pack(...)
  local set = options.take(given, OPTIONS)
  if given.n > 2 then check.fail("%s: takes at most 4 arguments (got %d)", WHO, given.n + 2) end
  local args, kwargs = given[1], given[2]
  if given.n < 1 then args = set.args end
  if given.n < 2 then kwargs = set.kwargs end
  return args, kwargs, set
end

local function unpack_arguments(args, kwargs)
  local list = { n = 0 }
  if is_plain(args) then
    for k = 1, args.n or #args do list[k] = args[k] end
    list.n = args.n or #args
  elseif args ~= nil and args ~= lucerna.none then
    list[1], list.n = args, 1
  end
  if kwargs ~= nil and kwargs ~= lucerna.none then list[list.n + 1], list.n = kwargs, list.n + 1 end
  return table.unpack(list, 1, list.n)
end

--- functional_call(module, parameter_and_buffer_dicts, args, kwargs, {tie_weights = true, strict =
-- false}): module(args) with these tensors, by their names, in the place of its parameters and
-- buffers. A map of names or a list of such maps; args: one argument, or an array (or packed table)
-- of them; kwargs: a table that goes last. tie_weights: tensors that are one stay one; strict: all
-- names must be there and no others.
function stateless.functional_call(module, maps, ...)
  check.module(WHO, "module", module)
  local args, kwargs, set = read_arguments(...)
  local names, values = read_maps(maps)
  local known, tensors = all_tensors(module)
  if set.tie_weights ~= false then tie(names, values, known, tensors) end
  if set.strict then check_keys(module, values, known, tensors) end
  local entries = read_entries(module, names, values)
  return write_back(maps, entries, values, scoped(function()
    return setmetatable(entries, Replaced)
  end, module, unpack_arguments(args, kwargs)))
end

return stateless
