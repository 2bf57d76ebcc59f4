#!/usr/bin/env python3
"""Records what PyTorch prints for tensors of every kind: writes print_cases.h beside this file.

Run it with a Python that has torch: python3 tests/parity/gen_print.py
"""
import math
import os
import torch

inf, nan = math.inf, math.nan
cases = []  # (tensor, values or None, start, step)


def listed(values, shape=None, dtype=torch.float32, grad=False):
    t = torch.tensor(values, dtype=dtype)
    if shape is not None:
        t = t.reshape(shape)
    cases.append((t.requires_grad_(grad), t.double().flatten().tolist(), 0.0, 0.0))


def ramp(start, step, shape, dtype=torch.float32, grad=False):
    """Element i is start + i * step, computed in double and rounded to dtype."""
    n = math.prod(shape)
    t = (start + torch.arange(n, dtype=torch.float64) * step).to(dtype).reshape(shape)
    cases.append((t.requires_grad_(grad), None, float(start), float(step)))


def scalars():
    for v in [0.0, -0.0, 1.0, -2.0, 0.5, 3.14159265, 1e-5, 1e-4, 99999999.0]:
        listed(v)
    for v in [1e8, 2e8, 1e9, 123456.789, inf, -inf, nan]:
        listed(v)
    listed(1e300, dtype=torch.float64)
    listed(5, dtype=torch.int64)
    listed(-7, dtype=torch.int32)
    listed(True, dtype=torch.bool)
    listed(1.5, grad=True)
    listed(65504.0, dtype=torch.float16)
    listed(0.1, dtype=torch.bfloat16)


def vectors():
    listed([1.0, 2.0, 3.0])
    listed([1.0, 2.5, -3.25])
    listed([0.0, 0.0])
    listed([1.0, 1000.0])
    listed([1.0, 1001.0])
    listed([0.5, 501.0])
    listed([0.5, 500.0])
    listed([1e-4, 2e-4])
    listed([9.9e-5, 2e-4])
    listed([1.0, nan, inf, -inf])
    listed([0.25, nan, inf, -inf])
    listed([nan, nan])
    listed([inf, 0.0])
    listed([1e-8, nan, -inf, 0.0])
    listed([1e-40, 1.0])
    listed([1e-310, 1.0], dtype=torch.float64)
    listed([-0.0, 0.0, 1.5])
    listed([1e-100, 1e-101], dtype=torch.float64)
    listed([0.00005, 1.0])
    listed([1234.56, 2.0])
    listed([True, False, True], dtype=torch.bool)
    listed([1, 20, -300], dtype=torch.int16)
    listed([255, 0], dtype=torch.uint8)
    listed([-(2**63), 2**53], dtype=torch.int64)
    listed([0.1, 0.2], dtype=torch.float64, grad=True)
    listed([0.1, 0.2], dtype=torch.float16)
    listed([1.0, 2.0], dtype=torch.bfloat16, grad=True)
    ramp(0, 1, [20])
    ramp(0, 0.1, [25])
    ramp(-5, 1, [40], torch.int64)
    ramp(0, 1, [1000])
    ramp(0, 1, [1001])
    ramp(0, 0.001, [2000])
    ramp(0, 1, [100000], torch.int64)
    ramp(1, 0, [1500], torch.bool)
    # suffixes near the 80th column
    for n in range(8, 12):
        ramp(0, 0.5, [n], torch.float64)
        ramp(0, 0.5, [n], grad=True)
    ramp(1, 1, [12], torch.int32)
    ramp(10, 1, [15], torch.int32)


def nested():
    listed([[1.0, 2.0], [3.0, 4.5]])
    listed([[True], [False]], dtype=torch.bool)
    ramp(0, 1, [2, 3, 4])
    ramp(0, 1, [2, 2, 2, 2], torch.int32)
    ramp(0, 0.25, [3, 17], grad=True)
    ramp(0, 1, [100, 100])
    ramp(0, 1, [7, 200])
    ramp(0, 1, [6, 200], torch.int64)
    ramp(0, 0.01, [10, 11, 12])
    ramp(-1000, 1, [8, 3, 2, 30], torch.float64, grad=True)
    ramp(0, 1, [1, 1, 2000])
    ramp(0, 1e-7, [2, 3])
    ramp(0, 1, [2000, 1])
    ramp(1e7, 1e7, [3, 5])


def empty():
    ramp(0, 1, [0])
    ramp(0, 1, [0, 3])
    ramp(0, 1, [2, 0, 3], torch.int32)
    ramp(0, 1, [0], torch.int64)
    ramp(0, 1, [0], torch.bool)
    ramp(0, 1, [0, 2], torch.float64, grad=True)


def number(x):
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return x.hex()


def text(s):
    """A C string literal, one line of it per line of s."""
    lines = s.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\n     ".join('"%s"' % line for line in [x + "\\n" for x in lines[:-1]] + lines[-1:])


HEAD = """/* Recorded by gen_print.py with PyTorch %s: what repr(tensor) is.
 * Element i is values[i], or start + i * step where values is NULL. Do not edit. */
/* clang-format off */
typedef struct print_case {
  luc_dtype dtype;
  int ndim;
  int64_t sizes[4];
  const double *values;
  double start, step;
  bool requires_grad;
  const char *text;
} print_case;

"""


def row(i, t, values, start, step):
    name = str(t.dtype).replace("torch.", "").upper()
    sizes = ", ".join(map(str, t.shape)) or "0"
    where = "print_values_%d" % i if values else "NULL"
    grad = "true" if t.requires_grad else "false"
    fields = (name, t.dim(), sizes, where, number(start), number(step), grad, text(repr(t)))
    return "    {LUC_%s, %d, {%s}, %s, %s, %s, %s,\n     %s},\n" % fields


def write(path):
    with open(path, "w") as f:
        f.write(HEAD % torch.__version__.split("a")[0])
        for i, (_, values, _, _) in enumerate(cases):
            if values:
                numbers = ", ".join(map(number, values))
                f.write("static const double print_values_%d[] = {%s};\n" % (i, numbers))
        f.write("\nstatic const print_case print_cases[] = {\n")
        for i, case in enumerate(cases):
            f.write(row(i, *case))
        f.write("};\n/* clang-format on */\n")


if __name__ == "__main__":
    scalars()
    vectors()
    nested()
    empty()
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "print_cases.h"))
