# PyTorch's side of the benchmarks: the same cases under the same names, the same way of sampling.
# `peer.py serve FIFO` reads lines "NAME|THREADS|SAMPLES|SECONDS|PROCESSORS" and answers each with a
# line of samples that take SECONDS at least (as seconds per repetition), an empty one where PyTorch
# lacks the operator; `peer.py process NAME` is the body of a fresh process; `peer.py coretype`
# names the kernels that OpenBLAS must be told to take, if it does not find out by itself.
import contextlib
import ctypes
import gc
import os
import sys
import time


def resident(field):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024


def identity():
    import torch

    class Identity(torch.nn.Module):
        def forward(self, x):
            return x

    return Identity(), torch.rand(4)


# Each case returns a function that repeats the thing n times; nothing but the loop is around it.
def module_call(torch):
    m, x = identity()

    def run(n):
        for _ in range(n):
            m(x)

    return run


def module_call_hook(torch):
    m, x = identity()
    m.register_forward_hook(lambda m, args, output: None)

    def run(n):
        for _ in range(n):
            m(x)

    return run


def make_linear(torch):
    def run(n):
        for _ in range(n):
            torch.nn.Linear(8, 8)

    return run


def there_and_back(torch, hooked=False):
    l, x = torch.nn.Linear(4, 4), torch.rand(1, 4, requires_grad=True)
    g = torch.rand(1, 4)
    if hooked:
        l.register_full_backward_hook(lambda m, grad_input, grad_output: None)

    def run(n):
        for _ in range(n):
            l(x).backward(g)

    return run


def there_and_back_hooked(torch):
    return there_and_back(torch, True)


def add(torch):
    x, y = torch.rand(4), torch.rand(4)

    def run(n):
        with torch.no_grad():
            for _ in range(n):
                x + y

    return run


def linear(torch):
    l, x = torch.nn.Linear(4, 4), torch.rand(1, 4)

    def run(n):
        with torch.no_grad():
            for _ in range(n):
                l(x)

    return run


def read_weight(torch):
    l = torch.nn.Linear(4, 4)

    def run(n):
        for _ in range(n):
            l.weight

    return run


def identities(torch):
    net, x = torch.nn.Sequential(*[torch.nn.Identity() for _ in range(1000)]), torch.rand(4)

    def run(n):
        for _ in range(n):
            net(x)

    return run


def nested(torch):
    sys.setrecursionlimit(10000)
    net, x = torch.nn.Identity(), torch.rand(4)
    for _ in range(1000):
        net = torch.nn.Sequential(net)

    def run(n):
        for _ in range(n):
            net(x)

    return run


def linears(torch):
    return torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(300)])


def save_state(torch):
    net = linears(torch)

    def run(n):
        for _ in range(n):
            net.state_dict()

    return run


def load_state(torch):
    net, state = linears(torch), linears(torch).state_dict()

    def run(n):
        for _ in range(n):
            net.load_state_dict(state)

    return run


CASES = {
    "call of a Lua module": module_call,
    "the same with one Lua forward hook": module_call_hook,
    "x + y, 4 elements, no_grad": add,
    "Linear(4, 4) on [1, 4], no_grad": linear,
    "reading l.weight": read_weight,
    "making Linear(8, 8)": make_linear,
    "Linear(4, 4), forward and backward": there_and_back,
    "the same with a full backward hook (bound: 1.5 more)": there_and_back_hooked,
    "Sequential of 1,000 Identities": identities,
    "1,000 Sequentials in each other": nested,
    "state_dict of 300 Linears": save_state,
    "load_state_dict of 300 Linears": load_state,
}


def start():
    import torch

    nn = torch.nn
    nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))(torch.rand(1, 16))


def start_memory():
    start()
    print(resident("VmHWM"))


def train_memory():
    import torch

    x = torch.rand(256, 1024)
    w = torch.rand(1024, requires_grad=True)

    def train(steps):
        for _ in range(steps):
            w.grad = None
            h = (x * w + 1).relu()
            loss = (h * h - h).mean()
            loss.backward()
            with torch.no_grad():
                w.sub_(w.grad * 0.01)

    train(20)
    early = resident("VmHWM")
    train(2980)
    print(resident("VmHWM") / early)


def times_in_order(call):
    times = []
    for _ in range(62000):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return times[2000:]


def times_of(call):
    return sorted(times_in_order(call))


def tail_of(call):
    print(times_of(call)[59993])


