# PyTorch's side of small.lua: the code of each benchmark there, and the same in Python.
CODE = {
    "x:exp()": "x.exp()",
    "-x": "-x",
    "x + y": "x + y",
    "x + 1": "x + 1",
    "x:add(y, {alpha = 2})": "x.add(y, alpha=2)",
    "x:add_(y)": "x.add_(y)",
    "x:lt(y)": "x.lt(y)",
    "x:gt(0.5)": "x.gt(0.5)",
    "where(mask, x, y)": "torch.where(mask, x, y)",
    "x:sum()": "x.sum()",
    "m:sum(1)": "m.sum(0)",
    "m:sum(1, {keepdim = true})": "m.sum(0, keepdim=True)",
    "m:sum{dim = 1, keepdim = true}": "m.sum(dim=0, keepdim=True)",
    "m:mean(2, {keepdim = true})": "m.mean(1, keepdim=True)",
    "m:std(1, {correction = 0})": "m.std(0, correction=0)",
    "m:max(1)": "m.max(0)",
    "m:argmax(1)": "m.argmax(0)",
    "m:softmax(2)": "m.softmax(1)",
    "x[2]": "x[1]",
    "m[{2, {1, 3}}]": "m[1, 0:3]",
    "m[{{}, 2}]": "m[:, 1]",
    "x[ids]": "x[ids]",
    "x[mask]": "x[mask]",
    "m[{2, {1, 3}}] = 0": "m[1, 0:3] = 0",
    "x[2] = 1": "x[1] = 1",
    "m[1] = x": "m[0] = x",
    "x[mask] = 0": "x[mask] = 0",
    "s:item()": "s.item()",
    "m:t()": "m.t()",
    "m:view(2, 8)": "m.view(2, 8)",
    "m:reshape(-1)": "m.reshape(-1)",
    "m:transpose(1, 2)": "m.transpose(0, 1)",
    "m:permute(2, 1)": "m.permute(1, 0)",
    "x:unsqueeze(1)": "x.unsqueeze(0)",
    "m:narrow(1, 2, 2)": "m.narrow(0, 1, 2)",
    "x:expand(4, 4)": "x.expand(4, 4)",
    "cat{x, y}": "torch.cat([x, y])",
    "cat({x, y}, 1)": "torch.cat([x, y], 0)",
    "stack{x, y}": "torch.stack([x, y])",
    "x:split(2)": "x.split(2)",
    "x:clamp(0.2, 0.8)": "x.clamp(0.2, 0.8)",
    "x:clamp{min = 0.2, max = 0.8}": "x.clamp(min=0.2, max=0.8)",
    "x:addcmul(x, y, {value = 0.5})": "x.addcmul(x, y, value=0.5)",
    "F.conv2d(image, w, b)": "F.conv2d(image, w, b)",
    "F.conv2d(image, w, b, {stride = 1, padding = 1})":
        "F.conv2d(image, w, b, stride=1, padding=1)",
    "F.conv2d(image, w, {bias = b, stride = 1, padding = 1, dilation = 1, groups = 1})":
        "F.conv2d(image, w, bias=b, stride=1, padding=1, dilation=1, groups=1)",
    "F.layer_norm(m, {4}, {eps = 1e-5})": "F.layer_norm(m, (4,), eps=1e-5)",
    "F.cross_entropy(m, target, {reduction = 'sum'})":
        "F.cross_entropy(m, target, reduction='sum')",
    "zeros(4)": "torch.zeros(4)",
    "zeros({4}, {dtype = float64})": "torch.zeros((4,), dtype=torch.float64)",
    "tensor{1.0, 2.0, 3.0, 4.0}": "torch.tensor([1.0, 2.0, 3.0, 4.0])",
    "x:to(float64)": "x.to(torch.float64)",
    "randint(1, 10, {4})": "torch.randint(1, 10, (4,))",
    "x:tile(2)": "x.repeat(2)",
    "m:unbind()": "m.unbind()",
    "lucerna.fft.fft(x)": "torch.fft.fft(x)",
    "x:numel()": "x.numel()",
    "x:size()": "x.size()",
    "x:size(1)": "x.size(0)",
    "x.shape": "x.shape",
    "x.dtype": "x.dtype",
    "x.requires_grad": "x.requires_grad",
    "x:contiguous()": "x.contiguous()",
    "x:positive()": "x.positive()",
    "x:float()": "x.float()",
    "x:to('cpu')": "x.to('cpu')",
    "x:equal(y)": "x.equal(y)",
    "m:trace()": "m.trace()",
    "x:dim()": "x.dim()",
    "x:stride()": "x.stride()",
    "x:detach()": "x.detach()",
    "x:tolist()": "x.tolist()",
    "thousand:tolist()": "thousand.tolist()",
    "matrix:tolist()": "matrix.tolist()",
    "tensor(numbers)": "torch.tensor(numbers)",
    "tensor(rows)": "torch.tensor(rows)",
    "tostring(m)": "str(m)",
    "nn.Linear(4, 4)": "nn.Linear(4, 4)",
    "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())":
        "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())",
    "net:state_dict()": "net.state_dict()",
    "net:load_state_dict(state)": "net.load_state_dict(state)",
    "for _ in net:parameters() do end": "for _ in net.parameters(): pass",
    "net:zero_grad()": "net.zero_grad()",
    "net:train()": "net.train()",
    "tostring(net)": "str(net)",
    "leaf:sum():backward()": "leaf.sum().backward()",
    "F.nll_loss(m, target)": "F.nll_loss(m, target)",
    "sgd:step()": "sgd.step()",
    "adam:step()": "adam.step()",
    "adam:zero_grad()": "adam.zero_grad()",
    "adam:state_dict()": "adam.state_dict()",
    "optim.SGD(six, {lr = 0.1})": "optim.SGD(six, lr=0.1)",
    "optim.Adam(six)": "optim.Adam(six)",
    "optim.LBFGS(six)": "optim.LBFGS(six)",
    "optim.Adam(net:parameters())": "optim.Adam(net.parameters())",
    "scheduler:step()": "scheduler.step()",
    "for _ in loader do end": "for _ in loader: pass",
}

