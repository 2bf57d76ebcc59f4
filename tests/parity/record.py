"""Records calls of PyTorch as cases that tests/lua/cases.lua runs: arguments, results and
gradients, or that the call is an error. Everything is written as Lua users see it: dimensions and
positions count from 1. Used by the gen_*.py beside it."""
import os
import warnings

import torch

warnings.simplefilter("ignore")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
NAMES = {torch.float32: "float32", torch.float64: "float64", torch.float16: "float16",
         torch.bfloat16: "bfloat16", torch.int8: "int8", torch.uint8: "uint8",
         torch.int16: "int16", torch.int32: "int32", torch.int64: "int64", torch.bool: "bool",
         torch.complex64: "complex64", torch.complex128: "complex128"}
cases = []


class Dim(int):
    """A dimension or a position: Lua counts from 1, negative ones stay."""


class Ids:
    """An integer tensor of positions; as a result's mark, positions too."""

    def __init__(self, *values):
        self.t = values[0] if isinstance(values[0], torch.Tensor) else torch.tensor(values)


class Const:
    """A floating point tensor whose gradient is not asked for."""

    def __init__(self, t):
        self.t = t


def real(*shape, state=[0], dtype=torch.float64):
    """Multiples of 1/8: short to write, exact in every dtype. Each call differs."""
    if dtype.is_complex:
        part = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.complex(real(*shape, dtype=part), real(*shape, dtype=part))
    state[0] += 1
    g = torch.Generator().manual_seed(state[0])
    return (torch.rand(shape, generator=g, dtype=torch.float64) * 32 - 16).round().div(8).to(dtype)


def number(x, digits):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x)
    if x != x:
        return "0/0"
    if x in (float("inf"), float("-inf")):
        return "math.huge" if x > 0 else "-math.huge"
    text = "%.*g" % (digits, x)
    return text if any(c in text for c in ".en") else text + ".0"


def tensor(t, shift=0, grad=False, digits=None):
    t = t.detach()
    flat = torch.zeros(t.shape) if t._is_zerotensor() else t.resolve_conj()
    flat = flat.to(t.dtype).flatten()
    values = (torch.view_as_real(flat).flatten() if t.is_complex() else flat).tolist()
    if shift:
        values = [v + 1 if v >= 0 else v for v in values]
    digits = digits or (17 if t.dtype in (torch.float64, torch.complex128) else 9)
    return '{shape={%s}, dtype="%s",%s data={%s}}' % (
        ",".join(map(str, t.shape)), NAMES[t.dtype], " grad=true," if grad else "",
        ",".join(number(v, digits) for v in values))


def sums(t):
    """Two sums that tell a tensor from others: of its values, and of these by their places."""
    t = t.detach().double().flatten()
    w = torch.arange(1, t.numel() + 1, dtype=torch.float64)
    return ("{%.8g, %.8g}" % (t.sum(), (t * w / t.numel()).sum())).replace("nan", "0/0")


def total(outputs):
    """A loss that weighs every element differently."""
    loss = 0
    for t in outputs:
        w = torch.arange(1, t.numel() + 1, dtype=t.dtype).reshape(t.shape) / t.numel()
        loss = loss + (t * w).sum()
    return loss


def answer(v):
    """What a piece of Lua gives: tensors, positions, texts, numbers and lists of them."""
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, Ids):
        return tensor(v.t, 1)
    if v is None:
        return "none"
    if isinstance(v, str):
        return "[==[\n%s]==]" % v
    if isinstance(v, (list, tuple)):
        return "{list={%s}}" % ", ".join(map(answer, v))
    return number(v, 9)


def differentiable(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def lua(v):
    if isinstance(v, Dim):
        return str(int(v) + 1 if v >= 0 else int(v))
    if isinstance(v, Ids):
        return tensor(v.t, 1)
    if isinstance(v, Const):
        return tensor(v.t)
    if isinstance(v, torch.Tensor):
        return tensor(v, grad=differentiable(v))
    if isinstance(v, torch.dtype):
        return '{type="%s"}' % NAMES[v]
    if v is None:
        return "none"
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, (list, tuple)):
        return "{list={%s}}" % ",".join(map(lua, v))
    return number(v, 17)


