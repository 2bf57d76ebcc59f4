-- A script that calls what is only meant for our own files gets an error, not a crash.
local files = require "files"

local root, lua = os.getenv "LUCERNA_ROOT" or os.getenv "PWD", os.getenv "LUCERNA_LUA" or "lua5.4"

describe("functions that can be reached from lucerna.core", function()
  it("return or raise, whatever they are passed", function()
    local folder = files.folder() -- some save what they get
    local command = ("cd %s && %s %s/tests/lua/reached.lua 2>&1"):format(folder, lua, root)
    local pipe = assert(io.popen(command))
    local text = pipe:read "a"
    assert(pipe:close(), "the last one crashed: " .. text:sub(-2000))
    local n = tonumber(text:match "(%d+) functions\n$")
    assert.is_true(n and n > 900, text:sub(-2000))
  end)

  it("read no argument that they were not passed", function()
    local lucerna, core = require "lucerna", require "lucerna.core"
    local ok, message = pcall(core.nn._hooked_inputs, lucerna.nn.ReLU())
    assert.is_false(ok)
    assert.is_truthy(message:find("value expected", 1, true), message)
  end)
end)
