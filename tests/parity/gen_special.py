#!/usr/bin/env python3
"""PyTorch's answers for special functions: tests/parity/data/special.lua."""
import itertools

import torch
from math import inf, nan

from record import Const, Dim, case, real, write

f64 = torch.float64
EDGES = torch.tensor([0.0, -1, 1, -2.5, inf, -inf, nan])
UNARY = {  # name: values to differentiate at
    "erfcx": [-3, -.5, .25, 1, 4, 30], "entr": [.1, .5, 1, 3], "ndtr": [-6, -1.5, .25, 2],
    "log_ndtr": [-20, -6, -1.5, .25, 2, 5], "ndtri": [.01, .25, .5, .625, .99],
    "i0": [-25, -3, -.5, .5, 2, 12, 21], "i0e": [-25, -3, -.5, .5, 2, 12, 21],
    "i1": [-25, -3, -.5, .5, 2, 12, 21], "i1e": [-25, -3, -.5, .5, 2, 12, 21],
    "sinc": [-2.25, -.5, .125, 1, 1.75],
}
# PyTorch knows no gradient of these, and but nine digits.
BESSEL = {
    "airy_ai": [-12, -4.5, 0, .5, 3],
    "bessel_j0": [-4, .5, 3, 11], "bessel_j1": [-4, .5, 3, 11], "bessel_y0": [.25, 1, 4, 12],
    "bessel_y1": [.25, 1, 4, 12], "modified_bessel_k0": [.01, .5, 1, 2.5, 20],
    "modified_bessel_k1": [.01, .5, 1, 2.5, 20], "scaled_modified_bessel_k0": [.01, 1, 9, 200],
    "scaled_modified_bessel_k1": [.01, 1, 9, 200], "spherical_bessel_j0": [-3, .125, .5, 7],
    "modified_bessel_i0": [-3, .5, 21], "modified_bessel_i1": [-3, .5, 21],
}


def of(*values, dtype=f64):
    return torch.tensor(values, dtype=dtype)


def unary():
    for name, values in list(UNARY.items()) + list(BESSEL.items()):
        fn = "special." + name
        if name in UNARY:
            case(fn, of(*values))
        case(fn, of(*values).float())
        case(fn, of(*values).float()[:3].reshape(3, 1).expand(3, 2))
        case(fn, EDGES, grad=False)
        case(fn, torch.tensor([1, 0, 2]))
        case(fn, torch.tensor(True))
        case(fn, torch.zeros(0, 2))
    for name in ("entr", "i0", "i0e", "i1", "i1e", "sinc"):
        case("special." + name, of(0.0), name="at 0", rough=True)
    for name, method in (("i0", "i0"), ("sinc", "sinc"), ("gammaln", "lgamma"), ("psi", "digamma"),
                         ("expit", "sigmoid"), ("logit", "logit")):
        x = of(.125, .5, .875)
        for fn in ("special." + name, "." + method + "_", "." + method):
            case(fn, x)


def binary():
    for name in ("xlog1py", "zeta"):
        fn = "special." + name
        for a, b in itertools.product((torch.tensor([2, 3]), of(1.5, 2.5, dtype=torch.float32)),
                                      repeat=2):
            case(fn, a, b, grad=False)
        case(fn, 2, torch.tensor([.5, 3]))
        case(fn, torch.tensor([1.5, 3]), 2, grad=False)
        case(fn, torch.ones(2), torch.ones(3))
        case(fn, EDGES.double()[:-1, None],
             torch.tensor([0.0, 1, -2.5, nan]), grad=False)
    case("special.xlog1py", of(-1, 0, 2.5).reshape(3, 1), of(-.5, .25, 3))
    case("special.xlog1py", of(0, 0, 1), of(-1, -2, 0), rough=True)
    case("special.xlogy", of(2, .5), of(1, 3))
    case("special.ndtri", of(1e-300, 1e-10), grad=False)
    case("special.zeta", 2.5, of(.25, 1, 7, 40))
    case("special.zeta", 2, of(-.5, -2.25))
    case("special.zeta", of(1.25, 2, 9, 100).float(), of(.5, 3, 11.5, 2).float(), grad=False)
    for name in ("igamma", "igammac"):
        a = torch.tensor([1e-3, .5, 2, 9, 30, 400, 20000], dtype=f64)
        case(name, a.float()[:, None], torch.tensor([.25, 1, 2.5, 35, 390, 20100]), grad=False)
        edges = torch.tensor([0, .5, inf, -1], dtype=f64)
        case(name, edges[:, None], edges, grad=False)
        case(name, of(nan, 1), of(1, nan), grad=False)
        case(name, torch.ones(2), torch.ones(3))
        case(name, torch.tensor([1, 2]), torch.tensor([1, 2]))
        case(name, torch.ones(2), torch.ones(2, dtype=f64), grad=False)


