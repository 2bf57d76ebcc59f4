#!/usr/bin/env python3
"""Records nn.functional: functions that gen_nn.py has not, with their options, edge shapes and
errors. Writes data/functional_<family>.lua; tests/lua/functional_spec.lua runs them. Run:
python3 tests/parity/gen_functional.py [family…]"""
import sys

import torch
import torch.nn.functional as F

from record import Const, Dim, Ids, case, real, write

inf, nan = float("inf"), float("nan")


def t(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


def smooth(*shape):
    """Away from the kinks of activations and from ties."""
    return real(*shape) * 0.93 + 0.0712


def activation():
    for fn, more in [("relu", []), ("relu6", []), ("elu", [0.5]), ("selu", []), ("celu", [2.0]),
                     ("leaky_relu", [0.2]), ("silu", []), ("mish", []), ("hardtanh", [-0.5, 0.75]),
                     ("hardsigmoid", []), ("hardswish", []), ("threshold", [0.3, 7.0]),
                     ("rrelu", []), ("rrelu", [0.25, 0.5])]:
        case("F." + fn, smooth(2, 3), *more, grad=fn != "hardsigmoid")  # PyTorch's is rough
        case("F." + fn, smooth(0, 3), *more, name="empty")
    for fn, more in [("relu_", []), ("elu_", [0.5]), ("selu_", []), ("celu_", [2.0]),
                     ("leaky_relu_", [0.2]), ("hardtanh_", [-0.5, 0.75]), ("threshold_", [0.3, 7.0]),
                     ("rrelu_", [0.25, 0.5])]:
        case("F." + fn, smooth(2, 3), *more)
    case("F.rrelu_", smooth(2, 3), 0.25, 0.5, True, seed=3, name="training")
    case("F.rrelu", smooth(3, 4), training=True, seed=1, name="training", dense=True)
    case("F.rrelu", smooth(3, 4), 0.1, 0.9, True, seed=2, name="training, bounds", dense=True)
    case("F.rrelu", real(6).float(), training=True, seed=2, name="float32", dense=True)
    case("F.rrelu", smooth(3), 0.5, 0.25, name="bounds out of order")
    for kw in [{}, {"tau": 0.5}, {"dim": Dim(0)}]:
        case("F.gumbel_softmax", smooth(2, 3), seed=4, dense=True, **kw)
    case("F.gumbel_softmax", smooth(2, 3), 2.0, True, seed=5, name="hard", dense=True, rough=True)
    case("F.gumbel_softmax", smooth(2, 3), dim=Dim(2), name="no such dim")
    for fn in ["alpha_dropout", "feature_alpha_dropout"]:
        case("F." + fn, smooth(3, 4, 2), training=True, seed=6, dense=True)
        case("F." + fn, smooth(3, 4), 0.25, True, seed=7, dense=True, name="p")
        case("F." + fn, smooth(2, 3), 1.0, True, seed=7, dense=True, name="p = 1")
        case("F." + fn, smooth(2, 3), name="not training")
        case("F." + fn, smooth(0, 3), training=True, name="empty")
        case("F." + fn, smooth(2, 3), 1.5, True, name="p above 1")
    case("F.feature_alpha_dropout", smooth(3), training=True, name="one dimension")
    write("functional_activation", __file__)


FAMILIES = [activation]

for family in FAMILIES:
    if len(sys.argv) == 1 or family.__name__ in sys.argv[1:]:
        family()
