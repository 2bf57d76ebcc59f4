"""Records the order in which PyTorch's DataLoader gives out items 1 … n, and random_split's parts:
tests/parity/data/data.lua. Each case is what two epochs after manual_seed(7) gave."""
import os

import torch
from torch.utils.data import DataLoader, random_split

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
    text = [[batch.tolist() for batch in loader] for _ in range(2)]
    return lua(text), lua([torch.randint(1000, (1,)).item()])


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
    ]:
        batches, after = epochs(n, **options)
        out.write(f"  {name} = {{epochs = {batches}, after = {after}}},\n")
    torch.manual_seed(7)
    parts = random_split(list(range(1, 11)), [6, 4])
    out.write("  split = %s,\n" % lua([[p.dataset[i] for i in p.indices] for p in parts]))
    torch.manual_seed(7)
    parts = random_split(list(range(1, 12)), [0.5, 0.3, 0.2])
    out.write("  fractions = %s,\n" % lua([[p.dataset[i] for i in p.indices] for p in parts]))
    out.write("}\n")
