#!/usr/bin/env python3
"""PyTorch's answers for reductions, scans, sorting and searching: tests/parity/data/reduce.lua."""
import math

import torch

from record import Const, Dim, Ids, NAMES, case as record_case, cases, real, write

inf, nan = math.inf, math.nan
DTYPES = list(NAMES)
SHAPES = [(), (4,), (2, 3), (3, 1, 2)]


def case(*args, **kw):
    """What PyTorch 1.13 merely lacks for some dtypes is no error to record."""
    record_case(*args, **kw)
    if any("not implemented for '%s'" % t in cases[-1] for t in ("Half", "BFloat16", "Bool")):
        cases.pop()


def dims_of(shape):
    """None, each dimension, and two at once."""
    some = [None] + [[Dim(d)] for d in range(len(shape))]
    return some + ([[Dim(0), Dim(-1)]] if len(shape) > 1 else [])


def along(name, t, dims, keep=False):
    """all and any of several dimensions, which came with 2.2: of one after another. None: none."""
    for d in sorted((d % t.ndim for d in dims), reverse=True):
        t = getattr(torch, name)(t, d, keep)
    return t if dims else (t != 0).to(torch.uint8 if t.dtype == torch.uint8 else torch.bool)


def distinct(*shape, dtype=torch.float64):
    n = math.prod(shape)
    g = torch.Generator().manual_seed(n)
    values = torch.randperm(n, generator=g).to(torch.float64) - n // 2
    return values.div(4).reshape(shape).to(dtype)


def sums():
    for name in ("sum", "mean", "nansum", "amax", "amin"):
        for shape in SHAPES:
            for dim in dims_of(shape):
                case(name, real(*shape), *([] if dim is None else [dim]), rough=name[0] == "a")
        case(name, real(2, 3), [Dim(1)], True, rough=name[0] == "a")
        case(name, real(2, 3), [Dim(2)])
        case(name, real(2, 3), [Dim(1), Dim(-1)])
        case(name, real(0, 3))
        case(name, real(0, 3), [Dim(0)])
        case(name, real(0, 3), [Dim(1)])
        for dtype in DTYPES:
            case(name, torch.tensor([[3, -1, 2], [0, 4, 4]]).to(dtype), [Dim(1)], grad=False)
        case(name, torch.tensor([1.0, nan, 3, inf]), grad=False)
    for name in ("sum", "mean", "prod", "cumsum"):
        for dtype in (torch.float64, torch.int32, torch.float16, torch.bool):
            case(name, torch.tensor([3, -1, 2]), [Dim(0)] if name in ("sum", "mean") else Dim(0),
                 dtype=dtype, grad=False)
    case("sum", torch.tensor([200, 100], dtype=torch.uint8))
    case("sum", torch.tensor([2.0**24] + [1.0] * 7, dtype=torch.float32), grad=False)
    for x in ([1.5, -2, 3], [1.5, 0, 3], [0, 2.0, 0]):
        case("prod", torch.tensor(x, dtype=torch.float64))
    case("prod", real(2, 3), Dim(1))
    case("prod", real(2, 3), Dim(0), True)
    case("prod", torch.tensor([[1.0, 0, 2], [3, 2, .5]], dtype=torch.float64), Dim(1))
    case("prod", torch.zeros(2, 0), Dim(1), grad=False)
    for dtype in DTYPES:
        case("prod", torch.tensor([3, 1, 2]).to(dtype), grad=False)
        for name in ("all", "any", "count_nonzero"):
            case(name, torch.tensor([[1, 0, 2], [1, 1, 3]]).to(dtype), Dim(1))
            case(name, torch.tensor([0, 0]).to(dtype))
    for name in ("all", "any"):
        case(name, torch.zeros(0, dtype=torch.bool))
        case(name, torch.tensor([[True, False]]), Dim(0), True)
        case(name, torch.tensor([nan, 1.0]), grad=False)
        x = torch.tensor([[[1, 0, 2]], [[1, 1, 3]]])
        for t in (x, x.to(torch.uint8), x.bool(), x.double(), x[:0]):
            for dims in ([], [0], [0, 2], [-1, 0, 1]):
                each = [Dim(d) for d in dims]
                case(name, t, each, ref=lambda t, dims, of=name: along(of, t, dims), grad=False)
                case(name, t, each, True, grad=False,
                     ref=lambda t, dims, keep, of=name: along(of, t, dims, keep))