def with_mlp(measure):
    import torch

    nn = torch.nn
    set_threads(torch, 1)
    net = nn.Sequential(
        nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    x = torch.rand(1, 16)
    with torch.no_grad():
        measure(lambda: net(x))


def tail_of_mlp():
    with_mlp(tail_of)


def tail_without_collector():
    gc.disable()
    with_mlp(tail_of)


def tail_of_least(call):
    least = sorted(map(min, zip(*(times_in_order(call) for _ in range(11)))))
    print(least[59993] / least[29999])


def tail_of_least_without_collector():
    gc.disable()
    with_mlp(tail_of_least)


def tail_of_machine():
    gc.disable()
    tail_of(lambda: sum(range(40)))


def train_resnet():
    import nets
    import torch

    net, x, target = nets.resnet18(), torch.rand(4, 3, 112, 112), torch.randint(1000, (4,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    before = resident("VmRSS")
    for _ in range(10):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()
    return resident("VmHWM"), before


def resnet_peak():
    print(train_resnet()[0])


def resnet_peak_over():
    peak, before = train_resnet()
    print(peak - before)


PROCESSES = {
    "ResNet-18, ten training steps: peak memory": resnet_peak,
    "the same, over that of the library, the net and its data": resnet_peak_over,
    "MLP 16-64-64-4, 60,000 forwards: p99.99": tail_of_mlp,
    "the same, the collector run between forwards": tail_without_collector,
    "that in medians, of each forward's least of eleven": tail_of_least_without_collector,
    "the same, the collector left to itself": lambda: with_mlp(tail_of_least),
    "the same of a loop as long that only counts: the machine's": tail_of_machine,
    "start: require and first inference, wall": start,
    "start: require and first inference, peak memory": start_memory,
    "peak memory of 3,000 steps over that of 20": train_memory,
}


def sample(run, samples, least):
    n = 1
    while True:
        begin = time.perf_counter()
        run(n)
        took = time.perf_counter() - begin
        if took > least:
            break
        n = int(n * least * 1.25 / took) + 1 if took > 0.001 else n * 4
    out = []
    for _ in range(samples):
        begin = time.perf_counter()
        run(n)
        out.append((time.perf_counter() - begin) / n)
    return out


def find(name):
    import torch
    import operators
    import small
    import twins

    if name in CASES:
        return CASES[name](torch)
    if name in small.CODE:
        return small.run_of(name)
    if name in twins.CASES:
        return twins.repeated(name)
    try:
        return operators.run_of(name)
    except Exception as problem:
        print("%s: %s" % (name, problem), file=sys.stderr)


def coretype():
    """OpenBLAS takes those of an SSE3 processor, Prescott, on one that is newer than itself."""
    try:
        blas = ctypes.CDLL("libopenblas.so.0")
        blas.openblas_get_corename.restype = ctypes.c_char_p
        with open("/proc/cpuinfo") as f:
            flags = f.read().split()
    except (OSError, AttributeError):
        return
    if blas.openblas_get_corename() == b"Prescott" and "avx2" in flags:
        print("SkylakeX" if "avx512vl" in flags else "Haswell")


def set_threads(torch, n):
    """PyTorch's and those of an OpenBLAS with threads of its own, which PyTorch does not tell."""
    torch.set_num_threads(n)
    try:
        blas = ctypes.CDLL("libopenblas.so.0", os.RTLD_NOLOAD)
        blas.openblas_set_num_threads(n)
    except OSError:  # another BLAS, which PyTorch does tell
        pass


def run_on(processors):
    """All threads there are, and those that they make."""
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread), processors)


def serve(reply_path):
    import torch
    import files  # noqa: F401 (fills the table of twins, as the next two)
    import kernels  # noqa: F401 (fills the table of twins)
    import nets  # noqa: F401

    cache = {}
    with open(reply_path, "w") as reply:
        for line in sys.stdin:
            name, threads, samples, least, on = line.rstrip("\n").split("|")
            run_on({int(cpu) for cpu in on.split(",")})
            set_threads(torch, int(threads))
            if name not in cache:
                cache.clear()
                cache[name] = find(name)
            run = cache[name]
            times = sample(run, int(samples), float(least)) if run else []
            reply.write(" ".join("%.12g" % s for s in times) + "\n")
            reply.flush()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    elif sys.argv[1] == "coretype":
        coretype()
    else:
        PROCESSES.get(sys.argv[2], lambda: None)()  # nothing printed: PyTorch has no such thing
