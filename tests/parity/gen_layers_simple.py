"""Records layers that are a function each: activations, dropout, pooling, losses, upsampling; as
gen_layers.py does, into data/layers_simple.lua. Run: python3 tests/parity/gen_layers_simple.py"""
import re

import torch
from torch import nn

from gen_layers import Plain, write

CASES = []


def case(lua, make, *shapes, text=None):
    CASES.append(("nn." + lua, make, shapes, text))


def activations():
    for name in ["Hardsigmoid", "Hardswish", "LogSigmoid", "Softsign", "Tanhshrink", "ReLU6",
                 "SELU", "SiLU", "Mish", "ELU", "CELU", "LeakyReLU", "Hardtanh", "Hardshrink",
                 "Softshrink", "PReLU"]:
        case(name + "()", getattr(nn, name), (2, 3))
    case("Softplus()", nn.Softplus, (2, 3), text="Softplus(beta=1.0, threshold=20.0)")
    case("Softplus{beta = 2, threshold = 1}", lambda: nn.Softplus(2, 1), (2, 3))
    for name in ["ReLU6", "SELU", "SiLU", "Mish", "ELU", "CELU", "LeakyReLU", "Hardtanh", "RReLU",
                 "ReLU", "Hardsigmoid", "Hardswish"]:
        make = getattr(nn, name)
        case("Sequential(nn.Linear(3, 3), nn.%s{inplace = true})" % name,
             lambda make=make: nn.Sequential(nn.Linear(3, 3), make(inplace=True)), (2, 3))
    case("ELU(0.5)", lambda: nn.ELU(0.5), (2, 3))
    case("CELU(2)", lambda: nn.CELU(2), (2, 3))
    case("Hardtanh(-2, 0.5)", lambda: nn.Hardtanh(-2, 0.5), (2, 3))
    case("Hardtanh{min_value = -2, max_value = 0.5}", lambda: nn.Hardtanh(-2, 0.5), (2, 3))
    case("Hardshrink(1)", lambda: nn.Hardshrink(1), (2, 3))
    case("Softshrink(0.25)", lambda: nn.Softshrink(0.25), (2, 3))
    case("Threshold(0.1, 20)", lambda: nn.Threshold(0.1, 20), (2, 3))
    case("PReLU(3, 0.5)", lambda: nn.PReLU(3, 0.5), (2, 3, 2))
    case("PReLU{dtype = lucerna.float64}", lambda: nn.PReLU(dtype=torch.float64), (5,))
    case("RReLU()", nn.RReLU, (3, 4))
    case("RReLU(0.1, 0.9)", lambda: nn.RReLU(0.1, 0.9), (3, 4))
    case("RReLU():eval()", lambda: nn.RReLU().eval(), (3, 4))
    case("GLU()", nn.GLU, (2, 4))
    case("GLU(1)", lambda: nn.GLU(0), (2, 4), text="GLU(dim=1)")
    case("Softmin(2)", lambda: nn.Softmin(1), (2, 3), text="Softmin(dim=2)")
    case("Softmin()", nn.Softmin, (2, 3))
    case("Softmax2d()", nn.Softmax2d, (2, 3, 2, 2))
    case("Softmax2d()", nn.Softmax2d, (3, 2, 2))
    case("SiLU()", nn.SiLU, (0, 3))


def dropout():
    for name, shape in [("Dropout1d", (3, 4, 2)), ("Dropout2d", (2, 3, 2, 2)),
                        ("Dropout3d", (2, 3, 1, 2, 2)), ("AlphaDropout", (4, 5)),
                        ("FeatureAlphaDropout", (3, 4, 2))]:
        case(name + "()", getattr(nn, name), shape)
        case(name + "{p = 0.2, inplace = true}:eval()",
             lambda name=name: getattr(nn, name)(p=0.2, inplace=True).eval(), shape)
    case("Dropout1d(0.3)", lambda: nn.Dropout1d(0.3), (5, 2))
    case("Dropout3d(0.3)", lambda: nn.Dropout3d(0.3), (5, 1, 2, 2))
    case("AlphaDropout(0.2)", lambda: nn.AlphaDropout(0.2), (3, 5))
    case("FeatureAlphaDropout(1)", lambda: nn.FeatureAlphaDropout(1), (3, 5))


