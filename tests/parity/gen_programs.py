"""Records pairs of a few lines in Lua and in Python for names that have no other case, into
data/programs.lua; utils_spec.lua runs them as it does those of gen_utils.py. What PyTorch 1.13
lacks is written out in what it has.

Run with /usr/bin/python3."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import utils
from torch.nn.utils import parametrize, prune

from record import answer, save

cases = []


def case(topic, name, source, python):
    torch.manual_seed(5)
    results = python()
    if not isinstance(results, tuple):
        results = (results,)
    cases.append('{topic="%s", name="%s", lua=[==[\n%s]==],\n out={%s}}' % (
        topic, name, source.strip(), ", ".join(map(answer, results))))


def x(*shape):
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float32) * 0.25 - 1).reshape(shape)


def keys(m):
    return list(m.state_dict())


def loss_cases():
    def fused(reduction, smoothing, bias):
        a, w = x(4, 3).requires_grad_(), x(5, 3).requires_grad_()
        loss = F.cross_entropy(F.linear(a, w, x(5) if bias else None), torch.tensor([0, 4, 2, 1]),
                               weight=x(5) + 2, reduction=reduction, label_smoothing=smoothing)
        loss.sum().backward()
        return loss, a.grad, w.grad
    for reduction, smoothing, bias in [("mean", 0.0, False), ("none", 0.1, True)]:
        options = 'weight = x(5) + 2, reduction = "%s", label_smoothing = %s%s' % (
            reduction, smoothing, ", linear_bias = x(5)" if bias else "")
        case("loss", "linear_cross_entropy " + reduction, """
local a, w = x(4, 3):requires_grad_(), x(5, 3):requires_grad_()
local loss = F.linear_cross_entropy(a, w, lucerna.tensor{1, 5, 3, 2}, {%s})
local _ = loss:sum():backward()
return loss, a.grad, w.grad""" % options, lambda: fused(reduction, smoothing, bias))

    def module():
        linear = nn.Linear(3, 5, bias=False)
        a = x(4, 3).requires_grad_()
        loss = F.cross_entropy(linear(a), torch.tensor([0, 4, 2, 1]))
        loss.backward()
        return loss, a.grad, linear.weight.grad, ["linear.weight"]
    case("loss", "LinearCrossEntropyLoss", """
local m, a = nn.LinearCrossEntropyLoss(3, 5), x(4, 3):requires_grad_()
local loss = m(a, lucerna.tensor{1, 5, 3, 2})
local _ = loss:backward()
return loss, a.grad, m.linear.weight.grad, keys(m)""", module)

    def triplet(**kw):
        a, p, n = (x(3, 4) * k + k for k in (1, 0.5, -0.25))
        a.requires_grad_()
        loss = F.triplet_margin_with_distance_loss(a, p, n, **kw)
        loss.sum().backward()
        return loss, a.grad
    for options, kw in [
        ("", {}), ("margin = 3, swap = true, reduction = 'none'",
                   dict(margin=3, swap=True, reduction="none")),
        ("distance_function = function(a, b) return (a - b):abs():sum(2) end, reduction = 'sum'",
         dict(distance_function=lambda a, b: (a - b).abs().sum(1), reduction="sum")),
    ]:
        case("loss", "triplet_margin_with_distance_loss", """
local a, p, n = (x(3, 4) + 1):requires_grad_(), x(3, 4) * 0.5 + 0.5, x(3, 4) * -0.25 - 0.25
local loss = F.triplet_margin_with_distance_loss(a, p, n%s)
local _ = loss:sum():backward()
return loss, a.grad""" % (options and ", {%s}" % options), lambda: triplet(**kw))


    def entropy(p, y, **kw):
        p.requires_grad_()
        loss = nn.BCELoss(**kw)(p, y)
        loss.sum().backward()
        return loss, p.grad
    for options, kw in [("", {}), ("{weight = x(3) + 2, reduction = 'none'}",
                                   dict(weight=x(3) + 2, reduction="none")),
                        ("{reduction = 'sum'}", dict(reduction="sum"))]:
        case("loss", "BCELoss " + options, """
