"""Texts of modules as PyTorch 2.9 prints them, into data/repr.lua; tests/lua/repr_spec.lua builds
the same in Lua. A case is a line: Lua's expression and Python's (without the second where both
are the same; what is indented continues it). Run: /usr/bin/python3 tests/parity/gen_repr.py

What differs is applied here and nowhere else: dims and positions count from 1 (from_one), and
where the PyTorch that runs is older than 2.9, what 2.9 prints instead (the section below)."""
import re
from collections import OrderedDict

import torch
from torch import nn
from torch.nn.utils import parametrize  # noqa: F401 (for cases)

from record import save


# ---- newer than the PyTorch that runs ----


def folded(self):
    """ModuleList folds runs of equal children, and has no extra_repr (2.0)."""
    lines, runs = [], []
    for i, text in enumerate(map(repr, self)):
        if runs and runs[-1][2] == text:
            runs[-1][1] = i
        else:
            runs.append([i, i, text])
    for first, last, text in runs:
        head = f"({first})" if first == last else f"({first}-{last})"
        count = "" if first == last else f"{last - first + 1} x "
        lines.append(f"{head}: {count}{text}".replace("\n", "\n  "))
    return self._get_name() + "(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def upsample(self):
    size, scale = self.size, self.scale_factor
    info = f"scale_factor={scale!r}" if scale is not None else f"size={size!r}"
    return f"{info}, mode={self.mode!r}"


class RMSNorm(nn.Module):
    def __init__(self, shape, eps=None, elementwise_affine=True):
        super().__init__()
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.text = f"{shape}, eps={eps}, elementwise_affine={elementwise_affine}"

    def extra_repr(self):
        return self.text


def padding(name, n):
    """ZeroPad1d/3d and CircularPad1d-3d are of 2.1."""
    def init(self, pad):
        nn.Module.__init__(self)
        self.padding = (pad,) * n if isinstance(pad, int) else tuple(pad)
    return type(name, (nn.Module,), {"__init__": init, "extra_repr": lambda s: f"{s.padding}"})


def at_least_2_9():
    if int(torch.__version__.split(".")[0]) >= 2:
        return
    nn.ModuleList.__repr__ = folded
    nn.Upsample.extra_repr = upsample
    nn.Softplus.__init__.__defaults__ = (1.0, 20.0)
    bag = nn.EmbeddingBag.extra_repr
    nn.EmbeddingBag.extra_repr = lambda self: re.sub(r"mode=(\w+)", r"mode='\1'", bag(self))
    nn.RMSNorm = RMSNorm
    nn.LPPool3d = type("LPPool3d", (nn.LPPool2d,), {})
    for name, n in [("ZeroPad1d", 2), ("ZeroPad3d", 6), ("CircularPad1d", 2),
                    ("CircularPad2d", 4), ("CircularPad3d", 6)]:
        if not hasattr(nn, name):
            setattr(nn, name, padding(name, n))


# ---- models ----


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.register_module("downsample", None)
        if stride != 1:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Block(8, 8), Block(8, 8))
        self.layer2 = nn.Sequential(Block(8, 16, 2), Block(16, 16))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, 10)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8)] + [nn.Linear(8, 8) for _ in range(3)])
        self.heads = nn.ModuleDict(OrderedDict(
            label=nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 3)), value=nn.Linear(8, 1)))
        self.scales = nn.ParameterList([torch.ones(2, 3), torch.ones(1)])
        self.extras = nn.ParameterDict({"a": torch.ones(4), "b": torch.ones(2, 2).double()})
        self.act = nn.GELU()


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2, stride=2),
            nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2, stride=2))
        self.flatten = nn.Flatten()
        self.classifier = nn.Sequential(nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84),
                                        nn.Tanh(), nn.Linear(84, 10), nn.Softmax(dim=1))


