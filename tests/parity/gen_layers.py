"""Records what real layers of torch.nn are after manual_seed(42): text, state, output for a seeded
input and gradients, into data/layers.lua. Run: python3 tests/parity/gen_layers.py
Dims and positions in texts count from 1, as everywhere in Lucerna."""
import torch
from torch import nn

from record import save

# Lua's constructor, Python's, input shapes (or a tensor), text where it counts from 1.
CASES = [
    ("nn.Identity()", nn.Identity, [(2, 3)]),
    ("nn.Linear(3, 5)", lambda: nn.Linear(3, 5), [(4, 3)]),
    ("nn.Linear(3, 5, {bias = false})", lambda: nn.Linear(3, 5, bias=False), [(2, 4, 3)]),
    ("nn.Linear(3, 2, {dtype = lucerna.float64})",
     lambda: nn.Linear(3, 2, dtype=torch.float64), [(3,)]),
    ("nn.Bilinear(3, 4, 2)", lambda: nn.Bilinear(3, 4, 2), [(5, 3), (5, 4)]),
    ("nn.Bilinear(3, 4, 2, false)", lambda: nn.Bilinear(3, 4, 2, False), [(5, 3), (5, 4)]),
    ("nn.Conv1d(2, 4, 3)", lambda: nn.Conv1d(2, 4, 3), [(2, 2, 7)]),
    ("nn.Conv1d(2, 4, 3, {stride = 2, padding = 1, dilation = 2, groups = 2})",
     lambda: nn.Conv1d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2), [(2, 9)]),
    ("nn.Conv1d(1, 2, 4, {padding = 'same'})",
     lambda: nn.Conv1d(1, 2, 4, padding="same"), [(1, 1, 6)]),
    ("nn.Conv2d(1, 2, 3)", lambda: nn.Conv2d(1, 2, 3), [(2, 1, 5, 6)]),
    ("nn.Conv2d(2, 4, {3, 2}, {stride = {2, 1}, padding = {1, 0}, bias = false})",
     lambda: nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), bias=False), [(1, 2, 6, 5)]),
    ("nn.Conv2d(4, 4, 3, 1, 1, 1, 4)", lambda: nn.Conv2d(4, 4, 3, 1, 1, 1, 4), [(4, 5, 5)]),
    ("nn.Conv2d(1, 2, 3, {padding = 2, padding_mode = 'reflect'})",
     lambda: nn.Conv2d(1, 2, 3, padding=2, padding_mode="reflect"), [(1, 1, 4, 4)]),
    ("nn.Conv2d(1, 2, 4, {padding = 'same', padding_mode = 'circular'})",
     lambda: nn.Conv2d(1, 2, 4, padding="same", padding_mode="circular"), [(1, 1, 5, 5)]),
    ("nn.Conv2d(1, 1, 3, {padding = 1, padding_mode = 'replicate'})",
     lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="replicate"), [(1, 4, 4)]),
    ("nn.MaxPool2d(2)", lambda: nn.MaxPool2d(2), [(1, 2, 4, 4)]),
    ("nn.MaxPool2d({3, 2}, {stride = 1, padding = 1, dilation = {1, 2}, ceil_mode = true})",
     lambda: nn.MaxPool2d((3, 2), stride=1, padding=1, dilation=(1, 2), ceil_mode=True),
     [(2, 5, 6)]),
    ("nn.AvgPool2d(2)", lambda: nn.AvgPool2d(2), [(1, 2, 5, 4)]),
    ("nn.AvgPool2d(3, 2, {padding = 1, count_include_pad = false})",
     lambda: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), [(2, 5, 5)]),
    ("nn.AdaptiveAvgPool2d(3)", lambda: nn.AdaptiveAvgPool2d(3), [(1, 2, 5, 7)]),
    ("nn.AdaptiveAvgPool2d({2, 3})", lambda: nn.AdaptiveAvgPool2d((2, 3)), [(2, 5, 7)]),
    ("nn.BatchNorm1d(3)", lambda: nn.BatchNorm1d(3), [(4, 3)]),
    ("nn.BatchNorm1d(3, {affine = false, track_running_stats = false})",
     lambda: nn.BatchNorm1d(3, affine=False, track_running_stats=False), [(4, 3, 2)]),
    ("nn.BatchNorm2d(3, {eps = 0.01, momentum = 0.3})",
     lambda: nn.BatchNorm2d(3, eps=0.01, momentum=0.3), [(2, 3, 4, 4)]),
    ("nn.BatchNorm2d(2, {momentum = lucerna.none})",
     lambda: nn.BatchNorm2d(2, momentum=None), [(2, 2, 3, 3)]),
    ("nn.LayerNorm(4)", lambda: nn.LayerNorm(4), [(3, 4)]),
    ("nn.LayerNorm({2, 4}, {eps = 0.001})", lambda: nn.LayerNorm([2, 4], eps=0.001), [(3, 2, 4)]),
    ("nn.LayerNorm(4, {elementwise_affine = false})",
     lambda: nn.LayerNorm(4, elementwise_affine=False), [(3, 4)]),
    ("nn.Dropout(0.3)", lambda: nn.Dropout(0.3), [(4, 5)]),
    ("nn.Embedding(5, 3)", lambda: nn.Embedding(5, 3), [torch.tensor([[0, 4], [2, 2]])]),
    ("nn.Embedding(5, 3, {padding_idx = 1})", lambda: nn.Embedding(5, 3, padding_idx=0),
     [torch.tensor([0, 4, 0])], "Embedding(5, 3, padding_idx=1)"),
    ("nn.Flatten()", nn.Flatten, [(2, 3, 4)], "Flatten(start_dim=2, end_dim=-1)"),
    ("nn.Flatten(1, 2)", lambda: nn.Flatten(0, 1), [(2, 3, 4)], "Flatten(start_dim=1, end_dim=2)"),
    ("nn.ReLU()", nn.ReLU, [(3, 3)]),
    ("nn.Tanh()", nn.Tanh, [(3, 3)]),
    ("nn.Sigmoid()", nn.Sigmoid, [(3, 3)]),
    ("nn.GELU()", nn.GELU, [(3, 3)]),
    ("nn.GELU('tanh')", lambda: nn.GELU("tanh"), [(3, 3)]),
    ("nn.Softmax(2)", lambda: nn.Softmax(1), [(3, 4)], "Softmax(dim=2)"),
    ("nn.LogSoftmax({dim = -1})", lambda: nn.LogSoftmax(dim=-1), [(3, 4)], "LogSoftmax(dim=-1)"),
    ("nn.NLLLoss()", nn.NLLLoss, [(3, 4), torch.tensor([0, 3, 1])]),
    ("nn.NLLLoss{weight = lucerna.tensor{1, 2, 0.5, 1}, ignore_index = 2, reduction = 'sum'}",
     lambda: nn.NLLLoss(weight=torch.tensor([1, 2, 0.5, 1]), ignore_index=1, reduction="sum"),
     [(3, 4), torch.tensor([0, 3, 1])]),
    ("nn.CrossEntropyLoss()", nn.CrossEntropyLoss, [(3, 4), torch.tensor([0, 3, 1])]),
    ("nn.CrossEntropyLoss{label_smoothing = 0.1, reduction = 'none'}",
     lambda: nn.CrossEntropyLoss(label_smoothing=0.1, reduction="none"),
     [(2, 4, 3), torch.tensor([[0, 3, 1], [2, 2, 0]])]),
    ("nn.MSELoss()", nn.MSELoss, [(3, 4), (3, 4)]),
    ("nn.MSELoss{reduction = 'sum'}", lambda: nn.MSELoss(reduction="sum"), [(3, 4), (3, 4)]),
    ("nn.BCEWithLogitsLoss()", nn.BCEWithLogitsLoss,
     [(3, 4), torch.rand(3, 4, generator=torch.Generator().manual_seed(3))]),
    ("nn.BCEWithLogitsLoss{pos_weight = lucerna.tensor{1.0, 2.0, 3.0, 4.0}}",
     lambda: nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2, 3, 4])),
     [(3, 4), torch.ones(3, 4)]),
    ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))",
     lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), [(2, 3)]),
]


