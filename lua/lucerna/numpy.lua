-- NumPy's files: .npy (one array) and .npz (several, by name), under NumPy's names. Arrays of
-- Python objects are pickles and refused; so are structured ones and dtypes that Lucerna has not.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local files = require "lucerna.files"
local ordered = require "lucerna.nn.ordered"

local numpy = {}

local fail = core._fail

--- load(file, {max_bytes=, bytes=}) reads a .npy file as a tensor, a .npz file as a table from
-- names to tensors. file: a path or a reader; load{bytes = text} reads a string. max_bytes: a limit
-- for what is made.
function numpy.load(...)
  local file, max_bytes, bytes = arguments("load", {"file", "max_bytes", "bytes"}, ...)
  check.positive("load", "max_bytes", max_bytes)
  local path
  path, bytes = files.source("load", "file", file, bytes, max_bytes)
  return core._np_load(path, bytes, max_bytes)
end

--- save(file, arr) writes a tensor as a .npy file. file: a path or a writer.
function numpy.save(file, arr)
  check.tensor("save", "arr", arr)
  core._npy_save(arr, files.target("save", "file", file))
end

-- Names and tensors of what savez was given: a table or map of names, or tensors, which are called
-- arr_0, arr_1, … as NumPy counts them.
local function collect(who, ...)
  local given, by_name = table.pack(...), {}
  local first = given[1]
  local plain = type(first) == "table" and getmetatable(first) == nil
  if given.n == 1 and (plain or ordered.is(first)) then
    for name, tensor in pairs(first) do by_name[name] = tensor end
  else
    for k = 1, given.n do by_name["arr_" .. k - 1] = given[k] end
  end
  local names, tensors = {}, {}
  for name, tensor in pairs(by_name) do
    if type(name) ~= "string" or name:find("\0", 1, true) or name == "" then
      fail("%s: a name must be a string (got %s)", who, core.nn.kind_name(name))
    end
    check.tensor(who, name, tensor)
    names[#names + 1] = name
  end
  table.sort(names, core._before)
  for k, name in ipairs(names) do tensors[k] = by_name[name] end
  return names, tensors
end

--- savez(file, tensors) writes a table of named tensors as a .npz file; savez(file, a, b) names
-- them arr_0 and arr_1. file: a path or a writer.
function numpy.savez(file, ...)
  local names, tensors = collect("savez", ...)
  core._npz_save(names, tensors, files.target("savez", "file", file), false)
end

--- savez_compressed(file, tensors) is savez with deflated arrays.
function numpy.savez_compressed(file, ...)
  local names, tensors = collect("savez_compressed", ...)
  core._npz_save(names, tensors, files.target("savez_compressed", "file", file), true)
end

return numpy
