"""Records torch.frombuffer and the bytes of tensors: tests/parity/data/buffer.lua, for
tests/lua/buffer_spec.lua."""
import torch

from record import NAMES, number, save

DTYPES = [d for d in NAMES if d != torch.bool and not d.is_complex]
BYTES = bytes([0, 0, 128, 63, 1, 0, 66, 192, 3, 60, 0, 64, 5, 64, 16, 193])


def text(data):
    return '"%s"' % "".join("\\%03d" % b for b in data)


def values(t):
    return "{%s}" % ",".join(number(v, 17) for v in t.flatten().tolist())


def frombuffer(data, dtype, **options):
    line = '{fn="frombuffer", bytes=%s, dtype="%s"' % (text(data), NAMES[dtype])
    for key, value in options.items():
        line += ", %s=%d" % (key, value)
    try:
        line += ", out=%s}" % values(torch.frombuffer(bytearray(data), dtype=dtype, **options))
    except ValueError as e:
        line += ', error="%s"}' % e
    return line


def raw(t):
    return bytes(t.contiguous().flatten().view(torch.uint8).tolist())


def tostring(t):
    return '{fn="tostring", dtype="%s", values=%s, bytes=%s}' % (
        NAMES[t.dtype], values(t), text(raw(t)))


lines = []
for dtype in DTYPES:
    lines.append(frombuffer(BYTES, dtype))
    size = torch.empty(0, dtype=dtype).element_size()
    lines.append(frombuffer(BYTES, dtype, count=1, offset=size))
    lines.append(tostring(torch.tensor([1, 0, 2, 100]).to(dtype)))
lines.append(frombuffer(bytes([0, 1, 1]), torch.bool))
lines.append(tostring(torch.tensor([True, False])))
f32 = torch.float32
for options in (dict(count=0), dict(offset=10), dict(offset=-1), dict(offset=12), dict(),
                dict(offset=2), dict(count=3), dict(count=2, offset=4), dict(count=2, offset=2),
                dict(count=-5), dict(count=2, offset=3)):
    lines.append(frombuffer(bytes(10), f32, **options))
lines.append(frombuffer(b"", f32))
save(__file__, ",\n".join(lines))
