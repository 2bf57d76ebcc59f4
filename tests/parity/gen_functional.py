#!/usr/bin/env python3
"""Records nn.functional: functions that gen_nn.py has not, with their options, edge shapes and
errors. Writes data/functional_<family>.lua; tests/lua/functional_spec.lua runs them. Run:
python3 tests/parity/gen_functional.py [family…]"""
import sys

import torch
import torch.nn.functional as F

from record import Const, Dim, Ids, case, real, write

inf, nan = float("inf"), float("nan")


def t(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


def smooth(*shape):
    """Away from the kinks of activations and from ties, each call on a grid of its own."""
    smooth.calls += 1
    return real(*shape) * (0.93 - smooth.calls % 7 / 77) + 0.0712 + smooth.calls % 5 / 91


smooth.calls = 0


def activation():
    for fn, more in [("relu", []), ("relu6", []), ("elu", [0.5]), ("selu", []), ("celu", [2.0]),
                     ("leaky_relu", [0.2]), ("silu", []), ("mish", []), ("hardtanh", [-0.5, 0.75]),
                     ("hardsigmoid", []), ("hardswish", []), ("threshold", [0.3, 7.0]),
                     ("rrelu", []), ("rrelu", [0.25, 0.5])]:
        case("F." + fn, smooth(2, 3), *more, grad=fn != "hardsigmoid")  # PyTorch's is rough
        case("F." + fn, smooth(0, 3), *more, name="empty")
    for fn, more in [("relu_", []), ("elu_", [0.5]), ("selu_", []), ("celu_", [2.0]),
                     ("leaky_relu_", [0.2]), ("hardtanh_", [-0.5, 0.75]),
                     ("threshold_", [0.3, 7.0]), ("rrelu_", [0.25, 0.5])]:
        case("F." + fn, smooth(2, 3), *more)
    case("F.rrelu_", smooth(2, 3), 0.25, 0.5, True, seed=3, name="training")
    case("F.rrelu", smooth(3, 4), training=True, seed=1, name="training", dense=True)
    case("F.rrelu", smooth(3, 4), 0.1, 0.9, True, seed=2, name="training, bounds", dense=True)
    case("F.rrelu", real(6).float(), training=True, seed=2, name="float32", dense=True)
    case("F.rrelu", smooth(3), 0.5, 0.25, name="bounds out of order")
    for kw in [{}, {"tau": 0.5}, {"dim": Dim(0)}]:
        case("F.gumbel_softmax", smooth(2, 3), seed=4, dense=True, **kw)
    case("F.gumbel_softmax", smooth(2, 3), 2.0, True, seed=5, name="hard", dense=True, rough=True)
    case("F.gumbel_softmax", smooth(2, 3), dim=Dim(2), name="no such dim")
    for fn in ["alpha_dropout", "feature_alpha_dropout"]:
        case("F." + fn, smooth(3, 4, 2), training=True, seed=6, dense=True)
        case("F." + fn, smooth(3, 4), 0.25, True, seed=7, dense=True, name="p")
        case("F." + fn, smooth(2, 3), 1.0, True, seed=7, dense=True, name="p = 1")
        case("F." + fn, smooth(2, 3), name="not training")
        case("F." + fn, smooth(0, 3), training=True, name="empty")
        case("F." + fn, smooth(2, 3), 1.5, True, name="p above 1")
    case("F.feature_alpha_dropout", smooth(3), training=True, name="one dimension")
    write("functional_activation", __file__)


def signs(*values):
    return Const(t(*values))


def loss():
    for fn in ["l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss"]:
        for reduction in ["none", "sum", "mean"]:
            case("F." + fn, smooth(2, 3), smooth(2, 3), reduction=reduction, name=reduction)
        case("F." + fn, smooth(0, 3), smooth(0, 3), reduction="sum", name="empty")
        case("F." + fn, smooth(2), smooth(2), reduction="max", name="no such reduction")
    case("F.smooth_l1_loss", t(0.25, 3.0), t(0.0, 0.0), reduction="none", beta=0.5, name="beta")
    case("F.smooth_l1_loss", smooth(3), smooth(3), beta=0.0, name="beta 0")
    case("F.huber_loss", t(0.25, 3.0), t(0.0, 0.0), reduction="none", delta=0.5, name="delta")
    case("F.mse_loss", smooth(2, 3), smooth(3), name="broadcast")
    case("F.l1_loss", smooth(3), smooth(3), size_average=False, name="size_average")
    case("F.mse_loss", smooth(3), smooth(3), reduce=False, name="reduce")
    case("F.poisson_nll_loss", smooth(2, 3), Const(smooth(2, 3) + 3))
    for kw in [{"log_input": False}, {"full": True}, {"reduction": "none"},
               {"reduction": "sum", "full": True}, {"log_input": False, "eps": 0.5}]:
        case("F.poisson_nll_loss", smooth(2, 3) + 3, Const(smooth(2, 3) + 2.5),
             name=" ".join(kw), **kw)
    case("F.poisson_nll_loss", smooth(2, 3), smooth(2, 3) + 3.5, full=True, name="target")
    case("F.poisson_nll_loss", smooth(2), smooth(2), reduction="max", name="no such reduction")
    case("F.gaussian_nll_loss", smooth(2, 3), smooth(2, 3), smooth(2, 3) + 3)
    for kw in [{"full": True}, {"reduction": "none"}, {"reduction": "sum", "eps": 0.5}]:
        case("F.gaussian_nll_loss", smooth(2, 3), smooth(2, 3), smooth(2, 3) + 3, name=" ".join(kw),
             **kw)
    case("F.gaussian_nll_loss", smooth(2, 3), smooth(2, 3), smooth(2) + 3, name="var by line")
    case("F.gaussian_nll_loss", smooth(2, 3), smooth(2, 3), smooth(2, 1) + 3, name="var of size 1")
    case("F.gaussian_nll_loss", smooth(3), smooth(3), t(0.5, 1e-9, 0.0), name="small var",
         rough=True)
    case("F.gaussian_nll_loss", smooth(2), smooth(2), t(1.0, -1.0), name="negative var")
    case("F.gaussian_nll_loss", smooth(2, 3), smooth(2, 3), smooth(3) + 3, name="shape of var")
    pairs = [{}, {"margin": 0.5}, {"reduction": "none"}, {"reduction": "sum"}]
    for kw in pairs:
        name = " ".join(map(str, kw.values()))
        case("F.margin_ranking_loss", smooth(4), smooth(4), signs(1, -1, 1, -1), name=name, **kw)
        case("F.hinge_embedding_loss", smooth(2, 4), signs(1, -1, -1, 1), name=name, **kw)
        case("F.cosine_embedding_loss", smooth(4, 3), smooth(4, 3), signs(1, -1, -1, 1), name=name,
             **kw)
    case("F.margin_ranking_loss", smooth(2, 3), smooth(2, 1), Const(t([1.0, -1, 1])),
         name="broadcast")
    case("F.margin_ranking_loss", smooth(2, 3), smooth(3), signs(1, 1, 1), name="ranks differ")
    case("F.margin_ranking_loss", smooth(0), smooth(0), Const(real(0)), reduction="sum",
         name="empty")
    case("F.hinge_embedding_loss", smooth(0), Const(real(0)), reduction="none", name="empty")
    case("F.hinge_embedding_loss", smooth(3), signs(1, -1), name="shapes")
    case("F.soft_margin_loss", smooth(3), signs(1, -1), name="shapes")
    case("F.soft_margin_loss", smooth(0), signs(), reduction="sum", name="empty")
    for reduction in ["none", "sum", "mean"]:
        case("F.soft_margin_loss", smooth(3), signs(1, -1, 1), reduction=reduction, name=reduction)
    case("F.cosine_embedding_loss", smooth(3), smooth(3), Const(t(1.0).reshape(())), name="vectors")
    case("F.cosine_embedding_loss", smooth(2, 3), smooth(2, 3), signs(1), name="one target")
    case("F.cosine_embedding_loss", smooth(2, 3), smooth(2, 3), Const(real(2, 3)), name="targets")
    case("F.cosine_embedding_loss", smooth(3), smooth(3), signs(1), name="ranks")
    w = Const(t(1.0, 2.0, 0.5))
    yes = Const(t([1.0, 0, 1], [0, 0, 1]))
    for kw in [{}, {"weight": w}, {"reduction": "none"}, {"reduction": "sum", "weight": w}]:
        case("F.multilabel_soft_margin_loss", smooth(2, 3), yes, name=" ".join(kw), **kw)
    case("F.multilabel_soft_margin_loss", smooth(3), Const(t(1.0, 0, 1)), name="one line")
    case("F.multilabel_soft_margin_loss", t(-.5, .7), Const(t(1, 0).byte()), name="bytes")
    case("F.multilabel_soft_margin_loss", smooth(2, 3), smooth(2, 2), name="shapes")
    for kw in [{}, {"margin": 0.5, "p": 1.0}, {"p": 3.0, "reduction": "none"}, {"swap": True},
               {"swap": True, "reduction": "sum", "eps": 1e-3}]:
        case("F.triplet_margin_loss", smooth(3, 4), smooth(3, 4), smooth(3, 4), name=" ".join(kw),
             **kw)
    case("F.triplet_margin_loss", smooth(4), smooth(4), smooth(4), name="vectors")
    case("F.triplet_margin_loss", smooth(2, 4), smooth(4), smooth(4), name="ranks differ")
    for kw in [{}, {"p": 2}, {"margin": 0.5, "weight": w}, {"reduction": "none"},
               {"reduction": "sum", "p": 2, "weight": w}]:
        case("F.multi_margin_loss", smooth(4, 3), Ids(0, 2, 1, 2), name=" ".join(kw), **kw)
    case("F.multi_margin_loss", smooth(3), Ids(torch.tensor(1)), name="one line")
    case("F.multi_margin_loss", smooth(3), Ids(1), reduction="none", name="one line, a target of 1")
    case("F.multi_margin_loss", smooth(2, 3), Ids(0, 3), name="target out of range")
    case("F.multi_margin_loss", smooth(2, 3), Ids(0, 1), p=3, name="p")
    case("F.multi_margin_loss", smooth(2, 3), Ids(0, 1, 2), name="sizes")
    lists = Ids(torch.tensor([[3, 0, -1, 1], [1, -1, 2, 0], [-1, 0, 0, 0], [0, 1, 2, 3]]))
    for reduction in ["mean", "none", "sum"]:
        case("F.multilabel_margin_loss", smooth(4, 4), lists, reduction=reduction, name=reduction)
    case("F.multilabel_margin_loss", smooth(4), Ids(3, 0, -1, 1), name="one line")
    case("F.multilabel_margin_loss", smooth(2, 3), Ids(0, 1), name="sizes")
    case("F.multilabel_margin_loss", smooth(3), Ids(0, 4, -1), name="target out of range")
    write("functional_loss", __file__)


def ctc():
    lp = lambda *shape: real(*shape).log_softmax(-1)
    lines = Ids(torch.tensor([[1, 2, 2], [3, 1, 1]]))
    one = {"rough": True}  # its gradient is PyTorch's, which takes log_probs to be a softmax's
    case("F.ctc_loss", lp(6, 2, 4), lines, (6, 6), (3, 2), **one)
    case("F.ctc_loss", lp(6, 2, 4), lines, torch.tensor([6, 5]), torch.tensor([3, 2]),
         name="lengths as tensors", **one)
    case("F.ctc_loss", lp(6, 2, 4), Ids(1, 2, 2, 3, 1), (6, 4), (3, 2), name="targets in a row",
         **one)
    case("F.ctc_loss", lp(6, 2, 4), Ids(torch.tensor([[0, 2, 2], [3, 1, 0]])), (6, 6), (3, 3),
         blank=Dim(1), reduction="none", name="blank", **one)
    case("F.ctc_loss", lp(6, 2, 4), lines, (6, 6), (3, 0), reduction="sum", name="no target", **one)
    case("F.ctc_loss", lp(2, 2, 4), lines, (2, 2), (3, 2), reduction="none", zero_infinity=True,
         name="impossible, as zero", **one)
    case("F.ctc_loss", lp(2, 2, 4), lines, (2, 2), (3, 2), reduction="none", name="impossible",
         grad=False)
    case("F.ctc_loss", lp(5, 4), Ids(1, 2, 2), torch.tensor(5), torch.tensor(3),
         name="one sequence", **one)
    case("F.ctc_loss", lp(5, 1, 4).float(), Ids(torch.tensor([[3, 2]])), (5,), (2,), name="float32",
         **one)
    case("F.ctc_loss", lp(6, 2, 4), lines, (7, 6), (3, 2), name="input length")
    case("F.ctc_loss", lp(6, 2, 4), lines, (6,), (3, 2), name="lengths' number")
    case("F.ctc_loss", lp(6, 2, 4), lines, (6, 6), (4, 2), name="target length")
    case("F.ctc_loss", lp(6, 2, 4), lines, (6, 6), (3, 2), blank=Dim(4), name="blank out of range")
    write("functional_ctc", __file__)


def distinct(*shape):
    """Values in disorder, apart from each other: no step of finite differences makes a tie."""
    n = torch.Size(shape).numel()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(n))
    return (order.double().reshape(shape) / 8 - n / 16)


