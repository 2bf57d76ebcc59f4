#!/usr/bin/env python3
"""PyTorch's answers for writes through views: tests/parity/data/written.lua. The programs are those
of tests/lua/written_spec.lua; each turns x [3, 4] and y [4] into a result."""
import torch

from record import cases, real, tensor, write

x0, y0 = real(3, 4), real(4)


def row_copied(z, y):
    z[1].copy_(y)
    return z * z


def column_filled(z, y):
    z[:, 0].fill_(y.sum())
    return z * z


def transposed_scaled(z, y):
    z.t().mul_(y.unsqueeze(1))
    return z * z


def block_put(z, y):
    z[:, 1:3].index_put_((torch.tensor([2, 0]), torch.tensor([0, 1])), y[:2])
    return z * z


def masked_rows(z, y):
    z[1:].masked_fill_(torch.tensor([True, False, True, False]), y[0])
    return z * z


def two_views(z, y):
    a, b = z[0], z.view(2, 6)
    b[0].mul_(2)
    a.add_(y)
    return z * a


def diagonal_zeroed(z, y):
    z.diagonal().zero_()
    return z * y


def rows_added(z, y):
    z.index_add_(0, torch.tensor([0, 2, 0]), y.expand(3, 4))
    return z * z


def split_written(z, y):
    z[:, ::2].scatter_(1, torch.tensor([[0], [1], [0]]), y[:3].unsqueeze(1))
    return z * z


def twice(z, y):
    z[0].copy_(z[1])
    z[1].copy_(y)
    return z * z


for program in (row_copied, column_filled, transposed_scaled, block_put, masked_rows, two_views,
                diagonal_zeroed, rows_added, split_written, twice):
    x, y = x0.clone().requires_grad_(), y0.clone().requires_grad_()
    out = program(x * 1, y)
    gx, gy = torch.autograd.grad(out.sum(), [x, y], allow_unused=True)
    gy = gy if gy is not None else torch.zeros(4)
    cases.append("{name=\"%s\",\n out=%s,\n x=%s,\n y=%s}" % (
        program.__name__, tensor(out), tensor(gx), tensor(gy)))
cases.append("{name=\"inputs\", x=%s, y=%s}" % (tensor(x0), tensor(y0)))
write("written", __file__)
