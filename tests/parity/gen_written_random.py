#!/usr/bin/env python3
"""Programs drawn at random: a tensor and views of it, each changed in place by writes and by
in-place forms of views; tests/parity/data/written_random.lua has their lines in Lua and PyTorch's
result and gradient. y begins as x * 1, w is what views are multiplied with."""
import random

import torch

from record import cases, tensor, write

PROGRAMS, STEPS = 120, 6
dice = random.Random(9)
x0 = torch.arange(12, dtype=torch.float64).view(2, 3, 2) / 4 - 1


def pick(t):
    return dice.randrange(t.dim())


def step(scope, names):
    """One line in Python and the same in Lua, of what the tensor's shape allows."""
    name = dice.choice(names)
    t, new = scope[name], "v%d" % len(names)
    kind = dice.choice("transpose unsqueeze squeeze t mul add write select slice view".split())
    if kind == "transpose" and t.dim() > 1:
        a, b = pick(t), pick(t)
        return "%s.transpose_(%d, %d)" % (name, a, b), "%s:transpose_(%d, %d)" % (
            name, a + 1, b + 1)
    if kind == "unsqueeze" and t.dim() < 4:
        d = dice.randrange(t.dim() + 1)
        return "%s.unsqueeze_(%d)" % (name, d), "%s:unsqueeze_(%d)" % (name, d + 1)
    if kind == "squeeze":
        return "%s.squeeze_()" % name, "%s:squeeze_()" % name
    if kind == "t" and t.dim() == 2:
        return "%s.t_()" % name, "%s:t_()" % name
    if kind == "mul":
        return "%s.mul_(w)" % name, "%s:mul_(w)" % name
    if kind == "add":
        other = dice.choice(names)
        if scope[other].shape == t.shape:
            return "%s.add_(%s * 2)" % (name, other), "%s:add_(%s * 2)" % (name, other)
    if kind == "write" and t.dim():
        return "%s[0] = w" % name, "%s[1] = w" % name
    if kind == "select" and t.dim() and len(names) < 4:
        d, i = pick(t), 0
        return "%s = %s.select(%d, %d)" % (new, name, d, i), "local %s = %s:select(%d, %d)" % (
            new, name, d + 1, i + 1)
    if kind == "slice" and t.dim() and t.shape[0] > 1 and len(names) < 4:
        return "%s = %s[1:]" % (new, name), "local %s = %s[{{2, -1}}]" % (new, name)
    if kind == "view" and t.is_contiguous() and len(names) < 4:
        return "%s = %s.view(-1)" % (new, name), "local %s = %s:view(-1)" % (new, name)
    return step(scope, names)


def program():
    x, w = x0.clone().requires_grad_(), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    scope, names, lines = {"y": x * 1, "w": w}, ["y"], []
    for _ in range(STEPS):
        python, lua = step(scope, names)
        exec(python, {}, scope)
        if " = v" in python or " = y" in python:
            names.append("v%d" % len(names))
        lines.append(lua)
    out = scope["y"] * scope["y"]
    for name in names[1:]:
        out = out.sum() + (scope[name] * scope[name]).sum()
    gx, gw = torch.autograd.grad(out.sum(), [x, w], allow_unused=True)
    total = " + ".join("(%s * %s):sum()" % (n, n) for n in names)
    return "%s\nreturn y, %s" % ("\n".join(lines), total), scope["y"], out.sum(), gx, gw


for _ in range(PROGRAMS):
    text, y, out, gx, gw = program()
    cases.append("{lua=[[%s]],\n y=%s, out=%.17g,\n x=%s, w=%.17g}" % (
        text, tensor(y), out.item(), tensor(gx), 0 if gw is None else gw.item()))
write("written_random", __file__)
