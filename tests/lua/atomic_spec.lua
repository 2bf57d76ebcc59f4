-- Saves are all or nothing: a writer that is killed at any moment, or whose disk is full, leaves
-- the old file as it was.

local lucerna = require "lucerna"
local files = require "files"
local lua = os.getenv "LUCERNA_LUA" or "lua5.4"

-- What every format writes: a program's text of f(value, path), and back.
local FORMATS = {
  { "checkpoint", "lucerna.save({ x = x }, path)", function(path) return lucerna.load(path).x end },
  { "safetensors", "lucerna.safetensors.save_file({ x = x }, path)",
    function(path) return lucerna.safetensors.load_file(path, { mmap = false }).x end },
  { "npy", "lucerna.numpy.save(path, x)", lucerna.numpy.load },
  { "npz", "lucerna.numpy.savez(path, { x = x })",
    function(path) return lucerna.numpy.load(path).x end },
  { "PNG", "lucerna.data.write_png(x:to(lucerna.uint8):unsqueeze(1), path)",
    lucerna.data.read_image },
  { "CSV", "lucerna.data.write_csv(x, path)", lucerna.data.read_csv },
}

-- A program in a folder of its own; x, which is all `value`, is `rows` × 200.
local function program(folder, rows, body)
  files.write(folder .. "/program.lua", ([[
    package.path, package.cpath = %q, %q
    local lucerna = require "lucerna"
    local path = %q .. "/file"
    local function make(value)
      return lucerna.full({ %d, 200 }, value, { dtype = lucerna.float32 })
    end
  ]]):format(package.path, package.cpath, folder, rows) .. body)
end

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  pipe:close()
  return text
end

for _, format in ipairs(FORMATS) do
  local name, save, load = table.unpack(format)

  it("a killed writer leaves the file whole: " .. name .. " #slow", function()
    local folder = files.folder()
    program(folder, 300, ([[
      for i = 1, math.huge do
        local x = make(i %% 2 + 1)
        %s
      end]]):format(save))
    for kill = 1, 5 do
      run(([[cd %s && rm -f file && { %s program.lua & p=$!
        until [ -e file ] || ! kill -0 $p; do sleep 0.01; done
        sleep %.3f; kill -9 $p; wait $p; }]]):format(folder, lua, kill * 0.037))
      local x = load(folder .. "/file")
      local first = x:flatten()[1]:item()
      assert.is_true(first == 1 or first == 2)
      assert.is_true(x:eq(first):all():item())
      assert.equal(60000, x:numel())
    end
  end)

  it("a full disk is an error, and the old file stays: " .. name, function()
    local folder = files.folder()
    local disk = folder .. "/disk"
    assert(os.execute("mkdir " .. disk))
    program(folder, 10, ([[
      path = path:gsub("file$", "disk/file")
      local x = make(1)
      %s
      local file = assert(io.open(path, "rb"))
      local before = file:read("a")
      file:close()
      x = lucerna.cat({ make(1), lucerna.rand(2000, 200) * 255 })
      local ok, message = pcall(function() %s end)
      file = assert(io.open(path, "rb"))
      assert(file:read("a") == before, "the old file has changed")
      file:close()
      local left = io.popen("ls -A " .. path:gsub("/file$", "")):read("a")
      print(not ok and message:find("\n") == nil and left == "file\n", message)]])
      :format(save, save))
    local text = run(([[unshare -rm sh -c "mount -t tmpfs -o size=100k none %s || exit 9;
      %s %s/program.lua" || echo refused]]):format(disk, lua, folder))
    if text:find("refused") then
      return pending("needs a file system of its own: " .. text:gsub("\n", " "))
    end
    assert.matches("^true", text)
    assert.matches("No space left on device", text)
  end)
end
