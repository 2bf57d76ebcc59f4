# PyTorch's side of nets.lua, made as kernels.py is.
import torch
from torch import nn
from torch.nn import functional as F
from twins import case


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), 1)


class Block(nn.Module):
    """He et al. 2015, the block of two 3x3 convolutions."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if inputs != outputs:
            self.down = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.down is None else self.down(x)))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def forward(net, x):
    return lambda: net(x)


def step(optimizer, loss_of):
    def once():
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        optimizer.step()

    return once


def there_and_back(net, x, g, output=lambda y: y):
    def once():
        net.zero_grad(set_to_none=True)
        output(net(x)).backward(g)

    return once


def small_mlp():
    return nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )


@case("MLP 16-64-64-4, batch 1, forward")
def _():
    return forward(small_mlp(), torch.rand(1, 16))


@case("MLP 16-64-64-4, batch 1, training step", train=True)
def _():
    net, x, y = small_mlp(), torch.rand(1, 16), torch.rand(1, 4)
    return step(torch.optim.Adam(net.parameters(), lr=1e-7), lambda: F.mse_loss(net(x), y))


@case("LeNet, batch 1, forward")
def _():
    return forward(LeNet(), torch.rand(1, 1, 28, 28))


@case("LeNet, batch 64, forward")
def _():
    return forward(LeNet(), torch.rand(64, 1, 28, 28))


def classifier(name, make_net, x, classes, **options):
    @case(name, train=True)
    def _():
        net, target = make_net(), torch.randint(0, classes, (x.shape[0],))
        sgd = torch.optim.SGD(net.parameters(), lr=0.01, **options)
        return step(sgd, lambda: F.cross_entropy(net(x), target))


classifier("LeNet, batch 64, training step", LeNet, torch.rand(64, 1, 28, 28), 10, momentum=0.9)
classifier(
    "MLP 784-512-512-10, batch 64, training step",
    lambda: nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    ),
    torch.rand(64, 784),
    10,
)
classifier(
    "ResNet-18, batch 4, 112 x 112, training step",
    resnet18,
    torch.rand(4, 3, 112, 112),
    1000,
    momentum=0.9,
)


@case("ResNet-18, batch 1, 224 x 224, forward")
def _():
    return forward(resnet18().eval(), torch.rand(1, 3, 224, 224))


@case("LSTM 64-128, 32 steps, batch 16, forward")
def _():
    return forward(nn.LSTM(64, 128), torch.rand(32, 16, 64))


@case("LSTM 64-128, 1 step, batch 1, forward")
def _():
    return forward(nn.LSTM(64, 128), torch.rand(1, 1, 64))


def recurrent(layer):
    return there_and_back(layer, torch.rand(32, 16, 64), torch.rand(32, 16, 128), lambda y: y[0])


@case("LSTM 64-128, 32 steps, batch 16, there and back", train=True)
def _():
    return recurrent(nn.LSTM(64, 128))


@case("LSTM 256-256, 32 steps, batch 1, there and back", train=True)
def _():
    x, g = torch.rand(32, 1, 256), torch.rand(32, 1, 256)
    return there_and_back(nn.LSTM(256, 256), x, g, lambda y: y[0])


@case("GRU 64-128, 32 steps, batch 16, there and back", train=True)
def _():
    return recurrent(nn.GRU(64, 128))


@case("LSTMCell 64-128, batch 16, forward")
def _():
    return forward(nn.LSTMCell(64, 128), torch.rand(16, 64))


@case("TransformerEncoderLayer 128, [8, 64, 128], there and back", train=True)
def _():
    net = nn.TransformerEncoderLayer(128, 4, dim_feedforward=512, dropout=0, batch_first=True)
    return there_and_back(net, torch.rand(8, 64, 128), torch.rand(8, 64, 128))


@case("MLP 16-64-64-4, gradients of 128 samples, vmap", train=True)
def _():
    import functorch as ft

    net = nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    call, params = ft.make_functional(net)
    params = tuple(p.detach() for p in params)
    x, y = torch.rand(128, 16), torch.rand(128, 4)
    each = ft.vmap(ft.grad(lambda p, a, b: F.mse_loss(call(p, a), b)), (None, 0, 0))
    return lambda: each(params, x, y)
