#!/usr/bin/env python3
"""PyTorch's answers for operators that have no place in the other generators:
tests/parity/data/rest.lua."""
import torch
import torch.nn.functional as F

from record import Const, Dim, Ids, case, real, write


def converted():
    x = real(2, 3)
    case("scalar_tensor", 2.5)
    case("scalar_tensor", 3, dtype=torch.int64)
    case(".to", x, "cpu")
    case(".to", x, "cpu", torch.float32, rough=True)
    case(".to", x, Const(real(1, dtype=torch.float32)), rough=True)
    case(".to", x, Const(real(1)))
    case(".type", x, torch.float32, rough=True)
    case(".type", x, torch.float64)
    case(".cpu", x)
    case("detach", Const(x))
    case(".contiguous", x)
    case(".double", x)
    for name in ("float", "half", "bfloat16"):
        case("." + name, x, rough=True)
    for dtype in (torch.float32, torch.int64, torch.uint8):
        case(".random_", Const(torch.zeros(5, dtype=dtype)), 7, seed=3)
        case(".random_", Const(torch.zeros(5, dtype=dtype)), 2, 90, seed=3)
    case(".random_", Const(torch.zeros(5)), 0, seed=3)


def parts():
    case("hsplit", real(2, 5), [Dim(1), Dim(3)])
    case("hsplit", real(5), [Dim(2)])
    case("vsplit", real(4, 2), 2)
    case("vsplit", real(5, 2), 2)
    case("vsplit", real(4, 2), [Dim(1), Dim(2)])
    case("dsplit", real(2, 2, 4), 2)
    case("dsplit", real(2, 2, 4), [Dim(1), Dim(3)])
    case("dsplit", real(2, 2), 2)
    case("constant_pad_nd", real(2, 3), [1, 2])
    case("constant_pad_nd", real(2, 3), [0, 1, 2, 0], 3.5)
    case("constant_pad_nd", real(3, 4), [-1, 0, 0, -2], 1)
    case("constant_pad_nd", torch.tensor([1, 2]), [1, 1], 7)
    case("constant_pad_nd", real(3), [1, 2, 3, 4])
    case("constant_pad_nd", real(3), [-2, -2])
    case("F.pad", real(2, 3), [1, 2])
    case("F.pad", real(2, 3), [1, 0, 2, 1], value=2.5)
    for mode in ("reflect", "replicate", "circular"):
        case("F.pad", real(1, 2, 4), [2, 1], mode=mode)
        case("F.pad", real(1, 2, 3, 4), [2, 1, 1, 0], mode=mode)
        case("F.pad", real(2, 3), [5, 5], mode=mode)


def compared():
    x = real(3, dtype=torch.float32)
    case("equal", Const(x), Const(x.clone()))
    case("equal", Const(x), Const(x + 1))
    case("equal", Const(x), Const(x[:2]))
    case("allclose", Const(x), Const(x * (1 + 1e-6)))
    case("allclose", Const(x), Const(x + .1))
    case("allclose", Const(x), Const(x + .1), 0.0, .2)
    nan = torch.tensor([1.0, float("nan")])
    case("allclose", Const(nan), Const(nan))
    case("allclose", Const(nan), Const(nan), equal_nan=True)
    case("max", real(4), real(4), name="two", rough=True)
    case("min", real(4), real(4), name="two", rough=True)
    case("aminmax", real(2, 3), grad=False)
    case("aminmax", real(2, 3), dim=Dim(0), keepdim=True, grad=False)
    case("heaviside", Const(real(4)), Const(real(4)))


def products():
    case("vdot", real(4), real(4))
    case("vdot", real(4), real(3))
    case("tensordot", real(2, 3, 4), real(4, 5, 3), [Dim(1), Dim(2)], [Dim(2), Dim(0)],
         ref=lambda a, b, da, db: torch.tensordot(a, b, (da, db)))
    case("tensordot", real(2, 3), real(3), [Dim(-1)], [Dim(0)],
         ref=lambda a, b, da, db: torch.tensordot(a, b, (da, db)))
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
        case("qr", real(*shape) + torch.eye(shape[-2], shape[-1]), grad=False, several=True)