def spreads():
    for name in ("std", "var", "std_mean", "var_mean"):
        kw = {"several": True} if name.endswith("mean") else {}
        for shape in SHAPES[1:]:
            case(name, real(*shape), **kw)
            case(name, real(*shape), [Dim(-1)], **kw)
        case(name, real(2, 3), [Dim(0), Dim(1)], False, True, **kw)
        case(name, real(4), False, **kw)
        case(name, real(2, 4), [Dim(1)], False, **kw)
        case(name, real(2, 4), [Dim(1)], correction=0, **kw)
        case(name, real(2, 4), [Dim(1)], correction=2, keepdim=True, **kw)
        case(name, real(1), grad=False, **kw)
        case(name, torch.full((3,), 2.5, dtype=torch.float64), rough=True, **kw)
        case(name, torch.tensor([1, 2]), **kw)
        case(name, real(3, 5, dtype=torch.float16), [Dim(1)], grad=False, **kw)
        case(name, 1e4 + real(50, dtype=torch.float32), grad=False, **kw)


def extremes():
    for name in ("max", "min", "median", "mode"):
        if name != "mode":
            case(name, distinct(2, 3))
            case(name, distinct())
            case(name, torch.tensor([1.0, nan, 3, nan]), grad=False)
        for shape, dim in [((4,), 0), ((2, 3), 0), ((2, 3), 1), ((3, 2, 2), 1), ((), 0),
                           ((2, 5), -1)]:
            case(name, distinct(*shape), Dim(dim), positions=(1,))
        case(name, distinct(2, 3), Dim(0), True, positions=(1,))
        if name != "mode":
            case(name, torch.tensor([[2.0, 2, 1], [nan, 1, nan]]), Dim(1), positions=(1,),
                 grad=False)
        case(name, torch.zeros(2, 0), Dim(1))
        case(name, torch.zeros(2, 0), Dim(0), positions=(1,), grad=False)
        for dtype in DTYPES[:9]:
            case(name, torch.tensor([[3, -1, 2, 2], [0, 4, 4, 1]]).to(dtype), Dim(1),
                 positions=(1,), grad=False)
    for name in ("max", "min"):
        case(name, torch.tensor([[2.0, 5, 1], [5, 1, 1]], dtype=torch.float64), rough=True)
        case(name, distinct(2, 3), distinct(3), rough=True)
        case(name, torch.zeros(0))
        case("a" + name, torch.tensor([[2.0, 5, 5], [1, 1, 1]], dtype=torch.float64), [Dim(1)],
             rough=True)
        case("arg" + name, distinct(3, 4), positions=True)
        case("arg" + name, distinct(3, 4), Dim(1), positions=True)
        case("arg" + name, distinct(3, 4), Dim(0), True, positions=True)
        case("arg" + name, torch.tensor([1.0, nan, 3, nan]), positions=True, grad=False)
        case("arg" + name, torch.tensor([[2, 2], [2, 2]]), positions=True)
        case("arg" + name, torch.zeros(0))
        case("cum" + name, torch.tensor([1.0, 3, 2, 3, nan, 5]), Dim(0), positions=(1,), grad=False)
        case("cum" + name, distinct(3, 4), Dim(1), positions=(1,))
        case("cum" + name, distinct(3, 4), Dim(0), positions=(1,))
    case("aminmax", distinct(2, 3), grad=False)
    case("aminmax", distinct(2, 3), dim=Dim(1), keepdim=True, grad=False)


def norms():
    for p in (2, 1, 3, .5, inf, -inf, 0, 1.5, "fro"):
        case("norm", distinct(2, 3) + .125, p, rough=p in (inf, -inf))
        case("norm", distinct(2, 3) + .125, p, [Dim(1)], rough=p in (inf, -inf))
        case("norm", distinct(2, 3) + .125, p, [Dim(0)], True, rough=p in (inf, -inf))
        case("norm", torch.zeros(3, dtype=torch.float64), p, rough=True)
    case("norm", torch.tensor([3, 4]))
    case("norm", distinct(2, 3), "nuc")
    case("norm", distinct(2, 3), "nuc", keepdim=True)
    case("norm", distinct(3, 2, 2), "nuc", [Dim(0), Dim(-1)])
    case("norm", distinct(3, 2, 2), "nuc")
    case("norm", distinct(2, 2), "nuc", dtype=torch.float64)
    case("norm", torch.tensor([3.0, 4], dtype=torch.float16), grad=False)
    case("dist", real(3), real(3))
    case("dist", real(3), real(2, 3), 3)
    for dim in ([Dim(0)], [Dim(1)], [Dim(0), Dim(1)]):
        case("logsumexp", real(2, 3), dim)
        case("logsumexp", real(2, 3), dim, True)
    case("logsumexp", torch.tensor([[-inf, -inf], [inf, 1], [1000, 1000]]), [Dim(1)], grad=False)
    case("logsumexp", torch.tensor([1, 2]), [Dim(0)])
    case("logsumexp", torch.zeros(2, 0), [Dim(1)], grad=False)


