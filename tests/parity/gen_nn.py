#!/usr/bin/env python3
"""Records PyTorch's answers for the operators of neural networks: values, gradients and second
derivatives in float64, of inputs that float32 holds exactly, so that one file serves both dtypes.
Writes tests/parity/data/nn_<family>.lua; tests/lua/nn_ops_spec.lua reads them. Positions and
dimensions in these files count from 1, as Lua users count."""
import sys

import torch
import torch.nn.functional as F

from record import save

torch.set_default_dtype(torch.float64)
cases = []


class Dim(int):
    """A dimension: Lua counts from 1."""


class Dims(tuple):
    pass


class Index(int):
    """A position: the same."""


class Indices:
    """An integer tensor of positions; -100 and other negative values stay."""

    def __init__(self, t):
        self.t = t


class Fixed:
    """A floating point tensor without gradient."""

    def __init__(self, t):
        self.t = t


class Written(Fixed):
    """One that the call writes; its values afterwards are recorded."""


class Ints:
    """An integer tensor that is only numbers."""

    def __init__(self, t):
        self.t = t


def real(*shape, seed=[0], step=8, span=2):
    """Multiples of 1/8: short to write and exact in every dtype."""
    seed[0] += 1
    g = torch.Generator().manual_seed(seed[0])
    return (torch.rand(shape, generator=g) * 2 * span - span).mul(step).round().div(step)


def number(x):
    if x != x:
        return "0/0"
    if x in (float("inf"), float("-inf")):
        return "math.huge" if x > 0 else "-math.huge"
    text = "%.10g" % x
    return text if text != "-0" else "0"


def tensor(t, kind, shift=0):
    t = torch.zeros(t.shape) if t._is_zerotensor() else t.detach()
    values = t.flatten().tolist()
    if shift:
        values = [v + 1 if v >= 0 else v for v in values]
    return "{kind=\"%s\", shape={%s}, data={%s}}" % (
        kind, ",".join(map(str, t.shape)), ",".join(number(v) for v in values))


def lua(v):
    if isinstance(v, (Dim, Index)):
        return str(v + 1 if v >= 0 else int(v))
    if isinstance(v, Dims):
        return "{%s}" % ",".join(lua(Dim(d)) for d in v)
    if isinstance(v, Indices):
        return tensor(v.t, "index", 1)
    if isinstance(v, Fixed):
        return tensor(v.t, "fixed")
    if isinstance(v, Ints):
        return tensor(v.t, "int")
    if isinstance(v, torch.Tensor):
        return tensor(v, "real")
    if v is None:
        return "none"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, (list, tuple)):
        return "{list=true, %s}" % ", ".join(map(lua, v))
    return number(v) if isinstance(v, float) else str(v)


def plain(v):
    """What PyTorch is called with."""
    if isinstance(v, (Fixed, Indices, Ints)):
        return v.t.clone()
    if isinstance(v, torch.Tensor):
        return v.clone().requires_grad_()
    if isinstance(v, (Dim, Index)):
        return int(v)
    if isinstance(v, (list, tuple)):
        return type(v)(map(plain, v)) if not isinstance(v, Dims) else tuple(v)
    return v


