# PyTorch's side of operators.lua, whose rows it reads: the same words, evaluated as Python.
import torch


class Words(dict):
    """Words of rows; a name that is none of them is torch's, or a method of the first argument."""

    def __missing__(self, name):
        if hasattr(torch, name):
            return getattr(torch, name)
        return lambda x, *args, **options: getattr(x, name)(*args, **options)


def words(leaves):
    def maker(make, dtype):
        return lambda *size: make(size).to(dtype)

    def positive(size):
        return torch.rand(size) * 0.9 + 0.05

    def whole(size):
        return torch.randint(1, 20, size)

    def wanted(x, *size):
        x = (torch.randn(x, *size) if isinstance(x, int) else x).requires_grad_()
        leaves.append(x)
        return x

    def definite(n):
        x = torch.randn(n, n)
        return x.mm(x.t()) + torch.eye(n) * n

    F = torch.nn.functional
    return Words(
        F=F, dict=dict, true=True, false=False, w=wanted, definite=definite,
        f32=maker(torch.randn, torch.float32), f64=maker(torch.randn, torch.float64),
        h16=maker(torch.randn, torch.float16), b16=maker(torch.randn, torch.bfloat16),
        p32=maker(positive, torch.float32), p64=maker(positive, torch.float64),
        i64=maker(whole, torch.int64), i32=maker(whole, torch.int32),
        u8=maker(whole, torch.uint8), c64=maker(torch.randn, torch.complex64),
        b8=lambda *size: torch.rand(size) > 0.5,
        ids=lambda n, *size: torch.randint(0, n, size),
        list=lambda *items: list(items),
        scalar=torch.tensor,
        turned=lambda x: x.transpose(-1, -2),
        inside=lambda x: x.narrow(-1, 1, x.size(-1) - 2),
        every=lambda n, x: x[..., ::n],
        eval=lambda layer: layer.eval(),
        grid=lambda *size: torch.rand(*size, 2) * 2 - 1,
        pooled=lambda *size: F.max_pool2d(torch.randn(*size), 2, return_indices=True)[1],
        all16=lambda value: [value] * 16,
        packed=lambda *args, **options: (args, options),
    )


def parenthesis(text):
    """Where the last argument list of a call begins."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return i


def run_of(row):
    torch.manual_seed(0)
    leaves = []
    env = words(leaves)
    text = row.replace("{", "**dict(").replace("}", ")")
    at = parenthesis(text)
    call = eval(text[:at], {}, env)
    args, options = eval("packed" + text[at:], {}, env)

    def forward():
        return call(*args, **options)

    once = there_and_back(forward, call, leaves) if leaves else forward

    def run(n):
        with torch.set_grad_enabled(bool(leaves)):
            for _ in range(n):
                once()

    run(1)
    return run


def there_and_back(forward, call, leaves):
    if isinstance(call, torch.nn.Module):
        leaves.extend(call.parameters())

    def first(y):
        return y[0] if isinstance(y, tuple) else y

    g = torch.rand_like(first(forward()).detach())

    def once():
        for leaf in leaves:
            leaf.grad = None
        first(forward()).backward(g)

    return once
