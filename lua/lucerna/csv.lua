-- CSV files as tensors [rows, columns] and back. lucerna.data has these functions too.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local files = require "lucerna.files"

local csv = {}

local fail = core._fail

-- A delimiter is one character that can be no part of a number or of a line's end.
local function check_delimiter(who, delimiter)
  if delimiter == nil then return "," end
  if type(delimiter) ~= "string" or #delimiter ~= 1 or delimiter:find('["%w%c+.-]')
    and delimiter ~= "\t" then
    fail("%s: delimiter must be one character, as ',' or '\\t' (got %s)", who,
      type(delimiter) == "string" and ("%q"):format(delimiter) or core.nn.kind_name(delimiter))
  end
  return delimiter
end

local DTYPES = {}
for _, name in ipairs {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16",
  "int32", "int64", "bool"} do
  DTYPES[lucerna[name]] = true
end

-- Positions of columns given by position or name; names() reads the header.
local function positions(columns, names)
  if columns == nil then return nil end
  local plain = type(columns) == "table" and getmetatable(columns) == nil
  if not plain or #columns == 0 then
    fail("read_csv: columns must be a table of positions or names (got %s)",
      plain and "an empty one" or core.nn.kind_name(columns))
  end
  local list, known = {}, nil
  for k, column in ipairs(columns) do
    if type(column) == "string" then
      known = known or names()
      for at, name in ipairs(known) do list[k] = list[k] or (name == column and at or nil) end
      if not list[k] then fail("read_csv: columns: there is no column '%s'", column) end
    elseif math.type(column) == "integer" and column > 0 then
      list[k] = column
    else
      fail("read_csv: columns must be positions from 1 on or names (got %s)", column)
    end
  end
  return list
end

local READ = {"path", "delimiter", "header", "dtype", "columns", "missing", "bytes"}

--- read_csv(path, {delimiter=",", header=false, dtype=, columns=, missing=, bytes=}) reads numbers
-- as a tensor [rows, columns] of dtype (get_default_dtype() unless given); with header = true, the
-- first row's names are a second result. columns: a table of positions or names to read, the others
-- may hold anything. missing: the value of empty fields and of NA, N/A and null, which are errors
-- unless it is given. Fields may stand in quotes; empty lines are left out. What is no number is an
-- error that names line and column. path: a path or a reader; read_csv{bytes = text} reads a
-- string.
function csv.read_csv(...)
  local path, delimiter, header, dtype, columns, missing, bytes =
    arguments("read_csv", READ, ...)
  delimiter = check_delimiter("read_csv", delimiter)
  check.option("read_csv", "header", header, "boolean")
  dtype = dtype or lucerna.get_default_dtype()
  if not DTYPES[dtype] then fail("read_csv: dtype must be a dtype (got %s)", dtype) end
  local float = dtype.is_floating_point
  local filled = type(missing) == "number" and (float or math.tointeger(missing) ~= nil)
  if missing ~= nil and not filled then
    fail("read_csv: missing must be %s (got %s)", float and "a number" or "an integer", missing)
  end
  path, bytes = files.source("read_csv", "path", path, bytes)
  local list = positions(columns, function()
    if not header then fail "read_csv: columns: names need header = true" end
    local _, names = core._csv_read(path, bytes, delimiter, true)
    return names
  end)
  local x, names = core._csv_read(path, bytes, delimiter, header or false, dtype,
    missing and not float and math.tointeger(missing) or missing, list)
  if not header then return x end
  local chosen = list and {} or names
  for k, at in ipairs(list or {}) do chosen[k] = names[at] end
  return x, chosen
end

--- write_csv(input, filename, {delimiter=",", header=}) writes a tensor [rows, columns] or [rows],
-- each number in as few digits as bring it back. header: a table of names. filename: a path or a
-- writer.
function csv.write_csv(...)
  local input, filename, delimiter, header =
    arguments("write_csv", {"input", "filename", "delimiter", "header"}, ...)
  delimiter = check_delimiter("write_csv", delimiter)
  check.tensor("write_csv", "input", input)
  if input:dim() == 1 then input = input:unsqueeze(2) end
  if input:dim() ~= 2 then
    fail("write_csv: input must be [rows, columns] or [rows] (got %d dimensions)", input:dim())
  end
  local names = header ~= nil and {} or nil
  if names then
    if type(header) ~= "table" or getmetatable(header) or #header ~= input:size(2) then
      fail("write_csv: header must be a table of %d names (got %s)", input:size(2),
        type(header) == "table" and "a table of " .. #header or core.nn.kind_name(header))
    end
    for k, name in ipairs(header) do
      if type(name) ~= "string" or name:find("\0", 1, true) then
        fail("write_csv: header must be strings (got %s)", core.nn.kind_name(name))
      end
      names[k] = name
    end
  end
  core._csv_write(input, files.target("write_csv", "filename", filename), delimiter, names)
end

return csv
