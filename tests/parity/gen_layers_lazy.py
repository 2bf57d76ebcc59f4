"""Records lazy layers: what they are before and after their first call, with the same random
numbers as PyTorch's, into data/layers_lazy.lua; tests/lua/lazy_spec.lua reads it. Run:
python3 tests/parity/gen_layers_lazy.py"""
import torch
from torch import nn

from gen_layers import inputs_of, tensor
from record import save

CASES = []


def case(lua, make, *shapes):
    CASES.append(("nn." + lua, make, shapes))


case("LazyLinear(3)", lambda: nn.LazyLinear(3), (2, 4))
case("LazyLinear(2, {bias = false, dtype = lucerna.float64})",
     lambda: nn.LazyLinear(2, bias=False, dtype=torch.float64), (3, 2, 4))
case("LazyLinear(2):double()", lambda: nn.LazyLinear(2).double(), (3,))
for k, size in [(1, (5,)), (2, (3, 4)), (3, (2, 2, 3))]:
    conv, up = getattr(nn, "LazyConv%dd" % k), getattr(nn, "LazyConvTranspose%dd" % k)
    case("LazyConv%dd(2, 2)" % k, lambda conv=conv: conv(2, 2), (1, 3) + size)
    case("LazyConv%dd(4, {%s}, {groups = 2, padding = 1, bias = false})"
         % (k, ", ".join(["2"] * k)),
         lambda conv=conv, k=k: conv(4, (2,) * k, groups=2, padding=1, bias=False), (2,) + size)
    case("LazyConvTranspose%dd(2, 2)" % k, lambda up=up: up(2, 2), (1, 3) + size)
    case("LazyConvTranspose%dd(4, 2, 2, {groups = 2, output_padding = 1, dilation = 2})" % k,
         lambda up=up: up(4, 2, 2, groups=2, output_padding=1, dilation=2), (2,) + size)
    batch, instance = getattr(nn, "LazyBatchNorm%dd" % k), getattr(nn, "LazyInstanceNorm%dd" % k)
    case("LazyBatchNorm%dd()" % k, lambda batch=batch: batch(), (2, 3) + size)
    case("LazyBatchNorm%dd(0.1, lucerna.none, false)" % k,
         lambda batch=batch: batch(0.1, None, False), (2, 3) + size)
    case("LazyBatchNorm%dd{track_running_stats = false}:eval()" % k,
         lambda batch=batch: batch(track_running_stats=False).eval(), (2, 3) + size)
    case("LazyInstanceNorm%dd()" % k, lambda instance=instance: instance(), (2, 3) + size)
    case("LazyInstanceNorm%dd{affine = false}" % k,
         lambda instance=instance: instance(affine=False), (2, 3) + size)
case("LazyConv2d(2, 3, {padding = 'same', padding_mode = 'circular'})",
     lambda: nn.LazyConv2d(2, 3, padding="same", padding_mode="circular"), (1, 2, 4, 4))
case("LazyBatchNorm1d()", lambda: nn.LazyBatchNorm1d(), (4, 3))
case("Sequential(nn.LazyConv2d(2, 2), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), "
     "nn.LazyLinear(3))",
     lambda: nn.Sequential(nn.LazyConv2d(2, 2), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(),
                           nn.LazyLinear(3)), (2, 1, 3, 3))


def from_one(text):
    return text.replace("Flatten(start_dim=1", "Flatten(start_dim=2")


def record(lua, make, shapes):
    torch.manual_seed(42)
    layer = make()
    before, keys = repr(layer), list(layer.state_dict())
    dtype = next((p.dtype for p in layer.parameters()), torch.float32)
    inputs = inputs_of(shapes, dtype)
    output = layer(*inputs)
    weights = torch.linspace(0.5, 1.5, output.numel(), dtype=output.dtype).view(output.shape)
    (output * weights).sum().backward()
    grads = [(f"input{i + 1}", x.grad) for i, x in enumerate(inputs)]
    grads += [(k, p.grad) for k, p in layer.named_parameters()]
    lines = [f"  {{lua = {lua!r}, before = [[\n{from_one(before)}]],",
             f"   after = [[\n{from_one(repr(layer))}]],",
             "   keys = {" + ", ".join(f'"{k}"' for k in keys) + "},",
             "   inputs = {" + ", ".join(tensor(x) for x in inputs) + "},",
             "   state = {" + ", ".join(f'{{"{k}", {tensor(v)}}}'
                                        for k, v in layer.state_dict().items()) + "},",
             "   output = " + tensor(output) + ",",
             "   grads = {" + ", ".join(f'["{k}"] = {tensor(g)}' for k, g in grads) + "}},"]
    return "\n".join(lines)


save(__file__, "\n".join(record(*c) for c in CASES))
