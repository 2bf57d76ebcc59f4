"""Records what torch.optim.lr_scheduler's schedulers make of the rates of two groups (and of the
momentum of the first) in 30 epochs, into data/schedulers.lua. SWALR is torch.optim.swa_utils',
whose AveragedModel and update_bn are here too.
CyclicLR's momentum is recorded and stands for beta 1.
Run with PyTorch 2.15, where schedulers that resume leave the rates as they are, and one in a
SequentialLR begins without a step of its own: python3 tests/parity/gen_schedulers.py"""
import torch
from torch.optim import lr_scheduler, swa_utils

from record import save

EPOCHS = 30

# What stands for functions on both sides: the test has the same.
FUNCTIONS = {"slower": lambda epoch: 0.95 ** epoch, "harmonic": lambda epoch: 1 / (1 + epoch),
             "halved": lambda x: 0.5 ** x}

CASES = [
    ("LambdaLR", {"lr_lambda": "@slower"}),
    ("LambdaLR", {"lr_lambda": ["@slower", "@harmonic"]}),
    ("MultiplicativeLR", {"lr_lambda": "@slower"}),
    ("MultiplicativeLR", {"lr_lambda": ["@harmonic", "@slower"]}),
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("StepLR", {"step_size": 10}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 20], "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [4, 8]}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 12}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 17}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 9}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 20, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.1}),
    ("CosineAnnealingLR", {"T_max": 25}),
    ("CosineAnnealingWarmRestarts", {"T_0": 5}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.05}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2}),
    ("CyclicLR", {"base_lr": [0.1, 0.2], "max_lr": [1.0, 2.0], "step_size_up": 3,
                  "step_size_down": 5, "mode": "triangular2", "base_momentum": 0.5}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 4, "mode": "exp_range",
                  "gamma": 0.9, "max_momentum": [0.95, 0.99]}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 4, "scale_fn": "@halved",
                  "cycle_momentum": False}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 4, "scale_fn": "@slower",
                  "scale_mode": "iterations"}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 31}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 8, "steps_per_epoch": 4, "pct_start": 0.25,
                    "anneal_strategy": "linear", "base_momentum": 0.7, "max_momentum": 0.9}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 40, "three_phase": True, "div_factor": 10.0,
                    "final_div_factor": 100.0}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 33, "cycle_momentum": False}),
    ("SWALR", {"swa_lr": 0.05}),
    ("SWALR", {"swa_lr": [0.05, 0.01], "anneal_epochs": 5, "anneal_strategy": "linear"}),
    ("SWALR", {"swa_lr": 0.05, "anneal_epochs": 0}),
    ("ChainedScheduler", {"schedulers": [("ConstantLR", {"factor": 0.1, "total_iters": 4}),
                                         ("ExponentialLR", {"gamma": 0.9})]}),
    ("SequentialLR", {"schedulers": [("ConstantLR", {"factor": 0.1, "total_iters": 2}),
                                     ("ExponentialLR", {"gamma": 0.9})], "milestones": [2]}),
    ("SequentialLR", {"schedulers": [("LinearLR", {"start_factor": 0.01, "total_iters": 5}),
                                     ("CosineAnnealingLR", {"T_max": 15, "eta_min": 0.001}),
                                     ("StepLR", {"step_size": 2, "gamma": 0.5})],
                      "milestones": [5, 20]}),
    ("SequentialLR", {"schedulers": [("ExponentialLR", {"gamma": 0.9}),
                                     ("SWALR", {"swa_lr": 0.05, "anneal_epochs": 4})],
                      "milestones": [3]}),
    ("SequentialLR", {"schedulers": [("ConstantLR", {"factor": 0.1}),
                                     ("LinearLR", {"start_factor": 0.5})], "milestones": [0]}),
]

# Where training goes on at epoch 7: the optimizer's groups know their first rates.
RESUMED = [
    ("LambdaLR", {"lr_lambda": "@slower"}),
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 8, 9]}),
    ("MultiplicativeLR", {"lr_lambda": "@slower"}),
    ("PolynomialLR", {"total_iters": 12, "power": 2.0}),
    ("LinearLR", {"total_iters": 15}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.1}),
    ("CosineAnnealingWarmRestarts", {"T_0": 12}),
]

METRICS = [1, 0.9, 0.9, 0.9, 0.9, 0.89995, 0.5, 0.6, float("nan"), 0.6, 0.6, 0.6, 0.2] + 17 * [0.3]
PLATEAUS = [
    {"patience": 1, "factor": 0.5},
    {"patience": 2, "cooldown": 2, "min_lr": 0.01},
    {"patience": 2, "threshold": 0.15, "threshold_mode": "abs", "min_lr": [0.001, 0.02]},
    {"patience": 0, "mode": "max", "factor": 0.7, "eps": 0.02},
    {"patience": 3, "mode": "max", "threshold": 0.1, "threshold_mode": "abs"},
]


