-- The API contract, sentence by sentence: names, calls, counting, tensors, optimizers and data,
-- files, errors, the command. What it says of modules is in api_modules_spec.lua.
local lucerna = require "lucerna"
local files = require "files"
local functions = require "functions"
local parity = require "parity"

local nn, F, message = lucerna.nn, lucerna.nn.functional, parity.message

local function list(t) return t:tolist() end

local x = lucerna.tensor { { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.0 } }

describe("names:", function()
  it("submodules hang off lucerna and can be required on their own", function()
    for _, name in ipairs {
      "nn", "nn.functional", "nn.init", "optim", "optim.lr_scheduler", "autograd", "data",
      "safetensors",
    } do
      local value = lucerna
      for part in name:gmatch "[^.]+" do value = value[part] end
      assert.equal(value, require("lucerna." .. name))
    end
  end)

  it("each submodule can be required first, and none sets a global", function()
    local code = 'local b = {} for k in pairs(_G) do b[k] = true end; require(%q) ' ..
      'for k in pairs(_G) do assert(b[k], k) end'
    for _, name in ipairs {
      "lucerna", "lucerna.nn", "lucerna.nn.functional", "lucerna.nn.init", "lucerna.optim",
      "lucerna.optim.lr_scheduler", "lucerna.autograd", "lucerna.data", "lucerna.safetensors",
    } do
      local set = ("package.path, package.cpath = %q, %q "):format(package.path, package.cpath)
      local path = files.with(set .. code:format(name))
      local ok = os.execute((os.getenv "LUCERNA_LUA" or "lua5.4") .. " " .. path)
      assert.is_true(ok, name)
    end
  end)

  it("autograd has the modes too", function()
    for _, mode in ipairs {"no_grad", "enable_grad", "set_grad_enabled", "inference_mode"} do
      assert.equal(lucerna[mode], lucerna.autograd[mode])
    end
  end)

  it("Lua's keywords have other names", function()
    local t = lucerna.tensor { 1, 2 }
    assert.same({ 1, 2, 1, 2 }, list(t:tile(2)))
    assert.same({ 1, 2, 1, 2 }, list(t["repeat"](t, 2)))
    assert.same({ false, true }, list(lucerna.tensor({ true, false }):logical_not()))
  end)

  it("the version has a name", function()
    assert.matches("^lucerna %d+%.%d+%.%d+$", lucerna._VERSION)
  end)
end)