SETUP = """
from torch.nn import functional as F
x, y, m, s = torch.rand(4), torch.rand(4), torch.rand(4, 4), torch.tensor(1.0)
ids, mask = torch.tensor([0, 2]), torch.tensor([True, False, True, False])
image, w, b = torch.rand(1, 1, 5, 5), torch.rand(2, 1, 3, 3), torch.rand(2)
target = torch.tensor([0, 1, 2, 3])
nn, optim = torch.nn, torch.optim
def linears(n):
    return nn.Sequential(*[nn.Linear(4, 4) for _ in range(n)])
net, state, params = linears(25), linears(25).state_dict(), list(linears(10).parameters())
for p in params:
    p.grad = torch.rand_like(p)
six, leaf = [nn.Parameter(torch.rand(4)) for _ in range(6)], nn.Parameter(x)
sgd, adam = optim.SGD(params, lr=1e-3), optim.Adam(params)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.rand(1000, 4), torch.rand(1000)), batch_size=32)
thousand, rows = torch.rand(1000), torch.rand(100, 10).tolist()
numbers, matrix = thousand.tolist(), torch.rand(100, 10)
scheduler = optim.lr_scheduler.StepLR(sgd, 30)
sgd.step()
def make(NAMES):
    def run(n):
        with torch.set_grad_enabled(TRAINS):
            for _ in range(n):
                CODE
    return run
run = make(NAMES)
"""
NAMES = ("torch, F, nn, optim, x, y, m, s, ids, mask, image, w, b, target, leaf, net, state, six, "
         "sgd, adam, scheduler, loader, thousand, rows, numbers, matrix")


def run_of(name):
    import torch

    scope = {"torch": torch}
    setup = SETUP.replace("NAMES", NAMES).replace("TRAINS", str("backward" in name))
    exec(setup.replace("CODE", CODE[name]), scope)
    return scope["run"]
