"""PyTorch -> Lucerna -> PyTorch of a ResNet-18's state and its Adam state, bit for bit.

Run by hand with PyTorch, in a checkout that is built (`eval "$(make env)"`); it needs no files and
leaves none. Lucerna loads what torch.save wrote into its own model and optimizer, saves their
state dicts, and PyTorch loads those; then it prints what was compared and how long each took."""
import os
import subprocess
import tempfile
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet18(nn.Module):
    """torchvision's, by its names."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for i, outputs in enumerate((64, 128, 256, 512)):
            layer = nn.Sequential(Block(inputs, outputs, 1 if i == 0 else 2),
                                  Block(outputs, outputs, 1))
            setattr(self, "layer%d" % (i + 1), layer)
            inputs = outputs
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for i in range(4):
            x = getattr(self, "layer%d" % (i + 1))(x)
        return self.fc(x.mean((2, 3)))


LUA = """
local lucerna = require "lucerna"
local folder, t = arg[1], lucerna.clock()
local function lap(what)
  print(("lucerna %-22s %.3f s"):format(what, lucerna.clock() - t))
  t = lucerna.clock()
end
local o = lucerna.load(folder .. "/torch.pt")
lap "load"
local legacy = lucerna.load(folder .. "/legacy.pt")
lap "load, the older format"
local net = lucerna.models.resnet18()
net:load_state_dict(o.model)
local adam = lucerna.optim.Adam(net:parameters())
adam:load_state_dict(o.optimizer)
t = lucerna.clock()
lucerna.save({model = net:state_dict(), optimizer = adam:state_dict()}, folder .. "/own.pt")
lap "save"
lucerna.save(o, folder .. "/same.pt")
lucerna.save(legacy, folder .. "/same_legacy.pt")
lucerna.save(net:state_dict(), folder .. "/state.pt")
"""


def timed(what, f, *args, **kw):
    start = time.perf_counter()
    result = f(*args, **kw)
    print("PyTorch %-22s %.3f s" % (what, time.perf_counter() - start))
    return result


def same(a, b):
    """Bit for bit, dtype and shape included."""
    return (a.dtype == b.dtype and a.shape == b.shape
            and a.contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes())


def compare(name, want, got):
    model, found = want["model"], got["model"]
    assert list(model) == list(found), name
    # Lucerna's model has torchvision's modules without parameters too
    assert all(found._metadata[k] == v for k, v in model._metadata.items()), name
    assert all(same(model[k], found[k]) for k in model), name
    states, others = want["optimizer"]["state"], got["optimizer"]["state"]
    assert list(states) == list(others), name
    for i, state in states.items():
        assert state.keys() == others[i].keys(), name
        assert all(same(state[k], others[i][k]) for k in state), (name, i)
    fresh = ResNet18()
    fresh.load_state_dict(found)
    adam = torch.optim.Adam(fresh.parameters())
    adam.load_state_dict(got["optimizer"])
    fresh(torch.randn(2, 3, 32, 32)).sum().backward()
    adam.step()
    print("%s: %d tensors of the model, %d of Adam's state: bit for bit the same" % (
        name, len(model), sum(len(s) for s in states.values())))


def main():
    torch.manual_seed(0)
    model = ResNet18()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        adam.zero_grad()
        model(torch.randn(2, 3, 64, 64)).pow(2).mean().backward()
        adam.step()
    want = {"model": model.state_dict(), "optimizer": adam.state_dict()}
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        timed("save", torch.save, want, path("torch.pt"))
        timed("load", torch.load, path("torch.pt"))
        torch.save(want, path("legacy.pt"), _use_new_zipfile_serialization=False)
        print("%.1f MB" % (os.path.getsize(path("torch.pt")) / 1e6))
        with open(path("run.lua"), "w") as f:
            f.write(LUA)
        subprocess.run(["lua5.4", path("run.lua"), folder], check=True)
        for name in ("own", "same", "same_legacy"):
            compare(name, want, torch.load(path(name + ".pt")))
        state = torch.load(path("state.pt"), weights_only=True)
        assert all(same(want["model"][k], state[k]) for k in want["model"])
        print("state: accepted with weights_only=True")


main()
