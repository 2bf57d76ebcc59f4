"""Records trajectories of the optimizers that are written on tensors into data/optim_tensors.lua:
LBFGS of PyTorch, and Adafactor and Muon after newer ones' formulas, which 1.13 does not have. In
Muon each operation's result is rounded to bfloat16, products being summed in float32; as the order
of a sum may turn a rounding, its rates are small.
Run: python3 tests/parity/gen_optim_tensors.py"""
import math

import torch

from gen_optim import STEPS, lua
from record import save

LBFGS = [
    ("float64", "rosenbrock", {"lr": 0.002, "max_iter": 4}),
    ("float64", "rosenbrock", {"line_search_fn": "strong_wolfe", "max_iter": 3}),
    ("float64", "rosenbrock", {"line_search_fn": "strong_wolfe", "max_iter": 6, "max_eval": 7,
                               "history_size": 2, "lr": 0.5}),
    ("float64", "bowl", {"max_iter": 2, "lr": 0.3, "history_size": 1}),
    ("float64", "bowl", {"max_iter": 30, "tolerance_change": 1e-2, "lr": 0.1}),
    ("float64", "bowl", {"max_iter": 30, "tolerance_grad": 0.5, "lr": 0.1}),
    ("float32", "bowl", {"max_iter": 2, "line_search_fn": "strong_wolfe"}),
]

MATRICES = [
    ("Adafactor", (3,), {}),
    ("Adafactor", (2, 3), {}),
    ("Adafactor", (2, 2, 3), {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 2.0}),
    ("Adafactor", (3, 2), {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Muon", (2, 3), {}),
    ("Muon", (4, 2), {"lr": 0.002, "weight_decay": 0.0, "momentum": 0.5, "nesterov": False}),
    ("Muon", (3, 3), {"lr": 0.005, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3}),
    ("Muon", (2, 2), {"lr": 0.005, "ns_coefficients": (2.0, -1.5, 0.5), "eps": 1.0}),
    ("Muon", (2, 3), {"lr": 0.005, "adjust_lr_fn": "spectral_unclamped"}),
]

LOSSES = {
    "rosenbrock": lambda p, q: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2 + (q[0] - p[1]) ** 2,
    "bowl": lambda p, q: (p - 1).pow(2).sum() * 3 + (p - 2).pow(4).sum() + (q + p[0]).pow(2).sum(),
}


def search(dtype, loss, options):
    p = torch.tensor([-1.2, 1.0], dtype=getattr(torch, dtype), requires_grad=True)
    q = torch.tensor([0.5], dtype=getattr(torch, dtype), requires_grad=True)
    optimizer = torch.optim.LBFGS([p, q], **options)

    def closure():
        optimizer.zero_grad()
        value = LOSSES[loss](p, q)
        value.backward()
        return value
    values = []
    for _ in range(10):
        found = optimizer.step(closure).item()
        values.append([*p.tolist(), *q.tolist(), found])
    state = optimizer.state[p]
    return {"dtype": dtype, "loss": loss, "options": options, "values": values,
            "n_iter": state["n_iter"], "func_evals": state["func_evals"],
            "keys": sorted(state)}


def adafactor(p, grad, state, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
              maximize=False):
    eps1, eps2 = eps
    eps1 = torch.finfo(p.dtype).eps if eps1 is None else eps1
    grad = -grad if maximize else grad
    state["step"] = state.get("step", 0) + 1
    one_minus_beta2 = state["step"] ** beta2_decay
    rho = min(lr, 1 / (state["step"] ** 0.5))
    alpha = max(eps2, p.norm(2).item() / (p.numel() ** 0.5)) * rho
    if weight_decay != 0:
        p.mul_(1 - lr * weight_decay)
    if grad.dim() > 1:
        rows = torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1))
        columns = torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2))
        row_var = state.setdefault("row_var", torch.zeros_like(rows)).lerp_(rows, one_minus_beta2)
        col_var = state.setdefault("col_var", torch.zeros_like(columns))
        col_var.lerp_(columns, one_minus_beta2)
        estimate = row_var @ col_var
        estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
    else:
        variance = state.setdefault("variance", torch.zeros_like(grad))
        estimate = variance.lerp_(grad * grad, one_minus_beta2).clone()
    update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    denom = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
    p.add_(update, alpha=-alpha / denom)


def rounded(t):
    return t.bfloat16().float()


def newton_schulz(m, coefficients, steps, eps):
    a, b, c = coefficients
    x = rounded(m.T if m.size(0) > m.size(1) else m)
    x = rounded(x / rounded(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = rounded(x @ x.T)
        update = rounded(torch.addmm(gram, gram, gram, beta=b, alpha=c))
        x = rounded(torch.addmm(x, update, x, beta=a))
    return x.T if m.size(0) > m.size(1) else x


def muon(p, grad, state, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
         ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
    buffer = state.setdefault("momentum_buffer", torch.zeros_like(grad)).lerp_(grad, 1 - momentum)
    update = newton_schulz(grad.lerp(buffer, momentum) if nesterov else buffer, ns_coefficients,
                           ns_steps, eps)
    rows, columns = p.shape
    ratio = math.sqrt(max(1, rows / columns))
    if adjust_lr_fn == "match_rms_adamw":
        ratio = 0.2 * math.sqrt(max(rows, columns))
    elif adjust_lr_fn == "spectral_unclamped":
        ratio = math.sqrt(rows / columns)
    p.mul_(1 - lr * weight_decay).add_(update, alpha=-lr * ratio)


def trajectory(kind, shape, options):
    """Parameters begin as cosines; gradients are sin(step + i) * 2 + p."""
    n = math.prod(shape)
    p = torch.cos(torch.arange(n, dtype=torch.float64)).float().view(shape)
    state, values = {}, []
    for step in range(1, STEPS + 1):
        phase = torch.arange(n, dtype=torch.float64) + step
        grad = (torch.sin(phase) * 2).float().view(shape) + p
        {"Adafactor": adafactor, "Muon": muon}[kind](p, grad, state, **options)
        values.append(p.flatten().tolist())
    return {"kind": kind, "shape": shape, "options": options, "values": values}


def main():
    text = ""
    for name, rows in [("lbfgs", [search(*case) for case in LBFGS]),
                       ("matrices", [trajectory(*case) for case in MATRICES])]:
        text += name + " = {\n" + "".join("  " + lua(row) + ",\n" for row in rows) + "},\n"
    save(__file__, text.rstrip())


if __name__ == "__main__":
    main()