local p, y = x(2, 3):sigmoid():requires_grad_(), lucerna.tensor{{0, 1, 0.25}, {1, 0.5, 0}}
local loss = nn.BCELoss(%s)(p, y)
local _ = loss:sum():backward()
return loss, p.grad""" % options, lambda: entropy(
            x(2, 3).sigmoid(), torch.tensor([[0, 1, 0.25], [1, 0.5, 0]]), **kw))
    case("loss", "BCELoss at 0 and 1", """
local p = lucerna.tensor{0.0, 1.0, 1.0, 0.0}:requires_grad_()
local loss = nn.BCELoss{reduction = "none"}(p, lucerna.tensor{1.0, 0.0, 1.0, 0.0})
return loss""", lambda: entropy(torch.tensor([0.0, 1, 1, 0]), torch.tensor([1.0, 0, 1, 0]),
                               reduction="none")[0])

    def attended(m, q, k, **kw):
        y, weights = F.multi_head_attention_forward(
            q, k, k, 4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0,
            m.out_proj.weight, m.out_proj.bias, **kw)
        (y * y).sum().backward()
        return y, weights, q.grad, k.grad, m.in_proj_weight.grad, m.out_proj.bias.grad
    for options, kw in [("", {}), (", {average_attn_weights = false, training = false}",
                                   dict(average_attn_weights=False, training=False))]:
        case("attention", "multi_head_attention_forward", """
local m = nn.MultiheadAttention(4, 2)
local q, k = x(3, 2, 4):requires_grad_(), (x(2, 2, 4) * 0.5):requires_grad_()
local y, weights = F.multi_head_attention_forward(q, k, k, 4, 2, m.in_proj_weight,
  m.in_proj_bias, nil, nil, false, 0, m.out_proj.weight, m.out_proj.bias%s)
local _ = (y * y):sum():backward()
return y, weights, q.grad, k.grad, m.in_proj_weight.grad, m.out_proj.bias.grad""" % options,
             lambda: attended(nn.MultiheadAttention(4, 2), x(3, 2, 4).requires_grad_(),
                              (x(2, 2, 4) * 0.5).requires_grad_(), **kw))


def layer_cases():
    def listed():
        m = nn.ParameterList([nn.Parameter(x(2, 3)), nn.Parameter(x(3))])
        m.append(nn.Parameter(x(2)))
        y = F.linear(x(4, 3), m[0], m[2])
        y.sum().backward()
        return str(m), keys(m), y, m[0].grad, m[2].grad, len(m)
    case("containers", "ParameterList", """
