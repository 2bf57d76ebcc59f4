#!/usr/bin/env python3
"""PyTorch's answers for statistics, distances and products of pairs:
tests/parity/data/reductions.lua."""
import torch
from math import inf, nan

from record import Const, Dim, case, real, write

f64, f32 = torch.float64, torch.float32


def of(*values, dtype=f64):
    return torch.tensor(values, dtype=dtype)


def integrals():
    y, at = real(2, 4), of(0, .5, 2, 2.25)
    for fn in ("trapezoid", "cumulative_trapezoid"):
        case(fn, y)
        case(fn, y, dx=.5)
        case(fn, y, dim=Dim(0))
        case(fn, y, at)
        case(fn, y, at, dim=Dim(1))
        case(fn, y, real(2, 4))
        case(fn, real(2, 3, 2), real(3, 2), dim=Dim(1))
        case(fn, torch.tensor([1, 2, 4]))
        case(fn, torch.tensor([1, 2, 4]), torch.tensor([1, 2, 5]))
        case(fn, of(3))
        case(fn, torch.zeros(2, 0))
        case(fn, y, of(1, 2))
        case(fn, torch.tensor([True, False]))
        case(fn, torch.tensor(1.0))
        case(fn, y, at, dx=2)
        case(fn, y, dim=Dim(2))
    case("trapz", y, at)


def slopes():
    x, line, at = real(3, 4), real(5), of(0, .5, 2, 2.25)
    for order in (1, 2):
        case("gradient", line, edge_order=order)
        case("gradient", line, spacing=[.5], edge_order=order)
        case("gradient", x, edge_order=order)
        case("gradient", x, spacing=[.5, 2.0], edge_order=order)
        case("gradient", x, dim=[Dim(-1)], edge_order=order)
        case("gradient", x, spacing=[2.0, .25], dim=[Dim(1), Dim(0)], edge_order=order)
        case("gradient", x, spacing=[at], dim=[Dim(1)], edge_order=order)
        case("gradient", x, spacing=[of(1, 2, 4), at], edge_order=order)
        case("gradient", x, spacing=[at, of(0, -2, -3)], dim=[Dim(1), Dim(0)], edge_order=order)
        case("gradient", torch.tensor([1, 5, 2, 9]), edge_order=order)
        case("gradient", torch.tensor([[1, 5, 2], [4, 4, 1]], dtype=torch.int8), dim=[Dim(1)],
             edge_order=order)
        case("gradient", real(2, 3, 4, dtype=f32), dim=[Dim(1)], edge_order=order)
        case("gradient", real(2, order + 1, 0), dim=[Dim(1)], edge_order=order)
        case("gradient", real(order), edge_order=order)
    case("gradient", line, spacing=2.0, ref=lambda t, spacing: torch.gradient(t, spacing=spacing))
    case("gradient", x, spacing=2.0)
    case("gradient", real(4, dtype=torch.float16), grad=False)
    case("gradient", of(1, nan, 3, inf, 5), grad=False)
    case("gradient", of(1, 2, 4), spacing=[of(1, 1, 2)], grad=False)
    case("gradient", real(4, dtype=torch.complex128))
    case("gradient", line, edge_order=3)
    case("gradient", x, spacing=[1.0, 2.0, 3.0])
    case("gradient", x, spacing=[1.0, 2.0, 3.0], dim=[Dim(0), Dim(1)])
    case("gradient", x, dim=[Dim(0), Dim(0)])
    case("gradient", x, dim=[Dim(2)])
    case("gradient", x, spacing=[real(5)], dim=[Dim(1)])
    case("gradient", torch.tensor([1, 2, 3], dtype=torch.uint8))
    case("gradient", torch.tensor([True, False]))