class Extra(nn.Module):
    """Its extra_repr is the text given; its name may be another one."""
    def __init__(self, text, *children, name=None):
        super().__init__()
        self.text, self.name = text, name
        for i, child in enumerate(children):
            self.add_module("c%d" % (i + 1), child)

    def extra_repr(self):
        return self.text

    def _get_name(self):
        return self.name or "Extra"


class Said(nn.Module):
    def __repr__(self):
        return "I am\ntwo lines"


class Wide(nn.Linear):
    def extra_repr(self):
        return super().extra_repr() + ", wide=True"


class Bits(nn.ModuleList):
    def extra_repr(self):
        return "not shown"


def ordered(**children):
    return OrderedDict(children)


def emptied(module, name):
    setattr(module, name, None)
    return module


def parametrized(net):
    nn.utils.parametrize.register_parametrization(net[0], "weight", nn.Tanh())
    nn.utils.parametrize.register_parametrization(net[0], "weight", nn.ReLU())
    return net


# ---- cases: Lua, Python ----

CASES = r"""
ResNet() | ResNet()
MLP() | MLP()
LeNet() | LeNet()
nn.Module()
nn.Sequential()
nn.ModuleList()
nn.ModuleDict()
nn.ParameterList()
nn.ParameterDict()
nn.Container{b = nn.ReLU(), a = nn.Tanh()} | nn.Container(a=nn.Tanh(), b=nn.ReLU())
nn.Sequential(nn.Linear(2, 3), nn.ReLU())
nn.Sequential(nn.Sequential(nn.Sequential(nn.Sequential())))
nn.Sequential(nn.ReLU(), nn.ReLU(), nn.ReLU())
nn.Sequential{{"conv", nn.Conv2d(1, 1, 1)}, {"act", nn.ReLU()}}
  | nn.Sequential(ordered(conv=nn.Conv2d(1, 1, 1), act=nn.ReLU()))
nn.Sequential{{"b", nn.ReLU()}, {"a", nn.Tanh()}, {"c", nn.ReLU()}}[{2, 3}]
  | nn.Sequential(ordered(b=nn.ReLU(), a=nn.Tanh(), c=nn.ReLU()))[1:]
emptied(nn.Sequential(nn.ReLU(), nn.Tanh()), "0")
  | emptied(nn.Sequential(nn.ReLU(), nn.Tanh()), "0")
emptied(nn.ModuleList{nn.ReLU(), nn.ReLU()}, "1")
  | emptied(nn.ModuleList([nn.ReLU(), nn.ReLU()]), "1")
emptied(emptied(nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.ReLU()}, "0"), "1")
  | emptied(emptied(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.ReLU()]), "0"), "1")
emptied(nn.ModuleDict{a = nn.ReLU()}, "a") | emptied(nn.ModuleDict({"a": nn.ReLU()}), "a")
nn.ModuleList{nn.ReLU()} | nn.ModuleList([nn.ReLU()])
nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.ReLU()} | nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.ReLU()])
nn.ModuleList{nn.ReLU(), nn.Tanh(), nn.ReLU(), nn.ReLU()}
  | nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ReLU(), nn.ReLU()])
nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Linear(1, 1), nn.Linear(1, 1), nn.Tanh()}
  | nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Linear(1, 1), nn.Linear(1, 1), nn.Tanh()])
nn.ModuleList{nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Sequential()}
  | nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Sequential()])
nn.ModuleList{nn.ModuleList{nn.ReLU(), nn.ReLU()}, nn.ModuleList{nn.ReLU(), nn.ReLU()},
  nn.ModuleList{nn.Tanh()}}
  | nn.ModuleList([nn.ModuleList([nn.ReLU(), nn.ReLU()]), nn.ModuleList([nn.ReLU(), nn.ReLU()]),
    nn.ModuleList([nn.Tanh()])])
nn.Sequential(nn.ReLU(), nn.ModuleList{nn.ReLU(), nn.ReLU()}, nn.ReLU())
  | nn.Sequential(nn.ReLU(), nn.ModuleList([nn.ReLU(), nn.ReLU()]), nn.ReLU())
nn.ModuleDict{b = nn.ReLU(), a = nn.Tanh()} | nn.ModuleDict(ordered(a=nn.Tanh(), b=nn.ReLU()))
nn.ModuleDict{{"b", nn.ReLU()}, {"a b", nn.ModuleDict{c = nn.Tanh()}}}
  | nn.ModuleDict(OrderedDict([("b", nn.ReLU()), ("a b", nn.ModuleDict({"c": nn.Tanh()}))]))
nn.ParameterList{lucerna.ones(2, 3)} | nn.ParameterList([torch.ones(2, 3)])
nn.ParameterList{lucerna.ones(2, 3), lucerna.ones(2, {dtype = lucerna.float64}),
  lucerna.tensor(1.0)}
  | nn.ParameterList([torch.ones(2, 3), torch.ones(2).double(), torch.tensor(1.0)])
nn.ParameterList{lucerna.ones(1), 3, 0.5, "text", true, lucerna.none, {1, 2}, {a = 1}}
  | nn.ParameterList([torch.ones(1), 3, 0.5, "text", True, None, [1, 2], {"a": 1}])
nn.ParameterDict{k = lucerna.ones(1)} | nn.ParameterDict({"k": torch.ones(1)})
nn.ParameterDict{b = lucerna.ones(2, 3), a = lucerna.ones(2, {dtype = lucerna.float64}), n = 3}
  | nn.ParameterDict({"b": torch.ones(2, 3), "a": torch.ones(2).double(), "n": 3})
nn.ParameterDict{h = lucerna.ones(1, {dtype = lucerna.float16}), b = lucerna.ones(0,
  {dtype = lucerna.bfloat16})}
  | nn.ParameterDict({"h": torch.ones(1).half(), "b": torch.ones(0).bfloat16()})
nn.ModuleDict{p = nn.ParameterList{lucerna.ones(1)}, q = nn.ParameterDict{x = lucerna.ones(1),
  y = lucerna.ones(1)}}
  | nn.ModuleDict(ordered(p=nn.ParameterList([torch.ones(1)]),
    q=nn.ParameterDict({"x": torch.ones(1), "y": torch.ones(1)})))
nn.ModuleList{nn.ParameterList{lucerna.ones(1)}, nn.ParameterList{lucerna.zeros(1)}}
  | nn.ModuleList([nn.ParameterList([torch.ones(1)]), nn.ParameterList([torch.zeros(1)])])
Extra("one line")
Extra("one\ntwo")
Extra("one\n\ntwo\n")
Extra("one", nn.ReLU())
Extra("one\ntwo", nn.ReLU(), Extra("three\nfour"))
Extra("", nn.ReLU())
Extra("", Extra("", Extra("a\nb", nn.ModuleList{nn.ReLU(), nn.ReLU()})))
  | Extra("", Extra("", Extra("a\nb", nn.ModuleList([nn.ReLU(), nn.ReLU()]))))
Extra("x", nn.Tanh(), {name = "Renamed"}) | Extra("x", nn.Tanh(), name="Renamed")
nn.Sequential(Said(), nn.Sequential(Said()), nn.ReLU())
nn.ModuleList{Said(), Said()} | nn.ModuleList([Said(), Said()])
nn.Sequential(Wide(2, 3), Wide(2, 3))
Bits{nn.ReLU(), nn.ReLU()} | Bits([nn.ReLU(), nn.ReLU()])
Bits() | Bits()
nn.utils.parametrize.register_parametrization(nn.Linear(2, 3), "weight", nn.Tanh())
parametrized(nn.Sequential(nn.Conv1d(1, 1, 1, {bias = false})))
  | parametrized(nn.Sequential(nn.Conv1d(1, 1, 1, bias=False)))
nn.utils.weight_norm(nn.Linear(2, 3))
nn.Identity()
nn.Identity(54, {unused = true}) | nn.Identity(54, unused=True)
nn.Linear(2, 3)
nn.Linear(2, 3, {bias = false}) | nn.Linear(2, 3, bias=False)
nn.Linear(2, 3, {dtype = lucerna.float64}) | nn.Linear(2, 3, dtype=torch.float64)
nn.LazyLinear(3)
nn.Bilinear(2, 3, 4)
nn.Bilinear(2, 3, 4, false) | nn.Bilinear(2, 3, 4, False)
nn.Conv1d(2, 4, 3)
nn.Conv1d(2, 4, 3, {padding = "same", dilation = 2, groups = 2, bias = false,
  padding_mode = "circular"})
  | nn.Conv1d(2, 4, 3, padding="same", dilation=2, groups=2, bias=False, padding_mode="circular")
nn.Conv2d(1, 2, 3, {padding = 1, bias = false}) | nn.Conv2d(1, 2, 3, padding=1, bias=False)
nn.Conv2d(1, 2, {3, 5}, {stride = {2, 1}, padding = {0, 1}, dilation = {1, 2}})
  | nn.Conv2d(1, 2, (3, 5), stride=(2, 1), padding=(0, 1), dilation=(1, 2))
nn.Conv2d(1, 2, 3, {padding = "valid"}) | nn.Conv2d(1, 2, 3, padding="valid")
nn.Conv3d(1, 2, 3)
nn.Conv3d(2, 2, {1, 2, 3}, {groups = 2, padding_mode = "replicate", padding = 1})
  | nn.Conv3d(2, 2, (1, 2, 3), groups=2, padding_mode="replicate", padding=1)
nn.ConvTranspose1d(2, 4, 3, {stride = 2, output_padding = 1})
  | nn.ConvTranspose1d(2, 4, 3, stride=2, output_padding=1)
nn.ConvTranspose2d(2, 4, 3)
nn.ConvTranspose2d(2, 4, 3, {dilation = 2, groups = 2, bias = false, padding = 1})
  | nn.ConvTranspose2d(2, 4, 3, dilation=2, groups=2, bias=False, padding=1)
nn.ConvTranspose3d(2, 4, {1, 2, 3}) | nn.ConvTranspose3d(2, 4, (1, 2, 3))
nn.LazyConv1d(3, 2)
nn.LazyConv2d(3, 2, {stride = 2}) | nn.LazyConv2d(3, 2, stride=2)
nn.LazyConv3d(3, 2)
nn.LazyConvTranspose1d(3, 2)
nn.LazyConvTranspose2d(3, 2)
nn.LazyConvTranspose3d(3, 2)
nn.Unfold(3)
nn.Unfold({2, 3}, {dilation = 2, padding = {1, 0}, stride = 2})
  | nn.Unfold((2, 3), dilation=2, padding=(1, 0), stride=2)
nn.Fold({4, 5}, 3) | nn.Fold((4, 5), 3)
nn.Fold(4, {2, 3}, {dilation = 2}) | nn.Fold(4, (2, 3), dilation=2)
nn.MaxPool1d(2)
nn.MaxPool2d(2)
nn.MaxPool2d({3, 2}, {stride = 1, padding = {1, 0}, dilation = 2, ceil_mode = true,
  return_indices = true})
  | nn.MaxPool2d((3, 2), stride=1, padding=(1, 0), dilation=2, ceil_mode=True,
    return_indices=True)
nn.MaxPool3d(2)
nn.MaxUnpool1d(2)
nn.MaxUnpool2d(3, {stride = 2, padding = 1}) | nn.MaxUnpool2d(3, stride=2, padding=1)
nn.MaxUnpool3d({1, 2, 3}) | nn.MaxUnpool3d((1, 2, 3))
nn.AvgPool1d(2)
nn.AvgPool1d(3, {stride = 2, padding = 1}) | nn.AvgPool1d(3, stride=2, padding=1)
nn.AvgPool2d(2)
nn.AvgPool2d({3, 2}, {stride = 1, padding = 1, ceil_mode = true})
  | nn.AvgPool2d((3, 2), stride=1, padding=1, ceil_mode=True)
nn.AvgPool3d(2)
nn.FractionalMaxPool2d(2, {output_ratio = 0.5}) | nn.FractionalMaxPool2d(2, output_ratio=0.5)
nn.FractionalMaxPool3d(2, {output_size = 3}) | nn.FractionalMaxPool3d(2, output_size=3)
nn.LPPool1d(2, 3)
nn.LPPool3d(2, 3, 1)
nn.LPPool2d(1.5, {2, 3}, {stride = 2, ceil_mode = true})
  | nn.LPPool2d(1.5, (2, 3), stride=2, ceil_mode=True)
nn.AdaptiveMaxPool1d(3)
nn.AdaptiveMaxPool2d({2, 3}) | nn.AdaptiveMaxPool2d((2, 3))
nn.AdaptiveMaxPool3d(2)
nn.AdaptiveAvgPool1d(3)
nn.AdaptiveAvgPool2d(3)
nn.AdaptiveAvgPool2d({lucerna.none, 7}) | nn.AdaptiveAvgPool2d((None, 7))
nn.AdaptiveAvgPool3d({1, 2, 3}) | nn.AdaptiveAvgPool3d((1, 2, 3))
nn.ReflectionPad1d(1)
nn.ReflectionPad2d({1, 2, 3, 4}) | nn.ReflectionPad2d((1, 2, 3, 4))
nn.ReflectionPad3d(1)
nn.ReplicationPad1d({1, 2}) | nn.ReplicationPad1d((1, 2))
nn.ReplicationPad2d(1)
nn.ReplicationPad3d(1)
nn.ZeroPad1d(2)
nn.ZeroPad2d({1, 2, 3, 4}) | nn.ZeroPad2d((1, 2, 3, 4))
nn.ZeroPad3d(1)
nn.ConstantPad1d(1, 0.5)
nn.ConstantPad2d({1, 2, 3, 4}, 3) | nn.ConstantPad2d((1, 2, 3, 4), 3)
nn.ConstantPad3d(1, -2.5)
nn.CircularPad1d(1)
nn.CircularPad2d({1, 2, 3, 4}) | nn.CircularPad2d((1, 2, 3, 4))
nn.CircularPad3d(1)
nn.ELU()
nn.ELU(0.5, true) | nn.ELU(0.5, True)
nn.Hardshrink()
nn.Hardsigmoid()
nn.Hardsigmoid(true) | nn.Hardsigmoid(True)
nn.Hardtanh()
nn.Hardtanh(-2, 0.5, {inplace = true}) | nn.Hardtanh(-2, 0.5, inplace=True)
nn.Hardswish()
nn.LeakyReLU()
nn.LeakyReLU(0.2, true) | nn.LeakyReLU(0.2, True)
nn.LogSigmoid()
nn.PReLU()
nn.PReLU(3)
nn.ReLU()
nn.ReLU(true) | nn.ReLU(True)
nn.ReLU6()
nn.ReLU6(true) | nn.ReLU6(True)
nn.RReLU()
nn.RReLU(0.1, 0.3, true) | nn.RReLU(0.1, 0.3, True)
nn.SELU()
nn.SELU(true) | nn.SELU(True)
nn.CELU()
nn.CELU(2.0)
nn.GELU()
nn.GELU("tanh")
nn.Sigmoid()
nn.SiLU()
nn.SiLU(true) | nn.SiLU(True)
nn.Mish()
nn.Softplus()
nn.Softplus(2, 10)
nn.Softshrink(0.3)
nn.Softsign()
nn.Tanh()
nn.Tanhshrink()
nn.Threshold(0.1, 20)
nn.Threshold(1, 2, true) | nn.Threshold(1, 2, True)
nn.GLU()
nn.GLU(1) | nn.GLU(0)
nn.Softmin(2) | nn.Softmin(1)
nn.Softmax()
nn.Softmax(2) | nn.Softmax(1)
nn.Softmax2d()
nn.LogSoftmax(-1)
nn.AdaptiveLogSoftmaxWithLoss(4, 10, {3, 6}) | nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6])
nn.MultiheadAttention(4, 2)
nn.MultiheadAttention(4, 2, {bias = false, kdim = 3, vdim = 5})
  | nn.MultiheadAttention(4, 2, bias=False, kdim=3, vdim=5)
nn.BatchNorm1d(3)
nn.BatchNorm2d(3, 1e-3, nil) | nn.BatchNorm2d(3, 1e-3)
nn.BatchNorm2d(3, {momentum = lucerna.none, affine = false})
  | nn.BatchNorm2d(3, momentum=None, affine=False)
nn.BatchNorm3d(3, {track_running_stats = false}) | nn.BatchNorm3d(3, track_running_stats=False)
nn.LazyBatchNorm1d()
nn.LazyBatchNorm2d(1e-4) | nn.LazyBatchNorm2d(1e-4)
nn.LazyBatchNorm3d()
nn.LazyInstanceNorm1d()
nn.LazyInstanceNorm2d()
nn.LazyInstanceNorm3d()
nn.SyncBatchNorm(3)
nn.InstanceNorm1d(3)
nn.InstanceNorm2d(3, {affine = true, track_running_stats = true})
  | nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
nn.InstanceNorm3d(3)
nn.GroupNorm(2, 4)
nn.GroupNorm(2, 4, {eps = 1e-12, affine = false}) | nn.GroupNorm(2, 4, eps=1e-12, affine=False)
nn.LayerNorm(4)
nn.LayerNorm({4, 5}, {eps = 0.5, elementwise_affine = false})
  | nn.LayerNorm((4, 5), eps=0.5, elementwise_affine=False)
nn.RMSNorm(4)
nn.RMSNorm({2, 3}, {eps = 1e-6, elementwise_affine = false})
  | nn.RMSNorm((2, 3), eps=1e-6, elementwise_affine=False)
nn.LocalResponseNorm(2)
nn.LocalResponseNorm(3, {alpha = 0.1, beta = 1, k = 2})
  | nn.LocalResponseNorm(3, alpha=0.1, beta=1, k=2)
nn.CrossMapLRN2d(2)
nn.RNN(3, 4)
nn.RNN(3, 4, 2, {nonlinearity = "relu", bias = false, batch_first = true, dropout = 0.5,
  bidirectional = true})
  | nn.RNN(3, 4, 2, nonlinearity="relu", bias=False, batch_first=True, dropout=0.5,
    bidirectional=True)
nn.LSTM(3, 4)
nn.LSTM(3, 4, {num_layers = 2, bidirectional = true, proj_size = 2})
  | nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
nn.GRU(3, 4, {batch_first = true}) | nn.GRU(3, 4, batch_first=True)
nn.RNNBase("GRU", 3, 4)
nn.RNNBase("LSTM", 3, 4, {batch_first = true}) | nn.RNNBase("LSTM", 3, 4, batch_first=True)
nn.RNNCellBase(3, 4, true, 1) | torch.nn.modules.rnn.RNNCellBase(3, 4, True, 1)
nn.RNNCell(3, 4)
nn.RNNCell(3, 4, {bias = false, nonlinearity = "relu"})
  | nn.RNNCell(3, 4, bias=False, nonlinearity="relu")
nn.LSTMCell(3, 4)
nn.GRUCell(3, 4, {bias = false}) | nn.GRUCell(3, 4, bias=False)
nn.TransformerEncoderLayer(4, 2, {dim_feedforward = 8})
  | nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
nn.TransformerDecoderLayer(4, 2, {dim_feedforward = 8, dropout = 0.0})
  | nn.TransformerDecoderLayer(4, 2, dim_feedforward=8, dropout=0.0)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 3)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, nn.LayerNorm(4))
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)
nn.Transformer(4, 2, 2, 2, 8)
nn.Dropout()
nn.Dropout(1)
nn.Dropout(0.25, true) | nn.Dropout(0.25, True)
nn.Dropout1d()
nn.Dropout2d(0.1)
nn.Dropout3d({inplace = true}) | nn.Dropout3d(inplace=True)
nn.AlphaDropout()
nn.FeatureAlphaDropout(0.1)
nn.Embedding(4, 2)
nn.Embedding(4, 2, {padding_idx = 1, max_norm = 2.0, norm_type = 1.0, scale_grad_by_freq = true})
  | nn.Embedding(4, 2, padding_idx=0, max_norm=2.0, norm_type=1.0, scale_grad_by_freq=True)
nn.Embedding(4, 2, {sparse = true})
  | nn.Embedding(4, 2, sparse=True)
nn.Embedding(4, 2, -1) | nn.Embedding(4, 2, 3)
nn.EmbeddingBag(4, 2)
nn.EmbeddingBag(4, 2, {mode = "sum", padding_idx = 1, max_norm = 1.0})
  | nn.EmbeddingBag(4, 2, mode="sum", padding_idx=0, max_norm=1.0)
nn.CosineSimilarity()
nn.PairwiseDistance()
nn.L1Loss()
nn.MSELoss()
nn.MSELoss{reduction = "sum"} | nn.MSELoss(reduction="sum")
nn.CrossEntropyLoss()
nn.CrossEntropyLoss{weight = lucerna.ones(3), ignore_index = 2, label_smoothing = 0.1}
  | nn.CrossEntropyLoss(weight=torch.ones(3), ignore_index=1, label_smoothing=0.1)
nn.CTCLoss()
nn.NLLLoss()
nn.NLLLoss2d()
nn.PoissonNLLLoss()
nn.GaussianNLLLoss()
nn.KLDivLoss()
nn.BCELoss()
nn.BCEWithLogitsLoss()
nn.BCEWithLogitsLoss{pos_weight = lucerna.ones(3)}
  | nn.BCEWithLogitsLoss(pos_weight=torch.ones(3))
nn.MarginRankingLoss()
nn.HingeEmbeddingLoss()
nn.MultiLabelMarginLoss()
nn.HuberLoss()
nn.SmoothL1Loss()
nn.SoftMarginLoss()
nn.MultiLabelSoftMarginLoss()
nn.CosineEmbeddingLoss()
nn.MultiMarginLoss()
nn.TripletMarginLoss()
nn.TripletMarginWithDistanceLoss()
nn.PixelShuffle(2)
nn.PixelUnshuffle(2)
nn.Upsample{scale_factor = 2.0} | nn.Upsample(scale_factor=2.0)
nn.Upsample{size = {4, 5}, mode = "bilinear"} | nn.Upsample(size=(4, 5), mode="bilinear")
nn.UpsamplingNearest2d{scale_factor = 2.0} | nn.UpsamplingNearest2d(scale_factor=2.0)
nn.UpsamplingBilinear2d{size = {4, 5}} | nn.UpsamplingBilinear2d(size=(4, 5))
nn.ChannelShuffle(2)
nn.Flatten()
nn.Flatten(1, 2) | nn.Flatten(0, 1)
nn.Flatten(-2, -1)
nn.DataParallel(nn.Linear(1, 1))
nn.Unflatten(2, {2, 3}) | nn.Unflatten(1, (2, 3))
"""


def from_one(text):
    """Dims and positions as Lua counts them."""
    return re.sub(r"\b(dim|start_dim|end_dim|padding_idx)=(\d+)",
                  lambda m: f"{m.group(1)}={int(m.group(2)) + 1}", text)


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def main():
    at_least_2_9()
    lines = []
    for line in re.sub(r"\n +", " ", CASES).strip().split("\n"):
        lua, _, python = line.partition(" | ")
        text = from_one(repr(eval(python or lua)))  # the lines above, not input
        lines.append("  {lua = %s,\n   text = %s}," % (quote(lua), quote(text)))
    save(__file__, "\n".join(lines))


main()