local m = nn.ParameterList{nn.Parameter(x(2, 3)), nn.Parameter(x(3))}
m:append(nn.Parameter(x(2)))
local y = F.linear(x(4, 3), m[1], m[3])
local _ = y:sum():backward()
return tostring(m), keys(m), y, m[1].grad, m[3].grad, #m""", listed)

    def named():
        m = nn.ParameterDict({"b": nn.Parameter(x(2)), "w": nn.Parameter(x(2, 3))})
        y = F.linear(x(4, 3), m["w"], m["b"])
        y.sum().backward()
        return str(m), keys(m), y, m["w"].grad, m["b"].grad, len(m)
    case("containers", "ParameterDict", """
local m = nn.ParameterDict{{"b", nn.Parameter(x(2))}, {"w", nn.Parameter(x(2, 3))}}
local y = F.linear(x(4, 3), m.w, m.b)
local _ = y:sum():backward()
return tostring(m), keys(m), y, m.w.grad, m.b.grad, #m""", named)

    def pooled():
        a = (x(1, 1, 4, 4, 4) + 3).requires_grad_()
        y = F.avg_pool3d(a ** 3, 2, 2).mul(8).pow(1 / 3)
        y.sum().backward()
        return y, a.grad
    case("pooling", "LPPool3d", """
local a = (x(1, 1, 4, 4, 4) + 3):requires_grad_()
local y = nn.LPPool3d(3, 2)(a)
local _ = y:sum():backward()
return y, a.grad""", pooled)

    def synchronized():
        plain = nn.Sequential(nn.BatchNorm1d(3)).eval()
        a = x(4, 3).requires_grad_()
        y = plain(a)  # 1.13 has no SyncBatchNorm on the CPU
        y.sum().backward()
        m = nn.SyncBatchNorm.convert_sync_batchnorm(plain)
        return str(m), keys(m), y, a.grad
    case("norm", "SyncBatchNorm", """
local m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))
m:eval()
local a = x(4, 3):requires_grad_()
local y = m(a)
local _ = y:sum():backward()
return tostring(m), keys(m), y, a.grad""", synchronized)

    def recurrent():
        m = nn.RNNBase("LSTM", 3, 2, bidirectional=True)
        shapes = [str(list(w.shape)) for each in m.all_weights for w in each]
        return str(m), keys(m), m.weight_ih_l0, m.bias_hh_l0_reverse, shapes
    case("rnn", "RNNBase", """
local m = nn.RNNBase("LSTM", 3, 2, {bidirectional = true})
local shapes = {}
for _, each in ipairs(m.all_weights) do
  for _, w in ipairs(each) do shapes[#shapes + 1] = "[" .. table.concat(w.shape, ", ") .. "]" end
end
return tostring(m), keys(m), m.weight_ih_l0, m.bias_hh_l0_reverse, shapes""", recurrent)

    def across(size):
        return lambda: nn.CrossMapLRN2d(size, 0.5, 0.75, 2)(x(2, 7, 2, 1))
    for size in (1, 2, 3, 4, 5, 7, 12): # its gradient is not that of its result
        case("layer", "CrossMapLRN2d %d" % size,
             "return nn.CrossMapLRN2d(%d, 0.5, 0.75, 2)(x(2, 7, 2, 1))" % size, across(size))
    case("layer", "CrossMapLRN2d of none", "return nn.CrossMapLRN2d(3)(x(0, 3, 2, 2))",
         lambda: nn.CrossMapLRN2d(3)(x(0, 3, 2, 2)))


def recurrent_cases():
    """Recurrent layers of complex numbers: results and gradients."""
    def filled(m):
        m = m.to(torch.complex128)
        with torch.no_grad():
            for k, p in enumerate(m.parameters()):
                n = torch.arange(p.numel(), dtype=torch.float64).reshape(p.shape)
                p.copy_(torch.complex(torch.cos(n + k), torch.sin(2 * n)) / 2)
        return m

    def sequence(n):
        t = torch.arange(n, dtype=torch.float64)
        return torch.complex(torch.sin(t), torch.cos(3 * t)).requires_grad_()

    def run(m, x, *shape):
        y = filled(m)(x.view(shape))
        while isinstance(y, tuple):
            y = y[0]
        y.abs().sum().backward()
        weight = m.weight_hh if hasattr(m, "weight_hh") else m.weight_hh_l0
        return y, x.grad, weight.grad

    source = """
local m = nn.%s:to(lucerna.complex128)
lucerna.no_grad(function()
  local k = 0
  for p in m:parameters() do
    local n = lucerna.arange(p:numel(), {dtype = lucerna.float64}):reshape(p.shape)
    p:copy_(lucerna.complex((n + k):cos(), (2 * n):sin()) / 2)
    k = k + 1
  end
end)
local t = lucerna.arange(%d, {dtype = lucerna.float64})
local x = lucerna.complex(t:sin(), (3 * t):cos()):requires_grad_()
local y = m(x:view(%s))
y:abs():sum():backward()
return y, x.grad, (m.weight_hh or m.weight_hh_l0).grad"""
    for cell in ("RNNCell", "LSTMCell", "GRUCell"):
        case("layer", "complex " + cell, source % (cell + "(2, 3)", 4, "2, 2"),
             lambda: run(getattr(nn, cell)(2, 3), sequence(4), 2, 2))
    for layer, options in (("RNN", {}), ("LSTM", {}), ("GRU", {}), ("LSTM", {"proj_size": 2}),
                           ("GRU", {"bias": False}),
                           ("RNN", {"num_layers": 2, "bidirectional": True}),
                           ("LSTM", {"num_layers": 2, "bidirectional": True})):
        text = ", ".join("%s = %s" % (k, str(v).lower()) for k, v in options.items())
        case("layer", "complex %s %s" % (layer, text),
             source % ("%s(2, 3, {%s})" % (layer, text), 12, "3, 2, 2"),
             lambda: run(getattr(nn, layer)(2, 3, **options), sequence(12), 3, 2, 2))