def lp_pool3d(x, p, kernel, stride=None, ceil_mode=False):
    """As PyTorch 2 has it."""
    out = F.avg_pool3d(x.pow(p), kernel, stride, 0, ceil_mode)
    cells = torch.tensor(kernel).expand(3).prod().item()
    return (torch.sign(out) * F.relu(torch.abs(out))).mul(cells).pow(1.0 / p)


def pool():
    shapes = {1: (2, 2, 7), 2: (1, 2, 4, 5), 3: (1, 1, 4, 5, 4)}
    for n, shape in shapes.items():
        k, some = (2,) * n, tuple(range(2, 2 + n)) if n > 1 else 2
        if n == 3:
            for fn in ["max_pool3d", "avg_pool3d"]:
                case("F." + fn, distinct(*shape), 2, several=True)
                case("F." + fn, distinct(*shape[1:]), (2, 3, 1), (1, 2, 2), name="without batch")
                case("F." + fn, distinct(*shape), 3, 2, 1, ceil_mode=True, name="ceil_mode")
                case("F." + fn, distinct(0, 2, 4, 4, 4), 2, name="empty batch")
                case("F." + fn, distinct(*shape), 2, padding=2, name="too much padding")
                case("F." + fn, distinct(*shape), 6, name="too large")
                case("F." + fn, distinct(4, 4), 2, name="rank")
            case("F.max_pool3d", distinct(*shape), 2, 1, dilation=(1, 2, 1), return_indices=True,
                 positions=(1,), several=True, name="dilation, indices")
            case("F.max_pool3d", distinct(*shape).float(), 2, name="float32")
            case("F.avg_pool3d", distinct(*shape), 3, 2, 1, count_include_pad=False,
                 name="without padding")
            case("F.avg_pool3d", distinct(*shape), 2, divisor_override=3, name="divisor")
            case("F.adaptive_avg_pool3d", distinct(*shape), (2, None, 3))
            case("F.adaptive_avg_pool3d", distinct(*shape[1:]), 2, name="without batch")
            case("F.adaptive_avg_pool3d", distinct(4, 4), 2, name="rank")
            case("F.adaptive_max_pool3d", distinct(*shape), (2, None, 3))
            case("F.adaptive_max_pool3d", distinct(*shape), 2, True, positions=(1,), several=True,
                 name="indices")
            case("F.adaptive_max_pool3d", distinct(1, 2, 0, 2, 2), 2, name="no elements")
        case("F.max_pool%dd_with_indices" % n, distinct(*shape), 2, positions=(1,), several=True)
        case("F.max_pool%dd_with_indices" % n, distinct(*shape), 0, name="kernel 0")
        case("F.adaptive_max_pool%dd_with_indices" % n, distinct(*shape), 3, positions=(1,),
             several=True)
        case("F.adaptive_max_pool%dd_with_indices" % n, distinct(*shape), -1, name="negative size")
        found, at = getattr(F, "max_pool%dd" % n)(distinct(*shape), 2, return_indices=True)
        unpool = "F.max_unpool%dd" % n
        case(unpool, smooth(*found.shape), Ids(at), 2)
        case(unpool, smooth(*found.shape[1:]), Ids(at[0]), k, k, name="without batch")
        size = shape[2:]
        case(unpool, smooth(*found.shape), Ids(at), 2, output_size=size, name="output_size")
        case(unpool, smooth(*found.shape), Ids(at), 2, output_size=shape, name="whole output_size")
        case(unpool, smooth(*found.shape), Ids(at), 2, output_size=tuple(s + 9 for s in size),
             name="output_size too large")
        case(unpool, smooth(*found.shape), Ids(at), 2, output_size=(1,) * 7, name="7 sizes")
        case(unpool, smooth(*found.shape), Ids(at + 1000), 2, name="positions out of range")
        case(unpool, smooth(*found.shape[1:]), Ids(at), 2, name="shapes")
        ref = lp_pool3d if n == 3 else None
        case("F.lp_pool%dd" % n, smooth(*shape) + 3, 2.0, 2, ref=ref)
        case("F.lp_pool%dd" % n, smooth(*shape) + 3, 3.0, 3, 2, True, name="ceil_mode", ref=ref)
        case("F.lp_pool%dd" % n, smooth(*shape) + 3, 1.5, some, stride=n, ref=ref, name="uneven")
        case("F.lp_pool%dd" % n, smooth(*shape), 2.0, 9, name="too large", ref=ref)
    for n, shape in [(2, (1, 2, 6, 7)), (3, (1, 1, 5, 6, 5))]:
        fn = "F.fractional_max_pool%dd" % n
        samples = Const(torch.rand(shape[0], shape[1], n, dtype=torch.float64,
                                   generator=torch.Generator().manual_seed(n)))
        case(fn, distinct(*shape), 2, output_size=3, _random_samples=samples)
        case(fn, distinct(*shape), (2, 1, 2)[:n], output_ratio=(0.5, 0.7, 0.6)[:n], seed=n,
             name="ratio")
        case(fn, distinct(*shape).float(), 2, output_size=(3, 2, 3)[:n], seed=n, name="float32")
        case(fn, distinct(*shape[1:]), 2, output_size=2, seed=n, name="without batch")
        case(fn, distinct(*shape), 2, 2, return_indices=True, seed=n, positions=(1,), several=True,
             name="indices")
        case(fn + "_with_indices", distinct(*shape), 2, 2, seed=n, positions=(1,), several=True)
        case(fn, distinct(*shape), 2, name="no size")
        case(fn, distinct(*shape), 2, 6, name="size too large")
        case(fn + "_with_indices", distinct(*shape), 9, 2, name="kernel too large")
    write("functional_pool", __file__)


