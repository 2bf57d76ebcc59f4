#!/usr/bin/env python3
"""Records the functions of the families of convolutions, norms, paddings and shuffles, with
options, edge shapes and errors, into data/functional_conv.lua, which tests/lua/conv_norm_spec.lua
runs. Run: python3 tests/parity/gen_functional_conv.py"""
import torch
import torch.nn.functional as F

from record import NAMES, Const, case, real, write


def convolutions():
    case("F.conv3d", real(2, 2, 2, 3, 2), real(2, 1, 2, 2, 1), real(2), groups=2, padding="same")
    case("F.conv3d", real(1, 1, 3, 2, 3), real(1, 1, 2, 1, 2), dilation=(1, 1, 2),
         padding=(1, 0, 1))
    case("F.conv3d", real(1, 2, 2, 2), real(2, 1, 1, 2, 1), stride=(2, 1, 1), name="without batch")
    case("F.conv3d", real(0, 1, 2, 2, 2), real(1, 1, 1, 2, 1), real(1), name="empty batch")
    case("F.conv3d", real(1, 2, 2, 2, 2), real(1, 1, 1, 1, 1), name="channels")
    case("F.conv3d", real(1, 1, 2, 2, 2), real(1, 1, 3, 1, 1), name="kernel too large")
    case("F.conv2d", real(2, 9, 4, 3), real(9, 1, 2, 3), real(9), stride=2, padding=1, groups=9,
         name="depthwise")
    case("F.conv1d", real(1, 2, 5), real(3, 2, 2), padding="valid", stride=2)
    case("F.conv1d", real(2, 5), real(3, 2, 4), padding="same", name="same, even kernel")
    case("F.conv1d", real(1, 2, 5), real(3, 2, 2), padding="full", name="no such padding")
    case("F.conv_transpose3d", real(1, 2, 2, 1, 2), real(2, 1, 2, 2, 1), real(2), groups=2,
         stride=2, output_padding=(1, 0, 1), padding=(1, 0, 0))
    case("F.conv_transpose3d", real(2, 1, 2, 2), real(2, 1, 1, 2, 1), dilation=2, name="no batch")
    case("F.conv_transpose3d", real(1, 1, 1, 1, 1), real(2, 1, 1, 1, 1), name="channels")
    case("F.conv_transpose1d", real(0, 2, 3), real(2, 1, 2), real(1), name="empty batch")
    case("F.conv_transpose1d", real(1, 2, 3), real(2, 1, 2), output_padding=1, name="refused")
    case("F.conv_tbc", real(5, 2, 3), real(2, 3, 4), real(4))
    case("F.conv_tbc", real(4, 1, 2), real(3, 2, 1), real(1), 1, name="pad")
    case("F.conv_tbc", real(4, 2), real(3, 2, 1), real(1), name="rank")
    case("F.unfold", real(2, 2, 3, 4), 2)
    case("F.unfold", real(2, 4, 3), (2, 1), dilation=(2, 1), padding=(1, 0), stride=(1, 2))
    case("F.unfold", real(0, 2, 3, 3), 2, name="empty batch")
    case("F.unfold", real(1, 1, 2, 2), 3, name="kernel too large")
    case("F.unfold", real(1, 1, 2, 2), 0, name="kernel of 0")
    case("F.unfold", real(2, 2), 1, name="rank")
    case("F.fold", real(2, 8, 6), (3, 4), 2)
    case("F.fold", real(2, 9), (5, 3), (2, 1), dilation=(2, 1), stride=(1, 2), padding=(0, 1))
    case("F.fold", real(1, 3, 4), 3, 2, name="channels")
    case("F.fold", real(1, 4, 3), 3, 2, name="places")