def edge_cases():
    """Second options and edge shapes: scalars, empty batches, inputs without a batch."""
    for source, module, shape in [
        ("nn.LogSigmoid()", nn.LogSigmoid(), (2, 0, 3)), ("nn.Softsign()", nn.Softsign(), ()),
        ("nn.Tanhshrink()", nn.Tanhshrink(), (2, 1, 2)),
        ("nn.Threshold(0.2, -1, true)", nn.Threshold(0.2, -1, True), (0, 2)),
        ("nn.Threshold(-0.3, 5)", nn.Threshold(-0.3, 5), (3, 3)),
        ("nn.Softmax()", nn.Softmax(), (2, 2, 3)), ("nn.LogSoftmax(1)", nn.LogSoftmax(0), (4,)),
        ("nn.AdaptiveAvgPool1d(4)", nn.AdaptiveAvgPool1d(4), (2, 7)),
    ]:
        def run():
            a = x(*shape).requires_grad_()
            y = module(a * 1)
            (y * y).sum().backward()
            return str(module), y, a.grad
        size = "{%s}" % ", ".join(map(str, shape))
        text = "tostring(m):gsub('dim=1', 'dim=0')" if "LogSoftmax" in source else "tostring(m)"
        case("edges", source, """
local m, a = %s, x(%s):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (%s), y, a.grad""" % (source, size[1:-1] or "1):reshape({}", text), run)

    def unpooled(pool, unpool, shape, **kw):
        a = x(*shape).sin().requires_grad_()
        y, at = pool(a)
        z = unpool(y, at, **kw)
        (z * z).sum().backward()
        return z, a.grad
    lines = """
local a = x(%s):sin():requires_grad_()
local y, at = %s(a)
local z = %s(y, at%s)
local _ = (z * z):sum():backward()
return z, a.grad"""
    case("edges", "MaxUnpool1d", lines % (
        "1, 7", "nn.MaxPool1d(2, {return_indices = true})", "nn.MaxUnpool1d(2)",
        ", {output_size = {7}}"),
        lambda: unpooled(nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2), (1, 7),
                         output_size=[7]))
    case("edges", "MaxUnpool3d", lines % (
        "2, 1, 4, 2, 4", "nn.MaxPool3d({2, 1, 2}, {return_indices = true})",
        "nn.MaxUnpool3d{2, 1, 2}", ""),
        lambda: unpooled(nn.MaxPool3d((2, 1, 2), return_indices=True), nn.MaxUnpool3d((2, 1, 2)),
                         (2, 1, 4, 2, 4)))


def init_cases():
    for call, fill, shape in [
        ("constant_(t, -3)", lambda t: nn.init.constant_(t, -3), (0, 2)),
        ("ones_(t)", nn.init.ones_, (1,)), ("zeros_(t)", nn.init.zeros_, (2, 0)),
        ("eye_(t)", nn.init.eye_, (4, 2)),
        ("xavier_normal_(t, 2)", lambda t: nn.init.xavier_normal_(t, 2), (2, 3, 2)),
    ]:
        case("init", call, """
local t = x(%s)
return nn.init.%s, t""" % (str(shape)[1:-1].rstrip(","), call),
             lambda: (fill(t := x(*shape)), t))


def gradient_cases():
    def given():
        m = nn.Linear(3, 2)
        m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2
        return m
    lines = """
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2
"""

    def clip():
        m = given()
        return utils.clip_grad_norm(m.parameters(), 0.7), m.weight.grad, m.bias.grad
    case("clip_grad", "clip_grad_norm", lines + """
return utils.clip_grad_norm(m:parameters(), 0.7), m.weight.grad, m.bias.grad""", clip)
    for text, norm_type in [("2", 2.0), ("1", 1.0), ("math.huge", float("inf"))]:
        case("clip_grad", "get_total_norm " + text, lines + """
return utils.get_total_norm({m.weight.grad, m.bias.grad}, %s)""" % text, lambda: torch.linalg.norm(
            torch.cat([x(6), x(2) * 2]), norm_type))

    def halves():
        m = given()
        utils.clip_grad_norm_(m.parameters(), 0.7)
        return m.weight.grad, m.bias.grad
    case("clip_grad", "clip_grads_with_norm_", lines + """
local norm = utils.get_total_norm({m.weight.grad, m.bias.grad})
utils.clip_grads_with_norm_(m:parameters(), 0.7, norm)
return m.weight.grad, m.bias.grad""", halves)