def distance():
    ids = Ids(torch.tensor([[1, 3, 1], [0, 0, 2]]))
    line, offsets = Ids(1, 3, 1, 0, 0, 2, 3), Ids(0, 2, 2, 5)
    for mode in ["sum", "mean", "max"]:
        case("F.embedding_bag", ids, distinct(4, 2), mode=mode, name=mode)
        case("F.embedding_bag", line, distinct(4, 2), offsets, mode=mode, name=mode + " by offsets")
        case("F.embedding_bag", line, distinct(4, 2), offsets, mode=mode, padding_idx=Dim(1),
             name=mode + ", padding_idx")
        case("F.embedding_bag", Ids(0, 0, 1, 1), distinct(3, 2), Ids(0, 2), mode=mode,
             name="padding", padding_idx=Dim(0))
        case("F.embedding_bag", Ids(torch.zeros(0, dtype=torch.int64)), distinct(3, 2),
             Ids(0, 0, 0), mode=mode, name="empty bags")
        case("F.embedding_bag", line, distinct(4, 2), Ids(0, 2, 5, 7), mode=mode,
             include_last_offset=True, name=mode + ", last offset")
    case("F.embedding_bag", ids, smooth(4, 2), mode="sum", per_sample_weights=smooth(2, 3),
         name="weights")
    case("F.embedding_bag", line, smooth(4, 2), offsets, mode="sum", padding_idx=Dim(-3),
         per_sample_weights=smooth(7), name="weights, padding_idx")
    case("F.embedding_bag", ids, smooth(4, 2).float(), name="float32")
    case("F.embedding_bag", ids, Const(smooth(4, 2)), max_norm=1.0, name="max_norm", dense=True)
    case("F.embedding_bag", ids, smooth(4, 2), Ids(0, 2), name="offsets of lines")
    case("F.embedding_bag", line, smooth(4, 2), name="no offsets")
    case("F.embedding_bag", line, smooth(4, 2), Ids(1, 2), name="offsets that begin late")
    case("F.embedding_bag", line, smooth(4, 2), Ids(0, 12), name="offsets past the end")
    case("F.embedding_bag", ids, smooth(4, 2), mode="max", scale_grad_by_freq=True,
         name="max by frequency")
    case("F.embedding_bag", ids, smooth(4, 2), per_sample_weights=smooth(2, 3),
         name="mean, weights")
    case("F.embedding_bag", ids, smooth(3, 2), name="position out of range")
    case("F.embedding_bag", ids, smooth(4, 2), mode="min", name="mode")
    case("F.embedding", ids, Const(smooth(4, 3)), None, 1.0, name="max_norm", dense=True)
    case("F.embedding", ids, Const(smooth(4, 3)), None, 1.0, 1.0, name="max_norm of another norm",
         dense=True)
    case("F.embedding", ids, smooth(4, 3), None, None, 2.0, True, name="by frequency", rough=True)
    case("F.embedding", ids, smooth(4, 3), Dim(-1), name="padding from the end",
         rough=True)
    apart = torch.arange(12, dtype=torch.float64).reshape(4, 3) ** 2 / 73
    for p in [2.0, 1.0, 3.0, 0.5, inf]:
        case("F.pdist", smooth(4, 3) + apart, p, name=str(p))
        case("F.pairwise_distance", smooth(3, 4), smooth(3, 4), p, name=str(p))
    case("F.pdist", smooth(4, 3), 0.0, name="0")
    case("F.pdist", smooth(1, 3), name="one row")
    case("F.pdist", smooth(3), name="rank")
    case("F.pdist", smooth(3, 2), -1.0, name="negative p")
    case("F.pairwise_distance", smooth(3, 4), smooth(4), 2.0, 0.01, True, name="keepdim")
    case("F.pairwise_distance", smooth(4), smooth(4), name="vectors")
    case("F.cosine_similarity", smooth(2, 3, 4), smooth(2, 3, 4), name="of the second")
    case("F.cosine_similarity", smooth(3, 4), smooth(1, 4), Dim(-1), name="broadcast")
    case("F.cosine_similarity", torch.zeros(2, 3), smooth(2, 3).float(), name="zeros", grad=False)
    case("F.normalize", smooth(2, 3), 1.0, Dim(0), name="p 1")
    case("F.normalize", torch.zeros(2, 3), name="zeros", grad=False)
    case("F.one_hot", Ids(torch.tensor([[0, 2], [1, 0]])))
    case("F.one_hot", Ids(0, 2), 5, name="num_classes")
    case("F.one_hot", Ids(0, 2), 2, name="too few classes")
    write("functional_distance", __file__)


