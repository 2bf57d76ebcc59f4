-- The examples run as a reader would run them, on little: the tour, LeNet and a VAE on a handful of
-- digits, writers of text on a few lines, the cart-pole, sines, and the C host, which is built
-- against this build.
local lucerna = require "lucerna"
local files = require "files"

local root = os.getenv "LUCERNA_ROOT" or "."
local build = os.getenv "LUCERNA_BUILD" or os.getenv "PWD" .. "/build"
local clean = "env -u LUA_PATH -u LUA_CPATH -u LUA_PATH_5_4 -u LUA_CPATH_5_4 "

-- Runs a command line; returns what it wrote (both streams) and its exit status.
local function run(line)
  local pipe = io.popen(line .. " 2>&1 </dev/null")
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local has_command = exists(build .. "/bin/lucerna")

local function example(name, arguments)
  return run(("%s%s/bin/lucerna %s/examples/%s %s"):format(clean, build, root, name,
    arguments or ""))
end

-- Writes the first n test digits as an MNIST of its own, the same for training and testing.
local function small_mnist(path, n)
  local set = lucerna.data.MNIST {root = root .. "/examples/data/mnist", train = false}
  local function bytes(t)
    local list, parts = t:flatten():tolist(), {}
    for i = 1, #list, 500 do
      parts[#parts + 1] = string.char(table.unpack(list, i, math.min(i + 499, #list)))
    end
    return table.concat(parts)
  end
  local images, labels = bytes(set.data[{{1, n}}]), bytes(set.targets[{{1, n}}] - 1)
  for _, part in ipairs {"train", "t10k"} do
    local file <close> = io.open(("%s/%s-images-idx3-ubyte"):format(path, part), "wb")
    file:write("\0\0\8\3", string.pack(">I4I4I4", n, 28, 28), images)
    local other <close> = io.open(("%s/%s-labels-idx1-ubyte"):format(path, part), "wb")
    other:write("\0\0\8\1", string.pack(">I4", n), labels)
  end
end

if not has_command then
  describe("the examples", function() pending("need the lucerna command") end)
  return
end

describe("examples/tour.lua #slow", function()
  it("shows what it says", function()
    local text, status = example "tour.lua"
    assert.equal(0, status, text)
    assert.matches("\nNet%(\n  %(features%): Sequential%(\n    %(conv%): Conv2d%(1, 4,", text)
    assert.matches("\nfeatures.conv.weight   %[4, 1, 3, 3%]\n", text)
    assert.matches("ReLU saw %[2, 4, 6, 6%]", text)
    assert.matches("in features.conv %(Conv2d%): ", text)
    assert.matches("\nfeatures.norm.num_batches_tracked", text)
    assert.matches("Missing key%(s%) in state_dict", text)
    assert.matches("\nlearns: head.weight\n", text)
    assert.not_matches("learns: features", text)
    assert.matches("features unchanged: \ttrue\n", text)
    assert.matches("same output: \ttrue\n", text)
    assert.matches("step 3  loss 0%.84", text)
  end)
end)

describe("examples/mnist.lua #slow", function()
  it("trains, shows a table and what it misread, and saves", function()
    local path = files.folder()
    small_mnist(path, 96)
    local text, status = example("mnist.lua", ("--epochs 2 --batch-size 32 --data %s --save %s/net")
      :format(path, path))
    assert.equal(0, status, text)
    assert.matches("^LeNet%(\n  %(conv1%): Conv2d%(1, 20, kernel_size=%(5, 5%)", text)
    assert.matches("\n    1 +%d%.%d%d%d%d +%d%.%d%d%d%d +%d+%.%d%d %% +%d+%.%d\n    2 ", text)
    assert.matches("read as %d", text)
    assert.matches("\ntest accuracy %d+%.%d%d %%\n$", text)
    local saved = lucerna.safetensors.load_file(path .. "/net")
    assert.same({500, 800}, saved["fc1.weight"]:size())
  end)

  it("gives the same net for the same seed", function()
    local path = files.folder()
    small_mnist(path, 32)
    local arguments = ("--epochs 1 --seed 5 --data %s"):format(path)
    local function accuracy() return (example("mnist.lua", arguments):gsub(" +%d+%.%d\n", "")) end
    assert.equal(accuracy(), accuracy())
  end)

  it("explains its options", function()
    local text, status = example("mnist.lua", "--epoch 3")
    assert.equal(2, status)
    assert.matches("^unknown option: %-%-epoch\nusage: ", text)
    text, status = example("mnist.lua", "--epochs many")
    assert.equal(2, status)
    assert.matches("^missing or wrong value: %-%-epochs\n", text)
    text, status = example("mnist.lua", "--help")
    assert.equal(0, status)
    assert.matches("^usage: mnist.lua %[%-%-batch%-size N%]", text)
  end)
end)

-- A text of some length in the folder.
local function small_text(path)
  local file <close> = io.open(path .. "/text", "wb")
  file:write((("the quick brown fox jumps over the lazy dog.\n"):rep(20)))
  return path .. "/text"
end

for _, case in ipairs {
  {"char_rnn.lua", "--hidden 32 --layers 1 --lr 0.02"},
  {"gpt.lua", "--width 32 --layers 1 --heads 2 --dropout 0 --lr 0.02"},
} do
  local name, size = case[1], case[2]
  describe(("examples/%s #slow"):format(name), function()
    it("learns a text and writes like it", function()
      local text = small_text(files.folder())
      local arguments = ("--file %s --steps 120 --window 32 --batch-size 8 --length 88 "
        .. "--temperature 0.1 --prompt the --threads 1 %s"):format(text, size)
      local out, status = example(name, arguments)
      assert.equal(0, status, out)
      assert.matches("\n?900 letters of 29 kinds", out)
      assert.matches("\nloss %d%.%d%d%d after 120 steps, %d+%.%d s\n\nthe", out)
      local loss = tonumber(out:match "loss (%S+)")
      assert.is_true(loss < 1.5, out)
      local written = out:match "\n\n(the.*)\n$"
      assert.equal(3 + 88, #written, out)
      assert.matches("the lazy dog.\n", written)
      local function without_times(s) return (s:gsub("%d+%.%d s", "")) end
      assert.equal(without_times(out), without_times((example(name, arguments))))
    end)

    it("explains what it cannot read", function()
      local out, status = example(name, "--file /no/such/text")
      assert.equal(2, status)
      assert.matches("^cannot open /no/such/text\nusage: [^\n]*%.lua %[%-%-batch%-size N%]", out)
      out, status = example(name, ("--file %s --prompt Q"):format(small_text(files.folder())))
      assert.equal(2, status)
      assert.matches("^%-%-prompt has a letter that the text lacks\n", out)
      out, status = example(name, "--steps 1.5")
      assert.equal(2, status)
      assert.matches("^missing or wrong value: %-%-steps\n", out)
    end)
  end)
end

describe("examples/vae.lua #slow", function()
  it("trains and writes a picture of digits", function()
    local path = files.folder()
    small_mnist(path, 96)
    local text, status = example("vae.lua",
      ("--epochs 2 --batch-size 16 --hidden 64 --data %s --out %s/digits.png"):format(path, path))
    assert.equal(0, status, text)
    local first, second = text:match "\n    1 +(%S+) +%S+ +%S+\n    2 +(%S+)"
    assert.is_true(tonumber(second) < tonumber(first), text)
    local picture = lucerna.data.read_image(path .. "/digits.png", "gray")
    assert.same({1, 8 * 29 + 1, 16 * 29 + 1}, picture:size())
  end)
end)

describe("examples/reinforce.lua #slow", function()
  it("learns to balance the pole", function()
    local text, status = example "reinforce.lua"
    assert.equal(0, status, text)
    assert.matches("episode   50  %d+ steps", text)
    assert.matches("\nbalances the pole after %d+ episodes, %d+%.%d s\n$", text)
  end)

  it("draws the cart and the pole", function()
    local text, status = example("reinforce.lua", "--episodes 1 --draw --frames 3")
    assert.equal(0, status, text)
    assert.matches("^has not learned it in 1 episodes, ", text)
    local tracks = select(2, text:gsub(("─"):rep(61), ""))
    assert.equal(3, tracks)
    assert.matches("███████", text)
    assert.matches("●", text)
    assert.equal("\27[?25h", text:sub(-6)) -- the cursor is there again
  end)
end)

describe("examples/maml.lua #slow", function()
  it("needs fewer steps on a new sine than it did", function()
    local text, status = example("maml.lua", "--rounds 400 --steps 1")
    assert.equal(0, status, text)
    assert.matches("^error after +0 +1 steps\nas it begins ", text)
    local before = tonumber(text:match "begins +%S+ +(%S+)")
    local after = tonumber(text:match "\n400 rounds +%S+ +(%S+)\n%d+%.%d s\n$")
    assert.is_true(after < before / 1.5, text)
  end)
end)

describe("examples/embed #slow", function()
  local sanitized = build:find "asan" ~= nil
  if sanitized or not exists(build .. "/liblucerna.a") then
    pending("is built against the plain build")
    return
  end

  it("learns XOR within 5 MB and survives every error", function()
    local to = build .. "/embed"
    local text, status = run(("cmake -S %s/examples/embed -B %s && cmake --build %s")
      :format(root, to, to))
    assert.equal(0, status, text)
    text, status = run(("cd / && %s%s/host"):format(clean, to))
    assert.equal(0, status, text)
    assert.matches("out of memory: ", text)
    assert.matches("an error in Lua: script:1: ", text)
    assert.matches("a bad file: script:1: load_file: ", text)
    assert.not_matches("nothing happened", text)
    assert.matches("\nat most [12345]%.%d of 5 MB, 0 bytes left behind\n", text)
    assert.matches("\nsurvived everything\n$", text)
  end)
end)

describe("the installed C library #slow", function()
  local sanitized = build:find "asan" ~= nil
  local has_pkg_config = os.execute "pkg-config --version >/dev/null 2>&1"
  if sanitized or not exists(build .. "/liblucerna.a") or not has_pkg_config then
    pending("needs the plain build and pkg-config")
    return
  end

  it("is found by pkg-config, wherever it was moved to", function()
    local at = files.folder()
    files.write(at .. "/host.c", [[
      #include "lucerna/module.h"
      int main(void) {
        luc_context *ctx;
        luc_module *relu = NULL;
        luc_status status = luc_context_new(NULL, &ctx);
        if (status == LUC_OK) status = luc_module_new(ctx, "ReLU", NULL, 0, &relu);
        luc_module_release(ctx, relu);
        luc_context_free(ctx);
        return status;
      }
    ]])
    local text, status = run(([[cd %s && cmake --install %s --prefix old && mv old new &&
      export PKG_CONFIG_PATH=$(dirname $(find new -name lucerna.pc)) &&
      cc host.c $(pkg-config --cflags --libs lucerna) -o host && ./host]]):format(at, build))
    assert.equal(0, status, text)
  end)
end)