def module_cases():
    def fused():
        return tuple(p.detach() for p in utils.fusion.fuse_linear_bn_weights(
            x(2, 3), x(2), x(2) * 3, x(2) + 2, 1e-3, x(2) + 1.5, x(2) - 1))
    case("fusion", "fuse_linear_bn_weights", """
local weight, bias = utils.fuse_linear_bn_weights(x(2, 3), x(2), x(2) * 3, x(2) + 2, 1e-3,
  x(2) + 1.5, x(2) - 1)
return weight:detach(), bias:detach()""", fused)

    def fused_conv():
        return tuple(p.detach() for p in utils.fusion.fuse_conv_bn_weights(
            x(2, 3, 2), None, x(2) * 3, x(2) + 2, 1e-3, x(2) + 1.5, None))
    case("fusion", "fuse_conv_bn_weights", """
local weight, bias = utils.fuse_conv_bn_weights(x(2, 3, 2), nil, x(2) * 3, x(2) + 2, 1e-3,
  x(2) + 1.5, nil)
return weight:detach(), bias:detach()""", fused_conv)

    def fused_linear():
        m, bn = nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2, eps=0.1)
        bn(m(x(4, 3)))
        return utils.fusion.fuse_linear_bn_eval(m.eval(), bn.eval())(x(2, 3))
    case("fusion", "fuse_linear_bn_eval", """
local m, bn = nn.Linear(3, 2, {bias = false}), nn.BatchNorm1d(2, {eps = 0.1})
bn(m(x(4, 3)))
return utils.fuse_linear_bn_eval(m:eval(), bn:eval())(x(2, 3))""", fused_linear)

    def vectors():
        m = nn.Sequential(nn.Linear(2, 1), nn.PReLU())
        v = utils.parameters_to_vector(m.parameters())
        utils.vector_to_parameters(v * 2 + 1, m.parameters())
        return v, m[0].weight, m[0].bias, m[1].weight
    case("convert_parameters", "there and back", """
local m = nn.Sequential(nn.Linear(2, 1), nn.PReLU())
local v = utils.parameters_to_vector(m:parameters())
utils.vector_to_parameters(v * 2 + 1, m:parameters())
return v, m[1].weight, m[1].bias, m[2].weight""", vectors)

    def skipped():
        m = utils.skip_init(nn.Linear, 3, 2)
        return str(m), keys(m), list(m.weight.shape), torch.rand(2)
    case("skip_init", "skip_init", """
local m = utils.skip_init(nn.Linear, 3, 2)
return tostring(m), keys(m), m.weight.shape, lucerna.rand(2)""", skipped)

    def packed():
        p = utils.rnn.PackedSequence(x(6, 2), torch.tensor([3, 2, 1]))
        padded, lengths = utils.rnn.pad_packed_sequence(p)
        return p.data, p.batch_sizes, padded, lengths
    case("rnn", "PackedSequence", """
local p = rnn.PackedSequence(x(6, 2), lucerna.tensor{3, 2, 1})
local padded, lengths = rnn.pad_packed_sequence(p)
return p.data, p.batch_sizes, padded, lengths""", packed)


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, w):
        return w * self.factor

    def right_inverse(self, w):
        return w / self.factor


