"""Records 20-step trajectories of torch.optim's optimizers with each option into data/optim.lua.
What PyTorch 1.13 does not have, or has otherwise than 2.9, is written out below after 2.9's
formulas: NAdam (1.13 counts its momentum twice), decoupled_weight_decay, and maximize of NAdam and
RAdam.
Run: python3 tests/parity/gen_optim.py"""
import math

import torch

from record import save

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
    ("Adam", {"lr": 0.05, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("SparseAdam", {}),
    ("SparseAdam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-4}),
    ("SparseAdam", {"lr": 0.05, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.05, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-4, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05, "betas": (0.9, 0.9), "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.9, "eps": 1e-4, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.9}),
    ("RMSprop", {"lr": 0.05, "centered": True, "eps": 1e-2}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5, "eps": 1e-2, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-2, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 2.0, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.05, "lambd": 0.01, "alpha": 0.5, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.05, "t0": 3.0, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.2)}),
    ("Rprop", {"lr": 0.1, "maximize": True}),
]


class Written(torch.optim.Optimizer):
    """2.9's formulas for one parameter, in its dtype; numbers are Python's."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False,
                 decoupled_weight_decay=False, momentum_decay=4e-3):
        super().__init__(params, {"differentiable": False})
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        self.maximize, self.decoupled = maximize, decoupled_weight_decay
        self.momentum_decay, self.t, self.product = momentum_decay, 0, torch.tensor(1.0)
        p = self.param_groups[0]["params"][0]
        self.m, self.v = torch.zeros_like(p), torch.zeros_like(p)

    @torch.no_grad()
    def step(self):
        p = self.param_groups[0]["params"][0]
        grad = -p.grad if self.maximize else p.grad
        self.t += 1
        if self.decoupled:
            p.mul_(1 - self.lr * self.weight_decay)
        else:
            grad = grad.add(p, alpha=self.weight_decay)
        self.m.lerp_(grad, 1 - self.betas[0])
        self.v.mul_(self.betas[1]).addcmul_(grad, grad, value=1 - self.betas[1])
        self.update(p, grad, 1 - self.betas[0] ** self.t, 1 - self.betas[1] ** self.t)


class NAdam(Written):
    def mu(self, t):
        return self.betas[0] * (1.0 - 0.5 * (0.96 ** (t * self.momentum_decay)))

    def update(self, p, grad, correction1, correction2):
        mu, mu_next = self.mu(self.t), self.mu(self.t + 1)
        self.product *= mu
        denom = self.v.div(correction2).sqrt().add_(self.eps)
        product = self.product.item()
        p.addcdiv_(grad, denom, value=-self.lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(self.m, denom, value=-self.lr * mu_next / (1.0 - product * mu_next))


class RAdam(Written):
    def update(self, p, grad, correction1, correction2):
        beta2 = self.betas[1]
        mean = self.m / correction1
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * self.t * beta2 ** self.t / correction2
        if rho > 5.0:
            rect = math.sqrt((rho - 4) * (rho - 2) * rho_inf
                             / ((rho_inf - 4) * (rho_inf - 2) * rho))
            p.sub_(mean * self.lr * (math.sqrt(correction2) / self.v.sqrt().add_(self.eps)) * rect)
        else:
            p.sub_(mean * self.lr)


class Adam(Written):
    def update(self, p, grad, correction1, correction2):
        denom = (self.v.sqrt() / math.sqrt(correction2)).add_(self.eps)
        p.addcdiv_(self.m, denom, value=-self.lr / correction1)


def optimizer_of(kind, params, options):
    newer = options.get("decoupled_weight_decay") or (kind == "RAdam" and options.get("maximize"))
    made = globals()[kind] if newer or kind == "NAdam" else getattr(torch.optim, kind)
    default = {"SGD": {"lr": 1e-3}, "NAdam": {"lr": 2e-3}, "RAdam": {"lr": 1e-3}}.get(kind, {})
    return made(params, **(default | options))


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
    optimizer = optimizer_of(kind, [p], options)
    values = []
    for step in range(1, STEPS + 1):
        phase = torch.arange(3, dtype=torch.float64) + step
        grad = (torch.sin(phase) * 2).to(dtype) + p.detach()
        if kind == "SparseAdam":  # each step leaves one out
            grad[step % 3] = 0
            grad = grad.to_sparse()
        p.grad = grad
        optimizer.step()
        values.append(p.tolist())
    return values


def main():
    rows = []
    for kind, options in CASES:
        for dtype in (torch.float32, torch.float64):
            rows.append({"kind": kind, "options": options, "dtype": str(dtype)[6:],
                         "values": trajectory(kind, options, dtype)})
    save(__file__, ",\n".join("  " + lua(row) for row in rows))


if __name__ == "__main__":
    main()
