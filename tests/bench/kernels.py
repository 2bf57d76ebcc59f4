# PyTorch's side of kernels.lua.
import ctypes

import torch
from torch import nn
from torch.nn import functional as F
from twins import case


def convolution(name, kind, args, options, shape):
    def infer():
        layer, x = kind(*args, **options), torch.rand(shape)
        return lambda: layer(x)

    def train():
        layer, x = kind(*args, **options), torch.rand(shape)
        g = torch.rand(layer(x).shape)

        def once():
            layer.zero_grad(set_to_none=True)
            layer(x).backward(g)

        return once

    case(name)(infer)
    case(name + ", training", train=True)(train)


def image(channels, size, batch=4):
    return (batch, channels, size, size)


SAME = {"padding": 1}
HALF = {"padding": 1, "stride": 2}
for name, kind, args, options, shape in [
    ("Conv2d 64-64 3x3", nn.Conv2d, (64, 64, 3), SAME, image(64, 56)),
    ("Conv2d 128-128 3x3", nn.Conv2d, (128, 128, 3), SAME, image(128, 28)),
    ("Conv2d 256-256 3x3", nn.Conv2d, (256, 256, 3), SAME, image(256, 14)),
    ("Conv2d 512-512 3x3", nn.Conv2d, (512, 512, 3), SAME, image(512, 7)),
    ("Conv2d 512-512 3x3", nn.Conv2d, (512, 512, 3), SAME, image(512, 7, 1)),
    ("Conv2d 64-128 3x3 stride 2", nn.Conv2d, (64, 128, 3), HALF, image(64, 56)),
    ("Conv2d 256-64 1x1", nn.Conv2d, (256, 64, 1), {}, image(256, 56)),
    ("Conv2d 128 depthwise 3x3", nn.Conv2d, (128, 128, 3), SAME | {"groups": 128}, image(128, 56)),
    ("Conv2d 64-64 3x3 in 4 groups", nn.Conv2d, (64, 64, 3), SAME | {"groups": 4}, image(64, 56)),
    ("Conv2d 32-64 5x5", nn.Conv2d, (32, 64, 5), {"padding": 2}, image(32, 28)),
    ("Conv2d 3-64 7x7 stride 2", nn.Conv2d, (3, 64, 7), HALF | {"padding": 3}, image(3, 112)),
    ("ConvTranspose2d 64-32 4x4 stride 2", nn.ConvTranspose2d, (64, 32, 4), HALF, image(64, 28)),
    ("Conv1d 64-64 3 dilation 4", nn.Conv1d, (64, 64, 3), {"padding": 4, "dilation": 4},
     (4, 64, 4096)),
    ("Conv2d 256-256 3x3 stride 2", nn.Conv2d, (256, 256, 3), HALF, image(256, 14)),
    ("Conv2d 64-128 1x1 stride 2", nn.Conv2d, (64, 128, 1), {"stride": 2}, image(64, 56)),
    ("Conv2d 96 depthwise 7x7", nn.Conv2d, (96, 96, 7), {"padding": 3, "groups": 96},
     image(96, 56)),
    ("Conv2d 128-128 3x3 in 32 groups", nn.Conv2d, (128, 128, 3), SAME | {"groups": 32},
     image(128, 56)),
    ("Conv1d 32-32 9", nn.Conv1d, (32, 32, 9), {"padding": 4}, (8, 32, 16000)),
    ("Conv2d 960 depthwise 3x3", nn.Conv2d, (960, 960, 3), SAME | {"groups": 960}, image(960, 7)),
    ("Conv2d 3-192 16x16 stride 16", nn.Conv2d, (3, 192, 16), {"stride": 16}, image(3, 224)),
    ("Conv3d 16-32 3x3x3", nn.Conv3d, (16, 32, 3), SAME, (2, 16, 16, 28, 28)),
]:
    convolution("%s on %s" % (name, list(shape)), kind, args, options, shape)


def on(name, shape, f, *more, dtype=torch.float32):
    """A case that calls f(x) on a random x of the shape."""

    def make():
        x = torch.rand(shape).to(dtype)
        return lambda: f(x)

    case(name)(make)