def resize():
    line, image, volume = (1, 2, 5), (1, 1, 3, 4), (1, 1, 2, 3, 2)
    shapes = {"linear": line, "bilinear": image, "bicubic": image, "trilinear": volume}
    for mode, shape in shapes.items():
        for kw in [{"size": 4}, {"scale_factor": 1.7}, {"scale_factor": 0.6},
                   {"size": 4, "align_corners": True}, {"size": 2, "align_corners": True},
                   {"scale_factor": 1.7, "align_corners": True},
                   {"scale_factor": 1.7, "recompute_scale_factor": True}, {"size": 1},
                   {"scale_factor": 1.1}]:
            # (PyTorch's backward of bicubic takes an unchanged size for no change at all)
            case("F.interpolate", smooth(*shape), mode=mode, name=mode + " " + " ".join(kw),
                 grad=mode != "bicubic" or kw.get("scale_factor") != 1.1, **kw)
    for mode in ["nearest", "nearest-exact", "area"]:
        for shape in [line, image, volume]:
            case("F.interpolate", smooth(*shape), (4, 3, 2)[:len(shape) - 2], mode=mode,
                 name=mode + " %dD" % len(shape))
            case("F.interpolate", smooth(*shape), scale_factor=1.7, mode=mode,
                 name=mode + " %dD scaled" % len(shape))
        case("F.interpolate", smooth(*image).float(), scale_factor=(0.6, 2.5), mode=mode,
             name=mode + " float32")
    for mode in ["bilinear", "bicubic"]:
        for kw in [{"size": (2, 5)}, {"scale_factor": (0.5, 1.3)},
                   {"size": 3, "align_corners": True}]:
            case("F.interpolate", smooth(1, 1, 6, 4), mode=mode, antialias=True,
                 name=mode + " antialias " + " ".join(kw), **kw)
        case("F.interpolate", smooth(*image).float(), scale_factor=1.7, mode=mode,
             name=mode + " float32")
    case("F.interpolate", smooth(0, 2, 4, 5), 3, mode="bilinear", name="empty batch")
    case("F.interpolate", torch.arange(12, dtype=torch.uint8).reshape(1, 1, 3, 4), 5, name="bytes")
    case("F.interpolate", smooth(*image), name="no size")
    case("F.interpolate", smooth(*image), 2, 2.0, name="size and scale")
    case("F.interpolate", smooth(*image), (2, 3, 4), name="3 sizes")
    case("F.interpolate", smooth(*image), 2, mode="linear", name="rank")
    case("F.interpolate", smooth(2, 3), 2, name="2 dims")
    case("F.interpolate", smooth(*image), 2, align_corners=True, name="align_corners of nearest")
    case("F.interpolate", smooth(*line), 2, mode="linear", antialias=True, name="antialias")
    case("F.interpolate", smooth(*image), 0, name="size 0")
    case("F.interpolate", smooth(*image), 3, recompute_scale_factor=True, name="recompute")
    case("F.upsample", smooth(*image), scale_factor=2.0, mode="bilinear", align_corners=True)
    case("F.upsample", smooth(*image), name="no size")
    case("F.upsample_nearest", smooth(*image), scale_factor=2.0)
    case("F.upsample_nearest", smooth(*image), name="no size")
    case("F.upsample_bilinear", smooth(*image), (3, 7))
    case("F.upsample_bilinear", smooth(*line), 3, name="rank")
    write("functional_resize", __file__)


