"""Records what torch.nn.utils does, into data/utils.lua: pairs of the same few lines in Lua and in
Python, and what Python's answers. Modules are made after manual_seed, so they are equal.

Run with /usr/bin/python3. Positions in results are wrapped in Ids; the result of a failing pair is
its error's text, with `replace` saying what is Lua's in it."""
import copy

import torch
from torch import nn
from torch.nn import utils
from torch.nn.utils import parametrizations, parametrize, prune

from record import Ids, answer, save

rnn = utils.rnn
cases = []


def case(topic, name, source, python, replace=()):
    torch.manual_seed(5)
    text = '{topic="%s", name="%s", lua=[==[%s]==],' % (topic, name, source)
    try:
        results = python()
    except Exception as error:
        message = str(error)
        for old, new in replace:
            message = message.replace(old, new)
        cases.append(text + "\n error=%s}" % answer(message))
        return
    if not isinstance(results, tuple):
        results = (results,)
    cases.append(text + "\n out={%s}}" % ", ".join(map(answer, results)))


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
    def old():
        m = utils.spectral_norm(nn.Linear(3, 4))
        m(x(2, 3))
        state = m.state_dict()
        version = state._metadata[""]["spectral_norm"]["weight.version"]
        state = dict(state, weight=m.weight.detach())
        del state["weight_v"]
        other = utils.spectral_norm(nn.Linear(3, 4))
        other.load_state_dict(state)
        return version, other.weight_v, keys(other), other.eval()(x(2, 3))
    case("spectral_norm", "an old state dict", """local m = utils.spectral_norm(nn.Linear(3, 4))
m(x(2, 3))
local state, old = m:state_dict(), {weight = m.weight:detach()}
local version = state._metadata[""].spectral_norm["weight.version"]
for key, value in pairs(state) do old[key] = value end
old.weight_v = nil
local other = utils.spectral_norm(nn.Linear(3, 4))
other:load_state_dict(old)
return version, other.weight_v, keys(other), other:eval()(x(2, 3))""", old)

    def incomplete():
        m = utils.spectral_norm(nn.Linear(3, 4))
        m.load_state_dict({"weight_u": m.weight_u})
    case("spectral_norm", "refuses an incomplete old state dict", """
local m = utils.spectral_norm(nn.Linear(3, 4))
m:load_state_dict{weight_u = m.weight_u}""", incomplete)
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


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(0, 1)

    def right_inverse(self, a):
        return a.triu()


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        return x * self.factor

    def right_inverse(self, x):
        return x / self.factor


class Outer(nn.Module):
    def forward(self, a, b):
        return a.unsqueeze(1) * b.unsqueeze(0)

    def right_inverse(self, x):
        return x[:, 0], x[0]


class Double(nn.Module):
    def forward(self, x):
        return x.double()


class Flat(nn.Module):
    def forward(self, x):
        return x.flatten()


