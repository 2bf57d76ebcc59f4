#!/usr/bin/env python3
"""Records MultiheadAttention and the Transformer's classes: text, state, outputs, gradients of the
inputs in full and of every parameter as two weighted sums, into data/attention.lua, which
tests/lua/attention_spec.lua runs. Modules are made from a seed, as is what dropout draws. What
PyTorch 1.13 lacks (bias=False of layers, is_causal) is put together here from what it has.
Run: python3 tests/parity/gen_attention.py"""
import torch
from torch import nn

import record
from record import real, sums, total

cases = []
INF = float("inf")


def x(*shape):
    return real(*shape, dtype=torch.float32).requires_grad_()


def flags(*rows):
    return torch.tensor(rows, dtype=torch.bool)


def causal(n):
    return torch.triu(torch.full((n, n), -INF), 1)


def case(lua, make, call_lua, call, *inputs, text=True):
    """lua and call_lua: what Lua makes and calls, with inputs as a[1], a[2], …; make and call (of
    the module and the list a): the same here."""
    torch.manual_seed(len(cases))
    m = make()
    state = ['{"%s", {%s}, %s}' % (k, ", ".join(map(str, v.shape)), sums(v))
             for k, v in m.state_dict().items()]
    torch.manual_seed(99)
    outputs = call(m, inputs)
    outputs = [t for t in (outputs if isinstance(outputs, tuple) else (outputs,)) if t is not None]
    total(outputs).backward()
    grads = ['["%s"] = %s' % (k, sums(p.grad)) for k, p in m.named_parameters()
             if p.grad is not None]
    fields = ['make = [==[%s]==], call = "%s"' % (lua, call_lua)]
    if text:
        fields.append("text = [==[\n%s]==]" % m)
    fields += [
        "state = {%s}" % ", ".join(state),
        "inputs = {%s}" % ", ".join(record.tensor(t, grad=t.requires_grad) for t in inputs),
        "outputs = {%s}" % ", ".join(map(record.tensor, outputs)),
        "input_grads = {%s}" % ", ".join(
            "[%d] = %s" % (i + 1, record.tensor(t.grad)) for i, t in enumerate(inputs)
            if t.requires_grad),
        "grads = {%s}" % ", ".join(grads)]
    cases.append("{%s}" % ",\n ".join(fields))


