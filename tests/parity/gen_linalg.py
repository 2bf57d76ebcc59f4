#!/usr/bin/env python3
"""PyTorch's answers for linalg: tests/parity/data/linalg.lua. What is free in a sign is recorded as
`signs`: the case compares absolute values, and finite differences check the gradients."""
import torch

from record import Const, Dim, case, real, write

f64, f32 = torch.float64, torch.float32


def well(*shape, dtype=f64):
    """Square matrices far from singular."""
    return real(*shape, dtype=dtype) + 4 * torch.eye(shape[-1], dtype=dtype)


def definite(*shape):
    x = real(*shape)
    return x @ x.mT + torch.eye(shape[-1], dtype=f64)


def both(name, *args, method=True, **kw):
    """linalg.name and the older function (and method) of the same arguments."""
    case("linalg." + name, *args, **kw)
    case((".%s" if method else "%s") % name, *args, **kw)


def inverses():
    both_inverse = (well(3, 3), well(2, 1, 2, 2), torch.zeros(0, 0, dtype=f64),
                    torch.zeros(2, 0, 3, 3, dtype=f64), well(3, 3, dtype=f32))
    for a in both_inverse:
        case("linalg.inv", a)
        case("inverse", a)
        case("linalg.inv_ex", a)
    for name in ("linalg.inv", "inverse", "linalg.inv_ex"):
        case(name, real(2, 3))
        case(name, real(3))
        case(name, torch.ones(2, 2, dtype=torch.int64))
    case("linalg.inv", torch.zeros(2, 2))
    case("linalg.inv", torch.ones(3, 2, 2))
    case("linalg.inv_ex", torch.ones(2, 2), check_errors=True)


def systems():
    for a, b in ((well(3, 3), real(3, 2)), (well(3, 3), real(3)), (well(2, 3, 3), real(2, 3, 2)),
                 (well(2, 3, 3), real(2, 3)), (well(3, 3), real(2, 3, 1)),
                 (well(2, 1, 2, 2), real(3, 2, 2)),
                 (torch.zeros(0, 0, dtype=f64), torch.zeros(0, 2, dtype=f64)),
                 (well(2, 2), torch.zeros(2, 0, dtype=f64))):
        case("linalg.solve", a, b)
        case("linalg.solve_ex", a, b)
    case("linalg.solve", well(3, 3), real(2, 3), left=False)
    case("linalg.solve_ex", well(2, 3, 3), real(2, 2, 3), left=False)
    for name in ("linalg.solve", "linalg.solve_ex"):
        case(name, real(2, 3), real(2, 3))
        case(name, well(3, 3), real(2, 3))
        case(name, well(3, 3), real(3, 2, dtype=f32))
    case("linalg.solve", torch.ones(2, 2), torch.ones(2, 1))
    case("linalg.solve_ex", torch.ones(2, 2), torch.ones(2, 1), check_errors=True)
    for upper in (False, True):
        for unit in (False, True):
            case("linalg.solve_triangular", well(3, 3), real(3, 2), upper=upper,
                 unitriangular=unit)
        case("linalg.solve_triangular", well(2, 3, 3), real(2, 3), upper=upper, left=False)
        case("triangular_solve", real(3, 2), well(3, 3), upper)
    case("linalg.solve_triangular", well(3, 3), real(2, 2), upper=True)
    case(".triangular_solve", real(3, 2), well(2, 3, 3), True, True)
    case(".triangular_solve", real(3, 2), well(3, 3), False, True, True)
    case("triangular_solve", real(2, 2), well(3, 3))


