#!/usr/bin/env python3
"""PyTorch's answers for in-place forms of views and of composed operators, and for what else
creates, views and indexes: tests/parity/data/views.lua."""
import torch

from record import Const, Dim, Ids, case, real, write


def in_place():
    case(".squeeze_", real(2, 1, 3))
    case(".squeeze_", real(2, 1, 3), Dim(1))
    case(".squeeze_", real(2, 1, 3), Dim(3))
    case(".unsqueeze_", real(2, 3), Dim(-1))
    case(".unsqueeze_", real(2, 3), Dim(4))
    for name in (".transpose_", ".swapaxes_", ".swapdims_"):
        case(name, real(2, 3, 2), Dim(0), Dim(-1))
    case(".transpose_", real(2, 3), Dim(0), Dim(2))
    case(".t_", real(2, 3))
    case(".t_", real(2, 3, 2))
    case(".as_strided_", real(2, 3), [2, 2], [1, 2], 1, dense=True)
    case(".sinc_", real(2, 3))
    case(".sinc_", torch.tensor([1, 2]))
    case(".deg2rad_", real(3))
    case(".rad2deg_", real(3))
    case(".float_power_", real(3).abs() + 1, 2.5)
    case(".ldexp_", Const(real(3)), torch.tensor([1, 2, -1]))
    case(".lcm_", torch.tensor([4, 6]), torch.tensor([6, 9]))
    case(".addr_", real(2, 3), real(2), real(3), beta=0.5, alpha=2)
    case(".addr_", real(3), real(2), real(3))
    case("addr", real(2, 3), real(2), real(3))
    case(".addbmm_", real(2, 3), real(2, 2, 2), real(2, 2, 3), beta=0.5, alpha=2)
    case("addbmm", real(2, 3), real(2, 2, 2), real(2, 2, 3))


def created():
    for a in ((1, 4), (0, 1, 0.25), (3.0, 1, -1), (1, 0), (1, 4, 0), (float("inf"), 1)):
        case("range", *a)
    case("range", 1, 4, dtype=torch.int64)
    case("empty_strided", [2, 3], [1, 2, 3])
    case("empty_strided", [2, 3], [1, -1])
    for r, again in ((0, False), (1, False), (2, False), (3, False), (5, False), (2, True),
                     (4, True), (-1, False)):
        case("combinations", real(4), r, again)
    case("combinations", real(2, 2))


def sliced(x, src, dim=0, start=None, end=None, step=1):
    """PyTorch 1.13 takes other dimensions than it says."""
    x = x.clone()
    part = x.transpose(0, dim)[start:end:step].transpose(0, dim)
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self")
    part.copy_(src)
    return x


def apart(*shape):
    """Values of which no two are equal, in two such tensors neither."""
    t = real(*shape)
    apart.n += t.numel()
    return t + torch.arange(apart.n, apart.n + t.numel()).view(shape) / 1024


apart.n = 0


def paired():
    case("tensordot", real(2, 3, 4), real(4, 5, 3), [[Dim(1), Dim(2)], [Dim(2), Dim(0)]])
    case("tensordot", real(2, 3), real(2, 3), [[Dim(-1)], [Dim(1)]])
    case("tensordot", real(2), real(3), [[], []])
    case("tensordot", real(2), real(3), [[Dim(0)], []])
    case("tensordot", real(2, 3), real(3), dims=[[Dim(1)], [Dim(0)]])
    case("tensordot", real(2, 3), real(3), [[Dim(0)], [Dim(0)]])


def found():
    x = torch.tensor([[1, 0, 2], [0, 3, 0]])
    for t in (x, x.bool(), x[0], x[0, 0], x[0, 1], x[:0]):
        for as_tuple in (True, False):
            case("nonzero", t, as_tuple=as_tuple, positions=True)
        case("where", t, positions=True)
    case(".nonzero", x, as_tuple=True, positions=True)


