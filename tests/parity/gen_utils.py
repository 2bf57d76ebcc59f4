"""Records what torch.nn.utils does, into data/utils.lua: pairs of the same few lines in Lua and in
Python, and what Python's answers. Modules are made after manual_seed, so they are equal.

Run with /usr/bin/python3. Positions in results are wrapped in Ids; the result of a failing pair is
its error's text, with `replace` saying what is Lua's in it."""
import pathlib
import warnings

import torch
from torch import nn
from torch.nn import utils
from torch.nn.utils import prune

from record import Ids, number, tensor

warnings.simplefilter("ignore")
OUT = pathlib.Path(__file__).parent / "data" / "utils.lua"
rnn = utils.rnn
cases = []


def lua(v):
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, Ids):
        return tensor(v.t, 1)
    if v is None:
        return "none"
    if isinstance(v, str):
        return "[==[\n%s]==]" % v
    if isinstance(v, (list, tuple)):
        return "{list={%s}}" % ", ".join(map(lua, v))
    return number(v, 9)


def case(topic, name, source, python, replace=()):
    torch.manual_seed(5)
    text = '{topic="%s", name="%s", lua=[==[%s]==],' % (topic, name, source)
    try:
        results = python()
    except Exception as error:
        message = str(error)
        for old, new in replace:
            message = message.replace(old, new)
        cases.append(text + "\n error=%s}" % lua(message))
        return
    if not isinstance(results, tuple):
        results = (results,)
    cases.append(text + "\n out={%s}}" % ", ".join(map(lua, results)))


def values(*shape):
    """What arange makes of a shape in Lua: x(2, 3)."""
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n, dtype=torch.float32) * 0.25 - 1).reshape(shape)


x = values


def with_grads():
    m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False), nn.Linear(2, 1))
    m[0].weight.grad, m[0].bias.grad, m[1].weight.grad = x(2, 3), x(2), x(2, 2) * 3
    return m


GRADS = """
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
"""


def grads(m):
    return m[0].weight.grad, m[0].bias.grad, m[1].weight.grad


def clip_cases():
    for lua_options, options in [
        ("1", (1,)), ("100", (100,)), ("1, 1", (1, 1)), ("2, 'inf'", (2, float("inf"))),
        ("1, 3", (1, 3)), ("0.5, 0.5", (0.5, 0.5)), ("0", (0,)),
    ]:
        def run():
            m = with_grads()
            return (utils.clip_grad_norm_(m.parameters(), *options), *grads(m))
        case("clip_grad", "clip_grad_norm_(parameters, %s)" % lua_options, GRADS +
             "return utils.clip_grad_norm_(m:parameters(), %s), m[1].weight.grad, m[1].bias.grad, "
             "m[2].weight.grad" % lua_options, run)

    def value():
        m = with_grads()
        utils.clip_grad_value_(m.parameters(), 0.6)
        return grads(m)
    case("clip_grad", "clip_grad_value_", GRADS + """utils.clip_grad_value_(m:parameters(), 0.6)
return m[1].weight.grad, m[1].bias.grad, m[2].weight.grad""", value)
    case("clip_grad", "of nothing", "return utils.clip_grad_norm_({}, 1)",
         lambda: utils.clip_grad_norm_([], 1))

    def infinite(**kw):
        p = nn.Parameter(x(2))
        p.grad = torch.tensor([1.0, float("inf")])
        return utils.clip_grad_norm_(p, 1, **kw), p.grad
    case("clip_grad", "infinite", """local p = nn.Parameter(x(2))
p.grad = lucerna.tensor{1.0, math.huge}
return utils.clip_grad_norm_(p, 1), p.grad""", infinite)
    case("clip_grad", "refuses the infinite", """local p = nn.Parameter(x(2))
p.grad = lucerna.tensor{1.0, math.huge}
utils.clip_grad_norm_(p, 1, {error_if_nonfinite = true})""",
         lambda: infinite(error_if_nonfinite=True), [("False", "false")])