def cholesky():
    for a in (definite(3, 3), definite(2, 2, 2), torch.zeros(0, 0, dtype=f64)):
        both("cholesky", a, rough=True)  # finite differences leave the symmetric matrices
        case("linalg.cholesky", a, upper=True, rough=True)
        case("cholesky", a, True, rough=True)
        case("linalg.cholesky_ex", a, rough=True)
    for name in ("linalg.cholesky", "cholesky", "linalg.cholesky_ex"):
        case(name, real(2, 3))
    case("linalg.cholesky", -torch.eye(3))
    case("linalg.cholesky_ex", -torch.eye(3), check_errors=True)
    case("linalg.cholesky_ex", definite(2, 2), upper=True, rough=True)
    # PyTorch gives the triangle that is not read a gradient, too; finite differences do not.
    for upper in (False, True):
        case("cholesky_solve", real(3, 2), Const(well(3, 3)), upper)
        case(".cholesky_inverse", Const(well(3, 3)), upper)
    case(".cholesky_solve", real(2, 3, 1), Const(well(2, 3, 3)))
    case("cholesky_solve", real(2, 2), well(3, 3))
    case("cholesky_inverse", Const(well(2, 2, 2)))
    case("cholesky_inverse", real(2, 3))


def orthogonal():
    for a in (real(4, 3), real(3, 4), well(2, 3, 3), torch.zeros(0, 2, dtype=f64),
              torch.zeros(2, 0, dtype=f64)):
        case("linalg.qr", a)
        case("qr", a)
    case("linalg.qr", Const(real(4, 2)), "complete")
    case("linalg.qr", real(3, 4), "complete")
    case("linalg.qr", Const(real(4, 2)), mode="r")
    case("qr", Const(real(4, 2)), False)
    case(".qr", Const(real(2, 3, 2)))
    case("linalg.qr", real(3))
    case("qr", real(3))
    case("linalg.qr", real(3, 2), "thin")
    case("linalg.householder_product", real(4, 3), real(2))
    case("linalg.householder_product", real(2, 3, 3), real(2, 3))
    case("linalg.householder_product", real(2, 3), real(2))


def lu():
    for a in (well(3, 3), real(2, 3, 3), real(3, 5), real(4, 2), torch.zeros(0, 0, dtype=f64)):
        case("linalg.lu_factor", a)
        case("linalg.lu_factor_ex", a)
        case("lu", a, several=True)
        case("linalg.lu", a)
    case(".lu", real(3, 3), True, True, several=True)
    for name in ("linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu", "lu"):
        case(name, real(3))
    case("linalg.lu_factor", well(2, 2), pivot=False)
    case("linalg.lu_factor_ex", torch.zeros(2, 2), check_errors=True)
    for shape in ((3, 3), (2, 3, 3)):
        data, pivots = torch.linalg.lu_factor(well(*shape).flip(-1))
        case("lu_unpack", data, pivots)
        case("lu_unpack", Const(data), pivots, False)
        case("lu_unpack", Const(data), pivots, True, False)
        b = real(*shape[:-1], 2)
        for adjoint in (False, True):
            case("linalg.lu_solve", data, pivots, b, adjoint=adjoint)
            case("linalg.lu_solve", data, pivots, b.mT.contiguous(), left=False, adjoint=adjoint)
        case("lu_solve", b, data, pivots)
        case(".lu_solve", b, data, pivots)
    case("lu_unpack", data, pivots[..., :2])
    case("linalg.lu_solve", data, pivots, real(2, 2, 2))
    case("lu_solve", real(2, 2, 2), data, pivots)
    a = real(3, 3)
    a = a + a.mT
    for name in ("ldl_factor", "ldl_factor_ex"):
        case("linalg." + name, Const(a))
        case("linalg." + name, Const(torch.stack([a, a @ a])))
        case("linalg." + name, real(2, 3))
    ld, pivots = torch.linalg.ldl_factor(a)
    case("linalg.ldl_solve", Const(ld), pivots, Const(real(3, 2)))
    case("linalg.ldl_solve", Const(ld), pivots, Const(real(2, 2)))


def determinants():
    singular = torch.tensor([[1., 2], [2, 4]], dtype=f64)
    for a in (well(3, 3), real(2, 2, 2), real(2, 1, 3, 3), torch.zeros(0, 0, dtype=f64),
              torch.zeros(2, 0, 0, dtype=f64), real(3, 3, dtype=f32)):
        both("det", a)
        both("slogdet", a)
        case("logdet", Const(a) if (torch.det(a) < 0).any() else a)
    case("linalg.det", Const(singular))
    case("linalg.slogdet", Const(singular))
    case(".logdet", Const(torch.stack([singular, -singular + torch.eye(2, dtype=f64)])))
    for name in ("linalg.det", "det", "linalg.slogdet", "slogdet", "logdet"):
        case(name, real(2, 3))
        case(name, torch.ones(2, 2, dtype=torch.int64))


