"""Records what NumPy writes: tests/parity/data/numpy_*.npy, numpy_*.npz.

tests/lua/numpy_spec.lua reads them, and writes some byte for byte."""
import io
import os
import zipfile

import numpy as np
from numpy.lib import format as npy

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
DTYPES = ["f4", "f8", "f2", "i1", "u1", "i2", "i4", "i8", "b1"]


def path(name):
    return os.path.join(FOLDER, "numpy_" + name)


def as_bytes(array, version=(1, 0)):
    out = io.BytesIO()
    npy.write_array(out, array, version=version)
    return out.getvalue()


def odd():
    """Everything a reader meets: orders, versions, shapes."""
    base = np.arange(6).reshape(2, 3)
    arrays = {"little_" + d: as_bytes(base.astype("<" + d)) for d in DTYPES}
    arrays.update({"big_" + d: as_bytes(base.astype(">" + d)) for d in DTYPES})
    arrays["fortran"] = as_bytes(np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
    arrays["fortran_1d"] = as_bytes(np.asfortranarray(np.arange(3)))
    arrays["scalar"] = as_bytes(np.array(2.5))
    arrays["empty"] = as_bytes(np.zeros((0, 3), "<f4"))
    arrays["one"] = as_bytes(np.arange(5))
    arrays["version2"] = as_bytes(base, (2, 0))
    arrays["version3"] = as_bytes(base, (3, 0))
    return arrays


def archive(name, arrays, method):
    with zipfile.ZipFile(path(name), "w", method) as out:
        for key, content in arrays.items():
            out.writestr(zipfile.ZipInfo(key + ".npy"), content, method)


archive("odd.npz", odd(), zipfile.ZIP_DEFLATED)
np.savez_compressed(path("deflated.npz"), w=np.arange(1000.0),
                    **{"größe/x": np.ones((2, 2), "f4")})
np.save(path("plain.npy"), np.arange(6, dtype="<f4").reshape(2, 3))
