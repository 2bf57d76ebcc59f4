"""Records state dicts of torch.optim's optimizers after 5 steps, and the parameters of 5 more, into
data/optim_states.lua: what is read there must go on as PyTorch does. Tensors without dimensions
come as numbers. Run: python3 tests/parity/gen_optim_states.py"""
import torch

from gen_optim import lua
from record import save

CASES = [
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "eps": 1e-2}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {"lr": 0.5}),
    ("ASGD", {"lr": 0.05, "t0": 3.0}),
    ("Rprop", {"lr": 0.1}),
]


def plain(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def absent(values):
    """Without what is None; `fused` was false where it is None now."""
    return {key: plain(value) for key, value in values.items()
            if value is not None and key != "fused"}


def main():
    rows = []
    for kind, options in CASES:
        params = [torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True),
                  torch.tensor([[0.25]], dtype=torch.float64, requires_grad=True)]
        optimizer = getattr(torch.optim, kind)([{"params": params[:1]},
                                                {"params": params[1:], "lr": 0.01}], **options)

        def run(first, last):
            values = []
            for step in range(first, last + 1):
                for p in params:
                    phase = torch.arange(p.numel(), dtype=torch.float64) + step
                    p.grad = (torch.sin(phase) * 2).view(p.shape) + p.detach()
                optimizer.step()
                values.append([v for p in params for v in p.flatten().tolist()])
            return values
        start = run(1, 5)[-1]
        saved = optimizer.state_dict()
        rows.append({
            "kind": kind, "options": options, "start": start,
            "state": [absent(saved["state"][k]) for k in range(2)],
            "groups": [absent(group) for group in saved["param_groups"]],
            "values": run(6, 10)})
    save(__file__, ",\n".join("  " + lua(row) for row in rows))


main()