def parametrize_cases():
    def scaled():
        return parametrize.register_parametrization(nn.Linear(3, 2), "weight", Scale(2))

    def asked():
        m, plain = scaled(), nn.Linear(2, 2)
        flags = [parametrize.is_parametrized(m), parametrize.is_parametrized(m, "bias"),
                 parametrize.is_parametrized(m, "weight"), parametrize.is_parametrized(plain)]
        return ([str(f) for f in flags], m._get_name(),
                parametrize.type_before_parametrizations(m).__name__,
                str(m.parametrizations.weight), keys(m.parametrizations.weight))
    case("parametrize", "what is asked of modules", """
local m, plain = nn.Linear(3, 2), nn.Linear(2, 2)
parametrize.register_parametrization(m, "weight", Scale(2))
local flags = {parametrize.is_parametrized(m), parametrize.is_parametrized(m, "bias"),
  parametrize.is_parametrized(m, "weight"), parametrize.is_parametrized(plain)}
for i, flag in ipairs(flags) do flags[i] = flag and "True" or "False" end
local list = m.parametrizations.weight -- a ParametrizationList
assert(nn.isinstance(list, parametrize.ParametrizationList))
local before = parametrize.type_before_parametrizations(m) == nn.Linear and "Linear"
return flags, m:_get_name(), before, tostring(list), keys(list)""", asked)

    def moved():
        a, b = scaled(), nn.Linear(3, 2)
        parametrize.register_parametrization(a, "weight", Scale(-1))
        parametrize.transfer_parametrizations_and_params(a, b, "weight")
        return (str(parametrize.is_parametrized(b, "weight")), len(b.parametrizations.weight),
                parametrize.type_before_parametrizations(b).__name__, b.weight, keys(b))
    case("parametrize", "one tensor's parametrizations moved", """
local a, b = nn.Linear(3, 2), nn.Linear(3, 2)
parametrize.register_parametrization(a, "weight", Scale(2))
parametrize.register_parametrization(a, "weight", Scale(-1))
parametrize.transfer_parametrizations_and_params(a, b, "weight")
assert(nn.isinstance(b.parametrizations.weight, parametrize.ParametrizationList))
return parametrize.is_parametrized(b, "weight") and "True" or "False",
  #b.parametrizations.weight,
  parametrize.type_before_parametrizations(b) == nn.Linear and "Linear", b.weight, keys(b)""",
         moved)

    def cached():
        m = scaled()
        with parametrize.cached():
            first = m.weight
            same = first is m.weight
            (m(x(2, 3)) * m(x(2, 3))).sum().backward()
        return str(same), str(m.weight is m.weight), first, m.parametrizations.weight.original.grad
    case("parametrize", "cached", """
local m = parametrize.register_parametrization(nn.Linear(3, 2), "weight", Scale(2))
local function flag(value) return value and "True" or "False" end
local first, same
parametrize.cached(function()
  first = m.weight
  same = rawequal(first, m.weight)
  ;(m(x(2, 3)) * m(x(2, 3))):sum():backward()
end)
return flag(same), flag(rawequal(m.weight, m.weight)), first,
  m.parametrizations.weight.original.grad""", cached)