class WeightNorm2(nn.Module):
    """parametrizations.weight_norm of PyTorch 2."""

    def __init__(self, dim):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, g, v):
        return torch._weight_norm(v, g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


WeightNorm2.__name__ = "_WeightNorm"


def weight_norm2(module, name="weight", dim=0):
    return parametrize.register_parametrization(module, name, WeightNorm2(dim), unsafe=True)


def originals(m, name="weight"):
    return [p for n, p in m.named_parameters() if n.startswith("parametrizations.%s.o" % name)]


# Lua's and Python's module, its input, what is assigned to weight or None.
PARAMETRIZED = [
    ("Symmetric", "register(nn.Linear(3, 3), 'weight', Symmetric())",
     lambda: parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric()),
     (2, 3), "x(3, 3):triu() + x(3, 3):triu(1):t()", lambda: x(3, 3).triu() + x(3, 3).triu(1).t()),
    ("a chain", "register(register(nn.Linear(3, 3), 'weight', Scale(2)), 'weight', Symmetric())",
     lambda: parametrize.register_parametrization(parametrize.register_parametrization(
         nn.Linear(3, 3), "weight", Scale(2)), "weight", Symmetric()), (2, 3), "x(3, 3)",
     lambda: x(3, 3)),
    ("several originals", "register(nn.Linear(3, 4), 'weight', Outer())",
     lambda: parametrize.register_parametrization(nn.Linear(3, 4), "weight", Outer()), (2, 3),
     "x(4, 3)", lambda: x(4, 3)),
    ("weight and bias", "register(register(nn.Linear(3, 3), 'weight', Scale(2)), 'bias', Scale(3))",
     lambda: parametrize.register_parametrization(parametrize.register_parametrization(
         nn.Linear(3, 3), "weight", Scale(2)), "bias", Scale(3)), (2, 3), "x(3, 3)",
     lambda: x(3, 3)),
    ("weight_norm", "ready.weight_norm(nn.Linear(3, 4))", lambda: weight_norm2(nn.Linear(3, 4)),
     (2, 3), "x(4, 3)", lambda: x(4, 3)),
    ("weight_norm of a convolution over dim 2",
     "ready.weight_norm(nn.Conv2d(2, 3, 2), 'weight', 2)",
     lambda: weight_norm2(nn.Conv2d(2, 3, 2), "weight", 1), (1, 2, 4, 4), "x(3, 2, 2, 2)",
     lambda: x(3, 2, 2, 2)),
    ("weight_norm over everything", "ready.weight_norm(nn.Linear(3, 4), {dim = lucerna.none})",
     lambda: weight_norm2(nn.Linear(3, 4), dim=None), (2, 3), "x(4, 3)", lambda: x(4, 3)),
    ("spectral_norm", "ready.spectral_norm(nn.Linear(3, 4))",
     lambda: parametrizations.spectral_norm(nn.Linear(3, 4)), (2, 3), "x(4, 3)", lambda: x(4, 3)),
    ("spectral_norm of a convolution along dim 2",
     "ready.spectral_norm(nn.Conv2d(2, 3, 2), 'weight', 3, {dim = 2, eps = 1e-6})",
     lambda: parametrizations.spectral_norm(nn.Conv2d(2, 3, 2), "weight", 3, dim=1, eps=1e-6),
     (1, 2, 4, 4), "x(3, 2, 2, 2)", lambda: x(3, 2, 2, 2)),
    ("orthogonal, square", "ready.orthogonal(nn.Linear(3, 3))",
     lambda: parametrizations.orthogonal(nn.Linear(3, 3)), (2, 3), "x(3, 3) + lucerna.eye(3)",
     lambda: x(3, 3) + torch.eye(3)),
    ("orthogonal, cayley", "ready.orthogonal(nn.Linear(3, 4), 'weight', 'cayley')",
     lambda: parametrizations.orthogonal(nn.Linear(3, 4), "weight", "cayley"), (2, 3),
     "lucerna.eye(4, 3)", lambda: torch.eye(4, 3)),
    ("orthogonal, matrix_exp, wide", "ready.orthogonal(nn.Linear(4, 3), 'weight', 'matrix_exp')",
     lambda: parametrizations.orthogonal(nn.Linear(4, 3), "weight", "matrix_exp"), (2, 4),
     "lucerna.eye(3, 4)", lambda: torch.eye(3, 4)),
    ("orthogonal, householder", "ready.orthogonal(nn.Linear(3, 5))",
     lambda: parametrizations.orthogonal(nn.Linear(3, 5)), (2, 3), "lucerna.eye(5, 3)",
     lambda: torch.eye(5, 3)),
    ("orthogonal, householder, wide, no base",
     "ready.orthogonal(nn.Linear(5, 3), {use_trivialization = false})",
     lambda: parametrizations.orthogonal(nn.Linear(5, 3), use_trivialization=False), (2, 5),
     "x(3, 5) + lucerna.eye(3, 5) * 3", lambda: x(3, 5) + torch.eye(3, 5) * 3),
    ("orthogonal, cayley, no base",
     "ready.orthogonal(nn.Linear(3, 3), 'weight', 'cayley', {use_trivialization = false})",
     lambda: parametrizations.orthogonal(nn.Linear(3, 3), "weight", "cayley",
                                         use_trivialization=False), (2, 3), None, None),
    ("orthogonal, a batch of 1x1 kernels", "ready.orthogonal(nn.Conv1d(3, 2, 2))",
     lambda: parametrizations.orthogonal(nn.Conv1d(3, 2, 2)), (1, 3, 4), "x(2, 3, 2)",
     lambda: x(2, 3, 2)),
]


