"""Writes small PNG files of every kind and what is in them: tests/parity/data/images.lua.

The encoder here is a few lines over zlib, so that palettes, transparent colours, 16 bits and
interlacing (which PIL does not write) are all there; PIL reads each one to check it."""
import io
import os
import random
import struct
import zlib

import numpy as np
from PIL import Image

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2)]
random.seed(1)


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def pack_row(values, bits):
    if bits == 16:
        return b"".join(struct.pack(">H", v) for v in values)
    text = "".join(format(v, "0%db" % bits) for v in values)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def rows(pixels, bits):
    """Filter 1 (differences) would need bytes per pixel: rows are stored as they are."""
    return b"".join(b"\0" + pack_row([v for pixel in row for v in pixel], bits) for row in pixels)


def encode(pixels, color, bits, interlaced, extra=b""):
    height, width = len(pixels), len(pixels[0])
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, int(interlaced))
    if interlaced:
        data = b""
        for x0, y0, dx, dy in PASSES:
            part = [row[x0::dx] for row in pixels[y0::dy]]
            data += rows([row for row in part if row], bits)
    else:
        data = rows(pixels, bits)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT",
            zlib.compress(data)) + chunk(b"IEND", b""))


def noise(color, bits, height=5, width=6, most=None):
    most = (1 << bits) - 1 if most is None else most
    return [[[random.randint(0, most) for _ in range(CHANNELS[color])] for _ in range(width)]
            for _ in range(height)]


def scale(pixels, bits):
    factor = 255 // ((1 << bits) - 1) if bits < 8 else 1
    return [[[v * factor for v in pixel] for pixel in row] for row in pixels]


def planes(pixels):
    return np.array(pixels).transpose(2, 0, 1).tolist()


def check(png, pixels, bits):
    image = Image.open(io.BytesIO(png))
    mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[len(pixels[0][0])]
    if bits < 16:
        seen = np.asarray(image.convert(mode)).reshape(np.array(pixels).shape)
        assert (seen == np.array(pixels)).all()


def case(name, color, bits, interlaced):
    pixels = noise(color, bits)
    png = encode(pixels, color, bits, interlaced)
    want = scale(pixels, bits)
    check(png, want, bits)
    return {"name": name, "png": png, "bits": bits, "planes": planes(want)}


def palette(name, bits, clear, interlaced):
    colors = [[random.randint(0, 255) for _ in range(3)] for _ in range(min(1 << bits, 9))]
    alphas = [random.randint(0, 255) for _ in colors[:3]] if clear else []
    pixels = noise(3, bits, most=len(colors) - 1)
    extra = chunk(b"PLTE", bytes(v for c in colors for v in c))
    if clear:
        extra += chunk(b"tRNS", bytes(alphas))
    png = encode(pixels, 3, bits, interlaced, extra)
    alphas += [255] * len(colors)
    want = [[colors[p[0]] + ([alphas[p[0]]] if clear else []) for p in row] for row in pixels]
    check(png, want, bits)
    return {"name": name, "png": png, "bits": bits, "planes": planes(want)}


def transparent(name, color, bits, key):
    pixels = noise(color, bits)
    pixels[1][1] = pixels[3][2] = key
    extra = chunk(b"tRNS", b"".join(struct.pack(">H", v) for v in key))
    png = encode(pixels, color, bits, False, extra)
    full = (1 << max(bits, 8)) - 1
    want = [[p + [0 if q == key else full] for p, q in zip(row, raw)]
            for row, raw in zip(scale(pixels, bits), pixels)]
    return {"name": name, "png": png, "bits": bits, "planes": planes(want)}


def cases():
    kinds = [(0, b) for b in (1, 2, 4, 8, 16)] + [(c, b) for c in (2, 4, 6) for b in (8, 16)]
    for color, bits in kinds:
        for interlaced in (False, True):
            name = "color %d, %d bits%s" % (color, bits, ", interlaced" if interlaced else "")
            yield case(name, color, bits, interlaced)
    for bits in (1, 2, 4, 8):
        yield palette("palette, %d bits" % bits, bits, False, bits == 4)
        yield palette("palette, %d bits, clear" % bits, bits, True, bits == 2)
    yield transparent("a clear gray", 0, 4, [3])
    yield transparent("a clear gray, 8 bits", 0, 8, [77])
    yield transparent("a clear color", 2, 8, [1, 2, 3])
    yield transparent("a clear color, 16 bits", 2, 16, [1, 2, 300])


def text(value):
    if isinstance(value, list):
        return "{" + ",".join(text(v) for v in value) + "}"
    if isinstance(value, bytes):
        return '"' + "".join("\\x%02x" % b for b in value) + '"'
    return '"%s"' % value if isinstance(value, str) else str(value)


with open(os.path.join(FOLDER, "images.lua"), "w", encoding="utf-8") as out:
    out.write("-- PNG files and their planes [C, H, W], by tests/parity/gen_images.py.\nreturn {\n")
    for item in cases():
        out.write("{" + ", ".join("%s = %s" % (k, text(v)) for k, v in item.items()) + "},\n")
    out.write("}\n")