def vector_cases():
    def both():
        m, other = nn.Linear(3, 2), nn.Linear(3, 2)
        v = utils.parameters_to_vector(m.parameters())
        utils.vector_to_parameters(v * 2, other.parameters())
        return v, other.weight, other.bias
    case("convert_parameters", "there and back", """
local m, other = nn.Linear(3, 2), nn.Linear(3, 2)
local v = utils.parameters_to_vector(m:parameters())
utils.vector_to_parameters(v * 2, other:parameters())
return v, other.weight, other.bias""", both)


def fusion_cases():
    for make, py in [
        ("nn.Conv2d(2, 3, 3)", lambda: (nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), x(4, 2, 5, 5))),
        ("nn.Conv2d(2, 4, 3, {groups = 2, bias = false})",
         lambda: (nn.Conv2d(2, 4, 3, groups=2, bias=False), nn.BatchNorm2d(4), x(4, 2, 5, 5))),
    ]:
        channels = 4 if "groups" in make else 3

        def run():
            conv, bn, data = py()
            bn.weight.data.copy_(x(channels) + 2)
            bn.bias.data.copy_(x(channels))
            bn(conv(data))
            fused = utils.fuse_conv_bn_eval(conv.eval(), bn.eval())
            return fused.weight, fused.bias, fused(data[:1]), str(fused)
        case("fusion", make, """local conv, bn, data = %s, nn.BatchNorm2d(%d), x(4, 2, 5, 5)
bn.weight.data:copy_(x(%d) + 2)
bn.bias.data:copy_(x(%d))
bn(conv(data))
local fused = utils.fuse_conv_bn_eval(conv:eval(), bn:eval())
return fused.weight, fused.bias, fused(data:narrow(1, 1, 1)), tostring(fused)"""
             % (make, channels, channels, channels), run)

    def transposed():
        w, b = utils.fuse_conv_bn_weights(x(2, 3, 2), None, x(3), x(3) + 2, 1e-5, x(3), None, True)
        return w, b
    case("fusion", "transposed weights without bias", """return utils.fuse_conv_bn_weights(
x(2, 3, 2), nil, x(3), x(3) + 2, 1e-5, x(3), nil, true)""", transposed)

    def linear():
        layer, bn = nn.Linear(3, 4), nn.BatchNorm1d(4)
        bn(layer(x(5, 3)))
        fused = utils.fusion.fuse_linear_bn_eval(layer.eval(), bn.eval())
        return fused.weight, fused.bias, fused(x(2, 3))
    case("fusion", "linear", """local layer, bn = nn.Linear(3, 4), nn.BatchNorm1d(4)
bn(layer(x(5, 3)))
local fused = utils.fuse_linear_bn_eval(layer:eval(), bn:eval())
return fused.weight, fused.bias, fused(x(2, 3))""", linear)
    case("fusion", "in training", "utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))",
         lambda: utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)))


def packed(p):
    ids = [None if i is None else Ids(i) for i in (p.sorted_indices, p.unsorted_indices)]
    return (p.data, p.batch_sizes, *ids)


FIELDS = "return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices"


