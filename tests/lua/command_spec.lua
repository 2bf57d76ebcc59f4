-- The lucerna command as a user meets it: scripts, -e, standard input, errors and exit statuses,
-- the prompt on a pseudo-terminal. The environment names no path of ours.
local files = require "files"
local build = os.getenv "LUCERNA_BUILD" or os.getenv "PWD" .. "/build"
local command = build .. "/bin/lucerna"
local clean = "env -u LUA_PATH -u LUA_CPATH -u LUA_PATH_5_4 -u LUA_CPATH_5_4 -u LUA_INIT "

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- Runs the command with these arguments; returns its output, both streams together, and status.
local function run(arguments, input)
  local pipe = io.popen(("printf %%s %s | %s%s %s 2>&1"):format(quote(input or ""), clean,
    quote(command), arguments))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local script = files.with

local present = io.open(command)
if present then present:close() end

describe("the command", function()
  if not present then
    pending("is not built")
    return
  end

  it("runs a script with its arguments", function()
    local path = script [[
      print(arg[0] == (...), select("#", ...), arg[1], arg[2], #arg, arg[-1] ~= nil)]]
    local text, status = run(path .. " " .. path .. " 'b c'")
    assert.equal("true\t2\t" .. path .. "\tb c\t2\ttrue\n", text)
    assert.equal(0, status)
  end)

  it("finds the library from any folder", function()
    assert.equal("tensor([1., 1.])\n", (run("-e " .. quote "print(require('lucerna').ones(2))")))
    local pipe = io.popen(("cd / && %s%s -e %s"):format(clean, quote(command),
      quote "print(require('lucerna').arange(2))"))
    assert.equal("tensor([0, 1])\n", pipe:read "a")
    pipe:close()
  end)

  it("runs code, several pieces in order, then the script", function()
    local path = script "print(x, ...)"
    assert.equal("1\n1\ta\n", (run("-e 'x = 1' -e 'print(x)' " .. path .. " a")))
    assert.equal("2\n", (run("-e'print(2)'")))
  end)

  it("knows the prompt's names in code, and gives them to no script", function()
    assert.equal("2\n", (run("-e " .. quote "print(nn.Linear(1, 2)(lucerna.ones(1)):size(1))")))
    assert.equal("true\ttrue\ttrue\n",
      (run("-e " .. quote "print(F.relu ~= nil, optim.SGD ~= nil, help ~= nil)")))
    local path = script "print(nn, lucerna, x)"
    assert.equal("nil\tnil\t3\n", (run("-e " .. quote "x = nn and 3" .. " " .. path)))
    assert.equal("4\n", (run "-e 'nn = 4' -e 'print(nn)'"))
  end)

  it("runs standard input when it is no terminal", function()
    assert.equal("3\n", (run("", "print(1 + 2)")))
    assert.equal("1\ta\n", (run("- a", "print(select('#', ...), ...)")))
  end)

  it("tells an error with its traceback and status 1", function()
    local path = script "local function f() error 'no' end\nf()"
    local text, status = run(path)
    assert.equal(1, status)
    assert.matches("^lucerna: .-:1: no\nstack traceback:\n", text)
    assert.matches("in main chunk", text)
    text, status = run("-e " .. quote(
      "error(setmetatable({}, {__tostring = function() return 'mine' end}))"))
    assert.equal("lucerna: mine\n", text)
    assert.equal(1, status)
    text, status = run("/no/such.lua")
    assert.matches("^lucerna: cannot open /no/such.lua", text)
    assert.equal(1, status)
    text, status = run(script "x = = 1")
    assert.matches("unexpected symbol near '='\n$", text)
    assert.equal(1, status)
  end)

  it("passes on what os.exit says", function()
    assert.equal(7, select(2, run "-e 'os.exit(7)'"))
  end)

  it("shows its version and its usage", function()
    assert.matches("^lucerna %d+%.%d+%.%d+ on Lua 5%.4\n$", (run "-v"))
    assert.matches("^usage: ", (run "-h"))
    local text, status = run "--nonsense"
    assert.matches("^lucerna: unknown option", text)
    assert.equal(1, status)
  end)

  it("collects garbage in generations, as stock lua does", function()
    assert.equal("generational\n", (run "-e 'print(collectgarbage \"incremental\")'"))
  end)

  it("reads commands with -i even when there is no terminal", function()
    local text = run("-i -e 'x = 4'", "x + 1\nx = = 1\n")
    assert.matches("> 5\n> stdin:1: unexpected symbol near '='\n> $", text)
  end)
end)

describe("the prompt #slow", function()
  local has_terminals = os.execute "script -qec true /dev/null >/dev/null 2>&1"
  if not present or not has_terminals then
    pending("needs the command, script(1) and pseudo-terminals")
    return
  end

  -- Types keys on a pseudo-terminal, each when the screen shows what stands before it (at most 10 s
  -- later); returns the screen and the history.
  local function type_in(keys)
    local home = files.folder()
    local screen = home .. "/screen"
    local parts = {}
    for i = 1, #keys, 2 do
      parts[#parts + 1] = ([[n=0; until grep -qaF -- %s %s || [ $n = 200 ]; do
        sleep 0.05; n=$((n + 1)); done; sleep 0.1; printf %s]]):format(quote(keys[i]), screen,
        quote(keys[i + 1]))
    end
    local typist = table.concat(parts, "\n")
    os.execute(("touch %s; ( %s ) | %s HOME=%s TERM=xterm LC_ALL=C.UTF-8 script -qfec %s %s "
      .. ">/dev/null"):format(screen, typist, clean, home, quote(command), screen))
    return files.bytes_of(screen):gsub("\r", ""), files.bytes_of(home .. "/.lucerna_history")
  end

  it("edits, completes, interrupts and remembers", function()
    local text, history = type_in {"> ", "x = lucerna.ones(2)\\nx:tol\\t()\\n", "{1.0, 1.0}",
      "print(1000 + 1) while true do end\\n", "1001", "\\003", "interrupted!", "1 +", "1 +",
      "\\003", "1 +", "21 * 2\\n", "42", "\\004"}
    assert.matches("At hand: lucerna, nn, F", text)
    assert.matches("ist%(%)\n{1.0, 1.0}\n", text)
    assert.matches("interrupted!\n", text)
    assert.matches("\n42\n", text)
    assert.matches("21\\040%*\\0402", history)
  end)

  it("remembers what was typed before os.exit", function()
    local _, history = type_in {"> ", "answer = 42\\n", "answer", "os.exit()\\n"}
    assert.matches("answer\\040=\\04042\nos.exit%(%)\n", history)
  end)
end)