def leaves(v):
    found = []
    for x in v:
        if isinstance(x, torch.Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found += leaves(x)
    return found


def dot_all(tensors, weights):
    return sum((t * w).sum() for t, w in zip(tensors, weights) if t is not None)


def listed(tensors):
    return "{%s}" % ", ".join("none" if t is None else tensor(t, "fixed") for t in tensors)


def derivatives(out, wrt, second):
    """Gradients for a fixed output gradient, and the second derivatives of their weighted sum."""
    if not (isinstance(out, torch.Tensor) and out.requires_grad and wrt):
        return ""
    gout = real(*out.shape).requires_grad_()
    grads = torch.autograd.grad(out, wrt, gout, create_graph=True, allow_unused=True)
    text = "\n  gout=%s,\n  grads=%s," % (tensor(gout, "fixed"), listed(grads))
    live = [g for g in grads if g is not None]
    if not second or not any(g.requires_grad for g in live):
        return text
    weights = [real(*g.shape) if g is not None else None for g in grads]
    try:
        again = torch.autograd.grad(dot_all(grads, weights), wrt + [gout], allow_unused=True)
    except RuntimeError as error:
        print("  no second derivative:", error)
        return text
    return text + "\n  weights=%s,\n  grads2=%s," % (listed(weights), listed(again))


def case(fn, *args, second=True, name="", results=None, seed=None, **kw):
    """fn is a name in torch or, with a dot before it, in torch.nn.functional."""
    function = getattr(F, fn[1:]) if fn[0] == "." else getattr(torch, fn)
    given, given_kw = [plain(a) for a in args], {k: plain(v) for k, v in kw.items()}
    if seed is not None:
        torch.manual_seed(seed)
    out = function(*given, **given_kw)
    outs = list(out) if isinstance(out, tuple) else [out]
    kinds = ["index" if not t.is_floating_point() else "fixed" for t in outs]
    if results:
        kinds = results
    wrt = [t for t in leaves(list(given) + list(given_kw.values())) if t.requires_grad]
    text = '{name="%s%s", fn="%s",\n' % (fn.strip("."), " " + name if name else "", fn)
    text += "  seed=%d,\n" % seed if seed is not None else ""
    text += "  args={n=%d, %s},\n" % (len(args), ", ".join(map(lua, args)))
    text += "  kw={%s},\n" % ", ".join("%s=%s" % (k, lua(v)) for k, v in kw.items())
    text += "  out={%s}," % ", ".join(
        tensor(t, k, k == "index") for t, k in zip(outs, kinds))
    text += derivatives(outs[0], wrt, second)
    written = [(i + 1, given[i]) for i, a in enumerate(args) if isinstance(a, Written)]
    if written:
        text += "\n  written={%s}," % ", ".join("[%d]=%s" % (i, tensor(t, "fixed"))
                                                for i, t in written)
    cases.append(text + "\n}")


def write(family):
    save(__file__, ",\n".join(cases), True, "nn_" + family)
    cases.clear()


def matmul():
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)),
              ((2, 2, 3), (3, 4)),
              ((2, 2, 3), (3,)), ((3,), (2, 3, 2)), ((2, 2, 3), (2, 3, 2)),
              ((2, 1, 2, 3), (3, 3, 1)),
              ((1, 2, 3), (2, 3, 2)), ((3, 1, 1, 2), (1, 2, 2, 3)), ((0, 3), (3, 2)),
              ((2, 0), (0, 3)), ((0, 2, 3), (3, 2)), ((1, 1), (1, 1)), ((5, 7), (7, 9))]
    for a, b in shapes:
        case("matmul", real(*a), real(*b), name="%s %s" % (a, b))
    case("mm", real(3, 4), real(4, 2))
    case("bmm", real(2, 3, 4), real(2, 4, 2))
    case("mv", real(3, 4), real(4))
    case("dot", real(5), real(5))
    case("matmul", Ints(torch.arange(6).view(2, 3)), Ints(torch.arange(12).view(3, 4) - 5),
         results=["int"], name="integers")
    case("addmm", real(2, 4), real(2, 3), real(3, 4))
    case("addmm", real(4), real(2, 3), real(3, 4), beta=0.5, alpha=2, name="broadcast, scaled")
    case("addmm", real(1, 4), real(2, 3), real(3, 4), beta=0, name="beta 0")
    case("addmv", real(2), real(2, 3), real(3), alpha=-1.5)
    case("baddbmm", real(2, 3, 2), real(2, 3, 4), real(2, 4, 2), beta=2)
    case("addbmm", real(3, 2), real(2, 3, 4), real(2, 4, 2), beta=2, alpha=0.5)
    case("addr", real(3, 2), real(3), real(2), alpha=2)
    case("outer", real(3), real(2))
    case("inner", real(3), real(3))
    case("inner", real(2, 3), real(2, 2, 3))
    case("tensordot", real(2, 3, 4), real(3, 4, 2), 2)
    case("tensordot", real(2, 3), real(4), 0, name="0")
    for shape in [(4,), (3, 4), (2, 3, 4), (0, 4)]:
        case(".linear", real(*shape), real(5, 4), real(5), name=str(shape))
    case(".linear", real(3, 4), real(5, 4), name="without bias")
    case(".linear", real(3, 4), real(4), name="weight [in]")
    case(".bilinear", real(3, 2), real(3, 4), real(5, 2, 4), real(5))
    case(".bilinear", real(2, 3, 2), real(2, 3, 3), real(2, 2, 3), name="3 dims, without bias")
    for eq, *shapes in [("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)),
                        ("ii", (3, 3)), ("ij->", (2, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
                        ("bhid,bhjd->bhij", (2, 2, 3, 2), (2, 2, 3, 2)), ("i,j->ij", (2,), (3,)),
                        ("i,i->", (3,), (3,)), ("...ij,...jk", (2, 2, 3), (3, 2)),
                        ("ij,kj,lk->il", (2, 3), (2, 3), (4, 2)),
                        ("ij,ij,i->j", (2, 3), (2, 3), (2,)),
                        ("b...,bc->c...", (2, 3, 2), (2, 3)), ("iji->j", (2, 3, 2)),
                        ("ab,cd", (2, 2), (2, 3))]:
        case("einsum", eq, [real(*s) for s in shapes], name=eq)
    write("matmul")


def activation():
    kinks = torch.tensor([0.0, 0.5, -0.5, 3.0, -3.0, 1.0, -1.0, 6.0])
    x = lambda: torch.cat([real(12, span=5), kinks])
    plainly = ["silu", "mish", "logsigmoid", "relu6", "hardsigmoid", "hardswish", "softsign",
               "tanhshrink", "selu", "celu", "elu", "leaky_relu", "hardtanh", "softplus",
               "hardshrink", "softshrink", "gelu"]
    for fn in plainly:
        case("." + fn, x().view(4, 5), second=fn != "logsigmoid")
    case(".gelu", x(), approximate="tanh", name="tanh")
    case(".leaky_relu", x(), 0.25)
    case(".elu", x(), 0.5)
    case(".celu", x(), 2.0)
    case(".hardtanh", x(), -0.5, 3.0)
    case(".softplus", real(6, span=30), name="far")
    case(".softplus", x(), 2.0, 3.0)
    case(".hardshrink", x(), 1.0)
    case(".softshrink", x(), 1.0)
    case(".threshold", x(), 0.5, -7.0)
    case(".prelu", real(2, 3, 2), real(3))
    case(".prelu", real(5), real(1), name="one slope")
    case(".prelu", real(3, 2), real(1), name="one slope, 2 dims")
    case(".glu", real(2, 4))
    case(".glu", real(4, 3), Dim(0), name="dim")
    write("activation")


def softmax():
    for fn in ["softmax", "log_softmax", "softmin"]:
        for dim in (0, 1, 2, -1):
            case("." + fn, real(2, 3, 4), Dim(dim), name="dim %d" % dim)
        case("." + fn, real(5), Dim(0), name="vector")
        case("." + fn, real(3, 0), Dim(0), name="empty")
    case(".log_softmax", torch.tensor([[1000.0, 0, -1000], [-1e4, -1e4, -1e4]]), Dim(1), name="far")
    case(".softmax", torch.tensor([[float("-inf"), 0, 1]]), Dim(1), name="-inf", second=False)
    write("softmax")


def conv():
    case(".conv2d", real(2, 3, 5, 6), real(4, 3, 3, 2), real(4))
    case(".conv2d", real(3, 5, 6), real(4, 3, 3, 2), real(4), name="without batch")
    case(".conv2d", real(2, 2, 5, 6), real(3, 2, 3, 3), name="without bias")
    case(".conv2d", real(1, 2, 7, 6), real(3, 2, 3, 2), real(3), stride=2, padding=1,
         name="stride 2")
    case(".conv2d", real(1, 2, 7, 8), real(2, 2, 3, 2), real(2), stride=(2, 3), padding=(2, 1),
         dilation=(1, 2), name="uneven everything")
    case(".conv2d", real(2, 4, 5, 5), real(6, 2, 3, 3), real(6), groups=2, padding=1, name="groups")
    case(".conv2d", real(1, 3, 5, 5), real(6, 1, 3, 3), real(6), groups=3, name="depthwise, 2 each")
    case(".conv2d", real(1, 3, 5, 5), real(3, 1, 3, 3), groups=3, padding=1, name="depthwise")
    case(".conv2d", real(1, 2, 4, 5), real(3, 2, 2, 3), real(3), padding="same", name="same")
    case(".conv2d", real(1, 2, 5, 6), real(2, 2, 2, 4), padding="same", dilation=(1, 2),
         name="same, dilated")
    case(".conv2d", real(1, 2, 4, 5), real(3, 2, 2, 3), real(3), padding="valid", name="valid")
    case(".conv2d", real(2, 5, 3, 3), real(4, 5, 1, 1), real(4), name="1x1")
    case(".conv2d", real(1, 5, 4, 4), real(4, 5, 1, 1), real(4), stride=2, name="1x1 stride 2")
    case(".conv2d", real(0, 2, 4, 4), real(3, 2, 3, 3), real(3), name="empty batch")
    case(".conv2d", real(1, 2, 3, 3), real(2, 2, 3, 3), name="one pixel")
    case(".conv1d", real(2, 3, 7), real(4, 3, 3), real(4), padding=1)
    case(".conv1d", real(3, 7), real(4, 3, 2), real(4), stride=2, name="without batch")
    case(".conv1d", torch.tensor([[[1.0, 2, 3]]]), torch.tensor([[[1.0, 10]]]), padding="same",
         name="same: the odd cell is on the right")
    case(".conv1d", real(1, 4, 6), real(4, 2, 3), groups=2, dilation=2, padding=2, name="groups")
    case(".conv3d", real(1, 2, 3, 4, 3), real(2, 2, 2, 2, 2), real(2), padding=1, stride=2)
    case(".conv_transpose2d", real(2, 3, 3, 4), real(3, 2, 3, 2), real(2))
    case(".conv_transpose2d", real(1, 2, 3, 3), real(2, 3, 3, 3), real(3), stride=2, padding=1,
         output_padding=1, name="stride 2")
    case(".conv_transpose2d", real(1, 4, 3, 3), real(4, 2, 2, 3), groups=2, dilation=(2, 1),
         name="groups, dilated")
    case(".conv_transpose2d", real(2, 3, 3), real(2, 3, 2, 2), real(3), stride=(1, 2),
         name="without batch")
    case(".conv_transpose1d", real(2, 3, 4), real(3, 2, 3), real(2), stride=3, padding=1,
         output_padding=2)
    write("conv")


def pool():
    case(".max_pool2d", real(2, 3, 5, 6), 2)
    case(".max_pool2d", real(3, 5, 6), (3, 2), stride=(1, 2), name="without batch")
    case(".max_pool2d", real(1, 2, 6, 7), 3, stride=2, padding=1, name="padding")
    case(".max_pool2d", real(1, 2, 6, 7), 2, stride=1, dilation=(2, 3), name="dilation")
    case(".max_pool2d", real(1, 2, 6, 7), 3, stride=2, padding=1, ceil_mode=True, name="ceil_mode")
    case(".max_pool2d", real(1, 1, 5, 5), 2, ceil_mode=True, name="ceil_mode 2")
    case(".max_pool2d", torch.zeros(1, 1, 4, 4), 2, name="ties")
    case(".max_pool2d", real(1, 2, 4, 4), 2, return_indices=True, name="indices")
    case(".max_pool2d", real(2, 2, 5, 5), 3, stride=2, padding=1, return_indices=True,
         name="overlapping indices")
    nan = real(1, 1, 4, 4)
    nan[0, 0, 1, 2] = float("nan")
    case(".max_pool2d", nan, 2, name="NaN", second=False)
    case(".max_pool2d", real(0, 2, 4, 4), 2, name="empty batch", second=False)
    case(".max_pool1d", real(2, 3, 7), 3, stride=2, padding=1)
    case(".max_pool1d", real(3, 7), 2, ceil_mode=True, name="without batch")
    case(".max_pool1d", real(2, 3, 8), 2, return_indices=True, name="indices")
    case(".avg_pool2d", real(2, 3, 5, 6), 2)
    case(".avg_pool2d", real(3, 5, 6), (3, 2), stride=(1, 2), name="without batch")
    for ceil in (False, True):
        for include in (False, True):
            case(".avg_pool2d", real(1, 2, 6, 7), 3, stride=2, padding=1, ceil_mode=ceil,
                 count_include_pad=include, name="ceil %s include %s" % (ceil, include))
    case(".avg_pool2d", real(1, 2, 6, 7), 3, padding=1, divisor_override=4, name="divisor")
    case(".avg_pool1d", torch.tensor([[[1.0, 2, 3, 4, 5, 6]]]), 2, stride=2, padding=1,
         ceil_mode=True, name="windows past the end")
    case(".avg_pool1d", real(3, 7), 3, name="without batch")
    case(".adaptive_avg_pool2d", real(2, 3, 5, 7), (3, 2))
    case(".adaptive_avg_pool2d", real(2, 5, 7), 1, name="one, without batch")
    case(".adaptive_avg_pool2d", real(1, 2, 3, 2), (5, 4), name="larger than the input")
    case(".adaptive_avg_pool2d", real(1, 2, 3, 4), (None, 2), name="None keeps")
    case(".adaptive_avg_pool1d", real(2, 3, 7), 3)
    case(".adaptive_max_pool2d", real(2, 3, 5, 7), (3, 2))
    case(".adaptive_max_pool2d", real(2, 5, 7), 3, return_indices=True, name="indices")
    case(".adaptive_max_pool2d", real(1, 2, 3, 2), (5, None), name="larger, None")
    case(".adaptive_max_pool1d", real(2, 3, 7), 3, return_indices=True)
    write("pool")


def norm():
    pos = lambda *s: real(*s).abs() + 0.5
    case(".batch_norm", real(4, 3), None, None, real(3), real(3), training=True)
    case(".batch_norm", real(2, 3, 4), Written(real(3)), Written(pos(3)), real(3), real(3), True,
         name="running statistics")
    case(".batch_norm", real(2, 3, 2, 2), Written(real(3)), Written(pos(3)), training=True,
         momentum=0.5, eps=0.125, name="without weight")
    case(".batch_norm", real(2, 3, 2), Written(real(3)), Written(pos(3)), real(3), real(3),
         name="eval")
    case(".batch_norm", real(2, 3, 2, 2), Fixed(real(3)), Fixed(pos(3)), name="eval without weight")
    case(".batch_norm", torch.tensor([[1.0, 2], [3, 6]]), Written(torch.zeros(2)),
         Written(torch.ones(2)), training=True, name="unbiased running variance")
    case(".layer_norm", real(3, 5), (5,), real(5), real(5))
    case(".layer_norm", real(2, 3, 4), (3, 4), real(3, 4), real(3, 4), name="two dims")
    case(".layer_norm", real(3, 5), (5,), name="without weight")
    case(".layer_norm", real(3, 5), (5,), None, real(5), 0.125, name="bias alone")
    case(".layer_norm", real(0, 5), (5,), real(5), real(5), name="empty", second=False)
    case(".group_norm", real(2, 4, 3), 2, real(4), real(4))
    case(".group_norm", real(2, 4, 2, 2), 4, name="each channel")
    case(".group_norm", real(3, 4), 1, real(4), real(4), name="all channels")
    case(".instance_norm", real(2, 3, 4), None, None, real(3), real(3))
    case(".instance_norm", real(2, 3, 2, 2), Written(real(3)), Written(pos(3)), name="running")
    case(".instance_norm", real(2, 3, 4), Fixed(real(3)), Fixed(pos(3)), use_input_stats=False,
         name="given statistics")
    case(".normalize", real(2, 3))
    case(".normalize", real(2, 3), 1.0, Dim(0), name="p 1")
    write("norm")


def loss():
    three = ["none", "mean", "sum"]
    target = torch.tensor([2, 0, 1, 2])
    ignoring = torch.tensor([2, -100, 1, 2])
    for fn in ["nll_loss", "cross_entropy"]:
        for r in three:
            case("." + fn, real(4, 3), Indices(target), reduction=r, name=r)
            case("." + fn, real(4, 3), Indices(target), Fixed(torch.tensor([1.0, 2, 0.5])),
                 reduction=r, name="weight " + r)
            case("." + fn, real(4, 3), Indices(target), Fixed(torch.tensor([1.0, 2, 0.5])),
                 ignore_index=Index(1), reduction=r, name="weight, ignore " + r)
            case("." + fn, real(4, 3), Indices(ignoring), reduction=r, name="-100 " + r)
            case("." + fn, real(2, 3, 2), Indices(torch.tensor([[2, 0], [1, 1]])), reduction=r,
                 name="[N, C, d] " + r)
        case("." + fn, real(3), Indices(torch.tensor(1)), name="[C]")
        planes = torch.tensor([[[2, 0], [1, 1]], [[0, 0], [1, 2]]])
        case("." + fn, real(2, 3, 2, 2), Indices(planes),
             name="[N, C, d, d]")
        case("." + fn, real(2, 3), Indices(torch.tensor([-100, -100])), name="all ignored",
             second=False)
        case("." + fn, real(0, 3), Indices(torch.tensor([], dtype=torch.int64)), name="empty",
             second=False)
    logits = torch.tensor([[1.0, 2, 3], [1, 0, -1], [0, 0, 5]])
    oracle = Indices(torch.tensor([2, 0, 1]))
    w = Fixed(torch.tensor([1.0, 2, 0.5]))
    for kw in [{}, dict(weight=w), dict(ignore_index=Index(1)), dict(label_smoothing=0.1),
               dict(weight=w, label_smoothing=0.1),
               dict(weight=w, ignore_index=Index(1), label_smoothing=0.1)]:
        for r in three:
            case(".cross_entropy", logits, oracle, reduction=r, **kw,
                 name="oracle %s %s" % (" ".join(kw), r))
    probs = torch.tensor([[0.25, 0.5, 0.25], [1, 0, 0], [0.125, 0.125, 0.75]])
    for r in three:
        case(".cross_entropy", logits, probs, reduction=r, name="probabilities " + r)
        case(".cross_entropy", logits, probs, w, reduction=r, label_smoothing=0.25,
             name="probabilities, weight, smoothing " + r)
    case(".cross_entropy", real(2, 3, 2), Fixed(real(2, 3, 2).abs()),
         name="probabilities [N, C, d]")
    case(".cross_entropy", real(3), Fixed(real(3).abs()), name="probabilities [C]")
    case(".cross_entropy", real(2, 3, 2), Indices(torch.tensor([[2, 0], [1, -100]])),
         label_smoothing=0.5, name="smoothing [N, C, d]")
    for r in three:
        for fn in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]:
            case("." + fn, real(2, 3), real(2, 3), reduction=r, name=r)
        unit = lambda: real(2, 3).abs() / 4 + 0.125
        case(".binary_cross_entropy", unit(), unit(), reduction=r, name=r)
        case(".binary_cross_entropy", unit(), Fixed(unit()), Fixed(unit()), reduction=r,
             name="weight " + r)
        case(".binary_cross_entropy_with_logits", real(2, 3), unit(), reduction=r, name=r)
        case(".binary_cross_entropy_with_logits", real(2, 3), Fixed(unit()), Fixed(unit()),
             reduction=r, pos_weight=Fixed(real(3).abs()), name="weight, pos_weight " + r)
    for r in three + ["batchmean"]:
        case(".kl_div", real(2, 3), real(2, 3).abs() + 0.125, reduction=r, name=r)
        case(".kl_div", real(2, 3), real(2, 3), reduction=r, log_target=True,
             name="log_target " + r)
    case(".kl_div", real(3), Fixed(torch.tensor([0.0, 1, 0.5])), reduction="sum", name="target 0")
    case(".smooth_l1_loss", torch.tensor([0.25, 3.0]), torch.zeros(2), reduction="none", beta=0.5,
         name="beta")
    knees = torch.tensor([0.5, -0.5, 0.25, 2, 0])
    case(".smooth_l1_loss", knees, torch.zeros(5), reduction="none", beta=0.5, name="at the knee")
    case(".huber_loss", knees, torch.zeros(5), reduction="none", delta=0.5, name="at the knee")
    case(".smooth_l1_loss", torch.tensor([0.25, -3.0]), torch.zeros(2), beta=0.0, name="beta 0")
    case(".huber_loss", torch.tensor([0.25, 3.0]), torch.zeros(2), reduction="none", delta=0.5,
         name="delta")
    case(".binary_cross_entropy", torch.tensor([0.0, 1.0, 0.5]),
         Fixed(torch.tensor([1.0, 0.0, 1.0])),
         reduction="none", name="logs are cut at -100", second=False)
    case(".binary_cross_entropy_with_logits", torch.tensor([1000.0, -1000.0]),
         Fixed(torch.tensor([0.0, 1.0])), name="far")
    case(".mse_loss", real(2, 3), real(2, 3), None, None, "sum", name="positional")
    case(".mse_loss", real(2, 3), real(2, 3), False, name="size_average")
    case(".mse_loss", real(2, 3), real(2, 3), reduce=False, name="reduce")
    ids = Indices(torch.tensor([[1, 3, 1], [0, 4, 3]]))
    case(".embedding", ids, real(5, 2))
    case(".embedding", Indices(torch.tensor(2)), real(5, 2), name="one id")
    case(".embedding", ids, real(5, 2), padding_idx=Index(3), name="padding_idx")
    case(".embedding", ids, real(5, 2), padding_idx=Index(-2), name="padding_idx from the end")
    case(".embedding", ids, real(5, 2), scale_grad_by_freq=True, name="scale_grad_by_freq",
         second=False)
    case(".embedding", ids, Written(real(5, 2)), max_norm=1.0, name="max_norm")
    case(".embedding", ids, Written(real(5, 2)), max_norm=1.0, norm_type=1.0, name="max_norm, p 1")
    case(".embedding", Indices(torch.zeros(0, 2, dtype=torch.int64)), real(5, 2), name="no ids",
         second=False)
    case(".one_hot", ids, results=["int"])
    case(".one_hot", ids, 7, results=["int"], name="num_classes")
    case(".cosine_similarity", real(2, 3), real(2, 3))
    case(".cosine_similarity", real(2, 3, 2), real(3, 1), Dim(1), name="broadcast")
    case(".pairwise_distance", real(2, 3), real(2, 3))
    case(".pairwise_distance", real(2, 3), real(2, 3), p=1.0, keepdim=True, name="p 1")
    write("loss")


def dropout():
    x = lambda *s: real(*s).abs() + 0.5
    case(".dropout", x(4, 5), 0.3, seed=1)
    case(".dropout", x(30), seed=2, name="half")
    case(".dropout", x(4, 5), 0.3, False, name="eval")
    case(".dropout", x(4, 5), 1.0, name="everything")
    case(".dropout", x(4, 5), 0.0, name="nothing")
    case(".dropout1d", x(3, 4, 2), 0.4, seed=3)
    case(".dropout1d", x(4, 2), 0.4, seed=4, name="without batch")
    case(".dropout2d", x(3, 4, 2, 2), 0.4, seed=5)
    case(".dropout3d", x(2, 4, 1, 2, 2), 0.4, seed=6)
    write("dropout")


if __name__ == "__main__":
    families = (matmul, activation, softmax, conv, pool, norm, loss, dropout)
    families = {f.__name__: f for f in families}
    for name in sys.argv[1:] or families:
        families[name]()
