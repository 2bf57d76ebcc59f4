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
    case(".as_strided_", real(2, 3), [2, 2], [1, 2], 1)
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


for part in (in_place,):
    part()
write("views", __file__)
