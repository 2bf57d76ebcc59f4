#!/usr/bin/env python3
"""PyTorch's answers for arithmetic, functions of numbers, comparison:
tests/parity/data/pointwise.lua."""
import itertools
import math

import torch

from record import Const, NAMES, case as record_case, cases, real, write

inf, nan = math.inf, math.nan
DTYPES = list(NAMES)
BINARY = ["add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "maximum",
          "minimum", "eq", "ne", "lt", "le", "gt", "ge", "atan2", "xlogy", "copysign",
          "true_divide", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
          "bitwise_xor"]
UNARY = {  # name: (low, high) of its domain
    "abs": (-4, 4), "sign": (-4, 4), "neg": (-4, 4), "reciprocal": (.5, 4), "square": (-4, 4),
    "sqrt": (.25, 9), "rsqrt": (.25, 9), "exp": (-4, 4), "exp2": (-4, 4), "expm1": (-2, 2),
    "log": (.25, 9), "log2": (.25, 9), "log10": (.25, 9), "log1p": (-.5, 4), "ceil": (-4, 4),
    "floor": (-4, 4), "round": (-4, 4), "trunc": (-4, 4), "frac": (-4, 4), "sin": (-4, 4),
    "cos": (-4, 4), "tan": (-1, 1), "asin": (-.9, .9), "acos": (-.9, .9), "atan": (-4, 4),
    "sinh": (-2, 2), "cosh": (-2, 2), "tanh": (-2, 2), "asinh": (-4, 4), "acosh": (1.5, 4),
    "atanh": (-.9, .9), "erf": (-2, 2), "erfc": (-2, 2), "erfinv": (-.9, .9), "lgamma": (.5, 6),
    "digamma": (.5, 6), "sigmoid": (-4, 4), "relu": (-4, 4), "logit": (.1, .9),
    "nan_to_num": (-4, 4)}
SPECIAL = torch.tensor([0.0, -0.0, 1, -1, .5, -.5, 2.5, -2.5, 100, -100, 1e-3, 1e30, -1e30, 1e-40,
                        inf, -inf, nan])


def case(*args, **kw):
    """What PyTorch 1.13 merely lacks for half precision is no error to record."""
    record_case(*args, **kw)
    if "not implemented for 'Half'" in cases[-1] or "not implemented for 'BFloat16'" in cases[-1]:
        cases.pop()


def inside(low, high, n, dtype):
    g = torch.Generator().manual_seed(n)
    return (low + (high - low) * torch.rand(n, generator=g, dtype=torch.float64)).to(dtype)


def whole(dtype, *values):
    return torch.tensor(values).to(dtype)


def unary():
    for name, (low, high) in UNARY.items():
        case(name, inside(low, high, 6, torch.float64).reshape(2, 3))
        case(name, inside(low, high, 5, torch.float32))
        case(name, SPECIAL, grad=False)
        case(name, whole(torch.int64, 1, 2, 3))
        case(name, whole(torch.bool, 1, 0))
        case(name, inside(low, high, 4, torch.float16).reshape(2, 2), grad=False)
        case(name, inside(low, high, 3, torch.bfloat16), grad=False)
        case(name, torch.zeros(0, 3, dtype=torch.float64))
        case(name, torch.tensor(.75 if low > -1 or high < 1 else 2.25, dtype=torch.float64))
        if hasattr(torch.Tensor, name + "_") and name not in ("acosh", "asinh", "atanh"):
            case("." + name + "_", inside(low, high, 4, torch.float64))
    for name in ["logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"]:
        case(name, SPECIAL[:-1] if name == "signbit" else SPECIAL, grad=False)
        case(name, whole(torch.int32, 0, -2, 3))
        case(name, whole(torch.bool, 0, 1))
    for dtype in (torch.int64, torch.uint8, torch.bool, torch.float32):
        case("bitwise_not", whole(dtype, 0, 5, 255))
    for d in (0, 1, 2, -1):
        case("round", torch.tensor([2.345, -1255.5, .5, 1.5, 2.5], dtype=torch.float64), decimals=d,
             rough=True)
    case("logit", torch.tensor([0.0, .05, .5, .97, 1], dtype=torch.float64), 1e-1,
         rough=True)
    case("nan_to_num", SPECIAL.double(), 2.5, 7.0, -7.0, rough=True)
    for x in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        case("nan_to_num", torch.tensor([inf, -inf, nan]).to(x), grad=False)
    kink = torch.tensor([-1.0, 0, 1], dtype=torch.float64)
    for name in ("abs", "sign", "relu", "sqrt", "square"):
        case(name, kink.abs() if name == "sqrt" else kink, name="at the kink", rough=True)


