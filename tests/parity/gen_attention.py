#!/usr/bin/env python3
"""Records MultiheadAttention and the Transformer's classes: text, state, outputs, gradients of the
inputs in full and of every parameter as two weighted sums, into data/attention.lua, which
tests/lua/attention_spec.lua runs. Modules are made from a seed, as is what dropout draws. What
PyTorch 1.13 lacks (bias=False of layers, is_causal) is put together here from what it has.
Run: python3 tests/parity/gen_attention.py"""
import os

import torch
from torch import nn

import record
from record import real

cases = []
INF = float("inf")


def sums(g):
    g = g.detach().double().flatten()
    w = torch.arange(1, g.numel() + 1, dtype=torch.float64)
    return ("{%.8g, %.8g}" % (g.sum(), (g * w / g.numel()).sum())).replace("nan", "0/0")


def total(outputs):
    """A loss that weighs every element differently."""
    loss = 0
    for t in outputs:
        w = torch.arange(1, t.numel() + 1, dtype=t.dtype).reshape(t.shape) / t.numel()
        loss = loss + (t * w).sum()
    return loss


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


def write():
    path = os.path.join(record.HERE, "attention.lua")
    with open(path, "w") as f:
        f.write("-- Written by tests/parity/gen_attention.py from PyTorch %s: do not edit.\n"
                % torch.__version__)
        f.write("return {\n%s\n}\n" % ",\n".join(cases))
    print("attention %d cases, %d bytes" % (len(cases), os.path.getsize(path)))


multihead()
write()
