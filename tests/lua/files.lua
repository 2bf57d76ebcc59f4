-- Files that a test makes: gone when the test has ended, however it ended.
local busted = require "busted"

local files = {}
local made = {}

busted.subscribe({"test", "end"}, function()
  for i = #made, 1, -1 do os.remove(table.remove(made, i)) end
  return nil, true
end)

--- The path of a file of one's own.
function files.temporary()
  made[#made + 1] = os.tmpname()
  return made[#made]
end

--- The path of a file with these bytes.
function files.with(bytes)
  local path = files.temporary()
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
  return path
end

--- What is in a file.
function files.bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

return files
