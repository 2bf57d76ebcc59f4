#!/usr/bin/env python3
"""PyTorch's answers for complex tensors: tests/parity/data/complex.lua."""
import torch
import torch.nn.functional as F

from record import Const, Dim, Ids, case, real, write

C64, C128 = torch.complex64, torch.complex128
F32 = torch.float32


# What PyTorch 1.13 refuses and newer ones have, from what it has.
NEWER = {
    "exp2": lambda x: torch.exp(x * 0.6931471805599453),
    "expm1": lambda x: torch.exp(x) - 1,
    "log1p": lambda x: torch.log(x + 1),
    "nan_to_num": lambda x, *to: torch.complex(x.real.nan_to_num(*to), x.imag.nan_to_num(*to)),
    "logaddexp": lambda x, y: torch.log(torch.exp(x) + torch.exp(y)),
    "logsumexp": lambda x, *to: torch.log(torch.exp(x).sum(*to)),
    "logcumsumexp": lambda x, dim: torch.log(torch.exp(x).cumsum(dim)),
}


def z(*shape, dtype=C128):
    return real(*shape, dtype=dtype)


def parts():
    case("complex", real(2, 3), real(2, 3))
    case("complex", real(2, 1), real(3))
    case("complex", real(2, dtype=F32), real(2, dtype=F32))
    case("complex", real(2), real(2, dtype=F32))
    case("complex", torch.tensor([1, 2]), torch.tensor([1, 2]))
    case("complex", real(2), real(3))
    case("polar", real(2, 3).abs() + 1, real(2, 3))
    case("polar", real(2), real(2, dtype=F32))
    for fn in ("view_as_real", "real", "imag", "conj", "conj_physical", ".conj_physical_",
               ".resolve_conj"):
        case(fn, z(2, 3))
        case(fn, z(dtype=C64))
        case(fn, z(2, 0))
        case(fn, real(3))
    case("view_as_complex", real(3, 2), dense=True)
    case("view_as_complex", real(2, 2, 2, dtype=F32), dense=True)
    case("view_as_complex", real(2, 3))
    case("view_as_complex", torch.ones(2, dtype=torch.int64))
    case("adjoint", z(2, 3), ref=lambda x: x.H, name="H")
    case("adjoint", z(2, 2, 3))
    case("adjoint", z(3))


def made():
    for dtype in (C64, C128):
        case("zeros", 2, 2, dtype=dtype)
        case("ones", 3, dtype=dtype)
        case("full", (2,), 2.5, dtype=dtype)
        case("eye", 2, 3, dtype=dtype)
        case("zeros_like", Const(z(2, dtype=dtype)))
        case("ones_like", Const(real(2)), dtype=dtype)
        case("full_like", Const(z(2, dtype=dtype)), 3)
        for other in (C64, C128, torch.float64, F32, torch.int32, torch.uint8, torch.bool):
            case(".to", Const(z(2, 3, dtype=dtype)), other)
            case(".to", Const(real(2, 3, dtype=other)), dtype)
        case(".to", z(3, dtype=dtype), C128, rough=True)
        case(".to", real(3), dtype, rough=True)
        case(".to", z(3, dtype=dtype), torch.float64, rough=True)
        case(".new_ones", Const(z(2, dtype=dtype)), 3)
        case(".fill_", Const(z(2, 3, dtype=dtype)), 1.5)
        case(".fill_", Const(z(2, dtype=dtype)), Const(z()))
        case(".fill_", Const(real(2)), Const(z()))
        case(".copy_", Const(z(2, dtype=dtype)), z(2), rough=True)
        case(".copy_", Const(z(2, dtype=dtype)), real(2), rough=True)
        case(".zero_", Const(z(2, dtype=dtype)))


