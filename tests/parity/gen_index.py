#!/usr/bin/env python3
"""PyTorch's answers for indexing, scattering and masks: tests/parity/data/index_ops.lua."""
import torch

from record import Const, Dim, Ids, NAMES, case, real, write


def ids(*v):
    return Ids(torch.tensor(v, dtype=torch.long))


def mask(*shape, state=[0]):
    state[0] += 1
    return torch.rand(shape, generator=torch.Generator().manual_seed(state[0])) > 0.4


def rows():
    for d, at in [(0, (0, 1, 1)), (1, (2, 0)), (-1, ()), (0, (2,)), (2, (0,)), (0, (1, 0))]:
        n = len(at)
        source = (n, 3) if d == 0 else (2, n)
        case("index_select", real(2, 3), Dim(d), ids(*at))
        case("index_add", real(2, 3), Dim(d), ids(*at), real(*source))
        case("index_fill", real(2, 3), Dim(d), ids(*at), 2.5)
        case("index_fill", real(2, 3), Dim(d), ids(*at), real())
        if len(set(at)) == n:
            case("index_copy", real(2, 3), Dim(d), ids(*at), real(*source))
    for fn in ("index_add", ".index_add_"):
        case(fn, real(2, 3, 4), Dim(1), ids(0, 2, 2), real(2, 3, 4), alpha=2)
    case(".index_copy_", real(3, 2), Dim(0), ids(2, 0), real(2, 2))
    case(".index_fill_", real(3, 2), Dim(0), ids(2, 0), real())
    case("index_add", real(2, 3), Dim(0), ids(0), real(1, 2))
    case("index_add", real(2, 3), Dim(0), ids(0), real(1, 3, dtype=torch.float32))
    case("index_select", real(2, 3), Dim(0), Ids(torch.tensor([[0]])))
    case("index_select", real(2, 3), Dim(0), ids(5))


def flat():
    case("take", real(2, 3), Ids(torch.tensor([[0, 5], [-1, -6]])))
    case("take", real(2, 3), ids(6))
    case(".put", real(2, 3), ids(0, -1), real(2))
    case(".put", real(2, 3), ids(0, -1, 0), real(3), True)
    case(".put_", real(2, 3), ids(1, 2), real(2))
    case(".put", real(2, 3), ids(0, 1), real(3))
    for shape in ((), (4,), (3, 4), (2, 0)):
        case("nonzero", Const((real(*shape) * 8 % 3)), positions=True)
        case("argwhere", Const((real(*shape) * 8 % 3)), positions=True)


def scattered():
    for shape, d in [((2, 3), 0), ((2, 3), 1), ((4,), -1), ((2, 3, 2), 1)]:
        wide = list(shape)
        wide[d] = 5
        g = torch.Generator().manual_seed(sum(shape))
        at = Ids(torch.randint(0, shape[d], wide, generator=g))
        distinct = Ids(torch.rand(shape, generator=g).argsort(d))
        case("gather", real(*shape), Dim(d), at)
        case("scatter_add", real(*shape), Dim(d), at, real(*wide))
        case(".scatter_add_", real(*shape), Dim(d), at, real(*wide))
        case("scatter", real(*shape), Dim(d), distinct, real(*shape))
        case(".scatter_", real(*shape), Dim(d), distinct, real(*shape))
        case("scatter", real(*shape), Dim(d), at, 1.5)
        case("scatter", real(*shape), Dim(d), distinct, Const(real(*shape)), reduce="add",
             grad=False)
        case("scatter", real(*shape), Dim(d), at, Const(real(*wide)), reduce="multiply", grad=False)
        case("take_along_dim", real(*shape), at, Dim(d))
    small = Ids(torch.tensor([[0, 1], [2, 0]]))
    case("gather", real(3, 3), Dim(0), small)
    case("scatter_add", real(3, 3), Dim(0), small, real(2, 2))
    case("take_along_dim", real(2, 3), Ids(torch.tensor([[2]])), Dim(1))
    case("take_along_dim", real(2, 3), ids(5, 0))
    case("gather", real(2, 3), Dim(0), small)
    case("gather", real(2, 3), Dim(1), Ids(torch.tensor([[0, 3]])))
    case("gather", real(2, 3), Dim(1), Ids(torch.tensor([[-1]])))
    case("gather", real(2, 3), Dim(1), ids(0, 1))
    case("gather", real(2, 3), Dim(0), Ids(torch.zeros(1, 4, dtype=torch.long)))
    case("scatter", real(2, 3), Dim(0), Ids(torch.tensor([[0, 1]])), real(1, 1))
    case("scatter", real(2, 3), Dim(0), Ids(torch.tensor([[0]])), real(1, 1, dtype=torch.float32))


