"""Records what PyTorch's state_dict and load_state_dict do with unusual trees and old checkpoints:
data/state.lua, read by module_state_spec.lua, which has the same classes."""
import torch
from torch import nn

from gen_modules import load_error, quote
from record import save


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.again = self.first
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.child = nn.Linear(1, 1)
        self.register_buffer("kept", torch.zeros(1))
        self.register_buffer("passing", torch.zeros(1), persistent=False)
        self.register_buffer("empty", None)
        self.w = nn.Parameter(torch.zeros(2))
        self.register_parameter("none", None)
        self.gone = nn.Linear(1, 1)
        self.gone = None
        self.norm = nn.BatchNorm1d(1)
        self.scalar = nn.Parameter(torch.zeros(()))


class Expanded(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1).expand(3))


KEYS = [
    ("Tied()", Tied()),
    ("Mixed()", Mixed()),
    ("nn.Sequential(Mixed(), nn.Sequential(Tied()))",
     nn.Sequential(Mixed(), nn.Sequential(Tied()))),
]

ONE, TWO = torch.ones(1), torch.ones(2)
LOADS = [
    # (model, state dict as Lua, state dict in Python)
    ("nn.InstanceNorm1d(2)", "{running_mean = TWO, running_var = TWO}",
     nn.InstanceNorm1d(2), {"running_mean": TWO, "running_var": TWO}),
    ("nn.Sequential(nn.InstanceNorm2d(2))", "{['0.running_var'] = TWO}",
     nn.Sequential(nn.InstanceNorm2d(2)), {"0.running_var": TWO}),
    ("nn.InstanceNorm3d(2, {affine = true, track_running_stats = true})", "{x = ONE}",
     nn.InstanceNorm3d(2, affine=True, track_running_stats=True), {"x": ONE}),
    ("nn.Sequential(nn.BatchNorm1d(2))", "{['0.weight'] = ONE, ['0.bias'] = TWO}",
     nn.Sequential(nn.BatchNorm1d(2)), {"0.bias": TWO, "0.weight": ONE}),
    ("Mixed()", "{['gone.weight'] = ONE, passing = ONE, empty = ONE, none = ONE}",
     Mixed(), {"empty": ONE, "gone.weight": ONE, "none": ONE, "passing": ONE}),
    ("Mixed()", "{scalar = lucerna.ones(1, 1), w = ONE, ['child.weight'] = ONE, kept = TWO}",
     Mixed(), {"child.weight": ONE, "kept": TWO, "scalar": torch.ones(1, 1), "w": ONE}),
    ("Expanded()", "{w = lucerna.ones(3)}", Expanded(), {"w": torch.ones(3)}),
    ("nn.Sequential(nn.Linear(1, 1))", "{b = ONE, _extra_state = ONE, ['0._extra_state'] = ONE, "
     "['0.a'] = ONE, a = ONE, ['0.a.b.c'] = ONE, ['1.x'] = ONE}",
     nn.Sequential(nn.Linear(1, 1)),
     {"0._extra_state": ONE, "0.a": ONE, "0.a.b.c": ONE, "1.x": ONE, "_extra_state": ONE, "a": ONE,
      "b": ONE}),
    ("Tied()", "{['first.weight'] = ONE, ['again.bias'] = TWO}",
     Tied(), {"again.bias": TWO, "first.weight": ONE}),
]


def main():
    lines = ["  keys = {"]
    for source, model in KEYS:
        state = model.state_dict()
        keys = ", ".join(quote(k) for k in state)
        versions = ", ".join("{%s, %d}" % (quote(path), saved["version"])
                             for path, saved in state._metadata.items())
        lines.append("    {lua = %s,\n     keys = {%s},\n     versions = {%s}}," % (
            quote(source), keys, versions))
    lines += ["  },", "  loads = {"]
    for source, state, model, python in LOADS:
        lines.append("    {lua = %s,\n     state = %s,\n     message = %s}," % (
            quote(source), quote(state), quote(load_error(model, python))))
    save(__file__, "\n".join(lines + ["  },"]))


main()