def parametrize_cases():
    for name, make, py, shape, assign, value in PARAMETRIZED:
        size = str(shape)[1:-1]

        def run():
            m = py()
            text, names, w = str(m), keys(m), m.weight
            y = m(x(*shape))
            (y * y).sum().backward()
            grads = [p.grad for p in originals(m)]
            m.eval()
            extra = []
            if assign:
                m.weight = value()
                extra = [m.weight, m(x(*shape))]
            kept = m.weight
            parametrize.remove_parametrizations(m, "weight")
            return (text, names, w, y, grads, *extra, kept, m.weight, keys(m), str(m))
        lines = ["local m = " + make, "local text, names, w = tostring(m), keys(m), m.weight",
                 "local y = m(x(%s))" % size, "local _ = (y * y):sum():backward()",
                 "local grads = {}",
                 "for k, p in ipairs(originals(m)) do grads[k] = p.grad end", "m:eval()"]
        if assign:
            lines += ["m.weight = " + assign, "local w2, y2 = m.weight, m(x(%s))" % size]
        lines += ["local kept = m.weight", "parametrize.remove_parametrizations(m, 'weight')",
                  "return text, names, w, y, grads, %skept, m.weight, keys(m), tostring(m)"
                  % ("w2, y2, " if assign else "")]
        case("parametrize", name, "\n".join(lines), run)

    def unparametrized():
        m = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        return m.weight, keys(m)
    case("parametrize", "left as the original", """
local m = register(nn.Linear(3, 3), "weight", Symmetric())
parametrize.remove_parametrizations(m, "weight", {leave_parametrized = false})
return m.weight, keys(m)""", unparametrized)

    def transferred():
        a = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Scale(2))
        parametrize.register_parametrization(a, "bias", Scale(4))
        b = nn.Linear(3, 3)
        parametrize.transfer_parametrizations_and_params(a, b)
        return str(b), keys(b), b.weight, b.bias
    case("parametrize", "transferred", """
local a = register(register(nn.Linear(3, 3), "weight", Scale(2)), "bias", Scale(4))
local b = nn.Linear(3, 3)
parametrize.transfer_parametrizations_and_params(a, b)
return tostring(b), keys(b), b.weight, b.bias""", transferred)

    def buffer():
        m = nn.BatchNorm1d(2)
        parametrize.register_parametrization(m, "running_mean", Scale(2).requires_grad_(False))
        m.running_mean = torch.ones(2)
        m.eval()
        return keys(m), m.running_mean, m(x(2, 2)), str(m)
    case("parametrize", "a buffer", """local m = nn.BatchNorm1d(2)
register(m, "running_mean", Scale(2):requires_grad_(false))
m.running_mean = lucerna.ones(2)
m:eval()
return keys(m), m.running_mean, m(x(2, 2)), tostring(m)""", buffer)

    def linear(p, **kw):
        return parametrize.register_parametrization(nn.Linear(3, 3), "weight", p, **kw)
    case("parametrize", "unsafe", "return register(nn.Linear(3, 3), 'weight', Flat(), true).weight",
         lambda: linear(Flat(), unsafe=True).weight)
    texts = [("\n", " "), ("torch.float", "float"), ("False", "false"), ("<class '", ""),
             ("'>", "")]
    for name, source, run in [
        ("a change of dtype", "register(nn.Linear(3, 3), 'weight', Double())",
         lambda: linear(Double())),
        ("a change of shape", "register(nn.Linear(3, 3), 'weight', Flat())",
         lambda: linear(Flat())),
        ("a change of dtype on top", "register(register(nn.Linear(3, 3), 'weight', Symmetric()), "
         "'weight', Double())",
         lambda: parametrize.register_parametrization(linear(Symmetric()), "weight", Double())),
        ("a change of shape on top", "register(register(nn.Linear(3, 3), 'weight', Symmetric()), "
         "'weight', Flat())",
         lambda: parametrize.register_parametrization(linear(Symmetric()), "weight", Flat())),
        ("a name that is not there", "register(nn.Linear(3, 3), 'wait', Flat())",
         lambda: parametrize.register_parametrization(nn.Linear(3, 3), "wait", Flat())),
        ("to assign without an inverse", "register(nn.Linear(3, 3), 'weight', Flat(), true)"
         ".weight = x(3, 3)", lambda: setattr(linear(Flat(), unsafe=True), "weight", x(3, 3))),
        ("to remove none", "parametrize.remove_parametrizations(nn.Linear(3, 3), 'weight')",
         lambda: parametrize.remove_parametrizations(nn.Linear(3, 3), "weight")),
        ("to leave several originals", "parametrize.remove_parametrizations(register("
         "nn.Linear(3, 3), 'weight', Outer()), 'weight', false)",
         lambda: parametrize.remove_parametrizations(linear(Outer()), "weight", False)),
        ("an assignment of another dtype", "register(nn.Linear(3, 3), 'weight', Symmetric())"
         ".weight = x(3, 3):double()",
         lambda: setattr(linear(Symmetric()), "weight", x(3, 3).double())),
        ("orthogonal vectors", "ready.orthogonal(nn.Linear(3, 3), 'bias')",
         lambda: parametrizations.orthogonal(nn.Linear(3, 3), "bias")),
        ("an unknown map", "ready.orthogonal(nn.Linear(3, 3), 'weight', 'polar')",
         lambda: parametrizations.orthogonal(nn.Linear(3, 3), "weight", "polar")),
        ("an orthogonal map's inverse", "ready.orthogonal(nn.Linear(3, 3), 'weight', 'cayley', "
         "{use_trivialization = false}).weight = lucerna.eye(3)",
         lambda: setattr(parametrizations.orthogonal(
             nn.Linear(3, 3), "weight", "cayley", use_trivialization=False), "weight",
             torch.eye(3))),
        ("a spectral norm of nothing", "ready.spectral_norm(nn.Linear(3, 3), 'wait')",
         lambda: parametrizations.spectral_norm(nn.Linear(3, 3), "wait")),
        ("no power iterations", "ready.spectral_norm(nn.Linear(3, 3), 'weight', 0)",
         lambda: parametrizations.spectral_norm(nn.Linear(3, 3), "weight", 0)),
    ]:
        case("parametrize", "refuses " + name, source, run, texts)