def moved():
    """What only moves elements: both sizes of elements, and gradients."""
    for dtype in (C64, C128):
        x = z(3, 4, dtype=dtype)
        case("clone", x)
        case("transpose", x, Dim(0), Dim(1))
        case(".reshape", x, (2, 6))
        case("flip", x, [Dim(0), Dim(1)])
        case("roll", x, 1, Dim(1))
        case(".repeat", x, (1, 2))
        case("tril", x)
        case("diag", x)
        case("diag_embed", z(2, dtype=dtype))
        case("cat", [x, x], Dim(1))
        case("cat", [z(2, dtype=dtype), real(2)])
        case("stack", [z(2, dtype=dtype), z(2, dtype=dtype)])
        case("chunk", x, 2, Dim(1))
        case("unbind", x, Dim(1))
        case("index_select", x, Dim(1), Ids(2, 0, 2))
        case("gather", x, Dim(1), Ids([[1, 0], [2, 3], [1, 1]]))
        case("take", x, Ids(1, 5, 5))
        case("index_add", x, Dim(0), Ids(1, 1), z(2, 4, dtype=dtype))
        case("index_copy", x, Dim(0), Ids(1, 2), z(2, 4, dtype=dtype))
        case("index_fill", x, Dim(0), Ids(1), 2.5)
        case("scatter", x, Dim(0), Ids([[1, 0], [2, 1]]), z(2, 2, dtype=dtype))
        case("scatter_add", x, Dim(0), Ids([[1, 0], [1, 1]]), z(2, 2, dtype=dtype))
        case("index_put", x, [Ids(1, 0), Ids(3, 3)], z(2, dtype=dtype))
        case("index_put", x, [Ids(1, 1), Ids(3, 3)], z(2, dtype=dtype), accumulate=True)
        mask = torch.tensor([True, False, True, False])
        case("masked_fill", x, mask, 1.5)
        case("masked_fill", x, mask, Const(z(dtype=dtype)))
        case("masked_select", x, mask)
        case("masked_scatter", x, mask, z(6, dtype=dtype))
        case("nonzero", Const(torch.tensor([0, 1j, 2], dtype=dtype)), positions=True)
        case(".unfold", x, Dim(1), 2, 1)
        case("as_strided", x, (2, 2), (4, 1), 1, dense=True)
        case("constant_pad_nd", x, [1, 1], 2.0)
        case("meshgrid", [z(2, dtype=dtype), z(3, dtype=dtype)], ref=lambda t: torch.meshgrid(
            *t, indexing="ij"))


def arithmetic():
    for fn in ("add", "sub", "mul", "div", "true_divide", "pow"):
        case(fn, z(2, 3), z(2, 3))
        case(fn, z(2, 3, dtype=C64), z(3, dtype=C64))
        case(fn, z(2, 1), real(3))
        case(fn, real(3).abs() + .1, z(2, 1))
        case(fn, real(2, 3).abs() + .1, z(dtype=C64), rough=True)
        case(fn, z(3), 2.5)
        case(fn, z(3, dtype=C64), torch.tensor([1, 2, 3]))
    case("add", z(3), z(3), alpha=2.5)
    case("sub", z(3, dtype=C64), z(3, dtype=C64), alpha=2)
    case("rsub", z(3), 2.5)
    case("rsub", z(3), z(3), alpha=3)
    case("div", z(3), z(3), rounding_mode="floor")
    case("pow", 2.5, z(3))
    case("pow", -2.5, z(3), grad=False)
    for s in (2, 3, 0.5, -0.5, -1, 0, 1):
        case("pow", z(3), s)
    case("mul", z(2, 0), z(2, 1))
    case("floor_divide", z(2), z(2))
    case("remainder", z(2), z(2))
    case("addcmul", z(2, 3), z(3), z(2, 1), value=2.5)
    case("addcdiv", z(2, 3), z(3), z(2, 1), value=2)
    case("lerp", z(4), z(4), 0.25)
    case("lerp", z(4), z(4), z(4))
    case("lerp", z(4, dtype=C64), z(4, dtype=C64), 0.75)
    condition = torch.tensor([True, False, True])
    case("where", condition, z(3), z(3))
    case("where", condition, z(2, 1, dtype=C64), z(3, dtype=C64))
    case(".where", z(3), condition, z(3), rough=True)


def functions():
    for fn in ("neg", "abs", "sgn", "angle", "reciprocal", "square", "sqrt", "rsqrt", "exp", "log",
               "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
               "tanh", "asinh", "atanh", "sigmoid", "positive"):
        case(fn, z(2, 3).div(8) + (.03 + .04j))  # off the branch cuts
        case(fn, z(3, dtype=C64).div(8) + (.03 + .04j))
    case("acosh", z(4).div(8) + .04, grad=False)
    case("acosh", z(4).div(8) + (2.1 + .04j))
    for fn in ("sgn", "angle"):
        case(fn, real(4))
        case(fn, Const(torch.tensor([0.0, float("nan"), -1, 2])))
        case(fn, torch.tensor([0, -1, 2]))
        case(fn, torch.zeros(2, dtype=C128), rough=True)
    case("abs", torch.zeros(2, dtype=C128), rough=True)
    case(".abs_", Const(z(2)))
    for fn in ("sign", "floor", "round", "exp2", "expm1", "log1p", "erf", "lgamma", "relu", "frac",
               "logit", "nan_to_num", "isposinf", "signbit", "deg2rad"):
        case(fn, z(2), ref=NEWER.get(fn), grad=False)
    for fn in ("clamp_min", "lt", "gt", "maximum", "atan2", "hypot", "copysign", "remainder",
               "fmod", "bitwise_and"):
        case(fn, z(2), z(2))


