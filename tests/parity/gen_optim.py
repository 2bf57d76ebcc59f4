"""Records 20-step trajectories of torch.optim's SGD, Adam and AdamW with each option, and StepLR's
rates, into data/optim.lua. Run: python3 tests/parity/gen_optim.py"""
import pathlib

import torch

OUT = pathlib.Path(__file__).parent / "data" / "optim.lua"
STEPS = 20

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-4}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("Adam", {"lr": 0.05, "maximize": True, "weight_decay": 0.01, "amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "amsgrad": True}),
]


def lua(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else f"{value:.9g}"


def trajectory(kind, options, dtype):
    """The parameter after every step; gradients are sin(step + i) * 2 + p, as in the test."""
    p = torch.tensor([1.0, -2.0, 0.5], dtype=dtype, requires_grad=True)
    optimizer = getattr(torch.optim, kind)([p], **({"lr": 1e-3} | options))
    values = []
    for step in range(1, STEPS + 1):
        phase = torch.arange(3, dtype=torch.float64) + step
        p.grad = (torch.sin(phase) * 2).to(dtype) + p.detach()
        optimizer.step()
        values.append(p.tolist())
    return values


def main():
    rows = []
    for kind, options in CASES:
        for dtype in (torch.float32, torch.float64):
            rows.append({"kind": kind, "options": options, "dtype": str(dtype)[6:],
                         "values": trajectory(kind, options, dtype)})
    OUT.write_text("-- Made by gen_optim.py with PyTorch " + torch.__version__ + "\nreturn {\n"
                   + "".join("  " + lua(row) + ",\n" for row in rows) + "}\n")


main()