def rnn_cases():
    for name, args, py in [
        ("sorted", "x(4, 3, 2), {4, 3, 1}", lambda: (x(4, 3, 2), [4, 3, 1])),
        ("equal lengths", "x(2, 3, 2), {2, 2, 2}", lambda: (x(2, 3, 2), [2, 2, 2])),
        ("batch first", "x(3, 4, 2), {4, 3, 1}, true", lambda: (x(3, 4, 2), [4, 3, 1], True)),
        ("unsorted", "x(4, 3, 2), {1, 4, 3}, {enforce_sorted = false}",
         lambda: (x(4, 3, 2), [1, 4, 3], False, False)),
        ("unsorted, batch first, shorter", "x(4, 5, 1, 2), lucerna.tensor{1, 3, 3, 2}, true, false",
         lambda: (x(4, 5, 1, 2), torch.tensor([1, 3, 3, 2]), True, False)),
        ("no features", "x(3, 2), {3, 2}", lambda: (x(3, 2), [3, 2])),
        ("refuses unsorted lengths", "x(4, 2, 2), {3, 4}", lambda: (x(4, 2, 2), [3, 4])),
        ("refuses a length of 0", "x(4, 2, 2), {3, 0}", lambda: (x(4, 2, 2), [3, 0])),
        ("refuses a wrong number of lengths", "x(4, 2, 2), {3}", lambda: (x(4, 2, 2), [3])),
    ]:
        case("rnn", "pack_padded_sequence: " + name,
             "local p = rnn.pack_padded_sequence(%s)\n%s" % (args, FIELDS),
             lambda: packed(rnn.pack_padded_sequence(*py())),
             [("True", "true"), ("False", "false"),
              (" if you do not need ONNX exportability.", "")])
    for name, args, kw in [
        ("plain", "", {}), ("batch first", ", {batch_first = true}", dict(batch_first=True)),
        ("padding and length", ", {padding_value = -7, total_length = 6}",
         dict(padding_value=-7, total_length=6)),
        ("refuses a short total", ", {total_length = 2}", dict(total_length=2)),
    ]:
        for order, lua_order, options in [("sorted", "{4, 3, 1}", ([4, 3, 1],)),
                                          ("unsorted", "{3, 1, 4}, false, false",
                                           ([3, 1, 4], False, False))]:
            def run():
                data = x(4, 3, 2).requires_grad_()
                y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, *options), **kw)
                (y * x(*y.shape)).sum().backward()
                return y, n, data.grad
            case("rnn", "pad_packed_sequence: %s, %s" % (name, order),
                 """local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, %s)%s)
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad""" % (lua_order, args), run)
    for name, args, kw in [
        ("plain", "", {}), ("batch first", ", true", dict(batch_first=True)),
        ("padding value", ", false, 9", dict(padding_value=9)),
    ]:
        case("rnn", "pad_sequence: " + name,
             "return rnn.pad_sequence({x(2, 2), x(4, 2), x(1, 2)}%s)" % args,
             lambda: rnn.pad_sequence([x(2, 2), x(4, 2), x(1, 2)], **kw))
    case("rnn", "pad_sequence: refuses nothing", "rnn.pad_sequence({})",
         lambda: rnn.pad_sequence([]))
    case("rnn", "pad_sequence: refuses a number", "rnn.pad_sequence(3)",
         lambda: rnn.pad_sequence(3), [("<class 'int'>", "number")])
    case("rnn", "unpad_sequence", "return table.unpack(rnn.unpad_sequence(x(3, 2, 2), {3, 1}))",
         lambda: tuple(rnn.unpad_sequence(x(3, 2, 2), torch.tensor([3, 1]))))
    case("rnn", "unpad_sequence: batch first",
         "return table.unpack(rnn.unpad_sequence(x(3, 2, 2), lucerna.tensor{2, 1, 2}, true))",
         lambda: tuple(rnn.unpad_sequence(x(3, 2, 2), torch.tensor([2, 1, 2]), True)))
    case("rnn", "pack_sequence", """local p = rnn.pack_sequence({x(2), x(4), x(1)}, false)
%s""" % FIELDS, lambda: packed(rnn.pack_sequence([x(2), x(4), x(1)], False)))
    case("rnn", "unpack_sequence",
         "return table.unpack(rnn.unpack_sequence(rnn.pack_sequence({x(2), x(4), x(1)}, false)))",
         lambda: tuple(rnn.unpack_sequence(rnn.pack_sequence([x(2), x(4), x(1)], False))))
    case("rnn", "invert_permutation", "return rnn.invert_permutation(lucerna.tensor{3, 1, 4, 2})",
         lambda: Ids(rnn.invert_permutation(torch.tensor([2, 0, 3, 1]))))
    case("rnn", "tostring", """return tostring(rnn.pack_sequence{x(2), x(1)}),
tostring(rnn.pack_sequence{x(2), x(1)}:double())""",
         lambda: (str(rnn.pack_sequence([x(2), x(1)])),
                  str(rnn.pack_sequence([x(2), x(1)]).double())))


def keys(m):
    return list(m.state_dict().keys())


def gradient(m, *names):
    return tuple(m.get_parameter(n).grad for n in names)


