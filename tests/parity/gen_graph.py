"""Records what hooks on several gradients see (torch.autograd.graph), as PyTorch 2.15 has them
(1.13 has none), into data/graph.lua; tests/lua/graph_spec.lua does the same and compares. An entry
is one call: for each tensor its gradient, false for None."""
import torch

import record

graph = torch.autograd.graph
calls = []


def note(grads):
    calls.append([None if g is None else g.detach().clone() for g in grads])


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, None


def four():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    return a, b, a * b, a * b


def every():
    tensors = four()
    handle = graph.register_multi_grad_hook(tensors, note)
    c = tensors[2].sum()
    c.backward(retain_graph=True)
    c.backward(inputs=tensors[:1], retain_graph=True)
    torch.autograd.grad(c, tensors[2], retain_graph=True)
    (c + 2 * tensors[3].sum()).backward(retain_graph=True)
    handle.remove()
    c.backward()


def any_():
    a, b, c, d = four()
    graph.register_multi_grad_hook((c, torch.ones(2), d), lambda g: note([g]), mode="any")
    c.sum().backward(retain_graph=True)
    (c + 2 * d).sum().backward()


def twice():
    a = leaf(1.0, 2.0)
    graph.register_multi_grad_hook((a, a), note)
    (a * a).sum().backward()


def without():
    p, q = leaf(1.0), leaf(1.0)
    r = q * 2
    graph.register_multi_grad_hook((p, q, r), note)
    First.apply(p, r).sum().backward()


def nested():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    c, d = a * b, a * b
    graph.register_multi_grad_hook((a, b), note)
    c.register_hook(lambda g: d.backward(g * 2))
    c.sum().backward()


def queued():
    a = leaf(1.0, 2.0)

    def hook(g):
        graph.queue_callback(lambda: (note([a.grad]), graph.queue_callback(lambda: note([3 * g]))))
        graph.queue_callback(lambda: note([2 * g]))

    a.register_hook(hook)
    (a * a).sum().backward()
    torch.autograd.grad((a * 5).sum(), a)


def mutated():
    a = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        y = (b ** 2).sum()
        b.sin_()
        z = (b ** 3).sum()
        b.zero_()
        (y + z).backward()
    note([a.grad, b])


SCENARIOS = {"every": every, "any": any_, "twice": twice, "without": without, "nested": nested,
             "queued": queued, "mutated": mutated}

lines = []
for name, run in SCENARIOS.items():
    calls.clear()
    run()
    lines.append("  %s = {" % name)
    for grads in calls:
        items = ["false" if g is None else record.tensor(g) for g in grads]
        lines.append("    {n = %d, %s}," % (len(items), ", ".join(items)))
    lines.append("  },")
record.save(__file__, "\n".join(lines))
