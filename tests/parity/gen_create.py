#!/usr/bin/env python3
"""PyTorch's answers for creation and conversion: tests/parity/data/create.lua."""
import torch

from record import Const, NAMES, case, real, write


def filled():
    for size in ([], [3], [2, 0], [2, 3], [-1]):
        for fn in ("zeros", "ones"):
            case(fn, size)
        case("full", size, 3)
    for dtype in NAMES:
        case("zeros", [2], dtype=dtype)
        case("ones", [2], dtype=dtype)
        for value in (3, 2.5, True, -1, 300, 1e39, float("inf")):
            case("full", [2], value, dtype=dtype)
        if dtype != torch.bfloat16:
            case("eye", 2, 3, dtype=dtype)
        like = torch.zeros(2, 1, dtype=torch.int16)
        case("zeros_like", like, dtype=dtype)
        case("full_like", like, 2, dtype=dtype)
        case(".new_full", like, [3], 7, dtype=dtype)
    for value in (3, 2.5, True):
        case("full", [2], value)
    like = torch.zeros(2, 1, dtype=torch.int16)
    case("ones_like", like)
    case("full_like", like, 4)
    case(".new_zeros", like, [2, 2])
    case(".new_ones", like, [2])
    case("eye", 3)
    case("eye", -1)


def sequences():
    for a in ((5,), (0,), (5.5,), (-1,), (1, 10, 3), (1.0, 2.0, 0.25), (10, 1, -3), (0, 1, 0.1),
              (5, 1, 1), (0, 5, 0), (0, 2**40, 2**38), (0.0, float("inf"), 1.0)):
        case("arange", *a)
        case("arange", *a, dtype=torch.float64)
        case("arange", *a, dtype=torch.int32)
    for a in ((0, 1, 5), (0, 10, 4), (-3, 7.5, 11), (1, 2, 1), (1, 2, 0), (1, 2, -1)):
        case("linspace", *a)
        case("linspace", *a, dtype=torch.float64)
        case("linspace", *a, dtype=torch.int16)
    case("logspace", 0, 3, 4)
    case("logspace", -1, 1.5, 5, 2, dtype=torch.float64)
    case("logspace", 0, 3, 4, 0.0)
    for a in ((3, 4, 0), (4, 3, 1), (3, 3, -1), (0, 3, 0), (3, 4, -7), (-1, 2, 0)):
        case("tril_indices", *a, positions=True)
        case("triu_indices", *a, positions=True)


def converted():
    for source in NAMES:
        x = (real(2, 3).abs() * 3).to(source)
        for dtype in NAMES:
            case(".to", Const(x), dtype)
    for fn in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte",
               "bool"):
        case("." + fn, Const(real(2).abs()))
    case(".to", real(2, 3), torch.float32)
    case(".to", real(2, 3), torch.float64)
    case(".type_as", real(2, 3), Const(real(1, dtype=torch.float32)))
    case("clone", real(2, 3))
    case(".contiguous", real(2, 3))


def written():
    case(".copy_", real(2, 3), real(3))
    case(".copy_", real(2, 3), real(2, 1, dtype=torch.float32))
    case(".copy_", real(2, 3), real(2))
    case(".fill_", real(2, 3), 2.5)
    case(".fill_", real(2, 3), real())
    case(".fill_", real(2, 3), real(2))
    case(".fill_", torch.zeros(2, dtype=torch.uint8), 300)
    case(".zero_", real(2, 3))
    for shape, wrap in (((7, 3), True), ((7, 3), False), ((3, 5), True), ((3, 3, 3), False)):
        case(".fill_diagonal_", real(*shape), 1.5, wrap)
    case(".fill_diagonal_", real(3), 1.0)


for part in (filled, sequences, converted, written):
    part()
write("create", __file__)
