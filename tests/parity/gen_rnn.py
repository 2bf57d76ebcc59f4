"""Records recurrent layers and cells of PyTorch: outputs, states, gradients of inputs and states in
full and of every parameter as two weighted sums; state_dict shapes and repr. Modules are made from
a seed. Read by tests/lua/rnn_spec.lua."""
import torch
from torch import nn
from torch.nn.utils import rnn

import record
from record import sums, total

lines = []


def lua(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    return '"%s"' % v if isinstance(v, str) else str(v)


def states(hx):
    if hx is None:
        return []
    return list(hx) if isinstance(hx, tuple) else [hx]


def real(*shape):
    return record.real(*shape, dtype=torch.float32).requires_grad_()


def flat(result):
    out, state = result if isinstance(result, tuple) else (result, None)
    if isinstance(out, rnn.PackedSequence):
        out = out.data
    return [out] + states(state)


def case(name, make, options, x, hx=None, lengths=None):
    torch.manual_seed(len(lines))
    m = make(3, 4, **options)
    packed = x if lengths is None else rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    outputs = flat(m(packed, hx))
    total(outputs).backward()
    hxs = states(hx)
    shapes = ['{"%s", {%s}}' % (k, ", ".join(map(str, v.shape))) for k, v in m.state_dict().items()]
    fields = [
        'class = "%s"' % name, "seed = %d" % len(lines), 'repr = "%s"' % m,
        "options = {%s}" % ", ".join("%s = %s" % (k, lua(v)) for k, v in options.items()),
        "input = " + record.tensor(x),
        "hx = {%s}" % ", ".join(record.tensor(h) for h in hxs),
        "lengths = %s" % ("{%s}" % ", ".join(map(str, lengths)) if lengths else "nil"),
        "outputs = {%s}" % ", ".join(record.tensor(t) for t in outputs),
        "grads = {%s}" % ", ".join(record.tensor(t.grad) for t in [x] + hxs),
        "weights = {%s}" % ", ".join(sums(p.grad) for p in m.parameters()),
        "state = {%s}" % ", ".join(shapes),
    ]
    lines.append("  {\n    " + ",\n    ".join(fields) + ",\n  },\n")


def both(*shape):
    return real(*shape), real(*shape)


case("RNN", nn.RNN, {}, real(3, 2, 3))
case("RNN", nn.RNN, {"nonlinearity": "relu", "num_layers": 2, "bias": False}, real(3, 2, 3),
     real(2, 2, 4))
case("RNN", nn.RNN, {"bidirectional": True, "batch_first": True}, real(2, 3, 3), real(2, 2, 4))
case("RNN", nn.RNN, {}, real(4, 3), real(1, 4))
case("GRU", nn.GRU, {}, real(3, 2, 3))
case("GRU", nn.GRU, {"num_layers": 2, "bidirectional": True}, real(3, 2, 3), real(4, 2, 4))
case("GRU", nn.GRU, {"bias": False, "batch_first": True}, real(4, 3), real(1, 4))
case("GRU", nn.GRU, {"bidirectional": True}, real(4, 3, 3), real(2, 3, 4), [2, 4, 1])
case("LSTM", nn.LSTM, {}, real(3, 2, 3))
case("LSTM", nn.LSTM, {"num_layers": 2, "bidirectional": True}, real(3, 2, 3), both(4, 2, 4))
case("LSTM", nn.LSTM, {"proj_size": 2, "batch_first": True}, real(2, 3, 3),
     (real(1, 2, 2), real(1, 2, 4)))
case("LSTM", nn.LSTM, {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False},
     real(4, 3))
case("LSTM", nn.LSTM, {"num_layers": 2, "bidirectional": True}, real(4, 3, 3), both(4, 3, 4),
     [2, 4, 3])
case("LSTM", nn.LSTM, {"num_layers": 2, "dropout": 1.0}, real(3, 1, 3))
case("LSTM", nn.LSTM, {"batch_first": False}, real(2, 0, 3))
case("RNNCell", nn.RNNCell, {}, real(2, 3))
case("RNNCell", nn.RNNCell, {"nonlinearity": "relu", "bias": False}, real(3), real(4))
case("GRUCell", nn.GRUCell, {}, real(2, 3), real(2, 4))
case("GRUCell", nn.GRUCell, {"bias": False}, real(3))


case("LSTMCell", nn.LSTMCell, {}, real(2, 3), both(2, 4))
case("LSTMCell", nn.LSTMCell, {"bias": False}, real(3))

record.save(__file__, "".join(lines).rstrip())
