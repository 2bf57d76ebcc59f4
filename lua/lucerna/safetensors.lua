-- safetensors files (huggingface.co/docs/safetensors): named tensors and string metadata, nothing
-- that could be executed. Saves are atomic; a file is validated before anything is made of it.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local files = require "lucerna.files"
local json_text = require "lucerna.json_text"
local ordered = require "lucerna.nn.ordered"

local safetensors = {}

local fail = core._fail

-- ---- open files ----

local SafeOpen, Slice = {}, {}
SafeOpen.__index, SafeOpen.__name = SafeOpen, "safe_open"
Slice.__name = "safetensors.Slice"

local function open(path, bytes, map)
  local handle, names, metadata = core._st_open(path, bytes)
  local numbers = {}
  for k, name in ipairs(names) do numbers[name] = k end
  return setmetatable({ _handle = handle, _names = names, _numbers = numbers,
    _metadata = metadata, _map = map or false }, SafeOpen)
end

-- The number of a tensor.
local function number_of(self, name)
  local number = self._numbers[name]
  if not number then fail("safe_open: the file has no tensor '%s'", name) end
  return number
end

--- The tensors' names, sorted.
function SafeOpen:keys()
  local names = table.move(self._names, 1, #self._names, 1, {})
  table.sort(names, core._before)
  return names
end

--- The tensors' names in the order of their data.
function SafeOpen:offset_keys() return table.move(self._names, 1, #self._names, 1, {}) end

--- The metadata: a table of strings.
function SafeOpen:metadata()
  local copy = {}
  for key, text in pairs(self._metadata) do copy[key] = text end
  return copy
end

--- One tensor; the others are not read.
function SafeOpen:get_tensor(name)
  return core._st_read(self._handle, number_of(self, name), self._map)
end

--- What can be indexed as the tensor would be, by positions and ranges: slice[{{1, 10}, 2}]. Only
-- what is selected is read. It has get_shape() and get_dtype().
function SafeOpen:get_slice(name)
  return setmetatable({ file = self, number = number_of(self, name) }, Slice)
end

--- Closes the file. Tensors stay.
function SafeOpen:close() core._st_close(self._handle) end
SafeOpen.__close = SafeOpen.close
SafeOpen.__tostring = function(self) return ("safe_open(%d tensors)"):format(#self._names) end

local methods = {}

function methods:get_shape()
  local _, shape = core._st_info(self.file._handle, self.number)
  return shape
end

function methods:get_dtype() return (core._st_info(self.file._handle, self.number)) end

-- Positions and ranges, which select a view.
local function is_basic(key)
  if math.type(key) == "integer" then return true end
  if type(key) ~= "table" or getmetatable(key) then return false end
  for _, part in ipairs(key) do
    local range = type(part) == "table" and not getmetatable(part)
    if not range and math.type(part) ~= "integer" then return false end
  end
  return true
end

function Slice:__index(key)
  if methods[key] then return methods[key] end
  if not is_basic(key) then
    fail("get_slice: index must be positions and ranges (got %s)", core.nn.kind_name(key))
  end
  local file, number = rawget(self, "file"), rawget(self, "number")
  if file._map then return core._st_read(file._handle, number, true)[key] end
  return core._st_slice(file._handle, number, key)
end

Slice.__len = function(self) return methods.get_shape(self)[1] end

--- safe_open(filename, {framework=, device=, mmap=}) opens a file to read single tensors of it:
-- f:keys(), f:get_tensor(name), f:get_slice(name)[{...}], f:metadata(), f:close(); it can be a
-- to-be-closed variable. filename: a path or a reader. mmap: tensors are the file's pages, see
-- load_file.
function safetensors.safe_open(...)
  local filename, _, device, mmap, bytes =
    arguments("safe_open", {"filename", "framework", "device", "mmap", "bytes"}, ...)
  check.device("safe_open", "device", device)
  check.option("safe_open", "mmap", mmap, "boolean")
  local path
  path, bytes = files.source("safe_open", "filename", filename, bytes)
  return (open(path, bytes, mmap ~= false)) -- no tail call: errors name safe_open
end

-- ---- loading ----

-- Tensors of an open file: those named, or all; into `tensors`.
local function read_tensors(file, names, tensors)
  for _, name in ipairs(names or file._names) do tensors[name] = file:get_tensor(name) end
  return tensors
end

-- "model.safetensors.index.json": which tensor is in which file beside it.
local function load_sharded(path, mmap)
  local folder, tensors, metadata, by_file = path:match("^(.*/)") or "", {}, {}, {}
  for name, shard in pairs(core._st_index(path)) do
    by_file[shard] = by_file[shard] or {}
    table.insert(by_file[shard], name)
  end
  for shard, names in pairs(by_file) do
    local file <close> = open(folder .. shard, nil, mmap)
    for _, name in ipairs(names) do
      if not file._numbers[name] then
        fail("load_file: '%s' says that '%s' holds '%s', which it does not", path, shard, name)
      end
    end
    read_tensors(file, names, tensors)
    for key, text in pairs(file._metadata) do metadata[key] = text end
  end
  return tensors, metadata
end

--- load_file(filename, {device=, mmap=}) returns a table from names to tensors, and the file's
-- metadata (a table of strings). filename: a path, a reader, or the index of a model in several
-- files (model.safetensors.index.json), which stand beside it. The file is mapped: at once, however
-- large, and pages are copied when they are written to. mmap = false reads it instead, for files
-- that somebody may shorten meanwhile: the system kills a process that touches pages that are gone.
function safetensors.load_file(...)
  local filename, device, mmap = arguments("load_file", {"filename", "device", "mmap"}, ...)
  check.device("load_file", "device", device)
  check.option("load_file", "mmap", mmap, "boolean")
  local path, bytes = files.source("load_file", "filename", filename)
  if path and path:find("%.json$") then return load_sharded(path, mmap ~= false) end
  local file <close> = open(path, bytes, mmap ~= false)
  return read_tensors(file, nil, {}), file._metadata
end

--- load(data) is load_file for the bytes of a file, a string.
function safetensors.load(...)
  local data = arguments("load", {"data"}, ...)
  if type(data) ~= "string" then
    fail("load: data must be a string (got %s)", core.nn.kind_name(data))
  end
  local file <close> = open(nil, data)
  return read_tensors(file, nil, {}), file._metadata
end

-- ---- saving ----

-- A table of the call's own, whatever the names' table is.
local function copy_names(who, tensors)
  local plain_table = type(tensors) == "table" and getmetatable(tensors) == nil
  if not plain_table and not ordered.is(tensors) then
    fail("%s: tensors must be a table of named tensors (got %s)", who, core.nn.kind_name(tensors))
  end
  local plain = {}
  for name, tensor in pairs(tensors) do plain[name] = tensor end
  return plain
end

local function copy_metadata(who, metadata)
  if metadata == nil then return nil end
  if type(metadata) ~= "table" then
    fail("%s: metadata must be a table of strings (got %s)", who, core.nn.kind_name(metadata))
  end
  local copy = {}
  for key, text in pairs(metadata) do copy[key] = text end
  return copy
end

--- save_file(tensors, filename, metadata) writes named tensors: a table or a state_dict. filename:
-- a path or a writer. metadata is a table of strings. Tensors that share memory are refused.
function safetensors.save_file(tensors, filename, metadata)
  local plain = copy_names("save_file", tensors)
  core._st_save(plain, files.target("save_file", "filename", filename),
    copy_metadata("save_file", metadata))
end

--- save(tensors, metadata) returns the bytes that save_file writes, as a string.
function safetensors.save(tensors, metadata)
  local plain, texts = copy_names("save", tensors), copy_metadata("save", metadata)
  return files.to_string(function(target) core._st_save(plain, target, texts) end)
end

-- ---- models ----

-- Names of tensors that are the same memory: {removed = kept}, the first by name is kept, one of
-- `preferred` before others.
local function duplicates(tensors, preferred)
  local names, kept, removed = {}, {}, {}
  for name in pairs(tensors) do names[#names + 1] = name end
  table.sort(names, function(a, b)
    local first, second = preferred[a] ~= nil, preferred[b] ~= nil
    if first ~= second then return first end
    return core._before(a, b)
  end)
  for _, name in ipairs(names) do
    local t = tensors[name]
    local where = lucerna.is_tensor(t) and t:numel() > 0 and ("%s %s %s %s"):format(t:data_ptr(),
      t.dtype, table.concat(t:size(), ","), table.concat(t:stride(), ","))
    if where and kept[where] then removed[name] = kept[where] end
    if where and not kept[where] then kept[where] = name end
  end
  return removed
end

--- save_model(model, filename, metadata) writes a module's state. Of tensors with several names
-- (tied weights) one is kept; the metadata say which stands for the others.
function safetensors.save_model(model, filename, metadata)
  check.module("save_model", "model", model)
  local tensors, texts = copy_names("save_model", model:state_dict()),
    copy_metadata("save_model", metadata) or {}
  for removed, kept in pairs(duplicates(tensors, {})) do
    tensors[removed], texts[removed] = nil, texts[removed] or kept
  end
  core._st_save(tensors, files.target("save_model", "filename", filename),
    next(texts) and texts or nil)
end

--- load_model(model, filename, {strict=, device=, mmap=}) loads a file's tensors into a module,
-- tied weights by any of their names. Returns the missing and the unexpected names, as
-- load_state_dict.
function safetensors.load_model(...)
  local model, filename, strict, device, mmap =
    arguments("load_model", {"model", "filename", "strict", "device", "mmap"}, ...)
  check.module("load_model", "model", model)
  check.option("load_model", "strict", strict, "boolean")
  local tensors = safetensors.load_file(filename, {device = device, mmap = mmap ~= false})
  for removed, kept in pairs(duplicates(copy_names("load_model", model:state_dict()), tensors)) do
    if tensors[removed] == nil then tensors[removed] = tensors[kept] end
  end
  return model:load_state_dict(tensors, {strict = strict ~= false})
end

-- ---- models in several files ----

-- Tensors in the order of names, dealt to files of at most so many bytes.
local function deal(tensors, most)
  local names, shards, size, total = {}, {}, 0, 0
  for name in pairs(tensors) do names[#names + 1] = name end
  table.sort(names, core._before)
  for _, name in ipairs(names) do
    local bytes = tensors[name].nbytes
    if #shards == 0 or (size > 0 and size + bytes > most) then shards[#shards + 1], size = {}, 0 end
    shards[#shards][name] = tensors[name]
    size, total = size + bytes, total + bytes
  end
  return shards, names, total
end

local UNITS = { KB = 1e3, MB = 1e6, GB = 1e9, KIB = 2 ^ 10, MIB = 2 ^ 20, GIB = 2 ^ 30 }

-- Bytes of a size given as a number or, as Hugging Face's, "200MB".
local function bytes_of(size)
  if size == nil then return 5000000000 end
  local digits, unit = tostring(size):match("^(%d+%.?%d*)(%a*)$")
  local scale = unit == "" and 1 or UNITS[(unit or ""):upper()]
  local bytes = scale and type(size) ~= "table" and math.tointeger(tonumber(digits) * scale // 1)
  if not bytes or bytes < 1 then
    fail("save_sharded: max_shard_size must be a number of bytes or a text as '5GB' (got %s)",
      size)
  end
  return bytes
end

-- The index of several files: the one of each name, in the order of names.
local function index_text(names, file_of, total)
  local lines = {}
  for k, name in ipairs(names) do
    lines[k] = ('    %s: "%s"'):format(json_text(name), file_of[name])
  end
  local text = '{\n  "metadata": {\n    "total_size": %d\n  },\n  "weight_map": {\n%s\n  }\n}\n'
  return text:format(total, table.concat(lines, ",\n"))
end

--- save_sharded(tensors, folder, {max_shard_size=, metadata=}) writes tensors to a folder, in
-- several files with an index (model-00001-of-00002.safetensors, model.safetensors.index.json) if
-- they are more than max_shard_size (bytes, or a text: "5GB"), else in one (model.safetensors).
-- Returns the path to load.
function safetensors.save_sharded(...)
  local given = table.pack(...)
  local tensors = copy_names("save_sharded", given[1])
  local _, folder, most, metadata = arguments("save_sharded",
    {"tensors", "folder", "max_shard_size", "metadata"}, false, table.unpack(given, 2, given.n))
  most = bytes_of(most)
  if type(folder) ~= "string" then
    fail("save_sharded: folder must be a string (got %s)", core.nn.kind_name(folder))
  end
  for name, tensor in pairs(tensors) do
    if type(name) ~= "string" or not lucerna.is_tensor(tensor) then
      fail("save_sharded: tensors must be a table of named tensors (got %s at '%s')",
        core.nn.kind_name(tensor), name)
    end
  end
  local shards, names, total = deal(tensors, most)
  if #shards < 2 then
    safetensors.save_file(tensors, folder .. "/model.safetensors", metadata)
    return folder .. "/model.safetensors"
  end
  local file_of = {}
  for k, shard in ipairs(shards) do
    local file = ("model-%05d-of-%05d.safetensors"):format(k, #shards)
    safetensors.save_file(shard, folder .. "/" .. file, metadata)
    for name in pairs(shard) do file_of[name] = file end
  end
  local path = folder .. "/model.safetensors.index.json"
  core._write_bytes("save_sharded", index_text(names, file_of, total), path)
  return path
end

return safetensors
