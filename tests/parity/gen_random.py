#!/usr/bin/env python3
"""PyTorch's random numbers for fixed seeds: tests/parity/data/random.lua. Long results are recorded
as their first and last values and their sum."""
import torch

from record import Const, NAMES, case, cases, number, real, write

FLOATS = [d for d in NAMES if d.is_floating_point]


def factories():
    for size in ([1], [5], [15], [16], [17], [3, 7], [0]):
        for dtype in FLOATS:
            case("rand", size, dtype=dtype, seed=1)
            case("randn", size, dtype=dtype, seed=2)
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.float32, torch.bool):
        case("randint", 2, [8], dtype=dtype, seed=3)
        case("randint", 100, [8], dtype=dtype, seed=4)
        case("randint", 300, [8], dtype=dtype, seed=4)
    case("randint", -5, 2**40, [6], seed=5)
    case("randint", -5, 2**31, [6], seed=5)
    case("randint", 3, 3, [2], seed=5)
    x = torch.zeros(2, 3)
    case("rand_like", Const(x), seed=6)
    case("randn_like", Const(x), dtype=torch.float64, seed=6)
    case("randint_like", torch.zeros(4, dtype=torch.int16), 9, seed=6)
    case("randint_like", torch.zeros(4, dtype=torch.int16), -9, 9, seed=6)
    for n in (0, 1, 2, 10, 50, -1):
        case("randperm", n, positions=True, seed=7)


def fills():
    for dtype in FLOATS:
        for size in (3, 20):
            x = Const(torch.zeros(size, dtype=dtype))
            for fn, args in ((".uniform_", (-0.3, 0.8)), (".normal_", (-0.3, 0.8)),
                             (".exponential_", (2.0,)), (".cauchy_", ()), (".log_normal_", ()),
                             (".geometric_", (0.3,)), (".random_", ())):
                case(fn, x, *args, seed=8)
            if dtype != torch.float16:
                case(".bernoulli_", x, 0.3, seed=8)
    for dtype in NAMES:
        if not dtype.is_floating_point:
            case(".random_", torch.zeros(9, dtype=dtype), seed=9)
            case(".random_", torch.zeros(9, dtype=dtype), 0, 2, seed=9)
    case(".uniform_", Const(torch.zeros(2)), 1.0, 0.0, seed=9)
    case(".normal_", Const(torch.zeros(2)), 1.0, -1.0, seed=9)
    case(".uniform_", torch.zeros(2, dtype=torch.int64), seed=9)


def chosen():
    p, wide = real(6).abs() / 3, real(3, 5).abs()
    p = p.clamp(max=1)
    for dtype in (torch.float32, torch.float64):
        case("bernoulli", Const(p.to(dtype)), seed=10)
        case(".bernoulli", Const(p.to(dtype)), 0.25, seed=10)
        case(".bernoulli_", Const(torch.zeros(6)), Const(p.to(dtype)), seed=10)
        for weights in (p.to(dtype), wide.to(dtype)):
            for n, replace in ((1, False), (3, False), (7, True), (1, True), (9, False)):
                case("multinomial", Const(weights), n, replace, positions=True, seed=11)
    case("multinomial", Const(torch.zeros(3)), 1, seed=11)
    case("multinomial", Const(torch.tensor([1.0, -1.0])), 1, seed=11)
    case("bernoulli", Const(torch.tensor([1.5])), seed=11)
    mean, std = real(4, dtype=torch.float32), real(3, 1, dtype=torch.float32).abs()
    case("normal", 1.0, 2.0, [5], seed=12)
    case("normal", Const(mean), 2.0, seed=12)
    case("normal", 0.5, Const(std), seed=12)
    case("normal", Const(mean), Const(std[0]), seed=12)


def parameters():
    """Distributions whose parameters are tensors. The gradients are of the distribution, which a
    difference of two draws is not."""
    for dtype in (torch.float64, torch.float32):
        rate = torch.tensor([0.5, 3, 20, 100, 0], dtype=dtype)
        case("poisson", Const(rate), seed=15)
        count = torch.tensor([5, 100, 100, 40, 0], dtype=dtype)
        prob = torch.tensor([0.3, 0.4, 0.9, 0.97, 0.5], dtype=dtype)
        case("binomial", Const(count), Const(prob), seed=15)
        alpha = torch.tensor([0.1, 0.7, 1, 3, 10, 50], dtype=dtype)
        case("_standard_gamma", alpha, seed=15, rough=True)
        case("_sample_dirichlet", alpha.view(2, 3), seed=15, rough=True,
             ref=lambda a: torch.distributions.Dirichlet(a).rsample())
    wide = torch.tensor([1.5, 7, 7.5, 12, 20, 9], dtype=torch.float64).repeat(4)
    case("_standard_gamma", wide, seed=16, rough=True)
    pairs = wide.view(12, 2) * torch.tensor([[0.2], [1], [4]], dtype=torch.float64).repeat(4, 1)
    case("_sample_dirichlet", pairs, seed=16, rough=True,
         ref=lambda a: torch.distributions.Dirichlet(a).rsample())
    case("poisson", Const(-rate), seed=15)
    case("binomial", Const(count), Const(prob[:2]), seed=15)


def order():
    """Views: PyTorch fills in the order of memory."""
    for fn in ("uniform_", "normal_", "random_"):
        torch.manual_seed(13)
        x = torch.zeros(4, 3, 6)
        y = getattr(x.permute(2, 0, 1)[1::2], fn)()
        cases.append('{view="%s", seed=13, data={%s}}' % (
            fn, ",".join(number(v, 9) for v in y.flatten().tolist())))


def long():
    for fn, dtype in (("rand", torch.float32), ("randn", torch.float32), ("randn", torch.float64)):
        torch.manual_seed(14)
        x = getattr(torch, fn)(5003, dtype=dtype)
        cases.append('{long="%s", seed=14, dtype="%s", sum=%s, data={%s}}' % (
            fn, NAMES[dtype], number(x.double().sum().item(), 12),
            ",".join(number(v, 9) for v in x[:20].tolist() + x[-20:].tolist())))


for part in (factories, fills, chosen, parameters, order, long):
    part()
write("random", __file__)