def layers():
    case("F.conv_transpose3d", real(1, 2, 2, 3, 2), real(2, 3, 2, 2, 2), real(3))
    case("F.conv_transpose3d", real(1, 2, 2, 2, 2), real(2, 1, 2, 1, 2), stride=2, padding=1,
         output_padding=1, groups=2, dilation=2)
    case("F.conv_transpose3d", real(1, 2, 2, 2), real(3, 1, 1, 1, 1))
    case("F.max_pool1d_with_indices", real(2, 3, 8), 2, positions=(1,), several=True,
         rough=True)
    case("F.max_pool1d_with_indices", real(3, 7), 3, 2, 1, positions=(1,), several=True,
         rough=True)
    case("F.max_pool2d_with_indices", real(1, 2, 5, 6), 2, positions=(1,), several=True,
         rough=True)
    case("F.max_pool2d_with_indices", real(2, 5, 5), 3, 2, 1, positions=(1,), several=True,
         rough=True)
    case("F.max_pool2d_with_indices", real(5), 2)

    def rms_norm(x, shape, weight=None, eps=None):
        """PyTorch has it since 2.4."""
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        dims = tuple(range(-len(shape), 0))
        y = x * torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + eps)
        return y if weight is None else y * weight

    case("F.rms_norm", real(2, 4), [4], ref=rms_norm)
    case("F.rms_norm", real(2, 3, 4), [3, 4], real(3, 4), ref=rms_norm)
    case("F.rms_norm", real(2, 4), [4], real(4), 0.25, ref=rms_norm)


def forms():
    """For the in-place and out= forms, which rest_spec.lua tries on every call of these files."""
    case("F.hardsigmoid", Const(real(5)))  # its gradient has float32's 1/6 in PyTorch
    for name in ("celu", "elu", "hardswish", "hardtanh", "leaky_relu", "mish",
                 "relu6", "selu", "silu"):
        case("F." + name, real(5) + .0625)
    case("F.threshold", real(5) + .0625, 0.5, 2.0)
    case("addmm", real(2, 2), real(2, 3), real(3, 2), beta=.5)
    case("addmv", real(2), real(2, 3), real(3), alpha=2)
    case("baddbmm", real(1, 2, 2), real(1, 2, 3), real(1, 3, 2))
    case("bmm", real(1, 2, 3), real(1, 3, 2))
    case("dot", real(3), real(3))
    case("matmul", real(2, 3), real(3, 2))
    case("mm", real(2, 3), real(3, 2))
    case("mv", real(2, 3), real(3))
    case("outer", real(2), real(3))
    case("inner", real(2, 3), real(3))
    case("tensordot", real(2, 3), real(3, 2), 1)
    case("einsum", "ij,jk->ki", [real(2, 3), real(3, 2)])
    case("softmax", real(2, 3), Dim(1))
    case("log_softmax", real(2, 3), Dim(0))
    case("stack", [real(2, 3), real(2, 3)])
    case("cat", [real(2, 3), real(1, 3)])
    none, one, three = torch.tensor(0), torch.tensor([0]), torch.tensor([0, 1, 2])
    for index, src in ((three, real()), (one, real()), (none, real(2)), (none, real(1))):
        case("scatter_add", real(3), Dim(0), Ids(index), src, grad=src.dim() == 0)
    for x, index in ((real(), one), (real(3), none), (real(), torch.tensor([0, 0]))):
        case("gather", x, Dim(0), Ids(index), grad=False)
    for k in (0, 1, 2):
        case("topk", real(), k, positions=(1,))


def unraveled(indices, shape):
    """torch.unravel_index, which came with 2.2."""
    places = []
    for size in reversed(shape):
        places.insert(0, indices % size)
        indices = torch.div(indices, size, rounding_mode="floor")
    return tuple(places)


