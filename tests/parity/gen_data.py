"""Records the order in which PyTorch's DataLoader gives out items 1 … n, and random_split's parts:
tests/parity/data/data.lua. Each case is what two epochs after manual_seed(7) gave."""
import os

import torch
from torch.utils.data import (BatchSampler, DataLoader, DistributedSampler, RandomSampler,
                              SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
                              random_split)

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "data.lua")


def lua(value):
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    return str(int(value))


def epochs(n, own_generator=False, **options):
    torch.manual_seed(7)
    if own_generator:
        options["generator"] = torch.Generator().manual_seed(11)
    loader = DataLoader(list(range(1, n + 1)), **options)
    text = [[torch.as_tensor(batch).tolist() for batch in loader] for _ in range(2)]
    return lua(text), lua([torch.randint(1000, (1,)).item()])


def own():
    return torch.Generator().manual_seed(11)


TEN, WEIGHTS = range(10), [0.1, 0.9, 0.4, 2.0, 0.0, 1.0]
SAMPLERS = {
    "sequential": lambda: SequentialSampler(TEN),
    "random": lambda: RandomSampler(TEN),
    "random_own": lambda: RandomSampler(TEN, generator=own()),
    "replaced": lambda: RandomSampler(TEN, replacement=True),
    "replaced_own": lambda: RandomSampler(TEN, replacement=True, num_samples=70, generator=own()),
    "several": lambda: RandomSampler(TEN, num_samples=23),
    "fewer": lambda: RandomSampler(TEN, num_samples=4, generator=own()),
    "subset": lambda: SubsetRandomSampler([7, 1, 4, 2]),
    "subset_own": lambda: SubsetRandomSampler([7, 1, 4, 2], generator=own()),
    "weighted": lambda: WeightedRandomSampler(WEIGHTS, 8),
    "second": lambda: DistributedSampler(TEN, 3, 1, seed=2),
    "second_dropped": lambda: DistributedSampler(TEN, 3, 1, shuffle=False, drop_last=True),
    "weighted_own": lambda: WeightedRandomSampler(WEIGHTS, 4, replacement=False, generator=own()),
}


def draws(sampler):
    """Two epochs after manual_seed(7), positions from 1, and what the seed gives then; and the same
    of a loader with this sampler, and with batches of three."""
    found = []
    for loop in (lambda s: [i + 1 for i in s],
                 lambda s: [b.tolist() for b in DataLoader(range(1, 11), 4, sampler=s)],
                 lambda s: [b.tolist() for b in DataLoader(
                     range(1, 11), batch_sampler=BatchSampler(s, 3, True))]):
        torch.manual_seed(7)
        one = sampler()
        found.append([loop(one), loop(one), torch.randint(1000, (1,)).item()])
    return lua(found)


with open(PATH, "w") as out:
    out.write("-- Recorded by tests/parity/gen_data.py: do not edit.\nreturn {\n")
    for name, n, options in [
        ("shuffled", 10, dict(batch_size=4, shuffle=True)),
        ("dropped", 10, dict(batch_size=4, shuffle=True, drop_last=True)),
        ("exact", 8, dict(batch_size=4, shuffle=True)),
        ("plain", 5, dict(batch_size=2)),
        ("own", 10, dict(batch_size=4, shuffle=True, own_generator=True)),
        ("own_dropped", 10, dict(batch_size=4, shuffle=True, drop_last=True, own_generator=True)),
        ("own_exact", 8, dict(batch_size=4, shuffle=True, own_generator=True)),
        ("single", 5, dict(batch_size=None, shuffle=True)),
        ("own_single", 5, dict(batch_size=None, shuffle=True, own_generator=True)),
    ]:
        batches, after = epochs(n, **options)
        out.write(f"  {name} = {{epochs = {batches}, after = {after}}},\n")
    out.write("  samplers = {\n")
    for name, sampler in SAMPLERS.items():
        out.write("    %s = %s,\n" % (name, draws(sampler)))
    out.write("  },\n")
    torch.manual_seed(7)
    parts = random_split(list(range(1, 11)), [6, 4])
    out.write("  split = %s,\n" % lua([[p.dataset[i] for i in p.indices] for p in parts]))
    torch.manual_seed(7)
    parts = random_split(list(range(1, 12)), [0.5, 0.3, 0.2])
    out.write("  fractions = %s,\n" % lua([[p.dataset[i] for i in p.indices] for p in parts]))
    out.write("}\n")
