"""Records what layers make of edge shapes: the shape of the result for a batch of nothing, whether
inputs without a batch are taken, and the mean and sum of losses over nothing. Into data/edges.lua.
Run: python3 tests/parity/gen_edges.py"""
import torch
from torch import nn

from record import save


# Constructors that read the same in both languages, and the shape of one element of the batch.
LAYERS = [
    *[("%s()" % name, (2, 3)) for name in
      "ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid PReLU ReLU ReLU6 SELU "
      "CELU GELU Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink RReLU "
      "Identity Dropout AlphaDropout FeatureAlphaDropout Dropout1d".split()],
    ("GLU()", (2, 4)), ("Threshold(0.1, 2)", (2, 3)), ("Softmax(-1)", (2, 3)),
    ("Softmin(-1)", (2, 3)), ("LogSoftmax(-1)", (2, 3)), ("Softmax2d()", (2, 3, 2)),
    ("Dropout2d()", (2, 3, 2)), ("Dropout3d()", (2, 3, 2, 2)), ("Linear(3, 2)", (4, 3)),
    ("PReLU(3)", (3, 2)), ("Flatten()", (2, 3)),
    *[("Conv%dd(2, 3, 2)" % d, (2,) + (3,) * d) for d in (1, 2, 3)],
    *[("ConvTranspose%dd(2, 3, 2)" % d, (2,) + (3,) * d) for d in (1, 2, 3)],
    *[("%s%dd(2)" % (name, d), (2,) + (4,) * d) for d in (1, 2, 3) for name in
      "MaxPool AvgPool AdaptiveMaxPool AdaptiveAvgPool ReflectionPad ReplicationPad".split()],
    *[("LPPool%dd(2, 2)" % d, (2,) + (4,) * d) for d in (1, 2)],
    *[("ConstantPad%dd(1, 2.5)" % d, (2,) + (4,) * d) for d in (1, 2, 3)],
    ("ZeroPad2d(1)", (2, 4, 4)),
    *[("BatchNorm%dd(2)" % d, (2,) + (3,) * d) for d in (1, 2, 3)],
    *[("InstanceNorm%dd(2)" % d, (2,) + (3,) * d) for d in (1, 2, 3)],
    ("LayerNorm(3)", (2, 3)), ("GroupNorm(1, 2)", (2, 3)), ("LocalResponseNorm(2)", (2, 3)),
    ("Unfold(2)", (2, 3, 3)), ("Fold(3, 2)", (4, 4)), ("PixelShuffle(2)", (4, 2, 3)),
    ("PixelUnshuffle(2)", (2, 4, 2)), ("ChannelShuffle(2)", (4, 2, 3)),
    ("Upsample(5)", (2, 3)), ("UpsamplingNearest2d(5)", (2, 3, 3)),
    ("UpsamplingBilinear2d(5)", (2, 3, 3)),
]
SAME = "L1Loss MSELoss SmoothL1Loss HuberLoss PoissonNLLLoss KLDivLoss BCEWithLogitsLoss " \
    "HingeEmbeddingLoss SoftMarginLoss MultiLabelSoftMarginLoss CrossEntropyLoss".split()


def attempt(call):
    try:
        return call()
    except (RuntimeError, ValueError, IndexError, TypeError):
        return None


def layer(text, shape):
    make = lambda: eval("nn." + text).eval()
    zero = attempt(lambda: eval("nn." + text)(torch.zeros(0, *shape)))
    one, x = make(), torch.randn(shape)
    whole = one(x.unsqueeze(0))
    if text.startswith("PixelUnshuffle"):  # newer ones give nothing its shape, too
        zero = torch.zeros(0, *whole.shape[1:])
    taken = attempt(lambda: one(x))
    unbatched = taken is not None and taken.shape == whole.shape[1:] and \
        torch.allclose(taken, whole[0], atol=1e-6)
    lists = [", ".join(map(str, s)) for s in (shape, zero.shape)]
    return '{class = "%s", shape = {%s},\n    zero = {%s}, unbatched = %s}' % (
        text, *lists, str(unbatched).lower())


def number(x):
    return "0/0" if x != x else repr(x)


def loss(name):
    made = [getattr(nn, name)(reduction=r)(torch.zeros(0, 3), torch.zeros(0, 3))
            for r in ("mean", "sum")]
    return '{loss = "%s", mean = %s, sum = %s}' % (name, *[number(v.item()) for v in made])


lines = [layer(*case) for case in LAYERS] + [loss(name) for name in SAME]
save(__file__, "  " + ",\n  ".join(lines))
