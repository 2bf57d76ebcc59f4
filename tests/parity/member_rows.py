"""The rows of gen_members.py: a name, Lua, Python. The last line of Lua is after `return`, that of
Python an expression; results count as Lua's do."""

PRINTED = {
    "x": "torch.arange(12.0).view(3, 4) / 7", "w": "torch.tensor([0.001, 12345.6, 7.0])",
    "i": "torch.arange(2000).view(20, 100)", "z": "torch.zeros(2)", "n": "torch.tensor([1.0, 1e9])",
    "v": "torch.arange(30.0) / 9", "s": "torch.tensor([1.5, float('nan'), -2.0, float('inf')])",
}
OPTIONS = [
    {"precision": 2}, {"precision": 0}, {"precision": 10}, {"sci_mode": True}, {"sci_mode": False},
    {"linewidth": 40}, {"linewidth": 5}, {"edgeitems": 1, "threshold": 5}, {"threshold": 20},
    {"edgeitems": 2, "linewidth": 30, "threshold": 10}, {"profile": "short"},
    {"precision": 3, "sci_mode": True, "linewidth": 50}, {"profile": "short", "precision": 6},
]


def printed(options):
    """A row: all tensors of PRINTED with these options."""
    python = ", ".join("%s=%r" % item for item in options.items())
    text = "torch.set_printoptions(%s)\ntexts = [repr(t) for t in (%s)]\n" % (
        python, ", ".join(PRINTED.values()))
    text += "torch.set_printoptions(profile='default')\ntexts"
    words = {True: "true", False: "false"}
    lua = "lucerna.set_printoptions{%s} local texts = printed() " % ", ".join(
        "%s = %s" % (k, words[v] if isinstance(v, bool) else '"%s"' % v if isinstance(v, str)
                     else v) for k, v in options.items())
    return ("set_printoptions", lua + "lucerna.set_printoptions{profile = 'default'} return texts",
            text)


