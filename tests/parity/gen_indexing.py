#!/usr/bin/env python3
"""Writes tests/parity/data/indexing.lua: what PyTorch reads and writes for all forms of x[...].

Each case has the index as Lua source (`index`, counted from 1) and PyTorch's answer for the same
index counted from 0. Run with the Python that has torch: tests/parity/gen_indexing.py
"""
import torch

from record import save

BASE = torch.arange(2 * 3 * 4, dtype=torch.float32).reshape(2, 3, 4)


def lua_tensor(t):
    def nest(v):
        if isinstance(v, list):
            return "{" + ", ".join(nest(e) for e in v) + "}"
        if isinstance(v, bool):
            return "true" if v else "false"
        return str(v + 1 if v >= 0 else v)
    if not t.numel():
        return 'T({}, {dtype = "int64"})'
    return "T(%s)" % nest(t.tolist())


def lua_entry(e, size):
    if e is None:
        return "none"
    if e is Ellipsis:
        return '"..."'
    if isinstance(e, slice):
        if e == slice(None):
            return "{}"
        start, stop, step = e.indices(size)
        if stop == 0:  # of a range that is empty, where 0 cannot be written
            start, stop = 1, 1
        text = "{%d, %d" % (start + 1, stop)
        return text + (", %d}" % step if step != 1 else "}")
    if isinstance(e, torch.Tensor):
        return lua_tensor(e)
    return str(e + 1 if e >= 0 else e)


def lua_index(index, base=BASE):
    """The index as a Lua table; slices are resolved against the dimension they apply to."""
    used = sum(e.dim() if isinstance(e, torch.Tensor) and e.dtype == torch.bool else
               0 if e is None or e is Ellipsis else 1 for e in index)
    dim, parts = 0, []
    for e in index:
        size = base.shape[dim] if dim < base.dim() else 0
        parts.append(lua_entry(e, size))
        if e is Ellipsis:
            dim += base.dim() - used
        elif isinstance(e, torch.Tensor) and e.dtype == torch.bool:
            dim += e.dim()
        elif e is not None:
            dim += 1
    return "{" + ", ".join(parts) + "}"


def flat(t):
    return "{shape = {%s}, dtype = \"float32\", data = {%s}}" % (
        ", ".join(map(str, t.shape)), ", ".join("%.9g" % v for v in t.reshape(-1).tolist()))


def cases():
    t, s, e = torch.tensor, slice, Ellipsis
    mask2 = t([[True, False, True], [False, True, False]])
    mask3 = BASE % 5 == 0
    row = t([True, False])
    yield from [
        (0,), (-1,), (1, 2), (1, 2, 3), (s(None), 1), (s(0, 1),), (s(1, 3), ), (s(None), s(1, 3)),
        (s(None), s(0, 3, 2)), (s(None), s(None), s(1, 4, 2)), (1, s(1, 3), s(0, 2)),
        (e, 2), (e, s(1, 3)), (0, e, 1), (e,), (None,), (None, 0), (0, None), (e, None),
        (s(None), None, 1), (None, s(1, 2), None, 0, None), (s(2, 2),), (s(None), s(3, 1)),
        (t([1, 0]),), (t([[0, 1], [1, 1]]),), (t([-1, 0]),), (s(None), t([2, 0, 1])),
        (e, t([3, 0])), (t([0, 1]), t([2, 0])), (t([0, 1]), t([2, 0]), t([1, 3])),
        (t([[0], [1]]), t([2, 0])), (t([0, 1]), s(None), t([1, 2])), (0, t([1, 2])),
        (t([1, 0]), 1), (s(None), t([0, 1]), s(1, 3)), (s(None), 1, t([0, 3])),
        (t([0, 1]), 1, t([0, 3])), (t([0, 1]), None, t([0, 2])), (t(1),),
        (s(None), t([], dtype=torch.long)),
        (row,), (mask2,), (mask3,), (mask2, t([0, 1, 3])),
        (s(None), t([True, False, True])), (e, t([True, False, False, True])),
        (row, 0), (1, mask2[0]), (None, mask2), (s(0, 1), t([True, False, True]), s(1, 4, 2)),
        (1, t([True, True, False]), t([0, 3])),
    ]


def main():
    out = []
    for index in cases():
        try:
            got = BASE[index]
        except IndexError:
            print('not an index:', lua_index(index))
            raise
        wrote = BASE.clone()
        wrote[index] = -1.0
        added = BASE.clone()
        values = torch.arange(got.numel(), dtype=torch.float32).reshape(got.shape) + 100
        added[index] = values
        x = BASE.clone().requires_grad_()
        (x[index] * values).sum().backward()
        text = lua_index(index)
        out.append("  {index = [[%s]], get = %s,\n   set = %s,\n   put = %s, values = %s,"
                   "\n   grad = %s},"
                   % (text, flat(got), flat(wrote), flat(added), flat(values), flat(x.grad)))
    save(__file__, "\n".join(out))


if __name__ == "__main__":
    main()