class Plain(torch.Tensor):
    """Integers that are numbers, not positions."""

    def __new__(cls, t):
        return t.as_subclass(cls)


def number(v):
    if v != v:
        return "0/0"
    return repr(v) if isinstance(v, int) else f"{v:.9g}"


def tensor(t):
    dtype = str(t.dtype)[6:]
    values = ", ".join(number(v) for v in t.detach().flatten().tolist())
    return f'{{dtype = "{dtype}", shape = {{{", ".join(map(str, t.shape))}}}, data = {{{values}}}}}'


def inputs_of(shapes, dtype):
    """Seeded inputs; class ids and positions are given, and recorded from 1."""
    generator = torch.Generator().manual_seed(1)
    made = []
    for shape in shapes:
        if torch.is_tensor(shape):
            made.append(shape)
        else:
            made.append(torch.randn(shape, generator=generator).to(dtype).requires_grad_())
    return made


def from_one(t):
    if t.dtype != torch.int64 or isinstance(t, Plain):
        return t
    return torch.where(t >= 0, t + 1, t)


def outputs_of(output):
    return output if isinstance(output, tuple) else (output,)


def record(lua, make, shapes, text=None):
    torch.manual_seed(42)
    layer = make()
    state = {k: v.clone() for k, v in layer.state_dict().items()}
    dtype = next((p.dtype for p in layer.parameters()), torch.float32)
    inputs = inputs_of(shapes, dtype)
    output, *indices = outputs_of(layer(*inputs))
    grads = []
    if output.requires_grad:
        weights = torch.linspace(0.5, 1.5, output.numel(), dtype=output.dtype).view(output.shape)
        (output * weights).sum().backward()
        grads = [(f"input{i + 1}", x.grad) for i, x in enumerate(inputs) if x.grad is not None]
        grads += [(k, p.grad) for k, p in layer.named_parameters()]
    after = {k: v for k, v in layer.state_dict().items() if k.startswith(("running", "num"))}
    lines = [f"  {{lua = {lua!r}, text = [[\n{text or repr(layer)}]],",
             "   inputs = {" + ", ".join(tensor(from_one(x)) for x in inputs) + "},",
             "   state = {" + ", ".join(f'{{"{k}", {tensor(v)}}}' for k, v in state.items()) + "},",
             "   after = {" + ", ".join(f'["{k}"] = {tensor(v)}' for k, v in after.items()) + "},",
             "   output = " + tensor(output) + ",",
             *("   indices = " + tensor(from_one(x)) + "," for x in indices),
             "   grads = {" + ", ".join(f'["{k}"] = {tensor(g)}' for k, g in grads) + "}},"]
    return "\n".join(lines)


def write(cases, generator):
    torch.manual_seed(0)
    save(generator, "\n".join(record(*case) for case in cases))


if __name__ == "__main__":
    write(CASES, __file__)