def scans():
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        for shape, dim in [((4,), 0), ((2, 3), 0), ((2, 3), -1), ((2, 3, 2), 1), ((), 0),
                           ((0, 2), 0)]:
            case(name, real(*shape) + .0625, Dim(dim))
        case(name, real(2), Dim(1))
        for dtype in DTYPES[:9]:
            case(name, torch.tensor([[3, 1, 2], [2, 4, 1]]).to(dtype), Dim(1), grad=False)
    case("cumsum", torch.tensor([True, True]), Dim(0))
    case("cumprod", torch.tensor([[1.0, 0, 2, 0], [3, 0, .5, 2]], dtype=torch.float64), Dim(1),
         rough=True)
    case(".cumsum_", real(4), Dim(0))
    case("logcumsumexp", torch.tensor([-inf, 1, inf, 2]), Dim(0), grad=False)


def sorting():
    for kw in ({}, {"descending": True}):
        for shape, dim in [((5,), 0), ((2, 4), 1), ((3, 2), 0), ((2, 3, 2), 1), ((), 0), ((0,), 0)]:
            case("sort", distinct(*shape), Dim(dim), positions=(1,), **kw)
            case("argsort", distinct(*shape), Dim(dim), positions=True, **kw)
        for dtype in DTYPES:
            case("sort", torch.tensor([3, 0, 255, 2]).to(dtype), positions=(1,), grad=False, **kw)
        case("sort", torch.tensor([3.0, nan, -inf, 1, inf, -2]), positions=(1,), grad=False, **kw)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8):
        g = torch.Generator().manual_seed(7)
        x = torch.randint(0, 200, (300,), generator=g).to(dtype)
        case("sort", x, stable=True, positions=(1,), grad=False)
    case("msort", distinct(3, 2))
    for k, kw in [(2, {}), (3, {"largest": False}), (0, {}), (4, {}), (5, {})]:
        case("topk", distinct(2, 4), k, positions=(1,), **kw)
    case("topk", distinct(4, 3), 2, Dim(0), positions=(1,))
    case("topk", torch.tensor([1.0, nan, 5, 3]), 2, positions=(1,), grad=False)
    for k in (1, 3, 0, 5):
        case("kthvalue", distinct(2, 4), k, positions=(1,))
    case("kthvalue", distinct(4, 2), 2, Dim(0), True, positions=(1,))