def operand(dtype, kind):
    values = [3, 1, 2] if kind == "b" else [2, 0, 5] if dtype == torch.bool else [7, -5, 4]
    if kind == "b" and dtype in (torch.int8, torch.int32, torch.float32):
        values = [-3, 2, 4]
    return torch.tensor(values).to(dtype)


def binary():
    for name in BINARY:
        pairs = itertools.product(DTYPES, DTYPES) if name == "add" else zip(
            DTYPES, DTYPES[3:] + DTYPES[:3])
        for a, b in pairs:
            case(name, operand(a, "a"), operand(b, "b"), grad=False)
        for dtype in (DTYPES if name in ("add", "sub", "div", "pow") else DTYPES[5:] + DTYPES[:1]):
            case(name, operand(dtype, "a"), operand(dtype, "b"), grad=False)
        x, y = inside(.5, 3, 6, torch.float64).reshape(2, 3), inside(.6, 3, 3, torch.float64)
        if name == "floor_divide":
            x, y = Const(x), Const(y)
            case(name, x, y)
            continue
        case(name, x, y)
        case(name, y.reshape(3, 1), x.reshape(2, 1, 3))
        case(name, x, torch.tensor(1.25, dtype=torch.float64))
        case(name, torch.zeros(0, 3), torch.ones(3))
        case(name, torch.ones(2, 3), torch.ones(2))
        other = SPECIAL[3::2] if name != "copysign" else SPECIAL[:-1:3]
        case(name, SPECIAL.reshape(-1, 1)[::4], other, grad=False)
        case(name, torch.tensor(2), torch.tensor([1.5]), grad=False)
        case(name, torch.tensor(2.5, dtype=torch.float64), torch.tensor([3.0]), grad=False)


def numbers():
    for name in ["add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "eq",
                 "lt"]:
        for dtype, s in itertools.product(DTYPES if name in ("add", "div") else DTYPES[4::2],
                                          (2, 1.5, True)):
            case(name, operand(dtype, "a"), s, grad=False)
        for s in (2, -1.5, .5, 0):
            case(name, inside(.5, 3, 4, torch.float64), s, grad=name != "floor_divide",
                 rough=s == 0)
        if name == "floor_divide":
            continue
        case("." + name + "_", inside(.5, 3, 4, torch.float64), 2)
        case("." + name + "_", torch.tensor([1, 2]), 1.5)
        case("." + name + "_", inside(.5, 3, 4, torch.float64), inside(1, 2, 4, torch.float64))
        case("." + name + "_", torch.ones(3), torch.ones(2, 3))
    for name in ["pow", "floor_divide", "remainder", "fmod"]:
        case(name, torch.tensor([4, -4, 3]), -2)
        case(name, torch.tensor([4, -4, 3]), 0)
        case(name, torch.tensor([4, -4, 3]), torch.tensor([1, 0, 2]))
    for s in (0, 1, 2, 3, -1, -2, .5, -.5, 2.5):
        case("pow", torch.tensor([0.0, 1, 2.5], dtype=torch.float64), s, rough=True)
    case("pow", torch.tensor([0.0, 1, 2.5], dtype=torch.float64),
         torch.tensor([0.0, 2, 1.5], dtype=torch.float64), rough=True)
    case("pow", 2, inside(-1, 3, 3, torch.float64))
    case("pow", 0, torch.tensor([0.0, 1, 2], dtype=torch.float64), rough=True)
    case("pow", torch.tensor([0.0]), -1.0, grad=False)
    case("rsub", inside(-1, 3, 3, torch.float64), 2)
    case("rsub", inside(-1, 3, 3, torch.float64), inside(-1, 3, 3, torch.float64), alpha=3)
    case("xlogy", 2, inside(1, 3, 3, torch.float64))
    case("xlogy", torch.tensor([0, 0.0, 1]), torch.tensor([0, nan, 2.0]), grad=False)
    for a in (2, -1.5, True):
        case("add", inside(-1, 3, 3, torch.float64), inside(0, 1, 3, torch.float64), alpha=a)
        case("sub", inside(-1, 3, 3, torch.float64), inside(0, 1, 3, torch.float64), alpha=a)
        case("add", torch.tensor([1, 2]), torch.tensor([3, 4]), alpha=a)
    for mode in ("trunc", "floor", None, "up"):
        for x in (torch.tensor([7.0, -7, 5.5]), torch.tensor([7, -7, 5])):
            case("div", x, 2, rounding_mode=mode, grad=False)
            case("div", x, torch.tensor([-2, 3, 4]), rounding_mode=mode, grad=False)