def covariances():
    x, f, a = real(3, 4), torch.tensor([1, 2, 0, 3]), of(.5, 1, .25, 2)
    case("cov", x)
    case("cov", x, correction=0)
    case("cov", x, fweights=f)
    case("cov", x, aweights=a)
    case("cov", x, fweights=f, aweights=a)
    case("cov", x, fweights=f, aweights=a, correction=0)
    case("cov", x, correction=7, grad=False)
    case("cov", real(5))
    case("cov", torch.tensor([[1, 2, 4], [0, 5, 2]]))
    case("cov", of(3).reshape(()), grad=False)
    case("cov", torch.zeros(0), grad=False)
    case("cov", real(2, 3, dtype=f32))
    case(".cov", x)
    for bad in (dict(fweights=a), dict(fweights=f[:2]), dict(fweights=-f), dict(aweights=f),
                dict(aweights=-a), dict(fweights=f * 0), dict(fweights=f.reshape(1, 4))):
        case("cov", x, **bad)
    case("cov", real(2, 2, 2))
    case("cov", x > 0)
    for fn in ("corrcoef", ".corrcoef"):
        case(fn, x)
    case("corrcoef", real(4), rough=True)
    case("corrcoef", torch.tensor([[1, 2, 4], [0, 5, 2]]))
    case("corrcoef", torch.tensor([[1.0, 2, 4], [1, 1, 1]]), grad=False)
    case("corrcoef", of(3).reshape(()), grad=False)
    case("corrcoef", real(2, 2, 2))


def medians():
    x = of(3, nan, 1, 2, nan, 5).reshape(2, 3)
    for fn in ("nanmedian", ".nanmedian"):
        case(fn, x, rough=True)
        case(fn, x, Dim(1), positions=(1,), rough=True)
    case("nanmedian", x, Dim(0), True, positions=(1,), rough=True)
    case("nanmedian", of(3, 1, 2, 7, 5))
    case("nanmedian", of(3, 1, 2, 7).reshape(2, 2), Dim(0), positions=(1,))
    case("nanmedian", torch.tensor([3, 1, 2, 7]))
    case("nanmedian", torch.tensor([[3, 1, 2], [0, 7, 5]], dtype=torch.uint8), Dim(1),
         positions=(1,))
    case("nanmedian", torch.zeros(0))
    case("nanmedian", of(nan, nan), grad=False)
    case("nanmedian", torch.tensor(2.5), Dim(0), positions=(1,))
    case("nanmedian", torch.zeros(0, 2), Dim(0))
    case("nanmedian", torch.tensor([True]))
    case("nanmedian", x, Dim(2))


def histograms():
    for dtype in (f32, f64):
        x = torch.tensor([.1, .25, 1, 2, 2.5, 3, 3, -1, .3, .7], dtype=dtype)
        for fn in ("histc", ".histc"):
            case(fn, x, 4, grad=False)
        case("histc", x, 7, grad=False)
        case("histc", x, 5, 0, 2.5, grad=False)
        case("histc", x.reshape(2, 5), bins=3, min=-1, max=3, grad=False)
        case("histogram", x, 4, grad=False)
        case(".histogram", x, 7, grad=False)
        case("histogram", x, 5, range=[0.0, 2.5], grad=False)
        case("histogram", x, 2, range=[1.0, 1.0], grad=False)
        case("histogram", x, 5, weight=x + 1, grad=False)
        case("histogram", x, 5, weight=x + 1, density=True, grad=False)
        case("histogram", x, torch.tensor([0, .25, 2, 3], dtype=dtype), grad=False)
        case("histogram", x, torch.tensor([0, .25, 2, 3], dtype=dtype), weight=x + 1, density=True,
             grad=False)
    ones = torch.ones(3)
    case("histc", torch.arange(300.0), grad=False)
    for fn in ("histc", "histogram"):
        case(fn, ones, 4, grad=False)
        case(fn, torch.zeros(0), 3, grad=False)
        case(fn, ones, 0)
        case(fn, torch.tensor([1.0, inf]), 3)
        case(fn, torch.tensor([1, 2]), 3)
    case("histc", ones, 3, 2, 1)
    case("histogram", ones, 3, range=[2.0, 1.0])
    case("histogram", ones, 3, range=[2.0])
    case("histogram", ones, 3, weight=torch.ones(2))
    case("histogram", ones, 3, weight=torch.ones(3, dtype=f64))
    case("histogram", ones, of(0, 1))
    case("histogram", ones, torch.ones(2, 2))
    case("histogram", ones, torch.zeros(0))