ROWS = [
    # creation
    ("tensor", "return lucerna.tensor({{1, 2}, {3, 4}})", "torch.tensor([[1, 2], [3, 4]])"),
    ("tensor", "return lucerna.tensor({1, 2.5})", "torch.tensor([1, 2.5])"),
    ("tensor", "return lucerna.tensor(true)", "torch.tensor(True)"),
    ("tensor", "return lucerna.tensor({})", "torch.tensor([])"),
    ("as_tensor", "return lucerna.as_tensor({1, 2}, {dtype = lucerna.float64})",
     "torch.as_tensor([1, 2], dtype=torch.float64)"),
    ("as_tensor", "return lucerna.as_tensor(x) == x", "torch.as_tensor(x) is x"),
    ("empty", "return lucerna.empty(2, 3).shape", "list(torch.empty(2, 3).shape)"),
    ("empty_like", "return lucerna.empty_like(i).dtype", "torch.empty_like(i).dtype"),
    ("asarray", "return lucerna.asarray({1, 2.5})", "torch.asarray([1, 2.5])"),
    ("asarray", "return lucerna.asarray(x, {dtype = lucerna.float64})",
     "torch.asarray(x, dtype=torch.float64)"),
    ("asarray", "return {lucerna.asarray(x) == x, lucerna.asarray(x, {copy = true}) == x}",
     "[torch.asarray(x) is x, torch.asarray(x, copy=True) is x]"),
    ("asarray", "return {lucerna.asarray(w).requires_grad,"
     " (pcall(lucerna.asarray, x, {copy = false, dtype = lucerna.int64}))}", "[False, False]"),
    ("empty_strided", "return lucerna.empty_strided({2, 3}, {1, 2}):stride()",
     "list(torch.empty_strided((2, 3), (1, 2)).stride())"),
    ("new_tensor", "return x:new_tensor({1, 2})", "x.new_tensor([1, 2])"),
    ("new_empty", "return i:new_empty(2, 2).dtype", "i.new_empty(2, 2).dtype"),

    # random numbers
    ("manual_seed", "lucerna.manual_seed(7) return lucerna.rand(3)",
     "torch.manual_seed(7)\ntorch.rand(3)"),
    ("initial_seed", "lucerna.manual_seed(7) return lucerna.initial_seed()",
     "torch.manual_seed(7)\ntorch.initial_seed()"),
    ("seed", "return lucerna.seed() == lucerna.initial_seed()",
     "torch.seed() == torch.initial_seed()"),
    ("get_rng_state", """
     lucerna.manual_seed(7)
     local state = lucerna.get_rng_state()
     local a = lucerna.rand(2)
     lucerna.set_rng_state(state)
     return lucerna.rand(2):eq(a)""", "torch.tensor([True, True])"),
    ("set_rng_state", """
     local state = lucerna.get_rng_state()
     lucerna.rand(5)
     lucerna.set_rng_state(state)
     return lucerna.rand(2)""", "torch.rand(2)"),
    ("Generator", "return lucerna.rand(3, {generator = lucerna.Generator():manual_seed(3)})",
     "torch.rand(3, generator=torch.Generator().manual_seed(3))"),

    # shapes
    ("T", "return x.T", "x.T"),
    ("H", "return lucerna.complex(x, x + 1).H", "torch.complex(x, x + 1).H"),
    ("mH", "return lucerna.complex(x, x + 1).mH", "torch.complex(x, x + 1).mH"),
    ("real", "return lucerna.complex(x, x + 1).real", "torch.complex(x, x + 1).real"),
    ("imag", "return lucerna.complex(x, x + 1).imag", "torch.complex(x, x + 1).imag"),
    ("mT", "return lucerna.arange(12):view(2, 3, 2).mT", "torch.arange(12).view(2, 3, 2).mT"),
    ("swapdims", "return lucerna.swapdims(x, 1, 2)", "torch.swapdims(x, 0, 1)"),
    ("moveaxis", "return x:moveaxis(1, -1)", "x.moveaxis(0, -1)"),
    ("H", "return {x.H, lucerna.tensor(2.0).H}", "[x.H, torch.tensor(2.0).H]"),
    ("broadcast_shapes", "return lucerna.broadcast_shapes({2, 1}, {4, 1, 3}, 1)",
     "list(torch.broadcast_shapes((2, 1), (4, 1, 3), (1,)))"),
    ("broadcast_shapes", "return {lucerna.broadcast_shapes(), lucerna.broadcast_shapes({0, 1}, 3)}",
     "[list(torch.broadcast_shapes()), list(torch.broadcast_shapes((0, 1), (3,)))]"),
    ("broadcast_shapes", "return (pcall(lucerna.broadcast_shapes, {2}, {3}))", "False"),
    ("resize_", "return {i:resize_(2, 1), x[2]:resize_(2), lucerna.zeros(2):resize_(3, 3).shape}",
     "[i.resize_(2, 1), x[1].resize_(2), list(torch.zeros(2).resize_(3, 3).shape)]"),
    ("resize_", "return (pcall(w.resize_, w, 2))", "False"),
    ("resize_as_", "return x:resize_as_(i)", "x.resize_as_(i)"),
    ("set_", "return {x:clone():set_().shape, x:set_(w:detach()), x:data_ptr() == w:data_ptr()}",
     "[[0], x.set_(w.detach()), x.data_ptr() == w.data_ptr()]"),
    ("detach_", "local y = w * 2 return {y:detach_() == y, y.requires_grad, y.is_leaf}",
     "y = w * 2\n[y.detach_() is y, y.requires_grad, y.is_leaf]"),
    ("detach_", "return (pcall(function() return (w * 2)[1]:detach_() end))", "False"),
    ("apply_", "return i:apply_(function(v) return v * 2 end)", "i.apply_(lambda v: v * 2)"),
    ("apply_", "return x:t():apply_(function(v) return v + 0.5 end)",
     "x.t().apply_(lambda v: v + 0.5)"),
    ("map_", "return x:map_(i:float(), function(a, b) return a * b end)",
     "x.map_(i.float(), lambda a, b: a * b)"),
    ("is_contiguous", "return {x:is_contiguous(), x:t():is_contiguous()}",
     "[x.is_contiguous(), x.t().is_contiguous()]"),
    ("stride", "return x:t():stride()", "list(x.t().stride())"),
    ("stride", "return x:stride(1)", "x.stride(0)"),
    ("storage_offset", "return x[2]:storage_offset()", "x[1].storage_offset()"),
    ("size", "return x:size()", "list(x.size())"),
    ("size", "return x:size(-1)", "x.size(-1)"),
    ("shape", "return x.shape", "list(x.shape)"),
    ("numel", "return {x:numel(), lucerna.numel(x)}", "[x.numel(), torch.numel(x)]"),
    ("nelement", "return x:nelement()", "x.nelement()"),
    ("dim", "return x:dim()", "x.dim()"),
    ("ndim", "return x.ndim", "x.ndim"),
    ("ndimension", "return x:ndimension()", "x.ndimension()"),
    ("element_size", "return {x:element_size(), i:element_size(), b:element_size()}",
     "[x.element_size(), i.element_size(), b.element_size()]"),
    ("nbytes", "return x.nbytes", "x.numel() * x.element_size()"),
    ("data_ptr", "return x:data_ptr() == x:view(6):data_ptr()",
     "x.data_ptr() == x.view(6).data_ptr()"),
    ("data_ptr", "return x:data_ptr() == x:clone():data_ptr()",
     "x.data_ptr() == x.clone().data_ptr()"),
    ("concatenate", "return lucerna.concatenate({x, x}, 2)", "torch.cat([x, x], 1)"),
    ("row_stack", "return lucerna.row_stack({i, b})", "torch.row_stack([i, b])"),
    ("sgn", "return i:sgn()", "i.sgn()"),
    ("clamp_min_", "return x:clamp_min_(2)", "x.clamp_min_(2)"),
    ("clamp_max_", "return x:clamp_max_(2)", "x.clamp_max_(2)"),
    ("lerp_", "return x:lerp_(x + 2, 0.5)", "x.lerp_(x + 2, 0.5)"),
    ("requires_grad_", "return {x:requires_grad_().requires_grad, x:requires_grad_(false).is_leaf}",
     "[x.requires_grad_().requires_grad, x.requires_grad_(False).is_leaf]"),
    ("is_nonzero", "return {i[1]:is_nonzero(), lucerna.is_nonzero(x[{1, 1}])}",
     "[i[0].is_nonzero(), torch.is_nonzero(x[0, 0])]"),
    ("ger", "return lucerna.ger(i, i)", "torch.ger(i, i)"),

    # dtypes and devices
    ("cuda", "return (pcall(x.cuda, x))", "False"),
    ("item", "return {i[1]:item(), x[{2, 2}]:item(), b[1]:item()}",
     "[i[0].item(), x[1, 1].item(), b[0].item()]"),
    ("tolist", "return x:tolist()", "x.tolist()"),
    ("tolist", "return b:tolist()", "b.tolist()"),
    ("tolist", "return x[{1, 2}]:tolist()", "x[0, 1].tolist()"),
    ("dtype", "return tostring(x.dtype)", "x.dtype"),
    ("device", "return tostring(x.device)", "x.device"),
    ("layout", "return {x.layout, x.layout == lucerna.strided}", "[x.layout, True]"),
    ("is_pinned", "return x:is_pinned()", "x.is_pinned()"),
    ("pin_memory", "return (pcall(x.pin_memory, x))", "False"),
    ("type", "return {x:type(), i:type(), b:type(), x:bfloat16():type()}",
     "[x.type(), i.type(), b.type(), x.bfloat16().type()]"),
    ("type", "return x:type('torch.DoubleTensor')", "x.type('torch.DoubleTensor')"),
    ("get_device", "return x:get_device()", "-1"),
    ("is_floating_point", "return {x:is_floating_point(), lucerna.is_floating_point(i)}",
     "[x.is_floating_point(), torch.is_floating_point(i)]"),
    ("is_complex", "return {x:is_complex(), lucerna.is_complex(i)}",
     "[x.is_complex(), torch.is_complex(i)]"),
    ("is_signed", "return {x:is_signed(), b:is_signed(), i:byte():is_signed()}",
     "[x.is_signed(), b.is_signed(), i.byte().is_signed()]"),
    ("get_default_dtype", "return tostring(lucerna.get_default_dtype())",
     "torch.get_default_dtype()"),
    ("set_default_dtype", """
     lucerna.set_default_dtype(lucerna.float64)
     local y = lucerna.tensor({1.5}) + i
     lucerna.set_default_dtype(lucerna.float32)
     return y""", "torch.tensor([1.5], dtype=torch.float64) + i"),
    ("promote_types", "return tostring(lucerna.promote_types(lucerna.uint8, lucerna.int8))",
     "torch.promote_types(torch.uint8, torch.int8)"),
    ("promote_types", "return tostring(lucerna.promote_types(lucerna.float16, lucerna.bfloat16))",
     "torch.promote_types(torch.float16, torch.bfloat16)"),
    ("result_type", "return tostring(lucerna.result_type(i, 1.5))", "torch.result_type(i, 1.5)"),
    ("result_type", "return tostring(lucerna.result_type(x, i))", "torch.result_type(x, i)"),
    ("can_cast", """return {lucerna.can_cast(lucerna.float32, lucerna.int64),
     lucerna.can_cast(lucerna.int64, lucerna.float32)}""",
     "[torch.can_cast(torch.float32, torch.int64), torch.can_cast(torch.int64, torch.float32)]"),
    ("finfo", "local f = lucerna.finfo(lucerna.float32) return {f.bits, f.eps, f.max, f.tiny}",
     "f = torch.finfo(torch.float32)\n[f.bits, f.eps, f.max, f.tiny]"),
    ("finfo", "local f = lucerna.finfo(lucerna.bfloat16) return {f.bits, f.eps, f.max, f.tiny}",
     "f = torch.finfo(torch.bfloat16)\n[f.bits, f.eps, f.max, f.tiny]"),
    ("iinfo", "local f = lucerna.iinfo(lucerna.int16) return {f.bits, f.min, f.max}",
     "f = torch.iinfo(torch.int16)\n[f.bits, f.min, f.max]"),

    # autograd
    ("requires_grad", "return {x.requires_grad, w.requires_grad, (w * 2).requires_grad}",
     "[x.requires_grad, w.requires_grad, (w * 2).requires_grad]"),
    ("retains_grad", "local y = w * 2; y:retain_grad() return {y.retains_grad, w.retains_grad}",
     "y = w * 2\ny.retain_grad()\n[y.retains_grad, w.retains_grad]"),
    ("output_nr", "local y = (w * 2):unbind() return {y[3].output_nr, w.output_nr}",
     "y = (w * 2).unbind()\n[y[2].output_nr + 1, w.output_nr + 1]"),
    ("grad_fn", "return {w.grad_fn == nil, (w + x).grad_fn:name()}",
     "[w.grad_fn is None, (w + x).grad_fn.name()]"),
    ("grad_fn", """
     local names = {}
     for _, edge in ipairs((w.exp(w) * w).grad_fn.next_functions) do
       names[#names + 1] = edge[1]:name()
     end
     return names""",
     "[f.name().split('::')[-1] for f, _ in (w.exp() * w).grad_fn.next_functions]"),
    ("grad_fn", "return (w * x).grad_fn.next_functions[1][1].variable == w",
     "(w * x).grad_fn.next_functions[0][0].variable is w"),
    ("grad_fn", "return (w * x).grad_fn.next_functions[2][1] == lucerna.none",
     "(w * x).grad_fn.next_functions[1][0] is None"),
    ("is_leaf", "return {x.is_leaf, w.is_leaf, (w * 2).is_leaf}",
     "[x.is_leaf, w.is_leaf, (w * 2).is_leaf]"),
    ("grad_fn", "return tostring((w * w).grad_fn):match('%w+')",
     "type((w * w).grad_fn).__name__"),
    ("backward", "(w * w):sum():backward() return w.grad", "(w * w).sum().backward()\nw.grad"),
    ("backward", "(w * w):backward(w:detach() + 1) return w.grad",
     "(w * w).backward(w.detach() + 1)\nw.grad"),
    ("grad", "local none = w.grad; (w * w):sum():backward() return {none == nil, w.grad}",
     "none = w.grad is None\n(w * w).sum().backward()\n[none, w.grad]"),
    ("grad", "return lucerna.autograd.grad({(w ^ 3):sum()}, {w})",
     "torch.autograd.grad([(w ** 3).sum()], [w])[0]"),
    ("retain_grad", "local y = w * 2 y:retain_grad(); (y * y):sum():backward() return y.grad",
     "y = w * 2\ny.retain_grad()\n(y * y).sum().backward()\ny.grad"),
    ("register_hook", "w:register_hook(function(g) return g * 10 end); "
     "(w * w):sum():backward() return w.grad",
     "w.register_hook(lambda g: g * 10)\n(w * w).sum().backward()\nw.grad"),
    ("register_post_accumulate_grad_hook",
     "local seen w:register_post_accumulate_grad_hook(function(p) seen = p.grad * 1 end)"
     " w:sum():backward() return seen", "torch.ones(3)"),
    ("data", "w.data:mul_(2) return {w.data, w.data.requires_grad}",
     "w.data.mul_(2)\n[w.data, w.data.requires_grad]"),
    ("no_grad", "return lucerna.no_grad(function() return (w * 2).requires_grad end)",
     "with torch.no_grad():\n    y = w * 2\ny.requires_grad"),
    ("enable_grad", "return lucerna.no_grad(function() return lucerna.enable_grad(function()"
     " return (w * 2).requires_grad end) end)",
     "with torch.no_grad():\n    with torch.enable_grad():\n        y = w * 2\ny.requires_grad"),
    ("set_grad_enabled", "return lucerna.set_grad_enabled(false, function()"
     " return (w * 2).requires_grad end)",
     "with torch.set_grad_enabled(False):\n    y = w * 2\ny.requires_grad"),
    ("is_grad_enabled",
     "return {lucerna.is_grad_enabled(), lucerna.no_grad(lucerna.is_grad_enabled)}",
     "[True, False]"),
    ("inference_mode", "return lucerna.inference_mode(function() return (w * 2).requires_grad end)",
     "with torch.inference_mode():\n    y = w * 2\ny.requires_grad"),

    # what Python writes with operators
    ("is_tensor", "return {lucerna.is_tensor(x), lucerna.is_tensor(3)}",
     "[torch.is_tensor(x), torch.is_tensor(3)]"),
    ("__repr__", "return tostring(x)", "repr(x)"),
    ("__len__", "return #x", "len(x)"),
    ("__iter__", "local rows = {} for _, row in pairs(x) do rows[#rows + 1] = row end return rows",
     "list(x)"),
    ("__getitem__", "return x[2]", "x[1]"),
    ("__getitem__", "return x[{{}, {2, 3}}]", "x[:, 1:3]"),
    ("__setitem__", "x[{{}, 1}] = 9 return x", "x[:, 0] = 9\nx"),
    ("__add__", "return x + i", "x + i"),
    ("__add__", "return x + 1", "x + 1"),
    ("__radd__", "return 1 + x", "1 + x"),
    ("__sub__", "return x - i", "x - i"),
    ("__rsub__", "return 1 - x", "1 - x"),
    ("__mul__", "return x * i", "x * i"),
    ("__rmul__", "return 2 * x", "2 * x"),
    ("__truediv__", "return x / i", "x / i"),
    ("__truediv__", "return i / 2", "i / 2"),
    ("__rtruediv__", "return 2 / i", "2 / i"),
    ("__pow__", "return x ^ 2", "x ** 2"),
    ("__rpow__", "return 2 ^ x", "2 ** x"),
    ("__mod__", "return i % 2", "i % 2"),
    ("__mod__", "return x % -3", "x % -3"),
    ("__floordiv__", "return i // 2", "i // 2"),
    ("__floordiv__", "return -7 // i", "-7 // i"),
    ("__neg__", "return -i", "-i"),
    ("__and__", "return i & 2", "i & 2"),
    ("__and__", "return b & b:logical_not()", "b & ~b"),
    ("__or__", "return i | 4", "i | 4"),
    ("__xor__", "return i ~ i:abs()", "i ^ i.abs()"),
    ("__invert__", "return ~i", "~i"),
    ("__invert__", "return ~b", "~b"),
]
ROWS += [printed(options) for options in OPTIONS]
