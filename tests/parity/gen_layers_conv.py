"""Records the families of convolutions, norms, paddings and shuffles, as gen_layers.py does, into
data/layers_conv.lua. Run: python3 tests/parity/gen_layers_conv.py"""
import torch
import torch.nn.functional as F
from torch import nn

from gen_layers import write

CASES = []


def case(lua, make, *shapes, text=None):
    CASES.append(("nn." + lua, make, shapes, text))


class Pad(nn.Module):
    """The padding layers that this PyTorch has not."""

    def __init__(self, name, mode, padding):
        super().__init__()
        self.name, self.mode, self.padding = name, mode, padding

    def forward(self, x):
        if self.mode == "circular" and x.dim() == len(self.padding) // 2 + 1:
            return F.pad(x[None], self.padding, mode=self.mode)[0]
        return F.pad(x, self.padding, mode=self.mode)

    def __repr__(self):
        return "%s(%s)" % (self.name, self.padding)


class RMSNorm(nn.Module):
    def __init__(self, shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.shape, self.eps, self.affine = shape, eps, elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(shape))
        else:
            self.register_parameter("weight", None)

    def forward(self, x):
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        dims = tuple(range(-len(self.shape), 0))
        y = x * torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)
        return y if self.weight is None else y * self.weight

    def __repr__(self):
        return f"RMSNorm({self.shape}, eps={self.eps}, elementwise_affine={self.affine})"


