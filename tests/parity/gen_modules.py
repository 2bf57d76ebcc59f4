"""Texts, state_dict keys and load errors of module trees, as PyTorch gives them.

Run with /usr/bin/python3; writes tests/parity/data/modules.lua. Each case is a Lua expression and
the same model in Python. (Dims in texts count from 1 in Lua; the cases here have none.)"""
from collections import OrderedDict

import torch
from torch import nn

from record import save


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(inplace=True))
        self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Identity()})
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(2))


def folded_repr(self):
    """ModuleList's repr since PyTorch 2.0: runs of equal children are folded."""
    reprs = [repr(m) for m in self]
    if not reprs:
        return self._get_name() + "()"
    runs = []
    for i, text in enumerate(reprs):
        if runs and runs[-1][2] == text:
            runs[-1][1] = i
        else:
            runs.append([i, i, text])
    out = self._get_name() + "("
    for first, last, text in runs:
        line = "(%d): %s" % (first, text)
        if first != last:
            line = "(%d-%d): %d x %s" % (first, last, last - first + 1, text)
        out += "\n  " + line.replace("\n", "\n  ")
    return out + "\n)"


nn.ModuleList.__repr__ = folded_repr


def lst(*modules):
    return nn.ModuleList(modules)


CASES = [
    ("Net()", Net()),
    ("nn.Sequential()", nn.Sequential()),
    ("nn.ModuleList()", nn.ModuleList()),
    ("nn.ModuleDict()", nn.ModuleDict()),
    ("nn.Module()", nn.Module()),
    ("nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.ReLU()}", lst(nn.ReLU(), nn.ReLU(), nn.ReLU())),
    ("nn.ModuleList{nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Linear(1, 1), nn.Linear(1, 1), nn.Tanh()}",
     lst(nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Linear(1, 1), nn.Linear(1, 1), nn.Tanh())),
    ("nn.ModuleList{nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Sequential()}",
     lst(nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU()), nn.Sequential())),
    ("nn.ModuleList{nn.ModuleList{nn.ReLU(), nn.ReLU()}, nn.ModuleList{nn.ReLU(), nn.ReLU()}, "
     "nn.ModuleList{nn.Tanh()}}",
     lst(lst(nn.ReLU(), nn.ReLU()), lst(nn.ReLU(), nn.ReLU()), lst(nn.Tanh()))),
    ("nn.Sequential{{'conv', nn.Conv2d(1, 1, 1)}, {'act', nn.ReLU()}}",
     nn.Sequential(OrderedDict([("conv", nn.Conv2d(1, 1, 1)), ("act", nn.ReLU())]))),
    ("nn.Sequential(nn.ReLU(), nn.ModuleList{nn.ReLU(), nn.ReLU()}, nn.ReLU())",
     nn.Sequential(nn.ReLU(), lst(nn.ReLU(), nn.ReLU()), nn.ReLU())),
    ("nn.ModuleDict{b = nn.ReLU(), a = nn.Tanh()}",
     nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})),
    ("nn.Dropout(1)", nn.Dropout(1)),
    ("nn.BatchNorm2d(3, 1e-3, nil)", nn.BatchNorm2d(3, 1e-3)),
    ("nn.BatchNorm2d(3, {momentum = lucerna.none})", nn.BatchNorm2d(3, momentum=None)),
    ("nn.LayerNorm({4, 5})", nn.LayerNorm((4, 5))),
    ("nn.LayerNorm(4)", nn.LayerNorm(4)),
    ("nn.GELU()", nn.GELU()),
]

LOADS = [
    # (model, state dict as Lua, state dict in Python)
    ("nn.Linear(2, 3)", "{}", nn.Linear(2, 3), {}),
    ("nn.Linear(2, 3)",
     "{weight = lucerna.zeros(2, 2), bias = lucerna.zeros(3), x = lucerna.ones(1)}",
     nn.Linear(2, 3), {"bias": torch.zeros(3), "weight": torch.zeros(2, 2), "x": torch.ones(1)}),
    ("Net()", "{['features.9.x'] = lucerna.ones(1), zzz = lucerna.ones(1)}",
     Net(), {"features.9.x": torch.ones(1), "zzz": torch.ones(1)}),
]


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace(
        "\t", "\\t") + '"'


def load_error(model, state):
    try:
        model.load_state_dict(state)
    except RuntimeError as e:
        return str(e)
    raise AssertionError("loaded")


def main():
    lines = ["  texts = {"]
    for source, model in CASES:
        keys = ", ".join(quote(k) for k in model.state_dict())
        lines.append("    {lua = %s,\n     text = %s,\n     keys = {%s}}," % (
            quote(source), quote(str(model)), keys))
    lines += ["  },", "  loads = {"]
    for source, state, model, python in LOADS:
        lines.append("    {lua = %s,\n     state = %s,\n     message = %s}," % (
            quote(source), quote(state), quote(load_error(model, python))))
    save(__file__, "\n".join(lines + ["  },"]))


if __name__ == "__main__":
    main()
