-- The prompt's pure parts: when a chunk is complete, what a value looks like, what Tab offers; and
-- the loop itself over a terminal made of two tables.
local lucerna = require "lucerna"
local repl = require "lucerna.repl"

-- A terminal that reads the given lines and collects what is shown.
local function run(lines)
  local at, shown, remembered = 0, {}, {}
  local terminal = {
    readline = function() at = at + 1 return lines[at] end,
    remember = function(text) remembered[#remembered + 1] = text end,
    set_completer = function() end,
    close = function() end,
    call = function(handler, f, ...) return xpcall(f, handler, ...) end,
    write = function(text) shown[#shown + 1] = text end,
  }
  repl.start(terminal)
  table.remove(shown, 1) -- the banner
  return table.concat(shown), remembered
end

describe("a chunk", function()
  it("is an expression where it can be", function()
    assert.equal(3, repl.compile("1 + 2")())
    assert.equal(3, repl.compile("= 1 + 2")())
    assert.same({1, 2}, {repl.compile("1, 2")()})
  end)

  it("is a statement otherwise", function()
    local env = {}
    repl.compile("x = 5", env)()
    assert.equal(5, env.x)
  end)

  it("keeps a local that begins it", function()
    local env = {}
    repl.compile("local x, y = 1, 2", env)()
    repl.compile("local function f() return x + y end", env)()
    assert.equal(3, repl.compile("f()", env)())
    repl.compile("do local z = 1 end local x = 5", env)()
    repl.compile("local z <const> = 1", env)()
    assert.is_nil(env.z)
    assert.equal(1, env.x)
  end)

  it("may need more lines", function()
    local texts = {"for i = 1, 2 do", "f(", "x = {1,", "if a then", "function f()", "[[a", "x +",
      "a.b ..", "x == 1 and"}
    for _, text in ipairs(texts) do
      local f, _, incomplete = repl.compile(text)
      assert.is_nil(f)
      assert.is_true(incomplete, text)
    end
  end)

  it("is wrong when no more lines can help", function()
    for _, text in ipairs {"x = = 1", "end", "1 +* 2", "for 1"} do
      local f, message, incomplete = repl.compile(text)
      assert.is_nil(f)
      assert.is_false(incomplete, text)
      assert.matches("^stdin:1: ", message)
    end
  end)
end)

describe("a result", function()
  it("is shown by tostring", function()
    assert.equal("5", repl.show(5))
    assert.equal("nil", repl.show(nil))
    assert.equal("text", repl.show("text"))
    assert.equal("tensor([1., 1.])", repl.show(lucerna.ones(2)))
  end)

  it("is shown one level deep when it is a table", function()
    assert.equal("{}", repl.show {})
    assert.equal('{1, "two", {…}, [1.5] = true, ["a b"] = 1, k = {}}',
      repl.show {1, "two", {3}, k = {}, [1.5] = true, ["a b"] = 1})
    assert.equal("{Tensor [2, 3]}", repl.show {lucerna.zeros(2, 3)})
    assert.equal('{"a\\n\\"b\\""}', repl.show {'a\n"b"'})
  end)

  it("is shown on several lines when it is long, and not whole when it is very long", function()
    local t = {}
    for i = 1, 40 do t[i] = 1000 + i end
    local text = repl.show(t)
    assert.matches("^{\n  1001,\n  1002,", text)
    assert.matches("  1030,\n  … %(10 more%)\n}$", text)
  end)

  it("is shown by __tostring when it has one", function()
    assert.equal("mine", repl.show(setmetatable({1}, {__tostring = function() return "mine" end})))
  end)
end)

describe("completion", function()
  local env = {lucerna = lucerna, x = lucerna.ones(2), list = {{deep = 1, deer = 2}}, lonely = 1,
    text = "s"}

  it("offers globals and keywords", function()
    assert.same({"list", "local", "lonely", "lucerna"}, (repl.candidates("print(l", env)))
    assert.equal("cal", (repl.complete("1 + lo", {locale = 1})))
  end)

  it("inserts what all candidates share and lists them then", function()
    assert.equal("p", (repl.complete("list[1].dee", {list = {{deep = 1}}})))
    local insertion, listing = repl.complete("list[1].dee", env)
    assert.is_nil(insertion)
    assert.equal("deep  deer", listing)
    assert.equal("ee", (repl.complete("list[1].d", env)))
  end)

  it("offers functions and submodules of the library", function()
    assert.equal("v2d", (repl.complete("y = lucerna.con", {lucerna = {conv2d = 1}})))
    assert.same({"safetensors"}, (repl.candidates("lucerna.safe", env)))
    assert.same({"DataLoader", "Dataset"}, (repl.candidates("lucerna.data.Da", env)))
  end)

  it("offers methods and fields of tensors, methods alone after a colon", function()
    assert.same({"shape", "short"}, (repl.candidates("x.sh", env)))
    assert.same({"short"}, (repl.candidates("x:sh", env)))
    assert.same({"uniform_"}, (repl.candidates("lucerna.nothing, x:unif", env)))
    assert.same({"gmatch", "gsub"}, (repl.candidates("text:g", env)))
  end)

  it("offers layers and submodules that are loaded when asked for", function()
    assert.same({"PixelShuffle", "PixelUnshuffle"}, (repl.candidates("lucerna.nn.Pix", env)))
    assert.same({"functional"}, (repl.candidates("lucerna.nn.func", env)))
    assert.same({"lr_scheduler"}, (repl.candidates("lucerna.optim.lr", env)))
  end)

  it("offers children, parameters, fields and methods of modules", function()
    local nn = lucerna.nn
    local Net = nn.class "Net"
    function Net:__init()
      self.layer = nn.Linear(2, 2)
      self.layers = nn.Sequential(nn.ReLU())
      self.lambda = 5
    end
    function Net:laugh() return self end
    local scope = {net = Net(), Net = Net, nn = nn}
    assert.same({"lambda", "laugh", "layer", "layers"}, (repl.candidates("net.la", scope)))
    assert.same({"laugh"}, (repl.candidates("net:la", scope)))
    assert.same({"weight"}, (repl.candidates("net.layer.we", scope)))
    assert.same({"register_forward_hook", "register_forward_pre_hook"},
      (repl.candidates("net:register_forw", scope)))
    assert.same({"laugh"}, (repl.candidates("Net.la", scope)))
    assert.same({"inplace"}, (repl.candidates("net.layers[1].inp", scope)))
  end)

  it("offers what stands in nested modules, and does not read properties for it", function()
    local nn = lucerna.nn
    local Net = nn.class "Net"
    Net.wealth = nn.property(function() error "was read" end)
    local net = nn.Sequential(Net(), nn.Linear(1, 1))
    net[1].wide, net[1].empty, net[1].wet = nn.Sequential(nn.Conv2d(1, 1, 1)), nn.ReLU(), false
    net[1].wait = function() end
    net[1].empty = nil
    local scope = {net = net}
    assert.same({"weight"}, (repl.candidates("y = net[1].wide[1].we", scope)))
    assert.same({"wait", "wealth", "wet", "wide"}, (repl.candidates("net[1].w", scope)))
    assert.same({"wait"}, (repl.candidates("net[1]:w", scope)))
    assert.same({"empty"}, (repl.candidates("net[1].em", scope)))
    assert.same({"weight"}, (repl.candidates("print(net[-1].we", scope)))
    assert.same({"in_features"}, (repl.candidates("net[2].in_f", scope)))
  end)

  it("says nothing where it knows nothing", function()
    assert.is_nil(repl.complete("a.b.c", env))
    assert.is_nil(repl.complete("f().x", env))
    assert.is_nil(repl.complete("'a'..lon.x", env))
    assert.is_nil(repl.complete("x.shape.y.z", env))
  end)

  it("indents a blank line", function()
    assert.equal("  ", repl.complete("", env))
    assert.equal("  ", repl.complete("  ", env))
  end)
end)

describe("the loop", function()
  it("shows results, keeps globals and reads chunks of several lines", function()
    local shown, remembered = run {"repl_x = 2", "repl_x + 1", "for i = 1, 2 do",
      "repl_x = repl_x * 3", "end", "repl_x", "", "1, nil"}
    assert.equal("3\n18\n1\nnil\n", shown)
    assert.equal("for i = 1, 2 do\nrepl_x = repl_x * 3\nend", remembered[3])
    assert.equal(5, #remembered)
  end)

  it("says what is wrong in one line, with a traceback only when it comes from deeper", function()
    assert.equal("stdin:1: a\n", run {"error 'a'"})
    assert.equal("stdin:1: unexpected symbol near '='\n", run {"x = = 1"})
    assert.equal("stdin:1: Adam: unknown argument 'lrr' (did you mean 'lr'?)\n",
      run {"optim.Adam({}, {lrr = 1})"})
    assert.equal("stdin:1: StepLR: Expected positive integer step_size, but got nil\n",
      run {"optim.lr_scheduler.StepLR(optim.SGD(nn.Linear(1, 1):parameters()))"})
    local text = run {"function repl_f() error 'deep' end", "repl_f() repl_f()"}
    assert.matches("^stdin:1: deep\n\tstdin:1: in function 'repl_f'\n$", text)
    assert.equal("(error object is a table value)\n", run {"error {}"})
  end)

  it("gives a chunk up when Ctrl-C is typed or the input ends", function()
    assert.equal("7\n", run {"for i = 1, 2 do", false, "7"})
    assert.matches("expected", run {"for i = 1, 2 do"})
  end)

  it("answers help, too, with what help is", function()
    assert.matches("^help%(x%) explains a function, class", (run {"help"}))
  end)

  it("has the library at hand", function()
    local line = "lucerna.nn == nn and nn.functional == F and lucerna.optim == optim"
    assert.equal("true\n", (run {line}))
  end)
end)

describe("help", function()
  local help = require "lucerna.help"

  it("gives an operator's schemas and names", function()
    local text = help.text(lucerna.sum)
    assert.matches("^lucerna.sum, tensor:sum\n  sum%(Tensor", text)
    assert.matches("count from 1", text)
    assert.equal(text, help.text "sum")
    assert.equal(text, help.text "lucerna.sum")
    assert.equal(text, help.text "torch.sum")
    assert.equal(help.text "lucerna", help.text "torch")
    assert.equal(text, help.text "tensor:sum")
    assert.matches("writes its first argument", help.text "tensor:add_")
  end)

  it("gives the comment above what is written in Lua", function()
    local text = help.text(lucerna.no_grad)
    assert.matches("^lucerna.no_grad\n", text)
    assert.matches("without recording", text)
  end)

  it("shows once how something is called, without the names of our own files", function()
    assert.matches("^lucerna.no_grad\n  no_grad%(f, %.%.%.%) runs f without", help.text "no_grad")
    assert.matches("^lucerna.save\n  save%(object, f%) writes", help.text "save")
    assert.matches("\n  get_autocast_dtype%(device_type%)\n", help.text "get_autocast_dtype")
  end)

  it("lists the methods of a class, those of its parents too", function()
    assert.matches("\n  add_param_group .* step zero_grad$", help.text(lucerna.optim.SGD))
    assert.matches(" rsample sample\n", help.text "distributions.Normal")
  end)

  it("names the others that a text is about", function()
    assert.matches("\n  max, min:\n  The largest %(smallest%)", help.text "min")
    assert.matches("\n  erf, erfc, erfinv:\n", help.text "special.erfc")
    assert.matches("Tensor\n  max%(0, x%);", help.text "nn.ReLU")
  end)

  it("lists a submodule", function()
    assert.matches("DataLoader", help.text(lucerna.data))
    assert.equal(help.text(lucerna.nn.functional), help.text "F")
  end)

  it("gives a class's schemas, and a module's class", function()
    local nn = lucerna.nn
    assert.matches("^class nn.Linear %(a Module%)\n  Linear%(int in_features, int out_features,",
      help.text(nn.Linear))
    assert.matches("\n  forward%(Tensor input%) %-> Tensor", help.text(nn.Linear))
    assert.matches("^ReLU%(%)\nclass nn.ReLU", help.text(nn.ReLU()))
    assert.equal("class Mine (a Linear)", (help.text(nn.class("Mine", nn.Linear)):match "^[^\n]*"))
    assert.matches("after forward", help.text "nn.Module.register_forward_hook")
  end)

  it("says what a tensor's fields are, and what a loader is", function()
    assert.matches("^tensor.grad\n.*\n  The gradient that backward added", help.text "tensor.grad")
    local loader = lucerna.data.DataLoader{lucerna.data.TensorDataset(lucerna.ones(2))}
    assert.matches("^DataLoader.*\ndata.DataLoader\n  DataLoader%(dataset, ", help.text(loader))
    assert.equal("dtype: float32", help.text(lucerna.float32))
  end)

  it("gives the comment where a thing made by a call is named", function()
    assert.matches("^optim.Adam\n  Adam%(Any params, float lr=1e%-3.*\n  Adam: lr",
      help.text(lucerna.optim.Adam))
    assert.matches("^nn.init.xavier_uniform_\n  xavier_uniform_%(", help.text "xavier_uniform_")
    assert.matches("^data.MNIST\n  Handwritten digits", help.text(lucerna.data.MNIST))
  end)

  it("admits what it does not know", function()
    assert.equal("nothing is called 'nonsense'", help.text "nonsense")
    assert.equal("nothing is called 'nn.linear' (did you mean 'nn.Linear'?)",
      help.text "nn.linear")
    assert.equal("nothing is called 'batch_norm_2d' (did you mean 'nn.BatchNorm2d'?)",
      help.text "batch_norm_2d")
    assert.matches("^number: 5", help.text(5))
    assert.matches("no documentation", help.text(print))
  end)
end)
