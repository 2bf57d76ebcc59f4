-- Files and folders that a test makes: gone when the test has ended, however it ended.
local busted = require "busted"

local files = {}
local made = {}

busted.subscribe({"test", "end"}, function()
  for i = #made, 1, -1 do
    local path = table.remove(made, i)
    if not os.remove(path) then os.execute("rm -rf " .. path) end
  end
  return nil, true
end)

--- The path of a file of one's own.
function files.temporary()
  made[#made + 1] = os.tmpname()
  return made[#made]
end

--- The path of a folder of one's own.
function files.folder()
  local path = files.temporary()
  os.remove(path)
  assert(os.execute("mkdir " .. path))
  return path
end

--- Makes these the bytes of a file; returns its path.
function files.write(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
  return path
end

--- The path of a file with these bytes.
function files.with(bytes) return files.write(files.temporary(), bytes) end

--- What is in a file.
function files.bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

return files