def losses():
    a, b, c = (4, 3), (4, 3), (4, 3)
    ids = torch.tensor([0, 2, 1, 1])
    signs = torch.tensor([1.0, -1, 1, -1])
    yes = torch.tensor([[1.0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]])
    part = torch.rand(4, 3, generator=torch.Generator().manual_seed(3))
    lists = torch.tensor([[1, 2, -1], [0, -1, 1], [-1, 0, 0], [2, -1, -1]])
    for name in ["L1Loss", "SmoothL1Loss", "HuberLoss"]:
        case(name + "()", getattr(nn, name), a, b)
        case(name + "{reduction = 'none'}", lambda name=name: getattr(nn, name)(reduction="none"),
             a, b)
    case("L1Loss{size_average = false}", lambda: nn.L1Loss(reduction="sum"), a, b)
    case("L1Loss{reduce = false}", lambda: nn.L1Loss(reduction="none"), a, b)
    case("SmoothL1Loss{beta = 0.5}", lambda: nn.SmoothL1Loss(beta=0.5), a, b)
    case("HuberLoss('sum', 0.5)", lambda: nn.HuberLoss("sum", 0.5), a, b)
    case("NLLLoss2d()", nn.NLLLoss2d, (2, 3, 2), torch.tensor([[0, 2], [1, 1]]))
    case("KLDivLoss{reduction = 'batchmean'}", lambda: nn.KLDivLoss(reduction="batchmean"), a, part)
    case("KLDivLoss{reduction = 'sum', log_target = true}",
         lambda: nn.KLDivLoss(reduction="sum", log_target=True), a, b)
    case("Sequential(nn.Sigmoid())", lambda: nn.Sequential(nn.Sigmoid()), a)
    case("BCELoss()", nn.BCELoss, part, yes)
    case("BCELoss{weight = lucerna.tensor{1, 2, 0.5}, reduction = 'sum'}",
         lambda: nn.BCELoss(weight=torch.tensor([1, 2, 0.5]), reduction="sum"), part, yes)
    case("PoissonNLLLoss()", nn.PoissonNLLLoss, a, part)
    case("PoissonNLLLoss{log_input = false, full = true, reduction = 'sum'}",
         lambda: nn.PoissonNLLLoss(log_input=False, full=True, reduction="sum"), part, part * 5)
    case("GaussianNLLLoss()", nn.GaussianNLLLoss, a, b, part)
    case("GaussianNLLLoss{full = true, eps = 0.25, reduction = 'none'}",
         lambda: nn.GaussianNLLLoss(full=True, eps=0.25, reduction="none"), a, b, part)
    case("MarginRankingLoss()", nn.MarginRankingLoss, (4,), (4,), signs)
    case("MarginRankingLoss(0.5, {reduction = 'sum'})",
         lambda: nn.MarginRankingLoss(0.5, reduction="sum"), (4,), (4,), signs)
    case("HingeEmbeddingLoss()", nn.HingeEmbeddingLoss, (4,), signs)
    case("HingeEmbeddingLoss{margin = 0.5, reduction = 'none'}",
         lambda: nn.HingeEmbeddingLoss(margin=0.5, reduction="none"), (4,), signs)
    case("SoftMarginLoss()", nn.SoftMarginLoss, (4,), signs)
    case("SoftMarginLoss{reduction = 'none'}", lambda: nn.SoftMarginLoss(reduction="none"), (4,),
         signs)
    case("MultiLabelSoftMarginLoss()", nn.MultiLabelSoftMarginLoss, a, yes)
    case("MultiLabelSoftMarginLoss{weight = lucerna.tensor{1, 2, 0.5}, reduction = 'none'}",
         lambda: nn.MultiLabelSoftMarginLoss(weight=torch.tensor([1, 2, 0.5]), reduction="none"),
         a, yes)
    case("MultiLabelMarginLoss()", nn.MultiLabelMarginLoss, a, lists)
    case("MultiLabelMarginLoss{reduction = 'none'}",
         lambda: nn.MultiLabelMarginLoss(reduction="none"), a, lists)
    case("MultiMarginLoss()", nn.MultiMarginLoss, a, ids)
    case("MultiMarginLoss{p = 2, margin = 0.5, weight = lucerna.tensor{1, 2, 0.5}}",
         lambda: nn.MultiMarginLoss(p=2, margin=0.5, weight=torch.tensor([1, 2, 0.5])), a, ids)
    case("CosineEmbeddingLoss()", nn.CosineEmbeddingLoss, a, b, signs)
    case("CosineEmbeddingLoss{margin = 0.2, reduction = 'none'}",
         lambda: nn.CosineEmbeddingLoss(margin=0.2, reduction="none"), a, b, signs)
    case("TripletMarginLoss()", nn.TripletMarginLoss, a, b, c)
    case("TripletMarginLoss{margin = 2, p = 1, swap = true, reduction = 'none'}",
         lambda: nn.TripletMarginLoss(margin=2, p=1, swap=True, reduction="none"), a, b, c)
    lengths = torch.tensor([5, 4]), torch.tensor([2, 1])
    targets = torch.tensor([[1, 2], [3, 3]])
    case("CTCLoss()", nn.CTCLoss, (5, 2, 4), targets, *map(Plain, lengths))
    case("CTCLoss(4, 'sum', true)", lambda: nn.CTCLoss(3, "sum", True), (5, 2, 4),
         torch.tensor([[1, 2], [0, 0]]), *map(Plain, lengths))
    case("TripletMarginWithDistanceLoss()", nn.TripletMarginWithDistanceLoss, a, b, c,
         text="TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)")
    case("TripletMarginWithDistanceLoss{margin = 2, swap = true, reduction = 'none', "
         "distance_function = function(x, y) return (x - y):abs():sum(2) end}",
         lambda: nn.TripletMarginWithDistanceLoss(
             margin=2, swap=True, reduction="none",
             distance_function=lambda x, y: (x - y).abs().sum(1)), a, b, c)
    case("AdaptiveLogSoftmaxWithLoss(8, 12, {3, 6})",
         lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6]), (5, 8),
         torch.tensor([0, 4, 11, 2, 7]))
    case("AdaptiveLogSoftmaxWithLoss(8, 12, {4}, {div_value = 2, head_bias = true})",
         lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4], div_value=2, head_bias=True), (8,),
         torch.tensor(5))