def norm_cases():
    for name, make, py, shape in [
        ("Linear", "utils.weight_norm(nn.Linear(3, 4))", lambda: utils.weight_norm(nn.Linear(3, 4)),
         (2, 3)),
        ("Linear over dim 2", "utils.weight_norm(nn.Linear(3, 4), 'weight', 2)",
         lambda: utils.weight_norm(nn.Linear(3, 4), "weight", 1), (2, 3)),
        ("Linear over everything", "utils.weight_norm(nn.Linear(3, 4), {dim = lucerna.none})",
         lambda: utils.weight_norm(nn.Linear(3, 4), dim=None), (2, 3)),
        ("bias", "utils.weight_norm(nn.Linear(3, 4), 'bias')",
         lambda: utils.weight_norm(nn.Linear(3, 4), "bias"), (2, 3)),
        ("Conv2d", "utils.weight_norm(nn.Conv2d(2, 3, 2))",
         lambda: utils.weight_norm(nn.Conv2d(2, 3, 2)), (1, 2, 4, 4)),
    ]:
        tensor_name = "bias" if name == "bias" else "weight"

        def run():
            m = py()
            y = m(x(*shape))
            (y * y).sum().backward()
            grads = gradient(m, tensor_name + "_g", tensor_name + "_v")
            before = keys(m)
            utils.remove_weight_norm(m, tensor_name)
            return (y, *grads, before, keys(m), m(x(*shape)), str(m))
        case("weight_norm", name, """local m = %s
local y = m(x(%s))
local _ = (y * y):sum():backward()
local g, v, before = m.%s_g.grad, m.%s_v.grad, keys(m)
utils.remove_weight_norm(m, "%s")
return y, g, v, before, keys(m), m(x(%s)), tostring(m)"""
             % (make, str(shape)[1:-1], tensor_name, tensor_name, tensor_name, str(shape)[1:-1]),
             run)
    case("weight_norm", "refuses a second", "utils.weight_norm(utils.weight_norm(nn.Linear(1, 1)))",
         lambda: utils.weight_norm(utils.weight_norm(nn.Linear(1, 1))))
    case("weight_norm", "refuses to remove none", "utils.remove_weight_norm(nn.Linear(1, 1))",
         lambda: utils.remove_weight_norm(nn.Linear(1, 1)))
    case("weight_norm", "refuses a name that is not there",
         "utils.weight_norm(nn.Linear(1, 1), 'wait')",
         lambda: utils.weight_norm(nn.Linear(1, 1), "wait"))


def spectral_cases():
    for name, make, py, shape in [
        ("Linear", "nn.Linear(3, 4)", lambda: utils.spectral_norm(nn.Linear(3, 4)), (2, 3)),
        ("Linear, 3 iterations along dim 2", "nn.Linear(3, 4), {n_power_iterations = 3, dim = 2}",
         lambda: utils.spectral_norm(nn.Linear(3, 4), n_power_iterations=3, dim=1), (2, 3)),
        ("Conv2d", "nn.Conv2d(2, 3, 2), 'weight', 2, 1e-6",
         lambda: utils.spectral_norm(nn.Conv2d(2, 3, 2), "weight", 2, 1e-6), (1, 2, 4, 4)),
    ]:
        def run():
            m = py()
            m(x(*shape))
            y = m(x(*shape))
            (y * y).sum().backward()
            grads = gradient(m, "weight_orig")
            before = keys(m)
            m.eval()
            y2, u, v = m(x(*shape)), m.weight_u, m.weight_v
            utils.remove_spectral_norm(m)
            return (y, *grads, before, y2, u, v, keys(m), m.weight, str(m))
        size = str(shape)[1:-1]
        case("spectral_norm", name, """local m = utils.spectral_norm(%s)
m(x(%s))
local y = m(x(%s))
local _ = (y * y):sum():backward()
local before = keys(m)
m:eval()
local grad, y2, u, v = m.weight_orig.grad, m(x(%s)), m.weight_u, m.weight_v
utils.remove_spectral_norm(m)
return y, grad, before, y2, u, v, keys(m), m.weight, tostring(m)""" % (make, size, size, size), run)
    for name, source, run in [
        ("a second", "utils.spectral_norm(utils.spectral_norm(nn.Linear(1, 1)))",
         lambda: utils.spectral_norm(utils.spectral_norm(nn.Linear(1, 1)))),
        ("to remove none", "utils.remove_spectral_norm(nn.Linear(1, 1))",
         lambda: utils.remove_spectral_norm(nn.Linear(1, 1))),
        ("no iterations", "utils.spectral_norm(nn.Linear(1, 1), {n_power_iterations = 0})",
         lambda: utils.spectral_norm(nn.Linear(1, 1), n_power_iterations=0)),
        ("an empty slot", "utils.spectral_norm(nn.Linear(1, 1, false), 'bias')",
         lambda: utils.spectral_norm(nn.Linear(1, 1, False), "bias")),
    ]:
        case("spectral_norm", "refuses " + name, source, run)