def blends():
    x, y, z = (inside(-2, 2, 6, torch.float64).reshape(2, 3), inside(-2, 2, 3, torch.float64),
               inside(.5, 3, 2, torch.float64).reshape(2, 1))
    for low, high in [(-1, 1), (-1, None), (None, .5), (1.5, -1.5), (None, None)]:
        case("clamp", x, low, high)
        case("clamp", torch.tensor([-3, 0, 4]), low, high)
    case("clamp", x, y, z)
    case("clamp", x, None, y)
    case("clamp", torch.tensor([-1.0, 0, 1, nan], dtype=torch.float64), -1, 1, rough=True)
    case("clamp", torch.tensor([1.0, 5]), torch.tensor([2.0, nan]), grad=False)
    case("clamp_min", x, 0)
    case("clamp_min", x, y)
    case("clamp_max", x, .25)
    case("clamp_max", x, y)
    case(".clamp_", x, -1, 1)
    case("lerp", x, y, .25)
    case("lerp", x, y, .75)
    case("lerp", x, y, z)
    case("lerp", x, y.float(), .5, grad=False)
    case("lerp", torch.tensor([1, 2]), torch.tensor([3, 4]), .5)
    for name in ("addcmul", "addcdiv"):
        case(name, x, y, z)
        case(name, x, y, z, value=-2.5)
        case("." + name + "_", x, y, z, value=.5)
        case(name, torch.tensor([1, 2]), torch.tensor([3, 4]), torch.tensor([1, 2]), value=2)
        case(name, torch.tensor([1.0, 2]), torch.tensor([3, 4]), torch.tensor([1, 2]), grad=False)
    for name in ("hypot", "logaddexp", "logaddexp2", "fmax", "fmin", "maximum", "minimum", "atan2",
                 "copysign"):
        case(name, x, y)
        last = SPECIAL[:-1:3] if name == "copysign" else SPECIAL[4::3]
        case(name, SPECIAL.reshape(-1, 1)[::4], last, grad=False)
        case(name, torch.tensor([1, 2]), torch.tensor([2, 1]))
    for name in ("maximum", "minimum"):
        case(name, torch.tensor([1.0, 2, 3], dtype=torch.float64),
             torch.tensor([1.0, 3, 2], dtype=torch.float64), name="ties", rough=True)
    case("heaviside", torch.tensor([-1.0, 0, 2, nan]), torch.tensor(.5), grad=False)
    case("heaviside", torch.tensor([1]), torch.tensor([.5]), grad=False)
    for n in (0, 1, 2, 4):
        case("polygamma", n, inside(.5, 5, 3, torch.float64))
    case("nextafter", torch.tensor([1.0, 0]), torch.tensor([2.0, -1]), grad=False)
    case("gcd", torch.tensor([12, -18, 0]), torch.tensor([18, 24, 5]))
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        case(name, torch.tensor([1, -8, 5], dtype=torch.int32), 2)
        case(name, torch.tensor([1, 200, 5], dtype=torch.uint8), torch.tensor([1, 2, 3]))


def choices():
    c = torch.tensor([[True, False, True], [False, False, True]])
    x, y = real(2, 3), real(3)
    case("where", c, x, y)
    case("where", c[0], y, 2.5)
    case("where", c[0], 1, y)
    case("where", c, torch.tensor(1), real(3, dtype=torch.float32), grad=False)
    case("where", torch.tensor([1, 0]), real(2), real(2))
    case("where", c, x, real(4))
    case(".where", x, c, y)
    same, other = torch.tensor([1.0, inf, nan, -0.0]), torch.tensor([1.0 + 1e-6, inf, nan, 0.0])
    for kw in ({}, {"equal_nan": True}, {"rtol": 1e-7}, {"atol": 1.0, "rtol": 0.0}):
        case("isclose", same, other, grad=False, **kw)
    case("isclose", torch.tensor([10, 5]), torch.tensor([10, 6]), rtol=.2, grad=False)
    case("isclose", torch.tensor([10]), torch.tensor([10.0]), grad=False)
    for alias in ("subtract", "multiply", "divide", "negative", "absolute", "fix", "arcsin", "clip",
                  "greater", "not_equal"):
        args = [inside(.1, .9, 3, torch.float64)]
        args += [.5] if alias not in ("negative", "absolute", "fix", "arcsin") else []
        case(alias, *args)


unary()
binary()
numbers()
blends()
choices()
write("pointwise", __file__)