def by_second():
    """Gradients by the second argument alone: by the first PyTorch has none."""
    for name in ("special.zeta", "igamma", "igammac", "special.gammainc", "special.gammaincc",
                 ".igamma", ".igammac_"):
        a = Const(of(1.5, 2, 7.5))
        case(name, a, of(.5, 2, 6) if name[-1] != "_" else Const(of(.5, 2, 6)))


def counted():
    for p in (1, 2, 4):
        case("mvlgamma", of(2, 3.25, 9), p)
        case("special.multigammaln", of(2, 3.25, 9), p)
    case("mvlgamma", torch.tensor([[3, 4]]), 2)
    case(".mvlgamma_", of(2, 3.25, 9), 2)
    case("mvlgamma", torch.tensor([.5, 2]), 3, grad=False)
    case("mvlgamma", torch.tensor([2.0]), 0)
    for n in (0, 1, 2, 3):
        x = of(.25, 1, 6, -1.75, -.5) if n != 2 else of(.25, 1, 6)
        case("special.polygamma", n, x)
        case(".polygamma", x, n)
    case("special.polygamma", 2, of(-1.75, -.5), grad=False)
    case(".polygamma_", of(.25, 1, 6), 1)
    case(".polygamma", of(1), -1)
    case(".lgamma_", of(-.5, .25, 5))
    case(".digamma_", of(-.5, .25, 5))


def known():
    """What special shares with the library."""
    for name in ("erf", "erfc", "expm1", "exp2", "log1p", "digamma", "gammaln", "expit"):
        case("special." + name, of(-.5, .25, 1.5) if name != "digamma" else of(.25, 1.5, 9))
    case("special.erfinv", of(-.5, .25, .875))
    case("special.round", of(-.5, .25, 1.5), rough=True)
    case("special.round", of(1.2345), decimals=2, rough=True)
    case("special.logit", of(.0625, .5, .9375), .125, rough=True)
    x = real(2, 3)
    case("special.softmax", x, Dim(1))
    case("special.log_softmax", x, Dim(0))
    case("special.log_softmax", Const(x), Dim(0), dtype=torch.float32)
    case("special.logsumexp", x, Dim(1))
    case("special.logsumexp", x, Dim(1), True)


def polynomials():
    kinds = ["%schebyshev_polynomial_%s" % (shifted, kind)
             for shifted in ("", "shifted_") for kind in "tuvw"]
    for name in kinds + ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                         "legendre_polynomial_p"]:
        fn = "special." + name
        x, n = of(-1, -.5, 0, .75, 1, 1.5), torch.tensor([0, 1, 2, 5, 7])
        case(fn, x.reshape(6, 1), n, grad=False)
        case(fn, x.float()[1:4], 12, grad=False)
        case(fn, 2, torch.tensor([-1, 3, 2.5, -.5]), grad=False)
        case(fn, torch.tensor([1, 2]), 3)
        case(fn, torch.ones(2), torch.ones(3))


unary()
polynomials()
binary()
by_second()
counted()
known()
write("special", __file__)
