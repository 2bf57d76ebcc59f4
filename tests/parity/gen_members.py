#!/usr/bin/env python3
"""PyTorch's answers for what is no operator: attributes of tensors, Python's operators beside Lua's
metamethods, modes, dtypes and other names, into tests/parity/data/members.lua. A row is a name,
an expression in Lua and the same in Python; members_spec.lua says what both may use."""
import pathlib
import sys

import torch

from record import number, save, tensor

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from member_rows import ROWS  # noqa: E402


def text(v):
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, (list, tuple)):
        return "{list={%s}}" % ", ".join(map(text, v))
    if isinstance(v, (str, torch.dtype, torch.device, torch.layout)):
        word = v if isinstance(v, str) else str(v).replace("torch.", "")
        return '"%s"' % word.replace("\n", "\\n")
    return "none" if v is None else number(v, 9)


def given():
    x = torch.arange(6.0).view(2, 3)
    w = torch.tensor([0.5, -2.0, 3.0], requires_grad=True)
    return {"torch": torch, "x": x, "w": w, "i": torch.tensor([3, -1, 2]),
            "b": torch.tensor([True, False, True])}


rows = []
for name, source, python in ROWS:
    torch.manual_seed(0)
    scope = given()
    lines = python.strip().split("\n")
    exec("\n".join(lines[:-1]), scope)
    rows.append('{call="%s", lua=[==[%s]==],\n out=%s}' % (
        name, source, text(eval(lines[-1], scope))))
save(__file__, ",\n".join(rows), True)