def signed(*args, **kw):
    case(*args, grad=False, signs=True, **kw)


def spectrum():
    a = real(3, 3)
    a = a + a.mT
    for m in (a, torch.stack([a, a @ a]), torch.zeros(0, 0, dtype=f64)):
        signed("linalg.eigh", Const(m))
        signed("linalg.eigh", Const(m), "U")
        case("linalg.eigvalsh", Const(m))
    case("linalg.eigvalsh", Const(real(3, 3)), UPLO="U")
    for name in ("linalg.eigh", "linalg.eigvalsh"):
        case(name, real(2, 3))
        case(name, real(2, 2), "X")
    for shape in ((3, 3), (4, 2), (2, 4), (2, 2, 3)):
        m = real(*shape)
        signed("linalg.svd", Const(m), False)
        if shape[-1] == shape[-2]:
            signed("linalg.svd", Const(m))
        signed("svd", Const(m))
        case("linalg.svdvals", m)
    case("linalg.svd", Const(torch.zeros(0, 2, dtype=f64)))
    case("linalg.svd", Const(torch.zeros(3, 0, dtype=f64)), False)
    case("linalg.svdvals", real(2, 3, dtype=f32))
    case(".svd", Const(real(2, 2)), True, False)
    for name in ("linalg.svd", "linalg.svdvals", "svd"):
        case(name, real(3))


def eigen():
    c128 = torch.complex128
    for m in (real(3, 3), real(2, 2, 2), real(3, 3, dtype=c128), torch.zeros(0, 0, dtype=f64),
              torch.zeros(2, 0, 0, dtype=c128)):
        signed("linalg.eig", Const(m))
        case("linalg.eigvals", m)
    signed("linalg.eig", Const(real(3, 3, dtype=f32)))
    signed("linalg.eig", Const(real(2, 2, dtype=torch.complex64)))
    for name in ("linalg.eig", "linalg.eigvals"):
        case(name, real(2, 3))
        case(name, real(3))
        case(name, torch.full((2, 2), torch.inf))


def ranks():
    low = real(4, 2) @ real(2, 4)
    for a in (low, real(3, 4), torch.stack([low, torch.eye(4, dtype=f64)]),
              torch.zeros(2, 0, dtype=f64)):
        case("linalg.matrix_rank", Const(a))
        case("linalg.pinv", Const(a))
        case("pinverse", Const(a))
    case("linalg.matrix_rank", Const(real(3, 3)), 1.5)
    case("linalg.matrix_rank", Const(low + low.mT), hermitian=True)
    case("linalg.matrix_rank", Const(real(3, 3)), atol=0.5, rtol=0.1)
    case("linalg.matrix_rank", Const(real(2, 3, 3)), atol=Const(torch.tensor([0.1, 9.0],
                                                                            dtype=f64)))
    case("linalg.matrix_rank", real(3))
    for shape in ((3, 3), (4, 2), (2, 2, 3)):
        case("linalg.pinv", real(*shape))
        case(".pinverse", real(*shape))
    case("linalg.pinv", Const(low + low.mT), hermitian=True)
    case("linalg.pinv", Const(real(3, 3)), 0.3)
    case("linalg.pinv", Const(real(3, 3)), atol=1.0, rtol=0.1)
    case("linalg.pinv", real(3))
    case("pinverse", real(3))


def least_squares():
    for shape, right in (((4, 2), (4, 3)), ((2, 4), (2, 1)), ((2, 3, 2), (2, 3, 1)),
                         ((3, 2), (3,)), ((2, 3, 2), (2, 3)), ((3, 3), (3, 2))):
        a, b = real(*shape), real(*right)
        vectors = len(right) < len(shape)  # whose gradient PyTorch 1.13 fails at
        case("linalg.lstsq", Const(a) if vectors else a, Const(b) if vectors else b)
        for driver in ("gels", "gelsd", "gelss"):
            case("linalg.lstsq", Const(a), Const(b), driver=driver)
    case("linalg.lstsq", Const(real(4, 2) @ real(2, 3)), Const(real(4, 1)))
    case("linalg.lstsq", real(3, 2), real(2, 2))
    case("linalg.lstsq", real(3, 2), real(3, 2), driver="best")