@case("matmul 1024")
def _():
    a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
    return lambda: a.matmul(b)


@case("matmul 1024; peer: OpenBLAS alone")
def _():
    n = 1024
    a, b, c = torch.rand(n, n), torch.rand(n, n), torch.empty(n, n)
    row_major, plain = 101, 111
    product = ctypes.CDLL("libopenblas.so.0").cblas_sgemm
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def once():
        x, y, z = (ctypes.c_void_p(t.data_ptr()) for t in (a, b, c))
        product(row_major, plain, plain, n, n, n, one, x, n, y, n, zero, z, n)

    once()
    assert torch.allclose(c, a.matmul(b))
    return once


def rows(m):
    @case("linear 1024-1024 on %d rows" % m)
    def _():
        layer, x = nn.Linear(1024, 1024), torch.rand(m, 1024)
        return lambda: layer(x)


for m in (1, 16, 64):
    rows(m)


@case("linear 512-128 on 512 rows behind a relu, there and back", train=True)
def _():
    layer, x = torch.nn.Linear(512, 128), torch.randn(512, 512).relu()
    g = torch.rand(512, 128)
    x.requires_grad_()

    def once():
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x).backward(g)

    return once


@case("bmm [32, 128, 64] x [32, 64, 128]")
def _():
    a, b = torch.rand(32, 128, 64), torch.rand(32, 64, 128)
    return lambda: a.bmm(b)


@case("fft of [64, 1024] complex")
def _():
    z = torch.fft.fft(torch.rand(64, 1024))
    return lambda: torch.fft.fft(z)


on("rfft of [256]", (256,), torch.fft.rfft)
on("rfft2 of [4, 256, 256]", (4, 256, 256), torch.fft.rfft2)


@case("fft2 of [8, 256, 256] complex")
def _():
    z = torch.fft.fft2(torch.rand(8, 256, 256))
    return lambda: torch.fft.fft2(z)


@case("stft of 16,000 samples, 400 a frame, every 160")
def _():
    x, window = torch.rand(16000), torch.hann_window(400)
    return lambda: x.stft(400, 160, window=window, return_complex=True)


@case("copy of 32 M")
def _():
    source, target = torch.zeros(2**25), torch.zeros(2**25)
    return lambda: target.copy_(source)


@case("x + y, 4 M")
def _():
    x, y = torch.rand(2048, 2048), torch.rand(2048, 2048)
    return lambda: x + y


SQUARE = (2048, 2048)
on("exp, 4 M", SQUARE, torch.exp)
on("tanh, 4 M", SQUARE, torch.tanh)
on("sigmoid, 4 M", SQUARE, torch.sigmoid)
on("log, 4 M", SQUARE, torch.log)
on("sin, 4 M", SQUARE, torch.sin)
on("x * column, 4 M", SQUARE, lambda x: x * x[:, :1])
on("clamp, 4 M", SQUARE, lambda x: x.clamp(0.2, 0.7))
on("gelu, 4 M", SQUARE, F.gelu)
on("sum, 4 M", SQUARE, torch.sum)
on("sum over rows, 4 M", SQUARE, lambda x: x.sum(0))
on("max along rows with indices, 4 M", SQUARE, lambda x: x.max(1))
on("x + x, int32, 4 M", SQUARE, lambda x: x + x, dtype=torch.int32)
on("x + x, bfloat16, 4 M", SQUARE, lambda x: x + x, dtype=torch.bfloat16)
on("transposed copy, 4 M", SQUARE, lambda x: x.t().contiguous())
on("repeat 2 x 2, 1 M", (1024, 1024), lambda x: x.tile(2, 2))
on("cat of 4, 1 M each", (1024, 1024), lambda x: torch.cat([x, x, x, x], 1))
on("topk 10 of 2048 rows of 2048", SQUARE, lambda x: x.topk(10))
on("sort, 256 rows of 2048", (256, 2048), lambda x: x.sort())
on("softmax [2048, 2048]", SQUARE, lambda x: x.softmax(1))
on("LayerNorm [2048, 2048]", SQUARE, nn.LayerNorm(2048))
IMAGES = (4, 64, 56, 56)
on("GroupNorm 8 on [4, 64, 56, 56]", IMAGES, nn.GroupNorm(8, 64))
on("BatchNorm2d, training, forward, [4, 64, 56, 56]", IMAGES, nn.BatchNorm2d(64))
on("MaxPool2d 2 on [4, 64, 56, 56]", IMAGES, nn.MaxPool2d(2))
on("AvgPool2d 2 on [4, 64, 56, 56]", IMAGES, nn.AvgPool2d(2))