def masks():
    for m in (mask(2, 3), mask(3), mask(2, 1), mask(2, 2, 3), torch.tensor(True)):
        case("masked_fill", real(2, 3), m, 9.0)
        case("masked_fill", real(2, 3), m, real())
        case("masked_select", real(2, 3), m)
        case("masked_scatter", real(2, 3), m, real(3, 4))
    case(".masked_fill_", real(2, 3), mask(3), real())
    case(".masked_scatter_", real(2, 3), mask(2, 3), real(6), dense=True)
    case(".masked_fill_", real(3), mask(2, 3), 1.0)
    case("masked_fill", real(2, 3), mask(2), 1.0)
    case("masked_fill", real(2, 3), mask(2, 3), real(2))
    case("masked_select", real(2, 3), torch.tensor([1, 0, 1]))
    case("masked_scatter", real(2, 3), torch.ones(2, 3, dtype=torch.bool), real(5))


def several():
    """Tensor.index_put, whose result shape is the plain index's."""
    column, row = Ids(torch.tensor([[0], [1]])), ids(0, 1, 2)
    for at in ([ids(1, 0)], [ids(0, -1), ids(1, 2)], [column, row], [ids(1), ids(1, -1, 0)],
               [mask(2)], [mask(2, 3)], [mask(2, 3, 4)], [ids(1), mask(3)],
               [ids(0, 1, 0), mask(3, 4)],
               [ids(0, 1), ids(1, 2), ids(3, 3)], [ids(2)], [ids(0, 1), ids(0, 1, 2)], [mask(3)]):
        plain = [i.t if isinstance(i, Ids) else i for i in at]
        try:
            shape = torch.zeros(2, 3, 4)[tuple(plain)].shape
        except (IndexError, RuntimeError):
            shape = (1,)
        case(".index_put", real(2, 3, 4), at, real(*shape), True)
        if len(at) < 2 or plain[0].tolist() != [0, 1, 0]:  # repeated positions: which one counts?
            case(".index_put", real(2, 3, 4), at, real())
        case(".index_put_", real(2, 3, 4), at, real(shape[-1] if shape else 1), True)
    case(".index_put", real(2, 3), [ids(0)], real(4))
    case(".index_put", real(2, 3), [ids(0)], real(3, dtype=torch.float32))
    case(".index_put", real(2, 3), [ids(0), ids(0), ids(0)], real())


def dtypes():
    for dtype in NAMES:
        x, y = (real(4, 3) * 3).to(dtype), (real(5, 3) * 3).to(dtype)
        g = torch.Generator().manual_seed(1)
        at = Ids(torch.randint(0, 4, (5, 3), generator=g))
        x, y = (Const(x), Const(y)) if dtype.is_floating_point else (x, y)
        case("index_select", x, Dim(0), ids(3, 0, 3))
        case("gather", x, Dim(0), at)
        case("scatter_add", x, Dim(0), at, y)
        case("masked_select", x, mask(4, 3))
        case("masked_fill", x, mask(4, 3), 1)
        case("nonzero", x, positions=True)
        case(".index_put", x, [ids(0, 2, 0, 1, 1)], y, True)


for part in (rows, flat, scattered, masks, several, dtypes):
    part()
write("index_ops", __file__)
