-- Saving and loading modules: state_dict, load_state_dict, the methods that classes override for
-- them, and the hooks around them. A tree in which none of that is Lua's is left to the core; the
-- others are gone through here, module by module as PyTorch does, over a snapshot that puts the
-- model back if anything fails.
-- Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local hooks = require "lucerna.nn.hooks"
local ordered = require "lucerna.nn.ordered"

local core = root.nn
local fail = root._fail
local none = root.none

local SAVE_BEFORE, SAVE_AFTER, LOAD_BEFORE, LOAD_AFTER = 0, 1, 2, 3 -- luc_state_event
local EXTRA = "_extra_state"
local ALONE = { "hook" } -- an argument

local methods = {}

-- ---- who takes part ----

local STATE_DICT = core._override_mask "state_dict"
local SAVES = core._override_mask("_save_to_state_dict", "get_extra_state", "_version")
local LOADS = core._override_mask("_load_from_state_dict", "set_extra_state")

local function needs_save(self)
  return core._overrides(self, SAVES) or core._overridden(self, SAVES | STATE_DICT)
    or core._state_hooked(self, SAVE_BEFORE, SAVE_AFTER)
end

-- Hooks on registration see what is assigned.
local function needs_load(self, assign)
  return (assign and core._registration_hooked())
    or core._overrides(self, LOADS) or core._overridden(self, LOADS)
    or core._state_hooked(self, LOAD_BEFORE, LOAD_AFTER)
end

-- Does the class override a method of nn.Module's? (One of the module alone does not count.)
local function class_has(self, name) return core.class_of(self)[name] ~= methods[name] end

-- ---- hooks ----

local function no_hook() end

-- The hooks of an event there are now: id, function (false: one of C code).
local function each_hook(self, event)
  local last = core._last_hook_id()
  if not core._next_state_hook(self, event, 0, last) then return no_hook end
  return function(_, id) return core._next_state_hook(self, event, id, last) end, nil, 0
end

local function version_of(local_metadata)
  local version = type(local_metadata) == "table" and local_metadata.version
  return math.tointeger(version) or -1
end