def multihead():
    def mha(options, call_lua, call, *inputs, sizes="4, 2", **kw):
        e, h = map(int, sizes.split(","))
        lua = "nn.MultiheadAttention(%s%s)" % (sizes, ", " + options if options else "")
        case(lua, lambda: nn.MultiheadAttention(e, h, **kw), call_lua, call, *inputs)

    mine, itself = "m(a[1], a[1], a[1])", lambda m, a: m(a[0], a[0], a[0])
    three, of_three = "m(a[1], a[2], a[3])", lambda m, a: m(*a)
    mha("", mine, itself, x(3, 2, 4))
    mha("", three, of_three, x(3, 2, 4), x(2, 2, 4), x(2, 2, 4))
    mha("", mine, itself, x(3, 4))
    mha("{bias = false}", three, of_three, x(2, 4), x(3, 4), x(3, 4), bias=False)
    mha("{batch_first = true}", three, of_three, x(2, 3, 4), x(2, 1, 4), x(2, 1, 4),
        batch_first=True)
    mha("{kdim = 3, vdim = 5}", three, of_three, x(3, 2, 4), x(2, 2, 3), x(2, 2, 5), kdim=3, vdim=5)
    mha("{kdim = 3, bias = false}", three, of_three, x(3, 4), x(2, 3), x(2, 4), kdim=3, bias=False)
    mha("{add_bias_kv = true}", mine, itself, x(2, 2, 4), add_bias_kv=True)
    mha("{add_zero_attn = true}", mine, itself, x(2, 2, 4), add_zero_attn=True)
    mha("{dropout = 0.4}", mine, itself, x(3, 2, 4), dropout=0.4)
    mha("{dropout = 0.4}", "m(a[1], a[1], a[1], {need_weights = false})",
        lambda m, a: m(a[0], a[0], a[0], need_weights=False), x(3, 2, 4), dropout=0.4)
    mha("{dropout = 0.4}", "m:eval()(a[1], a[2], a[3])", lambda m, a: m.eval()(*a), x(2, 2, 4),
        x(2, 2, 4), x(2, 2, 4), dropout=0.4)
    mha("", "m(a[1], a[1], a[1], {average_attn_weights = false})",
        lambda m, a: m(a[0], a[0], a[0], average_attn_weights=False), x(3, 2, 4))
    mha("", "m(a[1], a[1], a[1], {average_attn_weights = false})",
        lambda m, a: m(a[0], a[0], a[0], average_attn_weights=False), x(3, 4))
    masks = [flags([False, True, False], [False, False, True]),
             torch.tensor([[0, 0.5, -INF], [-1, 0, 0]]),
             torch.rand(4, 2, 3, generator=torch.Generator().manual_seed(1)) > 0.7]
    for mask in masks:
        for need in (True, False):
            mha("", "m(a[1], a[2], a[3], {attn_mask = a[4], need_weights = %s})"
                % str(need).lower(),
                lambda m, a, need=need: m(*a[:3], attn_mask=a[3], need_weights=need),
                x(2, 2, 4), x(3, 2, 4), x(3, 2, 4), mask)
    mha("", "m(a[1], a[2], a[3], {attn_mask = a[4]})", lambda m, a: m(*a[:3], attn_mask=a[3]),
        x(2, 4), x(3, 4), x(3, 4), masks[2][:2])
    padding = flags([False, False, True], [False, True, True])
    mha("{batch_first = true}", "m(a[1], a[2], a[3], a[4])", lambda m, a: m(*a), x(2, 2, 4),
        x(2, 3, 4), x(2, 3, 4), padding, batch_first=True)
    mha("", "m(a[1], a[2], a[3], a[4], false)", lambda m, a: m(*a, need_weights=False), x(2, 2, 4),
        x(3, 2, 4), x(3, 2, 4), torch.tensor([[0, 1.5, -INF], [0.5, 0, 0]]))
    mha("", "m(a[1], a[2], a[3], a[4])", lambda m, a: m(*a), x(2, 4), x(3, 4), x(3, 4), padding[0])
    for options, kw in (("", {}), ("{add_bias_kv = true, add_zero_attn = true}",
                                   {"add_bias_kv": True, "add_zero_attn": True})):
        for need in (True, False):
            mha(options, "m(a[1], a[2], a[3], {key_padding_mask = a[4], attn_mask = a[5], "
                "need_weights = %s})" % str(need).lower(),
                lambda m, a, need=need: m(*a[:3], key_padding_mask=a[3], attn_mask=a[4],
                                          need_weights=need),
                x(2, 2, 4), x(3, 2, 4), x(3, 2, 4), padding, masks[0], **kw)
    # is_causal is a hint: the mask's triangle
    for need in (True, False):
        mha("", "m(a[1], a[1], a[1], {attn_mask = a[2], is_causal = true, need_weights = %s})"
            % str(need).lower(),
            lambda m, a, need=need: m(a[0], a[0], a[0], attn_mask=a[1], need_weights=need),
            x(3, 2, 4), causal(3))
    mha("", "m(a[1], a[1], a[1], {attn_mask = a[2], is_causal = true, key_padding_mask = a[3], "
        "need_weights = false})",
        lambda m, a: m(a[0], a[0], a[0], attn_mask=a[1], key_padding_mask=a[2],
                       need_weights=False), x(3, 2, 4), causal(3), padding)
    mha("", mine, itself, x(2, 1, 3), sizes="3, 1")
    # a query that sees nothing: NaN with weights
    mha("", "m(a[1], a[2], a[3], {attn_mask = a[4]})", lambda m, a: m(*a[:3], attn_mask=a[3]),
        x(2, 4), x(2, 4), x(2, 4), flags([True, True], [False, False]))


