"""Records what torch.nn.init fills tensors with after manual_seed(3), into data/init.lua.
Run: python3 tests/parity/gen_init.py"""
import torch
from torch.nn import init

from record import save


# Lua's call on the tensor t, Python's, shape.
CASES = [
    ("uniform_(t)", lambda t: init.uniform_(t), (3, 4)),
    ("uniform_(t, -2, 3)", lambda t: init.uniform_(t, -2, 3), (5,)),
    ("normal_(t)", lambda t: init.normal_(t), (3, 7)),
    ("normal_(t, {mean = 1, std = 0.5})", lambda t: init.normal_(t, mean=1, std=0.5), (4,)),
    ("trunc_normal_(t)", lambda t: init.trunc_normal_(t), (4, 5)),
    ("trunc_normal_(t, 0.5, 2, -1, 1.5)", lambda t: init.trunc_normal_(t, 0.5, 2, -1, 1.5), (4, 5)),
    ("constant_(t, 0.3)", lambda t: init.constant_(t, 0.3), (2, 2)),
    ("ones_(t)", lambda t: init.ones_(t), (2, 2)),
    ("zeros_(t)", lambda t: init.zeros_(t), (2, 2)),
    ("eye_(t)", lambda t: init.eye_(t), (3, 4)),
    ("dirac_(t)", lambda t: init.dirac_(t), (4, 3, 3)),
    ("dirac_(t, 2)", lambda t: init.dirac_(t, 2), (4, 2, 3, 2)),
    ("dirac_(t)", lambda t: init.dirac_(t), (2, 2, 3, 3, 3)),
    ("xavier_uniform_(t)", lambda t: init.xavier_uniform_(t), (3, 5)),
    ("xavier_uniform_(t, {gain = 2})", lambda t: init.xavier_uniform_(t, gain=2), (3, 2, 2, 2)),
    ("xavier_normal_(t)", lambda t: init.xavier_normal_(t), (6, 5)),
    ("kaiming_uniform_(t)", lambda t: init.kaiming_uniform_(t), (3, 5)),
    ("kaiming_uniform_(t, {a = 0.2, mode = 'fan_out'})",
     lambda t: init.kaiming_uniform_(t, a=0.2, mode="fan_out"), (3, 2, 3)),
    ("kaiming_normal_(t, {nonlinearity = 'relu'})",
     lambda t: init.kaiming_normal_(t, nonlinearity="relu"), (6, 5)),
    ("kaiming_normal_(t, {mode = 'fan_out', nonlinearity = 'tanh'})",
     lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"), (2, 2, 3, 3)),
    ("orthogonal_(t)", lambda t: init.orthogonal_(t), (4, 4)),
    ("orthogonal_(t, 2)", lambda t: init.orthogonal_(t, 2), (3, 5)),
    ("orthogonal_(t)", lambda t: init.orthogonal_(t), (5, 3, 1)),
    ("sparse_(t, 0.4)", lambda t: init.sparse_(t, 0.4), (5, 4)),
    ("sparse_(t, {sparsity = 0.5, std = 2})",
     lambda t: init.sparse_(t, sparsity=0.5, std=2), (4, 5)),
]
GAINS = [("linear",), ("conv2d",), ("sigmoid",), ("tanh",), ("relu",), ("leaky_relu",),
         ("leaky_relu", 0.3), ("selu",)]


def main():
    lines = ["  fills = {"]
    for lua, fill, shape in CASES:
        torch.manual_seed(3)
        t = torch.full(shape, 9.0)
        fill(t)
        data = ", ".join(f"{v:.9g}" for v in t.flatten().tolist())
        lines.append(f'    {{lua = "{lua}", expected = {{dtype = "float32", '
                     f'shape = {{{", ".join(map(str, shape))}}}, data = {{{data}}}}}}},')
    lines += ["  },", "  gains = {"]
    for gain in GAINS:
        arguments = ", ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in gain)
        lines.append(f"    {{{arguments}, value = {init.calculate_gain(*gain):.17g}}},")
    save(__file__, "\n".join(lines + ["  },"]))


main()