def grid():
    for shape, places in [((1, 2, 3, 4), (1, 2, 2, 2)), ((1, 1, 2, 3, 2), (1, 1, 1, 3, 3))]:
        for mode in ["bilinear", "nearest", "bicubic"]:
            for padding in ["zeros", "border", "reflection"]:
                for align in [False, True]:
                    if mode == "bicubic" and len(shape) == 5:
                        continue
                    # PyTorch has second derivatives of none of them
                    case("F.grid_sample", smooth(*shape), smooth(*places) * 0.83, mode, padding,
                         align, name="%s %s %s" % (mode, padding, align), rough=True)
    case("F.grid_sample", smooth(1, 1, 3, 3), t([[[-1.0, -1.0], [1.0, 1], [0.0, 0], [9, -9]]]),
         align_corners=True, name="corners", rough=True)
    case("F.grid_sample", smooth(2, 2, 3, 3).float(), smooth(2, 2, 2, 2).float(), name="float32")
    case("F.grid_sample", smooth(0, 1, 3, 3), smooth(0, 2, 2, 2), name="empty batch")
    case("F.grid_sample", smooth(1, 1, 3, 3), smooth(2, 2, 2, 2), name="batches differ")
    case("F.grid_sample", smooth(1, 1, 3, 3), smooth(1, 2, 2, 3), name="3 coordinates")
    case("F.grid_sample", smooth(1, 3, 3), smooth(1, 2, 2), name="rank")
    case("F.grid_sample", smooth(1, 1, 3, 3, 3), smooth(1, 2, 2, 2, 3), "bicubic",
         name="bicubic 5D")
    for align in [False, True]:
        case("F.affine_grid", smooth(2, 2, 3), (2, 1, 3, 2), align, name=str(align))
        case("F.affine_grid", smooth(1, 3, 4), (1, 2, 2, 1, 3), align, name="3D %s" % align)
    case("F.affine_grid", smooth(1, 2, 3), (1, 1, 2, 2), name="by default")
    case("F.affine_grid", smooth(2, 2, 2), (2, 1, 3, 2), name="shape of theta")
    case("F.affine_grid", smooth(2, 2, 3), (2, 1, 3), name="3 sizes")
    case("F.affine_grid", smooth(2, 2, 3), (2, 1, 3, 0), name="size 0")
    write("functional_grid", __file__)


FAMILIES = [activation, loss, ctc, pool, distance, resize, grid]

for family in FAMILIES:
    if len(sys.argv) == 1 or family.__name__ in sys.argv[1:]:
        family()