def norms():
    inf = float("inf")
    def apart(*shape):  # neither zeros nor ties
        t = real(*shape)
        return t + 0.03 + torch.arange(t.numel(), dtype=f64).reshape(shape) / 256

    x = apart(2, 3, 4)
    for p in (2, 1, 0, -1, 3, 0.5, inf, -inf):
        case("linalg.vector_norm", x, p, rough=p == 0)
        case("linalg.norm", apart(5), p, rough=p == 0)
    case("linalg.vector_norm", x, 3, [Dim(1), Dim(2)], True)
    case("linalg.vector_norm", real(2, 3, dtype=f32), dtype=f64)
    case("linalg.vector_norm", torch.ones(3, dtype=torch.int64))
    for p in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        case("linalg.matrix_norm", x, p)
        case("linalg.matrix_norm", x, p, [Dim(2), Dim(0)], True)
        case("linalg.norm", apart(3, 2), p)
        case("linalg.norm", x, p, [Dim(0), Dim(1)])
        smooth = p in (2, -2)  # PyTorch 1.13 fails at the gradients of the others
        case("linalg.cond", well(2, 3, 3) if smooth else Const(well(2, 3, 3)), p)
    case("linalg.matrix_norm", x)
    case("linalg.matrix_norm", real(2, 3, dtype=f32), 1, dtype=f64, rough=True)
    case("linalg.matrix_norm", x, 3)
    case("linalg.matrix_norm", x, "fro", [Dim(1), Dim(1)])
    case("linalg.matrix_norm", real(3), 1)
    case("linalg.matrix_norm", real(3), "fro")
    case("linalg.norm", x)
    case("linalg.norm", x, None, [Dim(0), Dim(2)])
    case("linalg.norm", x, 3, Dim(1), True)
    case("linalg.norm", x, 2)
    case("linalg.norm", x, "nuc")
    case("linalg.norm", x, 1, [Dim(0), Dim(1), Dim(2)])
    case("linalg.cond", well(3, 3))
    case("linalg.cond", real(4, 2))
    case("linalg.cond", Const(torch.zeros(2, 0, 0)))
    case("linalg.cond", Const(torch.zeros(0, 0)), 1)
    case("linalg.cond", Const(torch.ones(2, 2, dtype=f64)), 1)
    case("linalg.cond", real(3, 2), 1)
    case("linalg.cond", real(3, 2), "fro")
    case("linalg.cond", real(3, 2), 5)