class Bare(nn.Module):
    """A layer without biases: bias=False of PyTorch 2, from the parts and the forward of 1.13."""

    def __init__(self, layer, d, heads, width):
        super().__init__()
        attend = ["self_attn"] if layer is nn.TransformerEncoderLayer else ["self_attn",
                                                                           "multihead_attn"]
        for name in attend:
            setattr(self, name, nn.MultiheadAttention(d, heads, dropout=0.0, bias=False))
        self.linear1 = nn.Linear(d, width, bias=False)
        self.dropout = nn.Dropout(0.0)
        self.linear2 = nn.Linear(width, d, bias=False)
        self.norm_first = False
        for i in range(len(attend) + 1):
            norm = nn.LayerNorm(d)
            norm.register_parameter("bias", None)
            setattr(self, "norm%d" % (i + 1), norm)
        for i in range(len(attend) + 1):
            setattr(self, "dropout%d" % (i + 1), nn.Dropout(0.0))
        self.activation, self.layer = nn.functional.relu, layer

    def __getattr__(self, name):
        if name in ("_sa_block", "_mha_block", "_ff_block"):
            return getattr(self.layer, name).__get__(self)
        return super().__getattr__(name)

    def forward(self, *a, **kw):
        return self.layer.forward(self, *a, **kw)


def layers():
    E, D = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    encoder, decoder = "nn.TransformerEncoderLayer(4, 2, {%s})", \
        "nn.TransformerDecoderLayer(4, 2, {%s})"
    size, dry = "dim_feedforward = 5", "dim_feedforward = 5, dropout = 0.0"
    one, of_one = "m(a[1])", lambda m, a: m(a[0])
    two, of_two = "m(a[1], a[2])", lambda m, a: m(a[0], a[1])
    padding, mask = flags([False, False, True], [False, True, True]), causal(3)

    def make(layer, **kw):
        return lambda: layer(4, 2, 5, kw.pop("dropout", 0.1), **kw)

    case(encoder % size, make(E), one, of_one, x(3, 2, 4))
    case(encoder % (dry + ", activation = 'gelu'"), make(E, dropout=0.0, activation="gelu"), one,
         of_one, x(3, 2, 4))
    case(encoder % (dry + ", activation = lucerna.tanh"),
         make(E, dropout=0.0, activation=torch.tanh), one, of_one, x(2, 1, 4))
    case(encoder % (dry + ", activation = nn.SiLU()"),
         make(E, dropout=0.0, activation=nn.SiLU()), one, of_one, x(2, 1, 4))
    # batch_first without dropout: PyTorch 2 draws in the order of memory, 1.13 does not
    case(encoder % (dry + ", norm_first = true, batch_first = true, layer_norm_eps = 0.1"),
         make(E, dropout=0.0, norm_first=True, batch_first=True, layer_norm_eps=0.1), one, of_one,
         x(2, 3, 4))
    case(encoder % dry, make(E, dropout=0.0), one, of_one, x(3, 4))
    case(encoder % dry, make(E, dropout=0.0), "m(a[1], a[2], a[3])", lambda m, a: m(*a),
         x(3, 2, 4), mask, padding)
    case(encoder % dry, make(E, dropout=0.0), "m(a[1], {src_mask = a[2], is_causal = true})",
         lambda m, a: m(*a), x(3, 2, 4), mask)
    case(encoder % (dry + ", bias = false"), lambda: Bare(E, 4, 2, 5), one, of_one, x(3, 2, 4),
         text=False)
    case("nn.TransformerEncoderLayer(4, 2, 5, 0.2, F.gelu, 1e-5, true):eval()",
         lambda: E(4, 2, 5, 0.2, nn.functional.gelu, 1e-5, True).eval(), one, of_one, x(2, 3, 4))
    case(decoder % size, make(D), two, of_two, x(2, 2, 4), x(3, 2, 4))
    case(decoder % (dry + ", norm_first = true, batch_first = true"),
         make(D, dropout=0.0, norm_first=True, batch_first=True), two, of_two, x(2, 2, 4),
         x(2, 3, 4))
    case(decoder % (dry + ", activation = F.gelu"),
         make(D, dropout=0.0, activation=nn.functional.gelu), two, of_two, x(2, 4), x(3, 4))
    case(decoder % dry, make(D, dropout=0.0), "m(a[1], a[2], {tgt_mask = a[3], memory_mask = a[4], "
         "tgt_key_padding_mask = a[5], memory_key_padding_mask = a[6]})",
         lambda m, a: m(*a), x(3, 2, 4), x(2, 2, 4), mask > 0,
         flags([False, True], [False, False], [True, False]),
         flags([False, False, True], [False, True, True]),
         flags([False, False], [False, False]))
    case(decoder % dry, make(D, dropout=0.0), "m(a[1], a[2], {tgt_mask = a[3], memory_mask = a[3], "
         "tgt_is_causal = true, memory_is_causal = true})", lambda m, a: m(*a, a[2]), x(3, 2, 4),
         x(3, 2, 4), mask)
    case(decoder % (dry + ", bias = false"), lambda: Bare(D, 4, 2, 5), two, of_two, x(2, 2, 4),
         x(3, 2, 4), text=False)