class ChannelShuffle(nn.Module):
    """This PyTorch's has no gradient."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        y = x.unflatten(1, (self.groups, -1)).transpose(1, 2)
        return y.flatten(1, 2)

    def extra_repr(self):
        return "groups=%d" % self.groups


def convolutions():
    case("Conv3d(2, 2, 2)", lambda: nn.Conv3d(2, 2, 2), (1, 2, 3, 2, 3))
    case("Conv3d(2, 4, {2, 1, 2}, {stride = {1, 2, 1}, padding = {0, 1, 1}, dilation = {1, 1, 2}, "
         "groups = 2, bias = false})",
         lambda: nn.Conv3d(2, 4, (2, 1, 2), stride=(1, 2, 1), padding=(0, 1, 1),
                           dilation=(1, 1, 2), groups=2, bias=False), (2, 3, 2, 3))
    case("Conv3d(1, 1, 2, {padding = 'same', padding_mode = 'replicate'})",
         lambda: nn.Conv3d(1, 1, 2, padding="same", padding_mode="replicate"), (1, 1, 2, 3, 2))
    case("Conv3d(1, 1, 2, {padding = 1, padding_mode = 'circular'})",
         lambda: nn.Conv3d(1, 1, 2, padding=1, padding_mode="circular"), (1, 1, 2, 2, 2))
    case("Conv3d(1, 1, 2, {padding = 1, padding_mode = 'reflect'})",
         lambda: nn.Conv3d(1, 1, 2, padding=1, padding_mode="reflect"), (1, 1, 2, 2, 2))
    case("Conv3d(1, 2, 2, {padding = 'valid'})", lambda: nn.Conv3d(1, 2, 2, padding="valid"),
         (0, 1, 2, 3, 2))
    case("Conv1d(2, 2, 3, {padding = 2, padding_mode = 'circular'})",
         lambda: nn.Conv1d(2, 2, 3, padding=2, padding_mode="circular"), (1, 2, 4))
    case("Conv1d(2, 2, 3, {padding = 1, padding_mode = 'reflect', stride = 2})",
         lambda: nn.Conv1d(2, 2, 3, padding=1, padding_mode="reflect", stride=2), (1, 2, 5))
    case("Conv1d(2, 2, 2, {padding = 'same', padding_mode = 'replicate', dilation = 3})",
         lambda: nn.Conv1d(2, 2, 2, padding="same", padding_mode="replicate", dilation=3), (2, 5))
    case("Conv1d(2, 3, 3)", lambda: nn.Conv1d(2, 3, 3), (0, 2, 5))
    case("Conv2d(2, 3, 3, {padding = 'valid', dtype = lucerna.float64})",
         lambda: nn.Conv2d(2, 3, 3, padding="valid", dtype=torch.float64), (0, 2, 4, 5))
    case("ConvTranspose1d(2, 3, 3)", lambda: nn.ConvTranspose1d(2, 3, 3), (2, 2, 4))
    case("ConvTranspose1d(2, 4, 3, 3, 1, 2, 2, false, 2)",
         lambda: nn.ConvTranspose1d(2, 4, 3, 3, 1, 2, 2, False, 2), (2, 4))
    case("ConvTranspose2d(2, 3, 2)", lambda: nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 2))
    case("ConvTranspose2d(2, 4, {3, 2}, {stride = {2, 1}, padding = {1, 0}, "
         "output_padding = {1, 0}, groups = 2, dilation = {1, 2}})",
         lambda: nn.ConvTranspose2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0),
                                    output_padding=(1, 0), groups=2, dilation=(1, 2)),
         (2, 3, 3))
    case("ConvTranspose2d(2, 3, 2, {bias = false})",
         lambda: nn.ConvTranspose2d(2, 3, 2, bias=False), (0, 2, 3, 2))
    case("ConvTranspose3d(2, 2, 2)", lambda: nn.ConvTranspose3d(2, 2, 2), (1, 2, 2, 1, 2))
    case("ConvTranspose3d(2, 2, 2, {stride = {2, 1, 2}, output_padding = {1, 0, 1}, groups = 2, "
         "bias = false})",
         lambda: nn.ConvTranspose3d(2, 2, 2, stride=(2, 1, 2), output_padding=(1, 0, 1), groups=2,
                                    bias=False), (2, 1, 2, 1))
    case("Unfold(2)", lambda: nn.Unfold(2), (2, 2, 3, 3))
    case("Unfold({2, 3}, {dilation = {2, 1}, padding = 1, stride = {1, 2}})",
         lambda: nn.Unfold((2, 3), dilation=(2, 1), padding=1, stride=(1, 2)), (2, 4, 5))
    case("Unfold(2)", lambda: nn.Unfold(2), (0, 2, 3, 3))
    case("Fold({3, 4}, 2)", lambda: nn.Fold((3, 4), 2), (1, 8, 6))
    case("Fold({4, 5}, {2, 3}, {dilation = {2, 1}, padding = 1, stride = {1, 2}})",
         lambda: nn.Fold((4, 5), (2, 3), dilation=(2, 1), padding=1, stride=(1, 2)), (12, 12))
    case("Fold(3, 2)", lambda: nn.Fold(3, 2), (0, 4, 4))


def without_bias():  # 1.13 has no such argument
    m = nn.GroupNorm(2, 4)
    m.bias = None
    return m


def norms():
    for k, size in [(1, ()), (2, (2, 2)), (3, (2, 1, 2))]:
        batch = getattr(nn, "BatchNorm%dd" % k)
        instance = getattr(nn, "InstanceNorm%dd" % k)
        input_size = (2, 3) + (size or (4,))
        case("BatchNorm%dd(3, {momentum = lucerna.none, eps = 0.1})" % k,
             lambda batch=batch: batch(3, momentum=None, eps=0.1), input_size)
        case("BatchNorm%dd(3, {affine = false})" % k, lambda batch=batch: batch(3, affine=False),
             input_size)
        case("BatchNorm%dd(3, {track_running_stats = false}):eval()" % k,
             lambda batch=batch: batch(3, track_running_stats=False).eval(), input_size)
        case("BatchNorm%dd(3):eval()" % k, lambda batch=batch: batch(3).eval(), input_size)
        case("InstanceNorm%dd(3)" % k, lambda instance=instance: instance(3), input_size)
        case("InstanceNorm%dd(3, {affine = true, track_running_stats = true, momentum = 0.5})" % k,
             lambda instance=instance: instance(3, affine=True, track_running_stats=True,
                                                momentum=0.5), input_size)
        case("InstanceNorm%dd(3, 0.1, 0.1, true)" % k,
             lambda instance=instance: instance(3, 0.1, 0.1, True), input_size[1:])
        case("InstanceNorm%dd(3, {track_running_stats = true}):eval()" % k,
             lambda instance=instance: instance(3, track_running_stats=True).eval(), input_size)
    case("BatchNorm3d(3)", lambda: nn.BatchNorm3d(3), (2, 3, 2, 1, 2))
    case("BatchNorm1d(3, {dtype = lucerna.float64})",
         lambda: nn.BatchNorm1d(3, dtype=torch.float64), (4, 3))
    case("BatchNorm2d(3):eval()", lambda: nn.BatchNorm2d(3).eval(), (0, 3, 2, 2))
    case("BatchNorm1d(3)", lambda: nn.BatchNorm1d(3), (0, 3))
    case("BatchNorm2d(3)", lambda: nn.BatchNorm2d(3), (2, 3, 0, 2))
    case("InstanceNorm1d(3)", lambda: nn.InstanceNorm1d(3), (0, 3, 4))
    case("GroupNorm(2, 4)", lambda: nn.GroupNorm(2, 4), (2, 4, 3))
    case("GroupNorm(4, 4, {eps = 0.1, affine = false})",
         lambda: nn.GroupNorm(4, 4, eps=0.1, affine=False), (2, 4, 2, 2))
    case("GroupNorm(1, 4)", lambda: nn.GroupNorm(1, 4), (3, 4))
    case("GroupNorm(2, 4, {bias = false})", without_bias, (2, 4, 3))
    case("LayerNorm({2, 3}, {dtype = lucerna.float64})",
         lambda: nn.LayerNorm((2, 3), dtype=torch.float64), (2, 2, 3))
    case("LayerNorm(3)", lambda: nn.LayerNorm(3), (0, 3))
    case("RMSNorm(4)", lambda: RMSNorm((4,)), (3, 4))
    case("RMSNorm({2, 3}, {eps = 0.1})", lambda: RMSNorm((2, 3), 0.1), (2, 2, 3))
    case("RMSNorm(4, {elementwise_affine = false})", lambda: RMSNorm((4,), None, False), (3, 4))
    case("LocalResponseNorm(2)", lambda: nn.LocalResponseNorm(2), (2, 4, 2))
    case("LocalResponseNorm(3, {alpha = 0.5, beta = 0.5, k = 2.0})",
         lambda: nn.LocalResponseNorm(3, alpha=0.5, beta=0.5, k=2.0), (1, 4, 2, 2))
    case("LocalResponseNorm(2, 0.5)", lambda: nn.LocalResponseNorm(2, 0.5), (1, 3, 1, 2, 2))


def paddings():
    for k, sides, size in [(1, (2, 1), (2, 4)), (2, (1, 0, 2, 1), (2, 3, 3)),
                           (3, (1, 0, 0, 1, 1, 1), (1, 2, 2, 2))]:
        for name, mode in [("Reflection", "reflect"), ("Replication", "replicate"),
                           ("Circular", "circular"), ("Zero", "constant")]:
            name = "%sPad%dd" % (name, k)
            lua = ", ".join(map(str, sides))
            case("%s({%s})" % (name, lua), lambda n=name, m=mode, s=sides: Pad(n, m, s),
                 (2,) + size)
            case("%s(1)" % name, lambda n=name, m=mode, s=(1,) * 2 * k: Pad(n, m, s), size)
        constant = getattr(nn, "ConstantPad%dd" % k)
        case("ConstantPad%dd({%s}, 1.5)" % (k, lua), lambda c=constant, s=sides: c(s, 1.5),
             (1,) + size)
        case("ConstantPad%dd(1, 2)" % k, lambda c=constant: c(1, 2), size)
        case("ConstantPad%dd(-1, 2)" % k, lambda c=constant: c(-1, 2), (1,) + tuple(
            n + 2 for n in size))
    case("ZeroPad2d({-1, 1, 0, -1})", lambda: Pad("ZeroPad2d", "constant", (-1, 1, 0, -1)),
         (2, 3, 3))
    case("ReplicationPad1d(1)", lambda: Pad("ReplicationPad1d", "replicate", (1, 1)), (0, 2, 3))


def shuffles():
    case("PixelShuffle(2)", lambda: nn.PixelShuffle(2), (2, 8, 1, 2))
    case("PixelShuffle(2)", lambda: nn.PixelShuffle(2), (2, 1, 4, 1, 2))
    case("PixelUnshuffle(2)", lambda: nn.PixelUnshuffle(2), (2, 2, 4, 2))
    case("PixelUnshuffle(3)", lambda: nn.PixelUnshuffle(3), (1, 3, 3))
    case("ChannelShuffle(2)", lambda: ChannelShuffle(2), (2, 4, 1, 2))
    case("ChannelShuffle(3)", lambda: ChannelShuffle(3), (1, 6, 2))
    case("Unflatten(2, {2, 3})", lambda: nn.Unflatten(1, (2, 3)), (2, 6, 2),
         text="Unflatten(dim=2, unflattened_size=(2, 3))")
    case("Unflatten(-1, {2, -1})", lambda: nn.Unflatten(-1, (2, -1)), (3, 4))


convolutions()
norms()
paddings()
shuffles()
write(CASES, __file__)
