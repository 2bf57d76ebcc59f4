#!/usr/bin/env python3
"""Records scaled_dot_product_attention into data/functional_attention.lua, which
tests/lua/attention_spec.lua runs. PyTorch 1.13 has no public function of that name: `attention`
below is the formula of the one of PyTorch 2.9, with its checks and its zeros for queries that see
no key. Run: python3 tests/parity/gen_functional_attention.py"""
import math

import torch

import record
from record import Const, real, write

INF = float("inf")


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), -INF)
    elif attn_mask is not None:
        scores = scores + attn_mask
    blind = (scores == -INF).all(-1, keepdim=True)
    weights = scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)
    return torch.dropout(weights, dropout_p, dropout_p > 0) @ value


def case(*args, **kw):
    record.case("F.scaled_dot_product_attention", *args, ref=attention, **kw)


def seen(*rows):
    return Const(torch.tensor(rows, dtype=torch.bool))


def main():
    q, k, v = (1, 2, 3, 4), (1, 2, 2, 4), (1, 2, 2, 3)
    three = real(2, 3, 2), real(2, 3, 2), real(2, 3, 2)
    case(real(*q), real(*k), real(*v))
    case(real(3, 2), real(4, 2), real(4, 1), name="without batch")
    case(*three, is_causal=True, name="causal")
    case(real(2, 2), real(4, 2), real(4, 2), None, 0.0, True, name="causal, more keys")
    case(real(4, 2), real(2, 2), real(2, 2), is_causal=True, name="causal, more queries")
    case(*three, scale=0.25, name="scale")
    case(*three, scale=-2.0, is_causal=True, name="scale, causal")
    case(*three, seen([True, False, True], [False, True, True], [True, True, True]), name="bool")
    case(*three, seen([True, False, True], [False, False, False], [True, True, True]),
         name="a query that sees nothing")
    case(*three, seen([False, True, True]), name="bool, for all queries")
    case(real(2, 2, 3, 2), real(2, 2, 3, 2), real(2, 2, 3, 2),
         seen([[[True, False, True]]], [[[False, True, True]]]), name="bool, for each item")
    case(*three, real(3, 3), name="float, learned")
    case(*three, Const(real(2, 1, 3)), name="float, broadcast")
    case(*three, Const(torch.tensor([[0, -INF, 1.0], [-INF] * 3, [2, 0, 0]]).double()),
         name="float, a query that sees nothing")
    case(*three, Const(torch.tensor([0.5]).double()), name="float, one")
    case(real(2, 3, 2), real(1, 3, 2), real(3, 2), name="batches that broadcast")
    case(real(3, 2, 2), real(3, 4, 2), real(3, 4, 2), Const(real(2, 1, 1, 4)),
         name="the mask has more dimensions")
    case(real(4, 2, 3), real(2, 3, 3), real(2, 3, 2), enable_gqa=True, name="two heads share")
    case(real(1, 4, 2, 3), real(1, 1, 3, 3), real(1, 2, 3, 2), enable_gqa=True, is_causal=True,
         name="key and value share apart")
    case(*three, None, 0.5, seed=4, name="dropout")
    case(*three, seen([True, True, False]), 0.3, seed=5, name="dropout and a mask")
    case(*three, dropout_p=0.4, is_causal=True, seed=6, name="dropout, causal")
    case(real(0, 2, 3), real(0, 4, 3), real(0, 4, 2), name="no batch items")
    case(real(2, 0, 3), real(2, 4, 3), real(2, 4, 2), name="no queries")
    case(real(2, 3, 1), real(2, 0, 1), real(2, 0, 2), name="no keys")
    case(real(2, 3, 2, dtype=torch.float32), real(2, 3, 2, dtype=torch.float32),
         real(2, 3, 2, dtype=torch.float32), is_causal=True, name="float32")
    case(real(2, 2), real(2, 2), real(2, 2), seen([True, False]), 0.0, True, name="mask and causal")
    case(real(2, 2), real(2, 2).float(), real(2, 2), name="two dtypes")
    case(real(2), real(2, 2), real(2, 2), name="a vector")
    case(real(2, 2), real(2, 3), real(2, 2), name="features")
    case(real(2, 2), real(3, 2), real(2, 2), name="places")
    case(real(2, 2), real(3, 2), real(3, 2), seen([True, False]), name="mask's columns")
    case(real(3, 2, 2), real(2, 2, 2), real(2, 2, 2), name="batches that do not broadcast")
    write("functional_attention", __file__)


main()
