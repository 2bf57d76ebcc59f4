#!/usr/bin/env python3
"""PyTorch's answers for views, rearranging, joining and splitting: tests/parity/data/view.lua."""
import itertools

import torch

from record import Const, Dim, Ids, case, real, write


def sizes():
    for shape, to in [((2, 3, 4), [6, 4]), ((2, 3, 4), [-1]), ((2, 3, 4), [2, -1, 2]),
                      ((0, 3), [0]),
                      ((2, 3), [4]), ((2, 3), [-1, -1]), ((0,), [-1, 0]), ((), [1, 1]), ((1,), [])]:
        case(".view", real(*shape), to, dense=True)
        case("reshape", real(*shape), to)
    case(".view_as", real(6), Const(real(2, 3)))
    case(".reshape_as", real(6), Const(real(2, 3)))
    for shape in [(), (3,), (2, 3, 4), (2, 0)]:
        case("ravel", real(*shape))
        case("flatten", real(*shape))
        case("squeeze", real(*shape))
    for a, b in [(0, 1), (1, -1), (1, 1), (2, 0), (0, 3)]:
        case("flatten", real(2, 3, 2), Dim(a), Dim(b))
    case(".unflatten", real(2, 6), Dim(1), [3, -1])
    case(".unflatten", real(2, 6), Dim(-1), [4, 2])
    for d in (0, 1, -1, -2, 3):
        case("squeeze", real(2, 1, 3), Dim(d))
        case("unsqueeze", real(2, 3), Dim(d))
    for to in ([2, 3], [4, -1, 3], [3], [2, 4], [-1, 2, 3]):
        case(".expand", real(2, 1) if to == [2, 3] else real(1, 3), to)
    case("broadcast_to", real(3), [2, 3])
    case(".expand_as", real(2, 1), Const(real(2, 3)))


def orders():
    for p in itertools.permutations(range(3)):
        case("permute", real(2, 3, 4), [Dim(d) for d in p])
    case("permute", real(2, 3), [Dim(0), Dim(0)])
    case("permute", real(2, 3), [Dim(0)])
    for a, b in [(0, 1), (-1, 0), (1, 1), (0, 3)]:
        case("transpose", real(2, 3, 2), Dim(a), Dim(b))
        case("swapaxes", real(2, 3, 2), Dim(a), Dim(b))
    for shape in [(), (3,), (2, 3), (2, 3, 2)]:
        case("t", real(*shape))
    case("movedim", real(2, 3, 4), Dim(0), Dim(-1))
    case("movedim", real(2, 3, 4), [Dim(0), Dim(1)], [Dim(1), Dim(2)])
    case("moveaxis", real(2, 3, 4), [Dim(0), Dim(0)], [Dim(1), Dim(2)])


def parts():
    for d, i in [(0, 1), (1, -1), (-1, 0), (1, 3), (2, 0), (0, -3)]:
        case("select", real(2, 3), Dim(d), Dim(i))
    for d, s, n in [(0, 0, 2), (1, 1, 2), (1, 2, 2), (-1, 2, 1), (1, 3, 0), (1, 1, -1)]:
        case("narrow", real(2, 3), Dim(d), Dim(s), n)
    for o, a, b in [(0, 0, 1), (1, 0, 1), (-2, 0, 1), (1, -1, 0), (0, 2, 0), (7, 0, 1), (0, 1, 1)]:
        case("diagonal", real(3, 4, 2), o, Dim(a), Dim(b))
    for d, n, s in [(0, 2, 1), (1, 2, 2), (-1, 3, 1), (1, 5, 1), (1, 1, 3), (0, 6, 1), (0, 1, 0)]:
        case(".unfold", real(3, 5), Dim(d), n, s)
    for n, s, o in [([2, 2], [1, 2], 0), ([2, 2], [1, 1], 1), ([3], [0], 2), ([4], [2], 3)]:
        case("as_strided", real(2, 3), n, s, o, dense=True)


