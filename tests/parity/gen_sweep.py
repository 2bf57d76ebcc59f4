#!/usr/bin/env python3
"""Records what PyTorch answers when calls of the other generators are made with every dtype, with
nothing along a dimension, and with 0-d tensors: tests/parity/data/sweep.lua, which
tests/lua/operator_sweep_spec.lua runs. One call of each kind of arguments is taken from the other
generators; its answer is one line of text, dtype and shape of each result with a sum over its
values, which differ in weight by position. Half precision is computed in float32 from the rounded
values and rounded, since 1.13 lacks much of it.
Run: python3 tests/parity/gen_sweep.py (minutes: it runs the others first)."""
import math
import os
import runpy
import sys

import torch

import record
from record import Const, Dim, Ids, NAMES, number, save

HERE = os.path.dirname(os.path.abspath(__file__))
GENERATORS = ["create", "index", "pointwise", "reduce", "view", "views", "rest", "functional_conv",
              "functional", "functional_attention", "linalg", "special", "reductions", "fft",
              "complex"]
REDUCED = (torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
LACKING = ("not implemented for 'Half'", "not implemented for 'BFloat16'", "not supported on CPU",
           "expected scalar type", "Expected object of scalar type", "not supported for Half",
           "CPU with Half", "with BFloat16")
PRODUCTS = ("chain_matmul", "linalg.multi_dot", "tensordot", "kron", "outer", "ger", "addr",
            "einsum", "linalg.vector_norm", "linalg.norm", "linalg.matrix_norm", "linalg.cross",
            "cross", "linalg.vecdot", "linalg.diagonal", "linalg.matmul", "linalg.vander", "vdot",
            "inner")
WIDE = ("qr", "stft", "istft", ".stft", ".istft", "polar")  # refuse half precision
UNWRITTEN = ("F.multi_margin_loss", "F.multilabel_margin_loss")  # 1.13's results of nothing
TIES = ("topk", "kthvalue")  # whose choice among equal values is arbitrary
WRITERS = (".copy_", ".fill_", ".zero_", ".fill_diagonal_")  # have no other form
running = None  # the generator
candidates = {}  # by function and kinds of arguments


def tensors(v):
    """The recorded tensors among arguments."""
    if isinstance(v, (torch.Tensor, Const, Ids)):
        return [v]
    return [t for x in v for t in tensors(x)] if isinstance(v, (list, tuple)) else []


def inner(v):
    return v if isinstance(v, torch.Tensor) else v.t


def kind(v):
    if isinstance(v, (torch.Tensor, Const, Ids)):
        return "ids" if isinstance(v, Ids) else "mask" if inner(v).dtype == torch.bool else "T"
    if isinstance(v, (list, tuple)):
        return "[%s]" % (kind(v[0]) if v else "")
    return type(v).__name__


def snapped(v):
    """Multiples of 1/64, which are short to write."""
    if isinstance(v, (list, tuple)):
        return type(v)(map(snapped, v))
    if isinstance(v, Const):
        return Const(snapped(v.t))
    if isinstance(v, torch.Tensor) and v.dtype.is_floating_point:
        return ((v.detach().double() * 64).round() / 64).to(v.dtype)
    return v


def collect(fn, *args, positions=False, seed=None, name="", ref=None, signs=False, rough=False,
            dense=False, several=False, grad=True, **kw):
    """In place of record.case: keeps the smallest call of each kind that has enough values."""
    record.cases.append("")
    found = tensors(list(args) + list(kw.values()))
    if seed is not None or not found or "dtype" in kw or (
            fn.endswith("_") and fn not in WRITERS):
        return
    if any(inner(t).numel() == 0 for t in found) or inner(found[0]).dim() == 0:
        return
    size = sum(inner(t).numel() for t in found)
    if inner(found[0]).numel() < 3 or size > 120:
        return
    if any(not (inner(t).to(torch.complex128).abs() < 1e4).all() for t in found):
        return
    args, kw = snapped(args), {k: snapped(v) for k, v in kw.items()}
    call = dict(fn=fn, args=args, kw=kw, positions=positions, ref=ref, signs=signs,
                factors=fn in WIDE or running == "linalg" and fn not in PRODUCTS)
    try:
        out = results(call, same)
        if positions is None:  # all integers are
            outs = out if isinstance(out, tuple) else [out]
            call["positions"] = tuple(i for i, t in enumerate(outs) if t.dtype == torch.int64)
        told(call, out)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return
    key = fn + " ".join(map(kind, args)) + " ".join(k + kind(v) for k, v in sorted(kw.items()))
    old = candidates.get(key)
    dtypes = {inner(t).dtype for t in found if not isinstance(t, Ids)}
    rank = (inner(found[0]).dtype not in (torch.float64, torch.float32), len(dtypes), abs(size - 8))
    if old is None or rank < old["rank"]:
        candidates[key] = dict(call, rank=rank)


# ---- variants ----

def same(v):
    return inner(v)


def recast(of, dtype):
    """Of a complex dtype: the imaginary part is half of the values from behind."""
    def change(v):
        t = inner(v)
        if t.dtype != of or isinstance(v, Ids):
            return t
        if dtype.is_complex and not of.is_complex:
            t = torch.complex(t.float(), t.float().flatten().flip(0).view_as(t) / 2)
        return t.to(dtype)
    return change


def nothing(dim, size):
    """Nothing along the first or last dimension, where it is as long as the first tensor's."""
    def change(v):
        t = inner(v)
        return t.narrow(dim, 0, 0) if t.dim() and t.size(dim) == size else t
    return change


def single(v):
    t = inner(v)
    return t.flatten()[0]


def applied(v, change):
    if isinstance(v, (torch.Tensor, Const, Ids)):
        return change(v).clone()
    if isinstance(v, (list, tuple)):
        return type(v)(applied(x, change) for x in v)
    return int(v) if isinstance(v, Dim) else v


def results(call, change):
    args = [applied(a, change) for a in call["args"]]
    kw = {k: applied(v, change) for k, v in call["kw"].items()}
    return (call["ref"] or record.called(call["fn"]))(*args, **kw)


# ---- answers ----

def digest(t, shift):
    total, t = 0.0, t.detach().resolve_conj()
    values = torch.view_as_real(t) if t.is_complex() else t
    for i, v in enumerate(values.flatten().tolist()):
        v = float(v + 1 if shift and v >= 0 else v)
        total += (i % 7 + 1) * (v if math.isfinite(v) else 0.5)
    return "%s %s %s" % (NAMES[t.dtype], "x".join(map(str, t.shape)) or "-", "%.7g" % total)


def told(call, out):
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    parts = []
    for i, t in enumerate(outs):
        shift = call["positions"]
        shift = i in shift if isinstance(shift, tuple) else shift
        if isinstance(t, torch.Tensor):
            if t.dtype not in NAMES:
                raise TypeError("no such dtype here")
            parts.append(digest(t.abs() if call["signs"] else t, shift))
        else:
            parts.append(str(t).lower())
    return "; ".join(parts)


def answer(call, change):
    return told(call, results(call, change))


def rounded(call, of, dtype):
    """What half precision gives: the answer of float32 to the rounded values."""
    def change(v):
        t = inner(v)
        return t.to(dtype).float() if t.dtype == of and not isinstance(v, Ids) else t
    out = results(call, change)
    single_out = not isinstance(out, (list, tuple))
    outs = [out] if single_out else list(out)
    try:  # where 1.13 has it, its dtypes are right
        true = results(call, recast(of, dtype))
        true = [true] if not isinstance(true, (list, tuple)) else list(true)
        outs = [t.to(w.dtype) if isinstance(t, torch.Tensor) else t for t, w in zip(outs, true)]
    except (RuntimeError, TypeError, NotImplementedError) as error:
        if call["factors"] or not any(text in str(error) for text in LACKING):
            raise
        outs = [t.to(dtype) if isinstance(t, torch.Tensor) and t.dtype == torch.float32 else t
                for t in outs]
    return told(call, outs[0] if single_out else outs)


def under_autocast(call, of, dtype):
    """The dtypes of the results alone."""
    with torch.autocast("cpu"):
        out = results(call, recast(of, dtype))
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    return "; ".join(NAMES[t.dtype] if isinstance(t, torch.Tensor) else "-" for t in outs)


def guarded(f, *args):
    try:
        return f(*args)
    except ZeroDivisionError:
        return None
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return "raises"


def variants(call):
    found = tensors(list(call["args"]) + list(call["kw"].values()))
    of = next((inner(t).dtype for t in found if not isinstance(t, Ids)), None)
    fn, lines = call["fn"], {}
    for dtype in NAMES if of not in (None, torch.bool) else ():
        if dtype == of or dtype == torch.complex128 or of.is_complex and not dtype.is_complex:
            continue
        if dtype == torch.complex64 and of in INTEGERS:
            continue
        if of not in INTEGERS or not any(isinstance(t, Ids) for t in found):
            f = rounded if dtype in REDUCED else None
            text = guarded(f, call, of, dtype) if f else guarded(answer, call, recast(of, dtype))
            if text not in ("raises", None) and not (
                    fn in TIES and dtype not in REDUCED + (torch.float32, torch.float64)):
                lines[NAMES[dtype]] = text
    if of in (torch.float32, torch.float64) and not call["ref"]:
        for dtype in (torch.float32, torch.bfloat16):
            text = guarded(under_autocast, call, of, dtype)
            if text != "raises":
                lines["autocast " + NAMES[dtype]] = text
    first = inner(found[0])
    if not call["ref"] and fn not in UNWRITTEN:  # (those check less than what they stand for)
        lines["nothing first"] = guarded(answer, call, nothing(0, first.size(0)))
        lines["nothing last"] = guarded(answer, call, nothing(-1, first.size(-1)))
        lines["single"] = guarded(answer, call, single)
    return of, {name: line for name, line in lines.items() if line is not None}


# ---- writing ----

def lua(v):
    if isinstance(v, (torch.Tensor, Const, Ids)):
        t = inner(v).detach().resolve_conj()
        values = torch.view_as_real(t) if t.is_complex() else t
        return '{shape={%s},dtype="%s",data={%s}%s}' % (
            ",".join(map(str, t.shape)), NAMES[t.dtype],
            ",".join(number(x, 9) for x in values.flatten().tolist()),
            ",index=true" if isinstance(v, Ids) else "")
    if isinstance(v, (list, tuple)):
        return "{list={%s}}" % ",".join(map(lua, v))
    return record.lua(v)


def text(call):
    of, lines = variants(call)
    args, kw = call["args"], call["kw"]
    more = ",kw={%s}" % ",".join("%s=%s" % (k, lua(v)) for k, v in kw.items()) if kw else ""
    more += ",signs=true" if call["signs"] else ""
    head = '{fn="%s",args={n=%d,%s}%s,of="%s",\n' % (
        call["fn"], len(args), ",".join(map(lua, args)), more, NAMES.get(of, ""))
    return head + "".join(' ["%s"]="%s",\n' % line for line in lines.items()) + "}"


def from_nn(module):
    """The classes of gen_nn.py in record's words."""
    def same_words(v):
        if isinstance(v, (module.Dim, module.Index)):
            return Dim(v)
        if isinstance(v, module.Dims):
            return [Dim(d) for d in v]
        if isinstance(v, module.Indices):
            return Ids(v.t)
        if isinstance(v, (module.Fixed, module.Ints)):
            return Const(v.t)
        return [same_words(x) for x in v] if isinstance(v, (list, tuple)) else v

    def case(fn, *args, second=True, name="", results=None, seed=None, **kw):
        torch.set_default_dtype(torch.float32)
        positions = results and tuple(i for i, k in enumerate(results) if k == "index")
        collect(fn if fn[0] != "." else "F" + fn, *map(same_words, args), seed=seed,
                positions=positions,
                **{k: same_words(v) for k, v in kw.items()})
        torch.set_default_dtype(torch.float64)
    return case


def others():
    """What the other generators record of values or sizes that do not serve here."""
    x, y = record.real(2, 3), record.real(2, 3)
    for name in ("char", "byte", "short", "int", "long", "bool"):
        collect("." + name, x)
    for name in ("zeros_like", "ones_like"):
        collect(name, x)
    collect("full_like", x, 2)
    collect(".new_zeros", x, (2, 1))
    collect(".new_ones", x, (2, 1))
    collect(".new_full", x, (2, 1), 3)
    collect(".copy_", x, y)
    collect(".fill_", x, 2)
    collect(".fill_", x, record.real(1).reshape(()))
    collect(".zero_", x)
    collect(".fill_diagonal_", x, 2)
    collect(".expand_as", x[:1], y)
    collect("broadcast_tensors", x, y[:1], ref=None)
    collect("meshgrid", [x[0], y[0]], indexing="ij")
    collect("cartesian_prod", x[0], y[0])
    collect("nextafter", x, y)
    collect("isclose", x, y)
    collect("bucketize", x, torch.tensor([-1.5, -.5, 0, 1], dtype=torch.float64), positions=True)
    collect(".nanmean", x)
    collect("addmv", record.real(3), record.real(3, 2), record.real(2))


def main():
    record.case, record.write = collect, lambda *_: record.cases.clear()
    sys.argv = sys.argv[:1]
    global running
    for name in GENERATORS:
        running = name
        record.real.__kwdefaults__["state"][0] = 0
        runpy.run_path(os.path.join(HERE, "gen_%s.py" % name), run_name="__main__")
    running = None
    others()
    import gen_nn
    gen_nn.case, gen_nn.write = from_nn(gen_nn), lambda _: None
    for family in (gen_nn.matmul, gen_nn.activation, gen_nn.softmax, gen_nn.conv, gen_nn.pool,
                   gen_nn.norm, gen_nn.loss):
        family()
    torch.set_default_dtype(torch.float32)
    save(__file__, ",\n".join(text(candidates[key]) for key in sorted(candidates)), True)


if __name__ == "__main__":
    main()