def neighbours():
    inf, nan = float("inf"), float("nan")
    a = [1.0, -inf, 0.0, 256.0, -1.0, 0.0, nan, 1.0, 2.5, inf, -0.0]
    b = [2.0, 0.0, 1.0, 0.0, -5.0, -1.0, 1.0, nan, 2.5, 0.0, 0.0]
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        case("nextafter", Const(torch.tensor(a, dtype=dtype)), Const(torch.tensor(b, dtype=dtype)))
        case("nextafter", Const(torch.tensor([[1.0], [-2.0]], dtype=dtype)),
             Const(torch.tensor([0.0, 3.0, 7.0], dtype=dtype)))


def nothing_by_zero():
    for dtype in (torch.int64, torch.uint8):
        for name in ("remainder", "fmod", "floor_divide"):
            case(name, torch.zeros(0, 2, dtype=dtype), 0)
            case(name, torch.zeros(0, 2, dtype=dtype), torch.zeros(2, dtype=dtype))
            case(name, torch.zeros(1, 2, dtype=dtype), 0)
        case("div", torch.zeros(0, 2, dtype=dtype), 0, rounding_mode="floor")
    case("clamp", torch.tensor([3, -7], dtype=torch.int8), -100, 5)
    case("where", torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.int8), 300)
    case("where", torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.uint8), -1)


def seen():
    x = real(2, 4, dtype=torch.float32)
    for dtype in (torch.int32, torch.uint8, torch.float16, torch.float64, torch.int64,
                  torch.complex64):
        case(".view", Const(x), dtype, dense=True)
    case(".view", Const(x.to(torch.float16)), torch.float32, dense=True)
    case(".view", real(2, 2, dtype=torch.complex64), torch.float32, grad=False, dense=True)
    case(".view", torch.tensor([1, -1], dtype=torch.int8), torch.uint8)
    case(".view", torch.tensor([0, 0, 128, 63, 0, 0, 0, 192], dtype=torch.uint8), torch.float32)
    case(".view", torch.tensor([True, False]), torch.uint8)
    case(".view", torch.tensor([True, False]), torch.bool)
    case(".view", Const(real(dtype=torch.float32)), torch.int32)
    case(".view", Const(real(dtype=torch.float32)), torch.int64)
    case(".view", Const(real(3, dtype=torch.float32)), torch.float64)
    for size in ((3,), (2, 1), (1, 3), (1, 1), (1,), (2, 3), (), (2, 2), (1, 2, 3)):
        case(".sum_to_size", real(2, 3), size)
    case(".sum_to_size", real(2, 1, 3), (3,))
    case("sum", real(2, 3), axis=[Dim(1)], keepdims=True)
    case("argmax", real(2, 3), axis=Dim(0), positions=True)
    for shape in ((2, 3), (6,), (3, 1, 2)):
        case("unravel_index", Ids(0, 4, 5), shape, ref=unraveled, positions=(0, 1, 2))
        case("unravel_index", Ids(torch.tensor([[3], [1]])), shape, ref=unraveled,
             positions=(0, 1, 2))
    case("unravel_index", Ids(torch.tensor(4)), (2, 3), ref=unraveled, positions=(0, 1))
    case("unravel_index", Ids(torch.zeros(0, dtype=torch.int64)), (2, 3), ref=unraveled,
         positions=(0, 1))
    case("unravel_index", Ids(0), (0, 2), ref=unraveled)


def copied():  # 1.13 has no gradient of the first, and a wrong one of the second
    for d, s, n in [(0, 0, 2), (1, 1, 2), (-1, -2, 1), (1, 1, 3)]:
        case("narrow_copy", Const(real(2, 3)), Dim(d), Dim(s), n)
    for n, s, o in [((2, 2), (1, 2), 1), ((3,), (2,), 0), ((1, 2), (3, 1), 3), ((2, 2), (1, 2), 4)]:
        case("as_strided_scatter", Const(real(2, 3)), Const(real(*n)), n, s, o, dense=True)
    case("as_strided_scatter", Const(real(2, 3)), Const(real(3)), (3,), (2,), dense=True)
    case("split_with_sizes", real(5, 2), [2, 0, 3])
    case("split_with_sizes", real(2, 3), [1, 2], Dim(-1))
    for fn in (".cfloat", ".cdouble", "resolve_neg"):
        case(fn, Const(real(3)))
        case(fn, torch.tensor([1, -2]))
    case("resolve_neg", real(2))