def searching():
    x = torch.tensor([[3, 1, 1], [2, 3, 1]])
    case("unique", x)
    case("unique", x.float(), return_inverse=True, return_counts=True, positions=(1,), grad=False,
         several=True)
    case("unique_consecutive", torch.tensor([1, 1, 2, 2, 2, 1]))
    rows = torch.tensor([[[1, 2], [0, 3]], [[1, 2], [0, 2]], [[1, 2], [0, 3]], [[1, 2], [0, 3]]])
    for name in ("unique", "unique_consecutive"):
        for d in (0, 1, -1):
            case(name, rows, dim=Dim(d))
        for dtype in (torch.float32, torch.float64, torch.int8, torch.uint8, torch.bool):
            case(name, rows.to(dtype), return_inverse=True, return_counts=True, dim=Dim(0),
                 positions=(1,), grad=False, several=True)
        case(name, torch.tensor([3.0, 1, 1, 3]), dim=Dim(0), grad=False)
        case(name, torch.tensor([[1, nan], [1, nan], [0, 1], [0, 1.0]]), dim=Dim(0), grad=False)
        case(name, torch.zeros(0, 2), return_inverse=True, return_counts=True, dim=Dim(0),
             positions=(1,), grad=False, several=True)
        case(name, torch.zeros(0, 2), dim=Dim(1))
        case(name, torch.zeros(0, 0), dim=Dim(1))
        case(name, torch.tensor(2.0), dim=Dim(0))
        case(name, rows, dim=Dim(3))
    row, rows = torch.tensor([1.0, 3, 5, 7]), torch.tensor([[1.0, 3, 5], [2, 4, 6]])
    for right in (False, True):
        case("searchsorted", row, Const(torch.tensor([[3.0, 0], [7, 9]])), right=right, grad=False,
             ref=lambda a, b, right: torch.searchsorted(a, b, right=right), positions=True)
        case("searchsorted", rows, torch.tensor([[3.0, 0], [6, 9]]), right=right, grad=False,
             positions=True)
        case("bucketize", torch.tensor([3, 6]), torch.tensor([1, 3, 5]), right=right,
             positions=True)
    case("searchsorted", rows, torch.tensor([3.0]), grad=False)
    mixed, order = torch.tensor([7.0, 1, 5, 3]), Ids(1, 3, 2, 0)
    case("searchsorted", mixed, Const(torch.tensor([[3.0, 0], [7, 9]])), sorter=order, side="right",
         out_int32=True, grad=False, positions=True)
    case("searchsorted", mixed, torch.tensor([3.0]), sorter=order, side="left", right=True,
         grad=False)
    case("bucketize", torch.tensor([3, 6]), torch.tensor([1, 3, 5]), out_int32=True, positions=True)
    case("bincount", torch.tensor([1, 1, 3]))
    case("bincount", torch.tensor([1, 1, 3]), torch.tensor([.5, 1, 1]), 6, grad=False)
    case("bincount", torch.tensor([1, -1]))
    case("bincount", torch.tensor([1.5]), grad=False)


def composites():
    case("positive", real(3))
    case("deg2rad", real(3))
    case("rad2deg", real(3))
    case("float_power", torch.tensor([2, 3]), 2)
    case("float_power", real(3).abs(), torch.tensor([1.0, 2, .5]), grad=False)
    case("ldexp", real(3), torch.tensor([1, 2, -1]))
    case("lcm", torch.tensor([12, -18, 0, 0]), torch.tensor([18, 24, 5, 0]))
    case("sinc", torch.tensor([0.0, .5, 1, -1.25], dtype=torch.float64), rough=True)
    case("isreal", real(2, 2))
    for invert in (False, True):
        case("isin", torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 4, 9]), invert=invert)
        case("isin", torch.tensor([[1, 2], [3, 4]]), 2, invert=invert)
        case("isin", torch.tensor([1.5, 2]), 1.5, invert=invert, grad=False)
        case("isin", 2, torch.tensor([2, 4, 9]), invert=invert)
    x = torch.tensor([[1.0, nan, 3], [4, 5, 6.5]], dtype=torch.float64)
    case("nanmean", x, rough=True)
    case("nanmean", x, [Dim(1)], True, rough=True)
    for n, dim in [(1, -1), (2, 1), (1, 0), (0, 0), (4, 1)]:
        case("diff", real(2, 3), n, Dim(dim))
    case("diff", torch.tensor([True, False, False]))
    for name in ("quantile", "nanquantile"):
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            case(name, distinct(2, 4), .4, interpolation=how, rough=True)
            case(name, distinct(3, 4), Const(torch.tensor([.1, .5, 1.0]).double()), Dim(1),
                 interpolation=how, rough=True)
        case(name, distinct(3, 2, 2), .25, Dim(0), True)
        case(name, distinct(3, 2, 2), Const(torch.tensor([.25, .75]).double()), Dim(1))
        case(name, x, .5, Dim(1), grad=False)
        case(name, x, .5, grad=False)


def options():
    """Those that came later; last, since each real() is another."""
    for n in (0, 1, 2):
        case("diff", real(2, 3), n, prepend=real(2, 1))
        case("diff", real(2, 3), n, Dim(0), prepend=real(2, 3), append=real(1, 3))
        case("diff", real(3), n, append=real(2))
    case("diff", torch.tensor([1, 2]), append=torch.tensor([.5]), grad=False)
    case("diff", real(2, 3), prepend=real(2))
    case("diff", real(2, 3), append=real(1, 1))
    for name, root in (("var", False), ("std", True)):
        case(name, real(2, 4), [Dim(1)], correction=.5, ref=lambda t, dim, correction, root=root:
             (t.var(dim, False) * (4 / (4 - correction))) ** (.5 if root else 1))


sums()
spreads()
extremes()
norms()
scans()
sorting()
searching()
composites()
options()
write("reduce", __file__)
