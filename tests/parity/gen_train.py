"""Records the losses of whole training runs from a seed: what tests/lua/train_spec.lua trains again
in Lua, line for line. Run: python3 tests/parity/gen_train.py"""
import torch
from torch import nn, optim
from torch.nn import functional as F

import models_reference as models
from record import save

STEPS = 10


def resnet(losses):
    net = models.resnet18(num_classes=10)
    sgd = optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x, target = torch.randn(6, 3, 48, 48), torch.randint(10, (6,))
    for _ in range(3):
        sgd.zero_grad()
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        sgd.step()
        losses.append(loss.item())


class LanguageModel(nn.Module):
    def __init__(self, vocab, width, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, ids, state):
        out, state = self.lstm(self.embed(ids), state)
        return self.head(out), state


def lstm(losses):
    net, state = LanguageModel(20, 16, 24), None
    adam = optim.Adam(net.parameters(), lr=0.01)
    text = torch.randint(20, (4, 8 * STEPS + 1))
    for k in range(STEPS):
        part = text[:, 8 * k:8 * k + 9]
        logits, state = net(part[:, :-1], state)
        state = tuple(t.detach() for t in state)
        loss = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        adam.step()
        losses.append(loss.item())


class Translator(nn.Module):
    def __init__(self, vocab, width, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.randn(12, 1, width) * 0.1)
        self.transformer = nn.Transformer(width, 2, 2, 2, 32, dropout)
        self.head = nn.Linear(width, vocab)

    def read(self, ids):
        return self.embed(ids) + self.position[:len(ids)]

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(len(target))
        padding = (source == 0).t()
        return self.head(self.transformer(
            self.read(source), self.read(target), tgt_mask=mask, src_key_padding_mask=padding,
            memory_key_padding_mask=padding))


def transformer(losses):
    """Learns to turn sequences [T, N] round. Id 0 fills up."""
    net = Translator(12, 16, 0.1)
    adam = optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        source = torch.randint(1, 12, (8, 6))
        source[6:, ::2] = 0
        target = source.flip(0)
        logits = net(source, target[:-1])
        loss = F.cross_entropy(logits.transpose(1, 2), target[1:], ignore_index=0)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc21 = nn.Linear(32, 4)
        self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32)
        self.fc4 = nn.Linear(32, 64)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, logvar = self.fc21(h), self.fc22(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def vae(losses):
    net = VAE()
    adam = optim.Adam(net.parameters(), lr=1e-2)
    data = torch.rand(STEPS, 16, 64)
    for x in data:
        recon, mu, logvar = net(x)
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (bce + kld) / len(x)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())


def make_generator():
    return nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())


def make_discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0))


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.1)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def dcgan(losses):
    g, d = make_generator().apply(weights_init), make_discriminator().apply(weights_init)
    adam_g = optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.999))
    adam_d = optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.999))
    bce, real, fake = nn.BCELoss(), torch.ones(8), torch.zeros(8)
    for _ in range(STEPS):
        x, noise = torch.rand(8, 1, 16, 16) * 2 - 1, torch.randn(8, 8, 1, 1)
        adam_d.zero_grad()
        made = g(noise)
        loss_d = bce(d(x), real) + bce(d(made.detach()), fake)
        loss_d.backward()
        adam_d.step()
        adam_g.zero_grad()
        loss_g = bce(d(made), real)
        loss_g.backward()
        adam_g.step()
        losses += [loss_d.item(), loss_g.item()]


# With this seed no activation is so near 0 that rounding decides on which side of ReLU it is.
SEED = 8


def record(name, train):
    losses = []
    torch.manual_seed(SEED)
    train(losses)
    return "%s = {%s}," % (name, ", ".join("%.9g" % x for x in losses))


if __name__ == "__main__":
    runs = {"resnet": resnet, "lstm": lstm, "transformer": transformer, "vae": vae,
            "dcgan": dcgan}
    save(__file__, "\n".join(record(name, train) for name, train in runs.items()))