def accumulated():
    """index_put with holes, masks and several tensors; of equal places all count."""
    i, j, mask = Ids(0, 2, 0, -1), Ids(torch.tensor([[1], [0]])), torch.tensor([True, False, True])
    deep = torch.tensor([[True, False], [True, True], [False, False]])
    for index, shape in (([i], (4, 2, 3)), ([None, Ids(1, 1)], (3, 2, 3)), ([mask], (2, 2, 3)),
                         ([i, Ids(0, 1, 0, 1)], (4, 3)), ([i, None, Ids(0, 2, 0, 0)], (4, 2)),
                         ([deep], (3, 3)), ([deep, Ids(0, 0, 1)], (3,)),
                         ([None, None, i], (3, 2, 4)),
                         ([Ids(torch.tensor([[0, 1]])), j], (2, 2, 3)), ([i], (1,)), ([i], (2, 3)),
                         ([mask, None, mask], (2, 2)), ([Ids(1), j], ())):
        for name in ("index_put", ".index_put_"):  # whose Python forms take no holes
            case(name, real(3, 2, 3), index, real(*shape), accumulate=True,
                 ref=getattr(torch.ops.aten, name.strip(".")))
    case("index_put", real(3, 2, 3), [i], real(5), accumulate=True)
    case("index_put", real(3), [Ids(3)], real(1), accumulate=True)


def scattered():
    case("slice_scatter", real(4, 2), real(2, 2), Dim(0), Dim(1), 3, ref=sliced)
    case("slice_scatter", real(2, 4), real(2, 2), Dim(1), None, None, 2, ref=sliced)
    case("slice_scatter", real(2, 4), real(2, 2), Dim(-1), Dim(-2), ref=sliced)
    case("slice_scatter", real(4), real(3), Dim(0), Dim(1), 3, ref=sliced)
    case("slice_scatter", real(4, 2), real(4, 2), ref=sliced)
    i = Ids(torch.tensor([[0, 2, 0], [1, 1, 0]]))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            case("scatter_reduce", apart(3, 3), Dim(0), i, apart(2, 3), how, include_self=own)
            case("scatter_reduce", Const(apart(2, 3)), Dim(1), i, Const(apart(3, 3)), how,
                 include_self=own, grad=False)
            case(".scatter_reduce_", apart(2, 3), Dim(1), i, apart(2, 3), how, include_self=own)
            for dtype in (torch.int64, torch.uint8, torch.float32):
                x, src = torch.tensor([[7, 2, 3], [4, 5, 6]]), torch.tensor([[1, 9, 2], [3, 4, 8]])
                case("scatter_reduce", x.to(dtype), Dim(1), i, src.to(dtype), how,
                     include_self=own)
            if how != "sum":
                j = Ids(2, 0, 2)
                case("index_reduce", apart(4, 2), Dim(0), j, apart(3, 2), how, include_self=own)
                case(".index_reduce_", apart(2, 3), Dim(1), j, apart(2, 3), how, include_self=own)
    zeros = torch.tensor([[0.0, 2.0, 3.0], [4.0, 0.0, 6.0]], dtype=torch.float64)
    case("scatter_reduce", zeros, Dim(1), i, zeros.flip(1), "prod", rough=True)
    case("scatter_reduce", zeros, Dim(1), i, zeros.flip(1), "prod", include_self=False, rough=True)
    for how in ("amax", "amin"):
        nan = torch.tensor([1.0, float("nan"), 3.0])
        case("scatter_reduce", Const(nan), Dim(0), Ids(1, 0, 0), Const(nan), how)
        case("scatter_reduce", torch.ones(2, 3).double(), Dim(1), i, torch.ones(2, 3).double(), how,
             rough=True, name="ties")
    x = real(3, 3)
    case("scatter_reduce", x, Dim(2), i, x, "sum")
    case("scatter_reduce", x, Dim(0), i, x, "max")
    case("scatter_reduce", x, Dim(0), Ids(torch.tensor([[3]])), x, "sum")
    case("index_reduce", x, Dim(0), i, x, "prod")
    case("index_reduce", x, Dim(0), Ids(0, 1), x, "amax")
    case("index_reduce", x, Dim(0), Ids(0), x, "sum")


for part in (in_place, created, paired, found, accumulated, scattered):
    part()
write("views", __file__)