def stacks():
    def whole(*args):
        case(*args, text=False)  # gen_repr.py has it

    E, D = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    e, d = "nn.TransformerEncoderLayer(4, 2, 5, %s)", "nn.TransformerDecoderLayer(4, 2, 5, %s)"
    padding, mask = flags([False, False, False], [False, False, True]), causal(3)
    whole("nn.TransformerEncoder(%s, 2)" % e % 0.1, lambda: nn.TransformerEncoder(E(4, 2, 5), 2),
          "m(a[1])", lambda m, a: m(a[0]), x(3, 2, 4))
    whole("nn.TransformerEncoder(%s, 1, nn.LayerNorm(4))" % e % 0.0,
          lambda: nn.TransformerEncoder(E(4, 2, 5, 0.0), 1, nn.LayerNorm(4)),
          "m(a[1], a[2], a[3])", lambda m, a: m(*a), x(3, 2, 4), mask, padding)
    whole("nn.TransformerEncoder(%s, 1)" % e % 0.0,
          lambda: nn.TransformerEncoder(E(4, 2, 5, 0.0), 1), "m(a[1], {mask = a[2]})",
          lambda m, a: m(*a), x(3, 4), mask)
    whole("nn.TransformerDecoder(%s, 2, {norm = nn.LayerNorm(4)})" % d % 0.1,
          lambda: nn.TransformerDecoder(D(4, 2, 5), 2, nn.LayerNorm(4)), "m(a[1], a[2], a[3])",
          lambda m, a: m(*a), x(3, 2, 4), x(2, 2, 4), mask)
    whole("nn.TransformerDecoder(%s, 1)" % d % 0.0,
          lambda: nn.TransformerDecoder(D(4, 2, 5, 0.0), 1),
          "m(a[1], a[2], {memory_key_padding_mask = a[3], tgt_key_padding_mask = a[4]})",
          lambda m, a: m(a[0], a[1], memory_key_padding_mask=a[2], tgt_key_padding_mask=a[3]),
          x(2, 2, 4), x(3, 2, 4), padding, flags([False, True], [False, False]))
    whole("nn.Transformer(4, 2, 2, 1, 5)", lambda: nn.Transformer(4, 2, 2, 1, 5), "m(a[1], a[2])",
          lambda m, a: m(*a), x(3, 2, 4), x(2, 2, 4))
    whole("nn.Transformer{d_model = 4, nhead = 2, num_encoder_layers = 1, num_decoder_layers = 1, "
          "dim_feedforward = 5, dropout = 0.0, activation = 'gelu', layer_norm_eps = 0.01, "
          "batch_first = true, norm_first = true}",
          lambda: nn.Transformer(4, 2, 1, 1, 5, 0.0, "gelu", layer_norm_eps=0.01, batch_first=True,
                                 norm_first=True),
          "m(a[1], a[2], {tgt_mask = a[3], src_mask = a[4], src_key_padding_mask = a[5], "
          "memory_key_padding_mask = a[5]})",
          lambda m, a: m(a[0], a[1], tgt_mask=a[2], src_mask=a[3], src_key_padding_mask=a[4],
                         memory_key_padding_mask=a[4]),
          x(2, 3, 4), x(2, 3, 4), mask, flags([False, True, False]).expand(3, 3), padding)
    whole("nn.Transformer(4, 1, 1, 1, 5, {custom_encoder = nn.Identity()})",
          lambda: nn.Transformer(4, 1, 1, 1, 5, custom_encoder=Alone()), "m(a[1], a[2])",
          lambda m, a: m(*a), x(3, 4), x(2, 4))
    # In eval mode without gradients PyTorch leaves the padding out; then it is zero.
    torch.manual_seed(len(cases))
    m = nn.TransformerEncoder(E(4, 2, 5, batch_first=True), 2).eval()
    skipping(m, x(2, 3, 4), padding)


