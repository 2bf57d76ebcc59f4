# PyTorch's side of files.lua. It has no safetensors of its own: what stands in is its storage over
# a file and its copy of as many bytes.
import atexit
import os
import tempfile

import torch
from twins import case

BYTES = 100 << 22


def temporary():
    handle, path = tempfile.mkstemp()
    os.close(handle)
    atexit.register(lambda: os.path.exists(path) and os.remove(path))
    return path


def state():
    """As many parameters as ResNet-18 has, in tensors of its largest sizes."""
    sizes = [(512, 512, 3, 3)] * 3 + [(512, 256, 3, 3)] + [(256, 256, 3, 3)] * 3
    sizes += [(256, 128, 3, 3)] + [(128, 128, 3, 3)] * 3 + [(64, 64, 3, 3)] * 4
    sizes += [(1000, 512), (512, 256), (256, 128), (128, 64, 4, 4)] + [(512,)] * 62
    return {"layer%d" % k: torch.ones(size) for k, size in enumerate(sizes)}


@case("save ResNet-18's state, 45 MB, as .pt (ours reaches the disk)")
def save():
    tensors, path = state(), temporary()
    return lambda: torch.save(tensors, path)


@case("load ResNet-18's state, 45 MB, from .pt")
def load():
    path = temporary()
    torch.save(state(), path)
    return lambda: torch.load(path)


@case("open 400 MB of safetensors, mapped; peer: a mapped storage")
def mapped():
    path = temporary()
    with open(path, "wb") as out:
        out.truncate(BYTES)
    return lambda: torch.FloatStorage.from_file(path, False, BYTES // 4)


@case("touch 400 MB of mapped safetensors first; peer: the sum of 400 MB")
def touch():
    x = torch.ones(BYTES // 4)
    return lambda: x.sum()


def copy():
    x, y = torch.ones(BYTES // 4), torch.zeros(BYTES // 4)
    return lambda: y.copy_(x)


for how in ("mapped", "read"):
    case("load 400 MB of safetensors, %s, into a module; peer: a copy" % how)(copy)