def truth():
    inf, nan = float("inf"), float("nan")
    x = Const(torch.tensor([0, 1, 1j, complex(inf, 1), complex(1, nan)], dtype=C128))
    y = Const(torch.tensor([0, 1j, 1j, complex(inf, 1), complex(1, nan)], dtype=C128))
    for fn in ("isnan", "isinf", "isfinite", "isreal", "logical_not", "count_nonzero", "all",
               "any"):
        case(fn, x)
        case(fn, Const(x.t.to(C64)))
    for fn in ("eq", "ne", "logical_and", "logical_or", "logical_xor", "isclose", "allclose",
               "equal"):
        case(fn, x, y)
        case(fn, x, x)
    case("eq", x, 1.0)
    case("eq", Const(z(3)), Const(torch.tensor([1, 2, 3])))
    case("isclose", x, y, equal_nan=True)
    case("isclose", Const(z(3)), Const(z(3)), 0.0, 20.0)
    case("all", Const(z(2, 3)), Dim(1))
    case("any", Const(torch.zeros(2, 2, dtype=C64)), Dim(0), True)


def products():
    for dtype in (C64, C128):
        case("matmul", z(2, 3, dtype=dtype), z(3, 4, dtype=dtype))
        case("mv", z(2, 3, dtype=dtype), z(3, dtype=dtype))
        case("dot", z(3, dtype=dtype), z(3, dtype=dtype), ref=lambda a, b: (a * b).sum())
        case("vdot", z(3, dtype=dtype), z(3, dtype=dtype),
             ref=lambda a, b: (a.conj() * b).sum())
    case("matmul", z(2, 1, 2, 3), z(4, 3, 2))
    case("matmul", z(3), z(2, 3, 2))
    case("matmul", z(2, 3, 2), z(2))
    case("matmul", z(2, 0), z(0, 3))
    case("matmul", z(2, 3), real(3, 2))
    case("mm", z(2, 3), z(3, 4))
    case("bmm", z(2, 2, 3), z(2, 3, 2))
    case("addmm", z(2, 2), z(2, 3), z(3, 2), beta=2, alpha=3)
    case("addmm", z(2), z(2, 0), z(0, 2))
    case("addmv", z(2), z(2, 3), z(3), beta=0)
    case("baddbmm", z(2, 2, 2), z(2, 2, 3), z(2, 3, 2), alpha=-1)
    case("addbmm", z(2, 2), z(2, 2, 3), z(2, 3, 2))
    case("addr", z(2, 3), z(2), z(3), beta=2)
    case("outer", z(2), z(3))
    case("inner", z(2, 3), z(4, 3))
    case("tensordot", z(2, 3), z(3, 2), 1)
    case("tensordot", z(2, 3, 4), z(4, 5, 3), [Dim(1), Dim(2)], [Dim(2), Dim(0)],
         ref=lambda a, b, da, db: torch.tensordot(a, b, (da, db)))
    case("einsum", "ij,kj->ik", [z(2, 3), z(4, 3)])
    case("einsum", "bii->bi", [z(2, 3, 3)])
    case("einsum", "i,j,k->kj", [z(2), z(3), z(2)])
    case("F.linear", z(2, 3), z(4, 3), z(4))
    case("F.linear", z(2, 2, 3), z(3))
    case("F.bilinear", *map(Const, (z(2, 2), z(2, 3), z(2, 2, 3), z(2))))
    case("linalg.vecdot", z(2, 3), z(2, 3))
    case("matrix_power", z(2, 2), 3)
    case("linalg.multi_dot", [z(2, 3), z(3, 2), z(2, 2)])
    case("bmm", z(2, 2, 3), z(3, 3, 2))


