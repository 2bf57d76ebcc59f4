"""Records what nn.Module's attributes and trees do, into data/attributes.lua: random walks of
assigning, registering and deleting on one module, with the state after each step, and pairs of the
same line in Lua and in Python with what Python's answers.

Run with /usr/bin/python3. Where the contract refuses what PyTorch does silently (a parameter over a
buffer or child, a module over a buffer or a method) there are no steps."""
import random

import torch
from torch import nn

from record import save

MAKE = {
    "parameter": lambda: nn.Parameter(torch.ones(1)),
    "tensor": lambda: torch.ones(1),
    "module": nn.ReLU,
    "number": lambda: 1,
    "none": lambda: None,
}
TYPES = {"parameter": "Parameter", "tensor": "Tensor", "module": "ReLU", "number": "number"}
TEXTS = [
    ("(torch.nn.Parameter or None required)", "(nn.Parameter or nil required)"),
    ("(torch.nn.Parameter or None expected)", "(nn.Parameter or nil expected)"),
    ("(torch Tensor or None required)", "(Tensor or nil required)"),
    ("(torch.Tensor or None expected)", "(nn.Buffer, Tensor or nil expected)"),
    ("(torch.nn.Module or None expected)", "(nn.Module or nil expected)"),
    ("Got int", "Got number"),
]


class Net(nn.Module):
    pass


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def text_of(error, kind=None):
    message = error.args[0] if isinstance(error, KeyError) else str(error)
    for name in ["torch.FloatTensor", "torch.nn.modules.activation.ReLU", "int"]:
        for form in ["'%s' ", "%s is not a Module"]:
            if kind in TYPES:
                message = message.replace(form % name, form % TYPES[kind])
    for old, new in TEXTS:
        message = message.replace(old, new)
    return message


def state(m):
    def names(d):
        return ",".join(k + ("-" if v is None else "") for k, v in d.items())
    fields = sorted(k for k in vars(m) if k in "abc" and vars(m)[k] is not None)
    transient = ",".join(sorted(m._non_persistent_buffers_set))
    return "%s|%s|%s|%s|%s|%s" % (names(m._parameters), names(m._buffers), names(m._modules),
                                  transient, ",".join(fields), ",".join(m.state_dict()))


def allowed(m, op, name, kind):
    """Is it a step on which the contract and PyTorch agree?"""
    if op != "set":
        return True
    elsewhere = name in m._buffers or name in m._modules
    if kind == "parameter" and elsewhere or kind == "module" and name in m._buffers:
        return False
    if name == "forward":
        return kind == "parameter"
    registered = elsewhere or name in m._parameters
    return kind != "none" or registered


def step(m, op, name, kind):
    value = MAKE[kind]()
    if op == "set":
        setattr(m, name, value)
    elif op == "delete":
        delattr(m, name)
    elif op == "transient":
        m.register_buffer(name, value, persistent=False)
    else:
        getattr(m, op)(name, value)


def walk(seed, length):
    rng = random.Random(seed)
    m, steps = Net(), []
    while len(steps) < length:
        op = rng.choice(["set"] * 6 + ["delete", "delete", "register_parameter", "register_buffer",
                                       "transient", "add_module"])
        name = rng.choice(["a", "b", "c"] * 6 + ["forward"] + ([] if op == "set" else ["x.y", ""]))
        kind = rng.choice(list(MAKE))
        if op == "delete" and name not in ["a", "b", "c"] or not allowed(m, op, name, kind):
            continue
        error = ""
        try:
            step(m, op, name, kind)
        except Exception as e:
            error = text_of(e, kind)
        steps.append('{"%s", "%s", "%s", %s, "%s"}' % (op, name, kind, quoted(error), state(m)))
    return "{\n  %s\n}" % ",\n  ".join(steps)


# ---- pairs ----

class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64), persistent=False)
        self.a = nn.Linear(2, 2)
        self.b = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
        self.again = self.a
        self.tied = self.scale
        self.empty = nn.ReLU()
        self.empty = None


cases = []


def case(source, python):
    m = Tree()
    try:
        result = python(m)
        result = result if isinstance(result, str) else " ".join(map(str, result))
        cases.append("{%s, %s}" % (quoted(source), quoted(result)))
    except Exception as error:
        cases.append("{%s, error = %s}" % (quoted(source), quoted(text_of(error))))


