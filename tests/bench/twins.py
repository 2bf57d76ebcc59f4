# The table of PyTorch's cases: @case(name) marks a function that makes one repetition of the
# benchmark of that name; `train` says that gradients are wanted.
CASES = {}


def case(name, train=False):
    def take(make):
        CASES[name] = (make, train)
        return make

    return take


def repeated(name):
    import torch

    make, train = CASES[name]
    once = make()

    def run(n):
        with torch.set_grad_enabled(train):
            for _ in range(n):
                once()

    return run