def reduced():
    for fn in ("sum", "mean"):
        case(fn, z(2, 3))
        case(fn, z(2, 3, dtype=C64), [Dim(1)])
        case(fn, z(2, 3, 2), [Dim(0), Dim(2)], True)
        case(fn, z(0))
        case(fn, Const(real(3)), dtype=C128)
        case(fn, Const(z(3)), dtype=C64)
    case("nansum", z(2))
    for fn in ("prod", "cumsum", "cumprod"):
        case(fn, z(2, 3), Dim(1))
        case(fn, z(2, 3, 2, dtype=C64), Dim(0))
        case(fn, Const(real(3)), Dim(0), dtype=C128)
    case("prod", z(2, 3))
    case("prod", torch.tensor([0, 2j, 3 + 1j], dtype=C128), rough=True)
    case("prod", z(2, 0), Dim(1))
    case("prod", z(2, 3), Dim(0), True)
    case("cumsum", z(), Dim(0))
    case("logcumsumexp", z(2), Dim(0), ref=NEWER["logcumsumexp"], grad=False)
    for fn in ("std", "var"):
        case(fn, z(2, 3))
        case(fn, z(2, 3), [Dim(1)], False)
        case(fn, z(2, 3, dtype=C64), [Dim(0)], True, True)
        case(fn + "_mean", z(2, 3), [Dim(1)], several=True)
        case(fn + "_mean", z(3, dtype=C64), False, several=True)
    for p in (2, 1, 0, 3, 0.5, float("inf"), -float("inf")):
        case("norm", z(2, 3), p)
        case("linalg.vector_norm", z(2, 3), p, [Dim(1)])
    case("norm", z(2, 3, dtype=C64), "fro")
    case("norm", torch.zeros(2, dtype=C128), rough=True)
    case("dist", z(2, 3), z(3))
    case("linalg.norm", z(2, 3))
    case("linalg.matrix_norm", z(2, 3))
    case("linalg.matrix_norm", z(2, 3), 1)
    case("diff", z(2, 3))
    case("trace", z(3, 3))
    for fn in ("amax", "argmax", "sort", "median", "mode", "unique", "logsumexp", "cummax", "topk"):
        case(fn, z(4), *{"logsumexp": [Dim(0)], "cummax": [Dim(0)], "topk": [2]}.get(fn, []),
             ref=NEWER.get(fn), grad=False)
    for dtype in (C64, C128):
        case("randn", 3, 2, dtype=dtype, seed=3)
        case("rand", 5, dtype=dtype, seed=3)
        case("randn_like", Const(z(20, dtype=dtype)), seed=4)
        case("rand_like", Const(z(2, dtype=dtype)), seed=4)
        case(".normal_", Const(z(3, dtype=dtype)), 1.0, 2.0, seed=5)
        case(".uniform_", Const(z(3, dtype=dtype)), -1.0, 2.0, seed=5)
    case("randint", 3, (2,), dtype=C64)


def sinc():
    for dtype in (C64, C128):
        case("sinc", z(2, 3, dtype=dtype))
        case(".sinc_", z(3, dtype=dtype), rough=True)
        case("sinc", Const(torch.tensor([0, 1e-9j, 1, 2.5], dtype=dtype)))


def convolved():
    def composed(fn):  # PyTorch 1.13 has no complex ones of these
        def parts(x, w, *rest):
            def at(a, b):
                return fn(a, b, None, *rest[1:])
            y = torch.complex(at(x.real, w.real) - at(x.imag, w.imag),
                              at(x.real, w.imag) + at(x.imag, w.real))
            return y + rest[0].view(-1, *[1] * (y.dim() - 2))
        return parts

    case("F.conv1d", z(2, 2, 5), z(3, 2, 3), z(3), 2, 1)
    case("F.conv1d", z(4, 5, dtype=C64), z(2, 2, 3, dtype=C64), None, 1, "same", 1, 2)
    case("F.conv2d", z(1, 2, 4, 3), z(3, 2, 2, 2), z(3))
    case("F.conv3d", z(1, 1, 3, 3, 3), z(2, 1, 2, 2, 2), None, 1, 1, 2)
    case("F.conv2d", z(1, 2, 4, 3), real(3, 2, 2, 2))
    case("F.conv2d", z(1, 2, 4, 3), z(3, 2, 2, 2), real(3))
    case("F.conv_transpose1d", z(2, 2, 4), z(2, 3, 3), z(3), 2, 1, 1)
    case("F.conv_transpose2d", z(1, 2, 3, 2), z(2, 2, 2, 2), z(4), 2, 0, 1, 2,
         ref=composed(F.conv_transpose2d))
    case("F.conv_transpose3d", z(1, 1, 2, 2, 2), z(1, 2, 2, 2, 2), z(2),
         ref=composed(F.conv_transpose3d))
    case("conv_tbc", *map(Const, (z(4, 2, 3), z(2, 3, 2), z(2))), 1)
    case("F.unfold", z(1, 2, 3, 4), 2)
    case("F.unfold", z(2, 3, 4, dtype=C64), (2, 1), 1, 1, 2)
    case("F.fold", z(1, 8, 6), (3, 4), 2)