def shared():
    m = nn.Linear(2, 2)
    m(x(1, 2)).sum().backward()
    m.bias.requires_grad_(False)
    m.scale = x(3).requires_grad_()
    (m.scale * 2).sum().backward()
    m.kept = m.scale.grad
    m.register_buffer("all", x(6))
    m.register_buffer("part", m.all[1:3], persistent=False)
    m.raw = m.weight.data
    m.turned = x(2, 3).t()
    return m


SHARED = """local m = nn.Linear(2, 2)
local _ = m(x(1, 2)):sum():backward()
m.bias:requires_grad_(false)
m.scale = x(3):requires_grad_()
local _ = (m.scale * 2):sum():backward()
m.kept = m.scale.grad
m:register_buffer("all", x(6))
m:register_buffer("part", m.all:narrow(1, 2, 2), false)
m.raw = m.weight.data
m.turned = x(2, 3):t()
"""


def flag(value):
    return "yes" if value else "no"


def clone_cases():
    def copied():
        m = shared()
        c = copy.deepcopy(m)
        c.all.fill_(9)
        c.kept.fill_(4)
        c.raw.fill_(3)
        return (c.weight.grad, flag(c.weight.requires_grad), flag(c.bias.requires_grad),
                c.scale, c.scale.grad, m.scale.grad, c.part, m.part, c.weight,
                list(c.turned.stride()), keys(c))
    case("clone", "tensors", SHARED + """local c = m:clone()
local function flag(value) return value and "yes" or "no" end
c.all:fill_(9)
c.kept:fill_(4)
c.raw:fill_(3)
return c.weight.grad, flag(c.weight.requires_grad), flag(c.bias.requires_grad), c.scale,
  c.scale.grad, m.scale.grad, c.part, m.part, c.weight, c.turned:stride(), keys(c)""", copied)

    def computed():
        m = shared()
        m.list = [m.weight * 2]
        copy.deepcopy(m)
    case("clone", "refuses what was computed", SHARED + """m.list = {m.weight * 2}
m:clone()""", computed)

    def tied():
        m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
        m[2].weight = m[0].weight
        m.append(m[0])
        c = copy.deepcopy(m)
        c[0].weight.data.fill_(0.5)
        return c(x(1, 2)), str(c), flag(c[2].weight is c[0].weight), flag(c[3] is c[0])
    case("clone", "what is tied", """
local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
m[3].weight = m[1].weight
m:append(m[1])
local c = m:clone()
c[1].weight.data:fill_(0.5)
local function flag(value) return value and "yes" or "no" end
return c(x(1, 2)), tostring(c), flag(c[3].weight == c[1].weight), flag(c[4] == c[1])""", tied)


def stateless_cases():
    call = utils.stateless.functional_call

    def linear():
        m, w = nn.Linear(2, 2), x(2, 2).requires_grad_()
        y = call(m, {"weight": w * 2}, x(3, 2))
        (y * y).sum().backward()
        return y, w.grad, m.weight.grad, m.bias.grad
    case("functional_call", "a parameter", """local m, w = nn.Linear(2, 2), x(2, 2):requires_grad_()
local y = functional_call(m, {weight = w * 2}, x(3, 2))
local _ = (y * y):sum():backward()
return y, w.grad, m.weight.grad, m.bias.grad""", linear)

    def norm():
        m = nn.Sequential(nn.BatchNorm1d(2))
        given = {"0.running_mean": torch.ones(2), "0.num_batches_tracked": torch.tensor(4)}
        y = call(m, given, x(3, 2))
        return (y, given["0.running_mean"], given["0.num_batches_tracked"], m[0].running_mean,
                m[0].running_var, m[0].num_batches_tracked)
    case("functional_call", "buffers", """local m = nn.Sequential(nn.BatchNorm1d(2))
local given = {["0.running_mean"] = lucerna.ones(2), ["0.num_batches_tracked"] = lucerna.tensor(4)}
local y = functional_call(m, given, x(3, 2))
return y, given["0.running_mean"], given["0.num_batches_tracked"], m[1].running_mean,
  m[1].running_var, m[1].num_batches_tracked""", norm)


clip_cases()
clone_cases()
stateless_cases()
norm_cases()
parametrize_cases()
spectral_cases()
prune_cases()
vector_cases()
fusion_cases()
rnn_cases()
save(__file__, ",\n".join(cases), True)