PRUNINGS = [
    ("identity", "prune.identity(m, 'weight')", lambda p, m: p.identity(m, "weight")),
    ("random_unstructured", "prune.random_unstructured(m, 'weight', 0.4)",
     lambda p, m: p.random_unstructured(m, "weight", 0.4)),
    ("l1_unstructured, a fraction", "prune.l1_unstructured(m, {name = 'weight', amount = 0.375})",
     lambda p, m: p.l1_unstructured(m, "weight", 0.375)),
    ("l1_unstructured, a count", "prune.l1_unstructured(m, 'weight', 5)",
     lambda p, m: p.l1_unstructured(m, "weight", 5)),
    ("l1_unstructured of scores",
     "prune.l1_unstructured(m, 'weight', 5, {importance_scores = x(4, 3) * 2})",
     lambda p, m: p.l1_unstructured(m, "weight", 5, importance_scores=x(4, 3) * 2)),
    ("random_structured", "prune.random_structured(m, 'weight', 2, 1)",
     lambda p, m: p.random_structured(m, "weight", 2, 0)),
    ("ln_structured", "prune.ln_structured(m, 'weight', 0.5, 2, 1)",
     lambda p, m: p.ln_structured(m, "weight", 0.5, 2, 0)),
    ("ln_structured, infinite, last dim",
     "prune.ln_structured(m, 'weight', {amount = 1, n = math.huge, dim = -1})",
     lambda p, m: p.ln_structured(m, "weight", 1, float("inf"), -1)),
    ("custom_from_mask", "prune.custom_from_mask(m, 'weight', x(4, 3):gt(0))",
     lambda p, m: p.custom_from_mask(m, "weight", x(4, 3) > 0)),
    ("nothing", "prune.l1_unstructured(m, 'weight', 0)", lambda p, m: p.l1_unstructured(
        m, "weight", 0)),
    ("everything", "prune.l1_unstructured(m, 'weight', 1.0)",
     lambda p, m: p.l1_unstructured(m, "weight", 1.0)),
    ("twice unstructured",
     "prune.l1_unstructured(m, 'weight', 3) prune.random_unstructured(m, 'weight', 0.5)",
     lambda p, m: (p.l1_unstructured(m, "weight", 3), p.random_unstructured(m, "weight", 0.5))),
    ("thrice, structured on top", "prune.ln_structured(m, 'weight', 1, 1, 1) "
     "prune.ln_structured(m, 'weight', 1, 2, 1) prune.l1_unstructured(m, 'weight', 2)",
     lambda p, m: (p.ln_structured(m, "weight", 1, 1, 0), p.ln_structured(m, "weight", 1, 2, 0),
                   p.l1_unstructured(m, "weight", 2))),
    ("a mask on top", "prune.random_structured(m, 'weight', 1, -1) "
     "prune.custom_from_mask(m, 'weight', x(4, 3):gt(0))",
     lambda p, m: (p.random_structured(m, "weight", 1, -1),
                   p.custom_from_mask(m, "weight", x(4, 3) > 0))),
]
PRUNING_ERRORS = [
    ("an amount that is no number", "'0.1'", lambda p, m: p.l1_unstructured(m, "weight", "0.1")),
    ("a negative count", "-1", lambda p, m: p.l1_unstructured(m, "weight", -1)),
    ("a fraction above 1", "1.5", lambda p, m: p.l1_unstructured(m, "weight", 1.5)),
    ("more than there is", "13", lambda p, m: p.l1_unstructured(m, "weight", 13)),
]


