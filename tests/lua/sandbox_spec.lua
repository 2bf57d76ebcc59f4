-- A host that has taken io, os, debug, load and package away: modules, training and files work, the
-- latter through readers, writers and strings.

local files = require "files"

local root, lua = os.getenv "LUCERNA_ROOT" or ".", os.getenv "LUCERNA_LUA" or "lua5.4"

-- Runs a program in a Lua of its own, which has lost the libraries before it loads Lucerna.
local function run(program)
  local path = files.with(("package.path, package.cpath = %q, %q\n"):format(package.path,
    package.cpath) .. [[
    io, os, debug, load, loadfile, dofile, package = nil
    local lucerna = require "lucerna"
    local nn, optim = lucerna.nn, lucerna.optim
  ]] .. program .. "\nprint 'done'\n")
  local pipe = assert(io.popen(("%s %s %s 2>&1"):format(lua, path, root)))
  local text = pipe:read "a"
  pipe:close()
  assert.equal("done\n", text)
end

describe("without io, os, debug, load and package", function()
  it("nets train and their state goes through a writer and a reader", function()
    run [[
      local net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
      local o = optim.Adam(net:parameters(), {lr = 0.05})
      local schedule = optim.lr_scheduler.StepLR(o, 50)
      local x = lucerna.randn(64, 2)
      local y = x:sum(2, {keepdim = true})
      local first, last
      for step = 1, 100 do
        o:zero_grad()
        last = nn.MSELoss()(net(x), y)
        first = first or last:item()
        last:backward()
        o:step()
        schedule:step()
      end
      assert(last:item() < first / 10)
      local pieces = {}
      lucerna.save({model = net:state_dict(), optim = o:state_dict()},
        function(piece) pieces[#pieces + 1] = piece end)
      local text = table.concat(pieces)
      local function loaded(f, options)
        local state = lucerna.load(f, options)
        local other = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        other:load_state_dict(state.model)
        assert(other(x):equal(net(x)))
        return state
      end
      local state = loaded(text)
      optim.Adam(net:parameters()):load_state_dict(state.optim)
      loaded(nil, {bytes = text, only = {"model"}})
      local at = 0
      loaded(function()
        at = at + 1
        return text:sub(at * 100 - 99, at * 100)
      end)
    ]]
  end)

  it("errors name functions, of a package that came, or lost its parts, later, too", function()
    run [[
      for _, given in ipairs {false, {}, "none"} do
        package = given
        local _, message = pcall(lucerna.autograd.functional.jacobian, 3)
        assert(message:find("jacobian: func must be a function", 1, true), message)
      end
    ]]
  end)

  it("safetensors go to strings and files", function()
    run [[
      local safetensors = lucerna.safetensors
      local bytes = safetensors.save(nn.Linear(2, 3):state_dict(), {format = "pt"})
      local tensors, metadata = safetensors.load(bytes)
      assert(tensors.weight:size(1) == 3 and metadata.format == "pt")
      assert(#safetensors.safe_open{bytes = bytes}:keys() == 2)
      local path = (...) .. "/tests/parity/data/odd.safetensors"
      assert(safetensors.load_file(path).scalar:item() == 2.5)
    ]]
  end)

  it("arrays, images and tables of numbers do", function()
    run [[
      local data, numpy = lucerna.data, lucerna.numpy
      local function text_of(save)
        local pieces = {}
        save(function(piece) pieces[#pieces + 1] = piece end)
        return table.concat(pieces)
      end
      local x = lucerna.arange(12):reshape(3, 2, 2):to(lucerna.uint8)
      local npy = text_of(function(f) numpy.save(f, x) end)
      assert(numpy.load{bytes = npy}:equal(x))
      local npz = text_of(function(f) numpy.savez_compressed(f, {x = x}) end)
      assert(numpy.load{bytes = npz}.x:equal(x))
      assert(data.decode_png(data.encode_png(x)):equal(x))
      local csv = text_of(function(f) data.write_csv(x[1], f) end)
      assert(data.read_csv{bytes = csv, dtype = lucerna.uint8}:equal(x[1]))
      assert(data.read_idx{bytes = "\0\0\x08\1\0\0\0\1a"}[1]:item() == 97)
    ]]
  end)

  it("the other modules load", function()
    run [[
      for _, name in ipairs {"nn", "optim", "autograd", "linalg", "distributions", "func", "models",
        "data", "numpy", "safetensors", "cuda", "summary", "dot"} do
        assert(type(lucerna[name]) == "table" or lucerna[name] ~= nil, name)
      end
      assert(nn.Transformer and nn.functional.relu and nn.utils.prune and nn.init.xavier_normal_)
      local set = lucerna.data.TensorDataset(lucerna.randn(10, 3), lucerna.arange(10))
      for x in lucerna.data.DataLoader{set, batch_size = 5, shuffle = true} do
        assert(x:size(2) == 3)
      end
      assert(not pcall(lucerna.data.MNIST, {root = "/no/such/folder"}))
      assert(tostring(nn.Linear(2, 3)):find "Linear")
    ]]
  end)

  it("a progress bar counts, and shows itself in the host's stream", function()
    run [[
      local progress = require "lucerna.progress"
      local bar = progress(4, {label = "epoch 1"})
      bar:update(2, "loss 1")
      bar:close()
      assert(bar:line():find "^epoch 1   50 %%.* 2/4 .*loss 1$")
      local count = 0
      for _ in progress(lucerna.data.DataLoader{{1, 2, 3}, batch_size = 1}) do count = count + 1 end
      assert(count == 3)
      local text = ""
      local stream = {write = function(_, ...) text = text .. table.concat{...} end,
        flush = function() end}
      progress(4, {stream = stream, shown = true}):update()
      assert(text:find "1/4")
      local ok, message = pcall(progress, 4, {shown = true})
      assert(not ok and message:find "progress: needs io, or a stream to show", message)
    ]]
  end)

  it("help says what is known without the sources", function()
    run [[
      local help = require "lucerna.help"
      assert(help.text("nn.Conv2d"):find "class nn.Conv2d")
      assert(help.text("optim.Adam"):find "optim.Adam")
      assert(help.text(lucerna.nn.utils.clip_grad_norm_):find "clip_grad_norm_")
    ]]
  end)
end)
