"""NumPy, PIL and safetensors -> Lucerna -> NumPy, PIL and safetensors, value for value.

Run by `make parity`; what is not installed is left out and named. Each writes files of every dtype,
byte order and kind it has, Lucerna reads them and writes its own, which the same library reads."""
import os
import subprocess
import tempfile

import numpy as np

LUA = """
local lucerna = require "lucerna"
local folder, kind = arg[1], arg[2]
local numpy, data, safetensors = lucerna.numpy, lucerna.data, lucerna.safetensors
if kind == "numpy" then
  local arrays = numpy.load(folder .. "/in.npz")
  numpy.savez(folder .. "/stored.npz", arrays)
  numpy.savez_compressed(folder .. "/deflated.npz", arrays)
  for name, x in pairs(arrays) do numpy.save(("%s/%s.npy"):format(folder, name), x) end
  data.write_csv(arrays.csv, folder .. "/out.csv", {header = {"a", "b,c"}})
  assert(arrays.csv:equal(data.read_csv(folder .. "/in.csv", {dtype = lucerna.float64})))
elseif kind == "PIL" then
  for _, mode in ipairs {"L", "LA", "RGB", "RGBA", "P", "1", "I;16"} do
    local image = data.read_image(("%s/%s.png"):format(folder, mode))
    numpy.save(("%s/%s.npy"):format(folder, mode), image)
    if image.dtype == lucerna.uint8 then
      data.write_png(image, ("%s/out_%s.png"):format(folder, mode))
    end
  end
else
  local tensors, metadata = safetensors.load_file(folder .. "/in.safetensors", {mmap = true})
  safetensors.save_file(tensors, folder .. "/out.safetensors", metadata)
  local f <close> = safetensors.safe_open(folder .. "/in.safetensors")
  for _, name in ipairs(f:keys()) do
    assert(f:get_tensor(name):equal(tensors[name]))
    if tensors[name]:dim() == 2 then
      assert(f:get_slice(name)[{{}, {2, 3}}]:equal(tensors[name][{{}, {2, 3}}]))
    end
  end
end
"""


def run(folder, kind):
    path = os.path.join(folder, "run.lua")
    with open(path, "w") as f:
        f.write(LUA)
    subprocess.run(["lua5.4", path, folder, kind], check=True)


def check_numpy(folder):
    rng = np.random.default_rng(0)
    arrays = {"csv": rng.standard_normal((50, 2)) * 10.0 ** rng.integers(-300, 300, (50, 2))}
    for code in ("f2", "f4", "f8", "i1", "u1", "i2", "i4", "i8", "b1"):
        x = (rng.standard_normal((3, 4, 5)) * 20).astype(code)
        for order, swapped in (("little", x.astype("<" + code)), ("big", x.astype(">" + code))):
            arrays["%s_%s" % (code, order)] = swapped
            arrays["%s_%s_fortran" % (code, order)] = np.asfortranarray(swapped)
        arrays[code + "_scalar"] = x[0, 0, 0]
        arrays[code + "_empty"] = x[:0]
    np.savez_compressed(os.path.join(folder, "in.npz"), **arrays)
    np.savetxt(os.path.join(folder, "in.csv"), arrays["csv"], delimiter=",")
    run(folder, "numpy")
    for name in ("stored", "deflated"):
        archive = np.load(os.path.join(folder, name + ".npz"))
        assert sorted(archive) == sorted(arrays)
        for key, x in arrays.items():
            for y in (archive[key], np.load(os.path.join(folder, key + ".npy"))):
                assert x.shape == y.shape and x.dtype.newbyteorder("<") == y.dtype, key
                assert (x == y).all(), key
    back = np.loadtxt(os.path.join(folder, "out.csv"), delimiter=",", skiprows=1)
    assert (back == arrays["csv"]).all()
    print("NumPy %s: %d arrays and a CSV file, the same both ways" % (np.__version__, len(arrays)))


def check_pil(folder):
    import PIL
    from PIL import Image

    rng = np.random.default_rng(0)
    color = Image.fromarray(rng.integers(0, 256, (40, 30, 4), dtype=np.uint8), "RGBA")
    modes = {m: color.convert(m) for m in ("L", "LA", "RGB", "RGBA", "1")}
    modes["P"] = color.convert("RGB").quantize(50)
    modes["I;16"] = Image.fromarray(rng.integers(0, 65536, (40, 30), dtype=np.uint16))
    for mode, image in modes.items():
        image.save(os.path.join(folder, mode + ".png"))
    run(folder, "PIL")
    for mode, image in modes.items():
        whole = {"P": "RGB", "1": "L"}.get(mode, mode)
        want = np.asarray(image if mode == "I;16" else image.convert(whole))
        want = want[None] if want.ndim == 2 else want.transpose(2, 0, 1)
        assert (np.load(os.path.join(folder, mode + ".npy")) == want).all(), mode
        if mode != "I;16":
            out = Image.open(os.path.join(folder, "out_%s.png" % mode))
            assert out.mode == whole and (np.asarray(out) == np.asarray(image.convert(whole))).all()
    print("PIL %s: %d kinds of images, the same both ways" % (PIL.__version__, len(modes)))


def check_safetensors(folder):
    import safetensors
    import torch
    from safetensors.torch import load_file, save_file

    names = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32",
             "int64", "bool")
    tensors = {n: (torch.randn(300, 100) * 20).to(getattr(torch, n)) for n in names}
    tensors["scalar"], tensors["empty"] = torch.tensor(2.5), torch.ones(0, 3)
    paths = [os.path.join(folder, n + ".safetensors") for n in ("in", "out")]
    save_file(tensors, paths[0], {"format": "pt"})
    run(folder, "safetensors")
    back = load_file(paths[1])
    assert all(torch.equal(x, back[n]) and x.dtype == back[n].dtype for n, x in tensors.items())
    assert open(paths[0], "rb").read() == open(paths[1], "rb").read()
    version = safetensors.__version__
    print("safetensors %s: %d tensors, byte for byte the same" % (version, len(back)))


for check in (check_numpy, check_pil, check_safetensors):
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(scratch)
        except ImportError as error:
            print("left out: %s" % error)