def prune_cases():
    p = prune
    for name, source, apply in PRUNINGS:
        def run():
            m = nn.Linear(3, 4)
            apply(p, m)
            y = m(x(2, 3))
            (y * y).sum().backward()
            before, mask, weight = keys(m), m.weight_mask, m.weight
            grad, pruned = m.weight_orig.grad, p.is_pruned(nn.Sequential(m))
            p.remove(m, "weight")
            return (y, mask, weight, grad, before, str(pruned), keys(m), m.weight,
                    str(p.is_pruned(m)))
        case("prune", name, """local m = nn.Linear(3, 4)
%s
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" """ % source, run)
    for name, amount, apply in PRUNING_ERRORS:
        case("prune", "refuses " + name,
             "prune.l1_unstructured(nn.Linear(3, 4), 'weight', %s)" % amount,
             lambda: apply(p, nn.Linear(3, 4)))
    case("prune", "refuses channels of a vector",
         "prune.random_structured(nn.Linear(3, 4), 'bias', 1, 1)",
         lambda: p.random_structured(nn.Linear(3, 4), "bias", 1, 0))
    case("prune", "refuses a dim that is not there",
         "prune.ln_structured(nn.Linear(3, 4), 'weight', 1, 2, 3)",
         lambda: p.ln_structured(nn.Linear(3, 4), "weight", 1, 2, 3))
    case("prune", "refuses to remove none", "prune.remove(nn.Linear(3, 4), 'weight')",
         lambda: p.remove(nn.Linear(3, 4), "weight"))

    def everywhere(scores=False):
        a, b = nn.Linear(3, 4), nn.Conv2d(1, 2, 2)
        p.l1_unstructured(a, "weight", 2)
        both = [(a, "weight"), (b, "weight"), (b, "bias")]
        given = {(b, "bias"): x(2) * 100} if scores else None
        p.global_unstructured(both, p.L1Unstructured, importance_scores=given, amount=0.5)
        return a.weight_mask, b.weight_mask, b.bias_mask, keys(a)
    case("prune", "global_unstructured", """local a, b = nn.Linear(3, 4), nn.Conv2d(1, 2, 2)
prune.l1_unstructured(a, "weight", 2)
prune.global_unstructured({{a, "weight"}, {b, "weight"}, {b, "bias"}}, prune.L1Unstructured,
  {amount = 0.5})
return a.weight_mask, b.weight_mask, b.bias_mask, keys(a)""", everywhere)
    case("prune", "global_unstructured with scores", """
local a, b = nn.Linear(3, 4), nn.Conv2d(1, 2, 2)
prune.l1_unstructured(a, "weight", 2)
prune.global_unstructured({{a, "weight"}, {b, "weight"}, {b, "bias"}}, prune.L1Unstructured,
  {[b] = {bias = x(2) * 100}}, {amount = 0.5})
return a.weight_mask, b.weight_mask, b.bias_mask, keys(a)""", lambda: everywhere(True))
    case("prune", "global_unstructured refuses channels", """
prune.global_unstructured({{nn.Linear(3, 4), "weight"}}, prune.RandomStructured, {amount = 1})""",
         lambda: p.global_unstructured([(nn.Linear(3, 4), "weight")], p.RandomStructured, amount=1),
         [("<class 'torch.nn.utils.prune.RandomStructured'>", "RandomStructured")])


clip_cases()
norm_cases()
spectral_cases()
prune_cases()
vector_cases()
fusion_cases()
rnn_cases()
with open(OUT, "w") as f:
    f.write("-- Written by tests/parity/gen_utils.py from PyTorch %s: do not edit.\n"
            % torch.__version__)
    f.write("local none = {none = true}\nreturn {\n%s\n}\n" % ",\n".join(cases))
print("utils: %d cases, %d bytes" % (len(cases), OUT.stat().st_size))