-- What stands under prefix, but for the name `except`.
local function entries(state, prefix, except)
  local names, values = {}, {}
  for name, value in pairs(state) do
    local own = type(name) == "string" and name:sub(1, #prefix) == prefix
    if own and name ~= except and name ~= "_metadata" then
      names[#names + 1], values[#values + 1] = name, value
    end
  end
  return names, values
end

-- Calls a hook of C code, which sees the core's kind of state, and does to state what it did.
local function call_c(self, id, prefix, keep_vars, version, state, missing, unexpected, errors)
  local names, values
  if state then names, values = entries(state, "") end
  local new, tensors = core._call_state_hook(self, id, prefix, keep_vars, version, names, values,
    missing, unexpected, errors)
  if not new then return end
  local kept = {}
  for i, name in ipairs(new) do
    kept[name] = true
    if tensors[i] then state[name] = tensors[i] end
  end
  for _, name in ipairs(names) do
    if not kept[name] then state[name] = nil end
  end
end

local function register(self, event, who, hook, wrapped)
  check.callable(who, "hook", hook)
  return hooks.handle(self, core._add_hook(self, hooks.STATE + event, wrapped or hook, 0))
end

--- register_state_dict_pre_hook(f): f(m, prefix, keep_vars) before m's own values are collected.
function methods:register_state_dict_pre_hook(...)
  local who = "register_state_dict_pre_hook"
  return register(self, SAVE_BEFORE, who, (arguments(who, ALONE, ...)))
end

local public = setmetatable({}, { __mode = "k" }) -- what register_state_dict_post_hook was given

--- register_state_dict_post_hook(f): f(m, state_dict, prefix, local_metadata) once all below m is
-- collected. It may change state_dict in place, and returns nothing.
function methods:register_state_dict_post_hook(...)
  local who = "register_state_dict_post_hook"
  local hook = arguments(who, ALONE, ...)
  check.callable(who, "hook", hook)
  public[hook] = true
  return register(self, SAVE_AFTER, who, hook, function(...)
    if hook(...) ~= nil then fail("state_dict post-hook must return None") end
  end)
end

--- _register_state_dict_hook(f): the same, but what f returns for the module that state_dict was
-- called on takes the state dict's place.
function methods:_register_state_dict_hook(...)
  local who = "_register_state_dict_hook"
  local hook = arguments(who, ALONE, ...)
  if public[hook] then
    fail("%s: Cannot register the same function as the state dict post hook that was previously "
      .. "registered via register_state_dict_post_hook", who)
  end
  return register(self, SAVE_AFTER, who, hook)
end

--- register_load_state_dict_pre_hook(f): f(m, state_dict, prefix, local_metadata, strict,
-- missing_keys, unexpected_keys, error_msgs) before m's own values are loaded. It may change
-- state_dict, which is a copy, and the lists.
function methods:register_load_state_dict_pre_hook(...)
  local who = "register_load_state_dict_pre_hook"
  return register(self, LOAD_BEFORE, who, (arguments(who, ALONE, ...)))
end

--- _register_load_state_dict_pre_hook(f, with_module=false): the same; without with_module f does
-- not get m.
function methods:_register_load_state_dict_pre_hook(...)
  local who = "_register_load_state_dict_pre_hook"
  local hook, with_module = arguments(who, { "hook", "with_module" }, ...)
  if with_module then return register(self, LOAD_BEFORE, who, hook) end
  return register(self, LOAD_BEFORE, who, hook, function(_, ...) return hook(...) end)
end

--- register_load_state_dict_post_hook(f): f(m, incompatible_keys) once all below m is loaded. It
-- may change the lists missing_keys and unexpected_keys in place; emptied ones are no error.
function methods:register_load_state_dict_post_hook(...)
  local who = "register_load_state_dict_post_hook"
  local hook = arguments(who, ALONE, ...)
  return register(self, LOAD_AFTER, who, hook, function(...)
    if hook(...) ~= nil then
      fail("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
        .. "return new values, if incompatible_keys need to be modified, it should be done "
        .. "inplace.")
    end
  end)
end

-- ---- saving ----

--- _save_to_state_dict(destination, prefix, keep_vars): puts m's own parameters, persistent buffers
-- and extra state into destination. Overridden to save more, or in another form.
function methods:_save_to_state_dict(destination, prefix, keep_vars)
  local own = core._own_state(self, keep_vars)
  for i = 1, #own, 2 do destination[prefix .. own[i]] = own[i + 1] end
  if class_has(self, "get_extra_state") then
    local state = self:get_extra_state()
    if state == nil then state = none end
    destination[prefix .. EXTRA] = state
  end
end

--- get_extra_state(): for classes that override it, what else state_dict saves of a module.
function methods:get_extra_state()
  fail("Reached a code path in Module.get_extra_state() that should never be called.")
end

--- set_extra_state(state): for classes that override it, takes up what get_extra_state gave.
function methods:set_extra_state()
  fail("Reached a code path in Module.set_extra_state() that should never be called.")
end

local function run_save_after(self, destination, prefix, keep_vars, local_metadata)
  for id, hook in each_hook(self, SAVE_AFTER) do
    if hook then
      local result = hook(self, destination, prefix, local_metadata)
      if result ~= nil then destination = result end
    else
      call_c(self, id, prefix, keep_vars, -1, destination)
    end
  end
  return destination
end

local function save(self, destination, prefix, keep_vars)
  local local_metadata = { version = self._version }
  local metadata = destination._metadata
  if type(metadata) == "table" then metadata[prefix:sub(1, -2)] = local_metadata end
  for id, hook in each_hook(self, SAVE_BEFORE) do
    if hook then
      hook(self, prefix, keep_vars)
    else
      call_c(self, id, prefix, keep_vars, -1)
    end
  end
  self:_save_to_state_dict(destination, prefix, keep_vars)
  local children = core._slots(self, 2)
  for i = 1, #children, 2 do
    local child, path = children[i + 1], prefix .. children[i] .. "."
    if child and core._overrides(child, STATE_DICT) then
      child:state_dict { destination = destination, prefix = path, keep_vars = keep_vars }
    elseif child then
      save(child, destination, path, keep_vars)
    end
  end
  return run_save_after(self, destination, prefix, keep_vars, local_metadata)
end

-- The _metadata of a plain tree from {path, version, …}; made when it is asked for.
local function metadata_of(versions)
  return function()
    local metadata = ordered.new()
    for i = 1, #versions, 2 do metadata[versions[i]] = { version = versions[i + 1] } end
    return metadata
  end
end

local function save_plain(self, destination, prefix, keep_vars)
  local tensors, names, versions = core._state_dict(self, prefix, keep_vars)
  local metadata = metadata_of(versions)
  if not destination then return ordered.adopt(tensors, names, metadata) end
  for _, name in ipairs(names) do destination[name] = tensors[name] end
  local into = destination._metadata
  if type(into) == "table" then
    for path, local_metadata in pairs(metadata()) do into[path] = local_metadata end
  end
  return destination
end

--- state_dict({destination=, prefix=, keep_vars=}): an ordered map of parameters, persistent
-- buffers and extra states of the tree. Tensors share the live ones' memory, detached unless
-- keep_vars. Its _metadata has the versions of classes by path.
function methods:state_dict(...)
  local destination, prefix, keep_vars =
    arguments("state_dict", { "destination", "prefix", "keep_vars" }, ...)
  prefix, keep_vars = prefix or "", keep_vars or false
  check.string("state_dict", "prefix", prefix)
  if destination ~= nil and type(destination) ~= "table" then
    fail("state_dict: destination must be a table (got a %s)", type(destination))
  end
  core._check_tables(self)
  if not needs_save(self) then return save_plain(self, destination, prefix, keep_vars) end
  return save(self, destination or ordered.new(nil, nil, ordered.new()), prefix, keep_vars)
end

-- ---- loading ----

local function append(list, more)
  for _, item in ipairs(more) do list[#list + 1] = item end
end

--- _load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
-- unexpected_keys, error_msgs): loads m's own entries, those under prefix. Overridden to take up
-- old checkpoints: change state_dict, a copy, then call the parent's.
function methods:_load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
                                       unexpected_keys, error_msgs)
  local who = "_load_from_state_dict"
  check.table(who, "state_dict", state_dict)
  check.string(who, "prefix", prefix)
  check.table(who, "local_metadata", local_metadata)
  check.table(who, "missing_keys", missing_keys)
  check.table(who, "unexpected_keys", unexpected_keys)
  check.table(who, "error_msgs", error_msgs)
  for id, hook in each_hook(self, LOAD_BEFORE) do
    if hook then
      hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)
    else
      call_c(self, id, prefix, false, version_of(local_metadata), state_dict, missing_keys,
        unexpected_keys, error_msgs)
    end
  end
  local names, values = entries(state_dict, prefix, prefix .. EXTRA)
  local missing, unexpected, errors = core._load_own(self, names, values, prefix,
    version_of(local_metadata), local_metadata.assign_to_params_buffers)
  append(error_msgs, errors)
  local extra = state_dict[prefix .. EXTRA]
  if class_has(self, "set_extra_state") then
    if extra == nil then missing[#missing + 1] = prefix .. EXTRA end
    if extra == none then self:set_extra_state(nil) elseif extra ~= nil then
      self:set_extra_state(extra)
    end
  elseif extra ~= nil then
    table.insert(unexpected, 1, prefix .. EXTRA)
  end
  if not strict then return end
  append(missing_keys, missing)
  append(unexpected_keys, unexpected)
end

-- A map for each child: the entries under its prefix.
local function parts(state, prefix)
  local result = {}
  for key, value in pairs(state) do
    local name = type(key) == "string" and key:sub(1, #prefix) == prefix
      and key:match("^([^.]*)%.", #prefix + 1)
    if name then
      result[name] = result[name] or ordered.new()
      result[name][key] = value
    end
  end
  return result
end

local function local_metadata_of(load, prefix)
  local copy, saved = {}, load.metadata and load.metadata[prefix:sub(1, -2)]
  if type(saved) == "table" then
    for key, value in pairs(saved) do copy[key] = value end
  end
  if load.assign then copy.assign_to_params_buffers = true end
  return copy
end

local function load_module(self, state, prefix, load)
  local keys = load.keys
  self:_load_from_state_dict(state, prefix, local_metadata_of(load, prefix), true,
    keys.missing_keys, keys.unexpected_keys, load.errors)
  local children, states = core._slots(self, 2), parts(state, prefix)
  for i = 1, #children, 2 do
    local name, child = children[i], children[i + 1]
    if child then load_module(child, states[name] or ordered.new(), prefix .. name .. ".", load) end
  end
  for id, hook in each_hook(self, LOAD_AFTER) do
    if hook then
      hook(self, keys)
    else
      call_c(self, id, prefix, false, -1, nil, keys.missing_keys, keys.unexpected_keys, load.errors)
    end
  end
end

-- report (of C hosts) gets the lists while the load can still be undone.
local function load_in_lua(self, state, strict, assign, report)
  local keys = { missing_keys = {}, unexpected_keys = {} }
  local load = { keys = keys, errors = {}, metadata = state._metadata, assign = assign }
  local before <close> = core._snapshot(self)
  load_module(self, state, "", load)
  core._load_check(self, strict, keys.missing_keys, keys.unexpected_keys, load.errors)
  if report then report(keys.missing_keys, keys.unexpected_keys) end
  core._keep(before)
  return keys.missing_keys, keys.unexpected_keys
end

-- ---- what load_state_dict is given ----

-- Names and values of a map (sorted by name if it has no order) and its metadata.
local function flatten(map)
  local keys, values, n = {}, {}, 0
  for key, value in pairs(map) do
    if type(key) ~= "string" then
      fail("load_state_dict: keys are strings (got a %s)", type(key))
    elseif key ~= "_metadata" then
      n = n + 1
      if value == nil then value = none end
      keys[n], values[n] = key, value
    end
  end
  if not ordered.is(map) then
    table.sort(keys, root._before)
    for i = 1, n do values[i] = map[keys[i]] end
  end
  local metadata = map._metadata
  return keys, values, type(metadata) == "table" and metadata or nil
end

local function renamed_by(rename, key)
  if type(rename) == "function" then
    local name = rename(key)
    if name == nil then return key end
    return name
  end
  local head = key -- the key, then ever shorter paths above it
  repeat
    local name = rename[head]
    if name == "" then return key:sub(#head + 2) end
    if name ~= nil then return type(name) == "string" and name .. key:sub(#head + 1) or name end
    head = head:match("^(.*)%.[^.]*$")
  until not head
  return key
end

local function path_of(key) return key:match("^(.*)%.[^.]*$") or "" end

-- The same under other names: without the prefix, then as rename says. Metadata go with entries.
local function renamed(keys, values, metadata, prefix, rename)
  local names, kept, moved, from = {}, {}, {}, {}
  for path, saved in pairs(metadata or {}) do moved[path] = saved end
  for i, key in ipairs(keys) do
    local name = key:sub(1, #prefix) == prefix and key:sub(#prefix + 1) or key
    name = renamed_by(rename, name)
    if type(name) == "string" then
      if from[name] then
        fail("load_state_dict: rename: '%s' and '%s' both become '%s'", from[name], key, name)
      end
      from[name] = key
      names[#names + 1], kept[#kept + 1] = name, values[i]
      moved[path_of(name)] = metadata and metadata[path_of(key)]
    elseif name ~= false then
      fail("load_state_dict: rename: '%s' must become a string or false (got a %s)", key,
        type(name))
    end
  end
  return names, kept, moved
end

local function check_renaming(prefix, rename)
  check.string("load_state_dict", "prefix", prefix)
  if type(rename) ~= "table" and type(rename) ~= "function" then
    fail("load_state_dict: rename must be a table or a function (got a %s)", type(rename))
  end
end

local function versions_of(metadata)
  local versions, n = {}, 0
  for path, saved in pairs(metadata or {}) do
    local named = type(path) == "string" and type(saved) == "table"
    local version = named and math.tointeger(saved.version)
    if version then
      versions[n + 1], versions[n + 2] = path, version
      n = n + 2
    end
  end
  return versions
end

--- load_state_dict(map, {strict=true, assign=false, prefix=, rename=}): copies the values of a
-- state_dict, or of a plain table, into the model; with assign they take the place of what is
-- there. Returns the arrays missing_keys and unexpected_keys, which with strict are errors.
-- All or nothing: after any error the model is as it was. The error lists everything.
-- prefix ("module.") is taken off the names that begin with it. rename is applied then: a table
-- from names, or paths above them, to others ({fc = "head"}: fc.weight is loaded as head.weight;
-- "" for what has no such level), or a function from a name to another one (nil leaves it).
-- false leaves entries out.
function methods:load_state_dict(map, ...)
  if type(map) ~= "table" then
    fail("load_state_dict: state_dict must be a table (got %s)", core.kind_name(map))
  end
  local strict, assign, prefix, rename =
    arguments("load_state_dict", { "strict", "assign", "prefix", "rename" }, ...)
  local keys, values, metadata = flatten(map)
  if prefix ~= nil or rename ~= nil then
    prefix, rename = prefix or "", rename or {}
    check_renaming(prefix, rename)
    keys, values, metadata = renamed(keys, values, metadata, prefix, rename)
  end
  core._check_tables(self)
  if needs_load(self, assign) then
    local state = ordered.new(keys, values, metadata)
    return load_in_lua(self, state, strict ~= false, assign or false)
  end
  return core._load_state_dict(self, keys, values, versions_of(metadata), strict ~= false,
    assign or false)
end

-- ---- for hosts in C ----

local host = { needs_load = needs_load }

-- Names, values and versions; nothing for a tree that the core saves itself.
function host.save_state(self, prefix, keep_vars)
  if not needs_save(self) then return nil end
  local keys, values, metadata =
    flatten(self:state_dict { prefix = prefix, keep_vars = keep_vars })
  return keys, values, versions_of(metadata)
end

function host.load_state(self, tensors, names, versions, strict, assign, report)
  local state = ordered.adopt(tensors, names, metadata_of(versions))
  return load_in_lua(self, state, strict, assign, report)
end

return { methods = methods, host = host }
