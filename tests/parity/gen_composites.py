#!/usr/bin/env python3
"""PyTorch's answers for functions of tensors that are written in Lua (lua/lucerna/composites.lua):
tests/parity/data/composites.lua."""
import torch

from record import Const, Dim, case, real, write

f64 = torch.float64


def einsum(*args):
    """The sublist form; "..." stands for an Ellipsis."""
    def ref(*given):
        return torch.einsum(*([... if v == "..." else v for v in a] if isinstance(a, list) else a
                              for a in given))
    case("einsum", *[[v if v == "..." else Dim(v) for v in a] if isinstance(a, list) else a
                     for a in args], ref=ref)


def sublists():
    einsum(real(2, 3), [0, 1], real(3, 4), [1, 2], [0, 2])
    einsum(real(2, 3), [0, 1], real(3, 4), [1, 2], [2, 0])
    einsum(real(2, 3), [51, 1], real(3, 4), [1, 26])  # the result's labels in order: 26, 51
    einsum(real(2, 3), [1, 0])
    einsum(real(2, 3), [0, 1], [])
    einsum(real(3, 3), [7, 7])
    einsum(real(3, 3), [7, 7], [7])
    einsum(real(2, 2, 3), ["...", 1], real(3, 4), [1, 2], ["...", 2])
    einsum(real(2, 3, 2), ["...", 0, 1], real(2, 2, 3), ["...", 1, 2], ["...", 2, 0])
    einsum(real(2), [0], real(3), [1], real(2), [0], [1, 0])
    einsum(real(0, 3), [0, 1], real(3, 2), [1, 2], [0, 2])
    einsum(real(2, 3), [0, 52])
    einsum(real(2, 3), [0, -1])
    einsum(real(2, 3), [0, 1], real(3, 4))
    einsum(real(2, 3), [0, 1], [0, 0])
    einsum(real(2, 3), [0, 1], [0, 3])
    einsum(real(2, 3), [0, 1], real(3), [2, 3])
    einsum(real(2, 3))


def low(*shape, rank):
    """Matrices of this rank, for which the random numbers do not matter."""
    return real(*shape[:-1], rank) @ real(*shape[:-2], rank, shape[-1])


def low_rank():
    def svd(a, **kw):
        case("svd_lowrank", Const(a), seed=1, signs=True, several=True, **kw)
    svd(low(7, 5, rank=2), q=2)
    svd(low(5, 7, rank=2), q=2)
    svd(low(2, 6, 4, rank=1), q=1, niter=0)
    svd(real(4, 3), q=3)
    svd(real(3, 3, dtype=torch.float32), q=3, niter=1)
    svd(low(7, 5, rank=2) + 2, q=2, M=Const(torch.full((7, 5), 2., dtype=f64)))
    svd(real(8, 7), q=6)  # of full rank: as PyTorch's random numbers have it
    svd(real(8, 7, dtype=torch.float32), niter=0, q=2)
    svd(torch.ones(3, 3, dtype=torch.int64), q=2)
    case("pca_lowrank", Const(real(6, 3)), seed=2, signs=True, several=True)
    case("pca_lowrank", Const(low(9, 8, rank=3)), 3, seed=2, signs=True, several=True, name="q")
    case("pca_lowrank", Const(low(2, 9, 4, rank=2)), q=2, center=False, seed=2, signs=True,
         several=True)
    case("pca_lowrank", Const(real(9, 8)), q=2, niter=4, seed=2, signs=True, several=True)
    case("pca_lowrank", Const(real(3, 4)), q=4)
    case("pca_lowrank", Const(real(3, 4)), q=2, niter=-1)


