"""Records what PyTorch's hooks see of nets: shapes, calls and parameters of every module, and the
multiply-adds its profiler counts. tests/lua/summary_spec.lua builds the same nets."""
import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import profile

import record


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = self.features(x).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.conv2 = nn.Conv2d(o, o, 3, padding=1, groups=2, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride=stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.down(x))


def residual():
    net = nn.Sequential(nn.Conv2d(3, 8, 7, stride=2, padding=3), Block(8, 8, 1), Block(8, 16, 2),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    for p in net[0].parameters():
        p.requires_grad_(False)
    return net


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.project = nn.Linear(12, 36)
        self.out = nn.Linear(12, 12)
        self.never = nn.Linear(3, 3)

    def forward(self, x, y):
        q, k, v = self.project(self.norm(x)).split(12, dim=-1)
        w = torch.softmax(q @ k.transpose(1, 2), dim=-1)
        return self.out(torch.bmm(w, v)) + self.out(y)


def describe(name, net, *sizes):
    rows = {}
    for path, m in net.named_modules():
        rows[m] = dict(name=path, cls=type(m).__name__, calls=0, i=[], o=[],
                       n=sum(p.numel() for p in m.parameters()),
                       t=sum(p.numel() for p in m.parameters() if p.requires_grad))

    def hook(m, args, out):
        row = rows[m]
        row["calls"] += 1
        if row["calls"] == 1:
            row["i"], row["o"] = [a.shape for a in args], [out.shape]
    for m in rows:
        m.register_forward_hook(hook)
    net.eval()
    with torch.no_grad(), profile(with_flops=True) as p:
        net(*[torch.rand(s) for s in sizes])
    products = ("aten::conv2d", "aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm")
    flops = sum(e.flops for e in p.key_averages() if e.key in products)

    def shapes(list_):
        return "{%s}" % ", ".join("{%s}" % ", ".join(map(str, s)) for s in list_)
    lines = ['  {"%s", "%s", %d, %d, %d, %s, %s},' % (r["name"], r["cls"], r["calls"], r["n"],
             r["t"], shapes(r["i"]), shapes(r["o"])) for r in rows.values()]
    record.cases.append("{name = \"%s\", multiply_adds = %d, rows = {\n%s\n}}"
                        % (name, flops // 2, "\n".join(lines)))


describe("lenet", LeNet(), (2, 1, 28, 28))
describe("residual", residual(), (2, 3, 32, 32))
describe("attention", Attention(), (2, 7, 12), (2, 7, 12))
record.write("summary", os.path.abspath(__file__))