def products():
    case("linalg.matmul", real(2, 3), real(3, 2))
    case("linalg.matmul", real(2, 3), real(2, 3))
    case("linalg.diagonal", real(2, 3, 4))
    case("linalg.diagonal", real(2, 3, 4), offset=1, dim1=Dim(0), dim2=Dim(2))
    case("linalg.diagonal", real(2, 3), dim1=Dim(1), dim2=Dim(1))
    for n in (0, 1, 2, 5, -1, -3):
        a = well(2, 3, 3) / 4
        both("matrix_power", a if n else Const(a), n)
    both("matrix_power", real(2, 3), 2)
    for a in (real(3, 3), real(2, 2, 2) * 4, torch.zeros(2, 2, dtype=f64),
              torch.zeros(0, 3, 3, dtype=f64)):
        both("matrix_exp", a)
    case("matrix_exp", real(3, 3, dtype=f32), rough=True)
    both("matrix_exp", real(2, 3))
    case("linalg.multi_dot", [real(2, 3), real(3, 4), real(4, 1)])
    case("linalg.multi_dot", [real(3), real(3, 4), real(4, 2), real(2)])
    case("linalg.multi_dot", [real(3), real(3)])
    case("linalg.multi_dot", [real(2, 3)])
    case("linalg.multi_dot", [real(2, 3), real(3), real(3, 2)])

    def chain(matrices):
        return torch.chain_matmul(*matrices)

    case("chain_matmul", [real(2, 3), real(3, 4), real(4, 1)], ref=chain)
    case("chain_matmul", [real(2, 3), real(2, 3)], ref=chain)
    case("linalg.vecdot", real(2, 3), real(2, 3))
    case("linalg.vecdot", real(2, 3), real(1, 3), dim=Dim(0))
    case("linalg.vecdot", real(2, 3), real(2, 4))
    case("linalg.cross", real(2, 3), real(2, 3))
    case("linalg.cross", real(3, 2), real(3, 1), dim=Dim(0))
    case("linalg.cross", real(2, 4), real(2, 4))
    case("cross", real(2, 3, 3), real(2, 3, 3))
    case(".cross", real(3, 3), real(3, 3), Dim(1))
    case("cross", real(2, 4), real(2, 4))
    case("trace", real(3, 4))
    case(".trace", real(2, 2))
    case("trace", torch.ones(3, 3, dtype=torch.int64))
    case("trace", real(3))
    case("linalg.vander", real(2, 3))
    case("linalg.vander", real(3), N=5)
    case("linalg.vander", torch.tensor([2, 3]), N=1)
    case("linalg.vander", real(3), N=0)
    eye = torch.eye(6, dtype=f64) * 4
    case("linalg.tensorinv", real(2, 3, 6) + eye.reshape(2, 3, 6))
    case("linalg.tensorinv", real(6, 3, 2) + eye.reshape(6, 3, 2), 1)
    case("linalg.tensorinv", real(2, 3, 5))
    case("linalg.tensorinv", real(4, 4), 0)
    case("linalg.tensorsolve", real(2, 3, 6) + eye.reshape(2, 3, 6), real(2, 3))
    case("linalg.tensorsolve", real(2, 3, 3, 2) + eye.reshape(2, 3, 3, 2), real(2, 3))
    case("linalg.tensorsolve", real(6, 2, 3) + eye.reshape(6, 2, 3), real(2, 3), [Dim(0)])
    case("linalg.tensorsolve", real(2, 3, 4), real(2, 3))


def reflections():
    for shape in ((4, 3), (3, 3), (2, 4), (2, 3, 2), (20, 17), (0, 2), (3, 0), (2, 0, 3), (3,)):
        case("geqrf", Const(real(*shape)))
    case("orgqr", real(4, 3), real(2))
    case("orgqr", Const(real(2, 3, 3)), Const(real(2, 3)))
    case("orgqr", Const(real(20, 18)), Const(real(17)))
    case("orgqr", Const(real(3, 2)), Const(real(0)))
    case("linalg.householder_product", Const(real(40, 33)), Const(real(33)))


def tall():
    for shape in ((6, 2), (2, 7), (2, 8, 3)):
        case("linalg.pinv", real(*shape))
        low = real(*shape[:-1], 1) @ real(*shape[:-2], 1, shape[-1])
        case("linalg.pinv", Const(low))
        case("linalg.matrix_rank", Const(low))
        case("linalg.pinv", Const(real(*shape)), atol=0.5, rtol=0.6)
        case("linalg.pinv", Const(real(*shape)), rtol=0.7)
        case("linalg.svdvals", real(*shape))


