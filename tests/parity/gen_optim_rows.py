"""Records what optimizers make of sparse gradients: a large table of which every step looks a few
rows up, twice, some of them again and one with a gradient of zeros; padding has none.
Writes tests/parity/data/optim_rows.lua. Run: python3 tests/parity/gen_optim_rows.py"""
import torch
from torch.nn.functional import embedding

from gen_optim import lua
from record import save

ROWS, WIDTH, PADDING = 40000, 32, 4
STEPS = [([0, 2, 0, 4], [1, 2]), ([1, 39999], [7, 7, 7]), ([2, 4, 0], [3]), ([0], [39999, 1])]
SHOWN = [0, 1, 2, 3, 4, 7, 39999, 20000]
CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.5, "initial_accumulator_value": 0.25}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "maximize": True}),
]


def shown(t):
    return t.detach()[SHOWN, :2].tolist()


def trajectory(kind, options, dtype):
    at = torch.arange(ROWS, dtype=torch.float64)[:, None] * 0.5 + torch.arange(WIDTH) + 1
    w = torch.sin(at).to(dtype).requires_grad_()
    optimizer = getattr(torch.optim, kind)([w], **options)
    values = []
    for first, second in STEPS:
        optimizer.zero_grad(set_to_none=True)
        scale = torch.ones(len(first), 1, dtype=dtype)
        scale[0] = 0  # row 0 is looked up once more in the first step, not in later ones
        one = embedding(torch.tensor(first), w, padding_idx=PADDING, sparse=True) * scale
        two = embedding(torch.tensor(second), w, padding_idx=PADDING, sparse=True)
        (one.square().sum() + two.square().mean()).backward()
        optimizer.step()
        values.append(shown(w))
    return values


def main():
    text = f"  steps = {lua([[[i + 1 for i in part] for part in step] for step in STEPS])},\n"
    text += f"  shown = {lua([i + 1 for i in SHOWN])},\n"
    for kind, options in CASES:
        for dtype in (torch.float32, torch.float64):
            row = {"kind": kind, "options": options, "dtype": str(dtype)[6:],
                   "values": trajectory(kind, options, dtype)}
            text += "  " + lua(row) + ",\n"
    save(__file__, text.rstrip())


if __name__ == "__main__":
    main()
