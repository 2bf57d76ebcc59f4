"""Records layers that are a function each: activations, dropout, pooling, losses, upsampling; as
gen_layers.py does, into data/layers_simple.lua. Run: python3 tests/parity/gen_layers_simple.py"""
import pathlib

import torch
from torch import nn

from gen_layers import write

OUT = pathlib.Path(__file__).parent / "data" / "layers_simple.lua"
CASES = []


def case(lua, make, *shapes, text=None):
    CASES.append(("nn." + lua, make, shapes, text))


def activations():
    for name in ["Hardsigmoid", "Hardswish", "LogSigmoid", "Softsign", "Tanhshrink", "ReLU6",
                 "SELU", "SiLU", "Mish", "ELU", "CELU", "LeakyReLU", "Hardtanh", "Hardshrink",
                 "Softshrink", "PReLU"]:
        case(name + "()", getattr(nn, name), (2, 3))
    case("Softplus()", nn.Softplus, (2, 3), text="Softplus(beta=1.0, threshold=20.0)")
    case("Softplus{beta = 2, threshold = 1}", lambda: nn.Softplus(2, 1), (2, 3))
    for name in ["ReLU6", "SELU", "SiLU", "Mish", "ELU", "CELU", "LeakyReLU", "Hardtanh", "RReLU",
                 "ReLU", "Hardsigmoid", "Hardswish"]:
        case("Sequential(nn.Linear(3, 3), nn.%s{inplace = true})" % name,
             lambda name=name: nn.Sequential(nn.Linear(3, 3), getattr(nn, name)(inplace=True)), (2, 3))
    case("ELU(0.5)", lambda: nn.ELU(0.5), (2, 3))
    case("CELU(2)", lambda: nn.CELU(2), (2, 3))
    case("Hardtanh(-2, 0.5)", lambda: nn.Hardtanh(-2, 0.5), (2, 3))
    case("Hardtanh{min_value = -2, max_value = 0.5}", lambda: nn.Hardtanh(-2, 0.5), (2, 3))
    case("Hardshrink(1)", lambda: nn.Hardshrink(1), (2, 3))
    case("Softshrink(0.25)", lambda: nn.Softshrink(0.25), (2, 3))
    case("Threshold(0.1, 20)", lambda: nn.Threshold(0.1, 20), (2, 3))
    case("PReLU(3, 0.5)", lambda: nn.PReLU(3, 0.5), (2, 3, 2))
    case("PReLU{dtype = lucerna.float64}", lambda: nn.PReLU(dtype=torch.float64), (5,))
    case("RReLU()", nn.RReLU, (3, 4))
    case("RReLU(0.1, 0.9)", lambda: nn.RReLU(0.1, 0.9), (3, 4))
    case("RReLU():eval()", lambda: nn.RReLU().eval(), (3, 4))
    case("GLU()", nn.GLU, (2, 4))
    case("GLU(1)", lambda: nn.GLU(0), (2, 4), text="GLU(dim=1)")
    case("Softmin(2)", lambda: nn.Softmin(1), (2, 3), text="Softmin(dim=2)")
    case("Softmin()", nn.Softmin, (2, 3))
    case("Softmax2d()", nn.Softmax2d, (2, 3, 2, 2))
    case("Softmax2d()", nn.Softmax2d, (3, 2, 2))
    case("SiLU()", nn.SiLU, (0, 3))


def dropout():
    for name, shape in [("Dropout1d", (3, 4, 2)), ("Dropout2d", (2, 3, 2, 2)),
                        ("Dropout3d", (2, 3, 1, 2, 2)), ("AlphaDropout", (4, 5)),
                        ("FeatureAlphaDropout", (3, 4, 2))]:
        case(name + "()", getattr(nn, name), shape)
        case(name + "{p = 0.2, inplace = true}:eval()",
             lambda name=name: getattr(nn, name)(p=0.2, inplace=True).eval(), shape)
    case("Dropout1d(0.3)", lambda: nn.Dropout1d(0.3), (5, 2))
    case("Dropout3d(0.3)", lambda: nn.Dropout3d(0.3), (5, 1, 2, 2))
    case("AlphaDropout(0.2)", lambda: nn.AlphaDropout(0.2), (3, 5))
    case("FeatureAlphaDropout(1)", lambda: nn.FeatureAlphaDropout(1), (3, 5))


if __name__ == "__main__":
    activations()
    dropout()
    write(CASES, OUT)
