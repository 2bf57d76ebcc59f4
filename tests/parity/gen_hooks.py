"""Records what PyTorch's backward hooks see, in the order in which they fire. Each scenario builds
its modules from fixed weights; tests/lua/module_hooks_spec.lua builds the same and compares."""
import torch
from torch import nn
from torch.nn.modules import module as M

import record

events = []


def grads(values):
    items = [record.tensor(v) if v is not None else "false" for v in values]
    return "{n = %d, %s}" % (len(values), ", ".join(items))


def note(name, grad_input, grad_output):
    parts = ['"%s"' % name]
    parts.append(grads(grad_input) if grad_input is not None else "false")
    parts.append(grads(grad_output))
    events.append("{" + ", ".join(parts) + "}")


def fill(m):
    """Weights (1, 2, 3 …) / 8, so that they can be written down."""
    with torch.no_grad():
        for p in m.parameters():
            p.copy_((torch.arange(p.numel(), dtype=p.dtype) + 1).reshape(p.shape) / 8)
    return m.double()


def linear(i, o):
    return fill(nn.Linear(i, o))


def chain():
    return nn.Sequential(linear(2, 3), nn.Tanh(), linear(3, 1))


def x(grad=True):
    return torch.tensor([[0.5, -0.25], [1.0, 2.0]], dtype=torch.float64, requires_grad=grad)


class Two(nn.Module):
    """Two inputs and something that is no tensor; two results, of which one is not used."""

    def forward(self, a, label, b):
        return a * b, a + 1


class Left(nn.Module):
    def forward(self, a, b):
        return a * 2


def every(name, net, t):
    for path, m in net.named_modules():
        m.register_full_backward_hook(lambda _, gi, go, path=path: note(path, gi, go))
    net(t).sum().backward()


def scaled(t):
    """PyTorch 1.13 has neither pre-hooks nor prepend: the result's own hooks stand for the former,
    the order of registration for the latter."""
    m = linear(2, 2)
    m.register_full_backward_hook(lambda _, gi, go: note("first", gi, go))
    m.register_full_backward_hook(lambda _, gi, go: (gi[0] * 10,))
    m.register_full_backward_hook(lambda _, gi, go: note("full", gi, go))
    y = m(t)
    y.register_hook(lambda g: g * 3)
    y.register_hook(lambda g: note("pre", None, [g]))
    y.sum().backward()
    note("grad", [t.grad], [m.weight.grad])


def two():
    m = Two()
    a, b = x(), x(False)
    m.register_full_backward_hook(lambda _, gi, go: note("two", gi, go))
    m(a * 1, "label", b)[0].sum().backward()


def unused():
    m, a, b = Left(), x(), x()
    m.register_full_backward_hook(lambda _, gi, go: note("unused", gi, go))
    m(a * 1, b * 1).sum().backward()


def old():
    m, t = linear(2, 2), x()
    m.register_backward_hook(lambda _, gi, go: note("old", [], go))
    m(t).sum().backward()
    s = nn.Sigmoid()
    s.register_backward_hook(lambda _, gi, go: (gi[0] * 2,))
    s.register_backward_hook(lambda _, gi, go: note("sigmoid", gi, go))
    s(t).sum().backward()


def world():
    net, t = nn.Sequential(linear(2, 2), nn.ReLU()), x()
    handles = [
        M.register_module_full_backward_hook(
            lambda m, gi, go: note("all " + type(m).__name__, gi, go)),
    ]
    net[0].register_full_backward_hook(lambda _, gi, go: note("own", gi, go))
    net(t).sum().backward()
    for h in handles:
        h.remove()
    net(t).sum().backward()


def twice():
    m, t = linear(2, 2), x()
    m.register_full_backward_hook(lambda _, gi, go: note("again", gi, go))
    y = m(m(t)).sum()
    y.backward(retain_graph=True)
    y.backward()


SCENARIOS = {
    "chain": lambda: every("chain", chain(), x()),
    "no input wants": lambda: every("chain", chain(), x(False)),
    "scaled": lambda: scaled(x()),
    "two": two,
    "unused": unused,
    "old": old,
    "world": world,
    "twice": twice,
}

lines = []
for name, run in SCENARIOS.items():
    events.clear()
    run()
    lines += ['  ["%s"] = {' % name] + ["    %s," % e for e in events] + ["  },"]
record.save(__file__, "\n".join(lines))