def plain(v):
    """What PyTorch is called with."""
    if isinstance(v, (Ids, Const)):
        return v.t.clone()
    if isinstance(v, torch.Tensor):
        return v.clone().requires_grad_(differentiable(v))
    if isinstance(v, Dim):
        return int(v)
    if isinstance(v, (list, tuple)):
        return type(v)(map(plain, v))
    return v


def leaves(values):
    found = []
    for v in values:
        if isinstance(v, torch.Tensor) and v.requires_grad:
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += leaves(v)
    return found


def gradients(outs, given):
    wrt = leaves(given)
    live = [o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad]
    if not wrt or not live or wrt[0] is outs[0]:
        return ""
    gout = [real(*o.shape, dtype=o.dtype) for o in live]
    grads = torch.autograd.grad(live, wrt, gout, allow_unused=True)
    return "\n gout={%s},\n grads={%s}," % (
        ", ".join(map(tensor, gout)), ", ".join("none" if g is None else tensor(g) for g in grads))


def called(fn):
    """The function of this name."""
    homes = {"F": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft,
             "special": torch.special}
    home, method = homes.get(fn.split(".")[0], torch), fn.split(".")[-1]
    found = getattr(home, method, None) if fn[0] != "." else None
    return found or (lambda x, *rest, **k: getattr(x, method)(*rest, **k))


def case(fn, *args, positions=False, seed=None, name="", ref=None, grad=True, dense=False,
         rough=False, several=False, signs=False, **kw):
    """fn: "narrow" is torch.narrow, ".view" a method, ".fill_" a method on a copy of the first
    argument, "F.pad" of torch.nn.functional, "linalg.det" of torch.linalg, "special.i1" of
    torch.special. ref: what to call instead of PyTorch's function of that name. positions: results
    are positions (a tuple: those of the results). several: a tuple is several results, as named
    ones always are. dense: not to be tried with other strides.
    rough: the gradients are a convention (at a kink, of an infinity), not what finite differences
    give. signs: those of the results are arbitrary."""
    given, given_kw = [plain(a) for a in args], {k: plain(v) for k, v in kw.items()}
    method = fn.split(".")[-1]
    if seed is not None:
        torch.manual_seed(seed)
    first = [given[0].clone()] + given[1:] if fn.endswith("_") else given
    call = ref or called(fn)
    text = '{name="%s", fn="%s",' % (" ".join(filter(None, [method, name])), fn)
    text += " seed=%d," % seed if seed is not None else ""
    text += " dense=true," if dense else ""
    text += " rough=true," if rough else ""
    text += " signs=true," if signs else ""
    text += "\n args={n=%d, %s}," % (len(args), ", ".join(map(lua, args)))
    if kw:
        text += " kw={%s}," % ", ".join("%s=%s" % (k, lua(v)) for k, v in kw.items())
    try:
        out = call(*first, **given_kw)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        cases.append(text + "\n error=%s}" % lua(str(error).split("\n")[0].replace('"', "'")))
        return
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    text += " list=true," if type(out) in (list, tuple) and not several else ""
    text += "\n out={%s}," % ", ".join(
        tensor(t, i in positions if isinstance(positions, tuple) else positions)
        if isinstance(t, torch.Tensor) else lua(t)
        for i, t in enumerate(outs))
    cases.append(text + (gradients(outs, given) if grad else "") + "}")


def save(generator, text, none=False, family=None):
    """Writes what a family's table holds; it has its name from the generator: gen_FAMILY.py."""
    name = os.path.basename(generator)
    family = family or name[len("gen_"):-len(".py")]
    path = os.path.join(HERE, family + ".lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write("-- Written by tests/parity/%s from PyTorch %s: do not edit.\n" % (
            name, torch.__version__))
        f.write("%sreturn {\n%s\n}\n" % ("local none = {none = true}\n" if none else "", text))
    print("%-12s %d bytes" % (family, os.path.getsize(path)))


def write(family, generator):
    save(generator, ",\n".join(dict.fromkeys(cases)), True, family)
    cases.clear()