def first(pairs):
    return [k for k, _ in pairs]


def dtypes(m):
    tensors = list(m.parameters()) + list(m.buffers())
    return [str(t.dtype)[6:] for t in tensors]


def walking_cases():
    case("names(m:named_parameters())", lambda m: first(m.named_parameters()))
    case("names(m:named_parameters('p', false))", lambda m: first(m.named_parameters("p", False)))
    case("names(m:named_buffers())", lambda m: first(m.named_buffers()))
    case("names(m:named_buffers{prefix = 'x', recurse = false})",
         lambda m: first(m.named_buffers(prefix="x", recurse=False)))
    case("names(m:named_modules())", lambda m: first(m.named_modules()))
    case("names(m:named_modules(nil, 'p'))", lambda m: first(m.named_modules(None, "p")))
    case("names(m:named_modules{remove_duplicate = false})",
         lambda m: first(m.named_modules(remove_duplicate=False)))
    case("names(m:named_modules({[m.b] = true}, 'p'))",
         lambda m: first(m.named_modules({m.b}, "p")))
    case("names(m:named_children())", lambda m: first(m.named_children()))
    case("names(m:_named_members(function(x) return pairs(x._buffers) end, 'q', false))",
         lambda m: first(m._named_members(lambda x: x._buffers.items(), "q", False)))
    case("names(pairs(m:state_dict()))", lambda m: list(m.state_dict()))
    case("names(pairs(m._modules))", lambda m: list(m._modules))


def applying_cases():
    def applied(m):
        names = []
        m.apply(lambda x: names.append(type(x).__name__))
        return names
    case("applied(m)", applied)

    def wrapped(m):
        return applied(nn.Sequential(m, nn.Sequential(m.a, m.a)))
    case("applied(nn.Sequential(m, nn.Sequential(m.a, m.a)))", wrapped)
    case("dtypes(m:double())", lambda m: dtypes(m.double()))
    case("dtypes(m:half())", lambda m: dtypes(m.half()))
    case("dtypes(m:to(lucerna.bfloat16))", lambda m: dtypes(m.to(torch.bfloat16)))
    case("dtypes(m:to('cpu', lucerna.float64, true))",
         lambda m: dtypes(m.to("cpu", torch.float64, True)))
    case("dtypes(m:to(lucerna.ones(1):double()))", lambda m: dtypes(m.to(torch.ones(1).double())))
    case("dtypes(m:type(lucerna.float64))", lambda m: dtypes(m.type(torch.float64)))
    case("dtypes(m:requires_grad_(false):type(lucerna.int64))",
         lambda m: dtypes(m.requires_grad_(False).type(torch.int64)))
    case("dtypes(m:to_empty{device = 'cpu'})", lambda m: dtypes(m.to_empty(device="cpu")))
    case("dtypes(m:type(lucerna.int64))", lambda m: dtypes(m.type(torch.int64)))
    case("dtypes(m:_apply(function(t) return t:double() end))",
         lambda m: dtypes(m._apply(lambda t: t.double())))
    case("m:train('x')", lambda m: m.train("x"))
    case("m:train(1)", lambda m: m.train(1))


def path_cases():
    for path in ["", "b.0", "b.1", "x", "x.y", "b.x", "a.", ".", "forward", "training", "width",
                 "scale", "mean", "a.weight", "a.weight.x", "b..0", "empty"]:
        case("m:get_submodule('%s'):_get_name()" % path,
             lambda m, path=path: type(m.get_submodule(path)).__name__)
    for path in ["scale", "a.weight", "x.weight", "a.x", "", "mean", "a.in_features", "b",
                 "b.0.bias", "forward", "empty"]:
        case("shape(m:get_parameter('%s'))" % path,
             lambda m, path=path: m.get_parameter(path).shape)
    for path in ["mean", "b.1.running_mean", "x", "a.weight", "b.x", "", "count", "b.0.bias", "a"]:
        case("shape(m:get_buffer('%s'))" % path, lambda m, path=path: m.get_buffer(path).shape)


walking_cases()
applying_cases()
path_cases()
walks = [walk(seed, 60) for seed in range(6)]
# Walks: {op, name, value, error, state}; pairs: {Lua, result}.
save(__file__, "walks = {%s},\npairs = {\n%s\n}" % (", ".join(walks), ",\n".join(cases)))