def histograms():
    def histogram(x, bins, **kw):
        def ref(*given, **named):
            hist, edges = torch.histogramdd(*given, **named)
            return (hist, *edges)
        case("histogramdd", Const(x), bins, ref=ref, several=True, grad=False, **kw)
    x = torch.tensor([[0, 1.], [1, 0], [2, 0], [2, 2]])
    edges = [Const(torch.tensor([0., 1, 2])), Const(torch.tensor([0., 2, 3]))]
    histogram(x, [3, 3], weight=Const(torch.tensor([1., 2, 4, 8])))
    histogram(x, 2)
    histogram(x, [2, 2], range=[0., 1, 0, 1], density=True)
    histogram(x, [2, 2], range=[0., 1, 1, 1])
    histogram(x, edges)
    histogram(x, edges, density=True, weight=Const(torch.tensor([1., 2, 4, 8])))
    histogram(x.view(2, 2, 2), [2, 4], weight=Const(torch.ones(2, 2)))
    histogram(real(50, 3), [3, 4, 5])
    histogram(real(50, 3), [3, 4, 5], density=True)
    histogram(real(20, 1), 6, weight=Const(real(20)))
    histogram(torch.empty(0, 2), [2, 3])
    histogram(torch.ones(3, 2), [2, 2])
    histogram(torch.tensor([[float("nan"), 1.], [0, 1]]), [2, 2])
    histogram(x, edges[:1])
    histogram(x, [2, 0])
    histogram(x, [2, 2], range=[0., 1])
    histogram(x, [2, 2], range=[0., 1, 1, 0])
    histogram(x, [2, 2], weight=Const(torch.ones(3)))
    histogram(x, [2, 2], weight=Const(torch.ones(4, dtype=f64)))
    histogram(x, [Const(torch.zeros(2, dtype=f64)), Const(torch.zeros(2, dtype=f64))])
    histogram(x[0], [2])


def segments():
    def distinct(*shape): # of equals PyTorch divides only gradients above 0 among them
        n = torch.Size(shape).numel()
        return real(*shape) + torch.arange(n, dtype=f64).reshape(shape) / 256
    counts = [("lengths", torch.tensor([1, 0, 3])), ("offsets", torch.tensor([0, 1, 1, 4])),
              ("lengths", torch.tensor([2, 2], dtype=torch.int32))]
    ragged = Const(torch.tensor([[1, 3], [4, 0]]))
    for reduce in ("sum", "mean", "max", "min", "prod"):
        for name, given in counts:
            endless = len(given) > 2 and reduce not in ("sum", "prod") # finite differences are NaN
            case("segment_reduce", distinct(4, 3), reduce, rough=endless, **{name: Const(given)})
            case("segment_reduce", distinct(4, 3), reduce, initial=0.3, **{name: Const(given)})
        case("segment_reduce", distinct(2, 4), reduce, lengths=ragged, axis=Dim(1),
             initial=-0.3)
        case("segment_reduce", distinct(2, 4, 3), reduce, lengths=ragged, axis=Dim(-2), initial=2.1)
        case("segment_reduce", distinct(4), reduce, lengths=Const(torch.tensor([1, 2])),
             unsafe=True)
    x = real(4, 3)
    case("segment_reduce", x, "sum", offsets=Const(torch.tensor([1, 3])))
    case("segment_reduce", torch.tensor([[1., 2], [3, 2], [3, 2]]), "max", grad=False,
         lengths=Const(torch.tensor([3])), initial=2)
    for wrong in ([1, 1], [-1, 5], [5]):
        case("segment_reduce", x, "sum", lengths=Const(torch.tensor(wrong)))
    case("segment_reduce", x, "sum", lengths=Const(torch.tensor([1, 3])), axis=Dim(1))
    case("segment_reduce", x, "sum", lengths=Const(torch.tensor([1., 3.])))
    case("segment_reduce", x, "any", lengths=Const(torch.tensor([1, 3])))
    case("segment_reduce", x, "sum")
    case("segment_reduce", x.long(), "sum", lengths=Const(torch.tensor([1, 3])))
    case("segment_reduce", real(4, 3, dtype=torch.bfloat16), "sum", rough=True,
         lengths=Const(torch.tensor([1, 3])))


sublists()
low_rank()
histograms()
segments()
write("composites", __file__)