class Negative(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask * (t > 0)


NEGATIVE = """
local Negative = prune.class("Negative", prune.BasePruningMethod)
Negative.PRUNING_TYPE = "unstructured"
function Negative:compute_mask(t, default_mask) return default_mask * t:gt(0) end
"""


def prune_cases():
    masks = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    mask = "lucerna.tensor{{1.0, 0.0, 1.0}, {0.0, 1.0, 1.0}}"
    for name, source, apply in [
        ("Identity", "", lambda m: prune.Identity.apply(m, "weight")),
        ("RandomUnstructured", ", 2", lambda m: prune.RandomUnstructured.apply(m, "weight", 2)),
        ("L1Unstructured", ", 0.5", lambda m: prune.L1Unstructured.apply(m, "weight", 0.5)),
        ("RandomStructured", ", 1, 2",
         lambda m: prune.RandomStructured.apply(m, "weight", 1, 1)),
        ("LnStructured", ", 1, 2, 1", lambda m: prune.LnStructured.apply(m, "weight", 1, 2, 0)),
        ("CustomFromMask", ", " + mask, lambda m: prune.CustomFromMask.apply(m, "weight", masks)),
    ]:
        def run():
            m = nn.Linear(3, 2)
            apply(m)
            return m.weight, m.weight_mask, keys(m)
        case("prune", name + ".apply", """
local m = nn.Linear(3, 2)
prune.%s.apply(m, "weight"%s)
return m.weight, m.weight_mask, keys(m)""" % (name, source), run)

    def own():
        m = nn.Linear(3, 2)
        Negative.apply(m, "weight")
        prune.l1_unstructured(m, "weight", 1)
        return m.weight_mask
    case("prune", "a method of one's own", NEGATIVE + """
local m = nn.Linear(3, 2)
Negative.apply(m, "weight")
prune.l1_unstructured(m, "weight", 1)
return m.weight_mask""", own)

    def contained():
        first, second = Negative(), prune.L1Unstructured(1)
        first._tensor_name = second._tensor_name = "weight"
        container = prune.PruningContainer(first)
        container.add_pruning_method(second)
        return container.compute_mask(x(2, 3), masks), len(container)
    case("prune", "PruningContainer", NEGATIVE + """
local first, second = Negative(), prune.L1Unstructured(1)
first._tensor_name, second._tensor_name = "weight", "weight"
local container = prune.PruningContainer(first)
container:add_pruning_method(second)
return container:compute_mask(x(2, 3), %s), #container""" % mask, contained)


def average_cases():
    """The averages of swa_utils, written out."""
    a, b = x(2, 3), x(2, 3) * 3 + 1
    ema, swa = 0.9 * a + 0.1 * b, a + (b - a) / 5
    lists = """
local as, bs = {x(2, 3), x(2, 3) * 3 + 1}, {x(2, 3) * 3 + 1, x(2, 3)}
swa_utils.%s(as, bs, 4)
return as[1], as[2]"""
    case("swa_utils", "get_ema_avg_fn", """
return swa_utils.get_ema_avg_fn(0.9)(x(2, 3), x(2, 3) * 3 + 1, 4)""", lambda: ema)
    case("swa_utils", "get_swa_avg_fn", """
return swa_utils.get_swa_avg_fn()(x(2, 3), x(2, 3) * 3 + 1, lucerna.tensor(4))""", lambda: swa)
    case("swa_utils", "get_ema_multi_avg_fn", lists % "get_ema_multi_avg_fn(0.9)",
         lambda: (ema, 0.9 * b + 0.1 * a))
    case("swa_utils", "get_swa_multi_avg_fn", lists % "get_swa_multi_avg_fn()",
         lambda: (swa, b + (a - b) / 5))

    def updated():
        m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, momentum=None)).eval()
        torch.optim.swa_utils.update_bn([(x(4, 3), 1), (x(2, 3) * 2, 2)], m)
        return m[1].running_mean, m[1].running_var, m[1].num_batches_tracked, str(m.training)
    case("swa_utils", "update_bn", """
local m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, {momentum = lucerna.none})):eval()
swa_utils.update_bn({{x(4, 3), 1}, {x(2, 3) * 2, 2}}, m)
return m[2].running_mean, m[2].running_var, m[2].num_batches_tracked,
  m.training and "True" or "False" """, updated)

    def chained():
        o = torch.optim.SGD([nn.Parameter(x(1))], lr=1.0)
        lr = torch.optim.lr_scheduler
        scheduler = lr.ChainedScheduler([lr.StepLR(o, 2, 0.5), lr.ExponentialLR(o, 0.9)])
        rates = []
        for _ in range(5):
            o.step()
            scheduler.step()
            rates += scheduler.get_last_lr()
        return torch.tensor(rates)
    case("lr_scheduler", "ChainedScheduler", """
local o, lr = lucerna.optim.SGD({nn.Parameter(x(1))}, {lr = 1.0}), lucerna.optim.lr_scheduler
local scheduler = lr.ChainedScheduler{lr.StepLR(o, 2, 0.5), lr.ExponentialLR(o, 0.9)}
local rates = {}
for i = 1, 5 do
  o:step()
  scheduler:step()
  rates[i] = scheduler:get_last_lr()[1]
end
return lucerna.tensor(rates)""", chained)


loss_cases()
layer_cases()
recurrent_cases()
edge_cases()
init_cases()
gradient_cases()
module_cases()
parametrize_cases()
prune_cases()
average_cases()
save(__file__, ",\n".join(cases), True)
