#!/usr/bin/env python3
"""Writes tests/parity/data/indexing_random.lua: what PyTorch does for indices drawn at random, of
numbers, ranges, new dimensions, masks and several index tensors in every mixture. As in
gen_indexing.py the index is Lua source; x holds 0, 1, 2, …. Errors are recorded too."""
import random

import torch

from gen_indexing import lua_index
from record import save

CASES = 400
dice = random.Random(5)


def index_tensor(size, common):
    """Broadcasts to `common`; positions from the front and from the end."""
    drop = dice.choice([0, 0, 1])
    shape = [n if dice.random() < 0.7 else 1 for n in common[drop:]]
    high = size + (dice.random() < 0.01)
    n = torch.Size(shape).numel()
    return torch.tensor([dice.randrange(-size, high) for _ in range(n)]).view(shape)


def mask(sizes, count):
    """`count` places set, if there are as many: masks go with index tensors of that size."""
    n = torch.Size(sizes).numel()
    places = dice.sample(range(n), min(n, count if dice.random() < 0.9 else dice.randrange(n + 1)))
    flat = torch.zeros(n, dtype=torch.bool)
    flat[places] = True
    return flat.view(sizes)


def entry(base, dim, end, common):
    """An entry for dimensions from dim to end, and how many it uses."""
    size, kind = base.shape[dim], dice.random()
    if kind < 0.14:
        return dice.randrange(-size, size), 1
    if kind < 0.24:
        return slice(None), 1
    if kind < 0.42:
        start = dice.randrange(size)
        return slice(start, dice.randrange(start, size + 1), dice.choice([1, 1, 2])), 1
    if kind < 0.5:
        return None, 0
    if kind < 0.62:
        last = dim + 2 == base.dim()  # PyTorch counts a mask as one dimension for what follows
        used = dice.choice([1, 2]) if last and end == base.dim() else 1
        return mask(base.shape[dim:dim + used], common[-1] if common else 1), used
    return index_tensor(size, common), 1


def entries(base, dim, end, common):
    found = []
    while dim < end:
        e, used = entry(base, dim, end, common)
        found.append(e)
        dim += used
    return found


def draw():
    shape = [dice.choice([1, 2, 3, 3, 4]) for _ in range(dice.choice([1, 2, 3, 3, 4]))]
    base = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).view(shape)
    common = dice.choice([(2,), (2,), (3,), (1,), (), (2, 2), (2, 3)])
    n = base.dim()
    front = dice.choice([n, n, n, dice.randrange(n)])
    index = entries(base, 0, front, common)
    if front < n and dice.random() < 0.7:
        index.append(Ellipsis)
        index += entries(base, n - dice.randrange(n - front + 1), n, common)
    return base, tuple(index)


def flat(t):
    return "{%s}" % ",".join("%.9g" % v for v in t.reshape(-1).tolist())


def sizes(t):
    return "{%s}" % ",".join(map(str, t.shape))


def main():
    out, errors = [], 0
    while len(out) < CASES:
        base, index = draw()
        text = "{x=%s, index=[[%s]], " % (sizes(base), lua_index(index, base))
        try:
            got = base[index]
        except IndexError as error:
            errors += 1
            if errors < 12:
                out.append(text + 'error="%s"}' % str(error).split("\n")[0].replace('"', "'"))
            continue
        x = base.clone().requires_grad_()
        values = torch.arange(got.numel(), dtype=torch.float32).view(got.shape) + 50
        (x[index] * values).sum().backward()
        wrote = base.clone()
        wrote[index] = -1.0
        text += "get=%s, sizes=%s, set=%s, sum=%s" % (
            flat(got), sizes(got), flat(wrote), flat(x.grad))
        if got.unique().numel() == got.numel():
            wrote[index] = values
            text += ", put=%s" % flat(wrote)
        out.append(text + "}")
    save(__file__, ",\n".join(out))


main()