def rearranged():
    for dims in ([0, 2], [-1], [0, 0], []):
        case("flip", real(2, 3, 2), [Dim(d) for d in dims])
    case("flipud", real(2, 3))
    case("fliplr", real(2, 3))
    case("fliplr", real(3))
    case("select_scatter", real(2, 3), real(2), Dim(1), Dim(-1))
    case("select_scatter", real(2, 3), real(3), Dim(1), Dim(0))
    case("diagonal_scatter", real(3, 3), real(2), 1)
    for s, d in [(1, 0), (-1, 1), (7, 2), (0, 0)]:
        case("roll", real(2, 3, 2), s, Dim(d))
    case("roll", real(2, 3), 2)
    case("roll", real(2, 3, 2), [1, 2], [Dim(0), Dim(2)])
    for k in range(-1, 4):
        case("rot90", real(2, 3), k, [Dim(0), Dim(1)])
    for n in ([2], [2, 2], [0, 2], [1, 3, 2], [2, -1]):
        case(".repeat", real(2, 3), n)
        case("tile", real(2, 3), n)
    for n, d in [(2, None), (0, 0), (3, 1), (-1, 0)]:
        case("repeat_interleave", real(2, 3), n, None if d is None else Dim(d))
    case("repeat_interleave", real(2, 3), torch.tensor([2, 0, 1]), Dim(1))
    case("repeat_interleave", real(2, 3), torch.tensor([2, 0, 1]), Dim(0))
    case("repeat_interleave", torch.tensor([2, 0, 1]), positions=True)
    for o in (-1, 0, 2):
        for fn in ("tril", "triu", ".tril_", ".triu_"):
            case(fn, real(3, 4), o)
        case("diag", real(3), o)
        case("diag", real(3, 4), o)
        case("diag_embed", real(2, 3), o)
        case("diagflat", real(2, 2), o)
    case("diag_embed", real(2, 3), 1, Dim(0), Dim(2))


def joins():
    for d in (0, 1, -1, 2):
        case("cat", [real(2, 3), real(2, 3)], Dim(d))
        case("cat", [real(2, 3), real(2, 1), real(0)], Dim(d))
        case("stack", [real(2, 3), real(2, 3)], Dim(d))
    case("concat", [torch.tensor([True]), torch.tensor([3], dtype=torch.uint8)])
    case("stack", [real(2), real(3)])
    for shapes in ([(), ()], [(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 2), (2, 3, 2)]):
        for fn in ("hstack", "vstack", "dstack", "column_stack"):
            case(fn, [real(*s) for s in shapes])
    for shape in ((), (2,), (2, 3), (1, 2, 3)):
        case("atleast_1d", real(*shape))
        case("atleast_2d", real(*shape))
        case("atleast_3d", real(*shape))
    together = lambda tensors: torch.broadcast_tensors(*tensors)
    case("broadcast_tensors", [real(2, 1), real(3), real()], ref=together)
    case("broadcast_tensors", [real(2), real(3)], ref=together)
    case("cartesian_prod", [real(2), real(3), real(2)], ref=lambda t: torch.cartesian_prod(*t))
    case("cartesian_prod", [real(2)], ref=lambda t: torch.cartesian_prod(*t))
    case("block_diag", [real(2, 2), real(3), real(), real(1, 2)],
         ref=lambda t: torch.block_diag(*t))
    for how in ("ij", "xy"):
        case("meshgrid", [real(2), real(3), real(2)], indexing=how,
             ref=lambda tensors, indexing: torch.meshgrid(*tensors, indexing=indexing))


def splits():
    for d in (0, 1, -1, 2):
        case("unbind", real(3, 2), Dim(d))
        case("split", real(5, 3), 2, Dim(d))
        case("chunk", real(5, 3), 3, Dim(d))
        case("tensor_split", real(5, 3), 3, Dim(d))
    case("split", real(5, 2), [1, 0, 4])
    case("split", real(5, 2), [1, 2])
    case("split", real(5, 2), 0)
    case("tensor_split", real(5, 2), [Dim(1), Dim(3)])
    case("hsplit", real(4, 4), 2)
    case("hsplit", real(4, 3), 2)
    case("vsplit", real(4, 2), [Dim(1)])
    case("dsplit", real(2, 2, 4), 2)


def splits_by_tensors():
    for at in ((1, 3), (1,), (3, 3), (4, -2, 1), (9, 12)):
        case("tensor_split", real(5, 2), Ids(*at))
    case("tensor_split", real(2, 5), Ids(2, 4), dim=Dim(1))
    case(".tensor_split", real(2, 5), Ids(torch.tensor([], dtype=torch.int64)), Dim(-1))
    case("tensor_split", real(5, 2), torch.tensor(3))
    case("tensor_split", real(2, 5), torch.tensor(2), Dim(1))
    case("tensor_split", real(5, 2), torch.tensor(0))
    case("tensor_split", real(5, 2), torch.tensor([[1, 2]]))
    case("tensor_split", real(5, 2), torch.tensor([1, 2], dtype=torch.int32))
    case("tensor_split", real(5, 2), real(2))
    case("tensor_split", real(), Ids(1))
    case("tensor_split", real(5, 2), [Dim(4), Dim(-2), Dim(1)])


def together_at_least():
    for fn in ("atleast_1d", "atleast_2d", "atleast_3d"):
        case(fn, [real(), real(2), real(2, 3), real(1, 2, 3, 1)])
        case(fn, [real()])


for part in (sizes, orders, parts, rearranged, joins, splits, splits_by_tensors,
             together_at_least):
    part()
write("view", __file__)