def norms():
    case("F.batch_norm", real(2, 2, 1, 2, 2), None, None, real(2), real(2), True)
    case("F.batch_norm", real(2, 2, 3), None, None, None, real(2), True, name="bias alone")
    case("F.batch_norm", real(0, 2, 3), Const(real(2)), Const(real(2).abs() + 1),
         name="empty, eval")
    case("F.batch_norm", real(1, 2), None, None, training=True, name="one value")
    case("F.instance_norm", real(2, 2, 2, 1, 2), None, None, real(2), real(2))
    case("F.instance_norm", real(2, 2, 1), name="one element")
    case("F.group_norm", real(1, 2, 3), 2, real(2), None, 0.5, name="weight alone")
    case("F.group_norm", real(1, 2), 2, name="one value")
    case("F.layer_norm", real(2, 0), (0,), name="nothing")
    case("F.local_response_norm", real(2, 3, 2), 2)
    case("F.local_response_norm", real(1, 4, 2, 2), 3, 0.5, 0.5, 2.0)
    case("F.local_response_norm", real(1, 2, 1, 2, 1), 5, alpha=1.0, name="wider than the channels")
    case("F.local_response_norm", real(0, 3, 2), 2, name="empty batch")
    case("F.local_response_norm", real(2, 3), 2, name="rank")


def paddings():
    for mode in ("reflect", "replicate", "circular"):
        case("F.pad", real(1, 2, 4), (2, 1), mode, name=mode)
        case("F.pad", real(1, 1, 3, 3), (1, 0, 2, 1), mode, name=mode)
        case("F.pad", real(1, 1, 2, 2, 3), (1, 1, 1, 0, 0, 1), mode, name=mode)
        case("F.pad", real(2, 2), (1, 1, 1, 1), mode, name=mode + ", rank")
        case("F.pad", real(1, 1, 3), (1, 1), mode, 2.0, name=mode + " takes no value")
    case("F.pad", real(1, 1, 3), (3, 1), "reflect", name="as wide as the input")
    case("F.pad", real(1, 1, 3), (4, 1), "circular", name="wider than the input")
    case("F.pad", real(2, 3), (1, -1, 0, 2), value=2.5, name="constant")
    case("F.pad", real(2, 3), (1, 2, 3), name="odd length")


def shuffles():
    case("F.pixel_shuffle", real(1, 8, 1, 2), 2)
    case("F.pixel_shuffle", real(9, 1, 1), 3, name="without batch")
    case("F.pixel_shuffle", real(3, 1, 1), 2, name="channels")
    case("F.pixel_shuffle", real(3, 1), 2, name="rank")
    case("F.pixel_shuffle", real(3, 1, 1), 0, name="factor 0")
    case("F.pixel_unshuffle", real(2, 1, 2, 4), 2)
    case("F.pixel_unshuffle", real(1, 2, 3), 2, name="width")
    plain = lambda x, groups: x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)
    for fn in ("F.channel_shuffle", "F.native_channel_shuffle"):
        case(fn, real(2, 4, 2), 2, ref=plain)
        case(fn, real(0, 4, 2, 1), 4, ref=plain, name="empty batch")
        case(fn, real(1, 4, 2), 3, ref=plain, name="groups")


def crops():
    for pad in ((2, -1), (-1, 2), (-1, -2), (-3, 1)):
        case("F.pad", real(1, 2, 4), pad, "circular", name="circular, of what is left")
    case("F.pad", real(1, 2, 3, 4), (-1, 2, 1, -1), "circular", name="circular, of what is left")


def wrapping():
    """Sums of integers beyond their type wrap."""
    for dtype, x, w in ((torch.int64, 2 ** 62 + 5, 3), (torch.int32, 2 ** 30 + 7, 9),
                        (torch.int16, 2 ** 14 + 3, 2 ** 14 + 1), (torch.uint8, 201, 177)):
        name = "wrapping " + NAMES[dtype]
        for n, stride, padding, groups in ((1, 1, 1, 1), (2, (2, 1), (1, 0), 2), (3, 1, 1, 1)):
            values = (torch.arange(8 * 3 ** n).view(2, 4, *[3] * n) + x).to(dtype)
            filters = torch.full((2, 4 // groups) + (2,) * n, w, dtype=dtype)
            case("F.conv%dd" % n, values, filters, torch.tensor([5, -1]).to(dtype), stride, padding,
                 1, groups, name=name)


convolutions()
norms()
paddings()
shuffles()
crops()
wrapping()
write("functional_conv", __file__)