def complex_systems():
    z = torch.complex128
    empty, none = torch.zeros(0, 0, dtype=z), torch.zeros(2, 0, 3, 3, dtype=z)
    for a in (well(3, 3, dtype=z), real(2, 1, 2, 2, dtype=z), empty, none,
              well(3, 3, dtype=torch.complex64)):
        for name in ("linalg.inv", "linalg.inv_ex", "inverse", "linalg.det", "det",
                     "linalg.slogdet", "slogdet", "logdet", "linalg.lu_factor",
                     "linalg.lu_factor_ex", "linalg.lu"):
            case(name, a, rough=a.dtype != z)
    for a in (real(3, 5, dtype=z), real(4, 2, dtype=z), Const(real(2, 4, 2, dtype=z))):
        case("linalg.lu_factor", a)
        case("linalg.lu", a)
        case("lu", a, several=True)
    singular = torch.tensor([[1, 2j], [2j, -4]], dtype=z)
    for name in ("linalg.det", "linalg.slogdet"):
        case(name, Const(singular))
    for name in ("linalg.inv", "linalg.lu_factor"):
        case(name, torch.zeros(2, 2, dtype=z))
    for a, b in ((well(3, 3, dtype=z), real(3, 2, dtype=z)),
                 (well(3, 3, dtype=z), real(3, dtype=z)),
                 (well(2, 3, 3, dtype=z), real(2, 3, dtype=z)),
                 (well(2, 1, 2, 2, dtype=z), real(3, 2, 2, dtype=z)),
                 (empty, torch.zeros(0, 2, dtype=z)), (well(2, 2, dtype=z), real(2, 0, dtype=z))):
        case("linalg.solve", a, b)
        case("linalg.solve_ex", a, b)
    case("linalg.solve", well(3, 3, dtype=z), real(2, 3, dtype=z), left=False)
    case("linalg.solve", well(3, 3, dtype=z), real(3, 2))
    case("linalg.solve", well(3, 3), real(3, 2, dtype=z))
    case("linalg.solve", torch.ones(2, 2, dtype=z), torch.ones(2, 1, dtype=z))
    for upper in (False, True):
        for unit in (False, True):
            case("linalg.solve_triangular", well(3, 3, dtype=z), real(3, 2, dtype=z), upper=upper,
                 unitriangular=unit)
            case(".triangular_solve", real(3, 2, dtype=z), well(3, 3, dtype=z), upper, unit)
        case("linalg.solve_triangular", well(2, 3, 3, dtype=z), real(2, 3, dtype=z), upper=upper,
             left=False)
    for shape in ((3, 3), (2, 3, 3)):
        data, pivots = torch.linalg.lu_factor(well(*shape, dtype=z).flip(-1))
        case("lu_unpack", data, pivots)
        b = real(*shape[:-1], 2, dtype=z)
        for adjoint in (False, True):
            case("linalg.lu_solve", data, pivots, b, adjoint=adjoint)
            case("linalg.lu_solve", data, pivots, b.mT.contiguous(), left=False, adjoint=adjoint)
        case("lu_solve", b, data, pivots)
    a, b = real(3, 3, dtype=z), real(3, 2, dtype=z)
    for hermitian in (False, True):
        m = a + (a.mH if hermitian else a.mT)
        case("linalg.ldl_factor", Const(m), hermitian=hermitian)
        case("linalg.ldl_factor_ex", Const(torch.stack([m, m @ m])), hermitian=hermitian)
        ld, pivots = torch.linalg.ldl_factor(m, hermitian=hermitian)
        case("linalg.ldl_solve", Const(ld), pivots, Const(b), hermitian=hermitian)
    eye = torch.eye(6, dtype=z) * 4
    case("linalg.tensorinv", real(2, 3, 6, dtype=z) + eye.reshape(2, 3, 6))
    case("linalg.tensorsolve", real(2, 3, 6, dtype=z) + eye.reshape(2, 3, 6), real(2, 3, dtype=z))
    for n in (-1, -3, 2):
        both("matrix_power", well(2, 3, 3, dtype=z) / 4, n)
    for a in (real(3, 3, dtype=z), real(2, 2, 2, dtype=z) * 4, torch.zeros(2, 2, dtype=z), empty):
        both("matrix_exp", a)
    case("matrix_exp", real(3, 3, dtype=torch.complex64), rough=True)


