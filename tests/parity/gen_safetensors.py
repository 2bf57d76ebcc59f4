"""Records what the reference safetensors library (0.8) writes: tests/parity/data/*.safetensors.

Run with a Python that has torch and safetensors (pip). Each file holds the same few tensors as
tests/c/test_io.c makes, so that ours can be compared byte for byte."""
import os

import torch
from safetensors.torch import save_file

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "bool": torch.bool,
}


def all_dtypes():
    """One [2, 3] tensor of 0 .. 5 for each dtype (bool: zero or not)."""
    return {name: torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in DTYPES.items()}


def odd_shapes():
    """0-d, empty, and names that need escapes."""
    return {
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "a \"quoted\" \\ name": torch.tensor([1], dtype=torch.int64),
        "line\n tab\t bell\x07 del\x7f /": torch.tensor([2], dtype=torch.int64),
        "größe 大": torch.tensor([3, 4], dtype=torch.uint8),
    }


save_file(all_dtypes(), os.path.join(FOLDER, "dtypes.safetensors"))
save_file(odd_shapes(), os.path.join(FOLDER, "odd.safetensors"), {"format": "pt"})
save_file({}, os.path.join(FOLDER, "none.safetensors"))