def functions():
    call = "F.multi_head_attention_forward(%s)"
    f = nn.functional.multi_head_attention_forward

    def of(lua, run, *inputs):
        case("nn.Identity()", nn.Identity, call % lua, run, *inputs, text=False)

    q, k = (2, 2, 4), (3, 2, 4)
    of("a[1], a[2], a[3], 4, 2, a[4], a[5], nil, nil, false, 0.0, a[6], a[7]",
       lambda m, a: f(*a[:3], 4, 2, *a[3:5], None, None, False, 0.0, *a[5:]),
       x(*q), x(*k), x(*k), x(12, 4), x(12), x(4, 4), x(4))
    of("a[1], a[1], a[1], 4, 2, a[2], nil, a[3], a[4], true, 0.5, a[5], nil, {training = false, "
       "attn_mask = a[6], average_attn_weights = false}",
       lambda m, a: f(a[0], a[0], a[0], 4, 2, a[1], None, a[2], a[3], True, 0.5, a[4], None,
                      training=False, attn_mask=a[5], average_attn_weights=False),
       x(*q), x(12, 4), x(1, 1, 4), x(1, 1, 4), x(4, 4), flags([False, True], [False, False]))
    for widths in ((3, 5), (4, 4)):
        of("a[1], a[2], a[3], 4, 1, nil, a[4], nil, nil, false, 0.3, a[5], a[6], {"
           "use_separate_proj_weight = true, q_proj_weight = a[7], k_proj_weight = a[8], "
           "v_proj_weight = a[9], key_padding_mask = a[10]}",
           lambda m, a: f(*a[:3], 4, 1, None, a[3], None, None, False, 0.3, a[4], a[5],
                          use_separate_proj_weight=True, q_proj_weight=a[6], k_proj_weight=a[7],
                          v_proj_weight=a[8], key_padding_mask=a[9]),
           x(2, 4), x(3, widths[0]), x(3, widths[1]), x(12), x(4, 4), x(4), x(4, 4),
           x(4, widths[0]), x(4, widths[1]), flags(False, True, False))
    of("a[1], a[2], a[2], 4, 2, a[3], a[4], nil, nil, false, 0.0, a[5], a[6], {static_k = a[7], "
       "static_v = a[8], need_weights = false}",
       lambda m, a: f(a[0], a[1], a[1], 4, 2, a[2], a[3], None, None, False, 0.0, a[4], a[5],
                      static_k=a[6], static_v=a[7], need_weights=False),
       x(*q), x(*k).detach(), x(12, 4), x(12), x(4, 4), x(4), x(4, 3, 2), x(4, 3, 2))


def training():
    """The losses of a Transformer that learns to turn sequences around, with dropout."""
    torch.manual_seed(7)
    embed, net, out = nn.Embedding(9, 8), nn.Transformer(8, 2, 2, 2, 16), nn.Linear(8, 9)
    parameters = [p for m in (embed, net, out) for p in m.parameters()]
    adam = torch.optim.Adam(parameters, lr=0.003)
    losses = []
    for _ in range(10):
        src = torch.randint(1, 9, (6, 5))
        tgt = torch.cat([torch.zeros(1, 5, dtype=torch.long), src.flip(0)])
        y = out(net(embed(src), embed(tgt[:-1]), tgt_mask=causal(6)))
        loss = nn.functional.cross_entropy(y.flatten(0, 1), tgt[1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append("%.7g" % loss)
    cases.append("{losses = {%s}}" % ", ".join(losses))


class Alone(nn.Identity):
    def forward(self, src, mask=None, src_key_padding_mask=None):
        return src


def skipping(m, src, padding):
    with torch.no_grad():
        y = m(src, src_key_padding_mask=padding)
    cases.append("{skips = {input = %s, padding = %s, output = %s}}"
                 % (record.tensor(src), record.tensor(padding), record.tensor(y)))


multihead()
layers()
functions()
training()
stacks()
record.save(__file__, ",\n".join(cases))