def complex_factors():
    z = torch.complex128
    empty = torch.zeros(0, 0, dtype=z)
    for shape in ((3, 3), (2, 2, 2)):
        x = real(*shape, dtype=z)
        a = x @ x.mH + torch.eye(shape[-1], dtype=z)
        low = torch.linalg.cholesky(a)
        for upper in (False, True):
            case("linalg.cholesky", a, upper=upper, rough=True)
            case("linalg.cholesky_ex", a, upper=upper, rough=True)
            factor = (low.mH if upper else low).contiguous()
            case("cholesky_solve", real(*shape[:-1], 2, dtype=z), Const(factor), upper)
            case("cholesky_inverse", Const(factor), upper)
        case("cholesky", a, rough=True)
    case("linalg.cholesky", empty)
    case("linalg.cholesky", -torch.eye(3, dtype=z))
    case("linalg.cholesky_ex", Const(-torch.eye(3, dtype=torch.complex64)))
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 0), (0, 3), (3, 0), (20, 18)):
        a = real(*shape, dtype=z) + 0.03  # at 0 the sign that LAPACK chooses turns over
        case("linalg.qr", a if a.numel() < 20 else Const(a))
        case("geqrf", Const(a))
    case("qr", real(3, 2, dtype=torch.complex64), rough=True)
    case("linalg.qr", Const(real(4, 2, dtype=z)), "complete")
    case("linalg.qr", real(3, 4, dtype=z), "complete")
    case("linalg.qr", Const(real(4, 2, dtype=z)), mode="r")
    case("linalg.householder_product", real(4, 3, dtype=z), real(2, dtype=z))
    case("orgqr", Const(real(20, 18, dtype=z)), Const(real(17, dtype=z)))
    for shape, right in (((4, 2), (4, 3)), ((2, 4), (2, 1)), ((2, 3, 2), (2, 3, 1)),
                         ((3, 2), (3,)), ((3, 3), (3, 2))):
        a, b = real(*shape, dtype=z), real(*right, dtype=z)
        vectors = len(right) < len(shape)
        case("linalg.lstsq", Const(a) if vectors else a, Const(b) if vectors else b)
        for driver in ("gels", "gelsd", "gelss"):
            case("linalg.lstsq", Const(a), Const(b), driver=driver)
    low = real(4, 2, dtype=z) @ real(2, 3, dtype=z)
    case("linalg.lstsq", Const(low), Const(real(4, 1, dtype=z)))
    case("linalg.lstsq", real(3, 2, dtype=z), real(3, 2))


def complex_spectrum():
    z = torch.complex128
    a = real(3, 3, dtype=z)
    a = a + a.mH
    for m in (a, torch.stack([a, a @ a]), torch.zeros(0, 0, dtype=z), a.to(torch.complex64)):
        for part in ("L", "U"):
            signed("linalg.eigh", Const(m), part)
            case("linalg.eigvalsh", Const(m), part)
    for part in ("L", "U"):
        signed("linalg.eigh", Const(real(3, 3, dtype=z)), part)
    for shape in ((3, 3), (4, 2), (2, 4), (2, 2, 3), (7, 3)):
        m = real(*shape, dtype=z)
        signed("linalg.svd", Const(m), False)
        signed("svd", Const(m))
        case("linalg.svdvals", m)
        case("linalg.pinv", m)
        case("pinverse", m)
        case("linalg.matrix_rank", Const(m))
        for p in ("nuc", 2, -2):
            case("linalg.matrix_norm", m, p)
            if p != "nuc":
                case("linalg.cond", m, p)
    signed("linalg.svd", Const(real(3, 3, dtype=z)))
    case("linalg.svd", Const(torch.zeros(0, 2, dtype=z)))
    case("linalg.svd", Const(torch.full((2, 2), torch.nan, dtype=z)))
    low = real(4, 2, dtype=z) @ real(2, 4, dtype=z)
    for m in (low, torch.stack([low, torch.eye(4, dtype=z)]), torch.zeros(2, 0, dtype=z)):
        case("linalg.matrix_rank", Const(m))
        case("linalg.pinv", Const(m))
    case("linalg.matrix_rank", Const(low + low.mH), hermitian=True)
    case("linalg.pinv", Const(low + low.mH), hermitian=True)
    case("linalg.pinv", Const(real(3, 3, dtype=z)), atol=1.0, rtol=0.1)
    for p in ("fro", "nuc", 1, -1, float("inf"), -float("inf")):
        case("linalg.cond", Const(well(2, 3, 3, dtype=z)), p)
    case("linalg.cond", Const(torch.zeros(2, 0, 0, dtype=z)))
    case("linalg.cond", Const(torch.ones(2, 2, dtype=z)), 1)


for family in (inverses, systems, cholesky, orthogonal, lu, determinants, spectrum, ranks,
               least_squares, norms, products):
    family()
eigen()
reflections()
tall()
complex_systems()
complex_factors()
complex_spectrum()
write("linalg", __file__)