def distances():
    a, b = real(3, 2) + .03125, real(4, 2)
    for p in (0, .5, 1, 1.5, 2, 3, inf):
        case("cdist", a, b, float(p), rough=p < 1)
        case("cdist", a, a, float(p), rough=True)
    case("cdist", a, b)
    case("cdist", real(2, 3, 2), real(1, 4, 2))
    case("cdist", real(2, 1, 3, 2) + .03125, real(5, 4, 2), 1.0)
    case("cdist", real(30, 3), real(2, 3))
    case("cdist", a, b, compute_mode="use_mm_for_euclid_dist")
    case("cdist", real(30, 3), real(2, 3), compute_mode="donot_use_mm_for_euclid_dist")
    case("cdist", real(3, 2, dtype=f32), real(4, 2, dtype=f32), 3.0)
    case("cdist", torch.ones(2, 0), torch.ones(3, 0))
    case("cdist", torch.ones(0, 2), torch.ones(3, 2))
    case("cdist", torch.ones(2, 3), torch.ones(2, 4))
    case("cdist", torch.ones(3), torch.ones(2, 3))
    case("cdist", torch.ones(1, 3), torch.ones(2, 3), -1.0)
    case("cdist", torch.ones(1, 3), torch.ones(2, 3), compute_mode="mm")
    case("cdist", torch.ones(1, 3), torch.ones(2, 3, dtype=f64))
    case("cdist", torch.tensor([[1]]), torch.tensor([[1]]))
    case("cdist", torch.ones(5, 2, 3), torch.ones(4, 2, 3))
    for p in (1, 2, 2.5, inf):
        case("renorm", real(3, 4), p, Dim(0), 2.5)
        case(".renorm", real(2, 3, 2), p, Dim(-2), 1)
    case(".renorm_", real(3, 4), 2, Dim(1), 1.5)
    case("renorm", real(3, 4, dtype=f32), 2, Dim(1), 1.5)
    case("renorm", torch.ones(2), 1, Dim(0), 5)
    case("renorm", torch.ones(2, 2), 0, Dim(0), 5)
    case("renorm", torch.ones(2, 2), 2, Dim(0), -5)
    case("renorm", torch.ones(2, 2), 2, Dim(2), 5)
    case("renorm", torch.tensor([[1]]), 1, Dim(0), 5)


def pairs():
    case("kron", real(2, 2), real(1, 3))
    case(".kron", real(2), real(3, 2))
    case("kron", real(), real(2, 1, 2))
    case("kron", torch.tensor([1, 2]), torch.tensor([[.5, 2]]))
    case("kron", torch.tensor([True, False]), torch.tensor([3]))
    case("kron", torch.zeros(0, 2), torch.ones(2))
    for n in (None, 0, 1, 2, 4):
        case("vander", Const(real(3)), n)  # its own gradient fails in PyTorch
        case("vander", torch.tensor([1, 2, 3]), n, True)
    case("vander", torch.tensor([1, 2], dtype=torch.int32))
    case("vander", torch.tensor([True, False]))
    case("vander", torch.ones(2, 2))
    case("vander", torch.ones(2), -1)
    for fn in ("frexp", ".frexp"):
        case(fn, of(.75, -3, 1024.5, .1))
    case("frexp", torch.tensor([0.0, -0.0, 1, inf, -inf, nan, 1e-40]), grad=False)
    case("frexp", torch.tensor([1.5, -6], dtype=torch.float16), grad=False)
    case("frexp", torch.tensor([1]))


for part in (integrals, covariances, medians, histograms, distances, pairs, slopes):
    part()
write("reductions", __file__)