def activated():
    for fn in ("softsign", "tanhshrink"):
        case("F." + fn, z(2, 3))
        case("F." + fn, z(3, dtype=C64))
    case("F.silu", z(2, 3), ref=lambda x: x * torch.sigmoid(x))
    case("F.silu", Const(z(3, dtype=C64)))
    for reduction in ("none", "mean", "sum"):
        case("F.l1_loss", z(2, 3), z(2, 3), reduction=reduction)
        case("F.poisson_nll_loss", z(3), z(3), reduction=reduction)
    case("F.l1_loss", z(3, dtype=C64), real(3, dtype=F32))
    case("F.poisson_nll_loss", z(3), z(3), False)
    for d in (1, 2, 3):
        case(f"F.adaptive_avg_pool{d}d", z(1, 2, *[3] * d), 1)
        case(f"F.adaptive_avg_pool{d}d", z(1, 2, *[3] * d), 2)
    case("F.embedding", Ids(torch.tensor([[0, 2], [2, 1]])), Const(z(3, 2)))
    case("F.embedding", Ids(torch.tensor([0, 2])), z(3, 2), ref=lambda i, w: w[i])


def layers():
    """PyTorch 1.13 draws no masks for complex numbers: 2.15 takes those of the real ones, which
    stand in for it here."""
    var = Const(torch.tensor([0.5, 2.0, 1e-9]))
    for reduction in ("none", "mean", "sum"):
        case("F.gaussian_nll_loss", z(2, 3), z(2, 3), var, reduction=reduction, full=True)
    case("F.gaussian_nll_loss", z(3, dtype=C64), real(3, dtype=F32), var)
    case("F.gaussian_nll_loss", z(2, 3), z(2, 3), Const(z(3)))
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d"):
        shape = (2, 3, 4, 2) if name == "dropout2d" else (2, 3, 4)
        def ref(x, p, training):
            mask = getattr(F, name)(torch.ones(x.shape, dtype=x.real.dtype), p, training)
            if "alpha" not in name:
                return x * mask
            limit = 1.7580993408473766
            scale = 1 / ((limit * limit * p + 1) * (1 - p)) ** 0.5
            kept = mask > 0
            return x * kept * scale + (~kept).double() * (-limit * scale) + limit * scale * p
        case("F." + name, z(*shape), 0.4, True, seed=3, ref=ref, grad=False)
        case("F." + name, z(*shape), 0.4, False)


def newer():
    def of(fn, *args, **kw):
        case(fn, *args, ref=NEWER[fn], **kw)

    inf, nan = float("inf"), float("nan")
    ends = torch.tensor([complex(x, y) for x in (1, inf, -inf, nan) for y in (2, inf, -inf, nan)])
    for dtype in (C64, C128):
        for fn in ("exp2", "expm1", "log1p"):
            of(fn, z(2, 3, dtype=dtype).div(8) + (.03 + .04j))
        of("nan_to_num", ends.to(dtype), grad=False)
        of("nan_to_num", Const(ends.to(dtype)), 3.0, 4.0, 5.0)
        of("logaddexp", z(2, 3, dtype=dtype), z(3, dtype=dtype))
        of("logsumexp", z(2, 3, dtype=dtype), [Dim(0), Dim(1)], True)
        of("logsumexp", z(2, 3, dtype=dtype), [Dim(-1)])
        of("logsumexp", Const(z(0, 2, dtype=dtype)), [Dim(0)])
        of("logcumsumexp", z(3, 4, dtype=dtype).div(4), Dim(0))
        of("logcumsumexp", z(3, 4, dtype=dtype).div(4), Dim(1))
    of("logaddexp", z(3), real(3))
    of("logcumsumexp", z(), Dim(0))
    case("logaddexp2", z(2), z(2))


if __name__ == "__main__":
    for family in (parts, made, moved, arithmetic, functions, truth, products, reduced, sinc,
                   convolved, activated, layers, newer):
        family()
    write("complex", __file__)