describe("calls:", function()
  it("a trailing table holds keyword arguments", function()
    assert.same({ { 6 }, { 15 } }, list(x:sum(2, { keepdim = true })))
    assert.same({ { 6 }, { 15 } }, list(x:sum { dim = 2, keepdim = true }))
    assert.equal("Linear(in_features=4, out_features=2, bias=True)",
      tostring(nn.Linear { in_features = 4, out_features = 2 }))
    assert.equal("Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1), padding=(2, 2))",
      tostring(nn.Conv2d(1, 20, 5, { padding = 2 })))
  end)

  it("device and dtype come last in order, as PyTorch has them", function()
    local double = lucerna.float64
    assert.equal(double, nn.Linear(4, 2, true, nil, double).weight.dtype)
    assert.equal(double, nn.Conv2d(1, 2, 3, 1, 0, 1, 1, true, "zeros", "cpu", double).weight.dtype)
    assert.equal(double, nn.LayerNorm(4, 1e-5, true, true, nil, double).weight.dtype)
    assert.equal(double, nn.BatchNorm1d(4, 1e-5, 0.1, true, true, nil, double).weight.dtype)
    assert.matches("BatchNorm1d: takes at most 7 arguments %(got 8%)$", -- bias has a name alone
      message(nn.BatchNorm1d, 4, 1e-5, 0.1, true, true, nil, double, false))
  end)

  it("an unknown key is an error that names the closest", function()
    assert.matches("sum: unknown argument 'keepdimm' %(did you mean 'keepdim'%?%)",
      message(x.sum, x, 2, { keepdimm = true }))
    assert.matches("Linear: unknown argument 'out_feature' %(did you mean 'out_features'%?%)",
      message(nn.Linear, { in_features = 1, out_feature = 2 }))
    assert.matches("Conv2d: unknown argument 'pad' %(did you mean 'padding'%?%)",
      message(nn.Conv2d, 1, 2, 3, { pad = 1 }))
    assert.matches("load: unknown argument 'map' %(did you mean 'map_location'%?%)",
      message(lucerna.load, "x", { map = "cpu" }))
    assert.matches("SGD: unknown argument 'lrr' %(did you mean 'lr'%?%)",
      message(lucerna.optim.SGD, { nn.Parameter(x) }, { lrr = 1 }))
    assert.matches("DataLoader: unknown argument 'batch_sze' %(did you mean 'batch_size'%?%)",
      message(lucerna.data.DataLoader, { { 1 }, batch_sze = 4 }))
    assert.matches("MNIST: unknown argument 'trian' %(did you mean 'train'%?%)",
      message(lucerna.data.MNIST, { root = "/", trian = false }))
    assert.matches("load_state_dict: unknown argument 'strct' %(did you mean 'strict'%?%)",
      message(function() nn.ReLU():load_state_dict({}, { strct = false }) end))
  end)

  it("an argument given twice is an error", function()
    assert.matches("sum: argument 'dim' is given twice", message(x.sum, x, 2, { dim = 1 }))
    assert.matches("Linear: argument 'in_features' is given twice",
      message(nn.Linear, 4, { in_features = 4, out_features = 2 }))
  end)

  it("a table of names in the place of one is that parameter", function()
    local l = nn.Linear(1, 1)
    l:load_state_dict { weight = lucerna.ones(1, 1), bias = lucerna.zeros(1) }
    assert.equal(1, l.weight:item())
    assert.equal("ReLU()", tostring(nn.ModuleDict({ a = nn.ReLU() }).a))
    local path = files.temporary()
    lucerna.safetensors.save_file({ w = x }, path, { format = "pt" })
    local tensors, metadata = lucerna.safetensors.load_file(path)
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, list(tensors.w))
    assert.same({ format = "pt" }, metadata)
  end)

  it("sizes go as varargs or one table", function()
    for _, t in ipairs {
      lucerna.zeros(2, 3), lucerna.zeros { 2, 3 }, lucerna.zeros { size = { 2, 3 } },
      lucerna.arange(6):view(2, -1), lucerna.arange(6):view { 2, -1 },
    } do
      assert.same({ 2, 3 }, t.shape)
    end
    assert.equal(lucerna.int64, lucerna.zeros({ 2, 3 }, { dtype = lucerna.int64 }).dtype)
  end)

  it("lucerna.none is None inside a table", function()
    assert.equal(21, x:sum({ dim = lucerna.none }):item())
    assert.equal("AdaptiveAvgPool2d(output_size=(3, None))",
      tostring(nn.AdaptiveAvgPool2d { 3, lucerna.none }))
  end)

  it("a fixed tuple is several results, a list one table", function()
    local values, indices = x:max(2)
    assert.same({ 3, 6 }, list(values))
    assert.same({ 3, 3 }, list(indices))
    assert.equal(2, #lucerna.arange(6):split(4))
    assert.equal(3, #lucerna.arange(6):chunk(3))
    assert.equal(3, #lucerna.arange(3):unbind())
    assert.equal(2, #lucerna.meshgrid(lucerna.arange(2), lucerna.arange(3)))
  end)

  it("function and method are the same", function()
    assert.same(list(x:relu()), list(lucerna.relu(x)))
    assert.same({ 3, 6 }, list((lucerna.max(x, 2))))
  end)
end)

describe("counting:", function()
  local zero = "index 0 is out of range %[1, 3%] %(indices count from 1%)"

  it("0 is refused with the range", function()
    assert.matches("^.*: index 0 is out of range %[1, 10%] %(indices count from 1%)$",
      message(function() return lucerna.arange(10)[0] end))
    local one = lucerna.tensor { 0 }
    for _, f in ipairs {
      function() return x[{ {}, 0 }] end,
      function() return x[{ {}, { 0, 2 } }] end,
      function() return x[{ {}, one }] end,
      function() x[{ 1, 0 }] = 5 end,
      function() return x:select(2, 0) end,
      function() return x:narrow(2, 0, 1) end,
      function() return x:index_select(2, one) end,
      function() return x:gather(2, lucerna.tensor { { 0 }, { 1 } }) end,
      function() return x:scatter(2, lucerna.tensor { { 0 }, { 1 } }, 1) end,
      function() return F.nll_loss(x, lucerna.tensor { 0, 1 }) end,
      function() return F.cross_entropy(x, lucerna.tensor { 0, 1 }) end,
      function() return F.embedding(one, lucerna.ones(3, 2)) end,
      function() return nn.Embedding(3, 2)(one) end,
      function() return nn.Sequential(nn.Embedding(3, 2), nn.ReLU())(one) end,
      function() return nn.EmbeddingBag(3, 2)(one:unsqueeze(1)) end,
    } do
      assert.matches(zero, message(f))
    end
    assert.matches("index 0 is out of range", message(nn.Embedding, 5, 3, { padding_idx = 0 }))
  end)

  it("dims count from 1, and negative ones from the end", function()
    assert.same({ 5, 7, 9 }, list(x:sum(1)))
    assert.same({ 6, 15 }, list(x:sum(-1)))
    assert.same({ 2, 1, 3 }, x:unsqueeze(2).shape)
    assert.same({ 3, 2 }, x:transpose(1, 2).shape)
    assert.same({ 3, 2 }, x:permute(2, 1).shape)
    assert.matches("sum: dim 0 is out of range %[%-2, 2%] %(dims count from 1%)",
      message(x.sum, x, 0))
  end)

  it("results that are positions count from 1", function()
    local t = lucerna.tensor { 30.0, 10.0, 20.0 }
    assert.equal(1, t:argmax():item())
    assert.same({ 2, 3, 1 }, list(t:argsort()))
    assert.same({ 2, 3, 1 }, list(select(2, t:sort())))
    assert.same({ 1, 3 }, list(select(2, t:topk(2))))
    assert.same({ { 2 }, { 3 } }, list(lucerna.tensor({ 0, 1, 2 }):nonzero()))
    assert.same({ 2 }, list(lucerna.searchsorted(lucerna.tensor { 1, 3, 5 },
      lucerna.tensor { 3 })))
    for _, dtype in ipairs { lucerna.int64, lucerna.int32, lucerna.float32 } do
      local order = lucerna.randperm(5, { dtype = dtype })
      assert.same({ 1, 2, 3, 4, 5 }, list(order:sort():to(lucerna.int64)))
    end
    local order = lucerna.empty(5, { dtype = lucerna.int64 })
    lucerna.randperm(5, { out = order })
    assert.same({ 1, 2, 3, 4, 5 }, list((order:sort())))
    for _, dtype in ipairs { lucerna.int64, lucerna.int32 } do
      local options = { dtype = dtype }
      assert.same({ { 1, 1, 2 }, { 1, 2, 2 } }, list(lucerna.triu_indices(2, 2, 0, options)))
      assert.same({ { 1, 2, 2 }, { 1, 1, 2 } }, list(lucerna.tril_indices(2, 2, 0, options)))
    end
    assert.same({ 1, 1 }, list(select(2, x:min(2))))
    assert.same({ 6, 8 }, list(select(2, F.max_pool2d(lucerna.arange(8.0):view(1, 1, 2, 4), 2,
      { return_indices = true })):flatten()))
  end)

  it("gather, scatter and index_select take positions from 1", function()
    assert.same({ { 1, 3 }, { 5, 5 } }, list(x:gather(2, lucerna.tensor { { 1, 3 }, { 2, 2 } })))
    assert.same({ { 7, 0 }, { 0, 7 } },
      list(lucerna.zeros(2, 2):scatter(2, lucerna.tensor { { 1 }, { 2 } }, 7)))
    assert.same({ { 3, 1 }, { 6, 4 } }, list(x:index_select(2, lucerna.tensor { 3, 1 })))
  end)

  it("targets, ignore_index, ids and padding_idx do", function()
    local logits = lucerna.tensor { { 0.0, 0.0, 100.0 }, { 100.0, 0.0, 0.0 } }
    assert.equal(0, F.cross_entropy(logits, lucerna.tensor { 3, 1 }):item())
    assert.equal(0, F.cross_entropy(logits, lucerna.tensor { 3, 2 }, { ignore_index = 2 }):item())
    assert.equal(0, F.cross_entropy(logits, lucerna.tensor { 3, -100 }):item())
    assert.same({ { 0, 1 }, { 1, 0 } },
      list(F.embedding(lucerna.tensor { 2, 1 }, lucerna.eye(2))))
    local e = nn.Embedding(5, 3, { padding_idx = -1 })
    assert.equal(5, e.padding_idx)
    assert.same({ 0, 0, 0 }, list(e.weight[5]))
    assert.equal("Embedding(5, 3, padding_idx=1)", tostring(nn.Embedding(5, 3, 1)))
  end)

  it("values that are only numbers are PyTorch's", function()
    assert.same({ 0, 1, 2 }, list(lucerna.arange(3)))
    assert.same({ 2, 6 }, list(x:diagonal(1)))
    assert.same({ { 1, 2, 0 }, { 4, 5, 6 } }, list(x:tril(1)))
    assert.equal(0, lucerna.randint(1, { 1 }):item())
  end)
end)

describe("tensors:", function()
  it("take Lua's number subtypes", function()
    assert.equal(lucerna.int64, lucerna.tensor(5).dtype)
    assert.equal(lucerna.float32, lucerna.tensor(5.0).dtype)
    assert.equal(lucerna.bool, lucerna.tensor(true).dtype)
    assert.equal(lucerna.float32, lucerna.tensor({ 1, 2.5 }).dtype)
    assert.equal(lucerna.float16, lucerna.tensor({ 1 }, { dtype = lucerna.float16 }).dtype)
    assert.is_true(lucerna.tensor({ 1.0 }, { requires_grad = true }).requires_grad)
  end)

  it("promote types as PyTorch does", function()
    local i8, u8 = lucerna.ones(1, { dtype = lucerna.int8 }), lucerna.ones(1, { dtype = "uint8" })
    assert.equal(lucerna.int16, (i8 + u8).dtype)
    assert.equal(lucerna.float32, (i8 / 2).dtype)
    assert.equal(lucerna.float32, (lucerna.tensor(1) + 1.5).dtype)
    assert.equal(lucerna.float32, (i8:half() + i8:bfloat16()).dtype)
  end)

  it("have fields, three of which can be assigned", function()
    local w = lucerna.ones(2, { requires_grad = true })
    local y = w * 2
    assert.same({ 2 }, w.shape)
    assert.equal("cpu", tostring(w.device))
    assert.is_true(w.is_leaf)
    assert.is_false(y.is_leaf)
    assert.equal("MulBackward0", tostring(y.grad_fn))
    y:sum():backward()
    assert.same({ 2, 2 }, list(w.grad))
    w.grad = nil
    assert.is_nil(w.grad)
    w.data = lucerna.zeros(2)
    assert.same({ 0, 0 }, list(w))
    assert.is_false(w.data.requires_grad)
    w.requires_grad = false
    assert.is_false(w.requires_grad)
  end)

  it("tell their sizes", function()
    assert.same({ 2, 3 }, x:size())
    assert.equal(2, x:size(1))
    assert.equal(2, #x)
    assert.equal(2, x:dim())
    assert.equal(6, x:numel())
    assert.same({ 3, 1 }, x:stride())
  end)

  it("give Lua values", function()
    assert.equal("integer", math.type(lucerna.tensor(3):item()))
    assert.equal("float", math.type(lucerna.tensor(3.0):item()))
    assert.is_true(lucerna.tensor(true):item())
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, x:tolist())
  end)

  it("are indexed in every form", function()
    local t = lucerna.arange(10)
    assert.same({ 4, 5, 6 }, list(x[2]))
    assert.same({ 4, 5, 6 }, list(x[-1]))
    assert.same({ 4, 6 }, list(x[{ 2, { 1, 3, 2 } }]))
    assert.same({ 1, 2, 3 }, list(t[{ { 2, 4 } }]))
    assert.same({ 7, 8, 9 }, list(t[{ { -3, -1 } }]))
    assert.same({ 3, 6 }, list(x[{ {}, 3 }]))
    assert.same({ 4, 5, 6 }, list(x[x:gt(3)]))
    assert.same({ { 4, 5, 6 }, { 1, 2, 3 } }, list(x[lucerna.tensor { 2, 1 }]))
  end)

  it("are assigned to in the same forms, and views are views", function()
    local t = lucerna.zeros(2, 3)
    t[1] = 1
    t[{ {}, 1 }] = 2
    t[{ 2, { 2, 3 } }] = lucerna.tensor { 8.0, 9.0 }
    assert.same({ { 2, 1, 1 }, { 2, 8, 9 } }, list(t))
    t[t:gt(5)] = -1
    t[lucerna.tensor { 1 }] = 0
    assert.same({ { 0, 0, 0 }, { 2, -1, -1 } }, list(t))
    t[2]:fill_(7)
    assert.same({ 7, 7, 7 }, list(t[2]))
  end)

  it("have operators with numbers on either side", function()
    local t = lucerna.tensor { 7.0 }
    for expected, result in pairs {
      [9] = t + 2, [10] = 3 + t, [5] = t - 2, [-5] = 2 - t, [14] = t * 2, [21] = 3 * t,
      [3.5] = t / 2, [2] = 14 / t, [3] = t // 2, [1] = t % 2, [49] = t ^ 2, [128] = 2 ^ t,
      [-7] = -t, [4] = 29 // t, [6] = 13 % t,
    } do
      assert.equal(expected, result:item())
    end
    assert.same({ true }, list(t:eq(7)))
    assert.matches("use x:lt%(y%)", message(function() return t < t end))
  end)

  it("print as PyTorch does", function()
    assert.equal("tensor([[1., 2., 3.],\n        [4., 5., 6.]])", tostring(x))
    assert.equal("tensor([1., 1.], grad_fn=<MulBackward0>)",
      tostring(lucerna.ones(2, { requires_grad = true }) * 1))
  end)

  it("can be released at once, or with a block or a scope", function()
    local t = lucerna.ones(2)
    t:release()
    assert.matches("a released tensor", message(t.sum, t))
    local kept
    do
      local u <close> = lucerna.ones(2)
      kept = u
    end
    assert.equal("tensor(released)", tostring(kept))
    local inside
    local out, number = lucerna.scope(function()
      inside = lucerna.ones(2)
      return inside * 2, 5
    end)
    assert.same({ 2, 2 }, list(out))
    assert.equal(5, number)
    assert.equal("tensor(released)", tostring(inside))
    assert.matches("scope: f must be a function %(got number%)", message(lucerna.scope, 3))
  end)
end)

describe("recording:", function()
  local modes = {
    no_grad = false, enable_grad = true, inference_mode = false,
  }
  for name, records in pairs(modes) do
    it(name .. " is a function and a block", function()
      local before = lucerna.is_grad_enabled()
      assert.equal(records, (lucerna[name](function(a)
        return (a * 2).requires_grad
      end, lucerna.ones(1, { requires_grad = true }))))
      do
        local _ <close> = lucerna[name]()
        assert.equal(records, lucerna.is_grad_enabled())
      end
      assert.equal(before, lucerna.is_grad_enabled())
      assert.matches(name .. ": f must be a function %(got number%)", message(lucerna[name], 3))
    end)
  end

  it("set_grad_enabled is either of the two", function()
    assert.is_false(lucerna.set_grad_enabled(false, lucerna.is_grad_enabled))
    do
      local _ <close> = lucerna.set_grad_enabled(false)
      assert.is_false(lucerna.is_grad_enabled())
    end
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("backward takes a gradient and options", function()
    local w = lucerna.ones(2, { requires_grad = true })
    local y = w * w
    y:backward(lucerna.tensor { 1.0, 2.0 }, { retain_graph = true })
    y:backward(lucerna.tensor { 1.0, 2.0 })
    assert.same({ 4, 8 }, list(w.grad))
    assert.matches("backward: .*second time", message(y.backward, y, lucerna.ones(2)))
  end)

  it("autograd.grad gives one result per input", function()
    local a = lucerna.tensor({ 2.0 }, { requires_grad = true })
    local b = lucerna.tensor({ 3.0 }, { requires_grad = true })
    local da, db = lucerna.autograd.grad((a * b):sum(), { a, b }, { create_graph = true })
    assert.equal(3, da:item())
    assert.equal(2, db:item())
    assert.equal(1, lucerna.autograd.grad(da:sum(), b):item())
  end)

  it("hooks change gradients, retain_grad keeps them", function()
    local w = lucerna.ones(1, { requires_grad = true })
    local handle = w:register_hook(function(g) return g * 10 end)
    local y = w * 2
    y:retain_grad()
    y:sum():backward()
    assert.equal(20, w.grad:item())
    assert.equal(1, y.grad:item())
    handle:remove()
    local again = w * 2
    again:sum():backward()
    assert.equal(22, w.grad:item())
  end)

  it("functions can be written in Lua", function()
    local w = lucerna.zeros(1, { requires_grad = true })
    local y = functions.Exp.apply(w)
    assert.equal("tensor([1.], grad_fn=<ExpBackward>)", tostring(y))
    y:sum():backward()
    assert.equal(1, w.grad:item())
  end)

  it("a function's wrong number of gradients is refused at the caller's line", function()
    local Bad = lucerna.autograd.Function("Bad", {
      forward = function(_, t) return t * 1 end,
      backward = function(_, g) return g, g end,
    })
    local w = lucerna.zeros(1, { requires_grad = true })
    assert.matches("^[^\n]*api_spec.lua:%d+: BadBackward: returned an incorrect number of " ..
      "gradients %(expected 1, got 2%)", message(function() Bad.apply(w):sum():backward() end))
    assert.is_nil(w.grad)
  end)

  it("an in-place operator on a leaf is named with its _", function()
    local w = lucerna.ones(1, { requires_grad = true })
    assert.matches("add_: a leaf Variable", message(w.add_, w, 1))
    assert.matches("zero_: a leaf Variable", message(w.zero_, w))
    assert.equal(1, w:item())
  end)

  it("seeds give PyTorch's numbers", function()
    lucerna.manual_seed(42)
    assert.matches("^0.88226", tostring(lucerna.rand(2)[1]:item()))
    lucerna.manual_seed(42)
    assert.matches("^0.33669", tostring(lucerna.randn(2)[1]:item()))
  end)

  it("threads and clock", function()
    local n = lucerna.get_num_threads()
    lucerna.set_num_threads(1)
    assert.equal(1, lucerna.get_num_threads())
    lucerna.set_num_threads(n)
    assert.matches("set_num_threads", message(lucerna.set_num_threads, 0))
    assert.matches("got %-5$", message(lucerna.set_num_threads, -5))
    local t = lucerna.clock()
    assert.equal("float", math.type(t))
    assert.is_true(lucerna.clock() >= t)
  end)
end)

describe("optimizers:", function()
  local optim = lucerna.optim

  it("take an iterator, an array or groups", function()
    local m = nn.Linear(2, 1)
    assert.equal(2, #optim.SGD(m:parameters(), { lr = 0.1 }).param_groups[1].params)
    assert.equal(1, #optim.SGD({ m.bias }, { lr = 0.1 }).param_groups[1].params)
    local o = optim.Adam({ { params = { m.weight }, lr = 0.3 }, { params = { m.bias } } })
    assert.equal(0.3, o.param_groups[1].lr)
    assert.equal(0.001, o.param_groups[2].lr)
    assert.same({ 0.9, 0.999 }, o.param_groups[1].betas)
  end)

  it("refuse what holds no parameters, at the caller's line", function()
    local m = nn.Linear(2, 1)
    for _, wrong in ipairs { m, m.weight, "weights", 3 } do
      assert.matches("^[^\n]*api_spec.lua:%d+: SGD: params should be an iterator",
        message(function() optim.SGD(wrong, { lr = 1 }) end))
    end
    assert.matches("SGD: params must be an iterator or a table of tensors %(got the method "
      .. "'parameters': write net:parameters%(%)%)", message(optim.SGD, m.parameters))
    assert.matches("clip_grad_norm_: parameters must be .*'named_parameters'",
      message(nn.utils.clip_grad_norm_, m.named_parameters, 1))
    assert.matches("empty parameter list", message(optim.SGD, {}, { lr = 1 }))
    assert.matches("SGD: missing argument 'params'", message(optim.SGD))
    assert.matches("^[^\n]*api_spec.lua:%d+: StepLR: optimizer must be an Optimizer",
      message(function() optim.lr_scheduler.StepLR(3, 2) end))
  end)

  it("step with a closure, and read their groups at each step", function()
    local p = nn.Parameter(lucerna.ones(1))
    local o = optim.SGD({ p }, { lr = 0.5 })
    local function closure()
      o:zero_grad()
      local loss = (p * 2):sum()
      loss:backward()
      return loss
    end
    assert.equal(2, o:step(closure):item())
    assert.equal(0, p:item())
    o.param_groups[1].lr = 1
    o:step(closure)
    assert.equal(-2, p:item())
    o:zero_grad()
    assert.is_nil(p.grad)
  end)

  it("have PyTorch's state dicts, with ids from 0", function()
    local m = nn.Linear(2, 1)
    local o = optim.Adam(m:parameters(), { lr = 0.3 })
    m(lucerna.ones(1, 2)):sum():backward()
    o:step()
    local dict = o:state_dict()
    assert.same({ 0, 1 }, dict.param_groups[1].params)
    assert.equal(1, dict.state[0].step:item())
    assert.same({ 1, 2 }, dict.state[0].exp_avg.shape)
    local other = optim.Adam(m:parameters())
    other:load_state_dict(dict)
    assert.equal(0.3, other.param_groups[1].lr)
    assert.equal(1, other:state_dict().state[1].step:item())
  end)
end)

describe("data:", function()
  local data = lucerna.data
  local set = data.TensorDataset(lucerna.arange(10.0), lucerna.arange(10))

  it("a loader makes batches in a generic for", function()
    local sizes = {}
    for a, b in data.DataLoader { set, batch_size = 4 } do
      assert.same(list(a), list(b:float()))
      sizes[#sizes + 1] = #a
    end
    assert.same({ 4, 4, 2 }, sizes)
    local seen = {}
    for a in data.DataLoader(set, { batch_size = 4, shuffle = true, drop_last = true }) do
      for _, v in ipairs(list(a)) do seen[v] = (seen[v] or 0) + 1 end
    end
    for _, count in pairs(seen) do assert.equal(1, count) end
  end)

  it("positions in a data set count from 1", function()
    assert.equal(10, #set)
    assert.equal(0, set[1][1]:item())
    assert.matches("index 0 is out of range %[1, 10%] %(indices count from 1%)",
      message(function() return set[0] end))
  end)
end)

describe("files:", function()
  local safetensors = lucerna.safetensors

  it("state dicts go through safetensors and back", function()
    local m, path = nn.Linear(2, 1), files.temporary()
    safetensors.save_file(m:state_dict(), path)
    local other = nn.Linear(2, 1)
    other:load_state_dict((safetensors.load_file(path)))
    assert.same(list(m.weight), list(other.weight))
  end)

  it("a save that fails leaves what was there", function()
    local path = files.temporary()
    safetensors.save_file({ w = x }, path)
    assert.matches("save_file: tensors: 'v'", message(safetensors.save_file, { v = 3 }, path))
    assert.same({ 2, 3 }, safetensors.load_file(path).w.shape)
    assert.matches("/nowhere/x", message(safetensors.save_file, { w = x }, "/nowhere/x"))
  end)
end)

describe("errors:", function()
  it("of functions in C name them, also in PyTorch's words", function()
    local m = nn.Linear(1, 1)
    for text, call in pairs {
      ['register_buffer: buffer name can\'t contain "."'] = { m.register_buffer, m, "a.b", x },
      ["register_parameter: cannot assign 'Tensor'"] = { m.register_parameter, m, "p", x },
      ["add_module: number is not a Module subclass"] = { m.add_module, m, "child", 3 },
      ["get_submodule: Linear has no attribute `a`"] = { m.get_submodule, m, "a" },
      ["get_buffer: `weight` is not a buffer"] = { m.get_buffer, m, "weight" },
      ["Parameter: only Tensors of floating point"] = { nn.Parameter, lucerna.tensor { 1 } },
    } do parity.refused(text, table.unpack(call)) end
  end)

  it("name function, argument, what was expected and given, and shapes", function()
    assert.matches("^[^\n]*api_spec.lua:%d+: linear: input has 5 features, weight expects 4 " ..
      "%(input %[3, 5%], weight %[2, 4%]%)$",
      message(function() return F.linear(lucerna.ones(3, 5), lucerna.ones(2, 4)) end))
    assert.matches("Linear: out_features must be an integer %(got string 'x'%)",
      message(nn.Linear, 4, "x"))
    assert.matches("Linear: missing argument 'out_features'", message(nn.Linear, 4))
    assert.matches("Linear: weight: trying to create tensor with negative dimension %-4",
      message(nn.Linear, -4, 2))
    assert.matches("Linear: out of memory", message(nn.Linear, 10 ^ 7, 10 ^ 7))
    assert.matches("Embedding: a tensor of shape [^\n]* is larger than any memory",
      message(nn.Embedding, 2 ^ 50, 2 ^ 50))
    assert.matches("normal_: tensor must be a Tensor %(got number%)",
      message(nn.init.normal_, 3))
  end)

  it("point at the caller's line, also from Lua code of ours", function()
    local r
    for _, f in ipairs {
      function() r = x:sum(7) end,
      function() r = nn.init.eye_(lucerna.ones(2)) end,
      function() r = lucerna.no_grad(3) end,
      function() r = lucerna.data.TensorDataset(x, lucerna.ones(3)) end,
      function() r = nn.Sequential(3) end,
      function() r = nn.ReLU():load_state_dict(3) end,
    } do
      local line = debug.getinfo(f, "S").linedefined
      assert.matches("^[^\n]*api_spec.lua:" .. line .. ": [^\n]*$", message(f))
    end
    assert.is_nil(r)
  end)

  it("leave nothing half-changed", function()
    local t = lucerna.zeros(3)
    message(t.scatter_, t, 1, lucerna.tensor { 1, 4 }, 5)
    message(t.index_add_, t, 1, lucerna.tensor { 1, 4 }, lucerna.ones(2))
    message(t.index_fill_, t, 1, lucerna.tensor { 1, 4 }, 5)
    message(t.add_, t, lucerna.ones(4))
    message(function() t[lucerna.tensor { 1, 4 }] = 5 end)
    assert.same({ 0, 0, 0 }, list(t))
  end)
end)