def bools():  # taken by what is about integers only beside some
    b, i = torch.tensor([True, False]), torch.tensor([1, 2])
    for fn in ("gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift"):
        case(fn, b, b)
        case(fn, b, i)
    case("clamp", b, b, b)
    case("clamp", b, 0, 1)
    case("clamp_max", b, b)


def corners():
    for fn in ("matrix_power", "linalg.matrix_power"):
        case(fn, real(2, 3, 3), 0)
        case(fn, torch.tensor([[1, 2], [3, 4]]), 0)
    for dtype in (torch.int32, torch.int16, torch.uint8, torch.float16):
        for fn in ("median", "nanmedian"):
            case(fn, torch.zeros(0, 2, dtype=dtype))
    for dtype in (torch.float64, torch.float32, torch.float16, torch.int64, torch.complex64):
        case(".float_power_", torch.tensor([1, 2], dtype=dtype), 2, grad=False)
    case(".float_power_", torch.tensor([1j, 2], dtype=torch.complex128), 2, grad=False)
    ends = torch.tensor([2 ** 63 - 1, 2 ** 63 - 1, 5, -2 ** 63 + 1])
    case("isclose", ends, ends.flip(0), rtol=0.1)
    for d in (torch.int64, torch.bool, torch.complex64):
        case("nanmean", torch.ones(2).to(d))
    for factors in ({"beta": 0.5}, {"alpha": 0.5}, {"beta": 2, "alpha": 3}):
        case("addr", Ids(1, 2).t.expand(2, 2), Ids(1, 2).t, Ids(3, 4).t, **factors)
    for n in (1, 2, 3):
        for shape in ((2, 0), (0,), (0, 2)):
            x = torch.zeros(*shape, *(4,) * n)
            case("F.adaptive_avg_pool%dd" % n, x, 2, grad=False)
            case("F.adaptive_max_pool%dd" % n, x, 2, grad=False)
            if len(shape) == 2:
                for mode in ("reflect", "replicate", "circular"):
                    case("F.pad", x, (1, 1) * n, mode, grad=False)
            case("F.pad", x, (1, 1) * n, "replicate", grad=False)
    whole = torch.tensor([1, 2])
    for x in (torch.ones(2, 2), torch.tensor(2.0, dtype=torch.float64)):
        for factors in ({"beta": 1.5}, {"alpha": 0.5}):
            case("addr", x, whole, whole, grad=False, **factors)
    case("addr", torch.tensor(1.0), whole, whole.to(torch.bfloat16), grad=False)
    for singular in (torch.zeros(2, 2), torch.stack([torch.eye(3), torch.ones(3, 3).tril(-1)])):
        case("cholesky_inverse", singular, grad=False)
    case("addbmm", torch.ones(2, 2), whole.expand(1, 2, 2), whole.expand(1, 2, 2), grad=False)
    for name in ("F.dropout2d", "F.dropout3d"):
        for shape in ((), (5,), (2, 3), (2, 3, 2), (2, 2, 1, 2, 1, 2)):
            for p in (0.0, 0.4, 1.0):
                case(name, torch.ones(shape), p, seed=1)
            case(name, torch.ones(shape), 0.4, False, grad=False)
    case("F.celu", real(6) - 0.0625, -0.5)
    for size in (1e30, 1e-30, 0.0, 3.0):
        x = torch.full((2, 3), size)
        for eps in (1e-8, 0.5, 0.0, -1.0):
            case("F.cosine_similarity", x, torch.tensor([1.0, 0.0, 2.0]), eps=eps, rough=True)
    lost = torch.tensor([[float("nan"), 1.0], [float("inf"), 1.0], [3.0, 4.0]])
    case("F.embedding", Ids(0, 1, 2), Const(lost), max_norm=0.5)
    for dtype in (torch.uint8, torch.int8):
        small = torch.tensor([1, 255, 200, 2, 3]).to(dtype)
        for name in ("remainder", "fmod", "floor_divide", ".remainder_"):
            for number in (-3, 300, -1, 256):
                case(name, small, number)
        case("remainder", -3, small)
    case("logit", torch.tensor([2.0, -0.5, 0.25]), -1.0, rough=True)
    case("tensordot", real(2, 1), real(3, 2), 1)
    case("tensordot", real(2, 3, 4), real(1, 4, 2), ([Dim(1), Dim(2)], [Dim(0), Dim(1)]))
    case("tensordot", real(2, 3, 1), real(2, 3, 4), ([Dim(2), Dim(0)], [Dim(1), Dim(0)]))
    for ends in ((-1.5, 1), (-1.5, 3, 1.5), (5.75, 1.25, -1.5), (0, 3, 0.5)):
        case("range", *ends, dtype=torch.int32)
    for more in ({}, {"weight": Const(torch.tensor([0.5, 3.0], dtype=torch.float64))}):
        case("F.binary_cross_entropy_with_logits", real(2), Const(torch.tensor([1.0, 0.25])),
             rough=True, **more)
    for n in (1, 2, 3):
        for shape in ((2, 3, 0), (0, 3, 2), (2, 0, 2), (3, 0)):
            x = torch.zeros(*shape, *(4,) * (n - 1))
            case("F.adaptive_avg_pool%dd" % n, x, 1, rough=True)
            case("F.adaptive_avg_pool%dd" % n, x, 3, grad=False)