@case("Embedding 50,000 x 256 of [64, 128]")
def _():
    layer, x = nn.Embedding(50000, 256), torch.randint(0, 50000, (64, 128))
    return lambda: layer(x)


def through(name, make_layer, shape):
    @case(name, train=True)
    def _():
        layer, x, g = make_layer(), torch.rand(shape, requires_grad=True), torch.rand(shape)

        def once():
            x.grad = None
            layer(x).backward(g)

        return once


through("LayerNorm [2048, 2048], training", lambda: nn.LayerNorm(2048), SQUARE)
through("BatchNorm2d [4, 64, 56, 56], training", lambda: nn.BatchNorm2d(64), IMAGES)


@case("cross entropy, 256 rows of 50,000 classes, training", train=True)
def _():
    x, target = torch.rand(256, 50000, requires_grad=True), torch.randint(0, 50000, (256,))

    def once():
        x.grad = None
        F.cross_entropy(x, target).backward()

    return once


@case("Embedding 50,000 x 64 of [64, 128], training", train=True)
def _():
    layer, x = nn.Embedding(50000, 64), torch.randint(0, 50000, (64, 128))
    g = torch.rand(64, 128, 64)

    def once():
        layer.zero_grad(set_to_none=True)
        layer(x).backward(g)

    return once


for kind in ("SGD", "SparseAdam"):
    @case(kind + ", 1,024 rows of 100,000 x 64, a step", train=True)
    def _(kind=kind):
        layer, x = nn.Embedding(100000, 64, sparse=True), torch.randint(0, 100000, (1024,))
        optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.01)

        def once():
            optimizer.zero_grad(set_to_none=True)
            layer(x).square().sum().backward()
            optimizer.step()

        return once


def attend(q, k, v):
    # scaled_dot_product_attention is newer than 1.13; this is what its documentation gives.
    return (q @ k.transpose(-2, -1) / 8).softmax(-1) @ v


def attend_causally(x):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)
    n = x.shape[0]
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    return (x @ x.transpose(-2, -1) / 8).masked_fill(hidden, float("-inf")).softmax(-1) @ x


if hasattr(F, "scaled_dot_product_attention"):
    attend = F.scaled_dot_product_attention


@case("attention, 8 heads of 64, 512 tokens, batch 2")
def _():
    q, k, v = (torch.rand(2, 8, 512, 64) for _ in range(3))
    return lambda: attend(q, k, v)


@case("attention, 8 heads of 64, 512 tokens, batch 2, training", train=True)
def _():
    q, k, v = (torch.rand(2, 8, 512, 64, requires_grad=True) for _ in range(3))
    g = torch.rand(2, 8, 512, 64)
    return lambda: attend(q, k, v).backward(g)


@case("attention, 1 head of 64, 1,024 tokens, causal, training", train=True)
def _():
    x, g = torch.rand(1024, 64, requires_grad=True), torch.rand(1024, 64)
    return lambda: attend_causally(x).backward(g)


def optimizer(name, kind, **options):
    @case(name + ", a step over 11 M parameters", train=True)
    def _():
        parameters = [nn.Parameter(torch.rand(180000)) for _ in range(62)]
        for p in parameters:
            p.grad = torch.rand(180000)
        return kind(parameters, lr=1e-4, **options).step


optimizer("Adam", torch.optim.Adam)
optimizer("SGD", torch.optim.SGD, momentum=0.9)
optimizer("RMSprop", torch.optim.RMSprop)