def lua(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float) and value != value:
        return "0 / 0"
    if isinstance(value, float):
        return f"{value:.9g}" + ("" if any(c in f"{value:.9g}" for c in ".e") else ".0")
    return f'"{value}"' if isinstance(value, str) else str(value)


def optimizer(momentum=0.9):
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (1.0, 0.25)]
    return torch.optim.SGD(groups, lr=1.0, momentum=momentum)


def given(value, o):
    """Arguments with functions and inner schedulers made."""
    if isinstance(value, str) and value.startswith("@"):
        return FUNCTIONS[value[1:]]
    if isinstance(value, tuple):
        return make(value[0], value[1], o)
    return [given(v, o) for v in value] if isinstance(value, list) else value


def make(kind, options, o, **more):
    made = getattr(swa_utils if kind == "SWALR" else lr_scheduler, kind)
    arguments = {key: given(value, o) for key, value in options.items()}
    return made(**arguments) if kind == "ChainedScheduler" else made(o, **arguments, **more)


def rates(o):
    return [o.param_groups[0]["lr"], o.param_groups[1]["lr"], o.param_groups[0]["momentum"]]


def run(o, scheduler, epochs=EPOCHS, by_hand=0):
    """by_hand: an epoch after which the rates are doubled from outside."""
    values = [rates(o)]
    for epoch in range(1, epochs + 1):
        o.step()
        scheduler.step()
        if epoch == by_hand:
            for group in o.param_groups:
                group["lr"] *= 2
        values.append(rates(o))
    return values


def cases():
    for kind, options in CASES:
        o = optimizer()
        yield {"kind": kind, "options": options, "values": run(o, make(kind, options, o))}
    for kind in ("StepLR", "CosineAnnealingLR", "LinearLR"):
        options = dict(RESUMED)[kind]
        o = optimizer()
        yield {"kind": kind, "options": options, "by_hand": 4,
               "values": run(o, make(kind, options, o), by_hand=4)}
    for kind, options in RESUMED:
        first, o = optimizer(), optimizer()
        run(first, make(kind, options, first), 7)
        o.load_state_dict(first.state_dict())
        scheduler = make(kind, options, o, last_epoch=7)
        yield {"kind": kind, "options": options, "resumed": 7, "values": run(o, scheduler, 15)}


def jumps():
    """step(epoch): the closed form."""
    for kind, options in CASES:
        o = optimizer()
        scheduler = make(kind, options, o)
        if hasattr(scheduler, "_get_closed_form_lr") or kind == "CosineAnnealingWarmRestarts":
            values = []
            for epoch in (3, 11, 0, 20, 4):
                scheduler.step(epoch)
                values.append(rates(o))
            yield {"kind": kind, "options": options, "values": values}


def plateaus():
    for options in PLATEAUS:
        o = optimizer()
        scheduler = lr_scheduler.ReduceLROnPlateau(o, **options)
        values = []
        for metric in METRICS:
            scheduler.step(metric)
            values.append(rates(o)[:2])
        yield {"options": options, "values": values}


def filled(model, seed):
    """Numbers from -1 to 1 in every parameter and floating point buffer."""
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                seed += 1
                phase = torch.arange(tensor.numel(), dtype=torch.float64) + seed
                tensor.copy_(torch.sin(phase * seed).abs().view(tensor.shape))
    return model


def averages():
    def ema(averaged, current, n):
        return 0.9 * averaged + 0.1 * current
    for name, options in [("mean", {}), ("ema", {"avg_fn": ema}),
                          ("buffers", {"use_buffers": True})]:
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        averaged = swa_utils.AveragedModel(filled(model, 0), **options)
        for seed in (1, 5, 9, 13):
            averaged.update_parameters(filled(model, seed))
        yield {"name": name, "keys": list(averaged.state_dict()),
               "n": averaged.n_averaged.item(),
               "values": [t.flatten().tolist() for t in (
                   averaged.module.state_dict().values() if name == "buffers"
                   else averaged.module.parameters())]}
    model = filled(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)), 0)
    batches = [torch.sin(torch.arange(8.0) * k).view(4, 2) for k in (1, 2, 3)]
    swa_utils.update_bn(batches, model)
    yield {"name": "update_bn", "momentum": model[1].momentum,
           "values": [model[1].running_mean.tolist(), model[1].running_var.tolist()]}


def main():
    parts = [("cases", cases()), ("jumps", jumps()), ("plateaus", plateaus()),
             ("averages", averages())]
    text = "metrics = " + lua(METRICS) + ",\n"
    for name, rows in parts:
        text += name + " = {\n" + "".join("  " + lua(row) + ",\n" for row in rows) + "},\n"
    save(__file__, text.rstrip())


main()
