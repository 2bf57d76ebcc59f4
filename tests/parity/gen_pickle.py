"""Records what torch.save writes, as tests/parity/data/checkpoint_*.pt, for checkpoint_spec.lua.

Run with PyTorch 1.13. The same object goes through each protocol and format, through archives that
Python's zipfile makes of it (deflated; 64-bit sizes and data descriptors; the other byte order),
and there are files that must be refused: a whole module, a call of os.system."""
import collections
import io
import os
import pickle
import warnings
import zipfile

import torch

warnings.simplefilter("ignore")
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def path(name):
    return os.path.join(FOLDER, "checkpoint_%s.pt" % name)


def values():
    """One of everything; tests/lua/checkpoint_spec.lua knows what it is."""
    base = torch.arange(12.0).reshape(3, 4)
    shared = [1, "two"]
    return {
        "base": base, "transposed": base.t(), "row": base[1], "strided": base[:, ::2],
        "expanded": torch.tensor([[7.0], [8.0]]).expand(2, 3),
        "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3),
        "dtypes": {str(d)[6:]: torch.tensor([1, 0, 2]).to(d) for d in (
            torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8,
            torch.int16, torch.int32, torch.int64, torch.bool)},
        "parameter": torch.nn.Parameter(base[:2, :2]),
        "frozen": torch.nn.Parameter(torch.ones(1), requires_grad=False),
        "grad": torch.tensor([1.5], requires_grad=True),
        "none": None, "true": True, "false": False, "float": 0.1, "inf": float("inf"),
        "integers": [0, 255, 256, 65535, 65536, -1, -129, 2**31, -2**31, 2**62, -2**63],
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "text": "größe 大", "long": "x" * 300,
        "bytes": b"\x00\xff\x80a", "array": bytearray(b"ab"),
        "size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cuda", 1),
        "set": {7}, "frozenset": frozenset([8]), "counter": collections.Counter([30, 30]),
        "default": collections.defaultdict(list, {"a": [1]}),
        "ordered": collections.OrderedDict([("z", 1), ("a", 2), ("m", 3)]),
        "shared": [shared, shared], "numbers": {0: "zero", 1: "one", -3: "minus", 2.5: "half"},
    }


class LazilyConjugated:
    """As PyTorch 2 saves z.conj(): z and a bit."""

    def __init__(self, z):
        self.z = z

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, (
            self.z.storage(), 0, tuple(self.z.shape), self.z.stride(), False,
            collections.OrderedDict(), {"conj": True})


def complex_numbers():
    z = torch.tensor([[1 + 2j, 3 - 4j, 5], [0, 1j, -1j]])
    return {"z": z, "transposed": z.t(), "conjugate": LazilyConjugated(z),
            "parameter": torch.nn.Parameter(z.to(torch.complex128))}


def training():
    """A model's state and its optimizer's, after two steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).pow(2).sum().backward()
        optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
            "sgd": sgd.state_dict(), "epoch": 2}


class Unseekable(io.RawIOBase):
    """A stream that zipfile cannot go back in: it writes data descriptors."""

    def __init__(self):
        super().__init__()
        self.bytes = b""

    def writable(self):
        return True

    def write(self, b):
        self.bytes += bytes(b)
        return len(b)


def rezip(source, name, compression=zipfile.ZIP_STORED, stream=False, big=False):
    out = Unseekable() if stream else io.BytesIO()
    with zipfile.ZipFile(path(source)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for entry in old.namelist():
            data = old.read(entry)
            if big and "/data/" in entry:
                data = data[::-1]
            with new.open(zipfile.ZipInfo(entry) if not compression else entry, "w",
                          force_zip64=stream) as f:
                f.write(data)
        if big:
            new.writestr(old.namelist()[0].split("/")[0] + "/byteorder", "big")
    with open(path(name), "wb") as f:
        f.write(out.bytes if stream else out.getvalue())


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/lucerna-was-executed",)


for protocol in (2, 4, 5):
    torch.save(values(), path("protocol%d" % protocol), pickle_protocol=protocol)
torch.save(values(), path("legacy"), _use_new_zipfile_serialization=False)
torch.save(training(), path("training"))
torch.save(training()["model"], path("state"))
rezip("protocol2", "deflated", zipfile.ZIP_DEFLATED)
rezip("protocol2", "zip64", stream=True)
torch.save({"x": torch.tensor([1.5])}, path("big"))
rezip("big", "big", big=True)
torch.save(complex_numbers(), path("complex"))
torch.save(torch.nn.Linear(1, 1), path("module"))
torch.save({"x": Evil()}, path("evil"))
torch.save({"x": Evil()}, path("evil_legacy"), _use_new_zipfile_serialization=False)
with open(path("pickle"), "wb") as f:
    pickle.dump({"x": 1}, f, protocol=2)