def of_other_dtypes():
    """What norms take beside their input (PyTorch 1.13 has no half precision on the CPU), what
    totals of nothing are, targets without dimensions, batches without instances."""
    single, double = torch.float32, torch.float64
    for dtype, other in ((double, single), (single, double), (torch.bfloat16, double)):
        x, ones = real(2, 4, 3, dtype=dtype), torch.ones(4, dtype=other)
        case("F.batch_norm", x, Const(ones), Const(ones), training=False)
        case("F.batch_norm", x, None, None, ones, training=True)
        case("F.batch_norm", x, None, None, None, ones, training=True)
        case("F.instance_norm", x, None, None, ones)
        case("F.layer_norm", x, (3,), torch.ones(3, dtype=other))
        case("F.layer_norm", x, (3,), None, torch.ones(3, dtype=other))
        case("F.group_norm", x, 2, ones)
        case("F.group_norm", x, 2, None, ones)
    x = real(4, 3, 5, dtype=torch.bfloat16)
    case("F.batch_norm", x, Const(torch.zeros(3)), Const(torch.ones(3)), training=False, grad=False)
    for dtype in (torch.int32, torch.int64, torch.float16, torch.complex64):
        for shape in ((0,), (2, 0), (1,)):
            case("trapezoid", torch.ones(shape, dtype=dtype), grad=False)
            case("cumulative_trapezoid", torch.ones(shape, dtype=dtype), grad=False)
    case("trapezoid", torch.ones(0, dtype=torch.int32), torch.ones(0, dtype=torch.int32))
    for reduction in ("none", "mean", "sum"):
        for shape in ((3,), (1, 3)):
            for ids in (Ids(torch.tensor(1)), Ids(1)):
                case("F.multi_margin_loss", real(*shape), ids, reduction=reduction, rough=True)
        for shape in ((), (1,), (3,), (1, 1)):
            for ids in (Ids(torch.tensor(0)), Ids(0)):
                case("F.multilabel_margin_loss", real(*shape), ids, reduction=reduction, rough=True)
    for shape in ((0, 3, 4), (0, 3, 0), (2, 3, 0), (0, 3, 1), (2, 0, 1), (2, 0, 2)):
        case("F.instance_norm", torch.zeros(shape), grad=False)


for part in (converted, parts, compared, products, layers, forms, seen, nothing_by_zero,
             neighbours, copied, bools, corners, of_other_dtypes):
    part()
write("rest", __file__)