def pooling():
    shapes = {1: (2, 3, 9), 2: (1, 2, 5, 6), 3: (1, 1, 5, 5, 5)}
    for n, shape in shapes.items():
        pool, more = getattr(nn, "MaxPool%dd" % n), "{%s}" % ", ".join("342"[:n])
        tuple_ = tuple(map(int, "342"[:n]))
        if n != 2:
            case("MaxPool%dd(2)" % n, lambda pool=pool: pool(2), shape)
            case("MaxPool%dd(%s, {stride = 2, padding = 1, ceil_mode = true})" % (n, more),
                 lambda pool=pool, k=tuple_: pool(k, stride=2, padding=1, ceil_mode=True),
                 shape[1:])
            avg = getattr(nn, "AvgPool%dd" % n)
            case("AvgPool%dd(2)" % n, lambda avg=avg: avg(2), shape)
            case("AvgPool%dd(%s, 2, 1, true, false)" % (n, more),
                 lambda avg=avg, k=tuple_: avg(k, 2, 1, True, False), shape[1:])
            adaptive = getattr(nn, "AdaptiveAvgPool%dd" % n)
            case("AdaptiveAvgPool%dd(3)" % n, lambda adaptive=adaptive: adaptive(3), shape)
        case("MaxPool%dd(2, {return_indices = true})" % n,
             lambda pool=pool: pool(2, return_indices=True), shape)
        case("MaxPool%dd(3, {stride = 1, dilation = 2})" % n,
             lambda pool=pool: pool(3, stride=1, dilation=2), shape)
        adaptive = getattr(nn, "AdaptiveMaxPool%dd" % n)
        case("AdaptiveMaxPool%dd(3)" % n, lambda adaptive=adaptive: adaptive(3), shape)
        case("AdaptiveMaxPool%dd(%s, true)" % (n, more if n > 1 else 2),
             lambda adaptive=adaptive, k=tuple_, n=n: adaptive(k if n > 1 else 2, True), shape[1:])
        generator = torch.Generator().manual_seed(n)
        even = shape[:2] + tuple(size // 2 * 2 for size in shape[2:])
        found, at = pool(2, return_indices=True)(torch.rand(even, generator=generator))
        unpool = getattr(nn, "MaxUnpool%dd" % n)
        case("MaxUnpool%dd(2)" % n, lambda unpool=unpool: unpool(2), tuple(found.shape), at)
        lp = getattr(nn, "LPPool%dd" % n, None)
        if lp:
            case("LPPool%dd(2, 3)" % n, lambda lp=lp: lp(2, 3), shape)
            case("LPPool%dd(2, 3, {stride = 2, ceil_mode = true})" % n,
                 lambda lp=lp: lp(2, 3, stride=2, ceil_mode=True), shape[1:])
    case("MaxUnpool2d({2, 3}, {2, 1}, 1)", lambda: nn.MaxUnpool2d((2, 3), (2, 1), 1),
         (1, 1, 2, 2), torch.tensor([[[[0, 1], [2, 3]]]]))
    case("AvgPool3d(2, {divisor_override = 3})", lambda: nn.AvgPool3d(2, divisor_override=3),
         shapes[3])
    case("AdaptiveAvgPool3d({2, lucerna.none, 3})", lambda: nn.AdaptiveAvgPool3d((2, None, 3)),
         shapes[3])
    for n in [2, 3]:
        pool = getattr(nn, "FractionalMaxPool%dd" % n)
        case("FractionalMaxPool%dd(2, 3)" % n, lambda pool=pool: pool(2, 3), shapes[n])
        case("FractionalMaxPool%dd(2, {output_ratio = 0.5, return_indices = true})" % n,
             lambda pool=pool: pool(2, output_ratio=0.5, return_indices=True), shapes[n][1:])
    samples = torch.full((1, 2, 2), 0.25)
    case("FractionalMaxPool2d({3, 2}, {output_size = {2, 3}, "
         "_random_samples = lucerna.full({1, 2, 2}, 0.25)})",
         lambda: nn.FractionalMaxPool2d((3, 2), output_size=(2, 3), _random_samples=samples),
         shapes[2])


def tables():
    ids, line = torch.tensor([[0, 4], [2, 2]]), torch.tensor([0, 4, 2, 2, 1])
    case("Embedding(5, 3, {max_norm = 1.0})", lambda: nn.Embedding(5, 3, max_norm=1.0), ids)
    case("Embedding(5, 3, {max_norm = 0.5, norm_type = 1.0, scale_grad_by_freq = true})",
         lambda: nn.Embedding(5, 3, max_norm=0.5, norm_type=1.0, scale_grad_by_freq=True), ids)
    case("Embedding(5, 3, {padding_idx = -1})", lambda: nn.Embedding(5, 3, padding_idx=-1), ids,
         text="Embedding(5, 3, padding_idx=5)")
    case("EmbeddingBag(5, 3)", lambda: nn.EmbeddingBag(5, 3), ids,
         text="EmbeddingBag(5, 3, mode='mean')")
    case("EmbeddingBag(5, 3, {mode = 'sum', padding_idx = 3})",
         lambda: nn.EmbeddingBag(5, 3, mode="sum", padding_idx=2), line, torch.tensor([0, 2]),
         text="EmbeddingBag(5, 3, mode='sum', padding_idx=3)")
    case("EmbeddingBag(5, 3, {mode = 'max', max_norm = 1.0, include_last_offset = true})",
         lambda: nn.EmbeddingBag(5, 3, mode="max", max_norm=1.0, include_last_offset=True), line,
         torch.tensor([0, 2, 5]), text="EmbeddingBag(5, 3, max_norm=1.0, mode='max')")
    case("CosineSimilarity()", nn.CosineSimilarity, (3, 4), (3, 4))
    case("CosineSimilarity(-1, 0.5)", lambda: nn.CosineSimilarity(-1, 0.5), (3, 4), (3, 4))
    case("PairwiseDistance()", nn.PairwiseDistance, (3, 4), (3, 4))
    case("PairwiseDistance(1, 0.5, true)", lambda: nn.PairwiseDistance(1, 0.5, True), (3, 4),
         (3, 4))


def upsample(lua, make, shape):
    """With the quotes that later versions print."""
    case(lua, make, shape, text=re.sub(r"mode=([a-z]+)", r"mode='\1'", repr(make())))


def vision():
    image = (1, 2, 3, 4)
    upsample("Upsample{scale_factor = 2}", lambda: nn.Upsample(scale_factor=2), image)
    upsample("Upsample({5, 3}, {mode = 'bilinear', align_corners = true})",
             lambda: nn.Upsample((5, 3), mode="bilinear", align_corners=True), image)
    upsample("Upsample{size = 5, mode = 'bicubic'}", lambda: nn.Upsample(5, mode="bicubic"), image)
    upsample(
        "Upsample{scale_factor = {1.5, 0.5}, mode = 'bilinear', recompute_scale_factor = true}",
        lambda: nn.Upsample(scale_factor=(1.5, 0.5), mode="bilinear", recompute_scale_factor=True),
        image)
    upsample("Upsample{scale_factor = 1.5, mode = 'trilinear'}",
             lambda: nn.Upsample(scale_factor=1.5, mode="trilinear"), (1, 1, 2, 3, 2))
    upsample("Upsample{scale_factor = 1.5, mode = 'linear'}",
             lambda: nn.Upsample(scale_factor=1.5, mode="linear"), (1, 2, 5))
    upsample("UpsamplingNearest2d{scale_factor = 2}",
             lambda: nn.UpsamplingNearest2d(scale_factor=2), image)
    upsample("UpsamplingNearest2d({4, 2})", lambda: nn.UpsamplingNearest2d((4, 2)), image)
    upsample("UpsamplingBilinear2d{scale_factor = 2}",
             lambda: nn.UpsamplingBilinear2d(scale_factor=2), image)
    upsample("UpsamplingBilinear2d(5)", lambda: nn.UpsamplingBilinear2d(5), image)


if __name__ == "__main__":
    activations()
    dropout()
    losses()
    pooling()
    tables()
    vision()
    write(CASES, __file__)
